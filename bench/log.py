"""The log of measurements, bench/log.jsonl: one JSON object per line, only ever appended to.

run        one identifier for all rows that were measured together
when       UTC, ISO 8601
commit     of the tree, with "+" where it had changes
device     processor and the number of cores that the process may use
suite, program, shape, dtype
system     what ran, with its version
median_ms  of the samples
spread_ms  between their quartiles
error      max |error| / max |reference| against the float64 interpreter, or null
...        further counts of a suite, such as nodes
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = "dict[str, Any]"

FILE = Path(__file__).parent / "log.jsonl"
FIRST = ("run", "when", "commit", "device", "suite", "program", "shape", "dtype", "system")
MEASURED = ("median_ms", "spread_ms", "error")


def row(suite: str, program: str, system: str, **fields: Any) -> Row:
    """A row with where, when and on what it was measured; missing fields of the format are null."""
    known: Row = {
        "run": _run(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "device": device(),
        "suite": suite,
        "program": program,
        "system": system,
    } | fields
    order = (*FIRST, *MEASURED, *(k for k in fields if k not in FIRST + MEASURED))
    return {key: known.get(key) for key in order}


def append(rows: Iterable[Row], file: Path = FILE) -> Path:
    """Adds rows at the end of the log and gives its path."""
    text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    with file.open("a", encoding="utf-8") as log:
        log.write(text)
    return file


def show(rows: Iterable[Row]) -> None:
    """Prints rows as a table; what is the same in all stands in its title, and columns without values are left out."""
    from rich.console import Console
    from rich.table import Table

    rows = list(rows)
    names = [c for c in dict.fromkeys(k for r in rows for k in r) if c != "when"]
    columns = [c for c in names if any(r.get(c) is not None for r in rows)]
    shared = [c for c in columns if c in FIRST and len({_cell(r.get(c)) for r in rows}) == 1]
    table = Table(title=", ".join(_cell(rows[0][c]) for c in shared) if rows else "no rows")
    kept = [c for c in columns if c not in shared]
    for c in kept:
        table.add_column(c, justify="left" if c in FIRST else "right")
    for r in rows:
        table.add_row(*(_cell(r.get(c)) for c in kept))
    console = Console()
    console.width = max(console.width, 160)
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.1f}"
    if isinstance(value, dict):
        return " ".join(f"{k}={v}" for k, v in value.items())
    return str(value)


@cache
def _run() -> str:
    return uuid.uuid4().hex[:12]


@cache
def commit() -> str:
    """The commit of the tree, "+" added where files differ from it; "unknown" outside a repository."""
    try:
        at = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/log.jsonl")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return at + ("+" if changed else "")


def _git(*arguments: str) -> str:
    command = ("git", "-C", str(FILE.parent.parent), *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@cache
def device() -> str:
    """The model of the processor and how many of its cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{_processor()}, {cores} cores"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
