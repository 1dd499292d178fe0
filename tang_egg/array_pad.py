"""Padding of traced arrays: by a constant, or by what stands at their ends."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from tang_egg import traced_view
from tang_egg.affine import Affine, affine
from tang_egg.array_constants import Like, operand
from tang_egg.array_shape import chosen
from tang_egg.array_types import number_as
from tang_egg.bounds import prove_nonnegative
from tang_egg.expression import Expression, select, value
from tang_egg.traced import Traced, fail
from tang_egg.traced_factor import Coordinate, plus
from tang_egg.traced_view import less


def pad(x: Like, pad_width: Any, /, mode: str = "constant", *, constant_values: Like = 0) -> Traced:
    """More elements around each axis, `pad_width` (before, after) for each, or one pair or number for all.

    `mode`: "constant", "edge", "reflect" (without the edge), "symmetric" (with it) or "wrap".
    """
    given = operand(x)
    kinds = {"edge": _edge, "reflect": _reflect, "symmetric": _symmetric, "wrap": _wrap}
    if mode != "constant" and mode not in kinds:
        raise fail(f"padding by '{mode}'", f"use constant, {', '.join(kinds)}")
    for p, (before, after) in enumerate(_widths(pad_width, given.ndim)):
        if before == 0 and after == 0:
            continue
        if mode == "constant":
            fill = number_as(_one(constant_values), given.dtype).at(())
            given = traced_view.padded(given, p, before, after, fill)
        else:
            given = kinds[mode](given, p, before, after)
    return given


def _one(x: Like) -> Any:
    given = operand(x)
    if given.constant is None:
        raise fail("padding with a value that is no constant", "pad with a number, or join the parts by concat")
    return given.constant


def _widths(given: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(given, int):
        return [(given, given)] * rank
    rows = [tuple(w) if hasattr(w, "__iter__") else (w, w) for w in given]
    if len(given) == 2 and builtins.all(isinstance(w, int) for w in given):
        rows = [tuple(given)] * rank
    if len(rows) == 1:
        rows = rows * rank
    if len(rows) != rank or builtins.any(len(r) != 2 or builtins.any(int(w) < 0 for w in r) for r in rows):
        raise fail(f"the padding {given!r} of {rank} axes", "give (before, after) from 0 on for each axis")
    return [(int(a), int(b)) for a, b in rows]


def _edge(x: Traced, axis: int, before: int, after: int) -> Traced:
    size = x.extents[axis]
    return _around(x, axis, before, after, lambda c, read: read(affine(0)), lambda c, read: read(size - 1))


def _mirrored(x: Traced, axis: int, before: int, after: int, edge: int) -> Traced:
    """Mirrored at its ends, `edge` 1 without the last element twice; wide paddings are mirrored several times."""
    size = x.extents[axis]
    if size.value == 1 and edge:
        return _edge(x, axis, before, after)
    if not _fits(size - edge, before, after):
        period = (size - edge) * 2

        def place(c: Coordinate) -> Expression:
            at = value(plus(c, -before)) % value(period)
            return select(at < value(size), at, value(period - 1 + edge) - at)

        return chosen(x, axis, size + before + after, lambda c, read: read(place(c)))
    return _around(
        x, axis, before, after,
        lambda c, read: read(plus(-c, affine(before - 1 + edge))),
        lambda c, read: read(plus(-c, size * 2 - 1 - edge + before)),
    )  # fmt: skip


def _fits(room: Affine, before: int, after: int) -> bool:
    """Whether no padding is wider than `room`. Raises GraphError where that is not known, or there is nothing."""
    wanted = builtins.max(before, after)
    if room.value is not None:
        if room.value <= 0:
            raise fail("an axis without elements cannot be padded from itself", "pad it by a constant")
        return wanted <= room.value
    if not prove_nonnegative(room - wanted):
        raise fail(f"{wanted} elements are taken from {room} at the end of an axis",
                   "state a lower limit of the dimension")  # fmt: skip
    return True


def _reflect(x: Traced, axis: int, before: int, after: int) -> Traced:
    return _mirrored(x, axis, before, after, 1)


def _symmetric(x: Traced, axis: int, before: int, after: int) -> Traced:
    return _mirrored(x, axis, before, after, 0)


def _wrap(x: Traced, axis: int, before: int, after: int) -> Traced:
    size = x.extents[axis]
    if not _fits(size, before, after):
        return chosen(
            x, axis, size + before + after, lambda c, read: read(value(plus(c, -before)) % value(size))
        )  # fmt: skip
    return _around(
        x, axis, before, after,
        lambda c, read: read(plus(c, size - before)),
        lambda c, read: read(plus(c, -size - before)),
    )  # fmt: skip


def _around(
    x: Traced, axis: int, before: int, after: int, first: Callable[..., Expression], last: Callable[..., Expression]
) -> Traced:
    """`x` with `before` and `after` more elements along an axis, each given by where it stands and a way to read."""
    size = x.extents[axis]

    def choose(c: Coordinate, read: Callable[[Coordinate], Expression]) -> Expression:
        body = read(plus(c, -before))
        if after:
            body = select(less(c, size + before), body, last(c, read))
        return select(less(c, affine(before)), first(c, read), body) if before else body

    return chosen(x, axis, size + before + after, choose)
