@group(0) @binding(0) var<storage, read> X: array<f32>;
@group(0) @binding(1) var<storage, read> W: array<f32>;
@group(0) @binding(2) var<storage, read_write> Y: array<f32>;
var<private> te_lane: u32;

// Y[i0, i1, i2, i3] = sum[i4, i5, i6](X[i0, i4, i2 + i5 - 1, i3 + i6 - 1] * W[i1, i4, i5, i6], where=(1 <= i2 +
//     i5, 1 <= i3 + i6, i2 + i5 <= 9, i3 + i6 <= 11))
// schedule: point grid=i0,i1,i2,i3
@compute @workgroup_size(64)
fn k0_Y(@builtin(workgroup_id) te_at: vec3<u32>, @builtin(num_workgroups) te_all: vec3<u32>, @builtin(local_invocation_index) te_local: u32) {
    let te_block = i32(te_at.y * te_all.x + te_at.x);
    te_lane = te_local;
    let te_blocks = i32(te_all.x * te_all.y);
    let te_group = 0;
    let te_thread = i32(te_local % 128u);
    let te_place = te_block * 64 + i32(te_local);
    let te_size = te_blocks * 64;
    for (var point: i32 = 0 + 1 * te_place; point < 792; point += 1 * te_size) {
        let i3: i32 = (point % 11);
        let i2: i32 = ((point / 11) % 9);
        let i1: i32 = ((point / 99) % 4);
        let i0: i32 = (point / 396);
        var acc: array<f32, 1>;
        acc[0] = 0.0;
        for (var i4: i32 = 0; i4 < 3; i4++) {
            let i5_lo: i32 = max(0, (-i2 + 1));
            let i5_hi: i32 = min(3, (-i2 + 10));
            for (var i5: i32 = i5_lo; i5 < i5_hi; i5++) {
                let i6_lo: i32 = max(0, (-i3 + 1));
                let i6_hi: i32 = min(3, (-i3 + 12));
                for (var i6: i32 = i6_lo; i6 < i6_hi; i6++) {
                    acc[0] = (acc[0] + (X[297*i0 + 11*i2 + i3 + 99*i4 + 11*i5 + i6 - 12] * W[27*i1 + 9*i4 + 3*i5 + i6]));
                }
            }
        }
        Y[396*i0 + 99*i1 + 11*i2 + i3] = acc[0];
    }
}
