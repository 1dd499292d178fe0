// Functions on 32-bit words. A source has those that its kernel calls, and what these call.
// Nothing here rests on NaN or infinities being kept by comparisons or by the language's own functions: where they
// matter their bits are looked at. An i64 or u64 is a uvec2, its low word first.

bool te_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

float te_f32(uint bits) { return uintBitsToFloat(bits); }

bool te_lt_f32(float a, float b) { return !te_nan(a) && !te_nan(b) && a < b; }

bool te_le_f32(float a, float b) { return !te_nan(a) && !te_nan(b) && a <= b; }

bool te_eq_f32(float a, float b) { return !te_nan(a) && !te_nan(b) && a == b; }

bool te_nonzero_f32(float x) { return (floatBitsToUint(x) & 0x7fffffffu) != 0u; }

float te_max_f32(float a, float b) {
    if (te_nan(a)) { return a; }
    if (te_nan(b)) { return b; }
    return ((a > b) ? a : b);
}

float te_min_f32(float a, float b) {
    if (te_nan(a)) { return a; }
    if (te_nan(b)) { return b; }
    return ((a < b) ? a : b);
}

// exp, log, tanh, erf, sin and atan2: polynomials of the Cephes library (Moshier 1992), within 3 ulp of normal numbers.
// Results below the least normal number may be zero: devices may flush them.

float te_exp_f32(float x) {
    if (te_nan(x)) { return x; }
    float c = clamp(x, -105.0, 90.0);
    float k = floor(c * 1.44269504088896341 + 0.5);
    float r = (c - k * 0.693359375) + k * 2.12194440e-4;
    float p = 1.9875691500e-4;
    p = p * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    p = p * (r * r) + r + 1.0;
    int n = int(k);
    int h = n >> 1u;
    return p * te_f32(uint(h + 127) << 23u) * te_f32(uint(n - h + 127) << 23u);
}

float te_log_f32(float x) {
    uint u = floatBitsToUint(x);
    if (te_nan(x) || (u > 0x80000000u)) { return te_f32(0x7fc00000u | (u & 0u)); }
    if ((u & 0x7fffffffu) == 0u) { return te_f32(0xff800000u | (u & 0u)); }
    if (u == 0x7f800000u) { return x; }
    bool tiny = u < 0x00800000u;
    uint b = (tiny ? floatBitsToUint(float(u)) : u);
    float e = float(int(b >> 23u) - (tiny ? 275 : 126));
    float m = te_f32((b & 0x7fffffu) | 0x3f000000u);
    if (m < 0.707106781186547524) {
        e = e - 1.0;
        m = m + m;
    }
    m = m - 1.0;
    float z = m * m;
    float p = 7.0376836292e-2;
    p = p * m - 1.1514610310e-1;
    p = p * m + 1.1676998740e-1;
    p = p * m - 1.2420140846e-1;
    p = p * m + 1.4249322787e-1;
    p = p * m - 1.6668057665e-1;
    p = p * m + 2.0000714765e-1;
    p = p * m - 2.4999993993e-1;
    p = p * m + 3.3333331174e-1;
    float y = p * m * z + e * -2.12194440e-4 - 0.5 * z;
    return m + y + e * 0.693359375;
}

float te_tanh_f32(float x) {
    if (te_nan(x)) { return x; }
    float a = abs(x);
    float z = x * x;
    if (a < 0.625) {
        float p = -5.70498872745e-3;
        p = p * z + 2.06390887954e-2;
        p = p * z - 5.37397155531e-2;
        p = p * z + 1.33314422036e-1;
        p = p * z - 3.33332819422e-1;
        return p * z * x + x;
    }
    float far = 1.0 - 2.0 / (te_exp_f32(min(a, 20.0) * 2.0) + 1.0);
    return te_f32(floatBitsToUint(far) | (floatBitsToUint(x) & 0x80000000u));
}

float te_erf_f32(float x) {
    if (te_nan(x)) { return x; }
    float a = min(abs(x), 10.0);
    float z = a * a;
    if (a < 1.0) {
        float p = 7.853861353153693e-5;
        p = p * z - 8.010193625184903e-4;
        p = p * z + 5.188327685732524e-3;
        p = p * z - 2.685381193529856e-2;
        p = p * z + 1.128358514861418e-1;
        p = p * z - 3.761262582423300e-1;
        p = p * z + 1.128379165726710;
        return x * p;
    }
    float q = 1.0 / a;
    float y = q * q;
    float t = -1.047766399936249e+1;
    if (a < 2.0) {
        t = 2.326819970068386e-2;
        t = t * y - 1.387039388740657e-1;
        t = t * y + 3.687424674597105e-1;
        t = t * y - 5.824733027278666e-1;
        t = t * y + 6.210004621745983e-1;
        t = t * y - 4.944515323274145e-1;
        t = t * y + 3.404879937665872e-1;
        t = t * y - 2.741127028184656e-1;
        t = t * y + 5.638259427386472e-1;
    } else {
        t = t * y + 1.297719955372516e+1;
        t = t * y - 7.495518717768503;
        t = t * y + 2.921019019210786;
        t = t * y - 1.015265279202700;
        t = t * y + 4.218463358204948e-1;
        t = t * y - 2.820767439740514e-1;
        t = t * y + 5.641895067754075e-1;
    }
    float far = 1.0 - te_exp_f32(-z) * q * t;
    return te_f32(floatBitsToUint(far) | (floatBitsToUint(x) & 0x80000000u));
}

float te_sin_f32(float x) {
    uint u = floatBitsToUint(x);
    if ((u & 0x7fffffffu) >= 0x7f800000u) { return te_f32(0x7fc00000u | (u & 0u)); }
    float a = abs(x);
    if (a > 8192.0) { return sin(x); }
    int j = int(a * 1.27323954473516);
    j = j + (j & 1);
    float k = float(j);
    a = ((a - k * 0.78515625) - k * 2.4187564849853515625e-4) - k * 3.77489497744594108e-8;
    float z = a * a;
    float y = 0.0;
    if ((j & 2) != 0) {
        y = ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
    } else {
        y = ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1) * z * a + a;
    }
    return te_f32(floatBitsToUint(y) ^ (u & 0x80000000u) ^ (uint(j & 4) << 29u));
}

float te_atan2_f32(float y, float x) {
    if (te_nan(x)) { return x; }
    if (te_nan(y)) { return y; }
    uint u = floatBitsToUint(x);
    uint v = floatBitsToUint(y);
    uint top = max(u & 0x7fffffffu, v & 0x7fffffffu);
    uint low = min(u & 0x7fffffffu, v & 0x7fffffffu);
    float a = 0.0;
    if (top == low && top != 0u) {
        a = 1.0;
    } else if (top != 0u && top != 0x7f800000u) {
        a = te_f32(low) / te_f32(top);
    }
    float r = 0.0;
    if (a > 0.4142135623730950) {
        r = 0.785398163397448309;
        a = (a - 1.0) / (a + 1.0);
    }
    float z = a * a;
    float p = 8.05374449538e-2;
    p = p * z - 1.38776856032e-1;
    p = p * z + 1.99777106478e-1;
    p = p * z - 3.33329491539e-1;
    r = r + (p * z * a + a);
    if ((v & 0x7fffffffu) > (u & 0x7fffffffu)) { r = 1.57079632679489662 - r; }
    if (u >= 0x80000000u) { r = 3.14159265358979324 - r; }
    return te_f32(floatBitsToUint(r) | (v & 0x80000000u));
}

// A float as an integer: towards zero; NaN and infinities give 0; what does not fit is clipped to 64 bits, then wraps.

int te_whole(float x) { return int(te_i64_f32(x).x); }

uvec2 te_i64_f32(float x) {
    uint u = floatBitsToUint(x);
    int e = int((u >> 23u) & 255u) - 127;
    uint m = (u & 0x7fffffu) | 0x800000u;
    if (e < 0 || e == 128) { return uvec2(0u, 0u); }
    if (e > 62) { return ((u >= 0x80000000u) ? uvec2(0u, 0x80000000u) : uvec2(0xfffffc00u, 0x7fffffffu)); }
    uvec2 r = uvec2(m, 0u);
    if (e < 23) { r.x = m >> uint(23 - e); } else { r = te_shl_u64(r, uint(e - 23)); }
    if (u >= 0x80000000u) { return te_neg_i64(r); }
    return r;
}

float te_f32_u64(uvec2 x) {
    if (x.y == 0u) { return float(x.x); }
    uint n = uint(31 - findMSB(x.y));
    uvec2 s = te_shl_u64(x, n);
    uint t = s.y | ((s.x != 0u) ? 1u : 0u);
    return float(t) * te_f32((159u - n) << 23u);
}

float te_f32_i64(uvec2 x) {
    if (x.y >= 0x80000000u) { return -te_f32_u64(te_neg_i64(x)); }
    return te_f32_u64(x);
}

// 16-bit floats are kept as their bits.

float te_of_bf16(uint x) { return uintBitsToFloat(x << 16u); }

uint te_to_bf16(float x) {
    uint u = floatBitsToUint(x);
    if (te_nan(x)) { return (u >> 16u) | 0x40u; }
    return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}

float te_of_f16(uint x) {
    uint body = x & 0x7fffu;
    uint u = (body << 13u) + 0x38000000u;
    if (body >= 0x7c00u) { u = 0x7f800000u | (body << 13u); }
    if (body < 0x0400u) { u = floatBitsToUint(float(body) * 5.9604644775390625e-8); }
    return uintBitsToFloat(u | ((x & 0x8000u) << 16u));
}

uint te_to_f16(float x) {
    uint u = floatBitsToUint(x);
    uint a = u & 0x7fffffffu;
    uint sign = (u >> 16u) & 0x8000u;
    if (a > 0x7f800000u) { return sign | 0x7e00u; }
    if (a >= 0x477ff000u) { return sign | 0x7c00u; }
    if (a >= 0x38800000u) { return sign | (((a - 0x38000000u) + 0xfffu + ((a >> 13u) & 1u)) >> 13u); }
    if (a < 0x33000000u) { return sign; }
    uint m = (a & 0x7fffffu) | 0x800000u;
    uint s = 126u - (a >> 23u);
    uint r = m >> s;
    uint rest = m & ((1u << s) - 1u);
    uint middle = 1u << (s - 1u);
    return sign | (r + ((rest > middle || (rest == middle && (r & 1u) == 1u)) ? 1u : 0u));
}

// Parts of words, as elements of an array.

uint te_unpack_u8(uint word, int n) { return (word >> (uint(n & 3) * 8u)) & 0xffu; }

uint te_unpack_u16(uint word, int n) { return (word >> (uint(n & 1) * 16u)) & 0xffffu; }

int te_unpack_i8(uint word, int n) { return int(word << (24u - uint(n & 3) * 8u)) >> 24u; }

int te_unpack_i16(uint word, int n) { return int(word << (16u - uint(n & 1) * 16u)) >> 16u; }

// Integers: division and remainder round down and give 0 for a divisor of 0; shifts count modulo the width; all wrap.

int te_idiv_i32(int a, int b) {
    if (b == 0) { return 0; }
    if (b == -1) { return 0 - a; }
    int q = a / b;
    return q - ((q * b != a && ((a < 0) != (b < 0))) ? 1 : 0);
}

int te_imod_i32(int a, int b) {
    if (b == 0 || b == -1) { return 0; }
    int r = a - (a / b) * b;
    return r + ((r != 0 && ((r < 0) != (b < 0))) ? b : 0);
}

uint te_idiv_u32(uint a, uint b) {
    if (b == 0u) { return 0u; }
    return a / b;
}

uint te_imod_u32(uint a, uint b) {
    if (b == 0u) { return 0u; }
    return a - (a / b) * b;
}

// Integers of 64 bits.

uvec2 te_i64_i32(int x) { return uvec2(uint(x), uint(x >> 31u)); }

uvec2 te_i64_u32(uint x) { return uvec2(x, 0u); }

uvec2 te_i64_bool(bool x) { return uvec2((x ? 1u : 0u), 0u); }

bool te_nonzero_i64(uvec2 x) { return (x.x | x.y) != 0u; }

uvec2 te_add_i64(uvec2 a, uvec2 b) {
    uint low = a.x + b.x;
    return uvec2(low, a.y + b.y + ((low < a.x) ? 1u : 0u));
}

uvec2 te_neg_i64(uvec2 a) {
    uint low = 0u - a.x;
    return uvec2(low, 0u - a.y - ((low != 0u) ? 1u : 0u));
}

uvec2 te_mul_u32(uint a, uint b) {
    uint p = (a & 0xffffu) * (b & 0xffffu);
    uint q = (a & 0xffffu) * (b >> 16u);
    uint r = (a >> 16u) * (b & 0xffffu);
    uint m = (p >> 16u) + (q & 0xffffu) + (r & 0xffffu);
    return uvec2((p & 0xffffu) | (m << 16u), (a >> 16u) * (b >> 16u) + (q >> 16u) + (r >> 16u) + (m >> 16u));
}

uvec2 te_mul_i64(uvec2 a, uvec2 b) {
    uvec2 p = te_mul_u32(a.x, b.x);
    return uvec2(p.x, p.y + a.x * b.y + a.y * b.x);
}

bool te_eq_i64(uvec2 a, uvec2 b) { return a.x == b.x && a.y == b.y; }

bool te_lt_u64(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

bool te_lt_i64(uvec2 a, uvec2 b) {
    return te_lt_u64(uvec2(a.x, a.y ^ 0x80000000u), uvec2(b.x, b.y ^ 0x80000000u));
}

uvec2 te_choose(uvec2 yes, uvec2 no, bool c) {
    if (c) { return yes; }
    return no;
}

uvec2 te_max_u64(uvec2 a, uvec2 b) { return te_choose(b, a, te_lt_u64(a, b)); }

uvec2 te_min_u64(uvec2 a, uvec2 b) { return te_choose(a, b, te_lt_u64(a, b)); }

uvec2 te_max_i64(uvec2 a, uvec2 b) { return te_choose(b, a, te_lt_i64(a, b)); }

uvec2 te_min_i64(uvec2 a, uvec2 b) { return te_choose(a, b, te_lt_i64(a, b)); }

uvec2 te_shl_u64(uvec2 a, uint count) {
    uint n = count & 63u;
    if (n == 0u) { return a; }
    if (n >= 32u) { return uvec2(0u, a.x << (n - 32u)); }
    return uvec2(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}

uvec2 te_shr_u64(uvec2 a, uint count) {
    uint n = count & 63u;
    if (n == 0u) { return a; }
    if (n >= 32u) { return uvec2(a.y >> (n - 32u), 0u); }
    return uvec2((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}

uvec2 te_shr_i64(uvec2 a, uint count) {
    if (a.y < 0x80000000u) { return te_shr_u64(a, count); }
    return ~te_shr_u64(~a, count);
}

uvec4 te_divided(uvec2 a, uvec2 b) {
    uvec2 q = uvec2(0u, 0u);
    uvec2 r = uvec2(0u, 0u);
    for (int n = 63; n >= 0; n--) {
        r = te_shl_u64(r, 1u);
        r.x = r.x | (te_shr_u64(a, uint(n)).x & 1u);
        q = te_shl_u64(q, 1u);
        if (!te_lt_u64(r, b)) {
            r = te_add_i64(r, te_neg_i64(b));
            q.x = q.x | 1u;
        }
    }
    return uvec4(q.x, q.y, r.x, r.y);
}

uvec2 te_idiv_u64(uvec2 a, uvec2 b) {
    if ((b.x | b.y) == 0u) { return uvec2(0u, 0u); }
    return te_divided(a, b).xy;
}

uvec2 te_imod_u64(uvec2 a, uvec2 b) {
    if ((b.x | b.y) == 0u) { return uvec2(0u, 0u); }
    return te_divided(a, b).zw;
}

uvec2 te_abs_i64(uvec2 a) { return te_choose(te_neg_i64(a), a, a.y >= 0x80000000u); }

uvec2 te_idiv_i64(uvec2 a, uvec2 b) {
    if ((b.x | b.y) == 0u) { return uvec2(0u, 0u); }
    uvec4 d = te_divided(te_abs_i64(a), te_abs_i64(b));
    if (((a.y ^ b.y) & 0x80000000u) == 0u) { return d.xy; }
    uvec2 more = te_add_i64(d.xy, uvec2((((d.z | d.w) != 0u) ? 1u : 0u), 0u));
    return te_neg_i64(more);
}

uvec2 te_imod_i64(uvec2 a, uvec2 b) {
    if ((b.x | b.y) == 0u) {
        return uvec2(0u, 0u);
    }
    return te_add_i64(a, te_neg_i64(te_mul_i64(te_idiv_i64(a, b), b)));
}

// Values of other lanes of a group of 32, which take every exchange together.

uint te_shuffle_u32(uint x, int mask) {
    te_lanes[te_lane] = x;
    barrier();
    uint y = te_lanes[te_lane ^ uint(mask)];
    barrier();
    return y;
}

int te_shuffle_i32(int x, int mask) { return int(te_shuffle_u32(uint(x), mask)); }

float te_shuffle_f32(float x, int mask) { return uintBitsToFloat(te_shuffle_u32(floatBitsToUint(x), mask)); }

uvec2 te_shuffle_i64(uvec2 x, int mask) {
    return uvec2(te_shuffle_u32(x.x, mask), te_shuffle_u32(x.y, mask));
}
