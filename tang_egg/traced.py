"""Arrays that are traced: whole-array operations, written down as comprehensions.

A `Traced` has a logical shape and a function from coordinates to its element. Views (transposes, slices, broadcasts,
merged and split axes) only compose that function, so nothing stands between an operation and the array it reads;
operations that compute make a tensor. Each logical axis is a row-major product of factors (see `traced_factor`): none
for an axis of one element, several for an axis that was merged from others.

Importers and the Array API (`tang_egg.array_api`) are built of what stands here and in `traced_view`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import Affine, AffineLike, Index, affine, axes_over, product
from tang_egg.array_operators import Operators
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, cast, constant, here, value
from tang_egg.ir import Read, Reduce, Scan, walk
from tang_egg.notation import Array
from tang_egg.traced_factor import (
    Coordinate,
    Extent,
    Factors,
    extent,
    parted,
    refine,
    remap,
)

At: TypeAlias = "Callable[[Sequence[Coordinate]], Expression]"

MOST = 48
"""Views whose elements take more operations than that become tensors where they would be copied into others."""


@dataclass(frozen=True, slots=True, eq=False)
class Traced(Operators):
    """An array-valued expression of element type `dtype`.

    `factors`: those of each logical axis; the extent of an axis is their product. `at` takes one coordinate for each
    factor, all axes in order. `array`: the tensor or input whose elements these are, axis by axis, where there is one.
    `constant`: the value of every element, where it is known while the program is traced.
    """

    factors: tuple[Factors, ...]
    at: At
    dtype: str
    array: Array | None = None
    constant: float | int | bool | None = None

    @property
    def extents(self) -> tuple[Affine, ...]:
        """Extents in elements, as forms over dims."""
        return tuple(product(f) for f in self.factors)

    @property
    def shape(self) -> tuple[Extent | Affine, ...]:
        """Extents in elements: integers where they are fixed, else forms."""
        return tuple(map(extent, self.extents))

    @property
    def ndim(self) -> int:
        return len(self.factors)

    @property
    def flat(self) -> Factors:
        """The factors of all axes in order."""
        return tuple(s for f in self.factors for s in f)

    def element(self, *coordinates: AffineLike | Expression) -> Expression:
        """The element at logical coordinates, one for each axis."""
        if len(coordinates) != self.ndim:
            raise fail(f"{len(coordinates)} coordinates for {self.ndim} axes", "give one coordinate for each axis")
        inner: list[Coordinate] = []
        for c, factors in zip(coordinates, self.factors, strict=True):
            given = c if isinstance(c, Expression) else affine(c)
            inner += [given] if len(factors) == 1 else parted(given, factors)
        return self.at(inner)

    def __repr__(self) -> str:
        name = self.array.name if self.array is not None else "a view"
        return f"{name}: {self.dtype}[{', '.join(map(repr, self.shape))}]"


def fail(what: str, mend: str) -> GraphError:
    """The error of an operation on traced arrays, placed at the user's line."""
    return GraphError(what, where=str(here()), mend=mend)


def of(array: Array) -> Traced:
    """An input or tensor as a traced array."""
    factors = tuple(() if s.value == 1 else (s,) for s in array.shape)

    def at(coordinates: Sequence[Coordinate]) -> Expression:
        rest = iter(coordinates)
        return array[tuple(next(rest) if f else 0 for f in factors)]

    return Traced(factors, at, array.dtype, array)


def scalar(x: float | int | bool | Expression, dtype: str) -> Traced:
    """A constant, or an expression without free indices, as an array without axes."""
    if isinstance(x, Expression):
        return Traced((), lambda _: x, dtype)
    known = _as(x, dtype)
    body = constant(known, dtype)
    return Traced((), lambda _: body, dtype, None, known)


def _as(x: float | int | bool, dtype: str) -> float | int | bool:
    kind = ops.scalar_type(dtype)
    return float(x) if kind == "real" else bool(x) if kind == "bool" else int(x)


def full(shape: Sequence[AffineLike], x: float | int | bool, dtype: str) -> Traced:
    """An array of one value."""
    return broadcast_to(scalar(x, dtype), [affine(s) for s in shape])


def positions(shape: Sequence[AffineLike], form: Callable[..., AffineLike | Expression], dtype: str = "i64") -> Traced:
    """The array of `form(*indices)`, computed from positions alone: ranges, identities, triangles."""
    factors = tuple(() if affine(s).value == 1 else (affine(s),) for s in shape)

    def at(coordinates: Sequence[Coordinate]) -> Expression:
        rest = iter(coordinates)
        return cast_to(form(*(next(rest) if f else affine(0) for f in factors)), dtype)

    return Traced(factors, at, dtype)


def cast_to(x: AffineLike | Expression, dtype: str) -> Expression:
    """An expression as a scalar of an element type; a float type does not round here."""
    given = value(x)
    kind = ops.scalar_type(dtype)
    return given if given.type == kind else cast(given, "real" if kind == "real" else dtype)


def to_array(x: Traced, name: str | None = None, hint: str = "t") -> Array:
    """A tensor (or input) with the elements of `x` over its logical axes, for compositions that take arrays."""
    if x.array is not None and name is None:
        return x.array
    axes = axes_over(x.extents)
    return te.tensor(name, axes, x.element(*axes), x.dtype, hint=hint)


def copied(x: Traced, hint: str = "t") -> Traced:
    """The same array as a tensor of its own: what many readers of a costly view should read."""
    return x if x.array is not None else compute(lambda e: e, x, dtype=x.dtype, hint=hint)


def compute(f: Callable[..., Expression], *arrays: Traced, dtype: str, hint: str = "t") -> Traced:
    """`f` of the elements of arrays that broadcast against each other, as a tensor of element type `dtype`.

    What reads nothing (masks of positions, constants) stays a view, so that conditions on indices are seen as such,
    unless it takes many operations.
    """
    given = align(*broadcast(*arrays))
    factors = given[0].factors if given else ()
    axes = axes_over(tuple(s for g in factors for s in g))
    body = f(*(x.at(axes_forms(axes)) for x in given))
    below = list(walk(body.scalar))
    if len(below) <= MOST and not any(isinstance(s, (Read, Reduce, Scan)) for s in below):
        return Traced(factors, remembered(lambda c: f(*(x.at(c) for x in given))), dtype)
    array = te.tensor(None, axes, body, dtype, hint=hint)
    return Traced(factors, lambda c: array[tuple(c)], dtype, array if plain(factors) else None)


def remembered(at: At) -> At:
    """The same function, which computes the element at some coordinates once."""
    known: dict[tuple[object, ...], Expression] = {}

    def element(coordinates: Sequence[Coordinate]) -> Expression:
        key = tuple(c if isinstance(c, Affine) else c.scalar for c in coordinates)
        if key not in known:
            known[key] = at(coordinates)
        return known[key]

    return element


def settled(x: Traced) -> Traced:
    """`x`, as a tensor of its own where its elements take many operations: what a view reads several times."""
    if x.array is not None or x.constant is not None:
        return x
    body = x.at(axes_forms(axes_over(x.flat)))
    return x if sum(1 for _ in walk(body.scalar)) <= MOST else copied(x)


def axes_forms(axes: Sequence[Index]) -> list[Coordinate]:
    """Indices as coordinates."""
    return [affine(i) for i in axes]


def plain(factors: tuple[Factors, ...]) -> bool:
    """Whether each axis is one factor, so that a tensor over the factors is one over the axes."""
    return all(len(f) == 1 for f in factors)


def fold(
    f: Callable[[tuple[Index, ...], Expression], Expression],
    x: Traced,
    axes: Sequence[int],
    dtype: str,
    *,
    keepdims: bool = False,
    hint: str = "t",
) -> Traced:
    """`f(indices, element)`, a fold over the factors of some axes, for every point of the others.

    Without axes to fold over, `f` gets no indices.
    """
    chosen = {axis_of(x, a) for a in axes}
    kept: list[Factors] = [() if p in chosen else g for p, g in enumerate(x.factors)]
    free = axes_over(tuple(s for g in kept for s in g))
    outer, inner, at, bound = iter(free), 0, list[Coordinate](), list[Index]()
    for p, g in enumerate(x.factors):
        for s in g:
            if p in chosen:
                bound.append(Index(f"r{inner}", s))
                inner += 1
                at.append(affine(bound[-1]))
            else:
                at.append(affine(next(outer)))
    array = te.tensor(None, free, f(tuple(bound), x.at(at)), dtype, hint=hint)
    factors = tuple(kept if keepdims else [g for p, g in enumerate(kept) if p not in chosen])
    return Traced(factors, lambda c: array[tuple(c)], dtype, array if plain(factors) else None)


def axis_of(x: Traced, axis: int) -> int:
    """The position of an axis, negative ones counted from the last."""
    if isinstance(axis, bool) or not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
        known = f"axes are {-x.ndim} to {x.ndim - 1}" if x.ndim else "the array has no axes"
        raise fail(f"there is no axis {axis!r}", known)
    return axis % x.ndim


def broadcast_shapes(*shapes: Sequence[AffineLike]) -> tuple[Affine, ...]:
    """The common shape by NumPy's rule. Raises GraphError where extents differ and neither is 1."""
    rank = max(map(len, shapes), default=0)
    found = [affine(1)] * rank
    for shape in shapes:
        for p, size in enumerate(map(affine, shape), rank - len(shape)):
            if size.value == 1 or size is found[p]:
                continue
            if found[p].value != 1:
                raise fail(
                    f"shapes {' and '.join(str(tuple(s)) for s in shapes)} do not broadcast",
                    "make extents equal or 1, axis by axis from the last",
                )
            found[p] = size
    return tuple(found)


def broadcast(*arrays: Traced) -> tuple[Traced, ...]:
    """Arrays spread to their common shape."""
    shape = broadcast_shapes(*(x.extents for x in arrays))
    return tuple(broadcast_to(x, shape) for x in arrays)


def broadcast_to(x: Traced, shape: Sequence[AffineLike]) -> Traced:
    """`x` repeated along axes of one element, and along new leading ones."""
    shape = tuple(map(affine, shape))
    if broadcast_shapes(x.extents, shape) != shape:
        raise fail(f"shape {x.extents} does not broadcast to {shape}", "give a shape that holds every axis")
    if x.extents == shape:
        return x
    new = len(shape) - x.ndim
    own = tuple(() if s.value == 1 else (s,) for s in shape)
    factors = tuple(own[p] if p < new or not x.factors[p - new] else x.factors[p - new] for p in range(len(shape)))
    read = [p >= new and bool(x.factors[p - new]) for p, g in enumerate(factors) for _ in g]
    at = x.at if x.constant is not None else lambda c: x.at([k for k, r in zip(c, read, strict=True) if r])
    return Traced(factors, at, x.dtype, None, x.constant)


def align(*arrays: Traced) -> tuple[Traced, ...]:
    """Arrays of one shape under one factoring of each axis."""
    if not arrays:
        return ()
    target = list(arrays[0].factors)
    for x in arrays[1:]:
        target = [refine(a, b) or a for a, b in zip(target, x.factors, strict=True)]
    return tuple(refactored(x, tuple(target)) for x in arrays)


def refactored(x: Traced, factors: tuple[Factors, ...]) -> Traced:
    """The same array under other factors of its axes."""
    if x.factors == factors:
        return x

    def at(coordinates: Sequence[Coordinate]) -> Expression:
        found: list[Coordinate] = []
        start = 0
        for mine, theirs in zip(x.factors, factors, strict=True):
            found += remap(mine, theirs, coordinates[start : start + len(theirs)])
            start += len(theirs)
        return x.at(found)

    return Traced(factors, at, x.dtype)
