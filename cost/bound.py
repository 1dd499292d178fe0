"""The time floor of a graph, a program or a kernel on a device: from traffic floors at all levels, and operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tang_egg.cost.device import Device, Traffic
from tang_egg.cost.floor import traffic_floor
from tang_egg.cost.time import Term, TimeFloor, Work, said, time_floor
from tang_egg.cost.work import operations
from tang_egg.ir import Graph, Tensor
from tang_egg.program import KernelPlan, Program

LEAST = 64
"""Bytes of fast memory below which no floor is asked for."""


def least_time(
    what: Graph | Program | KernelPlan | Tensor,
    device: Device,
    *,
    state: str = "cold",
    levels: Sequence[str] = (),
    products: Mapping[str, str] | None = None,
) -> TimeFloor:
    """Seconds that no implementation of `what` undercuts on a device.

    A graph may be cut in any way and is launched once; a program is the sum of its kernels, each launched by itself.
    `state`: "cold" where no cache holds any of the data at the start, "warm" where caches may. `levels`: the levels
    whose traffic counts, all by default. `products`: the type in which products of operands of a type are allowed to
    run, {"f32": "tf32"}. Raises BindError where a dim is not bound, GraphError for an unknown state.
    """
    if isinstance(what, Program):
        kernels = [least_time(k, device, state=state, levels=levels, products=products) for k in what.kernels]
        return _in_turn(kernels, [k.name for k in what.kernels])
    traffic: dict[str, Traffic] = {}
    said_of: list[str] = []
    for level in device.levels:
        faster = device.faster_than(level.name)
        if faster < LEAST or level.ceiling <= 0 or (levels and level.name not in levels):
            continue
        # registers, and shared memory, hold nothing when a kernel starts
        fresh = all(x.name in ("registers", "shared") for x in device.levels[: device.levels.index(level)])
        begins = "cold" if fresh else state
        floor = traffic_floor(what, capacity=faster, level=level.name, state=begins)
        held = faster if begins == "warm" else 0
        read, written = (max(0, sum(n for _, n in x) - held) for x in (floor.reads, floor.writes))
        traffic[level.name] = Traffic(floor.bytes, read, written)
        said_of += floor.conditions
    found = time_floor(device, traffic, _allowed(operations(what), products or {}))
    return replace(found, conditions=tuple(dict.fromkeys((*found.conditions, *said_of))))


def _allowed(work: tuple[Work, ...], products: Mapping[str, str]) -> list[Work]:
    return [replace(w, operand=products.get(w.operand, w.operand)) if w.product else w for w in work]


def _in_turn(kernels: Sequence[TimeFloor], names: Sequence[str]) -> TimeFloor:
    """The floor of kernels that run one after another."""
    if len(kernels) == 1:
        return kernels[0]
    apart = [k.seconds - k.launch for k in kernels]
    parts = ", ".join(f"{name} {said(x)} by {k.binding.what}" for name, x, k in zip(names, apart, kernels, strict=True))
    return TimeFloor(
        sum(k.launch for k in kernels), (Term("kernels", sum(apart), parts),) if kernels else (), False,
        all(k.proves for k in kernels), tuple(dict.fromkeys(c for k in kernels for c in k.conditions)),
    )  # fmt: skip
