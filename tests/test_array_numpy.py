"""NumPy's own functions, operators and methods on traced arrays; element types."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tang_egg import array_api as xp
from tang_egg import notation as te
from tang_egg import ops
from tang_egg.array_types import NUMPY_NAMES, promote
from tang_egg.errors import GraphError
from tang_egg.traced import of
from tests.array_check import same, value

RANDOM = np.random.default_rng(7)
X, Y = RANDOM.standard_normal((3, 4)), RANDOM.standard_normal((3, 4))
N, M = RANDOM.integers(1, 9, (3, 4)), RANDOM.integers(0, 5, (3, 4))
CALLS = {
    "ufuncs": """
        np.exp(x); np.add(x, y); np.power(np.abs(x), y); np.arctan2(x, y); np.rint(x); np.invert(n);
        np.left_shift(n, m); np.add(x, 2 * y, dtype=np.float64); np.float32(2) * x; np.pi + x
    """,
    "reductions": """
        np.sum(x); np.sum(x, 1); np.sum(x, axis=(0, 1)); np.mean(x, axis=-1, keepdims=True); np.max(x); np.amin(x, 0);
        np.prod(n, axis=0); np.var(x, ddof=1); np.std(x, axis=0, ddof=1); np.any(x > 1, axis=0); np.all(x < 9);
        np.argmax(x); np.argmin(x, axis=1); np.count_nonzero(m, axis=1); np.sum(n, dtype=np.int32); np.mean(n);
        np.median(x, axis=1)
    """,
    "ufunc_methods": """
        np.add.reduce(x); np.maximum.reduce(x, axis=1); np.logaddexp.reduce(x, axis=None);
        np.add.accumulate(x, axis=1); np.multiply.outer(x[0], y[1]); np.multiply.reduce(x, keepdims=True)
    """,
    "shapes": """
        np.reshape(x, (2, 6)); np.transpose(x); np.swapaxes(x, 0, 1); np.moveaxis(x, 0, 1); np.expand_dims(x, 1);
        np.squeeze(x[:1]); np.ravel(x); np.broadcast_to(x, (2, 3, 4)); np.flip(x); np.flipud(x); np.fliplr(x);
        np.roll(x, 1); np.roll(x, 1, axis=0); np.repeat(x, 2, axis=1); np.tile(x, (1, 2)); np.pad(x, 1);
        np.pad(x, ((1, 0), (0, 2)), mode='edge'); np.pad(x, 1, constant_values=3); np.matrix_transpose(x)
    """,
    "joins": """
        np.concatenate([x, y]); np.concatenate([x, n], axis=1); np.stack([x, y]); np.stack([x, y], axis=-1);
        np.vstack([x, y[0]]); np.hstack([x, y]); np.hstack([x[0], y[0]]); np.split(x, 2, axis=1); np.split(x, [1]);
        np.meshgrid(x[0], y[:, 0]); np.broadcast_arrays(x[:1], y)
    """,
    "choices": """
        np.where(x > 0, x, y); np.where(x > 0, x, 0); np.clip(x, -1, 1); np.clip(x, None, 0.5); np.maximum(x, 0);
        np.nan_to_num(x / m); np.isnan(x); np.logical_and(x > 0, y > 0); np.logical_not(m); np.sign(x); np.tril(x);
        np.triu(x, 1); np.full_like(x, 2); np.zeros_like(n); np.ones_like(x, dtype=np.float32); np.round(x);
        np.copysign(x, y)
    """,
    "products": """
        np.matmul(x, y.T); np.dot(x, y.T); np.inner(x, y); np.vdot(x, y); np.outer(x[0], y[0]);
        np.tensordot(x, y, axes=([1], [1])); np.einsum('ij,kj->ik', x, y); np.einsum('ij,ij', x, y, optimize=True);
        np.kron(x, y); np.trace(x); np.diagonal(x); np.linalg.norm(x); np.linalg.norm(x, axis=1);
        np.cross(x[:, :3], y[:, :3]); np.linalg.inv(x[:, :3] + 3 * np.eye(3)); np.linalg.det(x[:, :3])
    """,
    "order": """
        np.sort(x); np.sort(x, axis=0); np.sort(x, axis=None); np.argsort(x); np.cumsum(x); np.cumsum(x, axis=1);
        np.cumprod(n, axis=0); np.diff(x); np.diff(x, axis=0); np.take(x, m % 3, axis=0);
        np.take_along_axis(x, m % 4, axis=1); np.searchsorted(np.sort(x[0]), y)
    """,
    "operators": """
        x + y; 1 - x; x * 2; x / y; 2 / x; n // 3; 7 % n; n % 4; x ** 2; 2.0 ** x; n ** m; -x; +x; abs(x); x @ y.T;
        n & m; n | 1; 3 ^ n; n << 1; n >> m; ~n; x < y; x >= 0; x > 1; n >= m; n == 3; n != m; y.T @ x;
        np.ones(3) @ x; [1, 2, 3, 4] * x
    """,
    "methods": """
        x.sum(); x.sum(0); x.mean(axis=1, keepdims=True); x.max(1); x.min(); x.std(ddof=1); x.var(0); x.argmax();
        x.argmin(1); (x > 0).any(); (x > 9).all(0); x.reshape(4, 3); x.reshape((2, -1)); x.transpose();
        x.transpose(1, 0); x.T; x.mT; x.astype(np.float32); n.astype(float); x.astype(int); x.squeeze();
        x.swapaxes(0, 1); x.flatten(); x.ravel(); x.copy(); x.round(); x.clip(-1, 1); x.dot(y.T); x.repeat(2, 0);
        x.take([2, 0], 0); x.cumsum(); x.cumsum(0); n.prod(); x.ndim * x; x.size * x; len(x) * x; x.shape[0] * x;
        sum(x); x[1:, ::-1]; x[None, ..., 0]
    """,
}
"""Expressions of x, y (reals) and n, m (integers), by subject."""


@pytest.mark.parametrize("name", CALLS)
def test_numpys_spellings(name: str) -> None:
    texts = [" ".join(t.split()) for t in CALLS[name].split(";")]

    def call(*arrays: Any) -> list[Any]:
        names = {"np": np, **dict(zip("xynm", arrays, strict=True))}
        found = [eval(t, dict(names)) for t in texts]
        return [part for f in found for part in (f if isinstance(f, (list, tuple)) else [f])]

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = call(X, Y, N, M)
    for n, (got, want) in enumerate(zip(value(call, X, Y, N, M), wanted, strict=True)):
        try:
            same(got, np.asarray(want), 1e-10)
        except AssertionError as error:
            raise AssertionError(f"result {n} of {name}: {error}") from error


def test_the_namespace_of_an_array() -> None:
    x = of(te.input("x", (2, 3)))
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(GraphError, match=r"version 2030.12 of the Array API"):
        x.__array_namespace__(api_version="2030.12")
    assert (x.dtype, x.ndim, x.size, x.shape, x.device) == (xp.float32, 2, 6, (2, 3), "cpu")
    assert hash(x) == hash(x) and x in {x}
    standard = set(_STANDARD.split())
    assert not standard - set(xp.__all__)
    assert all(hasattr(xp, n) for n in xp.__all__)


_STANDARD = """
    abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh bitwise_and
    bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool broadcast_arrays broadcast_to
    can_cast ceil clip concat copysign cos cosh cumulative_sum divide e empty empty_like equal exp expand_dims expm1 eye
    finfo flip float32 float64 floor floor_divide full full_like greater greater_equal hypot iinfo inf int16 int32 int64
    int8 isdtype isfinite isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not
    logical_or logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative
    newaxis not_equal ones ones_like permute_dims pi positive pow prod remainder repeat reshape result_type roll round
    searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take tan tanh tensordot tile tril
    triu trunc uint16 uint32 uint64 uint8 unstack var vecdot where zeros zeros_like
"""
"""The names of the standard that do not depend on values or devices, and are not complex."""


def test_promotion_is_numpys() -> None:
    for a, x in NUMPY_NAMES.items():
        for b, y in NUMPY_NAMES.items():
            assert NUMPY_NAMES[promote(a, b)] == np.promote_types(x, y).name
    assert [promote("bf16", t) for t in ("bf16", "f16", "f32", "f64", "i8", "u8", "bool", "i16", "i32")] == [
        "bf16", "f32", "f32", "f64", "bf16", "bf16", "bf16", "f32", "f64"]  # fmt: skip
    assert all(promote(a, b) == promote(b, a) for a in ops.STORAGE for b in ops.STORAGE)
    assert xp.result_type("f32", 1.5) == "f32"
    assert xp.result_type(np.int8, 1.5, "i16") == "f64"
    assert xp.result_type(True, 2) == "i64"
    assert xp.can_cast("i8", "i16") and not xp.can_cast("f64", "f32") and xp.can_cast("bf16", "f32")
    assert xp.isdtype("f32", "real floating") and xp.isdtype("u8", ("bool", "integral"))
    assert not xp.isdtype("f32", np.float64)
    assert (xp.finfo("f32").eps, xp.finfo("bf16").eps, xp.iinfo("i8").min) == (2.0**-23, 2.0**-7, -128)
    with pytest.raises(GraphError, match="i8 is no float type"):
        xp.finfo("i8")
    with pytest.raises(GraphError, match="f32 is no integer type"):
        xp.iinfo("f32")
    with pytest.raises(GraphError, match="nothing to find a common element type of"):
        xp.result_type()


def test_conversions() -> None:
    x = np.array([1.25, -2.75, 300.0, 1e-3, 65504.0, np.inf, np.nan, 2**24 + 1])
    with np.errstate(over="ignore"):
        same(value(lambda a: a.astype("float16"), x), x.astype("f2"), 0)
    same(value(lambda a: a.astype(np.float32).astype(np.float64), x), x.astype("f4").astype("f8"), 0)
    whole = np.array([3.9, -3.9, 200.0, 0.0])
    for kind in ("int32", "uint8", "bool"):
        kept = np.abs(whole) if kind[0] == "u" else whole
        same(value(lambda a, k=kind: a.astype(k), kept), kept.astype(kind))
    n = np.array([2**24 + 1, -7, 0], "i8")
    same(value(lambda a: a.astype("float32"), n), n.astype("f4"), 0)
    same(value(lambda a: a.astype("int8"), n), n.astype("i1"))
    same(value(lambda a: a.astype(bool), n), n.astype(bool))
    same(
        value(lambda a: a.astype("bfloat16"), np.array([1.0, 1.00390625, 3.1415926])),
        np.array([1.0, 1.0, 3.140625], "f4"),
    )
    same(value(lambda a: a + xp.full((3,), 300).astype("uint8"), n), n + 44)
