"""Shapes of traced arrays, by the names and meanings of the Array API: nearly all are views, which cost nothing."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tang_egg import array_elementwise as el
from tang_egg import traced as tr
from tang_egg import traced_view
from tang_egg.affine import Affine, AffineLike, affine
from tang_egg.array_constants import Like, operand, operands
from tang_egg.array_reduce import Axis, axes_in
from tang_egg.array_types import number_as
from tang_egg.bounds import prove_nonnegative
from tang_egg.expression import Expression, select, value
from tang_egg.traced import Traced, axis_of, fail
from tang_egg.traced_factor import Coordinate, extent, plus
from tang_egg.traced_view import less

Shape = Any
"""An extent, or a sequence of them."""


def shape_of(shape: Shape) -> tuple[Affine, ...]:
    """A shape as forms. Raises GraphError for anything but integers and dims."""
    given = shape if isinstance(shape, Sequence) else (shape,)
    try:
        return tuple(affine(s) for s in given)
    except TypeError:
        raise fail(f"the shape {shape!r}", "give integers and dims: (n, 64)") from None


def view(x: Traced, shape: Sequence[AffineLike], at: Callable[..., Sequence[Any]]) -> Traced:
    """The array of `shape` whose element at some coordinates is that of `x` at `at(*coordinates)`."""
    return tr.positions(shape, lambda *c: x.element(*at(*c)), x.dtype)


def reshape(x: Like, /, shape: Shape, *, copy: bool | None = None) -> Traced:
    """As many elements in another shape, row-major; one extent may be -1."""
    return traced_view.reshape(operand(x), shape_of(shape))


def ravel(x: Like, /) -> Traced:
    return reshape(x, (-1,))


def permute_dims(x: Like, /, axes: Sequence[int]) -> Traced:
    """Axis n of the result is axis `axes[n]`."""
    return traced_view.permute(operand(x), axes)


def transpose(x: Like, /, axes: Sequence[int] | None = None) -> Traced:
    """Axes in the order given, or reversed."""
    given = operand(x)
    return traced_view.permute(given, tuple(reversed(range(given.ndim))) if axes is None else axes)


def matrix_transpose(x: Like, /) -> Traced:
    """The last two axes exchanged."""
    return swapaxes(x, -1, -2)


def swapaxes(x: Like, axis1: int, axis2: int, /) -> Traced:
    given = operand(x)
    order = list(range(given.ndim))
    a, b = axis_of(given, axis1), axis_of(given, axis2)
    order[a], order[b] = b, a
    return traced_view.permute(given, order)


def moveaxis(x: Like, source: int | Sequence[int], destination: int | Sequence[int], /) -> Traced:
    """Axes `source` moved to the positions `destination`."""
    given = operand(x)
    old, new = axes_in(given, source), axes_in(given, destination)
    if len(old) != len(new):
        raise fail(f"{len(old)} axes are moved to {len(new)} positions", "give as many positions as axes")
    order = [p for p in range(given.ndim) if p not in old]
    for n, p in sorted(zip(new, old, strict=True)):
        order.insert(n, p)
    return traced_view.permute(given, order)


def expand_dims(x: Like, /, axis: int | Sequence[int] = 0) -> Traced:
    """An axis of one element before each position of the result."""
    given = operand(x)
    if isinstance(axis, int):
        return traced_view.expand_dims(given, axis)
    rank = given.ndim + len(axis)
    for a in sorted(a + rank if a < 0 else a for a in axis):
        given = traced_view.expand_dims(given, a)
    return given


def squeeze(x: Like, /, axis: Axis = None) -> Traced:
    """Axes of one element left out: all of them for None."""
    given = operand(x)
    if axis is None:
        return traced_view.squeeze(given, [p for p, s in enumerate(given.extents) if s.value == 1])
    return traced_view.squeeze(given, axes_in(given, axis))


def broadcast_to(x: Like, /, shape: Shape) -> Traced:
    return tr.broadcast_to(operand(x), shape_of(shape))


def broadcast_arrays(*arrays: Like) -> list[Traced]:
    return list(tr.broadcast(*map(operand, arrays)))


def broadcast_shapes(*shapes: Shape) -> tuple[Any, ...]:
    return tuple(extent(s) for s in tr.broadcast_shapes(*map(shape_of, shapes)))


def concat(arrays: Sequence[Like], /, *, axis: int | None = 0) -> Traced:
    """Arrays end to end along an axis; flattened ones for None."""
    if not arrays:
        raise fail("nothing to concatenate", "give at least one array")
    given = operands(*arrays)
    if axis is None:
        given, axis = tuple(ravel(x) for x in given), 0
    rank = builtins.max(x.ndim for x in given)
    if builtins.any(x.ndim != rank for x in given):
        raise fail(f"arrays of {', '.join(str(x.ndim) for x in given)} axes do not join", "give them the same axes")
    p = axis_of(given[0], axis)
    kept = [x for x in given if x.extents[p].value != 0]
    return kept[0] if len(kept) == 1 else traced_view.concatenate(kept or given[:1], p)


def stack(arrays: Sequence[Like], /, *, axis: int = 0) -> Traced:
    """Arrays of one shape beside each other along a new axis."""
    return concat([traced_view.expand_dims(x, axis) for x in operands(*arrays)], axis=axis)


def unstack(x: Like, /, *, axis: int = 0) -> tuple[Traced, ...]:
    """The slices of an axis of fixed extent."""
    given = operand(x)
    p = axis_of(given, axis)
    count = fixed(given, p, "unstack")
    return tuple(traced_view.squeeze(traced_view.sliced(given, p, n, 1), [p]) for n in range(count))


def fixed(x: Traced, axis: int, what: str) -> int:
    """The extent of an axis as an integer. Raises GraphError where it is symbolic."""
    count = x.extents[axis].value
    if count is None:
        raise fail(f"{what} over an axis of symbolic extent {x.extents[axis]}", "fix the extent of that axis")
    return count


def split(x: Like, sections: int | Sequence[AffineLike], /, *, axis: int = 0) -> list[Traced]:
    """Parts of an axis: as many equal ones as `sections`, or cut at each of some positions."""
    given = operand(x)
    p = axis_of(given, axis)
    size = given.extents[p]
    if isinstance(sections, int):
        total = fixed(given, p, "split")
        if sections < 1 or total % sections:
            raise fail(f"{total} elements do not split into {sections} equal parts", "give a divisor, or positions")
        sections = [n * (total // sections) for n in range(1, sections)]
    cuts = [affine(0), *map(affine, sections), size]
    parts = []
    for a, b in itertools.pairwise(cuts):
        if (b - a).value is not None and (b - a).value < 0:
            raise fail(f"the cuts {list(sections)} of an axis of {size}", "give increasing positions inside the axis")
        parts.append(traced_view.sliced(given, p, a, b - a))
    return parts


def flip(x: Like, /, *, axis: Axis = None) -> Traced:
    """The order of elements along axes reversed."""
    given = operand(x)
    for p in axes_in(given, axis):
        given = traced_view.flip(given, p)
    return given


def roll(x: Like, /, shift: AffineLike | Sequence[AffineLike], *, axis: Axis = None) -> Traced:
    """Elements moved on along axes; those that leave at the end come in at the start."""
    given = operand(x)
    if axis is None:
        return traced_view.reshape(roll(ravel(given), shift, axis=0), given.extents)
    # one axis may be rolled several times
    axes = [axis_of(given, a) for a in ((axis,) if isinstance(axis, int) else axis)]
    shifts = list(shift) if isinstance(shift, Sequence) else [shift] * len(axes)
    if len(shifts) != len(axes):
        raise fail(f"{len(shifts)} shifts of {len(axes)} axes", "give one shift for each axis")
    for p, by in zip(axes, shifts, strict=True):
        given = _rolled(given, p, affine(by))
    return given


def _rolled(x: Traced, axis: int, by: Affine) -> Traced:
    size = x.extents[axis]
    if size.value is not None and by.value is not None:
        by = affine(by.value % size.value if size.value else 0)
    elif by.value is not None and by.value < 0 and prove_nonnegative(size + by):
        by = size + by
    elif not (prove_nonnegative(by) and prove_nonnegative(size - by)):
        raise fail(f"a roll by {by} of an axis of {size}", "give a shift that is known to be at most the extent")
    if by.value == 0:
        return x

    def choose(c: Coordinate, read: Callable[[Coordinate], Expression]) -> Expression:
        return select(less(c, by), read(plus(c, size - by)), read(plus(c, -by)))

    return chosen(x, axis, size, choose)


def chosen(
    x: Traced,
    axis: int,
    size: AffineLike,
    choose: Callable[[Coordinate, Callable[[Coordinate], Expression]], Expression],
) -> Traced:
    """`x` with an axis of `size` elements, the one at c being `choose(c, read)` for read(p) at p along the axis."""
    shape = [affine(size) if p == axis else s for p, s in enumerate(x.extents)]
    x = tr.settled(x)

    def at(*c: Any) -> Expression:
        return choose(c[axis], lambda p: x.element(*c[:axis], p, *c[axis + 1 :]))

    return tr.positions(shape, at, x.dtype)


def repeat(x: Like, repeats: int, /, *, axis: int | None = None) -> Traced:
    """Every element `repeats` times in a row."""
    given = operand(x)
    if axis is None:
        given, axis = ravel(given), 0
    if not isinstance(repeats, int) or isinstance(repeats, bool) or repeats < 0:
        raise fail(f"a repetition {repeats!r} times", "give one whole number from 0 for all elements")
    p = axis_of(given, axis)
    size = given.extents
    spread = tr.broadcast_to(traced_view.expand_dims(given, p + 1), (*size[: p + 1], repeats, *size[p + 1 :]))
    return traced_view.reshape(spread, (*size[:p], size[p] * repeats, *size[p + 1 :]))


def tile(x: Like, repetitions: Shape, /) -> Traced:
    """The array beside itself, so many times along each axis."""
    given, times = operand(x), shape_of(repetitions)
    rank = builtins.max(given.ndim, len(times))
    times = (affine(1),) * (rank - len(times)) + times
    size = (affine(1),) * (rank - given.ndim) + given.extents
    given = traced_view.reshape(given, size)
    apart = given
    for p in reversed(range(rank)):
        apart = traced_view.expand_dims(apart, p)
    pairs = [(n, s) for n, s in zip(times, size, strict=True)]
    spread = tr.broadcast_to(apart, [s for pair in pairs for s in pair])
    return traced_view.reshape(spread, [n * s for n, s in pairs])


def tril(x: Like, /, *, k: AffineLike = 0) -> Traced:
    """Elements above the k-th diagonal of the last two axes set to 0."""
    return _triangle(operand(x), lambda i, j: j <= i + affine(k))


def triu(x: Like, /, *, k: AffineLike = 0) -> Traced:
    """Elements below the k-th diagonal of the last two axes set to 0."""
    return _triangle(operand(x), lambda i, j: j >= i + affine(k))


def _triangle(x: Traced, kept: Callable[[Affine, Affine], Any]) -> Traced:
    if x.ndim < 2:
        raise fail(f"a triangle of an array of {x.ndim} axes", "give an array of at least two axes")
    inside = tr.positions(x.extents[-2:], lambda i, j: value(kept(i, j)), "bool")
    zero = number_as(0, "i64").constant or 0
    return el.where(inside, x, number_as(False if x.dtype == "bool" else zero, x.dtype))


def meshgrid(*arrays: Like, indexing: str = "xy") -> list[Traced]:
    """Coordinate grids of vectors: rows of the second for "xy", of the first for "ij"."""
    given = [ravel(x) for x in arrays]
    rank = len(given)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[0], order[1] = 1, 0
    elif indexing not in ("xy", "ij"):
        raise fail(f"indexing '{indexing}'", "use 'xy' or 'ij'")
    spread = [expand_dims(x, [p for p in range(rank) if p != order[n]]) for n, x in enumerate(given)]
    return list(tr.broadcast(*spread))


def diagonal(x: Like, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Traced:
    """The diagonal of two axes as the last axis; `offset` above the main one."""
    given = operand(x)
    if given.ndim < 2:
        raise fail(f"a diagonal of an array of {given.ndim} axes", "give an array of at least two axes")
    given = moveaxis(given, (axis1, axis2), (-2, -1))
    rows, columns = given.extents[-2:]
    down, right = builtins.max(-offset, 0), builtins.max(offset, 0)
    a, b = rows - down, columns - right
    if a.value is not None and b.value is not None:
        size = affine(builtins.max(0, builtins.min(a.value, b.value)))
    elif prove_nonnegative(b - a):
        size = a
    elif prove_nonnegative(a - b):
        size = b
    else:
        raise fail(f"a diagonal of {rows} rows and {columns} columns", "use one dimension for both, or fix them")
    return view(given, (*given.extents[:-2], size), lambda *c: (*c[:-1], c[-1] + down, c[-1] + right))
