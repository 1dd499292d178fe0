"""`python -m tang_egg saturate GRAPH`, `… compile MODEL -o DIR` and so on: what tang-saturate and the others run."""

from __future__ import annotations

import sys
from collections.abc import Sequence

USAGE = """usage: python -m tang_egg COMMAND ...

  saturate GRAPH   derive, compile, run and verify a graph   (also: tang-saturate)
  compile MODEL    write a C library that needs no Python    (also: tang-compile)
  certify FILE     check what a search of kernels claims     (also: tang-certify)
  verify GRAPH     its kernels one by one on guarded memory  (also: tang-verify)
  discover         find laws that are not in the table       (also: tang-discover)
  doctor           which targets work here, and how to mend those that do not   (also: tang-doctor)

python -m tang_egg COMMAND --help tells more."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and gives its exit code; 2 for a command that there is not."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if given else 2
    command, rest = given[0], given[1:]
    if command == "saturate":
        from tang_egg.cli import saturate_main

        return saturate_main(rest)
    if command == "compile":
        from tang_egg.cli_compile import main as compile_main

        return compile_main(rest)
    if command == "certify":
        from tang_egg.cli_certify import main as certify_main

        return certify_main(rest)
    if command == "verify":
        from tang_egg.cli_verify import main as verify_main

        return verify_main(rest)
    if command == "discover":
        from tang_egg.cli_discover import main as discover_main

        return discover_main(rest)
    if command == "doctor":
        from tang_egg.doctor import main as doctor_main

        return doctor_main(rest)
    print(
        f"there is no command '{command}'\n  where: python -m tang_egg\n"
        "  mend:  use saturate, compile, certify, verify, discover or doctor",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
