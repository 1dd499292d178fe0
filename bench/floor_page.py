"""The tables of docs/floor-measurements.md, written between its markers from what the log holds.

page  ::= text, then `<!-- floor NAME: begin -->`, a table, `<!-- floor NAME: end -->`, and so on
NAME  ::= devices, summary, best, shares, stream, memory, programs, cuda
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bench.floor import KINDS, Verdict
from tang_egg.cost.device import MEMORY, Device
from tang_egg.cost.time import amount, said
from tang_egg.errors import TargetError
from tang_egg.files import replacing

STATES = ("cold", "warm")


def write(page: Path, found: Sequence[Verdict], devices: Mapping[str, Device]) -> None:
    """Renews every table of a page. Raises TargetError where the page, or a marker of a table, is missing."""
    renew(page, "floor", tables(found, devices))


def renew(page: Path, prefix: str, tables: Mapping[str, str]) -> None:
    """Puts tables between the markers `<!-- PREFIX NAME: begin -->` and `<!-- PREFIX NAME: end -->` of a page.

    Raises TargetError where the page cannot be read or written, or lacks the markers of a table; it is then as it was.
    """
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(
            f"the page cannot be read: {error}", where=str(page), mend=f"give docs/{prefix}-measurements.md"
        ) from None
    for name, lines in tables.items():
        pattern = rf"(<!-- {prefix} {name}: begin -->\n).*?(<!-- {prefix} {name}: end -->)"
        text, count = re.subn(pattern, lambda m, body=lines: f"{m[1]}{body}\n{m[2]}", text, flags=re.DOTALL)  # type: ignore[misc]
        if count != 1:
            raise TargetError(
                f"the page has {count} places for the table '{name}'",
                where=str(page),
                mend=f"put one line <!-- {prefix} {name}: begin --> and one line <!-- {prefix} {name}: end --> into it",
            )
    try:
        with replacing(page) as file:
            file.write(text.encode())
    except OSError as error:
        raise TargetError(
            f"the page cannot be written: {error.strerror or error}", where=str(page), mend="give another file"
        ) from None


def tables(found: Sequence[Verdict], devices: Mapping[str, Device]) -> dict[str, str]:
    """Every table by the name of its markers. Reach and share of a stream are summed up apart, but in "shares"."""
    processor = [v for v in found if v.row["suite"] == "floor.c"]
    gpu = [v for v in found if str(v.row["suite"]).startswith("cuda.") or v.row["suite"] == "floor.cuda"]
    streams = [v for v in processor if v.of_stream is not None]
    used = {str(v.row["device"]) for v in found}
    return {
        "devices": _devices({n: d for n, d in devices.items() if n in used}),
        "summary": _summary(processor, lambda v: v.reach),
        "best": _summary([v for v in processor if v.best_reach is not None], lambda v: v.best_reach or 0.0),
        "shares": _shares([v for v in streams if v.kind == "memory"]),
        "stream": _summary(streams, lambda v: v.of_stream or 0.0),
        "memory": _each([v for v in processor if v.kind == "memory" and v.state == "cold"]),
        "programs": _programs(processor),
        "cuda": _cuda(gpu),
    }


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> str:
    """A table in Markdown; the first `left` columns are text, the others numbers."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * left + "--:|" * (len(head) - left)]
    body = [f"| {' | '.join(r)} |" for r in rows]
    return "\n".join(lines + body) if body else "Nothing was measured yet."


def _devices(devices: Mapping[str, Device]) -> str:
    def rate(device: Device, way: str) -> str:
        figure = getattr(device.level(MEMORY), way)
        return f"{amount(figure.value)}B/s, {amount(figure.ceiling)}B/s"

    rows = [
        (n, "estimates" if d.estimated else d.when[:10], *(rate(d, w) for w in ("read", "write", "copy")))
        for n, d in devices.items()
    ]
    return table(("device", "constants", "read: median, ceiling", "write", "copy, both directions"), rows, 2)


def _summary(found: Sequence[Verdict], figure: Callable[[Verdict], float]) -> str:
    rows = []
    for kind in KINDS:
        for state in STATES:
            values = sorted(figure(v) for v in found if v.kind == kind and v.state == state)
            if values:
                quarters = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
                figures = (values[0], *quarters, values[-1])
                rows.append((kind, state, str(len(values)), *(f"{x:.2f}" for x in figures)))
    return table(("bound by", "state", "rows", "least", "quarter", "median", "three quarters", "most"), rows, 2)


def _shares(found: Sequence[Verdict]) -> str:
    """For each device and state what a reach is the product of: the reach of a stream, and the kernel's share of it."""
    rows = []
    for device, state in dict.fromkeys((str(v.row["device"]), v.state) for v in sorted(found, key=lambda v: v.state)):
        own = [v for v in found if v.row["device"] == device and v.state == state and v.of_stream]
        machine = [v.reach / v.of_stream for v in own if v.of_stream]
        kernel = [v.of_stream for v in own if v.of_stream]
        if own:
            figures = (_middle([v.reach for v in own]), _middle(machine), _middle(kernel))
            rows.append((device, state, str(len(own)), *figures))
    return table(("device", "state", "rows", "reach", "of it the machine's", "of it the kernel's"), rows, 2)


def _middle(values: Sequence[float]) -> str:
    """The median, and the quarters around it."""
    if len(values) < 2:
        return f"{values[0]:.2f}"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def _each(found: Sequence[Verdict]) -> str:
    def cells(v: Verdict) -> tuple[str, ...]:
        read, written = v.row.get("moved") or (0, 0)
        share = "" if v.of_stream is None else f"{v.of_stream:.2f}"
        median = said(1e-3 * float(v.row["median_ms"]))
        moved = f"{read / 1e6:.0f}", f"{written / 1e6:.0f}"
        best = "" if v.best_reach is None else f"{v.best_reach:.2f}"
        return str(v.row["program"]), _shape(v), *moved, said(v.floor.seconds), median, f"{v.reach:.2f}", best, share

    head = ("program", "shape", "MB read", "MB written", "floor", "cold", "reach", "best reach", "of a stream")
    return table(head, [cells(v) for v in sorted(found, key=lambda v: (-v.reach, str(v.key)))], 2)


def _programs(found: Sequence[Verdict]) -> str:
    """By program: the median of the reach over its sizes, with least and most, in each class and state."""
    rows = []
    for program in dict.fromkeys(str(v.row["program"]) for v in found):
        own = [v for v in found if v.row["program"] == program]
        cells = [_span([v.reach for v in own if v.kind == k and v.state == s]) for k in KINDS for s in STATES]
        rows.append((program, str(len({_shape(v) for v in own})), *cells))
    head = ("program", "sizes", *(f"{k}, {s}" for k in KINDS for s in STATES))
    return table(head, rows, 1)


def _span(values: Sequence[float]) -> str:
    if not values:
        return ""
    middle = f"{statistics.median(values):.2f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.2f} to {max(values):.2f})"


def _cuda(found: Sequence[Verdict]) -> str:
    """Ours on a GPU, the nearest to the floor first, forced schedules left out."""
    ours = [v for v in found if str(v.row["system"]).startswith("tang_egg") and "(" not in str(v.row["system"])]
    rows = [
        (
            str(v.row["program"]), _shape(v), str(v.row["dtype"]), v.state, v.floor.binding.what, said(v.floor.seconds),
            said(1e-3 * float(v.row["median_ms"])), f"{v.reach:.2f}",
        )
        for v in sorted(ours, key=lambda v: (-v.reach, str(v.key)))
    ]  # fmt: skip
    return table(("program", "shape", "type", "state", "binds", "floor", "measured", "reach"), rows, 5)


def _shape(v: Verdict) -> str:
    return " ".join(f"{k}={n}" for k, n in (v.row["shape"] or {}).items())
