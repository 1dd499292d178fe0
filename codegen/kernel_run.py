"""What a kernel means: a slow interpreter of the kernel IR on NumPy arrays, for tests.

Runs lowered kernels (before vectors and registers are formed), loops of every kind in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tang_egg import ops
from tang_egg.codegen.kernel import (
    Assign,
    Buffer,
    Call,
    Declare,
    Expr,
    Form,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Select,
    Stmt,
    Store,
    Var,
)
from tang_egg.errors import CodegenError
from tang_egg.ops_eight import EIGHT

_FLOAT: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": np.float32}
_FLOAT |= dict.fromkeys(EIGHT, np.float32)

UNSIGNED = {"udiv": "idiv", "umod": "imod"}
"""Operations on numbers that are never negative, and what they are on all numbers."""


BITS: dict[str, Any] = {
    "which": lambda *each: np.uint64(sum(int(x > 0) << n for n, x in enumerate(each))).astype(np.int64),
    "count": lambda x: (int(x) % 2**64).bit_count(),
    "lowest": lambda x: (int(x) & -int(x)).bit_length() - 1,
    "rest": lambda x: x & (int(x) - 1 if x > -(2**63) else 0),
}
"""Sets of up to 64 points as bits: those of some values above 0, how many there are, the first, all but the first."""


def run_kernel(kernel: Kernel, arrays: Mapping[str, np.ndarray[Any, Any]], dims: Mapping[str, int]) -> None:
    """Runs a kernel on flat arrays by buffer name; outputs are written in place. bf16 arrays hold float32 values."""
    _Machine(dict(arrays), dict(dims)).block(kernel.body)


class _Machine:
    def __init__(self, arrays: dict[str, np.ndarray[Any, Any]], values: dict[str, Any]) -> None:
        self.arrays, self.values = arrays, values

    def block(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: Stmt) -> None:
        if isinstance(s, (Let, Assign)):
            self.values[s.name] = self.expr(s.value)
        elif isinstance(s, Declare):
            # filled with the bit pattern of NaN (or 77), so that reading what was never stored shows
            kind = held(s.buffer)
            rest = np.nan if np.issubdtype(kind, np.floating) else 77
            self.arrays[s.buffer.name] = np.full(s.buffer.size.evaluate(self.values), rest).astype(kind)
        elif isinstance(s, Store):
            self.arrays[s.buffer.name][self.address(s.buffer, s.index)] = self.expr(s.value)
        elif isinstance(s, If):
            self.block(s.then if self.expr(s.condition) else s.otherwise)
        elif isinstance(s, Loop):
            for n in range(int(self.expr(s.start)), int(self.expr(s.stop)), s.step):
                self.values[s.var] = n
                self.block(s.body)

    def address(self, buffer: Buffer, index: Expr) -> int:
        place = int(self.expr(index))
        if not 0 <= place < len(self.arrays[buffer.name]):
            raise CodegenError(
                f"element {place} of '{buffer.name}', which has {len(self.arrays[buffer.name])}",
                where="running a kernel",
                mend="report the kernel: it reads or writes out of bounds",
            )
        return place

    def expr(self, e: Expr) -> Any:
        if isinstance(e, Literal):
            return _typed(e.value, e.type)
        if isinstance(e, Var):
            return self.values[e.name]
        if isinstance(e, Form):
            return e.form.evaluate(self.values)
        if isinstance(e, Load):
            return self.arrays[e.buffer.name][self.address(e.buffer, e.index)]
        if isinstance(e, Select):
            return self.expr(e.yes if self.expr(e.condition) else e.no)
        assert isinstance(e, Call), "vectors are formed after this stage"
        args = tuple(self.expr(a) for a in e.args)
        types = tuple("real" if a.type in ops.FLOATS else a.type for a in e.args)
        if e.op in BITS:
            return _typed(BITS[e.op](*args), e.type)
        with np.errstate(all="ignore"):
            if e.op == "cast":
                return _typed(ops.cast_value(args[0], e.type, types[0]), e.type)
            if e.op == "bits":
                return _typed(ops.apply(f"bits:{e.type}", args, types), e.type)
            op = UNSIGNED.get(e.op, e.op)
            typed = tuple(_typed(x, a.type) for x, a in zip(args, e.args, strict=True))
            return _typed(ops.apply(op, typed, types), e.type)


def held(buffer: Buffer) -> Any:
    """The NumPy type in which this interpreter keeps the elements of a buffer."""
    return _FLOAT.get(buffer.type) or ops.numpy_type(buffer.type)


def _typed(x: Any, type: str) -> Any:
    kind = _FLOAT.get(type) or ops.numpy_type(type)
    return np.asarray(x).astype(kind)[()]
