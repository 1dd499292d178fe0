"""An integer tile that fits fast memory, and what its loops move.

A tile has a side b_d for each dim. One tile of each operand is held; loops over tiles run in some order, and an operand
is loaded anew whenever a loop outside or at its innermost dim steps. Accumulators are written at the end of each visit
and read again at all but the first. The search starts from the tile of the linear program, rounded down, and from
those that stream one dim element by element; then single sides and pairs are changed while the traffic falls. Sliding
windows are taken to be loaded whole: what neighbouring tiles share is not saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from tang_egg.cost.floor_program import Nest, Operand, exponents


@dataclass(frozen=True, slots=True)
class Tile:
    """Sides of a tile, the dims of the innermost loops over tiles, outermost first, and the traffic of these loops.

    `words` counts units of weight as the nest does, `held` those that one tile of everything takes.
    """

    sides: tuple[tuple[str, int], ...]
    inner: tuple[str, ...]
    words: float
    held: float

    def __str__(self) -> str:
        return " × ".join(f"{d} {b}" for d, b in self.sides) or "one point"


_CLIMBS = 3
"""How many of the starting tiles are improved."""

_STEPS = 40
"""How often each is improved at most."""


@lru_cache(maxsize=1 << 11)
def best_tile(nest: Nest, capacity: int, stored: tuple[tuple[str, float], ...] = ()) -> Tile | None:
    """The best tile found for `capacity` units; None where not even a tile of one point fits.

    `stored`: units that one element of a written operand takes in memory, where that is not its weight.
    """
    search = _Search(nest, capacity, dict(stored))
    starts = search.starts()
    starts = starts[search.held(starts) <= capacity]
    if not len(starts):
        return None
    words, _ = search.traffic(starts)
    climbed = np.array([search.climbed(starts[k]) for k in np.argsort(words, kind="stable")[:_CLIMBS]])
    words, order = search.traffic(climbed)
    k = int(np.argmin(words))
    sides = climbed[k]
    inner = tuple(search.dims[n] for n in order[k] if sides[n] < search.sizes[n])
    held = float(search.held(climbed[k : k + 1])[0])
    return Tile(tuple((d, int(b)) for d, b in zip(search.dims, sides, strict=True)), inner, float(words[k]), held)


class _Search:
    """The closed-form traffic of many tiles of one nest at once: arrays of sides, one row for each tile."""

    def __init__(self, nest: Nest, capacity: int, stored: Mapping[str, float]) -> None:
        self.nest = nest
        self.capacity = capacity
        self.dims = tuple(d for d, _ in nest.sizes)
        self.sizes = np.array([n for _, n in nest.sizes], np.int64)
        place = {d: n for n, d in enumerate(self.dims)}
        groups: dict[tuple[str, object, bool], Operand] = {}
        for o in nest.operands:  # views of one array that differ by offsets only are one
            groups.setdefault((o.shared, o.view, o.written), o)
        self.operands = tuple(groups.values())
        self.own = [frozenset(place[d] for r in o.view for d, _ in r) for o in self.operands]
        self.rows = [[[(place[d], abs(c)) for d, c in r] for r in o.view] for o in self.operands]
        self.out = [stored.get(o.name, float(o.weight)) for o in self.operands]
        n = len(self.dims)
        pairs: list[tuple[int, ...]] = [(a, b) for a in range(n) for b in range(n) if a != b]
        self.orders = pairs or [tuple(range(n))]

    def footprint(self, j: int, sides: Any) -> Any:
        """Elements of operand j in each tile."""
        total = np.ones(len(sides))
        for row in self.rows[j]:
            total = total * (sum((c * (sides[:, d] - 1) for d, c in row), np.int64(0)) + 1)
        return np.minimum(total, np.prod(sides[:, sorted(self.own[j])].astype(float), axis=1))

    def held(self, sides: Any) -> Any:
        """Units that one tile of every operand takes."""
        total = np.zeros(len(sides))
        for j, o in enumerate(self.operands):
            total = total + float(o.weight) * self.footprint(j, sides)
        return total

    def traffic(self, sides: Any) -> tuple[Any, list[tuple[int, ...]]]:
        """Units moved in the best order of loops for each tile, and its two innermost loops."""
        trips = (-(-self.sizes // sides)).astype(float)
        every = np.prod(trips, axis=1)
        parts = [self._parts(j, sides, trips) for j in range(len(self.operands))]
        totals = []
        for inner in self.orders:
            words = np.zeros(len(sides))
            for j, o in enumerate(self.operands):
                visits = every
                for d in reversed(inner):
                    if d in self.own[j]:
                        break
                    visits = visits / trips[:, d]
                distinct, part, whole = parts[j]
                moved = np.minimum(visits * part, whole * visits / distinct)
                if o.written:
                    once = moved * distinct / visits
                    words = words + 2.0 * float(o.weight) * (moved - once) + self.out[j] * once
                else:
                    words = words + float(o.weight) * moved
            totals.append(words)
        table = np.array(totals)
        best = np.argmin(table, axis=0)
        return table[best, np.arange(len(sides))], [self.orders[k] for k in best]

    def _parts(self, j: int, sides: Any, trips: Any) -> tuple[Any, Any, Any]:
        """Different tiles of an operand, elements of one, and of all: ragged tiles at the ends move less."""
        distinct = np.prod(trips[:, sorted(self.own[j])], axis=1)
        single = all(len(r) == 1 for r in self.rows[j])
        whole = self.footprint(j, self.sizes[None, :]) if single else np.array([np.inf])
        return distinct, self.footprint(j, sides), whole

    def starts(self) -> Any:
        """The tile of the linear program, scaled to fit, and variants that stream one dim."""
        exact = exponents(self.nest, max(2, self.capacity))
        powers = np.array([exact.scale.value(t) for t in exact.tile])
        scales = self.capacity / 1.4 ** np.arange(40)
        tried = np.floor(scales[:, None] ** powers[None, :] + 1e-9)
        tried = np.clip(tried, 1, self.sizes).astype(np.int64).reshape(len(scales), len(self.dims))
        found = [np.ones((1, len(self.dims)), np.int64)]
        for free in (None, *range(len(self.dims))):
            sides = tried.copy()
            if free is not None:
                sides[:, free] = 1
            fitting = np.flatnonzero(self.held(sides) <= self.capacity)
            if len(fitting):
                found.append(sides[fitting[:1]])
        return np.concatenate(found)

    def climbed(self, sides: Any) -> Any:
        """Changes single sides and pairs while the traffic falls, and fits in memory."""
        least = float(self.traffic(sides[None, :])[0][0])
        for _ in range(_STEPS):
            tried = self._neighbours(sides)
            tried = tried[self.held(tried) <= self.capacity]
            if not len(tried):
                break
            words, _ = self.traffic(tried)
            k = int(np.argmin(words))
            if not words[k] < least * (1 - 1e-12):
                break
            sides, least = tried[k], float(words[k])
        return sides

    def _neighbours(self, sides: Any) -> Any:
        """Tiles with one or two sides changed, each with one of these as large as fits as well."""
        n = len(self.dims)
        found: list[tuple[int, int, int, int]] = []
        for d in range(n):
            found += [(d, b, d, b) for b in (int(sides[d]), *self._steps(d, int(sides[d])))]
        for d, e in combinations(range(n), 2):
            second = (int(sides[e]), *self._steps(e, int(sides[e])))
            found += [(d, b, e, c) for b in self._steps(d, int(sides[d])) for c in second]
        changes = np.array(found)
        tried = np.repeat(sides[None, :], len(changes), axis=0)
        row = np.arange(len(changes))
        tried[row, changes[:, 0]] = changes[:, 1]
        tried[row, changes[:, 2]] = changes[:, 3]
        # the second of a pair as large as fits, whatever it was: only the first change matters then
        grown = [self._grown(np.unique(tried[changes[:, 0] == d], axis=0), e) for d in range(n) for e in range(n)]
        return np.concatenate([tried, *grown])

    def _steps(self, d: int, b: int) -> list[int]:
        """Sides near b: one more or less, double and half, and those of one more or one less trip."""
        n = int(self.sizes[d])
        trips = -(-n // b)
        near = {b - 1, b + 1, b // 2, 2 * b, 1, n, -(-n // (trips + 1)), -(-n // max(trips - 1, 1))}
        return sorted(x for x in near if 1 <= x <= n and x != b)

    def _grown(self, sides: Any, d: int) -> Any:
        """The tiles with the side of one dim as large as fits."""
        low, high = np.ones(len(sides), np.int64), np.full(len(sides), self.sizes[d])
        while (low < high).any():
            middle = (low + high + 1) // 2
            tried = sides.copy()
            tried[:, d] = middle
            fits = self.held(tried) <= self.capacity
            low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
        grown = sides.copy()
        grown[:, d] = low
        return np.unique(grown, axis=0)
