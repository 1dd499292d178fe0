"""Scalars: identities of arithmetic.

Subsuming only where both sides are equal on every IEEE value: x·1, −−x. Not x + 0 (which turns −0 into 0), not x − x.
"""

from __future__ import annotations

from tang_egg.rules.law import Table, fact
from tang_egg.rules.pattern import FALSE, ONE, TRUE, ZERO, Var, call, literal, variables

table = Table("scalar")
x, y, c = variables("x y c")
p = Var("p", "bool")

table.law("scalar.mul_one", x * ONE, x, holds="ieee", rounding="exact", proof="Scalar.mul_one", subsumes=True)
table.law("scalar.neg_neg", call("neg", call("neg", x)), x, holds="ieee", rounding="exact",
          proof="Scalar.neg_neg", subsumes=True)
table.law("scalar.add_zero", x + ZERO, x, holds="finite", rounding="exact", proof="Scalar.add_zero")
table.law("scalar.mul_zero", x * ZERO, ZERO, holds="finite", rounding="exact", proof="Scalar.mul_zero")
table.law("scalar.cancel", x + -x, ZERO, holds="finite", rounding="exact", proof="Scalar.cancel")
table.law("scalar.neg_zero", -ZERO, ZERO, holds="finite", rounding="exact", proof="Scalar.neg_zero")
table.law("scalar.exp_zero", call("exp", ZERO), ONE, holds="ieee", rounding="exact", proof="Scalar.exp_zero",
          subsumes=True)
table.law("scalar.exp_lowest", call("exp", literal(float("-inf"))), ZERO, holds="ieee", rounding="exact",
          proof="Scalar.exp_lowest", subsumes=True)
table.law("scalar.recip_one", call("recip", ONE), ONE, holds="ieee", rounding="exact", proof="Scalar.recip_one",
          subsumes=True)
table.law("scalar.and_true", p & TRUE, p, holds="ieee", rounding="exact", proof="Scalar.and_true", subsumes=True)
table.law("scalar.and_false", p & FALSE, FALSE, holds="ieee", rounding="exact", proof="Scalar.and_false",
          subsumes=True)
table.law("scalar.and_same", p & p, p, holds="ieee", rounding="exact", proof="Scalar.and_same", subsumes=True)
table.law("scalar.select_true", call("select", TRUE, x, y), x, holds="ieee", rounding="exact",
          proof="Scalar.select_true", subsumes=True)
table.law("scalar.select_false", call("select", FALSE, x, y), y, holds="ieee", rounding="exact",
          proof="Scalar.select_false", subsumes=True)
table.law("scalar.select_same", call("select", p, x, x), x, holds="ieee", rounding="exact",
          proof="Scalar.select_same", subsumes=True)
table.law("scalar.exp_difference", call("exp", x - y), call("exp", x) * call("exp", -y), holds="finite",
          rounding="algebraic", proof="Scalar.exp_difference", phase="algebraic")

# Found by tang-discover (docs/discover.md). What both operands share drops out, also where it is computed from a whole
# fold; and logarithms and exponentials undo each other. The right sides round no worse and overflow no earlier.
POSITIVE_C, POSITIVE_Y = (fact("positive", v, says=f"{v.name} > 0", positive=(v,)) for v in (c, y))
table.law("scalar.cancel_shift", (x + c) + -(y + c), x + -y, holds="finite", rounding="reassociates",
          proof="Scalar.cancel_shift")
table.law("scalar.cancel_scale", (c * x) * call("recip", c * y), x * call("recip", y), when=POSITIVE_C,
          holds="finite", rounding="rescales", proof="Scalar.cancel_scale")
table.law("scalar.quotient_one", y * call("recip", y), ONE, when=POSITIVE_Y, holds="finite", rounding="rescales",
          proof="Scalar.quotient_one")
table.law("scalar.exp_product", call("exp", x) * call("exp", y), call("exp", x + y), holds="finite",
          rounding="rescales", proof="Scalar.exp_product")
table.law("scalar.log_exp", call("log", call("exp", x)), x, holds="finite", rounding="rescales",
          proof="Scalar.log_exp")
table.law("scalar.log_scaled", call("log", call("exp", x) * y), x + call("log", y), when=POSITIVE_Y, holds="finite",
          rounding="rescales", proof="Scalar.log_scaled")
table.law("scalar.log_recip", call("log", call("recip", y)), -call("log", y), when=POSITIVE_Y, holds="finite",
          rounding="rescales", proof="Scalar.log_recip")

# Asserted by extraction where sums are cut into chunks (extract/chunk.py): the point between is a chunk's first one.
table.seed("scalar.exp_between", "exp(x - y) = exp(x - z)·exp(z - y)", holds="finite", rounding="rescales",
           proof="Scalar.exp_between", formal="forall x y z : R, exp (x - y) = (exp (x - z) * exp (z - y))%R")
