"""Rows about attention: one pass over keys and values, whatever bends, hides or shares the scores."""

from __future__ import annotations

import numpy as np

from tang_egg import expression as e
from tang_egg import layers
from tang_egg import notation as te
from tang_egg.affine import Index
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tang_egg.layers_attention import grouped_attention, paged_attention
from tang_egg.notation import Array
from tests.rows_model import Arrays, Form, Row, dead_rows


def _heads(dtype: str, h: int, n: int, m: int, d: int) -> tuple[Array, Array, Array]:
    return te.input("Q", (h, n, d), dtype), te.input("K", (h, m, d), dtype), te.input("V", (h, m, d), dtype)


def _library(name: str, dtype: str, h: int, n: int, m: int, d: int, **options: object) -> Graph:
    q, k, v = _heads(dtype, h, n, m, d)
    return graph(name, O=layers.attention(q, k, v, **options))  # type: ignore[arg-type]


def plain(dtype: str, h: int, n: int, m: int, d: int) -> Graph:
    """Scores, maximum, weights, their sum, the weighted mean: a tensor each."""
    b, i, j, k, c = te.indices("b i j k c")
    q, key, v = _heads(dtype, h, n, m, d)
    score = te.tensor("score", (b, i, j), te.sum(k, q[b, i, k] * key[b, j, k]) * d**-0.5)
    top = te.tensor("top", (b, i), te.max(j, score[b, i, j]))
    weight = te.tensor("weight", (b, i, j), e.exp(score[b, i, j] - top[b, i]))
    total = te.tensor("total", (b, i), te.sum(j, weight[b, i, j]))
    share = te.tensor("share", (b, i, j), weight[b, i, j] / total[b, i])
    return graph("plain", te.tensor("O", (b, i, c), te.sum(j, share[b, i, j] * v[b, j, c]), dtype))


def causal_select(dtype: str, h: int, n: int, m: int, d: int) -> Graph:
    """Later keys hidden by a score of -inf, as most programs write it."""
    b, k, c = te.indices("b k c")
    i, j = te.index("i", n), te.index("j", m)
    q, key, v = _heads(dtype, h, n, m, d)
    score = te.tensor("score", (b, i, j), te.sum(k, q[b, i, k] * key[b, j, k]) * d**-0.5)
    seen = te.tensor("seen", (b, i, j), e.select(j <= i, score[b, i, j], float("-inf")))
    top = te.tensor("top", (b, i), te.max(j, seen[b, i, j]))
    weight = te.tensor("weight", (b, i, j), e.exp(seen[b, i, j] - top[b, i]))
    total = te.tensor("total", (b, i), te.sum(j, weight[b, i, j]))
    share = te.tensor("share", (b, i, j), weight[b, i, j] / total[b, i])
    return graph("causal_select", te.tensor("O", (b, i, c), te.sum(j, share[b, i, j] * v[b, j, c]), dtype))


def causal(dtype: str, **sizes: int) -> Graph:
    """Each query sees the keys up to its own."""
    return _library("causal", dtype, **sizes, causal=True)


def padding(dtype: str, h: int, n: int, m: int, d: int) -> Graph:
    """Keys that are padding are outside; a head may have none left."""
    return _library("padding", dtype, h, n, m, d, key_mask=te.input("live", (h, m), "bool"))


def masked(dtype: str, h: int, n: int, m: int, d: int) -> Graph:
    """A mask over queries and keys with rows that see nothing."""
    return _library("masked", dtype, h, n, m, d, mask=te.input("live", (n, m), "bool"))


def window(dtype: str, h: int, n: int, m: int, d: int, w: int) -> Graph:
    """The last `w` keys up to a query's own."""
    return _library("window", dtype, h, n, m, d, causal=True, window=w)


def _slope(i: Index, j: Index) -> e.Expression:
    return e.cast(j - i, "real") * 0.0625


def alibi(dtype: str, **sizes: int) -> Graph:
    """Scores fall with the distance of the key."""
    return _library("alibi", dtype, **sizes, causal=True, bias=_slope)


def alibi_per_head(dtype: str, h: int, n: int, m: int, d: int) -> Graph:
    """Scores fall with the distance, by a slope that is an input for each head."""
    b, i, j, k, c = te.index("b"), te.index("i", n), te.index("j", m), te.index("k"), te.index("c")
    q, key, v = _heads(dtype, h, n, m, d)
    slope = te.input("slope", (h,), dtype)
    distance = e.cast(j - i, "real")
    score = te.tensor("score", (b, i, j), te.sum(k, q[b, i, k] * key[b, j, k]) * d**-0.5 + slope[b] * distance)
    top = te.tensor("top", (b, i), te.max(j, score[b, i, j], where=j <= i))
    weight = te.tensor("weight", (b, i, j), e.exp(score[b, i, j] - top[b, i]))
    total = te.tensor("total", (b, i), te.sum(j, weight[b, i, j], where=j <= i))
    out = te.sum(j, weight[b, i, j] * v[b, j, c], where=j <= i) / total[b, i]
    return graph("alibi_per_head", te.tensor("O", (b, i, c), out, dtype))


def soft_cap(dtype: str, **sizes: int) -> Graph:
    """Scores bent to stay within ±30."""
    return _library("soft_cap", dtype, **sizes, causal=True, soft_cap=30.0)


def bias(dtype: str, h: int, n: int, m: int, d: int) -> Graph:
    """A bias for each query and key."""
    return _library("bias", dtype, h, n, m, d, bias=te.input("bias", (n, m), dtype))


def grouped(dtype: str, h: int, n: int, m: int, d: int, g: int) -> Graph:
    """`g` query heads for each head of keys."""
    q, k, v = (
        te.input("Q", (1, h * g, n, d), dtype),
        te.input("K", (1, h, m, d), dtype),
        te.input("V", (1, h, m, d), dtype),
    )
    return graph("grouped", O=grouped_attention(q, k, v, causal=True))


def lengths(dtype: str, **sizes: int) -> Graph:
    """Fewer or more queries than keys, the last of both together; early queries may see nothing."""
    return _library("lengths", dtype, **sizes, causal=True)


def value_width(dtype: str, h: int, n: int, m: int, d: int, e_: int) -> Graph:
    """Values wider than keys."""
    q, k, v = te.input("Q", (h, n, d), dtype), te.input("K", (h, m, d), dtype), te.input("V", (h, m, e_), dtype)
    return graph("value_width", O=layers.attention(q, k, v))


def decode(dtype: str, h: int, m: int, d: int) -> Graph:
    """One query beside a cache of keys."""
    return plain(dtype, h, 1, m, d)


def paged(dtype: str, b: int, hq: int, hk: int, n: int, t: int, s: int, p: int, d: int) -> Graph:
    """Keys and values in pages that a table names."""
    q = te.input("Q", (b, hq, n, d), dtype)
    k, v = te.input("K", (p, s, hk, d), dtype), te.input("V", (p, s, hk, d), dtype)
    table, lens = te.input("table", (b, t), "i32"), te.input("lens", (b,), "i32")
    return graph("paged", O=paged_attention(q, k, v, table, lens))


def paged_flat(dtype: str, b: int, hq: int, hk: int, n: int, t: int, s: int, p: int, d: int) -> Graph:
    """The same by hand, keys counted through all pages."""
    z, h, i, k, c, j = te.index("z"), te.index("h"), te.index("i"), te.index("k"), te.index("c"), te.index("j", t * s)
    q = te.input("Q", (b, hq, n, d), dtype)
    key, v = te.input("K", (p, s, hk, d), dtype), te.input("V", (p, s, hk, d), dtype)
    table, lens = te.input("table", (b, t), "i32"), te.input("lens", (b,), "i32")
    page, slot, head = table[z, e.value(j) // s], e.value(j) % s, e.value(h) // (hq // hk)
    live = e.value(j) < e.cast(lens[z], "i64")
    score = te.tensor("score", (z, h, i, j), te.sum(k, q[z, h, i, k] * key[page, slot, head, k]) * d**-0.5)
    top = te.tensor("top", (z, h, i), te.max(j, score[z, h, i, j], where=live))
    weight = te.tensor("weight", (z, h, i, j), e.exp(score[z, h, i, j] - top[z, h, i]))
    total = te.tensor("total", (z, h, i), te.sum(j, weight[z, h, i, j], where=live))
    out = te.sum(j, weight[z, h, i, j] * v[page, slot, head, c], where=live) / total[z, h, i]
    return graph("paged_flat", te.tensor("O", (z, h, i, c), out, dtype))


def some_keys(inputs: Arrays) -> None:
    """At least one key for each sequence, and no more than there are."""
    inputs["lens"][:] = 1 + np.arange(inputs["lens"].size) % 6


LARGE, SMALL = {"h": 4, "n": 1024, "m": 1024, "d": 64}, {"h": 2, "n": 5, "m": 5, "d": 3}
PAGES = {"b": 4, "hq": 8, "hk": 2, "n": 1, "t": 128, "s": 16, "p": 512, "d": 64}
FEW_PAGES = {"b": 2, "hq": 2, "hk": 1, "n": 1, "t": 3, "s": 2, "p": 5, "d": 3}
PASS = frozenset({"cascade.pass"})
ONE = Form(1, {"Q": 1, "K": 1, "V": 1}, (), ((3, 2), (1, 0)), PASS | {"fold.hoist"})
PLAIN = Form(1, {"Q": 1, "K": 1, "V": 1}, (), ((3, 2), (1, 0)), PASS)
GUARDED = Form(1, {"Q": 1, "K": 1, "V": 1}, (), ((4, 2), (1, 0)), PASS | {"fold.hoist_guarded"})
ROWS = {
    "attention": Row(plain, ONE, LARGE, {**SMALL, "m": 7}),
    "attention_causal_select": Row(causal_select, ONE, LARGE, SMALL),
    "attention_causal": Row(causal, ONE, LARGE, SMALL),
    "attention_padding": Row(padding, GUARDED, LARGE, {**SMALL, "m": 7}, spoil=dead_rows("live")),
    "attention_masked": Row(masked, GUARDED, LARGE, {**SMALL, "m": 7}, spoil=dead_rows("live")),
    "attention_window": Row(window, ONE, {**LARGE, "w": 256}, {**SMALL, "n": 7, "m": 7, "w": 3}),
    "attention_alibi": Row(alibi, ONE, LARGE, SMALL),
    "attention_alibi_per_head": Row(alibi_per_head, PLAIN, LARGE, SMALL),
    "attention_soft_cap": Row(soft_cap, ONE, LARGE, SMALL),
    "attention_bias": Row(bias, ONE, LARGE, {**SMALL, "m": 7}),
    "attention_grouped": Row(grouped, ONE, {**LARGE, "h": 2, "g": 4}, {**SMALL, "g": 2}),
    "attention_more_keys": Row(lengths, ONE, {**LARGE, "n": 512}, {**SMALL, "n": 3, "m": 7}),
    "attention_more_queries": Row(lengths, GUARDED, {**LARGE, "m": 512}, {**SMALL, "n": 7, "m": 3}),
    "attention_value_width": Row(value_width, ONE, {**LARGE, "e_": 96}, {**SMALL, "m": 7, "e_": 5}),
    "attention_decode": Row(decode, ONE, {"h": 8, "m": 8192, "d": 64}, {"h": 2, "m": 7, "d": 3}),
    "attention_decode_split": Row(
        decode, Form(2, {"K": 1, "V": 1}, None, (), PASS | {"fold.split_state"}, absent=("m",)),
        {"h": 8, "m": 8192, "d": 64}, {"h": 2, "m": 7, "d": 3}, split={"K:1": 4},
    ),
    "attention_paged": Row(
        paged, Form(1, {"Q": 1, "K": 1, "V": 1}, (), ((4, 2), (1, 0)), PASS, gathered=("K", "V")), PAGES, FEW_PAGES,
        spoil=some_keys,
    ),
    "attention_paged_flat": Row(
        paged_flat, Form(1, {"Q": 1, "K": 1, "V": 1}, (), ((3, 2), (1, 0)), PASS, gathered=("K", "V")), PAGES,
        FEW_PAGES, spoil=some_keys,
    ),
}  # fmt: skip
