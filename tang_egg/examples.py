"""Example graphs by name, for tests, benchmarks and the command line. No stage of the compiler looks at these names."""

from __future__ import annotations

from collections.abc import Callable

from tang_egg import expression as e
from tang_egg import layers, library
from tang_egg import notation as te
from tang_egg.affine import AffineLike
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tang_egg.notation import Array

_HEADS = (1, 4, 256, 64)


def _inputs(shape: tuple[AffineLike, ...], *names: str) -> tuple[Array, ...]:
    return tuple(te.input(n, shape) for n in names)


def softmax() -> Graph:
    """The softmax of each row."""
    return graph("softmax", P=library.softmax(te.input("X", (1024, 512))))


def softmax_masked() -> Graph:
    """The softmax of the live elements of each row; rows without one are 0."""
    x, live = te.input("X", (1024, 512)), te.input("live", (1024, 512), "bool")
    return graph("softmax_masked", P=library.softmax(x, where=live))


def attention() -> Graph:
    """Attention of 4 heads over 256 keys."""
    return graph("attention", O=layers.attention(*_inputs(_HEADS, "Q", "K", "V")))


def attention_symbolic() -> Graph:
    """Attention with numbers of queries and keys that are known at run time."""
    seq, keys = te.dim("seq", lo=1), te.dim("keys", lo=1)
    q, k, v = te.input("Q", (4, seq, 64)), te.input("K", (4, keys, 64)), te.input("V", (4, keys, 64))
    return graph("attention_symbolic", O=layers.attention(q, k, v))


def attention_causal() -> Graph:
    """Each query sees the keys up to its own place."""
    return graph("attention_causal", O=layers.attention(*_inputs(_HEADS, "Q", "K", "V"), causal=True))


def attention_window() -> Graph:
    """Each query sees the last 64 keys."""
    return graph("attention_window", O=layers.attention(*_inputs(_HEADS, "Q", "K", "V"), causal=True, window=64))


def attention_padded() -> Graph:
    """Keys that `live` marks as padding are outside; a batch element may have none inside."""
    live = te.input("live", (1, 256), "bool")
    return graph("attention_padded", O=layers.attention(*_inputs(_HEADS, "Q", "K", "V"), key_mask=live))


def attention_masked() -> Graph:
    """Attention under a mask of queries and keys."""
    live = te.input("live", (256, 256), "bool")
    return graph("attention_masked", O=layers.attention(*_inputs(_HEADS, "Q", "K", "V"), mask=live))


def attention_bias_inf() -> Graph:
    """A mask given as additive 0 and -inf, as many models do: a row of -inf is NaN."""
    bias = te.input("bias", (256, 256))
    return graph("attention_bias_inf", O=layers.attention(*_inputs(_HEADS, "Q", "K", "V"), bias=bias))


def attention_soft_cap() -> Graph:
    """Scores are bent to stay within ±30."""
    return graph("attention_soft_cap", O=layers.attention(*_inputs(_HEADS, "Q", "K", "V"), causal=True, soft_cap=30.0))


def attention_alibi() -> Graph:
    """Scores fall linearly with the distance of the key."""
    o = layers.attention(*_inputs(_HEADS, "Q", "K", "V"), causal=True, bias=lambda i, j: e.cast(j - i, "real") * 0.0625)
    return graph("attention_alibi", O=o)


def attention_grouped() -> Graph:
    """Four query heads for each of two key heads."""
    q, (k, v) = te.input("Q", (2, 4, 256, 64)), _inputs((2, 1, 256, 64), "K", "V")
    return graph("attention_grouped", O=layers.attention(q, k, v, causal=True))


def attention_decode() -> Graph:
    """One query beside a cache of keys."""
    keys = te.dim("keys", lo=1)
    q, (k, v) = te.input("Q", (8, 1, 64)), _inputs((8, keys, 64), "K", "V")
    return graph("attention_decode", O=layers.attention(q, k, v))


def layernorm_matmul() -> Graph:
    """LayerNorm of each row, then a product."""
    x, g, b, w = te.input("X", (256, 768)), te.input("g", (768,)), te.input("b", (768,)), te.input("W", (768, 512))
    return graph("layernorm_matmul", Y=library.linear(library.layer_norm(x, g, b), w))


def rmsnorm_matmul() -> Graph:
    """RMSNorm of each row, then a product."""
    x, g, w = te.input("X", (256, 768)), te.input("g", (768,)), te.input("W", (768, 512))
    return graph("rmsnorm_matmul", Y=library.linear(library.rms_norm(x, g), w))


def swiglu() -> Graph:
    """The gate and the value of a feed-forward layer, multiplied."""
    x, wg, wu = te.input("X", (256, 512)), te.input("Wg", (512, 1024)), te.input("Wu", (512, 1024))
    return graph("swiglu", H=layers.swiglu(x, wg, wu))


def logsumexp() -> Graph:
    """The logarithm of the summed exponentials of each row."""
    return graph("logsumexp", L=library.logsumexp(te.input("X", (1024, 512))))


def cross_entropy() -> Graph:
    """logsumexp of each row less the logit of its label."""
    x, label = te.input("X", (256, 4096)), te.input("label", (256,), "i32")
    n = te.index("n")
    norm = library.logsumexp(x)
    return graph("cross_entropy", te.tensor("loss", n, norm[n] - x[n, label[n]]))


def variance() -> Graph:
    """The variance of each row."""
    return graph("variance", V=library.variance(te.input("X", (1024, 512))))


def matmul() -> Graph:
    """A product of two matrices."""
    return graph("matmul", C=library.matmul(te.input("A", (256, 384)), te.input("B", (384, 512))))


def square() -> Graph:
    """A matrix times itself."""
    a = te.input("A", (256, 256))
    return graph("square", B=library.matmul(a, a))


def gram() -> Graph:
    """H Hᵀ of a computed H = X W."""
    h = library.linear(te.input("X", (256, 128)), te.input("W", (128, 64)))
    return graph("gram", G=library.gram(h))


def gated_recurrence() -> Graph:
    """h[t] = a[t] h[t - 1] + b[t] in each column."""
    a, b = _inputs((1024, 64), "A", "B")
    return graph("gated_recurrence", H=library.gated_scan(a, b))


def embedding_sum() -> Graph:
    """Sums of gathered rows of a table."""
    table, idx = te.input("table", (1000, 64)), te.input("idx", (128, 16), "i32")
    return graph("embedding_sum", Y=library.embedding_sum(table, idx))


def argmax() -> Graph:
    """The position of the largest element of each row."""
    return graph("argmax", M=library.argmax(te.input("X", (1024, 512))))


def _attend(x: Array, width: int, heads: int, prefix: str) -> Array:
    wq, wk, wv, wo = (te.input(f"{prefix}{n}", (width, width)) for n in ("Wq", "Wk", "Wv", "Wo"))
    q, k, v = (layers.project_heads(x, w, heads, hint) for w, hint in ((wq, "q"), (wk, "k"), (wv, "v")))
    return layers.merge_heads(layers.attention(q, k, v, causal=True), wo)


def transformer_block() -> Graph:
    """RMSNorm, causal attention of 4 heads, RMSNorm, SwiGLU; with both residual sums."""
    return transformer(1)


def transformer(depth: int, tokens: AffineLike = 128, width: int = 256, heads: int = 4) -> Graph:
    """`depth` such blocks, one after the other."""
    x = te.input("X", (tokens, width))
    for n in range(depth):
        p = f"l{n}_" if depth > 1 else ""
        g1, g2 = (te.input(p + g, (width,)) for g in ("g1", "g2"))
        wg, wu = (te.input(p + w, (width, 2 * width)) for w in ("Wg", "Wu"))
        x = library.add(x, _attend(library.rms_norm(x, g1), width, heads, p))
        down = te.input(p + "Wd", (2 * width, width))
        x = library.add(x, layers.swiglu(library.rms_norm(x, g2), wg, wu, down))
    return graph("transformer_block" if depth == 1 else f"transformer_{depth}", Y=x)


def transformer_block_layernorm() -> Graph:
    """LayerNorm, causal attention of 4 heads, LayerNorm, GELU; with both residual sums."""
    width, x = 256, te.input("X", (128, 256))
    g1, b1, g2, b2 = (te.input(n, (width,)) for n in ("g1", "b1", "g2", "b2"))
    w1, w2 = te.input("W1", (width, 4 * width)), te.input("W2", (4 * width, width))
    c1, c2 = te.input("c1", (4 * width,)), te.input("c2", (width,))
    h = library.add(x, _attend(library.layer_norm(x, g1, b1), width, 4, ""))
    y = library.add(h, layers.mlp(library.layer_norm(h, g2, b2), w1, c1, w2, c2))
    return graph("transformer_block_layernorm", Y=y)


EXAMPLES: dict[str, Callable[[], Graph]] = {
    f.__name__: f
    for f in (
        softmax, softmax_masked, attention, attention_symbolic, attention_causal, attention_window, attention_padded,
        attention_masked, attention_bias_inf, attention_soft_cap, attention_alibi, attention_grouped, attention_decode,
        layernorm_matmul, rmsnorm_matmul, swiglu, logsumexp, cross_entropy, variance, matmul, square, gram,
        gated_recurrence, embedding_sum, argmax, transformer_block, transformer_block_layernorm,
    )
}  # fmt: skip
