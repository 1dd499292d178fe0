"""Times of competing systems, taken in turns so that drift of the machine touches all alike."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Sample:
    """Milliseconds per call: the median, and the distance between the quartiles."""

    median_ms: float
    spread_ms: float
    calls: int


def interleaved(
    systems: Mapping[str, Callable[[], Any]],
    *,
    seconds: float = 2.0,
    warm_up: int = 2,
    least: int = 7,
    most: int = 200,
    pause: float = 0.005,
) -> dict[str, Sample]:
    """A sample for each system, one call of each per round, in an order drawn anew for each round.

    Rounds go on for `seconds` per system in all, but there are at least `least` and at most `most` of them. The pause
    before each call lets the threads of the system before it stop spinning.
    """
    order = random.Random(0)
    for call in systems.values():
        for _ in range(warm_up):
            call()
    times: dict[str, list[float]] = {name: [] for name in systems}
    end = time.perf_counter() + seconds * len(systems)
    names = list(systems)
    for n in range(most):
        if n >= least and time.perf_counter() > end:
            break
        order.shuffle(names)
        for name in names:
            time.sleep(pause)
            start = time.perf_counter()
            systems[name]()
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: _sample(found) for name, found in times.items()}


def _sample(times: list[float]) -> Sample:
    low, middle, high = statistics.quantiles(times, n=4)
    return Sample(middle, high - low, len(times))
