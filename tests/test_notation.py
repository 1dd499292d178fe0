"""Index notation: the nodes that it builds, inferred sizes, names, and every message."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.affine import Index, affine
from tang_egg.errors import GraphError
from tang_egg.interpret import interpret
from tang_egg.ir import Apply, Const, Domain, Position, Read, Reduce, Scan, Test, const, tensors_of
from tang_egg.monoid import AFFINE, SUM, sum_of

P, J, K = te.indices("i, j k")
A = te.input("A", (4, 6))
B = te.input("B", (6, 5))
X = te.input("x", (8,))
N = te.input("n", (8,), "i32")
FLAG = te.input("flag", (8,), "bool")
I8 = te.index("i", 8)


def test_a_product_is_the_expected_tree() -> None:
    c = te.tensor("C", (P, J), te.sum(K, A[P, K] * B[K, J])).node
    i, j, k = (Index(n, affine(s)) for n, s in (("i", 4), ("j", 5), ("k", 6)))
    a = Read(A.node, (affine(i), affine(k)))
    b = Read(B.node, (affine(k), affine(j)))
    assert c.axes == (i, j)  # type: ignore[union-attr]
    assert c.body is Reduce(SUM, (k,), Domain(), (Apply("mul", (a, b)),))  # type: ignore[union-attr]


def test_one_index_name_takes_its_size_in_each_fold_anew() -> None:
    both = te.sum(K, A[P, K]) + te.sum(K, X[K])
    t = te.tensor("t", P, both).node
    sizes = [s.indices[0].size.value for s in t.body.args]  # type: ignore[union-attr]
    assert sizes == [6, 8]


def test_symbolic_extents_are_sizes_and_facts() -> None:
    n = te.dim("n", lo=1, hi=64, multiple=2)
    x = te.input("x", (n, 2 * n + 1))
    t = te.tensor("t", (P, J), x[P, J])
    assert t.shape == (affine(n), 2 * n + 1)
    assert (n.lo, n.hi, n.multiple) == (1, 64, 2)


def test_the_size_of_an_index_can_be_used_before_it_is_known() -> None:
    flipped = te.tensor("t", P, X[P.size - 1 - P] + 0 * X[P])
    g = te.graph("g", flipped)
    np.testing.assert_array_equal(interpret(g, {"x": np.arange(8.0)})["t"], np.arange(8.0)[::-1])


@pytest.mark.parametrize(
    ("expression", "node"),
    [
        (X[I8] + 1, Apply("add", (X[I8].scalar, const(1.0)))),
        (X[I8] - 1, Apply("add", (X[I8].scalar, const(-1.0)))),
        (1 - X[I8], Apply("add", (const(1.0), Apply("neg", (X[I8].scalar,))))),
        (X[I8] / 4, Apply("mul", (X[I8].scalar, const(0.25)))),
        (X[I8] / 1, X[I8].scalar),
        (X[I8] / 0, Apply("mul", (X[I8].scalar, Apply("recip", (const(0.0),))))),
        (1 / X[I8], Apply("recip", (X[I8].scalar,))),
        (X[I8] / X[I8], Apply("mul", (X[I8].scalar, Apply("recip", (X[I8].scalar,))))),
        (X[I8] > 2, Apply("lt", (const(2.0), X[I8].scalar))),
        (X[I8] >= 2, Apply("le", (const(2.0), X[I8].scalar))),
        (N[I8] + 3, Apply("add", (N[I8].scalar, Const(3, "i32")))),
        (N[I8] // 3 % 2, Apply("imod", (Apply("idiv", (N[I8].scalar, Const(3, "i32"))), Const(2, "i32")))),
        (N[I8] & 7, Apply("bitand", (N[I8].scalar, Const(7, "i32")))),
        (~N[I8], Apply("bitxor", (N[I8].scalar, Const(-1, "i32")))),
        (N[I8] << 2, Apply("shl", (N[I8].scalar, Const(2, "i32")))),
        (FLAG[I8] | ~FLAG[I8], Apply("or", (FLAG[I8].scalar, Apply("not", (FLAG[I8].scalar,))))),
        (te.value(I8) * 2, Apply("mul", (Position(affine(I8)), Const(2, "i64")))),
        (te.value(2 * I8 + 1), Position(2 * I8 + 1)),
        (N[I8] > I8, Apply("lt", (Position(affine(I8)), Apply("cast:i64", (N[I8].scalar,))))),
        (te.eq(I8, 3), Apply("and", (Test(affine(I8) <= 3), Test(affine(I8) >= 3)))),
        (te.cast(I8, "f32"), Apply("cast:f32", (Position(affine(I8)),))),
        (te.bitcast(N[I8], "f32"), Apply("bits:f32", (N[I8].scalar,))),
        (te.constant(2, "f16"), const(2.0)),
        (X[I8] ** 0, const(1.0)),
        (te.select(FLAG[I8], X[I8], 0), Apply("select", (FLAG[I8].scalar, X[I8].scalar, const(0.0)))),
        (X[N[I8]], Read(X.node, (N[I8].scalar,))),
        (X[te.value(I8)], Read(X.node, (affine(I8),))),
    ],
    ids=str,
)
def test_operators_build_these_nodes(expression: te.Expression, node: Any) -> None:
    assert expression.scalar is node


def test_powers_multiply_by_squaring() -> None:
    x = X[I8]
    assert (x**5).scalar is (x * ((x * x) * (x * x))).scalar


def test_conditions_split_into_affine_and_data() -> None:
    w = te.input("w", (8,), "bool")
    fold = te.sum(J, X[J], where=((J <= I8) & w[J], X[J] > 0)).scalar
    assert isinstance(fold, Reduce)
    (j,) = fold.indices
    assert fold.where.affine == (j <= I8,)
    assert fold.where.data == (w[j].scalar, (X[j] > 0).scalar)


def test_folds_take_the_type_of_what_they_fold() -> None:
    fold = te.sum(P, N[P]).scalar
    assert isinstance(fold, Reduce) and fold.monoid is sum_of("i32")


def test_argmax_over_two_indices_counts_in_row_major_order() -> None:
    data = np.arange(24.0).reshape(4, 6) % 17
    g = te.graph(
        "g", te.tensor("at", (), te.argmax((P, K), A[P, K])), te.tensor("least", (), te.argmin((P, K), A[P, K]))
    )
    found = interpret(g, {"A": data})
    assert found["at"] == data.argmax()
    assert found["least"] == data.argmin()


def test_every_fold_means_what_numpy_means() -> None:
    data = np.array([0.5, -2.0, 3.0, 1.5, 0.25, 7.0, -1.0, 2.0])
    folds = {
        "sum": te.sum(P, X[P]), "prod": te.prod(P, X[P]), "max": te.max(P, X[P]), "min": te.min(P, X[P]),
        "any": te.any(P, X[P] > 6), "all": te.all(P, X[P] > -1), "lse": te.logsumexp(P, X[P]),
        "count": te.sum(P, 1, where=(X[P] > 0, P < 7)),
    }  # fmt: skip
    found = interpret(te.graph("g", *(te.tensor(f"t_{n}", (), f) for n, f in folds.items())), {"x": data})
    wanted = [data.sum(), data.prod(), 7.0, -2.0, True, False, np.log(np.exp(data).sum()), 5.0]
    np.testing.assert_allclose([float(found[f"t_{n}"]) for n in folds], [float(w) for w in wanted])


def test_scan_and_prefix_fold_agree() -> None:
    s, t = te.indices("s t")
    size = te.index("t", 8)
    scan = te.tensor("scan", t, te.scan(AFFINE, t, X[t], X[t], part="b", chunk=4))
    prefix = te.tensor("prefix", size, te.reduce(AFFINE, s, X[s], X[s], where=s <= size, part="b"))
    assert isinstance(scan.node.body, Scan) and scan.node.body.chunk == 4  # type: ignore[union-attr]
    found = interpret(te.graph("g", scan, prefix), {"x": np.linspace(-1, 1, 8)})
    np.testing.assert_allclose(found["scan"], found["prefix"])


def test_inputs_come_in_order_of_first_use_after_those_listed() -> None:
    t = te.tensor("t", (P, J), te.sum(K, A[P, K] * B[K, J]))
    assert [i.name for i in te.graph("g", t).inputs] == ["A", "B"]
    assert [i.name for i in te.graph("g", t, inputs=(X, B)).inputs] == ["x", "B", "A"]


def test_intermediates_are_numbered_around_given_names() -> None:
    def tower() -> te.Graph:
        one = te.tensor(None, P, X[P] + 1, hint="y")
        two = te.tensor(None, P, one[P] + 1, hint="y")
        return te.graph("g", te.tensor("y_2", P, two[P] + X[P]), last=te.tensor(None, P, two[P] * 2))

    assert [t.name for t in tensors_of(tower().outputs)] == ["y", "y_3", "y_2", "last"]
    assert tower() == tower()


def test_spans_name_the_line_of_the_user() -> None:
    t = te.softmax(te.input("unique_to_this_test", (3, 5))).node
    fold = te.sum(P, te.input("also_unique", (9,))[P]).scalar
    line = sys._getframe().f_lineno - 2
    assert isinstance(fold, Reduce)
    assert (t.at.line, fold.at.line) == (line, line + 1)  # type: ignore[union-attr]
    assert t.at.file.endswith("test_notation.py")  # type: ignore[union-attr]


def test_a_donated_input_is_named_by_its_tensor() -> None:
    cache = te.input("cache", (8,), donated=True)
    t = te.tensor("next", P, cache[P] + X[P], into=cache)
    assert t.node.into == "cache"  # type: ignore[union-attr]


def test_importing_the_package_does_not_import_the_compiler() -> None:
    code = "import sys, tang_egg; print([m for m in sys.modules if m in ('egglog', 'pulp', 'tang_egg.pipeline')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_exists() -> None:
    """Of optional packages too: what needs one says so when it is called."""
    missing = [n for n in te.__all__ if n not in ("Compiled", "optimize") and not hasattr(te, n)]
    assert not missing
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        te.nothing  # noqa: B018


ERRORS: list[tuple[Callable[[], object], str, str]] = [
    (
        lambda: te.input("a", (2.5,)),  # type: ignore[arg-type]
        "an axis of 'a' has the extent 2.5",
        "give a whole number from 0, or a dimension: te.dim('n')",
    ),
    (
        lambda: te.input("a", (-3,)),
        "an axis of 'a' has the extent -3",
        "give a whole number from 0, or a dimension: te.dim('n')",
    ),
    (
        lambda: te.input("a", 4),  # type: ignore[arg-type]
        "the shape of 'a' is 4",
        "give a tuple of extents: (n, 64), (64,) for one axis, () for a scalar",
    ),
    (
        lambda: te.index("i", -1),
        "index 'i' has the extent -1",
        "give a whole number from 0, or a dimension: te.dim('n')",
    ),
    (
        lambda: te.indices(["i"]),  # type: ignore[arg-type]
        "['i'] does not name indices",
        "give one string: te.indices('i j')",
    ),
    (
        lambda: te.dim("n", lo=5, hi=7, multiple=8),
        "no value fits dimension 'n': from 5 to 7, a multiple of 8",
        "give whole numbers with 0 <= lo <= hi, and a multiple of at least 1 that lies between them",
    ),
    (
        lambda: te.dim("n", multiple=0),
        "no value fits dimension 'n': from 0 to None, a multiple of 0",
        "give whole numbers with 0 <= lo <= hi, and a multiple of at least 1 that lies between them",
    ),
    (
        lambda: X + 1,
        "arithmetic on the whole of 'x'",
        "work on its elements: te.tensor('y', (i, j), x[i, j] + 1), or use te.pointwise, te.matmul",
    ),
    (lambda: ~X[I8], "~ of a real value", "write -x, or take its bits by te.bitcast"),
    (lambda: te.argmax(I8, FLAG[I8]), "the largest of bools", "convert them: te.cast(x, 'i32')"),
    (
        lambda: te.sum(3, X[0]),  # type: ignore[arg-type]
        "3 is not an index or a tuple of them",
        "give indices first: te.sum(i, x[i])",
    ),
    (
        lambda: te.tensor("t", P, te.sum(K, X[K + 1])),
        "index 'k' has no size",
        "use it alone as a coordinate, or give its size: te.index('k', 8)",
    ),
    (
        lambda: te.sum(K, A[0, K] * X[K]),
        "index 'k' has two sizes: 6 on axis 1 of 'A' and 8 on axis 0 of 'x'",
        "use two indices, or give the size: te.index('k', ...)",
    ),
    (
        lambda: te.tensor("t", P, A[P, J]),
        "index 'j' is free but is not an axis",
        "add it to the axes, or fold over it",
    ),
    (
        lambda: te.tensor("t", te.index("i", 3), X[P]),
        "index 'i' is free but is not an axis; the axis 'i' of size 3 is another index",
        "add it to the axes, or fold over it",
    ),
    (
        lambda: te.sum(K, te.sum(te.index("k", 6), A[0, K] * A[1, te.index("k", 6)])),
        "two indices named 'k' meet in one fold",
        "rename one of them",
    ),
    (
        lambda: te.sum((K, te.index("k", 6)), A[0, K]),
        "two indices are named 'k'",
        "rename one of them",
    ),
    (
        lambda: te.tensor("t", (), te.sum(K, X[K]) / te.size(K)),
        "the size of index 'k' is used outside the fold that binds it",
        "give the index its size: te.index('k', ...)",
    ),
    (
        lambda: A[P],
        "'A' has 2 axes but is read with 1 coordinates",
        "give one coordinate for each axis of shape (4, 6)",
    ),
    (
        lambda: X[0.5],  # type: ignore[index]
        "0.5 is a coordinate of 'x'",
        "coordinates are indices, sums of them with integer factors, or integer elements such as idx[b]",
    ),
    (
        lambda: X[X[P]],
        "a value of type real is a coordinate of 'x'",
        "coordinates are indices, sums of them with integer factors, or integer elements such as idx[b]",
    ),
    (
        lambda: X[P * J],
        "i*j is not affine",
        "multiply an index by integers and dimensions only",
    ),
    (
        lambda: X[P] + P,
        "operands of different types",
        "convert one of them with te.cast",
    ),
    (
        lambda: X[P] + A,
        "the tensor 'A' without indices is not a scalar expression",
        "index a tensor to get an element, e.g. A[i, j]",
    ),
    (
        lambda: N[P] + 0.5,
        "the constant 0.5 does not fit i32",
        "cast the other operand to a type that holds it, e.g. te.cast(x, 'f32')",
    ),
    (
        lambda: N[P] + 2**31,
        "the constant 2147483648 does not fit i32",
        "cast the other operand to a type that holds it, e.g. te.cast(x, 'f32')",
    ),
    (
        lambda: te.select(X[P] == X[J], 1.0, 0.0),
        "the condition is a plain False",
        "write te.eq(a, b) for equality: Python's == compares the expressions, not their values",
    ),
    (
        lambda: 1.0 if X[P] < 0 else 2.0,
        "the value of an expression is not known while the graph is built",
        "use te.select(condition, a, b) for a choice, and & | ~ instead of and, or, not",
    ),
    (
        lambda: te.sum(P, X[P], where=0 <= P <= 3),
        "a condition on indices has no truth value of its own",
        "give several conditions as a tuple, where=(0 <= i, i < 4), not as a chain or with 'and'",
    ),
    (
        lambda: te.sum(P, X[P], where=X[P]),
        "a condition has type real",
        "compare it, e.g. x > 0",
    ),
    (
        lambda: te.sum(P, X[P] > 0),
        "sum of bools",
        "use te.any or te.all, or count: te.sum(i, te.cast(x, 'i64'))",
    ),
    (
        lambda: X[P] ** 0.5,  # type: ignore[operator]
        "the exponent 0.5 is not a Python integer",
        "write exp(y * log(x)) for a general power, sqrt(x) for a square root",
    ),
    (
        lambda: te.sum((P, P), X[P]),
        "an index occurs twice in one list of indices",
        "use a different index for each axis",
    ),
    (
        lambda: te.sum("i", X[P]),  # type: ignore[arg-type]
        "'i' is not an index",
        "make indices by te.indices('i j')",
    ),
    (
        lambda: te.reduce(AFFINE, P, X[P]),
        "'affine' folds 2 components but 1 lifts are given",
        "give one lift for each of: a, b",
    ),
    (
        lambda: te.reduce(AFFINE, P, X[P], X[P], part="c"),
        "monoid 'affine' has no component 'c'",
        "its components are: a, b",
    ),
    (
        lambda: te.tensor("t", P, X[P], "i32"),
        "tensor 't' is declared i32 but its body is real",
        "convert the body: te.cast(body, 'i32')",
    ),
    (
        lambda: te.input("a b", (3,)),
        "'a b' cannot be the name of an input",
        "use letters, digits and underscores, a letter first",
    ),
    (
        lambda: te.input("a", (3,), "float"),
        "unknown element type 'float'",
        "use one of f16, bf16, f32, f64, f8e4m3, f8e5m2, i8, i16, i32, i64, u8, u16, u32, u64, bool",
    ),
    (
        lambda: te.cast(X[P], "float"),
        "unknown element type 'float'",
        "use one of f16, bf16, f32, f64, f8e4m3, f8e5m2, i8, i16, i32, i64, u8, u16, u32, u64, bool, real",
    ),
    (lambda: te.graph("g"), "graph 'g' has no output", "give at least one tensor"),
    (
        lambda: te.graph("g", X),
        "an output of graph 'g' is not a tensor: x: f32[8]",
        "name it first: te.tensor('y', (i, j), ...)",
    ),
    (
        lambda: te.graph("g", te.tensor("t", P, X[P]), te.tensor("t", P, X[P] + 1)),
        "two different arrays are named 't'",
        "rename one of them, or leave intermediate tensors without a name: te.tensor(None, ...)",
    ),
    (
        lambda: te.graph("g", te.tensor("t", P, X[P] + te.input("x", (8,), "f16")[P])),
        "two different arrays are named 'x'",
        "rename one of them, or leave intermediate tensors without a name: te.tensor(None, ...)",
    ),
    (
        lambda: te.graph("g", *[te.tensor("t", P, X[P])] * 2),
        "graph 'g' gives one tensor out twice",
        "list each output once",
    ),
]


@pytest.mark.parametrize(("build", "what", "mend"), ERRORS, ids=[e[1] for e in ERRORS])
def test_errors_say_what_where_and_how_to_mend(build: Callable[[], object], what: str, mend: str) -> None:
    with pytest.raises(GraphError) as caught:
        build()
    assert (caught.value.what, caught.value.mend) == (what, mend)
    assert "test_notation.py:" in caught.value.where or what.endswith(("not affine", "of its own", "component 'c'"))


def test_an_array_cannot_be_iterated() -> None:
    with pytest.raises(TypeError, match="'x' is read by indices"):
        list(X)  # type: ignore[call-overload]


def test_affine_conditions_combine_like_values() -> None:
    i, j = te.index("i", 5), te.index("j", 5)
    x = te.input("x", (5, 5))
    inside = (i <= j) & (j <= 3) | ~(i >= 1)
    g = te.graph("g", te.tensor("y", (i, j), te.select(inside, x[i, j], 0.0)))
    a, b = np.indices((5, 5))
    expected = np.where((a <= b) & (b <= 3) | ~(a >= 1), 1.0, 0.0)
    np.testing.assert_array_equal(te.interpret(g, {"x": np.ones((5, 5), np.float32)})["y"], expected)


def test_the_text_of_a_very_large_expression_is_cut_short() -> None:
    i = te.index("i", 3)
    x = te.input("X", (3,))[i]
    for _ in range(1000):
        x = x * x + 1.0
    assert repr(x) == "<an expression of more than 400 nodes>"
