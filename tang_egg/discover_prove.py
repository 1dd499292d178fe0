"""What the table already proves: both sides of candidates go into one e-graph, and all laws run on it.

The sums and products of a candidate are taken in every order (no law says that addition is associative), so that one
which only reorders is not news. Laws that were chosen before run from both sides, wherever their conditions hold.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from egglog import bindings

from tang_egg.discover_terms import Variable
from tang_egg.egraph import Encoding
from tang_egg.ir import Graph, walk
from tang_egg.rules.law import Law
from tang_egg.rules.pattern import COMMUTATIVE, Node, Pattern, egg_text, orientations, pattern_variables
from tang_egg.rules.table import PHASES
from tang_egg.saturate import Limits, _engine, _execute, _facts, _rows, _Run
from tang_egg.unify import unify
from tang_egg.windows import canonical, cut

_PHASES = (
    *(p for p in PHASES if not set(p) & {"walk", "carry", "cascade"}), ("analysis", "algebraic"), ("analysis", "found"),
)  # fmt: skip
"""Cascades are left out: no candidate has a fold inside a fold."""

_COMMUTES = "(ruleset found)" + "".join(
    f'(rewrite (Ap2 "{op}" a b) (Ap2 "{op}" b a) :ruleset found)' for op in sorted(COMMUTATIVE)
)
_ROUNDS, _STEPS, _TOGETHER, _OPERANDS = 2, 3, 40, 4
"""Rounds of all phases, steps of each, questions in one e-graph, and operands of a sum that are taken in all orders."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What an equality needs: reals that are above 0, points in the domains of its folds, or nothing."""

    positive: frozenset[str] = frozenset()
    inhabited: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """Two terms, and what may be taken for granted of their variables."""

    left: Pattern
    right: Pattern
    holding: Holding


@dataclass(frozen=True, slots=True)
class Prover:
    """Says which questions the table and some more laws settle.

    `strict`: as saturation runs, so sums stay as they are written and laws go from left to right only.
    """

    variables: tuple[Variable, ...]
    index: str
    rows: int = 30_000
    strict: bool = False

    def settled(self, questions: Sequence[Question], more: Sequence[Law] = ()) -> list[bool]:
        """For each question, whether its sides end in one class."""
        found = [False] * len(questions)
        for holding in dict.fromkeys(q.holding for q in questions):
            members = [n for n, q in enumerate(questions) if q.holding == holding]
            for start in range(0, len(members), _TOGETHER):
                some = members[start : start + _TOGETHER]
                answers = self._together([questions[n] for n in some], holding, more)
                for n, answer in zip(some, answers, strict=True):
                    found[n] = answer
        return found

    def _together(self, questions: Sequence[Question], holding: Holding, more: Sequence[Law]) -> list[bool]:
        names: dict[Pattern, str] = {}
        lines = [f'(indexed "{self.index}")', *self._variables(holding, names)]
        sides = [(self._bind(q.left, names, lines), self._bind(q.right, names, lines)) for q in questions]
        domains = dict.fromkeys(d for q in questions for side in (q.left, q.right) for d in _domains(side))
        if holding.inhabited:
            lines += [f'(inhabited "{self.index}" {self._bind(d, names, lines)})' for d in domains]
        with _engine("finite") as engine:
            _execute(
                engine,
                "\n".join((_COMMUTES, *(rule for law in more for rule in rules_of(law, not self.strict)))),
            )
            _execute(engine, "\n".join(lines))
            self._saturate(engine)
            roots = engine.freeze().functions
            return [_class(roots, left) == _class(roots, right) for left, right in sides]

    def _variables(self, holding: Holding, names: dict[Pattern, str]) -> Iterable[str]:
        for v in self.variables:
            name = names[v.pattern] = f"$v_{v.name:_>12}"
            free = f'"{self.index}" "%row"' if v.bound else '"%row"'
            yield f'(let {name} (Leaf "{v.name}"))'
            yield f"(set (fv {name}) (set-of {free}))"
            if v.type == "real":
                yield f"(finite {name})"
            if v.name in holding.positive:
                yield f"(positive {name})"

    def _bind(self, p: Pattern, names: dict[Pattern, str], lines: list[str]) -> str:
        if p not in names:
            assert isinstance(p, Node)
            args = [self._bind(a, names, lines) if isinstance(a, Pattern) else _quoted(a) for a in p.args]
            names[p] = f"$n{len(names):07}"
            lines.append(f"(let {names[p]} ({' '.join((p.constructor, *args))}))")
            operands = _operands(p)
            if 2 < len(operands) <= _OPERANDS and not self.strict:
                bound = tuple(self._bind(a, names, lines) for a in operands)
                lines += [f"(union {names[p]} {other})" for other in _orders(str(p.args[0]), bound)]
        return names[p]

    def _saturate(self, engine: bindings.EGraph) -> None:
        """Runs the phases; only sizes stop it, never the clock, so that the same questions get the same answers."""
        for _ in range(_ROUNDS):
            changed = False
            for phase in _PHASES:
                for _ in range(1 if "algebraic" in phase else _STEPS):
                    updated = _step(engine, phase)
                    changed = changed or updated
                    if not updated:
                        break
                if _rows(engine) > self.rows:
                    return
            if not changed:
                return


def _step(engine: bindings.EGraph, phase: tuple[str, ...]) -> bool:
    """One step of each ruleset of a phase, analyses to their end; whether anything changed."""
    runs = " ".join("(saturate (run analysis))" if r == "analysis" else f"(run {r})" for r in phase)
    return bool(_execute(engine, f"(run-schedule {runs})")[-1].report.updated)


def _class(roots: Any, name: str) -> Any:
    """The class of a bound name."""
    (row,) = roots[name].rows
    return row.output


def _quoted(a: object) -> str:
    name = getattr(a, "name", a)
    return egg_text(str(name))


def _domains(p: Pattern) -> Iterable[Pattern]:
    if isinstance(p, Node):
        if p.constructor == "Red" and isinstance(p.args[2], Pattern):
            yield p.args[2]
        for a in p.args:
            if isinstance(a, Pattern):
                yield from _domains(a)


def _operands(p: Pattern, op: str = "") -> tuple[Pattern, ...]:
    """The operands of nested applications of one commutative operation; a term by itself otherwise."""
    if isinstance(p, Node) and p.constructor == "Ap2" and p.args[0] in COMMUTATIVE and op in ("", p.args[0]):
        return tuple(x for a in p.args[1:] if isinstance(a, Pattern) for x in _operands(a, str(p.args[0])))
    return (p,)


def _orders(op: str, operands: tuple[str, ...]) -> Iterable[str]:
    """The operation applied to operands in every nesting; not in every order of two, to which laws are indifferent."""
    if len(operands) == 1:
        yield operands[0]
        return
    first, *rest = operands
    for chosen in range(2 ** len(rest) - 1):
        left = (first, *(x for n, x in enumerate(rest) if chosen >> n & 1))
        right = tuple(x for n, x in enumerate(rest) if not chosen >> n & 1)
        for a in _orders(op, left):
            yield from (f'(Ap2 "{op}" {a} {b})' for b in _orders(op, right))


def rules_of(law: Law, both: bool) -> Iterable[str]:
    """egglog rules that apply a law from its left side; `both`: also from the right, where all its variables stand."""
    facts = " ".join(f for c in law.when for f in c.egg)
    for one, other in ((law.left, law.right), (law.right, law.left))[: 1 + both]:
        if isinstance(one, Node) and pattern_variables(other) <= pattern_variables(one):
            for left in orientations(one):
                yield f"(rule ((= e__ {left.egg()}) {facts}) ((union e__ {other.egg()})) :ruleset found)"


def matches(graphs: Iterable[Graph], laws: Sequence[Law], limits: Limits | None = None) -> list[int]:
    """How often the left side of each law, conditions and all, is found in the saturated e-graphs of some graphs."""
    counts = [0] * len(laws)
    rules = "\n".join(probe for n, law in enumerate(laws) for probe in _probes(n, law))
    for graph in graphs:
        for found in _matches_of(graph, rules, limits or Limits(seconds=5.0)):
            number, count = found
            counts[number] += count
    return counts


def _probes(number: int, law: Law) -> Iterable[str]:
    facts = " ".join(f for c in law.when for f in c.egg)
    for n, left in enumerate(orientations(law.left)):
        yield f'(rule ((= e__ {left.egg()}) {facts}) ((hit {number} e__)) :ruleset probe :name "probe{number}#{n}")'


def _matches_of(graph: Graph, rules: str, limits: Limits) -> Iterable[tuple[int, int]]:
    done: set[object] = set()
    for window in cut(graph):
        shared = canonical(window)
        if shared.tensors in done:
            continue
        done.add(shared.tensors)
        named = unify(shared.tensors)
        encoding = Encoding(named, frozenset(shared.tensors))
        for t in shared.tensors:
            for s in walk(named[t].body):
                encoding.scalar(s)
        _facts(encoding, [named[t].body for t in shared.tensors], limits)
        seeds = "\n".join(f"(union {left} {right})" for _, left, right in encoding.seeds)
        with _engine(limits.values) as engine:
            _execute(engine, "\n".join((*encoding.lines, seeds)))
            _Run(engine, limits, time.perf_counter()).rounds()
            _execute(engine, f"(ruleset probe) (relation hit (i64 Sc))\n{rules}")
            report = _execute(engine, "(run probe 1)")[-1].report
            hits = [row.inputs[0] for row in engine.freeze().functions["hit"].rows]
            found = [engine.value_to_i64(n) for n in hits]
        del report
        yield from ((n, found.count(n)) for n in dict.fromkeys(found))
