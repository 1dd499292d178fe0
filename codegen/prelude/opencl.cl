// Functions of the OpenCL dialect: OpenCL C 1.2, with cl_khr_fp64 where a kernel uses doubles.
#pragma OPENCL FP_CONTRACT OFF
#ifdef TE_DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// ---- scalars ----

// 16-bit floats are kept as their bits.
typedef struct { ushort bits; } te_f16;
typedef struct { ushort bits; } te_bf16;

inline float te_of_bf16(te_bf16 x) { return as_float((uint)x.bits << 16); }
inline te_bf16 te_to_bf16(float x)
{
    uint u = as_uint(x);
    te_bf16 y;
    y.bits = isnan(x) ? (ushort)(u >> 16 | 0x40) : (ushort)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
    return y;
}
inline float te_of_f16(te_f16 x)
{
    uint sign = (uint)(x.bits & 0x8000) << 16, body = x.bits & 0x7FFF;
    float small = (float)body * 0x1p-24f;
    uint u = body >= 0x7C00 ? 0x7F800000 | body << 13 : body >= 0x400 ? (body << 13) + 0x38000000 : as_uint(small);
    return as_float(u | sign);
}
inline te_f16 te_to_f16(float x)
{
    uint u = as_uint(x), a = u & 0x7FFFFFFF, sign = u >> 16 & 0x8000, e = a >> 23;
    te_f16 y;
    if (a > 0x7F800000) y.bits = (ushort)(sign | 0x7E00);
    else if (a >= 0x477FF000) y.bits = (ushort)(sign | 0x7C00);  // 65520 and more
    else if (e >= 113) {
        uint m = a - 0x38000000;  // the exponent as a 16-bit float counts it
        y.bits = (ushort)(sign | (m + 0xFFF + (m >> 13 & 1)) >> 13);
    } else if (e < 102) y.bits = (ushort)sign;  // below half of the smallest
    else {
        uint m = (a & 0x7FFFFF) | 0x800000, by = 126 - e, low = m & ((1u << by) - 1), half_way = 1u << (by - 1);
        uint q = m >> by;
        y.bits = (ushort)(sign | (q + (low > half_way || (low == half_way && (q & 1)))));
    }
    return y;
}

// Maximum and minimum of floats keep NaN.
inline float te_max_f32(float a, float b) { float t = a > b ? a : b; return isnan(a) ? a : t; }
inline float te_min_f32(float a, float b) { float t = a < b ? a : b; return isnan(a) ? a : t; }

// Integers: division and remainder round down and give 0 for a divisor of 0; shifts count modulo the width; all wrap.
#define TE_INTEGER(T, N, W)                                                                               \
    inline T te_max_##N(T a, T b) { return a > b ? a : b; }                                               \
    inline T te_min_##N(T a, T b) { return a < b ? a : b; }                                               \
    inline T te_shl_##N(T a, T b) { return (T)((ulong)a << ((ulong)b & (W - 1))); }                       \
    inline T te_shr_##N(T a, T b) { return (T)(a >> ((ulong)b & (W - 1))); }
#define TE_SIGNED(T, N, W, U)                                                                             \
    TE_INTEGER(T, N, W)                                                                                   \
    inline T te_idiv_##N(T a, T b)                                                                        \
    {                                                                                                     \
        if (b == 0) return 0;                                                                             \
        if (b == -1) return (T)(0 - (U)a);                                                                \
        T q = (T)(a / b);                                                                                 \
        return (T)(q - ((a % b != 0) & ((a < 0) != (b < 0))));                                            \
    }                                                                                                     \
    inline T te_imod_##N(T a, T b)                                                                        \
    {                                                                                                     \
        if (b == 0 || b == -1) return 0;                                                                  \
        T r = (T)(a % b);                                                                                 \
        return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);                                             \
    }
#define TE_UNSIGNED(T, N, W)                                                                              \
    TE_INTEGER(T, N, W)                                                                                   \
    inline T te_idiv_##N(T a, T b) { return b ? (T)(a / b) : (T)0; }                                      \
    inline T te_imod_##N(T a, T b) { return b ? (T)(a % b) : (T)0; }
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
    inline T te_add_##N(T a, T b) { return (T)((U)a + (U)b); }                                            \
    inline T te_mul_##N(T a, T b) { return (T)((U)a * (U)b); }                                            \
    inline T te_neg_##N(T a) { return (T)(0 - (U)a); }
TE_WRAPPING(char, i8, uint)
TE_WRAPPING(short, i16, uint)
TE_WRAPPING(int, i32, uint)
TE_WRAPPING(long, i64, ulong)
TE_WRAPPING(uchar, u8, uint)
TE_WRAPPING(ushort, u16, uint)

// A float as an integer: towards zero; NaN and infinities give 0; what does not fit is clipped to 64 bits, then wraps.
inline long te_whole_f32(float x)
{
    if (isnan(x) || isinf(x)) return 0;
    if (x >= 0x1p63f) return 0x7FFFFFFFFFFFFC00L;
    return x <= -0x1p63f ? (long)0x8000000000000000UL : (long)x;
}
#ifdef TE_DOUBLES
inline double te_max_f64(double a, double b) { double t = a > b ? a : b; return isnan(a) ? a : t; }
inline double te_min_f64(double a, double b) { double t = a < b ? a : b; return isnan(a) ? a : t; }
inline long te_whole_f64(double x)
{
    if (isnan(x) || isinf(x)) return 0;
    if (x >= 0x1p63) return 0x7FFFFFFFFFFFFC00L;
    return x <= -0x1p63 ? (long)0x8000000000000000UL : (long)x;
}
// Rounds once: a double that is cut to a float whose last bit says whether anything was cut rounds as the double does.
inline te_f16 te_narrow_f16(double x)
{
    float y = (float)x;
    uint u = as_uint(y);
    if (!isnan(x) && !isinf(y) && (double)y != x) {
        if (fabs((double)y) > fabs(x)) u -= 1;
        u |= 1;
    }
    return te_to_f16(as_float(u));
}
#endif

// Bits read as another type of the same width.
#define TE_BITS(A, NA, B, NB) inline B te_bits_##NB##_##NA(A x) { return as_##B(x); }
#define TE_BITS_BOTH(A, NA, B, NB) TE_BITS(A, NA, B, NB) TE_BITS(B, NB, A, NA) TE_BITS(A, NA, A, NA) TE_BITS(B, NB, B, NB)
TE_BITS_BOTH(char, i8, uchar, u8)
TE_BITS_BOTH(short, i16, ushort, u16)
TE_BITS_BOTH(int, i32, uint, u32)
TE_BITS_BOTH(long, i64, ulong, u64)
TE_BITS(float, f32, float, f32)
TE_BITS(float, f32, int, i32)
TE_BITS(float, f32, uint, u32)
TE_BITS(int, i32, float, f32)
TE_BITS(uint, u32, float, f32)
#ifdef TE_DOUBLES
TE_BITS(double, f64, double, f64)
TE_BITS(double, f64, long, i64)
TE_BITS(double, f64, ulong, u64)
TE_BITS(long, i64, double, f64)
TE_BITS(ulong, u64, double, f64)
#endif
#define TE_HALF_BITS(N)                                                                                   \
    inline short te_bits_i16_##N(te_##N x) { return as_short(x.bits); }                                   \
    inline ushort te_bits_u16_##N(te_##N x) { return x.bits; }                                            \
    inline te_##N te_bits_##N##_i16(short x) { te_##N y; y.bits = as_ushort(x); return y; }               \
    inline te_##N te_bits_##N##_u16(ushort x) { te_##N y; y.bits = x; return y; }                         \
    inline te_##N te_bits_##N##_##N(te_##N x) { return x; }
TE_HALF_BITS(f16)
TE_HALF_BITS(bf16)
inline te_bf16 te_bits_bf16_f16(te_f16 x) { te_bf16 y; y.bits = x.bits; return y; }
inline te_f16 te_bits_f16_bf16(te_bf16 x) { te_f16 y; y.bits = x.bits; return y; }
inline bool te_bits_bool_u8(uchar x) { return x != 0; }
inline bool te_bits_bool_i8(char x) { return x != 0; }
inline bool te_bits_bool_bool(bool x) { return x; }
inline uchar te_bits_u8_bool(bool x) { return x; }
inline char te_bits_i8_bool(bool x) { return x; }

// ---- lanes ----

// The value that the lane at `lane xor mask` of 32 holds, through local memory. A block is one warp, and all of its
// lanes come here: OpenCL promises no subgroup of a width that is known when a kernel is printed.
#define TE_SHUFFLE(T, N)                                                                                  \
    inline T te_shuffle_##N(local ulong *room, T x, int mask)                                             \
    {                                                                                                     \
        local T *place = (local T *)room;                                                                 \
        const int lane = (int)get_local_id(0);                                                            \
        place[lane] = x;                                                                                  \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                     \
        const T y = place[lane ^ mask];                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                     \
        return y;                                                                                         \
    }
TE_SHUFFLE(int, i32)
TE_SHUFFLE(uint, u32)
TE_SHUFFLE(long, i64)
TE_SHUFFLE(ulong, u64)
TE_SHUFFLE(float, f32)
#ifdef TE_DOUBLES
TE_SHUFFLE(double, f64)
#endif

inline int te_grid_place(void) { return (int)get_global_id(0); }
inline int te_grid_size(void) { return (int)get_global_size(0); }
