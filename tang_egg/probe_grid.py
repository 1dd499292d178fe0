"""The experiments of devices that run grids of groups: the same for OpenCL, WebGPU and CUDA.

A target gives kernels by these names and a way to time them; what is run over which sizes stands here.

    empty()                        nothing
    chase(next, out, n)            n times eight hops along next[], one thread
    read, write, copy(a, b, out, vectors, times)   groups sweep shares of some vectors of 16 bytes, `times` times
    peak_T(out, n)                 n rounds of 8 chains of multiply-adds on vectors, in each thread
    barrier(out, n)                n barriers of a group
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from tang_egg.cost.device import MEMORY
from tang_egg.probe_bench import Place, Sample

VECTOR = 16
"""Bytes of what one thread moves at once."""
CHAINS = 8
"""Independent chains of multiply-adds in one thread."""
LINE = 128
"""Bytes between the places of a chase: no two lie in one line of a cache."""
SPAN = 0.01
"""Seconds that one sample takes about."""
ENDLESS = 1 << 22
"""Turns of loops in one launch where a driver sets no limit."""


class Grid(Protocol):
    """A device that runs kernels. Buffers are whatever the target uses."""

    threads: int
    """Threads of a group in the experiments: one where a thread is a core's, so that it sweeps what is contiguous."""
    lanes: int
    """Elements of the vectors of a chain."""
    loops: int
    """Turns that all loops of a thread may make together in one launch: some drivers end them silently there."""

    def buffer(self, size: int, data: np.ndarray[Any, Any] | None = None) -> Any:
        """Memory of the device of `size` bytes: zeros, or a copy of `data`."""
        ...

    def seconds(
        self, kernel: str, groups: int, threads: int, buffers: tuple[Any, ...], numbers: tuple[int, ...]
    ) -> float:
        """The time from the start of one launch to its end."""
        ...

    def launches(self, count: int) -> float:
        """The time of some empty kernels in a row, each waiting for the one before."""
        ...


@dataclass(slots=True)
class Experiments:
    """Samples of one device. `groups`: enough to fill it, for sweeps and peaks."""

    grid: Grid
    groups: int
    _held: dict[object, Any] = field(default_factory=dict)

    def launch(self, count: int = 200) -> Sample:
        return lambda: self.grid.launches(count) / count

    def chase(self, size: int, page: int = 0) -> Sample:
        """Seconds of a hop over `size` bytes: along a random cycle, or page by page."""
        steps = max(2, size // LINE)
        state = {"turns": 0}

        def run(turns: int) -> float:
            return self.grid.seconds("chase", 1, 1, (self._held["cycle", size, page], self._out()), (turns,))

        def sample() -> float:
            key = ("cycle", size, page)
            if key not in self._held:
                self._held[key] = self.grid.buffer(size, cycle(steps, page // LINE))
            state["turns"] = state["turns"] or enough(run, 512, self.grid.loops)
            return run(state["turns"]) / (8 * state["turns"])

        return sample

    def sweep(self, way: str, size: int) -> Sample:
        """Bytes per second of a sweep; a copy goes between two halves of `size` and counts both."""
        state = {"times": 0}
        swept = size // 2 if way == "copy" else size
        vectors = max(1, swept // VECTOR)

        def run(times: int) -> float:
            buffers = (self._memory(swept, "a"), self._memory(swept, "b" if way == "copy" else "a"), self._out())
            return self.grid.seconds(way, self.groups, self.grid.threads, buffers, (vectors, times))

        def sample() -> float:
            turns = vectors // (self.groups * self.grid.threads) + 2
            state["times"] = state["times"] or enough(run, 1, max(1, self.grid.loops // turns))
            moved = (2.0 if way == "copy" else 1.0) * vectors * VECTOR * state["times"]
            return moved / run(state["times"])

        return sample

    def peak(self, kind: str, per_round: float = 0.0, threads: int = 0) -> Sample:
        """Operations per second of a unit; `per_round`: operations of one thread in a round, where not the chains'."""
        state = {"n": 0}
        team, each = threads or self.grid.threads, per_round or 2.0 * CHAINS * self.grid.lanes

        def run(n: int) -> float:
            return self.grid.seconds(f"peak_{kind}", self.groups, team, (self._out(),), (n,))

        def sample() -> float:
            state["n"] = state["n"] or enough(run, 64, self.grid.loops)
            return self.groups * team * each * state["n"] / run(state["n"])

        return sample

    def barrier(self) -> Sample:
        """Seconds of one barrier of a group of at least 64 threads, in a loop of them."""
        state = {"n": 0}

        def run(n: int) -> float:
            return self.grid.seconds("barrier", 1, max(64, self.grid.threads), (self._out(),), (n,))

        def sample() -> float:
            state["n"] = state["n"] or enough(run, 1024, self.grid.loops)
            return run(state["n"]) / state["n"]

        return sample

    def _out(self) -> Any:
        """Where results go that nobody reads: one element for each thread."""
        return self._memory(4 * VECTOR * self.groups * max(self.grid.threads, 256), "out")

    def _memory(self, size: int, name: str) -> Any:
        key = (name, size)
        if key not in self._held:
            self._held[key] = self.grid.buffer(size)
        return self._held[key]

    def close(self) -> None:
        """Lets go of all memory."""
        self._held.clear()


def enough(run: Callable[[int], float], least: int, most: int, span: float = SPAN) -> int:
    """How many repetitions last about `span` seconds, so that the launch counts for nothing: more and more are tried.

    The first run compiles and touches memory, and its time is not looked at.
    """
    run(least)
    n = least
    while n * 2 <= most:
        taken = max(min(run(n) for _ in range(3)), 1e-9)  # one that was interrupted says nothing
        if taken >= span / 2:
            return n
        n *= 4 if taken < span / 8 and n * 4 <= most else 2
    return n


def cycle(steps: int, per_page: int = 0, seed: int = 1) -> np.ndarray[Any, Any]:
    """next[], as u32 with one step in LINE bytes: one cycle through all steps, or through those of a page at a time."""
    random = np.random.default_rng(seed)
    if per_page > 1:
        pages = random.permutation(max(1, steps // per_page))
        order = np.concatenate([p * per_page + random.permutation(per_page) for p in pages]) % steps
    else:
        order = random.permutation(steps)
    made = np.zeros(steps * (LINE // 4), np.uint32)
    made[order * (LINE // 4)] = np.roll(order, -1) * (LINE // 4)
    return made


def samples(run: Experiments, places: tuple[Place, ...], far: int) -> dict[str, Sample]:
    """The samples of all levels: of a cache over half of it, of memory over `far` bytes.

    Hops page by page go just beyond the cache before: what others share may not hold half of what it is said to hold.
    """
    made: dict[str, Sample] = {"launch": run.launch(), "barrier": run.barrier()}
    before = 0
    for place in places:
        if place.name in ("registers", "shared"):
            continue
        own = place.capacity // 2 if place.name != MEMORY else far
        near = own if place.name == MEMORY else max(4096, min(own, 2 * before))
        before = place.capacity
        if own < 4096:
            continue
        made |= {f"{place.name} latency": run.chase(own), f"{place.name} hop": run.chase(near, 4096)}
        whole = own * place.instances
        made |= {f"{place.name} {way}": run.sweep(way, whole) for way in ("read", "write", "copy")}
    return made


def knees(latency: Callable[[int], float], sizes: tuple[int, ...], factor: float = 1.5) -> tuple[int, ...]:
    """Sizes that caches seem to have: the last ones before the latency of a chase rises by `factor` over its plateau.

    A rise that goes on over several sizes is one knee. Empty where nothing rises.
    """
    found: list[int] = []
    plateau = latency(sizes[0])
    rising = False
    for before, size in pairwise(sizes):
        now = latency(size)
        if now > factor * plateau:
            if not rising:
                found.append(before)
            plateau, rising = now, True
        else:
            plateau, rising = (min(plateau, now), False) if not rising else (now, False)
    return tuple(found)
