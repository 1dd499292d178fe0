"""Data that says where to read: sums over compared indices become gathers, sorted keys become ranges."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tang_egg import expression as e
from tang_egg import layers
from tang_egg import notation as te
from tang_egg.affine import Index, affine
from tang_egg.assemble import graph
from tang_egg.bounds_range import limits_of
from tang_egg.cost.roofline import Costs
from tang_egg.errors import InputError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Position, Read, Reduce, walk
from tang_egg.layers_attention import paged_attention
from tang_egg.layers_moe import moe
from tang_egg.pipeline import extract, optimize
from tang_egg.pipeline_compiled import Extraction
from tests.laws import consistency_gather, programs_gather
from tests.laws.consistency import Evaluated, falsehoods, saturated
from tests.laws.trying import without
from tests.rows_gather import embedding_one_hot, experts, experts_gated, segments
from tests.rows_model import STARVED

Array = npt.NDArray[Any]


def laws_of(x: Extraction) -> set[str]:
    return {s.law for steps in x.steps.values() for s in steps}


def small(g: Graph) -> Extraction:
    """The program for a machine on which every byte counts, so that small graphs take the forms of large ones."""
    return extract(g, costs=Costs(STARVED))


def folded(x: Extraction) -> set[int]:
    """The sizes of all folded axes."""
    return {
        i.size.value or 0 for t in x.program.tensors for s in walk(t.body) if isinstance(s, Reduce) for i in s.indices
    }


def real(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def whole(rng: np.random.Generator, low: int, high: int, *shape: int) -> Array:
    return rng.integers(low, high, shape).astype(np.int32)


def picked(w: Array, chosen: Array) -> Array:
    """Rows of w, and zeros where no row is meant."""
    live = (chosen >= 0) & (chosen < len(w))
    rows = w[np.clip(chosen, 0, len(w) - 1)]
    return np.where(live.reshape(live.shape + (1,) * (w.ndim - 1)), rows, 0.0)


# -- a value in the place of an index


LARGE: dict[str, tuple[Callable[[], Graph], set[str]]] = {
    "embedding": (lambda: embedding_one_hot("f32", 512, 4096, 256), {"gather.point", "gather.read"}),
    "experts": (lambda: experts("f32", 256, 17, 256, 256), {"gather.point", "gather.fold", "gather.read"}),
    "gated": (lambda: experts_gated("f32", 256, 17, 256, 256, 2), {"gather.exchange", "gather.fold", "gather.read"}),
}


@pytest.mark.parametrize("name", LARGE)
def test_nothing_is_summed_over_what_data_picks(name: str) -> None:
    make, laws = LARGE[name]
    x = extract(make())
    assert len(x.program.tensors) == 1, "nothing between is stored"
    assert not folded(x) & {4096, 17}
    assert laws <= laws_of(x)
    assert all(w.saturation.seconds < 5 and w.saturation.nodes < 400 for w in x.distinct)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("v", [1, 2, 7])
def test_a_product_with_a_one_hot_matrix_reads_the_row(n: int, v: int) -> None:
    x = small(embedding_one_hot("f32", n, v, 5))
    assert len(x.program.tensors) == 1
    rng = np.random.default_rng(n)
    inputs = {"E": real(rng, v, 5), "idx": whole(rng, -2, v + 2, n)}
    np.testing.assert_allclose(interpret(x.program.graph, inputs)["Y"], picked(inputs["E"], inputs["idx"]), rtol=1e-6)


@pytest.mark.parametrize(("n", "x", "k", "m"), [(3, 4, 5, 7), (1, 2, 1, 1), (5, 3, 0, 2), (0, 3, 2, 2)])
def test_an_expert_is_read_by_its_number(n: int, x: int, k: int, m: int) -> None:
    found = small(experts("f32", n, x, k, m))
    assert [t.name for t in found.program.tensors] == ["Y"], "no product of all experts is stored"
    rng = np.random.default_rng(m)
    inputs = {"X": real(rng, n, k), "W": real(rng, x, k, m), "chosen": whole(rng, -1, x + 2, n)}
    expected = np.einsum("tk,tkm->tm", inputs["X"], picked(inputs["W"], inputs["chosen"]))
    np.testing.assert_allclose(interpret(found.program.graph, inputs)["Y"], expected, rtol=1e-6, atol=1e-6)


def gated_oracle(i: dict[str, Array]) -> Array:
    rows = picked(i["W"], i["chosen"])
    return np.einsum("tq,tk,tqkm->tm", i["gate"], i["X"], rows)


def gated_inputs(n: int, x: int, k: int, m: int, r: int) -> dict[str, Array]:
    rng = np.random.default_rng(n)
    chosen = whole(rng, -1, x + 1, n, r)
    chosen[: n // 2, -1] = chosen[: n // 2, 0]  # the same expert twice
    return {"X": real(rng, n, k), "W": real(rng, x, k, m), "chosen": chosen, "gate": real(rng, n, r)}


@pytest.mark.parametrize("sizes", [(3, 4, 5, 7, 2), (5, 2, 3, 1, 1), (2, 5, 3, 2, 3), (2, 1, 3, 2, 2)])
def test_gates_spread_over_experts_are_read_by_number(sizes: tuple[int, ...]) -> None:
    found = small(experts_gated("f32", *sizes))
    assert [t.name for t in found.program.tensors] == ["Y"]
    inputs = gated_inputs(*sizes)  # type: ignore[arg-type]
    expected = gated_oracle(inputs)
    np.testing.assert_allclose(interpret(found.program.graph, inputs)["Y"], expected, rtol=1e-5, atol=1e-5)


def two_experts(n: int, x: int, k: int, m: int) -> Graph:
    """Two terms of one matrix, each zero but at a point."""
    t, a, c, j = te.index("t", n), te.index("a", x), te.index("c", k), te.index("j", m)
    tokens, w, chosen = te.input("X", (n, k)), te.input("W", (x, k, m)), te.input("chosen", (n, 2), "i32")
    gate = te.input("gate", (n, 2))
    terms = [e.select(e.eq(chosen[t, q], a), gate[t, q], 0.0) for q in (0, 1)]
    product = te.sum(c, tokens[t, c] * w[a, c, j])
    return graph("two_experts", te.tensor("Y", (t, j), te.sum(a, (terms[0] + terms[1]) * product)))


def test_two_terms_are_two_gathers() -> None:
    found = extract(two_experts(256, 17, 256, 256))
    over_experts = [s for t in found.program.tensors for s in walk(t.body) if isinstance(s, Reduce)
                    and any(i.size.value == 17 for i in s.indices)]  # fmt: skip
    assert not any(isinstance(r, Read) and r.source.name == "W" for s in over_experts for r in walk(*s.body))
    assert len(found.program.tensors) == 1 and "gather.linear" in laws_of(found)
    inputs = gated_inputs(5, 4, 3, 2, 2)
    np.testing.assert_allclose(
        interpret(small(two_experts(5, 4, 3, 2)).program.graph, inputs)["Y"], gated_oracle(inputs), rtol=1e-5, atol=1e-5
    )


def dense_moe(n: int, x: int, d: int, h: int) -> Graph:
    tokens, logits = te.input("x", (n, d)), te.input("logits", (n, x))
    up, gate, down = te.input("up", (x, d, h)), te.input("gate", (x, d, h)), te.input("down", (x, h, d))
    return graph("dense_moe", Y=moe(tokens, logits, up, down, 2, w_gate=gate, form="dense"))


def test_experts_in_layers_are_computed_for_those_chosen_only() -> None:
    found = extract(dense_moe(256, 16, 256, 512))
    assert all(16 not in [i.size.value for i in t.axes] for t in found.program.tensors), "no [token, expert, ...]"
    naive = dense_moe(5, 3, 4, 7)
    rng = np.random.default_rng(0)
    inputs = {i.name: real(rng, *(s.evaluate({}) for s in i.shape)) for i in naive.inputs}
    got, expected = (interpret(g, inputs)["Y"] for g in (extract(naive).program.graph, naive))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_pages_are_read_by_one_kernel() -> None:
    q, pages = te.input("q", (4, 8, 1, 64)), [te.input(n, (64, 16, 8, 64)) for n in ("k", "v")]
    block, lens = te.input("block", (4, 32), "i32"), te.input("lens", (4,), "i32")
    found = extract(graph("paged", O=paged_attention(q, *pages, block, lens)))
    assert len(found.program.kernels) == 1 and "cascade.pass" in laws_of(found)


def test_a_mask_beside_the_comparison_is_read_in_range_only() -> None:
    t, a, c = te.index("t", 5), te.index("a", 300), te.index("c", 64)
    w, idx, live = te.input("W", (300, 64)), te.input("idx", (5,), "i32"), te.input("live", (300,), "bool")
    naive = graph("g", te.tensor("Y", (t, c), te.max(a, w[a, c], where=(live[a], e.eq(idx[t], a)))))
    found = small(naive)
    assert "gather.point" in laws_of(found) and not folded(found)
    inputs = {"W": real(np.random.default_rng(0), 300, 64), "idx": np.array([-1, 0, 1, 299, 300], np.int32),
              "live": np.arange(300) % 2 == 1}  # fmt: skip
    np.testing.assert_array_equal(interpret(found.program.graph, inputs)["Y"], interpret(naive, inputs)["Y"])


def test_where_there_may_be_no_point_nothing_is_gathered() -> None:
    """A kernel would read an element of an empty table before a guard drops it."""
    found = extract(experts("f32", 3, 0, 5, 7))
    assert "gather.point" not in laws_of(found)
    n = te.dim("n")
    t, a = te.index("t", 3), te.index("a", n)
    w, idx = te.input("W", (n,)), te.input("idx", (3,), "i32")
    symbolic = graph("g", te.tensor("Y", t, te.sum(a, w[a], where=e.eq(idx[t], a))))
    assert "gather.point" not in laws_of(extract(symbolic))
    lo = te.dim("m", lo=1)
    b, table = te.index("b", lo), te.input("T", (lo,))
    sure = graph("g", te.tensor("Y", t, te.sum(b, table[b], where=e.eq(idx[t], b))))
    assert "gather.point" in laws_of(extract(sure))


@pytest.mark.parametrize("make", [embedding_one_hot, experts, experts_gated, segments])
def test_without_the_family_the_form_is_lost(make: Callable[..., Graph]) -> None:
    sizes = {embedding_one_hot: (3, 5, 7), experts: (3, 4, 5, 7), experts_gated: (3, 4, 5, 7, 2), segments: (11, 4, 3)}
    with without("gather"):
        assert not any(law.startswith("gather") for law in laws_of(extract(make("f32", *sizes[make]))))


# -- sorted keys


def keys(rng: np.random.Generator, n: int, g: int) -> Array:
    """Sorted keys: values outside of the segments, and segments without a key."""
    return np.sort(rng.choice(np.array([-3, 0, 1, g - 1, g, g + 5]), n)).astype(np.int32)


@pytest.mark.parametrize("n", [0, 1, 11, 64])
@pytest.mark.parametrize("g", [1, 4, 7])
def test_equal_sorted_keys_are_a_range(n: int, g: int) -> None:
    x = extract(segments("f32", n, g, 3))
    assert n < 2 or "gather.segment" in laws_of(x)
    rng = np.random.default_rng(n)
    inputs = {"X": real(rng, n, 3), "key": keys(rng, n, g)}
    expected = np.stack([inputs["X"][inputs["key"] == s].sum(0) for s in range(g)])
    np.testing.assert_allclose(interpret(x.program.graph, inputs)["Y"], expected, rtol=1e-6, atol=1e-6)


def test_rows_are_read_once_by_ranges() -> None:
    x = extract(segments("f32", 65536, 512, 64))
    (kernel,) = x.program.kernels
    (fold,) = [s for s in walk(kernel.outputs[0].body) if isinstance(s, Reduce)
               and any(isinstance(r, Read) and r.source.name == "X" for r in walk(*s.body))]  # fmt: skip
    (j,) = fold.indices
    assert sorted(x.side for c in fold.where.data for x in limits_of(j, c)) == [-1, 1]


def grouped(op: str, comparison: str, n: int, g: int) -> Graph:
    i, s, d = te.index("i", n), te.index("s", g), te.index("d", 5)
    x, key = te.input("X", (n, 5)), te.input("key", (n,), "i32", sorted=True)
    at, value = e.cast(key[i], "i64"), e.value(s)
    where = {"eq": e.eq(at, value), "lt": at < value, "le": at <= value, "gt": value < at, "ge": value <= at}
    fold = {"sum": te.sum, "max": te.max, "logsumexp": te.logsumexp}[op]
    return graph(f"{op}_{comparison}", te.tensor("Y", (s, d), fold(i, x[i, d], where=where[comparison])))


@pytest.mark.parametrize(
    ("op", "comparison"),
    [("sum", "eq"), ("max", "eq"), ("logsumexp", "eq"), ("sum", "lt"), ("max", "le"), ("sum", "gt"), ("max", "ge")],
)
def test_compiled_loops_visit_the_range_only(op: str, comparison: str) -> None:
    n, g = 37, 7
    naive = grouped(op, comparison, n, g)
    compiled = optimize(naive)
    source = compiled.source[compiled.source.index("void k0") :]
    assert not re.search(r"i\d+_?\d* = 0; i\d+_?\d* < 37", source), "no loop over all rows"
    rng = np.random.default_rng(2)
    for key in (keys(rng, n, g), np.full(n, 3, np.int32), np.full(n, 99, np.int32)):
        inputs = {"X": real(rng, n, 5), "key": key}
        expected = interpret(naive, inputs)["Y"]
        np.testing.assert_allclose(compiled(**inputs), expected, rtol=1e-5, atol=1e-5)


def ragged(n: int, d: int) -> Graph:
    q, k, v = (te.input(name, (2, n, d)) for name in "QKV")
    seg = te.input("seg", (n,), "i32", sorted=True)
    return graph("ragged", O=layers.attention(q, k, v, mask=lambda i, j: e.eq(seg[i], seg[j])))


def test_attention_within_segments_is_one_pass_over_ranges() -> None:
    found = extract(ragged(1024, 64))
    assert len(found.program.kernels) == 1
    assert {"gather.segment_turned", "cascade.pass"} & laws_of(found) >= {"cascade.pass"}
    naive = ragged(37, 8)
    rng = np.random.default_rng(0)
    inputs = {n: real(rng, 2, 37, 8) for n in "QKV"} | {"seg": np.sort(whole(rng, -2, 4, 37))}
    scores = np.einsum("bid,bjd->bij", inputs["Q"], inputs["K"]) * 8**-0.5
    scores[:, inputs["seg"][:, None] != inputs["seg"]] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ inputs["V"]
    np.testing.assert_allclose(interpret(extract(naive).program.graph, inputs)["O"], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(optimize(naive)(**inputs), expected, rtol=1e-4, atol=1e-5)


def test_given_ends_bound_a_loop() -> None:
    """Ends that the caller gives: whatever they are, nothing outside of the axis is read."""
    s, i, d = te.index("s", 6), te.index("i", 13), te.index("d", 3)
    x, lo, hi = te.input("X", (13, 3)), te.input("lo", (6,), "i64"), te.input("hi", (6,), "i64")
    naive = graph("given", te.tensor("Y", (s, d), te.sum(i, x[i, d], where=(lo[s] <= e.value(i), e.value(i) < hi[s]))))
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    inputs = {"X": real(np.random.default_rng(0), 13, 3), "lo": np.array([0, 5, low, 9, 20, high]),
              "hi": np.array([13, 9, high, 4, 30, low])}  # fmt: skip
    np.testing.assert_allclose(optimize(naive)(**inputs), interpret(naive, inputs)["Y"], rtol=1e-5, atol=1e-5)


def test_compiled_gathers_agree() -> None:
    sizes = (5, 4, 3, 11, 2)
    inputs = gated_inputs(*sizes)
    inputs["chosen"][0] = (2**31 - 1, -(2**31))
    compiled = optimize(experts_gated("f32", *sizes))
    np.testing.assert_allclose(compiled(**inputs), gated_oracle(inputs), rtol=1e-5, atol=1e-5)


def test_keys_that_decrease_are_refused() -> None:
    compiled = optimize(segments("f32", 4, 2, 3))
    arrays = {"X": np.zeros((4, 3), np.float32), "key": np.array([0, 1, 0, 1], np.int32)}
    with pytest.raises(InputError) as caught:
        compiled(**arrays)
    assert str(caught.value) == (
        "input 'key' is declared sorted, but entry 2 is less than the one before it\n"
        "  where: a call of a compiled program\n"
        "  mend:  sort the array, or declare the input without sorted=True"
    )


# -- parts


def test_limits_of_conditions() -> None:
    i, s = Index("i", affine(8)), Index("s", affine(3))
    key = te.input("key", (8,), "i32", sorted=True)
    loose = te.input("loose", (8,), "i32")
    position, value = Position(affine(i)), Position(affine(s))

    def sides(condition: e.Expression) -> list[tuple[int, int, bool]]:
        return [(x.side, x.beyond, x.value is None) for x in limits_of(i, condition.scalar)]

    at, g = e.Expression(position), e.Expression(value)
    assert sides(at < g) == [(-1, 0, False)] and sides(at <= g) == [(-1, 1, False)]
    assert sides(g < at) == [(1, 1, False)] and sides(g <= at) == [(1, 0, False)]
    assert sides(e.eq(e.cast(key[i], "i64"), g)) == [(1, 0, True), (-1, 0, True)]
    assert sides(e.cast(loose[i], "i64") < g) == [] and sides(at < e.cast(loose[i], "i64")) == []


@pytest.fixture(scope="module")
def evaluated() -> list[Evaluated]:
    makes = (programs_gather.one_hot, programs_gather.experts, programs_gather.segments)
    return [Evaluated(s) for make in makes for s in saturated(make())]


@pytest.mark.parametrize("relation", sorted(set(consistency_gather.RELATIONS) - {"compares", "widens"}))
def test_a_false_fact_is_found(relation: str, evaluated: list[Evaluated]) -> None:
    """Facts that are put about something else are told from true ones."""
    caught = False
    for x in evaluated:
        facts = x.saturation.snapshot.facts.get(relation, [])
        changed = [_misled(x, relation, fact) for fact in facts]
        snapshot = replace(x.saturation.snapshot, facts={relation: [f for f in changed if f is not None]})
        other = replace(x, saturation=replace(x.saturation, snapshot=snapshot))
        caught |= any(found == relation for found, _ in falsehoods(other, -0.3, 0.7))
    assert caught


def _misled(x: Evaluated, relation: str, fact: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """A fact about another key or class."""
    if relation in ("reads", "only_gathered"):
        known = x.saturation.encoding.gathers if relation == "reads" else x.saturation.encoding.indices
        other = next((k for k in reversed(list(known)) if k != fact[-1]), None)
        return None if other is None else (*fact[:-1], other)
    n = next(k for k, a in enumerate(fact) if not isinstance(a, str))
    kind = x.of(fact[n]).type
    spare = [c for c, nodes in x.saturation.snapshot.classes.items() if c != fact[n] and nodes[0].constructor == "Lit"
             and x.of(c).type == kind]  # fmt: skip
    largest = max(spare, key=lambda c: float(x.of(c).array), default=None)
    return (*fact[:n], largest, *fact[n + 1 :]) if largest is not None else None
