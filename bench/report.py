"""`python -m bench report`: what the log says of `bench cpu` and `bench minilm`, as a page with a plot.

Only times of one run are compared: of each operator the newest run with a time of ours and of a peer. A ratio is the
time of the quickest peer over ours; above 1 ours is faster. What was approximate or failed is no peer. The bar:

compute   at least 0.95 of the quickest peer (products of matrices of 512 and more, blocks, convolutions)
other     faster than the quickest peer, each, and by 1.3 in the geometric mean
memory    where bytes bind and exceed the last cache twice: at least 0.75 of the measured bandwidth
policy    batch 1: at most twice the time of reading the weights from the cache that holds them
sentence  MiniLM: faster than torch.compile and onnxruntime at each sentence

Exit status 1 where a line of the bar fails, or where nothing was measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import log
from bench.cpu_programs import COMPUTE, OPERATORS, OTHER
from bench.cpu_rows import CALLED, CEILINGS, OURS, SUITE
from bench.ratios import geometric_mean
from tang_egg.errors import TangError

PAGE = Path(__file__).parent.parent / "docs" / "cpu-measurements.md"
EQUAL, MEAN, SHARE, TWICE = 0.95, 1.3, 0.75, 2.0
POLICIES = ("gru_cell", "mlp_policy")
LARGE = 64 << 20
"""Bytes from which on memory can bind: twice a last cache of 32 MiB."""
SENTENCE_PEERS = ("compile", "onnxruntime")


@dataclass(frozen=True, slots=True)
class Result:
    """An operator in one run: our row, that of the plain call, rows of peers with a time, and those that failed."""

    name: str
    ours: log.Row
    called: log.Row | None
    peers: tuple[log.Row, ...]
    failed: tuple[log.Row, ...]

    @property
    def ms(self) -> float | None:
        """Our median; None where we failed or our result was wrong."""
        return None if self.ours.get("failed") or self.ours.get("approximate") else float(self.ours["median_ms"])

    @property
    def best(self) -> log.Row | None:
        """The row of the quickest peer that computes the same."""
        exact = [r for r in self.peers if not r.get("approximate")]
        return min(exact, key=lambda r: float(r["median_ms"]), default=None)

    @property
    def ratio(self) -> float | None:
        """The time of the quickest peer over ours."""
        return None if self.ms is None or self.best is None else float(self.best["median_ms"]) / self.ms

    @property
    def share(self) -> float | None:
        """The operator's time at the ceilings of the run over ours."""
        return None if self.ms is None else float(self.ours["ceiling_ms"]) / self.ms

    @property
    def memory(self) -> bool:
        return self.ours["bound"] == "bytes" and int(self.ours["bytes"]) >= LARGE

    def fails(self) -> list[str]:
        """The lines of the bar that this operator fails."""
        if self.ms is None:
            why = self.ours.get("failed") or f"an error of {self.ours['error']:.1e}"
            return [f"ours has no time: {why}"]
        found = []
        if self.ratio is not None and self.best is not None:
            least = EQUAL if self.ours["kind"] == COMPUTE else 1.0
            if self.ratio < least or (self.ours["kind"] == OTHER and self.ratio <= least):
                found.append(f"{self.ratio:.2f} of {self.best['system']}, wanted {least:g}")
        share = self.share or 0.0
        if self.memory and share < SHARE:
            found.append(f"{share:.2f} of the bandwidth, wanted {SHARE:g}")
        if self.name in POLICIES and share < 1 / TWICE:
            found.append(f"{1 / share:.1f} times the reading of its weights, wanted {TWICE:g}")
        return found


def results(rows: Iterable[log.Row]) -> list[Result]:
    """One for each operator that was measured, in the order of the operators."""
    groups: dict[str, dict[str, list[log.Row]]] = {}
    rows = [r for r in rows if r["suite"] == SUITE and r["program"] in OPERATORS]
    for r in rows:
        groups.setdefault(r["program"], {}).setdefault(r["run"], []).append(r)
    found = []
    for name in OPERATORS:
        runs = [g for g in groups.get(name, {}).values() if any(r["system"] == OURS for r in g)]
        with_peers = [g for g in runs if any(_timed(r) and r["system"] not in (OURS, CALLED) for r in g)]
        if runs:
            deaths = [r for g in groups[name].values() if g not in runs for r in g if r.get("failed")]
            found.append(_result(name, (with_peers or runs)[-1], deaths))
    return found


def _timed(row: log.Row) -> bool:
    return not row.get("failed") and row.get("median_ms") is not None


def _result(name: str, group: Sequence[log.Row], deaths: Sequence[log.Row]) -> Result:
    newest = {r["system"]: r for r in group}
    ours, called = newest.pop(OURS), newest.pop(CALLED, None)
    dead = {r["system"]: r for r in deaths if r["system"] not in newest and r.get("code") == ours.get("code")}
    peers = tuple(r for r in newest.values() if _timed(r))
    return Result(name, ours, called, peers, tuple(r for r in (*newest.values(), *dead.values()) if not _timed(r)))


def mean_of(found: Sequence[Result], kind: str) -> float | None:
    """Of the ratios of all operators of a kind."""
    return geometric_mean([r.ratio for r in found if r.ours["kind"] == kind and r.ratio is not None])


def sentences(rows: Iterable[log.Row]) -> list[tuple[log.Row, dict[str, log.Row]]]:
    """Our row for each sentence of the newest run of `minilm`, with those of the peers by system."""
    runs: dict[str, list[log.Row]] = {}
    for r in rows:
        if r["suite"] == "minilm":
            runs.setdefault(r["run"], []).append(r)
    if not runs:
        return []
    newest = list(runs.values())[-1]
    shapes = list(dict.fromkeys(_shape(r) for r in newest))
    found = []
    for shape in shapes:
        same = {str(r["system"]): r for r in newest if _shape(r) == shape}
        ours = next((r for name, r in same.items() if name.startswith("tang_egg")), None)
        if ours is not None:
            found.append((ours, {name: r for name, r in same.items() if not name.startswith("tang_egg")}))
    return found


def _shape(row: log.Row) -> str:
    return " ".join(f"{k}={n}" for k, n in (row["shape"] or {}).items())


def bar(found: Sequence[Result], said: Sequence[tuple[log.Row, dict[str, log.Row]]]) -> list[str]:
    """What fails, a line each; nothing where all of the bar is met."""
    lines = [f"{r.name}: {line}" for r in found for line in r.fails()]
    mean = mean_of(found, OTHER)
    if mean is not None and mean < MEAN:
        lines.append(f"geometric mean of the others: {mean:.2f}, wanted {MEAN:g}")
    for ours, peers in said:
        for name, r in peers.items():
            if any(p in name for p in SENTENCE_PEERS) and _timed(r) and float(ours["median_ms"]) >= r["median_ms"]:
                ratio = float(r["median_ms"]) / float(ours["median_ms"])
                lines.append(f"MiniLM, {_shape(ours)}: {ratio:.2f} of {name}, wanted more than 1")
    return lines


def newest_ceilings(rows: Iterable[log.Row], found: Sequence[Result]) -> log.Row | None:
    """The rates that were measured in the run of the last operator, else the newest."""
    every = [r for r in rows if r["suite"] == SUITE and r["program"] == CEILINGS and _rated(r)]
    of_run = [r for r in every if found and r["run"] == found[-1].ours["run"]]
    return next(reversed(of_run or every), None)


def _rated(row: log.Row) -> bool:
    return not row.get("failed") and row.get("fma_gflops") is not None


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add: Callable[..., object] = parser.add_argument
    add("--log", type=Path, default=log.FILE, metavar="FILE", help="(default: bench/log.jsonl)")
    add("--device", default="", metavar="TEXT", help="only devices whose name contains it")
    add("--page", type=Path, metavar="FILE", help=f"write the tables into this page ({PAGE.name})")
    add("--plot", type=Path, metavar="FILE", help="write the figure as SVG or PNG")
    given = parser.parse_args(arguments)
    rows = [r for r in log.read(given.log) if given.device in str(r["device"])]
    found, said = results(rows), sentences(rows)
    if not found:
        print(f"{given.log} has no rows of `python -m bench cpu`", file=sys.stderr)
        return 1
    from bench import report_page, report_plot

    try:
        if given.plot:
            report_plot.write(given.plot, found)
        if given.page:
            report_page.write(given.page, found, said, newest_ceilings(rows, found), given.plot)
    except TangError as error:
        print(error, file=sys.stderr)
        return 1
    failing = bar(found, said)
    print(report_page.text(found, failing))
    return 1 if failing else 0
