"""The consumers of a stream of products: the order of products and scalar work along the stream.

direct      for each tile of the stream:  acc += A · B                       (released one tile late)
staged      for each tile of the stream:  P from A in registers; rows; acc += P · B
in turn     for each tile of the stream:  S = Q · K; state; P from S; acc = acc · factor + P · V
overlapped  S(0); state; then S(t + 1) and acc += P(t) · V(t) are issued together, and the state of t + 1 is
            computed while the second still runs
"""

from __future__ import annotations

from collections.abc import Callable

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
from tang_egg.codegen.kernel import Assign, Call, Expr, Form, If, Literal, Load, Stmt, Var, number, variable
from tang_egg.codegen.mma_cells import Cells
from tang_egg.codegen.mma_domain import Range, divided, tile_range
from tang_egg.codegen.mma_memory import Ring
from tang_egg.codegen.mma_outputs import Outputs
from tang_egg.codegen.mma_regroup import regroup
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
            self.regroup = regroup(w, Form(lane)) if self.packed and self.plan.dtype == "f32" else None
            self.at = {r.name: self.start(r, 0) for r in m.rings}
            if m.outer is not None and not self.plan.direct and not self.plan.contractions:
                self.ahead = self.start(m.outer, 0)
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
        ring = self.memory.outer
        assert ring is not None
        slot, _ = self.at[ring.name]
        pins = tuple(self.acc.values())
        self._follow_the_first()
        self._one_behind(ring, "step", Form(found.count), lambda fresh: self._products(ring, slot, fresh, False), pins)

    def _staged(self, streams: Streams, found: Range) -> None:
        """Two tiles per turn of the loop: while the product of one runs, the left factors of the next are made.

        They are packed into two sets of registers in turn, since a product may read its set until it is awaited.
        """
        w = self.w
        count = found.count
        self._follow_the_first()
        if any(streams.follow(x.part) is not None for x in self.plan.matrices):
            self._staged_in_turn(streams, found)
            return
        self._fetch_columns(streams, found, affine(0))
        self._left_factors(streams, found, affine(0), 0)
        before = w.mutable("before", number(0))
        pairs = divided(count, 2)
        with w.loop("pair", number(0), pairs) as pair, streams.cells.scope():
            first = w.integer("step", Form(2 * pair))
            self._product_behind(first, 0, before)
            self._left_factors(streams, found, first + 1, 1)
            self._product_behind(first + 1, 1, before)
            more = Call("lt", (Form(first + 2), Form(count)), "bool")
            with streams.cells.scope(), w.when(more):
                self._left_factors(streams, found, first + 2, 0)
        last = w.integer("step", Form(count - 1))
        with w.when(Call("eq", (Call("umod", (Form(count), number(2)), "i64"), number(1)), "bool")):
            self._product_behind(last, 0, before)
        ring = self.memory.outer
        assert ring is not None
        w.out.append(MmaWait(0, tuple(self.acc.values())))
        w.out.append(Arrive(ring.empty, before, "warp"))

    def _staged_in_turn(self, streams: Streams, found: Range) -> None:
        """One tile after the other: accumulators that follow a statistic move between their products."""
        w = self.w
        self._fetch_columns(streams, found, affine(0))
        with w.loop("step", number(0), Form(found.count)) as step, streams.cells.scope():
            factors = self._left_factors(streams, found, step, 0)
            self._rescale(factors, Call("lt", (number(0), Form(step)), "bool"))
            self._product_beside(step, 0, lambda: None)

    def _left_factors(self, streams: Streams, found: Range, step: Affine, which: int) -> dict[int, tuple[Var, Var]]:
        """The staged operands of a step in registers: folded into the row parts, and packed as set `which`.

        Gives the factors by which matrix parts move.
        """
        w, ring = self.w, self.memory.outer
        assert ring is not None
        slot, phase = self.ahead
        with streams.cells.scope():
            k = self._k(found, step)
            w.out.append(Await(ring.full, slot, phase))
            for o, b in zip(self.plan.staged, self.raw.values(), strict=True):
                self._load(ring.of(o), b, slot)
            self.advance(ring, self.ahead)
            self._know_columns(streams)
            factors = self._update(streams, found, k, {}, self.raw, self.live.masked, which)
        self._fetch_columns(streams, found, step + 1)
        return factors

    def _product_behind(self, step: Affine, which: int, before: Var) -> None:
        """acc += P · B of a step with the set `which` is issued; then the product of the step before has ended.

        So its set of registers may be written, its slot is handed back, and the matrix unit has something to do.
        """
        w, ring = self.w, self.memory.outer
        assert ring is not None
        slot, phase = self.at[ring.name]
        w.out.append(MmaFence())
        self._products(ring, slot, Call("eq", (Form(step), number(0)), "bool"), True, which)
        w.out.append(MmaCommit())
        self._tell(step)
        w.out.append(MmaWait(1))
        w.out.append(If(Call("lt", (number(0), Form(step)), "bool"), (Arrive(ring.empty, before, "warp"),)))
        w.out.append(Assign(before.name, slot))
        self.advance(ring, (slot, phase))

    def _product_beside(self, step: Affine, which: int, work: Callable[[], object], first: int = 0) -> None:
        """acc += P · B of a step with the set `which`, while `work` is done; the accumulator is new at step `first`."""
        w, ring = self.w, self.memory.outer
        assert ring is not None
        slot, phase = self.at[ring.name]
        w.out.append(MmaFence())
        self._products(ring, slot, self._fresh(step, first), True, which)
        w.out.append(MmaCommit())
        if not self.plan.contractions:
            self._tell(step)
        work()
        w.out.append(MmaWait(0, tuple(self.acc.values())))
        w.out.append(Arrive(ring.empty, slot, "warp"))
        self.advance(ring, (slot, phase))

    def _in_turn(self, streams: Streams, found: Range) -> None:
        w, m = self.w, self.memory
        inner, outer = m.inner, m.outer
        assert inner is not None
        self._begin()
        self._begun(streams)
        for start, stop, masked in self._segments(found, affine(0)):
            with w.loop("step", Form(start), Form(stop)) as step, streams.cells.scope():
                k = self._k(found, step)
                self._scores(inner)
                factors = self._update(streams, found, k, self.scores, {}, masked)
                if outer is not None:
                    self._accumulate(outer, factors, step)

    def _segments(self, found: Range, begin: Affine) -> list[tuple[Affine, Affine, bool | None]]:
        """The steps from `begin` on, in loops of their own where masks are needed and where they are not."""
        if not self.live.masked or (self.live.only_last() and begin.value == 1):
            return [(begin, found.count, False)]
        if self.live.everywhere:
            return [(begin, found.count, True)]
        w = self.w
        if begin.value == 0:
            start, stop = found.full
        else:
            start, stop = (
                w.integer(n, _at_least(x, begin)) for n, x in zip(("masked", "full"), found.full, strict=True)
            )
        found_segments: list[tuple[Affine, Affine, bool | None]] = [(start, stop, False)]
        if start.value is None or start.value > (begin.value or 0):
            found_segments.insert(0, (begin, start, True))
        if found.low is not None:
            found_segments.append((stop, found.count, True))
        return found_segments

    def _accumulate(self, outer: Ring, factors: dict[int, tuple[Var, Var]], step: Affine) -> None:
        """acc := acc · factor + P · B for one tile, awaited."""
        w = self.w
        self._rescale(factors, Call("lt", (number(0), Form(step)), "bool"))
        self._pack()
        w.out.append(Await(outer.full, *self.at[outer.name]))
        self._product_beside(step, 0, lambda: None)

    def _overlapped(self, streams: Streams, found: Range) -> None:
        w, m = self.w, self.memory
        inner, outer = m.inner, m.outer
        assert inner is not None
        assert outer is not None
        self._begin()
        self._scores(inner)
        self._begun(streams)
        with streams.cells.scope():
            self._update(streams, found, self._k(found, affine(0)), self.scores, {}, None)
        self._pack()
        for start, stop, masked in self._segments(found, affine(1)):
            with w.loop("step", Form(start), Form(stop)) as step, streams.cells.scope():
                self._overlapped_step(streams, found, step, masked)
        w.out.append(Await(outer.full, *self.at[outer.name]))
        self._product_beside(found.count, 0, lambda: None, first=1)

    def _overlapped_step(self, streams: Streams, found: Range, step: Affine, masked: bool | None) -> None:
        """Scores of this step and the product of the one before are issued together; the state waits for the first."""
        w, m = self.w, self.memory
        inner, outer = m.inner, m.outer
        assert inner is not None
        assert outer is not None
        turns = self.schedule.turns and self.g.groups == 2
        (islot, iphase), (oslot, ophase) = self.at[inner.name], self.at[outer.name]
        group = variable("group")
        k = self._k(found, step)
        w.out.append(Await(inner.full, islot, iphase))
        if turns:
            w.out.append(Sync(Form(4 + group), 256))
        w.out.append(MmaFence())
        self._issue(inner, islot, Literal(True, "bool"))
        w.out.append(MmaCommit())
        w.out.append(Await(outer.full, oslot, ophase))
        w.out.append(MmaFence())
        self._products(outer, oslot, self._fresh(step, 1), True)
        w.out.append(MmaCommit())
        if turns:
            w.out.append(Announce(Form(5 - group), 256))
        w.out.append(MmaWait(1, tuple(self.scores.values())))
        w.out.append(Arrive(inner.empty, islot, "warp"))
        self.advance(inner, (islot, iphase))
        factors = self._update(streams, found, k, self.scores, {}, masked)
        w.out.append(MmaWait(0, tuple(self.acc.values())))
        w.out.append(Arrive(outer.empty, oslot, "warp"))
        self.advance(outer, (oslot, ophase))
        self._rescale(factors, None)
        self._pack()


def _at_least(x: Affine, low: Affine) -> Expr:
    if x.value is not None and low.value is not None:
        return number(max(x.value, low.value))
    return Call("max", (Form(x), Form(low)), "i64")
