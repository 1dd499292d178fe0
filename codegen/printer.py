"""Prints a legalised kernel in the language that a dialect's table describes. It never asks which dialect it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tang_egg.affine import Affine
from tang_egg.codegen.kernel import (
    Assign,
    Barrier,
    Buffer,
    Build,
    Call,
    Declare,
    Expr,
    Form,
    If,
    Kernel,
    Lane,
    Let,
    Literal,
    Load,
    Loop,
    Select,
    Stmt,
    Store,
    Var,
    element,
    lanes,
)
from tang_egg.errors import CodegenError


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a language spells the kernel IR. Templates are `str.format` texts; {0}, {1} ... are operands.

    `types`: spelling of element types. `ops`: spelling by "op:type", else by "op". `loops`: heads by loop kind;
    those of "known parallel" are for parallel loops whose work is a constant.
    `signature`: a kernel to the lines that open the function. `device`: what prints a statement of codegen/device.py,
    by its class; empty where there are no such statements.
    """

    name: str
    types: Callable[[str], str]
    ops: dict[str, str]
    literal: Callable[[float | int | bool, str], str]
    load: Callable[[Buffer, str, str], str]
    store: Callable[[Buffer, str, str, str], str]
    declare: Callable[[Buffer, str], str]
    build: Callable[[tuple[str, ...], str], str]
    lane: str
    select: str
    vector_select: str
    let: str
    assign: str
    loops: dict[str, tuple[str, ...]]
    barrier: str
    signature: Callable[[Kernel], list[str]]
    load_where: str = ""  # type, buffer, index, mask: some lanes of a vector in memory, 0 in the others
    comment: str = "// {0}"
    first: str = ""  # the first assignment of a register; empty: the type before `assign`
    passes: tuple[Callable[[Kernel], Kernel], ...] = field(default=())
    device: dict[type, Callable[[Any, Printer], None]] = field(default_factory=dict)


def print_kernel(kernel: Kernel, dialect: Dialect) -> str:
    """The text of one function, after the dialect's passes have made the kernel legal for it."""
    for legalise in dialect.passes:
        kernel = legalise(kernel)
    return Printer(dialect, kernel).text()


class Printer:
    """The lines of one function; what a dialect's spelling of a statement gets to emit lines and print expressions."""

    def __init__(self, dialect: Dialect, kernel: Kernel) -> None:
        self.dialect, self.kernel = dialect, kernel
        self.lines: list[str] = []
        self.depth = 0

    def emit(self, line: str) -> None:
        """Appends a line at the present depth."""
        self.lines.append("    " * self.depth + line if not line.startswith("#") else line)

    def text(self) -> str:
        """The whole function."""
        for note in self.kernel.note:
            self.emit(self.dialect.comment.format(note))
        first, *rest = self.dialect.signature(self.kernel)
        self.emit(first)
        self.depth += 1
        for line in rest:
            self.emit(line)
        self.block(self.kernel.body)
        self.depth -= 1
        self.emit("}")
        return "\n".join(self.lines) + "\n"

    def block(self, body: tuple[Stmt, ...]) -> None:
        """Prints statements in order."""
        for s in body:
            self.statement(s)

    def statement(self, s: Stmt) -> None:
        """Prints one statement."""
        d = self.dialect
        if isinstance(s, Let):
            self.emit(d.let.format(d.types(s.value.type), s.name, self.expr(s.value)))
        elif isinstance(s, Assign):
            text = d.assign if not s.first else d.first or "{0} " + d.assign
            self.emit(text.format(d.types(s.value.type), s.name, self.expr(s.value)))
        elif isinstance(s, Declare):
            self.emit(d.declare(s.buffer, form_text(s.buffer.size)))
        elif isinstance(s, Store):
            self.emit(d.store(s.buffer, self.expr(s.index), self.expr(s.value), s.value.type))
        elif isinstance(s, Loop):
            self.loop(s)
        elif isinstance(s, If):
            self.emit(f"if ({_bare(self.expr(s.condition))}) {{")
            self.nested(s.then)
            if s.otherwise:
                self.emit("} else {")
                self.nested(s.otherwise)
            self.emit("}")
        elif isinstance(s, Barrier):
            self.emit(d.barrier)
        elif type(s) in d.device:
            d.device[type(s)](s, self)
        else:
            raise CodegenError(
                f"{d.name} has no spelling of the statement {type(s).__name__}",
                where="the dialect's table of device statements",
                mend="print this kernel in a dialect of a chip that has such statements",
            )

    def loop(self, s: Loop) -> None:
        """Prints a loop with the heads that the dialect has for its kind."""
        start, stop = self.expr(s.start), self.expr(s.stop)
        step = f"{s.var}++" if s.step == 1 else f"{s.var} += {s.step}"
        work, words = form_text(s.work) if s.work is not None else "1", self.kernel.words
        if s.kind not in self.dialect.loops:
            raise CodegenError(
                f"{self.dialect.name} has no spelling of a loop of kind '{s.kind}'",
                where=f"the loop over '{s.var}'",
                mend="run a pass that turns it into a kind of the dialect's table first",
            )
        known = f"known {s.kind}" if s.work is not None and s.work.value is not None else s.kind
        for head in self.dialect.loops.get(known, self.dialect.loops[s.kind]):
            self.emit(head.format(var=s.var, start=start, stop=stop, step=step, by=s.step, work=work, words=words))
        self.nested(s.body)
        self.emit("}")

    def nested(self, body: tuple[Stmt, ...]) -> None:
        """Prints statements one level deeper."""
        self.depth += 1
        self.block(body)
        self.depth -= 1

    def expr(self, e: Expr) -> str:
        """The text of an expression."""
        d = self.dialect
        if isinstance(e, Var):
            return e.name
        if isinstance(e, Literal):
            return d.literal(e.value, e.type)
        if isinstance(e, Form):
            return form_text(e.form)
        if isinstance(e, Load):
            if e.where is not None:
                return d.load_where.format(e.type, e.buffer.name, self.expr(e.index), self.expr(e.where))
            return d.load(e.buffer, self.expr(e.index), e.type)
        if isinstance(e, Select):
            text = d.select if lanes(e.condition.type) == 1 else d.vector_select
            return text.format(self.expr(e.condition), self.expr(e.yes), self.expr(e.no), d.types(e.type), e.type)
        if isinstance(e, Build):
            return d.build(tuple(self.expr(x) for x in e.items), e.type)
        if isinstance(e, Lane):
            return d.lane.format(self.expr(e.vector), e.n, element(e.vector.type))
        return self.call(e)

    def call(self, e: Call) -> str:
        """The text of an operation, by the first key of the dialect's table that fits."""
        args = [self.expr(a) for a in e.args]
        if e.op == "cast" and isinstance(e.args[0], Form) and not args[0].isidentifier() and args[0][0] != "(":
            args[0] = f"({args[0]})"  # a product: casts bind tighter
        if e.op in ("udiv", "umod") and isinstance(e.args[1], Form) and "*" in args[1] and args[1][0] != "(":
            args[1] = f"({args[1]})"  # a product: it would be divided by its first factor only
        source = e.args[0].type
        keys = (
            f"{e.op}:{e.type}:{source}",
            f"{e.op}:{element(e.type)}:{element(source)}{'xn' if lanes(e.type) > 1 else ''}",
            f"{e.op}:{source}",
            f"{e.op}{'xn' if lanes(e.type) > 1 else ''}",
            e.op,
        )
        for key in keys:
            if key in self.dialect.ops:
                types = self.dialect.types
                names = {"type": types(e.type), "held": types(source), "to": e.type, "of": source}
                return self.dialect.ops[key].format(*args, **names)
        raise CodegenError(
            f"{self.dialect.name} has no spelling of '{e.op}' on {source}",
            where="the dialect's table of operations",
            mend="add a row to the table, or a pass that rewrites the operation",
        )


def form_text(form: Affine) -> str:
    """An affine form as an expression of products and sums."""
    text = ""
    for monomial, coefficient in sorted(form.terms, key=lambda t: (not t[0], len(t[0]) == 0)):
        names = "*".join(a.name for a in monomial)
        size = abs(coefficient)
        term = str(size) if not names else names if size == 1 else f"{size}*{names}"
        if not text:
            text = term if coefficient > 0 else f"-{term}"
        else:
            text += f" {'+' if coefficient > 0 else '-'} {term}"
    text = text or "0"
    return text if len(form.terms) < 2 else f"({text})"


def _bare(text: str) -> str:
    """The text without one pair of parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for n, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0 and n < len(text) - 1:
            return text
    return text[1:-1]


def whole_literal(value: int, type: str, types: Mapping[str, str], long: str) -> str:
    """A bool or an integer in a language of the family of C; `long` ends constants of 64 bits."""
    if type == "bool":
        return "true" if value else "false"
    if type == "i64":
        least = f"(-9223372036854775807{long} - 1)"
        return least if value == -(2**63) else f"{value}{long}" if value >= 0 else f"({value}{long})"
    if type == "u64":
        return f"{value}U{long}"
    if type in ("int", "i32"):
        return "(-2147483647 - 1)" if value == -(2**31) else str(value) if value >= 0 else f"({value})"
    return f"(({types[type]}){value})"


def strip(index: str) -> str:
    """An index without the parentheses around all of it, where it has no others."""
    return index[1:-1] if index.startswith("(") and index.endswith(")") and "(" not in index[1:-1] else index
