"""The check of graphs: one test for each error, its whole message, and what must be accepted."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tang_egg.affine import AffineLike, Dim, Index, affine, index
from tang_egg.check import check_graph
from tang_egg.errors import GraphError
from tang_egg.ir import (
    EVERYWHERE,
    Apply,
    Const,
    Domain,
    Graph,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Span,
    StateRef,
    Statistic,
    Tensor,
    Test,
    apply,
    const,
    domain,
)
from tang_egg.monoid import LOGSUMEXP, SUM, affine_matrix, argmax_of
from tests.strategies import Instance, graphs

N, M = Dim("n"), Dim("m")
P, J = index("i", N), index("j", 4)
X = Input("x", (affine(N),))
Y = Input("y", (affine(N), affine(4)))
K = Input("k", (affine(N),), "i32")
HERE = Span("a.tang", 7)


def at(source: Input | Tensor, *coordinates: AffineLike | Scalar) -> Read:
    return Read(source, tuple(c if isinstance(c, Scalar) else affine(c) for c in coordinates), HERE)


def tensor(body: Scalar, *axes: Index, dtype: str = "f32", name: str = "t", into: str = "") -> Tensor:
    return Tensor(name, axes, body, dtype, into)


def total(body: Scalar, *indices: Index, where: Domain = EVERYWHERE) -> Reduce:
    return Reduce(SUM, indices, where, (body,), 0, HERE)


def graph(*outputs: Tensor, inputs: tuple[Input, ...] = (X, Y, K)) -> Graph:
    return Graph("g", inputs, outputs)


MANY = {f"i{n}": index(f"i{n}", 3) for n in range(3)}
TWIN = index("i", 9)
DONATED = Input("d", (affine(N),), donated=True)
OWN = affine_matrix(3)
ROW, COLUMN = OWN.components[0].axes

CASES: dict[str, tuple[Graph, str, str, str]] = {
    "no output": (graph(), "graph 'g' has no output", "graph 'g'", "give at least one tensor"),
    "output twice": (
        graph(tensor(const(1.0)), tensor(const(1.0))),
        "a tensor is listed twice as an output",
        "graph 'g'",
        "list each output once",
    ),
    "two tensors of one name": (
        graph(tensor(const(1.0)), tensor(const(2.0))),
        "two tensors are named 't'",
        "graph 'g'",
        "rename one of them",
    ),
    "tensor named like an input": (
        graph(tensor(const(1.0), name="x")),
        "an input and a tensor are both named 'x'",
        "graph 'g'",
        "rename one of them",
    ),
    "input named like a dim": (
        graph(tensor(at(X, P), P), inputs=(X, Input("n", ()))),
        "a dimension and an input are both named 'n'",
        "graph 'g'",
        "rename one of them",
    ),
    "two dims of one name": (
        graph(tensor(at(X, P), P), inputs=(X, Input("z", (affine(Dim("n", lo=3)),)))),
        "two dimensions are named 'n'",
        "graph 'g'",
        "create the dimension once and share it, or rename one",
    ),
    "name": (
        graph(tensor(const(1.0), name="a b")),
        "the tensor name 'a b' is not an identifier",
        "graph 'g'",
        "use letters, digits and underscores, no digit first",
    ),
    "element type": (
        graph(tensor(const(1.0), dtype="f8")),
        "unknown element type 'f8'",
        "graph 'g', tensor 't'",
        "use one of f16, bf16, f32, f64, f8e4m3, f8e5m2, i8, i16, i32, i64, u8, u16, u32, u64, bool",
    ),
    "negative extent of an input": (
        graph(tensor(const(1.0)), inputs=(Input("z", (affine(4), N - 1)),)),
        "the extent of axis 1 may be negative: n - 1",
        "graph 'g', input 'z'",
        "give its dimensions a lower limit, e.g. Dim('n', lo=2)",
    ),
    "negative extent of a tensor": (
        graph(tensor(const(1.0), index("r", N - 2))),
        "the extent of axis 0 may be negative: n - 2",
        "graph 'g', tensor 't'",
        "give its dimensions a lower limit, e.g. Dim('n', lo=2)",
    ),
    "negative size of a bound index": (
        graph(tensor(total(const(1.0), index("r", N - 2)))),
        "the size of index 'r' may be negative: n - 2",
        "graph 'g', tensor 't', a.tang:7",
        "give its dimensions a lower limit, e.g. Dim('n', lo=2)",
    ),
    "extent over an index": (
        graph(tensor(const(1.0), index("r", affine(P)))),
        "the extent of axis 0 depends on an index: i",
        "graph 'g', tensor 't'",
        "use dimensions and integers",
    ),
    "sorted matrix": (
        graph(tensor(const(1.0)), inputs=(Input("z", (affine(4), affine(4)), "i32", sorted=True),)),
        "input 'z' is declared sorted but is no vector of integers",
        "graph 'g', input 'z'",
        "declare it with one axis and an integer type, or without sorted=True",
    ),
    "two axes of one name": (
        graph(tensor(const(1.0), P, TWIN)),
        "two axes have the same name",
        "graph 'g', tensor 't'",
        "name each axis differently",
    ),
    "stored type": (
        graph(tensor(at(X, P), P, dtype="i32")),
        "the body has type real but the tensor is stored as i32",
        "graph 'g', tensor 't'",
        "convert the body with te.cast, or declare another element type",
    ),
    "operands": (
        graph(tensor(Apply("add", (at(X, P), at(K, P))), P)),
        "operands of different types: add(real, i32)",
        "graph 'g', tensor 't'",
        "convert one of them with te.cast",
    ),
    "constant": (
        graph(tensor(Const(300, "u8"), dtype="u8")),
        "300 is not a constant of type u8",
        "graph 'g', tensor 't'",
        "give a value that the type has",
    ),
    "scope": (
        graph(tensor(at(Y, P, J), P)),
        "index 'j' is not in scope",
        "graph 'g', tensor 't'",
        "make j an axis of the tensor, or fold over it",
    ),
    "two indices of one name, free": (
        graph(tensor(at(X, P), TWIN)),
        "two different indices are named 'i': of sizes 9 and n",
        "graph 'g', tensor 't'",
        "use one index object for one loop, or give them different names",
    ),
    "two indices of one name, bound": (
        graph(tensor(total(const(1.0), TWIN), P)),
        "two different indices are named 'i': of sizes n and 9",
        "graph 'g', tensor 't', a.tang:7",
        "use one index object for one loop, or give them different names",
    ),
    "fold over one index twice": (
        graph(tensor(total(const(1.0), J, J))),
        "a fold binds one index twice",
        "graph 'g', tensor 't', a.tang:7",
        "list each index once",
    ),
    "own axes out of scope": (
        graph(tensor(Reduce(OWN, (J,), EVERYWHERE, (const(1.0), const(1.0)), 1))),
        "index 'row' is not in scope",
        "graph 'g', tensor 't'",
        "make row an axis of the tensor, or fold over it",
    ),
    "unknown input": (
        graph(tensor(at(X, P), P), inputs=(K,)),
        "input 'x' is read, but is not among the graph's inputs",
        "graph 'g', tensor 't', a.tang:7",
        "list the very input that is read in the graph's inputs",
    ),
    "input declared otherwise": (
        graph(tensor(at(X, P), P), inputs=(Input("x", (affine(N),), "f16"),)),
        "input 'x' is read, but declared otherwise",
        "graph 'g', tensor 't', a.tang:7",
        "list the very input that is read in the graph's inputs",
    ),
    "coordinates": (
        graph(tensor(at(Y, P), P)),
        "'y' has 2 axes but is read at 1 coordinates",
        "graph 'g', tensor 't', a.tang:7",
        "give one coordinate for each axis",
    ),
    "gather at a real": (
        graph(tensor(at(X, at(X, P)), P)),
        "axis 0 of 'x' is gathered at a value of type real",
        "graph 'g', tensor 't', a.tang:7",
        "gather at integers: te.cast the index",
    ),
    "above": (
        graph(tensor(at(X, P + 1), P)),
        "coordinate i + 1 may fall above axis 0 of input 'x', of extent n",
        "graph 'g', tensor 't', a.tang:7",
        "guard the read with a select or a domain, or state facts of the dimensions that bound it",
    ),
    "below, under a guard that is too weak": (
        graph(tensor(apply("select", Test(P >= 1), at(X, P - 2), const(0.0)), P)),
        "coordinate i - 2 may fall below axis 0 of input 'x', of extent n where 1 <= i",
        "graph 'g', tensor 't', a.tang:7",
        "guard the read with a select or a domain, or state facts of the dimensions that bound it",
    ),
    "the wrong branch": (
        graph(tensor(apply("select", Test(P >= 1), const(0.0), at(X, P - 1)), P)),
        "coordinate i - 1 may fall below axis 0 of input 'x', of extent n where i <= 0",
        "graph 'g', tensor 't', a.tang:7",
        "guard the read with a select or a domain, or state facts of the dimensions that bound it",
    ),
    "a guard on an index that is bound anew": (
        graph(tensor(apply("select", Test(P >= 1), total(at(X, P - 1), P), const(0.0)), P)),
        "coordinate i - 1 may fall below axis 0 of input 'x', of extent n",
        "graph 'g', tensor 't', a.tang:7",
        "guard the read with a select or a domain, or state facts of the dimensions that bound it",
    ),
    "lifts": (
        graph(tensor(Reduce(argmax_of(), (P,), EVERYWHERE, (at(X, P),), 0, HERE))),
        "monoid 'argmax' has 2 components but the fold lifts 1",
        "graph 'g', tensor 't', a.tang:7",
        "give one lift for each of: value, position",
    ),
    "type of a lift": (
        graph(tensor(Reduce(argmax_of(), (P,), EVERYWHERE, (at(X, P), const(0.0)), 0, HERE))),
        "the lift of component 'position' of monoid 'argmax' has type real, not i64",
        "graph 'g', tensor 't', a.tang:7",
        "convert it with te.cast, or use the monoid of that type",
    ),
    "condition": (
        graph(tensor(total(at(X, P), P, where=Domain((), (at(K, P),))))),
        "a condition of a domain has type i32",
        "graph 'g', tensor 't', a.tang:7",
        "compare: a domain needs bools",
    ),
    "a state outside a monoid": (
        graph(tensor(StateRef("left", "value"))),
        "the state 'left.value' means nothing here",
        "graph 'g', tensor 't'",
        "refer to states inside a monoid's combine only",
    ),
    "a statistic outside a follower": (
        graph(tensor(total(Statistic("at"), J))),
        "the statistic 'at' means nothing here",
        "graph 'g', tensor 't'",
        "mention it in the lift of a follower component ('at') or in its rebase ('from', 'to') only",
    ),
    "into an input that is not donated": (
        graph(tensor(at(X, P), P, into="x")),
        "'x' is not a donated input",
        "graph 'g', tensor 't'",
        "declare it so: Input('x', ..., donated=True)",
    ),
    "into an input that is not listed": (
        graph(tensor(const(1.0), P, into="d")),
        "'d', whose memory is to be written, is not among the graph's inputs",
        "graph 'g', tensor 't'",
        "list it, since nothing reads it: te.graph(..., inputs=[...]), declared with donated=True",
    ),
    "into memory of another shape": (
        graph(tensor(const(1.0), J, into="d"), inputs=(DONATED,)),
        "'t' does not fit the memory of 'd': [4] of f32 into [n] of f32",
        "graph 'g', tensor 't'",
        "give the tensor the shape and element type of the input",
    ),
    "two tensors into one input": (
        graph(tensor(const(1.0), P, into="d"), tensor(const(2.0), P, into="d", name="u"), inputs=(DONATED,)),
        "'t' and 'u' are both written into 'd'",
        "graph 'g', tensor 'u'",
        "donate one input to each",
    ),
    "a donated input read elsewhere": (
        graph(tensor(at(DONATED, N - 1 - P), P, into="d"), inputs=(DONATED,)),
        "'t' reads 'd' at [n - i - 1], but 't' is written into its memory",
        "graph 'g', tensor 't', a.tang:7",
        "read it only in 't' and at the element being written, or do not donate it",
    ),
    "a donated input read by another tensor": (
        graph(tensor(at(DONATED, P), P, into="d"), tensor(at(DONATED, P), P, name="u"), inputs=(DONATED,)),
        "'u' reads 'd' at [i], but 't' is written into its memory",
        "graph 'g', tensor 'u', a.tang:7",
        "read it only in 't' and at the element being written, or do not donate it",
    ),
    "a donated input folded": (
        graph(tensor(total(at(DONATED, P), P), P, into="d"), inputs=(DONATED,)),
        "'t' reads 'd' at [i], but 't' is written into its memory",
        "graph 'g', tensor 't', a.tang:7",
        "read it only in 't' and at the element being written, or do not donate it",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_errors_say_what_where_and_how_to_mend(name: str) -> None:
    wrong, what, where, mend = CASES[name]
    with pytest.raises(GraphError) as caught:
        check_graph(wrong)
    assert str(caught.value).replace("-1 - i + n", "n - i - 1") == f"{what}\n  where: {where}\n  mend:  {mend}"


def test_a_part_that_the_monoid_lacks() -> None:
    odd = Reduce(SUM, (J,), EVERYWHERE, (const(1.0),), 3, HERE)
    with pytest.raises(GraphError) as caught:
        check_graph(graph(tensor(odd)))
    assert str(caught.value) == (
        "a fold with monoid 'sum' has no part 3\n  where: graph 'g', tensor 't', a.tang:7\n"
        "  mend:  parts count from 0 to 0"
    )


def guarded(read: Read, *conditions: Scalar) -> Scalar:
    inside = conditions[0]
    for c in conditions[1:]:
        inside = apply("and", inside, c)
    return apply("select", inside, read, const(0.0))


A, B = index("a", M), index("b", N)
FLAT = Input("flat", (affine(M) * N,))
S = index("s", 3)
OUTSIDE = apply("or", Test(P + S < 1), Test(P + S > N))

ACCEPTED: dict[str, Graph] = {
    "a flip": graph(tensor(at(X, N - 1 - P), P)),
    "the last element, where an index shows that there is one": graph(tensor(at(X, N - 1), P)),
    "a merge of two symbolic axes": graph(tensor(at(FLAT, A * affine(N) + B), A, B), inputs=(FLAT,)),
    "a padded window": graph(tensor(total(guarded(at(X, P + S - 1), Test(P + S >= 1), Test(P + S <= N)), S), P)),
    "the other branch of an or": graph(tensor(total(apply("select", OUTSIDE, const(0.0), at(X, P + S - 1)), S), P)),
    "a fold's domain": graph(tensor(total(at(X, P + J), J, where=domain(P + J < N)), P)),
    "a data condition under a fold's domain": graph(
        tensor(total(const(1.0), J, where=domain(P + J < N, apply("lt", at(X, P + J), const(0.0)))), P)
    ),
    "a comparison of positions": graph(
        tensor(guarded(at(X, P + 1), apply("lt", Position(P + 1), Position(affine(N)))), P)
    ),
    "an equality": graph(tensor(guarded(at(X, 3), apply("eq", Position(affine(P)), const(3))), P)),
    "a shadowed index": graph(tensor(apply("add", at(X, P), total(at(X, P), P)), P)),
    "a gather": graph(tensor(at(X, at(K, P)), P)),
    "own axes": graph(tensor(Scan(OWN, J, (const(1.0), const(0.0)), 0), J, ROW, COLUMN)),
    "a follower's lift": graph(
        tensor(Reduce(LOGSUMEXP, (P,), EVERYWHERE, (at(X, P), apply("exp", Statistic("at"))), 1))
    ),
    "an update in place": graph(tensor(apply("add", at(DONATED, P), at(X, P)), P, into="d"), inputs=(X, DONATED)),
    "dims with facts": graph(
        tensor(at(Input("w", (affine(Dim("p", lo=4)),)), 3)), inputs=(Input("w", (affine(Dim("p", lo=4)),)),)
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_must_be_accepted(name: str) -> None:
    check_graph(ACCEPTED[name])


def test_deeply_shared_graphs_are_checked_once_per_node() -> None:
    x: Scalar = guarded(at(X, P - 1), Test(P >= 1))
    for n in range(60):
        x = apply("select", Test(n % 3 + 2 <= P), apply("add", x, x), apply("mul", x, x))
    check_graph(graph(tensor(x, P)))  # 2^60 paths


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_random_graphs_pass(instance: Instance) -> None:
    check_graph(instance.graph)
