"""The integer programs of a certified selection for one window: with floors, with measurements, and with guesses.

A candidate costs what the kernels cost that it runs. One that others dominate takes no part while these cost no more
than it does: whatever has it would not be worse with them. So the least over the candidates that take part is the
least over all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tang_egg.errors import SelectionError
from tang_egg.extract.certify_ledger import Ledger
from tang_egg.extract.select import Ceiling, solve
from tang_egg.extract.space import WindowSpace


@dataclass(frozen=True, slots=True)
class Choice:
    """Positions of candidates that together write all outputs, and their cost together, in seconds."""

    taken: tuple[int, ...]
    seconds: float


def costs(window: WindowSpace, each: Sequence[float]) -> list[float]:
    """What each candidate costs, from the costs of kernels."""
    return [sum(each[n] for n in runs) for runs in window.runs]


def deferred(window: WindowSpace, own: Sequence[float]) -> set[int]:
    """The candidates that take no part: those whose dominators together cost no more than they do."""
    return {n for n, others in enumerate(window.behind) if others and sum(own[m] for m in others) <= own[n] < math.inf}


def least(window: WindowSpace, each: Sequence[float]) -> Choice | None:
    """The cheapest choice where kernels cost what `each` says; None where every one needs a kernel of infinite cost."""
    own = costs(window, each)
    idle = deferred(window, own)
    return _solved(window, own, [math.inf if n in idle else c for n, c in enumerate(own)])


def steady(window: WindowSpace, ledgers: Sequence[Ledger]) -> Choice | None:
    """The choice that rests on measurements: of those that are no worse than the best within the noise, the model's.

    None where no choice has all of its kernels measured.
    """
    each = [x.measured for x in ledgers]
    own = costs(window, each)
    best = _solved(window, own, own)
    if best is None:
        return None
    noise = sum(_spread(window, n, ledgers) for n in best.taken) / 2
    guesses = [k.estimate.seconds if own[n] < math.inf else math.inf for n, k in enumerate(window.candidates)]
    kept = solve(window.candidates, window.outputs, guesses, under=Ceiling(own, best.seconds + noise))
    return Choice(tuple(kept), sum(own[n] for n in kept))


def other(window: WindowSpace, each: Sequence[float], chosen: Choice) -> Choice | None:
    """The cheapest choice that lacks some candidate of `chosen`; None where there is none."""
    own = costs(window, each)
    try:
        found = solve(window.candidates, window.outputs, own, without=[chosen.taken])
    except SelectionError:
        return None
    return Choice(tuple(found), sum(own[n] for n in found))


def _spread(window: WindowSpace, n: int, ledgers: Sequence[Ledger]) -> float:
    found = [ledgers[k].timed[best].spread for k in window.runs[n] if (best := ledgers[k].best()) is not None]
    return sum(found)


def _solved(window: WindowSpace, own: Sequence[float], used: Sequence[float]) -> Choice | None:
    try:
        found = solve(window.candidates, window.outputs, used)
    except SelectionError:
        return None
    return Choice(tuple(found), sum(own[n] for n in found))
