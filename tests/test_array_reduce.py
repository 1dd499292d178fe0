"""Folds of traced arrays, beside NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tang_egg import array_reduce as red
from tang_egg import notation as te
from tang_egg.errors import GraphError
from tests.array_check import compiled, same, value

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((3, 1, 5))
NAMES: dict[str, Any] = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean, "var": np.var, "std": np.std,
    "any": np.any, "all": np.all, "count_nonzero": np.count_nonzero,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_folds_along_every_choice_of_axes(name: str, keepdims: bool) -> None:
    axes = (None, 0, 1, -1, (0, 2), (1,), (2, 0, 1), ())
    found = value(lambda x: [getattr(red, name)(x, axis=a, keepdims=keepdims) for a in axes], X)
    for axis, got in zip(axes, found, strict=True):
        if name == "count_nonzero":
            want = np.sum(X != 0, axis=axis, keepdims=keepdims)
        else:
            want = NAMES[name](X, axis=axis, keepdims=keepdims)
        same(got, want)


@pytest.mark.parametrize("kind", ["i1", "i4", "u2", "bool", "f4"])
def test_integers_add_up_in_64_bits(kind: str) -> None:
    x = RANDOM.integers(0, 2 if kind == "bool" else 100, (4, 7)).astype(kind)
    for name in ("sum", "prod", "max", "min", "mean", "var", "any", "all"):
        want = NAMES[name](x, axis=1)
        want = want.astype("f4") if kind == "f4" and name not in ("any", "all") else want
        same(value(lambda a, n=name: getattr(red, n)(a, axis=1), x), want)
    for name, f in (("argmax", np.argmax), ("argmin", np.argmin)):
        same(value(lambda a, n=name: getattr(red, n)(a, axis=0), x), f(x, axis=0))
        same(value(lambda a, n=name: getattr(red, n)(a), x), f(x))
        same(value(lambda a, n=name: getattr(red, n)(a, axis=1, keepdims=True), x), f(x, axis=1, keepdims=True))


def test_asked_types() -> None:
    x = RANDOM.integers(-9, 9, (3, 4)).astype("i4")
    same(value(lambda a: red.sum(a, dtype="float32"), x), np.sum(x, dtype="f4"))
    same(value(lambda a: red.sum(a, axis=0, dtype="int32"), x), np.sum(x, axis=0, dtype="i4"))
    same(value(lambda a: red.mean(a, dtype=np.float32), x), np.mean(x, dtype="f4"))
    same(value(lambda a: red.var(a, axis=1, correction=1), x), np.var(x, axis=1, ddof=1))


def test_nan_and_infinities() -> None:
    x = np.array([[1.0, np.nan, 3.0], [np.inf, -np.inf, 2.0], [-np.inf, -np.inf, -np.inf]])
    with np.errstate(all="ignore"):
        for name in ("sum", "max", "min", "mean", "var", "any"):
            same(value(lambda a, n=name: getattr(red, n)(a, axis=1), x), NAMES[name](x, axis=1))
        same(value(lambda a: red.argmax(a, axis=1), x), np.argmax(x, axis=1))
        same(value(lambda a: red.argmin(a, axis=1), x), np.argmin(x, axis=1))
        same(value(lambda a: red.logsumexp(a, axis=1), x), np.logaddexp.reduce(x, axis=1))


def test_folds_over_nothing_are_the_identity() -> None:
    x = np.zeros((0, 3))
    for name in ("sum", "prod", "mean", "any", "all", "count_nonzero"):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = NAMES[name](x, axis=0)
        same(value(lambda a, n=name: getattr(red, n)(a, axis=0), x), want)
        same(value(lambda a, n=name: getattr(red, n)(a, axis=1), x), np.zeros(0, want.dtype))
    assert value(lambda a: red.max(a, axis=0), x).tolist() == [-np.inf] * 3
    assert value(lambda a: red.min(a, axis=0), x.astype("i1")).tolist() == [127] * 3


def test_norms_and_softmax() -> None:
    x = RANDOM.standard_normal((4, 5))
    for order in (0, 1, 2, 3, 0.5, np.inf, -np.inf):
        same(value(lambda a, o=order: red.norm(a, axis=1, ord=o), x), np.linalg.norm(x, ord=order, axis=1), 1e-11)
    same(value(red.norm, x), np.linalg.norm(x))
    e = np.exp(x)
    same(value(lambda a: red.softmax(a, axis=0), x), e / e.sum(0))
    same(value(red.log_softmax, x), np.log(e / e.sum(1, keepdims=True)))
    same(value(lambda a: red.logsumexp(a, axis=(0, 1), keepdims=True), x), np.log(e.sum(keepdims=True)))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_cumulative_folds(axis: int) -> None:
    x = RANDOM.standard_normal((3, 1, 5))
    same(value(lambda a: red.cumulative_sum(a, axis=axis), x), np.cumsum(x, axis))
    same(value(lambda a: red.cumulative_prod(a, axis=axis), x), np.cumprod(x, axis))
    want = np.concatenate([np.zeros_like(np.take(x, [0], axis)), np.cumsum(x, axis)], axis)
    same(value(lambda a: red.cumulative_sum(a, axis=axis, include_initial=True), x), want)
    n = RANDOM.integers(0, 5, (3, 1, 5)).astype("i2")
    same(value(lambda a: red.cumulative_sum(a, axis=axis), n), np.cumsum(n, axis))
    same(value(lambda a: red.cumulative_prod(a, axis=axis, dtype="float64"), n), np.cumprod(n, axis, dtype="f8"))
    same(value(lambda a: red.diff(a, axis=axis), x), np.diff(x, axis=axis))
    same(value(lambda a: red.diff(a, axis=axis, n=2), np.repeat(x, 3, axis)), np.diff(np.repeat(x, 3, axis), 2, axis))


def test_a_cumulative_sum_along_a_merged_axis() -> None:
    from tang_egg.array_shape import reshape

    x = RANDOM.standard_normal((3, 4, 2))
    same(value(lambda a: red.cumulative_sum(reshape(a, (12, 2)), axis=0), x), np.cumsum(x.reshape(12, 2), 0))
    same(value(lambda a: red.sum(reshape(a, (12, 2)), axis=0), x), x.reshape(12, 2).sum(0))
    same(value(lambda a: red.argmax(reshape(a, (-1,))), x), np.argmax(x))


def test_symbolic_extents() -> None:
    n = te.dim("n", lo=1)
    x = RANDOM.standard_normal((5, 3))
    for name in ("sum", "max", "mean", "var", "argmax"):
        f = {"argmax": np.argmax}.get(name) or NAMES[name]
        same(value(lambda a, k=name: getattr(red, k)(a, axis=0), x, shapes=[(n, 3)]), f(x, axis=0))
    same(value(lambda a: red.std(a, axis=0, correction=1), x, shapes=[(n, 3)]), np.std(x, 0, ddof=1))
    same(value(lambda a: red.cumulative_sum(a, axis=0), x, shapes=[(n, 3)]), np.cumsum(x, 0))


def test_compiled_folds() -> None:
    x = RANDOM.standard_normal((7, 33)).astype("f4")
    got = compiled(
        lambda a: [red.mean(a), red.var(a, axis=1), red.logsumexp(a, axis=1), red.cumulative_sum(a, axis=1),
                   red.argmax(a, axis=0), red.sum(red.axes_in and a, axis=(0, 1), keepdims=True)], x
    )  # fmt: skip
    want = [x.mean(), x.var(1), np.log(np.exp(x).sum(1)), x.cumsum(1), x.argmax(0), x.sum(keepdims=True)]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-5)
        assert g.shape == np.shape(w)


def test_errors() -> None:
    for f, text in (
        (lambda a: red.sum(a, axis=3), "there is no axis 3"),
        (lambda a: red.sum(a, axis=(0, -3)), "names one axis twice"),
        (lambda a: red.cumulative_sum(a), "a cumulative sum of 3 axes without an axis"),
        (lambda a: red.max(red.sum(a), axis=0), "the array has no axes"),
    ):
        with pytest.raises(GraphError) as error:
            value(f, X)
        assert text in str(error.value)
