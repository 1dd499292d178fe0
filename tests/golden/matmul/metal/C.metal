// tile tile=i0:4 grid=i0,i1; blocks of 256 threads
// C[i0, i1] = sum[i2](A[i0, i2] * B[i2, i1])
// schedule: tile tile=i0:4 grid=i0,i1
kernel void k0_C(
    device const float *A [[buffer(0)]],
    device const float *B [[buffer(1)]],
    device float *C [[buffer(2)]],
    uint te_local [[thread_index_in_threadgroup]],
    uint te_position [[threadgroup_position_in_grid]],
    uint te_count [[threadgroups_per_grid]]) {
    const int te_block = (int)te_position, te_blocks = (int)te_count;
    const int te_thread = (int)te_local & 127, te_group = (int)te_local / 128;
    const int te_grid_place = te_block * 256 + (int)te_local;
    const int te_grid_size = te_blocks * 256;
    (void)te_block, (void)te_blocks, (void)te_thread, (void)te_group, (void)te_grid_place;
    (void)te_grid_size;
    for (int point = 0 + 1 * te_grid_place; point < 1105; point += 1 * te_grid_size) {
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
