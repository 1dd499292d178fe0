"""Elements that are read along one axis and written along another: square blocks of them turn in shared memory.

    block := one tile of T x T points over the axes r and c, for a point of all other axes
    for each read X[..., c, ..., r] of the body, which is contiguous along r:
        for c in the tile, by pieces of V elements along r:   shared[c, r] := X[..., c, ..., r]
    barrier
    for r in the tile, by pieces of V elements along c:       Y[..., r, ..., c] := f(shared[c, r], other reads)

So a thread moves V elements side by side at each access of memory, 16 bytes of the widest type, both ways. A line of a
tile has 8 pieces, T = 8 V elements; element e of piece p of line c lies at

    place(c, p, e) = c · T + (p xor (c div V) mod 8) · V + e

The threads of a warp have all 8 pieces of 4 lines. Stored, the 8 pieces of a line fill 128 bytes of different banks,
whatever their order. Read along c, at step e, the 8 pieces of c have 8 different (c div V), so that the lines they are
in are shifted against each other: again all pieces lie in different banks (`banks` counts them).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from tang_egg.affine import Affine, Dim, Index, affine
from tang_egg.codegen.device import GROUP, Launch
from tang_egg.codegen.kernel import (
    Barrier,
    Buffer,
    Call,
    Declare,
    Expr,
    Form,
    Kernel,
    Let,
    Load,
    Loop,
    Stmt,
    Store,
    Var,
    number,
    variable,
)
from tang_egg.codegen.lower_scan_grid import RowScans
from tang_egg.codegen.lower_scope import Axis, Known, Local, never_below_zero
from tang_egg.errors import CodegenError
from tang_egg.ir import Read, Reduce, Scan, Tensor, free, walk
from tang_egg.ops import BYTES

PIECES = 8
"""Pieces of a line of a tile."""
ACCESS = 16
"""Bytes of the widest access of a thread."""
THREADS = 256
"""Threads of a block, at most."""
SHARED = 48 * 1024
"""Bytes of shared memory that arrays of a kernel can have."""


class Turned(RowScans):
    """See the module text."""

    def turned(self) -> Kernel:
        """The kernel of a schedule with across=r,c. Raises CodegenError where nothing turns, or sizes are not known."""
        r, c, reads = self._turning()
        v = ACCESS // max(BYTES[x] for x in (*(s.source.dtype for s in reads), *(t.dtype for t in self.outputs)))
        side = PIECES * v
        rows, columns = (-(-(i.size.value or 0) // side) for i in (r, c))
        others = [i for i in self.outputs[0].axes if i not in (r, c)]
        total = prod([i.size for i in others], start=affine(rows * columns))
        self.threads = min(THREADS, PIECES * side)
        self.seat = self.name("seat")
        self.scope.out.append(Let(self.seat, Form(variable("thread") + variable("group") * GROUP)))
        tile, rest = self.name("tile"), self.name("rest")
        some = None if total.value else Call("lt", (Var("block", "i64"), Form(total)), "bool")
        with self.branch(some):
            self.scope.out.append(Let(tile, Call("umod", (Var("block", "i64"), number(rows * columns)), "i64")))
            self.scope.out.append(Let(rest, Call("udiv", (Var("block", "i64"), number(rows * columns)), "i64")))
            first = [self._corner(i, tile, columns, side, op) for i, op in ((r, "udiv"), (c, "umod"))]
            with self.inside(*self.grid_axes(others, rest)):
                shared = {
                    s: Buffer(self.name(f"{s.source.name}_tile"), s.source.dtype, "shared", affine(side * side))
                    for s in reads
                }
                self.scope.out += [Declare(b) for b in shared.values()]
                self._bring(shared, (r, c), first, v)
                self.scope.out.append(Barrier())
                self._write(shared, (r, c), first, v)
        tiles: Expr = (
            Call("max", (Form(total), number(1)), "i64") if total.value is None else number(max(1, total.value))
        )
        return self.finished(Launch(self.threads, tiles))

    def _turning(self) -> tuple[Index, Index, list[Read]]:
        """The axis along which is read, that along which is written, and the reads that turn."""
        axes = {i.name: i for i in self.outputs[0].axes}
        names = self.schedule.across
        found = tuple(axes[n] for n in names if n in axes)
        reads = turned_reads(self.outputs, found[0]) if len(names) == 2 == len(found) else []
        reads = [s for s in reads if self.safe(s)]
        if not reads or found[1] is not self.outputs[0].axes[-1] or not all(i.size.value for i in found):
            raise CodegenError(
                f"nothing turns across {','.join(names)}",
                where=f"kernel '{self.kernel}', schedule: {self.schedule}",
                mend="name the axis that an elementwise kernel reads along, then the last axis of its outputs, both of "
                "known sizes, or leave out across=",
            )
        return found[0], found[1], reads

    def _corner(self, i: Index, tile: str, columns: int, side: int, op: str) -> str:
        name = self.name(f"{i.name}_first")
        number_of = Call(op, (Var(tile, "i64"), number(columns)), "i64")
        self.scope.out.append(Let(name, Call("mul", (number_of, number(side)), "i64")))
        return name

    def _bring(self, shared: dict[Read, Buffer], axes: tuple[Index, Index], first: list[str], v: int) -> None:
        """Every piece of a tile from memory to its place."""
        r, c = axes
        body: list[Stmt] = []
        with self.inside(out=body):
            turn, line, piece, swapped = self._piece(v)
            column = self._starting(c, variable(first[1]) + Dim(line))
            row = self._starting(r, variable(first[0]) + Dim(piece) * v)
            with self.branch(self._within(c, column, 1, v)), self.branch(self._within(r, row, v, v)):
                for s, buffer in shared.items():
                    block = Axis(r, row, v)
                    with self.inside(Axis(c, column), block), self.refine(block, 1, "unrolled") as point:
                        to = Dim(line) * (PIECES * v) + Dim(swapped) * v + (point.start - row)
                        with self._on_axis(r, point, v):
                            address = self.address(s.source.shape, s.coordinates)
                            value = Load(self.buffers[s.source], address, s.source.dtype)
                            self.scope.out.append(Store(buffer, Form(to), value))
        self._pieces_of(turn, body, v)

    def _write(self, shared: dict[Read, Buffer], axes: tuple[Index, Index], first: list[str], v: int) -> None:
        """Every piece of the outputs, from what is in its place."""
        r, c = axes
        body: list[Stmt] = []
        with self.inside(out=body):
            turn, line, piece, swapped = self._piece(v)
            row = self._starting(r, variable(first[0]) + Dim(line))
            column = self._starting(c, variable(first[1]) + Dim(piece) * v)
            held = self.name("held")
            inside = Call("umod", (Var(line, "i64"), number(v)), "i64")
            self.scope.out.append(Let(held, Call("add", (Form(variable(swapped) * v), inside), "i64")))
            with self.branch(self._within(r, row, 1, v)), self.branch(self._within(c, column, v, v)):
                block = Axis(c, column, v)
                with self.inside(Axis(r, row), block) as scope:
                    for s, buffer in shared.items():
                        origins, strides = (variable(first[1]), affine(0)), (affine(PIECES * v), affine(1))
                        read = Read(
                            self.as_input(Local(buffer, origins, strides, scope.depth)), (affine(c), variable(held))
                        )
                        known = {i: a for i in free(s) if (a := self.bound(i)) is not None}
                        scope.arrays.setdefault(s, []).append(Known(read, known))
                    for t in self.outputs:
                        with self.refine(block, 1, "unrolled") as point, self._on_axis(c, point, v):
                            self.store_output(t, t.body)
        self._pieces_of(turn, body, v)

    def _pieces_of(self, turn: str, body: list[Stmt], v: int) -> None:
        """The loop over the pieces of a tile that this thread has."""
        turns = PIECES * PIECES * v // self.threads
        self.scope.out.append(Loop(turn, number(0), number(turns), 1, "unrolled", tuple(body)))

    def _piece(self, v: int) -> tuple[str, str, str, str]:
        """Names of a loop over this thread's pieces, their line and number in it, and the number under the swizzle."""
        turn, line, piece, swapped = (self.name(n) for n in ("turn", "line", "piece", "swapped"))
        place = Form(variable(turn) * self.threads + Dim(self.seat))
        self.scope.out.append(Let(line, Call("udiv", (place, number(PIECES)), "i64")))
        self.scope.out.append(Let(piece, Call("umod", (place, number(PIECES)), "i64")))
        shift = Call("umod", (Call("udiv", (Var(line, "i64"), number(v)), "i64"), number(PIECES)), "i64")
        self.scope.out.append(Let(swapped, Call("bitxor", (Var(piece, "i64"), shift), "i64")))
        return turn, line, piece, swapped

    def _starting(self, i: Index, start: Affine) -> Affine:
        name = self.name(i.name)
        self.scope.out.append(Let(name, Form(start)))
        return variable(name)

    @staticmethod
    def _within(i: Index, start: Affine, size: int, v: int) -> Expr | None:
        """Whether a block of an axis starts in it; None where every block of every tile does."""
        assert i.size.value is not None
        return None if i.size.value % (PIECES * v) == 0 else Call("lt", (Form(start), Form(i.size)), "bool")

    @contextmanager
    def _on_axis(self, i: Index, point: Axis, v: int) -> Iterator[None]:
        """Code for a point that is on its axis; it is bound anew, so that nothing is computed for one that is not."""
        assert i.size.value is not None
        if i.size.value % v == 0:
            yield
            return
        on = Call("lt", (Form(point.start), Form(i.size)), "bool")
        with self.branch(on), self.inside(Axis(i, point.start, 1, point.origin)):
            yield


def turned_reads(outputs: tuple[Tensor, ...], r: Index) -> list[Read]:
    """The reads of elementwise outputs that are contiguous along `r` and lie across their last axis; none elsewhere."""
    c = outputs[0].axes[-1] if outputs[0].axes else None
    if (
        c is None
        or r is c
        or any(set(t.axes) != set(outputs[0].axes) or t.axes[-1] is not c or t.into for t in outputs)
    ):
        return []
    found: dict[Read, None] = {}
    for s in walk(*(t.body for t in outputs)):
        if isinstance(s, (Reduce, Scan)):
            return []
        if isinstance(s, Read) and s.coordinates and {r, c} <= free(s):
            forms = [x for x in s.coordinates if isinstance(x, Affine)]
            plain = len(forms) == len(s.coordinates) and forms[-1].coefficient(r).value == 1
            inside = all(
                never_below_zero(x) and never_below_zero(n - 1 - x) for x, n in zip(forms, s.source.shape, strict=False)
            )
            if plain and inside and c not in forms[-1].indices() and not any(r in x.indices() for x in forms[:-1]):
                found[s] = None
    return _fitting(list(found), outputs)


def _fitting(reads: list[Read], outputs: tuple[Tensor, ...]) -> list[Read]:
    """As many of the reads as shared memory has room for."""
    if not reads:
        return []
    v = ACCESS // max(BYTES[x] for x in (*(s.source.dtype for s in reads), *(t.dtype for t in outputs)))
    room, kept = SHARED, list[Read]()
    for s in reads:
        room -= (PIECES * v) ** 2 * BYTES[s.source.dtype]
        if room >= 0:
            kept.append(s)
    return kept


def place(line: int, piece: int, element: int, v: int) -> int:
    """Where an element of a tile lies, in elements."""
    return line * PIECES * v + (piece ^ (line // v % PIECES)) * v + element


def banks(bytes: int, v: int) -> tuple[int, int]:
    """The most words of one bank that a warp asks for at once: where pieces are stored, and where they are read across.

    Of 32 banks of 4 bytes; 16 bytes are stored by 8 lanes at a time, more than 4 bytes are read by half of the lanes.
    """
    stored = read = 0
    for first in range(0, 32, PIECES):  # lanes of a store that go together have the pieces of one line
        line = first // PIECES
        words = {(place(line, p, e, v) * bytes + b) // 4 for p in range(PIECES) for e in range(v) for b in range(bytes)}
        stored = max(stored, max(sum(w % 32 == n for w in words) for n in range(32)))
    lines = 4 if bytes <= 4 else 2
    for e in range(v):
        for row in range(0, PIECES * v, lines):
            taken = [place(p * v + e, (row + n) // v, (row + n) % v, v) for p in range(PIECES) for n in range(lines)]
            words = {(x * bytes + b) // 4 for x in taken for b in range(bytes)}
            read = max(read, max(sum(w % 32 == n for w in words) for n in range(32)))
    return stored, read
