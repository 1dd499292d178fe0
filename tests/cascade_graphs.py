"""Graphs with statistics from outside, statistics that are passes themselves, weighted means, and sums in two."""

from __future__ import annotations

from collections.abc import Callable

import tang_egg as te
from tang_egg.affine import Index
from tang_egg.expression import Expression
from tang_egg.ir import Graph
from tang_egg.notation import Array

Make = Callable[[int, int], Graph]


def _rows(n: int, m: int, *names: str) -> tuple[Index, Index, list[Array]]:
    return te.index("i", n), te.index("j", m), [te.input(x, (n, m)) for x in names]


def sink(n: int, m: int) -> Graph:
    """Weights of live elements, with a logit of the row's own in the denominator."""
    i, j, (x, v) = _rows(n, m, "X", "V")
    live, s = te.input("live", (n, m), "bool"), te.input("sink", (n,))
    top = te.tensor("top", i, te.maximum(te.max(j, x[i, j], where=live[i, j]), s[i]))
    p = te.exp(x[i, j] - top[i])
    total = te.tensor("total", i, te.sum(j, p, where=live[i, j]) + te.exp(s[i] - top[i]))
    return te.graph("sink", te.tensor("y", i, te.sum(j, p * v[i, j], where=live[i, j]) / total[i]))


def temperature(n: int, m: int) -> Graph:
    """A mean under exp(-|t| x), t one for each row."""
    i, j, (x,) = _rows(n, m, "X")
    t = te.input("t", (n,))
    low = te.tensor("low", i, te.min(j, x[i, j]))
    p = te.exp((low[i] - x[i, j]) * te.abs(t[i]))
    return te.graph("temperature", te.tensor("y", i, te.sum(j, p * x[i, j]) / te.sum(j, p)))


def offset(n: int, m: int) -> Graph:
    """Exponentials below a maximum and a number of the row's own."""
    i, j, (x,) = _rows(n, m, "X")
    b = te.input("b", (n,))
    top = te.tensor("top", i, te.max(j, x[i, j]) + b[i])
    return te.graph("offset", te.tensor("y", i, te.sum(j, te.exp(x[i, j] - top[i]))))


def chosen_rows(n: int, m: int) -> Graph:
    """A statistic that a condition on the row and its number take part in."""
    i, j, (x,) = _rows(n, m, "X")
    on, k = te.input("on", (n,), "bool"), te.input("k", (n,), "i32")
    top = te.max(j, x[i, j])
    top = te.maximum(te.maximum(top, te.select(on[i], 1.0, -2.0)), te.cast(k[i], "f32"))
    top = te.tensor("top", i, top)
    return te.graph("chosen_rows", te.tensor("y", i, te.sum(j, te.exp(x[i, j] - top[i]) * x[i, j])))


def hot(n: int, m: int) -> Graph:
    """A temperature that may have either sign: exponents that no statistic bounds."""
    i, j, (x,) = _rows(n, m, "X")
    t = te.input("t", (n,))
    low = te.tensor("low", i, te.min(j, x[i, j]))
    return te.graph("hot", te.tensor("y", i, te.sum(j, te.exp((low[i] - x[i, j]) * t[i]))))


def entropy(n: int, m: int) -> Graph:
    """Of softmax, by its logarithm."""
    i, j, (x,) = _rows(n, m, "X")
    p = te.log_softmax(x)
    return te.graph("entropy", te.tensor("y", i, -te.sum(j, te.exp(p[i, j]) * p[i, j])))


def masked_entropy(n: int, m: int) -> Graph:
    """The same over live elements, tensor by tensor; rows without any have 0."""
    i, j, (x,) = _rows(n, m, "X")
    live = te.input("live", (n, m), "bool")
    top = te.tensor("top", i, te.max(j, x[i, j], where=live[i, j]))
    total = te.tensor("total", i, te.sum(j, te.exp(x[i, j] - top[i]), where=live[i, j]))
    p = te.tensor("p", (i, j), (x[i, j] - top[i]) - te.log(total[i]))
    return te.graph("masked_entropy", te.tensor("y", i, -te.sum(j, te.exp(p[i, j]) * p[i, j], where=live[i, j])))


def perplexity(n: int, m: int) -> Graph:
    """exp of the entropy of softmax over its own greatest probability."""
    i, j, (x,) = _rows(n, m, "X")
    p = te.log_softmax(x)
    bits = -te.sum(j, te.exp(p[i, j]) * p[i, j])
    return te.graph("perplexity", te.tensor("y", i, te.exp(bits)))


def divergence_from(n: int, m: int) -> Graph:
    """KL(target ‖ softmax), targets of 0 left out."""
    i, j, (x, t) = _rows(n, m, "X", "T")
    p = te.log_softmax(x)
    term = te.select(t[i, j] > 0.0, t[i, j] * (te.log(t[i, j]) - p[i, j]), 0.0)
    return te.graph("divergence_from", te.tensor("y", i, te.sum(j, term)))


def divergence_to(n: int, m: int) -> Graph:
    """KL(softmax ‖ target), the target by its logarithms."""
    i, j, (x, u) = _rows(n, m, "X", "U")
    p = te.log_softmax(x)
    return te.graph("divergence_to", te.tensor("y", i, te.sum(j, te.exp(p[i, j]) * (p[i, j] - u[i, j]))))


def softmax_variance(n: int, m: int) -> Graph:
    """The variance of values under the weights of a softmax, about their mean under them."""
    i, j, (x, v) = _rows(n, m, "X", "V")
    p = te.softmax(x)
    mean = te.tensor("mean", i, te.sum(j, p[i, j] * v[i, j]))
    d = v[i, j] - mean[i]
    return te.graph("softmax_variance", te.tensor("y", i, te.sum(j, p[i, j] * d * d)))


def _weighted(n: int, m: int, w: Expression, extra: float, power: int) -> Graph:
    i, j, (x,) = _rows(n, m, "X")
    total = te.tensor("total", i, te.sum(j, w) + extra if extra else te.sum(j, w))
    mean = te.tensor("mean", i, te.sum(j, w * x[i, j]) / total[i])
    d = x[i, j] - mean[i]
    body = w
    for _ in range(power):
        body = body * d
    return te.graph("weighted", te.tensor("y", i, te.sum(j, body) / total[i]))


def _counts(n: int, m: int) -> Expression:
    return te.cast(te.input("W", (n, m), "u8")[te.index("i", n), te.index("j", m)], "f32")


def counted(n: int, m: int) -> Graph:
    """A variance in which elements count as often as a number says, perhaps never."""
    return _weighted(n, m, _counts(n, m), 0.0, 2)


def counted_shrunk(n: int, m: int) -> Graph:
    """The same with a small number in the denominator."""
    return _weighted(n, m, _counts(n, m), 1e-3, 2)


def masked_skew(n: int, m: int) -> Graph:
    """The third moment of live elements, the mask a factor of 0 or 1."""
    live = te.input("live", (n, m), "bool")[te.index("i", n), te.index("j", m)]
    return _weighted(n, m, te.select(live, 1.0, 0.0), 0.0, 3)


def squared_weights(n: int, m: int) -> Graph:
    """Weights that are squares, so never below 0."""
    u = te.input("U", (n, m))[te.index("i", n), te.index("j", m)]
    return _weighted(n, m, u * u, 0.0, 2)


def signed_weights(n: int, m: int) -> Graph:
    """Weights of either sign, whose partial sums may be next to 0."""
    return _weighted(n, m, te.input("U", (n, m))[te.index("i", n), te.index("j", m)], 0.0, 2)


def unweighted_about(n: int, m: int) -> Graph:
    """Elements of weight 0 count, though the mean that they are taken about may mean nothing yet."""
    i, j, (x,) = _rows(n, m, "X")
    w = _counts(n, m)
    mean = te.tensor("mean", i, te.sum(j, w * x[i, j]) / te.sum(j, w))
    d = x[i, j] - mean[i]
    return te.graph("unweighted_about", te.tensor("y", i, te.sum(j, d * d)))


def _normed(n: int, m: int) -> tuple[Index, Index, Index, Expression, Array, Array]:
    i, j, (x,) = _rows(n, m, "X")
    g, b, w = te.input("g", (m,)), te.input("b", (m,)), te.input("W", (m, 3))
    mean = te.tensor("mean", i, te.sum(j, x[i, j]) / m)
    d = x[i, j] - mean[i]
    var = te.tensor("var", i, te.sum(j, d * d) / m)
    return i, j, te.index("c", 3), d * te.rsqrt(var[i] + 1e-5) * g[j], b, w


def norm_with_bias(n: int, m: int) -> Graph:
    """A norm with gain and bias before a product."""
    i, j, c, y, b, w = _normed(n, m)
    return te.graph("norm_with_bias", te.tensor("Y", (i, c), te.sum(j, (y + b[j]) * w[j, c])))


def bias_less_norm(n: int, m: int) -> Graph:
    """The bias first, all of it negated and the product on the other side."""
    i, j, c, y, b, w = _normed(n, m)
    return te.graph("bias_less_norm", te.tensor("Y", (i, c), te.sum(j, w[j, c] * -(b[j] + y))))


ONE_PASS: dict[str, Make] = {
    f.__name__: f
    for f in (
        sink, temperature, offset, chosen_rows, entropy, masked_entropy, perplexity, divergence_from, divergence_to,
        softmax_variance, counted, counted_shrunk, masked_skew, squared_weights, norm_with_bias, bias_less_norm,
    )
}  # fmt: skip
"""Graphs of rows and columns that are one pass over all they read."""

NOT_ONE: dict[str, tuple[Make, str]] = {
    "hot": (hot, "an exponential is not bounded by its statistic"),
    "signed_weights": (signed_weights, "a sum that is carried by shifts is not centred"),
    "unweighted_about": (unweighted_about, "its statistic divides by what may be 0 where points were seen"),
}
"""Graphs whose pass is refused, with the reason."""
