"""Which indices of a program run along an axis that the caller names: by an index, a dim, or a tensor and its axis.

    "j"      an index of the graph          all axes on which an index of that name stands alone
    "keys"   a symbolic dim                 all axes of that size
    "K:1"    axis 1 of input or tensor K    (negative numbers count from the end)

Axes that one index links are one axis: X[i, k] · W[k, j] links axis 1 of X with axis 0 of W.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from tang_egg.affine import Affine, Index, affine
from tang_egg.errors import GraphError, close_match
from tang_egg.ir import Graph, Read, Reduce, Scalar, Scan, Source, Tensor, tensors_of, walk

Axis: TypeAlias = "tuple[str, int]"
"""An axis of a named input or tensor."""

_Place: TypeAlias = "tuple[str, int] | tuple[str, Index]"


def named_axes(graph: Graph, name: object) -> frozenset[Axis]:
    """The input axes that `name` means. Raises GraphError for a name that means none, or several unlinked ones."""
    if not isinstance(name, str):
        raise GraphError(
            f"an axis is named by a value of type {type(name).__name__}",
            where=f"graph '{graph.name}'",
            mend="name an index, a dim, or an axis such as 'X:0'",
        )
    links = _Links(graph)
    found = _places(graph, name, links)
    groups = {links.root(p) for p in found}
    axes = {(i.name, a) for i in graph.inputs for a in range(len(i.shape)) if links.root((i.name, a)) in groups}
    if len(groups) > 1:
        raise GraphError(
            f"'{name}' names {len(groups)} axes that nothing links: {_listed(axes)}",
            where=f"graph '{graph.name}'",
            mend=f"name one of them, such as '{_first(axes)}'",
        )
    if not axes:
        raise GraphError(
            f"no input has an axis along '{name}'",
            where=f"graph '{graph.name}'",
            mend=f"name an axis of an input: {_listed((i.name, a) for i in graph.inputs for a in range(len(i.shape)))}",
        )
    return frozenset(axes)


def _first(axes: Iterable[Axis]) -> str:
    return ":".join(map(str, min(axes)))


def _listed(axes: Iterable[Axis]) -> str:
    return ", ".join(f"'{n}:{a}'" for n, a in sorted(axes)) or "it has none"


def _places(graph: Graph, name: str, links: _Links) -> list[_Place]:
    """Where the name stands in the graph."""
    stored: tuple[Source, ...] = (*graph.inputs, *tensors_of(graph.outputs))
    tensors = {s.name: s for s in stored}
    owner, _, number = name.rpartition(":")
    if owner in tensors and number.lstrip("-").isdigit():
        rank, axis = len(tensors[owner].shape), int(number)
        if not -rank <= axis < rank:
            raise GraphError(
                f"'{owner}' has no axis {axis}",
                where=f"graph '{graph.name}'",
                mend=f"its axes are {-rank} to {rank - 1}" if rank else "it is a scalar; name another tensor",
            )
        return [(owner, axis % rank)]
    dims = {d.name: d for d in graph.dims()}
    if name in dims:
        size = affine(dims[name])
        return [(i.name, a) for i in graph.inputs for a, n in enumerate(i.shape) if n is size]
    found: list[_Place] = [p for p in links.indices if p[1].name == name]  # type: ignore[union-attr]
    if not found:
        known = sorted({*dims, *(p[1].name for p in links.indices)})  # type: ignore[union-attr]
        raise GraphError(
            f"nothing is named '{name}'{close_match(name, known)}",
            where=f"graph '{graph.name}'",
            mend=f"give an index or dim ({', '.join(known) or 'there is none'}), or an axis such as 'X:0'",
        )
    return found


class _Links:
    """Axes and indices of a graph, joined where an index stands alone as the coordinate of an axis (union-find)."""

    def __init__(self, graph: Graph) -> None:
        self.parent: dict[_Place, _Place] = {}
        self.indices: dict[_Place, None] = {}
        for i in graph.inputs:
            for a in range(len(i.shape)):
                self.root((i.name, a))
        for t in tensors_of(graph.outputs):
            for a, axis in enumerate(t.axes):
                self.join((t.name, a), self._index(t, axis))
            for s in walk(t.body):
                bound = s.indices if isinstance(s, Reduce) else (s.index,) if isinstance(s, Scan) else ()
                for j in bound:
                    self._index(t, j)
                for a, j in alone(s):
                    assert isinstance(s, Read)
                    self.join((s.source.name, a), self._index(t, j))

    def _index(self, t: Tensor, i: Index) -> _Place:
        self.indices[t.name, i] = None
        return (t.name, i)

    def root(self, p: _Place) -> _Place:
        while self.parent.setdefault(p, p) != p:
            p = self.parent[p]
        return p

    def join(self, a: _Place, b: _Place) -> None:
        self.parent[self.root(a)] = self.root(b)


def alone(s: Scalar) -> list[tuple[int, Index]]:
    """The axes of a read at which one index stands alone, with that index; nothing for other nodes."""
    if not isinstance(s, Read):
        return []
    singles = ((a, c.single()) for a, c in enumerate(s.coordinates) if isinstance(c, Affine))
    return [(a, i) for a, i in singles if i is not None]


def indices_along(tensors: Iterable[Tensor], axes: Iterable[Axis]) -> dict[Tensor, set[Index]]:
    """The indices of each tensor that run along some input axes, or along others that these link to."""
    ordered = list(tensors)
    along: set[Axis] = set(axes)
    found: dict[Tensor, set[Index]] = {t: set() for t in ordered}
    size = -1
    while size != len(along) + sum(map(len, found.values())):
        size = len(along) + sum(map(len, found.values()))
        for t in ordered:
            _grow(t, along, found[t])
    return found


def _grow(t: Tensor, along: set[Axis], found: set[Index]) -> None:
    reads = [(s.source.name, a, i) for s in walk(t.body) if isinstance(s, Read) for a, i in alone(s)]
    found |= {i for n, a, i in reads if (n, a) in along}
    found |= {i for a, i in enumerate(t.axes) if (t.name, a) in along}
    along |= {(n, a) for n, a, i in reads if i in found}
    along |= {(t.name, a) for a, i in enumerate(t.axes) if i in found}


def check_distinct(graph: Graph, axes: Mapping[str, frozenset[Axis]]) -> None:
    """Raises GraphError when two names mean the same axis."""
    seen: dict[Axis, str] = {}
    for name, group in axes.items():
        for a in sorted(group):
            other = seen.setdefault(a, name)
            if other != name:
                raise GraphError(
                    f"'{other}' and '{name}' name the same axis '{a[0]}:{a[1]}'",
                    where=f"graph '{graph.name}'",
                    mend="name it once",
                )
