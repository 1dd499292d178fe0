"""Which axes of a program each rank holds a part of, once an axis of its inputs is cut over ranks.

An index runs over a rank's own points, or over all points. Of two indices along the cut axis that meet in one fold only
the folded one can be local: a rank does not have the pairs. A tensor or input is cut along an axis where every read is
at a local index; else each rank has all of it, and local indices read it at the rank's offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tang_egg.affine import Affine, Index
from tang_egg.extract.axes import Axis
from tang_egg.ir import Read, Reduce, Tensor, free, walk
from tang_egg.text import print_scalar


@dataclass(slots=True)
class Cut:
    """`local`: the local indices of each tensor. `axes`: the axes that are cut. `reasons`: why others are not."""

    local: dict[Tensor, set[Index]]
    axes: frozenset[Axis] = frozenset()
    reasons: list[str] = field(default_factory=list)


def cut_axes(tensors: Sequence[Tensor], along: Mapping[Tensor, set[Index]]) -> Cut:
    """The largest cut in which no fold needs points of several ranks at once."""
    cut = Cut({t: set(along[t]) for t in tensors})
    count = -1
    while count != sum(map(len, cut.local.values())):
        count = sum(map(len, cut.local.values()))
        for t in tensors:
            _part_pairs(t, cut)
        for t in tensors:
            _keep_whole(t, tensors, cut)
    every = {(r.source.name, a) for t in tensors for r in _reads(t) for a in range(len(r.coordinates))}
    every |= {(t.name, a) for t in tensors for a in range(len(t.axes))}
    cut.axes = frozenset(x for x in every if _local_everywhere(x, tensors, cut))
    return cut


def _reads(t: Tensor) -> list[Read]:
    return [s for s in walk(t.body) if isinstance(s, Read)]


def _part_pairs(t: Tensor, cut: Cut) -> None:
    """Of two local indices that meet, one becomes global: the one that is not folded, or the later one."""
    local = cut.local[t]
    for s in walk(t.body):
        if not isinstance(s, Reduce):
            continue
        bound = [i for i in s.indices if i in local]
        met = {*bound[1:], *(free(s) & local if bound else ())}
        if met:
            _drop(t, met, cut, f"the fold {_short(s)} needs every pair of points along it")
    axes = [i for i in t.axes if i in local]
    if len(axes) > 1:
        _drop(t, set(axes[1:]), cut, f"tensor '{t.name}' has every pair of points along it")


def _keep_whole(t: Tensor, tensors: Iterable[Tensor], cut: Cut) -> None:
    """An axis of a tensor that is read elsewhere than at a local index is global."""
    for a, i in enumerate(t.axes):
        if i in cut.local[t]:
            reader = _reader_of_all((t.name, a), tensors, cut)
            if reader is not None:
                _drop(t, {i}, cut, f"'{reader.name}' reads all of axis {a} of '{t.name}'")


def _drop(t: Tensor, indices: set[Index], cut: Cut, reason: str) -> None:
    cut.local[t] -= indices
    cut.reasons.append(reason)


def _reader_of_all(axis: Axis, tensors: Iterable[Tensor], cut: Cut) -> Tensor | None:
    """A tensor that reads an axis elsewhere than at one of its local indices."""
    name, a = axis
    for t in tensors:
        for r in _reads(t):
            if r.source.name == name:
                c = r.coordinates[a]
                if not isinstance(c, Affine) or c.single() not in cut.local[t]:
                    return t
    return None


def _local_everywhere(axis: Axis, tensors: Sequence[Tensor], cut: Cut) -> bool:
    owner = next((t for t in tensors if t.name == axis[0]), None)
    if owner is not None and owner.axes[axis[1]] not in cut.local[owner]:
        return False
    return _reader_of_all(axis, tensors, cut) is None


def _short(s: Reduce) -> str:
    text = print_scalar(s)
    return text if len(text) <= 80 else text[:79] + "…"
