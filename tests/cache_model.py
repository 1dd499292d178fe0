"""An explicit fast memory: what a schedule moves when evictions are ideal, element by element.

A schedule is a list of steps; each step touches some elements at one time, all of which must be in fast memory then.
Elements of inputs are loaded when they are absent. Accumulators come into being without a load; one that is evicted
before its last use is stored and loaded again, and each is stored once at its end if it is an output. What is needed
furthest in the future is evicted first (Belady).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import inf


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the elements it reads, those it accumulates into."""

    reads: tuple[Hashable, ...]
    sums: tuple[Hashable, ...] = ()


def moved(steps: Sequence[Step], capacity: int, outputs: frozenset[Hashable]) -> float:
    """Words loaded and stored by a schedule with `capacity` words; infinite where a step does not fit.

    Elements of `sums` that are no outputs are values between steps: they vanish after their last use.
    """
    uses: dict[Hashable, list[int]] = {}
    for n, s in enumerate(steps):
        for e in dict.fromkeys((*s.reads, *s.sums)):
            uses.setdefault(e, []).append(n)
    made = {e for s in steps for e in s.sums}
    after = {e: iter(u) for e, u in uses.items()}
    next_use: dict[Hashable, float] = {}
    held: set[Hashable] = set()
    known: set[Hashable] = set()  # values that exist somewhere
    stored: set[Hashable] = set()  # of those, the ones with a current copy in memory
    words = 0
    for n, s in enumerate(steps):
        needed = dict.fromkeys((*s.reads, *s.sums))
        if len(needed) > capacity:
            return inf
        for e in needed:
            while (at := next(after[e], inf)) <= n:
                pass
            next_use[e] = at
        absent = [e for e in needed if e not in held]
        while len(held) + len(absent) > capacity:
            victim = max((e for e in held if e not in needed), key=lambda e: (next_use[e], e not in made, repr(e)))
            held.discard(victim)
            final = next_use[victim] == inf
            if victim in made and victim not in stored and (not final or victim in outputs):
                words += 1
                stored.add(victim)
        for e in absent:
            words += int(e not in made or e in known)
            held.add(e)
        known.update(s.sums)
        stored.difference_update(s.sums)
        for e in [e for e in held if next_use[e] == inf and e not in outputs]:
            held.discard(e)
    return words + len(outputs - stored)


def tilings(sizes: Mapping[str, int]) -> Iterator[list[dict[str, int]]]:
    """The points of a box in the order of every tiling by boxes, for every order of the loops."""
    dims = [d for d, n in sizes.items() if n > 1]
    fixed = {d: 0 for d, n in sizes.items() if n == 1}
    choices = [sorted({1, 2, 3, -(-sizes[d] // 2), sizes[d]} & set(range(1, sizes[d] + 1))) for d in dims]
    for order in permutations(range(len(dims))):
        for sides in product(*choices):
            points = sorted(
                product(*(range(sizes[d]) for d in dims)),
                key=lambda p: ([p[k] // sides[k] for k in order], [p[k] for k in order]),
            )
            yield [{**fixed, **dict(zip(dims, p, strict=True))} for p in points]
