"""`python -m bench floor`: no kernel in the log was ever faster than its floor. Exit status 1, loudly, where one was.

Every row whose graph is known is held against the time floor of that graph on the device it was measured on, ours and
peers' alike: they compute the same. Constants of a device come from --constants, from bench/devices/*.json, from what
was probed here, or are estimates, in this order; on estimates a row that is too fast is reported and fails just so,
since the estimate, or the floor, is then wrong.

`reach` is the share of the floor in the median time, `best reach` that in the time of the quickest call: the floor
holds at the best moment of the device, so that best is compared with best. Rows of states and devices are told apart,
and so are three classes: bound by *memory*, where memory binds the floor and the data exceeds the last cache twice; by
*arithmetic*, where a unit binds; *small*, the rest: of data that caches hold for the most part, the time is that of
starting threads and of first misses, and an output may not have left the cache when the call ends.

--page FILE writes the tables between the markers of a Markdown page, --plot FILE the whole distribution.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench import log
from bench.floor_programs import PROGRAMS
from bench.floor_programs import graph_of as program_graph
from tang_egg.cost.bound import least_time
from tang_egg.cost.device import MEMORY, Device
from tang_egg.cost.estimates import estimate
from tang_egg.cost.floor import traffic_floor
from tang_egg.cost.time import TimeFloor, said
from tang_egg.errors import TangError
from tang_egg.ir import Graph
from tang_egg.probe import read_devices
from tang_egg.probe_store import stored

DEVICES = Path(__file__).parent / "devices"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row beside its floor: the least time that was measured, and the floor of its graph."""

    row: log.Row
    seconds: float
    floor: TimeFloor
    large: bool = True

    @property
    def kind(self) -> str:
        """What the row is bound by: "memory", "arithmetic", or "small" where the time of memory cannot be seen."""
        what = self.floor.binding.what
        if what.startswith(("vector", "matrix")):
            return "arithmetic"
        return "memory" if what == MEMORY and self.large else "small"

    @property
    def state(self) -> str:
        return str(self.row.get("state") or "warm")

    @property
    def of_stream(self) -> float | None:
        """The share of a plain loop over the same bytes in the same run; None where none was timed."""
        found = self.row.get("of_stream")
        return None if found is None else float(found)

    @property
    def key(self) -> tuple[object, ...]:
        """What tells measurements from repetitions of them."""
        shape = tuple((self.row["shape"] or {}).items())
        return (*(self.row[k] for k in ("device", "suite", "program", "dtype", "system")), shape, self.state)

    @property
    def broken(self) -> bool:
        """Whether the row is faster than anything can be: a bug of the floor, of the constants or of the timing."""
        return self.seconds < self.floor.seconds

    @property
    def reach(self) -> float:
        """The share of the floor in the median time."""
        return self.floor.reach(1e-3 * float(self.row["median_ms"]))

    @property
    def best_reach(self) -> float | None:
        """The share of the floor in the time of the quickest call; None where the row does not keep that."""
        least = self.row.get("least_ms")
        return None if least is None else self.floor.reach(1e-3 * float(least))

    def text(self) -> str:
        """One line."""
        shape = " ".join(f"{k}={v}" for k, v in (self.row["shape"] or {}).items())
        kernel = f"{self.row['suite']}/{self.row['program']} {shape}"
        times = f"{said(self.seconds):>9} floor {said(self.floor.seconds):>9} by {self.floor.binding.what:12}"
        best = "" if self.best_reach is None else f", best {self.best_reach:4.2f}"
        return f"{kernel:58} {times} reach {self.reach:4.2f}{best}  {self.row['system']}"


def verdicts(rows: Iterable[log.Row], devices: Mapping[str, Device]) -> tuple[list[Verdict], dict[str, int]]:
    """A verdict for each row with a time and a known graph; and how many others there are, by the reason."""
    found: list[Verdict] = []
    left: dict[str, int] = {}
    for row in rows:
        seconds = row.get("least_ms") or row.get("median_ms")
        device = devices.get(str(row["device"]))
        if row.get("failed") or seconds is None:
            reason = "no time"
        elif row.get("approximate"):
            reason = "approximate: it computes something less"
        elif row["suite"] == "saturate":
            reason = "no kernel: times of saturation"
        elif device is None:
            reason = f"no constants of {row['device']}"
        else:
            key = (
                row["suite"],
                row["program"],
                tuple((row["shape"] or {}).items()),
                row["dtype"],
                row.get("state") or "warm",
            )
            floor = _floor(*key, device)
            if floor is not None:
                found.append(Verdict(row, 1e-3 * float(seconds), floor, _large(*key[:4], device)))
                continue
            reason = f"graphs of {row['suite']} are not known"
        left[reason] = left.get(reason, 0) + 1
    return found, left


@lru_cache(maxsize=4096)
def _floor(
    suite: str, program: str, shape: tuple[tuple[str, int], ...], dtype: str, state: str, device: Device
) -> TimeFloor | None:
    """The floor of what a row measured; None where its graph is not known. An average over sentences has none."""
    graph = graph_of(suite, program, dict(shape), dtype)
    if graph is None:
        return None
    levels = (MEMORY,) if suite == "minilm" else ()  # a large graph, for which one floor takes seconds
    products = {"f32": "tf32"} if dtype == "tf32" else None
    return least_time(graph, device, state=state, levels=levels, products=products)


TWICE = 2.0
"""Times the last cache that data must be to count as bound by memory."""


@lru_cache(maxsize=4096)
def _large(suite: str, program: str, shape: tuple[tuple[str, int], ...], dtype: str, device: Device) -> bool:
    """Whether what must be touched exceeds the last cache twice: less than half of it can have stayed there."""
    graph = graph_of(suite, program, dict(shape), dtype)
    caches = [x.total for x in device.levels if x.name not in ("registers", MEMORY)]
    return graph is not None and traffic_floor(graph, capacity=1 << 40).bytes >= TWICE * max(caches, default=0)


def newest(found: Iterable[Verdict]) -> list[Verdict]:
    """The last measurement of each kind, in the order in which they were first made."""
    return list({v.key: v for v in found}.values())


def graph_of(suite: str, program: str, shape: Mapping[str, int], dtype: str) -> Graph | None:
    """The graph that a row was measured on, its sizes bound; None where it is not known.

    An operator that is asked for in chunks is rewritten by algebra, by its peers too: the floor of the sums as they are
    written says nothing about it.
    """
    if (
        suite in ("floor.c", "floor.cuda", "grids")
        and program in PROGRAMS
        and set(PROGRAMS[program].sizes[0]) == set(shape)
    ):
        if PROGRAMS[program].dtype == dtype:
            return program_graph(program, shape)
    if suite.startswith("cuda.") or suite == "floor.cuda":
        from bench.cuda_cells import cells

        wanted = (program, dict(shape), dtype)
        fitting = (c for c in cells() if suite in (c.suite, "floor.cuda"))
        found = next((c for c in fitting if (c.program, dict(c.shape), c.dtype) == wanted), None)
        return found.graph() if found is not None and not found.chunk else None
    if suite == "cpu":
        from bench.cpu_programs import OPERATORS

        operator = OPERATORS.get(program)
        written = operator is not None and operator.chunk is None and dict(operator.sizes) == dict(shape)
        return operator.graph() if operator is not None and written else None
    if suite == "minilm" and "seq" in shape:
        from examples.minilm import encoder

        return encoder().bind(seq=shape["seq"])
    return None


def devices_of(names: Iterable[str], files: Sequence[Path] = ()) -> dict[str, Device]:
    """The constants of the devices that a log names: of a file, else of a probe here, else the estimate."""
    known = [d for f in files for d in read_devices(f)]
    known += [d for f in sorted(DEVICES.glob("*.json")) for d in read_devices(f)]
    known += stored()
    found: dict[str, Device] = {}
    for name in dict.fromkeys(names):
        model, _, cores = name.partition(", ")
        target = "c" if cores.endswith("cores") else "cuda"
        fitting = [d for d in known if d.target == target and d.name == model]
        if fitting:
            found[name] = fitting[0]
        elif target == "c" or model == estimate(target).name:
            found[name] = estimate(target)
    return found


def report(
    found: Sequence[Verdict], left: Mapping[str, int], devices: Mapping[str, Device], every: bool = False
) -> str:
    """The three rows of each suite with the highest reach, or every row; then those that break their floor."""
    lines = []
    for name, device in devices.items():
        how = "estimates, which prove nothing" if device.estimated else f"measured {device.when}, {device.driver}"
        lines.append(f"{name}: {how}")
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for v in found:
        groups.setdefault((str(v.row["suite"]), v.state), []).append(v)
    for (suite, state), some in groups.items():
        lines.append(f"{suite}, {state}: {len(some)} rows, reach {_range([v.reach for v in some])}")
        for kind in KINDS:
            own = [v for v in newest(some) if v.kind == kind]
            if own:
                beside = [v.of_stream for v in own if v.of_stream is not None]
                stream = f"; of a stream in the same run {_range(beside)}" if beside else ""
                quickest = [v.best_reach for v in own if v.best_reach is not None]
                best = f"; best reach {_range(quickest)}" if quickest else ""
                lines.append(f"  {kind}, the newest {len(own)}: reach {_range([v.reach for v in own])}{best}{stream}")
        ordered = sorted(some, key=lambda v: -v.reach)
        lines += [f"  {v.text()}" for v in (ordered if every else ordered[:3])]
    lines += [f"left out: {count} rows, {reason}" for reason, count in left.items()]
    broken = [v for v in found if v.broken]
    for v in broken:
        lines.append(f"FASTER THAN ITS FLOOR: {v.text()}")
        lines += [f"    {line}" for line in v.floor.text().splitlines()]
    lines.append(f"{len(found)} rows held against their floors, {len(broken)} faster than theirs")
    return "\n".join(lines)


KINDS = ("memory", "arithmetic", "small")


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}, median {statistics.median(values):.2f}"


def _measured(given: argparse.Namespace) -> Iterator[log.Row]:
    """The rows that are asked for, one at a time: a run that is stopped loses one case at most."""
    if given.measure:
        from bench import floor_measure

        yield from floor_measure.rows(given.seconds, given.only)
    if given.measure_cuda:
        from bench import floor_cuda

        yield from floor_cuda.rows(floor_cuda.gpu(), given.budget, given.only)


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench floor", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, default=log.FILE, metavar="FILE", help="(default: bench/log.jsonl)")
    parser.add_argument(
        "--constants", type=Path, action="append", default=[], metavar="FILE", help="of tang-doctor --probe --json"
    )
    parser.add_argument("--all", action="store_true", help="every row, not only the three nearest to their floors")
    parser.add_argument("--measure", action="store_true", help="first measure the suite floor.c and append its rows")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each state of each case (default: 0.5)")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases to measure")
    parser.add_argument("--measure-cuda", action="store_true", help="first measure the suite floor.cuda, likewise")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds for floor.cuda in all (default: 300)")
    parser.add_argument("--commit", metavar="TEXT", help="the commit of the tree, where git cannot tell")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the tables into this Markdown page")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the distribution as SVG or PNG")
    given = parser.parse_args(arguments)
    try:
        for row in _measured(given):
            log.append([row | ({"commit": given.commit} if given.commit else {})], given.log)
        known: list[dict[str, Any]] = log.read(given.log)
        devices = devices_of((str(r["device"]) for r in known), given.constants)
        found, left = verdicts(known, devices)
        if given.page or given.plot:
            from bench import floor_page, floor_plot

            if given.page:
                floor_page.write(given.page, newest(found), devices)
            if given.plot:
                floor_plot.write(given.plot, newest(found))
    except TangError as error:
        print(error, file=sys.stderr)
        return 1
    print(report(found, left, devices, given.all))
    return 1 if any(v.broken for v in found) else 0
