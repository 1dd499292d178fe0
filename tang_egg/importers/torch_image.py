"""Upsampling of ATen: nearest and (bi-, tri-)linear, axis by axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tang_egg import expression as e
from tang_egg.affine import affine
from tang_egg.expression import Expression
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, known
from tang_egg.traced import Traced, compute, copied, fail
from tang_egg.traced_factor import Coordinate
from tang_egg.traced_view import along


def _ratio(size: int, wanted: int, scale: Any) -> Any:
    """Source positions per position of the result, in single precision as PyTorch has it."""
    if scale is not None and float(scale) > 0:
        return np.float32(1.0 / float(scale))
    return np.float32(size) / np.float32(wanted)


def _nearest_axis(x: Traced, axis: int, wanted: int, scale: Any, centred: bool) -> Traced:
    size = known(x.extents[axis], "the size of an image")
    place = np.arange(wanted, dtype=np.float32) + np.float32(0.5 if centred else 0)
    source = np.minimum(np.floor(place * _ratio(size, wanted, scale)).astype(np.int64), size - 1)
    if wanted == size and (source == np.arange(size)).all():
        return x
    numerator, divisor, offset = _formula(source, size, wanted)

    def at(c: Coordinate) -> Coordinate:
        return (e.value(c) * numerator + offset) // divisor

    return along(x, axis, wanted, at)


def _formula(source: Any, size: int, wanted: int) -> tuple[int, int, int]:
    """(a, b, c) such that source[y] = (a y + c) // b for all y. Raises GraphError where there is none of this kind."""
    y = np.arange(wanted)
    for a, b in ((size, wanted), (1, max(1, wanted // max(1, size)))):
        for offset in dict.fromkeys((0, a // 2, b // 2, a)):
            if (((a * y + offset) // b) == source).all():
                return a, b, offset
    raise fail(f"{size} pixels become {wanted} by a ratio that rounds unevenly", "use a whole scale factor")


def _register_nearest(n: int) -> None:
    def nearest(out: Out, x: Traced, sizes: Any, *scales: Any, centred: bool = False) -> Traced:
        for p in range(n):
            axis = 2 + p
            wanted = known(out.shape[axis], "the size of an image")
            x = _nearest_axis(x, axis, wanted, scales[p] if p < len(scales) else None, centred)
        return x

    def by_list(out: Out, x: Traced, sizes: Any, factors: Any, centred: bool = False) -> Traced:
        return nearest(out, x, sizes, *(factors or ()), centred=centred)

    op(f"upsample_nearest{n}d")(nearest)
    op(f"upsample_nearest{n}d.vec")(by_list)
    op(f"_upsample_nearest_exact{n}d")(lambda out, x, sizes, *scales: nearest(out, x, sizes, *scales, centred=True))
    op(f"_upsample_nearest_exact{n}d.vec")(lambda out, x, sizes, factors: by_list(out, x, sizes, factors, True))


def _linear_axis(x: Traced, axis: int, wanted: int, corners: bool, scale: Any) -> Traced:
    size = known(x.extents[axis], "the size of an image")
    if size == wanted and (corners or scale is None or float(scale) == 1.0):
        return x
    if corners:
        step = (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    else:
        step = float(_ratio(size, wanted, scale))
    given = copied(x)

    def place(c: Coordinate) -> Expression:
        y = e.cast(e.value(c), "real")
        if corners:
            return y * step
        return e.maximum((y + 0.5) * step - 0.5, 0.0)

    def low(c: Coordinate) -> Expression:
        return e.minimum(e.cast(e.floor(place(c)), "i64"), size - 1)

    def high(c: Coordinate) -> Expression:
        return e.minimum(e.cast(e.floor(place(c)), "i64") + 1, size - 1)

    first, second = (along(given, axis, wanted, f) for f in (low, high))
    start = sum(len(g) for g in first.factors[:axis])

    def share(coordinates: Sequence[Coordinate]) -> Expression:
        c = coordinates[start] if first.factors[axis] else affine(0)
        return place(c) - e.floor(place(c))

    weight = Traced(first.factors, share, "f32")
    return compute(lambda a, b, t: a + (b - a) * t, first, second, weight, dtype=x.dtype, hint="interpolated")


def _register_linear(name: str, n: int) -> None:
    def linear(out: Out, x: Traced, sizes: Any, corners: bool, *scales: Any) -> Traced:
        for p in range(n):
            wanted = known(out.shape[2 + p], "the size of an image")
            x = _linear_axis(x, 2 + p, wanted, corners, scales[p] if p < len(scales) else None)
        return x

    op(name)(linear)
    op(f"{name}.vec")(lambda out, x, sizes, corners, factors: linear(out, x, sizes, corners, *(factors or ())))


for _n in (1, 2, 3):
    _register_nearest(_n)
for _name, _n in (("upsample_linear1d", 1), ("upsample_bilinear2d", 2), ("upsample_trilinear3d", 3)):
    _register_linear(_name, _n)
