"""Views of traced arrays: other shapes, orders and parts of their axes; and arrays joined or padded along one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tang_egg import notation as te
from tang_egg.affine import Affine, AffineLike, Inequality, affine, axes_over, product
from tang_egg.expression import Expression, select, value
from tang_egg.traced import Traced, align, axes_forms, axis_of, copied, fail, full, plain, refactored
from tang_egg.traced_factor import Coordinate, Factors, groups, parted, plus, quotient, refine, remap, split, times


def reshape(x: Traced, shape: Sequence[AffineLike]) -> Traced:
    """`x` under another shape of as many elements, row-major; one extent may be -1."""
    wanted = _completed(x, [affine(s) for s in shape])
    if wanted == x.extents:
        return x
    if any(s.value == 0 for s in wanted):
        return full(wanted, 0, x.dtype)
    flat = [s for s in wanted if s.value != 1]
    parts: list[Factors] = []
    for mine, axes in groups(x.flat, tuple(flat)):
        refined = refine(mine, axes)
        parts += [(s,) for s in axes] if refined is None else split(refined, axes)
    rest = iter(parts)
    factors = tuple(() if s.value == 1 else next(rest) for s in wanted)
    target = tuple(s for g in factors for s in g)
    return Traced(factors, lambda c: x.at(remap(x.flat, target, c)), x.dtype)


def _completed(x: Traced, shape: list[Affine]) -> tuple[Affine, ...]:
    """The shape with its -1 filled in. Raises GraphError unless it has as many elements as `x`."""
    count, open_ = product(x.extents), [p for p, s in enumerate(shape) if s.value == -1]
    if len(open_) == 1:
        left = quotient(count, product([s for p, s in enumerate(shape) if p != open_[0]]))
        if left is not None:
            shape[open_[0]] = left
    if any(s.value is not None and s.value < 0 for s in shape) or product(shape) is not count:
        raise fail(
            f"an array of shape {x.extents} cannot take the shape {tuple(shape)}",
            "give a shape of as many elements, with at most one -1",
        )
    return tuple(shape)


def permute(x: Traced, order: Sequence[int]) -> Traced:
    """The axes of `x` in another order: axis n of the result is axis `order[n]`."""
    chosen = [axis_of(x, a) for a in order]
    if sorted(chosen) != list(range(x.ndim)):
        raise fail(f"{tuple(order)} is no order of {x.ndim} axes", "name every axis once")
    if chosen == list(range(x.ndim)):
        return x
    starts = [sum(len(g) for g in x.factors[:p]) for p in range(x.ndim)]
    places = [starts[p] + n for p in chosen for n in range(len(x.factors[p]))]

    def at(coordinates: Sequence[Coordinate]) -> Expression:
        found: list[Coordinate] = [affine(0)] * len(places)
        for c, place in zip(coordinates, places, strict=True):
            found[place] = c
        return x.at(found)

    return Traced(tuple(x.factors[p] for p in chosen), at, x.dtype)


def expand_dims(x: Traced, axis: int) -> Traced:
    """`x` with an axis of one element before position `axis` (of the result)."""
    p = axis + x.ndim + 1 if axis < 0 else axis
    if not 0 <= p <= x.ndim:
        raise fail(f"no axis can be put at {axis} of {x.ndim} axes", f"positions are {-x.ndim - 1} to {x.ndim}")
    return Traced((*x.factors[:p], (), *x.factors[p:]), x.at, x.dtype)


def squeeze(x: Traced, axes: Sequence[int]) -> Traced:
    """`x` without some axes of one element."""
    chosen = {axis_of(x, a) for a in axes}
    for p in chosen:
        if x.extents[p].value != 1:
            raise fail(f"axis {p} has {x.extents[p]} elements and cannot be left out", "squeeze axes of one element")
    kept = [p for p in range(x.ndim) if p not in chosen]
    # an axis of one element may still have a factor if its extent is known only as a product
    pruned = refactored(x, tuple(() if p in chosen else g for p, g in enumerate(x.factors)))
    return Traced(tuple(pruned.factors[p] for p in kept), pruned.at, x.dtype)


def along(x: Traced, axis: int, size: AffineLike, at: Callable[[Coordinate], Coordinate]) -> Traced:
    """`x` with axis `axis` of `size` elements, element c of it read at `at(c)`: slices, flips, gathers by position."""
    p, extent = axis_of(x, axis), affine(size)
    own: Factors = () if extent.value == 1 else (extent,)
    start = sum(len(g) for g in x.factors[:p])

    def element(coordinates: Sequence[Coordinate]) -> Expression:
        here_, rest = coordinates[start : start + len(own)], coordinates[start + len(own) :]
        place = at(here_[0] if here_ else affine(0))
        return x.at([*coordinates[:start], *parted(place, x.factors[p]), *rest])

    return Traced((*x.factors[:p], own, *x.factors[p + 1 :]), element, x.dtype)


def sliced(x: Traced, axis: int, start: AffineLike, size: AffineLike, step: int = 1) -> Traced:
    """`size` elements of an axis from `start` on, every `step`-th (a negative step goes backwards)."""
    return along(x, axis, size, lambda c: plus(times(c, step), affine(start)))


def flip(x: Traced, axis: int) -> Traced:
    """`x` with an axis reversed."""
    size = x.extents[axis_of(x, axis)]
    return sliced(x, axis, size - 1, size, -1)


def concatenate(arrays: Sequence[Traced], axis: int, hint: str = "joined") -> Traced:
    """Arrays of one element type, end to end along an axis, as a tensor."""
    if not arrays:
        raise fail("nothing to concatenate", "give at least one array")
    p = axis_of(arrays[0], axis)
    shapes = [(*x.extents[:p], *x.extents[p + 1 :]) for x in arrays]
    if any(s != shapes[0] for s in shapes):
        raise fail(f"arrays of shapes {', '.join(str(x.extents) for x in arrays)} do not join along axis {p}",
                   "make all other extents equal")  # fmt: skip
    total = sum((x.extents[p] for x in arrays), affine(0))
    begins = [sum((x.extents[p] for x in arrays[:n]), affine(0)) for n in range(len(arrays))]
    parts = align(*(along(x, p, total, _shift(-b)) for x, b in zip(arrays, begins, strict=True)))
    factors = parts[0].factors
    axes = axes_forms(axes_over(parts[0].flat))
    place = axes[sum(len(g) for g in factors[:p])] if factors[p] else affine(0)
    body = parts[-1].at(axes)
    for part, end in reversed(list(zip(parts[:-1], begins[1:], strict=True))):
        body = select(less(place, end), part.at(axes), body)
    array = te.tensor(None, axes_over(parts[0].flat), body, arrays[0].dtype, hint=hint)
    return Traced(factors, lambda c: array[tuple(c)], arrays[0].dtype, array if plain(factors) else None)


def _shift(by: Affine) -> Callable[[Coordinate], Coordinate]:
    return lambda c: plus(c, by)


def less(a: Coordinate, b: Affine) -> Inequality | Expression:
    """a < b: a condition on indices where `a` is affine."""
    return a < b if isinstance(a, Affine) else value(a) < value(b)


def padded(
    x: Traced, axis: int, before: AffineLike, after: AffineLike, fill: Expression, hint: str = "padded"
) -> Traced:
    """`x` with `fill` around one axis, as a tensor; negative widths cut elements off."""
    p, low, high = axis_of(x, axis), affine(before), affine(after)
    size = x.extents[p]
    grown = along(x, p, size + low + high, lambda c: plus(c, -low))
    if all(w.value is not None and w.value <= 0 for w in (low, high)):
        return grown
    start = sum(len(g) for g in grown.factors[:p])

    def at(coordinates: Sequence[Coordinate]) -> Expression:
        shifted = plus(coordinates[start] if grown.factors[p] else affine(0), -low)
        live = te.holds((_not_negative(shifted), less(shifted, size)))
        return select(live, grown.at(coordinates), fill)

    return copied(Traced(grown.factors, at, x.dtype), hint)


def _not_negative(a: Coordinate) -> Inequality | Expression:
    return a >= 0 if isinstance(a, Affine) else value(a) >= 0
