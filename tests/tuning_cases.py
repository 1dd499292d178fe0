"""Graphs, entries and measurers for tests of tuning: nothing here depends on how fast this machine is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import tang_egg as te
from tang_egg.database import Entry
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.ir import Graph
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.tune_kernel import Subject, TunedKernel
from tang_egg.tune_schedules import Tuning, tuning


def rows(m: Any = 24, n: Any = 40, name: str = "rows", array: str = "X", scale: float = 2.0) -> Graph:
    """Sums of rows, scaled: one kernel."""
    i, j = te.index("i", m), te.index("j", n)
    x = te.input(array, (m, n))
    return te.graph(name, Y=te.tensor(None, i, te.sum(j, x[i, j]) * scale))


def two_kernels() -> Graph:
    """A product of matrices and sums of its rows' squares by a power that no pass joins: two kernels."""
    i, j, k = te.index("i", 20), te.index("j", 24), te.index("k", 28)
    a, b = te.input("A", (20, 28)), te.input("B", (28, 24))
    c = te.tensor("C", (i, j), te.sum(k, a[i, k] * b[k, j]))
    return te.graph("two", C=c, Y=te.tensor(None, i, te.max(j, c[i, j])))


def entry(graph: Graph, schedule: str | Schedule | None = None, *, n: int = 0, **changes: Any) -> Entry:
    """An entry of this machine for the n-th kernel of a graph, twice as fast by `schedule` (of canonical names)."""
    run = tuning(graph, sizes=changes.pop("at", None))
    subject = run.subjects()[n]
    first = first_of(run, subject)
    chosen = parse_schedule(schedule) if isinstance(schedule, str) else schedule or Schedule()
    made = TunedKernel(subject, 3, 2, 0, 0, 1, 1e-7, first, Timed(2e-3, 1e-5, 9), chosen, Timed(1e-3, 1e-5, 9))
    return replace(run.line(made, 1e-7), **changes)


def first_of(run: Tuning, subject: Subject) -> Schedule:
    """The first proposal of a kernel."""
    return run.space(subject)[1].schedules[0]


@dataclass
class Fake:
    """A measurer that gives what `seconds` says of a schedule; from `stop` trials on an interrupt comes."""

    seconds: Callable[[Schedule], float | Refused]
    spread: float = 0.0
    stop: int = 1 << 30
    cache: str = "warm"
    batch: int = 4
    seen: list[str] = field(default_factory=list)

    def measure(
        self, trials: Sequence[Trial], seconds: float, within: float = math.inf
    ) -> list[Timed | Refused | None]:
        found: list[Timed | Refused | None] = []
        for t in trials:
            if len(self.seen) >= self.stop:
                raise KeyboardInterrupt
            schedule = t.kernel.schedules[t.schedule]
            self.seen.append(str(schedule))
            s = self.seconds(schedule)
            found.append(s if isinstance(s, Refused) else Timed(s, self.spread * s, 9, lowest=0.9 * s))
        return found


def faked(graph: Graph, measurer: Fake, **options: Any) -> Tuning:
    """A run that measures nothing."""
    run = tuning(graph, **options)
    run.measurer = lambda sizes: measurer
    return run


def preferring(wanted: Mapping[str, float], other: float = 1e-3) -> Callable[[Schedule], float]:
    """Seconds by the text of a schedule."""
    return lambda s: wanted.get(str(s), other)
