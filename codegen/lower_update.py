"""One step of a fold: a point, or a tile of points, folded into the state arrays.

    plain      state := combine(state, lift)                       for each point of the tile, in order
    lanes      wide[r] := combine(wide[r], lift at r); later a tree over r
    cascade    tile := fold of the head lifts over the tile; new := combine(head, tile)
               follower := carry(follower) from the old statistic to the new one          (once per tile)
               follower := base(follower, body) with the new statistic in force           (for each live point)
               head := new

The carry is that of `monoid.cascade`. While the statistic of a state is `empty` its followers may hold NaN (they were
computed from inf - inf); the carry to a statistic that means something drops them, and only an all-empty fold shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.kernel import Expr, Form, Store
from tang_egg.codegen.lower_scope import Axis, Local
from tang_egg.codegen.lower_value import Values
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, StateRef, Statistic, free, walk
from tang_egg.monoid import replace_state, state_of

REGISTERS = 12
"""Vector registers that the state of a register tile may fill."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The array of one component: its block axes, and the stand-in by which expressions read it."""

    local: Local
    axes: tuple[Axis, ...]
    read: Read

    def at(self, change: Mapping[Index, Affine]) -> Read:
        """The element at the point in force, some coordinates changed."""
        return Read(self.read.source, tuple(c.substitute(dict(change)) for c in self.read.coordinates if isinstance(c, Affine)))


State = dict[int, Slot]


class Updates(Values):
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
        return bool(group.monoid.followers)

    def component_axes(self, group: Reduce | Scan, k: int) -> list[Axis]:
        """The block axes of a component: those its lifts depend on, its own ones included."""
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

    def declare_state(self, group: Reduce | Scan, parts: Sequence[int], extra: Axis | None = None) -> State:
        """State arrays holding the identity."""
        state: State = {}
        for k in parts:
            component = group.monoid.components[k]
            lifts = [group.body[n] for n in sorted(group.monoid.needs(k))]
            axes = self.contiguous_last(self.component_axes(group, k), lifts) + ([extra] if extra is not None else [])
            stem = component.name if len(parts) > 1 else "acc"
            state[k] = self.slot(_stem(stem), self.real if component.type == "real" else component.type, axes)
            self.fill(state[k].local, axes, group.monoid.identity[k])
        return state

    # -- building the update

    def combined(self, group: Reduce | Scan, left: State, right: Mapping[int, Scalar | Slot], k: int) -> Scalar:
        """Component k of combine(left, right): `right` holds expressions at the point, or arrays."""
        monoid = group.monoid

        def of(x: Scalar) -> Scalar | None:
            if not isinstance(x, StateRef):
                return None
            n = monoid.position(x.component)
            own = monoid.components[n].axes
            change = dict(zip(own, x.coordinates, strict=False)) if x.coordinates else {}
            side = left[n] if x.side == "left" else right[n]
            return side.at(change) if isinstance(side, Slot) else side

        return replace_state(monoid.combine[k], of)

    def update(self, group: Reduce | Scan, state: State, tile: Axis | None, mask: list[Scalar]) -> None:
        """Folds the point in force, or the points of `tile`, into the state."""
        with self.inside():
            if self.is_cascade(group):
                self._cascade(group, state, tile, mask)
            elif tile is not None and self._needs_points(group, state):
                with self.refine(tile):
                    self.update(group, state, None, mask)
            else:
                self._fold_in(group, state, {k: group.body[k] for k in state}, tile, mask)

    def _needs_points(self, group: Reduce | Scan, state: State) -> bool:
        """Whether the combine itself has folds, or a component has axes: then points are folded one by one."""
        return any(
            group.monoid.components[k].axes or any(isinstance(x, Reduce) for x in walk(group.monoid.combine[k]))
            for k in state
        )

    def _fold_in(
        self, group: Reduce | Scan, state: State, lifts: Mapping[int, Scalar], tile: Axis | None, mask: list[Scalar]
    ) -> None:
        """state := combine(state, lift) for each point of the tile."""
        extra = [tile] if tile is not None else []
        right: dict[int, Scalar | Slot] = dict(lifts)
        for k, slot in state.items():
            self.prepare([lifts[k], *mask], [*slot.axes, *extra])
            if group.monoid.components[k].axes:
                held = self.slot(f"{_stem(group.monoid.components[k].name)}_in", slot.local.buffer.type, slot.axes, False)
                self.fill(held.local, slot.axes, lifts[k])
                right[k] = held
        if tile is None:
            for k, slot in state.items():
                self.prepare([self.combined(group, state, right, k)], slot.axes)

        def new(at: State, k: int) -> Scalar:
            return masked(mask, self.combined(group, at, right, k), at[k].read)

        self.accumulate(state, new, tile, lambda k: group.monoid.identity[k], group.monoid.commutative, list(lifts.values()))

    # -- nests

    def accumulate(
        self,
        state: State,
        new: Callable[[State, int], Scalar],
        tile: Axis | None,
        identity: Callable[[int], Scalar],
        commutes: bool,
        lifts: Iterable[Scalar],
    ) -> None:
        """state[k] := new(state, k) for every point of its axes and, inside, every point of the tile in order."""
        groups: dict[tuple[Axis, ...], list[int]] = {}
        for k, slot in state.items():
            groups.setdefault(slot.axes, []).append(k)
        for axes, ks in groups.items():
            if tile is None:
                with self.inside(), self.points(axes):
                    self._store_all(state, ks, new)
            else:
                self._accumulate_tile(state, axes, ks, new, tile)

    def _store_all(self, state: State, ks: Sequence[int], new: Callable[[State, int], Scalar]) -> None:
        values = self.evaluate_all([new(state, k) for k in ks])
        if len(ks) > 1:
            values = [self.keep(v) for v in values]
        for k, value in zip(ks, values, strict=True):
            self.store(state[k], value)

    def _accumulate_tile(
        self, state: State, axes: tuple[Axis, ...], ks: Sequence[int], new: Callable[[State, int], Scalar], tile: Axis
    ) -> None:
        sizes = register_tile(axes, len(ks))
        with ExitStack() as stack:
            subs = [stack.enter_context(self.refine(a, n)) for a, n in zip(axes, sizes, strict=True)]
            registers = dict(state)
            for k in ks:
                held = self.slot(state[k].local.buffer.name, state[k].local.buffer.type, subs)
                with self.inside():
                    self.fill(held.local, subs, state[k].read)
                registers[k] = held
            with self.refine(tile), self.points(subs):
                self._store_all(registers, ks, new)
            for k in ks:
                with self.inside():
                    self.fill(state[k].local, subs, registers[k].read)

    # -- lanes

    def update_lanes(self, group: Reduce | Scan, wide: State, tile: Axis, lane: Axis, mask: list[Scalar]) -> None:
        """wide[r] := combine(wide[r], lift at r) for each point r of the tile."""
        with self.inside():
            moved: State = {}
            for k, slot in wide.items():
                local = replace(slot.local, origins=(*slot.local.origins[:-1], tile.start))
                moved[k] = self.slot_of(local, (*slot.axes[:-1], tile))
            self._fold_in(group, moved, {k: group.body[k] for k in wide}, None, mask)

    def combine_lanes(self, group: Reduce | Scan, state: State, wide: State, lane: Axis) -> None:
        """A tree over the lanes, then the result into the state."""
        width = lane.size
        while width > 1:
            half = width // 2 if width % 2 == 0 else 0
            if not half:
                break
            part = Axis(Index(lane.index.name, affine(half)), affine(0), half)
            self._combine_part(group, wide, lane, part, half)
            width = half
        for n in range(width):
            point = Axis(lane.index, affine(n))
            with self.inside(point):
                right = {k: slot.read for k, slot in wide.items()}
                self.accumulate(
                    state, lambda at, k, r=right: self.combined(group, at, r, k), None, lambda k: group.monoid.identity[k], True, ()
                )

    def _combine_part(self, group: Reduce | Scan, wide: State, lane: Axis, part: Axis, half: int) -> None:
        with self.inside(part):
            left: State = {}
            right: dict[int, Scalar | Slot] = {}
            for k, slot in wide.items():
                change: dict[Index, Affine] = {lane.index: affine(part.index)}
                left[k] = Slot(slot.local, (*slot.axes[:-1], part), slot.at(change))
                right[k] = slot.at({lane.index: part.index + half})
            self.accumulate(left, lambda at, k: self.combined(group, at, right, k), None, lambda k: group.monoid.identity[k], True, ())

    # -- cascades

    def _cascade(self, group: Reduce | Scan, state: State, tile: Axis | None, mask: list[Scalar]) -> None:
        monoid = group.monoid
        head = {k: s for k, s in state.items() if monoid.components[k].follow is None}
        following = [k for k in state if k not in head]
        new = self._new_head(group, head, tile, mask)
        old = {k: self.frozen(s) for k, s in head.items()}
        bodies: dict[int, Scalar] = {}
        for k in following:
            follow = monoid.components[k].follow
            assert follow is not None
            to, start = (self._of_head(group, follow.statistic, s) for s in (new, old))
            empty = self._of_head(group, follow.empty, old)
            kept = Apply("select", (empty, follow.base.identity[0], self._rebased(group, state, k, start, to)))
            carried = Apply("select", (Apply("eq", (start, to)), state[k].read, kept))
            with self.inside():
                self.prepare([carried], state[k].axes)
                with self.points(state[k].axes):
                    self.store(state[k], self.evaluate(carried))
            bodies[k] = replace_state(group.body[k], lambda x, to=to: to if isinstance(x, Statistic) else None)  # type: ignore[misc]
        extra = [tile] if tile is not None else []
        for k in sorted(following, key=lambda k: -len(state[k].axes)):
            self.prepare([bodies[k], *mask], [*state[k].axes, *extra])
        for k in following:
            base = monoid.components[k].follow.base  # type: ignore[union-attr]
            self._follow(state, k, base.combine[0], bodies[k], tile, mask)
        for k, slot in head.items():
            with self.inside():
                self.fill(slot.local, slot.axes, new[k].read)

    def _follow(self, state: State, k: int, combine: Scalar, body: Scalar, tile: Axis | None, mask: list[Scalar]) -> None:
        def step(at: State, n: int) -> Scalar:
            both = replace_state(
                combine, lambda x: (at[n].read if x.side == "left" else body) if isinstance(x, StateRef) else None
            )
            return masked(mask, both, at[n].read)

        self.accumulate({k: state[k]}, step, tile, lambda _: body, True, [body])

    def _new_head(self, group: Reduce | Scan, head: State, tile: Axis | None, mask: list[Scalar]) -> State:
        """The head after this step, in arrays of its own: the old one is still needed."""
        lifts: dict[int, Scalar] = {k: group.body[k] for k in head}
        right: dict[int, Scalar | Slot] = dict(lifts)
        extra = [tile] if tile is not None else []
        for k, slot in head.items():
            self.prepare([lifts[k], *mask], [*slot.axes, *extra])
        if tile is not None:
            part: State = {}
            for k, slot in head.items():
                part[k] = self.slot(f"{slot.local.buffer.name}_tile", slot.local.buffer.type, slot.axes)
                self.fill(part[k].local, slot.axes, group.monoid.identity[k])
            self._fold_in(group, part, lifts, tile, mask)
            right = {k: self.slot_of(replace(s.local, mutable=False), s.axes) for k, s in part.items()}
        fresh: State = {}
        for k, slot in head.items():
            whole = self.combined(group, head, right, k)
            if tile is None:
                whole = masked(mask, whole, slot.read)
            fresh[k] = self.slot(f"{slot.local.buffer.name}_new", slot.local.buffer.type, slot.axes, False)
            with self.inside():
                self.fill(fresh[k].local, slot.axes, whole)
        return fresh

    def _of_head(self, group: Reduce | Scan, expression: Scalar, head: State) -> Scalar:
        return state_of(expression, {group.monoid.components[k].name: s.read for k, s in head.items()})

    def _rebased(self, group: Reduce | Scan, state: State, k: int, start: Scalar, to: Scalar) -> Scalar:
        follow = group.monoid.components[k].follow
        assert follow is not None
        names = {group.monoid.components[n].name: s.read for n, s in state.items()}

        def of(x: Scalar) -> Scalar | None:
            if isinstance(x, Statistic):
                return to if x.which == "to" else start
            return names.get(x.component) if isinstance(x, StateRef) else None

        return replace_state(follow.rebase, of)


def masked(mask: Sequence[Scalar], new: Scalar, old: Scalar) -> Scalar:
    """`new` where all conditions hold, tested in order, else `old`."""
    for c in reversed(mask):
        new = Apply("select", (c, new, old))
    return new


def register_tile(axes: Sequence[Axis], states: int) -> list[int]:
    """Sizes of the sub-block of some axes whose state fits in registers; the last axis is the vector one if it can be."""
    sizes = [1] * len(axes)
    room = max(1, REGISTERS // states)
    if axes and axes[-1].size % 4 == 0:
        sizes[-1] = next(n for n in (16, 8, 4) if axes[-1].size % n == 0 and n // 8 <= room)
        room = max(1, room // max(1, sizes[-1] // 8))
    for n in range(len(axes) - 1, -1, -1):
        if sizes[n] == 1 and room > 1:
            sizes[n] = max(d for d in range(1, min(room, 6) + 1) if axes[n].size % d == 0)
            room //= sizes[n]
    return sizes


def _stem(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name).lstrip("0123456789_") or "acc"
