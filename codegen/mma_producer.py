"""The producer of a stream of products: one thread that copies operands ahead of those who multiply them.

    for each tile:  the first streamed tile of the inner ring, the resident operands, then the rest in the order of use

Tiles come from a stride over blocks, or from a counter that all blocks share; then the next ticket is drawn early, and
the tile's number travels to the consumers with the slot of the resident operand.
"""

from __future__ import annotations

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.device import Arrive, Await, Forever, Leave, Retire, Ticket
from tang_egg.codegen.kernel import Assign, Call, Form, If, Literal, Stmt, Store, Var, number, variable
from tang_egg.codegen.mma_domain import tile_range
from tang_egg.codegen.mma_frame import Frame
from tang_egg.codegen.mma_memory import Ring


class Producer(Frame):
    """See the module text."""

    def producer(self) -> tuple[Stmt, ...]:
        w, m = self.w, self.memory
        with w.block() as out:
            at = {r.name: self.start(r, 1) for r in m.rings}
            if not self.tickets:
                with self.every_tile() as tile:
                    self._fill_tile(at, self.decode(tile), None)
            else:
                self._draw(at)
        return tuple(out)

    def _draw(self, at: dict[str, tuple[Var, Var]]) -> None:
        """Tiles from a counter: the next is asked for early, and travels to the consumers with the resident slot."""
        w, ring = self.w, self.memory.resident
        assert ring is not None
        tile = w.mutable("tile", Form(variable("block")))
        with w.block() as body:
            ticket = w.name("next")
            w.out.append(Ticket(ticket, 0))
            slot, phase = at[ring.name]
            done = w.let("done", Call("le", (self.tiles(), tile), "bool"))
            with w.block() as end:
                w.out.append(Await(ring.empty, slot, phase))
                w.out.append(Store(self.drawn, slot, Literal(-1, "i32")))
                w.out.append(Arrive(ring.full, slot, "thread"))
            w.out.append(If(done, tuple(end)))
            w.out.append(Leave(done))
            self._fill_tile(at, self.decode(variable(tile.name)), tile)
            w.out.append(Assign(tile.name, Var(ticket, "i64")))
        w.out.append(Forever(tuple(body)))
        w.out.append(Retire(0))

    def _fill_tile(self, at: dict[str, tuple[Var, Var]], here: dict[Index, Affine], drawn: Var | None) -> None:
        w, m = self.w, self.memory
        found = tile_range(w, self.live, here, here[self.plan.row])
        lag = 1 if m.inner is not None and m.outer is not None and self.schedule.overlap else 0

        def resident() -> None:
            for ring in (m.resident, m.carried):
                if ring is not None:
                    once(ring)

        def once(ring: Ring) -> None:
            slot, phase = at[ring.name]
            w.out.append(Await(ring.empty, slot, phase))
            if drawn is not None and ring is m.resident:
                w.out.append(Store(self.drawn, slot, Call("cast", (drawn,), "i32")))
            starts = {**here, **{p.operand.inner: affine(0) for p in ring.placed}}
            w.out.extend(m.copies(ring, slot, starts))
            self.advance(ring, at[ring.name])

        def stream(ring: Ring, step: Affine) -> None:
            k = w.integer("k0", Form(self.g.stream * (found.first + found.count - 1 - step)))
            starts = {**here, self.plan.stream: k}
            slot, phase = at[ring.name]
            inner = {p.operand.inner for p in ring.placed} - {self.plan.stream}
            if inner and self.g.chunk:
                (d,) = inner
                with w.loop("chunk", number(0), self.chunks(d)) as chunk:
                    w.out.append(Await(ring.empty, slot, phase))
                    w.out.extend(m.copies(ring, slot, {**starts, d: w.integer("d0", Form(self.g.chunk * chunk))}))
                    self.advance(ring, at[ring.name])
                return
            w.out.append(Await(ring.empty, slot, phase))
            w.out.extend(m.copies(ring, slot, {**starts, **{d: affine(0) for d in inner}}))
            self.advance(ring, at[ring.name])

        if lag:
            assert m.inner is not None
            assert m.outer is not None
            stream(m.inner, affine(0))
            resident()
            with w.loop("step", number(1), Form(found.count)) as step:
                stream(m.inner, step)
                stream(m.outer, step - 1)
            stream(m.outer, found.count - 1)
            return
        resident()
        with w.loop("step", number(0), Form(found.count)) as step:
            for ring in (m.inner, m.outer):
                if ring is not None:
                    stream(ring, step)
