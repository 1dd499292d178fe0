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

@group(0) @binding(0) var<storage, read> O_chunks: array<f32>;
@group(0) @binding(1) var<storage, read_write> O: array<f32>;
var<private> te_lane: u32;

// O[i0, i1] = O_chunks[i0 // 3, i0 % 3, i1]
// schedule: point grid=i0,i1
@compute @workgroup_size(64)
fn k3_O(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 64 + i32(te_local);
    let te_size = te_blocks * 64;
    for (var point: i32 = 0 + 1 * te_place; point < 35; point += 1 * te_size) {
        let i1: i32 = (point % 5);
        let i0: i32 = (point / 5);
        O[5*i0 + i1] = O_chunks[((i1 + (max(min(te_imod_i32(i0, 3), 2), 0) * 5)) + (max(min(te_idiv_i32(i0, 3), 2), 0) * 15))];
    }
}
