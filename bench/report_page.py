"""The tables of docs/cpu-measurements.md, written between its markers, and the same as text.

page  ::= text, then `<!-- cpu NAME: begin -->`, a table, `<!-- cpu NAME: end -->`, and so on
NAME  ::= machine, bar, figure, operators, floors, peers, minilm, failures
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bench import log
from bench.cpu_programs import COMPUTE, OTHER
from bench.floor import Verdict, devices_of, verdicts
from bench.floor_page import renew, table
from bench.report import Result, bar, mean_of
from tang_egg.cost.time import said as time_said

Sentences = Sequence[tuple[log.Row, dict[str, log.Row]]]
NOTHING = "Nothing was measured yet."


def write(
    page: Path, found: Sequence[Result], sentences: Sentences, ceilings: log.Row | None, plot: Path | None = None
) -> None:
    """Renews every table of a page. Raises TargetError where the page, or a marker of a table, is missing.

    `plot`: the file of the figure, which the page shows.
    """
    figure = None if plot is None else os.path.relpath(plot, page.parent)
    renew(page, "cpu", tables(found, sentences, ceilings, figure))


def tables(
    found: Sequence[Result], sentences: Sentences, ceilings: log.Row | None, figure: str | None = None
) -> dict[str, str]:
    """Every table by the name of its markers; `figure` is where the page finds its picture."""
    failing = bar(found, sentences)
    return {
        "machine": _machine(found, ceilings),
        "bar": "\n".join(f"- {line}" for line in failing) or "All of the bar is met.",
        "figure": NOTHING if figure is None else f"![ratios to the peers, and the distance to the floor]({figure})",
        "operators": _operators(found),
        "floors": _floors(found),
        "peers": _peers(found),
        "minilm": _minilm(sentences),
        "failures": _failures(found),
    }


def text(found: Sequence[Result], failing: Sequence[str]) -> str:
    """A line for each operator, the means, and what fails."""
    lines = []
    for r in found:
        ratio = "-" if r.ratio is None else f"{r.ratio:.2f}"
        best = "" if r.best is None else f"{r.best['system']} {r.best['median_ms']:.3g} ms"
        ours = "failed" if r.ms is None else f"{r.ms:.3g} ms"
        share = "" if r.share is None else f"{r.share:.0%} of {r.ours['bound']}"
        mark = "FAIL" if r.fails() else "pass"
        lines.append(f"{mark} {r.name:20}{r.ours['kind']:8} {ratio:>6}  {ours:>10}  {share:14} {best}")
    for kind in (COMPUTE, OTHER):
        mean = mean_of(found, kind)
        lines.append(f"geometric mean, {kind}: {'-' if mean is None else f'{mean:.2f}'}")
    lines += [f"FAILS {line}" for line in failing] or ["all of the bar is met"]
    return "\n".join(lines)


def _machine(found: Sequence[Result], ceilings: log.Row | None) -> str:
    rows = []
    if found:
        newest = found[-1].ours
        commits = dict.fromkeys(str(r.ours["commit"]) for r in found)
        rows = [("device", str(newest["device"])), ("threads", str(newest["threads"])), ("commits", ", ".join(commits))]
        systems = dict.fromkeys(str(p["system"]) for r in found for p in (*r.peers, *r.failed))
        rows.append(("peers", ", ".join(systems)))
    if ceilings is not None:
        rows.append(("multiply-adds of f32", f"{ceilings['fma_gflops']:.4g} GFLOP/s"))
        for name, key in (("L2, read", "l2_gbs"), ("L3, read", "l3_gbs"), ("memory, read", "read_gbs"),
                          ("memory, copy", "copy_gbs")):  # fmt: skip
            rows.append((name, f"{ceilings[key]:.4g} GB/s"))
    return table(("of the run", ""), rows, 2) if rows else NOTHING


def _operators(found: Sequence[Result]) -> str:
    rows = []
    for r in found:
        spread = "" if r.ms is None else f"{r.ours['p10_ms']:.3g} to {r.ours['p90_ms']:.3g}"
        called = "" if r.called is None or r.called.get("failed") else f"{r.called['median_ms']:.3g}"
        best = ("", "") if r.best is None else (str(r.best["system"]), f"{r.best['median_ms']:.3g}")
        rows.append((
            r.name, str(r.ours["kind"]), best[0], best[1], "failed" if r.ms is None else f"{r.ms:.3g}", spread, called,
            "" if r.ratio is None else f"**{r.ratio:.2f}**" if r.fails() else f"{r.ratio:.2f}",
            "" if r.share is None else f"{r.share:.0%} of {r.ours['bound']}",
            "" if r.ms is None else f"{r.ours['error']:.0e}",
        ))  # fmt: skip
    for kind in (COMPUTE, OTHER):
        mean = mean_of(found, kind)
        if mean is not None:
            rows.append(("geometric mean", kind, "", "", "", "", "", f"{mean:.2f}", "", ""))
    head = (
        "operator", "kind", "quickest peer", "ms", "ours, ms", "10 % to 90 %", "called, ms", "ratio", "of the ceiling",
        "error",
    )  # fmt: skip
    return table(head, rows, 3)


def floors(found: Sequence[Result]) -> list[tuple[Result, Verdict]]:
    """Our rows beside the floors of their graphs, where the constants of their device are known."""
    timed = {id(r.ours): r for r in found if r.ms is not None}
    held, _ = verdicts([r.ours for r in timed.values()], devices_of(str(r.ours["device"]) for r in timed.values()))
    return [(timed[id(v.row)], v) for v in held]


def _floors(found: Sequence[Result]) -> str:
    """The distance to the floor: of the median, of the quickest turn, and of the quickest peer's median."""
    rows = []
    for r, v in floors(found):
        best = "" if v.best_reach is None else f"{v.best_reach:.2f}"
        peer = "" if r.best is None else f"{v.floor.reach(1e-3 * float(r.best['median_ms'])):.2f}"
        rows.append((r.name, v.floor.binding.what, time_said(v.floor.seconds), f"{v.reach:.2f}", best, peer))
    return table(("operator", "binds", "floor", "reach", "best reach", "reach of the quickest peer"), rows, 2)


def _peers(found: Sequence[Result]) -> str:
    """Medians of every peer; ~ approximate, * one call."""
    systems = list(dict.fromkeys(str(p["system"]) for r in found for p in r.peers))

    def cell(r: Result, system: str) -> str:
        for p in r.peers:
            if p["system"] == system:
                return f"{p['median_ms']:.3g}" + ("~" if p.get("approximate") else "") + ("*" if p.get("once") else "")
        return "failed" if any(p["system"] == system for p in r.failed) else ""

    rows = [(r.name, "failed" if r.ms is None else f"{r.ms:.3g}", *(cell(r, s) for s in systems)) for r in found]
    return table(("operator", "ours", *systems), rows, 1)


def _minilm(sentences: Sentences) -> str:
    systems = list(dict.fromkeys(name for _, peers in sentences for name in peers))
    rows = []
    for ours, peers in sentences:
        shape = " ".join(f"{k}={n}" for k, n in ours["shape"].items())
        mine = float(ours["median_ms"])
        cells = [
            f"{p['median_ms']:.3g} ({float(p['median_ms']) / mine:.2f})"
            if (p := peers.get(s)) is not None and p.get("median_ms") is not None
            else ""
            for s in systems
        ]
        rows.append((shape, f"{mine:.3g}", *cells))
    return table(("sentence", "ours, ms", *systems), rows, 1) if rows else NOTHING


def _failures(found: Sequence[Result]) -> str:
    lines = [f"- {r.name}, {p['system']}: {p['failed']}" for r in found for p in r.failed]
    return "\n".join(line.replace("<", "&lt;") for line in lines) or "None."
