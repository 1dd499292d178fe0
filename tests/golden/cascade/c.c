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
            f32x4 l;
            l = te_splat_f32x4(0.0f);
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
                te_store_f32x8(acc + 0, te_splat_f32x8(0.0f));
                te_store_f32x8(acc + 8, te_splat_f32x8(0.0f));
                te_store_f32x8(acc + 16, te_splat_f32x8(0.0f));
                te_store_f32x8(acc + 24, te_splat_f32x8(0.0f));
                te_store_f32x8(acc + 32, te_splat_f32x8(0.0f));
                te_store_f32x8(acc + 40, te_splat_f32x8(0.0f));
                te_store_f32x8(acc + 48, te_splat_f32x8(0.0f));
                te_store_f32x8(acc + 56, te_splat_f32x8(0.0f));
                for (int64_t d_1 = 0; d_1 < 8; d_1++) {
                    te_store_f32x8(acc + 0, (te_load_f32x8(acc + 0) + (te_splat_f32x8(Q[d_1 + 128*h + 8*i]) * te_load_f32x8(K_1 + 16*d_1))));
                    te_store_f32x8(acc + 8, (te_load_f32x8(acc + 8) + (te_splat_f32x8(Q[d_1 + 128*h + 8*i]) * te_load_f32x8(K_1 + (16*d_1 + 8)))));
                    te_store_f32x8(acc + 16, (te_load_f32x8(acc + 16) + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 8]) * te_load_f32x8(K_1 + 16*d_1))));
                    te_store_f32x8(acc + 24, (te_load_f32x8(acc + 24) + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 8]) * te_load_f32x8(K_1 + (16*d_1 + 8)))));
                    te_store_f32x8(acc + 32, (te_load_f32x8(acc + 32) + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 16]) * te_load_f32x8(K_1 + 16*d_1))));
                    te_store_f32x8(acc + 40, (te_load_f32x8(acc + 40) + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 16]) * te_load_f32x8(K_1 + (16*d_1 + 8)))));
                    te_store_f32x8(acc + 48, (te_load_f32x8(acc + 48) + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 24]) * te_load_f32x8(K_1 + 16*d_1))));
                    te_store_f32x8(acc + 56, (te_load_f32x8(acc + 56) + (te_splat_f32x8(Q[d_1 + 128*h + 8*i + 24]) * te_load_f32x8(K_1 + (16*d_1 + 8)))));
                }
                f32x4 m_tile;
                m_tile = te_splat_f32x4(-INFINITY);
                f32x4 m_tile_1;
                m_tile_1 = m_tile;
                for (int64_t j_e_3 = 0; j_e_3 < 16; j_e_3++) {
                    const f32x4 t_26 = m_tile_1;
                    m_tile_1 = te_select_f32x4(((i32x4){0, -1, -2, -3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((i - j - j_e_3), -1073741824), 1073741824)))), te_max_f32x4(t_26, (f32x4){acc[j_e_3], acc[j_e_3 + 16], acc[j_e_3 + 32], acc[j_e_3 + 48]}), t_26);
                }
                m_tile = m_tile_1;
                f32x4 m_new;
                m_new = te_max_f32x4(m, m_tile);
                const f32x4 t_27 = m;
                const f32x4 t_28 = m_new;
                const f32x4 t_29 = l;
                l = te_select_f32x4((t_27 == t_28), t_29, te_select_f32x4((t_27 == te_splat_f32x4(-INFINITY)), te_splat_f32x4(0.0f), (t_29 * te_exp_f32x4((t_27 + (-t_28))))));
                const float t_30 = m[0];
                const float t_31 = m_new[0];
                const uint8_t t_32 = (t_30 == t_31);
                const uint8_t t_33 = (t_30 == -INFINITY);
                const float t_34 = expf((t_30 + (-t_31)));
                const f32x8 t_58 = o_0;
                o_0 = (t_32 ? t_58 : (t_33 ? te_splat_f32x8(0.0f) : (t_58 * te_splat_f32x8(t_34))));
                const float t_37 = m[1];
                const float t_38 = m_new[1];
                const uint8_t t_39 = (t_37 == t_38);
                const uint8_t t_40 = (t_37 == -INFINITY);
                const float t_41 = expf((t_37 + (-t_38)));
                const f32x8 t_59 = o_8;
                o_8 = (t_39 ? t_59 : (t_40 ? te_splat_f32x8(0.0f) : (t_59 * te_splat_f32x8(t_41))));
                const float t_44 = m[2];
                const float t_45 = m_new[2];
                const uint8_t t_46 = (t_44 == t_45);
                const uint8_t t_47 = (t_44 == -INFINITY);
                const float t_48 = expf((t_44 + (-t_45)));
                const f32x8 t_60 = o_16;
                o_16 = (t_46 ? t_60 : (t_47 ? te_splat_f32x8(0.0f) : (t_60 * te_splat_f32x8(t_48))));
                const float t_51 = m[3];
                const float t_52 = m_new[3];
                const uint8_t t_53 = (t_51 == t_52);
                const uint8_t t_54 = (t_51 == -INFINITY);
                const float t_55 = expf((t_51 + (-t_52)));
                const f32x8 t_61 = o_24;
                o_24 = (t_53 ? t_61 : (t_54 ? te_splat_f32x8(0.0f) : (t_61 * te_splat_f32x8(t_55))));
                float v[64] __attribute__((aligned(64)));
                te_store_f32x4(v + 0, te_exp_f32x4(((f32x4){acc[0], acc[16], acc[32], acc[48]} + (-m_new))));
                te_store_f32x4(v + 4, te_exp_f32x4(((f32x4){acc[1], acc[17], acc[33], acc[49]} + (-m_new))));
                te_store_f32x4(v + 8, te_exp_f32x4(((f32x4){acc[2], acc[18], acc[34], acc[50]} + (-m_new))));
                te_store_f32x4(v + 12, te_exp_f32x4(((f32x4){acc[3], acc[19], acc[35], acc[51]} + (-m_new))));
                te_store_f32x4(v + 16, te_exp_f32x4(((f32x4){acc[4], acc[20], acc[36], acc[52]} + (-m_new))));
                te_store_f32x4(v + 20, te_exp_f32x4(((f32x4){acc[5], acc[21], acc[37], acc[53]} + (-m_new))));
                te_store_f32x4(v + 24, te_exp_f32x4(((f32x4){acc[6], acc[22], acc[38], acc[54]} + (-m_new))));
                te_store_f32x4(v + 28, te_exp_f32x4(((f32x4){acc[7], acc[23], acc[39], acc[55]} + (-m_new))));
                te_store_f32x4(v + 32, te_exp_f32x4(((f32x4){acc[8], acc[24], acc[40], acc[56]} + (-m_new))));
                te_store_f32x4(v + 36, te_exp_f32x4(((f32x4){acc[9], acc[25], acc[41], acc[57]} + (-m_new))));
                te_store_f32x4(v + 40, te_exp_f32x4(((f32x4){acc[10], acc[26], acc[42], acc[58]} + (-m_new))));
                te_store_f32x4(v + 44, te_exp_f32x4(((f32x4){acc[11], acc[27], acc[43], acc[59]} + (-m_new))));
                te_store_f32x4(v + 48, te_exp_f32x4(((f32x4){acc[12], acc[28], acc[44], acc[60]} + (-m_new))));
                te_store_f32x4(v + 52, te_exp_f32x4(((f32x4){acc[13], acc[29], acc[45], acc[61]} + (-m_new))));
                te_store_f32x4(v + 56, te_exp_f32x4(((f32x4){acc[14], acc[30], acc[46], acc[62]} + (-m_new))));
                te_store_f32x4(v + 60, te_exp_f32x4(((f32x4){acc[15], acc[31], acc[47], acc[63]} + (-m_new))));
                f32x4 l_1;
                l_1 = l;
                for (int64_t j_e_5 = 0; j_e_5 < 16; j_e_5++) {
                    const f32x4 t_78 = l_1;
                    l_1 = te_select_f32x4(((i32x4){0, -1, -2, -3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((i - j - j_e_5), -1073741824), 1073741824)))), (t_78 + te_load_f32x4(v + 4*j_e_5)), t_78);
                }
                l = l_1;
                f32x8 o_1_0;
                f32x8 o_1_8;
                f32x8 o_1_16;
                f32x8 o_1_24;
                o_1_0 = o_0;
                o_1_8 = o_8;
                o_1_16 = o_16;
                o_1_24 = o_24;
                for (int64_t j_e_6 = 0; j_e_6 < 16; j_e_6++) {
                    const f32x8 t_91 = o_1_0;
                    o_1_0 = ((0 <= (i - j - j_e_6)) ? (t_91 + (te_splat_f32x8(v[4*j_e_6]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_6)))) : t_91);
                    const f32x8 t_92 = o_1_8;
                    o_1_8 = ((0 <= (i - j - j_e_6 + 1)) ? (t_92 + (te_splat_f32x8(v[4*j_e_6 + 1]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_6)))) : t_92);
                    const f32x8 t_93 = o_1_16;
                    o_1_16 = ((0 <= (i - j - j_e_6 + 2)) ? (t_93 + (te_splat_f32x8(v[4*j_e_6 + 2]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_6)))) : t_93);
                    const f32x8 t_94 = o_1_24;
                    o_1_24 = ((0 <= (i - j - j_e_6 + 3)) ? (t_94 + (te_splat_f32x8(v[4*j_e_6 + 3]) * te_load_f32x8(V + (256*h + 8*j + 8*j_e_6)))) : t_94);
                }
                o_0 = o_1_0;
                o_8 = o_1_8;
                o_16 = o_1_16;
                o_24 = o_1_24;
                m = m_new;
            }
            for (int64_t j_1 = j_full; j_1 < j_hi; j_1++) {
                f32x4 acc_1;
                acc_1 = te_splat_f32x4(0.0f);
                for (int64_t d_2 = 0; d_2 < 8; d_2++) {
                    acc_1 = (acc_1 + ((f32x4){Q[d_2 + 128*h + 8*i], Q[d_2 + 128*h + 8*i + 8], Q[d_2 + 128*h + 8*i + 16], Q[d_2 + 128*h + 8*i + 24]} * te_splat_f32x4(K[d_2 + 256*h + 8*j_1])));
                }
                f32x4 m_new_1;
                const f32x4 t_99 = m;
                m_new_1 = te_select_f32x4(((i32x4){0, -1, -2, -3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((i - j_1), -1073741824), 1073741824)))), te_max_f32x4(t_99, acc_1), t_99);
                const f32x4 t_100 = m;
                const f32x4 t_101 = m_new_1;
                const f32x4 t_102 = l;
                l = te_select_f32x4((t_100 == t_101), t_102, te_select_f32x4((t_100 == te_splat_f32x4(-INFINITY)), te_splat_f32x4(0.0f), (t_102 * te_exp_f32x4((t_100 + (-t_101))))));
                const float t_103 = m[0];
                const float t_104 = m_new_1[0];
                const uint8_t t_105 = (t_103 == t_104);
                const uint8_t t_106 = (t_103 == -INFINITY);
                const float t_107 = expf((t_103 + (-t_104)));
                const f32x8 t_131 = o_0;
                o_0 = (t_105 ? t_131 : (t_106 ? te_splat_f32x8(0.0f) : (t_131 * te_splat_f32x8(t_107))));
                const float t_110 = m[1];
                const float t_111 = m_new_1[1];
                const uint8_t t_112 = (t_110 == t_111);
                const uint8_t t_113 = (t_110 == -INFINITY);
                const float t_114 = expf((t_110 + (-t_111)));
                const f32x8 t_132 = o_8;
                o_8 = (t_112 ? t_132 : (t_113 ? te_splat_f32x8(0.0f) : (t_132 * te_splat_f32x8(t_114))));
                const float t_117 = m[2];
                const float t_118 = m_new_1[2];
                const uint8_t t_119 = (t_117 == t_118);
                const uint8_t t_120 = (t_117 == -INFINITY);
                const float t_121 = expf((t_117 + (-t_118)));
                const f32x8 t_133 = o_16;
                o_16 = (t_119 ? t_133 : (t_120 ? te_splat_f32x8(0.0f) : (t_133 * te_splat_f32x8(t_121))));
                const float t_124 = m[3];
                const float t_125 = m_new_1[3];
                const uint8_t t_126 = (t_124 == t_125);
                const uint8_t t_127 = (t_124 == -INFINITY);
                const float t_128 = expf((t_124 + (-t_125)));
                const f32x8 t_134 = o_24;
                o_24 = (t_126 ? t_134 : (t_127 ? te_splat_f32x8(0.0f) : (t_134 * te_splat_f32x8(t_128))));
                const f32x4 t_135 = l;
                l = te_select_f32x4(((i32x4){0, -1, -2, -3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((i - j_1), -1073741824), 1073741824)))), (t_135 + te_exp_f32x4((acc_1 + (-m_new_1)))), t_135);
                const float t_136 = expf((acc_1[0] + (-m_new_1[0])));
                const f32x8 t_148 = o_0;
                o_0 = ((0 <= (i - j_1)) ? (t_148 + (te_splat_f32x8(t_136) * te_load_f32x8(V + (256*h + 8*j_1)))) : t_148);
                const float t_139 = expf((acc_1[1] + (-m_new_1[1])));
                const f32x8 t_149 = o_8;
                o_8 = ((0 <= (i - j_1 + 1)) ? (t_149 + (te_splat_f32x8(t_139) * te_load_f32x8(V + (256*h + 8*j_1)))) : t_149);
                const float t_142 = expf((acc_1[2] + (-m_new_1[2])));
                const f32x8 t_150 = o_16;
                o_16 = ((0 <= (i - j_1 + 2)) ? (t_150 + (te_splat_f32x8(t_142) * te_load_f32x8(V + (256*h + 8*j_1)))) : t_150);
                const float t_145 = expf((acc_1[3] + (-m_new_1[3])));
                const f32x8 t_151 = o_24;
                o_24 = ((0 <= (i - j_1 + 3)) ? (t_151 + (te_splat_f32x8(t_145) * te_load_f32x8(V + (256*h + 8*j_1)))) : t_151);
                m = m_new_1;
            }
            const float t_152 = (1.0f / l[0]);
            te_store_f32x8(O + (128*h + 8*i), (o_0 * te_splat_f32x8(t_152)));
            const float t_154 = (1.0f / l[1]);
            te_store_f32x8(O + (128*h + 8*i + 8), (o_8 * te_splat_f32x8(t_154)));
            const float t_156 = (1.0f / l[2]);
            te_store_f32x8(O + (128*h + 8*i + 16), (o_16 * te_splat_f32x8(t_156)));
            const float t_158 = (1.0f / l[3]);
            te_store_f32x8(O + (128*h + 8*i + 24), (o_24 * te_splat_f32x8(t_158)));
        }
    }
}
