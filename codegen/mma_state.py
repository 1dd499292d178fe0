"""The state of a stream in registers, and what one tile of the stream does to it.

For each row that a thread holds, and for each row part of the state, one register; matrix parts lie in accumulators.

    head       tile value := fold of the lifts over the columns held; across the four threads of a row at once where a
               statistic needs it, else at the end; new := combine(old, tile value)
    statistic  of the new head; 0 while the head is empty, so that nothing comes from inf - inf
    factor     F(from, to), by which followers move: one per row, shared by all that move alike
    follower   row part := row part · factor ⊕ fold of its lifts;  matrix part := its accumulator · factor + P · B

Masked elements count as nothing (mma_tile).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tang_egg.affine import Affine
from tang_egg.codegen.kernel import Assign, Call, Expr, Literal, Select, Var
from tang_egg.codegen.mma_cells import Cells
from tang_egg.codegen.mma_linear import CELL, ROW, Place, Value
from tang_egg.codegen.mma_plan import Plan, rebase_factor
from tang_egg.codegen.mma_tile import Folded, Masks, TileValues
from tang_egg.codegen.writer import Writer
from tang_egg.ir import Const, Scalar, StateRef, Statistic, walk
from tang_egg.monoid import Follow, Monoid


@dataclass(slots=True)
class RowState:
    """A row part: its registers at h = 0, 1; `spread`: the four threads of a row hold shares of it until the end."""

    part: int
    registers: tuple[Var, Var]
    spread: bool


@dataclass(slots=True)
class Streams:
    """Registers of one warp group for one tile of rows."""

    plan: Plan
    w: Writer
    cells: Cells
    rows: dict[int, RowState] = field(default_factory=dict)
    factors: dict[Scalar, tuple[Var, Var]] = field(default_factory=dict)

    # -- what the monoid says

    @property
    def monoid(self) -> Monoid:
        return self.plan.group.monoid

    def follow(self, part: int) -> Follow | None:
        return self.monoid.components[part].follow

    def base(self, part: int) -> tuple[Scalar, Scalar]:
        """Combine and identity under which a part is folded."""
        follow = self.follow(part)
        if follow is not None:
            return follow.base.combine[0], follow.base.identity[0]
        return self.monoid.combine[part], self.monoid.identity[part]

    def heads(self) -> list[int]:
        return [n for n in self.plan.rows if self.follow(n) is None]

    def statistic_needs(self, part: int) -> bool:
        """Whether a follower's statistic is computed from a head."""
        name = self.monoid.components[part].name
        roots = [r for c in self.monoid.components if (f := c.follow) is not None for r in (*f.statistics, f.empty)]
        return any(isinstance(x, StateRef) and x.component == name for x in walk(*roots))

    def start(self) -> None:
        """Sets the row parts to their identities."""
        for n in self.plan.rows:
            identity = self.cells.value(self.base(n)[1])
            registers = tuple(self.w.mutable(f"{_stem(self.monoid, n)}{h}", identity) for h in (0, 1))
            self.rows[n] = RowState(n, registers, not self.statistic_needs(n))  # type: ignore[arg-type]

    # -- one tile

    def update(self, tile: TileValues, count: int, masks: Masks) -> None:
        """Folds `count` columns of lifts into the row parts; leaves P of the matrix parts in the tile's registers."""
        with self.cells.scope():
            tile.settle(self, count, masks)
            new = self._fold_heads(tile, count, masks)
            self._follow(tile, new, count, masks)
            for n, values in new.items():
                for h in (0, 1):
                    self.w.out.append(Assign(self.rows[n].registers[h].name, values[h]))

    def _fold_heads(self, tile: TileValues, count: int, masks: Masks) -> dict[int, tuple[Expr, Expr]]:
        heads = self.heads()
        if not heads:
            return {}
        lifts = {n: self.plan.group.body[n] for n in heads}
        parts = {n: self._partials(n) for n in heads}

        def step(at: Place) -> None:
            for n in heads:
                held = tile.folded.get(n)
                value = held.value.at(at) if held is not None else self.cells.value(lifts[n], at)
                if n not in masks.absorbed:
                    value = masks.select(self.cells, at, value, self.base(n)[1])
                self._take(parts[n][at.h][at.e], n, value)

        self.cells.cells(count, step)
        new: dict[int, tuple[Expr, Expr]] = {}
        for n in heads:
            both: list[Expr] = []
            for h in (0, 1):
                a, b = parts[n][h]
                total = self.w.let("m", self.combine(n, a, b))
                # before threads are put together: an offset counts from each thread's own first column
                total = self._unfolded(tile.folded.get(n), total, h)
                if not self.rows[n].spread:
                    total = self.across(n, total)
                both.append(self.w.let("m", self.combine(n, self.rows[n].registers[h], total)))
            new[n] = (both[0], both[1])
        return new

    def _unfolded(self, held: Folded | None, total: Expr, h: int) -> Expr:
        """The fold of a head's lift from the fold of what is held of it."""
        if held is not None and held.factor != 1.0:
            total = Call("mul", (total, Literal(held.factor, "f32")), "f32")
        if held is not None and held.offset is not None:
            total = Call("add", (total, self.cells.value(held.offset, Place(h))), "f32")
        return total

    def _follow(self, tile: TileValues, new: dict[int, tuple[Expr, Expr]], count: int, masks: Masks) -> None:
        following = [n for n in self.plan.rows if self.follow(n) is not None]
        self.factors = {}
        first = next((f for m in (*following, *(p.part for p in self.plan.matrices)) if (f := self.follow(m))), None)
        if first is not None:
            to, start = self._statistics(first, new)
            self.cells.known[Statistic("at")] = Value(ROW, lambda at: to[at.h])
            for n in (*following, *(p.part for p in self.plan.matrices)):
                self._factor(n, to, start)
        lefts = [m for m in self.plan.matrices if tile.keeps(m)]
        if not following and not lefts:
            return
        parts = {n: self._partials(n) for n in following}
        bodies = {n: self.plan.group.body[n] for n in following}

        def step(j: Affine) -> None:
            for h in (0, 1):
                pair: dict[int, list[Expr]] = {m.part: [] for m in lefts}
                for e in (0, 1):
                    at = Place(h, e, j)
                    seen: dict[Scalar, Expr] = {}
                    for m in lefts:
                        pair[m.part].append(self._lift(m.part, m.left, at, seen, masks))
                    for n in following:
                        self._take(parts[n][h][e], n, self._lift(n, bodies[n], at, seen, masks))
                for m in lefts:
                    tile.keep(self.w, m, j, h, (pair[m.part][0], pair[m.part][1]))

        self.cells.columns(count, step)
        for n in following:
            factor = rebase_factor(self.follow(n))  # type: ignore[arg-type]
            assert factor is not None
            for h in (0, 1):
                a, b = parts[n][h]
                total = self.combine(n, a, b)
                held = self.rows[n].registers[h]
                moved = Call("mul", (held, self.factors[factor][h]), "f32")
                self.w.out.append(Assign(held.name, self.combine(n, moved, total)))

    def _lift(self, part: int, s: Scalar, at: Place, seen: dict[Scalar, Expr], masks: Masks) -> Expr:
        if s not in seen:
            value = self.cells.value(s, at)
            if part not in masks.absorbed:
                identity = Const(0.0) if part not in self.plan.rows else self.base(part)[1]
                value = masks.select(self.cells, at, value, identity)
            seen[s] = self.w.let("p", value)
        return seen[s]

    def _statistics(self, follow: Follow, new: dict[int, tuple[Expr, Expr]]) -> tuple[list[Expr], list[Expr]]:
        """The statistic of the new head (0 where it means nothing yet) and that of the old one."""
        to: list[Expr] = []
        start: list[Expr] = []
        for h in (0, 1):
            fresh = {self.monoid.components[n].name: values[h] for n, values in new.items()}
            old = {self.monoid.components[n].name: self.rows[n].registers[h] for n in new}
            empty = self.state(follow.empty, fresh)
            (statistic,) = follow.statistics
            stat = self.state(statistic, fresh)
            to.append(self.w.let("to", Select(empty, Literal(0.0, "f32"), stat, "f32")))
            start.append(self.w.let("from", self.state(statistic, old)))
        return to, start

    def _factor(self, part: int, to: list[Expr], start: list[Expr]) -> None:
        follow = self.follow(part)
        if follow is None:
            return
        factor = rebase_factor(follow)
        assert factor is not None
        if factor in self.factors:
            return
        with self.cells.scope():
            self.cells.known[Statistic("to")] = Value(ROW, lambda at: to[at.h])
            self.cells.known[Statistic("from")] = Value(ROW, lambda at: start[at.h])
            both = [self.w.let("factor", self.cells.value(factor, Place(h))) for h in (0, 1)]
        self.factors[factor] = (both[0], both[1])  # type: ignore[assignment]

    def factor_of(self, part: int) -> tuple[Var, Var] | None:
        """The factors by which the last update moved a follower; None for a part that stands still."""
        follow = self.follow(part)
        factor = rebase_factor(follow) if follow is not None else None
        return self.factors[factor] if factor is not None else None

    # -- folds

    def _partials(self, n: int) -> tuple[tuple[Var, Var], tuple[Var, Var]]:
        identity = self.cells.value(self.base(n)[1])
        stem = f"{_stem(self.monoid, n)}_part"
        return tuple(tuple(self.w.mutable(stem, identity) for _ in (0, 1)) for _ in (0, 1))  # type: ignore[return-value]

    def _take(self, into: Var, n: int, value: Expr) -> None:
        self.w.out.append(Assign(into.name, self.combine(n, into, value)))

    def combine(self, n: int, left: Expr, right: Expr) -> Expr:
        """The combine of part `n` on two values."""
        combine, _ = self.base(n)
        with self.cells.scope():
            for x in walk(combine):
                if isinstance(x, StateRef):
                    value = left if x.side == "left" else right
                    self.cells.known[x] = Value(CELL, lambda at, v=value: v)  # type: ignore[misc]
            result = self.cells.value(combine)
        if self.statistic_needs(n) and isinstance(result, Call) and result.op in ("max", "min"):
            # a NaN that this drops comes back through the followers, whose lifts hold it
            result = Call(f"fast_{result.op}", result.args, result.type)
        return result

    def across(self, n: int, value: Expr) -> Expr:
        """The fold of a row over the four threads that hold it."""
        for mask in (1, 2):
            value = self.w.let("x", value)
            other = Call("shuffle_xor", (value, Literal(mask, "i32")), value.type)
            value = self.combine(n, value, other)
        return self.w.let("x", value)

    def state(self, s: Scalar, values: Mapping[str, Expr]) -> Expr:
        """An expression over the components of one row's state."""
        with self.cells.scope():
            for x in walk(s):
                if isinstance(x, StateRef):
                    self.cells.known[x] = Value(CELL, lambda at, v=values[x.component]: v)  # type: ignore[misc]
            return self.cells.value(s)

    def finish(self) -> None:
        """Row parts that were spread over the threads of a row are put together."""
        for n, state in self.rows.items():
            if state.spread:
                for h in (0, 1):
                    self.w.out.append(Assign(state.registers[h].name, self.across(n, state.registers[h])))


def _stem(monoid: Monoid, n: int) -> str:
    return f"s_{monoid.components[n].name}".replace(".", "_") + "_"
