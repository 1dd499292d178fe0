"""`tang-tune PROGRAM`: times schedules of a program's kernels on the device, and keeps what is faster in a database.

Exit codes: 0 all is well, whether anything was kept or not; 1 a first proposal gives wrong values; 2 the command line,
the program or a file is wrong; 3 the target cannot be used here; 4 no kernel could be derived; 130 interrupted: kernels
that were finished before are kept.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tang_egg.cli_exit import INTERRUPTED, OK, WRONG, ended
from tang_egg.cli_graph import load_graph, parse_bindings
from tang_egg.cli_options import Parser, check_target
from tang_egg.cli_output import own_temporary, quiet_output
from tang_egg.cost.time import said
from tang_egg.database import Book, Entry, Key, own_file, read, shipped_file, update
from tang_egg.errors import BindError, InputError, TangError
from tang_egg.ir import Graph
from tang_egg.targets import TARGETS

if TYPE_CHECKING:
    from tang_egg.extract.certify import Budget
    from tang_egg.extract.certify_ledger import Timed
    from tang_egg.tune_kernel import Subject, TunedKernel
    from tang_egg.tune_schedules import Tuning

SECONDS = 60.0
"""How long a program is tuned unless the command line says otherwise."""
_EPILOG = """\
PROGRAM is a built-in example, a .tang or .onnx file, or file.py:name (which is executed), as for tang-saturate.

  tang-tune attention --seconds 120
  tang-tune model.tang --sizes n=512 --target cuda --gap 0.1
  tang-tune attention --dry-run             # the kernels, the sizes of their spaces and what is known; times nothing
  tang-tune --list                          # every entry, your own and those that are shipped
  tang-tune attention --forget              # drops your own entries of its kernels

exit codes: 0 all is well, 1 a first proposal gives wrong values, 2 wrong command line, program or file,
            3 the target cannot be used here, 4 no kernel could be derived, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    return ended("tang-tune", lambda: _checked(parser().parse_args(arguments)))


def _checked(options: argparse.Namespace) -> int:
    check(options)
    with own_temporary():
        return _run(options)


def parser() -> Parser:
    """All options of tang-tune."""
    made = Parser(
        prog="tang-tune", description=__doc__.split("\n")[0], epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    made.add_argument("program", metavar="PROGRAM", nargs="?", help="an example, a file, or file.py:name")
    made.add_argument(
        "--target", "--device", metavar="NAME", help=f"{', '.join(TARGETS)} (default: c; --list and --forget: all)"
    )
    made.add_argument(
        "--sizes", action="append", default=[], metavar="DIM=N", help="the size of a symbolic dim while it is timed"
    )
    made.add_argument("--bind", action="append", default=[], metavar="DIM=N", help="make a dim concrete; repeatable")
    made.add_argument("--seconds", type=float, metavar="S", help=f"time for all kernels (default: {SECONDS:g})")
    made.add_argument(
        "--gap", type=float, metavar="G", help="end a kernel where nothing can be faster by more than this share"
    )
    made.add_argument(
        "--least", type=float, default=0.05, metavar="SHARE",
        help="keep what is faster by this share than the first proposal, and by more than the spread (default: 0.05)",
    )  # fmt: skip
    made.add_argument("--database", metavar="FILE", help="the file to keep it in (default: your own, in the cache)")
    what = made.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="tell what would be timed; times and writes nothing")
    what.add_argument("--list", action="store_true", help="print the database, or what it has for PROGRAM")
    what.add_argument("--forget", action="store_true", help="drop the entries of PROGRAM, or all, from the file")
    return made


def check(options: argparse.Namespace) -> None:
    """Raises TangError for what makes no sense, before anything is compiled."""
    if options.program is None and not (options.list or options.forget):
        raise TangError(
            "there is no PROGRAM to tune", where="the command line of tang-tune",
            mend="give one, such as tang-tune attention; or --list",
        )  # fmt: skip
    if options.target is not None:
        check_target(options.target)
    if options.seconds is not None and not (0 < options.seconds < math.inf):
        raise InputError(
            f"{options.seconds:g} seconds are no time", where="--seconds", mend="give a number above 0: --seconds 60"
        )
    for name, value in (("gap", options.gap), ("least", options.least)):
        if value is not None and not 0 <= value < 1:
            raise InputError(
                f"{value:g} is no share", where=f"--{name}", mend="give a number from 0 on, below 1: 0.05 is 5 %"
            )


def _run(options: argparse.Namespace) -> int:
    if options.list:
        return _list(options)
    if options.forget:
        return _forget(options)
    from tang_egg.tune_schedules import keep, tuning  # the compiler, which a wrong command line does not need

    graph = _graph(options)
    path = Path(options.database) if options.database else own_file()
    read(path)  # what cannot be read is told before the time is spent
    run = tuning(graph, options.target or "c", sizes=_sizes(options.sizes), least=options.least, what=_called(options))
    with quiet_output():
        subjects = run.subjects()
    threads = f", {run.place.threads} threads" if run.place.threads else ""
    print(f"{len(subjects)} kernels on {run.place.device}{threads}", flush=True)
    if not run.proves():
        print("floors rest on estimates and rule nothing out: tang-doctor --probe measures the device", flush=True)
    if options.dry_run:
        return _dry(run, subjects)
    done = kept = 0
    wrong = False
    rows = run.run(subjects, _budget(options))
    try:
        while True:
            with quiet_output():
                made = next(rows, None)
            if made is None:
                break
            kept += keep(run, made, path)
            done, wrong = done + 1, wrong or made.wrong
            print("\n".join(told(made)), flush=True)
    except KeyboardInterrupt:
        print(f"interrupted: {done} of {len(subjects)} kernels are done, {_where(kept, path)}", flush=True)
        return INTERRUPTED
    print(f"{done} kernels are done, {_where(kept, path)}")
    return WRONG if wrong else OK


def _where(kept: int, path: Path) -> str:
    return f"{kept} kept in {path}" if kept else "none is faster by enough to be kept"


def _budget(options: argparse.Namespace) -> Budget:
    from tang_egg.extract.certify import Budget

    seconds = options.seconds if options.seconds is not None else SECONDS if options.gap is None else math.inf
    return Budget(seconds, options.gap or 0.0)


def _graph(options: argparse.Namespace) -> Graph:
    bound = parse_bindings(options.bind)
    if options.program.endswith(".onnx"):
        from tang_egg.importers.onnx import load_onnx

        return load_onnx(options.program, dims=bound).graph
    graph = load_graph(options.program)
    return graph.bind(**bound) if bound else graph


def _called(options: argparse.Namespace) -> str:
    """What entries call the program: the example, the file without its folder, or the name inside of it."""
    path, _, member = options.program.rpartition(":")
    return member if path.endswith(".py") else Path(options.program).stem


def _sizes(given: Sequence[str]) -> dict[str, int]:
    try:
        return parse_bindings(given)
    except BindError as error:
        raise BindError(error.what, where="--sizes", mend="write DIM=N, for example --sizes n=512") from None


def _dry(run: Tuning, subjects: Sequence[Subject]) -> int:
    """What would be timed, and what the database has."""
    for s in subjects:
        with quiet_output():
            _, kernel = run.space(s)
        times = f", {s.copies} times" if s.copies > 1 else ""
        print(f"{s.name}{times}: {len(kernel.schedules)} schedules, none below {said(kernel.floor)}")
        print(f"  first proposal: {s.content.own(kernel.schedules[0])}")
        for known in run.known(s):
            print(f"  database:       {s.content.own(known)}")
    return OK


def told(made: TunedKernel) -> list[str]:
    """What came of a kernel, as lines."""
    s = made.subject
    times = f" ({s.copies} times)" if s.copies > 1 else ""
    lines = [
        f"{s.name}{times}: {made.schedules} schedules: {made.timed} timed, {made.pruned} ruled out by floors, "
        f"{made.refused} refused, {made.open} open; none is below {said(made.floor)}"
        f"{'' if made.proves else ' by estimates'}"
    ]
    if made.first is not None and made.best is not None and made.schedule is not None:
        lines.append(f"  first proposal {_time(made.first)}: {s.content.own(made.first_schedule)}")
        if made.schedule != made.first_schedule:
            ratio = made.first.median / made.best.median
            lines.append(f"  best {_time(made.best)}, {ratio:.2f} times as fast: {s.content.own(made.schedule)}")
    lines.append(f"  {'kept' if made.entry is not None else f'nothing is kept: {made.why}'}")
    return lines


def _time(t: Timed) -> str:
    return f"{said(t.median)} ± {said(t.spread / 2)}"


def _list(options: argparse.Namespace) -> int:
    keys = _keys(options) if options.program is not None else None
    targets = [options.target] if options.target else list(TARGETS)
    own = Path(options.database) if options.database else own_file()
    books = [("own" if options.database is None else str(own), own)]
    books += [] if options.database else [("shipped", shipped_file(t)) for t in targets]
    count = 0
    for whose, path in books:
        book: Book = read(path)
        for line in book.unreadable:
            print(f"{path}: {line}", file=sys.stderr)
        for e in book.entries:
            if e.place.target in targets and (keys is None or e.kernel in keys):
                count += 1
                print(listed(e, whose))
    print(f"{count} entries")
    return OK


def listed(e: Entry, whose: str) -> str:
    """An entry for readers."""
    sizes = "".join(f" {n}={size}" for n, size in e.sizes)
    place = f"{e.place.target}, {e.place.device}" + (f", {e.place.threads} threads" if e.place.threads else "")
    return (
        f"{e.what}{sizes} ({e.types}; {place}; {whose}, {e.when})\n  {said(e.seconds)}, {e.ratio:.2f} times as fast as "
        f"{said(e.first_seconds)}, floor {said(e.floor)}\n  {e.schedule}\n  instead of {e.first}"
    )


def _forget(options: argparse.Namespace) -> int:
    path = Path(options.database) if options.database else own_file()
    keys = _keys(options) if options.program is not None else None
    gone = [
        e for e in read(path).entries
        if (options.target in (None, e.place.target)) and (keys is None or e.kernel in keys)
    ]  # fmt: skip
    if gone:
        update(path, lambda table: _without(table, gone))
    print(f"{len(gone)} entries dropped from {path}")
    return OK


def _without(table: dict[Key, Entry], gone: Sequence[Entry]) -> None:
    for e in gone:
        table.pop(e.key, None)


def _keys(options: argparse.Namespace) -> set[str]:
    """The keys of a program's kernels. No device is needed."""
    from tang_egg.kernel_names import canonical
    from tang_egg.pipeline import extract_for
    from tang_egg.saturate import Limits

    graph = _graph(options)
    found = set()
    with quiet_output():
        for k in extract_for(options.target or "c", graph, Limits()).program.kernels:
            try:
                found.add(canonical(k.outputs).key)
            except TangError:
                continue
    return found


if __name__ == "__main__":
    sys.exit(main())
