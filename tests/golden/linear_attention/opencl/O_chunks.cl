// point tile=i2:* grid=i0,i1; blocks of 256 threads
// O_chunks[i0, i1, i2] = select(3*i0 + i1 <= 6, select(1 <= i0, sum[i3](Q[3*i0 + i1, i3] * O_state[i0 - 1, i3,
//     i2]), 0.0) + sum[i4:3](sum[i3](Q[3*i0 + i1, i3] * K[3*i0 + i4, i3]) * V[3*i0 + i4, i2], where=i4 <= i1),
//     0.0)
// schedule: point tile=i2:* grid=i0,i1
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void k2_O_chunks(
    global const float *restrict Q,
    global const float *restrict O_state,
    global const float *restrict K,
    global const float *restrict V,
    global float *restrict O_chunks) {
    const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);
    const int te_thread = (int)get_local_id(0) & 127, te_group = (int)get_local_id(0) / 128;
    for (int point = 0 + 1 * te_grid_place(); point < 9; point += 1 * te_grid_size()) {
        const int i1 = (point % 3);
        const int i0 = (point / 3);
        float acc[5];
        float acc_1[5];
        for (int i2_e = 0; i2_e < 5; i2_e++) {
            acc_1[i2_e] = 0.0f;
        }
        for (int i3 = 0; i3 < 3; i3++) {
            if (0 <= (-3*i0 - i1 + 6)) {
                if (0 <= (i0 - 1)) {
                    for (int i2_e_1 = 0; i2_e_1 < 5; i2_e_1++) {
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                }
            }
        }
        for (int i2_e_2 = 0; i2_e_2 < 5; i2_e_2++) {
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        float acc_2[5];
        for (int i2_e_3 = 0; i2_e_3 < 5; i2_e_3++) {
            acc_2[i2_e_3] = 0.0f;
        }
        const int i4_hi = te_min_int(3, (i1 + 1));
        for (int i4 = 0; i4 < i4_hi; i4++) {
            float acc_3[1];
            acc_3[0] = 0.0f;
            for (int i3_1 = 0; i3_1 < 3; i3_1++) {
                if (0 <= (-3*i0 - i1 + 6)) {
                    if (0 <= (i1 - i4)) {
                        acc_3[0] = (acc_3[0] + (Q[9*i0 + 3*i1 + i3_1] * K[9*i0 + i3_1 + 3*i4]));
                    }
                }
            }
            if (0 <= (-3*i0 - i1 + 6)) {
                for (int i2_e_4 = 0; i2_e_4 < 5; i2_e_4++) {
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
            }
        }
        for (int i2_e_5 = 0; i2_e_5 < 5; i2_e_5++) {
            O_chunks[15*i0 + 5*i1 + i2_e_5] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc[i2_e_5] : 0.0f) + acc_2[i2_e_5]) : 0.0f);
        }
    }
}
