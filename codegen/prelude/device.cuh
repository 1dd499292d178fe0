// Device functions of the CUDA dialect. No headers: nvcc and NVRTC take this text as it is.
typedef unsigned te_u32;
typedef unsigned long long te_u64;
struct alignas(64) te_map { te_u64 words[16]; };
#define TE_DEVICE __device__ __forceinline__

#ifndef TE_SPINS
#define TE_SPINS (1u << 24)  // tries of a wait before it traps, under TE_DEBUG
#endif

// ---- kernels that overlap ----

// Blocks of an early kernel may be there before the kernel in front of them has ended: nothing that it writes, reads or
// counts with is touched before the wait. After that everything it did is seen, and what came before it as well. Chips
// before Hopper do not overlap kernels.
TE_DEVICE void te_let_the_next_start()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
TE_DEVICE void te_await_the_one_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- scalars ----

// 16-bit floats are kept as their bits.
struct te_f16 { unsigned short bits; };
struct te_bf16 { unsigned short bits; };

TE_DEVICE float te_of_bf16(te_bf16 x) { return __uint_as_float((te_u32)x.bits << 16); }
TE_DEVICE te_bf16 te_to_bf16(float x)
{
    te_bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}
TE_DEVICE float te_of_f16(te_f16 x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
TE_DEVICE te_f16 te_to_f16(float x)
{
    te_f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}
TE_DEVICE te_f16 te_to_f16(double x)
{
    te_f16 y;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y.bits) : "d"(x));
    return y;
}

// 8-bit floats too. A body, seen as the upper bits of a single, is off by a power of two. Beyond the largest number is
// the largest.
struct te_f8e4m3 { unsigned char bits; };
struct te_f8e5m2 { unsigned char bits; };
template <int PLACES> TE_DEVICE float te_of_eight(te_u32 bits, float scale, te_u32 top)
{
    const te_u32 body = bits & 0x7F, odd = PLACES == 2 && body == 0x7C ? 0x7F800000 : 0x7FC00000;
    const te_u32 size = body > top ? odd : __float_as_uint(__uint_as_float(body << (23 - PLACES)) * scale);
    return __uint_as_float(size | (bits & 0x80) << 24);
}
TE_DEVICE float te_of_f8e4m3(te_f8e4m3 x) { return te_of_eight<3>(x.bits, 1.329227995784916e36f, 0x7E); }
TE_DEVICE float te_of_f8e5m2(te_f8e5m2 x) { return te_of_eight<2>(x.bits, 5.192296858534828e33f, 0x7B); }
template <int PLACES> TE_DEVICE unsigned char te_to_eight(float x, int least, int top)
{
#if __CUDA_ARCH__ >= 890
    unsigned short y;
    if (PLACES == 3) asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(0.0f), "f"(x));
    else asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(y) : "f"(0.0f), "f"(x));
    return (unsigned char)y;
#else
    const te_u32 u = __float_as_uint(x), sign = u >> 24 & 0x80;
    const float a = fabsf(x);
    if (x != x) return 0x7F;
    if (a >= 131072.0f) return (unsigned char)(sign | top);
    const int above = (int)(u >> 23 & 0xFF) - 127, e = above > least ? above : least;
    const int code = (e - least << PLACES) + (int)rintf(ldexpf(a, PLACES - e));
    return (unsigned char)(sign | (code > top ? top : code));
#endif
}
TE_DEVICE te_f8e4m3 te_to_f8e4m3(float x) { return te_f8e4m3{te_to_eight<3>(x, -6, 0x7E)}; }
TE_DEVICE te_f8e5m2 te_to_f8e5m2(float x) { return te_f8e5m2{te_to_eight<2>(x, -14, 0x7B)}; }

// Pairs of 16-bit floats in one register, the first in the low half.
TE_DEVICE te_u32 te_pack_bf16(float low, float high)
{
    te_u32 y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}
TE_DEVICE te_u32 te_pack_f16(float low, float high)
{
    te_u32 y;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}
TE_DEVICE te_u32 te_pack_bf16(te_bf16 low, te_bf16 high) { return low.bits | (te_u32)high.bits << 16; }
TE_DEVICE te_u32 te_pack_f16(te_f16 low, te_f16 high) { return low.bits | (te_u32)high.bits << 16; }
TE_DEVICE te_bf16 te_lane_bf16(te_u32 x, int n) { return te_bf16{(unsigned short)(x >> 16 * n)}; }
TE_DEVICE te_f16 te_lane_f16(te_u32 x, int n) { return te_f16{(unsigned short)(x >> 16 * n)}; }

// N elements side by side in memory, by accesses of 16, 8 or 4 bytes where the address allows it.
template <int BYTES> struct te_piece { typedef unsigned char type; };
template <> struct te_piece<4> { typedef te_u32 type; };
template <> struct te_piece<8> { typedef uint2 type; };
template <> struct te_piece<16> { typedef uint4 type; };
template <class T, class P> TE_DEVICE void te_put(T *to, const P &x) { memcpy(to, &x, sizeof(P)); }
// Halves of words by shifts, not by memcpy: a bf16 then widens to f32 by one instruction.
TE_DEVICE void te_put(te_bf16 *to, const te_u32 &x)
{
    to[0].bits = (unsigned short)x;
    to[1].bits = (unsigned short)(x >> 16);
}
TE_DEVICE void te_put(te_bf16 *to, const uint2 &x) { te_put(to, x.x), te_put(to + 2, x.y); }
TE_DEVICE void te_put(te_bf16 *to, const uint4 &x)
{
    te_put(to, x.x), te_put(to + 2, x.y), te_put(to + 4, x.z), te_put(to + 6, x.w);
}
// Accesses past the caches: what is read once leaves the first cache alone, what is written leaves the second one first.
template <class P> TE_DEVICE P te_load_past(const P *from) { return __ldcs(from); }
template <> TE_DEVICE unsigned char te_load_past(const unsigned char *from) { return *from; }
template <> TE_DEVICE uint4 te_load_past(const uint4 *from)
{
    uint4 x;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(from));
    return x;
}
template <class P> TE_DEVICE void te_store_past(P *to, const P &x) { __stcs(to, x); }
template <> TE_DEVICE void te_store_past(unsigned char *to, const unsigned char &x) { *to = x; }
template <int N, bool ALIGNED = false, bool PAST = false, class T> TE_DEVICE void te_read_run(T *to, const T *from)
{
    constexpr int bytes = N * sizeof(T), piece = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4;
    typedef typename te_piece<piece>::type P;
    if (ALIGNED || (unsigned long long)from % piece == 0) {
#pragma unroll
        for (int n = 0; n < bytes / piece; n++) {
            const P x = PAST ? te_load_past((const P *)from + n) : ((const P *)from)[n];
            te_put(to + n * (piece / (int)sizeof(T)), x);
        }
    } else {
#pragma unroll
        for (int n = 0; n < N; n++) to[n] = from[n];
    }
}
template <int N, bool ALIGNED = false, bool PAST = false, class T> TE_DEVICE void te_write_run(T *to, const T *from)
{
    constexpr int bytes = N * sizeof(T), piece = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4;
    typedef typename te_piece<piece>::type P;
    if (ALIGNED || (unsigned long long)to % piece == 0) {
#pragma unroll
        for (int n = 0; n < bytes / piece; n++) {
            P x;
            memcpy(&x, (const char *)from + n * piece, piece);
            if (PAST) te_store_past((P *)to + n, x);
            else ((P *)to)[n] = x;
        }
    } else {
#pragma unroll
        for (int n = 0; n < N; n++) to[n] = from[n];
    }
}

// The same of floats that are rounded to 16 bits on their way, two at a time.
TE_DEVICE void te_pack(te_u32 *to, const te_bf16 *, float low, float high) { *to = te_pack_bf16(low, high); }
TE_DEVICE void te_pack(te_u32 *to, const te_f16 *, float low, float high) { *to = te_pack_f16(low, high); }
template <int N, bool ALIGNED = false, bool PAST = false, class T> TE_DEVICE void te_write_rounded(T *to, const float *from)
{
    te_u32 pairs[N / 2];
#pragma unroll
    for (int n = 0; n < N / 2; n++) te_pack(pairs + n, to, from[2 * n], from[2 * n + 1]);
    T rounded[N];
    memcpy(rounded, pairs, sizeof(pairs));
    te_write_run<N, ALIGNED, PAST>(to, rounded);
}

// Maximum and minimum of floats keep NaN.
TE_DEVICE float te_max_f32(float a, float b)
{
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}
TE_DEVICE float te_min_f32(float a, float b)
{
    float y;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}
TE_DEVICE double te_max_f64(double a, double b) { double t = a > b ? a : b; return a != a ? a : t; }
TE_DEVICE double te_min_f64(double a, double b) { double t = a < b ? a : b; return a != a ? a : t; }

// Approximations of the special function unit: 2 ulp, denormals count as zero.
TE_DEVICE float te_exp2(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
TE_DEVICE float te_log2(float x) { float y; asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
TE_DEVICE float te_recip(float x) { float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }

// To the nearest of tf32, ties to even: products of f32 would cut off.
TE_DEVICE float te_round_tf32(float x)
{
    te_u32 y;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return __uint_as_float(y);
}

// For results that are rounded to 16 bits. Odd functions as x P(x^2) / Q(x^2), fitted on the clamp by least squares that
// were weighted anew until the relative error was even: 7e-7 and 5e-7 with these coefficients in f32. NaN stays NaN.
// Never beyond -1 and 1: the square root of 1 - f(x)^2 has a value.
template <int M, int N> TE_DEVICE float te_rational(float x, const float (&p)[M], const float (&q)[N])
{
    const float s = x * x;
    float above = p[M - 1], below = q[N - 1];
#pragma unroll
    for (int n = M - 2; n >= 0; n--) above = fmaf(above, s, p[n]);
#pragma unroll
    for (int n = N - 2; n >= 0; n--) below = fmaf(below, s, q[n]);
    return te_min_f32(te_max_f32(x * above * te_recip(below), -1.0f), 1.0f);
}
TE_DEVICE float te_quick_erf(float x)
{
    const float p[] = {1.128379464f, 0.3822236955f, 0.07488463074f, 0.01100124698f, 0.0002778673661f, -1.573529062e-6f};
    const float q[] = {1.0f, 0.6720653176f, 0.1904272139f, 0.02973425016f, 0.002591716591f};
    const float y = te_rational(te_min_f32(te_max_f32(x, -3.9f), 3.9f), p, q);
    return x > 3.9f ? 1.0f : x < -3.9f ? -1.0f : y; // one exactly, so that 1 + erf vanishes
}
TE_DEVICE float te_quick_tanh(float x)
{
    const float p[] = {0.9999997616f, 0.1289010346f, 0.0029129202f, 1.101974158e-5f};
    const float q[] = {1.0f, 0.4622326493f, 0.02365940623f, 0.0002332994918f, 2.329407636e-7f};
    return te_rational(te_min_f32(te_max_f32(x, -8.4f), 8.4f), p, q);
}
// 1 + f(x) for odd f that run into -1 and 1, right relative to itself where it vanishes: below 2e-5 for x > -5.
// 1 - erf(a) = 2^(-a P(a)) for a > 0; P, fitted on [0, 5], grows beyond, so that the power vanishes.
TE_DEVICE float te_quick_one_plus_erf(float x)
{
    const float p[] = {1.62786681f, 0.917873789f, 0.151324731f, -0.0331900633f, 0.00498459343f, -0.000446946165f,
                       1.78086777e-5f};
    const float a = fabsf(x);
    float sum = p[6];
#pragma unroll
    for (int n = 5; n >= 0; n--) sum = fmaf(sum, a, p[n]);
    const float rest = te_exp2(-a * sum);
    return x < 0 ? rest : 2.0f - rest;
}
TE_DEVICE float te_quick_one_plus_tanh(float x) { return te_recip(fmaf(0.5f, te_exp2(x * -2.8853900818f), 0.5f)); }
// Within a unit of the last place, denormals and infinities included, without the branch of the exact forms.
TE_DEVICE float te_quick_recip(float x) { float y; asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
TE_DEVICE float te_quick_sqrt(float x) { float y; asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
TE_DEVICE float te_quick_exp(float x) { return te_exp2(x * 1.4426950409f); }

// Integers: division and remainder round down and give 0 for a divisor of 0; shifts count modulo the width; all wrap.
#define TE_INTEGER(T, N, W)                                                                               \
    TE_DEVICE T te_max_##N(T a, T b) { return a > b ? a : b; }                                            \
    TE_DEVICE T te_min_##N(T a, T b) { return a < b ? a : b; }                                            \
    TE_DEVICE T te_shl_##N(T a, T b) { return (T)((te_u64)a << ((te_u64)b & (W - 1))); }                  \
    TE_DEVICE T te_shr_##N(T a, T b) { return (T)(a >> ((te_u64)b & (W - 1))); }
#define TE_SIGNED(T, N, W, U)                                                                             \
    TE_INTEGER(T, N, W)                                                                                   \
    TE_DEVICE T te_idiv_##N(T a, T b)                                                                     \
    {                                                                                                     \
        if (b == 0) return 0;                                                                             \
        if (b == -1) return (T)(0 - (U)a);                                                                \
        T q = (T)(a / b);                                                                                 \
        return (T)(q - ((a % b != 0) & ((a < 0) != (b < 0))));                                            \
    }                                                                                                     \
    TE_DEVICE T te_imod_##N(T a, T b)                                                                     \
    {                                                                                                     \
        if (b == 0 || b == -1) return 0;                                                                  \
        T r = (T)(a % b);                                                                                 \
        return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);                                             \
    }
#define TE_UNSIGNED(T, N, W)                                                                              \
    TE_INTEGER(T, N, W)                                                                                   \
    TE_DEVICE T te_idiv_##N(T a, T b) { return b ? (T)(a / b) : 0; }                                      \
    TE_DEVICE T te_imod_##N(T a, T b) { return b ? (T)(a % b) : 0; }
TE_SIGNED(int, int, 32, te_u32)
TE_SIGNED(signed char, i8, 8, te_u32)
TE_SIGNED(short, i16, 16, te_u32)
TE_SIGNED(int, i32, 32, te_u32)
TE_SIGNED(long long, i64, 64, te_u64)
TE_UNSIGNED(unsigned char, u8, 8)
TE_UNSIGNED(unsigned short, u16, 16)
TE_UNSIGNED(te_u32, u32, 32)
TE_UNSIGNED(te_u64, u64, 64)
#define TE_WRAPPING(T, N, U)                                                                              \
    TE_DEVICE T te_add_##N(T a, T b) { return (T)((U)a + (U)b); }                                         \
    TE_DEVICE T te_mul_##N(T a, T b) { return (T)((U)a * (U)b); }                                         \
    TE_DEVICE T te_neg_##N(T a) { return (T)(0 - (U)a); }
TE_WRAPPING(signed char, i8, te_u32)
TE_WRAPPING(short, i16, te_u32)
TE_WRAPPING(int, i32, te_u32)
TE_WRAPPING(long long, i64, te_u64)
TE_WRAPPING(unsigned char, u8, te_u32)
TE_WRAPPING(unsigned short, u16, te_u32)

// Of positions, which are never negative: no correction of a sign.
TE_DEVICE int te_whole_div(int a, int b) { return (int)((te_u32)a / (te_u32)b); }
TE_DEVICE int te_whole_mod(int a, int b) { return (int)((te_u32)a % (te_u32)b); }

// A float as an integer: towards zero; NaN and infinities give 0; what does not fit is clipped to 64 bits, then wraps.
TE_DEVICE long long te_whole(double x)
{
    if (!(x - x == 0)) return 0;
    if (x >= 9223372036854775808.0) return 9223372036854774784LL;
    return x <= -9223372036854775808.0 ? -9223372036854775807LL - 1 : (long long)x;
}

// Bits read as another type of the same width.
template <class B, class A> TE_DEVICE B te_bits(A x)
{
    static_assert(sizeof(A) == sizeof(B), "bits of types of different widths");
    union { A from; B to; } both;
    both.from = x;
    return both.to;
}
template <> TE_DEVICE bool te_bits<bool, unsigned char>(unsigned char x) { return x != 0; }
template <> TE_DEVICE bool te_bits<bool, signed char>(signed char x) { return x != 0; }

// This thread's place among all threads of the grid, and their number.
TE_DEVICE int te_grid_place() { return (int)(blockIdx.x * blockDim.x + threadIdx.x); }
TE_DEVICE int te_grid_size() { return (int)(gridDim.x * blockDim.x); }

// The largest number of a warp, in all of its lanes; of 64 bits, the upper halves decide first.
TE_DEVICE int te_max_warp_i32(int x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, x);
#else
    for (int mask = 16; mask; mask /= 2) x = te_max_i32(x, __shfl_xor_sync(~0u, x, mask));
    return x;
#endif
}
TE_DEVICE long long te_max_warp_i64(long long x)
{
#if __CUDA_ARCH__ >= 800
    const int upper = (int)(x >> 32), most = __reduce_max_sync(~0u, upper);
    const te_u32 lower = __reduce_max_sync(~0u, upper == most ? (te_u32)x : 0u);
    return (long long)((te_u64)(te_u32)most << 32 | lower);
#else
    for (int mask = 16; mask; mask /= 2) x = te_max_i64(x, __shfl_xor_sync(~0u, x, mask));
    return x;
#endif
}

// ---- barriers ----

TE_DEVICE te_u32 te_address(const void *p) { return (te_u32)__cvta_generic_to_shared(p); }

TE_DEVICE void te_barrier(te_u32 bar, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
}
TE_DEVICE void te_barriers_ready() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
TE_DEVICE void te_expect(te_u32 bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
TE_DEVICE void te_arrive(te_u32 bar) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory"); }

// Returns once the phase of this parity has completed.
TE_DEVICE void te_await(te_u32 bar, int parity)
{
#ifdef TE_DEBUG
    for (te_u32 n = 0; n < TE_SPINS; ++n) {
        te_u32 done;
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}\n" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
        if (done) return;
    }
    asm volatile("trap;");
#else
    asm volatile("{\n.reg .pred p;\n"
                 "AGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra DONE;\nbra AGAIN;\nDONE:\n}\n" ::"r"(bar), "r"(parity) : "memory");
#endif
}

TE_DEVICE void te_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
TE_DEVICE void te_announce(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// ---- bulk copies; coordinates innermost first ----

TE_DEVICE void te_prefetch(const te_map &map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

#define TE_LOAD "cp.async.bulk.tensor."
#define TE_LOADED "d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {"
#define TE_STORED "d.global.shared::cta.bulk_group [%0, {"
TE_DEVICE void te_copy_in(te_u32 to, const te_map &map, te_u32 bar, int a)
{
    asm volatile(TE_LOAD "1" TE_LOADED "%3}], [%2];" ::"r"(to), "l"(&map), "r"(bar), "r"(a) : "memory");
}
TE_DEVICE void te_copy_in(te_u32 to, const te_map &map, te_u32 bar, int a, int b)
{
    asm volatile(TE_LOAD "2" TE_LOADED "%3, %4}], [%2];" ::"r"(to), "l"(&map), "r"(bar), "r"(a), "r"(b) : "memory");
}
TE_DEVICE void te_copy_in(te_u32 to, const te_map &map, te_u32 bar, int a, int b, int c)
{
    asm volatile(TE_LOAD "3" TE_LOADED "%3, %4, %5}], [%2];"
                 ::"r"(to), "l"(&map), "r"(bar), "r"(a), "r"(b), "r"(c) : "memory");
}
TE_DEVICE void te_copy_in(te_u32 to, const te_map &map, te_u32 bar, int a, int b, int c, int d)
{
    asm volatile(TE_LOAD "4" TE_LOADED "%3, %4, %5, %6}], [%2];"
                 ::"r"(to), "l"(&map), "r"(bar), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
TE_DEVICE void te_copy_in(te_u32 to, const te_map &map, te_u32 bar, int a, int b, int c, int d, int e)
{
    asm volatile(TE_LOAD "5" TE_LOADED "%3, %4, %5, %6, %7}], [%2];"
                 ::"r"(to), "l"(&map), "r"(bar), "r"(a), "r"(b), "r"(c), "r"(d), "r"(e) : "memory");
}
TE_DEVICE void te_copy_out(const te_map &map, te_u32 from, int a)
{
    asm volatile(TE_LOAD "1" TE_STORED "%2}], [%1];" ::"l"(&map), "r"(from), "r"(a) : "memory");
}
TE_DEVICE void te_copy_out(const te_map &map, te_u32 from, int a, int b)
{
    asm volatile(TE_LOAD "2" TE_STORED "%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(a), "r"(b) : "memory");
}
TE_DEVICE void te_copy_out(const te_map &map, te_u32 from, int a, int b, int c)
{
    asm volatile(TE_LOAD "3" TE_STORED "%2, %3, %4}], [%1];"
                 ::"l"(&map), "r"(from), "r"(a), "r"(b), "r"(c) : "memory");
}
TE_DEVICE void te_copy_out(const te_map &map, te_u32 from, int a, int b, int c, int d)
{
    asm volatile(TE_LOAD "4" TE_STORED "%2, %3, %4, %5}], [%1];"
                 ::"l"(&map), "r"(from), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
TE_DEVICE void te_copy_out(const te_map &map, te_u32 from, int a, int b, int c, int d, int e)
{
    asm volatile(TE_LOAD "5" TE_STORED "%2, %3, %4, %5, %6}], [%1];"
                 ::"l"(&map), "r"(from), "r"(a), "r"(b), "r"(c), "r"(d), "r"(e) : "memory");
}
TE_DEVICE void te_copy_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> TE_DEVICE void te_copy_drain() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }
template <int N> TE_DEVICE void te_copy_drain_reads()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
TE_DEVICE void te_proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- matrix products ----

template <int N> TE_DEVICE void te_fewer_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> TE_DEVICE void te_more_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
TE_DEVICE void te_mma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
TE_DEVICE void te_mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> TE_DEVICE void te_mma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }

// Ties registers to this point of the program: no read of them moves above the wait before it.
template <int N> TE_DEVICE void te_pin(float (&acc)[N])
{
#pragma unroll
    for (int n = 0; n < N; ++n) asm volatile("" : "+f"(acc[n])::"memory");
}
template <int N> TE_DEVICE void te_pin(int (&acc)[N])
{
#pragma unroll
    for (int n = 0; n < N; ++n) asm volatile("" : "+r"(acc[n])::"memory");
}

// The descriptor of a tile with the 128-byte swizzle: 8 lines of 128 bytes follow each other, `boxes` bytes lie between
// boxes. To move along the tile, add bytes / 16.
TE_DEVICE te_u64 te_tile(te_u32 address, int boxes)
{
    return (te_u64)((address & 0x3FFFF) >> 4) | (te_u64)(boxes >> 4) << 16 | (te_u64)(1024 >> 4) << 32 | 1ull << 62;
}

// Byte of 16-byte piece `piece` of a line, under the swizzle.
TE_DEVICE te_u32 te_swizzled(int line, int piece) { return line * 128 + ((piece ^ (line & 7)) << 4); }

// The address that this lane gives to a transfer of four 8 x 8 matrices: 16 lines of its warp, 2 pieces.
TE_DEVICE te_u32 te_lane_address(te_u32 box, int line, int chunk)
{
    const int t = threadIdx.x & 127;
    return box + te_swizzled(line + (t >> 5) * 16 + (t & 15), 2 * chunk + (t >> 4 & 1));
}
TE_DEVICE void te_store_16(te_u32 box, int line, int chunk, te_u32 a, te_u32 b, te_u32 c, te_u32 d)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(te_lane_address(box, line, chunk)), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
TE_DEVICE void te_store_32(te_u32 box, int line, int chunk, float a, float b, float c, float d)
{
    const int t = threadIdx.x & 127;
    const int row = line + (t >> 5) * 16 + (t >> 2 & 7);
    const te_u32 to = box + te_swizzled(row, 2 * chunk + (t >> 1 & 1)) + (t & 1) * 8;
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(a), "f"(b) : "memory");
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to + 1024), "f"(c), "f"(d) : "memory");
}
TE_DEVICE void te_store_32(te_u32 box, int line, int chunk, int a, int b, int c, int d)
{
    te_store_32(box, line, chunk, __int_as_float(a), __int_as_float(b), __int_as_float(c), __int_as_float(d));
}
// The fragment's rows along lines: two boxes of 32 rows, `boxes` bytes apart.
TE_DEVICE te_u32 te_turned_address(te_u32 box, int boxes, int line, int half)
{
    const int t = threadIdx.x & 127;
    const int row = (t >> 5) * 16 + half * 8 + (t >> 2 & 7);
    return box + (row >> 5) * boxes + te_swizzled(line, row >> 2 & 7) + (row & 3) * 4;
}
TE_DEVICE void te_store_32_turned(te_u32 box, int boxes, int line, int chunk, float a, float b, float c, float d)
{
    const int column = line + 8 * chunk + (threadIdx.x & 3) * 2;
    const float values[] = {a, b, c, d};
#pragma unroll
    for (int n = 0; n < 4; n++) {
        const te_u32 to = te_turned_address(box, boxes, column + (n & 1), n >> 1);
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(values[n]) : "memory");
    }
}
TE_DEVICE void te_load_32(float &a, float &b, float &c, float &d, te_u32 box, int line, int chunk)
{
    const int t = threadIdx.x & 127;
    const int row = line + (t >> 5) * 16 + (t >> 2 & 7);
    const te_u32 from = box + te_swizzled(row, 2 * chunk + (t >> 1 & 1)) + (t & 1) * 8;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "r"(from) : "memory");
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(c), "=f"(d) : "r"(from + 1024) : "memory");
}
TE_DEVICE void te_load_32_turned(float &a, float &b, float &c, float &d, te_u32 box, int boxes, int chunk)
{
    const int column = 8 * chunk + (threadIdx.x & 3) * 2;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(a) : "r"(te_turned_address(box, boxes, column, 0)) : "memory");
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(b) : "r"(te_turned_address(box, boxes, column + 1, 0)) : "memory");
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(c) : "r"(te_turned_address(box, boxes, column, 1)) : "memory");
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(d) : "r"(te_turned_address(box, boxes, column + 1, 1)) : "memory");
}
TE_DEVICE void te_load_16(te_u32 &a, te_u32 &b, te_u32 &c, te_u32 &d, te_u32 box, int line, int chunk)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(te_lane_address(box, line, chunk)) : "memory");
}
// Lines run along the contraction index: matrix i (lanes 8i ...) holds lines 8·(i / 2) of the chunk, columns 8·(i % 2).
TE_DEVICE void te_load_16_turned(te_u32 &a, te_u32 &b, te_u32 &c, te_u32 &d, te_u32 box, int column, int chunk)
{
    const int t = threadIdx.x & 127;
    const int piece = (column >> 3) + (t >> 5) * 2 + (t >> 3 & 1);
    const te_u32 from = box + te_swizzled(16 * chunk + (t >> 4 & 1) * 8 + (t & 7), piece);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory");
}
