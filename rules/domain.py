"""Domains: a selected identity under a fold is a smaller domain, and selects move outward until a fold meets them."""

from __future__ import annotations

from tang_egg.rules.law import Condition, Table, fact
from tang_egg.rules.pattern import FALSE, TRUE, ZERO, Name, Pattern, call, fold, literal, variables

table = Table("domain")
x, y, z, e = variables("x y z e")
c, w, p, q, r = variables("c w p q r", "bool")
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


def other(select: Pattern) -> Condition:
    """x is not the select itself: a class that equals a select of itself would narrow its folds without end."""
    return Condition((f"(= s__ {select.egg()})", "(!= s__ x)"), "x is not the select itself")


SELECTED, REJECTED = call("select", c, x, e), call("select", c, e, x)
table.law("domain.narrow", fold(m, j, w, SELECTED), fold(m, j, w & c, x), when=(neutral(), other(SELECTED)),
          holds="ieee", rounding="exact", proof="Domain.narrow")
table.law("domain.narrow_not", fold(m, j, w, REJECTED), fold(m, j, w & when_not(c), x),
          when=(neutral(), other(REJECTED)), holds="ieee", rounding="exact", proof="Domain.narrow_not")
table.law("domain.empty", fold(m, j, FALSE, x), e, when=neutral(), holds="ieee", rounding="exact",
          proof="Domain.empty")
for _n, _inner in enumerate(('(Ap2 "and" w c)', '(Ap2 "and" w (Ap1 "not" c))')):
    _select = (SELECTED, REJECTED)[_n]
    table.closure(f"domain.doubt_{_n}", given=(f"(= f (Red m j w {_select.egg()}))", "(neutral m e)",
                                               *other(_select).egg),
                  then=(f"(doubtful j {_inner})",), phase="simplify", proof=f"Domain.doubt_{_n}")

# Which conditions follow from which. A conjunct that follows adds nothing, so that guards which meet again (a guarded
# term, hoisted out of a fold that it narrows, guards the next one) neither nest nor pile up without end.
table.relation("implies", "Sc", "Sc", proposition="wherever the 1st holds, the 2nd holds")
table.closure("domain.implies_part", given=('(= e (Ap2 "and" p q))',),
              then=("(implies e p)", "(implies e q)", "(implies p p)", "(implies q q)"), phase="analysis",
              proof="Domain.implies_part")
table.closure("domain.implies_left", given=('(= e (Ap2 "and" p q))', "(implies p r)"), then=("(implies e r)",),
              phase="analysis", proof="Domain.implies_left")
table.closure("domain.implies_right", given=('(= e (Ap2 "and" p q))', "(implies q r)"), then=("(implies e r)",),
              phase="analysis", proof="Domain.implies_right")
table.closure("domain.implies_both", given=('(= e (Ap2 "and" p q))', "(implies r p)", "(implies r q)"),
              then=("(implies r e)",), phase="analysis", proof="Domain.implies_both")
table.closure("domain.implies_guard", given=('(= e (Ap3 "select" p x y))',), then=("(implies p p)",),
              phase="analysis", proof="Domain.implies_guard")
# The conjunction of both says no less, but would ask the second everywhere (see rules/gather.py): it is not united.
_GUARDED = f'(= e (Ap3 "select:bool" p q {FALSE.egg()}))'
table.closure("domain.implies_guarded", given=(_GUARDED,), then=("(implies e p)", "(implies e q)"), phase="analysis",
              proof="Domain.implies_guarded")
# These run with the analyses, since they only make terms smaller: a domain must not be narrowed again, nor a closure
# take a select of itself apart, before it is known that nothing is gained.
FOLLOWS = fact("implies", p, q, says="p implies q", defines=((p, q & r),))
ALIKE = Condition(("(implies e__ r)", "(implies r e__)", "(!= e__ r)"), "p ∧ q implies r, and r implies p ∧ q",
                  defines=((r, q & p),))
for _name, _left, _right, _where in (
    ("known", p & q, p, FOLLOWS),
    ("alike", p & q, r, ALIKE),
    ("select_under", call("select", p, call("select", q, x, y), z), call("select", p, x, z), FOLLOWS),
    ("select_over", call("select", q, call("select", p, x, z), z), call("select", p, x, z), FOLLOWS),
    ("select_beside", call("select", q, x, call("select", p, y, z)), call("select", q, x, z), FOLLOWS),
):
    table.law(f"domain.{_name}", _left, _right, when=_where, holds="ieee", rounding="exact", proof=f"Domain.{_name}",
              phase="analysis", subsumes=_name == "known")
table.law("domain.any", fold("any", j, w, TRUE), TRUE, when=fact("inhabited", j, w, says="some j satisfies w",
          inhabited=((j, w),)), holds="ieee", rounding="exact", proof="Domain.any")

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
