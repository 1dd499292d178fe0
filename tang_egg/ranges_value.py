"""Enclosures of values: a closed interval of the finite ones, and which of -inf, inf, NaN and -0 may occur beside them.

    range ::= lo, hi             every finite value lies in [lo, hi]; lo > hi: there is none
            | below, above       -inf, inf may occur
            | nan                NaN may occur
            | negative_zero      -0 may occur (it counts as 0 in the interval; its reciprocal is -inf)
            | whole              every finite value is an integer

An end that is itself infinite says that nothing bounds the finite values there. Real ends are rounded outwards, so an
enclosure holds both for real arithmetic and for the interpreter's float64; ends of integers are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from tang_egg.ops import INTEGERS

End: TypeAlias = "float | int"

LARGEST = math.nextafter(math.inf, 0.0)
"""The largest finite float64."""


@dataclass(frozen=True, slots=True)
class Range:
    """An enclosure; see the module text."""

    lo: End = -math.inf
    hi: End = math.inf
    below: bool = False
    above: bool = False
    nan: bool = False
    negative_zero: bool = True
    whole: bool = False

    def __contains__(self, x: float | int | bool) -> bool:
        if isinstance(x, float) and math.isnan(x):
            return self.nan
        if x == math.inf:
            return self.above
        if x == -math.inf:
            return self.below
        if x == 0 and isinstance(x, float) and math.copysign(1.0, x) < 0 and not self.negative_zero:
            return False
        return self.lo <= x <= self.hi and (not self.whole or x == math.floor(x))

    @property
    def empty(self) -> bool:
        """Whether no finite value can occur."""
        return self.lo > self.hi

    @property
    def finite(self) -> bool:
        """Whether neither an infinity nor NaN can occur."""
        return not (self.below or self.above or self.nan)

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return self.empty or (abs(self.lo) < math.inf and abs(self.hi) < math.inf)

    @property
    def least(self) -> End:
        """The lower end with -inf counted as a value, for rules over the extended reals."""
        return -math.inf if self.below else math.inf if self.empty else self.lo

    @property
    def most(self) -> End:
        """The upper end with inf counted as a value."""
        return math.inf if self.above else -math.inf if self.empty else self.hi

    @property
    def size(self) -> End:
        """The largest |x| over finite values; 0 where there are none."""
        return 0 if self.empty else max(abs(self.lo), abs(self.hi))

    @property
    def zero(self) -> bool:
        """Whether 0 or -0 may occur."""
        return self.lo <= 0 <= self.hi

    @property
    def exact(self) -> bool:
        """Whether exactly one value can occur, a finite one."""
        return self.finite and self.lo == self.hi

    @property
    def impossible(self) -> bool:
        """Whether no value can occur at all."""
        return self.empty and self.finite

    def __str__(self) -> str:
        kinds = [name for name, held in (("-inf", self.below), ("inf", self.above), ("NaN", self.nan)) if held]
        inside = [] if self.empty else [f"[{_shown(self.lo)}, {_shown(self.hi)}]"]
        return " or ".join([*inside, *kinds]) or "no value"


def _shown(x: End) -> str:
    return str(x) if isinstance(x, int) else f"{x:.6g}"


NOTHING = Range(math.inf, -math.inf, negative_zero=False, whole=True)
"""No value at all: the neutral element of `hull`."""
ANYTHING = Range(below=True, above=True, nan=True)
"""Every float."""
TRUTH = Range(0, 1, negative_zero=False, whole=True)
"""Any bool, as 0 or 1."""
FALSE, TRUE = Range(0, 0, negative_zero=False, whole=True), Range(1, 1, negative_zero=False, whole=True)


def point(x: float | int | bool) -> Range:
    """The enclosure of one value."""
    if isinstance(x, float):
        if math.isnan(x):
            return replace(NOTHING, nan=True)
        if math.isinf(x):
            return replace(NOTHING, above=x > 0, below=x < 0)
        negative_zero = x == 0.0 and math.copysign(1.0, x) < 0
        return Range(x, x, negative_zero=negative_zero, whole=x == math.floor(x))
    return Range(int(x), int(x), negative_zero=False, whole=True)


def between(lo: End, hi: End) -> Range:
    """Finite values of [lo, hi]; -0 among them where 0 is."""
    return Range(lo, hi, negative_zero=lo <= 0 <= hi)


def of_type(type: str) -> Range:
    """All values of a scalar type."""
    if type == "bool":
        return TRUTH
    if type in INTEGERS:
        bits = int(type[1:])
        signed = type[0] == "i"
        return Range(
            -(1 << (bits - 1)) if signed else 0,
            (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1,
            negative_zero=False,
            whole=True,
        )
    return ANYTHING


def hull(*ranges: Range) -> Range:
    """The least enclosure of all of them."""
    held = [r for r in ranges if not r.impossible]
    if not held:
        return NOTHING
    return Range(
        min(r.lo for r in held),
        max(r.hi for r in held),
        any(r.below for r in held),
        any(r.above for r in held),
        any(r.nan for r in held),
        any(r.negative_zero for r in held),
        all(r.whole for r in held),
    )


def meet(a: Range, b: Range) -> Range:
    """What lies in both enclosures of the same value."""
    return Range(
        max(a.lo, b.lo),
        min(a.hi, b.hi),
        a.below and b.below,
        a.above and b.above,
        a.nan and b.nan,
        a.negative_zero and b.negative_zero,
        a.whole or b.whole,
    )


def capped(r: Range) -> Range:
    """The same where float64 itself may overflow: what lies beyond it comes out as an infinity."""
    if not r.empty and (r.lo < -LARGEST or r.hi > LARGEST):
        return replace(r, below=r.below or r.lo < -LARGEST, above=r.above or r.hi > LARGEST)
    return r


def wrapped(r: Range, type: str) -> Range:
    """An integer result as its type holds it: anything, once it may have wrapped."""
    whole = of_type(type)
    return r if whole.lo <= r.lo and r.hi <= whole.hi else whole


def down(x: float) -> float:
    """The float64 below."""
    return math.nextafter(x, -math.inf)


def up(x: float) -> float:
    """The float64 above."""
    return math.nextafter(x, math.inf)


def plus(a: End, b: End, upwards: bool) -> End:
    """a + b, rounded outwards; ends that go to both infinities give the one that is sound."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if math.isinf(a) or math.isinf(b):
        return math.inf if upwards else -math.inf
    a, b = _float(a, upwards), _float(b, upwards)
    s = a + b
    if math.isinf(s):
        return s if (s > 0) == upwards else math.copysign(LARGEST, s)
    t = s - a
    error = (a - (s - t)) + (b - t)
    if error == 0.0:
        return s
    return (up(s) if error > 0 else s) if upwards else (down(s) if error < 0 else s)


def times(a: End, b: End, upwards: bool) -> End:
    """a · b, rounded outwards; 0 · ∞ is 0, as an end of an interval that no value reaches."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 0 or b == 0:
        return 0.0
    if math.isinf(a) or math.isinf(b):
        return math.inf if (a > 0) == (b > 0) else -math.inf
    a, b = _float(a, upwards == (b > 0)), _float(b, upwards == (a > 0))
    p = a * b
    if math.isinf(p):
        return p if (p > 0) == upwards else math.copysign(LARGEST, p)
    exact = Fraction(a) * Fraction(b)
    if exact == Fraction(p):
        return p
    return (up(p) if exact > Fraction(p) else p) if upwards else (down(p) if exact < Fraction(p) else p)


def over(a: float, upwards: bool) -> float:
    """1 / a, rounded outwards; an infinite end gives 0, and a zero one the infinity of `upwards`."""
    if math.isinf(a):
        return 0.0
    if a == 0 or abs(a) < 2.0**-1022:
        return math.inf if upwards else -math.inf
    q = 1.0 / a
    exact = Fraction(1) / Fraction(a)
    if exact == Fraction(q):
        return q
    return (up(q) if exact > Fraction(q) else q) if upwards else (down(q) if exact < Fraction(q) else q)


def _float(x: End, upwards: bool) -> float:
    """An end as a float64, outwards: integers beyond 2**53 may not be one."""
    try:
        f = float(x)
    except OverflowError:
        return (math.inf if upwards else LARGEST) if x > 0 else (-LARGEST if upwards else -math.inf)
    if isinstance(x, int) and math.isfinite(f) and int(f) != x:
        return (up(f) if int(f) < x else f) if upwards else (down(f) if int(f) > x else f)
    return f
