"""Pointwise operators of ATen: arithmetic, comparisons, logic, bits, roundings and elementary functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tang_egg import array_scalar as s
from tang_egg import expression as e
from tang_egg import ops
from tang_egg.array_types import finfo
from tang_egg.expression import Expression
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, operand, promoted, real
from tang_egg.traced import Traced, cast_to, compute, fail

INF = math.inf


def pointwise(f: Callable[..., Expression], out: Out, *args: Any, dtype: str | None = None) -> Traced:
    """`f` of the elements of arguments in element type `dtype` (that of the result unless given)."""
    within = dtype or out.dtype
    return compute(lambda *x: cast_to(f(*x), out.dtype), *(operand(a, within) for a in args), dtype=out.dtype)


def unary(*names: str) -> Callable[[Callable[[Expression], Expression]], Callable[[Expression], Expression]]:
    """Registers a function of one element, in the type of the result."""

    def register(f: Callable[[Expression], Expression]) -> Callable[[Expression], Expression]:
        op(*names)(lambda out, x: pointwise(f, out, x))
        return f

    return register


@op("add.Tensor", "add.Scalar")
def _add(out: Out, x: Any, y: Any, third: Any = 1, *, alpha: Any = None) -> Traced:
    factor = third if alpha is None else alpha
    if out.dtype == "bool":
        return pointwise(lambda a, b: a | b, out, x, y)
    if factor == 1:
        return pointwise(lambda a, b: a + b, out, x, y)
    return pointwise(lambda a, b, c: a + c * b, out, x, y, factor)


@op("sub.Tensor", "sub.Scalar")
def _sub(out: Out, x: Any, y: Any, third: Any = 1, *, alpha: Any = None) -> Traced:
    factor = third if alpha is None else alpha
    if factor == 1:
        return pointwise(lambda a, b: a - b, out, x, y)
    return pointwise(lambda a, b, c: a - c * b, out, x, y, factor)


@op("rsub.Tensor", "rsub.Scalar")
def _rsub(out: Out, x: Any, y: Any, third: Any = 1, *, alpha: Any = None) -> Traced:
    return _sub(out, y, x, third, alpha=alpha)


@op("mul.Tensor", "mul.Scalar")
def _mul(out: Out, x: Any, y: Any) -> Traced:
    return pointwise((lambda a, b: a & b) if out.dtype == "bool" else (lambda a, b: a * b), out, x, y)


@op("div.Tensor", "div.Scalar", "true_divide.Tensor")
def _div(out: Out, x: Any, y: Any) -> Traced:
    if isinstance(y, (int, float)) and not isinstance(y, bool):
        return pointwise(lambda a: a / float(y), out, x)
    return pointwise(lambda a, b: a / b, out, x, y)


@op("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(out: Out, x: Any, y: Any, *, rounding_mode: str | None = None) -> Traced:
    if rounding_mode is None:
        return _div(out, x, y)
    return pointwise(s.floor_divide if rounding_mode == "floor" else s.truncated_divide, out, x, y)


@op("floor_divide", "floor_divide.Scalar")
def _floor_divide(out: Out, x: Any, y: Any) -> Traced:
    return _div_mode(out, x, y, rounding_mode="floor")


@op("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def _remainder(out: Out, x: Any, y: Any) -> Traced:
    return pointwise(s.remainder, out, x, y)


@op("fmod.Tensor", "fmod.Scalar")
def _fmod(out: Out, x: Any, y: Any) -> Traced:
    return pointwise(s.truncated_remainder, out, x, y)


def _whole(f: Callable[[Expression], Expression]) -> Callable[[Expression], Expression]:
    return lambda x: f(x) if x.type == "real" else x


for _name in ("floor", "ceil", "trunc"):
    unary(_name)(_whole(e.floor if _name == "floor" else getattr(s, _name)))
unary("fix")(_whole(s.trunc))
unary("round")(_whole(s.round_even))


unary("abs")(s.absolute)
unary("neg")(lambda x: -x)


@unary("sign", "sgn")
def sign(x: Expression) -> Expression:
    """-1, 0 or 1; 0 for NaN too."""
    if x.type == "bool":
        return x
    if x.type[0] == "u":
        return s.sign(x)
    return e.select(x > 0, 1, e.select(x < 0, -1, 0))


unary("positive", "conj", "resolve_conj", "resolve_neg", "real")(lambda x: x)
unary("square")(s.square)


_ELEMENTARY: dict[str, Callable[[Expression], Expression]] = {
    "exp": e.exp, "log": e.log, "sqrt": e.sqrt, "rsqrt": e.rsqrt, "reciprocal": e.recip, "sin": e.sin, "cos": s.cos,
    "tan": lambda x: e.sin(x) / s.cos(x), "tanh": e.tanh, "erf": e.erf, "exp2": s.exp2, "log2": s.log2,
    "log10": s.log10, "log1p": s.log1p, "expm1": s.expm1, "sinh": s.sinh, "cosh": s.cosh, "asinh": s.asinh,
    "acosh": s.acosh, "atanh": s.atanh, "asin": s.asin, "acos": s.acos, "atan": s.atan,
    "deg2rad": lambda x: x * (math.pi / 180), "rad2deg": lambda x: x * (180 / math.pi),
    "frac": lambda x: x - s.trunc(x),
}  # fmt: skip
for _name, _f in _ELEMENTARY.items():
    unary(_name)(_f)


@op("atan2", "arctan2")
def _atan2(out: Out, y: Any, x: Any) -> Traced:
    return pointwise(e.atan2, out, y, x)


@op("hypot")
def _hypot(out: Out, x: Any, y: Any) -> Traced:
    return pointwise(s.hypot, out, x, y)


def _comparison(f: Callable[[Expression, Expression], Expression], *names: str) -> None:
    full = [f"{n}.{kind}" for n in names for kind in ("Tensor", "Scalar")]

    def compare(out: Out, x: Any, y: Any) -> Traced:
        within = promoted(x, y)
        if within == "bool":
            within = "u8"
        return pointwise(f, out, x, y, dtype=within)

    op(*full)(compare)


_comparison(lambda a, b: a < b, "lt", "less")
_comparison(lambda a, b: a <= b, "le", "less_equal")
_comparison(lambda a, b: a > b, "gt", "greater")
_comparison(lambda a, b: a >= b, "ge", "greater_equal")
_comparison(e.eq, "eq")
_comparison(e.ne, "ne", "not_equal")


def _extreme(name: str, f: Callable[[Expression, Expression], Expression], *, skips_nan: bool) -> None:
    def best(out: Out, x: Any, y: Any) -> Traced:
        if out.dtype == "bool":
            return pointwise((lambda a, b: a | b) if "max" in name else (lambda a, b: a & b), out, x, y)
        if skips_nan and ops.scalar_type(out.dtype) == "real":
            return pointwise(lambda a, b: e.select(s.isnan(a), b, e.select(s.isnan(b), a, f(a, b))), out, x, y)
        return pointwise(f, out, x, y)

    op(name)(best)


_extreme("maximum", e.maximum, skips_nan=False)
_extreme("minimum", e.minimum, skips_nan=False)
_extreme("fmax", e.maximum, skips_nan=True)
_extreme("fmin", e.minimum, skips_nan=True)


@op("clamp", "clamp.Tensor", "clip", "clip.Tensor")
def _clamp(out: Out, x: Any, low: Any = None, high: Any = None) -> Traced:
    given = x
    if low is not None:
        given = pointwise(e.maximum, out, given, low)
    return given if high is None else pointwise(e.minimum, out, given, high)


@op("clamp_min", "clamp_min.Tensor")
def _clamp_min(out: Out, x: Any, low: Any) -> Traced:
    return _clamp(out, x, low)


@op("clamp_max", "clamp_max.Tensor")
def _clamp_max(out: Out, x: Any, high: Any) -> Traced:
    return _clamp(out, x, None, high)


@op("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def _where(out: Out, condition: Any, x: Any, y: Any) -> Traced:
    arrays = (operand(condition, "bool"), operand(x, out.dtype), operand(y, out.dtype))
    return compute(e.select, *arrays, dtype=out.dtype)


@op("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(out: Out, x: Any, mask: Any, value: Any) -> Traced:
    return _where(out, mask, value, x)


def _logic(f: Callable[..., Expression], name: str) -> None:
    op(name)(lambda out, *x: pointwise(f, out, *x, dtype="bool"))


_logic(lambda a, b: a & b, "logical_and")
_logic(lambda a, b: a | b, "logical_or")
_logic(lambda a, b: a ^ b, "logical_xor")
_logic(lambda a: ~a, "logical_not")


def _bits(f: Callable[..., Expression], name: str) -> None:
    kinds = ("Tensor", "Scalar", "Scalar_Tensor")
    op(*(f"{name}.{k}" for k in kinds))(lambda out, x, y: pointwise(f, out, x, y))


_bits(lambda a, b: a & b, "bitwise_and")
_bits(lambda a, b: a | b, "bitwise_or")
_bits(lambda a, b: a ^ b, "bitwise_xor")
unary("bitwise_not")(lambda x: ~x)


def _shift(f: Callable[[Expression, Expression], Expression], full: Callable[[Expression], Expression]) -> Any:
    """A shift; counts of the width or more, or below 0, give what shifting every bit out gives."""

    def shifted(x: Expression, n: Expression) -> Expression:
        width = 8 * ops.BYTES[x.type]
        far = n >= width if x.type[0] == "u" else (n >= width) | (n < 0)
        return e.select(far, full(x), f(x, n))

    return lambda out, x, y: pointwise(shifted, out, x, y)


def _signs(x: Expression) -> Expression:
    return x * 0 if x.type[0] == "u" else e.select(x < 0, ~(x * 0), x * 0)


op("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "__lshift__.Tensor", "__lshift__.Scalar")(
    _shift(lambda x, n: x << n, lambda x: x * 0)
)
op("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "__rshift__.Tensor", "__rshift__.Scalar")(
    _shift(lambda x, n: x >> n, _signs)
)


def _finite_test(f: Callable[[Expression], Expression], otherwise: bool, name: str) -> None:
    def test(out: Out, x: Traced) -> Traced:
        real_valued = ops.scalar_type(x.dtype) == "real"
        return compute(lambda a: f(a) if real_valued else e.constant(otherwise), x, dtype="bool")

    op(name)(test)


_finite_test(s.isnan, False, "isnan")
_finite_test(s.isinf, False, "isinf")
_finite_test(s.isfinite, True, "isfinite")
_finite_test(lambda x: e.eq(x, INF), False, "isposinf")
_finite_test(lambda x: e.eq(x, -INF), False, "isneginf")


@op("nan_to_num")
def _nan_to_num(out: Out, x: Traced, nan: Any = None, high: Any = None, low: Any = None) -> Traced:
    if out.dtype not in ops.FLOATS:
        return x
    limits = finfo(out.dtype)
    top = limits.max if high is None else float(high)
    bottom = limits.min if low is None else float(low)
    given = 0.0 if nan is None else float(nan)
    return pointwise(
        lambda a: e.select(s.isnan(a), given, e.select(e.eq(a, INF), top, e.select(e.eq(a, -INF), bottom, a))), out, x
    )


@op("pow.Tensor_Scalar")
def _pow_scalar(out: Out, x: Any, y: Any) -> Traced:
    integer = ops.scalar_type(out.dtype) != "real"
    if isinstance(y, (int, float)) and y == int(y) and abs(y) <= 16 and (not integer or y >= 0):
        return pointwise(lambda a: a ** int(y), out, x)
    if y in (0.5, -0.5):
        return pointwise(e.sqrt if y > 0 else e.rsqrt, out, x)
    return pointwise(s.whole_power if integer else s.power, out, x, y)


@op("pow.Tensor_Tensor", "pow.Scalar", "float_power.Tensor_Tensor", "float_power.Tensor_Scalar")
def _pow(out: Out, x: Any, y: Any) -> Traced:
    return pointwise(s.power if ops.scalar_type(out.dtype) == "real" else s.whole_power, out, x, y)


@op("lerp.Scalar", "lerp.Tensor")
def _lerp(out: Out, x: Any, y: Any, weight: Any) -> Traced:
    return pointwise(lambda a, b, w: a + w * (b - a), out, x, y, weight)


@op("addcmul")
def _addcmul(out: Out, x: Any, y: Any, z: Any, *, value: Any = 1) -> Traced:
    return pointwise(lambda a, b, c, f: a + f * b * c, out, x, y, z, value)


@op("addcdiv")
def _addcdiv(out: Out, x: Any, y: Any, z: Any, *, value: Any = 1) -> Traced:
    return pointwise(lambda a, b, c, f: a + f * b / c, out, x, y, z, value)


@op("logaddexp")
def _logaddexp(out: Out, x: Any, y: Any) -> Traced:
    return pointwise(s.logaddexp, out, x, y)


@op("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self")
def _xlogy(out: Out, x: Any, y: Any) -> Traced:
    return pointwise(lambda a, b: e.select(s.isnan(b), b, e.select(e.eq(a, 0.0), 0.0, a * e.log(b))), out, x, y)


@op("signbit")
def _signbit(out: Out, x: Traced) -> Traced:
    return compute(lambda a: e.constant(False) if a.type == "bool" else s.signbit(a), x, dtype="bool")


@op("copysign.Tensor", "copysign.Scalar")
def _copysign(out: Out, x: Any, y: Any) -> Traced:
    return pointwise(s.copysign, out, x, y)


@op("heaviside")
def _heaviside(out: Out, x: Any, y: Any) -> Traced:
    return pointwise(lambda a, b: e.select(e.eq(a, 0), b, cast_to(a > 0, out.dtype)), out, x, y)


@op("dropout", "feature_dropout", "alpha_dropout", "native_dropout")
def _dropout(out: Out, x: Traced, p: float, train: Any) -> Any:
    if train and p:
        raise fail("dropout while training draws random numbers", "call model.eval() first")
    return x if len(out.dtypes) == 1 else (x, pointwise(lambda a: e.constant(True), out, x, dtype="bool"))


def scaled(x: Traced, factor: Any, dtype: str) -> Traced:
    """`x` times a number or size."""
    return x if factor == 1 else compute(lambda a: a * real(factor), x, dtype=dtype)
