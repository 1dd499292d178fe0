"""Turns of competing systems on one processor: seconds per call while nothing else runs.

In each round every system has one turn, in an order that rotates. A turn is a pause, until the threads of the
systems before it stop spinning; one call that does not count, unless calls are long; then as many calls as last about
4 ms. Before a turn the machine must be quiet, and a turn during which other processes ran is taken again: what they
used is what /proc/stat counts beyond this process.

A system far behind the quickest gets fewer turns: one call where it is 25 times slower, three turns where 4 times.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Call: TypeAlias = "Callable[[], Any]"
STAT = Path("/proc/stat")
LENGTH, MOST = 4e-3, 300
"""Seconds of one turn, and its calls at most."""
LONG = 0.03
"""Seconds from which on a call needs no call before it."""
BEHIND, FAR = 4.0, 25.0
FEW = 3
TIMES = ("median_ms", "spread_ms", "p10_ms", "p90_ms", "least_ms")
SPINNING = 0.4
"""Seconds that a pause lasts at most because of threads of this process."""
AGAIN = 8
"""How often a turn is taken at most, where others keep running."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Milliseconds per call over the turns. `once`: of a single call, by a system that is far behind."""

    median_ms: float
    spread_ms: float
    p10_ms: float
    p90_ms: float
    least_ms: float
    turns: int
    calls: int
    once: bool = False


def foreign() -> float:
    """Seconds of processors that anything but this process has used so far; 0 always where the system does not say."""
    try:
        fields = STAT.read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    used = sum(map(int, fields[1:4] + fields[6:8]))  # user, nice, system, irq, softirq
    return float(used) / os.sysconf("SC_CLK_TCK") - time.process_time()


@dataclass(slots=True)
class Turns:
    """The protocol, with what it needs of the system. `patience`: seconds to wait for quiet in all."""

    patience: float = 600.0
    pause: float = 0.04
    others: Callable[[], float] = foreign
    clock: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep
    own: Callable[[], float] = time.process_time
    waited: float = 0.0
    spent: float = 0.0
    disturbed: float = 0.0

    def quiet(self) -> None:
        """Returns when others use less than a fifth of one processor, or when the patience is over.

        Threads of this process that go on spinning longer than a pause are waited for, for SPINNING at most.
        """
        end = self.clock() + SPINNING
        while True:
            start, before, mine = self.clock(), self.others(), self.own()
            self.sleep(self.pause)
            if self.own() - mine < 0.1 * self.pause or self.clock() > end:
                break
        if self.others() - before < 0.6 * self.pause:
            return
        while self.clock() - start < self.patience - self.waited:
            before = self.others()
            self.sleep(0.3)
            if self.others() - before < 0.06:
                break
        self.waited += self.clock() - start

    def turn(self, call: Call, calls: int, warm: bool) -> float:
        """Seconds per call of one turn."""
        for _ in range(AGAIN):
            self.quiet()
            if warm:
                call()
            before, start = self.others(), self.clock()
            for _ in range(calls):
                call()
            took = self.clock() - start
            others = self.others() - before
            if others < 0.02 + 0.1 * took or self.waited >= self.patience:
                break
        self.disturbed += max(0.0, others)
        self.spent += took
        return took / calls

    def share(self) -> float:
        """What others used during the turns so far, over their length; the count starts anew."""
        found = self.disturbed / max(self.spent, 1e-9)
        self.disturbed = self.spent = 0.0
        return found


def samples(systems: Mapping[str, Call], rounds: int, seconds: float, turns: Turns) -> dict[str, Sample]:
    """A sample for each system after `rounds` rounds, or less when `seconds` are over (but three).

    Every call was made before at least once. Without rounds each is called once: the times then say little.
    """
    guess = {name: _once(call, turns.clock) for name, call in systems.items()}
    if not rounds:
        return {name: _sample([t], 1, True) for name, t in guess.items()}
    best = min(guess.values(), default=0.0)
    far = {name for name, t in guess.items() if t > FAR * best and t > 0.02}
    running = {name: call for name, call in systems.items() if name not in far}
    for name, call in running.items():
        guess[name] = min(guess[name], turns.turn(call, 1, False))
    best = min((guess[name] for name in running), default=best)
    calls = {name: max(1, min(MOST, int(LENGTH / max(guess[name], 1e-9)))) for name in running}
    times: dict[str, list[float]] = {name: [] for name in running}
    order, end = list(running), turns.clock() + seconds
    for n in range(rounds if order else 0):
        if n >= FEW and turns.clock() > end:
            break
        first = n % len(order)
        for name in order[first:] + order[:first]:
            if n < FEW or guess[name] <= max(LONG, BEHIND * best):
                times[name].append(turns.turn(running[name], calls[name], guess[name] < LONG))
    found = {name: _sample([guess[name]], 1, True) for name in far}
    return found | {name: _sample(t, calls[name]) for name, t in times.items()}


def _once(call: Call, clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start


def _sample(times: list[float], calls: int, once: bool = False) -> Sample:
    ordered = sorted(1e3 * t for t in times)
    last = len(ordered)
    low, middle, high = statistics.quantiles(ordered, n=4, method="inclusive") if last > 1 else ordered * 3
    return Sample(middle, high - low, ordered[last // 10], ordered[last * 9 // 10], ordered[0], last, calls, once)


def fields(sample: Sample | None) -> dict[str, Any]:
    """What a row of the log says of a sample; nothing of none."""
    if sample is None:
        return {}
    times = {n: float(f"{getattr(sample, n):.4g}") for n in TIMES}
    return times | {"turns": sample.turns, "calls": sample.calls} | ({"once": True} if sample.once else {})
