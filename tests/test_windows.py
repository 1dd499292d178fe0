"""Windows: where a graph is cut, which pieces are one, and that pieces together mean what the graph means."""

from __future__ import annotations

import numpy as np
import pytest

from tang_egg import library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.examples import transformer
from tang_egg.expression import maximum, minimum, relu
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Tensor, sources, tensors_of, walk
from tang_egg.library_conv import conv
from tang_egg.library_pool import global_avg_pool
from tang_egg.notation import Array
from tang_egg.pipeline import extract
from tang_egg.saturate import saturate_window
from tang_egg.unify import unify
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


def test_an_index_of_one_point_makes_no_endless_product() -> None:
    """The mean over one point is the element, so no factor 1 / 1 may be found in every product."""
    x = te.input("X", (1, 4, 5, 7))
    first = library.pointwise(relu, conv(x, te.input("w1", (4, 1, 3, 3)), padding=1, groups=4))
    squeezed = conv(global_avg_pool(first), te.input("w2", (2, 4, 1, 1)), te.input("b2", (2,)))
    gate = conv(library.pointwise(relu, squeezed), te.input("w3", (4, 2, 1, 1)), te.input("b3", (4,)))
    gate = library.pointwise(lambda a: minimum(maximum(a * 0.2 + 0.5, 0.0), 1.0), gate)
    y = conv(library.pointwise(lambda a, b: a * b, first, gate), te.input("w4", (3, 4, 1, 1)), te.input("b4", (3,)))
    (window,) = cut(graph("excite", Z=conv(y, te.input("w5", (6, 3, 1, 1)))), minimum=10**6)
    shared = canonical(window)
    found = saturate_window(unify(shared.tensors), shared.tensors, shared.roots)
    assert found.complete, found.stopped
    assert found.nodes < 1000


def _layers(h: Array, name: str, count: int) -> Array:
    """Blocks of two products around a gate, each added to what it reads."""
    for n in range(count):
        y = library.linear(h, te.input(f"{name}u{n}", (8, 8)))
        y = library.pointwise(lambda a: maximum(a / 6 + 0.5, 0.0) * a, y, hint="gate")
        h = library.add(h, library.linear(y, te.input(f"{name}d{n}", (8, 8))))
    return h


def test_a_huge_piece_is_cut_although_a_tensor_is_read_far_on() -> None:
    """The output of the first layers is read at once and again after many others, so no tensor carries everything."""
    start = library.linear(te.input("X", (4, 8)), te.input("first", (8, 8)))
    end = _layers(start, "a", 40)
    side = library.linear(start, te.input("side", (8, 8)))
    windows = cut(graph("skip", Y=library.add(end, side)))
    sizes = [sum(1 for t in w.tensors for _ in walk(t.body)) for w in windows]
    assert len(windows) > 4
    assert max(sizes) < 300
    made: set[Tensor] = set()
    for w in windows:
        given = {s for t in w.tensors for s in sources(t.body) if isinstance(s, Tensor)} - set(w.tensors)
        assert given <= made
        made |= set(w.roots)
    assert made >= set(graph("skip", Y=library.add(end, side)).outputs)
