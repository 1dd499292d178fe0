"""Folds by blocks: state arrays over the block axes, a loop over the folded indices, one update per point or tile.

    fold(F):   state[B] := identity                      B: the block axes that the component depends on
               for r in the domain:                      by points, or by tiles of `plan.size` points
                   prepare what the lifts read
                   update state[B] with the lifts        (lower_update)

The components of one fold share the loop. A component's own axes (matrices of a state) are held whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import prod

from tang_egg.affine import Index, affine
from tang_egg.codegen.kernel import Call, Expr, Form, Store, number
from tang_egg.codegen.lower_guard import Guards
from tang_egg.codegen.lower_position import narrowed, widened
from tang_egg.codegen.lower_scope import Axis, Known, Scope
from tang_egg.codegen.lower_span import Span
from tang_egg.codegen.lower_state import Slot, State, register_tile
from tang_egg.codegen.lower_value import chosen_reads
from tang_egg.errors import CodegenError
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, Test, free, walk
from tang_egg.schedule import FoldPlan


def group_of(s: Reduce) -> Reduce:
    """The fold itself, whatever component is asked for."""
    return Reduce(s.monoid, s.indices, s.where, s.body, 0, s.at)


def part_of(s: Reduce | Scan, part: int) -> Scalar:
    """Component `part` of a fold or scan."""
    if isinstance(s, Scan):
        return Scan(s.monoid, s.index, s.body, part, s.chunk, s.at)
    return Reduce(s.monoid, s.indices, s.where, s.body, part, s.at)


BLOCK = 64
"""The length of a block of a fold on threads is a multiple of this."""


LANE_STEPS = 16
"""Points that a lane of a block takes up between two moves of its state."""


class Folds(Guards):
    """See the module text."""

    parts: dict[Scalar, set[int]]
    in_parallel = False

    def fold(self, s: Reduce) -> Read:
        """Computes a fold where its indices are bound, and gives the read of component `part` of its state."""
        group = group_of(s)
        guards = self.needed_guards(s)
        wanted = self.parts.get(group, set()) | s.monoid.needs(s.part)
        home = self._fold_home(group, wanted, guards)
        alone = self._fold_home(group, s.monoid.needs(s.part), guards)
        if home.depth > alone.depth or not self._in_scope(group, wanted):
            # the other components vary faster, or with indices that are not bound out here
            wanted, home = set(s.monoid.needs(s.part)), alone
        held, self.guards = self.guards, list(guards)
        try:
            with self.at(home):
                self._emit(group, sorted(wanted), guards)
        finally:
            self.guards = held
        found = self.known("arrays", s)
        assert isinstance(found, Read), "a fold was computed out of reach of its reader"
        return found

    def _fold_home(self, group: Reduce, parts: set[int] | frozenset[int], guards: Sequence[Scalar]):  # type: ignore[no-untyped-def]
        """The scope for a fold: all that its needed components and guards mention is bound, own axes are not."""
        depth = 0
        own = {a for k in parts for a in group.monoid.components[k].axes}
        for k in parts:
            part = part_of(group, k)
            for i in free(part) - own:
                depth = max(depth, self.depth_of(i))
            for local in self.local_sources(part):
                depth = max(depth, self.scope.depth if local.mutable else local.home)
        for g in guards:
            depth = max(depth, self.home(g).depth)
        return next(x for x in self.scope.chain() if x.depth <= depth)

    def _in_scope(self, group: Reduce, parts: set[int]) -> bool:
        own = {a for k in parts for a in group.monoid.components[k].axes}
        return all(self.bound(i) is not None for k in parts for i in free(part_of(group, k)) - own)

    def _emit(self, group: Reduce, parts: list[int], guards: tuple[Scalar, ...]) -> None:
        alone = self._stage(group)
        own = self.unbound_own_axes(group, parts)
        target = self.scope
        conditions = [Test(c) for c in group.where.affine] + list(group.where.data)
        conditions += [g for g in guards if g not in conditions]
        with self.keeping(group, parts, conditions, target), self.inside(*own):
            axes = self.contiguous_last(self.component_axes(group, parts[0]), group.body)
            cut = any(self.schedule.fold_of(i.name).how in ("blocks", "stream") for i in group.indices)
            if len(parts) == 1 and not own and axes and not cut and self._flat(group):
                state = self._by_register_tiles(group, parts[0], axes, conditions)
            else:
                state = self.declare_state(group, parts)
                self._loops(group, state, list(group.indices), conditions)
            self.publish(group, state, target)
        for scope, s in alone:
            del scope.arrays[s]

    def _flat(self, group: Reduce) -> bool:
        """Whether the body is elementwise: nothing below depends on the folded indices through another fold."""
        inner = (s for b in (*group.body, *group.where.data) for s in walk(b) if isinstance(s, (Reduce, Scan)))
        folded = set(group.indices)
        return not group.monoid.followers and not any(isinstance(s, Scan) or free(s) & folded for s in inner)

    def _by_register_tiles(self, group: Reduce, part: int, axes: list[Axis], conditions: list[Scalar]) -> State:
        """The fold for one sub-block of its axes after the other, each in registers, copied out when it is finished."""
        kind = group.monoid.components[part].type
        full = self.slot("acc", self.real if kind == "real" else kind, axes, False)
        with ExitStack() as stack:
            sizes = register_tile(axes, 1, self.vectors)
            subs = [stack.enter_context(self.refine(a, n)) for a, n in zip(axes, sizes, strict=True)]
            state = self.declare_state(group, [part])
            self._loops(group, state, list(group.indices), conditions)
            with self.inside():
                self.fill(full.local, subs, self.frozen(state[part]).read)
        return {part: full}

    def _stage(self, group: Reduce) -> list[tuple[Scope, Scalar]]:
        """Copies staged operands into arrays in which the folded indices come first and the block is contiguous.

        An operand whose reads need a guard is copied with the select around them. Gives the copies that this fold alone
        should read, with their scopes: elsewhere the index that is folded here is a block, along which they lie badly.
        """
        alone: list[tuple[Scope, Scalar]] = []
        for s in dict.fromkeys(x for b in group.body for x in walk(b) if isinstance(x, (Read, Apply))):
            name = self._staged(s)
            if name is None or self.known("arrays", s) is not None:
                continue
            folded = [i for i in group.indices if i in free(s)]
            outer = free(s) - set(folded)
            if not folded or not self.blocks(outer) or any(self.bound(i) is None for i in outer):
                continue
            if any(self.schedule.fold_of(i.name).how == "stream" for i in folded):
                continue  # the copy would hold all that streams by
            through = self.copied_through(s, folded)
            depth = max((self.depth_of(i) for i in outer if i not in through), default=0)
            if through:
                with self.at(next(x for x in self.scope.chain() if x.depth <= depth)):
                    self.copy_through(s, name, folded, through[0])
                continue
            with self.at(next(x for x in self.scope.chain() if x.depth <= depth)):
                self._copy_in(s, name, folded)
                if self.blocks(folded):
                    alone.append((self.scope, s))
        return alone

    def copied_through(self, s: Read | Apply, folded: Sequence[Index]) -> list[Index]:
        """The streamed indices over all of which an operand is copied at once, instead of tile by tile."""
        return []

    def copy_through(self, s: Read | Apply, name: str, folded: Sequence[Index], through: Index) -> None:
        raise NotImplementedError

    def _staged(self, s: Read | Apply) -> str | None:
        """The name of the copy of `s`: a safe read to be staged, or a choice by position among reads to be staged."""
        if isinstance(s, Read):
            return s.source.name if s.source.name in self.schedule.stage and self.safe(s) else None
        reads = chosen_reads(s)
        return reads[0].source.name if reads and {r.source.name for r in reads} <= set(self.schedule.stage) else None

    def _copy_in(self, s: Read | Apply, name: str, folded: list[Index]) -> None:
        blocks = self.contiguous_last(self.blocks(free(s) - set(folded)), ())
        axes = [Axis(i, affine(0)) for i in folded] + blocks
        extents = tuple(i.size for i in folded) + tuple(affine(a.size) for a in blocks)
        local = self.array(name, self.type(s), axes, extents)
        with ExitStack() as stack:
            for i in folded:
                stack.enter_context(self.loop(i, number(0), Form(i.size)))
            with self.points(blocks):
                self.put(local, axes, self.evaluate(s))
        self.result(local, axes, s, also=folded)

    def unbound_own_axes(self, group: Reduce | Scan, parts: Sequence[int]) -> list[Axis]:
        """Whole blocks for the axes of the state's components."""
        axes: list[Axis] = []
        for k in parts:
            for i in group.monoid.components[k].axes:
                bound = self.bound(i)
                if (bound is None or not bound.whole) and all(a.index is not i for a in axes):
                    axes.append(self.whole(i, group))
        return axes

    def whole(self, i: Index, at: Reduce | Scan) -> Axis:
        """The block that is the full axis. Raises CodegenError for a size that is not known."""
        size = i.size.value
        if size is None:
            raise CodegenError(
                f"axis '{i.name}' of a state has the symbolic size {i.size}",
                where=str(at.at) or f"monoid '{at.monoid.name}'",
                mend="bind the dimension, or give the monoid a constant size",
            )
        return Axis(i, affine(0), size)

    def publish(self, group: Reduce | Scan, state: State, target) -> None:  # type: ignore[no-untyped-def]
        """Makes the finished state known in the scope in which the fold stands."""
        for k, slot in state.items():
            part = part_of(group, k)
            source = self.as_input(replace(slot.local, mutable=False, home=target.depth))
            read = Read(source, tuple(affine(a.index) for a in slot.axes))
            own = set(group.monoid.components[k].axes)
            axes = {i: a for i in free(part) - own if (a := self.bound(i)) is not None}
            target.arrays.setdefault(part, []).append(Known(read, axes, frozenset(self.guards)))

    # -- loops over the folded indices

    def _loops(self, group: Reduce, state: State, indices: list[Index], conditions: list[Scalar]) -> None:
        if not indices:
            self._point(group, state, conditions)
            return
        index, rest = indices[0], indices[1:]
        scanned = any(isinstance(x, Scan) and x.index is index for b in (*group.body, *conditions) for x in walk(b))
        held = self.bound(index)
        if held is not None and held.whole and not rest and not scanned and held.index.size.value:
            self._tile(group, state, held, conditions)
            return
        plan = self.schedule.fold_of(index.name)
        if scanned or (rest and plan.how != "blocks"):
            plan = FoldPlan()
        span = self.span(index, rest, conditions, scanned)
        if plan.how == "lanes" and self._along(group, state):
            plan = FoldPlan()
        short = narrowed(group) if not rest and plan.how in ("lanes", "stream", "guard") and plan.size > 1 else None
        if short is not None:  # positions widen once, when the fold is over
            mine = self.declare_state(short, list(state))
            self._loops(short, mine, indices, conditions)
            pairs = enumerate(zip(group.monoid.components, short.monoid.components, strict=True))
            places = {k for k, (a, b) in pairs if a.type != b.type}
            wide = {k: widened(slot.read) if k in places else slot.read for k, slot in mine.items()}
            if indices == list(group.indices):  # nothing was folded before
                for k, slot in state.items():
                    with self.inside():
                        self.fill(slot.local, slot.axes, wide[k])
            else:
                self.take_up(group, state, wide)
            return
        with self.guarded(*span.implied):
            if not rest and not span.kept and self.counted(group, state, span.low, span.high):
                return
            if plan.how == "blocks" and plan.size > 1:
                self._by_blocks(group, state, index, rest, plan, span)
            elif plan.how == "guard" and self._tileable(index, plan):
                self.by_guard(group, state, index, plan, span)
            elif plan.how in ("serial", "warp") or plan.size <= 1 or not self._tileable(index, plan):
                self._by_points(group, state, index, rest, span)
            elif plan.how == "lanes" and not self.is_cascade(group) and group.monoid.commutative:
                self._lanes(group, state, index, plan.size, span)
            elif plan.how == "stream" and plan.lanes:
                self.by_lane_states(group, state, index, plan, span)
            else:
                left = self.by_tiles(index, plan.size, span, lambda axis, c: self._tile(group, state, axis, c))
                self.left_over(group, state, index, span, left)

    def _by_points(self, group: Reduce, state: State, index: Index, rest: list[Index], span: Span) -> None:
        """Point by point: where all of the block counts without masks, before and after it under them."""
        low = span.low
        if span.firm is not None:
            until = Call("min", (span.firm, span.high), "i64")
            start = self.name_bound(f"{index.name}_firm", Call("max", (until, low), "i64"))
            with self.points_of(group, index, low, start):
                self._loops(group, state, rest, span.kept)
            low = start
        if span.sure is not None:
            stop = self.name_bound(f"{index.name}_sure", Call("max", (span.sure, low), "i64"))
            with self.points_of(group, index, low, stop):
                self._loops(group, state, rest, span.untold)
            low = stop
        with self.points_of(group, index, low, span.high):
            self._loops(group, state, rest, span.kept if span.sure is not None else span.untold)

    @contextmanager
    def points_of(self, group: Reduce, index: Index, low: Expr, stop: Expr) -> Iterator[None]:
        """The loop over some points of an index of a fold."""
        with self.loop(index, low, stop):
            yield

    def left_over(self, group: Reduce, state: State, index: Index, span: Span, low: Expr | None) -> None:
        if low is not None:
            with self.loop(index, low, span.high):
                self._loops(group, state, [], span.kept)

    def _by_blocks(
        self, group: Reduce, state: State, index: Index, rest: list[Index], plan: FoldPlan, span: Span
    ) -> None:  # fmt: skip
        """`plan.size` blocks of the range, each folded into a state of its own (on threads), then combined in order."""
        count, lanes = plan.size, plan.lanes
        count = count if index.size.value is None else max(1, min(count, index.size.value))
        lanes = 0 if index.size.value is not None and index.size.value < lanes else lanes
        over = Index(f"{index.name}~block", affine(count))
        found: dict[int, Slot] = {}
        for k, slot in state.items():
            axes = [Axis(over, affine(0), count), *slot.axes]
            local = self.array(f"{slot.local.buffer.name}_parts", slot.local.buffer.type, axes)
            coordinates = (affine(over), *(affine(a.index) for a in slot.axes))
            found[k] = Slot(local, slot.axes, Read(self.as_input(local), coordinates))
        points = Call("add", (span.high, Call("neg", (span.low,), "i64")), "i64")
        share = Call("idiv", (Call("add", (points, number(BLOCK * count - 1)), "i64"), number(BLOCK * count)), "i64")
        length = self.name_bound(f"{index.name}_share", Call("mul", (share, number(BLOCK)), "i64"))
        work = index.size * prod(a.size for slot in state.values() for a in slot.axes)
        held, kind = self.in_parallel, "serial" if self.in_parallel else "parallel"
        self.in_parallel = True
        with self.loop(over, number(0), number(count), 1, kind, 1, work if kind == "parallel" else None) as block:
            skipped = Call("mul", (Form(block.start), length), "i64")
            low = self.name_bound(f"{index.name}_lo", Call("add", (span.low, skipped), "i64"))
            end = Call("min", (span.high, Call("add", (low, length), "i64")), "i64")
            part = span.at_most(low, self.name_bound(f"{index.name}_hi", end))
            mine = self.declare_state(group, list(state))
            tile = next((n for n in (32, 16, 8) if index.size.value is None or index.size.value >= n), 1)
            if not rest and lanes and not any(s.axes for s in mine.values()):
                steps = min(LANE_STEPS, (index.size.value or LANE_STEPS * lanes) // lanes)
                self.by_lane_states(group, mine, index, FoldPlan("blocks", steps * lanes, lanes), part)
            elif not rest and tile > 1 and not self._flat(group):
                left = self.by_tiles(index, tile, part, lambda axis, c: self._tile(group, mine, axis, c))
                self.left_over(group, mine, index, part, left)
            elif rest or self.is_cascade(group) or not group.monoid.commutative or any(s.axes for s in mine.values()):
                self._by_points(group, mine, index, rest, part)
            else:
                beside = tile if len(mine) == 1 else min(tile, 8)
                (self._lanes if beside > 1 else self._by_points_of)(group, mine, index, beside, part)
            for k, slot in mine.items():
                with self.inside(), self.points(slot.axes):
                    address = self.local_address(found[k].local, found[k].read)
                    self.scope.out.append(Store(found[k].local.buffer, Form(address), self.evaluate(slot.read)))
        self.in_parallel = held
        with self.loop(over, number(0), number(count)):
            self.take_up(group, state, found)

    def _by_points_of(self, group: Reduce, state: State, index: Index, size: int, span: Span) -> None:
        self._by_points(group, state, index, [], span)

    def _along(self, group: Reduce, state: State) -> bool:
        """Whether vectors can run along the block of the state instead: some read is contiguous along it."""
        wide = {a.index for slot in state.values() for a in slot.axes if a.size % 4 == 0}
        reads = self._reads_in_place(group.body)
        return any(near and i in wide for s in reads for i, near in self._steps(s))

    def _tileable(self, index: Index, plan: FoldPlan) -> bool:
        size = index.size.value
        return size is None or size >= plan.size

    # -- one point, one tile

    def _point(self, group: Reduce, state: State, conditions: list[Scalar]) -> None:
        with ExitStack() as stack:
            mask = self.enter_conditions(stack, conditions)
            self.update(self.taking(group), state, None, mask)

    def _tile(self, group: Reduce, state: State, axis: Axis, conditions: list[Scalar]) -> None:
        with ExitStack() as stack:
            mask = self.enter_conditions(stack, conditions)
            self.update(group, state, axis, mask)

    def enter_conditions(self, stack: ExitStack, conditions: list[Scalar]) -> list[Scalar]:
        """Branches on the conditions that are the same for the whole block; gives those that each element must test."""
        mask: list[Scalar] = []
        for c in conditions:
            # what must not be computed everywhere is held as it is under the guards: along their axes too
            over = free(c) if self.safe(c) else free(c).union(*map(free, self.guards))
            if self.blocks(over):
                mask.append(c)
                stack.enter_context(self.guarded(c))
                continue
            test = self.evaluate(c)
            stack.enter_context(self.branch(test))
            stack.enter_context(self.guarded(c))
        return mask

    def _lanes(self, group: Reduce, state: State, index: Index, size: int, span: Span) -> None:
        """`size` partial states side by side, each folding every size-th point; then one tree of combines."""
        lane = Axis(Index(f"{index.name}~lane", affine(size)), affine(0), size)
        with self.inside(lane):
            wide = self.declare_state(group, list(state), lane)

            def tile(axis: Axis, conditions: list[Scalar]) -> None:
                with ExitStack() as stack:
                    mask = self.enter_conditions(stack, conditions)
                    self.update_lanes(group, wide, axis, lane, mask)

            left = self.by_tiles(index, size, span, tile)
            self.combine_lanes(group, state, wide, lane)
        self.left_over(group, state, index, span, left)
