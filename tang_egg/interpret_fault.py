"""Faults of the checked interpreter: a read out of range, or a division of integers by zero, at a point that counts.

The value of an expression is computed everywhere, with coordinates clipped; this module says at which points that value
was obtained by a fault. A fault in a branch that `select` does not take, or outside a fold's domain, does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tang_egg.affine import Affine, Index
from tang_egg.errors import InputError
from tang_egg.interpret_frame import Array, Frame, mentions_state
from tang_egg.ir import Apply, Const, Read, Reduce, Scalar, Scan, Tensor, Test, children, free
from tang_egg.monoid import lifts

if TYPE_CHECKING:
    from tang_egg.interpret_value import Evaluator

DIVISIONS = ("idiv", "imod")


class Faults:
    """Finds faults for one Evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.possible: dict[Scalar, bool] = {}

    def demand(self, s: Scalar, frame: Frame, where: str) -> None:
        """Raises InputError when `s` has a fault at a point of `frame`, saying what, where and at which point."""
        found = self.at(s, frame)
        if found is not None and found.any():
            self._explain(s, self._point(found, frame), where)

    def may(self, s: Scalar) -> bool:
        """Whether `s` can have a fault at all, its indices taken over all their points."""
        if s not in self.possible:
            own = False
            if isinstance(s, Read):
                own = any(self._may_leave(s, n) for n in range(len(s.coordinates)))
            elif isinstance(s, Apply) and s.op in DIVISIONS:
                own = not (isinstance(s.args[1], Const) and s.args[1].value)
            self.possible[s] = own or any(self.may(c) for c in children(s))
        return self.possible[s]

    def _may_leave(self, s: Read, n: int) -> bool:
        c = s.coordinates[n]
        if not isinstance(c, Affine):
            return True
        constant, coefficients = self.evaluator.concrete(c)
        low = high = constant
        for i, factor in coefficients:
            end = factor * max(self.evaluator.size(i) - 1, 0)
            low, high = low + min(end, 0), high + max(end, 0)
        return low < 0 or high >= self._extent(s, n)

    def _extent(self, s: Read, n: int) -> int:
        sizes = s.source.shape
        return self.evaluator.extent(sizes[n], f"a read of '{s.source.name}'")

    def at(self, s: Scalar, frame: Frame) -> Array | None:
        """Where in the box of `frame` `s` has a fault (extent 1 along axes it does not depend on); None: nowhere."""
        if not self.may(s):
            return None
        home = self.evaluator.home(s, frame)
        if s not in home.faults:
            found = self._compute(s, home)
            home.faults[s] = np.zeros((), np.bool_) if found is None else found
        return home.faults[s]

    def _compute(self, s: Scalar, frame: Frame) -> Array | None:
        if isinstance(s, Reduce):
            return self._fold(s, frame)
        if isinstance(s, Scan):
            return self._scan(s, frame)
        if isinstance(s, Apply) and s.op == "select":
            chosen = self.evaluator.value(s.args[0], frame)
            branches = (_both(chosen, self.at(s.args[1], frame)), _both(~chosen, self.at(s.args[2], frame)))
            return _either(self.at(s.args[0], frame), *branches)
        own: list[Array | None] = []
        if isinstance(s, Read):
            own = [self._outside(s, n, frame) for n in range(len(s.coordinates))]
        elif isinstance(s, Apply) and s.op in DIVISIONS:
            own = [self.evaluator.value(s.args[1], frame) == 0]
        return _either(*own, *(self.at(c, frame) for c in children(s)))

    def _outside(self, s: Read, n: int, frame: Frame) -> Array | None:
        if not self._may_leave(s, n):
            return None
        points = self._coordinate(s, n, frame)
        return (points < 0) | (points >= self._extent(s, n))

    def _coordinate(self, s: Read, n: int, frame: Frame) -> Array:
        c = s.coordinates[n]
        return self.evaluator.position(c, frame) if isinstance(c, Affine) else self.evaluator.value(c, frame)

    def _in_domain(self, s: Reduce, frame: Frame) -> Array | None:
        """Faults of a fold at the single points of `frame`: of its conditions, and of its body inside the domain."""
        mask = self.evaluator.folds.mask(s.where, frame)
        lifted = lifts(s)
        body = _either(*(self.at(lifted[k], frame) for k in sorted(s.monoid.needs(s.part))))
        inner = body if mask is None else _both(mask, body)
        reached: Array | None = None
        for c in s.where.affine:
            holds = self.evaluator.value(Test(c), frame)
            reached = holds if reached is None else reached & holds
        data = _either(*(self.at(d, frame) for d in s.where.data))
        return _either(inner, data if reached is None else _both(reached, data))

    def _fold(self, s: Reduce, home: Frame) -> Array | None:
        folds = self.evaluator.folds
        base = folds.base(s.monoid, home)
        total: Array | None = None
        for frame in folds.boxes(s, [b for b in lifts(s) if self.may(b)], base):
            found = self._in_domain(s, frame)
            if found is not None:
                total = _either(total, _any_left(found, home.ndim))
        return total

    def _scan(self, s: Scan, home: Frame) -> Array | None:
        folds, evaluator = self.evaluator.folds, self.evaluator
        shared = evaluator.frame_of(free(s) - {s.index}, mentions_state(s), home)
        frame = folds.base(s.monoid, shared).child([(s.index, 0, evaluator.size(s.index))])
        lifted = lifts(s)
        found = _either(*(self.at(lifted[k], frame) for k in sorted(s.monoid.needs(s.part))))
        if found is None or not found.any():
            return None
        # The own axes of the components are dropped: a fault in any of them is one of the whole state.
        full = found.reshape((1,) * (frame.ndim - found.ndim) + found.shape)
        full = np.logical_or.accumulate(full, axis=0)
        own = tuple(range(1, full.ndim - shared.ndim))
        return folds.place(np.asarray(full.any(axis=own, keepdims=True)), frame, shared, home)

    def _point(self, found: Array, frame: Frame) -> Frame:
        """`frame` narrowed to the first point where `found` holds."""
        at = np.argwhere(found)[0] if found.ndim else np.zeros(0, np.int64)
        bound = sorted((axis.position, i) for i, axis in frame.scope.items() if axis.position <= frame.ndim)
        here: list[tuple[Index, int, int]] = []
        for position, i in reversed(bound):
            axis = frame.scope[i]
            offset = int(at[-position]) if position <= found.ndim and found.shape[-position] != 1 else 0
            here.append((i, axis.start + offset, axis.start + offset + 1))
        root = frame.around(frame.states_level)
        return root.child(here)

    def _explain(self, s: Scalar, frame: Frame, where: str) -> None:
        """Raises InputError for the first fault below `s` at the one point of `frame`."""
        if isinstance(s, Reduce):
            base = self.evaluator.folds.base(s.monoid, frame)
            for inner in self.evaluator.folds.boxes(s, lifts(s), base):
                found = self._in_domain(s, inner)
                if found is not None and found.any():
                    return self._explain_any((*s.where.data, *lifts(s)), self._point(found, inner), where)
        elif isinstance(s, Scan):
            stop = frame.scope[s.index].stop
            inner = self.evaluator.folds.base(s.monoid, frame).child([(s.index, 0, stop)])
            found = _either(*(self.at(b, inner) for b in lifts(s)))
            if found is not None:
                return self._explain_any(lifts(s), self._point(found, inner), where)
        elif isinstance(s, Apply) and s.op == "select":
            branch = 1 if self.evaluator.value(s.args[0], frame).all() else 2
            return self._explain_any((s.args[0], s.args[branch]), frame, where)
        elif any(self._here(c, frame) for c in children(s)):
            return self._explain_any(children(s), frame, where)
        leftmost_first = sorted(frame.scope.items(), key=lambda item: -item[1].position)
        at = ", ".join(f"{i.name} = {axis.start}" for i, axis in leftmost_first)
        place = f"{where}{', at ' if at else ''}{at}"
        if isinstance(s, Read):
            for n in range(len(s.coordinates)):
                outside = self._outside(s, n, frame)
                if outside is not None and outside.any():
                    value = int(self._coordinate(s, n, frame).reshape(-1)[0])
                    kind = "tensor" if isinstance(s.source, Tensor) else "input"
                    raise InputError(
                        f"coordinate {value} is outside axis {n} of {kind} '{s.source.name}', which has extent"
                        f" {self._extent(s, n)}",
                        where=place,
                        mend="give indices from 0 to the extent less 1, or guard the read with a select",
                    )
        raise InputError("an integer is divided by zero", where=place, mend="guard the division with a select")

    def _explain_any(self, candidates: Sequence[Scalar], frame: Frame, where: str) -> None:
        self._explain(next(c for c in candidates if self._here(c, frame)), frame, where)

    def _here(self, s: Scalar, frame: Frame) -> bool:
        found = self.at(s, frame)
        return found is not None and bool(found.any())


def _either(*found: Array | None) -> Array | None:
    total: Array | None = None
    for f in found:
        if f is not None:
            total = f if total is None else total | f
    return total


def _both(condition: Array, found: Array | None) -> Array | None:
    return None if found is None else condition & found


def _any_left(found: Array, keep: int) -> Array:
    return np.asarray(found.any(axis=tuple(range(max(0, found.ndim - keep)))))
