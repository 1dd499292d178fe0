"""Python functions traced into graphs: ordinary NumPy programs, their weights, their kernels, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tang_egg import array_api as xp
from tang_egg import notation as te
from tang_egg.errors import GraphError, InputError, TangError
from tang_egg.ir import Read, tensors_of, walk
from tang_egg.pipeline import extract, optimize
from tang_egg.pipeline_calls import CompiledFunction, compile
from tang_egg.traced import Traced, of, to_array
from tang_egg.tracing import from_function
from tests.docs_blocks import Runner
from tests.test_rediscovery import folds_of, laws_of
from tests.traced_programs import PROGRAMS, attention, causal_attention, layer_norm, self_attention, softmax
from tests.tree import ROOT

RANDOM = np.random.default_rng(6)


def members(found: Any) -> list[Any]:
    return list(found.values()) if isinstance(found, dict) else list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_numpy_gives(name: str) -> None:
    p = PROGRAMS[name]
    model = from_function(p.function, *p.arrays)
    got = model.interpret(dict(zip(model.inputs, p.arrays, strict=True)))
    with np.errstate(all="ignore"):
        wanted = members(p.function(*p.arrays))
    assert len(got) == len(wanted)
    for tensor, g, w in zip(model.graph.outputs, got.values(), wanted, strict=True):
        assert g.shape == w.shape
        assert tensor.dtype == {"float32": "f32", "bool": "bool"}[w.dtype.name]
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["self_attention", "convolution", "k_means", "life", "black_scholes", "mlp"])
def test_compiled_programs(name: str) -> None:
    p = PROGRAMS[name]
    for got, want in zip(members(compile(p.function)(*p.arrays)), members(p.function(*p.arrays)), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4)


def test_traced_attention_is_one_pass_over_the_keys() -> None:
    heads = ((4, 256, 64), "f32")
    x = extract(from_function(attention, heads, heads, heads).graph)
    assert (len(x.program.kernels), folds_of(x)) == (1, ((3, 2), (1, 0)))
    assert "cascade.pass" in laws_of(x)


def test_a_causal_mask_of_numpy_becomes_a_domain() -> None:
    p = PROGRAMS["causal_attention"]
    x = extract(from_function(causal_attention, *p.arrays).graph)
    assert {"cascade.pass", "domain.narrow"} <= laws_of(x)
    assert [i.name for i in x.program.graph.inputs] == ["q", "k", "v"], "the mask is no input"
    assert folds_of(x)[0] == (3, 2)


def test_traced_softmax_and_layer_norm_are_one_kernel() -> None:
    assert folds_of(extract(from_function(softmax, ((1024, 512), "f32")).graph)) == ((2, 1),)
    norm = extract(from_function(layer_norm, ((256, 768), "f32"), ((768,), "f32"), ((768,), "f32")).graph)
    assert len(norm.program.kernels) == 1


def test_views_leave_no_tensors() -> None:
    p = PROGRAMS["self_attention"]
    graph = from_function(self_attention, *p.arrays).graph
    copies = [t for t in tensors_of(graph.outputs) if isinstance(t.body, Read)]
    assert not copies, graph
    assert not [s for t in tensors_of(graph.outputs) for s in walk(t.body) if getattr(s, "op", "") in ("idiv", "imod")]


def test_symbolic_shapes() -> None:
    n, m = te.dim("n", lo=1), te.dim("m", lo=1)
    q, k = te.input("Q", (2, n, 8)), te.input("K", (2, m, 8))
    model = from_function(attention, q, k, te.input("V", (2, m, 3)))
    assert model.inputs == {"q": "Q", "k": "K", "v": "V"}
    p = PROGRAMS["attention"]
    got = model.interpret(dict(zip(("q", "K", "V"), p.arrays, strict=True)))["y"]
    np.testing.assert_allclose(got, attention(*p.arrays), rtol=1e-4, atol=1e-5)
    run = optimize(model.graph, verified=False)
    np.testing.assert_allclose(run(*p.arrays), attention(*p.arrays), rtol=1e-4, atol=1e-5)


def test_weights_that_a_function_closes_over() -> None:
    w = RANDOM.standard_normal((3, 4)).astype("f4")
    x = RANDOM.standard_normal((2, 3)).astype("f4")
    model = from_function(lambda x: {"a b": x @ w + w[0], "w": x @ w * 2}, x, name="two")
    assert model.graph.name == "two"
    assert next(iter(model.weights.values())) is w
    assert model.outputs == {"a b": "a_b", "w": "w"}
    got = model.interpret({"x": x})
    np.testing.assert_allclose(got["a b"], x @ w + w[0], rtol=1e-5)
    np.testing.assert_allclose(got["w"], x @ w * 2, rtol=1e-5)


def test_names_never_collide() -> None:
    model = from_function(lambda y, y0: (y, y0 + 1, np.zeros(2)), ((2,), "f32"), ((2,), "f32"))
    names = [i.name for i in model.graph.inputs] + [t.name for t in model.graph.outputs]
    assert len(set(names)) == len(names)
    got = model.interpret({"y": np.ones(2), "y0": np.ones(2)})
    assert [a.tolist() for a in got.values()] == [[1, 1], [2, 2], [0, 0]]


def test_one_array_given_out_twice_and_inputs_passed_through() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        return y, y, x, x.T

    x = np.arange(6.0).reshape(2, 3)
    got = list(from_function(f, x).interpret({"x": x}).values())
    for g, w in zip(got, (2 * x, 2 * x, x, x.T), strict=True):
        np.testing.assert_array_equal(g, w)


def test_options_defaults_and_varied_arguments() -> None:
    def f(x: Any, power: int = 2, *more: Any, scale: float = 1.0, shift: Any = 0.0) -> Any:
        return sum(more, x**power) * scale + shift

    x = np.arange(3.0)
    assert from_function(f, x).interpret({"x": x})["y"].tolist() == [0, 1, 4]
    model = from_function(f, x, 3, x, ((3,), "f64"), scale=2.0, shift=x)
    assert list(model.inputs) == ["x", "more0", "more1", "shift"]
    got = model.interpret({"x": x, "more0": x, "more1": x, "shift": x})["y"]
    np.testing.assert_array_equal(got, (x**3 + 2 * x) * 2 + x)


def test_arrays_of_the_notation_come_and_go() -> None:
    a = te.input("A", (3, 4))

    def f(x: Traced) -> Any:
        i, j = te.indices("i j")
        inner = to_array(x * 2)
        own = te.tensor(None, i, te.sum(j, inner[i, j]))
        return of(own) + a.shape[0].value, own  # both a traced array and one of the notation

    x = RANDOM.standard_normal((3, 4))
    got = from_function(f, a).interpret({"x": x})
    np.testing.assert_allclose(got["y0"], x.sum(1) * 2 + 3)
    np.testing.assert_allclose(got["y1"], x.sum(1) * 2)


X = np.linspace(-1, 1, 6).reshape(2, 3)


def branch(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def looped(x: Any) -> Any:
    while np.all(x < 10):
        x = x * 2
    return x


ERRORS = {
    "branch": (branch, "the truth of a traced array is not known"),
    "looped": (looped, "the truth of a traced array is not known"),
    "int": (lambda x: x[int(x[0, 0])], "the integer of a traced array is not known"),
    "float": (lambda x: x * float(x.max()), "the number of a traced array is not known"),
    "range": (lambda x: sum(range(x[0, 0].astype(int))), "the integer of a traced array is not known"),
    "array": (lambda x: np.asarray(x), "a traced array would become a NumPy array"),
    "tolist": (lambda x: x.tolist(), "as a list"),
    "masked": (lambda x: x[x > 0], "how many there are is not known"),
    "nonzero": (lambda x: xp.nonzero(x), "depends on values"),
    "unknown": (lambda x: np.linalg.svd(x), "np.linalg.svd has no equivalent"),
    "ufunc": (lambda x: np.heaviside(x, 0), "np.heaviside has no equivalent"),
    "fold": (lambda x: np.subtract.reduce(x), "np.subtract.reduce has no equivalent"),
    "option": (lambda x: np.add(x, 1, where=x > 0), "np.add of a traced array with where="),
    "parameter": (lambda x: np.round(x, 3), "np.round of a traced array with decimals="),
    "assigned": (lambda x: x.__setitem__((0, 0), 1.0), "an element of a traced array is assigned"),
    "none": (lambda x: None, "gives NoneType for 'y'"),
    "nothing": (lambda x: {}, "gives nothing"),
    "text": (lambda x: (x, "a"), "gives str for 'y1'"),
    "nested": (lambda x: [x, {"a": x}], "gives dict for 'y1'"),
    "length": (lambda x: len(x.sum()), "its length is asked of an array without axes"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_stand_at_the_users_line(name: str) -> None:
    function, text = ERRORS[name]
    with pytest.raises(TangError) as error:
        from_function(function, X)
    assert text in error.value.what
    assert error.value.mend
    file, line = error.value.where.rsplit(":", 1)
    assert file.endswith("test_tracing.py")
    if name in ("branch", "looped"):
        assert int(line) == function.__code__.co_firstlineno + 1


def test_iteration_over_a_symbolic_extent() -> None:
    for f, text in ((lambda x: sum(x), "iteration is asked of"), (lambda x: len(x), "its length is asked of")):
        with pytest.raises(GraphError, match=text):
            from_function(f, ((te.dim("n"), 2), "f32"))
    assert from_function(lambda x: sum(x), X).interpret({"x": X})["y"].shape == (3,)


def test_errors_of_specifications() -> None:
    for call, text in (
        (lambda: from_function(lambda x: x, X, X), "2 specifications for the 1 parameters of '<lambda>'"),
        (lambda: from_function(lambda x: x, X, x=X), "x is given twice"),
        (lambda: from_function(lambda x: x, ((2,), "float128x")), "'float128x' is no element type"),
        (lambda: from_function(lambda x: x, ((2, -1), "f32")), "has the extent -1"),
        (lambda: from_function(lambda x: x, np.array(["a"])), "an array of str"),
        (lambda: compile(3), "a value of type int is no function"),
    ):
        with pytest.raises(GraphError) as error:
            call()
        assert text in str(error.value)


def test_a_compiled_function_compiles_once_for_each_signature() -> None:
    count = []

    @compile(verified=False)
    def scaled(x: Any, by: float = 2.0) -> Any:
        """Doc."""
        count.append(1)
        return x * by, {"unused": 0}["unused"] + x.sum()

    x = np.arange(4, dtype="f4")
    first, total = scaled(x)
    assert first.tolist() == [0, 2, 4, 6] and total == 6
    scaled(x + 1)
    assert len(count) == 1
    assert scaled(x, 3.0)[0].tolist() == [0, 3, 6, 9]
    assert scaled(x[:2])[0].tolist() == [0, 2]
    assert scaled(x=x, by=3.0)[0].tolist() == [0, 3, 6, 9]
    assert len(count) == 4
    assert isinstance(scaled, CompiledFunction) and scaled.__name__ == "scaled" and scaled.__doc__ == "Doc."
    with pytest.raises(InputError, match="an argument of type list has no value to compare by"):
        scaled(x, [1])


def test_results_keep_their_form() -> None:
    x = np.arange(3.0)
    assert isinstance(compile(lambda x: [x + 1], verified=False)(x), list)
    assert list(compile(lambda x: {"b": x, "a": x + 1}, verified=False)(x)) == ["b", "a"]
    assert compile(lambda x: x.sum())(x).shape == ()


def test_the_page_about_tracing_is_true(tmp_path: Path) -> None:
    assert Runner(ROOT / "docs" / "tracing.md", tmp_path).run().ran > 15
