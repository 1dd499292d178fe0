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
    float t_10 = (1.0 / 40.0);
    if (row < 24) {
        int i0 = row;
        float acc[1];
        acc[0] = 0.0;
        float acc_1[1];
        acc_1[0] = 0.0;
        for (int i1_1 = lane; i1_1 < 40; i1_1 += 32) {
            acc_1[0] = (acc_1[0] + X[40*i0 + i1_1]);
        }
        float acc_1_upper[1];
        float t = acc_1[0];
        float t_1 = te_shuffle_f32(t, 16);
        acc_1_upper[0] = t_1;
        acc_1[0] = (acc_1[0] + acc_1_upper[0]);
        float acc_1_upper_1[1];
        float t_2 = acc_1[0];
        float t_3 = te_shuffle_f32(t_2, 8);
        acc_1_upper_1[0] = t_3;
        acc_1[0] = (acc_1[0] + acc_1_upper_1[0]);
        float acc_1_upper_2[1];
        float t_4 = acc_1[0];
        float t_5 = te_shuffle_f32(t_4, 4);
        acc_1_upper_2[0] = t_5;
        acc_1[0] = (acc_1[0] + acc_1_upper_2[0]);
        float acc_1_upper_3[1];
        float t_6 = acc_1[0];
        float t_7 = te_shuffle_f32(t_6, 2);
        acc_1_upper_3[0] = t_7;
        acc_1[0] = (acc_1[0] + acc_1_upper_3[0]);
        float acc_1_upper_4[1];
        float t_8 = acc_1[0];
        float t_9 = te_shuffle_f32(t_8, 1);
        acc_1_upper_4[0] = t_9;
        acc_1[0] = (acc_1[0] + acc_1_upper_4[0]);
        float t_11 = (-(acc_1[0] * t_10));
        for (int i1 = lane; i1 < 40; i1 += 32) {
            float t_12 = (X[40*i0 + i1] + t_11);
            acc[0] = (acc[0] + (t_12 * t_12));
        }
        float acc_upper[1];
        float t_13 = acc[0];
        float t_14 = te_shuffle_f32(t_13, 16);
        acc_upper[0] = t_14;
        acc[0] = (acc[0] + acc_upper[0]);
        float acc_upper_1[1];
        float t_15 = acc[0];
        float t_16 = te_shuffle_f32(t_15, 8);
        acc_upper_1[0] = t_16;
        acc[0] = (acc[0] + acc_upper_1[0]);
        float acc_upper_2[1];
        float t_17 = acc[0];
        float t_18 = te_shuffle_f32(t_17, 4);
        acc_upper_2[0] = t_18;
        acc[0] = (acc[0] + acc_upper_2[0]);
        float acc_upper_3[1];
        float t_19 = acc[0];
        float t_20 = te_shuffle_f32(t_19, 2);
        acc_upper_3[0] = t_20;
        acc[0] = (acc[0] + acc_upper_3[0]);
        float acc_upper_4[1];
        float t_21 = acc[0];
        float t_22 = te_shuffle_f32(t_21, 1);
        acc_upper_4[0] = t_22;
        acc[0] = (acc[0] + acc_upper_4[0]);
        float t_23 = (1.0 / sqrt(((acc[0] * t_10) + 1e-05)));
        for (int i2 = lane; i2 < 16; i2 += 32) {
            float acc_2[1];
            acc_2[0] = 0.0;
            for (int i1_2 = 0; i1_2 < 40; i1_2++) {
                acc_2[0] = (acc_2[0] + ((X[40*i0 + i1_2] + t_11) * W[16*i1_2 + i2]));
            }
            Y[16*i0 + i2] = (t_23 * acc_2[0]);
        }
    }
}
