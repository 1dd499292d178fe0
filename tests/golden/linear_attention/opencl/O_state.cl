// point grid=i1,i2; blocks of 256 threads
// O_state[i0, i1, i2] = sum.scan[i0](O_added[i0, i1, i2])
// schedule: point grid=i1,i2
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void k1_O_state(
    global const float *restrict O_added,
    global float *restrict O_state) {
    const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);
    const int te_thread = (int)get_local_id(0) & 127, te_group = (int)get_local_id(0) / 128;
    for (int point = 0 + 1 * te_grid_place(); point < 15; point += 1 * te_grid_size()) {
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
