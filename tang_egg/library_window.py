"""Windows that slide along the axes of an array: their extents, and the conditions under which a point lies inside.

Along one axis of extent H with padding (before, after), a kernel of K points, stride s and dilation d, output position
y sees the input positions y·s + k·d - before for 0 <= k < K; there are

    floor((H + before + after - d·(K - 1) - 1) / s) + 1

output positions. Rounding upwards adds one where that last window starts inside the input or the padding before it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tang_egg.affine import Affine, Index, Inequality, affine
from tang_egg.bounds import prove_nonnegative
from tang_egg.errors import GraphError
from tang_egg.expression import here

PerAxis: TypeAlias = "int | Sequence[int]"
Padding: TypeAlias = "int | Sequence[int] | Sequence[tuple[int, int]]"

MOST = 2**31
"""Strides, paddings, dilations and kernel extents are smaller than this, so that no product of them overflows."""


@dataclass(frozen=True, slots=True)
class Slide:
    """A window along one axis: `extent` input positions, `kernel` points, `size` output positions."""

    extent: Affine
    kernel: Affine
    stride: int
    before: int
    after: int
    dilation: int
    size: Affine

    def at(self, y: Index, k: Index) -> Affine:
        """The input position that point `k` of the window at output position `y` sees; it may lie outside."""
        return y * self.stride + k * self.dilation - self.before

    def inside(self, y: Index, k: Index) -> list[Inequality]:
        """The conditions under which that position lies in the input, less those that always hold."""
        return needed(self.at(y, k), self.extent)

    def inside_padding(self, y: Index, k: Index) -> list[Inequality]:
        """The same for the input with its padding: a window rounded upwards may pass even that."""
        return needed(self.at(y, k) + self.before, self.extent + self.before + self.after)


def needed(position: Affine, extent: Affine) -> list[Inequality]:
    """`0 <= position < extent` as conditions, less those that hold for all values of the indices."""
    scope = position.indices()
    forms = (position, extent - 1 - position)
    return [f >= 0 for f in forms if not prove_nonnegative(f, (), scope)]


def slides(
    extents: Sequence[Affine],
    kernel: Sequence[Affine | int],
    stride: PerAxis,
    padding: Padding,
    dilation: PerAxis,
    ceil: bool = False,
) -> tuple[Slide, ...]:
    """One window for each axis. Raises GraphError for parameters that do not fit, or a kernel that is too large."""
    n = len(extents)
    strides, dilations = whole(stride, n, "stride", 1), whole(dilation, n, "dilation", 1)
    pads = pairs(padding, n)
    return tuple(
        _slide(h, affine(k), s, p, d, ceil)
        for h, k, s, p, d in zip(extents, kernel, strides, pads, dilations, strict=True)
    )


def _slide(extent: Affine, kernel: Affine, stride: int, pad: tuple[int, int], dilation: int, ceil: bool) -> Slide:
    before, after = pad
    span = extent + (before + after) - (kernel - 1) * dilation - 1
    size = _divided(span, stride, ceil) + 1
    if size.value is not None and size.value < 1:
        raise GraphError(
            f"a kernel of {kernel} points, {dilation} apart, is longer than the axis of {extent + before + after}",
            where=str(here()),
            mend="pad the axis, or take a smaller kernel or dilation",
        )
    if ceil and size.value is not None and extent.value is not None:
        # The last window starts inside the input or the padding before it, else it would see nothing.
        if (size.value - 1) * stride >= extent.value + before:
            size = size - 1
    return Slide(extent, kernel, stride, before, after, dilation, size)


def _divided(form: Affine, by: int, ceil: bool) -> Affine:
    """form / by rounded. Raises GraphError where that is no polynomial in the dims of the form."""
    if by == 1:
        return form
    if any(c % by for monomial, c in form.terms if monomial):
        raise GraphError(
            f"an axis of symbolic extent with stride {by}: ({form}) / {by} is no sum of dimensions",
            where=str(here()),
            mend=f"fix the extent, or write it as a multiple of the stride: ({by} * n)",
        )
    rest = form.constant
    quotient = -(-rest // by) if ceil else rest // by
    return Affine.of({m: c // by for m, c in form.terms if m}) + quotient


def whole(value: PerAxis, n: int, what: str, least: int) -> tuple[int, ...]:
    """One integer of at least `least` for each of `n` axes. Raises GraphError for anything else."""
    given = [value] * n if isinstance(value, int) or hasattr(value, "__index__") else value
    numbers = _integers(given)
    if numbers is None or len(numbers) != n or any(not least <= v < MOST for v in numbers):
        raise GraphError(
            f"the {what} {value!r} of {n} {'axis' if n == 1 else 'axes'}",
            where=str(here()),
            mend=f"give a whole number from {least}, or a sequence of {n} of them",
        )
    return numbers


def pairs(padding: Padding, n: int) -> tuple[tuple[int, int], ...]:
    """(before, after) for each of `n` axes, of an integer, one for each axis, or a pair for each axis."""
    given = [padding] * n if isinstance(padding, int) or hasattr(padding, "__index__") else padding
    found: list[tuple[int, int]] = []
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)) and len(given) == n:
        for p in given:
            ends = _integers(p if isinstance(p, Sequence) else (p, p))
            if ends is not None and len(ends) == 2 and all(0 <= e < MOST for e in ends):
                found.append((ends[0], ends[1]))
    if len(found) != n:
        raise GraphError(
            f"the padding {padding!r} of {n} {'axis' if n == 1 else 'axes'}",
            where=str(here()),
            mend=f"give a whole number from 0, {n} of them, or {n} pairs (before, after)",
        )
    return tuple(found)


def _integers(given: object) -> tuple[int, ...] | None:
    """The members of a sequence as integers, or None where one is none."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        return None
    if any(isinstance(v, bool) or not hasattr(v, "__index__") for v in given):
        return None
    return tuple(operator.index(v) for v in given)


def positions(stem: str, sizes: Sequence[Affine]) -> tuple[Index, ...]:
    """Indices stem0, stem1, ... over `sizes`."""
    return tuple(Index(f"{stem}{p}", size) for p, size in enumerate(sizes))
