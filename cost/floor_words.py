"""From exponents to memory traffic: the constant of a bound, and the best of all feasible exponents.

A segment that holds K units sees at most U(K) = Π N_i^ζ_i · K^σ · Π_g (s_g / (σ w_g))^s_g points, σ = Σ s and s_g, w_g
the sum of the exponents and the least weight in a group. An execution of traffic Q has at most Q / T + P segments of
traffic T in P memories, each of which holds at most S + T, so

    Q ≥ (|Z| − P · U′) / (U′ / T + spill),    U′ = U(S + T) + held

with `held` further points per segment from what crosses its start in fast memory, and `spill` further points per unit
of traffic from what crosses by memory. Any T > 0 and any feasible exponents are sound; log U is convex in them, and a
barrier method finds the best. What it finds is made exact and checked against every constraint before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from tang_egg.cost.floor_program import Nest, Operand, constraints_of, multipliers
from tang_egg.cost.floor_views import Constraint, View

_ROUNDS = 3
"""How often exponents and the length of a segment are improved in turn."""

_SHARPEST = 1e7
"""The weight of the objective against the barrier at the end."""

_LARGEST = 1e3
"""Exponents beyond this mean that nothing fits."""


@dataclass(frozen=True, slots=True)
class Words:
    """The least traffic of a nest, in the unit of its weights, and what proves it."""

    least: float
    segment: float
    points: float
    views: tuple[float, ...]
    zetas: tuple[float, ...]

    @property
    def sigma(self) -> float:
        """The power of fast memory in the points of a segment."""
        return sum(self.views)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Points that a segment does not have to do from its operands.

    `held`: per unit of fast memory; `spill`: per unit of traffic. `capacity`: how often what a segment holds counts
    S (twice where accumulators may stay at its end without being stored). `more`: a nest whose points add to a
    segment's, so many times `times`.
    """

    held: float = 0.0
    spill: float = 0.0
    capacity: int = 1
    more: Nest | None = None
    times: float = 0.0


def least_words(nest: Nest, capacity: int, memories: int = 1, crossing: Crossing | None = None) -> Words:
    """The best bound found on the traffic of a nest; zero where there is none, as where not even one point fits.

    Nests that differ by names are one.
    """
    crossing = crossing or Crossing()
    if crossing.more is not None:
        crossing = replace(crossing, more=canonical(crossing.more))
    return _least(canonical(nest), capacity, memories, crossing)


def canonical(nest: Nest) -> Nest:
    """The same nest with dims and operands named by their places."""
    names = {d: f"d{n}" for n, (d, _) in enumerate(nest.sizes)}
    groups = {g: f"g{n}" for n, g in enumerate(dict.fromkeys(o.shared for o in nest.operands))}
    operands = tuple(
        Operand(f"o{n}", _renamed(o.view, names), o.weight, groups[o.shared]) for n, o in enumerate(nest.operands)
    )
    return Nest(tuple((names[d], size) for d, size in nest.sizes), operands, nest.points)


def _renamed(view: View, names: dict[str, str]) -> View:
    return tuple(sorted(tuple(sorted((names[d], c) for d, c in row)) for row in view))


@lru_cache(maxsize=1 << 12)
def _least(nest: Nest, capacity: int, memories: int, crossing: Crossing) -> Words:
    weights: dict[str, Fraction] = {}
    for o in nest.operands:
        weights[o.shared] = min(o.weight, weights.get(o.shared, o.weight))
    if not crossing.held and sum(weights.values()) > capacity:
        return Words(0.0, float(capacity), 0.0, (), ())  # a point is then made in parts, which are not modelled
    extra = _Points.of(crossing.more, capacity) if crossing.more else None
    best = _at(nest, multipliers(nest, capacity), capacity, memories, crossing, extra)
    length = best.segment if best.sigma > 1 else 2.0 * capacity
    for _ in range(_ROUNDS):
        before = best.least
        for better in _refined(nest, crossing.capacity * capacity + length):
            found = _at(nest, better, capacity, memories, crossing, extra)
            best = found if found.least > best.least else best
        if best.least <= before * 1.0001:
            break
        length = best.segment
    return best


@dataclass(frozen=True, slots=True)
class _Points:
    """log U(K) for fixed exponents: `constant` + σ log K."""

    constant: float
    sigma: float

    @staticmethod
    def of(nest: Nest, capacity: int) -> _Points:
        """Those of the best exponents at twice the fast memory."""
        tried = [multipliers(nest, capacity), *_refined(nest, 2.0 * capacity)]
        return min((_Points.with_exponents(nest, *x) for x in tried), key=lambda u: float(u.at(2.0 * capacity)))

    @staticmethod
    def with_exponents(nest: Nest, s: Sequence[Fraction], zeta: Sequence[Fraction]) -> _Points:
        sigma = float(sum(s))
        total = sum(float(z) * float(np.log(n)) for z, (_, n) in zip(zeta, nest.sizes, strict=True))
        groups: dict[str, tuple[float, float]] = {}
        for o, x in zip(nest.operands, s, strict=True):
            e, w = groups.get(o.shared, (0.0, float("inf")))
            groups[o.shared] = e + float(x), min(w, float(o.weight))
        for e, w in groups.values():
            if e > 0:
                total += e * float(np.log(e / (sigma * w)))
        return _Points(total, sigma)

    def at(self, held: Any) -> Any:
        """U(K) for an array of K."""
        return np.exp(np.minimum(self.constant + self.sigma * np.log(held), 700.0))


def _at(
    nest: Nest,
    found: tuple[Sequence[Fraction], Sequence[Fraction]],
    capacity: int,
    memories: int,
    crossing: Crossing,
    extra: _Points | None,
) -> Words:
    """The bound for some feasible exponents, at the best length of segments among many."""
    u = _Points.with_exponents(nest, *found)
    lengths = capacity * np.geomspace(1.0 / 16, 4096.0, 193)
    if u.sigma > 1:
        lengths = np.append(lengths, [crossing.capacity * capacity / (u.sigma - 1.0)])
    held = lengths + crossing.capacity * capacity
    points = u.at(held) + crossing.held * capacity
    if extra is not None:
        points = points + crossing.times * extra.at(lengths + capacity)
    points = points * (1 + 1e-12)  # what floating point may have lost
    words = (nest.points - memories * points) / (points / lengths + crossing.spill)
    k = int(np.argmax(words))
    least = max(0.0, float(words[k]) * (1 - 1e-12))
    s, zeta = found
    return Words(least, float(lengths[k]), float(points[k]), tuple(map(float, s)), tuple(map(float, zeta)))


def _refined(nest: Nest, held: float) -> Iterator[tuple[tuple[Fraction, ...], tuple[Fraction, ...]]]:
    """Exponents that make U(held) nearly least, exactly feasible; none where the method did not succeed."""
    needed = constraints_of(nest)
    count = len(nest.operands)
    x = _barrier(nest, needed, held) if needed else None
    if x is None:
        return
    # a method of inner points stops just short of simple fractions; where these are feasible they are better
    for exact in ([Fraction(float(v)).limit_denominator(24) for v in x], [Fraction(float(v)) for v in x]):
        if all(sum(a * v for a, v in zip((*c.views, *c.dims), exact, strict=True)) >= c.rank for c in needed):
            yield tuple(exact[:count]), tuple(exact[count:])


def _barrier(nest: Nest, needed: Sequence[Constraint], held: float) -> Any:
    """Minimises log U by Newton's method with a logarithmic barrier; every iterate is strictly feasible."""
    a = np.array([(*c.views, *c.dims) for c in needed], float)
    b = np.array([c.rank for c in needed], float)
    count, n = len(nest.operands), len(nest.sizes)
    names = list(dict.fromkeys(o.shared for o in nest.operands))
    member = np.zeros((len(names), count + n))
    weight = np.full(len(names), np.inf)
    for j, o in enumerate(nest.operands):
        g = names.index(o.shared)
        member[g, j] = 1.0
        weight[g] = min(weight[g], float(o.weight))
    is_view = np.concatenate([np.ones(count), np.zeros(n)])
    linear = np.concatenate([np.full(count, np.log(held)), [np.log(s) for _, s in nest.sizes]])
    x = np.concatenate([np.ones(count), np.full(n, 1.5)])

    def value(x: Any, t: float) -> float:
        slack = a @ x - b
        if slack.min() <= 0 or x.min() <= 0:
            return float("inf")
        s = member @ x
        sigma = is_view @ x
        f = linear @ x + (s * np.log(s / weight)).sum() - sigma * np.log(sigma)
        return float(t * f - np.log(slack).sum() - np.log(x).sum())

    t = 1.0
    while t < _SHARPEST:
        for _ in range(40):
            slack, s, sigma = a @ x - b, member @ x, is_view @ x
            gradient = linear + member.T @ (np.log(s / weight) + 1.0) - is_view * (np.log(sigma) + 1.0)
            gradient = t * gradient - a.T @ (1.0 / slack) - 1.0 / x
            hessian = member.T @ (member / s[:, None]) - np.outer(is_view, is_view) / sigma
            hessian = t * hessian + a.T @ (a / (slack**2)[:, None]) + np.diag(x**-2.0)
            try:
                step = -np.linalg.solve(hessian, gradient)
            except np.linalg.LinAlgError:
                return None
            descent = float(gradient @ step)
            if not np.isfinite(descent) or -descent < 1e-9:
                break
            size, now = 1.0, value(x, t)
            while value(x + size * step, t) > now + 0.1 * size * descent and size > 1e-10:
                size /= 2.0
            if size <= 1e-10:
                break
            x = x + size * step
            if x.max() > _LARGEST:  # not even one point fits: the larger the exponents, the better
                return x
        t *= 16.0
    return x if np.isfinite(value(x, t)) else None


def dual_tile(nest: Nest, words: Words, capacity: int) -> dict[str, float]:
    """Sides of the box, real numbers, that the exponents of a bound stand for: operand g takes s_g / σ of fast memory.

    A dim whose own exponent is positive is as long as the box allows. Where the views leave sides open, the smallest
    are taken.
    """
    dims = [d for d, _ in nest.sizes]
    rows, sides = [], []
    sums: dict[str, float] = {}
    for o, s in zip(nest.operands, words.views, strict=True):
        sums[o.shared] = sums.get(o.shared, 0.0) + s
    for o, s in zip(nest.operands, words.views, strict=True):
        if s > 1e-3 and o.view:
            rows.append([float(sum(d in dict(r) for r in o.view)) for d in dims])
            share = capacity * sums[o.shared] / (words.sigma * float(o.weight))
            sides.append(float(np.log(max(1.0, share))))
    for n, (z, (_, size)) in enumerate(zip(words.zetas, nest.sizes, strict=True)):
        if z > 1e-3:
            rows.append([float(n == k) for k in range(len(dims))])
            sides.append(float(np.log(size)))
    found = np.linalg.lstsq(np.array(rows), np.array(sides), rcond=None)[0] if rows else np.zeros(len(dims))
    return {d: float(min(n, max(1.0, np.exp(x)))) for (d, n), x in zip(nest.sizes, found, strict=True)}
