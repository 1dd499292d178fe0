"""Enclosures of expressions: intervals through the primitives, and relations where they say more.

`given` are conditions that hold at the points looked at: the domains of folds around, the branches of selects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from tang_egg import ops
from tang_egg.affine import Index
from tang_egg.bounds import interval, prove_nonnegative
from tang_egg.ir import (
    Apply,
    Const,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    StateRef,
    Tensor,
    Test,
    free,
    type_of,
    walk,
)
from tang_egg.ranges_facts import OPENED, factors, gaps, means, opened, settled, terms, weights
from tang_egg.ranges_fold import FoldRanges
from tang_egg.ranges_ops import LIMITS, rule, square
from tang_egg.ranges_value import (
    ANYTHING,
    FALSE,
    NOTHING,
    TRUE,
    TRUTH,
    Range,
    between,
    hull,
    meet,
    of_type,
    plus,
    point,
    times,
)

Given: TypeAlias = "frozenset[Scalar]"
NOWHERE: Given = frozenset()
MOST_GIVEN = 6
"""Conditions that are carried into branches of selects; beyond that branches are looked at without theirs."""


class Ranges(FoldRanges):
    """Enclosures of expressions, given those of some inputs by name; remembered by expression and conditions."""

    def __init__(self, inputs: Mapping[str, Range]) -> None:
        super().__init__()
        self.inputs = inputs
        self.known: dict[tuple[Scalar, Given], Range] = {}
        self.sources: dict[Source, Range] = {}
        self.opening = 0

    def seen(self) -> Iterable[tuple[Scalar, Range]]:
        """Every real value that was met, partial sums included."""
        for (s, _), r in self.known.items():
            if type_of(s) == "real":
                yield s, r
        yield from self.partial

    def source(self, source: Source) -> Range:
        """The enclosure of every element of an input or tensor."""
        if source not in self.sources:
            if isinstance(source, Tensor):
                self.sources[source] = self.value(settled(source.body), NOWHERE)
            elif source.name in self.inputs:
                self.sources[source] = self.inputs[source.name]
            elif source.dtype in LIMITS:
                self.sources[source] = between(-LIMITS[source.dtype], LIMITS[source.dtype])
            else:
                self.sources[source] = of_type(ops.scalar_type(source.dtype))
        return self.sources[source]

    def value(self, s: Scalar, given: Given) -> Range:
        """The enclosure of an expression where `given` holds."""
        key = (s, given)
        if key in self.known:
            return self.known[key]
        stack: list[Scalar] = [s]  # operands first: chains of operations may be longer than Python's stack
        while stack:
            top = stack[-1]
            below = top.args if isinstance(top, Apply) and top.op != "select" else ()
            pending = [a for a in below if (a, given) not in self.known]
            if pending:
                stack.extend(pending)
                continue
            stack.pop()
            if (top, given) not in self.known:
                self.known[top, given] = self._narrowed(top, self._compute(top, given), given)
        return self.known[key]

    def _compute(self, s: Scalar, given: Given) -> Range:
        if isinstance(s, Const):
            return point(s.value)
        if isinstance(s, Position):
            lo, hi = interval(s.form)
            whole = of_type("i64")
            return replace(whole, lo=whole.lo if lo is None else lo, hi=whole.hi if hi is None else hi)
        if isinstance(s, Test):
            return self._test(s, given)
        if isinstance(s, Read):
            return self._read(s, given)
        if isinstance(s, Reduce):
            return self.fold(s, given)
        if isinstance(s, Scan):
            return self.scan(s, given)
        if isinstance(s, StateRef):
            return self.state(s)
        if isinstance(s, Apply):
            return self._apply(s, given)
        return ANYTHING

    def _test(self, s: Test, given: Given) -> Range:
        known = [g.condition for g in given if isinstance(g, Test)]
        if prove_nonnegative(s.condition.form, known):
            return TRUE
        return FALSE if prove_nonnegative(-s.condition.form - 1, known) else TRUTH

    def _read(self, s: Read, given: Given) -> Range:
        for c in s.coordinates:
            if isinstance(c, Scalar):
                self.value(c, given)
        found = self.source(s.source)
        if given and self.opening < OPENED and not any(_folds(g) for g in given) and _free(s) & _free(*given):
            inner = opened(s, 1)
            if inner is not s and not isinstance(inner, (Reduce, Scan)):
                # at these points alone the tensor may be known better than over all of it
                self.opening += 1
                found = meet(found, self.value(inner, given))
                self.opening -= 1
        return found

    def _apply(self, s: Apply, given: Given) -> Range:
        if s.op == "select":
            return self._select(s, given)
        a = [self.known[x, given] for x in s.args]
        if any(r.impossible for r in a):
            return NOTHING  # no such point exists: an axis has no extent
        found = rule(s.op)(a, type_of(s.args[0]))
        if type_of(s) != "real":
            return found
        if s.op == "mul" and s.args[0] is s.args[1]:
            found = square(a[0])
        if s.op in ("add", "neg"):
            return self._sum(s, found, given)
        return self._product(s, found, given) if s.op == "mul" else found

    def _select(self, s: Apply, given: Given) -> Range:
        condition, x, y = s.args
        chosen = self.value(condition, given)
        if chosen.impossible:
            return NOTHING
        if chosen.exact:
            return self.value(x if chosen.lo else y, given)
        inside = _with(given, condition)
        outside = _with(given, Apply("not", (condition,)))
        return hull(self.value(x, inside), self.value(y, outside))

    def _narrowed(self, s: Scalar, found: Range, given: Given) -> Range:
        """What comparisons that hold here say of `s` itself."""
        for g in given:
            flipped = isinstance(g, Apply) and g.op == "not"
            test = g.args[0] if isinstance(g, Apply) and flipped else g
            if not (isinstance(test, Apply) and test.op in ("lt", "le") and s in test.args):
                continue
            n = 0 if test.args[0] is s else 1
            other = test.args[1 - n]
            bound = self.value(other, NOWHERE)
            if flipped and (found.nan or bound.nan):
                continue  # a comparison with NaN fails, whatever the other value is
            if (n == 0) != flipped:
                found = replace(found, hi=min(found.hi, bound.most), above=found.above and bound.above)
            else:
                found = replace(found, lo=max(found.lo, bound.least), below=found.below and bound.below)
            if not flipped:
                found = replace(found, nan=False)
        return found

    def _sum(self, s: Apply, found: Range, given: Given) -> Range:
        """A sum, with differences to an extremum of the same terms taken as a whole."""
        for depth in (0, OPENED):  # as written first: a difference of two values keeps its sign under rounding
            parts = terms(s, depth)
            if sum(not isinstance(k, Const) for k in parts) >= 2:
                found = self._gaps(parts, depth, found, given)
        return found

    def _gaps(self, parts: Mapping[Scalar, float], depth: int, found: Range, given: Given) -> Range:
        for gap in gaps(parts, given, depth):
            rest = self._linear(gap.rest, given)
            body, most = self.value(gap.body, given), self.value(gap.fold, given)
            if body.empty or most.empty or rest.empty or not rest.finite:
                continue
            width = plus(most.hi, -body.lo, True) if gap.fold.monoid.name == "max" else plus(body.hi, -most.lo, True)
            far = times(abs(gap.scale), max(width, 0.0), True)
            falls = (gap.fold.monoid.name == "max") == (gap.scale > 0)
            slack = self._slack(parts, given)
            lo, hi = (-far, slack) if falls else (-slack, far)
            lo, hi = plus(lo, rest.lo, False), plus(hi, rest.hi, True)
            found = meet(found, Range(lo, hi, True, True, True, True))
        return found

    def _slack(self, parts: Mapping[Scalar, float], given: Given) -> float:
        """What float64 rounding adds to a sum of these terms: 0 where they are two, whose difference keeps its sign."""
        if len(parts) == 2 and set(map(abs, parts.values())) == {1.0}:
            return 0.0
        largest = max((float(self.value(k, given).size) * abs(v) for k, v in parts.items()), default=0.0)
        return 2.0**-52 * 4 * len(parts) * largest

    def _linear(self, parts: Mapping[Scalar, float], given: Given) -> Range:
        total = point(0.0)
        for k, v in parts.items():
            scaled = rule("mul")([point(float(v)), self.value(k, given)], "real")
            total = rule("add")([total, scaled], "real")
        return total

    def _product(self, s: Apply, found: Range, given: Given) -> Range:
        """A product, with weights and means taken as a whole."""
        parts = factors(s)
        for w in weights(parts, given):
            body = self.value(w.body, given)
            if body.lo < 0 or body.empty:
                continue
            share = Range(0.0, 1.0 + 2.0**-40, nan=True, below=True, above=True)
            found = meet(found, _loose(self._times(share, self.of_factors(w.rest, given))))
        for m in means(parts):
            inner = self.value(m.fold.body[0], self.inside(m.fold, given))
            if inner.bounded and not inner.empty:
                wide = self.rounded(hull(inner, point(0.0)), inner.size, m.fold.indices)
                found = meet(found, _loose(self._times(wide, self.of_factors(m.rest, given))))
        pairs = {k: n for k, n in parts.items() if n % 2 == 0}
        if pairs and all(n % 2 == 0 or self.value(k, given).least >= 0 for k, n in parts.items()):
            found = replace(found, lo=max(found.lo, 0.0), below=False)
        return found

    def of_factors(self, parts: Mapping[Scalar, int], given: Given) -> Range:
        """The enclosure of a product."""
        total = point(1.0)
        for k, n in parts.items():
            one = self.value(k, given)
            for _ in range(n // 2):
                total = self._times(total, square(one))
            if n % 2:
                total = self._times(total, one)
        return total

    @staticmethod
    def _times(a: Range, b: Range) -> Range:
        return rule("mul")([a, b], "real")


def _free(*parts: Scalar) -> frozenset[Index]:
    return frozenset(i for s in parts for i in free(s))


def _folds(s: Scalar) -> bool:
    return any(isinstance(x, (Reduce, Scan)) for x in walk(s))


def _loose(r: Range) -> Range:
    """The finite part of an enclosure only: it was found in another order of operations."""
    grown = [times(r.lo, 1.0 + 2.0**-40 if r.lo < 0 else 1.0 - 2.0**-40, False),
             times(r.hi, 1.0 + 2.0**-40 if r.hi > 0 else 1.0 - 2.0**-40, True)]  # fmt: skip
    return Range(grown[0], grown[1], True, True, True, True)


def _with(given: Given, condition: Scalar) -> Given:
    """`given` and one more condition, as far as there is room and it says something."""
    parts: list[Scalar] = []
    stack = [condition]
    while stack:
        c = stack.pop()
        if isinstance(c, Apply) and c.op == "and":
            stack += c.args
        elif isinstance(c, (Test, Read)) or (isinstance(c, Apply) and c.op in ("lt", "le", "not")):
            parts.append(c)
    added = given.union(parts)
    return added if len(added) <= MOST_GIVEN else given
