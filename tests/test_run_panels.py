"""Products read bound weights from panels: the same results, for any number of rows, filled once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import run_panels
from tang_egg.errors import VerificationError
from tang_egg.interpret import interpret
from tang_egg.run_arrays import NUMPY

ROWS = (1, 2, 5, 6, 7, 11, 12, 13, 31, 64, 118)


def layer(dtype: str = "f32", inner: int = 96, outer: int = 192, transposed: bool = False) -> te.ir.Graph:
    """max(X W + b, 0) over a number of rows that is known at run time."""
    n = te.dim("n", lo=1)
    x = te.input("X", (n, inner))
    w = te.input("W", (outer, inner) if transposed else (inner, outer), dtype)
    b = te.input("b", (outer,))
    i, j = te.index("i", n), te.index("j", outer)
    product = te.linear(x, w, b, transposed=transposed)
    return te.graph("layer", Y=te.tensor(None, (i, j), te.maximum(product[i, j], 0.0)))


def arrays(graph: Any, n: int, seed: int = 0) -> dict[str, Any]:
    drawn = np.random.default_rng(seed)
    found = {}
    for i in graph.inputs:
        values = drawn.standard_normal(tuple(s.evaluate({"n": n}) for s in i.shape), np.float32)
        if i.dtype == "bf16":
            found[i.name] = (values.view(np.uint32) >> 16).astype(np.uint16)
        else:
            found[i.name] = values.astype(NUMPY[i.dtype])
    return found


def exact(graph: Any, given: dict[str, Any]) -> Any:
    """float64; bf16 comes as its bits."""
    wide = {k: (a.astype(np.uint32) << 16).view(np.float32) if a.dtype == np.uint16 else a for k, a in given.items()}
    return interpret(graph, wide, {})["Y"]


@pytest.mark.parametrize("bits", ["256", "512"])
@pytest.mark.parametrize(("dtype", "transposed"), [("f32", False), ("f32", True), ("bf16", False), ("f16", True)])
def test_results_are_those_of_the_graph_for_any_number_of_rows(
    monkeypatch: pytest.MonkeyPatch, bits: str, dtype: str, transposed: bool
) -> None:
    monkeypatch.setenv("TANG_VECTORS", bits)
    graph = layer(dtype, transposed=transposed)
    weights = {k: v for k, v in arrays(graph, 1).items() if k != "X"}
    bound = te.optimize(graph).bind(**weights)
    assert bound.kept is not None
    for n in ROWS:
        given = {"X": arrays(graph, n, n)["X"]} | weights
        want = exact(graph, given)
        got = np.asarray(bound(X=given["X"]))
        assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max(), n


def test_panels_are_filled_once_and_a_plain_call_reads_arrays_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = layer()
    given = arrays(graph, 7)
    compiled = te.optimize(graph)
    first = np.array(compiled(**given))
    filled = []
    plain = run_panels.filled
    monkeypatch.setattr(run_panels, "filled", lambda *a: filled.append(a) or plain(*a))
    bound = compiled.bind(W=given["W"], b=given["b"])
    count = len(filled)
    assert count
    np.testing.assert_allclose(bound(X=given["X"]), first, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(bound(X=given["X"]), first, rtol=1e-5, atol=1e-5)
    assert len(filled) == count
    given["W"] *= 2.0
    assert np.abs(np.asarray(compiled(**given)) - first).max() > 0.1


def test_programs_with_weights_of_their_own_do_not_share_panels() -> None:
    graph = layer()
    one, other = arrays(graph, 5, 1), arrays(graph, 5, 2)
    compiled = te.optimize(graph)
    first, second = (compiled.bind(W=a["W"], b=a["b"]) for a in (one, other))
    for bound, a in ((first, one), (second, other), (first, one)):
        np.testing.assert_allclose(bound(X=a["X"]), exact(graph, a), rtol=1e-4, atol=1e-4)


def test_without_a_product_nothing_is_kept() -> None:
    n = te.dim("n", lo=1)
    x, b = te.input("X", (n, 64)), te.input("b", (64,))
    i, j = te.index("i", n), te.index("j", 64)
    compiled = te.optimize(te.graph("added", Y=te.tensor(None, (i, j), x[i, j] + b[j])))
    assert compiled.bind(b=np.ones(64, np.float32)).kept is None


def test_panels_that_are_wrong_are_told_and_do_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = layer()
    given = arrays(graph, 7)
    compiled = te.optimize(graph)
    plain = run_panels.filled

    def wrong(*a: Any) -> Any:
        found = plain(*a)
        for array in found.values():
            array[...] = 0
        return found

    monkeypatch.setattr(run_panels, "filled", wrong)
    with pytest.warns(UserWarning, match="read where they lie"):
        bound = compiled.bind(W=given["W"], b=given["b"])
    assert bound.kept is None
    np.testing.assert_allclose(bound(X=given["X"]), exact(graph, given), rtol=1e-4, atol=1e-4)


def test_nothing_is_compared_where_the_program_was_not() -> None:
    graph = layer()
    given = arrays(graph, 3)
    compiled = te.optimize(graph, verified=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound = compiled.bind(W=given["W"], b=given["b"])
    assert bound.kept is not None and bound.verification is None
    assert issubclass(VerificationError, te.TangError)
