"""Elements that turn in shared memory: what they mean, their banks, when they are proposed, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from tang_egg import ops
from tang_egg.codegen import lower_turn_grid
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel import Kernel, statements
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.legalize_runs import ReadRun, WriteRun, runs
from tang_egg.codegen.lower_grid import lower_grid
from tang_egg.codegen.lower_turn_grid import banks, place
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.errors import CodegenError
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.program import KernelPlan
from tang_egg.schedule import parse_schedule, print_schedule
from tests.cuda_compile import compiled
from tests.stages.test_lower_row import run
from tests.warps import run_warps


def plan_of(graph: Graph) -> KernelPlan:
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    return plan


def turned(shape: tuple[int, int], dtype: str) -> Graph:
    """Y[j, i] = X[i, j] + b[i] + Z[j, i], stored in the type of X."""
    i, j = te.indices("i j")
    x, b, z = te.input("X", shape, dtype), te.input("b", shape[:1], dtype), te.input("Z", shape[::-1], dtype)
    return te.graph("turned", te.tensor("Y", (j, i), x[i, j] + b[i] + z[j, i], dtype))


def first(plan: KernelPlan) -> Kernel:
    schedule = device_schedules(plan.outputs)[0]
    assert schedule.across, str(schedule)
    kernel = lower_grid("k", plan.outputs, schedule)
    check_kernel(kernel)
    return runs(ops.BYTES)(kernel)


SHAPES = {
    "f32": [(16, 17), (31, 33), (40, 24)],
    "bf16": [(63, 65)],
    "f64": [(16, 16), (17, 18)],
}
"""A tile has 32, 64 and 16 points a side."""


@pytest.mark.parametrize("dtype", SHAPES)
def test_tiles_of_every_shape_mean_what_their_tensors_mean(dtype: str) -> None:
    for shape in SHAPES[dtype]:
        graph = turned(shape, dtype)
        assert run(graph, first(plan_of(graph))) <= (8e-3 if dtype == "bf16" else 1e-6), shape


def test_bytes_turn_in_tiles_of_128() -> None:
    i, j = te.indices("i j")
    plan = plan_of(te.graph("bytes", te.tensor("Y", (j, i), te.input("X", (17, 18), "i8")[i, j], "i8")))
    kernel = first(plan)
    x = np.random.default_rng(1).integers(-128, 128, size=(17, 18)).astype(np.int8)
    arrays = {kernel.buffers[0].name: x.reshape(-1), kernel.buffers[1].name: np.zeros(x.size, np.int8)}
    run_warps(kernel, arrays, {})
    np.testing.assert_array_equal(arrays[kernel.buffers[1].name], x.T.reshape(-1))


def test_other_axes_and_views_turn_too() -> None:
    i, j, k = te.indices("i j k")
    x = te.input("X", (2, 17, 22))
    axes = te.graph("axes", te.tensor("Y", (j, i, k), x[i, k, j], "f32"))
    j, k = te.index("j", 18), te.index("k", 17)
    views = te.graph("views", te.tensor("Y", (j, i, k), x[i, 16 - k, j + 4], "f32"))
    for graph in (axes, views):
        assert run(graph, first(plan_of(graph))) == 0


def test_both_ways_are_wide_and_free_of_bank_conflicts() -> None:
    kernel = first(plan_of(turned((128, 128), "bf16")))
    read = [(s.source.name, s.count) for s in statements(kernel.body) if isinstance(s, ReadRun)]
    written = [(s.target.name, s.count, s.aligned) for s in statements(kernel.body) if isinstance(s, WriteRun)]
    assert sorted(read) == [("X", 8), ("Z", 8), ("b", 8)]
    assert written == [("X_tile", 8, True), ("Y", 8, False)]
    for size in (1, 2, 4, 8):
        assert banks(size, 16 // size) == (1, 1), f"elements of {size} bytes"
    v = 8
    everywhere = {place(c, p, e, v) for c in range(8 * v) for p in range(8) for e in range(v)}
    assert everywhere == set(range(64 * v * v)), "two elements have one place"


def test_a_tile_without_the_swizzle_has_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower_turn_grid, "place", lambda line, piece, e, v: line * 8 * v + piece * v + e)
    assert banks(2, 8)[1] == 8


def test_elements_that_do_not_turn_are_left_alone() -> None:
    i, j = te.indices("i j")
    x = te.input("X", (64, 64))
    straight = te.graph("straight", te.tensor("Y", (i, j), x[i, j] + 1.0, "f32"))
    short = te.graph("short", te.tensor("Y", (j, i), te.input("X", (64, 8))[i, j] + 1.0, "f32"))
    for graph in (straight, short):
        assert not any(s.across for s in device_schedules(plan_of(graph).outputs))


def test_what_cannot_turn_is_refused() -> None:
    i, j = te.indices("i j")
    plan = plan_of(te.graph("straight", te.tensor("Y", (i, j), te.input("X", (64, 64))[i, j] + 1.0, "f32")))
    row, column = (a.name for a in plan.outputs[0].axes)
    for across in (f"{row},{column}", f"{column},{row}", row, "no,where"):
        with pytest.raises(CodegenError, match=f"nothing turns across {across}") as caught:
            lower_grid("k", plan.outputs, parse_schedule(f"grid grid={row},{column} across={across}"))
        assert "kernel 'k'" in str(caught.value) and "leave out across=" in str(caught.value)
    plan = plan_of(turned((64, 64), "f32"))
    with pytest.raises(CodegenError, match="whose blocks are single warps") as caught:
        lower_grid("k", plan.outputs, device_schedules(plan.outputs)[0], 64, 32, teams=False)
    assert "leave out across=" in str(caught.value)


def test_schedules_that_turn_are_read_back() -> None:
    text = "grid grid=i0,i1 across=i0,i1"
    assert print_schedule(parse_schedule(text)) == text and parse_schedule(text).across == ("i0", "i1")


def test_printed_tiles_compile() -> None:
    kernels = []
    for n, (shape, dtype) in enumerate([((4096, 8192), "bf16"), ((100, 60), "f32"), ((97, 101), "f64")]):
        plan = plan_of(turned(shape, dtype))
        kernels.append(lower_grid(f"turned_{n}", plan.outputs, device_schedules(plan.outputs)[0]))
    source = cuda.source(*kernels)
    assert "te_write_run<8, true>(X_tile" in source and "alignas(16)" in source
    assert "0 bytes spill stores" in compiled(source)


def test_a_read_that_a_condition_guards_is_not_turned() -> None:
    a, c = te.index("a", 64), te.index("c", 64)
    y = te.input("Y", (64, 60))
    padded = te.graph("padded", te.tensor("T", (a, c), te.select(te.holds(a < 60), y[c, a], 0.0)))
    plan = plan_of(padded)
    for s in device_schedules(plan.outputs):
        assert not s.across
        lower_grid("k", plan.outputs, s)
