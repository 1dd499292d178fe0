"""Certified selection of an extraction: its space, the search, the kernels that were found, and the certificate.

extraction → problem (every candidate, declared schedules, floors) → search → windows with other kernels
           → program, schedules by kernel, certificate
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from tang_egg.errors import InputError
from tang_egg.extract.assemble import WindowResult, reassembled
from tang_egg.extract.certify import Budget, Outcome, Search
from tang_egg.extract.certify_ledger import Measurer, Timed, Trial
from tang_egg.extract.certify_record import SelectionCertificate
from tang_egg.extract.derive import Step
from tang_egg.extract.select import Selection, in_order
from tang_egg.extract.space import Guesses, standalone
from tang_egg.kernel_names import array_names, renamed
from tang_egg.pipeline_certify_record import certificate_of_outcome
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_space import Target, problem_of
from tang_egg.program import Program
from tang_egg.schedule import Schedule

AFTER = 1.0
"""Seconds that rebuilding the kernels and writing the certificate take, about, over those of listing the space."""

Rebuilt: TypeAlias = "tuple[Program, dict[str, tuple[Step, ...]]]"


class Memory(Protocol):
    """What earlier searches measured."""

    def recall(self, trial: Trial) -> Timed | None: ...

    def keep(self, trial: Trial, result: Timed) -> None: ...


@dataclass(slots=True)
class Certified:
    """An extraction after a search, the schedules of its kernels by name, and the certificate."""

    extraction: Extraction
    schedules: dict[str, Schedule]
    certificate: SelectionCertificate
    outcome: Outcome


def certified(
    extraction: Extraction,
    target: Target,
    measurer: Measurer,
    budget: Budget,
    rebuild: Callable[[Sequence[WindowResult]], Rebuilt],
    *,
    guesses: Guesses | None = None,
    recall: Memory | None = None,
    clock: Callable[[], float] = time.perf_counter,
    asked: Budget | None = None,
    before: float = 0.0,
) -> Certified:
    """Searches the space of an extraction. Where nothing could be measured, the model's kernels stay as they are.

    `asked`: the whole budget, of which `before` seconds were used up before.
    """
    start = clock()
    problem = problem_of(extraction, target)
    listing = clock() - start
    left = replace(budget, seconds=max(0.0, budget.seconds - (1 + AFTER) * listing))
    search = Search(problem, measurer, left, clock, floors=target.floors, guesses=guesses or target.guesses)
    if recall is not None:
        search.recall, search.keep = recall.recall, recall.keep
    outcome = search.run()
    results = [_chosen(extraction, n, outcome) for n in range(len(problem.windows))]
    program, steps = rebuild(results)
    swapped = {id(old): new for old, new in zip(extraction.distinct, results, strict=True)}
    windows = tuple((w, c, swapped[id(r)]) for w, c, r in extraction.windows)
    made = replace(extraction, program=program, windows=windows, steps=steps, evidence=outcome)
    record = certificate_of_outcome(extraction, target, asked or budget, outcome, before + clock() - start)
    return Certified(made, _schedules(program, outcome), record, outcome)


def _chosen(extraction: Extraction, n: int, outcome: Outcome) -> WindowResult:
    """A window with the kernels that were found; as it was where none were measured."""
    result, b = extraction.distinct[n], outcome.bounds[n]
    if b.upper is None:
        return result
    window = next(c for _, c, r in extraction.windows if r is result)
    found = b.window.candidates
    chosen = [found[k] for k in in_order(found, b.upper.taken)]
    listed = list(result.selection.candidates)
    listed += [k for k in chosen if not any(k.writes == x.writes and k.terms == x.terms for x in listed)]
    same = [next(x for x in listed if k.writes == x.writes and k.terms == x.terms) for k in chosen]
    seconds = sum(k.estimate.seconds for k in same)
    return reassembled(window, result, Selection(same, listed, seconds, result.selection.refused))


def _schedules(program: Program, outcome: Outcome) -> dict[str, Schedule]:
    """The schedule that was picked for each kernel of a program, as far as it was measured."""
    known = {x.kernel.outputs: x for x in outcome.ledgers}
    found: dict[str, Schedule] = {}
    for plan in program.kernels:
        x = known.get(standalone(plan.outputs))
        best = x.best() if x is not None else None
        if x is not None and best is not None:
            found[plan.name] = renamed(x.kernel.schedules[best], None, array_names(plan.outputs))
    return found


def check_alone(**options: object) -> None:
    """Raises InputError where a search is asked for together with what fixes or rewrites kernels by other means."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise InputError(
            f"{given[0]}= cannot be combined with a search that times kernels",
            where="optimize(..., seconds=, gap=)",
            mend=f"leave out {' and '.join(given)}, or seconds and gap",
        )
