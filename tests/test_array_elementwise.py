"""Elementwise functions on traced arrays, beside NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tang_egg import array_elementwise as el
from tang_egg.errors import GraphError
from tests.array_check import compiled, same, value

INF, NAN = np.inf, np.nan
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-9, -1e-9, 1e-300, 7.3, -88.1, 300.5,
                    1e9, INF, -INF, NAN])  # fmt: skip
UNARY: dict[str, Any] = {
    "abs": np.abs, "negative": np.negative, "positive": np.positive, "sign": np.sign, "sqrt": np.sqrt,
    "square": np.square, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "log2": np.log2, "log10": np.log10, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.round, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "reciprocal": np.reciprocal,
    "radians": np.radians, "degrees": np.degrees, "logical_not": np.logical_not, "nan_to_num": np.nan_to_num,
}  # fmt: skip
BINARY: dict[str, Any] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "pow": np.power,
    "floor_divide": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod, "atan2": np.arctan2,
    "hypot": np.hypot, "logaddexp": np.logaddexp, "copysign": np.copysign, "maximum": np.maximum,
    "minimum": np.minimum, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "equal": np.equal, "not_equal": np.not_equal, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip


def numpy(f: Any, *arrays: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*arrays)


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_agree_with_numpy(name: str) -> None:
    x = np.concatenate([SPECIAL, np.linspace(-3, 3, 41)])
    if name in ("sin", "cos", "tan"):
        x = x[np.abs(x) < 1e3]
    same(value(getattr(el, name), x), numpy(UNARY[name], x), 3e-12 if name == "tan" else 1e-13)


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_agree_with_numpy(name: str) -> None:
    a, b = (m.reshape(-1) for m in np.broadcast_arrays(SPECIAL[:, None], SPECIAL))
    with np.errstate(all="ignore"):
        quotient = np.abs(a / b)
    if name in ("floor_divide", "remainder", "fmod"):
        # quotients beyond 2^53 have no exact remainder here; NumPy gives NaN for that of infinity, the Array API inf
        # a quotient within rounding of an integer may count as it
        kept = (
            (np.isnan(b) | (np.abs(b) > 1e-6) | (b == 0))
            & ~((quotient > 2**50) & np.isfinite(quotient))
            & ~(np.isinf(a) if name == "floor_divide" else False)
        )
        a, b = a[kept], b[kept]
    same(value(getattr(el, name), a, b), numpy(BINARY[name], a, b), 1e-12)


TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "bool")


@pytest.mark.parametrize("name", ["add", "multiply", "less", "equal", "maximum", "divide", "floor_divide", "remainder"])
def test_element_types_promote_as_in_numpy(name: str) -> None:
    for s in TYPES:
        for t in TYPES:
            if name in ("floor_divide", "remainder") and "b" in (s[0], t[0]):
                continue
            a, b = np.array([3, 0, 1], s), np.array([1, 1, 2], t)
            want = BINARY[name](a, b)
            if name == "divide":  # small integers are divided as f64
                want = want if "f" in (s[0], t[0]) else want.astype("f8")
            same(value(getattr(el, name), a, b), want, 2e-3 if want.dtype == np.float16 else 1e-12)


def test_functions_of_reals_take_integers_as_f64() -> None:
    x = np.array([0, 1, 4, 9], "i4")
    same(value(el.sqrt, x), np.sqrt(x))
    same(value(el.exp, x > 1), np.exp((x > 1).astype("f8")))


def test_python_numbers_adopt_the_type_of_the_array() -> None:
    x = np.array([1.5, -2.25, 7.0], "f4")
    for f in (
        lambda a: el.add(a, 1),
        lambda a: el.multiply(2.5, a),
        lambda a: el.maximum(a, 0),
        lambda a: el.pow(a, 2),
    ):
        assert value(f, x).dtype == np.float32
    n = np.array([1, -2, 7], "i2")
    for g, want in (
        (lambda a: el.add(a, 1), n + 1),
        (lambda a: el.multiply(a, 0.5), n * 0.5),
        (lambda a: el.greater(a, 1.5), n > 1.5),
        (lambda a: el.add(a, True), n + True),
        (lambda a: el.add(a, np.float32(1)), n + np.float32(1)),
    ):
        same(value(g, n), want)


def test_powers() -> None:
    x = np.array([2.0, -3.0, 0.0, 1.0, 0.5, -0.0])
    for power in (0, 1, 2, 3, 7, -1, -2, 0.5, 2.5, -0.5, 80, 0.0, 2.0):
        want = numpy(np.power, x, power)
        same(value(lambda a, p=power: el.pow(a, p), x), want + 0.0, 1e-12)
        same(value(lambda a, p=power: el.pow(p, a), x), numpy(np.power, float(power), x), 1e-12)
    n = np.array([3, -2, 7, 0, 1, -1], "i4")
    for power in (0, 1, 5, 40):
        same(value(lambda a, p=power: el.pow(a, p), n), numpy(np.power, n, np.int32(power)))
    grid = [m.reshape(-1) for m in np.meshgrid(n, np.array([0, 1, 2, 31, 62, 1000], "i4"))]
    same(value(el.pow, *grid), numpy(np.power, *grid))
    tiny = [m.reshape(-1) for m in np.meshgrid(np.arange(256).astype("u1"), np.arange(256).astype("u1"))]
    same(value(el.pow, *tiny), numpy(np.power, *tiny))
    assert value(el.pow, n, np.full(6, -1, "i4")).tolist() == [0, 0, 0, 0, 1, -1]
    with pytest.raises(GraphError, match="integers to the negative power -1"):
        value(lambda a: el.pow(a, -1), n)


def test_division_towards_zero() -> None:
    a, b = (m.reshape(-1) for m in np.meshgrid(np.arange(-7, 8), np.array([-3, -2, -1, 1, 2, 3])))
    same(value(el.truncated_divide, a, b), np.trunc(a / b).astype("i8"))
    same(value(el.fmod, a, b), np.fmod(a, b))
    same(value(el.floor_divide, a, b), a // b)
    same(value(el.remainder, a, b), a % b)
    same(value(el.truncated_divide, a / 2, b / 1), np.trunc(a / 2 / b) + 0.0)


def test_bits() -> None:
    for t in ("i1", "u1", "i4", "u8"):
        a, b = np.array([5, 100, 0, 7, 1], t), np.array([3, 1, 7, 9, 40], t)
        for name, f in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor),
                        ("bitwise_left_shift", np.left_shift), ("bitwise_right_shift", np.right_shift)):  # fmt: skip
            same(value(getattr(el, name), a, b), f(a, b))
        same(value(el.bitwise_invert, a), ~a)
    same(value(el.bitwise_right_shift, np.array([-5], "i1"), np.array([9], "i1")), np.array([-1], "i1"))
    p = np.array([True, False])
    same(value(el.bitwise_xor, p, ~p), p ^ ~p)
    with pytest.raises(GraphError, match="bitwise_and of f64"):
        value(el.bitwise_and, SPECIAL, SPECIAL)


def test_where_clip_and_broadcasting() -> None:
    x, y = np.arange(12.0).reshape(3, 4), np.array([[1.0], [5.0], [9.0]])
    same(value(lambda a, b: el.where(el.less(a, b), a, b), x, y), np.where(x < y, x, y))
    same(value(lambda a: el.where(True, a, 0), x), x)
    same(value(lambda a: el.clip(a, 2, 7), x), np.clip(x, 2, 7))
    same(value(lambda a, b: el.clip(a, b, None), x, y), np.clip(x, y, None))
    same(value(lambda a, b: el.add(a, b), x, np.zeros((0, 1, 1))), x + np.zeros((0, 1, 1)))
    same(value(el.multiply, np.float64(2).reshape(()), x), 2 * x)
    with pytest.raises(GraphError, match="do not broadcast"):
        value(el.add, x, np.zeros(3))


def test_activations() -> None:
    from math import erf

    x = np.array([-40.0, -2.0, -0.0, 0.5, 3.0, 50.0])
    sigmoid = 1 / (1 + np.exp(-x))
    same(value(el.sigmoid, x), sigmoid, 1e-14)
    same(value(el.silu, x), x * sigmoid, 1e-14)
    same(value(el.relu, x) + 0.0, np.maximum(x, 0.0))
    same(value(el.softplus, x), np.logaddexp(x, 0), 1e-14)
    same(value(el.erf, x), np.vectorize(erf)(x), 1e-14)
    same(value(el.gelu, x), x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2))), 1e-14)
    assert value(el.relu, np.array([-3, 4], "i4")).tolist() == [0, 4]


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_compiled_functions_keep_their_digits(kind: str) -> None:
    x = np.concatenate([SPECIAL, np.linspace(-3, 3, 32), 10.0 ** np.arange(-30, 5, 2)]).astype(kind)
    names = ["expm1", "log1p", "sinh", "cosh", "asinh", "atanh", "asin", "acos", "cos", "round", "trunc", "sign", "abs"]
    got = compiled(lambda a: [getattr(el, n)(a) for n in names], x)
    close = {"f4": 2e-6, "f8": 1e-13}[kind]
    for name, y in zip(names, got, strict=True):
        want = numpy(UNARY[name], x)
        usual = np.abs(x) < 1e4 if name == "cos" else np.full(x.shape, True)
        np.testing.assert_allclose(y[usual], want[usual], rtol=close, atol=1e-37 if name != "cos" else 2e-7,
                                   err_msg=name)  # fmt: skip


def test_compiled_divisions_and_powers() -> None:
    a, b = (m.reshape(-1).astype("f4") for m in np.meshgrid(np.arange(-60, 60, 7), np.array([-49, -3, -1, 1, 7, 49])))
    names = ["floor_divide", "remainder", "fmod", "hypot", "copysign", "pow"]
    got = compiled(lambda x, y: [getattr(el, n)(x, y) for n in names], a, b)
    for name, y in zip(names, got, strict=True):
        want = numpy(BINARY[name], a, b)
        np.testing.assert_allclose(y, want, rtol=1e-4 if name == "pow" else 2e-6, atol=1e-6, err_msg=name)


def test_errors_name_the_function_and_the_mend() -> None:
    p = np.array([True])
    for f, text in (
        (lambda a: el.subtract(a, a), "difference of bools"),
        (lambda a: el.negative(a), "the negative of bools"),
        (lambda a: el.sign(a), "the sign of bools"),
        (lambda a: el.add(a, object()), "a value of type object stands where an array is expected"),
        (lambda a: el.add(a, [[1], [1, 2]]), "a list whose members differ in shape"),
        (lambda a: el.add(a, [a]), "a list that holds traced arrays"),
        (lambda a: el.add(a, np.array([1j])), "an array of complex128"),
    ):
        with pytest.raises(GraphError, match=text) as error:
            value(f, p)
        assert "test_array_elementwise.py" in error.value.where
        assert error.value.mend
