"""Folds by blocks: state arrays over the block axes, a loop over the folded indices, one update per point or tile.

    fold(F):   state[B] := identity                      B: the block axes that the component depends on
               for r in the domain:                      by points, or by tiles of `plan.size` points
                   prepare what the lifts read
                   update state[B] with the lifts        (lower_update)

The components of one fold share the loop. A component's own axes (matrices of a state) are held whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from tang_egg.affine import Affine, Index, Inequality, affine
from tang_egg.codegen.kernel import Call, Expr, Form, Let, Var, number
from tang_egg.codegen.lower_scope import Axis, Known
from tang_egg.codegen.lower_state import State, register_tile
from tang_egg.codegen.lower_update import Updates
from tang_egg.errors import CodegenError
from tang_egg.ir import Read, Reduce, Scalar, Scan, Test, free, walk
from tang_egg.schedule import FoldPlan


def group_of(s: Reduce) -> Reduce:
    """The fold itself, whatever component is asked for."""
    return Reduce(s.monoid, s.indices, s.where, s.body, 0, s.at)


def part_of(s: Reduce | Scan, part: int) -> Scalar:
    """Component `part` of a fold or scan."""
    if isinstance(s, Scan):
        return Scan(s.monoid, s.index, s.body, part, s.chunk, s.at)
    return Reduce(s.monoid, s.indices, s.where, s.body, part, s.at)


class Folds(Updates):
    """See the module text."""

    parts: dict[Scalar, set[int]]

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
        self._stage(group)
        own = self.unbound_own_axes(group, parts)
        target = self.scope
        conditions = [Test(c) for c in group.where.affine] + list(group.where.data)
        conditions += [g for g in guards if g not in conditions]
        with self.inside(*own):
            axes = self.contiguous_last(self.component_axes(group, parts[0]), group.body)
            if len(parts) == 1 and not own and axes and self._flat(group):
                state = self._by_register_tiles(group, parts[0], axes, conditions)
            else:
                state = self.declare_state(group, parts)
                self._loops(group, state, list(group.indices), conditions)
            self.publish(group, state, target)

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
            sizes = register_tile(axes, 1)
            subs = [stack.enter_context(self.refine(a, n)) for a, n in zip(axes, sizes, strict=True)]
            state = self.declare_state(group, [part])
            self._loops(group, state, list(group.indices), conditions)
            with self.inside():
                self.fill(full.local, subs, self.frozen(state[part]).read)
        return {part: full}

    def _stage(self, group: Reduce) -> None:
        """Copies staged operands into arrays in which the folded indices come first and the block is contiguous."""
        for s in dict.fromkeys(x for b in group.body for x in walk(b) if isinstance(x, Read)):
            if s.source.name not in self.schedule.stage or not self.safe(s) or self.known("arrays", s) is not None:
                continue
            folded = [i for i in group.indices if i in free(s)]
            outer = free(s) - set(folded)
            if not folded or not self.blocks(outer) or any(self.bound(i) is None for i in outer):
                continue
            depth = max(self.depth_of(i) for i in outer)
            with self.at(next(x for x in self.scope.chain() if x.depth <= depth)):
                self._copy_in(s, folded)

    def _copy_in(self, s: Read, folded: list[Index]) -> None:
        blocks = self.contiguous_last(self.blocks(free(s) - set(folded)), ())
        axes = [Axis(i, affine(0)) for i in folded] + blocks
        extents = tuple(i.size for i in folded) + tuple(affine(a.size) for a in blocks)
        local = self.array(s.source.name, self.real, axes, extents)
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
            target.arrays.setdefault(part, []).append(Known(read, axes))

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
        plan = FoldPlan() if scanned or rest else self.schedule.fold_of(index.name)
        low, high, kept = self._limits(index, rest, conditions, scanned)
        if plan.how == "serial" or plan.size <= 1 or not self._tileable(index, plan):
            with self.loop(index, low, high):
                self._loops(group, state, rest, kept)
            return
        full = self._full_tiles(index, low, high, plan.size)
        if plan.how == "lanes" and not self.is_cascade(group) and group.monoid.commutative:
            self._lanes(group, state, index, plan.size, low, full, kept)
        else:
            with self.loop(index, low, full, plan.size, size=plan.size) as axis:
                self._tile(group, state, axis, kept)
        if not (
            isinstance(high, Form)
            and high.form.value is not None
            and low == number(0)
            and high.form.value % plan.size == 0
        ):
            with self.loop(index, full, high):
                self._loops(group, state, rest, kept)

    def _tileable(self, index: Index, plan: FoldPlan) -> bool:
        size = index.size.value
        return size is None or size >= plan.size

    def _full_tiles(self, index: Index, low: Expr, high: Expr, size: int) -> Expr:
        """Where the last full tile ends."""
        if isinstance(low, Form) and low.form.value == 0 and isinstance(high, Form) and high.form.value is not None:
            return number(high.form.value // size * size)
        span = Call("max", (Call("add", (high, Call("neg", (low,), "i64")), "i64"), number(0)), "i64")
        whole = Call("mul", (Call("idiv", (span, number(size)), "i64"), number(size)), "i64")
        return self._name_bound(f"{index.name}_full", Call("add", (low, whole), "i64"))

    def _name_bound(self, stem: str, value: Expr) -> Expr:
        if isinstance(value, Form):
            return value
        name = self.name(stem)
        self.scope.out.append(Let(name, value))
        return Var(name, "i64")

    def _limits(
        self, index: Index, later: list[Index], conditions: list[Scalar], scanned: bool
    ) -> tuple[Expr, Expr, list[Scalar]]:
        """The range of an index that its affine conditions leave, and the conditions that remain to be tested."""
        lows: list[Affine] = [affine(0)]
        highs: list[Affine] = [index.size]
        kept: list[Scalar] = []
        for c in conditions:
            limit = None if scanned or not isinstance(c, Test) else self._limit(index, later, c.condition)
            if limit is None:
                kept.append(c)
                continue
            side, bound, exact = limit
            (lows if side > 0 else highs).append(bound)
            if not exact:
                kept.append(c)
        low, high = _extreme("max", lows), _extreme("min", highs)
        return self._name_bound(f"{index.name}_lo", low), self._name_bound(f"{index.name}_hi", high), kept

    def _limit(self, index: Index, later: list[Index], c: Inequality) -> tuple[int, Affine, bool] | None:
        """index >= bound (side 1) or index < bound (side -1), as a condition implies, and whether that is all of it."""
        factor = c.form.coefficient(index).value
        if factor not in (1, -1) or any(i in later for i in c.form.indices()):
            return None
        rest = c.form.substitute({index: 0})
        exact = True
        for i in rest.indices():
            axis = self.bound(i)
            if axis is None:
                return None
            weight = rest.coefficient(i)
            if axis.block:
                if weight.value is None:
                    return None
                # rest as large as it can be over the block: the loosest limit
                extreme = axis.start + (axis.size - 1 if weight.value > 0 else 0)
                exact = False
            else:
                extreme = axis.start
            rest = rest.substitute({i: 0}) + weight * extreme
        return (1, -rest, exact) if factor == 1 else (-1, rest + 1, exact)

    # -- one point, one tile

    def _point(self, group: Reduce, state: State, conditions: list[Scalar]) -> None:
        with ExitStack() as stack:
            mask = self.enter_conditions(stack, conditions)
            self.update(group, state, None, mask)

    def _tile(self, group: Reduce, state: State, axis: Axis, conditions: list[Scalar]) -> None:
        with ExitStack() as stack:
            mask = self.enter_conditions(stack, conditions)
            self.update(group, state, axis, mask)

    def enter_conditions(self, stack: ExitStack, conditions: list[Scalar]) -> list[Scalar]:
        """Branches on the conditions that are the same for the whole block; gives those that each element must test."""
        mask: list[Scalar] = []
        for c in conditions:
            if self.blocks(free(c)):
                mask.append(c)
                stack.enter_context(self.guarded(c))
                continue
            test = self.evaluate(c)
            stack.enter_context(self.branch(test))
            stack.enter_context(self.guarded(c))
        return mask

    def _lanes(
        self, group: Reduce, state: State, index: Index, size: int, low: Expr, full: Expr, conditions: list[Scalar]
    ) -> None:
        """`size` partial states side by side, each folding every size-th point; then one tree of combines."""
        lane = Axis(Index(f"{index.name}~lane", affine(size)), affine(0), size)
        with self.inside(lane):
            wide = self.declare_state(group, list(state), lane)
            with self.loop(index, low, full, size, size=size) as axis, ExitStack() as stack:
                mask = self.enter_conditions(stack, conditions)
                self.update_lanes(group, wide, axis, lane, mask)
            self.combine_lanes(group, state, wide, lane)


def _extreme(op: str, forms: list[Affine]) -> Expr:
    """The largest or smallest of some forms, constants folded."""
    fixed = [f.value for f in forms if f.value is not None]
    others = list(dict.fromkeys(f for f in forms if f.value is None))
    result: Expr | None = number(max(fixed) if op == "max" else min(fixed)) if fixed else None
    for f in others:
        result = Form(f) if result is None else Call(op, (result, Form(f)), "i64")
    assert result is not None
    return result
