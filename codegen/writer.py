"""Writing kernel IR: statements under construction, in nested blocks, with names that are used once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tang_egg.affine import Affine
from tang_egg.codegen.kernel import Assign, Expr, Form, If, Let, Literal, Loop, Stmt, Var, variable


class Writer:
    """Statements under construction, in nested blocks, with names that are used once."""

    def __init__(self, taken: tuple[str, ...] = ()) -> None:
        self.out: list[Stmt] = []
        self.names: dict[str, int] = dict.fromkeys(taken, 1)

    def name(self, stem: str) -> str:
        n = self.names.get(stem, 0)
        self.names[stem] = n + 1
        return stem if n == 0 else self.name(f"{stem}_{n}")

    def let(self, stem: str, value: Expr) -> Expr:
        """The value under a name, unless it is one already."""
        if isinstance(value, (Var, Literal)) or (isinstance(value, Form) and len(value.form.terms) < 2):
            return value
        name = self.name(stem)
        self.out.append(Let(name, value))
        return Var(name, value.type)

    def integer(self, stem: str, value: Expr | Affine) -> Affine:
        """An i64 value as a variable to be used in forms."""
        if isinstance(value, Affine):
            value = Form(value)
        if isinstance(value, Form) and len(value.form.terms) < 2:
            return value.form
        if isinstance(value, Var):
            return variable(value.name)
        name = self.name(stem)
        self.out.append(Let(name, value))
        return variable(name)

    def mutable(self, stem: str, value: Expr) -> Var:
        name = self.name(stem)
        self.out.append(Assign(name, value, first=True))
        return Var(name, value.type)

    @contextmanager
    def block(self) -> Iterator[list[Stmt]]:
        """Collects what is written inside, instead of writing it."""
        held, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = held

    @contextmanager
    def writing_to(self, out: list[Stmt] | None) -> Iterator[None]:
        """Writes to an enclosing block; without one, where writing is."""
        held, self.out = self.out, self.out if out is None else out
        try:
            yield
        finally:
            self.out = held

    @contextmanager
    def loop(self, stem: str, start: Expr, stop: Expr, kind: str = "serial") -> Iterator[Affine]:
        var = self.name(stem)
        with self.block() as body:
            yield variable(var)
        self.out.append(Loop(var, start, stop, 1, kind, tuple(body)))

    @contextmanager
    def when(self, condition: Expr) -> Iterator[None]:
        with self.block() as body:
            yield
        if body:
            self.out.append(If(condition, tuple(body)))
