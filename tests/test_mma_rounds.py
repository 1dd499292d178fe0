"""Whole rounds of products: tiles of any multiple of 16 columns, a consumer that leads, products issued early."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tang_egg.assemble import graph
from tang_egg.codegen import device as d
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.device import UNITS
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel import If, Kernel, Loop, Stmt, number, statements
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.lower_mma import lower_mma
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_plan import plan
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.errors import CodegenError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Tensor
from tang_egg.pipeline import extract
from tang_egg.schedule import Schedule, parse_schedule, print_schedule
from tang_egg.verify import sample_inputs
from tests import cuda_compile
from tests.mma_graphs import attend, biased, decaying, gated, multiply, normed
from tests.test_lower_mma import CLOSE, error, simulate

ORDERS = ["early", "late", "random"]


@cache
def outputs_of(g: Graph) -> tuple[Tensor, ...]:
    (kernel,) = extract(g, costs=Costs(MATRIX_UNITS)).program.kernels
    return kernel.outputs


def forced(outputs: tuple[Tensor, ...], columns: int, more: str = "", stages: int = 3, stream: int = 64) -> Schedule:
    p = plan(outputs)
    assert p.column is not None
    sides = f"tile={p.row.name}:128,{p.column.name}:{columns} fold={p.stream.name}:stream:{stream}"
    found = parse_schedule(f"mma {sides} consumers=2 stages={stages} {more}")
    assert parse_schedule(print_schedule(found)) == found
    return found


def check(g: Graph, schedule: Schedule, **options: object) -> None:
    outputs = outputs_of(g)
    inputs = sample_inputs(g, {}, edge=False)
    got = simulate(outputs, lower_mma("rounds", outputs, schedule), inputs, **options)[outputs[0].name]  # type: ignore[arg-type]
    assert error(got, interpret(g, inputs)[outputs[0].name]) < CLOSE[outputs[0].dtype]


# ---- tiles of columns ----


@pytest.mark.parametrize("columns", [80, 112, 144, 208, 224, 240])
def test_the_last_box_begins_inside_the_one_before(columns: int) -> None:
    """A tile less eight columns, a tile, eight more, and three tiles; one row, a tile of rows and one row more."""
    for rows, n in ((1, columns - 8), (128, columns), (129, columns + 8), (60, 3 * columns)):
        check(multiply(rows, n, 72, True), forced(outputs_of(multiply(rows, n, 72, True)), columns))


@pytest.mark.parametrize(("dtype", "columns"), [("f16", 112), ("f32", 72), ("f32", 104)])
def test_types(dtype: str, columns: int) -> None:
    """Lines hold 64 elements of 16 bits, 32 of 32: tiles are then multiples of 8 columns."""
    g = multiply(70, 2 * columns + 8, 40, True, dtype)
    more, stream = ("unit=tf32", 32) if dtype == "f32" else ("", 64)
    schedule = forced(outputs_of(g), columns, more, stream=stream)
    kernel = lower_mma("rounds", outputs_of(g), schedule)
    assert {2 * (s.acc.size.value or 0) for s in statements(kernel.body) if isinstance(s, d.Mma)} == {columns}
    check(g, schedule)


def test_less_than_a_line_is_a_line() -> None:
    g = multiply(70, 72, 64, True)
    kernel = lower_mma("rounds", outputs_of(g), forced(outputs_of(g), 40))
    assert {s.acc.size.value for s in statements(kernel.body) if isinstance(s, d.Mma)} == {32}


@pytest.mark.parametrize(("rows", "columns", "tile"), [(512, 14336, 224), (4096, 14336, 256), (4096, 4096, 256)])
def test_a_choice_counts_rounds(rows: int, columns: int, tile: int) -> None:
    """At 512 x 14336, 224 tiles of 256 columns take two rounds as 256 of 224 do, which are an eighth shorter."""
    first = device_schedules(outputs_of(multiply(rows, columns, 512, True)))[0]
    assert dict(first.tile)[plan(outputs_of(multiply(rows, columns, 512, True))).column.name] == tile  # type: ignore[union-attr]
    # columns that lie along lines of shared memory come in whole lines
    (other,) = {n % 64 for _, n in device_schedules(outputs_of(multiply(rows, columns, 512)))[0].tile}
    assert other == 0


@pytest.mark.parametrize(("n", "consumers"), [(2048, 2), (8192, 3), (16384, 3)])
def test_attention_counts_rounds(n: int, consumers: int) -> None:
    """2048 queries of 16 heads: 176 tiles of 192 rows take two rounds, 256 of 128 rows two shorter ones."""
    outputs = outputs_of(attend(1, 16, n, n, 64))
    assert device_schedules(outputs)[0].consumers == consumers
    assert -(-n // 192) * 16 % UNITS


# ---- a lead ----


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("lead", "stages"), [(1, 2), (2, 2), (1, 3), (3, 3), (2, 4)])
def test_a_lead_changes_no_result(lead: int, stages: int, order: str) -> None:
    g = multiply(300, 200, 200)
    schedule = forced(outputs_of(g), 64, f"lead={lead} supertile=2", stages)
    check(g, schedule, order=order, seed=lead)


@pytest.mark.parametrize("make", [biased, gated, lambda: normed(200, 136, 200)], ids=["biased", "gated", "normed"])
def test_a_lead_before_epilogues_and_staged_products(make: object) -> None:
    g = make()  # type: ignore[operator]
    check(g, forced(outputs_of(g), 128, "lead=1", 2), order="random", seed=2)


@pytest.mark.parametrize(
    ("more", "stages", "why"),
    [("lead=3", 2, "a lead of 3 in a ring of 2"), ("lead=1", 4, "for 3 steps of a tile"), ("lead=4", 4, "a lead of 4")],
)
def test_a_lead_that_could_not_be_taken_is_refused(more: str, stages: int, why: str) -> None:
    outputs = outputs_of(multiply(300, 200, 192))
    with pytest.raises(Refused, match=why):
        lower_mma("lead", outputs, forced(outputs, 64, more, stages))


def test_a_lead_needs_two_that_share_a_plain_stream() -> None:
    outputs = outputs_of(multiply(64, 200, 256))
    alone = replace(forced(outputs, 64, "lead=1"), consumers=1, tile=((plan(outputs).row.name, 64),))
    others = [outputs_of(g) for g in (attend(1, 1, 256, 256, 64), decaying())]
    assert all(s.consumers == 2 for s in (device_schedules(o)[0] for o in others))
    for o, s in ((outputs, alone), *((o, replace(device_schedules(o)[0], lead=1)) for o in others)):
        with pytest.raises(Refused, match="one consumer leads another"):
            lower_mma("lead", o, s)


def changed(body: tuple[Stmt, ...], kind: type, new: object) -> tuple[Stmt, ...]:
    """Statements with those of a kind replaced by `new`, or left out where it is None."""
    kept: list[Stmt] = []
    for s in body:
        if isinstance(s, kind):
            kept += [new] if new is not None else []  # type: ignore[list-item]
            continue
        if isinstance(s, (Loop, d.Forever)):
            s = replace(s, body=changed(s.body, kind, new))
        elif isinstance(s, If):
            s = replace(s, then=changed(s.then, kind, new))
        elif isinstance(s, d.Roles):
            s = d.Roles(tuple(replace(r, body=changed(r.body, kind, new)) for r in s.roles))
        kept.append(s)
    return tuple(kept)


def led() -> Kernel:
    outputs = outputs_of(multiply(300, 200, 200))
    return lower_mma("lead", outputs, forced(outputs, 64, "lead=1"))


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (None, "somebody waits at barrier 4 that nobody"),
        (d.Announce(number(4), 128), "128 and 256 threads at barrier 4"),
    ],
)
def test_the_checker_sees_an_announcement_that_is_missing_or_too_small(new: object, why: str) -> None:
    kernel = led()
    check_kernel(kernel)
    with pytest.raises(CodegenError, match=why):
        check_kernel(replace(kernel, body=changed(kernel.body, d.Announce, new)))


def test_a_lead_compiles_without_spills() -> None:
    outputs = outputs_of(multiply(4096, 4096, 4096, True))
    kernel = lower_mma("lead", outputs, forced(outputs, 256, "lead=2 supertile=16", 4))
    cuda_compile.check_clean(cuda_compile.compiled(cuda.source(kernel)))


@pytest.mark.parametrize(("dtype", "quick"), [("bf16", True), ("f32", False)])
def test_one_plus_erf_is_one_function_before_an_output_of_16_bits(dtype: str, quick: bool) -> None:
    g = biased()
    (y,) = outputs_of(g)
    outputs = (replace(y, dtype=dtype),)
    text = cuda.source(lower_mma("biased", outputs, forced(outputs, 128, "", 2))).rpartition("__global__")[2]
    assert ("te_quick_one_plus_erf(" in text) is quick
    assert ("1.061405429f" in text) is not quick


# ---- products whose left factors are made in registers ----


@pytest.mark.parametrize(("k", "stream"), [(72, 128), (72, 64), (136, 64), (200, 64), (320, 64)])
@pytest.mark.parametrize("order", ORDERS)
def test_staged_products_of_any_number_of_steps(k: int, stream: int, order: str) -> None:
    """One to five steps: the loop takes two at a time, and the last product ends behind it."""
    g = normed(70, 72, k)
    check(g, forced(outputs_of(g), 64, "", 2, stream), order=order, seed=k)


def test_a_product_is_issued_before_the_one_before_it_has_ended() -> None:
    outputs = outputs_of(normed(200, 136, 512))
    kernel = lower_mma("staged", outputs, forced(outputs, 128, "", 4))
    waits = [s.pending for s in statements(kernel.body) if isinstance(s, d.MmaWait)]
    assert waits.count(1) >= 2 and waits.count(0) == 1
    early = replace(kernel, body=changed(kernel.body, d.MmaWait, d.MmaWait(2)))
    with pytest.raises(CodegenError, match=r"while a product on it is under way|no MmaWait"):
        check_kernel(early)


def test_staged_products_compile_without_spills() -> None:
    outputs = outputs_of(normed(8192, 4096, 4096))
    kernel = lower_mma("staged", outputs, forced(outputs, 256, "supertile=16", 4))
    cuda_compile.check_clean(cuda_compile.compiled(cuda.source(kernel)))


def test_attention_with_a_lead_is_not_proposed() -> None:
    for g in (attend(1, 2, 256, 256, 64), multiply(4096, 4096, 4096), graph("m", C=multiply(64, 64, 64).outputs[0])):
        assert all(not s.lead for s in device_schedules(outputs_of(g)))
