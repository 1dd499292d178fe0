#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { float Q[]; };
layout(std430, set = 0, binding = 1) readonly buffer te_b1 { float K[]; };
layout(std430, set = 0, binding = 2) readonly buffer te_b2 { float V[]; };
layout(std430, set = 0, binding = 3) buffer te_b3 { float O[]; };
uint te_lane;

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

// O[i0, i1, i2, i5] = recip(pass[i3](sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25, exp(sum[i4](Q[i0,
//     i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 + statistic("at")), exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3,
//     i4]) * 0.25 + statistic("at")) * V[i0, i1, i3, i5], where=i3 <= i2).c1) * pass[i3](sum[i4](Q[i0, i1, i2,
//     i4] * K[i0, i1, i3, i4]) * 0.25, exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 +
//     statistic("at")), exp(sum[i4](Q[i0, i1, i2, i4] * K[i0, i1, i3, i4]) * 0.25 + statistic("at")) * V[i0, i1,
//     i3, i5], where=i3 <= i2).c2
// schedule: point tile=i5:* grid=i0,i1,i2
void main() {
    int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    te_lane = gl_LocalInvocationIndex;
    int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);
    int te_group = 0;
    int te_thread = int(te_lane % 128u);
    int te_place = te_block * 64 + int(te_lane);
    int te_size = te_blocks * 64;
    for (int point = 0 + 1 * te_place; point < 76; point += 1 * te_size) {
        int i2 = (point % 19);
        int i1 = ((point / 19) % 2);
        int i0 = (point / 38);
        float c0[1];
        c0[0] = te_f32(0xff800000u);
        float c1[1];
        c1[0] = 0.0;
        float c2[16];
        for (int i5_e = 0; i5_e < 16; i5_e++) {
            c2[i5_e] = 0.0;
        }
        int i3_hi = min(19, (i2 + 1));
        for (int i3 = 0; i3 < i3_hi; i3++) {
            float acc[1];
            acc[0] = 0.0;
            for (int i4 = 0; i4 < 16; i4++) {
                acc[0] = (acc[0] + (Q[608*i0 + 304*i1 + 16*i2 + i4] * K[608*i0 + 304*i1 + 16*i3 + i4]));
            }
            float c0_new[1];
            c0_new[0] = te_max_f32(c0[0], (acc[0] * 0.25));
            float t = c0[0];
            float t_1 = (-t);
            float t_2 = (-c0_new[0]);
            float t_3 = c1[0];
            c1[0] = (te_eq_f32(t_1, t_2) ? t_3 : (te_eq_f32(t, te_f32(0xff800000u)) ? 0.0 : (te_exp_f32((t_2 + (-t_1))) * t_3)));
            bool t_4 = te_eq_f32(t_1, t_2);
            bool t_6 = te_eq_f32(t, te_f32(0xff800000u));
            float t_7 = te_exp_f32((t_2 + (-t_1)));
            for (int i5_e_1 = 0; i5_e_1 < 16; i5_e_1++) {
                float t_5 = c2[i5_e_1];
                c2[i5_e_1] = (t_4 ? t_5 : (t_6 ? 0.0 : (t_7 * t_5)));
            }
            c1[0] = (c1[0] + te_exp_f32(((acc[0] * 0.25) + t_2)));
            float t_8 = te_exp_f32(((acc[0] * 0.25) + t_2));
            for (int i5_e_2 = 0; i5_e_2 < 16; i5_e_2++) {
                c2[i5_e_2] = (c2[i5_e_2] + (t_8 * V[608*i0 + 304*i1 + 16*i3 + i5_e_2]));
            }
            c0[0] = c0_new[0];
        }
        float t_9 = (1.0 / c1[0]);
        for (int i5_e_3 = 0; i5_e_3 < 16; i5_e_3++) {
            O[608*i0 + 304*i1 + 16*i2 + i5_e_3] = (t_9 * c2[i5_e_3]);
        }
    }
}
