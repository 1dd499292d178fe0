// Scalar operations whose meaning the language fixes and C does not.
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#if (defined(__AVX2__) || defined(__F16C__)) && defined(__GNUC__) && !defined(__clang__) && !defined(__INTEL_COMPILER)
// Of immintrin.h only what is used here: gcc reads the whole of it for longer than it compiles most kernels.
#ifndef _IMMINTRIN_H_INCLUDED
#define _IMMINTRIN_H_INCLUDED
#include <smmintrin.h>
#include <avxintrin.h>
#include <avx2intrin.h>
#include <f16cintrin.h>
#undef _IMMINTRIN_H_INCLUDED
#endif
#elif defined(__AVX2__) || defined(__F16C__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#ifndef TE_WORK
#define TE_WORK 600000  // operations below which waking a thread may cost more than it saves
#endif
#ifndef TE_WORD
#define TE_WORD 0  // operations that the first read of four bytes counts as: 3 is its time, from a cache (decision 0036)
#endif
// TE_AWAKE, if it is defined, says whether threads wait that need not be woken: loops for which it is asked are shorter.

static inline int64_t te_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

// Makes stores past the caches of all threads visible, once the loops that made them are over.
static inline void te_fence(void)
{
#ifdef __SSE2__
#ifdef _OPENMP
#pragma omp parallel
#endif
    _mm_sfence();
#endif
}

// Maximum and minimum of floats keep NaN.
#define TE_FLOAT(T, N)                                                                                    \
    static inline T te_max_##N(T a, T b) { T t = a > b ? a : b; return a != a ? a : t; }                  \
    static inline T te_min_##N(T a, T b) { T t = a < b ? a : b; return a != a ? a : t; }
TE_FLOAT(float, f32)
TE_FLOAT(double, f64)

// Integers: division and remainder round down and give 0 for a divisor of 0; shifts count modulo the width.
#define TE_INTEGER(T, N, W)                                                                               \
    static inline T te_max_##N(T a, T b) { return a > b ? a : b; }                                        \
    static inline T te_min_##N(T a, T b) { return a < b ? a : b; }                                        \
    static inline T te_shl_##N(T a, T b) { return (T)((uint64_t)a << ((uint64_t)b & (W - 1))); }          \
    static inline T te_shr_##N(T a, T b) { return (T)(a >> ((uint64_t)b & (W - 1))); }
#define TE_SIGNED(T, N, W)                                                                                \
    TE_INTEGER(T, N, W)                                                                                   \
    static inline T te_idiv_##N(T a, T b)                                                                 \
    {                                                                                                     \
        if (b == 0) return 0;                                                                             \
        if (b == -1) return (T)(0 - (uint64_t)a);                                                         \
        T q = (T)(a / b);                                                                                 \
        return (T)(q - ((a % b != 0) & ((a < 0) != (b < 0))));                                            \
    }                                                                                                     \
    static inline T te_imod_##N(T a, T b)                                                                 \
    {                                                                                                     \
        if (b == 0 || b == -1) return 0;                                                                  \
        T r = (T)(a % b);                                                                                 \
        return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);                                             \
    }
#define TE_UNSIGNED(T, N, W)                                                                              \
    TE_INTEGER(T, N, W)                                                                                   \
    static inline T te_idiv_##N(T a, T b) { return b ? (T)(a / b) : 0; }                                  \
    static inline T te_imod_##N(T a, T b) { return b ? (T)(a % b) : 0; }
TE_SIGNED(int8_t, i8, 8)
TE_SIGNED(int16_t, i16, 16)
TE_SIGNED(int32_t, i32, 32)
TE_SIGNED(int64_t, i64, 64)
TE_UNSIGNED(uint8_t, u8, 8)
TE_UNSIGNED(uint16_t, u16, 16)
TE_UNSIGNED(uint32_t, u32, 32)
TE_UNSIGNED(uint64_t, u64, 64)

// A float as an integer: towards zero; NaN and infinities give 0; what does not fit is clipped to 64 bits, then wraps.
static inline int64_t te_whole(double x)
{
    if (!(x - x == 0)) return 0;
    if (x >= 0x1p63) return (int64_t)(0x1p63 - 1024);
    return x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

// 16-bit floats are kept as their bits.
typedef struct { uint16_t bits; } te_f16;
typedef struct { uint16_t bits; } te_bf16;

static inline float te_of_bf16(te_bf16 h)
{
    uint32_t u = (uint32_t)h.bits << 16;
    float x;
    memcpy(&x, &u, 4);
    return x;
}

static inline te_bf16 te_to_bf16(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    if (x != x) return (te_bf16){(uint16_t)(u >> 16 | 0x40)};
    return (te_bf16){(uint16_t)((u + 0x7FFF + (u >> 16 & 1)) >> 16)};
}

static inline float te_of_f16(te_f16 h)
{
#ifdef __F16C__
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h.bits)));
#else
    uint32_t sign = (uint32_t)(h.bits & 0x8000) << 16, body = h.bits & 0x7FFF, u;
    float x;
    if (body >= 0x7C00) u = 0x7F800000 | body << 13;
    else if (body >= 0x400) u = (body << 13) + 0x38000000;
    else { x = (float)body * 0x1p-24f; memcpy(&u, &x, 4); }
    u |= sign;
    memcpy(&x, &u, 4);
    return x;
#endif
}

// Rounds once, from double, so that a double does not round twice.
static inline te_f16 te_to_f16(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    uint16_t sign = (uint16_t)(u >> 48 & 0x8000);
    double a = fabs(x);
    if (x != x) return (te_f16){(uint16_t)(sign | 0x7E00)};
    if (a >= 65520.0) return (te_f16){(uint16_t)(sign | 0x7C00)};
    if (a < 0x1p-14) return (te_f16){(uint16_t)(sign | (uint16_t)nearbyint(a * 0x1p24))};
    int e;
    double m = frexp(a, &e);  // a = m * 2^e with 0.5 <= m < 1
    return (te_f16){(uint16_t)(sign | ((uint32_t)(e + 14) << 10) + ((uint32_t)nearbyint(m * 0x1p11) - 0x400))};
}

// 8-bit floats are kept as their bits too. A body, seen as the upper bits of a single, is off by a power of two.
typedef struct { uint8_t bits; } te_f8e4m3;
typedef struct { uint8_t bits; } te_f8e5m2;

static inline float te_of_eight(uint8_t bits, int places, float scale, int top)
{
    uint32_t body = bits & 0x7F, u = body << (23 - places);
    float x;
    memcpy(&x, &u, 4);
    x = body > (uint32_t)top ? (places == 2 && body == 0x7C ? INFINITY : NAN) : x * scale;
    return bits & 0x80 ? -x : x;
}
static inline float te_of_f8e4m3(te_f8e4m3 h) { return te_of_eight(h.bits, 3, 0x1p120f, 0x7E); }
static inline float te_of_f8e5m2(te_f8e5m2 h) { return te_of_eight(h.bits, 2, 0x1p112f, 0x7B); }

// Rounds once, from double; beyond the largest number is the largest.
static inline uint8_t te_to_eight(double x, int places, int least, int top)
{
    uint8_t sign = signbit(x) ? 0x80 : 0;
    double a = fabs(x);
    if (x != x) return 0x7F;
    if (a >= 0x1p17) return (uint8_t)(sign | top);
    int e;
    frexp(a, &e);  // a = m * 2^e with 0.5 <= m < 1
    e = a > 0 && e - 1 > least ? e - 1 : least;
    int code = ((e - least) << places) + (int)nearbyint(ldexp(a, places - e));
    return (uint8_t)(sign | (code > top ? top : code));
}
static inline te_f8e4m3 te_to_f8e4m3(double x) { return (te_f8e4m3){te_to_eight(x, 3, -6, 0x7E)}; }
static inline te_f8e5m2 te_to_f8e5m2(double x) { return (te_f8e5m2){te_to_eight(x, 2, -14, 0x7B)}; }

// Bits read as another type of the same width.
#define TE_BITS(A, NA, B, NB)                                                                             \
    static inline B te_bits_##NB##_##NA(A x) { B y; memcpy(&y, &x, sizeof y); return y; }
#define TE_BITS_BOTH(A, NA, B, NB) TE_BITS(A, NA, B, NB) TE_BITS(B, NB, A, NA)
TE_BITS_BOTH(float, f32, int32_t, i32)
TE_BITS_BOTH(float, f32, uint32_t, u32)
TE_BITS_BOTH(double, f64, int64_t, i64)
TE_BITS_BOTH(double, f64, uint64_t, u64)
TE_BITS_BOTH(te_f16, f16, int16_t, i16)
TE_BITS_BOTH(te_f16, f16, uint16_t, u16)
TE_BITS_BOTH(te_bf16, bf16, int16_t, i16)
TE_BITS_BOTH(te_bf16, bf16, uint16_t, u16)
TE_BITS_BOTH(te_f8e4m3, f8e4m3, int8_t, i8)
TE_BITS_BOTH(te_f8e4m3, f8e4m3, uint8_t, u8)
TE_BITS_BOTH(te_f8e5m2, f8e5m2, int8_t, i8)
TE_BITS_BOTH(te_f8e5m2, f8e5m2, uint8_t, u8)
TE_BITS_BOTH(int8_t, i8, uint8_t, u8)
TE_BITS_BOTH(int16_t, i16, uint16_t, u16)
TE_BITS_BOTH(int32_t, i32, uint32_t, u32)
TE_BITS_BOTH(int64_t, i64, uint64_t, u64)
TE_BITS(float, f32, float, f32)
TE_BITS(double, f64, double, f64)
TE_BITS(int8_t, i8, int8_t, i8)
TE_BITS(uint8_t, u8, uint8_t, u8)
TE_BITS(int16_t, i16, int16_t, i16)
TE_BITS(uint16_t, u16, uint16_t, u16)
TE_BITS(int32_t, i32, int32_t, i32)
TE_BITS(uint32_t, u32, uint32_t, u32)
TE_BITS(int64_t, i64, int64_t, i64)
TE_BITS(uint64_t, u64, uint64_t, u64)
static inline uint8_t te_bits_bool_u8(uint8_t x) { return x != 0; }
static inline uint8_t te_bits_bool_i8(int8_t x) { return x != 0; }
static inline uint8_t te_bits_u8_bool(uint8_t x) { return x != 0; }
static inline int8_t te_bits_i8_bool(uint8_t x) { return x != 0; }
static inline uint8_t te_bits_bool_bool(uint8_t x) { return x != 0; }

