"""Field cases of folds, sizes known at run time and scans, stated as graphs."""

from __future__ import annotations

import tang_egg as te
from tang_egg.monoid import MAX
from tests.field_graph import Call, Inputs, Outputs, axes, states


@states("layernorm_constant_row", how="layer_norm of the library, three lengths")
def _(x: Inputs) -> Outputs:
    return {k: te.layer_norm(a) for k, a in x.items()}


@states("fp16_mean_overflow", how="f16 in and out")
def _(x: Inputs) -> Outputs:
    return {k: te.mean(a) for k, a in x.items()}


@states("fp16_sum_cancel", how="f16 in and out")
def _(x: Inputs) -> Outputs:
    j, i = te.index("j", 8), te.index("i", 3)
    a, b = x["a"], x["b"]
    return {"a": te.tensor(None, (), te.sum(j, a[j]), "f16"), "b": te.tensor(None, i, te.sum(j, b[i, j]), "f16")}


@states("fp16_softmax_denominator_stall", how="f16 in and out")
def _(x: Inputs) -> Outputs:
    j = te.index("j", 8192)
    return {"p": te.softmax(x["x"]), "total": te.tensor(None, (), te.sum(j, x["ones"][j]), "f16")}


@states("nan_propagating_argmax", values="ieee")
def _(x: Inputs) -> Outputs:
    i, j = axes(x["x"])
    return {
        "argmax": te.tensor(None, i, te.argmax(j, x["x"][i, j])),
        "argmin": te.tensor(None, i, te.argmin(j, x["x"][i, j])),
    }


@states("argmax_first_tie", how="i32, along both axes")
def _(x: Inputs) -> Outputs:
    i, j = axes(x["x"])
    return {
        f"{name}{axis}": te.tensor(None, kept, fold(over, x["x"][i, j]))
        for name, fold in (("argmax", te.argmax), ("argmin", te.argmin))
        for axis, over, kept in ((0, i, j), (1, j, i))
    }


@states("topk_tie_lower_index", how="by rank: an element has as many before it as are larger, or equal and earlier")
def _(x: Inputs) -> Outputs:
    found: Outputs = {}
    for name, k, v, at in (("a", 1, "v1", "i1"), ("a", 3, "v3", "i3"), ("b", 7, "vb", "ib")):
        a = x[name]
        i, j = axes(a)
        o, r = te.index("o", a.shape[1]), te.index("r", k)
        before = (a[i, o] > a[i, j]) | (te.eq(a[i, o], a[i, j]) & (te.value(o) < te.value(j)))
        rank = te.tensor(None, (i, j), te.sum(o, te.cast(before, "i64")))
        here = te.eq(rank[i, j], te.value(r))
        found[v] = te.tensor(None, (i, r), te.sum(j, te.cast(a[i, j], "i64"), where=here))
        found[at] = te.tensor(None, (i, r), te.sum(j, te.value(j), where=here))
    return found


@states("empty_contraction", how="axes of extent 0 are folded")
def _(x: Inputs) -> Outputs:
    k = te.index("k", 0)
    dot = te.tensor(None, (), te.sum(k, x["u"][k] * x["w"][k]))
    return {"ab": te.matmul(x["a"], x["b"]), "uw": dot, "pq": te.matmul(x["p"], x["q"])}


N, M = te.dim("n", lo=1), te.dim("m", lo=1)
ROWS = te.dim("rows", lo=1)


@states(
    "dynamic_view_broadcast", shapes={"x4": (N * 4,), "y8": (M * 4,)},
    calls=tuple(
        Call({"x4": a, "y8": b}, {"out": out}, {"rows": 2})
        for a, b, out in (("x4", "y8", "a"), ("x8", "y8", "b"), ("x8", "y4", "c"))
    ),
    how="rows of either side as dims, the rows of the result given at the call: one compiled program, three calls",
)  # fmt: skip
def _(x: Inputs) -> Outputs:
    r, c = te.index("r", ROWS), te.index("c", 4)
    rows = {"x4": N, "y8": M}
    left, right = (x[n][te.minimum(te.value(r), te.value(rows[n] - 1)) * 4 + te.value(c)] for n in ("x4", "y8"))
    return {"out": te.tensor(None, (r, c), left * right)}


@states("scan_noncommutative_ema", how="gated_scan of the library")
def _(x: Inputs) -> Outputs:
    return {"h": te.gated_scan(x["a"], x["b"], axis=1)}


@states("cummax_nan", values="ieee", how="scans of the maximum")
def _(x: Inputs) -> Outputs:
    t, (i, u) = te.index("t", 5), axes(x["b"])
    return {
        "a": te.tensor(None, t, te.scan(MAX, t, x["a"][t])),
        "b": te.tensor(None, (i, u), te.scan(MAX, u, x["b"][i, u])),
    }
