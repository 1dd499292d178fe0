"""Operators that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tang_egg import array_scalar as s
from tang_egg import expression as e
from tang_egg import ops
from tang_egg.expression import Expression
from tang_egg.importers.onnx_call import Call, Table
from tang_egg.importers.onnx_fuse import per_channel
from tang_egg.importers.onnx_value import Array, Unsupported, Value, element_type
from tang_egg.traced import Traced, compute

OPERATORS = Table()

Unary = Callable[[Expression], Expression]
Binary = Callable[[Expression, Expression], Expression]


def unary(name: str, newest: int, f: Unary) -> None:
    """An operator of one array; the result has its type."""

    def run(call: Call) -> Value:
        x = call.x(0)
        return compute(f, x, dtype=x.dtype, hint=name.lower())

    OPERATORS.add(name, newest)(run)


def binary(name: str, newest: int, f: Binary, dtype: str = "") -> None:
    """An operator of two arrays that broadcast; the result has the type of the first, or `dtype`."""

    def run(call: Call) -> Value:
        a, b = spread(call)
        return compute(f, a, b, dtype=dtype or a.dtype, hint=name.lower())

    OPERATORS.add(name, newest)(run)


def spread(call: Call) -> tuple[Traced, Traced]:
    """Both operands; in old operator sets the axes of the second are those of the first from `axis` on."""
    from tang_egg.traced_view import expand_dims

    a, b = call.x(0), call.x(1)
    if call.since < 7 and call.integer("broadcast", 0) and call.has("axis"):
        for _ in range(a.ndim - call.axis(call.integer("axis"), a.ndim) - b.ndim):
            b = expand_dims(b, -1)
    return a, b


def parametric(name: str, newest: int, f: Callable[[Expression, Call], Expression]) -> None:
    """An operator of one array with attributes."""

    def run(call: Call) -> Value:
        x = call.x(0)
        return compute(lambda a: f(a, call), x, dtype=x.dtype, hint=name.lower())

    OPERATORS.add(name, newest)(run)


for _name, _newest, _f in (
    ("Abs", 13, s.absolute), ("Neg", 13, lambda x: -x), ("Ceil", 13, s.ceil), ("Floor", 13, e.floor),
    ("Exp", 13, e.exp), ("Log", 13, e.log), ("Sqrt", 13, e.sqrt), ("Reciprocal", 13, e.recip), ("Sin", 22, e.sin),
    ("Cos", 22, s.cos), ("Tan", 22, s.tan), ("Asin", 22, s.asin), ("Acos", 22, s.acos), ("Atan", 22, s.atan),
    ("Sinh", 22, s.sinh), ("Cosh", 22, s.cosh), ("Asinh", 22, s.asinh), ("Acosh", 22, s.acosh),
    ("Atanh", 22, s.atanh), ("Tanh", 13, e.tanh), ("Sigmoid", 13, e.sigmoid), ("Erf", 13, e.erf),
    ("Relu", 14, e.relu), ("Sign", 13, s.sign), ("Round", 22, s.round_even), ("Softplus", 22, e.softplus),
    ("Softsign", 22, lambda x: x / (s.absolute(x) + 1.0)), ("Mish", 22, lambda x: x * e.tanh(e.softplus(x))),
    ("HardSwish", 22, lambda x: x * e.maximum(e.minimum(x * (1 / 6) + 0.5, 1.0), 0.0)), ("Not", 1, lambda x: ~x),
    ("BitwiseNot", 18, lambda x: ~x),
):  # fmt: skip
    unary(_name, _newest, _f)


def _divide(a: Expression, b: Expression) -> Expression:
    return a / b if a.type == "real" else s.truncated_divide(a, b)


for _name, _newest, _g, _dtype in (
    ("And", 7, lambda a, b: a & b, ""), ("Or", 7, lambda a, b: a | b, ""),
    ("Xor", 7, lambda a, b: a ^ b, ""), ("BitwiseAnd", 18, lambda a, b: a & b, ""),
    ("BitwiseOr", 18, lambda a, b: a | b, ""), ("BitwiseXor", 18, lambda a, b: a ^ b, ""),
    ("Equal", 19, lambda a, b: e.eq(a, b), "bool"), ("Less", 13, lambda a, b: a < b, "bool"),
    ("Greater", 13, lambda a, b: a > b, "bool"), ("LessOrEqual", 16, lambda a, b: a <= b, "bool"),
    ("GreaterOrEqual", 16, lambda a, b: a >= b, "bool"),
    ("PRelu", 16, lambda a, b: e.select(a < 0, a * b, a), ""),
):  # fmt: skip
    binary(_name, _newest, _g, _dtype)


def _arithmetic(name: str, f: Binary) -> None:
    """A sum, difference, product or quotient; a known one goes into the weights of a convolution before it."""

    def run(call: Call) -> Value:
        for n in (0, 1):
            x = call.values[n]
            if isinstance(x, Traced) and call.since >= 7 and call.alone(n):
                other = per_channel(call.values[1 - n], x.ndim)
                found = None if other is None else _taken_in(call, name, x, other.astype(np.float64), n)
                if found is not None:
                    return found
        a, b = spread(call)
        return compute(f, a, b, dtype=a.dtype, hint=name.lower())

    OPERATORS.add(name, 14)(run)


def _taken_in(call: Call, name: str, x: Traced, other: Array, n: int) -> Traced | None:
    """The result by other weights; `x` is operand `n`."""
    mapped = call.runner.products.mapped
    if name == "Add":
        return mapped(x, None, other)
    if name == "Mul":
        return mapped(x, other, None)
    if name == "Sub":
        return mapped(x, None, -other) if n == 0 else mapped(x, np.array([-1.0]), other)
    return mapped(x, 1.0 / other, None) if n == 0 and other.all() else None


_arithmetic("Add", lambda a, b: a + b)
_arithmetic("Sub", lambda a, b: a - b)
_arithmetic("Mul", lambda a, b: a * b)
_arithmetic("Div", _divide)


for _name, _newest, _h in (
    ("Elu", 22, lambda x, c: e.select(x < 0, s.expm1(x) * c.number("alpha", 1.0), x)),
    ("Selu", 22, lambda x, c: e.select(x <= 0, s.expm1(x) * c.number("alpha", 1.6732632423543772), x)
     * c.number("gamma", 1.0507009873554805)),
    ("Celu", 28, lambda x, c: e.maximum(x, 0.0)
     + e.minimum(s.expm1(x / c.number("alpha", 1.0)) * c.number("alpha", 1.0), 0.0)),
    ("LeakyRelu", 16, lambda x, c: e.select(x < 0, x * c.number("alpha", 0.01), x)),
    ("ThresholdedRelu", 22, lambda x, c: e.select(x > c.number("alpha", 1.0), x, 0.0)),
    ("HardSigmoid", 22,
     lambda x, c: e.maximum(e.minimum(x * c.number("alpha", 0.2) + c.number("beta", 0.5), 1.0), 0.0)),
    ("Swish", 24, lambda x, c: x * e.sigmoid(x * c.number("alpha", 1.0))),
):  # fmt: skip
    parametric(_name, _newest, _h)


@OPERATORS.add("Gelu", 20)
def gelu(call: Call) -> Value:
    x, form = call.x(0), call.text("approximate", "none")
    if form not in ("none", "tanh"):
        raise call.wrong(f"there is no approximation '{form}'")
    return compute(e.gelu_tanh if form == "tanh" else e.gelu, x, dtype=x.dtype, hint="gelu")


@OPERATORS.add("Shrink", 9)
def shrink(call: Call) -> Value:
    x, bias, limit = call.x(0), call.number("bias", 0.0), call.number("lambd", 0.5)

    def f(a: Expression) -> Expression:
        a = a if a.type == "real" else e.cast(a, "real")
        return e.select(a < -limit, a + bias, e.select(a > limit, a - bias, 0.0))

    return converted(compute(f, x, dtype="f64", hint="shrink"), x.dtype)


@OPERATORS.add("Mod", 28)
def mod(call: Call) -> Value:
    a, b = call.x(0), call.x(1)
    if call.integer("fmod", 0) not in (0, 1):
        raise call.wrong("fmod is neither 0 nor 1")
    if not call.integer("fmod", 0) and a.dtype in ops.FLOATS and call.since < 28:
        raise call.wrong("floats need fmod = 1")
    return compute(
        s.truncated_remainder if call.integer("fmod", 0) else s.remainder, a, b, dtype=a.dtype, hint="remainder"
    )


@OPERATORS.add("BitShift", 28)
def bit_shift(call: Call) -> Value:
    a, b = call.x(0), call.x(1)
    direction = call.text("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise call.wrong(f"there is no direction '{direction}'")
    width = 8 * ops.BYTES[a.dtype]

    def f(x: Expression, by: Expression) -> Expression:
        gone = x - x if direction == "LEFT" or x.type[0] == "u" else x >> (width - 1)
        fits = by < width if by.type[0] == "u" else (by >= 0) & (by < width)
        return e.select(fits, x << by if direction == "LEFT" else x >> by, gone)

    return compute(f, a, b, dtype=a.dtype, hint="shifted")


@OPERATORS.add("Pow", 15)
def power(call: Call) -> Value:
    a, b = call.x(0), call.x(1)
    exponent = b.constant
    if exponent is not None and math.isfinite(exponent) and exponent == int(exponent) and abs(exponent) <= 64:
        whole = int(exponent)
        if a.dtype in ops.FLOATS or whole >= 0:
            return compute(lambda x, _: x**whole, a, b, dtype=a.dtype, hint="power")
    if exponent == 0.5 and a.dtype in ops.FLOATS:
        return compute(lambda x, _: e.sqrt(x), a, b, dtype=a.dtype, hint="root")
    if a.dtype not in ops.FLOATS and b.dtype not in ops.FLOATS:
        kind = "i64" if b.dtype[0] == "i" else "u64"
        wide = compute(s.whole_power, converted(a, kind), converted(b, kind), dtype=kind, hint="power")
        return converted(wide, a.dtype)
    found = compute(s.power, converted(a, "f64"), converted(b, "f64"), dtype="f64", hint="power")
    return converted(found, a.dtype)


def converted(x: Traced, dtype: str) -> Traced:
    """`x` in another element type, as the operator Cast has it."""
    if x.dtype == dtype:
        return x
    kinds = ops.scalar_type(x.dtype), ops.scalar_type(dtype)
    if kinds == ("real", "real") and ops.BYTES[dtype] > ops.BYTES[x.dtype]:
        return Traced(x.factors, x.at, dtype, None, x.constant)
    if x.constant is not None and kinds[0] == kinds[1] == "real" and x.constant != x.constant:
        return Traced(x.factors, x.at, dtype, None, x.constant)
    return compute(lambda a: e.cast(a, dtype), x, dtype=dtype, hint="cast")


@OPERATORS.add("Cast", 28)
def cast(call: Call) -> Value:
    value = call.tensor_value(0)
    dtype = element_type(call.integer("to"))
    return value if value.dtype == dtype else converted(call.x(0), dtype)


@OPERATORS.add("CastLike", 25)
def cast_like(call: Call) -> Value:
    return converted(call.x(0), call.tensor_value(1).dtype)


@OPERATORS.add("BitCast", 26)
def bit_cast(call: Call) -> Value:
    x, dtype = call.x(0), element_type(call.integer("to"))
    if ops.BYTES[x.dtype] != ops.BYTES[dtype]:
        raise call.wrong(f"{x.dtype} and {dtype} differ in width")
    if "bf16" in (x.dtype, dtype) and x.dtype != dtype:
        raise Unsupported("bits of bf16")
    return x if x.dtype == dtype else compute(lambda a: e.bitcast(a, dtype), x, dtype=dtype, hint="bits")


def _variadic(name: str, newest: int, f: Binary) -> None:
    def run(call: Call) -> Value:
        arrays = call.xs()
        total = arrays[0]
        for x in arrays[1:]:
            total = compute(f, total, x, dtype=total.dtype, hint=name.lower())
        return total

    OPERATORS.add(name, newest)(run)


for _name, _newest, _g in (
    ("Max", 13, e.maximum),
    ("Min", 13, e.minimum),
    ("Sum", 13, lambda a, b: a + b),
):
    _variadic(_name, _newest, _g)


@OPERATORS.add("Mean", 13)
def mean(call: Call) -> Value:
    arrays = call.xs()
    total = arrays[0]
    for x in arrays[1:]:
        total = compute(lambda a, b: a + b, total, x, dtype=total.dtype, hint="sum")
    return compute(lambda a: a / float(len(arrays)), total, dtype=total.dtype, hint="mean")


@OPERATORS.add("Clip", 13)
def clip(call: Call) -> Value:
    x = call.x(0)
    if call.since < 11:
        low, high = call.number("min", -math.inf), call.number("max", math.inf)
        return compute(lambda a: e.minimum(e.maximum(a, low), high), x, dtype=x.dtype, hint="clip")
    found = x
    if call.given(1):
        found = compute(e.maximum, found, call.x(1), dtype=x.dtype, hint="clip")
    if call.given(2):
        found = compute(e.minimum, found, call.x(2), dtype=x.dtype, hint="clip")
    return found


@OPERATORS.add("Where", 16)
def where(call: Call) -> Value:
    c, a, b = call.x(0), call.x(1), call.x(2)
    return compute(e.select, c, a, b, dtype=a.dtype, hint="where")


@OPERATORS.add("IsNaN", 20)
def is_nan(call: Call) -> Value:
    return compute(s.isnan, call.x(0), dtype="bool", hint="is_nan")


@OPERATORS.add("IsInf", 20)
def is_inf(call: Call) -> Value:
    signs = [v for name, v in (("detect_positive", math.inf), ("detect_negative", -math.inf)) if call.integer(name, 1)]

    def f(a: Expression) -> Expression:
        found = e.constant(False)
        for v in signs:
            found = found | e.eq(a, v)
        return found

    return compute(f, call.x(0), dtype="bool", hint="is_inf")


@OPERATORS.add("Identity", 25)
def identity(call: Call) -> Value:
    return call.values[0]


@OPERATORS.add("Dropout", 22)
def dropout(call: Call) -> tuple[Value, ...]:
    """The input, as in inference. In training only a ratio of 0 says which elements stay."""
    from tang_egg.traced import full

    x = call.x(0)
    training = call.since >= 12 and call.given(2) and bool(call.scalar(2, "training_mode"))
    ratio = float(call.scalar(1, "ratio")) if call.since >= 12 and call.given(1) else 0.5
    if training and ratio:
        raise Unsupported("random numbers")
    mask = full(x.extents, True, "bool") if call.since >= 10 else full(x.extents, 1, x.dtype)
    return call.values[0], mask


@OPERATORS.add("Binarizer", 1, "ai.onnx.ml")
def binarizer(call: Call) -> Value:
    x, limit = call.x(0), call.number("threshold", 0.0)

    def f(a: Expression) -> Expression:
        above = a > limit if a.type == "real" else e.cast(a, "real") > limit
        one, zero = e.constant(1, x.dtype), e.constant(0, x.dtype)
        return e.select(above, one, zero)

    return compute(f, x, dtype=x.dtype, hint="binarized")
