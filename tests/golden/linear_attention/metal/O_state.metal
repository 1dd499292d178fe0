// point grid=i1,i2; blocks of 256 threads
// O_state[i0, i1, i2] = sum.scan[i0](O_added[i0, i1, i2])
// schedule: point grid=i1,i2
kernel void k1_O_state(
    device const float *O_added [[buffer(0)]],
    device float *O_state [[buffer(1)]],
    uint te_local [[thread_index_in_threadgroup]],
    uint te_position [[threadgroup_position_in_grid]],
    uint te_count [[threadgroups_per_grid]]) {
    const int te_block = (int)te_position, te_blocks = (int)te_count;
    const int te_thread = (int)te_local & 127, te_group = (int)te_local / 128;
    const int te_grid_place = te_block * 256 + (int)te_local;
    const int te_grid_size = te_blocks * 256;
    (void)te_block, (void)te_blocks, (void)te_thread, (void)te_group, (void)te_grid_place;
    (void)te_grid_size;
    for (int point = 0 + 1 * te_grid_place; point < 15; point += 1 * te_grid_size) {
        const int i2 = (point % 5);
        const int i1 = (point / 5);
        float acc[1];
        acc[0] = 0.0f;
        for (int i0 = 0; i0 < 2; i0++) {
            acc[0] = (acc[0] + O_added[15*i0 + 5*i1 + i2]);
            O_state[15*i0 + 5*i1 + i2] = acc[0];
        }
    }
}
