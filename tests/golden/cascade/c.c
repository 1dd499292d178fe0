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
#pragma omp parallel for schedule(guided) if (82176 > TE_WORK)
    for (int64_t h = 0; h < 2; h++) {
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
            const int64_t j_full = (0 + (te_idiv_i64(te_max_i64((j_hi + (-0)), 0), 16) * 16));
            for (int64_t j = 0; j < j_full; j += 16) {
                float K_1[128] __attribute__((aligned(64)));
                for (int64_t d = 0; d < 8; d++) {
                    te_store_f32x8(K_1 + 16*d, (f32x8){K[d + 256*h + 8*j], K[d + 256*h + 8*j + 8], K[d + 256*h + 8*j + 16], K[d + 256*h + 8*j + 24], K[d + 256*h + 8*j + 32], K[d + 256*h + 8*j + 40], K[d + 256*h + 8*j + 48], K[d + 256*h + 8*j + 56]});
                    te_store_f32x8(K_1 + (16*d + 8), (f32x8){K[d + 256*h + 8*j + 64], K[d + 256*h + 8*j + 72], K[d + 256*h + 8*j + 80], K[d + 256*h + 8*j + 88], K[d + 256*h + 8*j + 96], K[d + 256*h + 8*j + 104], K[d + 256*h + 8*j + 112], K[d + 256*h + 8*j + 120]});
                }
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
                for (int64_t d_1 = 0; d_1 < 8; d_1++) {
                    acc_1_0 = (acc_1_0 + (te_splat_f32x8(Q[d_1 + 128*h + 8*i]) * te_load_f32x8(K_1 + 16*d_1)));
                    acc_1_8 = (acc_1_8 + (te_splat_f32x8(Q[d_1 + 128*h + 8*i]) * te_load_f32x8(K_1 + (16*d_1 + 8))));
                    acc_1_16 = (acc_1_16 + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 8]) * te_load_f32x8(K_1 + 16*d_1)));
                    acc_1_24 = (acc_1_24 + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 8]) * te_load_f32x8(K_1 + (16*d_1 + 8))));
                    acc_1_32 = (acc_1_32 + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 16]) * te_load_f32x8(K_1 + 16*d_1)));
                    acc_1_40 = (acc_1_40 + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 16]) * te_load_f32x8(K_1 + (16*d_1 + 8))));
                    acc_1_48 = (acc_1_48 + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 24]) * te_load_f32x8(K_1 + 16*d_1)));
                    acc_1_56 = (acc_1_56 + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 24]) * te_load_f32x8(K_1 + (16*d_1 + 8))));
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
                    const f32x8 t_47 = m_tile_lanes_31;
                    m_tile_lanes_31 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j - j_b_29), -1073741824), 1073741824)))), te_max_f32x8(t_47, te_load_f32x8(acc + j_b_29)), t_47);
                }
                m_tile[0] = te_max_f32(m_tile[0], te_max_f32(te_max_f32(te_max_f32(m_tile_lanes_31[0], m_tile_lanes_31[1]), te_max_f32(m_tile_lanes_31[2], m_tile_lanes_31[3])), te_max_f32(te_max_f32(m_tile_lanes_31[4], m_tile_lanes_31[5]), te_max_f32(m_tile_lanes_31[6], m_tile_lanes_31[7]))));
                f32x8 m_tile_lanes_36;
                m_tile_lanes_36 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_34 = 0; j_b_34 < 16; j_b_34 += 8) {
                    const f32x8 t_48 = m_tile_lanes_36;
                    m_tile_lanes_36 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j - j_b_34 + 1), -1073741824), 1073741824)))), te_max_f32x8(t_48, te_load_f32x8(acc + (j_b_34 + 16))), t_48);
                }
                m_tile[1] = te_max_f32(m_tile[1], te_max_f32(te_max_f32(te_max_f32(m_tile_lanes_36[0], m_tile_lanes_36[1]), te_max_f32(m_tile_lanes_36[2], m_tile_lanes_36[3])), te_max_f32(te_max_f32(m_tile_lanes_36[4], m_tile_lanes_36[5]), te_max_f32(m_tile_lanes_36[6], m_tile_lanes_36[7]))));
                f32x8 m_tile_lanes_41;
                m_tile_lanes_41 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_39 = 0; j_b_39 < 16; j_b_39 += 8) {
                    const f32x8 t_49 = m_tile_lanes_41;
                    m_tile_lanes_41 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j - j_b_39 + 2), -1073741824), 1073741824)))), te_max_f32x8(t_49, te_load_f32x8(acc + (j_b_39 + 32))), t_49);
                }
                m_tile[2] = te_max_f32(m_tile[2], te_max_f32(te_max_f32(te_max_f32(m_tile_lanes_41[0], m_tile_lanes_41[1]), te_max_f32(m_tile_lanes_41[2], m_tile_lanes_41[3])), te_max_f32(te_max_f32(m_tile_lanes_41[4], m_tile_lanes_41[5]), te_max_f32(m_tile_lanes_41[6], m_tile_lanes_41[7]))));
                f32x8 m_tile_lanes_46;
                m_tile_lanes_46 = te_splat_f32x8(-INFINITY);
                for (int64_t j_b_44 = 0; j_b_44 < 16; j_b_44 += 8) {
                    const f32x8 t_50 = m_tile_lanes_46;
                    m_tile_lanes_46 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j - j_b_44 + 3), -1073741824), 1073741824)))), te_max_f32x8(t_50, te_load_f32x8(acc + (j_b_44 + 48))), t_50);
                }
                m_tile[3] = te_max_f32(m_tile[3], te_max_f32(te_max_f32(te_max_f32(m_tile_lanes_46[0], m_tile_lanes_46[1]), te_max_f32(m_tile_lanes_46[2], m_tile_lanes_46[3])), te_max_f32(te_max_f32(m_tile_lanes_46[4], m_tile_lanes_46[5]), te_max_f32(m_tile_lanes_46[6], m_tile_lanes_46[7]))));
                f32x4 m_new;
                m_new = te_max_f32x4(m, te_load_f32x4(m_tile + 0));
                const f32x4 t_51 = m;
                const f32x4 t_52 = m_new;
                const f32x4 t_53 = te_load_f32x4(l + 0);
                te_store_f32x4(l + 0, te_select_f32x4((t_51 == t_52), t_53, te_select_f32x4((t_51 == te_splat_f32x4(-INFINITY)), te_splat_f32x4(0.0f), (t_53 * te_exp_f32x4((t_51 + (-t_52)))))));
                const float t_54 = m[0];
                const float t_55 = m_new[0];
                const uint8_t t_56 = (t_54 == t_55);
                const uint8_t t_57 = (t_54 == -INFINITY);
                const float t_58 = expf((t_54 + (-t_55)));
                const f32x8 t_82 = o_0;
                o_0 = (t_56 ? t_82 : (t_57 ? te_splat_f32x8(0.0f) : (t_82 * te_splat_f32x8(t_58))));
                const float t_61 = m[1];
                const float t_62 = m_new[1];
                const uint8_t t_63 = (t_61 == t_62);
                const uint8_t t_64 = (t_61 == -INFINITY);
                const float t_65 = expf((t_61 + (-t_62)));
                const f32x8 t_83 = o_8;
                o_8 = (t_63 ? t_83 : (t_64 ? te_splat_f32x8(0.0f) : (t_83 * te_splat_f32x8(t_65))));
                const float t_68 = m[2];
                const float t_69 = m_new[2];
                const uint8_t t_70 = (t_68 == t_69);
                const uint8_t t_71 = (t_68 == -INFINITY);
                const float t_72 = expf((t_68 + (-t_69)));
                const f32x8 t_84 = o_16;
                o_16 = (t_70 ? t_84 : (t_71 ? te_splat_f32x8(0.0f) : (t_84 * te_splat_f32x8(t_72))));
                const float t_75 = m[3];
                const float t_76 = m_new[3];
                const uint8_t t_77 = (t_75 == t_76);
                const uint8_t t_78 = (t_75 == -INFINITY);
                const float t_79 = expf((t_75 + (-t_76)));
                const f32x8 t_85 = o_24;
                o_24 = (t_77 ? t_85 : (t_78 ? te_splat_f32x8(0.0f) : (t_85 * te_splat_f32x8(t_79))));
                float v[64] __attribute__((aligned(64)));
                const float t_86 = (-m_new[0]);
                te_store_f32x8(v + 0, te_exp_f32x8((te_load_f32x8(acc + 0) + te_splat_f32x8(t_86))));
                te_store_f32x8(v + 8, te_exp_f32x8((te_load_f32x8(acc + 8) + te_splat_f32x8(t_86))));
                const float t_88 = (-m_new[1]);
                te_store_f32x8(v + 16, te_exp_f32x8((te_load_f32x8(acc + 16) + te_splat_f32x8(t_88))));
                te_store_f32x8(v + 24, te_exp_f32x8((te_load_f32x8(acc + 24) + te_splat_f32x8(t_88))));
                const float t_90 = (-m_new[2]);
                te_store_f32x8(v + 32, te_exp_f32x8((te_load_f32x8(acc + 32) + te_splat_f32x8(t_90))));
                te_store_f32x8(v + 40, te_exp_f32x8((te_load_f32x8(acc + 40) + te_splat_f32x8(t_90))));
                const float t_92 = (-m_new[3]);
                te_store_f32x8(v + 48, te_exp_f32x8((te_load_f32x8(acc + 48) + te_splat_f32x8(t_92))));
                te_store_f32x8(v + 56, te_exp_f32x8((te_load_f32x8(acc + 56) + te_splat_f32x8(t_92))));
                f32x8 l_lanes_98;
                l_lanes_98 = te_splat_f32x8(0.0f);
                for (int64_t j_b_96 = 0; j_b_96 < 16; j_b_96 += 8) {
                    const f32x8 t_114 = l_lanes_98;
                    l_lanes_98 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j - j_b_96), -1073741824), 1073741824)))), (t_114 + te_load_f32x8(v + j_b_96)), t_114);
                }
                l[0] = (l[0] + (((l_lanes_98[0] + l_lanes_98[1]) + (l_lanes_98[2] + l_lanes_98[3])) + ((l_lanes_98[4] + l_lanes_98[5]) + (l_lanes_98[6] + l_lanes_98[7]))));
                f32x8 l_lanes_103;
                l_lanes_103 = te_splat_f32x8(0.0f);
                for (int64_t j_b_101 = 0; j_b_101 < 16; j_b_101 += 8) {
                    const f32x8 t_115 = l_lanes_103;
                    l_lanes_103 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j - j_b_101 + 1), -1073741824), 1073741824)))), (t_115 + te_load_f32x8(v + (j_b_101 + 16))), t_115);
                }
                l[1] = (l[1] + (((l_lanes_103[0] + l_lanes_103[1]) + (l_lanes_103[2] + l_lanes_103[3])) + ((l_lanes_103[4] + l_lanes_103[5]) + (l_lanes_103[6] + l_lanes_103[7]))));
                f32x8 l_lanes_108;
                l_lanes_108 = te_splat_f32x8(0.0f);
                for (int64_t j_b_106 = 0; j_b_106 < 16; j_b_106 += 8) {
                    const f32x8 t_116 = l_lanes_108;
                    l_lanes_108 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j - j_b_106 + 2), -1073741824), 1073741824)))), (t_116 + te_load_f32x8(v + (j_b_106 + 32))), t_116);
                }
                l[2] = (l[2] + (((l_lanes_108[0] + l_lanes_108[1]) + (l_lanes_108[2] + l_lanes_108[3])) + ((l_lanes_108[4] + l_lanes_108[5]) + (l_lanes_108[6] + l_lanes_108[7]))));
                f32x8 l_lanes_113;
                l_lanes_113 = te_splat_f32x8(0.0f);
                for (int64_t j_b_111 = 0; j_b_111 < 16; j_b_111 += 8) {
                    const f32x8 t_117 = l_lanes_113;
                    l_lanes_113 = te_select_f32x8(((i32x8){0, 1, 2, 3, 4, 5, 6, 7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((i - j - j_b_111 + 3), -1073741824), 1073741824)))), (t_117 + te_load_f32x8(v + (j_b_111 + 48))), t_117);
                }
                l[3] = (l[3] + (((l_lanes_113[0] + l_lanes_113[1]) + (l_lanes_113[2] + l_lanes_113[3])) + ((l_lanes_113[4] + l_lanes_113[5]) + (l_lanes_113[6] + l_lanes_113[7]))));
                f32x8 o_1_0;
                f32x8 o_1_8;
                f32x8 o_1_16;
                f32x8 o_1_24;
                o_1_0 = o_0;
                o_1_8 = o_8;
                o_1_16 = o_16;
                o_1_24 = o_24;
                for (int64_t j_e_7 = 0; j_e_7 < 16; j_e_7++) {
                    const f32x8 t_130 = o_1_0;
                    o_1_0 = ((0 <= (i - j - j_e_7)) ? (t_130 + (te_splat_f32x8(v[j_e_7]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_7)))) : t_130);
                    const f32x8 t_131 = o_1_8;
                    o_1_8 = ((0 <= (i - j - j_e_7 + 1)) ? (t_131 + (te_splat_f32x8(v[j_e_7 + 16]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_7)))) : t_131);
                    const f32x8 t_132 = o_1_16;
                    o_1_16 = ((0 <= (i - j - j_e_7 + 2)) ? (t_132 + (te_splat_f32x8(v[j_e_7 + 32]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_7)))) : t_132);
                    const f32x8 t_133 = o_1_24;
                    o_1_24 = ((0 <= (i - j - j_e_7 + 3)) ? (t_133 + (te_splat_f32x8(v[j_e_7 + 48]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_7)))) : t_133);
                }
                o_0 = o_1_0;
                o_8 = o_1_8;
                o_16 = o_1_16;
                o_24 = o_1_24;
                m = m_new;
            }
            for (int64_t j_1 = j_full; j_1 < j_hi; j_1++) {
                f32x4 acc_2;
                f32x4 acc_3;
                acc_3 = te_splat_f32x4(0.0f);
                for (int64_t d_2 = 0; d_2 < 8; d_2++) {
                    acc_3 = (acc_3 + ((f32x4){Q[d_2 + 128*h + 8*i], Q[d_2 + 128*h + 8*i + 8], Q[d_2 + 128*h + 8*i + 16], Q[d_2 + 128*h + 8*i + 24]} * te_splat_f32x4(K[d_2 + 256*h + 8*j_1])));
                }
                acc_2 = acc_3;
                f32x4 m_new_1;
                const f32x4 t_138 = m;
                m_new_1 = te_select_f32x4(((i32x4){0, -1, -2, -3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((i - j_1), -1073741824), 1073741824)))), te_max_f32x4(t_138, acc_2), t_138);
                const f32x4 t_139 = m;
                const f32x4 t_140 = m_new_1;
                const f32x4 t_141 = te_load_f32x4(l + 0);
                te_store_f32x4(l + 0, te_select_f32x4((t_139 == t_140), t_141, te_select_f32x4((t_139 == te_splat_f32x4(-INFINITY)), te_splat_f32x4(0.0f), (t_141 * te_exp_f32x4((t_139 + (-t_140)))))));
                const float t_142 = m[0];
                const float t_143 = m_new_1[0];
                const uint8_t t_144 = (t_142 == t_143);
                const uint8_t t_145 = (t_142 == -INFINITY);
                const float t_146 = expf((t_142 + (-t_143)));
                const f32x8 t_170 = o_0;
                o_0 = (t_144 ? t_170 : (t_145 ? te_splat_f32x8(0.0f) : (t_170 * te_splat_f32x8(t_146))));
                const float t_149 = m[1];
                const float t_150 = m_new_1[1];
                const uint8_t t_151 = (t_149 == t_150);
                const uint8_t t_152 = (t_149 == -INFINITY);
                const float t_153 = expf((t_149 + (-t_150)));
                const f32x8 t_171 = o_8;
                o_8 = (t_151 ? t_171 : (t_152 ? te_splat_f32x8(0.0f) : (t_171 * te_splat_f32x8(t_153))));
                const float t_156 = m[2];
                const float t_157 = m_new_1[2];
                const uint8_t t_158 = (t_156 == t_157);
                const uint8_t t_159 = (t_156 == -INFINITY);
                const float t_160 = expf((t_156 + (-t_157)));
                const f32x8 t_172 = o_16;
                o_16 = (t_158 ? t_172 : (t_159 ? te_splat_f32x8(0.0f) : (t_172 * te_splat_f32x8(t_160))));
                const float t_163 = m[3];
                const float t_164 = m_new_1[3];
                const uint8_t t_165 = (t_163 == t_164);
                const uint8_t t_166 = (t_163 == -INFINITY);
                const float t_167 = expf((t_163 + (-t_164)));
                const f32x8 t_173 = o_24;
                o_24 = (t_165 ? t_173 : (t_166 ? te_splat_f32x8(0.0f) : (t_173 * te_splat_f32x8(t_167))));
                const f32x4 t_174 = te_load_f32x4(l + 0);
                te_store_f32x4(l + 0, te_select_f32x4(((i32x4){0, -1, -2, -3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((i - j_1), -1073741824), 1073741824)))), (t_174 + te_exp_f32x4((acc_2 + (-m_new_1)))), t_174));
                const float t_175 = expf((acc_2[0] + (-m_new_1[0])));
                const f32x8 t_187 = o_0;
                o_0 = ((0 <= (i - j_1)) ? (t_187 + (te_splat_f32x8(t_175) * te_load_f32x8(V + (256*h + 8*j_1)))) : t_187);
                const float t_178 = expf((acc_2[1] + (-m_new_1[1])));
                const f32x8 t_188 = o_8;
                o_8 = ((0 <= (i - j_1 + 1)) ? (t_188 + (te_splat_f32x8(t_178) * te_load_f32x8(V + (256*h + 8*j_1)))) : t_188);
                const float t_181 = expf((acc_2[2] + (-m_new_1[2])));
                const f32x8 t_189 = o_16;
                o_16 = ((0 <= (i - j_1 + 2)) ? (t_189 + (te_splat_f32x8(t_181) * te_load_f32x8(V + (256*h + 8*j_1)))) : t_189);
                const float t_184 = expf((acc_2[3] + (-m_new_1[3])));
                const f32x8 t_190 = o_24;
                o_24 = ((0 <= (i - j_1 + 3)) ? (t_190 + (te_splat_f32x8(t_184) * te_load_f32x8(V + (256*h + 8*j_1)))) : t_190);
                m = m_new_1;
            }
            const float t_191 = (1.0f / l[0]);
            te_store_f32x8(O + (128*h + 8*i), (o_0 * te_splat_f32x8(t_191)));
            const float t_193 = (1.0f / l[1]);
            te_store_f32x8(O + (128*h + 8*i + 8), (o_8 * te_splat_f32x8(t_193)));
            const float t_195 = (1.0f / l[2]);
            te_store_f32x8(O + (128*h + 8*i + 16), (o_16 * te_splat_f32x8(t_195)));
            const float t_197 = (1.0f / l[3]);
            te_store_f32x8(O + (128*h + 8*i + 24), (o_24 * te_splat_f32x8(t_197)));
        }
    }
}
