"""Compiled programs: kernels of a program built into one library, called on arrays.

compile_program(program, schedules) --lower, print, build--> CompiledProgram
compiled({"A": a, "B": b}) -> {"C": c}
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tang_egg import run_toolchain as toolchain
from tang_egg.codegen.candidates import schedules as candidate_schedules
from tang_egg.codegen.dialects.c import c_dialect, prelude
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.legalize import identifier
from tang_egg.codegen.lower import kernel_sources, lower
from tang_egg.codegen.printer import print_kernel
from tang_egg.errors import BindError, TargetError
from tang_egg.ir import Input, Source, Tensor
from tang_egg.program import KernelPlan, Program
from tang_egg.progress import note
from tang_egg.run_arrays import NUMPY, Given, bind_dims, check_apart, check_output, take_dims, take_inputs, take_outputs
from tang_egg.run_entry import AWAKE, entries, short_loops
from tang_egg.run_layout import Built, Layout, in_place, layout_of
from tang_egg.run_prepared import HostPrepared, check_in_place
from tang_egg.run_vectors import vectors
from tang_egg.schedule import Schedule
from tang_egg.windows import replace_sources

UNIT = 30_000
"""Characters of kernels that are worth a translation unit of their own."""
ALIGNED_FROM = 1 << 16
"""Bytes of an output from which on it starts at a multiple of 64: below, that costs more than it saves."""


@dataclass(slots=True)
class _Binding:
    """What is kept for one assignment of the symbolic dims: shapes, temporaries, the table of pointers."""

    shapes: dict[Input | Tensor, tuple[int, ...]]
    held: list[np.ndarray[Any, Any]]
    table: Any
    dims: Any
    scratch: Any
    slots: dict[Input | Tensor, list[int]]
    threads: int
    zeros: dict[Input | Tensor, np.ndarray[Any, Any]] = field(default_factory=dict)

    def nothing(self, s: Input | Tensor) -> int:
        """The address of what reads of an array without elements see: one row of zeros."""
        if s not in self.zeros:
            self.zeros[s] = np.zeros([max(1, n) for n in self.shapes[s]], np.dtype(NUMPY[s.dtype]))
        return self.zeros[s].ctypes.data


@dataclass(frozen=True, slots=True)
class DirectCall:
    """A call of a library's entry: the function, its arguments, and the outputs that it writes.

    It holds its arrays, of which the entry has the addresses only, and takes no lock: nothing else may call the program
    between two of its calls.
    """

    entry: Callable[..., None]
    arguments: tuple[Any, ...]
    results: Mapping[str, np.ndarray[Any, Any]]
    held: object

    def __call__(self) -> None:
        self.entry(*self.arguments)


@dataclass(slots=True)
class CompiledProgram:
    """A program that runs on this machine. Calls from several threads are served one after another."""

    program: Program
    kernels: tuple[Built, ...]
    layout: Layout
    source: str
    library: ctypes.CDLL
    identity: toolchain.Identity
    _entry: Callable[..., None]
    held: Mapping[Source, np.ndarray[Any, Any]] = field(default_factory=dict)
    """Arrays that are not given but kept: panels of bound inputs (run_panels)."""
    _bindings: dict[tuple[int, ...], _Binding] = field(default_factory=dict)
    _calls: dict[object, _Binding] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(
        self,
        arrays: Mapping[str, Any],
        dims: Mapping[str, int] | None = None,
        out: Mapping[str, np.ndarray[Any, Any]] | None = None,
    ) -> dict[str, np.ndarray[Any, Any]]:
        """The outputs by name, as fresh arrays unless `out` gives some.

        Inputs are anything with the buffer protocol or DLPack; they are read in place when they are contiguous. A
        donated input that is not is copied, and written back when the kernels have run.
        Raises InputError when an array does not fit its declaration, BindError when a dim has no value.
        """
        graph = self.program.graph
        given = take_inputs(graph, arrays)
        sizes, results = take_dims(dims, f"graph '{graph.name}'"), take_outputs(graph, out)
        call = (tuple(g.array.shape for g in given.values()), tuple(sizes.items()))
        check_apart(graph, given, results)
        with self._lock:
            binding = self._calls.get(call)
            if binding is None:
                values = bind_dims(graph, {i: g.array for i, g in given.items()}, sizes)
                binding = self._calls[call] = self._bind(values)
            for i, g in given.items():
                self._place(i, g.array, binding)
            made: dict[str, np.ndarray[Any, Any]] = {}
            late: list[tuple[Given, np.ndarray[Any, Any]]] = []
            for t in graph.outputs:
                made[t.name] = self._output(t, binding, given, results, late)
            self._entry(binding.table, binding.dims, binding.scratch, binding.threads)
            for target, value in late:
                target.write_back(value)
        return made

    def direct(self, arrays: Mapping[str, Any], dims: Mapping[str, int] | None = None) -> DirectCall:
        """A call of the library's entry over bound arrays, without what a call from Python costs, for timing."""
        results, given = self(arrays, dims), take_inputs(self.program.graph, arrays)
        sizes = take_dims(dims, f"graph '{self.program.graph.name}'")
        binding = self._calls[(tuple(g.array.shape for g in given.values()), tuple(sizes.items()))]
        table, pack = ctypes.addressof(binding.table), ctypes.addressof(binding.dims)
        held = (arrays, given, binding)
        return DirectCall(self._entry, (table, pack, binding.scratch, binding.threads), results, held)

    def prepare(
        self,
        arrays: Mapping[str, Any],
        dims: Mapping[str, int] | None = None,
        out: Mapping[str, np.ndarray[Any, Any]] | None = None,
    ) -> HostPrepared:
        """The program bound to arrays, with temporaries and scratch of its own. Nothing runs yet.

        Raises as a call does, and InputError for an array that would have to be copied to be read.
        """
        graph = self.program.graph
        given = take_inputs(graph, arrays)
        check_in_place(given, graph.name)
        sizes, results = take_dims(dims, f"graph '{graph.name}'"), take_outputs(graph, out)
        check_apart(graph, given, results)
        binding = self._new_binding(bind_dims(graph, {i: g.array for i, g in given.items()}, sizes))
        for i, g in given.items():
            self._place(i, g.array, binding)
        late: list[tuple[Given, np.ndarray[Any, Any]]] = []
        made = {t.name: self._output(t, binding, given, results, late) for t in graph.outputs}
        table, pack = ctypes.addressof(binding.table), ctypes.addressof(binding.dims)
        packet = (ctypes.c_void_p * 4)(table, pack, binding.scratch, binding.threads)
        run = partial(self.library.tang_call, ctypes.addressof(packet))
        return HostPrepared(made, run, tuple(late), (given, binding, packet))

    def shipped(self) -> tuple[bytes, toolchain.Identity]:
        """The file of the library, and what it was built by. Where it is gone from the cache, it is built again."""
        try:
            return Path(self.library._name).read_bytes(), self.identity
        except OSError:
            again = print_program(self.program, {b.plan.name: b.schedule for b in self.kernels})
            return toolchain.built_bytes(*again.units), toolchain.identity()

    def _output(
        self, t: Tensor, binding: _Binding, given: Mapping[Input, Given],
        out: Mapping[str, np.ndarray[Any, Any]], late: list[tuple[Given, np.ndarray[Any, Any]]],
    ) -> np.ndarray[Any, Any]:  # fmt: skip
        shape, kind = binding.shapes[t], np.dtype(NUMPY[t.dtype])
        into = next((g for i, g in given.items() if i.name == t.into), None) if t.into else None
        if t.name in out:
            check_output(t, out[t.name], shape)
        if into is not None and in_place(self.program, t):
            array = into.array
        else:
            array = out[t.name] if t.name in out and into is None else _fresh(shape, kind)
        self._place(t, array, binding)
        if into is None:
            return array
        if into.copied or array is not into.array:
            late.append((into, array))
        result = into.origin if into.origin.dtype == kind else array
        if t.name in out:
            late.append((Given(out[t.name], out[t.name], True), array))
            result = out[t.name]
        return result

    def _place(self, s: Input | Tensor, array: np.ndarray[Any, Any], binding: _Binding) -> None:
        """Enters an array into the table of pointers; where there is nothing in it, gathers read zeros."""
        for n in binding.slots.get(s, ()):
            binding.table[n] = array.ctypes.data if array.size else binding.nothing(s)

    def _bind(self, values: dict[str, int]) -> _Binding:
        key = tuple(values[n] for n in sorted(values))
        if key not in self._bindings:
            self._bindings[key] = self._new_binding(values)
        return self._bindings[key]

    def _new_binding(self, values: dict[str, int]) -> _Binding:
        layout, graph = self.layout, self.program.graph
        slots = layout.places()
        shapes = {s: tuple(n.evaluate(values) for n in s.shape) for s in (*slots, *graph.inputs, *graph.outputs)}
        table = (ctypes.c_void_p * max(1, len(layout.slots)))()
        held = [aligned(shapes[s], np.dtype(NUMPY[s.dtype])) for s in layout.temporaries]
        team = threads()
        work = aligned((layout.scratch_bytes(values) * team,), np.dtype("uint8"))
        pack = (ctypes.c_int64 * max(1, len(layout.dims)))(*(values[d] for d in layout.dims))
        binding = _Binding(shapes, [*held, work, *self.held.values()], table, pack, work.ctypes.data, slots, team)
        for s, array in (*zip(layout.temporaries, held, strict=True), *self.held.items()):
            self._place(s, array, binding)
        return binding


def threads() -> int:
    """The number of threads that parallel loops may use: what OMP_NUM_THREADS says, at most one for each core.

    Raises TargetError when OMP_NUM_THREADS is no positive integer (or list of them, of which the first counts).
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    said = os.environ.get("OMP_NUM_THREADS", "")
    wish = said.partition(",")[0].strip()
    if not said.strip():
        return available
    if not (wish.isascii() and wish.isdigit() and int(wish) > 0):
        raise TargetError(
            "the number of threads is no positive integer",
            where=f"the environment: OMP_NUM_THREADS={said}",
            mend="set it to an integer from 1 on, or unset it",
        )
    return min(int(wish), available)


def aligned(shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An uninitialised array whose memory starts at a multiple of 64 bytes."""
    size = prod(shape) * kind.itemsize
    raw = empty((size + 64,), np.dtype("uint8"))
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(kind).reshape(shape)


def _fresh(shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An uninitialised array for an output. A large one is aligned: vectors stored past the caches are whole lines."""
    return (aligned if prod(shape) * kind.itemsize >= ALIGNED_FROM else empty)(shape, kind)


def empty(shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An uninitialised array. Raises BindError when this machine has no memory for it."""
    try:
        return np.empty(shape, kind)
    except (MemoryError, ValueError, OverflowError):
        raise BindError(
            f"there is no memory for {prod(shape) * kind.itemsize} bytes",
            where=f"an array of shape {list(shape)}",
            mend="bind smaller dimensions",
        ) from None


def compile_program(
    program: Program, schedules: Mapping[str, Schedule] | None = None, target: str = "c"
) -> CompiledProgram:
    """Lowers, prints and builds all kernels of a program.

    `schedules` by kernel name; others take the first candidate. Raises TargetError when the target cannot be used.
    """
    if target != "c":
        raise TargetError(f"programs do not run on '{target}' here", where="compile_program", mend="use target='c'")
    printed = print_program(program, schedules or {})
    return printed.run(toolchain.build(*printed.units), toolchain.identity())


@dataclass(frozen=True, slots=True)
class Printed:
    """A program lowered and printed, not built yet. `units`: what is compiled side by side, together the source."""

    program: Program
    kernels: tuple[Built, ...]
    layout: Layout
    source: str
    units: tuple[str, ...]

    def run(
        self,
        library: ctypes.CDLL,
        identity: toolchain.Identity,
        held: Mapping[Source, np.ndarray[Any, Any]] | None = None,
    ) -> CompiledProgram:
        """The program that runs by a library built from these sources, by what `identity` says."""
        entry = library.tang_run
        entry.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        entry.restype = None
        library.tang_call.argtypes, library.tang_call.restype = (ctypes.c_void_p,), None
        return CompiledProgram(
            self.program, self.kernels, self.layout, self.source, library, identity, entry, held or {}
        )


def print_program(program: Program, schedules: Mapping[str, Schedule]) -> Printed:
    """The C of a program; no compiler is needed. Raises CodegenError for a schedule that cannot be lowered."""
    built = build_kernels(program, schedules, build_kernel)
    return print_kernels(program, built)


def print_kernels(program: Program, built: tuple[Built, ...], held: Collection[Source] = ()) -> Printed:
    """The C of a program's lowered kernels. `held`: arrays that they read besides inputs and what they write."""
    layout = layout_of(program, built, held)
    parts = program_parts(layout)
    return Printed(program, built, layout, "".join(parts), tuple(_units(parts, threads())))


def build_kernels(
    program: Program, schedules: Mapping[str, Schedule], build: Callable[[int, KernelPlan, Schedule | None], Built]
) -> tuple[Built, ...]:
    """Every kernel of a program, as `build_plans` lowers them.

    Outputs of the graph that no kernel writes are copied by kernels of their own.
    """
    plans = list(program.kernels)
    for t in program.graph.outputs:
        if t not in program.tensors:
            plans.append(KernelPlan(f"copy_{t.name}", (t,)))
    return build_plans([(plan, schedules.get(plan.name)) for plan in plans], build)


def build_plans(
    plans: Sequence[tuple[KernelPlan, Schedule | None]], build: Callable[[int, KernelPlan, Schedule | None], Built]
) -> tuple[Built, ...]:
    """Every plan lowered by `build`; plans that differ only in the names of their buffers share one kernel."""
    made: dict[object, Built] = {}
    built: list[Built] = []
    for n, (plan, schedule) in enumerate(plans):
        note("lower", n, len(plans))
        key = (_nameless(plan.outputs), schedule)
        twin = made.get(key)
        if twin is None:
            twin = made[key] = build(n, plan, schedule)
        built.append(Built(plan, twin.schedule, twin.kernel, kernel_sources(plan.outputs)))
    note("lower", len(plans), len(plans))
    return tuple(built)


def _nameless(outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The tensors of a kernel with buffers named by their place in its argument list."""
    places = {s: Input(f"x{n}", s.shape, s.dtype) for n, s in enumerate(kernel_sources(outputs))}
    return tuple(
        Tensor(f"t{n}", t.axes, replace_sources(t.body, places.__getitem__), t.dtype) for n, t in enumerate(outputs)
    )


def build_kernel(n: int, plan: KernelPlan, schedule: Schedule | None) -> Built:
    chosen = schedule or candidate_schedules(plan.outputs, threads=threads(), vectors=vectors())[0]
    kernel = lower(f"k{n}_{plan.name}", plan.outputs, chosen, vectors())
    check_kernel(kernel)
    return Built(plan, chosen, kernel, kernel_sources(plan.outputs))


def program_parts(layout: Layout) -> list[str]:
    """The C source of a program: the prelude, each of its kernels, and the entries that call them in order."""
    here = vectors()
    kernels = list({id(s.built.kernel): s.built.kernel for s in layout.steps}.values())
    parts, dialect = [prelude(here) + (AWAKE if short_loops(kernels) else "")], c_dialect(here)
    calls: list[str] = []
    names: dict[int, str] = {}
    for s in layout.steps:
        kernel = s.built.kernel
        if id(kernel) not in names:
            parts.append(print_kernel(kernel, dialect))
            names[id(kernel)] = identifier(kernel.name, set())
        calls.append(f"    {names[id(kernel)]}(buffers + {s.slot}, dims + {s.dim}, scratch);")
    last = entries(kernels, names.values(), calls)
    return ["\n".join(["", text]) if n else text for n, text in enumerate(parts)] + [last]


def _units(parts: list[str], threads: int) -> list[str]:
    """The source as translation units of about the same length, few enough that the prelude costs little."""
    first, *kernels, last = parts
    count = max(1, min(threads, len(kernels), sum(map(len, kernels)) // UNIT))
    units = ["" for _ in range(count)]
    for text in sorted(kernels, key=len, reverse=True):
        n = min(range(count), key=lambda n: len(units[n]))
        units[n] += text
    units[-1] += last
    return [first + unit for unit in units]
