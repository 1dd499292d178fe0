"""How many points of an affine domain are live, and how many elements a view touches: exact, or less, never more.

    condition ::= Σ c_d · d + constant ≥ 0

Dims that no condition or row links are counted apart, and counts multiplied. A group of linked dims is listed point by
point where it is small; a larger one by the interval of its longest dim for each of the others; beyond that only part
of it is looked at, which counts fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tang_egg.cost.floor_views import Row, View, dims_of_view

Sizes: TypeAlias = "tuple[tuple[str, int], ...]"

MOST_POINTS = 1 << 20
"""Points that are listed at once."""


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """Σ c_d · d + `constant` ≥ 0."""

    terms: Row
    constant: int = 0

    @property
    def dims(self) -> frozenset[str]:
        """The dims that occur."""
        return frozenset(d for d, _ in self.terms)


def live(sizes: Mapping[str, int], conditions: Iterable[Condition], onto: Iterable[str]) -> int:
    """The number of tuples of the dims `onto` that some live point of the whole box has, or less."""
    return touched(tuple(((d, 1),) for d in sorted(set(onto))), sizes, conditions)


def touched(view: View, sizes: Mapping[str, int], conditions: Iterable[Condition] = ()) -> int:
    """The number of different values of a view over the live points of a box, or less."""
    needed = frozenset(conditions)
    if any(not c.terms and c.constant < 0 for c in needed):
        return 0
    total = 1
    for group in _groups(view, sizes, needed):
        rows = tuple(r for r in view if r[0][0] in group)
        own = tuple(sorted(c for c in needed if c.dims & group))
        total *= _group_touched(rows, tuple(sorted((d, sizes[d]) for d in group)), own)
    return total


def _groups(view: View, sizes: Mapping[str, int], conditions: Iterable[Condition]) -> list[frozenset[str]]:
    """Dims linked by rows and conditions; those that neither mentions are left out unless they are empty."""
    groups: list[frozenset[str]] = []
    linked = [frozenset(d for d, _ in r) for r in view] + [c.dims for c in conditions if c.terms]
    for link in [*linked, *(frozenset((d,)) for d, n in sizes.items() if n == 0)]:
        meeting = [g for g in groups if g & link]
        groups = [g for g in groups if not g & link] + [link.union(*meeting)]
    return groups


@lru_cache(maxsize=1 << 12)
def _group_touched(view: View, sizes: Sizes, conditions: tuple[Condition, ...]) -> int:
    size = dict(sizes)
    volume = prod(size.values())
    if not volume:
        return 0
    single = all(len(r) == 1 for r in view)
    if not conditions and single:
        return prod(size[d] for d in dims_of_view(view))
    if volume <= MOST_POINTS:
        return _listed(view, size, conditions)
    if not conditions:
        return max(_apart(view, size), _part(view, size, conditions))
    return max(_by_interval(view, size, conditions) if single else 0, _part(view, size, conditions))


def _grid(dims: Sequence[str], size: Mapping[str, int]) -> dict[str, Any]:
    """The coordinates of all points, one axis for each dim."""
    shape = [size[d] for d in dims]
    return {d: np.arange(size[d]).reshape([-1 if k == n else 1 for k in range(len(shape))]) for n, d in enumerate(dims)}


def _listed(view: View, size: Mapping[str, int], conditions: Sequence[Condition]) -> int:
    """The exact count, by listing all points."""
    dims = tuple(size)
    at = _grid(dims, size)
    shape = tuple(size.values())
    alive = np.ones(shape, bool)
    for c in conditions:
        alive &= sum((k * at[d] for d, k in c.terms), np.int64(c.constant)) >= 0
    if not view:
        return int(alive.any())
    if all(len(r) == 1 for r in view):
        gone = tuple(n for n, d in enumerate(dims) if d not in dims_of_view(view))
        return int(alive.any(axis=gone).sum()) if gone else int(alive.sum())
    key = np.zeros(shape, np.int64)
    for row in view:
        low = sum(min(c, 0) * (size[d] - 1) for d, c in row)
        span = sum(abs(c) * (size[d] - 1) for d, c in row) + 1
        key = key * span + (sum((c * at[d] for d, c in row), np.int64(0)) - low)
    return int(np.unique(key[alive]).size)


def _part(view: View, size: Mapping[str, int], conditions: Sequence[Condition]) -> int:
    """A count over parts of the box that are small enough to be listed: the lower ends of the longest dims."""
    small = dict(size)
    while prod(small.values()) > MOST_POINTS:
        longest = max(small, key=lambda d: small[d])
        small[longest] = -(-small[longest] // 2)
    upper = [Condition(c.terms, c.constant + sum(k * (size[d] - small[d]) for d, k in c.terms)) for c in conditions]
    return max(_listed(view, small, conditions), _listed(view, small, upper))


def _apart(view: View, size: Mapping[str, int]) -> int:
    """Values of a view on the whole box: a product over rows, each with the dims that no row before it has used."""
    used: set[str] = set()
    total = 1
    for row in sorted(view, key=len):
        own = [(abs(c), size[d]) for d, c in row if d not in used]
        used |= {d for d, _ in row}
        # sums of sets of integers have at least as many elements as their sizes less one, added up, and one
        total *= sum(n - 1 for _, n in own) + 1
    return total


def _by_interval(view: View, size: Mapping[str, int], conditions: Sequence[Condition]) -> int:
    """A count for views of single dims: for each point of the other dims, the interval of one."""
    kept = dims_of_view(view)
    best = 0
    for inner in sorted(size, key=lambda d: (-size[d], d))[:2]:
        outer = {d: n for d, n in size.items() if d != inner}
        if prod(outer.values()) > 4 * MOST_POINTS:
            continue
        low, high = _interval(inner, outer, size, conditions)
        count = np.maximum(high - low + 1, 0)
        gone = tuple(n for n, d in enumerate(outer) if d not in kept)
        if inner not in kept:
            count = np.minimum(count, 1)
        # tuples that several eliminated points share are counted for one of these only
        best = max(best, int(count.max(axis=gone).sum() if gone else count.sum()))
    return best


def _interval(inner: str, outer: Mapping[str, int], size: Mapping[str, int], conditions: Sequence[Condition]) -> Any:
    """The least and the greatest live value of `inner` at each point of the other dims."""
    # live.py does the same for indices and the inequalities of terms: it asks for points of which one index may be
    # anything that fits, or for nothing; here elements of views are counted, and any lower number will do
    at = _grid(tuple(outer), outer)
    shape = tuple(outer.values())
    low, high = np.zeros(shape, np.int64), np.full(shape, size[inner] - 1, np.int64)
    for c in conditions:
        k = dict(c.terms).get(inner, 0)
        rest = sum((a * at[d] for d, a in c.terms if d != inner), np.int64(c.constant))
        if k > 0:
            low = np.maximum(low, -(rest // k))
        elif k < 0:
            high = np.minimum(high, rest // -k)
        else:
            high = np.where(rest >= 0, high, -1)
    return low, high
