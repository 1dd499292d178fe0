"""Sliding windows of traced arrays, as views: each window is a row of further axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tang_egg.affine import Affine, affine
from tang_egg.array_constants import Like, operand
from tang_egg.array_shape import view
from tang_egg.bounds import prove_nonnegative
from tang_egg.traced import Traced, axis_of, fail


def sliding_window_view(x: Like, window_shape: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Traced:
    """All windows of some extents along axes, as further axes at the end; a view that reads x[i + k]."""
    given = operand(x)
    sizes = [affine(w) for w in ((window_shape,) if isinstance(window_shape, int) else window_shape)]
    axes = range(given.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    along = [axis_of(given, a) for a in axes]
    if len(along) != len(sizes):
        raise fail(f"windows of {len(sizes)} extents along {len(along)} axes", "give one extent for each axis")
    shape = list(given.extents)
    for p, w in zip(along, sizes, strict=True):
        if not (prove_nonnegative(shape[p] - w) and prove_nonnegative(w - 1)):
            raise fail(f"a window of {w} along an axis of {given.extents[p]}", "take a window that the axis holds")
        shape[p] = shape[p] - w + 1

    def at(*c: Any) -> list[Any]:
        places: list[Affine] = list(c[: given.ndim])
        for p, k in zip(along, c[given.ndim :], strict=True):
            places[p] = places[p] + k
        return places

    return view(given, (*shape, *sizes), at)
