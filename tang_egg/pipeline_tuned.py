"""What a compilation does with schedules of the database: searches time them first, programs are built with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tang_egg.database import Place
from tang_egg.database_find import Choice, matching
from tang_egg.errors import CodegenError, TangError, VerificationError
from tang_egg.extract.space import Guesses
from tang_egg.ir import Graph, Tensor
from tang_egg.kernel_names import canonical
from tang_egg.program import Program
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.targets import Runner, Target
from tang_egg.verify import Verification, verify


@dataclass(slots=True)
class TunedFirst:
    """Guesses of a search by which what the database has for a kernel is timed next to its first proposal.

    Without that, a search of few seconds could end with less than what runs without a search.
    """

    inner: Guesses
    place: Place
    sizes: Mapping[str, int]
    _known: dict[tuple[Tensor, ...], frozenset[Schedule]] = field(default_factory=dict)

    def seconds(self, outputs: tuple[Tensor, ...], schedule: Schedule) -> float:
        """The guess of `inner`, and nothing for a schedule of the database."""
        if outputs not in self._known:
            self._known[outputs] = self._of(outputs)
        return 0.0 if schedule in self._known[outputs] else self.inner.seconds(outputs, schedule)

    def _of(self, outputs: tuple[Tensor, ...]) -> frozenset[Schedule]:
        try:
            own = canonical(outputs)
            sizes = {new: self.sizes[n] for n, new in own.dims.items()}
            found = matching(self.place, own.key, sizes)
            return frozenset(own.own(parse_schedule(e.schedule)) for e, _ in found)
        except TangError:
            return frozenset()


def with_known(firsts: Mapping[str, Schedule], known: Mapping[str, Choice]) -> dict[str, Schedule]:
    """First proposals, and in their place what the database has."""
    return {**firsts, **{n: c.schedule for n, c in known.items() if c.schedule is not None}}


def compiled_with(
    on: Target, program: Program, chosen: dict[str, Schedule], firsts: dict[str, Schedule], known: dict[str, Choice],
    device: Any,
) -> tuple[dict[str, Schedule], Runner]:  # fmt: skip
    """The schedules of a program that is built, and the program. Where `chosen` cannot be printed, what the database
    had is struck out of `known`, and first proposals stand.
    """
    try:
        return chosen, on.compile(program, chosen, device)
    except CodegenError:
        if chosen == firsts:
            raise
    for n, c in known.items():
        if c.schedule is not None:
            known[n] = Choice("the database has a schedule, which is not legal for it")
    return firsts, on.compile(program, firsts, device)


def verified_with(
    graph: Graph, program: Program, runner: Runner, chosen: dict[str, Schedule], known: Mapping[str, Choice]
) -> Verification:
    """What verification found. An error says so where schedules of the database were taken."""
    try:
        return verify(graph, program, runner, chosen)
    except VerificationError as error:
        if any(c.schedule is not None for c in known.values()):
            error.mend += "; schedules are from the database: optimize(..., tuned=False) does without"
        raise
