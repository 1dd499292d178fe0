// split order=i0,i2 parallel=i0 tile=i2:4 fold=i3:lanes:32
// Y[i0, i2] = sum[i1](X[i1, i2], where=(sum[i3](1, where=cast(key[i3], i64) < i0) <= i1, i1 < sum[i3](1,
//     where=cast(key[i3], i64) <= i0)))
// schedule: split order=i0,i2 parallel=i0 tile=i2:4 fold=i3:lanes:32
void Y(void **buffers, const int64_t *dims, char *scratch) {
    const int32_t *restrict key = buffers[0];
    const float *restrict X = buffers[1];
    float *restrict Y = buffers[2];
    (void)buffers, (void)dims, (void)scratch;
#if 5600 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 5600 + TE_WORD * 318 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i0 = 0; i0 < 7; i0++) {
        int64_t acc_2;
        acc_2 = 0;
        int64_t i3_count;
        i3_count = 0;
        for (int64_t i3_step = 0; i3_step < 6; i3_step++) {
            const int64_t i3_probe = (i3_count + te_shl_i64(1, (-i3_step + 5)));
            if (i3_probe <= 53) {
                const int64_t i3_last = (i3_probe + -1);
                if (((int64_t)key[i3_last]) < i0) {
                    i3_count = i3_probe;
                }
            }
        }
        const int64_t i3_hi = te_max_i64(te_min_i64(53, i3_count), 0);
        acc_2 = (acc_2 + (i3_hi + (-0)));
        int64_t acc_3;
        acc_3 = 0;
        int64_t i3_count_1;
        i3_count_1 = 0;
        for (int64_t i3_step_1 = 0; i3_step_1 < 6; i3_step_1++) {
            const int64_t i3_probe_1 = (i3_count_1 + te_shl_i64(1, (-i3_step_1 + 5)));
            if (i3_probe_1 <= 53) {
                const int64_t i3_last_1 = (i3_probe_1 + -1);
                if (((int64_t)key[i3_last_1]) <= i0) {
                    i3_count_1 = i3_probe_1;
                }
            }
        }
        const int64_t i3_hi_1 = te_max_i64(te_min_i64(53, i3_count_1), 0);
        acc_3 = (acc_3 + (i3_hi_1 + (-0)));
        for (int64_t i2 = 0; i2 < 5; i2 += 4) {
            const int64_t i2_at = te_min_i64(i2, 1);
            f32x4 acc;
            f32x4 acc_1;
            acc_1 = te_splat_f32x4(0.0f);
            const int64_t i1_lo = te_max_i64(0, te_min_i64(te_max_i64(acc_2, 0), 53));
            const int64_t i1_hi = te_max_i64(te_min_i64(53, te_min_i64(te_max_i64(acc_3, 0), 53)), i1_lo);
            for (int64_t i1 = i1_lo; i1 < i1_hi; i1++) {
                acc_1 = (acc_1 + te_load_f32x4(X + (5*i1 + i2_at)));
            }
            acc = acc_1;
            te_store_f32x4(Y + (5*i0 + i2_at), acc);
        }
    }
}
