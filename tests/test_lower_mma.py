"""Streams of products: from naive graphs to kernels on matrix units, run in the NumPy meaning of the kernel IR."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest

from tang_egg import expression as e
from tang_egg import layers, library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.codegen import split_fold
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.device import GROUP, REGISTER_LIMIT, SHARED_LIMIT, Forever, Roles, Sync
from tang_egg.codegen.device_run import run_device
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel import If, Kernel, Loop, Stmt
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.lower import kernel_sources
from tang_egg.codegen.lower_device import lower_device
from tang_egg.codegen.lower_mma import lower_mma
from tang_egg.codegen.merge_folds import merge_folds
from tang_egg.codegen.mma_domain import live
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_plan import plan
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.errors import CodegenError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Tensor
from tang_egg.library import linear, logsumexp
from tang_egg.pipeline import extract
from tang_egg.program import KernelPlan, Program
from tang_egg.schedule import Schedule, parse_schedule, print_schedule
from tang_egg.verify import sample_inputs
from tests.mma_graphs import MMA, attend, multiply, normaliser, projected

CLOSE = {"bf16": 5e-3, "f16": 1e-3, "f32": 1e-3}
"""Largest ‖error‖ / ‖reference‖: rounding of operands and outputs in storage, f32 sums."""


@cache
def derived(name: str) -> tuple[Graph, KernelPlan]:
    g = MMA[name]()
    (kernel,) = extract(g, costs=Costs(MATRIX_UNITS)).program.kernels
    return g, kernel


def simulate(
    outputs: tuple[Tensor, ...],
    kernel: Kernel,
    inputs: dict[str, Any],
    dims: dict[str, int] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """The outputs of a kernel in NumPy; they start as NaN."""
    check_kernel(kernel)
    sizes = dims or {}
    made = kernel.buffers[-len(outputs) :]
    arrays = {
        b.name: np.array(inputs[s.name]).reshape(-1)
        for b, s in zip(kernel.buffers, kernel_sources(outputs), strict=True)
        if b.role != "output"
    }
    for b, t in zip(made, outputs, strict=True):
        arrays[b.name] = np.full(prod(n.evaluate(sizes) for n in t.shape), np.nan, np.float32)
    run_device(kernel, arrays, sizes, blocks=3, **options)
    return {
        t.name: arrays[b.name].reshape([n.evaluate(sizes) for n in t.shape]) for b, t in zip(made, outputs, strict=True)
    }


def error(got: Any, wanted: Any) -> float:
    if not np.isfinite(got).all():
        return float("inf")
    return float(np.linalg.norm(got - wanted) / max(np.linalg.norm(wanted), 1e-30))


def check(name: str, schedule: Schedule, **options: Any) -> None:
    g, k = derived(name)
    inputs = sample_inputs(g, {}, edge=False)
    wanted = interpret(g, inputs)[g.outputs[0].name]
    got = simulate(k.outputs, lower_mma(k.name, k.outputs, schedule), inputs, **options)[k.outputs[0].name]
    assert error(got, wanted) < CLOSE[g.outputs[0].dtype]


def first(name: str) -> Schedule:
    found = device_schedules(derived(name)[1].outputs, precise=False)[0]
    assert found.shape == "mma"
    return found


@pytest.mark.parametrize("name", MMA)
def test_first_schedule(name: str) -> None:
    check(name, first(name))


@pytest.mark.parametrize("name", ["causal", "product", "normed", "normaliser, long"])
@pytest.mark.parametrize("order", ["early", "random"])
def test_copies_may_land_at_any_time(name: str, order: str) -> None:
    check(name, first(name), order=order, seed=3)


ATTEND = "mma tile=i2:{rows},i5:* fold=i3:stream:{stream} consumers={groups} stages={stages} {more}"


@pytest.mark.parametrize(
    ("name", "stream", "stages", "more"),
    [
        ("causal", 64, 2, "resident=1 overlap=1"),
        ("causal", 48, 3, "resident=1 overlap=1 reuse=1"),
        ("padded", 64, 2, "resident=2 overlap=1 tickets=1 reuse=1 supertile=2"),
        ("soft cap, causal", 48, 3, "resident=2 overlap=1 turns=1"),
        ("causal", 64, 3, "resident=1"),
        ("padded", 48, 2, "resident=2 tickets=1"),
        ("causal", 64, 2, ""),
    ],
)
def test_fields_change_no_result(name: str, stream: int, stages: int, more: str) -> None:
    schedule = parse_schedule(ATTEND.format(rows=128, stream=stream, groups=2, stages=stages, more=more))
    assert parse_schedule(print_schedule(schedule)) == schedule
    check(name, schedule)


@pytest.mark.parametrize("order", ["late", "random"])
def test_two_blocks_share_a_multiprocessor(order: str) -> None:
    """Half of its registers and of its shared memory for each: only one consumer's fit."""
    more = "resident=1 overlap=1 tickets=1 straight=1 occupancy=2"
    schedule = parse_schedule(ATTEND.format(rows=64, stream=32, groups=1, stages=3, more=more))
    check("causal", schedule, order=order, seed=1)
    outputs = derived("causal")[1].outputs
    kernel = lower_mma("two", outputs, schedule)
    (roles,) = (s for s in kernel.body if isinstance(s, Roles))
    assert kernel.launch is not None
    assert kernel.launch.resident == 2
    assert 2 * GROUP * sum(r.groups * r.registers for r in roles.roles) == REGISTER_LIMIT
    text = cuda.source(kernel)
    assert "__launch_bounds__(256, 2)" in text
    assert f"te_more_registers<{roles.roles[1].registers}>" in text
    with pytest.raises(Refused, match="2 consumers in each of 2 blocks"):
        lower_mma("two", outputs, replace(schedule, consumers=2, tile=((schedule.tile[0][0], 128), *schedule.tile[1:])))
    with pytest.raises(CodegenError, match=f"a block can have {SHARED_LIMIT // 2 - 512}"):
        check_kernel(lower_mma("two", outputs, replace(schedule, stages=16)))


@pytest.mark.parametrize(("name", "columns"), [("product", 128), ("product", 192), ("columns first", 256)])
def test_columns_of_a_product(name: str, columns: int) -> None:
    row, column, stream = (getattr(plan(derived(name)[1].outputs), x).name for x in ("row", "column", "stream"))
    check(name, parse_schedule(f"mma tile={row}:128,{column}:{columns} fold={stream}:stream:64 consumers=2 stages=3"))


@pytest.mark.parametrize(("heads", "d"), [(3, 64), (1, 64), (2, 128)])
def test_a_projection_of_heads_is_one_product(heads: int, d: int) -> None:
    """A sum over heads and their columns becomes one over both, whose tiles lie inside heads."""
    g = projected(heads, d)
    program = extract(g, costs=Costs(MATRIX_UNITS)).program
    (kernel,) = merge_folds(program).kernels
    schedule = device_schedules(kernel.outputs)[0]
    assert schedule.shape == "mma"
    inputs = sample_inputs(g, {}, edge=False)
    got = simulate(kernel.outputs, lower_mma("projected", kernel.outputs, schedule), inputs)["Y"]
    assert error(got, interpret(g, inputs)["Y"]) < CLOSE["bf16"]
    assert merge_folds(Program(g, (KernelPlan("k", kernel.outputs),))).kernels[0].outputs is kernel.outputs


def test_heads_that_tiles_would_cross_are_not_merged() -> None:
    program = extract(projected(3, 40), costs=Costs(MATRIX_UNITS)).program
    assert merge_folds(program) is program


def test_edge_values() -> None:
    """Values of size ten, zeros, rows without a live key."""
    for name in ("padded", "causal", "soft cap"):
        g, k = derived(name)
        inputs = sample_inputs(g, {}, edge=True)
        wanted = interpret(g, inputs)["O"]
        got = simulate(k.outputs, lower_mma(k.name, k.outputs, first(name)), inputs)["O"]
        assert error(got, wanted) < 2e-2  # scores of several hundred: their last bits are large


def test_dead_tiles_are_not_visited() -> None:
    """A window over long rows reads few tiles; without a domain all are read."""
    outputs = derived("window")[1].outputs
    found = live(plan(outputs).group.where, plan(outputs).stream, plan(outputs).row, 64, 128)
    assert found.masked
    assert found.moves()
    assert not found.only_last()
    causal = derived("causal, equal sides")[1].outputs
    assert live(plan(causal).group.where, plan(causal).stream, plan(causal).row, 128, 128).only_last()
    assert not live(plan(causal).group.where, plan(causal).stream, plan(causal).row, 64, 128).only_last()


def test_a_stream_is_split_where_tiles_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_fold, "SHARE", 128)
    for g in (normaliser(128, 1024, 64), attend(1, 1, 128, 1024, 64)):
        before = extract(g, costs=Costs(MATRIX_UNITS)).program
        after = split_fold.split_streams(before, 8)
        assert [len(k.outputs) for k in after.kernels] == [len(after.kernels[0].outputs), 1]
        assert len(after.kernels[0].outputs) > 1
        inputs = sample_inputs(g, {}, edge=False)
        name = g.outputs[0].name
        wanted = interpret(g, inputs)[name]
        np.testing.assert_allclose(interpret(after.graph, inputs)[name], wanted, rtol=1e-9, atol=1e-12)
        parts = after.kernels[0].outputs
        kernel = lower_mma("parts", parts, device_schedules(parts)[0])
        exact = interpret(Graph("parts", g.inputs, parts), inputs)
        for part, value in simulate(parts, kernel, inputs).items():
            assert error(value, exact[part]) < CLOSE["bf16"]


def test_streams_that_fill_the_chip_stay_whole() -> None:
    program = Program(Graph("g", (), ()), ())
    assert split_fold.split_streams(program, 132) == program
    g, k = derived("product")
    whole = Program(g, (k,))
    assert split_fold.split_streams(whole, 4).kernels == whole.kernels


def test_other_shapes_are_refused() -> None:
    a = te.input("A", (64, 60), "bf16")
    b = te.input("B", (60, 60), "bf16")
    outputs = extract(graph("odd", C=linear(a, b))).program.kernels[0].outputs
    with pytest.raises(Refused, match="multiples of 16 bytes"):
        plan(outputs)
    assert all(s.shape != "mma" for s in device_schedules(outputs))
    i, j, x = te.index("i", 64), te.index("j", 64), te.input("X", (64, 64))
    sums = extract(graph("sums", te.tensor("y", (i,), te.sum(j, x[i, j])))).program.kernels[0].outputs
    with pytest.raises(Refused):
        plan(sums)


def test_computed_factors_are_rounded_to_tf32_after_they_are_computed() -> None:
    """Operands of 1000: rounded before, an exponential would be off by a third."""
    a, v = te.input("A", (64, 64)), te.input("V", (64, 64))
    g = graph("w", O=library.linear(library.softmax(a), v, transposed=True))
    (kernel,) = extract(g, costs=Costs(MATRIX_UNITS)).program.kernels
    assert all(s.shape != "mma" for s in device_schedules(kernel.outputs))
    schedule = device_schedules(kernel.outputs, precise=False)[0]
    assert schedule.shape == "mma"
    inputs = {n: x + (1000.0 if n == "A" else 0.0) for n, x in sample_inputs(g, {}, edge=False).items()}
    inputs = {n: x.astype(np.float32) for n, x in inputs.items()}
    got = simulate(kernel.outputs, lower_mma("w", kernel.outputs, schedule), inputs)["O"]
    assert error(got, interpret(g, inputs)["O"]) < CLOSE["f32"]


def test_a_schedule_that_does_not_fit_says_why() -> None:
    _, k = derived("plain")
    with pytest.raises(CodegenError, match="192 rows for 2 groups of 64") as raised:
        lower_device(k.name, k.outputs, parse_schedule("mma tile=i2:192 fold=i3:stream:64 consumers=2 resident=1"))
    assert "mend" in str(raised.value)


def test_a_view_that_ends_early_is_refused() -> None:
    """Past the end of a slice lies data, not zeros: a last tile longer than the contraction may not be copied."""
    a, b = te.input("A", (64, 128), "bf16"), te.input("B", (128, 64), "bf16")
    i, j, c = te.index("i", 64), te.index("j", 64), te.index("c", 72)
    sliced = graph("sliced", te.tensor("C", (i, j), te.sum(c, a[i, c] * b[c, j]), "bf16"))
    outputs = extract(sliced).program.kernels[0].outputs
    assert all(s.shape != "mma" for s in device_schedules(outputs))
    whole = multiply(64, 64, 72)
    assert device_schedules(extract(whole).program.kernels[0].outputs)[0].shape == "mma"


def test_followers_must_share_a_statistic() -> None:
    q, k = te.input("Q", (64, 64), "bf16"), te.input("K", (64, 64), "bf16")
    i, j, d = te.index("i", 64), te.index("j", 64), te.index("d", 64)
    s = te.tensor(None, (i, j), te.sum(d, q[i, d] * k[j, d]), "f32")
    single = te.tensor("A", (i,), te.logsumexp(j, s[i, j]))
    with pytest.raises(Refused, match="its own point"):
        plan(extract(graph("single", single), costs=Costs(MATRIX_UNITS)).program.kernels[-1].outputs)

    def normaliser_of(factor: float) -> te.Array:
        x = te.tensor(None, (i, j), s[i, j] * factor, "f32")
        return logsumexp(x)

    a, b = normaliser_of(1.0), normaliser_of(-0.7)
    both = graph("both", te.tensor("A", (i,), a[i]), te.tensor("B", (i,), b[i]))
    for kernel in extract(both, costs=Costs(MATRIX_UNITS)).program.kernels:
        if len(kernel.outputs) > 1:
            with pytest.raises(Refused, match="different statistics"):
                plan(kernel.outputs)


@pytest.mark.parametrize("rows", [1, 70, 130])
def test_symbolic_sizes_and_names_of_the_generator(rows: int) -> None:
    """Dims and inputs may be called like variables that kernels have."""
    m, lane = te.dim("m", lo=1), te.dim("lane", lo=1)
    q, k, v = (
        te.input("scores", (m, 64), "bf16"),
        te.input("acc", (lane, 64), "bf16"),
        te.input("drawn", (lane, 64), "bf16"),
    )
    g = graph("named", weights=layers.attention(q, k, v))
    (kernel,) = extract(g, costs=Costs(MATRIX_UNITS)).program.kernels
    schedule = device_schedules(kernel.outputs)[0]
    assert schedule.shape == "mma"
    dims = {"m": rows, "lane": 150}
    inputs = sample_inputs(g, dims, edge=False)
    got = simulate(kernel.outputs, lower_mma("named", kernel.outputs, schedule), inputs, dims)["weights"]
    assert error(got, interpret(g, inputs, dims)["weights"]) < CLOSE["bf16"]


def test_folds_that_may_be_empty_are_refused() -> None:
    m = te.dim("m")
    a, b = te.input("A", (m, 64), "bf16"), te.input("B", (m, 64), "bf16")
    i, j, c = te.index("i", 64), te.index("j", 64), te.index("c", m)
    g = graph("empty", te.tensor("C", (i, j), te.sum(c, a[c, i] * b[c, j]), "bf16"))
    with pytest.raises(Refused, match="no points"):
        plan(extract(g).program.kernels[0].outputs)
    none = graph("none", C=linear(te.input("A", (64, 0), "bf16"), te.input("B", (0, 64), "bf16")))
    assert all(s.shape != "mma" for k in extract(none).program.kernels for s in device_schedules(k.outputs))


def test_shares_without_a_live_element(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_fold, "SHARE", 128)
    h, w = te.input("H", (128, 64), "bf16"), te.input("W", (1024, 64), "bf16")
    i, j, d = te.index("i", 128), te.index("j", 1024), te.index("d", 64)
    s = te.tensor(None, (i, j), te.sum(d, h[i, d] * w[j, d]), "f32")
    m = te.tensor(None, (i,), te.max(j, s[i, j], where=j <= 3 * i - 200), "f32")
    total = te.tensor(None, (i,), te.sum(j, e.exp(s[i, j] - m[i]), where=j <= 3 * i - 200), "f32")
    g = graph("dead", te.tensor("L", (i,), m[i] + e.log(total[i])))
    before = extract(g, costs=Costs(MATRIX_UNITS)).program
    after = split_fold.split_streams(before, 8)
    assert len(after.kernels) > len(before.kernels)
    inputs = sample_inputs(g, {}, edge=False)
    wanted = interpret(g, inputs)["L"]
    assert np.isneginf(wanted).any()
    np.testing.assert_allclose(interpret(after.graph, inputs)["L"], wanted, rtol=1e-9)


def test_a_split_that_no_matrix_kernel_takes_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_fold, "SHARE", 64)
    program = extract(MMA["gated"](), costs=Costs(MATRIX_UNITS)).program
    assert split_fold.split_streams(program, 132).kernels == program.kernels


def test_unreadable_schedules() -> None:
    for text in ("", "mma unit=foo", "mma supertile=-3"):
        with pytest.raises(CodegenError):
            parse_schedule(text)


def test_positions_beyond_32_bits() -> None:
    """A bias of large multiples of positions is exact; conditions on such stay off matrix units."""

    def far(i: te.Index, j: te.Index) -> e.Expression:
        return e.cast(j * 30_000_000 - i * 10_000_000, "real") * 1e-9

    g = attend(1, 1, 130, 130, 64, bias=far)
    (kernel,) = extract(g, costs=Costs(MATRIX_UNITS)).program.kernels
    inputs = sample_inputs(g, {}, edge=False)
    schedule = device_schedules(kernel.outputs)[0]
    assert schedule.shape == "mma"
    got = simulate(kernel.outputs, lower_mma("far", kernel.outputs, schedule), inputs)["O"]
    assert error(got, interpret(g, inputs)["O"]) < CLOSE["bf16"]
    odd = attend(1, 1, 130, 130, 64, mask=lambda i, j: j * 30_000_000 <= i * 10_000_000)
    for k in extract(odd, costs=Costs(MATRIX_UNITS)).program.kernels:
        assert device_schedules(k.outputs)[0].shape != "mma"


def _without(body: tuple[Stmt, ...], left: list[int]) -> tuple[Stmt, ...]:
    """Statements without one Sync: the one at which the count in `left` runs out."""
    kept: list[Stmt] = []
    for s in body:
        if isinstance(s, Sync):
            left[0] -= 1
            if left[0] == 0:
                continue
        if isinstance(s, (Loop, Forever)):
            s = replace(s, body=_without(s.body, left))
        elif isinstance(s, If):
            s = replace(s, then=_without(s.then, left))
        elif isinstance(s, Roles):
            s = Roles(tuple(replace(r, body=_without(r.body, left)) for r in s.roles))
        kept.append(s)
    return tuple(kept)


@pytest.mark.parametrize(("name", "meetings"), [("wide rows", 2), ("product", 2)])
def test_no_meeting_around_the_outputs_can_go(name: str, meetings: int) -> None:
    _, k = derived(name)
    kernel = lower_mma(k.name, k.outputs, first(name))
    check_kernel(kernel)
    for n in range(1, meetings + 1):
        with pytest.raises(CodegenError):
            check_kernel(replace(kernel, body=_without(kernel.body, [n])))
