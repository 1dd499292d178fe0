fn te_f32(bits: u32) -> f32 { return bitcast<f32>(bits); }

fn te_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

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

fn te_unpack_u16(word: u32, n: i32) -> u32 { return (word >> (u32(n & 1) * 16u)) & 0xffffu; }

@group(0) @binding(0) var<storage, read> X: array<u32>;
@group(0) @binding(1) var<storage, read> G: array<u32>;
@group(0) @binding(2) var<storage, read> U: array<u32>;
@group(0) @binding(3) var<storage, read_write> H: array<atomic<u32>>;
var<private> te_lane: u32;

// H[i0, i1] = pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c0 / (exp(-pass[i2](X[i0, i2] * G[i2, i1],
//     X[i0, i2] * U[i2, i1]).c0) + 1.0) * pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c1
// schedule: tile tile=i0:4 grid=i0,i1
@compute @workgroup_size(64)
fn k0_H(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 64 + i32(te_local);
    let te_size = te_blocks * 64;
    for (var point: i32 = 0 + 1 * te_place; point < 96; point += 1 * te_size) {
        let i1: i32 = (point % 16);
        let i0: i32 = ((point / 16) * 4);
        var c0: array<f32, 4>;
        {
            let i0_e = 0;
            c0[i0_e] = 0.0;
        }
        {
            let i0_e = 1;
            c0[i0_e] = 0.0;
        }
        {
            let i0_e = 2;
            c0[i0_e] = 0.0;
        }
        {
            let i0_e = 3;
            c0[i0_e] = 0.0;
        }
        var c1: array<f32, 4>;
        {
            let i0_e_1 = 0;
            c1[i0_e_1] = 0.0;
        }
        {
            let i0_e_1 = 1;
            c1[i0_e_1] = 0.0;
        }
        {
            let i0_e_1 = 2;
            c1[i0_e_1] = 0.0;
        }
        {
            let i0_e_1 = 3;
            c1[i0_e_1] = 0.0;
        }
        for (var i2: i32 = 0; i2 < 40; i2++) {
            {
                let i0_e_2 = 0;
                let t: f32 = te_of_f16(te_unpack_u16(X[((40*i0 + 40*i0_e_2 + i2) / 2)], (40*i0 + 40*i0_e_2 + i2)));
                let t_1: f32 = (c0[i0_e_2] + (t * te_of_f16(te_unpack_u16(G[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                let t_2: f32 = (c1[i0_e_2] + (t * te_of_f16(te_unpack_u16(U[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                c0[i0_e_2] = t_1;
                c1[i0_e_2] = t_2;
            }
            {
                let i0_e_2 = 1;
                let t: f32 = te_of_f16(te_unpack_u16(X[((40*i0 + 40*i0_e_2 + i2) / 2)], (40*i0 + 40*i0_e_2 + i2)));
                let t_1: f32 = (c0[i0_e_2] + (t * te_of_f16(te_unpack_u16(G[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                let t_2: f32 = (c1[i0_e_2] + (t * te_of_f16(te_unpack_u16(U[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                c0[i0_e_2] = t_1;
                c1[i0_e_2] = t_2;
            }
            {
                let i0_e_2 = 2;
                let t: f32 = te_of_f16(te_unpack_u16(X[((40*i0 + 40*i0_e_2 + i2) / 2)], (40*i0 + 40*i0_e_2 + i2)));
                let t_1: f32 = (c0[i0_e_2] + (t * te_of_f16(te_unpack_u16(G[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                let t_2: f32 = (c1[i0_e_2] + (t * te_of_f16(te_unpack_u16(U[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                c0[i0_e_2] = t_1;
                c1[i0_e_2] = t_2;
            }
            {
                let i0_e_2 = 3;
                let t: f32 = te_of_f16(te_unpack_u16(X[((40*i0 + 40*i0_e_2 + i2) / 2)], (40*i0 + 40*i0_e_2 + i2)));
                let t_1: f32 = (c0[i0_e_2] + (t * te_of_f16(te_unpack_u16(G[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                let t_2: f32 = (c1[i0_e_2] + (t * te_of_f16(te_unpack_u16(U[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                c0[i0_e_2] = t_1;
                c1[i0_e_2] = t_2;
            }
        }
        {
            let i0_e_3 = 0;
            {
                let te_word = u32(16*i0 + 16*i0_e_3 + i1) / 2u;
                let te_shift = (u32(16*i0 + 16*i0_e_3 + i1) % 2u) * 16u;
                atomicAnd(&H[te_word], ~(0xffffu << te_shift));
                atomicOr(&H[te_word], ((te_to_f16(((c0[i0_e_3] * (1.0 / (te_exp_f32((-c0[i0_e_3])) + 1.0))) * c1[i0_e_3]))) & 0xffffu) << te_shift);
            }
        }
        {
            let i0_e_3 = 1;
            {
                let te_word = u32(16*i0 + 16*i0_e_3 + i1) / 2u;
                let te_shift = (u32(16*i0 + 16*i0_e_3 + i1) % 2u) * 16u;
                atomicAnd(&H[te_word], ~(0xffffu << te_shift));
                atomicOr(&H[te_word], ((te_to_f16(((c0[i0_e_3] * (1.0 / (te_exp_f32((-c0[i0_e_3])) + 1.0))) * c1[i0_e_3]))) & 0xffffu) << te_shift);
            }
        }
        {
            let i0_e_3 = 2;
            {
                let te_word = u32(16*i0 + 16*i0_e_3 + i1) / 2u;
                let te_shift = (u32(16*i0 + 16*i0_e_3 + i1) % 2u) * 16u;
                atomicAnd(&H[te_word], ~(0xffffu << te_shift));
                atomicOr(&H[te_word], ((te_to_f16(((c0[i0_e_3] * (1.0 / (te_exp_f32((-c0[i0_e_3])) + 1.0))) * c1[i0_e_3]))) & 0xffffu) << te_shift);
            }
        }
        {
            let i0_e_3 = 3;
            {
                let te_word = u32(16*i0 + 16*i0_e_3 + i1) / 2u;
                let te_shift = (u32(16*i0 + 16*i0_e_3 + i1) % 2u) * 16u;
                atomicAnd(&H[te_word], ~(0xffffu << te_shift));
                atomicOr(&H[te_word], ((te_to_f16(((c0[i0_e_3] * (1.0 / (te_exp_f32((-c0[i0_e_3])) + 1.0))) * c1[i0_e_3]))) & 0xffffu) << te_shift);
            }
        }
    }
}
