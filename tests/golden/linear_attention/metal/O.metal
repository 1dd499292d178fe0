// point grid=i0,i1; blocks of 256 threads
// O[i0, i1] = O_chunks[i0 // 3, i0 % 3, i1]
// schedule: point grid=i0,i1
kernel void k3_O(
    device const float *O_chunks [[buffer(0)]],
    device float *O [[buffer(1)]],
    uint te_local [[thread_index_in_threadgroup]],
    uint te_position [[threadgroup_position_in_grid]],
    uint te_count [[threadgroups_per_grid]]) {
    const int te_block = (int)te_position, te_blocks = (int)te_count;
    const int te_thread = (int)te_local & 127, te_group = (int)te_local / 128;
    const int te_grid_place = te_block * 256 + (int)te_local;
    const int te_grid_size = te_blocks * 256;
    (void)te_block, (void)te_blocks, (void)te_thread, (void)te_group, (void)te_grid_place;
    (void)te_grid_size;
    for (int point = 0 + 1 * te_grid_place; point < 35; point += 1 * te_grid_size) {
        const int i1 = (point % 5);
        const int i0 = (point / 5);
        O[5*i0 + i1] = O_chunks[((i1 + (te_max_int(te_min_int(te_imod_int(i0, 3), 2), 0) * 5)) + (te_max_int(te_min_int(te_idiv_int(i0, 3), 2), 0) * 15))];
    }
}
