// split fold=i1:warp grid=i0 warp=i2; blocks of 32 threads
// Y[i0, i2] = recip(sqrt(sum[i1]((X[i0, i1] - sum[i1](X[i0, i1]) * recip(96.0)) * (X[i0, i1] - sum[i1](X[i0,
//     i1]) * recip(96.0))) * recip(96.0) + 1e-05)) * sum[i1]((X[i0, i1] - sum[i1](X[i0, i1]) * recip(96.0)) *
//     W[i1, i2])
// schedule: split fold=i1:warp grid=i0 warp=i2
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k0_Y(
    global const float *restrict X,
    global const float *restrict W,
    global float *restrict Y) {
    local ulong te_room[32];
    const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);
    const int te_thread = (int)get_local_id(0) & 127, te_group = (int)get_local_id(0) / 128;
    const int lane = (te_thread % 32);
    const int warp = (te_thread / 32);
    const int row = (te_block + 4*te_group + warp);
    const float t_10 = (1.0f / 96.0f);
    if (row < 33) {
        const int i0 = row;
        float acc[1];
        acc[0] = 0.0f;
        float acc_1[1];
        acc_1[0] = 0.0f;
        for (int i1_1_turn = 0; i1_1_turn < 96; i1_1_turn += 32) {
            const int i1_1 = (i1_1_turn + lane);
            if (i1_1 < 96) {
                acc_1[0] = (acc_1[0] + X[96*i0 + i1_1]);
            }
        }
        float acc_1_upper[1];
        const float t = acc_1[0];
        const float t_1 = te_shuffle_f32(te_room, t, 16);
        acc_1_upper[0] = t_1;
        acc_1[0] = (acc_1[0] + acc_1_upper[0]);
        float acc_1_upper_1[1];
        const float t_2 = acc_1[0];
        const float t_3 = te_shuffle_f32(te_room, t_2, 8);
        acc_1_upper_1[0] = t_3;
        acc_1[0] = (acc_1[0] + acc_1_upper_1[0]);
        float acc_1_upper_2[1];
        const float t_4 = acc_1[0];
        const float t_5 = te_shuffle_f32(te_room, t_4, 4);
        acc_1_upper_2[0] = t_5;
        acc_1[0] = (acc_1[0] + acc_1_upper_2[0]);
        float acc_1_upper_3[1];
        const float t_6 = acc_1[0];
        const float t_7 = te_shuffle_f32(te_room, t_6, 2);
        acc_1_upper_3[0] = t_7;
        acc_1[0] = (acc_1[0] + acc_1_upper_3[0]);
        float acc_1_upper_4[1];
        const float t_8 = acc_1[0];
        const float t_9 = te_shuffle_f32(te_room, t_8, 1);
        acc_1_upper_4[0] = t_9;
        acc_1[0] = (acc_1[0] + acc_1_upper_4[0]);
        const float t_11 = (-(acc_1[0] * t_10));
        for (int i1_turn = 0; i1_turn < 96; i1_turn += 32) {
            const int i1 = (i1_turn + lane);
            if (i1 < 96) {
                const float t_12 = (X[96*i0 + i1] + t_11);
                acc[0] = (acc[0] + (t_12 * t_12));
            }
        }
        float acc_upper[1];
        const float t_13 = acc[0];
        const float t_14 = te_shuffle_f32(te_room, t_13, 16);
        acc_upper[0] = t_14;
        acc[0] = (acc[0] + acc_upper[0]);
        float acc_upper_1[1];
        const float t_15 = acc[0];
        const float t_16 = te_shuffle_f32(te_room, t_15, 8);
        acc_upper_1[0] = t_16;
        acc[0] = (acc[0] + acc_upper_1[0]);
        float acc_upper_2[1];
        const float t_17 = acc[0];
        const float t_18 = te_shuffle_f32(te_room, t_17, 4);
        acc_upper_2[0] = t_18;
        acc[0] = (acc[0] + acc_upper_2[0]);
        float acc_upper_3[1];
        const float t_19 = acc[0];
        const float t_20 = te_shuffle_f32(te_room, t_19, 2);
        acc_upper_3[0] = t_20;
        acc[0] = (acc[0] + acc_upper_3[0]);
        float acc_upper_4[1];
        const float t_21 = acc[0];
        const float t_22 = te_shuffle_f32(te_room, t_21, 1);
        acc_upper_4[0] = t_22;
        acc[0] = (acc[0] + acc_upper_4[0]);
        const float t_23 = (1.0f / sqrt(((acc[0] * t_10) + 1e-05f)));
        for (int i2_turn = 0; i2_turn < 40; i2_turn += 32) {
            const int i2 = (i2_turn + lane);
            if (i2 < 40) {
                float acc_2[1];
                acc_2[0] = 0.0f;
                for (int i1_2 = 0; i1_2 < 96; i1_2++) {
                    acc_2[0] = (acc_2[0] + ((X[96*i0 + i1_2] + t_11) * W[40*i1_2 + i2]));
                }
                Y[40*i0 + i2] = (t_23 * acc_2[0]);
            }
        }
    }
}
