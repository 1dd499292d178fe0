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
    const int lane = (te_thread % 32);
    const int warp = (te_thread / 32);
    const int row = (8*te_block + 4*te_group + warp);
    if (row < 4096) {
        const int i0 = row;
        float acc[1];
        acc[0] = 0.0f;
        const long long t = ((long long)label[i0]);
#pragma unroll 4
        for (int i2 = 8*lane; i2 < 1024; i2 += 256) {
            float acc_lanes[8];
#pragma unroll
            for (int i2_lane_e = 0; i2_lane_e < 8; i2_lane_e++) {
                acc_lanes[i2_lane_e] = 0.0f;
            }
            te_bf16 te_run0[8];
            te_read_run<8>(te_run0, H + (1024*i0 + i2));
#pragma unroll
            for (int i2_e = 0; i2_e < 8; i2_e++) {
                acc_lanes[i2_e] = (acc_lanes[i2_e] + (te_of_bf16(te_run0[i2_e]) * te_of_bf16(W[te_add_i64(te_add_i64(te_mul_i64(1LL, ((long long)i2)), te_mul_i64(1LL, ((long long)i2_e))), te_mul_i64(te_max_i64(te_min_i64(t, 31999LL), 0LL), 1024LL))])));
            }
            acc[0] = (acc[0] + (((acc_lanes[0] + acc_lanes[1]) + (acc_lanes[2] + acc_lanes[3])) + ((acc_lanes[4] + acc_lanes[5]) + (acc_lanes[6] + acc_lanes[7]))));
        }
        const bool t_1 = ((lane % 32) < 16);
        float acc_upper[1];
        const float t_2 = acc[0];
        const float t_3 = __shfl_xor_sync(~0u, t_2, 16);
        acc[0] = (t_1 ? t_2 : t_3);
        acc_upper[0] = (t_1 ? t_3 : t_2);
        acc[0] = (acc[0] + acc_upper[0]);
        const bool t_4 = ((lane % 16) < 8);
        float acc_upper_1[1];
        const float t_5 = acc[0];
        const float t_6 = __shfl_xor_sync(~0u, t_5, 8);
        acc[0] = (t_4 ? t_5 : t_6);
        acc_upper_1[0] = (t_4 ? t_6 : t_5);
        acc[0] = (acc[0] + acc_upper_1[0]);
        const bool t_7 = ((lane % 8) < 4);
        float acc_upper_2[1];
        const float t_8 = acc[0];
        const float t_9 = __shfl_xor_sync(~0u, t_8, 4);
        acc[0] = (t_7 ? t_8 : t_9);
        acc_upper_2[0] = (t_7 ? t_9 : t_8);
        acc[0] = (acc[0] + acc_upper_2[0]);
        const bool t_10 = ((lane % 4) < 2);
        float acc_upper_3[1];
        const float t_11 = acc[0];
        const float t_12 = __shfl_xor_sync(~0u, t_11, 2);
        acc[0] = (t_10 ? t_11 : t_12);
        acc_upper_3[0] = (t_10 ? t_12 : t_11);
        acc[0] = (acc[0] + acc_upper_3[0]);
        const bool t_13 = ((lane % 2) < 1);
        float acc_upper_4[1];
        const float t_14 = acc[0];
        const float t_15 = __shfl_xor_sync(~0u, t_14, 1);
        acc[0] = (t_13 ? t_14 : t_15);
        acc_upper_4[0] = (t_13 ? t_15 : t_14);
        acc[0] = (acc[0] + acc_upper_4[0]);
        if (lane == 0) {
            loss_part[i0] = acc[0];
        }
    }
}
