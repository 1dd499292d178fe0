"""Laws and closures, the two kinds of entry in the table.

A **law** says that two terms are equal. It carries two marks: on which values it holds ("ieee": all of them, or
"finite" only) and what it does to rounding ("exact", "reassociates", "rescales" or "algebraic"), and the name of the
theorem that proves it. A law that holds on finite values only never subsumes.

A **closure** derives facts of a relation from others. Each relation declares the proposition that its facts stand for
(`Table.relation`), and each closure preserves it.

A **seed** is an equality that the front end asserts on concrete terms, because its side condition is about affine forms
and not about terms (prefix domains, reads through views). It has the same marks as a law.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tang_egg.errors import LawError
from tang_egg.rules.pattern import Argument, Name, Node, Pattern, Text, Var, egg_text, orientations, shadow, show

HOLDS = ("ieee", "finite")
ROUNDING = ("exact", "reassociates", "rescales", "algebraic")
"""From the mildest to the harshest effect on rounding."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A side condition: egglog facts, and (for trials on random values) what it says of the variables.

    `absent`: pairs (scalar variable, index variable or view): the scalar does not depend on the index, or on any that
    the view replaces.
    `defines`: scalar variables that the condition says equal a term over the others.
    `positive`: scalar variables that are above 0. `inhabited`: pairs (index, domain): some point of the index is in it.
    """

    egg: tuple[str, ...]
    says: str
    absent: tuple[tuple[Var, Name], ...] = ()
    defines: tuple[tuple[Var, Pattern], ...] = ()
    fixes: tuple[tuple[Name, str], ...] = ()
    positive: tuple[Var, ...] = ()
    inhabited: tuple[tuple[Name, Pattern], ...] = ()


@dataclass(frozen=True, slots=True)
class Law:
    """An equality. See the module text."""

    name: str
    left: Pattern
    right: Pattern
    when: tuple[Condition, ...]
    holds: str
    rounding: str
    proof: str
    phase: str
    subsumes: bool

    def __str__(self) -> str:
        conditions = f"  when {', '.join(c.says for c in self.when)}" if self.when else ""
        return f"{show(self.left)} = {show(self.right)}{conditions}"

    def egg(self) -> str:
        """The egglog rules, one for each orientation of commutative operands."""
        facts = " ".join(f for c in self.when for f in c.egg)
        rules: list[str] = []
        for n, left in enumerate(orientations(self.left)):
            assert isinstance(left, Node)
            subsume = f" (subsume {left.egg()})" if self.subsumes else ""
            rules.append(
                f"(rule ((= e__ {left.egg()}) {facts}) ((union e__ {self.right.egg()})"
                f' (edge "{self.name}" {left.shadow()} {shadow(self.right)}){subsume})'
                f' :ruleset {self.phase} :name "{self.name}#{n}")'
            )
        return "\n".join(rules)


@dataclass(frozen=True, slots=True)
class Closure:
    """A rule that derives facts: `given` (facts and equations) implies `then`."""

    name: str
    given: tuple[str, ...]
    then: tuple[str, ...]
    phase: str
    proof: str

    def __str__(self) -> str:
        return f"{' '.join(self.given)}  ⟹  {' '.join(self.then)}"

    def egg(self) -> str:
        """The egglog rule."""
        return f'(rule ({" ".join(self.given)}) ({" ".join(self.then)}) :ruleset {self.phase} :name "{self.name}")'


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation over the e-graph and the proposition that each of its facts stands for."""

    name: str
    sorts: tuple[str, ...]
    proposition: str

    def egg(self) -> str:
        """The egglog declaration."""
        return f"(relation {self.name} ({' '.join(self.sorts)}))"


@dataclass(frozen=True, slots=True)
class Seed:
    """An equality asserted by the front end on concrete terms; `formal` says it in Rocq (see proofs/)."""

    name: str
    statement: str
    holds: str
    rounding: str
    proof: str
    formal: str = ""

    def __str__(self) -> str:
        return self.statement


Entry = Law | Closure | Seed


@dataclass(slots=True)
class Table:
    """All laws of one family, in the order in which they were written."""

    family: str
    entries: list[Entry] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)

    def law(
        self,
        name: str,
        left: Pattern,
        right: Pattern,
        *,
        holds: str,
        rounding: str,
        proof: str,
        when: Condition | Iterable[Condition] = (),
        phase: str = "simplify",
        subsumes: bool = False,
    ) -> Law:
        """Adds an equality, applied from left to right. Raises LawError when it is malformed."""
        conditions = (when,) if isinstance(when, Condition) else tuple(when)
        if holds not in HOLDS or rounding not in ROUNDING:
            raise LawError(
                f"law '{name}' has unknown marks '{holds}', '{rounding}'",
                where=f"rules/{self.family}.py",
                mend=f"use one of {HOLDS} and one of {ROUNDING}",
            )
        if subsumes and (holds != "ieee" or rounding != "exact"):
            raise LawError(
                f"law '{name}' would hide a term that is not exactly equal",
                where=f"rules/{self.family}.py",
                mend="only a law that holds on all IEEE values and is exact may subsume",
            )
        if not isinstance(left, Node):
            raise LawError(
                f"law '{name}' would rewrite every term",
                where=f"rules/{self.family}.py",
                mend="give it an application or a fold on the left",
            )
        entry = Law(name, left, right, conditions, holds, rounding, proof, phase, subsumes)
        self.entries.append(entry)
        return entry

    def closure(self, name: str, *, given: Iterable[str], then: Iterable[str], phase: str, proof: str) -> Closure:
        """Adds a rule that derives facts."""
        entry = Closure(name, tuple(given), tuple(then), phase, proof)
        self.entries.append(entry)
        return entry

    def seed(self, name: str, statement: str, *, holds: str, rounding: str, proof: str, formal: str = "") -> Seed:
        """Adds an equality that the front end asserts."""
        entry = Seed(name, statement, holds, rounding, proof, formal)
        self.entries.append(entry)
        return entry

    def relation(self, name: str, *sorts: str, proposition: str) -> Relation:
        """Declares a relation and what its facts mean."""
        entry = Relation(name, sorts, proposition)
        self.relations.append(entry)
        return entry


def free_of(x: Var, *indices: Name) -> Condition:
    """`x` does not depend on the indices."""
    names_ = f"F_{x.name}"
    facts = (f"(= {names_} (fv {x.name}))", *(f"(set-not-contains {names_} {i.name})" for i in indices))
    says = f"{x.name} free of {', '.join(i.name for i in indices)}"
    return Condition(facts, says, tuple((x, i) for i in indices))


def differ(a: Text | Pattern, b: Text | Pattern) -> Condition:
    """Two strings or classes are not the same."""
    return Condition((f"(!= {egg_text(a)} {egg_text(b)})",), f"{show(a)} ≠ {show(b)}")


def fact(relation: str, *args: Argument, says: str = "", defines: tuple[tuple[Var, Pattern], ...] = (),
         absent: tuple[tuple[Var, Name], ...] = (), fixes: tuple[tuple[Name, str], ...] = (),
         positive: tuple[Var, ...] = (), inhabited: tuple[tuple[Name, Pattern], ...] = ()) -> Condition:
    """A fact of a relation, with what it says about the variables."""
    text = f"({relation} {' '.join(egg_text(a) for a in args)})"
    return Condition((text,), says or relation, absent, defines, fixes, positive, inhabited)
