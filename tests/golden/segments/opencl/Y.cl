// split fold=i1:warp,i3:warp grid=i0 warp=i2; blocks of 32 threads
// Y[i0, i2] = sum[i1](X[i1, i2], where=(sum[i3](1, where=cast(key[i3], i64) < i0) <= i1, i1 < sum[i3](1,
//     where=cast(key[i3], i64) <= i0)))
// schedule: split fold=i1:warp,i3:warp grid=i0 warp=i2
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k0_Y(
    global const int *restrict key,
    global const float *restrict X,
    global float *restrict Y) {
    const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);
    const int te_thread = (int)get_local_id(0) & 127, te_group = (int)get_local_id(0) / 128;
    const int lane = (te_thread % 32);
    const int warp = (te_thread / 32);
    const int row = (te_block + 4*te_group + warp);
    if (row < 7) {
        const int i0 = row;
        long acc_1[1];
        acc_1[0] = 0L;
        long i3_count[1];
        i3_count[0] = 0L;
        for (int i3_step = 0; i3_step < 6; i3_step++) {
            const long i3_probe = te_add_i64(i3_count[0], te_shl_i64(1L, te_add_i64(5L, te_mul_i64((-1L), ((long)i3_step)))));
            if (i3_probe <= 53) {
                const long i3_last = te_add_i64(i3_probe, (-1L));
                if (((long)key[i3_last]) < i0) {
                    i3_count[0] = i3_probe;
                }
            }
        }
        const long i3_hi = te_max_i64(te_min_i64(53L, i3_count[0]), 0L);
        acc_1[0] = te_add_i64(acc_1[0], te_add_i64(i3_hi, te_neg_i64(0L)));
        long acc_2[1];
        acc_2[0] = 0L;
        long i3_count_1[1];
        i3_count_1[0] = 0L;
        for (int i3_step_1 = 0; i3_step_1 < 6; i3_step_1++) {
            const long i3_probe_1 = te_add_i64(i3_count_1[0], te_shl_i64(1L, te_add_i64(5L, te_mul_i64((-1L), ((long)i3_step_1)))));
            if (i3_probe_1 <= 53) {
                const long i3_last_1 = te_add_i64(i3_probe_1, (-1L));
                if (((long)key[i3_last_1]) <= i0) {
                    i3_count_1[0] = i3_probe_1;
                }
            }
        }
        const long i3_hi_1 = te_max_i64(te_min_i64(53L, i3_count_1[0]), 0L);
        acc_2[0] = te_add_i64(acc_2[0], te_add_i64(i3_hi_1, te_neg_i64(0L)));
        for (int i2 = lane; i2 < 5; i2 += 32) {
            float acc[1];
            acc[0] = 0.0f;
            const long i1_lo = te_max_i64(0L, te_min_i64(te_max_i64(acc_1[0], 0L), 53L));
            const long i1_hi = te_max_i64(te_min_i64(53L, te_min_i64(te_max_i64(acc_2[0], 0L), 53L)), i1_lo);
            for (int i1 = i1_lo; i1 < i1_hi; i1++) {
                acc[0] = (acc[0] + X[5*i1 + i2]);
            }
            Y[5*i0 + i2] = acc[0];
        }
    }
}
