"""Values of an ONNX graph while it is imported: known arrays, arrays of forms over dims, traced arrays, sequences.

value ::= Known(array)       computed at import: weights, constants, shape arithmetic
        | Forms(array)       an i64 array of affine forms over symbolic dims: what Shape gives, and arithmetic on it
        | Traced             computed at run time (see tang_egg.traced)
        | Items(values)      a sequence, as long as it is at import
        | Optional_(value)   an optional that holds a value or none
        | Missing            what a node that cannot be imported would have given
        | None               an input that is left out
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tang_egg import notation as te
from tang_egg import ops, traced
from tang_egg.affine import Affine, affine
from tang_egg.assemble import graph
from tang_egg.errors import InputError
from tang_egg.expression import Expression, eq, select
from tang_egg.expression import value as as_value
from tang_egg.interpret import interpret
from tang_egg.ir import Input, sources, tensors_of
from tang_egg.traced import Traced

Array: TypeAlias = "NDArray[Any]"

ELEMENTS = {
    1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64", 12: "u32",
    13: "u64", 16: "bf16",
}  # fmt: skip
"""The element types of the format that the language has, by their number there."""

NAMES = {
    0: "UNDEFINED", 8: "STRING", 14: "COMPLEX64", 15: "COMPLEX128", 17: "FLOAT8E4M3FN", 18: "FLOAT8E4M3FNUZ",
    19: "FLOAT8E5M2", 20: "FLOAT8E5M2FNUZ", 21: "UINT4", 22: "INT4", 23: "FLOAT4E2M1", 24: "FLOAT8E8M0", 25: "UINT2",
    26: "INT2",
}  # fmt: skip
"""Those that it lacks."""

NUMBERS = {name: number for number, name in ELEMENTS.items()}

NUMPY = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": np.float32, "bool": np.bool_, "i8": np.int8,
    "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32,
    "u64": np.uint64,
}  # fmt: skip
"""The NumPy type in which a known array is held; bf16 as float32 of the same values."""

LARGEST = 1 << 20
"""Elements that an array computed at import may have, unless its operands have as many."""


class Unsupported(Exception):
    """A node that cannot be imported, and why. `needs`: inputs of the model that would have to be known."""

    def __init__(self, reason: str, needs: tuple[str, ...] = ()) -> None:
        self.reason = reason
        self.needs = needs
        super().__init__(reason)


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """An array whose elements are known, of element type `dtype` (bf16: held as float32)."""

    array: Array
    dtype: str
    name: str = "constant"

    @property
    def extents(self) -> tuple[Affine, ...]:
        return tuple(affine(n) for n in self.array.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """An i64 array whose elements are affine forms over dims (NumPy array of objects)."""

    array: Array
    name: str = "forms"
    dtype: str = "i64"

    @property
    def extents(self) -> tuple[Affine, ...]:
        return tuple(affine(n) for n in self.array.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A sequence of values."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Optional_:
    """An optional: its value, or None."""

    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Missing:
    """The result of a node that cannot be imported; it was recorded when it was met."""


Tensor: TypeAlias = "Known | Forms | Traced"
Value: TypeAlias = "Known | Forms | Traced | Items | Optional_ | Missing | None"


def known(array: Any, dtype: str, name: str = "constant") -> Known:
    """An array as a known value of an element type."""
    return Known(np.asarray(array, NUMPY[dtype]), dtype, name)


def forms(items: Array, name: str = "forms") -> Known | Forms:
    """An array of integers and forms: known where no form mentions a dim."""
    made = [affine(x) for x in items.reshape(-1).tolist()]
    values = [f.value for f in made]
    if all(v is not None for v in values):
        return Known(np.array(values, np.int64).reshape(items.shape), "i64", name)
    held = np.empty(len(made), object)
    held[:] = made
    return Forms(held.reshape(items.shape), name)


def shape_value(shape: tuple[Affine, ...]) -> Known | Forms:
    """A shape as a vector."""
    held = np.empty(len(shape), object)
    held[:] = list(shape)
    return forms(held, "shape")


def objects(value: Known | Forms) -> Array:
    """The elements as Python integers and forms."""
    return value.array if isinstance(value, Forms) else value.array.astype(object)


@dataclass(slots=True)
class Weights:
    """The inputs made for known arrays, with their arrays; and names, each given once."""

    arrays: dict[str, Array] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    lifted: dict[int, tuple[Known | Forms, Traced]] = field(default_factory=dict)

    def name(self, wanted: str) -> str:
        """An identifier like `wanted` that was not given out before."""
        stem = plain = identifier(wanted)
        n = 1
        while plain in self.taken:
            n += 1
            plain = f"{stem}_{n}"
        self.taken.add(plain)
        return plain

    def lift(self, value: Tensor) -> Traced:
        """The value as a traced array: a constant where all elements are equal, else a weight."""
        if isinstance(value, Traced):
            return value
        if id(value) not in self.lifted:
            made = _of_forms(value) if isinstance(value, Forms) else self._of_known(value)
            self.lifted[id(value)] = (value, made)
        return self.lifted[id(value)][1]

    def _of_known(self, value: Known) -> Traced:
        first = value.array.reshape(-1)[:1]
        if first.size == 0:
            return traced.full(value.extents, 0, value.dtype)
        if not np.isnan(first).any() and (value.array == first).all() and not _negative_zero(first):
            return traced.full(value.extents, first[0].item(), value.dtype)
        name = self.name(value.name)
        self.arrays[name] = np.ascontiguousarray(value.array)
        return traced.of(te.input(name, value.array.shape, value.dtype))

    def fold(self, x: Traced, name: str) -> Known:
        """The elements of an array that only weights go into."""
        array = traced.to_array(traced.copied(x))
        if isinstance(array.node, Input):
            return Known(self.arrays[array.name], x.dtype, name)
        g = graph("fold", array)
        result = interpret(g, {i.name: self.arrays[i.name] for i in g.inputs}, checked=False)
        (found,) = result.values()
        return Known(rounded(found, x.dtype), x.dtype, name)

    def needed(self, x: Traced) -> tuple[str, ...]:
        """The graph's own inputs that an array depends on."""
        array = traced.to_array(traced.copied(x))
        if isinstance(array.node, Input):
            met = {array.node}
        else:
            met = {s for t in tensors_of([array.node]) for s in sources(t.body) if isinstance(s, Input)}
        return tuple(sorted(i.name for i in met if i.name not in self.arrays))


def _negative_zero(x: Array) -> bool:
    return x.dtype.kind == "f" and bool(np.signbit(x).any()) and not x.any()


def rounded(array: Array, dtype: str) -> Array:
    """A result of the interpreter in the type in which a known array of `dtype` is held."""
    if dtype == "bf16":
        return np.asarray(ops.cast_value(array, "bf16", "real")).astype(np.float32)
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(NUMPY[dtype])


def _of_forms(value: Forms) -> Traced:
    """Forms as an array: a choice by position."""
    items = [as_value(f) for f in value.array.reshape(-1).tolist()]

    def element(*at: Affine | Expression) -> Expression:
        flat: Affine | Expression = affine(0)
        for c, n in zip(at, value.array.shape, strict=True):
            flat = flat * n + c if isinstance(flat, Affine) and isinstance(c, Affine) else as_value(flat) * n + c
        body = items[-1]
        for n in range(len(items) - 2, -1, -1):
            body = select(eq(flat, n), items[n], body)
        return body

    return traced.positions(value.array.shape, element, "i64")


def identifier(name: str) -> str:
    """A name of the file as one of the graph."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)[:80].strip("_") or "x"
    return plain if plain[0].isalpha() else f"v{plain}"


def element_type(number: int, where: str = "") -> str:
    """The element type by its number in the format. Raises Unsupported for one that the language lacks."""
    if number not in ELEMENTS:
        said = NAMES.get(number, f"number {number}")
        raise Unsupported(f"elements of type {said}{f' ({where})' if where else ''}")
    return ELEMENTS[number]


def broken(what: str, where: str, mend: str = "export or fetch the model again") -> InputError:
    """The error of a file that is no well-formed model."""
    return InputError(what, where=where, mend=mend)
