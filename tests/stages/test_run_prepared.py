"""Programs bound to arrays of this machine: each call reads them anew; bindings share nothing."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import InputError

i, j, k = te.indices("i j k")


def compiled():  # type: ignore[no-untyped-def]
    x, w = te.input("X", (3, 4)), te.input("W", (4, 5))
    return te.optimize(te.graph("g", te.tensor("O", (i, j), te.tanh(te.sum(k, x[i, k] * w[k, j])))))


def test_calls_read_their_arrays_anew_and_bindings_share_nothing() -> None:
    program = compiled()
    rng = np.random.default_rng(1)
    x, w, other = (rng.standard_normal(s).astype(np.float32) for s in ((3, 4), (4, 5), (3, 4)))
    out = np.zeros((3, 5), np.float32)
    first, second = program.prepare(x, w, out={"O": out}), program.prepare(other, W=w)
    assert first.outputs["O"] is out
    first()
    second()
    np.testing.assert_allclose(out, np.tanh(x @ w), rtol=1e-5)
    np.testing.assert_allclose(second.outputs["O"], np.tanh(other @ w), rtol=1e-5)
    x *= 2
    assert first() is None
    np.testing.assert_allclose(out, np.tanh(x @ w), rtol=1e-5)


def test_bound_weights_stay_bound() -> None:
    w = np.ones((4, 5), np.float32)
    x = np.ones((3, 4), np.float32)
    call = compiled().bind(W=w).prepare(x)
    call()
    call.finish()
    np.testing.assert_allclose(call.outputs["O"], np.tanh(np.full((3, 5), 4.0)), rtol=1e-6)


def test_a_donated_input_is_written_by_every_call() -> None:
    x = te.input("X", (6,), donated=True)
    program = te.optimize(te.graph("g", te.tensor("O", (i,), x[i] + 1.0, into=x)))
    held = np.zeros(6, np.float32)
    call = program.prepare(held)
    call()
    call()
    np.testing.assert_array_equal(held, np.full(6, 2.0))


def test_arrays_that_would_have_to_be_copied_are_refused() -> None:
    program = compiled()
    with pytest.raises(InputError) as error:
        program.prepare(np.zeros((4, 3), np.float32).T, np.zeros((4, 5), np.float32))
    assert str(error.value).startswith("the array of input 'X' cannot be read in place")
    assert "graph 'g', prepared" in str(error.value)
    assert "ascontiguousarray" in str(error.value)


@pytest.mark.parametrize("where", ["an input", "another output", "a part of an input"])
def test_results_over_what_is_read_are_refused(where: str) -> None:
    """A tile that is moved back would be computed from its own results."""
    x, y = te.input("X", (37,)), np.zeros(37, np.float32)
    program = te.optimize(te.graph("g", te.tensor("Y", (i,), x[i] + 1.0), te.tensor("Z", (i,), x[i] * 2.0)))
    held = np.zeros(38, np.float32)
    given, out = {
        "an input": (y, {"Y": y}),
        "another output": (np.zeros(37, np.float32), {"Y": y, "Z": y}),
        "a part of an input": (held[1:], {"Z": held[:37]}),
    }[where]
    for call in (lambda: program.prepare(given, out=out), lambda: program.runner({"X": given}, None, out)):
        with pytest.raises(InputError, match="overlaps") as error:
            call()
        assert "graph 'g'" in str(error.value) and "arrays of their own" in str(error.value)


def test_bound_weights_are_converted_once_and_may_be_prepared() -> None:
    w = np.asfortranarray(np.arange(20.0, dtype=np.float32).reshape(4, 5))
    call = compiled().bind(W=w).prepare(np.full((3, 4), 0.01, np.float32))
    call()
    np.testing.assert_allclose(call.outputs["O"], np.tanh(np.full((3, 4), 0.01) @ w), rtol=1e-5)
