"""The last comparison of a search: what may be the fastest is timed once more, all in the same rounds.

Times of different batches are not comparable on a machine that others use: the state of the machine changes more in
between than schedules differ, and the batch that met a quiet moment would win. What is in question is what may be near
the best when each time is taken at the pace of the machine in that moment.
"""

from __future__ import annotations

from collections.abc import Sequence

from tang_egg.extract.certify_choice import Choice, least, other
from tang_egg.extract.certify_ledger import Ledger
from tang_egg.extract.space import WindowSpace

NEAR = 1.15
"""Times the best that something may take to be compared once more."""
MOST = 8
"""Schedules of a kernel that are compared, at most, beside those that look faster than the one that is picked."""
PASSES = 3
"""Comparisons at most: what one of them brings up takes part in the next."""


def leaders(window: WindowSpace, ledgers: Sequence[Ledger], upper: Choice | None) -> list[tuple[int, int]]:
    """The kernels and schedules that may be the best of a window."""
    each = [x.hoped for x in ledgers]
    best = least(window, each)
    if upper is None or best is None:
        return []
    choices, second = [upper, best], other(window, each, best)
    if second is not None and second.seconds <= NEAR * best.seconds:
        choices.append(second)
    found: list[tuple[int, int]] = []
    for k in dict.fromkeys(k for choice in choices for c in choice.taken for k in window.runs[c]):
        found += [(k, n) for n in near(ledgers[k])]
    return found


def near(x: Ledger) -> list[int]:
    """The schedules of a kernel that may be its best, the most promising first."""
    ordered = sorted(x.timed, key=lambda n: (x.timed[n].hoped, n))
    found = [n for n in ordered if x.timed[n].hoped <= NEAR * x.hoped][:MOST]
    found += [n for n in ordered if n not in found and (x.timed[n].median < x.measured or n == x.best())][:MOST]
    return found
