"""Folds that lanes share: how the states of all lanes become one that each of them has.

    lanes of a warp     for m in 16, 8, 4, 2, 1: state := combine(the lower lane's state, the upper one's)
    warps of a team     shared[warp] := state; barrier; state := shared[lane mod team]; as above, for m from team / 2

Both lanes of a pair compute the same, so that in the end all hold one state, bit for bit.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tang_egg.affine import Affine, affine
from tang_egg.codegen.device import WARP
from tang_egg.codegen.kernel import (
    Barrier,
    Buffer,
    Call,
    Declare,
    Form,
    Let,
    Literal,
    Load,
    Select,
    Store,
    Var,
    number,
    variable,
)
from tang_egg.codegen.lower_beside import symmetric
from tang_egg.codegen.lower_rounds import Rounds
from tang_egg.codegen.lower_scan_grid import exchanged
from tang_egg.codegen.lower_scope import Local
from tang_egg.codegen.lower_state import Slot, State
from tang_egg.ir import Reduce, Scalar


class Exchanges(Rounds):
    """See the module text."""

    def exchange(self, group: Reduce, state: State) -> None:
        """Combines the lanes' states; all lanes that share the row then hold the same."""
        self._in_pairs(group, state, WARP)
        if not self.team:
            return
        self.scope.out.append(Barrier())  # what an earlier exchange left there has been read
        shared: dict[int, Local] = {}
        for k, slot in state.items():
            each = prod(a.size for a in slot.axes)
            name, kind = self.name(f"{slot.local.buffer.name}_shared"), slot.local.buffer.type
            shared[k] = replace(slot.local, buffer=Buffer(name, kind, "shared", affine(self.team * each)))
            self.scope.out.append(Declare(shared[k].buffer))
        with self.branch(Call("eq", (Var(self.lane, "i64"), number(0)), "bool")):
            for k, slot in state.items():
                with self.inside(), self.points(slot.axes):
                    place = self._place(shared[k], slot, self.warp)
                    self.scope.out.append(Store(shared[k].buffer, Form(place), self.evaluate(slot.read)))
        self.scope.out.append(Barrier())
        mine = self.name("mine")
        self.scope.out.append(Let(mine, Call("umod", (Var(self.lane, "i64"), number(self.team)), "i64")))
        for k, slot in state.items():
            with self.inside(), self.points(slot.axes):
                buffer = shared[k].buffer
                self.store(slot, Load(buffer, Form(self._place(shared[k], slot, mine)), buffer.type))
        self._in_pairs(group, state, self.team)

    def _place(self, shared: Local, slot: Slot, of: str) -> Affine:
        """Where the state of a warp has the element at the point in force."""
        return self.local_address(shared, slot.read) + variable(of) * prod(a.size for a in slot.axes)

    def _in_pairs(self, group: Reduce, state: State, count: int) -> None:
        """Combines the states of `count` lanes in pairs: both compute the same, the lower lane's state first.

        Where either order gives the same bits, each lane takes its own state first.
        """
        mask = count // 2
        either = symmetric(group.monoid, state)
        while mask:
            place = Call("umod", (Var(self.lane, "i64"), number(2 * mask)), "i64")
            lower = Literal(True, "bool") if either else self.keep(Call("lt", (place, number(mask)), "bool"))
            upper: dict[int, Scalar | Slot] = {}
            for k, slot in state.items():
                held = self.slot(f"{slot.local.buffer.name}_upper", slot.local.buffer.type, slot.axes, False)
                with self.inside(), self.points(slot.axes):
                    mine = self.keep(self.evaluate(slot.read))
                    other = self.keep(exchanged(mine, mask))
                    if not either:
                        self.store(slot, Select(lower, mine, other, mine.type))
                    self.store(held, other if either else Select(lower, other, mine, mine.type))
                upper[k] = held
            self.take_up(group, state, upper)
            mask //= 2
