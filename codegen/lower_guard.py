"""Folds whose state seldom changes: a tile of points is tested first, in vectors, and passed by where none can enter.

    for each tile of the index:
        may[r] := not keeps(state, lift at r)                     in lanes
        for each point of the tile that may:                      the bits of a word that are set (of all, on devices)
            if not keeps(state, lift):  state := take(state, lift)

The state is an ordered list of best entries (monoid_entries.entries_of): it keeps what it has where its last entry
precedes the new one, and takes up one element by k comparisons instead of the k squared of a merge, in vectors
(lower_entries). Of random points in a long row few enter. Points are taken up in order, and entries of one rank are
told apart by the monoid's own order. Whole tiles are tested as if all their points stood where the first one does, if
that can only let more of them pass: so no positions are compared in lanes, and ties with what is kept stay outside all
the same.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from tang_egg.affine import Index, affine
from tang_egg.codegen.kernel import Call, Expr, Form, Let, Load, Loop, Stmt, Store, number, variable
from tang_egg.codegen.lower_entries import Lists, Ordered
from tang_egg.codegen.lower_lanes import beside
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_span import Span
from tang_egg.codegen.lower_state import Slot, State
from tang_egg.errors import CodegenError
from tang_egg.ir import Apply, Const, Position, Reduce, Scalar, StateRef, const
from tang_egg.monoid import replace_state
from tang_egg.monoid_entries import Entries, entries_of
from tang_egg.schedule import FoldPlan

LANES, WORD = 8, 64
"""What a tile is a multiple of, lest its points be tested one by one, and how many are at most told apart by bits."""


class Guards(Lists):
    """See the module text. Subclasses add `points_of`."""

    def points_of(self, group: Reduce, index: Index, low: Expr, stop: Expr) -> AbstractContextManager[None]:
        raise NotImplementedError

    def by_guard(self, group: Reduce, state: State, index: Index, plan: FoldPlan, span: Span) -> None:
        """The fold over the range of an index. Raises CodegenError where nothing says which points change the state."""
        entries = guarded_entries(group)
        if entries is None or plan.size % LANES:
            raise _no_guard(group, index, plan)
        taking, whole = self.taking(group), len(state) == len(group.monoid.components)
        if not whole or any(slot.axes for slot in state.values()):  # no last entry, or each element has its own list
            with self.points_of(taking, index, span.low, span.high):
                self.enter_point(taking, state, span.kept)
        elif not self.in_lists:
            self._by_states(taking, entries, state, index, plan, span)
        else:
            self._by_lists(group, entries, state, index, plan, span)

    def _by_states(
        self, group: Reduce, entries: Entries, state: State, index: Index, plan: FoldPlan, span: Span
    ) -> None:  # fmt: skip
        """Tiles are passed by where no point may enter; elsewhere all of their points are tested one by one."""
        keeps = entries.keeps()

        def enter(mask: list[Scalar]) -> None:
            may = self._may(group, lambda n: state[n].read, keeps, mask)
            with self.inside(), self.branch(self.evaluate(may)):
                self.update(group, state, None, [])

        def tile(axis: Axis, conditions: list[Scalar]) -> None:
            with ExitStack() as stack:
                mask = self.enter_conditions(stack, conditions)
                lane = Axis(Index(f"{index.name}~lane", affine(LANES)), affine(0), LANES)
                with self.inside(lane):
                    slot = self.slot(some, "i32", [lane])
                    self.fill(slot.local, [lane], const(0, "i32"))
                    with self.refine(axis, LANES) as part:
                        moved: Slot = beside(self, {0: slot}, part)[0]
                        may = self._may(group, lambda n: state[n].read, keeps, mask)
                        may = Apply("select", (may, const(1, "i32"), const(0, "i32")))
                        with self.points(moved.axes):
                            self.store(moved, self.evaluate(Apply("bitor", (moved.read, may))))
                seen: Scalar = slot.at({lane.index: affine(0)})
                for n in range(1, LANES):
                    seen = Apply("bitor", (seen, slot.at({lane.index: affine(n)})))
                found = Call("lt", (number(0), Call("cast", (self.evaluate(seen),), "i64")), "bool")
                with self.branch(found), self.refine(axis):
                    enter(mask)

        some = self.name(f"{index.name}_may")
        left = self.by_tiles(index, plan.size, span, tile)
        if left is not None:
            with self.points_of(group, index, left, span.high), ExitStack() as stack:
                enter(self.enter_conditions(stack, span.kept))

    def _by_lists(
        self, group: Reduce, entries: Entries, state: State, index: Index, plan: FoldPlan, span: Span
    ) -> None:  # fmt: skip
        """The points of a tile that may enter are told apart by the bits of a word, and lists are held in vectors."""
        held = self.begin_list(group, entries, state)
        room = max(n for n in range(LANES, WORD + 1, LANES) if plan.size % n == 0)

        def tile(axis: Axis, conditions: list[Scalar]) -> None:
            with ExitStack() as stack:
                mask = self.enter_conditions(stack, conditions)
                with self.refine(axis, room) as part:
                    self._each(held, part, mask)

        left = self.by_tiles(index, plan.size, span, tile)
        if left is not None:
            with self.points_of(group, index, left, span.high), ExitStack() as stack:
                self._enter(held, self.enter_conditions(stack, span.kept))
        self.end_list(held, state)

    def enter_point(self, group: Reduce, state: State, conditions: list[Scalar]) -> None:
        """Takes up the point in force, whatever it is."""
        with ExitStack() as stack:
            self.update(group, state, None, self.enter_conditions(stack, conditions))

    def taking(self, group: Reduce) -> Reduce:
        """The fold for the points that are taken up one by one: by k comparisons where the state is an ordered list."""
        entries = None if self.schedule.grid else guarded_entries(group)
        return group if entries is None else replace(group, monoid=entries.taking())

    def _each(self, held: Ordered, tile: Axis, mask: list[Scalar]) -> None:
        """Takes up the points of a tile that may enter, the first ones first."""
        bits = self.slot("bits", "i64", [])
        left = Load(bits.local.buffer, number(0), "i64")
        self.scope.out.append(Store(bits.local.buffer, number(0), self._which(held, tile, mask)))
        some = self.keep(Call("count", (left,), "i64"))
        turn, at = self.name("entry"), self.name(tile.index.name)
        body: list[Stmt] = [
            Let(at, Call("add", (Form(tile.start), Call("lowest", (left,), "i64")), "i64")),
            Store(bits.local.buffer, number(0), Call("rest", (left,), "i64")),
        ]
        with self.inside(Axis(tile.index, variable(at), 1, tile.origin), out=body):
            self._enter(held, mask)
        self.scope.out.append(Loop(turn, number(0), some, 1, "serial", tuple(body)))

    def _enter(self, held: Ordered, mask: list[Scalar]) -> None:
        """Takes up the point in force where it changes the state."""
        keeps = held.entries.keeps()
        with self.inside(), self.branch(self.evaluate(self._may(held.group, held.component, keeps, mask))):
            self.take_in(held, self.lifted(held.group)[: held.entries.width])

    def _may(self, group: Reduce, left: Callable[[int], Scalar], keeps: Scalar, mask: list[Scalar]) -> Scalar:
        """Whether the point in force counts and changes the state, by what says that the state is kept."""
        right = self.lifted(group)

        def of(x: Scalar) -> Scalar | None:
            if not isinstance(x, StateRef):
                return None
            n = group.monoid.position(x.component)
            return left(n) if x.side == "left" else right[n]

        found: Scalar = Apply("not", (replace_state(keeps, of),))
        for c in reversed(mask):
            found = Apply("and", (c, found))
        return found

    def _which(self, held: Ordered, tile: Axis, mask: list[Scalar]) -> Expr:
        """The points of a tile that may enter, as bits."""
        with self.inside():
            keeps = self._from_the_start(held, tile)
            may = self.slot(f"{tile.index.name}_may", "i32", [tile])
            with self.points([tile]):
                test = Apply(
                    "select", (self._may(held.group, held.component, keeps, mask), const(1, "i32"), const(0, "i32"))
                )
                self.store(may, self.evaluate(test))
        each = (Load(may.local.buffer, number(n), "i32") for n in range(tile.size))
        return Call("which", tuple(each), "i64")

    def _from_the_start(self, held: Ordered, tile: Axis) -> Scalar:
        """What says that a state is kept, where it compares positions with that of the first point of a tile.

        Where a component is a position that grows along the tile, and stands on the right of a comparison that nothing
        turns round, what holds at the first point holds at all of them.
        """
        monoid, firsts = held.group.monoid, dict[str, Scalar]()
        for n, x in enumerate(self.lifted(held.group)[: held.entries.width]):
            inner = x.args[0] if isinstance(x, Apply) and x.op == "cast:i32" else x
            step = inner.form.coefficient(tile.index).value if isinstance(inner, Position) else None
            if isinstance(inner, Position) and step is not None and step > 0:
                slot = self.slot("first", held.fields[n].local.buffer.type, [])
                with self.inside(Axis(tile.index, tile.start, 1, tile.origin)):
                    self.store(slot, self.evaluate(x))
                firsts[monoid.components[n].name] = slot.read

        def weaker(s: Scalar) -> Scalar:
            if isinstance(s, Apply) and s.op in ("and", "or"):
                return Apply(s.op, tuple(weaker(a) for a in s.args))
            if isinstance(s, Apply) and s.op in ("lt", "le") and isinstance(y := s.args[1], StateRef):
                first = firsts.get(y.component) if y.side == "right" else None
                return s if first is None else Apply(s.op, (s.args[0], first))
            return s

        return weaker(held.entries.keeps())


def guarded_entries(group: Reduce) -> Entries | None:
    """The ordered entries of a fold of which each point lifts to one; None for any other fold."""
    entries = entries_of(group.monoid)
    if entries is None:
        return None
    rest = zip(group.body[entries.width :], group.monoid.identity[entries.width :], strict=True)
    return entries if all(isinstance(a, Const) and a == b for a, b in rest) else None


def _no_guard(group: Reduce, index: Index, plan: FoldPlan) -> CodegenError:
    if plan.size % LANES:
        whole = max(LANES, plan.size // LANES * LANES)
        return CodegenError(
            f"tiles of {plan.size} points that are tested in {LANES} lanes",
            where=f"fold={index.name}:{plan}",
            mend=f"let a tile be a multiple of {LANES}: fold={index.name}:guard:{whole}",
        )
    return CodegenError(
        f"the fold over '{index.name}' cannot test its points first: '{group.monoid.name}' keeps no ordered entries",
        where=str(group.at) or f"fold={index.name}:{plan}",
        mend=f"write fold={index.name}:lanes:8, or fold with a monoid such as top_k",
    )
