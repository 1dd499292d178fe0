"""Elements read between grid points that are data: grids of points, regions, deformed windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product as every

from tang_egg import array_scalar as s
from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import traced
from tang_egg.affine import Affine, Index, affine
from tang_egg.expression import Expression, value
from tang_egg.importers.onnx_call import Call, Table, extent, fixed
from tang_egg.importers.onnx_index import indices
from tang_egg.importers.onnx_value import Unsupported, Value
from tang_egg.importers.onnx_window import window

OPERATORS = Table()

Reader = Callable[[Sequence[Expression]], Expression]


def whole(x: Expression) -> Expression:
    """A real that is an integer as an i64."""
    return e.cast(x, "i64")


def clamped(x: Expression, size: int) -> Expression:
    return e.maximum(e.minimum(x, size - 1), 0)


def guarded(read: Reader, at: Sequence[Expression], sizes: Sequence[int]) -> Expression:
    """The element at integer positions, 0 outside."""
    inside: Expression | None = None
    for p, n in zip(at, sizes, strict=True):
        here = (p >= 0) & (p < n)
        inside = here if inside is None else inside & here
    assert inside is not None
    return e.select(inside, read(at), 0.0)


def linear(read: Reader, at: Sequence[Expression], sizes: Sequence[int]) -> Expression:
    """Linear interpolation between the corners around a point; 0 outside."""
    low = [e.floor(x) for x in at]
    rest = [x - f for x, f in zip(at, low, strict=True)]
    total: Expression | None = None
    for corner in every((0, 1), repeat=len(at)):
        weight: Expression | None = None
        for c, r in zip(corner, rest, strict=True):
            w = r if c else 1.0 - r
            weight = w if weight is None else weight * w
        assert weight is not None
        term = weight * guarded(read, [whole(f) + c for f, c in zip(low, corner, strict=True)], sizes)
        total = term if total is None else total + term
    assert total is not None
    return total


def _reflected(x: Expression, low: float, high: float) -> Expression:
    """A coordinate folded back into [low, high]."""
    span = high - low
    if span <= 0:
        return x * 0.0 + low
    from_low = s.absolute(x - low)
    turns = e.floor(from_low / span)
    rest = from_low - turns * span
    odd = turns - e.floor(turns * 0.5) * 2.0
    return e.select(odd > 0.5, high - rest, rest + low)


def _cubic(read: Reader, at: Sequence[Expression], place: Callable[[Expression, int], Expression],
           sizes: Sequence[int], zero: bool) -> Expression:  # fmt: skip
    """Cubic interpolation from four neighbours along each axis."""
    a = -0.75
    low = [e.floor(x) for x in at]
    rest = [x - f for x, f in zip(at, low, strict=True)]

    def weight(r: Expression, n: int) -> Expression:
        t = s.absolute(r - float(n - 1))
        near = ((t * (a + 2) - (a + 3)) * t) * t + 1.0
        far = ((t * a - 5 * a) * t + 8 * a) * t - 4 * a
        return near if n in (1, 2) else far

    total: Expression | None = None
    for taps in every(range(4), repeat=len(at)):
        points = [place(f + float(n - 1), axis) for axis, (f, n) in enumerate(zip(low, taps, strict=True))]
        element = guarded(read, points, sizes) if zero else read(points)
        for r, n in zip(rest, taps, strict=True):
            element = element * weight(r, n)
        total = element if total is None else total + element
    assert total is not None
    return total


@OPERATORS.add("GridSample", 22)
def grid_sample(call: Call) -> Value:
    x, grid = call.x(0), call.x(1)
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(call.text("mode", "linear"), call.text("mode", "linear"))
    padding, aligned = call.text("padding_mode", "zeros"), bool(call.integer("align_corners", 0))
    n = x.ndim - 2
    if n < 1 or n > 3 or grid.ndim != x.ndim or grid.extents[-1].value != n:
        raise call.wrong(f"a grid of shape {grid.shape} in an array of shape {x.shape}")
    if mode not in ("linear", "nearest", "cubic") or padding not in ("zeros", "border", "reflection"):
        raise call.wrong(f"there is no mode '{mode}' with padding '{padding}'")
    sizes = [extent(x, p + 2, "a sampled axis") for p in range(n)]
    axes = indices([x.extents[0], x.extents[1], *grid.extents[1:-1]])
    at = [grid.element(axes[0], *axes[2:], n - 1 - p) for p in range(n)]
    at = [
        (g + 1.0) * ((size - 1) / 2) if aligned else (g + 1.0) * (size / 2) - 0.5
        for g, size in zip(at, sizes, strict=True)
    ]

    def read(point: Sequence[Expression]) -> Expression:
        return x.element(axes[0], axes[1], *point)

    def moved(c: Expression, p: int) -> Expression:
        """A coordinate brought into the array as the padding says."""
        size = sizes[p]
        if padding == "reflection":
            c = _reflected(c, 0.0, size - 1.0) if aligned else _reflected(c, -0.5, size - 0.5)
        return c if padding == "zeros" else e.maximum(e.minimum(c, size - 1.0), 0.0)

    if mode == "cubic":
        body = _cubic(read, at, lambda c, p: whole(moved(c, p)), sizes, padding == "zeros")
    elif mode == "nearest":
        # Halves go to the even place before the padding is looked at.
        points = [whole(moved(s.round_even(c), p)) for p, c in enumerate(at)]
        body = guarded(read, points, sizes)
    else:
        body = linear(read, [moved(c, p) for p, c in enumerate(at)], sizes)
    return traced.of(te.tensor(None, axes, body, x.dtype, hint="sampled"))


@OPERATORS.add("RoiAlign", 22)
def roi_align(call: Call) -> Value:
    x, rois, batch = call.x(0), call.x(1), call.x(2)
    rows, columns = call.integer("output_height", 1), call.integer("output_width", 1)
    ratio, scale, mode = call.integer("sampling_ratio", 0), call.number("spatial_scale", 1.0), call.text("mode", "avg")
    half = call.since >= 16 and call.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    if x.ndim != 4 or rois.ndim != 2 or min(rows, columns) < 1 or mode not in ("avg", "max"):
        raise call.wrong(f"regions of shape {rois.shape} in an array of shape {x.shape}")
    if ratio < 1:
        raise Unsupported("a number of samples that the regions decide (sampling_ratio 0)")
    if ratio > 64:
        raise Unsupported(f"{ratio} × {ratio} samples")
    sizes = fixed(x, "RoiAlign")[2:]
    r, c, i, j = indices([rois.extents[0], x.extents[1], affine(rows), affine(columns)])
    shift = 0.5 if half else 0.0
    p, q = Index("sample0", affine(ratio)), Index("sample1", affine(ratio))

    def along(low: int, high: int, cell: Index, count: int, sample: Index) -> Expression:
        start, end = (rois.element(r, n) * scale - shift for n in (low, high))
        length = end - start if half else e.maximum(end - start, 1.0)
        step = length * (1.0 / count)
        return start + step * e.cast(value(cell), "real") + (e.cast(value(sample), "real") + 0.5) * step * (1.0 / ratio)

    at = along(1, 3, i, rows, p), along(0, 2, j, columns, q)
    image = batch.element(r)

    def read(point: Sequence[Expression]) -> Expression:
        return x.element(image, c, *point)

    terms = _corners(read, at, sizes)
    outside = (at[0] < -1.0) | (at[0] > float(sizes[0])) | (at[1] < -1.0) | (at[1] > float(sizes[1]))
    if mode == "avg":
        total = terms[0] + terms[1] + terms[2] + terms[3]
        body = te.sum((p, q), e.select(outside, 0.0, total)) * (1.0 / (ratio * ratio))
    else:
        most = e.maximum(e.maximum(terms[0], terms[1]), e.maximum(terms[2], terms[3]))
        body = te.max((p, q), e.select(outside, 0.0, most))
    return traced.of(te.tensor(None, (r, c, i, j), body, x.dtype, hint="aligned"))


def _corners(read: Reader, at: Sequence[Expression], sizes: Sequence[int]) -> list[Expression]:
    """The four weighted corners around a point that is moved into the array."""
    low, high, rest = [], [], []
    for c, n in zip(at, sizes, strict=True):
        inner = e.minimum(e.maximum(c, 0.0), n - 1.0)
        floor = e.floor(inner)
        low.append(whole(floor))
        high.append(e.minimum(whole(floor) + 1, n - 1))
        rest.append(inner - floor)
    found = []
    for a, b in every((0, 1), repeat=2):
        weight = (rest[0] if a else 1.0 - rest[0]) * (rest[1] if b else 1.0 - rest[1])
        found.append(weight * read((high[0] if a else low[0], high[1] if b else low[1])))
    return found


@OPERATORS.add("DeformConv", 22)
def deform_conv(call: Call) -> Value:
    """A convolution whose points are moved by offsets: out of the array lies 0."""
    x, w, moves = call.x(0), call.x(1), call.x(2)
    groups, shares = call.integer("group", 1), call.integer("offset_group", 1)
    if x.ndim != 4 or w.ndim != 4 or moves.ndim != 4 or groups < 1 or shares < 1:
        raise call.wrong(f"a convolution of shapes {x.shape}, {w.shape} and {moves.shape}")
    kernel = fixed(w, "a kernel")[2:]
    strides, pads, dilations = window(call, x, kernel)
    sizes, (outputs, width) = fixed(x, "DeformConv"), fixed(w, "a kernel")[:2]
    if width * groups != sizes[1] or outputs % groups or sizes[1] % shares:
        raise call.wrong(f"{groups} groups of {sizes[1]} channels, {shares} of offsets")
    n, o, i, j = indices([x.extents[0], affine(outputs), moves.extents[2], moves.extents[3]])
    c, k, m = Index("c", affine(width)), Index("tap0", affine(kernel[0])), Index("tap1", affine(kernel[1]))
    channel: Affine | Expression = affine(c)
    if groups > 1:
        channel = value(o) // (outputs // groups) * width + c
    share = value(channel) // (sizes[1] // shares) if shares > 1 else value(affine(0))
    tap = (share * (kernel[0] * kernel[1]) + (k * kernel[1] + m)) * 2
    at = [
        e.cast(value(out * strides[p] + kk * dilations[p] - pads[p][0]), "real") + moves.element(n, tap + p, i, j)
        for p, (out, kk) in enumerate(((i, k), (j, m)))
    ]
    element = linear(lambda point: x.element(n, channel, *point), at, sizes[2:])
    if call.given(4):
        element = element * call.x(4).element(n, share * (kernel[0] * kernel[1]) + (k * kernel[1] + m), i, j)
    body = te.sum((c, k, m), element * w.element(o, c, k, m))
    if call.given(3):
        body = body + call.x(3).element(o)
    return traced.of(te.tensor(None, (n, o, i, j), body, x.dtype, hint="deformed"))
