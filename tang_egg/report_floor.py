"""How far kernels are from the fastest that they could be: bytes and time beside their floors, tiles beside dual tiles.

    row ::= kernel, mathematics, schedule; bytes at memory: compulsory and floor; seconds: floor, measured; what binds;
            the tile of the schedule, and the tile that moves least through as much fast memory

The page of a report gets a table of these rows and, where matplotlib is installed, two plots: arithmetic intensity
against operations per second under the device's roofs, and the share of each measured time that is floor.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tang_egg import report_format as say
from tang_egg.cost.device import MEMORY, Device
from tang_egg.cost.floor import Floor, traffic_floor
from tang_egg.cost.time import amount
from tang_egg.cost.work import operations
from tang_egg.extract.space import standalone
from tang_egg.pipeline_floors import TimeFloors
from tang_egg.program import KernelPlan, Program, bound_outputs
from tang_egg.report_html_text import code, esc, rows, tag
from tang_egg.report_kernel import summary
from tang_egg.schedule import Schedule


@dataclass(frozen=True, slots=True)
class FloorRow:
    """See the module text. `bytes`: the floor of traffic between memory and all caches; `seconds`: measured, or 0."""

    name: str
    mathematics: str
    schedule: str
    compulsory: int
    bytes: int
    floor: float
    binding: str
    operations: float
    seconds: float
    tile: str
    dual: str
    proves: bool

    @property
    def reach(self) -> float:
        """The share of the measured time that is floor; 0 where nothing was measured."""
        return self.floor / self.seconds if self.seconds > 0 else 0.0


def floor_rows(
    program: Program,
    schedules: Mapping[str, Schedule],
    device: Device,
    seconds: Mapping[str, float] | None = None,
    sizes: Mapping[str, int] | None = None,
    cache: str = "warm",
) -> tuple[FloorRow, ...]:
    """A row for each kernel of a program. `seconds`: measured, by kernel. `sizes`: of symbolic dims."""
    return tuple(
        _row(k, schedules.get(k.name), device, (seconds or {}).get(k.name, 0.0), sizes or {}, cache)
        for k in program.kernels
    )


def _row(
    plan: KernelPlan, schedule: Schedule | None, device: Device, seconds: float, sizes: Mapping[str, int], cache: str
) -> FloorRow:
    outputs = standalone(plan.outputs)
    found = TimeFloors(device, None, sizes, cache).of(outputs, device, True)
    bound = KernelPlan(plan.name, bound_outputs(outputs, sizes))
    work = operations(bound)
    moved = traffic_floor(bound, capacity=device.faster_than(MEMORY), state=cache)
    near = traffic_floor(bound, capacity=_near(device))
    text = summary([t.name for t in plan.outputs], [t.body for t in plan.outputs])
    tile = "" if schedule is None else " ".join(p for p in str(schedule).split() if p.startswith(("tile=", "fold=")))
    return FloorRow(
        plan.name, text[0], "" if schedule is None else str(schedule), moved.compulsory, moved.bytes, found.seconds,
        found.binding.what, sum(w.operations for w in work), seconds, tile or "none", _dual(near), found.proves,
    )  # fmt: skip


def _near(device: Device) -> int:
    """Bytes of the fast memory of one worker for which tiles are made: its cache, or what a group shares."""
    own = [x for x in device.levels if x.capacity > 0 and x.name not in ("registers", MEMORY)]
    return max(2, own[0].capacity if own else 1 << 15)


def _dual(floor: Floor) -> str:
    tile = floor.tile
    return "none: no fold reuses anything" if tile is None else f"{tile} in {amount(floor.capacity)}B"


def floor_text(found: Sequence[FloorRow]) -> str:
    """The rows as text, one kernel a paragraph."""
    lines = []
    for r in found:
        seen = f"{say.seconds(r.seconds)} measured, {r.reach:.1%} of it is floor" if r.seconds else "not measured"
        lines += [
            f"kernel {r.name}: {r.mathematics}",
            f"  schedule: {r.schedule or 'none'}",
            f"  bytes: {r.bytes} at least between memory and caches; {r.compulsory} are touched",
            f"  time: {say.seconds(r.floor)} at least ({r.binding}); {seen}",
            f"  tile: {r.tile}; least is moved by {r.dual}",
        ]
    if found and not all(r.proves for r in found):
        lines.append("the floors rest on estimates of a class of machines: `tang-doctor --probe` measures this one")
    return "\n".join(lines) + "\n"


def floor_section(found: Sequence[FloorRow], device: Device) -> str:
    """The section of a page: the table, and the plots where matplotlib is installed."""
    head = (
        "kernel",
        "bytes, floor",
        "touched",
        "time, floor",
        "binds",
        "measured",
        "floor / measured",
        "tile",
        "dual tile",
    )
    body = [
        [
            code(r.name), esc(f"{amount(r.bytes)}B"), esc(f"{amount(r.compulsory)}B"), esc(say.seconds(r.floor)),
            esc(r.binding), esc(say.seconds(r.seconds)) if r.seconds else "", f"{r.reach:.1%}" if r.seconds else "",
            code(r.tile), esc(r.dual),
        ]
        for r in found
    ]  # fmt: skip
    note = "No implementation of these terms on this device is faster than its floor; reach is floor over measured"
    if not all(r.proves for r in found):
        note += ", as far as the shipped estimates of its class hold: tang-doctor --probe measures this device"
    plots = [tag("figure", svg) for svg in (roofline_svg(found, device), distance_svg(found)) if svg]
    table = rows(head, body)
    return tag("section", tag("h2", "Floors"), tag("p", esc(f"{note}."), _class="soft"), table, *plots, id="floors")


def roofline_svg(found: Sequence[FloorRow], device: Device) -> str:
    """Operations per second of each kernel under the roofs of the device, as inline SVG; empty without matplotlib."""
    shown = [r for r in found if r.seconds > 0 and r.operations > 0 and r.bytes + r.compulsory > 0]
    figure, axes = _figure()
    if figure is None or not shown:
        return ""
    peak = max((u.rate.ceiling for u in device.units), default=0.0)
    xs = [r.operations / max(r.bytes, r.compulsory) for r in shown]
    low, high = min(*xs, 0.1) / 2, max(*xs, 100.0) * 2
    ends = [low * (high / low) ** (n / 60) for n in range(61)]
    for level in device.levels:
        if level.ceiling > 0:
            axes.plot(ends, [min(peak, level.ceiling * x) for x in ends], lw=1, label=level.name)
    for x, r in zip(xs, shown, strict=True):
        axes.plot([x], [r.operations / r.seconds], "o", color="black")
        axes.annotate(r.name, (x, r.operations / r.seconds), textcoords="offset points", xytext=(5, 4))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations per byte touched")
    axes.set_ylabel("operations per second")
    axes.legend(loc="lower right")
    return _svg(figure, "roofline: kernels under the ceilings of the device")


def distance_svg(found: Sequence[FloorRow]) -> str:
    """The measured time of each kernel over its floor, as inline SVG; empty without matplotlib."""
    shown = [r for r in found if r.seconds > 0 and r.floor > 0]
    figure, axes = _figure()
    if figure is None or not shown:
        return ""
    axes.barh([r.name for r in shown], [r.seconds / r.floor for r in shown], color="gray")
    axes.axvline(1.0, color="black")
    axes.set_xscale("log")
    axes.set_xlabel("measured time over floor")
    return _svg(figure, "distance to the floor of each kernel")


def _figure() -> tuple[Any, Any]:
    """A figure and its axes, or nothing where matplotlib is not installed. No window system is touched."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None, None
    figure = Figure(figsize=(7, 3.6), layout="tight")
    return figure, figure.subplots()


_STYLE = re.compile(r' style="([^"]*)"')


def _svg(figure: Any, title: str) -> str:
    """A figure as one element without style sheets and links, which the page's policy forbids."""
    held = io.StringIO()
    figure.savefig(held, format="svg", metadata={"Date": None})
    text = held.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    text = _STYLE.sub(_attributes, text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{esc(title)}" ', 1).strip()


def _attributes(style: re.Match[str]) -> str:
    """Declarations of a style as attributes of their own."""
    pairs = [p.partition(":") for p in style[1].split(";") if ":" in p]
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in pairs if name.strip() != "font")
