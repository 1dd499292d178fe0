// blocks: one per tile, tiles: 32
// threads: 256, bytes of shared memory: 0, counters: 0
// layer_norm[i0, i1] = (X[i0, i1] - sum[i1](X[i0, i1]) * recip(768.0)) / sqrt(sum[i1]((X[i0, i1] - sum[i1](X[i0,
//     i1]) * recip(768.0)) * (X[i0, i1] - sum[i1](X[i0, i1]) * recip(768.0))) * recip(768.0) + 1e-05) * g[i1] +
//     b[i1]
// schedule: split tile=i1:4 fold=i1:warp:4 stage=X grid=i0 warp=i1
extern "C" __global__ void __launch_bounds__(256, 1) k0_layer_norm(
    const float *__restrict__ X,
    const float *__restrict__ g,
    const float *__restrict__ b,
    float *__restrict__ layer_norm) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const int lane = (te_thread % 32);
    const int warp = (te_thread / 32);
    const int row = (8*te_block + 4*te_group + warp);
    const float t_15 = (1.0f / 768.0f);
    if (row < 256) {
        const int i0 = row;
        float X_row[24];
#pragma unroll
        for (int i1_turn = 0; i1_turn < 6; i1_turn++) {
            float te_run0[4];
            te_read_run<4>(te_run0, X + (768*i0 + 128*i1_turn + 4*lane));
#pragma unroll
            for (int i1_e = 0; i1_e < 4; i1_e++) {
                X_row[i1_e + 4*i1_turn] = te_run0[i1_e];
            }
        }
        float acc[1];
        acc[0] = 0.0f;
#pragma unroll
        for (int i1_turn_2 = 0; i1_turn_2 < 6; i1_turn_2++) {
            float acc_lanes[4];
#pragma unroll
            for (int i1_lane_e = 0; i1_lane_e < 4; i1_lane_e++) {
                acc_lanes[i1_lane_e] = 0.0f;
            }
#pragma unroll
            for (int i1_e_1 = 0; i1_e_1 < 4; i1_e_1++) {
                acc_lanes[i1_e_1] = (acc_lanes[i1_e_1] + X_row[i1_e_1 + 4*i1_turn_2]);
            }
            acc[0] = (acc[0] + ((acc_lanes[0] + acc_lanes[1]) + (acc_lanes[2] + acc_lanes[3])));
        }
        const bool t = ((lane % 32) < 16);
        float acc_upper[1];
        const float t_1 = acc[0];
        const float t_2 = __shfl_xor_sync(~0u, t_1, 16);
        acc[0] = (t ? t_1 : t_2);
        acc_upper[0] = (t ? t_2 : t_1);
        acc[0] = (acc[0] + acc_upper[0]);
        const bool t_3 = ((lane % 16) < 8);
        float acc_upper_1[1];
        const float t_4 = acc[0];
        const float t_5 = __shfl_xor_sync(~0u, t_4, 8);
        acc[0] = (t_3 ? t_4 : t_5);
        acc_upper_1[0] = (t_3 ? t_5 : t_4);
        acc[0] = (acc[0] + acc_upper_1[0]);
        const bool t_6 = ((lane % 8) < 4);
        float acc_upper_2[1];
        const float t_7 = acc[0];
        const float t_8 = __shfl_xor_sync(~0u, t_7, 4);
        acc[0] = (t_6 ? t_7 : t_8);
        acc_upper_2[0] = (t_6 ? t_8 : t_7);
        acc[0] = (acc[0] + acc_upper_2[0]);
        const bool t_9 = ((lane % 4) < 2);
        float acc_upper_3[1];
        const float t_10 = acc[0];
        const float t_11 = __shfl_xor_sync(~0u, t_10, 2);
        acc[0] = (t_9 ? t_10 : t_11);
        acc_upper_3[0] = (t_9 ? t_11 : t_10);
        acc[0] = (acc[0] + acc_upper_3[0]);
        const bool t_12 = ((lane % 2) < 1);
        float acc_upper_4[1];
        const float t_13 = acc[0];
        const float t_14 = __shfl_xor_sync(~0u, t_13, 1);
        acc[0] = (t_12 ? t_13 : t_14);
        acc_upper_4[0] = (t_12 ? t_14 : t_13);
        acc[0] = (acc[0] + acc_upper_4[0]);
        float acc_1[1];
        acc_1[0] = 0.0f;
        const float t_16 = (-(acc[0] * t_15));
#pragma unroll
        for (int i1_turn_3 = 0; i1_turn_3 < 6; i1_turn_3++) {
            float acc_1_lanes[4];
#pragma unroll
            for (int i1_lane_e_1 = 0; i1_lane_e_1 < 4; i1_lane_e_1++) {
                acc_1_lanes[i1_lane_e_1] = 0.0f;
            }
#pragma unroll
            for (int i1_e_2 = 0; i1_e_2 < 4; i1_e_2++) {
                const float t_17 = (X_row[i1_e_2 + 4*i1_turn_3] + t_16);
                acc_1_lanes[i1_e_2] = (acc_1_lanes[i1_e_2] + (t_17 * t_17));
            }
            acc_1[0] = (acc_1[0] + ((acc_1_lanes[0] + acc_1_lanes[1]) + (acc_1_lanes[2] + acc_1_lanes[3])));
        }
        const bool t_18 = ((lane % 32) < 16);
        float acc_1_upper[1];
        const float t_19 = acc_1[0];
        const float t_20 = __shfl_xor_sync(~0u, t_19, 16);
        acc_1[0] = (t_18 ? t_19 : t_20);
        acc_1_upper[0] = (t_18 ? t_20 : t_19);
        acc_1[0] = (acc_1[0] + acc_1_upper[0]);
        const bool t_21 = ((lane % 16) < 8);
        float acc_1_upper_1[1];
        const float t_22 = acc_1[0];
        const float t_23 = __shfl_xor_sync(~0u, t_22, 8);
        acc_1[0] = (t_21 ? t_22 : t_23);
        acc_1_upper_1[0] = (t_21 ? t_23 : t_22);
        acc_1[0] = (acc_1[0] + acc_1_upper_1[0]);
        const bool t_24 = ((lane % 8) < 4);
        float acc_1_upper_2[1];
        const float t_25 = acc_1[0];
        const float t_26 = __shfl_xor_sync(~0u, t_25, 4);
        acc_1[0] = (t_24 ? t_25 : t_26);
        acc_1_upper_2[0] = (t_24 ? t_26 : t_25);
        acc_1[0] = (acc_1[0] + acc_1_upper_2[0]);
        const bool t_27 = ((lane % 4) < 2);
        float acc_1_upper_3[1];
        const float t_28 = acc_1[0];
        const float t_29 = __shfl_xor_sync(~0u, t_28, 2);
        acc_1[0] = (t_27 ? t_28 : t_29);
        acc_1_upper_3[0] = (t_27 ? t_29 : t_28);
        acc_1[0] = (acc_1[0] + acc_1_upper_3[0]);
        const bool t_30 = ((lane % 2) < 1);
        float acc_1_upper_4[1];
        const float t_31 = acc_1[0];
        const float t_32 = __shfl_xor_sync(~0u, t_31, 1);
        acc_1[0] = (t_30 ? t_31 : t_32);
        acc_1_upper_4[0] = (t_30 ? t_32 : t_31);
        acc_1[0] = (acc_1[0] + acc_1_upper_4[0]);
        const float t_33 = (1.0f / sqrtf(((acc_1[0] * t_15) + 1e-05f)));
#pragma unroll
        for (int i1_turn_1 = 0; i1_turn_1 < 6; i1_turn_1++) {
            float te_run1[4];
            te_read_run<4>(te_run1, g + (128*i1_turn_1 + 4*lane));
            float te_run2[4];
            te_read_run<4>(te_run2, b + (128*i1_turn_1 + 4*lane));
            float te_run3[4];
#pragma unroll
            for (int i1_e_3 = 0; i1_e_3 < 4; i1_e_3++) {
                te_run3[i1_e_3] = ((((X_row[i1_e_3 + 4*i1_turn_1] + t_16) * t_33) * te_run1[i1_e_3]) + te_run2[i1_e_3]);
            }
            te_write_run<4>(layer_norm + (768*i0 + 128*i1_turn_1 + 4*lane), te_run3);
        }
    }
}
