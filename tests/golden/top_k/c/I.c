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
#pragma omp parallel for schedule(guided) if (29160 > TE_WORK)
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
        for (int64_t i1 = 0; i1 < 64; i1 += 64) {
            i32x8 i1_may_1;
            i1_may_1 = te_splat_i32x8(0);
            for (int64_t i1_b = 0; i1_b < 64; i1_b += 8) {
                const f32x8 t_52 = te_load_f32x8(X + (101*i0 + i1 + i1_b));
                const float t_53 = value3_1;
                i1_may_1 = (i1_may_1 | te_select_i32x8((~((t_52 < te_splat_f32x8(t_53)) | ((te_splat_f32x8(t_53) == t_52) & (te_splat_i32x8(position3_1) <= (te_splat_i32x8(((int32_t)(i1 + i1_b))) + (i32x8){0, 1, 2, 3, 4, 5, 6, 7}))))), te_splat_i32x8(1), te_splat_i32x8(0)));
            }
            if (0 < ((int64_t)(((((((i1_may_1[0] | i1_may_1[1]) | i1_may_1[2]) | i1_may_1[3]) | i1_may_1[4]) | i1_may_1[5]) | i1_may_1[6]) | i1_may_1[7]))) {
                for (int64_t i1_e_1 = 0; i1_e_1 < 64; i1_e_1++) {
                    const float t_2 = X[101*i0 + i1 + i1_e_1];
                    const float t_3 = value3_1;
                    const int32_t t_6 = ((int32_t)(i1 + i1_e_1));
                    if (!((t_2 < t_3) || ((t_3 == t_2) && (position3_1 <= ((int32_t)(i1 + i1_e_1)))))) {
                        const float t_4 = value0_1;
                        const int32_t t_5 = position0_1;
                        const uint8_t t_7 = ((t_2 < t_4) || ((t_4 == t_2) && (t_5 <= t_6)));
                        const float t_8 = value1_1;
                        const int32_t t_9 = position1_1;
                        const uint8_t t_10 = ((t_2 < t_8) || ((t_8 == t_2) && (t_9 <= t_6)));
                        const float t_11 = value2_1;
                        const int32_t t_12 = position2_1;
                        const uint8_t t_13 = ((t_2 < t_11) || ((t_11 == t_2) && (t_12 <= t_6)));
                        const int32_t t_14 = position3_1;
                        const uint8_t t_15 = ((t_2 < t_3) || ((t_3 == t_2) && (t_14 <= t_6)));
                        const float t_16 = (t_7 ? t_4 : t_2);
                        const int32_t t_17 = (t_7 ? t_5 : t_6);
                        const float t_18 = (t_10 ? t_8 : (t_7 ? t_2 : t_4));
                        const int32_t t_19 = (t_10 ? t_9 : (t_7 ? t_6 : t_5));
                        const float t_20 = (t_13 ? t_11 : (t_10 ? t_2 : t_8));
                        const int32_t t_21 = (t_13 ? t_12 : (t_10 ? t_6 : t_9));
                        const float t_22 = (t_15 ? t_3 : (t_13 ? t_2 : t_11));
                        const int32_t t_23 = (t_15 ? t_14 : (t_13 ? t_6 : t_12));
                        value0_1 = t_16;
                        position0_1 = t_17;
                        value1_1 = t_18;
                        position1_1 = t_19;
                        value2_1 = t_20;
                        position2_1 = t_21;
                        value3_1 = t_22;
                        position3_1 = t_23;
                    }
                }
            }
        }
        for (int64_t i1_1 = 64; i1_1 < 101; i1_1 += 64) {
            const int64_t i1_at = te_min_i64(i1_1, 37);
            i32x8 i1_may_2;
            i1_may_2 = te_splat_i32x8(0);
            for (int64_t i1_b_1 = 0; i1_b_1 < 64; i1_b_1 += 8) {
                const f32x8 t_54 = te_load_f32x8(X + (101*i0 + i1_at + i1_b_1));
                const float t_55 = value3_1;
                i1_may_2 = (i1_may_2 | te_select_i32x8((((i32x8){0, -1, -2, -3, -4, -5, -6, -7} <= te_splat_i32x8(((int32_t)te_min_i64(te_max_i64((-i1_1 + i1_at + i1_b_1), -1073741824), 1073741824)))) & (~((t_54 < te_splat_f32x8(t_55)) | ((te_splat_f32x8(t_55) == t_54) & (te_splat_i32x8(position3_1) <= (te_splat_i32x8(((int32_t)(i1_at + i1_b_1))) + (i32x8){0, 1, 2, 3, 4, 5, 6, 7})))))), te_splat_i32x8(1), te_splat_i32x8(0)));
            }
            if (0 < ((int64_t)(((((((i1_may_2[0] | i1_may_2[1]) | i1_may_2[2]) | i1_may_2[3]) | i1_may_2[4]) | i1_may_2[5]) | i1_may_2[6]) | i1_may_2[7]))) {
                for (int64_t i1_e_3 = 0; i1_e_3 < 64; i1_e_3++) {
                    const float t_26 = X[101*i0 + i1_at + i1_e_3];
                    const float t_27 = value3_1;
                    const int32_t t_30 = ((int32_t)(i1_at + i1_e_3));
                    if ((0 <= (-i1_1 + i1_at + i1_e_3)) && (!((t_26 < t_27) || ((t_27 == t_26) && (position3_1 <= ((int32_t)(i1_at + i1_e_3))))))) {
                        const float t_28 = value0_1;
                        const int32_t t_29 = position0_1;
                        const uint8_t t_31 = ((t_26 < t_28) || ((t_28 == t_26) && (t_29 <= t_30)));
                        const float t_32 = value1_1;
                        const int32_t t_33 = position1_1;
                        const uint8_t t_34 = ((t_26 < t_32) || ((t_32 == t_26) && (t_33 <= t_30)));
                        const float t_35 = value2_1;
                        const int32_t t_36 = position2_1;
                        const uint8_t t_37 = ((t_26 < t_35) || ((t_35 == t_26) && (t_36 <= t_30)));
                        const int32_t t_38 = position3_1;
                        const uint8_t t_39 = ((t_26 < t_27) || ((t_27 == t_26) && (t_38 <= t_30)));
                        const float t_40 = (t_31 ? t_28 : t_26);
                        const int32_t t_41 = (t_31 ? t_29 : t_30);
                        const float t_42 = (t_34 ? t_32 : (t_31 ? t_26 : t_28));
                        const int32_t t_43 = (t_34 ? t_33 : (t_31 ? t_30 : t_29));
                        const float t_44 = (t_37 ? t_35 : (t_34 ? t_26 : t_32));
                        const int32_t t_45 = (t_37 ? t_36 : (t_34 ? t_30 : t_33));
                        const float t_46 = (t_39 ? t_27 : (t_37 ? t_26 : t_35));
                        const int32_t t_47 = (t_39 ? t_38 : (t_37 ? t_30 : t_36));
                        value0_1 = t_40;
                        position0_1 = t_41;
                        value1_1 = t_42;
                        position1_1 = t_43;
                        value2_1 = t_44;
                        position2_1 = t_45;
                        value3_1 = t_46;
                        position3_1 = t_47;
                    }
                }
            }
        }
        value0 = value0_1;
        const int32_t t_48 = position0_1;
        position0 = ((t_48 == 2147483647) ? INT64_C(9223372036854775807) : ((int64_t)t_48));
        value1 = value1_1;
        const int32_t t_49 = position1_1;
        position1 = ((t_49 == 2147483647) ? INT64_C(9223372036854775807) : ((int64_t)t_49));
        value2 = value2_1;
        const int32_t t_50 = position2_1;
        position2 = ((t_50 == 2147483647) ? INT64_C(9223372036854775807) : ((int64_t)t_50));
        value3 = value3_1;
        const int32_t t_51 = position3_1;
        position3 = ((t_51 == 2147483647) ? INT64_C(9223372036854775807) : ((int64_t)t_51));
        for (int64_t i3 = 0; i3 < 4; i3 += 4) {
            te_store_i64x4(v_I + (4*i0 + i3), te_select_i64x4(__builtin_convertvector(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64(-i3, -1073741824), 1073741824)))), m64x4), te_splat_i64x4(position0), te_select_i64x4(__builtin_convertvector(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((-i3 + 1), -1073741824), 1073741824)))), m64x4), te_splat_i64x4(position1), te_select_i64x4(__builtin_convertvector(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((-i3 + 2), -1073741824), 1073741824)))), m64x4), te_splat_i64x4(position2), te_splat_i64x4(position3)))));
            te_store_f32x4(V + (4*i0 + i3), te_select_f32x4(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64(-i3, -1073741824), 1073741824)))), te_splat_f32x4(value0), te_select_f32x4(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((-i3 + 1), -1073741824), 1073741824)))), te_splat_f32x4(value1), te_select_f32x4(((i32x4){0, 1, 2, 3} <= te_splat_i32x4(((int32_t)te_min_i64(te_max_i64((-i3 + 2), -1073741824), 1073741824)))), te_splat_f32x4(value2), te_splat_f32x4(value3)))));
        }
    }
}
