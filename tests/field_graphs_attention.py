"""Field cases of softmax and attention, stated as graphs."""

from __future__ import annotations

import tang_egg as te
from tests.field_graph import Inputs, Outputs, axes, states

INF = float("inf")


@states("attn_fully_masked_row", how="an additive mask; where it is -inf a key is not live")
def _(x: Inputs) -> Outputs:
    mask = x["mask"]
    return {"out": te.attention(x["q"], x["k"], x["v"], bias=mask, mask=lambda i, j: mask[i, j] > -INF)}


@states("attn_fully_masked_row_grad", how="the formulas of the gradients")
def _(x: Inputs) -> Outputs:
    q, k, v, do, keep = (x[n] for n in ("q", "k", "v", "do", "keep"))
    (b, i, d), j = axes(q, "bid"), te.index("j", 6)
    s = te.tensor(None, (b, i, j), te.sum(d, q[b, i, d] * k[b, j, d]) * 8**-0.5)
    p = te.softmax(s, where=keep)
    dp = te.tensor(None, (b, i, j), te.sum(d, do[b, i, d] * v[b, j, d]))
    inner = te.tensor(None, (b, i), te.sum(j, p[b, i, j] * dp[b, i, j]))
    ds = te.tensor(None, (b, i, j), p[b, i, j] * (dp[b, i, j] - inner[b, i]) * 8**-0.5)
    return {
        "dq": te.tensor(None, (b, i, d), te.sum(j, ds[b, i, j] * k[b, j, d])),
        "dk": te.tensor(None, (b, j, d), te.sum(i, ds[b, i, j] * q[b, i, d])),
        "dv": te.tensor(None, (b, j, d), te.sum(i, p[b, i, j] * do[b, i, d])),
    }


@states("online_softmax_empty_lanes", values="ieee", how="log_softmax of the library")
def _(x: Inputs) -> Outputs:
    return {"y": te.log_softmax(x["x"]), "y2": te.log_softmax(x["x2"])}


@states("attn_causal_more_q_than_k", how="causal, aligned to the last key")
def _(x: Inputs) -> Outputs:
    return {"out": te.attention(x["q"], x["k"], x["v"], causal=True)}


@states("attn_sliding_window_inclusive", how="two windows")
def _(x: Inputs) -> Outputs:
    q, k, v = x["q"], x["k"], x["v"]
    return {
        "inclusive": te.attention(q, k, v, causal=True, window=4),
        "exclusive": te.attention(q, k, v, causal=True, window=3),
    }


@states("attn_window_tile_skip", values="ieee", how="NaN in keys and values that no row reads; the rows from 60 on")
def _(x: Inputs) -> Outputs:
    plain, poisoned = (
        te.attention(x["q"], x[k], x[v], causal=True, window=6) for k, v in (("k", "v"), ("k_poison", "v_poison"))
    )
    b, h, _, c = axes(plain, "bhic")
    i = te.index("i", 70)
    return {"out": plain, "out_poison_rows60": te.tensor(None, (b, h, i, c), poisoned[b, h, i + 60, c])}


@states("attn_softcap_before_mask", how="soft cap, then the additive mask")
def _(x: Inputs) -> Outputs:
    mask = x["mask"]
    capped = te.attention(x["q"], x["k"], x["v"], soft_cap=5.0, bias=mask, mask=lambda i, j: mask[i, j] > -INF)
    return {"out": capped}


@states("softcap_grad", how="the formula of the gradient")
def _(x: Inputs) -> Outputs:
    u, dy, keep = x["u"], x["dy"], x["keep"]
    i, j = axes(u)
    t = te.tensor(None, (i, j), te.tanh(u[i, j] / 30))
    s = te.tensor(None, (i, j), t[i, j] * 30)
    p = te.softmax(s, where=keep)
    inner = te.tensor(None, i, te.sum(j, p[i, j] * dy[i, j]))
    return {"du": te.tensor(None, (i, j), p[i, j] * (dy[i, j] - inner[i]) * (1 - t[i, j] * t[i, j]))}


KEYS = te.dim("keys", lo=1)


@states(
    *(f"attn_kv_tail_{n}" for n in (1, 127, 129, 137)), shapes={"k": (1, 2, KEYS, 16), "v": (1, 2, KEYS, 16)},
    how="the number of keys is a dim: one compiled program for four cases",
)  # fmt: skip
def _(x: Inputs) -> Outputs:
    q, k, v = x["q"], x["k"], x["v"]
    ones = te.tensor(None, axes(v), te.constant(1.0))
    return {"out": te.attention(q, k, v), "out_ones": te.attention(q, k, ones)}


@states("attn_v_garbage_beyond_len", values="ieee", how="keys from the length on are not live; they hold NaN")
def _(x: Inputs) -> Outputs:
    b, j = te.index("b", 4), te.index("j", 32)
    live = te.tensor(None, (b, j), te.value(j) < x["lens"][b])
    return {"out": te.attention(x["q"], x["k"], x["v"], key_mask=live)}


@states("paged_kv_gather", how="a key is a page and a row in it; entries of the table past the length are not read")
def _(x: Inputs) -> Outputs:
    q, table, lens = x["q"], x["block_table"], x["lens"]
    b, h, i, d = axes(q, "bhid")
    c, p, r = te.index("c", 8), te.index("p", 4), te.index("r", 4)
    live = te.value(p * 4 + r) < lens[b]
    dot = te.sum(d, q[b, h, i, d] * x["kpages"][table[b, p], r, h, d]) * 8**-0.5
    s = te.tensor(None, (b, h, i, p, r), te.select(live, dot, 0.0))
    top = te.tensor(None, (b, h, i), te.max((p, r), s[b, h, i, p, r], where=live))
    e = te.tensor(None, (b, h, i, p, r), te.exp(s[b, h, i, p, r] - top[b, h, i]))
    total = te.tensor(None, (b, h, i), te.sum((p, r), e[b, h, i, p, r], where=live))
    value = e[b, h, i, p, r] / total[b, h, i] * x["vpages"][table[b, p], r, h, c]
    return {"out": te.tensor(None, (b, h, i, c), te.sum((p, r), value, where=live))}
