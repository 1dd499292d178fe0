// tile tile=i0:4 grid=i0,i1; blocks of 256 threads
// H[i0, i1] = pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c0 / (exp(-pass[i2](X[i0, i2] * G[i2, i1],
//     X[i0, i2] * U[i2, i1]).c0) + 1.0) * pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c1
// schedule: tile tile=i0:4 grid=i0,i1
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void k0_H(
    global const te_f16 *restrict X,
    global const te_f16 *restrict G,
    global const te_f16 *restrict U,
    global te_f16 *restrict H) {
    const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);
    const int te_thread = (int)get_local_id(0) & 127, te_group = (int)get_local_id(0) / 128;
    for (int point = 0 + 1 * te_grid_place(); point < 432; point += 1 * te_grid_size()) {
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
            H[48*i0 + 48*i0_e_3 + i1] = te_to_f16(((c0[i0_e_3] * (1.0f / (exp((-c0[i0_e_3])) + 1.0f))) * c1[i0_e_3]));
        }
    }
}
