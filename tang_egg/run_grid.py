"""Programs on a device that runs grids of plain threads: what its runtimes share. A runtime is a Grid, a few calls.

    GridProgram(program, kernels, sources, grid, functions)
    compiled({"A": a, "B": b}) -> {"C": c}                    results live where the inputs do
    compiled.prepare({"A": a, "B": b}) -> GridPrepared        bound once; each call only launches

A kernel gets the buffers of its plan, then its workspace if it has one, then its dims as 32-bit integers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

import numpy as np

from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.kernel import Kernel
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.lower import kernel_sources
from tang_egg.codegen.lower_grid import THREADS, lower_grid
from tang_egg.errors import BindError, CodegenError, InputError
from tang_egg.ir import Graph, Input, Source, Tensor
from tang_egg.program import KernelPlan, Program
from tang_egg.run import build_kernels
from tang_egg.run_arrays import (
    NUMPY,
    Given,
    bind_dims,
    check_output,
    check_present,
    check_written,
    take,
    take_dims,
    take_outputs,
)
from tang_egg.run_cuda_bind import check_countable, scratch_bytes, tile_count
from tang_egg.run_layout import Built, donated, in_place, stored_bytes
from tang_egg.schedule import Schedule

KEPT = 8
"""Assignments of the dims whose temporaries are kept."""
ROOM = 64
"""Bytes of a buffer at least."""
SIZES = "sizes for a device of plain threads"
"""Where what is too large stands."""


@dataclass(frozen=True, slots=True)
class GridArray:
    """An array in memory of the device: its buffer and shape, the caller's array, and whether that is a native one."""

    buffer: Any
    shape: tuple[int, ...]
    origin: Any = None
    native: bool = False
    host: Given | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class Native:
    """What a device knows of a caller's array that lies on it: the buffer, its shape and its NumPy type."""

    buffer: Any
    shape: tuple[int, ...]
    kind: str


class Grid(Protocol):
    """What a program needs of a device. Calls are carried out in the order in which they are made."""

    name: str
    """The target."""
    title: str
    """The device in words."""
    threads: int
    """Threads of a block."""
    together: int
    """Threads of a block of warps; see lower_grid."""
    largest: int
    """Bytes of the largest buffer."""

    def empty(self, count: int) -> Any:
        """A buffer of so many bytes. Raises BindError when there is no memory for it."""

    def upload(self, array: np.ndarray[Any, Any]) -> Any:
        """A buffer with the values of a contiguous array, which the caller does not change before finish()."""

    def download(self, buffer: Any, array: np.ndarray[Any, Any]) -> None:
        """Fills a contiguous array from a buffer, once all that was enqueued is done."""

    def fill(self, buffer: Any, byte: int, count: int) -> None: ...

    def copy(self, target: Any, source: Any, count: int) -> None: ...

    def adopt(self, x: Any) -> Native | None:
        """What it knows of an array that lies on it; None for any other value. InputError where it cannot be read."""

    def native(self, buffer: Any, shape: tuple[int, ...], kind: str) -> Any:
        """An array for the caller over a buffer."""

    def launch(self, function: Any, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        """Enqueues a kernel over buffers and 32-bit integers."""

    def finish(self) -> None:
        """Waits until all that was enqueued is done. Raises TargetError where the device reports an error."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel at its sizes; arguments are arrays, whose buffers are still open, a workspace and dims."""

    function: Any
    blocks: int
    threads: int
    arguments: tuple[Any, ...]


@dataclass(slots=True)
class _Binding:
    """What is kept for one assignment of the dims."""

    shapes: dict[Source, tuple[int, ...]]
    temporaries: dict[Source, GridArray]
    launches: tuple[Launch, ...]
    zeros: dict[Source, Any] = field(default_factory=dict)


@dataclass(slots=True)
class GridPrepared:
    """Kernels bound to arrays. A call enqueues them: nothing is allocated, nothing waits; `finish` waits.

    `outputs` by name, on the device; the inputs' memory is read anew by every call. Two calls of one must not overlap.
    """

    outputs: dict[str, Any]
    grid: Grid
    _launches: tuple[Launch, ...]
    _copies: tuple[tuple[Any, Any, int], ...]
    _held: tuple[object, ...] = ()

    def __call__(self) -> None:
        for x in self._launches:
            self.grid.launch(x.function, x.blocks, x.threads, x.arguments)
        for target, source, count in self._copies:
            self.grid.copy(target, source, count)

    def finish(self) -> None:
        """Waits until all calls so far are done."""
        self.grid.finish()


@dataclass(slots=True)
class GridProgram:
    """A program on a device of plain threads. Calls from several threads are carried out one after another.

    `functions`: what the device launches, by the identity of the kernel. `suffix`: of a source file.
    """

    program: Program
    kernels: tuple[Built, ...]
    sources: dict[str, str]
    grid: Grid
    functions: dict[int, Any]
    compile: Callable[[Program, Mapping[str, Schedule]], GridProgram]
    suffix: str = ""
    _bindings: dict[tuple[object, ...], _Binding] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def source(self) -> str:
        """The sources of all kernels, one file after the other."""
        return "\n".join(f"// ==== {name}{self.suffix}\n{text}" for name, text in self.sources.items())

    def again(self, program: Program, schedules: Mapping[str, Schedule] | None = None) -> GridProgram:
        """Another program on the same device."""
        return self.compile(program, schedules or {})

    def __call__(
        self,
        arrays: Mapping[str, Any],
        dims: Mapping[str, int] | None = None,
        out: Mapping[str, Any] | None = None,
        *,
        fill: int | None = None,
    ) -> dict[str, Any]:
        """The outputs by name: arrays of the device when an input is one, else NumPy arrays.

        `fill`: a byte that outputs and temporaries hold before. Raises InputError when an array does not fit its
        declaration, BindError when a dim has no value or there is no memory.
        """
        graph = self.program.graph
        with self._lock:
            given, values = self._take(arrays, dims)
            results = take_outputs(graph, out)
            binding = self._kept(values)
            native = any(g.native for g in given.values()) and not results
            made, copies = self._outputs(given, binding)
            if fill is not None:
                self._fill(fill, made, binding)
            self._prepared(given, made, copies, binding)()
            found = {t.name: self._result(t, made[t], given, results, native) for t in graph.outputs}
            self.grid.finish()
            return found

    def prepare(
        self, arrays: Mapping[str, Any], dims: Mapping[str, int] | None = None, out: Mapping[str, Any] | None = None
    ) -> GridPrepared:
        """The kernels bound to arrays on the device; arrays of the host are copied there once, now.

        Every one has temporaries of its own. Raises as a call does, and InputError where `out` is given: results lie in
        buffers of the device.
        """
        if out:
            raise InputError(
                f"the array for output '{next(iter(out))}' lies on the host",
                where="prepare",
                mend="leave `out` away and read `prepared.outputs`",
            )
        with self._lock:
            given, values = self._take(arrays, dims)
            binding = self._bind(values)
            made, copies = self._outputs(given, binding)
            prepared = self._prepared(given, made, copies, binding)
            self.grid.finish()
            return prepared

    def hold(self, i: Input, x: Any) -> GridArray:
        """An array for many calls, on the device, of no home: where results live is decided by each call's arrays."""
        with self._lock:
            placed = self._place(i, x)
            self.grid.finish()
        return GridArray(placed.buffer, placed.shape)

    def read(self, i: Input, held: GridArray) -> np.ndarray[Any, Any]:
        """The values of what `hold` gave."""
        array = np.empty(held.shape, NUMPY[i.dtype])
        if array.size:
            self.grid.download(held.buffer, array)
        return array

    # -- inputs

    def _take(
        self, arrays: Mapping[str, Any], dims: Mapping[str, int] | None
    ) -> tuple[dict[Input, GridArray], dict[str, int]]:
        graph: Graph = self.program.graph
        check_present(graph, arrays)
        written = {t.into for t in graph.outputs if t.into}
        given = {i: self._place(i, arrays[i.name], i.name in written) for i in graph.inputs}
        seen: dict[Input, Any] = dict(given)
        return given, bind_dims(graph, seen, take_dims(dims, f"graph '{graph.name}'"))

    def _place(self, i: Input, x: Any, written: bool = False) -> GridArray:
        if isinstance(x, GridArray):  # bound before
            return x
        known = self.grid.adopt(x)
        if known is not None:
            if known.kind != NUMPY[i.dtype]:
                raise InputError(
                    f"input '{i.name}' has elements of type {known.kind}, not {i.dtype}",
                    where=f"an array on the device: {self.grid.title}",
                    mend=f"convert it to {NUMPY[i.dtype]}",
                )
            return GridArray(known.buffer, known.shape, x, True)
        host = take(i, x)
        if written:
            check_written(i, host)
        self._check_room(f"input '{i.name}'", host.array.shape, i.dtype)
        buffer = self.grid.upload(host.array) if host.array.size else None
        return GridArray(buffer, host.array.shape, x, False, host)

    def _check_room(self, what: str, shape: tuple[int, ...], dtype: str) -> None:
        count = prod(shape)
        check_countable(f"{what} of shape {list(shape)}", count, BindError, SIZES)
        size = count * np.dtype(NUMPY[dtype]).itemsize
        if size > self.grid.largest:
            raise BindError(
                f"{what} of shape {list(shape)} is larger than a buffer can be: {size} bytes of {self.grid.largest}",
                where=self.grid.title,
                mend="use smaller sizes, or split the work into several calls",
            )

    # -- sizes

    def _kept(self, values: Mapping[str, int]) -> _Binding:
        key = tuple(sorted(values.items()))
        binding = self._bindings.pop(key, None) or self._bind(values)
        self._bindings[key] = binding
        if len(self._bindings) > KEPT:
            self._bindings.pop(next(iter(self._bindings)))
        return binding

    def _bind(self, values: Mapping[str, int]) -> _Binding:
        graph = self.program.graph
        used = dict.fromkeys((*(s for b in self.kernels for s in b.sources), *graph.inputs, *graph.outputs))
        shapes: dict[Source, tuple[int, ...]] = {s: tuple(n.evaluate(values) for n in s.shape) for s in used}
        for s, shape in shapes.items():
            self._check_room(f"array '{s.name}'", shape, s.dtype)
        for name, value in values.items():
            check_countable(f"dimension '{name}'", value, BindError, SIZES)
        ends = {*graph.inputs, *graph.outputs}
        temporaries = {s: GridArray(self._room(s, shapes[s]), shapes[s]) for s in used if s not in ends}
        launches = tuple(self._launch(b, values) for b in self.kernels)
        return _Binding(shapes, temporaries, launches)

    def _room(self, s: Source, shape: tuple[int, ...]) -> Any:
        return self.grid.empty(max(ROOM, stored_bytes(s, shape)))

    def _launch(self, b: Built, values: Mapping[str, int]) -> Launch:
        kernel, launch = b.kernel, b.kernel.launch
        assert launch is not None
        named = {d: values[d] for d in kernel.dims}
        blocks = tile_count(kernel, named)
        check_countable(f"the grid of kernel '{b.plan.name}'", blocks * launch.threads, BindError, SIZES)
        arguments: list[Any] = list(b.sources)
        if kernel.scratch and blocks:
            arguments.append(self.grid.empty(max(ROOM, scratch_bytes(kernel, named) * blocks * launch.threads)))
        elif kernel.scratch:
            arguments.append(self.grid.empty(ROOM))
        arguments += [np.int32(values[d]) for d in kernel.dims]
        return Launch(self.functions[id(kernel)], blocks, launch.threads, tuple(arguments))

    # -- results

    def _outputs(
        self, given: Mapping[Input, GridArray], binding: _Binding
    ) -> tuple[dict[Tensor, GridArray], list[tuple[Any, Any, int]]]:
        """Where every output goes, and what is copied into donated inputs once the kernels have run."""
        made: dict[Tensor, GridArray] = {}
        copies: list[tuple[Any, Any, int]] = []
        for t in self.program.graph.outputs:
            shape, into = binding.shapes[t], donated(t, given)
            if into is not None and into.buffer is not None and in_place(self.program, t):
                made[t] = into
                continue
            made[t] = GridArray(self._room(t, shape), shape)
            if into is not None and into.buffer is not None and all(shape):
                copies.append((into.buffer, made[t].buffer, stored_bytes(t, shape)))
        return made, copies

    def _fill(self, byte: int, made: Mapping[Tensor, GridArray], binding: _Binding) -> None:
        for t, p in made.items():
            if not t.into and all(p.shape):
                self.grid.fill(p.buffer, byte, stored_bytes(t, p.shape))
        for s, p in binding.temporaries.items():
            if all(p.shape):
                self.grid.fill(p.buffer, byte, stored_bytes(s, p.shape))

    def _prepared(
        self,
        given: Mapping[Input, GridArray],
        made: Mapping[Tensor, GridArray],
        copies: list[tuple[Any, Any, int]],
        binding: _Binding,
    ) -> GridPrepared:
        places: dict[Source, GridArray] = dict(binding.temporaries)
        places.update(given.items())
        places.update(made.items())
        buffers = {s: self._buffer(s, p, binding) for s, p in places.items()}
        launches = tuple(
            Launch(x.function, x.blocks, x.threads, tuple(buffers.get(a, a) if isinstance(a, (Input, Tensor)) else a
                                                          for a in x.arguments))
            for x in binding.launches
            if x.blocks
        )  # fmt: skip
        outputs: dict[str, Any] = {}
        for t in self.program.graph.outputs:
            into = donated(t, given)
            native = into is not None and into.native
            outputs[t.name] = (
                into.origin if into is not None and native
                else self.grid.native(made[t].buffer, binding.shapes[t], NUMPY[t.dtype])
            )  # fmt: skip
        return GridPrepared(outputs, self.grid, launches, tuple(copies), (places, binding))

    def _buffer(self, s: Source, p: GridArray, binding: _Binding) -> Any:
        """The buffer of an array; of one without elements, what reads of it see: zeros."""
        if all(p.shape) and p.buffer is not None:
            return p.buffer
        if s not in binding.zeros:
            zeros = np.zeros(tuple(max(1, n) for n in binding.shapes[s]), NUMPY[s.dtype])
            binding.zeros[s] = self.grid.empty(max(ROOM, zeros.nbytes))
            self.grid.fill(binding.zeros[s], 0, max(ROOM, zeros.nbytes))
        return binding.zeros[s]

    def _result(
        self,
        t: Tensor,
        made: GridArray,
        given: Mapping[Input, GridArray],
        results: Mapping[str, np.ndarray[Any, Any]],
        native: bool,
    ) -> Any:
        """What the caller gets: the array on the device, or its values where the caller's arrays are."""
        into = donated(t, given)
        if into is not None and into.native:
            return into.origin
        if native and into is None:
            return self.grid.native(made.buffer, made.shape, NUMPY[t.dtype])
        shape = made.shape
        if t.name in results:
            check_output(t, results[t.name], shape)
        array = results[t.name] if t.name in results else np.empty(shape, NUMPY[t.dtype])
        if array.size:
            self.grid.download(made.buffer, array)
        if into is not None and into.host is not None:
            into.host.write_back(array)
            same = t.name not in results and into.host.origin.dtype == array.dtype
            return into.host.origin if same else array
        return array


def grid_kernels(
    program: Program,
    schedules: Mapping[str, Schedule],
    threads: int = THREADS,
    together: int = THREADS,
    check: Callable[[Kernel, KernelPlan], None] = lambda kernel, plan: None,
) -> tuple[Built, ...]:
    """Every kernel of a program, lowered for plain threads; no device is needed for that.

    `check` may refuse a kernel that a language has no way to say. Raises CodegenError (a schedule).
    """

    def build(n: int, plan: KernelPlan, schedule: Schedule | None) -> Built:
        chosen = schedule or grid_schedules(plan.outputs)[0]
        if chosen.shape == "mma":
            raise CodegenError(
                f"kernel '{plan.name}' cannot run on matrix units here",
                where=f"schedule: {chosen}",
                mend=f"take a plain one: {grid_schedules(plan.outputs)[0]}",
            )
        kernel = lower_grid(f"k{n}_{plan.name}", plan.outputs, chosen, threads, together, teams=False)
        check_kernel(kernel)
        check(kernel, plan)
        return Built(plan, chosen, kernel, kernel_sources(plan.outputs))

    return build_kernels(program, schedules, build)


def distinct(kernels: tuple[Built, ...]) -> tuple[Built, ...]:
    """The kernels that differ, each by the first plan that has it."""
    first: dict[int, Built] = {}
    for b in kernels:
        first.setdefault(id(b.kernel), b)
    return tuple(first.values())
