"""Saturation ends: graphs whose guards met again and again, and laws that would grow without end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Index
from tang_egg.assemble import graph as make_graph
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.normal import normal_form
from tang_egg.notation import Array
from tang_egg.pipeline import extract
from tang_egg.report import build_report
from tang_egg.report_text import render_text
from tang_egg.rules.law import Table
from tang_egg.rules.pattern import variables
from tang_egg.saturate import Limits, Saturation, saturate_window
from tang_egg.unify import unify
from tang_egg.windows import canonical, cut
from tests.laws.trying import trying

SIZES = (2, 3)
NODES = 200


def agree(got: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-12, atol=1e-12)


def indices(n: int) -> dict[str, Index]:
    return {name: te.index(name, n) for name in "abcdefgh"}


def guarded_twice(n: int) -> Graph:
    """A sum over a doubtful domain around a fold that equals one outside of it: its guard met itself."""
    i = indices(n)
    v, y = te.input("V", (n,)), te.input("Y", (n, n))
    total = te.sum(i["a"], v[i["a"]])
    inner = te.sum(i["d"], total * y[i["c"], i["d"]], where=i["d"] < i["b"])
    return make_graph("guarded_twice", O=te.tensor("O", i["c"], te.sum(i["b"], v[i["b"]] * inner)))


def pinned_and_guarded(n: int) -> Graph:
    """A domain of one point by two conditions: what its guards say narrowed folds that are not narrowed by it."""
    i = indices(n)
    v = te.input("V", (n, n))
    value = e.select(i["a"] <= i["d"], v[i["a"], i["a"]], 0.0)
    return make_graph("pinned", O=te.tensor("O", i["a"], te.sum(i["d"], value, where=i["d"] <= i["a"])))


def guards_of_guards(n: int) -> Graph:
    """Conjunctions of two guards, in every order and number."""
    i = indices(n)
    v = te.input("V", (n, n))
    inner = te.sum(i["g"], v[i["a"], i["a"]] * v[i["h"], i["h"]], where=i["g"] < i["a"])
    twice = e.select(i["a"] <= i["h"], e.select(i["a"] <= i["h"], inner, 0.0), 0.0)
    return make_graph("guards", O=te.tensor("O", i["a"], te.sum(i["h"], twice, where=i["h"] <= i["a"])))


def pinned_twice(n: int) -> Graph:
    """An inner domain of one point, with a guard on either side."""
    i = indices(n)
    u, v = te.input("U", (n,)), te.input("V", (n, n))
    value = e.select(i["a"] <= i["f"], u[i["h"]] * v[i["h"], i["f"]], 0.0)
    inner = te.sum(i["f"], e.select(i["f"] <= i["a"], value, 0.0), where=i["a"] <= i["f"])
    return make_graph("pinned_twice", O=te.tensor("O", i["a"], te.sum(i["h"], inner)))


def folds_of_folds(n: int) -> Graph:
    """Doubtful domains three deep, the factors of which leave one after another."""
    i = indices(n)
    u = te.input("U", (n,))
    x = te.sum(i["h"], u[i["e"]]) * te.sum(i["g"], u[i["c"]], where=i["g"] < i["a"])
    y = te.max(i["e"], te.sum(i["b"], x, where=i["b"] <= i["c"]), where=i["e"] < i["c"])
    return make_graph("folds_of_folds", O=te.tensor("O", i["a"], te.sum(i["c"], y)))


GRAPHS: tuple[Callable[[int], Graph], ...] = (
    guarded_twice, pinned_and_guarded, guards_of_guards, pinned_twice, folds_of_folds,
)  # fmt: skip


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("make", GRAPHS)
def test_guards_that_meet_again_end(make: Callable[[int], Graph], n: int) -> None:
    graph = make(n)
    x = extract(graph)
    assert all(w.saturation.complete for w in x.distinct)
    assert sum(w.saturation.nodes for w in x.distinct) < NODES
    rng = np.random.default_rng(n)
    arrays = {i.name: rng.normal(size=[s.value for s in i.shape]) for i in graph.inputs}
    agree(interpret(x.program.graph, arrays), interpret(graph, arrays))


# Limits.


def growing() -> Table:
    """Sums in every order and grouping: as many terms as there are ways to write a sum."""
    table = Table("scalar")
    x, y, z = variables("x y z")
    marks = {"holds": "finite", "rounding": "reassociates"}
    table.law("scalar.turned", x + y, y + x, proof="Scalar.turned", **marks)
    table.law("scalar.grouped", (x + y) + z, x + (y + z), proof="Scalar.grouped", **marks)
    return table


def long_sum(terms: int) -> Graph:
    i = te.index("i", 3)
    xs = [te.input(f"X{n}", (3,)) for n in range(terms)]
    total: Array | e.Expression = xs[0][i]
    for x in xs[1:]:
        total = total + x[i]
    return make_graph("long_sum", S=te.tensor("S", i, total))


def window_of(graph: Graph, limits: Limits) -> Saturation:
    (window,) = map(canonical, cut(normal_form(graph)))
    return saturate_window(unify(window.tensors), window.tensors, window.roots, limits)


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (Limits(matches=2000), "the limit of 2000 matches in a step"),
        (Limits(seconds=0.01), "the time limit of 0.01 s"),
        (Limits(rows=2_000), "the limit of 2000 rows"),
    ],
)
def test_a_limit_ends_laws_that_grow(limits: Limits, says: str) -> None:
    """No step is endless: a sum of nine terms has millions of forms."""
    with trying(growing()):
        window_of(long_sum(3), Limits(seconds=0.0))  # compiles the laws
        start = time.perf_counter()
        found = window_of(long_sum(9), limits)
    assert not found.complete and found.stopped.startswith(says)
    assert time.perf_counter() - start < 30.0
    assert found.snapshot.nodes > 9


def test_what_was_found_until_a_limit_is_used_and_the_report_says_so() -> None:
    graph = long_sum(6)
    with trying(growing()):
        x = extract(graph, limits=Limits(rounds=1, iterations=2))
    told = " ".join(render_text(build_report(x), width=200).split())
    assert "stopped by the limit of 1 rounds" in told
    arrays = {i.name: np.arange(3.0) + n for n, i in enumerate(graph.inputs)}
    agree(interpret(x.program.graph, arrays), interpret(graph, arrays))
