#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { uint X[]; };
layout(std430, set = 0, binding = 1) readonly buffer te_b1 { uint G[]; };
layout(std430, set = 0, binding = 2) readonly buffer te_b2 { uint U[]; };
layout(std430, set = 0, binding = 3) buffer te_b3 { uint H[]; };
uint te_lane;

float te_f32(uint bits) { return uintBitsToFloat(bits); }

bool te_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

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

float te_of_f16(uint x) {
    uint body = x & 0x7fffu;
    uint u = (body << 13u) + 0x38000000u;
    if (body >= 0x7c00u) { u = 0x7f800000u | (body << 13u); }
    if (body < 0x0400u) { u = floatBitsToUint(float(body) * 5.9604644775390625e-8); }
    return uintBitsToFloat(u | ((x & 0x8000u) << 16u));
}

uint te_to_f16(float x) {
    uint u = floatBitsToUint(x);
    uint a = u & 0x7fffffffu;
    uint sign = (u >> 16u) & 0x8000u;
    if (a > 0x7f800000u) { return sign | 0x7e00u; }
    if (a >= 0x477ff000u) { return sign | 0x7c00u; }
    if (a >= 0x38800000u) { return sign | (((a - 0x38000000u) + 0xfffu + ((a >> 13u) & 1u)) >> 13u); }
    if (a < 0x33000000u) { return sign; }
    uint m = (a & 0x7fffffu) | 0x800000u;
    uint s = 126u - (a >> 23u);
    uint r = m >> s;
    uint rest = m & ((1u << s) - 1u);
    uint middle = 1u << (s - 1u);
    return sign | (r + ((rest > middle || (rest == middle && (r & 1u) == 1u)) ? 1u : 0u));
}

uint te_unpack_u16(uint word, int n) { return (word >> (uint(n & 1) * 16u)) & 0xffffu; }

// H[i0, i1] = pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c0 / (exp(-pass[i2](X[i0, i2] * G[i2, i1],
//     X[i0, i2] * U[i2, i1]).c0) + 1.0) * pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c1
// schedule: tile tile=i0:4 grid=i0,i1
void main() {
    int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    te_lane = gl_LocalInvocationIndex;
    int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);
    int te_group = 0;
    int te_thread = int(te_lane % 128u);
    int te_place = te_block * 64 + int(te_lane);
    int te_size = te_blocks * 64;
    for (int point = 0 + 1 * te_place; point < 96; point += 1 * te_size) {
        int i1 = (point % 16);
        int i0 = ((point / 16) * 4);
        float c0[4];
        {
            const int i0_e = 0;
            c0[i0_e] = 0.0;
        }
        {
            const int i0_e = 1;
            c0[i0_e] = 0.0;
        }
        {
            const int i0_e = 2;
            c0[i0_e] = 0.0;
        }
        {
            const int i0_e = 3;
            c0[i0_e] = 0.0;
        }
        float c1[4];
        {
            const int i0_e_1 = 0;
            c1[i0_e_1] = 0.0;
        }
        {
            const int i0_e_1 = 1;
            c1[i0_e_1] = 0.0;
        }
        {
            const int i0_e_1 = 2;
            c1[i0_e_1] = 0.0;
        }
        {
            const int i0_e_1 = 3;
            c1[i0_e_1] = 0.0;
        }
        for (int i2 = 0; i2 < 40; i2++) {
            {
                const int i0_e_2 = 0;
                float t = te_of_f16(te_unpack_u16(X[((40*i0 + 40*i0_e_2 + i2) / 2)], (40*i0 + 40*i0_e_2 + i2)));
                float t_1 = (c0[i0_e_2] + (t * te_of_f16(te_unpack_u16(G[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                float t_2 = (c1[i0_e_2] + (t * te_of_f16(te_unpack_u16(U[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                c0[i0_e_2] = t_1;
                c1[i0_e_2] = t_2;
            }
            {
                const int i0_e_2 = 1;
                float t = te_of_f16(te_unpack_u16(X[((40*i0 + 40*i0_e_2 + i2) / 2)], (40*i0 + 40*i0_e_2 + i2)));
                float t_1 = (c0[i0_e_2] + (t * te_of_f16(te_unpack_u16(G[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                float t_2 = (c1[i0_e_2] + (t * te_of_f16(te_unpack_u16(U[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                c0[i0_e_2] = t_1;
                c1[i0_e_2] = t_2;
            }
            {
                const int i0_e_2 = 2;
                float t = te_of_f16(te_unpack_u16(X[((40*i0 + 40*i0_e_2 + i2) / 2)], (40*i0 + 40*i0_e_2 + i2)));
                float t_1 = (c0[i0_e_2] + (t * te_of_f16(te_unpack_u16(G[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                float t_2 = (c1[i0_e_2] + (t * te_of_f16(te_unpack_u16(U[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                c0[i0_e_2] = t_1;
                c1[i0_e_2] = t_2;
            }
            {
                const int i0_e_2 = 3;
                float t = te_of_f16(te_unpack_u16(X[((40*i0 + 40*i0_e_2 + i2) / 2)], (40*i0 + 40*i0_e_2 + i2)));
                float t_1 = (c0[i0_e_2] + (t * te_of_f16(te_unpack_u16(G[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                float t_2 = (c1[i0_e_2] + (t * te_of_f16(te_unpack_u16(U[((i1 + 16*i2) / 2)], (i1 + 16*i2)))));
                c0[i0_e_2] = t_1;
                c1[i0_e_2] = t_2;
            }
        }
        {
            const int i0_e_3 = 0;
            H[16*i0 + 16*i0_e_3 + i1] = te_to_f16(((c0[i0_e_3] * (1.0 / (te_exp_f32((-c0[i0_e_3])) + 1.0))) * c1[i0_e_3]));
        }
        {
            const int i0_e_3 = 1;
            H[16*i0 + 16*i0_e_3 + i1] = te_to_f16(((c0[i0_e_3] * (1.0 / (te_exp_f32((-c0[i0_e_3])) + 1.0))) * c1[i0_e_3]));
        }
        {
            const int i0_e_3 = 2;
            H[16*i0 + 16*i0_e_3 + i1] = te_to_f16(((c0[i0_e_3] * (1.0 / (te_exp_f32((-c0[i0_e_3])) + 1.0))) * c1[i0_e_3]));
        }
        {
            const int i0_e_3 = 3;
            H[16*i0 + 16*i0_e_3 + i1] = te_to_f16(((c0[i0_e_3] * (1.0 / (te_exp_f32((-c0[i0_e_3])) + 1.0))) * c1[i0_e_3]));
        }
    }
}
