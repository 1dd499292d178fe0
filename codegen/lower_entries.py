"""Ordered lists of entries in vectors: one more entry moves those that it precedes one place on.

    list    ::= for each field of an entry an array: one place for the entry that is taken up, then the entries in order
    take in      list[0] := one
                 for each place r, in lanes:
                     new[r] := list[r + 1] if it precedes one, else one if list[r] precedes it, else list[r]
                 list[1 ...] := new

The places are as many as fill vectors; what falls past the last entry that counts stays there and is never read. The
arrays become registers: an entry is taken up without a branch, and the places read one further on are a shuffle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tang_egg.affine import Index, affine
from tang_egg.codegen.kernel import Store, number
from tang_egg.codegen.lower_keep import Keeps
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_state import Slot, State
from tang_egg.ir import Apply, Read, Reduce, Scalar, StateRef
from tang_egg.monoid import replace_state
from tang_egg.monoid_entries import Entries


@dataclass(frozen=True, slots=True)
class Ordered:
    """The entries of a fold's state in arrays, one for each field, and how many places there are."""

    group: Reduce
    entries: Entries
    fields: tuple[Slot, ...]
    places: int

    def at(self, place: Index | int, field: int, ahead: int = 0) -> Read:
        """A field of the entry that is taken up (place 0), or of the list (from 1 on)."""
        return Read(self.fields[field].read.source, (affine(place) + ahead,))

    def component(self, n: int) -> Read:
        """A component of the state."""
        return self.at(n // self.entries.width + 1, n % self.entries.width)


class Lists(Keeps):
    """See the module text."""

    in_lists = True

    def begin_list(self, group: Reduce, entries: Entries, state: State) -> Ordered:
        """Declares a list that holds what the state does: nothing."""
        count = len(group.monoid.components) // entries.width
        lanes = min((n for n in (4, 8, 16) if n <= self.vectors.lanes()), key=lambda n: (-(-count // n), n))
        places = -(-count // lanes) * lanes
        whole = Axis(Index("place", affine(places + 1)), affine(0), places + 1)
        types = [state[f].local.buffer.type for f in range(entries.width)]
        names = [group.monoid.components[f].name.rstrip("0123456789") for f in range(entries.width)]
        fields = tuple(self.slot(f"{n}_list", t, [whole]) for n, t in zip(names, types, strict=True))
        found = Ordered(group, entries, fields, places)
        self._put_places(found, [group.monoid.identity[f] for f in range(entries.width)])
        return found

    def end_list(self, held: Ordered, state: State) -> None:
        """Moves the entries that count into the state."""
        for n, slot in state.items():
            with self.inside():
                self.fill(slot.local, (), held.component(n))

    def take_in(self, held: Ordered, one: Sequence[Scalar]) -> None:
        """Takes up an entry, whatever it is."""
        with self.inside():
            for slot, value in zip(held.fields, self.evaluate_all(one), strict=True):
                self.scope.out.append(Store(slot.local.buffer, number(0), value))
            r = self._places(held)
            width = range(held.entries.width)
            first = [held.at(0, f) for f in width]
            here, before = ([held.at(r.index, f, ahead) for f in width] for ahead in (1, 0))
            stays, moves = (self._precedes(held, entry, first) for entry in (here, before))
            new = [
                Apply("select", (stays, x, Apply("select", (moves, y, z))))
                for x, y, z in zip(here, first, before, strict=True)
            ]
            fresh = [self.slot("moved", s.local.buffer.type, [r]) for s in held.fields]
            with self.inside(r), self.points([r]):
                for slot, value in zip(fresh, self.evaluate_all(new), strict=True):
                    self.store(slot, value)
            self._put_places(held, [slot.read for slot in fresh])

    def _put_places(self, held: Ordered, values: Sequence[Scalar]) -> None:
        """Stores values in all places of a list."""
        r = self._places(held)
        for f, value in enumerate(values):
            slot = held.fields[f]
            with self.inside(r), self.points([r]):
                self.store(Slot(slot.local, (r,), held.at(r.index, f, 1)), self.evaluate(value))

    def _places(self, held: Ordered) -> Axis:
        return Axis(held.fields[0].axes[0].index, affine(0), held.places)

    def _precedes(self, held: Ordered, a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
        """Whether one entry comes before another."""
        entries = held.entries
        refs = dict(zip((*entries.of("left")[0], *entries.of("right")[0]), (*a, *b), strict=True))
        stands = entries.precedes(entries.of("left")[0], entries.of("right")[0])
        return replace_state(stands, lambda x: refs.get(x) if isinstance(x, StateRef) else None)
