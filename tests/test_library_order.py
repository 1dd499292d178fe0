"""Cumulative folds, the largest elements, sorting by ranks, and bags of rows, against NumPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tests.library_values import close, declared, refused, value, values

RNG = np.random.default_rng(13)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_folds(axis: int, exclusive: bool, reverse: bool) -> None:
    x = RNG.normal(size=(3, 5, 7))
    turned = np.flip(x, axis) if reverse else x
    for ours, theirs, start in ((te.cumulative_sum, np.cumsum, 0), (te.cumulative_prod, np.cumprod, 1)):
        wanted = theirs(turned, axis)
        if exclusive:
            wanted = np.roll(wanted, 1, axis)
            wanted[(slice(None),) * (axis % 3) + (0,)] = start
        wanted = np.flip(wanted, axis) if reverse else wanted
        close(value(ours(*declared(x=x), axis, exclusive=exclusive, reverse=reverse), x=x), wanted)


def test_cumulative_sum_of_integers_and_over_symbolic_and_empty_axes() -> None:
    x = RNG.integers(-9, 9, (2, 6)).astype(np.int32)
    found = value(te.cumulative_sum(te.input("x", (2, te.dim("n")), "i32"), exclusive=True), x=x)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.cumsum(x, 1) - x)
    empty = value(te.cumulative_sum(te.input("x", (2, te.dim("n"))), exclusive=True), x=np.zeros((2, 0)))
    assert empty.shape == (2, 0)


def best(x: Any, k: int, axis: int, largest: bool) -> tuple[Any, Any]:
    """The k best by a stable sort; ~x and -x turn the order."""
    key = x if not largest else -x if x.dtype.kind == "f" else ~x
    at = np.take(np.argsort(key, axis=axis, kind="stable"), range(k), axis=axis)
    return np.take_along_axis(x, at, axis), at


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(
    ("shape", "axis", "k"), [((3, 7), -1, 3), ((7, 2), 0, 7), ((2, 11), 1, 11), ((1,), 0, 1), ((2, 5, 3), 1, 1)]
)
def test_top_k(shape: tuple[int, ...], axis: int, k: int, largest: bool) -> None:
    for x in (RNG.integers(-3, 3, shape).astype(np.float64), RNG.integers(-128, 127, shape).astype(np.int8)):
        found = values(*te.top_k(*declared(x=x), k, axis, largest), x=x)
        for ours, theirs in zip(found, best(x, k, axis, largest), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_top_k_of_infinities_unsigned_integers_and_a_symbolic_axis() -> None:
    x = np.array([[-np.inf, np.inf, 1.0, -np.inf]])
    top, at = values(*te.top_k(te.input("x", (1, te.dim("n", lo=4))), 4), x=x)
    np.testing.assert_array_equal(top, [[np.inf, 1, -np.inf, -np.inf]])
    np.testing.assert_array_equal(at, [[1, 2, 0, 3]])
    u = np.array([0, 255, 7], np.uint8)
    np.testing.assert_array_equal(values(*te.top_k(te.input("u", (3,), "u8"), 2, largest=False), u=u)[0], [0, 7])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((3, 7), -1), ((5, 2), 0), ((1,), 0), ((0,), 0), ((2, 13), 1)])
def test_sort(shape: tuple[int, ...], axis: int, descending: bool) -> None:
    x = RNG.integers(-3, 3, shape).astype(np.float64)
    wanted, at = best(x, shape[axis], axis, descending)
    (i,) = declared(x=x)
    np.testing.assert_array_equal(value(te.sort(i, axis, descending), x=x), wanted)
    np.testing.assert_array_equal(value(te.argsort(i, axis, descending), x=x), at)
    if x.size:
        np.testing.assert_array_equal(value(te.ranks(i, axis, descending), x=x), np.argsort(at, axis))


def test_sort_puts_nan_last_and_keeps_infinities() -> None:
    x = np.array([np.nan, 2.0, -np.inf, np.nan, np.inf, -1.0])
    np.testing.assert_array_equal(value(te.sort(*declared(x=x)), x=x), np.sort(x))
    np.testing.assert_array_equal(value(te.argsort(*declared(x=x)), x=x), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode: str) -> None:
    torch = pytest.importorskip("torch")
    table, idx = RNG.normal(size=(11, 3)), RNG.integers(0, 11, (4, 5))
    t, i = declared(t=table, i=idx)
    bag = torch.nn.functional.embedding_bag
    close(
        value(te.embedding_bag(t, i, mode=mode), t=table, i=idx),
        bag(torch.from_numpy(idx), torch.from_numpy(table), mode=mode),
    )
    flat, offsets = idx.reshape(-1), np.array([0, 3, 3, 19])
    t, i, o = declared(t=table, i=flat, o=offsets)
    wanted = bag(torch.from_numpy(flat), torch.from_numpy(table), torch.from_numpy(offsets), mode=mode)
    close(value(te.embedding_bag(t, i, o, mode=mode), t=table, i=flat, o=offsets), wanted)


def test_embedding_bag_with_weights() -> None:
    table, idx, w = RNG.normal(size=(11, 3)), RNG.integers(0, 11, (4, 5)), RNG.normal(size=(4, 5))
    t, i, weights = declared(t=table, i=idx, w=w)
    found = value(te.embedding_bag(t, i, mode="sum", weights=weights), t=table, i=idx, w=w)
    close(found, np.einsum("bl,bld->bd", w, table[idx]))


X, I = te.input("x", (3, 6)), te.input("i", (3, 6), "i32")  # noqa: E741


@pytest.mark.parametrize(
    ("build", "what", "mend"),
    [
        (lambda: te.cumulative_sum(te.input("b", (3,), "bool")), "a cumulative fold of bools 'b'", "te.cast them"),
        (lambda: te.cumulative_sum(X, 2), "'x' has no axis 2", "its axes are -2 to 1"),
        (lambda: te.top_k(X, 7), "the 7 best of 6 elements of 'x'", "give a number from 1"),
        (lambda: te.top_k(X, 0), "the 0 best of 6 elements of 'x'", "give a number from 1"),
        (lambda: te.top_k(te.input("x", (te.dim("n", lo=2),)), 3), "the 3 best of n elements of 'x'", "give a number"),
        (lambda: te.sort(te.input("b", (3,), "bool")), "the order of bools 'b'", "convert them"),
        (lambda: te.embedding_bag(X, I, mode="min"), "unknown mode 'min'", "use one of sum, mean, max"),
        (lambda: te.embedding_bag(X, X), "'x' is f32", "give integers, such as i64"),
        (lambda: te.embedding_bag(X, I, weights=X), "weights beside mode='mean'", 'use them with mode="sum"'),
        (lambda: te.embedding_bag(X, I, I), "'i' has 2 axes where 1 are expected", "check the order of the operands"),
    ],
)
def test_errors(build: Callable[[], te.Array], what: str, mend: str) -> None:
    refused(build, what, mend, Path(__file__).name)
