"""Kernels for a grid of threads, or of warps, from the block evaluation of `lower`: what one thread runs.

    threads    for point in 0 ... product of the grid's axes, a share of them per thread (a loop of kind "grid"):
                   i, j := point div, mod            the last axis fastest: neighbours touch neighbouring elements
                   other axes in plain loops; folds in order, their state in arrays of the thread

    warps      row := the number of this warp; if row < product of the grid's axes:
                   i, j := row div, mod
                   fold     for k from lane by 32: state := combine(state, lift)
                            for m in 16, 8, 4, 2, 1: state := combine(the lower lane's state, the upper one's)
                   store    for c from lane by 32: output[i, j, c], or one lane alone

A fold is spread over lanes where they agree on all else: outside loops in which lanes differ. All lanes then hold one
and the same state, bit for bit, so that what follows is computed once for all and branches of a warp stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tang_egg.affine import Affine, Dim, Index, affine
from tang_egg.codegen.device import BUILT_IN, GROUP, WARP, Launch
from tang_egg.codegen.kernel import (
    Call,
    Expr,
    Form,
    Kernel,
    Let,
    Loop,
    Stmt,
    Var,
    number,
    variable,
)
from tang_egg.codegen.lower_beside import fits_beside
from tang_egg.codegen.lower_exchange import Exchanges
from tang_egg.codegen.lower_row import Coming, form_of
from tang_egg.codegen.lower_scope import Axis, Scope
from tang_egg.codegen.lower_state import State
from tang_egg.codegen.settled import settled
from tang_egg.errors import CodegenError
from tang_egg.ir import Read, Reduce, Scalar, Scan, Tensor, Test, free, sources, walk
from tang_egg.schedule import Schedule

THREADS = 256
"""Threads of a block, unless a target wants others."""
RESIDENT = 2048
"""Threads that a multiprocessor holds at most."""
POINTS = 4
"""Points of the grid for each thread, so that several loads are under way at once."""
FULL = 1 << 17
"""Points from which on a thread takes several."""


def lower_grid(
    name: str, outputs: tuple[Tensor, ...], schedule: Schedule, threads: int = THREADS, together: int = THREADS,
    teams: bool = True,
) -> Kernel:  # fmt: skip
    """The kernel that writes `outputs`, with its launch. Raises CodegenError for a state of symbolic size.

    `threads`: of a block. `together`: of a block of warps; WARP of them where lanes exchange values through memory that
    a block shares, so that all threads of a block take the same way to every exchange. `teams`: warps of a block may
    share a row, and one instruction finds the largest number of a warp.
    """
    return _Grid(name, outputs, schedule, threads, together, teams).run()


class _Grid(Exchanges):
    """One kernel under construction. `apart`: scopes in which the lanes of a warp may differ."""

    reserved = BUILT_IN
    in_lists = False  # states are registers of threads

    def __init__(
        self, name: str, outputs: tuple[Tensor, ...], schedule: Schedule, threads: int, together: int, teams: bool
    ) -> None:
        super().__init__(name, _at_hand(outputs, schedule), schedule)
        if clash := sorted(set(self.dims) & set(BUILT_IN)):
            raise CodegenError(
                f"a dimension is called '{clash[0]}', which is a variable of every thread",
                where=f"kernel '{name}'",
                mend="give the dimension another name",
            )
        self.by_warp = bool(schedule.warp) or any(plan.how == "warp" for _, plan in schedule.fold)
        self.threads = together if self.by_warp else threads
        self.lane = self.name("lane") if self.by_warp else ""
        self.team = schedule.team if self.by_warp else 0
        if self.team not in (0, 2, 4, 8, 16, 32):
            raise CodegenError(
                f"a team of {self.team} warps",
                where=f"kernel '{name}', schedule: {schedule}",
                mend="let 2, 4, 8, 16 or 32 warps share a row: their states are combined in pairs",
            )
        if self.team and not teams:
            raise CodegenError(
                f"a team of {self.team} warps, on a target whose blocks are single warps",
                where=f"kernel '{name}', schedule: {schedule}",
                mend="leave out team=; warps of CUDA kernels can share a row",
            )
        if schedule.ahead and self.by_warp and not self.team:
            raise CodegenError(
                "rows that a warp has alone are not loaded ahead",
                where=f"kernel '{name}', schedule: {schedule}",
                mend="leave out ahead=, or let the warps of a block share a row: team=4",
            )
        if schedule.across and not teams:
            raise CodegenError(
                f"elements that turn across {','.join(schedule.across)}, on a target whose blocks are single warps",
                where=f"kernel '{name}', schedule: {schedule}",
                mend="leave out across=; blocks of CUDA kernels turn elements in shared memory",
            )
        self.votes = teams
        self.seat = self.name("seat") if self.team else self.lane
        self.seats = WARP * max(self.team, 1)
        self.apart: set[Scope] = set()
        self.spread: set[tuple[Reduce, Index]] = set()
        self.shared: set[tuple[Reduce, Index]] = set()

    def run(self) -> Kernel:
        if self.schedule.across:
            return self.turned()
        common = [i for i in self.outputs[0].axes if all(i in t.axes for t in self.outputs)]
        order = [i for i in common if i not in self.scanned] + [i for i in common if i in self.scanned]
        whole = [i for i in order if self._held_whole(i)]
        grid = [i for i in order if i.name in self.schedule.grid and i not in whole and i not in self.scanned]
        rest = [i for i in order if i not in whole and i not in grid]
        count = affine(1)
        for i in grid:
            count = count * self._steps_of(i)[0]
        with self.inside(*(Axis(i, affine(0), i.size.value or 1) for i in whole)):
            share = (self._warps if self.by_warp else self._threads)(grid, rest, count)
        self.check_rounds()
        if count.value is not None:
            tiles: Expr = number(max(1, -(-count.value // share)))
        else:
            tiles = Call("max", (Call("idiv", (Form(count + (share - 1)), number(share)), "i64"), number(1)), "i64")
        used = self.seats if self.team else self.threads
        if self.schedule.occupancy * used > RESIDENT:
            raise CodegenError(
                f"{self.schedule.occupancy} blocks of {used} threads at once",
                where=f"kernel '{self.kernel}', schedule: {self.schedule}",
                mend=f"write at most occupancy={RESIDENT // used}: a multiprocessor holds {RESIDENT} threads",
            )
        several = bool(self.team and self.schedule.ahead and count.value)
        return self.finished(Launch(used, tiles, several, resident=max(1, self.schedule.occupancy)))

    # -- who computes what

    def _threads(self, grid: list[Index], rest: list[Index], count: Affine) -> int:
        """A loop over all points, shared by all threads; gives the points per block."""
        point = self.name("point")
        body: list[Stmt] = []
        if self.schedule.ahead > 1 and count.value is not None:
            return self._points_ahead(grid, rest, count.value, self.schedule.ahead)
        with self.inside(out=body), self.inside(*self._axes(grid, point)):
            self._grid(rest)
        self.scope.out.append(Loop(point, number(0), Form(count), 1, "grid", tuple(body)))
        return self.threads * (1 if count.value is not None and count.value < FULL else POINTS)

    def _points_ahead(self, grid: list[Index], rest: list[Index], count: int, ahead: int) -> int:
        """`ahead` points of each thread written out one after the other; a block has neighbours. Gives those of it."""
        turn, point = self.name("turn"), self.name("point")
        self.seat = self.name("seat")
        self.scope.out.append(Let(self.seat, Form(variable("thread") + variable("group") * GROUP)))
        share = self.threads * ahead
        place = variable("block") * share + variable(turn) * self.threads + Dim(self.seat)
        inside = None if count % share == 0 else Call("lt", (Var(point, "i64"), number(count)), "bool")
        body: list[Stmt] = []
        with self.inside(out=body):
            self.scope.out.append(Let(point, Form(place)))
            with self.branch(inside), self.inside(*self._axes(grid, point)):
                self._grid(rest)
        self.scope.out.append(Loop(turn, number(0), number(ahead), 1, "unrolled", tuple(body)))
        return share

    def _warps(self, grid: list[Index], rest: list[Index], count: Affine) -> int:
        """One row for each warp; gives the rows per block."""
        warp, row = self.name("warp"), self.name("row")
        thread, rows = Var("thread", "i64"), self.threads // WARP
        self.scope.out.append(Let(self.lane, Call("umod", (thread, number(WARP)), "i64")))
        if self.team:
            self.scope.out.append(Let(self.seat, Form(variable("thread") + variable("group") * GROUP)))
            self.scope.out.append(Let(warp, Call("udiv", (Var(self.seat, "i64"), number(WARP)), "i64")))
            self.warp = warp
            if self.schedule.ahead and count.value:
                self._rows_ahead(grid, rest, count.value)
                return 1
            some = None if count.value else Call("lt", (Var("block", "i64"), Form(count)), "bool")
            with self.branch(some), self.inside(*self._axes(grid, "block")):
                self._grid(rest)
            return 1
        self.scope.out.append(Let(warp, Call("udiv", (thread, number(WARP)), "i64")))
        place = variable("block") * rows + variable("group") * (GROUP // WARP) + variable(warp)
        self.scope.out.append(Let(row, Form(place)))
        with self.branch(Call("lt", (Var(row, "i64"), Form(count)), "bool")), self.inside(*self._axes(grid, row)):
            self._grid(rest)
        return rows

    def _rows_ahead(self, grid: list[Index], rest: list[Index], count: int) -> None:
        """Every blocks-th row from this block's on; what is held of a row is loaded while the row before is folded."""
        turn, row, later = (self.name(n) for n in ("turn", "row", "later"))
        blocks = Var("blocks", "i64")
        rounds = Call("udiv", (Form(variable("blocks") - variable("block") + (count - 1)), blocks), "i64")
        turns = self.name_bound("turns", rounds)
        before = self.scope
        body: list[Stmt] = []
        with self.inside(out=body):
            place = Call("add", (Var("block", "i64"), Call("mul", (Var(turn, "i64"), blocks), "i64")), "i64")
            self.scope.out.append(Let(row, place))
            after = Call("add", (Var(row, "i64"), blocks), "i64")
            self.scope.out.append(Let(later, Call("min", (after, number(count - 1)), "i64")))
            self.coming = Coming(before, grid, "block", later)
            with self.inside(*self._axes(grid, row)):
                self._grid(rest)
            self.coming = None
        self.scope.out.append(Loop(turn, number(0), turns, 1, "serial", tuple(body)))

    def grid_axes(self, grid: list[Index], point: str) -> list[Axis]:
        return self._axes(grid, point)

    def _steps_of(self, i: Index) -> tuple[Affine, int]:
        """How many points or tiles an axis of the grid has, and the tile."""
        tile, extent = self.schedule.tile_of(i.name), i.size.value
        if extent is None or tile < 2 or extent < tile or (extent % tile and any(t.into for t in self.outputs)):
            return i.size, 1
        return affine(-(-extent // tile)), tile

    def _axes(self, grid: list[Index], point: str) -> list[Axis]:
        """The axes of a grid, found from the number of a point by division, the last one fastest.

        The last tile of an axis is moved back to end with it: what it shares with another is computed twice.
        """
        axes: list[Axis] = []
        stride = affine(1)
        for n, i in reversed(list(enumerate(grid))):
            steps, tile = self._steps_of(i)
            value: Expr = Var(point, "i64")
            if stride.value != 1:
                value = Call("udiv", (value, Form(stride)), "i64")
            if n:
                value = Call("umod", (value, Form(steps)), "i64")
            if steps.value == 1:
                value = number(0)
            if tile > 1:
                value = Call("mul", (value, number(tile)), "i64")
                if i.size.value is not None and i.size.value % tile:
                    value = Call("min", (value, Form(i.size - tile)), "i64")
            name = self.name(i.name)
            self.scope.out.append(Let(name, value))
            axes.insert(0, Axis(i, variable(name), tile))
            stride = stride * steps
        return axes

    # -- lanes

    @property
    def alike(self) -> bool:
        """Whether all lanes of a warp are at the same point here."""
        return self.by_warp and not any(s in self.apart for s in self.scope.chain())

    @contextmanager
    def strided(self, index: Index, low: Expr, stop: Expr) -> Iterator[None]:
        """A loop over every 32nd point, from this lane's on."""
        first = variable(low.name) if isinstance(low, Var) else low.form if isinstance(low, Form) else None
        assert first is not None, "the bounds of folds are named"
        with self.loop(index, Form(first + Dim(self.seat)), stop, self.seats):
            self.apart.add(self.scope)
            yield

    def tiles(self, i: Index, kind: str, inner: Callable[[], None]) -> None:
        if self.alike and i.name in self.schedule.warp and i in self.scanned:
            with self.scan_rows(i, self._wide(i, self.schedule.tile_of(i.name))):
                inner()
            return
        if self.alike and i.name in self.schedule.warp and i not in self.scanned:
            size = self._wide(i, self.schedule.tile_of(i.name))
            if size > 1:
                with self.row_blocks(i, size, number(0), Form(i.size), [t.body for t in self.outputs]):
                    inner()
                return
            with self.strided(i, number(0), Form(i.size)):
                inner()
            return
        super().tiles(i, kind, inner)

    @contextmanager
    def once(self, blocks: Sequence[Axis]) -> Iterator[None]:
        """One lane stores what all of them know; of a block, each lane stores every 32nd element."""
        if not self.alike:
            yield
            return
        turn: Expr = number(0)
        if blocks:
            last = self.axis(blocks[-1].index)
            turn = Call("umod", (Form(last.start - blocks[-1].start), number(self.seats)), "i64")
        with self.branch(Call("eq", (Var(self.seat, "i64"), turn), "bool")):
            self.apart.add(self.scope)
            yield

    def _loops(self, group: Reduce, state: State, indices: list[Index], conditions: list[Scalar]) -> None:
        index = self._spread_index(group, conditions) if len(indices) == len(group.indices) else None
        if index is None:
            super()._loops(group, state, indices, conditions)
            return
        size = self._wide(index, self.schedule.fold_of(index.name).size)
        if self.by_rounds(group, state, size, conditions):
            return
        if size > 1 and len(indices) == 1:
            self._by_chunks(group, state, index, size, conditions)
            self.exchange(group, state)
            return
        key = group, index
        self.spread.add(key)
        self.shared.discard(key)
        super()._loops(group, state, indices, conditions)
        self.spread.discard(key)
        if key in self.shared:  # a count that is found by bisection has no loop: every lane knows all of it
            self.exchange(group, state)

    def _by_chunks(self, group: Reduce, state: State, index: Index, size: int, conditions: list[Scalar]) -> None:
        """Each lane folds blocks of `size` points, all other lanes' blocks apart."""
        span = self.span(index, [], conditions, False)
        tests = list(span.kept)
        low = span.low
        if low != number(0):
            tests.insert(0, Test(affine(index) >= form_of(low)))
            down = Call("mul", (Call("idiv", (low, number(size)), "i64"), number(size)), "i64")
            low = self.name_bound(f"{index.name}_first", down)
        if span.high != Form(index.size):
            tests.append(Test(affine(index) < form_of(span.high)))
        if not fits_beside(group, state, size):
            with self.guarded(*span.implied), self.row_blocks(index, size, low, span.high, group.body) as axis:
                self._tile(group, state, axis, tests)
            return
        lane = Axis(Index(f"{index.name}~lane", affine(size)), affine(0), size)
        with self.guarded(*span.implied), self.inside(lane):
            beside = self.declare_state(group, list(state), lane)
            with self.row_blocks(index, size, low, span.high, group.body) as axis, ExitStack() as stack:
                self.update_lanes(group, beside, axis, lane, self.enter_conditions(stack, tests))
            self.combine_lanes(group, state, beside, lane)

    def _spread_index(self, group: Reduce, conditions: list[Scalar]) -> Index | None:
        """The index of a fold that lanes can share: points in any order, none of them carried along by a scan."""
        if not self.alike or not group.monoid.commutative:
            return None
        below = (x for b in (*group.body, *conditions) for x in walk(b))
        carried = {x.index for x in below if isinstance(x, Scan)}
        for i in group.indices:
            if self.schedule.fold_of(i.name).how == "warp" and self.bound(i) is None and i not in carried:
                return i
        return None

    @contextmanager
    def points_of(self, group: Reduce, index: Index, low: Expr, stop: Expr) -> Iterator[None]:
        with ExitStack() as stack:
            if (group, index) in self.spread:
                self.shared.add((group, index))
                stack.enter_context(self.strided(index, low, stop))
            else:
                stack.enter_context(super().points_of(group, index, low, stop))
            yield


def _at_hand(outputs: tuple[Tensor, ...], schedule: Schedule) -> tuple[Tensor, ...]:
    """The tensors with what is at hand put to use: passes over rows that stay in registers become folds in turn."""
    if not schedule.stage:
        return outputs
    wide = {i for i, plan in schedule.fold if plan.how == "warp" and plan.size > 1}
    found = settled(outputs, wide)
    for before, after in zip(outputs, found, strict=True):
        if sources(before.body) != sources(after.body) or not _all_held(after.body, wide, schedule):
            return outputs
    return found


def _all_held(body: Scalar, names: set[str], schedule: Schedule) -> bool:
    """Whether all that folds over some indices read along them stays in registers."""
    for s in walk(body):
        if isinstance(s, Reduce) and any(i.name in names for i in s.indices):
            along = [r for b in s.body for r in walk(b) if isinstance(r, Read) and free(r) & set(s.indices)]
            if any(r.source.name not in schedule.stage for r in along):
                return False
    return True
