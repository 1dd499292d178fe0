"""Rows about sums that follow a maximum: softmax, its logarithm, its normaliser, losses and transport plans."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph
from tang_egg.notation import Array
from tests.rows_model import Form, Row, dead_rows, infinite

PASS = frozenset({"cascade.pass"})


def softmax(dtype: str, n: int, m: int) -> Graph:
    """The softmax of rows, each statistic a tensor."""
    i, j = te.indices("i j")
    x = te.input("X", (n, m), dtype)
    top = te.tensor("top", i, te.max(j, x[i, j]))
    weight = te.tensor("weight", (i, j), e.exp(x[i, j] - top[i]))
    total = te.tensor("total", i, te.sum(j, weight[i, j]))
    return graph("softmax", te.tensor("P", (i, j), weight[i, j] / total[i], dtype))


def softmax_masked(dtype: str, n: int, m: int) -> Graph:
    """The softmax of the live elements of rows; a row without one is 0."""
    x, live = te.input("X", (n, m), dtype), te.input("live", (n, m), "bool")
    return graph("softmax_masked", P=library.softmax(x, where=live))


def log_softmax(dtype: str, n: int, m: int) -> Graph:
    """Elements less the logarithm of their summed exponentials."""
    return graph("log_softmax", Y=library.log_softmax(te.input("X", (n, m), dtype)))


def logsumexp(dtype: str, n: int, m: int) -> Graph:
    """The logarithm of summed exponentials, about the maximum."""
    i, j = te.indices("i j")
    x = te.input("X", (n, m), dtype)
    top = te.tensor("top", i, te.max(j, x[i, j]))
    total = te.tensor("total", i, te.sum(j, e.exp(x[i, j] - top[i])))
    return graph("logsumexp", te.tensor("L", i, top[i] + e.log(total[i]), dtype))


def _loss(logits: Array, label: Array, dtype: str, one_hot: bool) -> Array:
    """log Σ exp less the logit of the label, which is read by number or taken out by a sum over classes."""
    t, v = te.indices("t v")
    top = te.tensor("top", t, te.max(v, logits[t, v]))
    total = te.tensor("total", t, te.sum(v, e.exp(logits[t, v] - top[t])))
    own = logits[t, label[t]]
    if one_hot:
        own = te.tensor("own", t, te.sum(v, e.select(e.eq(v, label[t]), logits[t, v], 0.0)))[t]
    return te.tensor("loss", t, top[t] + e.log(total[t]) - own, dtype)


def cross_entropy(dtype: str, n: int, m: int) -> Graph:
    """The loss of each row of logits, its label read by number."""
    x, label = te.input("X", (n, m), dtype), te.input("label", (n,), "i32")
    return graph("cross_entropy", _loss(x, label, dtype, False))


def cross_entropy_one_hot(dtype: str, n: int, m: int) -> Graph:
    """The loss of each row of logits, its label compared with every class."""
    x, label = te.input("X", (n, m), dtype), te.input("label", (n,), "i32")
    return graph("cross_entropy_one_hot", _loss(x, label, dtype, True))


def cross_entropy_head(dtype: str, n: int, m: int, d: int) -> Graph:
    """The loss of hidden states times a vocabulary, the logits a tensor."""
    t, v, k = te.indices("t v k")
    h, w, label = te.input("H", (n, d), dtype), te.input("W", (m, d), dtype), te.input("label", (n,), "i32")
    logits = te.tensor("logits", (t, v), te.sum(k, h[t, k] * w[v, k]))
    return graph("cross_entropy_head", _loss(logits, label, dtype, False))


def sinkhorn(dtype: str, n: int, m: int, rounds: int) -> Graph:
    """Rounds of balancing a transport plan on logarithms: rows, then columns."""
    i, j = te.indices("i j")
    cost = te.input("C", (n, m), dtype)
    f, g = te.input("f", (n,), dtype), te.input("g", (m,), dtype)
    for r in range(1, rounds + 1):
        row = te.tensor(f"row{r}", (i, j), g[j] - cost[i, j])
        top = te.tensor(f"rowtop{r}", i, te.max(j, row[i, j]))
        total = te.tensor(f"rowsum{r}", i, te.sum(j, e.exp(row[i, j] - top[i])))
        f = te.tensor(f"f{r}", i, -(top[i] + e.log(total[i])))
        column = te.tensor(f"column{r}", (j, i), f[i] - cost[i, j])
        top = te.tensor(f"columntop{r}", j, te.max(i, column[j, i]))
        total = te.tensor(f"columnsum{r}", j, te.sum(i, e.exp(column[j, i] - top[j])))
        g = te.tensor(f"g{r}", j, -(top[j] + e.log(total[j])))
    return graph("sinkhorn", f, g)


def sinkhorn_points(dtype: str, n: int, m: int, d: int) -> Graph:
    """One round for points whose cost is half their squared distance, the costs a tensor."""
    i, j, k = te.indices("i j k")
    x, y = te.input("X", (n, d), dtype), te.input("Y", (m, d), dtype)
    g = te.input("g", (m,), dtype)
    apart = te.tensor("apart", (i, j, k), x[i, k] - y[j, k])
    cost = te.tensor("cost", (i, j), te.sum(k, apart[i, j, k] * apart[i, j, k]) * 0.5)
    top = te.tensor("rowtop", i, te.max(j, g[j] - cost[i, j]))
    total = te.tensor("rowsum", i, te.sum(j, e.exp(g[j] - cost[i, j] - top[i])))
    return graph("sinkhorn_points", te.tensor("f", i, -(top[i] + e.log(total[i])), dtype))


ONE_PASS = Form(1, {"X": 1}, (), ((2, 1),), PASS)
HALF_STEPS = Form(2, {"C": 2}, (), ((2, 1), (2, 1)), PASS)
SMALL = {"n": 3, "m": 7}
ROWS = {
    "softmax": Row(softmax, ONE_PASS, {"n": 1024, "m": 512}, SMALL, spoil=infinite("X")),
    "softmax_masked": Row(softmax_masked, ONE_PASS, {"n": 1024, "m": 512}, SMALL, spoil=dead_rows("live")),
    "log_softmax": Row(log_softmax, ONE_PASS, {"n": 256, "m": 4096}, SMALL, spoil=infinite("X")),
    "logsumexp": Row(logsumexp, ONE_PASS, {"n": 1024, "m": 512}, SMALL, spoil=infinite("X")),
    "cross_entropy": Row(cross_entropy, ONE_PASS, {"n": 256, "m": 32000}, SMALL),
    "cross_entropy_one_hot": Row(cross_entropy_one_hot, ONE_PASS, {"n": 256, "m": 32000}, SMALL),
    "cross_entropy_head": Row(
        cross_entropy_head, Form(1, {"W": 2}, (), ((2, 1), (1, 0), (1, 0)), PASS), {"n": 2048, "m": 32000, "d": 256},
        {**SMALL, "d": 5}, machine="units",
    ),
    "sinkhorn": Row(sinkhorn, HALF_STEPS, {"n": 512, "m": 384, "rounds": 1}, {"n": 31, "m": 37, "rounds": 1}),
    "sinkhorn_rounds": Row(
        sinkhorn, Form(4, {"C": 4}, None, ((2, 1),) * 4, PASS), {"n": 8192, "m": 8192, "rounds": 2},
        {"n": 31, "m": 37, "rounds": 2}, machine="units",
    ),
    "sinkhorn_points": Row(
        sinkhorn_points, Form(1, {"X": 1, "Y": 1}, (), ((2, 1), (1, 0)), PASS), {"n": 4096, "m": 4096, "d": 3},
        {**SMALL, "d": 2},
    ),
}  # fmt: skip
