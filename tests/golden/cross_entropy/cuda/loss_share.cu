// blocks: as many as the chip holds, tiles: 128
// threads: 384, bytes of shared memory: 197696, counters: 0
// map H_map: boxes of 128 x 64 of H as 4096 x 1024
// map W_map: boxes of 256 x 64 of W as 32000 x 1024
// loss_share[i1_share, i0] = pass[i1_in:8000](sum[i2](H[i0, i2] * W[i1_in + 8000*i1_share, i2]),
//     exp(sum[i2](H[i0, i2] * W[i1_in + 8000*i1_share, i2]) + statistic("at"))).c0
// loss_share_2[i1_share, i0] = pass[i1_in:8000](sum[i2](H[i0, i2] * W[i1_in + 8000*i1_share, i2]),
//     exp(sum[i2](H[i0, i2] * W[i1_in + 8000*i1_share, i2]) + statistic("at"))).c1
// schedule: mma tile=i0:128 fold=i1_in:stream:256 consumers=2 stages=4 supertile=16
extern "C" __global__ void __launch_bounds__(384, 1) k1_loss_share(
    const __grid_constant__ te_map H_map_map,
    const __grid_constant__ te_map W_map_map,
    const te_bf16 *__restrict__ H,
    const te_bf16 *__restrict__ W,
    float *__restrict__ loss_share,
    float *__restrict__ loss_share_2) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    extern __shared__ unsigned char te_shared[];
    const te_u32 te_base = (te_address(te_shared) + 1023) & ~1023u;
    const te_u32 H_tile_tiles = te_base;
    const te_u32 W_tile_tiles = te_base + 65536;
    const te_u32 inner_full_signal = te_base + 196608;
    const te_u32 inner_empty_signal = te_base + 196640;
    if (threadIdx.x == 0) {
        for (int n = 0; n < 4; ++n) te_barrier(inner_full_signal + 8 * n, 1);
        for (int n = 0; n < 4; ++n) te_barrier(inner_empty_signal + 8 * n, 8);
        te_barriers_ready();
        te_prefetch(H_map_map);
        te_prefetch(W_map_map);
    }
    __syncthreads();
    if (te_warpgroup < 1) {  // producer
        te_fewer_registers<40>();
        const int te_group = te_warpgroup;
        if (te_group == 0 && te_thread == 0) {
            int inner_slot = 0;
            int inner_phase = 1;
            const int rounds = ((-te_block + te_blocks + 127) / te_blocks);
#pragma unroll 1
            for (int round = 0; round < rounds; round++) {
                const int tile = (te_block + (round * te_blocks));
                const int batch = (tile / 32);
                const int inner = (tile % 32);
                const int band = (inner / 16);
                const int rest = (inner % 16);
                const int here = te_min_int(16, (-16*band + 32));
                const int column_tile = (rest / here);
                const int turn = (rest % here);
                const int i0 = (2048*band + 128*turn);
                const int below = (te_max_int(8000, 0) / 256);
                const int masked = te_min_int(te_max_int((-below + 32), 0), 32);
#pragma unroll 1
                for (int step = 0; step < 32; step++) {
                    const int k0 = (-256*step + 7936);
#pragma unroll 1
                    for (int chunk = 0; chunk < 16; chunk++) {
                        te_await(inner_empty_signal + inner_slot * 8, inner_phase);
                        te_expect(inner_full_signal + inner_slot * 8, 49152);
                        te_copy_in(H_tile_tiles + inner_slot * 16384, H_map_map, inner_full_signal + inner_slot * 8, 64*chunk, i0);
                        te_copy_in(W_tile_tiles + inner_slot * 32768, W_map_map, inner_full_signal + inner_slot * 8, 64*chunk, 8000*batch + k0);
                        const bool last = (inner_slot == 3);
                        inner_phase = (last ? (1 + (-inner_phase)) : inner_phase);
                        inner_slot = (last ? 0 : (inner_slot + 1));
                    }
                }
            }
        }
    } else if (te_warpgroup < 3) {  // consumer
        te_more_registers<232>();
        const int te_group = te_warpgroup - 1;
        const int warp = (te_thread / 32);
        const int lane = (te_thread % 32);
        const int quad = (lane / 4);
        const int row_offset = (quad + 64*te_group + 16*warp);
        const int pair = (lane % 4);
        float scores[128];
        int inner_slot_1 = 0;
        int inner_phase_1 = 0;
        const int rounds_1 = ((-te_block + te_blocks + 127) / te_blocks);
#pragma unroll 1
        for (int round_1 = 0; round_1 < rounds_1; round_1++) {
            const int tile_1 = (te_block + (round_1 * te_blocks));
            const int batch_1 = (tile_1 / 32);
            const int inner_1 = (tile_1 % 32);
            const int band_1 = (inner_1 / 16);
            const int rest_1 = (inner_1 % 16);
            const int here_1 = te_min_int(16, (-16*band_1 + 32));
            const int column_tile_1 = (rest_1 / here_1);
            const int turn_1 = (rest_1 % here_1);
            const int i0_1 = (2048*band_1 + 128*turn_1);
            const int below_1 = (te_max_int(8000, 0) / 256);
            const int masked_1 = te_min_int(te_max_int((-below_1 + 32), 0), 32);
            const int row = (i0_1 + row_offset);
            float s_c0_0 = (-__int_as_float(0x7f800000));
            float s_c0_1 = (-__int_as_float(0x7f800000));
            float s_c1_0 = 0.0f;
            float s_c1_1 = 0.0f;
#pragma unroll 1
            for (int step_1 = 0; step_1 < masked_1; step_1++) {
                const int k0_1 = (-256*step_1 + 7936);
                int before = 0;
#pragma unroll 1
                for (int chunk_1 = 0; chunk_1 < 16; chunk_1++) {
                    te_await(inner_full_signal + inner_slot_1 * 8, inner_phase_1);
                    te_mma_fence();
                    {
                        const te_u64 te_a = te_tile(H_tile_tiles + inner_slot_1 * 16384 + 64*te_group * 128, 16);
                        const te_u64 te_b = te_tile(W_tile_tiles + inner_slot_1 * 32768, 16);
                        const int te_keep = !(chunk_1 == 0);
                        te_mma_bf16_256_k_k(scores, te_a, te_b, te_keep);
                        te_mma_bf16_256_k_k(scores, te_a + 2, te_b + 2, 1);
                        te_mma_bf16_256_k_k(scores, te_a + 4, te_b + 4, 1);
                        te_mma_bf16_256_k_k(scores, te_a + 6, te_b + 6, 1);
                    }
                    te_mma_commit();
                    te_mma_wait<1>();
                    if (0 < chunk_1) {
                        if ((te_thread & 31) == 0) te_arrive(inner_empty_signal + before * 8);
                    }
                    before = inner_slot_1;
                    const bool last_1 = (inner_slot_1 == 3);
                    inner_phase_1 = (last_1 ? (1 + (-inner_phase_1)) : inner_phase_1);
                    inner_slot_1 = (last_1 ? 0 : (inner_slot_1 + 1));
                }
                te_mma_wait<0>();
                te_pin(scores);
                if ((te_thread & 31) == 0) te_arrive(inner_empty_signal + before * 8);
                const int column = (k0_1 + 2*pair);
                const int q = (-column + 7999);
                const int q_1 = (-column + 7999);
#pragma unroll
                for (int j = 0; j < 32; j++) {
                    scores[4*j] = ((8*j <= q) ? scores[4*j] : (-__int_as_float(0x7f800000)));
                    scores[4*j + 1] = (((8*j + 1) <= q) ? scores[4*j + 1] : (-__int_as_float(0x7f800000)));
                    scores[4*j + 2] = ((8*j <= q_1) ? scores[4*j + 2] : (-__int_as_float(0x7f800000)));
                    scores[4*j + 3] = (((8*j + 1) <= q_1) ? scores[4*j + 3] : (-__int_as_float(0x7f800000)));
                }
                float s_c0__part = (-__int_as_float(0x7f800000));
                float s_c0__part_1 = (-__int_as_float(0x7f800000));
                float s_c0__part_2 = (-__int_as_float(0x7f800000));
                float s_c0__part_3 = (-__int_as_float(0x7f800000));
#pragma unroll
                for (int j_1 = 0; j_1 < 32; j_1++) {
                    s_c0__part = fmaxf(s_c0__part, scores[4*j_1]);
                    s_c0__part_1 = fmaxf(s_c0__part_1, scores[4*j_1 + 1]);
                    s_c0__part_2 = fmaxf(s_c0__part_2, scores[4*j_1 + 2]);
                    s_c0__part_3 = fmaxf(s_c0__part_3, scores[4*j_1 + 3]);
                }
                const float m = fmaxf(s_c0__part, s_c0__part_1);
                const float x = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
                const float x_1 = fmaxf(x, __shfl_xor_sync(~0u, x, 2));
                const float m_1 = fmaxf(s_c0_0, x_1);
                const float m_2 = fmaxf(s_c0__part_2, s_c0__part_3);
                const float x_2 = fmaxf(m_2, __shfl_xor_sync(~0u, m_2, 1));
                const float x_3 = fmaxf(x_2, __shfl_xor_sync(~0u, x_2, 2));
                const float m_3 = fmaxf(s_c0_1, x_3);
                const float to = ((m_1 == (-__int_as_float(0x7f800000))) ? 0.0f : (-m_1));
                const float v_from = (-s_c0_0);
                const float to_1 = ((m_3 == (-__int_as_float(0x7f800000))) ? 0.0f : (-m_3));
                const float from_1 = (-s_c0_1);
                const float t = (-v_from);
                const float t_1 = (to + t);
                const float t_2 = te_exp2((t_1 * 1.4426950408889634f));
                const float t_3 = (-from_1);
                const float t_4 = (to_1 + t_3);
                const float t_5 = te_exp2((t_4 * 1.4426950408889634f));
                float s_c1__part = 0.0f;
                float s_c1__part_1 = 0.0f;
                float s_c1__part_2 = 0.0f;
                float s_c1__part_3 = 0.0f;
                const float t_6 = (to * 1.4426950408889634f);
                const float t_7 = (to_1 * 1.4426950408889634f);
#pragma unroll
                for (int j_2 = 0; j_2 < 32; j_2++) {
                    const float p = te_exp2(fmaf(scores[4*j_2], 1.4426950408889634f, t_6));
                    s_c1__part = (s_c1__part + p);
                    const float p_1 = te_exp2(fmaf(scores[4*j_2 + 1], 1.4426950408889634f, t_6));
                    s_c1__part_1 = (s_c1__part_1 + p_1);
                    const float p_2 = te_exp2(fmaf(scores[4*j_2 + 2], 1.4426950408889634f, t_7));
                    s_c1__part_2 = (s_c1__part_2 + p_2);
                    const float p_3 = te_exp2(fmaf(scores[4*j_2 + 3], 1.4426950408889634f, t_7));
                    s_c1__part_3 = (s_c1__part_3 + p_3);
                }
                s_c1_0 = ((s_c1_0 * t_2) + (s_c1__part + s_c1__part_1));
                s_c1_1 = ((s_c1_1 * t_5) + (s_c1__part_2 + s_c1__part_3));
                s_c0_0 = m_1;
                s_c0_1 = m_3;
            }
#pragma unroll 1
            for (int step_2 = masked_1; step_2 < 32; step_2++) {
                const int k0_2 = (-256*step_2 + 7936);
                int before_1 = 0;
#pragma unroll 1
                for (int chunk_2 = 0; chunk_2 < 16; chunk_2++) {
                    te_await(inner_full_signal + inner_slot_1 * 8, inner_phase_1);
                    te_mma_fence();
                    {
                        const te_u64 te_a = te_tile(H_tile_tiles + inner_slot_1 * 16384 + 64*te_group * 128, 16);
                        const te_u64 te_b = te_tile(W_tile_tiles + inner_slot_1 * 32768, 16);
                        const int te_keep = !(chunk_2 == 0);
                        te_mma_bf16_256_k_k(scores, te_a, te_b, te_keep);
                        te_mma_bf16_256_k_k(scores, te_a + 2, te_b + 2, 1);
                        te_mma_bf16_256_k_k(scores, te_a + 4, te_b + 4, 1);
                        te_mma_bf16_256_k_k(scores, te_a + 6, te_b + 6, 1);
                    }
                    te_mma_commit();
                    te_mma_wait<1>();
                    if (0 < chunk_2) {
                        if ((te_thread & 31) == 0) te_arrive(inner_empty_signal + before_1 * 8);
                    }
                    before_1 = inner_slot_1;
                    const bool last_2 = (inner_slot_1 == 3);
                    inner_phase_1 = (last_2 ? (1 + (-inner_phase_1)) : inner_phase_1);
                    inner_slot_1 = (last_2 ? 0 : (inner_slot_1 + 1));
                }
                te_mma_wait<0>();
                te_pin(scores);
                if ((te_thread & 31) == 0) te_arrive(inner_empty_signal + before_1 * 8);
                const int column_1 = (k0_2 + 2*pair);
                float s_c0__part_4 = (-__int_as_float(0x7f800000));
                float s_c0__part_5 = (-__int_as_float(0x7f800000));
                float s_c0__part_6 = (-__int_as_float(0x7f800000));
                float s_c0__part_7 = (-__int_as_float(0x7f800000));
#pragma unroll
                for (int j_3 = 0; j_3 < 32; j_3++) {
                    s_c0__part_4 = fmaxf(s_c0__part_4, scores[4*j_3]);
                    s_c0__part_5 = fmaxf(s_c0__part_5, scores[4*j_3 + 1]);
                    s_c0__part_6 = fmaxf(s_c0__part_6, scores[4*j_3 + 2]);
                    s_c0__part_7 = fmaxf(s_c0__part_7, scores[4*j_3 + 3]);
                }
                const float m_4 = fmaxf(s_c0__part_4, s_c0__part_5);
                const float x_4 = fmaxf(m_4, __shfl_xor_sync(~0u, m_4, 1));
                const float x_5 = fmaxf(x_4, __shfl_xor_sync(~0u, x_4, 2));
                const float m_5 = fmaxf(s_c0_0, x_5);
                const float m_6 = fmaxf(s_c0__part_6, s_c0__part_7);
                const float x_6 = fmaxf(m_6, __shfl_xor_sync(~0u, m_6, 1));
                const float x_7 = fmaxf(x_6, __shfl_xor_sync(~0u, x_6, 2));
                const float m_7 = fmaxf(s_c0_1, x_7);
                const float to_2 = ((m_5 == (-__int_as_float(0x7f800000))) ? 0.0f : (-m_5));
                const float from_2 = (-s_c0_0);
                const float to_3 = ((m_7 == (-__int_as_float(0x7f800000))) ? 0.0f : (-m_7));
                const float from_3 = (-s_c0_1);
                const float t_8 = (-from_2);
                const float t_9 = (to_2 + t_8);
                const float t_10 = te_exp2((t_9 * 1.4426950408889634f));
                const float t_11 = (-from_3);
                const float t_12 = (to_3 + t_11);
                const float t_13 = te_exp2((t_12 * 1.4426950408889634f));
                float s_c1__part_4 = 0.0f;
                float s_c1__part_5 = 0.0f;
                float s_c1__part_6 = 0.0f;
                float s_c1__part_7 = 0.0f;
                const float t_14 = (to_2 * 1.4426950408889634f);
                const float t_15 = (to_3 * 1.4426950408889634f);
#pragma unroll
                for (int j_4 = 0; j_4 < 32; j_4++) {
                    const float p_4 = te_exp2(fmaf(scores[4*j_4], 1.4426950408889634f, t_14));
                    s_c1__part_4 = (s_c1__part_4 + p_4);
                    const float p_5 = te_exp2(fmaf(scores[4*j_4 + 1], 1.4426950408889634f, t_14));
                    s_c1__part_5 = (s_c1__part_5 + p_5);
                    const float p_6 = te_exp2(fmaf(scores[4*j_4 + 2], 1.4426950408889634f, t_15));
                    s_c1__part_6 = (s_c1__part_6 + p_6);
                    const float p_7 = te_exp2(fmaf(scores[4*j_4 + 3], 1.4426950408889634f, t_15));
                    s_c1__part_7 = (s_c1__part_7 + p_7);
                }
                s_c1_0 = ((s_c1_0 * t_10) + (s_c1__part_4 + s_c1__part_5));
                s_c1_1 = ((s_c1_1 * t_13) + (s_c1__part_6 + s_c1__part_7));
                s_c0_0 = m_5;
                s_c0_1 = m_7;
            }
            const float x_8 = (s_c1_0 + __shfl_xor_sync(~0u, s_c1_0, 1));
            const float x_9 = (x_8 + __shfl_xor_sync(~0u, x_8, 2));
            s_c1_0 = x_9;
            const float x_10 = (s_c1_1 + __shfl_xor_sync(~0u, s_c1_1, 1));
            const float x_11 = (x_10 + __shfl_xor_sync(~0u, x_10, 2));
            s_c1_1 = x_11;
            if (((lane % 4) == 0) && (row < 4096)) {
                loss_share[4096*batch_1 + row] = s_c0_0;
            }
            if (((lane % 4) == 0) && ((row + 8) < 4096)) {
                loss_share[4096*batch_1 + row + 8] = s_c0_1;
            }
            if (((lane % 4) == 0) && (row < 4096)) {
                loss_share_2[4096*batch_1 + row] = s_c1_0;
            }
            if (((lane % 4) == 0) && ((row + 8) < 4096)) {
                loss_share_2[4096*batch_1 + row + 8] = s_c1_1;
            }
        }
    }
}
