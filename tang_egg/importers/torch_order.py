"""Sorting operators of ATen, by counting (see array_sort): long axes are refused, work grows with their square."""

from __future__ import annotations

from typing import Any

from tang_egg import array_sort, ops
from tang_egg import expression as e
from tang_egg.affine import Affine, affine
from tang_egg.array_index import take_along_axis
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, known
from tang_egg.traced import Traced, axis_of, fail
from tang_egg.traced_view import reshape, sliced, squeeze

LONGEST = 2048
"""Elements of an axis that is still sorted by counting."""


def limit(size: Affine) -> int | None:
    """The largest value of an extent, or None where it has no limit."""
    total = 0
    for monomial, coefficient in size.terms:
        for d in monomial:
            high = getattr(d, "hi", None)
            if high is None or coefficient < 0:
                return None
            coefficient *= high
        total += coefficient
    return total


def ordered(x: Traced, dim: int, descending: bool) -> tuple[Traced, Traced]:
    """The elements along an axis in order, NaN as the largest, and the positions i64 that they had."""
    if not x.ndim:
        return x, Traced((), lambda c: e.constant(0), "i64")
    axis = axis_of(x, dim)
    longest = limit(x.extents[axis])
    if longest is None or longest > LONGEST:
        raise fail(f"{x.extents[axis]} elements would be sorted by comparing each with each", f"sort up to {LONGEST}")
    places = array_sort.argsort(x, axis=axis, descending=descending)
    return take_along_axis(x, places, axis=axis), places


@op("sort", "sort.stable")
def _sort(out: Out, x: Traced, dim: Any = -1, descending: bool = False, **given: Any) -> tuple[Traced, Traced]:
    return ordered(x, given.get("dim", dim), bool(given.get("descending", descending)))


@op("argsort", "argsort.stable")
def _argsort(out: Out, x: Traced, dim: int = -1, descending: bool = False, **given: Any) -> Traced:
    return _sort(out, x, dim, descending, **given)[1]


@op("topk")
def _topk(out: Out, x: Traced, k: Any, dim: int = -1, largest: bool = True, _: bool = True) -> tuple[Traced, ...]:
    found = ordered(x, dim, largest)
    return tuple(sliced(y, dim, 0, affine(k)) for y in found) if x.ndim else found


@op("kthvalue")
def _kthvalue(out: Out, x: Traced, k: Any, dim: int = -1, keep: bool = False) -> tuple[Traced, ...]:
    found = ordered(x, dim, False)
    if not x.ndim:
        return found
    kept = tuple(sliced(y, dim, affine(k) - 1, 1) for y in found)
    return kept if keep else tuple(squeeze(y, [dim]) for y in kept)


@op("median.dim")
def _median_dim(out: Out, x: Traced, dim: int, keep: bool = False) -> tuple[Traced, ...]:
    if x.dtype in ops.FLOATS:
        raise fail("a median of floats, which is NaN where one of them is", "use kthvalue or sort")
    size = known(x.extents[axis_of(x, dim)], "the axis of a median") if x.ndim else 1
    return _kthvalue(out, x, (size + 1) // 2, dim, keep)


@op("median")
def _median(out: Out, x: Traced) -> Traced:
    return _median_dim(out, reshape(x, [-1]), 0)[0]
