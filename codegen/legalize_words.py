"""A pass for languages whose memory and scalars are 32-bit words: small types are packed in memory, widened elsewhere.

    values     bool | f32 | i32 | u32 | i64 | u64        i8, i16 in i32; u8, u16 in u32; f16, bf16 as bits in u32
    memory     array of 32-bit words; an element of 8 or 16 bits is a part of one, the first in the low bits
    load       unpack_T(word, element)                   the part, sign and all
    store      Merge(words, element, bits, width)        a part of a word that other threads may write other parts of
               or, where words cannot be changed in parts, one whole word for each element ("loose")

Arithmetic of small integers wraps after each operation that may leave the type. f64 is refused.
Run it after legalize_wide.explicit_wide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tang_egg.affine import Affine
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
    Store,
    Var,
    number,
)
from tang_egg.codegen.legalize import rebuilt
from tang_egg.errors import CodegenError
from tang_egg.ops_eight import EIGHT

PACKED = {"f16": 16, "bf16": 16, "i16": 16, "u16": 16, "i8": 8, "u8": 8, "bool": 8}
"""Bits of the types that share a word with others."""
ATOMIC = "atomic"
"""The type of a buffer of words whose parts are written by different threads."""
_HELD = {"f16": "u32", "bf16": "u32", "u8": "u32", "u16": "u32", "i8": "i32", "i16": "i32", "int": "i32"}
_MAY_LEAVE = frozenset(("add", "mul", "neg", "shl", "idiv"))


@dataclass(frozen=True, slots=True)
class Merge:
    """Element `index` of a buffer of words becomes `value`, `bits` wide; the rest of its word stays."""

    buffer: Buffer
    index: Expr
    value: Expr
    bits: int


def held(type: str) -> str:
    """The type that a value has outside memory."""
    return _HELD.get(type, type)


def to_words(kernel: Kernel, loose: bool = False) -> Kernel:
    """The kernel on words. `loose`: stores of small types take a word each instead of merging parts.

    Raises CodegenError for f64.
    """
    return _Words(kernel, loose).run()


class _Words:
    """`buffers`: the words of each array."""

    def __init__(self, kernel: Kernel, loose: bool) -> None:
        self.kernel, self.loose = kernel, loose

    def run(self) -> Kernel:
        buffers = tuple(self.buffer(b) for b in self.kernel.buffers)
        body = rebuilt(self.kernel.body, self.change)
        scratch = tuple(self.buffer(b) for b in self.kernel.scratch)
        return replace(self.kernel, buffers=buffers, body=body, scratch=scratch)

    def buffer(self, b: Buffer) -> Buffer:
        self.refuse(b.type)
        if b.space != "global" or b.type not in PACKED:
            return replace(b, type=held(b.type))
        if self.loose and b.role == "output":
            return replace(b, type="u32")
        return replace(b, type=ATOMIC if b.role == "output" else "u32")

    def refuse(self, type: str) -> None:
        if type == "f64":
            raise CodegenError(
                f"kernel '{self.kernel.name}' computes in f64, which the words of this target do not hold",
                where="legalisation to 32-bit words",
                mend="declare the tensors as f32, or use a target that has f64: c or cuda",
            )
        if type in EIGHT:
            raise CodegenError(
                f"kernel '{self.kernel.name}' has 8-bit floats, which the words of this target do not hold",
                where=f"legalisation to 32-bit words, of {type}",
                mend="store f16 or bf16 instead, or use target='c' or 'cuda'",
            )

    # -- statements

    def change(self, x: Any) -> Any:
        if isinstance(x, (Affine, Buffer)):
            return self.buffer(x) if isinstance(x, Buffer) else x
        if isinstance(x, Declare):
            return Declare(self.buffer(x.buffer))
        if isinstance(x, (Let, Assign)):
            return replace(x, value=self.expr(x.value))
        if isinstance(x, Store):
            return self.store(x)
        if isinstance(x, Loop):
            start, stop = self.expr(x.start), self.expr(x.stop)
            return replace(x, start=start, stop=stop, body=rebuilt(x.body, self.change))
        if isinstance(x, If):
            then, otherwise = rebuilt(x.then, self.change), rebuilt(x.otherwise, self.change)
            return If(self.expr(x.condition), then, otherwise)
        return None

    def store(self, s: Store) -> Any:
        index, value, words = self.expr(s.index), self.expr(s.value), self.buffer(s.buffer)
        if s.buffer.space != "global" or s.buffer.type not in PACKED:
            return Store(words, index, value)
        bits = value if value.type == "u32" else Call("cast", (value,), "u32")
        return Store(words, index, bits) if self.loose else Merge(words, index, bits, PACKED[s.buffer.type])

    # -- expressions

    def expr(self, e: Expr) -> Expr:
        self.refuse(e.type)
        if isinstance(e, (Var, Form)):
            return replace(e, type=held(e.type))
        if isinstance(e, Literal):
            return self.literal(e)
        if isinstance(e, Load):
            return self.load(e)
        if isinstance(e, Select):
            return Select(self.expr(e.condition), self.expr(e.yes), self.expr(e.no), held(e.type))
        assert isinstance(e, Call), "there are no vectors here"
        if e.op == "cast":
            return self.cast(e.args[0], e.type)
        if e.op == "bits":
            return self.bits(e.args[0], e.type)
        return self.operation(e)

    def literal(self, e: Literal) -> Literal:
        if e.type == "f16":
            with np.errstate(over="ignore"):
                return Literal(int(np.float16(e.value).view(np.uint16)), "u32")
        if e.type == "bf16":
            word = int(np.float32(e.value).view(np.uint32))
            quiet = (word >> 16) | 0x40 if word & 0x7FFFFFFF > 0x7F800000 else (word + 0x7FFF + (word >> 16 & 1)) >> 16
            return Literal(quiet & 0xFFFF, "u32")
        return replace(e, type=held(e.type))

    def load(self, e: Load) -> Expr:
        index, words = self.expr(e.index), self.buffer(e.buffer)
        kind = e.buffer.type
        if e.buffer.space != "global" or kind not in PACKED:
            return Load(words, index, held(kind), e.safe)
        if self.loose and e.buffer.role == "output":
            loaded = Load(words, index, "u32", e.safe)
            if kind == "bool":
                return Call("nonzero", (loaded,), "bool")
            return loaded if held(kind) == "u32" else Call("cast", (loaded,), "i32")
        part = Call("word_of", (index, number_of(32 // PACKED[kind])), "i32")
        return Call(f"unpack_{kind}", (Load(words, part, "u32", e.safe), index), held(kind))

    def operation(self, e: Call) -> Expr:
        args = tuple(self.expr(a) for a in e.args)
        kind = e.args[0].type if e.type == "bool" else e.type
        if e.op in ("shl", "shr") and kind in PACKED:
            args = (args[0], Call("bitand", (args[1], Literal(PACKED[kind] - 1, args[1].type)), args[1].type))
        made = Call(e.op, args, held(e.type))
        return wrapped(made, e.type) if e.op in _MAY_LEAVE else made

    def cast(self, x: Expr, to: str) -> Expr:
        source, value = x.type, self.expr(x)
        if source == to or (held(source) == held(to) == "i32" and to in ("int", "i32")):
            return value
        if source in ("f16", "bf16"):
            value, source = Call(f"of_{source}", (value,), "f32"), "f32"
            if to == "f32":
                return value
        if to in ("f16", "bf16"):
            wide = value if source == "f32" else Call("cast", (value,), "f32")
            return Call(f"to_{to}", (wide,), "u32")
        if to == "bool":
            return Call("nonzero", (value,), "bool")
        if source == "f32" and to not in ("i64", "u64"):
            value, source = Call("whole", (value,), "i32"), "i32"
        if value.type != held(to):
            value = Call("cast", (value,), held(to))
        return value if source == "bool" or _within(source, to) else wrapped(value, to)

    def bits(self, x: Expr, to: str) -> Expr:
        source, value = x.type, self.expr(x)
        if source == to:
            return value
        if to == "bool":
            return Call("nonzero", (value,), "bool")
        if "f32" in (source, to):
            return Call("bits", (value,), held(to))
        if value.type != held(to):
            value = Call("cast", (value,), held(to))
        return wrapped(value, "u16" if to in ("f16", "bf16") else to)


def number_of(value: int) -> Expr:
    """An i32 constant."""
    return replace(number(value), type="i32")


def wrapped(value: Expr, type: str) -> Expr:
    """A value brought back into a small integer type; others as they are."""
    if type in ("i8", "i16"):
        return Call(f"sign{PACKED[type]}", (value,), "i32")
    if type in ("u8", "u16"):
        return Call("bitand", (value, Literal((1 << PACKED[type]) - 1, "u32")), "u32")
    return value


def _within(source: str, to: str) -> bool:
    """Whether every value of a small integer type is one of another."""
    if source not in PACKED or to not in PACKED or source[0] in "fb" or to[0] in "fb":
        return to not in PACKED
    if source[0] == to[0]:
        return PACKED[source] <= PACKED[to]
    return source[0] == "u" and PACKED[source] < PACKED[to]
