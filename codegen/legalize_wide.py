"""Passes that make 64-bit integers explicit, for languages that have none or that convert nothing by themselves.

`plain_loops`      vector and unrolled loops become serial ones, or short ones to be written out: each thread works on
                   scalars
`write_out`        the last pass: loops that are to be written out become copies of their body
`one_warp`         in blocks of one warp its number is 0, so that a compiler sees that all threads go the same way
`explicit_wide`    after legalize.narrow_indices: every operation has operands of one type, addresses, bounds and
                   sizes are 32 bits ("int"), and no affine form holds a variable of 64 bits
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tang_egg.affine import Affine
from tang_egg.codegen.kernel import (
    Assign,
    Buffer,
    Call,
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
    number,
    statements,
)
from tang_egg.codegen.legalize import rebuilt

WIDE = frozenset(("i64", "u64"))
"""Integers of 64 bits."""
_WARP = 32
_TURNS = 8
"""Turns up to which a loop of kind `vector` or `unrolled` is written out."""
_STATEMENTS = 48
"""Statements that one such loop may become."""
_INDEX = frozenset(("int", "i64"))
"""Types of positions; the language of the kernel IR lets them meet in one operation."""


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """Copies of a body, each in a block of its own, where `var` is one of `values`.

    Languages without a hint for it leave loops rolled, and arrays that are indexed by them in memory.
    """

    var: str
    values: tuple[int, ...]
    body: tuple[Stmt, ...]


def plain_loops(kernel: Kernel) -> Kernel:
    """Loops of kind `vector` and `unrolled` become serial, short ones of kind "written"."""

    def change(x: Any) -> Any:
        if isinstance(x, Loop) and x.kind in ("vector", "unrolled"):
            body = rebuilt(x.body, change)
            turns = _turns(x)
            short = turns is not None and turns <= _TURNS and turns * _size(body) <= _STATEMENTS
            return replace(x, kind="written" if short else "serial", body=body)
        return None

    return rebuilt(kernel, change)


def write_out(kernel: Kernel) -> Kernel:
    """Loops of kind "written" become copies of their body."""

    def change(x: Any) -> Any:
        if isinstance(x, Loop) and x.kind == "written":
            assert isinstance(x.start, Form) and isinstance(x.stop, Form), "plain_loops knows their bounds"
            values = tuple(range(x.start.form.value or 0, x.stop.form.value or 0, x.step))
            return WrittenOut(x.var, values, rebuilt(x.body, change))
        return None

    return rebuilt(kernel, change)


def _turns(x: Loop) -> int | None:
    """The turns of a loop with constant bounds."""
    if not isinstance(x.start, Form) or not isinstance(x.stop, Form):
        return None
    start, stop = x.start.form.value, x.stop.form.value
    return None if start is None or stop is None else max(0, -(-(stop - start) // x.step))


def _size(body: tuple[Stmt, ...]) -> int:
    """The statements of a body, those of loops to be written out once for each copy."""
    total = 0
    for s in body:
        if isinstance(s, Loop):
            total += _size(s.body) * ((_turns(s) or 0) if s.kind == "written" else 1)
        elif isinstance(s, If):
            total += 1 + _size(s.then) + _size(s.otherwise)
        else:
            total += 1
    return total


def one_warp(kernel: Kernel) -> Kernel:
    """A block of 32 threads has one warp: thread div 32 is 0."""
    if kernel.launch is None or kernel.launch.threads != _WARP:
        return kernel

    def change(x: Any) -> Any:
        if isinstance(x, Call) and x.op == "udiv" and x.args == (Var("thread", "i64"), number(_WARP)):
            return number(0)
        return None

    return rebuilt(kernel, change)


def explicit_wide(kernel: Kernel) -> Kernel:
    """The kernel with a cast wherever a position of one width meets the other."""
    wide = {s.name for s in statements(kernel.body) if isinstance(s, (Let, Assign)) and s.value.type == "i64"}
    return _Explicit(wide).kernel(kernel)


class _Explicit:
    """`wide`: variables of 64 bits."""

    def __init__(self, wide: set[str]) -> None:
        self.wide = wide

    def kernel(self, kernel: Kernel) -> Kernel:
        return replace(kernel, body=rebuilt(kernel.body, self.change))

    def change(self, x: Any) -> Any:
        if isinstance(x, (Buffer, Affine)):
            return x
        if isinstance(x, (Let, Assign)):
            return replace(x, value=self.as_type(x.value, x.value.type))
        if isinstance(x, Store):
            value = self.as_type(x.value, "i64" if x.buffer.type == "i64" and x.value.type == "int" else x.value.type)
            return replace(x, index=self.as_type(x.index, "int"), value=value)
        if isinstance(x, Loop):
            start, stop = self.as_type(x.start, "int"), self.as_type(x.stop, "int")
            return replace(x, start=start, stop=stop, body=rebuilt(x.body, self.change))
        if isinstance(x, (Var, Literal, Form, Load, Call, Select)):
            return self.expr(x)
        return None

    def as_type(self, e: Expr, type: str) -> Expr:
        """An expression as a position of 32 or 64 bits, or of the type that it has."""
        e = self.expr(e)
        if e.type == type or e.type not in _INDEX or type not in _INDEX:
            return e
        if isinstance(e, Literal):
            return replace(e, type=type)
        return Call("cast", (e,), type)

    def expr(self, e: Expr) -> Expr:
        if isinstance(e, Form):
            return self.form(e)
        if isinstance(e, Load):
            return replace(e, index=self.as_type(e.index, "int"))
        if isinstance(e, Select):
            yes, no = self.expr(e.yes), self.expr(e.no)
            kind = "i64" if yes.type != no.type and {yes.type, no.type} == _INDEX else yes.type
            return Select(self.expr(e.condition), self.as_type(yes, kind), self.as_type(no, kind), kind)
        if isinstance(e, Call):
            return self.call(e)
        return e

    def call(self, e: Call) -> Expr:
        args = tuple(self.expr(a) for a in e.args)
        if e.op in ("cast", "bits"):
            return args[0] if args[0].type == e.type else replace(e, args=args)
        kind = e.type
        if "i64" in (a.type for a in args) and all(a.type in _INDEX for a in args):
            args = tuple(self.as_type(a, "i64") for a in args)
        if e.type in _INDEX and all(a.type in _INDEX for a in args):
            kind = args[0].type
        return replace(e, args=args, type=kind)

    def form(self, e: Form) -> Expr:
        """An affine form; with a variable of 64 bits in it, a sum of products in 64 bits."""
        if not any(d.name in self.wide for d in e.form.dims()):
            return replace(e, type="int")
        total: Expr | None = None
        for monomial, coefficient in e.form.terms:
            term: Expr | None = None if coefficient == 1 and monomial else Literal(coefficient, "i64")
            for atom in monomial:
                factor = Var(atom.name, "i64" if atom.name in self.wide else "int")
                held = self.as_type(factor, "i64")
                term = held if term is None else Call("mul", (term, held), "i64")
            assert term is not None
            total = term if total is None else Call("add", (total, term), "i64")
        assert total is not None, "a form with a variable has a term"
        return total
