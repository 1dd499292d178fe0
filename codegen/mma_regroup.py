"""From the layout of an accumulator to that of a packed operand of 32 bits: two exchanges within the threads of a row.

    column c of eight = (c2 c1 c0)     accumulator: thread (c2 c1), register c0     operand: thread (c1 c0), register c2

Each exchange swaps a bit of the thread's number with the one of the register's: a thread sends the value whose register
bit is not its own thread bit, and keeps the other. First c0 with c1, then c1 with c2.
"""

from __future__ import annotations

from dataclasses import dataclass

from tang_egg.codegen.kernel import Call, Expr, Form, Literal, Select, number
from tang_egg.codegen.writer import Writer


@dataclass(frozen=True, slots=True)
class Regroup:
    """Writes the exchanges; `odd`, `upper`: the two bits of the thread's number among the four of a row."""

    w: Writer
    odd: Expr
    upper: Expr

    def pair(self, pair: tuple[Expr, Expr], rounds: bool) -> tuple[Expr, Expr]:
        """Columns t and t + 4 of thread t from columns 2t and 2t + 1; `rounds`: to the nearest of tf32."""
        if rounds:
            pair = Call("round_tf32", (pair[0],), "f32"), Call("round_tf32", (pair[1],), "f32")
        return self._exchanged(self._exchanged(pair, self.odd, 1), self.upper, 2)

    def _exchanged(self, pair: tuple[Expr, Expr], bit: Expr, mask: int) -> tuple[Expr, Expr]:
        a, b = (self.w.let("x", x) for x in pair)
        sent = self.w.let("x", Select(bit, a, b, "f32"))
        got = self.w.let("x", Call("shuffle_xor", (sent, Literal(mask, "i32")), "f32"))
        return self.w.let("x", Select(bit, got, a, "f32")), self.w.let("x", Select(bit, b, got, "f32"))


def regroup(w: Writer, lane: Form) -> Regroup:
    """The exchanges for a thread of this lane; its bits are written here."""
    odd = w.let("odd", Call("eq", (Call("umod", (lane, number(2)), "i64"), number(1)), "bool"))
    half = Call("udiv", (Call("umod", (lane, number(4)), "i64"), number(2)), "i64")
    return Regroup(w, odd, w.let("upper", Call("eq", (half, number(1)), "bool")))
