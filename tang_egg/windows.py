"""Windows: a large graph is cut where a single tensor carries everything, and each distinct piece is saturated once.

A tensor may be a cut when every path from the inputs to the outputs leads through it. It is one where several later
tensors read it and the window so far is large enough to be worth one (the residual stream between layers); or, in a
window that is larger still, where only contractions read what a contraction and pointwise operations made, since that
is written to memory anyway. What a contraction made is no cut while only folds over it and pointwise operations read
it (statistics of scores or logits, activations): one pass may do for both. Tensors without folds that depend on inputs
only (masks, tables of positions) belong to every window that reads them. A window is rebuilt under canonical names, so
that identical layers become one and the same object and their saturation is shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from tang_egg.affine import Affine
from tang_egg.ir import (
    Graph,
    Input,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    Tensor,
    map_children,
    sources,
    tensors_of,
    walk,
)
from tang_egg.unify import unify

MINIMUM, LARGE = 60, 150
"""Scalar nodes that a window has at least before it may be cut: where its tensor branches, and between contractions."""


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of a graph: its tensors (producers first) and those of them whose values are needed outside."""

    tensors: tuple[Tensor, ...]
    roots: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Canonical:
    """A window under canonical names. `outside` lists what its inputs x0, x1, ... stand for."""

    tensors: tuple[Tensor, ...]
    roots: tuple[Tensor, ...]
    outside: tuple[Source, ...]
    originals: tuple[Tensor, ...]


def cut(graph: Graph, minimum: int = MINIMUM) -> tuple[Window, ...]:
    """The windows of a graph, in order."""
    tensors = tensors_of(graph.outputs)
    light = _light(tensors)
    heavy = [t for t in tensors if t not in light]
    flow = _flow(heavy, light, graph.outputs)
    pieces: list[list[Tensor]] = []
    taken: set[Tensor] = set()
    for t in _carriers(flow):
        behind = {t, *nx.ancestors(flow, t)} - taken - {_START}
        size = sum(1 for u in behind for _ in walk(u.body))
        fits = (size >= minimum and _branches(flow, t)) or (size >= LARGE and _between(flow, t))
        if fits and len(taken) + len(behind) < len(heavy):
            pieces.append([u for u in heavy if u in behind])
            taken |= behind
    # outputs that are light themselves go with the last piece
    pieces.append([t for t in heavy if t not in taken] + [t for t in graph.outputs if t in light])
    return tuple(_window(graph, piece, tensors, light) for piece in pieces)


_START, _END = "start", "end"


def _flow(heavy: Sequence[Tensor], light: set[Tensor], outputs: Sequence[Tensor]) -> nx.DiGraph:
    """Which heavy tensor feeds which, with a start before those that need none and an end after the outputs."""
    flow = nx.DiGraph()
    flow.add_nodes_from((_START, _END))
    for t in heavy:
        behind = [u for u in sources(t.body) if isinstance(u, Tensor) and u not in light]
        flow.add_edges_from((u, t) for u in behind)
        if not behind:
            flow.add_edge(_START, t)
    flow.add_edges_from((t, _END) for t in outputs if t not in light)
    return flow


def _carriers(flow: nx.DiGraph) -> list[Tensor]:
    """The tensors through which every path from start to end leads (the end's dominators), in order."""
    if not nx.has_path(flow, _START, _END):
        return []
    above = nx.immediate_dominators(flow, _START)
    chain: list[Tensor] = []
    t = above[_END]
    while t != _START:
        chain.append(t)
        t = above[t]
    return chain[::-1]


def _folds(t: Tensor) -> bool:
    return any(isinstance(s, (Reduce, Scan)) for s in walk(t.body))


def _branches(flow: nx.DiGraph, t: Tensor) -> bool:
    """Whether several tensors read `t`, and it is no product of which all readers wait for its statistics only."""
    if flow.out_degree(t) < 2:
        return False
    later: set[Tensor | str] = set()
    for u in nx.descendants(flow, t):
        if u != _END and _contracts(u):
            later |= nx.descendants(flow, u)
    return any(u in later for u in flow.successors(t)) or not _made_by_contractions(flow, t)


def _made_by_contractions(flow: nx.DiGraph, t: Tensor) -> bool:
    """Whether the folds before `t`, through pointwise tensors, are all contractions."""
    pending, seen = [t], {t}
    while pending:
        u = pending.pop()
        if u == _START or (_folds(u) and not _contracts(u)):
            return False
        if not _folds(u):
            before = [v for v in flow.predecessors(u) if v not in seen]
            seen.update(before)
            pending += before
    return True


def _between(flow: nx.DiGraph, t: Tensor) -> bool:
    """Whether contractions made `t`, and only contractions read it."""
    return _made_by_contractions(flow, t) and all(u != _END and _contracts(u) for u in flow.successors(t))


def _contracts(t: Tensor) -> bool:
    """Whether every fold of a tensor combines elements of several sources."""
    folds = [s for s in walk(t.body) if isinstance(s, (Reduce, Scan))]
    return bool(folds) and all(len(sources(*f.body)) > 1 for f in folds)


def _light(tensors: Sequence[Tensor]) -> set[Tensor]:
    """Tensors without folds, scans and producers that are not light themselves."""
    light: set[Tensor] = set()
    for t in tensors:
        if not _folds(t) and all(u in light for u in sources(t.body) if isinstance(u, Tensor)):
            light.add(t)
    return light


def _window(graph: Graph, piece: list[Tensor], tensors: Sequence[Tensor], light: set[Tensor]) -> Window:
    inside = set(piece)
    pending = list(piece)
    while pending:
        for u in sources(pending.pop().body):
            if isinstance(u, Tensor) and u in light and u not in inside:
                inside.add(u)
                pending.append(u)
    read_outside = {u for t in tensors if t not in inside for u in sources(t.body)}
    roots = tuple(t for t in tensors if t in piece and (t in graph.outputs or (t in read_outside and t not in light)))
    return Window(tuple(t for t in tensors if t in inside), roots)


def canonical(window: Window) -> Canonical:
    """The window with canonical names of tensors, indices and sources from outside."""
    named = unify(window.tensors)
    outside: dict[Source, Input] = {}
    made: dict[Tensor, Tensor] = {}

    def source(s: Source) -> Source:
        if s in made and isinstance(s, Tensor):
            return made[s]
        if s not in outside:
            shape, ordered = s.shape, isinstance(s, Input) and s.sorted
            outside[s] = Input(f"x{len(outside)}", shape, s.dtype, ordered)
        return outside[s]

    for n, t in enumerate(window.tensors):
        body = replace_sources(named[t].body, source)
        dtype = t.dtype if t in window.roots else _plain(t.dtype)
        made[t] = Tensor(f"t{n}", named[t].axes, body, dtype)
    return Canonical(tuple(made.values()), tuple(made[t] for t in window.roots), tuple(outside), tuple(window.tensors))


def _plain(dtype: str) -> str:
    """Where a value is kept between operators is the schedule's affair; only its scalar type is part of the meaning."""
    return "f32" if dtype in ("f16", "bf16", "f32", "f64") else dtype


def replace_sources(s: Scalar, source: object) -> Scalar:
    """`s` with every source of a read replaced by `source(old)`."""
    assert callable(source)
    done: dict[Scalar, Scalar] = {}
    for x in walk(s):
        if isinstance(x, Read):
            at = tuple(c if isinstance(c, Affine) else done[c] for c in x.coordinates)
            done[x] = Read(source(x.source), at, x.at)
        else:
            done[x] = map_children(x, lambda c: done[c])
    return done[s]
