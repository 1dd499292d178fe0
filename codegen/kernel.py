"""The kernel IR: what a schedule lowers to, and what every dialect prints.

    kernel    ::= Kernel(name, buffers, dims, body, scratch, note)
    buffer    ::= Buffer(name, type, space, size)        space: global | local | scratch | shared | register
    statement ::= Let(name, value)                       an immutable scalar or vector
                | Declare(buffer)                        a local array; its content is undefined
                | Store(buffer, index, value)            a vector value stores consecutive elements
                | Assign(name, value)                    a register: a mutable scalar or vector (first Assign declares)
                | Loop(var, start, stop, step, kind, body)
                | If(condition, then, otherwise)
                | Barrier()
                | Fetch(buffer, index)                   asks for a line of memory that is read later; it may not exist
                | those of codegen/device.py: warp groups, matrix units, bulk copies
    kind      ::= serial | parallel | vector | unrolled  (grid | block | lane on devices)
                | turned                             around a vector loop that copies a block across its lines
    expr      ::= Var(name, type) | Literal(value, type)
                | Form(affine)                           an i64: an affine form whose dims are variables in scope
                | Load(buffer, index, type)              a vector type loads consecutive elements, a mask some
                | Call(op, args, type)                   a primitive of tang_egg.ops; `cast` converts to `type`
                | Select(condition, yes, no)             lazy: only the chosen branch is evaluated
                | Build(items, type)                     a vector from its lanes
                | Lane(vector, n, type)                  one lane of a vector
    type      ::= element type of tang_egg.ops, or one with lanes: f32x8. A vector of bool is a mask: m32x8.

A buffer is one-dimensional; addresses are flattened when lowering. `global` buffers come from the caller, `local`
arrays have constant sizes, `scratch` arrays are slices of a per-thread workspace of the caller's. Loops of kind
`vector`, `turned` and `unrolled` have constant bounds. A `parallel` loop carries nothing from one iteration to the
next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tang_egg.affine import Affine, Dim, affine
from tang_egg.codegen.device import DeviceStmt, Forever, Launch, Roles


@dataclass(frozen=True, slots=True)
class Buffer:
    """A named array of `size` elements; `role` of a global one: "input", "output" or "temporary"."""

    name: str
    type: str
    space: str
    size: Affine
    role: str = ""
    alias: bool = False  # may share memory with another buffer (a donated input and the output written into it)
    stream: bool = False  # vectors are stored, runs of an input are loaded past the caches
    fetch: bool = False  # while a row is read for the last time, the next one is fetched into the caches


@dataclass(frozen=True, slots=True)
class Var:
    """A variable that a statement or a loop has named."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of a type."""

    value: float | int | bool
    type: str


@dataclass(frozen=True, slots=True)
class Form:
    """An affine form over dims and loop variables, an i64."""

    form: Affine
    type: str = "i64"


@dataclass(frozen=True, slots=True)
class Load:
    """`safe`: in bounds whether or not the branch that it stands in is taken. `where`: the lanes read; others are 0."""

    buffer: Buffer
    index: Expr
    type: str
    safe: bool = True
    where: Expr | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A primitive applied to operands."""

    op: str
    args: tuple[Expr, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Select:
    """`yes` where the condition holds, else `no`; only the chosen one is evaluated."""

    condition: Expr
    yes: Expr
    no: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Build:
    """A vector from its lanes."""

    items: tuple[Expr, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a vector."""

    vector: Expr
    n: int
    type: str


Expr: TypeAlias = "Var | Literal | Form | Load | Call | Select | Build | Lane"


@dataclass(frozen=True, slots=True)
class Let:
    """Names an immutable value."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Declare:
    """Makes a local array; its content is undefined."""

    buffer: Buffer


@dataclass(frozen=True, slots=True)
class Store:
    """Writes a value at an index of a buffer; a vector takes consecutive elements."""

    buffer: Buffer
    index: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Assign:
    """Sets a register; the first assignment declares it."""

    name: str
    value: Expr
    first: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """`for var in range(start, stop, step)`; bounds are i64 expressions. `work`: operations per call, for threads."""

    var: str
    start: Expr
    stop: Expr
    step: int
    kind: str
    body: tuple[Stmt, ...]
    work: Affine | None = None


@dataclass(frozen=True, slots=True)
class If:
    """Runs one of two blocks."""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class Barrier:
    """Waits for all threads of a group."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """Asks for the line of memory around an element of a global buffer; nothing happens where there is none."""

    buffer: Buffer
    index: Form


Stmt: TypeAlias = "Let | Declare | Store | Assign | Loop | If | Barrier | Fetch | DeviceStmt"


@dataclass(frozen=True, slots=True)
class Kernel:
    """One function: global buffers, symbolic dims (i64 arguments), statements, and its scratch need per thread.

    `words`: of four bytes, that it reads at least once; 0 where that is not known.
    """

    name: str
    buffers: tuple[Buffer, ...]
    dims: tuple[str, ...]
    body: tuple[Stmt, ...]
    scratch: tuple[Buffer, ...] = ()
    note: tuple[str, ...] = field(default=(), compare=False)
    launch: Launch | None = None
    words: int = 0


LOOP_KINDS = ("serial", "parallel", "vector", "turned", "unrolled", "grid", "block", "lane")
SPACES = ("global", "local", "scratch", "shared", "register")


def element(type: str) -> str:
    """The type of one lane: "f32" of "f32x8"."""
    return type.partition("x")[0]


def lanes(type: str) -> int:
    """The number of lanes of a type; 1 for a scalar."""
    return int(type.partition("x")[2] or 1)


def vector(type: str, n: int) -> str:
    """The vector type of `n` lanes of `type`."""
    return f"{type}x{n}"


def number(value: int) -> Form:
    """An i64 constant."""
    return Form(affine(value))


def variable(name: str) -> Affine:
    """The affine form of an i64 variable."""
    return affine(Dim(name))


def operands(e: Expr) -> tuple[Expr, ...]:
    """The direct operands of an expression."""
    if isinstance(e, Load):
        return (e.index,) if e.where is None else (e.index, e.where)
    if isinstance(e, Call):
        return e.args
    if isinstance(e, Select):
        return (e.condition, e.yes, e.no)
    if isinstance(e, Build):
        return e.items
    if isinstance(e, Lane):
        return (e.vector,)
    return ()


def with_operands(e: Expr, new: tuple[Expr, ...]) -> Expr:
    """The same expression over other operands."""
    if isinstance(e, Load):
        return replace(e, index=new[0]) if e.where is None else replace(e, index=new[0], where=new[1])
    if isinstance(e, Call):
        return replace(e, args=new)
    if isinstance(e, Select):
        return replace(e, condition=new[0], yes=new[1], no=new[2])
    if isinstance(e, Build):
        return replace(e, items=new)
    if isinstance(e, Lane):
        return replace(e, vector=new[0])
    return e


def expressions(s: Stmt) -> tuple[Expr, ...]:
    """The expressions that stand in a statement itself, not those of statements inside it."""
    if isinstance(s, (Let, Assign)):
        return (s.value,)
    if isinstance(s, Store):
        return (s.index, s.value)
    if isinstance(s, Loop):
        return (s.start, s.stop)
    if isinstance(s, If):
        return (s.condition,)
    return ()


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All statements, outer before inner, in order."""
    for s in body:
        yield s
        if isinstance(s, Loop):
            yield from statements(s.body)
        elif isinstance(s, If):
            yield from statements(s.then)
            yield from statements(s.otherwise)
        elif isinstance(s, Forever):
            yield from statements(s.body)
        elif isinstance(s, Roles):
            for role in s.roles:
                yield from statements(role.body)


def subexpressions(e: Expr) -> Iterator[Expr]:
    """`e` and everything below it (shared parts once per use)."""
    yield e
    for x in operands(e):
        yield from subexpressions(x)
