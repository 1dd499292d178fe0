"""Attention with grouped heads, linear biases, and keys that lie in pages."""

from __future__ import annotations

import math
from typing import Any

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import Affine, AffineLike, Index, affine
from tang_egg.errors import GraphError
from tang_egg.expression import here
from tang_egg.layers import Window, attention, seen, window_bounds
from tang_egg.library import expect_rank, expect_size, working_type
from tang_egg.notation import Array


def grouped_attention(q: Array, k: Array, v: Array, **options: Any) -> Array:
    """`attention` where several query heads share one of k and v: q[b, hq, n, d], k[b, hk, m, d], v[b, hk, m, e] →
    [b, hq, n, e].

    Query head h uses key head h // (hq / hk); hk must divide hq. `options` are those of `attention`.
    """
    for x in (q, k, v):
        expect_rank(x, 4, 4)
    expect_size(f"the axis of heads of '{v.name}'", v.shape[1], k.shape[1])
    group = _group(q.shape[1], k.shape[1])
    if group == 1 or k.shape[1].value == 1:
        return attention(q, k, v, **options)
    return attention(q, *(_shared(x, group) for x in (k, v)), **options)


def _shared(x: Array, group: int) -> Array:
    """x[b, hk, m, d] as [b, hk · group, m, d]: each head stands for the queries that share it."""
    b, h, m, d = Index("b", x.shape[0]), Index("h", x.shape[1] * group), Index("j", x.shape[2]), Index("d", x.shape[3])
    return te.tensor(None, (b, h, m, d), x[b, e.value(h) // group, m, d], x.dtype, hint="shared_heads")


def _group(queries: Affine, keys: Affine) -> int:
    """How many query heads there are for one key head."""
    if queries is keys:
        return 1
    hq, hk = queries.value, keys.value
    if not hq or not hk or hq % hk:
        raise GraphError(
            f"{queries} query heads do not share {keys} key heads",
            where=str(here()),
            mend="give fixed numbers of heads, that of the keys dividing that of the queries",
        )
    return hq // hk


def alibi_slopes(heads: int) -> Array:
    """The slopes of linear biases [heads]: 2^(-8 (h + 1) / p) for the p heads of the largest power of two p <= heads,
    then those of 2p heads at every other place.

    Source: Press, Smith and Lewis, Train Short, Test Long (2022).
    """
    if not isinstance(heads, int) or isinstance(heads, bool) or heads < 1:
        raise GraphError(f"{heads!r} heads", where=str(here()), mend="give a whole number from 1")
    whole = 1 << (heads.bit_length() - 1)
    h = Index("h", affine(heads))
    step = -8 * math.log(2) / whole
    slope = e.exp(e.cast(h + 1, "real") * step)
    if heads > whole:
        between = e.exp((e.cast(h - whole, "real") + 0.5) * step)
        slope = e.select(h < whole, slope, between)
    return te.tensor(None, h, slope, hint="slopes")


def alibi_bias(
    slopes: Array, queries: AffineLike, keys: AffineLike, *, align: str = "end", symmetric: bool = False
) -> Array:
    """slopes[h] · (j - own key of i) as [h, n, m], a bias of `attention` for q[..., h, n, d] and k[..., h, m, d].

    Query i stands at key i + m - n, or at key i with align="start"; `symmetric`: minus the distance on either side.
    """
    expect_rank(slopes, 1, 1)
    h, i, j = Index("h", slopes.shape[0]), te.index("i", queries), te.index("j", keys)
    if align not in ("end", "start"):
        raise GraphError(f"queries aligned to {align!r}", where=str(here()), mend="align them to the 'end' or 'start'")
    distance = e.cast(j - i if align == "start" else j - i - j.size + i.size, "real")
    return te.tensor(None, (h, i, j), slopes[h] * (-abs(distance) if symmetric else distance), hint="alibi")


def paged_attention(
    q: Array,
    k_pages: Array,
    v_pages: Array,
    block_table: Array,
    lens: Array,
    *,
    causal: bool = True,
    window: Window = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    slopes: Array | None = None,
) -> Array:
    """Attention over keys in pages: q[b, hq, n, d], k_pages[p, s, hk, d], v_pages[p, s, hk, e], block_table[b, t],
    lens[b] → [b, hq, n, e].

    Sequence b has lens[b] keys: key j lies at slot j % s of page block_table[b, j // s]. Entries of the table that no
    key needs are never followed, so they may hold anything. The n queries are the last of the sequence: query i stands
    at key lens[b] - n + i, and `causal` and `window` are as in `attention`. `slopes[hq]` adds linear biases. Query head
    h uses key head h // (hq / hk). A query with no key to see gives 0.
    """
    expect_rank(q, 4, 4)
    for x in (k_pages, v_pages):
        expect_rank(x, 4, 4)
    _expect_paged(q, k_pages, v_pages, block_table, lens)
    group = _group(q.shape[1], k_pages.shape[2])
    b, h, i = Index("b", q.shape[0]), Index("h", q.shape[1]), Index("i", q.shape[2])
    d, c = Index("d", q.shape[3]), Index("c", v_pages.shape[3])
    t, s = Index("t", block_table.shape[1]), Index("s", k_pages.shape[1])
    page, head = block_table[b, t], h if group == 1 else e.value(h) // group
    position = e.value(_flat(t, s))
    length = e.cast(lens[b], "i64")
    exists = position < length
    own = length - q.shape[2] + i
    live = [exists, *seen(position, own, causal, window_bounds(window))]

    factor = (q.shape[3].value or 1) ** -0.5 if scale is None else scale
    product = te.sum(d, q[b, h, i, d] * k_pages[page, s, head, d])
    score = product * (factor if scale is not None or q.shape[3].value is not None else e.rsqrt(te.size(d)))
    if soft_cap is not None:
        score = e.tanh(score / soft_cap) * soft_cap
    if slopes is not None:
        expect_rank(slopes, 1, 1)
        expect_size(f"'{slopes.name}'", slopes.shape[0], q.shape[1])
        score = score + slopes[h] * e.cast(position - own, "real")
    kind = working_type(q, k_pages, v_pages)
    rows = (b, h, i)
    scores = te.tensor(None, (*rows, t, s), e.select(exists, score, 0.0), kind, hint="scores")
    at = scores[(*rows, t, s)]
    m = te.tensor(None, rows, te.max((t, s), at, where=live), kind, hint="row_max")
    p = te.tensor(None, (*rows, t, s), e.exp(at - m[rows]), kind, hint="weights")[(*rows, t, s)]
    total = te.tensor(None, rows, te.sum((t, s), p, where=live), kind, hint="row_sum")
    out = te.sum((t, s), p / total[rows] * v_pages[page, s, head, c], where=live)
    out = e.select(te.any((t, s), True, where=live), out, 0.0)
    return te.tensor(None, (*rows, c), out, q.dtype, hint="paged_attention")


def _flat(t: Index, s: Index) -> Affine:
    return t * s.size + s


def _expect_paged(q: Array, k_pages: Array, v_pages: Array, block_table: Array, lens: Array) -> None:
    expect_rank(block_table, 2, 2)
    expect_rank(lens, 1, 1)
    expect_size(f"the last axis of '{k_pages.name}'", k_pages.shape[3], q.shape[3])
    for p, what in ((0, "pages"), (1, "slots"), (2, "heads")):
        expect_size(f"the axis of {what} of '{v_pages.name}'", v_pages.shape[p], k_pages.shape[p])
    for x in (block_table, lens):
        expect_size(f"the first axis of '{x.name}'", x.shape[0], q.shape[0])
        if x.dtype not in ops.INTEGERS:
            raise GraphError(f"'{x.name}' is {x.dtype}", where=str(here()), mend="give integers, such as i32")
