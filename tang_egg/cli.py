"""`tang-saturate GRAPH`: derives, picks, compiles, verifies and measures a graph, and reports each step.

Exit codes: 0 all is well; 1 a kernel failed verification; 2 the command line, the graph or a file is wrong; 3 the
target cannot be used here; 4 no kernel could be derived or printed for a graph that is well formed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import NoReturn

from tang_egg.cli_graph import close, load_graph, parse_bindings, typical_sizes
from tang_egg.doctor import PLANNED
from tang_egg.errors import (
    CodegenError,
    LawError,
    SaturationError,
    SelectionError,
    TangError,
    TargetError,
    VerificationError,
)
from tang_egg.examples import EXAMPLES
from tang_egg.ir import Graph
from tang_egg.measure import CpuMeasurer, Timing
from tang_egg.measure_cuda import CudaMeasurer
from tang_egg.pipeline import TARGETS, Compiled, Extraction, extract_for, optimize, sources
from tang_egg.report import build_report
from tang_egg.report_dot import render_dot
from tang_egg.report_json import render_json
from tang_egg.report_markdown import render_markdown
from tang_egg.report_model import Report
from tang_egg.report_text import render_text
from tang_egg.run_cuda import CudaProgram
from tang_egg.saturate import Limits
from tang_egg.verify import sample_inputs

OK, WRONG, USAGE, NO_TARGET, NO_KERNEL = range(5)

_CODES: tuple[tuple[type[TangError], int], ...] = (
    (VerificationError, WRONG),
    (TargetError, NO_TARGET),
    (SaturationError, NO_KERNEL),
    (SelectionError, NO_KERNEL),
    (CodegenError, NO_KERNEL),
    (LawError, NO_KERNEL),
)
"""Exit codes by error; every other TangError is about what was asked for."""

_EPILOG = f"""\
GRAPH is one of
  a built-in example: {", ".join(EXAMPLES)}
  a text file:        softmax.tang
  a Python name:      model.py:block, a Graph or a function without arguments that returns one;
                      the file is executed, as your own program with your rights

exit codes: 0 all is well, 1 a kernel failed verification, 2 wrong command line, graph or file,
            3 the target cannot be used here, 4 no kernel could be derived for a well-formed graph
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors have three parts."""

    def error(self, message: str) -> NoReturn:
        options = [o for a in self._actions for o in a.option_strings if o.startswith("--")]
        unknown = re.search(r"unrecognized arguments: (--[\w-]+)", message)
        hint = close(unknown[1], options) if unknown else ""
        raise TangError(f"{message}{hint}", where=f"the command line of {self.prog}", mend=f"see {self.prog} --help")


def saturate_main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    try:
        return _run(arguments)
    except TangError as error:
        print(f"tang-saturate: {error}", file=sys.stderr)
        return next((code for kind, code in _CODES if isinstance(error, kind)), USAGE)
    except BrokenPipeError:  # the reader has seen enough
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        print("tang-saturate: interrupted", file=sys.stderr)
        return 130


def _parser() -> _Parser:
    parser = _Parser(
        prog="tang-saturate",
        description="Derives fast kernels for a graph by general laws; compiles, verifies and measures them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("graph", metavar="GRAPH", help="an example, a .tang file, or file.py:name (which is executed)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="everything, machine readable")
    form.add_argument("--markdown", action="store_true", help="the report as Markdown")
    form.add_argument(
        "--dot", action="store_true", help="the e-graph for Graphviz, classes as clusters; compiles nothing"
    )
    parser.add_argument("--target", default="c", metavar="NAME", help=f"{', '.join(TARGETS)} (default: c)")
    parser.add_argument(
        "--bind", action="append", default=[], metavar="DIM=SIZE", help="make a symbolic dim concrete; repeatable"
    )
    parser.add_argument("--no-run", action="store_true", help="stop after the candidates; needs no compiler")
    parser.add_argument("--all", action="store_true", help="show every rewrite, candidate and e-node")
    parser.add_argument(
        "--source",
        action="store_true",
        help="show the whole source file, with its prelude; with --no-run, print the kernels alone, which needs no GPU",
    )
    parser.add_argument(
        "--limit-seconds", type=float, default=20.0, metavar="S", help="time for saturation of a window"
    )
    parser.add_argument("--output", metavar="FILE", help="write to a file instead of standard output")
    parser.add_argument("--version", action="version", version=f"tang-saturate {_version()}")
    return parser


def _run(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    _check(options)
    graph = load_graph(options.graph)
    bound = parse_bindings(options.bind)
    if bound:
        graph = graph.bind(**bound)
    limits = Limits(seconds=options.limit_seconds)
    if options.no_run and options.source:
        with _quiet_output():
            texts = sources(graph, options.target, limits=limits)
        _write("\n".join(texts.values()), options.output)
        return OK
    with _quiet_output():
        if options.no_run or options.dot:
            extraction, report = _derive(graph, limits, options.target)
        else:
            extraction, report = _measure(optimize(graph, options.target, limits=limits))
    _write(_render(extraction, report, options), options.output)
    return OK


def _check(options: argparse.Namespace) -> None:
    if not options.limit_seconds > 0.0:
        raise TangError(
            f"{options.limit_seconds:g} seconds are no time",
            where="--limit-seconds",
            mend="give a number above 0",
        )
    if options.target in PLANNED:
        raise TargetError(
            f"the target '{options.target}' is not built yet",
            where="--target",
            mend=f"use one of: {', '.join(TARGETS)} (see tang-doctor)",
        )
    if options.target not in TARGETS:
        raise TangError(
            f"there is no target '{options.target}'{close(options.target, (*TARGETS, *PLANNED))}",
            where="--target",
            mend=f"use one of: {', '.join(TARGETS)} (see tang-doctor)",
        )


def _derive(graph: Graph, limits: Limits, target: str) -> tuple[Extraction, Report]:
    extraction = extract_for(target, graph, limits)
    return extraction, build_report(extraction)


def _measure(compiled: Compiled) -> tuple[Extraction, Report]:
    graph = compiled.graph
    dims = typical_sizes(graph)
    arrays = sample_inputs(graph, dims, edge=False)
    timing: Timing
    if isinstance(compiled.runner, CudaProgram):
        timing = CudaMeasurer(arrays, dims, on=compiled.runner.driver).time({"this": compiled.runner})["this"]
    else:
        timing = CpuMeasurer(arrays, dims).measure(compiled.program, [compiled.schedules])[0]
    return compiled.extraction, build_report(compiled.extraction, compiled, timing, dims)


def _render(extraction: Extraction, report: Report, options: argparse.Namespace) -> str:
    if options.dot:
        return render_dot(extraction, limit=None) if options.all else render_dot(extraction)
    if options.json:
        return render_json(report)
    if options.markdown:
        return render_markdown(report, everything=options.all, source=options.source)
    color = not options.output and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = 100 if options.output else shutil.get_terminal_size((100, 24)).columns
    return render_text(report, width=width, color=color, everything=options.all, source=options.source)


def _write(text: str, output: str | None) -> None:
    """To standard output, or to a file that is replaced only once all is written."""
    if output is None:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
        return
    path = Path(output)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise TangError(
            f"cannot write '{output}': {error.strerror}",
            where="--output",
            mend="give a file in a folder you may write to",
        ) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def _quiet_output() -> Iterator[None]:
    """Keeps what libraries print to standard output (solver banners) out of the report."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        with contextlib.redirect_stdout(open(os.devnull, "w", encoding="utf-8")):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _version() -> str:
    try:
        return metadata.version("tang_egg")
    except metadata.PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(saturate_main())
