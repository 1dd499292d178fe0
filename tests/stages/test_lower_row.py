"""Rows by teams of warps and by accesses of several elements: what they mean, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tang_egg as te
from tang_egg import expression as e
from tang_egg import library, library_sort, ops
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel import Kernel, statements
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import held
from tang_egg.codegen.legalize_runs import ReadRun, WriteRun, runs
from tang_egg.codegen.lower_grid import lower_grid
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.errors import CodegenError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.notation import Array
from tang_egg.pipeline import extract
from tang_egg.program import KernelPlan
from tang_egg.schedule import Schedule, parse_schedule, print_schedule
from tang_egg.verify_compare import relative_error
from tests.cuda_compile import compiled
from tests.warps import run_warps

ROWS = 2


def _masked(x: Array) -> Array:
    i, j = te.indices("i j")
    kept = te.tensor(None, (i, j), e.select(j <= 7 * i + 2, x[i, j], -np.inf))
    return library.softmax(kept)


def _later(x: Array) -> Array:
    """Sums from a point on that differs from row to row."""
    i, j = te.indices("i j")
    return te.tensor(None, i, te.sum(j, x[i, j], where=[j >= 5 * i + 1]))


PROGRAMS: dict[str, Callable[[Array], Array]] = {
    "softmax": library.softmax,
    "masked": _masked,
    "later": _later,
    "logsumexp": library.logsumexp,
    "rms_norm": lambda x: library.rms_norm(x, te.input("g", (x.shape[1],), "bf16")),
    "layer_norm": lambda x: library.layer_norm(x, te.input("g", (x.shape[1],)), te.input("b", (x.shape[1],))),
    "variance": library.variance,
    "argmax": library.argmax,
    "largest": lambda x: library_sort.top_k(x, 2)[0],
    "gelu": lambda x: library.pointwise(e.gelu, x),
}


def plan_of(name: str, n: int, dtype: str) -> tuple[Graph, KernelPlan]:
    graph = te.graph(name, Y=PROGRAMS[name](te.input("X", (ROWS, n), dtype)))
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    return graph, plan


def run(graph: Graph, kernel: Kernel, seed: int = 0) -> float:
    """The largest relative error of a kernel of warps."""
    random = np.random.default_rng(seed)
    drawn = {}
    for i in graph.inputs:
        shape = tuple(n.evaluate({}) for n in i.shape)
        drawn[i.name] = np.asarray(ops.cast_value(random.normal(size=shape) * 3, i.dtype, "real"), np.float64)
    expected = interpret(graph, drawn, checked=False)["Y"]
    arrays = {b.name: drawn[b.name].reshape(-1).astype(held(b)) for b in kernel.buffers if b.role == "input"}
    out = kernel.buffers[-1]
    arrays[out.name] = np.full(expected.size, np.nan if np.issubdtype(held(out), np.floating) else 77).astype(held(out))
    run_warps(kernel, arrays, {})
    return relative_error(arrays[out.name].reshape(expected.shape), np.asarray(expected))


def by_warps(plan: KernelPlan) -> list[Schedule]:
    return [s for s in device_schedules(plan.outputs) if s.warp or any(p.how == "warp" for _, p in s.fold)]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", [p for p in PROGRAMS if p != "gelu"])
def test_every_form_of_a_row_means_what_its_tensors_mean(name: str, dtype: str) -> None:
    graph, plan = plan_of(name, 264, dtype)
    wide = by_warps(plan)[0]
    assert any(p.size > 1 for _, p in wide.fold), "no lane takes several elements"
    teams = (2, 8) if name in ("variance", "argmax") else (2,)
    for schedule in dict.fromkeys([wide, *(_team(wide, n) for n in teams)]):
        kernel = lower_grid("k", plan.outputs, schedule)
        check_kernel(kernel)
        assert run(graph, runs(ops.BYTES)(kernel)) <= (2e-2 if dtype == "bf16" else 1e-4), str(schedule)


def _team(s: Schedule, warps: int) -> Schedule:
    text = " ".join(part for part in print_schedule(s).split() if not part.startswith("team="))
    return parse_schedule(f"{text} team={warps}")


def test_a_row_that_is_read_again_is_held_and_crosses_memory_once() -> None:
    _, plan = plan_of("softmax", 4096, "bf16")
    first = device_schedules(plan.outputs)[0]
    assert first.stage == ("X",) and first.team == 4
    kernel = runs(ops.BYTES)(lower_grid("k", plan.outputs, first))
    read = [s for s in statements(kernel.body) if isinstance(s, ReadRun)]
    written = [s for s in statements(kernel.body) if isinstance(s, WriteRun)]
    assert [(s.source.name, s.count) for s in read] == [("X", 8)]
    assert [(s.target.name, s.count) for s in written] == [("Y", 8)]


def test_elements_without_folds_are_moved_side_by_side() -> None:
    _, plan = plan_of("gelu", 4096, "bf16")
    kernel = runs(ops.BYTES)(lower_grid("k", plan.outputs, device_schedules(plan.outputs)[0]))
    moved = [s.count for s in statements(kernel.body) if isinstance(s, (ReadRun, WriteRun))]
    assert moved == [8, 8]


def test_what_a_branch_alone_reads_is_not_moved_before_it() -> None:
    x = te.input("X", (64,))
    i = te.index("i", 64)
    shifted = te.tensor("Y", i, e.select(i < 60, x[i + 4], 0.0))
    (plan,) = extract(te.graph("shifted", shifted), costs=Costs(MATRIX_UNITS)).program.kernels
    for schedule in grid_schedules(plan.outputs, wide=True):
        kernel = runs(ops.BYTES)(lower_grid("k", plan.outputs, schedule))
        assert not [s for s in statements(kernel.body) if isinstance(s, ReadRun)]


def test_an_axis_that_does_not_consist_of_runs_goes_by_single_elements() -> None:
    _, plan = plan_of("softmax", 1031, "bf16")
    assert all(p.size == 1 for s in by_warps(plan) for _, p in s.fold)


def test_an_index_of_a_held_row_may_be_folded_inside_of_it() -> None:
    """Y[r, c] = X[r, c] + Σ_m tanh(Σ_c X[r, c] W[c, m]) V[m, c]: a fold over c sees other elements."""
    x, w, v = te.input("X", (ROWS, 64)), te.input("W", (64, 4)), te.input("V", (4, 64))
    r, c, k, m = te.indices("r c k m")
    inner = te.tanh(te.sum(k, x[r, k] * w[k, m]))
    graph = te.graph("nested", Y=te.tensor(None, (r, c), x[r, c] + te.sum(m, inner * v[m, c])))
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    schedule = parse_schedule("split tile=i1:2 fold=i1:warp:2,i2:warp:2 stage=X grid=i0 warp=i1")
    assert run(graph, lower_grid("k", plan.outputs, schedule)) <= 1e-4


def test_a_row_is_held_anew_where_its_index_is_bound_anew() -> None:
    """max over i >= 1 of Σ_j X[i, j], less min over i <= 1 of Σ_j X[i, j]²: two loops over i, two rows in registers."""
    i, j = te.index("i", 3), te.index("j", 64)
    x = te.input("X", (3, 64))
    s = te.tensor(None, i, te.sum(j, x[i, j]))
    q = te.tensor(None, i, te.sum(j, x[i, j] * x[i, j]))
    apart = te.max(i, s[i], where=[i >= 1]) - te.min(i, q[i], where=[i <= 1])
    graph = te.graph("apart", Y=te.tensor(None, (), apart))
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    held = [s for s in by_warps(plan) if s.stage]
    assert held
    for schedule in held:
        assert run(graph, lower_grid("k", plan.outputs, schedule)) <= 1e-4, str(schedule)


def test_a_team_without_rows_touches_nothing() -> None:
    graph = te.graph("none", Y=library.softmax(te.input("X", (te.dim("n"), 512))))
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    kernel = lower_grid("k", plan.outputs, _team(by_warps(plan)[0], 4))
    run_warps(kernel, {b.name: np.zeros(0, np.float32) for b in kernel.buffers}, {"n": 0})


def test_targets_of_single_warps_refuse_a_team() -> None:
    _, plan = plan_of("softmax", 512, "f32")
    with pytest.raises(CodegenError, match="whose blocks are single warps") as caught:
        lower_grid("k", plan.outputs, _team(by_warps(plan)[0], 2), 64, 32, teams=False)
    assert "leave out team=" in str(caught.value) and "kernel 'k'" in str(caught.value)


def test_a_team_is_a_power_of_two() -> None:
    _, plan = plan_of("softmax", 512, "f32")
    for wrong in (3, 64):
        with pytest.raises(CodegenError, match=f"a team of {wrong} warps") as caught:
            lower_grid("k", plan.outputs, _team(by_warps(plan)[0], wrong))
        assert "combined in pairs" in str(caught.value) and "kernel 'k'" in str(caught.value)


def test_schedules_with_teams_and_wide_lanes_are_read_back() -> None:
    text = "split tile=i1:8 fold=i1:warp:8 stage=X grid=i0 warp=i1 team=4"
    assert print_schedule(parse_schedule(text)) == text


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
def test_printed_rows_compile(dtype: str) -> None:
    kernels = []
    for name in ("softmax", "masked", "rms_norm", "argmax", "gelu"):
        _, plan = plan_of(name, 4096, dtype)
        for n, schedule in enumerate(device_schedules(plan.outputs)[:3]):
            kernels.append(lower_grid(f"{name}_{n}", plan.outputs, schedule))
    source = cuda.source(*kernels)
    assert "te_read_run<" in source.partition("softmax_0(")[2] and "__syncthreads" in source
    compiled(source)
