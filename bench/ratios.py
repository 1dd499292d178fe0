"""`python -m bench ratios`: our times on the GPU beside those of the peers, cell by cell, from the log.

Only times of one run are compared, the newest in which a cell was measured with a peer. A ratio is a peer's time over
ours: above 1 ours is faster. `best` is the ratio to the quickest peer that the cell is judged by, `floor` the share of
the least possible time in ours.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import log
from bench.cuda_cells import JUDGED, OURS, family
from bench.cuda_rows import key


@dataclass(frozen=True)
class Comparison:
    """A cell in one run: times in ms by family, those that failed left out."""

    row: log.Row
    ours: float | None
    peers: dict[str, float]
    failed: str | None

    @property
    def suite(self) -> str:
        return str(self.row["suite"])

    @property
    def ratios(self) -> dict[str, float]:
        return {} if self.ours is None else {name: ms / self.ours for name, ms in self.peers.items()}

    @property
    def best(self) -> float | None:
        """Ours against the quickest of those that it is judged by; None without a time of either."""
        judged = [r for name, r in self.ratios.items() if name in JUDGED[self.suite].systems]
        return min(judged) if judged else None

    @property
    def verdict(self) -> str:
        """pass, FAIL, or "-" where there is no threshold or nothing to compare with."""
        least = JUDGED[self.suite].least
        if least is None or (self.ours is not None and self.best is None):
            return "FAIL" if self.ours is None else "-"
        return "pass" if self.best is not None and self.best >= least else "FAIL"

    @property
    def floor_share(self) -> float | None:
        floor = self.row.get("floor_ms")
        return None if self.ours is None or floor is None else float(floor) / self.ours


def comparisons(rows: Iterable[log.Row]) -> list[Comparison]:
    """One for each cell (on each device) with a row of ours, in order of first measurement."""
    groups: dict[tuple[str, ...], dict[str, list[log.Row]]] = {}
    for r in rows:
        if r["suite"] in JUDGED and family(r["system"]) is not None:
            groups.setdefault((r["device"], *key(r)), {}).setdefault(r["run"], []).append(r)
    found = []
    for runs in groups.values():
        with_ours = [g for g in runs.values() if any(family(r["system"]) == OURS for r in g)]
        with_peers = [g for g in with_ours if any(family(r["system"]) != OURS for r in g)]
        if with_ours:
            found.append(_comparison((with_peers or with_ours)[-1]))
    return found


def _comparison(group: Sequence[log.Row]) -> Comparison:
    times: dict[str, float] = {}
    for r in group:  # a later row of the same run stands for the earlier one
        name = family(r["system"])
        if name is not None:
            times.pop(name, None)
            if r.get("median_ms") is not None and not r.get("failed"):
                times[name] = float(r["median_ms"])
    ours = [r for r in group if family(r["system"]) == OURS][-1]
    return Comparison(ours, times.pop(OURS, None), times, ours.get("failed"))


def geometric_mean(values: Sequence[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def report(found: Sequence[Comparison]) -> str:
    """The table, one line a cell, and geometric means of `best` below it."""
    lines = []
    for suite, judged in JUDGED.items():
        of_suite = [c for c in found if c.suite == suite]
        if not of_suite:
            continue
        wanted = f"at least {judged.least:g} of {' and '.join(judged.systems)}" if judged.least else "no threshold"
        lines.append(f"{suite}: {wanted}")
        lines += [_line(c) for c in of_suite]
        lines.append(_mean("  geometric mean", of_suite))
    if not lines:
        return "the log has no rows of the CUDA suites"
    return "\n".join([*lines, _mean("all cells", found)])


def _line(c: Comparison) -> str:
    shape = " ".join(f"{k}={v}" for k, v in c.row["shape"].items())
    head = f"  {c.verdict:5}{c.row['program']:26}{shape:28}{c.row['dtype']:5}"
    if c.ours is None:
        return f"{head} ours failed: {c.failed}"
    share = "" if c.floor_share is None else f"floor {c.floor_share:4.0%}"
    peers = "  ".join(f"{name} {c.peers[name]:.4g} ms ({r:.2f})" for name, r in c.ratios.items())
    best = "-" if c.best is None else f"{c.best:.2f}"
    return f"{head} {c.ours:9.4g} ms  best {best:>5}  {share}  {peers}"


def markdown(found: Sequence[Comparison]) -> str:
    """The same as tables in Markdown, one a suite, with a column for each peer."""
    parts = []
    for suite, judged in JUDGED.items():
        of_suite = [c for c in found if c.suite == suite]
        if not of_suite:
            continue
        peers = list(dict.fromkeys(name for c in of_suite for name in c.peers))
        wanted = f" At least {judged.least:g} of {' and '.join(judged.systems)}." if judged.least else ""
        titles = ("program", "shape", "type", "floor, ms", "ours, ms", "of the floor", "best", *peers)
        lines = ["|" + _cells(f" {t}" for t in titles)]
        lines.append("|---|---|---|--:|--:|--:|--:|" + "--:|" * len(peers))
        lines += [_row(c, peers) for c in of_suite]
        parts.append(f"`{suite}`.{wanted} {_mean('Geometric mean', of_suite)}.\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _row(c: Comparison, peers: Sequence[str]) -> str:
    shape = " ".join(f"{k}={v}" for k, v in c.row["shape"].items())
    ours = f"failed: {c.failed}" if c.ours is None else f"{c.ours:.4g}"
    share = "" if c.floor_share is None else f"{c.floor_share:.0%}"
    best = "" if c.best is None else f"{c.best:.2f}"
    times = (f" {c.peers[p]:.4g} ({c.ratios[p]:.2f})" if p in c.ratios else f" {c.peers.get(p, '')}" for p in peers)
    fixed = (c.row["program"], shape, c.row["dtype"], f"{c.row['floor_ms']:.4g}", ours, share, best)
    return "|" + _cells(f" {x}" for x in fixed) + _cells(times)


def _cells(texts: Iterable[str]) -> str:
    return "".join(f"{t.rstrip()} |" for t in texts)


def _mean(title: str, found: Sequence[Comparison]) -> str:
    best = [c.best for c in found if c.best is not None]
    mean = geometric_mean(best)
    passed = sum(c.verdict == "pass" for c in found)
    judged = sum(c.verdict != "-" for c in found)
    text = "no ratio" if mean is None else f"best {mean:.3f} over {len(best)} cells"
    return f"{title}: {text}, {passed} of {judged} pass"


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench ratios", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, default=log.FILE, metavar="FILE", help="(default: bench/log.jsonl)")
    parser.add_argument("--device", metavar="TEXT", default="", help="only devices whose name contains it")
    parser.add_argument("--markdown", action="store_true", help="as tables of docs/cuda-measurements.md")
    given = parser.parse_args(arguments)
    rows = [r for r in log.read(given.log) if given.device in str(r["device"])]
    print((markdown if given.markdown else report)(comparisons(rows)))
    return 0
