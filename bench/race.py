"""`python -m bench race PROGRAM`: every schedule of the declared space of a program's kernels, timed one by one.

For each schedule a row with its floor, the model's estimate and what was measured. For each kernel a row that says how
many schedules floors would have ruled out once the fastest is known, how far the model's pick and the code generator's
first proposal are from the fastest, and how many trials a search that both guide needs to find a schedule within 2.5 %
of it. All trials of a kernel are verified; those that are refused have no time.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench import log
from bench.saturate import programs
from tang_egg.cost.roofline import Estimate
from tang_egg.egraph import ClassId
from tang_egg.errors import TangError
from tang_egg.extract.certify import Budget, Search
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.extract.select import Candidate
from tang_egg.extract.space import Problem, SpaceKernel, WindowSpace
from tang_egg.ir import Graph
from tang_egg.measure_single import CpuKernels
from tang_egg.pipeline import extract
from tang_egg.pipeline_space import problem_of, target_of, typical_sizes

NEAR = 1.025
"""A schedule that takes so many times the fastest at most counts as fastest."""
PER_TRIAL = 0.3
"""Seconds of timing for each schedule."""


@dataclass(slots=True)
class Replay:
    """A measurer that gives what was measured before, and counts how often it was asked until a near one came."""

    results: dict[int, Timed | Refused]
    best: float
    cache: str = "warm"
    batch: int = 1
    asked: list[int] = field(default_factory=list)
    near: int = 0

    def measure(self, trials: list[Trial], seconds: float, within: float = math.inf) -> list[Timed | Refused | None]:
        """The kept results."""
        found: list[Timed | Refused | None] = []
        for t in trials:
            self.asked.append(t.schedule)
            result = self.results[t.schedule]
            if not self.near and isinstance(result, Timed) and result.median <= NEAR * self.best:
                self.near = len(self.asked)
            found.append(result)
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Races the kernels that the model picks for a program, prints what was seen and appends it to the log."""
    parser = argparse.ArgumentParser(prog="python -m bench race", description=__doc__)
    parser.add_argument("program", help="the name of an example, or of a row (row_NAME)")
    parser.add_argument("--cache", choices=("warm", "cold"), default="warm", help="the state of the caches")
    parser.add_argument("--kernels", type=int, default=1 << 20, help="race only so many kernels, the costliest first")
    parser.add_argument("--no-log", action="store_true", help="print only")
    given = parser.parse_args(arguments)
    known = programs()
    if given.program not in known:
        parser.error(f"no program is named {given.program}; there are: {', '.join(known)}")
    graph = known[given.program]()
    rows: list[log.Row] = []
    try:
        for name, kernel in picked(graph, given.cache)[: given.kernels]:
            results = race(kernel, typical_sizes(graph), given.cache)
            made = rows_of(given.program, name, kernel, results, given.cache)
            print(shown(name, made), flush=True)
            rows += made
    except TangError as error:
        print(error, file=sys.stderr)
        return 1
    if not given.no_log:
        print(f"{len(rows)} rows appended to {log.append(rows)}")
    return 0


def shown(name: str, rows: Sequence[log.Row]) -> str:
    """The rows of one kernel as a table, the fastest first, and the summary as sentences."""
    *each, last = rows
    lines = [f"kernel {name}", f"{'measured':>12}{'spread':>10}{'floor':>10}{'model':>10}  ms; schedule"]
    for r in sorted(each, key=lambda r: (r["median_ms"] is None, r["median_ms"] or 0.0)):
        timed = r["median_ms"] is not None
        seen = f"{r['median_ms']:>12.4g}{r['spread_ms']:>10.2g}" if timed else f"{r['refused']:>22}"
        lines.append(f"{seen}{r['floor_ms']:>10.4g}{r['model_ms']:>10.4g}  {r['system']}")
    if last["median_ms"] is None:
        return "\n".join([*lines, "every schedule was refused", ""])
    near, below = "within" if last["model_near"] else "not within", last["below_floor"]
    lines += [
        f"its floor is {last['reach']:.1%} of the fastest ({last['binding']}), and rules out {last['pruned']:.0%} of "
        f"{last['schedules']} schedules",
        f"the model's pick is {near} 2.5 % of the fastest ({last['model_over_best']:.3g} times), the first proposal "
        f"takes {last['first_over_best']:.3g} times",
        f"a guided search meets one within 2.5 % after {last['trials_to_near']} trials, and is sure after "
        f"{last['trials_to_proof']}",
    ]
    return "\n".join([*lines, *([f"BELOW THEIR FLOORS: {below} schedules"] if below else []), ""])


def picked(graph: Graph, cache: str) -> list[tuple[str, SpaceKernel]]:
    """The kernels that the model picks, with their whole spaces and deep floors, the costliest first."""
    target = target_of("c", typical_sizes(graph), cache)
    problem = problem_of(extract(graph), target)
    found = {k: (w.names[c], problem.kernels[k]) for w in problem.windows for c in w.picked for k in w.runs[c]}
    ordered = sorted(found.values(), key=lambda x: -min(x[1].guesses))
    return [(name, k.deepened(target.floors).sharpened(target.guesses)) for name, k in ordered]


def race(kernel: SpaceKernel, sizes: dict[str, int], cache: str) -> dict[int, Timed | Refused]:
    """What every schedule of a kernel takes, by its place; trials of one batch take turns."""
    measurer = CpuKernels(sizes, cache)
    found: dict[int, Timed | Refused] = {}
    places = list(range(len(kernel.schedules)))
    for at in range(0, len(places), measurer.batch):
        some = places[at : at + measurer.batch]
        results = measurer.measure([Trial(kernel, n) for n in some], PER_TRIAL * len(some))
        found |= {n: r for n, r in zip(some, results, strict=True) if r is not None}
    return found


def rows_of(
    program: str, name: str, kernel: SpaceKernel, results: dict[int, Timed | Refused], cache: str
) -> list[log.Row]:
    """A row for each schedule, and one that sums up."""
    rows = []
    for n, result in results.items():
        seen = result if isinstance(result, Timed) else None
        rows.append(log.row(
            "race", program, str(kernel.schedules[n]), kernel=name, cache=cache,
            median_ms=seen and round(1e3 * seen.median, 6), spread_ms=seen and round(1e3 * seen.spread, 6),
            floor_ms=round(1e3 * kernel.floors[n].seconds, 6), binding=kernel.floors[n].binding,
            model_ms=round(1e3 * kernel.guesses[n], 6), refused=result.kind if isinstance(result, Refused) else None,
        ))  # fmt: skip
    return [*rows, summary(program, name, kernel, results, cache)]


def summary(program: str, name: str, kernel: SpaceKernel, results: dict[int, Timed | Refused], cache: str) -> log.Row:
    """What floors and the model would have saved."""
    timed = {n: t for n, t in results.items() if isinstance(t, Timed)}
    if not timed:
        return log.row(
            "race", program, "all schedules", kernel=name, cache=cache, schedules=len(results), refused="all"
        )
    best = min(timed, key=lambda n: (timed[n].median, n))
    least = timed[best].median
    guess = min(timed, key=lambda n: (kernel.guesses[n], n))
    first = min(timed)
    whole, gap = _guided(kernel, results, least)
    return log.row(
        "race", program, f"fastest of {len(timed)}: {kernel.schedules[best]}", kernel=name, cache=cache,
        median_ms=round(1e3 * least, 6), spread_ms=round(1e3 * timed[best].spread, 6),
        floor_ms=round(1e3 * kernel.floor, 6), binding=min(kernel.floors, key=lambda f: f.seconds).binding,
        model_ms=round(1e3 * kernel.guesses[best], 6), schedules=len(results),
        reach=round(kernel.floor / least, 4),
        pruned=round(sum(f.seconds >= least for f in kernel.floors) / len(kernel.floors), 4),
        model_over_best=round(timed[guess].median / least, 4), first_over_best=round(timed[first].median / least, 4),
        model_near=timed[guess].median <= NEAR * least, trials_to_near=whole.near, trials_to_proof=gap,
        saved=round(1 - whole.near / len(results), 4),
        below_floor=sum(t.median + t.spread / 2 < kernel.floors[n].seconds for n, t in timed.items()),
    )  # fmt: skip


def _guided(kernel: SpaceKernel, results: dict[int, Timed | Refused], best: float) -> tuple[Replay, int]:
    """A search of one kernel over what was measured: when it met a near schedule, and after how many it was done."""
    one = Candidate((ClassId(0),), (), (), (), Estimate(min(kernel.guesses), 0.0, 0.0, 0.0))
    window = WindowSpace((one,), (ClassId(0),), 1, ((0,),), ((),), (0,), ("kernel",))
    replay = Replay(results, best)
    Search(Problem((kernel,), (window,)), replay, Budget(math.inf)).run()
    return replay, len(replay.asked)
