"""Windows: where a graph is cut, which pieces are one, and that pieces together mean what the graph means."""

from __future__ import annotations

import numpy as np
import pytest

from tang_egg import library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.examples import transformer
from tang_egg.expression import maximum
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, tensors_of
from tang_egg.pipeline import extract
from tang_egg.verify import relative_error, sample_inputs
from tang_egg.windows import canonical, cut


def test_identical_layers_share_a_window() -> None:
    windows = cut(transformer(5, tokens=4, width=8, heads=2))
    shared = [canonical(w) for w in windows]
    assert len(windows) >= 5
    assert len({(s.tensors, s.roots) for s in shared}) <= 4


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("minimum", [1, 60, 10**6])
def test_windows_cover_the_graph_in_order(depth: int, minimum: int) -> None:
    g = transformer(depth, tokens=4, width=8, heads=2)
    windows = cut(g, minimum)
    everything = [t for w in windows for t in w.tensors]
    assert set(everything) == set(tensors_of(g.outputs))
    seen: set[object] = set()
    for w in windows:
        assert set(w.roots) <= set(w.tensors)
        seen |= set(w.tensors)
    assert set(g.outputs) <= {r for w in windows for r in w.roots}
    if minimum == 10**6:
        assert len(windows) == 1


@pytest.mark.parametrize("symbolic", [False, True])
def test_pieces_mean_what_the_graph_means(symbolic: bool) -> None:
    g = transformer(3, tokens=te.dim("tokens", lo=1) if symbolic else 5, width=8, heads=2)
    x = extract(g)
    assert len(x.windows) > len(x.distinct)
    for n in (1, 5) if symbolic else (5,):
        dims = {"tokens": n} if symbolic else {}
        inputs = sample_inputs(g, dims, edge=False)
        want, got = interpret(g, inputs, dims), interpret(x.program.graph, inputs, dims)
        assert relative_error(got["Y"], want["Y"]) < 1e-9


def test_light_tensors_and_several_outputs() -> None:
    """A mask is in every window that reads it, and an output in the middle is written."""
    i, j = te.index("i", 5), te.index("j", 5)
    live = te.tensor("live", (i, j), te.holds(j <= i))
    x = te.input("X", (5, 5))
    layers = [x]
    for n in range(4):
        p = library.softmax(layers[-1], where=live)
        layers.append(te.tensor(f"h{n}", (i, j), layers[-1][i, j] + p[i, j]))
    g = graph("masked", layers[2], layers[4])
    windows = cut(g, 1)
    assert len(windows) > 1
    assert sum(any(t.name == "live" for t in w.tensors) for w in windows) > 1
    got = extract(g)
    inputs = {"X": np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32)}
    want = interpret(g, inputs)
    assert want.keys() == {t.name for t in got.program.graph.outputs}
    for name, value in interpret(got.program.graph, inputs).items():
        assert relative_error(value, want[name]) < 1e-9


def _chain(layers: int) -> Graph:
    """Products with an activation that reads its operand twice, each feeding the next only."""
    h = te.input("X", (4, 8))
    for n in range(layers):
        y = library.linear(h, te.input(f"w{n}", (8, 8)), te.input(f"b{n}", (8,)))
        gate = library.pointwise(lambda a: maximum(a / 6 + 0.5, 0.0), y, hint="gate")
        h = library.pointwise(lambda a, b: a * b, y, gate, hint="active")
    return graph("chain", Y=h)


def test_a_long_chain_of_products_is_cut_after_epilogues() -> None:
    windows = cut(_chain(60))
    assert len(windows) > 3
    cuts = [t for w in windows[:-1] for t in w.roots]
    assert cuts and all(t.name.startswith("active") for t in cuts), [t.name for t in cuts]


def test_a_fold_over_what_a_product_made_stays_with_the_product() -> None:
    """Cross-entropy needs the product and its statistics in one window to stream the logits."""
    h = te.input("X", (4, 8))
    for n in range(40):
        h = library.pointwise(lambda a: maximum(a, 0.0), library.linear(h, te.input(f"w{n}", (8, 8))), hint="active")
    logits = library.linear(h, te.input("V", (8, 32)), hint="logits")
    windows = cut(graph("losses", L=library.logsumexp(logits)))
    assert len(windows) > 1
    assert any(t.name == "logits" for t in windows[-1].tensors)
