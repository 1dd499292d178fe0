"""Times candidates: warm-up, interleaved rounds, median and spread.

A `Measurer` is what selection sees; the CPU one here runs compiled programs on given arrays.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

import numpy as np

from tang_egg.extract.certify_ledger import Timed
from tang_egg.program import Program
from tang_egg.run import CompiledProgram, compile_program
from tang_egg.schedule import Schedule

FAR = 1.5
"""A call that always took so many times as long as another one is not worth more rounds."""


class Measurer(Protocol):
    """Times the programs that a set of schedules makes of one program."""

    def measure(self, program: Program, choices: Sequence[Mapping[str, Schedule]]) -> list[Timed]:
        """One timing for each choice of schedules, by kernel name."""
        ...


@dataclass(slots=True)
class CpuMeasurer:
    """Runs candidates on this machine's CPU.

    `arrays` and `dims` are the call's arguments. `cold`: caches are emptied before every call by writing `flush` bytes;
    otherwise the same buffers are used again and again.
    """

    arrays: Mapping[str, Any]
    dims: Mapping[str, int] = field(default_factory=dict)
    rounds: int = 15
    seconds: float = 2.0
    cold: bool = False
    flush: int = 64 << 20

    def measure(self, program: Program, choices: Sequence[Mapping[str, Schedule]]) -> list[Timed]:
        """One timing per choice of schedules, by kernel name; rounds are interleaved so that drift hits all alike."""
        compiled = [compile_program(program, c) for c in choices]
        return measure_calls([self._call(c) for c in compiled], self.rounds, self.seconds, self._before())

    def _call(self, compiled: CompiledProgram) -> Callable[[], object]:
        results = compiled(self.arrays, self.dims)
        donated = {t.name for t in compiled.program.graph.outputs if t.into}
        out = {n: a for n, a in results.items() if n not in donated}
        return lambda: compiled(self.arrays, self.dims, out)

    def _before(self) -> Callable[[], object]:
        if not self.cold:
            return lambda: None
        junk = np.zeros(self.flush // 8)
        return lambda: junk.__iadd__(1.0)


def measure_calls(
    calls: Sequence[Callable[[], object]],
    rounds: int = 15,
    seconds: float = 2.0,
    before: Callable[[], object] = lambda: None,
    rivals: Sequence[object] = (),
) -> list[Timed]:
    """Times some calls in turn for at most `rounds` rounds or about `seconds` in all, at least three rounds.

    `rivals`: what each call stands against. After three rounds one that took FAR times the least of its rivals in each
    of them is left out, since more of it would decide nothing.
    """
    return [summary(t) for t in call_seconds(calls, rounds, seconds, before, rivals=rivals)]


def call_seconds(
    calls: Sequence[Callable[[], object]], rounds: int, seconds: float, before: Callable[[], object], least: int = 3,
    rivals: Sequence[object] = (), until: float = inf,
) -> list[list[float]]:  # fmt: skip
    """What measure_calls sums up: the seconds of every call in at least `least` rounds.

    Past `until` on the clock nothing more is started, so that there may be fewer, or none.
    """
    for call in calls:
        if time.perf_counter() < until:
            call()
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds
    for n in range(rounds):
        if n >= least and time.perf_counter() > end:
            break
        beaten = _beaten(times, rivals) if n >= least else frozenset()
        for at, (call, kept) in enumerate(zip(calls, times, strict=True)):
            if at in beaten:
                continue
            if time.perf_counter() >= until:
                return times
            before()
            start = time.perf_counter()
            call()
            kept.append(time.perf_counter() - start)
    return times


def _beaten(times: Sequence[Sequence[float]], rivals: Sequence[object]) -> frozenset[int]:
    """The calls that took more than FAR times the least of their rivals in every round.

    Rounds are looked at one by one: of what slowed a whole round down, no call is to blame.
    """
    least: dict[tuple[object, int], float] = {}
    for kept, group in zip(times, rivals, strict=False):
        for r, t in enumerate(kept):
            least[group, r] = min(least.get((group, r), inf), t)
    return frozenset(
        n
        for n, (kept, group) in enumerate(zip(times, rivals, strict=False))
        if all(t > FAR * least[group, r] for r, t in enumerate(kept))
    )


def in_turns(times: Sequence[Sequence[float]]) -> list[list[float]]:
    """The seconds of calls that took turns as if every round had been as slow as the middle one.

    Of fewer than three calls it cannot be told what a round has in common.
    """
    rounds = min(map(len, times), default=0)
    if len(times) < 3 or rounds < 2:
        return [list(kept) for kept in times]
    middle = [statistics.median(kept[:rounds]) for kept in times]
    paces = [statistics.median(kept[r] / m for kept, m in zip(times, middle, strict=True)) for r in range(rounds)]
    usual = statistics.median(paces)
    return [[usual * kept[r] / paces[r] for r in range(rounds)] for kept in times]


def summary(times: Sequence[float]) -> Timed:
    """The median and the distance of the quartiles of some seconds."""
    low, _, high = statistics.quantiles(times, n=4) if len(times) > 1 else (times[0],) * 3
    return Timed(statistics.median(times), high - low, len(times), lowest=min(times))
