#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { float X[]; };
layout(std430, set = 0, binding = 1) readonly buffer te_b1 { float W[]; };
layout(std430, set = 0, binding = 2) buffer te_b2 { float Y[]; };
uint te_lane;

// Y[i0, i1, i2, i3] = sum[i4, i5, i6](X[i0, i4, i2 + i5 - 1, i3 + i6 - 1] * W[i1, i4, i5, i6], where=(1 <= i2 +
//     i5, 1 <= i3 + i6, i2 + i5 <= 9, i3 + i6 <= 11))
// schedule: point grid=i0,i1,i2,i3
void main() {
    int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    te_lane = gl_LocalInvocationIndex;
    int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);
    int te_group = 0;
    int te_thread = int(te_lane % 128u);
    int te_place = te_block * 64 + int(te_lane);
    int te_size = te_blocks * 64;
    for (int point = 0 + 1 * te_place; point < 792; point += 1 * te_size) {
        int i3 = (point % 11);
        int i2 = ((point / 11) % 9);
        int i1 = ((point / 99) % 4);
        int i0 = (point / 396);
        float acc[1];
        acc[0] = 0.0;
        for (int i4 = 0; i4 < 3; i4++) {
            int i5_lo = max(0, (-i2 + 1));
            int i5_hi = min(3, (-i2 + 10));
            for (int i5 = i5_lo; i5 < i5_hi; i5++) {
                int i6_lo = max(0, (-i3 + 1));
                int i6_hi = min(3, (-i3 + 12));
                for (int i6 = i6_lo; i6 < i6_hi; i6++) {
                    acc[0] = (acc[0] + (X[297*i0 + 11*i2 + i3 + 99*i4 + 11*i5 + i6 - 12] * W[27*i1 + 9*i4 + 3*i5 + i6]));
                }
            }
        }
        Y[396*i0 + 99*i1 + 11*i2 + i3] = acc[0];
    }
}
