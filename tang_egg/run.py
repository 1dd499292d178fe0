"""Compiled programs: kernels of a program built into one library, called on arrays.

compile_program(program, schedules) --lower, print, build--> CompiledProgram
compiled({"A": a, "B": b}) -> {"C": c}
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tang_egg import run_toolchain as toolchain
from tang_egg.affine import Affine
from tang_egg.codegen.candidates import schedules as candidate_schedules
from tang_egg.codegen.dialects.c import C, prelude
from tang_egg.codegen.kernel import Kernel
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.lower import kernel_sources, lower
from tang_egg.codegen.printer import print_kernel
from tang_egg.errors import BindError, TargetError
from tang_egg.ir import Input, Read, Reduce, Scan, Tensor, children, sources
from tang_egg.program import KernelPlan, Program
from tang_egg.run_arrays import NUMPY, Given, bind_dims, check_output, take_dims, take_inputs, take_outputs
from tang_egg.schedule import Schedule
from tang_egg.windows import replace_sources

UNIT = 30_000
"""Characters of kernels that are worth a translation unit of their own."""


@dataclass(frozen=True, slots=True)
class Built:
    """One kernel of a compiled program: its plan, its schedule, its IR, and what its buffers hold."""

    plan: KernelPlan
    schedule: Schedule
    kernel: Kernel
    sources: tuple[Input | Tensor, ...]


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


@dataclass(slots=True)
class CompiledProgram:
    """A program that runs on this machine. Calls from several threads are served one after another."""

    program: Program
    kernels: tuple[Built, ...]
    source: str
    _library: Any
    _entry: Callable[..., None]
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
            array = out[t.name] if t.name in out and into is None else empty(shape, kind)
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
        shapes: dict[Input | Tensor, tuple[int, ...]] = {}
        slots: dict[Input | Tensor, list[int]] = {}
        numbers: list[int] = []
        dims: list[int] = []
        scratch = 0
        for b in self.kernels:
            for s in b.sources:
                slots.setdefault(s, []).append(len(numbers))
                numbers.append(0)
            dims += [values[d] for d in b.kernel.dims]
            scratch = max(scratch, sum((_evaluate(x.size, values) * 8 + 63) // 64 * 64 for x in b.kernel.scratch))
        for s in (*slots, *self.program.graph.inputs, *self.program.graph.outputs):
            shapes[s] = tuple(_evaluate(n, values) for n in s.shape)
        table = (ctypes.c_void_p * max(1, len(numbers)))()
        held: list[np.ndarray[Any, Any]] = []
        ends = {*self.program.graph.inputs, *self.program.graph.outputs}
        for s in slots:
            if s not in ends:
                held.append(aligned(shapes[s], np.dtype(NUMPY[s.dtype])))
        team = threads()
        work = aligned((max(64, scratch) * team,), np.dtype("uint8"))
        pack = (ctypes.c_int64 * max(1, len(dims)))(*dims)
        binding = _Binding(shapes, [*held, work], table, pack, work.ctypes.data, slots, team)
        for s, array in zip((s for s in slots if s not in ends), held, strict=True):
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


def _evaluate(form: Affine, values: Mapping[str, int]) -> int:
    return form.evaluate(values)


def aligned(shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An uninitialised array whose memory starts at a multiple of 64 bytes."""
    size = prod(shape) * kind.itemsize
    raw = empty((size + 64,), np.dtype("uint8"))
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(kind).reshape(shape)


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


def in_place(program: Program, t: Tensor) -> bool:
    """Whether an output may be written over the donated input while the kernels run.

    Later kernels must not read the input, and its own kernel only at the very element that is being written.
    """
    seen = False
    for plan in program.kernels:
        mine = t in plan.outputs
        seen |= mine
        if not seen:
            continue
        for u in plan.outputs:
            if any(isinstance(s, Input) and s.name == t.into for s in sources(u.body)) and not (
                u is t and _pointwise(t)
            ):
                return False
    return seen


def _pointwise(t: Tensor) -> bool:
    own = tuple(i.name for i in t.axes)
    stack, seen = [(t.body, False)], set()
    while stack:
        s, folded = stack.pop()
        if (s, folded) in seen:
            continue
        seen.add((s, folded))
        if isinstance(s, Read) and isinstance(s.source, Input) and s.source.name == t.into:
            plain = [c.single() if isinstance(c, Affine) else None for c in s.coordinates]
            if folded or tuple(i.name if i else "" for i in plain) != own:
                return False
        stack.extend((c, folded or isinstance(s, (Reduce, Scan))) for c in children(s))
    return True


def compile_program(
    program: Program, schedules: Mapping[str, Schedule] | None = None, target: str = "c"
) -> CompiledProgram:
    """Lowers, prints and builds all kernels of a program.

    `schedules` by kernel name; others take the first candidate. Raises TargetError when the target cannot be used.
    """
    if target != "c":
        raise TargetError(f"programs do not run on '{target}' here", where="compile_program", mend="use target='c'")
    built = build_kernels(program, schedules or {}, _build_kernel)
    parts = program_parts(built)
    library = toolchain.build(*_units(parts, threads()))
    source = "".join(parts)
    entry = library.tang_run
    entry.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    entry.restype = None
    return CompiledProgram(program, built, source, library, entry)


def build_kernels(
    program: Program, schedules: Mapping[str, Schedule], build: Callable[[int, KernelPlan, Schedule | None], Built]
) -> tuple[Built, ...]:
    """Every plan lowered by `build`; plans that differ only in the names of their buffers share one kernel.

    Outputs of the graph that no kernel writes are copied by kernels of their own.
    """
    plans = list(program.kernels)
    for t in program.graph.outputs:
        if t not in program.tensors:
            plans.append(KernelPlan(f"copy_{t.name}", (t,)))
    made: dict[object, Built] = {}
    built: list[Built] = []
    for n, plan in enumerate(plans):
        key = (_nameless(plan.outputs), schedules.get(plan.name))
        twin = made.get(key)
        if twin is None:
            twin = made[key] = build(n, plan, schedules.get(plan.name))
        built.append(Built(plan, twin.schedule, twin.kernel, kernel_sources(plan.outputs)))
    return tuple(built)


def _nameless(outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The tensors of a kernel with buffers named by their place in its argument list."""
    places = {s: Input(f"x{n}", s.shape, s.dtype) for n, s in enumerate(kernel_sources(outputs))}
    return tuple(
        Tensor(f"t{n}", t.axes, replace_sources(t.body, places.__getitem__), t.dtype) for n, t in enumerate(outputs)
    )


def _build_kernel(n: int, plan: KernelPlan, schedule: Schedule | None) -> Built:
    chosen = schedule or candidate_schedules(plan.outputs, threads=threads())[0]
    kernel = lower(f"k{n}_{plan.name}", plan.outputs, chosen)
    check_kernel(kernel)
    return Built(plan, chosen, kernel, kernel_sources(plan.outputs))


def program_parts(kernels: tuple[Built, ...]) -> list[str]:
    """The C source of a program: the prelude, each of its kernels, and `tang_run` that calls them in order."""
    parts = [prelude()]
    calls: list[str] = []
    buffers = dims = 0
    names: dict[int, str] = {}
    for b in kernels:
        if id(b.kernel) not in names:
            parts.append(print_kernel(b.kernel, C))
            names[id(b.kernel)] = parts[-1].partition("void ")[2].partition("(")[0]
        name = names[id(b.kernel)]
        calls.append(f"    {name}(buffers + {buffers}, dims + {dims}, scratch);")
        buffers += len(b.sources)
        dims += len(b.kernel.dims)
    known = [f"void {name}(void **buffers, const int64_t *dims, char *scratch);" for name in names.values()]
    head = "void tang_run(void **buffers, const int64_t *dims, char *scratch, int threads) {"
    # The wish is set for the calling thread alone, and taken back: other code in this process may use OpenMP too.
    lines = [*known, head, *_TEAM[0], *calls, *_TEAM[1], "}"]
    return ["\n".join(["", text]) if n else text for n, text in enumerate(parts)] + ["\n".join(["", *lines, ""])]


_TEAM = (
    ("#ifdef _OPENMP", "    const int before = omp_get_max_threads();", "    omp_set_num_threads(threads);", "#endif"),
    ("#ifdef _OPENMP", "    omp_set_num_threads(before);", "#endif"),
)
"""What stands before and after the calls of kernels."""


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
