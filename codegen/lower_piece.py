"""Scans along single rows by pieces side by side: each lane of a vector scans a piece of its own.

    scan  tile=t:1024 stage=X        a strip of t has 16 pieces of 64 points; lane l has the points l·64 + s
        X_turned[s, l] := X[i, l·64 + s]
        wide := identity;  for s: wide := combine(wide, lift)           the states of whole pieces, all lanes at once
        for l: start[l] := carry; carry := combine(carry, wide[l])
        state := start;    for s: state := combine(state, lift); Y_strip[s, l] := f(state)
        Y[i, l·64 + s] := Y_strip[s, l]

Right for every associative monoid: earlier points stay on the left. Scans whose lifts hold scans run point by point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.kernel import Call, Expr, Form, Literal, Store, number
from tang_egg.codegen.lower_fold import part_of
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_state import Slot, State
from tang_egg.codegen.lower_turn import Turns, reads_in_place
from tang_egg.ir import Read, Reduce, Scalar, Scan, Tensor, free, map_children, walk
from tang_egg.rewrite import substitute

LANES = 16
"""Pieces of a strip."""


class Pieces(Turns):
    """See the module text."""

    def in_strips(self, t: Index, outputs: Sequence[Tensor], inner: Callable[[], None]) -> bool:
        """Strips of several rows, else of pieces of one; False where there are neither."""
        return super().in_strips(t, outputs, inner) or self._in_pieces(t, outputs, inner)

    def _in_pieces(self, t: Index, outputs: Sequence[Tensor], inner: Callable[[], None]) -> bool:
        size, extent = self.schedule.tile_of(t.name), t.size.value
        if self.schedule.shape != "scan" or self.schedule.grid or size % (8 * LANES) or not size:
            return False
        if (extent is not None and extent < size) or not self._single(t, outputs):
            return False
        self.begin_all(t, outputs)
        full: Expr = number(extent // size * size) if extent is not None else self.whole_strips(t, size)
        with self.loop(t, number(0), full, size) as strip:
            self._strip(t, strip.start, size // LANES, outputs)
        if full != Form(t.size):
            with self.loop(t, full, Form(t.size)):
                inner()
        self.running.clear()
        return True

    def _single(self, t: Index, outputs: Sequence[Tensor]) -> bool:
        """Whether all outputs run along t, no other index is a block, and no fold or second scan stands in a body."""
        for x in outputs:
            if not x.axes or x.axes[-1] is not t or any((a := self.bound(i)) is None or a.block for i in x.axes[:-1]):
                return False
            for s in walk(x.body):
                if isinstance(s, Reduce) or (isinstance(s, Scan) and (s.index is not t or _nested(s))):
                    return False
                if isinstance(s, Scan) and any(c.axes for c in s.monoid.components):
                    return False
        return True

    def _strip(self, t: Index, start: Affine, length: int, outputs: Sequence[Tensor]) -> None:
        """One strip: pieces in the lanes of vectors."""
        over = Index(f"{t.name}~piece", affine(LANES))
        along = Index(f"{t.name}~step", affine(length))
        lane, step = Axis(over, affine(0), LANES), Axis(along, affine(0), length)
        at = {t: start + affine(over) * length + affine(along)}
        groups = [s for s in self.running if isinstance(s, Scan) and s.index is t]
        with self.inside(lane, step):
            self._turn_pieces(t, at, outputs, lane, step)
            lifts = {s: dict(enumerate(substitute(b, at) for b in self.lifted(s))) for s in groups}
            starts = {s: self._starts(s, lifts[s], lane, step) for s in groups}
            states: dict[Scalar, Slot] = {}
            bodies = []
            for x in outputs:
                for s in (s for s in walk(x.body) if isinstance(s, Scan)):
                    group = part_of(s, 0)
                    assert isinstance(group, Scan)
                    states[s] = starts[group][s.part]
                bodies.append(substitute(_with_states(x.body, states), at))
            held = [self.slot(f"{x.name}_strip", x.dtype, [step, lane]) for x in outputs]
            with self.refine(step):
                for s in groups:
                    self.take_up(s, starts[s], dict(lifts[s]))
                for x, body, slot in zip(outputs, bodies, held, strict=True):
                    self.prepare([body], [lane])
                    with self.inside(), self.points([lane]):
                        self.store(slot, self.stored_as(self.evaluate(body), x.dtype))
            for x, slot in zip(outputs, held, strict=True):
                self._copy_out(x, at[t], slot, lane, step)

    def _turn_pieces(
        self, t: Index, at: dict[Index, Affine], outputs: Sequence[Tensor], lane: Axis, step: Axis
    ) -> None:  # fmt: skip
        for s in dict.fromkeys(reads_in_place([x.body for x in outputs])):
            near = s.coordinates[-1] if s.coordinates else None
            affine_ = isinstance(near, Affine) and all(isinstance(c, Affine) for c in s.coordinates)
            if not affine_ or s.source.name not in self.schedule.stage or not self.movable(s) or t not in free(s):
                continue
            moved = substitute(s, dict(at))
            assert isinstance(moved, Read) and isinstance(near, Affine)
            if near.coefficient(t).value != 1:
                continue
            axes = [step, lane]
            local = self.array(f"{s.source.name}_turned", s.source.dtype, axes)
            self.turn(local, axes, step, lane, lambda moved=moved: self.raw(moved))  # type: ignore[misc]
            self.result(local, axes, moved)

    def _starts(self, s: Scan, lifts: dict[int, Scalar], lane: Axis, step: Axis) -> State:
        """The states at the starts of all pieces; the carried state moves on to the end of the strip."""
        carry, _ = self.running[s]
        wide: State = {}
        starts: State = {}
        for k, slot in carry.items():
            kind = slot.local.buffer.type
            wide[k] = self.slot(f"{slot.local.buffer.name}_wide", kind, [lane])
            starts[k] = self.slot(f"{slot.local.buffer.name}_start", kind, [lane])
            with self.inside():
                self.fill(wide[k].local, [lane], s.monoid.identity[k])
        with self.refine(step):
            self.take_up(s, wide, dict(lifts))
        with self.refine(lane, 1, "serial"):
            for k, slot in carry.items():
                with self.inside():
                    self.store(starts[k], self.evaluate(slot.read))
            self.take_up(s, carry, {k: x.read for k, x in wide.items()})
        return starts

    def _copy_out(self, x: Tensor, at: Affine, slot: Slot, lane: Axis, step: Axis) -> None:
        """Copies a finished strip to an output."""
        axes = [lane, step]
        local = self.array(f"{x.name}_rows", x.dtype, axes)
        self.turn(local, axes, lane, step, lambda: self.element(slot.local, slot.axes))
        places = [at if n == len(x.axes) - 1 else affine(i) for n, i in enumerate(x.axes)]
        with ExitStack() as stack:
            stack.enter_context(self.inside())
            stack.enter_context(self.points(axes))
            self.scope.out.append(Store(self.written[x], self.address(x.shape, places), self.element(local, axes)))

    def stored_as(self, value: Expr, kind: str) -> Expr:
        """A value in the type that it is stored in."""
        if isinstance(value, Literal):
            return Literal(value.value, kind)
        return value if value.type == kind else Call("cast", (value,), kind)


def _nested(s: Scan) -> bool:
    return any(isinstance(x, Scan) for b in s.body for x in walk(b))


def _with_states(body: Scalar, states: dict[Scalar, Slot]) -> Scalar:
    """A body whose scans are read from states."""
    found = states.get(body)
    return found.read if found is not None else map_children(body, lambda c: _with_states(c, states))
