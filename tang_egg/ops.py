"""The table of scalar primitives: one row per operation, with its type rule and its NumPy meaning.

Types of scalars: "real" (any float; storage and accumulation precision are decided by the schedule), "bool", and the
machine integers "i8" ... "i64", "u8" ... "u64", which wrap. Divisions of integers round towards minus infinity, as do
remainders (sign of the divisor); division by zero is an error of the checked interpreter and gives 0 elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tang_egg import ops_eight
from tang_egg.errors import GraphError
from tang_egg.ops_eight import EIGHT

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "bf16", "f32", "f64", *EIGHT)
STORAGE = (*FLOATS, *INTEGERS, "bool")
"""Every element type that a buffer may have."""

BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "bool": 1} | {t: int(t[1:]) // 8 for t in INTEGERS}
BYTES |= dict.fromkeys(EIGHT, 1)


def scalar_type(storage: str) -> str:
    """The type of a scalar read from a buffer of element type `storage`."""
    return "real" if storage in FLOATS else storage


def _round_bfloat16(x: Any) -> Any:
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), np.nan, rounded).astype(np.float64)


def numpy_type(scalar: str) -> Any:
    """The NumPy type in which the interpreter holds a scalar type: float64 for "real", exact integers otherwise."""
    if scalar == "real":
        return np.float64
    if scalar == "bool":
        return np.bool_
    return np.dtype({"i": "int", "u": "uint"}[scalar[0]] + scalar[1:]).type


def cast_value(x: Any, target: str, source: str) -> Any:
    """Conversion as the language defines it: to a float rounds to nearest even, to one of 8 bits it saturates as well;
    real to integer truncates and wraps."""
    if target == "bool":
        return np.asarray(x) != 0
    if target in ("real", "f64"):
        return np.asarray(x).astype(np.float64)
    if target == "f32":
        return np.asarray(x).astype(np.float32).astype(np.float64)
    if target == "f16":
        return np.asarray(x).astype(np.float16).astype(np.float64)
    if target == "bf16":
        return _round_bfloat16(np.asarray(x, np.float64))
    if target in EIGHT:
        return ops_eight.rounded(x, target)
    if source == "real":
        whole = np.nan_to_num(np.trunc(np.asarray(x, np.float64)), nan=0.0, posinf=0.0, neginf=0.0)
        return np.clip(whole, -(2.0**63), 2.0**63 - 1024).astype(np.int64).astype(numpy_type(target))
    return np.asarray(x).astype(numpy_type(target))


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(x) if np.size(x) else np.asarray(x, np.float64)


def _divide(a: Any, b: Any) -> Any:
    return np.where(b == 0, np.zeros_like(a), np.floor_divide(a, np.where(b == 0, np.ones_like(b), b)))


def _modulo(a: Any, b: Any) -> Any:
    return np.where(b == 0, np.zeros_like(a), np.remainder(a, np.where(b == 0, np.ones_like(b), b)))


@dataclass(frozen=True, slots=True)
class Op:
    """One primitive.

    `operands`: "numeric", "real", "integer", "bool", "any" or "select" (bool, then two alike).
    `result`: "same" as the operands, or a fixed scalar type.
    `meaning`: the NumPy function over arrays of the operand type.
    `derivative`: text of d/dx per operand, in the language's own notation (empty where there is none).
    `interval`: how bounds pass through: "monotone", "antitone", "custom", or "top" (nothing is known).
    `commutes`: whether the two operands may be exchanged, exactly.
    """

    name: str
    arity: int
    operands: str
    result: str
    meaning: Callable[..., Any]
    derivative: tuple[str, ...] = ()
    interval: str = "top"
    commutes: bool = False


def _real(name: str, meaning: Callable[..., Any], derivative: str, interval: str) -> Op:
    return Op(name, 1, "real", "same", meaning, (derivative,), interval)


_ROWS = (
    Op("add", 2, "numeric", "same", np.add, ("1", "1"), "custom", True),
    Op("mul", 2, "numeric", "same", np.multiply, ("y", "x"), "custom", True),
    Op("neg", 1, "numeric", "same", np.negative, ("-1",), "antitone"),
    Op("max", 2, "numeric", "same", np.maximum, ("y <= x", "x < y"), "monotone", True),
    Op("min", 2, "numeric", "same", np.minimum, ("x <= y", "y < x"), "monotone", True),
    _real("recip", lambda x: np.divide(1.0, x), "-recip(x)*recip(x)", "custom"),
    _real("sqrt", np.sqrt, "0.5*recip(sqrt(x))", "monotone"),
    _real("sin", np.sin, "sin(x + 1.5707963267948966)", "custom"),
    _real("exp", np.exp, "exp(x)", "monotone"),
    _real("log", np.log, "recip(x)", "monotone"),
    _real("tanh", np.tanh, "1 - tanh(x)*tanh(x)", "monotone"),
    _real("erf", _erf, "1.1283791670955126*exp(-x*x)", "monotone"),
    _real("floor", np.floor, "0", "monotone"),
    Op("atan2", 2, "real", "same", np.arctan2, ("y*recip(x*x + y*y)", "-x*recip(x*x + y*y)"), "custom"),
    Op("select", 3, "select", "same", np.where, ("", "c", "not c"), "custom"),
    Op("lt", 2, "numeric", "bool", np.less),
    Op("le", 2, "numeric", "bool", np.less_equal),
    Op("eq", 2, "any", "bool", np.equal, (), "top", True),
    Op("and", 2, "bool", "bool", np.logical_and, (), "top", True),
    Op("or", 2, "bool", "bool", np.logical_or, (), "top", True),
    Op("not", 1, "bool", "bool", np.logical_not),
    Op("idiv", 2, "integer", "same", _divide, (), "custom"),
    Op("imod", 2, "integer", "same", _modulo, (), "custom"),
    Op("bitand", 2, "integer", "same", np.bitwise_and, (), "top", True),
    Op("bitor", 2, "integer", "same", np.bitwise_or, (), "top", True),
    Op("bitxor", 2, "integer", "same", np.bitwise_xor, (), "top", True),
    Op("shl", 2, "integer", "same", np.left_shift),
    Op("shr", 2, "integer", "same", np.right_shift),
)

OPS: dict[str, Op] = {op.name: op for op in _ROWS}
"""All primitives but the conversions, which are named `cast:<type>` and `bits:<type>`."""


def find(name: str) -> Op:
    """The row of an operation, conversions included. Raises GraphError for an unknown name."""
    if name in OPS:
        return OPS[name]
    kind, _, target = name.partition(":")
    if kind == "cast" and target in (*STORAGE, "real"):
        return Op(name, 1, "any", scalar_type(target) if target != "real" else "real", np.asarray)
    if kind == "bits" and target in STORAGE:
        return Op(name, 1, "any", scalar_type(target), np.asarray)
    raise GraphError(
        f"unknown operation '{name}'",
        where="a scalar expression",
        mend=f"use one of {', '.join(OPS)}, cast:<type> or bits:<type>",
    )


def result_type(name: str, types: tuple[str, ...]) -> str:
    """The scalar type of an application. Raises GraphError when the operand types do not fit."""
    op = find(name)
    where = f"{name}({', '.join(types)})"
    if len(types) != op.arity:
        raise GraphError(
            f"'{name}' takes {op.arity} operands, not {len(types)}", where=where, mend="give as many as it takes"
        )
    operands = types
    if op.operands == "select":
        if types[0] != "bool":
            raise GraphError("the condition of a select is not bool", where=where, mend="compare, e.g. x < 0")
        operands = types[1:]
    if len(set(operands)) > 1:
        raise GraphError("operands of different types", where=where, mend="convert one of them with te.cast")
    kind = operands[0]
    fits = {
        "numeric": kind != "bool",
        "real": kind == "real",
        "integer": kind in INTEGERS,
        "bool": kind == "bool",
        "any": True,
        "select": True,
    }[op.operands]
    if not fits:
        raise GraphError(f"'{name}' needs {op.operands} operands", where=where, mend="convert them with te.cast")
    if name.startswith("bits:"):
        _check_width(name, kind, where)
    return kind if op.result == "same" else op.result


def _check_width(name: str, source: str, where: str) -> None:
    """A reinterpreting read keeps the width; a real has those of the floats."""
    wide = BYTES[name.partition(":")[2]]
    # a real has no bits of 8: two types have as many
    widths = {BYTES[f] for f in FLOATS if f not in EIGHT} if source == "real" else {BYTES[source]}
    if wide not in widths:
        raise GraphError(
            f"'{name}' reads {wide} byte{'s' * (wide > 1)}, but a value of type {source} has"
            f" {' or '.join(map(str, sorted(widths)))}",
            where=where,
            mend="cast to a type of the same width first",
        )


def apply(name: str, args: tuple[Any, ...], types: tuple[str, ...]) -> Any:
    """The value of an operation on arrays of the interpreter (broadcasting). Integers wrap; floats follow IEEE."""
    kind, _, target = name.partition(":")
    with np.errstate(all="ignore"):
        if kind == "cast":
            return cast_value(args[0], target, types[0])
        if kind == "bits":
            return _reinterpret(args[0], target, types[0])
        if name in ("shl", "shr"):
            width = 8 * BYTES[types[0]]
            count = np.asarray(args[1]) % np.asarray(width, numpy_type(types[0]))
            return OPS[name].meaning(args[0], count)
        return OPS[name].meaning(*args)


def _reinterpret(x: Any, target: str, source: str) -> Any:
    """The bits of `x` read as another type of the same width (a real source is taken as f32 or f64 by that width)."""
    width = BYTES[target]
    if source == "real":
        held: Any = np.asarray(x).astype({2: np.float16, 4: np.float32, 8: np.float64}[width])
    else:
        held = np.asarray(x)
        if held.dtype.itemsize != width:
            raise GraphError(
                f"bits:{target} reads {width} bytes but {source} has {held.dtype.itemsize}",
                where="a reinterpreting read",
                mend="cast to an integer of the same width first",
            )
    if target == "bf16":
        return (held.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if target in EIGHT:
        return ops_eight.numbers_of(held.view(np.uint8), target)
    if target in FLOATS:
        return held.view({"f16": np.float16, "f32": np.float32, "f64": np.float64}[target]).astype(np.float64)
    if target == "bool":
        return held.view(np.uint8) != 0
    return held.view(numpy_type(target))
