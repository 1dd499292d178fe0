// Vectors of 4 and 8 lanes. A comparison gives a mask: all bits set where it holds.
#define TE_VECTOR(T, N, W, V)                                                                             \
    typedef T V __attribute__((vector_size(sizeof(T) * W)));                                              \
    typedef V V##_memory __attribute__((aligned(sizeof(T)), may_alias));                                  \
    static inline V te_load_##V(const T *p) { return *(const V##_memory *)p; }                            \
    static inline void te_store_##V(T *p, V x) { *(V##_memory *)p = x; }
#define TE_SPLAT4(T, V) static inline V te_splat_##V(T x) { return (V){x, x, x, x}; }
#define TE_SPLAT8(T, V) static inline V te_splat_##V(T x) { return (V){x, x, x, x, x, x, x, x}; }
#define TE_BOTH(T, N)                                                                                     \
    TE_VECTOR(T, N, 4, N##x4) TE_SPLAT4(T, N##x4)                                                         \
    TE_VECTOR(T, N, 8, N##x8) TE_SPLAT8(T, N##x8)
TE_BOTH(float, f32)
TE_BOTH(double, f64)
TE_BOTH(int8_t, i8)
TE_BOTH(uint8_t, u8)
TE_BOTH(int16_t, i16)
TE_BOTH(uint16_t, u16)
TE_BOTH(int32_t, i32)
TE_BOTH(uint32_t, u32)
TE_BOTH(int64_t, i64)
TE_BOTH(uint64_t, u64)
TE_BOTH(int8_t, m8)
TE_BOTH(int16_t, m16)
TE_BOTH(int32_t, m32)
TE_BOTH(int64_t, m64)

// Asks for a line of memory that is read later.
#ifdef __GNUC__
#define te_fetch(p) __builtin_prefetch(p)
#else
#define te_fetch(p) ((void)0)
#endif

// Stores past the caches, for what is written once and not read soon. Instructions of 16 bytes want addresses of such
// multiples; elsewhere 4 bytes at a time fill the same line of the write buffer.
#ifdef __AVX__
static inline int te_stream_half(void *to, const void *x, unsigned bytes)
{
    __m256i part;
    if (bytes != 32 || ((uintptr_t)to & 31) != 0) return 0;
    memcpy(&part, x, 32);
    _mm256_stream_si256((__m256i *)to, part);
    return 1;
}
#else
#define te_stream_half(to, x, bytes) 0
#endif
#ifdef __SSE2__
#define TE_STREAM(T, V)                                                                                   \
    static inline void te_stream_##V(T *p, V x)                                                           \
    {                                                                                                     \
        char *to = (char *)p;                                                                             \
        if (te_stream_half(to, &x, sizeof x)) return;                                                     \
        if (((uintptr_t)to & 15) == 0) {                                                                  \
            for (unsigned n = 0; n < sizeof x; n += 16) {                                                 \
                __m128i part;                                                                             \
                memcpy(&part, (const char *)&x + n, 16);                                                  \
                _mm_stream_si128((__m128i *)(to + n), part);                                              \
            }                                                                                             \
        } else if (((uintptr_t)to & 3) == 0) {                                                            \
            for (unsigned n = 0; n < sizeof x; n += 4) {                                                  \
                int part;                                                                                 \
                memcpy(&part, (const char *)&x + n, 4);                                                   \
                _mm_stream_si32((int *)(to + n), part);                                                   \
            }                                                                                             \
        } else {                                                                                          \
            te_store_##V(p, x);                                                                           \
        }                                                                                                 \
    }
#else
#define TE_STREAM(T, V) static inline void te_stream_##V(T *p, V x) { te_store_##V(p, x); }
#endif
TE_STREAM(float, f32x4)
TE_STREAM(float, f32x8)
TE_STREAM(double, f64x4)
TE_STREAM(int32_t, i32x4)
TE_STREAM(int32_t, i32x8)
TE_STREAM(int64_t, i64x4)
TE_STREAM(uint16_t, u16x8)

// Choice by mask, and maximum and minimum (of floats: they keep NaN). The instructions give their second operand where
// one is NaN, so only b is tested: folds pass their state as a, and each step waits for one instruction.
#define TE_SELECT(V, M)                                                                                   \
    static inline V te_select_##V(M m, V a, V b) { return (V)((m & (M)a) | (~m & (M)b)); }
#define TE_CHOOSE(V, M)                                                                                   \
    TE_SELECT(V, M)                                                                                       \
    static inline V te_max_##V(V a, V b) { return te_select_##V((M)((a > b) | (a != a)), a, b); }         \
    static inline V te_min_##V(V a, V b) { return te_select_##V((M)((a < b) | (a != a)), a, b); }
#ifdef __AVX2__
static inline f32x8 te_select_f32x8(m32x8 m, f32x8 a, f32x8 b)
{
    return (f32x8)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);
}
static inline f32x8 te_max_f32x8(f32x8 a, f32x8 b)
{
    __m256 t = _mm256_max_ps((__m256)b, (__m256)a);
    return (f32x8)_mm256_blendv_ps(t, (__m256)b, _mm256_cmp_ps((__m256)b, (__m256)b, _CMP_UNORD_Q));
}
static inline f32x8 te_min_f32x8(f32x8 a, f32x8 b)
{
    __m256 t = _mm256_min_ps((__m256)b, (__m256)a);
    return (f32x8)_mm256_blendv_ps(t, (__m256)b, _mm256_cmp_ps((__m256)b, (__m256)b, _CMP_UNORD_Q));
}
#else
TE_CHOOSE(f32x8, m32x8)
#endif
TE_CHOOSE(f32x4, m32x4)
TE_CHOOSE(f64x4, m64x4)
TE_CHOOSE(i8x4, m8x4)
TE_CHOOSE(i8x8, m8x8)
TE_CHOOSE(u8x4, m8x4)
TE_CHOOSE(u8x8, m8x8)
TE_CHOOSE(i16x4, m16x4)
TE_CHOOSE(i16x8, m16x8)
TE_CHOOSE(u16x4, m16x4)
TE_CHOOSE(u16x8, m16x8)
TE_CHOOSE(i32x4, m32x4)
TE_CHOOSE(i32x8, m32x8)
TE_CHOOSE(u32x4, m32x4)
TE_CHOOSE(u32x8, m32x8)
TE_CHOOSE(i64x4, m64x4)
TE_CHOOSE(u64x4, m64x4)

// Which lanes are above 0, as bits, and all of these but the first.
static inline int64_t te_rest(int64_t bits) { return (int64_t)((uint64_t)bits & ((uint64_t)bits - 1)); }
#define TE_WHICH(W)                                                                                       \
    static inline int64_t te_which_i32x##W(i32x##W x)                                                     \
    {                                                                                                     \
        int64_t bits = 0;                                                                                 \
        for (int n = 0; n < W; n++) bits |= (int64_t)(x[n] > 0) << n;                                     \
        return bits;                                                                                      \
    }
#ifdef __SSE2__
static inline int64_t te_which_i32x4(i32x4 x) { return _mm_movemask_ps((__m128)(x > 0)); }
#else
TE_WHICH(4)
#endif
#ifdef __AVX2__
static inline int64_t te_which_i32x8(i32x8 x) { return _mm256_movemask_ps((__m256)(x > 0)); }
#else
TE_WHICH(8)
#endif

// Eight 16-bit floats, widened while they are loaded.
static inline f32x8 te_load_bf16x8(const te_bf16 *p)
{
#ifdef __AVX2__
    return (f32x8)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)te_load_u16x8((const uint16_t *)p)), 16);
#else
    return (f32x8)(__builtin_convertvector(te_load_u16x8((const uint16_t *)p), u32x8) << 16);
#endif
}
static inline f32x8 te_load_f16x8(const te_f16 *p)
{
#ifdef __F16C__
    return (f32x8)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#else
    f32x8 y;
    for (int n = 0; n < 8; n++) y[n] = te_of_f16(p[n]);
    return y;
#endif
}

// Eight 16-bit floats, rounded to nearest while they are stored, as te_to_bf16 and te_to_f16 do.
static inline u16x8 te_bits_of_bf16x8(f32x8 x)
{
    const u32x8 u = (u32x8)x, quiet = u | 0x400000, near = u + 0x7FFF + (u >> 16 & 1);
#ifdef __AVX2__
    const __m256i top = _mm256_srli_epi32((__m256i)te_select_f32x8((m32x8)(x != x), (f32x8)quiet, (f32x8)near), 16);
    return (u16x8)_mm_packus_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
#else
    return __builtin_convertvector(te_select_u32x8((m32x8)(x != x), quiet, near) >> 16, u16x8);
#endif
}
static inline u16x8 te_bits_of_f16x8(f32x8 x)
{
#ifdef __F16C__
    return (u16x8)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
#else
    u16x8 y;
    for (int n = 0; n < 8; n++) y[n] = te_to_f16(x[n]).bits;
    return y;
#endif
}
#define TE_NARROW(T, W)                                                                                   \
    static inline void te_store_##T##x##W(te_##T *p, f32x##W x)                                           \
    {                                                                                                     \
        te_store_u16x##W((uint16_t *)p, te_bits_of_##T##x##W(x));                                         \
    }                                                                                                     \
    static inline void te_stream_##T##x##W(te_##T *p, f32x##W x)                                          \
    {                                                                                                     \
        te_stream_u16x##W((uint16_t *)p, te_bits_of_##T##x##W(x));                                        \
    }
TE_NARROW(bf16, 8)
TE_NARROW(f16, 8)

// Functions lane by lane, where no better way is known.
#define TE_LANES(NAME, F, V, W)                                                                           \
    static inline V te_##NAME##_##V(V x)                                                                  \
    {                                                                                                     \
        V y;                                                                                              \
        for (int n = 0; n < W; n++) y[n] = F(x[n]);                                                       \
        return y;                                                                                         \
    }
TE_LANES(exp, exp, f64x4, 4)
TE_LANES(log, log, f64x4, 4)
TE_LANES(tanh, tanh, f64x4, 4)
TE_LANES(erf, erf, f64x4, 4)
TE_LANES(sin, sin, f64x4, 4)
TE_LANES(floor, floor, f64x4, 4)
#ifdef __AVX2__
static inline f32x8 te_sqrt_f32x8(f32x8 x) { return (f32x8)_mm256_sqrt_ps((__m256)x); }
static inline f32x4 te_sqrt_f32x4(f32x4 x) { return (f32x4)_mm_sqrt_ps((__m128)x); }
static inline f64x4 te_sqrt_f64x4(f64x4 x) { return (f64x4)_mm256_sqrt_pd((__m256d)x); }
static inline f32x8 te_floor_f32x8(f32x8 x) { return (f32x8)_mm256_floor_ps((__m256)x); }
static inline f32x4 te_floor_f32x4(f32x4 x) { return (f32x4)_mm_floor_ps((__m128)x); }
#else
TE_LANES(sqrt, sqrtf, f32x8, 8)
TE_LANES(sqrt, sqrtf, f32x4, 4)
TE_LANES(sqrt, sqrt, f64x4, 4)
TE_LANES(floor, floorf, f32x8, 8)
TE_LANES(floor, floorf, f32x4, 4)
#endif

// exp, log and sin of float vectors, without branches: polynomials of the Cephes library (Moshier 1992).
// Within 2 ulp (sin: up to 8192, beyond that lane by lane); right at infinities and NaN.
//
// exp: x, held where neither end of the exponents is passed (te_clip), is k ln 2 + r with k whole and r from 0 to ln 2.
// A sum with 1.5 * 2^23 + 127 has k + 127 in its last bits, which a shift makes 2^k: from 0, for what is below the
// normal numbers, to infinity. NaN comes through the polynomial.
#define TE_EXP(V, I)                                                                                      \
    static inline V te_exp_##V(V x)                                                                       \
    {                                                                                                     \
        V c = te_clip_##V(x);                                                                             \
        V b = (c * 1.44269504f - 0.49999994f) + 12583039.0f;                                              \
        V k = b - 12583039.0f;                                                                            \
        V r = (c - k * 0.693359375f) + k * 2.12194440e-4f;                                                \
        V p = te_splat_##V(1.9125541e-3f);                                                                \
        p = p * r + 7.8683114e-3f;                                                                        \
        p = p * r + 4.1855052e-2f;                                                                        \
        p = p * r + 1.6663189e-1f;                                                                        \
        p = p * r + 5.0000226e-1f;                                                                        \
        p = p * r + 1.0f;                                                                                 \
        p = p * r + 1.0f;                                                                                 \
        return p * (V)((I)b << 23);                                                                       \
    }
#ifdef __SSE2__
// The instructions give their second operand where one is NaN.
static inline f32x4 te_clip_f32x4(f32x4 x)
{
    return (f32x4)_mm_min_ps(_mm_set1_ps(88.75f), _mm_max_ps(_mm_set1_ps(-87.5f), (__m128)x));
}
#else
static inline f32x4 te_clip_f32x4(f32x4 x)
{
    return te_min_f32x4(te_max_f32x4(x, te_splat_f32x4(-87.5f)), te_splat_f32x4(88.75f));
}
#endif
#ifdef __AVX2__
static inline f32x8 te_clip_f32x8(f32x8 x)
{
    return (f32x8)_mm256_min_ps(_mm256_set1_ps(88.75f), _mm256_max_ps(_mm256_set1_ps(-87.5f), (__m256)x));
}
#else
static inline f32x8 te_clip_f32x8(f32x8 x)
{
    return te_min_f32x8(te_max_f32x8(x, te_splat_f32x8(-87.5f)), te_splat_f32x8(88.75f));
}
#endif
TE_EXP(f32x4, m32x4)
TE_EXP(f32x8, m32x8)

#define TE_MATHS(V, I, U, W)                                                                              \
    static inline V te_log_##V(V x)                                                                       \
    {                                                                                                     \
        V one = te_splat_##V(1.0f);                                                                       \
        I tiny = (I)(x < 1.17549435e-38f);                                                                \
        V s = te_select_##V(tiny, x * 8388608.0f, x);                                                     \
        I b = (I)s;                                                                                       \
        V e = __builtin_convertvector(((b >> 23) & 255) - 126, V) - te_select_##V(tiny, te_splat_##V(23.0f), te_splat_##V(0.0f)); \
        V m = (V)((b & 0x7FFFFF) | 0x3F000000);                                                           \
        I low = (I)(m < 0.707106781186547524f);                                                           \
        e = e - te_select_##V(low, one, te_splat_##V(0.0f));                                              \
        m = m + te_select_##V(low, m, te_splat_##V(0.0f)) - 1.0f;                                         \
        V z = m * m;                                                                                      \
        V p = te_splat_##V(7.0376836292e-2f);                                                             \
        p = p * m - 1.1514610310e-1f;                                                                     \
        p = p * m + 1.1676998740e-1f;                                                                     \
        p = p * m - 1.2420140846e-1f;                                                                     \
        p = p * m + 1.4249322787e-1f;                                                                     \
        p = p * m - 1.6668057665e-1f;                                                                     \
        p = p * m + 2.0000714765e-1f;                                                                     \
        p = p * m - 2.4999993993e-1f;                                                                     \
        p = p * m + 3.3333331174e-1f;                                                                     \
        V y = p * m * z + e * -2.12194440e-4f - 0.5f * z;                                                 \
        y = m + y + e * 0.693359375f;                                                                     \
        y = te_select_##V((I)(x == INFINITY), x, y);                                                      \
        y = te_select_##V((I)(x == 0.0f), te_splat_##V(-INFINITY), y);                                    \
        return te_select_##V((I)((x < 0.0f) | (x != x)), te_splat_##V(NAN), y);                           \
    }                                                                                                     \
    static inline V te_sin_##V(V x)                                                                       \
    {                                                                                                     \
        V a = (V)((I)x & 0x7FFFFFFF), y;                                                                  \
        int far = 0;                                                                                      \
        for (int n = 0; n < W; n++) far |= !(a[n] <= 8192.0f);                                            \
        if (far) {                                                                                        \
            for (int n = 0; n < W; n++) y[n] = sinf(x[n]);                                                \
            return y;                                                                                     \
        }                                                                                                 \
        I j = __builtin_convertvector(a * 1.27323954473516f, I);                                          \
        j = j + (j & 1);                                                                                  \
        V k = __builtin_convertvector(j, V);                                                              \
        I sign = ((I)x & (I)te_splat_##V(-0.0f)) ^ ((j & 4) << 29);                                       \
        a = ((a - k * 0.78515625f) - k * 2.4187564849853515625e-4f) - k * 3.77489497744594108e-8f;        \
        V z = a * a;                                                                                      \
        V c = ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f; \
        V s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * a + a;            \
        y = te_select_##V((I)((j & 2) != 0), c, s);                                                       \
        return (V)((I)y ^ sign);                                                                          \
    }
TE_MATHS(f32x4, m32x4, u32x4, 4)
TE_MATHS(f32x8, m32x8, u32x8, 8)

// tanh and erf without branches or lanes of two kinds, within 2.4 ulp (3.2 without fused multiply-adds); signed zeros,
// infinities and NaN come out right.
//
// Both go through e^x - 1 = 2^k (e^r - 1) + (2^k - 1), x = k ln 2 + r and |r| <= ln 2 / 2, which keeps its precision
// around 0: tanh |x| = E / (E + 2) with E = e^(2|x|) - 1, and erf |x| = 1 - e^(-x P(x)), P of least error on 0 to 3.95.
// What would round to 1 is held there. te_least keeps NaN, and te_round an integer that matters to nobody for a NaN.
#define TE_ROUND_PLAIN(V, I)                                                                              \
    static inline V te_least_##V(V a, V b) { return te_min_##V(b, a); }                                   \
    static inline I te_round_##V(V x, V *k)                                                               \
    {                                                                                                     \
        V big = te_splat_##V(12582912.0f);                                                                \
        *k = (x + big) - big;                                                                             \
        return __builtin_convertvector(te_select_##V((I)(*k == *k), *k, te_splat_##V(0.0f)), I);          \
    }
#ifdef __SSE2__
static inline f32x4 te_least_f32x4(f32x4 a, f32x4 b) { return (f32x4)_mm_min_ps((__m128)a, (__m128)b); }
static inline m32x4 te_round_f32x4(f32x4 x, f32x4 *k)
{
    __m128i h = _mm_cvtps_epi32((__m128)x);
    *k = (f32x4)_mm_cvtepi32_ps(h);
    return (m32x4)h;
}
#else
TE_ROUND_PLAIN(f32x4, m32x4)
#endif
#ifdef __AVX2__
static inline f32x8 te_least_f32x8(f32x8 a, f32x8 b) { return (f32x8)_mm256_min_ps((__m256)a, (__m256)b); }
static inline m32x8 te_round_f32x8(f32x8 x, f32x8 *k)
{
    __m256i h = _mm256_cvtps_epi32((__m256)x);
    *k = (f32x8)_mm256_cvtepi32_ps(h);
    return (m32x8)h;
}
#else
TE_ROUND_PLAIN(f32x8, m32x8)
#endif
#define TE_TANH(V, I)                                                                                     \
    static inline V te_less_one_##V(V x)                                                                  \
    {                                                                                                     \
        V k;                                                                                              \
        I h = te_round_##V(x * 1.44269504f, &k);                                                          \
        V r = (x - k * 0.693359375f) + k * 2.12194440e-4f;                                                \
        V z = r * r;                                                                                      \
        V p = (1.9845879e-4f * r + 1.3940628e-3f) * z + (8.3333896e-3f * r + 4.1666362e-2f);              \
        p = p * z + (1.6666667e-1f * r + 5.0e-1f);                                                        \
        V e = p * z + r, s = (V)((h + 127) << 23);                                                        \
        return e * s + (s - 1.0f);                                                                        \
    }                                                                                                     \
    static inline V te_tanh_##V(V x)                                                                      \
    {                                                                                                     \
        I sign = (I)x & (I)te_splat_##V(-0.0f);                                                           \
        V a = te_least_##V(te_splat_##V(9.1f), (V)((I)x ^ sign));                                         \
        V e = te_less_one_##V(a + a);                                                                     \
        return (V)((I)(e / (e + 2.0f)) | sign);                                                           \
    }
#define TE_ERF(V, I)                                                                                      \
    static inline V te_erf_##V(V x)                                                                       \
    {                                                                                                     \
        I sign = (I)x & (I)te_splat_##V(-0.0f);                                                           \
        V a = te_least_##V(te_splat_##V(3.95f), (V)((I)x ^ sign));                                        \
        V z = a * a;                                                                                      \
        V p = (9.2500013e-6f * a - 1.1758289e-4f) * z + (6.3261855e-4f * a - 1.6666059e-3f);              \
        V q = (1.5994546e-4f * a + 1.9153329e-2f) * z + (-1.0277791e-1f * a - 6.3661939e-1f);             \
        p = p * (z * z) + q;                                                                              \
        V e = te_less_one_##V(a * -1.12837923f + z * p);                                                  \
        return (V)(((I)e & 0x7FFFFFFF) | sign);                                                           \
    }
TE_TANH(f32x4, m32x4)
TE_TANH(f32x8, m32x8)
TE_ERF(f32x4, m32x4)
TE_ERF(f32x8, m32x8)

// Whole numbers of 8 and 16 bits as wider ones and as floats: compilers take __builtin_convertvector apart into lanes.
#define TE_WIDEN(N, W)                                                                                 \
    static inline i32x##W te_widen_i32x##W##_##N##x##W(N##x##W x)                                         \
    {                                                                                                     \
        return TE_WIDE_##N##_##W(x);                                                                      \
    }                                                                                                     \
    static inline f32x##W te_widen_f32x##W##_##N##x##W(N##x##W x)                                         \
    {                                                                                                     \
        return __builtin_convertvector(te_widen_i32x##W##_##N##x##W(x), f32x##W);                         \
    }
#ifdef __AVX2__
static inline __m128i te_half_of(const void *p, int bytes)
{
    long long low = 0;
    memcpy(&low, p, bytes);
    return _mm_cvtsi64_si128(low);
}
#define TE_WIDE_i8_8(x) (i32x8) _mm256_cvtepi8_epi32(te_half_of(&x, 8))
#define TE_WIDE_u8_8(x) (i32x8) _mm256_cvtepu8_epi32(te_half_of(&x, 8))
#define TE_WIDE_i16_8(x) (i32x8) _mm256_cvtepi16_epi32((__m128i)x)
#define TE_WIDE_u16_8(x) (i32x8) _mm256_cvtepu16_epi32((__m128i)x)
#define TE_WIDE_i8_4(x) (i32x4) _mm_cvtepi8_epi32(te_half_of(&x, 4))
#define TE_WIDE_u8_4(x) (i32x4) _mm_cvtepu8_epi32(te_half_of(&x, 4))
#define TE_WIDE_i16_4(x) (i32x4) _mm_cvtepi16_epi32(te_half_of(&x, 8))
#define TE_WIDE_u16_4(x) (i32x4) _mm_cvtepu16_epi32(te_half_of(&x, 8))
#else
#define TE_WIDE_i8_8(x) __builtin_convertvector(x, i32x8)
#define TE_WIDE_u8_8 TE_WIDE_i8_8
#define TE_WIDE_i16_8 TE_WIDE_i8_8
#define TE_WIDE_u16_8 TE_WIDE_i8_8
#define TE_WIDE_i8_4(x) __builtin_convertvector(x, i32x4)
#define TE_WIDE_u8_4 TE_WIDE_i8_4
#define TE_WIDE_i16_4 TE_WIDE_i8_4
#define TE_WIDE_u16_4 TE_WIDE_i8_4
#endif
TE_WIDEN(i8, 4)
TE_WIDEN(i8, 8)
TE_WIDEN(u8, 4)
TE_WIDEN(u8, 8)
TE_WIDEN(i16, 4)
TE_WIDEN(i16, 8)
TE_WIDEN(u16, 4)
TE_WIDEN(u16, 8)
