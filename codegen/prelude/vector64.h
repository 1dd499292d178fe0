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
    const __mmask16 known = _mm512_cmp_ps_mask((__m512)b, (__m512)b, _CMP_ORD_Q);
    return (f32x16)_mm512_mask_max_ps((__m512)b, known, (__m512)b, (__m512)a);
}
static inline f32x16 te_min_f32x16(f32x16 a, f32x16 b)
{
    const __mmask16 known = _mm512_cmp_ps_mask((__m512)b, (__m512)b, _CMP_ORD_Q);
    return (f32x16)_mm512_mask_min_ps((__m512)b, known, (__m512)b, (__m512)a);
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

#ifdef __AVX512F__
static inline int64_t te_which_i32x16(i32x16 x)
{
    return _mm512_cmpgt_epi32_mask((__m512i)x, _mm512_setzero_si512());
}
#else
TE_WHICH(16)
#endif

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
#if defined(__AVX512BF16__) && defined(__AVX512DQ__) && defined(__GNUC__)
    // one instruction, but it takes what is below the normal numbers for 0
    __mmask16 low;
    __asm__("vfpclassps $32, %1, %0" : "=k"(low) : "v"(x));
    if (__builtin_expect(low == 0, 1)) {
        u16x16 y;
        __asm__("vcvtneps2bf16 %1, %0" : "=v"(y) : "v"(x));
        return y;
    }
#endif
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
TE_NARROW(bf16, 16)
TE_NARROW(f16, 16)

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
static inline f32x16 te_least_f32x16(f32x16 a, f32x16 b) { return (f32x16)_mm512_min_ps((__m512)a, (__m512)b); }
static inline m32x16 te_round_f32x16(f32x16 x, f32x16 *k)
{
    const __m512i h = _mm512_cvtps_epi32((__m512)x);
    *k = (f32x16)_mm512_cvtepi32_ps(h);
    return (m32x16)h;
}

// exp: x is k ln 2 + r with 16 k whole and |r| at most ln 2 / 32. A table gives 2 to the fraction of k, by the last
// four bits of a sum with 1.5 * 2^19; an instruction multiplies by 2 to the whole part and rounds what is below the
// normal numbers. Within 1.1 ulp. The instructions of clipping give their second operand where one is NaN.
static const float te_powers[16] = {
    1.0f, 1.0442737f, 1.0905077f, 1.1387886f, 1.1892071f, 1.2418578f, 1.2968396f, 1.3542556f,
    1.4142135f, 1.4768262f, 1.5422108f, 1.6104903f, 1.6817929f, 1.7562522f, 1.8340081f, 1.9152066f};
static inline f32x16 te_exp_f32x16(f32x16 x)
{
    const __m512 top = _mm512_set1_ps(89.0f), bottom = _mm512_set1_ps(-104.0f);
    const f32x16 c = (f32x16)_mm512_min_ps(top, _mm512_max_ps(bottom, (__m512)x));
    const f32x16 b = c * 1.44269504f + 786432.0f, k = b - 786432.0f;
    const f32x16 r = (c - k * 0.693359375f) + k * 2.12194440e-4f, q = (r * 0.16666667f + 0.5f) * (r * r) + r;
    const f32x16 t = (f32x16)_mm512_permutexvar_ps((__m512i)b, _mm512_loadu_ps(te_powers));
    return (f32x16)_mm512_scalef_ps((__m512)(t * q + t), (__m512)k);
}

// erf: |x| is j / 8 + t with |t| at most 1 / 16, and row n of a table has the coefficient of t^n for each j: those of
// least relative error, without a constant for j = 0. Within 2.4 ulp; the last piece, from 3.81 on, is 1.
static const float te_erf_pieces[5][32] = {
    {
        0.0f, 1.403162e-01f, 2.763264e-01f, 4.041169e-01f, 5.204999e-01f, 6.232409e-01f,
        7.1115565e-01f, 7.840751e-01f, 8.427008e-01f, 8.883882e-01f, 9.2290014e-01f, 9.4817007e-01f,
        9.6610516e-01f, 9.7844374e-01f, 9.866717e-01f, 9.9199003e-01f, 9.953223e-01f, 9.97346e-01f,
        9.985373e-01f, 9.9921703e-01f, 9.99593e-01f, 9.997946e-01f, 9.998994e-01f, 9.9995214e-01f,
        9.999779e-01f, 9.999901e-01f, 9.999957e-01f, 9.999982e-01f, 9.999993e-01f, 9.999997e-01f,
        9.999999e-01f, 1.0f},
    {
        1.1283791f, 1.1108848f, 1.0600138f, 9.803526e-01f, 8.787826e-01f, 7.634997e-01f,
        6.4293134e-01f, 5.2474535e-01f, 4.1510782e-01f, 3.1827426e-01f, 2.3652135e-01f, 1.7035992e-01f,
        1.1893036e-01f, 8.047227e-02f, 5.2774966e-02f, 3.3545773e-02f, 2.0666923e-02f, 1.2340761e-02f,
        7.142268e-03f, 4.006438e-03f, 2.178255e-03f, 1.147855e-03f, 5.8626407e-04f, 2.902201e-04f,
        1.392482e-04f, 6.475593e-05f, 2.9187526e-05f, 1.27509575e-05f, 5.399034e-06f, 2.2157308e-06f,
        8.813442e-07f, 0.0f},
    {
        6.8669247e-06f, -1.3885362e-01f, -2.6500064e-01f, -3.6763084e-01f, -4.3939057e-01f,
        -4.7718695e-01f, -4.8219833e-01f, -4.5915213e-01f, -4.1510782e-01f, -3.5805857e-01f,
        -2.9565176e-01f, -2.34245e-01f, -1.7839569e-01f, -1.307676e-01f, -9.2356354e-02f,
        -6.289848e-02f, -4.1333973e-02f, -2.622422e-02f, -1.6070182e-02f, -9.515346e-03f,
        -5.4456755e-03f, -3.013144e-03f, -1.6122417e-03f, -8.3439203e-04f, -4.1774992e-04f,
        -2.0236523e-04f, -9.486103e-05f, -4.3035292e-05f, -1.889702e-05f, -8.032216e-06f,
        -3.3051294e-06f, 0.0f},
    {
        -3.7667602e-01f, -3.5822257e-01f, -3.0878162e-01f, -2.3465474e-01f, -1.4642835e-01f,
        -5.580542e-02f, 2.652919e-02f, 9.259578e-02f, 1.3803168e-01f, 1.6215312e-01f, 1.6730551e-01f,
        1.5778826e-01f, 1.3867934e-01f, 1.1483015e-01f, 9.0189494e-02f, 6.749695e-02f, 4.8286796e-02f,
        3.309837e-02f, 2.177657e-02f, 1.3771336e-02f, 8.379965e-03f, 4.9110316e-03f, 2.7738553e-03f,
        1.5109108e-03f, 7.940713e-04f, 4.028419e-04f, 1.9734511e-04f, 9.3384566e-05f, 4.269758e-05f,
        1.8867673e-05f, 8.059636e-06f, 0.0f},
    {
        1.4082131e-02f, 6.682233e-02f, 1.2609449e-01f, 1.6602391e-01f, 1.8271515e-01f, 1.762428e-01f,
        1.5059783e-01f, 1.1241427e-01f, 6.9283396e-02f, 2.8123047e-02f, -5.9896605e-03f, -3.0338e-02f,
        -4.446299e-02f, -4.9620513e-02f, -4.8041526e-02f, -4.2232458e-02f, -3.444231e-02f,
        -2.6373578e-02f, -1.9103415e-02f, -1.3154611e-02f, -8.641579e-03f, -5.429706e-03f,
        -3.2694817e-03f, -1.889581e-03f, -1.0494618e-03f, -5.606783e-04f, -2.883784e-04f,
        -1.4289336e-04f, -6.82519e-05f, -3.144011e-05f, -1.3973622e-05f, 0.0f},
};
#define TE_PIECE(n)                                                                                       \
    (f32x16) _mm512_permutex2var_ps(_mm512_loadu_ps(te_erf_pieces[n]), j, _mm512_loadu_ps(te_erf_pieces[n] + 16))
static inline f32x16 te_erf_f32x16(f32x16 x)
{
    const m32x16 sign = (m32x16)x & (m32x16)te_splat_f32x16(-0.0f);
    const f32x16 a = te_least_f32x16(te_splat_f32x16(3.93f), (f32x16)((m32x16)x ^ sign));
    const f32x16 b = a + 1572864.0f, t = a - (b - 1572864.0f);
    const __m512i j = (__m512i)b;
    f32x16 p = TE_PIECE(4);
    p = p * t + TE_PIECE(3);
    p = p * t + TE_PIECE(2);
    p = p * t + TE_PIECE(1);
    p = p * t + TE_PIECE(0);
    return (f32x16)((m32x16)p | sign);
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
TE_EXP(f32x16, m32x16)
#endif
TE_MATHS(f32x16, m32x16, u32x16, 16)
TE_TANH(f32x16, m32x16)
#ifndef __AVX512F__
TE_ERF(f32x16, m32x16)
#endif

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
