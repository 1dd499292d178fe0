#version 450
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) readonly buffer te_b0 { float O_chunks[]; };
layout(std430, set = 0, binding = 1) buffer te_b1 { float O[]; };
uint te_lane;

int te_idiv_i32(int a, int b) {
    if (b == 0) { return 0; }
    if (b == -1) { return 0 - a; }
    int q = a / b;
    return q - ((q * b != a && ((a < 0) != (b < 0))) ? 1 : 0);
}

int te_imod_i32(int a, int b) {
    if (b == 0 || b == -1) { return 0; }
    int r = a - (a / b) * b;
    return r + ((r != 0 && ((r < 0) != (b < 0))) ? b : 0);
}

// O[i0, i1] = O_chunks[i0 // 3, i0 % 3, i1]
// schedule: point grid=i0,i1
void main() {
    int te_block = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    te_lane = gl_LocalInvocationIndex;
    int te_blocks = int(gl_NumWorkGroups.x * gl_NumWorkGroups.y);
    int te_group = 0;
    int te_thread = int(te_lane % 128u);
    int te_place = te_block * 64 + int(te_lane);
    int te_size = te_blocks * 64;
    for (int point = 0 + 1 * te_place; point < 35; point += 1 * te_size) {
        int i1 = (point % 5);
        int i0 = (point / 5);
        O[5*i0 + i1] = O_chunks[((i1 + (max(min(te_imod_i32(i0, 3), 2), 0) * 5)) + (max(min(te_idiv_i32(i0, 3), 2), 0) * 15))];
    }
}
