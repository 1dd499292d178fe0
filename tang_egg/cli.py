"""`tang-saturate GRAPH`: derives, picks, compiles, verifies and measures a graph, and reports each step.

Exit codes: 0 all is well; 1 a kernel failed verification; 2 the command line, the graph or a file is wrong; 3 the
target cannot be used here; 4 no kernel could be derived or printed for a graph that is well formed; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tang_egg.cli_exit import OK, ended
from tang_egg.cli_output import own_temporary


def saturate_main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    return ended("tang-saturate", lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    # Here, since it takes a second: an interrupt during that time is one like any other.
    from tang_egg.cli_run import run

    with own_temporary():
        run(arguments)
    return OK


if __name__ == "__main__":
    sys.exit(saturate_main())
