// tile order=i0,i1,i2,i3 parallel=i0 tile=i3:16,i1:4
// Y[i0, i1, i2, i3] = sum[i4, i5, i6](X[i0, i4, i2 + i5 - 1, i3 + i6 - 1] * W[i1, i4, i5, i6], where=(1 <= i2 +
//     i5, 1 <= i3 + i6, i2 + i5 <= 17, i3 + i6 <= 19))
// schedule: tile order=i0,i1,i2,i3 parallel=i0 tile=i3:16,i1:4
void Y(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict X = buffers[0];
    const float *restrict W = buffers[1];
    float *restrict Y = buffers[2];
    (void)buffers, (void)dims, (void)scratch;
#if 72352 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 72352 + TE_WORD * 2046 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i0 = 0; i0 < 2; i0++) {
        for (int64_t i1 = 0; i1 < 4; i1 += 4) {
            for (int64_t i2 = 0; i2 < 17; i2++) {
                for (int64_t i3 = 0; i3 < 19; i3 += 16) {
                    const int64_t i3_at = te_min_i64(i3, 3);
                    f32x8 acc_0;
                    f32x8 acc_8;
                    f32x8 acc_16;
                    f32x8 acc_24;
                    f32x8 acc_32;
                    f32x8 acc_40;
                    f32x8 acc_48;
                    f32x8 acc_56;
                    float acc_1[64] __attribute__((aligned(64)));
                    te_store_f32x8(acc_1 + 0, te_splat_f32x8(0.0f));
                    te_store_f32x8(acc_1 + 8, te_splat_f32x8(0.0f));
                    te_store_f32x8(acc_1 + 16, te_splat_f32x8(0.0f));
                    te_store_f32x8(acc_1 + 24, te_splat_f32x8(0.0f));
                    te_store_f32x8(acc_1 + 32, te_splat_f32x8(0.0f));
                    te_store_f32x8(acc_1 + 40, te_splat_f32x8(0.0f));
                    te_store_f32x8(acc_1 + 48, te_splat_f32x8(0.0f));
                    te_store_f32x8(acc_1 + 56, te_splat_f32x8(0.0f));
                    for (int64_t i4 = 0; i4 < 3; i4++) {
                        const int64_t i5_lo = te_max_i64(0, (-i2 + 1));
                        const int64_t i5_hi = te_min_i64(3, (-i2 + 18));
                        for (int64_t i5 = i5_lo; i5 < i5_hi; i5++) {
                            const int64_t i6_lo = te_max_i64(0, (-i3_at - 14));
                            const int64_t i6_hi = te_min_i64(3, (-i3_at + 20));
                            const int64_t i6_firm = te_max_i64(te_min_i64(te_max_i64(te_max_i64(0, (-i3_at + 1)), (-i3_at - 14)), i6_hi), i6_lo);
                            for (int64_t i6 = i6_lo; i6 < i6_firm; i6++) {
                                for (int64_t i3_e_11 = 0; i3_e_11 < 16; i3_e_11++) {
                                    const float t_10 = acc_1[i3_e_11];
                                    acc_1[i3_e_11] = ((0 <= (i3_at + i3_e_11 + i6 - 1)) ? ((0 <= (-i3_at - i3_e_11 - i6 + 19)) ? (t_10 + (X[969*i0 + 19*i2 + i3_at + i3_e_11 + 323*i4 + 19*i5 + i6 - 20] * W[27*i1 + 9*i4 + 3*i5 + i6])) : t_10) : t_10);
                                }
                                for (int64_t i3_e_13 = 0; i3_e_13 < 16; i3_e_13++) {
                                    const float t_12 = acc_1[i3_e_13 + 16];
                                    acc_1[i3_e_13 + 16] = ((0 <= (i3_at + i3_e_13 + i6 - 1)) ? ((0 <= (-i3_at - i3_e_13 - i6 + 19)) ? (t_12 + (X[969*i0 + 19*i2 + i3_at + i3_e_13 + 323*i4 + 19*i5 + i6 - 20] * W[27*i1 + 9*i4 + 3*i5 + i6 + 27])) : t_12) : t_12);
                                }
                                for (int64_t i3_e_15 = 0; i3_e_15 < 16; i3_e_15++) {
                                    const float t_14 = acc_1[i3_e_15 + 32];
                                    acc_1[i3_e_15 + 32] = ((0 <= (i3_at + i3_e_15 + i6 - 1)) ? ((0 <= (-i3_at - i3_e_15 - i6 + 19)) ? (t_14 + (X[969*i0 + 19*i2 + i3_at + i3_e_15 + 323*i4 + 19*i5 + i6 - 20] * W[27*i1 + 9*i4 + 3*i5 + i6 + 54])) : t_14) : t_14);
                                }
                                for (int64_t i3_e_17 = 0; i3_e_17 < 16; i3_e_17++) {
                                    const float t_16 = acc_1[i3_e_17 + 48];
                                    acc_1[i3_e_17 + 48] = ((0 <= (i3_at + i3_e_17 + i6 - 1)) ? ((0 <= (-i3_at - i3_e_17 - i6 + 19)) ? (t_16 + (X[969*i0 + 19*i2 + i3_at + i3_e_17 + 323*i4 + 19*i5 + i6 - 20] * W[27*i1 + 9*i4 + 3*i5 + i6 + 81])) : t_16) : t_16);
                                }
                            }
                            const int64_t i6_sure = te_max_i64(te_min_i64(te_min_i64(3, (-i3_at + 5)), (-i3_at + 20)), i6_firm);
                            for (int64_t i6_1 = i6_firm; i6_1 < i6_sure; i6_1++) {
                                te_store_f32x8(acc_1 + 0, (te_load_f32x8(acc_1 + 0) + (te_load_f32x8(X + (969*i0 + 19*i2 + i3_at + 323*i4 + 19*i5 + i6_1 - 20)) * te_splat_f32x8(W[27*i1 + 9*i4 + 3*i5 + i6_1]))));
                                te_store_f32x8(acc_1 + 8, (te_load_f32x8(acc_1 + 8) + (te_load_f32x8(X + (969*i0 + 19*i2 + i3_at + 323*i4 + 19*i5 + i6_1 - 12)) * te_splat_f32x8(W[27*i1 + 9*i4 + 3*i5 + i6_1]))));
                                te_store_f32x8(acc_1 + 16, (te_load_f32x8(acc_1 + 16) + (te_load_f32x8(X + (969*i0 + 19*i2 + i3_at + 323*i4 + 19*i5 + i6_1 - 20)) * te_splat_f32x8(W[27*i1 + 9*i4 + 3*i5 + i6_1 + 27]))));
                                te_store_f32x8(acc_1 + 24, (te_load_f32x8(acc_1 + 24) + (te_load_f32x8(X + (969*i0 + 19*i2 + i3_at + 323*i4 + 19*i5 + i6_1 - 12)) * te_splat_f32x8(W[27*i1 + 9*i4 + 3*i5 + i6_1 + 27]))));
                                te_store_f32x8(acc_1 + 32, (te_load_f32x8(acc_1 + 32) + (te_load_f32x8(X + (969*i0 + 19*i2 + i3_at + 323*i4 + 19*i5 + i6_1 - 20)) * te_splat_f32x8(W[27*i1 + 9*i4 + 3*i5 + i6_1 + 54]))));
                                te_store_f32x8(acc_1 + 40, (te_load_f32x8(acc_1 + 40) + (te_load_f32x8(X + (969*i0 + 19*i2 + i3_at + 323*i4 + 19*i5 + i6_1 - 12)) * te_splat_f32x8(W[27*i1 + 9*i4 + 3*i5 + i6_1 + 54]))));
                                te_store_f32x8(acc_1 + 48, (te_load_f32x8(acc_1 + 48) + (te_load_f32x8(X + (969*i0 + 19*i2 + i3_at + 323*i4 + 19*i5 + i6_1 - 20)) * te_splat_f32x8(W[27*i1 + 9*i4 + 3*i5 + i6_1 + 81]))));
                                te_store_f32x8(acc_1 + 56, (te_load_f32x8(acc_1 + 56) + (te_load_f32x8(X + (969*i0 + 19*i2 + i3_at + 323*i4 + 19*i5 + i6_1 - 12)) * te_splat_f32x8(W[27*i1 + 9*i4 + 3*i5 + i6_1 + 81]))));
                            }
                            for (int64_t i6_2 = i6_sure; i6_2 < i6_hi; i6_2++) {
                                for (int64_t i3_e_31 = 0; i3_e_31 < 16; i3_e_31++) {
                                    const float t_30 = acc_1[i3_e_31];
                                    acc_1[i3_e_31] = ((0 <= (i3_at + i3_e_31 + i6_2 - 1)) ? ((0 <= (-i3_at - i3_e_31 - i6_2 + 19)) ? (t_30 + (X[969*i0 + 19*i2 + i3_at + i3_e_31 + 323*i4 + 19*i5 + i6_2 - 20] * W[27*i1 + 9*i4 + 3*i5 + i6_2])) : t_30) : t_30);
                                }
                                for (int64_t i3_e_33 = 0; i3_e_33 < 16; i3_e_33++) {
                                    const float t_32 = acc_1[i3_e_33 + 16];
                                    acc_1[i3_e_33 + 16] = ((0 <= (i3_at + i3_e_33 + i6_2 - 1)) ? ((0 <= (-i3_at - i3_e_33 - i6_2 + 19)) ? (t_32 + (X[969*i0 + 19*i2 + i3_at + i3_e_33 + 323*i4 + 19*i5 + i6_2 - 20] * W[27*i1 + 9*i4 + 3*i5 + i6_2 + 27])) : t_32) : t_32);
                                }
                                for (int64_t i3_e_35 = 0; i3_e_35 < 16; i3_e_35++) {
                                    const float t_34 = acc_1[i3_e_35 + 32];
                                    acc_1[i3_e_35 + 32] = ((0 <= (i3_at + i3_e_35 + i6_2 - 1)) ? ((0 <= (-i3_at - i3_e_35 - i6_2 + 19)) ? (t_34 + (X[969*i0 + 19*i2 + i3_at + i3_e_35 + 323*i4 + 19*i5 + i6_2 - 20] * W[27*i1 + 9*i4 + 3*i5 + i6_2 + 54])) : t_34) : t_34);
                                }
                                for (int64_t i3_e_37 = 0; i3_e_37 < 16; i3_e_37++) {
                                    const float t_36 = acc_1[i3_e_37 + 48];
                                    acc_1[i3_e_37 + 48] = ((0 <= (i3_at + i3_e_37 + i6_2 - 1)) ? ((0 <= (-i3_at - i3_e_37 - i6_2 + 19)) ? (t_36 + (X[969*i0 + 19*i2 + i3_at + i3_e_37 + 323*i4 + 19*i5 + i6_2 - 20] * W[27*i1 + 9*i4 + 3*i5 + i6_2 + 81])) : t_36) : t_36);
                                }
                            }
                        }
                    }
                    acc_0 = te_load_f32x8(acc_1 + 0);
                    acc_8 = te_load_f32x8(acc_1 + 8);
                    acc_16 = te_load_f32x8(acc_1 + 16);
                    acc_24 = te_load_f32x8(acc_1 + 24);
                    acc_32 = te_load_f32x8(acc_1 + 32);
                    acc_40 = te_load_f32x8(acc_1 + 40);
                    acc_48 = te_load_f32x8(acc_1 + 48);
                    acc_56 = te_load_f32x8(acc_1 + 56);
                    te_store_f32x8(Y + (1292*i0 + 323*i1 + 19*i2 + i3_at), acc_0);
                    te_store_f32x8(Y + (1292*i0 + 323*i1 + 19*i2 + i3_at + 8), acc_8);
                    te_store_f32x8(Y + (1292*i0 + 323*i1 + 19*i2 + i3_at + 323), acc_16);
                    te_store_f32x8(Y + (1292*i0 + 323*i1 + 19*i2 + i3_at + 331), acc_24);
                    te_store_f32x8(Y + (1292*i0 + 323*i1 + 19*i2 + i3_at + 646), acc_32);
                    te_store_f32x8(Y + (1292*i0 + 323*i1 + 19*i2 + i3_at + 654), acc_40);
                    te_store_f32x8(Y + (1292*i0 + 323*i1 + 19*i2 + i3_at + 969), acc_48);
                    te_store_f32x8(Y + (1292*i0 + 323*i1 + 19*i2 + i3_at + 977), acc_56);
                }
            }
        }
    }
}
