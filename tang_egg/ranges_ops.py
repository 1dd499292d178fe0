"""Interval rules of the primitives: for enclosures of the operands, an enclosure of the result.

Each rule takes the enclosures and the scalar type of the operands. `rule` finds the one of an operation, conversions
included. Library functions (exp, log, sin, ...) are trusted to `ULPS` units in the last place of float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from tang_egg import ops
from tang_egg.ops_eight import EIGHT
from tang_egg.ranges_value import (
    ANYTHING,
    FALSE,
    LARGEST,
    NOTHING,
    TRUE,
    TRUTH,
    End,
    Range,
    capped,
    hull,
    of_type,
    over,
    plus,
    times,
    wrapped,
)

Rule: TypeAlias = Callable[[Sequence[Range], str], Range]
ULPS = 4


def rule(name: str) -> Rule:
    """The interval rule of an operation. Raises KeyError for one that has none (a test finds those)."""
    kind, _, target = name.partition(":")
    if kind == "cast":
        return lambda a, type: cast(a[0], target, type)
    if kind == "bits":
        return lambda a, type: of_type(ops.scalar_type(target)) if target not in ops.FLOATS else ANYTHING
    return RULES[name]


def add(a: Sequence[Range], type: str) -> Range:
    x, y = a
    lo, hi = _finite_pair(x, y, plus)
    if type != "real":
        return wrapped(Range(lo, hi, negative_zero=False, whole=True), type)
    return capped(
        Range(
            lo,
            hi,
            x.below or y.below,
            x.above or y.above,
            x.nan or y.nan or (x.below and y.above) or (x.above and y.below),
            x.negative_zero and y.negative_zero,
            x.whole and y.whole,
        )
    )


def _finite_pair(x: Range, y: Range, f: Callable[[End, End, bool], End]) -> tuple[End, End]:
    if x.empty or y.empty:
        return math.inf, -math.inf
    return f(x.lo, y.lo, False), f(x.hi, y.hi, True)


def mul(a: Sequence[Range], type: str) -> Range:
    x, y = a
    if x.empty or y.empty:
        lo, hi = math.inf, -math.inf  # type: End, End
    else:
        ends = [(p, q) for p in (x.lo, x.hi) for q in (y.lo, y.hi)]
        lo, hi = min(times(p, q, False) for p, q in ends), max(times(p, q, True) for p, q in ends)
    if type != "real":
        return wrapped(Range(lo, hi, negative_zero=False, whole=True), type)
    infinite = {
        (p > 0) == (q > 0)
        for u, v in ((x, y), (y, x))
        for p in ((1,) if u.above else ()) + ((-1,) if u.below else ())
        for q in ((1,) if v.most > 0 else ()) + ((-1,) if v.least < 0 else ())
    }
    nan = any((u.below or u.above) and v.zero for u, v in ((x, y), (y, x)))
    negative = any(u.zero and (v.least < 0 or v.negative_zero) for u, v in ((x, y), (y, x))) or (
        x.negative_zero or y.negative_zero
    )
    # a product may underflow to a zero of its sign
    negative = negative or lo < 0
    found = Range(lo, hi, False in infinite, True in infinite, x.nan or y.nan or nan, negative, x.whole and y.whole)
    return capped(found)


def square(x: Range) -> Range:
    """x · x."""
    if x.empty:
        return Range(math.inf, -math.inf, False, x.below or x.above, x.nan, False, x.whole)
    least = 0.0 if x.zero else min(abs(x.lo), abs(x.hi))
    lo, hi = times(least, least, False), times(x.size, x.size, True)
    return capped(Range(max(lo, 0.0), hi, False, x.below or x.above, x.nan, False, x.whole))


def neg(a: Sequence[Range], type: str) -> Range:
    (x,) = a
    if type != "real":
        return x if x.empty else wrapped(Range(-x.hi, -x.lo, negative_zero=False, whole=True), type)
    return replace(x, lo=-x.hi, hi=-x.lo, below=x.above, above=x.below, negative_zero=x.zero)


def maximum(a: Sequence[Range], type: str) -> Range:
    x, y = a
    nan = x.nan or y.nan
    above = x.above or y.above
    below = x.below and y.below
    # the finite results: either operand, as far as the other can be smaller
    parts = [replace(u, lo=max(u.lo, v.least)) for u, v in ((x, y), (y, x)) if not u.empty and u.hi >= v.least]
    lo = min((p.lo for p in parts), default=math.inf)
    hi = max((p.hi for p in parts), default=-math.inf)
    return Range(lo, hi, below, above, nan, x.negative_zero or y.negative_zero, x.whole and y.whole)


def minimum(a: Sequence[Range], type: str) -> Range:
    flipped = maximum([_mirrored(r) for r in a], type)
    return _mirrored(flipped)


def _mirrored(x: Range) -> Range:
    return replace(x, lo=-x.hi, hi=-x.lo, below=x.above, above=x.below)


def recip(a: Sequence[Range], type: str) -> Range:
    (x,) = a
    zero = x.above or x.below
    parts: list[Range] = []
    if zero:
        parts.append(Range(0.0, 0.0, negative_zero=x.below, whole=True))
    if not x.empty:
        below, above = x.lo < 0 or x.negative_zero, x.hi > 0 or x.zero
        if x.lo > 0 or x.hi < 0:
            parts.append(Range(over(float(x.hi), False), over(float(x.lo), True), negative_zero=False))
        else:
            lo = -math.inf if x.lo < 0 else over(float(x.hi), False)
            hi = math.inf if x.hi > 0 else over(float(x.lo), True)
            only = x.lo == 0 and x.hi == 0
            finite = NOTHING if only else Range(lo, hi, negative_zero=False)
            parts.append(replace(finite, below=x.zero and below, above=x.zero and above))
    found = hull(*parts)
    return capped(replace(found, nan=x.nan))


def _monotone(
    f: Callable[[float], float], least: float = -math.inf, most: float = math.inf
) -> Callable[[Range], tuple[float, float]]:
    """Ends of a rising function whose values lie in [least, most], `ULPS` outwards except where it is exact."""

    def ends(x: Range) -> tuple[float, float]:
        lo, hi = f(float(x.lo)), f(float(x.hi))
        return max(least, _wider(lo, -math.inf)), min(most, _wider(hi, math.inf))

    return ends


def _wider(x: float, to: float) -> float:
    if x in (0.0, 1.0, -1.0) or math.isinf(x):
        return x
    for _ in range(ULPS):
        x = math.nextafter(x, to)
    return x


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def exp(a: Sequence[Range], type: str) -> Range:
    (x,) = a
    parts = [Range(0.0, 0.0, negative_zero=False)] if x.below else []
    if not x.empty:
        lo, hi = _monotone(_exp, 0.0)(x)
        if x.lo < -700.0:
            lo = 0.0  # it may underflow
        parts.append(Range(min(lo, LARGEST), hi, negative_zero=False))
    return capped(replace(hull(*parts), above=x.above, nan=x.nan, whole=False))


def log(a: Sequence[Range], type: str) -> Range:
    (x,) = a
    nan = x.nan or x.below or (not x.empty and x.lo < 0)
    if x.empty or x.hi < 0:
        return Range(math.inf, -math.inf, False, x.above, nan, False)
    low = max(float(x.lo), 0.0)
    lo = math.log(low) if low > 0 else -math.inf
    hi = math.log(x.hi) if 0 < x.hi < math.inf else math.inf if x.hi > 0 else -math.inf
    if x.hi == 0:
        return Range(math.inf, -math.inf, True, x.above, nan, False)
    lo = math.log(5e-324) - 1.0 if low == 0 else _wider(lo, -math.inf)
    return Range(lo, _wider(hi, math.inf) if hi < 710 else 710.0, x.zero, x.above, nan, False)


def sqrt(a: Sequence[Range], type: str) -> Range:
    (x,) = a
    nan = x.nan or x.below or (not x.empty and x.lo < 0)
    if x.empty or x.hi < 0:
        return Range(math.inf, -math.inf, False, x.above, nan, False)
    root = _monotone(lambda v: math.sqrt(v) if v < math.inf else math.inf, 0.0)
    lo, hi = root(replace(x, lo=max(x.lo, 0)))
    return Range(lo, hi if hi < math.inf else 1.4e154, False, x.above, nan, x.negative_zero)


def sin(a: Sequence[Range], type: str) -> Range:
    (x,) = a
    nan = x.nan or x.below or x.above
    if x.empty:
        return replace(NOTHING, nan=nan)
    if -math.pi / 2 < x.lo and x.hi < math.pi / 2:
        lo, hi = _monotone(math.sin, -1.0, 1.0)(x)
        return Range(lo, hi, nan=nan, negative_zero=x.negative_zero or x.lo < 0)
    return Range(-1.0, 1.0, nan=nan)


def _saturating(f: Callable[[float], float]) -> Rule:
    def apply(a: Sequence[Range], type: str) -> Range:
        (x,) = a
        parts = [Range(e, e, negative_zero=False) for e, held in ((-1.0, x.below), (1.0, x.above)) if held]
        if not x.empty:
            lo, hi = _monotone(f, -1.0, 1.0)(x)
            parts.append(Range(lo, hi, negative_zero=x.negative_zero or x.lo < 0))
        return replace(hull(*parts), nan=x.nan, whole=False)

    return apply


def floor(a: Sequence[Range], type: str) -> Range:
    (x,) = a
    lo, hi = (v if math.isinf(v) else float(math.floor(v)) for v in (x.lo, x.hi))
    return replace(x, lo=lo, hi=hi, whole=True)


def atan2(a: Sequence[Range], type: str) -> Range:
    y, x = a
    pi = 3.1415926535897936
    lo, hi = -pi, pi
    if y.least >= 0 and not y.negative_zero:
        lo = 0.0
    if x.least >= 0 and not x.negative_zero:
        lo, hi = max(lo, -pi / 2), min(hi, pi / 2)
    return Range(lo, hi, nan=x.nan or y.nan, negative_zero=True)


def select(a: Sequence[Range], type: str) -> Range:
    c, x, y = a
    return x if c.lo == 1 else y if c.hi == 0 else hull(x, y)


def lt(a: Sequence[Range], type: str) -> Range:
    return _compared(a, lambda x, y: x < y)


def le(a: Sequence[Range], type: str) -> Range:
    return _compared(a, lambda x, y: x <= y)


def _compared(a: Sequence[Range], holds: Callable[[End, End], bool]) -> Range:
    x, y = a
    if x.impossible or y.impossible:
        return NOTHING
    if not (x.nan or y.nan) and holds(x.most, y.least):
        return TRUE
    return TRUTH if holds(x.least, y.most) else FALSE


def eq(a: Sequence[Range], type: str) -> Range:
    x, y = a
    if x.exact and y.exact and x.lo == y.lo:
        return TRUE
    apart = x.most < y.least or y.most < x.least
    return FALSE if apart else TRUTH


def both(a: Sequence[Range], type: str) -> Range:
    return Range(min(r.lo for r in a), min(r.hi for r in a), negative_zero=False, whole=True)


def either(a: Sequence[Range], type: str) -> Range:
    return Range(max(r.lo for r in a), max(r.hi for r in a), negative_zero=False, whole=True)


def negated(a: Sequence[Range], type: str) -> Range:
    return Range(1 - a[0].hi, 1 - a[0].lo, negative_zero=False, whole=True)


def idiv(a: Sequence[Range], type: str) -> Range:
    x, y = a
    if x.empty or y.empty:
        return NOTHING
    divisors = [int(d) for d in (y.lo, y.hi, *(v for v in (-1, 1) if y.lo <= v <= y.hi)) if d != 0]
    ends = [int(n) // d for n in (x.lo, x.hi) for d in divisors] + ([0] if y.zero else [])
    return wrapped(Range(min(ends), max(ends), negative_zero=False, whole=True), type)


def imod(a: Sequence[Range], type: str) -> Range:
    x, y = a
    if x.empty or y.empty:
        return NOTHING
    if y.lo > 0 and x.lo >= 0 and x.hi < y.lo:
        return x
    hi = max(int(y.hi) - 1, 0)
    return Range(min(int(y.lo) + 1, 0), min(hi, int(x.hi)) if x.lo >= 0 and y.lo >= 0 else hi, negative_zero=False,
                 whole=True)  # fmt: skip


def bitand(a: Sequence[Range], type: str) -> Range:
    tops = [r.hi for r in a if r.lo >= 0]
    return Range(0, min(tops), negative_zero=False, whole=True) if tops else of_type(type)


def bitor(a: Sequence[Range], type: str) -> Range:
    if any(r.lo < 0 for r in a):
        return of_type(type)
    top = (1 << max(int(r.hi).bit_length() for r in a)) - 1
    return Range(max(r.lo for r in a), top, negative_zero=False, whole=True)


def bitxor(a: Sequence[Range], type: str) -> Range:
    return replace(bitor(a, type), lo=0) if all(r.lo >= 0 for r in a) else of_type(type)


def shl(a: Sequence[Range], type: str) -> Range:
    x, n = a
    width = 8 * ops.BYTES[type]
    if not n.exact or x.empty:
        return of_type(type)
    k = int(n.lo) % width
    return wrapped(Range(int(x.lo) << k, int(x.hi) << k, negative_zero=False, whole=True), type)


def shr(a: Sequence[Range], type: str) -> Range:
    x, n = a
    width = 8 * ops.BYTES[type]
    counts = (int(n.lo), int(n.hi)) if n.lo >= 0 and n.hi < width else (0, width - 1)
    ends = [int(v) >> k for v in (x.lo, x.hi) for k in counts]
    return Range(min(ends), max(ends), negative_zero=False, whole=True)


def cast(x: Range, target: str, source: str) -> Range:
    """What a conversion gives; a float's rounding is monotone, so the rounded ends are the ends."""
    if target == "bool":
        sure = not x.zero
        return TRUE if sure else FALSE if x.exact and x.lo == 0 else TRUTH
    if target in (*ops.FLOATS, "real"):
        if x.empty:
            return x
        lo, hi = (float(ops.cast_value(float(_clamped(v)), target, "real")) for v in (x.lo, x.hi))
        largest = LIMITS.get(target, LARGEST)
        return Range(
            -math.inf if x.lo == -math.inf and target in ("f64", "real") else max(lo, -largest),
            math.inf if x.hi == math.inf and target in ("f64", "real") else min(hi, largest),
            x.below or lo == -math.inf or (x.lo == -math.inf and target not in ("f64", "real")),
            x.above or hi == math.inf or (x.hi == math.inf and target not in ("f64", "real")),
            x.nan,
            x.negative_zero or x.lo < 0,
            x.whole,
        )
    whole = of_type(target)
    parts: list[Range] = []
    if x.nan or x.above or x.below:
        parts.append(FALSE)
    if not x.empty:
        if not x.bounded:
            return whole
        lo_, hi_ = math.trunc(x.lo), math.trunc(x.hi)
        inside = whole.lo <= lo_ and hi_ <= whole.hi and (source != "real" or max(abs(lo_), abs(hi_)) < 2**62)
        parts.append(Range(lo_, hi_, negative_zero=False, whole=True) if inside else whole)
    return hull(*parts)


def _clamped(x: End) -> End:
    return max(-LARGEST, min(LARGEST, x))


LIMITS = {"f16": 65504.0, "bf16": 255.0 * 2.0**120, "f32": float.fromhex("0x1.fffffep127"), "f64": LARGEST}
LIMITS |= {t: f.largest for t, f in EIGHT.items()}
"""The largest finite value of each storage type."""

RULES: dict[str, Rule] = {
    "add": add, "mul": mul, "neg": neg, "max": maximum, "min": minimum, "recip": recip, "sqrt": sqrt, "sin": sin,
    "exp": exp, "log": log, "tanh": _saturating(math.tanh), "erf": _saturating(math.erf), "floor": floor,
    "atan2": atan2, "select": select, "lt": lt, "le": le, "eq": eq, "and": both, "or": either, "not": negated,
    "idiv": idiv, "imod": imod, "bitand": bitand, "bitor": bitor, "bitxor": bitxor, "shl": shl, "shr": shr,
}  # fmt: skip
"""One rule for each primitive of the table."""
