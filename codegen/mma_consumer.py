"""The consumers of a stream of products: the order of products and scalar work along the stream.

direct      for each tile of the stream:  acc += A · B                       (released one tile late)
staged      for each tile of the stream:  P from A in registers; rows; acc += P · B
in turn     for each tile of the stream:  S = Q · K; state; P from S; acc = acc · factor + P · V
overlapped  S(0); state; then S(t + 1) and acc += P(t) · V(t) are issued together, and the state of t + 1 is
            computed while the second still runs
"""

from __future__ import annotations

from tang_egg.affine import Affine, affine
from tang_egg.codegen.device import (
    Announce,
    Arrive,
    Await,
    CopyDrain,
    Forever,
    Leave,
    MmaCommit,
    MmaFence,
    MmaWait,
    Sync,
)
from tang_egg.codegen.kernel import Assign, Call, Form, If, Literal, Load, Stmt, Var, number, variable
from tang_egg.codegen.mma_cells import Cells
from tang_egg.codegen.mma_domain import Range, tile_range
from tang_egg.codegen.mma_memory import Ring
from tang_egg.codegen.mma_outputs import Outputs
from tang_egg.codegen.mma_state import Streams


class Consumer(Outputs):
    """See the module text."""

    def consumer(self) -> tuple[Stmt, ...]:
        w, m = self.w, self.memory
        with w.block() as out:
            thread = variable("thread")
            warp = w.integer("warp", Call("udiv", (Form(thread), number(32)), "i64"))
            lane = w.integer("lane", Call("umod", (Form(thread), number(32)), "i64"))
            quad = w.integer("quad", Call("udiv", (Form(lane), number(4)), "i64"))
            self.lane = lane
            self.row_offset = w.integer("row_offset", Form(64 * variable("group") + 16 * warp + quad))
            self.column_offset = w.integer(
                "column_offset", Form(2 * w.integer("pair", Call("umod", (Form(lane), number(4)), "i64")))
            )
            self._declare()
            self.at = {r.name: self.start(r, 0) for r in m.rings}
            if self.schedule.turns and self.g.groups == 2:
                second = Call("eq", (Form(variable("group")), number(1)), "bool")
                w.out.append(If(second, (Announce(number(4), 256),)))
            self.leaving: Var | None = None
            if self._late_release():
                self.leaving = w.mutable("leaving", number(-1))
            if self.tickets:
                with w.block() as body:
                    ring = m.resident
                    assert ring is not None
                    slot, phase = self.at[ring.name]
                    w.out.append(Await(ring.full, slot, phase))
                    tile = w.integer("tile", Call("cast", (Load(self.drawn, slot, "i32"),), "i64"))
                    w.out.append(Leave(Call("lt", (Form(tile), number(0)), "bool")))
                    self._tile(tile)
                w.out.append(Forever(tuple(body)))
            else:
                with self.every_tile() as tile:
                    if m.resident is not None:
                        slot, phase = self.at[m.resident.name]
                        w.out.append(Await(m.resident.full, slot, phase))
                    self._tile(tile)
            if self.out_maps:
                w.out.append(If(self.first_thread(), (CopyDrain(0, False),)))
        return tuple(out)

    def _tile(self, tile: Affine) -> None:
        w, p, m = self.w, self.plan, self.memory
        here = self.decode(tile)
        self.first_column = here[p.column] if p.column is not None else affine(0)
        found = tile_range(w, self.live, here, here[p.row])
        first = w.integer("row", Form(here[p.row] + self.row_offset))
        rows = (first, first + 8)
        fixed = {i: here[i] for i in p.batch}
        cells = Cells(w, self.buffers, fixed, p.row, rows)
        for i, side in ((p.row, self.g.rows), (p.stream, self.g.stream), (p.column, self.g.columns)):
            if i is not None:
                size = i.size.value
                cells.ragged[i] = size is None or size % side != 0
        streams = Streams(p, w, cells)
        streams.start()
        self.resident_slot = self.at[m.resident.name][0] if m.resident is not None else number(0)
        if p.direct:
            self._direct(found)
        elif not p.contractions:
            self._staged(streams, found)
        elif self.schedule.overlap and p.matrices and not self.g.chunk:
            self._overlapped(streams, found)
        else:
            self._in_turn(streams, found)
        streams.finish()
        if m.resident is not None and not self.schedule.reuse:
            w.out.append(Arrive(m.resident.empty, self.resident_slot, "group"))
        self._outputs(streams, here)
        if m.resident is not None:
            self.advance(m.resident, self.at[m.resident.name])

    def _direct(self, found: Range) -> None:
        w, ring = self.w, self.memory.outer
        assert ring is not None
        slot, phase = self.at[ring.name]
        before = w.mutable("before", number(0))
        pins = tuple(self.acc.values())
        with w.loop("step", number(0), Form(found.count)) as step:
            w.out.append(Await(ring.full, slot, phase))
            w.out.append(MmaFence())
            self._products(ring, slot, Call("eq", (Form(step), number(0)), "bool"), False)
            w.out.append(MmaCommit())
            w.out.append(MmaWait(1))
            w.out.append(If(Call("lt", (number(0), Form(step)), "bool"), (Arrive(ring.empty, before, "warp"),)))
            w.out.append(Assign(before.name, slot))
            self.advance(ring, (slot, phase))
        w.out.append(MmaWait(0, pins))
        w.out.append(Arrive(ring.empty, before, "warp"))

    def _staged(self, streams: Streams, found: Range) -> None:
        w, ring = self.w, self.memory.outer
        assert ring is not None
        slot, phase = self.at[ring.name]
        with w.loop("step", number(0), Form(found.count)) as step, streams.cells.scope():
            k = self._k(found, step)
            w.out.append(Await(ring.full, slot, phase))
            for o, b in zip(self.plan.staged, self.raw.values(), strict=True):
                self._load(ring.of(o), b, slot)
            self._update(streams, found, k, {}, self.raw)
            w.out.append(MmaFence())
            self._products(ring, slot, Call("eq", (Form(step), number(0)), "bool"), True)
            w.out.append(MmaCommit())
            w.out.append(MmaWait(0, tuple(self.acc.values())))
            w.out.append(Arrive(ring.empty, slot, "warp"))
            self.advance(ring, (slot, phase))

    def _in_turn(self, streams: Streams, found: Range) -> None:
        w, m = self.w, self.memory
        inner, outer = m.inner, m.outer
        assert inner is not None
        with w.loop("step", number(0), Form(found.count)) as step, streams.cells.scope():
            k = self._k(found, step)
            self._scores(inner)
            factors = self._update(streams, found, k, self.scores, {})
            if outer is not None:
                self._accumulate(outer, factors, step)

    def _accumulate(self, outer: Ring, factors: dict[int, tuple[Var, Var]], step: Affine) -> None:
        """acc := acc · factor + P · B for one tile, awaited."""
        w = self.w
        slot, phase = self.at[outer.name]
        self._rescale(factors, Call("lt", (number(0), Form(step)), "bool"))
        self._pack()
        w.out.append(Await(outer.full, slot, phase))
        w.out.append(MmaFence())
        self._products(outer, slot, Call("eq", (Form(step), number(0)), "bool"), True)
        w.out.append(MmaCommit())
        w.out.append(MmaWait(0, tuple(self.acc.values())))
        w.out.append(Arrive(outer.empty, slot, "warp"))
        self.advance(outer, (slot, phase))

    def _overlapped(self, streams: Streams, found: Range) -> None:
        w, m = self.w, self.memory
        inner, outer = m.inner, m.outer
        assert inner is not None
        assert outer is not None
        turns = self.schedule.turns and self.g.groups == 2
        self._scores(inner)
        with streams.cells.scope():
            self._update(streams, found, self._k(found, affine(0)), self.scores, {})
        self._pack()
        islot, iphase = self.at[inner.name]
        oslot, ophase = self.at[outer.name]
        group = variable("group")
        only_first = self.live.only_last()
        with w.loop("step", number(1), Form(found.count)) as step, streams.cells.scope():
            k = self._k(found, step)
            w.out.append(Await(inner.full, islot, iphase))
            if turns:
                w.out.append(Sync(Form(4 + group), 256))
            w.out.append(MmaFence())
            self._issue(inner, islot, Literal(True, "bool"))
            w.out.append(MmaCommit())
            w.out.append(Await(outer.full, oslot, ophase))
            w.out.append(MmaFence())
            self._products(outer, oslot, Call("eq", (Form(step), number(1)), "bool"), True)
            w.out.append(MmaCommit())
            if turns:
                w.out.append(Announce(Form(5 - group), 256))
            w.out.append(MmaWait(1, tuple(self.scores.values())))
            w.out.append(Arrive(inner.empty, islot, "warp"))
            self.advance(inner, (islot, iphase))
            factors = self._update(streams, found, k, self.scores, {}, unmasked=only_first)
            w.out.append(MmaWait(0, tuple(self.acc.values())))
            w.out.append(Arrive(outer.empty, oslot, "warp"))
            self.advance(outer, (oslot, ophase))
            self._rescale(factors, None)
            self._pack()
        w.out.append(Await(outer.full, oslot, ophase))
        w.out.append(MmaFence())
        self._products(outer, oslot, Call("eq", (Form(found.count), number(1)), "bool"), True)
        w.out.append(MmaCommit())
        w.out.append(MmaWait(0, tuple(self.acc.values())))
        w.out.append(Arrive(outer.empty, oslot, "warp"))
        self.advance(outer, (oslot, ophase))
