"""Inputs of the interpreter: sizes of symbolic dims from the shapes of arrays, and checks of what the caller gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg import ops
from tang_egg.affine import Affine, Dim, dims_of
from tang_egg.errors import BindError, InputError
from tang_egg.ir import Input
from tang_egg.ops_eight import EIGHT, numbers_of

Array: TypeAlias = "npt.NDArray[Any]"

ACCEPTED = {
    "f16": ("float16", "float64"),
    "bf16": ("bfloat16", "float32", "float64"),
    "f32": ("float32", "float64"),
    "f64": ("float64",),
    "bool": ("bool",),
    "f8e4m3": ("float8_e4m3fn", "uint8", "float16", "float32", "float64"),
    "f8e5m2": ("float8_e5m2", "uint8", "float16", "float32", "float64"),
} | {t: ({"i": "int", "u": "uint"}[t[0]] + t[1:],) for t in ops.INTEGERS}
"""NumPy types of arrays that may be given for each storage type; values are taken as they are, uint8 as bits of 8-bit
floats."""


def bind_inputs(
    declared: Iterable[Input], given: Mapping[str, Any], dims: Mapping[str, int], where: str
) -> tuple[dict[str, Array], dict[str, int]]:
    """The arrays in the interpreter's types, and the value of every dim that the shapes mention.

    Raises InputError for a missing or unknown input, a wrong rank, type or extent, or an input declared sorted that is
    not; BindError for a dim that nothing determines or whose facts a value breaks.
    """
    inputs = {i.name: i for i in declared}
    for name, i in inputs.items():
        if name not in given:
            raise InputError(
                f"input '{name}' is missing",
                where=where,
                mend=f"give an array of shape {_shape(i)} and type {i.dtype}",
            )
    for name in given:
        if name not in inputs:
            raise InputError(
                f"there is no input '{name}'", where=where, mend=f"the inputs are: {', '.join(inputs) or 'none'}"
            )
    raw = {name: _array(name, given[name], where) for name in inputs}
    for name, i in inputs.items():
        _check_kind(i, raw[name], where)
    values = infer_dims(inputs.values(), raw, dims, where)
    for name, i in inputs.items():
        if i.dtype in EIGHT and raw[name].dtype == np.uint8:
            raw[name] = numbers_of(raw[name], i.dtype)
    arrays = {n: a.astype(ops.numpy_type(ops.scalar_type(inputs[n].dtype)), copy=False) for n, a in raw.items()}
    for name, i in inputs.items():
        if i.sorted and np.any(arrays[name][1:] < arrays[name][:-1]):
            at = int(np.argmax(arrays[name][1:] < arrays[name][:-1])) + 1
            raise InputError(
                f"input '{name}' is declared sorted, but entry {at} is less than the one before it",
                where=where,
                mend="sort the array, or declare the input without sorted=True",
            )
    return arrays, values


def _array(name: str, x: Any, where: str) -> Array:
    """NumPy's view of what is given for an input. Raises InputError where there is none."""
    try:
        return np.asarray(x)
    except Exception as error:  # of any kind: the library that owns the array decides what it raises
        raise InputError(
            f"input '{name}' cannot be read as an array: {' '.join(str(error).split())[:200]}",
            where=f"{where}, a value of type {type(x).__module__}.{type(x).__qualname__}",
            mend="give a NumPy array, or one in this machine's memory",
        ) from error


def _shape(i: Input) -> str:
    return f"[{', '.join(map(repr, i.shape))}]"


def _check_kind(i: Input, array: Array, where: str) -> None:
    if array.ndim != len(i.shape):
        raise InputError(
            f"input '{i.name}' has {array.ndim} axes, not {len(i.shape)}",
            where=where,
            mend=f"give an array of shape {_shape(i)}",
        )
    if array.dtype.name not in ACCEPTED[i.dtype]:
        raise InputError(
            f"input '{i.name}' is an array of {array.dtype.name}, but it is declared {i.dtype}",
            where=where,
            mend=f"convert it to {' or '.join(ACCEPTED[i.dtype])}",
        )


def infer_dims(
    inputs: Iterable[Input], arrays: Mapping[str, Array], dims: Mapping[str, int], where: str
) -> dict[str, int]:
    """The value of every dim, from `dims` and from the extents of arrays by solving each form with one unknown."""
    extents = [(i, n, form) for i in inputs for n, form in enumerate(i.shape)]
    known = {name: int(value) for name, value in dims.items()}
    origin = dict.fromkeys(known, "dims")
    declared: dict[str, Dim] = {d.name: d for d in dims_of(form for _, _, form in extents)}
    pending = extents
    while pending:
        waiting = []
        for i, n, form in pending:
            actual = arrays[i.name].shape[n]
            unknown = {d for d in form.dims() if d.name not in known}
            solved = _solve(form, next(iter(unknown)), known, actual) if len(unknown) == 1 else None
            if solved is not None:
                name = next(iter(unknown)).name
                known[name], origin[name] = solved, f"axis {n} of '{i.name}'"
            elif unknown:
                waiting.append((i, n, form))
        if len(waiting) == len(pending):
            break
        pending = waiting
    for i, n, form in extents:
        actual = arrays[i.name].shape[n]
        if all(d.name in known for d in form.dims()) and form.evaluate(known) != actual:
            used = [f"{d.name} = {known[d.name]} from {origin[d.name]}" for d in sorted(form.dims(), key=repr)]
            raise InputError(
                f"input '{i.name}' has extent {actual} along axis {n}, not {form}"
                + (f" = {form.evaluate(known)}" if used else ""),
                where=f"{where}{'; ' if used else ''}{', '.join(used)}",
                mend=f"give an array of shape {_shape(i)}",
            )
        for d in form.dims():
            if d.name not in known:
                raise BindError(
                    f"dimension '{d.name}' is not determined by the shapes of the inputs",
                    where=f"{where}; axis {n} of '{i.name}' has extent {form} = {actual}",
                    mend=f"pass its value: dims={{'{d.name}': ...}}",
                )
    for name, d in declared.items():
        d.check(known[name])
    return known


def _solve(form: Affine, unknown: Dim, known: Mapping[str, int], actual: int) -> int | None:
    """The value of `unknown` that makes `form` equal to `actual`, or None when there is no such integer."""
    factor, rest = 0, 0
    for monomial, coefficient in form.terms:
        times = sum(a is unknown for a in monomial)
        if times > 1:
            return None
        for a in monomial:
            if a is not unknown:
                coefficient *= known[a.name]
        if times:
            factor += coefficient
        else:
            rest += coefficient
    return (actual - rest) // factor if factor and (actual - rest) % factor == 0 else None
