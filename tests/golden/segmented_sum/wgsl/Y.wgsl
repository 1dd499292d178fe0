fn te_add_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn te_i64_i32(x: i32) -> vec2<u32> { return vec2<u32>(u32(x), u32(x >> 31u)); }

fn te_lt_u64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }

fn te_lt_i64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return te_lt_u64(vec2<u32>(a.x, a.y ^ 0x80000000u), vec2<u32>(b.x, b.y ^ 0x80000000u));
}

fn te_choose(yes: vec2<u32>, no: vec2<u32>, c: bool) -> vec2<u32> {
    if (c) { return yes; }
    return no;
}

fn te_max_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return te_choose(b, a, te_lt_i64(a, b)); }

fn te_min_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return te_choose(a, b, te_lt_i64(a, b)); }

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

fn te_neg_i64(a: vec2<u32>) -> vec2<u32> {
    let low = 0u - a.x;
    return vec2<u32>(low, 0u - a.y - select(0u, 1u, low != 0u));
}

fn te_shl_u64(a: vec2<u32>, count: u32) -> vec2<u32> {
    let n = count & 63u;
    if (n == 0u) { return a; }
    if (n >= 32u) { return vec2<u32>(0u, a.x << (n - 32u)); }
    return vec2<u32>(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}

@group(0) @binding(0) var<storage, read> key: array<i32>;
@group(0) @binding(1) var<storage, read> X: array<f32>;
@group(0) @binding(2) var<storage, read_write> Y: array<f32>;
var<private> te_lane: u32;

// Y[i0, i2] = sum[i1](X[i1, i2], where=(sum[i3](1, where=cast(key[i3], i64) < i0) <= i1, i1 < sum[i3](1,
//     where=cast(key[i3], i64) <= i0)))
// schedule: point grid=i0
@compute @workgroup_size(64)
fn k0_Y(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 64 + i32(te_local);
    let te_size = te_blocks * 64;
    for (var point: i32 = 0 + 1 * te_place; point < 4; point += 1 * te_size) {
        let i0: i32 = point;
        var acc_1: array<vec2<u32>, 1>;
        acc_1[0] = vec2<u32>(0u, 0u);
        var i3_count: array<vec2<u32>, 1>;
        i3_count[0] = vec2<u32>(0u, 0u);
        for (var i3_step: i32 = 0; i3_step < 4; i3_step++) {
            let i3_probe: vec2<u32> = te_add_i64(i3_count[0], te_shl_u64(vec2<u32>(1u, 0u), te_add_i64(vec2<u32>(3u, 0u), te_mul_i64(vec2<u32>(4294967295u, 4294967295u), te_i64_i32(i3_step))).x));
            if (!te_lt_i64(te_i64_i32((11)), i3_probe)) {
                let i3_last: vec2<u32> = te_add_i64(i3_probe, vec2<u32>(4294967295u, 4294967295u));
                if (te_lt_i64(te_i64_i32(key[i32(i3_last.x)]), te_i64_i32(i0))) {
                    i3_count[0] = i3_probe;
                }
            }
        }
        let i3_hi: vec2<u32> = te_max_i64(te_min_i64(vec2<u32>(11u, 0u), i3_count[0]), vec2<u32>(0u, 0u));
        acc_1[0] = te_add_i64(acc_1[0], te_add_i64(i3_hi, te_neg_i64(vec2<u32>(0u, 0u))));
        var acc_2: array<vec2<u32>, 1>;
        acc_2[0] = vec2<u32>(0u, 0u);
        var i3_count_1: array<vec2<u32>, 1>;
        i3_count_1[0] = vec2<u32>(0u, 0u);
        for (var i3_step_1: i32 = 0; i3_step_1 < 4; i3_step_1++) {
            let i3_probe_1: vec2<u32> = te_add_i64(i3_count_1[0], te_shl_u64(vec2<u32>(1u, 0u), te_add_i64(vec2<u32>(3u, 0u), te_mul_i64(vec2<u32>(4294967295u, 4294967295u), te_i64_i32(i3_step_1))).x));
            if (!te_lt_i64(te_i64_i32((11)), i3_probe_1)) {
                let i3_last_1: vec2<u32> = te_add_i64(i3_probe_1, vec2<u32>(4294967295u, 4294967295u));
                if (!te_lt_i64(te_i64_i32(i0), te_i64_i32(key[i32(i3_last_1.x)]))) {
                    i3_count_1[0] = i3_probe_1;
                }
            }
        }
        let i3_hi_1: vec2<u32> = te_max_i64(te_min_i64(vec2<u32>(11u, 0u), i3_count_1[0]), vec2<u32>(0u, 0u));
        acc_2[0] = te_add_i64(acc_2[0], te_add_i64(i3_hi_1, te_neg_i64(vec2<u32>(0u, 0u))));
        for (var i2: i32 = 0; i2 < 3; i2++) {
            var acc: array<f32, 1>;
            acc[0] = 0.0;
            let i1_lo: vec2<u32> = te_max_i64(vec2<u32>(0u, 0u), te_min_i64(te_max_i64(acc_1[0], vec2<u32>(0u, 0u)), vec2<u32>(11u, 0u)));
            let i1_hi: vec2<u32> = te_max_i64(te_min_i64(vec2<u32>(11u, 0u), te_min_i64(te_max_i64(acc_2[0], vec2<u32>(0u, 0u)), vec2<u32>(11u, 0u))), i1_lo);
            for (var i1: i32 = i32(i1_lo.x); i1 < i32(i1_hi.x); i1++) {
                acc[0] = (acc[0] + X[3*i1 + i2]);
            }
            Y[3*i0 + i2] = acc[0];
        }
    }
}
