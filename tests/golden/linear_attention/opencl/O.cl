// point grid=i0,i1; blocks of 256 threads
// O[i0, i1] = O_chunks[i0 // 3, i0 % 3, i1]
// schedule: point grid=i0,i1
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void k3_O(
    global const float *restrict O_chunks,
    global float *restrict O) {
    const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);
    const int te_thread = (int)get_local_id(0) & 127, te_group = (int)get_local_id(0) / 128;
    for (int point = 0 + 1 * te_grid_place(); point < 35; point += 1 * te_grid_size()) {
        const int i1 = (point % 5);
        const int i0 = (point / 5);
        O[5*i0 + i1] = O_chunks[((i1 + (te_max_int(te_min_int(te_imod_int(i0, 3), 2), 0) * 5)) + (te_max_int(te_min_int(te_idiv_int(i0, 3), 2), 0) * 15))];
    }
}
