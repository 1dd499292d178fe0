@group(0) @binding(0) var<storage, read> O_added: array<f32>;
@group(0) @binding(1) var<storage, read_write> O_state: array<f32>;
var<private> te_lane: u32;

// O_state[i0, i1, i2] = sum.scan[i0](O_added[i0, i1, i2])
// schedule: point grid=i1,i2
@compute @workgroup_size(64)
fn k1_O_state(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 64 + i32(te_local);
    let te_size = te_blocks * 64;
    for (var point: i32 = 0 + 1 * te_place; point < 15; point += 1 * te_size) {
        let i2: i32 = (point % 5);
        let i1: i32 = (point / 5);
        var acc: array<f32, 1>;
        acc[0] = 0.0;
        for (var i0: i32 = 0; i0 < 2; i0++) {
            acc[0] = (acc[0] + O_added[15*i0 + 5*i1 + i2]);
            O_state[15*i0 + 5*i1 + i2] = acc[0];
        }
    }
}
