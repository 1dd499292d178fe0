"""The text form: what is printed parses back to the same interned graph; every message; hostile texts."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings

from tang_egg import monoid as monoids
from tang_egg import monoid_entries, ops
from tang_egg.affine import Affine, Dim, Index, Inequality, affine, index
from tang_egg.examples import EXAMPLES
from tang_egg.ir import (
    Apply,
    Const,
    Coordinate,
    Domain,
    Graph,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    StateRef,
    Statistic,
    Tensor,
    Test,
    apply,
    const,
    type_of,
)
from tang_egg.monoid import Component, Follow, Monoid, cascade
from tang_egg.text import parse_graph, print_graph, print_scalar
from tests.strategies import Instance, graphs

I8, C4 = index("i", 8), index("c", 4)
X = Input("X", (affine(8),))
XI = Read(X, (affine(I8),))
NI = Read(Input("N", (affine(8),), "i32"), (affine(I8),))


def graph(body: Scalar, axes: tuple[Index, ...] = (I8,), dtype: str | None = None, into: str = "") -> Graph:
    """A graph of one tensor; its inputs are those that the body reads."""
    kind = type_of(body)
    t = Tensor("t", axes, body, dtype or ("f32" if kind == "real" else kind), into)
    from tang_egg.ir import sources

    return Graph("g", tuple(s for s in sources(body) if isinstance(s, Input)), (t,))


def round_trip(g: Graph) -> str:
    """The text of a graph, after it was seen to parse back to the same graph."""
    text = print_graph(g)
    again = parse_graph(text, check=False)
    assert again == g, text
    assert print_graph(again) == text
    return text


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_round_trip(name: str) -> None:
    g = EXAMPLES[name]()
    assert parse_graph(round_trip(g)) == g


@settings(max_examples=60, deadline=None)
@given(graphs(edges=True))
def test_random_graphs_round_trip(instance: Instance) -> None:
    round_trip(instance.graph)


FILES = sorted((Path(__file__).parent.parent / "examples").glob("*.tang"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_example_files_are_what_is_printed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    g = parse_graph(text, str(path))
    assert print_graph(g) == text
    assert g == EXAMPLES[g.name]()


def test_there_are_example_files() -> None:
    assert {p.stem for p in FILES} >= {"attention", "softmax", "rmsnorm_matmul"}


def _c(value: float | int | bool, type: str = "real") -> Const:
    return Const(value, type)


BODIES: dict[str, tuple[Scalar, str]] = {
    "infinity": (apply("add", XI, _c(-math.inf)), "X[i] - inf"),
    "nan": (apply("add", XI, _c(math.nan)), "X[i] + nan"),
    "negative zero": (apply("add", _c(-0.0), XI), "-0.0 + X[i]"),
    "subtracted zero": (apply("add", XI, _c(-0.0)), "X[i] - 0.0"),
    "negated constant": (apply("mul", XI, apply("neg", _c(2.0))), "X[i] * neg(2.0)"),
    "shortest float": (apply("mul", XI, _c(0.1)), "X[i] * 0.1"),
    "tiny float": (apply("mul", XI, _c(5e-324)), "X[i] * 5e-324"),
    "integer constants": (apply("add", NI, _c(-3, "i32")), "N[i] + i32(-3)"),
    "largest unsigned": (_c(2**64 - 1, "u64"), "u64(18446744073709551615)"),
    "whole real": (_c(0), "real(0)"),
    "bool": (apply("and", _c(True, "bool"), apply("lt", XI, _c(0.0))), "True and X[i] < 0.0"),
    "cast": (Apply("cast:bf16", (XI,)), "cast(X[i], bf16)"),
    "cast real": (Apply("cast:real", (Position(affine(I8)),)), "cast(i, real)"),
    "bits": (Apply("bits:i32", (XI,)), "bits(X[i], i32)"),
    "position": (Position(2 * affine(I8) + 1), "position(2*i + 1)"),
    "constant position": (Position(affine(3)), "position(3)"),
    "sum of positions": (apply("add", Position(affine(I8)), _c(1, "i64")), "i + 1"),
    "test": (Test(affine(I8) < 3), "i <= 2"),
    "strict test": (Test(Inequality(affine(I8) - index("k", 8) - 1)), "k < i"),
    "compared positions": (apply("le", Position(affine(I8)), _c(3, "i64")), "value(i) <= 3"),
    "constant test": (Test(Inequality(affine(-2))), "2 <= 0"),
    "difference": (apply("add", XI, apply("neg", apply("add", XI, XI))), "X[i] - (X[i] + X[i])"),
    "quotient": (apply("mul", XI, apply("recip", apply("mul", XI, XI))), "X[i] / (X[i] * X[i])"),
    "reciprocal of a constant": (apply("mul", XI, apply("recip", _c(3.0))), "X[i] * recip(3.0)"),
    "one by": (apply("mul", _c(1.0), apply("recip", XI)), "1.0 * recip(X[i])"),
    "right nested": (apply("add", XI, apply("add", XI, XI)), "X[i] + (X[i] + X[i])"),
    "negation of a product": (apply("neg", apply("mul", XI, XI)), "-(X[i] * X[i])"),
    "negation times": (apply("mul", apply("neg", XI), XI), "-X[i] * X[i]"),
    "double negation": (apply("neg", apply("neg", XI)), "-(-X[i])"),
    "logic": (
        apply("or", apply("not", apply("eq", XI, XI)), apply("not", apply("or", Test(I8 < 1), Test(I8 > 2)))),
        "not X[i] == X[i] or not (i <= 0 or 3 <= i)",
    ),
    "compared comparisons": (apply("eq", apply("lt", XI, XI), apply("le", XI, XI)), "(X[i] < X[i]) == (X[i] <= X[i])"),
    "bit operations": (
        apply("bitor", apply("bitand", NI, NI), apply("shl", apply("bitxor", NI, NI), NI)),
        "N[i] & N[i] | (N[i] ^ N[i]) << N[i]",
    ),
    "division": (apply("imod", apply("idiv", NI, NI), NI), "N[i] // N[i] % N[i]"),
    "gather": (Read(X, (NI,)), "X[N[i]]"),
    "gather of a shifted element": (Read(X, (apply("add", NI, _c(1, "i32")),)), "X[N[i] + i32(1)]"),
    "gather at a position": (Read(X, (Position(affine(I8)),)), "X[value(i)]"),
    "gather at a computed position": (
        Read(X, (apply("add", Position(affine(I8)), _c(1, "i64")),)),
        "X[value(i + 1)]",
    ),
    "view": (Read(X, (7 - affine(I8),)), "X[-i + 7]"),
    "scan": (Scan(monoids.SUM, I8, (XI,), 0, 4), "sum.scan[i](X[i], chunk=4)"),
    "fold over nothing": (Reduce(monoids.SUM, (), Domain(), (XI,)), "sum[()](X[i])"),
    "integer fold": (Reduce(monoids.sum_of("i32"), (I8,), Domain(), (NI,)), "sum[i](N[i])"),
    "component": (Reduce(monoids.LOGSUMEXP, (I8,), Domain(), (XI, _c(1.0)), 1), "logsumexp[i](X[i], 1.0).l"),
    "domain": (
        Reduce(monoids.SUM, (I8,), Domain((I8 < C4, affine(I8) >= 1), (apply("lt", XI, _c(0.0)),)), (XI,)),
        "sum[i](X[i], where=(i < c, 1 <= i, X[i] < 0.0))",
    ),
    "conditions as data": (
        Reduce(monoids.SUM, (I8,), Domain((), (Test(I8 < C4), apply("and", Test(I8 < 1), Test(I8 < 2)))), (XI,)),
        "sum[i](X[i], where=(value(i < c), value(i <= 0 and i <= 1)))",
    ),
    "statistic": (apply("add", Statistic("from"), Statistic("at", "real")), 'statistic("from") + statistic("at")'),
    "state": (StateRef("left", "value"), "left.value"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "text"), BODIES.values(), ids=BODIES)
def test_awkward_expressions(body: Scalar, text: str) -> None:
    assert print_scalar(body) == text
    assert round_trip(graph(body, (I8, C4, index("k", 8)))).splitlines()[-2].endswith(f"= {text}")


def test_sizes_are_written_where_reads_do_not_tell_them() -> None:
    half = index("i", 4)
    body = Reduce(monoids.SUM, (half,), Domain(), (Read(X, (affine(half) * 2,)),))
    assert "t[c:4] = sum[i:4](X[2*i])" in round_trip(graph(body, (C4,)))
    assert "t[i:4] = X[i]" in round_trip(graph(Read(X, (affine(half),)), (half,)))
    shadow = Reduce(monoids.SUM, (I8,), Domain(), (XI,))
    assert "t[i:8] = sum[i](X[i])" in round_trip(graph(shadow))


def test_two_indices_of_one_name_get_two_words() -> None:
    half = index("i", 4)
    inner = Reduce(monoids.SUM, (half,), Domain((half <= I8,), ()), (Read(X, (affine(half) + 0,)),))
    text = round_trip(graph(apply("add", XI, inner)))
    assert 'i_2 = named("i")' in text
    assert "t[i] = X[i] + sum[i_2:4](X[i_2], where=i_2 <= i)" in text


@pytest.mark.parametrize("name", ["i~1", "sum", "lambda", "ﬁ", "a b", "", 'quote"', "naïve", "0.value", "x1", "None"])
def test_any_name_can_be_printed(name: str) -> None:
    i, n = Index(name, affine(Dim(name, 1))), Dim(name, 1)
    source = Input(name, (affine(n), affine(n)), "f32")
    big = Read(source, (affine(i), affine(i)))
    for _ in range(4):
        big = apply("add", big, apply("exp", big))
    t = Tensor(name + "'", (i,), big)
    u = Tensor(name, (i,), Read(t, (affine(i),)))
    round_trip(Graph(name, (source,), (t, u)))


def test_inputs_keep_their_order_flags_and_shapes() -> None:
    n = Dim("n", 2, 64, 2)
    inputs = (
        Input("unused", (), "bool"),
        Input("keys", (affine(n) * 2 - 1,), "u8", sorted=True),
        Input("X", (affine(8), affine(n)), "bf16", donated=True),
    )
    i, j = I8, Index("j", affine(n))
    t = Tensor("t", (j, i), Read(inputs[2], (affine(i), affine(j))), "bf16", "X")
    s = Tensor("s", (), const(1.5), "f64")
    text = round_trip(Graph("flags", inputs, (s, t)))
    assert text == (
        'graph("flags")\n'
        "n = dim(lo=2, hi=64, multiple=2)\n"
        "unused = input(bool[()])\n"
        "keys = input(u8[2*n - 1], sorted=True)\n"
        "X = input(bf16[8, n], donated=True)\n"
        "s[()]: f64 = 1.5\n"
        't[j, i]: bf16(into="X") = X[i, j]\n'
        "output(s, t)\n"
    )


def flash(width: Index) -> Monoid:
    """A maximum with a rescaled sum and a rescaled vector, as cascades derive them."""
    m = StateRef("self", "m")
    factor = apply("exp", apply("add", Statistic("from"), apply("neg", Statistic("to"))))
    empty = apply("eq", m, const(-math.inf))
    follow = Follow((m,), apply("mul", StateRef("self", "l"), factor), empty, monoids.SUM)
    vector = Follow((m,), apply("mul", StateRef("self", "o", "real", (affine(width),)), factor), empty, monoids.SUM)
    followers = (Component("l", "real", (), follow), Component("o", "real", (width,), vector))
    return cascade("flash", ((Component("m"), monoids.MAX),), followers)


def test_cascades_print_their_followers_and_axes() -> None:
    v = Input("V", (affine(8), affine(4)))
    value = Read(v, (affine(I8), affine(C4)))
    fold = [Reduce(flash(C4), (I8,), Domain(), (XI, const(1.0), value), p) for p in range(3)]
    out = Tensor("O", (C4,), apply("mul", fold[2], apply("recip", fold[1])))
    top = Tensor("top", (), fold[0])
    text = round_trip(Graph("g", (X, v), (out, top)))
    assert 'flash = monoid("flash", "commutative")' in text
    assert "flash.o[c:4] = component(real, identity=0.0, combine=" in text
    assert 'rebase=self.o[c] * exp(statistic("from") - statistic("to")), empty=self.m == -inf, base=sum)' in text
    assert "O[c:4] = flash[i](X[i], 1.0, V[i, c]).o / flash[i](X[i], 1.0, V[i, c]).l" in text


@pytest.mark.parametrize(
    "m",
    [
        monoid_entries.top_k(3),
        monoid_entries.top_k(2, "i32"),
        monoids.affine_matrix(3),
        monoids.optional(monoids.MAX),
        monoids.optional(monoids.affine_matrix(2)),
        monoids.product("pair", monoids.LOGSUMEXP, monoids.SUM, monoids.argmax_of("i32")),
        monoids.optional(monoid_entries.top_k(3)),
        Monoid("sum", (Component("value"),), (StateRef("right", "value"),), (const(0.0),)),
        Monoid("odd type", (Component("a", "i8"),), (StateRef("left", "a"),), (Const(0, "i8"),)),
    ],
    ids=lambda m: m.name,
)
def test_monoids_round_trip(m: Monoid) -> None:
    lifts = tuple(Const(0, c.type) for c in m.components)
    axes = tuple(dict.fromkeys(i for c in m.components for i in c.axes))
    for part in {0, len(m.components) - 1}:
        round_trip(graph(Reduce(m, (I8,), Domain(), lifts, part), axes))


def test_shared_terms_are_printed_once() -> None:
    x: Scalar = XI
    for n in range(200):
        x = apply("mul", apply("exp", x), x) if n % 2 else apply("add", x, apply("sin", x))
    text = round_trip(graph(x))
    assert len(text) < 200 * 60
    assert len(print_scalar(x)) < 200 * 60


def test_deep_terms_are_cut() -> None:
    x: Scalar = XI
    for n in range(3000):
        x = apply("add", x, const(float(n + 1)))
    text = round_trip(graph(x))
    assert max(map(len, text.splitlines())) < 1000


def test_short_shared_terms_stay_where_they_are_used() -> None:
    s = apply("exp", apply("add", XI, const(-1.0)))
    assert print_scalar(apply("mul", s, s)) == "exp(X[i] - 1.0) * exp(X[i] - 1.0)"


class Wild:
    """Random well-typed expressions that need not be sensible graphs: any node, any domain, any name."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        names = ["i", "j", "i~1", "sum", "x1", "seq", "X"]
        self.dims = [Dim("seq", 1), Dim("i", 0, 9, 3)]
        sizes = [affine(4), affine(8), affine(self.dims[0]), 2 * affine(self.dims[1]) + 1]
        self.indices = list({Index(self.pick(names), self.pick(sizes)) for _ in range(5)})
        self.inputs = [
            Input(f"{self.pick(names)}", tuple(self.pick(sizes) for _ in range(self.rng.randint(0, 2))), d)
            for d in ("f32", "i32", "bool", "i64", "f16")
        ]
        self.tensors: list[Tensor] = []

    def pick(self, options):  # type: ignore[no-untyped-def]
        return self.rng.choice(options)

    def form(self) -> Affine:
        i: Affine = affine(self.pick(self.indices))
        change = self.rng.randint(0, 4)
        return [i, i, i * self.pick(self.dims), i * -2 + self.rng.randint(-3, 3), i + self.pick(self.dims)][change]

    def coordinate(self) -> Coordinate:
        return self.of(self.pick(["i32", "i64"]), 1) if self.rng.random() < 0.2 else self.form()

    def of(self, type: str, depth: int) -> Scalar:
        if depth <= 0 or self.rng.random() < 0.15:
            return self.leaf(type)
        if self.rng.random() < 0.25:
            return self.fold(type, depth - 1)
        if type == "bool":
            op = self.pick(["and", "or", "not", "lt", "le", "eq"])
            inner = "bool" if op in ("and", "or", "not") else self.pick(["real", "i32", "i64"])
        else:
            inner = type
            real = ["add", "mul", "neg", "recip", "exp", "max", "select", "cast:f16", "atan2"]
            op = self.pick(real if type == "real" else ["add", "mul", "neg", "idiv", "shl", "bitxor", "select"])
        if op == "select":
            return apply(op, self.of("bool", depth - 1), self.of(type, depth - 1), self.of(type, depth - 1))
        return apply(op, *(self.of(inner, depth - 1) for _ in range(ops.find(op).arity)))

    def leaf(self, type: str) -> Scalar:
        choice = self.rng.random()
        read = [s for s in (*self.inputs, *self.tensors) if ops.scalar_type(s.dtype) == type]
        if choice < 0.6 and read:
            source = self.pick(read)
            return Read(source, tuple(self.coordinate() for _ in source.shape))
        if type == "real":
            return const(self.pick([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -2.5, 1e300]))
        if type == "bool":
            return const(True) if choice < 0.7 else Test(Inequality(self.form() - self.form()))
        if type == "i64" and choice < 0.9:
            return Position(self.form())
        return Const(self.rng.randint(-4, 4), type)

    def fold(self, type: str, depth: int) -> Scalar:
        built = [monoids.ANY, monoids.ALL] if type == "bool" else [monoids.sum_of(type), monoids.max_of(type)]
        if type == "real":
            built += [monoids.LOGSUMEXP, monoids.AFFINE, monoids.optional(monoids.MAX), flash(index("i", 4))]
        if type == "i64":
            built += [monoids.argmax_of("real"), monoid_entries.top_k(2)]
        m: Monoid = self.pick(built)
        part = self.pick([k for k, c in enumerate(m.components) if c.type == type])
        body = tuple(self.of(c.type, depth) for c in m.components)
        if self.rng.random() < 0.2:
            return Scan(m, self.pick(self.indices), body, part, self.pick([0, 16]))
        bound = tuple(self.rng.sample(self.indices, self.rng.randint(0, min(2, len(self.indices)))))
        forms = tuple(Inequality(self.form() - self.form()) for _ in range(self.rng.randint(0, 2)))
        where = Domain(forms, tuple(self.of("bool", depth) for _ in range(self.rng.randint(0, 1))))
        return Reduce(m, bound, where, body, part)

    def graph(self) -> Graph:
        for n in range(self.rng.randint(1, 4)):
            type = self.pick(["real", "real", "bool", "i32", "i64"])
            body = self.of(type, self.rng.randint(1, 4))
            dtype = self.pick(["f32", "f16"]) if type == "real" else type
            axes = (*self.indices, index("i", 4)) if index("i", 4) not in self.indices else tuple(self.indices)
            self.tensors.append(Tensor(self.pick(["t", "sum", f"t{n}", "X"]), axes, body, dtype))
        return Graph("wild", tuple(self.inputs), tuple(dict.fromkeys(self.tensors[-2:])))


@pytest.mark.parametrize("block", range(10))
def test_wild_expressions_round_trip(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        round_trip(Wild(seed).graph())
