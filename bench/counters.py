"""`python -m bench counters`: hardware counters of our kernels on the CUDA cells, read by Nsight Compute.

Each system runs in a process of its own under `ncu`, with the clocks left alone and caches warm; one call is counted,
after three others. Counting repeats each kernel several times alone on an idle chip, so its time and clock are not
those of the measurements: compare cycles and shares. `clock under load` is what the two say together: these cycles over
the newest time of the system in the log.

exit status: 0; 1 when a system could not be counted; 2 when there is no ncu, or it cannot read counters here.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from bench import counters_metrics as metrics
from bench import log
from bench.cuda_cells import COMPILE, CUBLAS, CUDNN, EAGER, FLASH2, FLASH4, FLEX, OURS, Cell, chosen, family
from bench.cuda_rows import key

PLACES = ("/usr/local/cuda*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu", "/opt/nvidia/nsight-compute/*/*/ncu")
NO_RIGHTS = re.compile(
    "ERR_NVGPUCTRPERM|LibraryNotLoaded|Failed to initialize the profiler|not have permission|InsufficientPrivileges",
    re.IGNORECASE,
)
RETRIES = 6
ACROSS = 5
"""Kernels side by side in a table."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a command printed; `code` is None where it was ended by the time limit."""

    code: int | None
    out: str
    err: str

    @property
    def text(self) -> str:
        return f"{self.out}\n{self.err}"


Run: TypeAlias = "Callable[[Sequence[str], float], Output]"


class NoCounters(Exception):
    """Counters cannot be read here at all."""


@dataclass(frozen=True, slots=True)
class System:
    """What is counted: our kernels (with a forced schedule, or not), or a peer by its family."""

    cell: Cell
    schedule: str | None = None
    peer: str | None = None

    @property
    def name(self) -> str:
        return self.peer or (f"{OURS} ({self.schedule})" if self.schedule else OURS)


@dataclass(frozen=True, slots=True)
class Counted:
    """The launches of one call; `failed` where there are none."""

    system: System
    kernels: tuple[metrics.Kernel, ...] = ()
    failed: str | None = None


def run(command: Sequence[str], seconds: float) -> Output:
    """Runs a command in the root of the tree; it and all that it started end at the time limit."""
    root = Path(__file__).parent.parent
    paths = os.pathsep.join(p for p in (str(root), os.environ.get("PYTHONPATH", "")) if p)
    environment = {**os.environ, "LC_ALL": "C", "PYTHONPATH": paths}
    process = subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Output(None, out, err)
    return Output(process.returncode, out, err)


def find_ncu(given: str | None = None) -> str:
    """The path of ncu. Raises NoCounters."""
    found = [given] if given else [shutil.which("ncu") or "", *(p for g in PLACES for p in sorted(glob.glob(g)))]
    path = next((p for p in found if p and shutil.which(p)), None)
    if path is None:
        raise NoCounters(f"ncu is not installed{f' at {given}' if given else ''}")
    return path


class Profiler:
    """Nsight Compute. `wanted` shrinks as names turn out to be unknown; `dropped` are those."""

    def __init__(self, ncu: str, runner: Run = run, seconds: float = 150.0, peers: str | None = None) -> None:
        self.ncu, self.runner, self.seconds, self.peers = ncu, runner, seconds, peers
        self.wanted: tuple[str, ...] = metrics.METRICS
        self.by_name = False

    @property
    def dropped(self) -> tuple[str, ...]:
        return tuple(m for m in metrics.METRICS if m not in self.wanted)

    def ask(self, chip: str = "gh100") -> None:
        """Leaves out what this version of ncu does not list for the chip; a listing that fails changes nothing."""
        listing = self.runner([self.ncu, "--query-metrics", "--chip", chip], 60.0)
        if listing.code == 0:
            self.wanted = metrics.known(listing.out, self.wanted)

    def command(self, system: System) -> list[str]:
        child = [sys.executable, "-m", "bench.counters_child", system.cell.title]
        for option, value in (("schedule", system.schedule), ("peer", system.peer), ("peers", self.peers)):
            child += [f"--{option}", value] if value else []
        # our kernels are named k0_…, k1_…; the rest is of use where the profiler's start is not seen
        which = ["--kernel-name", "regex:^k[0-9]+_", "--launch-count", "4"]
        where = which if self.by_name else ["--profile-from-start", "off"]
        return [
            self.ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--cache-control",
            "none", "--target-processes", "all", *where, "--metrics", ",".join(self.wanted), *child,
        ]  # fmt: skip

    def count(self, system: System) -> Counted:
        """The counters of one call. Raises NoCounters where none can be read, whatever is asked for."""
        for attempt in range(RETRIES):
            done = self.runner(self.command(system), self.seconds)
            found = tuple(k for k in metrics.kernels(done.out) if k.values)
            if found:
                return Counted(system, found)
            if NO_RIGHTS.search(done.text):
                raise NoCounters(_first_complaint(done.text))
            if done.code is None:
                return Counted(system, failed=f"no end within {self.seconds:g} s: {_tail(done)}")
            if unknown := metrics.refused(done.text, self.wanted):
                fewer = tuple(m for m in self.wanted if m not in unknown) if attempt < RETRIES - 2 else ()
                self.wanted = fewer or metrics.LEAST
            elif re.search("no kernels were profiled", done.text, re.IGNORECASE) and not (self.by_name or system.peer):
                self.by_name = True
            elif re.search("metric", _first_complaint(done.text)) and set(self.wanted) - set(metrics.LEAST):
                self.wanted = metrics.LEAST
            else:
                return Counted(system, failed=f"exit status {done.code}: {_tail(done)}")
        return Counted(system, failed=f"no counters after {RETRIES} attempts: {_tail(done)}")


def _first_complaint(text: str) -> str:
    lines = [" ".join(x.split()) for x in text.splitlines() if x.strip().startswith("==ERROR==")]
    return lines[0] if lines else ""


def _tail(done: Output) -> str:
    lines = [x for x in done.text.splitlines() if x.strip() and not x.startswith("==PROF==")]
    return "\n    ".join(["", *lines[-25:]])


def clock(counted: Counted, kernel: metrics.Kernel, rows: Iterable[log.Row]) -> float | None:
    """GHz at which these cycles take the system's newest time in the log; None for several kernels, or no time."""
    cycles = kernel.values.get("sm__cycles_elapsed.max")
    if len(counted.kernels) != 1 or counted.system.schedule or cycles is None:
        return None
    times = [
        float(r["median_ms"])
        for r in rows
        if key(r) == counted.system.cell.key
        and family(r["system"]) == (counted.system.peer or OURS)
        and r.get("median_ms") is not None
    ]
    return cycles / times[-1] / 1e6 if times else None


def records(counted: Counted, dropped: Sequence[str], rows: Sequence[log.Row] = ()) -> list[dict[str, object]]:
    """One record a launch, or one that says why there is none."""
    cell = counted.system.cell
    head: dict[str, object] = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "cell": cell.title,
        "system": counted.system.name,
    }
    if counted.failed is not None:
        return [{**head, "failed": counted.failed}]
    found: list[dict[str, object]] = []
    for k in counted.kernels:
        table = metrics.shown(k.values)
        if (load := clock(counted, k, rows)) is not None:
            table["clock under load, GHz"] = load
        found.append({**head, "kernel": k.name, "table": table, "metrics": dict(k.values), "dropped": list(dropped)})
    return found


def report(found: Sequence[dict[str, object]]) -> str:
    """Tables, a few launches side by side, one counter a line; failures below."""
    out: list[str] = []
    counted = [r for r in found if "table" in r]
    for start in range(0, len(counted), ACROSS):
        part = counted[start : start + ACROSS]
        tables: list[dict[str, float]] = [dict(r["table"]) for r in part]  # type: ignore[call-overload]
        for n, r in enumerate(part):
            out.append(f"[{n + 1}] {r['cell']}  {r['system']}  {str(r['kernel'])[:60]}")
        titles = [line.title for line in metrics.LINES] + ["clock under load, GHz"]
        out.append(" " * 28 + "".join(f"{f'[{n + 1}]':>14}" for n in range(len(part))))
        for title in titles:
            if any(title in t for t in tables):
                out.append(f"{title:28}" + "".join(f"{_figure(t.get(title)):>14}" for t in tables))
        out.append("")
    out += [f"FAILED {r['cell']}  {r['system']}: {r['failed']}" for r in found if "failed" in r]
    return "\n".join(out)


def _figure(x: float | None) -> str:
    if x is None:
        return "-"
    return f"{x:,.0f}" if abs(x) >= 1e4 else f"{x:.4g}"


def measure(
    systems: Sequence[System],
    profiler: Profiler,
    out: Path | None,
    known: Sequence[log.Row] = (),
    *,
    seconds: float = float("inf"),
    clock_now: Callable[[], float] = time.monotonic,
) -> int:
    """Counts systems one after the other, keeps each at once in `out`, prints the tables; gives the exit status."""
    began, found = clock_now(), list[dict[str, object]]()
    for n, system in enumerate(systems):
        if clock_now() - began >= seconds:
            print(f"{seconds:g} s have passed: {len(systems) - n} systems are left", flush=True)
            break
        counted = profiler.count(system)
        new = records(counted, profiler.dropped, known)
        found += new
        if out is not None:
            with out.open("a", encoding="utf-8") as file:
                file.write("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in new))
        state = "FAILED" if counted.failed else f"{len(counted.kernels)} kernels"
        print(f"{clock_now() - began:6.1f} s  {system.cell.title}  {system.name}: {state}", flush=True)
    if profiler.dropped:
        print(f"unknown to this ncu: {', '.join(profiler.dropped)}")
    print(report(found), flush=True)
    return int(any("failed" in r for r in found))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m bench counters", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add, families = made.add_argument, (CUDNN, FLASH2, FLASH4, FLEX, COMPILE, EAGER, CUBLAS)
    add("cells", nargs="?", metavar="REGEX", help="cells whose line in `cuda --list` matches (default: the must-run)")
    add("--schedule", action="append", default=[], metavar="TEXT", help="force it; may be repeated, '' is our own")
    add("--peer", action="append", default=[], metavar="NAME", help=f"count it too, of {', '.join(families)}")
    add("--peers", metavar="FOLDER", help="where further peers are installed")
    add("--out", type=Path, metavar="FILE", help="append one JSON line a launch")
    add("--seconds", type=float, default=float("inf"), help="start no system when so many have passed")
    add("--limit", type=float, default=150.0, metavar="SECONDS", help="of one system (default: 150)")
    add("--ncu", metavar="PATH", help="where Nsight Compute is")
    add("--show", action="store_true", help="print the commands and stop; needs no GPU")
    return made


def main(arguments: Sequence[str] = ()) -> int:
    asked = parser()
    given = asked.parse_args(arguments)
    try:
        cells = chosen((), given.cells, given.cells is None)
    except re.error as wrong:
        asked.error(f"cells: {wrong}")
    if not cells:
        asked.error("no cell matches")
    ours = [System(c, schedule=s or None) for c in cells for s in given.schedule or [""]]
    systems = ours + [System(c, peer=p) for c in cells for p in given.peer if p in c.peers]
    systems.sort(key=lambda s: cells.index(s.cell))
    try:
        profiler = Profiler("ncu" if given.show else find_ncu(given.ncu), seconds=given.limit, peers=given.peers)
        if given.show:
            print("\n".join(shlex.join(profiler.command(s)) for s in systems))
            return 0
        profiler.ask()
        return measure(systems, profiler, given.out, log.read(), seconds=given.seconds)
    except NoCounters as why:
        print(f"no counters: {why}", file=sys.stderr)
        return 2
