"""Checks a launched kernel: barriers complete with what comes to them, as far as the structure of the roles tells.

Signals that are awaited are arrived at, in each phase by as many as they say. An Expect counts the bytes of the copies
that follow it in its block. Where a condition that threads or warp groups differ in decides, nothing is said. Those
that meet at a barrier agree on how many they are; one that only some warp groups wait at is announced by others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from tang_egg.affine import Dim, affine
from tang_egg.codegen import device as d
from tang_egg.codegen.device_rules import constant, describe, refuse, roles_of
from tang_egg.codegen.kernel import (
    Assign,
    Call,
    Expr,
    Form,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    Stmt,
    Var,
    statements,
    subexpressions,
)


def check_signals(kernel: Kernel, launch: d.Launch) -> None:
    """Raises CodegenError when a launched kernel breaks a rule of the module text."""
    roles = roles_of(kernel, launch)
    for r in roles:
        _Bytes(kernel, r).block(r.body)
    _Arrivals(kernel, roles).check(launch.signals)
    _check_meetings(kernel, roles)


def inner(s: Stmt) -> Iterator[tuple[Stmt, ...]]:
    """The bodies inside a statement."""
    if isinstance(s, (Loop, d.Forever)):
        yield s.body
    elif isinstance(s, If):
        yield s.then
        yield s.otherwise


def _check_meetings(kernel: Kernel, roles: list[d.Role]) -> None:
    """Of barriers whose numbers are known."""
    by_group = _follows(kernel, "group")
    threads: dict[int, int] = {}
    announced: set[int] = set()
    waited: dict[int, str] = {}
    for r in roles:
        for s, some in _meetings(r.body, by_group, False):
            id, where = constant(s.id), f"role '{r.name}', {describe(s)}"
            if id is None:
                continue
            if threads.setdefault(id, s.threads) != s.threads:
                what = f"{min(threads[id], s.threads)} and {max(threads[id], s.threads)} threads at barrier {id}"
                refuse(kernel, what, where, "give all that meet at one barrier the same number of threads")
            if isinstance(s, d.Announce):
                announced.add(id)
            elif some and s.threads > d.GROUP:
                waited[id] = where
    for id in waited.keys() - announced:
        what = f"somebody waits at barrier {id} that nobody announces"
        refuse(kernel, what, waited[id], "let the others Announce it, or all of them Sync")


def _meetings(body: tuple[Stmt, ...], by_group: set[str], some: bool) -> Iterator[tuple[d.Sync | d.Announce, bool]]:
    """The statements that meet at barriers, with whether only some warp groups of the role come to them."""
    for s in body:
        if isinstance(s, (d.Sync, d.Announce)):
            yield s, some
        inside = some or (isinstance(s, If) and bool(_names(s.condition) & by_group))
        for b in inner(s):
            yield from _meetings(b, by_group, inside)


class _Bytes:
    def __init__(self, kernel: Kernel, role: d.Role) -> None:
        self.kernel, self.role = kernel, role
        self.expected = {s.signal.name for s in statements(role.body) if isinstance(s, d.Expect)}

    def fail(self, what: str, s: Stmt, mend: str) -> NoReturn:
        refuse(self.kernel, what, f"role '{self.role.name}', {describe(s)}", mend)

    def block(self, body: tuple[Stmt, ...]) -> None:
        for n, s in enumerate(body):
            if isinstance(s, d.CopyIn) and s.signal.name not in self.expected:
                self.fail(f"no Expect counts the bytes on '{s.signal.name}'", s, "expect them before the copies")
            if isinstance(s, d.Expect):
                found = self.copied(body[n + 1 :], s.signal)
                if found is not None and found != s.bytes:
                    self.fail(f"{s.bytes} bytes expected of copies of {found}", s, f"expect {found} bytes")
            for b in inner(s):
                self.block(b)

    def copied(self, body: tuple[Stmt, ...], signal: d.Signal) -> int | None:
        """Bytes of the copies on a signal up to its next Expect; None if conditions or loops decide."""
        total = 0
        for s in body:
            if isinstance(s, d.Expect) and s.signal == signal:
                break
            if isinstance(s, d.CopyIn) and s.signal == signal:
                total += s.stage.box_bytes
            elif any(isinstance(x, d.CopyIn) and x.signal == signal for b in inner(s) for x in statements(b)):
                each = self.copied(s.body, signal) if isinstance(s, Loop) else None
                start, stop = (constant(s.start), constant(s.stop)) if isinstance(s, Loop) else (None, None)
                if each is None or start is None or stop is None or not isinstance(s, Loop):
                    return None
                total += each * len(range(start, stop, s.step))
        return total


class _Arrivals:
    def __init__(self, kernel: Kernel, roles: list[d.Role]) -> None:
        self.kernel, self.roles = kernel, roles
        self.by_thread, self.by_group = _follows(kernel, "thread"), _follows(kernel, "group")

    def check(self, signals: tuple[d.Signal, ...]) -> None:
        counts: dict[str, dict[str, set[int | None]]] = {}
        for r in self.roles:
            for signal, count in self.arrivals(r, r.body, 1 if r.single else d.GROUP):
                counts.setdefault(signal.name, {}).setdefault(r.name, set()).add(count)
        for r in self.roles:
            for s in statements(r.body):
                if isinstance(s, d.Await) and s.signal.name not in counts:
                    where = f"role '{r.name}', {describe(s)}"
                    refuse(
                        self.kernel, f"nobody arrives at '{s.signal.name}'", where, "let those arrive who are awaited"
                    )
        for signal in signals:
            self.compare(signal, counts.get(signal.name, {}))

    def compare(self, signal: d.Signal, by_role: dict[str, set[int | None]]) -> None:
        known = {r: n for r, found in by_role.items() for n in found if n is not None and len(found) == 1}
        total = sum(known.values())
        if len(known) == len(by_role) > 0 and total != signal.arrivals:
            refuse(
                self.kernel,
                f"{signal.arrivals} arrivals in a phase that {total} come to",
                f"signal '{signal.name}': {', '.join(f'{n} of {r}' for r, n in known.items())}",
                "give the signal the number of those that arrive",
            )

    def arrivals(
        self, role: d.Role, body: tuple[Stmt, ...], running: int | None
    ) -> Iterator[tuple[d.Signal, int | None]]:
        """The signals that a role arrives at, and how often in a phase; `running`: threads of a group that come by."""
        for s in body:
            if isinstance(s, (d.Expect, d.Arrive)):
                each = running
                if running == d.GROUP and isinstance(s, d.Arrive):
                    each = {"thread": d.GROUP, "warp": 4, "group": 1}.get(s.who)
                yield s.signal, None if each is None else each * role.groups
            elif isinstance(s, If):
                yield from self.arrivals(role, s.then, self.running(s.condition, running))
                other = running if self.running(s.condition, running) == running else None
                yield from self.arrivals(role, s.otherwise, other)
            else:
                for b in inner(s):
                    yield from self.arrivals(role, b, running)

    def running(self, condition: Expr, before: int | None) -> int | None:
        """How many threads of a group a condition lets through: one for `thread == n`, None if unknown."""
        names = _names(condition)
        if names & self.by_group:
            return None
        if before == 1 or not names & self.by_thread:
            return before
        return 1 if _picks_one(condition) else None


def _picks_one(e: Expr) -> bool:
    """Whether a condition says that `thread` is a constant."""
    if isinstance(e, Call) and e.op == "and":
        return any(map(_picks_one, e.args))
    if not isinstance(e, Call) or e.op != "eq":
        return False
    a, b = e.args
    return any(_is_thread(x) and constant(y) is not None for x, y in ((a, b), (b, a)))


def _is_thread(e: Expr) -> bool:
    return (isinstance(e, Var) and e.name == "thread") or (isinstance(e, Form) and e.form == affine(Dim("thread")))


def _names(e: Expr) -> set[str]:
    """The variables in an expression, and the arrays that it loads from."""
    found: set[str] = set()
    for x in subexpressions(e):
        if isinstance(x, Var):
            found.add(x.name)
        elif isinstance(x, Form):
            found |= {a.name for a in x.form.dims()}
        elif isinstance(x, Load) and x.buffer.space in ("register", "local"):
            found |= {"thread", "group"}
    return found


def _follows(kernel: Kernel, source: str) -> set[str]:
    """The variables that may differ where `source` does."""
    found, size = {source}, 0
    while size < len(found):
        size = len(found)
        found |= {s.name for s in statements(kernel.body) if isinstance(s, (Let, Assign)) and _names(s.value) & found}
    return found
