"""Reads behind a guard become loads of some lanes where registers are of 64 bytes, and touch nothing else."""

from __future__ import annotations

import ctypes
import mmap
import platform

import numpy as np
import pytest

import tang_egg as te
from tang_egg import library_conv
from tang_egg.ir import Graph

PAGE = mmap.PAGESIZE


def depthwise(c: int, n: int, wide: int) -> Graph:
    x, w = te.input("X", (1, c, n, wide)), te.input("W", (c, 1, 3, 3))
    return te.graph("depthwise", Y=library_conv.conv2d(x, w, padding=1, groups=c))


def shifted(n: int, by: int) -> Graph:
    """The next value of a row where there is one and its place counts, else another array's."""
    i = te.index("i", n)
    x, y = te.input("X", (n,)), te.input("Z", (n,))
    there = te.select(i + by < n, x[i + by], y[i])
    return te.graph("shifted", te.tensor("Y", i, te.select(i + by >= 0, there, y[i])))


def source(graph: Graph) -> str:
    printed = te.optimize(graph, verified=False).source
    return printed if isinstance(printed, str) else "".join(printed.values())


def body(graph: Graph) -> str:
    text = source(graph)
    return text[text.index("void k0") :]


def test_only_wide_registers_load_by_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    for bits, wanted in (("512", True), ("256", False)):
        monkeypatch.setenv("TANG_VECTORS", bits)
        assert ("te_load_where_f32x16(" in body(depthwise(2, 20, 20))) is wanted


@pytest.mark.parametrize(("n", "wide"), [(1, 1), (2, 3), (3, 4), (2, 8), (3, 15), (2, 16), (4, 17), (2, 31), (3, 56)])
def test_padded_windows_agree_with_the_interpreter(n: int, wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", "512")
    numbers = np.random.default_rng(n * wide)
    x = numbers.standard_normal((1, 3, n, wide)).astype(np.float32)
    w = numbers.standard_normal((3, 1, 3, 3)).astype(np.float32)
    close(depthwise(3, n, wide), X=x, W=w)


def test_what_is_masked_does_not_reach_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tap of infinity beside the edge would give NaN if the lanes outside were multiplied by it."""
    monkeypatch.setenv("TANG_VECTORS", "512")
    w = np.ones((1, 1, 3, 3), np.float32)
    w[..., 0] = np.inf
    x = np.abs(np.random.default_rng(1).standard_normal((1, 1, 4, 21))).astype(np.float32)
    close(depthwise(1, 4, 21), X=x, W=w)


@pytest.mark.parametrize("by", [-17, -1, 1, 5])
def test_choices_agree_with_the_interpreter(by: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", "512")
    for n in (1, 15, 16, 17, 40):
        x, y = np.random.default_rng(n).standard_normal((2, n)).astype(np.float32)
        close(shifted(n, by), X=x, Z=y)


def protected_page() -> np.ndarray:  # type: ignore[type-arg]
    """A page of floats between two that may not be touched."""
    area = mmap.mmap(-1, 3 * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc = ctypes.CDLL(None, use_errno=True)
    for page in (0, 2):
        assert libc.mprotect(ctypes.c_void_p(start + page * PAGE), ctypes.c_size_t(PAGE), 0) == 0
    return np.frombuffer(area, np.float32, PAGE // 4, PAGE)


@pytest.mark.skipif(platform.system() != "Linux", reason="pages are protected by mprotect")
@pytest.mark.parametrize("bits", ["256", "512"])
def test_one_value_for_all_lanes_is_read_only_where_a_lane_wants_it(bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """X[k] is one value for all lanes i; where no lane has i + k < n, a read of it ends the process."""
    monkeypatch.setenv("TANG_VECTORS", bits)
    n, i, k = te.dim("n", lo=1), te.index("i", 64), te.index("k", PAGE)
    x, z = te.input("X", (n,)), te.input("Z", (64,))
    body = te.sum(k, te.select(i + k < n, x[k] * z[i], z[i] * 0.5))
    values = protected_page()
    values[...] = np.random.default_rng(3).standard_normal(values.shape)
    other = np.linspace(1, 2, 64, dtype=np.float32)
    got = np.asarray(te.optimize(te.graph("one", te.tensor("Y", i, body)), verified=False)(X=values, Z=other))
    want = [values[: len(values) - m].sum(dtype=np.float64) + 0.5 * (PAGE - len(values) + m) for m in range(64)]
    np.testing.assert_allclose(got, other * np.asarray(want), rtol=1e-4)


@pytest.mark.skipif(platform.system() != "Linux", reason="pages are protected by mprotect")
@pytest.mark.parametrize("bits", ["256", "512"])
def test_nothing_outside_the_array_is_touched(bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image fills a page between two that may not be read: a load beyond it would end the process."""
    monkeypatch.setenv("TANG_VECTORS", bits)
    wide = PAGE // 4 // 8
    x = protected_page().reshape(1, 1, 8, wide)
    x[...] = np.random.default_rng(2).standard_normal(x.shape)
    w = np.ones((1, 1, 3, 3), np.float32)
    compiled = te.optimize(depthwise(1, 8, wide), verified=False)
    got = np.asarray(compiled(X=x, W=w))
    padded = np.pad(x.astype(np.float64)[0, 0], 1)
    want = sum(padded[a : a + 8, b : b + wide] for a in range(3) for b in range(3))
    np.testing.assert_allclose(got[0, 0], want, rtol=1e-5, atol=1e-5)


def close(graph: Graph, **arrays: np.ndarray) -> None:  # type: ignore[type-arg]
    got = np.asarray(te.optimize(graph)(**arrays), np.float64)
    (want,) = te.interpret(graph, arrays).values()
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
