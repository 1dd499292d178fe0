"""Rows at hand: folds over a row wait for each other, and what one of them computes at a point is kept for the next.

    pass[j](X[j], exp(X[j] + at)), later exp(X[j] - max)    ->    top := max[j](X[j])
                                                                  for j: row[j] := exp(X[j] - top); sum += row[j]
                                                                  for j: ... row[j] ...

Where a row stays in a cache near the core, a pass that reads it once saves nothing, and carrying its state from one
statistic to the next is work for nothing (codegen/settled.py). Costly values that a fold and a later reader share are
stored while the fold computes them, in an array as long as the row; the later reader loads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from tang_egg.affine import Index, affine
from tang_egg.codegen.kernel import Expr
from tang_egg.codegen.lower_lanes import LaneStates
from tang_egg.codegen.lower_scope import Axis, Known, Local, Scope
from tang_egg.codegen.lower_value import COSTLY
from tang_egg.codegen.settled import settled
from tang_egg.errors import CodegenError
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, Tensor, children, free, sources, walk
from tang_egg.schedule import Schedule


class Keeps(LaneStates):
    """See the module text."""

    kept_values: dict[Scalar, tuple[Local, Axis]]
    """The values that a fold in progress stores: where to, and over which axis."""

    def __init__(self, schedule: Schedule, real: str) -> None:
        super().__init__(schedule, real)
        self.kept_values = {}

    @contextmanager
    def keeping(
        self, group: Reduce, parts: Sequence[int], conditions: Sequence[Scalar], target: Scope
    ) -> Iterator[None]:
        """Around the loops of parts of a fold: what they share with later readers is theirs, from scope `target` on."""
        if group.indices[0].name in self.schedule.keep:  # what this fold waits for may keep the same values
            before = (f for b in group.body for f in self._folds_at_hand(b) if not free(f) & set(group.indices))
            super().prepare(dict.fromkeys(before), [])
        made: dict[Scalar, tuple[Local, Axis]] = {}
        for s in self._worth_keeping(group, parts, conditions):
            axis = Axis(group.indices[0], affine(0))
            made[s] = (self.array("row", self.type(s), [axis], (axis.index.size,)), axis)
        self.kept_values |= made
        yield
        for s, (local, axis) in made.items():
            del self.kept_values[s]
            read = Read(self.as_input(local), (affine(axis.index),))
            bound = {i: a for i in free(s) - {axis.index} if (a := self.bound(i)) is not None}
            target.arrays.setdefault(s, []).append(Known(read, bound))

    def _worth_keeping(self, group: Reduce, parts: Sequence[int], conditions: Sequence[Scalar]) -> list[Scalar]:
        """The largest costly values of a fold over all points of one row that somebody else uses too."""
        row = group.indices[0]
        if len(group.indices) > 1 or row.name not in self.schedule.keep or conditions or self.guards:
            return []
        if self.bound(row) is not None or self.schedule.fold_of(row.name).how == "blocks":
            return []
        found: list[Scalar] = []
        stack = [group.body[k] for k in parts]
        while stack:
            s = stack.pop()
            if isinstance(s, Apply) and s.op in COSTLY and self._used_later(s, row):
                found.append(s)
            elif not isinstance(s, (Reduce, Scan)):
                stack += children(s)
        return list(dict.fromkeys(found))

    def _used_later(self, s: Scalar, row: Index) -> bool:
        """Whether a value varies along the row alone, within this fold, and is used outside of it too."""
        outer = free(s) - {row}
        alone = all((a := self.bound(i)) is not None and not a.block for i in outer)
        return (
            row in free(s) and alone and len(self.owners.get(s, ())) > 1 and self.safe(s)
            and s not in self.kept_values and self.known("arrays", s) is None
        )  # fmt: skip

    def prepare(self, roots: Iterable[Scalar], nest: Sequence[Axis]) -> None:
        """Folds over rows at hand come first, so that what they keep is there for everything else."""
        roots = list(roots)
        if self.schedule.keep:
            found = dict.fromkeys(x for r in roots for x in self._folds_at_hand(r))
            super().prepare(found, nest)
        super().prepare(roots, nest)

    def _folds_at_hand(self, root: Scalar) -> Iterator[Reduce]:
        """The folds over rows below an expression, not looking into them."""
        stack, seen = [root], set[Scalar]()
        while stack:
            s = stack.pop()
            if s in seen:
                continue
            seen.add(s)
            if isinstance(s, Reduce) and s.indices[0].name in self.schedule.keep and self.safe(s):
                yield s
            elif not isinstance(s, (Reduce, Scan)):
                stack += children(s)

    def _worth_holding(self, s: Scalar, nest: list[Index]) -> bool:
        return s not in self.kept_values and super()._worth_holding(s, nest)

    def _node(self, s: Scalar) -> Expr:
        value = super()._node(s)
        if s in self.kept_values:
            local, axis = self.kept_values[s]
            value = self.keep(value)
            self.put(local, [axis], value)
        return value


def rows_at_hand(outputs: tuple[Tensor, ...], schedule: Schedule) -> tuple[Tensor, ...]:
    """The tensors with passes over rows at hand as folds in turn. Raises CodegenError where one cannot be parted."""
    if not schedule.keep:
        return outputs
    found = settled(outputs, schedule.keep)
    for before, after in zip(outputs, found, strict=True):
        passes = [s for s in walk(after.body) if isinstance(s, Reduce) and s.monoid.followers]
        stuck = [s for s in passes if {i.name for i in s.indices} <= set(schedule.keep)]
        if stuck or sources(before.body) != sources(after.body):
            raise CodegenError(
                f"the pass of '{before.name}' over '{', '.join(schedule.keep)}' cannot be parted into folds in turn",
                where=f"keep={','.join(schedule.keep)}",
                mend="leave out 'keep': the pass then runs in one go, by the plan of its fold",
            )
    return found
