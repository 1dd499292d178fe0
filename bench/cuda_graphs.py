"""The graphs of the CUDA cells as a user would write them: naive compositions over inputs of fixed shape."""

from __future__ import annotations

from typing import Any

from tang_egg import expression as e
from tang_egg import layers, layers_attention, layers_rotary, library
from tang_egg import notation as te
from tang_egg.affine import Index, affine
from tang_egg.assemble import graph
from tang_egg.ir import Graph

WINDOW, CAP = 128, 20.0
WIDTH, HEADS, SHARED, INNER = 576, 9, 3, 1536
"""Of the transformer block: its width, query heads, heads of keys and values, and the width of its SwiGLU."""
HEAD = WIDTH // HEADS


def attention(program: str, b: int, h: int, n: int, d: int) -> Graph:
    """q, k, v [b, h, n, d] → O [b, h, n, d]; further inputs: slope[h] of ALiBi, live[b, n] of padded keys."""
    q, k, v = (te.input(x, (b, h, n, d), "bf16") for x in "QKV")
    options: dict[str, dict[str, Any]] = {
        "attention": {},
        "attention_causal": {"causal": True},
        "attention_soft_cap": {"soft_cap": CAP},
        "attention_soft_cap_causal": {"soft_cap": CAP, "causal": True},
        "attention_window": {"causal": True, "window": WINDOW},
        "attention_padded": {"key_mask": te.input("live", (b, n), "bool")},
        "attention_alibi": {"bias": _falling(te.input("slope", (h,), "f32"), n)},
    }
    return graph(program, O=layers.attention(q, k, v, **options[program]))


def _falling(slope: te.Array, n: int) -> te.Array:
    """slope[h] · (j - i), as a tensor over heads, queries and keys."""
    head, i, j = (Index(x, size) for x, size in (("h", slope.shape[0]), ("i", affine(n)), ("j", affine(n))))
    return te.tensor(None, (head, i, j), slope[head] * e.cast(j - i, "real"), "f32", hint="bias")


def gemm(m: int, n: int, k: int, transposed: bool, dtype: str) -> Graph:
    """A B, or A Bᵀ; int8: the exact sums of products, i32; fp8: of f8e4m3, the result in bf16."""
    if dtype in ("int8", "fp8"):
        return _eight(m, n, k, dtype)
    a, b = te.input("A", (m, k), dtype), te.input("B", (n, k) if transposed else (k, n), dtype)
    return graph("matmul_transposed" if transposed else "matmul", C=library.linear(a, b, transposed=transposed))


def _eight(m: int, n: int, k: int, dtype: str) -> Graph:
    kind = "i8" if dtype == "int8" else "f8e4m3"
    a, b = te.input("A", (m, k), kind), te.input("B", (n, k), kind)
    i, j, c = te.index("i", m), te.index("j", n), te.index("c", k)
    x, y = (e.cast(v, "i32") if dtype == "int8" else v for v in (a[i, c], b[j, c]))
    total = te.sum(c, x * y)
    return graph("matmul_transposed", te.tensor("C", (i, j), total, "i32" if dtype == "int8" else "bf16"))


def cross_entropy(n: int, d: int, v: int) -> Graph:
    """logsumexp over the vocabulary of H Wᵀ, less the logit of each row's label; loss f32 [n]."""
    hidden, weight = te.input("H", (n, d), "bf16"), te.input("W", (v, d), "bf16")
    label = te.input("label", (n,), "i32")
    row, word, c = te.indices("n v c")
    logits = te.tensor(None, (row, word), te.sum(c, hidden[row, c] * weight[word, c]), "f32", hint="logits")
    norm = library.logsumexp(logits)
    return graph("cross_entropy", te.tensor("loss", row, norm[row] - logits[row, label[row]]))


def rmsnorm_matmul(m: int, n: int, k: int) -> Graph:
    x, g, w = te.input("X", (m, k), "bf16"), te.input("g", (k,), "bf16"), te.input("W", (k, n), "bf16")
    return graph("rmsnorm_matmul", Y=library.linear(library.rms_norm(x, g), w))


def gemm_bias_gelu(m: int, n: int, k: int) -> Graph:
    """gelu(X W + b) with the error function."""
    x, w, b = te.input("X", (m, k), "bf16"), te.input("W", (k, n), "bf16"), te.input("b", (n,), "bf16")
    return graph("gemm_bias_gelu", Y=library.pointwise(e.gelu, library.linear(x, w, b)))


def swiglu(m: int, n: int, k: int) -> Graph:
    """silu(X Wgᵀ) · (X Wuᵀ), weights stored [n, k]."""
    x, wg, wu = te.input("X", (m, k), "bf16"), te.input("Wg", (n, k), "bf16"), te.input("Wu", (n, k), "bf16")
    gate, up = (library.linear(x, w, transposed=True, hint=hint) for w, hint in ((wg, "gate"), (wu, "up")))
    return graph("swiglu", H=library.pointwise(lambda a, b: e.silu(a) * b, gate, up))


def decode(b: int, hk: int, group: int, n: int, d: int) -> Graph:
    """One query of each of hk · group heads: those that share keys beside each other, Q [b, hk, group, d]."""
    q, (k, v) = te.input("Q", (b, hk, group, d), "bf16"), (te.input(x, (b, hk, n, d), "bf16") for x in "KV")
    return graph("decode", O=layers.attention(q, k, v))


def linear_attention(b: int, h: int, n: int, d: int) -> Graph:
    """Attention without a softmax over what came before: O[t] = Σ_{s ≤ t} (Q[t] · K[s]) V[s], quadratic as written."""
    return graph("linear_attention", _weighted(b, h, n, d, None))


def ssd(b: int, h: int, n: int, d: int) -> Graph:
    """The same with a decay that each step chooses: weights exp(L[t] - L[s]) of summed logarithms g [b, h, n]."""
    return graph("ssd", _weighted(b, h, n, d, te.input("g", (b, h, n), "f32")))


def _weighted(b: int, h: int, n: int, d: int, g: te.Array | None) -> te.Array:
    q, k, v = (te.input(x, (b, h, n, d), "bf16") for x in "QKV")
    (i, a), c = (Index("b", affine(b)), Index("h", affine(h))), Index("c", affine(d))
    t, s, r = (Index(x, affine(n)) for x in "tsr")
    x = te.index("x")
    weight = te.tensor(None, (i, a, t, s), te.sum(x, q[i, a, t, x] * k[i, a, s, x]), hint="score")[i, a, t, s]
    if g is not None:
        total = te.tensor(None, (i, a, t), te.sum(r, g[i, a, r], where=r <= t), hint="total")
        weight = e.exp(total[i, a, t] - total[i, a, s]) * weight
    return te.tensor("O", (i, a, t, c), te.sum(s, weight * v[i, a, s, c], where=s <= t), "bf16")


def block(n: int, dtype: str) -> Graph:
    """RMSNorm, causal attention of grouped heads with rotary positions, RMSNorm, SwiGLU; both residual sums.

    X [n, width]; weights stored [out, in]; tables of the rotary pairs cos, sin [n, head / 2], f32.
    """
    x = te.input("X", (n, WIDTH), dtype)
    g1, g2 = (te.input(name, (WIDTH,), dtype) for name in ("g1", "g2"))
    wq, wo = te.input("Wq", (WIDTH, WIDTH), dtype), te.input("Wo", (WIDTH, WIDTH), dtype)
    wk, wv = (te.input(name, (SHARED * HEAD, WIDTH), dtype) for name in ("Wk", "Wv"))
    wg, wu = (te.input(name, (INNER, WIDTH), dtype) for name in ("Wg", "Wu"))
    wd = te.input("Wd", (WIDTH, INNER), dtype)
    cos, sin = (te.input(name, (n, HEAD // 2), "f32") for name in ("cos", "sin"))
    y = library.rms_norm(x, g1)
    q, k, v = (_heads(y, w, h, hint) for w, h, hint in ((wq, HEADS, "q"), (wk, SHARED, "k"), (wv, SHARED, "v")))
    q, k = (layers_rotary.rotary(t, cos, sin) for t in (q, k))
    o = layers_attention.grouped_attention(q, k, v, causal=True)
    h, i, d = (Index(name, affine(size)) for name, size in (("h", HEADS), ("i", n), ("d", HEAD)))
    c, f = Index("c", affine(WIDTH)), Index("f", affine(INNER))
    merged = te.tensor(None, (i, c), te.sum((h, d), o[0, h, i, d] * wo[c, h * HEAD + d]), dtype, hint="merged")
    x = library.add(x, merged)
    y = library.rms_norm(x, g2)
    gate, up = (library.linear(y, w, transposed=True, hint=hint) for w, hint in ((wg, "gate"), (wu, "up")))
    hidden = te.tensor(None, (i, f), e.silu(gate[i, f]) * up[i, f], dtype, hint="hidden")
    return graph("block", Y=library.add(x, library.linear(hidden, wd, transposed=True, hint="down")))


def _heads(y: te.Array, w: te.Array, heads: int, hint: str) -> te.Array:
    """y [n, width] times w [heads · head, width], as [1, heads, n, head]."""
    sizes = (("b", affine(1)), ("h", affine(heads)), ("i", y.shape[0]), ("d", affine(HEAD)), ("c", y.shape[1]))
    b, h, i, d, c = (Index(name, size) for name, size in sizes)
    return te.tensor(None, (b, h, i, d), te.sum(c, y[i, c] * w[h * HEAD + d, c]), y.dtype, hint=hint)
