"""Scalar expressions as Python writes them: operators and elementwise functions over `ir` nodes.

An `Expression` wraps one scalar. Python numbers adopt the type of the operand beside them; an index or an affine form
counts as an i64 value. Values of different types never mix silently: convert with `cast`. The one exception is an
index beside a narrower integer (`j < length[b]`), which is widened exactly.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, TypeGuard

from tang_egg import ops
from tang_egg.affine import Affine, Dim, Index, Inequality, affine
from tang_egg.errors import GraphError
from tang_egg.ir import Apply, Const, Position, Scalar, Span, Test, as_position, const, type_of, walk
from tang_egg.ir import apply as apply_op

Value: TypeAlias = "Expression | Scalar | Affine | Index | Dim | Inequality | float | int | bool"

MOST_SHOWN = 400
"""Nodes of an expression that its `repr` writes out at most."""


def here() -> Span:
    """The line of the user's program that is building a node: the nearest frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("tang_egg."):
        frame = frame.f_back
    return Span(frame.f_code.co_filename, frame.f_lineno)


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A scalar with Python's operators. `a / b` is `a * recip(b)`; comparisons give bool expressions."""

    scalar: Scalar

    @property
    def type(self) -> str:
        """The scalar type: "real", "bool" or a machine integer."""
        return type_of(self.scalar)

    def __add__(self, other: Value) -> Expression:
        return _binary("add", self, other)

    def __radd__(self, other: Value) -> Expression:
        return _binary("add", other, self)

    def __sub__(self, other: Value) -> Expression:
        if _is_number(other) and self.type[0] != "u":
            return _binary("add", self, -other)
        return _binary("add", self, -_like(other, self))

    def __rsub__(self, other: Value) -> Expression:
        return _binary("add", other, -self)

    def __mul__(self, other: Value) -> Expression:
        return _binary("mul", self, other)

    def __rmul__(self, other: Value) -> Expression:
        return _binary("mul", other, self)

    def __neg__(self) -> Expression:
        return Expression(apply_op("neg", self.scalar))

    def __abs__(self) -> Expression:
        return _binary("max", self, -self)

    def __truediv__(self, other: Value) -> Expression:
        if _is_number(other) and self.type == "real":
            return self if other == 1 else _binary("mul", self, _reciprocal(float(other)))
        return _binary("mul", self, recip(_like(other, self)))

    def __rtruediv__(self, other: Value) -> Expression:
        return recip(self) if _is_number(other) and other == 1 else _binary("mul", other, recip(self))

    def __floordiv__(self, other: Value) -> Expression:
        return _binary("idiv", self, other)

    def __rfloordiv__(self, other: Value) -> Expression:
        return _binary("idiv", other, self)

    def __mod__(self, other: Value) -> Expression:
        return _binary("imod", self, other)

    def __rmod__(self, other: Value) -> Expression:
        return _binary("imod", other, self)

    def __pow__(self, power: int) -> Expression:
        if not isinstance(power, int) or isinstance(power, bool):
            raise GraphError(
                f"the exponent {power!r} is not a Python integer",
                where=str(here()),
                mend="write exp(y * log(x)) for a general power, sqrt(x) for a square root",
            )
        if power < 0:
            return recip(self**-power)
        result: Expression | None = None
        base = self
        while power:
            if power & 1:
                result = base if result is None else result * base
            power >>= 1
            base = base * base if power else base
        return result if result is not None else Expression(_constant(1, self.type))

    def __lt__(self, other: Value) -> Expression:
        return _binary("lt", self, other)

    def __le__(self, other: Value) -> Expression:
        return _binary("le", self, other)

    def __gt__(self, other: Value) -> Expression:
        return _binary("lt", other, self)

    def __ge__(self, other: Value) -> Expression:
        return _binary("le", other, self)

    def __and__(self, other: Value) -> Expression:
        return _binary(self._logic("and", "bitand"), self, other)

    __rand__ = __and__

    def __or__(self, other: Value) -> Expression:
        return _binary(self._logic("or", "bitor"), self, other)

    __ror__ = __or__

    def __xor__(self, other: Value) -> Expression:
        if self.type == "bool":
            return ~eq(self, other)
        return _binary("bitxor", self, other)

    def __invert__(self) -> Expression:
        if self.type == "bool":
            return Expression(apply_op("not", self.scalar))
        if self.type == "real":
            raise GraphError("~ of a real value", where=str(here()), mend="write -x, or take its bits by te.bitcast")
        return _binary("bitxor", self, -1 if self.type[0] == "i" else _all_ones(self.type))

    def __lshift__(self, other: Value) -> Expression:
        return _binary("shl", self, other)

    def __rshift__(self, other: Value) -> Expression:
        return _binary("shr", self, other)

    def _logic(self, of_bools: str, of_bits: str) -> str:
        return of_bools if self.type == "bool" else of_bits

    def __bool__(self) -> bool:
        raise GraphError(
            "the value of an expression is not known while the graph is built",
            where=str(here()),
            mend="use te.select(condition, a, b) for a choice, and & | ~ instead of and, or, not",
        )

    def __repr__(self) -> str:
        from tang_egg.text import print_scalar

        # debuggers and test runners print values unasked, and shared parts would be written out again and again
        size = sum(1 for _ in islice(walk(self.scalar), MOST_SHOWN + 1))
        return print_scalar(self.scalar) if size <= MOST_SHOWN else f"<an expression of more than {MOST_SHOWN} nodes>"


def _all_ones(type: str) -> int:
    return int(2 ** int(type[1:]) - 1)


def _is_number(x: object) -> TypeGuard[int | float]:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def _reciprocal(c: float) -> Expression:
    return Expression(Const(1.0 / c)) if c else recip(Const(c))


def _constant(x: float | int | bool, type: str) -> Const:
    """A Python number as a constant of `type`. Raises GraphError where that would change its value."""
    if type == "bool" or isinstance(x, bool):
        if type == "bool" and isinstance(x, bool):
            return Const(x, "bool")
        raise GraphError(
            f"{x!r} stands where a {type} is expected",
            where=str(here()),
            mend="compare to get a bool (x < y, te.eq(x, y)); note that Python's == gives a plain True or False here",
        )
    if type == "real" and (isinstance(x, float) or abs(x) < 2**1023):
        return const(float(x))
    if type == "real":
        raise GraphError(
            "a constant is larger than any float", where=str(here()), mend="write inf, or a smaller number"
        )
    low, high = (-(2 ** (int(type[1:]) - 1)), 2 ** (int(type[1:]) - 1) - 1) if type[0] == "i" else (0, _all_ones(type))
    if isinstance(x, float) or not low <= x <= high:
        raise GraphError(
            f"the constant {x!r} does not fit {type}",
            where=str(here()),
            mend="cast the other operand to a type that holds it, e.g. te.cast(x, 'f32')",
        )
    return Const(int(x), type)


def as_scalar(x: Value, type: str | None = None) -> Scalar:
    """`x` as a scalar node; a Python number takes `type` if that is given. Raises GraphError for other objects."""
    if isinstance(x, Expression):
        return x.scalar
    if isinstance(x, Scalar):
        return x
    if isinstance(x, (Affine, Index, Dim)):
        return as_position(affine(x))
    if isinstance(x, Inequality):
        return Test(x)
    if hasattr(x, "dtype") and hasattr(x, "item") and getattr(x, "shape", None) == ():
        x = x.item()
    if isinstance(x, (bool, int, float)):
        return const(x) if type is None else _constant(x, type)
    raise GraphError(
        f"{_describe(x)} is not a scalar expression",
        where=str(here()),
        mend="index a tensor to get an element, e.g. A[i, j]",
    )


def as_condition(x: Value) -> Scalar:
    """`x` as a bool scalar. Raises GraphError for a plain True or False: the trace of a Python `==`."""
    if isinstance(x, bool):
        raise GraphError(
            f"the condition is a plain {x}",
            where=str(here()),
            mend="write te.eq(a, b) for equality: Python's == compares the expressions, not their values",
        )
    return as_scalar(x, "bool")


def _describe(x: object) -> str:
    name = getattr(x, "name", None)
    return f"the tensor '{name}' without indices" if isinstance(name, str) else f"{x!r} ({type(x).__name__})"


def _like(x: Value, beside: Expression) -> Expression:
    return Expression(as_scalar(x, beside.type))


def _operands(*values: Value) -> tuple[Scalar, ...]:
    """The values as scalars of one type: numbers adopt it, and integers beside an index are widened to i64."""
    known = [as_scalar(v) for v in values if not isinstance(v, (int, float))]
    types = dict.fromkeys(type_of(s) for s in known)
    type = next(iter(types), None)
    if type is None:
        type = "real" if any(isinstance(v, float) for v in values) else None
    widen = any(isinstance(s, Position) for s in known) and all(t in ops.INTEGERS and t != "u64" for t in types)
    found: list[Scalar] = []
    for v in values:
        s = as_scalar(v, "i64" if widen else type)
        found.append(Apply("cast:i64", (s,)) if widen and type_of(s) != "i64" else s)
    return tuple(found)


def _binary(op: str, a: Value, b: Value) -> Expression:
    return _apply(op, *_operands(a, b))


def _apply(op: str, *args: Scalar) -> Expression:
    try:
        return Expression(apply_op(op, *args))
    except GraphError as error:
        raise GraphError(error.what, where=f"{error.where}, {here()}", mend=error.mend) from None


def _unary(op: str, x: Value) -> Expression:
    return _apply(op, as_scalar(x, "real"))


def exp(x: Value) -> Expression:
    """e^x; 0 at -inf."""
    return _unary("exp", x)


def log(x: Value) -> Expression:
    """The natural logarithm; -inf at 0, NaN below."""
    return _unary("log", x)


def sqrt(x: Value) -> Expression:
    """The square root; NaN below 0."""
    return _unary("sqrt", x)


def recip(x: Value) -> Expression:
    """1 / x; an infinity at a zero of the same sign."""
    return _unary("recip", x)


def sin(x: Value) -> Expression:
    """The sine of x in radians."""
    return _unary("sin", x)


def tanh(x: Value) -> Expression:
    """The hyperbolic tangent."""
    return _unary("tanh", x)


def erf(x: Value) -> Expression:
    """The error function 2/√π ∫₀ˣ exp(-t²) dt."""
    return _unary("erf", x)


def floor(x: Value) -> Expression:
    """The largest whole number that is not above x, a real value."""
    return _unary("floor", x)


def atan2(y: Value, x: Value) -> Expression:
    """The angle of the point (x, y) in radians, from -π to π."""
    return _binary("atan2", y, x)


def rsqrt(x: Value) -> Expression:
    """1 / sqrt(x)."""
    return recip(sqrt(x))


def cos(x: Value) -> Expression:
    """The cosine of x in radians, as a sine."""
    return sin(value(x) + math.pi / 2)


def absolute(x: Value) -> Expression:
    """|x|, named `te.abs`."""
    return abs(value(x))


def sigmoid(x: Value) -> Expression:
    """1 / (1 + exp(-x))."""
    return recip(exp(-value(x)) + 1.0)


def silu(x: Value) -> Expression:
    """x · sigmoid(x)."""
    return value(x) * sigmoid(x)


def relu(x: Value) -> Expression:
    """max(x, 0)."""
    return maximum(x, 0)


def softplus(x: Value) -> Expression:
    """log(1 + exp(x)), written so that it neither overflows nor loses small results to cancellation at large |x|."""
    return relu(x) + log(exp(-absolute(x)) + 1.0)


def gelu(x: Value) -> Expression:
    """x · Φ(x), with Φ the distribution function of the normal distribution (by erf)."""
    return value(x) * 0.5 * (erf(value(x) * math.sqrt(0.5)) + 1.0)


def gelu_tanh(x: Value) -> Expression:
    """The approximation of gelu by tanh."""
    inner = (value(x) + value(x) ** 3 * 0.044715) * math.sqrt(2 / math.pi)
    return value(x) * 0.5 * (tanh(inner) + 1.0)


def maximum(a: Value, b: Value) -> Expression:
    """The larger of two values; NaN where one of them is."""
    return _binary("max", a, b)


def minimum(a: Value, b: Value) -> Expression:
    """The smaller of two values; NaN where one of them is."""
    return _binary("min", a, b)


def select(condition: Value, a: Value, b: Value) -> Expression:
    """`a` where `condition` holds, else `b`; lazy: only the chosen side is read."""
    return _apply("select", as_condition(condition), *_operands(a, b))


def eq(a: Value, b: Value) -> Expression:
    """Whether two values, or two index forms, are equal."""
    if isinstance(a, (Affine, Index, Dim, int)) and isinstance(b, (Affine, Index, Dim, int)):
        # As two affine conditions, so that bounds and domains can use it.
        return _apply("and", Test(affine(a) <= affine(b)), Test(affine(a) >= affine(b)))
    return _binary("eq", a, b)


def ne(a: Value, b: Value) -> Expression:
    """Whether two values differ; true where one of them is NaN."""
    return ~eq(a, b)


def value(x: Value) -> Expression:
    """`x` as an expression; an index or affine form becomes the i64 value of its position."""
    return x if isinstance(x, Expression) else Expression(as_scalar(x))


def constant(x: float | int | bool, dtype: str | None = None) -> Expression:
    """A constant of the scalar type of `dtype` (default: by the Python type)."""
    return Expression(as_scalar(x, None if dtype is None else ops.scalar_type(dtype)))


def cast(x: Value, dtype: str) -> Expression:
    """`x` converted to `dtype`: a float type rounds (that is meaning, never optimised away), an integer type wraps."""
    _check_type(dtype, (*ops.STORAGE, "real"))
    return Expression(apply_op(f"cast:{dtype}", as_scalar(x)))


def bitcast(x: Value, dtype: str) -> Expression:
    """The bits of `x` read as another type of the same width."""
    _check_type(dtype, ops.STORAGE)
    return Expression(apply_op(f"bits:{dtype}", as_scalar(x)))


def _check_type(dtype: str, known: tuple[str, ...]) -> None:
    if dtype not in known:
        raise GraphError(f"unknown element type '{dtype}'", where=str(here()), mend=f"use one of {', '.join(known)}")
