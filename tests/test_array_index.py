"""Subscripts, gathers, scatters and order in traced arrays, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tang_egg import array_api as xp
from tang_egg import notation as te
from tang_egg.errors import GraphError
from tests.array_check import compiled, same, value

RANDOM = np.random.default_rng(2)
X = RANDOM.standard_normal((4, 3, 5))
I = np.array([[0, 3], [-1, 2]])  # noqa: E741
J = np.array([2, -3])
KEYS: dict[str, Any] = {
    "one": 1, "last": -1, "pair": (0, 2), "all": (1, -2, 4), "rows": slice(1, 3), "back": slice(None, None, -1),
    "steps": slice(3, 0, -2), "beyond": slice(2, 99), "none": slice(3, 1), "far": slice(-99, -1, 2),
    "new": (None, slice(None), None), "dots": (Ellipsis, 1), "middle": (1, Ellipsis, slice(1, 4)), "empty": (),
    "array": I, "list": [0, 2, 2], "second": (slice(None), J), "last_array": (Ellipsis, J), "both": (I, J),
    "apart": (I, slice(None), J), "inner": (slice(None), I % 3, J),
    "new_between": (I, None, J), "with_integer": (1, slice(None), J),
    "integer_beside": (slice(None), 1, J), "three": (J, J, J), "mask": X[:, :, 0] > 0,
    "row_mask": np.array([True, False, True, True]),
    "range": np.arange(3), "backwards": np.arange(3, -1, -1), "scalar_array": np.array(2),
    "mask_and_slice": (np.array([True, False, True, True]), slice(None), slice(1, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", KEYS)
def test_subscripts(name: str) -> None:
    key = KEYS[name]
    same(value(lambda x: x[key], X), X[key])


def test_arrays_of_positions_that_are_data() -> None:
    for kind in ("i8", "i4", "u1"):
        i = np.abs(I).astype(kind) if kind == "u1" else I.astype(kind)
        same(value(lambda x, k: x[k], X, i), X[i])
        same(value(lambda x, k: x[:, k % 3, 0], X, i), X[:, i % 3, 0])
    same(value(lambda x, i, j: x[i, :, j], X, I, J), X[I, :, J])
    same(value(lambda x, i: xp.take(x, i, axis=2), X, I), np.take(X, I, 2))
    same(value(lambda x, i: xp.take(x, i), X.reshape(-1), I), np.take(X, I))
    order = np.argsort(X, axis=1)
    same(value(lambda x, i: xp.take_along_axis(x, i, axis=1), X, order), np.take_along_axis(X, order, 1))
    few = order[:1, :2]
    same(value(lambda x, i: xp.take_along_axis(x, i, axis=1), X, few), np.take_along_axis(X, few, 1))
    pairs = np.array([[[0, 1], [3, -1]], [[2, 2], [-4, 0]]])
    same(value(xp.gather_nd, X, pairs), X[pairs[..., 0], pairs[..., 1]])
    same(value(lambda x, i: xp.gather_nd(x, i, batch=1), X, np.array([[1], [0], [2], [-1]])),
         X[np.arange(4), [1, 0, 2, -1]])  # fmt: skip
    hot = value(lambda i: xp.one_hot(i, 4), np.array([[0, 3], [-1, 9]]))
    same(hot, np.array([[[1, 0, 0, 0], [0, 0, 0, 1]], [[0, 0, 0, 1], [0, 0, 0, 0]]], "f4"))
    same(value(lambda i: xp.one_hot(i, 4, axis=0, dtype=bool), np.array([0, 2])), np.eye(4, dtype=bool)[:, [0, 2]])


def test_symbolic_slices() -> None:
    n = te.dim("n", lo=4, multiple=2)
    x = np.arange(18.0).reshape(6, 3)
    for key in (slice(1, None), slice(None, -1), slice(2, 4), slice(-3, None), slice(None, None, -1),
                slice(-2, 0, -1), 0, -1, (3, 1), (Ellipsis, None, 1)):  # fmt: skip
        same(value(lambda a, k=key: a[k], x, shapes=[(n, 3)]), x[key])
    m = te.dim("m", lo=2)
    same(value(lambda a: a[::2], x, shapes=[(2 * m, 3)]), x[::2])
    same(value(lambda a: a[m:], x, shapes=[(2 * m, 3)]), x[3:])
    same(value(lambda a: a[1::2], x, shapes=[(2 * m, 3)]), x[1::2])


def scattered(x: Any, i: Any, u: Any, axis: int, mode: str) -> Any:
    """The plain loop."""
    y = x.copy()
    for at in np.ndindex(i.shape):
        to = list(at)
        to[axis] = i[at]
        y[tuple(to)] = _join(mode, y[tuple(to)], u[at])
    return y


def _join(mode: str, old: Any, new: Any) -> Any:
    return {"set": new, "add": old + new, "mul": old * new, "max": max(old, new), "min": min(old, new)}[mode]


@pytest.mark.parametrize("mode", ["set", "add", "mul", "max", "min"])
def test_scatters(mode: str) -> None:
    x, u = RANDOM.standard_normal((4, 5)), RANDOM.standard_normal((3, 2))
    i = np.array([[0, 3], [0, -1], [2, 0]])
    for axis in (0, 1):
        same(value(lambda a, b, c, p=axis: xp.scatter_elements(a, b, c, axis=p, mode=mode), x, i, u),
             scattered(x, i, u, axis, mode))  # fmt: skip
    n = RANDOM.integers(-9, 9, (4, 5)).astype("i4")
    same(value(lambda a, b, c: xp.scatter_elements(a, b, c, axis=1, mode=mode), n, i, n[:3, :2]),
         scattered(n, i, n[:3, :2], 1, mode))  # fmt: skip
    want, points = x.copy(), np.array([[1, 2], [3, 4], [1, 2], [-1, 0]])
    for p, v in zip(points, u.reshape(-1)[:4], strict=True):
        want[tuple(p)] = _join(mode, want[tuple(p)], v)
    same(value(lambda a, b, c: xp.scatter_nd(a, b, c, mode=mode), x, points, u.reshape(-1)[:4]), want)
    want, rows, new = x.copy(), np.array([[2], [0], [2]]), RANDOM.standard_normal((3, 5))
    for p, v in zip(rows[:, 0], new, strict=True):
        for c in range(5):
            want[p, c] = _join(mode, want[p, c], v[c])
    same(value(lambda a, b, c: xp.scatter_nd(a, b, c, mode=mode), x, rows, new), want)


def test_scatters_of_bools_single_elements_and_nothing() -> None:
    p = np.array([True, False, False, True])
    i, u = np.array([1, 3, 1]), np.array([True, False, False])
    same(value(xp.scatter_elements, p, i, u), np.array([True, False, False, False]))
    same(value(lambda *a: xp.scatter_elements(*a, mode="max"), p, i, u), np.array([True, True, False, True]))
    same(value(xp.scatter_elements, np.array([1.0, 2.0]), np.array([-1]), np.array([9.0])), np.array([1.0, 9.0]))
    x = np.arange(3.0)
    for mode in ("set", "add"):
        none = np.zeros(0)
        same(value(lambda *a, m=mode: xp.scatter_elements(*a, mode=m), x, none.astype("i8"), none), x)


def test_sorting() -> None:
    x = RANDOM.integers(0, 4, (3, 7)).astype("f8")
    x[0, 2], x[1, 0], x[1, 1], x[2, 3] = np.nan, np.inf, -np.inf, -0.0
    for axis in (0, 1, -1):
        same(value(lambda a, p=axis: xp.sort(a, axis=p), x), np.sort(x, axis))
        same(value(lambda a, p=axis: xp.argsort(a, axis=p), x), np.argsort(x, axis, kind="stable"))
    n = RANDOM.integers(0, 5, 9).astype("i2")
    same(value(lambda a: xp.sort(a, descending=True), n), np.sort(n)[::-1])
    same(value(lambda a: xp.argsort(a, descending=True), n), np.argsort(-n, kind="stable"))
    same(value(xp.sort, n > 2), np.sort(n > 2))
    same(value(xp.sort, np.zeros((2, 1))), np.zeros((2, 1)))
    same(value(xp.sort, np.zeros((2, 0))), np.zeros((2, 0)))
    v, w = np.sort(n), np.array([[-1, 0, 2], [3, 4, 9]], "i2")
    for side in ("left", "right"):
        same(value(lambda a, b, s=side: xp.searchsorted(a, b, side=s), v, w), np.searchsorted(v, w, side))
    real = np.array([-1.0, 2.0, 2.0, np.inf, np.nan])
    for side in ("left", "right"):
        same(value(lambda a, b, s=side: xp.searchsorted(a, b, side=s), real, real), np.searchsorted(real, real, side))
    for k in (3, 4):
        y = RANDOM.standard_normal((3, k, 2))
        same(value(lambda a: xp.median(a, axis=1), y), np.median(y, axis=1))
        same(value(lambda a: xp.median(a, keepdims=True), y), np.median(y, keepdims=True))


@pytest.mark.parametrize("k", [0, 1, 3, 9])
@pytest.mark.parametrize("largest", [True, False])
def test_the_k_largest(k: int, largest: bool) -> None:
    for kind in ("f8", "i4"):
        x = RANDOM.integers(0, 6, (2, 11, 3)).astype(kind)
        values, places = value(lambda a: xp.top_k(a, k, axis=1, largest=largest), x)
        order = np.argsort(-x if largest else x, axis=1, kind="stable")[:, :k]
        same(places, order)
        same(values, np.take_along_axis(x, order, 1))


def test_compiled_gathers_scatters_and_sorts() -> None:
    x = RANDOM.standard_normal((6, 8)).astype("f4")
    i = RANDOM.integers(-6, 6, (4, 8))

    def f(a: Any, k: Any) -> list[Any]:
        return [a[k[:, 0]], xp.take_along_axis(a, k, axis=0), xp.scatter_elements(a, k, a[:4], mode="add"),
                xp.sort(a, axis=1), *xp.top_k(a, 2)]  # fmt: skip

    got = compiled(f, x, i)
    order = np.argsort(-x, axis=1, kind="stable")[:, :2]
    want = [x[i[:, 0]], np.take_along_axis(x, i, 0), scattered(x, i, x[:4], 0, "add"), np.sort(x, 1),
            np.take_along_axis(x, order, 1), order]  # fmt: skip
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6)


ERRORS: tuple[tuple[Callable[[Any], Any], str], ...] = (
    (lambda x: x[7], "element 7 of an axis of 4"),
    (lambda x: x[:, -4], "element -4 of an axis of 3"),
    (lambda x: x[0, 0, 0, 0], "4 subscripts for 3 axes"),
    (lambda x: x[..., 0, ...], "a subscript has ... twice"),
    (lambda x: x[1.5], "1.5 is a subscript"),
    (lambda x: x[::0], "a slice by steps of 0"),
    (lambda x: x[x > 0], "how many there are is not known"),
    (lambda x: x[x], "elements are selected by an array of f64"),
    (lambda x: x[True], "a single bool is a subscript"),
    (lambda x: x[np.array([9])], "element 9 of an axis of 4"),
    (lambda x: x[..., [0, -6]], "element -6 of an axis of 5"),
    (lambda x: x[np.array([True, False])], "a mask of shape (2,) on axes of shape (4,)"),
    (lambda x: x["a"], "'a' is a subscript"),
    (lambda x: xp.take(x, x), "positions of type f64"),
    (lambda x: xp.take_along_axis(x, xp.zeros((2,), dtype=int)), "positions of 1 axes"),
    (lambda x: xp.gather_nd(x, xp.zeros((2, 4), dtype=int)), "coordinates of 4 axes"),
    (lambda x: xp.scatter_nd(x, xp.zeros((2, 4), dtype=int), 0), "coordinates of 4 axes"),
    (lambda x: xp.scatter_elements(x, xp.zeros((4, 3, 5), dtype=int), x, mode="sub"), "scattering by 'sub'"),
    (lambda x: xp.scatter_elements(x, xp.zeros((4,), dtype=int), x), "axes are scattered"),
    (lambda x: xp.top_k(x, 6), "the 6 largest of 5 elements"),
    (lambda x: xp.searchsorted(x, x), "a search on side 'left'"),
    (lambda x: x.__setitem__(0, 1), "an element of a traced array is assigned"),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number: int) -> None:
    f, text = ERRORS[number]
    with pytest.raises(GraphError) as error:
        value(f, X)
    assert text in str(error.value)
    assert error.value.mend


def test_slices_that_are_not_known_to_fit() -> None:
    n = te.dim("n")
    x = np.zeros(6)
    for key, text in ((slice(1, None), "may lie outside an axis of n"), (0, "element 0 of an axis of n may not exist"),
                      (slice(None, None, 2), "no extent that is a sum of dimensions")):  # fmt: skip
        with pytest.raises(GraphError) as error:
            value(lambda a, k=key: a[k], x, shapes=[(n,)])
        assert text in str(error.value)
