"""How long steps that cannot be interrupted took, so that none is begun that would end too late."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

CAREFUL = 1.25
"""By how much a step may take longer than the slowest before it."""


@dataclass(slots=True)
class Pace:
    """The steps of a measurement by kind: building a kernel, comparing it, timing it."""

    slowest: dict[str, float] = field(default_factory=dict)
    total: dict[str, float] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def step(self, kind: str) -> Iterator[None]:
        """Counts what is done inside as one step."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - begun
            self.slowest[kind] = max(self.slowest.get(kind, 0.0), took)
            self.total[kind] = self.total.get(kind, 0.0) + took
            self.count[kind] = self.count.get(kind, 0) + 1

    def room(self, until: float, *kinds: str) -> bool:
        """Whether steps of these kinds, as slow as the slowest so far, end before `until` on the clock."""
        return until == inf or time.perf_counter() + CAREFUL * sum(self.slowest.get(k, 0.0) for k in kinds) <= until

    def each(self, *kinds: str) -> float:
        """Seconds of one step of each of some kinds, on average; 0 for kinds of which there was none."""
        return sum(self.total[k] / self.count[k] for k in kinds if self.count.get(k))


BUILD, COMPARE, REPEAT, TIME = "build", "compare", "repeat", "time"
"""Kinds: kernels built; one compared with the interpreter; compared with results that were right; a batch timed."""
