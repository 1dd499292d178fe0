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
    const float t_15 = (1.0f / 96.0f);
    if (row < 33) {
        const int i0 = row;
        float acc[1];
        acc[0] = 0.0f;
        float acc_1[1];
        acc_1[0] = 0.0f;
        for (int i1_1 = lane; i1_1 < 96; i1_1 += 32) {
            acc_1[0] = (acc_1[0] + X[96*i0 + i1_1]);
        }
        const bool t = ((lane % 32) < 16);
        float acc_1_upper[1];
        const float t_1 = acc_1[0];
        const float t_2 = te_shuffle_f32(te_room, t_1, 16);
        acc_1[0] = (t ? t_1 : t_2);
        acc_1_upper[0] = (t ? t_2 : t_1);
        acc_1[0] = (acc_1[0] + acc_1_upper[0]);
        const bool t_3 = ((lane % 16) < 8);
        float acc_1_upper_1[1];
        const float t_4 = acc_1[0];
        const float t_5 = te_shuffle_f32(te_room, t_4, 8);
        acc_1[0] = (t_3 ? t_4 : t_5);
        acc_1_upper_1[0] = (t_3 ? t_5 : t_4);
        acc_1[0] = (acc_1[0] + acc_1_upper_1[0]);
        const bool t_6 = ((lane % 8) < 4);
        float acc_1_upper_2[1];
        const float t_7 = acc_1[0];
        const float t_8 = te_shuffle_f32(te_room, t_7, 4);
        acc_1[0] = (t_6 ? t_7 : t_8);
        acc_1_upper_2[0] = (t_6 ? t_8 : t_7);
        acc_1[0] = (acc_1[0] + acc_1_upper_2[0]);
        const bool t_9 = ((lane % 4) < 2);
        float acc_1_upper_3[1];
        const float t_10 = acc_1[0];
        const float t_11 = te_shuffle_f32(te_room, t_10, 2);
        acc_1[0] = (t_9 ? t_10 : t_11);
        acc_1_upper_3[0] = (t_9 ? t_11 : t_10);
        acc_1[0] = (acc_1[0] + acc_1_upper_3[0]);
        const bool t_12 = ((lane % 2) < 1);
        float acc_1_upper_4[1];
        const float t_13 = acc_1[0];
        const float t_14 = te_shuffle_f32(te_room, t_13, 1);
        acc_1[0] = (t_12 ? t_13 : t_14);
        acc_1_upper_4[0] = (t_12 ? t_14 : t_13);
        acc_1[0] = (acc_1[0] + acc_1_upper_4[0]);
        const float t_16 = (-(acc_1[0] * t_15));
        for (int i1 = lane; i1 < 96; i1 += 32) {
            const float t_17 = (X[96*i0 + i1] + t_16);
            acc[0] = (acc[0] + (t_17 * t_17));
        }
        const bool t_18 = ((lane % 32) < 16);
        float acc_upper[1];
        const float t_19 = acc[0];
        const float t_20 = te_shuffle_f32(te_room, t_19, 16);
        acc[0] = (t_18 ? t_19 : t_20);
        acc_upper[0] = (t_18 ? t_20 : t_19);
        acc[0] = (acc[0] + acc_upper[0]);
        const bool t_21 = ((lane % 16) < 8);
        float acc_upper_1[1];
        const float t_22 = acc[0];
        const float t_23 = te_shuffle_f32(te_room, t_22, 8);
        acc[0] = (t_21 ? t_22 : t_23);
        acc_upper_1[0] = (t_21 ? t_23 : t_22);
        acc[0] = (acc[0] + acc_upper_1[0]);
        const bool t_24 = ((lane % 8) < 4);
        float acc_upper_2[1];
        const float t_25 = acc[0];
        const float t_26 = te_shuffle_f32(te_room, t_25, 4);
        acc[0] = (t_24 ? t_25 : t_26);
        acc_upper_2[0] = (t_24 ? t_26 : t_25);
        acc[0] = (acc[0] + acc_upper_2[0]);
        const bool t_27 = ((lane % 4) < 2);
        float acc_upper_3[1];
        const float t_28 = acc[0];
        const float t_29 = te_shuffle_f32(te_room, t_28, 2);
        acc[0] = (t_27 ? t_28 : t_29);
        acc_upper_3[0] = (t_27 ? t_29 : t_28);
        acc[0] = (acc[0] + acc_upper_3[0]);
        const bool t_30 = ((lane % 2) < 1);
        float acc_upper_4[1];
        const float t_31 = acc[0];
        const float t_32 = te_shuffle_f32(te_room, t_31, 1);
        acc[0] = (t_30 ? t_31 : t_32);
        acc_upper_4[0] = (t_30 ? t_32 : t_31);
        acc[0] = (acc[0] + acc_upper_4[0]);
        const float t_33 = (1.0f / sqrt(((acc[0] * t_15) + 1e-05f)));
        for (int i2 = lane; i2 < 40; i2 += 32) {
            float acc_2[1];
            acc_2[0] = 0.0f;
            for (int i1_2 = 0; i1_2 < 96; i1_2++) {
                acc_2[0] = (acc_2[0] + ((X[96*i0 + i1_2] + t_16) * W[40*i1_2 + i2]));
            }
            Y[40*i0 + i2] = (t_33 * acc_2[0]);
        }
    }
}
