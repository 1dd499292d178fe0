"""Elementwise functions on traced arrays, by the names and meanings of the Array API.

Arrays broadcast; element types promote (see array_types). Functions of reals take integers as f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from tang_egg import array_scalar as s
from tang_egg import expression as e
from tang_egg import ops
from tang_egg.array_constants import Like, operand, operands
from tang_egg.array_types import as_type, floating, is_number, promote_number, truth
from tang_egg.expression import Expression
from tang_egg.traced import Traced, compute, fail, full

F = TypeVar("F", bound=Callable[..., Traced])
Scalar1 = Callable[[Expression], Expression]
Scalar2 = Callable[[Expression, Expression], Expression]


def real_function(f: Scalar1, x: Like, hint: str) -> Traced:
    """A function of reals of each element."""
    given = operand(x)
    kind = floating(given.dtype)
    return compute(f, as_type(given, kind), dtype=kind, hint=hint)


def real_function2(f: Scalar2, x: Like, y: Like, hint: str) -> Traced:
    """A function of two reals of each pair of elements."""
    a, b = operands(x, y)
    kind = floating(a.dtype)
    return compute(f, as_type(a, kind), as_type(b, kind), dtype=kind, hint=hint)


def numeric2(f: Scalar2, x: Like, y: Like, hint: str, on_bools: Scalar2 | None = None) -> Traced:
    """A function of two numbers of one type; `on_bools` is what it means there. Raises GraphError without that."""
    a, b = operands(x, y)
    if a.dtype == "bool":
        if on_bools is None:
            raise fail(f"{hint} of bools", "convert them by astype, or use the logical functions")
        f = on_bools
    return compute(f, a, b, dtype=a.dtype, hint=hint)


def add(x1: Like, x2: Like, /) -> Traced:
    return numeric2(s.added, x1, x2, "sum", lambda a, b: a | b)


def subtract(x1: Like, x2: Like, /) -> Traced:
    return numeric2(s.subtracted, x1, x2, "difference")


def multiply(x1: Like, x2: Like, /) -> Traced:
    return numeric2(s.multiplied, x1, x2, "product", lambda a, b: a & b)


def divide(x1: Like, x2: Like, /) -> Traced:
    """The true quotient: f64 for integers."""
    a, b = operands(x1, x2)
    kind = floating(a.dtype)
    a, b = as_type(a, kind), as_type(b, kind)
    if b.constant is not None:
        by = b.constant
        return compute(lambda x, _: x / float(by), a, b, dtype=kind, hint="quotient")
    if a.constant == 1:
        return compute(lambda _, y: e.recip(y), a, b, dtype=kind, hint="reciprocal")
    return compute(lambda x, y: x / y, a, b, dtype=kind, hint="quotient")


def floor_divide(x1: Like, x2: Like, /) -> Traced:
    """The quotient rounded down; an integer divided by 0 is an error of the checked interpreter and 0 elsewhere."""
    return numeric2(s.floor_divide, *_counted(x1, x2), "floor_quotient")


def remainder(x1: Like, x2: Like, /) -> Traced:
    """What is left of floor_divide, of the sign of the divisor."""
    return numeric2(s.remainder, *_counted(x1, x2), "remainder")


def fmod(x1: Like, x2: Like, /) -> Traced:
    """What is left of truncated_divide, of the sign of the dividend."""
    return numeric2(s.truncated_remainder, *_counted(x1, x2), "remainder")


def truncated_divide(x1: Like, x2: Like, /) -> Traced:
    """The quotient rounded towards zero."""
    return numeric2(s.truncated_divide, *_counted(x1, x2), "quotient")


def _counted(x1: Like, x2: Like) -> tuple[Traced, Traced]:
    """Two operands, bools as i8."""
    a, b = operands(x1, x2)
    return (as_type(a, "i8"), as_type(b, "i8")) if a.dtype == "bool" else (a, b)


def pow(x1: Like, x2: Like, /) -> Traced:
    """x1 to the power x2: a negative x1 has real powers of whole exponents only, else NaN.

    A constant whole exponent multiplies. An integer has no constant negative power; where an exponent in an array is
    negative, the result is 0 unless x1 is 1 or -1.
    """
    a, b = operands(x1, x2)
    if a.dtype == "bool":
        a, b = as_type(a, "i8"), as_type(b, "i8")
    kind, power, base = a.dtype, b.constant, a.constant
    if power is not None and kind not in ops.FLOATS and power < 0:
        raise fail(f"integers to the negative power {power}", "convert them to a float type first")
    if power is not None and math.isfinite(power) and power == int(power) and -64 <= power <= 64:
        return compute(lambda x, _: x ** int(power), a, b, dtype=kind, hint="power")
    if power == 0.5 and kind in ops.FLOATS:
        return compute(lambda x, _: e.sqrt(x), a, b, dtype=kind, hint="root")
    if kind not in ops.FLOATS:
        return compute(s.whole_power, a, b, dtype=kind, hint="power")
    if base is not None and 0 < base < math.inf:
        return compute(lambda _, y: s.power_of_number(float(base), y), a, b, dtype=kind, hint="power")
    return compute(s.power, a, b, dtype=kind, hint="power")


def abs(x: Like, /) -> Traced:
    given = operand(x)
    return given if given.dtype == "bool" else compute(s.absolute, given, dtype=given.dtype, hint="absolute")


def negative(x: Like, /) -> Traced:
    given = operand(x)
    if given.dtype == "bool":
        raise fail("the negative of bools", "use logical_not, or convert them by astype")
    return compute(lambda a: -a, given, dtype=given.dtype, hint="negative")


def positive(x: Like, /) -> Traced:
    return operand(x)


def sign(x: Like, /) -> Traced:
    """-1, 0 or 1; NaN for NaN."""
    given = operand(x)
    if given.dtype == "bool":
        raise fail("the sign of bools", "convert them by astype")
    return compute(s.sign, given, dtype=given.dtype, hint="sign")


def square(x: Like, /) -> Traced:
    given = operand(x)
    return given if given.dtype == "bool" else compute(s.square, given, dtype=given.dtype, hint="square")


def reciprocal(x: Like, /) -> Traced:
    """1 / x, real."""
    return real_function(e.recip, x, "reciprocal")


def _named(function: F, name: str, doc: str) -> F:
    """`function` under the name and with the text that a reader of the namespace sees."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _real(name: str, f: Scalar1, doc: str) -> Callable[[Like], Traced]:
    def function(x: Like, /) -> Traced:
        return real_function(f, x, name)

    return _named(function, name, doc)


sqrt = _real("sqrt", e.sqrt, "The square root; NaN below 0.")
rsqrt = _real("rsqrt", e.rsqrt, "1 / sqrt(x).")
exp = _real("exp", e.exp, "e to the power x.")
exp2 = _real("exp2", s.exp2, "2 to the power x.")
expm1 = _real("expm1", s.expm1, "exp(x) - 1, exact near 0.")
log = _real("log", e.log, "The natural logarithm; -inf at 0, NaN below.")
log1p = _real("log1p", s.log1p, "log(1 + x), exact near 0.")
log2 = _real("log2", s.log2, "The logarithm to base 2.")
log10 = _real("log10", s.log10, "The logarithm to base 10.")
sin = _real("sin", e.sin, "The sine of radians.")
cos = _real("cos", s.cos, "The cosine of radians.")
tan = _real("tan", s.tan, "The tangent of radians.")
asin = _real("asin", s.asin, "The inverse sine in radians; NaN outside [-1, 1].")
acos = _real("acos", s.acos, "The inverse cosine in radians; NaN outside [-1, 1].")
atan = _real("atan", s.atan, "The inverse tangent in radians.")
sinh = _real("sinh", s.sinh, "The hyperbolic sine.")
cosh = _real("cosh", s.cosh, "The hyperbolic cosine.")
tanh = _real("tanh", e.tanh, "The hyperbolic tangent.")
asinh = _real("asinh", s.asinh, "The inverse hyperbolic sine.")
acosh = _real("acosh", s.acosh, "The inverse hyperbolic cosine; NaN below 1.")
atanh = _real("atanh", s.atanh, "The inverse hyperbolic tangent; NaN outside [-1, 1].")
erf = _real("erf", e.erf, "The error function.")
sigmoid = _real("sigmoid", e.sigmoid, "1 / (1 + exp(-x)).")
silu = _real("silu", e.silu, "x · sigmoid(x).")
softplus = _real("softplus", e.softplus, "log(1 + exp(x)).")
gelu = _real("gelu", e.gelu, "x · (1 + erf(x / sqrt(2))) / 2.")
gelu_tanh = _real("gelu_tanh", e.gelu_tanh, "GELU by its tanh approximation.")
radians = _real("radians", lambda x: x * (math.pi / 180), "Degrees as radians.")
degrees = _real("degrees", lambda x: x * (180 / math.pi), "Radians as degrees.")


def relu(x: Like, /) -> Traced:
    """x, or 0 where it is negative."""
    given = operand(x)
    return given if given.dtype == "bool" else maximum(given, 0)


def atan2(x1: Like, x2: Like, /) -> Traced:
    """The angle in radians of the point (x2, x1)."""
    return real_function2(e.atan2, x1, x2, "atan2")


def hypot(x1: Like, x2: Like, /) -> Traced:
    return real_function2(s.hypot, x1, x2, "hypot")


def logaddexp(x1: Like, x2: Like, /) -> Traced:
    """log(exp(x1) + exp(x2)) without overflow."""
    return real_function2(s.logaddexp, x1, x2, "logaddexp")


def copysign(x1: Like, x2: Like, /) -> Traced:
    """|x1| with the sign of x2."""
    return real_function2(s.copysign, x1, x2, "copysign")


def _rounding(name: str, f: Scalar1, doc: str) -> Callable[[Like], Traced]:
    def function(x: Like, /) -> Traced:
        given = operand(x)
        return compute(f, given, dtype=given.dtype, hint=name) if given.dtype in ops.FLOATS else given

    return _named(function, name, doc)


floor = _rounding("floor", e.floor, "The largest integer that is not larger.")
ceil = _rounding("ceil", s.ceil, "The smallest integer that is not smaller.")
trunc = _rounding("trunc", s.trunc, "Rounded towards zero.")
round = _rounding("round", s.round_even, "The nearest integer; halves go to the even one.")


def _question(name: str, f: Scalar1, otherwise: bool, doc: str) -> Callable[[Like], Traced]:
    def function(x: Like, /) -> Traced:
        given = operand(x)
        if given.dtype not in ops.FLOATS:
            return full(given.extents, otherwise, "bool")
        return compute(f, given, dtype="bool", hint=name)

    return _named(function, name, doc)


isnan = _question("isnan", s.isnan, False, "Where elements are NaN.")
isinf = _question("isinf", s.isinf, False, "Where elements are infinite.")
isfinite = _question("isfinite", s.isfinite, True, "Where elements are neither infinite nor NaN.")


def signbit(x: Like, /) -> Traced:
    """Where elements are negative or -0; False for every NaN."""
    given = operand(x)
    if given.dtype == "bool":
        return full(given.extents, False, "bool")
    return compute(s.signbit, given, dtype="bool", hint="signbit")


def maximum(x1: Like, x2: Like, /) -> Traced:
    """The larger of two; NaN where one is."""
    return numeric2(e.maximum, x1, x2, "maximum", lambda a, b: a | b)


def minimum(x1: Like, x2: Like, /) -> Traced:
    """The smaller of two; NaN where one is."""
    return numeric2(e.minimum, x1, x2, "minimum", lambda a, b: a & b)


def clip(x: Like, /, min: Like | None = None, max: Like | None = None) -> Traced:
    """x limited to [min, max], of the type of x; max where the limits cross."""
    given = operand(x)
    for limit, f in ((min, maximum), (max, minimum)):
        if limit is not None:
            kept = limit if is_number(limit) and promote_number(given.dtype, limit) == given.dtype else None
            given = f(given, kept) if kept is not None else f(given, limit)
    return given


def _comparison(name: str, f: Scalar2, on_bools: Scalar2) -> Callable[[Like, Like], Traced]:
    def function(x1: Like, x2: Like, /) -> Traced:
        a, b = operands(x1, x2)
        return compute(on_bools if a.dtype == "bool" else f, a, b, dtype="bool", hint=name)

    return _named(function, name, f"Where x1 is {name.replace('_', ' ')} x2.")


less = _comparison("less", lambda a, b: s.compared(a, b, True), lambda a, b: ~a & b)
less_equal = _comparison("less_equal", lambda a, b: s.compared(a, b, False), lambda a, b: ~a | b)
greater = _comparison("greater", lambda a, b: s.compared(b, a, True), lambda a, b: a & ~b)
greater_equal = _comparison("greater_equal", lambda a, b: s.compared(b, a, False), lambda a, b: a | ~b)
equal = _comparison("equal", s.equal, e.eq)
not_equal = _comparison("not_equal", lambda a, b: ~s.equal(a, b), e.ne)


def _logical(name: str, f: Callable[..., Expression]) -> Callable[..., Traced]:
    def function(*x: Like) -> Traced:
        given = [as_type(operand(a), "bool") for a in x]
        return compute(f, *given, dtype="bool", hint=name)

    return _named(function, name, f"{name} of whether elements are not zero.")


logical_and = _logical("logical_and", lambda a, b: a & b)
logical_or = _logical("logical_or", lambda a, b: a | b)
logical_xor = _logical("logical_xor", lambda a, b: a ^ b)
logical_not = _logical("logical_not", lambda a: ~a)


def _bitwise(name: str, f: Callable[..., Expression], bools: bool = True) -> Callable[..., Traced]:
    def function(*x: Like) -> Traced:
        given = operands(*x)
        kind = given[0].dtype
        if kind in ops.FLOATS or (kind == "bool" and not bools):
            raise fail(f"{name} of {kind}", "convert to an integer type by astype")
        return compute(f, *given, dtype=kind, hint=name)

    return _named(function, name, f"{name} of the bits of integers{' or of bools' if bools else ''}.")


bitwise_and = _bitwise("bitwise_and", lambda a, b: a & b)
bitwise_or = _bitwise("bitwise_or", lambda a, b: a | b)
bitwise_xor = _bitwise("bitwise_xor", lambda a, b: a ^ b)
bitwise_invert = _bitwise("bitwise_invert", lambda a: ~a)
bitwise_left_shift = _bitwise("bitwise_left_shift", lambda a, b: _shifted(a, b, True), bools=False)
bitwise_right_shift = _bitwise("bitwise_right_shift", lambda a, b: _shifted(a, b, False), bools=False)


def _shifted(a: Expression, b: Expression, left: bool) -> Expression:
    """A shift by at least the width leaves no bit of the number."""
    width = int(a.type[1:])
    last = (a >> (width - 1)) if a.type[0] == "i" and not left else a ^ a
    return e.select(b < width, (a << b) if left else (a >> b), last)


def where(condition: Like, x1: Like, x2: Like, /) -> Traced:
    """x1 where the condition holds, else x2: only the chosen one is read."""
    c = as_type(operand(condition), "bool")
    a, b = operands(x1, x2)
    if c.constant is not None and not c.factors:
        from tang_egg.traced import broadcast

        return broadcast(a, b)[0 if c.constant else 1]
    return compute(lambda c, x, y: e.select(truth(c), x, y), c, a, b, dtype=a.dtype, hint="where")


def nan_to_num(x: Like, /, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Traced:
    """Numbers for NaN and infinities (default: 0 and the limits of the type)."""
    from tang_egg.array_types import finfo

    given = operand(x)
    if given.dtype not in ops.FLOATS:
        return given
    limits = finfo(given.dtype)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf

    def f(a: Expression) -> Expression:
        clipped = e.select(e.eq(a, s.INF), high, e.select(e.eq(a, -s.INF), low, a))
        return e.select(s.isnan(a), nan, clipped)

    return compute(f, given, dtype=given.dtype, hint="numbers")


def lerp(x1: Like, x2: Like, weight: Any, /) -> Traced:
    """x1 + weight · (x2 - x1)."""
    return add(x1, multiply(weight, subtract(x2, x1)))


__all__ = [n for n in dir() if not n.startswith("_") and callable(globals()[n]) and n.islower()]
