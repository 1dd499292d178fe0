"""Traced arrays from nothing but a shape and numbers, by the names and meanings of the Array API."""

from __future__ import annotations

import builtins
import math
from typing import Any

from tang_egg import ops
from tang_egg import traced as tr
from tang_egg.affine import Affine, AffineLike, Dim, affine
from tang_egg.array_constants import Like, operand
from tang_egg.array_shape import Shape, shape_of
from tang_egg.array_types import as_type, astype, dtype_of, is_number, number_as, type_of_number
from tang_egg.expression import Expression, cast, value
from tang_egg.traced import Traced, fail, positions
from tang_egg.traced_factor import plus, times

DEFAULT = "f64"
"""The element type of arrays for which none is asked, as in NumPy."""


def asarray(x: Like, /, *, dtype: object = None, copy: bool | None = None) -> Traced:
    """What stands for an array as one: NumPy arrays become constants of the program that is being traced."""
    found = operand(x)
    return found if dtype is None else astype(found, dtype)


def zeros(shape: Shape, *, dtype: object = DEFAULT) -> Traced:
    return tr.full(shape_of(shape), 0, dtype_of(dtype))


def ones(shape: Shape, *, dtype: object = DEFAULT) -> Traced:
    return tr.full(shape_of(shape), 1, dtype_of(dtype))


def empty(shape: Shape, *, dtype: object = DEFAULT) -> Traced:
    """Zeros: nothing here is left open."""
    return zeros(shape, dtype=dtype)


def full(shape: Shape, fill_value: Any, *, dtype: object = None) -> Traced:
    """An array of one value."""
    if is_number(fill_value):
        one = number_as(fill_value, type_of_number(fill_value) if dtype is None else dtype_of(dtype))
    else:
        one = operand(fill_value) if dtype is None else as_type(operand(fill_value), dtype_of(dtype))
    return tr.broadcast_to(one, shape_of(shape))


def zeros_like(x: Like, /, *, dtype: object = None) -> Traced:
    given = operand(x)
    return zeros(given.extents, dtype=given.dtype if dtype is None else dtype)


def ones_like(x: Like, /, *, dtype: object = None) -> Traced:
    given = operand(x)
    return ones(given.extents, dtype=given.dtype if dtype is None else dtype)


def empty_like(x: Like, /, *, dtype: object = None) -> Traced:
    return zeros_like(x, dtype=dtype)


def full_like(x: Like, /, fill_value: Any, *, dtype: object = None) -> Traced:
    given = operand(x)
    return full(given.extents, fill_value, dtype=given.dtype if dtype is None else dtype)


def eye(n_rows: AffineLike, n_cols: AffineLike | None = None, /, *, k: int = 0, dtype: object = DEFAULT) -> Traced:
    """1 on the k-th diagonal, else 0."""
    kind = dtype_of(dtype)
    columns = n_rows if n_cols is None else n_cols

    def at(i: Any, j: Any) -> Expression:
        from tang_egg.expression import eq, select

        shifted = plus(i, k)
        forms = isinstance(shifted, Affine) and isinstance(j, Affine)
        on = eq(shifted, j) if forms else eq(value(shifted), value(j))
        if kind == "bool":
            return on
        zero, one = (number_as(n, kind).at(()) for n in (0, 1))
        return select(on, one, zero)

    return positions((n_rows, columns), at, kind)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: object = None) -> Traced:
    """start, start + step, ... before stop; 0 is the start where only one number is given. Extents may be dims."""
    if stop is None:
        start, stop = 0, start
    for end in (start, stop, step):
        if not is_number(end):
            raise fail(f"a range with the end {end!r}", "give numbers and dims")
    if step == 0:
        raise fail("a range by steps of 0", "give a step other than 0")
    numbers = (start, stop, step)
    whole = not builtins.any(isinstance(n, float) for n in numbers)
    kind = ("i64" if whole else DEFAULT) if dtype is None else dtype_of(dtype)
    if builtins.any(isinstance(n, (Affine, Dim)) for n in numbers):
        if not whole or isinstance(step, (Affine, Dim)):
            raise fail("a range of symbolic ends with a step that is no integer", "use integers and dims")
        size = _count(affine(stop) - affine(start), int(step))
    else:
        size = affine(builtins.max(0, math.ceil((stop - start) / step)))
    if whole:
        first, by = affine(start), int(step)
        return positions([size], lambda i: plus(times(i, by), first), kind)
    low, width = float(start), float(step)
    found = positions([size], lambda i: cast(value(i), "real") * width + low, "f64")
    return as_type(found, kind)


def _count(span: Affine, step: int) -> Affine:
    span, step = (span, step) if step > 0 else (-span, -step)
    if builtins.any(c % step for m, c in span.terms if m):
        raise fail(f"a range over {span} by steps of {step} has no extent that is a sum of dimensions",
                   f"write the extent as a multiple of the step: ({step} * n)")  # fmt: skip
    return Affine.of({m: c // step for m, c in span.terms if m}) + -(-span.constant // step)


def linspace(start: float, stop: float, /, num: int, *, dtype: object = None, endpoint: bool = True) -> Traced:
    """`num` numbers, evenly spaced from start to stop (before stop without `endpoint`)."""
    kind = DEFAULT if dtype is None else dtype_of(dtype)
    if not isinstance(num, int) or num < 0:
        raise fail(f"{num!r} points", "give a whole number from 0")
    parts = builtins.max(num - 1 if endpoint else num, 1)
    low, width = float(start), (float(stop) - float(start)) / parts

    def at(i: Any) -> Expression:
        from tang_egg.expression import eq, select

        place = cast(value(i), "real") * width + low
        return select(eq(value(i), num - 1), float(stop), place) if endpoint and num > 1 else place

    found = positions([num], at, "f64")
    return as_type(found, kind) if kind in ops.FLOATS else astype(found, kind)


def indices(shape: Shape, *, dtype: object = "i64") -> list[Traced]:
    """For each axis of a shape, the array of positions along it."""
    sizes = shape_of(shape)
    return [positions(sizes, lambda *c, p=p: c[p], dtype_of(dtype)) for p in range(len(sizes))]
