"""Operations that floors rest on: a pass must do what the folds that it replaces must do, and no more."""

from __future__ import annotations

import pytest

import tang_egg as te
from tang_egg import layers, library
from tang_egg.cost.work import operations
from tang_egg.ir import Graph, Reduce, walk
from tang_egg.pipeline import extract


def attention(heads: int, n: int, d: int) -> Graph:
    q, k, v = (te.input(x, (heads, n, d)) for x in "QKV")
    return te.graph("attention", O=layers.attention(q, k, v))


def logsumexp(m: int, n: int) -> Graph:
    return te.graph("logsumexp", L=library.logsumexp(te.input("X", (m, n))))


@pytest.mark.parametrize("graph", [attention(2, 64, 16), logsumexp(64, 4096)], ids=["attention", "logsumexp"])
def test_a_pass_must_do_what_the_folds_of_the_graph_must_do(graph: Graph) -> None:
    (kernel,) = extract(graph).program.kernels
    assert any(isinstance(s, Reduce) and s.monoid.followers for t in kernel.outputs for s in walk(t.body))
    asked = {(w.operand, w.product): w.operations for w in operations(graph)}
    done = {(w.operand, w.product): w.operations for w in operations(kernel)}
    assert sum(done.values()) <= 1.1 * sum(asked.values())


def test_products_of_a_pass_may_run_in_matrix_units() -> None:
    (kernel,) = extract(attention(2, 64, 16)).program.kernels
    products = 2 * 2 * 2 * 64 * 64 * 16  # two contractions of two heads, a multiplication and an addition each
    done = {w.product: w.operations for w in operations(kernel)}
    assert done[True] == pytest.approx(products, rel=0.05)
    assert done[False] < 0.1 * products  # a factor is needed once for a tile, not for a point
