"""Times calls in turns beside yardsticks, which tell how slow the machine is at that moment.

While others hold a core, a kernel on threads takes many times as long, through batches of timings in a row, and one
without threads does not. So each kind of calls has a yardstick, the first call of the kind, which takes part in every
session. A session in which a yardstick took clearly longer than at its best is held again, a few times; the calmest
counts, and what the yardstick took in it stands with the times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from statistics import median
from typing import TypeAlias

from tang_egg.extract.certify_ledger import Timed, Yardstick
from tang_egg.measure import call_seconds, in_turns, summary

QUIET = 1.15
"""Times its least that a yardstick may take in a session that is not held again."""
TRIES = 4
PAUSE = 0.03
"""Seconds between two sessions: what disturbed one may be over then."""

Call: TypeAlias = "Callable[[], object]"


@dataclass(slots=True)
class Turns:
    """Times batches of calls. `rounds`: of a session; `before`: what goes before every call."""

    rounds: int
    before: Call = lambda: None
    yards: dict[Hashable, Yardstick] = field(default_factory=dict)

    def timed(
        self, calls: Mapping[int, Call], kinds: Mapping[int, Hashable], rivals: Mapping[int, object] | None,
        seconds: float, until: float = inf,
    ) -> dict[int, Timed | None]:  # fmt: skip
        """The time of each call; None where nothing could be timed before `until` on the clock.

        `rivals`: see measure_calls. Without, all calls take part in all rounds, and what rounds have in common is
        taken off their spread.
        """
        end = min(time.perf_counter() + seconds, until)
        new = any(k not in self.yards for k in kinds.values())
        for n, k in kinds.items():
            self.yards.setdefault(k, Yardstick(calls[n]))
        found: dict[int, Timed | None] = dict.fromkeys(calls)
        calmest: dict[Hashable, float] = {}
        for tried in range(TRIES):
            times, readings = self._session(calls, kinds, rivals, max(0.0, end - time.perf_counter()), until)
            for n, t in times.items():
                if t is not None and readings.get(kinds[n], inf) < calmest.get(kinds[n], inf):
                    found[n] = replace(t, yard=readings[kinds[n]], yardstick=self.yards[kinds[n]])
            for k, r in readings.items():
                calmest[k] = min(r, calmest.get(k, inf))
                self.yards[k].least = min(r, self.yards[k].least)
            calm = all(r <= QUIET * self.yards[k].least for k, r in readings.items())
            if (calm and tried >= new) or time.perf_counter() + PAUSE >= end:
                break
            time.sleep(PAUSE)
        return found

    def _session(
        self, calls: Mapping[int, Call], kinds: Mapping[int, Hashable], rivals: Mapping[int, object] | None,
        seconds: float, until: float,
    ) -> tuple[dict[int, Timed | None], dict[Hashable, float]]:  # fmt: skip
        """What each call took, and each yardstick in the median."""
        own = {k: self.yards[k].call for k in kinds.values()}
        apart = {k: yard for k, yard in own.items() if not any(yard is c for c in calls.values())}
        series = [*calls.values(), *apart.values()]
        groups = () if rivals is None else [*(rivals[n] for n in calls), *(object() for _ in apart)]
        taken = call_seconds(series, self.rounds, seconds, self.before, rivals=groups, until=until)
        readings = {
            k: median(t) for k, yard in own.items() for c, t in zip(series, taken, strict=True) if c is yard and t
        }
        kept = taken[: len(calls)] if rivals is not None else in_turns(taken)[: len(calls)]
        return {n: summary(t) if t else None for n, t in zip(calls, kept, strict=True)}, readings
