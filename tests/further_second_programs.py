"""Ten naive graphs with scans, gathers, segments, and products with what stands before and after them."""

from __future__ import annotations

import numpy as np

import tang_egg as te
from tang_egg.monoid import AFFINE
from tests.further_second_model import Arrays, Fresh, at
from tests.rows_model import Form

SWEPT = Form(kernels=1, scans=1)
"""One kernel that sweeps once and stores no state but its output."""

SEQUENCE = {"batch": (4, 2), "steps": (4096, 17), "channels": (512, 3)}


def graph_gated_memory(small: bool = False) -> te.Graph:
    """A gate keeps the state or takes a new value; the state leaves through a second gate. A library call scans."""
    batch, steps, channels = at(SEQUENCE, small)
    b, t, c = te.indices("b t c")
    a, z, y = (te.input(x, (batch, steps, channels)) for x in "AZY")
    bias = te.input("bias", (channels,))
    keep = te.tensor("Keep", (b, t, c), te.sigmoid(a[b, t, c] + bias[c]))
    new = te.tensor("New", (b, t, c), (1.0 - keep[b, t, c]) * te.tanh(z[b, t, c]))
    h = te.gated_scan(keep, new, axis=1)
    return te.graph("gated_memory", H=te.pointwise(lambda s, g: s * te.silu(g), h, y))


def oracle_gated_memory(a: Arrays) -> Arrays:
    """H of float64 arrays."""
    keep, h, found = 1 / (1 + np.exp(-a["A"] - a["bias"])), 0.0, np.zeros(a["A"].shape)
    for t in range(a["A"].shape[1]):
        h = keep[:, t] * h + (1 - keep[:, t]) * np.tanh(a["Z"][:, t])
        found[:, t] = h
    return {"H": found * a["Y"] / (1 + np.exp(-a["Y"]))}


EPISODES = {"batch": (512, 3), "steps": (4096, 43)}


def graph_discounted_returns(small: bool = False) -> te.Graph:
    """G[t] = r[t] + 0.99 G[t + 1], begun anew where an episode is done: an affine fold backwards, as one expression."""
    batch, steps = at(EPISODES, small)
    b, t, s = te.index("b", batch), te.index("t", steps), te.index("s", steps)
    r, done = te.input("R", (batch, steps)), te.input("done", (batch, steps), "bool")
    last = steps - 1
    discount = te.select(done[b, last - s], 0.0, 0.99)
    body = te.reduce(AFFINE, s, discount, r[b, last - s], where=s <= last - t, part="b")
    return te.graph("discounted_returns", G=te.tensor(None, (b, t), body))


def oracle_discounted_returns(a: Arrays) -> Arrays:
    """G of float64 arrays."""
    found, g = np.zeros(a["R"].shape), 0.0
    for t in reversed(range(a["R"].shape[1])):
        g = a["R"][:, t] + np.where(a["done"][:, t], 0.0, 0.99) * g
        found[:, t] = g
    return {"G": found}


def graph_running_logsumexp(small: bool = False) -> te.Graph:
    """logsumexp of every prefix of a row, from the maximum of that prefix."""
    batch, steps = at(EPISODES, small)
    b, t, s = te.index("b", batch), te.index("t", steps), te.index("s", steps)
    x = te.input("X", (batch, steps))
    m = te.tensor("M", (b, t), te.max(s, x[b, s], where=s <= t))
    z = te.tensor("Z", (b, t), te.sum(s, te.exp(x[b, s] - m[b, t]), where=s <= t))
    return te.graph("running_logsumexp", L=te.tensor(None, (b, t), m[b, t] + te.log(z[b, t])))


def oracle_running_logsumexp(a: Arrays) -> Arrays:
    """L of float64 arrays."""
    return {"L": np.logaddexp.accumulate(a["X"], axis=1)}


def _gap(a: Arrays) -> None:
    a["X"][0, 5:9] = -np.inf


BAGS = {"bags": (4096, 7), "length": (64, 11), "table": (50000, 23), "width": (128, 3)}


def graph_weighted_bag(small: bool = False) -> te.Graph:
    """The weighted mean of rows of a table, id 0 being padding, as one expression; an empty bag gives 0."""
    bags, length, table, width = at(BAGS, small)
    b, l, s, d = te.indices("b l s d")  # noqa: E741
    e, idx = te.input("E", (table, width)), te.input("idx", (bags, length), "i64")
    w = te.input("W", (bags, length))
    total = te.sum(s, te.abs(w[b, s]), where=te.ne(idx[b, s], 0))
    mean = te.sum(l, te.abs(w[b, l]) * e[idx[b, l], d], where=te.ne(idx[b, l], 0)) / total
    return te.graph("weighted_bag", Y=te.tensor(None, (b, d), te.select(total > 0, mean, 0.0)))


def oracle_weighted_bag(a: Arrays) -> Arrays:
    """Y of float64 arrays."""
    w = np.abs(a["W"]) * (a["idx"] != 0)
    total = w.sum(-1, keepdims=True)
    return {"Y": (w[..., None] * a["E"][a["idx"]]).sum(1) / np.where(total > 0, total, 1.0)}


def _empty_bag(a: Arrays) -> None:
    a["idx"][0], a["idx"][1, :5] = 0, 0


SEGMENTS = {"points": (65536, 43), "segments": (512, 7), "width": (64, 3)}


def graph_segment_root_mean_square(small: bool = False) -> te.Graph:
    """The root of the mean square of the points of each segment, whose ids are sorted; 0 for an empty one."""
    points, segments, width = at(SEGMENTS, small)
    g, n, d = te.index("g", segments), te.index("n", points), te.index("d", width)
    x, seg = te.input("X", (points, width)), te.input("seg", (points,), "i64", sorted=True)
    mine = te.eq(seg[n], te.value(g))
    count = te.tensor("Count", g, te.sum(n, 1.0, where=mine))
    square = te.tensor("Square", (g, d), te.sum(n, x[n, d] * x[n, d], where=mine))
    body = te.sqrt(square[g, d] / te.maximum(count[g], 1.0))
    return te.graph("segment_root_mean_square", R=te.tensor(None, (g, d), body))


def oracle_segment_root_mean_square(a: Arrays, segments: int = 7) -> Arrays:
    """R of float64 arrays, at the small number of segments."""
    found = np.zeros((segments, a["X"].shape[1]))
    for g in set(a["seg"].tolist()):
        found[g] = np.sqrt((a["X"][a["seg"] == g] ** 2).mean(0))
    return {"R": found}


def _hole(a: Arrays) -> None:
    a["seg"][a["seg"] == 2] = 3


ROUTED = {"rows": (512, 5), "chosen": (2, 2), "experts": (16, 7), "inner": (256, 3), "outer": (768, 11)}


def graph_routed_units(small: bool = False) -> te.Graph:
    """All experts of every row, times a gate that is 0 for those not chosen."""
    rows, chosen, experts, inner, outer = at(ROUTED, small)
    n, k, x, d, o = te.indices("n k x d o")
    x = te.index("x", experts)
    a, w = te.input("A", (rows, inner)), te.input("W", (experts, inner, outer))
    pick, share = te.input("pick", (rows, chosen), "i64"), te.input("share", (rows, chosen))
    gate = te.tensor("Gate", (n, x), te.sum(k, te.select(te.eq(pick[n, k], te.value(x)), share[n, k], 0.0)))
    unit = te.tensor("Unit", (n, x, o), te.silu(te.sum(d, a[n, d] * w[x, d, o])))
    return te.graph("routed_units", Y=te.tensor(None, (n, o), te.sum(x, gate[n, x] * unit[n, x, o])))


def oracle_routed_units(a: Arrays) -> Arrays:
    """Y of float64 arrays."""
    z = np.einsum("nd,nkdo->nko", a["A"], a["W"][a["pick"]])
    return {"Y": (a["share"][..., None] * z / (1 + np.exp(-z))).sum(1)}


UNITS = {"rows": (1024, 5), "inner": (1024, 17), "outer": (4096, 7)}


def graph_gated_bytes(small: bool = False) -> te.Graph:
    """A gate and a value from weights of bytes with a scale for each output, by library calls."""
    rows, inner, outer = at(UNITS, small)
    x = te.input("X", (rows, inner))
    gates, values = te.input("QG", (outer, inner), "i8"), te.input("QV", (outer, inner), "i8")
    gate_scale, value_scale = te.input("SG", (outer, 1)), te.input("SV", (outer, 1))
    bias = te.input("B", (outer,))
    gate = te.linear(x, te.dequantize_int8(gates, gate_scale), bias, transposed=True)
    value = te.linear(x, te.dequantize_int8(values, value_scale), transposed=True)
    return te.graph("gated_bytes", Y=te.pointwise(lambda g, v: (1.0 + te.tanh(g)) * v, gate, value))


def oracle_gated_bytes(a: Arrays) -> Arrays:
    """Y of float64 arrays."""
    gate = a["X"] @ (a["QG"] * a["SG"]).T + a["B"]
    return {"Y": (1 + np.tanh(gate)) * (a["X"] @ (a["QV"] * a["SV"]).T)}


def _scaled(a: Arrays) -> None:
    a["SG"] *= 0.003


def graph_residual_norm_product(small: bool = False) -> te.Graph:
    """A sum of two streams, its RMSNorm with gains, a product with bias, and SiLU, by library calls."""
    rows, inner, outer = at(UNITS, small)
    x, r = te.input("X", (rows, inner)), te.input("R", (rows, inner))
    gain, w, bias = te.input("G", (inner,)), te.input("W", (inner, outer)), te.input("B", (outer,))
    y = te.linear(te.rms_norm(te.add(x, r), gain), w, bias)
    return te.graph("residual_norm_product", Y=te.pointwise(te.silu, y))


def oracle_residual_norm_product(a: Arrays) -> Arrays:
    """Y of float64 arrays."""
    z = a["X"] + a["R"]
    y = z / np.sqrt((z**2).mean(-1, keepdims=True) + 1e-6) * a["G"] @ a["W"] + a["B"]
    return {"Y": y / (1 + np.exp(-y))}


CODES = {"points": (8192, 11), "codes": (1024, 13), "width": (64, 3)}


def graph_nearest_code(small: bool = False) -> te.Graph:
    """The nearest row of a code book, and its squared distance."""
    points, codes, width = at(CODES, small)
    i, c, d = te.indices("i c d")
    x, book = te.input("X", (points, width)), te.input("C", (codes, width))
    far = te.tensor("Far", (i, c), te.sum(d, (x[i, d] - book[c, d]) * (x[i, d] - book[c, d])))
    code = te.tensor("code", i, te.argmin(c, far[i, c]))
    return te.graph("nearest_code", code, te.tensor("error", i, te.min(c, far[i, c])))


def oracle_nearest_code(a: Arrays) -> Arrays:
    """code and error of float64 arrays."""
    far = ((a["X"][:, None] - a["C"]) ** 2).sum(-1)
    return {"code": far.argmin(-1), "error": far.min(-1)}


def _twin_codes(a: Arrays) -> None:
    a["C"][5] = a["C"][2]
    a["X"][0] = a["C"][2]


IMAGES = {"batch": (4, 2), "channels": (32, 3), "filters": (64, 5), "high": (64, 7), "wide": (96, 5)}


def graph_conv_clip_pool(small: bool = False) -> te.Graph:
    """A padded and dilated convolution with bias, clipped to 0 ... 6, and means of 2 × 2, by library calls."""
    batch, channels, filters, high, wide = at(IMAGES, small)
    x, w = te.input("X", (batch, channels, high, wide)), te.input("W", (filters, channels, 3, 3))
    y = te.conv2d(x, w, te.input("B", (filters,)), padding=2, dilation=2)
    clipped = te.pointwise(lambda v: te.minimum(te.relu(v), 6.0), y)
    return te.graph("conv_clip_pool", P=te.avg_pool(clipped, 2))


def oracle_conv_clip_pool(a: Arrays) -> Arrays:
    """P of float64 arrays."""
    x, (h, w) = np.pad(a["X"], ((0, 0), (0, 0), (2, 2), (2, 2))), a["X"].shape[2:]
    taps = [(u, v, x[:, :, 2 * u : 2 * u + h, 2 * v : 2 * v + w]) for u in range(3) for v in range(3)]
    y = sum(np.einsum("bchw,oc->bohw", part, a["W"][:, :, u, v]) for u, v, part in taps) + a["B"][:, None, None]
    y = np.clip(y, 0, 6)[:, :, : h // 2 * 2, : w // 2 * 2]
    return {"P": y.reshape(*y.shape[:2], h // 2, 2, w // 2, 2).mean((3, 5))}


GRAPHS = {
    "gated_memory": Fresh(
        graph_gated_memory, oracle_gated_memory, SWEPT,
        "gates before and after the scan are computed where they are used", SEQUENCE,
    ),
    "discounted_returns": Fresh(
        graph_discounted_returns, oracle_discounted_returns, SWEPT,
        "a prefix of the reversed steps: one sweep from the end that writes as it goes", EPISODES,
    ),
    "running_logsumexp": Fresh(
        graph_running_logsumexp, oracle_running_logsumexp, SWEPT,
        "maximum and rescaled sum are one state, whose values at every step are wanted", EPISODES,
        {}, _gap,
    ),
    "weighted_bag": Fresh(
        graph_weighted_bag, oracle_weighted_bag, Form(kernels=1, passes={"E": 1}, gathered=("E",)),
        "weights and rows are summed over one domain; only rows of the bag are read", BAGS,
        {"idx": "table"}, _empty_bag,
    ),
    "segment_root_mean_square": Fresh(
        graph_segment_root_mean_square, oracle_segment_root_mean_square, Form(stored=None, ranged=("X",)),
        "sorted ids make a segment a range; its ends and count may be stored", SEGMENTS, {"seg": "segments"}, _hole,
    ),
    "routed_units": Fresh(
        graph_routed_units, oracle_routed_units, Form(stored=None, gathered=("W",), absent=("experts",)),
        "only chosen experts are computed, through a gather; their outputs may be stored", ROUTED, {"pick": "experts"},
    ),
    "gated_bytes": Fresh(
        graph_gated_bytes, oracle_gated_bytes, Form(kernels=1, passes={"X": 1, "QG": 1, "QV": 1}),
        "two products of one row in one fold; scales leave it or stay, weights are never stored as reals", UNITS,
        {"QG": 127, "QV": 127}, _scaled,
    ),
    "residual_norm_product": Fresh(
        graph_residual_norm_product, oracle_residual_norm_product, Form(kernels=1, passes={"X": 1, "R": 1, "W": 1}),
        "the root mean square leaves the fold, as in the table; the sum of streams is recomputed", UNITS,
    ),
    "nearest_code": Fresh(
        graph_nearest_code, oracle_nearest_code, Form(passes={"C": 1}, stored=None, absent=("codes",)),
        "arg-min and minimum are one state over codes; distances are not stored nor expanded, as that cancels", CODES,
        {}, _twin_codes,
    ),
    "conv_clip_pool": Fresh(
        graph_conv_clip_pool, oracle_conv_clip_pool, Form(kernels=1),
        "windows of the pool do not overlap, so nothing is computed twice and no full image stored", IMAGES,
    ),
}  # fmt: skip
"""The ten, with what an expert expects."""
