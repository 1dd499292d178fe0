"""Functions of one element, written in the primitives of the language so that they keep their digits.

Near zero, and at infinities, NaN and signed zeros, each is written in a form that holds there as it does in IEEE
arithmetic. What laws on finite values may do to them is the caller's choice (`optimize(..., values="ieee")`).
"""

from __future__ import annotations

import math

from tang_egg import expression as e
from tang_egg.affine import Affine, affine
from tang_egg.expression import Expression, eq, exp, log, maximum, minimum, recip, select, sin, sqrt, tanh
from tang_egg.ir import Const, Position

INF, NAN = math.inf, math.nan


def form_of(x: Expression) -> Affine | None:
    """The affine form that an i64 value is, or None."""
    s = x.scalar
    if isinstance(s, Position):
        return s.form
    return affine(int(s.value)) if isinstance(s, Const) and s.type == "i64" else None


def compared(a: Expression, b: Expression, strict: bool) -> Expression:
    """a < b or a <= b: a condition on indices where both are forms over them."""
    x, y = form_of(a), form_of(b)
    if x is None or y is None or (x.value is not None and y.value is not None):
        return a < b if strict else a <= b
    return e.value(x < y if strict else x <= y)


def equal(a: Expression, b: Expression) -> Expression:
    """Whether two values are equal: as conditions on indices where both are forms over them."""
    x, y = form_of(a), form_of(b)
    return eq(a, b) if x is None or y is None else eq(x, y)


def added(a: Expression, b: Expression) -> Expression:
    """a + b: a form where both are."""
    x, y = form_of(a), form_of(b)
    return a + b if x is None or y is None else e.value(x + y)


def subtracted(a: Expression, b: Expression) -> Expression:
    """a - b: a form where both are."""
    x, y = form_of(a), form_of(b)
    return a - b if x is None or y is None else e.value(x - y)


def multiplied(a: Expression, b: Expression) -> Expression:
    """a · b: a form where both are and one is free of indices; a number times 1 is itself."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one.scalar, Const) and one.scalar.value == 1:
            return other
    x, y = form_of(a), form_of(b)
    if x is None or y is None or (x.indices() and y.indices()):
        return a * b
    return e.value(x * y)


def absolute(x: Expression) -> Expression:
    """|x|; integers wrap."""
    if x.type[0] == "u":
        return x
    return select(x <= 0, 0 - x, x) if x.type == "real" else select(x < 0, -x, x)


def sign(x: Expression) -> Expression:
    """-1, 0 or 1; NaN for NaN."""
    if x.type[0] == "u":
        return select(eq(x, 0), x, 1)
    return select(x > 0, 1, select(x < 0, -1, x))


def square(x: Expression) -> Expression:
    return x * x


def isnan(x: Expression) -> Expression:
    return ~eq(x, x)


def isinf(x: Expression) -> Expression:
    return eq(absolute(x), INF)


def isfinite(x: Expression) -> Expression:
    return absolute(x) < INF


def signbit(x: Expression) -> Expression:
    """Whether x is negative or -0; False for NaN."""
    if x.type != "real":
        return x < 0 if x.type[0] == "i" else ~eq(x, x)
    return (x < 0) | (recip(x) < 0)


def copysign(x: Expression, y: Expression) -> Expression:
    size = absolute(x)
    return select(signbit(y), -size, size)


def expm1(x: Expression) -> Expression:
    """exp(x) - 1 = tanh(x / 2) (exp(x) + 1)."""
    return tanh(x * 0.5) * (exp(x) + 1.0)


def log1p(x: Expression) -> Expression:
    """log(1 + x): below 0.1 by the series of 2 atanh(x / (2 + x))."""
    s = x / (x + 2.0)
    z = s * s
    series = Expression(e.as_scalar(2.0 / 15))
    for n in (13, 11, 9, 7, 5, 3):
        series = series * z + 2.0 / n
    near = s * (series * z + 2.0)
    return select(absolute(x) < 0.1, select(eq(x, 0.0), x, near), log(x + 1.0))


def log2(x: Expression) -> Expression:
    return log(x) * (1 / math.log(2))


def log10(x: Expression) -> Expression:
    return log(x) * (1 / math.log(10))


def exp2(x: Expression) -> Expression:
    return exp(x * math.log(2))


def cos(x: Expression) -> Expression:
    """1 - 2 sin²(x / 2), which rounds no argument."""
    half = sin(x * 0.5)
    return half * half * -2.0 + 1.0


def tan(x: Expression) -> Expression:
    return sin(x) / e.cos(x)


def asin(x: Expression) -> Expression:
    return e.atan2(x, sqrt((1.0 - x) * (x + 1.0)))


def acos(x: Expression) -> Expression:
    return e.atan2(sqrt((1.0 - x) * (x + 1.0)), x)


def atan(x: Expression) -> Expression:
    return e.atan2(x, 1.0)


def sinh(x: Expression) -> Expression:
    """tanh(x) cosh(x); 0 and infinities are themselves."""
    return tanh(x) * cosh(x)


def cosh(x: Expression) -> Expression:
    half = exp(absolute(x) * 0.5)
    return half * 0.5 * half + 0.5 / half / half


def asinh(x: Expression) -> Expression:
    """log(|x| + sqrt(x² + 1)) with the sign of x; the logarithm is that of 1 + |x| + x² / (1 + sqrt(x² + 1))."""
    a = absolute(x)
    moderate = minimum(a, 1e8)
    z = moderate * moderate
    near = log1p(moderate + z / (sqrt(z + 1.0) + 1.0))
    size = select(a <= 1e8, near, log(a) + math.log(2))
    return select(x < 0, -size, select(eq(x, 0.0), x, size))


def acosh(x: Expression) -> Expression:
    """log(x + sqrt(x² - 1)) = log1p(t + sqrt(t (t + 2))) for t = x - 1."""
    t = x - 1.0
    near = minimum(t, 1e8)
    return select(x <= 1e8, log1p(near + sqrt(near * (near + 2.0))), log(x) + math.log(2))


def atanh(x: Expression) -> Expression:
    """log1p(2 |x| / (1 - |x|)) / 2 with the sign of x."""
    a = absolute(x)
    size = log1p(a * 2.0 / (1.0 - a)) * 0.5
    return select(x < 0, -size, select(eq(x, 0.0), x, size))


def ceil(x: Expression) -> Expression:
    return -e.floor(-x)


def trunc(x: Expression) -> Expression:
    return select(x < 0, -e.floor(-x), e.floor(x))


def round_even(x: Expression) -> Expression:
    """The nearest integer; halves go to the even one."""
    low = e.floor(x)
    rest = x - low
    odd = low - e.floor(low * 0.5) * 2.0
    return select(rest > 0.5, low + 1.0, select(eq(rest, 0.5), low + odd, low))


def hypot(x: Expression, y: Expression) -> Expression:
    """sqrt(x² + y²) without overflow on the way."""
    a, b = absolute(x), absolute(y)
    most, least = maximum(a, b), minimum(a, b)
    ratio = least / most
    plain = select(eq(most, 0.0), most, most * sqrt(ratio * ratio + 1.0))
    return select(eq(a, INF) | eq(b, INF), INF, plain)


def logaddexp(x: Expression, y: Expression) -> Expression:
    """log(exp(x) + exp(y))."""
    apart = maximum(x, y) + log1p(exp(-absolute(x - y)))
    return select(eq(x, y), x + math.log(2), apart)


def floor_quotient(x: Expression, y: Expression) -> Expression:
    """floor(x / y) for finite y, mended where x · (1 / y) rounds past an integer."""
    whole = e.floor(x / y)
    over = select(y < 0, (whole + 1.0) * y >= x, (whole + 1.0) * y <= x)
    under = select(y < 0, whole * y < x, whole * y > x)
    return select(over, whole + 1.0, select(under, whole - 1.0, whole))


def floor_divide(x: Expression, y: Expression) -> Expression:
    """The quotient rounded down."""
    if x.type != "real":
        return x // y
    far = select(eq(x, 0.0) | eq(x < 0, y < 0), 0.0, -1.0)
    return select(eq(y, 0.0) | isinf(x), x / y, _where_infinite(x, y, far, floor_quotient(x, y)))


def remainder(x: Expression, y: Expression) -> Expression:
    """x - y · floor(x / y): zero or of the sign of y."""
    if x.type != "real":
        return x % y
    far = select(eq(x, 0.0) | eq(x < 0, y < 0), x, y)
    return _where_infinite(x, y, far, x - floor_quotient(x, y) * y)


def truncated_remainder(x: Expression, y: Expression) -> Expression:
    """x - y · trunc(x / y), as in C: zero or of the sign of x."""
    if x.type == "real":
        size, by = absolute(x), absolute(y)
        rest = size - floor_quotient(size, by) * by
        return _where_infinite(x, y, x, select(x < 0, -rest, rest))
    rest = x % y
    return rest if x.type[0] == "u" else select(~eq(rest, 0) & ~eq(x < 0, y < 0), rest - y, rest)


def truncated_divide(x: Expression, y: Expression) -> Expression:
    """The quotient rounded towards zero, as in C."""
    if x.type == "real":
        return trunc(x / y)
    whole = x // y
    if x.type[0] == "u":
        return whole
    return select(~eq(x % y, 0) & ~eq(x < 0, y < 0), whole + 1, whole)


def _where_infinite(x: Expression, y: Expression, far: Expression, near: Expression) -> Expression:
    """`far` where y alone is infinite, else `near`; a constant divisor needs no test."""
    if isinstance(y.scalar, Const) and math.isfinite(y.scalar.value):
        return near
    return select(isinf(y) & isfinite(x), far, near)


def power(x: Expression, y: Expression) -> Expression:
    """x^y for reals, as in C: a negative x has powers of whole exponents only."""
    size = exp(y * log(absolute(x)))
    whole = eq(e.floor(y), y)
    odd = ~eq(e.floor(y * 0.5) * 2.0, y) & whole & ~isinf(y)
    signed = select(signbit(x) & odd, -size, size)
    valid = select((x < 0) & ~whole & ~eq(x, -INF), NAN, signed)
    return select(eq(y, 0.0) | eq(x, 1.0) | (eq(x, -1.0) & isinf(y)), 1.0, valid)


def power_of_number(c: float, y: Expression) -> Expression:
    """c^y for a positive finite constant."""
    return exp(y * math.log(c))


def whole_power(x: Expression, y: Expression) -> Expression:
    """x^y for integers, wrapping, by squaring over the bits of y; a negative y gives 0 unless x is 1 or -1."""
    signed = y.type[0] == "i"
    bits = int(y.type[1:]) - signed
    result, base = Expression(e.as_scalar(1, x.type)), x
    for n in range(bits):
        # a choice of factors, not of results: choices within choices are followed on every path
        result = result * select(eq((y >> n) & 1, 0), 1, base)
        base = base * base
    if not signed:
        return result
    one, zero = (Expression(e.as_scalar(n, x.type)) for n in (1, 0))
    unit = select(eq(x, 1), one, zero)
    if x.type[0] == "i":
        unit = select(eq(x, -1), select(eq(y & 1, 0), one, -one), unit)
    return select(y < 0, unit, result)
