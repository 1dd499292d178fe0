// tile tile=i0:4 grid=i0,i1; blocks of 256 threads
// H[i0, i1] = pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c0 / (exp(-pass[i2](X[i0, i2] * G[i2, i1],
//     X[i0, i2] * U[i2, i1]).c0) + 1.0) * pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c1
// schedule: tile tile=i0:4 grid=i0,i1
kernel void k0_H(
    device const te_f16 *X [[buffer(0)]],
    device const te_f16 *G [[buffer(1)]],
    device const te_f16 *U [[buffer(2)]],
    device te_f16 *H [[buffer(3)]],
    uint te_local [[thread_index_in_threadgroup]],
    uint te_position [[threadgroup_position_in_grid]],
    uint te_count [[threadgroups_per_grid]]) {
    const int te_block = (int)te_position, te_blocks = (int)te_count;
    const int te_thread = (int)te_local & 127, te_group = (int)te_local / 128;
    const int te_grid_place = te_block * 256 + (int)te_local;
    const int te_grid_size = te_blocks * 256;
    (void)te_block, (void)te_blocks, (void)te_thread, (void)te_group, (void)te_grid_place;
    (void)te_grid_size;
    for (int point = 0 + 1 * te_grid_place; point < 432; point += 1 * te_grid_size) {
        const int i1 = (point % 48);
        const int i0 = te_min_int(((point / 48) * 4), 29);
        float c0[4];
        for (int i0_e = 0; i0_e < 4; i0_e++) {
            c0[i0_e] = 0.0f;
        }
        float c1[4];
        for (int i0_e_1 = 0; i0_e_1 < 4; i0_e_1++) {
            c1[i0_e_1] = 0.0f;
        }
        for (int i2 = 0; i2 < 64; i2++) {
            for (int i0_e_2 = 0; i0_e_2 < 4; i0_e_2++) {
                const float t = te_of_f16(X[64*i0 + 64*i0_e_2 + i2]);
                const float t_1 = (c0[i0_e_2] + (t * te_of_f16(G[i1 + 48*i2])));
                const float t_2 = (c1[i0_e_2] + (t * te_of_f16(U[i1 + 48*i2])));
                c0[i0_e_2] = t_1;
                c1[i0_e_2] = t_2;
            }
        }
        for (int i0_e_3 = 0; i0_e_3 < 4; i0_e_3++) {
            H[48*i0 + 48*i0_e_3 + i1] = te_to_f16(((c0[i0_e_3] * precise::divide(1.0f, (precise::exp((-c0[i0_e_3])) + 1.0f))) * c1[i0_e_3]));
        }
    }
}
