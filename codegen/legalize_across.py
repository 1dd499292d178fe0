"""Vectors built across the lanes of other vectors become transposes in registers.

    y := f({a[0], b[0], ...}, {a[1], b[1], ...}, ...)   ->   t0, t1, ... := transpose of a, b, ...; y := f(t0, t1, ...)

So end folds in lanes that stand side by side: the tree over the lanes of eight states takes one lane of each at a time.
Taken lane by lane, eight such vectors cost 64 moves of single elements; a transpose costs three rounds of eight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tang_egg import ops
from tang_egg.codegen.kernel import (
    Assign,
    Build,
    Call,
    Expr,
    If,
    Kernel,
    Lane,
    Let,
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
    with_operands,
)
from tang_egg.codegen.legalize_turn import WIDE, WIDTHS, transposed

Across = tuple[tuple[Var, ...], int]
"""The vectors that one lane each is taken of, and which lane."""


def to_transposes(kernel: Kernel) -> Kernel:
    """The kernel with what takes every lane of as many vectors as they have lanes read from their transpose."""
    return _Transposes(kernel).run()


class _Transposes:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.count = kernel, 0
        declared = list(statements(kernel.body))
        self.taken = {b.name for b in kernel.buffers} | set(kernel.dims)
        self.taken |= {s.name for s in declared if isinstance(s, (Assign, Let))}
        self.taken |= {s.var for s in declared if isinstance(s, Loop)}

    def run(self) -> Kernel:
        return replace(self.kernel, body=self.block(self.kernel.body))

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(x for s in body for x in self.statement(s))

    def statement(self, s: Stmt) -> list[Stmt]:
        if isinstance(s, Loop):
            return [replace(s, body=self.block(s.body))]
        if isinstance(s, If):
            return [replace(s, then=self.block(s.then), otherwise=self.block(s.otherwise))]
        if not isinstance(s, (Assign, Let, Store)):
            return [s]
        found = {a for e in expressions(s) for x in subexpressions(e) if (a := _across(x)) is not None}
        out: list[Stmt] = []
        swap: dict[Across, Expr] = {}
        for rows in dict.fromkeys(a[0] for a in sorted(found, key=lambda a: (a[1], [v.name for v in a[0]]))):
            if all((rows, n) in found for n in range(len(rows))):
                columns = transposed(rows, lambda op, a, b: self.named(Call(op, (a, b), a.type), out))
                swap |= {(rows, n): x for n, x in enumerate(columns)}
        if not swap:
            return [s]
        if isinstance(s, Store):
            return [*out, replace(s, index=_swapped(s.index, swap), value=_swapped(s.value, swap))]
        return [*out, replace(s, value=_swapped(s.value, swap))]

    def named(self, value: Expr, out: list[Stmt]) -> Var:
        """A value under a name of its own."""
        while (name := f"across_{self.count}") in self.taken:
            self.count += 1
        self.taken.add(name)
        out.append(Let(name, value))
        return Var(name, value.type)


def _across(e: Expr) -> Across | None:
    """Which lane of which vectors a vector is built of; None where it is built otherwise."""
    if not isinstance(e, Build) or not all(isinstance(x, Lane) and isinstance(x.vector, Var) for x in e.items):
        return None
    rows = tuple(x.vector for x in e.items if isinstance(x, Lane) and isinstance(x.vector, Var))
    kinds, places = {v.type for v in rows}, {x.n for x in e.items if isinstance(x, Lane)}
    size, width = ops.BYTES.get(element(e.type), 0), lanes(e.type)
    turned = width in (WIDTHS.get(size), WIDE.get(size))
    if kinds != {e.type} or len(places) != 1 or not turned or len(set(rows)) != width:
        return None
    return rows, places.pop()


def _swapped(e: Expr, swap: Mapping[Across, Expr]) -> Expr:
    place = _across(e)
    if place is not None and place in swap:
        return swap[place]
    return with_operands(e, tuple(_swapped(x, swap) for x in operands(e)))
