"""Rows of suite `cpu`: what identifies them, which a log has already, and those of failures."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tang_egg as te
from bench import log
from bench.cpu_programs import Operator

SUITE, CEILINGS = "cpu", "ceilings"
DIED = "the process died"
LIMIT = 2e-3
"""max |error| / max |reference| up to which a result counts as that of the operator."""
OURS = f"tang_egg {te.__version__} c"
CALLED = f"{OURS}, called"
"""Ours on bound arrays with outputs at hand, and by a plain call from Python, which makes its outputs."""
SOURCES = ("tang_egg", "rules", "cost", "extract", "codegen")


@cache
def code() -> str:
    """A hash of the sources of this project, for a tree with changes too; the benches are not among them."""
    root, found = Path(__file__).parent.parent, hashlib.sha256()
    for folder in SOURCES:
        for file in sorted((root / folder).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                found.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:12]


def own(schedules: Sequence[str] = (), search: float | None = None) -> tuple[str, str]:
    """What our two systems are called: with forced schedules, or after a search, they are systems of their own."""
    said = [*schedules, *([] if search is None else [f"searched {search:g} s"])]
    way = f" ({'; '.join(said)})" if said else ""
    return OURS + way, CALLED + way


def dtype(operator: Operator) -> str:
    return "i8" if operator.family == "q8_gemv" else "f32"


def known(rows: Iterable[log.Row], operator: Operator, retry: bool = False) -> dict[str, log.Row]:
    """The newest row of each system for this operator, code and device; without the failed ones if they are retried."""
    found: dict[str, log.Row] = {}
    for r in rows:
        same = r["suite"] == SUITE and r["program"] == operator.name and r["device"] == log.device()
        if same and r.get("code") == code() and r["shape"] == dict(operator.sizes):
            found.pop(r["system"], None)
            if not (retry and r.get("failed")):
                found[r["system"]] = r
    return found


def left(rows: Iterable[log.Row], operator: Operator, systems: Iterable[str], retry: bool = False) -> list[str]:
    """The systems to measure: all that did not kill their process, or none where the log has a row of each."""
    before = known(rows, operator, retry)
    systems = list(systems)
    if all(s in before for s in systems):
        return []
    return [s for s in systems if not str(before.get(s, {}).get("failed") or "").startswith(DIED)]


def failed_row(doing: Mapping[str, Any], why: str) -> log.Row:
    """A row without a time. `doing`: what the marker said (see cpu_worker.mark)."""
    fields = {k: v for k, v in doing.items() if k not in ("program", "system")}
    return log.row(SUITE, str(doing["program"]), str(doing["system"]), **fields, failed=why)
