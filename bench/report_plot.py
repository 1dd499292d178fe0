"""The figure of docs/cpu-measurements.md: ratios to the quickest peer, and the distance to the floor, by operator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.cpu_programs import COMPUTE
from bench.floor_plot import save
from bench.report import EQUAL, SHARE, Result
from bench.report_page import floors

COLOURS = {"compute": "#c1121f", "other": "#1b6ca8"}


def write(file: Path, found: Sequence[Result]) -> None:
    """Writes the figure, whole or not at all. Raises TargetError without matplotlib and for a file of another kind."""
    height = 1.5 + 0.22 * len(found)
    save(file, (9, height), lambda figure: draw(figure, found), "python -m bench report --plot")


def draw(figure: Any, found: Sequence[Result]) -> None:
    """Two panels with a line for each operator: left the ratios of all peers, right floors and ceilings over times."""
    ratios, distance = figure.subplots(1, 2, sharey=True)
    names = [r.name for r in found]
    ratios.set_yticks(range(len(names)), names)
    ratios.set_ylim(len(names) - 0.5, -0.5)
    for y, r in enumerate(found):
        if r.ms is not None:
            _ratios(ratios, y, r)
    ratios.axvline(1.0, color="black", lw=0.8)
    ratios.axvline(EQUAL, color="black", lw=0.5, ls=":")
    ratios.set_xscale("log")
    ratios.set_title("time of a peer over ours: above 1 ours is faster", fontsize=8)
    _distance(distance, found)


def _ratios(axes: Any, y: int, r: Result) -> None:
    """A dot for each peer, a bar to the quickest."""
    colour = COLOURS["compute" if r.ours["kind"] == COMPUTE else "other"]
    if r.ratio is not None:
        axes.plot([1.0, r.ratio], [y, y], color=colour, lw=3, solid_capstyle="butt")
    for p in r.peers:
        if not p.get("approximate"):
            axes.plot([float(p["median_ms"]) / (r.ms or 1.0)], [y], "o", ms=2.5, color="#7a7a7a")


def _distance(axes: Any, found: Sequence[Result]) -> None:
    """The shares of the ceiling of the run and of the floor in our median and in our quickest turn."""
    held = {r.name: v for r, v in floors(found)}
    series: dict[str, tuple[str, str, list[tuple[float, int]]]] = {
        "ceiling of the run over the median": ("s", "#7a7a7a", []),
        "floor over the median": ("o", COLOURS["other"], []),
        "floor over the quickest turn": ("x", COLOURS["compute"], []),
    }
    ceiling, median, quickest = (points for _, _, points in series.values())
    for y, r in enumerate(found):
        if r.share is not None:
            ceiling.append((r.share, y))
        if (v := held.get(r.name)) is not None:
            median.append((v.reach, y))
            if v.best_reach is not None:
                quickest.append((v.best_reach, y))
    for label, (mark, colour, points) in series.items():
        if points:
            axes.plot(*zip(*points, strict=True), mark, ms=3, color=colour, label=label, ls="none")
    axes.axvline(1.0, color="black", lw=0.8)
    axes.axvline(SHARE, color="black", lw=0.5, ls=":")
    axes.set_xlim(left=0)
    axes.set_title("distance to the floor and to the ceilings", fontsize=8)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="lower right", fontsize=7)
