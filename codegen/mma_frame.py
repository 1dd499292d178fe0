"""What both roles of a stream of products share: tiles in order, rings and their phases.

Tiles are numbered so that neighbours share operands in the second cache: `supertile` tiles of rows beside each other,
all columns of them, then the next. Where tiles of rows differ in the length of their stream, those of one length follow
each other over `supertile` batches, the longest first.
"""

from __future__ import annotations

from tang_egg.affine import Affine, Index, affine, product
from tang_egg.codegen.device import BUILT_IN, BYTES, LINE, Signal, Stage, TensorMap
from tang_egg.codegen.kernel import Assign, Buffer, Call, Expr, Form, Select, Var, number, variable
from tang_egg.codegen.lower import symbolic_dims
from tang_egg.codegen.mma_domain import divided, live
from tang_egg.codegen.mma_memory import Memory, Ring, geometry
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_plan import Plan
from tang_egg.codegen.writer import Writer
from tang_egg.ir import Input, Source, Tensor, sources
from tang_egg.schedule import Schedule


class Frame:
    """A kernel under construction: its plan, schedule and geometry, and what both roles of it need."""

    def __init__(self, name: str, p: Plan, schedule: Schedule) -> None:
        self.name, self.plan, self.schedule = name, p, schedule
        self.g = geometry(p, schedule)
        self.dims = symbolic_dims(p.outputs)
        if set(self.dims) & set(BUILT_IN):
            raise Refused("a dim with the name of a built-in variable")
        self.w = Writer(taken=(*self.dims, *BUILT_IN))
        read = tuple(dict.fromkeys(s for t in p.outputs for s in sources(t.body)))
        self.buffers: dict[Source, Buffer] = {
            s: self._global(s, "input" if isinstance(s, Input) else "temporary") for s in read
        }
        self.written = {t: self._global(t, "output") for t in p.outputs}
        self.memory = Memory(p, schedule, self.g, self.buffers, self.w.name)
        self.live = live(p.group.where, p.stream, p.row, self.g.stream, self.g.rows)
        if p.direct and not p.group.where.everywhere:
            raise Refused("a domain on operands that are multiplied as they stand")
        self.stages: list[Stage] = [x.stage for r in self.memory.rings for x in r.placed]
        self.maps: list[TensorMap] = list(dict.fromkeys(x.map for r in self.memory.rings for x in r.placed))
        self.signals: list[Signal] = [s for r in self.memory.rings for s in (r.full, r.empty)]
        self.tickets = bool(schedule.tickets) and self.memory.resident is not None
        if schedule.lead:
            self._check_lead()
        self.out_maps: dict[Tensor, TensorMap] = {}
        self.out_stage: Stage | None = None
        self._plan_outputs()
        self.drawn = Buffer(self.w.name("drawn"), "i32", "shared", affine(max(1, schedule.resident)))

    def _global(self, s: Source, role: str) -> Buffer:
        return Buffer(self.w.name(s.name), s.dtype, "global", product(s.shape), role)

    def _check_lead(self) -> None:
        """Refuses a lead that could not be taken, or that would let the first consumer be two tiles ahead.

        The ring holds what the first has read and the second has not, so it is ahead by `stages` steps at most; where
        a tile has fewer steps, it could announce the next tile before the second has heard of this one.
        """
        p, stages = self.plan, self.schedule.stages or 2
        steps = -(-(p.stream.size.value or 0) // self.g.stream)
        if self.g.groups != 2 or p.contractions or self.live.bounds:
            raise Refused("one consumer leads another where two of them share the tiles of a plain stream")
        if not self.schedule.lead <= stages <= steps:
            raise Refused(f"a lead of {self.schedule.lead} in a ring of {stages}, for {steps} steps of a tile")

    def _plan_outputs(self) -> None:
        wide = [t for t in self.plan.outputs if self.plan.column in t.axes]
        if not wide:
            return
        kinds = {t.dtype for t in wide}
        if len(wide) > 1:
            raise Refused("several outputs along the columns")
        kind = kinds.pop()
        if kind not in ("bf16", "f16", "f32", "i32") and not (BYTES.get(kind) == 1 and self.schedule.straight):
            raise Refused(f"an output of {kind}")
        width = LINE // BYTES[kind]
        for t in wide:
            size = t.axes[-1].size.value
            least = 2 if BYTES[kind] == 1 else 16  # no bulk copy moves those
            if size is None or size * BYTES[kind] % least:
                raise Refused(f"rows of '{t.name}' are not multiples of {least} bytes")
            if self.schedule.straight:
                continue
            if len(t.axes) > 5:
                raise Refused(f"'{t.name}' has more than five axes")
            if self.plan.turned and kind != "f32":
                raise Refused(f"'{t.name}' lies across the tiles")
            box = [1] * len(t.axes)
            box[t.axes.index(self.plan.column if self.plan.turned else self.plan.row)] = 32 if self.plan.turned else 64
            box[-1] = width
            m = TensorMap(self.w.name(f"{t.name}_map"), self.written[t], t.shape, tuple(box))
            self.out_maps[t] = m
            self.maps.append(m)
        resident = self.memory.resident
        if self.schedule.straight:
            if self.schedule.reuse:
                raise Refused("outputs leave from registers or through the resident operand, not both")
            if self.plan.turned and wide:
                raise Refused("outputs that lie along the rows of a tile do not leave from registers")
        elif self.schedule.reuse:
            fits = resident is not None and len(wide) == len(resident.placed) == 1 and not self.plan.turned
            if not fits or resident is None or resident.placed[0].stage.type != kind:
                raise Refused("no resident operand whose memory the output could take")
            stage, operand = resident.placed[0].stage, resident.placed[0].operand
            if operand.major != "k" or stage.boxes * width < self.g.columns:
                raise Refused("the resident operand is smaller than the output")
        else:
            boxes, lines = (2, 32) if self.plan.turned else (1, 64)
            self.out_stage = Stage(self.w.name("out_tile"), kind, boxes, lines, 2 * self.g.groups)
            self.stages.append(self.out_stage)

    # -- tiles

    def tiles(self) -> Expr:
        total: Expr = number(1)
        for n in (self.row_tiles(), self.column_tiles(), *(Form(i.size) for i in self.plan.batch)):
            total = times_of(total, n)
        return total

    def row_tiles(self) -> Expr:
        return divided(self.plan.row.size + (self.g.rows - 1), self.g.rows)

    def column_tiles(self) -> Expr:
        if self.plan.column is None:
            return number(1)
        return divided(self.plan.column.size + (self.g.columns - 1), self.g.columns)

    def decode(self, tile: Affine) -> dict[Index, Affine]:
        """The first point of a tile along rows and columns, and its batch indices, by the tile's number."""
        w, p = self.w, self.plan
        rows, columns = w.integer("row_tiles", self.row_tiles()), w.integer("column_tiles", self.column_tiles())
        batch: Expr = number(1)
        for i in p.batch:
            batch = times_of(batch, Form(i.size))
        many = w.integer("batches", batch)
        size = self.schedule.supertile or 16
        if self.live.moves():
            # rows of one length follow each other over `supertile` batches; the longest come first
            group = w.integer("group_tiles", times_of(Form(rows), times_of(Form(columns), number(size))))
            band = w.integer("band", Call("udiv", (Form(tile), Form(group)), "i64"))
            rest = w.integer("rest", Call("umod", (Form(tile), Form(group)), "i64"))
            here = w.integer("here", Call("min", (number(size), Form(many - size * band)), "i64"))
            row = w.integer("row_rank", Call("udiv", (Form(rest), times_of(Form(here), Form(columns))), "i64"))
            inside = w.integer("inside", Call("umod", (Form(rest), times_of(Form(here), Form(columns))), "i64"))
            column = w.integer("column_tile", Call("udiv", (Form(inside), Form(here)), "i64"))
            batch_number = w.integer("batch", Form(band * size)) + w.integer(
                "turn", Call("umod", (Form(inside), Form(here)), "i64")
            )
            row_tile = rows - 1 - row if self._longest_last() else row
        else:
            # `supertile` row tiles beside each other, all columns of them, then the next ones
            per = w.integer("batch_tiles", times_of(Form(rows), Form(columns)))
            batch_number = w.integer("batch", Call("udiv", (Form(tile), Form(per)), "i64"))
            inner = w.integer("inner", Call("umod", (Form(tile), Form(per)), "i64"))
            band = w.integer("band", Call("udiv", (Form(inner), times_of(Form(columns), number(size))), "i64"))
            rest = w.integer("rest", Call("umod", (Form(inner), times_of(Form(columns), number(size))), "i64"))
            here = w.integer("here", Call("min", (number(size), Form(rows - size * band)), "i64"))
            column = w.integer("column_tile", Call("udiv", (Form(rest), Form(here)), "i64"))
            turn = w.integer("turn", Call("umod", (Form(rest), Form(here)), "i64"))
            row_tile = size * band + turn
        at: dict[Index, Affine] = {p.row: w.integer("i0", Form(self.g.rows * row_tile))}
        if p.column is not None:
            at[p.column] = w.integer("c0", Form(self.g.columns * column))
        left = w.integer("batch", Form(batch_number))
        for i in reversed(p.batch):
            if i is p.batch[0]:
                at[i] = left
                continue
            at[i] = w.integer(f"b_{i.name}", Call("umod", (Form(left), Form(i.size)), "i64"))
            left = w.integer("batch", Call("udiv", (Form(left), Form(i.size)), "i64"))
        return at

    def _longest_last(self) -> bool:
        """Whether later rows have more of the stream."""
        return any(b.row > 0 and not b.lower for b in self.live.bounds)

    def every_tile(self) -> StrideLoop:
        return StrideLoop(self.w, self.tiles())

    def chunks(self, d: Index) -> Expr:
        return divided(d.size + (self.g.chunk - 1), self.g.chunk)

    # -- rings

    def start(self, ring: Ring, parity: int) -> tuple[Var, Var]:
        return self.w.mutable(f"{ring.name}_slot", number(0)), self.w.mutable(f"{ring.name}_phase", number(parity))

    def advance(self, ring: Ring, at: tuple[Var, Var]) -> None:
        slot, phase = at
        if ring.depth == 1:
            self.w.out.append(Assign(phase.name, minus(number(1), phase)))
            return
        last = self.w.let("last", Call("eq", (slot, number(ring.depth - 1)), "bool"))
        self.w.out.append(Assign(phase.name, Select(last, minus(number(1), phase), phase, "i64")))
        self.w.out.append(Assign(slot.name, Select(last, number(0), Call("add", (slot, number(1)), "i64"), "i64")))


def times_of(a: Expr, b: Expr) -> Expr:
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Form) and x.form.value is not None:
            if x.form.value == 1:
                return y
            if isinstance(y, Form):
                return Form(y.form * x.form.value)
    return Call("mul", (a, b), "i64")


def minus(a: Expr, b: Expr) -> Expr:
    return Call("add", (a, Call("neg", (b,), "i64")), "i64")


class StrideLoop:
    """A loop over the tiles of this block: every `blocks`-th one from `block` on."""

    def __init__(self, w: Writer, tiles: Expr) -> None:
        self.w, self.tiles = w, tiles

    def __enter__(self) -> Affine:
        self.count = self.w.integer("total", self.tiles)
        span = self.count - variable("block") + variable("blocks") - 1
        rounds = Call("udiv", (Form(span), Form(variable("blocks"))), "i64")
        self.loop = self.w.loop("round", number(0), self.w.let("rounds", rounds))
        turn = self.loop.__enter__()
        moved = Call("mul", (Form(turn), Form(variable("blocks"))), "i64")
        return self.w.integer("tile", Call("add", (Form(variable("block")), moved), "i64"))

    def __exit__(self, *raised: object) -> None:
        self.loop.__exit__(*raised)  # type: ignore[arg-type]
