"""Measurements of `python -m bench cpu` run in a process of their own: a peer that kills or hangs it costs one row.

Before each step that a peer may not survive, the worker writes what it is about to do into a marker file. When it dies
or does not go on, the supervisor adds that as a failed row and starts another worker, which goes on.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import log
from bench.cpu import MARKER
from bench.cpu_rows import DIED, failed_row
from tang_egg.files import replacing

HANGS = 900.0
"""Seconds without a sign of a worker after which it is ended."""
MOST = 40
"""Workers that are started at most."""


def mark(marker: Path, **doing: Any) -> None:
    """Says what comes next: the program, its shape, the system and what else the row of its death needs."""
    with replacing(marker) as file:
        file.write(json.dumps(doing).encode())


def supervise(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    marker: Path,
    file: Path,
    *,
    hangs: float = HANGS,
    command: Sequence[str] = (sys.executable, "-m", "bench"),
) -> int:
    """Runs workers until one ends by itself; gives its exit status, or 1 where workers die again and again."""
    for _ in range(MOST):
        marker.unlink(missing_ok=True)
        process = subprocess.Popen([*command, *arguments], env={**environment, MARKER: str(marker)})
        try:
            status = _ended(process, marker, hangs)
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            return 130
        if status is not None and status >= 0:
            return status
        why = f"{DIED}: it did not go on for {hangs:g} s" if status is None else f"{DIED}: {_signal(-status)}"
        doing = _read(marker)
        if doing is None:
            print(f"a worker ended before it measured anything: {why}", file=sys.stderr)
            return 1
        print(f"{doing['program']}: {doing['system']}: {why}", file=sys.stderr, flush=True)
        log.append([failed_row(doing, why)], file)
    return 1


def _ended(process: subprocess.Popen[bytes], marker: Path, hangs: float) -> int | None:
    """The exit status of a worker; None where it was ended because it hung."""
    seen = time.monotonic()
    stamp = 0.0
    while True:
        try:
            return process.wait(timeout=min(1.0, hangs))
        except subprocess.TimeoutExpired:
            now = marker.stat().st_mtime if marker.exists() else 0.0
            if now != stamp:
                stamp, seen = now, time.monotonic()
            if time.monotonic() - seen > hangs:
                process.kill()
                process.wait()
                return None


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _read(marker: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(marker.read_text())
    except (OSError, json.JSONDecodeError):
        return None
    return found
