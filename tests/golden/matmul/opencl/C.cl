// tile tile=i0:4 grid=i0,i1; blocks of 256 threads
// C[i0, i1] = sum[i2](A[i0, i2] * B[i2, i1])
// schedule: tile tile=i0:4 grid=i0,i1
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void k0_C(
    global const float *restrict A,
    global const float *restrict B,
    global float *restrict C) {
    const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);
    const int te_thread = (int)get_local_id(0) & 127, te_group = (int)get_local_id(0) / 128;
    for (int point = 0 + 1 * te_grid_place(); point < 1105; point += 1 * te_grid_size()) {
        const int i1 = (point % 65);
        const int i0 = te_min_int(((point / 65) * 4), 63);
        float acc[4];
        float acc_1[4];
        for (int i0_e = 0; i0_e < 4; i0_e++) {
            acc_1[i0_e] = 0.0f;
        }
        for (int i2 = 0; i2 < 33; i2++) {
            for (int i0_e_1 = 0; i0_e_1 < 4; i0_e_1++) {
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (A[33*i0 + 33*i0_e_1 + i2] * B[i1 + 65*i2]));
            }
        }
        for (int i0_e_2 = 0; i0_e_2 < 4; i0_e_2++) {
            acc[i0_e_2] = acc_1[i0_e_2];
        }
        for (int i0_e_3 = 0; i0_e_3 < 4; i0_e_3++) {
            C[65*i0 + 65*i0_e_3 + i1] = acc[i0_e_3];
        }
    }
}
