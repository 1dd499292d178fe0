"""What a move to narrower types is judged by: its errors on drawn inputs, and the seconds of whole calls in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg.budget import ErrorBudget
from tang_egg.extract.certify_ledger import Timed
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.measure import measure_calls
from tang_egg.measure_cuda import time_calls
from tang_egg.ops import FLOATS
from tang_egg.run import CompiledProgram
from tang_egg.run_arrays import NUMPY
from tang_egg.run_cuda import CudaProgram
from tang_egg.run_grid import GridProgram
from tang_egg.tune_moves import Move, stored
from tang_egg.verify_compare import values_of
from tang_egg.verify_sample import work

Array: TypeAlias = "npt.NDArray[Any]"
Runner: TypeAlias = "CompiledProgram | CudaProgram | GridProgram"
Arrays: TypeAlias = "Mapping[str, Array]"

WHOLE = 1e9
"""Values that the interpreter computes for one set of inputs, at most."""
SAMPLE = 2e-4
"""Seconds of one sample at least: short calls are made several times."""
ROUNDS = 15


class Whole(Protocol):
    """Times whole calls of programs against each other."""

    def measure(self, programs: Sequence[tuple[Runner, Arrays]], dims: Mapping[str, int]) -> list[Timed]:
        """Seconds per call of each program over its inputs, taken in turns."""
        ...


@dataclass(slots=True)
class Calls:
    """The Whole of all targets: processors and grids of threads by the clock, an NVIDIA GPU by replayed graphs."""

    rounds: int = ROUNDS
    seconds: float = 1.0

    def measure(self, programs: Sequence[tuple[Runner, Arrays]], dims: Mapping[str, int]) -> list[Timed]:
        """See Whole. Caches are warm: the same buffers again and again."""
        replayed = {str(n): r.prepare(a, dims) for n, (r, a) in enumerate(programs) if isinstance(r, CudaProgram)}
        if replayed:
            return [Timed(t.median, t.spread, t.runs) for t in time_calls(replayed, rounds=self.rounds).values()]
        calls = [_call(r, a, dims) for r, a in programs]
        counts = [_repeats(c) for c in calls]
        series = [_series(c, n) for c, n in zip(calls, counts, strict=True)]
        found = measure_calls(series, self.rounds, self.seconds)
        return [Timed(t.median / n, t.spread / n, t.runs * n) for t, n in zip(found, counts, strict=True)]


def _call(runner: Runner, arrays: Arrays, dims: Mapping[str, int]) -> Callable[[], object]:
    if isinstance(runner, CompiledProgram):
        return runner.direct(arrays, dims)
    prepared = runner.prepare(arrays, dims)

    def run() -> None:
        prepared()
        if isinstance(runner, GridProgram):
            runner.grid.finish()

    return run


def _repeats(call: Callable[[], object]) -> int:
    call()
    start = time.perf_counter()
    call()
    return max(1, min(2000, int(SAMPLE / max(time.perf_counter() - start, 1e-7))))


def _series(call: Callable[[], object], count: int) -> Callable[[], object]:
    def run() -> None:
        for _ in range(count):
            call()

    return run


@dataclass(slots=True)
class Errors:
    """The inputs on which errors are measured, what the graph means on them, and what it makes of them itself.

    `own`: by output, the error of the program before any move.
    """

    graph: Graph
    budget: ErrorBudget
    dims: Mapping[str, int]
    cases: list[tuple[str, dict[str, Array], Mapping[str, Array]]] = field(default_factory=list)
    own: dict[str, float] = field(default_factory=dict)

    def prepare(self, runner: Runner) -> None:
        """Draws the inputs, and keeps the errors of the program as it is."""
        for kind, inputs in self.budget.drawn(self.graph, self.dims):
            self.cases.append((kind, inputs, interpret(self.graph, inputs, self.dims, checked=False)))
        for name, error, _ in self._measured(runner, ()):
            self.own[name] = max(self.own.get(name, 0.0), error)

    @property
    def countable(self) -> bool:
        """Whether the interpreter can compute the graph at these sizes."""
        return work(self.graph.outputs, self.dims) <= WHOLE

    def judged(self, runner: Runner, moves: Sequence[Move]) -> tuple[str, float, float]:
        """Why a program is beyond the budget, or nothing; the largest share of it that is used, and that error."""
        share, worst = 0.0, 0.0
        kinds = {t.name: t.dtype for t in self.graph.outputs}
        for name, error, on in self._measured(runner, moves):
            if kinds[name] not in FLOATS:
                if error > 0.0:
                    return f"output '{name}' is another one than that of the graph on {on} inputs", 1.0, error
                continue
            allowed = self.budget.bound(self.own[name], kinds[name])
            if error > allowed:
                return f"output '{name}' is off by {error:.2g} on {on} inputs, {allowed:.2g} are allowed", 1.0, error
            share, worst = max(share, error / allowed if allowed else 0.0), max(worst, error)
        return "", share, worst

    def _measured(self, runner: Runner, moves: Sequence[Move]) -> list[tuple[str, float, str]]:
        """For each kind of inputs and each output: its name, its error, and the kind."""
        found = []
        for kind, inputs, exact in self.cases:
            got = runner(given(self.graph, inputs, moves), self.dims)
            for t in self.graph.outputs:
                values = values_of(got[t.name], t.dtype)
                found.append((t.name, self.budget.error(values, exact[t.name]), kind))
        return found


def given(graph: Graph, inputs: Mapping[str, Array], moves: Sequence[Move]) -> dict[str, Array]:
    """Inputs of a graph in the types in which a program with some moves takes them."""
    last = {m.buffer: m for m in moves if m.kind == "input"}
    found = {}
    for i in graph.inputs:
        m, a = last.get(i.name), np.asarray(inputs[i.name])
        kind = m.after if m else i.dtype
        if kind in FLOATS:
            with np.errstate(over="ignore"):
                found[i.name] = a.astype(np.float32 if kind == "bf16" else NUMPY[kind])
        else:
            found[i.name] = stored(a, kind, m.scale) if m else a
    return found
