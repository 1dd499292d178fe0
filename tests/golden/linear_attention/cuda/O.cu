// blocks: one per tile, tiles: 1
// threads: 256, bytes of shared memory: 0, counters: 0
// O[i0, i3] = sum[i1](sum[i2](Q[i0, i2] * K[i1, i2]) * V[i1, i3], where=i1 <= i0)
// schedule: point tile=i3:* grid=i0
extern "C" __global__ void __launch_bounds__(256, 1) k0_O(
    const float *__restrict__ Q,
    const float *__restrict__ K,
    const float *__restrict__ V,
    float *__restrict__ O) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    for (int point = 0 + 1 * te_grid_place(); point < 7; point += 1 * te_grid_size()) {
        const int i0 = point;
        float acc[5];
#pragma unroll
        for (int i3_e = 0; i3_e < 5; i3_e++) {
            acc[i3_e] = 0.0f;
        }
        const int i1_hi = te_min_int(7, (i0 + 1));
        for (int i1 = 0; i1 < i1_hi; i1++) {
            float acc_1[1];
            acc_1[0] = 0.0f;
            for (int i2 = 0; i2 < 3; i2++) {
                acc_1[0] = (acc_1[0] + (Q[3*i0 + i2] * K[3*i1 + i2]));
            }
#pragma unroll
            for (int i3_e_1 = 0; i3_e_1 < 5; i3_e_1++) {
                acc[i3_e_1] = (acc[i3_e_1] + (acc_1[0] * V[5*i1 + i3_e_1]));
            }
        }
#pragma unroll
        for (int i3_e_2 = 0; i3_e_2 < 5; i3_e_2++) {
            O[5*i0 + i3_e_2] = acc[i3_e_2];
        }
    }
}
