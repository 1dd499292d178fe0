// blocks: one per tile, tiles: 1
// threads: 256, bytes of shared memory: 0, counters: 0
// H[i0, i1] = affine.scan[i0](A[i0, i1], B[i0, i1]).b
// schedule: point grid=i1
extern "C" __global__ void __launch_bounds__(256, 1) k0_H(
    const float *__restrict__ A,
    const float *__restrict__ B,
    float *__restrict__ H) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    for (int point = 0 + 1 * te_grid_place(); point < 64; point += 1 * te_grid_size()) {
        const int i1 = point;
        float a[1];
        a[0] = 1.0f;
        float b[1];
        b[0] = 0.0f;
        for (int i0 = 0; i0 < 1024; i0++) {
            const float t = A[64*i0 + i1];
            const float t_1 = (t * a[0]);
            const float t_2 = ((t * b[0]) + B[64*i0 + i1]);
            a[0] = t_1;
            b[0] = t_2;
            H[64*i0 + i1] = b[0];
        }
    }
}
