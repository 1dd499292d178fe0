"""The C of the probes: each function runs one experiment and gives seconds.

Nothing here can be left out by a compiler: every lane of a result reaches an asm statement (were it one lane only,
the compiler would compute that lane of several chains in one vector), and loops pass through empty asm statements that
could change anything.
"""

from __future__ import annotations

SOURCE = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#if defined(__AVX__) && defined(__has_include)
#if __has_include(<immintrin.h>)
#include <immintrin.h>
#define STREAMS 1
#endif
#endif
typedef float vf __attribute__((vector_size(BYTES)));
typedef double vd __attribute__((vector_size(BYTES)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
#define KEEP(V, x) { V kept = x; __asm__ volatile("" : : "m"(kept) : "memory"); }
#define ANYTHING(x) __asm__ volatile("" : "+r"(x) : : "memory")

int probe_vector_bytes(void) { return BYTES; }

/* Memory of a probe: whole pages, large ones where the system gives them, zeroed by the threads that will use it. */
void *probe_take(int64_t bytes, int threads, int large) {
    int64_t whole = (bytes + (1 << 21) - 1) >> 21 << 21;
    char *p = aligned_alloc(1 << 21, whole);
    if (!p) return 0;
#if defined(__linux__)
    madvise(p, whole, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
#pragma omp parallel num_threads(threads)
    {
        int64_t share = bytes / threads, at = share * omp_get_thread_num();
        memset(p + at, 0, share);
    }
    return p;
}
void probe_give(void *p) { free(p); }

static void nothing(void) {}
double probe_launch(int64_t n) {
    void (*volatile call)(void) = nothing;
    double start = now();
    for (int64_t k = 0; k < n; k++) call();
    return (now() - start) / n;
}
double probe_team(int64_t n, int threads) {
    int64_t seen[64 * 8] = {0};
    double start = now();
    for (int64_t k = 0; k < n; k++) {
#pragma omp parallel num_threads(threads)
        seen[omp_get_thread_num() % 64 * 8]++;
    }
    return (now() - start) / n;
}
double probe_barrier(int64_t n, int threads) {
    double taken = 0;
#pragma omp parallel num_threads(threads)
    {
        double start = now();
        for (int64_t k = 0; k < n; k++) {
#pragma omp barrier
        }
        if (omp_get_thread_num() == 0) taken = now() - start;
    }
    return taken / n;
}
/* A chain of additions of registers: one cycle each on every processor in use. */
double probe_cycle_time(int64_t n) {
    uint64_t x = 1, y = (uint64_t)n | 1;
    double start = now();
    for (int64_t k = 0; k < n; k += 16) {
#define STEP x += y; ANYTHING(x);
        STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
    }
    return (now() - start) / n;
}

static uint64_t drawn(uint64_t *s) {
    *s ^= *s << 13; *s ^= *s >> 7; *s ^= *s << 17;
    return *s;
}
/* Joins all lines of a memory in one random cycle; where `page` is not 0, the lines of each page follow each other in
   random order, and pages in random order. */
int probe_join(char *p, int64_t bytes, int64_t page, uint64_t seed) {
    const int64_t line = 64, lines = bytes / line, per = page ? page / line : lines;
    int64_t blocks = lines / per, total = blocks * per;
    int64_t *order = malloc(sizeof(int64_t) * total), *outer = malloc(sizeof(int64_t) * blocks);
    uint64_t s = seed * 2654435761u + 88172645463325252ull;
    if (!order || !outer) { free(order); free(outer); return 0; }
    for (int64_t b = 0; b < blocks; b++) outer[b] = b;
    for (int64_t b = blocks - 1; b > 0; b--) {
        int64_t o = drawn(&s) % (b + 1), t = outer[b];
        outer[b] = outer[o]; outer[o] = t;
    }
    for (int64_t b = 0; b < blocks; b++) {
        int64_t *mine = order + b * per;
        for (int64_t k = 0; k < per; k++) mine[k] = outer[b] * per + k;
        for (int64_t k = per - 1; k > 0; k--) {
            int64_t o = drawn(&s) % (k + 1), t = mine[k];
            mine[k] = mine[o]; mine[o] = t;
        }
    }
    for (int64_t k = 0; k < total; k++) *(char **)(p + order[k] * line) = p + order[(k + 1) % total] * line;
    free(order); free(outer);
    return 1;
}
double probe_chase(char *p, int64_t hops, char **end) {
    char *at = *end ? *end : p;
    double start = now();
    for (int64_t k = 0; k < hops; k += 8) {
#define HOP at = *(char *volatile *)at;
        HOP HOP HOP HOP HOP HOP HOP HOP
    }
    double taken = now() - start;
    *end = at;
    return taken / hops;
}

/* Each thread sweeps its own share of `bytes` again and again; bytes in all: those that are said to be moved. */
#define TEAM(BODY)                                                                   \
    double taken = 0;                                                                \
    _Pragma("omp parallel num_threads(threads)")                                     \
    {                                                                                \
        const int me = omp_get_thread_num();                                         \
        const int64_t share = bytes / threads / (8 * BYTES) * (8 * BYTES);           \
        const int64_t count = share / BYTES;                                         \
        vf *p = (vf *)(void *)(memory + me * (bytes / threads / 64 * 64));           \
        vf *q = (vf *)(void *)(other + me * (bytes / threads / 64 * 64));            \
        (void)q;                                                                     \
        _Pragma("omp barrier")                                                       \
        double start = now();                                                        \
        for (int64_t r = 0; r < times; r++) { BODY ANYTHING(p); }                    \
        _Pragma("omp barrier")                                                       \
        if (me == 0) taken = now() - start;                                          \
    }                                                                                \
    return taken / times;

double probe_read(char *memory, char *other, int64_t bytes, int64_t times, int threads) {
    TEAM(
        vf a = {0}; vf b = a; vf c = a; vf d = a; vf e = a; vf f = a; vf g = a; vf h = a;
        for (int64_t k = 0; k < count; k += 8) {
            a += p[k]; b += p[k + 1]; c += p[k + 2]; d += p[k + 3];
            e += p[k + 4]; f += p[k + 5]; g += p[k + 6]; h += p[k + 7];
        }
        KEEP(vf, a + b + c + d + e + f + g + h))
}
/* Every vector differs from its neighbours: some memories take lines of zeros, or of one value, far sooner. */
#define FIRST vf one = {0}; one += 1.0f; vf a = (float)(r + 1) * one; vf b = a + one; vf c = b + one; vf d = c + one;
double probe_write(char *memory, char *other, int64_t bytes, int64_t times, int threads) {
    TEAM(
        FIRST vf e = d + one; vf f = e + one; vf g = f + one; vf h = g + one; one *= 8.0f;
        for (int64_t k = 0; k < count; k += 8) {
            p[k] = a; p[k + 1] = b; p[k + 2] = c; p[k + 3] = d;
            p[k + 4] = e; p[k + 5] = f; p[k + 6] = g; p[k + 7] = h;
            a += one; b += one; c += one; d += one; e += one; f += one; g += one; h += one;
        })
}
double probe_copy(char *memory, char *other, int64_t bytes, int64_t times, int threads) {
    TEAM(
        for (int64_t k = 0; k < count; k += 4) {
            vf a = p[k]; vf b = p[k + 1]; vf c = p[k + 2]; vf d = p[k + 3];
            q[k] = a; q[k + 1] = b; q[k + 2] = c; q[k + 3] = d;
        })
}
/* The same with stores that pass by the caches; plain ones where there are no such stores. */
#ifdef STREAMS
#define PAST(at, x) _mm256_stream_ps((float *)(at), *(__m256 *)(void *)&x); \
    if (BYTES == 64) _mm256_stream_ps((float *)(at) + 8, *((__m256 *)(void *)&x + BYTES / 64));
#define DRAINED _mm_sfence();
#else
#define PAST(at, x) *(at) = x;
#define DRAINED
#endif
double probe_write_past(char *memory, char *other, int64_t bytes, int64_t times, int threads) {
    TEAM(
        FIRST one *= 4.0f;
        for (int64_t k = 0; k < count; k += 4) {
            PAST(p + k, a) PAST(p + k + 1, b) PAST(p + k + 2, c) PAST(p + k + 3, d)
            a += one; b += one; c += one; d += one;
        }
        DRAINED)
}
double probe_copy_past(char *memory, char *other, int64_t bytes, int64_t times, int threads) {
    TEAM(
        for (int64_t k = 0; k < count; k += 4) {
            vf a = p[k]; vf b = p[k + 1]; vf c = p[k + 2]; vf d = p[k + 3];
            PAST(q + k, a) PAST(q + k + 1, b) PAST(q + k + 2, c) PAST(q + k + 3, d)
        }
        DRAINED)
}

/* Ten independent chains of multiply-adds: more than latency times units of any processor in use. */
#define PEAK(NAME, V, T)                                                             \
double NAME(int64_t n, int threads) {                                                \
    double taken = 0;                                                                \
    _Pragma("omp parallel num_threads(threads)")                                     \
    {                                                                                \
        V x = {0}; V y = x;                                                          \
        x += (T)0.999; y += (T)1e-3;                                                 \
        V a = y; V b = y; V c = y; V d = y; V e = y; V f = y; V g = y; V h = y; V i = y; V j = y; \
        _Pragma("omp barrier")                                                       \
        double start = now();                                                        \
        for (int64_t k = 0; k < n; k++) {                                            \
            a = a * x + y; b = b * x + y; c = c * x + y; d = d * x + y; e = e * x + y; \
            f = f * x + y; g = g * x + y; h = h * x + y; i = i * x + y; j = j * x + y; \
        }                                                                            \
        _Pragma("omp barrier")                                                       \
        if (omp_get_thread_num() == 0) taken = now() - start;                        \
        KEEP(V, a + b + c + d + e + f + g + h + i + j)                                    \
    }                                                                                \
    return 20.0 * (BYTES / sizeof(T)) * n * threads / taken;                         \
}
PEAK(probe_peak_f32, vf, float)
PEAK(probe_peak_f64, vd, double)
"""
