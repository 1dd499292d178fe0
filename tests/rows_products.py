"""Rows about products: what comes before or after them is computed where they are."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tang_egg.layers_recurrent import gru_cell
from tang_egg.library_quant import dequantize_int4
from tang_egg.notation import Array
from tests.rows_model import Form, Row


def matmul(dtype: str, n: int, k: int, m: int) -> Graph:
    """A product of two matrices."""
    i, c, j = te.indices("i c j")
    a, b = te.input("A", (n, k), dtype), te.input("B", (k, m), dtype)
    return graph("matmul", te.tensor("C", (i, j), te.sum(c, a[i, c] * b[c, j]), dtype))


def swiglu(dtype: str, n: int, k: int, m: int) -> Graph:
    """Gate, value, the gate's activation and the product: a tensor each."""
    i, c, j = te.indices("i c j")
    x, wg, wu = te.input("X", (n, k), dtype), te.input("Wg", (k, m), dtype), te.input("Wu", (k, m), dtype)
    gate = te.tensor("gate", (i, j), te.sum(c, x[i, c] * wg[c, j]))
    up = te.tensor("up", (i, j), te.sum(c, x[i, c] * wu[c, j]))
    active = te.tensor("active", (i, j), gate[i, j] / (1.0 + e.exp(-gate[i, j])))
    return graph("swiglu", te.tensor("H", (i, j), active[i, j] * up[i, j], dtype))


def mlp(dtype: str, n: int, k: int, m: int) -> Graph:
    """Product, bias, activation, product, bias: a tensor each."""
    i, c, j, o = te.indices("i c j o")
    x, w1, w2 = te.input("X", (n, k), dtype), te.input("W1", (k, m), dtype), te.input("W2", (m, k), dtype)
    b1, b2 = te.input("b1", (m,), dtype), te.input("b2", (k,), dtype)
    product = te.tensor("product", (i, j), te.sum(c, x[i, c] * w1[c, j]))
    biased = te.tensor("biased", (i, j), product[i, j] + b1[j])
    active = te.tensor("active", (i, j), e.gelu(biased[i, j]))
    out = te.tensor("out", (i, o), te.sum(j, active[i, j] * w2[j, o]))
    return graph("mlp", te.tensor("Y", (i, o), out[i, o] + b2[o], dtype))


def gru(dtype: str, n: int, k: int, h: int) -> Graph:
    """One step of a gated cell from stacked weights."""
    x, s = te.input("X", (n, k), dtype), te.input("S", (n, h), dtype)
    w, u = te.input("W", (3 * h, k), dtype), te.input("U", (3 * h, h), dtype)
    b, c = te.input("b", (3 * h,), dtype), te.input("c", (3 * h,), dtype)
    return graph("gru", H=gru_cell(x, s, w, u, b, c))


def gru_by_hand(dtype: str, n: int, k: int, h: int) -> Graph:
    """One step of a gated cell, a matrix for each gate and a tensor for each product."""
    b, i, s, u = te.indices("b i s u")
    x, state = te.input("X", (n, k), dtype), te.input("S", (n, h), dtype)

    def product(gate: str) -> tuple[Array, Array]:
        w, v = te.input(f"W{gate}", (h, k), dtype), te.input(f"U{gate}", (h, h), dtype)
        fresh = te.tensor(f"fresh_{gate}", (b, u), te.sum(i, x[b, i] * w[u, i]))
        kept = te.tensor(f"kept_{gate}", (b, u), te.sum(s, state[b, s] * v[u, s]))
        return fresh, kept

    (xr, hr), (xz, hz), (xn, hn) = product("r"), product("z"), product("n")
    reset = te.tensor("reset", (b, u), e.sigmoid(xr[b, u] + hr[b, u]))
    update = te.tensor("update", (b, u), e.sigmoid(xz[b, u] + hz[b, u]))
    new = te.tensor("new", (b, u), e.tanh(xn[b, u] + reset[b, u] * hn[b, u]))
    out = (1.0 - update[b, u]) * new[b, u] + update[b, u] * state[b, u]
    return graph("gru_by_hand", te.tensor("H", (b, u), out, dtype))


def int8_blocks(dtype: str, n: int, k: int, m: int, block: int) -> Graph:
    """Weights of 8 bits with a scale for each block of inputs, made real before the product."""
    i, j, c, p = te.index("i"), te.index("j"), te.index("c", block), te.index("p", k // block)
    x, q = te.input("X", (n, k), dtype), te.input("q", (m, k), "i8")
    scale = te.input("scale", (m, k // block), dtype)
    at = p * block + c
    w = te.tensor("w", (j, p, c), e.cast(q[j, at], "real") * scale[j, p])
    return graph("int8_blocks", te.tensor("Y", (i, j), te.sum((p, c), x[i, at] * w[j, p, c]), dtype))


def int8_columns(dtype: str, n: int, k: int, m: int) -> Graph:
    """Weights of 8 bits with a scale for each column, made real before the product."""
    i, c, j = te.indices("i c j")
    x, q, s = te.input("X", (n, k), dtype), te.input("q", (k, m), "i8"), te.input("scale", (m,), dtype)
    w = te.tensor("w", (c, j), e.cast(q[c, j], "real") * s[j])
    return graph("int8_columns", te.tensor("Y", (i, j), te.sum(c, x[i, c] * w[c, j]), dtype))


def int4_blocks(dtype: str, n: int, k: int, m: int, block: int) -> Graph:
    """Two weights of 4 bits in a byte with a scale for each block, made real before the product."""
    i, j, c = te.indices("i j c")
    x, q = te.input("X", (n, k), dtype), te.input("q", (m, k // 2), "u8")
    w = dequantize_int4(q, te.input("scale", (m, k // block), dtype), block=block)
    return graph("int4_blocks", te.tensor("Y", (i, j), te.sum(c, x[i, c] * w[j, c]), dtype))


def optimizer_step(dtype: str, n: int, k: int, m: int) -> Graph:
    """A weight gradient and what an optimizer with two moments makes of it, state and weights donated."""
    t, i, j = te.indices("t i j")
    x, dy = te.input("X", (n, k), dtype), te.input("dY", (n, m), dtype)
    w, first, second = (te.input(s, (k, m), "f32", donated=True) for s in ("W", "M", "V"))
    gradient = te.tensor("gradient", (i, j), te.sum(t, x[t, i] * dy[t, j]))
    m2 = te.tensor("M2", (i, j), 0.9 * first[i, j] + 0.1 * gradient[i, j], into=first)
    v2 = te.tensor("V2", (i, j), 0.99 * second[i, j] + 0.01 * gradient[i, j] * gradient[i, j], into=second)
    w2 = w[i, j] - 0.001 * m2[i, j] / (e.sqrt(v2[i, j]) + 1e-8)
    return graph("optimizer_step", te.tensor("W2", (i, j), w2, into=w), m2, v2)


def momentum_step(dtype: str, n: int, k: int, m: int) -> Graph:
    """A weight gradient and a step along its running mean, the gradient read nowhere else."""
    t, i, j = te.indices("t i j")
    x, dy = te.input("X", (n, k), dtype), te.input("dY", (n, m), dtype)
    w, state = te.input("W", (k, m), dtype), te.input("M", (k, m), dtype)
    gradient = te.tensor("gradient", (i, j), te.sum(t, x[t, i] * dy[t, j]))
    moved = te.tensor("moved", (i, j), 0.9 * state[i, j] + gradient[i, j])
    return graph("momentum_step", te.tensor("W2", (i, j), w[i, j] - 0.01 * moved[i, j], dtype))


SIZES, SMALL = {"n": 256, "k": 512, "m": 1024}, {"n": 3, "k": 5, "m": 7}
TOKENS = {"n": 8, "k": 4096, "m": 4096}
CELL, SMALL_CELL = {"n": 64, "k": 128, "h": 256}, {"n": 3, "k": 5, "h": 4}
PARTS = frozenset({"precision.halves", "precision.distribute"})
STEP = Form(1, {"X": 1, "dY": 1}, (), ((1, 0),))
ROWS = {
    "matmul_split_k": Row(
        matmul, Form(2, {"A": 1, "B": 1}, None, (), frozenset({"fold.split"}), absent=("k",)),
        {"n": 16, "k": 1 << 16, "m": 16}, {"n": 3, "k": 13, "m": 5}, split={"A:1": 4},
    ),
    "matmul_high_low": Row(
        matmul, Form(1, {"A": 1, "B": 1}, (), ((1, 0),), PARTS), SIZES, SMALL, products="bf16x3", error=1e-4,
        dtypes=("f32",),
    ),
    "matmul_three_parts": Row(
        matmul, Form(1, {"A": 1, "B": 1}, (), ((1, 0),), PARTS), SIZES, SMALL, products="bf16x6", error=1e-6,
        dtypes=("f32",),
    ),
    "swiglu": Row(swiglu, Form(1, {"X": 1, "Wg": 1, "Wu": 1}, (), ((2, 0),)), SIZES, SMALL),
    "mlp": Row(
        mlp, Form(2, {"X": 1, "W1": 1, "W2": 1}, ("active",), ((1, 0), (1, 0))), SIZES, SMALL,
        small_form=Form(1, {"X": 1, "W1": 1, "W2": 1}, (), ((1, 0), (1, 0))),
    ),
    "gru": Row(gru, Form(1, {"X": 1, "S": 1, "W": 1, "U": 1}, (), ((3, 0), (3, 0))), CELL, SMALL_CELL),
    "gru_by_hand": Row(gru_by_hand, Form(1, {"X": 1, "S": 1}, (), ((3, 0), (3, 0))), CELL, SMALL_CELL),
    "int8_columns": Row(
        int8_columns, Form(1, {"q": 1, "X": 1}, (), ((1, 0),), frozenset({"fold.hoist"})), TOKENS, SMALL
    ),
    "int8_blocks": Row(
        int8_blocks, Form(1, {"q": 1, "X": 1, "scale": 1}), {**TOKENS, "block": 32},
        {"n": 3, "k": 6, "m": 5, "block": 3},
    ),
    "int4_blocks": Row(
        int4_blocks, Form(1, {"q": 1, "X": 1, "scale": 1}), {**TOKENS, "n": 1, "block": 32},
        {"n": 3, "k": 8, "m": 5, "block": 4},
    ),
    "optimizer_step": Row(optimizer_step, STEP, SIZES, SMALL),
    "momentum_step": Row(momentum_step, STEP, SIZES, SMALL),
}  # fmt: skip
