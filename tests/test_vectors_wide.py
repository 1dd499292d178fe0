"""Kernels in C for registers of 64 bytes: functions of sixteen lanes, rows at sizes around vectors, first schedules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import expression as e
from tang_egg import library, library_scan
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.vectors import AVX2, AVX512, Vectors
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.schedule import Schedule

i, j = te.indices("i j")
TINY = 2.0**-126
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_VECTORS", "512")


def first(graph: Graph, vectors: Vectors) -> Schedule:
    (plan,) = extract(graph).program.kernels
    return schedules(plan.outputs, threads=2, vectors=vectors)[0]


def applied(f: Callable[[Any], Any], x: Array, store: str = "f32") -> Array:
    held = te.input("X", x.shape)
    graph = te.graph("applied", Y=te.tensor(None, i, f(held[i]), store))
    call = te.optimize(graph)
    assert "x16" in call.source.split("void k0", 1)[1]
    return np.asarray(call(x))


def ulps(got: Array, want: list[float]) -> float:
    """The largest distance, in the units of the last place of what is right."""
    near = np.array(want, np.float32)
    unit = np.spacing(np.abs(near)).astype(np.float64)
    return float(np.max(np.abs(got.astype(np.float64) - np.array(want)) / unit))


def test_exponentials_of_sixteen_lanes() -> None:
    x = np.concatenate([np.linspace(-87.3, 88.7, 4000), np.geomspace(1e-9, 1, 96) * -1]).astype(np.float32)
    assert ulps(applied(e.exp, x), [math.exp(v) for v in x.tolist()]) <= 1.2
    ends = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 88.8, -104, -1e30, 1e30, -95, 1e-40, 3, 3, 3, 3, 3], np.float32)
    got = applied(e.exp, ends)
    assert np.isnan(got[2]) and got[0] == got[5] == got[8] == np.inf
    assert got[1] == got[7] == 0 and got[3] == got[4] == got[10] == 1 and 0 <= got[6] < got[9] < TINY


def test_error_functions_of_sixteen_lanes() -> None:
    x = np.concatenate([np.linspace(-4.5, 4.5, 4000), np.geomspace(1e-30, 1, 96)]).astype(np.float32)
    assert ulps(applied(e.erf, x), [math.erf(v) for v in x.tolist()]) <= 2.6
    ends = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 3.94, 1e30, -1e30, 1e-40, *[3] * 7], np.float32)
    got = applied(e.erf, ends)
    assert np.isnan(got[2]) and got[0] == got[5] == got[6] == 1 and got[1] == got[7] == -1
    assert got[3] == 0 and np.signbit(got[4]) and 0 < got[8] < 2e-40


def test_bf16_is_rounded_to_nearest_everywhere() -> None:
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1 << 14, dtype=np.uint64).astype(np.uint32)
    bits[::16] &= np.uint32(0x807FFFFF)  # below the normal numbers, beside others
    bits[16:2064:32] = np.array([0x00008000, 0x00018000, 0x7F7FFFFF, 0x7FC00001] * 16, np.uint32)
    x = bits.view(np.float32)
    got = applied(lambda v: v, x, "bf16").view(np.uint16)
    nan = np.isnan(x)
    want = ((bits.astype(np.uint64) + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    np.testing.assert_array_equal(got[~nan], want[~nan])
    assert nan.any() and ((got[nan] & 0x7FFF) > 0x7F80).all()


@pytest.mark.parametrize("at", [0, 1, 15, 16, 63, 64, 66])
def test_a_maximum_keeps_nan_wherever_it_is(at: int) -> None:
    graph = te.graph("most", M=te.tensor(None, i, te.max(j, te.input("X", (2, 67))[i, j])))
    x = np.random.default_rng(at).normal(size=(2, 67)).astype(np.float32)
    x[1, at] = np.nan
    got = np.asarray(te.optimize(graph)(x))
    assert got[0] == x[0].max() and np.isnan(got[1])


def rows(m: int, n: int) -> dict[str, Graph]:
    x = te.input("X", (m, n))
    gain, bias = te.input("g", (n,)), te.input("b", (n,))
    return {
        "sum": te.graph("sums", S=te.tensor(None, i, te.sum(j, x[i, j] * x[i, j]))),
        "argmax": te.graph("argmax", P=library.argmax(x)),
        "variance": te.graph("variance", V=library.variance(x)),
        "softmax": te.graph("softmax", Y=library.softmax(x)),
        "norm": te.graph("norm", Y=library.layer_norm(x, gain, bias)),
        "running": te.graph("running", Y=library_scan.cumulative_sum(x)),
    }


@pytest.mark.parametrize("n", [1, 17, 64, 65, 131])
@pytest.mark.parametrize("kind", ["sum", "argmax", "variance", "softmax", "norm", "running"])
def test_rows_around_vectors(kind: str, n: int) -> None:
    graph = rows(3, n)[kind]
    given = {x.name: np.random.default_rng(n).normal(size=[s.value or 0 for s in x.shape]) for x in graph.inputs}
    given = {k: np.round(v * 4).astype(np.float32) for k, v in given.items()}  # with ties
    (want,) = te.interpret(graph, given).values()
    got = te.optimize(graph)(*(given[x.name] for x in graph.inputs))
    np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(want), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("kind", "n", "wide_lanes", "narrow"),
    [
        ("sum", 1024, 64, 32),
        ("sum", 96, 32, 32),
        ("argmax", 1024, 64, 16),
        ("argmax", 48, 16, 16),
        ("argmax", 65, 64, 16),
    ],
)
def test_more_partial_states_stand_side_by_side_where_few_points_are_left(
    kind: str, n: int, wide_lanes: int, narrow: int
) -> None:
    graph = rows(8, n)[kind]
    found = [dict(first(graph, v).fold).popitem()[1].size for v in (AVX512, AVX2)]
    assert found == [wide_lanes, narrow]


def test_short_rows_that_are_read_once_are_fetched_ahead() -> None:
    assert first(rows(4096, 1024)["sum"], AVX512).fetch == ("X",)
    assert first(rows(4096, 1024)["sum"], AVX2).fetch == ()
    assert first(rows(1024, 8192)["sum"], AVX512).fetch == ()


def test_large_outputs_start_at_a_line() -> None:
    x = te.input("X", (1 << 15,))
    call = te.optimize(te.graph("twice", Y=te.tensor(None, i, x[i] * 2.0)))
    given = np.ones(1 << 15, np.float32)
    kept = [np.asarray(call(given)) for _ in range(4)]
    assert all(y.ctypes.data % 64 == 0 and (y == 2).all() for y in kept)


@pytest.mark.parametrize("bits", ["128", "256", "512"])
@pytest.mark.parametrize("kind", ["i8", "u8", "i16", "u16"])
def test_small_whole_numbers_have_no_more_lanes_than_floats(
    kind: str, bits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen of them fit a register of 32 bytes, where no function of sixteen lanes is there."""
    monkeypatch.setenv("TANG_VECTORS", bits)
    x = te.input("X", (3, 83), kind)
    graphs = [
        te.graph("least", te.tensor("Y", i, te.min(j, x[i, j]), kind)),
        te.graph("squares", te.tensor("Y", (i, j), x[i, j] * x[i, j], kind)),
    ]
    given = np.random.default_rng(1).integers(0, 90, (3, 83)).astype(f"{kind[0]}{int(kind[1:]) // 8}")
    for graph in graphs:
        (want,) = te.interpret(graph, {"X": given}).values()
        np.testing.assert_array_equal(np.asarray(te.optimize(graph, verified=False)(given)), want)
