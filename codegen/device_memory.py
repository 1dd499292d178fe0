"""The shared memory of one block in the interpreter of launched kernels: tiles, barriers and what is under way.

Every asynchronous access is on a list from its issue until something orders it, so that an access which the hardware
may see too early or too late is an error here, whatever the order of this run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from tang_egg.codegen.device import Launch, Signal, Stage, TensorMap
from tang_egg.codegen.device_lane import Array, blank, round_tf32, typed
from tang_egg.errors import CodegenError


@dataclass(frozen=True, slots=True)
class Region:
    """Some lines of some boxes of one tile."""

    stage: Stage
    slot: int
    boxes: range
    lines: range

    def overlaps(self, other: Region) -> bool:
        return (
            self.stage.name == other.stage.name
            and self.slot == other.slot
            and max(self.boxes.start, other.boxes.start) < min(self.boxes.stop, other.boxes.stop)
            and max(self.lines.start, other.lines.start) < min(self.lines.stop, other.lines.stop)
        )

    def __str__(self) -> str:
        boxes, lines = self.boxes, self.lines
        return (
            f"slot {self.slot} of '{self.stage.name}', boxes {boxes.start}-{boxes.stop - 1}, "
            f"lines {lines.start}-{lines.stop - 1}"
        )


@dataclass(eq=False, slots=True)
class Access:
    """An access under way: `run` performs it, once."""

    region: Region
    who: str
    run: Callable[[], None]
    done: bool = False

    def perform(self) -> None:
        if not self.done:
            self.done = True
            self.run()


@dataclass(eq=False, slots=True)
class Stored:
    """What a warp group stored by ordinary stores, and whether a fence and then a meeting came after them."""

    region: Region
    who: str
    fenced: bool = False
    published: bool = False


@dataclass(eq=False, slots=True)
class Phases:
    """One barrier with phases: complete once all arrivals came and as many bytes as were expected."""

    signal: Signal
    slot: int
    completed: int = 0
    missing: int = field(init=False)
    bytes: int = 0

    def __post_init__(self) -> None:
        self.missing = self.signal.arrivals

    def passed(self, parity: int) -> bool:
        return (self.completed - 1) % 2 == parity

    def arrive(self, count: int) -> bool:
        """False if more arrive than the phase has arrivals left."""
        self.missing -= count
        if self.missing < 0:
            return False
        self.turn()
        return True

    def expect(self, bytes: int) -> None:
        """Adds to the bytes that the phase awaits; negative: so many came."""
        self.bytes += bytes
        self.turn()

    def turn(self) -> None:
        if self.missing == 0 and self.bytes == 0:
            self.completed += 1
            self.missing = self.signal.arrivals

    def state(self) -> str:
        return f"{self.missing} of {self.signal.arrivals} arrivals and {self.bytes} bytes are missing"


@dataclass(eq=False, slots=True)
class Meeting:
    """A named barrier."""

    threads: int
    arrived: int = 0
    rounds: int = 0


@dataclass(eq=False, slots=True)
class Wait:
    """What a warp group waits for, and how to say it."""

    ready: Callable[[], bool]
    text: Callable[[], str]


class Memory:
    """Shared memory and barriers of one block."""

    def __init__(self, launch: Launch, name: str, dims: dict[str, int]) -> None:
        self.name = name
        self.tiles = {s.name: blank((s.depth, s.boxes, s.lines, s.width), s.type) for s in launch.stages}
        self.plain = {b.name: blank((b.size.evaluate(dims),), b.type) for b in launch.shared}
        self.signals = {s.name: [Phases(s, n) for n in range(s.depth)] for s in launch.signals}
        self.meetings: dict[int, Meeting] = {}
        self.reads: list[Access] = []
        self.writes: list[Access] = []
        self.stored: list[Stored] = []

    def fault(self, what: str, who: str, mend: str) -> NoReturn:
        raise CodegenError(what, where=f"running a kernel: {who}", mend=mend)

    # -- hazards ------------------------------------------------------------------------------------------------------

    def writable(self, region: Region, who: str, what: str) -> None:
        """No product and no copy may be under way in a region that is written."""
        for r in self.reads:
            if r.region.overlaps(region):
                self.fault(
                    f"{what} writes {region}, which {r.who} still reads",
                    who,
                    "wait for the product (MmaWait) or drain the copy (CopyDrain) before the tile is handed back",
                )
        self.settled(region, who, f"{what} writes")

    def settled(self, region: Region, who: str, what: str) -> None:
        """No copy may be on its way into a region."""
        for w in self.writes:
            if w.region.overlaps(region):
                self.fault(
                    f"{what} {region}, into which {w.who} still copies", who, "await the signal of the copy first"
                )

    def visible(self, region: Region, who: str, what: str) -> None:
        """Ordinary stores to a region must be fenced and met before products and bulk copies read it."""
        self.settled(region, who, f"{what} reads")
        for s in self.stored:
            if s.region.overlaps(region) and not s.published:
                missing = "a Sync or Arrive after its ProxyFence" if s.fenced else "a ProxyFence and then a Sync"
                self.fault(
                    f"{what} reads {region}, which {s.who} stored without {missing}",
                    who,
                    "fence the stores by every thread that made them, then let the threads meet",
                )

    def store(self, region: Region, who: str) -> None:
        self.writable(region, who, "StoreTile")
        self.stored.append(Stored(region, who))

    def fence(self, who: str) -> None:
        for s in self.stored:
            s.fenced |= s.who == who

    def publish(self, who: str) -> None:
        for s in self.stored:
            s.published |= s.who == who and s.fenced

    def overwrite(self, region: Region) -> None:
        """A bulk copy replaces what was stored."""
        self.stored = [s for s in self.stored if not s.region.overlaps(region)]

    # -- named barriers -----------------------------------------------------------------------------------------------

    def meet(self, id: int, threads: int, count: int, who: str) -> tuple[Meeting, int]:
        """`count` threads come to a named barrier: the barrier, and the round in which they wait."""
        m = self.meetings.setdefault(id, Meeting(threads))
        if m.arrived == 0:
            m.threads = threads
        if m.threads != threads or m.arrived + count > threads:
            self.fault(
                f"{m.arrived} + {count} of {m.threads} threads at barrier {id}, which {who} takes for {threads}",
                who,
                "give all that meet at one barrier the same number of threads, and each round its own threads",
            )
        m.arrived += count
        here = m.rounds
        if m.arrived == threads:
            m.arrived, m.rounds = 0, m.rounds + 1
        return m, here


def _cut(map: TensorMap, dims: dict[str, int], at: tuple[int, ...]) -> tuple[tuple[int, ...], Any, Any]:
    """The extents, and the parts of the array and of the box that a copy at coordinates `at` moves."""
    extents = tuple(e.evaluate(dims) for e in map.extents)
    low = [max(0, a) for a in at]
    high = [max(lo, min(e, a + b)) for lo, e, a, b in zip(low, extents, at, map.box, strict=True)]
    outer = tuple(slice(lo, hi) for lo, hi in zip(low, high, strict=True))
    inner = tuple(slice(lo - a, hi - a) for lo, hi, a in zip(low, high, at, strict=True))
    return extents, outer, inner


def _view(array: Array, extents: tuple[int, ...]) -> Array:
    return array[: int(np.prod(extents))].reshape(extents)


def read_box(map: TensorMap, array: Array, dims: dict[str, int], at: tuple[int, ...]) -> Array:
    """The box of a map at coordinates `at`, as lines; zeros beyond the extents."""
    extents, outer, inner = _cut(map, dims, at)
    box = np.zeros(map.box, np.float32 if array.dtype.kind == "f" else array.dtype)
    if all(s.start < s.stop for s in outer):
        box[inner] = _view(array, extents)[outer]
    lines = box.reshape(-1, map.box[-1])
    return round_tf32(lines, nearest=True) if map.rounds else lines


def write_box(map: TensorMap, array: Array, dims: dict[str, int], at: tuple[int, ...], lines: Array) -> None:
    """Writes lines to the box of a map at coordinates `at`, as far as it lies inside the extents."""
    extents, outer, inner = _cut(map, dims, at)
    if all(s.start < s.stop for s in outer):
        _view(array, extents)[outer] = typed(lines, map.buffer.type).reshape(map.box)[inner]
