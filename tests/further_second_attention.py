"""Eight naive graphs of the family of attention: other masks, scores, groups and axis orders."""

from __future__ import annotations

import numpy as np

import tang_egg as te
from tang_egg.affine import Index
from tang_egg.expression import Expression
from tests.further_second_model import Arrays, Fresh, at, normalised
from tests.rows_model import Form

STREAMED = Form(kernels=1, passes={"K": 1, "V": 1})
"""Attention of which no score is stored: keys and values are read once, along one fold."""

HEADS = {"heads": (4, 2), "queries": (1024, 5), "keys": (2048, 13), "width": (64, 3)}


def graph_polynomial_ids(small: bool = False) -> te.Graph:
    """Scores are cubes, and a query sees the keys of its own document; a query may see none."""
    heads, queries, keys, width = at(HEADS, small)
    h, i, j, d = te.indices("h i j d")
    q, k, v = te.input("Q", (heads, queries, width)), *(te.input(x, (heads, keys, width)) for x in "KV")
    mine, theirs = te.input("QI", (queries,), "i32"), te.input("KI", (keys,), "i32")
    same = te.eq(mine[i], theirs[j])
    s = te.tensor("S", (h, i, j), (te.sum(d, q[h, i, d] * k[h, j, d]) / width**0.5 + 1.0) ** 3)
    m = te.tensor("M", (h, i), te.max(j, s[h, i, j], where=same))
    p = te.tensor("P", (h, i, j), te.exp(s[h, i, j] - m[h, i]))
    z = te.tensor("Z", (h, i), te.sum(j, p[h, i, j], where=same))
    n = te.tensor("N", (h, i, d), te.sum(j, p[h, i, j] * v[h, j, d], where=same))
    return te.graph("polynomial_ids", O=te.tensor(None, (h, i, d), te.select(z[h, i] > 0, n[h, i, d] / z[h, i], 0.0)))


def oracle_polynomial_ids(a: Arrays) -> Arrays:
    """O of float64 arrays."""
    s = (np.einsum("hid,hjd->hij", a["Q"], a["K"]) / a["Q"].shape[-1] ** 0.5 + 1) ** 3
    return {"O": normalised(s, a["QI"][:, None] == a["KI"]) @ a["V"]}


def _stranger(a: Arrays) -> None:
    a["QI"][0] = 3


def graph_kernel_regression(small: bool = False) -> te.Graph:
    """A mean of values under a Gaussian of distances, a width for each head; heads stand between rows and elements."""
    heads, queries, keys, width = at(HEADS, small)
    h, i, d, e = te.indices("h i d e")
    q, k, v = te.input("Q", (queries, heads, width)), *(te.input(x, (keys, heads, width)) for x in "KV")
    g = te.input("G", (heads,))

    def near(j: Index) -> Expression:
        return te.exp(-te.abs(g[h]) * te.sum(d, (q[i, h, d] - k[j, h, d]) ** 2))

    a, b = te.indices("a b")
    body = te.sum(a, near(a) * v[a, h, e]) / (te.sum(b, near(b)) + 1e-6)
    return te.graph("kernel_regression", O=te.tensor(None, (i, h, e), body))


def oracle_kernel_regression(a: Arrays) -> Arrays:
    """O of float64 arrays."""
    distance = ((a["Q"][:, None] - a["K"][None]) ** 2).sum(-1)
    p = np.exp(-np.abs(a["G"]) * distance)
    return {"O": np.einsum("ijh,jhe->ihe", p, a["V"]) / (p.sum(1)[..., None] + 1e-6)}


REACHED = {**HEADS, "reach": (32, 2)}


def graph_clipped_distance(small: bool = False) -> te.Graph:
    """A learned bias by the distance of key and query, cut off at `reach`; elements of values before queries."""
    heads, queries, keys, width, reach = at(REACHED, small)
    h, i, j, d, e = te.indices("h i j d e")
    q, k, v = te.input("Q", (heads, queries, width)), *(te.input(x, (heads, keys, width)) for x in "KV")
    table = te.input("T", (heads, 2 * reach + 1))
    apart = te.minimum(te.maximum(te.value(j) - te.value(i), -reach), reach) + reach
    s = te.tensor("S", (h, i, j), te.sum(d, q[h, i, d] * k[h, j, d]) * width**-0.5 + table[h, apart])
    m = te.tensor("M", (h, i), te.max(j, s[h, i, j]))
    z = te.tensor("Z", (h, i), te.sum(j, te.exp(s[h, i, j] - m[h, i])))
    p = te.tensor("P", (h, i, j), te.exp(s[h, i, j] - m[h, i]) / z[h, i])
    return te.graph("clipped_distance", O=te.tensor(None, (h, e, i), te.sum(j, v[h, j, e] * p[h, i, j])))


def oracle_clipped_distance(a: Arrays) -> Arrays:
    """O of float64 arrays."""
    (_, n, width), m, reach = a["Q"].shape, a["K"].shape[1], a["T"].shape[1] // 2
    apart = np.clip(np.arange(m) - np.arange(n)[:, None], -reach, reach) + reach
    s = np.einsum("hid,hjd->hij", a["Q"], a["K"]) * width**-0.5 + a["T"][:, apart]
    return {"O": np.einsum("hij,hje->hei", normalised(s), a["V"])}


BATCHED = {"batch": (2, 2), "heads": (4, 3), "queries": (1024, 5), "keys": (2048, 7), "width": (64, 3)}


def graph_prefix_and_padding(small: bool = False) -> te.Graph:
    """Keys of a prefix and those not after the query, less padding; scores are clipped to ±4."""
    batch, heads, queries, keys, width = at(BATCHED, small)
    b, h, i, d, e = te.indices("b h i d e")
    q, k, v = te.input("Q", (batch, heads, queries, width)), *(te.input(x, (batch, heads, keys, width)) for x in "KV")
    prefix, live = te.input("prefix", (batch,), "i64"), te.input("live", (batch, keys), "bool")

    def score(j: Index) -> Expression:
        return te.minimum(te.maximum(te.sum(d, q[b, h, i, d] * k[b, h, j, d]) / width**0.5, -4.0), 4.0)

    def seen(j: Index) -> list[Expression]:
        return [(te.value(j) <= te.value(i)) | (te.value(j) < prefix[b]), live[b, j]]

    j, l, t = te.indices("j l t")  # noqa: E741
    top = te.max(t, score(t), where=seen(t))
    total = te.sum(l, te.exp(score(l) - top), where=seen(l))
    body = te.sum(j, te.exp(score(j) - top) * v[b, h, j, e], where=seen(j)) / total
    out = te.tensor(None, (b, h, i, e), te.select(total > 0, body, 0.0))
    return te.graph("prefix_and_padding", O=out)


def oracle_prefix_and_padding(a: Arrays) -> Arrays:
    """O of float64 arrays."""
    i, j = np.arange(a["Q"].shape[2])[:, None], np.arange(a["K"].shape[2])
    seen = ((j <= i) | (j < a["prefix"][:, None, None])) & a["live"][:, None]
    s = np.clip(np.einsum("bhid,bhjd->bhij", a["Q"], a["K"]) / a["Q"].shape[-1] ** 0.5, -4, 4)
    return {"O": normalised(s, seen[:, None]) @ a["V"]}


def _blind(a: Arrays) -> None:
    a["live"][0, 0], a["prefix"][0] = False, 0


STRIDED = {**HEADS, "stride": (3, 3)}


def graph_temperature_strided(small: bool = False) -> te.Graph:
    """Every third key, each with a temperature; query i sees as many as `N[i]`; queries before heads."""
    heads, queries, keys, width, stride = at(STRIDED, small)
    h, i, d, e = te.indices("h i d e")
    q, k, v = te.input("Q", (heads, queries, width)), *(te.input(x, (heads, stride * keys, width)) for x in "KV")
    heat, lens = te.input("T", (keys,)), te.input("N", (queries,), "i64")

    def score(j: Index) -> Expression:
        return te.sum(d, q[h, i, d] * k[h, stride * j + 1, d]) / (0.5 + te.abs(heat[j]))

    j, l, t = (te.index(x, keys) for x in "jlt")  # noqa: E741
    top = te.max(t, score(t), where=te.value(t) < lens[i])
    total = te.sum(l, te.exp(score(l) - top), where=te.value(l) < lens[i])
    body = te.sum(j, te.exp(score(j) - top) / total * v[h, stride * j + 1, e], where=te.value(j) < lens[i])
    return te.graph("temperature_strided", O=te.tensor(None, (i, h, e), body))


def oracle_temperature_strided(a: Arrays) -> Arrays:
    """O of float64 arrays."""
    s = np.einsum("hid,hjd->hij", a["Q"], a["K"][:, 1::3]) / (0.5 + np.abs(a["T"]))
    p = normalised(s, np.arange(len(a["T"])) < a["N"][:, None])
    return {"O": np.einsum("hij,hje->ihe", p, a["V"][:, 1::3])}


def _lengths(a: Arrays) -> None:
    a["N"][0], a["N"][1] = 0, len(a["T"])


GROUPED = {"groups": (2, 2), "shared": (4, 3), "queries": (1024, 5), "keys": (2048, 11), "width": (64, 3)}


def graph_head_windows(small: bool = False) -> te.Graph:
    """Four query heads share a key head, and each has a window of its own around the query."""
    groups, shared, queries, keys, width = at(GROUPED, small)
    g, r, i, j, d, e = te.indices("g r i j d e")
    q, k, v = te.input("Q", (groups, shared, queries, width)), *(te.input(x, (groups, keys, width)) for x in "KV")
    w = te.input("W", (groups, shared), "i64")
    near = [te.value(j) <= te.value(i) + w[g, r], te.value(i) <= te.value(j) + w[g, r]]
    s = te.tensor("S", (g, r, i, j), te.sum(d, q[g, r, i, d] * k[g, j, d]) * width**-0.5)
    m = te.tensor("M", (g, r, i), te.max(j, s[g, r, i, j], where=near))
    z = te.tensor("Z", (g, r, i), te.sum(j, te.exp(s[g, r, i, j] - m[g, r, i]), where=near))
    n = te.tensor("N", (g, r, i, e), te.sum(j, te.exp(s[g, r, i, j] - m[g, r, i]) * v[g, j, e], where=near))
    return te.graph("head_windows", O=te.tensor(None, (i, g, r, e), n[g, r, i, e] / z[g, r, i]))


def oracle_head_windows(a: Arrays) -> Arrays:
    """O of float64 arrays."""
    apart = np.abs(np.arange(a["Q"].shape[2])[:, None] - np.arange(a["K"].shape[1]))
    s = np.einsum("grid,gjd->grij", a["Q"], a["K"]) * a["Q"].shape[-1] ** -0.5
    return {"O": np.einsum("grij,gje->igre", normalised(s, apart <= a["W"][..., None, None]), a["V"])}


SUNK = {**HEADS, "values": (128, 2)}


def graph_sink(small: bool = False) -> te.Graph:
    """A learned logit takes part in the normalisation and has no value; queries are the last of the keys."""
    heads, queries, keys, width, values = at(SUNK, small)
    h, i, j, d, e = te.indices("h i j d e")
    q, k = te.input("Q", (heads, queries, width)), te.input("K", (heads, keys, width))
    v = te.input("V", (heads, keys, values))
    sink = te.input("sink", (heads,))
    past = j <= i + (keys - queries)
    s = te.tensor("S", (h, i, j), te.sum(d, q[h, i, d] * k[h, j, d]) / width**0.5)
    m = te.tensor("M", (h, i), te.maximum(te.max(j, s[h, i, j], where=past), sink[h]))
    p = te.tensor("P", (h, i, j), te.exp(s[h, i, j] - m[h, i]))
    z = te.tensor("Z", (h, i), te.sum(j, p[h, i, j], where=past) + te.exp(sink[h] - m[h, i]))
    out = te.tensor("O", (h, i, e), te.sum(j, p[h, i, j] * v[h, j, e], where=past) / z[h, i])
    return te.graph("sink", out)


def oracle_sink(a: Arrays) -> Arrays:
    """O of float64 arrays: a softmax over one more key whose value is 0."""
    (heads, n, width), m = a["Q"].shape, a["K"].shape[1]
    s = np.einsum("hid,hjd->hij", a["Q"], a["K"]) / width**0.5
    s = np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, s, -np.inf)
    s = np.concatenate([s, np.broadcast_to(a["sink"][:, None, None], (heads, n, 1))], axis=-1)
    return {"O": normalised(s)[..., :-1] @ a["V"]}


BANDED = {**BATCHED, "block": (64, 3)}


def graph_block_band(small: bool = False) -> te.Graph:
    """A library call whose mask is a band of blocks and whose bias belongs to pairs of blocks."""
    batch, heads, queries, keys, width, block = at(BANDED, small)
    q, k, v = te.input("Q", (batch, heads, queries, width)), *(te.input(x, (batch, heads, keys, width)) for x in "KV")
    table = te.input("T", (-(-queries // block), -(-keys // block)))

    def band(i: Index, j: Index) -> list[Expression]:
        a, b = te.value(i) // block, te.value(j) // block
        return [b <= a, a <= b + 2]

    def bias(i: Index, j: Index) -> Expression:
        return table[te.value(i) // block, te.value(j) // block]

    return te.graph("block_band", O=te.attention(q, k, v, mask=band, bias=bias, align="start"))


def oracle_block_band(a: Arrays, block: int = 3) -> Arrays:
    """O of float64 arrays, at the small size of a block."""
    i, j = np.arange(a["Q"].shape[2])[:, None] // block, np.arange(a["K"].shape[2]) // block
    s = np.einsum("bhid,bhjd->bhij", a["Q"], a["K"]) / a["Q"].shape[-1] ** 0.5 + a["T"][i, j]
    return {"O": normalised(s, (j <= i) & (i <= j + 2)) @ a["V"]}


GRAPHS = {
    "polynomial_ids": Fresh(
        graph_polynomial_ids, oracle_polynomial_ids, STREAMED,
        "online softmax over equal ids; cubes are recomputed, never stored", HEADS, {"QI": 4, "KI": 3}, _stranger,
    ),
    "kernel_regression": Fresh(
        graph_kernel_regression, oracle_kernel_regression, STREAMED,
        "numerator and denominator have the same weights, so one fold over keys makes both", HEADS,
    ),
    "clipped_distance": Fresh(
        graph_clipped_distance, oracle_clipped_distance, STREAMED,
        "the division by the total leaves the fold, and the transposed output is but another order of axes", REACHED,
    ),
    "prefix_and_padding": Fresh(
        graph_prefix_and_padding, oracle_prefix_and_padding, STREAMED,
        "three folds over keys of one domain, which is a disjunction and a row of bools", BATCHED,
        {"prefix": "keys"}, _blind,
    ),
    "temperature_strided": Fresh(
        graph_temperature_strided, oracle_temperature_strided, STREAMED,
        "strided keys are a view and a temperature a factor; the total is constant over keys", STRIDED,
        {"N": "keys"}, _lengths,
    ),
    "head_windows": Fresh(
        graph_head_windows, oracle_head_windows, STREAMED,
        "the shared head is one axis less in K; a window per head is a condition on data", GROUPED, {"W": 4},
    ),
    "sink": Fresh(
        graph_sink, oracle_sink, STREAMED,
        "the statistic is the larger of a maximum over keys and a number that does not depend on them", SUNK,
    ),
    "block_band": Fresh(
        graph_block_band, oracle_block_band, STREAMED,
        "blocks are conditions and a gather on positions; the rest is the table's attention", BANDED,
    ),
}  # fmt: skip
"""The eight, with what an expert expects."""
