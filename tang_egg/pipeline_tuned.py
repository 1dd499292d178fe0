"""A program built and verified under schedules of the database, with first proposals to fall back to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tang_egg.database_find import Choice
from tang_egg.errors import CodegenError, VerificationError
from tang_egg.ir import Graph
from tang_egg.program import Program
from tang_egg.schedule import Schedule
from tang_egg.targets import Runner, Target
from tang_egg.verify import Verification, verify


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
