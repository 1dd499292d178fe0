"""A found equality as an entry of the table: its line in Python, its marks and conditions, and its goal for a proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tang_egg.discover_measure import Marks, constructors
from tang_egg.discover_prove import Holding
from tang_egg.discover_terms import Variable
from tang_egg.rules.law import Condition, Law, Table, free_of
from tang_egg.rules.pattern import TRUE, Argument, Name, Node, Pattern, Var, instantiate, pattern_variables

_REALS, _FIXED, _BOOLS = "xyzuv", "cdeg", "pqrs"
DOMAIN = Var("w", "bool")


@dataclass(frozen=True, slots=True)
class Equality:
    """Two terms over variables that are named in the order in which they occur, and whether each has the index."""

    left: Pattern
    right: Pattern
    variables: tuple[Variable, ...]


def canonical(left: Pattern, right: Pattern, variables: Sequence[Variable]) -> Equality:
    """The same equality under names that say the role of a variable: x with the index, c without, p a bool.

    Where nothing folds, every variable may have the index.
    """
    folds = bool(domains(left) or domains(right))
    known = {v.name: v if folds else Variable(v.name, True, v.type) for v in variables}
    names: dict[Var | Name, Argument] = {}
    listed: list[Variable] = []
    pools = {"bound": iter(_REALS), "free": iter(_FIXED), "bool": iter(_BOOLS)}
    for v in _in_order(left, right):
        if v not in names:
            old = known[v.name]
            role = "bool" if old.type == "bool" else "bound" if old.bound else "free"
            new = Variable(next(pools[role]), old.bound, old.type)
            names[v] = new.pattern
            listed.append(new)
    sides = [instantiate(side, names) for side in (left, right)]
    assert isinstance(sides[0], Pattern) and isinstance(sides[1], Pattern)
    return Equality(sides[0], sides[1], tuple(listed))


def _in_order(*sides: Argument) -> Iterator[Var]:
    for p in sides:
        if isinstance(p, Var):
            yield p
        elif isinstance(p, Node):
            yield from _in_order(*p.args)


def with_domain(p: Pattern) -> Pattern:
    """A term with every fold over all points replaced by one over any domain w."""
    if not isinstance(p, Node):
        return p
    args = tuple(with_domain(a) if isinstance(a, Pattern) else a for a in p.args)
    if p.constructor == "Red" and args[2] == TRUE:
        args = (args[0], args[1], DOMAIN, args[3])
    return Node(p.constructor, args)


def domains(p: Argument) -> tuple[Pattern, ...]:
    """The domains of the folds in a term, each once."""
    if not isinstance(p, Node):
        return ()
    own = (p.args[2],) if p.constructor == "Red" else ()
    inner = [d for a in p.args for d in domains(a)]
    return tuple(dict.fromkeys(d for d in (*own, *inner) if isinstance(d, Pattern)))


def conditions(e: Equality, holding: Holding, index: Name) -> tuple[Condition, ...]:
    """What a law needs: variables free of the index, positive ones, points in its domains."""
    inside = {v for side in (e.left, e.right) for v in _folded(side)}
    found = [free_of(v.pattern, index) for v in e.variables if not v.bound and v.pattern in inside]
    for v in e.variables:
        if v.name in holding.positive:
            found.append(Condition((f"(positive {v.name})",), f"{v.name} > 0", positive=(v.pattern,)))
    if holding.inhabited:
        folds = (*domains(e.left), *domains(e.right))
        bools = [v.pattern for v in e.variables if v.type == "bool" and v.bound]
        for d in dict.fromkeys((*(d for d in folds if d in (TRUE, DOMAIN)), *bools)):
            says = f"some {index.name} satisfies {d.name}" if isinstance(d, Var) else f"{index.name} has points"
            found.append(Condition((f"(inhabited {index.name} {d.egg()})",), says, inhabited=((index, d),)))
    return tuple(found)


def _folded(p: Argument) -> frozenset[Var | Name]:
    """The variables inside the folds of a term."""
    if not isinstance(p, Node):
        return frozenset()
    if p.constructor == "Red":
        return pattern_variables(p)
    return frozenset(v for a in p.args for v in _folded(a))


def law_of(e: Equality, marks: Marks, index: Name, name: str) -> Law:
    """The law, as the table would hold it."""
    family, _, rest = name.partition(".")
    return Table(family).law(
        name,
        e.left,
        e.right,
        when=conditions(e, marks.needs, index),
        holds=marks.holds,
        rounding=marks.rounding,
        proof=f"{family.capitalize()}.{rest}",
        phase="found",
    )


def name_of(e: Equality, taken: set[str]) -> str:
    """A name after the family and what stands on the left side; a number where that is taken."""
    found = constructors(e.left, e.right)
    folds = any(c.startswith("fold:") for c in found)
    family = "fold" if folds else "domain" if found & {"select", "and", "or", "not"} else "scalar"
    words = list(dict.fromkeys(_words(e.left)))[:4]
    stem = f"{family}.{'_'.join(words)}"
    number = next(n for n in range(1, 1000) if (stem if n == 1 else f"{stem}_{n}") not in taken)
    name = stem if number == 1 else f"{stem}_{number}"
    taken.add(name)
    return name


def _words(p: Argument) -> Iterator[str]:
    if isinstance(p, Node) and p.constructor != "Lit":
        yield str(p.args[0])
        for a in p.args[1:]:
            yield from _words(a)


# The line in Python.


def stub(law: Law) -> str:
    """A line for rules/<family>.py, and before it the variables that it mentions."""
    found = sorted(pattern_variables(law.left) | pattern_variables(law.right), key=lambda v: v.name)
    lines = []
    for names, how in (
        ([v.name for v in found if isinstance(v, Var) and v.type == "real"], 'variables("{}")'),
        ([v.name for v in found if isinstance(v, Var) and v.type == "bool"], 'variables("{}", "bool")'),
        ([v.name for v in found if isinstance(v, Name)], 'names("{}")'),
    ):
        if names:
            left = ", ".join(names) + ("," if len(names) == 1 else "")
            lines.append(f"{left} = {how.format(' '.join(names))}")
    when = ", ".join(_condition(c) for c in law.when)
    condition = f"\n          when=({when},)," if law.when else ""
    lines.append(
        f'table.law("{law.name}", {python(law.left)}, {python(law.right)},{condition}\n'
        f'          holds="{law.holds}", rounding="{law.rounding}", proof="{law.proof}")'
    )
    return "\n".join(lines)


def _condition(c: Condition) -> str:
    if c.positive:
        (x,) = c.positive
        return f'fact("positive", {x.name}, says="{c.says}", positive=({x.name},))'
    if c.inhabited:
        ((j, w),) = c.inhabited
        domain = python(w)
        return f'fact("inhabited", {j.name}, {domain}, says="{c.says}", inhabited=(({j.name}, {domain}),))'
    ((x, j),) = c.absent
    return f"free_of({x.name}, {j.name})"


_INFIX = {"add": "+", "mul": "*", "and": "&"}


def python(p: Argument) -> str:
    """A pattern as the Python of the tables."""
    if isinstance(p, (Var, Name)):
        return p.name
    if not isinstance(p, Node):
        return repr(p)
    if p.constructor == "Lit":
        if p.args[1] == "bool":
            return "TRUE" if p.args[0] == "True" else "FALSE"
        return {"0.0": "ZERO", "1.0": "ONE"}.get(str(p.args[0]), f'literal(float("{p.args[0]}"))')
    if p.constructor == "Red":
        return f'fold("{p.args[0]}", {", ".join(python(a) for a in p.args[1:])})'
    name, *operands = p.args
    if name in _INFIX:
        return f"({python(operands[0])} {_INFIX[str(name)]} {python(operands[1])})"
    if name == "neg":
        return f"-{python(operands[0])}"
    return f'call("{name}", {", ".join(map(python, operands))})'


# The goal in Rocq.

PRELUDE = """\
Require Import Reals List Bool.
Open Scope R_scope.
Definition points (n : nat) (w : nat -> bool) := filter w (seq 0 n).
Definition fold_sum n w (f : nat -> R) := fold_right Rplus 0 (map f (points n w)).
Definition fold_product n w (f : nat -> R) := fold_right Rmult 1 (map f (points n w)).
Definition fold_some (op : R -> R -> R) n w (f : nat -> R) :=
  match map f (points n w) with nil => None | x :: l => Some (fold_right op x l) end.
Definition fold_any n w (f : nat -> bool) := existsb f (points n w).
Definition fold_all n w (f : nat -> bool) := forallb f (points n w).
Definition is_max n w (f : nat -> R) (m : R) := fold_some Rmax n w f = Some m.
Definition is_min n w (f : nat -> R) (m : R) := fold_some Rmin n w f = Some m.
Definition ltb (x y : R) : bool := if Rlt_dec x y then true else false.
Definition leb (x y : R) : bool := if Rle_dec x y then true else false.
Definition eqb (x y : R) : bool := if Req_EM_T x y then true else false.
"""
"""What goals are stated with: folds over the points of 0 ... n - 1 that satisfy w. A maximum or minimum is a premise
about a value, since over no points there is none; so goals speak of domains that have some."""

_ROCQ = {"add": "Rplus", "mul": "Rmult", "neg": "Ropp", "recip": "Rinv", "exp": "exp", "log": "ln", "sqrt": "sqrt",
         "sin": "sin", "max": "Rmax", "min": "Rmin", "tanh": "tanh", "lt": "ltb", "le": "leb", "eq": "eqb",
         "and": "andb", "or": "orb", "not": "negb"}  # fmt: skip


def goal(law: Law, variables: Sequence[Variable]) -> str:
    """The theorem to prove over the reals, as Rocq text after `PRELUDE`; its conditions are premises."""
    if infinite(law.left) or infinite(law.right):
        return "(* an infinity stands in it: it has no goal over the reals *)"
    extrema: dict[Node, str] = {}
    left, right = (_rocq(side, variables, extrema, False) for side in (law.left, law.right))
    kinds = {"real": "R", "bool": "bool"}
    listed = {*domains(law.left), *domains(law.right)}
    folds = bool(listed)
    binders = ["(n : nat)"] * bool(listed) + ["(w : nat -> bool)"] * (DOMAIN in listed)
    for v in variables:
        binders.append(f"({v.name} : {'nat -> ' if v.bound and folds else ''}{kinds[v.type]})")
    for op in sorted(constructors(law.left, law.right) & {"erf", "floor"}):
        binders.append(f"({op} : R -> R)")
    binders += [f"({m} : R)" for m in extrema.values()]
    above = {x.name for c in law.when for x in c.positive}
    premises = [
        f"({'forall j, ' if v.bound and folds else ''}0 < {v.name}{' j' if v.bound and folds else ''})"
        for v in variables
        if v.name in above
    ]
    for c in law.when:
        some = [_rocq(d, variables, extrema, True) for _, d in c.inhabited]
        premises += [f"(exists j, (j < n)%nat /\\ {d} = true)" for d in some]
    for side in dict.fromkeys((law.left, law.right)):
        premises += _defined(side, variables, extrema, False)
    premises = list(dict.fromkeys(premises))
    premises += [f"is_{x.args[0]} n {_fold_arguments(x, variables, extrema)} {m}" for x, m in extrema.items()]
    name = law.proof.partition(".")[2]
    chain = " ->\n  ".join((*premises, f"{left} = {right}"))
    return f"Theorem {name} : forall {' '.join(binders)},\n  {chain}." if binders else f"Theorem {name} : {chain}."


_DEFINED = {"log": "0 < {}", "recip": "{} <> 0", "sqrt": "0 <= {}"}


def _defined(p: Argument, variables: Sequence[Variable], extrema: dict[Node, str], inside: bool) -> Iterator[str]:
    """What must hold of operands for logarithms, reciprocals and roots to mean something, as premises."""
    if not isinstance(p, Node) or p.constructor == "Lit":
        return
    for a in p.args[1:]:
        yield from _defined(a, variables, extrema, inside or p.constructor == "Red")
    if p.args[0] in _DEFINED:
        operand = _rocq(p.args[1], variables, extrema, inside)
        yield f"({'forall j, ' * inside}{_DEFINED[str(p.args[0])].format(operand)})"


def infinite(p: Argument) -> bool:
    """Whether an infinite constant stands in a term."""
    if not isinstance(p, Node):
        return False
    if p.constructor == "Lit":
        return str(p.args[0]) in ("inf", "-inf")
    return any(infinite(a) for a in p.args)


def _fold_arguments(p: Node, variables: Sequence[Variable], extrema: dict[Node, str]) -> str:
    where, body = p.args[2], p.args[3]
    domain = "w" if where == DOMAIN else f"(fun j => {_rocq(where, variables, extrema, True)})"
    return f"{domain} (fun j => {_rocq(body, variables, extrema, True)})"


def _rocq(p: Argument, variables: Sequence[Variable], extrema: dict[Node, str], inside: bool) -> str:
    bound: Mapping[str, bool] = {v.name: v.bound for v in variables}
    if isinstance(p, Var):
        return f"({p.name} j)" if inside and bound.get(p.name, p == DOMAIN) else p.name
    assert isinstance(p, Node)
    if p.constructor == "Lit":
        return str(p.args[0]).lower() if p.args[1] == "bool" else f"({str(p.args[0]).removesuffix('.0')})"
    if p.constructor == "Red":
        if p.args[0] in ("max", "min"):
            return extrema.setdefault(p, f"m{len(extrema)}")
        return f"(fold_{p.args[0]} n {_fold_arguments(p, variables, extrema)})"
    operands = [_rocq(a, variables, extrema, inside) for a in p.args[1:]]
    if p.args[0] == "select":
        return f"(if {operands[0]} then {operands[1]} else {operands[2]})"
    return f"({_ROCQ.get(str(p.args[0]), str(p.args[0]))} {' '.join(operands)})"
