#version 450
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { uint X[]; };
layout(std430, set = 0, binding = 1) buffer te_b1 { uint P[]; };
uint te_lane;
shared uint te_lanes[32];

bool te_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

bool te_eq_f32(float a, float b) { return !te_nan(a) && !te_nan(b) && a == b; }

float te_f32(uint bits) { return uintBitsToFloat(bits); }

float te_exp_f32(float x) {
    if (te_nan(x)) { return x; }
    float c = clamp(x, -105.0, 90.0);
    float k = floor(c * 1.44269504088896341 + 0.5);
    float r = (c - k * 0.693359375) + k * 2.12194440e-4;
    float p = 1.9875691500e-4;
    p = p * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    p = p * (r * r) + r + 1.0;
    int n = int(k);
    int h = n >> 1u;
    return p * te_f32(uint(h + 127) << 23u) * te_f32(uint(n - h + 127) << 23u);
}

float te_max_f32(float a, float b) {
    if (te_nan(a)) { return a; }
    if (te_nan(b)) { return b; }
    return ((a > b) ? a : b);
}

float te_of_bf16(uint x) { return uintBitsToFloat(x << 16u); }

uint te_shuffle_u32(uint x, int mask) {
    te_lanes[te_lane] = x;
    barrier();
    uint y = te_lanes[te_lane ^ uint(mask)];
    barrier();
    return y;
}

float te_shuffle_f32(float x, int mask) { return uintBitsToFloat(te_shuffle_u32(floatBitsToUint(x), mask)); }

uint te_to_bf16(float x) {
    uint u = floatBitsToUint(x);
    if (te_nan(x)) { return (u >> 16u) | 0x40u; }
    return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}

uint te_unpack_u16(uint word, int n) { return (word >> (uint(n & 1) * 16u)) & 0xffffu; }

// P[i0, i1] = exp(X[i0, i1] - pass[i1](X[i0, i1], exp(X[i0, i1] + statistic("at"))).c0) / pass[i1](X[i0, i1],
//     exp(X[i0, i1] + statistic("at"))).c1
// schedule: split fold=i1:warp grid=i0 warp=i1
void main() {
    int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    te_lane = gl_LocalInvocationIndex;
    int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);
    int te_group = 0;
    int te_thread = int(te_lane % 128u);
    int te_place = te_block * 32 + int(te_lane);
    int te_size = te_blocks * 32;
    int lane = (te_thread % 32);
    int warp = 0;
    int row = (te_block + 4*te_group + warp);
    if (row < 64) {
        int i0 = row;
        float c0[1];
        c0[0] = te_f32(0xff800000u);
        float c1[1];
        c1[0] = 0.0;
        for (int i1_1 = lane; i1_1 < 96; i1_1 += 32) {
            float c0_new[1];
            c0_new[0] = te_max_f32(c0[0], te_of_bf16(te_unpack_u16(X[((96*i0 + i1_1) / 2)], (96*i0 + i1_1))));
            float t = c0[0];
            float t_1 = (-t);
            float t_2 = (-c0_new[0]);
            float t_3 = c1[0];
            c1[0] = (te_eq_f32(t_1, t_2) ? t_3 : (te_eq_f32(t, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_2 + (-t_1))) * t_3)));
            c1[0] = (c1[0] + te_exp_f32((te_of_bf16(te_unpack_u16(X[((96*i0 + i1_1) / 2)], (96*i0 + i1_1))) + t_2)));
            c0[0] = c0_new[0];
        }
        bool t_4 = ((lane % 32) < 16);
        float c0_upper[1];
        float t_5 = c0[0];
        float t_6 = te_shuffle_f32(t_5, 16);
        c0[0] = (t_4 ? t_5 : t_6);
        c0_upper[0] = (t_4 ? t_6 : t_5);
        float c1_upper[1];
        float t_7 = c1[0];
        float t_8 = te_shuffle_f32(t_7, 16);
        c1[0] = (t_4 ? t_7 : t_8);
        c1_upper[0] = (t_4 ? t_8 : t_7);
        float t_9 = c0[0];
        float t_10 = c0_upper[0];
        float t_11 = te_max_f32(t_9, t_10);
        float t_12 = (-t_9);
        float t_13 = (-t_11);
        float t_14 = c1[0];
        float t_15 = (-t_10);
        float t_16 = c1_upper[0];
        float t_17 = ((te_eq_f32(t_12, t_13) ? t_14 : (te_eq_f32(t_9, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_13 + (-t_12))) * t_14))) + (te_eq_f32(t_15, t_13) ? t_16 : (te_eq_f32(t_10, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_13 + (-t_15))) * t_16))));
        c0[0] = t_11;
        c1[0] = t_17;
        bool t_18 = ((lane % 16) < 8);
        float c0_upper_1[1];
        float t_19 = c0[0];
        float t_20 = te_shuffle_f32(t_19, 8);
        c0[0] = (t_18 ? t_19 : t_20);
        c0_upper_1[0] = (t_18 ? t_20 : t_19);
        float c1_upper_1[1];
        float t_21 = c1[0];
        float t_22 = te_shuffle_f32(t_21, 8);
        c1[0] = (t_18 ? t_21 : t_22);
        c1_upper_1[0] = (t_18 ? t_22 : t_21);
        float t_23 = c0[0];
        float t_24 = c0_upper_1[0];
        float t_25 = te_max_f32(t_23, t_24);
        float t_26 = (-t_23);
        float t_27 = (-t_25);
        float t_28 = c1[0];
        float t_29 = (-t_24);
        float t_30 = c1_upper_1[0];
        float t_31 = ((te_eq_f32(t_26, t_27) ? t_28 : (te_eq_f32(t_23, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_27 + (-t_26))) * t_28))) + (te_eq_f32(t_29, t_27) ? t_30 : (te_eq_f32(t_24, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_27 + (-t_29))) * t_30))));
        c0[0] = t_25;
        c1[0] = t_31;
        bool t_32 = ((lane % 8) < 4);
        float c0_upper_2[1];
        float t_33 = c0[0];
        float t_34 = te_shuffle_f32(t_33, 4);
        c0[0] = (t_32 ? t_33 : t_34);
        c0_upper_2[0] = (t_32 ? t_34 : t_33);
        float c1_upper_2[1];
        float t_35 = c1[0];
        float t_36 = te_shuffle_f32(t_35, 4);
        c1[0] = (t_32 ? t_35 : t_36);
        c1_upper_2[0] = (t_32 ? t_36 : t_35);
        float t_37 = c0[0];
        float t_38 = c0_upper_2[0];
        float t_39 = te_max_f32(t_37, t_38);
        float t_40 = (-t_37);
        float t_41 = (-t_39);
        float t_42 = c1[0];
        float t_43 = (-t_38);
        float t_44 = c1_upper_2[0];
        float t_45 = ((te_eq_f32(t_40, t_41) ? t_42 : (te_eq_f32(t_37, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_41 + (-t_40))) * t_42))) + (te_eq_f32(t_43, t_41) ? t_44 : (te_eq_f32(t_38, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_41 + (-t_43))) * t_44))));
        c0[0] = t_39;
        c1[0] = t_45;
        bool t_46 = ((lane % 4) < 2);
        float c0_upper_3[1];
        float t_47 = c0[0];
        float t_48 = te_shuffle_f32(t_47, 2);
        c0[0] = (t_46 ? t_47 : t_48);
        c0_upper_3[0] = (t_46 ? t_48 : t_47);
        float c1_upper_3[1];
        float t_49 = c1[0];
        float t_50 = te_shuffle_f32(t_49, 2);
        c1[0] = (t_46 ? t_49 : t_50);
        c1_upper_3[0] = (t_46 ? t_50 : t_49);
        float t_51 = c0[0];
        float t_52 = c0_upper_3[0];
        float t_53 = te_max_f32(t_51, t_52);
        float t_54 = (-t_51);
        float t_55 = (-t_53);
        float t_56 = c1[0];
        float t_57 = (-t_52);
        float t_58 = c1_upper_3[0];
        float t_59 = ((te_eq_f32(t_54, t_55) ? t_56 : (te_eq_f32(t_51, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_55 + (-t_54))) * t_56))) + (te_eq_f32(t_57, t_55) ? t_58 : (te_eq_f32(t_52, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_55 + (-t_57))) * t_58))));
        c0[0] = t_53;
        c1[0] = t_59;
        bool t_60 = ((lane % 2) < 1);
        float c0_upper_4[1];
        float t_61 = c0[0];
        float t_62 = te_shuffle_f32(t_61, 1);
        c0[0] = (t_60 ? t_61 : t_62);
        c0_upper_4[0] = (t_60 ? t_62 : t_61);
        float c1_upper_4[1];
        float t_63 = c1[0];
        float t_64 = te_shuffle_f32(t_63, 1);
        c1[0] = (t_60 ? t_63 : t_64);
        c1_upper_4[0] = (t_60 ? t_64 : t_63);
        float t_65 = c0[0];
        float t_66 = c0_upper_4[0];
        float t_67 = te_max_f32(t_65, t_66);
        float t_68 = (-t_65);
        float t_69 = (-t_67);
        float t_70 = c1[0];
        float t_71 = (-t_66);
        float t_72 = c1_upper_4[0];
        float t_73 = ((te_eq_f32(t_68, t_69) ? t_70 : (te_eq_f32(t_65, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_69 + (-t_68))) * t_70))) + (te_eq_f32(t_71, t_69) ? t_72 : (te_eq_f32(t_66, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_69 + (-t_71))) * t_72))));
        c0[0] = t_67;
        c1[0] = t_73;
        float t_74 = (-c0[0]);
        float t_75 = (1.0 / c1[0]);
        for (int i1 = lane; i1 < 96; i1 += 32) {
            P[96*i0 + i1] = te_to_bf16((te_exp_f32((te_of_bf16(te_unpack_u16(X[((96*i0 + i1) / 2)], (96*i0 + i1))) + t_74)) * t_75));
        }
    }
}
