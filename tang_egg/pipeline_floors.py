"""What certified selection needs of a target: its constants, floors of kernels in seconds, guesses, and proposals.

A floor is the traffic floor of a kernel at every level of memory and its operations, over the constants of the device
(see cost/time); one schedule may have a higher one from what it gives up (see cost/floor_schedule), one without threads
that of one core. In the declared state of the caches: "cold" finds no input in a cache, but may leave outputs there;
"warm" may find inputs there too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod

from tang_egg.affine import Affine
from tang_egg.codegen.candidates import schedules as schedule_candidates
from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.device import UNITS
from tang_egg.codegen.merge_folds import merge_folds
from tang_egg.codegen.partition import partition
from tang_egg.codegen.split_fold import split_streams
from tang_egg.codegen.vectors import AVX2, Vectors
from tang_egg.cost.device import Device
from tang_egg.cost.floor import traffic_floor
from tang_egg.cost.floor_schedule import busiest, one_thread, schedule_terms
from tang_egg.cost.live import points, reached
from tang_egg.cost.model import demand, predict
from tang_egg.cost.time import TimeFloor, Work, time_floor
from tang_egg.cost.work import operations
from tang_egg.extract.space import Floor, standalone
from tang_egg.ir import Input, Read, Tensor
from tang_egg.ops import BYTES
from tang_egg.program import KernelPlan, bound_outputs, single_graph, single_program
from tang_egg.schedule import Schedule

ONE_CORE = "c1"
"""The target under which the constants of one core stand."""


@dataclass(slots=True)
class TimeFloors:
    """The Floors of a device. `core`: the constants of one core, where threads are not all that there is."""

    device: Device
    core: Device | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    cache: str = "warm"
    _known: dict[tuple[tuple[Tensor, ...], str, bool], TimeFloor] = field(default_factory=dict)
    _sized: dict[tuple[Tensor, ...], tuple[Tensor, ...]] = field(default_factory=dict)

    def seconds(self, outputs: tuple[Tensor, ...], schedule: Schedule, *, deep: bool = False) -> Floor:
        """The floor of a kernel, which every schedule has, or a higher one that follows from what this one gives up."""
        found = self.of(outputs, self.device, deep)
        if self.core is None:
            return Floor(found.seconds, found.binding.what, found.proves)
        bound = self.bound(outputs)
        if one_thread(schedule):
            found = max(found, self.of(outputs, self.core, deep), key=lambda f: f.seconds)
        elif (most := busiest(bound, schedule, self.device.workers)) is not None:
            found = max(found, self.of(most, self.core, deep), key=lambda f: f.seconds)
        terms = schedule_terms(bound, schedule, self.device, counted(bound), self.core)
        found = replace(found, terms=(*found.terms, *terms), fixed=True)
        return Floor(found.seconds, found.binding.what, found.proves)

    def bound(self, outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The tensors of a kernel with sizes for their symbolic dims."""
        if outputs not in self._sized:
            self._sized[outputs] = bound_outputs(outputs, self.sizes)
        return self._sized[outputs]

    def of(self, outputs: tuple[Tensor, ...], device: Device, deep: bool) -> TimeFloor:
        """The floor of a kernel with all of its terms."""
        key = (outputs, device.target, deep)
        if key not in self._known:
            bound = self.bound(outputs)
            self._known[key] = time_floor(device, self.traffic(bound, device, deep), counted(bound))
        return self._known[key]

    def traffic(self, outputs: tuple[Tensor, ...], device: Device, deep: bool) -> dict[str, float]:
        """Bytes that cross into what is faster, by level; `outputs` have no symbolic sizes."""
        read, written = touched(outputs)
        found: dict[str, float] = {}
        for x in device.levels:
            capacity = device.faster_than(x.name) if x.ceiling > 0 else 0
            if capacity > 0:
                held = capacity if self.cache == "warm" else 0
                found[x.name] = max(0.0, read - held) + max(0.0, written - capacity)
                if deep:
                    found[x.name] = max(found[x.name], crossing(outputs, capacity, self.cache))
        return found


@lru_cache(maxsize=1 << 14)
def crossing(outputs: tuple[Tensor, ...], capacity: int, cache: str) -> float:
    """Bytes that a kernel moves between `capacity` bytes of fast memory and what is behind it, at least."""
    found = traffic_floor(KernelPlan("kernel", outputs), capacity=capacity, state=cache)
    if cache == "warm":
        return float(found.bytes)
    return float(max(0, found.bytes - min(capacity, sum(n for _, n in found.writes))))


@lru_cache(maxsize=1 << 10)
def counted(outputs: tuple[Tensor, ...]) -> tuple[Work, ...]:
    """The operations of a kernel, which all of its schedules and all devices have in common."""
    return operations(single_graph(outputs))


@lru_cache(maxsize=1 << 10)
def touched(outputs: tuple[Tensor, ...]) -> tuple[float, float]:
    """Bytes of inputs that are read and of outputs that are written at least once, as far as a quick look tells.

    A read counts where it is surely made and each of its coordinates is an index of its own.
    """
    found: dict[Input, float] = {}
    for s, contexts in reached(outputs).items():
        if isinstance(s, Read) and isinstance(s.source, Input):
            singles = [c.single() for c in s.coordinates if isinstance(c, Affine) and c.indices()]
            plain = all(isinstance(c, Affine) for c in s.coordinates) and None not in singles
            if plain and len(set(singles)) == len(singles):
                count = max(0.0 if c is None else points((i for i in singles if i), c) for c in contexts)
                found[s.source] = max(found.get(s.source, 0.0), count)
    written = sum(prod(max(n.evaluate({}), 0) for n in t.shape) * BYTES[t.dtype] for t in outputs)
    return sum(count * BYTES[i.dtype] for i, count in found.items()), float(written)


@dataclass(slots=True)
class ModelGuesses:
    """Guesses from the model of schedules (cost/model); equals stay in the order in which they are declared."""

    device: Device
    sizes: Mapping[str, int] = field(default_factory=dict)
    _bound: dict[tuple[Tensor, ...], KernelPlan] = field(default_factory=dict)

    def seconds(self, outputs: tuple[Tensor, ...], schedule: Schedule) -> float:
        """The prediction for a kernel under a schedule."""
        if outputs not in self._bound:
            self._bound[outputs] = KernelPlan("kernel", bound_outputs(outputs, self.sizes))
        return predict(self.device, demand(self._bound[outputs], schedule, self.device)).seconds


@dataclass(slots=True)
class CpuOffers:
    """What the target "c" offers: every kernel as it is, schedules for so many threads and such vectors."""

    threads: int
    vectors: Vectors = AVX2
    proposals: dict[tuple[Tensor, ...], tuple[Schedule, ...]] = field(default_factory=dict)

    def parts(self, outputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], ...]:
        return (outputs,)

    def schedules(self, outputs: tuple[Tensor, ...]) -> tuple[Schedule, ...]:
        if outputs not in self.proposals:
            self.proposals[outputs] = schedule_candidates(outputs, threads=self.threads, vectors=self.vectors)
        return self.proposals[outputs]


@dataclass(slots=True)
class DeviceOffers:
    """What the target "cuda" offers: kernels cut as it runs them; `tiles`: products on the matrix units too."""

    tiles: bool = True
    proposals: dict[tuple[Tensor, ...], tuple[Schedule, ...]] = field(default_factory=dict)

    def parts(self, outputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], ...]:
        program = split_streams(merge_folds(partition(single_program(outputs))), UNITS)
        return tuple(standalone(k.outputs) for k in program.kernels)

    def schedules(self, outputs: tuple[Tensor, ...]) -> tuple[Schedule, ...]:
        if outputs not in self.proposals:
            found = device_schedules(outputs, True) if self.tiles else grid_schedules(outputs)
            self.proposals[outputs] = found
        return self.proposals[outputs]


@dataclass(slots=True)
class GridOffers:
    """What a target of plain threads offers. `lanes`: whether threads exchange values fast, see targets.Wish."""

    lanes: bool = True
    proposals: dict[tuple[Tensor, ...], tuple[Schedule, ...]] = field(default_factory=dict)

    def parts(self, outputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], ...]:
        return tuple(standalone(k.outputs) for k in partition(single_program(outputs)).kernels)

    def schedules(self, outputs: tuple[Tensor, ...]) -> tuple[Schedule, ...]:
        if outputs not in self.proposals:
            found = grid_schedules(outputs)
            self.proposals[outputs] = found if self.lanes else tuple(sorted(found, key=lambda s: s.shape == "split"))
        return self.proposals[outputs]
