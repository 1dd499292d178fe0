fn te_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn te_eq_f32(a: f32, b: f32) -> bool { return !te_nan(a) && !te_nan(b) && a == b; }

fn te_f32(bits: u32) -> f32 { return bitcast<f32>(bits); }

fn te_i64_i32(x: i32) -> vec2<u32> { return vec2<u32>(u32(x), u32(x >> 31u)); }

fn te_lt_f32(a: f32, b: f32) -> bool { return !te_nan(a) && !te_nan(b) && a < b; }

fn te_lt_u64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }

fn te_lt_i64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return te_lt_u64(vec2<u32>(a.x, a.y ^ 0x80000000u), vec2<u32>(b.x, b.y ^ 0x80000000u));
}

@group(0) @binding(0) var<storage, read> Q: array<f32>;
@group(0) @binding(1) var<storage, read> K: array<f32>;
@group(0) @binding(2) var<storage, read_write> place: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> best: array<f32>;
var<private> te_lane: u32;

// place[i0, i4] = select(i4 <= 0, top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf, 9223372036854775807,
//     -inf, 9223372036854775807, -inf, 9223372036854775807).position0, select(i4 <= 1,
//     top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf, 9223372036854775807, -inf, 9223372036854775807,
//     -inf, 9223372036854775807).position1, select(i4 <= 2, top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1,
//     -inf, 9223372036854775807, -inf, 9223372036854775807, -inf, 9223372036854775807).position2,
//     top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf, 9223372036854775807, -inf, 9223372036854775807,
//     -inf, 9223372036854775807).position3)))
// best[i0, i3] = select(i3 <= 0, top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf, 9223372036854775807,
//     -inf, 9223372036854775807, -inf, 9223372036854775807).value0, select(i3 <= 1, top_k[4][i1](sum[i2](Q[i0,
//     i2] * K[i1, i2]), i1, -inf, 9223372036854775807, -inf, 9223372036854775807, -inf,
//     9223372036854775807).value1, select(i3 <= 2, top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf,
//     9223372036854775807, -inf, 9223372036854775807, -inf, 9223372036854775807).value2,
//     top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf, 9223372036854775807, -inf, 9223372036854775807,
//     -inf, 9223372036854775807).value3)))
// schedule: point grid=i0
@compute @workgroup_size(64)
fn k0_place(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 64 + i32(te_local);
    let te_size = te_blocks * 64;
    for (var point: i32 = 0 + 1 * te_place; point < 3; point += 1 * te_size) {
        let i0: i32 = point;
        var value0: array<f32, 1>;
        value0[0] = te_f32(0xff800000u);
        var position0: array<vec2<u32>, 1>;
        position0[0] = vec2<u32>(4294967295u, 2147483647u);
        var value1: array<f32, 1>;
        value1[0] = te_f32(0xff800000u);
        var position1: array<vec2<u32>, 1>;
        position1[0] = vec2<u32>(4294967295u, 2147483647u);
        var value2: array<f32, 1>;
        value2[0] = te_f32(0xff800000u);
        var position2: array<vec2<u32>, 1>;
        position2[0] = vec2<u32>(4294967295u, 2147483647u);
        var value3: array<f32, 1>;
        value3[0] = te_f32(0xff800000u);
        var position3: array<vec2<u32>, 1>;
        position3[0] = vec2<u32>(4294967295u, 2147483647u);
        for (var i1: i32 = 0; i1 < 7; i1++) {
            var acc: array<f32, 1>;
            acc[0] = 0.0;
            for (var i2: i32 = 0; i2 < 5; i2++) {
                acc[0] = (acc[0] + (Q[5*i0 + i2] * K[5*i1 + i2]));
            }
            let t: f32 = value0[0];
            let t_1: vec2<u32> = position0[0];
            let t_2: bool = (te_lt_f32(acc[0], t) || (te_eq_f32(t, acc[0]) && (!te_lt_i64(te_i64_i32(i1), t_1))));
            let t_3: f32 = value1[0];
            let t_4: vec2<u32> = position1[0];
            let t_5: bool = (te_lt_f32(te_f32(0xff800000u), t_3) || (te_eq_f32(t_3, te_f32(0xff800000u)) && (!te_lt_i64(vec2<u32>(4294967295u, 2147483647u), t_4))));
            let t_6: f32 = select(te_f32(0xff800000u), t_3, t_5);
            let t_7: f32 = select(t, acc[0], t_2);
            let t_8: vec2<u32> = select(t_1, te_i64_i32(i1), t_2);
            let t_9: vec2<u32> = select(vec2<u32>(4294967295u, 2147483647u), t_4, t_5);
            let t_10: bool = (te_lt_f32(t_6, t_7) || (te_eq_f32(t_7, t_6) && (!te_lt_i64(t_9, t_8))));
            let t_11: f32 = value2[0];
            let t_12: vec2<u32> = position2[0];
            let t_13: bool = (te_lt_f32(te_f32(0xff800000u), t_11) || (te_eq_f32(t_11, te_f32(0xff800000u)) && (!te_lt_i64(vec2<u32>(4294967295u, 2147483647u), t_12))));
            let t_14: f32 = select(te_f32(0xff800000u), t_11, t_13);
            let t_15: bool = (te_lt_f32(te_f32(0xff800000u), t) || (te_eq_f32(t, te_f32(0xff800000u)) && (!te_lt_i64(vec2<u32>(4294967295u, 2147483647u), t_1))));
            let t_16: f32 = select(t, te_f32(0xff800000u), t_15);
            let t_17: vec2<u32> = select(t_1, vec2<u32>(4294967295u, 2147483647u), t_15);
            let t_18: vec2<u32> = select(vec2<u32>(4294967295u, 2147483647u), t_12, t_13);
            let t_19: bool = (te_lt_f32(t_14, t_16) || (te_eq_f32(t_16, t_14) && (!te_lt_i64(t_18, t_17))));
            let t_20: f32 = select(t_14, t_16, t_19);
            let t_21: bool = (te_lt_f32(acc[0], t_3) || (te_eq_f32(t_3, acc[0]) && (!te_lt_i64(te_i64_i32(i1), t_4))));
            let t_22: f32 = select(t_3, acc[0], t_21);
            let t_23: vec2<u32> = select(t_4, te_i64_i32(i1), t_21);
            let t_24: vec2<u32> = select(t_18, t_17, t_19);
            let t_25: bool = (te_lt_f32(t_20, t_22) || (te_eq_f32(t_22, t_20) && (!te_lt_i64(t_24, t_23))));
            let t_26: f32 = value3[0];
            let t_27: vec2<u32> = position3[0];
            let t_28: bool = (te_lt_f32(te_f32(0xff800000u), t_26) || (te_eq_f32(t_26, te_f32(0xff800000u)) && (!te_lt_i64(vec2<u32>(4294967295u, 2147483647u), t_27))));
            let t_29: f32 = select(te_f32(0xff800000u), t_26, t_28);
            let t_30: vec2<u32> = select(vec2<u32>(4294967295u, 2147483647u), t_27, t_28);
            let t_31: bool = (te_lt_f32(t_29, t_16) || (te_eq_f32(t_16, t_29) && (!te_lt_i64(t_30, t_17))));
            let t_32: f32 = select(t_29, t_16, t_31);
            let t_33: f32 = select(t_3, te_f32(0xff800000u), t_5);
            let t_34: vec2<u32> = select(t_4, vec2<u32>(4294967295u, 2147483647u), t_5);
            let t_35: vec2<u32> = select(t_30, t_17, t_31);
            let t_36: bool = (te_lt_f32(t_32, t_33) || (te_eq_f32(t_33, t_32) && (!te_lt_i64(t_35, t_34))));
            let t_37: f32 = select(t_32, t_33, t_36);
            let t_38: bool = (te_lt_f32(acc[0], t_11) || (te_eq_f32(t_11, acc[0]) && (!te_lt_i64(te_i64_i32(i1), t_12))));
            let t_39: f32 = select(t_11, acc[0], t_38);
            let t_40: vec2<u32> = select(t_12, te_i64_i32(i1), t_38);
            let t_41: vec2<u32> = select(t_35, t_34, t_36);
            let t_42: bool = (te_lt_f32(t_37, t_39) || (te_eq_f32(t_39, t_37) && (!te_lt_i64(t_41, t_40))));
            let t_43: f32 = select(acc[0], t, t_2);
            let t_44: vec2<u32> = select(te_i64_i32(i1), t_1, t_2);
            let t_45: f32 = select(t_6, t_7, t_10);
            let t_46: vec2<u32> = select(t_9, t_8, t_10);
            let t_47: f32 = select(t_20, t_22, t_25);
            let t_48: vec2<u32> = select(t_24, t_23, t_25);
            let t_49: f32 = select(t_37, t_39, t_42);
            let t_50: vec2<u32> = select(t_41, t_40, t_42);
            value0[0] = t_43;
            position0[0] = t_44;
            value1[0] = t_45;
            position1[0] = t_46;
            value2[0] = t_47;
            position2[0] = t_48;
            value3[0] = t_49;
            position3[0] = t_50;
        }
        for (var i4: i32 = 0; i4 < 4; i4++) {
            place[4*i0 + i4] = select(select(select(position3[0], position2[0], (0 <= (-i4 + 2))), position1[0], (0 <= (-i4 + 1))), position0[0], (0 <= -i4));
        }
        for (var i3: i32 = 0; i3 < 4; i3++) {
            best[4*i0 + i3] = select(select(select(value3[0], value2[0], (0 <= (-i3 + 2))), value1[0], (0 <= (-i3 + 1))), value0[0], (0 <= -i3));
        }
    }
}
