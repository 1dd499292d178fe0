"""Scans: a state that is carried from one iteration of an enclosing loop to the next.

The state lives in the scope around the loop over the scan's index; where a scan is first read, that loop's body gets
the update. Other indices of the scan that are bound further in are held whole in the state.
"""

from __future__ import annotations

from dataclasses import replace

from tang_egg.affine import affine
from tang_egg.codegen.lower_fold import Folds, part_of
from tang_egg.codegen.lower_scope import Axis, Known, Scope
from tang_egg.codegen.lower_state import State
from tang_egg.ir import Read, Scalar, Scan, free
from tang_egg.schedule import Schedule


class Scans(Folds):
    """See the module text.

    `starts`: for a scan by chunks, the states at their starts (lower_chunk); `piece`: the binding of its index by the
    loop over a chunk, the only one from which they count: any other loop over the index begins at its first point.
    `running`: states that were declared further out than around the loop that binds the index (lower_turn).
    """

    piece: Axis | None = None

    def __init__(self, schedule: Schedule, real: str) -> None:
        super().__init__(schedule, real)
        self.starts: dict[Scalar, State] = {}
        self.carried: dict[Scalar, tuple[State, list[Axis]]] = {}
        self.running: dict[Scalar, tuple[State, list[Axis]]] = {}

    def scan(self, s: Scan) -> Read:
        """Brings a scan up to the current point of its loop, and gives the read of component `part` of its state."""
        held, self.guards = self.guards, []
        try:
            axis = self.axis(s.index)
            home = next(x for x in self.scope.chain() if s.index in x.axes)
            parts = sorted(self.parts.get(part_of(s, 0), set()) | s.monoid.needs(s.part))
            with self.at(home):
                (self._scan_block if axis.block else self._scan_point)(s, parts, home)
        finally:
            self.guards = held
        found = self.known("arrays", s)
        assert isinstance(found, Read), "a scan was computed out of reach of its reader"
        return found

    def inner_axes(self, s: Scan, parts: list[int]) -> list[Axis]:
        """Whole blocks for the indices of the scan that are not bound outside its loop."""
        wanted = {i for k in parts for i in free(part_of(s, k))} - {s.index}
        wanted |= {i for k in parts for i in s.monoid.components[k].axes}
        axes = self.unbound_own_axes(s, parts)
        for i in sorted(wanted, key=lambda i: i.name):
            if self.bound(i) is None and all(a.index is not i for a in axes):
                axes.append(self.whole(i, s))
        return axes

    def _scan_point(self, s: Scan, parts: list[int], home: Scope) -> None:
        assert home.parent is not None
        with self.at(home.parent):
            later = self.piece is not None and home.axes[s.index] == self.piece
            state, inner = self.running.get(part_of(s, 0)) or self.begin(s, parts, later)
        self.carried[part_of(s, 0)] = state, inner
        with self.inside(*inner):
            self.update(s, state, None, [])
            self._publish_scan(s, state, home, inner)

    def begin(self, s: Scan, parts: list[int], later: bool = False) -> tuple[State, list[Axis]]:
        """Declares the state of a scan in the scope in force; gives it with the axes that are bound further in.

        `later`: it goes on from the state at the start of a chunk, where that was found.
        """
        inner = self.inner_axes(s, parts)
        with self.inside(*inner):
            starts = self.starts.get(part_of(s, 0)) if later else None
            return self.declare_state(s, parts, start=None if starts is None else starts.__getitem__), inner

    def _publish_scan(self, s: Scan, state: State, home: Scope, inner: list[Axis]) -> None:
        hidden = {a.index for a in inner}
        for k, slot in state.items():
            part = part_of(s, k)
            source = self.as_input(replace(slot.local, mutable=False, home=home.depth))
            axes = {i: a for i in free(part) - hidden if (a := self.bound(i)) is not None}
            read = Read(source, tuple(affine(a.index) for a in slot.axes))
            home.arrays.setdefault(part, []).append(Known(read, axes))

    def _scan_block(self, s: Scan, parts: list[int], home: Scope) -> None:
        """A scan over an axis held as a block: runs over it once and keeps every state."""
        axis = self.axis(s.index)
        inner = self.inner_axes(s, parts)
        hidden = {a.index for a in inner}
        with self.inside(*inner):
            state = self.declare_state(s, parts)
            kept = {
                k: self.slot(f"{x.local.buffer.name}_all", x.local.buffer.type, (*x.axes, axis))
                for k, x in state.items()
            }
            with self.refine(axis):
                self.update(s, state, None, [])
                for k, slot in state.items():
                    with self.inside(), self.points(slot.axes):
                        self.put(kept[k].local, kept[k].axes, self.evaluate(slot.read))
            for k, slot in kept.items():
                part: Scalar = part_of(s, k)
                source = self.as_input(replace(slot.local, mutable=False, home=home.depth))
                axes = {i: a for i in free(part) - hidden if (a := self.bound(i)) is not None}
                read = Read(source, tuple(affine(a.index) for a in slot.axes))
                home.arrays.setdefault(part, []).append(Known(read, axes))
