"""Rows about prefixes: sums so far, recurrences, and attention without a maximum, in chunks."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tests.rows_model import Form, Row


def cumulative_sum(dtype: str, n: int, m: int) -> Graph:
    """Every prefix summed anew."""
    i, t, s = te.index("i"), te.index("t", m), te.index("s", m)
    x = te.input("X", (n, m), dtype)
    return graph("cumulative_sum", te.tensor("Y", (i, t), te.sum(s, x[i, s], where=s <= t), dtype))


def gated_recurrence(dtype: str, n: int, m: int) -> Graph:
    """h[t] = a[t] h[t - 1] + b[t] in each column."""
    a, b = te.input("A", (n, m), dtype), te.input("B", (n, m), dtype)
    return graph("gated_recurrence", H=library.gated_scan(a, b))


def linear_attention(dtype: str, n: int, d: int, c: int) -> Graph:
    """Products of queries and earlier keys weight the values: quadratic as written."""
    t, s, k, o = te.index("t", n), te.index("s", n), te.index("k"), te.index("o")
    q, key, v = te.input("Q", (n, d), dtype), te.input("K", (n, d), dtype), te.input("V", (n, c), dtype)
    score = te.tensor("score", (t, s), te.sum(k, q[t, k] * key[s, k]))
    return graph("linear_attention", te.tensor("O", (t, o), te.sum(s, score[t, s] * v[s, o], where=s <= t), dtype))


def retention(dtype: str, n: int, d: int, c: int) -> Graph:
    """The same with weights that fade with the distance."""
    t, s, k, o = te.index("t", n), te.index("s", n), te.index("k"), te.index("o")
    q, key, v = te.input("Q", (n, d), dtype), te.input("K", (n, d), dtype), te.input("V", (n, c), dtype)
    score = te.tensor("score", (t, s), te.sum(k, q[t, k] * key[s, k]))
    fade = e.exp(e.cast(t - s, "real") * -0.03)
    body = te.sum(s, fade * score[t, s] * v[s, o], where=s <= t)
    return graph("retention", te.tensor("O", (t, o), body, dtype))


def state_space_dual(dtype: str, n: int, d: int, c: int) -> Graph:
    """The same with a decay that each step chooses: weights exp(A[t] - A[s]) of summed logarithms."""
    t, s, r, k, o = te.index("t", n), te.index("s", n), te.index("r", n), te.index("k"), te.index("o")
    q, key, v = te.input("C", (n, d), dtype), te.input("B", (n, d), dtype), te.input("X", (n, c), dtype)
    step = te.input("step", (n,), dtype)
    log_decay = te.tensor("log_decay", r, -e.softplus(step[r]))
    total = te.tensor("total", t, te.sum(r, log_decay[r], where=r <= t))
    score = te.tensor("score", (t, s), te.sum(k, q[t, k] * key[s, k]))
    body = te.sum(s, e.exp(total[t] - total[s]) * score[t, s] * v[s, o], where=s <= t)
    return graph("state_space_dual", te.tensor("Y", (t, o), body, dtype))


LONG, SMALL = {"n": 4096, "d": 32, "c": 32}, {"n": 7, "d": 3, "c": 5}
STATE = frozenset({"scan.chunks", "fold.reassociate"})
DECAY = STATE | {"scalar.exp_between", "scan.decay"}
GATES = DECAY | {"scan.prefix", "scan.chunk"}


def _states(name: str, laws: frozenset[str], passes: dict[str, int], *others: str, scans: int = 1) -> Form:
    """States of chunks and the sums that they lead to are stored, and nothing that has the extent n twice."""
    stored = (f"{name}_added", f"{name}_state", f"{name}_chunks", *others)
    return Form(len(stored) + 1, passes, stored, (), laws, scans=scans)


ROWS = {
    "cumulative_sum": Row(
        cumulative_sum, Form(1, {"X": 1}, (), ((1, 0),), frozenset({"scan.prefix", "scan.chunk"}), scans=1),
        {"n": 4, "m": 1 << 16}, {"n": 3, "m": 7}, chunk={"X:1": 64}, small_chunk={"X:1": 3},
    ),
    "gated_recurrence": Row(
        gated_recurrence, Form(1, {"A": 1, "B": 1}, (), ((2, 0),), frozenset({"scan.prefix"}), scans=1),
        {"n": 4096, "m": 64}, {"n": 7, "m": 2},
    ),
    "linear_attention": Row(
        linear_attention, _states("O", STATE, {"K": 2, "V": 2}), LONG, SMALL, chunk={"K:0": 64}, small_chunk={"K:0": 3},
    ),
    "retention": Row(
        retention, _states("O", DECAY, {"K": 2, "V": 2}), LONG, SMALL, chunk={"K:0": 64}, small_chunk={"K:0": 2},
    ),
    "state_space_dual": Row(
        state_space_dual, _states("Y", GATES, {"B": 2, "X": 2}, "total", scans=2), LONG, SMALL,
        chunk={"B:0": 64}, small_chunk={"B:0": 3},
    ),
}  # fmt: skip
