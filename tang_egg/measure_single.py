"""Times single kernels on this machine's processor: built side by side, compared with the interpreter, run in turns.

A kernel stands alone: what it reads are arrays of normal values. Before its time counts, its results on such values and
on edge values, over outputs that held NaN, have agreed with the float64 interpreter.

    warm   the same buffers in every call: what fits stays in the caches
    cold   before every call as much memory is written as would fill the caches twice over
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil, inf
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tang_egg import run_toolchain as toolchain
from tang_egg.cost.floor_schedule import one_thread
from tang_egg.errors import TangError, TargetError, VerificationError
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.extract.space import SpaceKernel
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Tensor
from tang_egg.measure_build import Builder, Built, printed_alone
from tang_egg.measure_turns import Turns
from tang_egg.program import Program, single_program
from tang_egg.run import CompiledProgram, Printed, threads
from tang_egg.verify import Verification, _check_samples, _Run, _tame_inputs, rounding, run_filled
from tang_egg.verify_compare import excess, told, values_of
from tang_egg.verify_inputs import sample_inputs
from tang_egg.verify_sample import work

WHOLE = 2e8
"""Values that the interpreter computes for one kernel, at most; beyond, samples of the results are compared."""
SAMPLE = 5e-5
"""Seconds that one sample of a warm kernel lasts at least: short ones are called several times."""
ROUNDS = 21
LATEST = 2.0
"""Seconds before the end of its time at which a batch that is still being built is given up."""
LEAST_FLUSH, MOST_FLUSH = 64 << 20, 256 << 20
"""Bytes that are written before a cold call: twice the last cache, within these limits."""

_Key: TypeAlias = "tuple[str, tuple[str, ...]]"
"""A kernel and its printed sources without comments: trials that have the same are one."""
_COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)

HEADER_SHARE = 0.6
"""Reading what sources begin with, as a share of making it a precompiled header."""


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
    _known: dict[_Key, Timed | Refused] = field(default_factory=dict, repr=False)
    _runners: dict[_Key, CompiledProgram] = field(default_factory=dict, repr=False)
    _names: dict[tuple[str, int], _Key] = field(default_factory=dict, repr=False)
    _builder: Builder = field(init=False, repr=False)
    _turns: Turns = field(init=False, repr=False)
    _builds: int = 0
    _building: float = 0.0
    _comparing: float = 0.0
    _seen: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        self.batch = self.batch or 6 * self.team
        self._builder = Builder(self.team)
        cold = self.cache == "cold"
        junk = np.zeros(flush_bytes() // 8 if cold else 1)
        self._turns = Turns(ROUNDS, (lambda: junk.__iadd__(1.0)) if cold else (lambda: None))

    def measure(self, trials: list[Trial], seconds: float, within: float = inf) -> list[Timed | Refused | None]:
        """One result per trial, in order. A trial that fails at any point is refused and says why.

        Trials whose printed sources are the same are one. Nothing is timed while a compiler runs. What is not built
        when six tenths of `within` are over (two seconds before its end, where that is later) has no result.
        """
        ends = max(0.6 * within, within - LATEST) if within < inf else inf
        until = time.perf_counter() + within
        found: dict[int, Timed | Refused | None] = {}
        keys: dict[int, _Key] = {}
        built = self._built(trials, keys, found, ends)
        calls: dict[int, Callable[[], None]] = {}
        for n, runner in built.items():
            if time.perf_counter() >= until:
                found[n] = None
                continue
            wrong = self._compared(trials[n], runner)
            if wrong is not None:
                found[n] = wrong
            else:
                calls[n] = runner.direct(self._reference(trials[n].kernel).timed, self.dims)
                self._runners[keys[n]] = runner
        found |= self._timed(calls, trials, {n: trials[n].kernel.key for n in calls}, seconds, until)
        self._names |= {(trials[n].kernel.key, trials[n].schedule): keys[n] for n in keys}
        self._known |= {keys[n]: r for n in keys if (r := found.get(n)) is not None}
        return [found[n] if n in found else self._known.get(keys[n]) for n in range(len(trials))]

    def repeat(self, trials: list[Trial], seconds: float, within: float = inf) -> list[Timed | None]:
        """Times once more what was built before, all in the same rounds; None for what was not."""
        until = time.perf_counter() + within
        calls: dict[int, Callable[[], None]] = {}
        for n, t in enumerate(trials):
            runner = self._runners.get(self._names.get((t.kernel.key, t.schedule), ("", ())))
            if runner is not None and time.perf_counter() < until:
                calls[n] = runner.direct(self._reference(t.kernel).timed, self.dims)
        found = self._timed(calls, trials, None, seconds, until)
        return [found.get(n) for n in range(len(trials))]

    def ending(self, kernels: int) -> float:
        """Seconds that a program of so many kernels takes to be built and compared, from what trials took."""
        if not self._builds:
            return 0.0
        each = self._building / self._builds + self._comparing / max(len(self._seen), 1)
        return HEADER_SHARE * self._builder.header_seconds + kernels * each

    def _built(
        self, trials: list[Trial], keys: dict[int, _Key], found: dict[int, Timed | Refused | None], within: float
    ) -> dict[int, CompiledProgram]:
        """The programs that compile in time, each once. Meanwhile the interpreter computes what they must give."""
        begun, submit = time.perf_counter(), self._builder.begin(len(trials), within)
        jobs: dict[int, tuple[Printed, Future[Built]]] = {}
        try:
            for n, t in enumerate(trials):
                try:
                    made = printed_alone(t.kernel.outputs, t.kernel.schedules[t.schedule])
                except TangError as error:
                    found[n] = Refused("lowering", error.what)
                    continue
                keys[n] = t.kernel.key, tuple(_COMMENT.sub("", u) for u in made.units)
                if keys[n] not in self._known and all(keys[n] != keys[m] for m in jobs):
                    jobs[n] = made, submit(made.units)
            for n in jobs:
                with suppress(TangError):  # it is told where the kernel is compared
                    self._reference(trials[n].kernel)
            loaded = self._loaded(jobs, found)
            self._builds += len(loaded)
            self._building += time.perf_counter() - begun if loaded else 0.0
            return loaded
        finally:
            for _, job in jobs.values():
                job.cancel()

    def _loaded(
        self, jobs: Mapping[int, tuple[Printed, Future[Built]]], found: dict[int, Timed | Refused | None]
    ) -> dict[int, CompiledProgram]:
        """The programs whose sources have compiled; what else came of them is entered into `found`."""
        made: dict[int, CompiledProgram] = {}
        for n, (printed, job) in jobs.items():
            library = job.result()
            if isinstance(library, TargetError):
                found[n] = Refused("compiler", f"{library.what}: {library.where}"[:300])
            elif library is None:
                found[n] = None
            else:
                made[n] = printed.run(library, toolchain.identity())
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
            begun = time.perf_counter()
            self._references[kernel.outputs] = _Reference.of(kernel, self.dims)
            self._seen.add(kernel.key)
            self._comparing += time.perf_counter() - begun
        return self._references[kernel.outputs]

    def _timed(
        self, calls: Mapping[int, Callable[[], None]], trials: list[Trial], rivals: Mapping[int, str] | None,
        seconds: float, until: float,
    ) -> dict[int, Timed | None]:  # fmt: skip
        """The time of each call; None where nothing could be timed before `until` on the clock."""
        if not calls:
            return {}
        counts = {n: 1 if self.cache == "cold" else _repeats(call, until) for n, call in calls.items()}
        series = {n: _series(call, counts[n]) for n, call in calls.items()}
        alone = {n: one_thread(trials[n].kernel.schedules[trials[n].schedule]) for n in calls}
        taken = self._turns.timed(series, alone, rivals, seconds, until)
        return {n: None if t is None else _shared(t, counts[n]) for n, t in taken.items()}


def _shared(t: Timed, count: int) -> Timed:
    """The time of one call of `count` that were timed together."""
    each = 1 / count
    return replace(t, median=t.median * each, spread=t.spread * each, runs=t.runs * count, lowest=t.lowest * each)


def _repeats(call: Callable[[], None], until: float) -> int:
    """How often a short kernel is called for one sample."""
    start = time.perf_counter()
    if start >= until:
        return 1
    call()
    first = time.perf_counter()
    if first - start > SAMPLE and first - start > 0.2 * (until - first):
        return 1
    call()
    return max(1, min(2000, ceil(SAMPLE / max(time.perf_counter() - first, 1e-7))))


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
            got = run_filled(self.graph, runner, inputs, dims, 0xFF)
            for t in self.graph.outputs:
                values, exact = values_of(got[t.name], t.dtype), expected[t.name]
                if excess(values, exact, t.dtype) > 1.0 and not rounding(self.graph, t, inputs, dims, values, t.dtype):
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
