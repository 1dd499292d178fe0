// blocks: one per tile, tiles: 128
// threads: 256, bytes of shared memory: 0, counters: 0
// M[i0] = argmax[i1](X[i0, i1], i1).position
// schedule: split fold=i1:warp:4 grid=i0
extern "C" __global__ void __launch_bounds__(256, 1) k0_M(
    const float *__restrict__ X,
    long long *__restrict__ M) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const int lane = te_whole_mod(te_thread, 32);
    const int warp = te_whole_div(te_thread, 32);
    const int row = (8*te_block + 4*te_group + warp);
    if (row < 1024) {
        const int i0 = row;
        float value[1];
        value[0] = (-__int_as_float(0x7f800000));
        long long position[1];
        position[0] = 9223372036854775807LL;
        float value_1[4];
#pragma unroll
        for (int i1_lane_e = 0; i1_lane_e < 4; i1_lane_e++) {
            value_1[i1_lane_e] = (-__int_as_float(0x7f800000));
        }
        long long position_1[4];
#pragma unroll
        for (int i1_lane_e_1 = 0; i1_lane_e_1 < 4; i1_lane_e_1++) {
            position_1[i1_lane_e_1] = 9223372036854775807LL;
        }
#pragma unroll 4
        for (int i1 = 4*lane; i1 < 512; i1 += 128) {
            float te_run0[4];
            te_read_run<4, true>(te_run0, X + (512*i0 + i1));
#pragma unroll
            for (int i1_e = 0; i1_e < 4; i1_e++) {
                const float t = value_1[i1_e];
                const float t_1 = te_run0[i1_e];
                const bool t_2 = (!(!(t_1 == t_1)));
                const long long t_3 = position_1[i1_e];
                const bool t_4 = (t_3 <= (i1 + i1_e));
                const bool t_5 = (((!(t == t)) && (t_2 || t_4)) || (t_2 && ((t_1 < t) || ((t == t_1) && t_4))));
                const float t_6 = (t_5 ? t : t_1);
                const long long t_7 = (t_5 ? t_3 : te_add_i64(te_mul_i64(1LL, ((long long)i1)), te_mul_i64(1LL, ((long long)i1_e))));
                value_1[i1_e] = t_6;
                position_1[i1_e] = t_7;
            }
        }
        const float t_8 = value[0];
        const float t_9 = value_1[0];
        const float t_10 = value_1[1];
        const bool t_11 = (!(!(t_10 == t_10)));
        const long long t_12 = position_1[0];
        const long long t_13 = position_1[1];
        const bool t_14 = (t_12 <= t_13);
        const bool t_15 = (((!(t_9 == t_9)) && (t_11 || t_14)) || (t_11 && ((t_10 < t_9) || ((t_9 == t_10) && t_14))));
        const float t_16 = (t_15 ? t_9 : t_10);
        const float t_17 = value_1[2];
        const float t_18 = value_1[3];
        const bool t_19 = (!(!(t_18 == t_18)));
        const long long t_20 = position_1[2];
        const long long t_21 = position_1[3];
        const bool t_22 = (t_20 <= t_21);
        const bool t_23 = (((!(t_17 == t_17)) && (t_19 || t_22)) || (t_19 && ((t_18 < t_17) || ((t_17 == t_18) && t_22))));
        const float t_24 = (t_23 ? t_17 : t_18);
        const bool t_25 = (!(!(t_24 == t_24)));
        const long long t_26 = (t_15 ? t_12 : t_13);
        const long long t_27 = (t_23 ? t_20 : t_21);
        const bool t_28 = (t_26 <= t_27);
        const bool t_29 = (((!(t_16 == t_16)) && (t_25 || t_28)) || (t_25 && ((t_24 < t_16) || ((t_16 == t_24) && t_28))));
        const float t_30 = (t_29 ? t_16 : t_24);
        const bool t_31 = (!(!(t_30 == t_30)));
        const long long t_32 = position[0];
        const long long t_33 = (t_29 ? t_26 : t_27);
        const bool t_34 = (t_32 <= t_33);
        const bool t_35 = (((!(t_8 == t_8)) && (t_31 || t_34)) || (t_31 && ((t_30 < t_8) || ((t_8 == t_30) && t_34))));
        const float t_36 = (t_35 ? t_8 : t_30);
        const long long t_37 = (t_35 ? t_32 : t_33);
        value[0] = t_36;
        position[0] = t_37;
        const bool t_38 = (te_whole_mod(lane, 32) < 16);
        float value_upper[1];
        const float t_39 = value[0];
        const float t_40 = __shfl_xor_sync(~0u, t_39, 16);
        value[0] = (t_38 ? t_39 : t_40);
        value_upper[0] = (t_38 ? t_40 : t_39);
        long long position_upper[1];
        const long long t_41 = position[0];
        const long long t_42 = __shfl_xor_sync(~0u, t_41, 16);
        position[0] = (t_38 ? t_41 : t_42);
        position_upper[0] = (t_38 ? t_42 : t_41);
        const float t_43 = value[0];
        const float t_44 = value_upper[0];
        const bool t_45 = (!(!(t_44 == t_44)));
        const long long t_46 = position[0];
        const long long t_47 = position_upper[0];
        const bool t_48 = (t_46 <= t_47);
        const bool t_49 = (((!(t_43 == t_43)) && (t_45 || t_48)) || (t_45 && ((t_44 < t_43) || ((t_43 == t_44) && t_48))));
        const float t_50 = (t_49 ? t_43 : t_44);
        const long long t_51 = (t_49 ? t_46 : t_47);
        value[0] = t_50;
        position[0] = t_51;
        const bool t_52 = (te_whole_mod(lane, 16) < 8);
        float value_upper_1[1];
        const float t_53 = value[0];
        const float t_54 = __shfl_xor_sync(~0u, t_53, 8);
        value[0] = (t_52 ? t_53 : t_54);
        value_upper_1[0] = (t_52 ? t_54 : t_53);
        long long position_upper_1[1];
        const long long t_55 = position[0];
        const long long t_56 = __shfl_xor_sync(~0u, t_55, 8);
        position[0] = (t_52 ? t_55 : t_56);
        position_upper_1[0] = (t_52 ? t_56 : t_55);
        const float t_57 = value[0];
        const float t_58 = value_upper_1[0];
        const bool t_59 = (!(!(t_58 == t_58)));
        const long long t_60 = position[0];
        const long long t_61 = position_upper_1[0];
        const bool t_62 = (t_60 <= t_61);
        const bool t_63 = (((!(t_57 == t_57)) && (t_59 || t_62)) || (t_59 && ((t_58 < t_57) || ((t_57 == t_58) && t_62))));
        const float t_64 = (t_63 ? t_57 : t_58);
        const long long t_65 = (t_63 ? t_60 : t_61);
        value[0] = t_64;
        position[0] = t_65;
        const bool t_66 = (te_whole_mod(lane, 8) < 4);
        float value_upper_2[1];
        const float t_67 = value[0];
        const float t_68 = __shfl_xor_sync(~0u, t_67, 4);
        value[0] = (t_66 ? t_67 : t_68);
        value_upper_2[0] = (t_66 ? t_68 : t_67);
        long long position_upper_2[1];
        const long long t_69 = position[0];
        const long long t_70 = __shfl_xor_sync(~0u, t_69, 4);
        position[0] = (t_66 ? t_69 : t_70);
        position_upper_2[0] = (t_66 ? t_70 : t_69);
        const float t_71 = value[0];
        const float t_72 = value_upper_2[0];
        const bool t_73 = (!(!(t_72 == t_72)));
        const long long t_74 = position[0];
        const long long t_75 = position_upper_2[0];
        const bool t_76 = (t_74 <= t_75);
        const bool t_77 = (((!(t_71 == t_71)) && (t_73 || t_76)) || (t_73 && ((t_72 < t_71) || ((t_71 == t_72) && t_76))));
        const float t_78 = (t_77 ? t_71 : t_72);
        const long long t_79 = (t_77 ? t_74 : t_75);
        value[0] = t_78;
        position[0] = t_79;
        const bool t_80 = (te_whole_mod(lane, 4) < 2);
        float value_upper_3[1];
        const float t_81 = value[0];
        const float t_82 = __shfl_xor_sync(~0u, t_81, 2);
        value[0] = (t_80 ? t_81 : t_82);
        value_upper_3[0] = (t_80 ? t_82 : t_81);
        long long position_upper_3[1];
        const long long t_83 = position[0];
        const long long t_84 = __shfl_xor_sync(~0u, t_83, 2);
        position[0] = (t_80 ? t_83 : t_84);
        position_upper_3[0] = (t_80 ? t_84 : t_83);
        const float t_85 = value[0];
        const float t_86 = value_upper_3[0];
        const bool t_87 = (!(!(t_86 == t_86)));
        const long long t_88 = position[0];
        const long long t_89 = position_upper_3[0];
        const bool t_90 = (t_88 <= t_89);
        const bool t_91 = (((!(t_85 == t_85)) && (t_87 || t_90)) || (t_87 && ((t_86 < t_85) || ((t_85 == t_86) && t_90))));
        const float t_92 = (t_91 ? t_85 : t_86);
        const long long t_93 = (t_91 ? t_88 : t_89);
        value[0] = t_92;
        position[0] = t_93;
        const bool t_94 = (te_whole_mod(lane, 2) < 1);
        float value_upper_4[1];
        const float t_95 = value[0];
        const float t_96 = __shfl_xor_sync(~0u, t_95, 1);
        value[0] = (t_94 ? t_95 : t_96);
        value_upper_4[0] = (t_94 ? t_96 : t_95);
        long long position_upper_4[1];
        const long long t_97 = position[0];
        const long long t_98 = __shfl_xor_sync(~0u, t_97, 1);
        position[0] = (t_94 ? t_97 : t_98);
        position_upper_4[0] = (t_94 ? t_98 : t_97);
        const float t_99 = value[0];
        const float t_100 = value_upper_4[0];
        const bool t_101 = (!(!(t_100 == t_100)));
        const long long t_102 = position[0];
        const long long t_103 = position_upper_4[0];
        const bool t_104 = (t_102 <= t_103);
        const bool t_105 = (((!(t_99 == t_99)) && (t_101 || t_104)) || (t_101 && ((t_100 < t_99) || ((t_99 == t_100) && t_104))));
        const float t_106 = (t_105 ? t_99 : t_100);
        const long long t_107 = (t_105 ? t_102 : t_103);
        value[0] = t_106;
        position[0] = t_107;
        if (lane == 0) {
            M[i0] = position[0];
        }
    }
}
