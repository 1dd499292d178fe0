"""The CUDA C++ of the probes: the experiments of probe_grid, sweeps of shared memory, and the matrix units.

Matrix units are driven by `mma.sync` on every chip that has it, and on Hopper by `wgmma` too, whose operands lie in
shared memory; both on values that differ, since a chip runs faster over zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

PLAIN = r"""
typedef unsigned int u32;

// No headers: NVRTC comes without them. ca: through the first cache; cg: from the second one.
__device__ __forceinline__ u32 near_word(const u32 *p) {
    u32 x;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}
__device__ __forceinline__ float4 far_vector(const float4 *p) {
    float4 v;
    asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
    return v;
}

extern "C" __global__ void probe_empty() {}

extern "C" __global__ void probe_chase(const u32 *next, u32 *out, u32 n) {
    u32 at = out[1];
    for (u32 k = 0; k < n; k++) {
#pragma unroll
        for (int h = 0; h < 8; h++) at = near_word(next + at);
    }
    out[2] = at;
}

// The share of a group in a sweep. The first bytes of `out` are zeros, which no compiler knows: rounds stay apart.
#define SHARE                                                       \
    const u32 per = (vectors + gridDim.x - 1) / gridDim.x;          \
    const u32 first = per * blockIdx.x + threadIdx.x;               \
    const u32 end = min(per * (blockIdx.x + 1), vectors);           \
    const u32 zero = __float_as_uint(out[0].x), by = blockDim.x;

extern "C" __global__ void __launch_bounds__(1024)
probe_read(const float4 *a, float4 *b, float4 *out, u32 vectors, u32 times) {
    SHARE
    float s = 0, t = 0, u = 0, v = 0;
    for (u32 r = 0; r < times; r++) {
        const float4 *p = a + (r & zero);
        u32 k = first;
        for (; k + 3 * by < end; k += 4 * by) {
            float4 w = far_vector(p + k), x = far_vector(p + k + by);
            float4 y = far_vector(p + k + 2 * by), z = far_vector(p + k + 3 * by);
            s += w.x + w.y + w.z + w.w; t += x.x + x.y + x.z + x.w;
            u += y.x + y.y + y.z + y.w; v += z.x + z.y + z.z + z.w;
        }
        for (; k < end; k += by) { float4 w = far_vector(p + k); s += w.x + w.y + w.z + w.w; }
    }
    out[1 + blockIdx.x * blockDim.x + threadIdx.x].x = s + t + u + v;
}
extern "C" __global__ void __launch_bounds__(1024)
probe_write(float4 *a, float4 *b, float4 *out, u32 vectors, u32 times) {
    SHARE
    for (u32 r = 0; r < times; r++)
        for (u32 k = first; k < end; k += by) a[k + (r & zero)] = make_float4(r, r, r, r);
}
extern "C" __global__ void __launch_bounds__(1024)
probe_copy(const float4 *a, float4 *b, float4 *out, u32 vectors, u32 times) {
    SHARE
    for (u32 r = 0; r < times; r++) {
        const float4 *p = a + (r & zero);
        float4 *q = b + (r & zero);
        u32 k = first;
        for (; k + 3 * by < end; k += 4 * by) {
            float4 w = far_vector(p + k), x = far_vector(p + k + by);
            float4 y = far_vector(p + k + 2 * by), z = far_vector(p + k + 3 * by);
            q[k] = w; q[k + by] = x; q[k + 2 * by] = y; q[k + 3 * by] = z;
        }
        for (; k < end; k += by) q[k] = far_vector(p + k);
    }
}

// Shared memory: each turn reads, or writes, or both, 16 bytes a thread.
extern "C" __global__ void __launch_bounds__(1024) probe_peak_shared_read(float4 *out, u32 n) {
    __shared__ float4 held[2048];
    const u32 zero = __float_as_uint(out[0].x);
    for (u32 k = threadIdx.x; k < 2048; k += blockDim.x) held[k] = make_float4(k, k, k, k);
    __syncthreads();
    float s = 0;
    for (u32 k = 0; k < n; k++) {
#pragma unroll
        for (int h = 0; h < 8; h++) {
            volatile float4 *p = held + ((threadIdx.x + h * 256 + (k & zero)) & 2047);
            float x, y, z, w;
            asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
                         : "r"((u32)__cvta_generic_to_shared((const void *)p)));
            s += x + y + z + w;
        }
    }
    out[1 + blockIdx.x * blockDim.x + threadIdx.x].x = s;
}
extern "C" __global__ void __launch_bounds__(1024) probe_peak_shared_write(float4 *out, u32 n) {
    __shared__ float4 held[2048];
    for (u32 k = 0; k < n; k++) {
#pragma unroll
        for (int h = 0; h < 8; h++) {
            const float x = k + h;
            asm volatile("st.shared.v4.f32 [%0], {%1,%1,%1,%1};"
                         : : "r"((u32)__cvta_generic_to_shared(held + ((threadIdx.x + h * 256) & 2047))), "f"(x)
                         : "memory");
        }
    }
    __syncthreads();
    out[1 + blockIdx.x * blockDim.x + threadIdx.x] = held[threadIdx.x];
}

struct half2s { u32 bits; };
struct bfloat2s { u32 bits; };
__device__ __forceinline__ float multiply_add(float a, float x, float y) { return __fmaf_rn(a, x, y); }
__device__ __forceinline__ double multiply_add(double a, double x, double y) { return __fma_rn(a, x, y); }
__device__ __forceinline__ half2s multiply_add(half2s a, half2s x, half2s y) {
    asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(a.bits) : "r"(x.bits), "r"(y.bits));
    return a;
}
__device__ __forceinline__ bfloat2s multiply_add(bfloat2s a, bfloat2s x, bfloat2s y) {
    asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(a.bits) : "r"(x.bits), "r"(y.bits));
    return a;
}
__device__ __forceinline__ void make(float &t, float x, u32) { t = x; }
__device__ __forceinline__ void make(double &t, float x, u32) { t = x; }
__device__ __forceinline__ void make(half2s &t, float, u32 bits) { t.bits = bits * 0x00010001u; }
__device__ __forceinline__ void make(bfloat2s &t, float, u32 bits) { t.bits = bits * 0x00010001u; }

// Eight chains of multiply-adds; a vector of two counts twice.
template <class T> __device__ __forceinline__ void chains(float4 *out, u32 n) {
    const u32 zero = __float_as_uint(out[0].x);
    T x, y, c[8];
    make(x, 0.999f + out[0].x, 0x3bfeu + zero);
    make(y, 0.001f, 0x1419u + zero);
#pragma unroll
    for (int k = 0; k < 8; k++) make(c[k], 0.1f * (k + threadIdx.x % 7), 0x2e66u + k + threadIdx.x % 7);
#pragma unroll 8
    for (u32 r = 0; r < n; r++) {
#pragma unroll
        for (int k = 0; k < 8; k++) c[k] = multiply_add(c[k], x, y);
    }
    T *at = (T *)(out + 1 + blockIdx.x * blockDim.x + threadIdx.x);
    T sum = c[0];
#pragma unroll
    for (int k = 1; k < 8; k++) sum = multiply_add(c[k], x, sum);
    *at = sum;
}
extern "C" __global__ void __launch_bounds__(1024) probe_peak_f32(float4 *out, u32 n) { chains<float>(out, n); }
extern "C" __global__ void __launch_bounds__(1024) probe_peak_f64(float4 *out, u32 n) { chains<double>(out, n); }
extern "C" __global__ void __launch_bounds__(1024) probe_peak_f16(float4 *out, u32 n) { chains<half2s>(out, n); }
extern "C" __global__ void __launch_bounds__(1024) probe_peak_bf16(float4 *out, u32 n) { chains<bfloat2s>(out, n); }

extern "C" __global__ void probe_barrier(u32 *out, u32 n) {
    for (u32 k = 0; k < n; k++) __syncthreads();
    out[4 + threadIdx.x] = n;
}
"""


@dataclass(frozen=True, slots=True)
class Product:
    """A kind of operand of the matrix units: the words of `mma.sync` and `wgmma`, and their extents along the fold."""

    name: str
    mma: str
    k: int
    a: int
    b: int
    c: int
    wgmma: str
    wide: int
    integer: bool = False
    double: bool = False

    @property
    def operations(self) -> float:
        """Operations of one `mma.sync`."""
        return 2.0 * (8 * 8 * 4 if self.double else 16 * 8 * self.k)


PRODUCTS = (
    Product("bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", 16, 4, 2, 4, "f32.bf16.bf16", 16),
    Product("f16", "m16n8k16.row.col.f32.f16.f16.f32", 16, 4, 2, 4, "f32.f16.f16", 16),
    Product("tf32", "m16n8k8.row.col.f32.tf32.tf32.f32", 8, 4, 2, 4, "f32.tf32.tf32", 8),
    Product("i8", "m16n8k32.row.col.s32.s8.s8.s32", 32, 4, 2, 4, "s32.s8.s8", 32, integer=True),
    Product("fp8", "m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, 4, 2, 4, "f32.e4m3.e4m3", 32),
    Product("f64", "m8n8k4.row.col.f64.f64.f64.f64", 4, 1, 1, 2, "", 0, double=True),
)
"""What is measured. `a`, `b`, `c`: registers of the operands and of the accumulator."""
COLUMNS = 256
"""Columns of a product of a warp group."""


def matrix_source(product: Product) -> str:
    """Four independent accumulators in each warp, a product on each in every round."""
    kind, letter = ("double", "d") if product.double else ("int", "r") if product.integer else ("float", "f")
    operand = ("double", "d") if product.double else ("unsigned", "r")
    c = [f"%{n}" for n in range(product.c)]
    a = [f"%{product.c + n}" for n in range(product.a)]
    b = [f"%{product.c + product.a + n}" for n in range(product.b)]
    words = ", ".join("{" + ", ".join(x) + "}" for x in (c, a, b, c))
    outs = ", ".join(f'"+{letter}"(c[k][{n}])' for n in range(product.c))
    ins = ", ".join(
        [f'"{operand[1]}"(a[{n}])' for n in range(product.a)] + [f'"{operand[1]}"(b[{n}])' for n in range(product.b)]
    )
    fill = (
        "0.25 + 1e-3 * ((threadIdx.x + n) % 31)"
        if product.double
        else "0x3c003c00u + 0x00010001u * ((threadIdx.x * 7 + n * 13) % 61)"
    )
    return f"""
extern "C" __global__ void __launch_bounds__(256) probe_peak_matrix_{product.name}(float *out, unsigned times) {{
    {kind} c[4][{product.c}] = {{}};
    {operand[0]} a[{product.a}], b[{product.b}];
    for (int n = 0; n < {product.a}; n++) a[n] = {fill};
    for (int n = 0; n < {product.b}; n++) b[n] = {fill};
    for (unsigned r = 0; r < times; r++) {{
#pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile("mma.sync.aligned.{product.mma} {words};" : {outs} : {ins});
    }}
    {kind} sum = 0;
    for (int k = 0; k < 4; k++) for (int n = 0; n < {product.c}; n++) sum += c[k][n];
    out[16 + blockIdx.x * blockDim.x + threadIdx.x] = (float)sum;
}}
"""


def group_source(product: Product) -> str:
    """Products of a warp group: 64 rows, COLUMNS columns, both operands in shared memory, four in flight."""
    letter, kind = ("r", "int") if product.integer else ("f", "float")
    count = COLUMNS // 2
    registers = ", ".join(f"%{n}" for n in range(count))
    outs = ", ".join(f'"+{letter}"(c[{n}])' for n in range(count))
    scales = "" if product.integer else ", 1, 1"
    transposed = ", 0, 0" if product.name in ("bf16", "f16") else ""
    return f"""
extern "C" __global__ void __launch_bounds__(128) probe_peak_group_{product.name}(float *out, unsigned times) {{
    __shared__ __align__(128) unsigned held[(64 + {COLUMNS}) * 8];
    for (unsigned k = threadIdx.x; k < (64 + {COLUMNS}) * 8; k += 128)
        held[k] = 0x3c003c00u + 0x00010001u * (k * 7 % 61);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const unsigned at = (unsigned)__cvta_generic_to_shared(held);
    // Tiles of 8 rows of 16 bytes: 128 bytes apart along the fold, 256 along rows and columns.
    const unsigned long long steps = (8ull << 16) | (16ull << 32);
    const unsigned long long a = ((at & 0x3ffff) >> 4) | steps, b = (((at + 64 * 32) & 0x3ffff) >> 4) | steps;
    {kind} c[{count}] = {{}};
    for (unsigned r = 0; r < times; r++) {{
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{count + 2}, 0; "
                         "wgmma.mma_async.sync.aligned.m64n{COLUMNS}k{product.wide}.{product.wgmma} {{{registers}}}, "
                         "%{count}, %{count + 1}, p{scales}{transposed}; }}" : {outs} : "l"(a), "l"(b), "r"(1));
        asm volatile("wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    }}
    {kind} sum = 0;
    for (int n = 0; n < {count}; n++) sum += c[n];
    out[16 + blockIdx.x * blockDim.x + threadIdx.x] = (float)sum;
}}
"""


def group_operations(product: Product) -> float:
    """Operations of one round of a warp group."""
    return 4 * 2.0 * 64 * COLUMNS * product.wide
