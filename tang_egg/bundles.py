"""Bundles: indices that are always folded together count as one index in the e-graph.

A cascade is over one index. Where a window folds several at once (keys in pages, the channels and pixels of a group)
and such a fold needs a finished one over the same indices, they are bundled: "a depends on the bundle" then stands for
"a depends on some of them". Nothing is lost but laws that would treat them apart, so this is done only where a cascade
may come of it, and where nothing else in the window tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tang_egg.affine import Affine, Index
from tang_egg.ir import Read, Reduce, Scalar, Scan, Tensor, walk
from tang_egg.unify import Named

Group = frozenset[Index]


def bundles(named: Mapping[Tensor, Named], inside: Sequence[Tensor]) -> tuple[tuple[Index, ...], ...]:
    """The bundles of a window, each in the order in which its first fold names them."""
    bodies = [named[t].body for t in inside]
    folds = [s for s in walk(*bodies) if isinstance(s, (Reduce, Scan))]
    order = {frozenset(s.indices): s.indices for s in reversed(folds) if isinstance(s, Reduce) and len(s.indices) > 1}
    if not order:
        return ()
    apart = set(_told_apart(named, bodies, folds))
    needed = set(_nested(named, inside))
    return tuple(indices for group, indices in order.items() if group in needed and not group & apart)


def plain(s: Reduce) -> bool:
    """Whether a fold is one of a single value in any order, which the e-graph takes index by index."""
    return s.monoid.scalar and s.monoid.commutative and s.monoid.components[0].follow is None


def _told_apart(
    named: Mapping[Tensor, Named], bodies: Iterable[Scalar], folds: Iterable[Reduce | Scan]
) -> Iterator[Index]:
    """Indices that are folded in different company, scanned, or put in each other's place by a view."""
    company: dict[Index, set[Group]] = {}
    for fold in folds:
        if isinstance(fold, Scan):
            yield fold.index
            continue
        for i in fold.indices:
            company.setdefault(i, set()).add(frozenset(fold.indices) if plain(fold) else frozenset())
    yield from (i for i, groups in company.items() if len(groups) > 1 or frozenset() in groups)
    for s in walk(*bodies):
        if isinstance(s, Read) and isinstance(s.source, Tensor) and s.source in named:
            for i, c in zip(named[s.source].axes, s.coordinates, strict=True):
                if not (isinstance(c, Affine) and c.single() is i):
                    yield i
                    yield from c.indices() if isinstance(c, Affine) else ()


def _nested(named: Mapping[Tensor, Named], inside: Sequence[Tensor]) -> Iterator[Group]:
    """The indices of folds whose bodies need a finished fold over the same."""
    below: dict[Tensor, set[Group]] = {}

    def groups(*roots: Scalar) -> set[Group]:
        found: set[Group] = set()
        for s in walk(*roots):
            if isinstance(s, Reduce):
                found.add(frozenset(s.indices))
            elif isinstance(s, Read) and isinstance(s.source, Tensor):
                found |= below.get(s.source, set())
        return found

    for t in inside:
        for s in walk(named[t].body):
            if isinstance(s, Reduce) and frozenset(s.indices) in groups(*s.body):
                yield frozenset(s.indices)
        below[t] = groups(named[t].body)
