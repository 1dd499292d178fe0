"""The nests of a kernel's folds, and the claims that follow from them.

A fold whose results lead to stores has its accumulators among the operands: each is paid for by a store. A fold whose
results are used up inside a kernel has none; three claims hold for it instead. With S units of fast memory and T moved
in a segment:

    its reads alone    the points of a segment, bounded without accumulators
    results            a result is made in one segment from whole rows of what it reads, or crosses the start of one in
                       fast memory (S / w of them), or through memory (a store and a load each)
    partial results    accumulators that a segment neither begins and ends are held at its start or its end, so that
                       reads and accumulators share 2S + T; to these come the points of whole results

Where every result is computed once, what consumes it belongs to the second claim too: a result is made and used up in
one segment, or crosses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from math import factorial, prod
from typing import TypeAlias

from tang_egg import ops
from tang_egg.cost.floor_count import Condition, live, touched
from tang_egg.cost.floor_program import Exponents, Nest, Operand, exponents
from tang_egg.cost.floor_read import Access, Coordinate, Fold
from tang_egg.cost.floor_views import View, dims_of_view, split_rows, split_sizes, strides, view_of
from tang_egg.cost.floor_words import Crossing, Words, least_words

Place: TypeAlias = "tuple[str, tuple[Coordinate, ...]]"
"""An array and the coordinates at which it is read."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A bound that one fold gives: bytes, in words why, and the nest and exponents behind it.

    `less`: bytes already taken off, for accumulators wider than what is stored.
    """

    what: str
    bytes: float
    nest: Nest
    words: Words
    less: float
    conditions: tuple[str, ...]
    split: tuple[tuple[str, int], ...] = ()

    def exponents(self, capacity: int) -> Exponents:
        """The exact exponents of the nest that the claim rests on."""
        return exponents(self.nest, capacity)


@dataclass(frozen=True, slots=True)
class Stored:
    """Where the results of a fold lead to stores: bytes of an accumulator and of a stored element."""

    accumulator: Fraction
    element: Fraction


def split_nest(nest: Nest) -> tuple[Nest, dict[str, int]] | None:
    """The nest with every strided window split by its stride, and the strides; None where there is none."""
    sizes = dict(nest.sizes)
    steps = strides(nest.views, sizes)
    if not steps:
        return None
    new = split_sizes(sizes, steps)
    operands = tuple(replace(o, view=view_of(split_rows(o.view, steps), new)) for o in nest.operands)
    return Nest(tuple((d, n) for d, n in new.items() if n > 1), operands, nest.points), steps


def claim_of(
    what: str,
    nest: Nest,
    capacity: int,
    memories: int,
    conditions: Iterable[str] = (),
    crossing: Crossing | None = None,
    less: float = 0.0,
) -> Claim:
    """The claim of a nest: the larger of the bounds for its views as they are and with strides split."""
    words = least_words(nest, capacity, memories, crossing)
    best = Claim(what, max(0.0, words.least - less), nest, words, less, tuple(conditions))
    split = split_nest(nest)
    if split is not None and crossing is None:
        words = least_words(split[0], capacity, memories, crossing)
        if words.least - less > best.bytes:
            best = replace(best, bytes=words.least - less, nest=split[0], words=words, split=tuple(split[1].items()))
    return best


@dataclass(frozen=True, slots=True)
class Claims:
    """Makes the claims of folds: `resolve` gives the reads in memory that a read stands for.

    `meets`: how many index tuples may meet at one element of a gathered source, by its name.
    """

    sizes: Mapping[str, int]
    capacity: int
    memories: int
    recompute: bool
    meets: Mapping[str, int]
    resolve: Callable[[Access], Sequence[Access]]

    def of(
        self,
        fold: Fold,
        stored: Stored | None,
        consumers: Sequence[tuple[Fold, Stored | None]],
        narrow: Fraction | None = None,
    ) -> list[Claim]:
        """All claims of one fold. `narrow`: bytes in which a result may be held, if less than what it is made of."""
        found: list[Claim] = []
        if fold.shared or not all(self.sizes[d] for d in fold.dims):
            return found
        for conditions in self._domains(fold):
            operands, spread, places = self._operands(fold, conditions)
            symmetry = self._symmetry(places)
            points = self._points(fold, fold.dims, conditions) // symmetry
            reads = self._nest(fold.dims, operands, points)
            crossing = Crossing(1.0 / float(spread), 0.5 / float(spread)) if spread else None
            if stored is not None:
                found.append(self._with_accumulators(fold, reads, stored, crossing))
            elif operands:
                found.append(
                    claim_of("reads of a fold that is not stored", reads, self.capacity, self.memories, (), crossing)
                )
            plain = not fold.own and fold.chosen is None and conditions == fold.conditions
            if stored is None and plain and fold.folded:
                found += self._whole_results(fold, operands, reads, consumers, symmetry, narrow)
        return found

    def _with_accumulators(self, fold: Fold, reads: Nest, stored: Stored, crossing: Crossing | None) -> Claim:
        result = self._view({d: 1} for d in fold.result)
        accumulator = Operand("its result", result, stored.accumulator, "", True)
        less = prod(self.sizes[d] for d in fold.result) * max(0.0, float(stored.accumulator - stored.element))
        said = [f"sums are held in {float(stored.accumulator):g} bytes"]
        if less:
            said.append("each of them leads to a store of a narrower element, which is taken off")
        nest = Nest(reads.sizes, (*reads.operands, accumulator), reads.points)
        return claim_of("a fold and its accumulators", nest, self.capacity, self.memories, said, crossing, less)

    def _domains(self, fold: Fold) -> list[frozenset[Condition]]:
        """The conditions to count points under: those of the fold, and those under which all is read."""
        own = fold.conditions
        every = own.union(*(a.conditions for a in fold.accesses if self._inside(a, fold)))
        return [own, every] if every != own else [own]

    def _inside(self, a: Access, fold: Fold) -> bool:
        """Whether a read is one of the fold's points, not of a fold inside."""
        more = (c for c in a.conditions if c not in fold.conditions)
        return a.dims <= fold.dims and all(c.dims <= fold.dims for c in more)

    def _points(self, fold: Fold, onto: frozenset[str], conditions: Iterable[Condition]) -> int:
        """Live points of a fold, on the dims `onto`, or fewer."""
        given = frozenset(conditions)
        if fold.chosen is not None:
            if given:
                return 0
            inside = fold.chosen.dims & onto
            return fold.chosen.at_least(inside, self.sizes) * prod(self.sizes[d] for d in onto - fold.chosen.dims)
        return live(self.sizes_of(onto, given), given, onto)

    def sizes_of(self, dims: Iterable[str], conditions: Iterable[Condition]) -> dict[str, int]:
        """Sizes of some dims and of those in conditions."""
        every = frozenset(dims).union(*(c.dims for c in conditions))
        return {d: self.sizes[d] for d in sorted(every)}

    def _view(self, rows: Iterable[Mapping[str, int]]) -> View:
        return view_of(rows, self.sizes)

    def _nest(self, dims: Iterable[str], operands: Sequence[Operand], points: int) -> Nest:
        sizes = tuple((d, self.sizes[d]) for d in sorted(dims) if self.sizes[d] > 1)
        return Nest(sizes, tuple(operands), points)

    def _operands(
        self, fold: Fold, conditions: frozenset[Condition]
    ) -> tuple[list[Operand], Fraction, frozenset[Place]]:
        """What every point reads from memory; bytes in which a point's value may be stored instead, or 0; and where."""
        places: set[Place] = set()
        groups: dict[object, set[str]] = {}
        found: dict[tuple[str, View], Fraction] = {}
        bound: list[set[str]] = []
        spread = Fraction(0)
        alike = [frozenset((a.source, a.coordinates) for a in group) for group in fold.alike]
        for a in sorted(fold.accesses, key=lambda a: (a.source.name, repr(a.coordinates))):
            if not self._inside(a, fold) or not a.conditions <= conditions:
                continue
            behind = self.resolve(a)
            names = {b.source.name for b in behind}
            bound += [names] if len(behind) > 1 else []
            if behind and len(behind) > 1 and a.dims >= fold.dims:
                spread = min(x for x in (spread or a.held, a.held))
            for n, group in enumerate(alike):
                if (a.source, a.coordinates) in group:
                    groups.setdefault(n, set()).update(names)
            for b in behind:
                if b.conditions <= conditions:
                    places.add((b.source.name, b.coordinates))
                    view, weight = self.view_and_weight(b)
                    key = (b.source.name, view)
                    found[key] = min(weight, found.get(key, weight))
        shared = _merged([*groups.values(), *bound])
        operands = [Operand(_named(n, v, found), v, w, shared.get(n, n)) for (n, v), w in found.items()]
        return operands, spread, frozenset(places)

    def view_and_weight(self, a: Access) -> tuple[View, Fraction]:
        """A read as a view: unknown indices may all be the same, unless `meets` says how many are."""
        if a.gathered and a.source.name in self.meets:
            rows = [*a.rows, *({d: 1} for d in a.gathered)]
            return self._view(rows), a.held / self.meets[a.source.name]
        return self._view(a.rows), a.held

    def _symmetry(self, places: frozenset[Place]) -> int:
        """How many points may have the same value, because they read the same elements of one array in another order.

        Permutations of dims are counted where coordinates have one dim each; else all orders of the reads are taken to
        do so.
        """
        reads: dict[str, set[tuple[Coordinate, ...]]] = {}
        for name, at in places:
            reads.setdefault(name, set()).add(at)
        several = {n: r for n, r in reads.items() if len(r) > 1}
        most = prod(factorial(len(r)) for r in several.values())
        coordinates = [c for r in several.values() for at in r for c in at]
        dims = sorted({d for c in coordinates for d, _ in c.terms})
        if most == 1 or len(dims) > 6 or any(len(c.terms) > 1 or c.gathers is not None for c in coordinates):
            return most
        count = 0
        for order in permutations(dims):
            move = dict(zip(dims, order, strict=True))
            same = all(self.sizes[x] == self.sizes[y] for x, y in move.items())
            if same and all(r == {_moved(at, move) for at in r} for r in several.values()):
                count += 1
        return min(most, max(1, count))

    def _whole_results(
        self,
        fold: Fold,
        operands: Sequence[Operand],
        reads: Nest,
        consumers: Sequence[tuple[Fold, Stored | None]],
        symmetry: int,
        narrow: Fraction | None,
    ) -> list[Claim]:
        """The claims on results, and on partial results, of a fold without conditions of its own."""
        rows = [x for o in operands if (x := self._collapsed(o, fold.result)) is not None]
        if not rows:
            return []
        width = min([*(o.weight for o in operands), *([] if narrow is None else [narrow])])
        points = self._points(fold, fold.result, fold.conditions) // symmetry
        nest = self._nest(fold.result, rows, points)
        crossing = Crossing(1.0 / float(width), 0.5 / float(width))
        said = (f"a result that is not stored takes {float(width):g} bytes or more",)
        found = [claim_of("whole results of a fold that is not stored", nest, *self._where, said, crossing)]
        accumulator = Operand("its result", self._view({d: 1} for d in fold.result), width, "", True)
        both = Nest(reads.sizes, (*reads.operands, accumulator), reads.points)
        times = float(prod(self.sizes[d] for d in fold.folded))
        partly = Crossing(capacity=2, more=nest, times=times)
        found.append(claim_of("partial results of a fold that is not stored", both, *self._where, said, partly))
        if not self.recompute:
            found += self._used_once(fold, rows, points, crossing, consumers, said)
        return found

    @property
    def _where(self) -> tuple[int, int]:
        return self.capacity, self.memories

    def _used_once(
        self,
        fold: Fold,
        rows: list[Operand],
        points: int,
        crossing: Crossing,
        consumers: Sequence[tuple[Fold, Stored | None]],
        said: tuple[str, ...],
    ) -> list[Claim]:
        """The claim where each result is computed once, and used up where it is made."""
        more = list(rows)
        less = 0.0
        for user, stored in consumers:
            if not fold.result <= user.dims or any(c.dims - fold.result for c in user.own) or user.chosen is not None:
                continue
            operands, _, _ = self._operands(user, user.conditions)
            if stored is not None:
                view = self._view({d: 1} for d in user.result)
                operands.append(Operand("the result of its use", view, stored.accumulator, "", True))
                size = prod(self.sizes[d] for d in user.result)
                less = max(less, size * max(0.0, float(stored.accumulator - stored.element)))
            more += [o for x in operands if (o := self._collapsed(x, fold.result)) is not None]
        if len(more) == len(rows):
            return []
        unique = {(o.shared, o.view): o for o in sorted(more, key=lambda o: o.weight)}
        nest = self._nest(fold.result, tuple(unique.values()), points)
        words = (*said, "each result is computed once")
        return [claim_of("results that are made and used in one place", nest, *self._where, words, crossing, less)]

    def _collapsed(self, o: Operand, onto: frozenset[str]) -> Operand | None:
        """An operand by the dims of a result: each tuple of these needs whole rows along the others."""
        kept = [{d: c for d, c in row if d in onto} for row in o.view]
        alone = tuple(row for row, k in zip(o.view, kept, strict=True) if not k)
        view = self._view(r for r in kept if r)
        if not view:
            return None
        times = touched(alone, {d: self.sizes[d] for d in sorted(dims_of_view(alone))})
        return replace(o, view=view, weight=o.weight * times)


def _moved(at: tuple[Coordinate, ...], move: Mapping[str, str]) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(tuple((move.get(d, d), k) for d, k in c.terms), c.constant) for c in at)


def _named(name: str, view: View, found: Mapping[tuple[str, View], object]) -> str:
    """The name of an operand: that of its array, with a number where the array is read in several ways."""
    same = [v for n, v in found if n == name]
    return name if len(same) == 1 else f"{name}[{same.index(view)}]"


def _merged(groups: Iterable[Iterable[str]]) -> dict[str, str]:
    """One name for all arrays that share a group with each other."""
    joined: list[set[str]] = []
    for group in groups:
        new = set(group)
        for other in [g for g in joined if g & new]:
            new |= other
            joined.remove(other)
        joined.append(new)
    return {n: "+".join(sorted(g)) for g in joined for n in g if len(g) > 1}


def accumulator_width(kind: str, reads: Iterable[Access], asked: str | None) -> Fraction:
    """Bytes of an accumulator of a scalar type: f32 for reals, f64 where one is read, unless `asked` for another."""
    if kind != "real":
        return Fraction(ops.BYTES[kind])
    if asked is not None:
        return Fraction(ops.BYTES[asked])
    return Fraction(8 if any(a.source.dtype == "f64" for a in reads) else 4)
