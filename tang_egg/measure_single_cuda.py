"""Times single kernels on an NVIDIA GPU: compiled, compared with the interpreter, replayed in turns as graphs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any, TypeAlias

from tang_egg.errors import TangError, TargetError, VerificationError
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.ir import Graph, Tensor
from tang_egg.measure_cuda import Call, Clock, cold_calls, time_calls
from tang_egg.measure_pace import BUILD, COMPARE, REPEAT, TIME, Pace
from tang_egg.measure_single import program_of
from tang_egg.run import threads
from tang_egg.run_cuda import CudaProgram, compile_cuda, cuda_kernels
from tang_egg.run_cuda_driver import Driver
from tang_egg.run_grid import GridProgram
from tang_egg.verify import run_filled, verify
from tang_egg.verify_compare import excess, told, values_of
from tang_egg.verify_inputs import sample_inputs
from tang_egg.verify_sample import BUDGET

BOTH = 2.0
"""Tolerances by which two right results may differ: each may be off by one."""

Results: TypeAlias = "dict[tuple[Tensor, ...], tuple[Mapping[str, Any], Mapping[str, Any]]]"
"""Inputs and results of kernels, by what they write."""


@dataclass(slots=True)
class CudaKernels:
    """The Measurer of the target "cuda"; see measure_single.CpuKernels. `rounds`: replays of each kernel."""

    dims: Mapping[str, int] = field(default_factory=dict)
    cache: str = "warm"
    on: Driver | None = None
    batch: int = field(default_factory=lambda: max(8, threads()))
    rounds: int = 9
    clock: Clock | None = None
    pace: Pace = field(default_factory=Pace)
    budget: float = BUDGET
    _results: Results = field(default_factory=dict)

    def measure(self, trials: list[Trial], seconds: float, within: float = inf) -> list[Timed | Refused | None]:
        """One result per trial, in order. Replays are few and short; `seconds` is not used up.

        NVRTC compiles inside of this process and cannot be stopped: kernels are compiled a few at a time, and what
        would end late, as slow as the slowest before it, is not begun and has no result.
        """
        until = time.perf_counter() + within
        found: dict[int, Timed | Refused | None] = {}
        legal: list[int] = []
        for n, t in enumerate(trials):
            try:
                cuda_kernels(program_of(t.kernel), {"kernel": t.kernel.schedules[t.schedule]})
                legal.append(n)
            except TangError as error:
                found[n] = Refused("lowering", error.what)
        made = self._built(trials, legal, until)
        found |= {n: None for n in legal if n not in made}
        calls: dict[str, Call | Sequence[Call]] = {}
        for n, runner in made.items():
            if not self.pace.room(until, REPEAT if trials[n].kernel.outputs in self._results else COMPARE, TIME):
                found[n] = None
                continue
            wrong = (
                runner if isinstance(runner, Refused)
                else compared(trials[n], runner, self._results, self.batch, self.dims, self.pace, self.budget)
            )  # fmt: skip
            if wrong is not None:
                found[n] = wrong
            elif isinstance(runner, CudaProgram):
                calls[str(n)] = self._call(trials[n], runner)
        with self.pace.step(TIME):
            timings = time_calls(calls, rounds=self.rounds, clock=self.clock) if calls else {}
        found |= {int(name): Timed(x.median, x.spread, x.runs, lowest=x.lowest) for name, x in timings.items()}
        return [found[n] for n in range(len(trials))]

    def ending(self, kernels: int) -> float:
        """Seconds that a program of so many kernels takes to be compiled and compared with the interpreter."""
        return self.pace.each(BUILD) * ceil(kernels / threads()) + kernels * self.pace.each(COMPARE)

    def _built(self, trials: list[Trial], legal: list[int], until: float) -> dict[int, CudaProgram | Refused]:
        """What came of compiling some trials, as many at a time as there are threads, until the time is over."""
        made: dict[int, CudaProgram | Refused] = {}
        with ThreadPoolExecutor(threads()) as pool:
            for k in range(0, len(legal), threads()):
                if not self.pace.room(until, BUILD, COMPARE if not self._results else REPEAT, TIME):
                    break
                group = legal[k : k + threads()]
                with self.pace.step(BUILD):
                    jobs = {n: pool.submit(self._compiled, trials[n]) for n in group}
                    made |= {n: job.result() for n, job in jobs.items()}
        return made

    def _compiled(self, trial: Trial) -> CudaProgram | Refused:
        schedule = trial.kernel.schedules[trial.schedule]
        try:
            return compile_cuda(program_of(trial.kernel), {"kernel": schedule}, on=self.on)
        except TargetError as error:
            return Refused("compiler", f"{error.what}: {error.where}"[:300])

    def sure(self, trial: Trial) -> Refused | None:
        """See certify_ledger.Sure."""
        runner = self._compiled(trial)
        return runner if isinstance(runner, Refused) else verified(trial, runner, self.dims)

    def _call(self, trial: Trial, runner: CudaProgram) -> Call | Sequence[Call]:
        graph = program_of(trial.kernel).graph
        dims = {d.name: self.dims[d.name] for d in graph.dims()}
        arrays: Mapping[str, Any] = sample_inputs(graph, dims, edge=False)
        return cold_calls(runner, arrays, dims) if self.cache == "cold" else runner.prepare(arrays, dims)


def differs(
    graph: Graph, runner: CudaProgram | GridProgram, inputs: Mapping[str, Any], found: Mapping[str, Any]
) -> Refused | None:
    """Why results are not those of a schedule that was right: by more than both may be off."""
    got = run_filled(graph, runner, inputs, {}, 0xFF)
    for t in graph.outputs:
        values, known = values_of(got[t.name], t.dtype), values_of(found[t.name], t.dtype)
        if excess(values, known, t.dtype) > BOTH:
            return Refused("wrong", f"'{t.name}' is wrong {told(values, known, t.dtype)}")
    return None


def verified(trial: Trial, runner: CudaProgram | GridProgram, dims: Mapping[str, int]) -> Refused | None:
    """Why a kernel must not be kept, or nothing: its results beside the interpreter's, as far as they ever are."""
    program, schedule = program_of(trial.kernel), trial.kernel.schedules[trial.schedule]
    try:
        verify(
            program.graph.bind(**dims) if program.graph.dims() else program.graph, program, runner, {"kernel": schedule}
        )
    except VerificationError as error:
        return Refused("wrong", error.what)
    except TangError as error:
        return Refused("run", error.what)
    return None


def compared(
    trial: Trial, runner: CudaProgram | GridProgram, results: Results, batch: int, dims: Mapping[str, int], pace: Pace,
    budget: float = BUDGET,
) -> Refused | None:  # fmt: skip
    """Why a kernel must not be used, or nothing. `results` holds inputs and results of the kernels of a batch.

    The first schedule of a kernel is compared with the interpreter, in samples where that is beyond `budget`;
    those after it with every element of its results, which takes a hundredth of the time; what a search ends with is
    compared with the interpreter again.
    """
    program, schedule = program_of(trial.kernel), trial.kernel.schedules[trial.schedule]
    graph = program.graph.bind(**dims) if program.graph.dims() else program.graph
    known = results.get(trial.kernel.outputs)
    try:
        if known is not None:
            with pace.step(REPEAT):
                return differs(graph, runner, *known)
        with pace.step(COMPARE):
            verify(graph, program, runner, {"kernel": schedule}, budget)
        while len(results) >= batch:  # arrays are large: only those of a batch are kept
            results.pop(next(iter(results)))
        inputs = sample_inputs(graph, {}, edge=False)
        results[trial.kernel.outputs] = inputs, run_filled(graph, runner, inputs, {}, 0xFF)
    except VerificationError as error:
        return Refused("wrong", error.what)
    except TangError as error:
        return Refused("run", error.what)
    return None
