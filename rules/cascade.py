"""The cascade: a fold that needs a finished statistic of its own index becomes one pass over it.

Given Σ_j b where b mentions a statistic m that is itself a fold over j, write b = f[h := m]. If the sum of f moves in a
known way when h shifts by δ (`carried`), then partial sums taken at a partial statistic can be carried along while the
statistic changes, and statistic and sum need one pass together.

How terms move under a shift is computed by closure over +, ·, −, exp, select and max, never by matching a formula:

    scales(f, a):     f[h + δ] = a · f             rank one
    moves(f, c):      f[h + δ] = f + c             affine
    carried(j, f, t): Σ_j f[h + δ] = t, where kept(g) in t stands for Σ_j g

Infinite statistics: see tang_egg.monoid; the carry of a partial sum whose statistic means nothing yet is the identity.
"""

from __future__ import annotations

from tang_egg.rules.law import Table, fact, free_of
from tang_egg.rules.pattern import DELTA, HOLE, ONE, ZERO, Name, Var, cascade, sum_, variables

table = Table("cascade")
b, f, m, t = variables("b f m t")
w = Var("w", "bool")
j = Name("j")
H, D, ONE_, ZERO_ = HOLE.egg(), DELTA.egg(), ONE.egg(), ZERO.egg()
# Only what depends on the index is taken apart: a class like 0 = x·0 would otherwise be abstracted without end.
MOVES_ON = ("(seek e j)", "(= F (fv e))", "(set-contains F j)")
H_FREE = ("(= H_f (fv f))", '(set-not-contains H_f "%h")')

table.relation("seek", "Sc", "String", proposition="a demand: look here for statistics of the index; claims nothing")
table.relation("statistic", "Sc", "String",
               proposition="the 1st contains a fold over the index and does not depend on it")
table.relation("abstracts", "Sc", "String", "Sc", "Sc", proposition="1st = 4th[h := 3rd], a statistic of the index")
table.relation("moving", "Sc", proposition="a demand: find how this moves when h shifts; claims nothing")
table.relation("scales", "Sc", "Sc", proposition="1st[h + δ] = 2nd · 1st")
table.relation("moves", "Sc", "Sc", proposition="1st[h + δ] = 1st + 2nd")
table.relation("carried", "String", "Sc", "Sc", proposition="Σ 2nd[h + δ] over the index = 3rd, kept(g) meaning Σ g")

# Where a statistic stands in the body of a sum.
table.closure("cascade.walk", given=('(= e (Red "sum" j w b))', "(finished b j)"), then=("(seek b j)",), phase="walk",
              proof="Cascade.walk")
for _ap, _args in (("Ap1", "x"), ("Ap2", "x y"), ("Ap3", "x y z")):
    table.closure(f"cascade.walk_{_ap}", given=("(seek e j)", f"(= e ({_ap} op {_args}))", "(= F (fv e))",
                                                "(set-contains F j)"),
                  then=tuple(f"(seek {v} j)" for v in _args.split()), phase="walk", proof=f"Cascade.walk_{_ap}")
table.closure("cascade.statistic",
              given=("(seek e j)", "(= F (fv e))", "(set-not-contains F j)", "(finished e j)", f"(!= e {ZERO_})"),
              then=("(statistic e j)", f"(abstracts e j e {H})"), phase="walk", proof="Cascade.statistic")
table.closure("cascade.abstract_one", given=(*MOVES_ON, "(= e (Ap1 op x))", "(abstracts x j m f)"),
              then=("(abstracts e j m (Ap1 op f))",), phase="walk", proof="Cascade.abstract_one")
table.closure("cascade.abstract_left",
              given=(*MOVES_ON, "(= e (Ap2 op x y))", "(abstracts x j m f)", "(clean y j)"),
              then=("(abstracts e j m (Ap2 op f y))",), phase="walk", proof="Cascade.abstract_left")
table.closure("cascade.abstract_right",
              given=(*MOVES_ON, "(= e (Ap2 op x y))", "(abstracts y j m f)", "(clean x j)"),
              then=("(abstracts e j m (Ap2 op x f))",), phase="walk", proof="Cascade.abstract_right")
table.closure("cascade.abstract_both",
              given=(*MOVES_ON, "(= e (Ap2 op x y))", "(abstracts x j m f)", "(abstracts y j m g)"),
              then=("(abstracts e j m (Ap2 op f g))",), phase="walk", proof="Cascade.abstract_both")
table.closure("cascade.abstract_select",
              given=(*MOVES_ON, '(= e (Ap3 "select" x y z))', "(abstracts y j m f)", "(clean x j)", "(clean z j)"),
              then=('(abstracts e j m (Ap3 "select" x f z))',), phase="walk", proof="Cascade.abstract_select")

# How the abstracted body moves.
table.closure("cascade.moving", given=('(= e (Red "sum" j w b))', "(abstracts b j m f)"), then=("(moving f)",),
              phase="carry", proof="Cascade.moving")
for _ap, _args in (("Ap1", "x"), ("Ap2", "x y"), ("Ap3", "c x y")):
    table.closure(f"cascade.moving_{_ap}", given=("(moving f)", f"(= f ({_ap} op {_args}))", "(= H_f (fv f))",
                                                  '(set-contains H_f "%h")'),
                  then=tuple(f"(moving {v})" for v in _args.split()), phase="carry", proof=f"Cascade.moving_{_ap}")
table.closure("cascade.fixed", given=("(moving f)", *H_FREE), then=(f"(scales f {ONE_})", f"(moves f {ZERO_})"),
              phase="carry", proof="Cascade.fixed")
table.closure("cascade.hole", given=(f"(moving {H})",), then=(f"(moves {H} {D})",), phase="carry", proof="Cascade.hole")
table.closure("cascade.scales_product", given=("(moving f)", '(= f (Ap2 "mul" x y))', "(scales x a)", "(scales y b)"),
              then=('(scales f (Ap2 "mul" a b))',), phase="carry", proof="Cascade.scales_product")
table.closure("cascade.moves_product_left",
              given=("(moving f)", '(= f (Ap2 "mul" x y))', "(moves x c)", "(= H_y (fv y))",
                     '(set-not-contains H_y "%h")', f"(!= c {ZERO_})"),
              then=('(moves f (Ap2 "mul" c y))',), phase="carry", proof="Cascade.moves_product_left")
table.closure("cascade.moves_product_right",
              given=("(moving f)", '(= f (Ap2 "mul" x y))', "(moves y c)", "(= H_x (fv x))",
                     '(set-not-contains H_x "%h")', f"(!= c {ZERO_})"),
              then=('(moves f (Ap2 "mul" x c))',), phase="carry", proof="Cascade.moves_product_right")
table.closure("cascade.moves_sum", given=("(moving f)", '(= f (Ap2 "add" x y))', "(moves x c)", "(moves y d)"),
              then=('(moves f (Ap2 "add" c d))',), phase="carry", proof="Cascade.moves_sum")
table.closure("cascade.moves_max", given=("(moving f)", '(= f (Ap2 "max" x y))', "(moves x c)", "(moves y c)"),
              then=("(moves f c)",), phase="carry", proof="Cascade.moves_max")
table.closure("cascade.moves_negated", given=("(moving f)", '(= f (Ap1 "neg" x))', "(moves x c)"),
              then=('(moves f (Ap1 "neg" c))',), phase="carry", proof="Cascade.moves_negated")
table.closure("cascade.scales_negated", given=("(moving f)", '(= f (Ap1 "neg" x))', "(scales x a)"),
              then=("(scales f a)",), phase="carry", proof="Cascade.scales_negated")
table.closure("cascade.scales_exp", given=("(moving f)", '(= f (Ap1 "exp" x))', "(moves x c)"),
              then=('(scales f (Ap1 "exp" c))',), phase="carry", proof="Cascade.scales_exp")
table.closure("cascade.scales_recip", given=("(moving f)", '(= f (Ap1 "recip" x))', "(scales x a)"),
              then=('(scales f (Ap1 "recip" a))',), phase="carry", proof="Cascade.scales_recip")
table.closure("cascade.scales_select", given=("(moving f)", f'(= f (Ap3 "select" c x {ZERO_}))', "(= C (fv c))",
                                                    '(set-not-contains C "%h")', "(scales x a)"),
              then=("(scales f a)",), phase="carry", proof="Cascade.scales_select")

# How its sum moves.
SUM_OF = ('(= e (Red "sum" j w b))', "(abstracts b j m f)")
table.closure("cascade.keeps", given=("(keeps f j)",), then=("(moving f)",), phase="carry", proof="Cascade.keeps")
table.relation("keeps", "Sc", "String", proposition="a demand: carry the sum of this over the index; claims nothing")
table.closure("cascade.keep_body", given=SUM_OF, then=("(keeps f j)",), phase="carry", proof="Cascade.keep_body")
table.closure("cascade.carried_scaled",
              given=("(keeps f j)", "(scales f a)", "(= F (fv a))", "(set-not-contains F j)"),
              then=('(carried j f (Ap2 "mul" a (Keep f)))',), phase="carry", proof="Cascade.carried_scaled")
table.closure("cascade.want_move", given=("(keeps f j)", "(moves f c)", f"(!= c {ZERO_})"), then=("(want c j)",),
              phase="carry", proof="Cascade.want_move")
table.closure("cascade.carried_moved", given=("(keeps f j)", "(moves f c)", f"(!= c {ZERO_})", "(split c j x y)",
                                              "(= Y (fv y))", '(set-not-contains Y "%d")'),
              then=('(carried j f (Ap2 "add" (Keep f) (Ap2 "mul" x (Keep y))))', "(keeps y j)"), phase="carry",
              proof="Cascade.carried_moved")
table.closure(
    "cascade.carried_product",
    given=("(keeps f j)", '(= f (Ap2 "mul" x y))', "(moves x c)", "(moves y d)", f"(!= c {ZERO_})", f"(!= d {ZERO_})",
           "(= C (fv c))", "(set-not-contains C j)", "(= E (fv d))", "(set-not-contains E j)"),
    then=('(carried j f (Ap2 "add" (Keep f) (Ap2 "add" (Ap2 "add" (Ap2 "mul" c (Keep y)) (Ap2 "mul" d (Keep x)))'
          f' (Ap2 "mul" (Ap2 "mul" c d) (Keep {ONE_})))))',
          "(keeps x j)", "(keeps y j)", f"(keeps {ONE_} j)"),
    phase="carry", proof="Cascade.carried_product",
)

table.law(
    "cascade.pass", sum_(j, w, b), cascade(j, w, m, f, t),
    when=(fact("abstracts", b, j, m, f, says="b = f[h := m]"), fact("statistic", m, j, says="m is a statistic of j"),
          fact("carried", j, f, t, says="t carries Σ f"), free_of(t, j)),
    holds="finite", rounding="rescales", proof="Cascade.pass", phase="cascade",
)
