"""The state of a fold: an array for each component over the block axes that it depends on, and how one is combined.

slot  ::= array, block axes, the read of the element at the point in force
step  ::= combine(state, right) where a mask holds: one more element, or another state, taken up
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tang_egg.affine import Affine, AffineLike, Atom, Index, affine
from tang_egg.codegen.kernel import Expr, Form, Store
from tang_egg.codegen.lower_scope import Axis, Local
from tang_egg.codegen.lower_value import Values
from tang_egg.codegen.vectors import AVX2, Vectors
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, StateRef, Statistic, free, walk
from tang_egg.monoid import Monoid, lifts, replace_state


@dataclass(frozen=True, slots=True)
class Slot:
    """The array of one component: its block axes, and the stand-in by which expressions read it."""

    local: Local
    axes: tuple[Axis, ...]
    read: Read

    def at(self, change: Mapping[Atom, AffineLike]) -> Read:
        """The element at the point in force, some coordinates changed."""
        return Read(
            self.read.source, tuple(c.substitute(change) for c in self.read.coordinates if isinstance(c, Affine))
        )


State = dict[int, Slot]


@dataclass(frozen=True, slots=True)
class Step:
    """How a state takes up one more element: `combine(state, right, k)` where the mask holds."""

    combine: Callable[[Mapping[int, Scalar | Slot], Mapping[int, Scalar | Slot], int], Scalar]
    right: Mapping[int, Scalar | Slot]
    mask: list[Scalar]
    identity: Callable[[int], Scalar]
    commutes: bool

    def new(self, state: State, k: int) -> Scalar:
        """Component k of the state after the step."""
        return masked(self.mask, self.combine(state, self.right, k), state[k].read)


class States(Values):
    """See the module text."""

    def slot(self, stem: str, type: str, axes: Sequence[Axis], mutable: bool = True) -> Slot:
        """A new array over some block axes."""
        local = replace(self.array(stem, type, axes), mutable=mutable)
        return self.slot_of(local, axes)

    def slot_of(self, local: Local, axes: Sequence[Axis]) -> Slot:
        return Slot(local, tuple(axes), Read(self.as_input(local), tuple(affine(a.index) for a in axes)))

    def store(self, slot: Slot, value: Expr) -> None:
        """Stores a value in the element that `slot.read` reads at the point in force."""
        address = self.local_address(slot.local, slot.read)
        self.scope.out.append(Store(slot.local.buffer, Form(address), value))

    def frozen(self, slot: Slot) -> Slot:
        """The same array, taken as finished from here on: values computed from it may be moved within this scope."""
        return self.slot_of(replace(slot.local, mutable=False, home=self.scope.depth), slot.axes)

    def is_cascade(self, group: Reduce | Scan) -> bool:
        """Whether followers can be streamed: each lift says how it looks under any statistic, not only its own."""
        followers = group.monoid.followers
        return bool(followers) and all(any(isinstance(x, Statistic) for x in walk(group.body[k])) for k in followers)

    def lifted(self, group: Reduce | Scan) -> tuple[Scalar, ...]:
        """What a state takes up at a point: the state of one element, or for a cascade the bodies to be streamed."""
        return lifts(group) if group.monoid.followers and not self.is_cascade(group) else group.body

    def component_axes(self, group: Reduce | Scan, k: int) -> list[Axis]:
        """The block axes of a component: those its lifts depend on, its own ones included."""
        if not group.monoid.components[k].axes and not self.is_cascade(group):
            # components that read each other move together, over the axes of all of them
            together = coupled(group.monoid, k)
            if len(together) > 1:
                return self.blocks({a.index for n in together for a in self._own_blocks(group, n)})
        return self._own_blocks(group, k)

    def _own_blocks(self, group: Reduce | Scan, k: int) -> list[Axis]:
        indices: set[Index] = set(group.monoid.components[k].axes)
        own = {a for n in group.monoid.needs(k) if n != k for a in group.monoid.components[n].axes}
        for n in group.monoid.needs(k):
            indices |= free(group.body[n]) - (own if n != k else set())
        if isinstance(group, Reduce):
            indices |= {i for c in group.where.affine for i in c.indices()}
            indices |= {i for c in group.where.data for i in free(c)}
            indices -= set(group.indices)
        else:
            indices.discard(group.index)
        for g in self.guards:
            indices |= free(g) - (set(group.indices) if isinstance(group, Reduce) else {group.index})
        return self.blocks(indices)

    def declare_state(
        self, group: Reduce | Scan, parts: Sequence[int], extra: Axis | None = None,
        start: Callable[[int], Slot] | None = None,
    ) -> State:  # fmt: skip
        """State arrays holding the identity, or the states that `start` gives."""
        state: State = {}
        for k in parts:
            component = group.monoid.components[k]
            below = [group.body[n] for n in sorted(group.monoid.needs(k))]
            axes = self.contiguous_last(self.component_axes(group, k), below) + ([extra] if extra is not None else [])
            stem = component.name if len(parts) > 1 else "acc"
            state[k] = self.slot(stem_of(stem), self.real if component.type == "real" else component.type, axes)
            self.fill(state[k].local, axes, group.monoid.identity[k] if start is None else start(k).read)
        return state

    # -- building the update

    def combined(
        self, group: Reduce | Scan, left: Mapping[int, Scalar | Slot], right: Mapping[int, Scalar | Slot], k: int
    ) -> Scalar:
        """Component k of combine(left, right): either holds expressions at the point, or arrays."""
        monoid = group.monoid

        def of(x: Scalar) -> Scalar | None:
            if not isinstance(x, StateRef):
                return None
            n = monoid.position(x.component)
            own = monoid.components[n].axes
            change: dict[Atom, AffineLike] = dict(zip(own, x.coordinates, strict=False)) if x.coordinates else {}
            side = left[n] if x.side == "left" else right[n]
            return side.at(change) if isinstance(side, Slot) else side

        return replace_state(monoid.combine[k], of)


def coupled(monoid: Monoid, k: int) -> frozenset[int]:
    """The components without axes that component k reads or is read by, directly or through others; itself included."""
    plain = [n for n, c in enumerate(monoid.components) if not c.axes]
    found = {k}
    while True:
        more = {n for n in plain if any(n in monoid.needs(f) or f in monoid.needs(n) for f in found)} | found
        if more == found:
            return frozenset(found)
        found = more


def masked(mask: Sequence[Scalar], new: Scalar, old: Scalar) -> Scalar:
    """`new` where all conditions hold, tested in order, else `old`."""
    for c in reversed(mask):
        new = Apply("select", (c, new, old))
    return new


def register_tile(axes: Sequence[Axis], states: int, vectors: Vectors = AVX2) -> list[int]:
    """Sizes of the sub-block of some axes whose state fits in registers; vectors run along the last axis.

    A quarter of the registers is left for what is taken up.
    """
    sizes = [1] * len(axes)
    room, most = max(1, vectors.registers * 3 // 4 // states), vectors.registers * 3 // 8
    lanes = vectors.lanes()
    if axes and axes[-1].size % 4 == 0:
        widths = (n for n in (32, 16, 8, 4) if n <= max(16, 2 * lanes))
        sizes[-1] = next(n for n in widths if axes[-1].size % n == 0 and n // lanes <= room)
        room = max(1, room // max(1, sizes[-1] // lanes))
    for n in range(len(axes) - 1, -1, -1):
        if sizes[n] == 1 and room > 1:
            sizes[n] = max(d for d in range(1, min(room, most) + 1) if axes[n].size % d == 0)
            room //= sizes[n]
    return sizes


def stem_of(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name).lstrip("0123456789_") or "acc"
