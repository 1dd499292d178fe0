"""Thirty naive graphs beside the table of `tests.rows`, with the structure that a careful reader expects of each.

They were written before anything was derived from them, and the expectations are kept as they were stated, but for one
miscount (the diagonal of `contrastive` is read by folds of its own) and two graphs that now take one kernel less than
was stated (`linear_attention`, `shared_expert`). `tests.test_further` says which have another structure, and why. Here
are other masks, scores, moments and axis orders of softmax and its relatives; `tests.further_folds` has moments, gates,
order, windows and scans.
"""

from __future__ import annotations

import tang_egg as te
from tang_egg.ir import Graph
from tests.further_folds import FOLDS
from tests.rows_model import Form, Row


def _one(*inputs: str) -> Form:
    """One kernel that stores nothing else and reads each of `inputs` by one fold."""
    return Form(kernels=1, passes=dict.fromkeys(inputs, 1))


def prefix_lm(dtype: str, h: int, n: int, d: int) -> Graph:
    """Keys of the prefix are seen by all, later ones by later queries. Tensor by tensor, the prefix by head."""
    q, k, v = (te.input(x, (h, n, d), dtype) for x in "QKV")
    prefix = te.input("prefix", (h,), "i32")
    a, i, j, c, e = te.indices("a i j c e")
    seen = (j <= i) | (te.value(j) < prefix[a])
    s = te.tensor("S", (a, i, j), te.sum(c, q[a, i, c] * k[a, j, c]) * d**-0.5)
    m = te.tensor("m", (a, i), te.max(j, s[a, i, j], where=seen))
    p = te.tensor("p", (a, i, j), te.exp(s[a, i, j] - m[a, i]))
    z = te.tensor("z", (a, i), te.sum(j, p[a, i, j], where=seen))
    w = te.tensor("W", (a, i, j), te.select(te.holds(seen), p[a, i, j] / z[a, i], 0.0))
    return te.graph("prefix_lm", te.tensor("O", (a, i, e), te.sum(j, w[a, i, j] * v[a, j, e])))


def documents(dtype: str, h: int, n: int, d: int) -> Graph:
    """Packed documents: a key is seen within its own document and not after the query. By the library, with a mask."""
    q, k, v = (te.input(x, (h, n, d), dtype) for x in "QKV")
    document = te.input("document", (n,), "i32")
    i, j = te.index("i", n), te.index("j", n)
    mask = te.tensor("mask", (i, j), te.eq(document[i], document[j]) & te.holds(j <= i))
    return te.graph("documents", O=te.attention(q, k, v, mask=mask))


def dilated(dtype: str, h: int, n: int, d: int, w: int, step: int) -> Graph:
    """Every `step`-th of the keys before a query, `w` of them. In single expressions."""
    q, k, v = (te.input(x, (h, n, d), dtype) for x in "QKV")
    a, i, c, e = te.indices("a i c e")
    t = te.index("t", w)
    past = i - t * step
    score = te.sum(c, q[a, i, c] * k[a, past, c])
    m = te.tensor("m", (a, i), te.max(t, score, where=past >= 0))
    p = te.exp(score - m[a, i])
    num = te.sum(t, p * v[a, past, e], where=past >= 0)
    return te.graph("dilated", te.tensor("O", (a, i, e), num / te.sum(t, p, where=past >= 0)))


def relative_bias(dtype: str, h: int, n: int, d: int) -> Graph:
    """A learned bias by distance inside a soft cap. Tensor by tensor, normalised after the product."""
    q, k, v = (te.input(x, (h, n, d), dtype) for x in "QKV")
    bias = te.input("bias", (h, 2 * n - 1), dtype)
    a, i, j, c, e = te.indices("a i j c e")
    raw = te.tensor("raw", (a, i, j), te.sum(c, q[a, i, c] * k[a, j, c]) * d**-0.5 + bias[a, j - i + n - 1])
    s = te.tensor("S", (a, i, j), 20.0 * te.tanh(raw[a, i, j] / 20.0))
    m = te.tensor("m", (a, i), te.max(j, s[a, i, j]))
    p = te.tensor("p", (a, i, j), te.exp(s[a, i, j] - m[a, i]))
    z = te.tensor("z", (a, i), te.sum(j, p[a, i, j]))
    y = te.tensor("y", (a, i, e), te.sum(j, p[a, i, j] * v[a, j, e]))
    return te.graph("relative_bias", te.tensor("O", (a, i, e), y[a, i, e] / z[a, i]))


def sinks(dtype: str, h: int, n: int, d: int, w: int) -> Graph:
    """A window, the first four keys, and a learned logit that takes part in the denominator only."""
    q, k, v = (te.input(x, (h, n, d), dtype) for x in "QKV")
    sink = te.input("sink", (h,), dtype)
    a, i, j, c, e = te.indices("a i j c e")
    seen = [j <= i, (i - j < w) | (j < 4)]
    s = te.tensor("S", (a, i, j), te.sum(c, q[a, i, c] * k[a, j, c]) * d**-0.5)
    m = te.tensor("m", (a, i), te.maximum(te.max(j, s[a, i, j], where=seen), sink[a]))
    p = te.tensor("p", (a, i, j), te.exp(s[a, i, j] - m[a, i]))
    z = te.tensor("z", (a, i), te.sum(j, p[a, i, j], where=seen) + te.exp(sink[a] - m[a, i]))
    y = te.tensor("y", (a, i, e), te.sum(j, p[a, i, j] / z[a, i] * v[a, j, e], where=seen))
    return te.graph("sinks", te.tensor("O", (a, i, e), y[a, i, e]))


def distance_heads_last(dtype: str, h: int, n: int, m: int, d: int) -> Graph:
    """Weights by negative squared distance; heads come last, and V and the result are transposed."""
    q, k, v = te.input("Q", (n, d, h), dtype), te.input("K", (m, d, h), dtype), te.input("V", (d, m, h), dtype)
    i, j, c, e, a = te.indices("i j c e a")
    diff = q[i, c, a] - k[j, c, a]
    s = te.tensor("S", (a, i, j), -te.sum(c, diff * diff))
    w = te.softmax(s)
    return te.graph("distance_heads_last", te.tensor("O", (e, i, a), te.sum(j, w[a, i, j] * v[e, j, a])))


def cosine(dtype: str, h: int, n: int, m: int, d: int) -> Graph:
    """Cosines of queries and keys, a temperature for each row. Norms as tensors, the rest by the library."""
    q, k, v = te.input("Q", (h, n, d), dtype), te.input("K", (h, m, d), dtype), te.input("V", (h, m, d), dtype)
    t = te.input("t", (h, n), dtype)
    a, i, j, c = te.indices("a i j c")
    q_norm = te.tensor("q_norm", (a, i), te.sqrt(te.sum(c, q[a, i, c] * q[a, i, c]) + 1e-6))
    k_norm = te.tensor("k_norm", (a, j), te.sqrt(te.sum(c, k[a, j, c] * k[a, j, c]) + 1e-6))
    dots = te.sum(c, q[a, i, c] * k[a, j, c])
    s = te.tensor("S", (a, i, j), t[a, i] * dots / (q_norm[a, i] * k_norm[a, j]))
    return te.graph("cosine", O=te.matmul(te.softmax(s), v))


def int8_pages(dtype: str, n: int, p: int, s: int, d: int) -> Graph:
    """Operands of 8 bits with scales; keys lie on two axes, page and slot, and the softmax is over both."""
    q, sq = te.input("Q", (n, d), "i8"), te.input("sq", (n,), dtype)
    k, sk = te.input("K", (p, s, d), "i8"), te.input("sk", (p, s), dtype)
    v, sv = te.input("V", (p, s, d), "i8"), te.input("sv", (d,), dtype)
    i, g, u, c, e = te.indices("i g u c e")
    product = te.sum(c, te.cast(q[i, c], "i32") * te.cast(k[g, u, c], "i32"))
    x = te.tensor("X", (i, g, u), te.cast(product, "f32") * sq[i] * sk[g, u] * 1e-3)
    m = te.tensor("m", i, te.max((g, u), x[i, g, u]))
    w = te.tensor("w", (i, g, u), te.exp(x[i, g, u] - m[i]))
    z = te.tensor("z", i, te.sum((g, u), w[i, g, u]))
    real = te.tensor("real", (g, u, e), te.cast(v[g, u, e], "f32") * sv[e])
    return te.graph("int8_pages", te.tensor("O", (i, e), te.sum((g, u), w[i, g, u] / z[i] * real[g, u, e])))


def decode_append(dtype: str, h: int, n: int, d: int) -> Graph:
    """One query over a cache into which the newest key and value are put first, which are written as tensors."""
    q, new_k, new_v = (te.input(x, (h, d), dtype) for x in ("q", "new_k", "new_v"))
    keys, values = te.input("keys", (h, n, d), dtype), te.input("values", (h, n, d), dtype)
    position = te.input("position", (), "i32")
    a, j = te.index("a", h), te.index("j", n)
    c, e = te.indices("c e")
    k = te.tensor("k", (a, j, c), te.select(te.eq(j, position[()]), new_k[a, c], keys[a, j, c]))
    v = te.tensor("v", (a, j, c), te.select(te.eq(j, position[()]), new_v[a, c], values[a, j, c]))
    seen = te.value(j) <= position[()]
    s = te.tensor("s", (a, j), te.sum(c, q[a, c] * k[a, j, c]) * d**-0.5)
    w = te.softmax(s, where=te.tensor("seen", (a, j), seen))
    return te.graph("decode_append", te.tensor("O", (a, e), te.sum(j, w[a, j] * v[a, j, e])))


def two_sources(dtype: str, n: int, m: int, more: int, d: int) -> Graph:
    """Queries over the keys of two sources, concatenated by a select."""
    q, x, y = te.input("Q", (n, d), dtype), te.input("X", (m, d), dtype), te.input("Y", (more, d), dtype)
    j, c = te.index("j", m + more), te.index("c", d)
    both = te.tensor("both", (j, c), te.select(te.holds(j < m), x[j, c], y[j - m, c]))
    return te.graph("two_sources", O=te.attention(q, both, both))


def linear_attention(dtype: str, h: int, n: int, m: int, d: int) -> Graph:
    """Non-causal attention whose weights are products of positive features, elu + 1, written as a square of weights."""
    q, k, v = te.input("Q", (h, n, d), dtype), te.input("K", (h, m, d), dtype), te.input("V", (h, m, d), dtype)
    a, i, j, c, e = te.indices("a i j c e")

    def feature(x: te.Expression) -> te.Expression:
        return te.select(x > 0.0, x + 1.0, te.exp(x))

    w = te.tensor("W", (a, i, j), te.sum(c, feature(q[a, i, c]) * feature(k[a, j, c])))
    z = te.tensor("z", (a, i), te.sum(j, w[a, i, j]))
    y = te.tensor("y", (a, i, e), te.sum(j, w[a, i, j] * v[a, j, e]))
    return te.graph("linear_attention", te.tensor("O", (a, i, e), y[a, i, e] / (z[a, i] + 1e-6)))


def soft_minimum(dtype: str, n: int, m: int) -> Graph:
    """The mean of each row under weights exp(-x · t), a temperature for each row. In single expressions."""
    x, t = te.input("X", (n, m), dtype), te.input("t", (n,), dtype)
    i, j = te.indices("i j")
    low = te.tensor("low", i, te.min(j, x[i, j]))
    p = te.exp((low[i] - x[i, j]) * te.abs(t[i]))
    return te.graph("soft_minimum", te.tensor("y", i, te.sum(j, p * x[i, j]) / te.sum(j, p)))


def participation(dtype: str, n: int, m: int) -> Graph:
    """One over the sum of squared softmax weights: how many elements take part. By the library."""
    x = te.input("X", (n, m), dtype)
    p = te.softmax(x)
    i, j = te.indices("i j")
    return te.graph("participation", te.tensor("y", i, 1.0 / te.sum(j, p[i, j] * p[i, j])))


def entropy(dtype: str, n: int, m: int) -> Graph:
    """The entropy of softmax of each row, by its logarithm from the library."""
    x = te.input("X", (n, m), dtype)
    p = te.log_softmax(x)
    i, j = te.indices("i j")
    return te.graph("entropy", te.tensor("y", i, -te.sum(j, te.exp(p[i, j]) * p[i, j])))


def divergence(dtype: str, n: int, m: int) -> Graph:
    """The divergence of softmax of each row from a target distribution."""
    x, t = te.input("X", (n, m), dtype), te.input("T", (n, m), dtype)
    i, j = te.indices("i j")
    big = te.tensor("big", i, te.max(j, x[i, j]))
    z = te.tensor("z", i, te.sum(j, te.exp(x[i, j] - big[i])))
    p = te.tensor("p", (i, j), x[i, j] - big[i] - te.log(z[i]))
    term = te.select(t[i, j] > 0.0, t[i, j] * (te.log(t[i, j]) - p[i, j]), 0.0)
    return te.graph("divergence", te.tensor("y", i, te.sum(j, term)))


def contrastive(dtype: str, n: int, d: int) -> Graph:
    """Cross-entropy of the diagonal over both axes of a square of products, which is written as a tensor."""
    x, y = te.input("X", (n, d), dtype), te.input("Y", (n, d), dtype)
    i, j, c = te.indices("i j c")
    s = te.tensor("S", (i, j), te.sum(c, x[i, c] * y[j, c]) * 2.0)
    rows = te.tensor("rows", i, te.logsumexp(j, s[i, j]) - s[i, i])
    columns = te.tensor("columns", j, te.logsumexp(i, s[i, j]) - s[j, j])
    return te.graph("contrastive", rows, columns)


SCORES: dict[str, Row] = {
    "prefix_lm": Row(prefix_lm, _one("Q", "K", "V"), {"h": 4, "n": 1024, "d": 64}, {"h": 2, "n": 13, "d": 5}),
    "documents": Row(documents, _one("Q", "K", "V"), {"h": 4, "n": 2048, "d": 64}, {"h": 2, "n": 11, "d": 3}),
    "dilated": Row(
        dilated,
        _one("Q", "K", "V"),
        {"h": 4, "n": 4096, "d": 64, "w": 128, "step": 4},
        {"h": 2, "n": 17, "d": 3, "w": 5, "step": 2},
    ),
    "relative_bias": Row(
        relative_bias, _one("Q", "K", "V", "bias"), {"h": 4, "n": 1024, "d": 64}, {"h": 2, "n": 7, "d": 5}
    ),
    "sinks": Row(sinks, _one("Q", "K", "V"), {"h": 4, "n": 2048, "d": 64, "w": 256}, {"h": 2, "n": 13, "d": 3, "w": 5}),
    "distance_heads_last": Row(
        distance_heads_last,
        _one("Q", "K", "V"),
        {"h": 4, "n": 1024, "m": 2048, "d": 64},
        {"h": 2, "n": 5, "m": 7, "d": 3},
    ),
    "cosine": Row(
        cosine,
        Form(kernels=2, passes={"K": 2, "V": 1}, stored=("k_norm",)),
        {"h": 4, "n": 1024, "m": 2048, "d": 64},
        {"h": 2, "n": 5, "m": 7, "d": 3},
    ),
    "int8_pages": Row(
        int8_pages, _one("Q", "K", "V"), {"n": 256, "p": 64, "s": 32, "d": 64}, {"n": 3, "p": 5, "s": 2, "d": 7}
    ),
    "decode_append": Row(
        decode_append, _one("keys", "values"), {"h": 16, "n": 4096, "d": 64}, {"h": 2, "n": 11, "d": 3}
    ),
    "two_sources": Row(
        two_sources,
        _one("Q", "X", "Y"),
        {"n": 1024, "m": 3072, "more": 1024, "d": 64},
        {"n": 5, "m": 7, "more": 3, "d": 2},
    ),
    "linear_attention": Row(
        linear_attention,
        Form(kernels=2, passes={"V": 1}, stored=None, absent=("m",)),
        {"h": 4, "n": 4096, "m": 2048, "d": 64},
        {"h": 2, "n": 13, "m": 11, "d": 3},
    ),
    "soft_minimum": Row(soft_minimum, _one("X"), {"n": 64, "m": 2**20}, {"n": 5, "m": 13}),
    "participation": Row(participation, _one("X"), {"n": 2048, "m": 32768}, {"n": 3, "m": 17}),
    "entropy": Row(entropy, _one("X"), {"n": 2048, "m": 32768}, {"n": 3, "m": 17}),
    "divergence": Row(divergence, _one("X", "T"), {"n": 2048, "m": 32768}, {"n": 3, "m": 17}),
    "contrastive": Row(contrastive, Form(kernels=2, passes={"X": 4, "Y": 4}), {"n": 16384, "d": 8}, {"n": 7, "d": 3}),
}

FURTHER: dict[str, Row] = {**SCORES, **FOLDS}
