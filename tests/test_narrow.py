"""Products of few rows: tiles of any multiple of 8 columns, outputs from registers, rows that are not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tang_egg import expression as e
from tang_egg import layers, library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.codegen import device as d
from tang_egg.codegen import split_fold
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.device import UNITS
from tang_egg.codegen.dialects import cuda
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
from tests.mma_graphs import attend, multiply
from tests.test_lower_mma import CLOSE, error, simulate


def outputs_of(g: Graph) -> tuple[Tensor, ...]:
    (kernel,) = extract(g, costs=Costs(MATRIX_UNITS)).program.kernels
    return kernel.outputs


def forced(
    outputs: tuple[Tensor, ...], columns: int, stream: int, stages: int = 3, more: str = "straight=1"
) -> Schedule:
    p = plan(outputs)
    assert p.column is not None
    sides = f"tile={p.row.name}:64,{p.column.name}:{columns} fold={p.stream.name}:stream:{stream}"
    found = parse_schedule(f"mma {sides} consumers=1 stages={stages} {more}")
    assert parse_schedule(print_schedule(found)) == found
    return found


def check(g: Graph, outputs: tuple[Tensor, ...], schedule: Schedule, **options: object) -> None:
    inputs = sample_inputs(g, {}, edge=False)
    got = simulate(outputs, lower_mma("narrow", outputs, schedule), inputs, **options)[outputs[0].name]  # type: ignore[arg-type]
    assert error(got, interpret(g, inputs)[outputs[0].name]) < CLOSE[outputs[0].dtype]


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 16, 17, 56, 57, 63, 64, 65])
def test_rows(rows: int) -> None:
    """Up to 56 rows are copied in eights, what a product reads beyond them is NaN here; more are 64, or two tiles."""
    g = multiply(rows, 72, 192, True)
    outputs = outputs_of(g)
    kernel = lower_mma("narrow", outputs, forced(outputs, 40, 64))
    assert kernel.launch is not None
    assert kernel.launch.stages[0].lines == min(-(-rows // 8) * 8, 64)
    assert [s.name for s in kernel.launch.stages if "out" in s.name] == []
    check(g, outputs, forced(outputs, 40, 64))


@pytest.mark.parametrize("columns", [8, 16, 24, 40, 112, 120, 136, 248, 256])
def test_columns(columns: int) -> None:
    """One column fewer and more than a tile in eights: 120 and 136 beside 128, and whole numbers of tiles."""
    for n in {columns - 8 or 8, columns, columns + 8, 3 * columns}:
        g = multiply(3, n, 72, True)
        outputs = outputs_of(g)
        check(g, outputs, forced(outputs, columns, 64))


@pytest.mark.parametrize(("stream", "k"), [(64, 8), (64, 64), (64, 72), (128, 120), (192, 200), (256, 1000)])
@pytest.mark.parametrize("order", ["early", "late", "random"])
def test_streams(stream: int, k: int, order: str) -> None:
    g = multiply(5, 48, k, True)
    outputs = outputs_of(g)
    check(g, outputs, forced(outputs, 24, stream), order=order, seed=1)


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("transposed", [True, False])
def test_types_and_orders(dtype: str, transposed: bool) -> None:
    """Where W is contiguous along its columns, a tile has whole lines of them: 64."""
    if dtype == "f32" and not transposed:
        return  # matrix units read 32-bit operands only along the contraction
    g = multiply(9, 72, 136, transposed, dtype)
    outputs = outputs_of(g)
    unit = " unit=tf32" if dtype == "f32" else ""
    check(g, outputs, forced(outputs, 40, 64 if dtype != "f32" else 32, more=f"straight=1{unit}"))


def test_what_follows_a_product_and_two_of_them() -> None:
    """A bias and GELU on the accumulators; a gate, whose two products share the few rows."""
    x, w, b = te.input("X", (5, 128), "bf16"), te.input("W", (72, 128), "bf16"), te.input("b", (72,), "bf16")
    for g in (
        graph("biased", Y=library.pointwise(e.gelu, library.linear(x, w, b, transposed=True))),
        graph("gated", H=layers.swiglu(x, *(te.input(n, (128, 64), "bf16") for n in "GU"))),
    ):
        outputs = outputs_of(g)
        check(g, outputs, forced(outputs, 24, 64))
        found = device_schedules(outputs)[0]
        assert found.straight
        check(g, outputs, found)


@pytest.mark.parametrize(("n", "columns"), [(14336, 112), (4096, 32), (32000, 248), (11008, 88), (5120, 40)])
@pytest.mark.parametrize("m", [1, 16])
def test_tiles_fill_whole_rounds_of_the_chip(m: int, n: int, columns: int) -> None:
    outputs = outputs_of(multiply(m, n, 4096, True))
    p = plan(outputs)
    assert p.column is not None
    found = device_schedules(outputs)[0]
    assert dict(found.tile)[p.column.name] == columns
    tiles = -(-n // columns)
    assert tiles / (-(-tiles // UNITS) * UNITS) > 0.93
    kernel = lower_mma("narrow", outputs, found)
    check_kernel(kernel)
    assert kernel.launch is not None
    wide = kernel.launch.stages[-1]
    assert wide.bytes * (wide.depth - 1) > 64 << 10  # on their way to each multiprocessor


@pytest.mark.parametrize(("n", "transposed", "kernels"), [
    (4096, True, 1), (2144, True, 1), (2112, True, 2), (1024, True, 2),
    (4352, False, 1), (4096, False, 2),
])  # fmt: skip
def test_narrow_products_are_split_only_where_the_least_tiles_leave_units_idle(
    n: int, transposed: bool, kernels: int
) -> None:
    """The least tiles are 32 columns wide, or a line of 64 where W is contiguous along its columns."""
    program = extract(multiply(1, n, 4096, transposed), costs=Costs(MATRIX_UNITS)).program
    assert len(split_fold.split_streams(program, UNITS).kernels) == kernels


def test_rows_that_end_shared_memory_are_refused() -> None:
    """A product reads 64 rows: behind a tile of fewer there must be others."""
    outputs = outputs_of(multiply(1, 64, 64, True))
    kernel = lower_mma("narrow", outputs, forced(outputs, 64, 64))
    check_kernel(kernel)
    assert kernel.launch is not None
    turned: tuple[d.Stage, ...] = tuple(reversed(kernel.launch.stages))
    with pytest.raises(CodegenError, match="8 rows in the last 7168 bytes") as raised:
        check_kernel(replace(kernel, launch=replace(kernel.launch, stages=turned)))
    assert "mend" in str(raised.value)
    few = lower_mma("narrow", outputs, forced(outputs, 8, 64, stages=2))
    assert few.launch is not None
    assert few.launch.stages[0].lines == 64  # two slots of 8 columns are 2 KiB: too few to stand behind 8 rows


def test_outputs_leave_one_way() -> None:
    outputs = outputs_of(multiply(1, 64, 64, True))
    with pytest.raises(Refused, match="not both"):
        lower_mma("narrow", outputs, forced(outputs, 64, 64, more="straight=1 reuse=1"))


FEW: dict[str, Callable[[], Graph]] = {
    "one query": lambda: attend(1, 2, 1, 200, 64),
    "four queries": lambda: attend(2, 1, 4, 130, 128),
    "few, causal": lambda: attend(1, 1, 5, 300, 64, causal=True),
    "sixty-four": lambda: attend(1, 1, 64, 65, 64),
}


@pytest.mark.parametrize("name", FEW)
def test_few_queries_beside_a_long_stream(name: str) -> None:
    """One warp group has all rows; tiles of the stream are short, and more than two of them are on their way."""
    g = FEW[name]()
    outputs = outputs_of(g)
    found = [s for s in device_schedules(outputs) if s.shape == "mma" and s.consumers == 1]
    assert {dict(s.fold)[plan(outputs).stream.name].size for s in found} >= {32, 64}
    assert {(s.straight, s.reuse) for s in found} == {(1, 0), (0, 1)}
    assert max(s.stages for s in found) > 2
    for s in found:
        check(g, outputs, s)


def test_many_queries_have_no_tiles_of_one_group() -> None:
    outputs = outputs_of(attend(1, 2, 65, 200, 64))
    assert all(s.consumers != 1 for s in device_schedules(outputs))


def test_both_compile_without_spills() -> None:
    """ptxas has nothing to say of a product of few rows, nor of few queries."""
    product = outputs_of(multiply(16, 14336, 4096, True))
    queries = outputs_of(attend(2, 8, 4, 4096, 128))
    few = next(s for s in device_schedules(queries) if s.consumers == 1)
    for outputs, schedule in ((product, device_schedules(product)[0]), (queries, few)):
        cuda_compile.check_clean(cuda_compile.compiled(cuda.source(lower_mma("k", outputs, schedule))))
