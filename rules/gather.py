"""Gathers and segments: a fold that compares its index with data reads the one point, or the range, that is meant.

`At(j, c, x)` is x at j := c, a scalar in the place of an index. The comparison may stand anywhere in a conjunction;
`point(w, j, c, r)` takes it out. What lies outside the index is the identity, so a guard keeps the range of c:

    fold[j](x, where=(j = c) ∧ r) = select(0 ≤ c < |j| ∧ r[j := c], x[j := c], identity)

Keys that do not decrease meet a value in one range of positions, whose ends are counts.
"""

from __future__ import annotations

from tang_egg.rules.law import Condition, Table, differ, fact, free_of
from tang_egg.rules.pattern import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Name,
    Node,
    Var,
    at,
    call,
    fold,
    gathered,
    integer,
    leaf,
    sum_,
    variables,
)

table = Table("gather")
x, y, z, b, e, p_, q_ = variables("x y z b e p q")
w, r, q, v = variables("w r q v", "bool")
c, d, n, p = variables("c d n p", "i64")
key, other, value = Var("key", "ascending"), Var("other", "i64"), Var("value", "i64")
i, j, k, m, op = Name("i"), Name("j"), Name("k"), Name("m"), Name("op")
leaf_key, gather_key, values = Name("l"), Name("g"), Name("values")
EQ, LT, LE = Name("eq"), Name("lt"), Name("le")
TRUE_ = TRUE.egg()

table.relation("position", "Sc", "String", proposition="the 1st is the position along the index")
table.relation("shifted", "Sc", "String", "Sc", proposition="the 1st plus the 3rd is the position along the index")
table.relation("points", "String", "Sc", proposition="the 2nd is the number of points of the index, an integer")
table.relation("opposite", "Sc", "Sc", "String", "Sc", proposition="the 1st and the 2nd hold just where index = 4th")
table.relation("within", "String", "Sc", proposition="the 2nd is a position along the index, wherever it is evaluated")
table.relation("reads", "String", "String", "String",
               proposition="the read of the 1st key with a value in the place of the index is the gather of the 3rd")
table.relation("ascending", "Sc", "String", "Sc", "String",
               proposition="the 1st does not decrease along the index and is over it what the 3rd is over the 4th")
table.relation("compares", "String", "String", "String", proposition="equal, less, less or equal of one integer type")
table.relation("sift", "Sc", "String",
               proposition="a demand: take comparisons with the index out of this conjunction; claims nothing")
table.relation("matches", "Sc", "String", "Sc", proposition="the 1st holds just where the index is 3rd, free of it")
table.relation("half", "Sc", "String", "Sc", "Sc", proposition="1st = 3rd ∧ 4th")
table.relation("point", "Sc", "String", "Sc", "Sc", proposition="1st = (index = 3rd) ∧ 4th, the 3rd free of the index")
table.relation("apart", "Sc", "String", "Sc", "Sc", proposition="1st = 3rd ∧ 4th, the 3rd free of the index")
table.relation("hunt", "Sc", "String", proposition="a demand: look here for sums with points; claims nothing")
table.relation("pins", "Sc", "String", proposition="the 1st is false except at one position of the index at most")
table.relation("hot", "Sc", "String", proposition="a demand: terms that are 0 but at points are summed; claims nothing")
table.relation("scattered", "Sc", "String", "String", "Sc", "Sc",
               proposition="1st = Σ 5th over the 3rd, an index, on the domain 4th, which holds at points of the 2nd")

# Which comparisons fix a position.
for _side, _args in (("left", "p c"), ("right", "c p")):
    table.closure(f"gather.match_{_side}", given=(f'(= q (Ap2 "eq:i64" {_args}))', "(position p j)", "(= F (fv c))",
                                                  "(set-not-contains F j)"),
                  then=("(matches q j c)",), phase="analysis", proof=f"Gather.match_{_side}")
    table.closure(f"gather.match_shifted_{_side}",
                  given=(f'(= q (Ap2 "eq:i64" {_args}))', "(shifted p j d)", "(= F (fv c))", "(set-not-contains F j)"),
                  then=('(matches q j (Ap2 "add:i64" c d))',), phase="analysis", proof=f"Gather.match_shifted_{_side}")

# Conjunctions of domains, one conjunct taken out.
table.closure("gather.sift_fold", given=("(= e (Red m j w b))",), then=("(sift w j)",), phase="analysis",
              proof="Gather.sift_fold")
table.closure("gather.sift_and", given=("(sift w j)", '(= w (Ap2 "and" x y))'), then=("(sift x j)", "(sift y j)"),
              phase="analysis", proof="Gather.sift_and")
table.closure("gather.point_here", given=("(sift q j)", "(matches q j c)"), then=(f"(point q j c {TRUE_})",),
              phase="analysis", proof="Gather.point_here")
table.closure("gather.half_here", given=("(sift q j)", "(opposite q o j c)"), then=(f"(half q j q {TRUE_})",),
              phase="analysis", proof="Gather.half_here")
table.closure("gather.half_sift", given=("(half w j q r)",), then=("(sift r j)",), phase="analysis",
              proof="Gather.half_sift")
table.closure("gather.point_halves", given=("(half w j q r)", "(opposite q o j c)", "(half r j o s)"),
              then=("(point w j c s)",), phase="analysis", proof="Gather.point_halves")
table.closure("gather.apart_here", given=("(sift q j)", "(matches q i c)", "(!= i j)", "(= F (fv q))",
                                          "(set-not-contains F j)"),
              then=(f"(apart q j q {TRUE_})",), phase="analysis", proof="Gather.apart_here")
for _side, _first, _second in (("left", "x", "y"), ("right", "y", "x")):
    for _relation, _value in (("point", "c"), ("half", "q"), ("apart", "q")):
        table.closure(
            f"gather.{_relation}_{_side}",
            given=("(sift w j)", '(= w (Ap2 "and" x y))', f"({_relation} {_first} j {_value} r)"),
            then=(f'({_relation} w j {_value} (Ap2 "and" r {_second}))',), phase="analysis",
            proof=f"Gather.{_relation}_{_side}",
        )  # fmt: skip


def _point() -> Condition:
    return fact("point", w, j, c, r, says="w = (j = c) ∧ r with c free of j",
                defines=((w, call("eq", Node("Position", (j,)), c) & r),), absent=((c, j),))


NEUTRAL = fact("neutral", m, e, says="e is the identity of m", defines=((e, ZERO),), fixes=((m, "sum"),))
POINTS = fact("points", j, n, says="n is the size of j", defines=((n, Node("Size", (j,))),))
# At c lies what is read only where c is in range, so what is left of the domain is asked there only.
IN_RANGE = call("le:i64", integer(0), c) & call("lt:i64", c, n)
LEFT = call("select:bool", IN_RANGE, at(j, c, r), FALSE)
table.law("gather.point", fold(m, j, w, b), call("select", LEFT, at(j, c, b), e), when=(_point(), POINTS, NEUTRAL),
          holds="ieee", rounding="exact", proof="Gather.point")
WITHIN = fact("within", j, c, says="c is a position along j", defines=((c, Node("Inside", (j,))),))
table.law("gather.point_within", fold(m, j, w, b), call("select", at(j, c, r), at(j, c, b), e),
          when=(_point(), WITHIN, NEUTRAL), holds="ieee", rounding="exact", proof="Gather.point_within")
table.law("gather.exists", fold("any", j, w, TRUE), LEFT, when=(_point(), POINTS), holds="ieee", rounding="exact",
          proof="Gather.exists_point")
table.law("gather.only_range", call("select:bool", q, TRUE, FALSE), q, holds="ieee", rounding="exact",
          proof="Gather.only_range", subsumes=True)
table.law("gather.outward", fold(m, k, w, b), call("select", q, fold(m, k, r, b), e),
          when=(fact("apart", w, k, q, r, says="w = q ∧ r with q free of k", defines=((w, q & r),), absent=((q, k),)),
                NEUTRAL),
          holds="ieee", rounding="exact", proof="Gather.outward")

# A value in the place of an index: through maps and folds, into reads.
table.law("gather.absent", at(j, c, x), x, when=free_of(x, j), holds="ieee", rounding="exact", proof="Gather.absent",
          phase="views", subsumes=True)
table.law("gather.map", at(j, c, call(op, x)), call(op, at(j, c, x)), holds="ieee", rounding="exact",
          proof="Gather.map", phase="views")
table.law("gather.map_two", at(j, c, call(op, x, y)), call(op, at(j, c, x), at(j, c, y)), holds="ieee",
          rounding="exact", proof="Gather.map_two", phase="views")
table.law("gather.map_three", at(j, c, call(op, x, y, z)), call(op, at(j, c, x), at(j, c, y), at(j, c, z)),
          holds="ieee", rounding="exact", proof="Gather.map_three", phase="views")
table.law("gather.fold", at(j, c, fold(m, i, w, x)), fold(m, i, at(j, c, w), at(j, c, x)),
          when=(differ(i, j), free_of(c, i)), holds="ieee", rounding="exact", proof="Gather.fold", phase="views")
table.law("gather.position", at(j, c, p), c,
          when=fact("position", p, j, says="p is the position along j", defines=((p, Node("Position", (j,))),)),
          holds="ieee", rounding="exact", proof="Gather.position", phase="views")
table.law("gather.read", at(j, c, leaf(leaf_key)), gathered(gather_key, c),
          when=fact("reads", leaf_key, j, gather_key, says="g reads at a value what l reads at j"),
          holds="ieee", rounding="exact", proof="Gather.read", phase="views")
_ONE_VALUE = ("(only_gathered g j)", "(= 1 (vec-length values))", "(= d (vec-get values 0))")
table.law("gather.gather", at(j, c, Node("Gather", (gather_key, values))), gathered(gather_key, at(j, c, d)),
          when=Condition(_ONE_VALUE, "g mentions j in its one value d only"),
          holds="ieee", rounding="exact", proof="Gather.gather", phase="views")
table.relation("only_gathered", "String", "String",
               proposition="the affine coordinates of the gather do not mention the index")

# Sums with points inside products and sums of their own.
table.law("gather.indicator", call("cast:real:bool", q), call("select", q, ONE, ZERO), holds="ieee", rounding="exact",
          proof="Gather.indicator")
table.closure("gather.hunt_sum", given=('(= e (Red "sum" j w b))',), then=("(hunt b j)",), phase="analysis",
              proof="Gather.hunt_sum")
for _op in ("mul", "add"):
    table.closure(f"gather.hunt_{_op}", given=("(hunt b j)", f'(= b (Ap2 "{_op}" x y))'),
                  then=("(hunt x j)", "(hunt y j)"), phase="analysis", proof=f"Gather.hunt_{_op}")
table.closure("gather.hunt_select", given=("(hunt b j)", f'(= b (Ap3 "select" w x {ZERO.egg()}))'),
              then=("(sift w j)",), phase="analysis", proof="Gather.hunt_select")
table.closure("gather.pins_here", given=("(matches q j c)",), then=("(pins q j)",), phase="analysis",
              proof="Gather.pins_here")
table.closure("gather.pins_left", given=('(= w (Ap2 "and" x y))', "(pins x j)"), then=("(pins w j)",), phase="analysis",
              proof="Gather.pins_left")
table.closure("gather.pins_right", given=('(= w (Ap2 "and" x y))', "(pins y j)"), then=("(pins w j)",),
              phase="analysis", proof="Gather.pins_right")
table.closure("gather.hot_select", given=("(hunt b j)", f'(= b (Ap3 "select" w x {ZERO.egg()}))', "(pins w j)"),
              then=("(hot b j)",), phase="analysis", proof="Gather.hot_select")
table.closure("gather.hot_product_left", given=("(hunt b j)", '(= b (Ap2 "mul" x y))', "(hot x j)"),
              then=("(hot b j)",), phase="analysis", proof="Gather.hot_product_left")
table.closure("gather.hot_product_right", given=("(hunt b j)", '(= b (Ap2 "mul" x y))', "(hot y j)"),
              then=("(hot b j)",), phase="analysis", proof="Gather.hot_product_right")
table.closure("gather.hot_sum", given=("(hunt b j)", '(= b (Ap2 "add" x y))', "(hot x j)", "(hot y j)"),
              then=("(hot b j)",), phase="analysis", proof="Gather.hot_sum")
HOT = (fact("hot", x, j, says="x and y are 0 but at points of j"), fact("hot", y, j, says="likewise"))
table.law("gather.linear", sum_(j, w, x + y), sum_(j, w, x) + sum_(j, w, y), when=HOT, holds="finite",
          rounding="reassociates", proof="Gather.linear")
table.law("gather.spread", (x + y) * z, x * z + y * z, when=HOT, holds="finite", rounding="rescales",
          proof="Gather.spread")
table.closure("gather.scattered_here", given=("(hunt b j)", '(= b (Red "sum" i v x))', "(!= i j)", "(pins v j)"),
              then=("(scattered b j i v x)",), phase="analysis", proof="Gather.scattered_here")
for _side, _first, _second in (("left", "x", "y"), ("right", "y", "x")):
    table.closure(
        f"gather.scattered_{_side}",
        given=("(hunt b j)", '(= b (Ap2 "mul" x y))', f"(scattered {_first} j i v f)", f"(= F (fv {_second}))",
               "(set-not-contains F i)"),
        then=(f'(scattered b j i v (Ap2 "mul" f {_second}))',), phase="analysis", proof=f"Gather.scattered_{_side}",
    )  # fmt: skip
table.law("gather.exchange", sum_(j, w, b), sum_(i, TRUE, sum_(j, w & v, x)),
          when=(fact("scattered", b, j, i, v, x, says="b = Σ x over i where v, at points of j",
                     defines=((b, sum_(i, v, x)),)), free_of(w, i)),
          holds="finite", rounding="rescales", proof="Gather.exchange")

# Keys that do not decrease.
table.closure("gather.ascending_cast", given=("(ascending x j o i)", "(= y (Ap1 f x))", "(widens f)"),
              then=("(ascending y j (Ap1 f o) i)",), phase="analysis", proof="Gather.ascending_cast")
table.relation("widens", "String", proposition="the operation of that name keeps the order of integers")


def _count(comparison: Name) -> Node:
    """How many keys there are for which the comparison with the value holds.

    They are counted over an index of their own: a fold over j would have to wait for one over j.
    """
    return fold("sum:i64", i, call(comparison, other, value), integer(1))


SORTED = (
    fact("sift", call(EQ, key, value), j, says="over j"),
    fact("compares", EQ, LT, LE, says="of one type", fixes=((EQ, "eq"), (LT, "lt"), (LE, "le"))),
    fact("ascending", key, j, other, i, says="key does not decrease along j; other is the same over i",
         defines=((other, at(j, Node("Position", (i,)), key)),)),
    fact("position", p, j, says="p is the position along j", defines=((p, Node("Position", (j,))),)),
    free_of(value, j, i),
)
RANGE = call("le:i64", _count(LT), p) & call("lt:i64", p, _count(LE))
table.law("gather.segment", call(EQ, key, value), RANGE, when=SORTED, holds="ieee", rounding="exact",
          proof="Gather.segment", subsumes=True)
table.law("gather.segment_turned", call(EQ, value, key), RANGE,
          when=(fact("sift", call(EQ, value, key), j, says="over j"), *SORTED[1:]), holds="ieee", rounding="exact",
          proof="Gather.segment_turned", subsumes=True)
