// Vectors of 64 bytes, for processors with registers as wide; elsewhere compilers take several for each.
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__) && !defined(__INTEL_COMPILER)
#ifndef _IMMINTRIN_H_INCLUDED
#define _IMMINTRIN_H_INCLUDED
#include <avx512fintrin.h>
#undef _IMMINTRIN_H_INCLUDED
#endif
#endif
#define TE_SPLAT16(T, V)                                                                                  \
    static inline V te_splat_##V(T x) { return (V){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
#define TE_SIXTEEN(T, N) TE_VECTOR(T, N, 16, N##x16) TE_SPLAT16(T, N##x16)
TE_SIXTEEN(float, f32)
TE_SIXTEEN(int8_t, i8)
TE_SIXTEEN(uint8_t, u8)
TE_SIXTEEN(int16_t, i16)
TE_SIXTEEN(uint16_t, u16)
TE_SIXTEEN(int32_t, i32)
TE_SIXTEEN(uint32_t, u32)
TE_SIXTEEN(int8_t, m8)
TE_SIXTEEN(int16_t, m16)
TE_SIXTEEN(int32_t, m32)

// Past the caches: whole lines where the address is a multiple of one, else as shorter vectors do.
#ifdef __AVX512F__
#define TE_STREAM_LINE(T, V)                                                                              \
    TE_STREAM(T, V##_part)                                                                                \
    static inline void te_stream_##V(T *p, V x)                                                           \
    {                                                                                                     \
        if (((uintptr_t)p & 63) == 0) _mm512_stream_si512((__m512i *)p, (__m512i)x);                      \
        else te_stream_##V##_part(p, x);                                                                  \
    }
#define TE_PART(T, V)                                                                                     \
    typedef V V##_part;                                                                                   \
    static inline void te_store_##V##_part(T *p, V x) { te_store_##V(p, x); }                             \
    TE_STREAM_LINE(T, V)
TE_PART(float, f32x16)
TE_PART(double, f64x8)
TE_PART(int32_t, i32x16)
TE_PART(int64_t, i64x8)
#else
TE_STREAM(float, f32x16)
TE_STREAM(double, f64x8)
TE_STREAM(int32_t, i32x16)
TE_STREAM(int64_t, i64x8)
#endif
TE_STREAM(uint16_t, u16x16)

#ifdef __AVX512F__
TE_SELECT(f32x16, m32x16)
static inline f32x16 te_max_f32x16(f32x16 a, f32x16 b)
{
    const __m512 t = _mm512_max_ps((__m512)a, (__m512)b);
    return (f32x16)_mm512_mask_mov_ps(t, _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q), (__m512)a);
}
static inline f32x16 te_min_f32x16(f32x16 a, f32x16 b)
{
    const __m512 t = _mm512_min_ps((__m512)a, (__m512)b);
    return (f32x16)_mm512_mask_mov_ps(t, _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q), (__m512)a);
}
#else
TE_CHOOSE(f32x16, m32x16)
#endif
TE_CHOOSE(f64x8, m64x8)
TE_CHOOSE(i8x16, m8x16)
TE_CHOOSE(u8x16, m8x16)
TE_CHOOSE(i16x16, m16x16)
TE_CHOOSE(u16x16, m16x16)
TE_CHOOSE(i32x16, m32x16)
TE_CHOOSE(u32x16, m32x16)
TE_CHOOSE(i64x8, m64x8)
TE_CHOOSE(u64x8, m64x8)

// Sixteen 16-bit floats, widened while they are loaded and rounded to nearest while they are stored.
static inline f32x16 te_load_bf16x16(const te_bf16 *p)
{
#ifdef __AVX512F__
    return (f32x16)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)te_load_u16x16((const uint16_t *)p)), 16);
#else
    return (f32x16)(__builtin_convertvector(te_load_u16x16((const uint16_t *)p), u32x16) << 16);
#endif
}
static inline u16x16 te_bits_of_bf16x16(f32x16 x)
{
    const u32x16 u = (u32x16)x, quiet = u | 0x400000, near = u + 0x7FFF + (u >> 16 & 1);
#ifdef __AVX512F__
    const __mmask16 none = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q);
    const __m512i bits = _mm512_mask_mov_epi32((__m512i)near, none, (__m512i)quiet);
    return (u16x16)_mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16));
#else
    return __builtin_convertvector(te_select_u32x16((m32x16)(x != x), quiet, near) >> 16, u16x16);
#endif
}
static inline f32x16 te_load_f16x16(const te_f16 *p)
{
#ifdef __AVX512F__
    return (f32x16)_mm512_cvtph_ps((__m256i)te_load_u16x16((const uint16_t *)p));
#else
    f32x16 y;
    for (int n = 0; n < 16; n++) y[n] = te_of_f16(p[n]);
    return y;
#endif
}
static inline u16x16 te_bits_of_f16x16(f32x16 x)
{
#ifdef __AVX512F__
    return (u16x16)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
#else
    u16x16 y;
    for (int n = 0; n < 16; n++) y[n] = te_to_f16(x[n]).bits;
    return y;
#endif
}
#define TE_NARROW16(T)                                                                                    \
    static inline void te_store_##T##x16(te_##T *p, f32x16 x)                                             \
    {                                                                                                     \
        te_store_u16x16((uint16_t *)p, te_bits_of_##T##x16(x));                                           \
    }                                                                                                     \
    static inline void te_stream_##T##x16(te_##T *p, f32x16 x)                                            \
    {                                                                                                     \
        te_stream_u16x16((uint16_t *)p, te_bits_of_##T##x16(x));                                          \
    }
TE_NARROW16(bf16)
TE_NARROW16(f16)

TE_LANES(exp, exp, f64x8, 8)
TE_LANES(log, log, f64x8, 8)
TE_LANES(tanh, tanh, f64x8, 8)
TE_LANES(erf, erf, f64x8, 8)
TE_LANES(sin, sin, f64x8, 8)
TE_LANES(floor, floor, f64x8, 8)
#ifdef __AVX512F__
static inline f32x16 te_sqrt_f32x16(f32x16 x) { return (f32x16)_mm512_sqrt_ps((__m512)x); }
static inline f64x8 te_sqrt_f64x8(f64x8 x) { return (f64x8)_mm512_sqrt_pd((__m512d)x); }
static inline f32x16 te_floor_f32x16(f32x16 x)
{
    return (f32x16)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
// The instructions give their second operand where one is NaN.
static inline f32x16 te_clip_f32x16(f32x16 x)
{
    return (f32x16)_mm512_min_ps(_mm512_set1_ps(88.75f), _mm512_max_ps(_mm512_set1_ps(-87.5f), (__m512)x));
}
static inline f32x16 te_least_f32x16(f32x16 a, f32x16 b) { return (f32x16)_mm512_min_ps((__m512)a, (__m512)b); }
static inline m32x16 te_round_f32x16(f32x16 x, f32x16 *k)
{
    const __m512i h = _mm512_cvtps_epi32((__m512)x);
    *k = (f32x16)_mm512_cvtepi32_ps(h);
    return (m32x16)h;
}
#else
TE_LANES(sqrt, sqrtf, f32x16, 16)
TE_LANES(sqrt, sqrt, f64x8, 8)
TE_LANES(floor, floorf, f32x16, 16)
static inline f32x16 te_clip_f32x16(f32x16 x)
{
    return te_min_f32x16(te_max_f32x16(x, te_splat_f32x16(-87.5f)), te_splat_f32x16(88.75f));
}
TE_ROUND_PLAIN(f32x16, m32x16)
#endif
TE_EXP(f32x16, m32x16)
TE_MATHS(f32x16, m32x16, u32x16, 16)
TE_TANH_ERF(f32x16, m32x16)

#ifdef __AVX512F__
#define TE_WIDE_i8_16(x) (i32x16) _mm512_cvtepi8_epi32((__m128i)x)
#define TE_WIDE_u8_16(x) (i32x16) _mm512_cvtepu8_epi32((__m128i)x)
#define TE_WIDE_i16_16(x) (i32x16) _mm512_cvtepi16_epi32((__m256i)x)
#define TE_WIDE_u16_16(x) (i32x16) _mm512_cvtepu16_epi32((__m256i)x)
#else
#define TE_WIDE_i8_16(x) __builtin_convertvector(x, i32x16)
#define TE_WIDE_u8_16 TE_WIDE_i8_16
#define TE_WIDE_i16_16 TE_WIDE_i8_16
#define TE_WIDE_u16_16 TE_WIDE_i8_16
#endif
TE_WIDEN(i8, 16)
TE_WIDEN(u8, 16)
TE_WIDEN(i16, 16)
TE_WIDEN(u16, 16)

// Some lanes of what lies in memory, 0 in the others, which may lie where nothing may be read.
#define TE_WHERE(W)                                                                                       \
    static inline f32x##W te_load_where_f32x##W(const float *p, m32x##W m)                                \
    {                                                                                                     \
        f32x##W y = {0};                                                                                  \
        for (int n = 0; n < W; n++) if (m[n]) y[n] = p[n];                                                \
        return y;                                                                                         \
    }
#ifdef __AVX512F__
static inline f32x16 te_load_where_f32x16(const float *p, m32x16 m)
{
    return (f32x16)_mm512_maskz_loadu_ps(_mm512_test_epi32_mask((__m512i)m, (__m512i)m), p);
}
static inline f32x8 te_load_where_f32x8(const float *p, m32x8 m) { return (f32x8)_mm256_maskload_ps(p, (__m256i)m); }
static inline f32x4 te_load_where_f32x4(const float *p, m32x4 m) { return (f32x4)_mm_maskload_ps(p, (__m128i)m); }
#else
TE_WHERE(16)
TE_WHERE(8)
TE_WHERE(4)
#endif
