"""Outputs of a tile: f of the state, rounded, through swizzled shared memory to global memory.

Rows that are wide leave by bulk stores: box by box through two buffers of the warp group, or all at once through its
rows of the resident operand, which nobody needs any more. Where outputs are contiguous along the rows of a tile, its
columns become lines there; where rows are few, they leave from registers, pair by pair. One value per row is stored
directly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.device import (
    BYTES,
    Arrive,
    CopyCommit,
    CopyDrain,
    CopyOut,
    ProxyFence,
    Stage,
    StoreTile,
    Sync,
    WarpSync,
)
from tang_egg.codegen.kernel import (
    Assign,
    Buffer,
    Build,
    Call,
    Declare,
    Expr,
    Form,
    If,
    Literal,
    Load,
    Stmt,
    Store,
    number,
    variable,
)
from tang_egg.codegen.legalize_quick import ROUNDED
from tang_egg.codegen.mma_linear import CELL, ROW, Place, Value, cell_of, put, register
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_products import Products
from tang_egg.codegen.mma_state import Streams
from tang_egg.ir import Scalar, Tensor, free, type_of

PIECE = 32
"""Columns that are made in registers of their own at a time."""


class Outputs(Products):
    """See the module text."""

    lane: Affine
    first_column: Affine

    def _outputs(self, streams: Streams, here: dict[Index, Affine]) -> None:
        p = self.plan
        for n, state in streams.rows.items():
            registers = state.registers
            streams.cells.known[p.part_of(n)] = Value(ROW, lambda at, r=registers: r[at.h])  # type: ignore[misc]
        for part, acc in self.acc.items():
            streams.cells.known[p.part_of(part)] = Value(CELL, partial(cell_of, acc))
        for t, body in zip(p.outputs, p.bodies, strict=True):
            with streams.cells.scope():
                if p.column is not None and p.column in t.axes:
                    self._wide(t, body, streams, here)
                else:
                    self._narrow(t, body, streams)

    def _narrow(self, t: Tensor, body: Scalar, streams: Streams) -> None:
        """One value per row: the first of the four threads of a row stores it."""
        w, p, cells = self.w, self.plan, streams.cells
        extra = [i for i in t.axes if i is not p.row and i not in p.batch]
        if extra or (free(body) - {p.row, *p.batch}):
            raise Refused(f"'{t.name}' has an axis of its own")
        lead = Call("eq", (Call("umod", (Form(self.lane), number(4)), "i64"), number(0)), "bool")
        if p.column is not None:
            lead = Call("and", (lead, Call("eq", (Form(self.first_column), number(0)), "bool")), "bool")
        values = [cells.value(body, Place(h)) for h in (0, 1)]
        for h in (0, 1):
            inside = Call("lt", (Form(cells.rows[h]), Form(p.row.size)), "bool")
            value = _as_stored(values[h], t)
            condition = Call("and", (lead, inside), "bool")
            w.out.append(If(condition, (Store(self.written[t], Form(_address(t, streams, Place(h))), value),)))

    def _wide(self, t: Tensor, body: Scalar, streams: Streams, here: dict[Index, Affine]) -> None:
        w, p, g = self.w, self.plan, self.g
        assert p.column is not None
        acc = next(iter(self.acc.values()))
        first = w.integer("column", Form(here[p.column] + self.column_offset))
        plain = p.part_of(p.matrices[0].part)
        held = "f32" if type_of(body) == "real" else t.dtype
        made = None
        if held != acc.type or (BYTES[p.dtype] == 1 and body is not plain):  # integers keep their type
            made = partial(self._made, t, streams, first, held)
        elif body is not plain:
            streams.cells.rounded = t.dtype in ROUNDED
            with streams.cells.over(p.column, first):
                streams.cells.cells(
                    g.columns,
                    lambda at: w.out.append(put(acc, at, streams.cells.value(body, at))),
                )
            streams.cells.rounded = False
        at = {**here, p.row: here[p.row] + 64 * variable("group")}
        if self.schedule.straight:
            for column in range(0, g.columns, PIECE if made else g.columns):
                count = min(PIECE, g.columns - column) if made else g.columns
                out = made(column, count) if made else acc
                with streams.cells.over(p.column, first + column):
                    self._leave_straight(t, out, streams, count)
        elif made and (self.schedule.reuse or p.turned):
            raise Refused("integers that become floats on a way out where all columns leave at once, or across")
        elif self.schedule.reuse:
            self._leave_at_once(t, acc, at)
        elif p.turned:
            self._leave_turned(t, acc, at)
        else:
            self._leave_in_turn(t, acc, at, made)

    def _made(self, t: Tensor, streams: Streams, first: Affine, type: str, column: int, count: int) -> Buffer:
        """Some columns of an output in registers of their own, of another type than the accumulators."""
        w, cells = self.w, streams.cells
        assert self.plan.column is not None
        made = Buffer(w.name("results"), type, "register", affine(count // 2))
        w.out.append(Declare(made))
        with cells.scope(), cells.over(self.plan.column, first + column):
            for part, acc in self.acc.items():
                kind = type_of(self.plan.part_of(part))
                cells.known[self.plan.part_of(part)] = Value(CELL, partial(_part, acc, kind, column // 8))
            cells.cells(count, lambda at: w.out.append(put(made, at, cells.value(t.body, at))))
        return made

    def _leave_straight(self, t: Tensor, acc: Buffer, streams: Streams, count: int) -> None:
        """From registers: each thread stores pairs of columns of its two rows."""
        w, p, cells = self.w, self.plan, streams.cells
        assert p.column is not None
        few = p.row.size.value is not None and p.row.size.value <= 8
        for h in (0,) if few else (0, 1):  # the second row of a thread is 8 below the first
            inside = Call("lt", (Form(cells.rows[h]), Form(p.row.size)), "bool")
            with w.when(inside), w.loop("j", number(0), number(count // 8), "unrolled") as j:
                at = Place(h, 0, j)
                column = cells.position(affine(p.column), at)
                with w.block() as body, w.loop("e", number(0), number(2), "unrolled") as e:
                    value = _as_stored(Load(acc, Form(register(j, h, 0) + e), acc.type), t)
                    w.out.append(Store(self.written[t], Form(_address(t, streams, at) + e), value))
                if cells.ragged[p.column]:
                    w.out.append(If(Call("lt", (Form(column), Form(p.column.size)), "bool"), tuple(body)))
                else:
                    w.out += body

    def _coordinates(self, t: Tensor, at: dict[Index, Affine], column: int, row: int = 0) -> tuple[Expr, ...]:
        p = self.plan
        assert p.column is not None
        mapping = {**at, p.column: at[p.column] + column, p.row: at[p.row] + row}
        return tuple(Form(mapping[i]) for i in t.axes)

    def _chunk(
        self, stage: Stage, slot: Expr, box: Expr, inside: int, line: Expr, acc: Buffer, column: int, major: str = "k"
    ) -> None:
        """One chunk of columns, from `column` on, into its box."""
        if stage.type in ("f32", "i32"):
            values: list[Expr] = [Load(acc, number(column // 2 + n), acc.type) for n in range(4)]
        else:
            pairs = [tuple(Load(acc, number(column // 2 + 2 * n + e), "f32") for e in (0, 1)) for n in range(4)]
            values = [Build(x, f"{stage.type}x2") for x in pairs]
        a, b, c, d = values
        self.w.out.append(StoreTile(stage, slot, box, inside, line, (a, b, c, d), major))

    def _leave_in_turn(
        self, t: Tensor, acc: Buffer, at: dict[Index, Affine], made: Callable[[int, int], Buffer] | None
    ) -> None:
        """Box by box through two buffers of this warp group; the last box may write columns of the one before again.

        `made` gives the registers of some columns.
        """
        w, stage = self.w, self.out_stage
        assert stage is not None
        group = variable("group")
        step = 16 if BYTES[stage.type] == 2 else 8
        boxes = -(-self.g.columns // stage.width)
        for box in range(boxes):
            first = min(box * stage.width, self.g.columns - stage.width)
            slot = Form(2 * group + box % 2)
            # with an odd number of boxes the last one of the tile before lay in the first one's buffer
            pending = 0 if box == 0 and boxes % 2 else 1
            w.out.append(If(self.first_thread(), (CopyDrain(pending, True),)))
            w.out.append(Sync(Form(1 + group), 128))
            held, begin = (made(first, stage.width), 0) if made else (acc, first)
            for inside in range(stage.width // step):
                self._chunk(stage, slot, number(0), inside, number(0), held, begin + inside * step)
            w.out.append(ProxyFence())
            w.out.append(Sync(Form(1 + group), 128))
            copy = CopyOut(self.out_maps[t], stage, slot, 0, number(0), self._coordinates(t, at, first))
            w.out.append(If(self.first_thread(), (copy, CopyCommit())))
            w.out.append(WarpSync())

    def _leave_turned(self, t: Tensor, acc: Buffer, at: dict[Index, Affine]) -> None:
        """Columns become lines, a few of them at a time, through two buffers of this warp group."""
        w, stage = self.w, self.out_stage
        assert stage is not None
        group = variable("group")
        blocks = self.g.columns // stage.lines
        for block in range(blocks):
            slot = Form(2 * group + block % 2)
            pending = 0 if block == 0 and blocks % 2 else 1
            w.out.append(If(self.first_thread(), (CopyDrain(pending, True),)))
            w.out.append(Sync(Form(1 + group), 128))
            for inside in range(stage.lines // 8):
                self._chunk(stage, slot, number(0), inside, number(0), acc, block * stage.lines + 8 * inside, "mn")
            w.out.append(ProxyFence())
            w.out.append(Sync(Form(1 + group), 128))
            copies = tuple(
                CopyOut(
                    self.out_maps[t], stage, slot, box, number(0),
                    self._coordinates(t, at, block * stage.lines, box * stage.width),
                )
                for box in range(stage.boxes)
            )  # fmt: skip
            w.out.append(If(self.first_thread(), (*copies, CopyCommit())))
            w.out.append(WarpSync())

    def _leave_at_once(self, t: Tensor, acc: Buffer, at: dict[Index, Affine]) -> None:
        """Through this warp group's rows of the resident operand, which nobody needs any more."""
        w, ring = self.w, self.memory.resident
        assert ring is not None
        stage, slot = ring.placed[0].stage, self.resident_slot
        group = variable("group")
        step = 16 if BYTES[stage.type] == 2 else 8
        w.out.append(Sync(Form(1 + group), 128))
        for column in range(0, self.g.columns, step):
            inside = column % stage.width // step
            self._chunk(stage, slot, number(column // stage.width), inside, Form(64 * group), acc, column)
        w.out.append(ProxyFence())
        w.out.append(Sync(Form(1 + group), 128))
        copies: list[Stmt] = [
            CopyOut(self.out_maps[t], stage, slot, box, Form(64 * group), self._coordinates(t, at, box * stage.width))
            for box in range(-(-self.g.columns // stage.width))
        ]
        copies.append(CopyCommit())
        if self.leaving is None:
            copies += [CopyDrain(0, True), Arrive(ring.empty, slot, "thread")]
        w.out.append(If(self.first_thread(), tuple(copies)))
        if self.leaving is not None:
            w.out.append(Assign(self.leaving.name, slot))
        w.out.append(WarpSync())


def _part(acc: Buffer, type: str, ahead: int, at: Place) -> Expr:
    """A matrix part `ahead` eights of columns from a place; as f32 where a real part is added up in integers."""
    assert at.j is not None
    value = cell_of(acc, Place(at.h, at.e, at.j + ahead))
    return Call("cast", (value,), "f32") if type == "real" and acc.type != "f32" else value


def _address(t: Tensor, streams: Streams, at: Place) -> Affine:
    """Where the element of an output at a place lies, in elements."""
    address, stride = affine(0), affine(1)
    for i in reversed(t.axes):
        address = address + streams.cells.position(affine(i), at) * stride
        stride = stride * i.size
    return address


def _as_stored(value: Expr, t: Tensor) -> Expr:
    """A value in the type of an output."""
    if isinstance(value, Literal):
        return Literal(value.value, t.dtype)
    return value if value.type == t.dtype else Call("cast", (value,), t.dtype)
