"""The range of a folded index: what its affine conditions leave of it, and loops over its tiles.

Conditions on data may limit it as well (lower_range). For j <= i, i in a block i0 ... i0 + 3, tiles of 16:
    for j in 0 ... full by 16       tiles at which every element of the block counts: no masks
    for j in full ... high by 16    tiles of which only some points count, the last one moved back into the axis
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tang_egg.affine import Affine, Index, Inequality, affine
from tang_egg.codegen.kernel import Call, Expr, Form, Let, Select, Var, number, variable
from tang_egg.codegen.lower_range import Ranges
from tang_egg.codegen.lower_scope import Axis
from tang_egg.ir import Scalar, Test

FEW = 2
"""Points that may be left after the full tiles of constant bounds without making a masked tile of them."""


@dataclass(frozen=True, slots=True)
class Span:
    """The points of an index at which some of the block may count: low ... high - 1, where `kept` holds.

    Below `sure` all of the block meets its upper limits, and only `clear` must be tested; from `firm` on it meets its
    lower limits. None: no such limit differs within the block. Between the two only `untold` must be tested, the
    conditions that are no limits. `implied` are those that the range itself makes true.
    """

    low: Expr
    high: Expr
    kept: list[Scalar]
    clear: list[Scalar]
    sure: Expr | None
    implied: list[Scalar]
    firm: Expr | None
    untold: list[Scalar]

    def at_most(self, low: Expr, high: Expr) -> Span:
        """A part of the range, all of whose conditions are tested."""
        return Span(low, high, self.kept, self.kept, None, self.implied, None, self.kept)


class Spans(Ranges):
    """See the module text."""

    def by_tiles(self, index: Index, size: int, span: Span, tile: Callable[[Axis, list[Scalar]], None]) -> Expr | None:
        """Full tiles, then tiles of which only some points count; gives where points remain, or None.

        The last tile is moved back to stay inside the axis; what was folded before is masked. An axis that may be
        shorter than a tile leaves its points over, and so do constant bounds that leave very few.
        """
        sure = span.high if span.sure is None else span.sure
        full = self._full_tiles(index, span.low, sure, size)
        with self.loop(index, span.low, full, size, size=size) as axis:
            tile(axis, span.clear)
        start, stop, extent = _value(full), _value(span.high), index.size.value
        if start is not None and stop is not None and stop - start <= FEW and span.sure is None:
            return full if stop > start else None
        high: Expr = span.high
        left: Expr | None = None
        if extent is None:
            fits = Call("le", (number(size), Form(index.size)), "bool")
            high = left = self.name_bound(f"{index.name}_tiled", Select(fits, span.high, full, "i64"))
        aligned = _value(span.low) == 0 and extent is not None and extent % size == 0
        with self.loop(index, full, high, size, size=size, last=None if aligned else index.size - size) as axis:
            counted = [] if aligned else [Test(affine(index) >= self.loop_form(axis))]
            if stop is None or stop != extent:
                counted.append(Test(affine(index) < _form(span.high)))
            tile(axis, [*counted, *span.kept])
        return left

    def _full_tiles(self, index: Index, low: Expr, high: Expr, size: int) -> Expr:
        """Where the last full tile ends."""
        if isinstance(low, Form) and low.form.value == 0 and isinstance(high, Form) and high.form.value is not None:
            return number(high.form.value // size * size)
        span = Call("max", (Call("add", (high, Call("neg", (low,), "i64")), "i64"), number(0)), "i64")
        whole = Call("mul", (Call("idiv", (span, number(size)), "i64"), number(size)), "i64")
        return self.name_bound(f"{index.name}_full", Call("add", (low, whole), "i64"))

    def name_bound(self, stem: str, value: Expr) -> Expr:
        if isinstance(value, Form):
            return value
        name = self.name(stem)
        self.scope.out.append(Let(name, value))
        return Var(name, "i64")

    def span(self, index: Index, later: list[Index], conditions: list[Scalar], scanned: bool) -> Span:
        """The range of an index that its affine conditions leave, and what remains to be tested."""
        lows: list[Affine] = [affine(0)]
        highs: list[Affine] = [index.size]
        sure: list[Affine] = []
        firm: list[Affine] = []
        untold: list[Scalar] = []
        kept: list[Scalar] = []
        clear: list[Scalar] = []
        implied: list[Scalar] = []
        data_lows, data_highs, by_data = ([], [], []) if scanned else self.data_range(index, later, conditions)
        implied += by_data
        for c in conditions:
            if c in by_data:
                continue
            limit = None if scanned or not isinstance(c, Test) else self._limit(index, later, c.condition)
            if limit is None:
                kept.append(c)
                clear.append(c)
                untold.append(c)
                continue
            side, loose, tight = limit
            (lows if side > 0 else highs).append(loose)
            if loose == tight:
                implied.append(c)
                continue
            kept.append(c)
            if side < 0:
                sure.append(tight)
            else:
                firm.append(tight)
                clear.append(c)
        low = self.name_bound(f"{index.name}_lo", _further("max", _extreme("max", lows), data_lows))
        high = _further("min", _extreme("min", highs), data_highs)
        if data_lows or data_highs:  # data may say that the range ends before it begins
            high = Call("max", (high, low), "i64")
        high = self.name_bound(f"{index.name}_hi", high)
        within = _extreme("min", sure + highs) if sure else None
        beyond = _extreme("max", firm + lows) if firm else None
        return Span(low, high, kept, clear, within, implied, beyond, untold)

    def _limit(self, index: Index, later: list[Index], c: Inequality) -> tuple[int, Affine, Affine] | None:
        """index >= bound (side 1) or index < bound (side -1): where some of the block may count, and where all does."""
        factor = c.form.coefficient(index).value
        if factor not in (1, -1) or any(i in later for i in c.form.indices()):
            return None
        loose = tight = c.form.substitute({index: 0})
        for i in loose.indices():
            axis = self.bound(i)
            weight = loose.coefficient(i)
            if axis is None or (axis.block and weight.value is None):
                return None
            ends = [axis.start, axis.start + (axis.size - 1)]
            if weight.value is not None and weight.value < 0:
                ends.reverse()
            tight = tight.substitute({i: 0}) + weight * ends[0]
            loose = loose.substitute({i: 0}) + weight * ends[-1 if axis.block else 0]
        return (1, -loose, -tight) if factor == 1 else (-1, loose + 1, tight + 1)


def _value(e: Expr) -> int | None:
    return e.form.value if isinstance(e, Form) else None


def _form(e: Expr) -> Affine:
    """A bound as a form over variables."""
    assert isinstance(e, (Form, Var))
    return e.form if isinstance(e, Form) else variable(e.name)


def _further(op: str, first: Expr, others: list[Expr]) -> Expr:
    for other in others:
        first = Call(op, (first, other), "i64")
    return first


def _extreme(op: str, forms: list[Affine]) -> Expr:
    """The largest or smallest of some forms, constants folded."""
    fixed = [f.value for f in forms if f.value is not None]
    others = list(dict.fromkeys(f for f in forms if f.value is None))
    result: Expr | None = number(max(fixed) if op == "max" else min(fixed)) if fixed else None
    for f in others:
        result = Form(f) if result is None else Call(op, (result, Form(f)), "i64")
    assert result is not None
    return result
