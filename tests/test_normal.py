"""The normal form: what is left of a graph, and that it means the same."""

from __future__ import annotations

import numpy as np
import pytest

from tang_egg import notation as te
from tang_egg.affine import Index, affine
from tang_egg.assemble import graph
from tang_egg.expression import select
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Reduce, Tensor, free, tensors_of, walk
from tang_egg.monoid import LOGSUMEXP
from tang_egg.normal import normal_form
from tests.strategies import random_instance


def index(name: str, size: int) -> Index:
    return Index(name, affine(size))


def same(g: Graph, **inputs: np.ndarray) -> Graph:
    """The normal form, once it gave what the graph gives, bit for bit."""
    new = normal_form(g)
    want, got = interpret(g, inputs), interpret(new, inputs)
    assert want.keys() == got.keys()
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value)
    return new


@pytest.mark.parametrize("seed", range(200))
def test_random_graphs_keep_their_meaning(seed: int) -> None:
    made = random_instance(seed)
    want, got = (interpret(g, made.inputs, made.dims) for g in (made.graph, normal_form(made.graph)))
    for t in made.graph.outputs:
        np.testing.assert_allclose(got[t.name], want[t.name], rtol=1e-12)


def test_views_stand_in_what_reads_them() -> None:
    x, i, j, k = te.input("X", (4, 6)), index("i", 6), index("j", 4), index("k", 3)
    turned = te.tensor("turned", (i, j), x[j, i])
    thinned = te.tensor("thinned", (k, j), turned[2 * k + 1, 3 - j])
    new = same(graph("views", S=te.tensor(None, k, te.sum(j, thinned[k, j]))), X=np.arange(24.0).reshape(4, 6))
    assert [t.name for t in tensors_of(new.outputs)] == ["S"]


def test_a_view_read_at_gathered_positions() -> None:
    x, at = te.input("X", (7,)), te.input("at", (3,), "i64")
    i, e = index("i", 3), index("e", 3)
    thinned = te.tensor("thinned", i, x[2 * i])
    new = same(
        graph("gathered", Y=te.tensor(None, e, thinned[at[e]])), X=np.arange(7.0), at=np.array([2, 0, 1], np.int64)
    )
    assert [t.name for t in tensors_of(new.outputs)] == ["Y"]


def test_outputs_keep_their_axes_and_are_not_seen_through() -> None:
    x, n, j = te.input("X", (1, 5)), index("n", 1), index("j", 5)
    view = te.tensor("view", (n, j), x[n, 4 - j])
    new = same(graph("outputs", view, Y=te.tensor(None, (n, j), view[n, j] * 2.0)), X=np.arange(5.0).reshape(1, 5))
    assert [t.shape for t in new.outputs] == [t.shape for t in (view.node,)] * 2
    assert not any(i.size.value == 1 for t in new.outputs for i in free(t.body))


def test_folds_over_one_point_vanish() -> None:
    x, w, c = te.input("X", (5, 1)), te.input("W", (1,)), index("c", 1)
    i, j = index("i", 5), index("j", 5)
    product = te.tensor("product", i, te.sum(c, x[i, c] * w[c]))
    new = same(
        graph("single", Y=te.tensor(None, i, te.sum((c, j), product[j] * x[i, c]))),
        X=np.linspace(-2, 2, 5).reshape(5, 1),
        W=np.array([3.0]),
    )
    assert [len(s.indices) for t in tensors_of(new.outputs) for s in walk(t.body) if isinstance(s, Reduce)] == [1]


@pytest.mark.parametrize("value", [1.5, -np.inf, np.inf, np.nan, 0.0])
def test_a_masked_point_is_the_identity(value: float) -> None:
    x, keep, c, i = te.input("X", (2, 1)), te.input("keep", (2,), "bool"), index("c", 1), index("i", 2)
    sums = te.tensor("sums", i, te.sum(c, x[i, c], where=keep[i]))
    peak = te.tensor("peak", i, te.max(c, x[i, c], where=[keep[i], c + i <= 0]))
    lift = select(x[i, c] <= -1e300, 0.0, 1.0)
    logs = te.tensor("logs", i, te.reduce(LOGSUMEXP, c, x[i, c], lift, where=keep[i], part="l"))
    where = te.tensor("where", i, te.argmax(c, x[i, c], where=keep[i]))
    new = same(graph("masked", sums, peak, logs, where), X=np.array([[value], [value]]), keep=np.array([True, False]))
    assert not any(isinstance(s, Reduce) for t in new.outputs for s in walk(t.body))


def test_a_scan_over_one_point_keeps_its_index() -> None:
    x, t = te.input("X", (1,)), index("t", 1)
    total = te.tensor("total", t, te.scan(te.monoids.SUM, t, x[t]))
    new = same(graph("scan", Y=te.tensor(None, t, total[t] + 1.0)), X=np.array([2.0]))
    assert all(isinstance(u, Tensor) and len(u.axes) == 1 for u in tensors_of(new.outputs))


def test_a_sum_of_one_negative_zero_is_zero() -> None:
    x, i, j = te.input("X", (3, 1)), index("i", 3), index("j", 1)
    g = graph("sums", Y=te.tensor(None, i, 1.0 / te.sum(j, x[i, j])))
    zeros = {"X": np.full((3, 1), -0.0)}
    np.testing.assert_array_equal(interpret(normal_form(g, ieee=True), zeros)["Y"], np.inf)
    np.testing.assert_array_equal(interpret(g, zeros)["Y"], np.inf)
