"""A program's kernels for given sizes: grids, temporaries, counters, and the arguments of each launch.

Arguments stand in the order of the printed kernel (dialects.cuda.arguments).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tang_egg.affine import affine
from tang_egg.codegen.dialects.cuda import arguments
from tang_egg.codegen.kernel import Buffer, Kernel, Store, number
from tang_egg.codegen.kernel_run import run_kernel
from tang_egg.errors import BindError, InputError
from tang_egg.ir import Source, Tensor
from tang_egg.program import Program
from tang_egg.run_arrays import NUMPY
from tang_egg.run_cuda_arrays import Placed
from tang_egg.run_cuda_driver import Driver, Function, MapSpec
from tang_egg.run_cuda_maps import map_spec
from tang_egg.run_layout import Built, same_memory

Launch: TypeAlias = "tuple[Function, tuple[int, int, int], tuple[int, int, int], tuple[Any, ...], int]"
"""A kernel with grid, block, arguments and bytes of shared memory."""

COUNTED = 17 * 10**8
"""Kernels count elements and blocks in 32 bits; a loop over a grid steps up to a quarter past its end."""
MAPS = 256
"""Encoded tensor maps that a binding keeps."""


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel at its sizes. Arguments are maps and arrays, whose addresses are still open, and values."""

    function: Function
    blocks: int
    threads: int
    shared: int
    arguments: tuple[tuple[MapSpec, Source] | Source | np.generic, ...]


@dataclass(slots=True)
class Binding:
    """What is kept for one assignment of the dims. `held` keeps counters and scratch alive.

    `shown`: tensors that take the memory of an output, which is the same in another shape.
    """

    shapes: dict[Source, tuple[int, ...]]
    temporaries: dict[Source, Placed]
    steps: tuple[Step, ...]
    held: tuple[Any, ...]
    shown: dict[Tensor, Tensor] = field(default_factory=dict)
    _maps: dict[tuple[MapSpec, int], np.ndarray[Any, Any]] = field(default_factory=dict)
    _zeros: dict[Source, Any] = field(default_factory=dict)

    def launches(self, pointers: Mapping[Source, int], driver: Driver) -> tuple[Launch, ...]:
        """Every launch in order; kernels without tiles are left out."""
        made: list[Launch] = []
        for s in self.steps:
            if s.blocks:
                arguments = tuple(self._argument(a, pointers, driver) for a in s.arguments)
                made.append((s.function, (s.blocks, 1, 1), (s.threads, 1, 1), arguments, s.shared))
        return tuple(made)

    def _argument(
        self, a: tuple[MapSpec, Source] | Source | np.generic, pointers: Mapping[Source, int], driver: Driver
    ) -> Any:
        if isinstance(a, tuple):
            return self._map(a[0], pointers[a[1]], driver)
        return a if isinstance(a, np.generic) else np.uint64(pointers[a])

    def _map(self, spec: MapSpec, pointer: int, driver: Driver) -> np.ndarray[Any, Any]:
        key = (spec, pointer)
        if key not in self._maps:
            if len(self._maps) >= MAPS:
                self._maps.clear()
            self._maps[key] = driver.encode(spec, pointer)
        return self._maps[key]

    def nothing(self, s: Source, driver: Driver) -> int:
        """The address of what reads of an array without elements see: zeros."""
        if s not in self._zeros:
            shape = tuple(max(1, n) for n in self.shapes[s])
            self._zeros[s] = driver.upload(np.zeros(shape, NUMPY[s.dtype]))
        return driver.pointer(self._zeros[s])


def bind(
    program: Program,
    kernels: tuple[Built, ...],
    functions: Mapping[int, Function],
    values: Mapping[str, int],
    driver: Driver,
) -> Binding:
    """Everything that a program needs at some sizes, allocated; counters are zero when this returns.

    Raises BindError or InputError for sizes that the kernels cannot count or copy.
    """
    graph = program.graph
    used = dict.fromkeys((*(s for b in kernels for s in b.sources), *graph.inputs, *graph.outputs))
    shapes: dict[Source, tuple[int, ...]] = {s: tuple(n.evaluate(values) for n in s.shape) for s in used}
    for s, shape in shapes.items():
        check_countable(f"array '{s.name}' of shape {list(shape)}", prod(shape))
    for name, value in values.items():
        check_countable(f"dimension '{name}'", value, BindError)
    held: list[Any] = []
    shown = same_memory(program)
    copied = {(o,) for o in shown.values()}
    run = [b for b in kernels if b.plan.outputs not in copied]
    steps = tuple(_step(b, functions[id(b.kernel)], values, driver, held) for b in run)
    ends = {*graph.inputs, *graph.outputs, *shown}
    temporaries: dict[Source, Placed] = {}
    for s in used:
        if s not in ends:
            array = driver.empty(shapes[s], NUMPY[s.dtype])
            temporaries[s] = Placed(driver.pointer(array), shapes[s], array, "cupy")
    driver.synchronize()  # another stream may launch first: counters must be zero by then
    return Binding(shapes, temporaries, steps, tuple(held), shown)


def _step(b: Built, function: Function, values: Mapping[str, int], driver: Driver, held: list[Any]) -> Step:
    kernel, launch = b.kernel, b.kernel.launch
    assert launch is not None
    named = {d: values[d] for d in kernel.dims}
    tiles = tile_count(kernel, named)
    check_countable(f"the grid of kernel '{b.plan.name}'", tiles)
    most = driver.processors * driver.resident(function, launch.threads, launch.shared_bytes)
    blocks = min(tiles, most) if launch.persistent else tiles
    if launch.early:
        function = driver.early(function)
    places = {buffer.name: s for buffer, s in zip(kernel.buffers, b.sources, strict=True)}
    maps = {m.name: (map_spec(m, values), places[m.buffer.name]) for m in launch.maps} if blocks else {}
    found: list[tuple[MapSpec, Source] | Source | np.generic] = []
    for a in arguments(kernel):
        if a.kind == "map" and blocks:
            found.append(maps[a.name])
        elif a.kind == "buffer":
            found.append(places[a.name])
        elif a.kind == "counters":
            found.append(np.uint64(_zeroed(4 * launch.counters, driver, held)))
        elif a.kind == "scratch":
            count = scratch_bytes(kernel, named) * max(1, blocks) * launch.threads
            found.append(np.uint64(_zeroed(count, driver, held)))
        elif a.kind == "dim":
            found.append(np.int32(values[a.name]))
    return Step(function, blocks, launch.threads, launch.shared_bytes, tuple(found))


def tile_count(kernel: Kernel, dims: Mapping[str, int]) -> int:
    """The tiles of a launch: the value of its expression over the kernel's dims."""
    assert kernel.launch is not None
    found = Buffer("tiles", "i64", "global", affine(1), "output")
    counting = replace(kernel, buffers=(found,), body=(Store(found, number(0), kernel.launch.tiles),), launch=None)
    result = np.zeros(1, np.int64)
    run_kernel(counting, {"tiles": result}, dims)
    return max(0, int(result[0]))


def scratch_bytes(kernel: Kernel, dims: Mapping[str, int]) -> int:
    """Bytes of workspace for one thread."""
    return sum((b.size.evaluate(dims) * np.dtype(NUMPY[b.type]).itemsize + 63) // 64 * 64 for b in kernel.scratch)


def _zeroed(count: int, driver: Driver, held: list[Any]) -> int:
    """The address of as many bytes of zeros, which `held` keeps alive."""
    array = driver.empty((max(64, count),), "uint8")
    held.append(array)
    driver.fill(driver.pointer(array), 0, max(64, count))
    return driver.pointer(array)


def check_countable(
    what: str, count: int, kind: type[BindError | InputError] = InputError, where: str = "sizes for a CUDA program"
) -> None:
    """Raises an error of a kind for what indices of 32 bits cannot count."""
    if count >= COUNTED:
        raise kind(
            f"{what} is too large: {count}, where {COUNTED} can be counted",
            where=where,
            mend="use smaller sizes, or split the work into several calls",
        )
