"""What a kernel, or a graph cut in any way, is certain to move: touched elements, second reads, claims of folds.

A kernel reads arrays in memory and writes its outputs. In a graph only its inputs and outputs are certain to be in
memory: what lies between may stay in fast memory, be stored, or be computed again. So reads of tensors without folds
stand for the reads behind them, and reads of folded tensors for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from math import prod

from tang_egg import ops
from tang_egg.cost.floor_count import Condition, touched
from tang_egg.cost.floor_nest import Claim, Claims, Stored, accumulator_width
from tang_egg.cost.floor_read import Access, Coordinate, Fold, Reader, narrowest, number_of, outermost_folds, size_of
from tang_egg.cost.floor_views import view_of
from tang_egg.ir import Input, Source, Tensor, folds, tensors_of


@dataclass(frozen=True, slots=True)
class Asked:
    """What a floor is asked for: see `floor.traffic_floor`."""

    capacity: int
    memories: int = 1
    recompute: bool = True
    accumulator: str | None = None
    meets: tuple[tuple[str, int], ...] = ()
    points: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes that are certain to move: touched elements, what is read a second time, and the claims of folds."""

    reads: tuple[tuple[str, int], ...]
    writes: tuple[tuple[str, int], ...]
    again: int
    again_of: str
    claims: tuple[Claim, ...]
    conditions: tuple[str, ...]

    @property
    def compulsory(self) -> int:
        """Bytes that move however large fast memory is."""
        return sum(n for _, n in (*self.reads, *self.writes))


@dataclass(slots=True)
class _Found:
    """The reads of one tensor, its folds, and its axes as dims."""

    axes: tuple[str, ...]
    accesses: frozenset[Access]
    folds: list[Fold]


@dataclass(slots=True)
class Accounts:
    """Collects what some tensors are certain to move. `whole`: a graph, whose tensors in between may not be stored."""

    asked: Asked
    outputs: tuple[Tensor, ...]
    whole: bool
    reader: Reader = field(default_factory=Reader)
    _found: dict[Tensor, _Found] = field(default_factory=dict)
    _resolved: dict[Access, tuple[Access, ...]] = field(default_factory=dict)

    def moved(self) -> Moved:
        """The account of a kernel that writes the outputs, or of any way to cut the graph that computes them."""
        self.reader.known = dict(self.asked.points)
        needed = self._needed() if self.whole else list(self.outputs)
        needed = [t for t in needed if all(size_of(i) for i in t.axes)]
        reads: dict[Source, int] = {}
        claims: list[Claim] = []
        again, again_of = 0, ""
        for t in needed:
            found = self._of(t)
            for a in sorted(found.accesses, key=lambda a: (a.source.name, repr(a.coordinates))):
                for b in self.resolve(a):
                    reads[b.source] = max(reads.get(b.source, 0), self._touched(b) * b.bytes)
            for fold in found.folds:
                claims += self._claims(t, fold, found)
                for b, n in self._chosen(fold):
                    reads[b.source] = max(reads.get(b.source, 0), n * b.bytes)
            extra, name = (0, "") if self.whole else self._again(t, found)
            again, again_of = max((again, again_of), (extra, name))
        replaced = {t.into for t in self.outputs if t.into}
        written = tuple((t.name, 0 if t.into else _elements(t) * ops.BYTES[t.dtype]) for t in self.outputs)
        counted = tuple((s.name, n) for s, n in reads.items() if s not in self.outputs and s.name not in replaced)
        return Moved(counted, written, again, again_of, tuple(claims), tuple(self._said(replaced)))

    def _said(self, replaced: Iterable[str]) -> Iterable[str]:
        names = sorted(replaced)
        if names:
            yield f"{', '.join(names)}: what is replaced in place may mostly stay as it is, and is not counted"
        if self.reader.known:
            yield "domains that data decides have as many points as the caller says"
        if self.asked.meets:
            yield "gathered elements are shared by as many points as the caller says"

    def _of(self, t: Tensor) -> _Found:
        if t not in self._found:
            env = {i: self.reader.bind(i) for i in t.axes}
            before = len(self.reader.folds)
            accesses = self.reader.tensor(t, env)
            new = list(self.reader.folds.values())[before:]
            self._found[t] = _Found(tuple(env.values()), accesses, new)
        return self._found[t]

    def _needed(self) -> list[Tensor]:
        """The tensors of which every element is certain to be computed, users before what they read."""
        needed: dict[Tensor, None] = dict.fromkeys(self.outputs)
        for t in reversed(tensors_of(self.outputs)):
            if t in needed and all(size_of(i) for i in t.axes):
                for a in self._of(t).accesses:
                    if isinstance(a.source, Tensor) and self._touched(a) == _elements(a.source):
                        needed[a.source] = None
        return list(needed)

    def _touched(self, a: Access) -> int:
        """Elements of its source that a read touches, or fewer."""
        rows: list[dict[str, int]] = list(a.rows)
        meet = dict(self.asked.meets).get(a.source.name, 0)
        if a.gathered and meet:
            rows += [{d: 1} for d in a.gathered]
        sizes = self._sizes(frozenset().union(*rows), a.conditions)
        count = touched(view_of(rows, self.reader.sizes), sizes, a.conditions)
        if a.gathered and meet:
            count = -(-count // meet)
        return min(count, _elements(a.source))

    def _sizes(self, dims: Iterable[str], conditions: Iterable[Condition]) -> dict[str, int]:
        every = frozenset(dims).union(*(c.dims for c in conditions))
        return {d: self.reader.sizes[d] for d in sorted(every)}

    def _chosen(self, fold: Fold) -> list[tuple[Access, int]]:
        """Elements that a fold touches whose domain data decides, as far as the caller knows how many points it has."""
        found = []
        for a in fold.accesses if fold.chosen is not None else ():
            plain = all(len(r) == 1 for r in a.rows) and a.conditions <= fold.conditions and not fold.conditions
            if fold.chosen is None or not plain or not a.dims <= fold.dims or a.gathered:
                continue
            inside = frozenset(d for r in a.rows for d in r)
            count = fold.chosen.at_least(inside & fold.chosen.dims, self.reader.sizes)
            found.append((a, count * prod(self.reader.sizes[d] for d in inside - fold.chosen.dims)))
        return found

    def resolve(self, a: Access) -> tuple[Access, ...]:
        """The reads of arrays in memory that a read stands for: itself in a kernel, those of inputs in a graph."""
        if not self.whole:
            return () if a.source in self.outputs else (a,)
        if isinstance(a.source, Input):
            return (a,)
        if a not in self._resolved:
            found: list[Access] = []
            if not folds(a.source) and len(self._of(a.source).accesses) <= 32:
                axes = self._of(a.source).axes
                at = dict(zip(axes, a.coordinates, strict=True))
                for inner in self._of(a.source).accesses:
                    composed = _composed(inner, a, at)
                    if composed is not None:
                        found += self.resolve(composed)
            self._resolved[a] = tuple(dict.fromkeys(found))
        return self._resolved[a]

    def _claims(self, t: Tensor, fold: Fold, found: _Found) -> list[Claim]:
        maker = Claims(
            self.reader.sizes,
            self.asked.capacity,
            self.asked.memories,
            self.asked.recompute,
            dict(self.asked.meets),
            self.resolve,
        )
        users = [f for f in found.folds if fold.node in f.inner and fold.result <= f.dims]
        narrow = narrowest(t.body, fold.node)
        if self.whole:  # a tensor in between may be stored in its own type
            kept = Fraction(ops.BYTES[t.dtype])
            narrow = kept if narrow is None else min(kept, narrow)
        return maker.of(fold, self._stored(t, fold, found), [(f, self._stored(t, f, found)) for f in users], narrow)

    def _stored(self, t: Tensor, fold: Fold, found: _Found) -> Stored | None:
        """Whether every result of a fold leads to a store of its own, and how wide both are."""
        if t not in self.outputs or t.into or not fold.result <= frozenset(found.axes):
            return None
        kind = fold.node.monoid.components[fold.component].type
        wide = accumulator_width(kind, fold.accesses, self.asked.accumulator)
        return Stored(wide, Fraction(ops.BYTES[t.dtype]))

    def _again(self, t: Tensor, found: _Found) -> tuple[int, str]:
        """Bytes that have to be read a second time, and of what.

        An element of the output needs a finished fold over a row, and an element of the same row by itself. When the
        fold is finished, fast memory holds no more of the row than fits; the rest is read again.
        """
        best, name = 0, ""
        if t.into:
            return best, name
        top = frozenset(outermost_folds(t.body, coordinates=False))
        for fold in found.folds:
            if fold.node not in top or fold.depth or fold.conditions or fold.chosen is not None:
                continue
            for a in found.accesses:
                if a.conditions or a.gathered or not a.dims <= frozenset(found.axes):
                    continue
                for b in fold.accesses:
                    if b.source == a.source and not b.conditions and not b.gathered:
                        best, name = max((best, name), (self._second(t, a, b, fold, found.axes), a.source.name))
        return best, name

    def _second(self, t: Tensor, a: Access, b: Access, fold: Fold, axes: Sequence[str]) -> int:
        """Bytes of the read `a` of the output that have to be read again after the fold, which reads `b`."""
        outer = fold.result
        along = sorted(a.dims - outer)
        inside = sorted(b.dims - outer)
        if not along or len(along) != len(inside) or not frozenset(inside) <= fold.folded:
            return 0
        for order in permutations(inside):
            move = dict(zip(order, along, strict=True))
            if any(self.reader.sizes[x] != self.reader.sizes[y] for x, y in move.items()):
                continue
            moved = tuple(
                Coordinate(tuple(sorted((move.get(d, d), c) for d, c in x.terms)), x.constant) for x in b.coordinates
            )
            if moved == a.coordinates:
                break
        else:
            return 0
        rows = [r for r in a.rows if r]
        across = [r for r in rows if frozenset(r) <= outer]
        own = [r for r in rows if not frozenset(r) & outer]
        if len(across) + len(own) != len(rows):
            return 0
        several = touched(view_of(across, self.reader.sizes), self._sizes(frozenset().union(*across), ()))
        one = touched(view_of(own, self.reader.sizes), self._sizes(frozenset().union(*own), ()))
        held = min(Fraction(a.bytes), a.held, b.held, Fraction(ops.BYTES[t.dtype]))
        kept = Fraction(self.asked.capacity * self.asked.memories) / held
        return int(several * max(Fraction(0), one - kept) * min(Fraction(a.bytes), 2 * held))


def _composed(inner: Access, outer: Access, at: Mapping[str, Coordinate]) -> Access | None:
    """A read inside a tensor, as a read at the place where the tensor is read; None where data limits it there."""
    coordinates = tuple(_placed(c, at) for c in inner.coordinates)
    conditions = set(outer.conditions)
    for c in inner.conditions:
        placed = _placed(Coordinate(c.terms, c.constant), at)
        if placed.gathers is not None:
            return None
        conditions.add(Condition(placed.terms, placed.constant))
    return Access(inner.source, coordinates, frozenset(conditions), min(inner.held, outer.held))


def _placed(c: Coordinate, at: Mapping[str, Coordinate]) -> Coordinate:
    """A coordinate with other coordinates put in for the dims."""
    if c.gathers is not None:
        return Coordinate((), 0, frozenset().union(*(_depends(at, d) for d in c.gathers)))
    terms: dict[str, int] = {}
    constant = c.constant
    for d, k in c.terms:
        x = at.get(d, Coordinate(((d, 1),)))
        if x.gathers is not None:
            return Coordinate((), 0, frozenset().union(*(_depends(at, e) for e, _ in c.terms)))
        constant += k * x.constant
        for e, m in x.terms:
            terms[e] = terms.get(e, 0) + k * m
    return Coordinate(tuple(sorted((e, k) for e, k in terms.items() if k)), constant)


def _depends(at: Mapping[str, Coordinate], d: str) -> frozenset[str]:
    x = at.get(d, Coordinate(((d, 1),)))
    return x.gathers if x.gathers is not None else frozenset(e for e, _ in x.terms)


def _elements(s: Source) -> int:
    """Elements of an array. Raises BindError where a size is no number."""
    if isinstance(s, Tensor):
        return prod(size_of(i) for i in s.axes)
    return prod(number_of(n, f"input '{s.name}'") for n in s.shape)
