// blocks: one per tile, tiles: 128
// threads: 256, bytes of shared memory: 0, counters: 0
// M[i0] = argmax[i1](X[i0, i1], i1).position
// schedule: split fold=i1:warp grid=i0
extern "C" __global__ void __launch_bounds__(256, 1) k0_M(
    const float *__restrict__ X,
    long long *__restrict__ M) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const int lane = (te_thread % 32);
    const int warp = (te_thread / 32);
    const int row = (8*te_block + 4*te_group + warp);
    if (row < 1024) {
        const int i0 = row;
        float value[1];
        value[0] = (-__int_as_float(0x7f800000));
        long long position[1];
        position[0] = 9223372036854775807LL;
        for (int i1 = lane; i1 < 512; i1 += 32) {
            const float t = value[0];
            const float t_1 = X[512*i0 + i1];
            const bool t_2 = (!(!(t_1 == t_1)));
            const long long t_3 = position[0];
            const bool t_4 = (t_3 <= i1);
            const bool t_5 = (((!(t == t)) && (t_2 || t_4)) || (t_2 && ((t_1 < t) || ((t == t_1) && t_4))));
            const float t_6 = (t_5 ? t : t_1);
            const long long t_7 = (t_5 ? t_3 : i1);
            value[0] = t_6;
            position[0] = t_7;
        }
        const bool t_8 = ((lane % 32) < 16);
        float value_upper[1];
        const float t_9 = value[0];
        const float t_10 = __shfl_xor_sync(~0u, t_9, 16);
        value[0] = (t_8 ? t_9 : t_10);
        value_upper[0] = (t_8 ? t_10 : t_9);
        long long position_upper[1];
        const long long t_11 = position[0];
        const long long t_12 = __shfl_xor_sync(~0u, t_11, 16);
        position[0] = (t_8 ? t_11 : t_12);
        position_upper[0] = (t_8 ? t_12 : t_11);
        const float t_13 = value[0];
        const float t_14 = value_upper[0];
        const bool t_15 = (!(!(t_14 == t_14)));
        const long long t_16 = position[0];
        const long long t_17 = position_upper[0];
        const bool t_18 = (t_16 <= t_17);
        const bool t_19 = (((!(t_13 == t_13)) && (t_15 || t_18)) || (t_15 && ((t_14 < t_13) || ((t_13 == t_14) && t_18))));
        const float t_20 = (t_19 ? t_13 : t_14);
        const long long t_21 = (t_19 ? t_16 : t_17);
        value[0] = t_20;
        position[0] = t_21;
        const bool t_22 = ((lane % 16) < 8);
        float value_upper_1[1];
        const float t_23 = value[0];
        const float t_24 = __shfl_xor_sync(~0u, t_23, 8);
        value[0] = (t_22 ? t_23 : t_24);
        value_upper_1[0] = (t_22 ? t_24 : t_23);
        long long position_upper_1[1];
        const long long t_25 = position[0];
        const long long t_26 = __shfl_xor_sync(~0u, t_25, 8);
        position[0] = (t_22 ? t_25 : t_26);
        position_upper_1[0] = (t_22 ? t_26 : t_25);
        const float t_27 = value[0];
        const float t_28 = value_upper_1[0];
        const bool t_29 = (!(!(t_28 == t_28)));
        const long long t_30 = position[0];
        const long long t_31 = position_upper_1[0];
        const bool t_32 = (t_30 <= t_31);
        const bool t_33 = (((!(t_27 == t_27)) && (t_29 || t_32)) || (t_29 && ((t_28 < t_27) || ((t_27 == t_28) && t_32))));
        const float t_34 = (t_33 ? t_27 : t_28);
        const long long t_35 = (t_33 ? t_30 : t_31);
        value[0] = t_34;
        position[0] = t_35;
        const bool t_36 = ((lane % 8) < 4);
        float value_upper_2[1];
        const float t_37 = value[0];
        const float t_38 = __shfl_xor_sync(~0u, t_37, 4);
        value[0] = (t_36 ? t_37 : t_38);
        value_upper_2[0] = (t_36 ? t_38 : t_37);
        long long position_upper_2[1];
        const long long t_39 = position[0];
        const long long t_40 = __shfl_xor_sync(~0u, t_39, 4);
        position[0] = (t_36 ? t_39 : t_40);
        position_upper_2[0] = (t_36 ? t_40 : t_39);
        const float t_41 = value[0];
        const float t_42 = value_upper_2[0];
        const bool t_43 = (!(!(t_42 == t_42)));
        const long long t_44 = position[0];
        const long long t_45 = position_upper_2[0];
        const bool t_46 = (t_44 <= t_45);
        const bool t_47 = (((!(t_41 == t_41)) && (t_43 || t_46)) || (t_43 && ((t_42 < t_41) || ((t_41 == t_42) && t_46))));
        const float t_48 = (t_47 ? t_41 : t_42);
        const long long t_49 = (t_47 ? t_44 : t_45);
        value[0] = t_48;
        position[0] = t_49;
        const bool t_50 = ((lane % 4) < 2);
        float value_upper_3[1];
        const float t_51 = value[0];
        const float t_52 = __shfl_xor_sync(~0u, t_51, 2);
        value[0] = (t_50 ? t_51 : t_52);
        value_upper_3[0] = (t_50 ? t_52 : t_51);
        long long position_upper_3[1];
        const long long t_53 = position[0];
        const long long t_54 = __shfl_xor_sync(~0u, t_53, 2);
        position[0] = (t_50 ? t_53 : t_54);
        position_upper_3[0] = (t_50 ? t_54 : t_53);
        const float t_55 = value[0];
        const float t_56 = value_upper_3[0];
        const bool t_57 = (!(!(t_56 == t_56)));
        const long long t_58 = position[0];
        const long long t_59 = position_upper_3[0];
        const bool t_60 = (t_58 <= t_59);
        const bool t_61 = (((!(t_55 == t_55)) && (t_57 || t_60)) || (t_57 && ((t_56 < t_55) || ((t_55 == t_56) && t_60))));
        const float t_62 = (t_61 ? t_55 : t_56);
        const long long t_63 = (t_61 ? t_58 : t_59);
        value[0] = t_62;
        position[0] = t_63;
        const bool t_64 = ((lane % 2) < 1);
        float value_upper_4[1];
        const float t_65 = value[0];
        const float t_66 = __shfl_xor_sync(~0u, t_65, 1);
        value[0] = (t_64 ? t_65 : t_66);
        value_upper_4[0] = (t_64 ? t_66 : t_65);
        long long position_upper_4[1];
        const long long t_67 = position[0];
        const long long t_68 = __shfl_xor_sync(~0u, t_67, 1);
        position[0] = (t_64 ? t_67 : t_68);
        position_upper_4[0] = (t_64 ? t_68 : t_67);
        const float t_69 = value[0];
        const float t_70 = value_upper_4[0];
        const bool t_71 = (!(!(t_70 == t_70)));
        const long long t_72 = position[0];
        const long long t_73 = position_upper_4[0];
        const bool t_74 = (t_72 <= t_73);
        const bool t_75 = (((!(t_69 == t_69)) && (t_71 || t_74)) || (t_71 && ((t_70 < t_69) || ((t_69 == t_70) && t_74))));
        const float t_76 = (t_75 ? t_69 : t_70);
        const long long t_77 = (t_75 ? t_72 : t_73);
        value[0] = t_76;
        position[0] = t_77;
        if (lane == 0) {
            M[i0] = position[0];
        }
    }
}
