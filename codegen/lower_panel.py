"""Products in a stream: state matrices that take up tiles of points, and operands copied once for all tiles.

carry       rows of a follower whose statistic did not move are left alone
take up     a sub-block of rows takes up the points of a tile that count for all of it without masks, and only those
            next to the ends of the domain under them
copies      what the products of a stream read badly is copied for all of the streamed index, outside of the rows;
            what they would compute anew for each tile of it is computed once for the rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import prod

from tang_egg.affine import Index, affine, product
from tang_egg.codegen.kernel import Call, Expr, Form, Loop, Stmt, number, variable
from tang_egg.codegen.lower_chunk import Chunks
from tang_egg.codegen.lower_scope import Axis, Scope
from tang_egg.codegen.lower_state import Slot, Step
from tang_egg.codegen.lower_value import COSTLY
from tang_egg.codegen.vectors import AVX2
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, StateRef, Statistic, Tensor, Test, children, free, walk

LEAST_ROW = 16
"""Points of a row of a follower from which on a branch costs less than carrying it."""
ALONG = 16
"""Points of the streamed index that are copied at once, and by which lines of a copy are longer than it.

Lines of a length that is a power of two would start in few sets of a cache.
"""


LINES = 8192
"""Elements of what is computed once for a block of rows, at most."""


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
        if self.vectors.bytes > AVX2.bytes:  # all rows at once cost less than the call for one
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

    def _stage(self, group: Reduce) -> list[tuple[Scope, Scalar]]:
        """Copies what a fold in a stream reads badly, and computes ahead what it would compute for each tile again."""
        if not self.schedule.grid:
            for s in self._made_again(group):
                self._hold_lines(s, [i for i in group.indices if i in free(s)])
        return super()._stage(group)

    def _made_again(self, group: Reduce) -> list[Scalar]:
        """The largest values below a fold of rows and folded indices alone, within the loop over a stream."""
        found: dict[Scalar, None] = {}
        pending = list(group.body)
        while pending:
            s = pending.pop()
            if not isinstance(s, Apply):
                continue
            if self._lacks_stream(s, set(group.indices)) and self.known("arrays", s) is None:
                found[s] = None
            else:
                pending += s.args
        return list(found)

    def _lacks_stream(self, s: Apply, folded: set[Index]) -> bool:
        """Whether a loop over a stream would make a value anew that it does not change, and that fits at hand."""
        below = list(walk(s))
        outer = free(s) - folded
        if (
            s.op.partition(":")[0] == "cast"
            or not free(s) & folded
            or any(isinstance(x, (Reduce, Scan, Statistic, StateRef)) for x in below)
            or not self.safe(s)
            or any(self.bound(i) is None for i in outer)
            or any(local.mutable for local in self.local_sources(s))
        ):
            return False
        rows, lines = self.blocks(outer), prod(i.size.value or LINES + 1 for i in free(s) & folded)
        depth = self.home_of(s, outer).depth
        streams = (i for c in self.scope.chain() if c.depth > depth for i in c.axes)
        again = any(self.schedule.fold_of(i.name).how == "stream" and i not in outer for i in streams)
        return again and bool(rows) and prod(a.size for a in rows) * lines <= LINES

    def home_of(self, s: Scalar, outer: Iterable[Index]) -> Scope:
        """The outermost scope in which the indices `outer` of a value are bound and its local arrays filled."""
        depth = max((self.depth_of(i) for i in outer), default=0)
        depth = max([depth, *(local.home for local in self.local_sources(s))])
        return next(x for x in self.scope.chain() if x.depth <= depth)

    def _hold_lines(self, s: Scalar, folded: list[Index]) -> None:
        """Computes a value for all rows and all points of the folded indices, the last of which is contiguous."""
        outer = free(s) - set(folded)
        with self.at(self.home_of(s, outer)):
            rows = self.blocks(outer)
            axes = [*rows, *(Axis(i, affine(0)) for i in folded)]
            extents = (*(affine(a.size) for a in rows), *(i.size for i in folded))
            local = self.array("v", self.type(s), axes, extents)
            count = folded[-1].size.value or 0
            with ExitStack() as stack:
                points = [stack.enter_context(self.refine(a, 1)) for a in rows]
                stack.enter_context(self.inside(*points))
                for i in folded[:-1]:
                    stack.enter_context(self.loop(i, number(0), Form(i.size)))
                full = number(count // ALONG * ALONG)
                with self.loop(folded[-1], number(0), full, ALONG, size=ALONG) as block, self.points([block]):
                    self.put(local, axes, self.evaluate(s))
                with self.loop(folded[-1], full, number(count)):
                    self.put(local, axes, self.evaluate(s))
            self.result(local, axes, s, also=folded)

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

        # where threads share the rows within, they share the copy as well
        around = {i.name for c in self.scope.chain() for i in c.axes}
        shared = bool(self.schedule.parallel) and not around & set(self.schedule.parallel)
        work = product((through.size, *(i.size for i in folded))) if shared else None
        kind = "parallel" if shared else "serial"
        with self.loop(through, number(0), end, ALONG, kind, ALONG, work) as block:
            lines(block)
        with self.loop(through, end, Form(through.size)) as point:
            lines(point)
        self.result(local, axes, s, also=[*folded, through])
