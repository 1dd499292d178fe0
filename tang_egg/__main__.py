"""`python -m tang_egg saturate GRAPH`, `… compile MODEL -o DIR` and so on: what tang-saturate and the others run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

USAGE = """usage: python -m tang_egg COMMAND ...

  saturate GRAPH   derive, compile, run and verify a graph   (also: tang-saturate)
  compile MODEL    write a C library that needs no Python    (also: tang-compile)
  certify FILE     check what a search of kernels claims     (also: tang-certify)
  verify GRAPH     its kernels one by one on guarded memory  (also: tang-verify)
  tune PROGRAM     time schedules here, keep what is faster  (also: tang-tune)
  discover         find laws that are not in the table       (also: tang-discover)
  doctor           which targets work here, and how to mend those that do not   (also: tang-doctor)

python -m tang_egg COMMAND --help tells more."""

COMMANDS = {
    "saturate": ("cli", "saturate_main"),
    "compile": ("cli_compile", "main"),
    "certify": ("cli_certify", "main"),
    "verify": ("cli_verify", "main"),
    "tune": ("cli_tune", "main"),
    "discover": ("cli_discover", "main"),
    "doctor": ("doctor", "main"),
}
"""The module and function behind each; loaded when it is called for, since that takes a second."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and gives its exit code; 2 for a command that there is not."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if given else 2
    if given[0] not in COMMANDS:
        *names, last = COMMANDS
        print(
            f"there is no command '{given[0]}'\n  where: python -m tang_egg\n  mend:  use {', '.join(names)} or {last}",
            file=sys.stderr,
        )
        return 2
    module, function = COMMANDS[given[0]]
    return int(getattr(importlib.import_module(f"tang_egg.{module}"), function)(given[1:]))


if __name__ == "__main__":
    sys.exit(main())
