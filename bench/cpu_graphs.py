"""The operators of `python -m bench cpu` as our graphs, their inputs in the order in which the peers get the arrays."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TypeAlias

from tang_egg import expression as e
from tang_egg import layers, layers_recurrent, layers_rotary, library, library_conv, library_scan, library_sort
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tang_egg.notation import Array

Rows: TypeAlias = "Callable[[Array], Array]"
EPSILON = 1e-5


def matmul(m: int, k: int, n: int) -> Graph:
    a, b = te.input("A", (m, k)), te.input("B", (k, n))
    return graph("matmul", Y=library.matmul(a, b))


def gemv(m: int, k: int) -> Graph:
    x, w = te.input("x", (k,)), te.input("W", (m, k))
    return graph("gemv", Y=library.linear(x, w, transposed=True), inputs=(x, w))


def q8_gemv(m: int, k: int, block: int) -> Graph:
    """Weights of 8 bits with a scale for each block of a row; the blocks are an axis of their own."""
    blocks = k // block
    w, s = te.input("W", (m, blocks, block), "i8"), te.input("S", (m, blocks))
    x = te.input("x", (blocks, block))
    i, b, c = te.index("i", m), te.index("b", blocks), te.index("c", block)
    y = te.sum((b, c), e.cast(w[i, b, c], "real") * s[i, b] * x[b, c])
    return graph("q8_gemv", Y=te.tensor(None, i, y), inputs=(w, s, x))


def _rows(name: str, of: Rows) -> Callable[..., Graph]:
    def build(m: int, n: int) -> Graph:
        return graph(name, Y=of(te.input("X", (m, n))))

    return build


softmax = _rows("softmax", library.softmax)
logsumexp = _rows("logsumexp", library.logsumexp)
variance = _rows("variance", library.variance)
argmax = _rows("argmax", library.argmax)
cumsum = _rows("cumsum", library_scan.cumulative_sum)


def top_k(m: int, n: int, k: int) -> Graph:
    return graph("top_k", Y=library_sort.top_k(te.input("X", (m, n)), k)[0])


def layer_norm(m: int, n: int) -> Graph:
    x, gain, bias = te.input("X", (m, n)), te.input("g", (n,)), te.input("b", (n,))
    return graph("layer_norm", Y=library.layer_norm(x, gain, bias, EPSILON), inputs=(x, gain, bias))


def rms_norm(m: int, n: int) -> Graph:
    x, gain = te.input("X", (m, n)), te.input("g", (n,))
    return graph("rms_norm", Y=library.rms_norm(x, gain, EPSILON), inputs=(x, gain))


def transpose_add(n: int) -> Graph:
    a, b = te.input("A", (n, n)), te.input("B", (n, n))
    i, j = te.indices("i j")
    return graph("transpose_add", Y=te.tensor(None, (i, j), a[j, i] + b[i, j]), inputs=(a, b))


def bias_gelu(m: int, n: int) -> Graph:
    x, bias = te.input("X", (m, n)), te.input("b", (n,))
    i, j = te.indices("i j")
    return graph("bias_gelu", Y=te.tensor(None, (i, j), e.gelu_tanh(x[i, j] + bias[j])), inputs=(x, bias))


def rms_norm_matmul(m: int, k: int, n: int) -> Graph:
    x, gain, w = te.input("X", (m, k)), te.input("g", (k,)), te.input("W", (k, n))
    return graph("rms_norm_matmul", Y=library.linear(library.rms_norm(x, gain, EPSILON), w), inputs=(x, gain, w))


def swiglu(m: int, k: int, h: int) -> Graph:
    x, wg, wu = te.input("X", (m, k)), te.input("Wg", (k, h)), te.input("Wu", (k, h))
    wd = te.input("Wd", (h, k))
    return graph("swiglu", Y=layers.swiglu(x, wg, wu, wd), inputs=(x, wg, wu, wd))


def attention(h: int, n: int, d: int, cap: float | None = None) -> Graph:
    q, k, v = (te.input(name, (h, n, d)) for name in "QKV")
    return graph("attention", Y=layers.attention(q, k, v, causal=True, soft_cap=cap))


def block(n: int, heads: int, keys: int, d: int, hidden: int) -> Graph:
    """RMSNorm, rotary grouped causal attention, RMSNorm, SwiGLU; with both residual sums."""
    width = heads * d
    x, cos, sin = te.input("X", (n, width)), te.input("cos", (n, d // 2)), te.input("sin", (n, d // 2))
    g1, g2 = te.input("g1", (width,)), te.input("g2", (width,))
    wq, wk, wv = (te.input(f"W{c}", (width, m * d)) for c, m in (("q", heads), ("k", keys), ("v", keys)))
    wo, wd = te.input("Wo", (width, width)), te.input("Wd", (hidden, width))
    wg, wu = te.input("Wg", (width, hidden)), te.input("Wu", (width, hidden))
    normed = library.rms_norm(x, g1, EPSILON)
    q, k, v = (layers.project_heads(normed, w, m) for w, m in ((wq, heads), (wk, keys), (wv, keys)))
    q, k = (layers_rotary.rotary(a, cos, sin) for a in (q, k))
    mixed = layers.merge_heads(_grouped(q, k, v, heads, keys, n, d), wo)
    x1 = library.add(x, mixed)
    y = library.add(x1, layers.swiglu(library.rms_norm(x1, g2, EPSILON), wg, wu, wd))
    return graph("block", Y=y, inputs=(x, cos, sin, g1, wq, wk, wv, wo, g2, wg, wu, wd))


def _grouped(q: Array, k: Array, v: Array, heads: int, keys: int, n: int, d: int) -> Array:
    """Query head h attends to key head h // (heads / keys); heads stay one axis."""
    h, i, c = te.index("h", heads), te.index("i", n), te.index("c", d)
    of = e.value(h) // (heads // keys)
    shared = (te.tensor(None, (h, i, c), x[of, i, c], hint="shared") for x in (k, v))
    return layers.attention(q, *shared, causal=True)


def conv3x3(c: int, n: int) -> Graph:
    x, w = te.input("X", (1, c, n, n)), te.input("W", (c, c, 3, 3))
    return graph("conv3x3", Y=library_conv.conv2d(x, w, padding=1), inputs=(x, w))


def depthwise3x3(c: int, n: int) -> Graph:
    x, w = te.input("X", (1, c, n, n)), te.input("W", (c, 1, 3, 3))
    return graph("depthwise3x3", Y=library_conv.conv2d(x, w, padding=1, groups=c), inputs=(x, w))


def embedding_sum(m: int, each: int, v: int, d: int) -> Graph:
    ids, table = te.input("ids", (m, each), "i64"), te.input("T", (v, d))
    return graph("embedding_sum", Y=library.embedding_sum(table, ids), inputs=(ids, table))


def linear_attention(h: int, n: int, d: int) -> Graph:
    """Σ of (q[t] · k[s]) v[s] over s <= t, without a maximum."""
    q, k, v = (te.input(name, (h, n, d)) for name in "QKV")
    b, t, s, c, o = te.index("h", h), te.index("t", n), te.index("s", n), te.index("c", d), te.index("o", d)
    score = te.tensor(None, (b, t, s), te.sum(c, q[b, t, c] * k[b, s, c]), hint="scores")
    y = te.tensor(None, (b, t, o), te.sum(s, score[b, t, s] * v[b, s, o], where=s <= t))
    return graph("linear_attention", Y=y, inputs=(q, k, v))


def linear_recurrence(h: int, n: int, d: int) -> Graph:
    """The same function by its states, the sums of k[s] v[s]ᵀ over s <= t."""
    q, k, v = (te.input(name, (h, n, d)) for name in "QKV")
    b, t, s, c, o = te.index("h", h), te.index("t", n), te.index("s", n), te.index("c", d), te.index("o", d)
    state = te.tensor(None, (b, t, c, o), te.sum(s, k[b, s, c] * v[b, s, o], where=s <= t), hint="state")
    y = te.tensor(None, (b, t, o), te.sum(c, q[b, t, c] * state[b, t, c, o]))
    return graph("linear_recurrence", Y=y, inputs=(q, k, v))


def gru_cell(n: int) -> Graph:
    x, h = te.input("x", (1, n)), te.input("h", (1, n))
    wi, wh = te.input("Wi", (3 * n, n)), te.input("Wh", (3 * n, n))
    bi, bh = te.input("bi", (3 * n,)), te.input("bh", (3 * n,))
    y = layers_recurrent.gru_cell(x, h, wi, wh, bi, bh)
    return graph("gru_cell", Y=y, inputs=(x, h, wi, wh, bi, bh))


def mlp_policy(inputs: int, hidden: int, outputs: int) -> Graph:
    x = te.input("x", (1, inputs))
    sizes = (inputs, hidden, hidden, outputs)
    weights = [
        (te.input(f"W{n}", (after, before)), te.input(f"b{n}", (after,)))
        for n, (before, after) in enumerate(pairwise(sizes))
    ]
    y = x
    for n, (w, bias) in enumerate(weights):
        y = library.linear(y, w, bias, transposed=True)
        if n < 2:
            y = library.pointwise(e.tanh, y)
    return graph("mlp_policy", Y=y, inputs=(x, *(a for pair in weights for a in pair)))
