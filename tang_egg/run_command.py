"""Commands of other programs, run with a limit of time: a compiler that hangs ends in an error, with all it started."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
from collections.abc import Sequence

from tang_egg.errors import TargetError

LIMIT = 600.0
"""Seconds that one run of the compiler may take, unless TANG_CC_SECONDS says otherwise."""


def limit() -> float:
    """Seconds that one run of the compiler may take. Raises TargetError when TANG_CC_SECONDS is no positive number."""
    said = os.environ.get("TANG_CC_SECONDS", "")
    if not said.strip():
        return LIMIT
    try:
        seconds = float(said)
    except ValueError:
        seconds = 0.0
    if not (seconds > 0 and math.isfinite(seconds)):
        raise TargetError(
            "the limit of the compiler's time is no positive number of seconds",
            where=f"the environment: TANG_CC_SECONDS={said}",
            mend="set it to a number such as 600, or unset it",
        )
    return seconds


def start(command: Sequence[str]) -> subprocess.Popen[str]:
    """A command in a group of processes of its own. Raises OSError when it cannot be started."""
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        start_new_session=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str], seconds: float | None = None) -> tuple[str, str]:
    """What a command wrote to its output and to its errors, when it has ended.

    Raises TargetError when it takes longer than `seconds` (default: `limit()`); it is ended then, as it is when this
    process is interrupted.
    """
    allowed = limit() if seconds is None else seconds
    try:
        return process.communicate(timeout=allowed)
    except subprocess.TimeoutExpired:
        end(process)
        raise TargetError(
            f"the C compiler did not end within {allowed:g} s",
            where=" ".join(map(str, process.args if isinstance(process.args, list) else [process.args]))[:500],
            mend="set TANG_CC_SECONDS to more seconds, or TANG_CC to another compiler",
        ) from None
    except BaseException:
        end(process)
        raise


def end(process: subprocess.Popen[str]) -> None:
    """Ends a command and everything that it started."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
