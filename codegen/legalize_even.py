"""Loops that begin at the place of a thread become loops that all threads of a block run equally often.

    for k from a + lane to n by 32: body    ->    for turn from a to n by 32: k := turn + lane; if k < n: body

PoCL, which runs the threads of a block as one loop between two barriers, takes the number of turns of the first thread
for all where barriers stand in a branch (seen with PoCL 3.1): threads stored behind the end. On a GPU nothing changes.
"""

from __future__ import annotations

from typing import Any

from tang_egg.affine import Affine, AffineLike, Dim, Index, affine
from tang_egg.codegen.kernel import (
    Call,
    Expr,
    Form,
    If,
    Kernel,
    Let,
    Loop,
    Var,
    expressions,
    statements,
    subexpressions,
    variable,
)
from tang_egg.codegen.legalize import rebuilt

THREAD = frozenset({"thread", "group"})
"""Variables in which the threads of a block differ, and which are never negative."""


def exchanges(kernel: Kernel) -> bool:
    """Whether lanes of a warp exchange values."""
    found = (x for s in statements(kernel.body) for e in expressions(s) for x in subexpressions(e))
    return any(isinstance(x, Call) and x.op == "shuffle_xor" for x in found)


def even_loops(kernel: Kernel) -> Kernel:
    """A kernel whose lanes exchange values, with turns that all its threads take; any other as it is."""
    if not exchanges(kernel):
        return kernel
    places = _places(kernel)

    def change(x: Any) -> Any:
        if not isinstance(x, Loop) or x.kind != "serial" or not isinstance(x.start, Form):
            return None
        place = _part(x.start.form, places)
        if place.value == 0 or min(c for _, c in place) < 0:
            return None
        turn = f"{x.var}~turn"
        point = Let(x.var, Form(variable(turn) + place))
        body = rebuilt(x.body, change)
        inside = If(Call("lt", (Var(x.var, "i64"), x.stop), "bool"), body)
        return Loop(turn, Form(x.start.form - place), x.stop, x.step, x.kind, (point, inside), x.work)

    return rebuilt(kernel, change)


def _places(kernel: Kernel) -> frozenset[str]:
    """Variables that are a thread's own place: computed from `thread`, `group` and numbers by sums and remainders."""
    found = set(THREAD)
    for s in statements(kernel.body):
        if isinstance(s, Let) and _names(s.value) and _names(s.value) <= found:
            found.add(s.name)
    return frozenset(found)


def _names(e: Expr) -> set[str]:
    parts = list(subexpressions(e))
    if not all(isinstance(x, (Form, Var)) or (isinstance(x, Call) and x.op in ("umod", "udiv")) for x in parts):
        return {""}
    names = {x.name for x in parts if isinstance(x, Var)}
    return names | {d.name for x in parts if isinstance(x, Form) for d in x.form.dims()}


def _part(form: Affine, places: frozenset[str]) -> Affine:
    """The terms of a form that are places."""
    rest: dict[Dim | Index, AffineLike] = {d: 0 for d in form.dims() if d.name in places}
    return form - form.substitute(rest) if rest else affine(0)
