"""Operators on arrays of affine forms: what models compute from the shapes of their inputs.

Operators that only move elements run on the elements' numbers; arithmetic runs on the forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tang_egg.affine import Affine, affine
from tang_egg.bounds import prove_nonnegative
from tang_egg.importers.onnx_call import Call
from tang_egg.importers.onnx_value import Array, Forms, Known, Value, forms, objects
from tang_egg.traced_factor import quotient

MOVES: dict[str, tuple[int, ...]] = {
    "Concat": (), "Gather": (0,), "GatherElements": (0,), "GatherND": (0,), "Slice": (0,), "Unsqueeze": (0,),
    "Squeeze": (0,), "Reshape": (0,), "Transpose": (0,), "Split": (0,), "Expand": (0,), "Tile": (0,), "Flatten": (0,),
    "Identity": (0,), "Where": (1, 2),
}  # fmt: skip
"""Operators whose results are elements of their operands, and which operands those are (none: all)."""


def moved(call: Call, run: Callable[[Call], tuple[Value, ...]]) -> tuple[Value, ...]:
    """The results of an operator that only moves elements: `run` on their numbers."""
    pool: list[Any] = []
    values = list(call.values)
    for n in MOVES[call.op] or range(len(values)):
        value = values[n]
        if isinstance(value, (Known, Forms)):
            numbers = np.arange(len(pool), len(pool) + value.array.size).reshape(value.array.shape)
            pool += objects(value).reshape(-1).tolist()
            values[n] = Known(numbers, "i64")
    return tuple(_named(v, pool) for v in run(replace(call, values=tuple(values))))


def _named(value: Value, pool: list[Any]) -> Value:
    if not isinstance(value, Known):
        return value
    found = np.empty(value.array.size, object)
    found[:] = [pool[int(n)] for n in value.array.reshape(-1)]
    return forms(found.reshape(value.array.shape), value.name)


def _each(f: Callable[[Affine, Affine], Affine | None]) -> Callable[[Call], Value | None]:
    """An operator of two or more operands, element by element; None where some element is no form."""

    def run(call: Call) -> Value | None:
        arrays: list[Array] = []
        for v in call.values:
            if not isinstance(v, (Known, Forms)) or v.dtype != "i64":
                return None
            arrays.append(objects(v))
        total = arrays[0]
        for other in arrays[1:]:
            a, b = np.broadcast_arrays(total, other)
            made = [
                f(affine(x), affine(y)) for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)
            ]
            if any(m is None for m in made):
                return None
            total = np.empty(len(made), object)
            total[:] = made
            total = total.reshape(a.shape)
        return forms(total)

    return run


def _product(a: Affine, b: Affine) -> Affine:
    return a * b


def _divided(a: Affine, b: Affine) -> Affine | None:
    if a.value is not None and b.value:
        whole = abs(a.value) // abs(b.value)
        return affine(whole if (a.value < 0) == (b.value < 0) else -whole)
    return quotient(a, b)


def _greater(a: Affine, b: Affine) -> Affine | None:
    if prove_nonnegative(a - b):
        return a
    return b if prove_nonnegative(b - a) else None


def _lesser(a: Affine, b: Affine) -> Affine | None:
    larger = _greater(a, b)
    return None if larger is None else b if larger is a else a


def _folded(f: Callable[[Affine, Affine], Affine], start: int) -> Callable[[Call], Value | None]:
    """A reduction of all elements of a vector."""

    def run(call: Call) -> Value | None:
        value = call.values[0]
        if not isinstance(value, Forms) or value.array.ndim != 1:
            return None
        total = affine(start)
        for x in value.array.tolist():
            total = f(total, affine(x))
        held = np.empty(1, object)
        held[0] = total
        return forms(held if call.integer("keepdims", 1) else held.reshape(()))

    return run


def _cast(call: Call) -> Value | None:
    """To the type that forms have; others are computed."""
    return call.values[0] if call.integer("to") == 7 else None


def _equal(call: Call) -> Value | None:
    """Truths that hold for all values of the dims, or for none."""
    a, b = (objects(v) for v in call.values if isinstance(v, (Known, Forms)))
    a, b = np.broadcast_arrays(a, b)
    found: list[bool] = []
    for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True):
        gap = affine(x) - affine(y)
        if gap.value is not None:
            found.append(gap.value == 0)
        elif prove_nonnegative(gap - 1) or prove_nonnegative(-gap - 1):
            found.append(False)
        else:
            return None
    return Known(np.array(found, bool).reshape(a.shape), "bool")


def _compared(strict: bool, swapped: bool) -> Callable[[Call], Value | None]:
    def run(call: Call) -> Value | None:
        if not all(isinstance(v, (Known, Forms)) and v.dtype == "i64" for v in call.values):
            return None
        a, b = (objects(v) for v in call.values if isinstance(v, (Known, Forms)))
        a, b = np.broadcast_arrays(*((b, a) if swapped else (a, b)))
        found: list[bool] = []
        for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True):
            gap = affine(y) - affine(x) - (1 if strict else 0)
            if prove_nonnegative(gap):
                found.append(True)
            elif prove_nonnegative(-gap - 1):
                found.append(False)
            else:
                return None
        return Known(np.array(found, bool).reshape(a.shape), "bool")

    return run


def _range(call: Call) -> Value | None:
    """A range of few forms; None where the number of elements is not known."""
    start, limit, step = (affine(objects(v).reshape(-1).tolist()[0]) for v in call.values)  # type: ignore[arg-type]
    count = quotient(limit - start, step)
    if count is None or count.value is None or not 0 <= count.value <= 64:
        return None
    held = np.empty(count.value, object)
    held[:] = [start + step * n for n in range(count.value)]
    return forms(held)


ARITHMETIC: dict[str, Callable[[Call], Value | None]] = {
    "Add": _each(lambda a, b: a + b),
    "Sub": _each(lambda a, b: a - b),
    "Mul": _each(_product),
    "Div": _each(_divided),
    "Max": _each(_greater),
    "Min": _each(_lesser),
    "Sum": _each(lambda a, b: a + b),
    "Neg": lambda call: forms(-objects(call.values[0])) if isinstance(call.values[0], Forms) else None,
    "ReduceProd": _folded(_product, 1),
    "ReduceSum": _folded(lambda a, b: a + b, 0),
    "Cast": _cast,
    "Equal": _equal,
    "Less": _compared(strict=True, swapped=False),
    "Greater": _compared(strict=True, swapped=True),
    "LessOrEqual": _compared(strict=False, swapped=False),
    "GreaterOrEqual": _compared(strict=False, swapped=True),
    "Range": _range,
}
"""Arithmetic on forms; a function gives None where the result is no form, and then the forms are computed with."""
