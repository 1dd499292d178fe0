"""Times calls on a GPU: each call captured several times in a graph, graphs replayed in turns between two events.

A launch from Python lasts longer than a small kernel; a replayed graph has no such gaps. Calls that take turns see the
same clocks. Caches are warm: the same buffers again and again. Give a call as a list of equal calls over different
buffers, together larger than the cache, and each finds it cold (cold_calls makes such a list).
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Protocol, TypeAlias

import numpy as np

from tang_egg.extract.certify_ledger import Timed
from tang_egg.program import Program
from tang_egg.run_cuda import CudaProgram, compile_cuda
from tang_egg.run_cuda_driver import Driver, driver
from tang_egg.schedule import Schedule

Call: TypeAlias = "Callable[[], object]"
SPAN = 0.005
"""Seconds that one replay lasts at least, as far as MOST allows."""
MOST = 200
"""Calls in one graph, at most."""


@dataclass(frozen=True, slots=True)
class DeviceTiming(Timed):
    """Seconds per call, as Timed. `how`: "graph", or "events" with what hindered a capture."""

    how: str = "graph"


class Clock(Protocol):
    """What timing needs of a device."""

    def capture(self, calls: Sequence[Call]) -> Call:
        """The replay of some calls as one graph. Raises an exception of any kind where they cannot be captured."""

    def seconds(self, run: Call) -> float:
        """The time between an event before and one after what `run` enqueues."""

    def synchronize(self) -> None: ...


def time_calls(
    calls: Mapping[str, Call | Sequence[Call]], *, iterations: int = 0, rounds: int = 9, clock: Clock | None = None
) -> dict[str, DeviceTiming]:
    """Seconds per call of each of some calls, taken in turns for `rounds` rounds.

    `iterations`: calls in one replay; 0 chooses for each so many that a replay lasts SPAN.
    """
    timer = clock or device_clock()
    timer.synchronize()  # inputs and counters must be ready: streams of a capture do not wait for others
    runs: dict[str, tuple[Call, int, str]] = {}
    for name, given in calls.items():
        turns = [given] if callable(given) else list(given)
        for call in (*turns, *turns):
            call()
        timer.synchronize()
        runs[name] = _captured(turns, iterations or _iterations(turns, timer), timer)
    for run, _, _ in runs.values():
        run()
    timer.synchronize()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, (run, count, _) in runs.items():
            times[name].append(timer.seconds(run) / count)
    return {name: _timing(kept, runs[name][2]) for name, kept in times.items()}


def _iterations(turns: list[Call], timer: Clock) -> int:
    """Calls that last SPAN together."""
    once = min(timer.seconds(turns[0]) for _ in range(3))
    return max(1, min(MOST, ceil(SPAN / max(once, 1e-7))))


def _captured(turns: list[Call], wanted: int, timer: Clock) -> tuple[Call, int, str]:
    count = ceil(wanted / len(turns)) * len(turns)
    series = [turns[n % len(turns)] for n in range(count)]
    try:
        return timer.capture(series), count, "graph"
    except Exception as error:  # whatever the call does that a graph cannot hold
        timer.synchronize()
        said = " ".join(str(error).split())[:120]
        return (lambda: [call() for call in series]), count, f"events ({type(error).__name__}: {said})"


def _timing(times: list[float], how: str) -> DeviceTiming:
    low, _, high = statistics.quantiles(times, n=4) if len(times) > 1 else (times[0],) * 3
    return DeviceTiming(statistics.median(times), high - low, len(times), how, lowest=min(times))


class TorchClock:
    """torch's graphs: they also hold calls that allocate by torch. CuPy's launches follow torch's stream."""

    def __init__(self, torch: Any, cupy: Any) -> None:
        self.torch, self.cupy = torch, cupy

    def capture(self, calls: Sequence[Call]) -> Call:
        stream, graph = self.torch.cuda.Stream(), self.torch.cuda.CUDAGraph()
        with self.torch.cuda.stream(stream), self.cupy.cuda.ExternalStream(stream.cuda_stream):
            calls[0]()
            stream.synchronize()
            with self.torch.cuda.graph(graph, stream=stream):
                for call in calls:
                    call()
        return graph.replay  # type: ignore[no-any-return]

    def seconds(self, run: Call) -> float:
        first, last = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        stream = self.torch.cuda.current_stream()
        with self.cupy.cuda.ExternalStream(stream.cuda_stream):
            first.record()
            run()
            last.record()
        last.synchronize()
        return float(first.elapsed_time(last)) / 1e3

    def synchronize(self) -> None:
        self.torch.cuda.synchronize()


class CupyClock:
    """CuPy's graphs, on a stream of their own."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)

    def capture(self, calls: Sequence[Call]) -> Call:
        with self.stream:
            calls[0]()
            self.stream.synchronize()
            self.stream.begin_capture()
            try:
                for call in calls:
                    call()
            finally:
                graph = self.stream.end_capture()
        return lambda: graph.launch(self.stream)

    def seconds(self, run: Call) -> float:
        first, last = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        with self.stream:
            first.record(self.stream)
            run()
            last.record(self.stream)
        last.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(first, last)) / 1e3

    def synchronize(self) -> None:
        self.cupy.cuda.runtime.deviceSynchronize()


def device_clock() -> Clock:
    """The clock of the current device: torch's where torch is loaded and sees it, else CuPy's."""
    cupy = driver().cupy
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return TorchClock(torch, cupy)
    return CupyClock(cupy)


def cold_calls(
    compiled: CudaProgram, arrays: Mapping[str, np.ndarray[Any, Any]], dims: Mapping[str, int] | None = None
) -> list[Call]:
    """Equal calls over copies of some arrays of the host, together twice the size of the device's cache."""
    first = compiled.prepare(arrays, dims)
    size = sum(a.nbytes for a in arrays.values()) + sum(int(a.nbytes) for a in first.outputs.values())
    count = ceil(2 * compiled.driver.cache / max(1, size)) + 1
    return [first, *(compiled.prepare(arrays, dims) for _ in range(min(count, MOST) - 1))]


@dataclass(slots=True)
class CudaMeasurer:
    """Runs candidates on the current GPU; see measure.CpuMeasurer. `arrays` lie on the host."""

    arrays: Mapping[str, Any]
    dims: Mapping[str, int] = field(default_factory=dict)
    rounds: int = 9
    cold: bool = False
    on: Driver | None = None
    clock: Clock | None = None

    def measure(self, program: Program, choices: Sequence[Mapping[str, Schedule]]) -> list[Timed]:
        """One timing per choice of schedules, by kernel name."""
        compiled = {str(n): compile_cuda(program, c, on=self.on) for n, c in enumerate(choices)}
        return list(self.time(compiled).values())

    def time(self, compiled: Mapping[str, CudaProgram]) -> dict[str, DeviceTiming]:
        """The timing of each of some compiled programs."""
        calls = {name: self._call(c) for name, c in compiled.items()}
        return time_calls(calls, rounds=self.rounds, clock=self.clock)

    def _call(self, compiled: CudaProgram) -> Call | Sequence[Call]:
        if self.cold:
            return cold_calls(compiled, self.arrays, self.dims)
        return compiled.prepare(self.arrays, self.dims)
