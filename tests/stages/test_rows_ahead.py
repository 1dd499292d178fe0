"""Rows and points whose loads are under way ahead, partial states side by side, and what passes leave out of them."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import tang_egg as te
from tang_egg import expression as e
from tang_egg import library, library_scan, ops
from tang_egg.affine import Dim, affine
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel import Barrier, Call, Form, Kernel, Literal, Loop, Stmt, Var, number, statements
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.legalize_aligned import aligned_runs, factor
from tang_egg.codegen.legalize_barriers import needed_barriers
from tang_egg.codegen.legalize_runs import ReadRun, WriteRun, runs
from tang_egg.codegen.lower_grid import lower_grid
from tang_egg.codegen.printer import print_kernel
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.errors import CodegenError
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.program import KernelPlan
from tang_egg.schedule import Schedule, parse_schedule, print_schedule
from tests.cuda_compile import check_clean, compiled
from tests.stages.test_lower_row import PROGRAMS, by_warps, run

SEVERAL = ("softmax", "masked", "logsumexp", "rms_norm", "layer_norm", "variance", "argmax")


def planned(name: str, rows: int, n: int, dtype: str) -> tuple[Graph, KernelPlan]:
    """A program over rows of a table, and its one kernel."""
    return only(te.graph(name, Y=PROGRAMS[name](te.input("X", (rows, n), dtype))))


def only(graph: Graph) -> tuple[Graph, KernelPlan]:
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    return graph, plan


def passed(kernel: Kernel) -> Kernel:
    """The kernel after the passes of CUDA that change what it does, as far as the interpreter of warps knows them."""
    return needed_barriers(aligned_runs(ops.BYTES)(runs(ops.BYTES)(kernel)))


def ahead(plan: KernelPlan, team: int = 2) -> Schedule:
    """The first schedule by warps, by a team that takes several rows."""
    return replace(by_warps(plan)[0], team=team, ahead=1, occupancy=0)


def barriers(kernel: Kernel) -> int:
    return sum(isinstance(s, Barrier) for s in statements(kernel.body))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", SEVERAL)
def test_rows_that_are_loaded_ahead_mean_what_their_tensors_mean(name: str, dtype: str) -> None:
    """Two blocks take five rows: the second has one less, and both ask for a row that is not theirs at their end."""
    graph, plan = planned(name, 5, 520, dtype)
    kernel = lower_grid("k", plan.outputs, ahead(plan))
    assert kernel.launch is not None and kernel.launch.persistent
    check_kernel(kernel)
    assert run(graph, passed(kernel)) <= (2e-2 if dtype == "bf16" else 1e-4)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows_are_no_less_right(rows: int) -> None:
    for n in (512, 520, 1031):
        graph, plan = planned("softmax", rows, n, "f32")
        assert run(graph, passed(lower_grid("k", plan.outputs, ahead(plan)))) <= 1e-4, n


@pytest.mark.parametrize("n", [256, 520, 1024])
def test_scans_of_several_rows_share_one_array(n: int) -> None:
    """One, three and four turns: where they are odd, the next row begins with the half that this one ended with."""
    graph, plan = only(te.graph("g", Y=library_scan.cumulative_sum(te.input("X", (5, n)))))
    first = next(s for s in device_schedules(plan.outputs) if s.shape == "scan")
    for together in (0, 1):
        kernel = lower_grid("k", plan.outputs, replace(first, team=2, ahead=together, occupancy=0))
        check_kernel(kernel)
        assert run(graph, passed(kernel)) <= 1e-5
        broken = replace(passed(kernel), body=_unordered(passed(kernel).body))
        assert n == 256 or run(graph, broken) > 1e-3, "no barrier was needed"


def _unordered(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(
        replace(s, body=_unordered(s.body)) if isinstance(s, Loop) else s for s in body if not isinstance(s, Barrier)
    )


def test_the_next_row_is_asked_for_before_this_one_is_folded() -> None:
    _, plan = planned("variance", 64, 4096, "bf16")
    text = print_kernel(lower_grid("k", plan.outputs, ahead(plan, 4)), cuda.CUDA)
    loop = text.partition("turn < turns")[2]
    assert text.count("te_read_run<8, true>") == 2 and loop.count("te_read_run<8, true>") == 1
    assert loop.index("te_read_run<8, true>") < loop.index("__shfl_xor_sync")


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "softmax"])
def test_a_loop_over_rows_keeps_the_barriers_that_order_something(name: str) -> None:
    """A single fold needs one more, before its array is stored anew; of two folds each orders the other."""
    _, plan = planned(name, 5, 512, "f32")
    lowered = lower_grid("k", plan.outputs, ahead(plan))
    kernel = passed(lowered)
    assert barriers(kernel) == 2, "each fold has one that orders it, and a single fold the one before its store"
    assert barriers(lowered) == (2 if name == "rms_norm" else 4)


def test_barriers_of_a_single_row_order_one_exchange_each() -> None:
    for name, kept in (("rms_norm", 1), ("softmax", 2), ("logsumexp", 2)):
        _, plan = planned(name, 2, 512, "f32")
        lowered = lower_grid("k", plan.outputs, replace(ahead(plan), ahead=0))
        assert (barriers(lowered), barriers(passed(lowered))) == (2 * kept, kept), name


def test_the_interpreter_of_warps_sees_a_barrier_that_is_missing() -> None:
    graph, plan = planned("rms_norm", 2, 512, "f32")
    kernel = passed(lower_grid("k", plan.outputs, replace(ahead(plan, 4), ahead=0)))
    assert run(graph, kernel) <= 1e-4
    broken = replace(kernel, body=tuple(s for s in kernel.body if not isinstance(s, Barrier)))
    assert barriers(broken) == 0 and run(graph, broken) > 1e-3


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("n", [256, 264, 4096])
def test_points_that_are_loaded_together_are_all_stored(n: int, dtype: str) -> None:
    b = te.input("b", (n,), dtype)
    graph, plan = only(te.graph("g", Y=library.pointwise(e.gelu, library.add(te.input("X", (3, n), dtype), b))))
    plain = next(s for s in device_schedules(plan.outputs) if s.shape == "point" and s.tile and not s.ahead)
    for together in (2, 3):
        kernel = passed(lower_grid("k", plan.outputs, replace(plain, ahead=together), 32))
        assert run(graph, kernel) <= (2e-2 if dtype == "bf16" else 2e-3 if dtype == "f16" else 1e-4)


def test_many_points_are_loaded_together_and_few_are_not() -> None:
    for rows, together in ((8192, 2), (8, 0)):
        _, plan = only(te.graph("g", Y=library.pointwise(e.gelu, te.input("X", (rows, 4096), "bf16"))))
        assert device_schedules(plan.outputs)[0].ahead == together


def test_lanes_keep_partial_states_over_all_turns() -> None:
    """32 elements in 4 turns: one addition for each, and one tree, where all steps were trees before."""
    _, plan = planned("variance", 64, 4096, "bf16")
    kernel = lower_grid("k", plan.outputs, by_warps(plan)[0])
    names = {s.buffer.name for s in statements(kernel.body) if type(s).__name__ == "Declare"}
    assert not any(n.endswith("_lanes") for n in names)
    text = print_kernel(kernel, cuda.CUDA)
    assert "? t_" not in text, "states are selected by lane although either order gives the same bits"
    _, ordered = planned("argmax", 64, 4096, "bf16")
    assert " ? t_" in print_kernel(lower_grid("k", ordered.outputs, by_warps(ordered)[0]), cuda.CUDA)


def test_rows_of_whole_runs_need_no_test_of_their_address() -> None:
    for name in ("softmax", "gelu", "layer_norm"):
        _, plan = planned(name, 8192, 4096, "bf16")
        for schedule in device_schedules(plan.outputs)[:2]:
            kernel = passed(lower_grid("k", plan.outputs, schedule))
            found = [s for s in statements(kernel.body) if isinstance(s, (ReadRun, WriteRun))]
            assert found and all(s.aligned for s in found), (name, str(schedule))


def test_a_row_that_starts_anywhere_is_tested() -> None:
    x = te.input("X", (64, 4104), "bf16")
    i, j = te.index("i", 64), te.index("j", 4096)
    _, plan = only(te.graph("shifted", te.tensor("Y", (i, j), x[i, j + 1] + 1.0, "bf16")))
    kernel = passed(lower_grid("k", plan.outputs, device_schedules(plan.outputs)[0]))
    read, write = ([s for s in statements(kernel.body) if isinstance(s, kind)] for kind in (ReadRun, WriteRun))
    assert [s.aligned for s in read] == [False] and [s.aligned for s in write] == [True]


def test_factors_of_positions() -> None:
    known = {"a": 8, "b": 12, "z": 0}
    a, b = Var("a", "i64"), Var("b", "i64")
    assert factor(Literal(float("inf"), "f32"), known) == 1, "data has no factors"
    for expression, expected in (
        (Form(affine(Dim("a")) * 3 + Dim("b") * 2), 24),
        (Form(affine(Dim("a")) + 4), 4),
        (Form(affine(Dim("z")) + Dim("u") * 6), 6),
        (Call("add", (a, b), "i64"), 4),
        (Call("mul", (a, Literal(-3, "i64")), "i64"), 24),
        (Call("min", (a, number(20)), "i64"), 4),
        (Call("umod", (a, number(512)), "i64"), 1),
        (number(0), 0),
        (Var("unknown", "i64"), 1),
    ):
        assert factor(expression, known) == expected, expression


def test_results_of_16_bits_are_rounded_in_pairs() -> None:
    _, plan = planned("softmax", 64, 4096, "bf16")
    text = print_kernel(lower_grid("k", plan.outputs, by_warps(plan)[0]), cuda.CUDA)
    assert "te_write_rounded<8, true>(Y" in text and "te_to_bf16" not in text
    _, plan = planned("softmax", 64, 4096, "f32")
    assert "te_write_run<4, true>(Y" in print_kernel(lower_grid("k", plan.outputs, by_warps(plan)[0]), cuda.CUDA)


def test_one_plus_erf_is_right_where_it_vanishes() -> None:
    """The coefficients of the prelude, evaluated in f32 as the device does."""
    text = cuda.prelude().partition("te_quick_one_plus_erf(")[2].partition("}\n")[0]
    (found,) = re.findall(r"\[\] = \{([^}]*)\}", text)
    p = [np.float32(c.strip(" \nf")) for c in found.split(",")]
    x = np.concatenate([np.linspace(-5, 12, 24001), -np.logspace(-30, 0, 500)]).astype(np.float32)
    a = np.abs(x)
    total = np.full_like(a, p[-1])
    for c in p[-2::-1]:
        total = total * a + c
    rest = np.exp2(-a * total)
    got = np.where(x < 0, rest, np.float32(2) - rest)
    exact = np.array([math.erfc(-float(v)) for v in x])
    assert np.abs(got / exact - 1).max() < 2e-5
    far = np.float32([-1e30, -100, -12, 12, 1e30])
    with np.errstate(over="ignore"):
        steps = np.full_like(far, p[-1])
        for c in p[-2::-1]:
            steps = steps * np.abs(far) + c
        assert (np.exp2(-np.abs(far) * steps) < 1e-30).all(), "the power grows again"


def test_one_and_a_saturating_function_are_one_function() -> None:
    def text(f: object, dtype: str = "bf16") -> str:
        x = te.input("X", (64, 4096), dtype)
        _, plan = only(te.graph("g", Y=library.pointwise(f, x)))  # type: ignore[arg-type]
        return print_kernel(lower_grid("k", plan.outputs, device_schedules(plan.outputs)[0]), cuda.CUDA)

    assert "te_quick_one_plus_erf(" in text(e.gelu) and "te_quick_one_plus" not in text(e.gelu, "f32")
    assert "te_quick_one_plus_tanh(" in text(lambda v: e.tanh(v) + 1.0)
    assert "te_quick_tanh(" in text(lambda v: e.tanh(v) + 2.0)


def test_more_blocks_than_a_chip_holds_are_refused() -> None:
    _, plan = planned("softmax", 64, 4096, "bf16")
    with pytest.raises(CodegenError, match="17 blocks of 128 threads") as caught:
        lower_grid("k", plan.outputs, replace(by_warps(plan)[0], occupancy=17))
    assert "occupancy=16" in str(caught.value) and "kernel 'k'" in str(caught.value)


def test_points_of_single_warps_are_not_loaded_ahead() -> None:
    _, plan = planned("softmax", 64, 4096, "bf16")
    with pytest.raises(CodegenError, match="rows that a warp has alone") as caught:
        lower_grid("k", plan.outputs, replace(by_warps(plan)[0], team=0, occupancy=0, ahead=1))
    assert "team=" in str(caught.value) and "kernel 'k'" in str(caught.value)


def test_the_fields_are_read_back() -> None:
    text = "split fold=i1:warp:8 stage=X grid=i0 team=4 ahead=1 occupancy=9"
    assert print_schedule(parse_schedule(text)) == text


def test_rows_ahead_compile_without_spills() -> None:
    kernels = []
    for name in ("softmax", "logsumexp", "variance"):
        _, plan = planned(name, 8192, 4096, "bf16")
        first = by_warps(plan)[0]
        assert first.occupancy == 9
        kernels += [lower_grid(f"{name}_0", plan.outputs, first)]
        kernels += [lower_grid(f"{name}_1", plan.outputs, replace(first, ahead=1, occupancy=8))]
    source = cuda.source(*kernels)
    assert "__launch_bounds__(128, 9)" in source and "__launch_bounds__(128, 8)" in source
    check_clean(compiled(source))


def test_accesses_past_the_caches_are_asked_for_by_name() -> None:
    _, plan = planned("rms_norm", 6, 4096, "bf16")
    first = device_schedules(plan.outputs)[0]
    plain = cuda.source(lower_grid("k", plan.outputs, first))
    body = plain[plain.index("__global__") :]
    assert ", true, true>" not in body
    past = replace(first, past=("X",), store="stream")
    assert parse_schedule(print_schedule(past)) == past
    text = cuda.source(lower_grid("k", plan.outputs, past))
    body = text[text.index("__global__") :]
    (read,) = re.findall(r"te_read_run<8, true(.*?)>\(\w+, X \+", body)
    assert read == ", true" and "te_write_rounded<8, true, true>(Y +" in body
    # nothing else is read in another way, and other targets take no notice
    assert body.count(", true, true>") == 2
    check_clean(compiled(text))


@pytest.mark.parametrize("n", [1, 31, 32, 33, 257, 1000])
def test_accesses_past_the_caches_compile_at_any_width(n: int) -> None:
    _, plan = planned("softmax", 3, n, "bf16")
    s = replace(device_schedules(plan.outputs)[0], past=("X",), store="stream")
    check_clean(compiled(cuda.source(lower_grid("k", plan.outputs, s))))
