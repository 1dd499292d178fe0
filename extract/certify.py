"""Certified selection: which kernels, under which schedules, are fastest, and by how much any other could be faster.

    repeat    solve the integer program with the least that kernels can cost
              time, of what it chose, the schedules whose floor is below the best measurement, the best guess first
    until     the choice rests on measurements, the gap is small enough, or the time is over

The program's value is a bound on every choice of the space; the best choice whose kernels were all measured is the
answer; the difference is the gap. Every second step follows the model instead, so that a search that is stopped early
has measured what the model holds for best.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tang_egg.errors import InputError
from tang_egg.extract.certify_choice import Choice, costs, deferred, least, other, steady
from tang_egg.extract.certify_final import PASSES, leaders
from tang_egg.extract.certify_ledger import Ending, Ledger, Measurer, Repeating, Timed, Trial, scale_of
from tang_egg.extract.space import Floors, Guesses, Problem, WindowSpace
from tang_egg.progress import note

PER_TRIAL = 2.5
"""Seconds that building, checking and timing one schedule is taken to need before any was seen to."""
DEEP = 0.2
"""The share of a limited time that goes into higher floors, at most."""
CAREFUL = 1.25
"""By how much a trial may take longer than those before it."""
LITTLE = 0.2
"""Seconds that a trial needs at least: with less, none is begun."""
FINAL = 0.05
"""The share of the time in which what may be the best is timed once more."""
RESERVE = 0.03
"""The share of the time that is left for what follows the last measurement."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When a search ends: after `seconds`, or when no choice can be faster by more than the share `gap`."""

    seconds: float = math.inf
    gap: float = 0.0

    def __post_init__(self) -> None:
        for name, value, most in (("seconds", self.seconds, math.inf), ("gap", self.gap, 1.0)):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
                raise InputError(
                    f"{name}={value!r} is no budget of a search",
                    where=f"{name}=",
                    mend="give seconds from 0 on, and a gap from 0 to 1: 0.05 ends within 5 % of the bound",
                )


@dataclass(slots=True)
class Bounds:
    """What a search knows of one window: the choice that rests on measurements, and the bound on all."""

    window: WindowSpace
    lower: Choice
    upper: Choice | None = None
    seen: list[tuple[float, float]] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Seconds between the measured choice and the bound; infinite where nothing was measured."""
        return max(0.0, self.upper.seconds - self.lower.seconds) if self.upper else math.inf


@dataclass(slots=True)
class Outcome:
    """A search that has ended. `stopped`: measured, gap, time, interrupted or exhausted. `steps`: trials in order."""

    problem: Problem
    ledgers: list[Ledger]
    bounds: list[Bounds]
    stopped: str
    seconds: float
    cache: str
    steps: list[tuple[int, int]] = field(default_factory=list)
    known: int = 0

    @property
    def total(self) -> float:
        """Measured seconds of the chosen kernels one after another, equal windows counted as often as they occur."""
        return sum(b.window.copies * (b.upper.seconds if b.upper else math.inf) for b in self.bounds)

    @property
    def bound(self) -> float:
        """Seconds that no choice of the space is below."""
        return sum(b.window.copies * b.lower.seconds for b in self.bounds)

    def others(self) -> float:
        """The least cost of any choice that differs in a kernel or a schedule; infinite where there is none."""
        each = [x.cost for x in self.ledgers]
        found = math.inf
        for b in self.bounds:
            if b.upper is None:
                continue
            rest = self.bound - b.window.copies * b.lower.seconds
            second = other(b.window, each, b.upper)
            if second is not None:
                found = min(found, rest + b.window.copies * second.seconds)
            for n in {k for c in b.upper.taken for k in b.window.runs[c]}:
                moved = self._rescheduled(n) - self.ledgers[n].measured
                found = min(found, rest + b.window.copies * (b.upper.seconds + moved))
        return found

    def _rescheduled(self, n: int) -> float:
        """The least cost of a kernel under another schedule than the one that was picked."""
        x, best = self.ledgers[n], self.ledgers[n].best()
        return min([x.open_floor, *(t.median for s, t in x.timed.items() if s != best)])


@dataclass(slots=True)
class Search:
    """One search. `clock` counts seconds; `recall` gives what an earlier search measured.

    `floors`: what raises the floors of kernels that the integer program chooses, before they are timed. `guesses`: what
    tells the schedules of such kernels apart.
    """

    problem: Problem
    measurer: Measurer
    budget: Budget = field(default_factory=Budget)
    clock: Callable[[], float] = time.perf_counter
    recall: Callable[[Trial], Timed | None] = lambda _: None
    keep: Callable[[Trial, Timed], None] = lambda *_: None
    ledgers: list[Ledger] = field(default_factory=list)
    bounds: list[Bounds] = field(default_factory=list)
    steps: list[tuple[int, int]] = field(default_factory=list)
    known: int = 0
    floors: Floors | None = None
    guesses: Guesses | None = None
    _needed: float = PER_TRIAL
    _start: float = 0.0
    _deep: float = 0.0
    _finals: list[list[tuple[int, int]]] = field(default_factory=list)

    def run(self) -> Outcome:
        """Searches until the budget ends; an interrupt ends it too, and what was measured until then counts."""
        self._start = self.clock()
        self.ledgers = [Ledger(k) for k in self.problem.kernels]
        each = [x.cost for x in self.ledgers]
        self.bounds = [Bounds(w, _some(w, each)) for w in self.problem.windows]
        try:
            stopped = self._loop()
            while self._compared():
                self._update()
                stopped = self._loop() if stopped in ("measured", "gap") else stopped
        except KeyboardInterrupt:
            stopped = "interrupted"
        self._update()
        return Outcome(
            self.problem, self.ledgers, self.bounds, stopped, self.clock() - self._start, self.measurer.cache,
            self.steps, self.known,
        )  # fmt: skip

    def _loop(self) -> str:
        step = 0
        while True:
            while self._deepened():
                self._update()
            ended = self._ended()
            if ended:
                return ended
            wanted = self._first() or (self._by_floors() if step % 2 else self._by_guesses())
            wanted = wanted or self._by_floors() or self._by_guesses()
            if not wanted:
                return "exhausted"
            final = FINAL if isinstance(self.measurer, Repeating) else 0.0
            room = self._room(RESERVE + final)
            count = min(len(wanted), self.measurer.batch)
            if room < math.inf:  # what is not done in time is given up, so that one may always be tried
                count = min(count, max(int(room / (CAREFUL * self._needed)), 1 if room >= LITTLE else 0))
            if count < 1:
                return "time"
            begun, before = self.clock(), len(self.steps)
            whole = self._measure(wanted[:count], room)
            self._update()
            self._learn(self.clock() - begun, len(self.steps) - before)
            if not whole:
                return "time"
            step += 1

    def _room(self, reserve: float) -> float:
        """Seconds that are left without a share of all, and without what follows the search."""
        return self.budget.seconds * (1 - reserve) - (self.clock() - self._start) - self._ending()

    def _compared(self) -> bool:
        """Whether what may be the best was timed once more, all in turns: a choice rests on this comparison then."""
        room = self._room(RESERVE)
        if not isinstance(self.measurer, Repeating) or not self.steps or len(self._finals) >= PASSES or room <= 0:
            return False
        wanted = list(dict.fromkeys(x for b in self.bounds for x in leaders(b.window, self.ledgers, b.upper)))
        if len(wanted) < 2 or any(set(wanted) <= set(before) for before in self._finals):
            return False
        self._finals.append(wanted)
        trials = [Trial(self.ledgers[k].kernel, n) for k, n in wanted]
        seconds = min(room, max(1.0, FINAL * self.budget.seconds) if self.budget.seconds < math.inf else 5.0)
        results = self.measurer.repeat(trials, seconds, room)
        done = {at: r for at, r in zip(wanted, results, strict=True) if r is not None}
        for k in {k for k, _ in done}:
            self.ledgers[k].final = frozenset(n for m, n in done if m == k)
        for (k, n), result in done.items():
            self.ledgers[k].note(n, result)
            self.keep(Trial(self.ledgers[k].kernel, n), result)
        return bool(done)

    def _learn(self, took: float, trials: int) -> None:
        """Keeps what a trial needs, the slower of what was seen lately: a search must not end late."""
        if trials:
            each = took / trials
            self._needed = each if len(self.steps) == trials else max(each, 0.5 * (each + self._needed))

    def _ending(self) -> float:
        """Seconds that building and comparing the program of all kernels takes, about."""
        kernels = max((sum(len(runs) for runs in w.runs if runs) for w in self.problem.windows), default=0)
        chosen = sum(len(w.picked) for w in self.problem.windows)
        if isinstance(self.measurer, Ending):
            return self.measurer.ending(min(chosen, kernels))
        return self._needed * (1 + 0.5 * min(chosen, kernels)) if self.steps else 0.0

    def _ended(self) -> str:
        if not any(self._open(b) for b in self.bounds):
            return "measured"
        upper = sum(b.window.copies * (b.upper.seconds if b.upper else math.inf) for b in self.bounds)
        lower = sum(b.window.copies * b.lower.seconds for b in self.bounds)
        if upper < math.inf and upper - lower <= self.budget.gap * upper:
            return "gap"
        return ""

    def _deepened(self) -> bool:
        """Whether a floor rose of what the integer program chose by floors."""
        raised, begun = False, self.clock()
        for k in sorted({k for b in self.bounds if self._open(b) for c in b.lower.taken for k in b.window.runs[c]}):
            x = self.ledgers[k]
            spent = self.clock() - self._start
            late = self.budget.seconds < math.inf and self._deep + self.clock() - begun > DEEP * spent
            if self.floors is not None and not x.kernel.deep and not x.settled and not late:
                before = x.cost
                x.kernel = x.kernel.deepened(self.floors)
                raised = raised or x.cost > before
        self._deep += self.clock() - begun
        return raised

    def _open(self, b: Bounds) -> bool:
        """Whether the bound of a window rests on a floor, or no choice of it is measured."""
        return b.upper is None or not all(self.ledgers[k].settled for c in b.lower.taken for k in b.window.runs[c])

    def _first(self) -> list[tuple[int, int]]:
        """The first declared schedule of every kernel that the model picks: what runs where nothing is timed."""
        kernels = dict.fromkeys(k for w in self.problem.windows for c in w.picked for k in w.runs[c])
        found = [(k, 0) for k in kernels if not self.ledgers[k].timed and not self.ledgers[k].refused]
        if self.budget.seconds < math.inf:
            return found  # alone, so that as soon as can be there is something to claim
        return self._filled(found) if found else []

    def _by_floors(self) -> list[tuple[int, int]]:
        """What the integer program with the least costs chose, where that rests on a floor; the widest gap first."""
        open_ = sorted(filter(self._open, self.bounds), key=lambda b: -b.window.copies * min(b.gap, 1e9))
        return self._next(k for b in open_ for c in b.lower.taken for k in b.window.runs[c])

    def _by_guesses(self) -> list[tuple[int, int]]:
        """What the integer program with measurements and guesses chose, where that rests on a guess."""
        scale = scale_of(self.ledgers)
        each = [x.hopeful(scale) for x in self.ledgers]
        found: list[int] = []
        for b in self.bounds:
            if self._open(b):
                chosen = least(b.window, each)
                taken = chosen.taken if chosen else ()
                found += [k for c in taken for k in b.window.runs[c] if each[k] < self.ledgers[k].least]
        return self._next(found)

    def _next(self, kernels: Iterable[int]) -> list[tuple[int, int]]:
        """The next trial of each of some kernels that are not settled."""
        found: list[tuple[int, int]] = []
        for k in dict.fromkeys(kernels):
            x = self.ledgers[k]
            if self.guesses is not None:
                x.kernel = x.kernel.sharpened(self.guesses)
            useful = [n for n in x.left() if x.kernel.floors[n].seconds < x.least]
            if useful:
                found.append((k, useful[0]))
        return found if len(found) >= self.measurer.batch else self._filled(found)

    def _filled(self, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Up to a batch of trials: further schedules of the same kernels, in turns."""
        rows = []
        for k, first in found:
            x = self.ledgers[k]
            rows.append([(k, n) for n in x.left() if n != first and x.kernel.floors[n].seconds < x.least])
        more = [r[n] for n in range(self.measurer.batch) for r in rows if n < len(r)]
        return [*found, *more][: max(self.measurer.batch, len(found))]

    def _measure(self, wanted: list[tuple[int, int]], room: float) -> bool:
        """Measures some trials; whether there was time for all of them."""
        trials = [Trial(self.ledgers[k].kernel, n) for k, n in wanted]
        fresh: list[int] = []
        for at, ((k, n), trial) in enumerate(zip(wanted, trials, strict=True)):
            before = self.recall(trial)
            if before is None:
                fresh.append(at)
            else:
                self.ledgers[k].note(n, before)
                self.known += 1
        if not fresh:
            return True
        note("time", len(self.steps), 0)
        allowed = max(0.05, min(room / 5, 0.5 * len(fresh)))
        results = self.measurer.measure([trials[at] for at in fresh], allowed, room)
        for at, result in zip(fresh, results, strict=True):
            k, n = wanted[at]
            if result is None:
                continue
            self.ledgers[k].note(n, result)
            self.steps.append((k, n))
            if isinstance(result, Timed):
                self.keep(trials[at], result)
        return None not in results

    def _update(self) -> None:
        each = [x.cost for x in self.ledgers]
        for b in self.bounds:
            own = [(each[k], self.ledgers[k].measured) for runs in b.window.runs for k in runs]
            if b.seen != own:  # windows of which nothing was measured since need no solving
                b.seen = own
                b.lower = _some(b.window, each)
                b.upper = steady(b.window, self.ledgers)


def _some(window: WindowSpace, each: list[float]) -> Choice:
    """The cheapest choice. Where refusals leave none, an empty one of infinite cost."""
    return least(window, each) or Choice((), math.inf)


def idle(problem: Problem, ledgers: list[Ledger]) -> list[set[int]]:
    """For each window the candidates that stand back behind others."""
    each = [x.cost for x in ledgers]
    return [deferred(w, costs(w, each)) for w in problem.windows]
