"""Suite `select`: the integer programs by which kernels are chosen, one after the other for the windows of a program.

`median_ms` is building and solving together, summed over the distinct windows, as a selection pays for them; a row for
each solver. `build_ms`, `solve_ms`: its parts. `variables`, `constraints`: of all windows. `objective_us`: the least
sum of predicted times that the solver found, which must not depend on the solver. `budget_ms`: what is allowed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata

import pulp

from bench import log
from examples.minilm import encoder
from tang_egg.errors import SelectionError
from tang_egg.examples import EXAMPLES
from tang_egg.extract.assemble import WindowResult, written_outside
from tang_egg.extract.select import written_out
from tang_egg.extract.solver import solvers
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.pipeline_compiled import Extraction


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"


PROGRAMS: dict[str, tuple[Callable[[], Graph], float]] = {
    "attention": (EXAMPLES["attention"], 100),
    "transformer_block": (EXAMPLES["transformer_block"], 1000),
    "transformer_block_layernorm": (EXAMPLES["transformer_block_layernorm"], 3000),
    "minilm": (encoder, 10000),
    "minilm_128": (lambda: encoder().bind(seq=128), 10000),
}
"""Graphs, and the milliseconds that their integer programs are allowed."""

SYSTEMS = {"HiGHS": f"HiGHS {_version('highspy')}", "PULP_CBC_CMD": f"CBC of PuLP {_version('pulp')}"}
"""What the log calls a solver."""


@dataclass(frozen=True, slots=True)
class Solved:
    """One integer program: seconds to write it down and to solve it, its size, and the optimum in microseconds."""

    build: float
    solve: float
    variables: int
    constraints: int
    objective: float


def measure(arguments: Sequence[str] = ()) -> list[log.Row]:
    """A row for each program and solver (all programs, or those named in `arguments`)."""
    parser = argparse.ArgumentParser(prog="python -m bench select", description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}; all without any")
    parser.add_argument("--repeat", type=int, default=5, help="how often each is solved (default: 5)")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.programs if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program is named {unknown[0]}; there are: {', '.join(PROGRAMS)}")
    found: list[log.Row] = []
    for name in given.programs or PROGRAMS:
        graph, budget = PROGRAMS[name]
        extraction = extract(graph())
        for s in solvers():
            if s.available():
                runs = [solved(extraction, s) for _ in range(max(1, given.repeat))]
                found.append(_row(name, s.name, runs, budget))
    return found


def solved(extraction: Extraction, solver: pulp.LpSolver) -> list[Solved]:
    """The integer programs of the distinct windows of an extraction. Raises SelectionError where one has no optimum."""
    return [_solved(w, solver) for w in extraction.distinct]


def _solved(window: WindowResult, solver: pulp.LpSolver) -> Solved:
    candidates = window.selection.candidates
    start = time.perf_counter()
    program, take = written_out(candidates, written_outside(window), [k.estimate.seconds for k in candidates])
    built = time.perf_counter()
    status = pulp.LpStatus[program.solve(solver)]
    done = time.perf_counter()
    if status != "Optimal":
        raise SelectionError(
            f"{solver.name} says that a selection program is {status.lower()}",
            where=f"{len(candidates)} candidate kernels",
            mend="try the other solver: pip install highspy",
        )
    chosen = [k for k, x in zip(candidates, take, strict=True) if (x.value() or 0) > 0.5]
    objective = sum(k.estimate.seconds for k in chosen) * 1e6
    return Solved(built - start, done - built, len(program.variables()), len(program.constraints), objective)


def _row(name: str, solver: str, runs: Sequence[Sequence[Solved]], budget: float) -> log.Row:
    build = [1e3 * sum(s.build for s in one) for one in runs]
    solve = [1e3 * sum(s.solve for s in one) for one in runs]
    times = [b + s for b, s in zip(build, solve, strict=True)]
    return log.row(
        "select",
        name,
        SYSTEMS.get(solver, solver),
        median_ms=round(statistics.median(times), 2),
        spread_ms=round(max(times) - min(times), 2),
        build_ms=round(statistics.median(build), 2),
        solve_ms=round(statistics.median(solve), 2),
        programs=len(runs[0]),
        variables=sum(s.variables for s in runs[0]),
        constraints=sum(s.constraints for s in runs[0]),
        objective_us=round(sum(s.objective for s in runs[0]), 3),
        budget_ms=budget,
    )
