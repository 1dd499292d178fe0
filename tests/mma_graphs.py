"""Graphs whose kernels are streams of products, small enough to run in the NumPy meaning of the kernel IR."""

from __future__ import annotations

from collections.abc import Callable

from tang_egg import expression as e
from tang_egg import layers, layers_attention, library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph


def attend(b: int, h: int, n: int, m: int, d: int, wide: int = 0, padded: bool = False, **options: object) -> Graph:
    """Attention of n queries over m keys; `wide`: columns of the values where they differ from d."""
    q, k = te.input("Q", (b, h, n, d), "bf16"), te.input("K", (b, h, m, d), "bf16")
    v = te.input("V", (b, h, m, wide or d), "bf16")
    if padded:
        options["key_mask"] = te.input("live", (b, m), "bool")
    return graph("attend", O=layers.attention(q, k, v, **options))  # type: ignore[arg-type]


def grouped() -> Graph:
    """Three query heads for each key head."""
    q = te.input("Q", (2, 3, 130, 64), "bf16")
    k, v = (te.input(x, (2, 1, 130, 64), "bf16") for x in "KV")
    return graph("grouped", O=layers.attention(q, k, v, causal=True))


def shared() -> Graph:
    """Six query heads over two key heads, each key head found by a division."""
    q = te.input("Q", (1, 6, 130, 64), "bf16")
    k, v = (te.input(x, (1, 2, 130, 64), "bf16") for x in "KV")
    return graph("shared", O=layers_attention.grouped_attention(q, k, v, causal=True))


def projected(heads: int = 3, d: int = 64) -> Graph:
    """The heads of each row side by side, times a weight."""
    x, w = te.input("X", (heads, 130, d), "bf16"), te.input("W", (72, heads * d), "bf16")
    h, i, c, k = te.index("h", heads), te.index("i", 130), te.index("c", 72), te.index("k", d)
    return graph("projected", te.tensor("Y", (i, c), te.sum((h, k), x[h, i, k] * w[c, h * d + k]), "bf16"))


def multiply(m: int, n: int, k: int, transposed: bool = False, dtype: str = "bf16") -> Graph:
    a, b = te.input("A", (m, k), dtype), te.input("B", (n, k) if transposed else (k, n), dtype)
    return graph("multiply", C=library.linear(a, b, transposed=transposed))


def columns_first(m: int, n: int, k: int) -> Graph:
    """A stored with its rows contiguous."""
    a, b = te.input("A", (k, m), "bf16"), te.input("B", (k, n), "bf16")
    i, j, c = te.index("i", m), te.index("j", n), te.index("c", k)
    return graph("columns_first", te.tensor("C", (i, j), te.sum(c, a[c, i] * b[c, j]), "bf16"))


def batched() -> Graph:
    a, b = te.input("A", (3, 70, 72), "bf16"), te.input("B", (3, 72, 136), "bf16")
    return graph("batched", C=library.matmul(a, b))


def biased() -> Graph:
    x, w, b = te.input("X", (200, 128), "bf16"), te.input("W", (136, 128), "bf16"), te.input("b", (136,), "bf16")
    return graph("biased", Y=library.pointwise(e.gelu, library.linear(x, w, b, transposed=True)))


def gated() -> Graph:
    x, w, u = te.input("X", (200, 192), "bf16"), te.input("G", (192, 256), "bf16"), te.input("U", (192, 256), "bf16")
    return graph("gated", H=layers.swiglu(x, w, u))


def normed(m: int, n: int, k: int) -> Graph:
    x, g, w = te.input("X", (m, k), "bf16"), te.input("g", (k,), "bf16"), te.input("W", (k, n), "bf16")
    return graph("normed", Y=library.linear(library.rms_norm(x, g), w))


def normaliser(m: int, v: int, d: int) -> Graph:
    """The logarithm of the sum of exponentials of H Wᵀ, row by row."""
    h, w = te.input("H", (m, d), "bf16"), te.input("W", (v, d), "bf16")
    return graph("normaliser", L=library.logsumexp(library.linear(h, w, transposed=True)))


def weighted() -> Graph:
    """softmax(A) V: the weights are made from an operand that is copied, not from products."""
    a, v = te.input("A", (130, 200), "bf16"), te.input("V", (200, 72), "bf16")
    return graph("weighted", O=library.matmul(library.softmax(a), v))


def entropy() -> Graph:
    """Σ_j exp(s - max s) · s: a factor beside the exponential that sees the masked scores too."""
    q, k = te.input("Q", (130, 64), "bf16"), te.input("K", (150, 64), "bf16")
    i, j, d = te.index("i", 130), te.index("j", 150), te.index("d", 64)
    s = te.tensor(None, (i, j), te.sum(d, q[i, d] * k[j, d]) * 0.1, "f32")
    m = te.tensor(None, (i,), te.max(j, s[i, j]), "f32")
    return graph("entropy", te.tensor("A", (i,), te.sum(j, e.exp(s[i, j] - m[i]) * s[i, j]), "f32"))


def two_products() -> Graph:
    """softmax((Q1 K1ᵀ + Q2 K2ᵀ) / 10) V."""
    q, k, r, t, v = (te.input(x, (130, 64), "bf16") for x in ("Q1", "K1", "Q2", "K2", "V"))
    i, j, d, c = te.index("i", 130), te.index("j", 130), te.index("d", 64), te.index("c", 64)
    both = (te.sum(d, q[i, d] * k[j, d]) + te.sum(d, r[i, d] * t[j, d])) * 0.1
    weights = library.softmax(te.tensor(None, (i, j), both, "f32"))
    return graph("two_products", te.tensor("O", (i, c), te.sum(j, weights[i, j] * v[j, c]), "bf16"))


def decaying() -> Graph:
    """Σ_{j <= i} exp((j - i) / 20) V[j, c]: weights from positions alone."""
    v = te.input("V", (200, 64), "bf16")
    i, j, c = te.index("i", 200), te.index("j", 200), te.index("c", 64)
    weight = e.exp(e.cast(j - i, "real") * 0.05)
    return graph("decaying", te.tensor("O", (i, c), te.sum(j, weight * v[j, c], where=j <= i), "bf16"))


def _falling(i: te.Index, j: te.Index) -> e.Expression:
    return e.cast(j - i, "real") * 0.0625


MMA: dict[str, Callable[[], Graph]] = {
    "plain": lambda: attend(1, 2, 200, 200, 64),
    "wide rows": lambda: attend(2, 1, 256, 256, 128),
    "causal": lambda: attend(1, 3, 300, 300, 64, causal=True),
    "causal, equal sides": lambda: attend(1, 1, 384, 384, 128, causal=True),
    "causal, more keys": lambda: attend(1, 1, 100, 300, 64, causal=True),
    "window": lambda: attend(1, 2, 400, 400, 64, causal=True, window=128),
    "narrow window": lambda: attend(1, 1, 400, 400, 64, causal=True, window=3),
    "soft cap": lambda: attend(1, 1, 200, 200, 64, soft_cap=20.0),
    "soft cap, causal": lambda: attend(1, 1, 200, 200, 64, soft_cap=20.0, causal=True),
    "falling bias": lambda: attend(1, 1, 256, 256, 64, causal=True, bias=_falling),
    "padded": lambda: attend(2, 1, 200, 200, 64, padded=True),
    "padded, causal": lambda: attend(2, 1, 200, 200, 64, padded=True, causal=True),
    "longest rows": lambda: attend(1, 1, 128, 160, 256),
    "other columns": lambda: attend(1, 1, 130, 70, 64, 80),
    "odd depth": lambda: attend(1, 1, 66, 65, 40),
    "one query": lambda: attend(1, 2, 1, 200, 64),
    "grouped": grouped,
    "shared": shared,
    "product": lambda: multiply(300, 520, 200),
    "product, transposed": lambda: multiply(256, 256, 256, True),
    "product, one row": lambda: multiply(1, 64, 64),
    "product, tf32": lambda: multiply(200, 72, 136, True, "f32"),
    "product, f16": lambda: multiply(100, 64, 96, dtype="f16"),
    "columns first": lambda: columns_first(136, 72, 200),
    "batched": batched,
    "biased": biased,
    "gated": gated,
    "normed": lambda: normed(200, 136, 200),
    "weighted": weighted,
    "entropy": entropy,
    "decaying": decaying,
    "two products": two_products,
    "normaliser, long": lambda: normaliser(200, 520, 320),
    "normaliser": lambda: normaliser(128, 512, 128),
}
