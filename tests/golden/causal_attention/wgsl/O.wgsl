fn te_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn te_eq_f32(a: f32, b: f32) -> bool { return !te_nan(a) && !te_nan(b) && a == b; }

fn te_f32(bits: u32) -> f32 { return bitcast<f32>(bits); }

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

fn te_max_f32(a: f32, b: f32) -> f32 {
    if (te_nan(a)) { return a; }
    if (te_nan(b)) { return b; }
    return select(b, a, a > b);
}

@group(0) @binding(0) var<storage, read> Q: array<f32>;
@group(0) @binding(1) var<storage, read> K: array<f32>;
@group(0) @binding(2) var<storage, read> V: array<f32>;
@group(0) @binding(3) var<storage, read_write> O: array<f32>;
var<private> te_lane: u32;

// O[i0, i1, i2, i5] = recip(pass[i3](sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25, exp(sum[i4](Q[i0,
//     i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 + statistic("at")), exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3,
//     i4]) * 0.25 + statistic("at")) * V[i0, i1, i3, i5], where=i3 <= i2).c1) * pass[i3](sum[i4](Q[i0, i1, i2,
//     i4] * K[i0, i1, i3, i4]) * 0.25, exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 +
//     statistic("at")), exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 + statistic("at")) * V[i0, i1,
//     i3, i5], where=i3 <= i2).c2
// schedule: point tile=i5:* grid=i0,i1,i2
@compute @workgroup_size(64)
fn k0_O(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 64 + i32(te_local);
    let te_size = te_blocks * 64;
    for (var point: i32 = 0 + 1 * te_place; point < 76; point += 1 * te_size) {
        let i2: i32 = (point % 19);
        let i1: i32 = ((point / 19) % 2);
        let i0: i32 = (point / 38);
        var c0: array<f32, 1>;
        c0[0] = te_f32(0xff800000u);
        var c1: array<f32, 1>;
        c1[0] = 0.0;
        var c2: array<f32, 16>;
        for (var i5_e: i32 = 0; i5_e < 16; i5_e++) {
            c2[i5_e] = 0.0;
        }
        let i3_hi: i32 = min(19, (i2 + 1));
        for (var i3: i32 = 0; i3 < i3_hi; i3++) {
            var acc: array<f32, 1>;
            acc[0] = 0.0;
            for (var i4: i32 = 0; i4 < 16; i4++) {
                acc[0] = (acc[0] + (Q[608*i0 + 304*i1 + 16*i2 + i4] * K[608*i0 + 304*i1 + 16*i3 + i4]));
            }
            var c0_new: array<f32, 1>;
            c0_new[0] = te_max_f32(c0[0], (acc[0] * 0.25));
            let t: f32 = c0[0];
            let t_1: f32 = (-t);
            let t_2: f32 = (-c0_new[0]);
            let t_3: f32 = c1[0];
            c1[0] = select(select((te_exp_f32((t_2 + (-t_1))) * t_3), 0.0, te_eq_f32(t, te_f32(0xff800000u))), t_3, te_eq_f32(t_1, t_2));
            let t_4: bool = te_eq_f32(t_1, t_2);
            let t_6: bool = te_eq_f32(t, te_f32(0xff800000u));
            let t_7: f32 = te_exp_f32((t_2 + (-t_1)));
            for (var i5_e_1: i32 = 0; i5_e_1 < 16; i5_e_1++) {
                let t_5: f32 = c2[i5_e_1];
                c2[i5_e_1] = select(select((t_7 * t_5), 0.0, t_6), t_5, t_4);
            }
            c1[0] = (c1[0] + te_exp_f32(((acc[0] * 0.25) + t_2)));
            let t_8: f32 = te_exp_f32(((acc[0] * 0.25) + t_2));
            for (var i5_e_2: i32 = 0; i5_e_2 < 16; i5_e_2++) {
                c2[i5_e_2] = (c2[i5_e_2] + (t_8 * V[608*i0 + 304*i1 + 16*i3 + i5_e_2]));
            }
            c0[0] = c0_new[0];
        }
        let t_9: f32 = (1.0 / c1[0]);
        for (var i5_e_3: i32 = 0; i5_e_3 < 16; i5_e_3++) {
            O[608*i0 + 304*i1 + 16*i2 + i5_e_3] = (t_9 * c2[i5_e_3]);
        }
    }
}
