"""Rows about the largest: where it is, the k of them, and what follows from them, without storing what is compared."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tang_egg.library_sort import top_k
from tang_egg.notation import Array
from tests.rows_model import Form, Row


def _scores(dtype: str, n: int, m: int, d: int) -> Array:
    i, j, k = te.indices("i j k")
    q, key = te.input("Q", (n, d), dtype), te.input("K", (m, d), dtype)
    return te.tensor("scores", (i, j), te.sum(k, q[i, k] * key[j, k]))


def arg_max(dtype: str, n: int, m: int) -> Graph:
    """The position of the largest element of each row, and the element."""
    i, j = te.indices("i j")
    x = te.input("X", (n, m), dtype)
    largest = te.tensor("largest", i, te.max(j, x[i, j]), dtype)
    return graph("arg_max", te.tensor("place", i, te.argmax(j, x[i, j])), largest)


def arg_max_of_product(dtype: str, n: int, m: int, d: int) -> Graph:
    """The key that each query likes best."""
    return graph("arg_max_of_product", place=library.argmax(_scores(dtype, n, m, d)))


def nearest(dtype: str, n: int, m: int, d: int) -> Graph:
    """The centre next to each point: squared differences summed, then the least."""
    i, j, k = te.indices("i j k")
    x, centre = te.input("X", (n, d), dtype), te.input("C", (m, d), dtype)
    difference = te.tensor("difference", (i, j, k), x[i, k] - centre[j, k])
    distance = te.tensor("distance", (i, j), te.sum(k, difference[i, j, k] * difference[i, j, k]))
    return graph("nearest", te.tensor("place", i, te.argmin(j, distance[i, j])))


def top_k_of_product(dtype: str, n: int, m: int, d: int, k: int) -> Graph:
    """The `k` keys that each query likes best, and their scores."""
    best, place = top_k(_scores(dtype, n, m, d), k)
    return graph("top_k_of_product", best=best, place=place)


def softmax_of_top_k(dtype: str, n: int, m: int, k: int) -> Graph:
    """The shares of the `k` largest elements among themselves."""
    best, place = top_k(te.input("X", (n, m), dtype), k)
    return graph("softmax_of_top_k", share=library.softmax(best), place=place)


def share_of_top_k(dtype: str, n: int, m: int, k: int) -> Graph:
    """The shares of the `k` largest elements among all."""
    x = te.input("X", (n, m), dtype)
    i, j, r = te.indices("i j r")
    best, _ = top_k(x, k)
    top = te.tensor("top", i, te.max(j, x[i, j]))
    total = te.tensor("total", i, te.sum(j, e.exp(x[i, j] - top[i])))
    return graph("share_of_top_k", te.tensor("share", (i, r), e.exp(best[i, r] - top[i]) / total[i]))


ROWS = {
    "arg_max": Row(arg_max, Form(1, {"X": 1}, (), (), frozenset()), {"n": 1024, "m": 4096}, {"n": 3, "m": 7}),
    "arg_max_of_product": Row(
        arg_max_of_product, Form(1, {"Q": 1, "K": 1}, (), ((2, 0), (1, 0))), {"n": 2048, "m": 8192, "d": 64},
        {"n": 3, "m": 7, "d": 5}, machine="units",
    ),
    "nearest": Row(
        nearest, Form(1, {"X": 1, "C": 1}, (), ((2, 0), (1, 0))), {"n": 1024, "m": 512, "d": 16},
        {"n": 3, "m": 7, "d": 5},
    ),
    "top_k_of_product": Row(
        top_k_of_product, Form(1, {"Q": 1, "K": 1}, (), ((8, 0), (1, 0))), {"n": 2048, "m": 8192, "d": 64, "k": 4},
        {"n": 3, "m": 7, "d": 5, "k": 4}, machine="units",
    ),
    "softmax_of_top_k": Row(
        softmax_of_top_k, Form(None, {"X": 1}, None, (), absent=("m",)), {"n": 1024, "m": 4096, "k": 4},
        {"n": 3, "m": 7, "k": 2},
    ),
    "share_of_top_k": Row(
        share_of_top_k, Form(1, {"X": 1}, (), (), frozenset({"cascade.pass"})),
        {"n": 64, "m": 1 << 18, "k": 4}, {"n": 3, "m": 7, "k": 2},
    ),
}  # fmt: skip
