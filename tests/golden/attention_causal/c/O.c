// stream parallel=i0 tile=i5:*,i2:16 fold=i3:stream:32 stage=K
// O[i0, i1, i2, i5] = recip(pass[i3](sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25, exp(sum[i4](Q[i0,
//     i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 + statistic("at")), exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3,
//     i4]) * 0.25 + statistic("at")) * V[i0, i1, i3, i5], where=i3 <= i2).c1) * pass[i3](sum[i4](Q[i0, i1, i2,
//     i4] * K[i0, i1, i3, i4]) * 0.25, exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 +
//     statistic("at")), exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 + statistic("at")) * V[i0, i1,
//     i3, i5], where=i3 <= i2).c2
// schedule: stream parallel=i0 tile=i5:*,i2:16 fold=i3:stream:32 stage=K
void O(void **buffers, const int64_t *dims, char *scratch) {
    const te_bf16 *restrict Q = buffers[0];
    const te_bf16 *restrict K = buffers[1];
    const te_bf16 *restrict V = buffers[2];
    te_bf16 *restrict O = buffers[3];
    (void)buffers, (void)dims, (void)scratch;
#if 1579456 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 1579456 + TE_WORD * 3552 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i0 = 0; i0 < 2; i0++) {
        for (int64_t i1 = 0; i1 < 2; i1++) {
            float K_1[848] __attribute__((aligned(64)));
            for (int64_t i3_1 = 0; i3_1 < 32; i3_1 += 16) {
                for (int64_t i4 = 0; i4 < 16; i4++) {
                    for (int64_t i3_e = 0; i3_e < 16; i3_e++) {
                        K_1[i3_1 + i3_e + 53*i4] = te_of_bf16(K[1184*i0 + 592*i1 + 16*i3_1 + 16*i3_e + i4]);
                    }
                }
            }
            for (int64_t i3_2 = 32; i3_2 < 37; i3_2++) {
                for (int64_t i4_1 = 0; i4_1 < 16; i4_1++) {
                    K_1[i3_2 + 53*i4_1] = te_of_bf16(K[1184*i0 + 592*i1 + 16*i3_2 + i4_1]);
                }
            }
            for (int64_t i2 = 0; i2 < 37; i2 += 16) {
                const int64_t i2_at = te_min_i64(i2, 21);
                float c0[16] __attribute__((aligned(64)));
                te_store_f32x8(c0 + 0, te_splat_f32x8(-INFINITY));
                te_store_f32x8(c0 + 8, te_splat_f32x8(-INFINITY));
                float c1[16] __attribute__((aligned(64)));
                te_store_f32x8(c1 + 0, te_splat_f32x8(0.0f));
                te_store_f32x8(c1 + 8, te_splat_f32x8(0.0f));
                float c2[256] __attribute__((aligned(64)));
                for (int64_t i2_e_2 = 0; i2_e_2 < 16; i2_e_2++) {
                    te_store_f32x8(c2 + 16*i2_e_2, te_splat_f32x8(0.0f));
                    te_store_f32x8(c2 + (16*i2_e_2 + 8), te_splat_f32x8(0.0f));
                }
                const int64_t i3_hi = te_min_i64(37, (i2_at + 16));
                const int64_t i3_full = (0 + (te_idiv_i64(te_max_i64((te_min_i64(te_min_i64(37, (i2_at + 1)), (i2_at + 16)) + (-0)), 0), 32) * 32));
                for (int64_t i3 = 0; i3 < i3_full; i3 += 32) {
                    float acc[512] __attribute__((aligned(64)));
                    for (int64_t i2_b = 0; i2_b < 16; i2_b += 4) {
                        for (int64_t i3_b = 0; i3_b < 32; i3_b += 16) {
                            f32x8 acc_1_0;
                            f32x8 acc_1_8;
                            f32x8 acc_1_16;
                            f32x8 acc_1_24;
                            f32x8 acc_1_32;
                            f32x8 acc_1_40;
                            f32x8 acc_1_48;
                            f32x8 acc_1_56;
                            acc_1_0 = te_splat_f32x8(0.0f);
                            acc_1_8 = te_splat_f32x8(0.0f);
                            acc_1_16 = te_splat_f32x8(0.0f);
                            acc_1_24 = te_splat_f32x8(0.0f);
                            acc_1_32 = te_splat_f32x8(0.0f);
                            acc_1_40 = te_splat_f32x8(0.0f);
                            acc_1_48 = te_splat_f32x8(0.0f);
                            acc_1_56 = te_splat_f32x8(0.0f);
                            for (int64_t i4_2 = 0; i4_2 < 16; i4_2++) {
                                acc_1_0 = (acc_1_0 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b + i4_2])) * te_load_f32x8(K_1 + (i3 + i3_b + 53*i4_2))));
                                acc_1_8 = (acc_1_8 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b + i4_2])) * te_load_f32x8(K_1 + (i3 + i3_b + 53*i4_2 + 8))));
                                acc_1_16 = (acc_1_16 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b + i4_2 + 16])) * te_load_f32x8(K_1 + (i3 + i3_b + 53*i4_2))));
                                acc_1_24 = (acc_1_24 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b + i4_2 + 16])) * te_load_f32x8(K_1 + (i3 + i3_b + 53*i4_2 + 8))));
                                acc_1_32 = (acc_1_32 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b + i4_2 + 32])) * te_load_f32x8(K_1 + (i3 + i3_b + 53*i4_2))));
                                acc_1_40 = (acc_1_40 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b + i4_2 + 32])) * te_load_f32x8(K_1 + (i3 + i3_b + 53*i4_2 + 8))));
                                acc_1_48 = (acc_1_48 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b + i4_2 + 48])) * te_load_f32x8(K_1 + (i3 + i3_b + 53*i4_2))));
                                acc_1_56 = (acc_1_56 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b + i4_2 + 48])) * te_load_f32x8(K_1 + (i3 + i3_b + 53*i4_2 + 8))));
                            }
                            te_store_f32x8(acc + (32*i2_b + i3_b), acc_1_0);
                            te_store_f32x8(acc + (32*i2_b + i3_b + 8), acc_1_8);
                            te_store_f32x8(acc + (32*i2_b + i3_b + 32), acc_1_16);
                            te_store_f32x8(acc + (32*i2_b + i3_b + 40), acc_1_24);
                            te_store_f32x8(acc + (32*i2_b + i3_b + 64), acc_1_32);
                            te_store_f32x8(acc + (32*i2_b + i3_b + 72), acc_1_40);
                            te_store_f32x8(acc + (32*i2_b + i3_b + 96), acc_1_48);
                            te_store_f32x8(acc + (32*i2_b + i3_b + 104), acc_1_56);
                        }
                    }
                    float c0_tile[16] __attribute__((aligned(64)));
                    te_store_f32x8(c0_tile + 0, te_splat_f32x8(-INFINITY));
                    te_store_f32x8(c0_tile + 8, te_splat_f32x8(-INFINITY));
                    for (int64_t i2_e_7 = 0; i2_e_7 < 16; i2_e_7++) {
                        f32x8 c0_tile_lanes;
                        c0_tile_lanes = te_splat_f32x8(-INFINITY);
                        for (int64_t i3_b_1 = 0; i3_b_1 < 32; i3_b_1 += 8) {
                            c0_tile_lanes = te_max_f32x8(c0_tile_lanes, (te_load_f32x8(acc + (32*i2_e_7 + i3_b_1)) * te_splat_f32x8(0.25f)));
                        }
                        c0_tile[i2_e_7] = te_max_f32(c0_tile[i2_e_7], te_max_f32(te_max_f32(te_max_f32(c0_tile_lanes[0], c0_tile_lanes[1]), te_max_f32(c0_tile_lanes[2], c0_tile_lanes[3])), te_max_f32(te_max_f32(c0_tile_lanes[4], c0_tile_lanes[5]), te_max_f32(c0_tile_lanes[6], c0_tile_lanes[7]))));
                    }
                    float c0_new[16] __attribute__((aligned(64)));
                    te_store_f32x8(c0_new + 0, te_max_f32x8(te_load_f32x8(c0 + 0), te_load_f32x8(c0_tile + 0)));
                    te_store_f32x8(c0_new + 8, te_max_f32x8(te_load_f32x8(c0 + 8), te_load_f32x8(c0_tile + 8)));
                    const f32x8 t_28 = te_load_f32x8(c0 + 0);
                    const f32x8 t_29 = (-t_28);
                    const f32x8 t_30 = (-te_load_f32x8(c0_new + 0));
                    const f32x8 t_31 = te_load_f32x8(c1 + 0);
                    te_store_f32x8(c1 + 0, te_select_f32x8((t_29 == t_30), t_31, te_select_f32x8((t_28 == te_splat_f32x8(-INFINITY)), te_splat_f32x8(0.0f), (te_exp_f32x8((t_30 + (-t_29))) * t_31))));
                    const f32x8 t_32 = te_load_f32x8(c0 + 8);
                    const f32x8 t_33 = (-t_32);
                    const f32x8 t_34 = (-te_load_f32x8(c0_new + 8));
                    const f32x8 t_35 = te_load_f32x8(c1 + 8);
                    te_store_f32x8(c1 + 8, te_select_f32x8((t_33 == t_34), t_35, te_select_f32x8((t_32 == te_splat_f32x8(-INFINITY)), te_splat_f32x8(0.0f), (te_exp_f32x8((t_34 + (-t_33))) * t_35))));
                    for (int64_t i2_e_10 = 0; i2_e_10 < 16; i2_e_10++) {
                        if (!((-c0[i2_e_10]) == (-c0_new[i2_e_10]))) {
                            const float t_4 = c0[i2_e_10];
                            const uint8_t t_5 = (t_4 == -INFINITY);
                            const float t_6 = expf(((-c0_new[i2_e_10]) + (-(-t_4))));
                            te_store_f32x8(c2 + 16*i2_e_10, (t_5 ? te_splat_f32x8(0.0f) : (te_splat_f32x8(t_6) * te_load_f32x8(c2 + 16*i2_e_10))));
                            te_store_f32x8(c2 + (16*i2_e_10 + 8), (t_5 ? te_splat_f32x8(0.0f) : (te_splat_f32x8(t_6) * te_load_f32x8(c2 + (16*i2_e_10 + 8)))));
                        }
                    }
                    float v[512] __attribute__((aligned(64)));
                    for (int64_t i2_e_11 = 0; i2_e_11 < 16; i2_e_11++) {
                        const float t_7 = (-c0_new[i2_e_11]);
                        te_store_f32x8(v + 32*i2_e_11, te_exp_f32x8(((te_load_f32x8(acc + 32*i2_e_11) * te_splat_f32x8(0.25f)) + te_splat_f32x8(t_7))));
                        te_store_f32x8(v + (32*i2_e_11 + 8), te_exp_f32x8(((te_load_f32x8(acc + (32*i2_e_11 + 8)) * te_splat_f32x8(0.25f)) + te_splat_f32x8(t_7))));
                        te_store_f32x8(v + (32*i2_e_11 + 16), te_exp_f32x8(((te_load_f32x8(acc + (32*i2_e_11 + 16)) * te_splat_f32x8(0.25f)) + te_splat_f32x8(t_7))));
                        te_store_f32x8(v + (32*i2_e_11 + 24), te_exp_f32x8(((te_load_f32x8(acc + (32*i2_e_11 + 24)) * te_splat_f32x8(0.25f)) + te_splat_f32x8(t_7))));
                    }
                    for (int64_t i2_e_12 = 0; i2_e_12 < 16; i2_e_12++) {
                        f32x8 c1_lanes;
                        c1_lanes = te_splat_f32x8(0.0f);
                        for (int64_t i3_b_2 = 0; i3_b_2 < 32; i3_b_2 += 8) {
                            c1_lanes = (c1_lanes + te_load_f32x8(v + (32*i2_e_12 + i3_b_2)));
                        }
                        c1[i2_e_12] = (c1[i2_e_12] + (((c1_lanes[0] + c1_lanes[1]) + (c1_lanes[2] + c1_lanes[3])) + ((c1_lanes[4] + c1_lanes[5]) + (c1_lanes[6] + c1_lanes[7]))));
                    }
                    for (int64_t i2_b_1 = 0; i2_b_1 < 16; i2_b_1 += 4) {
                        f32x8 c2_1_0;
                        f32x8 c2_1_8;
                        f32x8 c2_1_16;
                        f32x8 c2_1_24;
                        f32x8 c2_1_32;
                        f32x8 c2_1_40;
                        f32x8 c2_1_48;
                        f32x8 c2_1_56;
                        c2_1_0 = te_load_f32x8(c2 + 16*i2_b_1);
                        c2_1_8 = te_load_f32x8(c2 + (16*i2_b_1 + 8));
                        c2_1_16 = te_load_f32x8(c2 + (16*i2_b_1 + 16));
                        c2_1_24 = te_load_f32x8(c2 + (16*i2_b_1 + 24));
                        c2_1_32 = te_load_f32x8(c2 + (16*i2_b_1 + 32));
                        c2_1_40 = te_load_f32x8(c2 + (16*i2_b_1 + 40));
                        c2_1_48 = te_load_f32x8(c2 + (16*i2_b_1 + 48));
                        c2_1_56 = te_load_f32x8(c2 + (16*i2_b_1 + 56));
                        for (int64_t i3_e_7 = 0; i3_e_7 < 32; i3_e_7++) {
                            c2_1_0 = (c2_1_0 + (te_splat_f32x8(v[32*i2_b_1 + i3_e_7]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3 + 16*i3_e_7))));
                            c2_1_8 = (c2_1_8 + (te_splat_f32x8(v[32*i2_b_1 + i3_e_7]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3 + 16*i3_e_7 + 8))));
                            c2_1_16 = (c2_1_16 + (te_splat_f32x8(v[32*i2_b_1 + i3_e_7 + 32]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3 + 16*i3_e_7))));
                            c2_1_24 = (c2_1_24 + (te_splat_f32x8(v[32*i2_b_1 + i3_e_7 + 32]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3 + 16*i3_e_7 + 8))));
                            c2_1_32 = (c2_1_32 + (te_splat_f32x8(v[32*i2_b_1 + i3_e_7 + 64]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3 + 16*i3_e_7))));
                            c2_1_40 = (c2_1_40 + (te_splat_f32x8(v[32*i2_b_1 + i3_e_7 + 64]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3 + 16*i3_e_7 + 8))));
                            c2_1_48 = (c2_1_48 + (te_splat_f32x8(v[32*i2_b_1 + i3_e_7 + 96]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3 + 16*i3_e_7))));
                            c2_1_56 = (c2_1_56 + (te_splat_f32x8(v[32*i2_b_1 + i3_e_7 + 96]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3 + 16*i3_e_7 + 8))));
                        }
                        te_store_f32x8(c2 + 16*i2_b_1, c2_1_0);
                        te_store_f32x8(c2 + (16*i2_b_1 + 8), c2_1_8);
                        te_store_f32x8(c2 + (16*i2_b_1 + 16), c2_1_16);
                        te_store_f32x8(c2 + (16*i2_b_1 + 24), c2_1_24);
                        te_store_f32x8(c2 + (16*i2_b_1 + 32), c2_1_32);
                        te_store_f32x8(c2 + (16*i2_b_1 + 40), c2_1_40);
                        te_store_f32x8(c2 + (16*i2_b_1 + 48), c2_1_48);
                        te_store_f32x8(c2 + (16*i2_b_1 + 56), c2_1_56);
                    }
                    te_store_f32x8(c0 + 0, te_load_f32x8(c0_new + 0));
                    te_store_f32x8(c0 + 8, te_load_f32x8(c0_new + 8));
                }
                for (int64_t i3_3 = i3_full; i3_3 < i3_hi; i3_3 += 32) {
                    const int64_t i3_at = te_min_i64(i3_3, 5);
                    float acc_2[512] __attribute__((aligned(64)));
                    for (int64_t i2_b_2 = 0; i2_b_2 < 16; i2_b_2 += 4) {
                        for (int64_t i3_b_3 = 0; i3_b_3 < 32; i3_b_3 += 16) {
                            f32x8 acc_3_0;
                            f32x8 acc_3_8;
                            f32x8 acc_3_16;
                            f32x8 acc_3_24;
                            f32x8 acc_3_32;
                            f32x8 acc_3_40;
                            f32x8 acc_3_48;
                            f32x8 acc_3_56;
                            acc_3_0 = te_splat_f32x8(0.0f);
                            acc_3_8 = te_splat_f32x8(0.0f);
                            acc_3_16 = te_splat_f32x8(0.0f);
                            acc_3_24 = te_splat_f32x8(0.0f);
                            acc_3_32 = te_splat_f32x8(0.0f);
                            acc_3_40 = te_splat_f32x8(0.0f);
                            acc_3_48 = te_splat_f32x8(0.0f);
                            acc_3_56 = te_splat_f32x8(0.0f);
                            for (int64_t i4_3 = 0; i4_3 < 16; i4_3++) {
                                acc_3_0 = (acc_3_0 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b_2 + i4_3])) * te_load_f32x8(K_1 + (i3_at + i3_b_3 + 53*i4_3))));
                                acc_3_8 = (acc_3_8 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b_2 + i4_3])) * te_load_f32x8(K_1 + (i3_at + i3_b_3 + 53*i4_3 + 8))));
                                acc_3_16 = (acc_3_16 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b_2 + i4_3 + 16])) * te_load_f32x8(K_1 + (i3_at + i3_b_3 + 53*i4_3))));
                                acc_3_24 = (acc_3_24 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b_2 + i4_3 + 16])) * te_load_f32x8(K_1 + (i3_at + i3_b_3 + 53*i4_3 + 8))));
                                acc_3_32 = (acc_3_32 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b_2 + i4_3 + 32])) * te_load_f32x8(K_1 + (i3_at + i3_b_3 + 53*i4_3))));
                                acc_3_40 = (acc_3_40 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b_2 + i4_3 + 32])) * te_load_f32x8(K_1 + (i3_at + i3_b_3 + 53*i4_3 + 8))));
                                acc_3_48 = (acc_3_48 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b_2 + i4_3 + 48])) * te_load_f32x8(K_1 + (i3_at + i3_b_3 + 53*i4_3))));
                                acc_3_56 = (acc_3_56 + (te_splat_f32x8(te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2_at + 16*i2_b_2 + i4_3 + 48])) * te_load_f32x8(K_1 + (i3_at + i3_b_3 + 53*i4_3 + 8))));
                            }
                            te_store_f32x8(acc_2 + (32*i2_b_2 + i3_b_3), acc_3_0);
                            te_store_f32x8(acc_2 + (32*i2_b_2 + i3_b_3 + 8), acc_3_8);
                            te_store_f32x8(acc_2 + (32*i2_b_2 + i3_b_3 + 32), acc_3_16);
                            te_store_f32x8(acc_2 + (32*i2_b_2 + i3_b_3 + 40), acc_3_24);
                            te_store_f32x8(acc_2 + (32*i2_b_2 + i3_b_3 + 64), acc_3_32);
                            te_store_f32x8(acc_2 + (32*i2_b_2 + i3_b_3 + 72), acc_3_40);
                            te_store_f32x8(acc_2 + (32*i2_b_2 + i3_b_3 + 96), acc_3_48);
                            te_store_f32x8(acc_2 + (32*i2_b_2 + i3_b_3 + 104), acc_3_56);
                        }
                    }
                    float c0_tile_1[16] __attribute__((aligned(64)));
                    te_store_f32x8(c0_tile_1 + 0, te_splat_f32x8(-INFINITY));
                    te_store_f32x8(c0_tile_1 + 8, te_splat_f32x8(-INFINITY));
                    for (int64_t i2_e_21 = 0; i2_e_21 < 16; i2_e_21++) {
                        f32x8 c0_tile_1_lanes;
                        c0_tile_1_lanes = te_splat_f32x8(-INFINITY);
                        for (int64_t i3_b_4 = 0; i3_b_4 < 32; i3_b_4 += 8) {
                            const f32x8 t_60 = c0_tile_1_lanes;
                            c0_tile_1_lanes = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i3_3 + i3_at + i3_b_4), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i3_at - i3_b_4 + i3_hi - 1), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i2_at + i2_e_21 - i3_at - i3_b_4), -1073741824), 1073741824)))), te_max_f32x8(t_60, (te_load_f32x8(acc_2 + (32*i2_e_21 + i3_b_4)) * te_splat_f32x8(0.25f))), t_60), t_60), t_60);
                        }
                        c0_tile_1[i2_e_21] = te_max_f32(c0_tile_1[i2_e_21], te_max_f32(te_max_f32(te_max_f32(c0_tile_1_lanes[0], c0_tile_1_lanes[1]), te_max_f32(c0_tile_1_lanes[2], c0_tile_1_lanes[3])), te_max_f32(te_max_f32(c0_tile_1_lanes[4], c0_tile_1_lanes[5]), te_max_f32(c0_tile_1_lanes[6], c0_tile_1_lanes[7]))));
                    }
                    float c0_new_1[16] __attribute__((aligned(64)));
                    te_store_f32x8(c0_new_1 + 0, te_max_f32x8(te_load_f32x8(c0 + 0), te_load_f32x8(c0_tile_1 + 0)));
                    te_store_f32x8(c0_new_1 + 8, te_max_f32x8(te_load_f32x8(c0 + 8), te_load_f32x8(c0_tile_1 + 8)));
                    const f32x8 t_61 = te_load_f32x8(c0 + 0);
                    const f32x8 t_62 = (-t_61);
                    const f32x8 t_63 = (-te_load_f32x8(c0_new_1 + 0));
                    const f32x8 t_64 = te_load_f32x8(c1 + 0);
                    te_store_f32x8(c1 + 0, te_select_f32x8((t_62 == t_63), t_64, te_select_f32x8((t_61 == te_splat_f32x8(-INFINITY)), te_splat_f32x8(0.0f), (te_exp_f32x8((t_63 + (-t_62))) * t_64))));
                    const f32x8 t_65 = te_load_f32x8(c0 + 8);
                    const f32x8 t_66 = (-t_65);
                    const f32x8 t_67 = (-te_load_f32x8(c0_new_1 + 8));
                    const f32x8 t_68 = te_load_f32x8(c1 + 8);
                    te_store_f32x8(c1 + 8, te_select_f32x8((t_66 == t_67), t_68, te_select_f32x8((t_65 == te_splat_f32x8(-INFINITY)), te_splat_f32x8(0.0f), (te_exp_f32x8((t_67 + (-t_66))) * t_68))));
                    for (int64_t i2_e_24 = 0; i2_e_24 < 16; i2_e_24++) {
                        if (!((-c0[i2_e_24]) == (-c0_new_1[i2_e_24]))) {
                            const float t_13 = c0[i2_e_24];
                            const uint8_t t_14 = (t_13 == -INFINITY);
                            const float t_15 = expf(((-c0_new_1[i2_e_24]) + (-(-t_13))));
                            te_store_f32x8(c2 + 16*i2_e_24, (t_14 ? te_splat_f32x8(0.0f) : (te_splat_f32x8(t_15) * te_load_f32x8(c2 + 16*i2_e_24))));
                            te_store_f32x8(c2 + (16*i2_e_24 + 8), (t_14 ? te_splat_f32x8(0.0f) : (te_splat_f32x8(t_15) * te_load_f32x8(c2 + (16*i2_e_24 + 8)))));
                        }
                    }
                    float v_1[512] __attribute__((aligned(64)));
                    for (int64_t i2_e_25 = 0; i2_e_25 < 16; i2_e_25++) {
                        const float t_16 = (-c0_new_1[i2_e_25]);
                        te_store_f32x8(v_1 + 32*i2_e_25, te_exp_f32x8(((te_load_f32x8(acc_2 + 32*i2_e_25) * te_splat_f32x8(0.25f)) + te_splat_f32x8(t_16))));
                        te_store_f32x8(v_1 + (32*i2_e_25 + 8), te_exp_f32x8(((te_load_f32x8(acc_2 + (32*i2_e_25 + 8)) * te_splat_f32x8(0.25f)) + te_splat_f32x8(t_16))));
                        te_store_f32x8(v_1 + (32*i2_e_25 + 16), te_exp_f32x8(((te_load_f32x8(acc_2 + (32*i2_e_25 + 16)) * te_splat_f32x8(0.25f)) + te_splat_f32x8(t_16))));
                        te_store_f32x8(v_1 + (32*i2_e_25 + 24), te_exp_f32x8(((te_load_f32x8(acc_2 + (32*i2_e_25 + 24)) * te_splat_f32x8(0.25f)) + te_splat_f32x8(t_16))));
                    }
                    for (int64_t i2_e_26 = 0; i2_e_26 < 16; i2_e_26++) {
                        f32x8 c1_lanes_1;
                        c1_lanes_1 = te_splat_f32x8(0.0f);
                        for (int64_t i3_b_5 = 0; i3_b_5 < 32; i3_b_5 += 8) {
                            const f32x8 t_69 = c1_lanes_1;
                            c1_lanes_1 = te_select_f32x8(((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i3_3 + i3_at + i3_b_5), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i3_at - i3_b_5 + i3_hi - 1), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i2_at + i2_e_26 - i3_at - i3_b_5), -1073741824), 1073741824)))), (t_69 + te_load_f32x8(v_1 + (32*i2_e_26 + i3_b_5))), t_69), t_69), t_69);
                        }
                        c1[i2_e_26] = (c1[i2_e_26] + (((c1_lanes_1[0] + c1_lanes_1[1]) + (c1_lanes_1[2] + c1_lanes_1[3])) + ((c1_lanes_1[4] + c1_lanes_1[5]) + (c1_lanes_1[6] + c1_lanes_1[7]))));
                    }
                    for (int64_t i2_b_3 = 0; i2_b_3 < 16; i2_b_3 += 4) {
                        f32x8 c2_2_0;
                        f32x8 c2_2_8;
                        f32x8 c2_2_16;
                        f32x8 c2_2_24;
                        f32x8 c2_2_32;
                        f32x8 c2_2_40;
                        f32x8 c2_2_48;
                        f32x8 c2_2_56;
                        c2_2_0 = te_load_f32x8(c2 + 16*i2_b_3);
                        c2_2_8 = te_load_f32x8(c2 + (16*i2_b_3 + 8));
                        c2_2_16 = te_load_f32x8(c2 + (16*i2_b_3 + 16));
                        c2_2_24 = te_load_f32x8(c2 + (16*i2_b_3 + 24));
                        c2_2_32 = te_load_f32x8(c2 + (16*i2_b_3 + 32));
                        c2_2_40 = te_load_f32x8(c2 + (16*i2_b_3 + 40));
                        c2_2_48 = te_load_f32x8(c2 + (16*i2_b_3 + 48));
                        c2_2_56 = te_load_f32x8(c2 + (16*i2_b_3 + 56));
                        const int64_t i3_lo = te_max_i64(0, i3_3);
                        const int64_t i3_hi_1 = te_min_i64(te_min_i64(37, i3_hi), (i2_at + i2_b_3 + 4));
                        const int64_t v_from = te_max_i64(i3_lo, i3_at);
                        const int64_t to = te_max_i64(te_min_i64(i3_hi_1, (i3_at + 32)), v_from);
                        const int64_t sure = te_max_i64(te_min_i64(te_min_i64(te_min_i64(te_min_i64(37, (i2_at + i2_b_3 + 1)), i3_hi), (i2_at + i2_b_3 + 4)), to), v_from);
                        for (int64_t i3_e_14 = v_from; i3_e_14 < sure; i3_e_14++) {
                            c2_2_0 = (c2_2_0 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_14]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_14))));
                            c2_2_8 = (c2_2_8 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_14]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_14 + 8))));
                            c2_2_16 = (c2_2_16 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_14 + 32]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_14))));
                            c2_2_24 = (c2_2_24 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_14 + 32]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_14 + 8))));
                            c2_2_32 = (c2_2_32 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_14 + 64]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_14))));
                            c2_2_40 = (c2_2_40 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_14 + 64]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_14 + 8))));
                            c2_2_48 = (c2_2_48 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_14 + 96]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_14))));
                            c2_2_56 = (c2_2_56 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_14 + 96]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_14 + 8))));
                        }
                        for (int64_t i3_e_15 = sure; i3_e_15 < to; i3_e_15++) {
                            const f32x8 t_86 = c2_2_0;
                            c2_2_0 = ((0 <= (i2_at + i2_b_3 - i3_e_15)) ? (t_86 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_15]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_15)))) : t_86);
                            const f32x8 t_87 = c2_2_8;
                            c2_2_8 = ((0 <= (i2_at + i2_b_3 - i3_e_15)) ? (t_87 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_15]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_15 + 8)))) : t_87);
                            const f32x8 t_88 = c2_2_16;
                            c2_2_16 = ((0 <= (i2_at + i2_b_3 - i3_e_15 + 1)) ? (t_88 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_15 + 32]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_15)))) : t_88);
                            const f32x8 t_89 = c2_2_24;
                            c2_2_24 = ((0 <= (i2_at + i2_b_3 - i3_e_15 + 1)) ? (t_89 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_15 + 32]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_15 + 8)))) : t_89);
                            const f32x8 t_90 = c2_2_32;
                            c2_2_32 = ((0 <= (i2_at + i2_b_3 - i3_e_15 + 2)) ? (t_90 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_15 + 64]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_15)))) : t_90);
                            const f32x8 t_91 = c2_2_40;
                            c2_2_40 = ((0 <= (i2_at + i2_b_3 - i3_e_15 + 2)) ? (t_91 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_15 + 64]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_15 + 8)))) : t_91);
                            const f32x8 t_92 = c2_2_48;
                            c2_2_48 = ((0 <= (i2_at + i2_b_3 - i3_e_15 + 3)) ? (t_92 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_15 + 96]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_15)))) : t_92);
                            const f32x8 t_93 = c2_2_56;
                            c2_2_56 = ((0 <= (i2_at + i2_b_3 - i3_e_15 + 3)) ? (t_93 + (te_splat_f32x8(v_1[32*i2_b_3 - i3_at + i3_e_15 + 96]) * te_load_bf16x8(V + (1184*i0 + 592*i1 + 16*i3_e_15 + 8)))) : t_93);
                        }
                        te_store_f32x8(c2 + 16*i2_b_3, c2_2_0);
                        te_store_f32x8(c2 + (16*i2_b_3 + 8), c2_2_8);
                        te_store_f32x8(c2 + (16*i2_b_3 + 16), c2_2_16);
                        te_store_f32x8(c2 + (16*i2_b_3 + 24), c2_2_24);
                        te_store_f32x8(c2 + (16*i2_b_3 + 32), c2_2_32);
                        te_store_f32x8(c2 + (16*i2_b_3 + 40), c2_2_40);
                        te_store_f32x8(c2 + (16*i2_b_3 + 48), c2_2_48);
                        te_store_f32x8(c2 + (16*i2_b_3 + 56), c2_2_56);
                    }
                    te_store_f32x8(c0 + 0, te_load_f32x8(c0_new_1 + 0));
                    te_store_f32x8(c0 + 8, te_load_f32x8(c0_new_1 + 8));
                }
                for (int64_t i2_e_32 = 0; i2_e_32 < 16; i2_e_32++) {
                    const float t_19 = (1.0f / c1[i2_e_32]);
                    te_store_bf16x8(O + (1184*i0 + 592*i1 + 16*i2_at + 16*i2_e_32), (te_splat_f32x8(t_19) * te_load_f32x8(c2 + 16*i2_e_32)));
                    te_store_bf16x8(O + (1184*i0 + 592*i1 + 16*i2_at + 16*i2_e_32 + 8), (te_splat_f32x8(t_19) * te_load_f32x8(c2 + (16*i2_e_32 + 8))));
                }
            }
        }
    }
}
