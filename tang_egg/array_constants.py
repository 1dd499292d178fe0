"""Constants of traced programs: arrays of numbers become inputs of the graph, whose arrays are kept beside it.

    with Constants() as constants:
        y = program(x)          # NumPy arrays that meet traced ones are collected
    Model(graph, constants.arrays)

A uniform array and one of no more than one element become constants of the graph; equal arrays become one input.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar, Token
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import Affine, Dim, affine
from tang_egg.array_types import (
    NAMES,
    NUMPY_NAMES,
    Number,
    as_type,
    is_number,
    number_as,
    promote,
    promote_number,
    type_of_number,
)
from tang_egg.expression import Expression, constant, select, value
from tang_egg.importers.weights import identifier
from tang_egg.notation import Array
from tang_egg.traced import Traced, fail, full, of, positions
from tang_egg.traced_factor import plus, times
from tang_egg.traced_view import less

Like: TypeAlias = "Traced | Array | Number | NDArray[Any] | np.generic | Sequence[Any]"
"""What stands for an array in a traced program."""

_current: ContextVar[Constants | None] = ContextVar("tang_egg_constants", default=None)


class Constants:
    """Arrays of a traced program by the names of their inputs. In a `with` statement it collects what is met there.

    `reserved`: names that no constant takes.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.reserved = set(reserved)
        self._known: dict[tuple[str, tuple[int, ...], bytes], Traced] = {}
        self._tokens: list[Token[Constants | None]] = []

    def add(self, array: NDArray[Any], name: str = "constant", dtype: str | None = None) -> Traced:
        """An array as a traced one. `dtype`: "bf16" for bits held as u16, else that of the array.

        An array that is equal to an earlier one, in bits, is that one, whatever its name.
        """
        held = np.asarray(array)
        kind = dtype or numpy_dtype(held)
        if kind != "bf16" and held.dtype != NUMPY_NAMES[kind]:
            held = held.astype(NUMPY_NAMES[kind])
        if kind != "bf16" and held.size and (held == held.flat[0]).all():
            one = held.flat[0]
            if not (kind in ops.FLOATS and one == 0 and np.signbit(held).any()):
                return full(held.shape, one.item(), kind)
        if held.size == 0:
            return full(held.shape, 0, kind)
        if kind != "bf16" and (found := by_position(held, kind)) is not None:
            return found
        key = (kind, held.shape, _digest(held))
        if key not in self._known:
            label = self.name(name)
            self.arrays[label] = held
            self._known[key] = of(te.input(label, held.shape, kind))
        return self._known[key]

    def name(self, wanted: str) -> str:
        """An identifier like `wanted` that nothing else has."""
        stem = identifier(wanted or "constant")
        found, n = stem, 1
        while found in self.reserved or found in self.arrays:
            n += 1
            found = f"{stem}_{n}"
        return found

    def __enter__(self) -> Constants:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())


def by_position(array: NDArray[Any], dtype: str) -> Traced | None:
    """An array whose elements follow from their positions, as such, or None.

    Integers that are an affine form of the position (ranges, grids), and two values on either side of a diagonal
    (causal masks): conditions on them are conditions on indices, which laws can use.
    """
    if dtype in ops.INTEGERS and dtype != "u64":
        return _affine_array(array, dtype)
    long = [p for p, n in enumerate(array.shape) if n != 1]
    if len(long) != 2:
        return None
    matrix = array.reshape([array.shape[p] for p in long])
    return _triangle(matrix, long, array.shape, dtype)


def _affine_array(array: NDArray[Any], dtype: str) -> Traced | None:
    first = int(array.flat[0])
    steps = [int(array[tuple(int(n == p) for n in range(array.ndim))]) - first if s > 1 else 0
             for p, s in enumerate(array.shape)]  # fmt: skip
    if max(map(abs, (first, *steps))) >= 2**31 or array.size >= 2**31:
        return None
    grid = np.full(array.shape, first, np.int64)
    for p, (step, size) in enumerate(zip(steps, array.shape, strict=True)):
        grid += (np.arange(size) * step).reshape([size if n == p else 1 for n in range(array.ndim)])
    if not (grid == array).all():
        return None

    def at(*c: Any) -> Any:
        total: Any = affine(first)
        for i, step in zip(c, steps, strict=True):
            total = plus(total, times(i, step)) if step else total
        return total

    return positions(array.shape, at, dtype)


def _triangle(matrix: NDArray[Any], axes: Sequence[int], shape: Sequence[int], dtype: str) -> Traced | None:
    low, high = matrix[-1, 0], matrix[0, -1]
    if dtype in ops.FLOATS and (low == high or np.isnan(low) or np.isnan(high)):
        return None
    above = int((matrix[0] == low).sum()) - 1 if matrix[0, 0] == low else int(-(matrix[:, 0] == high).sum())
    inside = np.tri(matrix.shape[0], matrix.shape[1], above, dtype=bool)
    if low == high or not (matrix == np.where(inside, low, high)).all():
        return None
    below, beyond = (constant(x.item(), dtype) for x in (low, high))

    def at(*c: Any) -> Expression:
        i, j = (c[p] for p in axes)
        return select(less(j, i + (above + 1)), below, beyond)

    found = positions(shape, at, dtype)
    if dtype != "bool":
        return found
    mask = positions(shape, lambda *c: value(less(c[axes[1]], c[axes[0]] + (above + 1))), "bool")
    return mask if low else Traced(mask.factors, lambda c: ~mask.at(c), "bool")


def _digest(array: NDArray[Any]) -> bytes:
    from hashlib import blake2b

    return blake2b(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, digest_size=16).digest()


def numpy_dtype(array: NDArray[Any] | np.generic) -> str:
    """The element type of a NumPy array. Raises GraphError for one that the language lacks."""
    name = array.dtype.name
    if name not in NAMES:
        raise fail(f"an array of {name}", f"convert it to one of {', '.join(NAMES)}")
    return NAMES[name]


def stands_for_array(x: object) -> bool:
    """Whether `x` is of a kind that can stand beside a traced array."""
    return is_number(x) or isinstance(x, (Traced, Array, np.ndarray, np.generic, list, tuple))


def operand(x: Any) -> Traced:
    """What stands for an array in a program as a traced array; a number gets the type that it has alone."""
    if isinstance(x, Traced):
        return x
    if isinstance(x, Array):
        return of(x)
    if is_number(x):
        return number_as(x, type_of_number(x))
    if isinstance(x, (list, tuple)):
        return _sequence(x)
    if isinstance(x, np.generic):
        return number_as(x.item(), numpy_dtype(x))
    if isinstance(x, np.ndarray):
        return constant_array(x)
    raise fail(f"a value of type {type(x).__name__} stands where an array is expected",
               "give a traced array, a NumPy array or a number")  # fmt: skip


def _sequence(items: list[Any] | tuple[Any, ...]) -> Traced:
    flat, stack = [], list(items)
    while stack:
        one = stack.pop()
        if isinstance(one, (list, tuple)):
            stack += one
        else:
            flat.append(one)
    if any(isinstance(x, (Traced, Array, Affine, Dim)) for x in flat):
        raise fail("a list that holds traced arrays", "join them by stack or concat")
    try:
        return constant_array(np.asarray(items))
    except ValueError:
        raise fail("a list whose members differ in shape", "give members of one shape") from None


def constant_array(x: NDArray[Any], name: str = "constant") -> Traced:
    """A NumPy array among the constants that are being collected. Raises GraphError where none are."""
    held = np.asarray(x)
    constants = _current.get() or Constants()
    found = constants.add(held, name)
    if found.constant is None and held.size and _current.get() is None:
        raise fail(
            f"an array of shape {held.shape} meets traced ones, but no program is being traced",
            "trace the program by te.trace, make the array an input by te.input, or work inside `with Constants():`",
        )
    return found


def operands(*given: Any) -> tuple[Traced, ...]:
    """Arrays and numbers as traced arrays of one element type, their common one."""
    arrays = {n: operand(x) for n, x in enumerate(given) if not is_number(x)}
    numbers = [x for x in given if is_number(x)]
    if arrays:
        kinds = [x.dtype for x in arrays.values()]
        dtype = kinds[0]
        for kind in kinds[1:]:
            dtype = promote(dtype, kind)
        for number in numbers:
            dtype = promote_number(dtype, number)
    else:
        dtype = "bool"
        for number in numbers:
            dtype = promote_number(dtype, number)
    return tuple(
        as_type(arrays[n], dtype) if n in arrays else number_as(x, dtype)
        for n, x in enumerate(given)
    )  # fmt: skip
