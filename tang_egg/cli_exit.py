"""How every command ends: its exit code, and what is told of errors, interrupts and a reader that went away."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable

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


def ended(name: str, work: Callable[[], int]) -> int:
    """The exit code of the command `name`, whose work gives one or raises.

    A TangError is told with its three parts, an interrupt in a word, both on standard error. A reader of standard
    output that went away (`| head`) has seen enough: that is no error, and nothing is told of it.
    """
    code = OK
    try:
        try:
            code = _told(name, work)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here, since a broken pipe at the end of the process can be caught by nobody
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _told(name: str, work: Callable[[], int]) -> int:
    try:
        return work()
    except TangError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return INTERRUPTED


def exit_code(error: TangError) -> int:
    """The exit code of an error; one without a row of its own is about what was asked for."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), USAGE)
