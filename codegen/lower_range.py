"""The range of a folded index that data conditions leave: limits that are values, and sorted keys by bisection.

    lo[g] <= e < hi[g]      a loop from lo[g] to hi[g]
    key[e] == g             likewise, where key does not decrease: its ends are found in as many steps as |e| has bits

Where a limit differs within a block, the range is the smallest that holds for all of it, and the condition is tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from tang_egg.affine import Index, affine
from tang_egg.bounds_range import Limit, limits_of
from tang_egg.codegen.kernel import (
    Buffer,
    Call,
    Declare,
    Expr,
    Form,
    If,
    Let,
    Literal,
    Load,
    Loop,
    Stmt,
    Store,
    number,
    variable,
)
from tang_egg.codegen.lower_scope import Axis
from tang_egg.codegen.lower_state import State
from tang_egg.codegen.lower_update import Updates
from tang_egg.ir import Const, Reduce, Scalar, free
from tang_egg.monoid import sum_of

BITS = 63
"""Steps of a bisection over an axis of unknown length."""


class Ranges(Updates):
    """See the module text."""

    def data_range(
        self, index: Index, later: Sequence[Index], conditions: Sequence[Scalar]
    ) -> tuple[list[Expr], list[Expr], list[Scalar]]:
        """Lower ends, upper ends, and the conditions that the range makes true. All ends lie in 0 ... |index|."""
        lows: list[Expr] = []
        highs: list[Expr] = []
        implied: list[Scalar] = []
        for c in conditions:
            limits = limits_of(index, c)
            if not limits or not self.safe(c) or any(i in later for i in free(c)):
                continue
            blocks = self.blocks(free(c) - {index})
            if any(self.bound(i) is None for i in free(c) - {index}):
                continue
            for limit in limits:
                (lows if limit.side > 0 else highs).append(self._end(index, limit, blocks))
            if not blocks:
                implied.append(c)
        return lows, highs, implied

    def counted(self, group: Reduce, state: State, low: Expr, high: Expr) -> bool:
        """Adds an integer as often as a range has points, at once. Whether the fold was of that kind."""
        body = group.body[0]
        if group.monoid is not sum_of("i64") or not isinstance(body, Const) or isinstance(high, Form):
            return False
        (slot,) = state.values()
        points = Call("add", (high, Call("neg", (low,), "i64")), "i64")
        added = points if body.value == 1 else Call("mul", (points, Literal(body.value, "i64")), "i64")
        with self.inside(), self.points(slot.axes):
            self.store(slot, Call("add", (self.evaluate(slot.read), added), "i64"))
        return True

    def _end(self, index: Index, limit: Limit, blocks: Sequence[Axis]) -> Expr:
        """A limit as a number of points; over a block, the one that leaves most."""
        if limit.value is not None:
            self.prepare([limit.value], [])
        if not blocks:
            return self._point_end(index, limit)
        held = self._counter(f"{index.name}_end", number(0) if limit.side < 0 else Form(index.size))
        with ExitStack() as stack:
            for axis in blocks:
                stack.enter_context(self.refine(axis))
            op = "max" if limit.side < 0 else "min"
            found = Call(op, (Load(held, number(0), "i64"), self._point_end(index, limit)), "i64")
            self.scope.out.append(Store(held, number(0), found))
        return Load(held, number(0), "i64")

    def _point_end(self, index: Index, limit: Limit) -> Expr:
        if limit.value is None:
            assert limit.holds is not None
            return self._bisect(index, limit.holds)
        value = self.evaluate(limit.value)
        if limit.beyond:  # limited before it is increased, since the largest value wraps
            value = Call("add", (Call("min", (value, Form(index.size - 1)), "i64"), number(limit.beyond)), "i64")
        return Call("min", (Call("max", (value, number(0)), "i64"), Form(index.size)), "i64")

    def _bisect(self, index: Index, holds: Scalar) -> Expr:
        """How many points come before the first at which a condition fails that holds up to there."""
        size = index.size.value
        steps = BITS if size is None else size.bit_length()
        count = self._counter(f"{index.name}_count", number(0))
        step, probe, last = (self.name(f"{index.name}_{stem}") for stem in ("step", "probe", "last"))
        shift = Form(affine(steps - 1) - variable(step))
        body: list[Stmt] = [
            Let(probe, Call("add", (Load(count, number(0), "i64"), Call("shl", (number(1), shift), "i64")), "i64"))
        ]
        within: list[Stmt] = [Let(last, Call("add", (Form(variable(probe)), number(-1)), "i64"))]
        with self.inside(Axis(index, variable(last)), out=within):
            test = self.evaluate(holds)
            self.scope.out.append(If(test, (Store(count, number(0), Form(variable(probe))),)))
        body.append(If(Call("le", (Form(variable(probe)), Form(index.size)), "bool"), tuple(within)))
        self.scope.out.append(Loop(step, number(0), number(steps), 1, "serial", tuple(body)))
        return Load(count, number(0), "i64")

    def _counter(self, stem: str, start: Expr) -> Buffer:
        held = Buffer(self.name(stem), "i64", "local", affine(1))
        self.scope.out += [Declare(held), Store(held, number(0), start)]
        return held
