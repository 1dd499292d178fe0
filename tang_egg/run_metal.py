"""Programs in Metal: on a Mac by its own compiler and GPU, elsewhere the same source on this processor by a shim.

compile_metal(program, schedules) --lower, print, build--> GridProgram (see run_grid)

The shim (codegen/prelude/metal_shim.hpp) stands for metal_stdlib: a C++ compiler takes the printed source as it is, the
threads of a group are fibers. It is for checking results, not for speed. TANG_METAL=shim asks for it on a Mac too.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tang_egg.codegen.dialects import metal
from tang_egg.codegen.lower_grid import THREADS
from tang_egg.errors import TargetError
from tang_egg.program import Program
from tang_egg.run import empty
from tang_egg.run_cache import drop, fetch
from tang_egg.run_command import finish, start
from tang_egg.run_grid import GridProgram, Native, distinct, grid_kernels
from tang_egg.run_layout import Built
from tang_egg.run_metal_mac import MacGrid
from tang_egg.run_opencl import first_errors
from tang_egg.run_toolchain import machine
from tang_egg.schedule import Schedule

COMPILER, WAY = "TANG_CXX", "TANG_METAL"
FLAGS = ("-std=c++17", "-O1", "-shared", "-fPIC", "-ffp-contract=off", "-w")
_MEND = f"install g++ or clang++, or set {COMPILER} to the command of a C++ compiler"
_PARTED = {
    1: ("the threads of a group part before a barrier", "report the source: a barrier stands in a branch"),
    2: ("there is no memory for the threads of a group", "bind smaller dimensions"),
}


class HostGrid:
    """This processor, which runs printed Metal by the shim; see run_grid.Grid. Buffers are arrays of bytes."""

    name = "metal"
    threads = together = THREADS
    lanes = False
    largest = 1 << 40

    def __init__(self, command: tuple[str, ...], version: str) -> None:
        self.command, self.version = command, version
        self.title = f"shim on this processor, {version}"

    def build(self, kernels: Sequence[Built], texts: Mapping[str, str]) -> dict[int, Any]:
        """The kernels of a program in one library, by identity. Raises TargetError when they do not compile."""
        if not kernels:
            return {}
        text, stdlib = metal.host_source(b.kernel for b in kernels), metal.shim()
        key = hashlib.sha256("\0".join((text, stdlib, *self.command, self.version, *FLAGS, machine())).encode())
        entry = fetch(f"metal-{key.hexdigest()[:32]}", lambda made, folder: self._compile(text, stdlib, made, folder))
        try:
            library = ctypes.CDLL(str(entry))
        except OSError as error:
            drop(entry)
            raise TargetError(
                "what the C++ compiler made is no library of this machine", where=str(error), mend=_MEND
            ) from None
        found: dict[int, Any] = {}
        for b in kernels:
            function = getattr(library, f"run_{metal.entry_name(b.kernel)}")
            function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
            function.restype = ctypes.c_int
            found[id(b.kernel)] = function
        return found

    def _compile(self, text: str, stdlib: str, library: Path, folder: Path) -> None:
        (folder / "metal_stdlib").write_text(stdlib)
        source = folder / "kernels.cpp"
        source.write_text(text)
        process = start([*self.command, *FLAGS, "-I", str(folder), str(source), "-o", str(library)])
        _, errors = finish(process)
        if process.returncode or not library.exists():
            raise TargetError(
                "printed Metal does not compile on this machine",
                where=f"{self.command[0]}: {first_errors(errors) or f'ended with status {process.returncode}'}",
                mend=f"report the source; or {_MEND}",
            )

    def empty(self, count: int) -> Any:
        return empty((count,), np.dtype("uint8"))

    def upload(self, array: np.ndarray[Any, Any]) -> Any:
        buffer = self.empty(max(64, array.nbytes))
        buffer[: array.nbytes] = array.reshape(-1).view(np.uint8)
        return buffer

    def download(self, buffer: Any, array: np.ndarray[Any, Any]) -> None:
        array.reshape(-1).view(np.uint8)[:] = buffer[: array.nbytes]

    def fill(self, buffer: Any, byte: int, count: int) -> None:
        buffer[:count] = byte

    def copy(self, target: Any, source: Any, count: int) -> None:
        target[:count] = source[:count]

    def adopt(self, x: Any) -> Native | None:
        return None

    def native(self, buffer: Any, shape: tuple[int, ...], kind: str) -> Any:
        count = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
        return buffer[:count].view(kind).reshape(shape)

    def launch(self, function: Any, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        buffers = [a for a in arguments if isinstance(a, np.ndarray)]
        dims = [int(a) for a in arguments if not isinstance(a, np.ndarray)]
        table = (ctypes.c_void_p * max(1, len(buffers)))(*(b.ctypes.data for b in buffers))
        failed = function(table, (ctypes.c_int * max(1, len(dims)))(*dims), blocks)
        if failed:
            what, mend = _PARTED.get(failed, ("a kernel failed", "report the source"))
            raise TargetError(what, where=self.title, mend=mend)

    def finish(self) -> None: ...


MetalGrid: TypeAlias = "HostGrid | MacGrid"


def metal_device() -> MetalGrid:
    """The GPU of a Mac where its library is installed, else the shim. Raises TargetError where neither can be used."""
    way = os.environ.get(WAY, "")
    if way not in ("", "shim", "gpu"):
        raise TargetError(f"{WAY} is '{way}'", where="the environment", mend="set it to 'shim' or 'gpu', or unset it")
    if way == "gpu" or (not way and sys.platform == "darwin" and importlib.util.find_spec("Metal") is not None):
        return MacGrid.open()
    return _host(os.environ.get(COMPILER, ""))


@lru_cache(maxsize=4)
def _host(wish: str) -> HostGrid:
    if sys.platform == "win32":
        raise TargetError(
            "the shim for Metal needs fibers of POSIX (ucontext.h)",
            where=sys.platform,
            mend="use Linux or a Mac, or target='c'",
        )
    try:
        tried = [shlex.split(wish)] if wish else [["c++"], ["g++"], ["clang++"]]
    except ValueError as error:
        raise TargetError(
            f"{COMPILER} cannot be split into words: {error}",
            where=f"the environment: {COMPILER}={wish}",
            mend="quote it as in a shell",
        ) from None
    if not wish and importlib.util.find_spec("ziglang") is not None:
        tried.append([sys.executable, "-m", "ziglang", "c++"])
    for command in tried:
        if command and shutil.which(command[0]) is not None:
            process = start([*command, "--version"])
            said, _ = finish(process)
            if process.returncode == 0:
                return HostGrid(tuple(command), said.splitlines()[0] if said else command[0])
    names = ", ".join(" ".join(c) for c in tried)
    raise TargetError("no C++ compiler was found, which runs Metal on this machine", where=f"looked for {names}",
                      mend=_MEND)  # fmt: skip


# ---- programs ----


def compile_metal(
    program: Program, schedules: Mapping[str, Schedule] | None = None, *, on: MetalGrid | None = None
) -> GridProgram:
    """The kernels of a program, lowered, printed and built; `schedules` by kernel name.

    Raises TargetError where neither a Mac's GPU nor a C++ compiler can be used, CodegenError for 64-bit floats.
    """
    grid = on or metal_device()
    kernels = grid_kernels(program, schedules or {}, grid.threads, grid.together)
    texts = _texts(kernels)
    functions = grid.build(distinct(kernels), texts)
    return GridProgram(
        program, kernels, texts, grid, functions, lambda p, s: compile_metal(p, s, on=grid), suffix=".metal"
    )


def metal_sources(program: Program, schedules: Mapping[str, Schedule]) -> dict[str, str]:
    """The source of each distinct kernel, by the name of the first plan that has it; no device is needed."""
    return _texts(grid_kernels(program, schedules, THREADS, THREADS))


def _texts(kernels: tuple[Built, ...]) -> dict[str, str]:
    return {b.plan.name: metal.source(b.kernel) for b in distinct(kernels)}
