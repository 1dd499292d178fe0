#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { float Q[]; };
layout(std430, set = 0, binding = 1) readonly buffer te_b1 { float K[]; };
layout(std430, set = 0, binding = 2) buffer te_b2 { uvec2 place[]; };
layout(std430, set = 0, binding = 3) buffer te_b3 { float best[]; };
uint te_lane;

bool te_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

bool te_eq_f32(float a, float b) { return !te_nan(a) && !te_nan(b) && a == b; }

float te_f32(uint bits) { return uintBitsToFloat(bits); }

uvec2 te_i64_i32(int x) { return uvec2(uint(x), uint(x >> 31u)); }

bool te_lt_f32(float a, float b) { return !te_nan(a) && !te_nan(b) && a < b; }

bool te_lt_u64(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

bool te_lt_i64(uvec2 a, uvec2 b) {
    return te_lt_u64(uvec2(a.x, a.y ^ 0x80000000u), uvec2(b.x, b.y ^ 0x80000000u));
}

// place[i0, i4] = select(i4 <= 0, top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf, 9223372036854775807,
//     -inf, 9223372036854775807, -inf, 9223372036854775807).position0, select(i4 <= 1,
//     top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf, 9223372036854775807, -inf, 9223372036854775807,
//     -inf, 9223372036854775807).position1, select(i4 <= 2, top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1,
//     -inf, 9223372036854775807, -inf, 9223372036854775807, -inf, 9223372036854775807).position2,
//     top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf, 9223372036854775807, -inf, 9223372036854775807,
//     -inf, 9223372036854775807).position3)))
// best[i0, i3] = select(i3 <= 0, top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf, 9223372036854775807,
//     -inf, 9223372036854775807, -inf, 9223372036854775807).value0, select(i3 <= 1, top_k[4][i1](sum[i2](Q[i0,
//     i2] * K[i1, i2]), i1, -inf, 9223372036854775807, -inf, 9223372036854775807, -inf,
//     9223372036854775807).value1, select(i3 <= 2, top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf,
//     9223372036854775807, -inf, 9223372036854775807, -inf, 9223372036854775807).value2,
//     top_k[4][i1](sum[i2](Q[i0, i2] * K[i1, i2]), i1, -inf, 9223372036854775807, -inf, 9223372036854775807,
//     -inf, 9223372036854775807).value3)))
// schedule: point grid=i0
void main() {
    int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    te_lane = gl_LocalInvocationIndex;
    int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);
    int te_group = 0;
    int te_thread = int(te_lane % 128u);
    int te_place = te_block * 64 + int(te_lane);
    int te_size = te_blocks * 64;
    for (int point = 0 + 1 * te_place; point < 3; point += 1 * te_size) {
        int i0 = point;
        float value0[1];
        value0[0] = te_f32(0xff800000u);
        uvec2 position0[1];
        position0[0] = uvec2(4294967295u, 2147483647u);
        float value1[1];
        value1[0] = te_f32(0xff800000u);
        uvec2 position1[1];
        position1[0] = uvec2(4294967295u, 2147483647u);
        float value2[1];
        value2[0] = te_f32(0xff800000u);
        uvec2 position2[1];
        position2[0] = uvec2(4294967295u, 2147483647u);
        float value3[1];
        value3[0] = te_f32(0xff800000u);
        uvec2 position3[1];
        position3[0] = uvec2(4294967295u, 2147483647u);
        for (int i1 = 0; i1 < 7; i1++) {
            float acc[1];
            acc[0] = 0.0;
            for (int i2 = 0; i2 < 5; i2++) {
                acc[0] = (acc[0] + (Q[5*i0 + i2] * K[5*i1 + i2]));
            }
            float t = value0[0];
            uvec2 t_1 = position0[0];
            bool t_2 = (te_lt_f32(acc[0], t) || (te_eq_f32(t, acc[0]) && (!te_lt_i64(te_i64_i32(i1), t_1))));
            float t_3 = value1[0];
            uvec2 t_4 = position1[0];
            bool t_5 = (te_lt_f32(te_f32(0xff800000u), t_3) || (te_eq_f32(t_3, te_f32(0xff800000u)) && (!te_lt_i64(uvec2(4294967295u, 2147483647u), t_4))));
            float t_6 = (t_5 ? t_3 : te_f32(0xff800000u));
            float t_7 = (t_2 ? acc[0] : t);
            uvec2 t_8 = (t_2 ? te_i64_i32(i1) : t_1);
            uvec2 t_9 = (t_5 ? t_4 : uvec2(4294967295u, 2147483647u));
            bool t_10 = (te_lt_f32(t_6, t_7) || (te_eq_f32(t_7, t_6) && (!te_lt_i64(t_9, t_8))));
            float t_11 = value2[0];
            uvec2 t_12 = position2[0];
            bool t_13 = (te_lt_f32(te_f32(0xff800000u), t_11) || (te_eq_f32(t_11, te_f32(0xff800000u)) && (!te_lt_i64(uvec2(4294967295u, 2147483647u), t_12))));
            float t_14 = (t_13 ? t_11 : te_f32(0xff800000u));
            bool t_15 = (te_lt_f32(te_f32(0xff800000u), t) || (te_eq_f32(t, te_f32(0xff800000u)) && (!te_lt_i64(uvec2(4294967295u, 2147483647u), t_1))));
            float t_16 = (t_15 ? te_f32(0xff800000u) : t);
            uvec2 t_17 = (t_15 ? uvec2(4294967295u, 2147483647u) : t_1);
            uvec2 t_18 = (t_13 ? t_12 : uvec2(4294967295u, 2147483647u));
            bool t_19 = (te_lt_f32(t_14, t_16) || (te_eq_f32(t_16, t_14) && (!te_lt_i64(t_18, t_17))));
            float t_20 = (t_19 ? t_16 : t_14);
            bool t_21 = (te_lt_f32(acc[0], t_3) || (te_eq_f32(t_3, acc[0]) && (!te_lt_i64(te_i64_i32(i1), t_4))));
            float t_22 = (t_21 ? acc[0] : t_3);
            uvec2 t_23 = (t_21 ? te_i64_i32(i1) : t_4);
            uvec2 t_24 = (t_19 ? t_17 : t_18);
            bool t_25 = (te_lt_f32(t_20, t_22) || (te_eq_f32(t_22, t_20) && (!te_lt_i64(t_24, t_23))));
            float t_26 = value3[0];
            uvec2 t_27 = position3[0];
            bool t_28 = (te_lt_f32(te_f32(0xff800000u), t_26) || (te_eq_f32(t_26, te_f32(0xff800000u)) && (!te_lt_i64(uvec2(4294967295u, 2147483647u), t_27))));
            float t_29 = (t_28 ? t_26 : te_f32(0xff800000u));
            uvec2 t_30 = (t_28 ? t_27 : uvec2(4294967295u, 2147483647u));
            bool t_31 = (te_lt_f32(t_29, t_16) || (te_eq_f32(t_16, t_29) && (!te_lt_i64(t_30, t_17))));
            float t_32 = (t_31 ? t_16 : t_29);
            float t_33 = (t_5 ? te_f32(0xff800000u) : t_3);
            uvec2 t_34 = (t_5 ? uvec2(4294967295u, 2147483647u) : t_4);
            uvec2 t_35 = (t_31 ? t_17 : t_30);
            bool t_36 = (te_lt_f32(t_32, t_33) || (te_eq_f32(t_33, t_32) && (!te_lt_i64(t_35, t_34))));
            float t_37 = (t_36 ? t_33 : t_32);
            bool t_38 = (te_lt_f32(acc[0], t_11) || (te_eq_f32(t_11, acc[0]) && (!te_lt_i64(te_i64_i32(i1), t_12))));
            float t_39 = (t_38 ? acc[0] : t_11);
            uvec2 t_40 = (t_38 ? te_i64_i32(i1) : t_12);
            uvec2 t_41 = (t_36 ? t_34 : t_35);
            bool t_42 = (te_lt_f32(t_37, t_39) || (te_eq_f32(t_39, t_37) && (!te_lt_i64(t_41, t_40))));
            float t_43 = (t_2 ? t : acc[0]);
            uvec2 t_44 = (t_2 ? t_1 : te_i64_i32(i1));
            float t_45 = (t_10 ? t_7 : t_6);
            uvec2 t_46 = (t_10 ? t_8 : t_9);
            float t_47 = (t_25 ? t_22 : t_20);
            uvec2 t_48 = (t_25 ? t_23 : t_24);
            float t_49 = (t_42 ? t_39 : t_37);
            uvec2 t_50 = (t_42 ? t_40 : t_41);
            value0[0] = t_43;
            position0[0] = t_44;
            value1[0] = t_45;
            position1[0] = t_46;
            value2[0] = t_47;
            position2[0] = t_48;
            value3[0] = t_49;
            position3[0] = t_50;
        }
        for (int i4 = 0; i4 < 4; i4++) {
            place[4*i0 + i4] = ((0 <= -i4) ? position0[0] : ((0 <= (-i4 + 1)) ? position1[0] : ((0 <= (-i4 + 2)) ? position2[0] : position3[0])));
        }
        for (int i3 = 0; i3 < 4; i3++) {
            best[4*i0 + i3] = ((0 <= -i3) ? value0[0] : ((0 <= (-i3 + 1)) ? value1[0] : ((0 <= (-i3 + 2)) ? value2[0] : value3[0])));
        }
    }
}
