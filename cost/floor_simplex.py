"""Small linear programs solved exactly, with right-hand sides that are logarithms.

    maximise c·x  where  A x ≤ b,  x ≥ 0

A and c are integers; each entry of b is an integer combination of 1 and β_i = log N_i / log S, at least zero. All
pivots are made in integers (Bareiss), and forms in β are compared by floating-point logarithms, or by integer powers
where these are too close. So the optimum, its multipliers and the optimal x are exact, β staying symbolic. Several
objectives are taken one after the other, each without harm to those before. Bland's rule keeps it from cycling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, log, prod
from typing import TypeAlias

Form: TypeAlias = "tuple[int, ...]"
"""a_0 + Σ a_i β_i, as (a_0, a_1, ...)."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The base S and the sizes N_i that give β its values."""

    base: int
    sizes: tuple[int, ...]

    def value(self, form: Sequence[int | Fraction]) -> float:
        """The number that a form is."""
        total = sum(float(a) * log(n) for a, n in zip(form[1:], self.sizes, strict=True))
        return float(form[0]) + total / log(self.base)

    def sign(self, form: Sequence[int]) -> int:
        """Whether a form is negative, zero or positive: -1, 0 or 1. Exact."""
        bases = (self.base, *self.sizes)
        terms = [a * log(n) for a, n in zip(form, bases, strict=True)]
        total, size = sum(terms), sum(map(abs, terms))
        if abs(total) > 1e-9 * size:
            return 1 if total > 0 else -1
        common = gcd(*form)
        if not common:
            return 0
        above: int = prod(n ** (a // common) for a, n in zip(form, bases, strict=True) if a > 0)
        below: int = prod(n ** (-a // common) for a, n in zip(form, bases, strict=True) if a < 0)
        return (above > below) - (above < below)


@dataclass(frozen=True, slots=True)
class Solution:
    """The optimal x as forms in β, the multipliers of the rows for the first objective, and which rows are `stuck`:
    those that hold with equality in all optima, as far as the multipliers of all objectives tell.
    """

    x: tuple[tuple[Fraction, ...], ...]
    multipliers: tuple[Fraction, ...]
    stuck: tuple[bool, ...]


def maximise(
    rows: Sequence[Sequence[int]], limits: Sequence[Form], objectives: Sequence[Sequence[int]], scale: Scale
) -> Solution:
    """The optimum of the program. It must be bounded, as it is where every variable has a limit."""
    n, m = len(rows[0]), len(rows)
    table = [[*row, *(int(k == r) for k in range(m))] for r, row in enumerate(rows)]
    sides = [list(b) for b in limits]
    goals = [[*(-c for c in objective), *([0] * m)] for objective in objectives]
    basis = list(range(n, n + m))
    denominator = 1
    for stage in range(len(goals)):
        while True:
            entering = next(
                (k for k in range(n + m) if goals[stage][k] < 0 and not any(g[k] for g in goals[:stage])), None
            )
            if entering is None:
                break
            leaving = _leaving(table, sides, basis, entering, scale)
            denominator = _pivot(table, sides, goals, leaving, entering, denominator)
            basis[leaving] = entering
    x = [tuple([Fraction(0)] * len(limits[0]))] * n
    for r, b in enumerate(basis):
        if b < n:
            x[b] = tuple(Fraction(a, denominator) for a in sides[r])
    multipliers = tuple(Fraction(goals[0][n + r], denominator) for r in range(m))
    return Solution(tuple(x), multipliers, tuple(any(g[n + r] for g in goals) for r in range(m)))


def _leaving(table: list[list[int]], sides: list[list[int]], basis: list[int], entering: int, scale: Scale) -> int:
    """The row that limits the entering variable first; among equals that of the smallest variable."""
    best = -1
    for r, row in enumerate(table):
        if row[entering] <= 0:
            continue
        if best < 0:
            best = r
            continue
        mine, other = row[entering], table[best][entering]
        order = scale.sign([a * other - b * mine for a, b in zip(sides[r], sides[best], strict=True)])
        if order < 0 or (order == 0 and basis[r] < basis[best]):
            best = r
    assert best >= 0, "the program is unbounded"
    return best


def _pivot(
    table: list[list[int]],
    sides: list[list[int]],
    goals: list[list[int]],
    leaving: int,
    entering: int,
    denominator: int,
) -> int:
    """One exchange, in integers over a common denominator; gives the new denominator."""
    row, side = table[leaving], sides[leaving]
    p = row[entering]
    for r, other in enumerate(table):
        if r != leaving:
            f = other[entering]
            if not f and p == denominator:
                continue
            table[r] = [(a * p - f * b) // denominator for a, b in zip(other, row, strict=True)]
            sides[r] = [(a * p - f * b) // denominator for a, b in zip(sides[r], side, strict=True)]
    for r, goal in enumerate(goals):
        f = goal[entering]
        if not f and p == denominator:
            continue
        goals[r] = [(a * p - f * b) // denominator for a, b in zip(goal, row, strict=True)]
    return p
