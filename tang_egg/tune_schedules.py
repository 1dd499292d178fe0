"""Tunes the kernels of a graph: a certified search for each, a duel with the first proposal, an entry for the database.

    graph → the kernels that te.optimize runs, alike ones once, the longest first
    each  → schedules of its declared space and what the database knows, timed until its share of the time is over
          → the best few and the first proposal, built anew and timed in turns: what is clearly faster is kept

Searches pick the least of many noisy times, which flatters what they pick; so only the duel counts. Kernels are
finished one by one, and each is handed on at once: who stops in the middle keeps those before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tang_egg import database
from tang_egg.artefact_model import version
from tang_egg.cost.roofline import Costs
from tang_egg.database import Entry, Place
from tang_egg.database_find import code_of, matching, place_of, revision
from tang_egg.errors import InputError, TangError
from tang_egg.extract.certify import Budget, Search
from tang_egg.extract.certify_ledger import Ledger, Measurer, Sure, Timed, Trial
from tang_egg.extract.space import SpaceKernel
from tang_egg.ir import Graph
from tang_egg.kernel_names import canonical
from tang_egg.pipeline import check_kind, extract_for, measurer_of, memory_of
from tang_egg.pipeline_certify import Memory
from tang_egg.pipeline_space import GRIDS, checked_sizes, known_constants, space_kernel, target_of
from tang_egg.pipeline_space import Target as Searched
from tang_egg.run_host import driver_version
from tang_egg.run_toolchain import identity
from tang_egg.saturate import Limits
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.targets import Target
from tang_egg.targets import target as target_named
from tang_egg.tune_kernel import (
    KnownFirst,
    Subject,
    TunedKernel,
    counted,
    fastest,
    floor_of,
    problem_of_one,
    unpruned,
)

WORTH = 0.05
"""By what share a schedule has to be faster than the first proposal to be kept, unless another one is asked for."""
SEARCH = 0.75
"""The share of a kernel's time that goes into its search; the rest is for the duel."""
DUEL = 0.4
"""Seconds that each of a duel is timed, about."""
TRIAL = 2e8
"""Values that the interpreter computes for a kernel in a search, at most; what is kept is compared anew, in full."""
BATCH = 0.2
"""The least share of a kernel's fair part of the time that it gets however short it is."""


@dataclass(slots=True)
class Tuning:
    """One run: where it measures, what it knows, and how it measures. Tests give another `measurer` and `clock`."""

    graph: Graph
    on: Target
    device: Any
    sizes: Mapping[str, int]
    least: float = WORTH
    what: str = ""
    chunk: Mapping[str, int] | None = None
    measurer: Callable[[Mapping[str, int]], Measurer] | None = None
    clock: Callable[[], float] = time.perf_counter
    place: Place = field(init=False)

    def __post_init__(self) -> None:
        self.place = place_of(self.on.name, self.device)

    def subjects(self, limits: Limits | None = None) -> list[Subject]:
        """The distinct kernels that te.optimize runs for the graph, in the order of the program.

        Kernels without a canonical form, and those that write into the memory of inputs, are none.
        """
        found: dict[str, Subject] = {}
        extraction = extract_for(self.on.name, self.graph, limits or Limits(), chunk=self.chunk)
        for k in extraction.program.kernels:
            try:
                content = canonical(k.outputs)
            except TangError:
                continue
            if any(t.into for t in k.outputs):
                continue
            sizes = {new: self.sizes[own] for own, new in content.dims.items()}
            before = found.get(content.key)
            found[content.key] = replace(before, copies=before.copies + 1) if before else Subject(
                k.name, content, sizes, 1
            )  # fmt: skip
        return list(found.values())

    def run(self, subjects: list[Subject], budget: Budget) -> Iterator[TunedKernel]:
        """Tunes kernels, the longest first, each as soon as it is done. An interrupt ends the iteration by raising."""
        end = self.clock() + budget.seconds
        spaces = [(s, *self.space(s)) for s in subjects]
        weights = [math.sqrt(s.copies * max(at.guesses.seconds(s.content.outputs, k.schedules[0]), 1e-7))
                   for s, at, k in spaces]  # fmt: skip
        order = sorted(range(len(spaces)), key=lambda n: -weights[n])
        for done, n in enumerate(order):
            left, rest = end - self.clock(), sum(weights[m] for m in order[done:])
            fair = left / (len(order) - done)
            part = max(left * weights[n] / rest, BATCH * fair) if left < math.inf else math.inf
            yield self.tuned(*spaces[n], Budget(max(0.0, part), budget.gap))

    def proves(self) -> bool:
        """Whether the constants of the device were measured, so that floors rule schedules out."""
        return not known_constants(self.on.name).estimated

    def space(self, subject: Subject) -> tuple[Searched, SpaceKernel]:
        """What a search needs of a kernel: its declared space, and behind it what the database knows."""
        plain = self.on.name != "c" and self.device is not None and not self.on.units(self.device)
        at = target_of(self.on.name, subject.sizes, exact=plain)
        kernel = space_kernel(subject.content.outputs, at, self.on.costs() or Costs())
        known = [s for s in self.known(subject) if s not in kernel.schedules]
        floors = tuple(floor_of(at, subject.content.outputs, s) for s in known)
        kernel = replace(
            kernel, schedules=(*kernel.schedules, *known), floors=(*kernel.floors, *floors),
            guesses=(*kernel.guesses, *(0.0 for _ in known)),
        )  # fmt: skip
        return at, kernel

    def known(self, subject: Subject) -> list[Schedule]:
        """What the database holds for a kernel here, as far as it can be read; the nearest first."""
        found = []
        for e, _ in matching(self.place, subject.content.key, subject.sizes):
            try:
                found.append(parse_schedule(e.schedule))
            except TangError:
                continue
        return list(dict.fromkeys(found))

    def tuned(self, subject: Subject, at: Searched, kernel: SpaceKernel, budget: Budget) -> TunedKernel:
        """What a search and a duel say of one kernel. Raises KeyboardInterrupt where the search was interrupted."""
        measure = self.measurer or self._measurer
        known = self.known(subject)
        guesses = KnownFirst(at.guesses, frozenset(known))
        proves = all(f.proves for f in kernel.floors)
        search = Search(
            problem_of_one(kernel if proves else unpruned(kernel)), measure(subject.sizes),
            Budget(SEARCH * budget.seconds, budget.gap), self.clock, floors=at.floors if proves else None,
            guesses=guesses,
        )  # fmt: skip
        if self.measurer is None:
            memory: Memory = memory_of(self.on, self.device, at)
            search.recall, search.keep = memory.recall, memory.keep
        outcome = search.run()
        if outcome.stopped == "interrupted":
            raise KeyboardInterrupt
        ledger = outcome.ledgers[0]
        found = counted(subject, ledger, kernel.floor, outcome.stopped)
        return self.duel(replace(found, proves=proves), ledger, known, measure(subject.sizes))

    def _measurer(self, sizes: Mapping[str, int]) -> Measurer:
        found = measurer_of(self.on, self.device, sizes, "warm")
        if isinstance(found, Sure):
            found.budget = TRIAL
        return found

    def duel(self, made: TunedKernel, ledger: Ledger, known: list[Schedule], measurer: Measurer) -> TunedKernel:
        """The same with what came of the first proposal and the best few, built anew and timed in turns."""
        kernel = ledger.kernel
        if 0 not in ledger.timed:
            refused = ledger.refused.get(0)
            said = f"{refused.kind}: {refused.why}" if refused else "the time was over"
            wrong = refused is not None and refused.kind == "wrong"
            return replace(made, why=f"the first proposal was not timed ({said})", wrong=wrong)
        places = dict.fromkeys([0, *fastest(ledger), *(n for n, s in enumerate(kernel.schedules) if s in known)])
        again = [n for n in places if n not in ledger.refused]
        results = measurer.measure([Trial(kernel, n) for n in again], DUEL * len(again))
        times = {n: r for n, r in zip(again, results, strict=True) if isinstance(r, Timed)}
        first = times.get(0)
        if first is None:
            return replace(made, why="the first proposal could not be timed again")
        best = min(times, key=lambda n: (times[n].median, n))
        found, schedule = times[best], kernel.schedules[best]
        made = replace(made, first=first, best=found, schedule=schedule)
        entry = self.line(made, max(kernel.floors[best].seconds, made.floor))
        if best == 0:
            return replace(made, why="nothing is faster than the first proposal")
        if not found.clearly_less(first):
            return replace(made, why="what is faster is so within the spread")
        if first.median < (1 + self.least) * found.median:
            return replace(made, why=f"what is faster is so by less than {self.least:.0%}")
        objection = measurer.sure(Trial(kernel, best)) if isinstance(measurer, Sure) else None
        if objection is not None:
            return replace(made, why=f"what is faster cannot be kept ({objection.kind}: {objection.why})")
        return replace(made, entry=entry)

    def line(self, made: TunedKernel, floor: float) -> Entry:
        """The line of a kernel under the schedule that won."""
        assert made.first is not None and made.best is not None and made.schedule is not None
        s, first, best = made.subject, made.first, made.best
        return Entry(
            place=self.place,
            kernel=s.content.key,
            sizes=tuple(sorted(s.sizes.items())),
            types=", ".join(dict.fromkeys(t.dtype for t in s.content.outputs)),
            what=f"{self.what or self.graph.name}: {s.name}",
            first=str(made.first_schedule),
            schedule=str(made.schedule),
            code=code_of(self.on, s.content.outputs, made.schedule),
            revision=revision(),
            first_seconds=_digits(first.median),
            first_spread=_digits(first.spread),
            seconds=_digits(best.median),
            spread=_digits(best.spread),
            least=_digits(best.lowest or best.median),
            floor=_digits(floor),
            runs=best.runs,
            version=version(),
            driver=self._driver(),
            when=datetime.now(UTC).date().isoformat(),
        )

    def kept_first(self, made: TunedKernel) -> Entry:
        """The line that says that nothing is to be taken but the first proposal."""
        assert made.first is not None
        as_first = replace(made, best=made.first, schedule=made.first_schedule)
        return self.line(as_first, made.floor)

    def _driver(self) -> str:
        if self.on.name == "c":
            made = identity()
            return f"{made.compiler}, {made.version}"
        title = str(getattr(self.device, "title", ""))
        return f"{driver_version()}; {title}" if self.on.name == "cuda" else title


def tuning(
    graph: Graph, target: str = "c", *, sizes: Mapping[str, int] | None = None, least: float = WORTH, what: str = "",
    chunk: Mapping[str, int] | None = None,
) -> Tuning:  # fmt: skip
    """A run for a graph on this machine's device of a target. `what`: what entries call the graph; `chunk` as in
    te.optimize.

    Raises TargetError where the target, its device or constants of it are missing, BindError for wrong sizes.
    """
    check_kind("tune", graph)
    if not 0 <= least < 1:
        raise InputError(
            f"a share of {least:g} is none to be faster by", where="least=", mend="give a number from 0 on, below 1"
        )
    on = target_named(target, "tune")
    if on.name == "metal" or on.name in GRIDS:
        known_constants(on.name)
    return Tuning(graph, on, on.open(), checked_sizes(graph, sizes, "warm"), least, what, chunk)


def keep(run: Tuning, made: TunedKernel, path: Path) -> bool:
    """Writes what came of a kernel into a database; whether its entry was kept.

    What the file held for it goes. Where the shipped database would be followed though it is no faster here, a line
    says so.
    """
    if made.first is None:
        return False
    entry = made.entry
    if entry is None and path == database.own_file():
        matched = matching(run.place, made.subject.content.key, made.subject.sizes)
        if any(shipped and e.schedule != e.first for e, shipped in matched):
            entry = run.kept_first(made)
    key = (run.place, made.subject.content.key, tuple(sorted(made.subject.sizes.items())))

    def change(table: dict[database.Key, Entry]) -> None:
        table.pop(key, None)
        if entry is not None:
            table[key] = entry

    if entry is not None or any(e.key == key for e in database.read(path).entries):
        database.update(path, change)
    return made.entry is not None


def _digits(seconds: float) -> float:
    """Seconds to four digits: more are noise, and make lines differ."""
    return float(f"{seconds:.4g}")
