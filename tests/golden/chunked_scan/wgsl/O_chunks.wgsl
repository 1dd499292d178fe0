@group(0) @binding(0) var<storage, read> Q: array<f32>;
@group(0) @binding(1) var<storage, read> O_state: array<f32>;
@group(0) @binding(2) var<storage, read> K: array<f32>;
@group(0) @binding(3) var<storage, read> V: array<f32>;
@group(0) @binding(4) var<storage, read_write> O_chunks: array<f32>;
var<private> te_lane: u32;

// O_chunks[i0, i1, i2] = select(3*i0 + i1 <= 6, select(1 <= i0, sum[i3](Q[3*i0 + i1, i3] * O_state[i0 - 1, i3,
//     i2]), 0.0) + sum[i4:3](sum[i3](Q[3*i0 + i1, i3] * K[3*i0 + i4, i3]) * V[3*i0 + i4, i2], where=i4 <= i1),
//     0.0)
// schedule: point tile=i2:* grid=i0,i1
@compute @workgroup_size(64)
fn k2_O_chunks(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 64 + i32(te_local);
    let te_size = te_blocks * 64;
    for (var point: i32 = 0 + 1 * te_place; point < 9; point += 1 * te_size) {
        let i1: i32 = (point % 3);
        let i0: i32 = (point / 3);
        var acc: array<f32, 5>;
        var acc_1: array<f32, 5>;
        {
            let i2_e = 0;
            acc_1[i2_e] = 0.0;
        }
        {
            let i2_e = 1;
            acc_1[i2_e] = 0.0;
        }
        {
            let i2_e = 2;
            acc_1[i2_e] = 0.0;
        }
        {
            let i2_e = 3;
            acc_1[i2_e] = 0.0;
        }
        {
            let i2_e = 4;
            acc_1[i2_e] = 0.0;
        }
        for (var i3: i32 = 0; i3 < 3; i3++) {
            if (0 <= (-3*i0 - i1 + 6)) {
                if (0 <= (i0 - 1)) {
                    {
                        let i2_e_1 = 0;
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                    {
                        let i2_e_1 = 1;
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                    {
                        let i2_e_1 = 2;
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                    {
                        let i2_e_1 = 3;
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                    {
                        let i2_e_1 = 4;
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                }
            }
        }
        {
            let i2_e_2 = 0;
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        {
            let i2_e_2 = 1;
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        {
            let i2_e_2 = 2;
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        {
            let i2_e_2 = 3;
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        {
            let i2_e_2 = 4;
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        var acc_2: array<f32, 5>;
        {
            let i2_e_3 = 0;
            acc_2[i2_e_3] = 0.0;
        }
        {
            let i2_e_3 = 1;
            acc_2[i2_e_3] = 0.0;
        }
        {
            let i2_e_3 = 2;
            acc_2[i2_e_3] = 0.0;
        }
        {
            let i2_e_3 = 3;
            acc_2[i2_e_3] = 0.0;
        }
        {
            let i2_e_3 = 4;
            acc_2[i2_e_3] = 0.0;
        }
        let i4_hi: i32 = min(3, (i1 + 1));
        for (var i4: i32 = 0; i4 < i4_hi; i4++) {
            var acc_3: array<f32, 1>;
            acc_3[0] = 0.0;
            for (var i3_1: i32 = 0; i3_1 < 3; i3_1++) {
                if (0 <= (-3*i0 - i1 + 6)) {
                    if (0 <= (i1 - i4)) {
                        acc_3[0] = (acc_3[0] + (Q[9*i0 + 3*i1 + i3_1] * K[9*i0 + i3_1 + 3*i4]));
                    }
                }
            }
            if (0 <= (-3*i0 - i1 + 6)) {
                {
                    let i2_e_4 = 0;
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
                {
                    let i2_e_4 = 1;
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
                {
                    let i2_e_4 = 2;
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
                {
                    let i2_e_4 = 3;
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
                {
                    let i2_e_4 = 4;
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
            }
        }
        {
            let i2_e_5 = 0;
            O_chunks[15*i0 + 5*i1 + i2_e_5] = select(0.0, (select(0.0, acc[i2_e_5], (0 <= (i0 - 1))) + acc_2[i2_e_5]), (0 <= (-3*i0 - i1 + 6)));
        }
        {
            let i2_e_5 = 1;
            O_chunks[15*i0 + 5*i1 + i2_e_5] = select(0.0, (select(0.0, acc[i2_e_5], (0 <= (i0 - 1))) + acc_2[i2_e_5]), (0 <= (-3*i0 - i1 + 6)));
        }
        {
            let i2_e_5 = 2;
            O_chunks[15*i0 + 5*i1 + i2_e_5] = select(0.0, (select(0.0, acc[i2_e_5], (0 <= (i0 - 1))) + acc_2[i2_e_5]), (0 <= (-3*i0 - i1 + 6)));
        }
        {
            let i2_e_5 = 3;
            O_chunks[15*i0 + 5*i1 + i2_e_5] = select(0.0, (select(0.0, acc[i2_e_5], (0 <= (i0 - 1))) + acc_2[i2_e_5]), (0 <= (-3*i0 - i1 + 6)));
        }
        {
            let i2_e_5 = 4;
            O_chunks[15*i0 + 5*i1 + i2_e_5] = select(0.0, (select(0.0, acc[i2_e_5], (0 <= (i0 - 1))) + acc_2[i2_e_5]), (0 <= (-3*i0 - i1 + 6)));
        }
    }
}
