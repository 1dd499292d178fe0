"""The values of one tile of a stream in registers: scores or raw operands, masks, and where left factors are left.

A masked element counts as nothing: its lifts are the identities. Where a follower's lift is an exponential of the
head's own lift, an identity of -inf there makes it 0, and masking the head is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tang_egg.affine import Affine
from tang_egg.codegen.kernel import Buffer, Build, Call, Expr, Form, Lane, Load, Select, Store
from tang_egg.codegen.mma_cells import Cells
from tang_egg.codegen.mma_linear import CELL, COLUMN, Place, Value, cell_of, linear, put, sum_of, term_of
from tang_egg.codegen.mma_operand import MatrixPart, factors
from tang_egg.codegen.mma_plan import Plan
from tang_egg.codegen.mma_regroup import Regroup
from tang_egg.codegen.writer import Writer
from tang_egg.ir import Apply, Const, Domain, Reduce, Scalar, Statistic, Test, walk

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


@dataclass(frozen=True, slots=True)
class Folded:
    """What a head's lift is folded over: its values, and the factor and offset that the fold of them still gets."""

    value: Value
    factor: float
    offset: Scalar | None


class TileValues:
    """What a tile of the stream holds in registers: scores from products, or raw operands from shared memory.

    `settle` may put the head's lift, masked, into the place of the scores. `keep` leaves the left factor of a matrix
    part where its product will take it from: in place of the scores as f32, or packed, through `regroup` if of f32.
    """

    def __init__(
        self,
        plan: Plan,
        scores: dict[Scalar, Buffer],
        raw: dict[Scalar, Buffer],
        packed: dict[int, Buffer],
        regroup: Regroup | None = None,
    ) -> None:
        self.plan, self.scores, self.raw, self.packed, self.regroup = plan, scores, raw, packed, regroup
        self.in_place = bool(scores)
        self.folded: dict[int, Folded] = {}

    def bind(self, cells: Cells) -> None:
        """Makes the values known to the evaluator."""
        for s, b in self.scores.items():
            cells.known[s] = Value(CELL, lambda at, b=b: cell_of(b, at))  # type: ignore[misc]
        for s, b in self.raw.items():
            cells.known[s] = Value(CELL, lambda at, b=b: self._unpacked(b, at))  # type: ignore[misc]

    def _unpacked(self, b: Buffer, at: Place) -> Expr:
        assert at.j is not None
        if b.type == "f32":
            return cell_of(b, at)
        pair = Load(b, Form(2 * at.j + at.h), b.type)
        return Call("cast", (Lane(pair, at.e, self.plan.dtype),), "f32")

    def settle(self, streams: Streams, count: int, masks: Masks) -> None:
        """Computes what a head is folded over in place of the scores it comes from, masked where that is needed."""
        self.bind(streams.cells)
        for n in streams.heads():
            if streams.statistic_needs(n) and self.scores:
                self._settle(streams, n, count, masks)

    def _settle(self, streams: Streams, n: int, count: int, masks: Masks) -> None:
        lift, cells = streams.plan.group.body[n], streams.cells
        own = [s for s in self.scores if any(x is s for x in walk(lift))]
        if len(own) != 1:
            masks.absorbed = frozenset()
            return
        score, identity = self.scores[own[0]], streams.base(n)[1]
        held = Value(CELL, lambda at: cell_of(score, at))
        kept, factor, offset = self._kept(streams, n, lift)
        masked = n in masks.absorbed and bool(masks.conditions)

        def write(value: Callable[[Place], Expr]) -> None:
            cells.cells(count, lambda at: streams.w.out.append(put(score, at, value(at))))

        if kept is not own[0]:
            if not cells.settle_terms(own[0], kept, lift, streams.plan.group.body):
                masks.absorbed = frozenset()
                return
            if masked and masks.needed is None:
                write(lambda at: masks.select(cells, at, cells.value(kept, at), identity))
                masked = False
            else:
                write(lambda at: cells.value(kept, at))
            cells.overwrite(own[0], kept, held)
        self.folded[n] = Folded(held, factor, offset)
        if not masked:
            return
        with cells.scope(), ExitStack() as stack:
            if masks.needed is not None:
                stack.enter_context(streams.w.when(masks.needed))
            write(lambda at: masks.select(cells, at, held.at(at), identity))

    def _kept(self, streams: Streams, n: int, lift: Scalar) -> tuple[Scalar, float, Scalar | None]:
        """A head's lift as kept · factor + offset; factor and offset wait for the end of a fold under max or min.

        The offset is what no column changes, the factor is positive: max(c·x + r) = c·max x + r.
        """
        combine, identity = streams.base(n)
        if not (isinstance(combine, Apply) and combine.op in ("max", "min")) or identity not in _ENDS:
            return lift, 1.0, None
        terms, constant = streams.cells.spread(lift)
        inside = {t: c for t, c in terms.items() if streams.cells.level(t) & COLUMN}
        outside = [term_of(t, c) for t, c in terms.items() if t not in inside]
        if constant:
            outside.append(Const(constant))
        offset = sum_of(outside) if outside else None
        if len(inside) == 1:
            ((kept, factor),) = inside.items()
            if factor > 0.0:
                return kept, factor, offset
        return sum_of([term_of(t, c) for t, c in inside.items()]), 1.0, offset

    def keeps(self, m: MatrixPart) -> bool:
        return m.part in self.packed or self.in_place

    def keep(self, w: Writer, m: MatrixPart, j: Affine, h: int, pair: tuple[Expr, Expr]) -> None:
        """Leaves two neighbouring values of the left factor for its product."""
        if self.in_place:
            score = next(iter(self.scores.values()))
            for e, value in enumerate(pair):
                w.out.append(put(score, Place(h, e, j), value))
            return
        target = self.packed[m.part]
        if self.regroup is not None:
            for k, value in enumerate(self.regroup.pair(pair, not self.plan.copied)):
                w.out.append(Store(target, Form(4 * j + 2 * k + h), value))
            return
        w.out.append(Store(target, Form(2 * j + h), Build(pair, target.type)))


_ENDS = (Const(float("-inf")), Const(float("inf")))


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
        if streams.follow(n) is not None and _absorbed(body, lift):
            found.add(n)
    return frozenset(found)


def _absorbed(body: Scalar, lift: Scalar) -> bool:
    """Whether a lift is 0 where the head's is -inf: one factor vanishes, and no other is made of what was masked."""
    parts = factors(body)
    vanishing = [f for f in parts if _vanishes(f, lift)]
    rest = [f for f in parts if f not in vanishing]
    masked = {s for s in walk(lift) if isinstance(s, Reduce)}
    return len(vanishing) == 1 and not any(s in masked for f in rest for s in walk(f))


def _vanishes(s: Scalar, lift: Scalar) -> bool:
    """Whether a factor is 0 where the head's lift is -inf: an exponential of it with a positive coefficient."""
    if not (isinstance(s, Apply) and s.op == "exp"):
        return False
    terms, _ = linear(s.args[0])
    wanted, _ = linear(lift)
    ratio = {terms.get(t, 0.0) / c for t, c in wanted.items()}
    finite = all(isinstance(t, Statistic) for t in terms if t not in wanted)
    return len(ratio) == 1 and ratio.pop() > 0.0 and finite
