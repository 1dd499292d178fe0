"""The pair of linear programs behind a floor: how many points fit a segment, and the tile that has so many.

A nest is an iteration space with the views on it. With S units of fast memory and β_i = log_S N_i,

    dual    minimise Σ s_j + Σ β_i ζ_i   where the exponents satisfy the constraints of `floor_views`: a bound on points
    primal  maximise Σ λ_i, λ_i ≤ β_i    where Σ λ ≤ 1 over each view for any choice of one dim per row: a tile S^λ

Equal values certify the exponent; that is always so where no row has several dims. Both are solved exactly with β
symbolic, and `certify` checks what they say without the solver: feasibility, and complementary slackness. `stated`
gives the same programs to PuLP, with which tests compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import log

import pulp

from tang_egg.cost.floor_simplex import Form, Scale, maximise
from tang_egg.cost.floor_views import Constraint, View, constraints


@dataclass(frozen=True, slots=True)
class Operand:
    """A view that every point of a nest needs.

    `weight`: units of memory per tuple of `view`; what may be shared by several tuples counts in part. `group`:
    operands of one group share their memory. `written`: an accumulator or an output.
    """

    name: str
    view: View
    weight: Fraction = Fraction(1)
    group: str = ""
    written: bool = False

    @property
    def shared(self) -> str:
        """What the operand shares memory with: its group, or itself."""
        return self.group or self.name


@dataclass(frozen=True, slots=True)
class Nest:
    """An iteration space: the sizes of its dims (larger than one), the operands of each point, and the live points."""

    sizes: tuple[tuple[str, int], ...]
    operands: tuple[Operand, ...]
    points: int

    @property
    def views(self) -> tuple[View, ...]:
        """The views of the operands, in order."""
        return tuple(o.view for o in self.operands)


@dataclass(frozen=True, slots=True)
class Exponents:
    """Both optima of a nest, exact: multipliers s of views and ζ of dims, and tile exponents λ as forms in β."""

    dims: tuple[str, ...]
    scale: Scale
    views: tuple[Fraction, ...]
    zetas: tuple[Fraction, ...]
    tile: tuple[tuple[Fraction, ...], ...]

    @property
    def form(self) -> tuple[Fraction, ...]:
        """The exponent of the bound: Σ s, and ζ_i as the coefficient of β_i."""
        return (sum(self.views, Fraction(0)), *self.zetas)

    @property
    def value(self) -> float:
        """At most S to this power points fit a segment."""
        return self.scale.value(self.form)

    @property
    def fraction(self) -> Fraction | None:
        """The same as a fraction, where it is one."""
        return rational(self.form, self.scale)

    @property
    def tight(self) -> bool:
        """Whether the tile attains the exponent of the bound, decided exactly."""
        total = [sum(t[k] for t in self.tile) for k in range(len(self.dims) + 1)]
        return _sign([a - b for a, b in zip(self.form, total, strict=True)], self.scale) == 0

    def tile_exponents(self) -> dict[str, Fraction | float]:
        """λ of each dim: a fraction where it is one, else a number."""
        return {d: _shown(t, self.scale) for d, t in zip(self.dims, self.tile, strict=True)}


def _shown(form: Sequence[Fraction], scale: Scale) -> Fraction | float:
    exact = rational(form, scale)
    return scale.value(form) if exact is None else exact


def _sign(form: Sequence[Fraction], scale: Scale) -> int:
    denominator = 1
    for x in form:
        denominator = denominator * x.denominator
    return scale.sign([int(x * denominator) for x in form])


def rational(form: Sequence[Fraction], scale: Scale) -> Fraction | None:
    """The fraction that a form in β is, or None: every β that occurs has to be one."""
    total = Fraction(form[0])
    for a, n in zip(form[1:], scale.sizes, strict=True):
        if a:
            power = Fraction(log(n) / log(scale.base)).limit_denominator(96)
            if n**power.denominator != scale.base**power.numerator:
                return None
            total += a * power
    return total


def exponents(nest: Nest, capacity: int) -> Exponents:
    """The optima of both programs for `capacity` units of fast memory, at least two."""
    return _exponents(nest.sizes, nest.views, capacity)


@lru_cache(maxsize=1 << 12)
def _exponents(sizes: tuple[tuple[str, int], ...], views: tuple[View, ...], capacity: int) -> Exponents:
    dims = tuple(d for d, _ in sizes)
    scale = Scale(capacity, tuple(n for _, n in sizes))
    return Exponents(dims, scale, *_multipliers(sizes, views, capacity), _tile(dims, views, scale))


def multipliers(nest: Nest, capacity: int) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The optimal s and ζ alone."""
    return _multipliers(nest.sizes, nest.views, capacity)


@lru_cache(maxsize=1 << 12)
def _multipliers(
    sizes: tuple[tuple[str, int], ...], views: tuple[View, ...], capacity: int
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    return _bound(_constraints(sizes, views), len(views), Scale(capacity, tuple(n for _, n in sizes)))


@lru_cache(maxsize=1 << 12)
def _constraints(sizes: tuple[tuple[str, int], ...], views: tuple[View, ...]) -> tuple[Constraint, ...]:
    return constraints(views, dict(sizes))


def constraints_of(nest: Nest) -> tuple[Constraint, ...]:
    """The constraints on the exponents of a nest."""
    return _constraints(nest.sizes, nest.views)


def _bound(needed: Sequence[Constraint], count: int, scale: Scale) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The optimal s and ζ: the multipliers of the program whose variables are the constraints."""
    n = len(scale.sizes)
    if not needed:
        return (Fraction(0),) * count, (Fraction(0),) * n
    rows = [[c.views[j] for c in needed] for j in range(count)] + [[c.dims[i] for c in needed] for i in range(n)]
    limits = [_one(n)] * count + [_beta(i, n) for i in range(n)]
    found = maximise(rows, limits, [[c.rank for c in needed]], scale)
    return found.multipliers[:count], found.multipliers[count:]


def _one(n: int) -> Form:
    return (1, *([0] * n))


def _beta(i: int, n: int) -> Form:
    return (0, *(int(k == i) for k in range(n)))


def _tile(dims: tuple[str, ...], views: tuple[View, ...], scale: Scale) -> tuple[tuple[Fraction, ...], ...]:
    """An optimal tile: dims shorter than √S as little as possible, then all as equal as possible.

    Optimal tiles are many. Equal means that the smallest exponent is as large as possible, then the next.
    """
    n = len(dims)
    if not n:
        return ()
    short = [2 * log(size) < log(scale.base) for size in scale.sizes]
    settled: list[tuple[int, ...]] = []
    while True:
        rows, limits, objectives = _tile_program(dims, views, settled, short)
        left = [i for i in range(n) if not any(i in group for group in settled)]
        found = maximise(rows, limits, objectives, scale)
        # the last rows say that the least exponent of this round is at most that of each dim that is left
        stuck = tuple(i for i, is_stuck in zip(left, found.stuck[len(rows) - len(left) :], strict=True) if is_stuck)
        if len(stuck) in (0, len(left)):
            return found.x[:n]
        settled.append(stuck)


def _tile_program(
    dims: tuple[str, ...], views: tuple[View, ...], settled: Sequence[tuple[int, ...]], short: Sequence[bool]
) -> tuple[list[list[int]], list[Form], list[list[int]]]:
    """Variables: λ of each dim, ρ of each row of several dims (ρ ≥ its λ), and the least λ of each round."""
    n = len(dims)
    place = {d: i for i, d in enumerate(dims)}
    long_rows = tuple(dict.fromkeys(r for v in views for r in v if len(r) > 1))
    groups = [*settled, tuple(i for i in range(n) if not any(i in g for g in settled))]
    groups = [g for g in groups if g]
    width = n + len(long_rows) + len(groups)

    def unit(*at: tuple[int, int]) -> list[int]:
        row = [0] * width
        for k, c in at:
            row[k] += c
        return row

    rows: list[list[int]] = []
    limits: list[Form] = []
    for v in dict.fromkeys(views):
        rows.append(unit(*((place[r[0][0]] if len(r) == 1 else n + long_rows.index(r), 1) for r in v)))
        limits.append(_one(n))
    for k, r in enumerate(long_rows):
        for d, _ in r:
            rows.append(unit((place[d], 1), (n + k, -1)))
            limits.append((0,) * (n + 1))
    for i in range(n):
        rows.append(unit((i, 1)))
        limits.append(_beta(i, n))
    first = n + len(long_rows)
    for k in range(len(groups)):
        for i in (i for g in groups[k:] for i in g):
            rows.append(unit((first + k, 1), (i, -1)))
            limits.append((0,) * (n + 1))
    least = [unit((first + k, 1)) for k in range(len(groups))]
    return rows, limits, [unit(*((i, 1) for i in range(n))), unit(*((i, -1) for i in range(n) if short[i])), *least]


def certify(nest: Nest, found: Exponents) -> tuple[str, ...]:
    """What is wrong with both optima, without asking a solver; nothing where the exponent is certified.

    Checked exactly, with β symbolic: s, ζ and λ are feasible; and where they are claimed to be equal, complementary
    slackness between them (for views whose rows have one dim each, where the programs are each other's dual).
    """
    wrong = []
    if any(x < 0 for x in (*found.views, *found.zetas)):
        wrong.append("an exponent is negative")
    for c in constraints_of(nest):
        total = sum(a * x for a, x in zip((*c.views, *c.dims), (*found.views, *found.zetas), strict=True))
        if total < c.rank:
            wrong.append(f"a subspace of rank {c.rank} has {total} only")
    n = len(found.dims)
    value = dict(zip(found.dims, found.tile, strict=True))
    for i, d in enumerate(found.dims):
        room = [Fraction(b) - a for a, b in zip(value[d], _beta(i, n), strict=True)]
        if _sign(value[d], found.scale) < 0 or _sign(room, found.scale) < 0:
            wrong.append(f"the tile is not within {d}")
        if found.tight and projective(nest) and found.zetas[i] and _sign(room, found.scale):
            wrong.append(f"ζ of {d} is positive where the tile leaves room")
    for o, s in zip(nest.operands, found.views, strict=True):
        room = [Fraction(a) for a in _one(n)]
        for row in o.view:
            longest = max((value[d] for d, _ in row), key=found.scale.value)
            room = [a - b for a, b in zip(room, longest, strict=True)]
        if _sign(room, found.scale) < 0:
            wrong.append(f"the tile's view of {o.name} does not fit")
        if found.tight and projective(nest) and s and _sign(room, found.scale):
            wrong.append(f"s of {o.name} is positive where the tile leaves room")
    if projective(nest) and not found.tight:
        wrong.append("the programs have different values")
    return tuple(wrong)


def projective(nest: Nest) -> bool:
    """Whether every row has one dim."""
    return all(len(row) == 1 for v in nest.views for row in v)


def stated(nest: Nest, capacity: int) -> tuple[pulp.LpProblem, pulp.LpProblem]:
    """Dual and primal as programs of PuLP, in floating point."""
    beta = {d: log(n) / log(capacity) for d, n in nest.sizes}
    s = [pulp.LpVariable(f"s{j}", 0) for j in range(len(nest.operands))]
    z = [pulp.LpVariable(f"z{i}", 0) for i in range(len(nest.sizes))]
    dual = pulp.LpProblem("bound", pulp.LpMinimize)
    dual += pulp.lpSum([*s, *(b * x for b, x in zip(beta.values(), z, strict=True))])
    for c in constraints_of(nest):
        dual += pulp.lpSum(a * x for a, x in zip((*c.views, *c.dims), (*s, *z), strict=True)) >= c.rank
    tile = {d: pulp.LpVariable(f"t{i}", 0, beta[d]) for i, (d, _) in enumerate(nest.sizes)}
    primal = pulp.LpProblem("tile", pulp.LpMaximize)
    primal += pulp.lpSum(tile.values())
    for j, o in enumerate(nest.operands):
        parts = []
        for k, row in enumerate(o.view):
            longest = pulp.LpVariable(f"r{j}_{k}", 0)
            parts.append(longest)
            for d, _ in row:
                primal += longest >= tile[d]
        primal += pulp.lpSum(parts) <= 1
    return dual, primal
