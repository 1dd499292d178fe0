"""Rows that need laws which `tang-discover` found: quotients, logarithms and maxima of shares.

Shares are what softmax gives. `NEEDED` names for each row a law without which it does not have its form.
"""

from __future__ import annotations

from tang_egg import library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tests.rows_model import Form, Row, infinite


def largest_share(dtype: str, n: int, m: int) -> Graph:
    """The largest share of each row."""
    i, j = te.index("i", n), te.index("j", m)
    p = library.softmax(te.input("X", (n, m), dtype))
    return graph("largest_share", te.tensor("C", i, te.max(j, p[i, j]), dtype))


def shares_of_shifted_rows(dtype: str, n: int, m: int) -> Graph:
    """Shares of rows to which something was added row by row."""
    i, j = te.index("i", n), te.index("j", m)
    x, b = te.input("X", (n, m), dtype), te.input("b", (n,), dtype)
    return graph("shares_of_shifted_rows", P=library.softmax(te.tensor("y", (i, j), x[i, j] + b[i])))


def shares_twice(dtype: str, n: int, m: int) -> Graph:
    """Shares of logarithms of shares: the same shares."""
    return graph("shares_twice", P=library.softmax(library.log_softmax(te.input("X", (n, m), dtype))))


def mean_of_some(dtype: str, n: int, m: int) -> Graph:
    """A weighted mean by shares of all elements, taken over some of them; the others keep their part in the maximum."""
    i, j, k = te.index("i", n), te.index("j", m), te.index("k", 64)
    x, v = te.input("X", (n, m), dtype), te.input("V", (m, 64), dtype)
    keep = te.input("keep", (n, m), "bool")
    p = library.softmax(x)
    weighted = te.tensor("weighted", (i, k), te.sum(j, p[i, j] * v[j, k], where=keep[i, j]))
    weight = te.tensor("weight", i, te.sum(j, p[i, j], where=keep[i, j]))
    return graph("mean_of_some", te.tensor("O", (i, k), weighted[i, k] / weight[i], dtype))


SIZES, SMALL = {"n": 1024, "m": 512}, {"n": 3, "m": 7}
ROWS = {
    "largest_share": Row(largest_share, Form(1, {"X": 1}, (), ((2, 1),)), SIZES, SMALL, spoil=infinite("X")),
    "shares_of_shifted_rows": Row(
        shares_of_shifted_rows, Form(1, {"X": 1, "b": 0}, (), ((2, 1),)), SIZES, SMALL,
    ),
    "shares_twice": Row(shares_twice, Form(1, {"X": 1}, (), ((2, 1),)), SIZES, SMALL),
    "mean_of_some": Row(mean_of_some, Form(1, {"X": 2, "V": 1}, (), ((2, 0), (1, 0))), SIZES, SMALL),
}  # fmt: skip
NEEDED = {
    "largest_share": "fold.max_scaled",
    "shares_of_shifted_rows": "scalar.cancel_shift",
    "shares_twice": "scalar.cancel_shift",
    "mean_of_some": "scalar.cancel_scale",
}
