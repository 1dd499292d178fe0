"""Verification: sound kernels pass on awkward programs, wrong ones do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import VerificationError
from tang_egg.pipeline import optimize
from tang_egg.pipeline_compiled import Compiled
from tang_egg.verify import verify

P, J, K = te.indices("i j k")
A, B = te.input("a", (32, 64)), te.input("b", (64, 32))
X = te.input("x", (64, 96))
TABLE, AT = te.input("table", (10, 3)), te.input("at", (7,), "i32")
N, D = te.input("n", (50,), "i32"), te.input("d", (50,), "i32")


def exp_over_sum() -> te.Array:
    e = te.tensor(None, (P, J), te.exp(te.matmul(A, B)[P, J]))
    return te.tensor("share", (P, J), e[P, J] / te.sum(K, e[P, K]))


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(lambda: te.softmax(te.matmul(A, B)), id="exponentials of large scores"),
        pytest.param(exp_over_sum, id="exponentials beyond single precision"),
        pytest.param(lambda: te.mean(te.layer_norm(X)), id="a result that is zero but for rounding"),
        pytest.param(
            lambda: te.tensor("q", (P, J), te.cast(te.floor(X[P, J] * 34.3 + 0.5), "i8")), id="quantised values"
        ),
        pytest.param(lambda: te.tensor("m", (P, J), X[P, J] * 0.7, "bf16"), id="bf16 results"),
        pytest.param(lambda: te.tensor("e", (P, J), TABLE[AT[P] * 2 + 1, J]), id="computed coordinates"),
        pytest.param(lambda: te.tensor("r", P, N[P] // D[P] + N[P] % D[P]), id="divisors that are data"),
    ],
)
def test_sound_kernels_pass(output: Callable[[], te.Array]) -> None:
    checked = optimize(te.graph("g", output())).verification
    assert checked is not None and checked.runs == 2


@pytest.fixture(scope="module")
def product() -> Compiled:
    return optimize(te.graph("g", te.tensor("m", P, te.max(J, te.matmul(A, B)[P, J]))), verified=False)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda y: y * np.float32(1.001), id="scaled"),
        pytest.param(lambda y: np.where(y == y.max(), 0, y), id="one element"),
        pytest.param(lambda y: np.where(y == y.max(), np.nan, y), id="NaN"),
        pytest.param(lambda y: y[:-1], id="shape"),
    ],
)
def test_wrong_kernels_do_not(product: Compiled, damage: Callable[[Any], Any]) -> None:
    def runner(arrays: Mapping[str, Any], dims: Mapping[str, int], out: object) -> dict[str, Any]:
        return {k: damage(v) for k, v in product.runner(arrays, dims).items()}

    with pytest.raises(VerificationError, match="output 'm' is wrong by"):
        verify(product.graph, product.program, runner, product.schedules)  # type: ignore[arg-type]


def test_a_wrong_decision_is_not_excused_by_rounding() -> None:
    compiled = optimize(te.graph("g", te.tensor("at", P, te.argmax(J, X[P, J]))), verified=False)

    def runner(arrays: Mapping[str, Any], dims: Mapping[str, int], out: object) -> dict[str, Any]:
        found = compiled.runner(arrays, dims)
        found["at"][3] += 1
        return found

    with pytest.raises(VerificationError):
        verify(compiled.graph, compiled.program, runner, compiled.schedules)  # type: ignore[arg-type]
