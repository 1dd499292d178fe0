"""Folds by partial states in the lanes of vectors: each lane takes up its own points of the folded index.

    wide[r] := identity                                                     for each lane r
    for each tile of the index:
        for each part of the tile, as long as there are lanes:
            head[r] := combine(head[r], lift at r)
        follower[r] := carry(follower[r]) from the old head[r] to the new one       once per tile
        for each part of the tile:
            follower[r] := base(follower[r], body at r) with the new head[r] in force
    state := combine of all lanes                                           once

No step combines lanes with each other, so that all are whole vectors; at the end the heads are combined first, and the
followers of every lane are carried to what they have become. Lanes interleave points, so the monoid has to be
commutative. A lane with no point yet holds the empty state, and so does one of whose points none counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from tang_egg.affine import Index, affine
from tang_egg.codegen.kernel import Expr
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_span import Span, Spans
from tang_egg.codegen.lower_state import Slot, State, Step
from tang_egg.codegen.lower_update import at_statistics, followed, levels, mentioned, readers_first
from tang_egg.errors import CodegenError
from tang_egg.ir import Apply, Reduce, Scalar, StateRef, Statistic, walk
from tang_egg.monoid import replace_state
from tang_egg.schedule import FoldPlan


class LaneStates(Spans):
    """See the module text. Subclasses add `enter_conditions` and `left_over`."""

    def enter_conditions(self, stack: ExitStack, conditions: list[Scalar]) -> list[Scalar]:
        raise NotImplementedError

    def left_over(self, group: Reduce, state: State, index: Index, span: Span, low: Expr | None) -> None:
        raise NotImplementedError

    def by_lane_states(self, group: Reduce, state: State, index: Index, plan: FoldPlan, span: Span) -> None:
        """The fold over the range of an index. Raises CodegenError where lanes may not take points in turn."""
        check_lanes(group, index, plan)
        lane = Axis(Index(f"{index.name}~lane", affine(plan.lanes)), affine(0), plan.lanes)
        with self.inside(lane):
            wide = self.declare_state(group, list(state), lane)

            def tile(axis: Axis, conditions: list[Scalar]) -> None:
                with ExitStack() as stack:
                    mask = self.enter_conditions(stack, conditions)
                    self._take_up_tile(group, wide, axis, lane, mask)

            left = self.by_tiles(index, plan.size, span, tile)
            self._merge(group, state, wide, lane)
        self.left_over(group, state, index, span, left)

    # -- a tile of points into the lanes

    def _take_up_tile(self, group: Reduce, wide: State, tile: Axis, lane: Axis, mask: list[Scalar]) -> None:
        with self.inside():
            if self.is_cascade(group):
                self._cascade_lanes(group, wide, tile, lane, mask)
                return
            bodies = self.lifted(group)
            for k, slot in wide.items():
                self.prepare([bodies[k], *mask], [*slot.axes[:-1], tile])
            with self.refine(tile, lane.size) as part:
                self._fold_in(group, beside(self, wide, part), {k: bodies[k] for k in wide}, None, mask)

    def _cascade_lanes(self, group: Reduce, wide: State, tile: Axis, lane: Axis, mask: list[Scalar]) -> None:
        monoid = group.monoid
        old = {k: self.frozen(s) for k, s in wide.items() if monoid.components[k].follow is None}
        new = self._new_heads(group, old, tile, lane, mask)
        for level in levels(monoid, [k for k in wide if k not in old]):
            later = {n for k in wide if k not in old and k not in level for n in followed(monoid, k)}
            before = {k: self._copied(wide[k]) for k in level if k in later}
            self._carry_all(group, wide, level, (old, new))
            self._follow_lanes(group, wide, level, new, tile, lane, mask)
            old |= before
            new |= {k: self.frozen(wide[k]) for k in before}
        for k, slot in wide.items():
            if monoid.components[k].follow is None:
                with self.inside():
                    self.fill(slot.local, slot.axes, new[k].read)

    def _new_heads(self, group: Reduce, old: State, tile: Axis, lane: Axis, mask: list[Scalar]) -> State:
        """The heads of all lanes after a tile, in arrays of their own: the old ones are still needed."""
        lifts = {k: group.body[k] for k in old}
        fresh: State = {}
        for k, slot in old.items():
            self.prepare([lifts[k], *mask], [*slot.axes[:-1], tile])
            fresh[k] = self.slot(f"{slot.local.buffer.name}_new", slot.local.buffer.type, slot.axes)
            with self.inside():
                self.fill(fresh[k].local, slot.axes, slot.read)
        with self.refine(tile, lane.size) as part:
            self._fold_in(group, beside(self, fresh, part), lifts, None, mask)
        return {k: self.frozen(s) for k, s in fresh.items()}

    def _carry_all(self, group: Reduce, state: State, level: Sequence[int], heads: tuple[State, State]) -> None:
        """Carries followers of one level from the old statistics to the new ones."""
        for k in readers_first(level, lambda k: mentioned(group.monoid, group.monoid.components[k].follow.rebase)):  # type: ignore[union-attr]
            carried = self.carried_to(group, state, k, heads)
            with self.inside():
                self.prepare([carried], state[k].axes)
                with self.points(state[k].axes):
                    self.store(state[k], self.evaluate(carried))

    def _follow_lanes(
        self, group: Reduce, wide: State, level: Sequence[int], new: State, tile: Axis, lane: Axis, mask: list[Scalar]
    ) -> None:
        """Takes up the points of a tile into followers of one level, under the new statistics of their lanes."""
        for k in level:  # what a body needs is prepared for the whole tile, its statistics are those of a lane
            self.prepare([*_without_statistics(group.body[k]), *mask], [*wide[k].axes[:-1], tile])
        with self.refine(tile, lane.size) as part:
            moved, heads = beside(self, wide, part), beside(self, new, part)
            bodies: dict[int, Scalar | Slot] = {}
            for k in level:
                follow = group.monoid.components[k].follow
                assert follow is not None
                body = at_statistics(group.body[k], tuple(self._of_head(group, x, heads) for x in follow.statistics))
                self.prepare([body, *mask], moved[k].axes)
                bodies[k] = body
            step = Step(lambda at, with_, k: _based(group, at, with_, k), bodies, mask, _no_identity, True)
            self.accumulate({k: moved[k] for k in level}, step, None)

    # -- all lanes into one state

    def _merge(self, group: Reduce, state: State, wide: State, lane: Axis) -> None:
        """state := the combine of the state and all lanes."""
        monoid = group.monoid
        if not self.is_cascade(group):
            self.combine_lanes(group, state, wide, lane)
            return
        heads = [k for k in state if monoid.components[k].follow is None]
        old = {k: self.frozen(state[k]) for k in heads}
        fresh: State = {}
        for k in heads:
            slot = state[k]
            fresh[k] = self.slot(f"{slot.local.buffer.name}_all", slot.local.buffer.type, slot.axes)
            with self.inside():
                self.fill(fresh[k].local, slot.axes, slot.read)
        lanes = {k: self.frozen(s) for k, s in wide.items()}
        self.combine_lanes(group, fresh, {k: self._fresh_copy(wide[k]) for k in heads}, lane)
        new = {k: self.frozen(s) for k, s in fresh.items()}
        for level in levels(monoid, [k for k in state if k not in heads]):
            later = {n for k in state if k not in heads and k not in level for n in followed(monoid, k)}
            before = {k: self._copied(state[k]) for k in level if k in later}
            self._carry_all(group, state, level, (old, new))
            for k in level:
                moved = self._arrived(group, lanes, k, new)
                step = Step(lambda at, with_, k: _based(group, at, with_, k), {}, [], _no_identity, True)
                self._tree({k: state[k]}, {k: moved}, lane, step)
            old |= before
            new |= {k: self.frozen(state[k]) for k in before}
        for k in heads:
            with self.inside():
                self.fill(state[k].local, state[k].axes, new[k].read)

    def _arrived(self, group: Reduce, lanes: State, k: int, new: State) -> Slot:
        """Follower k of all lanes, carried to the statistics of the whole, for a tree to work in."""
        axes = lanes[k].axes
        held = self.slot(f"{lanes[k].local.buffer.name}_tree", lanes[k].local.buffer.type, axes)
        carried = self.carried_to(group, lanes, k, (lanes, new))
        with self.inside():
            self.prepare([carried], axes)
            self.fill(held.local, axes, carried)
        return held

    def _fresh_copy(self, slot: Slot) -> Slot:
        """An array with the same content, for a tree to work in."""
        held = self.slot(f"{slot.local.buffer.name}_tree", slot.local.buffer.type, slot.axes)
        with self.inside():
            self.fill(held.local, slot.axes, slot.read)
        return held


def check_lanes(group: Reduce, index: Index, plan: FoldPlan) -> None:
    """Raises CodegenError where partial states side by side would not give the fold."""
    monoid = group.monoid
    why = (
        "is not commutative"
        if not monoid.commutative
        else "has components with axes of their own"
        if any(c.axes for c in monoid.components)
        else ""
    )
    if plan.how == "stream" and plan.size % plan.lanes:
        whole = -(-plan.size // plan.lanes) * plan.lanes
        raise CodegenError(
            f"tiles of {plan.size} points in {plan.lanes} lanes",
            where=f"fold={index.name}:{plan}",
            mend=f"let a tile be a multiple of the lanes: fold={index.name}:stream:{whole}:{plan.lanes}",
        )
    if why:
        raise CodegenError(
            f"the fold over '{index.name}' cannot run in {plan.lanes} lanes: its monoid '{monoid.name}' {why}",
            where=str(group.at) or f"fold={index.name}:{plan}",
            mend=f"write fold={index.name}:{plan.how}:{plan.size}, which folds tiles into one state",
        )


def beside(states: Spans, wide: State, part: Axis) -> State:
    """The lanes as they stand beside the points of one part of a tile."""
    found: State = {}
    for k, slot in wide.items():
        local = replace(slot.local, origins=(*slot.local.origins[:-1], part.start))
        found[k] = states.slot_of(local, (*slot.axes[:-1], part))
    return found


def _based(group: Reduce, at: Mapping[int, Scalar | Slot], with_: Mapping[int, Scalar | Slot], k: int) -> Scalar:
    """Follower k after one more lift, under the statistics of both."""
    follow = group.monoid.components[k].follow
    assert follow is not None
    left, right = (x.read if isinstance(x, Slot) else x for x in (at[k], with_[k]))
    return replace_state(
        follow.base.combine[0], lambda x: (left if x.side == "left" else right) if isinstance(x, StateRef) else None
    )


def _no_identity(k: int) -> Scalar:
    raise AssertionError("points are taken up one by one")


def _without_statistics(body: Scalar) -> list[Scalar]:
    """The largest parts of a body that mention no statistic."""
    if not any(isinstance(x, Statistic) for x in walk(body)):
        return [body]
    return [x for c in body.args for x in _without_statistics(c)] if isinstance(body, Apply) else []
