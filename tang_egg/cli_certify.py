"""`tang-certify FILE [GRAPH]`: checks a selection certificate anew, without the search that made it.

Exit codes: 0 it holds; 1 it does not; 2 the command line or a file is wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tang_egg.cli_exit import OK, WRONG, ended
from tang_egg.cli_options import Parser
from tang_egg.cli_output import own_temporary
from tang_egg.errors import TangError
from tang_egg.extract.certify_record import LARGEST, CertificateError, SelectionCertificate, certificate_of
from tang_egg.ir import Graph


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    return ended("tang-certify", lambda: _run(_parser().parse_args(arguments)))


def _run(options: argparse.Namespace) -> int:
    certificate, graph = read(options.file), _graph(options)
    from tang_egg.pipeline import extract_for
    from tang_egg.pipeline_certify_check import check
    from tang_egg.saturate import Limits

    try:
        with own_temporary():
            found = check(certificate, lambda g, target, values: extract_for(target, g, Limits(values=values)), graph)
    except TangError as error:  # whatever its kind: the certificate does not hold
        print(f"tang-certify: {error}", file=sys.stderr)
        return WRONG
    if options.json:
        claim = {"total": certificate.total, "bound": certificate.bound, "gap": certificate.gap}
        print(json.dumps({"holds": True, **claim, **asdict(found)}, default=str))
    else:
        print(f"{found}\n\n{certificate}", end="")
    return OK


def read(path: str) -> SelectionCertificate:
    """The certificate in a file. Raises CertificateError when it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise CertificateError(
            f"cannot read '{path}': {why}", where=path, mend="give a file that compiled.certificate.json() wrote"
        ) from None
    if len(data) > LARGEST:
        raise CertificateError(
            f"'{path}' is larger than {LARGEST >> 20} MiB", where=path, mend="give the file of a certificate"
        )
    return certificate_of(text, path)


def _graph(options: argparse.Namespace) -> Graph | None:
    if options.graph is None:
        return None
    from tang_egg.cli_graph import load_graph, parse_bindings

    graph, bound = load_graph(options.graph), parse_bindings(options.bind)
    return graph.bind(**bound) if bound else graph


def _parser() -> Parser:
    parser = Parser(
        prog="tang-certify", description=__doc__.split("\n")[0], allow_abbrev=False,
        epilog="exit codes: 0 it holds, 1 it does not, 2 wrong command line or file, 130 interrupted",
    )  # fmt: skip
    parser.add_argument("file", metavar="FILE", help="what compiled.certificate.json() wrote")
    parser.add_argument(
        "graph", metavar="GRAPH", nargs="?", help="the graph that it must speak of, as for tang-saturate"
    )
    parser.add_argument("--bind", metavar="NAME=SIZE", action="append", default=[], help="a size of the graph's dims")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
