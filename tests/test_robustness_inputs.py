"""What callers may give and what graphs may be called: the same errors from the interpreter and from compiled C."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import pipeline
from tang_egg.affine import affine
from tang_egg.check import check_graph
from tang_egg.errors import BindError, GraphError, InputError, TangError, TextError
from tang_egg.ir import Graph, Read
from tang_egg.text import parse_graph, print_graph
from tests.cuda_compile import compiled


@pytest.fixture(autouse=True)
def _quick_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CFLAGS", "-O1")


def whole(error: TangError) -> str:
    """The text of an error, which has three parts, each on a line."""
    assert error.what and error.where and error.mend
    assert len(str(error).splitlines()) == 3
    return str(error)


# -- arrays that do not fit

ROWS = te.dim("rows", lo=2, hi=64, multiple=2)


@pytest.fixture(scope="module")
def product() -> te.Compiled:
    """C = A B for A[rows, 3] and B[3, rows] in f32, masked by integers."""
    a, b, live = te.input("A", (ROWS, 3)), te.input("B", (3, ROWS)), te.input("live", (3,), "i32")
    i, j, k = te.indices("i j k")
    body = te.sum(k, a[i, k] * b[k, j], where=live[k] > 0)
    return te.optimize(te.graph("product", C=te.tensor(None, (i, j), body)), verified=False)


GOOD: dict[str, Any] = {
    "A": np.ones((4, 3), np.float32),
    "B": np.ones((3, 4), np.float32),
    "live": np.ones(3, np.int32),
}


class Elsewhere:
    """An array in the memory of a device."""

    device, dtype, shape = "cuda:0", "float32", (4, 3)

    def __dlpack__(self, **_: object) -> object:
        raise BufferError("the memory is not this machine's")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __array__(self, *_: object, **__: object) -> object:
        raise TypeError("the memory is on device cuda:0")

    def cpu(self) -> np.ndarray[Any, Any]:
        return np.ones((4, 3), np.float32)


BAD_CALLS: dict[str, tuple[dict[str, Any], dict[str, int], type[TangError], str]] = {
    "shape": ({"A": np.ones((4, 2), np.float32)}, {}, InputError, "input 'A' has extent 2 along axis 1, not 3"),
    "rank": ({"A": np.ones(4, np.float32)}, {}, InputError, "input 'A' has 1 axes, not 2"),
    "kind": ({"live": np.ones(3, np.float32)}, {}, InputError, "input 'live'"),
    "width": ({"live": np.ones(3, np.int64)}, {}, InputError, "input 'live'"),
    "complex": ({"A": np.ones((4, 3), np.complex64)}, {}, InputError, "input 'A'"),
    "text": ({"A": np.full((4, 3), "x")}, {}, InputError, "input 'A'"),
    "objects": ({"A": np.full((4, 3), None)}, {}, InputError, "input 'A'"),
    "ragged": ({"A": [[1.0], [1.0, 2.0]]}, {}, InputError, "input 'A'"),
    "device": ({"A": Elsewhere()}, {}, InputError, "input 'A' cannot be read as an array"),
    "conflict": ({"B": np.ones((3, 6), np.float32)}, {}, InputError, "'B' has extent 6 along axis 1, not rows = 4"),
    "given_conflict": ({}, {"rows": 6}, InputError, "input 'A' has extent 4 along axis 0, not rows = 6"),
    "multiple": ({"A": np.ones((5, 3), np.float32), "B": np.ones((3, 5), np.float32)}, {}, BindError, "cannot be 5"),
    "largest": ({"A": np.ones((66, 3), np.float32), "B": np.ones((3, 66), np.float32)}, {}, BindError, "cannot be 66"),
    "missing": ({"A": None}, {}, InputError, "A"),
    "unknown": ({"Q": np.ones(3)}, {}, InputError, "there is no input 'Q'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CALLS)
def test_arrays_that_do_not_fit_are_refused_alike(name: str, product: te.Compiled) -> None:
    changed, dims, kind, said = BAD_CALLS[name]
    given = {**GOOD, **changed}
    if name == "missing":
        del given["A"]
    for run in (product.runner, lambda arrays, dims: te.interpret(product.graph, arrays, dims)):
        with pytest.raises(kind) as caught:
            run(given, dims)
        assert said in whole(caught.value)
    if name == "device":
        with pytest.raises(InputError, match=r"tensor\.cpu\(\)"):
            product.runner(given)
    np.testing.assert_array_equal(product.runner(GOOD)["C"], np.full((4, 4), 3))


def test_a_dim_without_a_value_is_refused_alike() -> None:
    i = te.index("i", te.dim("n"))
    graph = te.graph("ramp", y=te.tensor(None, i, te.cast(te.value(i), "f32")))
    made = te.optimize(graph, verified=False)
    for run in (made.runner, lambda arrays, dims=None: te.interpret(graph, arrays, dims)):
        with pytest.raises(BindError, match="dimension 'n'") as caught:
            run({})
        assert "dims={'n'" in whole(caught.value)
    with pytest.raises(BindError, match="there is no dimension 'm'"):
        made(dims={"n": 2, "m": 3})


# -- gathers

POSITIONS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def gather_graph(kind: str) -> te.Graph:
    """Rows of a table, and the sum of three of them, by positions of an integer type."""
    table, at = te.input("table", (5, 2)), te.input("at", (6,), kind)
    i, d, k = te.index("i", 6), te.index("d", 2), te.index("k", 6)
    rows = te.tensor(None, (i, d), table[at[i], d])
    total = te.tensor(None, d, te.sum(k, table[at[k], d]))
    kept = te.tensor(None, i, te.select((at[i] < 5) & (at[i] >= 0), table[at[i], 0], -1.0))
    return te.graph(f"gather_{kind}", rows=rows, total=total, kept=kept)


@pytest.mark.parametrize("kind", POSITIONS)
def test_gathers_out_of_range_are_an_error_of_the_interpreter_and_clipped_in_c(kind: str) -> None:
    limits = np.iinfo(kind.replace("u", "uint") if kind[0] == "u" else kind.replace("i", "int"))
    at = np.array([0, 4, 5, limits.max, limits.min, 2], limits.dtype)
    data = {"table": np.arange(10, dtype=np.float32).reshape(5, 2), "at": at}
    graph = gather_graph(kind)
    with pytest.raises(InputError) as caught:
        te.interpret(graph, data)
    text = whole(caught.value)
    assert "table" in text and "5" in text
    got = te.optimize(graph, verified=False).runner(data)
    want = te.interpret(graph, data, checked=False)
    clipped = np.clip(np.array([int(v) for v in at], object), 0, 4).astype(int)
    np.testing.assert_array_equal(want["rows"], data["table"][clipped])
    np.testing.assert_array_equal(got["kept"], [data["table"][int(v), 0] if 0 <= int(v) < 5 else -1 for v in at])
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array)


def test_a_guarded_gather_is_no_error() -> None:
    table, at = te.input("table", (5,)), te.input("at", (3,), "i32")
    i = te.index("i", 3)
    y = te.select((at[i] >= 0) & (at[i] < 5), table[at[i]], -1.0)
    s = te.sum(i, table[at[i]], where=(at[i] >= 0, at[i] < 5))
    graph = te.graph("guarded", y=te.tensor(None, i, y), s=te.tensor(None, (), s))
    data = {"table": np.arange(5, dtype=np.float32), "at": np.array([-7, 3, 2**31 - 1], np.int32)}
    for found in (te.interpret(graph, data), te.optimize(graph, verified=False).runner(data)):
        np.testing.assert_array_equal(found["y"], [-1, 3, -1])
        assert found["s"] == 3


def test_a_gather_through_a_gather_is_clipped_at_each() -> None:
    table, at = te.input("table", (5,)), te.input("at", (3,), "i64")
    i = te.index("i", 3)
    graph = te.graph("twice", y=te.tensor(None, i, table[at[at[i]]]))
    data = {"table": np.arange(5, dtype=np.float32), "at": np.array([2**62, -(2**62), 1], np.int64)}
    with pytest.raises(InputError):
        te.interpret(graph, data)
    want = te.interpret(graph, data, checked=False)["y"]
    np.testing.assert_array_equal(want, [1, 4, 0])
    np.testing.assert_array_equal(te.optimize(graph, verified=False).runner(data)["y"], want)


# -- cycles and clashes

HEAD = 'graph("g")\nX = input(f32[8])\n'
CYCLES = {
    "itself": ("T[i:8] = T[i] + X[i]\noutput(T)\n", "no input or tensor is called 'T'"),
    "each_other": ("A[i:8] = B[i]\nB[i:8] = A[i]\noutput(A)\n", "no input or tensor is called 'B'"),
    "a_name": ("a = a + X[0]\nT[i] = X[i] + a\noutput(T)\n", "'a' is defined by itself"),
    "a_monoid": (
        'm = monoid("m")\nm.a = component(real, identity=0.0, combine=m[k:2](left.a))\nT[()] = m[i](X[i])\noutput(T)\n',
        "'m' is defined by itself",
    ),
    "a_base": (
        'm = monoid("m")\nm.a = component(real, identity=0.0, combine=left.a + right.a, follow=follow('
        "statistic=self.a, rebase=self.a, empty=self.a == 0.0, base=m))\nT[()] = m[i](X[i])\noutput(T)\n",
        "'m' is defined by itself",
    ),
    "a_size": ("T[i:i] = X[i]\noutput(T)\n", "no dim is called 'i'"),
    "a_shape": ("Y = input(f32[Y])\nT[i] = X[i]\noutput(T)\n", "no dim is called 'Y'"),
}


@pytest.mark.parametrize("name", CYCLES)
def test_a_text_that_goes_in_a_circle_is_refused(name: str) -> None:
    text, said = CYCLES[name]
    with pytest.raises(TextError) as caught:
        parse_graph(HEAD + text, "g.tang")
    assert said in whole(caught.value)


def test_a_forged_cycle_is_refused_everywhere() -> None:
    """Nodes cannot be made in a circle; one that was bent into a circle is found before anything follows it."""
    i, x = te.index("i", 8), te.input("x", (8,))
    t = te.tensor("t", i, x[i]).node
    u = te.tensor("u", i, te.Array(t)[i] + 1).node
    object.__setattr__(t, "body", Read(u, (affine(i),)))
    graph = Graph("g", (x.node,), (u,))  # type: ignore[arg-type]
    data = {"x": np.zeros(8, np.float32)}
    calls: tuple[Callable[[], object], ...] = (
        lambda: te.graph("g", u), lambda: check_graph(graph), lambda: te.interpret(graph, data),
        lambda: te.optimize(graph), lambda: print_graph(graph),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(GraphError, match="depends on itself") as caught:
            call()
        whole(caught.value)


def clash(kind: str) -> object:
    i, x = te.index("i", 8), te.input("x", (8,))
    y = te.tensor("y", i, x[i])
    if kind == "two tensors":
        return te.graph("g", y, te.tensor("y", i, x[i] + 1))
    if kind == "input and output":
        return te.graph("g", x=y)
    if kind == "input and tensor":
        return te.graph("g", z=te.tensor(None, i, te.tensor("x", i, x[i] * 2)[i] + 1))
    if kind == "two inputs":
        other = te.input("x", (8,), "f64")
        return te.graph("g", y=te.tensor(None, i, x[i] + other[i]))
    if kind == "dim and input":
        n = te.dim("x")
        k = te.index("k", n)
        return te.graph("g", y=te.tensor(None, k, te.input("x", (n,))[k]))
    if kind == "two dims":
        n, m = te.dim("n"), te.dim("n", lo=3)
        k, j = te.index("k", n), te.index("j", m)
        return te.graph("g", y=te.tensor(None, (k, j), te.input("a", (n,))[k] + te.input("b", (m,))[j]))
    if kind == "two axes":
        return te.graph("g", y=te.tensor(None, (te.index("i", 8), te.index("i", 4)), x[i]))
    return te.graph("g", y, y)


CLASHES = ("two tensors", "input and output", "input and tensor", "two inputs", "dim and input", "two dims", "two axes",
           "one output twice")  # fmt: skip


@pytest.mark.parametrize("kind", CLASHES)
def test_names_that_clash_are_refused(kind: str) -> None:
    with pytest.raises(GraphError) as caught:
        clash(kind)
    whole(caught.value)


# -- names

WORDS = (
    # of C
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "_Atomic", "_Generic",
    "int64_t", "size_t", "main", "printf", "malloc", "expf", "INFINITY", "NULL", "asm", "typeof", "__builtin_expf",
    # of C++ and CUDA
    "class", "new", "delete", "template", "this", "namespace", "operator", "bool", "true", "false", "and", "not", "xor",
    "half", "__global__", "__shared__", "threadIdx", "blockIdx", "blockDim", "warpSize", "dim3", "float4", "__half",
    "atomicAdd", "clock64", "cudaError_t",
    # of Python and of this language
    "None", "True", "lambda", "import", "self", "print", "sum", "exp", "graph", "input", "output", "where", "f32",
    # of the generated code
    "buffers", "dims", "scratch", "threads", "tang_run", "te_exp", "k0", "i0", "i1", "t0", "acc", "tile",
    # with signs and letters that are easy to get wrong
    "_", "__", "___x", "x__", "_0", "x1", "X1", "E", "e", "L", "größe", "σ", "переменная", "变量", "ﬁ", "µ", "ª", "ℌ",
    "x" * 3000, "x" * 2999 + "y",
)  # fmt: skip
NAMES = tuple(dict.fromkeys(WORDS))


def check_names(graph: te.Graph, data: dict[str, Any], dims: dict[str, int] | None = None) -> None:
    """The graph compiles, agrees with the interpreter, and survives the way through text; its code is ASCII."""
    want = te.interpret(graph, data, dims)
    made = te.optimize(graph, verified=False)
    got = made.runner(data, dims)
    assert list(got) == list(want)
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-5)
    assert print_graph(parse_graph(print_graph(graph))) == print_graph(graph)
    for source in (made.source, *pipeline.sources(graph).values()):
        code = re.sub(r"//.*|/\*.*?\*/", "", source, flags=re.DOTALL if source is made.source else 0)
        assert code.isascii()


def test_inputs_may_have_any_name() -> None:
    i = te.index("i", 3)
    total = te.constant(0.0)
    for name in NAMES:
        total = total + te.input(name, (3,))[i]
    graph = te.graph("inputs", answer=te.tensor(None, i, total))
    r = np.random.default_rng(0)
    check_names(graph, {n: r.standard_normal(3).astype(np.float32) for n in NAMES})


@pytest.mark.slow
def test_cuda_sources_with_such_names_compile() -> None:
    i, x = te.index("i", 3), te.input("given", (3,))
    dims = [te.dim(name, lo=1) for name in NAMES[60:84]]
    at = tuple(te.index(d.name, d) for d in dims)
    spread = [te.input(f"in_{n}", tuple(dims[n : n + 6]))[at[n : n + 6]] for n in range(0, len(dims), 6)]
    total = te.constant(0.0)
    for name in NAMES:
        total = total + te.input(name, (3,))[i]
    for graph in (
        te.graph("int", answer=te.tensor(None, i, total)),
        te.graph("class", **{n: te.tensor(None, i, x[i] + k) for k, n in enumerate(NAMES[-30::6])}),
        te.graph("__global__", answer=te.tensor(None, at[:1], te.sum(at[1:6], spread[0]))),
        te.graph("xor", answer=te.tensor(None, at[6:7], te.sum(at[7:12], spread[1]))),
    ):
        for source in pipeline.sources(graph).values():
            compiled(source)


def test_outputs_may_have_any_name() -> None:
    i, x = te.index("i", 3), te.input("given", (3,))
    graph = te.graph("outputs", **{n: te.tensor(None, i, x[i] + k) for k, n in enumerate(NAMES)})
    check_names(graph, {"given": np.arange(3, dtype=np.float32)})


def test_dims_and_indices_may_have_any_name() -> None:
    data, outputs = {}, {}
    for n in range(0, len(NAMES), 6):
        dims = [te.dim(name, lo=1) for name in NAMES[n : n + 6]]
        i = tuple(te.index(d.name, d) for d in dims)
        shape = tuple(k % 3 + 1 for k in range(len(dims)))
        data[f"in_{n}"] = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        outputs[f"out_{n}"] = te.tensor(None, i[:2], te.sum(i[2:], te.input(f"in_{n}", tuple(dims))[i]))
    check_names(te.graph("dims", **outputs), data)


@pytest.mark.parametrize("name", ["int", "__global__", "lambda", "_", "größe", "变量", "x" * 3000, "graph"])
def test_graphs_may_have_any_name(name: str) -> None:
    i, x = te.index("i", 3), te.input("given", (3,))
    t = te.tensor("inner", i, x[i] * 2)
    check_names(te.graph(name, y=te.tensor(None, i, t[i] + te.sum(te.index("j", 3), t[te.index("j", 3)]))),
                {"given": np.arange(3, dtype=np.float32)})  # fmt: skip


@pytest.mark.parametrize("name", ["", "1x", "a b", "a-b", "a.b", "a\nb", "a;b", "π²", "\ud800", "x\0", 3, None])
def test_what_is_no_name_is_refused(name: Any) -> None:
    i, x = te.index("i", 3), te.input("x", (3,))
    makers: list[Callable[[], object]] = [
        lambda: te.input(name, (3,)),
        lambda: te.dim(name),
        lambda: te.index(name, 3),
    ]
    if name is not None:
        makers += [lambda: te.tensor(name, i, x[i])]
    for make in makers:
        with pytest.raises(GraphError, match="cannot be the name of") as caught:
            make()
        whole(caught.value).encode()


def test_words_of_every_kind_are_among_the_names() -> None:
    assert sum(map(keyword.iskeyword, NAMES)) > 10 and sum(not n.isascii() for n in NAMES) > 5
