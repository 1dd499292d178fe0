// top[i] = max[j](x[i, j])
// schedule: split parallel=i fold=j:lanes:16
void rows(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict x = buffers[0];
    float *restrict top = buffers[1];
    (void)buffers, (void)dims, (void)scratch;
#if 7100 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 7100 + TE_WORD * 7000 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i = 0; i < 100; i++) {
        float acc;
        acc = -INFINITY;
        f32x8 acc_1_0;
        f32x8 acc_1_8;
        acc_1_0 = te_splat_f32x8(-INFINITY);
        acc_1_8 = te_splat_f32x8(-INFINITY);
        for (int64_t j = 0; j < 64; j += 16) {
            acc_1_0 = te_max_f32x8(acc_1_0, te_load_f32x8(x + (70*i + j)));
            acc_1_8 = te_max_f32x8(acc_1_8, te_load_f32x8(x + (70*i + j + 8)));
        }
        for (int64_t j_1 = 64; j_1 < 70; j_1 += 16) {
            const int64_t j_at = te_min_i64(j_1, 54);
            const f32x8 t_1 = acc_1_0;
            acc_1_0 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-j_1 + j_at), -1073741824), 1073741824)))), te_max_f32x8(t_1, te_load_f32x8(x + (70*i + j_at))), t_1);
            const f32x8 t_2 = acc_1_8;
            acc_1_8 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-j_1 + j_at + 8), -1073741824), 1073741824)))), te_max_f32x8(t_2, te_load_f32x8(x + (70*i + j_at + 8))), t_2);
        }
        acc_1_0 = te_max_f32x8(acc_1_0, acc_1_8);
        acc = te_max_f32(acc, te_max_f32(te_max_f32(te_max_f32(acc_1_0[0], acc_1_0[1]), te_max_f32(acc_1_0[2], acc_1_0[3])), te_max_f32(te_max_f32(acc_1_0[4], acc_1_0[5]), te_max_f32(acc_1_0[6], acc_1_0[7]))));
        top[i] = acc;
    }
}
