"""What a warp group does with barriers, bulk copies and counters, in the interpreter of launched kernels."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tang_egg.codegen import device as d
from tang_egg.codegen.device_lane import Array, Lanes
from tang_egg.codegen.device_memory import Access, Memory, Phases, Region, Wait, read_box, write_box
from tang_egg.codegen.kernel import Barrier, Expr, Stmt

if TYPE_CHECKING:
    from tang_egg.codegen.device_run import Machine


class Copies(Lanes):
    """A warp group (or the one thread of a `single` role), its copies out, and what it waits for."""

    machine: Machine
    shared: Memory
    block: int

    def __init__(self, who: str, width: int, values: dict[str, Any], memory: dict[str, Array]) -> None:
        super().__init__(who, width, values, memory)
        self.leaving: dict[int, list[list[Access]]] = {}  # by thread: committed copies out, then the open group

    def ended(self) -> None:
        if any(group for groups in self.leaving.values() for group in groups):
            self.fault("a copy out that was never drained", "end the role with CopyDrain(0)")

    # -- who runs a statement -----------------------------------------------------------------------------------------

    def one(self, what: str) -> int:
        on = np.flatnonzero(self.active())
        if len(on) != 1:
            self.fault(f"{what} issued by {len(on)} threads", "let one thread issue it")
        return int(on[0])

    def whole(self, what: str) -> None:
        if self.width != d.GROUP or self.mask is not None:
            self.fault(f"{what} by some threads of a warp group", "let the whole warp group run it")

    # -- barriers -----------------------------------------------------------------------------------------------------

    def phases(self, signal: d.Signal, slot: Expr) -> Phases:
        n = self.uniform(slot, f"a slot of '{signal.name}'")
        if not 0 <= n < signal.depth:
            self.fault(f"slot {n} of '{signal.name}', which has {signal.depth}")
        return self.shared.signals[signal.name][n]

    def arrive(self, phases: Phases, count: int) -> None:
        self.shared.publish(self.who)
        if not phases.arrive(count):
            self.fault(
                f"{-phases.missing} arrivals too many in a phase of '{phases.signal.name}' slot {phases.slot}",
                "give the signal as many arrivals as come in each phase",
            )

    def on_expect(self, s: d.Expect) -> None:
        self.one("Expect")
        phases = self.phases(s.signal, s.slot)
        phases.bytes += s.bytes
        self.arrive(phases, 1)

    def on_arrive(self, s: d.Arrive) -> None:
        step = {"thread": 1, "warp": 32, "group": d.GROUP}[s.who]
        count = int(self.active()[::step].sum())
        if count:
            self.arrive(self.phases(s.signal, s.slot), count)

    def on_await(self, s: d.Await) -> Wait:
        phases = self.phases(s.signal, s.slot)
        parity = self.uniform(s.parity, "a parity")
        if parity not in (0, 1):
            self.fault(f"parity {parity}", "give 0 or 1")
        text = f"parity {parity} of '{s.signal.name}' slot {phases.slot}"
        return Wait(partial(phases.passed, parity), lambda: f"{text} ({phases.state()})")

    def on_sync(self, s: d.Sync | d.Announce | Barrier) -> Wait | None:
        self.whole(type(s).__name__)
        id, threads = (0, self.machine.launch.threads) if isinstance(s, Barrier) else (-1, s.threads)
        if not isinstance(s, Barrier):
            id = self.uniform(s.id, "a barrier")
            if not 1 <= id <= 15:
                self.fault(f"barrier {id}", "number barriers from 1 to 15")
        self.shared.publish(self.who)
        meeting, here = self.shared.meet(id, threads, self.width, self.who)
        if isinstance(s, d.Announce):
            return None
        return Wait(
            lambda: meeting.rounds > here,
            lambda: f"barrier {id} ({meeting.arrived} of {meeting.threads} threads are there)",
        )

    def on_nothing(self, s: Stmt) -> None:
        pass

    # -- bulk copies --------------------------------------------------------------------------------------------------

    def region(self, stage: d.Stage, slot: int, boxes: range, lines: range, what: str) -> Region:
        fits = 0 <= slot < stage.depth and boxes.start >= 0 and boxes.stop <= stage.boxes
        region = Region(stage, slot, boxes, lines)
        if not (fits and lines.start >= 0 and lines.stop <= stage.lines):
            self.fault(f"{what} takes {region}, which has {stage.depth} slots of {stage.boxes} x {stage.lines} lines")
        return region

    def on_copy_in(self, s: d.CopyIn) -> None:
        self.one("CopyIn")
        slot = self.uniform(s.slot, "a slot")
        region = self.region(s.stage, slot, range(s.box, s.box + 1), range(s.stage.lines), "CopyIn")
        at = tuple(self.uniform(x, "a coordinate") for x in s.at)
        self.shared.writable(region, self.who, "CopyIn")
        phases, source = self.phases(s.signal, s.signal_slot), self.find(s.map.buffer)

        def land() -> None:
            self.shared.writes.remove(access)
            self.shared.writable(region, self.who, "CopyIn")
            self.shared.overwrite(region)
            lines = read_box(s.map, source, self.machine.dims, at)
            if lines.shape != (s.stage.lines, s.stage.width):
                self.fault(f"a box of {lines.shape} into a stage of {(s.stage.lines, s.stage.width)}")
            self.shared.tiles[s.stage.name][slot, s.box] = lines
            phases.expect(-s.stage.box_bytes)

        access = Access(region, f"{self.who} through '{s.map.name}'", land)
        self.shared.writes.append(access)
        self.machine.copy(access)

    def on_copy_out(self, s: d.CopyOut) -> None:
        thread = self.one("CopyOut")
        slot, line = self.uniform(s.slot, "a slot"), self.uniform(s.line, "a line")
        count = int(np.prod(s.map.box[:-1]))
        region = self.region(s.stage, slot, range(s.box, s.box + 1), range(line, line + count), "CopyOut")
        at = tuple(self.uniform(x, "a coordinate") for x in s.at)
        self.shared.visible(region, self.who, "CopyOut")
        target, tiles = self.find(s.map.buffer), self.shared.tiles[s.stage.name]

        def leave() -> None:
            write_box(s.map, target, self.machine.dims, at, tiles[slot, s.box, line : line + count])

        access = Access(region, f"{self.who} through '{s.map.name}'", leave)
        self.shared.reads.append(access)
        self.leaving.setdefault(thread, [[]])[-1].append(access)
        if self.machine.now():
            access.perform()

    def on_copy_commit(self, s: d.CopyCommit) -> None:
        for thread in np.flatnonzero(self.active()):
            self.leaving.setdefault(int(thread), [[]]).append([])

    def on_copy_drain(self, s: d.CopyDrain) -> None:
        for thread in np.flatnonzero(self.active()):
            groups = self.leaving.get(int(thread), [[]])
            keep = s.pending + 1
            for access in (a for group in groups[:-keep] for a in group):
                access.perform()
                self.shared.reads.remove(access)
            del groups[:-keep]

    # -- counters -----------------------------------------------------------------------------------------------------

    def on_ticket(self, s: d.Ticket) -> None:
        self.one("Ticket")
        value = self.machine.blocks + self.machine.counters[s.counter]
        self.machine.counters[s.counter] += 1
        known = self.values.get(s.name, 0)
        self.values[s.name] = value if self.mask is None else np.where(self.mask, value, known)

    def on_retire(self, s: d.Retire) -> None:
        self.one("Retire")
        counters = self.machine.counters
        counters[s.counter + 1] += 1
        if counters[s.counter + 1] == self.machine.blocks:
            counters[s.counter] = counters[s.counter + 1] = 0
