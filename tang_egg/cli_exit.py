"""Exit codes that the commands share."""

from __future__ import annotations

from tang_egg.errors import (
    CodegenError,
    LawError,
    SaturationError,
    SelectionError,
    TangError,
    TargetError,
    VerificationError,
)

OK, WRONG, USAGE, NO_TARGET, NO_KERNEL = range(5)
INTERRUPTED = 130

_CODES: tuple[tuple[type[TangError], int], ...] = (
    (VerificationError, WRONG),
    (TargetError, NO_TARGET),
    (SaturationError, NO_KERNEL),
    (SelectionError, NO_KERNEL),
    (CodegenError, NO_KERNEL),
    (LawError, NO_KERNEL),
)


def exit_code(error: TangError) -> int:
    """The exit code of an error; one without a row of its own is about what was asked for."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), USAGE)
