@group(0) @binding(0) var<storage, read> K: array<f32>;
@group(0) @binding(1) var<storage, read> V: array<f32>;
@group(0) @binding(2) var<storage, read_write> O_added: array<f32>;
var<private> te_lane: u32;

// O_added[i0, i1, i2] = sum[i3:3](K[3*i0 + i3, i1] * V[3*i0 + i3, i2])
// schedule: point grid=i0,i1,i2
@compute @workgroup_size(64)
fn k0_O_added(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 64 + i32(te_local);
    let te_size = te_blocks * 64;
    for (var point: i32 = 0 + 1 * te_place; point < 30; point += 1 * te_size) {
        let i2: i32 = (point % 5);
        let i1: i32 = ((point / 5) % 3);
        let i0: i32 = (point / 15);
        var acc: array<f32, 1>;
        acc[0] = 0.0;
        for (var i3: i32 = 0; i3 < 3; i3++) {
            acc[0] = (acc[0] + (K[9*i0 + i1 + 3*i3] * V[15*i0 + i2 + 5*i3]));
        }
        O_added[15*i0 + 5*i1 + i2] = acc[0];
    }
}
