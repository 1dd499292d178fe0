"""Folds over what has passed that mention the point itself, two domains over one space, and what such loops cost."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from tang_egg.cost.roofline import Costs
from tang_egg.expression import Expression
from tang_egg.extract.siblings import join_siblings
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Reduce, Scan, tensors_of, walk
from tang_egg.pipeline import extract
from tang_egg.prefix import moved_prefix
from tang_egg.saturate import Limits

N = 64
T, S = te.index("t", N), te.index("s", N)
X, Y = te.input("X", (N,)), te.input("Y", (N,))


def low() -> Expression:
    """The least of Y[s] - (X[s] - X[t]) up to t."""
    return te.min(S, Y[S] - (X[S] - X[T]), where=S <= T)


def scaled() -> Expression:
    """X[t] times the running sum of Y[s] X[s]."""
    return te.sum(S, X[T] * (Y[S] * X[S]), where=S <= T)


def tied() -> Expression:
    """A sum of what depends on both points together."""
    return te.sum(S, te.exp(X[T] * X[S]) * Y[S], where=S <= T)


def _graph(body: Expression) -> Graph:
    return te.graph("prefix", te.tensor("P", T, body))


def _kinds(g: Graph) -> set[type]:
    return {type(s) for t in tensors_of(g.outputs) for s in walk(t.body) if isinstance(s, (Reduce, Scan))}


@pytest.mark.parametrize("body", [low, scaled])
def test_what_is_said_of_the_point_leaves_the_fold(body) -> None:  # type: ignore[no-untyped-def]
    found = extract(_graph(body()), costs=Costs())
    assert _kinds(found.program.graph) == {Scan}
    inputs = {n: np.random.default_rng(3).normal(size=N).astype(np.float32) for n in "XY"}
    expected = interpret(found.graph, inputs)["P"]
    np.testing.assert_allclose(interpret(found.program.graph, inputs)["P"], expected, rtol=1e-9, atol=1e-9)


def test_on_all_values_it_stays() -> None:
    """An infinity minus itself is NaN: the laws hold on finite values only."""
    found = extract(_graph(low()), limits=Limits(values="ieee"), costs=Costs())
    assert _kinds(found.program.graph) == {Reduce}


def test_what_mentions_both_points_together_stays() -> None:
    fold = next(s for s in walk(tied().scalar) if isinstance(s, Reduce))
    assert moved_prefix(fold, T) is None
    moved = moved_prefix(next(s for s in walk(scaled().scalar) if isinstance(s, Reduce)), T)
    assert moved is not None and moved[0] == "scan.prefix_scaled"


def _pair(ordered: bool) -> tuple[Reduce, Reduce]:
    """The greatest and the least of one inner fold over points of equal and of other labels."""
    x, label = te.input("A", (N, 3)), te.input("label", (N,), "i64", sorted=ordered)
    c = te.index("c", 3)
    far = te.sum(c, (x[T, c] - x[S, c]) * (x[T, c] - x[S, c]))
    pair = te.max(S, far, where=te.eq(label[T], label[S])), te.min(S, far, where=te.ne(label[T], label[S]))
    first, second = (p.scalar for p in pair)
    assert isinstance(first, Reduce) and isinstance(second, Reduce)
    return first, second


def test_folds_over_two_domains_share_a_loop_where_they_share_a_fold() -> None:
    joined = join_siblings(_pair(False))
    assert all(isinstance(s, Reduce) for s in joined)
    assert len({(s.monoid, s.body, s.where) for s in joined if isinstance(s, Reduce)}) == 1


def test_a_domain_that_sorted_data_limits_stays() -> None:
    assert join_siblings(_pair(True)) == _pair(True)


def test_a_fold_that_another_limits_counts_at_each_of_its_points() -> None:
    """Σ[t](Σ[s](exp(X[s]), where=s ≤ t)): the inner loop runs for every t though its body does not mention t."""
    inner = te.sum(S, te.exp(X[S]), where=S <= T)
    body = te.sum(T, inner * Y[T]).scalar
    assert Costs().kernel((body,), ((),)).flops > 12.0 * N * N / 4


def test_folds_of_one_body_over_two_domains_are_two_loops() -> None:
    whole, part = te.sum(S, te.exp(X[S])), te.sum(S, te.exp(X[S]), where=S <= T)
    both = Costs().kernel(((whole + part).scalar,), ((T,),)).flops
    assert both > 2.5 * Costs().kernel((part.scalar,), ((T,),)).flops
