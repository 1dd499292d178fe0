"""Operators of ATen that make tensors of constants and positions."""

from __future__ import annotations

from typing import Any

from tang_egg import expression as e
from tang_egg import ops
from tang_egg.affine import Affine, affine
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, known, number, operand, real
from tang_egg.traced import Traced, broadcast_to, cast_to, fail, full, positions


def _filled(out: Out, value: Any) -> Traced:
    return broadcast_to(operand(value, out.dtype), out.shape)


@op("full", "new_full", "full_like")
def _full(out: Out, _: Any, *given: Any, **__: Any) -> Traced:
    return _filled(out, given[-1])


@op("fill.Scalar", "fill.Tensor")
def _fill(out: Out, _: Any, value: Any) -> Traced:
    return _filled(out, value)


@op("scalar_tensor")
def _scalar_tensor(out: Out, value: Any) -> Traced:
    return operand(value, out.dtype)


# the elements of `empty` may be anything: they are 0 here
@op("zeros", "new_zeros", "zeros_like", "zero", "empty.memory_format", "empty_like", "new_empty", "empty_strided",
    "new_empty_strided")  # fmt: skip
def _zeros(out: Out, *_: Any, **__: Any) -> Traced:
    return full(out.shape, 0, out.dtype)


@op("ones", "new_ones", "ones_like")
def _ones(out: Out, *_: Any, **__: Any) -> Traced:
    return full(out.shape, 1, out.dtype)


def _range(out: Out, start: Any, step: Any) -> Traced:
    if ops.scalar_type(out.dtype) == "real":
        begin, by = (number(x, out.dtype) if isinstance(x, (int, float)) else real(x) for x in (start, step))
        return positions(out.shape, lambda i: real(i) * by + begin, out.dtype)
    first, stride = affine(start), known(step, "the step of a range")
    return positions(out.shape, lambda i: cast_to(i * stride + first, out.dtype), out.dtype)


@op("arange")
def _arange(out: Out, _: Any, **__: Any) -> Traced:
    return _range(out, 0, 1)


@op("arange.start")
def _arange_start(out: Out, start: Any, _: Any, **__: Any) -> Traced:
    return _range(out, start, 1)


@op("arange.start_step")
def _arange_step(out: Out, start: Any, _: Any, step: Any = 1, **__: Any) -> Traced:
    return _range(out, start, step)


@op("linspace")
def _linspace(out: Out, start: Any, end: Any, steps: Any, **_: Any) -> Traced:
    n = known(steps, "the number of steps")
    if ops.scalar_type(out.dtype) != "real":
        raise fail("a linspace of integers", "make it of floats")
    begin, last = number(start, out.dtype), number(end, out.dtype)
    by = number((last - begin) / (n - 1), out.dtype) if n > 1 else 0.0

    def value(i: Affine) -> Any:
        # from both ends, so that the last value is exact
        return e.select(i < affine(n // 2), real(i) * by + begin, real(affine(n - 1) - i) * -by + last)

    return full(out.shape, begin, out.dtype) if n == 1 else positions(out.shape, value, out.dtype)


@op("eye", "eye.m")
def _eye(out: Out, *_: Any, **__: Any) -> Traced:
    return positions(out.shape, lambda i, j: e.eq(i, j), out.dtype)


@op("tril_indices", "triu_indices")
def _triangle_indices(out: Out, *_: Any, **__: Any) -> Traced:
    raise fail("the positions of a triangle as a tensor", "build a mask by arange and a comparison")
