"""Products of traced arrays, and arrays from nothing, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tang_egg import array_api as xp
from tang_egg import notation as te
from tang_egg.array_constants import Constants
from tang_egg.errors import GraphError
from tang_egg.traced import of
from tests.array_check import compiled, same, value

RANDOM = np.random.default_rng(3)


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (7, 4, 5)),
     ((1, 3, 4), (2, 4, 1)), ((3, 0), (0, 5)), ((3, 1), (1, 5)), ((4,), (2, 4, 5)), ((0, 3, 4), (1, 4, 5))],
)  # fmt: skip
def test_matrix_products(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = normal(*a), normal(*b)
    same(value(xp.matmul, x, y), x @ y)
    n = (10 * x).astype("i4")
    same(value(lambda u, v: u @ v, n, n.astype("i4") if a == b else (9 * y).astype("i2")),
         n @ (n if a == b else (9 * y).astype("i2")))  # fmt: skip
    same(value(xp.matmul, x > 0, y > 0), (x > 0) @ (y > 0))


EINSUMS = (
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("ii", (4, 4)), ("ii->i", (4, 4)), ("ij->ji", (3, 4)),
    ("ij->", (3, 4)), ("i,j->ij", (3,), (4,)), ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)), ("...i,i...->...", (2, 3), (3, 2)), ("i...->...", (2, 3, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("abc,cd,b->ad", (2, 3, 4), (4, 5), (3,)), ("i,i,i->i", (4,), (4,), (4,)),
    ("ijj->i", (3, 4, 4)), ("ij,ij->", (3, 4), (3, 4)), ("ba", (2, 3)), ("...", (2, 3)),
    ("a b , b c -> a c", (2, 3), (3, 4)),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(EINSUMS)))
def test_einsum(number: int) -> None:
    equation, *shapes = EINSUMS[number]
    arrays = [normal(*s) for s in shapes]
    same(value(lambda *a: xp.einsum(equation, *a), *arrays), np.einsum(equation, *arrays), 1e-11)


def test_einsum_errors() -> None:
    x = normal(3, 4)
    for equation, text in (
        ("ij,jk->ik", "is about 2 arrays"),
        ("i->i", "names 1 of 2 axes"),
        ("ij->k", "that no array has"),
        ("ij->ii", "names an axis twice"),
        ("i1->i", "names axes"),
        ("ii->i", "have 3 and 4 elements"),
    ):
        with pytest.raises(GraphError) as error:
            value(lambda a, e=equation: xp.einsum(e, a), x)
        assert text in str(error.value)


def test_other_products() -> None:
    x, y, z = normal(2, 3, 4), normal(4, 3, 5), normal(2, 3, 4)
    same(value(lambda a, b: xp.tensordot(a, b, axes=1), x, normal_of(4, 5)), np.tensordot(x, normal_of(4, 5), 1))
    same(value(lambda a, b: xp.tensordot(a, b, axes=((2, 1), (0, 1))), x, y), np.tensordot(x, y, ((2, 1), (0, 1))))
    same(value(lambda a, b: xp.tensordot(a, b, axes=0), x[0], y[0]), np.tensordot(x[0], y[0], 0))
    same(value(lambda a, b: xp.tensordot(a, b, axes=3), x, z), np.tensordot(x, z, 3))
    same(value(xp.vecdot, x, z), (x * z).sum(-1))
    same(value(lambda a, b: xp.vecdot(a, b, axis=1), x, z[:1]), (x * z[:1]).sum(1))
    same(value(xp.outer, x[0, 0], y[0, 0]), np.outer(x[0, 0], y[0, 0]))
    same(value(xp.dot, x, y[:, :, 0]), np.dot(x, y[:, :, 0]))
    same(value(xp.dot, x[0, 0], z[0, 0]), np.dot(x[0, 0], z[0, 0]))
    same(value(xp.dot, x, np.array(2.0)), x * 2)
    same(value(xp.trace, x[:, :, :3]), np.trace(x[:, :, :3], axis1=1, axis2=2))
    same(value(lambda a: xp.trace(a, offset=1), x), np.trace(x, 1, 1, 2))
    c, d = normal(4, 3), normal(1, 3)
    same(value(xp.cross, c, d), np.cross(c, d))
    same(value(lambda a, b: xp.cross(a, b, axis=0), c.T, c.T[:, ::-1]), np.cross(c.T, c.T[:, ::-1], axis=0))
    same(value(xp.kron, x[0], z[1, :2, :2]), np.kron(x[0], z[1, :2, :2]))
    same(value(xp.kron, x[0, 0], x[0]), np.kron(x[0, 0], x[0]))


def normal_of(*shape: int) -> Any:
    return np.arange(np.prod(shape)).reshape(shape) / 7.0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_small_determinants_and_inverses(n: int) -> None:
    m = normal(3, n, n) + 2 * np.eye(n)
    same(value(xp.det, m), np.linalg.det(m), 1e-10)
    np.testing.assert_allclose(value(xp.inv, m), np.linalg.inv(m), rtol=1e-9, atol=1e-9)


def test_symbolic_products() -> None:
    n, m = te.dim("n", lo=1), te.dim("m", lo=1)
    x, y = normal(5, 3), normal(3, 4)
    same(value(xp.matmul, x, y, shapes=[(n, 3), (3, m)]), x @ y)
    same(value(lambda a: a @ a.T, x, shapes=[(n, m)]), x @ x.T)
    same(value(lambda a: xp.einsum("ij,kj->ik", a, a), x, shapes=[(n, m)]), x @ x.T)


def test_errors_of_products() -> None:
    x = normal(3, 4)
    for f, text in (
        (lambda a: a @ a, "have no matrix product"),
        (lambda a: a @ 2, "a matrix product with an array without axes"),
        (lambda a: xp.vecdot(a, a[:, :2]), "vectors of 4 and 2 elements"),
        (lambda a: xp.tensordot(a, a, axes=1), "are not alike"),
        (lambda a: xp.cross(a, a), "a vector product of 4 and 4 elements"),
        (lambda a: xp.det(a), "the determinant of matrices"),
        (lambda a: xp.inv(xp.zeros((5, 5)) + a[0, 0]), "at most 4 rows"),
        (lambda a: a.T @ xp.ones((4, 2)), "have no matrix product"),
    ):
        with pytest.raises(GraphError) as error:
            value(f, x)
        assert text in str(error.value)


def test_compiled_products() -> None:
    x, y, v = (normal(*s).astype("f4") for s in ((2, 5, 7), (7, 9), (7,)))
    got = compiled(lambda a, b, c: [a @ b, a @ c, xp.einsum("bij,jk,j->ki", a, b, c), xp.inv((a @ a.mT)[:, :3, :3])],
                   x, y, v)  # fmt: skip
    want = [x @ y, x @ v, np.einsum("bij,jk,j->ki", x, y, v), np.linalg.inv((x @ x.swapaxes(1, 2))[:, :3, :3])]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-3, atol=1e-4)


def test_arrays_from_nothing() -> None:
    one = np.zeros(())
    for f, want in (
        (lambda _: xp.zeros((2, 3)), np.zeros((2, 3))),
        (lambda _: xp.ones(4, dtype=np.int32), np.ones(4, "i4")),
        (lambda _: xp.full((2,), 7), np.full(2, 7)),
        (lambda _: xp.full((2,), 7.5, dtype="float32"), np.full(2, 7.5, "f4")),
        (lambda _: xp.eye(3, 4, k=1), np.eye(3, 4, 1)),
        (lambda _: xp.eye(3, dtype=bool), np.eye(3, dtype=bool)),
        (lambda _: xp.arange(5), np.arange(5)),
        (lambda _: xp.arange(7, 1, -2), np.arange(7, 1, -2)),
        (lambda _: xp.arange(1, 8, 3, dtype="float32"), np.arange(1, 8, 3, "f4")),
        (lambda _: xp.arange(0.5, 3.0, 0.25), np.arange(0.5, 3.0, 0.25)),
        (lambda _: xp.arange(5, 2), np.arange(5, 2)),
        (lambda _: xp.linspace(1, 2, 7), np.linspace(1, 2, 7)),
        (lambda _: xp.linspace(0, 1, 5, endpoint=False), np.linspace(0, 1, 5, endpoint=False)),
        (lambda _: xp.linspace(3, 4, 1), np.linspace(3, 4, 1)),
        (lambda _: xp.linspace(0, 1, 0), np.linspace(0, 1, 0)),
        (lambda x: xp.zeros_like(xp.broadcast_to(x, (2, 3)), dtype="int8"), np.zeros((2, 3), "i1")),
        (lambda x: xp.ones_like(x), np.ones(())),
        (lambda x: xp.full_like(x, 3), np.full((), 3.0)),
        (lambda _: xp.indices((2, 3))[1] * 10 + xp.indices((2, 3))[0], np.array([[0, 10, 20], [1, 11, 21]])),
        (lambda x: xp.asarray([[1, 2], [3, 5]]) + x, np.array([[1, 2], [3, 5]]) + 0.0),
        (lambda x: xp.asarray(2, dtype="int8"), np.int8(2)),
    ):  # fmt: skip
        same(value(f, one), want)
    n = te.dim("n", lo=1)
    x = np.zeros(4)
    same(value(lambda a: xp.arange(n) + a, x, shapes=[(n,)]), np.arange(4.0))
    same(value(lambda a: xp.arange(2 * n, 0, -2) + a, x, shapes=[(n,)]), np.arange(8.0, 0, -2))
    same(value(lambda a: a / a.shape[0] + 1, x + 8, shapes=[(n,)]), np.full(4, 3.0))
    same(value(lambda a: xp.mean(a) * a.shape[0], x + 8, shapes=[(n,)]), np.float64(32))


def test_errors_of_ranges() -> None:
    n = te.dim("n")
    for f, text in (
        (lambda: xp.arange(0, 5, 0), "a range by steps of 0"),
        (lambda: xp.arange("a"), "a range with the end 'a'"),
        (lambda: xp.arange(0, n, 2), "no extent that is a sum of dimensions"),
        (lambda: xp.arange(0.5, n), "a step that is no integer"),
        (lambda: xp.linspace(0, 1, -1), "-1 points"),
        (lambda: xp.unique, "depends on values"),
        (lambda: xp.zeros(3, dtype="complex64"), "'complex64' is no element type"),
    ):
        with pytest.raises(GraphError) as error:
            f()
        assert text in str(error.value)
    with pytest.raises(AttributeError, match="has no attribute 'nothing_such'"):
        _ = xp.nothing_such


def test_constants_are_collected_once() -> None:
    x = of(te.input("x", (2, 3), "f4".replace("f4", "f32")))
    table = RANDOM.standard_normal((2, 3)).astype("f4")
    with Constants(["x"]) as constants:
        y = x + table
        y = y * table.copy() + np.ones((2, 3), "f4") + np.arange(3, dtype="i2") + np.tril(np.ones((2, 3), bool))
        constants.add(RANDOM.standard_normal(3), "x")
        constants.add(RANDOM.standard_normal(3), "layer.0.weight")
    assert list(constants.arrays) == ["constant", "x_2", "layer_0_weight"]
    assert constants.arrays["constant"] is table
    with pytest.raises(GraphError, match="no program is being traced"):
        _ = x + table


@pytest.mark.parametrize(
    "constant",
    [np.arange(6).reshape(2, 3), np.arange(6)[::-1].reshape(2, 3) * 7, np.arange(3, dtype="u1"), np.array([5]),
     np.tril(np.ones((2, 3), bool)), np.triu(np.ones((2, 3), bool), 1), np.triu(np.full((2, 3), -np.inf), 1),
     np.tri(2, 3, -1), np.tri(2, 3, 1).astype("i4"), ~np.tri(2, 3, 0, dtype=bool), np.array([[0, 1, 2], [3, 4, 6]]),
     np.array([[True, False, True], [False, True, True]]), np.full((2, 3), np.nan), np.array([0.0, -0.0, 0.0]),
     np.zeros((0, 2, 3)), np.eye(2, 3)],
    ids=str,
)  # fmt: skip
def test_constants_keep_their_values(constant: Any) -> None:
    x = np.zeros((2, 3), "i1")
    want = np.where(x == 0, constant, 9)
    got = value(lambda a: xp.where(a == 0, constant, np.asarray(9, constant.dtype)), x)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
