// point order=i0,i1 parallel=i0 tile=i1:4
// O[i0, i1] = O_chunks[i0 // 3, i0 % 3, i1]
// schedule: point order=i0,i1 parallel=i0 tile=i1:4
void O(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict O_chunks = buffers[0];
    float *restrict O = buffers[1];
    (void)buffers, (void)dims, (void)scratch;
#if 35 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 35 + TE_WORD * 5 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i0 = 0; i0 < 7; i0++) {
        const int64_t t = te_imod_i64(i0, 3);
        const int64_t t_1 = te_idiv_i64(i0, 3);
        for (int64_t i1 = 0; i1 < 5; i1 += 4) {
            const int64_t i1_at = te_min_i64(i1, 1);
            te_store_f32x4(O + (5*i0 + i1_at), te_load_f32x4(O_chunks + ((i1_at + (te_max_i64(te_min_i64(t, 2), 0) * 5)) + (te_max_i64(te_min_i64(t_1, 2), 0) * 15))));
        }
    }
}
