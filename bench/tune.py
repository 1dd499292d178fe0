"""`python -m bench tune`: tunes the programs of `bench cpu` or the cells of `bench cuda` for the shipped database.

    python -m bench tune --seconds 60                                        # this processor, every operator
    python -m bench tune --programs softmax layernorm --seconds 30 --database FILE
    python -m bench tune --target cuda --cells 'memory|narrow|decode' --seconds 10 --total 220 --database FILE
    python -m bench tune --merge FILE...                                     # takes what was found elsewhere

Each program has a time of its own; what is faster than the first proposal by more than the spread and by `--least` is
written at once, so that a run that is stopped keeps what it has. Without `--database` that is the file of the package.
Run it while nothing else does: a duel under noise keeps nothing, or the wrong thing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cpu_programs import OPERATORS
from bench.cuda_cells import chosen
from tang_egg.cli_exit import INTERRUPTED
from tang_egg.cli_output import quiet_output
from tang_egg.cli_tune import told
from tang_egg.database import merge, read, shipped_file
from tang_egg.errors import TangError
from tang_egg.extract.certify import Budget
from tang_egg.ir import Graph
from tang_egg.probe import read_devices
from tang_egg.probe_store import store
from tang_egg.tune_schedules import WORTH, keep, tuning


@dataclass(frozen=True, slots=True)
class Program:
    """A graph to be tuned, and what entries call it."""

    name: str
    graph: Callable[[], Graph]
    chunk: Mapping[str, int] | None = None


def main(arguments: Sequence[str] = ()) -> int:
    """Tunes, or merges; 0, or 1 where a program could not be tuned."""
    asked = parser()
    given = asked.parse_args(arguments)
    try:
        if given.merge:
            return merged(given.merge, given.database)
        for file in given.constants:
            for device in read_devices(file):
                store(device)
        programs = listed(given.target, given.programs, given.cells)
        if given.list:
            print("\n".join(p.name for p in programs))
            return 0
        return tuned(programs, given)
    except (TangError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: what was finished is kept", file=sys.stderr)
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="python -m bench tune", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = found.add_argument
    add("--target", choices=("c", "cuda"), default="c")
    add("--programs", nargs="+", default=[], metavar="NAME", help="of bench cpu, these only")
    add("--cells", metavar="REGEX", help="of bench cuda, those whose line in its --list matches")
    add("--seconds", type=float, default=60.0, metavar="S", help="for each program (default: 60)")
    add("--total", type=float, default=float("inf"), metavar="S", help="begin no program when so many have passed")
    add("--gap", type=float, default=0.0, metavar="G", help="as for tang-tune")
    add("--least", type=float, default=WORTH, metavar="SHARE", help="as for tang-tune")
    add("--database", type=Path, metavar="FILE", help="(default: the file of the package)")
    add("--constants", nargs="+", type=Path, default=[], metavar="FILE", help="of devices, to be stored before")
    add("--merge", nargs="+", type=Path, default=[], metavar="FILE", help="only add the entries of such files")
    add("--list", action="store_true", help="print what would be tuned and stop")
    return found


def listed(target: str, names: Sequence[str] = (), cells: str | None = None) -> list[Program]:
    """The programs of a target. Raises ValueError for an unknown name."""
    if target == "c":
        unknown = [n for n in names if n not in OPERATORS]
        if unknown:
            raise ValueError(f"no operator is named {unknown[0]}; there are: {', '.join(OPERATORS)}")
        return [Program(n, OPERATORS[n].graph, OPERATORS[n].chunk) for n in names or OPERATORS]
    found = chosen(pattern=cells, must=cells is None)
    return [Program(c.title, c.graph) for c in found if c.dtype != "tf32"]  # another wish, which no entry speaks of


def tuned(programs: Sequence[Program], given: argparse.Namespace) -> int:
    """Tunes programs one after another and writes what is faster. One that cannot be tuned is told and left out."""
    start, failed = time.monotonic(), 0
    path = given.database or shipped_file(given.target)
    before = len(read(path).entries)
    for n, p in enumerate(programs):
        if time.monotonic() - start >= given.total:
            print(f"{given.total:g} s have passed: {len(programs) - n} programs are left", flush=True)
            break
        print(f"── {p.name}", flush=True)
        try:
            with quiet_output():
                run = tuning(p.graph(), given.target, least=given.least, what=p.name, chunk=p.chunk)
                rows = run.run(run.subjects(), Budget(given.seconds, given.gap))
            while True:
                with quiet_output():
                    made = next(rows, None)
                if made is None:
                    break
                keep(run, made, path)
                print("\n".join(told(made)), flush=True)
        except TangError as error:
            failed += 1
            print(error, file=sys.stderr, flush=True)
    print(f"{path}: {before} entries before, {len(read(path).entries)} now")
    return int(failed > 0)


def merged(files: Sequence[Path], database: Path | None) -> int:
    """Adds the entries of files to those of the package, each to that of its target, or all to one file."""
    for file in files:
        if not file.is_file():
            raise ValueError(f"no file {file}")
        book = read(file)
        for line in book.unreadable:
            print(f"{file}: {line}", file=sys.stderr)
        targets = sorted({e.place.target for e in book.entries})
        for t in targets:
            path = database or shipped_file(t)
            count = merge([e for e in book.entries if e.place.target == t], path)
            print(f"{count} of {file} added to {path}")
    return 0
