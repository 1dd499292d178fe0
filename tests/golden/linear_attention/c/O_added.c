// tile order=i0,i1,i2 parallel=i0 tile=i2:4,i1:3
// O_added[i0, i1, i2] = sum[i3:3](K[3*i0 + i3, i1] * V[3*i0 + i3, i2])
// schedule: tile order=i0,i1,i2 parallel=i0 tile=i2:4,i1:3
void O_added(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict K = buffers[0];
    const float *restrict V = buffers[1];
    float *restrict O_added = buffers[2];
    (void)buffers, (void)dims, (void)scratch;
#if 120 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 120 + TE_WORD * 48 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i0 = 0; i0 < 2; i0++) {
        for (int64_t i1 = 0; i1 < 3; i1 += 3) {
            for (int64_t i2 = 0; i2 < 5; i2 += 4) {
                const int64_t i2_at = te_min_i64(i2, 1);
                f32x4 acc_0;
                f32x4 acc_4;
                f32x4 acc_8;
                f32x4 acc_1_0;
                f32x4 acc_1_4;
                f32x4 acc_1_8;
                acc_1_0 = te_splat_f32x4(0.0f);
                acc_1_4 = te_splat_f32x4(0.0f);
                acc_1_8 = te_splat_f32x4(0.0f);
                for (int64_t i3 = 0; i3 < 3; i3++) {
                    acc_1_0 = (acc_1_0 + (te_splat_f32x4(K[9*i0 + i1 + 3*i3]) * te_load_f32x4(V + (15*i0 + i2_at + 5*i3))));
                    acc_1_4 = (acc_1_4 + (te_splat_f32x4(K[9*i0 + i1 + 3*i3 + 1]) * te_load_f32x4(V + (15*i0 + i2_at + 5*i3))));
                    acc_1_8 = (acc_1_8 + (te_splat_f32x4(K[9*i0 + i1 + 3*i3 + 2]) * te_load_f32x4(V + (15*i0 + i2_at + 5*i3))));
                }
                acc_0 = acc_1_0;
                acc_4 = acc_1_4;
                acc_8 = acc_1_8;
                te_store_f32x4(O_added + (15*i0 + 5*i1 + i2_at), acc_0);
                te_store_f32x4(O_added + (15*i0 + 5*i1 + i2_at + 5), acc_4);
                te_store_f32x4(O_added + (15*i0 + 5*i1 + i2_at + 10), acc_8);
            }
        }
    }
}
