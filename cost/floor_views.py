"""Views as rows of integer coefficients, and the subspaces on which a bound on their images has to be checked.

    row   ::= dim → coefficient        one coordinate of a view, without its offset
    view  ::= set of rows              equal rows count once

A row that is a split or merged axis in disguise (i·64 + k with k < 64) is taken apart: its value tells i and k. Rows
with several dims that cannot be taken apart stay, and link their dims into a block. How many points have images of
given sizes is bounded by the ranks of the views on the lattice of subspaces that their kernels generate under sum and
intersection, one lattice per block (Valdimarsson; Christ, Demmel, Knight, Scanlon and Yelick 2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import gcd, log
from typing import TypeAlias

Row: TypeAlias = "tuple[tuple[str, int], ...]"
View: TypeAlias = "tuple[Row, ...]"
Vector: TypeAlias = "tuple[int, ...]"
Space: TypeAlias = "tuple[Vector, ...]"
"""A subspace of a rational space: the reduced echelon form of a basis, each vector without a common factor."""

MOST_SPACES = 48
"""A lattice with more subspaces than this is given up, and dims are forced to stand alone instead."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """Σ s_j · `views`[j] + Σ ζ_i · `dims`[i] ≥ `rank`: what exponents must satisfy on one subspace."""

    views: Vector
    dims: Vector
    rank: int


def view_of(rows: Iterable[Mapping[str, int]], sizes: Mapping[str, int]) -> View:
    """The view that some rows are, taken apart; dims of size one and coefficients zero are dropped."""
    found: dict[Row, None] = {}
    for given in rows:
        row = _plain({d: c for d, c in given.items() if c and sizes[d] > 1})
        for part in _apart(row, sizes):
            found[part] = None
    return tuple(sorted(found))


def dims_of_view(view: View) -> frozenset[str]:
    """The dims that a view depends on."""
    return frozenset(d for row in view for d, _ in row)


def _plain(row: Mapping[str, int]) -> Row:
    """A row without a common factor, its first coefficient positive: both keep which values are equal."""
    if not row:
        return ()
    common = gcd(*row.values())
    terms = sorted(row.items())
    sign = 1 if terms[0][1] > 0 else -1
    return tuple((d, sign * c // common) for d, c in terms)


def _apart(row: Row, sizes: Mapping[str, int]) -> list[Row]:
    """The rows into which one is taken apart: hi + lo where g divides hi and lo spans less than g."""
    if len(row) < 2:
        return [row] if row else []
    for g in sorted({abs(c) for _, c in row if abs(c) > 1}):
        high = {d: c // g for d, c in row if c % g == 0}
        low = {d: c for d, c in row if c % g}
        if high and low and sum(abs(c) * (sizes[d] - 1) for d, c in low.items()) < g:
            return _apart(_plain(high), sizes) + _apart(_plain(low), sizes)
    return [row]


def strides(views: Iterable[View], sizes: Mapping[str, int]) -> dict[str, int]:
    """Dims that may be split by a stride: r in a·h + r with 1 < a < size of r, and that a."""
    found: dict[str, int] = {}
    for row in {r for v in views for r in v if len(r) > 1}:
        for d, c in row:
            steps = [abs(a) for e, a in row if e != d and abs(c) == 1 and 1 < abs(a) < sizes[d]]
            if steps:
                found[d] = min([*steps, *([found[d]] if d in found else [])])
    return found


def split_rows(view: View, steps: Mapping[str, int]) -> list[dict[str, int]]:
    """The rows of a view with every dim r of `steps` written a·r1 + r0."""
    rows: list[dict[str, int]] = []
    for row in view:
        new: dict[str, int] = {}
        for d, c in row:
            if d in steps:
                new[f"{d}/{steps[d]}"] = c * steps[d]
                new[f"{d}%{steps[d]}"] = c
            else:
                new[d] = c
        rows.append(new)
    return rows


def split_sizes(sizes: Mapping[str, int], steps: Mapping[str, int]) -> dict[str, int]:
    """The sizes after the same split; the last quotient may be incomplete."""
    new: dict[str, int] = {}
    for d, n in sizes.items():
        if d in steps:
            new[f"{d}/{steps[d]}"] = -(-n // steps[d])
            new[f"{d}%{steps[d]}"] = steps[d]
        else:
            new[d] = n
    return new


def blocks(views: Sequence[View], dims: Sequence[str]) -> list[tuple[str, ...]]:
    """Dims that rows of several terms link, as groups in the order of `dims`."""
    root = {d: d for d in dims}

    def find(d: str) -> str:
        while root[d] != d:
            d = root[d]
        return d

    for view in views:
        for row in view:
            for d, _ in row[1:]:
                root[find(d)] = find(row[0][0])
    groups: dict[str, list[str]] = {}
    for d in dims:
        groups.setdefault(find(d), []).append(d)
    return [tuple(g) for g in groups.values()]


def constraints(views: Sequence[View], sizes: Mapping[str, int]) -> tuple[Constraint, ...]:
    """What the exponents of views and dims must satisfy: enough for a bound on all sets of points.

    Where a lattice is larger than MOST_SPACES, dims are forced to ζ = 1 until each row has one free dim at most.
    """
    dims = tuple(sizes)
    place = {d: n for n, d in enumerate(dims)}
    found: dict[Constraint, None] = {}
    for block in blocks(views, dims):
        local = tuple(tuple(r for r in v if r[0][0] in block) for v in views)
        ranks = None
        if len(block) > 1:
            ranks = _lattice_ranks(tuple(_matrix(v, block) for v in local), len(block))
        if ranks is None:
            for c in _projective(local, block, place, sizes):
                found[c] = None
            continue
        for of_views, of_dims, rank in ranks:
            full = [0] * len(dims)
            for d, r in zip(block, of_dims, strict=True):
                full[place[d]] = r
            found[Constraint(of_views, tuple(full), rank)] = None
    return tuple(found)


def _projective(
    views: Sequence[View], block: Sequence[str], place: Mapping[str, int], sizes: Mapping[str, int]
) -> Iterable[Constraint]:
    """One constraint per dim; dims are forced where a row would have two that are free."""
    forced = _forced({r for v in views for r in v}, block, sizes)
    for d in block:
        unit = tuple(int(n == place[d]) for n in range(len(place)))
        reads = tuple(int(d in dims_of_view(v)) for v in views)
        yield Constraint((0,) * len(views) if d in forced else reads, unit, 1)


def _forced(rows: Iterable[Row], block: Sequence[str], sizes: Mapping[str, int]) -> frozenset[str]:
    """The cheapest dims to force, so that every row has at most one dim that is free."""
    linked = [frozenset(d for d, _ in r) for r in rows if len(r) > 1]
    if not linked:
        return frozenset()
    if len(block) > 12:  # too many to try: all but one of each row, the longest staying free where it can
        free: set[str] = set()
        for d in sorted(block, key=lambda d: -sizes[d]):
            if all(len((free | {d}) & r) < 2 for r in linked):
                free.add(d)
        return frozenset(block) - free
    best: frozenset[str] = frozenset(block)
    for count in range(len(block) + 1):
        for tried in combinations(block, count):
            left = frozenset(block) - frozenset(tried)
            cost = sum(log(sizes[d]) for d in tried)
            if all(len(left & r) < 2 for r in linked) and cost < sum(log(sizes[d]) for d in best):
                best = frozenset(tried)
    return best


def _matrix(view: View, block: Sequence[str]) -> Space:
    return tuple(tuple(dict(row).get(d, 0) for d in block) for row in view)


@lru_cache(maxsize=1 << 10)
def _lattice_ranks(maps: tuple[Space, ...], n: int) -> tuple[tuple[Vector, Vector, int], ...] | None:
    """Ranks of all maps and all coordinates on every subspace of the lattice of their kernels; None if it is large."""
    units = [tuple(int(k == i) for k in range(n)) for i in range(n)]
    start = {kernel(m, n) for m in maps} | {kernel((u,), n) for u in units}
    lattice = _closed(frozenset(s for s in start if s), n)
    if lattice is None:
        return None
    found = {
        (tuple(_rank_on(m, h) for m in maps), tuple(_rank_on((u,), h) for u in units), len(h)): None
        for h in sorted(lattice | {reduced(units)}, key=lambda h: (len(h), h))
    }
    return tuple(found)


def _closed(start: frozenset[Space], n: int) -> frozenset[Space] | None:
    """The closure of some subspaces under sum and intersection, without the zero space."""
    known = set(start)
    pending = list(start)
    while pending:
        a = pending.pop()
        for b in list(known):
            for c in (reduced((*a, *b)), intersection(a, b, n)):
                if c and c not in known:
                    known.add(c)
                    pending.append(c)
            if len(known) > MOST_SPACES:
                return None
    return frozenset(known)


def reduced(vectors: Iterable[Vector]) -> Space:
    """The subspace that some vectors span, as a basis that is the same for equal subspaces."""
    rows = [[Fraction(x) for x in v] for v in vectors]
    width = len(rows[0]) if rows else 0
    done = 0
    for column in range(width):
        pivot = next((r for r in range(done, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        lead = rows[done][column]
        rows[done] = [x / lead for x in rows[done]]
        for r in range(len(rows)):
            if r != done and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[done], strict=True)]
        done += 1
    return tuple(_whole(r) for r in rows[:done])


def _whole(row: Sequence[Fraction]) -> Vector:
    scale = 1
    for x in row:
        scale = scale * x.denominator // gcd(scale, x.denominator)
    whole = [int(x * scale) for x in row]
    common = gcd(*whole)
    return tuple(x // common for x in whole)


def kernel(matrix: Iterable[Vector], n: int) -> Space:
    """The vectors of length n that a matrix takes to zero."""
    echelon = reduced(matrix)
    leads = [next(k for k, x in enumerate(row) if x) for row in echelon]
    basis: list[Vector] = []
    for free in (k for k in range(n) if k not in leads):
        v = [Fraction(0)] * n
        v[free] = Fraction(1)
        for row, lead in zip(echelon, leads, strict=True):
            v[lead] = Fraction(-row[free], row[lead])
        basis.append(_whole(v))
    return reduced(basis)


def intersection(a: Space, b: Space, n: int) -> Space:
    """What two subspaces share: the vectors that both of their complements take to zero."""
    return kernel((*kernel(a, n), *kernel(b, n)), n)


def _rank_on(matrix: Space, space: Space) -> int:
    """The rank of a map on a subspace."""
    return len(reduced(tuple(sum(m * x for m, x in zip(row, v, strict=True)) for row in matrix) for v in space))
