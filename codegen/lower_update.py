"""One step of a fold: a point, or a tile of points, folded into the state arrays.

    plain      state := combine(state, lift)                       for each point of the tile, in order
    lanes      wide[r] := combine(wide[r], lift at r); later a tree over r
    cascade    tile := fold of the head lifts over the tile; new := combine(head, tile)
               follower := carry(follower) from the old statistic to the new one          (once per tile)
               follower := base(follower, body) with the new statistic in force           (for each live point)
               a follower of followers does so after those
               head := new

The carry is that of `monoid.cascade`. While the statistic of a state is `empty` its followers may hold NaN (they were
computed from inf - inf); the carry to a statistic that means something drops them, and only an all-empty
fold shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import prod
from typing import TypeVar

from tang_egg.affine import Index, affine
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_state import Slot, State, States, Step, masked, register_tile, stem_of
from tang_egg.codegen.lower_value import COSTLY
from tang_egg.errors import CodegenError
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, StateRef, Statistic, free, walk
from tang_egg.monoid import Monoid, replace_state, state_of, unmoved

T = TypeVar("T")


class Updates(States):
    """See the module text."""

    def update(self, group: Reduce | Scan, state: State, tile: Axis | None, mask: list[Scalar]) -> None:
        """Folds the point in force, or the points of `tile`, into the state."""
        with self.inside():
            if self.is_cascade(group):
                self._cascade(group, state, tile, mask)
            elif tile is not None and self._needs_points(group, state):
                with self.refine(tile):
                    self.update(group, state, None, mask)
            else:
                bodies = self.lifted(group)
                self._fold_in(group, state, {k: bodies[k] for k in state}, tile, mask)

    def _needs_points(self, group: Reduce | Scan, state: State) -> bool:
        """Whether points are folded one by one.

        So it is when a combine has folds of its own, components have axes of their own, or one component needs the
        running value of another that lies on other block axes.
        """
        monoid = group.monoid
        for k, slot in state.items():
            if monoid.components[k].axes or any(isinstance(x, Reduce) for x in walk(monoid.combine[k])):
                return True
            if any(n in state and state[n].axes != slot.axes for n in mentioned(monoid, monoid.combine[k])):
                return True
        return False

    def _fold_in(
        self, group: Reduce | Scan, state: State, lifts: Mapping[int, Scalar], tile: Axis | None, mask: list[Scalar]
    ) -> None:
        """state := combine(state, lift) for each point of the tile."""
        extra = [tile] if tile is not None else []
        right: dict[int, Scalar | Slot] = dict(lifts)
        for k, slot in state.items():
            self.prepare([lifts[k], *mask], [*slot.axes, *extra])
            if group.monoid.components[k].axes:
                held = self.slot(
                    f"{stem_of(group.monoid.components[k].name)}_in", slot.local.buffer.type, slot.axes, False
                )
                self.fill(held.local, slot.axes, lifts[k])
                right[k] = held
        if tile is None:
            for k, slot in state.items():
                self.prepare([self.combined(group, state, right, k)], slot.axes)

        step = Step(
            lambda at, with_, k: self.combined(group, at, with_, k),
            right,
            mask,
            lambda k: group.monoid.identity[k],
            group.monoid.commutative,
        )
        self.accumulate(state, step, tile)

    def take_up(self, group: Reduce | Scan, state: State, right: Mapping[int, Scalar | Slot]) -> None:
        """state := combine(state, right), for another whole state of later points."""
        with self.inside():
            for k, slot in state.items():
                self.prepare([self.combined(group, state, right, k)], slot.axes)
            identity = group.monoid.identity.__getitem__
            step = Step(lambda at, with_, k: self.combined(group, at, with_, k), right, [], identity, False)
            self.accumulate(state, step, None)

    # -- nests

    def accumulate(self, state: State, step: Step, tile: Axis | None) -> None:
        """state[k] := step for every point of its axes and, inside, every point of the tile in order."""
        groups: dict[tuple[Axis, ...], list[int]] = {}
        for k, slot in state.items():
            groups.setdefault(slot.axes, []).append(k)
        uses = {k: frozenset(n for n in state if n != k and _reads_left(step.new(state, k), state[n])) for k in state}
        order = readers_first(list(groups), lambda g: {a for k in groups[g] for n in uses[k] for a in [state[n].axes]})
        for axes in order:
            ks = groups[axes]
            if tile is None:
                with self.inside(), self.points(axes):
                    self._store_all(state, ks, step)
            elif step.commutes and tile.size % 4 == 0 and self._runs_along(tile, axes, step, ks):
                self._accumulate_lanes(state, axes, ks, step, tile)
            else:
                self._accumulate_tile(state, axes, ks, step, tile)

    def _runs_along(self, tile: Axis, axes: tuple[Axis, ...], step: Step, ks: Sequence[int]) -> bool:
        """Whether vectors along the tile read better than vectors along the state's axes."""
        roots = [x for k in ks if isinstance(x := step.right[k], Scalar)]
        order = self.contiguous_last([tile, *axes], [*roots, *step.mask], tile.index)
        return order[-1] is tile or not any(a.size % 4 == 0 for a in axes)

    def _store_all(self, state: State, ks: Sequence[int], step: Step) -> None:
        values = self.evaluate_all([step.new(state, k) for k in ks])
        if len(ks) > 1:
            values = [self.keep(v) for v in values]
        for k, value in zip(ks, values, strict=True):
            self.store(state[k], value)

    def _accumulate_tile(self, state: State, axes: tuple[Axis, ...], ks: Sequence[int], step: Step, tile: Axis) -> None:
        sizes = register_tile(axes, len(ks), self.vectors)
        with ExitStack() as stack:
            subs = [stack.enter_context(self.refine(a, n)) for a, n in zip(axes, sizes, strict=True)]
            registers = dict(state)
            for k in ks:
                held = self.slot(state[k].local.buffer.name, state[k].local.buffer.type, subs)
                with self.inside():
                    self.fill(held.local, subs, state[k].read)
                registers[k] = held
            self.take_tile(tile, subs, step, lambda s: self._store_all(registers, ks, s))
            for k in ks:
                with self.inside():
                    self.fill(state[k].local, subs, registers[k].read)

    def take_tile(self, tile: Axis, subs: Sequence[Axis], step: Step, take: Callable[[Step], None]) -> None:
        """Takes up all points of a tile, in order, for all points of the sub-blocks of a state."""
        with self.refine(tile), self.points(subs):
            take(step)

    def _accumulate_lanes(
        self, state: State, axes: tuple[Axis, ...], ks: Sequence[int], step: Step, tile: Axis
    ) -> None:
        """For each point of the state: partial states in the lanes of a vector along the tile, then a tree."""
        width = next(n for n in (max(8, self.vectors.lanes()), 8, 4) if tile.size % n == 0)
        lane = Axis(Index(f"{tile.index.name}~lane", affine(width)), affine(0), width)
        with ExitStack() as stack:
            few = prod(a.size for a in axes) <= 8
            for a in axes:
                stack.enter_context(self.refine(a, 1, "unrolled" if few else "serial"))
            stack.enter_context(self.inside(lane))
            wide: State = {}
            for k in ks:
                wide[k] = self.slot(f"{state[k].local.buffer.name}_lanes", state[k].local.buffer.type, [lane])
                self.fill(wide[k].local, [lane], step.identity(k))
            with self.refine(tile, width) as part:
                moved: State = {}
                for k, slot in wide.items():
                    moved[k] = self.slot_of(replace(slot.local, origins=(part.start,)), (part,))
                with self.points([part]):
                    self._store_all(moved, ks, step)
            self._tree({k: replace(state[k], axes=()) for k in ks}, wide, lane, step)

    # -- lanes

    def update_lanes(self, group: Reduce | Scan, wide: State, tile: Axis, lane: Axis, mask: list[Scalar]) -> None:
        """wide[r] := combine(wide[r], lift at r) for each point r of the tile."""
        with self.inside():
            moved: State = {}
            for k, slot in wide.items():
                local = replace(slot.local, origins=(*slot.local.origins[:-1], tile.start))
                moved[k] = self.slot_of(local, (*slot.axes[:-1], tile))
            bodies = self.lifted(group)
            self._fold_in(group, moved, {k: bodies[k] for k in wide}, None, mask)

    def combine_lanes(self, group: Reduce | Scan, state: State, wide: State, lane: Axis) -> None:
        """A tree over the lanes, then the result into the state."""
        monoid = group.monoid
        step = Step(lambda at, with_, k: self.combined(group, at, with_, k), {}, [], lambda k: monoid.identity[k], True)
        self._tree(state, wide, lane, step)

    def _tree(self, state: State, wide: State, lane: Axis, step: Step) -> None:
        """Halves the lanes in memory down to eight, then combines those as one expression."""
        width = lane.size
        while width > 8 and width % 2 == 0:
            width //= 2
            part = Axis(Index(lane.index.name, affine(width)), affine(0), width)
            with self.inside(part):
                left: State = {}
                right: dict[int, Scalar | Slot] = {}
                for k, slot in wide.items():
                    left[k] = Slot(slot.local, (*slot.axes[:-1], part), slot.at({lane.index: affine(part.index)}))
                    right[k] = slot.at({lane.index: part.index + width})
                if width < self.vectors.lanes():  # halves of registers become registers, not parts of an array
                    wide, lane = self._halved(left, right, step), part
                    continue
                self.accumulate(left, replace(step, right=right, mask=[]), None)
        values = [{k: slot.at({lane.index: affine(n)}) for k, slot in wide.items()} for n in range(width)]
        total: list[Mapping[int, Scalar | Slot]] = list(values)
        while len(total) > 1:
            pairs = [total[n : n + 2] for n in range(0, len(total), 2)]
            total = [{k: step.combine(p[0], p[1], k) for k in wide} if len(p) > 1 else p[0] for p in pairs]
        self.accumulate(state, replace(step, right=total[0], mask=[]), None)

    def _halved(self, left: State, right: Mapping[int, Scalar | Slot], step: Step) -> State:
        """The combine of two halves of the lanes, in arrays of its own."""
        found: State = {}
        for k, slot in left.items():
            found[k] = self.slot(f"{slot.local.buffer.name}_half", slot.local.buffer.type, slot.axes)
            with self.inside():
                self.fill(found[k].local, slot.axes, step.combine(left, right, k))
        return found

    # -- cascades

    def _cascade(self, group: Reduce | Scan, state: State, tile: Axis | None, mask: list[Scalar]) -> None:
        monoid = group.monoid
        head = {k: s for k, s in state.items() if monoid.components[k].follow is None}
        following = [k for k in state if k not in head]
        if tile is not None and not self.schedule.grid:
            self._hold_shared(group, head, following, tile)
        new = self._new_head(group, head, tile, mask)
        old = {k: self.frozen(s) for k, s in head.items()}
        for level in levels(monoid, following):
            later = {n for k in following if k not in level for n in followed(monoid, k)}
            before = {k: self._copied(state[k]) for k in level if k in later}
            self._move(group, state, level, (old, new), tile, mask)
            old |= before
            new |= {k: self.frozen(state[k]) for k in before}
        for k, slot in head.items():
            with self.inside():
                self.fill(slot.local, slot.axes, new[k].read)

    def _hold_shared(self, group: Reduce | Scan, head: State, following: Sequence[int], tile: Axis) -> None:
        """Computes costly values that statistics and followers both take up at the points of a tile once for both."""
        followed = set(walk(*(group.body[k] for k in following)))
        for k, slot in head.items():
            self.prepare([group.body[k]], [*slot.axes, tile])
            for s in walk(group.body[k]):
                shared = isinstance(s, Apply) and s.op in COSTLY and s in followed and self.safe(s)
                bound = shared and all(self.bound(i) is not None for i in free(s))
                own = {a.index for a in self.blocks(free(s))} if bound else set()
                if len(own) > 1 and tile.index in own and self.known("arrays", s) is None:
                    self.hold(s)

    def _copied(self, slot: Slot) -> Slot:
        """The value of a component that is about to change, which others still need."""
        held = self.slot(f"{slot.local.buffer.name}_old", slot.local.buffer.type, slot.axes, False)
        with self.inside():
            self.fill(held.local, slot.axes, slot.read)
        return held

    def _move(
        self, group: Reduce | Scan, state: State, following: Sequence[int], heads: tuple[State, State],
        tile: Axis | None, mask: list[Scalar],
    ) -> None:  # fmt: skip
        """Carries followers from the old statistics to the new ones and takes up the points under the new ones."""
        monoid, (old, new) = group.monoid, heads
        bodies: dict[int, Scalar] = {}
        for k in readers_first(following, lambda k: mentioned(monoid, monoid.components[k].follow.rebase)):  # type: ignore[union-attr]
            follow = monoid.components[k].follow
            assert follow is not None
            carried = self.carried_to(group, state, k, (old, new))
            with self.inside():
                self.prepare([carried], state[k].axes)
                self.carry(state[k], carried)
            bodies[k] = at_statistics(group.body[k], tuple(self._of_head(group, x, new) for x in follow.statistics))
        extra = [tile] if tile is not None else []
        for k in sorted(following, key=lambda k: -len(state[k].axes)):
            self.prepare([bodies[k], *mask], [*state[k].axes, *extra])
        for k in following:
            base = monoid.components[k].follow.base  # type: ignore[union-attr]
            self._follow(state, k, base, bodies[k], tile, mask)

    def carry(self, slot: Slot, carried: Scalar) -> None:
        """Stores a follower that was carried to the new statistics."""
        with self.points(slot.axes):
            self.store(slot, self.evaluate(carried))

    def carried_to(self, group: Reduce | Scan, state: State, k: int, heads: tuple[State, State]) -> Scalar:
        """Component k of a state, carried from its old statistics to the new ones."""
        old, new = heads
        follow = group.monoid.components[k].follow
        assert follow is not None
        to, start = (tuple(self._of_head(group, x, s) for x in follow.statistics) for s in (new, old))
        empty = self._of_head(group, follow.empty, old)
        rebased = self._rebased(group, {**state, **old}, k, start, to)
        kept = Apply("select", (empty, follow.base.identity[0], rebased))
        return Apply("select", (unmoved(start, to), state[k].read, kept))

    def _follow(self, state: State, k: int, base: Monoid, body: Scalar, tile: Axis | None, mask: list[Scalar]) -> None:
        def both(at: Mapping[int, Scalar | Slot], with_: Mapping[int, Scalar | Slot], n: int) -> Scalar:
            left, right = (x.read if isinstance(x, Slot) else x for x in (at[n], with_[n]))
            return replace_state(
                base.combine[0], lambda x: (left if x.side == "left" else right) if isinstance(x, StateRef) else None
            )

        step = Step(both, {k: body}, mask, lambda _: base.identity[0], base.commutative)
        self.accumulate({k: state[k]}, step, tile)

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

    def _rebased(
        self, group: Reduce | Scan, state: State, k: int, start: tuple[Scalar, ...], to: tuple[Scalar, ...]
    ) -> Scalar:
        follow = group.monoid.components[k].follow
        assert follow is not None
        names = {group.monoid.components[n].name: s.read for n, s in state.items()}

        def of(x: Scalar) -> Scalar | None:
            if isinstance(x, Statistic):
                return (to if x.which == "to" else start)[x.part]
            return names.get(x.component) if isinstance(x, StateRef) else None

        return replace_state(follow.rebase, of)


def at_statistics(body: Scalar, to: Sequence[Scalar]) -> Scalar:
    """A lift under the statistics `to`."""
    return replace_state(body, lambda x: to[x.part] if isinstance(x, Statistic) else None)


def mentioned(monoid: Monoid, s: Scalar) -> set[int]:
    """The components that an expression over a state mentions."""
    return {monoid.position(x.component) for x in walk(s) if isinstance(x, StateRef)}


def followed(monoid: Monoid, k: int) -> set[int]:
    """The followers among the statistics of a follower."""
    follow = monoid.components[k].follow
    assert follow is not None
    return {n for x in follow.statistics for n in mentioned(monoid, x)} & set(monoid.followers)


def levels(monoid: Monoid, following: Sequence[int]) -> list[list[int]]:
    """Followers in the order in which they move: each after those that it follows."""
    level: dict[int, int] = {}
    for k in sorted(following):
        level[k] = 1 + max((level[n] for n in followed(monoid, k)), default=-1)
    return [[k for k in following if level[k] == n] for n in range(max(level.values(), default=-1) + 1)]


def _reads_left(new: Scalar, slot: Slot) -> bool:
    """Whether an update reads the array of another component."""
    own = {x.source for x in walk(slot.read) if isinstance(x, Read)}
    return any(isinstance(x, Read) and x.source in own for x in walk(new))


def readers_first(items: Sequence[T], reads: Callable[[T], Iterable[T]]) -> list[T]:
    """`items` so ordered that each is updated before what it reads: it must see the old value.

    Raises CodegenError when two read each other.
    """
    ordered: list[T] = []
    pending = list(items)
    while pending:
        free_ = [i for i in pending if not any(i in set(reads(o)) for o in pending if o != i)]
        if not free_:
            raise CodegenError(
                "two parts of a state need each other's old value and have different axes",
                where="the update of a fold",
                mend="report this with the graph",
            )
        ordered += free_
        pending = [i for i in pending if i not in free_]
    return ordered
