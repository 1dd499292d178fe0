// blocks: one per tile, tiles: 256
// threads: 256, bytes of shared memory: 0, counters: 0
// Y[i0, i2] = sum[i1](layer_norm[i0, i1] * W[i1, i2])
// schedule: tile tile=i0:2 grid=i0,i2
extern "C" __global__ void __launch_bounds__(256, 1) k1_Y(
    const float *__restrict__ layer_norm,
    const float *__restrict__ W,
    float *__restrict__ Y) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    for (int point = 0 + 1 * te_grid_place(); point < 65536; point += 1 * te_grid_size()) {
        const int i2 = te_whole_mod(point, 512);
        const int i0 = (te_whole_div(point, 512) * 2);
        float acc[2];
        float acc_1[2];
#pragma unroll
        for (int i0_e = 0; i0_e < 2; i0_e++) {
            acc_1[i0_e] = 0.0f;
        }
        for (int i1 = 0; i1 < 768; i1++) {
#pragma unroll
            for (int i0_e_1 = 0; i0_e_1 < 2; i0_e_1++) {
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (layer_norm[768*i0 + 768*i0_e_1 + i1] * W[512*i1 + i2]));
            }
        }
#pragma unroll
        for (int i0_e_2 = 0; i0_e_2 < 2; i0_e_2++) {
            acc[i0_e_2] = acc_1[i0_e_2];
        }
#pragma unroll
        for (int i0_e_3 = 0; i0_e_3 < 2; i0_e_3++) {
            Y[512*i0 + 512*i0_e_3 + i2] = acc[i0_e_3];
        }
    }
}
