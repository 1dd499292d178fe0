"""Padding: with a value, or with elements of the array itself."""

from __future__ import annotations

from functools import partial

from tang_egg import expression as e
from tang_egg import traced, traced_view
from tang_egg.affine import affine, product
from tang_egg.bounds import prove_nonnegative
from tang_egg.expression import Expression, value
from tang_egg.importers.onnx_call import Call, Table, extent
from tang_egg.importers.onnx_value import Unsupported, Value
from tang_egg.traced import Traced
from tang_egg.traced_factor import Coordinate, plus, times

OPERATORS = Table()


@OPERATORS.add("Pad", 25)
def pad(call: Call) -> Value:
    x = call.x(0)
    mode = call.text("mode", "constant")
    if call.since >= 11:
        pads = call.sizes(1, "pads")
        axes = call.axes(call.numbers(3, "axes"), x.ndim) if call.given(3) else tuple(range(x.ndim))
        fill = call.x(2) if call.given(2) else None
    else:
        pads = tuple(map(affine, call.ints("pads" if call.since >= 2 else "paddings")))
        axes, fill = tuple(range(x.ndim)), traced.scalar(call.number("value", 0.0), x.dtype)
    if len(pads) != 2 * len(axes):
        raise call.wrong(f"{len(pads)} pads for {len(axes)} axes")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise call.wrong(f"there is no mode '{mode}'")
    if fill is None or (fill.ndim and fill.extents[0].value == 0):
        fill = traced.scalar(0, x.dtype)
    if product(fill.extents).value != 1:
        raise call.wrong("the value has more than one element")
    around = traced_view.reshape(fill, ()).at(())
    for axis, before, after in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        if before.value == 0 and after.value == 0:
            continue
        if mode == "constant":
            x = traced_view.padded(x, axis, before, after, around)
        else:
            x = mirrored(call, x, axis, before.value, after.value, mode)
    return x


def mirrored(call: Call, x: Traced, axis: int, before: int | None, after: int | None, mode: str) -> Traced:
    """`x` with elements of its own around one axis."""
    if before is None or after is None:
        raise Unsupported(f"padding of symbolic width in mode '{mode}'")
    if before < 0 or after < 0:
        cut = max(0, -before)
        x = traced_view.sliced(x, axis, cut, x.extents[axis] - cut - max(0, -after))
        before, after = max(0, before), max(0, after)
    n = x.extents[axis]
    most = n if mode == "wrap" else n - 1
    if mode != "edge" and not (prove_nonnegative(most - before) and prove_nonnegative(most - after)):
        return _folded_back(x, axis, before, after, mode, extent(x, axis, "padding"))
    if n.value == 0:
        raise call.wrong("an axis without elements is padded by elements of its own")
    before_, size = before, n + before + after

    def region(which: int, at: Coordinate) -> Coordinate:
        """The position that is read before, in and after the array."""
        inner = plus(at, -before_)
        if mode == "edge":
            return (affine(0), inner, n - 1)[which]
        if mode == "wrap":
            return (plus(inner, n), inner, plus(inner, -n))[which]
        return (times(inner, -1), inner, plus(times(inner, -1), (n - 1) * 2))[which]

    parts = [traced_view.along(x, axis, size, partial(region, w)) for w in range(3)]
    p = traced.axis_of(x, axis)
    start = sum(len(g) for g in parts[0].factors[:p])

    def element(coordinates: list[Coordinate]) -> Expression:
        at = coordinates[start]
        inside = e.select(traced_view.less(at, n + before_), parts[1].at(coordinates), parts[2].at(coordinates))
        return e.select(traced_view.less(at, affine(before_)), parts[0].at(coordinates), inside)

    return traced.copied(Traced(parts[0].factors, element, x.dtype), "padded")  # type: ignore[arg-type]


def _folded_back(x: Traced, axis: int, before: int, after: int, mode: str, n: int) -> Traced:
    """The same where the padding is wider than the array: positions by remainders."""

    def at(c: Coordinate) -> Coordinate:
        inner = value(c) - before
        if mode == "wrap":
            return inner % n
        if n == 1:
            return affine(0)
        within = inner % (2 * (n - 1))
        return e.minimum(within, 2 * (n - 1) - within)

    return traced.copied(traced_view.along(x, axis, n + before + after, at), "padded")
