// blocks: as many as the chip holds, tiles: 256
// threads: 384, bytes of shared memory: 230464, counters: 0
// map X_map: boxes of 128 x 64 of X as 8192 x 1024
// map W_map: boxes of 64 x 64 of W as 1024 x 1024
// map Y_map: boxes of 64 x 64 of Y as 8192 x 1024
// Y[i0, i2] = recip(sqrt(pass[i1](X[i0, i1] * X[i0, i1], X[i0, i1] * g[i1] * W[i1, i2]).c0 * recip(1024.0) +
//     1e-06)) * pass[i1](X[i0, i1] * X[i0, i1], X[i0, i1] * g[i1] * W[i1, i2]).c1
// schedule: mma tile=i0:128,i2:256 fold=i1:stream:64 consumers=2 stages=4 supertile=16
extern "C" __global__ void __launch_bounds__(384, 1) k0_Y(
    const __grid_constant__ te_map X_map_map,
    const __grid_constant__ te_map W_map_map,
    const __grid_constant__ te_map Y_map_map,
    const te_bf16 *__restrict__ X,
    const te_bf16 *__restrict__ g,
    const te_bf16 *__restrict__ W,
    te_bf16 *__restrict__ Y) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    extern __shared__ unsigned char te_shared[];
    const te_u32 te_base = (te_address(te_shared) + 1023) & ~1023u;
    const te_u32 X_tile_tiles = te_base;
    const te_u32 W_tile_tiles = te_base + 65536;
    const te_u32 out_tile_tiles = te_base + 196608;
    const te_u32 outer_full_signal = te_base + 229376;
    const te_u32 outer_empty_signal = te_base + 229408;
    if (threadIdx.x == 0) {
        for (int n = 0; n < 4; ++n) te_barrier(outer_full_signal + 8 * n, 1);
        for (int n = 0; n < 4; ++n) te_barrier(outer_empty_signal + 8 * n, 8);
        te_barriers_ready();
        te_prefetch(X_map_map);
        te_prefetch(W_map_map);
        te_prefetch(Y_map_map);
    }
    __syncthreads();
    if (te_warpgroup < 1) {  // producer
        te_fewer_registers<40>();
        const int te_group = te_warpgroup;
        if (te_group == 0 && te_thread == 0) {
            int outer_slot = 0;
            int outer_phase = 1;
            const int rounds = ((-te_block + te_blocks + 255) / te_blocks);
#pragma unroll 1
            for (int round = 0; round < rounds; round++) {
                const int tile = (te_block + (round * te_blocks));
                const int batch = (tile / 256);
                const int inner = (tile % 256);
                const int band = (inner / 64);
                const int rest = (inner % 64);
                const int here = te_min_int(16, (-16*band + 64));
                const int column_tile = (rest / here);
                const int turn = (rest % here);
                const int i0 = (2048*band + 128*turn);
#pragma unroll 1
                for (int step = 0; step < 16; step++) {
                    const int k0 = (-64*step + 960);
                    te_await(outer_empty_signal + outer_slot * 8, outer_phase);
                    te_expect(outer_full_signal + outer_slot * 8, 49152);
                    te_copy_in(X_tile_tiles + outer_slot * 16384, X_map_map, outer_full_signal + outer_slot * 8, k0, i0);
                    te_copy_in(W_tile_tiles + outer_slot * 32768, W_map_map, outer_full_signal + outer_slot * 8, 256*column_tile, k0);
                    te_copy_in(W_tile_tiles + outer_slot * 32768 + 8192, W_map_map, outer_full_signal + outer_slot * 8, 256*column_tile + 64, k0);
                    te_copy_in(W_tile_tiles + outer_slot * 32768 + 16384, W_map_map, outer_full_signal + outer_slot * 8, 256*column_tile + 128, k0);
                    te_copy_in(W_tile_tiles + outer_slot * 32768 + 24576, W_map_map, outer_full_signal + outer_slot * 8, 256*column_tile + 192, k0);
                    const bool last = (outer_slot == 3);
                    outer_phase = (last ? (1 + (-outer_phase)) : outer_phase);
                    outer_slot = (last ? 0 : (outer_slot + 1));
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
        float acc[128];
        te_u32 raw[16];
        te_bf16 columns[16];
        te_u32 weights[16];
        te_u32 weights_1[16];
        int outer_slot_1 = 0;
        int outer_phase_1 = 0;
        int outer_slot_2 = 0;
        int outer_phase_2 = 0;
        const int rounds_1 = ((-te_block + te_blocks + 255) / te_blocks);
#pragma unroll 1
        for (int round_1 = 0; round_1 < rounds_1; round_1++) {
            const int tile_1 = (te_block + (round_1 * te_blocks));
            const int batch_1 = (tile_1 / 256);
            const int inner_1 = (tile_1 % 256);
            const int band_1 = (inner_1 / 64);
            const int rest_1 = (inner_1 % 64);
            const int here_1 = te_min_int(16, (-16*band_1 + 64));
            const int column_tile_1 = (rest_1 / here_1);
            const int turn_1 = (rest_1 % here_1);
            const int i0_1 = (2048*band_1 + 128*turn_1);
            const int row = (i0_1 + row_offset);
            float s_c0_0 = 0.0f;
            float s_c0_1 = 0.0f;
            const int column = (2*pair + 960);
#pragma unroll
            for (int j = 0; j < 8; j++) {
                columns[2*j] = g[column + 8*j];
                columns[2*j + 1] = g[column + 8*j + 1];
            }
            te_await(outer_full_signal + outer_slot_2 * 8, outer_phase_2);
            te_load_16(raw[0], raw[1], raw[2], raw[3], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 0);
            te_load_16(raw[4], raw[5], raw[6], raw[7], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 1);
            te_load_16(raw[8], raw[9], raw[10], raw[11], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 2);
            te_load_16(raw[12], raw[13], raw[14], raw[15], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 3);
            const bool last_1 = (outer_slot_2 == 3);
            outer_phase_2 = (last_1 ? (1 + (-outer_phase_2)) : outer_phase_2);
            outer_slot_2 = (last_1 ? 0 : (outer_slot_2 + 1));
            const int column_1 = (2*pair + 960);
            float s_c0__part = 0.0f;
            float s_c0__part_1 = 0.0f;
            float s_c0__part_2 = 0.0f;
            float s_c0__part_3 = 0.0f;
#pragma unroll
            for (int j_1 = 0; j_1 < 8; j_1++) {
                s_c0__part = (s_c0__part + (te_of_bf16(te_lane_bf16(raw[2*j_1], 0)) * te_of_bf16(te_lane_bf16(raw[2*j_1], 0))));
                s_c0__part_1 = (s_c0__part_1 + (te_of_bf16(te_lane_bf16(raw[2*j_1], 1)) * te_of_bf16(te_lane_bf16(raw[2*j_1], 1))));
                s_c0__part_2 = (s_c0__part_2 + (te_of_bf16(te_lane_bf16(raw[2*j_1 + 1], 0)) * te_of_bf16(te_lane_bf16(raw[2*j_1 + 1], 0))));
                s_c0__part_3 = (s_c0__part_3 + (te_of_bf16(te_lane_bf16(raw[2*j_1 + 1], 1)) * te_of_bf16(te_lane_bf16(raw[2*j_1 + 1], 1))));
            }
            const float m = (s_c0__part + s_c0__part_1);
            const float m_1 = (s_c0_0 + m);
            const float m_2 = (s_c0__part_2 + s_c0__part_3);
            const float m_3 = (s_c0_1 + m_2);
#pragma unroll
            for (int j_2 = 0; j_2 < 8; j_2++) {
                const float p = (te_of_bf16(te_lane_bf16(raw[2*j_2], 0)) * te_of_bf16(columns[2*j_2]));
                const float p_1 = (te_of_bf16(te_lane_bf16(raw[2*j_2], 1)) * te_of_bf16(columns[2*j_2 + 1]));
                weights[2*j_2] = te_pack_bf16(p, p_1);
                const float p_2 = (te_of_bf16(te_lane_bf16(raw[2*j_2 + 1], 0)) * te_of_bf16(columns[2*j_2]));
                const float p_3 = (te_of_bf16(te_lane_bf16(raw[2*j_2 + 1], 1)) * te_of_bf16(columns[2*j_2 + 1]));
                weights[2*j_2 + 1] = te_pack_bf16(p_2, p_3);
            }
            s_c0_0 = m_1;
            s_c0_1 = m_3;
            const int next = te_min_int(1, 15);
            const int k0_1 = (-64*next + 960);
            const int column_2 = (k0_1 + 2*pair);
#pragma unroll
            for (int j_3 = 0; j_3 < 8; j_3++) {
                columns[2*j_3] = g[column_2 + 8*j_3];
                columns[2*j_3 + 1] = g[column_2 + 8*j_3 + 1];
            }
            int before = 0;
#pragma unroll 1
            for (int pair_1 = 0; pair_1 < 8; pair_1++) {
                te_mma_fence();
                {
                    const te_u64 te_b = te_tile(W_tile_tiles + outer_slot_1 * 32768, 8192);
                    const int te_keep = !(2*pair_1 == 0);
                    te_mma_bf16_256_r_mn(acc, weights[0], weights[1], weights[2], weights[3], te_b, te_keep);
                    te_mma_bf16_256_r_mn(acc, weights[4], weights[5], weights[6], weights[7], te_b + 128, 1);
                    te_mma_bf16_256_r_mn(acc, weights[8], weights[9], weights[10], weights[11], te_b + 256, 1);
                    te_mma_bf16_256_r_mn(acc, weights[12], weights[13], weights[14], weights[15], te_b + 384, 1);
                }
                te_mma_commit();
                te_mma_wait<1>();
                if (0 < 2*pair_1) {
                    if ((te_thread & 31) == 0) te_arrive(outer_empty_signal + before * 8);
                }
                before = outer_slot_1;
                const bool last_2 = (outer_slot_1 == 3);
                outer_phase_1 = (last_2 ? (1 + (-outer_phase_1)) : outer_phase_1);
                outer_slot_1 = (last_2 ? 0 : (outer_slot_1 + 1));
                const int k0_2 = (-128*pair_1 + 896);
                te_await(outer_full_signal + outer_slot_2 * 8, outer_phase_2);
                te_load_16(raw[0], raw[1], raw[2], raw[3], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 0);
                te_load_16(raw[4], raw[5], raw[6], raw[7], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 1);
                te_load_16(raw[8], raw[9], raw[10], raw[11], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 2);
                te_load_16(raw[12], raw[13], raw[14], raw[15], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 3);
                const bool last_3 = (outer_slot_2 == 3);
                outer_phase_2 = (last_3 ? (1 + (-outer_phase_2)) : outer_phase_2);
                outer_slot_2 = (last_3 ? 0 : (outer_slot_2 + 1));
                const int column_3 = (k0_2 + 2*pair);
                float s_c0__part_4 = 0.0f;
                float s_c0__part_5 = 0.0f;
                float s_c0__part_6 = 0.0f;
                float s_c0__part_7 = 0.0f;
#pragma unroll
                for (int j_4 = 0; j_4 < 8; j_4++) {
                    s_c0__part_4 = (s_c0__part_4 + (te_of_bf16(te_lane_bf16(raw[2*j_4], 0)) * te_of_bf16(te_lane_bf16(raw[2*j_4], 0))));
                    s_c0__part_5 = (s_c0__part_5 + (te_of_bf16(te_lane_bf16(raw[2*j_4], 1)) * te_of_bf16(te_lane_bf16(raw[2*j_4], 1))));
                    s_c0__part_6 = (s_c0__part_6 + (te_of_bf16(te_lane_bf16(raw[2*j_4 + 1], 0)) * te_of_bf16(te_lane_bf16(raw[2*j_4 + 1], 0))));
                    s_c0__part_7 = (s_c0__part_7 + (te_of_bf16(te_lane_bf16(raw[2*j_4 + 1], 1)) * te_of_bf16(te_lane_bf16(raw[2*j_4 + 1], 1))));
                }
                const float m_4 = (s_c0__part_4 + s_c0__part_5);
                const float m_5 = (s_c0_0 + m_4);
                const float m_6 = (s_c0__part_6 + s_c0__part_7);
                const float m_7 = (s_c0_1 + m_6);
#pragma unroll
                for (int j_5 = 0; j_5 < 8; j_5++) {
                    const float p_4 = (te_of_bf16(te_lane_bf16(raw[2*j_5], 0)) * te_of_bf16(columns[2*j_5]));
                    const float p_5 = (te_of_bf16(te_lane_bf16(raw[2*j_5], 1)) * te_of_bf16(columns[2*j_5 + 1]));
                    weights_1[2*j_5] = te_pack_bf16(p_4, p_5);
                    const float p_6 = (te_of_bf16(te_lane_bf16(raw[2*j_5 + 1], 0)) * te_of_bf16(columns[2*j_5]));
                    const float p_7 = (te_of_bf16(te_lane_bf16(raw[2*j_5 + 1], 1)) * te_of_bf16(columns[2*j_5 + 1]));
                    weights_1[2*j_5 + 1] = te_pack_bf16(p_6, p_7);
                }
                s_c0_0 = m_5;
                s_c0_1 = m_7;
                const int next_1 = te_min_int((2*pair_1 + 2), 15);
                const int k0_3 = (-64*next_1 + 960);
                const int column_4 = (k0_3 + 2*pair);
#pragma unroll
                for (int j_6 = 0; j_6 < 8; j_6++) {
                    columns[2*j_6] = g[column_4 + 8*j_6];
                    columns[2*j_6 + 1] = g[column_4 + 8*j_6 + 1];
                }
                te_mma_fence();
                {
                    const te_u64 te_b = te_tile(W_tile_tiles + outer_slot_1 * 32768, 8192);
                    const int te_keep = !((2*pair_1 + 1) == 0);
                    te_mma_bf16_256_r_mn(acc, weights_1[0], weights_1[1], weights_1[2], weights_1[3], te_b, te_keep);
                    te_mma_bf16_256_r_mn(acc, weights_1[4], weights_1[5], weights_1[6], weights_1[7], te_b + 128, 1);
                    te_mma_bf16_256_r_mn(acc, weights_1[8], weights_1[9], weights_1[10], weights_1[11], te_b + 256, 1);
                    te_mma_bf16_256_r_mn(acc, weights_1[12], weights_1[13], weights_1[14], weights_1[15], te_b + 384, 1);
                }
                te_mma_commit();
                te_mma_wait<1>();
                if (0 < (2*pair_1 + 1)) {
                    if ((te_thread & 31) == 0) te_arrive(outer_empty_signal + before * 8);
                }
                before = outer_slot_1;
                const bool last_4 = (outer_slot_1 == 3);
                outer_phase_1 = (last_4 ? (1 + (-outer_phase_1)) : outer_phase_1);
                outer_slot_1 = (last_4 ? 0 : (outer_slot_1 + 1));
                if ((2*pair_1 + 2) < 16) {
                    const int k0_4 = (-128*pair_1 + 832);
                    te_await(outer_full_signal + outer_slot_2 * 8, outer_phase_2);
                    te_load_16(raw[0], raw[1], raw[2], raw[3], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 0);
                    te_load_16(raw[4], raw[5], raw[6], raw[7], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 1);
                    te_load_16(raw[8], raw[9], raw[10], raw[11], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 2);
                    te_load_16(raw[12], raw[13], raw[14], raw[15], X_tile_tiles + outer_slot_2 * 16384, 64*te_group, 3);
                    const bool last_5 = (outer_slot_2 == 3);
                    outer_phase_2 = (last_5 ? (1 + (-outer_phase_2)) : outer_phase_2);
                    outer_slot_2 = (last_5 ? 0 : (outer_slot_2 + 1));
                    const int column_5 = (k0_4 + 2*pair);
                    float s_c0__part_8 = 0.0f;
                    float s_c0__part_9 = 0.0f;
                    float s_c0__part_10 = 0.0f;
                    float s_c0__part_11 = 0.0f;
#pragma unroll
                    for (int j_7 = 0; j_7 < 8; j_7++) {
                        s_c0__part_8 = (s_c0__part_8 + (te_of_bf16(te_lane_bf16(raw[2*j_7], 0)) * te_of_bf16(te_lane_bf16(raw[2*j_7], 0))));
                        s_c0__part_9 = (s_c0__part_9 + (te_of_bf16(te_lane_bf16(raw[2*j_7], 1)) * te_of_bf16(te_lane_bf16(raw[2*j_7], 1))));
                        s_c0__part_10 = (s_c0__part_10 + (te_of_bf16(te_lane_bf16(raw[2*j_7 + 1], 0)) * te_of_bf16(te_lane_bf16(raw[2*j_7 + 1], 0))));
                        s_c0__part_11 = (s_c0__part_11 + (te_of_bf16(te_lane_bf16(raw[2*j_7 + 1], 1)) * te_of_bf16(te_lane_bf16(raw[2*j_7 + 1], 1))));
                    }
                    const float m_8 = (s_c0__part_8 + s_c0__part_9);
                    const float m_9 = (s_c0_0 + m_8);
                    const float m_10 = (s_c0__part_10 + s_c0__part_11);
                    const float m_11 = (s_c0_1 + m_10);
#pragma unroll
                    for (int j_8 = 0; j_8 < 8; j_8++) {
                        const float p_8 = (te_of_bf16(te_lane_bf16(raw[2*j_8], 0)) * te_of_bf16(columns[2*j_8]));
                        const float p_9 = (te_of_bf16(te_lane_bf16(raw[2*j_8], 1)) * te_of_bf16(columns[2*j_8 + 1]));
                        weights[2*j_8] = te_pack_bf16(p_8, p_9);
                        const float p_10 = (te_of_bf16(te_lane_bf16(raw[2*j_8 + 1], 0)) * te_of_bf16(columns[2*j_8]));
                        const float p_11 = (te_of_bf16(te_lane_bf16(raw[2*j_8 + 1], 1)) * te_of_bf16(columns[2*j_8 + 1]));
                        weights[2*j_8 + 1] = te_pack_bf16(p_10, p_11);
                    }
                    s_c0_0 = m_9;
                    s_c0_1 = m_11;
                    const int next_2 = te_min_int((2*pair_1 + 3), 15);
                    const int k0_5 = (-64*next_2 + 960);
                    const int column_6 = (k0_5 + 2*pair);
#pragma unroll
                    for (int j_9 = 0; j_9 < 8; j_9++) {
                        columns[2*j_9] = g[column_6 + 8*j_9];
                        columns[2*j_9 + 1] = g[column_6 + 8*j_9 + 1];
                    }
                }
            }
            if ((16 % 2) == 1) {
                te_mma_fence();
                {
                    const te_u64 te_b = te_tile(W_tile_tiles + outer_slot_1 * 32768, 8192);
                    const int te_keep = !(15 == 0);
                    te_mma_bf16_256_r_mn(acc, weights[0], weights[1], weights[2], weights[3], te_b, te_keep);
                    te_mma_bf16_256_r_mn(acc, weights[4], weights[5], weights[6], weights[7], te_b + 128, 1);
                    te_mma_bf16_256_r_mn(acc, weights[8], weights[9], weights[10], weights[11], te_b + 256, 1);
                    te_mma_bf16_256_r_mn(acc, weights[12], weights[13], weights[14], weights[15], te_b + 384, 1);
                }
                te_mma_commit();
                te_mma_wait<1>();
                if (0 < 15) {
                    if ((te_thread & 31) == 0) te_arrive(outer_empty_signal + before * 8);
                }
                before = outer_slot_1;
                const bool last_6 = (outer_slot_1 == 3);
                outer_phase_1 = (last_6 ? (1 + (-outer_phase_1)) : outer_phase_1);
                outer_slot_1 = (last_6 ? 0 : (outer_slot_1 + 1));
            }
            te_mma_wait<0>();
            te_pin(acc);
            if ((te_thread & 31) == 0) te_arrive(outer_empty_signal + before * 8);
            const float x = (s_c0_0 + __shfl_xor_sync(~0u, s_c0_0, 1));
            const float x_1 = (x + __shfl_xor_sync(~0u, x, 2));
            s_c0_0 = x_1;
            const float x_2 = (s_c0_1 + __shfl_xor_sync(~0u, s_c0_1, 1));
            const float x_3 = (x_2 + __shfl_xor_sync(~0u, x_2, 2));
            s_c0_1 = x_3;
            const int column_7 = (256*column_tile_1 + 2*pair);
            const float t = (1.0f / 1024.0f);
            const float t_1 = (s_c0_0 * t);
            const float t_2 = (t_1 + 1e-06f);
            const float t_3 = sqrtf(t_2);
            const float t_4 = (1.0f / t_3);
            const float t_5 = (s_c0_1 * t);
            const float t_6 = (t_5 + 1e-06f);
            const float t_7 = sqrtf(t_6);
            const float t_8 = (1.0f / t_7);
#pragma unroll
            for (int j_10 = 0; j_10 < 32; j_10++) {
                acc[4*j_10] = (t_4 * acc[4*j_10]);
                acc[4*j_10 + 1] = (t_4 * acc[4*j_10 + 1]);
                acc[4*j_10 + 2] = (t_8 * acc[4*j_10 + 2]);
                acc[4*j_10 + 3] = (t_8 * acc[4*j_10 + 3]);
            }
            if (te_thread == 0) {
                te_copy_drain_reads<1>();
            }
            te_sync((te_group + 1), 128);
            te_store_16(out_tile_tiles + 2*te_group * 8192, 0, 0, te_pack_bf16(acc[0], acc[1]), te_pack_bf16(acc[2], acc[3]), te_pack_bf16(acc[4], acc[5]), te_pack_bf16(acc[6], acc[7]));
            te_store_16(out_tile_tiles + 2*te_group * 8192, 0, 1, te_pack_bf16(acc[8], acc[9]), te_pack_bf16(acc[10], acc[11]), te_pack_bf16(acc[12], acc[13]), te_pack_bf16(acc[14], acc[15]));
            te_store_16(out_tile_tiles + 2*te_group * 8192, 0, 2, te_pack_bf16(acc[16], acc[17]), te_pack_bf16(acc[18], acc[19]), te_pack_bf16(acc[20], acc[21]), te_pack_bf16(acc[22], acc[23]));
            te_store_16(out_tile_tiles + 2*te_group * 8192, 0, 3, te_pack_bf16(acc[24], acc[25]), te_pack_bf16(acc[26], acc[27]), te_pack_bf16(acc[28], acc[29]), te_pack_bf16(acc[30], acc[31]));
            te_proxy_fence();
            te_sync((te_group + 1), 128);
            if (te_thread == 0) {
                te_copy_out(Y_map_map, out_tile_tiles + 2*te_group * 8192, 256*column_tile_1, i0_1 + 64*te_group);
                te_copy_commit();
            }
            __syncwarp();
            if (te_thread == 0) {
                te_copy_drain_reads<1>();
            }
            te_sync((te_group + 1), 128);
            te_store_16(out_tile_tiles + (2*te_group + 1) * 8192, 0, 0, te_pack_bf16(acc[32], acc[33]), te_pack_bf16(acc[34], acc[35]), te_pack_bf16(acc[36], acc[37]), te_pack_bf16(acc[38], acc[39]));
            te_store_16(out_tile_tiles + (2*te_group + 1) * 8192, 0, 1, te_pack_bf16(acc[40], acc[41]), te_pack_bf16(acc[42], acc[43]), te_pack_bf16(acc[44], acc[45]), te_pack_bf16(acc[46], acc[47]));
            te_store_16(out_tile_tiles + (2*te_group + 1) * 8192, 0, 2, te_pack_bf16(acc[48], acc[49]), te_pack_bf16(acc[50], acc[51]), te_pack_bf16(acc[52], acc[53]), te_pack_bf16(acc[54], acc[55]));
            te_store_16(out_tile_tiles + (2*te_group + 1) * 8192, 0, 3, te_pack_bf16(acc[56], acc[57]), te_pack_bf16(acc[58], acc[59]), te_pack_bf16(acc[60], acc[61]), te_pack_bf16(acc[62], acc[63]));
            te_proxy_fence();
            te_sync((te_group + 1), 128);
            if (te_thread == 0) {
                te_copy_out(Y_map_map, out_tile_tiles + (2*te_group + 1) * 8192, 256*column_tile_1 + 64, i0_1 + 64*te_group);
                te_copy_commit();
            }
            __syncwarp();
            if (te_thread == 0) {
                te_copy_drain_reads<1>();
            }
            te_sync((te_group + 1), 128);
            te_store_16(out_tile_tiles + 2*te_group * 8192, 0, 0, te_pack_bf16(acc[64], acc[65]), te_pack_bf16(acc[66], acc[67]), te_pack_bf16(acc[68], acc[69]), te_pack_bf16(acc[70], acc[71]));
            te_store_16(out_tile_tiles + 2*te_group * 8192, 0, 1, te_pack_bf16(acc[72], acc[73]), te_pack_bf16(acc[74], acc[75]), te_pack_bf16(acc[76], acc[77]), te_pack_bf16(acc[78], acc[79]));
            te_store_16(out_tile_tiles + 2*te_group * 8192, 0, 2, te_pack_bf16(acc[80], acc[81]), te_pack_bf16(acc[82], acc[83]), te_pack_bf16(acc[84], acc[85]), te_pack_bf16(acc[86], acc[87]));
            te_store_16(out_tile_tiles + 2*te_group * 8192, 0, 3, te_pack_bf16(acc[88], acc[89]), te_pack_bf16(acc[90], acc[91]), te_pack_bf16(acc[92], acc[93]), te_pack_bf16(acc[94], acc[95]));
            te_proxy_fence();
            te_sync((te_group + 1), 128);
            if (te_thread == 0) {
                te_copy_out(Y_map_map, out_tile_tiles + 2*te_group * 8192, 256*column_tile_1 + 128, i0_1 + 64*te_group);
                te_copy_commit();
            }
            __syncwarp();
            if (te_thread == 0) {
                te_copy_drain_reads<1>();
            }
            te_sync((te_group + 1), 128);
            te_store_16(out_tile_tiles + (2*te_group + 1) * 8192, 0, 0, te_pack_bf16(acc[96], acc[97]), te_pack_bf16(acc[98], acc[99]), te_pack_bf16(acc[100], acc[101]), te_pack_bf16(acc[102], acc[103]));
            te_store_16(out_tile_tiles + (2*te_group + 1) * 8192, 0, 1, te_pack_bf16(acc[104], acc[105]), te_pack_bf16(acc[106], acc[107]), te_pack_bf16(acc[108], acc[109]), te_pack_bf16(acc[110], acc[111]));
            te_store_16(out_tile_tiles + (2*te_group + 1) * 8192, 0, 2, te_pack_bf16(acc[112], acc[113]), te_pack_bf16(acc[114], acc[115]), te_pack_bf16(acc[116], acc[117]), te_pack_bf16(acc[118], acc[119]));
            te_store_16(out_tile_tiles + (2*te_group + 1) * 8192, 0, 3, te_pack_bf16(acc[120], acc[121]), te_pack_bf16(acc[122], acc[123]), te_pack_bf16(acc[124], acc[125]), te_pack_bf16(acc[126], acc[127]));
            te_proxy_fence();
            te_sync((te_group + 1), 128);
            if (te_thread == 0) {
                te_copy_out(Y_map_map, out_tile_tiles + (2*te_group + 1) * 8192, 256*column_tile_1 + 192, i0_1 + 64*te_group);
                te_copy_commit();
            }
            __syncwarp();
        }
        if (te_thread == 0) {
            te_copy_drain<0>();
        }
    }
}
