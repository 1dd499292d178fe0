"""What the expressions of a launched kernel mean for the threads of one warp group at once.

A value that threads differ in is an array of one element per thread (a vector of n lanes: n rows of them); one that
they share may also be a scalar. Floats of 32 bits and less are held as float32 on the grid of their type.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeAlias

import numpy as np

from tang_egg import ops
from tang_egg.codegen.kernel import (
    Buffer,
    Build,
    Call,
    Expr,
    Form,
    Lane,
    Literal,
    Load,
    Select,
    Var,
    element,
    lanes,
)
from tang_egg.errors import CodegenError
from tang_egg.ops_eight import EIGHT

Array: TypeAlias = "np.ndarray[Any, Any]"

_FLOAT: dict[str, Any] = {"f16": np.float32, "bf16": np.float32, "tf32": np.float32, "f32": np.float32}
_FLOAT |= dict.fromkeys(EIGHT, np.float32)

_EXTRA: dict[str, Any] = {
    "exp2": np.exp2,
    "log2": np.log2,
    "fma": lambda a, b, c: np.multiply(a, b, dtype=np.float64) + c,
    "fast_recip": lambda x: np.divide(1.0, x),
    "quick_one_plus_erf": lambda x: np.add(1.0, ops.find("erf").meaning(x)),
    "fast_max": np.fmax,
    "fast_min": np.fmin,
    "round_tf32": lambda x: round_tf32(x, nearest=True),
    "udiv": np.floor_divide,
    "umod": np.remainder,
}
"""Operations of launched kernels that are not primitives of the language."""


def held(type: str) -> Any:
    """The NumPy type of the elements of a type."""
    base = element(type)
    return _FLOAT.get(base) or (np.float64 if base == "f64" else ops.numpy_type(base))


def typed(x: Any, type: str) -> Any:
    """`x` on the grid of a type."""
    base = element(type)
    if base == "bf16" or base in EIGHT:
        return ops.cast_value(x, base, "real").astype(np.float32)
    if base == "f16":
        return np.asarray(x).astype(np.float16).astype(np.float32)
    if base == "i64" and isinstance(x, int):
        return x
    kind = held(base)
    value = np.asarray(x)
    return value if value.dtype == kind else value.astype(kind)


def round_tf32(x: Array, nearest: bool) -> Array:
    """f32 on the grid of tf32, 10 bits after the point: to the nearest, or cut off as products do."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    if nearest:
        bits = bits + 0xFFF + (bits >> 13 & 1)
    kept = (bits & 0xFFFFE000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), np.float32(np.nan), kept)


def blank(shape: tuple[int, ...], type: str) -> Array:
    """Memory that was never written: NaN, or 77, so that reading it shows."""
    kind = held(type)
    return np.full(shape, np.nan if np.issubdtype(kind, np.floating) else 77).astype(kind)


def scalar(x: Any) -> bool:
    """Whether a value is a scalar, the same for all threads."""
    return not isinstance(x, np.ndarray) or x.ndim == 0


class Lanes:
    """Variables, registers and memory as `width` threads see them; `mask` says which of them run (None: all)."""

    def __init__(self, who: str, width: int, values: dict[str, Any], memory: dict[str, Array]) -> None:
        self.who, self.width, self.values, self.memory = who, width, values, memory
        self.registers: dict[str, Array] = {}
        self.mask: Array | None = None

    def fault(self, what: str, mend: str = "report the kernel with the sizes that it ran on") -> NoReturn:
        raise CodegenError(what, where=f"running a kernel: {self.who}", mend=mend)

    # -- which threads ------------------------------------------------------------------------------------------------

    def active(self) -> Array:
        return np.ones(self.width, np.bool_) if self.mask is None else self.mask

    def uniform(self, e: Expr, what: str) -> int:
        """The value of an expression that all running threads must share."""
        x = self.expr(e)
        if scalar(x):
            return int(x)
        seen = np.asarray(x)[self.active()]
        if (seen != seen[0]).any():
            self.fault(f"threads of one warp group differ in {what}")
        return int(seen[0])

    def spread(self, x: Any) -> Array:
        return np.broadcast_to(x, (self.width,))

    # -- memory -------------------------------------------------------------------------------------------------------

    def touch(self, name: str, stored: bool) -> None:
        """Called before a register array is read or written."""

    def declare(self, b: Buffer) -> None:
        size = b.size.evaluate(self.values)
        shape = (size, self.width) if lanes(b.type) == 1 else (size, lanes(b.type), self.width)
        self.registers[b.name] = blank(shape, b.type)

    def inside(self, name: str, size: int, place: Any, count: int) -> None:
        if scalar(place):
            if 0 <= place <= size - count:
                return
            self.fault(f"element {int(place)} of '{name}', which has {size}")
        running = place[self.active()]
        wrong = running[(running < 0) | (running > size - count)]
        if wrong.size:
            self.fault(f"element {int(wrong[0])} of '{name}', which has {size}")

    def load(self, e: Load) -> Any:
        place, name = self.expr(e.index), e.buffer.name
        n = lanes(e.type) // lanes(e.buffer.type)
        if name in self.registers:
            self.touch(name, False)
            held_here = self.registers[name]
            self.inside(name, len(held_here), place, n)
            if scalar(place):
                return held_here[int(place)].copy() if n == 1 else held_here[int(place) : int(place) + n].copy()
            safe = np.clip(place, 0, len(held_here) - n)
            rows = [held_here[safe + k, ..., np.arange(self.width)].T for k in range(n)]
            return rows[0] if n == 1 else np.stack(rows)
        memory = self.find(e.buffer)
        self.inside(name, len(memory), place, n)
        safe = np.clip(place, 0, max(0, len(memory) - n))
        if n == 1:
            return memory[safe]
        return np.stack([self.spread(memory[safe + k]) for k in range(n)])

    def find(self, b: Buffer) -> Array:
        if b.name not in self.memory:
            self.fault(f"'{b.name}' has no memory here", "declare it, or give its array to run_device")
        return self.memory[b.name]

    def store(self, b: Buffer, index: Expr, value: Expr) -> None:
        place, x = self.expr(index), typed(self.expr(value), b.type)
        n = lanes(value.type) // lanes(b.type)
        if b.name in self.registers:
            self.touch(b.name, True)
            kept = self.registers[b.name]
            self.inside(b.name, len(kept), place, n)
            for k in range(n):
                part = x if n == 1 else x[k]
                if scalar(place):
                    row = int(place) + k
                    kept[row] = part if self.mask is None else np.where(self.mask, part, kept[row])
                else:
                    on = np.flatnonzero(self.active())
                    kept[place[on] + k, ..., on] = np.broadcast_to(part, (*kept.shape[1:-1], self.width))[..., on].T
            return
        memory, on = self.find(b), self.active()
        self.inside(b.name, len(memory), place, n)
        where = self.spread(place)[on]
        for k in range(n):
            part = self.spread(x if n == 1 else x[k])[on].astype(memory.dtype)
            memory[where + k] = part
            if not np.array_equal(memory[where + k], part, equal_nan=part.dtype.kind == "f"):
                self.fault(f"threads store different values to one element of '{b.name}'")

    # -- expressions --------------------------------------------------------------------------------------------------

    def expr(self, e: Expr) -> Any:
        if isinstance(e, Var):
            return self.values[e.name]
        if isinstance(e, Literal):
            return typed(e.value, e.type)
        if isinstance(e, Form):
            return e.form.evaluate(self.values)
        if isinstance(e, Load):
            return self.load(e)
        if isinstance(e, Call):
            return self.call(e)
        if isinstance(e, Select):
            return self.select(e)
        if isinstance(e, Build):
            return typed(np.stack([self.spread(self.expr(x)) for x in e.items]), e.type)
        assert isinstance(e, Lane)
        return self.expr(e.vector)[e.n]

    def select(self, e: Select) -> Any:
        condition = self.expr(e.condition)
        if scalar(condition):
            return self.expr(e.yes if condition else e.no)
        mask, active = self.mask, self.active()
        self.mask = active & condition
        yes = self.expr(e.yes)
        self.mask = active & ~condition
        no = self.expr(e.no)
        self.mask = mask
        return np.where(condition, yes, no)

    def call(self, e: Call) -> Any:
        args = tuple(self.expr(a) for a in e.args)
        if e.op == "shuffle_xor":
            return self.shuffle(args[0], int(args[1]))
        if e.op == "any_warp":
            if self.width == 1:
                return args[0]
            votes = (self.spread(args[0]) & self.active()).reshape(-1, 32).any(axis=1)
            return np.repeat(votes, 32)
        if e.op == "max_warp":
            return self.largest(args[0])
        if e.op in _EXTRA:
            return typed(_EXTRA[e.op](*args), e.type)
        types = tuple("real" if element(a.type) in (*ops.FLOATS, "tf32") else element(a.type) for a in e.args)
        if e.op == "cast":
            return typed(ops.cast_value(args[0], element(e.type), types[0]), e.type)
        if e.op == "bits":
            return typed(ops.apply(f"bits:{e.type}", args, types), e.type)
        if e.op in ("shl", "shr"):
            return typed(ops.apply(e.op, args, types), e.type)
        return typed(ops.find(e.op).meaning(*args), e.type)

    def largest(self, x: Any) -> Any:
        if self.width == 1 or (self.mask is not None and not self.mask.all()):
            self.fault("a maximum over a warp that not all of its threads take part in")
        return np.repeat(self.spread(x).reshape(-1, 32).max(axis=1), 32)

    def shuffle(self, x: Any, mask: int) -> Any:
        if self.width == 1 or (self.mask is not None and not self.mask.all()) or not 0 < mask < 32:
            self.fault("a shuffle that not all threads of the warp take part in, or beyond the warp")
        return self.spread(x)[np.arange(self.width) ^ mask]
