"""Ten naive graphs of moments, softmax and its relatives, and gradients of norms."""

from __future__ import annotations

import numpy as np

import tang_egg as te
from tests.further_second_model import Arrays, Fresh, at, normalised
from tests.rows_model import Form

ROWS = {"rows": (2048, 5), "length": (32768, 17)}


def _softmax(s: np.ndarray) -> np.ndarray:
    return np.asarray(normalised(s))


def graph_softmax_gradient(small: bool = False) -> te.Graph:
    """The gradient of softmax by its argument, from the argument and the gradient of the result."""
    rows, length = at(ROWS, small)
    i, j = te.indices("i j")
    x, g = te.input("X", (rows, length)), te.input("G", (rows, length))
    p = te.softmax(x)
    dot = te.tensor("dot", i, te.sum(j, p[i, j] * g[i, j]))
    return te.graph("softmax_gradient", dX=te.tensor(None, (i, j), p[i, j] * (g[i, j] - dot[i])))


def oracle_softmax_gradient(a: Arrays) -> Arrays:
    """dX of float64 arrays."""
    p = _softmax(a["X"])
    return {"dX": p * (a["G"] - (p * a["G"]).sum(-1, keepdims=True))}


def graph_layer_norm_gradient(small: bool = False) -> te.Graph:
    """The gradient of LayerNorm with gains by its argument, statistics included, tensor by tensor."""
    rows, length = at(ROWS, small)
    i, j = te.indices("i j")
    x, g, gain = te.input("X", (rows, length)), te.input("G", (rows, length)), te.input("gain", (length,))
    mean = te.tensor("mean", i, te.sum(j, x[i, j]) / length)
    var = te.tensor("var", i, te.sum(j, (x[i, j] - mean[i]) ** 2) / length)
    inverse = te.tensor("inverse", i, te.rsqrt(var[i] + 1e-5))
    hat = te.tensor("hat", (i, j), (x[i, j] - mean[i]) * inverse[i])
    dhat = te.tensor("dhat", (i, j), g[i, j] * gain[j])
    first = te.tensor("first", i, te.sum(j, dhat[i, j]) / length)
    second = te.tensor("second", i, te.sum(j, dhat[i, j] * hat[i, j]) / length)
    body = inverse[i] * (dhat[i, j] - first[i] - hat[i, j] * second[i])
    return te.graph("layer_norm_gradient", dX=te.tensor(None, (i, j), body))


def oracle_layer_norm_gradient(a: Arrays) -> Arrays:
    """dX of float64 arrays."""
    x = a["X"] - a["X"].mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
    hat, dhat = x * inverse, a["G"] * a["gain"]
    return {"dX": inverse * (dhat - dhat.mean(-1, keepdims=True) - hat * (dhat * hat).mean(-1, keepdims=True))}


MIDDLE = {"batch": (16, 2), "points": (16384, 17), "channels": (64, 3)}


def graph_weighted_middle_variance(small: bool = False) -> te.Graph:
    """The variance along the middle axis under weights |w| that all channels share, as quotients of sums."""
    batch, points, channels = at(MIDDLE, small)
    b, n, c = te.indices("b n c")
    x, w = te.input("X", (batch, points, channels)), te.input("W", (batch, points))
    weight = te.tensor("weight", (b, n), te.abs(w[b, n]))
    total = te.tensor("total", b, te.sum(n, weight[b, n]))
    mean = te.tensor("mean", (b, c), te.sum(n, weight[b, n] * x[b, n, c]) / total[b])
    away = te.tensor("away", (b, n, c), x[b, n, c] - mean[b, c])
    body = te.sum(n, weight[b, n] * away[b, n, c] * away[b, n, c]) / total[b]
    return te.graph("weighted_middle_variance", V=te.tensor(None, (b, c), body))


def oracle_weighted_middle_variance(a: Arrays) -> Arrays:
    """V of float64 arrays."""
    w = np.abs(a["W"])[..., None]
    mean = (w * a["X"]).sum(1, keepdims=True) / w.sum(1, keepdims=True)
    return {"V": (w * (a["X"] - mean) ** 2).sum(1) / w.sum(1)}


def graph_difference_kurtosis(small: bool = False) -> te.Graph:
    """The kurtosis of differences of paired rows, less that of a normal variable."""
    rows, length = at(ROWS, small)
    i, j = te.indices("i j")
    x, y = te.input("X", (rows, length)), te.input("Y", (rows, length))
    d = te.tensor("d", (i, j), x[i, j] - y[i, j])
    mean = te.tensor("mean", i, te.sum(j, d[i, j]) / length)
    second = te.tensor("second", i, te.sum(j, (d[i, j] - mean[i]) ** 2) / length)
    fourth = te.tensor("fourth", i, te.sum(j, (d[i, j] - mean[i]) ** 4) / length)
    return te.graph("difference_kurtosis", K=te.tensor(None, i, fourth[i] / (second[i] * second[i]) - 3.0))


def oracle_difference_kurtosis(a: Arrays) -> Arrays:
    """K of float64 arrays."""
    d = a["X"] - a["Y"]
    d = d - d.mean(-1, keepdims=True)
    return {"K": (d**4).mean(-1) / (d**2).mean(-1) ** 2 - 3}


def graph_covariance(small: bool = False) -> te.Graph:
    """The sample covariance of two inputs along the middle axis, the mean of one removed from that one only."""
    batch, points, channels = at(MIDDLE, small)
    b, n, c = te.indices("b n c")
    x, y = te.input("X", (batch, points, channels)), te.input("Y", (batch, points, channels))
    mx, my = te.mean(x, 1), te.mean(y, 1)
    body = te.sum(n, (x[b, n, c] - mx[b, c]) * (y[b, n, c] - my[b, c])) / (points - 1)
    return te.graph("covariance", C=te.tensor(None, (b, c), body))


def oracle_covariance(a: Arrays) -> Arrays:
    """C of float64 arrays."""
    x, y = (a[n] - a[n].mean(1, keepdims=True) for n in "XY")
    return {"C": (x * y).sum(1) / (x.shape[1] - 1)}


SEGMENTS = {"points": (65536, 43), "segments": (512, 7)}


def graph_segment_softmax(small: bool = False) -> te.Graph:
    """softmax within segments of points whose ids are sorted: edges of a graph by their target."""
    points, segments = at(SEGMENTS, small)
    s, n = te.index("s", segments), te.index("n", points)
    x, ids = te.input("X", (points,)), te.input("ids", (points,), "i64", sorted=True)
    mine = te.eq(ids[n], te.value(s))
    m = te.tensor("m", s, te.max(n, x[n], where=mine))
    z = te.tensor("z", s, te.sum(n, te.exp(x[n] - m[s]), where=mine))
    k = te.index("k", points)
    return te.graph("segment_softmax", P=te.tensor(None, k, te.exp(x[k] - m[ids[k]]) / z[ids[k]]))


def oracle_segment_softmax(a: Arrays) -> Arrays:
    """P of float64 arrays."""
    same = a["ids"][:, None] == a["ids"]
    return {"P": np.diagonal(normalised(np.broadcast_to(a["X"], same.shape), same)).copy()}


PAIRS = {"points": (4096, 11), "width": (32, 3)}


def graph_hardest_pairs(small: bool = False) -> te.Graph:
    """The triplet loss of each point: its furthest point of the same label, its nearest of another."""
    points, width = at(PAIRS, small)
    i, j, c = te.indices("i j c")
    x, label = te.input("X", (points, width)), te.input("label", (points,), "i64")
    diff = x[i, c] - x[j, c]
    far = te.tensor("far", (i, j), te.sum(c, diff * diff))
    furthest = te.tensor("furthest", i, te.max(j, far[i, j], where=te.eq(label[i], label[j])))
    nearest = te.tensor("nearest", i, te.min(j, far[i, j], where=te.ne(label[i], label[j])))
    return te.graph("hardest_pairs", loss=te.tensor(None, i, te.relu(furthest[i] - nearest[i] + 0.2)))


def oracle_hardest_pairs(a: Arrays) -> Arrays:
    """loss of float64 arrays."""
    far = ((a["X"][:, None] - a["X"]) ** 2).sum(-1)
    same = a["label"][:, None] == a["label"]
    furthest, nearest = np.where(same, far, -np.inf).max(-1), np.where(same, np.inf, far).min(-1)
    return {"loss": np.maximum(furthest - nearest + 0.2, 0)}


def graph_cross_entropy_pair(small: bool = False) -> te.Graph:
    """Distillation: the cross-entropy of softmax of one row from softmax of another at half the temperature."""
    rows, length = at(ROWS, small)
    i, j = te.indices("i j")
    x, y = te.input("X", (rows, length)), te.input("Y", (rows, length))
    teacher = te.softmax(te.pointwise(lambda v: 0.5 * v, y))
    student = te.log_softmax(te.pointwise(lambda v: 0.5 * v, x))
    body = -4.0 * te.sum(j, teacher[i, j] * student[i, j])
    return te.graph("cross_entropy_pair", L=te.tensor(None, i, body))


def oracle_cross_entropy_pair(a: Arrays) -> Arrays:
    """L of float64 arrays."""
    return {"L": -4 * (_softmax(a["Y"] / 2) * np.log(_softmax(a["X"] / 2))).sum(-1)}


SQUARE = {"rows": (512, 5), "inner": (512, 7), "columns": (512, 3)}


def graph_log_product(small: bool = False) -> te.Graph:
    """A product of matrices of logarithms: log of the sum over j of exp(A[i, j] + B[j, k]), from the greatest sum."""
    rows, inner, columns = at(SQUARE, small)
    i, j, k = te.indices("i j k")
    a, b = te.input("A", (rows, inner)), te.input("B", (inner, columns))
    t = te.tensor("T", (i, j, k), a[i, j] + b[j, k])
    m = te.tensor("m", (i, k), te.max(j, t[i, j, k]))
    z = te.tensor("z", (i, k), te.sum(j, te.exp(t[i, j, k] - m[i, k])))
    return te.graph("log_product", L=te.tensor(None, (i, k), m[i, k] + te.log(z[i, k])))


def oracle_log_product(a: Arrays) -> Arrays:
    """L of float64 arrays."""
    return {"L": np.log(np.einsum("ij,jk->ik", np.exp(a["A"]), np.exp(a["B"])))}


def graph_scaled_norm(small: bool = False) -> te.Graph:
    """The Euclidean norm of each row about its greatest magnitude, as in a careful library."""
    rows, length = at(ROWS, small)
    i, j = te.indices("i j")
    x = te.input("X", (rows, length))
    top = te.tensor("top", i, te.max(j, te.abs(x[i, j])))
    total = te.tensor("total", i, te.sum(j, (x[i, j] / top[i]) ** 2))
    return te.graph("scaled_norm", N=te.tensor(None, i, top[i] * te.sqrt(total[i])))


def oracle_scaled_norm(a: Arrays) -> Arrays:
    """N of float64 arrays."""
    return {"N": np.sqrt((a["X"] ** 2).sum(-1))}


def _raised(a: Arrays) -> None:
    a["X"] += np.float32(30.0)


GRAPHS = {
    "softmax_gradient": Fresh(
        graph_softmax_gradient, oracle_softmax_gradient, Form(kernels=1, passes={"X": 1, "G": 1}),
        "the dot product is carried along with the normaliser; the map reads both again", ROWS,
    ),
    "layer_norm_gradient": Fresh(
        graph_layer_norm_gradient, oracle_layer_norm_gradient, Form(kernels=1, passes={"X": 1, "G": 1}),
        "mean, variance and a covariance are one pass; the map reads both again", ROWS, {}, _raised,
    ),
    "weighted_middle_variance": Fresh(
        graph_weighted_middle_variance, oracle_weighted_middle_variance,
        Form(kernels=1, passes={"X": 1, "W": 1}), "Welford with weights over an axis that is not the last", MIDDLE,
    ),
    "difference_kurtosis": Fresh(
        graph_difference_kurtosis, oracle_difference_kurtosis, Form(kernels=1, passes={"X": 1, "Y": 1}),
        "power sums to the fourth about a mean that moves", ROWS, {}, _raised,
    ),
    "covariance": Fresh(
        graph_covariance, oracle_covariance, Form(kernels=1, passes={"X": 1, "Y": 1}),
        "the product of two centred factors is carried with both means", MIDDLE, {}, _raised,
    ),
    "segment_softmax": Fresh(
        graph_segment_softmax, oracle_segment_softmax, Form(passes={"X": 1}, stored=None, ranged=("X",),
                                                            absent=("points",)),
        "one pass over the range of each segment, then a map; both statistics are stored", SEGMENTS,
        {"ids": "segments"},
    ),
    "hardest_pairs": Fresh(
        graph_hardest_pairs, oracle_hardest_pairs, Form(kernels=1, passes={"X": 1, "label": 1}),
        "two folds over two domains of one space run together, so that no distance is made twice or stored", PAIRS,
        {"label": 3},
    ),
    "cross_entropy_pair": Fresh(
        graph_cross_entropy_pair, oracle_cross_entropy_pair, Form(kernels=1, passes={"X": 1, "Y": 1}),
        "two normalisers and a weighted sum of one under the other", ROWS,
    ),
    "log_product": Fresh(
        graph_log_product, oracle_log_product, Form(kernels=1, passes={"A": 1, "B": 1}),
        "online logsumexp whose body is a sum of two reads", SQUARE,
    ),
    "scaled_norm": Fresh(
        graph_scaled_norm, oracle_scaled_norm, Form(kernels=1, passes={"X": 1}),
        "a sum of squares about a maximum that grows is carried by the square of a ratio", ROWS,
    ),
}  # fmt: skip
"""The ten, with what an expert expects."""
