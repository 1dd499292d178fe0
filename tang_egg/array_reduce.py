"""Folds of traced arrays along axes, by the names and meanings of the Array API.

`axis` is an integer, a tuple of them, or None for all; `keepdims` keeps folded axes with one element. A fold over no
elements is the identity of its monoid: 0, 1, -inf for a maximum, NaN for a mean. Integers and bools add up in 64 bits.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tang_egg import array_elementwise as el
from tang_egg import notation as te
from tang_egg.affine import Affine, Index, affine, axes_over, product
from tang_egg.array_constants import Like, operand
from tang_egg.array_types import accumulator, as_type, astype, dtype_of, floating, truth
from tang_egg.expression import Expression, Value, cast, value
from tang_egg.notation import Array
from tang_egg.traced import Traced, axis_of, copied, fail, fold, full, of, to_array
from tang_egg.traced_view import along, concatenate, reshape

Axis: TypeAlias = "int | Sequence[int] | None"
Bound: TypeAlias = "tuple[Index, ...]"


def axes_in(x: Traced, axis: Axis) -> tuple[int, ...]:
    """The positions of some axes: all for None. Raises GraphError where one is named twice or does not exist."""
    if axis is None:
        return tuple(range(x.ndim))
    found = tuple(axis_of(x, a) for a in ((axis,) if isinstance(axis, int) else axis))
    if len(set(found)) < len(found):
        raise fail(f"axis {axis} names one axis twice", "name each axis once")
    return found


def folded(
    f: Callable[[Bound, Expression], Expression], x: Traced, axis: Axis, dtype: str, keepdims: bool, hint: str
) -> Traced:
    """A fold `f(indices, element)` along axes. Over axes of one element it is that element."""
    return fold(lambda over, a: f(over, a) if over else a, x, axes_in(x, axis), dtype, keepdims=keepdims, hint=hint)


def _total(x: Like, dtype: object, float_kind: Callable[[str], str]) -> tuple[Traced, str]:
    """An array in the type in which it is folded."""
    given = operand(x)
    kind = float_kind(given.dtype) if dtype is None else dtype_of(dtype)
    return (astype(given, kind) if dtype is not None else as_type(given, kind)), kind


def sum(x: Like, /, *, axis: Axis = None, dtype: object = None, keepdims: bool = False) -> Traced:
    """The sum along axes."""
    given, kind = _total(x, dtype, accumulator)
    if kind == "bool":
        return any(given, axis=axis, keepdims=keepdims)
    return folded(te.sum, given, axis, kind, keepdims, "total")


def prod(x: Like, /, *, axis: Axis = None, dtype: object = None, keepdims: bool = False) -> Traced:
    """The product along axes."""
    given, kind = _total(x, dtype, accumulator)
    if kind == "bool":
        return all(given, axis=axis, keepdims=keepdims)
    return folded(te.prod, given, axis, kind, keepdims, "product")


def max(x: Like, /, *, axis: Axis = None, keepdims: bool = False) -> Traced:
    """The largest element along axes; NaN where one is."""
    given = operand(x)
    if given.dtype == "bool":
        return any(given, axis=axis, keepdims=keepdims)
    return folded(te.max, given, axis, given.dtype, keepdims, "largest")


def min(x: Like, /, *, axis: Axis = None, keepdims: bool = False) -> Traced:
    """The smallest element along axes; NaN where one is."""
    given = operand(x)
    if given.dtype == "bool":
        return all(given, axis=axis, keepdims=keepdims)
    return folded(te.min, given, axis, given.dtype, keepdims, "smallest")


def any(x: Like, /, *, axis: Axis = None, keepdims: bool = False) -> Traced:
    """Whether some element along axes is not zero."""
    return folded(te.any, as_type(operand(x), "bool"), axis, "bool", keepdims, "some")


def all(x: Like, /, *, axis: Axis = None, keepdims: bool = False) -> Traced:
    """Whether every element along axes is not zero."""
    return folded(te.all, as_type(operand(x), "bool"), axis, "bool", keepdims, "every")


def count_nonzero(x: Like, /, *, axis: Axis = None, keepdims: bool = False) -> Traced:
    """The number of elements that are not zero, i64."""
    given = operand(x)

    def f(over: Bound, a: Expression) -> Expression:
        one = cast(truth(a), "i64")
        return te.sum(over, one) if over else one

    return fold(f, given, axes_in(given, axis), "i64", keepdims=keepdims, hint="count")


def count_of(x: Traced, axes: Sequence[int]) -> Affine:
    """The number of elements that a fold along axes takes."""
    return product([x.extents[a] for a in axes])


def mean(x: Like, /, *, axis: Axis = None, keepdims: bool = False, dtype: object = None) -> Traced:
    """The mean along axes."""
    given, kind = _total(x, dtype, floating)
    axes = axes_in(given, axis)
    count = te.size(count_of(given, axes))
    known = count_of(given, axes).value
    divided: Callable[[Expression], Expression] = (lambda s: s / float(known)) if known else (lambda s: s / count)
    return fold(lambda over, a: divided(te.sum(over, a)) if over else a, given, axes, kind, keepdims=keepdims,
                hint="mean")  # fmt: skip


def var(x: Like, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Traced:
    """Σ (x - mean)² / (n - correction) along axes."""
    given, kind = _total(x, None, floating)
    axes = axes_in(given, axis)
    centred = el.subtract(given, mean(given, axis=axes, keepdims=True))
    count = count_of(given, axes)
    left: Value
    if count.value is not None:
        left = float(builtins.max(count.value - correction, 0.0))
    elif float(correction).is_integer():
        left = te.size(count - int(correction))
    else:
        left = te.size(count) - correction

    def f(over: Bound, a: Expression) -> Expression:
        square = a * a
        return (te.sum(over, square) if over else square) / left

    return fold(f, centred, axes, kind, keepdims=keepdims, hint="variance")


def std(x: Like, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Traced:
    """The square root of the variance along axes."""
    return el.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _extreme(which: Callable[..., Expression], x: Like, axis: int | None, keepdims: bool, hint: str) -> Traced:
    given = operand(x)
    if given.dtype == "bool":
        given = as_type(given, "u8")
    axes = axes_in(given, axis)
    return fold(
        lambda over, a: which(over, a) if over else value(affine(0)), given, axes, "i64", keepdims=keepdims, hint=hint
    )


def argmax(x: Like, /, *, axis: int | None = None, keepdims: bool = False) -> Traced:
    """The position of the largest element, the first of equal ones and of NaN; in row-major order for axis None."""
    return _extreme(te.argmax, x, axis, keepdims, "argmax")


def argmin(x: Like, /, *, axis: int | None = None, keepdims: bool = False) -> Traced:
    """The position of the smallest element, the first of equal ones and of NaN; in row-major order for axis None."""
    return _extreme(te.argmin, x, axis, keepdims, "argmin")


def logsumexp(x: Like, /, *, axis: Axis = None, keepdims: bool = False) -> Traced:
    """log Σ exp(x) along axes: max x + log Σ exp(x - max x); -inf for rows of -inf."""
    given, _ = _total(x, None, floating)
    axes = axes_in(given, axis)
    largest = max(given, axis=axes, keepdims=True)
    weights = el.exp(el.subtract(given, largest))
    total = el.log(sum(weights, axis=axes, keepdims=True))
    result = el.where(el.isinf(largest), largest, el.add(largest, total))
    return result if keepdims else reshape(result, [s for p, s in enumerate(result.extents) if p not in axes])


def softmax(x: Like, /, *, axis: int = -1) -> Traced:
    """exp(x - max x) / Σ exp(x - max x) along an axis."""
    given, _ = _total(x, None, floating)
    weights = el.exp(el.subtract(given, max(given, axis=axis, keepdims=True)))
    return el.divide(weights, sum(weights, axis=axis, keepdims=True))


def log_softmax(x: Like, /, *, axis: int = -1) -> Traced:
    """x - max x - log Σ exp(x - max x) along an axis."""
    given, _ = _total(x, None, floating)
    centred = el.subtract(given, max(given, axis=axis, keepdims=True))
    return el.subtract(centred, el.log(sum(el.exp(centred), axis=axis, keepdims=True)))


def plain(x: Traced) -> Traced:
    """`x` with one factor for each axis: as it is, or as a tensor."""
    return x if builtins.all(len(g) <= 1 for g in x.factors) else of(to_array(x))


def prefix(
    f: Callable[..., Expression], x: Traced, axis: int, dtype: str, hint: str, exclusive: bool = False
) -> Traced:
    """`f(index, element, where)` folded over the elements up to each one along an axis (before it if `exclusive`)."""
    p = axis_of(x, axis)
    x = plain(x)
    if not x.factors[p] and not exclusive:
        return copied(x, hint)
    axes = axes_over(x.flat)
    place = builtins.sum(len(g) for g in x.factors[:p])
    s = Index("s", x.extents[p])
    inner = [affine(s) if n == place else affine(i) for n, i in enumerate(axes)]
    last = affine(axes[place]) if x.factors[p] else affine(0)
    if not x.factors[p]:
        inner = [affine(i) for i in axes]
    body = f(s, x.at(inner), s < last if exclusive else s <= last)
    array = te.tensor(None, axes, body, dtype, hint=hint)
    return _over(array, x)


def _over(array: Array, x: Traced) -> Traced:
    return Traced(x.factors, lambda c: array[tuple(c)], array.dtype, array if builtins.all(x.factors) else None)


def _cumulative(
    f: Callable[..., Expression], x: Like, axis: int | None, dtype: object, include_initial: bool, unit: int, hint: str
) -> Traced:
    given, kind = _total(x, dtype, accumulator)
    if axis is None:
        if given.ndim != 1:
            raise fail(f"a cumulative {hint} of {given.ndim} axes without an axis", "name the axis")
        axis = 0
    result = prefix(f, given, axis, kind, f"cumulative_{hint}")
    if not include_initial:
        return result
    p = axis_of(given, axis)
    first = full([1 if n == p else s for n, s in enumerate(given.extents)], unit, kind)
    return concatenate([first, result], p)


def cumulative_sum(
    x: Like, /, *, axis: int | None = None, dtype: object = None, include_initial: bool = False
) -> Traced:
    """The sums of the elements up to each one along an axis."""
    return _cumulative(te.sum, x, axis, dtype, include_initial, 0, "sum")


def cumulative_prod(
    x: Like, /, *, axis: int | None = None, dtype: object = None, include_initial: bool = False
) -> Traced:
    """The products of the elements up to each one along an axis."""
    return _cumulative(te.prod, x, axis, dtype, include_initial, 1, "product")


def diff(x: Like, /, *, axis: int = -1, n: int = 1) -> Traced:
    """The differences of neighbours along an axis, `n` times over."""
    given = operand(x)
    for _ in range(n):
        size = given.extents[axis_of(given, axis)] - 1
        later = along(given, axis, size, lambda c: value(c) + 1 if isinstance(c, Expression) else c + 1)
        earlier = along(given, axis, size, lambda c: c)
        given = el.not_equal(later, earlier) if given.dtype == "bool" else el.subtract(later, earlier)
    return given


def norm(x: Like, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Traced:
    """The vector norm of an order along axes: (Σ |x|^ord)^(1/ord), largest or smallest |x| for ±inf."""
    given, _ = _total(x, None, floating)
    size = el.abs(given)
    if ord in (math.inf, -math.inf):
        return max(size, axis=axis, keepdims=keepdims) if ord > 0 else min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return astype(count_nonzero(given, axis=axis, keepdims=keepdims), given.dtype)
    if ord == 1:
        return sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return el.sqrt(sum(el.square(given), axis=axis, keepdims=keepdims))
    return el.pow(sum(el.pow(size, ord), axis=axis, keepdims=keepdims), 1.0 / ord)
