"""Storage types as a choice: one buffer at a time is moved to a narrower type, and stays there if that pays.

    program → moves, the largest buffers first
    for each  range    no value may leave the type, where ranges tell; an i8 needs a range
              build    the program with it, compared with its own meaning
              error    on drawn inputs against float64: within the budget, beside the program without moves
              time     whole calls of both in turns: clearly faster, beyond the noise of both
    kept moves stay for those after it; what the time did not suffice for is told as open

A difference within the noise keeps what is there, so that two runs under noise differ only in moves that gain nothing.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tang_egg import report_format as say
from tang_egg.budget import ErrorBudget
from tang_egg.errors import InputError, TangError, VerificationError
from tang_egg.extract.certify_ledger import Timed
from tang_egg.ir import Graph, folds, sources
from tang_egg.ops import FLOATS
from tang_egg.pipeline import check_kind, choose_schedules, optimize
from tang_egg.pipeline_compiled import Compiled
from tang_egg.pipeline_space import checked_sizes
from tang_egg.program import Program
from tang_egg.ranges import LARGEST, Range, ranges
from tang_egg.run_arrays import check_names
from tang_egg.saturate import Limits
from tang_egg.schedule import Schedule
from tang_egg.targets import target as target_named
from tang_egg.tune_measure import Arrays, Calls, Errors, Runner, Whole, given
from tang_egg.tune_moves import Move, applied, asked_inputs, moves_of
from tang_egg.verify import Verification, verify

FIRST = 3.0
"""Seconds that a move is taken to need before one was tried."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a move: "kept", "refused" or "open", and why.

    `error`: the largest relative error of the outputs with it, where that was measured. `seconds`: of a call before and
    with it, `spread` that of both.
    """

    move: Move
    verdict: str
    why: str
    error: float | None = None
    seconds: tuple[float, float] | None = None
    spread: tuple[float, float] | None = None

    def __str__(self) -> str:
        return f"{self.verdict}: {self.move}: {self.why}"


@dataclass(frozen=True, slots=True)
class TunedPrecision:
    """A compiled graph with the moves that were tried. Call `compiled`; `given` converts the inputs of the graph."""

    compiled: Compiled
    tried: tuple[Tried, ...]
    own: Mapping[str, float]
    stopped: str
    seconds: float
    source: Graph

    @property
    def kept(self) -> tuple[Move, ...]:
        """The moves that stayed, in order."""
        return tuple(t.move for t in self.tried if t.verdict == "kept")

    def given(self, **inputs: Any) -> dict[str, Any]:
        """Arrays for the inputs of the graph in the types in which `compiled` takes them."""
        check_names(inputs, (i.name for i in self.source.inputs), "input", f"graph '{self.source.name}'")
        part = replace(self.source, inputs=tuple(i for i in self.source.inputs if i.name in inputs))
        return dict(given(part, inputs, self.kept))

    def json(self) -> str:
        """All that was tried, as JSON."""
        whole = {
            "graph": self.source.name, "target": self.compiled.target, "stopped": self.stopped,
            "seconds": self.seconds, "errors_before": dict(self.own), "moves": [asdict(t) for t in self.tried],
        }  # fmt: skip
        return json.dumps(whole, indent=1)

    def __str__(self) -> str:
        count = f"{len(self.kept)} of {len(self.tried)} moves kept, {self.stopped} after {self.seconds:.1f} s"
        return "\n".join([count, *map(str, self.tried)])


def tune_precision(
    graph: Graph,
    budget: ErrorBudget | None = None,
    target: str = "c",
    *,
    seconds: float | None = None,
    inputs: bool | Iterable[str] = False,
    sizes: Mapping[str, int] | None = None,
    values: str = "finite",
    limits: Limits | None = None,
    measurer: Whole | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> TunedPrecision:
    """Compiles a graph with buffers in the narrowest types that an error budget allows and that make it faster.

    `budget`: by default twice the error of the program as it is, which few moves meet; give a `relative` error. Its
    `ranges` prove that nothing overflows and give 8-bit buffers their scale. `inputs`: True, or names of inputs that
    may be taken in other types too. `seconds`: after these no move is begun. `sizes`: of symbolic dims.
    Raises as optimize does; InputError for seconds and inputs that make no sense.
    """
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0):
        raise InputError(
            f"seconds={seconds!r} is no time", where="tune_precision(..., seconds=)", mend="give a number from 0 on"
        )
    if budget is not None and not isinstance(budget, ErrorBudget):
        raise InputError(
            f"a budget of type {type(budget).__name__}", where="tune_precision(..., budget=)",
            mend="give te.ErrorBudget(relative=1e-2)",
        )  # fmt: skip
    check_kind("tune_precision", graph)
    begun = clock()
    names = asked_inputs(graph, inputs)
    base = optimize(graph, target, values=values, limits=limits)
    tuning = _Tuning(
        graph, base, budget or ErrorBudget(), checked_sizes(graph, sizes, "warm"), measurer or Calls(),
        begun + (math.inf if seconds is None else seconds), clock,
    )  # fmt: skip
    stopped = tuning.run(names)
    return TunedPrecision(tuning.compiled(), tuple(tuning.tried), tuning.errors.own, stopped, clock() - begun, graph)


@dataclass(slots=True)
class _Tuning:
    """One run: the program as it is now, and what became of each move."""

    graph: Graph
    base: Compiled
    budget: ErrorBudget
    dims: Mapping[str, int]
    measurer: Whole
    until: float
    clock: Callable[[], float]
    tried: list[Tried] = field(default_factory=list)
    kept: list[Move] = field(default_factory=list)
    program: Program = field(init=False)
    schedules: dict[str, Schedule] = field(init=False)
    runner: Runner = field(init=False)
    errors: Errors = field(init=False)
    verification: Verification | None = None
    needed: float = FIRST

    def run(self, names: tuple[str, ...]) -> str:
        """Tries all moves; says what ended it."""
        self.program, self.schedules, self.runner = self.base.program, dict(self.base.schedules), self.base.runner
        self.verification = self.base.verification
        self.errors = Errors(self.graph, self.budget, self.dims)
        known = self._ranges()
        moves = moves_of(self.program, names, self._states(), known)
        late = ""
        if not self.errors.countable:
            late = "the graph is too large at these sizes for the interpreter to say its errors"
        elif moves:
            self.errors.prepare(self.runner)
        for m in moves:
            if not late and self.clock() + self.needed > self.until:
                late = "the time was over"
            if late:
                self.tried.append(Tried(m, "open", late))
                continue
            start = self.clock()
            now = self._current(m)
            self.tried.append(self._tried(now, known.get(m.buffer)) if now else _moot(m))
            took = self.clock() - start
            self.needed = max(took, 0.5 * (took + self.needed)) if took > 0.05 else self.needed
        return "the time was over" if late == "the time was over" else "too large" if late else "all were tried"

    def _current(self, m: Move) -> Move | None:
        """The move from the type in which the buffer is now; None where it is as narrow already."""
        before = next((k.after for k in reversed(self.kept) if (k.buffer, k.kind) == (m.buffer, m.kind)), m.before)
        return None if before == "i8" else replace(m, before=before)

    def _states(self) -> dict[str, str]:
        """The type of the states of each kernel that folds."""
        found = {}
        for k in self.program.kernels:
            held = {t.dtype for t in k.outputs} | {s.dtype for t in k.outputs for s in sources(t.body)}
            if held & set(FLOATS) and any(map(folds, k.outputs)):
                found[k.name] = self.schedules[k.name].accumulate or ("f64" if "f64" in held else "f32")
        return found

    def _ranges(self) -> dict[str, Range]:
        """The enclosures of all stored tensors and inputs; none where the analysis does not get through."""
        whole = replace(self.program.graph, outputs=self.program.tensors)
        try:
            return ranges(whole, dict(self.budget.ranges), self.dims)
        except (TangError, RecursionError):
            return {}

    def _tried(self, m: Move, known: Range | None) -> Tried:
        wide = self._beyond(m, known)
        if wide:
            return Tried(m, "refused", wide)
        changed = [*self.kept, m]
        try:
            program, schedules, runner = self._built(m)
            checked = self._checked(program, schedules, runner)
            off, share, error = self.errors.judged(runner, changed)
        except VerificationError as error_:
            return Tried(m, "refused", f"its results are wrong: {error_.what}")
        except TangError as error_:
            return Tried(m, "refused", f"it cannot be built or run: {error_.what}")
        if off:
            return Tried(m, "refused", f"beyond the error budget: {off}", error)
        inputs = self.errors.cases[0][1]
        ours: Arrays = given(self.graph, inputs, self.kept)
        theirs: Arrays = given(self.graph, inputs, changed)
        now, then = self.measurer.measure([(self.runner, ours), (runner, theirs)], self.dims)
        told: dict[str, Any] = {
            "error": error, "seconds": (now.median, then.median), "spread": (now.spread, then.spread)
        }  # fmt: skip
        if not then.clearly_less(now):
            return Tried(m, "refused", f"not clearly faster: {_times(then, now)}", **told)
        self.kept.append(m)
        self.program, self.schedules, self.runner, self.verification = program, schedules, runner, checked
        judged = "" if known is not None and known.finite and known.size < 1e30 else "; samples only, no range is known"
        return Tried(m, "kept", f"{_times(then, now)}, with {share:.0%} of the error budget{judged}", **told)

    def _checked(self, program: Program, schedules: dict[str, Schedule], runner: Runner) -> Verification:
        """The comparison of a program with its own meaning.

        Narrow states under a wide output cannot meet that output's tolerance: there the error budget's samples decide.
        """
        if any(s.accumulate == "f32" for s in schedules.values()):
            return Verification(len(self.errors.cases))
        return verify(program.graph, program, runner, schedules)

    def _beyond(self, m: Move, known: Range | None) -> str:
        """Why ranges rule a move out, or nothing."""
        if m.after == "i8" and not m.scale:
            return "no finite range of its values is known, which would give 8 bits their scale"
        declared = all(i.name in self.budget.ranges for i in self.graph.inputs if i.dtype in FLOATS)
        if declared and known is not None and m.after in LARGEST and known.size > 15 / 16 * LARGEST[m.after]:
            return f"its values lie in {known}, beyond the {LARGEST[m.after]:g} of {m.after}"
        return ""

    def _built(self, m: Move) -> tuple[Program, dict[str, Schedule], Runner]:
        """The program with a move besides those that were kept."""
        on = target_named(self.base.target)
        device = on.open()
        fixed = {k: s for k, s in self.schedules.items() if s.accumulate}
        program = applied(self.program, m)
        schedules = choose_schedules(
            program, self.base.target, exact=self.base.options.values == "ieee", units=on.units(device)
        )
        for name, s in fixed.items():
            schedules[name] = replace(schedules[name], accumulate=s.accumulate)
        if m.kind == "states":
            schedules[m.buffer] = replace(schedules[m.buffer], accumulate=m.after)
        return program, schedules, on.compile(program, schedules, device)

    def compiled(self) -> Compiled:
        """The program with all moves that were kept."""
        if not self.kept:
            return self.base
        moved = any(m.kind == "input" for m in self.kept)
        derived = replace(self.base.extraction, program=self.program)
        return replace(
            self.base, graph=self.program.graph if moved else self.graph, derived=derived, schedules=self.schedules,
            runner=self.runner, verification=self.verification,
        )  # fmt: skip


def _times(then: Timed, now: Timed) -> str:
    ours, theirs = say.seconds(then.median), say.seconds(now.median)
    return f"{ours} ± {say.seconds(then.spread / 2)} a call, {theirs} ± {say.seconds(now.spread / 2)} without it"


def _moot(m: Move) -> Tried:
    return Tried(m, "refused", "it is held in 8 bits already")
