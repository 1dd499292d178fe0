"""Scalars: identities of arithmetic.

Subsuming only where both sides are equal on every IEEE value: x·1, −−x. Not x + 0 (which turns −0 into 0), not x − x.
"""

from __future__ import annotations

from tang_egg.rules.law import Table
from tang_egg.rules.pattern import FALSE, ONE, TRUE, ZERO, Var, call, literal, variables

table = Table("scalar")
x, y = variables("x y")
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
