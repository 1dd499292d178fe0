"""What tuning a kernel starts from and ends with: its space as a search of its own, rivals of a duel, counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tang_egg.cost.roofline import Estimate
from tang_egg.database import Entry
from tang_egg.egraph import ClassId
from tang_egg.errors import TangError
from tang_egg.extract.certify_ledger import Ledger, Timed
from tang_egg.extract.select import Candidate
from tang_egg.extract.space import Floor, Guesses, Problem, SpaceKernel, WindowSpace
from tang_egg.ir import Tensor
from tang_egg.kernel_names import Canonical
from tang_egg.pipeline_space import Target as Searched
from tang_egg.schedule import Schedule

RIVALS = 3
"""Schedules that meet the first proposal in a duel by their medians, and by their least times."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel to be tuned: under canonical names, with its name in the program, and how often it is there."""

    name: str
    content: Canonical
    sizes: Mapping[str, int]
    copies: int


@dataclass(frozen=True, slots=True)
class TunedKernel:
    """What tuning a kernel gave. Schedules are in canonical names. `entry`: what goes into the database, if anything.

    `timed`, `refused`, `pruned`, `open`: of its `schedules`: timed; not legal or wrong; ruled out by floors; what is
    left. `first` is None where the first proposal could not be timed; `wrong`: since its values are not right.
    `proves`: whether floors rest on constants that were measured here; else they rule nothing out.
    """

    subject: Subject
    schedules: int
    timed: int
    refused: int
    pruned: int
    open: int
    floor: float
    first_schedule: Schedule
    first: Timed | None = None
    schedule: Schedule | None = None
    best: Timed | None = None
    entry: Entry | None = None
    stopped: str = ""
    why: str = ""
    wrong: bool = False
    proves: bool = True


@dataclass(slots=True)
class KnownFirst:
    """Guesses by which what the database knows is timed first."""

    inner: Guesses
    known: frozenset[Schedule]

    def seconds(self, outputs: tuple[Tensor, ...], schedule: Schedule) -> float:
        return 0.0 if schedule in self.known else self.inner.seconds(outputs, schedule)


def floor_of(at: Searched, outputs: tuple[Tensor, ...], schedule: Schedule) -> Floor:
    """The floor of a schedule of the database; none where it is not legal, which the search finds out."""
    try:
        return at.floors.seconds(outputs, schedule)
    except TangError:
        return Floor(0.0, proves=False)


def problem_of_one(kernel: SpaceKernel) -> Problem:
    """The space of one kernel: there is nothing to choose but its schedule."""
    only = ClassId(0)
    candidate = Candidate((only,), (), (), (), Estimate(0.0, 0.0, 0.0, 0.0))
    window = WindowSpace((candidate,), (only,), 1, ((0,),), ((),), (0,), ("kernel",))
    return Problem((kernel,), (window,))


def unpruned(kernel: SpaceKernel) -> SpaceKernel:
    """The same without floors: those that rest on estimates for a class of machines may be too high for this one."""
    return replace(kernel, floors=tuple(Floor(0.0, proves=False) for _ in kernel.floors))


def fastest(x: Ledger) -> list[int]:
    """The schedules that meet the first proposal: the best by their medians, and by the least that was seen of each."""
    by_median = sorted(x.timed, key=lambda n: (x.timed[n].median, n))[:RIVALS]
    lowest = [n for n in x.timed if x.timed[n].lowest > 0]
    return list(dict.fromkeys([*by_median, *sorted(lowest, key=lambda n: (x.timed[n].lowest, n))[:RIVALS]]))


def counted(subject: Subject, x: Ledger, floor: float, stopped: str) -> TunedKernel:
    """What became of the schedules of a kernel in a search, before any duel."""
    left = x.left()
    pruned = sum(x.kernel.floors[n].seconds >= x.least for n in left)
    return TunedKernel(
        subject, len(x.kernel.schedules), len(x.timed), len(x.refused), pruned, len(left) - pruned, floor,
        x.kernel.schedules[0], stopped=stopped,
    )  # fmt: skip
