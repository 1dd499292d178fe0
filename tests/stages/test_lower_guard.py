"""Folds that test tiles first, positions in 32 bits, sums of sums in lanes, rows that are looked up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import library, library_embedding, library_sort
from tang_egg.affine import Index, affine
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.kernel import Build, Declare, Let, expressions, statements, subexpressions
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import run_kernel
from tang_egg.codegen.legalize_across import to_transposes
from tang_egg.codegen.legalize_register import to_registers
from tang_egg.codegen.legalize_vector import to_vectors
from tang_egg.codegen.lower import lower
from tang_egg.codegen.lower_position import narrowed
from tang_egg.codegen.vectors import AVX512
from tang_egg.errors import CodegenError
from tang_egg.ir import Graph, Position, Reduce, const, walk
from tang_egg.monoid import BUILT_IN, argmax_of, product_of, replace_state
from tang_egg.monoid_entries import entries_of, top_k
from tang_egg.pipeline import extract
from tang_egg.schedule import parse_schedule, print_schedule

Array = np.ndarray[Any, Any]


def run(graph: Graph, data: dict[str, Array], text: str = "") -> dict[str, Array]:
    """What the kernel of a graph gives under its own interpreter: by a schedule, else by the first candidate."""
    (plan,) = extract(graph).program.kernels
    schedule = parse_schedule(text) if text else schedules(plan.outputs, threads=2)[0]
    kernel = lower("k", plan.outputs, schedule)
    for stage in (
        lambda k: k,
        to_vectors,
        lambda x: to_vectors(x, AVX512.bytes),
        lambda k: to_registers(to_vectors(k)),
    ):
        check_kernel(stage(kernel))
    arrays = {n: a.reshape(-1) for n, a in data.items()}
    shapes = {t.name: tuple(n.value or 0 for n in t.shape) for t in plan.outputs}
    for t in plan.outputs:
        arrays[t.name] = np.full(int(np.prod(shapes[t.name])), 77, np.float32 if t.dtype == "f32" else np.int64)
    run_kernel(kernel, arrays, {})
    return {n: arrays[n].reshape(s) for n, s in shapes.items()}


def folded(graph: Graph) -> tuple[tuple[Any, ...], str]:
    """The outputs of the kernel of a graph, and the name of the index that it folds."""
    (plan,) = extract(graph).program.kernels
    return plan.outputs, next(s.indices[-1].name for t in plan.outputs for s in walk(t.body) if isinstance(s, Reduce))


def best(n: int, k: int, largest: bool = True) -> Graph:
    values, places = library_sort.top_k(te.input("X", (3, n)), k, largest=largest)
    return te.graph("best", V=values, P=places)


def tied(n: int, seed: int = 0) -> Array:
    """Rows of few different values, with a row of -inf and a row that rises."""
    x = np.random.default_rng(seed).integers(-4, 5, (3, n)).astype(np.float32)
    x[1, : n // 2] = -np.inf
    x[2] = np.arange(n)
    return x


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("n,k", [(8, 2), (9, 3), (63, 2), (65, 5), (131, 3)])
def test_the_best_of_a_row_as_a_stable_sort_has_them(n: int, k: int, largest: bool) -> None:
    x = tied(n)
    got = run(best(n, k, largest), {"X": x})
    order = np.argsort(-x if largest else x, -1, kind="stable")[:, :k]
    np.testing.assert_array_equal(got["P"], order)
    np.testing.assert_array_equal(got["V"], np.take_along_axis(x, order, -1))


@pytest.mark.parametrize("n", [5, 67])
@pytest.mark.parametrize("how", ["guard:8", "guard:32", "serial", "lanes:8"])
def test_all_ways_to_fold_agree_on_ties(how: str, n: int) -> None:
    graph, x = best(n, 3), tied(n, 1)
    _, j = folded(graph)
    order = np.argsort(-x, -1, kind="stable")[:, :3]
    np.testing.assert_array_equal(run(graph, {"X": x}, f"split fold={j}:{how}")["P"], order)


def test_tiles_that_no_point_enters_are_passed_by() -> None:
    """The first candidate tests a tile in lanes of 32-bit integers, and takes points up with k comparisons each."""
    outputs, j = folded(best(256, 4))
    first = schedules(outputs, threads=2)[0]
    assert first.fold_of(j).how == "guard" and parse_schedule(print_schedule(first)) == first
    kernel = lower("k", outputs, first)
    kinds = {s.buffer.name: s.buffer.type for s in statements(kernel.body) if isinstance(s, Declare)}
    assert any("may" in name and kind == "i32" for name, kind in kinds.items())
    ways = [s for s in walk(*(t.body for t in outputs)) if isinstance(s, Reduce)]
    assert len(list(walk(*entries_of(ways[0].monoid).taking().combine))) < len(list(walk(*ways[0].monoid.combine))) / 2  # type: ignore[union-attr]


def test_ordered_entries_are_recognised_by_their_merge() -> None:
    assert all(entries_of(m) is None for m in (*BUILT_IN.values(), product_of(), top_k(1)))
    for k, kind in ((2, "real"), (3, "i64"), (5, "i32")):
        found = entries_of(top_k(k, kind))
        assert found is not None and found.width == 2
    m = top_k(3)
    swapped = replace_state(m.combine[2], lambda x: None if x.component != "value1" else replace(x, side="left"))  # type: ignore[union-attr]
    assert entries_of(replace(m, combine=(*m.combine[:2], swapped, *m.combine[3:]))) is None


@pytest.mark.parametrize("seed", range(4))
def test_taking_up_one_element_is_the_merge_with_it(seed: int) -> None:
    """On states that folds reach: the short combine against the merge, and `keeps` against no change."""
    rng, m, k = np.random.default_rng(seed), top_k(3), 3
    entries = entries_of(m)
    assert entries is not None
    pairs = sorted(
        ((float(v), int(p)) for p, v in enumerate(rng.integers(0, 4, rng.integers(0, 6)))), key=lambda e: (-e[0], e[1])
    )
    empty = (-np.inf, 2**63 - 1)
    left = (pairs + [empty] * k)[:k]
    right = [(float(rng.integers(-1, 5)) if seed else -np.inf, 9), empty, empty]
    state = {("left", n): e for n, e in enumerate(left)} | {("right", n): e for n, e in enumerate(right)}

    def value(s: Any) -> Any:
        def of(x: Any) -> Any:
            which, n = x.component.rstrip("0123456789"), int(x.component[-1])
            return const(state[x.side, n][which == "position"], x.type)

        closed = te.tensor("y", (), te.Expression(replace_state(s, of)), "f64")
        return te.interpret(te.graph("one", closed), {})["y"]

    def number(s: Any) -> float:
        return float(value(te.cast(te.Expression(s), "real").scalar))

    both = [(number(a), number(b)) for a, b in zip(m.combine, entries.taking().combine, strict=True)]
    assert all(a == b for a, b in both)
    merged = sorted([*left, right[0]], key=lambda e: (-e[0], e[1]))[:k]
    assert [a for a, _ in both[::2]] == [v for v, _ in merged]
    assert bool(number(entries.keeps())) == (merged == left)


@pytest.mark.parametrize("n", [1, 7, 16, 31, 33, 100])
def test_positions_in_32_bits_are_those_of_numpy(n: int) -> None:
    """Ties, NaN (the first one is best), rows of -inf."""
    x = tied(n, 2)
    x[0, n // 2 :: 3] = np.nan
    x[1] = -np.inf
    graph = te.graph("best", Y=library.argmax(te.input("X", (3, n))))
    np.testing.assert_array_equal(run(graph, {"X": x})["Y"], np.argmax(x, -1))


def test_positions_are_narrow_where_they_are_only_chosen() -> None:
    outputs, _ = folded(te.graph("best", Y=library.argmax(te.input("X", (3, 64)))))
    (fold,) = {replace(s, part=0) for s in walk(outputs[0].body) if isinstance(s, Reduce)}
    small = narrowed(fold)
    assert small is not None and [c.type for c in small.monoid.components] == ["real", "i32"]
    assert narrowed(small) is None
    far = Index("j", affine(2**31))
    assert narrowed(replace(fold, indices=(far,), body=(fold.body[0], Position(affine(far))))) is None
    value, place = argmax_of().combine
    twice = (te.Expression(place) + te.Expression(place)).scalar
    assert narrowed(replace(fold, monoid=replace(argmax_of(), combine=(value, twice)))) is None


@pytest.mark.parametrize("o,b,j", [(3, 19, 40), (2, 8, 8), (5, 16, 33), (1, 7, 32)])
def test_a_sum_over_blocks_of_sums(o: int, b: int, j: int) -> None:
    """Against float64, at blocks and lanes that do and do not divide the axes."""
    graph, data = blocked(o, b, j)
    want = np.einsum("ob,obj,bj->o", *(data[n].astype(np.float64) for n in "SWX"))
    np.testing.assert_allclose(run(graph, data)["Y"], want, rtol=1e-5, atol=1e-4)


def blocked(o: int, b: int, j: int) -> tuple[Graph, dict[str, Array]]:
    rng = np.random.default_rng(3)
    data = {
        "W": rng.integers(-127, 128, (o, b, j)).astype(np.int8),
        "S": rng.random((o, b)).astype(np.float32),
        "X": rng.random((b, j)).astype(np.float32),
    }
    w, s, x = te.input("W", (o, b, j), "i8"), te.input("S", (o, b)), te.input("X", (b, j))
    io, ib, ij = te.indices("o b j")
    body = te.sum(ib, s[io, ib] * te.sum(ij, te.cast(w[io, ib, ij], "real") * x[ib, ij]))
    return te.graph("blocked", Y=te.tensor(None, io, body)), data


def test_lanes_of_neighbouring_states_end_in_a_transpose() -> None:
    graph, _ = blocked(4, 32, 32)
    (plan,) = extract(graph).program.kernels
    kernel = to_registers(to_vectors(lower("k", plan.outputs, schedules(plan.outputs, threads=1)[0])))
    turned = to_transposes(kernel)
    check_kernel(turned)

    def builds(k: Any) -> int:
        found = [x for s in statements(k.body) for e in expressions(s) for x in subexpressions(e)]
        return sum(isinstance(x, Build) and len(set(x.items)) > 1 for x in found)

    assert builds(kernel) >= 8 and builds(turned) <= builds(kernel) - 8
    pairs = [s for s in statements(turned.body) if isinstance(s, Let) and s.name.startswith("across")]
    assert len(pairs) % 24 == 0 and pairs


@pytest.mark.parametrize("d,p", [(32, 8), (40, 11), (4, 3), (33, 9), (1200, 8)])
def test_rows_that_are_looked_up(d: int, p: int) -> None:
    rng = np.random.default_rng(4)
    data = {"T": rng.normal(size=(13, d)).astype(np.float32), "ids": rng.integers(0, 13, (5, p))}
    bag = library_embedding.embedding_bag(te.input("T", (13, d)), te.input("ids", (5, p), "i64"), mode="sum")
    got = run(te.graph("bag", Y=bag), data)["Y"]
    np.testing.assert_allclose(got, data["T"][data["ids"]].sum(1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "fold,what,mend",
    [
        ("guard:12", "tiles of 12 points that are tested in 8 lanes", "guard:8"),
        ("guard:16", "'sum' keeps no ordered entries", "lanes:8"),
    ],
)
def test_a_guard_that_cannot_be_is_refused(fold: str, what: str, mend: str) -> None:
    (j,) = te.indices("i j")[1:]
    graph = best(64, 2) if "12" in fold else te.graph("total", te.tensor("y", (), te.sum(j, te.input("X", (64,))[j])))
    outputs, name = folded(graph)
    with pytest.raises(CodegenError) as caught:
        lower("k", outputs, parse_schedule(f"split fold={name}:{fold}"))
    text = str(caught.value)
    assert what in text and mend in text and f"fold={name}:" in text


def test_compiled_kernels_agree_with_numpy() -> None:
    """All of it as C: best entries and positions with ties, blocks of sums, rows looked up."""
    x, (blocks, data) = tied(333, 5), blocked(7, 37, 32)
    values, places = library_sort.top_k(te.input("Z", (3, 333)), 4)
    rows = library_embedding.embedding_bag(te.input("T", (13, 72)), te.input("ids", (5, 21), "i64"), mode="sum")
    rng = np.random.default_rng(6)
    table, ids = rng.normal(size=(13, 72)).astype(np.float32), rng.integers(0, 13, (5, 21))
    graph = te.graph("all", V=values, P=places, A=library.argmax(te.input("Z", (3, 333))), R=rows)
    got = te.optimize(graph, "c", verified=False).run(Z=x, T=table, ids=ids)
    order = np.argsort(-x, -1, kind="stable")[:, :4]
    np.testing.assert_array_equal(got["P"], order)
    np.testing.assert_array_equal(got["V"], np.take_along_axis(x, order, -1))
    np.testing.assert_array_equal(got["A"], np.argmax(x, -1))
    np.testing.assert_allclose(got["R"], table[ids].sum(1), rtol=1e-5, atol=1e-5)
    want = np.einsum("ob,obj,bj->o", *(data[n].astype(np.float64) for n in "SWX"))
    np.testing.assert_allclose(te.optimize(blocks, "c", verified=False).run(**data)["Y"], want, rtol=1e-5, atol=1e-3)
