"""`tang-verify GRAPH`: runs a graph's kernels one by one on every target asked for, and says what is wrong, and where.

Exit codes: 0 nothing is wrong; 1 something is; 2 the command line, the graph or a file is wrong; 3 a target cannot be
used here; 4 no kernel could be derived; 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tang_egg.cli_exit import OK, WRONG, ended
from tang_egg.cli_graph import load_graph, parse_bindings
from tang_egg.cli_options import Parser, check_target
from tang_egg.cli_output import quiet_output, write
from tang_egg.errors import TangError

_EPILOG = """\
GRAPH is a built-in example, a .tang file, or file.py:name (which is executed), as for tang-saturate.

  tang-verify softmax --target c,opencl,wgsl
  tang-verify model.tang --sizes n=1,64,65 --dtypes f32,bf16 --json --output report.json
  tang-verify attention_symbolic --schedule "O=point parallel=i0" --sanitize

exit codes: 0 nothing is wrong, 1 something is, 2 wrong command line, graph or file,
            3 a target cannot be used here, 4 no kernel could be derived, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    return ended("tang-verify", lambda: _run(parser().parse_args(arguments)))


def _run(options: argparse.Namespace) -> int:
    targets = _words(options.target)
    for name in targets:
        check_target(name)
    graph = load_graph(options.graph)
    bound = parse_bindings(options.bind)
    if bound:
        graph = graph.bind(**bound)
    schedules, sizes = _schedules(options.schedule), _sizes(options.sizes)
    from tang_egg.verify_graph import verify_graph  # the compiler, which a wrong command line does not need

    with quiet_output():
        report = verify_graph(
            graph, targets, sizes=sizes, dtypes=_words(options.dtypes) or None, schedule=schedules,
            values=options.values, sanitize=options.sanitize, seed=options.seed,
        )  # fmt: skip
    write(report.json() if options.json else f"{report}\n", options.output)
    return OK if report.ok else WRONG


def parser() -> Parser:
    """All options of tang-verify."""
    made = Parser(
        prog="tang-verify", description=__doc__.split("\n")[0], epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    made.add_argument("graph", metavar="GRAPH", help="an example, a .tang file, or file.py:name")
    made.add_argument("--target", default="c", metavar="NAMES", help="targets, with commas between (default: c)")
    made.add_argument(
        "--sizes", action="append", default=[], metavar="DIM=N,...", help="sizes of a symbolic dim; repeatable"
    )
    made.add_argument("--bind", action="append", default=[], metavar="DIM=N", help="make a dim concrete; repeatable")
    made.add_argument("--dtypes", default="", metavar="TYPES", help="store f32 arrays as f32, f16, bf16, in turn")
    made.add_argument(
        "--schedule", action="append", default=[], metavar="KERNEL=SCHEDULE", help="force a schedule; repeatable"
    )
    made.add_argument("--values", choices=("finite", "ieee"), default="finite", help="ieee: infinities and NaN too")
    made.add_argument("--sanitize", action="store_true", help="run the kernels under the sanitizers that are there")
    made.add_argument("--seed", type=int, default=0, help="of random values")
    made.add_argument("--json", action="store_true", help="everything, machine readable")
    made.add_argument("--output", metavar="FILE", help="write to a file, which is complete or not there")
    return made


def _words(text: str) -> list[str]:
    return [w.strip() for w in text.split(",") if w.strip()]


def _sizes(given: Sequence[str]) -> Mapping[str, list[int]]:
    """`n=1,64` as a dict of lists. Raises TangError for anything else."""
    found: dict[str, list[int]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        words = _words(values)
        if not name.strip() or not equals or not words or not all(w.isascii() and w.isdigit() for w in words):
            raise TangError(
                f"cannot read '{text}'", where="--sizes", mend="write DIM=SIZE,SIZE, for example --sizes n=1,64,65"
            )
        found.setdefault(name.strip(), []).extend(int(w[:20]) for w in words)
    return found


def _schedules(given: Sequence[str]) -> dict[str, Any] | None:
    """`O=point parallel=i0` as a dict. Raises TangError where there is no kernel or no schedule."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, schedule = text.partition("=")
        if not name.strip() or not equals or not schedule.strip() or " " in name.strip():
            raise TangError(
                f"cannot read '{text}'", where="--schedule", mend='write KERNEL=SCHEDULE, for example "O=point"'
            )
        found[name.strip()] = schedule.strip()
    return found or None


if __name__ == "__main__":
    sys.exit(main())
