"""`tang-discover`: looks for laws over chosen primitives that the table does not prove, and ranks them by use.

Exit codes: 0 all is well, whether something was found or not; 2 the command line or a file is wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from tang_egg.cli_exit import OK, ended
from tang_egg.cli_options import Parser
from tang_egg.cli_output import write
from tang_egg.cli_progress import shown
from tang_egg.discover import Discovery, Finding, Settings, discover
from tang_egg.discover_law import PRELUDE
from tang_egg.discover_terms import FOLDS, OPERATIONS, Variable, Vocabulary
from tang_egg.errors import TangError, close_match
from tang_egg.examples import EXAMPLES

GRAPHS = (
    "softmax,softmax_masked,attention_causal,logsumexp,cross_entropy,variance,layernorm_matmul,rmsnorm_matmul,swiglu"
)
"""The examples by which laws are ranked, unless others are named."""

LARGEST = 12

_EPILOG = f"""\
variables: x[j] depends on the folded index, c does not; p[j]? and p? are bools
operations: {", ".join(OPERATIONS)}
folds: {", ".join(FOLDS)}

examples
  tang-discover --ops add,mul,neg,exp --folds sum,max --vars 'x[j],c'
  tang-discover --ops mul,exp,log --folds '' --vars x,y
  tang-discover --ops select,not,and --folds sum,any --vars 'x[j],y[j],p[j]?' --domains --size 5

exit codes: 0 all is well, 2 wrong command line or file, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    return ended("tang-discover", lambda: _run(_parser().parse_args(arguments)))


def _run(options: argparse.Namespace) -> int:
    vocabulary, settings = vocabulary_of(options), settings_of(options)
    with shown(plain=options.progress, quiet=options.quiet):
        found = discover(vocabulary, settings)
    write(as_json(found, vocabulary, settings) if options.json else as_text(found), options.output)
    return OK


def _parser() -> Parser:
    parser = Parser(
        prog="tang-discover",
        description="Enumerates small terms, and prints the equalities among them that no law of the table proves.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    terms = parser.add_argument_group("terms")
    terms.add_argument("--ops", default="add,mul,neg,exp", metavar="OP,...", help="operations (default: %(default)s)")
    terms.add_argument("--folds", default="sum,max", metavar="FOLD,...", help="folds (default: %(default)s)")
    terms.add_argument("--vars", default="x[j],c", metavar="VAR,...", help="variables (default: %(default)s)")
    terms.add_argument("--literals", default="0,1", metavar="N,...", help="constants (default: %(default)s)")
    terms.add_argument("--domains", action="store_true", help="folds also run where a bool of the index holds")
    terms.add_argument(
        "--size", type=int, default=5, metavar="N", help="nodes of a term at most (default: %(default)s)"
    )
    search = parser.add_argument_group("search")
    search.add_argument("--limit", type=int, default=20, metavar="N", help="laws at most (default: %(default)s)")
    search.add_argument("--seconds", type=float, default=60.0, metavar="S", help="time for it (default: %(default)g)")
    search.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs (default: %(default)s)")
    search.add_argument(
        "--strict", action="store_true", help="as saturation runs: sums as written, laws from left to right only"
    )
    search.add_argument(
        "--graphs", default=GRAPHS, metavar="NAME,...", help="examples that rank (default: %(default)s)"
    )
    out = parser.add_argument_group("output")
    out.add_argument("--json", action="store_true", help="everything, machine readable")
    out.add_argument("-o", "--output", metavar="FILE", help="write to FILE, which is replaced once all is written")
    progress = out.add_mutually_exclusive_group()
    progress.add_argument("--progress", action="store_true", help="tell how far the work is, line by line")
    progress.add_argument("--quiet", action="store_true", help="no display of progress on a terminal")
    return parser


def vocabulary_of(options: argparse.Namespace) -> Vocabulary:
    """The vocabulary that was asked for. Raises TangError for what is unknown, twice there or out of range."""
    operations = _listed("--ops", options.ops, OPERATIONS, "operation")
    folds = _listed("--folds", options.folds, FOLDS, "fold")
    if not 1 <= options.size <= LARGEST:
        raise TangError(
            f"terms of {options.size} nodes", where="--size", mend=f"give a number from 1 to {LARGEST}; 5 to 7 is usual"
        )
    if not operations and not folds:
        raise TangError("no operation and no fold", where="--ops, --folds", mend="name one, e.g. --ops add")
    variables = parse_variables(options.vars, bool(folds))
    numbers = tuple(_number(text) for text in _split(options.literals))
    bools = any(v.type == "bool" and v.bound for v in variables) or bool({"lt", "le", "eq"} & set(operations))
    if options.domains and not bools:
        raise TangError(
            "domains without a bool of the index",
            where="--domains",
            mend="add a variable such as p[j]?, or a comparison",
        )
    return Vocabulary(operations, folds, variables, numbers, options.size, options.domains)


def settings_of(options: argparse.Namespace) -> Settings:
    """How long and by which graphs. Raises TangError for what is out of range or unknown."""
    if not 0.0 < options.seconds <= 86_400.0:
        raise TangError(f"{options.seconds:g} seconds", where="--seconds", mend="give a number above 0, at most 86400")
    if not 1 <= options.limit <= 1000:
        raise TangError(f"{options.limit} laws at most", where="--limit", mend="give a number from 1 to 1000")
    if options.seed < 0:
        raise TangError(f"the seed {options.seed}", where="--seed", mend="give a whole number from 0")
    names = _listed("--graphs", options.graphs, EXAMPLES, "example")
    graphs = tuple((n, EXAMPLES[n]) for n in names)
    return Settings(options.seed, options.seconds, options.limit, options.strict, graphs)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _listed(where: str, text: str, known: Iterable[str], kind: str) -> tuple[str, ...]:
    names = tuple(known)
    for name in _split(text):
        if name not in names:
            raise TangError(
                f"no {kind} is named '{name}'{close_match(name, names)}", where=where, mend=f"use {', '.join(names)}"
            )
    return tuple(dict.fromkeys(_split(text)))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value:
        raise TangError(f"'{text}' is no constant", where="--literals", mend="give numbers, e.g. --literals 0,1,0.5")
    return value


def parse_variables(text: str, folds: bool) -> tuple[Variable, ...]:
    """`x[j],c,p[j]?` as variables. Raises TangError for anything else, for a name that is there twice, and for none."""
    found: dict[str, Variable] = {}
    for part in _split(text):
        parts = re.fullmatch(r"([A-Za-z]\w{0,7})(\[j\])?(\?)?", part, re.ASCII)
        if parts is None:
            raise TangError(
                f"'{part}' is no variable",
                where="--vars",
                mend="write x[j] for one with the index, c for one without, p[j]?",
            )
        if parts[1] in found:
            raise TangError(f"two variables are named '{parts[1]}'", where="--vars", mend="give each its own name")
        found[parts[1]] = Variable(parts[1], parts[2] is not None, "bool" if parts[3] else "real")
    kept = list(found.values())
    if not kept or len(kept) > 6:
        raise TangError(f"{len(kept)} variables", where="--vars", mend="give one to six, e.g. --vars 'x[j],c'")
    if folds and not any(v.bound for v in kept):
        raise TangError(
            "folds, but no variable depends on the index", where="--vars", mend="write one as x[j], or give --folds ''"
        )
    return tuple(kept)


# What is printed.


def as_text(found: Discovery) -> str:
    """The findings with their stubs and goals, and a line that says how much was looked at."""
    lines = []
    for n, f in enumerate(found.findings, 1):
        lines += [f"{n}. {f.law}", f"   {_described(f)}", *_indented(f.stub), *_indented(f.goal), ""]
    lines.append(
        f"{len(found.findings)} found among {found.agreements} agreements of {found.terms} terms; {found.known} are"
        f" proved by the table, {found.implied} by what was found; {found.refuted} were refuted, {found.waiting} left"
    )
    if not found.complete:
        lines.append("the time was up before all terms were tried: give more --seconds, or a smaller --size")
    return "\n".join(lines) + "\n"


def _described(f: Finding) -> str:
    times = "once" if f.uses == 1 else f"{f.uses} times"
    saved = 100.0 * f.saves / f.cost if f.cost else 0.0
    return f"holds on {f.law.holds} values; {f.law.rounding}; saves {saved:.0f}% of its left side; matches {times}"


def _indented(text: str) -> list[str]:
    return [f"   {line}" for line in text.splitlines()]


def as_json(found: Discovery, vocabulary: Vocabulary, settings: Settings) -> str:
    """Everything, as JSON."""
    asked: dict[str, Any] = {
        "ops": vocabulary.ops,
        "folds": vocabulary.folds,
        "variables": [f"{v.name}{'[j]' * v.bound}{'?' * (v.type == 'bool')}" for v in vocabulary.variables],
        "literals": vocabulary.literals,
        "size": vocabulary.size,
        "domains": vocabulary.domains,
        "seed": settings.seed,
        "strict": settings.strict,
        "graphs": [name for name, _ in settings.graphs],
    }
    laws = [
        {
            "law": str(f.law),
            "name": f.law.name,
            "holds": f.law.holds,
            "rounding": f.law.rounding,
            "positive": sorted(f.needs.positive),
            "inhabited": f.needs.inhabited,
            "uses": f.uses,
            "saves": f.saves,
            "cost": f.cost,
            "stub": f.stub,
            "goal": f.goal,
        }
        for f in found.findings
    ]
    counts = {
        k: getattr(found, k) for k in ("terms", "agreements", "known", "implied", "refuted", "waiting", "complete")
    }
    return json.dumps({"asked": asked, "laws": laws, "prelude": PRELUDE, **counts}, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main())
