"""What is known of the kernels of a space: measured times, refusals, and the cost that follows from both.

    cost of a kernel ::= min(best measured median, lowest floor of the schedules that were neither timed nor refused)

Ties within the noise are decided by the order in which schedules are declared, so that two searches that measure the
same up to noise choose the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Protocol, runtime_checkable

from tang_egg.extract.space import SpaceKernel

REFUSALS = ("lowering", "compiler", "wrong", "run")
"""Why a schedule leaves the space: it has no lowering for this kernel; the compiler fails; wrong values; it ended the
run in another way."""


@dataclass(slots=True)
class Yardstick:
    """A call that is timed beside others, again and again: the least that it ever took."""

    call: Callable[[], object]
    least: float = math.inf


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds per call: median, distance between the quartiles, and the calls that were timed.

    `lowest`: the least that was seen, 0 where that was not kept. `yard`: what a yardstick took beside it, 0 without
    one.
    """

    median: float
    spread: float
    runs: int
    lowest: float = field(default=0.0, compare=False, kw_only=True)
    yard: float = field(default=0.0, compare=False, kw_only=True)
    yardstick: Yardstick | None = field(default=None, compare=False, kw_only=True, repr=False)

    @property
    def hoped(self) -> float:
        """What the median may come to when the machine is as quick as it was seen to be, by the yardstick."""
        y = self.yardstick
        return self.median * y.least / self.yard if y is not None and 0 < y.least < self.yard else self.median

    def clearly_less(self, other: Timed) -> bool:
        """Whether this is faster by more than the noise of both."""
        return self.median + self.spread / 2 < other.median - other.spread / 2


@dataclass(frozen=True, slots=True)
class Refused:
    """A schedule that cannot be used: one of REFUSALS, and what was seen."""

    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Trial:
    """A kernel under one of its schedules, by its position."""

    kernel: SpaceKernel
    schedule: int


class Measurer(Protocol):
    """Times kernels on their own: built, compared with the interpreter, then run in turns.

    `cache`: the declared state of the caches before every call, "cold" or "warm". `batch`: trials that are worth
    building side by side.
    """

    cache: str
    batch: int

    def measure(self, trials: list[Trial], seconds: float, within: float = math.inf) -> list[Timed | Refused | None]:
        """One result per trial, or None where `within` seconds did not suffice; timing takes about `seconds`."""
        ...


@runtime_checkable
class Ending(Protocol):
    """A Measurer that knows what follows a search."""

    def ending(self, kernels: int) -> float:
        """Seconds that building and comparing a program of so many kernels takes, about; 0 where nothing is known."""
        ...


@runtime_checkable
class Repeating(Protocol):
    """A Measurer that times once more what it has at hand."""

    def repeat(self, trials: list[Trial], seconds: float, within: float = math.inf) -> list[Timed | None]:
        """Results of trials that all take part in the same rounds, or None where that is not possible."""
        ...


@runtime_checkable
class Sure(Protocol):
    """A Measurer whose comparison of a trial can be short: what is kept of it is compared anew, as far as ever.

    `budget`: values that the interpreter computes for a trial, at most; of larger results samples are compared.
    """

    budget: float

    def sure(self, trial: Trial) -> Refused | None:
        """Why a kernel must not be kept, or nothing."""
        ...


@dataclass(slots=True)
class Ledger:
    """The results of one kernel, by the positions of its schedules.

    `final`: those that were timed once more at the end, all in turns. Where there are such, one of them is picked.
    """

    kernel: SpaceKernel
    timed: dict[int, Timed] = field(default_factory=dict)
    refused: dict[int, Refused] = field(default_factory=dict)
    final: frozenset[int] = frozenset()

    def note(self, schedule: int, result: Timed | Refused) -> None:
        """Keeps a result; a later one replaces an earlier one."""
        if isinstance(result, Timed):
            self.timed[schedule] = result
        else:
            self.timed.pop(schedule, None)
            self.refused[schedule] = result

    def left(self) -> list[int]:
        """Schedules that were neither timed nor refused, the best guess first."""
        done = self.timed.keys() | self.refused.keys()
        kept = [n for n in range(len(self.kernel.schedules)) if n not in done]
        return sorted(kept, key=lambda n: (self.kernel.guesses[n], n))

    @property
    def open_floor(self) -> float:
        """The lowest floor of what is left; infinite where nothing is."""
        done = self.timed.keys() | self.refused.keys()
        return min((f.seconds for n, f in enumerate(self.kernel.floors) if n not in done), default=math.inf)

    @property
    def least(self) -> float:
        """The best measured median; infinite where nothing was measured."""
        return min((t.median for t in self.timed.values()), default=math.inf)

    @property
    def measured(self) -> float:
        """The median of the schedule that is picked (see `best`); infinite where nothing was measured."""
        picked = self.best()
        return math.inf if picked is None else self.timed[picked].median

    @property
    def cost(self) -> float:
        """See the module text."""
        return min(self.least, self.open_floor)

    @property
    def settled(self) -> bool:
        """Whether no schedule that is left could be faster than the best measured one."""
        return self.least <= self.open_floor

    def best(self) -> int | None:
        """The first declared schedule that no other one is clearly faster than; None where nothing was measured."""
        if not self.timed:
            return None
        compared = {n: t for n, t in self.timed.items() if n in self.final} or self.timed
        fastest = min(compared.items(), key=lambda x: (x[1].median, x[0]))[1]
        return min(n for n, t in compared.items() if t is fastest or not fastest.clearly_less(t))

    @property
    def hoped(self) -> float:
        """What the best measured time may come to while nothing else runs; infinite where nothing was measured."""
        return min((t.hoped for t in self.timed.values()), default=math.inf)

    def hopeful(self, scale: float) -> float:
        """What the kernel may come to: the best measured time, or the best guess of what is left, times `scale`.

        A guess is never below the floor.
        """
        guesses = [max(scale * self.kernel.guesses[n], self.kernel.floors[n].seconds) for n in self.left()]
        return min([self.least, *guesses])


def scale_of(ledgers: list[Ledger]) -> float:
    """By how much measured times exceed guesses, in the median; 1 where nothing was measured."""
    found = [t.median / x.kernel.guesses[n] for x in ledgers for n, t in x.timed.items() if x.kernel.guesses[n] > 0]
    return median(found) if found else 1.0
