// blocks: one per tile, tiles: 128
// threads: 256, bytes of shared memory: 0, counters: 0
// P[i0, i1] = exp(X[i0, i1] - pass.c0[i1](X[i0, i1])) / sum[i1](exp(X[i0, i1] - pass.c0[i1](X[i0, i1])))
// schedule: split tile=i1:4 fold=i1:warp:4 stage=X grid=i0 warp=i1 occupancy=4
extern "C" __global__ void __launch_bounds__(256, 4) k0_P(
    const float *__restrict__ X,
    float *__restrict__ P) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const int lane = te_whole_mod(te_thread, 32);
    const int warp = te_whole_div(te_thread, 32);
    const int row = (8*te_block + 4*te_group + warp);
    if (row < 1024) {
        const int i0 = row;
        float X_row[16];
#pragma unroll
        for (int i1_turn = 0; i1_turn < 4; i1_turn++) {
            float te_run0[4];
            te_read_run<4, true>(te_run0, X + (512*i0 + 128*i1_turn + 4*lane));
#pragma unroll
            for (int i1_e = 0; i1_e < 4; i1_e++) {
                X_row[i1_e + 4*i1_turn] = te_run0[i1_e];
            }
        }
        float acc[1];
        acc[0] = (-__int_as_float(0x7f800000));
        float acc_1[4];
#pragma unroll
        for (int i1_lane_e = 0; i1_lane_e < 4; i1_lane_e++) {
            acc_1[i1_lane_e] = (-__int_as_float(0x7f800000));
        }
#pragma unroll
        for (int i1_turn_2 = 0; i1_turn_2 < 4; i1_turn_2++) {
#pragma unroll
            for (int i1_e_1 = 0; i1_e_1 < 4; i1_e_1++) {
                acc_1[i1_e_1] = te_max_f32(acc_1[i1_e_1], X_row[i1_e_1 + 4*i1_turn_2]);
            }
        }
        acc[0] = te_max_f32(acc[0], te_max_f32(te_max_f32(acc_1[0], acc_1[1]), te_max_f32(acc_1[2], acc_1[3])));
        float acc_upper[1];
        const float t = acc[0];
        const float t_1 = __shfl_xor_sync(~0u, t, 16);
        acc_upper[0] = t_1;
        acc[0] = te_max_f32(acc[0], acc_upper[0]);
        float acc_upper_1[1];
        const float t_2 = acc[0];
        const float t_3 = __shfl_xor_sync(~0u, t_2, 8);
        acc_upper_1[0] = t_3;
        acc[0] = te_max_f32(acc[0], acc_upper_1[0]);
        float acc_upper_2[1];
        const float t_4 = acc[0];
        const float t_5 = __shfl_xor_sync(~0u, t_4, 4);
        acc_upper_2[0] = t_5;
        acc[0] = te_max_f32(acc[0], acc_upper_2[0]);
        float acc_upper_3[1];
        const float t_6 = acc[0];
        const float t_7 = __shfl_xor_sync(~0u, t_6, 2);
        acc_upper_3[0] = t_7;
        acc[0] = te_max_f32(acc[0], acc_upper_3[0]);
        float acc_upper_4[1];
        const float t_8 = acc[0];
        const float t_9 = __shfl_xor_sync(~0u, t_8, 1);
        acc_upper_4[0] = t_9;
        acc[0] = te_max_f32(acc[0], acc_upper_4[0]);
        const float t_10 = (-acc[0]);
        float acc_2[1];
        acc_2[0] = 0.0f;
        float acc_3[4];
#pragma unroll
        for (int i1_lane_e_1 = 0; i1_lane_e_1 < 4; i1_lane_e_1++) {
            acc_3[i1_lane_e_1] = 0.0f;
        }
#pragma unroll
        for (int i1_turn_3 = 0; i1_turn_3 < 4; i1_turn_3++) {
            float v_1[4];
#pragma unroll
            for (int i1_e_3 = 0; i1_e_3 < 4; i1_e_3++) {
                v_1[i1_e_3] = expf((X_row[i1_e_3 + 4*i1_turn_3] + t_10));
            }
#pragma unroll
            for (int i1_e_4 = 0; i1_e_4 < 4; i1_e_4++) {
                acc_3[i1_e_4] = (acc_3[i1_e_4] + v_1[i1_e_4]);
            }
        }
        acc_2[0] = (acc_2[0] + ((acc_3[0] + acc_3[1]) + (acc_3[2] + acc_3[3])));
        float acc_2_upper[1];
        const float t_11 = acc_2[0];
        const float t_12 = __shfl_xor_sync(~0u, t_11, 16);
        acc_2_upper[0] = t_12;
        acc_2[0] = (acc_2[0] + acc_2_upper[0]);
        float acc_2_upper_1[1];
        const float t_13 = acc_2[0];
        const float t_14 = __shfl_xor_sync(~0u, t_13, 8);
        acc_2_upper_1[0] = t_14;
        acc_2[0] = (acc_2[0] + acc_2_upper_1[0]);
        float acc_2_upper_2[1];
        const float t_15 = acc_2[0];
        const float t_16 = __shfl_xor_sync(~0u, t_15, 4);
        acc_2_upper_2[0] = t_16;
        acc_2[0] = (acc_2[0] + acc_2_upper_2[0]);
        float acc_2_upper_3[1];
        const float t_17 = acc_2[0];
        const float t_18 = __shfl_xor_sync(~0u, t_17, 2);
        acc_2_upper_3[0] = t_18;
        acc_2[0] = (acc_2[0] + acc_2_upper_3[0]);
        float acc_2_upper_4[1];
        const float t_19 = acc_2[0];
        const float t_20 = __shfl_xor_sync(~0u, t_19, 1);
        acc_2_upper_4[0] = t_20;
        acc_2[0] = (acc_2[0] + acc_2_upper_4[0]);
        const float t_21 = (1.0f / acc_2[0]);
#pragma unroll
        for (int i1_turn_1 = 0; i1_turn_1 < 4; i1_turn_1++) {
            float v[4];
#pragma unroll
            for (int i1_e_2 = 0; i1_e_2 < 4; i1_e_2++) {
                v[i1_e_2] = expf((X_row[i1_e_2 + 4*i1_turn_1] + t_10));
            }
            float te_run1[4];
#pragma unroll
            for (int i1_e_5 = 0; i1_e_5 < 4; i1_e_5++) {
                te_run1[i1_e_5] = (v[i1_e_5] * t_21);
            }
            te_write_run<4, true>(P + (512*i0 + 128*i1_turn_1 + 4*lane), te_run1);
        }
    }
}
