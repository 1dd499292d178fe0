"""No floor lies above what a schedule moves: random nests, tiled in every way, under an explicit fast memory."""

from __future__ import annotations

import random
from functools import reduce
from operator import mul

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import tang_egg as te
from tang_egg.affine import Index, affine
from tang_egg.cost.floor import traffic_floor
from tang_egg.ir import Tensor
from tests.cache_model import Step, moved, tilings

Rows = tuple[tuple[tuple[str, int], ...], ...]

TRIED = 6
"""Tilings of one nest that are simulated, chosen at random where there are more."""


@st.composite
def nests(draw: st.DrawFn, windows: bool) -> tuple[dict[str, int], list[tuple[str, Rows]], tuple[str, ...]]:
    """Sizes of dims, views by array, and the dims of the output."""
    dims = "ijkl"[: draw(st.integers(2, 3 if windows else 4))]
    longest = {2: 9, 3: 6, 4: 4}[len(dims)]
    sizes = {d: draw(st.integers(1, longest)) for d in dims}
    row = st.sampled_from([((d, 1),) for d in dims])
    if windows:
        pairs = [(d, e) for d in dims for e in dims if d < e]
        sums = st.builds(lambda p, a: ((p[0], a), (p[1], 1)), st.sampled_from(pairs), st.sampled_from([1, 1, 2, 3]))
        row = st.one_of(row, sums)
    views = []
    for n in range(draw(st.integers(1, 3))):
        rows = tuple(draw(st.lists(row, min_size=0 if n else 1, max_size=2, unique=True)))
        views.append((draw(st.sampled_from("AAB")) + str(len(rows)), rows))
    return sizes, views, tuple(sorted(draw(st.sets(st.sampled_from(dims)))))


def tensor_of(sizes: dict[str, int], views: list[tuple[str, Rows]], out: tuple[str, ...]) -> Tensor:
    """The sum of products of the views."""
    index = {d: Index(d, affine(n)) for d, n in sizes.items()}
    extent: dict[tuple[str, int], int] = {}
    for name, rows in views:
        for n, row in enumerate(rows):
            extent[name, n] = max(extent.get((name, n), 1), sum(c * (sizes[d] - 1) for d, c in row) + 1)
    arrays = {name: te.input(name, tuple(extent[name, n] for n in range(len(rows)))) for name, rows in views}
    reads = [arrays[n][tuple(sum((c * index[d] for d, c in r), affine(0)) for r in rows)] for n, rows in views]
    folded = tuple(index[d] for d in sizes if d not in out)
    body = reduce(mul, reads)
    made = te.tensor("out", tuple(index[d] for d in out), te.sum(folded, body) if folded else body)
    assert isinstance(made.node, Tensor)
    return made.node


def steps_of(points: list[dict[str, int]], views: list[tuple[str, Rows]], out: tuple[str, ...]) -> list[Step]:
    def element(name: str, rows: Rows, p: dict[str, int]) -> object:
        return (name, *(sum(c * p[d] for d, c in row) for row in rows))

    return [
        Step(tuple(element(n, r, p) for n, r in views), (("out", *(p[d] for d in out)),))  # type: ignore[misc]
        for p in points
    ]


def check(nest: tuple[dict[str, int], list[tuple[str, Rows]], tuple[str, ...]], capacity: int, seed: int) -> None:
    sizes, views, out = nest
    floor = traffic_floor(tensor_of(sizes, views, out), capacity=4 * capacity)
    orders = list(tilings(sizes))
    random.Random(seed).shuffle(orders)
    for points in orders[:TRIED]:
        steps = steps_of(points, views, out)
        words = moved(steps, capacity, frozenset(e for s in steps for e in s.sums))
        assert floor.bytes <= 4 * words, f"{floor.text()}\nmoved {4 * words}"


@settings(max_examples=25, deadline=None)
@given(nests(windows=False), st.integers(2, 12), st.integers(0, 1 << 20))
def test_no_tiling_of_a_projective_nest_moves_less(
    nest: tuple[dict[str, int], list[tuple[str, Rows]], tuple[str, ...]], capacity: int, seed: int
) -> None:
    check(nest, capacity, seed)


@settings(max_examples=25, deadline=None)
@given(nests(windows=True), st.integers(2, 12), st.integers(0, 1 << 20))
def test_no_tiling_of_an_affine_nest_moves_less(
    nest: tuple[dict[str, int], list[tuple[str, Rows]], tuple[str, ...]], capacity: int, seed: int
) -> None:
    check(nest, capacity, seed)


@pytest.mark.parametrize("capacity", [3, 4, 6, 12, 27])
@pytest.mark.parametrize("n", [4, 6])
def test_a_product_is_bounded_from_both_sides(n: int, capacity: int) -> None:
    """The floor of a product of matrices is under the best tiling, and not far under it."""
    sizes = {"i": n, "j": n, "k": n}
    views: list[tuple[str, Rows]] = [("A", ((("i", 1),), (("k", 1),))), ("B", ((("k", 1),), (("j", 1),)))]
    floor = traffic_floor(tensor_of(sizes, views, ("i", "j")), capacity=4 * capacity)
    orders = list(tilings(sizes))
    best = min(
        moved(steps, capacity, frozenset(e for s in steps for e in s.sums))
        for steps in (steps_of(p, views, ("i", "j")) for p in random.Random(1).sample(orders, 30))
    )
    assert best / 4 <= floor.bytes / 4 <= best


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("capacity", [5, 8, 16])
@pytest.mark.parametrize(("n", "d", "e"), [(6, 1, 1), (6, 2, 2), (5, 1, 3), (7, 2, 1)])
def test_no_tiling_of_two_products_in_one_kernel_moves_less(n: int, d: int, e: int, capacity: int, again: bool) -> None:
    """o[i, e] = Σ_j (Σ_c q[i, c] k[j, c]) v[j, e]: each score made and used once, or anew for each e."""
    i, j, c, x = Index("i", affine(n)), Index("j", affine(n)), Index("c", affine(d)), Index("x", affine(e))
    q, k, v = te.input("q", (n, d)), te.input("k", (n, d)), te.input("v", (n, e))
    fused = te.tensor("o", (i, x), te.sum(j, te.sum(c, q[i, c] * k[j, c]) * v[j, x])).node
    assert isinstance(fused, Tensor)
    floor = traffic_floor(fused, capacity=4 * capacity, recompute=again)
    outputs = frozenset(("o", a, b) for a in range(n) for b in range(e))
    for points in random.Random(n).sample(list(tilings({"i": n, "j": n})), 12):
        steps: list[Step] = []
        for sweep in [[b] for b in range(e)] if again else [list(range(e))]:
            for p in points:
                a, b = p["i"], p["j"]
                score = ("s", a, b, sweep[0])
                steps += [Step((("q", a, z), ("k", b, z)), (score,)) for z in range(d)]
                steps += [Step((("v", b, y), score), (("o", a, y),)) for y in sweep]
        assert floor.bytes <= 4 * moved(steps, capacity, outputs), floor.text()


@pytest.mark.parametrize(("out", "step", "capacity"), [(24, 1, 14), (40, 1, 14), (20, 2, 14), (24, 1, 9)])
def test_a_sliding_window_moves_little(out: int, step: int, capacity: int) -> None:
    """y[i] = Σ_r f[r] x[a i + r]: neighbours share what they read, so a bound that forgets this lies above."""
    views: list[tuple[str, Rows]] = [("f", ((("r", 1),),)), ("x", ((("i", step), ("r", 1)),))]
    sizes = {"i": out, "r": 6}
    floor = traffic_floor(tensor_of(sizes, views, ("i",)), capacity=4 * capacity)
    points = [{"i": i, "r": r} for i in range(out) for r in range(6)]
    steps = steps_of(points, views, ("i",))
    words = moved(steps, capacity, frozenset(e for s in steps for e in s.sums))
    assert floor.bytes <= 4 * words
    if capacity == 14:  # the filter and a window fit
        assert floor.bytes == floor.compulsory == 4 * words


@pytest.mark.parametrize(("n", "d", "side", "capacity"), [(4, 32, 2, 8), (16, 40, 8, 82)])
def test_partial_results_that_are_held_do_not_move_less(n: int, d: int, side: int, capacity: int) -> None:
    """Scores of long rows in fast memory: blocks of partial sums are carried from one step of the rows to the next."""
    i, j, c, x = (Index(name, affine(size)) for name, size in (("i", n), ("j", n), ("c", d), ("x", 1)))
    q, k, v = te.input("q", (n, d)), te.input("k", (n, d)), te.input("v", (n, 1))
    fused = te.tensor("o", (i, x), te.sum(j, te.sum(c, q[i, c] * k[j, c]) * v[j, x])).node
    assert isinstance(fused, Tensor)
    steps: list[Step] = []
    for a, b in ((a, b) for a in range(0, n, side) for b in range(0, n, side)):
        block = [(a + p, b + r) for p in range(side) for r in range(side)]
        steps += [Step((("q", y, z), ("k", w, z)), (("s", y, w),)) for z in range(d) for y, w in block]
        steps += [Step((("v", w), ("s", y, w)), (("o", y),)) for y, w in block]
    words = moved(steps, capacity, frozenset(("o", a) for a in range(n)))
    for again in (False, True):
        floor = traffic_floor(fused, capacity=4 * capacity, recompute=again)
        assert floor.bytes <= 4 * words, floor.text()


def test_the_model_of_a_fast_memory() -> None:
    """Hand-counted: loads of what is absent, stores of what is evicted before its end, each output once."""
    a, b, c, total = "a", "b", "c", "total"
    assert moved([Step((a,), (total,)), Step((b,), (total,))], 2, frozenset({total})) == 3
    assert moved([Step((a,), (total,))], 1, frozenset({total})) == float("inf")
    turns = [Step((a,)), Step((b,)), Step((c,)), Step((a,)), Step((b,))]
    assert moved(turns, 3, frozenset()) == 3 and moved(turns, 2, frozenset()) == 4 and moved(turns, 1, frozenset()) == 5
    spilled = [Step((), ("x",)), Step((), ("y",)), Step(("x",)), Step(("y",))]
    assert moved(spilled, 1, frozenset()) == 4 and moved(spilled, 2, frozenset()) == 0
