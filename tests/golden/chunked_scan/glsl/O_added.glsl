#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { float K[]; };
layout(std430, set = 0, binding = 1) readonly buffer te_b1 { float V[]; };
layout(std430, set = 0, binding = 2) buffer te_b2 { float O_added[]; };
uint te_lane;

// O_added[i0, i1, i2] = sum[i3:3](K[3*i0 + i3, i1] * V[3*i0 + i3, i2])
// schedule: point grid=i0,i1,i2
void main() {
    int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    te_lane = gl_LocalInvocationIndex;
    int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);
    int te_group = 0;
    int te_thread = int(te_lane % 128u);
    int te_place = te_block * 64 + int(te_lane);
    int te_size = te_blocks * 64;
    for (int point = 0 + 1 * te_place; point < 30; point += 1 * te_size) {
        int i2 = (point % 5);
        int i1 = ((point / 5) % 3);
        int i0 = (point / 15);
        float acc[1];
        acc[0] = 0.0;
        for (int i3 = 0; i3 < 3; i3++) {
            acc[0] = (acc[0] + (K[9*i0 + i1 + 3*i3] * V[15*i0 + i2 + 5*i3]));
        }
        O_added[15*i0 + 5*i1 + i2] = acc[0];
    }
}
