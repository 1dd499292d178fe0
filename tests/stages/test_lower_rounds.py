"""The best few points of a row by rounds: what they mean under every order and type, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import expression as e
from tang_egg import library_sort, monoid_entries, ops
from tang_egg import monoid as monoids
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel import Barrier, Call, Declare, Kernel, Loop, expressions, statements, subexpressions
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
    kernel = lower_grid(
        "k", plan.outputs, parse_schedule(text), 64 if not teams else 256, 32 if not teams else 256, teams
    )
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


def masked(n: int, k: int, data: bool) -> Graph:
    """The best of the points of a row that count: by their position, or by what they are. They may be too few."""
    x, (i, j), r, kind = te.input("X", (ROWS, n)), te.indices("i j"), te.index("r", k), monoid_entries.top_k(k)
    where = [x[i, j] < 0.5] if data else [j >= 3 * i + 2, j < n - 2]

    def listed(part: str, dtype: str) -> te.Array:
        parts = [
            te.reduce(kind, j, x[i, j], e.value(j), *kind.identity[2:], part=f"{part}{m}", where=where)
            for m in range(k)
        ]
        found = [te.tensor(None, i, p, dtype)[i] for p in parts]
        chosen = found[-1]
        for m in range(k - 2, -1, -1):
            chosen = e.select(r <= m, found[m], chosen)
        return te.tensor(None, (i, r), chosen, dtype)

    return te.graph("masked", V=listed("value", "f32"), P=listed("position", "i64"))


@pytest.mark.parametrize("data", [True, False])
@pytest.mark.parametrize("n,form", [(6, "fold=J:warp"), (40, "fold=J:warp team=2"), (64, "fold=J:warp:2")])
def test_points_that_do_not_count_are_no_points(n: int, form: str, data: bool) -> None:
    graph, x = masked(n, 4, data), drawn((ROWS, n), "f32", n)
    same(run(graph, lowered(graph, form), x), graph, x)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "i32"])
@pytest.mark.parametrize("nan", [True, False])
def test_one_best_point_is_the_case_of_one_round(name: str, dtype: str, nan: bool) -> None:
    x, (i, j) = te.input("X", (ROWS, 136), dtype), te.indices("i j")
    graph = te.graph("one", P=te.tensor(None, i, getattr(te, name)(j, x[i, j]), "i64"))
    for form in ("fold=J:warp:8", "fold=J:warp team=2"):
        for seed in range(3):
            data = drawn((ROWS, 136), dtype, seed, nan)
            same(run(graph, lowered(graph, form), data), graph, data)


def test_a_row_that_is_held_gives_its_keys_from_registers() -> None:
    x = te.input("X", (ROWS, 264), "bf16")
    graph = te.graph("both", V=library_sort.top_k(x, 3)[0])
    data = drawn((ROWS, 264), "bf16")
    kernel = lowered(graph, "fold=J:warp:8 stage=X")
    assert any(isinstance(s, Declare) and s.buffer.name == "X_row" for s in statements(kernel.body))
    same(run(graph, kernel, data), graph, data)


def test_targets_without_votes_find_the_largest_by_shuffles() -> None:
    graph, x = best(70, 3), drawn((ROWS, 70), "f32", 3)
    kernel = lowered(graph, "fold=J:warp", teams=False)
    asked = {
        c.op for s in statements(kernel.body) for x in expressions(s) for c in subexpressions(x) if isinstance(c, Call)
    }
    assert "shuffle_xor" in asked and "max_warp" not in asked
    same(run(graph, kernel, x), graph, x)


def test_a_round_is_one_exchange_and_one_look_at_the_keys_of_a_lane() -> None:
    kernel = lowered(best(1024, 6, "bf16"), "fold=J:warp:8 team=4")
    body = list(statements(kernel.body))
    votes = [
        c for s in body for x in expressions(s) for c in subexpressions(x) if isinstance(c, Call) and c.op == "max_warp"
    ]
    assert [v.type for v in votes] == ["i32"] * 12
    assert sum(isinstance(s, Barrier) for s in body) == 1 + 6
    looks = [s for s in body if isinstance(s, Loop) and s.var.startswith("e")]
    assert len(looks) == 6 and {s.stop.form.value for s in looks} == {8}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "dtype,n,kind", [("bf16", 65504, "i32"), ("bf16", 65536, "i64"), ("f16", 8160, "i32"), ("f16", 8192, "i64"),
                     ("f32", 64, "i64"), ("i8", 8192, "i32"), ("u16", 65536, "i64"), ("i32", 64, "i64")],
)  # fmt: skip
def test_a_key_takes_32_bits_where_value_and_position_fit(dtype: str, n: int, kind: str) -> None:
    plan, _ = plan_of(best(n, 2, dtype))
    (ranking,) = {ranking_of(replace(s, part=0)) for t in plan.outputs for s in walk(t.body) if isinstance(s, Reduce)}
    assert ranking is not None and Keys(ranking, 32, 1).type == kind


def test_an_order_is_recognised_by_its_combine_not_by_its_name() -> None:
    plan, _ = plan_of(best(64, 3))
    fold = next(s for t in plan.outputs for s in walk(t.body) if isinstance(s, Reduce))
    ranking = ranking_of(replace(fold, part=0))
    renamed = replace(fold, part=0, monoid=replace(fold.monoid, name="other"))
    assert ranking is not None and ranking.count == 3
    assert ranking_of(renamed) == replace(ranking, group=renamed)

    def swapped(s: Any) -> Any:
        return (
            StateRef({"left": "right", "right": "left"}[s.side], s.component, s.type)
            if isinstance(s, StateRef)
            else None
        )

    other = replace(fold.monoid, combine=tuple(monoids.replace_state(c, swapped) for c in fold.monoid.combine))
    assert ranking_of(replace(fold, part=0, monoid=other)) is None


def refusal(graph: Graph, form: str) -> str:
    with pytest.raises(CodegenError, match="cannot go by rounds") as caught:
        lowered(graph, form)
    text = str(caught.value)
    assert "kernel 'k'" in text and "leave 'i1' out of rounds=" in text
    return text


def test_rounds_are_refused_where_they_do_not_apply() -> None:
    assert "and 256 fit: let more warps share a row by team=" in refusal(best(4096, 2), "fold=J:warp")
    assert "the lanes of a warp do not share it" in refusal(best(64, 2), "fold=J:serial warp=i2")
    x, (i, j) = te.input("X", (ROWS, 64)), te.indices("i j")
    total = te.graph("total", Y=te.tensor(None, i, te.sum(j, x[i, j])))
    assert "'sum' keeps no best points of an order that keys have" in refusal(total, "fold=J:warp")


def test_the_schedule_is_read_back_and_names_that_a_kernel_lacks_are_ignored() -> None:
    text = "split fold=i1:warp:8 grid=i0 warp=i2 team=4 rounds=i1"
    assert print_schedule(parse_schedule(text)) == text
    plan, j = plan_of(best(64, 2))
    kernel = lower_grid("k", plan.outputs, parse_schedule(f"split fold={j}:warp grid=i0 rounds=elsewhere"))
    assert not any(isinstance(c, Call) and c.op == "max_warp" for s in statements(kernel.body)
                   for x in expressions(s) for c in subexpressions(x))  # fmt: skip


@pytest.mark.parametrize(
    "n,k,dtype", [(4096, 8, "bf16"), (4096, 8, "f32"), (1031, 4, "bf16"), (64, 2, "f32"), (32768, 4, "bf16")]
)
def test_few_of_a_row_are_found_in_rounds_first(n: int, k: int, dtype: str) -> None:
    plan, j = plan_of(best(n, k, dtype, rows=8192))
    first, *rest = device_schedules(plan.outputs)
    assert first.rounds == (j,) and not any(s.rounds for s in rest)
    check_kernel(lower_grid("k", plan.outputs, first))


def test_rows_whose_keys_do_not_fit_are_merged_as_lists() -> None:
    plan, _ = plan_of(best(1 << 17, 2, "f32"))
    assert not any(s.rounds for s in device_schedules(plan.outputs))


def test_printed_rounds_compile_without_spills() -> None:
    kernels = []
    for dtype in ("bf16", "f32"):
        plan, _ = plan_of(best(4096, 8, dtype, rows=8192))
        kernels.append(lower_grid(f"best_{dtype}", plan.outputs, device_schedules(plan.outputs)[0]))
    source = cuda.source(*kernels)
    assert (
        "te_max_warp_i32(" in source.partition("best_bf16(")[2]
        and "te_max_warp_i64(" in source.partition("best_f32(")[2]
    )
    check_clean(compiled(source))
