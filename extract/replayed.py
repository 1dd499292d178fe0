"""What a replay ends in, and how it refuses."""

from __future__ import annotations

from dataclasses import dataclass

from tang_egg.errors import LawError
from tang_egg.program import Program


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay ended in. `checked`: for each step of each distinct window, how its claims were found to hold.

    `program`: the selected one. `ending`: what the last rewriting made of it, one program for each stage of a rank;
    `rewritten`: how each rewriting was checked.
    """

    program: Program
    checked: tuple[tuple[str, ...], ...]
    ending: tuple[Program, ...] = ()
    rewritten: tuple[str, ...] = ()


def refused(what: str, where: str) -> LawError:
    """The error for a certificate that does not say what the graph leads to, however that came about."""
    return LawError(what, where=where, mend="the certificate was changed, or made by another version: derive it anew")
