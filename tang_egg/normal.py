"""The normal form of a graph, which is what windows are cut from: it means the same and has less to look through.

- An index with one point is 0, so a fold over it is no fold; a tensor that is no output has no axis of one point.
- A tensor that only reads another at affine coordinates (a transpose, a slice, a new axis) or is a constant stands in
  the tensors that read it, unless it is an output.
"""

from __future__ import annotations

from collections.abc import Iterable

from tang_egg.affine import Affine, AffineLike, Atom, Index, affine
from tang_egg.backward import turned
from tang_egg.ir import (
    Apply,
    Const,
    Coordinate,
    Domain,
    Graph,
    Read,
    Reduce,
    Scalar,
    Scan,
    Tensor,
    Test,
    map_children,
    tensors_of,
    walk,
)
from tang_egg.monoid import SUM, lifts
from tang_egg.rewrite import graph_dims, replace_reads, substitute


def normal_form(graph: Graph, *, axes: bool = False, ieee: bool = False) -> Graph:
    """`graph` in normal form: the same inputs, and outputs of the same names, axes and types.

    `axes`: axes of one point stay, for targets whose matrix units want a row even where there is only one.
    `ieee`: zeros keep their signs, as well: a sum starts from 0, so that of -0.0 alone is 0.0.
    """
    made: dict[Tensor, Tensor] = {}
    tensors = tensors_of(graph.outputs)
    taken = {i.name for i in graph.inputs} | {d.name for d in graph_dims(graph)} | {t.name for t in tensors}
    for t in tensors:
        body = _through(t.body, made, graph.outputs)
        kept = {s.index for s in walk(body) if isinstance(s, Scan)} | {i for i in t.axes if axes}
        body = turned(t, _one_pointed(t, body, kept, ieee), taken)
        left = t.axes if t in graph.outputs else tuple(i for i in t.axes if i.size.value != 1 or i in kept)
        made[t] = Tensor(t.name, left, body, t.dtype, t.into, t.at)
    return Graph(graph.name, graph.inputs, tuple(made[t] for t in graph.outputs))


def _plain(body: Scalar) -> bool:
    return isinstance(body, Const) or (isinstance(body, Read) and all(isinstance(c, Affine) for c in body.coordinates))


def _through(root: Scalar, made: dict[Tensor, Tensor], outputs: tuple[Tensor, ...]) -> Scalar:
    """`root` over the new tensors, reads of plain ones replaced by what they read."""

    def read(s: Read, at: tuple[Coordinate, ...]) -> Scalar:
        if not isinstance(s.source, Tensor):
            return Read(s.source, at, s.at)
        new = made[s.source]
        at = tuple(c for c, i in zip(at, s.source.axes, strict=True) if i in new.axes)
        if s.source not in outputs and _plain(new.body):
            return substitute(new.body, dict(zip(new.axes, at, strict=True)))
        return Read(new, at, s.at)

    return replace_reads(root, read)


def _one_pointed(t: Tensor, body: Scalar, kept: set[Index], ieee: bool) -> Scalar:
    """The body of `t` with every index of one point at 0, but those in `kept`."""
    body = substitute(body, {i: affine(0) for i in t.axes if i.size.value == 1 and i not in kept})
    done: dict[Scalar, Scalar] = {}
    for s in walk(body):
        done[s] = new = map_children(s, lambda c: done[c])
        if isinstance(new, Reduce):
            done[s] = _folded(new, kept, ieee)
    return done[body]


def _folded(fold: Reduce, kept: Iterable[Index], ieee: bool) -> Scalar:
    """A fold without its indices of one point; over one point it is the lift, or the identity outside of `where`."""
    single = [i for i in fold.indices if i.size.value == 1 and i not in kept]
    points = dict.fromkeys(single, affine(0))
    forms: dict[Atom, AffineLike] = {i: affine(0) for i in single}
    if not single or any(c.axes for c in fold.monoid.components):
        return fold
    where = Domain(
        tuple(dict.fromkeys(c.substitute(forms) for c in fold.where.affine)),
        tuple(substitute(d, points) for d in fold.where.data),
    )
    body = tuple(substitute(b, points) for b in fold.body)
    rest = tuple(i for i in fold.indices if i not in single)
    left = Reduce(fold.monoid, rest, where, body, fold.part, fold.at)
    if rest:
        return left
    value = lifts(left)[fold.part]
    if ieee and fold.monoid == SUM:
        value = Apply("add", (SUM.identity[0], value))
    conditions = (*(Test(c) for c in where.affine if not _always(c.form)), *where.data)
    for condition in reversed(conditions):
        value = Apply("select", (condition, value, fold.monoid.identity[fold.part]))
    return value


def _always(form: Affine) -> bool:
    return form.value is not None and form.value >= 0
