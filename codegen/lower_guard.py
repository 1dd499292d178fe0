"""Folds whose state seldom changes: a tile of points is tested first, in vectors, and passed by where none can enter.

    for each tile of the index:
        may[r] := may[r] or not keeps(state, lift at r)           in lanes
        if any may:
            for each point of the tile:
                if not keeps(state, lift):  state := take(state, lift)

The state is an ordered list of best entries (monoid.entries_of): it keeps what it has where its last entry precedes the
new one, and takes up one element by k comparisons instead of the k squared of a merge. Of random points in a long row
few enter. Points are taken up in order, and entries of one rank are told apart by the monoid's own order.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from tang_egg.affine import Index, affine
from tang_egg.codegen.kernel import Call, Expr, number
from tang_egg.codegen.lower_keep import Keeps
from tang_egg.codegen.lower_lanes import beside
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_span import Span
from tang_egg.codegen.lower_state import Slot, State
from tang_egg.errors import CodegenError
from tang_egg.ir import Apply, Const, Reduce, Scalar, StateRef, const
from tang_egg.monoid import Entries, entries_of, replace_state
from tang_egg.schedule import FoldPlan

LANES = 8
"""Lanes of the vectors in which points are tested."""


class Guards(Keeps):
    """See the module text. Subclasses add `points_of`."""

    def points_of(self, group: Reduce, index: Index, low: Expr, stop: Expr) -> AbstractContextManager[None]:
        raise NotImplementedError

    def by_guard(self, group: Reduce, state: State, index: Index, plan: FoldPlan, span: Span) -> None:
        """The fold over the range of an index. Raises CodegenError where nothing says which points change the state."""
        entries = guarded_entries(group)
        if entries is None or plan.size % LANES:
            raise _no_guard(group, index, plan)
        taking = self.taking(group)
        some = self.name(f"{index.name}_may")

        def tile(axis: Axis, conditions: list[Scalar]) -> None:
            with ExitStack() as stack:
                mask = self.enter_conditions(stack, conditions)
                with self.branch(self._any(group, state, entries, axis, mask, some)), self.refine(axis):
                    self._enter(taking, state, entries, mask)

        whole = len(state) == len(group.monoid.components)
        if not whole or any(slot.axes for slot in state.values()):  # no last entry, or each element has its own list
            with self.points_of(taking, index, span.low, span.high):
                self.enter_point(taking, state, span.kept)
            return
        left = self.by_tiles(index, plan.size, span, tile)
        if left is not None:
            with self.points_of(taking, index, left, span.high), ExitStack() as stack:
                self._enter(taking, state, entries, self.enter_conditions(stack, span.kept))

    def enter_point(self, group: Reduce, state: State, conditions: list[Scalar]) -> None:
        """Takes up the point in force, whatever it is."""
        with ExitStack() as stack:
            self.update(group, state, None, self.enter_conditions(stack, conditions))

    def taking(self, group: Reduce) -> Reduce:
        """The fold for the points that are taken up one by one: by k comparisons where the state is an ordered list."""
        entries = None if self.schedule.grid else guarded_entries(group)
        return group if entries is None else replace(group, monoid=entries.taking())

    def _enter(self, group: Reduce, state: State, entries: Entries, mask: list[Scalar]) -> None:
        """Takes up the point in force where it changes the state."""
        with self.inside(), self.branch(self.evaluate(self._may(group, state, entries, mask))):
            self.update(group, state, None, [])

    def _may(self, group: Reduce, state: State, entries: Entries, mask: list[Scalar]) -> Scalar:
        """Whether the point in force counts and changes the state."""
        right: Mapping[int, Scalar] = dict(enumerate(self.lifted(group)))

        def of(x: Scalar) -> Scalar | None:
            if not isinstance(x, StateRef):
                return None
            n = group.monoid.position(x.component)
            return state[n].read if x.side == "left" else right[n]

        found: Scalar = Apply("not", (replace_state(entries.keeps(), of),))
        for c in reversed(mask):
            found = Apply("and", (c, found))
        return found

    def _any(
        self, group: Reduce, state: State, entries: Entries, tile: Axis, mask: list[Scalar], stem: str
    ) -> Expr:  # fmt: skip
        """Whether any point of a tile may enter."""
        lane = Axis(Index(f"{tile.index.name}~lane", affine(LANES)), affine(0), LANES)
        with self.inside(lane):
            slot = self.slot(stem, "i32", [lane])
            self.fill(slot.local, [lane], const(0, "i32"))
            with self.refine(tile, LANES) as part:
                moved: Slot = beside(self, {0: slot}, part)[0]
                may = Apply("select", (self._may(group, state, entries, mask), const(1, "i32"), const(0, "i32")))
                with self.points(moved.axes):
                    self.store(moved, self.evaluate(Apply("bitor", (moved.read, may))))
        seen: Scalar = slot.at({lane.index: affine(0)})
        for n in range(1, LANES):
            seen = Apply("bitor", (seen, slot.at({lane.index: affine(n)})))
        return Call("lt", (number(0), Call("cast", (self.evaluate(seen),), "i64")), "bool")


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
