// Functions on 32-bit words. A source has those that its kernel calls, and what these call.
// Nothing here rests on NaN or infinities being kept by comparisons or by the language's own functions: where they
// matter their bits are looked at. An i64 or u64 is a vec2<u32>, its low word first.

fn te_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn te_f32(bits: u32) -> f32 { return bitcast<f32>(bits); }

fn te_lt_f32(a: f32, b: f32) -> bool { return !te_nan(a) && !te_nan(b) && a < b; }

fn te_le_f32(a: f32, b: f32) -> bool { return !te_nan(a) && !te_nan(b) && a <= b; }

fn te_eq_f32(a: f32, b: f32) -> bool { return !te_nan(a) && !te_nan(b) && a == b; }

fn te_nonzero_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) != 0u; }

fn te_max_f32(a: f32, b: f32) -> f32 {
    if (te_nan(a)) { return a; }
    if (te_nan(b)) { return b; }
    return select(b, a, a > b);
}

fn te_min_f32(a: f32, b: f32) -> f32 {
    if (te_nan(a)) { return a; }
    if (te_nan(b)) { return b; }
    return select(b, a, a < b);
}

// exp, log, tanh, erf, sin and atan2: polynomials of the Cephes library (Moshier 1992), within 3 ulp of normal numbers.
// Results below the least normal number may be zero: devices may flush them.

fn te_exp_f32(x: f32) -> f32 {
    if (te_nan(x)) { return x; }
    let c = clamp(x, -105.0, 90.0);
    let k = floor(c * 1.44269504088896341 + 0.5);
    let r = (c - k * 0.693359375) + k * 2.12194440e-4;
    var p = 1.9875691500e-4;
    p = p * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    p = p * (r * r) + r + 1.0;
    let n = i32(k);
    let h = n >> 1u;
    return p * te_f32(u32(h + 127) << 23u) * te_f32(u32(n - h + 127) << 23u);
}

fn te_log_f32(x: f32) -> f32 {
    let u = bitcast<u32>(x);
    if (te_nan(x) || (u > 0x80000000u)) { return te_f32(0x7fc00000u | (u & 0u)); }
    if ((u & 0x7fffffffu) == 0u) { return te_f32(0xff800000u | (u & 0u)); }
    if (u == 0x7f800000u) { return x; }
    let tiny = u < 0x00800000u;
    let b = select(u, bitcast<u32>(f32(u)), tiny);
    var e = f32(i32(b >> 23u) - select(126, 275, tiny));
    var m = te_f32((b & 0x7fffffu) | 0x3f000000u);
    if (m < 0.707106781186547524) {
        e = e - 1.0;
        m = m + m;
    }
    m = m - 1.0;
    let z = m * m;
    var p = 7.0376836292e-2;
    p = p * m - 1.1514610310e-1;
    p = p * m + 1.1676998740e-1;
    p = p * m - 1.2420140846e-1;
    p = p * m + 1.4249322787e-1;
    p = p * m - 1.6668057665e-1;
    p = p * m + 2.0000714765e-1;
    p = p * m - 2.4999993993e-1;
    p = p * m + 3.3333331174e-1;
    let y = p * m * z + e * -2.12194440e-4 - 0.5 * z;
    return m + y + e * 0.693359375;
}

fn te_tanh_f32(x: f32) -> f32 {
    if (te_nan(x)) { return x; }
    let a = abs(x);
    let z = x * x;
    if (a < 0.625) {
        var p = -5.70498872745e-3;
        p = p * z + 2.06390887954e-2;
        p = p * z - 5.37397155531e-2;
        p = p * z + 1.33314422036e-1;
        p = p * z - 3.33332819422e-1;
        return p * z * x + x;
    }
    let far = 1.0 - 2.0 / (te_exp_f32(min(a, 20.0) * 2.0) + 1.0);
    return te_f32(bitcast<u32>(far) | (bitcast<u32>(x) & 0x80000000u));
}

fn te_erf_f32(x: f32) -> f32 {
    if (te_nan(x)) { return x; }
    let a = min(abs(x), 10.0);
    let z = a * a;
    if (a < 1.0) {
        var p = 7.853861353153693e-5;
        p = p * z - 8.010193625184903e-4;
        p = p * z + 5.188327685732524e-3;
        p = p * z - 2.685381193529856e-2;
        p = p * z + 1.128358514861418e-1;
        p = p * z - 3.761262582423300e-1;
        p = p * z + 1.128379165726710;
        return x * p;
    }
    let q = 1.0 / a;
    let y = q * q;
    var t = -1.047766399936249e+1;
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
    let far = 1.0 - te_exp_f32(-z) * q * t;
    return te_f32(bitcast<u32>(far) | (bitcast<u32>(x) & 0x80000000u));
}

fn te_sin_f32(x: f32) -> f32 {
    let u = bitcast<u32>(x);
    if ((u & 0x7fffffffu) >= 0x7f800000u) { return te_f32(0x7fc00000u | (u & 0u)); }
    var a = abs(x);
    if (a > 8192.0) { return sin(x); }
    var j = i32(a * 1.27323954473516);
    j = j + (j & 1);
    let k = f32(j);
    a = ((a - k * 0.78515625) - k * 2.4187564849853515625e-4) - k * 3.77489497744594108e-8;
    let z = a * a;
    var y = 0.0;
    if ((j & 2) != 0) {
        y = ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
    } else {
        y = ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1) * z * a + a;
    }
    return te_f32(bitcast<u32>(y) ^ (u & 0x80000000u) ^ (u32(j & 4) << 29u));
}

fn te_atan2_f32(y: f32, x: f32) -> f32 {
    if (te_nan(x)) { return x; }
    if (te_nan(y)) { return y; }
    let u = bitcast<u32>(x);
    let v = bitcast<u32>(y);
    let top = max(u & 0x7fffffffu, v & 0x7fffffffu);
    let low = min(u & 0x7fffffffu, v & 0x7fffffffu);
    var a = 0.0;
    if (top == low && top != 0u) {
        a = 1.0;
    } else if (top != 0u && top != 0x7f800000u) {
        a = te_f32(low) / te_f32(top);
    }
    var r = 0.0;
    if (a > 0.4142135623730950) {
        r = 0.785398163397448309;
        a = (a - 1.0) / (a + 1.0);
    }
    let z = a * a;
    var p = 8.05374449538e-2;
    p = p * z - 1.38776856032e-1;
    p = p * z + 1.99777106478e-1;
    p = p * z - 3.33329491539e-1;
    r = r + (p * z * a + a);
    if ((v & 0x7fffffffu) > (u & 0x7fffffffu)) { r = 1.57079632679489662 - r; }
    if (u >= 0x80000000u) { r = 3.14159265358979324 - r; }
    return te_f32(bitcast<u32>(r) | (v & 0x80000000u));
}

// A float as an integer: towards zero; NaN and infinities give 0; what does not fit is clipped to 64 bits, then wraps.

fn te_whole(x: f32) -> i32 { return i32(te_i64_f32(x).x); }

fn te_i64_f32(x: f32) -> vec2<u32> {
    let u = bitcast<u32>(x);
    let e = i32((u >> 23u) & 255u) - 127;
    let m = (u & 0x7fffffu) | 0x800000u;
    if (e < 0 || e == 128) { return vec2<u32>(0u, 0u); }
    if (e > 62) { return select(vec2<u32>(0xfffffc00u, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), u >= 0x80000000u); }
    var r = vec2<u32>(m, 0u);
    if (e < 23) { r.x = m >> u32(23 - e); } else { r = te_shl_u64(r, u32(e - 23)); }
    if (u >= 0x80000000u) { return te_neg_i64(r); }
    return r;
}

fn te_f32_u64(x: vec2<u32>) -> f32 {
    if (x.y == 0u) { return f32(x.x); }
    let n = countLeadingZeros(x.y);
    let s = te_shl_u64(x, n);
    let t = s.y | select(0u, 1u, s.x != 0u);
    return f32(t) * te_f32((159u - n) << 23u);
}

fn te_f32_i64(x: vec2<u32>) -> f32 {
    if (x.y >= 0x80000000u) { return -te_f32_u64(te_neg_i64(x)); }
    return te_f32_u64(x);
}

// 16-bit floats are kept as their bits.

fn te_of_bf16(x: u32) -> f32 { return bitcast<f32>(x << 16u); }

fn te_to_bf16(x: f32) -> u32 {
    let u = bitcast<u32>(x);
    if (te_nan(x)) { return (u >> 16u) | 0x40u; }
    return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}

fn te_of_f16(x: u32) -> f32 {
    let body = x & 0x7fffu;
    var u = (body << 13u) + 0x38000000u;
    if (body >= 0x7c00u) { u = 0x7f800000u | (body << 13u); }
    if (body < 0x0400u) { u = bitcast<u32>(f32(body) * 5.9604644775390625e-8); }
    return bitcast<f32>(u | ((x & 0x8000u) << 16u));
}

fn te_to_f16(x: f32) -> u32 {
    let u = bitcast<u32>(x);
    let a = u & 0x7fffffffu;
    let sign = (u >> 16u) & 0x8000u;
    if (a > 0x7f800000u) { return sign | 0x7e00u; }
    if (a >= 0x477ff000u) { return sign | 0x7c00u; }
    if (a >= 0x38800000u) { return sign | (((a - 0x38000000u) + 0xfffu + ((a >> 13u) & 1u)) >> 13u); }
    if (a < 0x33000000u) { return sign; }
    let m = (a & 0x7fffffu) | 0x800000u;
    let s = 126u - (a >> 23u);
    let r = m >> s;
    let rest = m & ((1u << s) - 1u);
    let middle = 1u << (s - 1u);
    return sign | (r + select(0u, 1u, rest > middle || (rest == middle && (r & 1u) == 1u)));
}

// Parts of words, as elements of an array.

fn te_unpack_u8(word: u32, n: i32) -> u32 { return (word >> (u32(n & 3) * 8u)) & 0xffu; }

fn te_unpack_u16(word: u32, n: i32) -> u32 { return (word >> (u32(n & 1) * 16u)) & 0xffffu; }

fn te_unpack_i8(word: u32, n: i32) -> i32 { return i32(word << (24u - u32(n & 3) * 8u)) >> 24u; }

fn te_unpack_i16(word: u32, n: i32) -> i32 { return i32(word << (16u - u32(n & 1) * 16u)) >> 16u; }

// Integers: division and remainder round down and give 0 for a divisor of 0; shifts count modulo the width; all wrap.

fn te_idiv_i32(a: i32, b: i32) -> i32 {
    if (b == 0) { return 0; }
    if (b == -1) { return 0 - a; }
    let q = a / b;
    return q - select(0, 1, q * b != a && ((a < 0) != (b < 0)));
}

fn te_imod_i32(a: i32, b: i32) -> i32 {
    if (b == 0 || b == -1) { return 0; }
    let r = a - (a / b) * b;
    return r + select(0, b, r != 0 && ((r < 0) != (b < 0)));
}

fn te_idiv_u32(a: u32, b: u32) -> u32 {
    if (b == 0u) { return 0u; }
    return a / b;
}

fn te_imod_u32(a: u32, b: u32) -> u32 {
    if (b == 0u) { return 0u; }
    return a - (a / b) * b;
}

// Integers of 64 bits.

fn te_i64_i32(x: i32) -> vec2<u32> { return vec2<u32>(u32(x), u32(x >> 31u)); }

fn te_i64_u32(x: u32) -> vec2<u32> { return vec2<u32>(x, 0u); }

fn te_i64_bool(x: bool) -> vec2<u32> { return vec2<u32>(select(0u, 1u, x), 0u); }

fn te_nonzero_i64(x: vec2<u32>) -> bool { return (x.x | x.y) != 0u; }

fn te_add_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn te_neg_i64(a: vec2<u32>) -> vec2<u32> {
    let low = 0u - a.x;
    return vec2<u32>(low, 0u - a.y - select(0u, 1u, low != 0u));
}

fn te_mul_u32(a: u32, b: u32) -> vec2<u32> {
    let p = (a & 0xffffu) * (b & 0xffffu);
    let q = (a & 0xffffu) * (b >> 16u);
    let r = (a >> 16u) * (b & 0xffffu);
    let m = (p >> 16u) + (q & 0xffffu) + (r & 0xffffu);
    return vec2<u32>((p & 0xffffu) | (m << 16u), (a >> 16u) * (b >> 16u) + (q >> 16u) + (r >> 16u) + (m >> 16u));
}

fn te_mul_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let p = te_mul_u32(a.x, b.x);
    return vec2<u32>(p.x, p.y + a.x * b.y + a.y * b.x);
}

fn te_eq_i64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x == b.x && a.y == b.y; }

fn te_lt_u64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }

fn te_lt_i64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return te_lt_u64(vec2<u32>(a.x, a.y ^ 0x80000000u), vec2<u32>(b.x, b.y ^ 0x80000000u));
}

fn te_choose(yes: vec2<u32>, no: vec2<u32>, c: bool) -> vec2<u32> {
    if (c) { return yes; }
    return no;
}

fn te_max_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return te_choose(b, a, te_lt_u64(a, b)); }

fn te_min_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return te_choose(a, b, te_lt_u64(a, b)); }

fn te_max_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return te_choose(b, a, te_lt_i64(a, b)); }

fn te_min_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return te_choose(a, b, te_lt_i64(a, b)); }

fn te_shl_u64(a: vec2<u32>, count: u32) -> vec2<u32> {
    let n = count & 63u;
    if (n == 0u) { return a; }
    if (n >= 32u) { return vec2<u32>(0u, a.x << (n - 32u)); }
    return vec2<u32>(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}

fn te_shr_u64(a: vec2<u32>, count: u32) -> vec2<u32> {
    let n = count & 63u;
    if (n == 0u) { return a; }
    if (n >= 32u) { return vec2<u32>(a.y >> (n - 32u), 0u); }
    return vec2<u32>((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}

fn te_shr_i64(a: vec2<u32>, count: u32) -> vec2<u32> {
    if (a.y < 0x80000000u) { return te_shr_u64(a, count); }
    return ~te_shr_u64(~a, count);
}

fn te_divided(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
    var q = vec2<u32>(0u, 0u);
    var r = vec2<u32>(0u, 0u);
    for (var n = 63; n >= 0; n--) {
        r = te_shl_u64(r, 1u);
        r.x = r.x | (te_shr_u64(a, u32(n)).x & 1u);
        q = te_shl_u64(q, 1u);
        if (!te_lt_u64(r, b)) {
            r = te_add_i64(r, te_neg_i64(b));
            q.x = q.x | 1u;
        }
    }
    return vec4<u32>(q.x, q.y, r.x, r.y);
}

fn te_idiv_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if ((b.x | b.y) == 0u) { return vec2<u32>(0u, 0u); }
    return te_divided(a, b).xy;
}

fn te_imod_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if ((b.x | b.y) == 0u) { return vec2<u32>(0u, 0u); }
    return te_divided(a, b).zw;
}

fn te_abs_i64(a: vec2<u32>) -> vec2<u32> { return te_choose(te_neg_i64(a), a, a.y >= 0x80000000u); }

fn te_idiv_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if ((b.x | b.y) == 0u) { return vec2<u32>(0u, 0u); }
    let d = te_divided(te_abs_i64(a), te_abs_i64(b));
    if (((a.y ^ b.y) & 0x80000000u) == 0u) { return d.xy; }
    let more = te_add_i64(d.xy, vec2<u32>(select(0u, 1u, (d.z | d.w) != 0u), 0u));
    return te_neg_i64(more);
}

fn te_imod_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    if ((b.x | b.y) == 0u) {
        return vec2<u32>(0u, 0u);
    }
    return te_add_i64(a, te_neg_i64(te_mul_i64(te_idiv_i64(a, b), b)));
}

// Values of other lanes of a group of 32, which take every exchange together.

fn te_shuffle_u32(x: u32, mask: i32) -> u32 {
    te_lanes[te_lane] = x;
    workgroupBarrier();
    let y = te_lanes[te_lane ^ u32(mask)];
    workgroupBarrier();
    return y;
}

fn te_shuffle_i32(x: i32, mask: i32) -> i32 { return i32(te_shuffle_u32(u32(x), mask)); }

fn te_shuffle_f32(x: f32, mask: i32) -> f32 { return bitcast<f32>(te_shuffle_u32(bitcast<u32>(x), mask)); }

fn te_shuffle_i64(x: vec2<u32>, mask: i32) -> vec2<u32> {
    return vec2<u32>(te_shuffle_u32(x.x, mask), te_shuffle_u32(x.y, mask));
}
