"""Scans along rows by the lanes of warps: one pass over memory for any associative monoid.

    carry := identity
    for t in 0 ... by seats · size:                  each lane has `size` elements side by side
        kept[e] := the lane's own elements, taken up in order;  total := the last of them
        prefix  := the totals of the lanes before, in pairs of 1, 2, 4, 8, 16 lanes
        start   := carry, the totals of the warps before (through shared memory), prefix
        kept[e] := combine(start, kept[e])           what readers of the scan find
        carry   := combine(carry, the totals of all warps)

Earlier points are the left operand of every combine, so that the monoid need not commute. Lanes beyond the end of a row
take part with the identity: all lanes of a block take the same way to every exchange.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tang_egg.affine import Dim, Index, affine
from tang_egg.codegen.device import WARP
from tang_egg.codegen.kernel import (
    Barrier,
    Buffer,
    Call,
    Declare,
    Expr,
    Form,
    Let,
    Literal,
    Load,
    Loop,
    Select,
    Stmt,
    Store,
    Var,
    number,
    variable,
)
from tang_egg.codegen.lower_fold import part_of
from tang_egg.codegen.lower_row import Rows
from tang_egg.codegen.lower_scope import Axis, Known, Local
from tang_egg.codegen.lower_state import State
from tang_egg.errors import CodegenError
from tang_egg.ir import Read, Reduce, Scalar, Scan, Tensor, free, walk


class RowScans(Rows):
    """See the module text. `lane`, `warp` name this lane in its warp and this warp in its team (`team` > 0)."""

    lane: str
    warp: str
    team: int

    @contextmanager
    def scan_rows(self, index: Index, size: int) -> Iterator[None]:
        """Binds the index of scans to this lane's blocks of a row, where the scans over it are known.

        Raises CodegenError where they cannot be shared by lanes.
        """
        if not scannable(self.outputs, index):
            raise CodegenError(
                f"the scans over '{index.name}' cannot be shared by the lanes of warps",
                where=f"kernel '{self.kernel}', schedule: {self.schedule}",
                mend=f"leave '{index.name}' out of warp=; lanes share scans whose state has no axes, in no other scan",
            )
        groups = _groups([t.body for t in self.outputs], index)
        roots = [b for g in groups for b in g.body] + [t.body for t in self.outputs]
        carried = {g: self.declare_state(g, sorted(self.parts[g])) for g in groups}
        shared = {g: self._room_for(carried[g]) for g in groups} if self.team else {}
        held = self._held_rows(index, size, roots) if index.size.value else {}
        if shared:
            self.scope.out.append(Barrier())  # what an earlier row left there has been read
        turn, first, span = self.name(f"{index.name}_turn"), self.name(index.name), self.seats * size
        start = variable(turn) * (span if held else 1) + Dim(self.seat) * size
        axis = Axis(index, variable(first), size)
        extent = index.size.value
        full = extent is not None and extent % span == 0
        within = None if full else Call("lt", (Form(axis.start), Form(index.size)), "bool")
        body: list[Stmt] = []
        with self.inside(out=body), self.inside(axis):
            self.apart.add(self.scope)
            self.scope.out.append(Let(first, Form(start)))
            for s, local in held.items():
                at = Dim(turn) * size
                moved = Local(local.buffer, (axis.start - at,), local.strides, self.scope.depth)
                bound = {i: a for i in free(s) if (a := self.bound(i)) is not None}
                self.scope.arrays.setdefault(s, []).append(Known(Read(self.as_input(moved), (affine(index),)), bound))
            count = Var(turn, "i64") if held else Call("udiv", (Var(turn, "i64"), number(span)), "i64")
            half = self.name("half")
            if shared:
                self.scope.out.append(Let(half, Call("umod", (count, number(2)), "i64")))
            for g in groups:
                self._scan_tile(g, axis, within, carried[g], shared.get(g), half)
            with self._in_row(axis, within):
                yield
        if held:
            assert extent is not None
            self.scope.out.append(Loop(turn, number(0), number(-(-extent // span)), 1, "unrolled", tuple(body)))
        else:
            self.scope.out.append(Loop(turn, number(0), Form(index.size), span, "serial", tuple(body)))

    @contextmanager
    def _in_row(self, axis: Axis, within: Expr | None) -> Iterator[Axis]:
        """The block bound anew inside of a branch, so that nothing that reads along it is computed before."""
        part = Axis(axis.index, axis.start, axis.size, axis.origin)
        with self.branch(within), self.inside(part):
            yield part

    def _scan_tile(
        self, s: Scan, axis: Axis, within: Expr | None, carry: State, shared: dict[int, Local] | None, half: str
    ) -> None:  # fmt: skip
        """One step of a scan: the states at this lane's elements, and the carry moved past those of all lanes."""
        total = self.declare_state(s, list(carry))
        along = (axis,) if axis.block else ()
        kept = {k: self.slot(f"{x.local.buffer.name}_all", x.local.buffer.type, along) for k, x in total.items()}
        with self._in_row(axis, within) as part:
            self.prepare(s.body, [part] if part.block else [])
            with self.refine(part, 1, "unrolled"):
                self.update(s, total, None, [])
                for k, slot in total.items():
                    self.put(kept[k].local, kept[k].axes, self.evaluate(slot.read))
        prefix = self.declare_state(s, list(carry))
        self._prefixes(s, total, prefix)
        start = self._copy(carry)
        if shared is None:
            self.take_up(s, carry, total)
        else:
            self._across_warps(s, total, carry, start, shared, half)
        self.take_up(s, start, prefix)
        with self._in_row(axis, within) as part, self.refine(part, 1, "unrolled"):
            after = self._copy(start)
            self.take_up(s, after, {k: x.read for k, x in kept.items()})
            for k, slot in after.items():
                self.put(kept[k].local, kept[k].axes, self.evaluate(slot.read))
        for k, slot in kept.items():
            known: Scalar = part_of(s, k)
            source = self.as_input(replace(slot.local, mutable=False, home=self.scope.depth))
            bound = {i: a for i in free(known) if (a := self.bound(i)) is not None}
            read = Read(source, tuple(affine(a.index) for a in slot.axes))
            self.scope.arrays.setdefault(known, []).append(Known(read, bound))

    def _prefixes(self, s: Scan, total: State, prefix: State) -> None:
        """`prefix` becomes the states of the lanes before this one, `total` those of all lanes of the warp."""
        mask = 1
        while mask < WARP:
            place = Call("umod", (Var(self.lane, "i64"), number(2 * mask)), "i64")
            lower = self.keep(Call("lt", (place, number(mask)), "bool"))
            moved, upper = self._copy(prefix), self._copy(total)
            for k, slot in total.items():
                mine = self.keep(self.evaluate(slot.read))
                other = self.keep(exchanged(mine, mask))
                self.store(moved[k], other)
                self.store(slot, Select(lower, mine, other, mine.type))
                self.store(upper[k], Select(lower, other, mine, mine.type))
            self.take_up(s, moved, prefix)
            for k, slot in prefix.items():
                old, new = self.evaluate(slot.read), self.evaluate(moved[k].read)
                self.store(slot, Select(lower, old, new, new.type))
            self.take_up(s, total, upper)
            mask *= 2

    def _room_for(self, state: State) -> dict[int, Local]:
        """Room for the state of every warp of a block, twice: a step stores into the half that none still reads."""
        found: dict[int, Local] = {}
        for k, slot in state.items():
            buffer = slot.local.buffer
            found[k] = replace(
                slot.local,
                buffer=Buffer(self.name(f"{buffer.name}_shared"), buffer.type, "shared", affine(2 * self.team)),
            )
            self.scope.out.append(Declare(found[k].buffer))
        return found

    def _across_warps(
        self, s: Scan, total: State, carry: State, start: State, shared: dict[int, Local], half: str
    ) -> None:  # fmt: skip
        """`carry` takes up the totals of all warps in order; `start` is what it was when this warp's turn came."""
        base = variable(half) * self.team
        with self.branch(Call("eq", (Var(self.lane, "i64"), number(0)), "bool")):
            for k, slot in total.items():
                self.scope.out.append(Store(shared[k].buffer, Form(base + Dim(self.warp)), self.evaluate(slot.read)))
        self.scope.out.append(Barrier())
        turn = self.name("before")
        body: list[Stmt] = []
        with self.inside(out=body):
            mine = self.keep(Call("eq", (Var(turn, "i64"), Var(self.warp, "i64")), "bool"))
            other = self._copy(total)
            for k, slot in other.items():
                now, held = self.evaluate(carry[k].read), self.evaluate(start[k].read)
                self.store(start[k], Select(mine, now, held, now.type))
                self.store(slot, Load(shared[k].buffer, Form(base + Dim(turn)), shared[k].buffer.type))
            self.take_up(s, carry, other)
        self.scope.out.append(Loop(turn, number(0), number(self.team), 1, "unrolled", tuple(body)))

    def _copy(self, state: State) -> State:
        """A state of its own that holds the same."""
        found: State = {}
        for k, slot in state.items():
            found[k] = self.slot(f"{slot.local.buffer.name}_at", slot.local.buffer.type, slot.axes)
            with self.inside():
                self.fill(found[k].local, slot.axes, slot.read)
        return found


def scannable(outputs: tuple[Tensor, ...], index: Index) -> bool:
    """Whether lanes can share the scans over an index: states without axes of their own, carried over it alone."""
    for s in walk(*(t.body for t in outputs)):
        if isinstance(s, Reduce) and index in s.indices:
            return False
        if not isinstance(s, Scan):
            continue
        plain = s.index is index and not s.monoid.followers and not any(c.axes for c in s.monoid.components)
        if not plain or any(not free(s) <= set(t.axes) for t in outputs):
            return False
        if any(isinstance(x, Reduce) for c in s.monoid.combine for x in walk(c)):
            return False
    return True


def _groups(roots: list[Scalar], index: Index) -> list[Scan]:
    """The scans over an index, whatever component is asked for, each after those that it reads."""
    found: dict[Scalar, None] = {}
    for s in walk(*roots):
        if isinstance(s, Scan) and s.index is index:
            found.setdefault(part_of(s, 0))
    return [s for s in found if isinstance(s, Scan)]


def exchanged(value: Expr, mask: int) -> Expr:
    """The value that the lane at `lane xor mask` holds; small types travel as 32 bits."""
    wide = value.type if value.type in ("i32", "u32", "i64", "u64", "f32", "f64") else "i32"
    sent = value if value.type == wide else Call("cast", (value,), wide)
    got = Call("shuffle_xor", (sent, Literal(mask, "i32")), wide)
    return got if value.type == wide else Call("cast", (got,), value.type)
