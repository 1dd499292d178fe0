"""The best entries of rows in lists of vectors: on registers of every width, in every type, with ties and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import library_sort
from tang_egg.affine import affine
from tang_egg.codegen.kernel import Buffer, Call, Expr, Kernel, Lane, Literal, Load, Store, Var, number
from tang_egg.codegen.kernel_run import run_kernel
from tang_egg.codegen.legalize_bits import to_bits
from tang_egg.ir import Graph, Reduce, walk
from tang_egg.pipeline import extract

Array = np.ndarray[Any, Any]
KINDS = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "u8": np.uint8, "i32": np.int32, "u64": np.uint64}


def best(n: int | te.Dim, k: int, kind: str = "f32", largest: bool = True) -> Graph:
    values, places = library_sort.top_k(te.input("X", (3, n), kind), k, largest=largest)
    return te.graph("best", V=values, P=places)


def ranked(x: Array, k: int, largest: bool = True) -> Array:
    """The places of the k best of each row by a stable sort."""
    key = ~x if largest and x.dtype.kind != "f" else -x if largest else x
    return np.argsort(key, -1, kind="stable")[:, :k]


def numbers(n: int, kind: str) -> Array:
    """Rows of few different values; one that rises, where every point enters; one of equal values, where none does."""
    x = np.random.default_rng(n).integers(0, 9, (3, n)).astype(KINDS[kind])
    x[1] = np.arange(n) % 128
    x[2] = 3
    return x


def folded(graph: Graph, how: str) -> te.Compiled:
    """The kernels with all folds done one way."""
    kernels = extract(graph).program.kernels
    (fold,) = {s.indices[-1].name for k in kernels for t in k.outputs for s in walk(t.body) if isinstance(s, Reduce)}
    return te.optimize(graph, schedule={k.name: f"split fold={fold}:{how}" for k in kernels}, verified=False)


def guarded(graph: Graph, size: int = 64) -> te.Compiled:
    """The kernel with tiles of so many points that are tested first."""
    return folded(graph, f"guard:{size}")


@pytest.mark.parametrize("bits", ["128", "256", "512"])
@pytest.mark.parametrize(("n", "k"), [(64, 4), (131, 10), (200, 16)])
def test_the_best_on_registers_of_every_width(n: int, k: int, bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", bits)
    x = numbers(n, "f32")
    x[0, ::5] = -0.0  # equal to the zeros among them
    call = guarded(best(n, k))
    kernel = call.source.split("void k0", 1)[1]
    assert "__builtin_popcountll" in kernel and "te_behind_f32x" in kernel
    assert ("te_behind_f32x16" in kernel) == (bits == "512" and k > 8)
    got = call(x)
    np.testing.assert_array_equal(got["P"], ranked(x, k))
    np.testing.assert_array_equal(got["V"], np.take_along_axis(x, ranked(x, k), -1))


@pytest.mark.parametrize("bits", ["256", "512"])
@pytest.mark.parametrize("kind", ["f64", "i8", "u8", "i32", "u64"])
@pytest.mark.parametrize("largest", [True, False])
def test_the_best_of_every_type(kind: str, largest: bool, bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", bits)
    x = numbers(83, kind)
    got = guarded(best(83, 9, kind, largest), 40)(x)
    np.testing.assert_array_equal(got["P"], ranked(x, 9, largest))
    np.testing.assert_array_equal(got["V"], np.take_along_axis(x, ranked(x, 9, largest), -1))


@pytest.mark.parametrize("size", [8, 64, 128])
def test_tiles_of_every_length_along_an_axis_of_any_length(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", "512")
    call = guarded(best(te.dim("n", lo=5), 5), size)
    for n in (5, 63, 64, 65, 127, 129, 300):
        x = numbers(n, "f32")
        np.testing.assert_array_equal(call(x)["P"], ranked(x, 5))


@pytest.mark.parametrize("bits", ["256", "512"])
def test_nan_goes_where_points_one_by_one_put_it(bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is promised of NaN but that the way to fold makes no difference."""
    monkeypatch.setenv("TANG_VECTORS", bits)
    x = np.random.default_rng(3).normal(size=(3, 150)).astype(np.float32)
    x[0, 70], x[1, [3, 149]], x[2, :] = np.nan, np.nan, np.nan
    graph = best(150, 6)
    for a, b in zip(guarded(graph)(x).values(), folded(graph, "serial")(x).values(), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_sets_of_points_are_taken_from_vectors_or_spelled_out() -> None:
    """Both mean what the operation does on its own."""
    x, y = Buffer("x", "i32", "global", affine(64), "input"), Buffer("y", "i64", "global", affine(3), "output")
    each = tuple(Load(x, number(n), "i32") for n in range(64))
    which = Call("which", each, "i64")
    body = (
        Store(y, number(0), which),
        *(Store(y, number(n), Call(op, (which,), "i64")) for n, op in ((1, "count"), (2, "lowest"))),
    )
    kernel = Kernel("k", (x, y), (), body)
    held = np.random.default_rng(0).integers(-1, 2, 64).astype(np.int32)
    held[[0, 63]] = 0, 1  # the sign of the word
    found = []
    for k in (kernel, to_bits(kernel)):
        out = np.zeros(3, np.int64)
        run_kernel(k, {"x": held, "y": out}, {})
        found.append(out.tolist())
    assert found[0] == found[1] and found[0][1:] == [int((held > 0).sum()), int(np.argmax(held > 0))]
    v, w = Var("v", "i32x16"), Var("w", "i32x16")
    lanes: list[Expr] = [Lane(u, n, "i32") for u in (v, w) for n in range(16)]
    (stored,) = to_bits(Kernel("k", (y,), (), (Store(y, number(0), Call("which", tuple(lanes), "i64")),))).body
    assert isinstance(stored, Store)
    assert stored.value == Call(
        "bitor",
        (Call("which", (v,), "i64"), Call("shl", (Call("which", (w,), "i64"), Literal(16, "i64")), "i64")),
        "i64",
    )
