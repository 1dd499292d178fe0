"""Thirty graphs that no law was written for: which have the structure stated of them, and that all mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from tang_egg.cost.roofline import Costs
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.pipeline import choose_schedules, extract
from tang_egg.pipeline_compiled import Extraction
from tang_egg.run import compile_program
from tang_egg.verify import relative_error, sample_inputs, verify
from tests.further import FURTHER
from tests.rows_model import MACHINES, Arrays, nodes_of
from tests.tree import ROOT

NODES = 20_000
"""E-nodes that a graph may take."""

SCORES = ("documents", "distance_heads_last", "two_sources", "nearest_centre")
"""Graphs of products that no machine should store."""
UNDERIVED: dict[str, str] = {}
"""Graphs for which no kernel of the stated structure is found, and why."""

UNSELECTED: dict[str, str] = {
    "divergence": "derived; rows stay in a near cache, and a second pass over one without selects is predicted as fast",
}
"""Graphs whose structure is derived, and taken for their small twins, but not selected at the size where it pays."""

OTHERWISE: dict[str, str] = {
    "cosine": "the norms of keys run along with the products instead of being stored, and the scores are stored",
}
"""Graphs whose structure is near to the stated one: no law lacks."""

MISSING = UNDERIVED | UNSELECTED | OTHERWISE
COMPILED = (
    "prefix_lm", "documents", "sinks", "decode_append", "soft_minimum", "divergence", "correlation", "highway",
    "three_neighbours", "segment_maximum", "dilated", "soft_pool", "batch_group_norm",
)  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.xfail(strict=True, reason=MISSING[n], raises=AssertionError))
        if n in MISSING
        else n
        for n in FURTHER
    ],
)
def test_a_graph_has_the_structure_stated_of_it(name: str) -> None:
    row = FURTHER[name]
    x = extract(row.build("f32", **row.sizes))
    assert all(w.saturation.complete for w in x.distinct)
    assert nodes_of(x) < NODES
    assert row.wrong(x) == []


@pytest.mark.parametrize("name", [*UNSELECTED, *SCORES, "highway"])
def test_what_is_not_selected_is_derived(name: str) -> None:
    row = FURTHER[name]
    assert row.wrong(row.twin(), small=True) == []


@pytest.mark.parametrize("name", SCORES)
def test_products_are_not_stored_beside_matrix_units(name: str) -> None:
    row = FURTHER[name]
    x = extract(row.build("f32", **row.sizes), costs=Costs(MACHINES["units"]))
    assert row.wrong(x) == []


def test_the_page_says_what_the_tests_say() -> None:
    page, _, _ = (ROOT / "docs" / "further-graphs.md").read_text(encoding="utf-8").partition("## A second set")
    told = dict(re.findall(r"^\| `(\w+)`.*\| (yes|no) \|", page, re.MULTILINE))
    assert told == {name: "no" if name in MISSING else "yes" for name in FURTHER}
    assert f"{len(FURTHER) - len(MISSING)} of 30" in page


def test_thirty_graphs_are_told_apart() -> None:
    assert len(FURTHER) == 30
    assert set(MISSING) <= set(FURTHER) and len(MISSING) == len(UNDERIVED) + len(UNSELECTED) + len(OTHERWISE)


@pytest.mark.parametrize("name", FURTHER)
def test_a_small_twin_means_what_is_written(name: str) -> None:
    """Both the program that selection takes at this size and the one for a machine on which every byte counts."""
    row = FURTHER[name]
    for x in (row.twin(), extract(row.naive())):
        for inputs in _inputs(x.graph):
            expected, got = interpret(x.graph, inputs), interpret(x.program.graph, inputs)
            for output, value in expected.items():
                assert relative_error(got[output], value) < 1e-9, output


@pytest.mark.parametrize("name", COMPILED)
def test_a_small_twin_in_c(name: str) -> None:
    """On random and on edge values; a wrong one raises."""
    x: Extraction = FURTHER[name].twin()
    schedules = choose_schedules(x.program, "c")
    assert verify(x.graph, x.program, compile_program(x.program, schedules), schedules).runs == 2


def _inputs(naive: Graph) -> Iterator[Arrays]:
    for edge, seed in ((False, 3), (True, 3), (False, 4)):
        yield sample_inputs(naive, {}, edge=edge, seed=seed)


def _arrays(name: str, seed: int) -> tuple[Graph, Arrays]:
    graph = FURTHER[name].naive()
    return graph, sample_inputs(graph, {}, edge=False, seed=seed)


def _softmax(s: np.ndarray) -> np.ndarray:
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def test_scores_are_what_numpy_says() -> None:
    """That a graph states what its name says: a few of them against array formulas."""
    graph, x = _arrays("dilated", 1)
    q, k, v = (x[n].astype(float) for n in "QKV")
    past = np.subtract.outer(np.arange(17), 2 * np.arange(5))  # [query, t]
    s = np.where(past >= 0, np.einsum("aic,aitc->ait", q, k[:, past]), -np.inf)
    np.testing.assert_allclose(interpret(graph, x)["O"], np.einsum("ait,aite->aie", _softmax(s), v[:, past]), atol=1e-9)

    graph, x = _arrays("sinks", 1)
    q, k, v = (x[n].astype(float) for n in "QKV")
    i, j = np.ogrid[:13, :13]
    s = np.where((j <= i) & ((i - j < 5) | (j < 4)), q @ k.transpose(0, 2, 1) * 3**-0.5, -np.inf)
    s = np.concatenate([s, np.broadcast_to(x["sink"].astype(float)[:, None, None], (2, 13, 1))], -1)
    np.testing.assert_allclose(interpret(graph, x)["O"], _softmax(s)[..., :-1] @ v, atol=1e-9)

    graph, x = _arrays("contrastive", 1)
    s = x["X"].astype(float) @ x["Y"].astype(float).T * 2.0
    got = interpret(graph, x)
    for axis, name in ((1, "rows"), (0, "columns")):
        np.testing.assert_allclose(got[name], np.log(np.exp(s).sum(axis)) - np.diag(s), atol=1e-9)


def test_folds_are_what_numpy_says() -> None:
    graph, x = _arrays("correlation", 1)
    r = [np.corrcoef(a, b)[0, 1] for a, b in zip(x["X"].astype(float), x["Y"].astype(float), strict=True)]
    np.testing.assert_allclose(interpret(graph, x)["r"], r, atol=1e-6)

    graph, x = _arrays("drawdown", 1)
    rows = x["X"].astype(float)
    np.testing.assert_allclose(interpret(graph, x)["y"], (np.maximum.accumulate(rows, 1) - rows).max(1), atol=1e-12)

    graph, x = _arrays("highway", 1)
    gate, out, u = (x[n].astype(float) for n in ("gate", "out", "x"))
    z, o, h = 1 / (1 + np.exp(-gate)), 1 / (1 + np.exp(-out)), np.zeros(3)
    for t in range(11):
        h = z[t] * h + (1 - z[t]) * np.tanh(u[t])
        np.testing.assert_allclose(interpret(graph, x)["y"][t], o[t] * h + (1 - o[t]) * u[t], atol=1e-9)

    graph, x = _arrays("three_neighbours", 1)
    far = ((x["X"].astype(float)[:, None] - x["P"].astype(float)) ** 2).sum(-1)
    near = np.argsort(far, axis=1, kind="stable")[:, :3]
    w = _softmax(-np.take_along_axis(far, near, 1))
    np.testing.assert_allclose(interpret(graph, x)["y"], (w * x["Y"].astype(float)[near]).sum(1), atol=1e-6)
