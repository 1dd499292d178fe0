"""Enclosures of folds and scans: sums and products over n points, extrema, cascades, and any monoid by a fixed point.

sum      n times the body, n between its bounds; a sum of weights times values lies within the values
max, min the body's own enclosure; the identity too where the domain may be empty
follower the fold of what one element's state has become by the last statistic (see tang_egg.monoid)
others   the least enclosure that holds the identity and the lifts and is kept by the combine
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tang_egg.affine import Index
from tang_egg.bounds import prove_inhabited
from tang_egg.interpret_fold import ufunc_of
from tang_egg.ir import Apply, Domain, Reduce, Scalar, Scan, StateRef, Statistic, Test, free, walk
from tang_egg.monoid import SUM, Component, Monoid, lifts, replace_state, state_of
from tang_egg.ranges_facts import alone, factors, gaps, points, terms, weights
from tang_egg.ranges_value import (
    ANYTHING,
    LARGEST,
    End,
    Range,
    capped,
    hull,
    of_type,
    point,
    times,
    wrapped,
)

if TYPE_CHECKING:
    from tang_egg.ranges_scalar import Given

ROUNDS = 24
"""Combines after which a state's components that still grow are taken to be anything."""


class FoldRanges:
    """Enclosures of folds; `Ranges` gives those of their bodies."""

    def __init__(self) -> None:
        self.partial: list[tuple[Scalar, Range]] = []
        self.states: list[Mapping[str, Range]] = []

    def value(self, s: Scalar, given: Given) -> Range:
        """The enclosure of an expression where `given` holds."""
        raise NotImplementedError

    def of_factors(self, parts: Mapping[Scalar, int], given: Given) -> Range:
        """The enclosure of a product."""
        raise NotImplementedError

    def inside(self, s: Reduce, given: Given) -> Given:
        """The conditions that hold at the points of a fold."""
        bound = set(s.indices)
        outer = frozenset(g for g in given if not _mentions(g, bound))
        return outer | frozenset(Test(c) for c in s.where.affine) | frozenset(s.where.data)

    def state(self, s: StateRef) -> Range:
        """The enclosure of a component of a state that a combine is given."""
        if not self.states:
            return ANYTHING if s.type == "real" else of_type(s.type)
        return self.states[-1][s.component]

    def fold(self, s: Reduce, given: Given) -> Range:
        """The enclosure of component `s.part`."""
        inner = self.inside(s, given)
        least, most = points(s.indices)
        if not s.where.everywhere:
            least = min(least, 1) if _inhabited(s.indices, s.where) else 0
        return self._folded(s, inner, least, most)

    def scan(self, s: Scan, given: Given) -> Range:
        """The enclosure of component `s.part` of a prefix fold."""
        whole = Reduce(s.monoid, (s.index,), Domain(), s.body, s.part)
        return self._folded(whole, self.inside(whole, given), 1, points((s.index,))[1])

    def _folded(self, s: Reduce, given: Given, least: int, most: int | None) -> Range:
        if s.monoid.components[s.part].follow is not None:
            return self._follower(s, given, least, most)
        known = ufunc_of(s.monoid, s.part)
        if known is None:
            return self._generic(s, given, least, most)[s.part]
        body = self.value(lifts(s)[s.part], given)
        identity = self.value(s.monoid.identity[s.part], frozenset())
        kind = s.monoid.components[s.part].type
        name = known.__name__
        if name == "add":
            return self._fold_sum(s, body, identity, given, least, most, kind)
        if name == "multiply":
            return self._fold_product(s, body, identity, most, kind)
        if name in ("maximum", "minimum"):
            return body if least > 0 else hull(body, identity)
        if name in ("logical_and", "logical_or"):
            both = hull(body, identity)
            return body if least > 0 and body.exact else both
        return hull(body, identity) if name == "bitwise_and" and body.lo >= 0 and least > 0 else of_type(kind)

    def _fold_sum(
        self, s: Reduce, body: Range, identity: Range, given: Given, least: int, most: int | None, kind: str
    ) -> Range:
        if most == 0 or body.impossible:
            return identity
        n: End = math.inf if most is None else most
        if kind != "real":
            ends = [int(body.lo) * k for k in ((least, most) if most is not None else (least,))]
            tops = [int(body.hi) * k for k in ((least, most) if most is not None else (least,))]
            if most is None and (body.lo < 0 or body.hi > 0):
                return of_type(kind)
            return wrapped(Range(min(ends), max(tops), negative_zero=False, whole=True), kind)
        if body.empty:
            lo: End = math.inf if least > 0 else 0.0
            hi: End = -math.inf if least > 0 else 0.0
        else:
            low_n, high_n = (least if not body.below and not body.above else 0), n
            lo = times(body.lo, high_n if body.lo < 0 else low_n, False)
            hi = times(body.hi, high_n if body.hi > 0 else low_n, True)
        infinite = body.above and body.below
        found = Range(lo, hi, body.below, body.above, body.nan or infinite, body.negative_zero, body.whole)
        found = capped(self.rounded(found, float(body.size) * n if body.size else 0.0, s.indices))
        if body.least >= 0:
            found = replace(found, lo=max(found.lo, 0.0), below=False)
        # while it runs, a sum may stand anywhere between nothing and all
        self.partial.append((s, replace(found, lo=min(found.lo, 0.0), hi=max(found.hi, 0.0))))
        return self._related(s, found, given, least)

    def rounded(self, r: Range, size: End, indices: Sequence[Index]) -> Range:
        """`r`, widened by what float64 rounding of a fold over `indices` of terms that sum up to `size` may add."""
        n = points(indices)[1]
        if r.empty or (r.whole and r.bounded and r.size < 2**53):
            return r
        if size == 0:
            return r
        if n is None or math.isinf(size):
            # relative to ends that no value reaches; an end of 0 is kept, as terms of one sign stay on their side
            return replace(r, lo=r.lo if r.lo >= 0 else -math.inf, hi=r.hi if r.hi <= 0 else math.inf)
        slack = float(size) * n * 2.0**-52
        lo = r.lo if r.lo == 0 else r.lo - slack
        hi = r.hi if r.hi == 0 else r.hi + slack
        return replace(r, lo=lo, hi=hi)

    def _related(self, s: Reduce, found: Range, given: Given, least: int) -> Range:
        """A sum of weighted values lies within them; one of exponentials of gaps is at least one."""
        body = s.body[s.part] if s.monoid is SUM else lifts(s)[s.part]
        for w in weights(factors(body), given):
            covered = set(w.mapping.values()) == set(s.indices) and set(w.fold.indices) == set(w.mapping)
            own = self.value(w.body, given)
            if not covered or own.lo < 0 or own.empty:
                continue
            rest = self.of_factors(w.rest, given)
            if rest.empty or not rest.bounded:
                continue
            inner = hull(rest, point(0.0))
            n = points(s.indices)[1] or 2**40
            grow = 1.0 + 2.0**-50 * (n + 8)
            lo, hi = times(inner.lo, grow, False), times(inner.hi, grow, True)
            if least > 0 and rest.lo == rest.hi == 1.0 and self.value(w.fold, given).least > 0:
                lo = 1.0 - 2.0**-50 * (n + 8)
            if not found.above and not found.below:
                found = replace(found, lo=max(found.lo, lo), hi=min(found.hi, hi))
        if least > 0 and self._reaches_one(body, s, given):
            found = replace(found, lo=max(found.lo, 1.0))
        return found

    def _reaches_one(self, body: Scalar, s: Reduce, given: Given) -> bool:
        """Whether the terms are exp(c (g - extremum of g)) over the very points of the extremum, all finite."""
        parts = factors(body)
        if len(parts) != 1:
            return False
        (e,) = parts
        if not (isinstance(e, Apply) and e.op == "exp" and self.value(e.args[0], given).finite):
            return False
        summed = terms(e.args[0], 0)
        for gap in gaps(summed, given, 0):
            # Nothing but the two terms: their difference is exactly 0 at the extremum.
            plain = not gap.rest and len(summed) == 2 and gap.points == set(s.indices)
            if plain and gap.fold.where.everywhere and s.where.everywhere:
                return True
        return False

    def _fold_product(self, s: Reduce, body: Range, identity: Range, most: int | None, kind: str) -> Range:
        if most == 0:
            return identity
        if kind != "real":
            return body if most == 1 else of_type(kind) if body.size > 1 else hull(body, identity, Range(-1, 1))
        if body.empty or not body.finite:
            return ANYTHING
        if body.size <= 1:
            return Range(0.0 if body.lo >= 0 else -1.0, 1.0, negative_zero=body.lo < 0 or body.negative_zero)
        try:
            size = math.inf if most is None else float(body.size) ** most * (1.0 + 2.0**-48 * most)
        except OverflowError:
            size = math.inf
        found = capped(Range(0.0 if body.lo >= 0 else -size, min(size, LARGEST) if size < math.inf else size))
        return replace(found, nan=found.above or found.below)

    # Followers: what the state of one element has become when the statistic is the last one.

    def _follower(self, s: Reduce, given: Given, least: int, most: int | None) -> Range:
        monoid, component = s.monoid, s.monoid.components[s.part]
        follow = component.follow
        assert follow is not None
        heads: dict[str, Scalar] = {}
        for name in {x.component for m in follow.statistics for x in walk(m) if isinstance(x, StateRef)}:
            head = alone(Reduce(monoid, s.indices, s.where, s.body, monoid.position(name)))
            if head is None:
                return ANYTHING
            heads[name] = head
        last = tuple(state_of(m, heads) for m in follow.statistics)
        own = lifts(s)
        plain = alone(s)
        if plain is not None:
            reached = self.value(plain, given)
        else:
            lifted = {c.name: own[k] for k, c in enumerate(monoid.components)}
            first = tuple(state_of(m, lifted) for m in follow.statistics)

            def moved(x: Scalar) -> Scalar | None:
                if isinstance(x, Statistic):
                    return (last if x.which == "to" else first)[x.part]
                return lifted.get(x.component) if isinstance(x, StateRef) else None

            one = hull(self.value(replace_state(follow.rebase, moved), given), self.value(own[s.part], given))
            reached = self._fold_sum(s, one, point(0.0), given, least, most, "real") if follow.base is SUM else ANYTHING
        # where no statistic means anything yet, inf - inf may stand in it
        heads_finite = all(self.value(h, given).finite for h in heads.values())
        return reached if heads_finite else replace(reached, nan=True, below=True, above=True)

    def _generic(self, s: Reduce, given: Given, least: int, most: int | None) -> list[Range]:
        """The components of a state under any monoid: grown by its combine until nothing changes."""
        monoid = s.monoid
        lifted = [self.value(x, given) for x in lifts(s)]
        identity = [self.value(x, frozenset()) for x in monoid.identity]
        sure = least > 0 and s.where.everywhere
        state = lifted if sure else [hull(a, b) for a, b in zip(lifted, identity, strict=True)]
        if most is not None and most <= 1:
            return state
        for step in range(4 * ROUNDS):
            names = {c.name: r for c, r in zip(monoid.components, state, strict=True)}
            new = [hull(a, b) for a, b in zip(state, self._combined(monoid, names), strict=True)]
            if new == state or (most is not None and step >= most):
                return new
            if step >= ROUNDS:
                new = [a if a == b else _widest(c) for a, b, c in zip(state, new, monoid.components, strict=True)]
            state = new
        return [_widest(c) for c in monoid.components]

    def _combined(self, monoid: Monoid, names: Mapping[str, Range]) -> list[Range]:
        from tang_egg.ranges_scalar import Ranges

        inner = Ranges({})  # its states are these: nothing that it remembers holds for others
        inner.states = [names]
        return [inner.value(x, frozenset()) for x in monoid.combine]


def _widest(c: Component) -> Range:
    return ANYTHING if c.type == "real" else of_type(c.type)


def _mentions(g: Scalar, bound: set[Index]) -> bool:
    return bool(free(g) & bound)


def _inhabited(indices: Sequence[Index], where: Domain) -> bool:
    return len(indices) == 1 and not where.data and prove_inhabited(indices[0], where.affine)
