"""What the machine can do, measured in the same run: multiply-adds of f32, bytes per second of caches and of memory.

Small C loops on all processors at once, the best of a few runs: rates of f32 multiply-adds in registers, of reads that
L2 (256 KiB for each thread) and L3 (4 MiB together) hold, and, over arrays larger than the caches, of reads and of
copies with stores through the caches and past them. A copy counts what it reads and what it writes.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.cpu_timing import Turns
from tang_egg import run_toolchain as toolchain
from tang_egg.run import aligned, threads

SOURCE = r"""
#include <stdint.h>
typedef float v __attribute__((vector_size(32)));
#if defined(__AVX__)
#include <immintrin.h>
#define STREAM(p, x) _mm256_stream_ps(p, (__m256)(x))
#else
#define STREAM(p, x) *(v *)(p) = (x)
#endif
#if defined(__AVX512F__)
typedef float w __attribute__((vector_size(64)));
#else
typedef float w __attribute__((vector_size(32)));
#endif
int64_t lanes_(void) { return sizeof(w) / sizeof(float); }
float fma_(float *a, float *b, int64_t n, int64_t times) {
  w s[12], x = {0}, y = {0};
  x += 0.999f; y += 1e-3f;
  for (int j = 0; j < 12; j++) s[j] = x * (float)j;
  for (int64_t r = 0; r < times; r++)
    for (int j = 0; j < 12; j++) s[j] = s[j] * x + y;
  for (int j = 1; j < 12; j++) s[0] += s[j];
  return s[0][0];
}
float read_(float *a, float *b, int64_t n, int64_t times) {
  v s[8] = {0};
  for (int64_t r = 0; r < times; r++) {
    __asm__ volatile("" ::: "memory");
    for (int64_t i = 0; i < n; i += 64)
      for (int j = 0; j < 8; j++) s[j] += *(v *)(a + i + 8 * j);
  }
  for (int j = 1; j < 8; j++) s[0] += s[j];
  return s[0][0];
}
float copy_(float *a, float *b, int64_t n, int64_t times) {
  for (int64_t r = 0; r < times; r++)
    for (int64_t i = 0; i < n; i += 32)
      for (int j = 0; j < 32; j += 8) *(v *)(a + i + j) = *(v *)(b + i + j) + 1.0f;
  return a[0];
}
float past_(float *a, float *b, int64_t n, int64_t times) {
  for (int64_t r = 0; r < times; r++)
    for (int64_t i = 0; i < n; i += 32)
      for (int j = 0; j < 32; j += 8) STREAM(a + i + j, *(v *)(b + i + j) + 1.0f);
  return a[0];
}
"""
RUNS = 7


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Rates of all processors together: 1e9 operations and 1e9 bytes a second."""

    fma_gflops: float
    l2_gbs: float
    l3_gbs: float
    read_gbs: float
    copy_gbs: float

    def seconds(self, flops: float, moved: int, written: int) -> tuple[float, str]:
        """The time of so much work at these rates, and which binds: "flops" or "bytes".

        The rate of bytes is that of the level that holds them all: of a copy from memory where a tenth is written.
        """
        if moved < 1 << 20:
            rate = self.l2_gbs
        elif moved < 8 << 20:
            rate = self.l3_gbs
        else:
            rate = self.read_gbs if written < 0.1 * moved else self.copy_gbs
        arithmetic, memory = flops / self.fma_gflops / 1e9, moved / rate / 1e9
        return max(arithmetic, memory), "flops" if arithmetic > memory else "bytes"

    def fields(self) -> dict[str, float]:
        """As the log keeps them."""
        return {name: float(f"{value:.4g}") for name, value in asdict(self).items()}


def measured(turns: Turns) -> Ceilings:
    """The rates of this machine now, in about ten seconds. Raises TargetError without a C compiler."""
    library, team = toolchain.build(SOURCE), threads()
    large = 1 << 25  # elements, 128 MiB: the caches hold a small part of it

    library.lanes_.restype = ctypes.c_int64

    def best(name: str, n: int, times: int, each: float) -> float:
        call = getattr(library, name)
        call.restype = ctypes.c_float
        arrays = [[_ones(n), _ones(n)] for _ in range(team)]
        took = []
        for _ in range(RUNS):
            turns.quiet()
            took.append(_together([_call(call, own, n, times) for own in arrays]))
        return team * each * times / min(took) / 1e9

    return Ceilings(
        fma_gflops=best("fma_", 64, 10_000_000, 12 * library.lanes_() * 2),
        l2_gbs=best("read_", 1 << 16, 4000, 4 << 16),
        l3_gbs=best("read_", (1 << 20) // team, 300, (4 << 20) // team),
        read_gbs=best("read_", large, 1, 4 * large),
        copy_gbs=max(best("copy_", large, 1, 8 * large), best("past_", large, 1, 8 * large)),
    )


def _ones(n: int) -> NDArray[Any]:
    found = aligned((n,), np.dtype(np.float32))
    found[:] = 1
    return found


def _call(function: Any, own: list[NDArray[Any]], n: int, times: int) -> Callable[[], None]:
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in own]
    return lambda: function(*pointers, ctypes.c_int64(n), ctypes.c_int64(times))


def _together(calls: list[Callable[[], None]]) -> float:
    """Seconds until all calls, which start at once on threads of their own, have returned."""
    barrier = threading.Barrier(len(calls) + 1)

    def work(call: Callable[[], None]) -> None:
        barrier.wait()
        call()

    team = [threading.Thread(target=work, args=(c,)) for c in calls]
    for t in team:
        t.start()
    barrier.wait()
    start = time.perf_counter()
    for t in team:
        t.join()
    return time.perf_counter() - start
