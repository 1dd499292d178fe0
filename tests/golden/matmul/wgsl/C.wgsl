fn te_of_bf16(x: u32) -> f32 { return bitcast<f32>(x << 16u); }

fn te_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn te_to_bf16(x: f32) -> u32 {
    let u = bitcast<u32>(x);
    if (te_nan(x)) { return (u >> 16u) | 0x40u; }
    return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}

fn te_unpack_u16(word: u32, n: i32) -> u32 { return (word >> (u32(n & 1) * 16u)) & 0xffffu; }

@group(0) @binding(0) var<storage, read> A: array<u32>;
@group(0) @binding(1) var<storage, read> B: array<u32>;
@group(0) @binding(2) var<storage, read_write> C: array<atomic<u32>>;
var<private> te_lane: u32;

// C[i0, i1] = sum[i2](A[i0, i2] * B[i2, i1])
// schedule: tile tile=i0:4 grid=i0,i1
@compute @workgroup_size(64)
fn k0_C(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 64 + i32(te_local);
    let te_size = te_blocks * 64;
    for (var point: i32 = 0 + 1 * te_place; point < 672; point += 1 * te_size) {
        let i1: i32 = (point % 56);
        let i0: i32 = ((point / 56) * 4);
        var acc: array<f32, 4>;
        var acc_1: array<f32, 4>;
        {
            let i0_e = 0;
            acc_1[i0_e] = 0.0;
        }
        {
            let i0_e = 1;
            acc_1[i0_e] = 0.0;
        }
        {
            let i0_e = 2;
            acc_1[i0_e] = 0.0;
        }
        {
            let i0_e = 3;
            acc_1[i0_e] = 0.0;
        }
        for (var i2: i32 = 0; i2 < 40; i2++) {
            {
                let i0_e_1 = 0;
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (te_of_bf16(te_unpack_u16(A[((40*i0 + 40*i0_e_1 + i2) / 2)], (40*i0 + 40*i0_e_1 + i2))) * te_of_bf16(te_unpack_u16(B[((i1 + 56*i2) / 2)], (i1 + 56*i2)))));
            }
            {
                let i0_e_1 = 1;
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (te_of_bf16(te_unpack_u16(A[((40*i0 + 40*i0_e_1 + i2) / 2)], (40*i0 + 40*i0_e_1 + i2))) * te_of_bf16(te_unpack_u16(B[((i1 + 56*i2) / 2)], (i1 + 56*i2)))));
            }
            {
                let i0_e_1 = 2;
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (te_of_bf16(te_unpack_u16(A[((40*i0 + 40*i0_e_1 + i2) / 2)], (40*i0 + 40*i0_e_1 + i2))) * te_of_bf16(te_unpack_u16(B[((i1 + 56*i2) / 2)], (i1 + 56*i2)))));
            }
            {
                let i0_e_1 = 3;
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (te_of_bf16(te_unpack_u16(A[((40*i0 + 40*i0_e_1 + i2) / 2)], (40*i0 + 40*i0_e_1 + i2))) * te_of_bf16(te_unpack_u16(B[((i1 + 56*i2) / 2)], (i1 + 56*i2)))));
            }
        }
        {
            let i0_e_2 = 0;
            acc[i0_e_2] = acc_1[i0_e_2];
        }
        {
            let i0_e_2 = 1;
            acc[i0_e_2] = acc_1[i0_e_2];
        }
        {
            let i0_e_2 = 2;
            acc[i0_e_2] = acc_1[i0_e_2];
        }
        {
            let i0_e_2 = 3;
            acc[i0_e_2] = acc_1[i0_e_2];
        }
        {
            let i0_e_3 = 0;
            {
                let te_word = u32(56*i0 + 56*i0_e_3 + i1) / 2u;
                let te_shift = (u32(56*i0 + 56*i0_e_3 + i1) % 2u) * 16u;
                atomicAnd(&C[te_word], ~(0xffffu << te_shift));
                atomicOr(&C[te_word], ((te_to_bf16(acc[i0_e_3])) & 0xffffu) << te_shift);
            }
        }
        {
            let i0_e_3 = 1;
            {
                let te_word = u32(56*i0 + 56*i0_e_3 + i1) / 2u;
                let te_shift = (u32(56*i0 + 56*i0_e_3 + i1) % 2u) * 16u;
                atomicAnd(&C[te_word], ~(0xffffu << te_shift));
                atomicOr(&C[te_word], ((te_to_bf16(acc[i0_e_3])) & 0xffffu) << te_shift);
            }
        }
        {
            let i0_e_3 = 2;
            {
                let te_word = u32(56*i0 + 56*i0_e_3 + i1) / 2u;
                let te_shift = (u32(56*i0 + 56*i0_e_3 + i1) % 2u) * 16u;
                atomicAnd(&C[te_word], ~(0xffffu << te_shift));
                atomicOr(&C[te_word], ((te_to_bf16(acc[i0_e_3])) & 0xffffu) << te_shift);
            }
        }
        {
            let i0_e_3 = 3;
            {
                let te_word = u32(56*i0 + 56*i0_e_3 + i1) / 2u;
                let te_shift = (u32(56*i0 + 56*i0_e_3 + i1) % 2u) * 16u;
                atomicAnd(&C[te_word], ~(0xffffu << te_shift));
                atomicOr(&C[te_word], ((te_to_bf16(acc[i0_e_3])) & 0xffffu) << te_shift);
            }
        }
    }
}
