void rows(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict x = buffers[0];
    float *restrict top = buffers[1];
    (void)buffers, (void)dims, (void)scratch;
#pragma omp parallel for schedule(guided) if (7100 > TE_WORK)
    for (int64_t i = 0; i < 100; i++) {
        float acc;
        acc = -INFINITY;
        float acc_1[16] __attribute__((aligned(64)));
        te_store_f32x8(acc_1 + 0, te_splat_f32x8(-INFINITY));
        te_store_f32x8(acc_1 + 8, te_splat_f32x8(-INFINITY));
        for (int64_t j = 0; j < 64; j += 16) {
            te_store_f32x8(acc_1 + 0, te_max_f32x8(te_load_f32x8(acc_1 + 0), te_load_f32x8(x + (70*i + j))));
            te_store_f32x8(acc_1 + 8, te_max_f32x8(te_load_f32x8(acc_1 + 8), te_load_f32x8(x + (70*i + j + 8))));
        }
        te_store_f32x8(acc_1 + 0, te_max_f32x8(te_load_f32x8(acc_1 + 0), te_load_f32x8(acc_1 + 8)));
        te_store_f32x4(acc_1 + 0, te_max_f32x4(te_load_f32x4(acc_1 + 0), te_load_f32x4(acc_1 + 4)));
        acc_1[0] = te_max_f32(acc_1[0], acc_1[2]);
        acc_1[1] = te_max_f32(acc_1[1], acc_1[3]);
        acc_1[0] = te_max_f32(acc_1[0], acc_1[1]);
        acc = te_max_f32(acc, acc_1[0]);
        for (int64_t j_1 = 64; j_1 < 70; j_1++) {
            acc = te_max_f32(acc, x[70*i + j_1]);
        }
        top[i] = acc;
    }
}
