"""The operators of `python -m bench cpu` as formulas, each written once against the few names of an adapter.

An adapter B spells these names in one library: cat, where, exp, tanh, einsum, sigmoid, silu, gelu, swap (the last two
axes), perm (the first two), tri (a lower triangle of true), rep (repeats along axis 0), f32, sum, cumsum, take,
softmax, logsumexp, var, argmax, topk (10 sorted values), layernorm, rmsnorm, conv, dwconv. Where it has `attention`,
`gru`, `bag` or `scan`, the library's own function is used. Fixed: gelu is the tanh form, variances divide by n,
epsilon is 1e-5, weights are [inputs, outputs] unless a name says otherwise.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

Adapter: TypeAlias = Any
X: TypeAlias = Any
CHUNK = 64


def matmul(B: Adapter, a: X, b: X) -> X:
    return a @ b


def gemv(B: Adapter, x: X, w: X) -> X:
    return w @ x


def q8_gemv(B: Adapter, w: X, s: X, x: X) -> X:
    """w int8 [outputs, blocks, 32], s [outputs, blocks], x [blocks, 32]."""
    return B.sum(B.sum(B.f32(w) * x, -1) * s, -1)


def softmax(B: Adapter, x: X) -> X:
    return B.softmax(x)


def logsumexp(B: Adapter, x: X) -> X:
    return B.logsumexp(x)


def variance(B: Adapter, x: X) -> X:
    return B.var(x)


def argmax(B: Adapter, x: X) -> X:
    return B.argmax(x)


def top_k(B: Adapter, x: X) -> X:
    return B.topk(x)


def cumsum(B: Adapter, x: X) -> X:
    return B.cumsum(x, 1)


def layer_norm(B: Adapter, x: X, gain: X, bias: X) -> X:
    return B.layernorm(x, gain, bias)


def rms_norm(B: Adapter, x: X, gain: X) -> X:
    return B.rmsnorm(x, gain)


def transpose_add(B: Adapter, a: X, b: X) -> X:
    return B.swap(a) + b


def bias_gelu(B: Adapter, x: X, b: X) -> X:
    return B.gelu(x + b)


def rms_norm_matmul(B: Adapter, x: X, gain: X, w: X) -> X:
    return B.rmsnorm(x, gain) @ w


def swiglu(B: Adapter, x: X, wg: X, wu: X, wd: X) -> X:
    return (B.silu(x @ wg) * (x @ wu)) @ wd


def attention(B: Adapter, q: X, k: X, v: X, cap: float = 0.0) -> X:
    """Causal; heads of k and v are shared where there are fewer of them."""
    if not cap and hasattr(B, "attention"):
        return B.attention(q, k, v)
    if k.shape[0] != q.shape[0]:
        k, v = (B.rep(y, q.shape[0] // y.shape[0]) for y in (k, v))
    s = (q @ B.swap(k)) * (q.shape[-1] ** -0.5)
    if cap:
        s = B.tanh(s * (1 / cap)) * cap
    return B.softmax(B.where(B.tri(q.shape[1]), s, -math.inf)) @ v


def softcap_attention(B: Adapter, q: X, k: X, v: X) -> X:
    return attention(B, q, k, v, 50.0)


def rotary(B: Adapter, x: X, cos: X, sin: X) -> X:
    half = x.shape[-1] // 2
    a, b = x[:, :, :half], x[:, :, half:]
    return B.cat([a * cos - b * sin, b * cos + a * sin], -1)


def block(
    B: Adapter, x: X, cos: X, sin: X, g1: X, wq: X, wk: X, wv: X, wo: X, g2: X, wg: X, wu: X, wd: X
) -> X:  # fmt: skip
    """RMSNorm, rotary grouped causal attention, RMSNorm, SwiGLU; with both residual sums."""
    n, d = x.shape[0], 2 * cos.shape[-1]

    def heads(t: X) -> X:
        return B.perm(t.reshape(n, t.shape[-1] // d, d))

    h = B.rmsnorm(x, g1)
    o = attention(B, rotary(B, heads(h @ wq), cos, sin), rotary(B, heads(h @ wk), cos, sin), heads(h @ wv))
    x = x + B.perm(o).reshape(n, x.shape[1]) @ wo
    return x + swiglu(B, B.rmsnorm(x, g2), wg, wu, wd)


def conv3x3(B: Adapter, x: X, w: X) -> X:
    return B.conv(x, w)


def depthwise3x3(B: Adapter, x: X, w: X) -> X:
    return B.dwconv(x, w)


def embedding_sum(B: Adapter, ids: X, table: X) -> X:
    return B.bag(table, ids) if getattr(B, "bag", None) else B.sum(B.take(table, ids), 1)


def linear_recurrence(B: Adapter, q: X, k: X, v: X) -> X:
    """Literally: a state that takes k[t] v[t]ᵀ at each step, and is asked by q[t]."""
    if hasattr(B, "scan"):
        return B.scan(q, k, v)
    state: X = 0
    out = []
    for t in range(q.shape[1]):
        state = state + k[:, t, :, None] * v[:, t, None, :]
        out.append(q[:, t, None, :] @ state)
    return B.cat(out, 1)


def linear_attention(B: Adapter, q: X, k: X, v: X) -> X:
    """The same function in chunks of 64, by products of matrices."""
    h, n, d = q.shape
    c = math.gcd(n, CHUNK)
    q, k, v = (x.reshape(h, n // c, c, d) for x in (q, k, v))
    kv = B.swap(k) @ v
    inside = B.where(B.tri(c), q @ B.swap(k), 0.0) @ v
    return (q @ (B.cumsum(kv, 1) - kv) + inside).reshape(h, n, d)


def gru_cell(B: Adapter, x: X, h: X, wi: X, wh: X, bi: X, bh: X) -> X:
    if getattr(B, "gru", None):
        return B.gru(x, h, wi, wh, bi, bh)
    a, b, n = x @ B.swap(wi) + bi, h @ B.swap(wh) + bh, h.shape[-1]
    r, z = B.sigmoid(a[:, :n] + b[:, :n]), B.sigmoid(a[:, n : 2 * n] + b[:, n : 2 * n])
    new = B.tanh(a[:, 2 * n :] + r * b[:, 2 * n :])
    return new + z * (h - new)


def mlp_policy(B: Adapter, x: X, w0: X, b0: X, w1: X, b1: X, w2: X, b2: X) -> X:
    """Two hidden layers with tanh; weights are [outputs, inputs]."""
    for w, b in ((w0, b0), (w1, b1)):
        x = B.tanh(x @ B.swap(w) + b)
    return x @ B.swap(w2) + b2
