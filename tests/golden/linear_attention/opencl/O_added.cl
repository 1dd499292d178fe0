// point grid=i0,i1,i2; blocks of 256 threads
// O_added[i0, i1, i2] = sum[i3:3](K[3*i0 + i3, i1] * V[3*i0 + i3, i2])
// schedule: point grid=i0,i1,i2
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void k0_O_added(
    global const float *restrict K,
    global const float *restrict V,
    global float *restrict O_added) {
    const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);
    const int te_thread = (int)get_local_id(0) & 127, te_group = (int)get_local_id(0) / 128;
    for (int point = 0 + 1 * te_grid_place(); point < 30; point += 1 * te_grid_size()) {
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
