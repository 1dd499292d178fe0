"""Small instances of the example programs: the same compositions at sizes that are primes, 1 or 2."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tang_egg import expression as e
from tang_egg import layers, library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.expression import Expression
from tang_egg.ir import Graph
from tang_egg.notation import Array
from tests.laws import programs_gather


def _heads(n: int, *names: str) -> tuple[Array, ...]:
    return tuple(te.input(x, (2, n, 3)) for x in names)


def attention(queries: int = 5, keys: int = 7, **options: object) -> Graph:
    (q,), (k, v) = _heads(queries, "Q"), _heads(keys, "K", "V")
    return graph("attention", O=layers.attention(q, k, v, **options))  # type: ignore[arg-type]


def attention_padded() -> Graph:
    return attention(key_mask=te.input("live", (2, 7), "bool"))


def attention_masked() -> Graph:
    return attention(mask=te.input("live", (5, 7), "bool"))


def attention_bias() -> Graph:
    return attention(bias=te.input("bias", (5, 7)))


def attention_causal() -> Graph:
    return attention(5, 5, causal=True)


def attention_window() -> Graph:
    return attention(7, 7, causal=True, window=3)


def attention_soft_cap() -> Graph:
    return attention(5, 5, causal=True, soft_cap=30.0)


def attention_alibi() -> Graph:
    return attention(5, 5, causal=True, bias=lambda i, j: e.cast(j - i, "real") * 0.0625)


def attention_grouped() -> Graph:
    q, k, v = te.input("Q", (2, 3, 5, 2)), te.input("K", (2, 1, 7, 2)), te.input("V", (2, 1, 7, 3))
    return graph("attention_grouped", O=layers.attention(q, k, v))


def attention_additive_mask() -> Graph:
    """Scores masked by a select of -inf, as a user may write them."""
    i, j = te.indices("i j")
    s, live = te.input("S", (5, 7)), te.input("live", (5, 7), "bool")
    x = te.tensor("x", (i, j), e.select(live[i, j], s[i, j] * 0.5, float("-inf")) + 1.0)
    return graph("attention_additive_mask", P=library.softmax(x))


def softmax() -> Graph:
    return graph("softmax", P=library.softmax(te.input("X", (3, 7))))


def softmax_masked() -> Graph:
    return graph("softmax_masked", P=library.softmax(te.input("X", (3, 7)), where=te.input("live", (3, 7), "bool")))


def logsumexp() -> Graph:
    return graph("logsumexp", L=library.logsumexp(te.input("X", (3, 7))))


def variance() -> Graph:
    return graph("variance", V=library.variance(te.input("X", (3, 7))))


def layernorm_matmul() -> Graph:
    x, g, b, w = te.input("X", (3, 7)), te.input("g", (7,)), te.input("b", (7,)), te.input("W", (7, 5))
    return graph("layernorm_matmul", Y=library.linear(library.layer_norm(x, g, b), w))


def rmsnorm_matmul() -> Graph:
    x, g, w = te.input("X", (3, 7)), te.input("g", (7,)), te.input("W", (7, 5))
    return graph("rmsnorm_matmul", Y=library.linear(library.rms_norm(x, g), w))


def swiglu() -> Graph:
    x, wg, wu = te.input("X", (3, 5)), te.input("Wg", (5, 7)), te.input("Wu", (5, 7))
    return graph("swiglu", H=layers.swiglu(x, wg, wu))


def square() -> Graph:
    a = te.input("A", (5, 5))
    return graph("square", B=library.matmul(a, a))


def gram() -> Graph:
    h = library.linear(te.input("X", (5, 3)), te.input("W", (3, 2)))
    return graph("gram", G=library.gram(h))


def gated_recurrence() -> Graph:
    a, b = te.input("A", (7, 2)), te.input("B", (7, 2))
    return graph("gated_recurrence", H=library.gated_scan(a, b))


def embedding_sum() -> Graph:
    table, idx = te.input("table", (5, 3)), te.input("idx", (2, 7), "i32")
    return graph("embedding_sum", Y=library.embedding_sum(table, idx))


def argmax() -> Graph:
    return graph("argmax", M=library.argmax(te.input("X", (3, 7))))


def cross_entropy() -> Graph:
    x, label = te.input("X", (3, 7)), te.input("label", (3,), "i32")
    n = te.index("n")
    return graph("cross_entropy", te.tensor("loss", n, library.logsumexp(x)[n] - x[n, label[n]]))


def transformer_block() -> Graph:
    """One block with residual sums, every law of normal use at once."""
    x = te.input("X", (3, 4))
    g1, g2, down = te.input("g1", (4,)), te.input("g2", (4,)), te.input("Wd", (5, 4))
    wq, wk, wv, wo = (te.input(n, (4, 4)) for n in ("Wq", "Wk", "Wv", "Wo"))
    normal = library.rms_norm(x, g1)
    q, k, v = (layers.project_heads(normal, w, 2, h) for w, h in ((wq, "q"), (wk, "k"), (wv, "v")))
    h = library.add(x, layers.merge_heads(layers.attention(q, k, v, causal=True), wo))
    wg, wu = te.input("Wg", (4, 5)), te.input("Wu", (4, 5))
    return graph("transformer_block", Y=library.add(h, layers.swiglu(library.rms_norm(h, g2), wg, wu, down)))


# Programs that ask for laws which the ones above have no use for.


def shifted() -> Graph:
    """Folds of shifted, negated and selected values; products of centred values; a maximum of two moving terms."""
    i, j = te.index("i", 3), te.index("j", 7)
    x, y, c = te.input("X", (3, 7)), te.input("Y", (3, 7)), te.input("c", (3,))
    top = te.tensor("top", i, te.max(j, c[i] + x[i, j]))
    low = te.tensor("low", i, te.sum(j, -x[i, j]))
    mean = te.tensor("mean", i, te.sum(j, x[i, j]) / te.size(j))
    both = te.sum(j, (x[i, j] - mean[i]) * (y[i, j] - mean[i]))
    weighted = te.sum(j, y[i, j] * (x[i, j] - mean[i]))
    larger = te.sum(j, e.maximum(x[i, j] - mean[i], y[i, j] - mean[i]))
    damped = te.sum(j, y[i, j] / e.exp(x[i, j] - mean[i]))
    sums = {"both": both, "weighted": weighted, "larger": larger, "damped": damped}
    return graph("shifted", *(te.tensor(n, i, s) for n, s in sums.items()), top, low)


def simple() -> Graph:
    """What the identities of arithmetic and of domains simplify."""
    i, j = te.index("i", 3), te.index("j", 7)
    x, live = te.input("X", (3, 7)), te.input("live", (3, 7), "bool")
    a, low, on, off = x[i, j], float("-inf"), e.constant(True), e.constant(False)
    zero, one = e.constant(0.0), e.constant(1.0)
    scalars = (
        -e.value(-a) * one + zero,
        a * zero,
        a + -a,
        e.exp(zero) * a,
        e.exp(e.constant(low)) + a,
        e.recip(one) * a,
        -zero + a,
        e.select(on, a, zero),
        e.select(off, a, one),
        e.select(live[i, j], a, a),
    )
    masks = (live[i, j] & off, live[i, j] & on, live[i, j] & live[i, j])
    folds = (
        te.sum(j, e.select(live[i, j], zero, a)),
        te.sum(j, -e.select(live[i, j], a, zero)),
        te.prod(j, a),
        te.min(j, a),
        te.all(j, live[i, j]),
        te.any(j, live[i, j]),
        te.sum(j, a) * (1 / 7),
        te.sum(j, e.tanh(a) * e.minimum(a, 0.5)),
        te.logsumexp(j, a) * 2.0,
        te.sum(j, e.select(live[i, j], a, zero) * 3.0),
    )
    outputs = [te.tensor(f"s{n}", (i, j), s) for n, s in enumerate(scalars)]
    outputs += [te.tensor(f"m{n}", (i, j), e.select(m, a, 2.0)) for n, m in enumerate(masks)]
    return graph("simple", *outputs, *(te.tensor(f"f{n}", i, f) for n, f in enumerate(folds)))


def empty() -> Graph:
    """A sum over no points."""
    i, j = te.index("i", 3), te.index("j", 7)
    x = te.input("X", (3, 7))
    return graph("empty", te.tensor("E", i, te.sum(j, x[i, j], where=e.constant(False))))


def positive() -> Graph:
    """What is above 0, of every kind; quotients, logarithms and extrema of it; what is shared drops out."""
    i, j = te.index("i", 3), te.index("j", 7)
    x, y, live = te.input("X", (3, 7)), te.input("Y", (3, 7)), te.input("live", (3, 7), "bool")
    a, b, one = e.exp(x[i, j]), e.exp(y[i, j]), e.constant(1.0)
    total = te.tensor("total", i, te.sum(j, a + b + one))
    kinds = (
        te.max(j, a), te.min(j, b), te.prod(j, a), te.sum(j, e.maximum(a, b)), te.sum(j, e.minimum(a, b)),
        te.sum(j, e.select(live[i, j], a, b)), te.sum(j, e.sqrt(a * b)),
    )  # fmt: skip
    shares = (
        te.max(j, e.recip(total[i]) * x[i, j]),
        te.min(j, e.recip(total[i]) * x[i, j]),
        e.recip(total[i]) * kinds[0] / (e.recip(total[i]) * kinds[1]),
        total[i] / total[i],
    )
    logs = (
        (x[i, j] + y[i, j]) - (y[i, j] + 1.5),
        e.log(e.exp(x[i, j])),
        e.log(a / total[i]),
        e.log(e.recip(total[i])) * a * b,
    )
    folds = [te.tensor(f"k{n}", i, v / te.sum(j, b) + total[i] / v) for n, v in enumerate((*kinds, *shares))]
    return graph("positive", *folds, *(te.tensor(f"l{n}", (i, j), v) for n, v in enumerate(logs)))


def norm_with_bias() -> Graph:
    """A factor that is finished late, in one term of a sum."""
    i, j, c = te.index("i", 3), te.index("j", 7), te.index("c", 2)
    x, g, b, w = te.input("X", (3, 7)), te.input("g", (7,)), te.input("b", (7,)), te.input("W", (7, 2))
    m = te.tensor("m", i, te.sum(j, x[i, j]) / 7)
    v = te.tensor("v", i, te.sum(j, (x[i, j] - m[i]) * (x[i, j] - m[i])) / 7)
    y = (x[i, j] - m[i]) * e.rsqrt(v[i] + 1.0) * g[j] + b[j]
    minus = te.sum(j, w[j, c] * -(b[j] + (x[i, j] - m[i]) * e.rsqrt(v[i] + 1.0) * g[j]))
    return graph("norm_with_bias", te.tensor("Y", (i, c), te.sum(j, y * w[j, c])), te.tensor("Z", (i, c), minus))


def divergences() -> Graph:
    """Statistics that are passes themselves, and sums of what a condition selects."""
    i, j = te.indices("i j")
    x, y, live = te.input("X", (3, 7)), te.input("Y", (3, 7)), te.input("live", (3, 7), "bool")
    p = library.log_softmax(x)
    m = te.tensor("m", i, te.sum(j, x[i, j]) / 7)
    d = x[i, j] - m[i]
    bodies = {
        "entropy": e.exp(p[i, j]) * p[i, j],
        "cross": e.select(live[i, j], y[i, j] * p[i, j], 0.0),
        "chosen": e.select(y[i, j] > x[i, j], d * d, 0.0),
    }
    return graph("divergences", *(te.tensor(n, i, te.sum(j, body)) for n, body in bodies.items()))


def moments() -> Graph:
    """Products of several centred values: of one mean and of two, of second and third degree."""
    i, j = te.indices("i j")
    x, y = te.input("X", (3, 7)), te.input("Y", (3, 7))
    a, b = (te.tensor(n, i, te.sum(j, t[i, j]) / 7) for n, t in (("a", x), ("b", y)))
    u, v = x[i, j] - a[i], y[i, j] - b[i]
    bodies = {"skew": u * u * u, "covariance": u * v, "third": u * v * (u + v), "shifted": (2.0 * u + v) * u}
    return graph("moments", *(te.tensor(n, i, te.sum(j, body)) for n, body in bodies.items()))


def entropies() -> Graph:
    """Exponentials times what moves with them, and what selects between such terms."""
    i, j = te.indices("i j")
    x, y, live = te.input("X", (3, 7)), te.input("Y", (3, 7)), te.input("live", (3, 7), "bool")
    m = te.tensor("m", i, te.max(j, x[i, j]))
    low = te.tensor("low", i, te.min(j, y[i, j]))
    d, up = x[i, j] - m[i], low[i] - y[i, j]
    p, q = e.exp(d), e.exp(up)
    bodies = {
        "left": p * d, "right": d * p, "negated": -(p * d), "weighted": y[i, j] * (p * d), "scaled": (p * d) * q,
        "twice": p * d * d, "before": d * (p * d), "scaled_left": q * (d * p), "chosen": e.select(live[i, j], d, up),
        "chosen_left": e.select(live[i, j], d, y[i, j]), "chosen_right": e.select(live[i, j], y[i, j], d),
        "weight": e.select(live[i, j], p, 0.0), "both": p * q + p * q * x[i, j], "lower": e.minimum(d, d * 1.0 - 1.0),
    }  # fmt: skip
    sums = [te.tensor(n, i, te.sum(j, body)) for n, body in bodies.items()]
    largest = [te.tensor(f"{k.__name__}_{n}", i, k(j, body)) for k in (te.max, te.min)
               for n, body in (("scaled", p * y[i, j]), ("moved", x[i, j] * y[i, j] + d))]  # fmt: skip
    return graph("entropies", *sums, *largest)


class _Moving:
    """A random body of a sum over j that mentions a statistic of j."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.i, self.j, self.c = te.index("i", 3), te.index("j", 5), te.index("c", 2)
        x, y = te.input("X", (3, 5)), te.input("Y", (5, 2))
        self.live = te.input("live", (3, 5), "bool")[self.i, self.j]
        gain, self.x = te.input("g", (3,)), x[self.i, self.j]
        self.leaves = (self.x, y[self.j, self.c], gain[self.i], e.constant(0.5), e.constant(-1.0), e.constant(1.0))

    def graph(self) -> Graph:
        i, j, where = self.i, self.j, self.rng.choice((None, None, self.live))
        inner = self.rng.choice((self.x, self.x * 0.5, self.x * self.leaves[2]))
        kind = self.rng.choice(("max", "max", "min", "mean", "mean", "sum"))
        fold = {"max": te.max, "min": te.min}.get(kind, te.sum)(j, inner, where=where)
        m = te.tensor("m", i, fold / 5 if kind == "mean" else fold)
        sums = [te.sum(j, self.body(3, m[i], inner), where=where) for _ in range(2)]
        return graph("moving", *(te.tensor(f"Y{n}", (i, self.c), s) for n, s in enumerate(sums)))

    def body(self, depth: int, m: Expression, inner: Expression) -> Expression:
        if depth == 0:
            return self.rng.choice((m, m, inner, *self.leaves))
        a = self.body(depth - 1, m, inner)
        kind = self.rng.choice("add mul mul sub exp weight weight neg recip max select".split())
        if kind in ("add", "mul", "sub", "max"):
            b = self.body(depth - 1, m, inner)
            return {"add": a + b, "mul": a * b, "sub": a - b, "max": e.maximum(a, b)}[kind]
        if kind == "weight":
            return e.exp(inner - m) * a
        if kind == "select":
            return e.select(self.live, a, 0.0)
        return {"exp": e.exp, "recip": lambda v: e.recip(e.exp(v)), "neg": lambda v: -v}[kind](a)


def moving(seed: int) -> Graph:
    """A random program of two sums over j whose bodies mention one statistic of j."""
    return _Moving(seed).graph()


def chains() -> Graph:
    """Products of three matrices, the inner one on either side."""
    t, s, k, c = te.index("t", 5), te.index("s", 4), te.index("k", 3), te.index("c", 2)
    a, b, x, y = te.input("A", (5, 3)), te.input("B", (4, 3)), te.input("X", (4, 2)), te.input("Y", (4,))
    inner = te.tensor("inner", (t, s), te.sum(k, a[t, k] * b[s, k]))
    left = te.tensor("left", (t, c), te.sum(s, inner[t, s] * x[s, c]))
    return graph("chains", left, te.tensor("right", (t,), te.sum(s, y[s] * inner[t, s], where=s <= 2)))


def long_chains() -> Graph:
    """Products of three matrices, the inner sum shorter than the outer one, on either side and alone."""
    t, s, k, c = te.index("t", 5), te.index("s", 4), te.index("k", 3), te.index("c", 2)
    a, b, x, y = te.input("A", (5, 3)), te.input("B", (4, 3)), te.input("X", (4, 2)), te.input("Y", (4,))
    inner = te.tensor("inner", (t, s), te.sum(k, a[t, k] * b[s, k]))
    left = te.tensor("left", (t, c), te.sum(s, inner[t, s] * x[s, c]))
    right = te.tensor("right", t, te.sum(s, y[s] * inner[t, s]))
    return graph("long_chains", left, right, te.tensor("alone", t, te.sum(s, inner[t, s])))


def moved_prefixes() -> Graph:
    """Folds over what has passed that mention the point itself, in a factor and in a summand."""
    t, s = te.index("t", 7), te.index("s", 7)
    x, y = te.input("X", (7,)), te.input("Y", (7,))
    scaled = te.tensor("scaled", t, te.sum(s, x[t] * (y[s] * x[s]), where=s <= t))
    low = te.tensor("low", t, te.min(s, y[s] - (x[s] - x[t]), where=s <= t))
    return graph("moved_prefixes", scaled, low, te.tensor("high", t, te.max(s, x[t] + y[s], where=s <= t)))


def all_programs() -> dict[str, Callable[[], Graph]]:
    """By name."""
    made = (
        softmax, softmax_masked, attention, attention_padded, attention_masked, attention_bias, attention_causal,
        attention_window, attention_soft_cap, attention_alibi, attention_grouped, attention_additive_mask, logsumexp,
        variance, layernorm_matmul, rmsnorm_matmul, swiglu, square, gram, gated_recurrence, embedding_sum, argmax,
        cross_entropy, transformer_block, shifted, simple, empty, positive, moments, entropies,
        chains, norm_with_bias, divergences, long_chains, moved_prefixes,
    )  # fmt: skip
    made += (programs_gather.one_hot, programs_gather.experts, programs_gather.segments, programs_gather.ragged)
    return {f.__name__: f for f in made}
