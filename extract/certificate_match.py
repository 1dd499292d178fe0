"""Uses of laws in a saturated window: what was bound to their variables where they united two e-nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tang_egg.egraph import ClassId, ENode, Snapshot
from tang_egg.extract.certificate_term import parsed_fact
from tang_egg.rules.law import Closure, Law
from tang_egg.rules.pattern import Argument, Name, Node, Var, instantiate, orientations, pattern_variables
from tang_egg.rules.table import entries

MOST = 3
"""Ways to bind the variables of one use that are kept: one is enough, and any may be the shortest to justify."""

ROOT = "e__"
"""The variable by which conditions of a law call its left side."""

Binding = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """A law as pairs of patterns (one for each order of commutative operands), with the facts that it needs.

    `edges`: whether its uses are recorded in the e-graph. `equal`: variables of a closure that its conditions equate
    with patterns.
    """

    name: str
    pairs: tuple[tuple[Argument, Argument], ...]
    facts: tuple[tuple[str, tuple[Argument, ...]], ...]
    absent: tuple[tuple[str, str], ...] = ()
    edges: bool = True
    equal: tuple[tuple[str, Argument], ...] = ()


def rules() -> dict[str, Rule]:
    """Every law by name, and every closure that unites terms."""
    found: dict[str, Rule] = {}
    for name, entry in entries().items():
        if isinstance(entry, Law):
            pairs = tuple((left, entry.right) for left in orientations(entry.left))
            texts = [f for c in entry.when for f in c.egg]
            absent = tuple((x.name, i.name) for c in entry.when for x, i in c.absent)
            found[name] = Rule(name, pairs, needed(texts), absent)
        elif isinstance(entry, Closure):
            made = _uniting(entry)
            if made.pairs:
                found[made.name] = made
    return found


def _uniting(entry: Closure) -> Rule:
    """A closure as a law between the terms that it unites; what its conditions equate stands in their place."""
    parsed = [parsed_fact(f) for f in entry.then]
    edges = [args for head, args in parsed if head == "edge"]
    pairs = [(a, b) for _, a, b in edges] or [(a, b) for head, (a, b, *_) in _pairs(parsed) if head == "union"]
    equal: dict[Var | Name, Argument] = {}
    for head, args in map(parsed_fact, entry.given):
        if head == "=" and isinstance(args[0], Var) and isinstance(args[1], Node) and args[1].constructor != "fv":
            equal[args[0]] = args[1]
    facts = tuple((r, tuple(instantiate(x, equal) for x in args)) for r, args in needed(entry.given))
    both = tuple((instantiate(a, equal), instantiate(b, equal)) for a, b in pairs)
    named = tuple((v.name, p) for v, p in equal.items())
    return Rule(str(edges[0][0]) if edges else entry.name, both, facts, (), bool(edges), named)


def _pairs(parsed: list[tuple[str, tuple[Argument, ...]]]) -> list[tuple[str, tuple[Argument, ...]]]:
    return [(head, args) for head, args in parsed if len(args) >= 2]


def needed(texts: Iterable[str]) -> tuple[tuple[str, tuple[Argument, ...]], ...]:
    """The facts of relations among the conditions of a rule (not equations and tests on sets)."""
    parsed = (parsed_fact(t) for t in texts)
    return tuple((head, args) for head, args in parsed if head not in _TESTS)


_TESTS = ("=", "!=", "set-contains", "set-not-contains", "replaces", "finished", "clean", "indexed")
"""Conditions that are no claims of a relation: tests on the terms themselves, and bookkeeping."""


class Matcher:
    """Finds bindings in a snapshot; `members` has the nodes that were subsumed, too."""

    def __init__(self, snapshot: Snapshot, members: Mapping[ClassId, list[ENode]]) -> None:
        self.members = members
        self.free = snapshot.free
        self.facts = {name: list(dict.fromkeys(rows)) for name, rows in snapshot.facts.items()}
        self.heads: dict[tuple[ClassId, str], list[ENode]] = {}
        for c, nodes in members.items():
            for n in nodes:
                self.heads.setdefault((c, n.constructor), []).append(n)

    def uses(self, rule: Rule, left: ENode, right: ENode, owner: ClassId) -> list[tuple[Argument, Argument, Binding]]:
        """How a rule united two nodes: the patterns of both sides and their bindings, a few of them."""
        found: list[tuple[Argument, Argument, Binding]] = []
        root: Binding = {ROOT: owner} if any(ROOT in _symbols(args) for _, args in rule.facts) else {}
        for a, b in rule.pairs:
            assert isinstance(a, Node)
            for bound in self.node(a, left, root):
                for both in self._right(b, right, bound):
                    for whole in self._facts(rule, rule.facts, both):
                        if self._absent(rule, whole):
                            found.append((a, b, whole))
                        if len(found) >= MOST:
                            return found
        return found

    def unrecorded(self, rule: Rule) -> Iterator[tuple[ENode, ENode]]:
        """Pairs of nodes that a rule without edges may have united."""
        for a, b in rule.pairs:
            if isinstance(a, Node) and isinstance(b, Node):
                for (c, head), nodes in self.heads.items():
                    if head == a.constructor:
                        yield from ((x, y) for x in nodes for y in self.heads.get((c, b.constructor), ()))

    def _right(self, b: Argument, right: ENode, bound: Binding) -> Iterator[Binding]:
        if isinstance(b, Node):
            yield from self.node(b, right, bound)
        elif right.constructor == "Is":
            yield from self.argument(b, right.args[0], bound)

    def node(self, pattern: Node, n: ENode, bound: Binding) -> Iterator[Binding]:
        """The bindings under which a pattern is a node."""
        if pattern.constructor == n.constructor and len(pattern.args) == len(n.args):
            yield from self._all(pattern.args, n.args, bound)

    def _all(self, patterns: tuple[Argument, ...], values: tuple[Any, ...], bound: Binding) -> Iterator[Binding]:
        if not patterns:
            yield bound
            return
        for b in self.argument(patterns[0], values[0], bound):
            yield from self._all(patterns[1:], values[1:], b)

    def argument(self, pattern: Argument, value: Any, bound: Binding) -> Iterator[Binding]:
        """The bindings under which a pattern is a class, a string, a number or a list of classes."""
        if isinstance(pattern, (Var, Name)):
            known = bound.get(pattern.name)
            if known is None:
                yield {**bound, pattern.name: value}
            elif known == value:
                yield bound
        elif isinstance(pattern, Node):
            if pattern.constructor == "vec-of":
                if isinstance(value, tuple) and len(value) == len(pattern.args):
                    yield from self._all(pattern.args, value, bound)
            elif isinstance(value, ClassId):
                for n in self.heads.get((value, pattern.constructor), ()):
                    yield from self.node(pattern, n, bound)
        elif pattern == value:
            yield bound

    def _facts(
        self, rule: Rule, facts: tuple[tuple[str, tuple[Argument, ...]], ...], bound: Binding
    ) -> Iterator[Binding]:
        """The bindings under which all facts were known. Demands for the root of a rule ask nothing of a use."""
        if not facts:
            yield bound
            return
        (relation, args), rest = facts[0], facts[1:]
        for row in self.facts.get(relation, ()):
            if len(row) == len(args):
                for b in self._all(args, row, bound):
                    yield from self._facts(rule, rest, b)

    def _absent(self, rule: Rule, bound: Binding) -> bool:
        return all(
            bound.get(i) not in self.free.get(bound[x], frozenset())
            for x, i in rule.absent
            if isinstance(bound.get(x), ClassId) and isinstance(bound.get(i), str)
        )


def _symbols(args: tuple[Argument, ...]) -> set[str]:
    return {v.name for a in args for v in pattern_variables(a)}
