"""Products on the operands of a slot, and what stands right beside them: fences, rescaling, rounding, staging."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tang_egg.affine import Affine, affine
from tang_egg.codegen.device import (
    GROUP,
    Announce,
    Arrive,
    Await,
    CopyDrain,
    LoadTile,
    Mma,
    MmaCommit,
    MmaFence,
    MmaWait,
    Packed,
    Sync,
    Tile,
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
    Store,
    Var,
    number,
    variable,
)
from tang_egg.codegen.mma_cells import as_value
from tang_egg.codegen.mma_domain import Range, needs_mask
from tang_egg.codegen.mma_frame import Frame
from tang_egg.codegen.mma_linear import COLUMN, Place, Value, cell_of, put
from tang_egg.codegen.mma_memory import Placed, Ring
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_regroup import Regroup
from tang_egg.codegen.mma_state import Streams
from tang_egg.codegen.mma_tile import Masks, TileValues, absorbed_parts
from tang_egg.ir import EVERYWHERE, Read, Scalar, Test, free, walk

LEAD = number(4)
"""The barrier at which the first of two consumers tells the second that it has its lead."""


class Products(Frame):
    """Single steps of a consumer; mma_consumer puts them in order."""

    scores: dict[Scalar, Buffer]
    acc: dict[int, Buffer]
    raw: dict[Scalar, Buffer]
    packed: list[dict[int, Buffer]]
    ahead: tuple[Var, Var]
    ahead_of: dict[Read, Buffer]
    at: dict[str, tuple[Var, Var]]
    regroup: Regroup | None
    resident_slot: Expr
    column_offset: Affine
    leaving: Var | None

    def _declare(self) -> None:
        """Register arrays: accumulators of scores and matrix parts, raw operands, packed factors."""
        w, p, g = self.w, self.plan, self.g

        def array(stem: str, type: str, size: int) -> Buffer:
            b = Buffer(w.name(stem), type, "register", affine(size))
            w.out.append(Declare(b))
            return b

        # operands of 32 bits take a register each, two of 16 bits share one
        single = p.dtype == "f32"
        pair, count = ("f32", g.stream // 2) if single else (f"{p.dtype}x2", g.stream // 4)
        self.scores = {c.node: array("scores", "f32", g.stream // 2) for c in p.contractions}
        self.acc = {m.part: array("acc", p.accumulates, g.columns // 2) for m in p.matrices}
        self.raw = {} if p.direct else {o.read: array("raw", pair, count) for o in p.staged}
        lifts = [*(m.left for m in p.matrices), *(p.group.body[n] for n in p.rows)]
        beside = dict.fromkeys(
            r for x in lifts if not p.contractions for r in walk(x)
            if isinstance(r, Read) and p.stream in free(r) and p.row not in free(r)
        )  # fmt: skip
        self.ahead_of = {} if p.direct else {r: array("columns", r.source.dtype, g.stream // 4) for r in beside}
        self.packed = []
        if p.matrices and not p.direct:
            if p.contractions:
                if len({m.left for m in p.matrices}) > 1:
                    raise Refused("matrix parts with different left factors")
                one = array("weights", pair, count)
                self.packed = [{m.part: one for m in p.matrices}]
            else:
                lefts = dict.fromkeys(m.left for m in p.matrices)
                for _ in (0, 1):
                    arrays = {x: array("weights", pair, count) for x in lefts}
                    self.packed.append({m.part: arrays[m.left] for m in p.matrices})

    def _k(self, found: Range, step: Affine) -> Affine:
        return self.w.integer("k0", Form(self.g.stream * (found.first + found.count - 1 - step)))

    def _operand(self, placed: Placed, slot: Expr, rows: bool) -> Tile:
        """A shared operand; rows of this warp group where it is a left one."""
        if not rows:
            return Tile(placed.stage, slot, placed.operand.major, number(0))
        if placed.operand.major == "k" and placed.stage.lines < 64:
            return Tile(placed.stage, slot, "k", number(0))
        per = 64 if placed.operand.major == "k" else 64 // self.plan.width
        return Tile(placed.stage, slot, placed.operand.major, Form(per * variable("group")))

    def _steps(self, inner: int) -> int:
        return inner * (128 // self.plan.width) // 32

    def _products(self, ring: Ring, slot: Expr, fresh: Expr, packed: bool, which: int = 0) -> None:
        """acc += left · right for every matrix part, on the operands of a slot of the outer ring."""
        for x in self.plan.matrices:
            right = ring.of(x.right)
            if packed:
                a: Tile | Packed = Packed(self.packed[which][x.part])
            else:
                assert x.plain is not None
                a = self._operand(ring.of(x.plain), slot, True)
            b = self._operand(right, slot, False)
            self.w.out.append(Mma(self.acc[x.part], a, b, self._steps(self.g.stream), fresh))

    def _issue(self, ring: Ring, slot: Expr, fresh: Expr) -> None:
        """scores (+)= left · right for every contraction, on the operands of a slot of the inner ring."""
        for c in self.plan.contractions:
            right = ring.of(c.right)
            resident = self.memory.resident
            if resident is not None:
                a = self._operand(resident.of(c.left), self.resident_slot, True)
            else:
                a = self._operand(ring.of(c.left), slot, True)
            b = self._operand(right, slot, False)
            self.w.out.append(Mma(self.scores[c.node], a, b, self._steps(right.inner), fresh))

    def _scores(self, ring: Ring) -> None:
        """Scores of one tile of the stream, awaited."""
        w = self.w
        slot, phase = self.at[ring.name]
        pins = tuple(self.scores.values())
        if not self.g.chunk:
            w.out.append(Await(ring.full, slot, phase))
            w.out.append(MmaFence())
            self._issue(ring, slot, Literal(True, "bool"))
            w.out.append(MmaCommit())
            self._release_resident()
            w.out.append(MmaWait(0, pins))
            w.out.append(Arrive(ring.empty, slot, "warp"))
            self.advance(ring, (slot, phase))
            return
        chunks = self.chunks(self.plan.contractions[0].index)
        self._one_behind(ring, "chunk", chunks, lambda fresh: self._issue(ring, slot, fresh), pins)

    def _one_behind(
        self, ring: Ring, stem: str, count: Expr, issue: Callable[[Expr], None], pins: tuple[Buffer, ...]
    ) -> None:
        """Products of `count` slots of a ring into one accumulator; each slot is handed back one product late."""
        w = self.w
        slot, phase = self.at[ring.name]
        before = w.mutable("before", number(0))
        with w.loop(stem, number(0), count) as step:
            w.out.append(Await(ring.full, slot, phase))
            w.out.append(MmaFence())
            issue(Call("eq", (Form(step), number(0)), "bool"))
            w.out.append(MmaCommit())
            self._tell(step)
            w.out.append(MmaWait(1))
            w.out.append(If(Call("lt", (number(0), Form(step)), "bool"), (Arrive(ring.empty, before, "warp"),)))
            w.out.append(Assign(before.name, slot))
            self.advance(ring, (slot, phase))
        w.out.append(MmaWait(0, pins))
        w.out.append(Arrive(ring.empty, before, "warp"))

    def _follow_the_first(self) -> None:
        """Before the products of a tile: the second of two consumers lets the first take its lead."""
        if self.schedule.lead:
            second = Call("eq", (Form(variable("group")), number(1)), "bool")
            self.w.out.append(If(second, (Sync(LEAD, 2 * GROUP),)))

    def _tell(self, step: Affine) -> None:
        """After the products of a step: the first of two consumers says so once it has its lead."""
        if self.schedule.lead:
            first = Call("eq", (Form(variable("group")), number(0)), "bool")
            taken = Call("eq", (Form(step), number(self.schedule.lead - 1)), "bool")
            self.w.out.append(If(Call("and", (first, taken), "bool"), (Announce(LEAD, 2 * GROUP),)))

    def _load(self, placed: Placed, target: Buffer, slot: Expr) -> None:
        """The rows of this warp group of a staged operand, as packed pairs."""
        width, major = self.plan.width, placed.operand.major
        side = width // 4
        for chunk in range(self.g.stream // side):
            if major == "k":
                box, inside, line = number(chunk // 4), chunk % 4, Form(64 * variable("group"))
            else:
                box, inside, line = Form(64 // width * variable("group")), chunk, number(0)
            self.w.out.append(LoadTile(target, 4 * chunk, placed.stage, slot, box, inside, line, major))

    def _fetch_columns(self, streams: Streams, found: Range, step: Affine) -> None:
        """Reads of one value per column are issued a step before their tile is awaited, to be there when it is.

        They stay in the type that memory has them in, so that nothing waits for them before they are needed.
        """
        if not self.ahead_of:
            return
        w = self.w
        own = step if step.value == 0 else w.integer("next", Call("min", (Form(step), Form(found.count - 1)), "i64"))
        first = w.integer("column", Form(self._k(found, own) + self.column_offset))
        for read, held in self.ahead_of.items():

            def one(j: Affine, read: Read = read, held: Buffer = held) -> None:
                for e in (0, 1):
                    w.out.append(Store(held, Form(2 * j + e), streams.cells.element(read, Place(0, e, j))))

            with streams.cells.scope(), streams.cells.over(self.plan.stream, first):
                streams.cells.columns(self.g.stream, one)

    def _know_columns(self, streams: Streams) -> None:
        """The values per column that were fetched are those that scalars see."""
        for read, held in self.ahead_of.items():
            streams.cells.known[read] = Value(COLUMN, partial(_column_held, held))

    def _release_resident(self) -> None:
        """The slot through which the tile before this one left is handed back, now that its stores have been read."""
        if self.leaving is None or self.memory.resident is None:
            return
        some = Call("le", (number(0), self.leaving), "bool")
        first = Call("and", (self.first_thread(), some), "bool")
        drained = If(first, (CopyDrain(0, True), Arrive(self.memory.resident.empty, self.leaving, "thread")))
        self.w.out += [drained, Assign(self.leaving.name, number(-1)), WarpSync()]

    def _update(
        self,
        streams: Streams,
        found: Range,
        k: Affine,
        scores: dict[Scalar, Buffer],
        raw: dict[Scalar, Buffer],
        masked: bool | None,
        which: int = 0,
    ) -> dict[int, tuple[Var, Var]]:
        """Folds a tile into the state; gives the factors by which matrix parts move.

        `masked`: whether the tile has elements that do not count; None: it is asked when it is there.
        """
        p, w = self.plan, self.w
        first = w.integer("column", Form(k + self.column_offset))
        packed = {} if scores else self.packed[which]
        values = TileValues(p, scores, raw, packed, self.regroup)
        # what is only copied has zeros where the stream has ended
        zeros = p.copied and p.group.where.everywhere
        masked = False if not self.live.masked or zeros else masked
        where = EVERYWHERE if masked is False else p.group.where
        tail = Test(p.stream.size - 1 - affine(p.stream) >= 0) if self.live.ragged and masked is not False else None
        needed = needs_mask(self.live, found, k) if masked is None else None
        if isinstance(needed, Literal):
            assert needed.value, "a tile that is asked for masks and never needs one"
            needed = None
        masks = Masks(where, tail, absorbed_parts(p, streams), needed)
        with streams.cells.over(p.stream, first):
            streams.update(values, self.g.stream, masks)
        factors: dict[int, tuple[Var, Var]] = {}
        for x in p.matrices:
            factor = streams.factor_of(x.part)
            if factor is not None:
                factors[x.part] = factor
        return factors

    def _rescale(self, factors: dict[int, tuple[Var, Var]], when: Expr | None) -> None:
        """Accumulators move to the new statistic; not before they hold something."""
        if not factors:
            return
        w = self.w
        with w.block() as body:
            for part, factor in factors.items():
                acc = self.acc[part]
                with w.loop("j", number(0), number(self.g.columns // 8), "unrolled") as j:
                    for h in (0, 1):
                        for e in (0, 1):
                            at = Place(h, e, j)
                            w.out.append(put(acc, at, Call("mul", (cell_of(acc, at), factor[h]), "f32")))
        w.out += body if when is None else [If(when, tuple(body))]

    def _fresh(self, step: Affine, first: int) -> Expr:
        """Whether the product of a step is the first of its accumulator."""
        if self.plan.carried is not None:
            return Literal(False, "bool")
        return Call("eq", (Form(step), number(first)), "bool")

    def _begin(self) -> None:
        """Issues the product that the accumulator begins with, if there is one."""
        c, ring = self.plan.carried, self.memory.carried
        if c is None or ring is None:
            return
        assert self.memory.resident is not None
        w, (slot, phase) = self.w, self.at[ring.name]
        placed = ring.of(c.right)
        w.out.append(Await(ring.full, slot, phase))
        w.out.append(MmaFence())
        (acc,) = self.acc.values()
        a = self._operand(self.memory.resident.of(c.left), self.resident_slot, True)
        b = self._operand(placed, slot, False)
        w.out.append(Mma(acc, a, b, self._steps(placed.inner), Literal(True, "bool")))
        w.out.append(MmaCommit())

    def _begun(self, streams: Streams) -> None:
        """Awaits that product, hands its operand back, and scales it row by row."""
        c, ring = self.plan.carried, self.memory.carried
        if c is None or ring is None:
            return
        w, at = self.w, self.at[ring.name]
        ((part, acc),) = self.acc.items()
        w.out.append(MmaWait(0, (acc,)))
        w.out.append(Arrive(ring.empty, at[0], "warp"))
        self.advance(ring, at)
        if c.factor is not None:
            both = [w.let("factor", streams.cells.value(c.factor, Place(h))) for h in (0, 1)]
            self._rescale({part: (both[0], both[1])}, None)  # type: ignore[dict-item]

    def _pack(self) -> None:
        """The left factors, rounded and paired: accumulator registers become the operand of the next product."""
        w = self.w
        score = next(iter(self.scores.values()))
        target = next(iter(self.packed[0].values()))
        if self.regroup is not None:
            with w.loop("j", number(0), number(self.g.stream // 8), "unrolled") as j:
                for h in (0, 1):
                    own = tuple(cell_of(score, Place(h, e, j)) for e in (0, 1))
                    for k, value in enumerate(self.regroup.pair((own[0], own[1]), True)):
                        w.out.append(Store(target, Form(4 * j + 2 * k + h), value))
            return
        with w.loop("j", number(0), number(self.g.stream // 4), "unrolled") as j:
            pair = tuple(Load(score, Form(2 * j + e), "f32") for e in (0, 1))
            w.out.append(Store(target, Form(j), Build(pair, target.type)))

    def first_thread(self) -> Expr:
        return Call("eq", (Form(variable("thread")), number(0)), "bool")

    def _late_release(self) -> bool:
        return bool(self.schedule.reuse) and self.memory.resident is not None and self.memory.resident.depth > 1


def _column_held(held: Buffer, at: Place) -> Expr:
    assert at.j is not None
    return as_value(Load(held, Form(2 * at.j + at.e), held.type))
