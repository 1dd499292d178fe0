"""Checks a launched kernel: what has to come before what in the body of each role, as far as its structure tells.

Products: an MmaFence after the registers of a product were used, an MmaCommit and an MmaWait before its accumulator is
(and the MmaWait pins it) or its packed operand changes. Stores of fragments: before them, a meeting since the tile was
last drained or read; after them, a ProxyFence and a meeting before copies and products read them. What is copied out is
committed and drained. A Leave stands in a loop. Bodies of loops are walked twice, for what one round leaves to the
next; what one arm of an If mended counts as mended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from tang_egg.codegen import device as d
from tang_egg.codegen.device_rules import describe, parts, refuse, roles_of
from tang_egg.codegen.kernel import (
    Barrier,
    Declare,
    If,
    Kernel,
    Load,
    Loop,
    Stmt,
    Store,
    statements,
    subexpressions,
)

DIRTY, FENCED = 0, 1


def check_order(kernel: Kernel, launch: d.Launch) -> None:
    """Raises CodegenError when a launched kernel breaks a rule of the module text."""
    for r in roles_of(kernel, launch):
        _Walk(kernel, r).run()


@dataclass(slots=True)
class _State:
    """What is under way: products by batch (accumulator, packed operand), and what must be fenced or pinned first."""

    open: list[tuple[str, str]] = field(default_factory=list)
    batches: list[list[tuple[str, str]]] = field(default_factory=list)
    unfenced: set[str] = field(default_factory=set)
    unpinned: set[str] = field(default_factory=set)
    stored: dict[str, int] = field(default_factory=dict)  # stages with fragments that are not yet fenced and met
    apart: bool = False  # whether other warps of the group may still read what this one is done with

    def copy(self) -> _State:
        batches = [list(b) for b in self.batches]
        return _State(list(self.open), batches, set(self.unfenced), set(self.unpinned), dict(self.stored), self.apart)

    def pending(self) -> list[tuple[str, str]]:
        return [p for batch in (*self.batches, self.open) for p in batch]

    def meet(self, other: _State) -> None:
        """The state after either of two ways: what both left undone."""
        if other.batches != self.batches or other.open != self.open:
            both = [p for p in self.pending() if p in other.pending()]
            self.batches, self.open = ([both] if both else []), []
        self.apart |= other.apart
        self.unfenced &= other.unfenced
        self.unpinned &= other.unpinned
        self.stored = {k: max(v, other.stored[k]) for k, v in self.stored.items() if k in other.stored}


class _Walk:
    def __init__(self, kernel: Kernel, role: d.Role) -> None:
        self.kernel, self.role, self.state, self.loops = kernel, role, _State(), 0

    def fail(self, what: str, s: Stmt, mend: str) -> NoReturn:
        refuse(self.kernel, what, f"role '{self.role.name}', {describe(s)}", mend)

    def run(self) -> None:
        self.block(self.role.body)
        if self.state.pending():
            acc = self.state.pending()[0][0]
            where = f"role '{self.role.name}'"
            refuse(self.kernel, f"no MmaWait covers the last product on '{acc}'", where, "end with MmaWait(0)")
        inside = list(statements(self.role.body))
        outs = [s for s in inside if isinstance(s, d.CopyOut)]
        if outs and not any(isinstance(s, d.CopyCommit) for s in inside):
            self.fail("a copy out that is never committed", outs[0], "put CopyCommit after the copies")
        if outs and not any(isinstance(s, d.CopyDrain) and s.pending == 0 for s in inside):
            self.fail("a copy out that is never drained", outs[0], "end the role with CopyDrain(0)")

    def block(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: Stmt) -> None:
        for e in parts(s):
            for x in subexpressions(e):
                if isinstance(x, Load):
                    self.use(x.buffer.name, s, False)
        if isinstance(s, (Loop, d.Forever)):
            self.loops += 1
            self.block(s.body)
            self.block(s.body)
            self.loops -= 1
        elif isinstance(s, If):
            before = self.state.copy()
            self.block(s.then)
            after, self.state = self.state, before
            self.block(s.otherwise)
            self.state.meet(after)
        elif isinstance(s, Store):
            self.use(s.buffer.name, s, True)
        elif isinstance(s, Declare):
            self.state.unfenced.add(s.buffer.name)
        elif isinstance(s, d.Leave):
            if not self.loops:
                self.fail("a Leave outside of loops", s, "put it into a Forever or a Loop")
        elif isinstance(s, (d.Mma, d.MmaFence, d.MmaCommit, d.MmaWait)):
            self.products(s)
        else:
            self.tiles(s)

    def use(self, name: str, s: Stmt, stored: bool) -> None:
        for acc, packed in self.state.pending():
            if name == acc or (stored and name == packed):
                self.fail(f"'{name}' is used while a product on it is under way", s, "wait for it by MmaWait first")
        if name in self.state.unpinned:
            self.fail(f"'{name}' is used, but no MmaWait pins it", s, "name it in the pins of the MmaWait before")
        self.state.unfenced.add(name)

    def products(self, s: d.Mma | d.MmaFence | d.MmaCommit | d.MmaWait) -> None:
        state = self.state
        if isinstance(s, d.MmaFence):
            state.unfenced.clear()
        elif isinstance(s, d.MmaCommit):
            state.batches.append(state.open)
            state.open = []
        elif isinstance(s, d.MmaWait):
            if state.open:
                self.fail("an MmaWait before the products are committed", s, "put MmaCommit after the products")
            state.apart = True
            del state.batches[: max(0, len(state.batches) - s.pending)]
            for b in s.pins:
                if any(b.name == acc for acc, _ in state.pending()):
                    self.fail(f"'{b.name}' is pinned while a product on it is under way", s, "wait for fewer pending")
                state.unpinned.discard(b.name)
                state.unfenced.add(b.name)
        else:
            packed = s.a.buffer.name if isinstance(s.a, d.Packed) else ""
            for name in (s.acc.name, packed):
                if name in state.unfenced:
                    self.fail(f"'{name}' was used since the last MmaFence", s, "put an MmaFence before the product")
            for t in (s.a, s.b):
                if isinstance(t, d.Tile):
                    self.visible(t.stage, s)
            state.open.append((s.acc.name, packed))
            state.unpinned.add(s.acc.name)

    def tiles(self, s: Stmt) -> None:
        stored = self.state.stored
        if isinstance(s, (d.CopyDrain, d.CopyOut, d.LoadTile)):
            self.state.apart = True
        elif isinstance(s, (d.Sync, Barrier)):
            self.state.apart = False
        if isinstance(s, d.StoreTile):
            if self.state.apart:
                self.fail(
                    f"fragments are stored to '{s.stage.name}' while other warps may still read it",
                    s,
                    "let the warp group meet (Sync) after the last product or drain",
                )
            stored[s.stage.name] = DIRTY
        elif isinstance(s, d.LoadTile):
            self.use(s.target.name, s, True)
        elif isinstance(s, d.ProxyFence):
            stored.update(dict.fromkeys(stored, FENCED))
        elif isinstance(s, (d.Sync, d.Announce, d.Arrive, Barrier)):
            self.state.stored = {k: v for k, v in stored.items() if v == DIRTY}
        elif isinstance(s, d.CopyOut):
            self.visible(s.stage, s)

    def visible(self, stage: d.Stage, s: Stmt) -> None:
        found = self.state.stored.get(stage.name)
        if found is not None:
            missing = "a ProxyFence" if found == DIRTY else "a meeting after the ProxyFence"
            self.fail(
                f"it reads fragments stored to '{stage.name}' without {missing}",
                s,
                "fence by all threads that stored, then let them meet (Sync)",
            )
