"""Checks the launch of a kernel: what the chip can hold, and how its bulk copies see memory.

Rules: shared memory, threads and registers within the chip's limits; the warp groups of the roles make up the threads;
roles of one thread run nothing that takes a whole warp group; lines of a stage a multiple of 8; the box of a map is one
line innermost, at most 256 a side, of rank 5 or less, over strides of 16 bytes where they are known. Nothing assigns
to a dim or to a built-in variable. What the statements need is checked in codegen/device_fit.py (shapes),
device_order.py (what comes after what) and device_signals.py (arrivals and bytes).
"""

from __future__ import annotations

from math import prod
from typing import NoReturn

from tang_egg.codegen import device as d
from tang_egg.codegen.device_fit import check_fit
from tang_egg.codegen.device_order import check_order
from tang_egg.codegen.device_rules import describe, refuse
from tang_egg.codegen.device_signals import check_signals
from tang_egg.codegen.kernel import Assign, Barrier, Kernel, Let, Loop, statements

THREADS = 1024
"""Threads of a block, at most."""
COLLECTIVE = (d.Mma, d.MmaFence, d.MmaCommit, d.MmaWait, d.StoreTile, d.LoadTile, d.Sync, d.Announce, Barrier)
"""Statements that all threads of a warp group run together."""


def check_device(kernel: Kernel) -> None:
    """Raises CodegenError when a launched kernel breaks a rule of the module text or of those that it names."""
    if kernel.launch is None:
        return
    _Launch(kernel, kernel.launch).run()
    check_fit(kernel, kernel.launch)
    check_order(kernel, kernel.launch)
    check_signals(kernel, kernel.launch)


class _Launch:
    def __init__(self, kernel: Kernel, launch: d.Launch) -> None:
        self.kernel, self.launch, self.where = kernel, launch, "the launch"

    def fail(self, what: str, mend: str) -> NoReturn:
        refuse(self.kernel, what, self.where, mend)

    def need(self, holds: bool, what: str, mend: str) -> None:
        if not holds:
            self.fail(what, mend)

    def run(self) -> None:
        self.resources()
        for m in self.launch.maps:
            self.where = f"map '{m.name}'"
            self.map(m)
        self.where = "its roles"
        tops = [s for s in self.kernel.body if isinstance(s, d.Roles)]
        found = sum(isinstance(s, d.Roles) for s in statements(self.kernel.body))
        self.need(found == len(tops) <= 1, f"{found} statements Roles", "have one, at the top of the body")
        for s in tops:
            self.roles(s)
        self.names()

    def names(self) -> None:
        """Values that every body starts with stay as they are."""
        given = {*self.kernel.dims, *d.BUILT_IN}
        for s in statements(self.kernel.body):
            name = s.name if isinstance(s, (Let, Assign, d.Ticket)) else s.var if isinstance(s, Loop) else ""
            self.where = describe(s)
            self.need(name not in given, f"'{name}' is a dim or built in", "give the variable a name of its own")

    # -- the launch ---------------------------------------------------------------------------------------------------

    def resources(self) -> None:
        la = self.launch
        self.need(
            la.threads % 32 == 0 and 0 < la.threads <= THREADS,
            f"blocks of {la.threads} threads",
            f"have whole warps, and {THREADS} threads at most",
        )
        for kind in (la.stages, la.signals, la.maps, (*la.shared, *self.kernel.buffers)):
            names = [x.name for x in kind]
            self.need(len(set(names)) == len(names), f"one name twice among {', '.join(names)}", "rename one of them")
        for s in la.stages:
            self.where = f"stage '{s.name}'"
            self.need(s.type in d.BYTES, f"elements of type {s.type}", f"use one of {', '.join(d.BYTES)}")
            self.need(
                s.lines % 8 == 0 and 0 < s.lines <= d.BOX_SIDE,
                f"boxes of {s.lines} lines",
                f"have a multiple of 8 lines, {d.BOX_SIDE} at most, so that each box starts where the swizzle does",
            )
            self.need(s.boxes > 0 and s.depth > 0, f"{s.depth} tiles of {s.boxes} boxes", "have at least one")
        for g in la.signals:
            self.where = f"signal '{g.name}'"
            self.need(g.depth > 0 < g.arrivals, f"{g.depth} barriers of {g.arrivals} arrivals", "have at least one")
        self.where = "the launch"
        for b in la.shared:
            self.need(b.size.value is not None, f"the shared array '{b.name}' has no constant size", "give it one")
        self.need(
            la.shared_bytes <= la.shared_limit,
            f"{la.shared_bytes} bytes of shared memory",
            f"take smaller or fewer tiles: a block can have {la.shared_limit}",
        )

    def map(self, m: d.TensorMap) -> None:
        size = d.BYTES.get(m.buffer.type, 0)
        self.need(
            m.buffer in self.kernel.buffers, f"'{m.buffer.name}' is no buffer of the kernel", "map one of its buffers"
        )
        self.need(size > 0, f"elements of type {m.buffer.type}", f"use one of {', '.join(d.BYTES)}")
        self.need(
            0 < len(m.box) == len(m.extents) <= d.BOX_RANK,
            f"{len(m.extents)} extents and a box of rank {len(m.box)}",
            f"give both the same rank, {d.BOX_RANK} at most",
        )
        self.need(all(0 < b <= d.BOX_SIDE for b in m.box), f"a box of {m.box}", f"keep its sides in 1 ... {d.BOX_SIDE}")
        self.need(
            m.box[-1] * size == d.LINE,
            f"a box of {m.box[-1]} {m.buffer.type} along the last axis",
            f"take one line of {d.LINE} bytes: {d.LINE // size}",
        )
        for n in range(1, len(m.extents)):
            known = [e.value for e in m.extents[n:] if e.value is not None]
            stride = size * prod(known)
            self.need(
                stride % 16 == 0 or len(known) < len(m.extents) - n,
                f"a stride of {stride} bytes",
                "pad the axes: bulk copies need multiples of 16 bytes",
            )
        self.need(not m.rounds or m.buffer.type == "f32", f"rounding of {m.buffer.type} to tf32", "round f32 only")

    def roles(self, s: d.Roles) -> None:
        groups = sum(r.groups for r in s.roles)
        self.need(
            self.launch.threads == d.GROUP * groups,
            f"{self.launch.threads} threads for {groups} warp groups",
            f"launch {d.GROUP * groups} threads",
        )
        names = [r.name for r in s.roles]
        self.need(len(set(names)) == len(names), f"one name twice among {', '.join(names)}", "rename one of them")
        for r in s.roles:
            self.where = f"role '{r.name}'"
            self.need(r.groups > 0, f"{r.groups} warp groups", "give the role at least one")
            self.need(
                r.registers % 8 == 0 and 24 <= r.registers <= 256,
                f"{r.registers} registers a thread",
                "give a multiple of 8 in 24 ... 256",
            )
        self.where = "its roles"
        total = sum(r.groups * d.GROUP * r.registers for r in s.roles) * self.launch.resident
        self.need(
            total <= d.REGISTER_LIMIT,
            f"{total} registers",
            f"give the roles fewer: a block can have {d.REGISTER_LIMIT}",
        )
        for r in s.roles:
            self.where = f"role '{r.name}'"
            bad = next((describe(x) for x in statements(r.body) if r.single and isinstance(x, COLLECTIVE)), "")
            self.need(not bad, f"{bad} in a role of one thread", "leave it to a role whose warp groups run whole")
