"""Random graphs: interpreter, extracted program and compiled program agree (tests/fuzz.py says what that means)."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from tests.fuzz import problem
from tests.strategies import random_instance


@pytest.mark.parametrize("seed", range(40))
def test_extracted_programs(seed: int) -> None:
    assert not problem(random_instance(seed))


@pytest.mark.parametrize("seed", range(1000, 1010))
def test_extracted_programs_on_infinities(seed: int) -> None:
    assert not problem(random_instance(seed, edges=True), edges=True)


@pytest.mark.parametrize("seed", range(3000, 3006))
def test_compiled_programs_on_infinities(seed: int) -> None:
    assert not problem(random_instance(seed, edges=True), compiled=True, edges=True)


@pytest.mark.parametrize("seed", range(2000, 2012))
def test_compiled_programs(seed: int) -> None:
    assert not problem(random_instance(seed), compiled=True)


def test_a_statistic_is_read_at_a_computed_position() -> None:
    """The position is a tensor of the same window as the fold that is read there, and a second reader has its own."""
    x, labels = te.input("X", (3, 5, 2)), te.input("labels", (3, 2), "i64")
    i, j, k = (te.index(n, s) for n, s in zip("ijk", (3, 2, 5), strict=True))
    at = te.tensor("at", (i, j), te.select(labels[i, j] < 0, labels[i, j] + 5, labels[i, j]))
    logs = te.log_softmax(x, axis=1)
    picked = te.tensor("picked", (i, j), logs[i, at[i, j], j])
    g = te.graph(
        "picked", L=te.tensor(None, (), te.sum((i, j), picked[i, j])), P=te.tensor(None, (i, j, k), logs[i, k, j])
    )
    compiled = te.optimize(g)
    arrays = {"X": np.random.default_rng(0).standard_normal((3, 5, 2)).astype(np.float32)}
    arrays["labels"] = np.array([[0, -1], [4, 2], [-5, 3]])
    got, want = compiled.run(**arrays), te.interpret(g, arrays)
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-5)
