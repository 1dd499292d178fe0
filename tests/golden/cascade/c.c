// O[h, i, c] = rescaled[j](sum[d](Q[h, i, d] * K[h, j, d]), exp(sum[d](Q[h, i, d] * K[h, j, d]) -
//     statistic("at")), exp(sum[d](Q[h, i, d] * K[h, j, d]) - statistic("at")) * V[h, j, c], where=j <= i).o /
//     rescaled[j](sum[d](Q[h, i, d] * K[h, j, d]), exp(sum[d](Q[h, i, d] * K[h, j, d]) - statistic("at")),
//     exp(sum[d](Q[h, i, d] * K[h, j, d]) - statistic("at")) * V[h, j, c], where=j <= i).l
// schedule: stream parallel=h tile=c:*,i:4 fold=j:stream:16 stage=K
void cascade(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict Q = buffers[0];
    const float *restrict K = buffers[1];
    const float *restrict V = buffers[2];
    float *restrict O = buffers[3];
    (void)buffers, (void)dims, (void)scratch;
#if 82176 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 82176 + TE_WORD * 1280 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t h = 0; h < 2; h++) {
        float K_1[384] __attribute__((aligned(64)));
        for (int64_t j_1 = 0; j_1 < 32; j_1 += 16) {
            for (int64_t d = 0; d < 8; d++) {
                te_store_f32x8(K_1 + (48*d + j_1), (f32x8){K[d + 256*h + 8*j_1], K[d + 256*h + 8*j_1 + 8], K[d + 256*h + 8*j_1 + 16], K[d + 256*h + 8*j_1 + 24], K[d + 256*h + 8*j_1 + 32], K[d + 256*h + 8*j_1 + 40], K[d + 256*h + 8*j_1 + 48], K[d + 256*h + 8*j_1 + 56]});
                te_store_f32x8(K_1 + (48*d + j_1 + 8), (f32x8){K[d + 256*h + 8*j_1 + 64], K[d + 256*h + 8*j_1 + 72], K[d + 256*h + 8*j_1 + 80], K[d + 256*h + 8*j_1 + 88], K[d + 256*h + 8*j_1 + 96], K[d + 256*h + 8*j_1 + 104], K[d + 256*h + 8*j_1 + 112], K[d + 256*h + 8*j_1 + 120]});
            }
        }
        for (int64_t j_2 = 32; j_2 < 32; j_2++) {
            for (int64_t d_1 = 0; d_1 < 8; d_1++) {
                K_1[48*d_1 + j_2] = K[d_1 + 256*h + 8*j_2];
            }
        }
        for (int64_t i = 0; i < 16; i += 4) {
            f32x4 m;
            m = te_splat_f32x4(-INFINITY);
            float l[4] __attribute__((aligned(64)));
            te_store_f32x4(l + 0, te_splat_f32x4(0.0f));
            f32x8 o_0;
            f32x8 o_8;
            f32x8 o_16;
            f32x8 o_24;
            o_0 = te_splat_f32x8(0.0f);
            o_8 = te_splat_f32x8(0.0f);
            o_16 = te_splat_f32x8(0.0f);
            o_24 = te_splat_f32x8(0.0f);
            const int64_t j_hi = te_min_i64(32, (i + 4));
            const int64_t j_full = (0 + (te_idiv_i64(te_max_i64((te_min_i64(te_min_i64(32, (i + 1)), (i + 4)) + (-0)), 0), 16) * 16));
            for (int64_t j = 0; j < j_full; j += 16) {
                float acc[64] __attribute__((aligned(64)));
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
                for (int64_t d_2 = 0; d_2 < 8; d_2++) {
                    acc_1_0 = (acc_1_0 + (te_splat_f32x8(Q[d_2 + 128*h + 8*i]) * te_load_f32x8(K_1 + (48*d_2 + j))));
                    acc_1_8 = (acc_1_8 + (te_splat_f32x8(Q[d_2 + 128*h + 8*i]) * te_load_f32x8(K_1 + (48*d_2 + j + 8))));
                    acc_1_16 = (acc_1_16 + (te_splat_f32x8(Q[d_2 + 128*h + 8*i + 8]) * te_load_f32x8(K_1 + (48*d_2 + j))));
                    acc_1_24 = (acc_1_24 + (te_splat_f32x8(Q[d_2 + 128*h + 8*i + 8]) * te_load_f32x8(K_1 + (48*d_2 + j + 8))));
                    acc_1_32 = (acc_1_32 + (te_splat_f32x8(Q[d_2 + 128*h + 8*i + 16]) * te_load_f32x8(K_1 + (48*d_2 + j))));
                    acc_1_40 = (acc_1_40 + (te_splat_f32x8(Q[d_2 + 128*h + 8*i + 16]) * te_load_f32x8(K_1 + (48*d_2 + j + 8))));
                    acc_1_48 = (acc_1_48 + (te_splat_f32x8(Q[d_2 + 128*h + 8*i + 24]) * te_load_f32x8(K_1 + (48*d_2 + j))));
                    acc_1_56 = (acc_1_56 + (te_splat_f32x8(Q[d_2 + 128*h + 8*i + 24]) * te_load_f32x8(K_1 + (48*d_2 + j + 8))));
                }
                te_store_f32x8(acc + 0, acc_1_0);
                te_store_f32x8(acc + 8, acc_1_8);
                te_store_f32x8(acc + 16, acc_1_16);
                te_store_f32x8(acc + 24, acc_1_24);
                te_store_f32x8(acc + 32, acc_1_32);
                te_store_f32x8(acc + 40, acc_1_40);
                te_store_f32x8(acc + 48, acc_1_48);
                te_store_f32x8(acc + 56, acc_1_56);
                float m_tile[4] __attribute__((aligned(64)));
                te_store_f32x4(m_tile + 0, te_splat_f32x4(-INFINITY));
                f32x8 m_tile_lanes_31;
                m_tile_lanes_31 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_29 = 0; j_b_29 < 16; j_b_29 += 8) {
                    m_tile_lanes_31 = te_max_f32x8(m_tile_lanes_31, te_load_f32x8(acc + j_b_29));
                }
                m_tile[0] = te_max_f32(m_tile[0], te_max_f32(te_max_f32(te_max_f32(m_tile_lanes_31[0], m_tile_lanes_31[1]), te_max_f32(m_tile_lanes_31[2], m_tile_lanes_31[3])), te_max_f32(te_max_f32(m_tile_lanes_31[4], m_tile_lanes_31[5]), te_max_f32(m_tile_lanes_31[6], m_tile_lanes_31[7]))));
                f32x8 m_tile_lanes_35;
                m_tile_lanes_35 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_33 = 0; j_b_33 < 16; j_b_33 += 8) {
                    m_tile_lanes_35 = te_max_f32x8(m_tile_lanes_35, te_load_f32x8(acc + (j_b_33 + 16)));
                }
                m_tile[1] = te_max_f32(m_tile[1], te_max_f32(te_max_f32(te_max_f32(m_tile_lanes_35[0], m_tile_lanes_35[1]), te_max_f32(m_tile_lanes_35[2], m_tile_lanes_35[3])), te_max_f32(te_max_f32(m_tile_lanes_35[4], m_tile_lanes_35[5]), te_max_f32(m_tile_lanes_35[6], m_tile_lanes_35[7]))));
                f32x8 m_tile_lanes_39;
                m_tile_lanes_39 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_37 = 0; j_b_37 < 16; j_b_37 += 8) {
                    m_tile_lanes_39 = te_max_f32x8(m_tile_lanes_39, te_load_f32x8(acc + (j_b_37 + 32)));
                }
                m_tile[2] = te_max_f32(m_tile[2], te_max_f32(te_max_f32(te_max_f32(m_tile_lanes_39[0], m_tile_lanes_39[1]), te_max_f32(m_tile_lanes_39[2], m_tile_lanes_39[3])), te_max_f32(te_max_f32(m_tile_lanes_39[4], m_tile_lanes_39[5]), te_max_f32(m_tile_lanes_39[6], m_tile_lanes_39[7]))));
                f32x8 m_tile_lanes_43;
                m_tile_lanes_43 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_41 = 0; j_b_41 < 16; j_b_41 += 8) {
                    m_tile_lanes_43 = te_max_f32x8(m_tile_lanes_43, te_load_f32x8(acc + (j_b_41 + 48)));
                }
                m_tile[3] = te_max_f32(m_tile[3], te_max_f32(te_max_f32(te_max_f32(m_tile_lanes_43[0], m_tile_lanes_43[1]), te_max_f32(m_tile_lanes_43[2], m_tile_lanes_43[3])), te_max_f32(te_max_f32(m_tile_lanes_43[4], m_tile_lanes_43[5]), te_max_f32(m_tile_lanes_43[6], m_tile_lanes_43[7]))));
                f32x4 m_new;
                m_new = te_max_f32x4(m, te_load_f32x4(m_tile + 0));
                const f32x4 t_44 = m;
                const f32x4 t_45 = m_new;
                const f32x4 t_46 = te_load_f32x4(l + 0);
                te_store_f32x4(l + 0, te_select_f32x4((t_44 == t_45), t_46, te_select_f32x4((t_44 == te_splat_f32x4(-INFINITY)), te_splat_f32x4(0.0f), (t_46 * te_exp_f32x4((t_44 + (-t_45)))))));
                const float t_47 = m[0];
                const float t_48 = m_new[0];
                const uint8_t t_49 = (t_47 == t_48);
                const uint8_t t_50 = (t_47 == -INFINITY);
                const float t_51 = expf((t_47 + (-t_48)));
                const f32x8 t_75 = o_0;
                o_0 = (t_49 ? t_75 : (t_50 ? te_splat_f32x8(0.0f) : (t_75 * te_splat_f32x8(t_51))));
                const float t_54 = m[1];
                const float t_55 = m_new[1];
                const uint8_t t_56 = (t_54 == t_55);
                const uint8_t t_57 = (t_54 == -INFINITY);
                const float t_58 = expf((t_54 + (-t_55)));
                const f32x8 t_76 = o_8;
                o_8 = (t_56 ? t_76 : (t_57 ? te_splat_f32x8(0.0f) : (t_76 * te_splat_f32x8(t_58))));
                const float t_61 = m[2];
                const float t_62 = m_new[2];
                const uint8_t t_63 = (t_61 == t_62);
                const uint8_t t_64 = (t_61 == -INFINITY);
                const float t_65 = expf((t_61 + (-t_62)));
                const f32x8 t_77 = o_16;
                o_16 = (t_63 ? t_77 : (t_64 ? te_splat_f32x8(0.0f) : (t_77 * te_splat_f32x8(t_65))));
                const float t_68 = m[3];
                const float t_69 = m_new[3];
                const uint8_t t_70 = (t_68 == t_69);
                const uint8_t t_71 = (t_68 == -INFINITY);
                const float t_72 = expf((t_68 + (-t_69)));
                const f32x8 t_78 = o_24;
                o_24 = (t_70 ? t_78 : (t_71 ? te_splat_f32x8(0.0f) : (t_78 * te_splat_f32x8(t_72))));
                float v[64] __attribute__((aligned(64)));
                const float t_79 = (-m_new[0]);
                te_store_f32x8(v + 0, te_exp_f32x8((te_load_f32x8(acc + 0) + te_splat_f32x8(t_79))));
                te_store_f32x8(v + 8, te_exp_f32x8((te_load_f32x8(acc + 8) + te_splat_f32x8(t_79))));
                const float t_81 = (-m_new[1]);
                te_store_f32x8(v + 16, te_exp_f32x8((te_load_f32x8(acc + 16) + te_splat_f32x8(t_81))));
                te_store_f32x8(v + 24, te_exp_f32x8((te_load_f32x8(acc + 24) + te_splat_f32x8(t_81))));
                const float t_83 = (-m_new[2]);
                te_store_f32x8(v + 32, te_exp_f32x8((te_load_f32x8(acc + 32) + te_splat_f32x8(t_83))));
                te_store_f32x8(v + 40, te_exp_f32x8((te_load_f32x8(acc + 40) + te_splat_f32x8(t_83))));
                const float t_85 = (-m_new[3]);
                te_store_f32x8(v + 48, te_exp_f32x8((te_load_f32x8(acc + 48) + te_splat_f32x8(t_85))));
                te_store_f32x8(v + 56, te_exp_f32x8((te_load_f32x8(acc + 56) + te_splat_f32x8(t_85))));
                f32x8 l_lanes_90;
                l_lanes_90 = te_splat_f32x8(0.0f);
                for (int64_t j_b_88 = 0; j_b_88 < 16; j_b_88 += 8) {
                    l_lanes_90 = (l_lanes_90 + te_load_f32x8(v + j_b_88));
                }
                l[0] = (l[0] + (((l_lanes_90[0] + l_lanes_90[1]) + (l_lanes_90[2] + l_lanes_90[3])) + ((l_lanes_90[4] + l_lanes_90[5]) + (l_lanes_90[6] + l_lanes_90[7]))));
                f32x8 l_lanes_94;
                l_lanes_94 = te_splat_f32x8(0.0f);
                for (int64_t j_b_92 = 0; j_b_92 < 16; j_b_92 += 8) {
                    l_lanes_94 = (l_lanes_94 + te_load_f32x8(v + (j_b_92 + 16)));
                }
                l[1] = (l[1] + (((l_lanes_94[0] + l_lanes_94[1]) + (l_lanes_94[2] + l_lanes_94[3])) + ((l_lanes_94[4] + l_lanes_94[5]) + (l_lanes_94[6] + l_lanes_94[7]))));
                f32x8 l_lanes_98;
                l_lanes_98 = te_splat_f32x8(0.0f);
                for (int64_t j_b_96 = 0; j_b_96 < 16; j_b_96 += 8) {
                    l_lanes_98 = (l_lanes_98 + te_load_f32x8(v + (j_b_96 + 32)));
                }
                l[2] = (l[2] + (((l_lanes_98[0] + l_lanes_98[1]) + (l_lanes_98[2] + l_lanes_98[3])) + ((l_lanes_98[4] + l_lanes_98[5]) + (l_lanes_98[6] + l_lanes_98[7]))));
                f32x8 l_lanes_102;
                l_lanes_102 = te_splat_f32x8(0.0f);
                for (int64_t j_b_100 = 0; j_b_100 < 16; j_b_100 += 8) {
                    l_lanes_102 = (l_lanes_102 + te_load_f32x8(v + (j_b_100 + 48)));
                }
                l[3] = (l[3] + (((l_lanes_102[0] + l_lanes_102[1]) + (l_lanes_102[2] + l_lanes_102[3])) + ((l_lanes_102[4] + l_lanes_102[5]) + (l_lanes_102[6] + l_lanes_102[7]))));
                f32x8 o_1_0;
                f32x8 o_1_8;
                f32x8 o_1_16;
                f32x8 o_1_24;
                o_1_0 = o_0;
                o_1_8 = o_8;
                o_1_16 = o_16;
                o_1_24 = o_24;
                for (int64_t j_e_7 = 0; j_e_7 < 16; j_e_7++) {
                    o_1_0 = (o_1_0 + (te_splat_f32x8(v[j_e_7]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_7))));
                    o_1_8 = (o_1_8 + (te_splat_f32x8(v[j_e_7 + 16]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_7))));
                    o_1_16 = (o_1_16 + (te_splat_f32x8(v[j_e_7 + 32]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_7))));
                    o_1_24 = (o_1_24 + (te_splat_f32x8(v[j_e_7 + 48]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_7))));
                }
                o_0 = o_1_0;
                o_8 = o_1_8;
                o_16 = o_1_16;
                o_24 = o_1_24;
                m = m_new;
            }
            for (int64_t j_3 = j_full; j_3 < j_hi; j_3 += 16) {
                float acc_2[64] __attribute__((aligned(64)));
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
                for (int64_t d_3 = 0; d_3 < 8; d_3++) {
                    acc_3_0 = (acc_3_0 + (te_splat_f32x8(Q[d_3 + 128*h + 8*i]) * te_load_f32x8(K_1 + (48*d_3 + j_3))));
                    acc_3_8 = (acc_3_8 + (te_splat_f32x8(Q[d_3 + 128*h + 8*i]) * te_load_f32x8(K_1 + (48*d_3 + j_3 + 8))));
                    acc_3_16 = (acc_3_16 + (te_splat_f32x8(Q[d_3 + 128*h + 8*i + 8]) * te_load_f32x8(K_1 + (48*d_3 + j_3))));
                    acc_3_24 = (acc_3_24 + (te_splat_f32x8(Q[d_3 + 128*h + 8*i + 8]) * te_load_f32x8(K_1 + (48*d_3 + j_3 + 8))));
                    acc_3_32 = (acc_3_32 + (te_splat_f32x8(Q[d_3 + 128*h + 8*i + 16]) * te_load_f32x8(K_1 + (48*d_3 + j_3))));
                    acc_3_40 = (acc_3_40 + (te_splat_f32x8(Q[d_3 + 128*h + 8*i + 16]) * te_load_f32x8(K_1 + (48*d_3 + j_3 + 8))));
                    acc_3_48 = (acc_3_48 + (te_splat_f32x8(Q[d_3 + 128*h + 8*i + 24]) * te_load_f32x8(K_1 + (48*d_3 + j_3))));
                    acc_3_56 = (acc_3_56 + (te_splat_f32x8(Q[d_3 + 128*h + 8*i + 24]) * te_load_f32x8(K_1 + (48*d_3 + j_3 + 8))));
                }
                te_store_f32x8(acc_2 + 0, acc_3_0);
                te_store_f32x8(acc_2 + 8, acc_3_8);
                te_store_f32x8(acc_2 + 16, acc_3_16);
                te_store_f32x8(acc_2 + 24, acc_3_24);
                te_store_f32x8(acc_2 + 32, acc_3_32);
                te_store_f32x8(acc_2 + 40, acc_3_40);
                te_store_f32x8(acc_2 + 48, acc_3_48);
                te_store_f32x8(acc_2 + 56, acc_3_56);
                float m_tile_1[4] __attribute__((aligned(64)));
                te_store_f32x4(m_tile_1 + 0, te_splat_f32x4(-INFINITY));
                f32x8 m_tile_1_lanes_131;
                m_tile_1_lanes_131 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_129 = 0; j_b_129 < 16; j_b_129 += 8) {
                    const f32x8 t_147 = m_tile_1_lanes_131;
                    m_tile_1_lanes_131 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-j_3 - j_b_129 + j_hi - 1), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j_3 - j_b_129), -1073741824), 1073741824)))), te_max_f32x8(t_147, te_load_f32x8(acc_2 + j_b_129)), t_147), t_147);
                }
                m_tile_1[0] = te_max_f32(m_tile_1[0], te_max_f32(te_max_f32(te_max_f32(m_tile_1_lanes_131[0], m_tile_1_lanes_131[1]), te_max_f32(m_tile_1_lanes_131[2], m_tile_1_lanes_131[3])), te_max_f32(te_max_f32(m_tile_1_lanes_131[4], m_tile_1_lanes_131[5]), te_max_f32(m_tile_1_lanes_131[6], m_tile_1_lanes_131[7]))));
                f32x8 m_tile_1_lanes_136;
                m_tile_1_lanes_136 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_134 = 0; j_b_134 < 16; j_b_134 += 8) {
                    const f32x8 t_148 = m_tile_1_lanes_136;
                    m_tile_1_lanes_136 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-j_3 - j_b_134 + j_hi - 1), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j_3 - j_b_134 + 1), -1073741824), 1073741824)))), te_max_f32x8(t_148, te_load_f32x8(acc_2 + (j_b_134 + 16))), t_148), t_148);
                }
                m_tile_1[1] = te_max_f32(m_tile_1[1], te_max_f32(te_max_f32(te_max_f32(m_tile_1_lanes_136[0], m_tile_1_lanes_136[1]), te_max_f32(m_tile_1_lanes_136[2], m_tile_1_lanes_136[3])), te_max_f32(te_max_f32(m_tile_1_lanes_136[4], m_tile_1_lanes_136[5]), te_max_f32(m_tile_1_lanes_136[6], m_tile_1_lanes_136[7]))));
                f32x8 m_tile_1_lanes_141;
                m_tile_1_lanes_141 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_139 = 0; j_b_139 < 16; j_b_139 += 8) {
                    const f32x8 t_149 = m_tile_1_lanes_141;
                    m_tile_1_lanes_141 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-j_3 - j_b_139 + j_hi - 1), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j_3 - j_b_139 + 2), -1073741824), 1073741824)))), te_max_f32x8(t_149, te_load_f32x8(acc_2 + (j_b_139 + 32))), t_149), t_149);
                }
                m_tile_1[2] = te_max_f32(m_tile_1[2], te_max_f32(te_max_f32(te_max_f32(m_tile_1_lanes_141[0], m_tile_1_lanes_141[1]), te_max_f32(m_tile_1_lanes_141[2], m_tile_1_lanes_141[3])), te_max_f32(te_max_f32(m_tile_1_lanes_141[4], m_tile_1_lanes_141[5]), te_max_f32(m_tile_1_lanes_141[6], m_tile_1_lanes_141[7]))));
                f32x8 m_tile_1_lanes_146;
                m_tile_1_lanes_146 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_144 = 0; j_b_144 < 16; j_b_144 += 8) {
                    const f32x8 t_150 = m_tile_1_lanes_146;
                    m_tile_1_lanes_146 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-j_3 - j_b_144 + j_hi - 1), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j_3 - j_b_144 + 3), -1073741824), 1073741824)))), te_max_f32x8(t_150, te_load_f32x8(acc_2 + (j_b_144 + 48))), t_150), t_150);
                }
                m_tile_1[3] = te_max_f32(m_tile_1[3], te_max_f32(te_max_f32(te_max_f32(m_tile_1_lanes_146[0], m_tile_1_lanes_146[1]), te_max_f32(m_tile_1_lanes_146[2], m_tile_1_lanes_146[3])), te_max_f32(te_max_f32(m_tile_1_lanes_146[4], m_tile_1_lanes_146[5]), te_max_f32(m_tile_1_lanes_146[6], m_tile_1_lanes_146[7]))));
                f32x4 m_new_1;
                m_new_1 = te_max_f32x4(m, te_load_f32x4(m_tile_1 + 0));
                const f32x4 t_151 = m;
                const f32x4 t_152 = m_new_1;
                const f32x4 t_153 = te_load_f32x4(l + 0);
                te_store_f32x4(l + 0, te_select_f32x4((t_151 == t_152), t_153, te_select_f32x4((t_151 == te_splat_f32x4(-INFINITY)), te_splat_f32x4(0.0f), (t_153 * te_exp_f32x4((t_151 + (-t_152)))))));
                const float t_154 = m[0];
                const float t_155 = m_new_1[0];
                const uint8_t t_156 = (t_154 == t_155);
                const uint8_t t_157 = (t_154 == -INFINITY);
                const float t_158 = expf((t_154 + (-t_155)));
                const f32x8 t_182 = o_0;
                o_0 = (t_156 ? t_182 : (t_157 ? te_splat_f32x8(0.0f) : (t_182 * te_splat_f32x8(t_158))));
                const float t_161 = m[1];
                const float t_162 = m_new_1[1];
                const uint8_t t_163 = (t_161 == t_162);
                const uint8_t t_164 = (t_161 == -INFINITY);
                const float t_165 = expf((t_161 + (-t_162)));
                const f32x8 t_183 = o_8;
                o_8 = (t_163 ? t_183 : (t_164 ? te_splat_f32x8(0.0f) : (t_183 * te_splat_f32x8(t_165))));
                const float t_168 = m[2];
                const float t_169 = m_new_1[2];
                const uint8_t t_170 = (t_168 == t_169);
                const uint8_t t_171 = (t_168 == -INFINITY);
                const float t_172 = expf((t_168 + (-t_169)));
                const f32x8 t_184 = o_16;
                o_16 = (t_170 ? t_184 : (t_171 ? te_splat_f32x8(0.0f) : (t_184 * te_splat_f32x8(t_172))));
                const float t_175 = m[3];
                const float t_176 = m_new_1[3];
                const uint8_t t_177 = (t_175 == t_176);
                const uint8_t t_178 = (t_175 == -INFINITY);
                const float t_179 = expf((t_175 + (-t_176)));
                const f32x8 t_185 = o_24;
                o_24 = (t_177 ? t_185 : (t_178 ? te_splat_f32x8(0.0f) : (t_185 * te_splat_f32x8(t_179))));
                float v_1[64] __attribute__((aligned(64)));
                const float t_186 = (-m_new_1[0]);
                te_store_f32x8(v_1 + 0, te_exp_f32x8((te_load_f32x8(acc_2 + 0) + te_splat_f32x8(t_186))));
                te_store_f32x8(v_1 + 8, te_exp_f32x8((te_load_f32x8(acc_2 + 8) + te_splat_f32x8(t_186))));
                const float t_188 = (-m_new_1[1]);
                te_store_f32x8(v_1 + 16, te_exp_f32x8((te_load_f32x8(acc_2 + 16) + te_splat_f32x8(t_188))));
                te_store_f32x8(v_1 + 24, te_exp_f32x8((te_load_f32x8(acc_2 + 24) + te_splat_f32x8(t_188))));
                const float t_190 = (-m_new_1[2]);
                te_store_f32x8(v_1 + 32, te_exp_f32x8((te_load_f32x8(acc_2 + 32) + te_splat_f32x8(t_190))));
                te_store_f32x8(v_1 + 40, te_exp_f32x8((te_load_f32x8(acc_2 + 40) + te_splat_f32x8(t_190))));
                const float t_192 = (-m_new_1[3]);
                te_store_f32x8(v_1 + 48, te_exp_f32x8((te_load_f32x8(acc_2 + 48) + te_splat_f32x8(t_192))));
                te_store_f32x8(v_1 + 56, te_exp_f32x8((te_load_f32x8(acc_2 + 56) + te_splat_f32x8(t_192))));
                f32x8 l_lanes_198;
                l_lanes_198 = te_splat_f32x8(0.0f);
                for (int64_t j_b_196 = 0; j_b_196 < 16; j_b_196 += 8) {
                    const f32x8 t_214 = l_lanes_198;
                    l_lanes_198 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-j_3 - j_b_196 + j_hi - 1), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j_3 - j_b_196), -1073741824), 1073741824)))), (t_214 + te_load_f32x8(v_1 + j_b_196)), t_214), t_214);
                }
                l[0] = (l[0] + (((l_lanes_198[0] + l_lanes_198[1]) + (l_lanes_198[2] + l_lanes_198[3])) + ((l_lanes_198[4] + l_lanes_198[5]) + (l_lanes_198[6] + l_lanes_198[7]))));
                f32x8 l_lanes_203;
                l_lanes_203 = te_splat_f32x8(0.0f);
                for (int64_t j_b_201 = 0; j_b_201 < 16; j_b_201 += 8) {
                    const f32x8 t_215 = l_lanes_203;
                    l_lanes_203 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-j_3 - j_b_201 + j_hi - 1), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j_3 - j_b_201 + 1), -1073741824), 1073741824)))), (t_215 + te_load_f32x8(v_1 + (j_b_201 + 16))), t_215), t_215);
                }
                l[1] = (l[1] + (((l_lanes_203[0] + l_lanes_203[1]) + (l_lanes_203[2] + l_lanes_203[3])) + ((l_lanes_203[4] + l_lanes_203[5]) + (l_lanes_203[6] + l_lanes_203[7]))));
                f32x8 l_lanes_208;
                l_lanes_208 = te_splat_f32x8(0.0f);
                for (int64_t j_b_206 = 0; j_b_206 < 16; j_b_206 += 8) {
                    const f32x8 t_216 = l_lanes_208;
                    l_lanes_208 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-j_3 - j_b_206 + j_hi - 1), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j_3 - j_b_206 + 2), -1073741824), 1073741824)))), (t_216 + te_load_f32x8(v_1 + (j_b_206 + 32))), t_216), t_216);
                }
                l[2] = (l[2] + (((l_lanes_208[0] + l_lanes_208[1]) + (l_lanes_208[2] + l_lanes_208[3])) + ((l_lanes_208[4] + l_lanes_208[5]) + (l_lanes_208[6] + l_lanes_208[7]))));
                f32x8 l_lanes_213;
                l_lanes_213 = te_splat_f32x8(0.0f);
                for (int64_t j_b_211 = 0; j_b_211 < 16; j_b_211 += 8) {
                    const f32x8 t_217 = l_lanes_213;
                    l_lanes_213 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-j_3 - j_b_211 + j_hi - 1), -1073741824), 1073741824)))), te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j_3 - j_b_211 + 3), -1073741824), 1073741824)))), (t_217 + te_load_f32x8(v_1 + (j_b_211 + 48))), t_217), t_217);
                }
                l[3] = (l[3] + (((l_lanes_213[0] + l_lanes_213[1]) + (l_lanes_213[2] + l_lanes_213[3])) + ((l_lanes_213[4] + l_lanes_213[5]) + (l_lanes_213[6] + l_lanes_213[7]))));
                f32x8 o_2_0;
                f32x8 o_2_8;
                f32x8 o_2_16;
                f32x8 o_2_24;
                o_2_0 = o_0;
                o_2_8 = o_8;
                o_2_16 = o_16;
                o_2_24 = o_24;
                const int64_t j_hi_1 = te_min_i64(te_min_i64(32, j_hi), (i + 4));
                const int64_t v_from = te_max_i64(0, j_3);
                const int64_t to = te_max_i64(te_min_i64(j_hi_1, (j_3 + 16)), v_from);
                const int64_t sure = te_max_i64(te_min_i64(te_min_i64(te_min_i64(te_min_i64(32, (i + 1)), j_hi), (i + 4)), to), v_from);
                for (int64_t j_e_14 = v_from; j_e_14 < sure; j_e_14++) {
                    o_2_0 = (o_2_0 + (te_splat_f32x8(v_1[-j_3 + j_e_14]) * te_load_f32x8(V + (256*h + 8*j_e_14))));
                    o_2_8 = (o_2_8 + (te_splat_f32x8(v_1[-j_3 + j_e_14 + 16]) * te_load_f32x8(V + (256*h + 8*j_e_14))));
                    o_2_16 = (o_2_16 + (te_splat_f32x8(v_1[-j_3 + j_e_14 + 32]) * te_load_f32x8(V + (256*h + 8*j_e_14))));
                    o_2_24 = (o_2_24 + (te_splat_f32x8(v_1[-j_3 + j_e_14 + 48]) * te_load_f32x8(V + (256*h + 8*j_e_14))));
                }
                for (int64_t j_e_15 = sure; j_e_15 < to; j_e_15++) {
                    const f32x8 t_234 = o_2_0;
                    o_2_0 = ((0 <= (i - j_e_15)) ? (t_234 + (te_splat_f32x8(v_1[-j_3 + j_e_15]) * te_load_f32x8(V + (256*h + 8*j_e_15)))) : t_234);
                    const f32x8 t_235 = o_2_8;
                    o_2_8 = ((0 <= (i - j_e_15 + 1)) ? (t_235 + (te_splat_f32x8(v_1[-j_3 + j_e_15 + 16]) * te_load_f32x8(V + (256*h + 8*j_e_15)))) : t_235);
                    const f32x8 t_236 = o_2_16;
                    o_2_16 = ((0 <= (i - j_e_15 + 2)) ? (t_236 + (te_splat_f32x8(v_1[-j_3 + j_e_15 + 32]) * te_load_f32x8(V + (256*h + 8*j_e_15)))) : t_236);
                    const f32x8 t_237 = o_2_24;
                    o_2_24 = ((0 <= (i - j_e_15 + 3)) ? (t_237 + (te_splat_f32x8(v_1[-j_3 + j_e_15 + 48]) * te_load_f32x8(V + (256*h + 8*j_e_15)))) : t_237);
                }
                o_0 = o_2_0;
                o_8 = o_2_8;
                o_16 = o_2_16;
                o_24 = o_2_24;
                m = m_new_1;
            }
            const float t_242 = (1.0f / l[0]);
            te_store_f32x8(O + (128*h + 8*i), (o_0 * te_splat_f32x8(t_242)));
            const float t_244 = (1.0f / l[1]);
            te_store_f32x8(O + (128*h + 8*i + 8), (o_8 * te_splat_f32x8(t_244)));
            const float t_246 = (1.0f / l[2]);
            te_store_f32x8(O + (128*h + 8*i + 16), (o_16 * te_splat_f32x8(t_246)));
            const float t_248 = (1.0f / l[3]);
            te_store_f32x8(O + (128*h + 8*i + 24), (o_24 * te_splat_f32x8(t_248)));
        }
    }
}
