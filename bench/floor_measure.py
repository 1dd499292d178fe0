"""Suite `floor.c`: C kernels of many programs and sizes, called directly, cold and warm.

Cold: before every call a buffer of four times the last cache is written, so that nothing of the inputs is left in any
cache. Warm: the same buffers again and again. Rows keep the least and the median of the calls; `state` says which.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tang_egg as te
from bench import log
from bench.floor_programs import Sizes, cases, graph_of
from tang_egg.errors import TangError
from tang_egg.ir import Graph
from tang_egg.measure import call_seconds
from tang_egg.probe_host import caches
from tang_egg.run import CompiledProgram, threads
from tang_egg.run_arrays import NUMPY

ROUNDS, LEAST = 25, 5


def rows(seconds: float, only: str = "") -> Iterator[log.Row]:
    """Rows of all cases whose name `only` is found in, about `seconds` for each state of each; failures are said."""
    flush = np.zeros((4 * caches(threads())[-1].capacity) // 8)
    for name, sizes in cases():
        title = f"{name} {' '.join(f'{k}={v}' for k, v in sizes.items())}"
        if not re.search(only, title):
            continue
        try:
            call, schedule = prepared(graph_of(name, sizes))
        except TangError as error:
            print(f"{title}: {error}", file=sys.stderr)
            continue
        for state in ("cold", "warm"):
            before = (lambda: flush.__iadd__(1.0)) if state == "cold" else (lambda: None)
            (taken,) = call_seconds([call], ROUNDS, seconds, before, LEAST)
            yield _row(name, sizes, state, schedule, taken)


def prepared(graph: Graph) -> tuple[Callable[[], object], str]:
    """A call of all kernels of the compiled graph on random inputs, without Python around it; and their schedules."""
    compiled = te.optimize(graph)
    runner = compiled.runner
    assert isinstance(runner, CompiledProgram)
    random = np.random.default_rng(0)
    arrays = {i.name: _values(random, tuple(n.evaluate({}) for n in i.shape), i.dtype) for i in graph.inputs}
    return runner.direct(arrays), "; ".join(f"{b.plan.name}: {b.schedule}" for b in runner.kernels)


def _values(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    kind = np.dtype(NUMPY[dtype])
    if kind.kind in "iu":
        return random.integers(0, 100, shape).astype(kind)
    return random.standard_normal(shape).astype(kind)


def _row(name: str, sizes: Sizes, state: str, schedule: str, taken: list[float]) -> log.Row:
    low, middle, high = (float(x) for x in np.quantile(taken, (0.25, 0.5, 0.75)))
    return log.row(
        "floor.c", name, f"tang_egg {te.__version__} c", shape=dict(sizes), dtype="f32",
        median_ms=_short(1e3 * middle), spread_ms=_short(1e3 * (high - low)), least_ms=_short(1e3 * min(taken)),
        state=state, calls=len(taken), schedule=schedule,
    )  # fmt: skip


def _short(x: float) -> float:
    return float(f"{x:.4g}")
