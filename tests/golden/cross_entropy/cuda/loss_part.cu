// blocks: one per tile, tiles: 512
// threads: 256, bytes of shared memory: 0, counters: 0
// loss_part[i0] = sum[i2](H[i0, i2] * W[cast(label[i0], i64), i2])
// schedule: split fold=i2:warp:8 grid=i0
extern "C" __global__ void __launch_bounds__(256, 1) k0_loss_part(
    const te_bf16 *__restrict__ H,
    const int *__restrict__ label,
    const te_bf16 *__restrict__ W,
    float *__restrict__ loss_part) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const int lane = te_whole_mod(te_thread, 32);
    const int warp = te_whole_div(te_thread, 32);
    const int row = (8*te_block + 4*te_group + warp);
    if (row < 4096) {
        const int i0 = row;
        float acc[1];
        acc[0] = 0.0f;
        float acc_1[8];
#pragma unroll
        for (int i2_lane_e = 0; i2_lane_e < 8; i2_lane_e++) {
            acc_1[i2_lane_e] = 0.0f;
        }
        const long long t = ((long long)label[i0]);
#pragma unroll 4
        for (int i2 = 8*lane; i2 < 1024; i2 += 256) {
            te_bf16 te_run0[8];
            te_read_run<8, true>(te_run0, H + (1024*i0 + i2));
#pragma unroll
            for (int i2_e = 0; i2_e < 8; i2_e++) {
                acc_1[i2_e] = (acc_1[i2_e] + (te_of_bf16(te_run0[i2_e]) * te_of_bf16(W[te_add_i64(te_add_i64(te_mul_i64(1LL, ((long long)i2)), te_mul_i64(1LL, ((long long)i2_e))), te_mul_i64(te_max_i64(te_min_i64(t, 31999LL), 0LL), 1024LL))])));
            }
        }
        acc[0] = (acc[0] + (((acc_1[0] + acc_1[1]) + (acc_1[2] + acc_1[3])) + ((acc_1[4] + acc_1[5]) + (acc_1[6] + acc_1[7]))));
        float acc_upper[1];
        const float t_1 = acc[0];
        const float t_2 = __shfl_xor_sync(~0u, t_1, 16);
        acc_upper[0] = t_2;
        acc[0] = (acc[0] + acc_upper[0]);
        float acc_upper_1[1];
        const float t_3 = acc[0];
        const float t_4 = __shfl_xor_sync(~0u, t_3, 8);
        acc_upper_1[0] = t_4;
        acc[0] = (acc[0] + acc_upper_1[0]);
        float acc_upper_2[1];
        const float t_5 = acc[0];
        const float t_6 = __shfl_xor_sync(~0u, t_5, 4);
        acc_upper_2[0] = t_6;
        acc[0] = (acc[0] + acc_upper_2[0]);
        float acc_upper_3[1];
        const float t_7 = acc[0];
        const float t_8 = __shfl_xor_sync(~0u, t_7, 2);
        acc_upper_3[0] = t_8;
        acc[0] = (acc[0] + acc_upper_3[0]);
        float acc_upper_4[1];
        const float t_9 = acc[0];
        const float t_10 = __shfl_xor_sync(~0u, t_9, 1);
        acc_upper_4[0] = t_10;
        acc[0] = (acc[0] + acc_upper_4[0]);
        if (lane == 0) {
            loss_part[i0] = acc[0];
        }
    }
}
