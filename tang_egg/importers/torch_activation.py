"""Activation functions of ATen."""

from __future__ import annotations

from typing import Any

from tang_egg import expression as e
from tang_egg.array_scalar import expm1, log1p
from tang_egg.expression import Expression
from tang_egg.importers.torch_pointwise import pointwise, unary
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, operand
from tang_egg.traced import Traced, axis_of
from tang_egg.traced_view import expand_dims, sliced

unary("sigmoid")(e.sigmoid)
unary("silu")(e.silu)
unary("relu6")(lambda x: e.minimum(e.maximum(x, 0.0), 6.0))
unary("hardswish")(lambda x: x * (e.minimum(e.maximum(x + 3.0, 0.0), 6.0) / 6.0))
unary("hardsigmoid")(lambda x: e.minimum(e.maximum(x + 3.0, 0.0), 6.0) / 6.0)
unary("softsign")(lambda x: x / (abs(x) + 1.0))
unary("tanhshrink")(lambda x: x - e.tanh(x))
unary("log_sigmoid")(lambda x: e.minimum(x, 0.0) - log1p(e.exp(-abs(x))))
unary("mish")(lambda x: x * e.tanh(softplus(x)))
unary("selu")(lambda x: e.select(x > 0.0, x, expm1(x) * 1.6732632423543772) * 1.0507009873554805)


def softplus(x: Expression) -> Expression:
    """log(1 + exp(x))."""
    return e.maximum(x, 0.0) + log1p(e.exp(-abs(x)))


@op("relu")
def _relu(out: Out, x: Any) -> Traced:
    return pointwise(lambda a: e.maximum(a, 0), out, x)


@op("gelu")
def _gelu(out: Out, x: Any, *, approximate: str = "none") -> Traced:
    return pointwise(e.gelu if approximate == "none" else e.gelu_tanh, out, x)


@op("hardtanh")
def _hardtanh(out: Out, x: Any, low: Any = -1.0, high: Any = 1.0) -> Traced:
    return pointwise(lambda a, b, c: e.minimum(e.maximum(a, b), c), out, x, low, high)


@op("leaky_relu")
def _leaky_relu(out: Out, x: Any, slope: float = 0.01) -> Traced:
    return pointwise(lambda a: e.select(a > 0.0, a, a * float(slope)), out, x)


@op("elu")
def _elu(out: Out, x: Any, alpha: float = 1.0, scale: float = 1.0, inner: float = 1.0) -> Traced:
    def f(a: Expression) -> Expression:
        low = expm1(a * float(inner)) * float(alpha)
        return e.select(a > 0.0, a, low) * float(scale)

    return pointwise(f, out, x)


@op("celu")
def _celu(out: Out, x: Any, alpha: float = 1.0) -> Traced:
    return _elu(out, x, alpha, 1.0, 1.0 / alpha)


@op("softplus")
def _softplus(out: Out, x: Any, beta: float = 1.0, threshold: float = 20.0) -> Traced:
    def f(a: Expression) -> Expression:
        scaled = a * float(beta)
        return e.select(scaled > float(threshold), a, softplus(scaled) / float(beta))

    return pointwise(f, out, x)


@op("log_sigmoid_forward")
def _log_sigmoid_forward(out: Out, x: Any) -> tuple[Traced, Traced]:
    y = pointwise(lambda a: e.minimum(a, 0.0) - log1p(e.exp(-abs(a))), out, x)
    return y, operand(x, out.dtypes[1])


@op("prelu", "_prelu_kernel")
def _prelu(out: Out, x: Traced, slope: Traced) -> Traced:
    if slope.ndim == 1 and x.ndim > 2:
        for _ in range(x.ndim - 2):
            slope = expand_dims(slope, -1)
    return pointwise(lambda a, b: e.select(a > 0.0, a, a * b), out, x, slope)


@op("threshold")
def _threshold(out: Out, x: Any, level: Any, value: Any) -> Traced:
    return pointwise(lambda a, b, c: e.select(a <= b, c, a), out, x, level, value)


@op("hardshrink")
def _hardshrink(out: Out, x: Any, size: float = 0.5) -> Traced:
    return pointwise(lambda a: e.select(abs(a) <= float(size), 0.0, a), out, x)


@op("softshrink")
def _softshrink(out: Out, x: Any, size: float = 0.5) -> Traced:
    s = float(size)
    return pointwise(lambda a: e.select(a > s, a - s, e.select(a < -s, a + s, a * 0.0)), out, x)


@op("glu")
def _glu(out: Out, x: Traced, dim: int = -1) -> Traced:
    axis = axis_of(x, dim)
    half = out.shape[axis]
    return pointwise(lambda a, b: a * e.sigmoid(b), out, sliced(x, axis, 0, half), sliced(x, axis, half, half))
