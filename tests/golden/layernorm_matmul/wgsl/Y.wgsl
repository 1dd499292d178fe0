fn te_shuffle_u32(x: u32, mask: i32) -> u32 {
    te_lanes[te_lane] = x;
    workgroupBarrier();
    let y = te_lanes[te_lane ^ u32(mask)];
    workgroupBarrier();
    return y;
}

fn te_shuffle_f32(x: f32, mask: i32) -> f32 { return bitcast<f32>(te_shuffle_u32(bitcast<u32>(x), mask)); }

@group(0) @binding(0) var<storage, read> X: array<f32>;
@group(0) @binding(1) var<storage, read> W: array<f32>;
@group(0) @binding(2) var<storage, read_write> Y: array<f32>;
var<private> te_lane: u32;
var<workgroup> te_lanes: array<u32, 32>;

// Y[i0, i2] = recip(sqrt(sum[i1]((X[i0, i1] - sum[i1](X[i0, i1]) * recip(40.0)) * (X[i0, i1] - sum[i1](X[i0,
//     i1]) * recip(40.0))) * recip(40.0) + 1e-05)) * sum[i1]((X[i0, i1] - sum[i1](X[i0, i1]) * recip(40.0)) *
//     W[i1, i2])
// schedule: split fold=i1:warp grid=i0 warp=i2
@compute @workgroup_size(32)
fn k0_Y(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
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
    let t_10: f32 = (1.0 / 40.0);
    if (row < 24) {
        let i0: i32 = row;
        var acc: array<f32, 1>;
        acc[0] = 0.0;
        var acc_1: array<f32, 1>;
        acc_1[0] = 0.0;
        for (var i1_1: i32 = lane; i1_1 < 40; i1_1 += 32) {
            acc_1[0] = (acc_1[0] + X[40*i0 + i1_1]);
        }
        var acc_1_upper: array<f32, 1>;
        let t: f32 = acc_1[0];
        let t_1: f32 = te_shuffle_f32(t, 16);
        acc_1_upper[0] = t_1;
        acc_1[0] = (acc_1[0] + acc_1_upper[0]);
        var acc_1_upper_1: array<f32, 1>;
        let t_2: f32 = acc_1[0];
        let t_3: f32 = te_shuffle_f32(t_2, 8);
        acc_1_upper_1[0] = t_3;
        acc_1[0] = (acc_1[0] + acc_1_upper_1[0]);
        var acc_1_upper_2: array<f32, 1>;
        let t_4: f32 = acc_1[0];
        let t_5: f32 = te_shuffle_f32(t_4, 4);
        acc_1_upper_2[0] = t_5;
        acc_1[0] = (acc_1[0] + acc_1_upper_2[0]);
        var acc_1_upper_3: array<f32, 1>;
        let t_6: f32 = acc_1[0];
        let t_7: f32 = te_shuffle_f32(t_6, 2);
        acc_1_upper_3[0] = t_7;
        acc_1[0] = (acc_1[0] + acc_1_upper_3[0]);
        var acc_1_upper_4: array<f32, 1>;
        let t_8: f32 = acc_1[0];
        let t_9: f32 = te_shuffle_f32(t_8, 1);
        acc_1_upper_4[0] = t_9;
        acc_1[0] = (acc_1[0] + acc_1_upper_4[0]);
        let t_11: f32 = (-(acc_1[0] * t_10));
        for (var i1: i32 = lane; i1 < 40; i1 += 32) {
            let t_12: f32 = (X[40*i0 + i1] + t_11);
            acc[0] = (acc[0] + (t_12 * t_12));
        }
        var acc_upper: array<f32, 1>;
        let t_13: f32 = acc[0];
        let t_14: f32 = te_shuffle_f32(t_13, 16);
        acc_upper[0] = t_14;
        acc[0] = (acc[0] + acc_upper[0]);
        var acc_upper_1: array<f32, 1>;
        let t_15: f32 = acc[0];
        let t_16: f32 = te_shuffle_f32(t_15, 8);
        acc_upper_1[0] = t_16;
        acc[0] = (acc[0] + acc_upper_1[0]);
        var acc_upper_2: array<f32, 1>;
        let t_17: f32 = acc[0];
        let t_18: f32 = te_shuffle_f32(t_17, 4);
        acc_upper_2[0] = t_18;
        acc[0] = (acc[0] + acc_upper_2[0]);
        var acc_upper_3: array<f32, 1>;
        let t_19: f32 = acc[0];
        let t_20: f32 = te_shuffle_f32(t_19, 2);
        acc_upper_3[0] = t_20;
        acc[0] = (acc[0] + acc_upper_3[0]);
        var acc_upper_4: array<f32, 1>;
        let t_21: f32 = acc[0];
        let t_22: f32 = te_shuffle_f32(t_21, 1);
        acc_upper_4[0] = t_22;
        acc[0] = (acc[0] + acc_upper_4[0]);
        let t_23: f32 = (1.0 / sqrt(((acc[0] * t_10) + 1e-05)));
        for (var i2: i32 = lane; i2 < 16; i2 += 32) {
            var acc_2: array<f32, 1>;
            acc_2[0] = 0.0;
            for (var i1_2: i32 = 0; i1_2 < 40; i1_2++) {
                acc_2[0] = (acc_2[0] + ((X[40*i0 + i1_2] + t_11) * W[16*i1_2 + i2]));
            }
            Y[16*i0 + i2] = (t_23 * acc_2[0]);
        }
    }
}
