"""Probes of the first OpenCL device, timed by the profile of its queue."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any

import numpy as np

from tang_egg.cost.device import MEMORY
from tang_egg.doctor_finding import extra, pip
from tang_egg.errors import TargetError
from tang_egg.probe_bench import Bench, Place
from tang_egg.probe_grid import ENDLESS, Experiments, samples
from tang_egg.probe_host import caches, memory_available

SOURCE = r"""
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define LANES_OF(T) JOIN(T, LANES)

kernel void probe_empty(global uint *out) {}

kernel void probe_chase(global const uint *next, global uint *out, uint n) {
    uint at = out[1];
    for (uint k = 0; k < n; k++) at = next[next[next[next[next[next[next[next[at]]]]]]]];
    out[2] = at;
}

/* The share of a group in a sweep. An offset that depends on the round and is 0 keeps rounds from being merged: the
   first 8 bytes of `out` are zeros, and no kernel writes there. */
#define SHARE                                                         \
    const uint per = (vectors + get_num_groups(0) - 1) / get_num_groups(0); \
    const uint first = per * get_group_id(0) + get_local_id(0);       \
    const uint end = min(per * ((uint)get_group_id(0) + 1), vectors); \
    const uint zero = as_uint(out[0].x);

kernel void probe_read(global const float4 *a, global float4 *b, global float4 *out, uint vectors, uint times) {
    SHARE
    float4 s = 0, t = 0, u = 0, v = 0;
    const uint by = get_local_size(0);
    for (uint r = 0; r < times; r++) {
        global const float4 *p = a + (r & zero);
        uint k = first;
        for (; k + 3 * by < end; k += 4 * by) { s += p[k]; t += p[k + by]; u += p[k + 2 * by]; v += p[k + 3 * by]; }
        for (; k < end; k += by) s += p[k];
    }
    out[1 + get_global_id(0)] = s + t + u + v;
}
kernel void probe_write(global float4 *a, global float4 *b, global float4 *out, uint vectors, uint times) {
    SHARE
    for (uint r = 0; r < times; r++) {
        global float4 *p = a + (r & zero);
        for (uint k = first; k < end; k += get_local_size(0)) p[k] = (float4)(r);
    }
}
kernel void probe_copy(global const float4 *a, global float4 *b, global float4 *out, uint vectors, uint times) {
    SHARE
    for (uint r = 0; r < times; r++) {
        global const float4 *p = a + (r & zero);
        global float4 *q = b + (r & zero);
        for (uint k = first; k < end; k += get_local_size(0)) q[k] = p[k];
    }
}

#define PEAK(T)                                                                          \
kernel void JOIN(probe_peak_, T)(global T *out, uint n) {                                      \
    typedef LANES_OF(T) V;                                                               \
    const V x = (V)((T)0.999 + (T)1e-3 * out[0]), y = (V)((T)1e-3);                      \
    V a = y, b = y + x, c = y, d = x, e = y, f = x, g = y, h = x;                        \
    for (uint k = 0; k < n; k++) {                                                       \
        a = mad(a, x, y); b = mad(b, x, y); c = mad(c, x, y); d = mad(d, x, y);          \
        e = mad(e, x, y); f = mad(f, x, y); g = mad(g, x, y); h = mad(h, x, y);          \
    }                                                                                    \
    vstore_lanes(a + b + c + d + e + f + g + h, out + LANES * (1 + get_global_id(0)));   \
}
#define vstore_lanes(v, p) JOIN(vstore, LANES)(v, 0, p)
PEAK(float)
#ifdef cl_khr_fp64
PEAK(double)
#endif
#ifdef cl_khr_fp16
PEAK(half)
#endif

kernel void probe_barrier(global uint *out, uint n) {
    local uint seen[1024];
    for (uint k = 0; k < n; k++) {
        seen[get_local_id(0)] = k;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[4 + get_local_id(0)] = seen[0];
}
"""
NAMES = {"peak_f32": "peak_float", "peak_f64": "peak_double", "peak_f16": "peak_half"}
"""What kernels are called here, where the language has other names of types."""


class OpenCL:
    """One device and a queue that keeps times; see probe_grid.Grid."""

    loops = ENDLESS

    def __init__(self) -> None:
        os.environ.setdefault("PYOPENCL_COMPILER_OUTPUT", "0")
        self.cl = _pyopencl()
        self.device = _device(self.cl)
        self.cpu = bool(self.device.type & self.cl.device_type.CPU)
        self.threads, self.lanes = (1, 8) if self.cpu else (256, 4)
        self.context = self.cl.Context([self.device])
        self.queue = self.cl.CommandQueue(self.context, properties=self.cl.command_queue_properties.PROFILING_ENABLE)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a compiler says of a source that it accepts
                self.program = self.cl.Program(self.context, SOURCE).build([f"-DLANES={self.lanes}"])
        except self.cl.Error as error:
            raise TargetError(
                f"the probes do not compile: {' '.join(str(error).split())[:300]}",
                where=self.title, mend="report this with the device's name and driver",
            ) from None  # fmt: skip
        self._kernels: dict[str, Any] = {}

    @property
    def title(self) -> str:
        return f"{self.device.name.strip()}, {self.device.platform.name.strip()}"

    def buffer(self, size: int, data: np.ndarray[Any, Any] | None = None) -> Any:
        content = np.zeros(size, np.uint8) if data is None else data
        flags = self.cl.mem_flags
        return self.cl.Buffer(self.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=content)

    def seconds(
        self, kernel: str, groups: int, threads: int, buffers: tuple[Any, ...], numbers: tuple[int, ...]
    ) -> float:
        event = self._launch(kernel, groups, threads, (*buffers, *(np.uint32(n) for n in numbers)))
        event.wait()
        return 1e-9 * float(event.profile.end - event.profile.start)

    def launches(self, count: int) -> float:
        out = self._kernels.setdefault("room", self.buffer(64))
        events = [self._launch("empty", 1, 1, (out,)) for _ in range(count)]
        events[-1].wait()
        return 1e-9 * float(events[-1].profile.end - events[0].profile.start)

    def _launch(self, kernel: str, groups: int, threads: int, arguments: tuple[Any, ...]) -> Any:
        name = f"probe_{NAMES.get(kernel, kernel)}"
        if name not in self._kernels:
            self._kernels[name] = self.cl.Kernel(self.program, name)
        return self._kernels[name](self.queue, (groups * threads,), (threads,), *arguments)


def benches() -> list[Bench]:
    """The first device, ready to be measured. Raises TargetError where OpenCL cannot be used."""
    grid = OpenCL()
    found, info = grid.device, grid.device
    units = max(1, int(info.max_compute_units))
    if grid.cpu:
        near = caches(units)
    else:
        near = (Place("shared", int(info.local_mem_size), units), Place("L2", int(info.global_mem_cache_size)))
    places = (*near, Place(MEMORY, 0))
    far = min(
        8 * max((p.capacity for p in near), default=1 << 24), int(info.max_mem_alloc_size) // 2, memory_available() // 8
    )
    run = Experiments(grid, units if grid.cpu else 32 * units)
    kinds = ["f32"]
    extensions = str(found.extensions).split()
    kinds += ["f64"] if "cl_khr_fp64" in extensions else []
    kinds += ["f16"] if "cl_khr_fp16" in extensions else []
    taken = samples(run, places, far >> 12 << 12) | {f"vector {kind}": run.peak(kind) for kind in kinds}
    clock = 1e6 * float(info.max_clock_frequency)
    return [
        Bench(
            grid.title, "opencl", f"{found.platform.version.strip()}, driver {found.driver_version}", units,
            units * (1 if grid.cpu else 32),
            places, tuple((kind, False) for kind in kinds), taken, {}, lambda: clock, close=run.close, host=grid.cpu,
        )
    ]  # fmt: skip


def _pyopencl() -> Any:
    try:
        return importlib.import_module("pyopencl")
    except ImportError as error:
        raise TargetError(
            "pyopencl, which runs OpenCL kernels, is not installed",
            where=f"import pyopencl: {' '.join(str(error).split())[:200]}",
            mend=pip(*extra("opencl")),
        ) from None


def _device(cl: Any) -> Any:
    """A device with the most compute units of the best kind: a GPU before a processor."""
    try:
        found = [d for p in cl.get_platforms() for d in p.get_devices()]
    except cl.Error as error:
        found, said = [], str(error)
    else:
        said = "no platform has a device"
    if not found:
        raise TargetError(
            "OpenCL finds no device", where=f"clGetPlatformIDs: {said}",
            mend=f"{pip(*extra('opencl'))}, which brings one for processors; or install the driver of the GPU",
        )  # fmt: skip
    return max(found, key=lambda d: (bool(d.type & cl.device_type.GPU), d.max_compute_units))
