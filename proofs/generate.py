"""Statements in Rocq of all that the law table says.

`python -m proofs.generate` writes Statements.v and Check.v beside this file, from the table that saturation runs:
patterns, conditions and facts are read in the form in which the e-graph engine gets them. The types of the variables of
an entry are found by unification, its side conditions become premises, and what it derives is the conclusion:

    law       premises ⟹ left = right
    closure   facts ⟹ facts and equalities
    seed      the proposition that stands beside it (`formal`)
    analysis  the rules of tang_egg.egraph by which the names that a class depends on are found

A premise that says nothing about values (a demand, two classes not being the same) is left out: the theorem is stronger
without it. Everything is stated of the values for which the entry claims to hold: "ieee" of all, "finite" where its
real variables are finite. A closure is finite unless a law that holds on all values rests on what it derives.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proofs.sexpr import Tree, read, read_all
from proofs.sorts import Free, Of, Sort, SortError, show
from proofs.terms import Translator, identifier
from tang_egg.egraph import analysis
from tang_egg.rules.law import Closure, Entry, Law, Relation
from tang_egg.rules.pattern import COMMUTATIVE
from tang_egg.rules.table import FAMILIES, entries, equalities

FOLDER = Path(__file__).parent
OWN_DEMANDS = frozenset(("finished", "indexed", "edge"))
"""Relations of the e-graph's own schema that claim nothing about values."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing to prove: `name` in Statements.v, `proof` the theorem that proves it, `text` its proposition."""

    name: str
    proof: str
    text: str
    says: str


def declared() -> dict[str, Relation]:
    """Every relation of the table by name."""
    return {r.name: r for family in FAMILIES for r in family.relations}


def demands() -> frozenset[str]:
    """Relations whose facts claim nothing about values."""
    return OWN_DEMANDS | {r.name for r in declared().values() if "claims nothing" in r.proposition}


def _relations_of(facts: Iterable[str]) -> set[str]:
    return {str(t[0]) for f in facts for t in read_all(f) if isinstance(t, tuple)} & {*declared(), "clean", "replaces"}


def unlimited(table: Mapping[str, Entry]) -> frozenset[str]:
    """The closures whose facts hold on all values: a law that does rests on them, or they say what is finite."""
    needed = {r for e in table.values() if isinstance(e, Law) and e.holds == "ieee"
              for c in e.when for r in _relations_of(c.egg)}  # fmt: skip
    needed.add("finite")  # what is to be finite must not be assumed to be
    ieee = {n for n, e in equalities().items() if e.holds == "ieee"}
    closures = [e for e in table.values() if isinstance(e, Closure)]
    found: set[str] = set()
    while True:
        new = {c.name for c in closures if c.name in ieee or (_relations_of(c.then) - demands()) & needed} - found
        if not new:
            return frozenset(found)
        found |= new
        for c in closures:
            if c.name in new:
                needed |= _relations_of(c.given) - demands()


def _quantified(t: Translator, premises: list[str], conclusions: list[str], finite: bool) -> str:
    """The whole proposition: types, variables, premises, conclusions."""
    sorts = {n: t.unifier.find(s) for n, s in t.variables.items()}
    types: dict[Free, str] = {}

    def name_types(s: Sort) -> Sort:
        if isinstance(s, Free):
            return types.setdefault(s, f"T{len(types) + 1}")
        return Of(s.kind, tuple(name_types(x) for x in s.types)) if isinstance(s, Of) else s

    binders: list[str] = []
    for n, s in sorts.items():
        named = name_types(s)
        if isinstance(named, Of) and named.kind == "part":
            binders.append(f"({identifier(n)} : state {t.keys[n]} -> {show(named.types[0])})")
        else:
            binders.append(f"({identifier(n)} : {show(named)})")
    given = [f"index {identifier(n)}" for n, s in sorts.items() if s == "index"] + premises
    given = [*t.placed, *given]
    if finite:
        real = [identifier(n) for n, s in sorts.items() if s == Of("sc", ("xr",))]
        real += [x for x, type in t.opaque.items() if t.unifier.find(type) == "xr"]
        given = ["finite_world", *given, *(f"finite {n}" for n in real)]
    given = list(dict.fromkeys(given))
    listed = " ".join([*(["(" + " ".join(types.values()) + " : Type)"] if types else []), *binders])
    conclusion = " /\\ ".join(conclusions) or "True"
    lines = [f"forall {listed},"] if listed else []
    return "\n    ".join([*lines, *(f"{g} ->" for g in given), conclusion])


def _translated(t: Translator, given: list[Tree], then: list[Tree], finite: bool) -> str:
    for f in given:
        if isinstance(f, tuple) and f[0] == "=" and isinstance(f[2], tuple) and f[2][0] == "vec-get":
            t.vectors[str(f[2][1])] = f[1]
    for f in (*given, *then):  # a first time for the sorts
        t.fact(f)
    t.also.clear()
    premises = [x for x in map(t.fact, given) if x]
    premises = [*t.also, *premises]
    conclusions = [x for x in map(t.fact, then) if x]
    for n in [n for n, s in t.variables.items() if s == "names"]:
        uses = [p for p in (*premises, *conclusions) if re.search(rf"\b{identifier(n)}\b", p)]
        if not uses or (uses[0] in premises and len(uses) == 1 and uses[0].startswith("depends ")):
            premises = [p for p in premises if p not in uses]  # that it depends on something says nothing
            del t.variables[n]
    return _quantified(t, premises, conclusions, finite)


def _law(law: Law) -> str:
    t = Translator(demands(), where=law.name)
    left, right = read(law.left.egg()), read(law.right.egg())
    t.bound["e__"] = left
    given = [f for c in law.when for line in c.egg for f in read_all(line)]
    return _translated(t, given, [("=", left, right)], law.holds == "finite")


def _closure(closure: Closure, finite: bool) -> str:
    t = Translator(demands(), where=closure.name)
    given, then = ([f for line in lines for f in read_all(line)] for lines in (closure.given, closure.then))
    return _translated(t, given, then, finite)


def _analysis() -> list[Statement]:
    """The rules of the e-graph's own analyses."""
    found: list[Statement] = []
    for tree in read_all(analysis()):
        assert isinstance(tree, tuple) and isinstance(tree[1], tuple) and isinstance(tree[2], tuple)
        given, then = list(tree[1]), list(tree[2])
        name = str(tree[tree.index(":name") + 1].text)  # type: ignore[union-attr]
        t = Translator(demands(), where=name)
        plain = name.replace(".", "_")
        found.append(Statement(plain, f"Analysis.{plain}", _translated(t, given, then, False), "an analysis"))
    return found


def statement(entry: Entry, ieee: frozenset[str] | None = None) -> Statement:
    """What is to be proved of an entry. Raises SortError when it has no statement."""
    if isinstance(entry, Law):
        text = _law(entry)
    elif isinstance(entry, Closure):
        text = _closure(entry, entry.name not in (unlimited(entries()) if ieee is None else ieee))
    else:
        text = entry.formal
        if not text:
            raise SortError(f"the seed {entry.name} has no formal proposition")
    return Statement(entry.name.replace(".", "_"), entry.proof, text, str(entry))


def statements() -> list[Statement]:
    """All that is to be proved, in the order of the table. Entries in `unstated` are left out."""
    return _all()[0]


def unstated() -> dict[str, str]:
    """The entries that cannot be stated, and why: a relation without a signature, a seed without a proposition."""
    return _all()[1]


@cache
def _all() -> tuple[list[Statement], dict[str, str]]:
    ieee = unlimited(entries())
    found = _analysis() + [
        Statement(f"commutes_{op}", f"Analysis.commutes_{op}", _commutes(op), "operands in every order")
        for op in sorted(COMMUTATIVE)
    ]
    reasons: dict[str, str] = {}
    for name, entry in entries().items():
        try:
            found.append(statement(entry, ieee))
        except SortError as e:
            reasons[name] = str(e)
    return found, reasons


def _commutes(op: str) -> str:
    t = Translator(demands(), where=op)
    x, y = read(f'(Ap2 "{op}" x y)'), read(f'(Ap2 "{op}" y x)')
    return _translated(t, [], [("=", x, y)], False)


def _comment(text: str) -> str:
    return text.replace("(*", "( *").replace("*)", "* )").replace('"', "'")


def statements_text() -> str:
    """Statements.v."""
    lines = [
        "(** Written by `python -m proofs.generate` from the law table: do not edit. *)",
        "From Coq Require Import Reals ZArith String List.",
        "From TangEgg Require Import Semantics Forms.",
        "Import ListNotations.",
        "Open Scope R_scope.",
        "",
        "(** Relations of the table and what their facts stand for:",
        *(_comment(f"    {r.name}: {r.proposition}") for r in declared().values()),
        "*)",
        "",
        "Section Statements.",
        "Context {the_world : world} {the_integers : integers}.",
    ]
    for s in statements():
        lines += ["", f"(** {_comment(s.says)} *)", f"Definition {s.name} : Prop :=\n    {s.text}."]
    return "\n".join([*lines, "", "End Statements.", ""])


def check_text() -> str:
    """Check.v: each statement with the theorem that its entry names."""
    listed = statements()
    modules = sorted({s.proof.split(".")[0] for s in listed})
    lines = [
        "(** Written by `python -m proofs.generate` from the law table: do not edit. *)",
        "From TangEgg Require Semantics Statements.",
        *(f"Require TangEgg.{m}." for m in modules),
        "",
        "Section Check.",
        "Context {the_world : Semantics.world} {the_integers : Semantics.integers}.",
        *(f"Definition {s.name} : Statements.{s.name} := TangEgg.{s.proof}." for s in listed),
        "End Check.",
        "",
        "Definition everything {the_world : Semantics.world} {the_integers : Semantics.integers} :=",
        "  (" + ",\n   ".join(s.name for s in listed) + ").",
        "Print Assumptions everything.",
        "",
    ]
    return "\n".join(lines)


FILES = {"Statements.v": statements_text, "Check.v": check_text}
"""What is written, and by what."""


def main() -> int:
    """Writes the files."""
    for name, text in FILES.items():
        (FOLDER / name).write_text(text())
    for name, reason in unstated().items():
        print(f"no statement for {name}: {reason}", file=sys.stderr)
    return 1 if unstated() else 0


if __name__ == "__main__":
    sys.exit(main())
