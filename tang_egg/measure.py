"""Times candidates: warm-up, interleaved rounds, median and spread.

A `Measurer` is what selection sees; the CPU one here runs compiled programs on given arrays.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tang_egg.extract.certify_ledger import Timed
from tang_egg.program import Program
from tang_egg.run import CompiledProgram, compile_program
from tang_egg.schedule import Schedule


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
) -> list[Timed]:
    """Times some calls in turn for at most `rounds` rounds or about `seconds` in all, at least three rounds."""
    return [_summary(t) for t in call_seconds(calls, rounds, seconds, before)]


def call_seconds(
    calls: Sequence[Callable[[], object]], rounds: int, seconds: float, before: Callable[[], object], least: int = 3
) -> list[list[float]]:
    """What measure_calls sums up: the seconds of every call in at least `least` rounds."""
    for call in calls:
        call()
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds
    for n in range(rounds):
        if n >= least and time.perf_counter() > end:
            break
        for call, kept in zip(calls, times, strict=True):
            before()
            start = time.perf_counter()
            call()
            kept.append(time.perf_counter() - start)
    return times


def _summary(times: list[float]) -> Timed:
    low, _, high = statistics.quantiles(times, n=4) if len(times) > 1 else (times[0],) * 3
    return Timed(statistics.median(times), high - low, len(times))
