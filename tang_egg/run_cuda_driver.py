"""What CUDA programs need of the machine: CuPy for memory and launches, NVRTC to compile, the driver's tensor maps.

Nothing here is imported before a driver is asked for, so that programs are derived and printed without a GPU.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tang_egg.codegen.device import REGISTER_LIMIT
from tang_egg.errors import BindError, TargetError
from tang_egg.run_cuda_early import EarlyLaunch

Function: TypeAlias = "Callable[..., Any]"
"""A kernel on the device: f(grid, block, arguments, shared_mem=bytes) puts it on the current stream."""

INSTALL = "pip install 'tang_egg[cuda]'"
PLAIN_SHARED = 48 << 10
"""Bytes of shared memory that a block can have without asking."""
_INSIDE = 3
"""The runtime's number for a copy inside device memory."""
PROMOTED = "L2_128B"
"""The pieces in which the second cache asks memory for what bulk copies read, by the driver's name.

Boxes have lines of 128 bytes. With pieces of 256 each asks for half of another one as well: decoding took 6 % longer,
single rows by a matrix 2 %, products as long (docs/cuda-measurements.md).
"""
TEAM = 8
"""Kernels that are compiled side by side at most."""

_KINDS = {
    "bf16": "BFLOAT16", "f16": "FLOAT16", "f32": "FLOAT32", "tf32": "TFLOAT32", "f64": "FLOAT64",
    "i32": "INT32", "u32": "UINT32", "i64": "INT64", "u64": "UINT64", "u16": "UINT16", "u8": "UINT8",
    "i8": "UINT8", "f8e4m3": "UINT8", "f8e5m2": "UINT8",
}  # fmt: skip
"""The driver's name of an element type in a tensor map."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A translation unit with one kernel: its text, the kernel's name, its threads and bytes of shared memory."""

    text: str
    name: str
    threads: int
    shared: int


@dataclass(frozen=True, slots=True)
class MapSpec:
    """A tensor map but for its address, as the driver takes it: innermost axis first, strides in bytes."""

    kind: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]


class Driver:
    """One device. Arrays are CuPy's; their element types are those of run_arrays.NUMPY."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        device = cupy.cuda.Device()
        self.device = int(device.id)
        self.capability = str(device.compute_capability)
        self.processors = int(device.attributes["MultiProcessorCount"])
        self.cache = int(device.attributes.get("L2CacheSize", 64 << 20))
        self._encoder: Any = None

    @property
    def architecture(self) -> str:
        """The name of the chip for the compiler; with its own instructions where it has some."""
        return f"sm_{self.capability}{'a' if int(self.capability) >= 90 else ''}"

    @property
    def has_matrix_units(self) -> bool:
        """Whether the chip runs kernels with bulk copies and products of warp groups: Hopper only."""
        return self.capability == "90"

    @property
    def title(self) -> str:
        """The device in words."""
        name = self.cupy.cuda.runtime.getDeviceProperties(self.device)["name"]
        name = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
        major, minor = self.cupy.cuda.nvrtc.getVersion()
        return f"{name}, {self.architecture}, NVRTC {major}.{minor}, CuPy {self.cupy.__version__}"

    def compile(self, units: Sequence[Unit]) -> list[Function]:
        """The kernels of some units, compiled side by side. Raises TargetError when one does not compile."""
        if len(units) < 2:
            return [self._compile(u) for u in units]
        with ThreadPoolExecutor(min(TEAM, len(units))) as team:
            return list(team.map(self._compile, units))

    def _compile(self, unit: Unit) -> Function:
        options = (f"-arch={self.architecture}", "--std=c++17")
        with self.cupy.cuda.Device(self.device):
            try:
                made = self.cupy.RawModule(code=unit.text, options=options, backend="nvrtc")
                function: Any = made.get_function(unit.name)
                registers = function.num_regs  # compiles and loads
                if unit.shared > PLAIN_SHARED:
                    function.max_dynamic_shared_size_bytes = unit.shared
            except Exception as error:  # of CuPy's many kinds
                raise self._failed(unit, error) from None
        if unit.threads * registers > REGISTER_LIMIT:
            raise TargetError(
                f"a block of kernel '{unit.name}' needs more registers than a processor has",
                where=f"{unit.threads} threads of {registers} registers",
                mend="report the source",
            )
        return function  # type: ignore[no-any-return]

    def _failed(self, unit: Unit, error: Exception) -> TargetError:
        kind, said = type(error).__name__, str(error)
        if isinstance(error, (ImportError, OSError)) or ("nvrtc" in said.lower() and kind != "CompileException"):
            return TargetError(
                "NVRTC, the compiler for CUDA, cannot be used",
                where=f"{kind}: {' '.join(said.split())[:300]}",
                mend=f"pip install nvidia-cuda-nvrtc, or {INSTALL}",
            )
        lines = [line.strip() for line in said.splitlines() if "error" in line] or said.splitlines()
        return TargetError(
            "a generated kernel does not compile",
            where=f"kernel '{unit.name}' for {self.architecture}: {' | '.join(lines[:6])}",
            mend="report the source",
        )

    def resident(self, function: Function, threads: int, shared: int) -> int:
        """Blocks of a kernel that one processor holds at once; 1 where the driver does not say."""
        try:
            pointer = function.kernel.ptr  # type: ignore[attr-defined]
            return max(
                1, int(self.cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(pointer, threads, shared))
            )
        except Exception:  # an older CuPy, or a driver that refuses: one block always fits
            return 1

    def early(self, function: Function) -> Function:
        """The same kernel, launched so that its blocks may start before the kernel in front of it has ended.

        The kernel as it is where the driver has no such launch: its wait then finds nothing to wait for.
        """
        try:
            return EarlyLaunch(int(function.kernel.ptr), self.stream)  # type: ignore[attr-defined]
        except (AttributeError, OSError):
            return function

    def owns(self, array: Any) -> bool:
        return isinstance(array, self.cupy.ndarray)

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def home(self, array: Any) -> int:
        """The number of the device that holds an array."""
        return int(array.device.id)

    def adopt(self, x: Any) -> Any:
        """An array of another library in a device's memory as CuPy's, without a copy; None where it is none."""
        if hasattr(x, "__cuda_array_interface__"):
            return self.cupy.asarray(x)
        where = getattr(x, "__dlpack_device__", None)
        return self.cupy.from_dlpack(x) if where is not None and int(where()[0]) in (2, 13) else None

    def empty(self, shape: tuple[int, ...], kind: str) -> Any:
        """An uninitialised array. Raises BindError when the device has no memory for it."""
        try:
            return self.cupy.empty(shape, kind)
        except self.cupy.cuda.memory.OutOfMemoryError:
            raise BindError(
                f"there is no memory for {prod(shape) * np.dtype(kind).itemsize} bytes on the device",
                where=f"an array of shape {list(shape)}",
                mend="bind smaller dimensions, or free arrays",
            ) from None

    def fill(self, pointer: int, byte: int, count: int) -> None:
        """Sets bytes, on the current stream."""
        if count:
            self.cupy.cuda.runtime.memsetAsync(pointer, byte, count, self.stream())

    def copy(self, target: int, source: int, count: int) -> None:
        """Copies bytes inside the device, on the current stream."""
        if count:
            self.cupy.cuda.runtime.memcpyAsync(target, source, count, _INSIDE, self.stream())

    def upload(self, array: np.ndarray[Any, Any]) -> Any:
        return self.cupy.asarray(array)

    def download(self, array: Any) -> np.ndarray[Any, Any]:
        """The values of an array, once the current stream has made them."""
        return np.asarray(self.cupy.asnumpy(array))

    def compact(self, array: Any) -> Any:
        """A contiguous copy."""
        return array.copy(order="C")

    def stream(self) -> int:
        """The handle of the current stream."""
        return int(self.cupy.cuda.get_current_stream().ptr)

    def here(self) -> Any:
        """A context in which this device is the current one."""
        return self.cupy.cuda.Device(self.device)

    def on(self, stream: int) -> Any:
        """A context in which a stream, given by its handle, is the current one."""
        return self.cupy.cuda.ExternalStream(stream)

    def synchronize(self) -> None:
        """Waits for everything on the device."""
        self.cupy.cuda.runtime.deviceSynchronize()

    def encode(self, spec: MapSpec, pointer: int) -> np.ndarray[Any, Any]:
        """The 128 bytes of a tensor map, as one element: CuPy passes arrays of size one by value."""
        cu = self._bindings()
        kind = getattr(cu.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{_KINDS[spec.kind]}")
        status, made = cu.cuTensorMapEncodeTiled(
            kind,
            len(spec.sizes),
            pointer,
            [cu.cuuint64_t(n) for n in spec.sizes],
            [cu.cuuint64_t(n) for n in spec.strides or (16,)],  # not read for a map of one axis
            [cu.cuuint32_t(n) for n in spec.box],
            [cu.cuuint32_t(1)] * len(spec.sizes),
            cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
            getattr(cu.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_{PROMOTED}"),
            cu.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
        if int(status) != 0:
            raise TargetError(
                f"the driver refuses a tensor map: {status}",
                where=f"{spec} at {pointer:#x}",
                mend="report this with the graph and its sizes",
            )
        return np.frombuffer(ctypes.string_at(made.getPtr(), 128), dtype="V128").copy()

    def _bindings(self) -> Any:
        if self._encoder is None:
            try:
                self._encoder = importlib.import_module("cuda.bindings.driver")
            except ImportError as error:
                raise TargetError(
                    "cuda-bindings is not installed", where=f"import cuda.bindings: {error}", mend=INSTALL
                ) from None
        return self._encoder


def driver() -> Driver:
    """The current device. Raises TargetError when CuPy, a GPU or its driver is missing."""
    cupy = _cupy()
    try:
        if not cupy.cuda.runtime.getDeviceCount():
            raise RuntimeError("no device is visible")
        number = int(cupy.cuda.runtime.getDevice())
    except Exception as error:  # the runtime's own kinds
        raise TargetError(
            "no GPU can be used",
            where=f"the CUDA runtime: {' '.join(str(error).split())[:200]}",
            mend="run this where nvidia-smi shows a GPU; tang_egg.pipeline.sources prints kernels without one",
        ) from None
    return _driver(number)


@lru_cache(maxsize=16)
def _driver(number: int) -> Driver:
    cupy = _cupy()
    with cupy.cuda.Device(number):
        return Driver(cupy)


def _cupy() -> Any:
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        raise TargetError(
            "CuPy, which runs CUDA kernels, is not installed",
            where=f"import cupy: {' '.join(str(error).split())[:200]}",
            mend=f"{INSTALL} (tang_egg[cuda12] for CUDA 12); tang_egg.pipeline.sources prints kernels without it",
        ) from None
