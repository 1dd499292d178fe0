"""Quantised arrays: integers with scale and zero point, of the whole, of each element of an axis, or of blocks."""

from __future__ import annotations

from tang_egg import array_scalar as s
from tang_egg import expression as e
from tang_egg import library_conv, monoid, ops, traced, traced_view
from tang_egg.expression import Expression, value
from tang_egg.importers.onnx_call import Call, Table, fixed
from tang_egg.importers.onnx_contract import matmul
from tang_egg.importers.onnx_elementwise import converted
from tang_egg.importers.onnx_reduce import largest, smallest
from tang_egg.importers.onnx_value import Known, Unsupported, Value, element_type
from tang_egg.importers.onnx_window import window
from tang_egg.traced import Traced, compute, fold

OPERATORS = Table()


def aligned(call: Call, x: Traced, parameter: Traced, axis: int, block: int) -> Traced:
    """A scale or zero point that broadcasts against `x`: of the whole, of an axis, or of blocks along an axis."""
    if parameter.ndim == 0 or (parameter.ndim == 1 and parameter.extents[0].value == 1 and not block):
        return traced_view.reshape(parameter, ())
    axis = call.axis(axis, x.ndim)
    if not block:
        if parameter.ndim != 1 or parameter.extents[0] is not x.extents[axis]:
            raise call.wrong(f"a parameter of shape {parameter.shape} for axis {axis} of {x.shape}")
        return traced_view.reshape(parameter, [parameter.extents[0], *(1,) * (x.ndim - axis - 1)])
    if block < 1 or parameter.ndim != x.ndim:
        raise call.wrong(f"blocks of {block} with parameters of shape {parameter.shape}")
    size, count = x.extents[axis].value, parameter.extents[axis].value
    if size is None or count is None or -(-size // block) != count:
        raise call.wrong(f"{parameter.extents[axis]} blocks of {block} for an axis of {x.extents[axis]}")
    return traced_view.along(parameter, axis, size, lambda c: value(c) // block)


def quotient(x: Traced, scale: Traced) -> Traced:
    """x / scale as that type has it: rounded, since the rounding decides which quotients are ties."""
    kind = x.dtype if x.dtype in ("f16", "bf16", "f64") else "f32"
    wide = converted(x, "f64") if x.dtype in ops.FLOATS else x
    return compute(lambda a, b: e.cast((a if a.type == "real" else e.cast(a, "real")) / b, kind), wide,
                   converted(scale, "f64"), dtype=kind, hint="ratio")  # fmt: skip


def quantised(ratio: Traced, zero: Traced | None, dtype: str) -> Traced:
    """round(ratio) + zero, bounded to the type; halves go to the even integer."""
    low, high = float(monoid.lowest(dtype)), float(monoid.highest(dtype))

    def f(x: Expression, z: Expression | None = None) -> Expression:
        whole = s.round_even(x)
        if z is not None:
            whole = whole + e.cast(z, "real")
        return e.cast(e.maximum(e.minimum(whole, high), low), dtype)

    arrays = (ratio,) if zero is None else (ratio, zero)
    return compute(f, *arrays, dtype=dtype, hint="quantised")


@OPERATORS.add("QuantizeLinear", 28)
def quantize_linear(call: Call) -> Value:
    x = call.x(0)
    axis, block = call.integer("axis", 1), call.integer("block_size", 0)
    scale = aligned(call, x, call.x(1), axis, block)
    zero = aligned(call, x, call.x(2), axis, block) if call.given(2) else None
    dtype = zero.dtype if zero is not None else element_type(call.integer("output_dtype", 0) or 2)
    if dtype not in ops.INTEGERS:
        raise Unsupported(f"quantisation to {dtype}")
    return quantised(quotient(x, scale), zero, dtype)


@OPERATORS.add("DynamicQuantizeLinear", 11)
def dynamic_quantize_linear(call: Call) -> tuple[Value, ...]:
    """u8 with a scale and a zero point that the extremes of the array decide."""
    x = call.x(0)
    every = range(x.ndim)
    low = fold(lambda over, a: e.minimum(smallest(over, a), 0.0), x, every, x.dtype, hint="low")
    high = fold(lambda over, a: e.maximum(largest(over, a), 0.0), x, every, x.dtype, hint="high")
    # The scale is what is stored: rounded to f32, so that ties fall as they do for who reads it.
    scale = compute(lambda a, b: e.cast((b - a) / 255.0, "f32"), low, high, dtype=x.dtype, hint="scale")
    start = quotient(compute(lambda a: -a, low, dtype=x.dtype, hint="low"), scale)
    zero = quantised(start, None, "u8")
    return quantised(quotient(x, scale), zero, "u8"), scale, zero


@OPERATORS.add("DequantizeLinear", 28)
def dequantize_linear(call: Call) -> Value:
    x, given = call.x(0), call.x(1)
    axis, block = call.integer("axis", 1), call.integer("block_size", 0)
    scale = aligned(call, x, given, axis, block)
    dtype = element_type(call.integer("output_dtype")) if call.integer("output_dtype", 0) else given.dtype
    if not call.given(2):
        return compute(lambda a, b: e.cast(a, "real") * b, x, scale, dtype=dtype, hint="real")
    zero = aligned(call, x, call.x(2), axis, block)
    return compute(
        lambda a, b, z: (e.cast(a, "real") - e.cast(z, "real")) * b, x, scale, zero, dtype=dtype, hint="real"
    )


def _less_zero(x: Traced, zero: Traced | None) -> Traced:
    """x - zero as i32."""
    wide = converted(x, "i32")
    return wide if zero is None else compute(lambda a, z: a - z, wide, converted(zero, "i32"), dtype="i32", hint="less")


def _zero(call: Call, n: int) -> Traced | None:
    """Input `n`, a zero point; None where it is absent, or known to be 0."""
    if not call.given(n):
        return None
    value = call.tensor_value(n)
    return None if isinstance(value, Known) and not value.array.any() else call.x(n)


def _rows(parameter: Traced | None, columns: bool = False) -> Traced | None:
    """A parameter of each row of a matrix (or of each column) that broadcasts against it."""
    if parameter is None or parameter.ndim == 0:
        return parameter
    if parameter.ndim == 1 and parameter.extents[0].value == 1:
        return traced_view.reshape(parameter, ())
    return parameter if columns or parameter.ndim > 1 else traced_view.expand_dims(parameter, 1)


@OPERATORS.add("MatMulInteger", 10)
def matmul_integer(call: Call) -> Value:
    a, b = _less_zero(call.x(0), _rows(_zero(call, 2))), _less_zero(call.x(1), _rows(_zero(call, 3), True))
    return matmul(a, b)


@OPERATORS.add("QLinearMatMul", 21)
def q_linear_matmul(call: Call) -> Value:
    a, b = _less_zero(call.x(0), _rows(_zero(call, 2))), _less_zero(call.x(3), _rows(_zero(call, 5), True))
    total = matmul(a, b)
    left, right, result = _rows(call.x(1)), _rows(call.x(4), True), _rows(call.x(6))
    zero = _rows(call.x(7))
    assert left is not None and right is not None and result is not None
    scales = [converted(v, "f64") for v in (left, right, result)]
    ratio = compute(lambda t, x, y, z: e.cast(t, "real") * (x * y / z), total, *scales, dtype="f64", hint="ratio")
    return quantised(ratio, zero, call.x(7).dtype)


def _integer_conv(call: Call, x: Traced, w: Traced) -> Traced:
    if x.ndim < 3 or w.ndim != x.ndim:
        raise call.wrong(f"a convolution of shapes {x.shape} and {w.shape}")
    strides, pads, dilations = window(call, x, fixed(w, "a kernel")[2:])
    found = library_conv.conv(traced.to_array(x), traced.to_array(w), stride=strides, padding=pads, dilation=dilations,
                              groups=call.integer("group", 1))  # fmt: skip
    return traced.of(found)


def _channels(parameter: Traced | None, rank: int) -> Traced | None:
    """A parameter of each output channel that broadcasts against weights."""
    if parameter is None or parameter.ndim == 0 or parameter.extents[0].value == 1:
        return None if parameter is None else traced_view.reshape(parameter, ())
    return traced_view.reshape(parameter, [parameter.extents[0], *(1,) * (rank - 1)])


@OPERATORS.add("ConvInteger", 10)
def conv_integer(call: Call) -> Value:
    x, w = call.x(0), call.x(1)
    return _integer_conv(
        call, _less_zero(x, _channels(call.optional(2), x.ndim)), _less_zero(w, _channels(call.optional(3), w.ndim))
    )


@OPERATORS.add("QLinearConv", 10)
def q_linear_conv(call: Call) -> Value:
    x, w = call.x(0), call.x(3)
    total = _integer_conv(
        call, _less_zero(x, _channels(call.x(2), x.ndim)), _less_zero(w, _channels(call.x(5), w.ndim))
    )
    rank = x.ndim
    if call.given(8):
        total = compute(lambda a, b: a + b, total, _on_channels(call.x(8), rank), dtype="i32", hint="biased")
    scales = [converted(_on_channels(call.x(n), rank), "f64") for n in (1, 4, 6)]
    ratio = compute(lambda t, x, y, z: e.cast(t, "real") * (x * y / z), total, *scales, dtype="f64", hint="ratio")
    return quantised(ratio, _on_channels(call.x(7), rank), call.x(7).dtype)


def _on_channels(parameter: Traced, rank: int) -> Traced:
    """A parameter of each channel that broadcasts against the result of a convolution."""
    if parameter.ndim == 0 or parameter.extents[0].value == 1:
        return traced_view.reshape(parameter, ())
    return traced_view.reshape(parameter, [parameter.extents[0], *(1,) * (rank - 2)])
