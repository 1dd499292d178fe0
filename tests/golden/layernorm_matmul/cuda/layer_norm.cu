// blocks: one per tile, tiles: 32
// threads: 256, bytes of shared memory: 0, counters: 0
// layer_norm[i0, i1] = (X[i0, i1] - sum[i1](X[i0, i1]) * recip(768.0)) / sqrt(sum[i1]((X[i0, i1] - sum[i1](X[i0,
//     i1]) * recip(768.0)) * (X[i0, i1] - sum[i1](X[i0, i1]) * recip(768.0))) * recip(768.0) + 1e-05) * g[i1] +
//     b[i1]
// schedule: split tile=i1:4 fold=i1:warp:4 stage=X grid=i0 warp=i1 occupancy=4
extern "C" __global__ void __launch_bounds__(256, 4) k0_layer_norm(
    const float *__restrict__ X,
    const float *__restrict__ g,
    const float *__restrict__ b,
    float *__restrict__ layer_norm) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const int lane = te_whole_mod(te_thread, 32);
    const int warp = te_whole_div(te_thread, 32);
    const int row = (8*te_block + 4*te_group + warp);
    const float t_10 = (1.0f / 768.0f);
    if (row < 256) {
        const int i0 = row;
        float X_row[24];
#pragma unroll
        for (int i1_turn = 0; i1_turn < 6; i1_turn++) {
            float te_run0[4];
            te_read_run<4, true>(te_run0, X + (768*i0 + 128*i1_turn + 4*lane));
#pragma unroll
            for (int i1_e = 0; i1_e < 4; i1_e++) {
                X_row[i1_e + 4*i1_turn] = te_run0[i1_e];
            }
        }
        float acc[1];
        acc[0] = 0.0f;
        float acc_1[4];
#pragma unroll
        for (int i1_lane_e = 0; i1_lane_e < 4; i1_lane_e++) {
            acc_1[i1_lane_e] = 0.0f;
        }
#pragma unroll
        for (int i1_turn_2 = 0; i1_turn_2 < 6; i1_turn_2++) {
#pragma unroll
            for (int i1_e_1 = 0; i1_e_1 < 4; i1_e_1++) {
                acc_1[i1_e_1] = (acc_1[i1_e_1] + X_row[i1_e_1 + 4*i1_turn_2]);
            }
        }
        acc[0] = (acc[0] + ((acc_1[0] + acc_1[1]) + (acc_1[2] + acc_1[3])));
        float acc_upper[1];
        const float t = acc[0];
        const float t_1 = __shfl_xor_sync(~0u, t, 16);
        acc_upper[0] = t_1;
        acc[0] = (acc[0] + acc_upper[0]);
        float acc_upper_1[1];
        const float t_2 = acc[0];
        const float t_3 = __shfl_xor_sync(~0u, t_2, 8);
        acc_upper_1[0] = t_3;
        acc[0] = (acc[0] + acc_upper_1[0]);
        float acc_upper_2[1];
        const float t_4 = acc[0];
        const float t_5 = __shfl_xor_sync(~0u, t_4, 4);
        acc_upper_2[0] = t_5;
        acc[0] = (acc[0] + acc_upper_2[0]);
        float acc_upper_3[1];
        const float t_6 = acc[0];
        const float t_7 = __shfl_xor_sync(~0u, t_6, 2);
        acc_upper_3[0] = t_7;
        acc[0] = (acc[0] + acc_upper_3[0]);
        float acc_upper_4[1];
        const float t_8 = acc[0];
        const float t_9 = __shfl_xor_sync(~0u, t_8, 1);
        acc_upper_4[0] = t_9;
        acc[0] = (acc[0] + acc_upper_4[0]);
        float acc_2[1];
        acc_2[0] = 0.0f;
        float acc_3[4];
#pragma unroll
        for (int i1_lane_e_1 = 0; i1_lane_e_1 < 4; i1_lane_e_1++) {
            acc_3[i1_lane_e_1] = 0.0f;
        }
        const float t_11 = (-(acc[0] * t_10));
#pragma unroll
        for (int i1_turn_3 = 0; i1_turn_3 < 6; i1_turn_3++) {
#pragma unroll
            for (int i1_e_2 = 0; i1_e_2 < 4; i1_e_2++) {
                const float t_12 = (X_row[i1_e_2 + 4*i1_turn_3] + t_11);
                acc_3[i1_e_2] = (acc_3[i1_e_2] + (t_12 * t_12));
            }
        }
        acc_2[0] = (acc_2[0] + ((acc_3[0] + acc_3[1]) + (acc_3[2] + acc_3[3])));
        float acc_2_upper[1];
        const float t_13 = acc_2[0];
        const float t_14 = __shfl_xor_sync(~0u, t_13, 16);
        acc_2_upper[0] = t_14;
        acc_2[0] = (acc_2[0] + acc_2_upper[0]);
        float acc_2_upper_1[1];
        const float t_15 = acc_2[0];
        const float t_16 = __shfl_xor_sync(~0u, t_15, 8);
        acc_2_upper_1[0] = t_16;
        acc_2[0] = (acc_2[0] + acc_2_upper_1[0]);
        float acc_2_upper_2[1];
        const float t_17 = acc_2[0];
        const float t_18 = __shfl_xor_sync(~0u, t_17, 4);
        acc_2_upper_2[0] = t_18;
        acc_2[0] = (acc_2[0] + acc_2_upper_2[0]);
        float acc_2_upper_3[1];
        const float t_19 = acc_2[0];
        const float t_20 = __shfl_xor_sync(~0u, t_19, 2);
        acc_2_upper_3[0] = t_20;
        acc_2[0] = (acc_2[0] + acc_2_upper_3[0]);
        float acc_2_upper_4[1];
        const float t_21 = acc_2[0];
        const float t_22 = __shfl_xor_sync(~0u, t_21, 1);
        acc_2_upper_4[0] = t_22;
        acc_2[0] = (acc_2[0] + acc_2_upper_4[0]);
        const float t_23 = (1.0f / sqrtf(((acc_2[0] * t_10) + 1e-05f)));
#pragma unroll
        for (int i1_turn_1 = 0; i1_turn_1 < 6; i1_turn_1++) {
            float te_run1[4];
            te_read_run<4, true>(te_run1, g + (128*i1_turn_1 + 4*lane));
            float te_run2[4];
            te_read_run<4, true>(te_run2, b + (128*i1_turn_1 + 4*lane));
            float te_run3[4];
#pragma unroll
            for (int i1_e_3 = 0; i1_e_3 < 4; i1_e_3++) {
                te_run3[i1_e_3] = ((((X_row[i1_e_3 + 4*i1_turn_1] + t_11) * t_23) * te_run1[i1_e_3]) + te_run2[i1_e_3]);
            }
            te_write_run<4, true>(layer_norm + (768*i0 + 128*i1_turn_1 + 4*lane), te_run3);
        }
    }
}
