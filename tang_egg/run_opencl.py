"""Programs on a device of OpenCL, through pyopencl: every kernel a source of its own, built by the device's compiler.

compile_opencl(program, schedules) --lower, print, build--> GridProgram (see run_grid)

TANG_OPENCL names the device by a part of its name or its platform's; else a GPU comes before a processor, then the one
with the most compute units. Arrays of pyopencl.array that lie in the program's context are read in place.
"""

from __future__ import annotations

import importlib
import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from tang_egg.codegen.device import WARP
from tang_egg.codegen.dialects import opencl
from tang_egg.codegen.lower_grid import THREADS
from tang_egg.errors import BindError, InputError, TargetError
from tang_egg.program import Program
from tang_egg.run_grid import GridProgram, Native, distinct, grid_kernels
from tang_egg.run_layout import Built
from tang_egg.schedule import Schedule

DEVICE = "TANG_OPENCL"
INSTALL = "pip install 'tang_egg[opencl]'"
NEWER = "this PoCL does not know the processor: install another (apt-get install pocl-opencl-icd)"
REPORT = "report the source, tang_egg.pipeline.sources(graph, 'opencl'); plain schedules may avoid it"
_ROUNDED = "-cl-fp32-correctly-rounded-divide-sqrt"
FEW = 64
"""Threads of a block on a processor, which runs them one after another and blocks side by side."""
_TEAM = 4
"""Kernels that are built side by side at most."""


class OpenCLGrid:
    """One device with a context and a queue of its own; see run_grid.Grid. Calls run in the order they are made.

    `lanes`: whether lanes of a warp exchange values fast; a processor runs them one after another.
    """

    name = "opencl"

    def __init__(self, cl: Any, device: Any, context: Any = None, queue: Any = None) -> None:
        self.cl, self.device = cl, device
        self.context = context or cl.Context([device])
        self.queue = queue or cl.CommandQueue(self.context, device)
        self.arrays: Any = importlib.import_module("pyopencl.array")
        self.title = f"{device.name.strip()}, {device.platform.name.strip()}, {device.version.strip()}"
        self.extensions = frozenset(str(device.extensions).split())
        self.doubles = "cl_khr_fp64" in self.extensions
        self.rounded = bool(int(device.single_fp_config) & int(cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT))
        most = min(int(device.max_work_group_size), int(device.max_work_item_sizes[0]))
        if most < WARP:
            raise TargetError(
                f"the device runs work groups of {most} only",
                where=self.title,
                mend=f"use a device with groups of at least {WARP}: set {DEVICE} to its name",
            )
        self.lanes = bool(device.type & cl.device_type.GPU)
        wish = THREADS if self.lanes else FEW
        self.threads = wish if most >= wish else 1 << most.bit_length() - 1
        self.together = WARP
        self.largest = int(device.max_mem_alloc_size)
        self._lock = threading.Lock()

    # -- kernels

    @property
    def options(self) -> tuple[str, ...]:
        """The flags of the device's compiler: nothing that trades accuracy for speed."""
        return ("-cl-std=CL1.2", *((_ROUNDED,) if self.rounded else ()))

    def build(self, kernels: Sequence[Built], texts: Mapping[str, str]) -> dict[int, Any]:
        """The kernels of some sources, built side by side, by identity. Raises TargetError when one does not build."""
        for b in kernels:
            if opencl.doubles(b.kernel) and not self.doubles:
                raise TargetError(
                    f"kernel '{b.plan.name}' computes in 64-bit floats, which the device does not have",
                    where=self.title,
                    mend="store f32 instead of f64, or use target='c'",
                )
        with ThreadPoolExecutor(_TEAM) as team:
            made = list(team.map(lambda b: self._build(b, texts[b.plan.name]), kernels))
        return {id(b.kernel): f for b, f in zip(kernels, made, strict=True)}

    def _build(self, b: Built, text: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the compiler said something, which errors show
            try:
                program = self.cl.Program(self.context, text).build(options=list(self.options), devices=[self.device])
                found = program.all_kernels()[0]
            except self.cl.Error as error:
                text = first_errors(str(error))
                raise TargetError(
                    f"kernel '{b.plan.name}' does not compile: {text}",
                    where=self.title,
                    mend=NEWER if "unknown target CPU" in text else REPORT,
                ) from None
        info = self.cl.kernel_work_group_info.WORK_GROUP_SIZE
        launch = b.kernel.launch
        most = int(found.get_work_group_info(info, self.device))
        if launch is not None and most < launch.threads:
            raise TargetError(
                f"kernel '{b.plan.name}' needs groups of {launch.threads} threads, and the device runs it in {most}",
                where=self.title,
                mend=f"use another device: set {DEVICE} to a part of its name",
            )
        return found

    # -- memory

    def empty(self, count: int) -> Any:
        try:
            return self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, count)
        except self.cl.Error as error:
            raise self._no_room(count, error) from None

    def upload(self, array: np.ndarray[Any, Any]) -> Any:
        buffer = self.empty(max(1, array.nbytes))
        with self._guarded(array.nbytes):
            self.cl.enqueue_copy(self.queue, buffer, array, is_blocking=True)
        return buffer

    def download(self, buffer: Any, array: np.ndarray[Any, Any]) -> None:
        with self._guarded(array.nbytes):
            self.cl.enqueue_copy(self.queue, array, buffer, is_blocking=True)

    def fill(self, buffer: Any, byte: int, count: int) -> None:
        with self._guarded(count):
            self.cl.enqueue_fill_buffer(self.queue, buffer, np.uint8(byte), 0, count)

    def copy(self, target: Any, source: Any, count: int) -> None:
        self.cl.enqueue_copy(self.queue, target, source, byte_count=count)

    def adopt(self, x: Any) -> Native | None:
        if not isinstance(x, self.arrays.Array):
            return None
        if x.context != self.context or not x.flags.c_contiguous or x.offset:
            raise InputError(
                "an array of pyopencl cannot be read in place",
                where="its context is another" if x.context != self.context else "it is not contiguous",
                mend="make it with the program's queue, contiguous: "
                "pyopencl.array.to_device(compiled.runner.grid.queue, values)",
            )
        if x.queue is not None and x.queue != self.queue:
            x.queue.finish()
        return Native(x.base_data, tuple(x.shape), np.dtype(x.dtype).name)

    def native(self, buffer: Any, shape: tuple[int, ...], kind: str) -> Any:
        return self.arrays.Array(self.queue, shape, np.dtype(kind), data=buffer)

    # -- running

    def launch(self, function: Any, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        try:
            with self._lock:  # a kernel keeps its arguments until it is enqueued
                function.set_args(*arguments)
                self.cl.enqueue_nd_range_kernel(self.queue, function, (blocks * threads,), (threads,))
        except self.cl.Error as error:
            raise self._failed(error) from None

    def finish(self) -> None:
        try:
            self.queue.finish()
        except self.cl.Error as error:
            raise self._failed(error) from None

    def _guarded(self, count: int) -> _Guard:
        return _Guard(self, count)

    def _no_room(self, count: int, error: Exception) -> BindError:
        return BindError(
            f"there is no memory for {count} bytes",
            where=f"{self.title}: {first_errors(str(error))}",
            mend="bind smaller dimensions",
        )

    def _failed(self, error: Exception) -> TargetError:
        said = first_errors(str(error))
        if "OUT_OF" in said or "ALLOCATION" in said:
            mend = "bind smaller dimensions"
        else:
            mend = f"run it again; if it fails again, use another device ({DEVICE}) or target='c'"
        return TargetError(f"the device could not run a kernel: {said}", where=self.title, mend=mend)


class _Guard:
    """Turns the library's errors into this project's."""

    def __init__(self, grid: OpenCLGrid, count: int) -> None:
        self.grid, self.count = grid, count

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, self.grid.cl.Error):
            said = str(error)
            if "OUT_OF" in said or "ALLOCATION" in said:
                raise self.grid._no_room(self.count, error) from None
            raise self.grid._failed(error) from None


def first_errors(text: str) -> str:
    """The first lines of a compiler's log that name an error; else the first words."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "error:" in line.lower()]
    return " | ".join((named or lines)[:4])[:500]


def rank(device: Any, gpu: int) -> tuple[bool, bool, int]:
    """What is chosen among devices, the largest first: GPUs, what compiles, many units.

    PoCL calls a processor that its LLVM does not know generic, and then compiles nothing.
    """
    return bool(device.type & gpu), not device.version.strip().endswith("-generic"), device.max_compute_units


# ---- programs ----


def opencl_device(wish: str | None = None) -> OpenCLGrid:
    """The device of this process's programs. Raises TargetError where OpenCL cannot be used."""
    return _opened(os.environ.get(DEVICE, "") if wish is None else wish)


@lru_cache(maxsize=4)
def _opened(wish: str) -> OpenCLGrid:
    try:
        cl = importlib.import_module("pyopencl")
    except ImportError as error:
        raise TargetError(
            "pyopencl, which runs OpenCL kernels, is not installed",
            where=f"import pyopencl: {' '.join(str(error).split())[:200]}",
            mend=INSTALL,
        ) from None
    said = "no platform has a device"
    try:
        found = [d for p in cl.get_platforms() for d in p.get_devices()]
    except cl.Error as error:
        found, said = [], str(error)
    if not found:
        raise TargetError(
            "OpenCL finds no device",
            where=f"clGetPlatformIDs: {said}",
            mend=f"{INSTALL}, which brings one for processors; or install the driver of the GPU",
        )
    named = [d for d in found if wish.lower() in f"{d.name} {d.platform.name}".lower()]
    if not named:
        raise TargetError(
            f"no device of OpenCL is called '{wish}'",
            where=f"the environment: {DEVICE}; devices: {', '.join(d.name for d in found)}",
            mend=f"set {DEVICE} to a part of one of these names, or unset it",
        )
    best = max(named, key=lambda d: rank(d, cl.device_type.GPU))
    try:
        return OpenCLGrid(cl, best)
    except cl.Error as error:
        raise TargetError(
            "the device of OpenCL cannot be opened",
            where=f"{best.name}: {first_errors(str(error))}",
            mend=f"use another device: set {DEVICE} to a part of its name",
        ) from None


def compile_opencl(
    program: Program, schedules: Mapping[str, Schedule] | None = None, *, on: OpenCLGrid | None = None
) -> GridProgram:
    """The kernels of a program, lowered, printed and built for a device; `schedules` by kernel name.

    Raises TargetError when pyopencl or a device is missing, or a kernel does not build.
    """
    grid = on or opencl_device()
    kernels = grid_kernels(program, schedules or {}, grid.threads, grid.together)
    texts = _texts(kernels)
    functions = grid.build(distinct(kernels), texts)
    return GridProgram(
        program, kernels, texts, grid, functions, lambda p, s: compile_opencl(p, s, on=grid), suffix=".cl"
    )


def opencl_sources(program: Program, schedules: Mapping[str, Schedule]) -> dict[str, str]:
    """The source of each distinct kernel, by the name of the first plan that has it; no device is needed."""
    return _texts(grid_kernels(program, schedules, THREADS, WARP))


def _texts(kernels: tuple[Built, ...]) -> dict[str, str]:
    return {b.plan.name: opencl.source(b.kernel) for b in distinct(kernels)}
