"""Twelve naive graphs of the families of softmax and of moments: other temperatures, weights, domains and axes."""

from __future__ import annotations

import numpy as np

import tang_egg as te
from tang_egg.affine import Index
from tang_egg.expression import Expression
from tests.further_second_model import Arrays, Fresh, at, normalised
from tests.rows_model import Form, infinite

ONCE = Form(kernels=1, passes={"X": 1})
"""One kernel that folds over X once and stores nothing in between."""

ROWS = {"rows": (4096, 7), "length": (8192, 41)}


def graph_log_mean_exp(small: bool = False) -> te.Graph:
    """log of the mean of exp over the first `N[i]` elements of a row."""
    rows, length = at(ROWS, small)
    i, j = te.indices("i j")
    x, n = te.input("X", (rows, length)), te.input("N", (rows,), "i64")
    m = te.tensor("M", i, te.max(j, x[i, j], where=te.value(j) < n[i]))
    s = te.tensor("S", i, te.sum(j, te.exp(x[i, j] - m[i]), where=te.value(j) < n[i]))
    return te.graph("log_mean_exp", L=te.tensor(None, i, m[i] + te.log(s[i] / te.cast(n[i], "f32"))))


def oracle_log_mean_exp(a: Arrays) -> Arrays:
    """L of float64 arrays."""
    return {"L": np.array([np.log(np.mean(np.exp(x[:n]))) for x, n in zip(a["X"], a["N"], strict=True)])}


def _some(a: Arrays) -> None:
    a["N"][:] = np.maximum(a["N"], 1)
    a["N"][0] = a["X"].shape[1]
    infinite("X")(a)


COLUMNS = {"length": (8192, 41), "columns": (4096, 7)}


def graph_tempered_softmin(small: bool = False) -> te.Graph:
    """softmin down the columns, a temperature for each, as one expression."""
    length, columns = at(COLUMNS, small)
    j, c, s, t = te.indices("j c s t")
    x, heat = te.input("X", (length, columns)), te.input("T", (columns,))
    low = te.min(t, x[t, c])
    total = te.sum(s, te.exp((low - x[s, c]) / (te.abs(heat[c]) + 0.5)))
    body = te.exp((low - x[j, c]) / (te.abs(heat[c]) + 0.5)) / total
    return te.graph("tempered_softmin", P=te.tensor(None, (j, c), body))


def oracle_tempered_softmin(a: Arrays) -> Arrays:
    """P of float64 arrays."""
    return {"P": normalised((-a["X"] / (np.abs(a["T"]) + 0.5)).T).T}


def _far(a: Arrays) -> None:
    a["X"][: len(a["X"]) // 2, 0] = np.inf


VOCABULARY = {"rows": (1024, 7), "words": (32000, 41)}


def graph_smoothed_z_loss(small: bool = False) -> te.Graph:
    """Cross-entropy with a tenth of label smoothing and a term of the squared normaliser, a loss for each row."""
    rows, words = at(VOCABULARY, small)
    i, j = te.indices("i j")
    x, y = te.input("X", (rows, words)), te.input("Y", (rows,), "i64")
    m = te.tensor("M", i, te.max(j, x[i, j]))
    z = te.tensor("Z", i, m[i] + te.log(te.sum(j, te.exp(x[i, j] - m[i]))))
    p = te.tensor("LogP", (i, j), x[i, j] - z[i])
    plain = te.tensor("Plain", i, -p[i, y[i]])
    smooth = te.tensor("Smooth", i, -te.sum(j, p[i, j]) / words)
    return te.graph("smoothed_z_loss", L=te.tensor(None, i, 0.9 * plain[i] + 0.1 * smooth[i] + 1e-4 * z[i] * z[i]))


def oracle_smoothed_z_loss(a: Arrays) -> Arrays:
    """L of float64 arrays."""
    z = np.log(np.exp(a["X"]).sum(-1))
    target = np.take_along_axis(a["X"], a["Y"][:, None], axis=1)[:, 0]
    return {"L": 0.9 * (z - target) + 0.1 * (z - a["X"].mean(-1)) + 1e-4 * z**2}


def graph_gumbel_pick(small: bool = False) -> te.Graph:
    """A sample of every row by the largest of logits plus Gumbel noise of given uniforms, and its log-probability."""
    rows, words = at(VOCABULARY, small)
    i, j = te.indices("i j")
    x, u = te.input("X", (rows, words)), te.input("U", (rows, words))
    noisy = te.tensor("Noisy", (i, j), x[i, j] - te.log(-te.log(u[i, j])))
    pick = te.tensor("pick", i, te.argmax(j, noisy[i, j]))
    m = te.tensor("M", i, te.max(j, x[i, j]))
    s = te.tensor("S", i, te.sum(j, te.exp(x[i, j] - m[i])))
    return te.graph("gumbel_pick", pick, te.tensor("logp", i, x[i, pick[i]] - m[i] - te.log(s[i])))


def oracle_gumbel_pick(a: Arrays) -> Arrays:
    """pick and logp of float64 arrays."""
    pick = np.argmax(a["X"] - np.log(-np.log(a["U"])), axis=-1)
    return {"pick": pick, "logp": np.log(normalised(a["X"]))[np.arange(len(pick)), pick]}


def _uniform(a: Arrays) -> None:
    a["U"][:] = np.random.default_rng(1).uniform(1e-6, 1 - 1e-6, a["U"].shape)


PAIRS = {"batch": (64, 3), "rows": (512, 7), "columns": (1024, 11)}


def graph_pair_logsumexp(small: bool = False) -> te.Graph:
    """A weighted logsumexp over both axes of a matrix of scores, less its diagonal, as one expression."""
    batch, rows, columns = at(PAIRS, small)
    b, j, k, s, t = te.indices("b j k s t")
    x, w = te.input("X", (batch, rows, columns)), te.input("W", (columns,))
    top = te.max((s, t), x[b, s, t], where=te.ne(s, t))
    body = top + te.log(te.sum((j, k), w[k] * w[k] * te.exp(x[b, j, k] - top), where=te.ne(j, k)))
    return te.graph("pair_logsumexp", L=te.tensor(None, b, body))


def oracle_pair_logsumexp(a: Arrays) -> Arrays:
    """L of float64 arrays."""
    off = 1.0 - np.eye(*a["X"].shape[1:])
    return {"L": np.log((np.exp(a["X"]) * a["W"] ** 2 * off).sum((1, 2)))}


ATOMS = {"rows": (2048, 7), "atoms": (16384, 41)}


def graph_mean_and_entropy(small: bool = False) -> te.Graph:
    """The mean of given values under a softmax, and its entropy, from named probabilities."""
    rows, atoms = at(ATOMS, small)
    i, j = te.indices("i j")
    x, v = te.input("X", (rows, atoms)), te.input("V", (atoms,))
    logp = te.log_softmax(x)
    p = te.softmax(x)
    mean = te.tensor("mean", i, te.sum(j, p[i, j] * v[j]))
    entropy = te.tensor("entropy", i, -te.sum(j, p[i, j] * logp[i, j]))
    return te.graph("mean_and_entropy", mean, entropy)


def oracle_mean_and_entropy(a: Arrays) -> Arrays:
    """mean and entropy of float64 arrays."""
    p = normalised(a["X"])
    return {"mean": p @ a["V"], "entropy": -(p * np.log(p)).sum(-1)}


CHANNELS = {"batch": (8, 2), "groups": (8, 3), "per": (8, 2), "length": (65536, 11)}


def graph_group_signal_to_noise(small: bool = False) -> te.Graph:
    """Mean over standard deviation of each group of channels."""
    batch, groups, per, length = at(CHANNELS, small)
    b, g, c, t = te.index("b", batch), te.index("g", groups), te.index("c", per), te.index("t", length)
    x = te.input("X", (batch, groups * per, length))
    mean = te.tensor("Mean", (b, g), te.sum((c, t), x[b, per * g + c, t]) / (per * length))
    var = te.tensor("Var", (b, g), te.sum((c, t), (x[b, per * g + c, t] - mean[b, g]) ** 2) / (per * length))
    return te.graph("group_signal_to_noise", R=te.tensor(None, (b, g), mean[b, g] * te.rsqrt(var[b, g] + 1e-6)))


def oracle_group_signal_to_noise(a: Arrays) -> Arrays:
    """R of float64 arrays."""
    batch, channels, length = a["X"].shape
    x = a["X"].reshape(batch, 3, channels // 3 * length)
    return {"R": x.mean(-1) / np.sqrt(x.var(-1) + 1e-6)}


def _raised(a: Arrays) -> None:
    a["X"][0] += 100


LONG = {"rows": (256, 5), "length": (131072, 43)}


def graph_weighted_standard_score(small: bool = False) -> te.Graph:
    """Elements less their weighted mean, over their weighted deviation, as one expression."""
    rows, length = at(LONG, small)
    i, j, a, b, c, d = te.indices("i j a b c d")
    x, w = te.input("X", (rows, length)), te.input("W", (rows, length))

    def weight(k: Index) -> Expression:
        return te.abs(w[i, k])

    mean = te.sum(a, weight(a) * x[i, a]) / te.sum(b, weight(b))
    var = te.sum(c, weight(c) * (x[i, c] - mean) * (x[i, c] - mean)) / te.sum(d, weight(d))
    return te.graph("weighted_standard_score", Y=te.tensor(None, (i, j), (x[i, j] - mean) / te.sqrt(var + 1e-5)))


def oracle_weighted_standard_score(a: Arrays) -> Arrays:
    """Y of float64 arrays."""
    w = np.abs(a["W"]) / np.abs(a["W"]).sum(-1, keepdims=True)
    centred = a["X"] - (w * a["X"]).sum(-1, keepdims=True)
    return {"Y": centred / np.sqrt((w * centred**2).sum(-1, keepdims=True) + 1e-5)}


def graph_volatility(small: bool = False) -> te.Graph:
    """The deviation of differences of neighbours, by library calls."""
    rows, length = at(LONG, small)
    i, t = te.index("i", rows), te.index("t", length - 1)
    x = te.input("X", (rows, length))
    steps = te.tensor("Steps", (i, t), x[i, t + 1] - x[i, t])
    spread = te.variance(steps, ddof=1)
    return te.graph("volatility", V=te.pointwise(lambda v: te.sqrt(v * 252.0), spread))


def oracle_volatility(a: Arrays) -> Arrays:
    """V of float64 arrays."""
    return {"V": np.diff(a["X"]).std(-1, ddof=1) * np.sqrt(252)}


def graph_fourth_root(small: bool = False) -> te.Graph:
    """The fourth root of the fourth central moment."""
    rows, length = at(LONG, small)
    i, j = te.indices("i j")
    x = te.input("X", (rows, length))
    mean = te.tensor("Mean", i, te.sum(j, x[i, j]) / length)
    square = te.tensor("Square", (i, j), (x[i, j] - mean[i]) * (x[i, j] - mean[i]))
    fourth = te.tensor("Fourth", i, te.sum(j, square[i, j] * square[i, j]) / length)
    return te.graph("fourth_root", R=te.tensor(None, i, te.sqrt(te.sqrt(fourth[i]))))


def oracle_fourth_root(a: Arrays) -> Arrays:
    """R of float64 arrays."""
    return {"R": (((a["X"] - a["X"].mean(-1, keepdims=True)) ** 4).mean(-1)) ** 0.25}


def graph_masked_correlation(small: bool = False) -> te.Graph:
    """The correlation of two rows over the places where both are known; 0 where nothing is."""
    rows, length = at(LONG, small)
    i, j = te.indices("i j")
    x, y = te.input("X", (rows, length)), te.input("Y", (rows, length))
    known = te.input("known", (rows, length), "bool")
    n = te.tensor("N", i, te.sum(j, 1.0, where=known[i, j]))
    p = te.tensor("MeanX", i, te.sum(j, x[i, j], where=known[i, j]) / n[i])
    q = te.tensor("MeanY", i, te.sum(j, y[i, j], where=known[i, j]) / n[i])
    xy = te.tensor("XY", i, te.sum(j, (x[i, j] - p[i]) * (y[i, j] - q[i]), where=known[i, j]))
    xx = te.tensor("XX", i, te.sum(j, (x[i, j] - p[i]) * (x[i, j] - p[i]), where=known[i, j]))
    yy = te.tensor("YY", i, te.sum(j, (y[i, j] - q[i]) * (y[i, j] - q[i]), where=known[i, j]))
    body = te.select(n[i] > 0, xy[i] / (te.sqrt(xx[i] * yy[i]) + 1e-9), 0.0)
    return te.graph("masked_correlation", R=te.tensor(None, i, body))


def oracle_masked_correlation(a: Arrays) -> Arrays:
    """R of float64 arrays."""
    found = np.zeros(len(a["X"]))
    for i, (x, y, known) in enumerate(zip(a["X"], a["Y"], a["known"], strict=True)):
        if known.any():
            u, v = x[known] - x[known].mean(), y[known] - y[known].mean()
            found[i] = u @ v / (np.sqrt((u @ u) * (v @ v)) + 1e-9)
    return {"R": found}


def _unknown(a: Arrays) -> None:
    a["known"][0] = False
    a["known"][1, 1:], a["known"][1, 0] = False, True


LAYER = {"rows": (2048, 5), "inner": (1024, 17), "outer": (4096, 7)}


def graph_mean_absolute_product(small: bool = False) -> te.Graph:
    """A row over its mean magnitude, times gains, times a matrix, as one expression."""
    rows, inner, outer = at(LAYER, small)
    i, k, s, o = te.indices("i k s o")
    x, g, w = te.input("X", (rows, inner)), te.input("G", (inner,)), te.input("W", (inner, outer))
    size = te.sum(s, te.abs(x[i, s])) / inner + 1e-6
    return te.graph("mean_absolute_product", Y=te.tensor(None, (i, o), te.sum(k, x[i, k] / size * g[k] * w[k, o])))


def oracle_mean_absolute_product(a: Arrays) -> Arrays:
    """Y of float64 arrays."""
    return {"Y": a["X"] / (np.abs(a["X"]).mean(-1, keepdims=True) + 1e-6) * a["G"] @ a["W"]}


GRAPHS = {
    "log_mean_exp": Fresh(
        graph_log_mean_exp, oracle_log_mean_exp, ONCE,
        "maximum and rescaled sum over a prefix whose length is data", ROWS, {"N": "length"}, _some,
    ),
    "tempered_softmin": Fresh(
        graph_tempered_softmin, oracle_tempered_softmin, Form(passes={"X": 1}, stored=None, absent=("length",)),
        "minimum and rescaled sum in one pass down the columns; two numbers a column may be stored", COLUMNS,
        {}, _far,
    ),
    "smoothed_z_loss": Fresh(
        graph_smoothed_z_loss, oracle_smoothed_z_loss, ONCE,
        "maximum, sum of exp and plain sum in one pass; the label is one read", VOCABULARY, {"Y": "words"},
    ),
    "gumbel_pick": Fresh(
        graph_gumbel_pick, oracle_gumbel_pick, Form(passes={"X": 1, "U": 1}, stored=None, absent=("words",)),
        "arg-max of one body and logsumexp of another over the same words; few numbers a row may be stored",
        VOCABULARY, {}, _uniform,
    ),
    "pair_logsumexp": Fresh(
        graph_pair_logsumexp, oracle_pair_logsumexp, ONCE,
        "online logsumexp over two indices and a condition between them; the maximum ignores the weights", PAIRS,
        {}, infinite("X"),
    ),
    "mean_and_entropy": Fresh(
        graph_mean_and_entropy, oracle_mean_and_entropy, Form(passes={"X": 1}, stored=None, absent=("atoms",)),
        "the sum of (x - m) exp(x - m) is carried along when m moves, with the sum of exp; terms of one sign", ATOMS,
    ),
    "group_signal_to_noise": Fresh(
        graph_group_signal_to_noise, oracle_group_signal_to_noise, ONCE,
        "Welford over two indices of a view", CHANNELS, {}, _raised,
    ),
    "weighted_standard_score": Fresh(
        graph_weighted_standard_score, oracle_weighted_standard_score, Form(kernels=1, passes={"X": 1, "W": 1}),
        "Welford with weights; the mean is a quotient of two sums", LONG,
    ),
    "volatility": Fresh(
        graph_volatility, oracle_volatility, ONCE, "Welford of differences, which are not stored", LONG, {}, _raised,
    ),
    "fourth_root": Fresh(
        graph_fourth_root, oracle_fourth_root, ONCE,
        "power sums to the fourth about a mean that moves, as skewness to the third; rows beyond the caches", LONG,
        {}, _raised,
    ),
    "masked_correlation": Fresh(
        graph_masked_correlation, oracle_masked_correlation, Form(kernels=1, passes={"X": 1, "Y": 1, "known": 1}),
        "count, two means and three products about them, all over one domain of data", LONG, {}, _unknown,
    ),
    "mean_absolute_product": Fresh(
        graph_mean_absolute_product, oracle_mean_absolute_product, Form(kernels=1, passes={"X": 1, "W": 1}),
        "the size of the row leaves the fold, and is summed along with the product", LAYER,
    ),
}  # fmt: skip
"""The twelve, with what an expert expects."""
