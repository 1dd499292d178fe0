"""Errors that say what went wrong, where, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TangError(Exception):
    """Base of every error that this package raises on purpose.

    Printed as three lines: what happened, `where:` it happened, and `mend:` what the caller can do.
    """

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        self.what = what
        self.where = where
        self.mend = mend
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.mend:
            lines.append(f"  mend:  {self.mend}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.where, self.mend))


def _rebuild(cls: type[TangError], what: str, where: str, mend: str) -> TangError:
    return cls(what, where=where, mend=mend)


def close_match(name: str, known: Iterable[str], most: int = 1) -> str:
    """`; did you mean 'x' or 'y'?` with the known names that are most like `name`, or nothing."""
    found = get_close_matches(name, list(known), most)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


class GraphError(TangError):
    """A graph is not well formed: shape, scope, type, cycle, or a read whose bounds cannot be proved."""


class TextError(TangError):
    """A `.tang` text cannot be read."""


class BindError(TangError):
    """A symbolic dimension is unbound, bound twice with different values, or bound outside its range."""


class InputError(TangError):
    """An array given to a compiled graph or to the interpreter does not fit its declaration."""


class LawError(TangError):
    """A law of the table is malformed, or would be applied where its side condition does not hold."""


class SaturationError(TangError):
    """The e-graph ran into a declared limit in a way that leaves no usable result."""


class SelectionError(TangError):
    """No admissible variant of the graph could be selected."""


class CodegenError(TangError):
    """A schedule cannot be lowered, or a kernel fails the check of the kernel IR."""


class TargetError(TangError):
    """A target cannot be used on this machine: no compiler, no driver, or a failed build."""


class VerificationError(TangError):
    """A compiled kernel disagrees with the interpreter."""


class ArtefactError(TangError):
    """A saved artefact or an exported folder cannot be written, or cannot be read: damaged, foreign or too new."""
