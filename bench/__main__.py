"""`python -m bench SUITE`: runs a suite, prints its rows and appends them to bench/log.jsonl."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

SUITES = {
    "saturate": "seconds and sizes of saturation for each program",
    "select": "the integer programs that choose kernels: seconds and sizes, by HiGHS and by CBC",
    "minilm": "time per sentence of the compiled encoder beside NumPy and torch",
}
COMMANDS = {
    "cpu": "every operator on this processor, in this project and in every peer that is installed",
    "report": "what the log says of that: tables and plots of ratios and of the distance to the floor",
    "cuda": "our kernels on a GPU beside cuDNN, FlashAttention, cuBLAS and torch",
    "ratios": "what the log says of that, as ratios and thresholds",
    "grids": "the same graphs on CUDA, OpenCL, WGSL and GLSL of one device, in turns",
    "counters": "hardware counters of our kernels on a GPU, by Nsight Compute",
    "race": "times every schedule of a program's kernels beside its floor and the model",
    "certify": "certified selection of ten programs: gaps, shares of the space, seconds, repeatability",
    "tune": "tunes those programs for the database of schedules that is shipped",
    "floor": "holds every measured kernel against the floor of its time",
    "merge": "takes the rows of a log from another machine into bench/log.jsonl",
}
"""What prints and appends by itself; options come after the name, `python -m bench cuda --help` among them."""
SLOWING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Variables that make OpenBLAS choose other kernels than it would for this processor."""


def main(arguments: Sequence[str] | None = None) -> int:
    for variable in SLOWING:
        os.environ.pop(variable, None)  # before anything imports NumPy, which reads them as it loads
    asked = list(sys.argv[1:] if arguments is None else arguments)
    if asked and asked[0] in COMMANDS:
        return int(importlib.import_module(f"bench.{asked[0]}").main(asked[1:]))
    listed = "\n".join(f"  {name:10} {what}" for name, what in (SUITES | COMMANDS).items())
    parser = argparse.ArgumentParser(
        prog="python -m bench", epilog=f"suites:\n{listed}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", choices=[*SUITES, *COMMANDS])
    parser.add_argument("--no-log", action="store_true", help="print the rows only")
    given, rest = parser.parse_known_args(asked)
    from bench import log
    from tang_egg.errors import TangError

    try:
        rows: list[log.Row] = importlib.import_module(f"bench.{given.suite}").measure(rest)
    except TangError as error:
        print(error, file=sys.stderr)
        return 1
    log.show(rows)
    if not given.no_log:
        print(f"{len(rows)} rows appended to {log.append(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
