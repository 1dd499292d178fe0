"""Probes of the current NVIDIA GPU; as a program, all of them with the results as JSON.

    python -m tang_egg.probe_cuda [--seconds N] [--json FILE]

Launches are those of a replayed graph. Sweeps and peaks are timed by events around one launch of about ten
milliseconds. What width and clock allow is known for the compute capabilities in PER_CLOCK; of others only what was
measured counts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg.cost.device import MEMORY
from tang_egg.errors import TangError
from tang_egg.measure_cuda import CupyClock
from tang_egg.probe_bench import Bench, Place, Sample
from tang_egg.probe_cuda_source import PLAIN, PRODUCTS, group_operations, group_source, matrix_source
from tang_egg.probe_grid import CHAINS, ENDLESS, Experiments, samples
from tang_egg.run_cuda_driver import Driver, Function, Unit, driver
from tang_egg.run_host import driver_version

PER_CLOCK: Mapping[str, Mapping[str, int]] = {
    "80": {
        "vector f32": 128, "vector f64": 64, "vector f16": 512, "vector bf16": 256, "matrix f16": 2048,
        "matrix bf16": 2048, "matrix tf32": 1024, "matrix i8": 4096, "matrix f64": 128,
    },
    "90": {
        "vector f32": 256, "vector f64": 128, "vector f16": 512, "vector bf16": 512, "matrix f16": 4096,
        "matrix bf16": 4096, "matrix tf32": 2048, "matrix i8": 8192, "matrix fp8": 8192, "matrix f64": 256,
    },
}  # fmt: skip
"""Operations of one processor per cycle, by compute capability, dense."""
NEAR = {"80": 192 << 10, "90": 256 << 10}
"""Bytes of the first cache and shared memory of one processor together."""
FAR = 1 << 30
"""Bytes over which memory is swept and chased."""
LARGE = 4 << 30
"""Bytes of the sweeps of memory where the device has room: launches and the ends of a sweep count for less."""


class Cuda:
    """The current device; see probe_grid.Grid."""

    threads, lanes, loops = 256, 1, ENDLESS

    def __init__(self, on: Driver) -> None:
        self.driver, self.cupy = on, on.cupy
        self.clock = CupyClock(on.cupy)
        self._functions: dict[str, Function] = {}
        self._empty: dict[int, Callable[[], object]] = {}

    def buffer(self, size: int, data: np.ndarray[Any, Any] | None = None) -> Any:
        made = self.cupy.zeros(size, self.cupy.uint8) if data is None else self.cupy.asarray(data)
        self.driver.synchronize()  # the stream of the experiments does not wait for the one that fills memory
        return made

    def seconds(
        self, kernel: str, groups: int, threads: int, buffers: tuple[Any, ...], numbers: tuple[int, ...]
    ) -> float:
        function = self.function(kernel)
        arguments = (*buffers, *(np.uint32(n) for n in numbers))
        return self.clock.seconds(lambda: function((groups,), (threads,), arguments))

    def launches(self, count: int) -> float:
        if count not in self._empty:
            function = self.function("empty")
            self._empty[count] = self.clock.capture([lambda: function((1,), (1,), ())] * count)
            self._empty[count]()
        return self.clock.seconds(self._empty[count])

    def function(self, kernel: str) -> Function:
        """A kernel of PLAIN, or one of its own source: matrix_bf16, group_bf16."""
        if kernel not in self._functions:
            self._functions[kernel] = self.driver.compile([Unit(text_of(kernel), f"probe_{kernel}", 256, 0)])[0]
        return self._functions[kernel]


def text_of(kernel: str) -> str:
    """The source in which a kernel stands."""
    for product in PRODUCTS:
        if kernel == f"peak_matrix_{product.name}":
            return matrix_source(product)
        if kernel == f"peak_group_{product.name}":
            return group_source(product)
    return PLAIN


def benches() -> list[Bench]:
    """The current GPU, ready to be measured. Raises TargetError where CUDA cannot be used."""
    return [bench(driver())]


def bench(on: Driver) -> Bench:
    """One device, ready to be measured."""
    with on.here():
        attributes = dict(on.cupy.cuda.Device(on.device).attributes)
        free = int(on.cupy.cuda.runtime.memGetInfo()[0])
    grid = Cuda(on)
    processors = on.processors
    run = Experiments(grid, 8 * processors)
    places = places_of(on.capability, attributes, processors)
    far = min(FAR, free // 8) >> 12 << 12
    taken = samples(run, places, far)
    large = min(LARGE, free // 4) >> 12 << 12
    taken |= {f"{MEMORY} {way}": run.sweep(way, large) for way in ("read", "write", "copy")}
    taken |= _shared(run, places)
    units: list[tuple[str, bool]] = []
    for kind, width in (("f32", 1), ("f64", 1), ("f16", 2), ("bf16", 2)):
        units.append((kind, False))
        taken[f"vector {kind}"] = run.peak(kind, 2.0 * CHAINS * width)
    more: dict[str, Sample] = {}
    team = Experiments(grid, 3 * processors)
    for product in PRODUCTS:
        units.append((product.name, True))
        by_warps = run.peak(f"matrix_{product.name}", 4 * product.operations / 32)
        if product.wgmma and on.has_matrix_units:
            taken[f"matrix {product.name}"] = team.peak(f"group_{product.name}", group_operations(product) / 128, 128)
            more[f"matrix {product.name}"] = by_warps
        else:
            taken[f"matrix {product.name}"] = by_warps
    slots = processors * int(attributes.get("MaxBlocksPerMultiprocessor", 32))
    clock = 1e3 * float(attributes.get("ClockRate", 0))

    def close() -> None:
        run.close()
        team.close()
        on.cupy.get_default_memory_pool().free_all_blocks()

    return Bench(
        on.title.split(",")[0], "cuda", f"{driver_version()}, {on.architecture}", processors, slots, places,
        tuple(units),
        taken, more, lambda: clock, lambda clock: ceilings(on.capability, attributes, processors, clock), {},
        (f"compute capability {on.capability}", f"memory probed over {far >> 20} and {large >> 20} MiB"), close,
    )  # fmt: skip


def places_of(capability: str, attributes: Mapping[str, int], processors: int) -> tuple[Place, ...]:
    """Registers, the first cache with shared memory, the second cache, memory."""
    shared = NEAR.get(capability, int(attributes.get("MaxSharedMemoryPerMultiprocessor", 64 << 10)))
    return (
        Place("registers", 4 * int(attributes.get("MaxRegistersPerMultiprocessor", 1 << 16)), processors),
        Place("shared", shared, processors),
        Place("L2", int(attributes.get("L2CacheSize", 0)) or 4 << 20),
        Place(MEMORY, 0),
    )


def ceilings(capability: str, attributes: Mapping[str, int], processors: int, clock: float) -> dict[str, float]:
    """Rates that width and clock allow: units by PER_CLOCK, caches by the width of their paths, memory by its bus."""
    rates = {name: count * processors * clock for name, count in PER_CLOCK.get(capability, {}).items()}
    bus = 1e3 * float(attributes.get("MemoryClockRate", 0)) * 2 * int(attributes.get("GlobalMemoryBusWidth", 0)) / 8
    for name, way in ((MEMORY, bus), ("L2", 64.0 * processors * clock), ("shared", 128.0 * processors * clock)):
        both = 2.0 if name == "L2" else 1.0
        rates |= {f"{name} read": way, f"{name} write": way, f"{name} copy": both * way}
    return {name: rate for name, rate in rates.items() if rate > 0}


def _shared(run: Experiments, places: tuple[Place, ...]) -> dict[str, Sample]:
    """The first cache: a chase that it holds, and vectors of shared memory, eight a turn."""
    near = next(p for p in places if p.name == "shared")
    small = min(32 << 10, near.capacity // 4)
    swept = {f"shared {way}": run.peak(f"shared_{way}", 8 * 16.0, 256) for way in ("read", "write")}
    return {"shared latency": run.chase(small), "shared hop": run.chase(small, 4096)} | swept


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures the current GPU, prints its constants and writes them where asked. 1 where it could not be done."""
    from tang_egg.probe import data, probe, table, write

    parser = argparse.ArgumentParser(
        prog="python -m tang_egg.probe_cuda", description="Measures the current NVIDIA GPU."
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="about how long to measure (default: 60)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the constants there")
    given = parser.parse_args(arguments)
    try:
        found = probe("cuda", given.seconds)
        for outcome in found:
            print(outcome.finding)
            for probed in outcome.probed:
                print(table(probed))
        if given.json is not None:
            write(data(found), given.json)
    except TangError as error:
        print(error, file=sys.stderr)
        return 1
    return 0 if found[0].finding.passed else 1


if __name__ == "__main__":
    sys.exit(main())
