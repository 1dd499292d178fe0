#version 450
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { float X[]; };
layout(std430, set = 0, binding = 1) readonly buffer te_b1 { float W[]; };
layout(std430, set = 0, binding = 2) buffer te_b2 { float Y[]; };
uint te_lane;
shared uint te_lanes[32];

uint te_shuffle_u32(uint x, int mask) {
    te_lanes[te_lane] = x;
    barrier();
    uint y = te_lanes[te_lane ^ uint(mask)];
    barrier();
    return y;
}

float te_shuffle_f32(float x, int mask) { return uintBitsToFloat(te_shuffle_u32(floatBitsToUint(x), mask)); }

// Y[i0, i2] = recip(sqrt(sum[i1]((X[i0, i1] - sum[i1](X[i0, i1]) * recip(40.0)) * (X[i0, i1] - sum[i1](X[i0,
//     i1]) * recip(40.0))) * recip(40.0) + 1e-05)) * sum[i1]((X[i0, i1] - sum[i1](X[i0, i1]) * recip(40.0)) *
//     W[i1, i2])
// schedule: split fold=i1:warp grid=i0 warp=i2
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
    float t_15 = (1.0 / 40.0);
    if (row < 24) {
        int i0 = row;
        float acc[1];
        acc[0] = 0.0;
        float acc_1[1];
        acc_1[0] = 0.0;
        for (int i1_1 = lane; i1_1 < 40; i1_1 += 32) {
            acc_1[0] = (acc_1[0] + X[40*i0 + i1_1]);
        }
        bool t = ((lane % 32) < 16);
        float acc_1_upper[1];
        float t_1 = acc_1[0];
        float t_2 = te_shuffle_f32(t_1, 16);
        acc_1[0] = (t ? t_1 : t_2);
        acc_1_upper[0] = (t ? t_2 : t_1);
        acc_1[0] = (acc_1[0] + acc_1_upper[0]);
        bool t_3 = ((lane % 16) < 8);
        float acc_1_upper_1[1];
        float t_4 = acc_1[0];
        float t_5 = te_shuffle_f32(t_4, 8);
        acc_1[0] = (t_3 ? t_4 : t_5);
        acc_1_upper_1[0] = (t_3 ? t_5 : t_4);
        acc_1[0] = (acc_1[0] + acc_1_upper_1[0]);
        bool t_6 = ((lane % 8) < 4);
        float acc_1_upper_2[1];
        float t_7 = acc_1[0];
        float t_8 = te_shuffle_f32(t_7, 4);
        acc_1[0] = (t_6 ? t_7 : t_8);
        acc_1_upper_2[0] = (t_6 ? t_8 : t_7);
        acc_1[0] = (acc_1[0] + acc_1_upper_2[0]);
        bool t_9 = ((lane % 4) < 2);
        float acc_1_upper_3[1];
        float t_10 = acc_1[0];
        float t_11 = te_shuffle_f32(t_10, 2);
        acc_1[0] = (t_9 ? t_10 : t_11);
        acc_1_upper_3[0] = (t_9 ? t_11 : t_10);
        acc_1[0] = (acc_1[0] + acc_1_upper_3[0]);
        bool t_12 = ((lane % 2) < 1);
        float acc_1_upper_4[1];
        float t_13 = acc_1[0];
        float t_14 = te_shuffle_f32(t_13, 1);
        acc_1[0] = (t_12 ? t_13 : t_14);
        acc_1_upper_4[0] = (t_12 ? t_14 : t_13);
        acc_1[0] = (acc_1[0] + acc_1_upper_4[0]);
        float t_16 = (-(acc_1[0] * t_15));
        for (int i1 = lane; i1 < 40; i1 += 32) {
            float t_17 = (X[40*i0 + i1] + t_16);
            acc[0] = (acc[0] + (t_17 * t_17));
        }
        bool t_18 = ((lane % 32) < 16);
        float acc_upper[1];
        float t_19 = acc[0];
        float t_20 = te_shuffle_f32(t_19, 16);
        acc[0] = (t_18 ? t_19 : t_20);
        acc_upper[0] = (t_18 ? t_20 : t_19);
        acc[0] = (acc[0] + acc_upper[0]);
        bool t_21 = ((lane % 16) < 8);
        float acc_upper_1[1];
        float t_22 = acc[0];
        float t_23 = te_shuffle_f32(t_22, 8);
        acc[0] = (t_21 ? t_22 : t_23);
        acc_upper_1[0] = (t_21 ? t_23 : t_22);
        acc[0] = (acc[0] + acc_upper_1[0]);
        bool t_24 = ((lane % 8) < 4);
        float acc_upper_2[1];
        float t_25 = acc[0];
        float t_26 = te_shuffle_f32(t_25, 4);
        acc[0] = (t_24 ? t_25 : t_26);
        acc_upper_2[0] = (t_24 ? t_26 : t_25);
        acc[0] = (acc[0] + acc_upper_2[0]);
        bool t_27 = ((lane % 4) < 2);
        float acc_upper_3[1];
        float t_28 = acc[0];
        float t_29 = te_shuffle_f32(t_28, 2);
        acc[0] = (t_27 ? t_28 : t_29);
        acc_upper_3[0] = (t_27 ? t_29 : t_28);
        acc[0] = (acc[0] + acc_upper_3[0]);
        bool t_30 = ((lane % 2) < 1);
        float acc_upper_4[1];
        float t_31 = acc[0];
        float t_32 = te_shuffle_f32(t_31, 1);
        acc[0] = (t_30 ? t_31 : t_32);
        acc_upper_4[0] = (t_30 ? t_32 : t_31);
        acc[0] = (acc[0] + acc_upper_4[0]);
        float t_33 = (1.0 / sqrt(((acc[0] * t_15) + 1e-05)));
        for (int i2 = lane; i2 < 16; i2 += 32) {
            float acc_2[1];
            acc_2[0] = 0.0;
            for (int i1_2 = 0; i1_2 < 40; i1_2++) {
                acc_2[0] = (acc_2[0] + ((X[40*i0 + i1_2] + t_16) * W[16*i1_2 + i2]));
            }
            Y[16*i0 + i2] = (t_33 * acc_2[0]);
        }
    }
}
