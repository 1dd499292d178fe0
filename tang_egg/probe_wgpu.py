"""Probes of the first WebGPU adapter: by timestamps of passes where they agree with the clock, else by the clock."""

from __future__ import annotations

import importlib
import struct
import time
from typing import Any

import numpy as np

from tang_egg.cost.device import MEMORY
from tang_egg.doctor_finding import extra, pip
from tang_egg.errors import TargetError
from tang_egg.probe_bench import Bench, Place
from tang_egg.probe_grid import Experiments, knees, samples
from tang_egg.probe_host import caches, memory_available, processors

_HEAD = """
struct Numbers {{ n: u32, times: u32, zero: u32, groups: u32 }};
@group(0) @binding(0) var<storage, read_write> a: array<{a}>;
@group(0) @binding(1) var<storage, read_write> b: array<{b}>;
@group(0) @binding(2) var<storage, read_write> out: array<{out}>;
@group(0) @binding(3) var<uniform> given: Numbers;
"""
_SHARE = """
    let per = (given.n + given.groups - 1u) / given.groups;
    let first = per * group.x + lane;
    let end = min(per * (group.x + 1u), given.n);
"""
_SIGNATURE = """@compute @workgroup_size({threads})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
"""
_BODIES: dict[str, tuple[tuple[str, str, str], str]] = {
    "empty": (("u32", "u32", "u32"), "out[4u] = given.zero;"),
    "chase": (
        ("u32", "u32", "u32"),
        "var at = given.zero; for (var k = 0u; k < given.n; k++) { at = a[a[a[a[a[a[a[a[at]]]]]]]]; }"
        " out[2u] = at + b[0u] * given.zero;",
    ),
    "read": (
        ("vec4<f32>", "vec4<f32>", "vec4<f32>"),
        _SHARE + """
    var s = vec4<f32>(0.0); var t = s; var u = s; var v = s; let by = THREADSu;
    for (var r = 0u; r < given.times; r++) {
        let o = r & given.zero; var k = first;
        for (; k + 3u * by < end; k += 4u * by) {
            s += a[o + k]; t += a[o + k + by]; u += a[o + k + 2u * by]; v += a[o + k + 3u * by];
        }
        for (; k < end; k += by) { s += a[o + k]; }
    }
    out[1u + group.x * THREADSu + lane] = s + t + u + v + b[0u] * f32(given.zero);""",
    ),
    "write": (
        ("vec4<f32>", "vec4<f32>", "vec4<f32>"),
        _SHARE + """
    for (var r = 0u; r < given.times; r++) {
        for (var k = first; k < end; k += THREADSu) { a[k + (r & given.zero)] = vec4<f32>(f32(r)); }
    }
    if (given.zero != 0u) { out[1u] = b[0u]; }""",
    ),
    "copy": (
        ("vec4<f32>", "vec4<f32>", "vec4<f32>"),
        _SHARE + """
    for (var r = 0u; r < given.times; r++) {
        for (var k = first; k < end; k += THREADSu) { b[k + (r & given.zero)] = a[k + (r & given.zero)]; }
    }
    if (given.zero != 0u) { out[1u] = b[0u]; }""",
    ),
    "barrier": (
        ("u32", "u32", "u32"),
        "for (var k = 0u; k < given.n; k++) { seen[lane] = k; workgroupBarrier(); }"
        " out[4u + lane] = seen[0] + (a[0u] + b[0u]) * given.zero;",
    ),
}  # fmt: skip
"""What a and b and out hold, and the body, of each kernel but the peaks."""
_PEAK = """
    let x = TYPE(KIND(0.999) + KIND(given.zero)); let y = TYPE(KIND(0.001));
    var p = y; var q = y + x; var r = y; var s = x; var t = y; var u = x; var v = y; var w = x;
    for (var k = 0u; k < given.n; k++) {
        p = fma(p, x, y); q = fma(q, x, y); r = fma(r, x, y); s = fma(s, x, y);
        t = fma(t, x, y); u = fma(u, x, y); v = fma(v, x, y); w = fma(w, x, y);
    }
    out[1u + group.x * THREADSu + lane] =
        vec4<f32>(p + q + r + s + t + u + v + w) + (a[0u] + b[0u]) * f32(given.zero);"""
_TYPES = {"peak_f32": "f32", "peak_f16": "f16"}


def source(kernel: str, threads: int) -> str:
    """The WGSL of one experiment for groups of some threads."""
    if kernel in _TYPES:
        kind = _TYPES[kernel]
        types, body = ("vec4<f32>",) * 3, _PEAK.replace("TYPE", f"vec4<{kind}>").replace("KIND", kind)
    else:
        types, body = _BODIES[kernel]
    head = ("enable f16;\n" if kernel == "peak_f16" else "") + _HEAD.format(a=types[0], b=types[1], out=types[2])
    shared = f"var<workgroup> seen: array<u32, {threads}>;\n" if kernel == "barrier" else ""
    return head + shared + _SIGNATURE.format(threads=threads) + body.replace("THREADS", str(threads)) + "\n}\n"


class WebGPU:
    """One adapter's device; see probe_grid.Grid."""

    threads, lanes = 64, 4
    loops = 60_000
    """Mesa's driver for processors ends all loops of a thread after 65535 turns."""

    def __init__(self) -> None:
        self.wgpu = _wgpu()
        self.adapter = _adapter(self.wgpu)
        self.info = dict(self.adapter.info)
        self.cpu = str(self.info.get("adapter_type", "")).upper() == "CPU"
        wanted = [f for f in ("shader-f16", "timestamp-query") if f in self.adapter.features]
        size = min(int(self.adapter.limits["max-storage-buffer-binding-size"]), 1 << 30)
        limits = {
            "max-storage-buffer-binding-size": size,
            "max-buffer-size": min(int(self.adapter.limits["max-buffer-size"]), 1 << 30),
        }
        self.device = self.adapter.request_device_sync(required_features=wanted, required_limits=limits)
        self.largest = size
        self.half = "shader-f16" in wanted
        self.marks = self._marks() if "timestamp-query" in wanted else None
        self.numbers = self.device.create_buffer(size=16, usage=self._usage("UNIFORM"))
        self.spare = self.buffer(64)
        self._pipelines: dict[tuple[str, int], Any] = {}
        self.tick = 1e-9
        self.tick = self._tick()

    @property
    def title(self) -> str:
        return " ".join(str(self.info.get("device") or self.info.get("description") or "a WebGPU adapter").split())

    def buffer(self, size: int, data: np.ndarray[Any, Any] | None = None) -> Any:
        if data is not None:
            return self.device.create_buffer_with_data(data=data, usage=self._usage("STORAGE"))
        return self.device.create_buffer(size=size, usage=self._usage("STORAGE"))

    def seconds(
        self, kernel: str, groups: int, threads: int, buffers: tuple[Any, ...], numbers: tuple[int, ...]
    ) -> float:
        n, times = (*numbers, 1)[:2]
        self.device.queue.write_buffer(self.numbers, 0, struct.pack("4I", n, times, 0, groups))
        return self._run([self._bound(kernel, threads, buffers)], groups)

    def launches(self, count: int) -> float:
        self.device.queue.write_buffer(self.numbers, 0, struct.pack("4I", 0, 0, 0, 1))
        return self._run([self._bound("empty", 1, (self.spare,))] * count, 1)

    def _run(self, bound: list[tuple[Any, Any]], groups: int) -> float:
        encoder = self.device.create_command_encoder()
        stamps = {} if self.marks is None else {
            "timestamp_writes": {
                "query_set": self.marks[0], "beginning_of_pass_write_index": 0, "end_of_pass_write_index": 1,
            }
        }  # fmt: skip
        one = encoder.begin_compute_pass(**stamps)
        for pipeline, group in bound:
            one.set_pipeline(pipeline)
            one.set_bind_group(0, group)
            one.dispatch_workgroups(groups)
        one.end()
        if self.marks is not None:
            encoder.resolve_query_set(self.marks[0], 0, 2, self.marks[1], 0)
        start = time.perf_counter()
        self.device.queue.submit([encoder.finish()])
        self.device.queue.read_buffer(self.spare, 0, 4)  # waits for all that was submitted
        wall = time.perf_counter() - start
        if self.marks is None or self.tick <= 0:
            return wall
        first, last = struct.unpack("2Q", bytes(self.device.queue.read_buffer(self.marks[1], 0, 16)))
        taken = self.tick * (last - first)
        return taken if 0 < taken < wall else wall

    def _bound(self, kernel: str, threads: int, buffers: tuple[Any, ...]) -> tuple[Any, Any]:
        """A pipeline with its buffers; a kernel of fewer than three gets spare ones before the last."""
        key = (kernel, threads)
        if key not in self._pipelines:
            module = self.device.create_shader_module(code=source(kernel, threads))
            self._pipelines[key] = self.device.create_compute_pipeline(
                layout="auto", compute={"module": module, "entry_point": "main"}
            )
        pipeline = self._pipelines[key]
        used = {"empty": (2, 3), "chase": (0, 1, 2, 3)}.get(kernel, (0, 1, 2, 3))
        spares = [self.buffer(64) for _ in range(3 - len(buffers))]
        first, last = buffers[:-1], buffers[-1]
        placed: list[Any] = [*first, *spares, last, self.numbers]
        if len({id(x) for x in placed[:3]}) < 3:  # one binding of a buffer may be written while it is bound
            placed[1] = self.buffer(64)
        entries = [{"binding": n, "resource": {"buffer": placed[n], "offset": 0, "size": placed[n].size}} for n in used]
        return pipeline, self.device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)

    def _tick(self) -> float:
        """Seconds of one tick of the timestamps; WebGPU says a nanosecond, which not every driver keeps to: 0 there.

        A loop of barriers is timed by both clocks; a wrong tick is off by far more than the start of a launch.
        """
        if self.marks is None:
            return 0.0
        out, n, wall = self.buffer(1 << 16), 1 << 10, 0.0
        while wall < 0.1 and 2 * n <= self.loops:
            n *= 2
            start = time.perf_counter()
            said = self.seconds("barrier", 1, self.threads, (out,), (n,))
            wall = time.perf_counter() - start
        return 1e-9 if 0.3 * wall < said <= wall else 0.0

    def _marks(self) -> tuple[Any, Any]:
        queries = self.device.create_query_set(type=self.wgpu.QueryType.timestamp, count=2)
        return queries, self.device.create_buffer(size=16, usage=self._usage("QUERY_RESOLVE"))

    def _usage(self, kind: str) -> Any:
        usage = self.wgpu.BufferUsage
        return getattr(usage, kind) | usage.COPY_SRC | usage.COPY_DST


def benches() -> list[Bench]:
    """The first adapter, ready to be measured. Raises TargetError where WebGPU cannot be used."""
    try:
        grid = WebGPU()
    except TargetError:
        raise
    except Exception as error:  # of wgpu's many kinds: no driver, a lost device, a limit
        raise TargetError(
            f"WebGPU cannot be used: {' '.join(str(error).split())[:300]}",
            where="the first adapter", mend="install a Vulkan driver: mesa-vulkan-drivers brings one for processors",
        ) from None  # fmt: skip
    units = len(processors()) if grid.cpu else 64
    run = Experiments(grid, 8 * units if grid.cpu else 1024)
    near = caches(units) if grid.cpu else _found(run)
    far = min(8 * max((p.capacity for p in near), default=1 << 24), grid.largest // 2, memory_available() // 8)
    places = (*near, Place(MEMORY, 0))
    kinds = ["f32", "f16"] if grid.half else ["f32"]
    taken = samples(run, places, far >> 12 << 12) | {f"vector {kind}": run.peak(kind) for kind in kinds}
    notes = (
        ()
        if grid.cpu
        else ("WebGPU does not say how many processors there are: counted as 64", "caches are those that a chase shows")
    )
    return [
        Bench(
            grid.title, "wgsl",
            f"{grid.info.get('backend_type', '')} {grid.info.get('description', '')}, wgpu {grid.wgpu.__version__}",
            units, units if grid.cpu else 32 * units, places, tuple((kind, False) for kind in kinds), taken, {},
            notes=notes, close=run.close, host=grid.cpu,
        )
    ]  # fmt: skip


def _found(run: Experiments) -> tuple[Place, ...]:
    """The caches of an adapter that names none: where the latency of a chase rises."""
    sizes = tuple(1 << n for n in range(13, 28))
    return tuple(Place(f"L{n}", size) for n, size in enumerate(knees(lambda s: run.chase(s)(), sizes), 1))


def _wgpu() -> Any:
    try:
        return importlib.import_module("wgpu")
    except (ImportError, OSError) as error:
        raise TargetError(
            "wgpu, which runs WGSL kernels, is not installed",
            where=f"import wgpu: {' '.join(str(error).split())[:200]}",
            mend=pip(*extra("wgpu")),
        ) from None


def _adapter(wgpu: Any) -> Any:
    """An adapter by Vulkan, Metal or Direct3D: a GPU before a processor."""
    found = [a for a in wgpu.gpu.enumerate_adapters_sync() if a.info.get("backend_type") != "OpenGL"]
    if not found:
        raise TargetError(
            "WebGPU finds no adapter", where="wgpu.gpu.enumerate_adapters",
            mend="install a Vulkan driver: mesa-vulkan-drivers brings one for processors",
        )  # fmt: skip
    order = {"DiscreteGPU": 0, "IntegratedGPU": 1, "VirtualGPU": 2}
    return min(found, key=lambda a: order.get(str(a.info.get("adapter_type")), 3))
