"""Siblings: folds over one index and domain, neither needing the other, are one fold under the product monoid.

The e-graph only records who may join (`member`, a lattice keyed on the space of the pass): building every product
would take 2^n nodes. Selection joins the members that meet in one kernel, by the equality `sibling.join`.
"""

from __future__ import annotations

from tang_egg.rules.law import Table

table = Table("sibling")
table.relation("member", "String", "Sc", "Sc",
               proposition="the 3rd is a fold over that index on the domain that is 2nd")
table.closure("sibling.member_fold", given=("(= e (Red m j w x))",), then=("(member j w e)",), phase="analysis",
              proof="Sibling.member_fold")
table.closure("sibling.member_pass", given=("(= e (Casc o j w f t))",), then=("(member j w e)",), phase="analysis",
              proof="Sibling.member_pass")
table.seed("sibling.join", "(fold[m, j](x), fold[n, j](y)) = fold[m × n, j](x, y) when neither contains the other",
           holds="ieee", rounding="exact", proof="Sibling.join",
           formal="forall (T U : Type) (m : monoid T) (n : monoid U) (j : string) (w : sc bool) (x : sc T) (y : sc U),"
           " eqv (Ap2 pair (Red m j w x) (Red n j w y)) (Red (both m n) j w (Ap2 pair x y))")
