"""The best few points of a row by rounds: what they mean under every order and type, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import expression as e
from tang_egg import library, library_sort, ops
from tang_egg import monoid as monoids
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel import Barrier, Call, Kernel, Loop, expressions, statements, subexpressions
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import held
from tang_egg.codegen.legalize_runs import runs
from tang_egg.codegen.lower_grid import lower_grid
from tang_egg.codegen.ranking import Keys, ranking_of
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.errors import CodegenError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Reduce, StateRef, walk
from tang_egg.pipeline import extract
from tang_egg.program import KernelPlan
from tang_egg.schedule import parse_schedule, print_schedule
from tests.cuda_compile import check_clean, compiled
from tests.warps import run_warps

ROWS = 2
Values = np.ndarray[Any, Any]
SPECIAL = (0.0, -0.0, np.inf, -np.inf, 1.0, 1.0, -1.0)


def best(n: int, k: int, dtype: str = "f32", largest: bool = True, rows: int = ROWS) -> Graph:
    values, places = library_sort.top_k(te.input("X", (rows, n), dtype), k, largest=largest)
    return te.graph("best", V=values, P=places)


def plan_of(graph: Graph) -> tuple[KernelPlan, str]:
    """The one kernel of a graph, and the index that it folds."""
    (plan,) = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels
    return plan, next(s.indices[-1].name for t in plan.outputs for s in walk(t.body) if isinstance(s, Reduce))


def lowered(graph: Graph, form: str, teams: bool = True) -> Kernel:
    """The kernel by a schedule in which J is the folded index, with accesses of several elements formed."""
    plan, j = plan_of(graph)
    grid = plan.outputs[0].axes[0].name
    text = f"split grid={grid} {form.replace('J', j)} rounds={j}"
    kernel = lower_grid("k", plan.outputs, parse_schedule(text), 64 if not teams else 256, 32 if not teams else 256, teams)
    check_kernel(kernel)
    return runs(ops.BYTES)(kernel)


def run(graph: Graph, kernel: Kernel, x: Values) -> dict[str, Values]:
    """What the lanes of a kernel give side by side."""
    arrays = {b.name: x.reshape(-1).astype(held(b)) for b in kernel.buffers if b.role == "input"}
    shapes = {t.name: tuple(n.value or 0 for n in t.shape) for t in graph.outputs}
    for b in kernel.buffers:
        if b.role == "output":
            arrays[b.name] = np.full(int(np.prod(shapes[b.name])), 77).astype(held(b))
    run_warps(kernel, arrays, {})
    return {n: arrays[n].reshape(s) for n, s in shapes.items()}


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0, nan: bool = False) -> Values:
    """Rows with many ties; of floats also zeros of both signs, infinities and, where asked for, NaN."""
    random = np.random.default_rng(seed)
    if dtype not in ops.FLOATS:
        info = np.iinfo(ops.numpy_type(dtype))
        x = random.integers(info.min, info.max, shape, endpoint=True, dtype=ops.numpy_type(dtype))
        x[random.random(shape) < 0.3] = info.min
        return x
    x = np.asarray(ops.cast_value(random.normal(size=shape) * 3, dtype, "real"), np.float64)
    special = (*SPECIAL, np.nan) if nan else SPECIAL
    x = np.where(random.random(shape) < 0.5, random.choice(special, shape), x)
    if shape[0] > 1 and not nan:
        x[1] = random.choice((0.0, -0.0), shape[1])
    return x


def same(got: Mapping[str, Values], graph: Graph, x: Values) -> None:
    """Equal to the interpreter, signs of zeros included."""
    expected = interpret(graph, {"X": x}, checked=False)
    for name, want in expected.items():
        np.testing.assert_array_equal(got[name], want)
        if np.issubdtype(np.asarray(want).dtype, np.floating):
            np.testing.assert_array_equal(np.signbit(got[name]), np.signbit(want))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "i32", "u32", "i8", "u8", "i16"])
def test_the_best_of_a_row_in_every_type(dtype: str, largest: bool) -> None:
    graph, x = best(67, 3, dtype, largest), drawn((ROWS, 67), dtype)
    same(run(graph, lowered(graph, "fold=J:warp"), x), graph, x)


@pytest.mark.parametrize("team", [0, 2, 4])
@pytest.mark.parametrize("n,size", [(5, 1), (31, 1), (32, 1), (33, 1), (127, 1), (256, 8), (264, 8), (520, 4)])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_rows_of_all_lengths(dtype: str, n: int, size: int, team: int) -> None:
    k = min(n, 5)
    graph, x = best(n, k, dtype), drawn((ROWS, n), dtype, n)
    form = f"fold=J:warp:{size}" if size > 1 else "fold=J:warp"
    same(run(graph, lowered(graph, form + (f" team={team}" if team else "")), x), graph, x)


@pytest.mark.parametrize("k", [2, 8, 16])
def test_all_of_the_best_may_be_those_of_one_lane(k: int) -> None:
    """A lane whose points are all taken has nothing left, and what it dropped never comes back."""
    graph = best(512, k, "bf16")
    x = np.tile(np.arange(512) // 8 == 7, (ROWS, 1)) * np.arange(512) * 1.0
    x[1] = -np.arange(512)
    same(run(graph, lowered(graph, "fold=J:warp:8"), x), graph, x)
