"""Small programs in which data says where to read: comparisons of indices with data, sorted keys, experts."""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import layers
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.ir import Graph


def one_hot() -> Graph:
    """Sums over an index that is compared with data, or with another index, on either side and shifted."""
    t, w, c, u = te.index("t", 3), te.index("w", 5), te.index("c", 2), te.index("u", 5)
    table, idx, live = te.input("E", (5, 2)), te.input("idx", (3,), "i32"), te.input("live", (3, 5), "bool")
    square, row = te.input("S", (5, 5)), te.input("row", (3, 5), "i64")
    perm = te.input("perm", (5,), "i32")
    here = e.eq(idx[t], e.value(w))
    hot = te.tensor("hot", (t, w), e.cast(here, "real"))
    sums = {
        "product": te.sum(w, hot[t, w] * table[w, c]),
        "turned": te.sum(w, table[w, c] * e.select(e.eq(e.value(w), idx[t]), 1.0, 0.0)),
        "shifted": te.sum(w, table[w, c], where=e.eq(e.cast(idx[t], "i64"), e.value(w + 1))),
        "shifted_turned": te.sum(w, table[w, c], where=(live[t, w], e.eq(e.value(w - 1), e.cast(idx[t], "i64")))),
        "among": te.max(w, table[w, c], where=(live[t, w], here)),
        "before": te.sum(w, table[w, c] * e.cast(row[t, w], "real"), where=(here, live[t, w])),
        "placed": te.sum(w, e.cast(w, "real") * table[w, c], where=here),
        "chosen": te.sum(w, e.select(live[0, w], table[w, c], 0.5), where=here),
        "again": te.sum(w, table[perm[w], c], where=here),
        "both": te.sum((c, w), table[w, c], where=(here, e.ne(idx[t], 0))),
    }
    made = [te.tensor(n, (t, c) if n != "both" else (t,), s) for n, s in sums.items()]
    diagonal = te.sum((u, w), square[u, w], where=(e.eq(u, w),))
    traced = te.sum(w, square[u, w] * e.exp(square[w, u]), where=(e.eq(w, u), live[0, w]))
    fixed = te.sum(w, square[u, w], where=(live[1, w], e.eq(e.value(w), e.constant(3))))
    nested = te.sum(w, te.sum(c, table[w, c], where=(live[t, w], here)))
    behind = te.sum(w, te.sum(c, table[w, c], where=(here, e.value(c) <= idx[t])))
    made += [te.tensor("diagonal", (), diagonal), te.tensor("traced", u, traced), te.tensor("fixed", u, fixed)]
    return graph("one_hot", *made, te.tensor("nested", t, nested), te.tensor("behind", t, behind))


def experts() -> Graph:
    """Products of all experts of which data picks: two by name, and several by gates spread over all experts."""
    t, a, c, j, q = te.index("t", 3), te.index("a", 4), te.index("c", 2), te.index("j", 5), te.index("q", 2)
    x, w, chosen = te.input("X", (3, 2)), te.input("W", (4, 2, 5)), te.input("chosen", (3, 2), "i32")
    gate = te.input("gate", (3, 2))
    y = te.tensor("y", (t, a, j), te.sum(c, x[t, c] * w[a, c, j]))
    first = e.select(e.eq(chosen[t, 0], a), gate[t, 0], 0.0)
    second = e.select(e.eq(chosen[t, 1], a), gate[t, 1], 0.0)
    spread = te.tensor("spread", (t, a), te.sum(q, e.select(e.eq(chosen[t, q], a), gate[t, q], 0.0)))
    return graph(
        "experts",
        te.tensor("two", (t, j), te.sum(a, y[t, a, j] * (first + second))),
        te.tensor("gated", (t, j), te.sum(a, spread[t, a] * y[t, a, j])),
        te.tensor("turned", (t, j), te.sum(a, y[t, a, j] * spread[t, a])),
    )


def segments() -> Graph:
    """Sums and maxima over sorted keys of one value, and attention within segments."""
    s, n, c = te.index("s", 3), te.index("n", 7), te.index("c", 2)
    x, key = te.input("X", (7, 2)), te.input("key", (7,), "i32", sorted=True)
    wide = te.input("wide", (7,), "i64", sorted=True)
    return graph(
        "segments",
        te.tensor("total", (s, c), te.sum(n, e.select(e.eq(key[n], s), x[n, c], 0.0))),
        te.tensor("largest", (s, c), te.max(n, x[n, c], where=e.eq(e.value(s), wide[n]))),
    )


def ragged() -> Graph:
    """Attention within segments of one sequence."""
    q, k, v = (te.input(name, (2, 5, 3)) for name in "QKV")
    seg = te.input("seg", (5,), "i32", sorted=True)
    return graph("ragged", O=layers.attention(q, k, v, mask=lambda i, j: e.eq(seg[i], seg[j])))
