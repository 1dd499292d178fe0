"""The graphs of the CUDA cells as a user would write them: naive compositions over inputs of fixed shape."""

from __future__ import annotations

from typing import Any

from tang_egg import expression as e
from tang_egg import layers, library
from tang_egg import notation as te
from tang_egg.affine import Index, affine
from tang_egg.assemble import graph
from tang_egg.ir import Graph

WINDOW, CAP = 128, 20.0


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
    a, b = te.input("A", (m, k), dtype), te.input("B", (n, k) if transposed else (k, n), dtype)
    return graph("matmul_transposed" if transposed else "matmul", C=library.linear(a, b, transposed=transposed))


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
