"""Patterns: terms with variables, which read as algebra, lower to egglog and evaluate as expressions of the language.

    pattern ::= Var | Literal | Node(constructor, strings and patterns)

Node constructors are those of the e-graph's scalar sort (tang_egg.egraph, where the schema stands).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union

Text: TypeAlias = "str | Name"


@dataclass(frozen=True, slots=True)
class Name:
    """A variable over strings: an index, a monoid, an operation or the key of a view."""

    name: str

    def egg(self) -> str:
        """The egglog variable."""
        return self.name


class Pattern:
    """Base of patterns, with the operators of algebra."""

    __slots__ = ()

    def __add__(self, other: Pattern) -> Node:
        return Node("Ap2", ("add", self, other))

    def __mul__(self, other: Pattern) -> Node:
        return Node("Ap2", ("mul", self, other))

    def __neg__(self) -> Node:
        return Node("Ap1", ("neg", self))

    def __sub__(self, other: Pattern) -> Node:
        return self + -other

    def __and__(self, other: Pattern) -> Node:
        return Node("Ap2", ("and", self, other))

    def egg(self) -> str:
        """The egglog term."""
        raise TypeError(f"{type(self).__name__} has no egglog form")


@dataclass(frozen=True, slots=True)
class Var(Pattern):
    """A variable over scalars; `type` is "real" or "bool" (used when a law is tried on random values)."""

    name: str
    type: str = "real"

    def egg(self) -> str:
        """The egglog variable."""
        return self.name


@dataclass(frozen=True, slots=True)
class Node(Pattern):
    """A constructor of the e-graph applied to strings, names and patterns."""

    constructor: str
    args: tuple[Argument, ...]

    def egg(self) -> str:
        """The egglog term."""
        return f"({' '.join((self.constructor, *map(egg_text, self.args)))})"

    def shadow(self) -> str:
        """The provenance node of this term: the same constructor in the sort that is never unioned."""
        return f"(N_{self.constructor} {' '.join(egg_text(a) for a in self.args)})"


Argument: TypeAlias = Union[str, int, Name, Pattern]  # noqa: UP007 (a forward reference inside | fails at run time)


def egg_text(a: Argument) -> str:
    """A string, number or pattern in egglog."""
    if isinstance(a, str):
        return f'"{a}"'
    if isinstance(a, int):
        return str(a)
    return a.egg()


def shadow(p: Pattern) -> str:
    """The provenance node of any pattern; a bare variable stands for its whole class."""
    return p.shadow() if isinstance(p, Node) else f"(N_Is {p.egg()})"


def variables(names: str, type: str = "real") -> tuple[Var, ...]:
    """Scalar variables from a list of names separated by spaces."""
    return tuple(Var(n, type) for n in names.split())


def names(listed: str) -> tuple[Name, ...]:
    """String variables from a list of names separated by spaces."""
    return tuple(Name(n) for n in listed.split())


def literal(value: float) -> Node:
    """A real constant."""
    return Node("Lit", (repr(float(value)), "real"))


TRUE, FALSE = Node("Lit", ("True", "bool")), Node("Lit", ("False", "bool"))
ZERO, ONE = literal(0.0), literal(1.0)


def call(op: Text, *args: Pattern) -> Node:
    """The application of an operation (or of a variable over operations) to one, two or three operands."""
    return Node(f"Ap{len(args)}", (op, *args))


def fold(monoid: Text, index: Text, where: Pattern, body: Pattern) -> Node:
    """The fold of `body` over `index` on the domain `where`."""
    return Node("Red", (monoid, index, where, body))


def sum_(index: Text, where: Pattern, body: Pattern) -> Node:
    """Σ of `body` over `index` on the domain `where`."""
    return fold("sum", index, where, body)


def view(key: Text, body: Pattern) -> Node:
    """`body` seen through the reindexing that `key` names."""
    return Node("Let", (key, body))


def at(index: Text, value: Pattern, body: Pattern) -> Node:
    """`body` with an integer scalar in the place of an index."""
    return Node("At", (index, value, body))


def leaf(key: Text) -> Node:
    """The read, position or test that `key` names."""
    return Node("Leaf", (key,))


def gathered(key: Text, value: Pattern) -> Node:
    """The read that `key` names, its one gathered coordinate being `value`."""
    return Node("Gather", (key, Node("vec-of", (value,))))


def integer(value: int) -> Node:
    """A constant of type i64."""
    return Node("Lit", (repr(value), "i64"))


def cascade(monoid: Text, index: Text, where: Pattern, follower: Pattern, carried: Pattern) -> Node:
    """One pass over `index`: the fold of `follower`, its holes filled; `carried` moves partial folds with them."""
    return Node("Casc", (monoid, index, where, follower, carried))


COMMUTATIVE = frozenset({"add", "mul", "max", "min", "and", "or"})


def orientations(p: Pattern) -> tuple[Pattern, ...]:
    """`p` with the operands of its commutative applications in every order, without repeats.

    A law is thereby indifferent to the order in which a user wrote operands, and no commutativity search is needed.
    """
    if not isinstance(p, Node):
        return (p,)
    choices: list[tuple[Argument, ...]] = [()]
    for a in p.args:
        below: tuple[Argument, ...] = orientations(a) if isinstance(a, Pattern) else (a,)
        choices = [(*c, b) for c in choices for b in below]
    found = [Node(p.constructor, c) for c in choices]
    if p.constructor == "Ap2" and p.args[0] in COMMUTATIVE:
        found += [Node("Ap2", (c[0], c[2], c[1])) for c in choices]
    return tuple(dict.fromkeys(found))


def pattern_variables(p: Argument) -> frozenset[Var | Name]:
    """The variables of a pattern."""
    if isinstance(p, (Var, Name)):
        return frozenset((p,))
    if isinstance(p, Node):
        return frozenset(v for a in p.args for v in pattern_variables(a))
    return frozenset()


def instantiate(p: Argument, values: Mapping[Var | Name, Argument]) -> Argument:
    """`p` with variables replaced."""
    if isinstance(p, (Var, Name)):
        return values.get(p, p)
    if isinstance(p, Node):
        return Node(p.constructor, tuple(instantiate(a, values) for a in p.args))
    return p


_INFIX = {"add": "+", "mul": "·", "and": "∧", "or": "∨", "le": "≤", "lt": "<", "eq": "="}


def show(p: Argument) -> str:
    """A pattern as a line of algebra."""
    if isinstance(p, (Var, Name)):
        return p.name
    if not isinstance(p, Node):
        return str(p)
    a = p.args
    if p.constructor == "Lit":
        return str(a[0]).removesuffix(".0")
    if p.constructor == "Ap2" and str(a[0]) in _INFIX:
        return f"({show(a[1])} {_INFIX[str(a[0])]} {show(a[2])})"
    if p.constructor == "Ap1" and a[0] == "neg":
        return f"-{show(a[1])}"
    if p.constructor.startswith("Ap"):
        return f"{show(a[0])}({', '.join(show(x) for x in a[1:])})"
    if p.constructor == "Red":
        where = "" if a[2] == TRUE else f", where={show(a[2])}"
        return f"{show(a[0])}[{show(a[1])}]({show(a[3])}{where})"
    if p.constructor == "Casc":
        return f"pass {show(a[0])}[{show(a[1])}]({show(a[3])}, carry={show(a[4])}, where={show(a[2])})"
    if p.constructor == "At":
        return f"{show(a[2])}[{show(a[0])} := {show(a[1])}]"
    names_ = {"Let": "view", "Hole": "h", "Delta": "δ", "Keep": "kept"}
    inner = ", ".join(show(x) for x in a)
    return f"{names_.get(p.constructor, p.constructor)}({inner})" if a else names_.get(p.constructor, p.constructor)
