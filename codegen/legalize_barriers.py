"""Barriers of a block that order nothing are left out.

    barrier; A[w] := x; barrier; y := A[l]; barrier; B[w] := y    ->    A[w] := x; barrier; y := A[l]; B[w] := y

A barrier orders what stands between it and the barrier before with what stands between it and the next: it is needed
where both touch one array that threads share and one of them stores. In a loop, what stands at its end comes before
what stands at its start. Barriers in deeper statements, and those beside such a statement, all stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from tang_egg.codegen.kernel import (
    Assign,
    Barrier,
    Declare,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    expressions,
    statements,
    subexpressions,
)
from tang_egg.codegen.legalize_runs import ReadRun, WriteRun

Touched: TypeAlias = dict[str, bool]
"""Arrays that are read or stored; True where they are stored."""
PLAIN = (Let, Assign, Declare, Store, ReadRun, WriteRun, Loop, If)
"""Statements that order nothing themselves."""


def needed_barriers(kernel: Kernel) -> Kernel:
    """The kernel without barriers that order nothing; kernels with outputs that they also read keep all."""
    if any(b.alias for b in kernel.buffers) or _rereads(kernel):
        return kernel
    return replace(kernel, body=_straight(kernel.body))


def _rereads(kernel: Kernel) -> bool:
    """Whether a buffer that threads share through memory is both stored and read."""
    stored = {s.buffer.name for s in statements(kernel.body) if isinstance(s, Store) and s.buffer.space == "global"}
    return any(x.buffer.name in stored for s in statements(kernel.body) for x in _loads(s))


def _straight(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A body that runs once, without the barriers in it that are not needed."""
    loops = [s for s in body if isinstance(s, Loop) and _holds_barrier([s])]
    if len(loops) == 1 and not any(_touched(s) or isinstance(s, Barrier) for s in body if s is not loops[0]):
        return tuple(replace(s, body=_again(s.body)) if s is loops[0] and isinstance(s, Loop) else s for s in body)
    out: list[Stmt] = []
    before: Touched = {}
    for n, s in enumerate(body):
        if not isinstance(s, Barrier):
            out.append(s)
            before = _joined(before, _touched(s))
            continue
        if not before and not _holds_barrier(out):  # nothing that threads share was touched yet
            continue
        after = _until_barrier(body[n + 1 :])
        if after is None or _holds_barrier(out) or _conflict(before, after):
            out.append(s)
            before = {}
    return tuple(out)


def _again(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body of a loop that alone touches what threads share, without the barriers that are not needed."""
    if _holds_barrier(body):
        return body
    kept = list(body)
    n = 0
    while n < len(kept):
        around = [*kept[n + 1 :], *kept[:n]]
        before, after = _until_barrier(reversed(around)), _until_barrier(around)
        if isinstance(kept[n], Barrier) and before is not None and after is not None and not _conflict(before, after):
            del kept[n]
            continue
        n += 1
    return tuple(kept)


def _until_barrier(rest: Iterable[Stmt]) -> Touched | None:
    """What is touched up to the next barrier; None where that stands inside of another statement."""
    found: Touched = {}
    for s in rest:
        if isinstance(s, Barrier):
            return found
        if _holds_barrier([s]):
            return None
        found = _joined(found, _touched(s))
    return found


def _holds_barrier(body: Iterable[Stmt]) -> bool:
    """Whether a barrier stands inside of one of some statements."""
    inner = [x for s in body if not isinstance(s, Barrier) for x in statements((s,))]
    return any(not isinstance(x, PLAIN) for x in inner)


def _touched(s: Stmt) -> Touched:
    found: Touched = {}
    for x in statements((s,)):
        for load in _loads(x):
            if load.buffer.space == "shared":
                found.setdefault(load.buffer.name, False)
        target = x.buffer if isinstance(x, Store) else x.target if isinstance(x, WriteRun) else None
        if target is not None and target.space == "shared":
            found[target.name] = True
    return found


def _joined(a: Touched, b: Touched) -> Touched:
    return {name: a.get(name, False) or b.get(name, False) for name in {**a, **b}}


def _conflict(a: Touched, b: Touched) -> bool:
    return any(name in b and (stored or b[name]) for name, stored in a.items())


def _loads(s: Stmt) -> list[Load]:
    return [x for e in expressions(s) for x in subexpressions(e) if isinstance(x, Load)]
