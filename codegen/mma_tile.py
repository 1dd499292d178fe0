"""The values of one tile of a stream in registers: scores or raw operands, masks, and where left factors are left.

A masked element counts as nothing: its lifts are the identities. Where a follower's lift is an exponential of the
head's own lift, an identity of -inf there makes it 0, and masking the head is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tang_egg.affine import Affine
from tang_egg.codegen.kernel import Buffer, Build, Call, Expr, Form, Lane, Load, Select, Store
from tang_egg.codegen.mma_cells import CELL, Cells, Place, Value, linear
from tang_egg.codegen.mma_plan import MatrixPart, Plan, factors
from tang_egg.codegen.writer import Writer
from tang_egg.ir import Apply, Const, Domain, Scalar, Statistic, Test, walk

if TYPE_CHECKING:
    from tang_egg.codegen.mma_state import Streams


class Masks:
    """The condition under which an element of a tile counts.

    `absorbed`: parts that need no select of their own. `needed`: whether this tile needs masks at all (None: it does).
    """

    def __init__(self, where: Domain, tail: Test | None, absorbed: frozenset[int], needed: Expr | None) -> None:
        self.conditions: list[Scalar] = [*(Test(c) for c in where.affine), *where.data]
        if tail is not None:
            self.conditions.append(tail)
        self.absorbed, self.needed = absorbed, needed

    def condition(self, cells: Cells, at: Place) -> Expr | None:
        total: Expr | None = None
        for c in self.conditions:
            value = cells.value(c, at)
            total = value if total is None else Call("and", (total, value), "bool")
        return total

    def select(self, cells: Cells, at: Place, value: Expr, identity: Scalar) -> Expr:
        condition = self.condition(cells, at)
        if condition is None:
            return value
        return Select(condition, value, cells.value(identity), value.type)


class TileValues:
    """What a tile of the stream holds in registers: scores from products, or raw operands from shared memory.

    `settle` may put the head's lift, masked, into the place of the scores. `keep` leaves the left factor of a matrix
    part where its product will take it from: in place of the scores as f32, or packed.
    """

    def __init__(
        self, plan: Plan, scores: dict[Scalar, Buffer], raw: dict[Scalar, Buffer], packed: dict[int, Buffer]
    ) -> None:
        self.plan, self.scores, self.raw, self.packed = plan, scores, raw, packed
        self.in_place = bool(scores)

    def bind(self, cells: Cells) -> None:
        """Makes the values known to the evaluator."""
        for s, b in self.scores.items():
            cells.known[s] = Value(CELL, lambda at, b=b: Load(b, Form(_cell(at)), "f32"))  # type: ignore[misc]
        for s, b in self.raw.items():
            cells.known[s] = Value(CELL, lambda at, b=b: self._unpacked(b, at))  # type: ignore[misc]

    def _unpacked(self, b: Buffer, at: Place) -> Expr:
        assert at.j is not None
        pair = Load(b, Form(2 * at.j + at.h), b.type)
        return Call("cast", (Lane(pair, at.e, self.plan.dtype),), "f32")

    def settle(self, streams: Streams, count: int, masks: Masks) -> None:
        """Computes a head's lift in place of the scores it comes from, where it is more than a multiple of them."""
        self.bind(streams.cells)
        for n in streams.heads():
            lift = streams.plan.group.body[n]
            if streams.statistic_needs(n) and self.scores:
                self._settle(streams, n, lift, count, masks)

    def _settle(self, streams: Streams, n: int, lift: Scalar, count: int, masks: Masks) -> None:
        own = [s for s in self.scores if any(x is s for x in walk(lift))]
        if len(own) != 1:
            masks.absorbed = frozenset()
            return
        score = self.scores[own[0]]
        view = self.view(lift, streams, n)
        identity = streams.base(n)[1]
        masked = n in masks.absorbed and bool(masks.conditions)

        def write(value: Callable[[Place], Expr]) -> None:
            streams.cells.cells(count, lambda at: streams.w.out.append(Store(score, Form(_cell(at)), value(at))))

        if view is None:
            if not streams.cells.settle_terms(own[0], lift, streams.plan.group.body):
                masks.absorbed = frozenset()
                return
            if masked and masks.needed is None:
                write(lambda at: masks.select(streams.cells, at, streams.cells.value(lift, at), identity))
                masked = False
            else:
                write(lambda at: streams.cells.value(lift, at))
            del streams.cells.known[own[0]]
            streams.cells.known[lift] = Value(CELL, lambda at: Load(score, Form(_cell(at)), "f32"))
        if masked:
            load = Value(CELL, lambda at: Load(score, Form(_cell(at)), "f32"))

            def put() -> None:
                write(lambda at: masks.select(streams.cells, at, load.at(at), identity))

            if masks.needed is None:
                put()
            else:
                with streams.cells.scope(), streams.w.when(masks.needed):
                    put()

    def view(self, lift: Scalar, streams: Streams, n: int) -> tuple[Value, float] | None:
        """A head's lift as (scores, positive factor), where it is that under a maximum: the factor can wait."""
        if not streams.statistic_needs(n) or streams.cells.known.get(lift) is not None:
            return None
        combine, identity = streams.base(n)
        terms, constant = linear(lift)
        if len(terms) != 1 or constant or not (isinstance(combine, Apply) and combine.op in ("max", "min")):
            return None
        ((term, factor),) = terms.items()
        if term not in self.scores or factor <= 0.0 or identity not in (Const(float("-inf")), Const(float("inf"))):
            return None
        score = self.scores[term]
        return Value(CELL, lambda at: Load(score, Form(_cell(at)), "f32")), factor

    def keeps(self, m: MatrixPart) -> bool:
        return m.part in self.packed or self.in_place

    def keep(self, w: Writer, m: MatrixPart, j: Affine, h: int, pair: tuple[Expr, Expr]) -> None:
        """Leaves two neighbouring values of the left factor for its product."""
        if self.in_place:
            (score,) = dict.fromkeys(self.scores.values())
            for e, value in enumerate(pair):
                w.out.append(Store(score, Form(4 * j + (2 * h + e)), value))
            return
        target = self.packed[m.part]
        w.out.append(Store(target, Form(2 * j + h), Build(pair, target.type)))


def _cell(at: Place) -> Affine:
    assert at.j is not None
    return 4 * at.j + (2 * at.h + at.e)


def absorbed_parts(plan: Plan, streams: Streams) -> frozenset[int]:
    """The parts whose lifts become identities by themselves where the statistic's head is masked in place."""
    heads = [n for n in streams.heads() if streams.statistic_needs(n)]
    if len(heads) != 1 or len(plan.contractions) != 1:
        return frozenset()
    lift = plan.group.body[heads[0]]
    if streams.base(heads[0])[1] is not Const(float("-inf")):
        return frozenset()
    found = {heads[0]}
    for n in [*plan.rows, *(m.part for m in plan.matrices)]:
        body = next((m.left for m in plan.matrices if m.part == n), plan.group.body[n])
        if streams.follow(n) is not None and any(_vanishes(f, lift) for f in factors(body)):
            found.add(n)
    return frozenset(found)


def _vanishes(s: Scalar, lift: Scalar) -> bool:
    """Whether a factor is 0 where the head's lift is -inf: an exponential of it with a positive coefficient."""
    if not (isinstance(s, Apply) and s.op == "exp"):
        return False
    terms, _ = linear(s.args[0])
    wanted, _ = linear(lift)
    ratio = {terms.get(t, 0.0) / c for t, c in wanted.items()}
    finite = all(isinstance(t, Statistic) for t in terms if t not in wanted)
    return len(ratio) == 1 and ratio.pop() > 0.0 and finite
