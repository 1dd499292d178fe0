"""Suite `floor.c`: C kernels of many programs and sizes, called directly, cold and warm, beside streams of their bytes.

Cold: right before every call all threads empty all caches (see floor_stream). Warm: right before it the same call ran.
Each round times, in an order drawn anew, the kernel and loops that stream as many bytes as its graph must read and
write, side by side: by stores that go through the caches, by stores that pass by them, by one thread if they are few.
So a row has two measures of its kernel, which are never mixed:

reach       floor / time: the floor takes the best that was ever measured on the device, and holds for anything
of_stream   time of the fastest of these loops / time, in the same rounds: what the machine gave just then. It is no
            bound: a kernel may be faster than a plain loop, above all where caches keep what a stream passes by

Rows keep the least and the median of the calls, and of the stream (`stream_least_ms`); `state` says which; `moved` is
[bytes read, bytes written] at least.
"""

from __future__ import annotations

import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import tang_egg as te
from bench import log
from bench.floor_programs import PROGRAMS, Sizes, cases, graph_of
from bench.floor_stream import WAYS, Stage
from tang_egg.cost.floor import traffic_floor
from tang_egg.errors import TangError
from tang_egg.ir import Graph
from tang_egg.run import CompiledProgram, DirectCall
from tang_egg.run_arrays import NUMPY

ROUNDS, LEAST = 25, 5
CHECKED = 1 << 25
"""Bytes up to which a kernel is compared with the interpreter before it is timed: the same program at another size."""
ALONE = 1 << 20
"""Bytes up to which one thread may stream them faster than a team that has to be started."""
KERNEL = "kernel"


def rows(seconds: float, only: str = "", stage: Stage | None = None) -> Iterator[log.Row]:
    """Rows of all cases whose name `only` is found in, about `seconds` for each state of each; failures are said."""
    stage = stage or Stage()
    for name, sizes in cases():
        title = f"{name} {' '.join(f'{k}={v}' for k, v in sizes.items())}"
        if not re.search(only, title):
            continue
        graph = graph_of(name, sizes)
        read, written = moved(graph)
        try:
            call, schedule = prepared(graph, read + written <= CHECKED)
        except TangError as error:
            print(f"{title}: {error}", file=sys.stderr)
            continue
        for state in ("cold", "warm"):
            taken = rounds(timers(stage, call, read, written, state == "cold"), seconds)
            yield _row(name, sizes, state, schedule, (read, written), taken)


def moved(graph: Graph) -> tuple[int, int]:
    """Bytes that any implementation reads and writes at least, each element once."""
    floor = traffic_floor(graph, capacity=1 << 40)
    return sum(n for _, n in floor.reads), sum(n for _, n in floor.writes)


def prepared(graph: Graph, verified: bool = True) -> tuple[DirectCall, str]:
    """A call of all kernels of the compiled graph on random inputs, without Python around it; and their schedules."""
    compiled = te.optimize(graph, verified=verified)
    runner = compiled.runner
    assert isinstance(runner, CompiledProgram)
    numbers = np.random.default_rng(0)
    arrays = {i.name: _values(numbers, tuple(n.evaluate({}) for n in i.shape), i.dtype) for i in graph.inputs}
    return runner.direct(arrays), "; ".join(f"{b.plan.name}: {b.schedule}" for b in runner.kernels)


def _values(numbers: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Normal values, integers from 0 to 99; bf16 as its bits."""
    kind = np.dtype(NUMPY[dtype])
    if kind.kind in "iu" and dtype != "bf16":
        return numbers.integers(0, 100, shape).astype(kind)
    drawn = numbers.standard_normal(shape, np.float32)
    return (drawn.view(np.uint32) >> 16).astype(kind) if dtype == "bf16" else drawn.astype(kind, copy=False)


def timers(stage: Stage, call: DirectCall, read: int, written: int, cold: bool) -> dict[str, Callable[[], float]]:
    """What a round times: the kernel, and each way to stream its bytes."""

    def streamed(way: str) -> Callable[[], float]:
        return lambda: stage.stream_seconds(read, written, way, cold)

    ways = [w for w in WAYS if (w != "past" or written) and (w != "alone" or read + written <= ALONE)]
    return {KERNEL: lambda: stage.seconds(call, cold)} | {w: streamed(w) for w in ways}


def rounds(
    timed: Mapping[str, Callable[[], float]], seconds: float, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds by name for LEAST to ROUNDS rounds, about `seconds` in all, after one that does not count."""
    order, names = random.Random(0), list(timed)
    for name in names:
        timed[name]()
    found: dict[str, list[float]] = {name: [] for name in names}
    end = clock() + seconds
    for n in range(ROUNDS):
        if n >= LEAST and clock() > end:
            break
        order.shuffle(names)
        for name in names:
            found[name].append(timed[name]())
    return found


def share(taken: Mapping[str, list[float]]) -> tuple[str, float, float]:
    """The way of the fastest stream, its median in seconds, and the median of its time over the kernel's by rounds."""
    way = min((w for w in taken if w != KERNEL), key=lambda w: statistics.median(taken[w]))
    ratios = [s / k for s, k in zip(taken[way], taken[KERNEL], strict=True)]
    return way, statistics.median(taken[way]), statistics.median(ratios)


def _row(
    name: str, sizes: Sizes, state: str, schedule: str, bytes: tuple[int, int], taken: Mapping[str, list[float]]
) -> log.Row:
    own = taken[KERNEL]
    low, middle, high = (float(x) for x in np.quantile(own, (0.25, 0.5, 0.75)))
    way, streamed, ratio = share(taken)
    return log.row(
        "floor.c", name, f"tang_egg {te.__version__} c", shape=dict(sizes), dtype=PROGRAMS[name].dtype,
        median_ms=_short(1e3 * middle), spread_ms=_short(1e3 * (high - low)), least_ms=_short(1e3 * min(own)),
        state=state, calls=len(own), moved=list(bytes), stream_ms=_short(1e3 * streamed), stream=way,
        stream_least_ms=_short(1e3 * min(taken[way])), of_stream=_short(ratio), schedule=schedule,
    )  # fmt: skip


def _short(x: float) -> float:
    return float(f"{x:.4g}")
