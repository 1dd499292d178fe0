"""`python -m bench certify`: certified selection of ten programs within a budget, each twice from nothing.

For each program a row: what was chosen, what the model predicted for it, what was measured, the floors of the chosen
kernels, the bound on every choice and the gap to it; how many schedules of the space floors ruled out, stand back
behind others, were timed, were refused and are open; the seconds that were asked for and those that `te.optimize` took,
building and comparing the result included; and whether a second search, which knows nothing of the first, chose the
same. The table comes out as Markdown, the rows go to the log.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tang_egg as te
from bench import log
from bench.floor_programs import PROGRAMS as SIZED
from tang_egg.cost.time import said
from tang_egg.errors import TangError
from tang_egg.examples import EXAMPLES
from tang_egg.extract.certify import Outcome
from tang_egg.extract.certify_ledger import Measurer, Timed, Trial
from tang_egg.extract.certify_record import SelectionCertificate
from tang_egg.files import cache_root
from tang_egg.ir import Graph
from tang_egg.measure_single import CpuKernels

PROGRAMS: Mapping[str, Callable[[], Graph]] = {
    "matmul": EXAMPLES["matmul"],
    "rmsnorm_matmul": EXAMPLES["rmsnorm_matmul"],
    "softmax": EXAMPLES["softmax"],
    "layer_norm": lambda: SIZED["layer_norm"].build(m=512, n=512),
    "attention": EXAMPLES["attention"],
    "attention_causal": EXAMPLES["attention_causal"],
    "swiglu": EXAMPLES["swiglu"],
    "cross_entropy": EXAMPLES["cross_entropy"],
    "conv2d": lambda: SIZED["conv2d"].build(c=16, n=32),
    "transformer_block": EXAMPLES["transformer_block"],
}
SECONDS = 60.0
"""The budget of each search, unless another one is asked for."""
HEAD = (
    "program", "chosen", "predicted", "measured", "floor", "bound", "gap", "schedules", "ruled out", "behind", "timed",
    "refused", "open", "asked", "took", "second search",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """One search: its certificate, what it saw, and the seconds that all of it took."""

    certificate: SelectionCertificate
    outcome: Outcome
    seconds: float

    def chosen(self) -> list[tuple[str, str]]:
        """What each chosen kernel writes, and its schedules."""
        return [(k.writes, " | ".join(k.schedules)) for w in self.certificate.windows for k in w.chosen]

    def kernels(self) -> list[tuple[int, int, int]]:
        """The chosen kernels of the space: place, schedule, and how often they run."""
        found = []
        for b in self.outcome.bounds:
            for k in (k for c in (b.upper.taken if b.upper else ()) for k in b.window.runs[c]):
                best = self.outcome.ledgers[k].best()
                if best is not None:
                    found.append((k, best, b.window.copies))
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Searches, prints the table and appends its rows to the log."""
    parser = argparse.ArgumentParser(prog="python -m bench certify", description=__doc__)
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), metavar="NAME", help="these only")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the budget of each search")
    parser.add_argument("--cache", choices=("warm", "cold"), default="warm", help="the state of the caches")
    parser.add_argument("--once", action="store_true", help="without the second search")
    parser.add_argument("--no-log", action="store_true", help="print only")
    given = parser.parse_args(arguments)
    for name in given.programs:
        if name not in PROGRAMS:
            parser.error(f"no program is named {name}; there are: {', '.join(PROGRAMS)}")
    rows: list[log.Row] = []
    try:
        for name in given.programs:
            first = search(PROGRAMS[name](), given.seconds, given.cache)
            again = None if given.once else search(PROGRAMS[name](), given.seconds, given.cache)
            rows.append(row_of(name, first, again, given.seconds, given.cache, CpuKernels(cache=given.cache)))
            print(f"{name}: {first.certificate}", file=sys.stderr, flush=True)
    except TangError as error:
        print(error, file=sys.stderr)
        return 1
    print(table(rows))
    if not given.no_log:
        print(f"{len(rows)} rows appended to {log.append(rows)}", file=sys.stderr)
    return 0


def search(graph: Graph, seconds: float, cache: str) -> Found:
    """A search that knows the constants of the machine, and no time of an earlier one."""
    with forgetful():
        start = time.perf_counter()
        compiled = te.optimize(graph, seconds=seconds, cache=cache, tuned=False)
        took = time.perf_counter() - start
    certificate, outcome = compiled.certificate, compiled.extraction.evidence
    assert certificate is not None and isinstance(outcome, Outcome)
    return Found(certificate, outcome, took)


@contextmanager
def forgetful() -> Iterator[None]:
    """A cache folder of its own, with the constants of devices in it."""
    before, known = os.environ.get("TANG_CACHE"), cache_root() / "devices"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if known.is_dir():
            shutil.copytree(known, Path(folder, "devices"))
        os.environ["TANG_CACHE"] = folder
        try:
            yield
        finally:
            os.environ.pop("TANG_CACHE")
            if before is not None:
                os.environ["TANG_CACHE"] = before


def row_of(
    name: str, first: Found, again: Found | None, seconds: float, cache: str, anew: Measurer | None = None
) -> log.Row:
    """What a search found, and how a second one compares, as a row of the log. `anew`: see `compared`."""
    c, n = first.certificate, first.certificate.counts
    ledgers = first.outcome.ledgers
    predicted = sum(times * ledgers[k].kernel.guesses[s] for k, s, times in first.kernels())
    floor = sum(times * ledgers[k].kernel.floors[s].seconds for k, s, times in first.kernels())
    measured = c.total < math.inf
    return log.row(
        "certify", name, "tang_egg", cache=cache, dtype="f32",
        median_ms=round(1e3 * c.total, 6) if measured else None,
        spread_ms=round(1e3 * c.noise, 6) if measured else None,
        chosen=first.chosen(), predicted_ms=round(1e3 * predicted, 6), floor_ms=round(1e3 * floor, 6),
        bound_ms=round(1e3 * c.bound, 6), gap=round(c.share, 4), schedules=n.schedules, pruned=n.pruned,
        deferred=n.deferred, timed=n.timed, refused=n.refused, open=n.open, asked_s=seconds,
        took_s=round(first.seconds, 2), second=compared(first, again, anew), stopped=c.stopped, proves=c.proves,
        violations=len(c.violations),
    )  # fmt: skip


def compared(first: Found, again: Found | None, anew: Measurer | None = None) -> str:
    """How the choices of two searches compare: the same, others of one speed within the spread, or apart.

    `anew`: what times both in the same turns; else what the first search measured of both counts.
    """
    if again is None:
        return "not searched"
    if first.chosen() == again.chosen():
        return "the same"
    a, b = first.certificate, again.certificate
    if math.inf in (a.total, b.total):
        return "nothing to compare"
    turns = in_turns(first, again, anew) if anew is not None else None
    own, others, noise = turns or (a.total, seen(first, again), a.noise + b.noise)
    apart = abs(others - own)
    return "within the spread" if apart <= noise / 2 else f"apart by {apart / own:.1%}"


def in_turns(first: Found, again: Found, anew: Measurer) -> tuple[float, float, float] | None:
    """Seconds of both choices and their spread together, timed side by side; None where something was not timed."""
    wanted = [[(f.outcome.ledgers[k].kernel, s, times) for k, s, times in f.kernels()] for f in (first, again)]
    trials = {(k.key, s): Trial(k, s) for found in wanted for k, s, _ in found}
    timed = dict(zip(trials, anew.measure(list(trials.values()), 2.0), strict=True))
    totals, spread = [0.0, 0.0], 0.0
    for n, found in enumerate(wanted):
        for k, s, times in found:
            t = timed[k.key, s]
            if not isinstance(t, Timed):
                return None
            totals[n] += times * t.median
            spread += times * t.spread
    return totals[0], totals[1], spread


def seen(first: Found, again: Found) -> float:
    """Seconds of what the second search chose: as the first one timed it where it did, else as the second did."""
    total = 0.0
    for k, s, times in again.kernels():
        own = first.outcome.ledgers[k].timed.get(s) or again.outcome.ledgers[k].timed[s]
        total += times * own.median
    return total


def table(rows: Sequence[log.Row]) -> str:
    """The rows as a table of Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
    for r in rows:
        ms, spread, all_ = r["median_ms"], r["spread_ms"], max(r["schedules"], 1)
        seen_ = "nothing" if ms is None else f"{said(1e-3 * ms)} ± {said(0.5e-3 * spread)}"
        shapes = ", ".join(f"{writes}: {schedule.split()[0]}" for writes, schedule in r["chosen"])
        shares = [f"{r[what] / all_:.0%}" for what in ("pruned", "deferred", "timed", "refused", "open")]
        cells = [
            r["program"], shapes or "as the model says", said(1e-3 * r["predicted_ms"]), seen_,
            said(1e-3 * r["floor_ms"]), said(1e-3 * r["bound_ms"]), f"{r['gap']:.0%}", str(r["schedules"]), *shares,
            f"{r['asked_s']:g} s", f"{r['took_s']:.3g} s", r["second"],
        ]  # fmt: skip
        lines.append(f"| {' | '.join(c.replace('|', '·') for c in cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
