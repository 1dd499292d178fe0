"""Moments, gates, order, windows and scans among the further graphs of `tests.further`."""

from __future__ import annotations

import tang_egg as te
from tang_egg.ir import Graph
from tests.rows_model import Form, Row


def correlation(dtype: str, n: int, m: int) -> Graph:
    """The correlation of paired rows, as its textbook formula in six tensors."""
    x, y = te.input("X", (n, m), dtype), te.input("Y", (n, m), dtype)
    i, j = te.indices("i j")
    mx = te.tensor("mx", i, te.sum(j, x[i, j]) / m)
    my = te.tensor("my", i, te.sum(j, y[i, j]) / m)
    dx = te.tensor("dx", (i, j), x[i, j] - mx[i])
    dy = te.tensor("dy", (i, j), y[i, j] - my[i])
    sxy = te.tensor("sxy", i, te.sum(j, dx[i, j] * dy[i, j]))
    scale = te.sqrt(te.sum(j, dx[i, j] * dx[i, j]) * te.sum(j, dy[i, j] * dy[i, j]) + 1e-6)
    return te.graph("correlation", te.tensor("r", i, sxy[i] / scale))


def kurtosis(dtype: str, n: int, m: int) -> Graph:
    """The fourth centred moment over the squared variance, by powers of centred elements."""
    x = te.input("X", (n, m), dtype)
    i, j = te.indices("i j")
    mean = te.tensor("mean", i, te.sum(j, x[i, j]) / m)
    d = x[i, j] - mean[i]
    var = te.tensor("var", i, te.sum(j, d**2) / m)
    return te.graph("kurtosis", te.tensor("y", i, te.sum(j, d**4) / m / (var[i] ** 2 + 1e-6) - 3.0))


def weighted_variance(dtype: str, n: int, m: int) -> Graph:
    """The variance of rows in which each element counts a given number of times."""
    x, w = te.input("X", (n, m), dtype), te.input("W", (n, m), "u8")
    i, j = te.indices("i j")
    count = te.tensor("count", (i, j), te.cast(w[i, j], "f32"))
    total = te.tensor("total", i, te.sum(j, count[i, j]) + 1e-3)
    mean = te.tensor("mean", i, te.sum(j, count[i, j] * x[i, j]) / total[i])
    d = x[i, j] - mean[i]
    return te.graph("weighted_variance", te.tensor("y", i, te.sum(j, count[i, j] * d * d) / total[i]))


def third_cross_moment(dtype: str, n: int, m: int) -> Graph:
    """The mean product of three centred variables; the means by the library, the product as one expression."""
    x, y, z = (te.input(a, (n, m), dtype) for a in "XYZ")
    mx, my, mz = te.mean(x), te.mean(y), te.mean(z)
    i, j = te.indices("i j")
    product = (x[i, j] - mx[i]) * (y[i, j] - my[i]) * (z[i, j] - mz[i])
    return te.graph("third_cross_moment", te.tensor("c", i, te.sum(j, product) / m))


def zscore_projection(dtype: str, n: int, m: int, k: int) -> Graph:
    """Rows to mean 0 and variance 1, then a product, whose weights lie with outputs first."""
    x, w = te.input("X", (n, m), dtype), te.input("W", (k, m), dtype)
    mean, var = te.mean(x), te.variance(x)
    i, j, o = te.indices("i j o")
    z = te.tensor("Z", (i, j), (x[i, j] - mean[i]) / te.sqrt(var[i] + 1e-5))
    return te.graph("zscore_projection", te.tensor("y", (i, o), te.sum(j, z[i, j] * w[o, j])))


def highway(dtype: str, t: int, c: int) -> Graph:
    """A gated recurrence h = z h + (1 - z) u, whose output is gated against its input."""
    gate, out, x = (te.input(a, (t, c), dtype) for a in ("gate", "out", "x"))
    i, k = te.indices("i k")
    z = te.tensor("z", (i, k), te.sigmoid(gate[i, k]))
    u = te.tensor("u", (i, k), (1.0 - z[i, k]) * te.tanh(x[i, k]))
    h = te.gated_scan(z, u)
    o = te.tensor("o", (i, k), te.sigmoid(out[i, k]))
    return te.graph("highway", te.tensor("y", (i, k), o[i, k] * h[i, k] + (1.0 - o[i, k]) * x[i, k]))


def reglu(dtype: str, n: int, k: int, m: int) -> Graph:
    """relu(x A + a) · (x B + b) for channels-first activations and weights with outputs first."""
    x, wa, wb = te.input("X", (k, n), dtype), te.input("A", (m, k), dtype), te.input("B", (m, k), dtype)
    a, b = te.input("a", (m,), dtype), te.input("b", (m,), dtype)
    i, c, o = te.indices("i c o")
    gate = te.tensor("gate", (o, i), te.sum(c, wa[o, c] * x[c, i]) + a[o])
    up = te.tensor("up", (o, i), te.sum(c, wb[o, c] * x[c, i]) + b[o])
    return te.graph("reglu", te.tensor("y", (o, i), te.relu(gate[o, i]) * up[o, i]))


def shared_expert(dtype: str, n: int, d: int, x: int, h: int) -> Graph:
    """Two of `x` experts for each row, and one that all rows share."""
    rows, logits = te.input("X", (n, d), dtype), te.input("logits", (n, x), dtype)
    w_up, w_down = te.input("w_up", (x, d, h), dtype), te.input("w_down", (x, h, d), dtype)
    s_up, s_down = te.input("s_up", (d, h), dtype), te.input("s_down", (h, d), dtype)
    routed = te.moe(rows, logits, w_up, w_down, 2)
    i, j, k = te.indices("i j k")
    hidden = te.tensor("hidden", (i, k), te.silu(te.sum(j, rows[i, j] * s_up[j, k])))
    total = routed[i, j] + te.sum(k, hidden[i, k] * s_down[k, j])
    return te.graph("shared_expert", te.tensor("y", (i, j), total))


def nearest_centre(dtype: str, n: int, k: int, d: int) -> Graph:
    """To which of `k` centres each point belongs, and how far that one is; distances are written as a tensor."""
    x, centre = te.input("X", (n, d), dtype), te.input("C", (k, d), dtype)
    i, a, c = te.indices("i a c")
    diff = x[i, c] - centre[a, c]
    far = te.tensor("far", (i, a), te.sum(c, diff * diff))
    label = te.tensor("label", i, te.argmin(a, far[i, a]))
    return te.graph("nearest_centre", label, te.tensor("distance", i, te.min(a, far[i, a])))


def three_neighbours(dtype: str, n: int, m: int, d: int) -> Graph:
    """A regression by the three nearest points, weighted by softmin of their distances."""
    x, points, y = te.input("X", (n, d), dtype), te.input("P", (m, d), dtype), te.input("Y", (m,), dtype)
    i, j, c = te.indices("i j c")
    diff = x[i, c] - points[j, c]
    near, where = te.top_k(te.tensor("far", (i, j), te.sum(c, diff * diff)), 3, largest=False)
    k = te.index("k", 3)
    w = te.softmax(te.tensor("minus", (i, k), -near[i, k]))
    return te.graph("three_neighbours", te.tensor("y", i, te.sum(k, w[i, k] * y[where[i, k]])))


def soft_pool(dtype: str, n: int, c: int, h: int) -> Graph:
    """log Σ exp over windows of 3 by 3 with stride 2 and padding 1, channels last."""
    x = te.input("X", (n, h, h, c), dtype)
    b, ch = te.indices("b ch")
    y, z, u, v = (te.index(a, s) for a, s in (("y", (h + 1) // 2), ("z", (h + 1) // 2), ("u", 3), ("v", 3)))
    r, s = 2 * y + u - 1, 2 * z + v - 1
    inside = [r >= 0, r < h, s >= 0, s < h]
    top = te.tensor("top", (b, y, z, ch), te.max((u, v), x[b, r, s, ch], where=inside))
    total = te.sum((u, v), te.exp(x[b, r, s, ch] - top[b, y, z, ch]), where=inside)
    return te.graph("soft_pool", te.tensor("pooled", (b, y, z, ch), top[b, y, z, ch] + te.log(total)))


def batch_group_norm(dtype: str, n: int, s: int, g: int, w: int) -> Graph:
    """A norm over batch, space and the `w` channels of a group; channels last, statistics as tensors."""
    x = te.input("X", (n, s, g * w), dtype)
    gain = te.input("gain", (g * w,), dtype)
    b, p = te.indices("b p")
    a, r = te.index("a", g), te.index("r", w)
    count = n * s * w
    mean = te.tensor("mean", a, te.sum((b, p, r), x[b, p, a * w + r]) / count)
    d = x[b, p, a * w + r] - mean[a]
    var = te.tensor("var", a, te.sum((b, p, r), d * d) / count)
    y = d / te.sqrt(var[a] + 1e-5) * gain[a * w + r]
    return te.graph("batch_group_norm", te.tensor("Y", (b, p, a, r), y))


def segment_maximum(dtype: str, n: int, s: int, d: int) -> Graph:
    """The largest gated row element of each segment of sorted ids, written as a fold over all rows."""
    x, gate = te.input("X", (n, d), dtype), te.input("gate", (n,), dtype)
    ids = te.input("ids", (n,), "i32", sorted=True)
    t, c = te.indices("t c")
    g = te.index("g", s)
    gated = te.tensor("gated", (t, c), te.sigmoid(gate[t]) * x[t, c])
    top = te.tensor("top", (g, c), te.max(t, gated[t, c], where=te.eq(ids[t], g)))
    return te.graph("segment_maximum", top)


def drawdown(dtype: str, n: int, t: int) -> Graph:
    """The largest fall of each row below its highest value so far."""
    x = te.input("X", (n, t), dtype)
    i = te.index("i", n)
    a, b = te.index("a", t), te.index("b", t)
    peak = te.tensor("peak", (i, a), te.max(b, x[i, b], where=b <= a))
    return te.graph("drawdown", te.tensor("y", i, te.max(a, peak[i, a] - x[i, a])))


def _one(*inputs: str) -> Form:
    """One kernel that stores nothing else and reads each of `inputs` by one fold."""
    return Form(kernels=1, passes=dict.fromkeys(inputs, 1))


FOLDS: dict[str, Row] = {
    "correlation": Row(correlation, _one("X", "Y"), {"n": 64, "m": 2**20}, {"n": 5, "m": 13}),
    "kurtosis": Row(kurtosis, _one("X"), {"n": 64, "m": 2**20}, {"n": 5, "m": 13}),
    "weighted_variance": Row(weighted_variance, _one("X", "W"), {"n": 64, "m": 2**20}, {"n": 5, "m": 13}),
    "third_cross_moment": Row(third_cross_moment, _one("X", "Y", "Z"), {"n": 64, "m": 2**20}, {"n": 5, "m": 13}),
    "zscore_projection": Row(
        zscore_projection, _one("X", "W"), {"n": 2048, "m": 1024, "k": 256}, {"n": 5, "m": 13, "k": 3}
    ),
    "highway": Row(highway, Form(kernels=1, passes={"gate": 1}, scans=1), {"t": 4096, "c": 1024}, {"t": 11, "c": 3}),
    "reglu": Row(reglu, _one("X", "A", "B"), {"n": 2048, "k": 512, "m": 2048}, {"n": 5, "k": 7, "m": 3}),
    "shared_expert": Row(
        shared_expert,
        Form(kernels=3, stored=None, gathered=("w_up", "w_down")),
        {"n": 512, "d": 512, "x": 8, "h": 1024},
        {"n": 5, "d": 3, "x": 4, "h": 7},
    ),
    "nearest_centre": Row(nearest_centre, _one("X", "C"), {"n": 2**17, "k": 256, "d": 32}, {"n": 7, "k": 5, "d": 3}),
    "three_neighbours": Row(
        three_neighbours,
        Form(passes={"P": 1}, stored=None, absent=("m",)),
        {"n": 8192, "m": 16384, "d": 16},
        {"n": 5, "m": 11, "d": 3},
    ),
    "soft_pool": Row(soft_pool, _one("X"), {"n": 8, "c": 64, "h": 112}, {"n": 2, "c": 3, "h": 7}),
    "batch_group_norm": Row(
        batch_group_norm,
        Form(passes={"X": 1}, stored=None, absent=("s",)),
        {"n": 16, "s": 4096, "g": 8, "w": 8},
        {"n": 3, "s": 7, "g": 2, "w": 5},
    ),
    "segment_maximum": Row(
        segment_maximum,
        Form(kernels=1, ranged=("X", "gate")),
        {"n": 2**18, "s": 1024, "d": 64},
        {"n": 17, "s": 5, "d": 3},
    ),
    "drawdown": Row(drawdown, Form(kernels=1, passes={"X": 1}, scans=1), {"n": 64, "t": 2**20}, {"n": 5, "t": 13}),
}
