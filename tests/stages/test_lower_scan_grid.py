"""Scans along rows by the lanes of warps: what they mean, when they are proposed, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tang_egg as te
from tang_egg import library, library_scan, ops
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel import Barrier, statements
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.legalize_runs import ReadRun, WriteRun, runs
from tang_egg.codegen.lower_grid import lower_grid
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.errors import CodegenError
from tang_egg.ir import Graph
from tang_egg.notation import Array
from tang_egg.pipeline import extract
from tang_egg.program import KernelPlan
from tang_egg.schedule import Schedule, parse_schedule, print_schedule
from tests.cuda_compile import compiled
from tests.stages.test_lower_row import run
from tests.warps import run_warps

ROWS = 2


def _of_softmax(x: Array) -> Array:
    return library_scan.cumulative_sum(library.softmax(x))


def _twice(x: Array) -> Array:
    """Sums of sums: one scan reads the other."""
    return library_scan.cumulative_sum(library_scan.cumulative_sum(x))


def _recurrence(x: Array) -> Array:
    """h[t] = a[t] · h[t - 1] + x[t]: the state is an affine map, and combining two does not commute."""
    return library.gated_scan(library.pointwise(lambda v: 0.5 * te.sigmoid(v), x), x, axis=1)


def _largest(x: Array) -> Array:
    i, s = te.indices("i s")
    t = te.index("t", x.shape[1])
    return te.tensor(None, (i, t), te.max(s, x[i, s], where=[s <= t]))


PROGRAMS: dict[str, Callable[[Array], Array]] = {
    "sum": library_scan.cumulative_sum,
    "product": lambda x: library_scan.cumulative_prod(library.pointwise(te.tanh, x)),
    "largest": _largest,
    "recurrence": _recurrence,
    "of_softmax": _of_softmax,
    "twice": _twice,
}


def plan_of(name: str, n: int, dtype: str = "f32") -> tuple[Graph, KernelPlan]:
    graph = te.graph(name, Y=PROGRAMS[name](te.input("X", (ROWS, n), dtype)))
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    return graph, plan


def scans(plan: KernelPlan) -> list[Schedule]:
    return [s for s in device_schedules(plan.outputs) if s.shape == "scan"]


def with_team(s: Schedule, warps: int) -> Schedule:
    text = " ".join(part for part in print_schedule(s).split() if not part.startswith("team="))
    return parse_schedule(f"{text} team={warps}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_scans_of_lanes_mean_what_their_tensors_mean(name: str) -> None:
    graph, plan = plan_of(name, 264)
    (first, *_) = scans(plan)
    assert device_schedules(plan.outputs)[0] == first and first.warp and dict(first.tile)
    for schedule in (first, with_team(first, 2)) if name in ("sum", "recurrence") else (with_team(first, 2),):
        kernel = lower_grid("k", plan.outputs, schedule)
        check_kernel(kernel)
        assert run(graph, runs(ops.BYTES)(kernel)) <= 1e-4, str(schedule)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("n", [1, 31, 33, 64, 65, 128])
def test_rows_of_any_length(n: int, dtype: str) -> None:
    graph, plan = plan_of("sum", n, dtype)
    axis = plan.outputs[0].axes[-1].name
    row = plan.outputs[0].axes[0].name
    wide, team = f"scan tile={axis}:4 grid={row} warp={axis}", f"scan grid={row} warp={axis} team=2"
    for text in (wide, team) if n % 4 == 0 else (team,):
        kernel = lower_grid("k", plan.outputs, parse_schedule(text))
        check_kernel(kernel)
        assert run(graph, runs(ops.BYTES)(kernel)) <= (8e-3 if dtype == "bf16" else 1e-5), text


def test_integers_wrap_alike() -> None:
    _, plan = plan_of("sum", 96, "i32")
    kernel = lower_grid("k", plan.outputs, with_team(scans(plan)[0], 2))
    x = np.random.default_rng(1).integers(-(2**31), 2**31, size=(ROWS, 96)).astype(np.int32)
    arrays = {kernel.buffers[0].name: x.reshape(-1), kernel.buffers[1].name: np.zeros(x.size, np.int32)}
    run_warps(kernel, arrays, {})
    wanted = np.cumsum(x.astype(np.int64), -1).astype(np.int32)
    np.testing.assert_array_equal(arrays[kernel.buffers[1].name], wanted.reshape(-1))


def test_rows_of_a_length_that_is_known_when_they_run() -> None:
    n = te.dim("n")
    graph = te.graph("c", Y=library_scan.cumulative_sum(te.input("X", (ROWS, n))))
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    kernel = lower_grid("k", plan.outputs, scans(plan)[0])
    for size in (0, 1, 70):
        x = np.random.default_rng(1).normal(size=(ROWS, size)).astype(np.float32)
        arrays = {kernel.buffers[0].name: x.reshape(-1), kernel.buffers[1].name: np.full(x.size, np.nan, np.float32)}
        run_warps(kernel, arrays, {"n": size})
        wanted = np.cumsum(x.astype(np.float64), -1).reshape(-1)
        np.testing.assert_allclose(arrays[kernel.buffers[1].name], wanted, rtol=1e-4, atol=1e-5)


def test_a_row_is_read_ahead_and_crosses_memory_once() -> None:
    _, plan = plan_of("sum", 4096, "bf16")
    first = device_schedules(plan.outputs)[0]
    assert first.stage == ("X",) and first.team >= 4
    kernel = runs(ops.BYTES)(lower_grid("k", plan.outputs, first))
    read = [s for s in statements(kernel.body) if isinstance(s, ReadRun)]
    written = [s for s in statements(kernel.body) if isinstance(s, WriteRun)]
    assert [(s.source.name, s.count) for s in read] == [("X", 8)]
    assert [(s.target.name, s.count) for s in written] == [("Y", 8)]
    assert sum(isinstance(s, Barrier) for s in statements(kernel.body)) == 2


def test_scans_that_lanes_cannot_share_are_refused() -> None:
    i, s, k = te.indices("i s k")
    t = te.index("t", 64)
    x = te.input("X", (ROWS, 64, 4))
    graph = te.graph("kept", Y=te.tensor(None, (i, t), te.max(k, te.sum(s, x[i, s, k], where=[s <= t]))))
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    assert not scans(plan)
    row, time = (a.name for a in plan.outputs[0].axes)
    with pytest.raises(CodegenError, match="cannot be shared by the lanes of warps") as caught:
        lower_grid("k", plan.outputs, parse_schedule(f"scan grid={row} warp={time}"))
    assert "kernel 'k'" in str(caught.value) and f"leave '{time}' out of warp=" in str(caught.value)


def test_printed_scans_compile() -> None:
    kernels = []
    for name in PROGRAMS:
        _, plan = plan_of(name, 4096, "bf16")
        kernels.append(lower_grid(name, plan.outputs, scans(plan)[0]))
    said = compiled(cuda.source(*kernels))
    assert "0 bytes spill stores" in said
