// split order=i0,i1 parallel=i0 tile=i1:16 fold=i1:lanes:32 keep=i1
// P[i0, i1] = exp(X[i0, i1] - pass.c0[i1](X[i0, i1])) / sum[i1](exp(X[i0, i1] - pass.c0[i1](X[i0, i1])))
// schedule: split order=i0,i1 parallel=i0 tile=i1:16 fold=i1:lanes:32 keep=i1
void P(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict X = buffers[0];
    float *restrict P = buffers[1];
    (void)buffers, (void)dims, (void)scratch;
#if 1274761 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 1274761 + TE_WORD * 4847 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i0 = 0; i0 < 37; i0++) {
        float acc;
        acc = -INFINITY;
        f32x8 acc_1_0;
        f32x8 acc_1_8;
        f32x8 acc_1_16;
        f32x8 acc_1_24;
        acc_1_0 = te_splat_f32x8(-INFINITY);
        acc_1_8 = te_splat_f32x8(-INFINITY);
        acc_1_16 = te_splat_f32x8(-INFINITY);
        acc_1_24 = te_splat_f32x8(-INFINITY);
        for (int64_t i1_1 = 0; i1_1 < 128; i1_1 += 32) {
            acc_1_0 = te_max_f32x8(acc_1_0, te_load_f32x8(X + (131*i0 + i1_1)));
            acc_1_8 = te_max_f32x8(acc_1_8, te_load_f32x8(X + (131*i0 + i1_1 + 8)));
            acc_1_16 = te_max_f32x8(acc_1_16, te_load_f32x8(X + (131*i0 + i1_1 + 16)));
            acc_1_24 = te_max_f32x8(acc_1_24, te_load_f32x8(X + (131*i0 + i1_1 + 24)));
        }
        for (int64_t i1_2 = 128; i1_2 < 131; i1_2 += 32) {
            const int64_t i1_at_1 = te_min_i64(i1_2, 99);
            const f32x8 t_6 = acc_1_0;
            acc_1_0 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at_1), -1073741824), 1073741824)))), te_max_f32x8(t_6, te_load_f32x8(X + (131*i0 + i1_at_1))), t_6);
            const f32x8 t_7 = acc_1_8;
            acc_1_8 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at_1 + 8), -1073741824), 1073741824)))), te_max_f32x8(t_7, te_load_f32x8(X + (131*i0 + i1_at_1 + 8))), t_7);
            const f32x8 t_8 = acc_1_16;
            acc_1_16 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at_1 + 16), -1073741824), 1073741824)))), te_max_f32x8(t_8, te_load_f32x8(X + (131*i0 + i1_at_1 + 16))), t_8);
            const f32x8 t_9 = acc_1_24;
            acc_1_24 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at_1 + 24), -1073741824), 1073741824)))), te_max_f32x8(t_9, te_load_f32x8(X + (131*i0 + i1_at_1 + 24))), t_9);
        }
        acc_1_0 = te_max_f32x8(acc_1_0, acc_1_16);
        acc_1_8 = te_max_f32x8(acc_1_8, acc_1_24);
        acc_1_0 = te_max_f32x8(acc_1_0, acc_1_8);
        acc = te_max_f32(acc, te_max_f32(te_max_f32(te_max_f32(acc_1_0[0], acc_1_0[1]), te_max_f32(acc_1_0[2], acc_1_0[3])), te_max_f32(te_max_f32(acc_1_0[4], acc_1_0[5]), te_max_f32(acc_1_0[6], acc_1_0[7]))));
        float row[131] __attribute__((aligned(64)));
        float acc_2;
        acc_2 = 0.0f;
        f32x8 acc_3_0;
        f32x8 acc_3_8;
        f32x8 acc_3_16;
        f32x8 acc_3_24;
        acc_3_0 = te_splat_f32x8(0.0f);
        acc_3_8 = te_splat_f32x8(0.0f);
        acc_3_16 = te_splat_f32x8(0.0f);
        acc_3_24 = te_splat_f32x8(0.0f);
        const float t_1 = (-acc);
        for (int64_t i1_3 = 0; i1_3 < 128; i1_3 += 32) {
            const f32x8 t_10 = te_exp_f32x8((te_load_f32x8(X + (131*i0 + i1_3)) + te_splat_f32x8(t_1)));
            te_store_f32x8(row + i1_3, t_10);
            acc_3_0 = (acc_3_0 + t_10);
            const f32x8 t_11 = te_exp_f32x8((te_load_f32x8(X + (131*i0 + i1_3 + 8)) + te_splat_f32x8(t_1)));
            te_store_f32x8(row + (i1_3 + 8), t_11);
            acc_3_8 = (acc_3_8 + t_11);
            const f32x8 t_12 = te_exp_f32x8((te_load_f32x8(X + (131*i0 + i1_3 + 16)) + te_splat_f32x8(t_1)));
            te_store_f32x8(row + (i1_3 + 16), t_12);
            acc_3_16 = (acc_3_16 + t_12);
            const f32x8 t_13 = te_exp_f32x8((te_load_f32x8(X + (131*i0 + i1_3 + 24)) + te_splat_f32x8(t_1)));
            te_store_f32x8(row + (i1_3 + 24), t_13);
            acc_3_24 = (acc_3_24 + t_13);
        }
        for (int64_t i1_4 = 128; i1_4 < 131; i1_4 += 32) {
            const int64_t i1_at_2 = te_min_i64(i1_4, 99);
            const f32x8 t_14 = acc_3_0;
            const f32x8 t_15 = te_exp_f32x8((te_load_f32x8(X + (131*i0 + i1_at_2)) + te_splat_f32x8(t_1)));
            te_store_f32x8(row + i1_at_2, t_15);
            acc_3_0 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_4 + i1_at_2), -1073741824), 1073741824)))), (t_14 + t_15), t_14);
            const f32x8 t_16 = acc_3_8;
            const f32x8 t_17 = te_exp_f32x8((te_load_f32x8(X + (131*i0 + i1_at_2 + 8)) + te_splat_f32x8(t_1)));
            te_store_f32x8(row + (i1_at_2 + 8), t_17);
            acc_3_8 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_4 + i1_at_2 + 8), -1073741824), 1073741824)))), (t_16 + t_17), t_16);
            const f32x8 t_18 = acc_3_16;
            const f32x8 t_19 = te_exp_f32x8((te_load_f32x8(X + (131*i0 + i1_at_2 + 16)) + te_splat_f32x8(t_1)));
            te_store_f32x8(row + (i1_at_2 + 16), t_19);
            acc_3_16 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_4 + i1_at_2 + 16), -1073741824), 1073741824)))), (t_18 + t_19), t_18);
            const f32x8 t_20 = acc_3_24;
            const f32x8 t_21 = te_exp_f32x8((te_load_f32x8(X + (131*i0 + i1_at_2 + 24)) + te_splat_f32x8(t_1)));
            te_store_f32x8(row + (i1_at_2 + 24), t_21);
            acc_3_24 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_4 + i1_at_2 + 24), -1073741824), 1073741824)))), (t_20 + t_21), t_20);
        }
        acc_3_0 = (acc_3_0 + acc_3_16);
        acc_3_8 = (acc_3_8 + acc_3_24);
        acc_3_0 = (acc_3_0 + acc_3_8);
        acc_2 = (acc_2 + (((acc_3_0[0] + acc_3_0[1]) + (acc_3_0[2] + acc_3_0[3])) + ((acc_3_0[4] + acc_3_0[5]) + (acc_3_0[6] + acc_3_0[7]))));
        const float t_5 = (1.0f / acc_2);
        for (int64_t i1 = 0; i1 < 131; i1 += 16) {
            const int64_t i1_at = te_min_i64(i1, 115);
            te_store_f32x8(P + (131*i0 + i1_at), (te_load_f32x8(row + i1_at) * te_splat_f32x8(t_5)));
            te_store_f32x8(P + (131*i0 + i1_at + 8), (te_load_f32x8(row + (i1_at + 8)) * te_splat_f32x8(t_5)));
        }
    }
}
