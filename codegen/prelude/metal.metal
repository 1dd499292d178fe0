// Functions of the Metal dialect: Metal 2.3, without 64-bit floats.
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp math_mode(safe)

// ---- scalars ----

// 16-bit floats are kept as their bits.
struct te_f16 { ushort bits; };
struct te_bf16 { ushort bits; };

static inline float te_of_bf16(te_bf16 x) { return as_type<float>((uint)x.bits << 16); }
static inline te_bf16 te_to_bf16(float x)
{
    uint u = as_type<uint>(x);
    te_bf16 y;
    y.bits = (u & 0x7FFFFFFF) > 0x7F800000 ? (ushort)(u >> 16 | 0x40) : (ushort)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
    return y;
}
static inline float te_of_f16(te_f16 x) { return (float)as_type<half>(x.bits); }
static inline te_f16 te_to_f16(float x)
{
    te_f16 y;
    y.bits = as_type<ushort>((half)x);
    return y;
}

// Tests on bits, which a compiler cannot drop where it takes floats to be finite.
static inline bool te_is_nan(float x) { return (as_type<uint>(x) & 0x7FFFFFFF) > 0x7F800000; }
static inline bool te_is_finite(float x) { return (as_type<uint>(x) & 0x7F800000) != 0x7F800000; }

// Maximum and minimum of floats keep NaN.
static inline float te_max_f32(float a, float b) { float t = a > b ? a : b; return te_is_nan(a) ? a : t; }
static inline float te_min_f32(float a, float b) { float t = a < b ? a : b; return te_is_nan(a) ? a : t; }

// Metal has no error function. Near zero a quotient of polynomials, beyond it 1 - exp(-x²) times one.
static inline float te_erf(float x)
{
    float a = fabs(x), z = x * x;
    if (a < 1.0f) {
        float p = 7.853861353153693e-5f;
        p = p * z - 8.010193625184903e-4f;
        p = p * z + 5.188327685732524e-3f;
        p = p * z - 2.685381193529856e-2f;
        p = p * z + 1.128358514861418e-1f;
        p = p * z - 3.761262582423300e-1f;
        p = p * z + 1.128379165726710f;
        return x * p;
    }
    if (te_is_nan(x)) return x;
    float q = 1.0f / a, y = q * q, s;
    if (a < 2.0f) {
        s = 2.326819970068386e-2f;
        s = s * y - 1.387039388740657e-1f;
        s = s * y + 3.687424674597105e-1f;
        s = s * y - 5.824733027278666e-1f;
        s = s * y + 6.210004621745983e-1f;
        s = s * y - 4.944515323274145e-1f;
        s = s * y + 3.404879937665872e-1f;
        s = s * y - 2.741127028184656e-1f;
        s = s * y + 5.638259427386472e-1f;
    } else {
        s = -1.047766399936249e+1f;
        s = s * y + 1.297719955372516e+1f;
        s = s * y - 7.495518717768503f;
        s = s * y + 2.921019019210786f;
        s = s * y - 1.015265279202700f;
        s = s * y + 4.218463358204948e-1f;
        s = s * y - 2.820767439740514e-1f;
        s = s * y + 5.641895067754075e-1f;
    }
    float far = 1.0f - precise::exp(-z) * q * s;
    return x < 0.0f ? -far : far;
}

// Integers: division and remainder round down and give 0 for a divisor of 0; shifts count modulo the width; all wrap.
#define TE_INTEGER(T, N, W)                                                                               \
    static inline T te_max_##N(T a, T b) { return a > b ? a : b; }                                        \
    static inline T te_min_##N(T a, T b) { return a < b ? a : b; }                                        \
    static inline T te_shl_##N(T a, T b) { return (T)((ulong)a << ((ulong)b & (W - 1))); }                \
    static inline T te_shr_##N(T a, T b) { return (T)(a >> ((ulong)b & (W - 1))); }
#define TE_SIGNED(T, N, W, U)                                                                             \
    TE_INTEGER(T, N, W)                                                                                   \
    static inline T te_idiv_##N(T a, T b)                                                                 \
    {                                                                                                     \
        if (b == 0) return 0;                                                                             \
        if (b == -1) return (T)(0 - (U)a);                                                                \
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
    static inline T te_idiv_##N(T a, T b) { return b ? (T)(a / b) : (T)0; }                               \
    static inline T te_imod_##N(T a, T b) { return b ? (T)(a % b) : (T)0; }
TE_SIGNED(int, int, 32, uint)
TE_SIGNED(char, i8, 8, uint)
TE_SIGNED(short, i16, 16, uint)
TE_SIGNED(int, i32, 32, uint)
TE_SIGNED(long, i64, 64, ulong)
TE_UNSIGNED(uchar, u8, 8)
TE_UNSIGNED(ushort, u16, 16)
TE_UNSIGNED(uint, u32, 32)
TE_UNSIGNED(ulong, u64, 64)
#define TE_WRAPPING(T, N, U)                                                                              \
    static inline T te_add_##N(T a, T b) { return (T)((U)a + (U)b); }                                     \
    static inline T te_mul_##N(T a, T b) { return (T)((U)a * (U)b); }                                     \
    static inline T te_neg_##N(T a) { return (T)(0 - (U)a); }
TE_WRAPPING(char, i8, uint)
TE_WRAPPING(short, i16, uint)
TE_WRAPPING(int, i32, uint)
TE_WRAPPING(long, i64, ulong)
TE_WRAPPING(uchar, u8, uint)
TE_WRAPPING(ushort, u16, uint)

// A float as an integer: towards zero; NaN and infinities give 0; what does not fit is clipped to 64 bits, then wraps.
static inline long te_whole(float x)
{
    if (!te_is_finite(x)) return 0;
    if (x >= 9223372036854775808.0f) return 0x7FFFFFFFFFFFFC00;
    return x <= -9223372036854775808.0f ? (long)0x8000000000000000 : (long)x;
}

// Bits read as another type of the same width.
template <class B, class A> static inline B te_bits(A x) { return as_type<B>(x); }
template <> inline te_f16 te_bits<te_f16, short>(short x) { return te_f16{as_type<ushort>(x)}; }
template <> inline te_f16 te_bits<te_f16, ushort>(ushort x) { return te_f16{x}; }
template <> inline te_f16 te_bits<te_f16, te_f16>(te_f16 x) { return x; }
template <> inline te_f16 te_bits<te_f16, te_bf16>(te_bf16 x) { return te_f16{x.bits}; }
template <> inline te_bf16 te_bits<te_bf16, short>(short x) { return te_bf16{as_type<ushort>(x)}; }
template <> inline te_bf16 te_bits<te_bf16, ushort>(ushort x) { return te_bf16{x}; }
template <> inline te_bf16 te_bits<te_bf16, te_bf16>(te_bf16 x) { return x; }
template <> inline te_bf16 te_bits<te_bf16, te_f16>(te_f16 x) { return te_bf16{x.bits}; }
template <> inline short te_bits<short, te_f16>(te_f16 x) { return as_type<short>(x.bits); }
template <> inline ushort te_bits<ushort, te_f16>(te_f16 x) { return x.bits; }
template <> inline short te_bits<short, te_bf16>(te_bf16 x) { return as_type<short>(x.bits); }
template <> inline ushort te_bits<ushort, te_bf16>(te_bf16 x) { return x.bits; }
template <> inline bool te_bits<bool, uchar>(uchar x) { return x != 0; }
template <> inline bool te_bits<bool, char>(char x) { return x != 0; }
template <> inline bool te_bits<bool, bool>(bool x) { return x; }
template <> inline uchar te_bits<uchar, bool>(bool x) { return x; }
template <> inline char te_bits<char, bool>(bool x) { return x; }

// ---- lanes ----

// The value that the lane at `lane xor mask` of a group of 32 holds; 64 bits travel as two halves.
static inline int te_shuffle(int x, int mask) { return simd_shuffle_xor(x, (ushort)mask); }
static inline uint te_shuffle(uint x, int mask) { return simd_shuffle_xor(x, (ushort)mask); }
static inline float te_shuffle(float x, int mask) { return simd_shuffle_xor(x, (ushort)mask); }
static inline ulong te_shuffle(ulong x, int mask)
{
    uint low = simd_shuffle_xor((uint)x, (ushort)mask), high = simd_shuffle_xor((uint)(x >> 32), (ushort)mask);
    return (ulong)high << 32 | low;
}
static inline long te_shuffle(long x, int mask) { return (long)te_shuffle((ulong)x, mask); }
