"""The constants of a device: what launches, accesses, transfers and operations cost on it, and how that is known.

    device ::= name, target, driver, workers, slots, launch, barrier, levels, units
    level  ::= name, capacity, instances, latency, read, write, copy, hop    nearest the arithmetic first, memory last
    unit   ::= operand, matrix, rate                                         operations per second of one kind
    figure ::= value, best, stated, spread, drift, runs, origin

A figure has two readings. Models take `value`, the median of what was measured. Floors take the favourable end, so that
nothing can be faster: `Figure.ceiling` of a rate is the larger of the best that was measured and what width times clock
would give (`stated`); `Figure.least` of a time is the smallest that was measured.

`origin` says where a figure comes from: "measured" on this device; "stated" by the system or the driver; "estimate" for
the constants shipped here, which describe a class of machines and prove nothing about the one at hand.

All times are seconds, rates bytes or operations per second of the whole device, capacities bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from tang_egg.errors import TangError

FORMAT = 1
"""Of the JSON form; other formats are refused."""
ORIGINS = ("measured", "stated", "estimate")
MEMORY = "memory"
"""The name of the last level of every device."""


class DeviceError(TangError):
    """Constants of a device that cannot be read or used."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One constant: median and best of `runs` measurements.

    `spread`: the median distance from the median, over the median. `drift`: how far the medians of the first and the
    second half of the runs lie apart, over the median. `stated`: what width and clock allow, 0 where nobody says.
    """

    value: float
    best: float = 0.0
    stated: float = 0.0
    spread: float = 0.0
    drift: float = 0.0
    runs: int = 0
    origin: str = "measured"

    @property
    def ceiling(self) -> float:
        """What a rate never exceeds, as far as is known: a measured peak is itself only below the true one."""
        return max(self.value, self.best, self.stated)

    @property
    def least(self) -> float:
        """What a time never falls below, as far as is known."""
        return min(self.value, self.best) if self.best > 0 else self.value


UNKNOWN = Figure(0.0, origin="stated")
"""A figure that nobody gave. Floors leave out what rests on it, models too."""


@dataclass(frozen=True, slots=True)
class Level:
    """A level of memory: `instances` copies of `capacity` bytes (0 for memory: without limit).

    latency: seconds of one access that depends on the one before, at random places. `hop`: the same where the next
    place lies on the same page, so that only the level is paid and no translation. read, write, copy: bytes per second
    of all workers together; a copy counts what is read and what is written.
    """

    name: str
    capacity: int
    instances: int = 1
    latency: Figure = UNKNOWN
    hop: Figure = UNKNOWN
    read: Figure = UNKNOWN
    write: Figure = UNKNOWN
    copy: Figure = UNKNOWN

    @property
    def total(self) -> int:
        """Bytes of all copies."""
        return self.capacity * self.instances

    @property
    def ceiling(self) -> float:
        """Bytes per second, in either direction, that no kernel exceeds; 0 where unknown."""
        return max(self.read.ceiling, self.write.ceiling, self.copy.ceiling)

    @property
    def read_ceiling(self) -> float:
        """Bytes per second that no kernel reads faster; a copy reads half of what it moves. 0 where unknown."""
        return max(self.read.ceiling, self.copy.ceiling / 2)

    @property
    def mixes(self) -> tuple[float, float, float] | None:
        """Bytes per second that reads alone, writes alone, and each direction of a copy never exceed; None if unknown.

        What time sharing and leaving out one direction make of any two of them is counted as reached: figures of
        different moments may contradict each other.
        """
        read, write, each = self.read.ceiling, self.write.ceiling, self.copy.ceiling / 2
        if min(read, write, each) <= 0:
            return None
        read, write = max(read, each), max(write, each)
        return read, write, max(each, read * write / (read + write))

    def seconds(self, read: float, written: float, total: float = 0.0) -> float:
        """Seconds that it takes at least to read and write so many bytes, `total` in all; 0 where rates are unknown.

        What is beyond `read` and `written` goes in the direction that is quickest. See docs/device.md for why the
        three measured mixes bound all others.
        """
        if self.ceiling <= 0:
            return 0.0
        total = max(total, read + written)
        if self.mixes is None:
            return max(total / self.ceiling, read / self.read_ceiling)
        corners = [read, total - written]
        for r, w in _corners(*self.mixes):
            corners.append(min(max(total * r / (r + w), read), total - written))
        return min(_mixed(r, total - r, *self.mixes) for r in corners)

    @property
    def rate(self) -> float:
        """Bytes per second that a kernel that reads and writes may expect; 0 where unknown."""
        return self.copy.value or self.read.value or self.write.value

    @property
    def least_latency(self) -> float:
        """Seconds before the first byte arrives, at least; 0 where unknown."""
        known = [f.least for f in (self.latency, self.hop) if f.least > 0]
        return min(known, default=0.0)


def _mixed(r: float, w: float, read: float, write: float, each: float) -> float:
    """Seconds for r bytes read and w written: the gauge of the least region that the three mixes are known to bound.

    On the side of reads it ends at `read`, at `each` for writes, and at the line from `write` alone through the copy:
    a mix beyond that line would, sharing time with writes, copy faster than a copy. The other side is its mirror.
    """
    if w > r:
        r, w, read, write = w, r, write, read
    return max(r / read, w / each, r * (write - each) / (each * write) + w / write)


def _corners(read: float, write: float, each: float) -> tuple[tuple[float, float], ...]:
    """The mixes at which that region has a corner, as bytes per second read and written."""
    right = max(0.0, write - read * (write - each) / each)
    left = max(0.0, read - write * (read - each) / each)
    return (each, each), (read, min(right, each)), (min(left, each), write)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that cross a boundary at least: in all, and of these read and written."""

    total: float
    read: float = 0.0
    written: float = 0.0


@dataclass(frozen=True, slots=True)
class Unit:
    """An arithmetic unit: `rate` in operations per second on operands of one type, a fused multiply-add being two.

    `matrix`: it computes products of matrices only.
    """

    operand: str
    matrix: bool
    rate: Figure

    @property
    def name(self) -> str:
        """As in tables: matrix bf16, vector f32."""
        return f"{'matrix' if self.matrix else 'vector'} {self.operand}"


@dataclass(frozen=True, slots=True)
class Device:
    """See the module text. `workers`: cores or processors; `slots`: groups resident at once on all of them.

    `clock`: the highest frequency known, in Hz. `launch`: the least between asking for an empty kernel and its end, in
    a series of them. `team`: what it costs beyond that to run on all workers. `barrier`: one wait of a group.
    """

    name: str
    target: str
    driver: str
    workers: int
    slots: int
    launch: Figure
    levels: tuple[Level, ...]
    units: tuple[Unit, ...]
    team: Figure = UNKNOWN
    barrier: Figure = UNKNOWN
    clock: float = 0.0
    when: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def estimated(self) -> bool:
        """Whether some figure describes a class of machines and not this one."""
        return any(f.origin == "estimate" for _, f in self.figures())

    def level(self, name: str) -> Level:
        """A level by its name. Raises DeviceError for an unknown one."""
        for level in self.levels:
            if level.name == name:
                return level
        raise DeviceError(
            f"the device has no level '{name}'",
            where=f"{self.name}, target {self.target}",
            mend=f"one of {', '.join(x.name for x in self.levels)}",
        )

    def faster_than(self, name: str) -> int:
        """Bytes of everything faster than a level: the S of its traffic floor."""
        before = self.levels[: self.levels.index(self.level(name))]
        return sum(level.total for level in before)

    def units_for(self, operand: str, product: bool) -> tuple[Unit, ...]:
        """The units that can run operations on operands of a type; those of matrices only run sums of products.

        Where no unit has the type, those that are wider serve: an f16 sum runs on an f32 unit.
        """
        for kind in (operand, *_WIDER.get(operand, ())):
            found = tuple(u for u in self.units if u.operand == kind and (product or not u.matrix))
            if found:
                return found
        return ()

    def figures(self) -> Iterable[tuple[str, Figure]]:
        """Every figure with what it is called in tables."""
        yield from (("launch", self.launch), ("team", self.team), ("barrier", self.barrier))
        for level in self.levels:
            for what in ("latency", "hop", "read", "write", "copy"):
                yield f"{level.name} {what}", getattr(level, what)
        yield from ((u.name, u.rate) for u in self.units)

    def data(self) -> dict[str, Any]:
        """As plain data; `device_of` reads it back."""
        return {"format": FORMAT, **_plain(self)}


_WIDER: Mapping[str, tuple[str, ...]] = {
    "f16": ("f32",), "bf16": ("f32",), "tf32": ("f32",), "fp8": ("f16", "f32"), "i8": ("i32", "f32"),
    "f8e4m3": ("fp8", "f16", "f32"), "f8e5m2": ("fp8", "f16", "f32"),
    "u8": ("i32", "f32"),
    "bool": ("i32", "f32"), "i16": ("i32", "f32"), "u16": ("i32", "f32"), "i32": ("f32",), "u32": ("i32", "f32"),
    "i64": ("f64",), "u64": ("f64",),
}  # fmt: skip
"""Units of wider operands that stand for a type which a device does not name: their rate times the ratio of widths."""


def merged(old: Device, new: Device) -> Device:
    """`new`, with the best of both wherever both were measured: floors get surer with every probe.

    The better of two measured peaks is the nearer to the true one, since both lie below it.
    """
    times = {"launch", "team", "barrier", "latency", "hop"}

    def better(name: str, before: Figure, after: Figure) -> Figure:
        if "measured" not in (before.origin, after.origin) or before.best <= 0 or before.origin != "measured":
            return after
        if after.best <= 0:
            return before
        return replace(after, best=(min if name in times else max)(before.best, after.best))

    levels = []
    for level in new.levels:
        twin = next((x for x in old.levels if x.name == level.name), None)
        if twin is not None:
            kept = {w: better(w, getattr(twin, w), getattr(level, w)) for w in _LEVEL_FIGURES}
            level = Level(level.name, level.capacity, level.instances, **kept)
        levels.append(level)
    rates = {(u.operand, u.matrix): u.rate for u in old.units}
    units = [
        replace(u, rate=better("rate", rates[u.operand, u.matrix], u.rate)) if (u.operand, u.matrix) in rates else u
        for u in new.units
    ]
    launch, team, barrier = (better(w, getattr(old, w), getattr(new, w)) for w in ("launch", "team", "barrier"))
    return replace(
        new, levels=tuple(levels), units=tuple(units), clock=max(old.clock, new.clock), launch=launch, team=team,
        barrier=barrier,
    )  # fmt: skip


_LEVEL_FIGURES = ("latency", "hop", "read", "write", "copy")


def _plain(x: Any) -> Any:
    if isinstance(x, tuple):
        return [_plain(y) for y in x]
    if isinstance(x, (Device, Level, Unit, Figure)):
        return {f.name: _plain(getattr(x, f.name)) for f in fields(x)}
    return x


def device_of(data: object) -> Device:
    """The device that `Device.data` wrote, every field checked. Raises DeviceError, naming the one that is wrong."""
    found = _fields(data, "the record", {f.name for f in fields(Device)} | {"format"})
    if found["format"] != FORMAT:
        raise _wrong("the record", f"format {found['format']!r} and not {FORMAT}")
    texts = {n: _text(found[n], n) for n in ("name", "target", "driver", "when")}
    levels = tuple(_level(x, f"levels[{n}]") for n, x in enumerate(_list(found["levels"], "levels")))
    units = tuple(_unit(x, f"units[{n}]") for n, x in enumerate(_list(found["units"], "units")))
    if not levels or levels[-1].name != MEMORY:
        raise _wrong("levels", f"the last one is not '{MEMORY}'")
    return Device(
        **texts, workers=_count(found["workers"], "workers", 1), slots=_count(found["slots"], "slots", 1),
        launch=_figure(found["launch"], "launch"), team=_figure(found["team"], "team"),
        barrier=_figure(found["barrier"], "barrier"), levels=levels, units=units,
        clock=_number(found["clock"], "clock"),
        notes=tuple(_text(x, "notes") for x in _list(found["notes"], "notes")),
    )  # fmt: skip


def _level(data: object, where: str) -> Level:
    found = _fields(data, where, {f.name for f in fields(Level)})
    figures = {w: _figure(found[w], f"{where}.{w}") for w in _LEVEL_FIGURES}
    return Level(
        _text(found["name"], f"{where}.name"), _count(found["capacity"], f"{where}.capacity", 0),
        _count(found["instances"], f"{where}.instances", 1), **figures,
    )  # fmt: skip


def _unit(data: object, where: str) -> Unit:
    found = _fields(data, where, {f.name for f in fields(Unit)})
    if not isinstance(found["matrix"], bool):
        raise _wrong(f"{where}.matrix", f"{found['matrix']!r} is neither true nor false")
    return Unit(_text(found["operand"], f"{where}.operand"), found["matrix"], _figure(found["rate"], f"{where}.rate"))


def _figure(data: object, where: str) -> Figure:
    found = _fields(data, where, {f.name for f in fields(Figure)})
    if found["origin"] not in ORIGINS:
        raise _wrong(f"{where}.origin", f"{found['origin']!r} is none of {', '.join(ORIGINS)}")
    values = {n: _number(found[n], f"{where}.{n}") for n in ("value", "best", "stated", "spread", "drift")}
    return Figure(**values, runs=_count(found["runs"], f"{where}.runs", 0), origin=str(found["origin"]))


def _fields(data: object, where: str, names: set[str]) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise _wrong(where, "no object")
    if data.keys() != names:
        odd = ", ".join(sorted(map(str, data.keys() ^ names)))
        raise _wrong(where, f"missing or unknown: {odd}")
    return data


def _list(x: object, where: str) -> list[object]:
    if not isinstance(x, list):
        raise _wrong(where, "no list")
    return x


def _text(x: object, where: str) -> str:
    if not isinstance(x, str):
        raise _wrong(where, f"{x!r} is no text")
    return x


def _count(x: object, where: str, least: int) -> int:
    if not isinstance(x, int) or isinstance(x, bool) or not least <= x < 1 << 60:
        raise _wrong(where, f"{x!r} is no integer from {least} on")
    return x


def _number(x: object, where: str) -> float:
    if not isinstance(x, (int, float)) or isinstance(x, bool) or not (math.isfinite(x) and x >= 0):
        raise _wrong(where, f"{x!r} is no number from 0 on")
    return float(x)


def _wrong(where: str, text: str) -> DeviceError:
    return DeviceError(
        f"the constants of a device cannot be read: {text}", where=where, mend="measure anew: tang-doctor --probe"
    )
