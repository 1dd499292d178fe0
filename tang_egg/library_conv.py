"""Convolutions over any number of axes, with padding, stride, dilation and groups: sums over the points of a window."""

from __future__ import annotations

from collections.abc import Sequence

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import Affine, AffineLike, Index, affine
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import expect_rank, expect_size
from tang_egg.library_window import Padding, PerAxis, needed, pairs, positions, slides, whole
from tang_egg.notation import Array


def conv(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """Σ x[n, c, y·stride + k·dilation - padding] w[o, c, k] + bias[o]: x[N, C, *spatial], w[O, C/groups, *kernel] →
    [N, O, *out].

    Outside of x lies 0. `stride` and `dilation`: a number, or one for each spatial axis; `padding`: the same, or a
    pair (before, after) for each. Output channel o sees the channels of group o // (O/groups). The spatial extents may
    be symbolic with stride 1, or as multiples of the stride.
    """
    _check_operands(x, w, bias)
    width, outputs = w.shape[1], w.shape[0]
    _check_groups(x, width, groups, w)
    share = _share(outputs, groups, f"the {outputs} output channels of '{w.name}'")
    if bias is not None:
        expect_size(f"'{bias.name}'", bias.shape[0], outputs)
    windows = slides(x.shape[2:], w.shape[2:], stride, padding, dilation)
    n, o, c = Index("n", x.shape[0]), Index("o", outputs), Index("c", width)
    y, k = positions("y", [s.size for s in windows]), positions("k", [s.kernel for s in windows])
    at = tuple(s.at(a, b) for s, a, b in zip(windows, y, k, strict=True))
    inside = [i for s, a, b in zip(windows, y, k, strict=True) for i in s.inside(a, b)]
    channel = _channel(o, c, width, share, groups)
    total = te.sum((c, *k), x[(n, channel, *at)] * w[(o, c, *k)], where=inside or None)
    return _result(x, (n, o, *y), total, bias, o, "conv")


def conv1d(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """`conv` over one spatial axis: x[N, C, L], w[O, C/groups, K] → [N, O, L']."""
    expect_rank(x, 3, 3)
    return conv(x, w, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv2d(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """`conv` over two spatial axes: x[N, C, H, W], w[O, C/groups, K, L] → [N, O, H', W']."""
    expect_rank(x, 4, 4)
    return conv(x, w, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv3d(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """`conv` over three spatial axes: x[N, C, D, H, W], w[O, C/groups, J, K, L] → [N, O, D', H', W']."""
    expect_rank(x, 5, 5)
    return conv(x, w, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv_transpose(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    stride: PerAxis = 1,
    padding: Padding = 0,
    output_padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """The gradient of `conv` by its input: x[N, C, *spatial], w[C, O/groups, *kernel] → [N, O, *out].

    Element i of x adds x[i] w[k] to position i·stride + k·dilation - padding. `padding` takes positions off both ends
    of the result, `output_padding` adds some after it: (H - 1)·stride - before - after + dilation·(K - 1) +
    output_padding + 1 in all.
    """
    _check_operands(x, w, bias)
    expect_size(f"the first axis of '{w.name}'", w.shape[0], x.shape[1])
    width = _share(x.shape[1], groups, f"the {x.shape[1]} channels of '{x.name}'")
    outputs = w.shape[1] * groups
    if bias is not None:
        expect_size(f"'{bias.name}'", bias.shape[0], outputs)
    rank = x.rank - 2
    strides, dilations = whole(stride, rank, "stride", 1), whole(dilation, rank, "dilation", 1)
    pads, extra = pairs(padding, rank), whole(output_padding, rank, "output padding", 0)
    n, o = Index("n", x.shape[0]), Index("o", outputs)
    c = Index("c", affine(width) if groups > 1 else x.shape[1])
    k = positions("k", w.shape[2:])
    out, at, inside = [], [], []
    for p, (h, kernel) in enumerate(zip(x.shape[2:], w.shape[2:], strict=True)):
        size = (h - 1) * strides[p] - sum(pads[p]) + (kernel - 1) * dilations[p] + extra[p] + 1
        if size.value is not None and size.value < 0:
            raise GraphError(
                f"the padding {pads[p]} takes more off an axis than it has",
                where=str(here()),
                mend="take off at most (extent - 1)·stride + dilation·(kernel - 1) + 1 positions in all",
            )
        y = Index(f"y{p}", size)
        position, conditions = _source(y + pads[p][0] - k[p] * dilations[p], h, strides[p])
        out.append(y)
        at.append(position)
        inside += conditions
    channel = _channel(o, c, affine(width), w.shape[1].value, groups)
    column: Index | Affine | Expression = o
    if groups > 1:
        column = affine(0) if w.shape[1].value == 1 else e.value(o) % (w.shape[1].value or 1)
    total = te.sum((c, *k), x[(n, channel, *at)] * w[(channel, column, *k)], where=inside or None)
    return _result(x, (n, o, *out), total, bias, o, "conv_transpose")


def _source(reached: Affine, extent: Affine, stride: int) -> tuple[Affine | Expression, list[te.Condition]]:
    """The element i with i·stride = `reached`, and the conditions under which there is one."""
    if stride == 1:
        return reached, list(needed(reached, extent))
    between: list[te.Condition] = list(needed(reached, (extent - 1) * stride + 1))
    return e.value(reached) // stride, [*between, e.eq(e.value(reached) % stride, 0)]


def _check_operands(x: Array, w: Array, bias: Array | None) -> None:
    expect_rank(x, 3)
    expect_rank(w, x.rank, x.rank)
    if bias is not None:
        expect_rank(bias, 1, 1)


def _expect_count(groups: int) -> None:
    if not isinstance(groups, int) or isinstance(groups, bool) or groups < 1:
        raise GraphError(f"{groups!r} groups", where=str(here()), mend="give a whole number from 1")


def _check_groups(x: Array, width: Affine, groups: int, w: Array) -> None:
    _expect_count(groups)
    if width * groups is not x.shape[1]:
        raise GraphError(
            f"'{w.name}' takes {width} channels in each of {groups} groups, but '{x.name}' has {x.shape[1]}",
            where=str(here()),
            mend="give w[O, C/groups, *kernel] for x[N, C, *spatial]",
        )


def _share(total: Affine, groups: int, what: str) -> int:
    """The size of one of `groups` equal parts. Raises GraphError where there are none; 0 for one group of any size."""
    _expect_count(groups)
    if groups == 1:
        return total.value or 0
    if total.value is None or total.value % groups:
        raise GraphError(
            f"{what} do not split into {groups} groups",
            where=str(here()),
            mend="give a fixed number of channels that the number of groups divides",
        )
    return total.value // groups


def _channel(o: Index, c: Index, width: Affine, share: int | None, groups: int) -> AffineLike | Expression:
    """The input channel `c` of the group of output channel `o`; `width` channels and `share` outputs in each group."""
    if groups == 1:
        return c
    if share == 1:
        return o * (width.value or 0) + c
    return e.value(o) // (share or 1) * (width.value or 0) + c


def _result(x: Array, axes: Sequence[Index], total: Expression, bias: Array | None, o: Index, hint: str) -> Array:
    body = total if bias is None else total + bias[o]
    return te.tensor(None, axes, body, x.dtype if body.type == "real" else None, hint=hint)
