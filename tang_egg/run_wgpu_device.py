"""One device of WebGPU, through wgpu: memory, kernels and launches, as run_grid asks for them.

A process has one device for each language. TANG_WGPU_ADAPTER names the adapter by a part of its name, its driver or its
kind; else a GPU comes before a processor. Launches are gathered and submitted when something waits for them.
"""

from __future__ import annotations

import importlib
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from tang_egg.codegen.dialects import glsl, wgsl
from tang_egg.codegen.kernel import Kernel
from tang_egg.errors import BindError, TangError, TargetError
from tang_egg.run_grid import Native
from tang_egg.run_layout import Built
from tang_egg.run_wgpu_limits import TURNS, loop_turns

ADAPTER = "TANG_WGPU_ADAPTER"
INSTALL = "pip install 'tang_egg[wgpu]'"
DRIVER = "install a Vulkan driver: mesa-vulkan-drivers brings one for processors"
THREADS = 64
"""Threads of a block."""
ROW = 65535
"""Blocks of one dimension of a grid that every device runs."""
KEPT = 16
"""Sets of buffers that a kernel stays bound to."""
_FEATURES = ("subgroup", "subgroup-barrier", "timestamp-query")
_LIMITS = (
    "max-storage-buffers-per-shader-stage",
    "max-storage-buffer-binding-size",
    "max-buffer-size",
    "max-compute-workgroup-storage-size",
)


@dataclass(slots=True)
class Function:
    """A kernel that the device can run. `loose`: bits of the elements of each buffer that is written loosely, else 0.

    `packers`: pipelines by those bits. `bound`: what buffers and sizes are bound already.
    """

    name: str
    kernel: Kernel
    pipeline: Any
    layout: Any
    loose: tuple[int, ...]
    packers: dict[int, Any]
    written: tuple[bool, ...]
    bound: dict[tuple[Any, ...], tuple[Any, ...]] = field(default_factory=dict)
    turns: dict[tuple[int, ...], int | None] = field(default_factory=dict)


class WebGPUGrid:
    """See run_grid.Grid. `language`: "wgsl" or "glsl". `lanes`: whether lanes exchange values fast."""

    def __init__(self, wgpu: Any, adapter: Any, language: str) -> None:
        self.wgpu, self.name = wgpu, language
        self.info = {str(k): str(v) for k, v in dict(adapter.info).items()}
        name = self.info.get("device") or self.info.get("description") or "a WebGPU adapter"
        self.title = (
            f"{' '.join(name.split())}, {self.info.get('backend_type', '')}, {self.info.get('description', '')}"
        )
        self.threads, self.together = THREADS, wgsl.LANES
        limits = {k: adapter.limits[k] for k in _LIMITS if k in adapter.limits}
        wanted = [f for f in _FEATURES if f in adapter.features]
        self.device = adapter.request_device_sync(required_features=wanted, required_limits=limits)
        self.features = frozenset(wanted)
        self.buffers = int(limits.get("max-storage-buffers-per-shader-stage", 8))
        self.largest = min(int(limits["max-storage-buffer-binding-size"]), int(limits["max-buffer-size"]))
        self.limited = "llvmpipe" in self.title.lower()
        usage = wgpu.BufferUsage
        self._storage = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        self._uniform = usage.UNIFORM | usage.COPY_DST
        self.lanes = self.info.get("adapter_type", "").upper() != "CPU"
        self._encoder: Any = None
        self._spare = self.empty(4)
        self._packers: dict[int, Any] = {}
        self._lock = threading.RLock()

    # -- kernels

    def build(self, kernels: Sequence[Built], texts: Mapping[str, str]) -> dict[int, Function]:
        """The kernels of some sources, by identity. Raises TargetError when the device cannot take one."""
        return {id(b.kernel): self._build(b, texts[b.plan.name]) for b in kernels}

    def _build(self, b: Built, text: str) -> Function:
        kernel, launch = b.kernel, b.kernel.launch
        count = len(kernel.buffers) + bool(kernel.scratch)
        if count > self.buffers:
            raise TargetError(
                f"kernel '{b.plan.name}' reads and writes {count} arrays, and the device binds {self.buffers}",
                where=self.title,
                mend="split the graph into several programs, or use target='c'",
            )
        written = tuple(x.role == "output" for x in kernel.buffers) + ((True,) if kernel.scratch else ())
        entry = wgsl.entry(kernel) if self.name == "wgsl" else "main"
        layout, pipeline = self._pipeline(b.plan.name, text, entry, written, bool(kernel.dims))
        loose = glsl.loose_outputs(kernel) if self.name == "glsl" else (0,) * len(kernel.buffers)
        packers = {bits: self._packer(bits) for bits in set(loose) - {0}}
        assert launch is not None
        return Function(b.plan.name, kernel, pipeline, layout, loose, packers, written)

    def _packer(self, bits: int) -> Any:
        if bits not in self._packers:
            self._packers[bits] = self._pipeline("pack", glsl.pack_source(bits), "main", (False, True), True)
        return self._packers[bits]

    def _pipeline(self, name: str, text: str, entry: str, written: tuple[bool, ...], numbers: bool) -> tuple[Any, Any]:
        """A layout of storage buffers and perhaps numbers, and a pipeline. Raises TargetError (the shader compiler)."""
        kinds = ["storage" if w else "read-only-storage" for w in written] + ["uniform"] * numbers
        visible = self.wgpu.ShaderStage.COMPUTE
        entries = [{"binding": n, "visibility": visible, "buffer": {"type": k}} for n, k in enumerate(kinds)]
        try:
            module = self.device.create_shader_module(code=text, label=f"{name} comp")
            layout = self.device.create_bind_group_layout(entries=entries)
            whole = self.device.create_pipeline_layout(bind_group_layouts=[layout])
            made = self.device.create_compute_pipeline(layout=whole, compute={"module": module, "entry_point": entry})
        except Exception as error:  # wgpu has classes of its own for each cause, all alike for the caller
            raise TargetError(
                f"the {self.name.upper()} of kernel '{name}' does not compile: {complaint(str(error), text)}",
                where=self.title,
                mend=f"report the source, tang_egg.pipeline.sources(graph, '{self.name}'), or use another target",
            ) from None
        return layout, made

    # -- memory

    def empty(self, count: int) -> Any:
        """A buffer of zeros; counts are rounded up to whole words."""
        size = max(16, -(-count // 4) * 4)
        try:
            return self.device.create_buffer(size=size, usage=self._storage)
        except Exception as error:
            raise self._no_room(count, error) from None

    def upload(self, array: np.ndarray[Any, Any]) -> Any:
        buffer = self.empty(array.nbytes)
        raw = array.reshape(-1).view(np.uint8) if array.size else np.zeros(0, np.uint8)
        if raw.nbytes % 4:
            raw = np.concatenate([raw, np.zeros(-raw.nbytes % 4, np.uint8)])
        with self._lock:
            self._submit()  # a write would overtake what is gathered
            if raw.nbytes:
                self._guarded(lambda: self.device.queue.write_buffer(buffer, 0, raw))
        return buffer

    def download(self, buffer: Any, array: np.ndarray[Any, Any]) -> None:
        size = -(-array.nbytes // 4) * 4
        with self._lock:
            self._submit()
            got = self._guarded(lambda: self.device.queue.read_buffer(buffer, 0, size))
        array.reshape(-1).view(np.uint8)[...] = np.frombuffer(got, np.uint8)[: array.nbytes]

    def fill(self, buffer: Any, byte: int, count: int) -> None:
        with self._lock:
            self._submit()
            size = min(int(buffer.size), -(-count // 4) * 4)
            self._guarded(lambda: self.device.queue.write_buffer(buffer, 0, np.full(size, byte, np.uint8)))

    def copy(self, target: Any, source: Any, count: int) -> None:
        with self._lock:
            self._encoding().copy_buffer_to_buffer(source, 0, target, 0, -(-count // 4) * 4)

    def adopt(self, x: Any) -> Native | None:
        return None

    def native(self, buffer: Any, shape: tuple[int, ...], kind: str) -> Any:
        """What numpy.asarray copies to the host: no other library shares buffers of WebGPU."""
        return Held(self, buffer, shape, kind)

    # -- running

    def launch(self, function: Function, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        count = len(function.written)
        buffers, dims = tuple(arguments[:count]), tuple(int(x) for x in arguments[count:])
        if self.limited:
            self._check_turns(function, blocks, dims)
        with self._lock:
            group, before, after = self._bind(function, buffers, dims)
            encoder = self._encoding()
            for source, target in before:
                encoder.copy_buffer_to_buffer(source, 0, target, 0, source.size)
            one = encoder.begin_compute_pass()
            self._dispatch(one, function.pipeline, group, blocks)
            for pipeline, packed, words in after:
                self._dispatch(one, pipeline, packed, -(-words // 64))
            one.end()

    def _dispatch(self, one: Any, pipeline: Any, group: Any, blocks: int) -> None:
        one.set_pipeline(pipeline)
        one.set_bind_group(0, group)
        rows = max(1, -(-blocks // ROW))
        one.dispatch_workgroups(-(-blocks // rows), rows)

    def _bind(self, f: Function, buffers: tuple[Any, ...], dims: tuple[int, ...]) -> tuple[Any, ...]:
        """The group of some buffers; what is copied before the kernel runs; what packs its results afterwards.

        A buffer that is written and read by one kernel (a donated input) is read from a copy.
        """
        key = (*buffers, dims)
        if key in f.bound:
            return f.bound[key]
        placed, before, after = list(buffers), [], []
        outputs = {id(b) for b, w in zip(buffers, f.written, strict=True) if w}
        for n, (b, w) in enumerate(zip(buffers, f.written, strict=True)):
            if not w and id(b) in outputs:
                placed[n] = self.empty(b.size)
                before.append((b, placed[n]))
        for n, bits in enumerate(f.loose):
            if bits:
                words = int(buffers[n].size) // 4
                placed[n] = self.empty(4 * words * (32 // bits))
                pair = (placed[n], buffers[n])
                after.append((f.packers[bits][1], self._group(f.packers[bits][0], pair, (words,)), words))
        made = (self._group(f.layout, tuple(placed), dims), before, after)
        if len(f.bound) >= KEPT:
            f.bound.pop(next(iter(f.bound)))
        f.bound[key] = made
        return made

    def _group(self, layout: Any, buffers: tuple[Any, ...], dims: tuple[int, ...]) -> Any:
        entries = [
            {"binding": n, "resource": {"buffer": b, "offset": 0, "size": b.size}} for n, b in enumerate(buffers)
        ]
        if dims:
            numbers = np.zeros(-(-len(dims) // 4) * 4, np.int32)
            numbers[: len(dims)] = dims
            given = self.device.create_buffer_with_data(data=numbers, usage=self._uniform)
            entries.append({"binding": len(buffers), "resource": {"buffer": given, "offset": 0, "size": given.size}})
        return self._guarded(lambda: self.device.create_bind_group(layout=layout, entries=entries))

    def _check_turns(self, f: Function, blocks: int, dims: tuple[int, ...]) -> None:
        """Mesa's driver for processors ends all loops of a thread after 65535 turns, and says nothing."""
        key = (blocks, *dims)
        if key not in f.turns:
            f.turns[key] = loop_turns(f.kernel, dict(zip(f.kernel.dims, dims, strict=True)), blocks)
        turns = f.turns[key]
        if turns is not None and turns >= TURNS:
            raise TargetError(
                f"a thread of kernel '{f.name}' may run {turns} turns of loops, and this driver ends them at {TURNS}",
                where=self.title,
                mend="use smaller sizes, split the long fold (split={...}), or take a GPU or another target",
            )

    def _encoding(self) -> Any:
        if self._encoder is None:
            self._encoder = self._guarded(lambda: self.device.create_command_encoder())
        return self._encoder

    def _submit(self) -> None:
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            self._guarded(lambda: self.device.queue.submit([encoder.finish()]))

    def finish(self) -> None:
        with self._lock:
            self._submit()
            self._guarded(lambda: self.device.queue.read_buffer(self._spare, 0, 4))  # waits for all before it

    def _guarded(self, act: Any) -> Any:
        """What a call of wgpu gives; its errors become this project's."""
        try:
            return act()
        except TangError:
            raise
        except Exception as error:
            said = " ".join(str(error).split())[:300]
            if "memory" in said.lower() or "OutOfMemory" in type(error).__name__:
                raise self._no_room(0, error) from None
            lost = "lost" in said.lower()
            if lost:
                device.cache_clear()
            raise TargetError(
                f"the device {'was lost' if lost else 'could not run a kernel'}: {said}",
                where=self.title,
                mend=f"optimize again; if it fails again, use another adapter ({ADAPTER}) or target='c'",
            ) from None

    def _no_room(self, count: int, error: Exception) -> BindError:
        said = " ".join(str(error).split())[:200]
        return BindError(
            f"there is no memory for {count} bytes" if count else "there is no memory left",
            where=f"{self.title}: {said}",
            mend="bind smaller dimensions",
        )


@dataclass(frozen=True, slots=True)
class Held:
    """An output on the device; `numpy.asarray` gives its values."""

    grid: WebGPUGrid
    buffer: Any
    shape: tuple[int, ...]
    kind: str

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        array = np.empty(self.shape, self.kind)
        if array.size:
            self.grid.download(self.buffer, array)
        return array if dtype is None else array.astype(dtype)


def complaint(said: str, text: str) -> str:
    """What a shader compiler says in one line, with the line of the source that it names."""
    words = [w for w in (" ".join(x.split()) for x in said.splitlines()) if w]
    useful = [w for w in words if "error" in w.lower() or w.startswith(("=", "^"))] or words
    place = re.search(r":(\d+):\d+", said)
    span = re.search(r"Span \{ start: (\d+)", said)
    line = int(place[1]) if place else text.count("\n", 0, int(span[1])) + 1 if span else 0
    lines = text.splitlines()
    shown = f"; line {line}: {lines[line - 1].strip()}" if 0 < line <= len(lines) else ""
    return f"{' '.join(dict.fromkeys(useful))[:400]}{shown}"


@lru_cache(maxsize=4)
def device(language: str, wish: str) -> WebGPUGrid:
    """The device of a language on the adapter that a wish names. Raises TargetError where there is none."""
    try:
        wgpu = importlib.import_module("wgpu")
    except (ImportError, OSError) as error:
        raise TargetError(
            f"wgpu, which runs {language.upper()} kernels, is not installed",
            where=f"import wgpu: {' '.join(str(error).split())[:200]}",
            mend=INSTALL,
        ) from None
    try:
        found = [a for a in wgpu.gpu.enumerate_adapters_sync() if a.info.get("backend_type") != "OpenGL"]
    except Exception as error:  # of any kind: the library and the driver decide
        raise TargetError(
            f"WebGPU cannot be used: {' '.join(str(error).split())[:300]}", where="wgpu.gpu", mend=DRIVER
        ) from None
    if not found:
        raise TargetError("WebGPU finds no adapter", where="wgpu.gpu.enumerate_adapters", mend=DRIVER)
    named = [a for a in found if wish.lower() in " ".join(map(str, dict(a.info).values())).lower()]
    if not named:
        names = ", ".join(str(a.info.get("device")) for a in found)
        raise TargetError(
            f"no adapter of WebGPU is called '{wish}'",
            where=f"the environment: {ADAPTER}; adapters: {names}",
            mend=f"set {ADAPTER} to a part of one of these names, or unset it",
        )
    order = {"DiscreteGPU": 0, "IntegratedGPU": 1, "VirtualGPU": 2}
    best = min(named, key=lambda a: order.get(str(a.info.get("adapter_type")), 3))
    try:
        return WebGPUGrid(wgpu, best, language)
    except Exception as error:
        raise TargetError(
            f"the adapter cannot be opened: {' '.join(str(error).split())[:300]}",
            where=str(best.info.get("device")),
            mend=f"use another adapter: set {ADAPTER} to a part of its name",
        ) from None


def wished() -> str:
    """What the environment says of the adapter."""
    return os.environ.get(ADAPTER, "").strip()
