"""Folds over few points whose loads are all under way before two of them are combined, by few threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tang_egg as te
from tang_egg import expression as e
from tang_egg import library, library_sort, ops
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.candidates_grid import MANY, SHARES, STATES
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import held, run_kernel
from tang_egg.codegen.lower_grid import lower_grid
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Tensor
from tang_egg.notation import Array
from tang_egg.pipeline import extract
from tang_egg.schedule import Schedule, parse_schedule, print_schedule
from tests.cuda_compile import check_clean, compiled

ROWS = 5


def _two_folds(x: Array) -> Array:
    i, j, k = te.indices("i j k")
    z = te.input("Z", (ROWS, 3))
    return te.tensor(None, i, te.max(j, x[i, j]) - te.sum(k, z[i, k]))


def _weighted(x: Array) -> Array:
    return library.linear(library.softmax(x), te.input("W", (x.shape[1], 7)))


PROGRAMS: dict[str, Callable[[Array], Array]] = {
    "sum": lambda x: te.tensor(None, te.index("i"), te.sum(te.index("j"), x[te.index("i"), te.index("j")])),
    "softmax": library.softmax,
    "logsumexp": library.logsumexp,
    "argmax": library.argmax,
    "largest": lambda x: library_sort.top_k(x, 2)[1],
    "two folds": _two_folds,
    "weighted": _weighted,
}


def planned(graph: Graph) -> tuple[tuple[Tensor, ...], Schedule]:
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    return plan.outputs, device_schedules(plan.outputs)[0]


def together(schedule: Schedule) -> list[int]:
    return [plan.size for _, plan in schedule.fold if plan.how == "lanes"]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("n", [2, 3, 5, 11, SHARES])
@pytest.mark.parametrize("name", PROGRAMS)
def test_points_side_by_side_mean_what_their_folds_mean(name: str, n: int, dtype: str) -> None:
    graph = te.graph("short", Y=PROGRAMS[name](te.input("X", (ROWS, n), dtype)))
    outputs, first = planned(graph)
    assert together(first) and parse_schedule(print_schedule(first)) == first
    kernel = lower_grid("k", outputs, first)
    check_kernel(kernel)
    drawn = {}
    for i in graph.inputs:
        x = np.random.default_rng(n).normal(size=tuple(s.evaluate({}) for s in i.shape)).round(1)  # some are equal
        drawn[i.name] = np.asarray(ops.cast_value(x, i.dtype, "real"), np.float64)
    if name != "weighted":
        drawn["X"][1, :] = -np.inf  # no point counts, but the first one is the best
        drawn["X"][2, -1] = np.nan
    want = np.asarray(interpret(graph, drawn, checked=False)["Y"])
    arrays = {b.name: drawn[b.name].reshape(-1).astype(held(b)) for b in kernel.buffers if b.role == "input"}
    out = kernel.buffers[-1]
    arrays[out.name] = np.full(want.size, 77).astype(held(out))
    run_kernel(kernel, arrays, {})
    tolerance = 2e-2 if out.type == "bf16" else 1e-5
    np.testing.assert_allclose(arrays[out.name].reshape(want.shape), want, rtol=tolerance, atol=tolerance)


def test_folds_that_stay_in_order() -> None:
    """Long ones, those of many threads, masked ones, and states of which the registers hold too few."""
    i, j = te.indices("i j")

    def first(rows: int, n: int, f: Callable[[Array], Array]) -> list[int]:
        return together(planned(te.graph("short", Y=f(te.input("X", (rows, n)))))[1])

    assert first(ROWS, SHARES, PROGRAMS["sum"]) == [SHARES]
    assert not first(ROWS, SHARES + 1, PROGRAMS["sum"])
    assert first(MANY - 1, 4, PROGRAMS["sum"]) and not first(MANY, 4, PROGRAMS["sum"])
    assert not first(ROWS, 5, lambda x: te.tensor(None, i, te.sum(j, x[i, j], where=[j <= i])))
    for k in (2, 4, 8):  # a state of k values and k positions for each point
        found = first(ROWS, 8, lambda x, k=k: library_sort.top_k(x, k)[1])  # type: ignore[misc]
        assert bool(found) == (8 * 2 * k <= STATES), k


def test_short_folds_compile_without_spills() -> None:
    x = te.input("X", (64, SHARES), "bf16")
    for y in (library_sort.top_k(x, 2)[1], library.pointwise(e.exp, library.logsumexp(x))):
        outputs, first = planned(te.graph("short", Y=y))
        assert together(first)
        check_clean(compiled(cuda.source(lower_grid("k", outputs, first))))
