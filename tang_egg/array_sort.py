"""Order in traced arrays: sorting and searching by counting.

The place of an element is the number of those that come before it, so an axis of n elements takes n² comparisons.
Equal elements keep their order. NaN counts as larger than everything.
"""

from __future__ import annotations

from typing import Any

from tang_egg import array_elementwise as el
from tang_egg import notation as te
from tang_egg import ops, traced_view
from tang_egg.affine import Affine, Index, affine, axes_over
from tang_egg.array_constants import Like, operand, operands
from tang_egg.array_index import getitem, take_along_axis
from tang_egg.array_reduce import mean
from tang_egg.array_scalar import isnan
from tang_egg.array_shape import fixed, stack
from tang_egg.array_types import as_type, floating
from tang_egg.expression import Expression, cast, eq, value
from tang_egg.monoid import lowest
from tang_egg.monoid_entries import top_k as top_k_of
from tang_egg.traced import Traced, axis_of, fail

_FEW = 8
"""At most that many largest elements are kept by one fold; more are found by counting."""


def _ordered(x: Traced) -> Traced:
    return as_type(x, "u8") if x.dtype == "bool" else x


def _earlier(a: Expression, b: Expression, descending: bool, real: bool) -> Expression:
    """Whether value a comes before another value b."""
    if not real:
        return a > b if descending else a < b
    if descending:
        return (a > b) | (isnan(a) & ~isnan(b))
    return (a < b) | (isnan(b) & ~isnan(a))


def ranks(x: Traced, axis: int, descending: bool) -> Traced:
    """The place of each element along an axis after a stable sort, i64."""
    x = _ordered(x)
    p, real = axis_of(x, axis), x.dtype in ops.FLOATS

    def at(c: Any) -> Expression:
        j = Index("s", x.extents[p])
        own, other = x.element(*c), x.element(*(j if n == p else i for n, i in enumerate(c)))
        same = eq(own, other) | (isnan(own) & isnan(other)) if real else eq(own, other)
        before = value(affine(j)) < value(c[p])
        return te.sum(j, cast(_earlier(other, own, descending, real) | (same & before), "i64"))

    return tensor_of(x.extents, at, "i64", "rank")


def tensor_of(shape: Any, at: Any, dtype: str, hint: str) -> Traced:
    """A tensor of the elements `at(coordinates)`."""
    axes = axes_over(tuple(s for s in shape if s.value != 1))
    rest = iter(axes)
    places = [affine(0) if s.value == 1 else affine(next(rest)) for s in shape]
    array = te.tensor(None, axes, at(places), dtype, hint=hint)
    factors = tuple(() if s.value == 1 else (s,) for s in shape)
    return Traced(factors, lambda c: array[tuple(c)], dtype, array if len(axes) == len(shape) else None)


def argsort(x: Like, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Traced:
    """The positions that sort an axis, i64; equal elements keep their order."""
    given = operand(x)
    p = axis_of(given, axis)
    return _inverse(ranks(given, p, descending), p, given.extents[p])


def _inverse(places: Traced, axis: int, count: Affine) -> Traced:
    """For each of the first `count` places, the position of the element that has it."""
    shape = [count if n == axis else s for n, s in enumerate(places.extents)]

    def at(c: Any) -> Expression:
        i = Index("s", places.extents[axis])
        place = places.element(*(i if n == axis else k for n, k in enumerate(c)))
        return te.sum(i, value(affine(i)), where=eq(place, value(c[axis])))

    return tensor_of(shape, at, "i64", "order")


def sort(x: Like, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Traced:
    """The elements along an axis in order; NaN last, or first if descending."""
    given = operand(x)
    return take_along_axis(given, argsort(given, axis=axis, descending=descending), axis=axis)


def top_k(x: Like, k: int, /, *, axis: int = -1, largest: bool = True) -> tuple[Traced, Traced]:
    """The k largest (or smallest) elements along an axis, best first, and their positions i64.

    Of equal ones the first come first; NaN counts as infinity.
    """
    given = operand(x)
    p = axis_of(given, axis)
    size = given.extents[p].value
    if not isinstance(k, int) or k < 0 or (size is not None and k > size):
        raise fail(f"the {k!r} largest of {given.extents[p]} elements", "give a whole number, at most the extent")
    if given.dtype in ops.FLOATS:
        key = el.where(el.isnan(given), float("inf"), given)
    else:
        key = _ordered(given)
    if 0 < k <= _FEW and key.dtype in ops.FLOATS:
        places = _kept(key if largest else el.negative(key), p, k)
    else:
        places = _inverse(ranks(key, p, largest), p, affine(k))
    return take_along_axis(given, places, axis=p), places


def _kept(key: Traced, axis: int, k: int) -> Traced:
    """The positions of the k largest, by one fold that keeps so many."""
    monoid = top_k_of(k)
    shape = [s for n, s in enumerate(key.extents) if n != axis]
    parts = []
    for r in range(k):

        def at(c: Any, r: int = r) -> Expression:
            j = Index("s", key.extents[axis])
            one = key.element(*c[:axis], j, *c[axis:])
            rest = (lowest("real"), 2**63 - 1) * (k - 1)
            return te.reduce(monoid, j, one, affine(j), *rest, part=f"position{r}")

        parts.append(tensor_of(shape, at, "i64", "position"))
    return stack(parts, axis=axis)


def searchsorted(x1: Like, x2: Like, /, *, side: str = "left", sorter: Like | None = None) -> Traced:
    """How many elements of the sorted vector x1 are smaller than each of x2 (or equal, for side "right"), i64."""
    given = operand(x1) if sorter is None else getitem(operand(x1), operand(sorter))
    if given.ndim != 1 or side not in ("left", "right"):
        raise fail(f"a search on side '{side}' in an array of {given.ndim} axes", "give a vector, and left or right")
    vector, wanted = operands(given, x2)
    vector, wanted = _ordered(vector), _ordered(wanted)
    real = vector.dtype in ops.FLOATS

    def at(c: Any) -> Expression:
        i = Index("s", vector.extents[0])
        held, sought = vector.element(i), wanted.element(*c)
        before = _earlier(held, sought, False, real) if side == "left" else ~_earlier(sought, held, False, real)
        return te.sum(i, cast(before, "i64"))

    return tensor_of(wanted.extents, at, "i64", "place")


def median(x: Like, /, *, axis: int | None = None, keepdims: bool = False) -> Traced:
    """The middle element along an axis of fixed extent, or the mean of the two in the middle."""
    given = operand(x)
    given = as_type(given, floating(given.dtype))
    rank = given.ndim
    if axis is None:
        flat = traced_view.reshape(given, (-1,))
        found = median(flat, axis=0)
        return traced_view.reshape(found, (1,) * rank) if keepdims else found
    p = axis_of(given, axis)
    n = fixed(given, p, "a median")
    if n == 0:
        raise fail("the median of no elements", "give an axis with elements")
    middle = traced_view.sliced(sort(given, axis=p), p, (n - 1) // 2, 2 - n % 2)
    found = mean(middle, axis=p, keepdims=keepdims)
    spoilt = el.isnan(given)
    from tang_egg.array_reduce import any as some

    return el.where(some(spoilt, axis=p, keepdims=keepdims), float("nan"), found)
