"""Norms over channels: x[N, C, *spatial] with a gain and a bias for each channel."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.affine import AffineLike, Index, affine
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import expect_rank, expect_size, mean_over, working_type
from tang_egg.library_window import positions
from tang_egg.notation import Array


def group_norm(x: Array, groups: int, gain: Array | None = None, bias: Array | None = None, eps: float = 1e-5) -> Array:
    """(x - mean) / sqrt(variance + eps) · gain + bias for x[N, C, *spatial], gain[C], bias[C]; same shape.

    Mean and variance are those of one sample and one of `groups` equal groups of channels, over all spatial axes.
    """
    expect_rank(x, 2)
    channels = x.shape[1].value
    if not isinstance(groups, int) or isinstance(groups, bool) or groups < 1:
        raise GraphError(f"{groups!r} groups", where=str(here()), mend="give a whole number from 1")
    if groups > 1 and (channels is None or channels % groups):
        raise GraphError(
            f"the {x.shape[1]} channels of '{x.name}' do not split into {groups} groups",
            where=str(here()),
            mend="give a fixed number of channels that the number of groups divides",
        )
    width = x.shape[1] if groups == 1 else affine((channels or 0) // groups)
    g, c = Index("g", affine(groups)), Index("c", width)
    n, o, k = Index("n", x.shape[0]), Index("o", x.shape[1]), positions("k", x.shape[2:])
    first: AffineLike = g * width if groups > 1 else 0
    element = x[(n, first + c, *k)]
    kind = working_type(x)
    mu = te.tensor(None, (n, g), mean_over((c, *k), element), kind, hint="mean")
    centred = element - mu[n, g]
    var = te.tensor(None, (n, g), mean_over((c, *k), centred * centred), kind, hint="variance")
    group: AffineLike | Expression = 0
    if groups > 1:
        group = o if groups == channels else e.value(o) // (width.value or 1)
    y = (x[(n, o, *k)] - mu[n, group]) * e.rsqrt(var[n, group] + eps)
    return te.tensor(None, (n, o, *k), _scaled(y, o, gain, bias), x.dtype, hint="group_norm")


def instance_norm(x: Array, gain: Array | None = None, bias: Array | None = None, eps: float = 1e-5) -> Array:
    """(x - mean) / sqrt(variance + eps) · gain + bias for x[N, C, *spatial], gain[C], bias[C]; same shape.

    Mean and variance are those of one sample and one channel, over all spatial axes.
    """
    expect_rank(x, 3)
    n, o, k = Index("n", x.shape[0]), Index("o", x.shape[1]), positions("k", x.shape[2:])
    kind = working_type(x)
    at = (n, o, *k)
    mu = te.tensor(None, (n, o), mean_over(k, x[at]), kind, hint="mean")
    centred = x[at] - mu[n, o]
    var = te.tensor(None, (n, o), mean_over(k, centred * centred), kind, hint="variance")
    y = centred * e.rsqrt(var[n, o] + eps)
    return te.tensor(None, at, _scaled(y, o, gain, bias), x.dtype, hint="instance_norm")


def batch_norm(
    x: Array, mean: Array, var: Array, gain: Array | None = None, bias: Array | None = None, eps: float = 1e-5
) -> Array:
    """(x - mean) / sqrt(var + eps) · gain + bias for x[N, C, *spatial] and mean, var, gain, bias of [C]; same shape.

    This is inference: mean and variance are given.
    """
    expect_rank(x, 2)
    n, o, k = Index("n", x.shape[0]), Index("o", x.shape[1]), positions("k", x.shape[2:])
    for given in (mean, var):
        _expect_channels(given, o)
    y = (x[(n, o, *k)] - mean[o]) * e.rsqrt(var[o] + eps)
    return te.tensor(None, (n, o, *k), _scaled(y, o, gain, bias), x.dtype, hint="batch_norm")


def _scaled(y: Expression, o: Index, gain: Array | None, bias: Array | None) -> Expression:
    for given in (gain, bias):
        if given is not None:
            _expect_channels(given, o)
    y = y if gain is None else y * gain[o]
    return y if bias is None else y + bias[o]


def _expect_channels(given: Array, o: Index) -> None:
    expect_rank(given, 1, 1)
    expect_size(f"'{given.name}'", given.shape[0], o.size)
