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

fn te_of_bf16(x: u32) -> f32 { return bitcast<f32>(x << 16u); }

fn te_shuffle_u32(x: u32, mask: i32) -> u32 {
    te_lanes[te_lane] = x;
    workgroupBarrier();
    let y = te_lanes[te_lane ^ u32(mask)];
    workgroupBarrier();
    return y;
}

fn te_shuffle_f32(x: f32, mask: i32) -> f32 { return bitcast<f32>(te_shuffle_u32(bitcast<u32>(x), mask)); }

fn te_to_bf16(x: f32) -> u32 {
    let u = bitcast<u32>(x);
    if (te_nan(x)) { return (u >> 16u) | 0x40u; }
    return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}

fn te_unpack_u16(word: u32, n: i32) -> u32 { return (word >> (u32(n & 1) * 16u)) & 0xffffu; }

@group(0) @binding(0) var<storage, read> X: array<u32>;
@group(0) @binding(1) var<storage, read_write> P: array<atomic<u32>>;
var<private> te_lane: u32;
var<workgroup> te_lanes: array<u32, 32>;

// P[i0, i1] = exp(X[i0, i1] - pass[i1](X[i0, i1], exp(X[i0, i1] + statistic("at"))).c0) / pass[i1](X[i0, i1],
//     exp(X[i0, i1] + statistic("at"))).c1
// schedule: split fold=i1:warp grid=i0 warp=i1
@compute @workgroup_size(32)
fn k0_P(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 32 + i32(te_local);
    let te_size = te_blocks * 32;
    let lane: i32 = (te_thread % 32);
    let warp: i32 = 0;
    let row: i32 = (te_block + 4*te_group + warp);
    if (row < 64) {
        let i0: i32 = row;
        var c0: array<f32, 1>;
        c0[0] = te_f32(0xff800000u);
        var c1: array<f32, 1>;
        c1[0] = 0.0;
        for (var i1_1: i32 = lane; i1_1 < 96; i1_1 += 32) {
            var c0_new: array<f32, 1>;
            c0_new[0] = te_max_f32(c0[0], te_of_bf16(te_unpack_u16(X[((96*i0 + i1_1) / 2)], (96*i0 + i1_1))));
            let t: f32 = c0[0];
            let t_1: f32 = (-t);
            let t_2: f32 = (-c0_new[0]);
            let t_3: f32 = c1[0];
            c1[0] = select(select((te_exp_f32((t_2 + (-t_1))) * t_3), 0.0, te_eq_f32(t, te_f32(0xff800000u))), t_3, te_eq_f32(t_1, t_2));
            c1[0] = (c1[0] + te_exp_f32((te_of_bf16(te_unpack_u16(X[((96*i0 + i1_1) / 2)], (96*i0 + i1_1))) + t_2)));
            c0[0] = c0_new[0];
        }
        let t_4: bool = ((lane % 32) < 16);
        var c0_upper: array<f32, 1>;
        let t_5: f32 = c0[0];
        let t_6: f32 = te_shuffle_f32(t_5, 16);
        c0[0] = select(t_6, t_5, t_4);
        c0_upper[0] = select(t_5, t_6, t_4);
        var c1_upper: array<f32, 1>;
        let t_7: f32 = c1[0];
        let t_8: f32 = te_shuffle_f32(t_7, 16);
        c1[0] = select(t_8, t_7, t_4);
        c1_upper[0] = select(t_7, t_8, t_4);
        let t_9: f32 = c0[0];
        let t_10: f32 = c0_upper[0];
        let t_11: f32 = te_max_f32(t_9, t_10);
        let t_12: f32 = (-t_9);
        let t_13: f32 = (-t_11);
        let t_14: f32 = c1[0];
        let t_15: f32 = (-t_10);
        let t_16: f32 = c1_upper[0];
        let t_17: f32 = (select(select((te_exp_f32((t_13 + (-t_12))) * t_14), 0.0, te_eq_f32(t_9, te_f32(0xff800000u))), t_14, te_eq_f32(t_12, t_13)) + select(select((te_exp_f32((t_13 + (-t_15))) * t_16), 0.0, te_eq_f32(t_10, te_f32(0xff800000u))), t_16, te_eq_f32(t_15, t_13)));
        c0[0] = t_11;
        c1[0] = t_17;
        let t_18: bool = ((lane % 16) < 8);
        var c0_upper_1: array<f32, 1>;
        let t_19: f32 = c0[0];
        let t_20: f32 = te_shuffle_f32(t_19, 8);
        c0[0] = select(t_20, t_19, t_18);
        c0_upper_1[0] = select(t_19, t_20, t_18);
        var c1_upper_1: array<f32, 1>;
        let t_21: f32 = c1[0];
        let t_22: f32 = te_shuffle_f32(t_21, 8);
        c1[0] = select(t_22, t_21, t_18);
        c1_upper_1[0] = select(t_21, t_22, t_18);
        let t_23: f32 = c0[0];
        let t_24: f32 = c0_upper_1[0];
        let t_25: f32 = te_max_f32(t_23, t_24);
        let t_26: f32 = (-t_23);
        let t_27: f32 = (-t_25);
        let t_28: f32 = c1[0];
        let t_29: f32 = (-t_24);
        let t_30: f32 = c1_upper_1[0];
        let t_31: f32 = (select(select((te_exp_f32((t_27 + (-t_26))) * t_28), 0.0, te_eq_f32(t_23, te_f32(0xff800000u))), t_28, te_eq_f32(t_26, t_27)) + select(select((te_exp_f32((t_27 + (-t_29))) * t_30), 0.0, te_eq_f32(t_24, te_f32(0xff800000u))), t_30, te_eq_f32(t_29, t_27)));
        c0[0] = t_25;
        c1[0] = t_31;
        let t_32: bool = ((lane % 8) < 4);
        var c0_upper_2: array<f32, 1>;
        let t_33: f32 = c0[0];
        let t_34: f32 = te_shuffle_f32(t_33, 4);
        c0[0] = select(t_34, t_33, t_32);
        c0_upper_2[0] = select(t_33, t_34, t_32);
        var c1_upper_2: array<f32, 1>;
        let t_35: f32 = c1[0];
        let t_36: f32 = te_shuffle_f32(t_35, 4);
        c1[0] = select(t_36, t_35, t_32);
        c1_upper_2[0] = select(t_35, t_36, t_32);
        let t_37: f32 = c0[0];
        let t_38: f32 = c0_upper_2[0];
        let t_39: f32 = te_max_f32(t_37, t_38);
        let t_40: f32 = (-t_37);
        let t_41: f32 = (-t_39);
        let t_42: f32 = c1[0];
        let t_43: f32 = (-t_38);
        let t_44: f32 = c1_upper_2[0];
        let t_45: f32 = (select(select((te_exp_f32((t_41 + (-t_40))) * t_42), 0.0, te_eq_f32(t_37, te_f32(0xff800000u))), t_42, te_eq_f32(t_40, t_41)) + select(select((te_exp_f32((t_41 + (-t_43))) * t_44), 0.0, te_eq_f32(t_38, te_f32(0xff800000u))), t_44, te_eq_f32(t_43, t_41)));
        c0[0] = t_39;
        c1[0] = t_45;
        let t_46: bool = ((lane % 4) < 2);
        var c0_upper_3: array<f32, 1>;
        let t_47: f32 = c0[0];
        let t_48: f32 = te_shuffle_f32(t_47, 2);
        c0[0] = select(t_48, t_47, t_46);
        c0_upper_3[0] = select(t_47, t_48, t_46);
        var c1_upper_3: array<f32, 1>;
        let t_49: f32 = c1[0];
        let t_50: f32 = te_shuffle_f32(t_49, 2);
        c1[0] = select(t_50, t_49, t_46);
        c1_upper_3[0] = select(t_49, t_50, t_46);
        let t_51: f32 = c0[0];
        let t_52: f32 = c0_upper_3[0];
        let t_53: f32 = te_max_f32(t_51, t_52);
        let t_54: f32 = (-t_51);
        let t_55: f32 = (-t_53);
        let t_56: f32 = c1[0];
        let t_57: f32 = (-t_52);
        let t_58: f32 = c1_upper_3[0];
        let t_59: f32 = (select(select((te_exp_f32((t_55 + (-t_54))) * t_56), 0.0, te_eq_f32(t_51, te_f32(0xff800000u))), t_56, te_eq_f32(t_54, t_55)) + select(select((te_exp_f32((t_55 + (-t_57))) * t_58), 0.0, te_eq_f32(t_52, te_f32(0xff800000u))), t_58, te_eq_f32(t_57, t_55)));
        c0[0] = t_53;
        c1[0] = t_59;
        let t_60: bool = ((lane % 2) < 1);
        var c0_upper_4: array<f32, 1>;
        let t_61: f32 = c0[0];
        let t_62: f32 = te_shuffle_f32(t_61, 1);
        c0[0] = select(t_62, t_61, t_60);
        c0_upper_4[0] = select(t_61, t_62, t_60);
        var c1_upper_4: array<f32, 1>;
        let t_63: f32 = c1[0];
        let t_64: f32 = te_shuffle_f32(t_63, 1);
        c1[0] = select(t_64, t_63, t_60);
        c1_upper_4[0] = select(t_63, t_64, t_60);
        let t_65: f32 = c0[0];
        let t_66: f32 = c0_upper_4[0];
        let t_67: f32 = te_max_f32(t_65, t_66);
        let t_68: f32 = (-t_65);
        let t_69: f32 = (-t_67);
        let t_70: f32 = c1[0];
        let t_71: f32 = (-t_66);
        let t_72: f32 = c1_upper_4[0];
        let t_73: f32 = (select(select((te_exp_f32((t_69 + (-t_68))) * t_70), 0.0, te_eq_f32(t_65, te_f32(0xff800000u))), t_70, te_eq_f32(t_68, t_69)) + select(select((te_exp_f32((t_69 + (-t_71))) * t_72), 0.0, te_eq_f32(t_66, te_f32(0xff800000u))), t_72, te_eq_f32(t_71, t_69)));
        c0[0] = t_67;
        c1[0] = t_73;
        let t_74: f32 = (-c0[0]);
        let t_75: f32 = (1.0 / c1[0]);
        for (var i1: i32 = lane; i1 < 96; i1 += 32) {
            {
                let te_word = u32(96*i0 + i1) / 2u;
                let te_shift = (u32(96*i0 + i1) % 2u) * 16u;
                atomicAnd(&P[te_word], ~(0xffffu << te_shift));
                atomicOr(&P[te_word], ((te_to_bf16((te_exp_f32((te_of_bf16(te_unpack_u16(X[((96*i0 + i1) / 2)], (96*i0 + i1))) + t_74)) * t_75))) & 0xffffu) << te_shift);
            }
        }
    }
}
