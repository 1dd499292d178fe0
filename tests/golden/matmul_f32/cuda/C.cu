// blocks: one per tile, tiles: 256
// threads: 256, bytes of shared memory: 0, counters: 0
// C[i0, i1] = sum[i2](A[i0, i2] * B[i2, i1])
// schedule: tile tile=i0:4 grid=i0,i1
extern "C" __global__ void __launch_bounds__(256, 1) k0_C(
    const float *__restrict__ A,
    const float *__restrict__ B,
    float *__restrict__ C) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    for (int point = 0 + 1 * te_grid_place(); point < 65536; point += 1 * te_grid_size()) {
        const int i1 = te_whole_mod(point, 512);
        const int i0 = (te_whole_div(point, 512) * 4);
        float acc[4];
        float acc_1[4];
#pragma unroll
        for (int i0_e = 0; i0_e < 4; i0_e++) {
            acc_1[i0_e] = 0.0f;
        }
        for (int i2 = 0; i2 < 512; i2++) {
#pragma unroll
            for (int i0_e_1 = 0; i0_e_1 < 4; i0_e_1++) {
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (A[512*i0 + 512*i0_e_1 + i2] * B[i1 + 512*i2]));
            }
        }
#pragma unroll
        for (int i0_e_2 = 0; i0_e_2 < 4; i0_e_2++) {
            acc[i0_e_2] = acc_1[i0_e_2];
        }
#pragma unroll
        for (int i0_e_3 = 0; i0_e_3 < 4; i0_e_3++) {
            C[512*i0 + 512*i0_e_3 + i1] = acc[i0_e_3];
        }
    }
}
