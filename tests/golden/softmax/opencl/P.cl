// split fold=i1:warp grid=i0 warp=i1; blocks of 32 threads
// P[i0, i1] = exp(X[i0, i1] - pass[i1](X[i0, i1], exp(X[i0, i1] + statistic("at"))).c0) / pass[i1](X[i0, i1],
//     exp(X[i0, i1] + statistic("at"))).c1
// schedule: split fold=i1:warp grid=i0 warp=i1
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k0_P(
    global const float *restrict X,
    global float *restrict P) {
    local ulong te_room[32];
    const int te_block = (int)get_group_id(0), te_blocks = (int)get_num_groups(0);
    const int te_thread = (int)get_local_id(0) & 127, te_group = (int)get_local_id(0) / 128;
    const int lane = (te_thread % 32);
    const int warp = (te_thread / 32);
    const int row = (te_block + 4*te_group + warp);
    if (row < 37) {
        const int i0 = row;
        float c0[1];
        c0[0] = (-INFINITY);
        float c1[1];
        c1[0] = 0.0f;
        for (int i1_1_turn = 0; i1_1_turn < 131; i1_1_turn += 32) {
            const int i1_1 = (i1_1_turn + lane);
            if (i1_1 < 131) {
                float c0_new[1];
                c0_new[0] = te_max_f32(c0[0], X[131*i0 + i1_1]);
                const float t = c0[0];
                const float t_1 = (-t);
                const float t_2 = (-c0_new[0]);
                const float t_3 = c1[0];
                c1[0] = ((t_1 == t_2) ? t_3 : ((t == (-INFINITY)) ? 0.0f : (exp((t_2 + (-t_1))) * t_3)));
                c1[0] = (c1[0] + exp((X[131*i0 + i1_1] + t_2)));
                c0[0] = c0_new[0];
            }
        }
        const bool t_4 = ((lane % 32) < 16);
        float c0_upper[1];
        const float t_5 = c0[0];
        const float t_6 = te_shuffle_f32(te_room, t_5, 16);
        c0[0] = (t_4 ? t_5 : t_6);
        c0_upper[0] = (t_4 ? t_6 : t_5);
        float c1_upper[1];
        const float t_7 = c1[0];
        const float t_8 = te_shuffle_f32(te_room, t_7, 16);
        c1[0] = (t_4 ? t_7 : t_8);
        c1_upper[0] = (t_4 ? t_8 : t_7);
        const float t_9 = c0[0];
        const float t_10 = c0_upper[0];
        const float t_11 = te_max_f32(t_9, t_10);
        const float t_12 = (-t_9);
        const float t_13 = (-t_11);
        const float t_14 = c1[0];
        const float t_15 = (-t_10);
        const float t_16 = c1_upper[0];
        const float t_17 = (((t_12 == t_13) ? t_14 : ((t_9 == (-INFINITY)) ? 0.0f : (exp((t_13 + (-t_12))) * t_14))) + ((t_15 == t_13) ? t_16 : ((t_10 == (-INFINITY)) ? 0.0f : (exp((t_13 + (-t_15))) * t_16))));
        c0[0] = t_11;
        c1[0] = t_17;
        const bool t_18 = ((lane % 16) < 8);
        float c0_upper_1[1];
        const float t_19 = c0[0];
        const float t_20 = te_shuffle_f32(te_room, t_19, 8);
        c0[0] = (t_18 ? t_19 : t_20);
        c0_upper_1[0] = (t_18 ? t_20 : t_19);
        float c1_upper_1[1];
        const float t_21 = c1[0];
        const float t_22 = te_shuffle_f32(te_room, t_21, 8);
        c1[0] = (t_18 ? t_21 : t_22);
        c1_upper_1[0] = (t_18 ? t_22 : t_21);
        const float t_23 = c0[0];
        const float t_24 = c0_upper_1[0];
        const float t_25 = te_max_f32(t_23, t_24);
        const float t_26 = (-t_23);
        const float t_27 = (-t_25);
        const float t_28 = c1[0];
        const float t_29 = (-t_24);
        const float t_30 = c1_upper_1[0];
        const float t_31 = (((t_26 == t_27) ? t_28 : ((t_23 == (-INFINITY)) ? 0.0f : (exp((t_27 + (-t_26))) * t_28))) + ((t_29 == t_27) ? t_30 : ((t_24 == (-INFINITY)) ? 0.0f : (exp((t_27 + (-t_29))) * t_30))));
        c0[0] = t_25;
        c1[0] = t_31;
        const bool t_32 = ((lane % 8) < 4);
        float c0_upper_2[1];
        const float t_33 = c0[0];
        const float t_34 = te_shuffle_f32(te_room, t_33, 4);
        c0[0] = (t_32 ? t_33 : t_34);
        c0_upper_2[0] = (t_32 ? t_34 : t_33);
        float c1_upper_2[1];
        const float t_35 = c1[0];
        const float t_36 = te_shuffle_f32(te_room, t_35, 4);
        c1[0] = (t_32 ? t_35 : t_36);
        c1_upper_2[0] = (t_32 ? t_36 : t_35);
        const float t_37 = c0[0];
        const float t_38 = c0_upper_2[0];
        const float t_39 = te_max_f32(t_37, t_38);
        const float t_40 = (-t_37);
        const float t_41 = (-t_39);
        const float t_42 = c1[0];
        const float t_43 = (-t_38);
        const float t_44 = c1_upper_2[0];
        const float t_45 = (((t_40 == t_41) ? t_42 : ((t_37 == (-INFINITY)) ? 0.0f : (exp((t_41 + (-t_40))) * t_42))) + ((t_43 == t_41) ? t_44 : ((t_38 == (-INFINITY)) ? 0.0f : (exp((t_41 + (-t_43))) * t_44))));
        c0[0] = t_39;
        c1[0] = t_45;
        const bool t_46 = ((lane % 4) < 2);
        float c0_upper_3[1];
        const float t_47 = c0[0];
        const float t_48 = te_shuffle_f32(te_room, t_47, 2);
        c0[0] = (t_46 ? t_47 : t_48);
        c0_upper_3[0] = (t_46 ? t_48 : t_47);
        float c1_upper_3[1];
        const float t_49 = c1[0];
        const float t_50 = te_shuffle_f32(te_room, t_49, 2);
        c1[0] = (t_46 ? t_49 : t_50);
        c1_upper_3[0] = (t_46 ? t_50 : t_49);
        const float t_51 = c0[0];
        const float t_52 = c0_upper_3[0];
        const float t_53 = te_max_f32(t_51, t_52);
        const float t_54 = (-t_51);
        const float t_55 = (-t_53);
        const float t_56 = c1[0];
        const float t_57 = (-t_52);
        const float t_58 = c1_upper_3[0];
        const float t_59 = (((t_54 == t_55) ? t_56 : ((t_51 == (-INFINITY)) ? 0.0f : (exp((t_55 + (-t_54))) * t_56))) + ((t_57 == t_55) ? t_58 : ((t_52 == (-INFINITY)) ? 0.0f : (exp((t_55 + (-t_57))) * t_58))));
        c0[0] = t_53;
        c1[0] = t_59;
        const bool t_60 = ((lane % 2) < 1);
        float c0_upper_4[1];
        const float t_61 = c0[0];
        const float t_62 = te_shuffle_f32(te_room, t_61, 1);
        c0[0] = (t_60 ? t_61 : t_62);
        c0_upper_4[0] = (t_60 ? t_62 : t_61);
        float c1_upper_4[1];
        const float t_63 = c1[0];
        const float t_64 = te_shuffle_f32(te_room, t_63, 1);
        c1[0] = (t_60 ? t_63 : t_64);
        c1_upper_4[0] = (t_60 ? t_64 : t_63);
        const float t_65 = c0[0];
        const float t_66 = c0_upper_4[0];
        const float t_67 = te_max_f32(t_65, t_66);
        const float t_68 = (-t_65);
        const float t_69 = (-t_67);
        const float t_70 = c1[0];
        const float t_71 = (-t_66);
        const float t_72 = c1_upper_4[0];
        const float t_73 = (((t_68 == t_69) ? t_70 : ((t_65 == (-INFINITY)) ? 0.0f : (exp((t_69 + (-t_68))) * t_70))) + ((t_71 == t_69) ? t_72 : ((t_66 == (-INFINITY)) ? 0.0f : (exp((t_69 + (-t_71))) * t_72))));
        c0[0] = t_67;
        c1[0] = t_73;
        const float t_74 = (-c0[0]);
        const float t_75 = (1.0f / c1[0]);
        for (int i1_turn = 0; i1_turn < 131; i1_turn += 32) {
            const int i1 = (i1_turn + lane);
            if (i1 < 131) {
                P[131*i0 + i1] = (exp((X[131*i0 + i1] + t_74)) * t_75);
            }
        }
    }
}
