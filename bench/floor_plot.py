"""The whole distribution of reach, and the distance of every row to its floor, as one SVG or PNG.

The same rows give the same file: nothing in it depends on the time or on chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.floor import KINDS, Verdict
from tang_egg.errors import TargetError
from tang_egg.files import replacing

COLOURS = {"memory": "#1b6ca8", "arithmetic": "#c1121f", "small": "#7a7a7a"}
LINES = {"cold": "-", "warm": ":"}
MARKS = {"cold": "o", "warm": "x"}
PAPER = (0.05, 0.66)
"""The reach that published kernels were found to have, from least to most."""
FORMATS = (".svg", ".png")


def write(file: Path, found: Sequence[Verdict]) -> None:
    """Writes the figure, whole or not at all. Raises TargetError without matplotlib and for a file of another kind."""
    save(file, (9, 10), lambda figure: draw(figure, found), "python -m bench floor --plot")


def save(file: Path, size: tuple[float, float], paint: Callable[[Any], None], where: str) -> None:
    """Writes the figure that `paint` draws, the same bytes for the same drawing. Raises TargetError as `write` does."""
    if file.suffix not in FORMATS:
        raise TargetError(
            f"no figure can be written as '{file.suffix}'", where=str(file), mend=f"one of {', '.join(FORMATS)}"
        )
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise TargetError("plots need matplotlib", where=where, mend="pip install 'tang_egg[notebooks]'") from None
    with matplotlib.rc_context({"svg.hashsalt": "tang_egg", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=size, layout="tight")
        paint(figure)
        metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
        try:
            with replacing(file) as to:
                figure.savefig(to, format=file.suffix[1:], metadata=metadata)
        except OSError as error:
            raise TargetError(
                f"the figure cannot be written: {error.strerror or error}", where=str(file), mend="give another file"
            ) from None


def draw(figure: Any, found: Sequence[Verdict]) -> None:
    """Six panels: reach on the processor of medians and of quickest calls, the share of streams, how far the quickest
    call is from the median, reach on GPUs, and time over floor of all."""
    (reach, best), (stream, apart), (gpu, scatter) = figure.subplots(3, 2)
    processor = [v for v in found if v.row["suite"] == "floor.c"]
    for kind in KINDS:
        for state in LINES:
            own = [v for v in processor if v.kind == kind and v.state == state]
            _steps(reach, [v.reach for v in own], f"{kind}, {state}", COLOURS[kind], LINES[state])
            quickest = [v.best_reach for v in own if v.best_reach is not None]
            _steps(best, quickest, f"{kind}, {state}", COLOURS[kind], LINES[state])
            shares = [v.of_stream for v in own if v.of_stream is not None and kind == "memory"]
            _steps(stream, shares, f"{kind}, {state}", COLOURS[kind], LINES[state])
    _axes(reach, "C: reach, the share of the floor in the median time", 0.7)
    _axes(best, "C: best reach, the share of the floor in the time of the quickest call", 0.7)
    _apart(apart, processor)
    _axes(stream, "C, bound by memory: share of a stream of the same run", 1.0)
    _gpu(gpu, [v for v in found if str(v.row["suite"]).startswith(("cuda.", "floor.cuda"))])
    _scatter(scatter, found)


def _steps(axes: Any, values: Sequence[float], label: str, colour: str, line: str) -> None:
    """The share of rows that reach at most so much."""
    if values:
        ordered = sorted(values)
        heights = [n / len(ordered) for n in range(len(ordered) + 1)]
        axes.step(
            [ordered[0], *ordered],
            heights,
            where="post",
            color=colour,
            ls=line,
            label=f"{label} ({len(ordered)}, median {median(ordered):.2f})",
        )


def _axes(axes: Any, title: str, mark: float) -> None:
    axes.axvline(mark, color="black", lw=0.6)
    axes.set_title(title, fontsize=8)
    axes.set_ylabel("share of rows")
    axes.set_ylim(0, 1)
    axes.set_xlim(left=0)
    if axes.lines[1:]:
        axes.legend(loc="lower right", fontsize=7)


def _apart(axes: Any, found: Sequence[Verdict]) -> None:
    """The quickest call over the median: how far apart the two reaches are."""
    for state in LINES:
        own = [v for v in found if v.state == state and v.best_reach is not None]
        shares = [v.reach / v.best_reach for v in own if v.best_reach]
        _steps(axes, shares, state, COLOURS["memory"], LINES[state])
    _axes(axes, "C: the quickest call's time over the median", 1.0)


def _gpu(axes: Any, found: Sequence[Verdict]) -> None:
    axes.axvspan(*PAPER, color="#e8e8e8", label="published kernels")
    ours = [v for v in found if str(v.row["system"]).startswith("tang_egg")]
    for state in LINES:
        _steps(axes, [v.reach for v in ours if v.state == state], f"ours, {state}", COLOURS["memory"], LINES[state])
    peers = [v.reach for v in found if v not in ours]
    _steps(axes, peers, "peers", COLOURS["small"], "-")
    _axes(axes, "CUDA: reach", 1.0)


def _scatter(axes: Any, found: Sequence[Verdict]) -> None:
    """Measured time over floor, both logarithmic: the line is where nothing could be faster."""
    for kind in KINDS:
        for state, mark in MARKS.items():
            own = [v for v in found if v.kind == kind and v.state == state]
            times = [1e-3 * float(v.row["median_ms"]) for v in own]
            axes.plot([v.floor.seconds for v in own], times, mark, ms=2.5, color=COLOURS[kind])
    every = [v.floor.seconds for v in found] or [1e-6, 1.0]
    ends = [min(every), max(every)]
    axes.plot(ends, ends, color="black", lw=0.6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title("all rows, circles cold, crosses warm", fontsize=8)
    axes.set_xlabel("floor, s")
    axes.set_ylabel("measured, s")
