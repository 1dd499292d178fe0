"""Field cases of views, windows and gathers, stated as graphs."""

from __future__ import annotations

import tang_egg as te
from tests.field_graph import Inputs, Outputs, axes, copied, states


@states("pad_reshape_unpad", how="pads are guards, reshapes are affine coordinates")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    i, r, c = te.index("i", 4), te.index("r", 5), te.index("c", 5)
    padded = te.tensor(None, (i, r, c), te.select(te.holds(i >= 2), a[i - 2, r, c], 0.0))
    p = te.index("p", 6)
    turned = te.select(te.holds((p >= 1, p <= 4)), padded[p - 1, r, c], 0.0)
    u, v, w = te.index("u", 6), te.index("v", 2), te.index("w", 3)
    row = (5 - u) * 3 + v + 1  # of both batches, nine padded rows each
    first = te.select(te.holds((row >= 2, row <= 6)), a[0, row - 2, w * 2], 0.0)
    second = te.select(te.holds((row >= 11, row <= 15)), a[1, row - 11, w * 2], 0.0)
    b, s, t = axes(a, "bst")
    return {
        "a": padded,
        "b": te.tensor(None, (r, c, p), turned),
        "c": te.tensor(None, (u, v, w), te.select(te.holds(row <= 8), first, second)),
        "back": te.tensor(None, (b, s, t), padded[b + 2, s, t]),
    }


@states("as_strided_absolute", donated=True, how="the elements that a view by strides reaches, as a condition")
def _(x: Inputs) -> Outputs:
    a = x["a"]
    i, j = axes(a)
    body = a[i, j] + te.select(te.holds(i * 4 + j <= 1), 1.0, 0.0)
    return {"a": te.tensor(None, (i, j), body, into=a)}


@states("inplace_flip_add", how="a new array: over its own input the graph is refused")
def _(x: Inputs) -> Outputs:
    return {k: copied(a, lambda i, j, a=a: a[i, j] + a[a.shape[0] - 1 - i, j]) for k, a in x.items()}


@states("inplace_shift", how="a new array: over its own input the graph is refused")
def _(x: Inputs) -> Outputs:
    return {k: copied(a, lambda i, j, a=a: te.select(te.holds(i >= 1), a[i - 1, j], a[0, j])) for k, a in x.items()}


@states("unfold_gap_writeback", donated=True, how="written over its input")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    i, j = axes(a)
    ends = te.holds(j <= 0) | te.holds(j >= 5)
    return {"out": te.tensor(None, (i, j), te.select(ends, a[i, j] * 2, a[i, j]), into=a)}


@states("state_ring_update", how="the new state is a view over the old one and what is new")
def _(x: Inputs) -> Outputs:
    state, new = x["state"], x["new"]
    return {"state": copied(state, lambda b, t, c: te.select(te.holds(t <= 61), state[b, t + 2, c], new[b, t - 62, c]))}


@states("avgpool_ceil_no_empty_window", how="padded positions are outside the fold's domain")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    i, j, u, v = (te.index(n, s) for n, s in zip("ijuv", (2, 3, 3, 3), strict=True))
    n, c = te.index("n", 1), te.index("c", 1)
    row, column = i * 3 + u - 1, j * 3 + v - 1
    inside = (row >= 0, row <= 4, column >= 0, column <= 5)
    element = a[n, c, row, column]
    total, count = te.sum((u, v), element, where=inside), te.sum((u, v), 1.0, where=inside)
    return {
        "avg": te.tensor(None, (n, c, i, j), total / count),
        "max": te.tensor(None, (n, c, i, j), te.max((u, v), element, where=inside)),
    }


@states("avgpool_ceil_count_include", how="two domains: real elements are summed, padded ones counted too")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    n, c, i, u = te.index("n", 1), te.index("c", 2), te.index("i", 4), te.index("u", 7)
    at = i * 3 + u - 3
    total, count = te.sum(u, a[n, c, at], where=(at >= 0, at <= 8)), te.sum(u, 1.0, where=at <= 11)
    return {"out": te.tensor(None, (n, c, i), total / count)}


@states("masked_stencil_f16", how="f16 in and out")
def _(x: Inputs) -> Outputs:
    a = x["x"]
    i, j = axes(a)
    u, v = te.index("u", 3), te.index("v", 3)
    row, column = i + u - 1, j + v - 1
    inside = (row >= 0, row <= 7, column >= 0, column <= 7)
    return {"y": te.tensor(None, (i, j), te.sum((u, v), a[row, column], where=inside), "f16")}


@states("gather_negative_equiv", how="negative positions by remainder; the scatter as a fold over its targets")
def _(x: Inputs) -> Outputs:
    a, idx, target, update = x["x"], x["idx"], x["tgt"], x["upd"]
    p, q, d = te.index("p", 2), te.index("q", 7), te.index("d", 3)
    taken = te.tensor(None, (p, q, d), a[idx[p, q, 0] % 4, idx[p, q, 1] % 5, d])
    i, j, _ = axes(a)
    t = te.index("t", 3)
    here = te.eq(target[t, 0] % 4, te.value(i)) & te.eq(target[t, 1] % 5, te.value(j))
    new = te.sum(t, update[t, d], where=here)
    return {"gather": taken, "scatter": te.tensor(None, (i, j, d), te.select(te.any(t, here), new, a[i, j, d]))}
