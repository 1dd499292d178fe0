"""Rows about means and moments: variance, norms before products, skewness, in one pass about a running mean."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import library
from tang_egg import notation as te
from tang_egg.affine import Index
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tang_egg.library_norm import group_norm as library_group_norm
from tang_egg.notation import Array
from tests.rows_model import Form, Row


def _centred(x: Array) -> tuple[Index, Index, Array, Array]:
    """Row and column, the means of rows, and elements less their mean."""
    i, j = te.indices("i j")
    mean = te.tensor("mean", i, te.sum(j, x[i, j]) / te.size(x.shape[1]))
    return i, j, mean, te.tensor("centred", (i, j), x[i, j] - mean[i])


def variance(dtype: str, n: int, m: int) -> Graph:
    """The mean square of what remains after the mean."""
    i, j, _, centred = _centred(te.input("X", (n, m), dtype))
    return graph("variance", te.tensor("V", i, te.sum(j, centred[i, j] * centred[i, j]) / m, dtype))


def mean_and_variance(dtype: str, n: int, m: int) -> Graph:
    """Both moments as outputs."""
    i, j, mean, centred = _centred(te.input("X", (n, m), dtype))
    return graph("mean_and_variance", te.tensor("V", i, te.sum(j, centred[i, j] * centred[i, j]) / m, dtype), mean)


def covariance(dtype: str, n: int, m: int) -> Graph:
    """The mean product of two rows less their means."""
    i, j = te.indices("i j")
    x, y = te.input("X", (n, m), dtype), te.input("Y", (n, m), dtype)
    a = te.tensor("a", i, te.sum(j, x[i, j]) / m)
    b = te.tensor("b", i, te.sum(j, y[i, j]) / m)
    return graph("covariance", te.tensor("C", i, te.sum(j, (x[i, j] - a[i]) * (y[i, j] - b[i])) / m, dtype))


def skewness(dtype: str, n: int, m: int) -> Graph:
    """The third central moment over the second to the power 3/2."""
    i, j, _, d = _centred(te.input("X", (n, m), dtype))
    second = te.tensor("second", i, te.sum(j, d[i, j] * d[i, j]) / m)
    third = te.tensor("third", i, te.sum(j, d[i, j] * d[i, j] * d[i, j]) / m)
    return graph("skewness", te.tensor("S", i, third[i] * e.rsqrt(second[i]) / (second[i] + 1e-6), dtype))


def layer_norm(dtype: str, n: int, m: int) -> Graph:
    """Rows less their mean over their deviation, with gain and bias."""
    x, g, b = te.input("X", (n, m), dtype), te.input("g", (m,), dtype), te.input("b", (m,), dtype)
    return graph("layer_norm", Y=library.layer_norm(x, g, b))


def layer_norm_matmul(dtype: str, n: int, m: int, o: int) -> Graph:
    """The norm of rows, then a product."""
    i, j, _, d = _centred(te.input("X", (n, m), dtype))
    g, b, w = te.input("g", (m,), dtype), te.input("b", (m,), dtype), te.input("W", (m, o), dtype)
    var = te.tensor("var", i, te.sum(j, d[i, j] * d[i, j]) / m)
    y = te.tensor("normed", (i, j), d[i, j] * e.rsqrt(var[i] + 1e-5) * g[j] + b[j])
    c = te.index("c")
    return graph("layer_norm_matmul", te.tensor("Y", (i, c), te.sum(j, y[i, j] * w[j, c]), dtype))


def layer_norm_matmul_plain(dtype: str, n: int, m: int, o: int) -> Graph:
    """The norm of rows with a gain and no bias, then a product."""
    i, j, _, d = _centred(te.input("X", (n, m), dtype))
    g, w = te.input("g", (m,), dtype), te.input("W", (m, o), dtype)
    var = te.tensor("var", i, te.sum(j, d[i, j] * d[i, j]) / m)
    y = te.tensor("normed", (i, j), d[i, j] * e.rsqrt(var[i] + 1e-5) * g[j])
    c = te.index("c")
    return graph("layer_norm_matmul_plain", te.tensor("Y", (i, c), te.sum(j, y[i, j] * w[j, c]), dtype))


def group_norm(dtype: str, n: int, groups: int, m: int) -> Graph:
    """The norm of each group of channels, a group's channels and places along one axis."""
    i, q, j = te.indices("i q j")
    x = te.input("X", (n, groups, m), dtype)
    g, b = te.input("g", (groups, m), dtype), te.input("b", (groups, m), dtype)
    mean = te.tensor("mean", (i, q), te.sum(j, x[i, q, j]) / m)
    d = te.tensor("d", (i, q, j), x[i, q, j] - mean[i, q])
    var = te.tensor("var", (i, q), te.sum(j, d[i, q, j] * d[i, q, j]) / m)
    y = d[i, q, j] * e.rsqrt(var[i, q] + 1e-5) * g[q, j] + b[q, j]
    return graph("group_norm", te.tensor("Y", (i, q, j), y, dtype))


def group_norm_channels(dtype: str, n: int, c: int, s: int, groups: int) -> Graph:
    """Channels in groups, each group's mean and deviation taken over its channels and all places."""
    x, g, b = te.input("X", (n, c, s), dtype), te.input("g", (c,), dtype), te.input("b", (c,), dtype)
    return graph("group_norm_channels", Y=library_group_norm(x, groups, g, b))


def group_norm_matmul(dtype: str, n: int, groups: int, m: int, o: int) -> Graph:
    """The norm of each group of channels, then a product within the group."""
    i, q, j, c = te.indices("i q j c")
    x, w = te.input("X", (n, groups, m), dtype), te.input("W", (groups, m, o), dtype)
    g, b = te.input("g", (groups, m), dtype), te.input("b", (groups, m), dtype)
    mean = te.tensor("mean", (i, q), te.sum(j, x[i, q, j]) / m)
    d = te.tensor("d", (i, q, j), x[i, q, j] - mean[i, q])
    var = te.tensor("var", (i, q), te.sum(j, d[i, q, j] * d[i, q, j]) / m)
    y = te.tensor("normed", (i, q, j), d[i, q, j] * e.rsqrt(var[i, q] + 1e-5) * g[q, j] + b[q, j])
    return graph("group_norm_matmul", te.tensor("Y", (i, q, c), te.sum(j, y[i, q, j] * w[q, j, c]), dtype))


def rms_norm(dtype: str, n: int, m: int) -> Graph:
    """Rows over their root mean square."""
    x, g = te.input("X", (n, m), dtype), te.input("g", (m,), dtype)
    return graph("rms_norm", Y=library.rms_norm(x, g))


def rms_norm_matmul(dtype: str, n: int, m: int, o: int) -> Graph:
    """Rows over their root mean square, then a product."""
    i, j, c = te.indices("i j c")
    x, g, w = te.input("X", (n, m), dtype), te.input("g", (m,), dtype), te.input("W", (m, o), dtype)
    square = te.tensor("square", i, te.sum(j, x[i, j] * x[i, j]) / m)
    y = te.tensor("normed", (i, j), x[i, j] * e.rsqrt(square[i] + 1e-6) * g[j])
    return graph("rms_norm_matmul", te.tensor("Y", (i, c), te.sum(j, y[i, j] * w[j, c]), dtype))


CENTRED = frozenset({"cascade.pass"})
WELFORD = Form(1, {"X": 1}, (), ((4, 2),), CENTRED)
FUSED = Form(1, {"X": 1, "W": 1}, (), (), CENTRED | {"fold.hoist"})
LONG, SHORT = {"n": 16, "m": 1 << 20}, {"n": 3, "m": 7}
PRODUCT = {"n": 8, "m": 1 << 18, "o": 16}
ROWS = {
    "variance": Row(variance, WELFORD, LONG, SHORT),
    "mean_and_variance": Row(mean_and_variance, WELFORD, LONG, SHORT),
    "covariance": Row(covariance, Form(1, {"X": 1, "Y": 1}, (), (), CENTRED), LONG, SHORT),
    "skewness": Row(skewness, Form(1, {"X": 1}, (), (), CENTRED), LONG, SHORT),
    "layer_norm": Row(layer_norm, WELFORD, LONG, SHORT),
    "layer_norm_matmul": Row(layer_norm_matmul, FUSED, PRODUCT, {**SHORT, "o": 5}),
    "layer_norm_matmul_plain": Row(layer_norm_matmul_plain, FUSED, PRODUCT, {**SHORT, "o": 5}),
    "group_norm": Row(group_norm, WELFORD, {"n": 2, "groups": 8, "m": 1 << 18}, {"n": 2, "groups": 3, "m": 7}),
    "group_norm_channels": Row(
        group_norm_channels, Form(1, {"X": 1}, (), (), CENTRED), {"n": 2, "c": 8, "s": 1 << 18, "groups": 4},
        {"n": 2, "c": 6, "s": 5, "groups": 3},
    ),
    "group_norm_matmul": Row(
        group_norm_matmul, FUSED, {"n": 4, "groups": 4, "m": 1 << 18, "o": 16}, {"n": 3, "groups": 2, "m": 7, "o": 5},
    ),
    "rms_norm": Row(rms_norm, Form(1, {"X": 1}, (), ((1, 0),)), LONG, SHORT),
    "rms_norm_matmul": Row(
        rms_norm_matmul, Form(1, {"X": 1, "W": 1}, (), ((2, 0),), frozenset({"fold.hoist"})),
        {"n": 256, "m": 768, "o": 512}, {**SHORT, "o": 5},
    ),
}  # fmt: skip
