"""Products in a stream: state matrices that take up tiles of points, and operands copied once for all tiles.

carry       rows of a follower whose statistic did not move are left alone
take up     a sub-block of rows takes up the points of a tile that count for all of it without masks, and only those
            next to the ends of the domain under them
copies      what the products of a stream read badly is copied for all of the streamed index, outside of the rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import prod

from tang_egg.affine import Index, affine
from tang_egg.codegen.kernel import Call, Expr, Form, Loop, Stmt, number, variable
from tang_egg.codegen.lower_chunk import Chunks
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_state import Slot, Step
from tang_egg.codegen.lower_value import COSTLY
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, Tensor, Test, children, free

LEAST_ROW = 16
"""Points of a row of a follower from which on a branch costs less than carrying it."""
ALONG = 16
"""Points of the streamed index that are copied at once, and by which lines of a copy are longer than it.

Lines of a length that is a power of two would start in few sets of a cache.
"""


class Panels(Chunks):
    """See the module text."""

    outputs: tuple[Tensor, ...]

    def carry(self, slot: Slot, carried: Scalar) -> None:
        """Row by row, those whose statistics moved; a row is what the statistics lack."""
        assert isinstance(carried, Apply) and carried.op == "select"
        still, _, moved = carried.args
        lead = [a for a in slot.axes if a.index in free(still)]
        row = [a for a in slot.axes if a not in lead]
        if (
            self.schedule.grid
            or not lead
            or not row
            or row[-1] is not slot.axes[-1]
            or prod(a.size for a in row) < LEAST_ROW
        ):
            super().carry(slot, carried)
            return
        self._hold_factors(moved, {a.index for a in lead})
        with ExitStack() as stack:
            points = [stack.enter_context(self.refine(a, 1)) for a in lead]
            stack.enter_context(self.branch(self.evaluate(Apply("not", (still,)))))
            # bound anew, lest the factor of the carry be computed outside of the branch
            stack.enter_context(self.inside(*(replace(p, root=p.origin) for p in points)))
            stack.enter_context(self.points(row))
            self.store(slot, self.evaluate(moved))

    def _hold_factors(self, moved: Scalar, lead: set[Index]) -> None:
        """Computes the costly values that are the same along rows for all rows at once, in vectors."""
        if isinstance(moved, Apply) and moved.op in COSTLY and free(moved) & lead and self.safe(moved):
            if {a.index for a in self.blocks(free(moved))} <= lead and self.known("arrays", moved) is None:
                self.hold(moved)
            return
        for x in children(moved):
            if not isinstance(x, (Reduce, Scan)):
                self._hold_factors(x, lead)

    def take_tile(self, tile: Axis, subs: Sequence[Axis], step: Step, take: Callable[[Step], None]) -> None:
        """The points of a tile in order: those that count for all of the sub-blocks without the tests on positions."""
        tests = [c for c in step.mask if isinstance(c, Test)]
        if self.schedule.grid or not tests:
            super().take_tile(tile, subs, step, take)
            return
        others = [c for c in step.mask if not isinstance(c, Test)]
        span = self.span(tile.index, [], list(tests), False)
        start, end = Form(tile.start), Form(tile.start + tile.size)
        low = self.name_bound("from", Call("max", (span.low, start), "i64"))
        high = self.name_bound("to", Call("max", (Call("min", (span.high, end), "i64"), low), "i64"))
        parts: list[tuple[Expr, Expr, list[Scalar]]] = []
        if span.firm is not None:
            stop = self.name_bound("firm", Call("max", (Call("min", (span.firm, high), "i64"), low), "i64"))
            parts.append((low, stop, span.kept))
            low = stop
        if span.sure is not None:
            stop = self.name_bound("sure", Call("max", (Call("min", (span.sure, high), "i64"), low), "i64"))
            parts.append((low, stop, span.untold))
            low = stop
        parts.append((low, high, span.kept if span.sure is not None else span.untold))
        for first, last, kept in parts:
            with self._points_of(tile, first, last), self.points(subs):
                take(replace(step, mask=[*kept, *others]))

    @contextmanager
    def _points_of(self, tile: Axis, start: Expr, stop: Expr) -> Iterator[None]:
        """A loop over points of a tile; what was computed for the whole tile is found again at each."""
        var = self.name(f"{tile.index.name}_e")
        point = Axis(tile.index, variable(var), 1, tile.origin)
        body: list[Stmt] = []
        with self.inside(point, out=body):
            yield
        if body:
            self.scope.out.append(Loop(var, start, stop, 1, "serial", tuple(body)))

    # -- copies

    def copied_through(self, s: Read | Apply, folded: Sequence[Index]) -> list[Index]:
        """The streamed indices over all of which an operand is copied at once, where rows that it lacks share that."""
        outer = free(s) - set(folded)
        through = [a.index for a in self.blocks(outer) if self.schedule.fold_of(a.index.name).how == "stream"]
        if self.schedule.grid or len(through) != 1 or any(a.index not in through for a in self.blocks(outer)):
            return []
        depth = max((self.depth_of(i) for i in outer if i not in through), default=0)
        rows = [a for t in self.outputs for i in t.axes if i not in free(s) and (a := self.bound(i)) is not None]
        return through if any(self.depth_of(a.index) > depth and not a.whole for a in rows) else []

    def copy_through(self, s: Read | Apply, name: str, folded: Sequence[Index], through: Index) -> None:
        """A copy over the folded indices and all of the streamed one, which is contiguous, in the scope in force."""
        axes = [Axis(i, affine(0)) for i in (*folded, through)]
        local = self.array(name, self.type(s), axes, (*(i.size for i in folded), through.size + ALONG))
        full = Call("mul", (Call("idiv", (Form(through.size), number(ALONG)), "i64"), number(ALONG)), "i64")
        extent = through.size.value
        end = self.name_bound(f"{name}_full", full if extent is None else number(extent // ALONG * ALONG))

        def lines(axis: Axis) -> None:
            with ExitStack() as stack:
                for i in folded:
                    stack.enter_context(self.loop(i, number(0), Form(i.size)))
                with self.points([axis] if axis.block else []):
                    self.put(local, axes, self.evaluate(s))

        with self.loop(through, number(0), end, ALONG, size=ALONG) as block:
            lines(block)
        with self.loop(through, end, Form(through.size)) as point:
            lines(point)
        self.result(local, axes, s, also=[*folded, through])
