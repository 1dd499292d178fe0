#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { float Q[]; };
layout(std430, set = 0, binding = 1) readonly buffer te_b1 { float O_state[]; };
layout(std430, set = 0, binding = 2) readonly buffer te_b2 { float K[]; };
layout(std430, set = 0, binding = 3) readonly buffer te_b3 { float V[]; };
layout(std430, set = 0, binding = 4) buffer te_b4 { float O_chunks[]; };
uint te_lane;

// O_chunks[i0, i1, i2] = select(3*i0 + i1 <= 6, select(1 <= i0, sum[i3](Q[3*i0 + i1, i3] * O_state[i0 - 1, i3,
//     i2]), 0.0) + sum[i4:3](sum[i3](Q[3*i0 + i1, i3] * K[3*i0 + i4, i3]) * V[3*i0 + i4, i2], where=i4 <= i1),
//     0.0)
// schedule: point tile=i2:* grid=i0,i1
void main() {
    int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    te_lane = gl_LocalInvocationIndex;
    int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);
    int te_group = 0;
    int te_thread = int(te_lane % 128u);
    int te_place = te_block * 64 + int(te_lane);
    int te_size = te_blocks * 64;
    for (int point = 0 + 1 * te_place; point < 9; point += 1 * te_size) {
        int i1 = (point % 3);
        int i0 = (point / 3);
        float acc[5];
        float acc_1[5];
        {
            const int i2_e = 0;
            acc_1[i2_e] = 0.0;
        }
        {
            const int i2_e = 1;
            acc_1[i2_e] = 0.0;
        }
        {
            const int i2_e = 2;
            acc_1[i2_e] = 0.0;
        }
        {
            const int i2_e = 3;
            acc_1[i2_e] = 0.0;
        }
        {
            const int i2_e = 4;
            acc_1[i2_e] = 0.0;
        }
        for (int i3 = 0; i3 < 3; i3++) {
            if (0 <= (-3*i0 - i1 + 6)) {
                if (0 <= (i0 - 1)) {
                    {
                        const int i2_e_1 = 0;
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                    {
                        const int i2_e_1 = 1;
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                    {
                        const int i2_e_1 = 2;
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                    {
                        const int i2_e_1 = 3;
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                    {
                        const int i2_e_1 = 4;
                        acc_1[i2_e_1] = (acc_1[i2_e_1] + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + i2_e_1 + 5*i3 - 15]));
                    }
                }
            }
        }
        {
            const int i2_e_2 = 0;
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        {
            const int i2_e_2 = 1;
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        {
            const int i2_e_2 = 2;
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        {
            const int i2_e_2 = 3;
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        {
            const int i2_e_2 = 4;
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        float acc_2[5];
        {
            const int i2_e_3 = 0;
            acc_2[i2_e_3] = 0.0;
        }
        {
            const int i2_e_3 = 1;
            acc_2[i2_e_3] = 0.0;
        }
        {
            const int i2_e_3 = 2;
            acc_2[i2_e_3] = 0.0;
        }
        {
            const int i2_e_3 = 3;
            acc_2[i2_e_3] = 0.0;
        }
        {
            const int i2_e_3 = 4;
            acc_2[i2_e_3] = 0.0;
        }
        int i4_hi = min(3, (i1 + 1));
        for (int i4 = 0; i4 < i4_hi; i4++) {
            float acc_3[1];
            acc_3[0] = 0.0;
            for (int i3_1 = 0; i3_1 < 3; i3_1++) {
                if (0 <= (-3*i0 - i1 + 6)) {
                    if (0 <= (i1 - i4)) {
                        acc_3[0] = (acc_3[0] + (Q[9*i0 + 3*i1 + i3_1] * K[9*i0 + i3_1 + 3*i4]));
                    }
                }
            }
            if (0 <= (-3*i0 - i1 + 6)) {
                {
                    const int i2_e_4 = 0;
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
                {
                    const int i2_e_4 = 1;
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
                {
                    const int i2_e_4 = 2;
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
                {
                    const int i2_e_4 = 3;
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
                {
                    const int i2_e_4 = 4;
                    acc_2[i2_e_4] = (acc_2[i2_e_4] + (acc_3[0] * V[15*i0 + i2_e_4 + 5*i4]));
                }
            }
        }
        {
            const int i2_e_5 = 0;
            O_chunks[15*i0 + 5*i1 + i2_e_5] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc[i2_e_5] : 0.0) + acc_2[i2_e_5]) : 0.0);
        }
        {
            const int i2_e_5 = 1;
            O_chunks[15*i0 + 5*i1 + i2_e_5] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc[i2_e_5] : 0.0) + acc_2[i2_e_5]) : 0.0);
        }
        {
            const int i2_e_5 = 2;
            O_chunks[15*i0 + 5*i1 + i2_e_5] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc[i2_e_5] : 0.0) + acc_2[i2_e_5]) : 0.0);
        }
        {
            const int i2_e_5 = 3;
            O_chunks[15*i0 + 5*i1 + i2_e_5] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc[i2_e_5] : 0.0) + acc_2[i2_e_5]) : 0.0);
        }
        {
            const int i2_e_5 = 4;
            O_chunks[15*i0 + 5*i1 + i2_e_5] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc[i2_e_5] : 0.0) + acc_2[i2_e_5]) : 0.0);
        }
    }
}
