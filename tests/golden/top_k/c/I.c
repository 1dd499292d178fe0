// split order=i0,i3 parallel=i0 tile=i3:4 fold=i1:guard:64
// I[i0, i3] = select(i3 <= 0, top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807, -inf, 9223372036854775807,
//     -inf, 9223372036854775807).position0, select(i3 <= 1, top_k[4][i1](X[i0, i1], i1, -inf,
//     9223372036854775807, -inf, 9223372036854775807, -inf, 9223372036854775807).position1, select(i3 <= 2,
//     top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807, -inf, 9223372036854775807, -inf,
//     9223372036854775807).position2, top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807, -inf,
//     9223372036854775807, -inf, 9223372036854775807).position3)))
// V[i0, i3] = select(i3 <= 0, top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807, -inf, 9223372036854775807,
//     -inf, 9223372036854775807).value0, select(i3 <= 1, top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807,
//     -inf, 9223372036854775807, -inf, 9223372036854775807).value1, select(i3 <= 2, top_k[4][i1](X[i0, i1], i1,
//     -inf, 9223372036854775807, -inf, 9223372036854775807, -inf, 9223372036854775807).value2,
//     top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807, -inf, 9223372036854775807, -inf,
//     9223372036854775807).value3)))
// schedule: split order=i0,i3 parallel=i0 tile=i3:4 fold=i1:guard:64
void v_I(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict X = buffers[0];
    int64_t *restrict v_I = buffers[1];
    float *restrict V = buffers[2];
    (void)buffers, (void)dims, (void)scratch;
#if 29160 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 29160 + TE_WORD * 909 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i0 = 0; i0 < 9; i0++) {
        float value0;
        value0 = -INFINITY;
        int64_t position0;
        position0 = INT64_C(9223372036854775807);
        float value1;
        value1 = -INFINITY;
        int64_t position1;
        position1 = INT64_C(9223372036854775807);
        float value2;
        value2 = -INFINITY;
        int64_t position2;
        position2 = INT64_C(9223372036854775807);
        float value3;
        value3 = -INFINITY;
        int64_t position3;
        position3 = INT64_C(9223372036854775807);
        float value0_1;
        value0_1 = -INFINITY;
        int32_t position0_1;
        position0_1 = 2147483647;
        float value1_1;
        value1_1 = -INFINITY;
        int32_t position1_1;
        position1_1 = 2147483647;
        float value2_1;
        value2_1 = -INFINITY;
        int32_t position2_1;
        position2_1 = 2147483647;
        float value3_1;
        value3_1 = -INFINITY;
        int32_t position3_1;
        position3_1 = 2147483647;
        float value_list_0;
        f32x4 value_list_1;
        int32_t position_list_0;
        i32x4 position_list_1;
        value_list_1 = te_splat_f32x4(-INFINITY);
        position_list_1 = te_splat_i32x4(2147483647);
        for (int64_t i1 = 0; i1 < 64; i1 += 64) {
            int64_t bits;
            int32_t first;
            first = ((int32_t)i1);
            i32x8 i1_may_0;
            i32x8 i1_may_8;
            i32x8 i1_may_16;
            i32x8 i1_may_24;
            i32x8 i1_may_32;
            i32x8 i1_may_40;
            i32x8 i1_may_48;
            i32x8 i1_may_56;
            const f32x8 t_32 = te_load_f32x8(X + (101*i0 + i1));
            const float t_33 = value_list_1[3];
            i1_may_0 = te_select_i32x8((~((t_32 < te_splat_f32x8(t_33)) | ((te_splat_f32x8(t_33) == t_32) & te_splat_m32x8(-(int)(position_list_1[3] <= first))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_34 = te_load_f32x8(X + (101*i0 + i1 + 8));
            const float t_35 = value_list_1[3];
            i1_may_8 = te_select_i32x8((~((t_34 < te_splat_f32x8(t_35)) | ((te_splat_f32x8(t_35) == t_34) & te_splat_m32x8(-(int)(position_list_1[3] <= first))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_36 = te_load_f32x8(X + (101*i0 + i1 + 16));
            const float t_37 = value_list_1[3];
            i1_may_16 = te_select_i32x8((~((t_36 < te_splat_f32x8(t_37)) | ((te_splat_f32x8(t_37) == t_36) & te_splat_m32x8(-(int)(position_list_1[3] <= first))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_38 = te_load_f32x8(X + (101*i0 + i1 + 24));
            const float t_39 = value_list_1[3];
            i1_may_24 = te_select_i32x8((~((t_38 < te_splat_f32x8(t_39)) | ((te_splat_f32x8(t_39) == t_38) & te_splat_m32x8(-(int)(position_list_1[3] <= first))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_40 = te_load_f32x8(X + (101*i0 + i1 + 32));
            const float t_41 = value_list_1[3];
            i1_may_32 = te_select_i32x8((~((t_40 < te_splat_f32x8(t_41)) | ((te_splat_f32x8(t_41) == t_40) & te_splat_m32x8(-(int)(position_list_1[3] <= first))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_42 = te_load_f32x8(X + (101*i0 + i1 + 40));
            const float t_43 = value_list_1[3];
            i1_may_40 = te_select_i32x8((~((t_42 < te_splat_f32x8(t_43)) | ((te_splat_f32x8(t_43) == t_42) & te_splat_m32x8(-(int)(position_list_1[3] <= first))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_44 = te_load_f32x8(X + (101*i0 + i1 + 48));
            const float t_45 = value_list_1[3];
            i1_may_48 = te_select_i32x8((~((t_44 < te_splat_f32x8(t_45)) | ((te_splat_f32x8(t_45) == t_44) & te_splat_m32x8(-(int)(position_list_1[3] <= first))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_46 = te_load_f32x8(X + (101*i0 + i1 + 56));
            const float t_47 = value_list_1[3];
            i1_may_56 = te_select_i32x8((~((t_46 < te_splat_f32x8(t_47)) | ((te_splat_f32x8(t_47) == t_46) & te_splat_m32x8(-(int)(position_list_1[3] <= first))))), te_splat_i32x8(1), te_splat_i32x8(0));
            bits = (((((((te_which_i32x8(i1_may_0) | te_shl_i64(te_which_i32x8(i1_may_8), 8)) | te_shl_i64(te_which_i32x8(i1_may_16), 16)) | te_shl_i64(te_which_i32x8(i1_may_24), 24)) | te_shl_i64(te_which_i32x8(i1_may_32), 32)) | te_shl_i64(te_which_i32x8(i1_may_40), 40)) | te_shl_i64(te_which_i32x8(i1_may_48), 48)) | te_shl_i64(te_which_i32x8(i1_may_56), 56));
            const int64_t t_2 = __builtin_popcountll(bits);
            for (int64_t entry = 0; entry < t_2; entry++) {
                const int64_t i1_1 = (i1 + __builtin_ctzll(bits));
                bits = te_rest(bits);
                const float t_3 = X[101*i0 + i1_1];
                const float t_4 = value_list_1[3];
                const int32_t t_5 = ((int32_t)i1_1);
                if (!((t_3 < t_4) || ((t_4 == t_3) && (position_list_1[3] <= ((int32_t)i1_1))))) {
                    value_list_0 = t_3;
                    position_list_0 = t_5;
                    f32x4 moved;
                    i32x4 moved_1;
                    const float t_48 = value_list_0;
                    const f32x4 t_49 = value_list_1;
                    const i32x4 t_50 = position_list_1;
                    const int32_t t_51 = position_list_0;
                    const m32x4 t_52 = ((te_splat_f32x4(t_48) < t_49) | ((t_49 == te_splat_f32x4(t_48)) & (t_50 <= te_splat_i32x4(t_51))));
                    const f32x4 t_53 = te_behind_f32x4(value_list_0, value_list_1);
                    const i32x4 t_54 = te_behind_i32x4(position_list_0, position_list_1);
                    const m32x4 t_55 = ((te_splat_f32x4(t_48) < t_53) | ((t_53 == te_splat_f32x4(t_48)) & (t_54 <= te_splat_i32x4(t_51))));
                    moved = te_select_f32x4(t_52, t_49, te_select_f32x4(t_55, te_splat_f32x4(t_48), t_53));
                    moved_1 = te_select_i32x4(t_52, t_50, te_select_i32x4(t_55, te_splat_i32x4(t_51), t_54));
                    value_list_1 = moved;
                    position_list_1 = moved_1;
                }
            }
        }
        for (int64_t i1_2 = 64; i1_2 < 101; i1_2 += 64) {
            const int64_t i1_at = te_min_i64(i1_2, 37);
            int64_t bits_1;
            int32_t first_1;
            first_1 = ((int32_t)i1_at);
            i32x8 i1_may_1_0;
            i32x8 i1_may_1_8;
            i32x8 i1_may_1_16;
            i32x8 i1_may_1_24;
            i32x8 i1_may_1_32;
            i32x8 i1_may_1_40;
            i32x8 i1_may_1_48;
            i32x8 i1_may_1_56;
            const f32x8 t_56 = te_load_f32x8(X + (101*i0 + i1_at));
            const float t_57 = value_list_1[3];
            i1_may_1_0 = te_select_i32x8((((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at), -1073741824), 1073741824)))) & (~((t_56 < te_splat_f32x8(t_57)) | ((te_splat_f32x8(t_57) == t_56) & te_splat_m32x8(-(int)(position_list_1[3] <= first_1)))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_58 = te_load_f32x8(X + (101*i0 + i1_at + 8));
            const float t_59 = value_list_1[3];
            i1_may_1_8 = te_select_i32x8((((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at + 8), -1073741824), 1073741824)))) & (~((t_58 < te_splat_f32x8(t_59)) | ((te_splat_f32x8(t_59) == t_58) & te_splat_m32x8(-(int)(position_list_1[3] <= first_1)))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_60 = te_load_f32x8(X + (101*i0 + i1_at + 16));
            const float t_61 = value_list_1[3];
            i1_may_1_16 = te_select_i32x8((((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at + 16), -1073741824), 1073741824)))) & (~((t_60 < te_splat_f32x8(t_61)) | ((te_splat_f32x8(t_61) == t_60) & te_splat_m32x8(-(int)(position_list_1[3] <= first_1)))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_62 = te_load_f32x8(X + (101*i0 + i1_at + 24));
            const float t_63 = value_list_1[3];
            i1_may_1_24 = te_select_i32x8((((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at + 24), -1073741824), 1073741824)))) & (~((t_62 < te_splat_f32x8(t_63)) | ((te_splat_f32x8(t_63) == t_62) & te_splat_m32x8(-(int)(position_list_1[3] <= first_1)))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_64 = te_load_f32x8(X + (101*i0 + i1_at + 32));
            const float t_65 = value_list_1[3];
            i1_may_1_32 = te_select_i32x8((((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at + 32), -1073741824), 1073741824)))) & (~((t_64 < te_splat_f32x8(t_65)) | ((te_splat_f32x8(t_65) == t_64) & te_splat_m32x8(-(int)(position_list_1[3] <= first_1)))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_66 = te_load_f32x8(X + (101*i0 + i1_at + 40));
            const float t_67 = value_list_1[3];
            i1_may_1_40 = te_select_i32x8((((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at + 40), -1073741824), 1073741824)))) & (~((t_66 < te_splat_f32x8(t_67)) | ((te_splat_f32x8(t_67) == t_66) & te_splat_m32x8(-(int)(position_list_1[3] <= first_1)))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_68 = te_load_f32x8(X + (101*i0 + i1_at + 48));
            const float t_69 = value_list_1[3];
            i1_may_1_48 = te_select_i32x8((((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at + 48), -1073741824), 1073741824)))) & (~((t_68 < te_splat_f32x8(t_69)) | ((te_splat_f32x8(t_69) == t_68) & te_splat_m32x8(-(int)(position_list_1[3] <= first_1)))))), te_splat_i32x8(1), te_splat_i32x8(0));
            const f32x8 t_70 = te_load_f32x8(X + (101*i0 + i1_at + 56));
            const float t_71 = value_list_1[3];
            i1_may_1_56 = te_select_i32x8((((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_2 + i1_at + 56), -1073741824), 1073741824)))) & (~((t_70 < te_splat_f32x8(t_71)) | ((te_splat_f32x8(t_71) == t_70) & te_splat_m32x8(-(int)(position_list_1[3] <= first_1)))))), te_splat_i32x8(1), te_splat_i32x8(0));
            bits_1 = (((((((te_which_i32x8(i1_may_1_0) | te_shl_i64(te_which_i32x8(i1_may_1_8), 8)) | te_shl_i64(te_which_i32x8(i1_may_1_16), 16)) | te_shl_i64(te_which_i32x8(i1_may_1_24), 24)) | te_shl_i64(te_which_i32x8(i1_may_1_32), 32)) | te_shl_i64(te_which_i32x8(i1_may_1_40), 40)) | te_shl_i64(te_which_i32x8(i1_may_1_48), 48)) | te_shl_i64(te_which_i32x8(i1_may_1_56), 56));
            const int64_t t_16 = __builtin_popcountll(bits_1);
            for (int64_t entry_1 = 0; entry_1 < t_16; entry_1++) {
                const int64_t i1_3 = (i1_at + __builtin_ctzll(bits_1));
                bits_1 = te_rest(bits_1);
                const float t_17 = X[101*i0 + i1_3];
                const float t_18 = value_list_1[3];
                const int32_t t_19 = ((int32_t)i1_3);
                if ((0 <= (-i1_2 + i1_3)) && (!((t_17 < t_18) || ((t_18 == t_17) && (position_list_1[3] <= ((int32_t)i1_3)))))) {
                    value_list_0 = t_17;
                    position_list_0 = t_19;
                    f32x4 moved_2;
                    i32x4 moved_3;
                    const float t_72 = value_list_0;
                    const f32x4 t_73 = value_list_1;
                    const i32x4 t_74 = position_list_1;
                    const int32_t t_75 = position_list_0;
                    const m32x4 t_76 = ((te_splat_f32x4(t_72) < t_73) | ((t_73 == te_splat_f32x4(t_72)) & (t_74 <= te_splat_i32x4(t_75))));
                    const f32x4 t_77 = te_behind_f32x4(value_list_0, value_list_1);
                    const i32x4 t_78 = te_behind_i32x4(position_list_0, position_list_1);
                    const m32x4 t_79 = ((te_splat_f32x4(t_72) < t_77) | ((t_77 == te_splat_f32x4(t_72)) & (t_78 <= te_splat_i32x4(t_75))));
                    moved_2 = te_select_f32x4(t_76, t_73, te_select_f32x4(t_79, te_splat_f32x4(t_72), t_77));
                    moved_3 = te_select_i32x4(t_76, t_74, te_select_i32x4(t_79, te_splat_i32x4(t_75), t_78));
                    value_list_1 = moved_2;
                    position_list_1 = moved_3;
                }
            }
        }
        value0_1 = value_list_1[0];
        position0_1 = position_list_1[0];
        value1_1 = value_list_1[1];
        position1_1 = position_list_1[1];
        value2_1 = value_list_1[2];
        position2_1 = position_list_1[2];
        value3_1 = value_list_1[3];
        position3_1 = position_list_1[3];
        value0 = value0_1;
        const int32_t t_28 = position0_1;
        position0 = ((t_28 == 2147483647) ? INT64_C(9223372036854775807) : ((int64_t)t_28));
        value1 = value1_1;
        const int32_t t_29 = position1_1;
        position1 = ((t_29 == 2147483647) ? INT64_C(9223372036854775807) : ((int64_t)t_29));
        value2 = value2_1;
        const int32_t t_30 = position2_1;
        position2 = ((t_30 == 2147483647) ? INT64_C(9223372036854775807) : ((int64_t)t_30));
        value3 = value3_1;
        const int32_t t_31 = position3_1;
        position3 = ((t_31 == 2147483647) ? INT64_C(9223372036854775807) : ((int64_t)t_31));
        for (int64_t i3 = 0; i3 < 4; i3 += 4) {
            te_store_i64x4(v_I + (4*i0 + i3), te_select_i64x4(__builtin_convertvector(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64(-i3, -1073741824), 1073741824)))), m64x4), te_splat_i64x4(position0), te_select_i64x4(__builtin_convertvector(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((-i3 + 1), -1073741824), 1073741824)))), m64x4), te_splat_i64x4(position1), te_select_i64x4(__builtin_convertvector(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((-i3 + 2), -1073741824), 1073741824)))), m64x4), te_splat_i64x4(position2), te_splat_i64x4(position3)))));
            te_store_f32x4(V + (4*i0 + i3), te_select_f32x4(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64(-i3, -1073741824), 1073741824)))), te_splat_f32x4(value0), te_select_f32x4(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((-i3 + 1), -1073741824), 1073741824)))), te_splat_f32x4(value1), te_select_f32x4(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((-i3 + 2), -1073741824), 1073741824)))), te_splat_f32x4(value2), te_splat_f32x4(value3)))));
        }
    }
}
