"""Operators of ATen that gather: elements at positions that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Affine, Index, affine
from tang_egg.bounds import prove_nonnegative
from tang_egg.expression import Expression
from tang_egg.importers.torch_reduce import plain_axis
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out
from tang_egg.importers.torch_view import logical
from tang_egg.ir import Position
from tang_egg.traced import Traced, align, axis_of, broadcast, fail
from tang_egg.traced_factor import Coordinate, Factors, parted
from tang_egg.traced_view import expand_dims, reshape, squeeze


def wrapped(at: Expression, size: Affine) -> Coordinate:
    """A position that is data, negative ones counted from the end; affine where it is computed from positions alone."""
    if isinstance(at.scalar, Position):
        return plain(at, size) if _holds(at.scalar.form) else _wrapped(at, size)
    if at.type[0] == "u" or at.type == "bool":
        return e.cast(at, "i64")
    return _wrapped(at if at.type == "i64" else e.cast(at, "i64"), size)


def _wrapped(at: Expression, size: Affine) -> Expression:
    return e.select(at < 0, at + e.value(size), at)


def plain(at: Expression, size: Affine) -> Coordinate:
    """A position that is data and not negative; one that may lie outside is read at the last position."""
    if not isinstance(at.scalar, Position):
        return at
    form = at.scalar.form
    if _holds(form) and _holds(size - 1 - form):
        return form
    return e.maximum(e.minimum(at, e.value(size - 1)), 0)


def _holds(form: Affine) -> bool:
    return prove_nonnegative(form, (), form.indices())


def gathered(x: Traced, indices: Sequence[Traced | None], *, negative: bool = True) -> Traced:
    """`x[indices]`, as NumPy's advanced indexing: None stands for a whole axis."""
    given = list(indices) + [None] * (x.ndim - len(indices))
    used = [p for p, i in enumerate(given) if i is not None]
    tables = align(*broadcast(*(i for i in given if i is not None)))
    front = tables[0].factors
    together = used == list(range(used[0], used[-1] + 1))
    before = [p for p in range(x.ndim) if p not in used and (together and p < used[0])]
    after = [p for p in range(x.ndim) if p not in used and p not in before]
    factors = (*(x.factors[p] for p in before), *front, *(x.factors[p] for p in after))
    counts = [len(x.factors[p]) for p in before]
    size = sum(len(g) for g in front)

    def at(coordinates: Sequence[Coordinate]) -> Expression:
        begin = sum(counts)
        middle = list(coordinates[begin : begin + size])
        places: dict[int, Sequence[Coordinate]] = {}
        for p, table in zip(used, tables, strict=True):
            where = table.at(middle)
            place = (wrapped if negative else plain)(where, x.extents[p])
            places[p] = parted(place, x.factors[p])
        rest = iter([*coordinates[:begin], *coordinates[begin + size :]])
        for p in (*before, *after):
            places[p] = [next(rest) for _ in x.factors[p]]
        return x.at([c for p in range(x.ndim) for c in places[p]])

    return Traced(tuple(factors), at, x.dtype)


@op("index.Tensor", "_unsafe_index.Tensor")
def _index(out: Out, x: Traced, indices: Sequence[Traced | None]) -> Traced:
    _expect_integers(indices)
    return gathered(x, indices)


def _expect_integers(indices: Sequence[Traced | None]) -> None:
    if any(i is not None and i.dtype == "bool" for i in indices):
        raise fail("indexing by a mask gives a size that depends on data", "use where or masked_fill")


@op("index_select")
def _index_select(out: Out, x: Traced, dim: int, index: Traced) -> Traced:
    flat = index if index.ndim else expand_dims(index, 0)
    if not x.ndim:
        return squeeze(gathered(expand_dims(x, 0), [flat], negative=False), [0])
    return gathered(x, [*[None] * axis_of(x, dim), flat], negative=False)


@op("embedding")
def _embedding(out: Out, table: Traced, index: Traced, *_: Any) -> Traced:
    return gathered(table, [index], negative=False)


@op("gather")
def _gather(out: Out, x: Traced, dim: int, index: Traced, *_: Any, **__: Any) -> Traced:
    if not x.ndim:
        return reshape(x, out.shape)
    axis = axis_of(x, dim)

    def at(coordinates: Sequence[Coordinate]) -> Expression:
        place = plain(index.at(coordinates), x.extents[axis])
        here = logical(index.factors, coordinates)
        return x.element(*(place if p == axis else c for p, c in enumerate(here)))

    return Traced(index.factors, at, x.dtype)


@op("take")
def _take(out: Out, x: Traced, index: Traced) -> Traced:
    return gathered(reshape(x, [-1]), [index])


SUM, MEAN, MAX = 0, 1, 2


@op("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only", "embedding_bag.padding_idx")
def _embedding_bag(
    out: Out, table: Traced, index: Traced, offsets: Traced, scale: Any = False, mode: int = SUM,
    sparse: Any = False, weights: Traced | None = None, last: bool = False, padding: Any = None, *_: Any,
) -> tuple[Traced, None, None, None]:  # fmt: skip
    """Sums, means or maxima of the rows that each bag names: bag b runs from offsets[b] to the next offset."""
    if index.ndim != 1 or offsets.ndim != 1:
        raise fail("bags of indices with several axes", "give indices and offsets of one axis")
    bags, width = out.shape
    flat, begins = plain_axis(index, 0), plain_axis(offsets, 0)
    n = index.extents[0]
    b, k, d = Index("b", bags), Index("k", n), Index("d", width)
    where: list[Any] = [e.value(begins.element(b)) <= e.value(k)]
    end = e.value(n)
    if last:
        end = begins.element(b + 1)
    elif bags.value != 1:
        end = e.select(b < bags - 1, begins.element(affine(b) + 1), e.value(n))
    where.append(e.value(k) < end)
    at = flat.element(k)
    if padding is not None and isinstance(padding, int) and padding >= 0:
        where.append(e.ne(at, padding))
    element = table.element(plain(at, table.extents[0]), d)
    if weights is not None:
        element = element * weights.element(k)
    kind = out.working
    if mode == MAX:
        body = te.max(k, element, where=where)
        body = e.select(te.any(k, True, where=where), body, 0.0)
    else:
        body = te.sum(k, element, where=where)
        if mode == MEAN:
            points = te.tensor(None, b, te.sum(k, 1.0, where=where), kind, hint="points")
            body = body / e.maximum(points[b], 1.0)
    array = te.tensor(None, (b, d), body, out.dtype, hint="bags")
    return of_logical((bags, width), array), None, None, None


def of_logical(shape: Sequence[Affine], array: te.Array) -> Traced:
    """A tensor over all logical axes, those of one element included, as a traced array."""
    factors: tuple[Factors, ...] = tuple(() if s.value == 1 else (s,) for s in shape)

    def at(coordinates: Sequence[Coordinate]) -> Expression:
        rest = iter(coordinates)
        return array[tuple(next(rest) if g else 0 for g in factors)]

    return Traced(factors, at, array.dtype, array)
