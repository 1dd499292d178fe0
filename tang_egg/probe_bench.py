"""What a target offers to be measured, and how figures are made of it: rounds over everything in turns.

A round takes one sample of every figure, so that a busy moment of the machine harms a few samples of each and not all
samples of one. There are at least LEAST rounds, then as many as time allows. A figure that cannot be taken is reported
with its reason and left out; floors and models do without it.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tang_egg.cost.device import UNKNOWN, Device, Figure, Level, Unit
from tang_egg.progress import note

LEAST, MOST = 3, 101
"""Rounds of a probe."""
TIMES = ("launch", "team", "barrier", "latency", "hop")
"""Figures that are seconds: the least is the best. All others are rates."""

Sample = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Place:
    """A level of memory before it is measured: its name, the bytes of one copy, and how many copies there are."""

    name: str
    capacity: int
    instances: int = 1


@dataclass(slots=True)
class Bench:
    """A device that is ready to be measured.

    `samples` take one measurement of a figure each, by the names of Device.figures: "launch", "L1 read",
    "vector f32". `best_only` are further ways to the same figure that count for its best only: stores that pass by the
    caches show what memory can do, and not what kernels do. `clock` takes a sample of the frequency in Hz, of which the
    highest is kept; `stated` gives the rates that width and that clock allow. `missing`: why a figure cannot be taken.
    `close` gives memory back. `host`: the device is the processor itself, driven by another compiler.
    """

    name: str
    target: str
    driver: str
    workers: int
    slots: int
    places: tuple[Place, ...]
    units: tuple[tuple[str, bool], ...]
    samples: dict[str, Sample]
    best_only: dict[str, Sample] = field(default_factory=dict)
    clock: Sample = lambda: 0.0
    stated: Callable[[float], Mapping[str, float]] = lambda clock: {}
    missing: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    close: Callable[[], object] = lambda: None
    host: bool = False


@dataclass(frozen=True, slots=True)
class Probed:
    """A measured device, and the figures that could not be taken with the reason for each."""

    device: Device
    missing: Mapping[str, str]
    rounds: int
    seconds: float


def measure(bench: Bench, seconds: float, clock: Callable[[], float] = time.perf_counter) -> Probed:
    """Measures a device for about `seconds`, at least LEAST rounds; memory is given back in any case."""
    missing = dict(bench.missing)
    taken: dict[str, list[float]] = {name: [] for name in bench.samples}
    extra: dict[str, list[float]] = {name: [] for name in bench.best_only}
    start = clock()
    rounds, fastest = 0, 0.0
    try:
        while rounds < LEAST or (rounds < MOST and clock() - start < seconds):
            note("measure", rounds, max(LEAST, rounds + 1))
            for kept, ways in ((taken, bench.samples), (extra, bench.best_only)):
                for name, sample in ways.items():
                    if name not in missing:
                        _take(name, sample, kept[name], missing)
            fastest = max(fastest, bench.clock())
            rounds += 1
    finally:
        bench.close()
    stated = bench.stated(fastest)
    names = dict.fromkeys((*taken, *stated))
    figures = {n: figure(n, taken.get(n, ()), extra.get(n, ()), stated.get(n, 0.0)) for n in names}
    return Probed(_device(bench, figures, fastest), missing, rounds, clock() - start)


def _take(name: str, sample: Sample, kept: list[float], missing: dict[str, str]) -> None:
    try:
        value = sample()
    except Exception as error:  # a driver may raise anything: this figure goes, the others stay
        missing[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        kept.clear()
        return
    if math.isfinite(value) and value > 0:
        kept.append(value)


def figure(name: str, values: Sequence[float], extra: Sequence[float] = (), stated: float = 0.0) -> Figure:
    """A figure of some samples: median, best, median distance from the median, drift between the halves."""
    if not values:
        return replace(UNKNOWN, stated=stated)
    middle = statistics.median(values)
    spread = statistics.median(abs(v - middle) for v in values) / middle
    half = len(values) // 2
    drift = abs(statistics.median(values[:half]) - statistics.median(values[half:])) / middle if half else 0.0
    best = (min if name.split()[-1] in TIMES else max)((*values, *extra))
    return Figure(middle, best, stated, spread, drift, len(values))


def _device(bench: Bench, figures: Mapping[str, Figure], clock: float) -> Device:
    def of(name: str) -> Figure:
        return figures.get(name, UNKNOWN)

    levels = tuple(
        Level(
            p.name,
            p.capacity,
            p.instances,
            **{w: of(f"{p.name} {w}") for w in ("latency", "hop", "read", "write", "copy")},
        )
        for p in bench.places
    )
    units = tuple(
        Unit(operand, matrix, of(f"{'matrix' if matrix else 'vector'} {operand}")) for operand, matrix in bench.units
    )
    return Device(
        bench.name, bench.target, bench.driver, bench.workers, bench.slots, of("launch"), levels,
        tuple(u for u in units if u.rate.ceiling > 0), of("team"), of("barrier"), clock,
        datetime.now(UTC).isoformat(timespec="seconds"), bench.notes,
    )  # fmt: skip
