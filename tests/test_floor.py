"""Floors on traffic: known bounds, both programs, tiles, and what each kind of kernel is certain to move."""

from __future__ import annotations

import json
from fractions import Fraction
from math import ceil, isclose, prod, sqrt
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pulp
import pytest
from hypothesis import given, settings

import tang_egg as te
from tang_egg.cost.floor import traffic_floor, traffic_floors
from tang_egg.cost.floor_count import Condition, live, touched
from tang_egg.cost.floor_nest import claim_of, split_nest
from tang_egg.cost.floor_program import (
    Exponents,
    Nest,
    Operand,
    certify,
    constraints_of,
    exponents,
    projective,
    stated,
)
from tang_egg.cost.floor_simplex import Scale, maximise
from tang_egg.cost.floor_tile import best_tile
from tang_egg.cost.floor_views import constraints, intersection, kernel, reduced, view_of
from tang_egg.cost.floor_words import least_words
from tang_egg.cost.roofline import MATRIX_UNITS, Costs
from tang_egg.cost.work import operations
from tang_egg.errors import BindError, GraphError
from tang_egg.ir import Graph, Reduce, Tensor, walk
from tang_egg.pipeline import extract
from tang_egg.program import KernelPlan

KNOWN = json.loads((Path(__file__).parent / "floor_cases.json").read_text(encoding="utf-8"))
CASES = {c["id"]: c for c in KNOWN["cases"]}
SPECIAL = {c["id"]: c for c in KNOWN["special"]}


def tile_value(found: Exponents) -> float:
    """The tile has S to this power points."""
    return sum(found.scale.value(t) for t in found.tile)


def nest_of(case: dict[str, Any]) -> Nest:
    sizes = case["dims"]
    operands = tuple(
        Operand(
            o["name"], view_of(o["rows"], sizes), Fraction(o.get("w", 1), o.get("mult", 1)),
            o.get("array", o["name"]), o.get("out", False),
        )
        for o in case["ops"]
    )  # fmt: skip
    points = case.get("points", prod(sizes.values())) // case.get("sym", 1)
    return Nest(tuple((d, n) for d, n in sizes.items() if n > 1), operands, points)


def compulsory(case: dict[str, Any]) -> int:
    """Distinct elements of each array, in the units of the case."""
    found: dict[str, int] = {}
    for o in case["ops"]:
        name = o.get("array", o["name"])
        count = case.get("touched", {}).get(name, touched(view_of(o["rows"], case["dims"]), case["dims"]))
        found[name] = max(found.get(name, 0), count * o.get("w", 1))
    return sum(found.values())


@pytest.mark.parametrize("name", CASES)
def test_known_bounds(name: str) -> None:
    case = CASES[name]
    claim = claim_of(name, nest_of(case), case["S"], 1)
    words = max(ceil(claim.bytes * (1 - 1e-12)), compulsory(case))
    assert case["lower"] <= words <= case["upper"]
    if "split_lower" in case:
        assert dict(claim.split) and words >= case["split_lower"]


@pytest.mark.parametrize("name", CASES)
def test_known_exponents_and_tiles(name: str) -> None:
    case = CASES[name]
    nest = nest_of(case)
    found = exponents(nest, case["S"])
    assert certify(nest, found) == ()
    if isinstance(case["exponent"], str):
        assert found.fraction == Fraction(case["exponent"])
    else:
        assert isclose(found.value, case["exponent"], rel_tol=1e-12)
    known = case["tile_exponents"]
    if known and "_skip" not in known:
        mine = found.tile_exponents()
        assert {d: mine.get(d, 0) for d in known} == {d: Fraction(x) for d, x in known.items()}


@pytest.mark.parametrize("name", ["matmul_sq_1024_S4096", "mttkrp", "conv3x3_stride2_S1024", "pv_small_dv", "bilinear"])
def test_programs_are_those_that_pulp_solves(name: str) -> None:
    nest, capacity = nest_of(CASES[name]), CASES[name]["S"]
    dual, primal = stated(nest, capacity)
    for program in (dual, primal):
        program.solve(pulp.PULP_CBC_CMD(msg=False))
    found = exponents(nest, capacity)
    assert isclose(pulp.value(dual.objective), found.value, rel_tol=1e-6)
    assert isclose(pulp.value(primal.objective), tile_value(found), rel_tol=1e-6)


def test_a_wrong_certificate_is_refused() -> None:
    from dataclasses import replace

    nest = nest_of(CASES["matmul_sq_1024_S4096"])
    found = exponents(nest, 4096)
    less = replace(found, views=(Fraction(1, 2), Fraction(1, 2), Fraction(1, 3)))
    assert "has 5/6 only" in certify(nest, less)[0]
    long = tuple((Fraction(2, 3), Fraction(0), Fraction(0), Fraction(0)) for _ in found.tile)
    assert any("does not fit" in x for x in certify(nest, replace(found, tile=long)))
    # feasible on both sides, but not equal: certified only where they are
    assert certify(nest, replace(found, views=(Fraction(1), Fraction(1), Fraction(1)))) != ()


@st.composite
def nests(draw: st.DrawFn, affine: bool) -> Nest:
    dims = "abcde"[: draw(st.integers(1, 4 if affine else 5))]
    sizes = {d: draw(st.sampled_from([2, 3, 7, 16, 60, 64, 1000, 4096])) for d in dims}
    rows: Any = st.sampled_from([{d: 1} for d in dims])
    if affine and len(dims) > 1:
        pairs = [(d, e) for d in dims for e in dims if d < e]
        mixed = st.builds(lambda p, k: {p[0]: k, p[1]: 1}, st.sampled_from(pairs), st.sampled_from([1, 2, 3, -1]))
        rows = st.one_of(rows, mixed)
    views = draw(st.lists(st.lists(rows, max_size=3), min_size=1, max_size=4))
    weights = [Fraction(draw(st.sampled_from([1, 2, 4]))) for _ in views]
    operands = tuple(Operand(f"x{n}", view_of(v, sizes), weights[n]) for n, v in enumerate(views))
    return Nest(tuple(sizes.items()), operands, prod(sizes.values()))


@settings(max_examples=80, deadline=None)
@given(nests(affine=False), st.sampled_from([2, 16, 100, 1024, 4097]))
def test_projective_duality_holds_exactly(nest: Nest, capacity: int) -> None:
    found = exponents(nest, capacity)
    assert projective(nest) and found.tight and certify(nest, found) == ()


@settings(max_examples=40, deadline=None)
@given(nests(affine=True), st.sampled_from([16, 100, 1024]))
def test_affine_programs_are_feasible_and_the_bound_is_no_smaller_than_the_tile(nest: Nest, capacity: int) -> None:
    found = exponents(nest, capacity)
    assert certify(nest, found) == ()
    assert found.value >= tile_value(found) - 1e-12


@settings(max_examples=25, deadline=None)
@given(nests(affine=True), st.sampled_from([16, 100, 1024]))
def test_no_tile_moves_less_and_bounds_fall_with_memory(nest: Nest, capacity: int) -> None:
    words = least_words(nest, capacity).least
    assert least_words(nest, 2 * capacity).least <= words * (1 + 1e-6)
    tile = best_tile(nest, capacity)
    if tile is not None:
        assert tile.held <= capacity and words <= tile.words * (1 + 1e-9)


def test_the_rank_bound_can_exceed_the_box() -> None:
    sizes = dict.fromkeys("ijkl", 2**25)
    views = ([{"i": 1, "j": 1}, {"k": 1}], [{"k": 1}, {"l": 1}], [{"i": 1, "j": 1}, {"l": 1}])
    nest = Nest(tuple(sizes.items()), tuple(Operand(str(n), view_of(v, sizes)) for n, v in enumerate(views)), 1)
    found = exponents(nest, 2**15)
    assert found.fraction == Fraction(19, 6) and isclose(tile_value(found), 2.0) and not found.tight
    assert certify(nest, found) == ()


# The parts: views, lattices, the simplex method, counts.


def test_views_are_taken_apart() -> None:
    sizes = {"i": 8, "j": 4, "k": 16, "one": 1}
    assert view_of([{"i": 64, "j": 16, "k": 1}], sizes) == ((("i", 1),), (("j", 1),), (("k", 1),))
    assert view_of([{"i": 15, "k": 1}], sizes) == ((("i", 15), ("k", 1)),)
    assert view_of([{"i": 2, "j": 2, "one": 1}], sizes) == ((("i", 1), ("j", 1)),)
    assert view_of([{"i": -3}, {"i": 1}, {}], sizes) == ((("i", 1),),)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), st.integers(-12, 12), min_size=1), st.integers(1, 6), st.integers(1, 6))
def test_taking_apart_keeps_which_points_meet(row: dict[str, int], p: int, q: int) -> None:
    sizes = {"a": p, "b": q, "c": 3}
    view = view_of([row], sizes)
    at = np.indices((p, q, 3)).reshape(3, -1).T
    values: dict[int, set[tuple[int, ...]]] = {}
    for x in at:
        place = dict(zip("abc", map(int, x), strict=True))
        image = tuple(sum(c * place[d] for d, c in r) for r in view)
        values.setdefault(sum(c * place[d] for d, c in row.items()), set()).add(image)
    images = [v for vs in values.values() for v in vs]
    assert all(len(v) == 1 for v in values.values()) and len(set(images)) == len(values)


def test_subspaces() -> None:
    assert reduced([(2, 4), (1, 2)]) == ((1, 2),)
    assert kernel([(1, 1, 0)], 3) == reduced([(1, -1, 0), (0, 0, 1)])
    assert intersection(reduced([(1, 0, 0), (0, 1, 0)]), reduced([(1, 1, 0), (0, 0, 1)]), 3) == ((1, 1, 0),)


def test_a_lattice_that_never_ends_is_given_up_soundly() -> None:
    sizes = {"i": 50, "j": 40, "k": 30}
    found = constraints(
        [view_of([{"i": 1, "j": 1, "k": 1}], sizes), view_of([{"i": 1}, {"j": 2, "k": 1}], sizes)], sizes
    )
    assert 0 < len(found) <= 3  # two dims are forced, one stays
    forced = [c for c in found if not any(c.views)]
    assert len(forced) == 2 and sum(sum(c.dims) for c in found) == 3


def test_the_simplex_method_compares_logarithms_exactly() -> None:
    scale = Scale(2**10, (2**5, 3**7))
    assert scale.sign((1, -2, 0)) == 0 and scale.sign((0, 0, 0)) == 0
    assert scale.sign((1, -2, 1)) == 1 and scale.sign((0, 0, -1)) == -1
    near = Scale(10**12, (10**12 + 1,))  # closer than floating point can tell
    assert near.sign((3, -3)) == -1 and near.sign((-1, 1)) == 1
    found = maximise([[1, 1], [1, 0], [0, 1]], [(1, 0, 0), (0, 1, 0), (0, 0, 1)], [[1, 1]], scale)
    assert sum(scale.value(x) for x in found.x) == 1.0 and found.multipliers == (1, 0, 0)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-1, 1), st.integers(-6, 6)), max_size=3),
    st.lists(st.sampled_from(["i", "j", "k"]), max_size=3, unique=True),
    st.tuples(st.integers(0, 6), st.integers(1, 7), st.integers(1, 5)),
)
def test_live_points_are_counted_exactly(
    given_: list[tuple[int, int, int, int]], onto: list[str], extents: tuple[int, int, int]
) -> None:
    sizes = dict(zip("ijk", extents, strict=True))
    conditions = [Condition(tuple((d, c) for d, c in zip("ijk", x[:3], strict=True) if c), x[3]) for x in given_]
    alive = set()
    for p in np.ndindex(*extents):
        place = dict(zip("ijk", p, strict=True))
        if all(sum(c * place[d] for d, c in x.terms) + x.constant >= 0 for x in conditions):
            alive.add(tuple(place[d] for d in sorted(onto)))
    assert live(sizes, conditions, onto) == len(alive)


def test_large_domains_are_counted_by_intervals() -> None:
    sizes = {"i": 5000, "j": 5000}
    causal = Condition((("i", 1), ("j", -1)))
    window = Condition((("i", -1), ("j", 1)), 100)
    assert live(sizes, [causal], "ij") == 5000 * 5001 // 2
    assert live(sizes, [causal, window], "ij") == sum(min(i, 100) + 1 for i in range(5000))
    assert live(sizes, [Condition((("i", 1), ("j", -1)), -10)], "i") == 4990
    huge = {"i": 3000, "j": 3000, "k": 3000, "l": 3000}
    every = Condition((("i", 1), ("j", 1), ("k", 1), ("l", -1)))
    assert 0 < live(huge, [every], "ijkl") <= 3000**4


# Kernels and graphs.


def product_of(n: int, dtype: str = "f32", out: str | None = None) -> Graph:
    i, j, k = te.indices("i j k")
    a, b = te.input("A", (n, n), dtype), te.input("B", (n, n), dtype)
    return te.graph("product", C=te.tensor(None, (i, j), te.sum(k, a[i, k] * b[k, j]), out or dtype))


def kernel_of(graph: Graph) -> KernelPlan:
    """The one kernel that a device with matrix units gets."""
    (plan,) = extract(graph, costs=Costs(machine=MATRIX_UNITS)).program.kernels
    return plan


@pytest.mark.parametrize("words", [256, 1024, 4096])
def test_a_product_of_matrices_is_a_cube_with_the_published_constant(words: int) -> None:
    n = 512
    floor = traffic_floor(product_of(n), capacity=4 * words)
    assert floor.bytes == ceil(4 * (2 * n**3 / sqrt(words) - 2 * words) - 1e-3)
    assert floor.exponents is not None and floor.exponents.tight
    assert set(floor.exponents.tile_exponents().values()) == {Fraction(1, 2)}
    assert all(isclose(x, sqrt(words / 3), rel_tol=1e-3) for x in floor.dual_tile.values())
    assert floor.gap is not None and 0 <= floor.gap < 0.15


def test_storage_types_count_in_bytes_and_wide_sums_are_taken_off() -> None:
    n, capacity = 512, 16384
    narrow = traffic_floor(product_of(n, "bf16"), capacity=capacity)
    # 2 √(w_A w_B w_C) m n k / √S - 2 S with w = 2, 2, 4, less two bytes for each element of C
    assert narrow.bytes == ceil(2 * sqrt(16) * n**3 / sqrt(capacity) - 2 * capacity - 2 * n * n - 1e-3)
    assert narrow.reads == (("A", 2 * n * n), ("B", 2 * n * n)) and narrow.writes == (("C", 2 * n * n),)
    held = traffic_floor(product_of(n, "bf16"), capacity=capacity, accumulator="bf16")
    assert held.bytes == ceil(2 * sqrt(8) * n**3 / sqrt(capacity) - 2 * capacity - 1e-3)


def test_windows_bound_more_than_without_their_view() -> None:
    x, w = te.input("x", (4, 64, 30, 30)), te.input("w", (64, 64, 3, 3))
    floor = traffic_floor(te.graph("windows", y=te.conv2d(x, w)), capacity=4096)
    claim = floor.claim
    assert claim is not None and floor.bytes > floor.compulsory
    without = Nest(claim.nest.sizes, tuple(o for o in claim.nest.operands if o.name != "x"), claim.nest.points)
    assert least_words(without, 4096).least < floor.bytes / 4
    # 2 |Z| / √(R S M): the published order with the constant of this pair of programs
    words = 2 * claim.nest.points / sqrt(9 * 1024) - 2 * 1024
    assert isclose(floor.bytes, 4 * words, rel_tol=1e-6)


def test_strides_split_windows() -> None:
    x, w = te.input("x", (4, 64, 33, 33)), te.input("w", (64, 64, 3, 3))
    floor = traffic_floor(te.graph("windows", y=te.conv2d(x, w, stride=2)), capacity=4096)
    claim = floor.claim
    assert claim is not None and {a for _, a in claim.split} == {2}
    plain = traffic_floor(te.graph("windows", y=te.conv2d(x, w)), capacity=4096).claim
    assert plain is not None and plain.split == () and split_nest(plain.nest) is None


@pytest.mark.parametrize("name", SPECIAL)
def test_known_bounds_of_fused_products(name: str) -> None:
    case = SPECIAL[name]
    q = te.input("Q", (case["N"], case["d"]))
    k, v = (te.input(x, (case["Nk"], case["d"])) for x in "KV")
    plan = kernel_of(te.graph("fused", O=te.attention(q, k, v)))
    floor = traffic_floor(plan, capacity=4 * case["S"], recompute=False)
    assert case["lower"] <= floor.bytes / 4 <= case["upper"]
    assert traffic_floor(plan, capacity=4 * case["S"]).bytes <= floor.bytes


def test_a_fused_floor_falls_with_memory_and_its_tile_is_rows_by_keys() -> None:
    n, d = 1 << 15, 64
    q, k, v = (te.input(x, (n, d)) for x in "QKV")
    plan = kernel_of(te.graph("fused", O=te.attention(q, k, v)))
    for words in (1 << 15, 1 << 16, 1 << 17):
        for recompute, a in ((True, d), (False, 2 * d)):
            floor = traffic_floor(plan, capacity=4 * words, recompute=recompute)
            published = n * n * a * a / words
            assert 0.55 * published < floor.bytes / 4 + words <= published
            side = words / (2 * a)
            assert all(isclose(x, side, rel_tol=1e-3) for x in floor.dual_tile.values()) and len(floor.dual_tile) == 2


def test_half_the_points_under_a_causal_mask() -> None:
    n, d = 4096, 64
    q, k, v = (te.input(x, (n, d)) for x in "QKV")
    full, half = (kernel_of(te.graph("fused", O=te.attention(q, k, v, causal=c))) for c in (False, True))
    points = [
        max(c.nest.points for c in traffic_floor(x, capacity=1 << 16).claims if "whole" in c.what) for x in (full, half)
    ]
    assert points == [n * n, n * (n + 1) // 2]


def test_rows_that_do_not_fit_are_read_twice() -> None:
    rows, length = 16, 5000
    plan = kernel_of(te.graph("rows", y=te.softmax(te.input("X", (rows, length)))))
    for words in (100, 4096):
        floor = traffic_floor(plan, capacity=4 * words)
        assert floor.bytes == 4 * rows * (3 * length - words)
        assert floor.binding == "X read again after a fold over it"
    assert traffic_floor(plan, capacity=4 * length).bytes == 4 * rows * 2 * length
    assert traffic_floor(plan, capacity=400, memories=10).bytes == 4 * rows * (3 * length - 1000)


def test_symmetric_reads_of_one_array_halve_the_points() -> None:
    i, j, k = te.indices("i j k")
    a = te.input("A", (256, 128))
    gram = traffic_floor(te.tensor("G", (i, j), te.sum(k, a[i, k] * a[j, k])).node, capacity=4096)
    assert gram.claim is not None and gram.claim.nest.points == 256 * 256 * 128 // 2
    b = te.input("B", (256, 256))
    square = traffic_floor(te.tensor("S", (i, j), te.sum(k, b[i, k] * b[k, j])).node, capacity=4096)
    assert square.claim is not None and square.claim.nest.points == 256**3


def test_results_in_a_narrow_form_cross_more_easily() -> None:
    i, j, c, e = (te.index(n, s) for n, s in zip("ijce", (2048, 2048, 32, 32), strict=True))
    q, k, v = (te.input(x, (2048, 32)) for x in "QKV")
    score = te.sum(c, q[i, c] * k[j, c])
    bounds = [
        traffic_floor(te.tensor("o", (i, e), te.sum(j, form * v[j, e])).node, capacity=16384)
        for form in (score, te.cast(te.cast(score, "bf16"), "f32"), te.select(score < 0.0, 1.0, 0.0))
    ]
    widths = [next(c for c in f.claims if "whole" in c.what).conditions[0] for f in bounds]
    assert [w.split()[-4] for w in widths] == ["4", "2", "0.125"]
    assert bounds[0].bytes > bounds[1].bytes > bounds[2].bytes


def test_folds_over_prefixes_may_be_shared() -> None:
    i, j = te.index("i", 4096), te.index("j", 4096)
    x = te.input("x", (4096,))
    prefix = traffic_floor(te.tensor("y", i, te.sum(j, x[j], where=j <= i)).node, capacity=64)
    assert prefix.claims == () and prefix.bytes == 2 * 4 * 4096


def test_reads_that_data_may_spare_are_not_counted() -> None:
    i, j = te.indices("i j")
    x, y, m = te.input("X", (8, 16)), te.input("Y", (8, 16)), te.input("M", (8, 16), "bool")
    f = traffic_floor(te.tensor("t", (i, j), te.select(m[i, j], x[i, j], y[i, j])).node, capacity=64)
    assert dict(f.reads) == {"M": 128}
    both = traffic_floor(te.tensor("t", (i, j), te.select(m[i, j], x[i, j], x[i, j] * y[i, j])).node, capacity=64)
    assert dict(both.reads) == {"M": 128, "X": 512}
    cut = te.tensor("t", (i, j), te.select(te.holds(j < 5), x[i, j], 0.0)).node
    assert dict(traffic_floor(cut, capacity=64).reads) == {"X": 8 * 5 * 4}
    tested = traffic_floor(te.tensor("t", i, te.any(j, x[i, j] < 0.0)).node, capacity=64)
    assert dict(tested.reads) == {}


def test_gathers_and_segments() -> None:
    t, a = te.indices("t a")
    table, idx = te.input("T", (1000, 32)), te.input("idx", (64,), "i32")
    rows = te.tensor("rows", (t, a), table[idx[t], a]).node
    assert dict(traffic_floor(rows, capacity=4096).reads) == {"T": 32 * 4, "idx": 256}
    assert dict(traffic_floor(rows, capacity=4096, meets={"T": 2}).reads) == {"T": 32 * 32 * 4, "idx": 256}
    x, seg = te.input("X", (64, 32)), te.input("seg", (64,), "i64")
    total = te.tensor("total", (te.index("s", 10), a), te.sum(t, x[t, a], where=te.eq(seg[t], te.index("s", 10)))).node
    assert dict(traffic_floor(total, capacity=4096).reads) == {}
    assert dict(traffic_floor(total, capacity=4096, points={"t": 64}).reads)["X"] == 64 * 32 * 4


def test_empty_kernels_move_their_outputs_only() -> None:
    i, j = te.indices("i j")
    x = te.input("X", (0, 5))
    assert traffic_floor(te.tensor("t", j, te.sum(i, x[i, j])).node, capacity=64).bytes == 20
    assert traffic_floor(te.tensor("t", (i, j), x[i, j]).node, capacity=64).bytes == 0
    one = te.input("one", (1,))
    assert traffic_floor(te.tensor("t", (), te.sum(i, one[i])).node, capacity=64).bytes == 8


def test_what_is_replaced_in_place_is_not_counted() -> None:
    i = te.index("i")
    cache, new = te.input("cache", (64,), donated=True), te.input("new", (64,))
    t = te.tensor("next", i, te.select(te.holds(i < 3), new[i], cache[i])).node
    kept = Tensor(t.name, t.axes, t.body, t.dtype, "cache")
    floor = traffic_floor(kept, capacity=64)
    assert floor.reads == (("new", 12),) and floor.writes == (("next", 0),)
    assert "replaced in place" in floor.text()


def test_warm_memory_takes_off_what_it_may_hold() -> None:
    graph = product_of(64)
    cold, warm = (traffic_floor(graph, capacity=4096, state=s) for s in ("cold", "warm"))
    assert warm.bytes == cold.bytes - 2 * 4096 and warm.cold == cold.bytes
    assert traffic_floor(graph, capacity=1 << 20, state="warm").bytes == 0


def test_private_memories_take_off_a_segment_each() -> None:
    one, many = (traffic_floor(product_of(512), capacity=4096, memories=p).bytes for p in (1, 8))
    assert one > many > one - 8 * 3 * 4096


def test_levels_add_up_what_is_faster() -> None:
    found = traffic_floors(product_of(256), {"registers": 2048, "cache": 14336})
    assert found["registers"].capacity == 2048 and found["cache"].capacity == 16384
    assert found["cache"].bytes == traffic_floor(product_of(256), capacity=16384).bytes < found["registers"].bytes
    assert found["cache"].level == "cache"


def blocks() -> dict[str, Graph]:
    q, k, v = (te.input(x, (256, 32)) for x in "QKV")
    x, w1, w2 = te.input("x", (64, 128)), te.input("w1", (128, 256)), te.input("w2", (256, 128))
    return {
        "fused": te.graph("fused", O=te.attention(q, k, v)),
        "two layers": te.graph("layers", y=te.matmul(te.pointwise(te.gelu, te.matmul(x, w1)), w2)),
        "norm": te.graph("norm", y=te.layer_norm(x, te.input("g", (128,)), te.input("b", (128,)))),
        "rows": te.graph("rows", y=te.softmax(x)),
    }


@pytest.mark.parametrize("name", blocks())
@pytest.mark.parametrize("capacity", [2048, 32768])
def test_a_graph_cut_in_any_way_moves_no_more_than_a_program(name: str, capacity: int) -> None:
    graph = blocks()[name]
    program = extract(graph).program
    whole, chosen = (traffic_floor(x, capacity=capacity) for x in (graph, program))
    assert chosen.bytes == sum(p.bytes for p in chosen.parts)
    assert whole.compulsory <= whole.bytes <= chosen.bytes
    for p in chosen.parts:
        assert p.compulsory <= p.bytes
        if p.tile_bytes is not None:
            assert p.bytes <= p.tile_bytes


def test_text_and_json_say_the_same() -> None:
    floor = traffic_floor(product_of(128), capacity=4096, level="cache")
    said = json.loads(floor.json())
    assert said["bytes"] == floor.bytes and said["exponent"] == "3/2" and said["tight"]
    assert said["tile exponents"] == {"i": "1/2", "j": "1/2", "k": "1/2"} and said["tile bytes"] >= said["bytes"]
    text = floor.text()
    assert f"{floor.bytes:,} bytes to cache" in text and "exponent 3/2 of fast memory, certified by its tile" in text
    assert "if sums are held in 4 bytes" in text


def refusal(kind: type[Exception], **changes: Any) -> str:
    given: dict[str, Any] = {"what": product_of(8), "capacity": 64} | changes
    what = given.pop("what")
    with pytest.raises(kind) as caught:
        traffic_floor(what, **given)
    return str(caught.value)


def test_errors_say_how_to_mend_them() -> None:
    n = te.dim("n")
    i = te.index("i")
    x = te.input("X", (n,))
    free = te.graph("free", y=te.tensor(None, i, x[i]))
    assert refusal(BindError, what=free) == (
        "the floor of a graph with dims that are not bound: n\n  where: graph 'free'\n"
        "  mend:  bind them first: graph.bind(n=...)"
    )
    assert refusal(BindError, what=free.outputs[0]) == (
        "the size of index 'i' is no number: n\n  where: a floor on traffic\n  mend:  bind it first: graph.bind(n=...)"
    )
    assert refusal(BindError, what=te.tensor("y", te.index("i", 5), x[te.index("i", 5)]).node) == (
        "the size of input 'X' is no number: n\n  where: a floor on traffic\n  mend:  bind it first: graph.bind(n=...)"
    )
    assert refusal(GraphError, what="C") == (
        "a value of type str has no floor\n  where: traffic_floor\n"
        "  mend:  give a graph, a program, one of its kernels, or a tensor"
    )
    for wrong in (1, 2.5, True, None):
        assert refusal(GraphError, capacity=wrong) == (
            f"capacity is {wrong!r}\n  where: traffic_floor\n  mend:  give a whole number of at least 2"
        )
    assert "memories is 0" in refusal(GraphError, memories=0)
    assert "points['t'] is -1" in refusal(GraphError, points={"t": -1})
    assert refusal(GraphError, state="hot") == (
        "the state 'hot' is not known\n  where: traffic_floor\n  mend:  use 'cold' or 'warm'"
    )
    assert "use one of f16, bf16, f32, f64" in refusal(GraphError, accumulator="i8")


def test_a_point_that_does_not_fit_claims_nothing() -> None:
    floor = traffic_floor(product_of(64), capacity=8)
    assert (
        floor.bytes == floor.compulsory and floor.tile is None and floor.gap is None and "\n  tile" not in floor.text()
    )


def test_constraints_cover_every_dim() -> None:
    nest = nest_of(CASES["conv1d_single_channel"])
    assert {(c.views, c.dims, c.rank) for c in constraints_of(nest)} >= {((0, 1, 1), (1, 0), 1), ((1, 1, 0), (0, 1), 1)}


def test_products_of_a_tuple_of_folds_count_as_products() -> None:
    """Two sums of products that a kernel folds together ask for what they ask for one by one."""
    i, j, k = te.index("i", 64), te.index("j", 48), te.index("k", 32)
    x, a, b = te.input("X", (64, 32)), te.input("A", (32, 48)), te.input("B", (32, 48))
    gate, up = te.sum(k, x[i, k] * a[k, j]), te.sum(k, x[i, k] * b[k, j])
    graph = te.graph("gated", H=te.tensor(None, (i, j), te.tanh(gate) * up))
    merged = extract(graph, costs=Costs(MATRIX_UNITS)).program.kernels[0]
    assert any(isinstance(s, Reduce) and len(s.body) == 2 for s in walk(*(t.body for t in merged.outputs)))
    assert operations(merged) == operations(graph)
    assert max(operations(merged), key=lambda w: w.operations).product
