// split tile=i5:* fold=i3:warp grid=i0,i1,i2; blocks of 32 threads
// O[i0, i1, i2, i5] = recip(pass[i3](sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25, exp(sum[i4](Q[i0,
//     i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 + statistic("at")), exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3,
//     i4]) * 0.25 + statistic("at")) * V[i0, i1, i3, i5], where=i3 <= i2).c1) * pass[i3](sum[i4](Q[i0, i1, i2,
//     i4] * K[i0, i1, i3, i4]) * 0.25, exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 +
//     statistic("at")), exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 + statistic("at")) * V[i0, i1,
//     i3, i5], where=i3 <= i2).c2
// schedule: split tile=i5:* fold=i3:warp grid=i0,i1,i2
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k0_O(
    global const te_bf16 *restrict Q,
    global const te_bf16 *restrict K,
    global const te_bf16 *restrict V,
    global te_bf16 *restrict O) {
    local ulong te_room[32];
    const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);
    const int te_thread = (int)get_local_id(0) & 127, te_group = (int)get_local_id(0) / 128;
    const int lane = (te_thread % 32);
    const int warp = (te_thread / 32);
    const int row = (te_block + 4*te_group + warp);
    if (row < 148) {
        const int i2 = (row % 37);
        const int i1 = ((row / 37) % 2);
        const int i0 = (row / 74);
        float c0[1];
        c0[0] = (-INFINITY);
        float c1[1];
        c1[0] = 0.0f;
        float c2[16];
        for (int i5_e = 0; i5_e < 16; i5_e++) {
            c2[i5_e] = 0.0f;
        }
        const int i3_hi = te_min_int(37, (i2 + 1));
        for (int i3_turn = 0; i3_turn < i3_hi; i3_turn += 32) {
            const int i3 = (i3_turn + lane);
            if (i3 < i3_hi) {
                float acc[1];
                acc[0] = 0.0f;
                for (int i4 = 0; i4 < 16; i4++) {
                    acc[0] = (acc[0] + (te_of_bf16(Q[1184*i0 + 592*i1 + 16*i2 + i4]) * te_of_bf16(K[1184*i0 + 592*i1 + 16*i3 + i4])));
                }
                float c0_new[1];
                c0_new[0] = te_max_f32(c0[0], (acc[0] * 0.25f));
                const float t = c0[0];
                const float t_1 = (-t);
                const float t_2 = (-c0_new[0]);
                const float t_3 = c1[0];
                c1[0] = ((t_1 == t_2) ? t_3 : ((t == (-INFINITY)) ? 0.0f : (exp((t_2 + (-t_1))) * t_3)));
                const bool t_4 = (t_1 == t_2);
                const bool t_6 = (t == (-INFINITY));
                const float t_7 = exp((t_2 + (-t_1)));
                for (int i5_e_1 = 0; i5_e_1 < 16; i5_e_1++) {
                    const float t_5 = c2[i5_e_1];
                    c2[i5_e_1] = (t_4 ? t_5 : (t_6 ? 0.0f : (t_7 * t_5)));
                }
                c1[0] = (c1[0] + exp(((acc[0] * 0.25f) + t_2)));
                const float t_8 = exp(((acc[0] * 0.25f) + t_2));
                for (int i5_e_2 = 0; i5_e_2 < 16; i5_e_2++) {
                    c2[i5_e_2] = (c2[i5_e_2] + (t_8 * te_of_bf16(V[1184*i0 + 592*i1 + 16*i3 + i5_e_2])));
                }
                c0[0] = c0_new[0];
            }
        }
        const bool t_9 = ((lane % 32) < 16);
        float c0_upper[1];
        const float t_10 = c0[0];
        const float t_11 = te_shuffle_f32(te_room, t_10, 16);
        c0[0] = (t_9 ? t_10 : t_11);
        c0_upper[0] = (t_9 ? t_11 : t_10);
        float c1_upper[1];
        const float t_12 = c1[0];
        const float t_13 = te_shuffle_f32(te_room, t_12, 16);
        c1[0] = (t_9 ? t_12 : t_13);
        c1_upper[0] = (t_9 ? t_13 : t_12);
        float c2_upper[16];
        for (int i5_e_3 = 0; i5_e_3 < 16; i5_e_3++) {
            const float t_14 = c2[i5_e_3];
            const float t_15 = te_shuffle_f32(te_room, t_14, 16);
            c2[i5_e_3] = (t_9 ? t_14 : t_15);
            c2_upper[i5_e_3] = (t_9 ? t_15 : t_14);
        }
        const float t_18 = c0_upper[0];
        const float t_21 = (-t_18);
        const bool t_23 = (t_18 == (-INFINITY));
        const float t_24 = (-t_21);
        for (int i5_e_4 = 0; i5_e_4 < 16; i5_e_4++) {
            const float t_16 = c0[0];
            const float t_17 = (-t_16);
            const float t_19 = (-te_max_f32(t_16, t_18));
            const float t_20 = c2[i5_e_4];
            const float t_22 = c2_upper[i5_e_4];
            c2[i5_e_4] = (((t_17 == t_19) ? t_20 : ((t_16 == (-INFINITY)) ? 0.0f : (exp((t_19 + (-t_17))) * t_20))) + ((t_21 == t_19) ? t_22 : (t_23 ? 0.0f : (exp((t_19 + t_24)) * t_22))));
        }
        const float t_25 = c0[0];
        const float t_26 = te_max_f32(t_25, t_18);
        const float t_27 = (-t_25);
        const float t_28 = (-t_26);
        const float t_29 = c1[0];
        const float t_30 = c1_upper[0];
        const float t_31 = (((t_27 == t_28) ? t_29 : ((t_25 == (-INFINITY)) ? 0.0f : (exp((t_28 + (-t_27))) * t_29))) + ((t_21 == t_28) ? t_30 : (t_23 ? 0.0f : (exp((t_28 + t_24)) * t_30))));
        c0[0] = t_26;
        c1[0] = t_31;
        const bool t_32 = ((lane % 16) < 8);
        float c0_upper_1[1];
        const float t_33 = c0[0];
        const float t_34 = te_shuffle_f32(te_room, t_33, 8);
        c0[0] = (t_32 ? t_33 : t_34);
        c0_upper_1[0] = (t_32 ? t_34 : t_33);
        float c1_upper_1[1];
        const float t_35 = c1[0];
        const float t_36 = te_shuffle_f32(te_room, t_35, 8);
        c1[0] = (t_32 ? t_35 : t_36);
        c1_upper_1[0] = (t_32 ? t_36 : t_35);
        float c2_upper_1[16];
        for (int i5_e_5 = 0; i5_e_5 < 16; i5_e_5++) {
            const float t_37 = c2[i5_e_5];
            const float t_38 = te_shuffle_f32(te_room, t_37, 8);
            c2[i5_e_5] = (t_32 ? t_37 : t_38);
            c2_upper_1[i5_e_5] = (t_32 ? t_38 : t_37);
        }
        const float t_41 = c0_upper_1[0];
        const float t_44 = (-t_41);
        const bool t_46 = (t_41 == (-INFINITY));
        const float t_47 = (-t_44);
        for (int i5_e_6 = 0; i5_e_6 < 16; i5_e_6++) {
            const float t_39 = c0[0];
            const float t_40 = (-t_39);
            const float t_42 = (-te_max_f32(t_39, t_41));
            const float t_43 = c2[i5_e_6];
            const float t_45 = c2_upper_1[i5_e_6];
            c2[i5_e_6] = (((t_40 == t_42) ? t_43 : ((t_39 == (-INFINITY)) ? 0.0f : (exp((t_42 + (-t_40))) * t_43))) + ((t_44 == t_42) ? t_45 : (t_46 ? 0.0f : (exp((t_42 + t_47)) * t_45))));
        }
        const float t_48 = c0[0];
        const float t_49 = te_max_f32(t_48, t_41);
        const float t_50 = (-t_48);
        const float t_51 = (-t_49);
        const float t_52 = c1[0];
        const float t_53 = c1_upper_1[0];
        const float t_54 = (((t_50 == t_51) ? t_52 : ((t_48 == (-INFINITY)) ? 0.0f : (exp((t_51 + (-t_50))) * t_52))) + ((t_44 == t_51) ? t_53 : (t_46 ? 0.0f : (exp((t_51 + t_47)) * t_53))));
        c0[0] = t_49;
        c1[0] = t_54;
        const bool t_55 = ((lane % 8) < 4);
        float c0_upper_2[1];
        const float t_56 = c0[0];
        const float t_57 = te_shuffle_f32(te_room, t_56, 4);
        c0[0] = (t_55 ? t_56 : t_57);
        c0_upper_2[0] = (t_55 ? t_57 : t_56);
        float c1_upper_2[1];
        const float t_58 = c1[0];
        const float t_59 = te_shuffle_f32(te_room, t_58, 4);
        c1[0] = (t_55 ? t_58 : t_59);
        c1_upper_2[0] = (t_55 ? t_59 : t_58);
        float c2_upper_2[16];
        for (int i5_e_7 = 0; i5_e_7 < 16; i5_e_7++) {
            const float t_60 = c2[i5_e_7];
            const float t_61 = te_shuffle_f32(te_room, t_60, 4);
            c2[i5_e_7] = (t_55 ? t_60 : t_61);
            c2_upper_2[i5_e_7] = (t_55 ? t_61 : t_60);
        }
        const float t_64 = c0_upper_2[0];
        const float t_67 = (-t_64);
        const bool t_69 = (t_64 == (-INFINITY));
        const float t_70 = (-t_67);
        for (int i5_e_8 = 0; i5_e_8 < 16; i5_e_8++) {
            const float t_62 = c0[0];
            const float t_63 = (-t_62);
            const float t_65 = (-te_max_f32(t_62, t_64));
            const float t_66 = c2[i5_e_8];
            const float t_68 = c2_upper_2[i5_e_8];
            c2[i5_e_8] = (((t_63 == t_65) ? t_66 : ((t_62 == (-INFINITY)) ? 0.0f : (exp((t_65 + (-t_63))) * t_66))) + ((t_67 == t_65) ? t_68 : (t_69 ? 0.0f : (exp((t_65 + t_70)) * t_68))));
        }
        const float t_71 = c0[0];
        const float t_72 = te_max_f32(t_71, t_64);
        const float t_73 = (-t_71);
        const float t_74 = (-t_72);
        const float t_75 = c1[0];
        const float t_76 = c1_upper_2[0];
        const float t_77 = (((t_73 == t_74) ? t_75 : ((t_71 == (-INFINITY)) ? 0.0f : (exp((t_74 + (-t_73))) * t_75))) + ((t_67 == t_74) ? t_76 : (t_69 ? 0.0f : (exp((t_74 + t_70)) * t_76))));
        c0[0] = t_72;
        c1[0] = t_77;
        const bool t_78 = ((lane % 4) < 2);
        float c0_upper_3[1];
        const float t_79 = c0[0];
        const float t_80 = te_shuffle_f32(te_room, t_79, 2);
        c0[0] = (t_78 ? t_79 : t_80);
        c0_upper_3[0] = (t_78 ? t_80 : t_79);
        float c1_upper_3[1];
        const float t_81 = c1[0];
        const float t_82 = te_shuffle_f32(te_room, t_81, 2);
        c1[0] = (t_78 ? t_81 : t_82);
        c1_upper_3[0] = (t_78 ? t_82 : t_81);
        float c2_upper_3[16];
        for (int i5_e_9 = 0; i5_e_9 < 16; i5_e_9++) {
            const float t_83 = c2[i5_e_9];
            const float t_84 = te_shuffle_f32(te_room, t_83, 2);
            c2[i5_e_9] = (t_78 ? t_83 : t_84);
            c2_upper_3[i5_e_9] = (t_78 ? t_84 : t_83);
        }
        const float t_87 = c0_upper_3[0];
        const float t_90 = (-t_87);
        const bool t_92 = (t_87 == (-INFINITY));
        const float t_93 = (-t_90);
        for (int i5_e_10 = 0; i5_e_10 < 16; i5_e_10++) {
            const float t_85 = c0[0];
            const float t_86 = (-t_85);
            const float t_88 = (-te_max_f32(t_85, t_87));
            const float t_89 = c2[i5_e_10];
            const float t_91 = c2_upper_3[i5_e_10];
            c2[i5_e_10] = (((t_86 == t_88) ? t_89 : ((t_85 == (-INFINITY)) ? 0.0f : (exp((t_88 + (-t_86))) * t_89))) + ((t_90 == t_88) ? t_91 : (t_92 ? 0.0f : (exp((t_88 + t_93)) * t_91))));
        }
        const float t_94 = c0[0];
        const float t_95 = te_max_f32(t_94, t_87);
        const float t_96 = (-t_94);
        const float t_97 = (-t_95);
        const float t_98 = c1[0];
        const float t_99 = c1_upper_3[0];
        const float t_100 = (((t_96 == t_97) ? t_98 : ((t_94 == (-INFINITY)) ? 0.0f : (exp((t_97 + (-t_96))) * t_98))) + ((t_90 == t_97) ? t_99 : (t_92 ? 0.0f : (exp((t_97 + t_93)) * t_99))));
        c0[0] = t_95;
        c1[0] = t_100;
        const bool t_101 = ((lane % 2) < 1);
        float c0_upper_4[1];
        const float t_102 = c0[0];
        const float t_103 = te_shuffle_f32(te_room, t_102, 1);
        c0[0] = (t_101 ? t_102 : t_103);
        c0_upper_4[0] = (t_101 ? t_103 : t_102);
        float c1_upper_4[1];
        const float t_104 = c1[0];
        const float t_105 = te_shuffle_f32(te_room, t_104, 1);
        c1[0] = (t_101 ? t_104 : t_105);
        c1_upper_4[0] = (t_101 ? t_105 : t_104);
        float c2_upper_4[16];
        for (int i5_e_11 = 0; i5_e_11 < 16; i5_e_11++) {
            const float t_106 = c2[i5_e_11];
            const float t_107 = te_shuffle_f32(te_room, t_106, 1);
            c2[i5_e_11] = (t_101 ? t_106 : t_107);
            c2_upper_4[i5_e_11] = (t_101 ? t_107 : t_106);
        }
        const float t_110 = c0_upper_4[0];
        const float t_113 = (-t_110);
        const bool t_115 = (t_110 == (-INFINITY));
        const float t_116 = (-t_113);
        for (int i5_e_12 = 0; i5_e_12 < 16; i5_e_12++) {
            const float t_108 = c0[0];
            const float t_109 = (-t_108);
            const float t_111 = (-te_max_f32(t_108, t_110));
            const float t_112 = c2[i5_e_12];
            const float t_114 = c2_upper_4[i5_e_12];
            c2[i5_e_12] = (((t_109 == t_111) ? t_112 : ((t_108 == (-INFINITY)) ? 0.0f : (exp((t_111 + (-t_109))) * t_112))) + ((t_113 == t_111) ? t_114 : (t_115 ? 0.0f : (exp((t_111 + t_116)) * t_114))));
        }
        const float t_117 = c0[0];
        const float t_118 = te_max_f32(t_117, t_110);
        const float t_119 = (-t_117);
        const float t_120 = (-t_118);
        const float t_121 = c1[0];
        const float t_122 = c1_upper_4[0];
        const float t_123 = (((t_119 == t_120) ? t_121 : ((t_117 == (-INFINITY)) ? 0.0f : (exp((t_120 + (-t_119))) * t_121))) + ((t_113 == t_120) ? t_122 : (t_115 ? 0.0f : (exp((t_120 + t_116)) * t_122))));
        c0[0] = t_118;
        c1[0] = t_123;
        const float t_124 = (1.0f / c1[0]);
        for (int i5_e_13 = 0; i5_e_13 < 16; i5_e_13++) {
            const float t_125 = (t_124 * c2[i5_e_13]);
            if (lane == (i5_e_13 % 32)) {
                O[1184*i0 + 592*i1 + 16*i2 + i5_e_13] = te_to_bf16(t_125);
            }
        }
    }
}
