"""Values of PyTorch programs as traced arrays: element types, type promotion, symbolic sizes, constants.

torch.float32 tensor  → Traced of "f32"            SymInt → Affine over dims
Python number         → itself, until it meets a tensor and takes the common type
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import Affine, Dim, Index, affine, axes_over, product
from tang_egg.errors import InputError
from tang_egg.expression import Expression
from tang_egg.traced import (
    Traced,
    align,
    axis_of,
    broadcast,
    cast_to,
    fail,
    scalar,
)
from tang_egg.traced_factor import Coordinate, Factors, quotient

try:
    import torch
except ImportError as error:
    raise InputError(
        "PyTorch is not installed", where="tang_egg.importers.torch", mend="pip install 'tang_egg[torch]'"
    ) from error

Value: TypeAlias = "Traced | Affine | Expression | float | int | bool"

TYPES: dict[Any, str] = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.bool: "bool",
    torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8",
    torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64",
}  # fmt: skip
"""The element type of the language for each of PyTorch that it has."""

TORCH = {ours: theirs for theirs, ours in TYPES.items()}


def type_name(dtype: Any) -> str:
    """The element type of the language. Raises GraphError where it has none: complex, quantised and 8-bit floats."""
    if dtype not in TYPES:
        raise fail(f"tensors of {dtype} are not supported", f"use one of: {', '.join(TYPES.values())}")
    return TYPES[dtype]


@dataclass(frozen=True, slots=True)
class Out:
    """What PyTorch says of the results of a node: element type and shape of each tensor, in order."""

    dtypes: tuple[str, ...]
    shapes: tuple[tuple[Affine, ...], ...]

    @property
    def dtype(self) -> str:
        return self.dtypes[0]

    @property
    def shape(self) -> tuple[Affine, ...]:
        return self.shapes[0]

    @property
    def working(self) -> str:
        """The element type of intermediates."""
        return working(self.dtype)


def working(dtype: str) -> str:
    """The element type in which statistics of elements of `dtype` are kept: f64 for f64, else f32."""
    return "f64" if dtype == "f64" else "f32"


@dataclass(slots=True)
class Symbols:
    """Symbolic sizes of a PyTorch program as dims, made when they are first met."""

    limits: Callable[[Any], tuple[int, int | None]]
    dims: dict[str, Dim] = field(default_factory=dict)

    def form(self, size: Any) -> Affine:
        """An int or SymInt as a polynomial over dims. Raises GraphError where it is none."""
        if isinstance(size, int):
            return affine(size)
        if not isinstance(size, torch.SymInt):
            raise fail(f"a size of type {type(size).__name__}", "use integers as sizes")
        return self._polynomial(size.node.expr)

    def _polynomial(self, x: Any) -> Affine:
        kind = type(x).__name__
        if x.is_Integer:
            return affine(int(x))
        if x.is_Symbol:
            return affine(self._dim(x))
        if x.is_Add:
            return sum((self._polynomial(a) for a in x.args), affine(0))
        if x.is_Mul:
            return product(map(self._polynomial, x.args))
        if x.is_Pow and x.exp.is_Integer and x.exp > 0:
            base, total = self._polynomial(x.base), affine(1)
            for _ in range(int(x.exp)):
                total = total * base
            return total
        if kind in ("FloorDiv", "CleanDiv"):
            whole, part = (self._polynomial(a) for a in x.args)
            found = quotient(whole, part)
            if found is not None:
                return found
        if kind in ("Mod", "PythonMod") and quotient(*(self._polynomial(a) for a in x.args)) is not None:
            return affine(0)
        raise fail(f"the size {x} is no polynomial over symbolic sizes", "fix that size, or one that it is made of")

    def _dim(self, symbol: Any) -> Dim:
        name = str(symbol)
        if name not in self.dims:
            low, high = self.limits(symbol)
            self.dims[name] = te.dim(name, max(low, 0), high)
        return self.dims[name]


def promoted(*values: Any) -> str:
    """The element type in which PyTorch computes on values together.

    Among tensors with axes, those without, and Python numbers, a later group counts only where its kind (bool, integer,
    float) is higher.
    """
    groups: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for v in values:
        if isinstance(v, Traced):
            groups[0 if v.ndim else 1].append(TORCH[v.dtype])
        elif v is not None:
            groups[2].append(_number_type(v))
    found = [_together(g) for g in groups]
    return type_name(_higher(found[0], _higher(found[1], found[2])))


def _number_type(v: Any) -> Any:
    if isinstance(v, bool):
        return torch.bool
    real = isinstance(v, float) or (isinstance(v, Expression) and v.type == "real")
    return torch.get_default_dtype() if real else torch.int64


def _together(types: Sequence[Any]) -> Any:
    found = None
    for t in types:
        found = t if found is None else torch.promote_types(found, t)
    return found


def _higher(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return first if second is None else second
    if first.is_floating_point:
        return first
    if first == torch.bool or second.is_floating_point:
        return torch.promote_types(first, second)
    return first


def number(x: float | int | bool, dtype: str) -> float | int | bool:
    """A Python number as an element of `dtype`: rounded to f32 or less precise types, wrapped to integers."""
    kind = ops.scalar_type(dtype)
    if kind == "bool":
        return bool(x)
    if kind != "real":
        return int(np.array(int(x)).astype(np.dtype(ops.numpy_type(kind)))) if abs(x) < 2**63 else int(x)
    with np.errstate(all="ignore"):
        return float(ops.cast_value(np.float64(x), dtype, "real"))


def converted(x: Traced, dtype: str) -> Traced:
    """`x` in another element type, as a view: rounded, truncated or compared with 0 as PyTorch does."""
    if x.dtype == dtype:
        return x
    exact = {"f32": ("f16", "bf16"), "f64": ("f16", "bf16", "f32")}
    if ops.scalar_type(dtype) == "real" == ops.scalar_type(x.dtype):
        if x.dtype in exact.get(dtype, ()):
            return Traced(x.factors, x.at, dtype)
        return Traced(x.factors, lambda c: e.cast(x.at(c), dtype), dtype)
    return Traced(x.factors, lambda c: cast_to(x.at(c), dtype), dtype)


def operand(x: Any, dtype: str) -> Traced:
    """A tensor, number or size as a traced array of element type `dtype`."""
    if isinstance(x, Traced):
        return converted(x, dtype)
    if isinstance(x, (Affine, Expression)):
        return scalar(cast_to(x, dtype), dtype)
    if isinstance(x, (bool, int, float)):
        return scalar(number(x, dtype), dtype)
    raise fail(f"a value of type {type(x).__name__} where a tensor or number is expected", "use a tensor")


def real(x: Any) -> Expression:
    """A number or size as a real expression."""
    if isinstance(x, Expression):
        return x
    return te.size(x) if isinstance(x, Affine) else e.constant(float(x))


def known(x: Any, what: str) -> int:
    """A size as a plain integer. Raises GraphError where it is symbolic."""
    if isinstance(x, bool) or not isinstance(x, (int, Affine)):
        raise fail(f"{what} is {x!r}", "give an integer")
    value = affine(x).value
    if value is None:
        raise fail(f"{what} is the symbolic size {x!r}", "fix that size")
    return value


def axes(x: Traced, dims: Any) -> list[int]:
    """The positions of the axes that an optional list of dims names; all where it is None or empty."""
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return list(range(x.ndim))
    given = [dims] if isinstance(dims, int) else list(dims)
    return [] if not x.ndim else [axis_of(x, d) for d in given]


def contract(
    f: Callable[..., Expression],
    *arrays: Traced,
    over: Sequence[int],
    dtype: str,
    keepdims: bool = False,
    hint: str = "t",
) -> Traced:
    """`f(indices, *elements)`, a fold over some axes of arrays that broadcast against each other.

    `f` gets no indices where all those axes have one element.
    """
    given = align(*broadcast(*arrays))
    factors = given[0].factors
    chosen = {axis_of(given[0], a) for a in over}
    free = axes_over(tuple(s for p, g in enumerate(factors) if p not in chosen for s in g))
    outer, at, bound = iter(free), list[Coordinate](), list[Index]()
    for p, g in enumerate(factors):
        for s in g:
            if p in chosen:
                bound.append(Index(f"r{len(bound)}", s))
                at.append(affine(bound[-1]))
            else:
                at.append(affine(next(outer)))
    array = te.tensor(None, free, f(tuple(bound), *(x.at(at) for x in given)), dtype, hint=hint)
    kept: list[Factors] = [() if p in chosen else g for p, g in enumerate(factors)]
    left = tuple(kept if keepdims else [g for p, g in enumerate(kept) if p not in chosen])
    whole = array if all(len(g) == 1 for g in left) else None
    return Traced(left, lambda c: array[tuple(c)], dtype, whole)


def summed(r: tuple[Index, ...], x: Expression) -> Expression:
    """Σ over indices, or the element itself where there are none."""
    return te.sum(r, x) if r else x


def largest(r: tuple[Index, ...], x: Expression) -> Expression:
    """The largest over indices, or the element itself where there are none."""
    return te.max(r, x) if r else x


def count(x: Traced, over: Sequence[int]) -> Affine:
    """The number of points of some axes."""
    return product(x.extents[a] for a in over)


__all__ = [
    "Out", "Symbols", "TORCH", "TYPES", "Value", "axes", "contract", "converted", "count", "known",
    "largest", "number", "operand", "promoted", "real", "summed", "torch", "type_name", "working",
]  # fmt: skip
