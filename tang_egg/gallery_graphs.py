"""Further graphs of the gallery, beside `examples`: each written as its definition stands in a textbook."""

from __future__ import annotations

from collections.abc import Callable

from tang_egg import expression as e
from tang_egg import layers, library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph


def log_softmax() -> Graph:
    """Logits less the logarithm of their summed exponentials."""
    return graph("log_softmax", Y=library.log_softmax(te.input("X", (256, 4096))))


def expected_value() -> Graph:
    """The mean of a second row under the softmax of the first: two sums that follow one maximum."""
    i, j = te.indices("i j")
    x, v = te.input("X", (512, 2048)), te.input("V", (512, 2048))
    top = te.tensor("top", i, te.max(j, x[i, j]))
    weight = te.tensor("weight", (i, j), e.exp(x[i, j] - top[i]))
    total = te.tensor("total", i, te.sum(j, weight[i, j]))
    return graph("expected_value", te.tensor("E", i, te.sum(j, weight[i, j] * v[i, j]) / total[i]))


def entropy() -> Graph:
    """-Σ p log p for p the softmax of a row."""
    i, j = te.indices("i j")
    p = library.softmax(te.input("X", (512, 2048)))
    return graph("entropy", te.tensor("H", i, -te.sum(j, p[i, j] * e.log(p[i, j]))))


def transport_step() -> Graph:
    """One half of a Sinkhorn step on logarithms: u[i] = -log Σ_j exp(v[j] - C[i, j])."""
    i, j = te.indices("i j")
    cost, v = te.input("C", (512, 512)), te.input("v", (512,))
    score = te.tensor("score", (i, j), v[j] - cost[i, j])
    top = te.tensor("top", i, te.max(j, score[i, j]))
    total = te.tensor("total", i, te.sum(j, e.exp(score[i, j] - top[i])))
    return graph("transport_step", te.tensor("u", i, -(top[i] + e.log(total[i]))))


def long_variance() -> Graph:
    """The variance of rows that no near cache holds."""
    return graph("long_variance", V=library.variance(te.input("X", (16, 1 << 20))))


def layer_norm() -> Graph:
    """Rows less their mean, over their standard deviation, with gain and bias."""
    x, g, b = te.input("X", (256, 768)), te.input("g", (768,)), te.input("b", (768,))
    return graph("layer_norm", Y=library.layer_norm(x, g, b))


def attention_and_weights() -> Graph:
    """Attention beside the logarithm of its normaliser, as a backward pass wants it."""
    h, i, j, d, c = te.indices("h i j d c")
    q, k, v = (te.input(n, (4, 1024, 64)) for n in "QKV")
    score = te.tensor("score", (h, i, j), te.sum(d, q[h, i, d] * k[h, j, d]) * 0.125)
    top = te.tensor("top", (h, i), te.max(j, score[h, i, j]))
    weight = te.tensor("weight", (h, i, j), e.exp(score[h, i, j] - top[h, i]))
    total = te.tensor("total", (h, i), te.sum(j, weight[h, i, j]))
    mean = te.tensor("O", (h, i, c), te.sum(j, weight[h, i, j] * v[h, j, c]) / total[h, i])
    return graph("attention_and_weights", mean, te.tensor("L", (h, i), top[h, i] + e.log(total[h, i])))


def attention_long() -> Graph:
    """Causal attention over so many keys that scores are not worth writing."""
    q, k, v = (te.input(n, (1, 4, 1024, 64)) for n in "QKV")
    return graph("attention_long", O=layers.attention(q, k, v, causal=True))


def dequantised_matmul() -> Graph:
    """Integers with one scale for each column, dequantised before the product."""
    i, k, n = te.indices("i k n")
    x, q, s = te.input("X", (64, 512)), te.input("q", (512, 256), "i8"), te.input("s", (256,))
    w = te.tensor("w", (k, n), e.cast(q[k, n], "real") * s[n])
    return graph("dequantised_matmul", te.tensor("Y", (i, n), te.sum(k, x[i, k] * w[k, n])))


def nearest_centre() -> Graph:
    """The centre next to each point: the least sum of squared differences."""
    i, j, d = te.indices("i j d")
    x, centre = te.input("X", (1024, 32)), te.input("centre", (64, 32))
    difference = x[i, d] - centre[j, d]
    distance = te.tensor("distance", (i, j), te.sum(d, difference * difference))
    return graph("nearest_centre", te.tensor("nearest", i, te.argmin(j, distance[i, j])))


def contrastive_loss() -> Graph:
    """The cross-entropy of matching rows among all pairs of two batches."""
    i, j, d = te.indices("i j d")
    a, b = te.input("A", (256, 128)), te.input("B", (256, 128))
    score = te.tensor("score", (i, j), te.sum(d, a[i, d] * b[j, d]) * 10.0)
    norm = library.logsumexp(score)
    return graph("contrastive_loss", te.tensor("loss", i, norm[i] - score[i, i]))


def running_mean() -> Graph:
    """The mean of the points so far, each prefix summed anew as written."""
    i, t = te.index("i"), te.index("t", 1024)
    s, x = te.index("s", 1024), te.input("X", (64, 1024))
    total = te.tensor("total", (i, t), te.sum(s, x[i, s], where=s <= t))
    return graph("running_mean", te.tensor("M", (i, t), total[i, t] / e.cast(t + 1, "real")))


def convolution() -> Graph:
    """A convolution of width 5 with zeros outside: a select around the read."""
    b, i, c, w, o = te.index("b"), te.index("i", 128), te.index("c"), te.index("w", 5), te.index("o")
    x, kernel = te.input("X", (4, 128, 32)), te.input("K", (5, 32, 64))
    at = i + w - 2
    inside = te.holds([at >= 0, at < 128])
    seen = e.select(inside, x[b, at, c], 0.0)
    return graph("convolution", te.tensor("Y", (b, i, o), te.sum((w, c), seen * kernel[w, c, o])))


def pooling() -> Graph:
    """The largest of each block of 2 × 2."""
    b, i, j = te.index("b"), te.index("i", 32), te.index("j", 32)
    p, q, x = te.index("p", 2), te.index("q", 2), te.input("X", (8, 64, 64))
    return graph("pooling", te.tensor("Y", (b, i, j), te.max((p, q), x[b, 2 * i + p, 2 * j + q])))


def extent_of_rows() -> Graph:
    """The largest less the smallest element of each row: two folds with nothing between them."""
    i, j = te.indices("i j")
    x = te.input("X", (1024, 4096))
    top, least = te.tensor("top", i, te.max(j, x[i, j])), te.tensor("least", i, te.min(j, x[i, j]))
    return graph("extent_of_rows", te.tensor("R", i, top[i] - least[i]))


def cosine_similarity() -> Graph:
    """Products of rows over the product of their lengths."""
    i, j, d = te.indices("i j d")
    a, b = te.input("A", (128, 256)), te.input("B", (512, 256))
    long_a = te.tensor("long_a", i, e.rsqrt(te.sum(d, a[i, d] * a[i, d])))
    long_b = te.tensor("long_b", j, e.rsqrt(te.sum(d, b[j, d] * b[j, d])))
    body = te.sum(d, (a[i, d] * long_a[i]) * (b[j, d] * long_b[j]))
    return graph("cosine_similarity", te.tensor("S", (i, j), body))


FURTHER: dict[str, Callable[[], Graph]] = {
    f.__name__: f
    for f in (
        log_softmax, expected_value, entropy, transport_step, long_variance, layer_norm, attention_and_weights,
        attention_long, dequantised_matmul, nearest_centre, contrastive_loss, running_mean, convolution, pooling,
        extent_of_rows, cosine_similarity,
    )
}  # fmt: skip
