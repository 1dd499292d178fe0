"""Times the kernels of a compiled program one by one, in the order and with the caches of a whole call."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Mapping
from typing import Any

from tang_egg.codegen.legalize import identifier
from tang_egg.run import CompiledProgram
from tang_egg.run_arrays import take_dims, take_inputs

_ROUNDS, _LEAST = 15, 3
"""Rounds of all kernels, and how many there are at least however long they take."""


def kernel_times(
    runner: CompiledProgram, arrays: Mapping[str, Any], dims: Mapping[str, int], seconds: float = 1.0
) -> dict[str, float]:
    """The median seconds of each kernel by name, over rounds in which all run in order.

    The first call binds the arrays; then each kernel is called by its own name in the library.
    """
    results = runner(arrays, dims)  # held while the table of pointers leads there
    given = take_inputs(runner.program.graph, arrays)
    call = (tuple(g.array.shape for g in given.values()), tuple(take_dims(dims, "kernel_times").items()))
    binding = runner._calls[call]
    pointers, sizes = ctypes.addressof(binding.table), ctypes.addressof(binding.dims)
    calls = []
    for s in runner.layout.steps:
        entry = getattr(runner.library, identifier(s.built.kernel.name, set()))
        entry.argtypes, entry.restype = (ctypes.c_void_p,) * 3, None
        calls.append((s.built.plan.name, entry, pointers + 8 * s.slot, sizes + 8 * s.dim))
    times: dict[str, list[float]] = {name: [] for name, *_ in calls}
    end = time.perf_counter() + seconds
    with runner._lock:
        for n in range(_ROUNDS):
            if n >= _LEAST and time.perf_counter() > end:
                break
            for name, entry, at, of in calls:
                start = time.perf_counter()
                entry(at, of, binding.scratch)
                times[name].append(time.perf_counter() - start)
    del results
    return {name: statistics.median(t) for name, t in times.items()}
