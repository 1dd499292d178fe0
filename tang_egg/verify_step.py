"""Kernels of a program one at a time, on memory that shows what they do beside their work.

    steps = steps_of(program, schedules, "c")            prints and builds; nothing runs yet
    steps.run(kernel, {source: values}, dims, fill)  ->  Ran(outputs, trespasses)

Every array lies between guard bands. Outputs, workspace and guards hold one byte before a run (0xFF: NaN in every float
type), so that what is not written, read too early or written outside shows. WebGPU clips indices at the end of a
binding, so that there a band lies behind an array only; and GLSL packs small types over the whole of a buffer, whose
band it thereby loses.
"""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tang_egg import run_toolchain as toolchain
from tang_egg.codegen.dialects import glsl, metal, opencl, wgsl
from tang_egg.codegen.kernel import Kernel
from tang_egg.codegen.legalize import identifier
from tang_egg.errors import TargetError
from tang_egg.ir import Source
from tang_egg.program import KernelPlan, Program
from tang_egg.run import aligned, print_program, program_parts, threads
from tang_egg.run_arrays import NUMPY
from tang_egg.run_cache import fetch
from tang_egg.run_command import finish, start
from tang_egg.run_cuda_bind import scratch_bytes, tile_count
from tang_egg.run_grid import distinct, grid_kernels
from tang_egg.run_layout import Built, in_place, padded
from tang_egg.run_metal import HostGrid
from tang_egg.run_opencl import OpenCLGrid
from tang_egg.run_wgpu import check_words
from tang_egg.run_wgpu_device import WebGPUGrid
from tang_egg.schedule import Schedule

Array = npt.NDArray[Any]
Edit = Callable[[str], str]
"""Changes a printed source before it is built."""

GUARD = 4096
"""Bytes of a band."""
TEAM = 4
"""Threads that share parallel loops of C at least: more than there are processors may be."""
ALIGNED = 64
POISON = "-ftrivial-auto-var-init=pattern"

_PRINT: dict[str, Callable[[Kernel], str]] = {
    "opencl": opencl.source,
    "wgsl": wgsl.source,
    "glsl": glsl.source,
    "metal": metal.source,
}
_TEAM = """
void tang_team(int n)
{
#ifdef _OPENMP
    omp_set_num_threads(n);
#endif
}
"""


@dataclass(frozen=True, slots=True)
class Trespass:
    """Bytes that a kernel changed where it may not: `place` says in words where, of which array, how many."""

    buffer: str
    place: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Ran:
    """What one kernel left: its outputs as they are stored, and where it wrote beside them."""

    outputs: dict[str, Array]
    trespasses: tuple[Trespass, ...]


@dataclass(slots=True)
class Room:
    """An array between two bands: `raw` is the memory, `given` what the kernel gets, `front` and `back` the bands."""

    raw: Any
    given: Any
    front: int
    size: int
    back: int

    @property
    def total(self) -> int:
        return self.front + self.size + self.back


class Steps(Protocol):
    """Kernels that were built. `source`: their text."""

    program: Program
    kernels: tuple[Built, ...]
    source: str

    def room(self, count: int, *, loose: bool = False, shift: int = 0) -> Room:
        """Memory for so many bytes. `loose`: without bands. `shift`: bytes past an aligned address."""

    def write(self, room: Room, image: Array) -> None:
        """Fills the memory with bands."""

    def read(self, room: Room) -> Array:
        """The bytes of the memory with bands."""

    def workspace(self, b: Built, dims: Mapping[str, int]) -> int:
        """Bytes of workspace of a kernel, 0 where it has none."""

    def call(self, b: Built, rooms: Sequence[Room], workspace: Room | None, dims: Mapping[str, int]) -> None:
        """Runs a kernel and waits for it."""

    def loose(self, b: Built, n: int) -> bool:
        """Whether its n-th array cannot have bands."""

    def shifts(self) -> bool:
        """Whether callers' arrays may start at any multiple of an element."""


# ---- the processor ----


@lru_cache(maxsize=8)
def _poison(tool: toolchain.Compiler) -> tuple[str, ...]:
    """The flag that fills local variables before they are set, where the compiler has it."""
    with tempfile.TemporaryDirectory(prefix="tang-verify-") as folder:
        source = Path(folder, "probe.c")
        source.write_text("int probe(void) { return 0; }\n")
        process = start([*tool.command, POISON, "-c", str(source), "-o", str(source.with_suffix(".o"))])
        finish(process)
        return (POISON,) if process.returncode == 0 else ()


def _poisoned(text: str) -> ctypes.CDLL:
    """The library of a source whose local variables hold a pattern before they are set."""
    plain = toolchain.compiler()
    tool = replace(plain, flags=(*plain.flags, *_poison(plain)))
    key = hashlib.sha256("\0".join((text, *tool.command, tool.version, *tool.flags, toolchain.machine())).encode())
    name = f"verify-{key.hexdigest()[:32]}"
    return ctypes.CDLL(str(fetch(name, lambda made, folder: toolchain._compile(tool, (text,), made, folder))))


class HostSteps:
    """Printed C. Parallel loops run on several threads at all sizes, see TE_WORK in the prelude."""

    def __init__(self, program: Program, schedules: Mapping[str, Schedule], edit: Edit | None = None) -> None:
        printed = print_program(program, schedules)
        self.program, self.kernels = program, printed.kernels
        text = "".join(program_parts(printed.layout))
        self.source = "#define TE_WORK 0\n" + (edit(text) if edit else text) + _TEAM
        self._library = _poisoned(self.source)
        self._library.tang_team(max(TEAM, threads()))

    def room(self, count: int, *, loose: bool = False, shift: int = 0) -> Room:
        whole = aligned((2 * GUARD + ALIGNED + padded(count),), np.dtype("uint8"))
        start = GUARD + shift
        raw = whole[shift : shift + 2 * GUARD + count]
        return Room((whole, raw), whole.ctypes.data + start, GUARD, count, GUARD)

    def write(self, room: Room, image: Array) -> None:
        room.raw[1][:] = image

    def read(self, room: Room) -> Array:
        return np.array(room.raw[1])

    def workspace(self, b: Built, dims: Mapping[str, int]) -> int:
        each = sum(padded(s.size.evaluate(dims) * np.dtype(NUMPY[s.type]).itemsize) for s in b.kernel.scratch)
        return each * max(TEAM, threads())

    def call(self, b: Built, rooms: Sequence[Room], workspace: Room | None, dims: Mapping[str, int]) -> None:
        entry = getattr(self._library, identifier(b.kernel.name, set()))
        entry.restype = None
        table = (ctypes.c_void_p * max(1, len(rooms)))(*(r.given for r in rooms))
        pack = (ctypes.c_int64 * max(1, len(b.kernel.dims)))(*(dims[d] for d in b.kernel.dims))
        entry(table, pack, ctypes.c_void_p(workspace.given if workspace else None))

    def loose(self, b: Built, n: int) -> bool:
        return False

    def shifts(self) -> bool:
        return True


# ---- grids of plain threads ----


class _EditedHost(HostGrid):
    """The shim for Metal with sources that are changed on their way to the compiler."""

    def __init__(self, plain: HostGrid, edit: Edit, mark: str) -> None:
        super().__init__(plain.command, f"{plain.version} {mark}")
        self._edit = edit

    def _compile(self, text: str, stdlib: str, *rest: Any) -> None:
        super()._compile(self._edit(text), stdlib, *rest)


class GridSteps:
    """Printed OpenCL, WGSL, GLSL or Metal on a device of plain threads."""

    def __init__(
        self, program: Program, schedules: Mapping[str, Schedule], grid: Any, edit: Edit | None = None
    ) -> None:
        check = check_words if isinstance(grid, WebGPUGrid) else lambda kernel, plan: None
        self.program = program
        self.kernels = grid_kernels(program, schedules, grid.threads, grid.together, check)
        texts = {b.plan.name: _PRINT[grid.name](b.kernel) for b in distinct(self.kernels)}
        if edit is not None:
            texts = {k: edit(v) for k, v in texts.items()}
            if isinstance(grid, HostGrid):
                mark = hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()
                grid = _EditedHost(grid, edit, mark)
        self.texts, self.source = texts, "\n".join(texts.values())
        self.grid: Any = grid
        self._functions = grid.build(distinct(self.kernels), texts)

    def room(self, count: int, *, loose: bool = False, shift: int = 0) -> Room:
        front = 0 if loose or isinstance(self.grid, WebGPUGrid) else GUARD
        size, back = max(4, -(-count // 4) * 4), 0 if loose else GUARD
        raw = self.grid.empty(front + size + back)
        given = raw
        if isinstance(self.grid, OpenCLGrid) and front:
            given = raw.get_sub_region(front, size)
        elif isinstance(self.grid, HostGrid):
            given = raw[front : front + size]
        return Room(raw, given, front, count, size - count + back)

    def write(self, room: Room, image: Array) -> None:
        self.grid.copy(room.raw, self.grid.upload(np.ascontiguousarray(image)), room.total)
        self.grid.finish()

    def read(self, room: Room) -> Array:
        found = np.empty(room.total, np.uint8)
        self.grid.download(room.raw, found)
        return found

    def workspace(self, b: Built, dims: Mapping[str, int]) -> int:
        assert b.kernel.launch is not None
        if not b.kernel.scratch:
            return 0
        named = {d: dims[d] for d in b.kernel.dims}
        return max(64, scratch_bytes(b.kernel, named) * tile_count(b.kernel, named) * b.kernel.launch.threads)

    def call(self, b: Built, rooms: Sequence[Room], workspace: Room | None, dims: Mapping[str, int]) -> None:
        assert b.kernel.launch is not None
        blocks = tile_count(b.kernel, {d: dims[d] for d in b.kernel.dims})
        if not blocks:
            return
        arguments = [r.given for r in rooms] + ([workspace.given] if workspace else [])
        arguments += [np.int32(dims[d]) for d in b.kernel.dims]
        self.grid.launch(self._functions[id(b.kernel)], blocks, b.kernel.launch.threads, arguments)
        self.grid.finish()

    def loose(self, b: Built, n: int) -> bool:
        bits = getattr(self._functions[id(b.kernel)], "loose", ())
        return bool(n < len(bits) and bits[n])

    def shifts(self) -> bool:
        return False


def steps_of(
    program: Program, schedules: Mapping[str, Schedule], target: str, device: Any = None, edit: Edit | None = None
) -> Steps:
    """The kernels of a program built for a target. `edit` changes what was printed.

    Raises TargetError for a target whose kernels are not run one at a time.
    """
    if target == "c":
        return HostSteps(program, schedules, edit)
    if target in _PRINT and not (target == "metal" and not isinstance(device, HostGrid)):
        return GridSteps(program, schedules, device, edit)
    raise TargetError(
        f"kernels of '{target}' are not run one at a time",
        where="verify",
        mend=f"they are compared after a whole run; step by step go: c, {', '.join(_PRINT)} (Metal by its shim)",
    )


# ---- one run ----


def run_step(
    steps: Steps, b: Built, values: Mapping[Source, Array], dims: Mapping[str, int], fill: int, shift: bool = False
) -> Ran:
    """One kernel on some arrays as they are stored. `shift`: callers' arrays start one element past alignment."""
    ends = {*steps.program.graph.inputs, *steps.program.graph.outputs}
    rooms: dict[Source, Room] = {}
    before: dict[Source, Array] = {}
    shared = _shared(steps.program, b.plan)
    for n, s in enumerate(b.sources):
        if s in shared and shared[s] in rooms:
            continue
        shape = tuple(size.evaluate(dims) for size in s.shape)
        width = np.dtype(NUMPY[s.dtype]).itemsize
        moved = width if shift and s in ends and steps.shifts() else 0
        nothing = not prod(shape)
        count = prod(max(1, size) for size in shape) * width
        room = rooms[s] = steps.room(count, loose=steps.loose(b, n), shift=moved)
        image = np.full(room.total, fill, np.uint8)
        inner = image[room.front : room.front + room.size]
        if nothing:
            inner[:] = 0  # what reads of an array without elements see
        elif s in values:
            inner[:] = np.ascontiguousarray(values[s]).reshape(-1).view(np.uint8)
        before[s] = image
        steps.write(room, image)
    size = steps.workspace(b, dims)
    workspace = steps.room(size) if size else None
    if workspace is not None:
        steps.write(workspace, np.full(workspace.total, fill, np.uint8))
    steps.call(b, [rooms[shared[s]] if shared.get(s) in rooms else rooms[s] for s in b.sources], workspace, dims)
    return _left(steps, b, rooms, before, workspace, dims, fill, shared)


def _shared(program: Program, plan: KernelPlan) -> dict[Source, Source]:
    """The outputs that are written over a donated input, with that input."""
    inputs = {i.name: i for i in program.graph.inputs}
    return {t: inputs[t.into] for t in plan.outputs if t.into and t in program.graph.outputs and in_place(program, t)}


def _left(
    steps: Steps, b: Built, rooms: Mapping[Source, Room], before: Mapping[Source, Array], workspace: Room | None,
    dims: Mapping[str, int], fill: int, shared: Mapping[Source, Source],
) -> Ran:  # fmt: skip
    trespasses: list[Trespass] = []
    outputs: dict[str, Array] = {}
    written = {shared[t] if t in shared and shared[t] in rooms else t: t for t in b.plan.outputs}
    for s, room in rooms.items():
        after = steps.read(room)
        inner = after[room.front : room.front + room.size]
        shape = tuple(size.evaluate(dims) for size in s.shape)
        loose = s in b.sources and steps.loose(b, b.sources.index(s))
        if not loose:
            trespasses += _bands(after, before[s], room, s.name)
        changed = int((inner != before[s][room.front : room.front + room.size]).sum())
        if s not in written and changed:
            trespasses.append(Trespass(s.name, "inside, which it only reads", changed))
        elif s in written:
            t = written[s]
            if not prod(shape):
                outputs[t.name] = np.zeros(shape, NUMPY[t.dtype])
                if changed and not loose:
                    trespasses.append(Trespass(t.name, "inside an array without elements", changed))
            else:
                outputs[t.name] = inner.view(NUMPY[t.dtype]).reshape(shape)
    if workspace is not None:
        image = np.full(workspace.total, fill, np.uint8)
        trespasses += _bands(steps.read(workspace), image, workspace, "its workspace")
    return Ran(outputs, tuple(trespasses))


def _bands(after: Array, before: Array, room: Room, name: str) -> list[Trespass]:
    """What changed in front of an array and behind it."""
    found: list[Trespass] = []
    front = np.flatnonzero(after[: room.front] != before[: room.front])
    end = room.front + room.size
    back = np.flatnonzero(after[end:] != before[end:])
    if front.size:
        found.append(Trespass(name, f"up to {room.front - int(front[0])} bytes in front of its start", int(front.size)))
    if back.size:
        found.append(Trespass(name, f"from {int(back[0])} to {int(back[-1])} bytes behind its end", int(back.size)))
    return found
