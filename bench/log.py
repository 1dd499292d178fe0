"""The log of measurements, bench/log.jsonl: one JSON object per line, only ever appended to.

run        one identifier for all rows that were measured together
when       UTC, ISO 8601
commit     of the tree, with "+" where it had changes
device     processor and the number of cores that the process may use, or the GPU
suite, program, shape, dtype
system     what ran, with its version
median_ms  of the samples
spread_ms  between their quartiles
error      max |error| / max |reference| against the float64 interpreter, or null; suites may define another norm
...        further counts of a suite, such as nodes
"""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from tang_egg.probe_host import processor, processors

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
    """Adds rows at the end of the log and gives its path. A last line that was cut off stays a line of its own."""
    text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    with file.open("ab+") as log:
        if log.tell() and not _ends_in_newline(log):
            text = "\n" + text
        log.write(text.encode())
        log.flush()
        os.fsync(log.fileno())
    return file


def _ends_in_newline(log: BinaryIO) -> bool:
    log.seek(-1, os.SEEK_END)
    return log.read(1) == b"\n"


def read(file: Path = FILE) -> list[Row]:
    """The rows of a log, oldest first; none where there is no file. Lines that are no row (cut ones) are left out."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [r for r in map(_parsed, lines) if r is not None]


def _parsed(line: str) -> Row | None:
    try:
        found = json.loads(line)
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and set(FIRST) <= set(found) else None


def merge(sources: Iterable[Path], file: Path = FILE) -> int:
    """Adds the rows of other logs that `file` lacks, in their order, and gives how many. The file changes at once."""
    old = file.read_bytes() if file.exists() else b""
    known = {_identity(r) for r in read(file)}
    new: dict[str, Row] = {}
    for source in sources:
        new |= {i: r for r in read(source) if (i := _identity(r)) not in known and i not in new}
    if new:
        text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in new.values())
        whole = old + (b"\n" if old and not old.endswith(b"\n") else b"") + text.encode()
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        beside.write_bytes(whole)
        beside.replace(file)
    return len(new)


def _identity(row: Row) -> str:
    return json.dumps(row, sort_keys=True)


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
    return f"{processor()}, {len(processors())} cores"
