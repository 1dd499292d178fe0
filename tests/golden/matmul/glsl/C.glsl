#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { uint A[]; };
layout(std430, set = 0, binding = 1) readonly buffer te_b1 { uint B[]; };
layout(std430, set = 0, binding = 2) buffer te_b2 { uint C[]; };
uint te_lane;

float te_of_bf16(uint x) { return uintBitsToFloat(x << 16u); }

bool te_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

uint te_to_bf16(float x) {
    uint u = floatBitsToUint(x);
    if (te_nan(x)) { return (u >> 16u) | 0x40u; }
    return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}

uint te_unpack_u16(uint word, int n) { return (word >> (uint(n & 1) * 16u)) & 0xffffu; }

// C[i0, i1] = sum[i2](A[i0, i2] * B[i2, i1])
// schedule: tile tile=i0:4 grid=i0,i1
void main() {
    int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    te_lane = gl_LocalInvocationIndex;
    int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);
    int te_group = 0;
    int te_thread = int(te_lane % 128u);
    int te_place = te_block * 64 + int(te_lane);
    int te_size = te_blocks * 64;
    for (int point = 0 + 1 * te_place; point < 672; point += 1 * te_size) {
        int i1 = (point % 56);
        int i0 = ((point / 56) * 4);
        float acc[4];
        float acc_1[4];
        {
            const int i0_e = 0;
            acc_1[i0_e] = 0.0;
        }
        {
            const int i0_e = 1;
            acc_1[i0_e] = 0.0;
        }
        {
            const int i0_e = 2;
            acc_1[i0_e] = 0.0;
        }
        {
            const int i0_e = 3;
            acc_1[i0_e] = 0.0;
        }
        for (int i2 = 0; i2 < 40; i2++) {
            {
                const int i0_e_1 = 0;
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (te_of_bf16(te_unpack_u16(A[((40*i0 + 40*i0_e_1 + i2) / 2)], (40*i0 + 40*i0_e_1 + i2))) * te_of_bf16(te_unpack_u16(B[((i1 + 56*i2) / 2)], (i1 + 56*i2)))));
            }
            {
                const int i0_e_1 = 1;
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (te_of_bf16(te_unpack_u16(A[((40*i0 + 40*i0_e_1 + i2) / 2)], (40*i0 + 40*i0_e_1 + i2))) * te_of_bf16(te_unpack_u16(B[((i1 + 56*i2) / 2)], (i1 + 56*i2)))));
            }
            {
                const int i0_e_1 = 2;
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (te_of_bf16(te_unpack_u16(A[((40*i0 + 40*i0_e_1 + i2) / 2)], (40*i0 + 40*i0_e_1 + i2))) * te_of_bf16(te_unpack_u16(B[((i1 + 56*i2) / 2)], (i1 + 56*i2)))));
            }
            {
                const int i0_e_1 = 3;
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (te_of_bf16(te_unpack_u16(A[((40*i0 + 40*i0_e_1 + i2) / 2)], (40*i0 + 40*i0_e_1 + i2))) * te_of_bf16(te_unpack_u16(B[((i1 + 56*i2) / 2)], (i1 + 56*i2)))));
            }
        }
        {
            const int i0_e_2 = 0;
            acc[i0_e_2] = acc_1[i0_e_2];
        }
        {
            const int i0_e_2 = 1;
            acc[i0_e_2] = acc_1[i0_e_2];
        }
        {
            const int i0_e_2 = 2;
            acc[i0_e_2] = acc_1[i0_e_2];
        }
        {
            const int i0_e_2 = 3;
            acc[i0_e_2] = acc_1[i0_e_2];
        }
        {
            const int i0_e_3 = 0;
            C[56*i0 + 56*i0_e_3 + i1] = te_to_bf16(acc[i0_e_3]);
        }
        {
            const int i0_e_3 = 1;
            C[56*i0 + 56*i0_e_3 + i1] = te_to_bf16(acc[i0_e_3]);
        }
        {
            const int i0_e_3 = 2;
            C[56*i0 + 56*i0_e_3 + i1] = te_to_bf16(acc[i0_e_3]);
        }
        {
            const int i0_e_3 = 3;
            C[56*i0 + 56*i0_e_3 + i1] = te_to_bf16(acc[i0_e_3]);
        }
    }
}
