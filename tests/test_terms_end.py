"""Extraction ends: sums of a sum over perhaps no points, the factors of which leave it under a guard."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tang_egg import notation as te
from tang_egg.assemble import graph as make_graph
from tang_egg.expression import Expression, relu, tanh
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.pipeline import extract

NODES = 200
USES: dict[str, Callable[[Expression, Expression], Expression]] = {
    "alone": lambda t, x: t,
    "weighted": lambda t, x: t * x,
    "gated": lambda t, x: relu(t) * t,
    "squared": lambda t, x: t * t,
}


def graph_of(use: str, n: int) -> Graph:
    """y[m] = Σ_{d ≤ m} use(t[m, d]) of t[m, d] = Σ_{e > d} X[m, e]·tanh(X[m, d])."""
    x = te.input("X", (n, n))
    m, d, k, row, j = (te.index(name, n) for name in ("m", "d", "e", "row", "j"))
    t = te.tensor("t", (m, d), te.sum(k, x[m, k] * tanh(x[m, d]), where=d < k))
    y = te.tensor("y", row, te.sum(j, USES[use](t[row, j], x[row, j]), where=j <= row))
    return make_graph("guarded", y)


@pytest.mark.parametrize("use", USES)
def test_guards_of_factors_do_not_nest_without_end(use: str) -> None:
    graph = graph_of(use, 6)
    x = extract(graph)
    assert sum(w.saturation.nodes for w in x.distinct) < NODES
    arrays = {"X": np.random.default_rng(6).normal(size=(6, 6))}
    np.testing.assert_allclose(interpret(x.program.graph, arrays)["y"], interpret(graph, arrays)["y"], rtol=1e-12)
