"""Local arrays that are only read and written at constant places become registers.

    float acc[16]; te_store(acc + 8, x); ... te_load(acc + 8)   ->   f32x8 acc_1; acc_1 = x; ... acc_1

An array is taken apart when its accesses cut it into disjoint pieces, each always stored whole; one lane of a piece may
be read alone, and a piece with its lanes one further on, behind the element before it.
"""

from __future__ import annotations

from dataclasses import replace

from tang_egg.affine import affine
from tang_egg.codegen.kernel import (
    Assign,
    Buffer,
    Call,
    Declare,
    Expr,
    Form,
    If,
    Kernel,
    Lane,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
    element,
    expressions,
    lanes,
    operands,
    statements,
    subexpressions,
    vector,
    with_operands,
)

LIMIT = 48
"""Registers that one array may become; larger ones stay in memory."""


def to_registers(kernel: Kernel) -> Kernel:
    """The kernel with small local arrays taken apart into registers."""
    pieces = _pieces(kernel)
    if not pieces:
        return kernel
    return replace(kernel, body=tuple(x for s in kernel.body for x in _statement(s, pieces)))


Pieces = dict[str, dict[int, tuple[str, str]]]
"""By array and element: the register that holds it and the register's type; a register stands at its first element."""


def _pieces(kernel: Kernel) -> Pieces:
    stores: dict[str, set[tuple[int, int]]] = {}
    loads: dict[str, set[tuple[int, int]]] = {}
    arrays: dict[str, Buffer] = {}
    bad: set[str] = set()
    for s in statements(kernel.body):
        if isinstance(s, Declare) and s.buffer.space == "local":
            if s.buffer.name in arrays:
                bad.add(s.buffer.name)
            arrays[s.buffer.name] = s.buffer
        if isinstance(s, Store):
            _note(s.buffer, s.index, s.value.type, stores, bad)
        for e in expressions(s):
            for x in subexpressions(e):
                if isinstance(x, Load):
                    _note(x.buffer, x.index, x.type, loads, bad)
    taken = {b.name for b in kernel.buffers} | set(arrays) | set(kernel.dims)
    found: Pieces = {}
    for name, buffer in arrays.items():
        written = stores.get(name, set())
        if name not in bad and 0 < len(written) <= LIMIT and _cut(written, loads.get(name, set())):
            found[name] = {}
            for start, width in sorted(written):
                register = name if len(written) == 1 else f"{name}_{start}"
                while register in taken and register != name:
                    register += "r"
                taken.add(register)
                found[name][start] = (register, vector(buffer.type, width) if width > 1 else buffer.type)
    return found


def _note(buffer: Buffer, index: Expr, type: str, table: dict[str, set[tuple[int, int]]], bad: set[str]) -> None:
    if isinstance(index, Form) and index.form.value is not None:
        table.setdefault(buffer.name, set()).add((index.form.value, lanes(type)))
    else:
        bad.add(buffer.name)


def _cut(stores: set[tuple[int, int]], loads: set[tuple[int, int]]) -> bool:
    owner: dict[int, int] = {}
    for start, width in stores:
        for n in range(start, start + width):
            if n in owner:
                return False
            owner[n] = start
    whole = dict(stores)
    return all(
        whole.get(start) == width or (start in owner and (width == 1 or whole.get(start + 1) == width))
        for start, width in loads
    )


def _statement(s: Stmt, pieces: Pieces) -> list[Stmt]:
    if isinstance(s, Declare) and s.buffer.name in pieces:
        return [
            Declare(Buffer(register, type, "register", affine(1))) for register, type in pieces[s.buffer.name].values()
        ]
    if isinstance(s, Store):
        value = _expr(s.value, pieces)
        if s.buffer.name in pieces:
            assert isinstance(s.index, Form)
            register, _ = pieces[s.buffer.name][s.index.form.value or 0]
            return [Assign(register, value)]
        return [Store(s.buffer, _expr(s.index, pieces), value)]
    if isinstance(s, Loop):
        body = tuple(x for b in s.body for x in _statement(b, pieces))
        return [replace(s, start=_expr(s.start, pieces), stop=_expr(s.stop, pieces), body=body)]
    if isinstance(s, If):
        then = tuple(x for b in s.then for x in _statement(b, pieces))
        otherwise = tuple(x for b in s.otherwise for x in _statement(b, pieces))
        return [If(_expr(s.condition, pieces), then, otherwise)]
    if isinstance(s, Declare):
        return [s]
    if isinstance(s, (Let, Assign)):
        return [replace(s, value=_expr(s.value, pieces))]
    return [s]


def _expr(e: Expr, pieces: Pieces) -> Expr:
    if isinstance(e, Load) and e.buffer.name in pieces:
        assert isinstance(e.index, Form)
        place = e.index.form.value or 0
        table = pieces[e.buffer.name]
        if place in table and table[place][1] == e.type:
            return Var(*table[place])
        if lanes(e.type) > 1:
            return Call("behind", (_lane(table, place, element(e.type)), Var(*table[place + 1])), e.type)
        return _lane(table, place, e.type)
    return with_operands(e, tuple(_expr(x, pieces) for x in operands(e)))


def _lane(table: dict[int, tuple[str, str]], place: int, kind: str) -> Expr:
    """One element of the pieces of an array."""
    start = max(n for n in table if n <= place)
    held = Var(*table[start])
    return held if lanes(held.type) == 1 else Lane(held, place - start, kind)
