"""An estimate of the time of a kernel under a schedule, above its floor: it orders candidates and never rules one out.

    seconds = launch (+ team) + max(traffic of each level, arithmetic, issue, chains) + EXPOSED · (the rest of them)

`demand` counts what a schedule asks of a device: tile traffic of every level, operations, instructions, groups, chains.
`predict` turns that into seconds with the median constants of the device. What is counted where:

- **tile traffic**: the schedule is a nest of loops over tiles. At a level, the deepest loops whose operands fit
  together into everything faster are its tile; an operand is fetched once for each turn of the loops around the tile
  that change it, and of those outside of such loops.
- **occupancy**: groups run in rounds of as many as the device holds; a last round that is not full costs as much.
- **issue**: loads, stores (what crosses into registers) and operations, each vector one instruction, over workers ·
  clock · ISSUED.
- **chains**: a fold of one accumulator waits for the latency of an addition at each step.

Folds that run one after another over the same rows are taken as one nest: what a second pass reads again counts only
where the tile of the nest does not hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, prod

from tang_egg import ops
from tang_egg.affine import Affine, Index
from tang_egg.cost.device import Device, Level
from tang_egg.cost.time import TimeFloor, Work, said
from tang_egg.cost.work import operations
from tang_egg.errors import BindError
from tang_egg.ir import Read, Reduce, Scan, Tensor, walk
from tang_egg.program import KernelPlan
from tang_egg.schedule import Schedule

VECTOR = 8
"""Lanes of a vector, about."""
EXPOSED = 0.15
"""The share of what does not bind that is seen all the same."""
ISSUED = 3.0
"""Instructions of a worker in one cycle."""
ADDITION = 4.0
"""Cycles until the result of an addition can be used."""


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop of a nest: its index, how often it turns, and how many points of the index each turn covers."""

    index: Index
    turns: int
    step: int


@dataclass(frozen=True, slots=True)
class Operand:
    """An array as a nest touches it: bytes of an element, and the coordinates by which it is read or written."""

    name: str
    width: int
    coordinates: tuple[Affine | None, ...]

    def depends(self, index: Index) -> bool:
        """Whether another value of an index means other elements; an unknown coordinate may mean any."""
        return any(c is None or any(i is index or i == index for i, _ in _strides(c)) for c in self.coordinates)

    def footprint(self, extents: Mapping[Index, int]) -> int:
        """Bytes touched while each index runs over so many points: the box around them."""
        elements = 1
        for c in self.coordinates:
            if c is None:
                elements *= max(1, prod(extents.values()))
            else:
                elements *= 1 + sum(step * (extents.get(i, 1) - 1) for i, step in _strides(c))
        return elements * self.width


@lru_cache(maxsize=1 << 14)
def _strides(c: Affine) -> tuple[tuple[Index, int], ...]:
    """The indices of a coordinate, and by how much one step of each moves it."""
    return tuple((i, abs(int(c.coefficient(i).evaluate({})))) for i in c.indices())


@dataclass(frozen=True, slots=True)
class Demand:
    """What a kernel asks of a device under a schedule."""

    traffic: Mapping[str, float]
    work: tuple[Work, ...] = ()
    groups: int = 1
    instructions: float = 0.0
    chain: float = 0.0
    parallel: bool = False


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds, and the parts: what each resource would take by itself."""

    seconds: float
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def binding(self) -> str:
        """The resource that takes longest."""
        return max(self.parts, key=lambda n: self.parts[n], default="launch")

    def text(self) -> str:
        """One line."""
        ordered = sorted(self.parts.items(), key=lambda p: -p[1])
        return f"predicted {said(self.seconds)}: " + ", ".join(f"{name} {said(x)}" for name, x in ordered)


def nest_traffic(loops: Sequence[Loop], operands: Iterable[Operand], capacity: int) -> float:
    """Bytes that a nest of loops fetches into `capacity` bytes of fast memory, outermost loop first."""
    operands = tuple(operands)
    for depth in range(len(loops) + 1):
        extents = _extents(loops[depth:])
        if sum(o.footprint(extents) for o in operands) <= capacity or depth == len(loops):
            return float(sum(_fetched(o, loops[:depth], o.footprint(extents)) for o in operands))
    raise AssertionError("the innermost body is a tile")


def _fetched(operand: Operand, around: Sequence[Loop], tile: int) -> int:
    """Bytes of one operand: its part of a tile, for each turn of the loops down to the last one that changes it."""
    changing = [n for n, loop in enumerate(around) if operand.depends(loop.index)]
    last = changing[-1] + 1 if changing else 0
    return tile * prod(loop.turns for loop in around[:last])


def _extents(inner: Sequence[Loop]) -> dict[Index, int]:
    """Points of each index that some loops run over together: turns of all, times the least step."""
    found: dict[Index, int] = {}
    for loop in inner:
        size = loop.index.size.evaluate({})
        found[loop.index] = min(size, max(found.get(loop.index, 0), loop.turns * loop.step))
    return found


def indices_of(plan: KernelPlan) -> tuple[tuple[Index, ...], tuple[Index, ...]]:
    """The indices of a kernel's outputs, and those that folds run over beside them."""
    axes = tuple(dict.fromkeys(i for t in plan.outputs for i in t.axes))
    return axes, tuple(dict.fromkeys(i for t in plan.outputs for i in _folded(t) if i not in axes))


def _loops(axes: tuple[Index, ...], folds: tuple[Index, ...], schedule: Schedule) -> tuple[Loop, ...]:
    """The nest that a schedule makes: output indices in its order, then folds, then the points of both tiles."""
    place = {name: n for n, name in enumerate((*schedule.order, *schedule.grid))}
    axes = tuple(sorted(axes, key=lambda i: place.get(i.name, len(place))))
    own = set(axes)
    outer: list[Loop] = []
    inner: list[Loop] = []
    for i in (*axes, *folds):
        size = i.size.evaluate({})
        tile = schedule.tile_of(i.name) if i in own else schedule.fold_of(i.name).size
        step = size if tile == 0 else min(max(tile, 1), max(size, 1))
        outer.append(Loop(i, ceil(size / step) if step else 0, max(step, 1)))
        if step > 1:
            inner.append(Loop(i, step, 1))
    return (*outer, *inner)


def _folded(t: Tensor) -> list[Index]:
    found: list[Index] = []
    for s in walk(t.body):
        found += list(s.indices) if isinstance(s, Reduce) else [s.index] if isinstance(s, Scan) else []
    return found


def operands_of(plan: KernelPlan) -> tuple[Operand, ...]:
    """The arrays that a kernel reads and writes, each view once."""
    found: dict[Operand, None] = {}
    for t in plan.outputs:
        found[Operand(t.name, ops.BYTES[t.dtype], tuple(_form(i) for i in t.axes))] = None
        for s in walk(t.body):
            if isinstance(s, Read):
                at = tuple(c if isinstance(c, Affine) else None for c in s.coordinates)
                found[Operand(s.source.name, ops.BYTES[s.source.dtype], at)] = None
    return tuple(found)


def _form(i: Index) -> Affine:
    return i + 0


def demand(plan: KernelPlan, schedule: Schedule, device: Device) -> Demand:
    """What a kernel asks of a device under a schedule. Raises BindError where a dim is not bound."""
    work, operands, indices = _asked(plan.outputs)  # refuses what is not bound
    loops = _loops(*indices, schedule)
    if any(loop.index.size.dims() for loop in loops):
        raise BindError("a dim of a kernel has no value", where=plan.name, mend="bind the graph first: graph.bind(…)")
    traffic = {
        level.name: nest_traffic(loops, operands, nearer)
        for level, nearer in _private(device)
        if nearer and level.ceiling > 0
    }
    fetched = next(iter(traffic.values()), 0.0)
    axes = {i for t in plan.outputs for i in t.axes}
    split = {*schedule.parallel, *schedule.grid}
    groups = prod(loop.turns for loop in _once(loops) if loop.index in axes and loop.index.name in split)
    points = prod(max(i.size.evaluate({}), 0) for i in {loop.index for loop in loops})
    flops = sum(w.operations for w in work)
    wide = VECTOR if schedule.shape != "point" or not schedule.fold else 1
    folds = prod(loop.turns for loop in _once(loops) if loop.index not in axes)
    accumulators = max(1, prod(loop.step for loop in _once(loops))) * wide
    per_group = points / max(groups, 1)
    return Demand(
        traffic, work, max(groups, 1), (flops / 2 + fetched / 4) / wide,
        per_group / accumulators if folds > 1 else 0.0, bool(split),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _asked(
    outputs: tuple[Tensor, ...],
) -> tuple[tuple[Work, ...], tuple[Operand, ...], tuple[tuple[Index, ...], tuple[Index, ...]]]:
    """What every schedule of a kernel has in common: operations, arrays, output indices and folded ones."""
    plan = KernelPlan("kernel", outputs)
    return operations(plan), operands_of(plan), indices_of(plan)


def _private(device: Device) -> list[tuple[Level, int]]:
    """Each level with the bytes that one worker has in front of it."""
    found: list[tuple[Level, int]] = []
    total = 0
    for level in device.levels:
        found.append((level, total))
        total += level.capacity
    return found


def _once(loops: Sequence[Loop]) -> list[Loop]:
    """The outer loop of each index."""
    found: dict[Index, Loop] = {}
    for loop in loops:
        found.setdefault(loop.index, loop)
    return list(found.values())


def predict(device: Device, asked: Demand, floor: TimeFloor | None = None) -> Prediction:
    """Seconds that a kernel may be expected to take; never less than a floor that is given."""
    workers = device.workers if asked.parallel else 1
    rounds = ceil(asked.groups / max(device.slots, 1)) if asked.parallel else 1
    full = asked.groups / (rounds * device.slots) if asked.parallel else 1 / max(device.slots, 1)
    parts: dict[str, float] = {}
    for level in device.levels:
        moved = asked.traffic.get(level.name, 0.0)
        if moved > 0 and level.rate > 0:
            shared = 1.0 if level.capacity == 0 or level.instances < workers else min(1.0, full)
            parts[level.name] = level.latency.value + moved / (level.rate * max(shared, 1e-3))
    for work in asked.work:
        rates = [u.rate.value or u.rate.stated for u in device.units_for(work.operand, work.product)]
        if rates and max(rates) > 0:
            name = f"arithmetic {work.operand}"
            parts[name] = parts.get(name, 0.0) + work.operations / (max(rates) * max(min(1.0, full), 1e-3))
    if device.clock > 0:
        parts["issue"] = asked.instructions / (
            workers * device.clock * ISSUED * max(min(1.0, full * device.slots / workers), 1e-3)
        )
        parts["chains"] = rounds * asked.chain * ADDITION / device.clock
    start = device.launch.value + (device.team.value if asked.parallel else 0.0)
    most = max(parts.values(), default=0.0)
    seconds = start + most + EXPOSED * (sum(parts.values()) - most)
    return Prediction(max(seconds, floor.seconds if floor is not None else 0.0), parts)
