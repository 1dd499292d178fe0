"""The time floor: what no implementation of some work on a device can undercut, and which resource says so.

    floor = launches · launch + max over terms of
              latency + bytes / bandwidth        for each level of memory, at what it allows that mix of directions
              operations / peak                  for each kind of operation
              ⌈groups / slots⌉ · latency         for one fixed schedule only

A maximum and no sum: everything may overlap. Constants are taken at their favourable end (see device). What a device
does not tell leaves its term out, which makes the floor lower and never wrong.

The bytes of a level are those that must cross into everything faster: compulsory traffic, or the traffic floor of a
kernel for the capacity `Device.faster_than(level)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tang_egg import ops
from tang_egg.cost.device import Device, DeviceError, Level, Traffic, Unit

WIDTHS = dict(ops.BYTES) | {"tf32": 4, "fp8": 1}
"""Bytes of an operand, by its type."""


@dataclass(frozen=True, slots=True)
class Work:
    """Operations on operands of one type, a multiplication and an addition being two.

    `product`: they are sums of products, which a matrix unit may run.
    """

    operand: str
    operations: float
    product: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """One bound: seconds beside the launch, what binds (a level, a unit, or "rounds") and how it was computed."""

    what: str
    seconds: float
    text: str


@dataclass(frozen=True, slots=True)
class TimeFloor:
    """Seconds that some work takes at least. `fixed`: one schedule's only; it must not rule out any other.

    `proves`: whether every constant was measured or stated for this device. A floor on estimates orders, no more.
    """

    launch: float
    terms: tuple[Term, ...]
    fixed: bool = False
    proves: bool = True
    conditions: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The floor."""
        return self.launch + max((t.seconds for t in self.terms), default=0.0)

    @property
    def binding(self) -> Term:
        """The term that says so: the largest, or the launch where it is larger than all others."""
        own = Term("launch", self.launch, f"launch {said(self.launch)}")
        return max((own, *self.terms), key=lambda t: t.seconds)

    def reach(self, seconds: float) -> float:
        """The share of a measured time that is floor: 1 where nothing could be faster."""
        return self.seconds / seconds if seconds > 0 else math.inf

    def text(self) -> str:
        """The floor, its terms from the largest on, and the conditions, one a line."""
        lines = [f"floor {said(self.seconds)}: launch {said(self.launch)} + {self.binding.what}"]
        lines += [f"  {t.what:14}{said(t.seconds):>10}  {t.text}" for t in sorted(self.terms, key=lambda t: -t.seconds)]
        return "\n".join([*lines, *(f"  holds where {c}" for c in self.conditions)])

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "seconds": self.seconds, "launch": self.launch, "binding": self.binding.what, "fixed": self.fixed,
            "proves": self.proves, "conditions": list(self.conditions),
            "terms": [{"what": t.what, "seconds": t.seconds, "text": t.text} for t in self.terms],
        }  # fmt: skip


def time_floor(
    device: Device, traffic: Mapping[str, float | Traffic], work: Iterable[Work] = (), launches: int = 1
) -> TimeFloor:
    """The floor of some work: `traffic` in bytes by level, launched `launches` times one after another.

    Bytes of which no direction is said go in the quickest.

    Raises DeviceError for a level that the device lacks and for amounts that are no numbers from 0 on.
    """
    terms: list[Term] = []
    for name, count in traffic.items():
        level = device.level(name)
        moved = count if isinstance(count, Traffic) else Traffic(count)
        if max(_amount(x, f"bytes of {name}") for x in (moved.total, moved.read, moved.written)) > 0 < level.ceiling:
            terms.append(_level_term(level, moved))
    for kind in _summed(work):
        peak = fastest(device, kind)
        if peak is not None and kind.operations > 0:
            unit, rate = peak
            seconds = kind.operations / rate
            text = f"{amount(kind.operations)} operations at {amount(rate)}/s"
            terms.append(Term(unit.name, seconds, text))
    if not (isinstance(launches, int) and launches >= 0):
        raise _no_amount("launches", launches)
    conditions = ["the work is done as the terms are written, with recomputation but without other algebra"]
    if any(t.what.startswith("matrix") for t in terms):
        conditions.append("no product is shared out between matrix units and vector units")
    if device.estimated:
        conditions.append("the estimates shipped for this class of machines hold: `tang-doctor --probe` measures them")
    return TimeFloor(launches * device.launch.least, tuple(terms), False, not device.estimated, tuple(conditions))


def for_schedule(floor: TimeFloor, device: Device, groups: int, slots: int = 0) -> TimeFloor:
    """The floor of one schedule that starts `groups` groups, of which the device holds `slots` at once.

    Each round of groups waits at least for one access that a cache answers. It prunes this schedule only: another one
    may start fewer groups.
    """
    resident = slots or device.slots
    if groups < 0 or resident < 1:
        raise _no_amount("groups or slots", min(groups, resident))
    hit = min((x.least_latency for x in device.levels if x.least_latency > 0), default=0.0)
    rounds = -(-groups // resident)
    term = Term("rounds", rounds * hit, f"⌈{groups} / {resident}⌉ rounds of {said(hit)}")
    return replace(floor, terms=(*floor.terms, term), fixed=True)


def fastest(device: Device, work: Work) -> tuple[Unit, float] | None:
    """The unit that runs some work soonest, and operations per second that it never exceeds; None where unknown.

    A unit of wider operands stands for one that is not listed at the rate of as many more lanes.
    """
    best: tuple[Unit, float] | None = None
    for unit in device.units_for(work.operand, work.product):
        more = max(1.0, WIDTHS[unit.operand] / WIDTHS[work.operand])
        rate = unit.rate.ceiling * more
        if rate > 0 and (best is None or rate > best[1]):
            best = (unit, rate)
    return best


def _level_term(level: Level, moved: Traffic) -> Term:
    latency, seconds = level.least_latency, level.seconds(moved.read, moved.written, moved.total)
    total = max(moved.total, moved.read + moved.written)
    read = f", {amount(moved.read)}B of them read," if moved.read else ""
    text = f"{amount(total)}B{read} at {amount(total / seconds if seconds else level.ceiling)}B/s after {said(latency)}"
    return Term(level.name, latency + seconds, text)


def _summed(work: Iterable[Work]) -> list[Work]:
    """Work of equal kind added up."""
    total: dict[tuple[str, bool], float] = {}
    for w in work:
        if w.operand not in WIDTHS:
            raise DeviceError(
                f"operands of type '{w.operand}' are not known", where="time_floor", mend=f"one of {', '.join(WIDTHS)}"
            )
        key = (w.operand, w.product)
        total[key] = total.get(key, 0.0) + _amount(w.operations, f"operations on {w.operand}")
    return [Work(operand, count, product) for (operand, product), count in total.items()]


def _amount(count: float, what: str) -> float:
    if isinstance(count, bool) or not isinstance(count, (int, float)) or not (math.isfinite(count) and count >= 0):
        raise _no_amount(what, count)
    return float(count)


def _no_amount(what: str, count: object) -> DeviceError:
    return DeviceError(f"{count!r} is no amount", where=what, mend="give a finite number from 0 on")


_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def amount(x: float) -> str:
    """A count in three digits with a prefix, a space before it: 4.8 T."""
    for factor, prefix in _PREFIXES:
        if x >= factor:
            return f"{x / factor:.3g} {prefix}"
    return f"{x:.3g} "


def said(seconds: float) -> str:
    """A time in three digits with its unit; `unknown` where infinite."""
    if seconds == math.inf:
        return "unknown"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
