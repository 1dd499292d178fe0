"""Rows about data that says where to read: embeddings, comparisons with every key, sorted keys, experts."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tests.rows_model import Form, Row


def embedding_norm(dtype: str, n: int, v: int, d: int) -> Graph:
    """A token's row of a table plus its place's, then a norm."""
    t, c = te.indices("t c")
    table, place, idx = te.input("E", (v, d), dtype), te.input("P", (n, d), dtype), te.input("idx", (n,), "i32")
    token = te.tensor("token", (t, c), table[idx[t], c])
    x = te.tensor("x", (t, c), token[t, c] + place[t, c], dtype)
    return graph("embedding_norm", Y=library.layer_norm(x, te.input("g", (d,), dtype), te.input("b", (d,), dtype)))


def embedding_one_hot(dtype: str, n: int, v: int, d: int) -> Graph:
    """An embedding as the product of a matrix of zeros and ones with the table."""
    t, w, c = te.index("t"), te.index("w", v), te.index("c")
    table, idx = te.input("E", (v, d), dtype), te.input("idx", (n,), "i32")
    hot = te.tensor("hot", (t, w), e.select(e.eq(idx[t], w), 1.0, 0.0))
    return graph("embedding_one_hot", te.tensor("Y", (t, c), te.sum(w, hot[t, w] * table[w, c]), dtype))


def gathered_norm(dtype: str, n: int, r: int, m: int, o: int) -> Graph:
    """Norms of all rows, then the product of those that a list names."""
    i, j, t, c = te.indices("i j t c")
    x, w = te.input("X", (n, m), dtype), te.input("W", (m, o), dtype)
    idx = te.input("idx", (r,), "i32")
    square = te.tensor("square", i, te.sum(j, x[i, j] * x[i, j]) / m)
    normed = te.tensor("normed", (i, j), x[i, j] * e.rsqrt(square[i] + 1e-6))
    return graph("gathered_norm", te.tensor("Y", (t, c), te.sum(j, normed[idx[t], j] * w[j, c]), dtype))


def segments(dtype: str, n: int, g: int, d: int) -> Graph:
    """Sums of rows of equal key, every row compared with every key; keys are sorted."""
    s, i, c = te.index("s", g), te.index("i"), te.index("c")
    x, key = te.input("X", (n, d), dtype), te.input("key", (n,), "i32", sorted=True)
    mine = te.tensor("mine", (s, i), e.eq(key[i], s))
    return graph("segments", te.tensor("Y", (s, c), te.sum(i, e.select(mine[s, i], x[i, c], 0.0)), dtype))


def experts(dtype: str, n: int, x: int, k: int, m: int) -> Graph:
    """All experts' products, and the one that a token chose taken out by a sum over experts."""
    t, a, c, j = te.index("t"), te.index("a", x), te.index("c"), te.index("j")
    tokens, w, chosen = te.input("X", (n, k), dtype), te.input("W", (x, k, m), dtype), te.input("chosen", (n,), "i32")
    products = te.tensor("products", (t, a, j), te.sum(c, tokens[t, c] * w[a, c, j]))
    mine = te.tensor("mine", (t, a), e.select(e.eq(chosen[t], a), 1.0, 0.0))
    return graph("experts", te.tensor("Y", (t, j), te.sum(a, mine[t, a] * products[t, a, j]), dtype))


def experts_gated(dtype: str, n: int, x: int, k: int, m: int, r: int) -> Graph:
    """Each token's `r` experts with gates: gates spread over all experts, then a sum over all of them."""
    t, a, c, j, q = te.index("t"), te.index("a", x), te.index("c"), te.index("j"), te.index("q")
    tokens, w = te.input("X", (n, k), dtype), te.input("W", (x, k, m), dtype)
    chosen, gate = te.input("chosen", (n, r), "i32"), te.input("gate", (n, r), dtype)
    spread = te.tensor("spread", (t, a), te.sum(q, e.select(e.eq(chosen[t, q], a), gate[t, q], 0.0)))
    products = te.tensor("products", (t, a, j), te.sum(c, tokens[t, c] * w[a, c, j]))
    return graph("experts_gated", te.tensor("Y", (t, j), te.sum(a, spread[t, a] * products[t, a, j]), dtype))


ROWS = {
    "embedding_norm": Row(
        embedding_norm, Form(1, {}, (), (), gathered=("E",)), {"n": 512, "v": 30000, "d": 768},
        {"n": 3, "v": 5, "d": 7},
        small_form=Form(1, {"E": 1}, (), ((4, 2),), frozenset({"cascade.pass"}), gathered=("E",)),
    ),
    "embedding_one_hot": Row(
        embedding_one_hot, Form(1, {"E": 0}, (), gathered=("E",)), {"n": 512, "v": 4096, "d": 256},
        {"n": 3, "v": 29, "d": 7},
    ),
    "gathered_norm": Row(
        gathered_norm,
        Form(1, {"X": 1, "W": 1}, (), ((2, 0),), frozenset({"view.map_two", "fold.hoist"}), gathered=("X",)),
        {"n": 4096, "r": 256, "m": 768, "o": 512}, {"n": 5, "r": 3, "m": 7, "o": 2},
    ),
    "segments": Row(
        segments, Form(None, {"X": 1}, None, (), absent=("n",), ranged=("X",)), {"n": 65536, "g": 512, "d": 64},
        {"n": 11, "g": 4, "d": 3},
    ),
    "experts": Row(
        experts, Form(1, {"X": 1, "W": 1}, (), ((1, 0),), gathered=("W",)), {"n": 256, "x": 16, "k": 256, "m": 256},
        {"n": 3, "x": 13, "k": 5, "m": 7},
    ),
    "experts_gated": Row(
        experts_gated, Form(None, {"W": 1}, None, (), absent=("x",), gathered=("W",)),
        {"n": 256, "x": 16, "k": 256, "m": 256, "r": 2}, {"n": 3, "x": 4, "k": 5, "m": 7, "r": 2},
    ),
}  # fmt: skip
