"""Eleven naive graphs of the family of attention: other masks, scores and gates, gradients, what its weights say."""

from __future__ import annotations

import numpy as np

import tang_egg as te
from tang_egg.affine import Index
from tang_egg.expression import Expression
from tests.further_second_model import Arrays, Fresh, at, normalised
from tests.rows_model import Form

STREAMED = Form(kernels=1, passes={"K": 1, "V": 1})
"""Attention of which no score is stored: keys and values are read once, along one fold."""

GROUPS = {"groups": (2, 2), "shared": (4, 3), "steps": (2048, 19), "width": (64, 3)}


def graph_sinks_in_groups(small: bool = False) -> te.Graph:
    """A window of 256 keys (5 in the small twin) and the first four; four query heads share a key head."""
    groups, shared, steps, width = at(GROUPS, small)
    window = 5 if small else 256
    g, r, i, j, d = te.indices("g r i j d")
    q, k, v = te.input("Q", (groups, shared, steps, width)), *(te.input(x, (groups, steps, width)) for x in "KV")
    seen = [j <= i, (i - j < window) | (j < 4)]
    s = te.tensor("S", (g, r, i, j), te.sum(d, q[g, r, i, d] * k[g, j, d]) / width**0.5)
    m = te.tensor("M", (g, r, i), te.max(j, s[g, r, i, j], where=seen))
    p = te.tensor("P", (g, r, i, j), te.exp(s[g, r, i, j] - m[g, r, i]))
    z = te.tensor("Z", (g, r, i), te.sum(j, p[g, r, i, j], where=seen))
    y = te.tensor("Y", (g, r, i, d), te.sum(j, p[g, r, i, j] * v[g, j, d], where=seen))
    return te.graph("sinks_in_groups", O=te.tensor(None, (g, r, i, d), y[g, r, i, d] / z[g, r, i]))


def oracle_sinks_in_groups(a: Arrays) -> Arrays:
    """O of float64 arrays, with the small window."""
    i, j = np.ogrid[: a["K"].shape[1], : a["K"].shape[1]]
    s = np.einsum("grid,gjd->grij", a["Q"], a["K"]) / a["Q"].shape[-1] ** 0.5
    p = normalised(s, (j <= i) & ((i - j < 5) | (j < 4)))
    return {"O": np.einsum("grij,gjd->grid", p, a["V"])}


HEADS = {"heads": (4, 2), "steps": (2048, 13), "width": (64, 3)}


def graph_block_diagonal(small: bool = False) -> te.Graph:
    """Keys of the block of 64 steps (4 in the small twin) that the query stands in, by quotients of positions."""
    heads, steps, width = at(HEADS, small)
    block = 4 if small else 64
    h, d = te.indices("h d")
    i, j = te.index("i", steps), te.index("j", steps)
    q, k, v = (te.input(x, (heads, steps, width)) for x in "QKV")
    same = te.eq(te.value(i) // block, te.value(j) // block)
    s = te.tensor("S", (h, i, j), te.select(same, te.sum(d, q[h, i, d] * k[h, j, d]), float("-inf")))
    w = te.softmax(s)
    return te.graph("block_diagonal", O=te.tensor(None, (h, i, d), te.sum(j, w[h, i, j] * v[h, j, d])))


def oracle_block_diagonal(a: Arrays) -> Arrays:
    """O of float64 arrays, with the small block."""
    block = np.arange(a["K"].shape[1]) // 4
    return {"O": normalised(a["Q"] @ a["K"].transpose(0, 2, 1), block[:, None] == block) @ a["V"]}


def graph_alibi_cap_groups(small: bool = False) -> te.Graph:
    """A soft cap, then a slope by distance for each query head, causal; heads of keys are shared. One expression."""
    groups, shared, steps, width = at(GROUPS, small)
    g, r, i, d, e = te.indices("g r i d e")
    q, k, v = te.input("Q", (groups, shared, steps, width)), *(te.input(x, (groups, steps, width)) for x in "KV")
    slope = te.input("slope", (groups, shared))
    j, l = te.index("j", steps), te.index("l", steps)  # noqa: E741

    def weight(t: Index) -> Expression:
        capped = 15.0 * te.tanh(te.sum(d, q[g, r, i, d] * k[g, t, d]) / 15.0)
        return te.exp(capped - te.abs(slope[g, r]) * te.cast(te.value(i - t), "f32"))

    body = te.sum(j, weight(j) * v[g, j, e], where=j <= i) / te.sum(l, weight(l), where=l <= i)
    return te.graph("alibi_cap_groups", O=te.tensor(None, (g, r, i, e), body))


def oracle_alibi_cap_groups(a: Arrays) -> Arrays:
    """O of float64 arrays."""
    i, j = np.ogrid[: a["K"].shape[1], : a["K"].shape[1]]
    s = 15 * np.tanh(np.einsum("grid,gjd->grij", a["Q"], a["K"]) / 15)
    s = s - np.abs(a["slope"])[..., None, None] * (i - j)
    return {"O": np.einsum("grij,gjd->grid", normalised(s, j <= i), a["V"])}


def graph_log_gates(small: bool = False) -> te.Graph:
    """Forgetting attention: running sums of log-gates of query and key are added to the causal scores."""
    heads, steps, width = at(HEADS, small)
    h, i, j, d = te.indices("h i j d")
    q, k, v = (te.input(x, (heads, steps, width)) for x in "QKV")
    c = te.input("C", (heads, steps))
    s = te.tensor("S", (h, i, j), te.sum(d, q[h, i, d] * k[h, j, d]) * width**-0.5 + (c[h, i] - c[h, j]))
    m = te.tensor("M", (h, i), te.max(j, s[h, i, j], where=j <= i))
    p = te.tensor("P", (h, i, j), te.exp(s[h, i, j] - m[h, i]))
    z = te.tensor("Z", (h, i), te.sum(j, p[h, i, j], where=j <= i))
    w = te.tensor("W", (h, i, j), p[h, i, j] / z[h, i])
    return te.graph("log_gates", O=te.tensor(None, (h, i, d), te.sum(j, w[h, i, j] * v[h, j, d], where=j <= i)))


def oracle_log_gates(a: Arrays) -> Arrays:
    """O of float64 arrays."""
    i, j = np.ogrid[: a["K"].shape[1], : a["K"].shape[1]]
    s = np.einsum("hid,hjd->hij", a["Q"], a["K"]) * a["Q"].shape[-1] ** -0.5
    return {"O": normalised(s + a["C"][:, :, None] - a["C"][:, None], j <= i) @ a["V"]}


def graph_gated_values(small: bool = False) -> te.Graph:
    """Values times a gate of their own, the result times one of the query; steps before heads, the result after."""
    heads, steps, width = at(HEADS, small)
    h, i, j, d = te.indices("h i j d")
    q, k, v, g = (te.input(x, (steps, heads, width)) for x in "QKVG")
    out = te.input("out", (steps, heads))
    s = te.tensor("S", (h, i, j), te.sum(d, q[i, h, d] * k[j, h, d]))
    gated = te.tensor("gated", (j, h, d), v[j, h, d] * te.sigmoid(g[j, h, d]))
    y = te.tensor("Y", (h, i, d), te.sum(j, te.softmax(s)[h, i, j] * gated[j, h, d]))
    return te.graph("gated_values", O=te.tensor(None, (h, d, i), te.silu(out[i, h]) * y[h, i, d]))


def oracle_gated_values(a: Arrays) -> Arrays:
    """O of float64 arrays."""
    p = normalised(np.einsum("ihd,jhd->hij", a["Q"], a["K"]))
    y = np.einsum("hij,jhd->hdi", p, a["V"] / (1 + np.exp(-a["G"])))
    out = a["out"].T[:, None]
    return {"O": y * out / (1 + np.exp(-out))}


def graph_attention_entropy(small: bool = False) -> te.Graph:
    """How spread the weights of each query are: the entropy of its causal softmax, from probabilities."""
    heads, steps, width = at(HEADS, small)
    h, i, j, d = te.indices("h i j d")
    q, k = (te.input(x, (heads, steps, width)) for x in "QK")
    s = te.tensor("S", (h, i, j), te.sum(d, q[h, i, d] * k[h, j, d]))
    m = te.tensor("M", (h, i), te.max(j, s[h, i, j], where=j <= i))
    z = te.tensor("Z", (h, i), te.sum(j, te.exp(s[h, i, j] - m[h, i]), where=j <= i))
    p = te.tensor("P", (h, i, j), te.exp(s[h, i, j] - m[h, i]) / z[h, i])
    body = te.log(z[h, i]) + m[h, i] - te.sum(j, p[h, i, j] * s[h, i, j], where=j <= i)
    return te.graph("attention_entropy", E=te.tensor(None, (h, i), body))


def oracle_attention_entropy(a: Arrays) -> Arrays:
    """E of float64 arrays."""
    i, j = np.ogrid[: a["K"].shape[1], : a["K"].shape[1]]
    p = normalised(a["Q"] @ a["K"].transpose(0, 2, 1), j <= i)
    return {"E": -(p * np.log(np.where(p > 0, p, 1))).sum(-1)}


def graph_expected_position(small: bool = False) -> te.Graph:
    """The mean position of the keys under the weights of each query, and the variance about it."""
    heads, steps, width = at(HEADS, small)
    h, i, d = te.indices("h i d")
    j = te.index("j", steps)
    q, k = (te.input(x, (heads, steps, width)) for x in "QK")
    place = te.input("place", (steps,))
    w = te.softmax(te.tensor("S", (h, i, j), te.sum(d, q[h, i, d] * k[h, j, d])))
    mean = te.tensor("mean", (h, i), te.sum(j, w[h, i, j] * place[j]))
    away = place[j] - mean[h, i]
    return te.graph("expected_position", mean, V=te.tensor(None, (h, i), te.sum(j, w[h, i, j] * away * away)))


def oracle_expected_position(a: Arrays) -> Arrays:
    """mean and V of float64 arrays."""
    p = normalised(a["Q"] @ a["K"].transpose(0, 2, 1))
    mean = p @ a["place"]
    return {"mean": mean, "V": (p * (a["place"] - mean[..., None]) ** 2).sum(-1)}


def graph_sigmoid_weights(small: bool = False) -> te.Graph:
    """Weights that are sigmoids of scores with a bias, over their sum with one added, over keys that are valid."""
    heads, steps, width = at(HEADS, small)
    h, i, j, d = te.indices("h i j d")
    q, k, v = (te.input(x, (heads, steps, width)) for x in "QKV")
    bias, valid = te.input("bias", (heads,)), te.input("valid", (steps,), "bool")
    w = te.tensor("W", (h, i, j), te.sigmoid(te.sum(d, q[h, i, d] * k[h, j, d]) + bias[h]))
    z = te.tensor("Z", (h, i), 1.0 + te.sum(j, w[h, i, j], where=valid[j]))
    y = te.tensor("Y", (h, i, d), te.sum(j, w[h, i, j] / z[h, i] * v[h, j, d], where=valid[j]))
    return te.graph("sigmoid_weights", y)


def oracle_sigmoid_weights(a: Arrays) -> Arrays:
    """Y of float64 arrays."""
    w = a["valid"] / (1 + np.exp(-(a["Q"] @ a["K"].transpose(0, 2, 1) + a["bias"][:, None, None])))
    return {"Y": w @ a["V"] / (1 + w.sum(-1, keepdims=True))}


PAIRS = {"heads": (4, 2), "queries": (1024, 5), "keys": (2048, 13), "width": (64, 3)}


def graph_best_keys(small: bool = False) -> te.Graph:
    """Attention to the four keys of the highest scores, whose values are gathered."""
    heads, queries, keys, width = at(PAIRS, small)
    h, i, j, d = te.indices("h i j d")
    q, k, v = te.input("Q", (heads, queries, width)), *(te.input(x, (heads, keys, width)) for x in "KV")
    best, where = te.top_k(te.tensor("S", (h, i, j), te.sum(d, q[h, i, d] * k[h, j, d])), 4)
    r = te.index("r", 4)
    body = te.sum(r, te.softmax(best)[h, i, r] * v[h, where[h, i, r], d])
    return te.graph("best_keys", O=te.tensor(None, (h, i, d), body))


def oracle_best_keys(a: Arrays) -> Arrays:
    """O of float64 arrays."""
    s = a["Q"] @ a["K"].transpose(0, 2, 1)
    where = np.argsort(-s, axis=-1, kind="stable")[..., :4]
    p = normalised(np.take_along_axis(s, where, -1))
    v = np.take_along_axis(a["V"][:, None], where[..., None], 2)
    return {"O": np.einsum("hir,hird->hid", p, v)}


def graph_attention_gradient_keys(small: bool = False) -> te.Graph:
    """dK and dV of causal attention from stored logsumexps L and sums D of the gradient times the result."""
    heads, steps, width = at(HEADS, small)
    h, i, j, d = te.indices("h i j d")
    q, k, v, g = (te.input(x, (heads, steps, width)) for x in "QKVG")
    total, dot = te.input("L", (heads, steps)), te.input("D", (heads, steps))
    score = te.sum(d, q[h, i, d] * k[h, j, d]) * width**-0.5
    p = te.tensor("P", (h, i, j), te.select(te.holds(j <= i), te.exp(score - total[h, i]), 0.0))
    dp = te.tensor("dP", (h, i, j), te.sum(d, g[h, i, d] * v[h, j, d]))
    ds = te.tensor("dS", (h, i, j), p[h, i, j] * (dp[h, i, j] - dot[h, i]) * width**-0.5)
    dk = te.tensor("dK", (h, j, d), te.sum(i, ds[h, i, j] * q[h, i, d]))
    dv = te.tensor("dV", (h, j, d), te.sum(i, p[h, i, j] * g[h, i, d]))
    return te.graph("attention_gradient_keys", dk, dv)


def _gradient(a: Arrays) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.ogrid[: a["K"].shape[1], : a["K"].shape[1]]
    scale = a["Q"].shape[-1] ** -0.5
    s = np.einsum("hid,hjd->hij", a["Q"], a["K"]) * scale
    p = np.where(j <= i, np.exp(s - a["L"][..., None]), 0)
    return p, p * (np.einsum("hid,hjd->hij", a["G"], a["V"]) - a["D"][..., None]) * scale


def oracle_attention_gradient_keys(a: Arrays) -> Arrays:
    """dK and dV of float64 arrays."""
    p, ds = _gradient(a)
    return {"dK": np.einsum("hij,hid->hjd", ds, a["Q"]), "dV": np.einsum("hij,hid->hjd", p, a["G"])}


def graph_attention_gradient_queries(small: bool = False) -> te.Graph:
    """dQ of causal attention from the same, as one expression."""
    heads, steps, width = at(HEADS, small)
    h, i, j, d, e = te.indices("h i j d e")
    q, k, v, g = (te.input(x, (heads, steps, width)) for x in "QKVG")
    total, dot = te.input("L", (heads, steps)), te.input("D", (heads, steps))
    p = te.exp(te.sum(d, q[h, i, d] * k[h, j, d]) * width**-0.5 - total[h, i])
    dp = te.sum(e, g[h, i, e] * v[h, j, e])
    c = te.index("c", width)
    body = te.sum(j, p * (dp - dot[h, i]) * width**-0.5 * k[h, j, c], where=j <= i)
    return te.graph("attention_gradient_queries", dQ=te.tensor(None, (h, i, c), body))


def oracle_attention_gradient_queries(a: Arrays) -> Arrays:
    """dQ of float64 arrays."""
    return {"dQ": _gradient(a)[1] @ a["K"]}


GRAPHS = {
    "sinks_in_groups": Fresh(
        graph_sinks_in_groups, oracle_sinks_in_groups, STREAMED,
        "the mask is two conditions on positions; a shared head is an axis that K lacks", GROUPS,
    ),
    "block_diagonal": Fresh(
        graph_block_diagonal, oracle_block_diagonal, STREAMED, "a selected -inf is a domain", HEADS,
    ),
    "alibi_cap_groups": Fresh(
        graph_alibi_cap_groups, oracle_alibi_cap_groups, STREAMED,
        "no maximum is taken: two sums over one space are siblings, whatever their indices are called", GROUPS,
    ),
    "log_gates": Fresh(
        graph_log_gates, oracle_log_gates, Form(kernels=1, passes={"K": 1, "V": 1, "C": 1}),
        "the gates are a bias", HEADS,
    ),
    "gated_values": Fresh(
        graph_gated_values, oracle_gated_values, Form(kernels=2, passes={"K": 1}, stored=("gated",)),
        "values are gated once and stored, then one pass; never a score", HEADS,
    ),
    "attention_entropy": Fresh(
        graph_attention_entropy, oracle_attention_entropy, Form(kernels=1, passes={"K": 1}),
        "the sum of weighted scores is carried with the sum of weights", HEADS,
    ),
    "expected_position": Fresh(
        graph_expected_position, oracle_expected_position, Form(kernels=1, passes={"K": 1, "place": 1}),
        "weighted Welford, whose weights are carried exponentials", HEADS,
    ),
    "sigmoid_weights": Fresh(
        graph_sigmoid_weights, oracle_sigmoid_weights, STREAMED, "the sum leaves the fold; siblings", HEADS,
    ),
    "best_keys": Fresh(
        graph_best_keys, oracle_best_keys, Form(passes={"K": 1}, stored=None, gathered=("V",), absent=("keys",)),
        "a fold of scores that keeps four and where they are; no score is stored beside these", PAIRS,
    ),
    "attention_gradient_keys": Fresh(
        graph_attention_gradient_keys, oracle_attention_gradient_keys, Form(kernels=1, passes={"Q": 1, "G": 1}),
        "both gradients are sums over queries that share the weights: one kernel, one fold", HEADS,
    ),
    "attention_gradient_queries": Fresh(
        graph_attention_gradient_queries, oracle_attention_gradient_queries, STREAMED,
        "one sum over keys", HEADS,
    ),
}  # fmt: skip
"""The eleven, with what an expert expects."""
