"""Field cases of softmax and attention: masks, windows, padding, paged keys."""

from __future__ import annotations

import numpy as np

from tests.field_case import (
    ATTENTION,
    AUTODIFF,
    F32,
    GATHERS,
    I32,
    INF,
    NAN,
    Array,
    Arrays,
    Real,
    case,
    grid,
    normal,
    rng,
    softmax_rows,
    wide,
)


def scores(q: Array, k: Array) -> Real:
    return np.asarray(np.einsum("...qd,...kd->...qk", wide(q), wide(k)) * (1 / np.sqrt(q.shape[-1])))


def att(
    q: Array, k: Array, v: Array, keep: Array | None = None, add: Array | None = None, cap: float | None = None
) -> Real:
    """Attention; a query that sees no key gives 0."""
    s = scores(q, k)
    if cap is not None:
        s = cap * np.tanh(s / cap)
    if add is not None:
        s = s + wide(add)
    if keep is not None:
        s = np.where(keep, s, -INF)
    return np.asarray(np.einsum("...qk,...kd->...qd", softmax_rows(s), wide(v)))


def plain_softmax(s: Real) -> Real:
    """Softmax without a care: a row of only -inf gives NaN."""
    e = np.exp(s - s.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def _gradients(x: Arrays, p: Real) -> Arrays:
    """Gradients of softmax(q kᵀ / sqrt(d)) v by q, k, v, given its weights `p` and the gradient `do` of the result."""
    q, k, v, do = (wide(x[n]) for n in ("q", "k", "v", "do"))
    dp = do @ v.swapaxes(-1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return {"dq": ds @ k, "dk": ds.swapaxes(-1, -2) @ q, "dv": p.swapaxes(-1, -2) @ do}


@case(
    "attn_fully_masked_row",
    ATTENTION,
    atol=1e-6,
    notes="zeros convention on dead rows; also check backward gives 0 there",
)
class _:
    def inputs() -> Arrays:
        x = normal("afm", q=(1, 2, 6, 8), k=(1, 2, 6, 8), v=(1, 2, 6, 8))
        i, j = grid(6, 6)
        m = np.where(j <= i, 0, -INF).astype(F32)
        m[[2, 5]] = -INF
        return dict(x, mask=m)

    def reference(x: Arrays) -> Arrays:
        return {"out": att(x["q"], x["k"], x["v"], add=x["mask"])}

    def wrong(x: Arrays) -> Arrays:
        return {"out": plain_softmax(scores(x["q"], x["k"]) + wide(x["mask"])) @ wide(x["v"])}


@case("attn_fully_masked_row_grad", AUTODIFF, atol=1e-6, notes="a dead row has zero gradients and adds none to others")
class _:
    def inputs() -> Arrays:
        x = normal("afmg", q=(2, 6, 8), k=(2, 6, 8), v=(2, 6, 8), do=(2, 6, 8))
        i, j = grid(6, 6)
        keep = np.broadcast_to(j <= i, (2, 6, 6)).copy()
        keep[0, [2, 5]] = False
        return {**x, "keep": keep}

    def reference(x: Arrays) -> Arrays:
        return _gradients(x, softmax_rows(np.where(x["keep"], scores(x["q"], x["k"]), -INF)))

    def wrong(x: Arrays) -> Arrays:
        return _gradients(x, plain_softmax(np.where(x["keep"], scores(x["q"], x["k"]), -1e30)))


@case(
    "online_softmax_empty_lanes",
    ATTENTION,
    rtol=2e-6,
    atol=1e-5,
    nonfinite=("y2",),
    notes="identity state (-inf,0) must merge with itself without NaN",
)
class _:
    def inputs() -> Arrays:
        g = rng("olel")
        x2 = g.standard_normal((5, 1000)).astype(F32)
        x2[:, :512] = -INF
        return {"x": g.standard_normal((5, 3)).astype(F32), "x2": x2}

    def reference(x: Arrays) -> Arrays:
        def lsm(a: Array) -> Real:
            a = wide(a)
            m = a.max(-1, keepdims=True)
            return a - m - np.log(np.exp(a - m).sum(-1, keepdims=True))

        return {"y": lsm(x["x"]), "y2": lsm(x["x2"])}

    def wrong(x: Arrays) -> Arrays:
        def lsm(a: Array) -> Real:
            m, total = np.full(len(a), -INF), np.zeros(len(a))
            for c in range(0, a.shape[1], 128):
                mb = np.maximum(m, a[:, c : c + 128].max(-1))
                total = total * np.exp(m - mb) + np.exp(wide(a[:, c : c + 128]) - mb[:, None]).sum(-1)
                m = mb
            return wide(a) - m[:, None] - np.log(total)[:, None]

        return {"y": lsm(x["x"]), "y2": lsm(x["x2"])}


@case("attn_causal_more_q_than_k", ATTENTION, atol=1e-6, notes="rows 0..3 have no key and are exactly zero")
class _:
    def inputs() -> Arrays:
        return normal("acmq", q=(1, 1, 7, 8), k=(1, 1, 3, 8), v=(1, 1, 3, 8))

    def reference(x: Arrays) -> Arrays:
        i, j = grid(7, 3)
        return {"out": att(**x, keep=j <= i - 4)}

    def wrong(x: Arrays) -> Arrays:
        i, j = grid(7, 3)
        return {"out": att(**x, add=np.where(j <= i - 4, 0.0, -1e9))}


@case(
    "attn_sliding_window_inclusive",
    ATTENTION,
    atol=1e-6,
    notes="inclusive keeps left+1 keys, exclusive keeps left keys",
)
class _:
    def inputs() -> Arrays:
        return normal("aswi", q=(1, 1, 9, 4), k=(1, 1, 9, 4), v=(1, 1, 9, 4))

    def reference(x: Arrays) -> Arrays:
        i, j = grid(9, 9)
        return {"inclusive": att(**x, keep=(j <= i) & (j >= i - 3)), "exclusive": att(**x, keep=(j <= i) & (j > i - 3))}

    def wrong(x: Arrays) -> Arrays:
        i, j = grid(9, 9)
        o = att(**x, keep=(j <= i) & (j > i - 3))
        return {"inclusive": o, "exclusive": o}


@case(
    "attn_window_tile_skip",
    ATTENTION,
    atol=1e-6,
    notes="first live KV tile is not tile 0; early keys are NaN for the second output",
)
class _:
    def inputs() -> Arrays:
        x = normal("awts", q=(1, 1, 130, 16), k=(1, 1, 130, 16), v=(1, 1, 130, 16))
        kp, vp = x["k"].copy(), x["v"].copy()
        kp[..., :50, :] = NAN
        vp[..., :50, :] = NAN
        return dict(x, k_poison=kp, v_poison=vp)

    def reference(x: Arrays) -> Arrays:
        i, j = grid(130, 130)
        out = att(x["q"], x["k"], x["v"], keep=(j <= i) & (j >= i - 5))
        return {"out": out, "out_poison_rows60": out[..., 60:, :].copy()}

    def wrong(x: Arrays) -> Arrays:
        i, j = grid(130, 130)
        kp = (j <= i) & (j >= i - 5)
        return {
            "out": att(x["q"], x["k"], x["v"], keep=kp),
            "out_poison_rows60": att(x["q"], x["k_poison"], x["v_poison"], keep=kp)[..., 60:, :],
        }


@case("attn_softcap_before_mask", ATTENTION, atol=1e-6, notes="masked v entries are 1e30 so any leak is visible")
class _:
    def inputs() -> Arrays:
        x = normal("ascm", q=(1, 2, 5, 8), k=(1, 2, 5, 8), v=(1, 2, 5, 8))
        m = np.zeros((5, 5), F32)
        m[:, 3:] = -INF
        v = x["v"].copy()
        v[..., 3:, :] = 1e30
        return {"q": x["q"] * F32(10), "k": x["k"], "v": v, "mask": m}

    def reference(x: Arrays) -> Arrays:
        return {"out": att(x["q"], x["k"], x["v"], add=x["mask"], cap=5.0)}

    def wrong(x: Arrays) -> Arrays:
        s = scores(x["q"], x["k"]) + wide(x["mask"])
        return {"out": softmax_rows(5 * np.tanh(s / 5)) @ wide(x["v"])}


@case("softcap_grad", AUTODIFF, atol=1e-6, notes="1-tanh^2 factor belongs to the unmasked logit")
class _:
    def inputs() -> Arrays:
        x = normal("scg", u=(4, 6), dy=(4, 6))
        i, j = grid(4, 6)
        return {"u": x["u"] * F32(20), "dy": x["dy"], "keep": (j <= i + 1)}

    def reference(x: Arrays) -> Arrays:
        t = np.tanh(wide(x["u"]) / 30)
        p = softmax_rows(np.where(x["keep"], 30 * t, -INF))
        return {"du": p * (wide(x["dy"]) - (p * wide(x["dy"])).sum(-1, keepdims=True)) * (1 - t * t)}

    def wrong(x: Arrays) -> Arrays:
        t = np.tanh(wide(x["u"]) / 30)
        p = softmax_rows(np.where(x["keep"], 30 * t, -INF))
        return {"du": p * (wide(x["dy"]) - (p * wide(x["dy"])).sum(-1, keepdims=True))}


for _sk in (1, 127, 129, 137):

    @case(
        f"attn_kv_tail_{_sk}",
        ATTENTION,
        atol=1e-5,
        notes="all scores strongly negative: a zero-scored padding key would dominate",
    )
    class _:
        def inputs(sk: int = _sk) -> Arrays:
            g = rng(f"akt{sk}")
            q = -np.abs(g.standard_normal((1, 2, 5, 16)))
            k = np.abs(g.standard_normal((1, 2, sk, 16)))
            return {"q": (4 * q).astype(F32), "k": k.astype(F32), "v": g.standard_normal((1, 2, sk, 16)).astype(F32)}

        def reference(x: Arrays) -> Arrays:
            return {"out": att(**x), "out_ones": np.ones((1, 2, 5, 16))}

        def wrong(x: Arrays) -> Arrays:
            n = -(-x["k"].shape[2] // 128) * 128 - x["k"].shape[2]
            pad = ((0, 0), (0, 0), (0, n), (0, 0))
            kp, vp = np.pad(x["k"], pad), np.pad(x["v"], pad)
            return {"out": att(x["q"], kp, vp), "out_ones": att(x["q"], kp, np.pad(np.ones_like(x["v"]), pad))}


@case(
    "attn_v_garbage_beyond_len",
    GATHERS,
    atol=1e-6,
    notes="slots past len hold NaN; 0*NaN and NaN + -inf must not reach the output",
)
class _:
    def inputs() -> Arrays:
        x = normal("avg", q=(4, 2, 1, 8), k=(4, 2, 32, 8), v=(4, 2, 32, 8))
        lens = np.array([5, 32, 1, 17], I32)
        for b, n in enumerate(lens):
            x["k"][b, :, n:] = NAN
            x["v"][b, :, n:] = NAN
        return dict(x, lens=lens)

    def reference(x: Arrays) -> Arrays:
        return {"out": np.stack([att(x["q"][b], x["k"][b, :, :n], x["v"][b, :, :n]) for b, n in enumerate(x["lens"])])}

    def wrong(x: Arrays) -> Arrays:
        keep = np.arange(32)[None, None, None, :] < x["lens"][:, None, None, None]
        p = softmax_rows(np.where(keep, scores(x["q"], x["k"]), -INF))
        return {"out": p @ wide(x["v"])}


@case("paged_kv_gather", GATHERS, atol=1e-6, notes="table tail entries are invalid and must not be dereferenced")
class _:
    def inputs() -> Arrays:
        x = normal("pkv", q=(3, 2, 1, 8), kpages=(10, 4, 2, 8), vpages=(10, 4, 2, 8))
        bt = np.array([[7, 2, 2147483647, -1], [0, 9, 3, 5], [4, -1, -1, -1]], I32)
        return dict(x, block_table=bt, lens=np.array([5, 16, 1], I32))

    def reference(x: Arrays) -> Arrays:
        o = []
        for b, n in enumerate(x["lens"]):
            rows = [(x["block_table"][b, t // 4], t % 4) for t in range(n)]
            k = np.stack([x["kpages"][p, r] for p, r in rows], 1)
            v = np.stack([x["vpages"][p, r] for p, r in rows], 1)
            o.append(att(x["q"][b], k, v))
        return {"out": np.stack(o)}
