"""Calls timed right after all threads emptied all caches, and how fast plain loops stream the same bytes.

The flush and what is timed run in one C function on the same team of threads, so that nobody sleeps in between: had one
thread flushed for milliseconds, the others would first have to be woken, some fifty microseconds of every cold call.

Flushing writes a buffer of FLUSHED times the last cache and reads it back, each thread its part. Nothing of an input or
an output is left in a cache then, a private one neither; and all lines there are dirty, so that an output that would
fit into a cache makes room by as many bytes written to memory.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tang_egg import run_toolchain as toolchain
from tang_egg.probe_host import caches
from tang_egg.run import DirectCall, aligned, threads

FLUSHED = 4
"""Times the last cache that a flush writes and reads."""
LINE = 64
WAYS = ("plain", "past", "alone")
"""How bytes are streamed: by stores that go through the caches, by stores that pass by them, or by one thread."""

SOURCE = r"""
#include <stdint.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
#endif
#if defined(__AVX__) && defined(__has_include)
#if __has_include(<immintrin.h>)
#include <immintrin.h>
#define STREAMS 1
#endif
#endif
typedef float vf __attribute__((vector_size(32)));
enum { BLOCK = 4096 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
#define KEEP(x) { vf kept = x; __asm__ volatile("" : : "m"(kept) : "memory"); }

static vf loaded(const vf *p, int64_t lines) {
    vf a = {0}; vf b = a; vf c = a; vf d = a; vf e = a; vf f = a; vf g = a; vf h = a;
    int64_t k = 0;
    for (; k + 4 <= lines; k += 4, p += 8) {
        a += p[0]; b += p[1]; c += p[2]; d += p[3]; e += p[4]; f += p[5]; g += p[6]; h += p[7];
    }
    for (; k < lines; k++, p += 2) { a += p[0]; b += p[1]; }
    return a + b + c + d + e + f + g + h;
}
static void flush(char *memory, int64_t bytes, int team) {
#pragma omp parallel num_threads(team) if (team > 1)
    {
        int64_t share = bytes / team / 64 * 64;
        vf *p = (vf *)(void *)(memory + share * omp_get_thread_num());
        vf one = {0}; one += 1.0f;
        for (int64_t k = 0; k < share / 32; k++) p[k] = one;
        vf sum = loaded(p, share / 64);
        KEEP(sum)
    }
}
/* No two lines are equal: some memories take lines of zeros, or of one value, far sooner. */
static vf stored(vf *p, int64_t lines, vf x, int past) {
    vf one = {0}; one += 1.0f;
#ifdef STREAMS
    if (past) {
        for (int64_t k = 0; k < lines; k++, x += one) {
            _mm256_stream_ps((float *)(p + 2 * k), *(__m256 *)(void *)&x);
            _mm256_stream_ps((float *)(p + 2 * k + 1), *(__m256 *)(void *)&x);
        }
        return x;
    }
#endif
    for (int64_t k = 0; k < lines; k++, x += one) { p[2 * k] = x; p[2 * k + 1] = x; }
    return x;
}
/* Both directions side by side, in the ratio that is asked for: blocks of the longer one, and as much of the other. */
static void stream(const char *from, int64_t read, char *to, int64_t written, int past, int team) {
#pragma omp parallel num_threads(team) if (team > 1)
    {
        int64_t me = omp_get_thread_num();
        int64_t r = read / team / 64, w = written / team / 64;
        const char *in = from + 64 * r * me;
        char *out = to + 64 * w * me;
        int64_t blocks = ((r > w ? r : w) * 64 + BLOCK - 1) / BLOCK;
        vf sum = {0}; vf x = {0}; x += 1.5f;
        for (int64_t k = 0; k < blocks; k++) {
            int64_t a = r * k / blocks, b = r * (k + 1) / blocks;
            sum += loaded((const vf *)(const void *)(in + 64 * a), b - a);
            a = w * k / blocks, b = w * (k + 1) / blocks;
            x = stored((vf *)(void *)(out + 64 * a), b - a, x, past);
        }
        KEEP(sum)
#ifdef STREAMS
        _mm_sfence();
#endif
    }
}
typedef void (*entry_of)(void *, void *, void *, int);

double floor_call(entry_of entry, void *table, void *dims, void *scratch, int team, char *memory, int64_t bytes,
                  int flushers) {
    if (bytes) flush(memory, bytes, flushers); else entry(table, dims, scratch, team);
    double start = now();
    entry(table, dims, scratch, team);
    return now() - start;
}
double floor_stream(const char *from, int64_t read, char *to, int64_t written, int past, int team, char *memory,
                    int64_t bytes, int flushers) {
    if (bytes) flush(memory, bytes, flushers); else stream(from, read, to, written, past, team);
    double start = now();
    stream(from, read, to, written, past, team);
    return now() - start;
}
"""


class Stage:
    """The compiled functions with the memory of flushes and streams; `team`: the threads of both."""

    def __init__(self, team: int = 0, flushed: int = 0) -> None:
        """Raises TargetError without a C compiler. `flushed`: bytes of a flush; 0: FLUSHED times the last cache."""
        self.team = team or (threads() if toolchain.compiler().threads else 1)
        size = flushed or FLUSHED * caches(self.team)[-1].capacity
        self._memory = aligned((size,), np.dtype("uint8"))
        self._memory[:] = 0
        self._from = self._to = self._memory[:0]
        library = toolchain.build(SOURCE)
        address, count, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
        self._call, self._stream = library.floor_call, library.floor_stream
        self._call.argtypes = (address, address, address, address, number, address, count, number)
        self._stream.argtypes = (address, count, address, count, number, number, address, count, number)
        self._call.restype = self._stream.restype = ctypes.c_double

    def seconds(self, call: DirectCall, cold: bool) -> float:
        """Seconds of one call: right after a flush where `cold`, else right after the same call."""
        entry = ctypes.cast(call.entry, ctypes.c_void_p)  # type: ignore[arg-type]
        return float(self._call(entry, *call.arguments, self._memory.ctypes.data, self._flushed(cold), self.team))

    def stream_seconds(self, read: int, written: int, way: str, cold: bool) -> float:
        """Seconds of a loop over so many bytes, read and written side by side, in whole lines of each thread."""
        self._from, self._to = _grown(self._from, read), _grown(self._to, written)
        team = 1 if way == "alone" else self.team
        where = (self._from.ctypes.data, read, self._to.ctypes.data, written, int(way == "past"), team)
        return float(self._stream(*where, self._memory.ctypes.data, self._flushed(cold), self.team))

    def _flushed(self, cold: bool) -> int:
        return self._memory.size if cold else 0


def _grown(memory: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """Memory of at least `size` bytes, touched."""
    if memory.size >= size:
        return memory
    found = aligned((size,), np.dtype("uint8"))
    found[:] = 1
    return found
