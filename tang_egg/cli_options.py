"""The command line of tang-saturate: its options, and what cannot be asked for together."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from tang_egg.doctor_finding import version
from tang_egg.errors import TangError, close_match
from tang_egg.examples import EXAMPLES
from tang_egg.pipeline import TARGETS

_EPILOG = f"""\
GRAPH is one of
  a built-in example: {", ".join(EXAMPLES)}
  a text file:        softmax.tang
  a Python name:      model.py:block, a Graph or a function without arguments that returns one;
                      the file is executed, as your own program with your rights

WHAT of --why-not is one of
  a law:              fold.hoist         never found, refused, or beaten on cost
  a tensor or kernel: scores             why it is not stored, or why it is not fused
  two tensors:        scores+O           why they are not computed by one kernel
  a number:           12                 of the section Candidates (--all shows every one)
  folds in shares:    split X:1 in 8     which law allows it, and what it would cost
  a type:             accumulate C in f16, store C in bf16   the error that it makes, against a budget
  a recurrence:       scan h             whether an order computes it; the text need not state a graph

exit codes: 0 all is well, 1 a kernel failed verification, 2 wrong command line, graph or file,
            3 the target cannot be used here, 4 no kernel could be derived for a well-formed graph,
            130 interrupted
"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors have three parts."""

    def error(self, message: str) -> NoReturn:
        """Raises TangError with the message, and the options that were perhaps meant."""
        options = [o for a in self._actions for o in a.option_strings if o.startswith("--")]
        unknown = re.search(r"unrecognized arguments: (--[\w-]+)", message)
        hint = close_match(unknown[1], options, 3) if unknown else ""
        raise TangError(f"{message}{hint}", where=f"the command line of {self.prog}", mend=f"see {self.prog} --help")


def parser() -> Parser:
    """All options of tang-saturate."""
    made = Parser(
        prog="tang-saturate",
        description="Derives fast kernels for a graph by general laws; compiles, verifies and measures them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument(
        "graph", metavar="GRAPH", nargs="?", help="an example, a .tang file, or file.py:name (which is executed)"
    )
    _forms(made)
    _questions(made)
    _work(made)
    return made


def _forms(made: Parser) -> None:
    group = made.add_argument_group("form of the report")
    form = group.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="everything, machine readable")
    form.add_argument("--markdown", action="store_true", help="the report as Markdown")
    form.add_argument(
        "--html",
        nargs="?",
        const="",
        metavar="FILE",
        help="one self-contained page: the derivation step by step beside its kernels, candidates, times; without FILE "
        "it is named after the graph",
    )
    form.add_argument(
        "--dot", action="store_true", help="the e-graph for Graphviz, classes as clusters; compiles nothing"
    )
    group.add_argument(
        "--egraph",
        nargs="?",
        const="",
        metavar="FILE",
        help="the saturated e-graph as text, with --json in the form of egraph-serialize; compiles nothing",
    )
    group.add_argument(
        "--certificate",
        nargs="?",
        const="",
        metavar="FILE",
        help="the derivation as JSON, step by step, in a form that can be checked; compiles nothing",
    )
    group.add_argument("--all", action="store_true", help="show every rewrite, candidate and e-node")
    group.add_argument(
        "--source",
        action="store_true",
        help="show the whole source file, with its prelude; with --no-run, print the kernels alone, which needs no GPU",
    )
    group.add_argument("--output", metavar="FILE", help="write to a file instead of standard output")


def _questions(made: Parser) -> None:
    group = made.add_argument_group("questions, answered instead of a report; repeatable")
    group.add_argument(
        "--why",
        action="append",
        default=[],
        metavar="NAME",
        help="which kernel computes a tensor, output or kernel, by which laws, and what other choices would cost",
    )
    group.add_argument(
        "--why-not", action="append", default=[], metavar="WHAT", help="why something was not picked (see below)"
    )

    group.add_argument(
        "--replay",
        metavar="FILE",
        help="whether a certificate leads from GRAPH to a program: every step is checked anew; compiles nothing",
    )


def _work(made: Parser) -> None:
    made.add_argument("--target", default="c", metavar="NAME", help=f"{', '.join(TARGETS)} (default: c)")
    made.add_argument(
        "--bind", action="append", default=[], metavar="DIM=SIZE", help="make a symbolic dim concrete; repeatable"
    )
    made.add_argument("--no-run", action="store_true", help="stop after the candidates; needs no compiler")
    made.add_argument("--limit-seconds", type=float, default=20.0, metavar="S", help="time for saturation of a window")
    loud = made.add_mutually_exclusive_group()
    loud.add_argument(
        "--progress", action="store_true", help="stages as plain lines on standard error (a terminal shows bars anyway)"
    )
    loud.add_argument("--quiet", action="store_true", help="no progress, not even on a terminal")
    told = f"tang-saturate {version('tang_egg') or '(not installed)'}"
    made.add_argument("--version", action="version", version=told)


def check(options: argparse.Namespace) -> None:
    """Raises TangError for what cannot be done or asked for together."""
    if options.graph is None:
        _missing(options)
    _together(options)
    if not options.limit_seconds > 0.0:
        raise TangError(
            f"{options.limit_seconds:g} seconds are no time",
            where="--limit-seconds",
            mend="give a number above 0",
        )
    check_target(options.target)


def check_target(name: str) -> None:
    """Raises TangError for a target that there is not."""
    if name not in TARGETS:
        raise TangError(
            f"there is no target '{name}'{close_match(name, tuple(TARGETS), 3)}",
            where="--target",
            mend=f"use one of: {', '.join(TARGETS)} (see tang-doctor)",
        )


def _missing(options: argparse.Namespace) -> NoReturn:
    """An option whose FILE may be left out takes the word behind it, which may have been the graph."""
    for name in ("html", "egraph", "certificate"):
        taken = getattr(options, name)
        if taken:
            raise TangError(
                f"there is no GRAPH: '{taken}' was taken as the FILE of --{name}",
                where="the command line of tang-saturate",
                mend=f"write the graph first: tang-saturate {taken} --{name}",
            )
    raise TangError(
        "the following arguments are required: GRAPH",
        where="the command line of tang-saturate",
        mend="see tang-saturate --help",
    )


def _together(options: argparse.Namespace) -> None:
    asked = ["--why"] * bool(options.why) + ["--why-not"] * bool(options.why_not)
    forms = [f"--{f}" for f in ("markdown", "html", "dot") if getattr(options, f) not in (None, False)]
    alone = [f"--{f}" for f in ("egraph", "certificate", "replay") if getattr(options, f) is not None]
    asked += alone
    clash = [*asked, *forms] if asked and forms else asked if alone and len(asked) > 1 else []
    if clash:
        raise TangError(
            f"{' and '.join(clash)} cannot be had together",
            where="the command line of tang-saturate",
            mend="run the command once for each; --json goes with --why, --why-not and --egraph",
        )
    for name in ("html", "egraph", "certificate"):
        if getattr(options, name) and options.output:
            raise TangError(
                f"both --{name} and --output name a file",
                where=f"--{name} {getattr(options, name)} --output {options.output}",
                mend="give one of them",
            )
