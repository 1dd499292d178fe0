"""Shapes of traced arrays, beside NumPy; and that they cost nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tang_egg import array_api as xp
from tang_egg import notation as te
from tang_egg.errors import GraphError
from tang_egg.traced import Traced, of
from tests.array_check import compiled, is_view, same, value

RANDOM = np.random.default_rng(1)
X = RANDOM.standard_normal((2, 3, 5))
CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "reshape": (lambda x: xp.reshape(x, (5, 6)), lambda x: x.reshape(5, 6)),
    "reshape_open": (lambda x: xp.reshape(x, (-1, 2)), lambda x: x.reshape(-1, 2)),
    "reshape_units": (lambda x: xp.reshape(x, (1, 30, 1)), lambda x: x.reshape(1, 30, 1)),
    "merge_turned": (lambda x: xp.reshape(xp.permute_dims(x, (2, 0, 1)), (10, 3)),
                     lambda x: x.transpose(2, 0, 1).reshape(10, 3)),
    "split_turned": (lambda x: xp.reshape(xp.permute_dims(x, (1, 2, 0)), (3, 2, 5)),
                     lambda x: x.transpose(1, 2, 0).reshape(3, 2, 5)),
    "ravel": (xp.ravel, np.ravel),
    "permute": (lambda x: xp.permute_dims(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "transpose": (xp.transpose, np.transpose),
    "matrix_transpose": (xp.matrix_transpose, lambda x: x.swapaxes(-1, -2)),
    "moveaxis": (lambda x: xp.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1)),
    "moveaxes": (lambda x: xp.moveaxis(x, (0, 2), (1, 0)), lambda x: np.moveaxis(x, (0, 2), (1, 0))),
    "expand": (lambda x: xp.expand_dims(x, axis=1), lambda x: np.expand_dims(x, 1)),
    "expand_end": (lambda x: xp.expand_dims(x, axis=-1), lambda x: np.expand_dims(x, -1)),
    "expand_two": (lambda x: xp.expand_dims(x, axis=(0, -1)), lambda x: np.expand_dims(x, (0, -1))),
    "squeeze": (lambda x: xp.squeeze(xp.expand_dims(x, axis=1), 1), lambda x: x),
    "broadcast_to": (lambda x: xp.broadcast_to(x, (4, 2, 3, 5)), lambda x: np.broadcast_to(x, (4, 2, 3, 5))),
    "flip": (xp.flip, np.flip),
    "flip_axis": (lambda x: xp.flip(x, axis=(0, -1)), lambda x: np.flip(x, (0, -1))),
    "roll": (lambda x: xp.roll(x, 2, axis=2), lambda x: np.roll(x, 2, 2)),
    "roll_back": (lambda x: xp.roll(x, (-1, 7), axis=(1, 2)), lambda x: np.roll(x, (-1, 7), (1, 2))),
    "roll_flat": (lambda x: xp.roll(x, 4), lambda x: np.roll(x, 4)),
    "repeat": (lambda x: xp.repeat(x, 3, axis=1), lambda x: np.repeat(x, 3, 1)),
    "repeat_flat": (lambda x: xp.repeat(x, 2), lambda x: np.repeat(x, 2)),
    "repeat_none": (lambda x: xp.repeat(x, 0, axis=0), lambda x: np.repeat(x, 0, 0)),
    "tile": (lambda x: xp.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    "tile_longer": (lambda x: xp.tile(x, (2, 1, 1, 2)), lambda x: np.tile(x, (2, 1, 1, 2))),
    "tile_shorter": (lambda x: xp.tile(x, 2), lambda x: np.tile(x, 2)),
    "diagonal": (lambda x: xp.diagonal(x, offset=1), lambda x: np.diagonal(x, 1, -2, -1)),
    "diagonal_low": (lambda x: xp.diagonal(x, offset=-2), lambda x: np.diagonal(x, -2, -2, -1)),
    "windows": (lambda x: xp.sliding_window_view(x, (2, 3), (1, 2)),
                     lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3), (1, 2))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_views_agree_with_numpy_and_cost_nothing(name: str) -> None:
    mine, theirs = CASES[name]
    same(value(mine, X), theirs(X))
    assert is_view(mine(of(te.input("x", X.shape, "f64"))))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("width", [2, (1, 3), ((0, 1), (2, 0), (4, 4)), ((5, 0), (0, 7), (11, 13))])
def test_padding(mode: str, width: Any) -> None:
    same(value(lambda x: xp.pad(x, width, mode), X), np.pad(X, width, mode))  # type: ignore[call-overload]


def test_padding_of_single_elements_and_by_values() -> None:
    one = np.array([[3.0, 4.0, 5.0]])
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        same(value(lambda x, m=mode: xp.pad(x, ((2, 1), (0, 0)), m), one), np.pad(one, ((2, 1), (0, 0)), mode))
    same(value(lambda x: xp.pad(x, 1, constant_values=7), one), np.pad(one, 1, constant_values=7))
    same(value(lambda x: xp.pad(x, ((0, 0), (2, 0)), constant_values=-np.inf), one),
         np.pad(one, ((0, 0), (2, 0)), constant_values=-np.inf))  # fmt: skip
    n = np.arange(4, dtype="u1")
    same(value(lambda x: xp.pad(x, (0, 2)), n), np.pad(n, (0, 2)))
    with pytest.raises(GraphError, match="an axis without elements cannot be padded from itself"):
        value(lambda x: xp.pad(x, 1, "reflect"), np.zeros(0))
    with pytest.raises(GraphError, match="padding by 'mirror'"):
        value(lambda x: xp.pad(x, 1, "mirror"), one)


def test_joining_and_parting() -> None:
    y, z = RANDOM.standard_normal((2, 1, 5)), RANDOM.integers(0, 9, (2, 4, 5)).astype("i2")
    same(value(lambda a, b, c: xp.concat([a, b, c], axis=1), X, y, z), np.concatenate([X, y, z], 1))
    same(value(lambda a, b: xp.concat([a, b], axis=None), X, y), np.concatenate([X, y], None))
    same(value(lambda a: xp.concat([a], axis=0), X), X)
    empty = np.zeros((0, 3, 5))
    same(value(lambda a, b: xp.concat([b, a, b], axis=0), X, empty), X)
    same(value(lambda b: xp.concat([b, b], axis=0), empty), empty)
    for axis in (0, 1, -1):
        same(value(lambda a, p=axis: xp.stack([a, xp.flip(a)], axis=p), X), np.stack([X, np.flip(X)], axis))
        parts = value(lambda a, p=axis: xp.unstack(a, axis=p), X)
        for got, want in zip(parts, np.moveaxis(X, axis, 0), strict=True):
            same(got, want)
    for got, want in zip(value(lambda a: xp.split(a, [1, 4], axis=2), X), np.split(X, [1, 4], 2), strict=True):
        same(got, want)
    for got, want in zip(value(lambda a: xp.split(a, 3, axis=1), X), np.split(X, 3, 1), strict=True):
        same(got, want)


def test_triangles_and_grids() -> None:
    square = RANDOM.standard_normal((2, 4, 6))
    for k in (-2, 0, 1, 9):
        same(value(lambda x, d=k: xp.tril(x, k=d), square), np.tril(square, k))
        same(value(lambda x, d=k: xp.triu(x, k=d), square), np.triu(square, k))
    same(value(lambda x: xp.tril(x), square > 0), np.tril(square > 0))
    a, b, c = np.arange(3.0), np.arange(4.0), np.arange(2.0)
    for indexing in ("xy", "ij"):
        got = value(lambda *v, i=indexing: xp.meshgrid(*v, indexing=i), a, b, c)
        for g, w in zip(got, np.meshgrid(a, b, c, indexing=indexing), strict=True):  # type: ignore[call-overload]
            same(g, w)
    for g, w in zip(value(xp.broadcast_arrays, a[:, None], b), np.broadcast_arrays(a[:, None], b), strict=True):
        same(g, w)


def test_symbolic_extents() -> None:
    n = te.dim("n", lo=2)
    x = RANDOM.standard_normal((5, 6))
    for f, g in (
        (lambda a: xp.reshape(a, (-1, 2, 3)), lambda a: a.reshape(5, 2, 3)),
        (lambda a: xp.reshape(a, (6 * n,)), lambda a: a.reshape(-1)),
        (lambda a: xp.reshape(xp.reshape(a, (-1,)), (n, 6)), lambda a: a),
        (lambda a: xp.reshape(xp.permute_dims(a, (1, 0)), (2, 3, n)), lambda a: a.T.reshape(2, 3, 5)),
        (lambda a: xp.flip(a, axis=0), lambda a: np.flip(a, 0)),
        (lambda a: xp.roll(a, 1, axis=0), lambda a: np.roll(a, 1, 0)),
        (lambda a: xp.roll(a, -2, axis=0), lambda a: np.roll(a, -2, 0)),
        (lambda a: xp.concat([a, a], axis=0), lambda a: np.concatenate([a, a])),
        (lambda a: xp.pad(a, ((1, 2), (0, 0))), lambda a: np.pad(a, ((1, 2), (0, 0)))),
        (lambda a: xp.pad(a, ((1, 1), (0, 0)), "reflect"), lambda a: np.pad(a, ((1, 1), (0, 0)), "reflect")),
        (lambda a: xp.repeat(a, 2, axis=0), lambda a: np.repeat(a, 2, 0)),
        (lambda a: xp.tril(a), np.tril),
        (lambda a: a[1:, ::-1] - a[:-1], lambda a: a[1:, ::-1] - a[:-1]),
        (lambda a: xp.broadcast_to(a[None], (3, n, 6)), lambda a: np.broadcast_to(a, (3, 5, 6))),
    ):  # fmt: skip
        same(value(f, x, shapes=[(n, 6)]), g(x))


def test_a_compiled_chain_of_views_reads_its_input_once() -> None:
    x = RANDOM.standard_normal((4, 6, 10)).astype("f4")

    def f(a: Any) -> Any:
        heads = xp.permute_dims(xp.reshape(a, (4, 6, 2, 5)), (0, 2, 1, 3))
        return xp.reshape(xp.permute_dims(heads, (0, 2, 1, 3))[:, ::-1], (24, 10)) * 2

    want = x[:, ::-1].reshape(24, 10) * 2
    np.testing.assert_array_equal(compiled(f, x), want)


def test_errors() -> None:
    n = te.dim("n")
    for f, text in (
        (lambda a: xp.reshape(a, (7, 5)), "cannot take the shape"),
        (lambda a: xp.reshape(a, (-1, -1)), "cannot take the shape"),
        (lambda a: xp.reshape(a, "no"), "the shape 'no'"),
        (lambda a: xp.permute_dims(a, (0, 0, 1)), "is no order of 3 axes"),
        (lambda a: xp.squeeze(a, 0), "axis 0 has 2 elements"),
        (lambda a: xp.split(a, 2, axis=1), "3 elements do not split into 2 equal parts"),
        (lambda a: xp.split(a, [4, 2], axis=2), "the cuts"),
        (lambda a: xp.concat([a, a[0]]), "axes do not join"),
        (lambda a: xp.concat([a, a[:, :2]]), "do not join along axis 0"),
        (lambda a: xp.concat([]), "nothing to concatenate"),
        (lambda a: xp.repeat(a, -1, axis=0), "a repetition -1 times"),
        (lambda a: xp.broadcast_to(a, (2, 3, 1)), "does not broadcast to"),
        (lambda a: xp.moveaxis(a, (0, 1), (0,)), "2 axes are moved to 1 positions"),
        (lambda a: xp.pad(a, ((1, 1),) * 2), "the padding"),
        (lambda a: xp.meshgrid(a, indexing="uv"), "indexing 'uv'"),
        (lambda a: xp.tril(a[0, 0]), "a triangle of an array of 1 axes"),
        (lambda a: xp.sliding_window_view(a, 9, 0), "a window of 9"),
        (lambda a: xp.roll(a, (1, 2), axis=0), "2 shifts of 1 axes"),
    ):
        with pytest.raises(GraphError) as error:
            value(f, X)
        assert text in str(error.value), error.value
        assert error.value.mend
    with pytest.raises(GraphError, match="unstack over an axis of symbolic extent n"):
        value(lambda a: xp.unstack(a, axis=0), X, shapes=[(n, 3, 5)])


def test_the_shape_has_integers_where_it_is_fixed() -> None:
    n = te.dim("n")
    x: Traced = of(te.input("x", (n, 4, 1)))
    assert x.shape[1:] == (4, 1)
    assert x.shape[1] ** 2 == 16
    assert repr(x.shape) == "(n, 4, 1)"
    assert (x.ndim, x.shape[1].value, repr(x.size)) == (3, 4, "4*n")
