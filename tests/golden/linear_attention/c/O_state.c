// scan order=i1,i2 parallel=i2 tile=i2:4
// O_state[i0, i1, i2] = sum.scan[i0](O_added[i0, i1, i2])
// schedule: scan order=i1,i2 parallel=i2 tile=i2:4
void O_state(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict O_added = buffers[0];
    float *restrict O_state = buffers[1];
    (void)buffers, (void)dims, (void)scratch;
    for (int64_t i1 = 0; i1 < 3; i1++) {
#if 30 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 30 + TE_WORD * 30 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
        for (int64_t i2 = 0; i2 < 5; i2 += 4) {
            const int64_t i2_at = te_min_i64(i2, 1);
            f32x4 acc;
            acc = te_splat_f32x4(0.0f);
            for (int64_t i0 = 0; i0 < 2; i0++) {
                acc = (acc + te_load_f32x4(O_added + (15*i0 + 5*i1 + i2_at)));
                te_store_f32x4(O_state + (15*i0 + 5*i1 + i2_at), acc);
            }
        }
    }
}
