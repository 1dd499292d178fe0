"""Discovery of laws: equalities of small terms that hold on random inputs and that the table does not prove yet.

    vocabulary → terms, one for each value → agreements → what each needs → less what the table proves
               → less what those chosen before prove → confirmed by the interpreter, marked, ranked by use

Enumeration runs twice: on values of every sign over any domain, and on positive values over domains that have points,
where more terms agree. The weakest conditions under which an agreement never failed become those of the law. Candidates
with few conditions, few nodes and many variables are chosen first, since the others are often instances of them; after
each choice, what it proves together with the table is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tang_egg.affine import Index, affine
from tang_egg.cost.roofline import Costs
from tang_egg.discover_law import DOMAIN, Equality, canonical, domains, goal, law_of, name_of, stub, with_domain
from tang_egg.discover_measure import as_scalar, confirmed, marks, needs, occurring
from tang_egg.discover_prove import Holding, Prover, Question, matches
from tang_egg.discover_terms import Candidate, Enumeration, Variable, Vocabulary, draws, pattern_size
from tang_egg.ir import Graph, Input, Read
from tang_egg.progress import note
from tang_egg.rules.law import Law
from tang_egg.rules.pattern import Name, Node, Pattern, Var, pattern_variables
from tang_egg.rules.table import entries

POINTS = 3
_WINDOW = 150
"""Candidates that are tried against each choice; the others wait behind them."""

_SHARE = 0.6
"""Of the time, what enumeration may take."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How long and with which draws to look: seconds, a seed, how many laws, and the graphs that rank them.

    `strict`: what saturation itself would not find is news, although it follows from laws in another order.
    """

    seed: int = 0
    seconds: float = 60.0
    limit: int = 20
    strict: bool = False
    graphs: tuple[tuple[str, Callable[[], Graph]], ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A law that the table lacks. `saves` is the predicted seconds of its left side less those of its right side, over
    1024 rows and 512 points; `uses` how often its left side stands in the saturated graphs that rank.
    """

    law: Law
    needs: Holding
    variables: tuple[Variable, ...]
    saves: float
    cost: float
    uses: int
    stub: str
    goal: str


@dataclass(slots=True)
class Discovery:
    """What was found, best first, and how much was looked at; `complete`: no limit of time cut it short."""

    findings: list[Finding] = field(default_factory=list)
    terms: int = 0
    agreements: int = 0
    known: int = 0
    refuted: int = 0
    implied: int = 0
    waiting: int = 0
    complete: bool = True
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Asked:
    """An agreement under canonical names, with what it needs and what it saves."""

    equality: Equality
    holding: Holding
    saves: float
    cost: float

    @property
    def order(self) -> tuple[object, ...]:
        e = self.equality
        demands = len(self.holding.positive) + self.holding.inhabited
        return (
            demands + pattern_size(e.left) + pattern_size(e.right),
            demands,
            -len(e.variables),
            -sum(v.bound for v in e.variables),
            str(e.left),
            str(e.right),
        )


def discover(vocabulary: Vocabulary, settings: Settings) -> Discovery:
    """The laws over a vocabulary that the table does not prove, ranked by what they would save in some graphs."""
    start = time.perf_counter()
    result = Discovery()
    asked = _agreements(vocabulary, settings, start, result)
    prover = Prover(_pool(), vocabulary.index, strict=settings.strict)
    note("prove", 0, len(asked))
    open_ = _open(asked, prover, result)
    chosen = _minimised(open_, prover, settings, start, result)
    result.findings = _ranked(chosen, settings)
    result.seconds = time.perf_counter() - start
    return result


def _pool() -> tuple[Variable, ...]:
    """Every variable that a canonical equality may have."""
    reals = (Variable(x, True) for x in "xyzuv")
    fixed = (Variable(c, False) for c in "cdeg")
    bools = (Variable(p, True, "bool") for p in "pqrs")
    return (*reals, *fixed, *bools)


def _agreements(vocabulary: Vocabulary, settings: Settings, start: float, result: Discovery) -> list[_Asked]:
    """Agreements of both enumerations, each once under canonical names, with what they need; most general first."""
    found: dict[tuple[Pattern, Pattern], _Asked] = {}
    costs = Costs()
    for n, favourable in enumerate((False, True)):
        rng = np.random.default_rng(settings.seed)
        given = draws(vocabulary.variables, POINTS + (not favourable), rng, favourable=favourable)
        until = start + settings.seconds * _SHARE * (0.5 if n == 0 else 1.0)
        many = Enumeration(
            vocabulary,
            given,
            POINTS + (not favourable),
            until,
            lambda size, terms: note("enumerate", size, vocabulary.size),
        )
        pairs = many.run()
        result.terms += many.terms
        result.complete &= many.complete
        for count, pair in enumerate(pairs):
            note("condition", count, len(pairs))
            made = _asked(pair, vocabulary, settings, costs)
            if made is None:
                result.refuted += 1
            else:
                found.setdefault((made.equality.left, made.equality.right), made)
    result.agreements = len(found)
    return sorted(found.values(), key=lambda a: a.order)


def _asked(pair: Candidate, vocabulary: Vocabulary, settings: Settings, costs: Costs) -> _Asked | None:
    """An agreement from its dearer to its cheaper side; None where no condition makes it true or it cannot be a law."""
    turned = _turned(pair, vocabulary.variables, costs)
    if turned is None:
        return None
    e = canonical(*turned, vocabulary.variables)
    holding = needs(e.left, e.right, e.variables, settings.seed)
    if holding is None:
        return None
    before, after = (_cost(side, e.variables, costs) for side in (e.left, e.right))
    return _Asked(e, holding, before - after, before)


def _turned(pair: Candidate, variables: Sequence[Variable], costs: Costs) -> tuple[Pattern, Pattern] | None:
    """The sides of an agreement in the direction in which it saves and in which a law can be applied."""
    sides = [pair.left, pair.right]
    open_ = any(v.bound for s in sides if not domains(s) for v in occurring(variables, s))
    if open_ and any(domains(s) for s in sides):
        return None  # a term of the index beside a fold over it: both are constants
    prices = [(_cost(s, occurring(variables, s), costs), pattern_size(s)) for s in sides]
    if prices[1] > prices[0]:
        sides.reverse()
    for left, right in (tuple(sides), tuple(reversed(sides))):
        if isinstance(left, Node) and left.constructor != "Lit" and _variables(right) <= _variables(left):
            return left, right
    return None


def _variables(p: Pattern) -> frozenset[object]:
    return frozenset(v for v in pattern_variables(p) if isinstance(v, Var))


def _cost(p: Pattern, variables: Sequence[Variable], costs: Costs) -> float:
    """Predicted seconds to make a term over 1024 rows and 512 points."""
    row, index = Index("row", affine(1024)), Index("j", affine(512))
    reads = {}
    for v in variables:
        axes = (row, index) if v.bound else (row,)
        kind = "f32" if v.type == "real" else "bool"
        reads[v.name] = Read(Input(v.name, tuple(i.size for i in axes), kind), tuple(map(affine, axes)))
    return costs.heuristic(as_scalar(p, reads, index))


def _open(asked: list[_Asked], prover: Prover, result: Discovery) -> list[_Asked]:
    """Those that the table does not prove."""
    settled = prover.settled([_question(a) for a in asked])
    result.known = sum(settled)
    return [a for a, done in zip(asked, settled, strict=True) if not done]


def _question(a: _Asked) -> Question:
    return Question(a.equality.left, a.equality.right, a.holding)


def _minimised(
    waiting: list[_Asked], prover: Prover, settings: Settings, start: float, result: Discovery
) -> list[tuple[_Asked, Law]]:
    """Candidates none of which follows from the table and those before it."""
    chosen: list[tuple[_Asked, Law]] = []
    taken = set(entries())
    until = start + settings.seconds * 0.9
    while waiting and len(chosen) < settings.limit:
        note("choose", len(chosen), settings.limit)
        if time.perf_counter() > until:
            result.complete = False
            break
        first, *waiting = waiting
        e = first.equality
        if not confirmed(e.left, e.right, e.variables, first.holding, settings.seed):
            result.refuted += 1
            continue
        widened = _widened(first, settings)
        measured = marks(e.left, e.right, e.variables, first.holding, settings.seed)
        made = law_of(widened.equality, replace(measured, needs=widened.holding), Name("j"), name_of(e, taken))
        chosen.append((first, made))
        near = waiting[:_WINDOW]
        settled = prover.settled([_question(a) for a in near], [made for _, made in chosen])
        result.implied += sum(settled)
        waiting = [a for a, done in zip(near, settled, strict=True) if not done] + waiting[_WINDOW:]
    result.waiting = len(waiting)
    return chosen


def _widened(a: _Asked, settings: Settings) -> _Asked:
    """The same with any domain in the place of all points, where that is as true."""
    left, right = (with_domain(side) for side in (a.equality.left, a.equality.right))
    if {*domains(left), *domains(right)} != {DOMAIN}:
        return a
    variables = (*a.equality.variables, Variable("w", True, "bool"))
    holding = needs(left, right, variables, settings.seed)
    if holding is None or holding.positive != a.holding.positive:
        return a
    if holding.inhabited != a.holding.inhabited and a.holding.inhabited:
        return a
    return replace(a, equality=Equality(left, right, a.equality.variables), holding=holding)


def _ranked(chosen: Iterable[tuple[_Asked, Law]], settings: Settings) -> list[Finding]:
    """Findings by use times saving; what is used nowhere comes last."""
    pairs = list(chosen)
    uses = [0] * len(pairs)
    for n, (_, make) in enumerate(settings.graphs):
        note("rank", n, len(settings.graphs))
        uses = [a + b for a, b in zip(uses, matches([make()], [made for _, made in pairs]), strict=True)]
    note("rank", len(settings.graphs), len(settings.graphs))
    found = []
    for (asked, made), count in zip(pairs, uses, strict=True):
        holding = _holding_of(made)
        found.append(
            Finding(
                made, holding, asked.equality.variables, asked.saves, asked.cost, count, stub(made),
                goal(made, asked.equality.variables),
            )
        )  # fmt: skip
    return sorted(found, key=lambda f: (-f.uses * max(f.saves, 0.0), -f.saves, f.law.name))


def _holding_of(law: Law) -> Holding:
    positive = frozenset(x.name for c in law.when for x in c.positive)
    return Holding(positive, any(c.inhabited for c in law.when))
