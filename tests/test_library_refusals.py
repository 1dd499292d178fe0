"""Operands and parameters of the library that do not fit: errors of three parts, and what is no error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import GraphError
from tang_egg.interpret import interpret

X = te.input("x", (2, 4, 6))
BOOLS = te.input("bools", (2, 4, 6), "bool")
WEIGHTS = te.input("w", (4, 4, 3))


@pytest.mark.parametrize("given", [None, 1.5, "x", np.ones((2, 4, 6)), (1, 2)])
@pytest.mark.parametrize(
    "call",
    [
        te.softmax, te.mean, te.layer_norm, te.sort, te.cumulative_sum, te.dft, te.rms_norm,
        lambda x: te.add(X, x), lambda x: te.matmul(x, X), lambda x: te.conv(x, WEIGHTS), lambda x: te.kron(X, x),
        lambda x: te.conv(X, x), lambda x: te.tensordot(X, x), lambda x: te.max_pool(x, 2), lambda x: te.outer(x, x),
        lambda x: te.rotary_tables(x, 2), lambda x: te.top_k(x, 2), lambda x: te.embedding(X, x),
        lambda x: te.attention(X, X, x), lambda x: te.rnn_cell(X, X, x, X), te.trace, te.argsort,
        lambda x: te.layer_norm(x, axes=2),
    ],
)  # fmt: skip
def test_an_operand_that_is_no_array(call: Callable[[Any], object], given: object) -> None:
    with pytest.raises(GraphError) as caught:
        call(given)
    first, where, mend = str(caught.value).splitlines()
    assert where.startswith("  where:") and mend.startswith("  mend:") and first


def test_the_words_about_an_operand_that_is_no_array() -> None:
    with pytest.raises(GraphError, match="an operand of type ndarray is no array of a graph") as caught:
        te.softmax(np.ones(3))  # type: ignore[arg-type]
    assert "te.input('x', shape)" in caught.value.mend


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: te.softmax(X, where=3), "a mask of type int"),
        (lambda: te.variance(X, ddof=1.5), "a ddof of 1.5"),
        (lambda: te.cross_entropy(X, X, label_smoothing=None), "a label smoothing of None"),
        (lambda: te.rotary_tables(X, 2, base=()), "a rotary base of"),
        (lambda: te.mel_filterbank(5, 2, "high"), "a frequency of 'high'"),
        (lambda: te.project_heads(te.input("a", (3, 4)), te.input("b", (4, 8)), "two"), "do not split into 'two'"),
        (lambda: te.lstm(X, [()], peepholes=3), "weights of type int"),
        (lambda: te.max_pool_indices(BOOLS, 2), "the largest of bools 'bools'"),
    ],
)
def test_a_parameter_that_does_not_fit(call: Callable[[], object], text: str) -> None:
    with pytest.raises(GraphError) as caught:
        call()
    assert text in caught.value.args[0] and caught.value.where and caught.value.mend


def test_a_window_longer_than_its_axis_counts_where_sizes_are_rounded_upwards() -> None:
    data = np.arange(10.0).reshape(1, 2, 5)
    x = te.input("x", (1, 2, 5))
    g = te.graph(
        "g", m=te.max_pool(x, 4, 5, 0, 2, True), a=te.avg_pool(x, 6, 3, ceil_mode=True),
        i=te.max_pool_indices(x, 7, ceil_mode=True),
    )  # fmt: skip
    got = interpret(g, {"x": data})
    np.testing.assert_array_equal(got["m"], [[[4.0], [9.0]]])
    np.testing.assert_array_equal(got["a"], [[[2.0], [7.0]]])
    np.testing.assert_array_equal(got["i"], [[[4], [4]]])
    with pytest.raises(GraphError, match="longer than the axis"):
        te.max_pool(x, 4, 5, 0, 2)
    with pytest.raises(GraphError, match="longer than the axis"):
        te.max_pool(x, 6, 1, ceil_mode=True)
