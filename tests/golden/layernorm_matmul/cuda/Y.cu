// blocks: one per tile, tiles: 256
// threads: 256, bytes of shared memory: 0, counters: 0
// Y[i0, i2] = sum[i1](((X[i0, i1] - Y_part[i0] * recip(768.0)) / sqrt(Y_part_2[i0] * recip(768.0) + 1e-05) *
//     g[i1] + b[i1]) * W[i1, i2])
// schedule: tile tile=i0:2 grid=i0,i2
extern "C" __global__ void __launch_bounds__(256, 1) k1_Y(
    const float *__restrict__ X,
    const float *__restrict__ Y_part,
    const float *__restrict__ Y_part_2,
    const float *__restrict__ g,
    const float *__restrict__ b,
    const float *__restrict__ W,
    float *__restrict__ Y) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const float t = (1.0f / 768.0f);
    for (int point = 0 + 1 * te_grid_place(); point < 65536; point += 1 * te_grid_size()) {
        const int i2 = (point % 512);
        const int i0 = ((point / 512) * 2);
        float acc[2];
        float acc_1[2];
#pragma unroll
        for (int i0_e = 0; i0_e < 2; i0_e++) {
            acc_1[i0_e] = 0.0f;
        }
#pragma unroll 1
        for (int i1 = 0; i1 < 768; i1++) {
            float te_run0[2];
            te_read_run<2>(te_run0, Y_part + i0);
            float te_run1[2];
            te_read_run<2>(te_run1, Y_part_2 + i0);
#pragma unroll
            for (int i0_e_1 = 0; i0_e_1 < 2; i0_e_1++) {
                acc_1[i0_e_1] = (acc_1[i0_e_1] + (((((X[768*i0 + 768*i0_e_1 + i1] + (-(te_run0[i0_e_1] * t))) * (1.0f / sqrtf(((te_run1[i0_e_1] * t) + 1e-05f)))) * g[i1]) + b[i1]) * W[512*i1 + i2]));
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
