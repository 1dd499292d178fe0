"""Normalisations of ATen: statistics as folds, then used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tang_egg import expression as e
from tang_egg.affine import affine
from tang_egg.expression import Expression
from tang_egg.importers.torch_reduce import moments
from tang_egg.importers.torch_table import op
from tang_egg.importers.torch_value import Out, contract, converted, count, known, summed, torch
from tang_egg.notation import size
from tang_egg.traced import Traced, compute, full
from tang_egg.traced_view import expand_dims, reshape


def normalised(
    x: Traced, over: Sequence[int], gain: Traced | None, bias: Traced | None, eps: float, dtype: str, kind: str
) -> tuple[Traced, Traced, Traced]:
    """(x - mean) / sqrt(variance + eps) · gain + bias over some axes; the mean, and the reciprocal of the root."""
    mu, var = moments(x, over, kind)
    root = compute(lambda v: e.rsqrt(v + eps), var, dtype=kind, hint="inverse_deviation")
    more = [p for p in (gain, bias) if p is not None]

    def f(a: Expression, m: Expression, v: Expression, *p: Expression) -> Expression:
        y = (a - m) * e.rsqrt(v + eps)
        rest = list(p)
        y = y * rest.pop(0) if gain is not None else y
        return y + rest.pop(0) if bias is not None else y

    return compute(f, x, mu, var, *more, dtype=dtype, hint="normalised"), mu, root


@op("native_layer_norm")
def _native_layer_norm(
    out: Out, x: Traced, shape: Sequence[Any], gain: Traced | None, bias: Traced | None, eps: float
) -> tuple[Traced, ...]:
    over = [-1 - n for n in range(len(shape))]
    y, mu, root = normalised(x, over, gain, bias, float(eps), out.dtype, out.working)
    return y, converted(mu, out.dtypes[1]), converted(root, out.dtypes[2])


@op("layer_norm")
def _layer_norm(
    out: Out, x: Traced, shape: Sequence[Any], gain: Traced | None = None, bias: Traced | None = None,
    eps: float = 1e-5, *_: Any,
) -> Traced:  # fmt: skip
    over = [-1 - n for n in range(len(shape))]
    return normalised(x, over, gain, bias, float(eps), out.dtype, out.working)[0]


@op("rms_norm", "_fused_rms_norm")
def _rms_norm(out: Out, x: Traced, shape: Sequence[Any], gain: Traced | None = None, eps: float | None = None) -> Any:
    over = [-1 - n for n in range(len(shape))]
    small = float(torch.finfo(torch.float64 if out.dtype == "f64" else torch.float32).eps) if eps is None else eps
    if eps is None and out.dtype in ("f16", "bf16"):
        small = float(torch.finfo(torch.float16 if out.dtype == "f16" else torch.bfloat16).eps)
    n = size(count(x, over))
    square = contract(
        lambda r, a: summed(r, a * a) / n, x, over=over, dtype=out.working, keepdims=True, hint="mean_square"
    )
    more = [] if gain is None else [gain]
    y = compute(
        lambda a, s, *g: a * e.rsqrt(s + small) * g[0] if g else a * e.rsqrt(s + small), x, square, *more,
        dtype=out.dtype, hint="normalised",
    )  # fmt: skip
    if len(out.dtypes) == 1:
        return y
    return y, converted(compute(lambda s: e.rsqrt(s + small), square, dtype=out.working), out.dtypes[1])


def _channel(p: Traced | None, ndim: int) -> Traced | None:
    """A vector of one element for each channel, as an array that broadcasts against [N, C, *spatial]."""
    if p is None:
        return None
    for _ in range(ndim - 2):
        p = expand_dims(p, -1)
    return p


def _grouped(
    x: Traced, gain: Traced | None, bias: Traced | None, groups: int, eps: float, out: Out
) -> tuple[Traced, Traced, Traced]:
    share = known(x.extents[1], "the number of channels") // groups
    parted = reshape(x, [x.extents[0], affine(groups), affine(share), *x.extents[2:]])
    over = list(range(2, parted.ndim))

    def split(p: Traced | None) -> Traced | None:
        if p is None:
            return None
        p = reshape(p, [groups, share])
        for _ in x.extents[2:]:
            p = expand_dims(p, -1)
        return p

    y, mu, root = normalised(parted, over, split(gain), split(bias), eps, out.dtype, out.working)
    return reshape(y, x.extents), mu, root


@op("group_norm")
def _group_norm(
    out: Out, x: Traced, groups: int, gain: Traced | None = None, bias: Traced | None = None, eps: float = 1e-5,
    *_: Any,
) -> Traced:  # fmt: skip
    return _grouped(x, gain, bias, groups, float(eps), out)[0]


@op("native_group_norm")
def _native_group_norm(
    out: Out, x: Traced, gain: Traced | None, bias: Traced | None, n: Any, c: Any, points: Any, groups: int, eps: float
) -> tuple[Traced, ...]:
    y, mu, root = _grouped(x, gain, bias, groups, float(eps), out)
    shape = [x.extents[0], affine(groups)]
    return y, converted(reshape(mu, shape), out.dtypes[1]), converted(reshape(root, shape), out.dtypes[2])


def _by_statistics(
    out: Out, x: Traced, gain: Traced | None, bias: Traced | None, mu: Traced, var: Traced, eps: float
) -> Traced:
    """A batch norm with given statistics."""
    parts = [_channel(p, x.ndim) for p in (mu, var, gain, bias)]
    more = [p for p in parts[2:] if p is not None]

    def f(a: Expression, m: Expression, v: Expression, *p: Expression) -> Expression:
        rest = list(p)
        y = (a - m) * (e.rsqrt(v + eps) * rest.pop(0) if gain is not None else e.rsqrt(v + eps))
        return y + rest.pop(0) if bias is not None else y

    return compute(f, x, *(p for p in parts[:2] if p is not None), *more, dtype=out.dtype, hint="normalised")


def _by_batch(out: Out, x: Traced, gain: Traced | None, bias: Traced | None, eps: float, alone: bool) -> Traced:
    """A norm with the statistics of each channel, over the batch or for each of its members."""
    over = list(range(2, x.ndim)) if alone else [0, *range(2, x.ndim)]
    return normalised(x, over, _channel(gain, x.ndim), _channel(bias, x.ndim), eps, out.dtype, out.working)[0]


@op("_native_batch_norm_legit_no_training")
def _batch_norm_inference(
    out: Out, x: Traced, gain: Any, bias: Any, mu: Traced, var: Traced, _: float, eps: float
) -> tuple[Traced, ...]:
    empty = full([0], 0, out.dtypes[1])
    return _by_statistics(out, x, gain, bias, mu, var, float(eps)), empty, empty


@op("batch_norm")
def _batch_norm(
    out: Out, x: Traced, gain: Any, bias: Any, mu: Traced | None, var: Traced | None, training: bool, _: float,
    eps: float, *__: Any,
) -> Traced:  # fmt: skip
    if training or mu is None or var is None:
        return _by_batch(out, x, gain, bias, float(eps), alone=False)
    return _by_statistics(out, x, gain, bias, mu, var, float(eps))


@op("_native_batch_norm_legit.no_stats")
def _batch_norm_alone(
    out: Out, x: Traced, gain: Any, bias: Any, _: bool, momentum: float, eps: float
) -> tuple[Traced, ...]:
    over = [0, *range(2, x.ndim)]
    y, mu, root = normalised(
        x, over, _channel(gain, x.ndim), _channel(bias, x.ndim), float(eps), out.dtype, out.working
    )
    return y, converted(reshape(mu, out.shapes[1]), out.dtypes[1]), converted(reshape(root, out.shapes[2]),
                                                                            out.dtypes[2])  # fmt: skip


@op("instance_norm")
def _instance_norm(
    out: Out, x: Traced, gain: Any, bias: Any, mu: Traced | None, var: Traced | None, own: bool, _: float, eps: float,
    *__: Any,
) -> Traced:  # fmt: skip
    if own or mu is None or var is None:
        return _by_batch(out, x, gain, bias, float(eps), alone=True)
    return _by_statistics(out, x, gain, bias, mu, var, float(eps))
