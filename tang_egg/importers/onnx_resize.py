"""Resizing by interpolation: along each axis, an element is a weighted sum of few neighbours.

Positions and weights follow from the sizes, so they are computed at import. With k the kernel of an interpolation
(linear: 1 - |t|; cubic: Keys' piecewise polynomial), the weight of element i for a point at x is k(i - x), or
k((i - x)·scale) where a smaller image is made with anti-aliasing; weights are divided by their sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import traced, traced_view
from tang_egg.affine import Index, affine
from tang_egg.importers.onnx_call import Call, Table, extent
from tang_egg.importers.onnx_index import indices
from tang_egg.importers.onnx_value import Array, Unsupported, Value, known
from tang_egg.traced import Traced
from tang_egg.traced_factor import Coordinate

OPERATORS = Table()

MOST = 1 << 24
"""Extent of a resized axis."""


@dataclass(frozen=True, slots=True)
class How:
    """The parameters of a resize that all axes share."""

    mode: str
    transform: str
    nearest: str
    cubic: float
    exclude: bool
    antialias: bool


def points(how: How, size: int, count: int, scale: float, roi: tuple[float, float]) -> Array:
    """Where each of `count` results lies on an axis of `size` elements."""
    y, length = np.arange(count, dtype=np.float64), scale * size
    if how.transform == "align_corners":
        return y * 0.0 if length == 1 else y * (size - 1) / (length - 1)
    if how.transform == "asymmetric":
        return y / scale
    if how.transform == "tf_crop_and_resize":
        start, end = roi[0] * (size - 1), roi[1] * (size - 1)
        return y * 0.0 + (start + end) / 2 if length == 1 else start + y * (end - start) / (length - 1)
    if how.transform == "pytorch_half_pixel" and length == 1:
        return y * 0.0 - 0.5
    if how.transform == "tf_half_pixel_for_nn":
        return (y + 0.5) / scale
    offset = size / 2 * (1 - count / length) if how.transform == "half_pixel_symmetric" else 0.0
    return offset + (y + 0.5) / scale - 0.5


def _kernel(how: How, t: Array) -> Array:
    a, t = how.cubic, np.abs(t)
    if how.mode == "linear":
        return np.asarray(np.clip(1 - t, 0, None))
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def nearest(how: How, x: Array, size: int) -> Array:
    """The element nearest to each point."""
    chosen = {
        "round_prefer_floor": lambda: np.ceil(x - 0.5),
        "round_prefer_ceil": lambda: np.floor(x + 0.5),
        "floor": lambda: np.floor(x),
        "ceil": lambda: np.ceil(x),
    }[how.nearest]()
    return np.clip(chosen, 0, size - 1).astype(np.int64)


def neighbours(how: How, x: Array, size: int, scale: float) -> tuple[Array, Array]:
    """Elements [count, taps] and their weights for each point."""
    stretch = min(scale, 1.0) if how.antialias else 1.0
    reach = (1 if how.mode == "linear" else 2) / stretch
    taps = 2 * math.ceil(reach)
    first = np.floor(x)[:, None] - (taps // 2 - 1)
    at = first + np.arange(taps)
    weights = _kernel(how, (at - x[:, None]) * stretch)
    if how.exclude:
        weights = np.where((at >= 0) & (at < size), weights, 0.0)
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(at, 0, size - 1).astype(np.int64), weights


def picked(call: Call, x: Traced, axis: int, at: Array) -> Traced:
    """The elements at known positions along an axis: a view where they are evenly repeated or evenly apart."""
    size, count = extent(x, axis, "a resized axis"), len(at)
    times = count // size if size else 0
    if times > 1 and count == times * size and (at == np.arange(count) // times).all():
        return _repeated(x, axis, times)
    steps = np.unique(np.diff(at))
    if len(steps) <= 1 and count:
        return traced_view.sliced(x, axis, affine(int(at[0])), count, int(steps[0]) if len(steps) else 1)
    place = call.lift(known(at, "i64", "places"))
    axes = indices([affine(count) if p == axis else s for p, s in enumerate(x.extents)])
    body = x.element(*(place.element(i) if p == axis else i for p, i in enumerate(axes)))
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="picked"))


def _repeated(x: Traced, axis: int, times: int) -> Traced:
    """Every element of an axis several times over: the axis has a further factor that nothing reads."""
    own = (*x.factors[axis], affine(times))
    start = sum(len(g) for g in x.factors[:axis]) + len(own) - 1
    factors = (*x.factors[:axis], own, *x.factors[axis + 1 :])

    def at(c: Sequence[Coordinate]) -> e.Expression:
        return x.at([*c[:start], *c[start + 1 :]])

    return Traced(factors, at, x.dtype, None, x.constant)


def weighted(call: Call, x: Traced, axis: int, at: Array, weights: Array) -> Traced:
    """Σ over taps of weights[o, t] · x[at[o, t]] along an axis."""
    kind = x.dtype if x.dtype in ("f32", "f64") else "f32"
    place, weight = call.lift(known(at, "i64", "places")), call.lift(known(weights, kind, "weights"))
    axes = indices([affine(len(at)) if p == axis else s for p, s in enumerate(x.extents)])
    t = Index("tap", affine(at.shape[1]))
    o = axes[axis]
    element = x.element(*(place.element(o, t) if p == axis else i for p, i in enumerate(axes)))
    body = te.sum(t, weight.element(o, t) * element)
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="resized"))


def resized(
    call: Call, x: Traced, how: How, axes: Sequence[int], counts: Sequence[int], scales: Sequence[float],
    rois: Sequence[tuple[float, float]], outside: float,
) -> Traced:  # fmt: skip
    """`x` with new extents along some axes."""
    whole = x
    lost: list[tuple[int, Array]] = []
    for axis, count, scale, roi in zip(axes, counts, scales, rois, strict=True):
        size = whole.extents[axis].value
        if size is None:
            if scale == 1.0 and how.transform != "tf_crop_and_resize":
                continue
            x = _enlarged(x, how, axis, scale)
            continue
        if not 0 <= count <= MOST or (size == 0 and count):
            raise call.wrong(f"an axis of {size} elements is resized to {count}")
        if count == 0:
            x = traced.full([affine(0) if p == axis else s for p, s in enumerate(x.extents)], 0, x.dtype)
            continue
        at = points(how, size, count, scale, roi)
        if how.transform == "tf_crop_and_resize":
            lost.append((axis, (at < 0) | (at > size - 1)))
        if how.mode == "nearest":
            x = picked(call, x, axis, nearest(how, at, size))
        elif count != size or (at != np.arange(size)).any():
            x = weighted(call, x, axis, *neighbours(how, at, size, scale))
    for axis, mask in lost:
        if mask.any():
            gone = traced_view.reshape(
                call.lift(known(mask, "bool", "outside")), [len(mask), *(1,) * (x.ndim - axis - 1)]
            )
            x = traced.compute(lambda m, a: e.select(m, outside, a), gone, x, dtype=x.dtype, hint="cropped")
    return x


def _enlarged(x: Traced, how: How, axis: int, scale: float) -> Traced:
    """A symbolic axis, enlarged by a whole number so that elements repeat."""
    times = int(scale)
    plain = (
        how.mode == "nearest"
        and times == scale
        and times > 1
        and (
            (how.transform == "asymmetric" and how.nearest == "floor")
            or (how.transform in ("half_pixel", "pytorch_half_pixel") and how.nearest.startswith("round"))
        )
    )
    # At half pixels a point lies at (y + 1/2)/times - 1/2, at most (times - 1)/(2 times) from its element: never a tie.
    if not plain:
        raise Unsupported("resizing of a symbolic axis, unless elements repeat")
    return _repeated(x, axis, times)


@OPERATORS.add("Resize", 19)
def resize(call: Call) -> Value:
    x = call.x(0)
    how = How(
        call.text("mode", "nearest"),
        call.text("coordinate_transformation_mode", "half_pixel") if call.since >= 11 else "asymmetric",
        call.text("nearest_mode", "round_prefer_floor") if call.since >= 11 else "floor",
        call.number("cubic_coeff_a", -0.75),
        bool(call.integer("exclude_outside", 0)),
        bool(call.integer("antialias", 0)),
    )
    _check(call, how)
    axes = call.axes(call.ints("axes"), x.ndim) if call.has("axes") else tuple(range(x.ndim))
    given = 2 if call.since >= 11 else 1
    scales, counts = _sizes(call, x, axes, given)
    roi = [(0.0, 1.0)] * len(axes)
    if how.transform == "tf_crop_and_resize":
        flat = call.known(1, "roi").reshape(-1).astype(np.float64) if call.given(1) else np.array([])
        if len(flat) != 2 * len(axes) or not np.isfinite(flat).all():
            raise call.wrong(f"a roi of {len(flat)} numbers for {len(axes)} axes")
        roi = [(float(flat[n]), float(flat[len(axes) + n])) for n in range(len(axes))]
    return resized(call, x, how, axes, counts, scales, roi, call.number("extrapolation_value", 0.0))


def _check(call: Call, how: How) -> None:
    transforms = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                  "tf_crop_and_resize", "tf_half_pixel_for_nn")  # fmt: skip
    rounds = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if how.mode not in ("nearest", "linear", "cubic") or how.transform not in transforms or how.nearest not in rounds:
        raise call.wrong(f"there is no mode '{how.mode}', '{how.transform}', '{how.nearest}'")


def _sizes(call: Call, x: Traced, axes: Sequence[int], given: int) -> tuple[list[float], list[int]]:
    """The scale and the new extent along each axis (of a symbolic one: -1)."""
    n = len(axes)
    if call.given(given) and len(call.known(given, "scales").reshape(-1)):
        scales = [float(v) for v in call.known(given, "scales").reshape(-1)]
        if len(scales) != n or not all(math.isfinite(v) and v > 0 for v in scales):
            raise call.wrong(f"scales {scales[:8]} for {n} axes")
        counts = []
        for a, v in zip(axes, scales, strict=True):
            size = x.extents[a].value
            counts.append(-1 if size is None else math.floor(size * Fraction(np.float32(v).item())))
        return scales, counts
    if given == 1 or not call.given(3):
        raise call.wrong("there are neither scales nor sizes")
    sizes = call.sizes(3, "sizes")
    if len(sizes) != n:
        raise call.wrong(f"{len(sizes)} sizes for {n} axes")
    scales, counts = [], []
    for a, w in zip(axes, sizes, strict=True):
        whole = x.extents[a]
        if w is whole:
            scales.append(1.0)
            counts.append(-1 if whole.value is None else whole.value)
        elif w.value is None or whole.value is None or whole.value == 0:
            raise Unsupported(f"resizing of an axis of {whole} to {w}")
        else:
            scales.append(w.value / whole.value)
            counts.append(w.value)
    policy = call.text("keep_aspect_ratio_policy", "stretch")
    if policy in ("not_larger", "not_smaller"):
        chosen = (min if policy == "not_larger" else max)(scales)
        scales = [chosen] * n
        counts = [math.floor(chosen * extent(x, a, "a resized axis") + 0.5) for a in axes]
    elif policy != "stretch":
        raise call.wrong(f"there is no policy '{policy}'")
    return scales, counts


@OPERATORS.add("Upsample", 10)
def upsample(call: Call) -> Value:
    x, mode = call.x(0), call.text("mode", "nearest")
    how = How({"bilinear": "linear"}.get(mode, mode), "asymmetric", "floor", -0.75, False, False)
    _check(call, how)
    if call.since >= 9:
        scales = [float(v) for v in call.known(1, "scales").reshape(-1)]
    else:
        scales = list(call.floats("scales")) if call.since >= 7 else []
        if call.since < 7:
            raise Unsupported("version 1 of the operator")
    if len(scales) != x.ndim or not all(math.isfinite(v) and v > 0 for v in scales):
        raise call.wrong(f"scales {scales[:8]} for {x.ndim} axes")
    counts = [-1 if s.value is None else math.floor(s.value * v) for s, v in zip(x.extents, scales, strict=True)]
    return resized(call, x, how, range(x.ndim), counts, scales, [(0.0, 1.0)] * x.ndim, 0.0)
