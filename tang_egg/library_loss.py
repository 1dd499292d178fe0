"""Losses of a classifier."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import Index
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import expect_rank, expect_size, folded, logsumexp, working_type
from tang_egg.notation import Array

REDUCTIONS = ("mean", "sum", "none")


def cross_entropy(
    logits: Array,
    labels: Array,
    *,
    axis: int = -1,
    weight: Array | None = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Array:
    """-log softmax(logits)[label] for logits[..., C, ...] with classes on `axis` and integer labels[..., ...].

    The result is a scalar [], or has the shape of `labels` with reduction="none". `labels` may also be real and of the
    shape of `logits`: the share of each class. `weight[C]` multiplies the loss of each class, and the mean is over
    those weights (with shares: over positions). Labels equal to `ignore_index` count nowhere; if all do, the mean is
    NaN. `label_smoothing` ε gives the label 1 - ε and every class ε/C more.
    """
    if reduction not in REDUCTIONS:
        raise GraphError(
            f"unknown reduction {reduction!r}", where=str(here()), mend=f"use one of {', '.join(REDUCTIONS)}"
        )
    if not isinstance(label_smoothing, (int, float)) or not 0 <= label_smoothing <= 1:
        raise GraphError(
            f"a label smoothing of {label_smoothing!r}", where=str(here()), mend="give a number from 0 to 1"
        )
    at, c, rest = folded(logits, axis)
    if weight is not None:
        expect_rank(weight, 1, 1)
        expect_size(f"'{weight.name}'", weight.shape[0], c.size)
    norm = logsumexp(logits, axis)
    kind = working_type(logits)
    if ops.scalar_type(labels.dtype) == "real":
        return _of_shares(logits, labels, norm, (at, c, rest), weight, label_smoothing, reduction, ignore_index)
    _expect_labels(labels, rest)

    label = labels[rest]
    chosen = logits[tuple(label if i is c else i for i in at)]
    share = norm[rest] - chosen
    counted = e.constant(1.0) if weight is None else weight[label]
    loss = share * counted * (1.0 - label_smoothing) if label_smoothing else share * counted
    if label_smoothing:
        loss = loss + _smoothed(logits, norm, at, c, rest, weight) * label_smoothing
    if ignore_index is not None:
        live = e.ne(label, ignore_index)
        loss, counted = e.select(live, loss, 0.0), e.select(live, counted, 0.0)
    each = te.tensor(None, rest, loss, kind if rest and reduction != "none" else logits.dtype, hint="loss")
    if reduction == "none":
        return each
    total = te.sum(rest, each[rest]) if rest else each[()]
    if reduction == "mean":
        count = te.tensor(None, (), te.sum(rest, counted) if rest else counted, kind, hint="count")
        total = total / count[()]
    return te.tensor(None, (), total, logits.dtype, hint="cross_entropy")


def _expect_labels(labels: Array, rest: tuple[Index, ...]) -> None:
    if labels.dtype not in ops.INTEGERS:
        raise GraphError(
            f"the labels '{labels.name}' are {labels.dtype}",
            where=str(here()),
            mend="give integers (the class of each position) or reals (the share of each class)",
        )
    expect_rank(labels, len(rest), len(rest))
    for size, i in zip(labels.shape, rest, strict=True):
        expect_size(f"an axis of '{labels.name}'", size, i.size)


def _smoothed(
    logits: Array, norm: Array, at: tuple[Index, ...], c: Index, rest: tuple[Index, ...], weight: Array | None
) -> Expression:
    """The mean over classes of their weighted losses."""
    each = norm[rest] - logits[at]
    return te.sum(c, each if weight is None else each * weight[c]) / te.size(c)


def _of_shares(
    logits: Array,
    labels: Array,
    norm: Array,
    indices: tuple[tuple[Index, ...], Index, tuple[Index, ...]],
    weight: Array | None,
    label_smoothing: float,
    reduction: str,
    ignore_index: int | None,
) -> Array:
    """The loss where labels are the share of each class: Σ share · (logsumexp - logit)."""
    at, c, rest = indices
    if ignore_index is not None:
        raise GraphError(
            "an ignored class beside labels that are shares",
            where=str(here()),
            mend="give integer labels, or shares of 0 where nothing counts",
        )
    expect_rank(labels, len(at), len(at))
    for size, i in zip(labels.shape, at, strict=True):
        expect_size(f"an axis of '{labels.name}'", size, i.size)
    share = labels[at]
    if label_smoothing:
        share = share * (1.0 - label_smoothing) + label_smoothing / te.size(c)
    each = share * (norm[rest] - logits[at])
    body = te.sum(c, each if weight is None else each * weight[c])
    loss = te.tensor(None, rest, body, working_type(logits) if reduction != "none" else logits.dtype, hint="loss")
    if reduction == "none":
        return loss
    total = te.sum(rest, loss[rest]) if rest else loss[()]
    if reduction == "mean":
        for i in rest:
            total = total / te.size(i)
    return te.tensor(None, (), total, logits.dtype, hint="cross_entropy")
