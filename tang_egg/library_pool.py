"""Pooling over any number of spatial axes: folds over the points of a window that lie in the input."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tang_egg import expression as e
from tang_egg import monoid as monoids
from tang_egg import notation as te
from tang_egg.affine import Affine, Index, Inequality, affine
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import expect_rank, expect_real, working_type
from tang_egg.library_window import Padding, PerAxis, Slide, positions, slides, whole
from tang_egg.notation import Array


def _windows(
    x: Array, kernel: PerAxis, stride: PerAxis | None, padding: Padding, dilation: PerAxis, ceil_mode: bool
) -> tuple[Slide, ...]:
    expect_rank(x, 3)
    sizes = whole(kernel, x.rank - 2, "kernel", 1)
    return slides(x.shape[2:], sizes, sizes if stride is None else stride, padding, dilation, ceil_mode)


class _Place:
    """The indices of a pooled result, the element that a point of the window sees, and when there is one."""

    def __init__(self, x: Array, windows: Sequence[Slide]) -> None:
        self.windows = windows
        self.lead = (Index("n", x.shape[0]), Index("c", x.shape[1]))
        self.y = positions("y", [s.size for s in windows])
        self.k = positions("k", [s.kernel for s in windows])
        self.at = tuple(s.at(a, b) for s, a, b in zip(windows, self.y, self.k, strict=True))
        self.element = x[(*self.lead, *self.at)]
        inside = [i for s, a, b in zip(windows, self.y, self.k, strict=True) for i in s.inside(a, b)]
        self.where: list[Inequality] | None = inside or None

    @property
    def axes(self) -> tuple[Index, ...]:
        return (*self.lead, *self.y)


def max_pool(
    x: Array,
    kernel: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
) -> Array:
    """The largest element of each window: x[N, C, *spatial] → [N, C, *out].

    Padding counts as absent: a window with nothing but padding gives the lowest value, -inf for reals. `stride` is
    `kernel` unless given; every parameter is a number or one for each spatial axis, padding also a pair for each.
    `ceil_mode`: a last window that passes the end counts, if it starts in the input or the padding before it.
    """
    at = _Place(x, _windows(x, kernel, stride, padding, dilation, ceil_mode))
    body = te.max(at.k, at.element, where=at.where)
    return te.tensor(None, at.axes, body, x.dtype, hint="max_pool")


def max_pool_indices(
    x: Array,
    kernel: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
) -> Array:
    """The position i64 of what `max_pool` takes, row-major over the spatial axes, first of equals: → [N, C, *out]."""
    at = _Place(x, _windows(x, kernel, stride, padding, dilation, ceil_mode))
    if at.element.type == "bool":
        raise GraphError(
            f"the largest of bools '{x.name}'",
            where=str(here()),
            mend="convert them first: te.pointwise(lambda v: te.cast(v, 'i32'), x)",
        )
    flat = affine(0)
    for p, size in zip(at.at, x.shape[2:], strict=True):
        flat = flat * size + p
    monoid = monoids.argmax_of(at.element.type)
    return te.tensor(
        None, at.axes, te.reduce(monoid, at.k, at.element, flat, where=at.where, part="position"), hint="max_position"
    )


def avg_pool(
    x: Array,
    kernel: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Array:
    """The mean of each window: x[N, C, *spatial] → [N, C, *out]; parameters as in `max_pool`.

    The divisor counts the points in the input, or with `count_include_pad` those in the input and its padding.
    A window with nothing to count is 0/0: NaN.
    """
    at = _Place(x, _windows(x, kernel, stride, padding, dilation, ceil_mode))
    expect_real(x, "a mean or norm")
    total = te.sum(at.k, at.element, where=at.where)
    for s, y, k in zip(at.windows, at.y, at.k, strict=True):
        total = total * e.recip(_count(x, s, y, k, count_include_pad))
    return te.tensor(None, at.axes, total, x.dtype, hint="avg_pool")


def _count(x: Array, s: Slide, y: Index, k: Index, padded: bool) -> Expression:
    """How many points of the window at `y` count, along one axis."""
    inside = s.inside_padding(y, k) if padded else s.inside(y, k)
    if not inside:
        return te.size(k)
    counted = te.sum(k, e.constant(1.0), where=inside)
    return te.tensor(None, y, counted, working_type(x), hint="points")[y]


def lp_pool(
    x: Array,
    p: float,
    kernel: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
) -> Array:
    """(Σ |x|^p)^(1/p) of each window: x[N, C, *spatial] → [N, C, *out]; parameters as in `max_pool`."""
    at = _Place(x, _windows(x, kernel, stride, padding, dilation, ceil_mode))
    expect_real(x, "a mean or norm")
    _check_power(p)
    total = te.tensor(
        None, at.axes, te.sum(at.k, _powered(at.element, p), where=at.where), working_type(x), hint="powers"
    )
    return te.tensor(None, at.axes, _root(total[at.axes], p), x.dtype, hint="lp_pool")


def _check_power(p: float) -> None:
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 < p < math.inf:
        raise GraphError(f"the power {p!r} of a norm", where=str(here()), mend="give a finite number above 0")


def _powered(x: Expression, p: float) -> Expression:
    """|x|^p."""
    if p == int(p) and p <= 16:
        return x ** int(p) if p % 2 == 0 else abs(x) ** int(p)
    return e.select(e.eq(x, 0.0), 0.0, e.exp(e.log(abs(x)) * float(p)))


def _root(total: Expression, p: float) -> Expression:
    """total^(1/p) for total >= 0."""
    if p == 1:
        return total
    if p == 2:
        return e.sqrt(total)
    return e.select(e.eq(total, 0.0), 0.0, e.exp(e.log(total) * (1.0 / p)))


def global_avg_pool(x: Array, keepdims: bool = True) -> Array:
    """The mean over all spatial axes: x[N, C, *spatial] → [N, C, 1, ...], or [N, C] without `keepdims`."""
    n, c, k, axes = _global(x, keepdims)
    expect_real(x, "a mean or norm")
    total = te.sum(k, x[(n, c, *k)])
    for i in k:
        total = total / te.size(i)
    return te.tensor(None, axes, total, x.dtype, hint="global_mean")


def global_max_pool(x: Array, keepdims: bool = True) -> Array:
    """The largest element over all spatial axes: x[N, C, *spatial] → [N, C, 1, ...], or [N, C] without `keepdims`."""
    n, c, k, axes = _global(x, keepdims)
    return te.tensor(None, axes, te.max(k, x[(n, c, *k)]), x.dtype, hint="global_max")


def global_lp_pool(x: Array, p: float = 2, keepdims: bool = True) -> Array:
    """(Σ |x|^p)^(1/p) over all spatial axes: x[N, C, *spatial] → [N, C, 1, ...], or [N, C] without `keepdims`."""
    n, c, k, axes = _global(x, keepdims)
    expect_real(x, "a mean or norm")
    _check_power(p)
    total = te.tensor(None, (n, c), te.sum(k, _powered(x[(n, c, *k)], p)), working_type(x), hint="powers")
    return te.tensor(None, axes, _root(total[n, c], p), x.dtype, hint="global_lp")


def _global(x: Array, keepdims: bool) -> tuple[Index, Index, tuple[Index, ...], tuple[Index, ...]]:
    expect_rank(x, 3)
    n, c, k = Index("n", x.shape[0]), Index("c", x.shape[1]), positions("k", x.shape[2:])
    kept = positions("y", [affine(1)] * len(k)) if keepdims else ()
    return n, c, k, (n, c, *kept)


def adaptive_avg_pool(x: Array, sizes: PerAxis) -> Array:
    """The means of `sizes` windows along each spatial axis: x[N, C, *spatial] → [N, C, *sizes].

    Window y of m along an axis of H runs from floor(y·H / m) to ceil((y + 1)·H / m), the end excluded.
    """
    expect_real(x, "a mean or norm")
    lead, y, h, inside = _adaptive(x, sizes)
    total = te.sum(h, x[(*lead, *h)], where=[i for axis in inside for i in axis])
    for a, b, conditions in zip(y, h, inside, strict=True):
        counted = te.sum(b, e.constant(1.0), where=conditions)
        total = total * e.recip(te.tensor(None, a, counted, working_type(x), hint="points")[a])
    return te.tensor(None, (*lead, *y), total, x.dtype, hint="adaptive_mean")


def adaptive_max_pool(x: Array, sizes: PerAxis) -> Array:
    """The largest elements of `sizes` windows along each spatial axis: x[N, C, *spatial] → [N, C, *sizes]."""
    lead, y, h, inside = _adaptive(x, sizes)
    body = te.max(h, x[(*lead, *h)], where=[i for axis in inside for i in axis])
    return te.tensor(None, (*lead, *y), body, x.dtype, hint="adaptive_max")


def _adaptive(
    x: Array, sizes: PerAxis
) -> tuple[tuple[Index, Index], tuple[Index, ...], tuple[Index, ...], list[list[Inequality]]]:
    expect_rank(x, 3)
    wanted = whole(sizes, x.rank - 2, "output size", 1)
    y, h = positions("y", [affine(m) for m in wanted]), positions("h", x.shape[2:])
    inside = [_share(a, b) for a, b in zip(y, h, strict=True)]
    return (Index("n", x.shape[0]), Index("c", x.shape[1])), y, h, inside


def _share(y: Index, h: Index) -> list[Inequality]:
    """floor(y·H / m) <= h < ceil((y + 1)·H / m) without a division, H and m being the extents of `h` and `y`."""
    m: Affine = y.size
    return [y * h.size < (h + 1) * m, h * m < (y + 1) * h.size]
