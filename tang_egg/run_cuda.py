"""Programs on a GPU: every kernel a CUDA source of its own, compiled side by side, launched on the current stream.

compile_cuda(program, schedules) --lower, print, NVRTC--> CudaProgram
compiled({"A": a, "B": b}) -> {"C": c}                    results live where the inputs do
compiled.prepare({"A": a, "B": b}) -> Prepared            bound once; each call only launches, and can be captured
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tang_egg.codegen.candidates_device import device_schedules
from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.lower import kernel_sources
from tang_egg.codegen.lower_device import lower_device
from tang_egg.errors import CodegenError, InputError, TargetError
from tang_egg.ir import Input, Source, Tensor
from tang_egg.program import KernelPlan, Program
from tang_egg.run import build_kernels
from tang_egg.run_arrays import bind_dims, take_dims
from tang_egg.run_cuda_arrays import Placed, check_outputs, is_torch, new_array, place_inputs, place_output
from tang_egg.run_cuda_bind import Binding, Launch, bind
from tang_egg.run_cuda_driver import Driver, Function, Unit, driver
from tang_egg.run_cuda_early import overlapping
from tang_egg.run_layout import Built, donated, in_place, stored_bytes
from tang_egg.schedule import Schedule

KEPT = 8
"""Assignments of the dims whose temporaries are kept."""
_NAME = re.compile(r"__global__\s+(?:void\s+)?(?:__launch_bounds__\s*\([^)]*\)\s*)?(?:void\s+)?(\w+)\s*\(")


@dataclass(slots=True)
class Prepared:
    """Kernels bound to arrays. A call enqueues them on CuPy's current stream: nothing is allocated, nothing waits.

    `outputs` by name, in device memory; the inputs' memory is read anew by every call. Two calls of one Prepared must
    not overlap.
    """

    outputs: dict[str, Any]
    _launches: tuple[Launch, ...]
    _copies: tuple[tuple[int, int, int], ...]
    _driver: Driver
    _held: tuple[object, ...]

    def __call__(self) -> None:
        for function, grid, block, arguments, shared in self._launches:
            function(grid, block, arguments, shared_mem=shared)
        for target, source, count in self._copies:
            self._driver.copy(target, source, count)


@dataclass(slots=True)
class CudaProgram:
    """A program that runs on one GPU. Calls from several threads are enqueued one after another."""

    program: Program
    kernels: tuple[Built, ...]
    sources: dict[str, str]
    driver: Driver
    _functions: dict[int, Function]
    _bindings: dict[tuple[object, ...], Binding] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def source(self) -> str:
        """The sources of all kernels, one translation unit after the other."""
        return "\n".join(f"// ==== {name}.cu\n{text}" for name, text in self.sources.items())

    def __call__(
        self,
        arrays: Mapping[str, Any],
        dims: Mapping[str, int] | None = None,
        out: Mapping[str, Any] | None = None,
        *,
        fill: int | None = None,
    ) -> dict[str, Any]:
        """The outputs by name: tensors of torch or arrays of CuPy when an input is one, else NumPy arrays.

        Kernels run on the current stream (torch's when a tensor of torch is given). What lies on the device is read in
        place when it is contiguous and aligned to 16 bytes. `fill`: a byte that outputs and temporaries hold before.
        Raises InputError when an array does not fit its declaration, BindError when a dim has no value.
        """
        with self._lock, self._active(arrays):
            given, values = self._take(arrays, dims)
            key = (*sorted(values.items()), self.driver.stream())
            binding = self._bindings.pop(key, None) or self._bind(values)
            self._bindings[key] = binding
            if len(self._bindings) > KEPT:
                self._bindings.pop(next(iter(self._bindings)))
            made, copies = self._outputs(given, binding, check_outputs(self.program.graph, out), _home(given))
            if fill is not None:
                self._fill(fill, made, binding)
            self._prepared(given, made, copies, binding)()
            return {t.name: self._result(t, made[t], given) for t in self.program.graph.outputs}

    def prepare(
        self,
        arrays: Mapping[str, Any],
        dims: Mapping[str, int] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> Prepared:
        """The kernels bound to arrays in device memory; arrays of the host are copied there once, now.

        Every Prepared has temporaries of its own. Raises as a call does, and InputError for an array on the device that
        cannot be read in place.
        """
        with self._lock, self._active(arrays):
            given, values = self._take(arrays, dims)
            for i, placed in given.items():
                if placed.copied and placed.host is None:
                    raise InputError(
                        f"input '{i.name}' cannot be read in place",
                        where="prepare",
                        mend=f"give a contiguous array of type {i.dtype}, aligned to 16 bytes",
                    )
            results = check_outputs(self.program.graph, out)
            for name, x in results.items():
                if isinstance(x, np.ndarray):
                    raise InputError(
                        f"the array for output '{name}' lies on the host",
                        where="prepare",
                        mend="give one on the device",
                    )
            binding = self._bind(values)
            home = "torch" if _home(given) == "torch" else "cupy"
            made, copies = self._outputs(given, binding, results, home)
            prepared = self._prepared(given, made, copies, binding)
            self.driver.synchronize()  # other streams do not wait for the copies of this one
            return prepared

    def _active(self, arrays: Mapping[str, Any]) -> ExitStack:
        """This program's device, and torch's stream where its tensors are given."""
        stack = ExitStack()
        stack.enter_context(self.driver.here())
        tensor = next((x for x in arrays.values() if is_torch(x) and x.is_cuda), None)
        if tensor is not None:
            import torch

            stack.enter_context(self.driver.on(int(torch.cuda.current_stream(tensor.device).cuda_stream)))
        return stack

    def _take(
        self, arrays: Mapping[str, Any], dims: Mapping[str, int] | None
    ) -> tuple[dict[Input, Placed], dict[str, int]]:
        graph = self.program.graph
        given = place_inputs(graph, arrays, self.driver)
        seen: dict[Input, Any] = dict(given)
        return given, bind_dims(graph, seen, take_dims(dims, f"graph '{graph.name}'"))

    def _bind(self, values: Mapping[str, int]) -> Binding:
        return bind(self.program, self.kernels, self._functions, values, self.driver)

    def _outputs(
        self, given: Mapping[Input, Placed], binding: Binding, out: Mapping[str, Any], home: str
    ) -> tuple[dict[Tensor, Placed], list[tuple[int, int, int]]]:
        """Where every output goes, and what is copied into donated inputs once the kernels have run."""
        made: dict[Tensor, Placed] = {}
        copies: list[tuple[int, int, int]] = []
        for t in self.program.graph.outputs:
            shape = binding.shapes[t]
            into = donated(t, given)
            if into is not None and in_place(self.program, t):
                made[t] = into
            elif t.name in out:
                made[t] = place_output(t, out[t.name], shape, self.driver)
            else:
                made[t] = new_array(t, shape, home, self.driver)
            if into is not None and made[t] is not into:
                copies.append((into.pointer, made[t].pointer, stored_bytes(t, shape)))
        return made, copies

    def _prepared(
        self,
        given: Mapping[Input, Placed],
        made: Mapping[Tensor, Placed],
        copies: list[tuple[int, int, int]],
        binding: Binding,
    ) -> Prepared:
        places: dict[Source, Placed] = dict(binding.temporaries)
        places.update(given.items())
        places.update(made.items())
        places.update({t: made[o] for t, o in binding.shown.items()})
        pointers = {s: p.pointer if all(p.shape) else binding.nothing(s, self.driver) for s, p in places.items()}
        arrays = {t.name: donated(t, given) or made[t] for t in self.program.graph.outputs}
        held = (*places.values(), binding)
        outputs = {name: p.array for name, p in arrays.items()}
        return Prepared(outputs, binding.launches(pointers, self.driver), tuple(copies), self.driver, held)

    def _fill(self, byte: int, made: Mapping[Tensor, Placed], binding: Binding) -> None:
        for t, p in made.items():
            if not t.into:
                self.driver.fill(p.pointer, byte, stored_bytes(t, p.shape))
        for s, p in binding.temporaries.items():
            self.driver.fill(p.pointer, byte, stored_bytes(s, p.shape))

    def _result(self, t: Tensor, made: Placed, given: Mapping[Input, Placed]) -> Any:
        """What the caller gets: the array on the device, or its values where the caller's arrays are."""
        into = donated(t, given)
        if into is not None and into.host is not None:
            value = self.driver.download(made.array).reshape(made.shape)
            into.host.write_back(value)
            return into.host.origin if into.host.origin.dtype == value.dtype else value
        if into is not None:
            return into.array
        if made.host is not None:
            made.host.write_back(self.driver.download(made.array).reshape(made.shape))
            return made.host.origin
        return self.driver.download(made.array) if made.home == "numpy" else made.array


def _home(given: Mapping[Input, Placed]) -> str:
    """The library whose arrays the results are."""
    homes = {p.home for p in given.values()}
    return next((h for h in ("torch", "cupy") if h in homes), "numpy")


def compile_cuda(
    program: Program, schedules: Mapping[str, Schedule] | None = None, *, on: Driver | None = None
) -> CudaProgram:
    """The kernels of a program, lowered, printed and compiled for the current device.

    `schedules` by kernel name; others take the first candidate. Raises TargetError when CuPy, NVRTC or a GPU is
    missing, and for a kernel that this GPU has no instructions for.
    """
    device = on or driver()
    return load(program, cuda_kernels(program, schedules or {}), device)


def load(program: Program, kernels: tuple[Built, ...], device: Driver) -> CudaProgram:
    """Lowered kernels, printed and compiled. Raises TargetError as compile_cuda does."""
    texts = cuda_sources(kernels)
    units: dict[int, Unit] = {}
    for b in kernels:
        _check_chip(b, device)
        if b.plan.name in texts and b.kernel.launch is not None:
            text, launch = texts[b.plan.name], b.kernel.launch
            units[id(b.kernel)] = Unit(text, function_name(text), launch.threads, launch.shared_bytes)
    functions = dict(zip(units, device.compile(list(units.values())), strict=True))
    return CudaProgram(program, kernels, texts, device, functions)


def cuda_sources(kernels: tuple[Built, ...]) -> dict[str, str]:
    """The translation unit of each distinct kernel, by the name of the first plan that has it."""
    first: dict[int, Built] = {}
    for b in kernels:
        first.setdefault(id(b.kernel), b)
    return {b.plan.name: cuda.source(b.kernel) for b in first.values()}


def cuda_kernels(program: Program, schedules: Mapping[str, Schedule]) -> tuple[Built, ...]:
    """Every kernel of a program, lowered for a GPU; no GPU is needed for that. Raises CodegenError (a schedule)."""
    return overlapping(build_kernels(program, schedules, _build))


def _build(n: int, plan: KernelPlan, schedule: Schedule | None) -> Built:
    chosen = schedule or device_schedules(plan.outputs)[0]
    kernel = lower_device(f"k{n}_{plan.name}", plan.outputs, chosen)
    check_kernel(kernel)
    read = kernel_sources(plan.outputs)
    if kernel.launch is None or [b.type for b in kernel.buffers] != [s.dtype for s in read]:
        raise CodegenError(
            f"kernel '{plan.name}' cannot be launched: its buffers are not the arrays of its plan",
            where=f"buffers {', '.join(b.name for b in kernel.buffers)}; arrays {', '.join(s.name for s in read)}",
            mend="report the schedule with the graph",
        )
    return Built(plan, chosen, kernel, read)


def function_name(text: str) -> str:
    """The name under which a printed kernel is found in its module."""
    found = _NAME.findall(text)
    if not found:
        raise CodegenError("a printed kernel has no entry point", where=text[-200:], mend="report the schedule")
    return str(found[-1])


def _check_chip(b: Built, device: Driver) -> None:
    launch = b.kernel.launch
    if launch is not None and (launch.stages or launch.maps) and not device.has_matrix_units:
        plain = grid_schedules(b.plan.outputs)[0]
        raise TargetError(
            f"kernel '{b.plan.name}' uses instructions that this GPU does not have",
            where=f"compute capability {device.capability}; the kernel needs 90 (Hopper)",
            mend=f"force a plain schedule: schedule={{'{b.plan.name}': '{plain}'}}",
        )
