#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { int key[]; };
layout(std430, set = 0, binding = 1) readonly buffer te_b1 { float X[]; };
layout(std430, set = 0, binding = 2) buffer te_b2 { float Y[]; };
uint te_lane;

uvec2 te_add_i64(uvec2 a, uvec2 b) {
    uint low = a.x + b.x;
    return uvec2(low, a.y + b.y + ((low < a.x) ? 1u : 0u));
}

uvec2 te_i64_i32(int x) { return uvec2(uint(x), uint(x >> 31u)); }

bool te_lt_u64(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

bool te_lt_i64(uvec2 a, uvec2 b) {
    return te_lt_u64(uvec2(a.x, a.y ^ 0x80000000u), uvec2(b.x, b.y ^ 0x80000000u));
}

uvec2 te_choose(uvec2 yes, uvec2 no, bool c) {
    if (c) { return yes; }
    return no;
}

uvec2 te_max_i64(uvec2 a, uvec2 b) { return te_choose(b, a, te_lt_i64(a, b)); }

uvec2 te_min_i64(uvec2 a, uvec2 b) { return te_choose(a, b, te_lt_i64(a, b)); }

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

uvec2 te_neg_i64(uvec2 a) {
    uint low = 0u - a.x;
    return uvec2(low, 0u - a.y - ((low != 0u) ? 1u : 0u));
}

uvec2 te_shl_u64(uvec2 a, uint count) {
    uint n = count & 63u;
    if (n == 0u) { return a; }
    if (n >= 32u) { return uvec2(0u, a.x << (n - 32u)); }
    return uvec2(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}

// Y[i0, i2] = sum[i1](X[i1, i2], where=(sum[i3](1, where=cast(key[i3], i64) < i0) <= i1, i1 < sum[i3](1,
//     where=cast(key[i3], i64) <= i0)))
// schedule: point grid=i0
void main() {
    int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    te_lane = gl_LocalInvocationIndex;
    int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);
    int te_group = 0;
    int te_thread = int(te_lane % 128u);
    int te_place = te_block * 64 + int(te_lane);
    int te_size = te_blocks * 64;
    for (int point = 0 + 1 * te_place; point < 4; point += 1 * te_size) {
        int i0 = point;
        uvec2 acc_1[1];
        acc_1[0] = uvec2(0u, 0u);
        uvec2 i3_count[1];
        i3_count[0] = uvec2(0u, 0u);
        for (int i3_step = 0; i3_step < 4; i3_step++) {
            uvec2 i3_probe = te_add_i64(i3_count[0], te_shl_u64(uvec2(1u, 0u), te_add_i64(uvec2(3u, 0u), te_mul_i64(uvec2(4294967295u, 4294967295u), te_i64_i32(i3_step))).x));
            if (!te_lt_i64(te_i64_i32((11)), i3_probe)) {
                uvec2 i3_last = te_add_i64(i3_probe, uvec2(4294967295u, 4294967295u));
                if (te_lt_i64(te_i64_i32(key[int(i3_last.x)]), te_i64_i32(i0))) {
                    i3_count[0] = i3_probe;
                }
            }
        }
        uvec2 i3_hi = te_max_i64(te_min_i64(uvec2(11u, 0u), i3_count[0]), uvec2(0u, 0u));
        acc_1[0] = te_add_i64(acc_1[0], te_add_i64(i3_hi, te_neg_i64(uvec2(0u, 0u))));
        uvec2 acc_2[1];
        acc_2[0] = uvec2(0u, 0u);
        uvec2 i3_count_1[1];
        i3_count_1[0] = uvec2(0u, 0u);
        for (int i3_step_1 = 0; i3_step_1 < 4; i3_step_1++) {
            uvec2 i3_probe_1 = te_add_i64(i3_count_1[0], te_shl_u64(uvec2(1u, 0u), te_add_i64(uvec2(3u, 0u), te_mul_i64(uvec2(4294967295u, 4294967295u), te_i64_i32(i3_step_1))).x));
            if (!te_lt_i64(te_i64_i32((11)), i3_probe_1)) {
                uvec2 i3_last_1 = te_add_i64(i3_probe_1, uvec2(4294967295u, 4294967295u));
                if (!te_lt_i64(te_i64_i32(i0), te_i64_i32(key[int(i3_last_1.x)]))) {
                    i3_count_1[0] = i3_probe_1;
                }
            }
        }
        uvec2 i3_hi_1 = te_max_i64(te_min_i64(uvec2(11u, 0u), i3_count_1[0]), uvec2(0u, 0u));
        acc_2[0] = te_add_i64(acc_2[0], te_add_i64(i3_hi_1, te_neg_i64(uvec2(0u, 0u))));
        for (int i2 = 0; i2 < 3; i2++) {
            float acc[1];
            acc[0] = 0.0;
            uvec2 i1_lo = te_max_i64(uvec2(0u, 0u), te_min_i64(te_max_i64(acc_1[0], uvec2(0u, 0u)), uvec2(11u, 0u)));
            uvec2 i1_hi = te_max_i64(te_min_i64(uvec2(11u, 0u), te_min_i64(te_max_i64(acc_2[0], uvec2(0u, 0u)), uvec2(11u, 0u))), i1_lo);
            for (int i1 = int(i1_lo.x); i1 < int(i1_hi.x); i1++) {
                acc[0] = (acc[0] + X[3*i1 + i2]);
            }
            Y[3*i0 + i2] = acc[0];
        }
    }
}
