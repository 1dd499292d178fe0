"""Probes of the processor by compiled C, on one core and on all of them.

Bandwidth of a cache is that of sweeps over half of it by each core; of memory, over eight times the last cache. Latency
is that of a chase along one random cycle through all lines of as much, on ordinary pages; the hop, of a cycle that goes
through the lines of a page before it leaves it, on large pages and just beyond the cache before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tang_egg import run_toolchain as toolchain
from tang_egg.cost.device import MEMORY
from tang_egg.errors import TargetError
from tang_egg.probe_bench import Bench, Place, Sample
from tang_egg.probe_c_source import SOURCE
from tang_egg.probe_host import Core, caches, core, frequency, memory_available, processor, vendor
from tang_egg.run import threads

SPAN = 0.01
"""Seconds that one sample takes about."""
FAR, LARGEST = 8, 1 << 30
"""Memory is probed over FAR times the last cache, but over no more bytes than LARGEST."""
PAGE = 4096
_LATENCIES = {"L1": 2e-9, "L2": 6e-9, "L3": 2e-8, MEMORY: 1.5e-7}
"""What a hop takes about: it sets how many make a sample."""


class Library:
    """The compiled probes, and the memory that they work on."""

    def __init__(self) -> None:
        self.library = toolchain.build(SOURCE)
        self.held: list[int] = []
        kinds: dict[str, tuple[Any, ...]] = {
            "launch": (ctypes.c_int64,), "team": (ctypes.c_int64, ctypes.c_int),
            "barrier": (ctypes.c_int64, ctypes.c_int), "cycle_time": (ctypes.c_int64,),
            "peak_f32": (ctypes.c_int64, ctypes.c_int), "peak_f64": (ctypes.c_int64, ctypes.c_int),
            "chase": (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p),
        }  # fmt: skip
        sweep = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int)
        for name in ("read", "write", "copy", "write_past", "copy_past"):
            kinds[name] = sweep
        self.call: dict[str, Callable[..., float]] = {}
        for name, arguments in kinds.items():
            function = getattr(self.library, f"probe_{name}")
            function.argtypes, function.restype = arguments, ctypes.c_double
            self.call[name] = function
        self.library.probe_take.argtypes = (ctypes.c_int64, ctypes.c_int, ctypes.c_int)
        self.library.probe_take.restype = ctypes.c_void_p
        self.library.probe_give.argtypes, self.library.probe_give.restype = (ctypes.c_void_p,), None
        self.library.probe_join.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64)
        self.library.probe_join.restype = ctypes.c_int

    @property
    def vector_bytes(self) -> int:
        return int(self.library.probe_vector_bytes())

    def take(self, size: int, team: int, large: bool) -> int:
        """Memory of some bytes. Raises TargetError where there is none."""
        found = self.library.probe_take(size, team, int(large))
        if not found:
            raise TargetError(
                f"there is no memory for {size} bytes", where="the probe of memory", mend="end other programs"
            )
        self.held.append(found)
        return int(found)

    def close(self) -> None:
        """Gives all memory back."""
        while self.held:
            self.library.probe_give(self.held.pop())


def benches() -> list[Bench]:
    """The processor with one core, then with all that kernels use. Raises TargetError without a C compiler."""
    tool = toolchain.compiler()
    team = threads() if tool.threads else 1
    return [bench(1), bench(team)] if team > 1 else [bench(1)]


def target_of(team: int) -> str:
    """The name under which constants are stored: c for all cores, c1 for one of several."""
    return "c1" if team == 1 and threads() > 1 else "c"


def bench(team: int) -> Bench:
    """The processor with a team of threads, ready to be measured."""
    library, found = Library(), caches(team)
    tool, kind = toolchain.compiler(), core()
    width = library.vector_bytes
    far = min(FAR * found[-1].capacity, LARGEST, memory_available() // 8) >> 12 << 12
    registers = Place("registers", (32 if width == 64 or vendor() == "arm" else 16) * width, team)
    places = (registers, *found, Place(MEMORY, 0))
    samples: dict[str, Sample] = {"launch": lambda: library.call["launch"](2_000_000)}
    if team > 1:
        samples["team"] = lambda: library.call["team"](500, team)
        samples["barrier"] = lambda: library.call["barrier"](1000, team)
    best_only: dict[str, Sample] = {}
    for before, place in pairwise(places):
        size = far if place.name == MEMORY else place.capacity // 2
        near = size if place.name == MEMORY else min(size, 2 * before.capacity)
        samples |= _latencies(library, place.name, size, near)
        total = size if place.name == MEMORY else size * place.instances
        samples |= _sweeps(library, place.name, total, team, ("read", "write", "copy"))
        if place.name == MEMORY:
            best_only |= _sweeps(library, place.name, total, team, ("write_past", "copy_past"))
    flops = 6e10 * team
    for operand, lanes in (("f32", 1.0), ("f64", 0.5)):
        samples[f"vector {operand}"] = _peak(library, operand, max(1000, int(SPAN * flops * lanes / 80)), team)
    return Bench(
        processor(), target_of(team), f"{tool.version}, {' '.join(tool.flags)}", team, team, places,
        (("f32", False), ("f64", False)), samples, best_only,
        lambda: frequency(1.0 / max(library.call["cycle_time"](2_000_000), 1e-12)),
        lambda clock: ceilings(kind, clock, width, team, found), {},
        (f"{width * 8} bits", f"memory probed over {far >> 20} MiB"), library.close,
    )  # fmt: skip


def ceilings(kind: Core, clock: float, width: int, team: int, found: tuple[Place, ...]) -> dict[str, float]:
    """Rates that clock and width allow, in all: of arithmetic per second, of each cache in bytes per second."""
    rates = {
        "vector f32": kind.per_lane * width / 4 * clock * team,
        "vector f64": kind.per_lane * width / 8 * clock * team,
    }
    for n, place in enumerate(found):
        read, write = (kind.read * width, kind.write * width) if n == 0 else (kind.behind, kind.behind)
        rates |= {
            f"{place.name} read": read * clock * team, f"{place.name} write": write * clock * team,
            f"{place.name} copy": (read + write) * clock * team,
        }  # fmt: skip
    return rates


def _peak(library: Library, operand: str, n: int, team: int) -> Sample:
    return lambda: library.call[f"peak_{operand}"](n, team)


def _latencies(library: Library, name: str, size: int, near: int) -> dict[str, Sample]:
    """Samples of the chase along a random cycle, and of the one that stays on its page.

    The second one is over `near` bytes: a cache shared with others may not hold half of what it is said to hold.
    """
    hops = max(4096, int(SPAN / _LATENCIES.get(name, 1e-8))) // 8 * 8
    return {
        f"{name} latency": _chase(library, size, hops, 0, large=False),
        f"{name} hop": _chase(library, max(near, PAGE), hops, PAGE, large=True),
    }


def _chase(library: Library, size: int, hops: int, page: int, large: bool) -> Sample:
    """A sample goes on where the last one ended, so that a cycle that is longer than a sample stays out of caches."""
    state: dict[str, Any] = {}

    def sample() -> float:
        if not state:
            place = library.take(size, 1, large)
            if not library.library.probe_join(place, size, page, 1):
                raise TargetError("there is no memory for a cycle", where=f"{size} bytes", mend="end other programs")
            state.update(place=place, end=ctypes.c_void_p(0))
            library.call["chase"](place, hops, ctypes.byref(state["end"]))
        return library.call["chase"](state["place"], hops, ctypes.byref(state["end"]))

    return sample


def _sweeps(library: Library, name: str, size: int, team: int, ways: tuple[str, ...]) -> dict[str, Sample]:
    """Samples of bytes per second for some ways to sweep; those past the caches go under the plain figure's name."""
    return {f"{name} {way.partition('_')[0]}": _sweep(library, way, size, team) for way in ways}


def _sweep(library: Library, way: str, size: int, team: int) -> Sample:
    """A copy goes between two halves, so that all that it touches is `size` bytes; it moves as many."""
    state: list[int] = []
    swept = size // 2 if way.startswith("copy") else size
    swept = swept // (team * 8 * 64) * (team * 8 * 64)

    def sample() -> float:
        if not swept:
            raise TargetError("the cache is too small to sweep", where=f"{size} bytes", mend="report this machine")
        if not state:
            state.extend((library.take(swept, team, True), library.take(swept, team, True), 1))
            once = library.call[way](state[0], state[1], swept, 1, team)
            once = min(once, library.call[way](state[0], state[1], swept, 1, team))
            state[2] = max(1, int(SPAN / max(once, 1e-8)))
        seconds = library.call[way](state[0], state[1], swept, state[2], team)
        return (2.0 if way.startswith("copy") else 1.0) * swept / seconds

    return sample
