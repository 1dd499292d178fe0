"""Times on a GPU: each system's calls stand in a CUDA graph, and the graphs are replayed in turns.

So all systems see the same clocks and temperature, and the gaps between launches are those of a graph. Where a call
cannot be captured, the same number of plain calls is timed instead, and the result says so.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

TARGET_MS = 10.0
"""What one replay should take."""
MOST = 512


@dataclass(frozen=True, slots=True)
class Timed:
    """Milliseconds per call over the rounds."""

    median_ms: float
    spread_ms: float  # between the quartiles
    spread: float  # between the 20th and the 80th percentile, over the median
    rounds: int


class Replay(Protocol):
    """Some calls of one system, ready to run again. `milliseconds` runs them, waits, and gives the time of all."""

    iterations: int
    how: str

    def run(self) -> None: ...

    def milliseconds(self) -> float: ...


def iterations(one_ms: float, target_ms: float = TARGET_MS) -> int:
    """How many calls of `one_ms` make a replay of about the target."""
    return max(1, min(MOST, math.ceil(target_ms / max(one_ms, 1e-4))))


def in_turns(systems: Mapping[str, Replay], rounds: int = 15, warm_up: int = 2) -> dict[str, Timed]:
    """One replay of each system per round, in an order drawn anew for each round."""
    order = random.Random(0)
    for _ in range(warm_up):
        for replay in systems.values():
            replay.milliseconds()
    times: dict[str, list[float]] = {name: [] for name in systems}
    names = list(systems)
    for _ in range(rounds):
        order.shuffle(names)
        for name in names:
            times[name].append(systems[name].milliseconds() / systems[name].iterations)
    return {name: summary(found) for name, found in times.items()}


def summary(times: list[float]) -> Timed:
    """Median and spreads of at least two times."""
    middle = statistics.median(times)
    quarter = statistics.quantiles(times, n=4, method="inclusive")
    fifth = statistics.quantiles(times, n=5, method="inclusive")
    return Timed(middle, quarter[2] - quarter[0], (fifth[3] - fifth[0]) / middle, len(times))


@contextmanager
def stream() -> Iterator[Any]:
    """A torch stream that is current for torch and, where CuPy is installed, for CuPy; all other work has ended."""
    import torch

    torch.cuda.synchronize()  # a side stream does not wait for what the default stream still does
    side = torch.cuda.Stream()
    with ExitStack() as stack:
        stack.enter_context(torch.cuda.stream(side))
        try:
            import cupy
        except ImportError:
            pass
        else:
            stack.enter_context(cupy.cuda.ExternalStream(side.cuda_stream))
        yield side
        torch.cuda.synchronize()


class Calls:
    """Plain calls, timed by the clock between two waits for the whole device: they may run on any stream."""

    def __init__(self, call: Callable[[], Any], iterations: int, how: str = "plain calls") -> None:
        self.call, self.iterations, self.how = call, iterations, how

    def run(self) -> None:
        for _ in range(self.iterations):
            self.call()

    def milliseconds(self) -> float:
        import torch

        torch.cuda.synchronize()
        start = time.perf_counter()
        self.run()
        torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - start)


class Graph:
    """The same calls captured in a graph, timed by events around its replay. Raises what the capture raises."""

    how = "graph"

    def __init__(self, call: Callable[[], Any], iterations: int, side: Any) -> None:
        import torch

        self.iterations = iterations
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=side):
            for _ in range(iterations):
                call()

    def run(self) -> None:
        self._graph.replay()

    def milliseconds(self) -> float:
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.run()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end))


def replay(call: Callable[[], Any], side: Any, rewritten: Callable[[Callable[[], None]], bool]) -> Replay:
    """The calls in a graph where that works, else plain; `call` has run before.

    `rewritten` is given what to run, and tells whether the output was computed anew: a system that launches on another
    stream leaves its graph empty, and its time would be that of nothing.
    """
    import torch

    trial = Calls(call, 2)
    trial.milliseconds()
    count = iterations(trial.milliseconds() / 2)
    try:
        captured = Graph(call, count, side)
        if rewritten(captured.run):
            return captured
        why = "its graph is empty"
    except Exception as failure:  # a system may raise anything; the reason goes into the row
        torch.cuda.synchronize()
        why = f"{type(failure).__name__}: {failure}".splitlines()[0][:120]
    return Calls(call, count, f"plain calls, not captured: {why}")
