"""Compiled programs: kernels of a program built into one library, called on arrays.

compile_program(program, schedules) --lower, print, build--> CompiledProgram
compiled({"A": a, "B": b}) -> {"C": c}
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tang_egg import run_toolchain as toolchain
from tang_egg.affine import Affine, Dim
from tang_egg.codegen.candidates import schedules as candidate_schedules
from tang_egg.codegen.dialects.c import C, prelude
from tang_egg.codegen.kernel import Kernel
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.lower import kernel_sources, lower
from tang_egg.codegen.printer import print_kernel
from tang_egg.errors import BindError, InputError, TargetError
from tang_egg.ir import Graph, Input, Read, Reduce, Scan, Tensor, children, sources
from tang_egg.program import KernelPlan, Program
from tang_egg.schedule import Schedule
from tang_egg.windows import replace_sources

NUMPY = {
    "f32": "float32", "f64": "float64", "f16": "float16", "bf16": "uint16", "bool": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip
"""The NumPy type of the array that holds an element type. bf16 travels as its bits (or as ml_dtypes.bfloat16)."""

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


@dataclass(slots=True)
class CompiledProgram:
    """A program that runs on this machine. Calls from several threads are served one after another."""

    program: Program
    kernels: tuple[Built, ...]
    source: str
    _library: Any
    _entry: Callable[..., None]
    _bindings: dict[tuple[int, ...], _Binding] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(
        self,
        arrays: Mapping[str, Any],
        dims: Mapping[str, int] | None = None,
        out: Mapping[str, np.ndarray[Any, Any]] | None = None,
    ) -> dict[str, np.ndarray[Any, Any]]:
        """The outputs by name, as fresh arrays unless `out` gives some.

        Inputs are anything with the buffer protocol or DLPack; they are read in place when they are contiguous.
        Raises InputError when an array does not fit its declaration, BindError when a dim has no value.
        """
        graph = self.program.graph
        given = {i: as_array(i, arrays) for i in graph.inputs}
        values = bind_dims(graph, given, dims or {})
        with self._lock:
            binding = self._bind(values)
            for i, a in given.items():
                self._check(i, a, binding.shapes[i])
                for n in binding.slots.get(i, ()):
                    binding.table[n] = a.ctypes.data
            results: dict[str, np.ndarray[Any, Any]] = {}
            late: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
            for t in graph.outputs:
                results[t.name] = self._output(t, binding, given, out or {}, late)
            self._entry(binding.table, binding.dims, binding.scratch)
            for target, value in late:
                target[...] = value
        return results

    def _output(
        self, t: Tensor, binding: _Binding, given: Mapping[Input, np.ndarray[Any, Any]],
        out: Mapping[str, np.ndarray[Any, Any]], late: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]],
    ) -> np.ndarray[Any, Any]:  # fmt: skip
        shape, kind = binding.shapes[t], np.dtype(NUMPY[t.dtype])
        into = next((a for i, a in given.items() if i.name == t.into), None) if t.into else None
        if into is not None and in_place(self.program, t):
            array = into
        elif t.name in out:
            array = out[t.name]
            if array.shape != shape or array.dtype != kind or not array.flags.c_contiguous:
                raise InputError(
                    f"the array given for output '{t.name}' does not fit",
                    where=f"{array.dtype}{list(array.shape)} for {t.dtype}{list(shape)}",
                    mend="give a C-contiguous array of that type and shape",
                )
        else:
            array = np.empty(shape, kind)
        if into is not None and array is not into:
            late.append((into, array))
        for n in binding.slots.get(t, ()):
            binding.table[n] = array.ctypes.data
        return into if into is not None else array

    def _check(self, i: Input, a: np.ndarray[Any, Any], shape: tuple[int, ...]) -> None:
        if a.shape != shape:
            raise InputError(
                f"input '{i.name}' has shape {list(a.shape)}, not {list(shape)}",
                where=f"graph '{self.program.graph.name}'",
                mend="give an array of the declared shape, or bind the dimensions to what it has",
            )

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
        for s, places in slots.items():
            if s not in ends:
                held.append(aligned(shapes[s], np.dtype(NUMPY[s.dtype])))
                for n in places:
                    table[n] = held[-1].ctypes.data
        work = aligned((max(64, scratch) * max(1, threads()),), np.dtype("uint8"))
        held.append(work)
        pack = (ctypes.c_int64 * max(1, len(dims)))(*dims)
        return _Binding(shapes, held, table, pack, work.ctypes.data, slots)


def threads() -> int:
    """The number of threads that parallel loops may use."""
    wish = os.environ.get("OMP_NUM_THREADS", "")
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(int(wish) if wish.isdigit() else 0, available)


def _evaluate(form: Affine, values: Mapping[str, int]) -> int:
    return form.evaluate(values)


def aligned(shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An uninitialised array whose memory starts at a multiple of 64 bytes."""
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(kind).reshape(shape)


def as_array(i: Input, arrays: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """The array given for an input, contiguous. Raises InputError when it is missing or of another type."""
    if i.name not in arrays:
        raise InputError(
            f"no array for input '{i.name}'", where=f"given: {', '.join(arrays) or 'none'}", mend=f"pass {i.name}=..."
        )
    x = arrays[i.name]
    if not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__"):
        x = np.from_dlpack(x)
    a = np.asarray(x)
    if i.dtype == "bf16":
        a = _bits_of_bf16(a)
    if a.dtype != np.dtype(NUMPY[i.dtype]):
        raise InputError(
            f"input '{i.name}' has elements of type {a.dtype}, not {i.dtype}",
            where="a call of a compiled program",
            mend=f"convert it: array.astype('{NUMPY[i.dtype]}')",
        )
    return a if a.flags.c_contiguous else np.ascontiguousarray(a).reshape(a.shape)


def _bits_of_bf16(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if a.dtype.name == "bfloat16":
        return a.view(np.uint16)
    if a.dtype.kind == "f":
        bits = a.astype(np.float32).view(np.uint32).astype(np.uint64)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(a), np.uint16(0x7FC0), rounded)
    return a


def bind_dims(graph: Graph, arrays: Mapping[Input, np.ndarray[Any, Any]], given: Mapping[str, int]) -> dict[str, int]:
    """Values of the symbolic dims: those given, then those that the shapes show. Raises BindError if one lacks."""
    values = {n: int(v) for n, v in given.items()}
    dims = graph.dims()
    for i, a in arrays.items():
        if a.ndim != len(i.shape):
            raise InputError(
                f"input '{i.name}' has {a.ndim} axes, not {len(i.shape)}",
                where=f"graph '{graph.name}'",
                mend="reshape it",
            )
        for form, size in zip(i.shape, a.shape, strict=True):
            dim = next(iter(form.dims())) if len(form.terms) == 1 and len(form.dims()) == 1 else None
            if dim is not None and dim.name not in values and form == Affine.of({(dim,): 1}):
                values[dim.name] = int(size)
    for d in dims:
        _require(d, values, graph)
    return {d.name: values[d.name] for d in dims}


def _require(d: Dim, values: Mapping[str, int], graph: Graph) -> None:
    if d.name not in values:
        raise BindError(
            f"dimension '{d.name}' has no value", where=f"graph '{graph.name}'", mend=f"pass dims={{'{d.name}': ...}}"
        )
    d.check(values[d.name])


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
    plans = list(program.kernels)
    for t in program.graph.outputs:
        if t not in program.tensors:
            plans.append(KernelPlan(f"copy_{t.name}", (t,)))
    built = _build_kernels(plans, schedules or {})
    parts = program_parts(built)
    library = toolchain.build(*_units(parts, threads()))
    source = "".join(parts)
    entry = library.tang_run
    entry.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    entry.restype = None
    return CompiledProgram(program, built, source, library, entry)


def _build_kernels(plans: Sequence[KernelPlan], schedules: Mapping[str, Schedule]) -> tuple[Built, ...]:
    """Every plan lowered; plans that differ only in the names of their buffers share one kernel."""
    made: dict[object, Built] = {}
    built: list[Built] = []
    for n, plan in enumerate(plans):
        key = (_nameless(plan.outputs), schedules.get(plan.name))
        twin = made.get(key)
        if twin is None:
            twin = made[key] = _build_kernel(n, plan, schedules.get(plan.name))
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
    lines = [*known, "void tang_run(void **buffers, const int64_t *dims, char *scratch) {", *calls, "}"]
    return ["\n".join(["", text]) if n else text for n, text in enumerate(parts)] + ["\n".join(["", *lines, ""])]


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
