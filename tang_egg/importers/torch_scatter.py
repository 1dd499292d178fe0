"""Operators of ATen that write to positions that are data (see array_scatter): each place looks for its writes.

Of several writes to one place without accumulation the last one counts. Work grows with places times writes, so
scatters that are long in both are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tang_egg import expression as e
from tang_egg import ops
from tang_egg.affine import Affine, product
from tang_egg.array_scatter import scatter_elements, scatter_nd
from tang_egg.expression import Expression
from tang_egg.importers.torch_order import limit
from tang_egg.importers.torch_pointwise import pointwise
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, converted, operand
from tang_egg.monoid import highest, lowest
from tang_egg.traced import Traced, align, axis_of, broadcast, broadcast_to, compute, fail, full
from tang_egg.traced_view import concatenate, expand_dims, permute, reshape, sliced

MOST = 1 << 20
"""Pairs of a place and a write that are compared for one line of a result, at most."""


def _affordable(places: Affine, writes: Affine) -> None:
    a, b = limit(places), limit(writes)
    if a is None or b is None or (a * b > MOST and min(a, b) > 64):
        raise fail(f"{writes} writes are looked for at each of {places} places", "scatter along shorter axes")


def scattered(x: Traced, dim: int, index: Traced, source: Traced, mode: str) -> Traced:
    """`x` with source[..., s, ...] written to index[..., s, ...] along an axis; `mode` as in array_scatter."""
    if not x.ndim:
        parts = (reshape(x, [1]), reshape(index, [1]), reshape(source, [1]))
        return reshape(scattered(parts[0], 0, parts[1], parts[2], mode), [])
    axis = axis_of(x, dim)
    _affordable(x.extents[axis], index.extents[axis])
    given = converted(source, x.dtype)
    if not given.ndim:
        given = broadcast_to(given, index.extents)
    return scatter_elements(x, index, _cut(given, index), axis=axis, mode=mode)


def _cut(x: Traced, like: Traced) -> Traced:
    """The part of `x` that an index covers, from the start of each axis."""
    for p, (have, want) in enumerate(zip(x.extents, like.extents, strict=True)):
        if have is not want:
            x = sliced(x, p, 0, want)
    return x


@op("scatter.src", "scatter.value")
def _scatter(out: Out, x: Traced, dim: int, index: Traced, source: Any) -> Traced:
    return scattered(x, dim, index, operand(source, x.dtype), "set")


@op("scatter_add", "scatter.value_reduce")
def _scatter_add(out: Out, x: Traced, dim: int, index: Traced, source: Any, *, reduce: str = "add") -> Traced:
    return scattered(x, dim, index, operand(source, x.dtype), {"add": "add", "multiply": "mul"}[reduce])


_MODES = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}


@op("scatter_reduce.two", "index_reduce")
def _scatter_reduce(
    out: Out, x: Traced, dim: int, index: Traced, source: Traced, reduce: str, *, include_self: bool = True
) -> Traced:
    if index.ndim != x.ndim or (index.ndim == 1 and source.ndim == x.ndim > 1):
        index = _along(source, dim, index)
    real = x.dtype in ops.FLOATS
    if reduce == "mean" and not real:
        raise fail("a mean of integers by scatter", "convert to floats first")
    start = x if include_self else full(x.extents, _neutral(reduce, x.dtype), x.dtype)
    found = scattered(start, dim, index, source, _MODES[reduce])
    if include_self and reduce != "mean":
        return found
    one = full(source.extents, 1, "i64")
    hits = scattered(full(x.extents, 0, "i64"), dim, index, one, "add")
    if reduce == "mean":
        extra = int(include_self)
        found = compute(lambda t, n: t / e.maximum(e.cast(n, "real") + extra, 1.0), found, hits, dtype=x.dtype)
    return compute(lambda n, new, old: e.select(n > 0, new, old), hits, found, x, dtype=x.dtype)


def _neutral(reduce: str, dtype: str) -> float | int:
    kind = ops.scalar_type(dtype)
    if reduce in ("amax", "amin"):
        return lowest(kind) if reduce == "amax" else highest(kind)
    return 1 if reduce == "prod" else 0


def _along(like: Traced, dim: int, index: Traced) -> Traced:
    """An index of one axis as one of all axes of the writes."""
    axis = axis_of(like, dim)
    given = index if index.ndim else expand_dims(index, 0)
    for p in range(like.ndim):
        if p != axis:
            given = expand_dims(given, p)
    return broadcast_to(given, like.extents)


@op("index_add")
def _index_add(out: Out, x: Traced, dim: int, index: Traced, source: Traced, *, alpha: Any = 1) -> Traced:
    given = source if alpha == 1 else pointwise(lambda a, b: a * b, out, source, alpha)
    return scattered(x, dim, _along(given, dim, index) if x.ndim else index, given, "add")


@op("index_copy")
def _index_copy(out: Out, x: Traced, dim: int, index: Traced, source: Traced) -> Traced:
    return scattered(x, dim, _along(source, dim, index) if x.ndim else index, source, "set")


@op("index_fill.int_Scalar", "index_fill.int_Tensor")
def _index_fill(out: Out, x: Traced, dim: int, index: Traced, value: Any) -> Traced:
    if not x.ndim:
        return broadcast_to(operand(value, x.dtype), [])
    axis, given = axis_of(x, dim), index if index.ndim else expand_dims(index, 0)
    shape = [given.extents[0] if p == axis else s for p, s in enumerate(x.extents)]
    source = broadcast_to(operand(value, x.dtype), shape)
    return scattered(x, axis, _along(source, axis, given), source, "set")


@op("index_put", "_unsafe_index_put")
def _index_put(
    out: Out, x: Traced, indices: Sequence[Traced | None], values: Traced, accumulate: bool = False, *_: Any
) -> Traced:
    given = converted(values, x.dtype)
    if any(i is not None and i.dtype == "bool" for i in indices):
        return _masked_put(x, indices, given, accumulate)
    used = [p for p, i in enumerate(indices) if i is not None]
    tables = align(*broadcast(*(i for i in indices if i is not None)))
    points = tables[0].extents
    _affordable(product([x.extents[p] for p in used]), product(points))
    together = used == list(range(used[0], used[-1] + 1))
    before = [p for p in range(x.ndim) if p not in used and together and p < used[0]]
    after = [p for p in range(x.ndim) if p not in used and p not in before]
    # the written axes first: [places..., rest...]
    order = [*used, *before, *after]
    source = broadcast_to(given, [*(x.extents[p] for p in before), *points, *(x.extents[p] for p in after)])
    n, m = len(before), len(points)
    source = permute(source, [*range(n, n + m), *range(n), *range(n + m, source.ndim)])
    places = concatenate([expand_dims(converted(t, "i64"), -1) for t in tables], -1)
    found = scatter_nd(permute(x, order), places, source, mode="add" if accumulate else "set")
    return permute(found, [order.index(p) for p in range(x.ndim)])


def _masked_put(x: Traced, indices: Sequence[Traced | None], values: Traced, accumulate: bool) -> Traced:
    """One value written where a mask holds."""
    mask = indices[0]
    if len(indices) != 1 or mask is None or product(values.extents).value != 1:
        raise fail("several values are written where a mask holds", "use where with tensors of one shape")
    for _ in range(x.ndim - mask.ndim):
        mask = expand_dims(mask, -1)

    def f(m: Expression, new: Expression, old: Expression) -> Expression:
        return e.select(m, old + new if accumulate else new, old)

    return compute(f, mask, reshape(values, []), x, dtype=x.dtype)
