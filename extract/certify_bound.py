"""A bound on every choice of kernels that needs no trust in a solver: weak duality in exact arithmetic, and branching.

    choices   x[k] ∈ {0, 1},  Σ x[k] ≥ 1 over writers of each output,  Σ x[k] ≥ x[n] over writers of what n reads
    bound     for any y, z ≥ 0:  cost ≥ Σ y − Σ max(0, (y and z that k earns) − (z that k pays) − cost[k])

The multipliers come from a linear program whose solver may be wrong: whatever they are, the bound is evaluated as a sum
of fractions and holds. Where it falls short, one candidate is ruled out and taken in turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pulp

from tang_egg.egraph import ClassId
from tang_egg.extract.select import Candidate, in_order
from tang_egg.extract.solver import run

NODES = 4000
"""Branches that are looked at, at most."""
EXACT = 1 << 40
"""Multipliers are rounded down to multiples of the cost unit over this."""


@dataclass(frozen=True, slots=True)
class _Open:
    """A part of the choices: candidates that are left to choose from, and those that are taken."""

    left: frozenset[int]
    taken: frozenset[int]


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether no choice costs less than `least`; `nodes` branches were looked at. `known`: the best bound shown."""

    holds: bool
    known: float
    nodes: int


def no_choice_below(
    candidates: Sequence[Candidate], outputs: Sequence[ClassId], costs: Sequence[float], least: float
) -> Proof:
    """Whether every choice that writes `outputs` costs at least `least`; one of infinite cost is never taken."""
    able = frozenset(n for n, c in enumerate(costs) if c < math.inf)
    exact = [Fraction(c) if c < math.inf else Fraction(0) for c in costs]
    wanted, known, nodes = Fraction(least), math.inf, 0
    stack = [_Open(able, frozenset())]
    while stack:
        part = stack.pop()
        nodes += 1
        bound, branch = _bounded(candidates, outputs, exact, part)
        if bound is None or bound >= wanted:  # also where a circle is left: more of it would only cost more
            known = min(known, math.inf if bound is None else float(bound))
            continue
        if branch is None or nodes >= NODES:
            return Proof(False, min(known, float(bound)), nodes)
        stack.append(_Open(part.left - {branch}, part.taken))
        stack.append(_Open(part.left - {branch}, part.taken | {branch}))
    return Proof(True, known, nodes)


def _bounded(
    candidates: Sequence[Candidate], outputs: Sequence[ClassId], costs: Sequence[Fraction], part: _Open
) -> tuple[Fraction | None, int | None]:
    """The bound on a part, and the candidate to branch on; (None, None) where the part is empty."""
    have = {c for n in part.taken for c in candidates[n].writes}
    wanted = dict.fromkeys((*outputs, *(r for n in part.taken for r in candidates[n].reads)))
    needs = [c for c in wanted if c not in have]
    left = sorted(part.left)
    if not part.taken.issubset(in_order(candidates, part.taken | part.left)):
        return None, None  # what is taken waits in a circle, and nothing that is left opens it
    spent = sum((costs[n] for n in part.taken), Fraction(0))
    if not needs:
        stuck = part.taken.difference(in_order(candidates, part.taken))
        read = {c for n in stuck for c in candidates[n].reads}
        return spent, next((n for n in left if stuck and read & set(candidates[n].writes)), None)
    writers: dict[ClassId, list[int]] = {}
    for n in left:
        for c in candidates[n].writes:
            writers.setdefault(c, []).append(n)
    if any(c not in writers for c in needs):
        return None, None
    pays = [(n, c) for n in left for c in candidates[n].reads if c not in have]
    y, z, x = _multipliers(left, needs, pays, writers, costs)
    earned = dict.fromkeys(left, Fraction(0))
    for c in needs:
        for n in writers[c]:
            earned[n] += y[c]
    for (n, c), value in zip(pays, z, strict=True):
        earned[n] -= value
        for m in writers.get(c, ()):
            earned[m] += value
    over = sum((max(Fraction(0), earned[n] - costs[n]) for n in left), Fraction(0))
    bound = spent + max(Fraction(0), sum(y.values(), Fraction(0)) - over)
    split = [n for n in left if 1e-6 < x[n] < 1 - 1e-6] or [n for n in left if x[n] > 0.5]
    branch = min(split, key=lambda n: (abs(x[n] - 0.5), n)) if split else None
    return bound, branch


def _multipliers(
    left: Sequence[int], needs: Sequence[ClassId], pays: Sequence[tuple[int, ClassId]],
    writers: dict[ClassId, list[int]], costs: Sequence[Fraction],
) -> tuple[dict[ClassId, Fraction], list[Fraction], dict[int, float]]:  # fmt: skip
    """Multipliers of both kinds of constraints that a linear program finds, and what it takes of each candidate."""
    unit = float(max((costs[n] for n in left), default=Fraction(1))) or 1.0
    program = pulp.LpProblem("bound", pulp.LpMinimize)
    take = {n: pulp.LpVariable(f"k{n}", 0, 1) for n in left}
    program += pulp.lpSum(float(costs[n]) / unit * take[n] for n in left)
    for at, c in enumerate(needs):
        program += pulp.lpSum(take[n] for n in writers[c]) >= 1, f"y{at}"
    for at, (n, c) in enumerate(pays):
        program += pulp.lpSum(take[m] for m in writers.get(c, ())) - take[n] >= 0, f"z{at}"
    run(program)  # whatever comes of it: a bound holds for any multipliers
    step = Fraction(unit).limit_denominator(1 << 62) / EXACT

    def rounded(name: str) -> Fraction:
        value = program.constraints[name].pi or 0.0
        return Fraction(max(0, math.floor(value * EXACT))) * step

    x = {n: float(v.value() or 0.0) for n, v in take.items()}
    y = {c: rounded(f"y{at}") for at, c in enumerate(needs)}
    return y, [rounded(f"z{at}") for at in range(len(pays))], x
