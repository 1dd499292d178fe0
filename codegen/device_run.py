"""What a launched kernel means: a slow interpreter of warp groups, products and bulk copies on NumPy arrays, for tests.

Each warp group is a coroutine that runs all its threads at once and stops where it has to wait. Whatever is
asynchronous happens, by `order`, "early" (when issued), "late" (copies in: once nobody can proceed otherwise; products
and copies out: when something waits for them) or "random" (anywhere in between; warp groups interleave at random too).
A run is deterministic given `order` and `seed`. Accesses that the hardware may order differently are errors.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tang_egg.codegen.device import GROUP, Launch
from tang_egg.codegen.device_group import Flow, Group
from tang_egg.codegen.device_lane import Array, Lanes
from tang_egg.codegen.device_memory import Access, Memory, Wait
from tang_egg.codegen.kernel import Kernel
from tang_egg.errors import CodegenError

ORDERS = ("early", "late", "random")


def run_device(
    kernel: Kernel,
    arrays: Mapping[str, Array],
    dims: Mapping[str, int],
    *,
    blocks: int = 4,
    order: str = "late",
    seed: int = 0,
) -> None:
    """Runs a launched kernel on flat arrays by buffer name; outputs are written in place. bf16 arrays hold float32.

    `blocks`: how many blocks the chip holds at once. Raises CodegenError for a deadlock, an access out of bounds and
    an access that nothing orders.
    """
    if kernel.launch is None or order not in ORDERS:
        raise CodegenError(
            "the kernel has no launch" if kernel.launch is None else f"unknown order '{order}'",
            where=f"kernel '{kernel.name}'",
            mend=f"run it by run_kernel, or give an order of {', '.join(ORDERS)}",
        )
    with np.errstate(all="ignore"):
        Machine(kernel, kernel.launch, dict(arrays), dict(dims), order, seed).run(blocks)


class Machine:
    """The chip: global memory, counters, and a scheduler of the warp groups of the blocks that run."""

    def __init__(
        self, kernel: Kernel, launch: Launch, arrays: dict[str, Array], dims: dict[str, int], order: str, seed: int
    ) -> None:
        self.kernel, self.launch, self.arrays, self.dims, self.order = kernel, launch, arrays, dims, order
        self.chance = random.Random(seed)
        self.counters = [0] * launch.counters
        self.blocks = 0
        self.copies: list[Access] = []
        self.simple: dict[int, bool] = {}

    def fault(self, what: str, mend: str) -> CodegenError:
        return CodegenError(what, where=f"running kernel '{self.kernel.name}', order '{self.order}'", mend=mend)

    def run(self, resident: int) -> None:
        host = Lanes("the launch", 1, dict(self.dims), {})
        tiles = host.uniform(self.launch.tiles, "the number of tiles")
        self.blocks = min(tiles, resident) if self.launch.persistent else tiles
        waiting, running = list(range(self.blocks)), [self.start(b) for b in range(min(resident, self.blocks))]
        del waiting[: len(running)]
        tasks = [t for block in running for t in block]
        while tasks:
            finished = self.turn(tasks)
            for t in finished:
                tasks.remove(t)
                if not any(u.block == t.block for u in tasks):
                    self.close(t)
                    if waiting:
                        tasks += self.start(waiting.pop(0))
        if any(self.counters):
            raise self.fault(f"counters are left at {self.counters}", "let every block retire its counters once")

    def start(self, block: int) -> list[_Task]:
        memory = Memory(self.launch, f"block {block}", self.dims)
        groups = [Group(self, memory, block, n) for n in range(self.launch.threads // GROUP)]
        return [_Task(block, g, g.main(self.kernel.body)) for g in groups]

    def close(self, last: _Task) -> None:
        """A block ended: nothing may still be on its way into its memory."""
        for w in last.group.shared.writes:
            raise self.fault(f"{w.who} still copies into {w.region} when its block ends", "await every copy")

    # -- scheduling ---------------------------------------------------------------------------------------------------

    def turn(self, tasks: list[_Task]) -> list[_Task]:
        """Lets those proceed that can, or lands a copy; the tasks that finished."""
        if self.order == "random" and self.copies and self.chance.random() < 0.3:
            self.land(self.chance.randrange(len(self.copies)))
        ready = [t for t in tasks if t.ready()]
        if not ready:
            if not self.copies:
                raise self.fault("nobody can proceed: " + "; ".join(t.state() for t in tasks), _DEADLOCK)
            self.land(0 if self.order == "late" else self.chance.randrange(len(self.copies)))
            return []
        if self.order == "random":
            ready = [self.chance.choice(ready)]
        return [t for t in ready if t.ready() and t.step()]

    def copy(self, access: Access) -> None:
        """A copy into shared memory was issued."""
        if self.order == "early":
            access.perform()
        else:
            self.copies.append(access)

    def land(self, n: int) -> None:
        self.copies.pop(n).perform()

    def now(self) -> bool:
        """Whether a product or a copy out happens when it is issued."""
        return self.order == "early" or (self.order == "random" and self.chance.random() < 0.5)

    def pause(self) -> bool:
        """Whether a warp group lets others go first, before an operation of the chip."""
        return self.order == "random" and self.chance.random() < 0.5


_DEADLOCK = "compare the arrivals and bytes that each phase expects with those that come, and the parities"


@dataclass(eq=False, slots=True)
class _Task:
    block: int
    group: Group
    flow: Flow
    wait: Wait | None = None

    def ready(self) -> bool:
        return self.wait is None or self.wait.ready()

    def step(self) -> bool:
        """Runs up to the next wait; True once the warp group is through."""
        try:
            self.wait = next(self.flow)
        except StopIteration:
            return True
        return False

    def state(self) -> str:
        return f"{self.group.who} waits for {self.wait.text() if self.wait else 'its turn'}"
