"""Functions in few instructions, loads ahead of their use, and narrow products of CUDA kernels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

import tang_egg as te
from tang_egg import expression as e
from tang_egg import library, ops
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel import Loop, statements
from tang_egg.codegen.legalize_runs import ReadRun, runs
from tang_egg.codegen.lower_grid import lower_grid
from tang_egg.codegen.printer import print_kernel
from tang_egg.codegen.split_fold import split_streams
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.notation import Array
from tang_egg.pipeline import extract
from tang_egg.program import KernelPlan
from tests.cuda_compile import compiled
from tests.stages.test_lower_row import run


def printed(f: Callable[[Array], Array], dtype: str) -> str:
    (plan,) = extract(te.graph("g", Y=f(te.input("X", (64, 4096), dtype))), costs=Costs(MATRIX_UNITS)).program.kernels
    return print_kernel(lower_grid("k", plan.outputs, device_schedules(plan.outputs)[0]), cuda.CUDA)


def test_results_of_16_bits_take_quick_functions() -> None:
    for dtype, quick in (("bf16", True), ("f16", True), ("f32", False)):
        for function, plain in ((e.erf, "erff("), (e.tanh, "tanhf("), (e.exp, "expf(")):
            text = printed(lambda x, f=function: library.pointwise(f, x), dtype)  # type: ignore[misc]
            assert ("te_quick_" in text, plain in text) == (quick, not quick), (dtype, plain)


@pytest.mark.parametrize(("name", "clamp", "limit"), [("erf", 3.9, 1e-6), ("tanh", 8.4, 1e-6)])
def test_quick_functions_are_right_to_a_millionth(name: str, clamp: float, limit: float) -> None:
    """The coefficients of the prelude, evaluated in f32 as the device does."""
    text = cuda.prelude().partition(f"te_quick_{name}(")[2].partition("}\n")[0]
    p, q = ([np.float32(c.strip(" f")) for c in found.split(",")] for found in re.findall(r"\[\] = \{([^}]*)\}", text))
    assert f"-{clamp}f" in text and f" {clamp}f" in text
    x = np.concatenate([np.linspace(-12, 12, 24001), np.logspace(-30, 0, 500)]).astype(np.float32)
    held = np.clip(x, np.float32(-clamp), np.float32(clamp))
    s = held * held
    above, below = np.full_like(s, p[-1]), np.full_like(s, q[-1])
    for c in p[-2::-1]:
        above = above * s + c
    for c in q[-2::-1]:
        below = below * s + c
    exact = np.array([getattr(math, name)(float(v)) for v in x])
    with np.errstate(invalid="ignore"):
        error = np.abs(held * above / below / exact - 1)
    assert np.nanmax(error) < limit
    assert np.isnan(exact).sum() == 0 and np.isnan(error).sum() == (exact == 0).sum()


def test_quick_functions_stay_between_their_ends() -> None:
    """Above 1 by a few units of the last place, 1 - tanh(x)² would have no root: the quotients alone are."""
    text = cuda.prelude().partition("float te_rational(")[2].partition("}\n")[0]
    assert "return te_min_f32(te_max_f32(x * above * te_recip(below), -1.0f), 1.0f);" in text
    for name, clamp in (("erf", 3.9), ("tanh", 8.4)):
        text = cuda.prelude().partition(f"te_quick_{name}(")[2].partition("}\n")[0]
        found = re.findall(r"\[\] = \{([^}]*)\}", text)
        p, q = (np.array([c.strip(" f") for c in x.split(",")], np.float32) for x in found)
        x = np.linspace(0, clamp, 100001).astype(np.float32)
        s, (above, below) = x * x, (np.full_like(x, c[-1]) for c in (p, q))
        for n in range(len(p) - 2, -1, -1):
            above = above * s + p[n]
        for n in range(len(q) - 2, -1, -1):
            below = below * s + q[n]
        assert (x * above / below).max() > 1, f"if {name} is not, nothing has to hold it back"


def test_quick_sources_compile() -> None:
    (plan,) = extract(
        te.graph("g", Y=library.pointwise(lambda v: e.gelu(e.tanh(v)), te.input("X", (64, 4096), "bf16"))),
        costs=Costs(MATRIX_UNITS),
    ).program.kernels
    assert "0 bytes spill stores" in compiled(
        cuda.source(lower_grid("k", plan.outputs, device_schedules(plan.outputs)[0]))
    )


def test_loads_of_several_turns_are_on_their_way_together() -> None:
    i, j = te.indices("i j")
    text = printed(lambda x: te.tensor(None, i, te.sum(j, x[i, j])), "bf16")
    assert f"#pragma unroll {cuda.AHEAD}\n" in text
    assert text.index(f"#pragma unroll {cuda.AHEAD}\n") < text.index("te_read_run<8, true>(")


def product(rows: int, columns: int) -> tuple[KernelPlan, ...]:
    a, w = te.input("A", (rows, 4096), "bf16"), te.input("W", (columns, 4096), "bf16")
    graph = te.graph("narrow", Y=library.linear(a, w, transposed=True))
    return split_streams(extract(graph, costs=Costs(MATRIX_UNITS)).program, 132).kernels


def test_narrow_products_have_short_tiles_and_deep_rings() -> None:
    for rows, columns, tile, kernels in ((16, 14336, 112, 1), (1, 4096, 32, 1), (1, 1024, 32, 2)):
        found = product(rows, columns)
        assert len(found) == kernels, "tiles that fill less than half of the chip are split over blocks"
        first = device_schedules(found[0].outputs)[0]
        assert [n for _, n in first.tile] == [64, tile] and first.consumers == 1
        # slots of one line come first, of several lines second: these have more bytes on their way to a multiprocessor
        ways = [
            (s.fold[0][1].size, s.stages)
            for s in device_schedules(found[0].outputs)
            if s.straight and s.tile == first.tile
        ]
        assert max(2 * tile * size * (stages - 1) for size, stages in ways) > 96 << 10
    (plan,) = product(512, 14336)
    assert dict(device_schedules(plan.outputs)[0].tile)[plan.outputs[0].axes[0].name] == 128


def test_few_rows_share_what_is_read_of_the_large_operand() -> None:
    a, w = te.input("A", (3, 264)), te.input("W", (5, 264))
    graph = te.graph("few", Y=library.linear(a, w, transposed=True))
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    first = device_schedules(plan.outputs)[0]
    row, column = (i.name for i in plan.outputs[0].axes)
    assert first.grid == (column,) and first.tile_of(row) == 0
    kernel = runs(ops.BYTES)(lower_grid("k", plan.outputs, first))
    assert run(graph, kernel) <= 1e-5
    turns = next(s for s in statements(kernel.body) if isinstance(s, Loop) and s.kind == "serial")
    assert [s.source.name for s in turns.body if isinstance(s, ReadRun)] == ["W"], "one read for all rows"
