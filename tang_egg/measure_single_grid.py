"""Times single kernels on a device of plain threads (OpenCL, WebGPU, Vulkan, Metal), by the clock of the host.

A kernel stands alone and is compared with the float64 interpreter before its time counts, as on a processor. A sample
is so many launches in a row that it lasts a while, from the first to the moment when the device says that all is done.

    warm   the same buffers in every call
    cold   before every sample, of one launch, a buffer twice as large as any cache is filled
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, inf
from typing import TypeAlias

from tang_egg.errors import TangError, TargetError
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.extract.space import SpaceKernel
from tang_egg.measure import call_seconds, summary
from tang_egg.measure_pace import BUILD, COMPARE, REPEAT, Pace
from tang_egg.measure_single import flush_bytes, program_of
from tang_egg.measure_single_cuda import Results, compared, verified
from tang_egg.program import Program
from tang_egg.run_grid import Grid, GridProgram
from tang_egg.schedule import Schedule
from tang_egg.verify_inputs import sample_inputs
from tang_egg.verify_sample import BUDGET

Compile: TypeAlias = "Callable[[Program, Mapping[str, Schedule]], GridProgram]"

SAMPLE = 2e-3
"""Seconds that one warm sample lasts at least."""
MOST = 500
"""Launches in one sample, at most."""
ROUNDS = 15


@dataclass(slots=True)
class GridKernels:
    """The Measurer of a target of plain threads; see measure_single.CpuKernels. `compile`: what builds a program."""

    grid: Grid
    compile: Compile
    dims: Mapping[str, int] = field(default_factory=dict)
    cache: str = "warm"
    batch: int = 6
    pace: Pace = field(default_factory=Pace)
    budget: float = BUDGET
    _results: Results = field(default_factory=dict)

    def measure(self, trials: list[Trial], seconds: float, within: float = inf) -> list[Timed | Refused | None]:
        """One result per trial, in order; None for those that could not be done `within` seconds.

        A driver's compiler and a running kernel cannot be stopped: what would end late, as slow as the slowest before
        it, is not begun.
        """
        until = time.perf_counter() + within
        found: dict[int, Timed | Refused | None] = {}
        calls: dict[int, Callable[[int], None]] = {}
        for n, t in enumerate(trials):
            known = t.kernel.outputs in self._results
            if not self.pace.room(until, BUILD, REPEAT if known else COMPARE):
                found[n] = None
                continue
            runner = self._built(t)
            wrong = (
                runner if isinstance(runner, Refused)
                else compared(t, runner, self._results, self.batch, self.dims, self.pace, self.budget)
            )  # fmt: skip
            if wrong is not None:
                found[n] = wrong
            elif isinstance(runner, GridProgram):
                calls[n] = self._call(t.kernel, runner)
        found |= self._timed(calls, [trials[n].kernel.key for n in calls], seconds, until)
        return [found[n] for n in range(len(trials))]

    def ending(self, kernels: int) -> float:
        """Seconds that a program of so many kernels takes to be built and compared."""
        return kernels * self.pace.each(BUILD, COMPARE)

    def _built(self, trial: Trial) -> GridProgram | Refused:
        schedule = trial.kernel.schedules[trial.schedule]
        try:
            with self.pace.step(BUILD):
                return self.compile(program_of(trial.kernel), {"kernel": schedule})
        except TangError as error:
            kind = "compiler" if isinstance(error, TargetError) else "lowering"
            return Refused(kind, f"{error.what}: {error.where}"[:300])

    def sure(self, trial: Trial) -> Refused | None:
        """See certify_ledger.Sure."""
        runner = self._built(trial)
        return runner if isinstance(runner, Refused) else verified(trial, runner, self.dims)

    def _call(self, kernel: SpaceKernel, runner: GridProgram) -> Callable[[int], None]:
        """What launches a kernel so many times and waits."""
        graph = program_of(kernel).graph
        dims = {d.name: self.dims[d.name] for d in graph.dims()}
        prepared = runner.prepare(sample_inputs(graph, dims, edge=False), dims)

        def run(count: int) -> None:
            for _ in range(count):
                prepared()
            prepared.finish()

        return run

    def _timed(
        self, calls: Mapping[int, Callable[[int], None]], kernels: list[str], seconds: float, until: float
    ) -> dict[int, Timed | None]:
        """The time of each call; None where nothing could be timed before `until` on the clock."""
        if not calls:
            return {}
        cold = self.cache == "cold"
        counts = {n: 1 if cold else _launches(call, until) for n, call in calls.items()}
        series = [lambda call=call, n=n: call(counts[n]) for n, call in calls.items()]
        taken = call_seconds(series, ROUNDS, seconds, self._before(cold), rivals=kernels, until=until)
        found: dict[int, Timed | None] = {}
        for n, kept in zip(calls, taken, strict=True):
            t = summary(kept) if kept else None
            each = 1 / counts[n]
            found[n] = None if t is None else Timed(
                t.median * each, t.spread * each, t.runs * counts[n], lowest=t.lowest * each
            )  # fmt: skip
        return found

    def _before(self, cold: bool) -> Callable[[], object]:
        if not cold:
            return lambda: None
        size = min(flush_bytes(), self.grid.largest) // 4 * 4
        junk = self.grid.empty(size)

        def flush() -> None:
            self.grid.fill(junk, 1, size)
            self.grid.finish()

        return flush


def _launches(call: Callable[[int], None], until: float) -> int:
    """How often a kernel is launched for one sample."""
    if time.perf_counter() >= until:
        return 1
    call(1)
    begun = time.perf_counter()
    call(1)
    return max(1, min(MOST, ceil(SAMPLE / max(time.perf_counter() - begun, 1e-7))))
