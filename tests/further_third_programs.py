"""Nine naive graphs with scans and gates, quantised weights, an optimizer, windows and norms beside products."""

from __future__ import annotations

import numpy as np

import tang_egg as te
from tests.further_second_model import Arrays, Fresh, at, normalised
from tests.rows_model import Form

TRACKS = {"tracks": (512, 3), "steps": (4096, 43)}


def graph_running_argmax(small: bool = False) -> te.Graph:
    """The greatest element so far and where it was first seen."""
    tracks, steps = at(TRACKS, small)
    b, t, s = te.index("b", tracks), te.index("t", steps), te.index("s", steps)
    x = te.input("X", (tracks, steps))
    top = te.tensor("top", (b, t), te.max(s, x[b, s], where=s <= t))
    where = te.tensor("where", (b, t), te.argmax(s, x[b, s], where=s <= t))
    return te.graph("running_argmax", top, where)


def oracle_running_argmax(a: Arrays) -> Arrays:
    """top and where of float64 arrays."""
    x = a["X"]
    return {
        "top": np.maximum.accumulate(x, 1),
        "where": np.stack([x[:, : t + 1].argmax(1) for t in range(x.shape[1])], 1),
    }


def graph_least_cost(small: bool = False) -> te.Graph:
    """The least cost of a restart at some step before and of what was paid since: min over s of B[s] + A[t] - A[s]."""
    tracks, steps = at(TRACKS, small)
    b, t, s = te.index("b", tracks), te.index("t", steps), te.index("s", steps)
    paid, restart = te.input("A", (tracks, steps)), te.input("B", (tracks, steps))
    body = te.min(s, restart[b, s] + paid[b, t] - paid[b, s], where=s <= t)
    return te.graph("least_cost", C=te.tensor(None, (b, t), body))


def oracle_least_cost(a: Arrays) -> Arrays:
    """C of float64 arrays."""
    return {"C": a["A"] + np.minimum.accumulate(a["B"] - a["A"], axis=1)}


GATED = {"batch": (4, 2), "steps": (4096, 17), "channels": (256, 3)}


def graph_two_gates(small: bool = False) -> te.Graph:
    """A cell with gates to forget and to write, and a normaliser with the same gates that divides what leaves it."""
    batch, steps, channels = at(GATED, small)
    b, t, c = te.indices("b t c")
    f, i, u, o = (te.input(x, (batch, steps, channels)) for x in "FIUO")
    keep = te.tensor("keep", (b, t, c), te.sigmoid(f[b, t, c]))
    write = te.tensor("write", (b, t, c), te.exp(te.minimum(i[b, t, c], 0.0)))
    new = te.tensor("new", (b, t, c), write[b, t, c] * te.tanh(u[b, t, c]))
    state, norm = te.gated_scan(keep, new, axis=1), te.gated_scan(keep, write, axis=1)
    body = te.sigmoid(o[b, t, c]) * state[b, t, c] / te.maximum(te.abs(norm[b, t, c]), 1.0)
    return te.graph("two_gates", H=te.tensor(None, (b, t, c), body))


def oracle_two_gates(a: Arrays) -> Arrays:
    """H of float64 arrays."""
    keep, out = 1 / (1 + np.exp(-a["F"])), 1 / (1 + np.exp(-a["O"]))
    write, found, h, n = np.exp(np.minimum(a["I"], 0)), np.zeros(a["F"].shape), 0.0, 0.0
    for t in range(keep.shape[1]):
        h = keep[:, t] * h + write[:, t] * np.tanh(a["U"][:, t])
        n = keep[:, t] * n + write[:, t]
        found[:, t] = out[:, t] * h / np.maximum(np.abs(n), 1)
    return {"H": found}


WORDS = {"rows": (512, 5), "words": (4096, 19)}


def graph_nucleus(small: bool = False) -> te.Graph:
    """Of logits in falling order, the probabilities before which less than nine tenths stand, normalised anew."""
    rows, words = at(WORDS, small)
    i, j = te.indices("i j")
    p = te.softmax(te.input("X", (rows, words)))
    before = te.cumulative_sum(p, exclusive=True)
    kept = te.tensor("kept", (i, j), te.select(before[i, j] < 0.9, p[i, j], 0.0))
    return te.graph("nucleus", N=te.tensor(None, (i, j), kept[i, j] / te.sum(j, kept[i, j])))


def oracle_nucleus(a: Arrays) -> Arrays:
    """N of float64 arrays."""
    p = np.asarray(normalised(a["X"]))
    kept = np.where(np.cumsum(p, 1) - p < 0.9, p, 0)
    return {"N": kept / kept.sum(1, keepdims=True)}


def _falling(a: Arrays) -> None:
    a["X"][:] = -np.sort(-a["X"], axis=-1)


HEADS = {"heads": (4, 2), "steps": (2048, 13), "width": (64, 3)}


def graph_decayed_products(small: bool = False) -> te.Graph:
    """Gated linear attention, quadratic: products decayed by the gates between, normalised by the size of their sum."""
    heads, steps, width = at(HEADS, small)
    h, i, j, d = te.indices("h i j d")
    q, k, v = (te.input(x, (heads, steps, width)) for x in "QKV")
    gate, into = te.input("C", (heads, steps)), te.input("I", (heads, steps))
    decay = te.exp(gate[h, i] - gate[h, j] + into[h, j])
    w = te.tensor("W", (h, i, j), te.select(te.holds(j <= i), te.sum(d, q[h, i, d] * k[h, j, d]) * decay, 0.0))
    norm = te.tensor("norm", (h, i), te.maximum(te.abs(te.sum(j, w[h, i, j])), 1.0))
    y = te.tensor("Y", (h, i, d), te.sum(j, w[h, i, j] / norm[h, i] * v[h, j, d]))
    return te.graph("decayed_products", y)


def oracle_decayed_products(a: Arrays) -> Arrays:
    """Y of float64 arrays."""
    i, j = np.ogrid[: a["K"].shape[1], : a["K"].shape[1]]
    decay = np.exp(a["C"][:, :, None] - a["C"][:, None] + a["I"][:, None])
    w = np.where(j <= i, np.einsum("hid,hjd->hij", a["Q"], a["K"]) * decay, 0)
    return {"Y": w @ a["V"] / np.maximum(np.abs(w.sum(-1, keepdims=True)), 1)}


NIBBLES = {"rows": (16, 3), "outer": (4096, 7), "bytes": (1024, 8)}


def graph_nibble_norm(small: bool = False) -> te.Graph:
    """RMSNorm before a product with weights of four bits in blocks of 32 (8 in the small twin), by library calls."""
    rows, outer, packed = at(NIBBLES, small)
    block = 8 if small else 32
    x, gain = te.input("X", (rows, 2 * packed)), te.input("G", (2 * packed,))
    w = te.dequantize_int4(
        te.input("W", (outer, packed), "u8"), te.input("S", (outer, 2 * packed // block)), block=block
    )
    return te.graph("nibble_norm", Y=te.linear(te.rms_norm(x, gain), w, transposed=True))


def oracle_nibble_norm(a: Arrays) -> Arrays:
    """Y of float64 arrays."""
    w = np.stack([a["W"] & 15, a["W"] >> 4], -1).reshape(len(a["W"]), -1).astype(float) - 8
    w = w * np.repeat(a["S"], w.shape[1] // a["S"].shape[1], 1)
    x = a["X"] / np.sqrt((a["X"] ** 2).mean(-1, keepdims=True) + 1e-6)
    return {"Y": x * a["G"] @ w.T}


LAYER = {"rows": (2048, 11), "inner": (512, 5), "outer": (512, 7)}


def graph_adam_step(small: bool = False) -> te.Graph:
    """One step of Adam for a linear layer from its input and the gradient of its output; both moments are written."""
    rows, inner, outer = at(LAYER, small)
    n, i, o = te.indices("n i o")
    x, g = te.input("X", (rows, inner)), te.input("G", (rows, outer))
    w, m, v = (te.input(name, (inner, outer)) for name in "WMV")
    grad = te.tensor("grad", (i, o), te.sum(n, x[n, i] * g[n, o]) / rows)
    first = te.tensor("first", (i, o), 0.9 * m[i, o] + 0.1 * grad[i, o])
    second = te.tensor("second", (i, o), 0.999 * te.abs(v[i, o]) + 0.001 * grad[i, o] * grad[i, o])
    step = first[i, o] / (te.sqrt(second[i, o]) + 1e-4)
    return te.graph("adam_step", first, second, W_new=te.tensor(None, (i, o), 0.99 * w[i, o] - 0.01 * step))


def oracle_adam_step(a: Arrays) -> Arrays:
    """first, second and W_new of float64 arrays."""
    grad = a["X"].T @ a["G"] / len(a["X"])
    first, second = 0.9 * a["M"] + 0.1 * grad, 0.999 * np.abs(a["V"]) + 0.001 * grad**2
    return {"first": first, "second": second, "W_new": 0.99 * a["W"] - 0.01 * first / (np.sqrt(second) + 1e-4)}


IMAGES = {"batch": (8, 2), "channels": (64, 4), "high": (56, 6), "wide": (56, 8)}


def graph_softmax_pool(small: bool = False) -> te.Graph:
    """The mean of each window of 2 × 2 under a softmax of its own elements, from the greatest of the window."""
    batch, channels, high, wide = at(IMAGES, small)
    b, c, u, v = te.index("b", batch), te.index("c", channels), te.index("u", 2), te.index("v", 2)
    y, z = te.index("y", high // 2), te.index("z", wide // 2)
    x = te.input("X", (batch, channels, high, wide))
    top = te.tensor("top", (b, c, y, z), te.max((u, v), x[b, c, 2 * y + u, 2 * z + v]))
    w = te.exp(x[b, c, 2 * y + u, 2 * z + v] - top[b, c, y, z])
    total = te.tensor("total", (b, c, y, z), te.sum((u, v), w))
    body = te.sum((u, v), w * x[b, c, 2 * y + u, 2 * z + v]) / total[b, c, y, z]
    return te.graph("softmax_pool", P=te.tensor(None, (b, c, y, z), body))


def oracle_softmax_pool(a: Arrays) -> Arrays:
    """P of float64 arrays."""
    b, c, h, w = a["X"].shape
    x = a["X"].reshape(b, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(b, c, h // 2, w // 2, 4)
    return {"P": (np.asarray(normalised(x)) * x).sum(-1)}


SIGNALS = {"batch": (8, 2), "channels": (64, 6), "steps": (4096, 17)}


def graph_grouped_conv_norm(small: bool = False) -> te.Graph:
    """A dilated convolution in two groups, then a norm over time and each of two groups of channels, and SiLU."""
    batch, channels, steps = at(SIGNALS, small)
    x, w = te.input("X", (batch, channels, steps)), te.input("W", (channels, channels // 2, 3))
    y = te.conv1d(x, w, padding=2, dilation=2, groups=2)
    normed = te.group_norm(y, 2, te.input("gain", (channels,)), te.input("bias", (channels,)))
    return te.graph("grouped_conv_norm", Y=te.pointwise(te.silu, normed))


def oracle_grouped_conv_norm(a: Arrays) -> Arrays:
    """Y of float64 arrays."""
    batch, channels, steps = a["X"].shape
    x = np.pad(a["X"], ((0, 0), (0, 0), (2, 2))).reshape(batch, 2, channels // 2, steps + 4)
    w = a["W"].reshape(2, channels // 2, channels // 2, 3)
    y = sum(np.einsum("bgct,goc->bgot", x[..., 2 * k : 2 * k + steps], w[..., k]) for k in range(3))
    y = (y - y.mean((2, 3), keepdims=True)) / np.sqrt(y.var((2, 3), keepdims=True) + 1e-5)
    y = y.reshape(a["X"].shape) * a["gain"][:, None] + a["bias"][:, None]
    return {"Y": y / (1 + np.exp(-y))}


GRAPHS = {
    "running_argmax": Fresh(
        graph_running_argmax, oracle_running_argmax, Form(kernels=1, scans=1),
        "the maximum is a component of the arg-max: one scan gives both", TRACKS,
    ),
    "least_cost": Fresh(
        graph_least_cost, oracle_least_cost, Form(kernels=1, scans=1),
        "what does not depend on s leaves the minimum, and the rest is a running minimum", TRACKS,
    ),
    "two_gates": Fresh(
        graph_two_gates, oracle_two_gates, Form(kernels=1),
        "two scans with one gate run in one sweep, and all gates are computed where they are used", GATED,
    ),
    "nucleus": Fresh(
        graph_nucleus, oracle_nucleus, Form(passes={"X": 2}, scans=1, stored=None),
        "one pass for the softmax, one scan of it; kept ones are summed; a few tensors of words may be stored", WORDS,
        {}, _falling,
    ),
    "decayed_products": Fresh(
        graph_decayed_products, oracle_decayed_products, Form(kernels=1, passes={"K": 1, "V": 1}),
        "the norm leaves the sum, and both sums share the weights", HEADS,
    ),
    "nibble_norm": Fresh(
        graph_nibble_norm, oracle_nibble_norm, Form(kernels=1, passes={"X": 1, "W": 1}),
        "the root mean square leaves the fold; weights are unpacked where they are used", NIBBLES, {"W": 256},
    ),
    "adam_step": Fresh(
        graph_adam_step, oracle_adam_step, Form(kernels=1, passes={"X": 1, "G": 1}),
        "three outputs over one product that is not stored", LAYER,
    ),
    "softmax_pool": Fresh(
        graph_softmax_pool, oracle_softmax_pool, Form(kernels=1, passes={"X": 1}),
        "three folds over each window in one pass", IMAGES,
    ),
    "grouped_conv_norm": Fresh(
        graph_grouped_conv_norm, oracle_grouped_conv_norm, Form(passes={"X": 1, "W": 1}, stored=None),
        "the convolution is computed once and stored; its statistics are one pass", SIGNALS,
    ),
}  # fmt: skip
"""The nine, with what an expert expects."""
