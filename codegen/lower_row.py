"""Rows by the lanes of warps: each lane takes `size` elements side by side, so that one access moves all of them.

    row_blocks(k, size)  for t in 0 ... by seats · size:  k := t + seat · size ... + size - 1     as one block
    held(X)              X[i, k] of the row stays in registers: read once, in that order, whoever asks again

`seat` is the place of a lane among the `seats` that share a row: those of a warp, or of all warps of a block. A row
that is held is visited in loops that are written out, since registers have no addresses; others in a rolled loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tang_egg.affine import Affine, Dim, Index, affine
from tang_egg.codegen.kernel import Call, Expr, Form, Load, Loop, Stmt, Store, Var, number, variable
from tang_egg.codegen.lower import Lowering
from tang_egg.codegen.lower_scope import Axis, Known, Local, Scope
from tang_egg.ir import Read, Scalar, Tensor, free, walk
from tang_egg.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Coming:
    """Where a block takes several rows: the scope before their loop, and the numbers of the first and the next one."""

    before: Scope
    grid: list[Index]
    first: str
    later: str


class Rows(Lowering):
    """See the module text. `apart` are the scopes in which the lanes of a warp may differ.

    `coming`: rows that are held are loaded a row ahead, while the one before is still folded.
    """

    seat: str
    seats: int
    coming: Coming | None = None
    apart: set[Scope]

    def __init__(self, name: str, outputs: tuple[Tensor, ...], schedule: Schedule) -> None:
        super().__init__(name, outputs, schedule)
        self.rows: dict[tuple[object, ...], tuple[Scope, Local]] = {}

    def grid_axes(self, grid: list[Index], point: str) -> list[Axis]:
        """The axes of a grid, found from the number of a point by division."""
        raise NotImplementedError

    @contextmanager
    def row_blocks(self, index: Index, size: int, low: Expr, high: Expr, roots: Sequence[Scalar]) -> Iterator[Axis]:
        """Binds an index to this lane's blocks of a range, whose start is a multiple of `size`."""
        whole = low == number(0) and index.size.value is not None and high == Form(index.size)
        held = self._held_rows(index, size, roots) if whole else {}
        if not held:
            with self.loop(
                index, Form(form_of(low) + Dim(self.seat) * size), high, self.seats * size, size=size
            ) as axis:
                self.apart.add(self.scope)
                yield axis
            return
        with self.whole_row(index, size, held) as (axis, _):
            yield axis

    @contextmanager
    def whole_row(self, index: Index, size: int, held: Mapping[Read, Local]) -> Iterator[tuple[Axis, Affine]]:
        """Binds an index to this lane's blocks of a row, written out; gives a block and where it is held."""
        with self._turns(index, size) as (axis, at):
            for s, local in held.items():
                moved = Local(local.buffer, (axis.start - at,), local.strides, self.scope.depth)
                read = Read(self.as_input(moved), (affine(index),))
                axes = {i: a for i in free(s) if (a := self.bound(i)) is not None}
                self.scope.arrays.setdefault(s, []).append(Known(read, axes))
            yield axis, at

    @contextmanager
    def _turns(self, index: Index, size: int) -> Iterator[tuple[Axis, Affine]]:
        """The blocks of a whole row, one after the other; gives the block and where its elements are held."""
        extent = index.size.value
        assert extent is not None
        turn = self.name(f"{index.name}_turn")
        axis = Axis(index, Dim(turn) * (self.seats * size) + Dim(self.seat) * size, size)
        self.loops[axis] = axis.start
        body: list[Stmt] = []
        within = None if extent % (self.seats * size) == 0 else Call("lt", (Form(axis.start), Form(index.size)), "bool")
        # the index is bound inside of the branch, so that nothing that reads along it is computed before it
        with self.inside(out=body), self.branch(within), self.inside(axis):
            self.apart.add(self.scope)
            yield axis, Dim(turn) * size
        turns = -(-extent // (self.seats * size))
        self.scope.out.append(Loop(turn, number(0), number(turns), 1, "unrolled", tuple(body)))

    def _held_rows(self, index: Index, size: int, roots: Iterable[Scalar]) -> dict[Read, Local]:
        """The reads below `roots` that are to be held and run along an index, with the registers that hold them."""
        found: dict[Read, Local] = {}
        for s in dict.fromkeys(x for r in roots for x in walk(r) if isinstance(x, Read)):
            if s.source.name not in self.schedule.stage or not s.coordinates or not self.safe(s):
                continue
            *others, last = s.coordinates
            plain = isinstance(last, Affine) and last == affine(index) and s.source.shape[-1] == index.size
            outer = free(s) - {index}
            if not plain or any(not isinstance(c, Affine) or index in c.indices() for c in others):
                continue
            if any((a := self.bound(i)) is None or a.block for i in outer):
                continue
            # where an outer index is bound anew, the lane has another row
            key = (s.source, tuple(others), size, tuple(self.bound(i) for i in self._ordered(outer)))
            if key not in self.rows or self.rows[key][0] not in list(self.scope.chain()):
                depth = max((self.depth_of(i) for i in outer), default=0)
                home = next(x for x in self.scope.chain() if x.depth <= depth)
                with self.at(home):
                    self.rows[key] = home, self._row_copy(s, index, size)
            found[s] = self.rows[key][1]
        return found

    def _row_copy(self, s: Read, index: Index, size: int) -> Local:
        """This lane's part of a row, loaded into registers: at once, or while the row before is folded."""
        local = self._room(f"{s.source.name}_row", s, index, size)
        coming = self.coming
        if coming is None or not free(s) - {index} <= set(coming.grid):
            self._load_row(local, s, index, size)
            return local
        with self.at(coming.before):
            later = self._room(f"{s.source.name}_next", s, index, size)
            with self.inside(*self.grid_axes(coming.grid, coming.first)):
                self._load_row(later, s, index, size)
        with self._turns(index, size) as (axis, at), self.points([axis]):
            place = Form(self.axis(index).start - axis.start + at)
            self.scope.out.append(Store(local.buffer, place, Load(later.buffer, place, s.source.dtype)))
        with self.inside(*self.grid_axes(coming.grid, coming.later)):
            self._load_row(later, s, index, size)
        return local

    def _room(self, name: str, s: Read, index: Index, size: int) -> Local:
        """Registers for this lane's part of a row, as it is stored."""
        extent = index.size.value
        assert extent is not None
        count = -(-extent // (self.seats * size)) * size
        return self.array(name, s.source.dtype, [Axis(index, affine(0), count)])

    def _load_row(self, local: Local, s: Read, index: Index, size: int) -> None:
        """Fills registers with this lane's part of the row in force."""
        with ExitStack() as stack:
            axis, at = stack.enter_context(self._turns(index, size))
            with self.points([axis]):
                point = self.axis(index).start - axis.start + at
                value = Load(self.buffers[s.source], self.address(s.source.shape, s.coordinates), s.source.dtype)
                self.scope.out.append(Store(local.buffer, Form(point), value))


def form_of(e: Expr) -> Affine:
    """A bound as a form over variables."""
    assert isinstance(e, (Form, Var)), "the bounds of folds are named"
    return e.form if isinstance(e, Form) else variable(e.name)
