"""Windows: a large graph is cut where a single tensor carries everything, and each distinct piece is saturated once.

A tensor may be a cut when every path from the inputs to the outputs leads through it. It is one where several later
tensors read it and the window so far is large enough to be worth one (the residual stream between layers); or, in a
window that is larger still, where only contractions read what a contraction and pointwise operations made, since that
is written to memory anyway. What a contraction made is no cut while only folds over it and pointwise operations read
it (statistics of scores or logits, activations): one pass may do for both. A piece that is still huge, because some
tensor is read far on (a skip over several layers), is cut as if that read were not there; such a window has two roots.

Tensors without folds that depend on inputs only (masks, tables of positions) belong to every window that reads them. A
window is rebuilt under canonical names, so that identical layers become one and the same object and their saturation is
shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import networkx as nx

from tang_egg.ir import (
    Graph,
    Input,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    Tensor,
    folds,
    sources,
    tensors_of,
    walk,
)
from tang_egg.rewrite import replace_reads
from tang_egg.unify import unify

MINIMUM, LARGE = 60, 150
"""Scalar nodes that a window has at least before it may be cut: where its tensor branches, and between contractions."""

HUGE, TRIED = 300, 6
"""Scalar nodes from which on a window is also cut where one more tensor passes by, and how many of those are tried."""


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
    pieces = [q for p in _pieces(heavy, flow, flow, minimum, LARGE) for q in _smaller(p, flow, minimum)]
    # outputs that are light themselves go with the last piece
    pieces[-1] += [t for t in graph.outputs if t in light]
    return tuple(_window(graph, piece, tensors, light) for piece in pieces)


def _size(tensors: Iterable[Tensor]) -> int:
    """The number of scalar nodes."""
    return sum(1 for u in tensors for _ in walk(u.body))


def _pieces(
    tensors: Sequence[Tensor], flow: nx.DiGraph, thinned: nx.DiGraph, minimum: int, large: int
) -> list[list[Tensor]]:
    """Some tensors, cut at carriers of `thinned`: their flow, perhaps without some of its edges."""
    pieces: list[list[Tensor]] = []
    left = set(tensors)
    for t in _carriers(thinned):
        behind = {t, *nx.ancestors(flow, t)} & left
        size = _size(behind)
        fits = (size >= minimum and _branches(thinned, t)) or (size >= large and _between(thinned, t))
        if fits and len(behind) < len(left):
            pieces.append([u for u in tensors if u in behind])
            left -= behind
    pieces.append([t for t in tensors if t in left])
    return pieces


def _smaller(piece: list[Tensor], flow: nx.DiGraph, minimum: int) -> list[list[Tensor]]:
    """A piece that is too large, cut where one tensor besides the carrier is read further on; or as it is."""
    if _size(piece) < HUGE:
        return [piece]
    sides = _sides(piece, flow)
    if sides:
        gone = {t for side in sides for t in side}
        return [*sides, *_smaller([t for t in piece if t not in gone], flow, minimum)]
    inside = set(piece)
    inner = flow.subgraph(inside).copy()
    inner.add_edges_from((_START, t) for t in piece if not inner.in_degree(t))
    inner.add_edges_from((t, _END) for t in piece if any(u not in inside for u in flow.successors(t)))
    bypasses: list[tuple[int, Tensor, Tensor]] = []
    for u, v in [(u, v) for u, v in inner.edges if inner.in_degree(v) > 1 and v != _END]:
        inner.remove_edge(u, v)
        bypasses.append((len(_carriers(inner)), u, v))
        inner.add_edge(u, v)
    best: list[list[Tensor]] = [piece]
    for _, u, v in sorted(bypasses, key=lambda b: -b[0])[:TRIED]:
        inner.remove_edge(u, v)
        found = _pieces(piece, flow, inner, minimum, minimum)
        inner.add_edge(u, v)
        if max(map(_size, found)) < max(map(_size, best)):
            best = found
    return best if len(best) == 1 else [q for p in best for q in _smaller(p, flow, minimum)]


def _sides(piece: list[Tensor], flow: nx.DiGraph) -> list[list[Tensor]]:
    """What depends on one tensor from outside alone, for each of those but the one that most depends on."""
    inside, origins, first = set(piece), dict[Tensor, frozenset[Tensor | str]](), dict[Tensor | str, None]()
    for t in piece:
        behind = frozenset[Tensor | str]()
        for u in flow.predecessors(t):
            if u not in inside:
                first.setdefault(u)
            behind |= origins[u] if u in inside else {u}
        origins[t] = behind
    alone = [[t for t in piece if origins[t] == {u}] for u in first]
    most = max(alone, key=len, default=[])
    return [group for group in alone if group and group is not most]


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
    pending: list[Tensor | str] = [t]
    seen = set(pending)
    while pending:
        u = pending.pop()
        if isinstance(u, str) or (folds(u) and not _contracts(u)):
            return False
        if not folds(u):
            before = [v for v in flow.predecessors(u) if v not in seen]
            seen.update(before)
            pending += before
    return True


def _between(flow: nx.DiGraph, t: Tensor) -> bool:
    """Whether contractions made `t`, and only contractions read it."""
    return _made_by_contractions(flow, t) and all(u != _END and _contracts(u) for u in flow.successors(t))


def _contracts(t: Tensor) -> bool:
    """Whether every fold of a tensor combines elements of several sources."""
    found = [s for s in walk(t.body) if isinstance(s, (Reduce, Scan))]
    return bool(found) and all(len(sources(*f.body)) > 1 for f in found)


def _light(tensors: Sequence[Tensor]) -> set[Tensor]:
    """Tensors without folds, scans and producers that are not light themselves."""
    light: set[Tensor] = set()
    for t in tensors:
        if not folds(t) and all(u in light for u in sources(t.body) if isinstance(u, Tensor)):
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
    """Where a value is kept between operators is the schedule's affair, which may take 16 bits where the user did."""
    return "f32" if dtype in ("f32", "f64") else dtype


def replace_sources(s: Scalar, source: object) -> Scalar:
    """`s` with every source of a read replaced by `source(old)`."""
    assert callable(source)
    return replace_reads(s, lambda x, at: Read(source(x.source), at, x.at))
