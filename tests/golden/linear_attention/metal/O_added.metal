// point grid=i0,i1,i2; blocks of 256 threads
// O_added[i0, i1, i2] = sum[i3:3](K[3*i0 + i3, i1] * V[3*i0 + i3, i2])
// schedule: point grid=i0,i1,i2
kernel void k0_O_added(
    device const float *K [[buffer(0)]],
    device const float *V [[buffer(1)]],
    device float *O_added [[buffer(2)]],
    uint te_local [[thread_index_in_threadgroup]],
    uint te_position [[threadgroup_position_in_grid]],
    uint te_count [[threadgroups_per_grid]]) {
    const int te_block = (int)te_position, te_blocks = (int)te_count;
    const int te_thread = (int)te_local & 127, te_group = (int)te_local / 128;
    const int te_grid_place = te_block * 256 + (int)te_local;
    const int te_grid_size = te_blocks * 256;
    (void)te_block, (void)te_blocks, (void)te_thread, (void)te_group, (void)te_grid_place;
    (void)te_grid_size;
    for (int point = 0 + 1 * te_grid_place; point < 30; point += 1 * te_grid_size) {
        const int i2 = (point % 5);
        const int i1 = ((point / 5) % 3);
        const int i0 = (point / 15);
        float acc[1];
        acc[0] = 0.0f;
        for (int i3 = 0; i3 < 3; i3++) {
            acc[0] = (acc[0] + (K[9*i0 + i1 + 3*i3] * V[15*i0 + i2 + 5*i3]));
        }
        O_added[15*i0 + 5*i1 + i2] = acc[0];
    }
}
