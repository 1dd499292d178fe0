"""Times single kernels on this machine's processor: built side by side, compared with the interpreter, run in turns.

A kernel stands alone: what it reads are arrays of normal values. Before its time counts, its results on such values and
on edge values, over outputs that held NaN, have agreed with the float64 interpreter.

    warm   the same buffers in every call: what fits stays in the caches
    cold   before every call as much memory is written as would fill the caches twice over
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg import run_toolchain as toolchain
from tang_egg.errors import TangError, TargetError, VerificationError
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.extract.space import SpaceKernel
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Tensor
from tang_egg.measure import measure_calls
from tang_egg.program import Program, single_program
from tang_egg.run import CompiledProgram, Printed, print_program, threads
from tang_egg.verify import Verification, _check_samples, _rounding, _Run, _run_filled, _tame_inputs
from tang_egg.verify_compare import excess, told, values_of
from tang_egg.verify_inputs import sample_inputs
from tang_egg.verify_sample import work

WHOLE = 2e8
"""Values that the interpreter computes for one kernel, at most; beyond, samples of the results are compared."""
SAMPLE = 5e-5
"""Seconds that one sample of a warm kernel lasts at least: short ones are called several times."""
ROUNDS = 21
LEAST_FLUSH, MOST_FLUSH = 64 << 20, 256 << 20
"""Bytes that are written before a cold call: twice the last cache, within these limits."""


def program_of(kernel: SpaceKernel) -> Program:
    """A kernel as a program of its own."""
    return single_program(kernel.outputs)


def flush_bytes() -> int:
    """Bytes that are written before a cold call."""
    found = 0
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
        found = max(found, int(text.rstrip("KMG") or 0) * scale)
    return min(max(2 * found, LEAST_FLUSH), MOST_FLUSH)


@dataclass(slots=True)
class CpuKernels:
    """The Measurer of the target "c". `dims`: sizes of symbolic dims. `team`: compilers that run side by side."""

    dims: Mapping[str, int] = field(default_factory=dict)
    cache: str = "warm"
    team: int = field(default_factory=threads)
    batch: int = 0
    _references: dict[tuple[Tensor, ...], _Reference] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.batch = self.batch or 2 * self.team

    def measure(self, trials: list[Trial], seconds: float) -> list[Timed | Refused]:
        """One result per trial, in order. A trial that fails at any point is refused and says why."""
        found: dict[int, Timed | Refused] = {}
        printed: dict[int, Printed] = {}
        for n, t in enumerate(trials):
            try:
                printed[n] = print_program(program_of(t.kernel), {"kernel": t.kernel.schedules[t.schedule]})
            except TangError as error:
                found[n] = Refused("lowering", error.what)
        built = self._built(printed, found)
        calls: dict[int, Callable[[], None]] = {}
        for n, runner in built.items():
            wrong = self._compared(trials[n], runner)
            if wrong is not None:
                found[n] = wrong
            else:
                calls[n] = runner.direct(self._reference(trials[n].kernel).timed, self.dims)
        found |= self._timed(calls, seconds)
        return [found[n] for n in range(len(trials))]

    def _built(self, printed: Mapping[int, Printed], found: dict[int, Timed | Refused]) -> dict[int, CompiledProgram]:
        """The programs that compile. Nothing is timed meanwhile."""
        identity = toolchain.identity()
        made: dict[int, CompiledProgram] = {}
        with ThreadPoolExecutor(self.team) as pool:
            jobs = {n: pool.submit(toolchain.build, *p.units) for n, p in printed.items()}
            for n, job in jobs.items():
                try:
                    made[n] = printed[n].run(job.result(), identity)
                except TargetError as error:
                    found[n] = Refused("compiler", f"{error.what}: {error.where}"[:300])
        return made

    def _compared(self, trial: Trial, runner: CompiledProgram) -> Refused | None:
        """Why a kernel must not be used, or nothing."""
        try:
            self._reference(trial.kernel).check(runner, trial, self.dims)
        except VerificationError as error:
            return Refused("wrong", error.what)
        except TangError as error:
            return Refused("run", error.what)
        return None

    def _reference(self, kernel: SpaceKernel) -> _Reference:
        if kernel.outputs not in self._references:
            while len(self._references) >= self.batch:  # arrays are large: only those of a batch are kept
                self._references.pop(next(iter(self._references)))
            self._references[kernel.outputs] = _Reference.of(kernel, self.dims)
        return self._references[kernel.outputs]

    def _timed(self, calls: Mapping[int, Callable[[], None]], seconds: float) -> dict[int, Timed]:
        if not calls:
            return {}
        cold = self.cache == "cold"
        junk = np.zeros(flush_bytes() // 8 if cold else 1)
        counts = {n: 1 if cold else _repeats(call) for n, call in calls.items()}
        series = [_series(call, counts[n]) for n, call in calls.items()]
        taken = measure_calls(series, ROUNDS, seconds, (lambda: junk.__iadd__(1.0)) if cold else lambda: None)
        return {
            n: Timed(t.median / counts[n], t.spread / counts[n], t.runs * counts[n])
            for n, t in zip(calls, taken, strict=True)
        }


def _repeats(call: Callable[[], None]) -> int:
    """How often a short kernel is called for one sample."""
    call()
    start = time.perf_counter()
    call()
    return max(1, min(2000, ceil(SAMPLE / max(time.perf_counter() - start, 1e-7))))


def _series(call: Callable[[], None], count: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(count):
            call()

    return call if count == 1 else run


@dataclass(slots=True)
class _Reference:
    """What a kernel must give: inputs with their results, or none where samples are compared."""

    graph: Graph
    timed: Mapping[str, Any]
    pairs: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]

    @staticmethod
    def of(kernel: SpaceKernel, dims: Mapping[str, int]) -> _Reference:
        graph = program_of(kernel).graph
        if work(graph.outputs, dims) > WHOLE:
            return _Reference(graph, sample_inputs(graph, dims, edge=False), ())
        pairs = tuple(_tame(graph, dims, edge) for edge in (False, True))
        return _Reference(graph, pairs[0][0], pairs)

    def check(self, runner: CompiledProgram, trial: Trial, dims: Mapping[str, int]) -> None:
        """Raises VerificationError for a wrong result."""
        schedule = trial.kernel.schedules[trial.schedule]
        for edge in (False, True) if not self.pairs else ():
            run = _Run(self.graph, runner.program, runner, {"kernel": schedule}, dims)
            _check_samples(run, edge, Verification())
        for inputs, expected in self.pairs:
            got = _run_filled(self.graph, runner, inputs, dims, 0xFF)
            for t in self.graph.outputs:
                values, exact = values_of(got[t.name], t.dtype), expected[t.name]
                if excess(values, exact, t.dtype) > 1.0 and not _rounding(self.graph, t, inputs, dims, values, t.dtype):
                    raise VerificationError(
                        f"it is wrong {told(values, exact, t.dtype)}",
                        where=str(schedule),
                        mend="the search leaves this schedule out; report it with the graph",
                    )


def _tame(graph: Graph, dims: Mapping[str, int], edge: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and results. Where arbitrary values have no finite result (a root of what is never negative), sizes do."""
    inputs, expected = _tame_inputs(graph, dims, edge)
    if all(np.isfinite(a).all() for a in expected.values() if np.asarray(a).dtype.kind == "f"):
        return inputs, expected
    positive = {k: np.abs(a) + a.dtype.type(0.125) if a.dtype.kind == "f" else a for k, a in inputs.items()}
    again = interpret(graph, positive, dims, checked=False)
    finite = all(np.isfinite(a).all() for a in again.values() if np.asarray(a).dtype.kind == "f")
    return (positive, again) if finite else (inputs, expected)
