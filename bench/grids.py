"""`python -m bench grids`: the same graphs on every target of a device, in turns in one run.

For CUDA, OpenCL, WGSL and GLSL each program is compiled, verified, and its kernels are bound to arrays on the device.
Rounds of calls are timed by the wall clock between two waits, so many calls that a round takes about a tenth of a
second. A target that does not work here is said and left out. Rows go to the suite `grids` of the log.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import tang_egg as te
from bench import log
from bench.floor_programs import Sizes, graph_of
from tang_egg.errors import TangError
from tang_egg.ir import Graph

Call: TypeAlias = "Callable[[], object]"
TARGETS = ("cuda", "opencl", "wgsl", "glsl")
ROUND = 0.1
"""Seconds of a round."""
ROUNDS = 9
SIZES: Mapping[str, Sizes] = {
    "scaled": {"n": 1 << 26},
    "rows": {"m": 16384, "n": 4096},
    "softmax": {"m": 16384, "n": 4096},
    "rms_norm": {"m": 16384, "n": 4096},
    "layer_norm": {"m": 16384, "n": 4096},
    "variance": {"m": 16384, "n": 4096},
    "logsumexp": {"m": 16384, "n": 4096},
    "bias_gelu": {"m": 16384, "n": 4096},
    "running": {"m": 16384, "n": 1024},
    "matmul": {"m": 1024, "n": 1024, "k": 1024},
    "attention": {"h": 8, "n": 1024, "d": 64},
}
"""Programs of floor.c at sizes of a GPU; on a processor, --small."""
SMALL: Mapping[str, Sizes] = {
    "scaled": {"n": 1 << 20}, "softmax": {"m": 512, "n": 512}, "matmul": {"m": 128, "n": 128, "k": 128},
}  # fmt: skip


def bound(
    graph: Graph, target: str, arrays: Mapping[str, Any]
) -> tuple[Callable[[], object], Callable[[], object], str]:
    """A call that enqueues the verified kernels, what waits for all calls, and the device. Raises TangError."""
    compiled = te.optimize(graph, target=target)
    call: Any = compiled.prepare(**arrays)
    if target == "cuda":
        import cupy

        from tang_egg.run_cuda_driver import driver

        return call, cupy.cuda.runtime.deviceSynchronize, driver().title
    return call, call.finish, str(call.grid.title)


def seconds_of(calls: Mapping[str, tuple[Call, Call]]) -> dict[str, list[float]]:
    """Seconds of a call of each, by rounds in turns."""
    counts: dict[str, int] = {}
    for name, (call, wait) in calls.items():
        call(), wait()
        start = time.perf_counter()
        call(), wait()
        counts[name] = max(1, min(1000, int(ROUND / max(time.perf_counter() - start, 1e-6))))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, (call, wait) in calls.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                call()
            wait()
            found[name].append((time.perf_counter() - start) / counts[name])
    return found


def rows(targets: Sequence[str], sizes: Mapping[str, Sizes], commit: str = "") -> Iterator[log.Row]:
    """A row for each program and target that works."""
    random = np.random.default_rng(0)
    for name, shape in sizes.items():
        graph = graph_of(name, shape)
        arrays = {
            i.name: random.standard_normal(tuple(n.evaluate({}) for n in i.shape)).astype(np.float32)
            for i in graph.inputs
        }
        calls: dict[str, tuple[Call, Call]] = {}
        devices: dict[str, str] = {}
        for target in targets:
            try:
                call, wait, devices[target] = bound(graph, target, arrays)
                calls[target] = call, wait
            except (TangError, ImportError) as error:
                print(f"{name} on {target}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
        for target, taken in seconds_of(calls).items():
            low, middle, high = (1e3 * float(x) for x in np.quantile(taken, (0.25, 0.5, 0.75)))
            own = {"commit": commit} if commit else {}
            yield log.row(
                "grids", name, f"tang_egg {te.__version__} {target}", device=devices[target].split(",")[0],
                shape=dict(shape), dtype="f32", median_ms=round(middle, 5), spread_ms=round(high - low, 5),
                driver=devices[target], **own,
            )  # fmt: skip


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench grids", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=TARGETS, help="(default: all)")
    parser.add_argument("--programs", nargs="+", default=[], choices=sorted(SIZES), metavar="NAME", help="these only")
    parser.add_argument("--small", action="store_true", help="few programs at sizes for a processor")
    parser.add_argument("--log", type=Path, default=log.FILE, metavar="FILE", help="(default: bench/log.jsonl)")
    parser.add_argument("--commit", default="", metavar="TEXT", help="the commit of the tree, where git cannot tell")
    given = parser.parse_args(arguments)
    sizes = {n: s for n, s in (SMALL if given.small else SIZES).items() if not given.programs or n in given.programs}
    best: dict[str, float] = {}
    for row in rows(given.targets, sizes, given.commit):
        log.append([row], given.log)
        first = best.setdefault(row["program"], row["median_ms"])
        ratio = first / row["median_ms"]
        print(f"{row['program']:12} {row['system']:24} {row['median_ms']:9.4f} ms  {ratio:5.2f} of the first's speed")
    return 0 if best else 1
