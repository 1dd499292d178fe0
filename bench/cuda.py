"""Suite `cuda`: our kernels and their peers on one GPU, each cell's systems timed in turns in the same run.

Rows are appended to the log after each cell, so that a run that is stopped loses one cell at most, and the same command
goes on where it stopped: a cell is skipped when the log has a row of each of its systems for this device, driver and
commit. Columns are described in cuda_rows, cells in cuda_cells. `python -m bench ratios` compares what was measured.

exit status: 0; 3 when a kernel ended this process's use of the GPU, 4 when one did not return (in both cases the cell's
rows say so, and the same command goes on with the next cell).
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO, TypeAlias

from bench import log
from bench.cuda_cells import SUITES, Cell, chosen
from bench.cuda_rows import DeviceLost, Machine, Result, done, failed, rows

LOST, HUNG = 3, 4
LOST_TEXT = "the device is lost in this process: run the same command again to go on"


def main(arguments: Sequence[str] = ()) -> int:
    asked = parser()
    given = asked.parse_args(arguments)
    known = {*SUITES, *(s.removeprefix("cuda.") for s in SUITES)}
    if unknown := [s for s in given.suites if s not in known]:
        asked.error(f"no suite is named {unknown[0]}")
    try:
        cells = chosen(given.suites, given.cells, given.must)
    except re.error as wrong:
        asked.error(f"--cells: {wrong}")
    if given.list:
        show(cells, sys.stdout)
        return 0
    try:
        from bench.cuda_machine import Gpu

        machine = Gpu(given.schedule, given.ours_only, given.peers)
    except (ImportError, RuntimeError) as failure:
        print(f"no measurement: {failure}", file=sys.stderr)
        return 1
    return measure(
        cells,
        machine,
        given.log,
        given.commit or log.commit(),
        seconds=given.seconds,
        force=given.force,
        retry=given.retry,
    )


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="python -m bench cuda", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [s.removeprefix("cuda.") for s in SUITES]
    add = found.add_argument
    add("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(names)}; all without")
    add("--must", action="store_true", help="the must-run subset only, about eight minutes")
    add("--cells", metavar="REGEX", help="cells whose line in --list matches")
    add("--list", action="store_true", help="print the cells and stop; needs no GPU")
    add("--seconds", type=float, default=float("inf"), help="start no cell when so many have passed")
    add("--log", type=Path, default=log.FILE, metavar="FILE", help="to append to (default: bench/log.jsonl)")
    add("--commit", metavar="TEXT", help="the commit of the tree, where git cannot tell")
    add("--force", action="store_true", help="measure cells that the log has, too")
    add("--retry", action="store_true", help="measure cells again in which a system failed")
    add("--ours-only", action="store_true", help="no peers")
    add("--schedule", action="append", default=[], metavar="TEXT", help="force it on our kernel; may be repeated")
    add("--peers", metavar="FOLDER", help="where further peers are installed (see bench/README.md)")
    return found


def show(cells: Sequence[Cell], to: TextIO) -> None:
    for c in cells:
        print(f"{'must' if c.must else '    '}  floor {c.floor_ms:8.4f} ms  {c.title}", file=to)


def measure(
    cells: Sequence[Cell],
    machine: Machine,
    file: Path,
    commit: str,
    *,
    seconds: float = float("inf"),
    force: bool = False,
    retry: bool = False,
    clock: Callable[[], float] = time.monotonic,
    out: TextIO | None = None,
) -> int:
    """Measures cells and appends their rows to `file`, one cell at a time; gives the exit status."""
    out = out or sys.stdout
    start, told = clock(), set[str]()
    known = [] if force else log.read(file)
    print(f"{machine.device}, driver {machine.driver}, commit {commit}: {len(cells)} cells", file=out, flush=True)
    for n, cell in enumerate(cells):
        if clock() - start >= seconds:
            print(f"{seconds:g} s have passed: {len(cells) - n} cells are left", file=out, flush=True)
            break
        systems = machine.systems(cell)
        for name, why in machine.missing().items():
            if name not in told:
                told.add(name)
                print(f"missing: {name}: {why}", file=out, flush=True)
        if done(cell, systems, machine, commit, known, retry):
            print(f"done before: {cell.title}", file=out, flush=True)
            continue

        keep = partial(_keep, cell, machine, file, commit, out)
        watch = Watch(partial(_overdue, keep, systems))
        began = clock()
        try:
            keep(machine.measure(cell, systems, watch.stage))
        except DeviceLost as lost:
            keep(lost.results)
            print(LOST_TEXT, file=out, flush=True)
            return LOST
        except Exception as failure:  # of the harness, for this cell: the others may still be measured
            keep(failed(systems, f"not measured: {type(failure).__name__}: {failure}"))
            if not machine.alive():
                print(LOST_TEXT, file=out, flush=True)
                return LOST
        finally:
            watch.stop()
        print(f"  {clock() - began:.1f} s", file=out, flush=True)
    return 0


Keep: TypeAlias = Callable[[Sequence[Result]], None]


def _keep(cell: Cell, machine: Machine, file: Path, commit: str, out: TextIO, results: Sequence[Result]) -> None:
    log.append(rows(cell, results, machine, commit), file)
    _tell(cell, results, out)


def _overdue(keep: Keep, systems: Sequence[str], why: str) -> None:
    keep(failed(systems, why))


def _tell(cell: Cell, results: Sequence[Result], out: TextIO) -> None:
    print(f"{cell.title}  floor {cell.floor_ms:.4g} ms", file=out)
    for r in results:
        if r.failed or r.median_ms is None:
            print(f"  {r.system:44} FAILED {r.failed}", file=out)
            continue
        how = "" if r.how == "graph" else f"  {r.how}"
        spread, error, share = 100 * (r.spread or 0), r.error or 0, cell.floor_ms / r.median_ms
        timed = f"{r.median_ms:9.4f} ms ± {spread:.1f}%  {share:.0%} of the floor's rate  error {error:.1e}"
        print(f"  {r.system:44} {timed}{how}", file=out)
    out.flush()


class Watch:
    """Ends the process when a stage takes longer than allowed: a kernel that waits for ever stops in no other way.

    `overdue` is called before that with what happened.
    """

    def __init__(self, overdue: Callable[[str], None], end: Callable[[int], object] = os._exit) -> None:
        self._overdue, self._end = overdue, end
        self._timer: threading.Timer | None = None

    def stage(self, name: str, seconds: float) -> None:
        """The stage that begins now may take so long."""
        self.stop()
        self._timer = threading.Timer(seconds, self._expired, (name, seconds))
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _expired(self, name: str, seconds: float) -> None:
        try:
            self._overdue(f"no end of '{name}' within {seconds:g} s")
        finally:
            sys.stdout.flush()
            self._end(HUNG)
