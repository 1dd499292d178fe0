"""`tang-saturate GRAPH`: derives, picks, compiles, verifies and measures a graph, and reports each step.

Exit codes: 0 all is well; 1 a kernel failed verification; 2 the command line, the graph or a file is wrong; 3 the
target cannot be used here; 4 no kernel could be derived or printed for a graph that is well formed; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from tang_egg.cli_exit import INTERRUPTED, OK, exit_code
from tang_egg.cli_output import own_temporary
from tang_egg.errors import TangError


def saturate_main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and gives its exit code."""
    try:
        # Here, since it takes a second: an interrupt during that time is one like any other.
        from tang_egg.cli_run import run

        with own_temporary():
            run(arguments)
        return OK
    except TangError as error:
        print(f"tang-saturate: {error}", file=sys.stderr)
        return exit_code(error)
    except BrokenPipeError:  # the reader has seen enough
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        print("tang-saturate: interrupted", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(saturate_main())
