"""`python -m bench cpu`: every operator in this project and in every peer that is installed, on this processor.

The systems of an operator take turns in one process (see cpu_timing), all on the same arrays; each result is first
compared with float64. Rows go to the log one operator at a time. An operator is skipped when the log has rows of all
its systems for this code and these versions, so the same command goes on where it was stopped. A peer that ends the
process gets a row that says so, and the rest goes on.

Rows of suite `cpu` have besides the columns of the log:
kind, bound, flops, bytes, ceiling_ms   of the operator: the least time at the rates of row `ceilings` of the same run
p10_ms, p90_ms, least_ms, turns, calls  of the samples; `once`: of one call, by a system that is far behind
approximate   the error is above 2e-3: it does not count as a peer
failed        why there is no time
setup_s       seconds until the second call, compilation with it
foreign       what other processes used during the turns, of one processor
code          a hash of the sources of this project
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import log
from tang_egg.files import cache_root

MARKER = "BENCH_CPU_MARKER"
"""Tells a worker the file in which it says what it is about to do."""


def main(arguments: Sequence[str] = ()) -> int:
    asked = parser()
    given = asked.parse_args(arguments)
    from bench.cpu_peers import PEERS
    from bench.cpu_programs import OPERATORS

    for what, names, known in (("operator", given.ops, OPERATORS), ("peer", given.peers, PEERS)):
        for name in names:
            if name not in known:
                asked.error(f"no {what} is named {name}; there are: {', '.join(known)}")
    if given.list:
        for o in OPERATORS.values():
            print(f"{o.name:20} {o.kind:8} {' '.join(f'{k}={v}' for k, v in o.sizes.items())}")
        return 0
    if why := _writable(given.log):
        asked.error(f"cannot append to {given.log}: {why}; choose another file by --log")
    if MARKER in os.environ:
        from bench.cpu_measure import work

        return work(given, Path(os.environ[MARKER]))
    from bench.cpu_worker import supervise

    with tempfile.TemporaryDirectory() as folder:
        return supervise(["cpu", *arguments], environment(), Path(folder) / "doing", given.log)


def parser() -> argparse.ArgumentParser:
    from bench.cpu_peers import DEFAULT

    found = argparse.ArgumentParser(
        prog="python -m bench cpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = found.add_argument
    add("--list", action="store_true", help="print the operators and stop")
    add("--ops", type=_names, default=[], metavar="A,B", help="operators (default: all)")
    add("--peers", type=_names, default=list(DEFAULT), metavar="A,B", help=f"(default: {','.join(DEFAULT)})")
    add("--ours-only", action="store_true", help="no peers")
    add("--rounds", type=_count, default=15, help="turns of each system (default: 15); 0: one call each")
    add("--seconds", type=_seconds, default=120.0, help="for the turns of one operator (default: 120)")
    add("--patience", type=_seconds, default=600.0, help="seconds to wait for a quiet machine, in all (default: 600)")
    add("--setup", type=_count, default=90, help="seconds that a peer may take to compile an operator (default: 90)")
    add(
        "--schedule",
        action="append",
        type=_forced,
        default=[],
        metavar="KERNEL=TEXT",
        help="force it, as a system of its own; may be repeated",
    )
    add(
        "--search",
        type=_seconds,
        metavar="S",
        help="time our kernels' schedules for so long before (te.optimize seconds=)",
    )
    add("--force", action="store_true", help="measure what the log has, too")
    add("--retry", action="store_true", help="measure operators again in which a system failed")
    add("--log", type=Path, default=log.FILE, metavar="FILE", help="to append to (default: bench/log.jsonl)")
    return found


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 0 on")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds from 0 on")
    return value


def _forced(text: str) -> str:
    name, given, schedule = text.partition("=")
    if not (name and given and schedule):
        raise argparse.ArgumentTypeError(f"'{text}' is not KERNEL=TEXT, as in Y=tile order=i0,i1")
    return text


def _writable(file: Path) -> str:
    """Why nothing can be appended to a file; empty where it can. Nothing is measured before that is known."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab"):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def environment() -> Mapping[str, str]:
    """The environment of a worker, in which no library slows another.

    Idle threads of OpenBLAS park after 2^20 cycles, not 2^26: they would spin through the next system's turn. glibc
    keeps freed memory, so that nobody pays for pages of fresh outputs.
    """
    kept = cache_root() / "bench"
    return {
        **os.environ,
        "OPENBLAS_THREAD_TIMEOUT": "20",
        "NUMBA_THREADING_LAYER": "workqueue",
        "JAX_PLATFORMS": "cpu",
        "DEV": "CPU",
        "CACHEDB": str(kept / "tinygrad.db"),
        "TORCHINDUCTOR_CACHE_DIR": str(kept / "inductor"),
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
