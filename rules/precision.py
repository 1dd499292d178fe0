"""Precision: a number is a high part, rounded to a short type, and what is left; products distribute over the parts.

    x·y = (hi x + lo x)·(hi y + lo y),  hi x = bf16(x),  lo x = x − hi x

Dropping the smallest products is no equality: `precision.low` and `precision.drop` state bounds of what is left out.
extract/precision.py asserts all of these where a caller asks for it, and nowhere else; no round of saturation runs
them.
"""

from __future__ import annotations

from tang_egg.rules.law import Table
from tang_egg.rules.pattern import Node, Var, call, variables

table = Table("precision")
x, y, z = variables("x y z")


def high(v: Var) -> Node:
    """`v` rounded to bf16."""
    return call("cast:bf16", v)


table.law("precision.halves", x * y, (high(x) + (x - high(x))) * y, holds="finite", rounding="exact",
          proof="Precision.halves", phase="on_demand")
table.law("precision.distribute", (x + y) * z, x * z + y * z, holds="finite", rounding="algebraic",
          proof="Precision.distribute", phase="on_demand")
table.seed("precision.low", "x - hi x = bf16(x - hi x) + e, |e| ≤ 2^-16·|x|", holds="finite", rounding="algebraic",
           proof="Precision.low", formal="forall hi : R -> R, (forall r, Rabs (hi r - r) <= / 2 ^ 8 * Rabs r) ->"
           " forall x, Rabs (x - hi x - hi (x - hi x)) <= / 2 ^ 16 * Rabs x")
table.seed("precision.drop", "Σ a·b = Σ (sum of aᵖ·bᵠ over the pairs kept) + e, |e| ≤ bound·Σ |a|·|b|",
           holds="finite", rounding="algebraic", proof="Precision.drop",
           formal="forall (l : list Z) (n : nat) (keep : nat * nat -> bool) (u : R) (a b : Z -> R),"
           " forall pa pb : nat -> Z -> R,"
           " 0 <= u -> parts_of n u a pa -> parts_of n u b pb ->"
           " Rabs (rsum l (fun v => a v * b v) -"
           " rsum l (fun v => rsum (pairs n keep) (fun pq => pa (fst pq) v * pb (snd pq) v))) <="
           " ((1 + u) ^ 2 * rsum (pairs n (fun pq => negb (keep pq))) (fun pq => u ^ (fst pq + snd pq))"
           " + 2 * u ^ n + u ^ n * u ^ n) * rsum l (fun v => Rabs (a v) * Rabs (b v))")
