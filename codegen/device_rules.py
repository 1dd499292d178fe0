"""What the checks of launched kernels share: how they read statements, and how they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import NoReturn

from tang_egg.codegen import device as d
from tang_egg.codegen.kernel import (
    Build,
    Call,
    Expr,
    Form,
    Kernel,
    Lane,
    Literal,
    Load,
    Select,
    Stmt,
    Var,
)
from tang_egg.errors import CodegenError

_EXPRESSIONS = (Var, Literal, Form, Load, Call, Select, Build, Lane)


def refuse(kernel: Kernel, what: str, where: str, mend: str) -> NoReturn:
    raise CodegenError(what, where=f"kernel '{kernel.name}': {where}", mend=mend)


def constant(e: Expr) -> int | None:
    """The value of an expression, if it is an integer without variables."""
    return e.form.value if isinstance(e, Form) else None


def roles_of(kernel: Kernel, launch: d.Launch) -> list[d.Role]:
    """The roles of a kernel; its whole body as one role if it has none."""
    found = [r for s in kernel.body if isinstance(s, d.Roles) for r in s.roles]
    return found or [d.Role("all", launch.threads // d.GROUP, 0, kernel.body)]


def parts(s: Stmt) -> Iterator[Expr]:
    """The expressions in a statement itself, of codegen/device.py too; not those of statements inside it."""
    for f in fields(s):
        value = getattr(s, f.name)
        for x in value if isinstance(value, tuple) else (value,):
            if isinstance(x, d.Tile):
                yield from (x.slot, x.first)
            elif isinstance(x, _EXPRESSIONS):
                yield x


def describe(s: Stmt) -> str:
    """A statement in few words: its kind, and the names in it."""
    names = []
    for f in fields(s):
        value = getattr(s, f.name)
        value = getattr(value, "stage", getattr(value, "buffer", value))
        name = value if f.name in ("var", "name") else getattr(value, "name", None)
        if isinstance(name, str):
            names.append(f"'{name}'")
    return " ".join((type(s).__name__, *dict.fromkeys(names)))
