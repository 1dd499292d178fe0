"""Where the operands of a plan live on the chip: tiles in shared memory, their maps, their rings, and the copies.

    resident ring   left operands of contractions, whole along their contraction index: one tile per tile of rows
    inner ring      right operands of contractions (and left ones where they are too long to stay), per streamed tile
    outer ring      right operands of matrix parts, and left ones that are read as they stand or staged
    carried ring    the right operand of the product that an accumulator begins with, once per tile of rows

A ring is a few slots; all operands of a slot arrive under one signal and leave under another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tang_egg.affine import Affine, Index, affine
from tang_egg.codegen.device import BYTES, LINE, CopyIn, Expect, Signal, Stage, TensorMap, columns_step
from tang_egg.codegen.kernel import Buffer, Call, Expr, Form, Stmt, number
from tang_egg.codegen.mma_operand import Operand, Refused, quotient
from tang_egg.codegen.mma_plan import Plan
from tang_egg.ir import Coordinate, Source, Tensor
from tang_egg.schedule import Schedule

LONGEST = 256
"""Elements of a contraction index that a resident operand holds, and the columns of one product."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Tile sides: rows of a block, points of the stream, columns; `chunk` of a contraction that is streamed, or 0."""

    rows: int
    groups: int
    stream: int
    columns: int
    chunk: int


@dataclass(frozen=True, slots=True)
class Placed:
    """An operand in shared memory: its stage and map, and the extents of its tile (inner, outer)."""

    operand: Operand
    stage: Stage
    map: TensorMap
    inner: int
    outer: int


@dataclass(slots=True)
class Ring:
    """Operands that come and go together."""

    name: str
    depth: int
    full: Signal
    empty: Signal
    placed: list[Placed] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(p.stage.bytes for p in self.placed)

    def of(self, operand: Operand) -> Placed:
        return next(p for p in self.placed if p.operand == operand)


def rounded(n: int, to: int) -> int:
    return -(-n // to) * to


def constant(i: Index) -> int:
    size = i.size.value
    if size is None:
        raise Refused(f"the size of '{i.name}' is not known")
    return size


def geometry(plan: Plan, schedule: Schedule) -> Geometry:
    """The tile sides that a schedule gives a plan. Raises Refused where they do not fit the matrix unit."""
    groups = schedule.consumers or 2
    rows = schedule.tile_of(plan.row.name)
    stream = schedule.fold_of(plan.stream.name).size
    points = 32 // (128 // plan.width)
    columns = 0
    if plan.column is not None:
        asked = schedule.tile_of(plan.column.name)
        size = asked or constant(plan.column)
        step = columns_step(size, plan.dtype)
        columns = rounded(size, plan.width if any(m.right.major == "mn" for m in plan.matrices) else step)
        wide = next((t for t in plan.outputs if plan.column in t.axes), None)
        if wide is not None and not schedule.straight:
            line = LINE // _bytes(wide)
            # whole lines of shared memory leave; the last one of a tile may begin inside the one before it
            apart = asked > line and not plan.turned and not schedule.reuse
            columns = rounded(columns, line // 4 if apart else line)
    if rows != 64 * groups:
        raise Refused(f"{rows} rows for {groups} groups of 64")
    if stream % points or stream < points or (plan.direct and stream % plan.width):
        raise Refused(f"{stream} points of the stream at a time")
    if columns > LONGEST or (plan.contractions and stream > LONGEST):
        raise Refused("a product of more than 256 columns")
    for o in _operands(plan):
        if o.period is not None and (o.inner is not plan.stream or o.period % stream):
            raise Refused(f"'{o.read.source.name}' is read in pieces of {o.period}")
    chunk = 0
    if plan.contractions:
        longest = max(rounded(constant(c.index), plan.width) for c in plan.contractions)
        if not schedule.resident:
            chunk = plan.width
        elif longest > LONGEST:
            raise Refused("the contraction is too long to keep its left operand")
    if schedule.unit == "tf32" or BYTES[plan.dtype] == 1:
        across = next(iter(lying_across(plan)), None)
        if across is not None:
            kind = "tf32 has" if schedule.unit == "tf32" else "operands of 8 bits have"
            raise Refused(f"'{across.read.source.name}' is not contiguous along the contraction, as {kind} to be")
    elif plan.dtype == "f32":
        raise Refused("f32 operands, and no unit that the schedule allows for them")
    return Geometry(rows, groups, stream, columns, chunk)


def lying_across(plan: Plan) -> list[Operand]:
    """The operands that products read along the contraction only, of f32 or 8 bits, but that do not lie so."""
    if BYTES[plan.dtype] == 2:
        return []
    in_registers = () if plan.direct else plan.staged
    return [o for o in dict.fromkeys(_operands(plan)) if o.major != "k" and o not in in_registers]


def _bytes(t: Tensor) -> int:
    return BYTES.get(t.dtype, 4)


def _operands(plan: Plan) -> list[Operand]:
    found = [o for c in plan.contractions for o in (c.left, c.right)]
    found += [m.right for m in plan.matrices] + [m.plain for m in plan.matrices if m.plain is not None]
    return [*found, *plan.staged, *([plan.carried.right] if plan.carried is not None else [])]


def _check_overhang(o: Operand, inner: int) -> None:
    """Where the last tile of a contraction is longer than what is left, copies must find nothing there: zeros.

    Raises Refused for a view that ends before its source does.
    """
    size = o.inner.size.value
    if size is not None and size % inner == 0:
        return
    axis = len(o.read.coordinates) - 1 if o.major == "k" else o.lead
    if o.read.coordinates[axis] != affine(o.inner) or o.read.source.shape[axis] != o.inner.size:
        raise Refused(f"'{o.read.source.name}' goes on where the contraction ends")


class Memory:
    """All rings of a kernel; see the module text."""

    def __init__(
        self,
        plan: Plan,
        schedule: Schedule,
        g: Geometry,
        buffers: dict[Source, Buffer],
        named: Callable[[str], str],
    ) -> None:
        self.plan, self.g, self.buffers, self.schedule, self.named = plan, g, buffers, schedule, named
        warps = 4 * g.groups
        self.resident = (
            self._ring("resident", schedule.resident, g.groups) if plan.contractions and not g.chunk else None
        )
        self.inner = self._ring("inner", schedule.stages or 2, warps) if plan.contractions else None
        self.outer = self._ring("outer", schedule.stages or 2, warps) if plan.matrices or plan.staged else None
        for c in plan.contractions:
            whole = g.chunk or rounded(constant(c.index), plan.width)
            left = self.resident if self.resident is not None else self.inner
            assert left is not None
            assert self.inner is not None
            self._place(left, c.left, whole, g.rows)
            self._place(self.inner, c.right, whole, g.stream)
        self.carried = self._ring("carried", 1, warps) if plan.carried is not None else None
        if self.carried is not None and plan.carried is not None:
            if self.resident is None:
                raise Refused("a product beside the stream whose left operand does not stay")
            self._place(self.carried, plan.carried.right, rounded(constant(plan.carried.index), plan.width), g.columns)
        for o in self._outer_left():
            assert self.outer is not None
            self._place(self.outer, o, g.stream, self._left_lines(o))
        for m in plan.matrices:
            assert self.outer is not None
            self._place(self.outer, m.right, g.stream, g.columns)

    def _left_lines(self, o: Operand) -> int:
        """The rows of an outer left operand that are copied: those there are, where a product may read any beyond."""
        p, g = self.plan, self.g
        rows = rounded(p.row.size.value or g.rows, 8)
        if not p.direct or g.groups > 1 or o.major != "k" or rows >= g.rows:
            return g.rows
        assert self.outer is not None
        behind = self.outer.depth * g.stream * g.columns * BYTES[p.dtype]
        return rows if behind >= (g.rows - rows) * LINE else g.rows

    @property
    def rings(self) -> list[Ring]:
        return [r for r in (self.resident, self.carried, self.inner, self.outer) if r is not None]

    def _outer_left(self) -> Iterable[Operand]:
        if self.plan.direct:
            return dict.fromkeys(m.plain for m in self.plan.matrices if m.plain is not None)
        return self.plan.staged

    def _ring(self, name: str, depth: int, leavers: int) -> Ring:
        full, empty = self.named(f"{name}_full"), self.named(f"{name}_empty")
        return Ring(name, depth, Signal(full, depth, 1), Signal(empty, depth, leavers))

    def _place(self, ring: Ring, o: Operand, inner: int, outer: int) -> None:
        if any(p.operand == o for p in ring.placed):
            return
        _check_overhang(o, inner)
        width = self.plan.width
        boxes, lines = (
            (rounded(inner, width) // width, outer) if o.major == "k" else (rounded(outer, width) // width, inner)
        )
        if lines > 256 or lines % 8:
            raise Refused(f"a tile of {lines} lines")
        source, kind = o.read.source, o.dtype
        stage = Stage(self.named(f"{source.name}_tile"), kind, boxes, lines, ring.depth)
        box = [1] * len(source.shape)
        box[o.lead], box[-1] = lines, width
        # what scalars are computed from is rounded only after that
        rounds = kind == "f32" and (o not in self.plan.staged or self.plan.copied)
        m = TensorMap(self.named(f"{source.name}_map"), self.buffers[source], source.shape, tuple(box), rounds)
        ring.placed.append(Placed(o, stage, m, inner, outer))

    def copies(
        self, ring: Ring, slot: Expr, at: dict[Index, Affine], only: Iterable[Placed] | None = None
    ) -> list[Stmt]:
        """The copies that fill a slot: `at` maps every index to a form over variables, tiles to their first point."""
        out: list[Stmt] = [Expect(ring.full, slot, ring.bytes)]
        for p in ring.placed if only is None else only:
            inner_is_last = p.operand.major == "k"
            moving = p.operand.inner if inner_is_last else p.operand.outer
            for box in range(p.stage.boxes):
                mapping = dict(at)
                mapping[moving] = mapping[moving] + box * self.plan.width
                at_box = tuple(_placed(c, mapping) for c in p.operand.read.coordinates)
                out.append(CopyIn(p.map, p.stage, slot, box, at_box, ring.full, slot))
        return out


def _placed(c: Coordinate, at: dict[Index, Affine]) -> Expr:
    """A coordinate of an operand as an expression over variables."""
    if isinstance(c, Affine):
        return Form(c.substitute(at))  # type: ignore[arg-type]
    shared = quotient(c)
    assert shared is not None
    op, form, by = shared
    return Call("udiv" if op == "idiv" else "umod", (Form(form.substitute(at)), number(by)), "i64")  # type: ignore[arg-type]
