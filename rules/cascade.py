"""The cascade: a fold that needs finished statistics of its own index becomes one pass over it.

Given ⊕_j b where b mentions statistics m that are themselves folds over j, write b = f[h := m], a hole h for each of
them. If the fold of f moves in a known way when the holes shift by δ (`carried`), then partial folds taken at partial
statistics can be carried along while the statistics change, and statistics and fold need one pass together.

How terms move under a shift is computed by closure over +, ·, −, exp, recip, max and select, never by matching a
formula:

    scales(f, a):        f[h + δ] = a · f                  rank one
    moves(f, c):         f[h + δ] = f + c                  affine; c may mention parts of f, so products of any degree
    mixes(f, a, r):      f[h + δ] = a · f + r              both at once
    carried(⊕, j, f, t): ⊕_j f[h + δ] = t                  kept(g) in t stands for ⊕_j g, total(e) for Σ_j e, which is
                                                           taken apart into kept sums of what does not mention δ

Infinite statistics: see tang_egg.monoid; the carry of a partial fold whose statistics mean nothing yet is the identity.
"""

from __future__ import annotations

from tang_egg.rules.law import Condition, Table, fact, free_of
from tang_egg.rules.pattern import ONE, ZERO, Name, Var, cascade, fold, sum_, variables

table = Table("cascade")
b, f, t = variables("b f t")
w = Var("w", "bool")
j, o = Name("j"), Name("o")
ONE_, ZERO_ = ONE.egg(), ZERO.egg()
BASES = ("sum", "max", "min")
"""The folds that can be carried: under "max" and "min" by a shift or a positive factor."""
# Only what depends on the index is taken apart: a class like 0 = x·0 would otherwise be abstracted without end.
MOVES_ON = ("(seek e j)", "(= F (fv e))", "(set-contains F j)")


def fixed(x: str) -> tuple[str, str]:
    """`x` mentions no hole."""
    return f"(= H_{x} (fv {x}))", f'(set-not-contains H_{x} "%h")'


def shifts(c: str) -> str:
    """`c` is not the constant zero."""
    return f"(!= {c} {ZERO_})"


table.relation("seek", "Sc", "String", proposition="a demand: look here for statistics of the index; claims nothing")
table.relation("plain", "Sc", "String", proposition="a demand: computed from folds over the index; claims nothing")
table.relation("statistic", "Sc", "String",
               proposition="the 1st contains a fold over the index and does not depend on it")
table.relation("abstracts", "Sc", "String", "Sc",
               proposition="1st = 3rd with each hole(m) replaced by m, which is a statistic of the index")
table.relation("moving", "Sc", proposition="a demand: find how this moves when h shifts; claims nothing")
table.relation("scales", "Sc", "Sc", proposition="1st[h + δ] = 2nd · 1st")
table.relation("moves", "Sc", "Sc", proposition="1st[h + δ] = 1st + 2nd")
table.relation("mixes", "Sc", "Sc", "Sc", proposition="1st[h + δ] = 2nd · 1st + 3rd")
table.relation("keeps", "String", "Sc", "String",
               proposition="a demand: carry this fold of the 2nd over the index; the 2nd does not mention δ")
table.relation("sums", "Sc", "String", proposition="a demand: sum this over the index; claims nothing")
table.relation("carried", "String", "String", "Sc", "Sc",
               proposition="the 1st's fold of 3rd[h + δ] over the index = 4th, kept(g) and total(g) being folds of g")

# Where statistics stand in the body of a fold.
for _o in BASES:
    table.closure(f"cascade.walk_{_o}", given=(f'(= e (Red "{_o}" j w b))', "(finished b j)"), then=("(seek b j)",),
                  phase="walk", proof=f"Cascade.walk_{_o}")
for _ap, _args in (("Ap1", "x"), ("Ap2", "x y"), ("Ap3", "x y z")):
    table.closure(f"cascade.walk_{_ap}", given=(*MOVES_ON, f"(= e ({_ap} op {_args}))"),
                  then=tuple(f"(seek {v} j)" for v in _args.split()), phase="walk", proof=f"Cascade.walk_{_ap}")
table.closure("cascade.plain_fold", given=("(= e (Red o j w b))", "(clean b j)"), then=("(plain e j)",), phase="walk",
              proof="Cascade.plain_fold")
table.closure("cascade.plain_pass", given=("(= e (Casc o j w f t))",), then=("(plain e j)",), phase="walk",
              proof="Cascade.plain_pass")
table.closure("cascade.plain_one", given=("(= e (Ap1 op x))", "(plain x j)"), then=("(plain e j)",), phase="walk",
              proof="Cascade.plain_one")
table.closure("cascade.plain_left", given=("(= e (Ap2 op x y))", "(plain x j)", "(clean y j)"), then=("(plain e j)",),
              phase="walk", proof="Cascade.plain_left")
table.closure("cascade.plain_right", given=("(= e (Ap2 op x y))", "(plain y j)", "(clean x j)"),
              then=("(plain e j)",), phase="walk", proof="Cascade.plain_right")
table.closure("cascade.plain_both", given=("(= e (Ap2 op x y))", "(plain x j)", "(plain y j)"), then=("(plain e j)",),
              phase="walk", proof="Cascade.plain_both")
table.closure("cascade.statistic",
              given=("(seek e j)", "(= F (fv e))", "(set-not-contains F j)", '(set-not-contains F "%h")',
                     '(set-not-contains F "%d")', "(plain e j)", shifts("e")),
              then=("(statistic e j)", "(abstracts e j (Hole e))"), phase="walk", proof="Cascade.statistic")
table.closure("cascade.abstract_one", given=(*MOVES_ON, "(= e (Ap1 op x))", "(abstracts x j f)"),
              then=("(abstracts e j (Ap1 op f))",), phase="walk", proof="Cascade.abstract_one")
for _name, _of, _to in (
    ("left", ("(abstracts x j f)", "(clean y j)"), "f y"),
    ("right", ("(clean x j)", "(abstracts y j g)"), "x g"),
    ("both", ("(abstracts x j f)", "(abstracts y j g)"), "f g"),
):
    table.closure(f"cascade.abstract_{_name}", given=(*MOVES_ON, "(= e (Ap2 op x y))", *_of),
                  then=(f"(abstracts e j (Ap2 op {_to}))",), phase="walk", proof=f"Cascade.abstract_{_name}")
    table.closure(f"cascade.abstract_select_{_name}",
                  given=(*MOVES_ON, '(= e (Ap3 "select" c x y))', "(clean c j)", *_of),
                  then=(f'(abstracts e j (Ap3 "select" c {_to}))',), phase="walk",
                  proof=f"Cascade.abstract_select_{_name}")

# How the abstracted body moves.
for _ap, _args in (("Ap1", "x"), ("Ap2", "x y"), ("Ap3", "c x y")):
    table.closure(f"cascade.moving_{_ap}", given=("(moving f)", f"(= f ({_ap} op {_args}))", "(= H_f (fv f))",
                                                  '(set-contains H_f "%h")'),
                  then=tuple(f"(moving {v})" for v in _args.split()), phase="carry", proof=f"Cascade.moving_{_ap}")
table.closure("cascade.fixed", given=("(moving f)", *fixed("f")), then=(f"(scales f {ONE_})", f"(moves f {ZERO_})"),
              phase="carry", proof="Cascade.fixed")
table.closure("cascade.hole", given=("(moving f)", "(= f (Hole m))"), then=("(moves f (Delta m))",), phase="carry",
              proof="Cascade.hole")


# What does not move is not taken apart either: 0 = x·0 would scale by ever more products.
MOVING = ("(moving f)", "(= H_f (fv f))", '(set-contains H_f "%h")')


def product(name: str, left: tuple[str, ...], right: tuple[str, ...], then: str) -> None:
    """How x·y moves, given how its factors do."""
    table.closure(f"cascade.{name}", given=(*MOVING, '(= f (Ap2 "mul" x y))', *left, *right), then=(then,),
                  phase="carry", proof=f"Cascade.{name}")


def times(*factors: str) -> str:
    """A product as an egglog term."""
    return factors[0] if len(factors) == 1 else f'(Ap2 "mul" {factors[0]} {times(*factors[1:])})'


def plus(*terms: str) -> str:
    """A sum as an egglog term."""
    return terms[0] if len(terms) == 1 else f'(Ap2 "add" {terms[0]} {plus(*terms[1:])})'


def chosen(x: str) -> str:
    """`x` where p holds, else 0, as an egglog term."""
    return f'(Ap3 "select" p {x} {ZERO_})'


MOVES_X, MOVES_Y = ("(moves x c)", shifts("c")), ("(moves y d)", shifts("d"))
SCALES_X, SCALES_Y = ("(scales x a)", f"(!= a {ONE_})"), ("(scales y b)", f"(!= b {ONE_})")
product("scales_product", ("(scales x a)",), ("(scales y b)",), f"(scales f {times('a', 'b')})")
product("moves_product_left", MOVES_X, fixed("y"), f"(moves f {times('c', 'y')})")
product("moves_product_right", fixed("x"), MOVES_Y, f"(moves f {times('x', 'd')})")
product("moves_product", MOVES_X, MOVES_Y, f"(moves f {plus(times('c', 'y'), times('x', 'd'), times('c', 'd'))})")
product("mixes_scaled_moved", SCALES_X, MOVES_Y, f"(mixes f a {times('a', 'd', 'x')})")
product("mixes_moved_scaled", MOVES_X, SCALES_Y, f"(mixes f b {times('b', 'c', 'y')})")
product("mixes_left", ("(mixes x a r)",), ("(scales y b)",), f"(mixes f {times('a', 'b')} {times('b', 'r', 'y')})")
product("mixes_right", ("(scales x a)",), ("(mixes y b r)",), f"(mixes f {times('a', 'b')} {times('a', 'r', 'x')})")
product("mixes_moved_left", ("(mixes x a r)",), MOVES_Y,
        f"(mixes f a {plus(times('a', 'd', 'x'), times('r', 'y'), times('r', 'd'))})")
product("mixes_moved_right", MOVES_X, ("(mixes y b r)",),
        f"(mixes f b {plus(times('b', 'c', 'y'), times('r', 'x'), times('r', 'c'))})")
for _name, _term, _given, _then in (
    ("moves_sum", '(Ap2 "add" x y)', (*MOVES_X, *MOVES_Y), f"(moves f {plus('c', 'd')})"),
    ("moves_sum_left", '(Ap2 "add" x y)', (*MOVES_X, *fixed("y")), "(moves f c)"),
    ("moves_sum_right", '(Ap2 "add" x y)', (*fixed("x"), *MOVES_Y), "(moves f d)"),
    ("moves_max", '(Ap2 "max" x y)', ("(moves x c)", "(moves y c)"), "(moves f c)"),
    ("moves_min", '(Ap2 "min" x y)', ("(moves x c)", "(moves y c)"), "(moves f c)"),
    ("moves_negated", '(Ap1 "neg" x)', MOVES_X, '(moves f (Ap1 "neg" c))'),
    ("moves_select", '(Ap3 "select" p x y)', (*fixed("p"), "(moves x c)", "(moves y d)"),
     '(moves f (Ap3 "select" p c d))'),
    ("scales_sum", '(Ap2 "add" x y)', ("(scales x a)", "(scales y a)"), "(scales f a)"),
    ("scales_negated", '(Ap1 "neg" x)', ("(scales x a)",), "(scales f a)"),
    ("scales_exp", '(Ap1 "exp" x)', ("(moves x c)",), '(scales f (Ap1 "exp" c))'),
    ("scales_recip", '(Ap1 "recip" x)', ("(scales x a)",), '(scales f (Ap1 "recip" a))'),
    ("scales_select", f'(Ap3 "select" p x {ZERO_})', (*fixed("p"), "(scales x a)"), "(scales f a)"),
    ("mixes_negated", '(Ap1 "neg" x)', ("(mixes x a r)",), '(mixes f a (Ap1 "neg" r))'),
):
    table.closure(f"cascade.{_name}", given=(*MOVING, f"(= f {_term})", *_given), then=(_then,), phase="carry",
                  proof=f"Cascade.{_name}")
table.closure("cascade.finite_shift", given=("(= e (Delta m))",), then=("(finite e)",), phase="analysis",
              proof="Cascade.finite_shift")

# How its fold moves.
FREE = ("(= F (fv a))", "(set-not-contains F j)")
for _o in BASES:
    table.closure(f"cascade.keep_body_{_o}", given=(f'(= e (Red "{_o}" j w b))', "(abstracts b j f)"),
                  then=(f'(keeps "{_o}" f j)',), phase="carry", proof=f"Cascade.keep_body_{_o}")
table.closure("cascade.keeps", given=("(keeps o f j)",), then=("(moving f)",), phase="carry", proof="Cascade.keeps")
table.closure("cascade.carried_scaled", given=('(keeps "sum" f j)', "(scales f a)", *FREE),
              then=(f'(carried "sum" j f {times("a", "(Keep f)")})',), phase="carry", proof="Cascade.carried_scaled")
table.closure("cascade.carried_moved", given=('(keeps "sum" f j)', "(moves f c)", shifts("c")),
              then=("(sums c j)", f'(carried "sum" j f {plus("(Keep f)", "(Total c j)")})'), phase="carry",
              proof="Cascade.carried_moved")
table.closure("cascade.carried_mixed", given=('(keeps "sum" f j)', "(mixes f a r)", *FREE),
              then=("(sums r j)", f'(carried "sum" j f {plus(times("a", "(Keep f)"), "(Total r j)")})'), phase="carry",
              proof="Cascade.carried_mixed")
for _o in BASES[1:]:
    table.closure(f"cascade.carried_{_o}_moved", given=(f'(keeps "{_o}" f j)', "(moves f a)", shifts("a"), *FREE),
                  then=(f'(carried "{_o}" j f {plus("a", "(Keep f)")})',), phase="carry",
                  proof=f"Cascade.carried_{_o}_moved")
    table.closure(f"cascade.carried_{_o}_scaled", given=(f'(keeps "{_o}" f j)', "(scales f a)", "(positive a)", *FREE),
                  then=(f'(carried "{_o}" j f {times("a", "(Keep f)")})',), phase="carry",
                  proof=f"Cascade.carried_{_o}_scaled")

# Sums of what a shift adds: linear in terms that do not mention δ.
ON = ("(sums e j)", "(= F (fv e))", "(set-contains F j)")
table.closure("cascade.want_sum", given=("(sums e j)",), then=("(want e j)",), phase="carry", proof="Cascade.want_sum")
table.closure("cascade.total_split", given=("(sums e j)", "(split e j x y)", "(= Y (fv y))",
                                            '(set-not-contains Y "%d")'),
              then=(f"(union (Total e j) {times('x', '(Keep y)')})", '(keeps "sum" y j)'), phase="carry",
              proof="Cascade.total_split")
table.closure("cascade.total_add", given=(*ON, '(= e (Ap2 "add" x y))'),
              then=("(sums x j)", "(sums y j)", f"(union (Total e j) {plus('(Total x j)', '(Total y j)')})"),
              phase="carry", proof="Cascade.total_add")
table.closure("cascade.total_negated", given=(*ON, '(= e (Ap1 "neg" x))'),
              then=("(sums x j)", '(union (Total e j) (Ap1 "neg" (Total x j)))'), phase="carry",
              proof="Cascade.total_negated")
# Terms that a condition selects: what is added to them is under the same condition.
KEPT, PARTS = f"(Keep {chosen('y')})", tuple(f"(Total {chosen(v)} j)" for v in "xy")
SELECTED = ("(sums e j)", f'(= e (Ap3 "select" p c {ZERO_}))')
table.closure("cascade.want_selected", given=SELECTED, then=("(want c j)",), phase="carry",
              proof="Cascade.want_selected")
table.closure("cascade.total_selected", given=(*SELECTED, "(split c j x y)", "(= Y (fv y))",
                                               '(set-not-contains Y "%d")', "(= P (fv p))",
                                               '(set-not-contains P "%d")'),
              then=(f"(union (Total e j) {times('x', KEPT)})", f'(keeps "sum" {chosen("y")} j)'),
              phase="carry", proof="Cascade.total_selected")
table.closure("cascade.total_selected_add", given=(*SELECTED, '(= c (Ap2 "add" x y))'),
              then=(*(f"(sums {chosen(v)} j)" for v in "xy"), f"(union (Total e j) {plus(*PARTS)})"),
              phase="carry", proof="Cascade.total_selected_add")
# A product with a sum that mentions δ is taken apart where its sum over the index is asked for, and only there.
c, y = variables("c y")
table.law("cascade.distribute", (b + c) * y, b * y + c * y,
          when=Condition(("(sums e__ j)", "(= BC (set-union (fv b) (fv c)))", '(set-contains BC "%d")',
                          "(set-contains BC j)"), "its sum is asked for, and b + c depends on δ and the index"),
          holds="finite", rounding="algebraic", proof="Cascade.distribute", phase="carry")

# A factor that is known only after the fold keeps a sum from being folded in one pass, unless it is hoisted: where one
# of two summands has such a factor, their sum is folded in two. What it is multiplied with depends on the index,
# so the product is rounded at each point as it stands: no digit is lost that the whole sum keeps.
table.relation("spreading", "Sc", "String", proposition="a demand: look for sums to take apart; claims nothing")
table.relation("spreads", "Sc", "String", "Sc", "Sc", proposition="1st = 3rd + 4th")
table.closure("cascade.want_spread", given=('(= e (Red "sum" j w b))', "(finished b j)"), then=("(spreading b j)",),
              phase="hoist", proof="Cascade.want_spread")
table.closure("cascade.spreading_product", given=("(spreading e j)", '(= e (Ap2 "mul" x y))'),
              then=("(spreading x j)", "(spreading y j)"), phase="hoist", proof="Cascade.spreading_product")
table.closure("cascade.spreading_negated", given=("(spreading e j)", '(= e (Ap1 "neg" x))'), then=("(spreading x j)",),
              phase="hoist", proof="Cascade.spreading_negated")
for _name, _late, _other in (("left", "x", "y"), ("right", "y", "x")):
    _sum = ("(spreading e j)", '(= e (Ap2 "add" x y))', f"(finished {_late} j)")
    table.closure(f"cascade.want_{_name}", given=_sum, then=(f"(want {_late} j)",), phase="hoist",
                  proof=f"Cascade.want_{_name}")
    table.closure(f"cascade.spread_{_name}", given=(*_sum, f"(split {_late} j f u)", f"(!= f {ONE_})", "(finished f j)",
                                                    "(= U (fv u))", "(set-contains U j)"),
                  then=(f"(spreads e j {_late} {_other})",), phase="hoist", proof=f"Cascade.spread_{_name}")
    table.closure(f"cascade.spread_product_{_name}",
                  given=("(spreading e j)", '(= e (Ap2 "mul" x y))', f"(spreads {_late} j p q)"),
                  then=(f"(spreads e j {times('p', _other)} {times('q', _other)})",), phase="hoist",
                  proof=f"Cascade.spread_product_{_name}")
table.closure("cascade.spread_negated", given=("(spreading e j)", '(= e (Ap1 "neg" x))', "(spreads x j p q)"),
              then=('(spreads e j (Ap1 "neg" p) (Ap1 "neg" q))',), phase="hoist", proof="Cascade.spread_negated")
p, q = variables("p q")
table.law(
    "cascade.spread", sum_(j, w, b), sum_(j, w, p) + sum_(j, w, q),
    when=fact("spreads", b, j, p, q, says="b = p + q, p with a factor that waits for j", defines=((b, p + q),)),
    holds="finite", rounding="rescales", proof="Cascade.spread", phase="hoist",
)
table.law(
    "cascade.pass", fold(o, j, w, b), cascade(o, j, w, f, t),
    when=(fact("abstracts", b, j, f, says="b = f[h := m], each m a statistic of j"),
          fact("carried", o, j, f, t, says="t carries the fold of f"), free_of(t, j)),
    holds="finite", rounding="rescales", proof="Cascade.pass", phase="cascade",
)
