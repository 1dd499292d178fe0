"""Reading parts of traced arrays: x[...], and gathers by arrays of positions.

Integers, slices, None and ... give views. Arrays of integers gather, negative ones counted from the end; several of
them broadcast against each other as in NumPy. A mask must be known while the program is traced.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tang_egg import ops, traced_view
from tang_egg import traced as tr
from tang_egg.affine import Affine, Dim, Index, affine
from tang_egg.array_constants import Like, operand
from tang_egg.array_types import as_type
from tang_egg.bounds import prove_nonnegative
from tang_egg.expression import Expression, cast, select, value
from tang_egg.notation import Array
from tang_egg.traced import Traced, axis_of, compute, fail
from tang_egg.traced_view import expand_dims, sliced, squeeze


def getitem(x: Like, key: Any, /) -> Traced:
    """x[key]."""
    given = operand(x)
    parts = _parts(given, key)
    advanced: list[tuple[int, Traced]] = []
    seen: list[int] = []
    p = 0
    for n, part in enumerate(parts):
        if part is None:
            given = expand_dims(given, p)
            p += 1
        elif isinstance(part, slice):
            given = _slice(given, p, part)
            p += 1
        elif isinstance(part, Traced):
            advanced.append((p, part))
            seen.append(n)
            p += 1
        elif _has_arrays(parts):
            # beside arrays an integer is an array of one position, and broadcasts with them
            advanced.append((p, operand(_whole(part))))
            seen.append(n)
            p += 1
        else:
            given = _one(given, p, part)
    if not advanced:
        return given
    together = seen == list(range(seen[0], seen[0] + len(seen)))
    return gathered(given, [a for a, _ in advanced], [i for _, i in advanced], advanced[0][0] if together else 0)


def _has_arrays(parts: Sequence[Any]) -> bool:
    return builtins.any(isinstance(part, Traced) for part in parts)


def _parts(x: Traced, key: Any) -> list[Any]:
    """The key as integers, forms, slices, None and arrays, one for each axis of `x` (and None for new ones)."""
    given: list[Any] = []
    for part in key if isinstance(key, tuple) else (key,):
        given += _mask(x, part, given) if _is_mask(part) else [part]
    given = [np.asarray(p) if isinstance(p, list) and not _holds_traced(p) else p for p in given]
    given = _completed(x, given)
    _check_known(x, given)
    given = [operand(p) if isinstance(p, (Traced, Array, np.ndarray, list)) else p for p in given]
    for p in given:
        if isinstance(p, Traced) and p.dtype not in ops.INTEGERS:
            if p.dtype == "bool":
                raise fail("a mask that is computed selects elements: how many there are is not known",
                           "keep the shape: where(mask, x, 0), or sum(where(mask, x, 0))")  # fmt: skip
            raise fail(f"elements are selected by an array of {p.dtype}", "convert it to integers by astype")
    return given


def _holds_traced(items: list[Any]) -> bool:
    return builtins.any(isinstance(i, (Traced, Array)) or (isinstance(i, list) and _holds_traced(i)) for i in items)


def _check_known(x: Traced, parts: Sequence[Any]) -> None:
    """Raises GraphError where an array of positions that is known lies outside its axis."""
    axes = iter(range(x.ndim))
    for part in parts:
        p = next(axes) if part is not None else 0
        if isinstance(part, np.ndarray) and part.size and part.dtype.kind in "iu":
            size = x.extents[p].value
            for at in (int(part.min()), int(part.max())):
                if size is not None and not -size <= at < size:
                    raise fail(f"element {at} of an axis of {size}", f"elements are {-size} to {size - 1}")


def _completed(x: Traced, given: list[Any]) -> list[Any]:
    """The subscripts with ... replaced by slices, one for each axis."""
    named = [p for p in given if p is not None and p is not Ellipsis]
    if len(named) > x.ndim:
        raise fail(f"{len(named)} subscripts for {x.ndim} axes", "give at most one for each axis")
    gap = [slice(None)] * (x.ndim - len(named))
    dots = [n for n, p in enumerate(given) if p is Ellipsis]
    if len(dots) > 1:
        raise fail("a subscript has ... twice", "write it once")
    return [*given[: dots[0]], *gap, *given[dots[0] + 1 :]] if dots else [*given, *gap]


def _is_mask(part: Any) -> bool:
    if isinstance(part, (bool, np.bool_)):
        return True
    if isinstance(part, list) and not _holds_traced(part):
        part = np.asarray(part)
    return isinstance(part, np.ndarray) and part.dtype == np.bool_


def _mask(x: Traced, part: Any, before: Sequence[Any]) -> list[Any]:
    """The positions at which a known mask holds, one array for each of its axes."""
    held = np.asarray(part)
    if held.ndim == 0:
        raise fail("a single bool is a subscript", "use where(condition, x, ...) for a choice")
    if Ellipsis not in [p for p in before if not isinstance(p, np.ndarray)]:
        start = builtins.sum(p is not None for p in before)
        sizes = [s.value for s in x.extents[start : start + held.ndim]]
        if sizes != list(held.shape) and None not in sizes:
            raise fail(f"a mask of shape {held.shape} on axes of shape {tuple(sizes)}", "give them the same shape")
    return list(np.nonzero(held))


def _whole(part: Any) -> Affine | int:
    if isinstance(part, (Affine, Dim, Index)):
        return affine(part)
    try:
        return operator.index(part)
    except TypeError:
        raise fail(f"{part!r} is a subscript", "use integers, slices, None, ... and arrays of integers") from None


def _one(x: Traced, axis: int, part: Any) -> Traced:
    """`x` without an axis, of which one element is read."""
    at, size = affine(_whole(part)), x.extents[axis]
    place = at + size if at.value is not None and at.value < 0 else at
    if not (prove_nonnegative(place) and prove_nonnegative(size - 1 - place)):
        if place.value is not None and size.value is not None:
            raise fail(f"element {at} of an axis of {size}", f"elements are {-size.value} to {size.value - 1}")
        raise fail(f"element {at} of an axis of {size} may not exist", "state a lower limit: te.dim('n', lo=1)")
    return squeeze(sliced(x, axis, place, 1), [axis])


def _slice(x: Traced, axis: int, part: slice) -> Traced:
    """An axis from start to stop by steps, as Python's slices."""
    size = x.extents[axis]
    step = 1 if part.step is None else _whole(part.step)
    if not isinstance(step, int) or step == 0:
        raise fail(f"a slice by steps of {part.step!r}", "give an integer other than 0")
    ends = [None if e is None else _whole(e) for e in (part.start, part.stop)]
    if size.value is not None and not builtins.any(isinstance(e, Affine) for e in ends):
        start, stop, _ = slice(ends[0], ends[1], step).indices(size.value)
        return sliced(x, axis, start, len(range(start, stop, step)), step)
    low = _end(ends[0], size, affine(0) if step > 0 else size - 1, step)
    high = _end(ends[1], size, size if step > 0 else affine(-1), step)
    span = (high - low) if step > 0 else (low - high)
    if not prove_nonnegative(span):
        raise fail(f"the slice {_text(part)} of an axis of {size} may be empty before it starts",
                   "state a lower limit of the dimension: te.dim('n', lo=...)")  # fmt: skip
    return sliced(x, axis, low, _steps(span, builtins.abs(step), part, size), step)


def _text(part: slice) -> str:
    ends = ["" if e is None else str(e) for e in (part.start, part.stop)]
    return ":".join(ends if part.step is None else [*ends, str(part.step)])


def _end(given: Affine | int | None, size: Affine, default: Affine, step: int) -> Affine:
    """An end of a slice of a symbolic axis, counted from the start. Raises GraphError where it may lie outside."""
    if given is None:
        return default
    at = affine(given)
    place = at + size if at.value is not None and at.value < 0 else at
    low, high = (0, size) if step > 0 else (-1, size - 1)
    if not (prove_nonnegative(place - low) and prove_nonnegative(affine(high) - place)):
        raise fail(f"the end {at} of a slice may lie outside an axis of {size}",
                   "state what is known of the dimension: te.dim('n', lo=...)")  # fmt: skip
    return place


def _steps(span: Affine, step: int, part: slice, size: Affine) -> Affine:
    """ceil(span / step) as a form."""
    whole = {m: c for m, c in span.terms if m}
    if builtins.any(c % step for c in whole.values()):
        raise fail(f"the slice {_text(part)} of an axis of {size} has no extent that is a sum of dimensions",
                   f"write the extent as a multiple of the step: ({step} * n)")  # fmt: skip
    return Affine.of({m: c // step for m, c in whole.items()}) + -(-span.constant // step)


def positions_in(x: Traced, size: Affine, wrap: bool = True) -> Traced:
    """Integer positions along an axis of `size` as i64; negative ones are counted from the end."""
    given = as_type(x, "i64") if x.dtype != "u64" else Traced(x.factors, lambda c: cast(x.at(c), "i64"), "i64")
    if x.constant is not None:
        return _checked(given, size)
    if not wrap or x.dtype[0] == "u":
        return given
    at, n = given.at, value(size)
    return Traced(given.factors, lambda c: _wrapped(at(c), n), "i64")


def _wrapped(at: Expression, size: Expression) -> Expression:
    return select(at < 0, at + size, at)


def _checked(x: Traced, size: Affine) -> Traced:
    at = int(x.constant or 0)
    place = size + at if at < 0 else affine(at)
    if size.value is not None and not (place.value is not None and 0 <= place.value < size.value):
        raise fail(f"element {at} of an axis of {size}", f"elements are {-size.value} to {size.value - 1}")
    found = tr.positions((), lambda: place)
    return tr.broadcast_to(found, x.extents)


def gathered(x: Traced, axes: Sequence[int], index: Sequence[Traced], place: int) -> Traced:
    """`x` with `axes` replaced by the common shape of the arrays of positions, put before axis `place`."""
    index = tr.broadcast(*(positions_in(i, x.extents[a]) for a, i in zip(axes, index, strict=True)))
    shape = index[0].extents
    kept = [p for p in range(x.ndim) if p not in axes]
    before = builtins.sum(p < place for p in kept)
    result = [*(x.extents[p] for p in kept[:before]), *shape, *(x.extents[p] for p in kept[before:])]

    def at(*c: Any) -> Expression:
        inner = c[before : before + len(shape)]
        rest = iter((*c[:before], *c[before + len(shape) :]))
        places = {a: i.element(*inner) for a, i in zip(axes, index, strict=True)}
        return x.element(*(places[p] if p in places else next(rest) for p in range(x.ndim)))

    return tr.positions(result, at, x.dtype)


def take(x: Like, indices: Like, /, *, axis: int | None = None) -> Traced:
    """The elements of an axis at some positions, whose shape takes the place of the axis."""
    given = operand(x)
    if axis is None:
        if given.ndim != 1:
            given = traced_view.reshape(given, (-1,))
        axis = 0
    p = axis_of(given, axis)
    return gathered(given, [p], [_integers(indices)], p)


def _integers(x: Like) -> Traced:
    given = operand(x)
    if given.dtype not in ops.INTEGERS:
        raise fail(f"positions of type {given.dtype}", "convert them to integers by astype")
    return given


def take_along_axis(x: Like, indices: Like, /, *, axis: int = -1) -> Traced:
    """The element at indices[..., j, ...] of the axis, for every point of `indices`; other axes broadcast."""
    given, index = operand(x), _integers(indices)
    if index.ndim != given.ndim:
        raise fail(f"positions of {index.ndim} axes in an array of {given.ndim}", "give both the same axes")
    p = axis_of(given, axis)
    others = tr.broadcast_shapes(*([s for n, s in enumerate(a.extents) if n != p] for a in (given, index)))
    index = positions_in(index, given.extents[p])
    index = tr.broadcast_to(index, (*others[:p], index.extents[p], *others[p:]))
    given = tr.broadcast_to(given, (*others[:p], given.extents[p], *others[p:]))

    def at(*c: Any) -> Expression:
        return given.element(*c[:p], index.element(*c), *c[p + 1 :])

    return tr.positions(index.extents, at, given.dtype)


def gather_nd(x: Like, indices: Like, /, *, batch: int = 0) -> Traced:
    """x[b, indices[b, ..., 0], indices[b, ..., 1], ...]: the last axis of `indices` holds the first coordinates.

    The first `batch` axes are shared by both.
    """
    given, index = operand(x), _integers(indices)
    depth = index.extents[-1].value if index.ndim else None
    if depth is None or depth + batch > given.ndim:
        raise fail(f"coordinates of {index.extents[-1] if index.ndim else 'no'} axes in an array of {given.ndim}",
                   "give a fixed number of coordinates, at most one for each axis")  # fmt: skip
    lead = index.extents[:-1]
    shape = (*lead, *given.extents[batch + depth :])
    parts = [positions_in(squeeze(sliced(index, -1, n, 1), [-1]), given.extents[batch + n]) for n in range(depth)]

    def at(*c: Any) -> Expression:
        inner = c[: len(lead)]
        return given.element(*c[:batch], *(i.element(*inner) for i in parts), *c[len(lead) :])

    return tr.positions(shape, at, given.dtype)


def one_hot(indices: Like, depth: int | Affine | Dim, /, *, axis: int = -1, dtype: object = "f32") -> Traced:
    """1 at each position of a new axis of `depth`, else 0; a position outside gives zeros."""
    from tang_egg.array_types import dtype_of

    index = _integers(indices)
    size, kind = affine(depth), dtype_of(dtype)
    p = axis + index.ndim + 1 if axis < 0 else axis
    index = positions_in(index, size) if index.constant is None else as_type(index, "i64")
    spread = expand_dims(index, p)
    lane = tr.positions([size if n == p else affine(1) for n in range(spread.ndim)], lambda *c: c[p])
    return as_type(compute(_same, spread, lane, dtype="bool", hint="hot"), kind)


def _same(a: Expression, b: Expression) -> Expression:
    from tang_egg.expression import eq

    return eq(a, b)
