"""Sums, means and maxima of rows of a table, bag by bag."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import Index
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import expect_rank, expect_size, working_type
from tang_egg.notation import Array

MODES = ("sum", "mean", "max")


def embedding_bag(
    table: Array, idx: Array, offsets: Array | None = None, *, mode: str = "mean", weights: Array | None = None
) -> Array:
    """The sum, mean or maximum of the rows of each bag: table[v, d] with idx[b, l], or with idx[n] and offsets[b],
    → [b, d].

    Without `offsets` a bag is a row of `idx`; with them, bag b holds idx[offsets[b]] up to idx[offsets[b + 1]], the
    last one all the rest. `weights` of the shape of `idx` multiply rows, with mode="sum" only. An empty bag gives 0.
    """
    if mode not in MODES:
        raise GraphError(f"unknown mode {mode!r}", where=str(here()), mend=f"use one of {', '.join(MODES)}")
    expect_rank(table, 2, 2)
    rank = 2 if offsets is None else 1
    expect_rank(idx, rank, rank)
    if weights is not None:
        if mode != "sum":
            raise GraphError(f"weights beside mode={mode!r}", where=str(here()), mend='use them with mode="sum"')
        expect_rank(weights, rank, rank)
        for size, wanted in zip(weights.shape, idx.shape, strict=True):
            expect_size(f"an axis of '{weights.name}'", size, wanted)
    for given in (idx, offsets):
        if given is not None and given.dtype not in ops.INTEGERS:
            raise GraphError(f"'{given.name}' is {given.dtype}", where=str(here()), mend="give integers, such as i64")
    d = Index("d", table.shape[1])
    if offsets is None:
        b, p = Index("b", idx.shape[0]), Index("p", idx.shape[1])
        return _bags(table, idx, weights, (b, d), p, (b, p), None, mode)
    expect_rank(offsets, 1, 1)
    b, p = Index("b", offsets.shape[0]), Index("p", idx.shape[0])
    next_start = e.cast(offsets[b + 1], "i64")
    end = e.select(b + 1 < b.size, next_start, e.value(p.size))
    inside: list[te.Condition] = [e.cast(offsets[b], "i64") <= p, e.value(p) < end]
    return _bags(table, idx, weights, (b, d), p, (p,), inside, mode)


def _bags(
    table: Array,
    idx: Array,
    weights: Array | None,
    axes: tuple[Index, Index],
    p: Index,
    at: tuple[Index, ...],
    inside: te.Where,
    mode: str,
) -> Array:
    b, d = axes
    row = table[idx[at], d]
    if weights is not None:
        row = row * weights[at]
    if mode == "max":
        some = te.any(p, True, where=inside)
        body: Expression = e.select(some, te.max(p, row, where=inside), 0.0)
    else:
        body = te.sum(p, row, where=inside)
        if mode == "mean":
            counted = te.sum(p, e.constant(1.0), where=inside)
            count = te.tensor(None, b, counted, working_type(table), hint="bag_size")
            body = body / e.maximum(count[b], 1.0)
    return te.tensor(None, (b, d), body, table.dtype, hint="embedding_bag")
