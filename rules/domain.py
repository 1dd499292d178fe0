"""Domains: a selected identity under a fold is a smaller domain, and selects move outward until a fold meets them."""

from __future__ import annotations

from tang_egg.rules.law import Condition, Table, fact
from tang_egg.rules.pattern import FALSE, TRUE, ZERO, Name, Pattern, call, fold, literal, variables

table = Table("domain")
x, y, e = variables("x y e")
c, w = variables("c w", "bool")
j, m, op = Name("j"), Name("m"), Name("op")
LOWEST = literal(float("-inf"))

table.relation("inhabited", "String", "Sc",
               proposition="whatever the other indices are, some point of the index satisfies the 2nd")
table.relation("doubtful", "String", "Sc", proposition="a demand: the 2nd may hold nowhere; claims nothing")
table.relation("finite", "Sc", proposition="anywhere, on finite inputs, it is finite, unless arithmetic overflows")
table.relation("positive", "Sc", proposition="anywhere, on finite inputs, it is finite and above 0, unless arithmetic"
               " overflows or underflows")
table.relation("neutral", "String", "Sc", proposition="the second is the identity of the monoid that the first names")
for _name, _value in (("sum", ZERO), ("max", LOWEST), ("min", literal(float("inf"))), ("product", literal(1.0)),
                      ("any", FALSE), ("all", TRUE)):
    table.closure(f"domain.neutral_{_name}", given=(f'(= e__ (Red "{_name}" j w x))',),
                  then=(f'(neutral "{_name}" {_value.egg()})',), phase="analysis", proof=f"Domain.neutral_{_name}")


def neutral() -> Condition:
    """e is the identity of m."""
    return fact("neutral", m, e, says="e is the identity of m", defines=((e, ZERO),), fixes=((m, "sum"),))


def when_not(condition: Pattern) -> Pattern:
    return call("not", condition)


table.law("domain.narrow", fold(m, j, w, call("select", c, x, e)), fold(m, j, w & c, x), when=neutral(),
          holds="ieee", rounding="exact", proof="Domain.narrow")
table.law("domain.narrow_not", fold(m, j, w, call("select", c, e, x)), fold(m, j, w & when_not(c), x), when=neutral(),
          holds="ieee", rounding="exact", proof="Domain.narrow_not")
table.law("domain.empty", fold(m, j, FALSE, x), e, when=neutral(), holds="ieee", rounding="exact",
          proof="Domain.empty")
for _n, _inner in enumerate(('(Ap2 "and" w c)', '(Ap2 "and" w (Ap1 "not" c))')):
    _select = ('(Ap3 "select" c x e)', '(Ap3 "select" c e x)')[_n]
    table.closure(f"domain.doubt_{_n}", given=(f"(= s (Red m j w {_select}))", "(neutral m e)"),
                  then=(f"(doubtful j {_inner})",), phase="simplify", proof=f"Domain.doubt_{_n}")

# What stays finite on finite inputs, wherever it is evaluated. Reciprocals, logarithms and folds over perhaps no points
# are left out. Reads are facts of the front end: only those that stay in bounds without the domain they stand in, since
# a factor that leaves its sum leaves that guard as well.
_FINITE = (
    ("literal", '(Lit v "real")', '(!= v "inf") (!= v "-inf") (!= v "nan")'),
    ("sum", '(Red "sum" j w x)', "(finite x)"), ("product", '(Red "product" j w x)', "(finite x)"),
    ("max", '(Red "max" j w x)', "(finite x) (inhabited j w)"),
    ("min", '(Red "min" j w x)', "(finite x) (inhabited j w)"),
    ("select", '(Ap3 "select" c x y)', "(finite x) (finite y)"),
    *((_op, f'(Ap1 "{_op}" x)', "(finite x)") for _op in ("neg", "exp", "sin", "tanh", "erf", "floor")),
    *((f"two_{_op}", f'(Ap2 "{_op}" x y)', "(finite x) (finite y)") for _op in ("add", "mul", "max", "min")),
)
for _name, _term, _when in _FINITE:
    table.closure(f"domain.finite_{_name}", given=(f"(= e {_term})", *((_when,) if _when else ())),
                  then=("(finite e)",), phase="analysis", proof=f"Domain.finite_{_name}")
FINITE = fact("finite", y, says="y is finite")

# What stays above 0, and so does its reciprocal.
_POSITIVE = (
    ("one", '(Lit "1.0" "real")', ""), ("exp", '(Ap1 "exp" x)', "(finite x)"),
    *((_op, f'(Ap1 "{_op}" x)', "(positive x)") for _op in ("recip", "sqrt")),
    *((f"two_{_op}", f'(Ap2 "{_op}" x y)', "(positive x) (positive y)") for _op in ("add", "mul", "max", "min")),
    ("select", '(Ap3 "select" c x y)', "(positive x) (positive y)"),
    *((_op, f'(Red "{_op}" j w x)', "(positive x) (inhabited j w)") for _op in ("sum", "max", "min")),
    ("product", '(Red "product" j w x)', "(positive x)"),
)
for _name, _term, _when in _POSITIVE:
    table.closure(f"domain.positive_{_name}", given=(f"(= e {_term})", *((_when,) if _when else ())),
                  then=("(positive e)",), phase="analysis", proof=f"Domain.positive_{_name}")
table.closure("domain.finite_positive", given=("(positive e)",), then=("(finite e)",), phase="analysis",
              proof="Domain.finite_positive")

# A select with the value that an operation turns into an identity moves out of the operation.
table.law("domain.select_exp", call("exp", call("select", c, x, LOWEST)), call("select", c, call("exp", x), ZERO),
          holds="ieee", rounding="exact", proof="Domain.select_exp")
table.law("domain.select_add", call("select", c, x, LOWEST) + y, call("select", c, x + y, LOWEST), when=FINITE,
          holds="finite", rounding="exact", proof="Domain.select_add")
table.law("domain.select_mul", call("select", c, x, ZERO) * y, call("select", c, x * y, ZERO), when=FINITE,
          holds="finite", rounding="exact", proof="Domain.select_mul")
table.law("domain.select_neg", -call("select", c, x, ZERO), call("select", c, -x, ZERO), holds="finite",
          rounding="exact", proof="Domain.select_neg")
