"""Writing into traced arrays at computed positions: each element of the result folds over the updates that meet it.

Negative positions are counted from the end. A fold looks at every update for every element of an axis, so the work is
the product of their numbers. `mode` says what an update does to what was there: "set" (the last one wins), "add",
"mul", "max" or "min".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tang_egg import notation as te
from tang_egg import traced as tr
from tang_egg import traced_view
from tang_egg.affine import Affine, Index, affine, axes_over, product
from tang_egg.array_constants import Like, operand
from tang_egg.array_index import _integers as integers
from tang_egg.array_index import positions_in
from tang_egg.array_types import as_type
from tang_egg.expression import Expression, eq, maximum, minimum, select, value
from tang_egg.traced import Traced, axis_of, fail

MODES = ("set", "add", "mul", "max", "min")


def scatter_elements(x: Like, indices: Like, updates: Like, /, *, axis: int = 0, mode: str = "set") -> Traced:
    """`x` with updates[..., j, ...] put at indices[..., j, ...] of the axis, for every point of `indices`."""
    given, index = operand(x), integers(indices)
    new = as_type(operand(updates), given.dtype)
    if not index.ndim == new.ndim == given.ndim:
        raise fail(f"arrays of {given.ndim}, {index.ndim} and {new.ndim} axes are scattered",
                   "give the array, the positions and the updates the same axes")  # fmt: skip
    p = axis_of(given, axis)
    new = tr.broadcast_to(new, index.extents) if new.extents != index.extents else new
    index = positions_in(index, given.extents[p])

    def fold(c: Sequence[Affine]) -> Expression:
        j = Index("u0", index.extents[p])
        at = [affine(j) if n == p else affine(i) for n, i in enumerate(c)]
        inside = [i < s for n, (i, s) in enumerate(zip(at, index.extents, strict=True)) if _cut(given, index, n, p)]
        met = [eq(index.element(*at), value(c[p])), *inside]
        return _joined(mode, (j,), met, lambda b: new.element(*(b[0] if n == p else i for n, i in enumerate(c))),
                       new.element(*at), given.element(*c), _order(index, p), inside)  # fmt: skip

    return _result(given, fold, "scattered")


def _cut(x: Traced, index: Traced, axis: int, along: int) -> bool:
    """Whether the positions cover only the start of another axis."""
    return axis != along and x.extents[axis] is not index.extents[axis]


def _order(index: Traced, p: int) -> Sequence[Affine]:
    return (index.extents[p],)


def scatter_nd(x: Like, indices: Like, updates: Like, /, *, mode: str = "set") -> Traced:
    """`x` with updates[..., rest] put at x[indices[..., 0], indices[..., 1], ..., rest]."""
    given, index = operand(x), integers(indices)
    new = as_type(operand(updates), given.dtype)
    depth = index.extents[-1].value if index.ndim else None
    if depth is None or depth > given.ndim:
        raise fail(f"coordinates of {index.extents[-1] if index.ndim else 'no'} axes in an array of {given.ndim}",
                   "give a fixed number of coordinates, at most one for each axis")  # fmt: skip
    lead = index.extents[:-1]
    new = tr.broadcast_to(new, (*lead, *given.extents[depth:]))
    parts = [
        positions_in(traced_view.squeeze(traced_view.sliced(index, -1, n, 1), [-1]), given.extents[n])
        for n in range(depth)
    ]

    def fold(c: Sequence[Affine]) -> Expression:
        bound = tuple(Index(f"u{n}", s) for n, s in enumerate(lead))
        met: list[Any] = [eq(i.element(*bound), value(c[n])) for n, i in enumerate(parts)]
        return _joined(mode, bound, met, lambda b: new.element(*b, *c[depth:]), new.element(*bound, *c[depth:]),
                       given.element(*c), lead, [])  # fmt: skip

    return _result(given, fold, "scattered")


def _result(x: Traced, fold: Callable[[Sequence[Affine]], Expression], hint: str) -> Traced:
    """The tensor of an element given by its logical coordinates."""
    axes = axes_over(tuple(s for s in x.extents if s.value != 1))
    rest = iter(axes)
    at = [affine(0) if s.value == 1 else affine(next(rest)) for s in x.extents]
    array = te.tensor(None, axes, fold(at), x.dtype, hint=hint)
    factors = tuple(() if s.value == 1 else (s,) for s in x.extents)
    return Traced(factors, lambda c: array[tuple(c)], x.dtype, array if len(axes) == x.ndim else None)


def _joined(
    mode: str,
    bound: tuple[Index, ...],
    met: Sequence[Any],
    update_at: Callable[[Sequence[Any]], Expression],
    update: Expression,
    old: Expression,
    sizes: Sequence[Affine],
    inside: Sequence[Any],
) -> Expression:
    """What an element becomes: `old` joined with the updates, over `bound` of `sizes`, where `met` holds."""
    if mode not in MODES:
        raise fail(f"scattering by '{mode}'", f"use one of {', '.join(MODES)}")
    if not bound:
        bound, sizes = (Index("u0", affine(1)),), (affine(1),)
        del sizes
        hit = te.holds(tuple(met))
        return select(hit, _combined(mode, old, update), old)
    if mode == "set":
        place = affine(0)
        for i, s in zip(bound, sizes, strict=True):
            place = place * s + i
        last = te.max(bound, value(place), where=tuple(met))
        found = update_at(_coordinates(last, sizes))
        chosen = last >= 0
        return select(te.holds((*inside, chosen)) if inside else chosen, found, old)
    if update.type == "bool":
        fold = te.any if mode in ("add", "max") else te.all
        return _combined(mode, old, fold(bound, update, where=tuple(met)))
    folds = {"add": te.sum, "mul": te.prod, "max": te.max, "min": te.min}
    return _combined(mode, old, folds[mode](bound, update, where=tuple(met)))


def _coordinates(place: Expression, sizes: Sequence[Affine]) -> list[Expression]:
    found: list[Expression] = []
    for n in range(len(sizes)):
        inner = product(sizes[n + 1 :])
        rest = place if n == 0 else place % value(product(sizes[n:]))
        found.append(rest if inner.value == 1 else rest // value(inner))
    return found


def _combined(mode: str, old: Expression, new: Expression) -> Expression:
    if old.type == "bool":
        return new if mode == "set" else old | new if mode in ("add", "max") else old & new
    if mode == "set":
        return new
    if mode == "add":
        return old + new
    return old * new if mode == "mul" else maximum(old, new) if mode == "max" else minimum(old, new)
