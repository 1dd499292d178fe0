// blocks: as many as the chip holds, tiles: 512
// threads: 384, bytes of shared memory: 230464, counters: 0
// map X_map: boxes of 128 x 64 of X as 2048 x 1024
// map G_map: boxes of 64 x 64 of G as 1024 x 4096
// map U_map: boxes of 64 x 64 of U as 1024 x 4096
// map H_map: boxes of 64 x 64 of H as 2048 x 4096
// H[i0, i1] = pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c0 / (exp(-pass[i2](X[i0, i2] * G[i2, i1],
//     X[i0, i2] * U[i2, i1]).c0) + 1.0) * pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c1
// schedule: mma tile=i0:128,i1:128 fold=i2:stream:64 consumers=2 stages=4 supertile=16
extern "C" __global__ void __launch_bounds__(384, 1) k0_H(
    const __grid_constant__ te_map X_map_map,
    const __grid_constant__ te_map G_map_map,
    const __grid_constant__ te_map U_map_map,
    const __grid_constant__ te_map H_map_map,
    const te_bf16 *__restrict__ X,
    const te_bf16 *__restrict__ G,
    const te_bf16 *__restrict__ U,
    te_bf16 *__restrict__ H) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    extern __shared__ unsigned char te_shared[];
    const te_u32 te_base = (te_address(te_shared) + 1023) & ~1023u;
    const te_u32 X_tile_tiles = te_base;
    const te_u32 G_tile_tiles = te_base + 65536;
    const te_u32 U_tile_tiles = te_base + 131072;
    const te_u32 out_tile_tiles = te_base + 196608;
    const te_u32 outer_full_signal = te_base + 229376;
    const te_u32 outer_empty_signal = te_base + 229408;
    if (threadIdx.x == 0) {
        for (int n = 0; n < 4; ++n) te_barrier(outer_full_signal + 8 * n, 1);
        for (int n = 0; n < 4; ++n) te_barrier(outer_empty_signal + 8 * n, 8);
        te_barriers_ready();
        te_prefetch(X_map_map);
        te_prefetch(G_map_map);
        te_prefetch(U_map_map);
        te_prefetch(H_map_map);
    }
    __syncthreads();
    if (te_warpgroup < 1) {  // producer
        te_fewer_registers<40>();
        const int te_group = te_warpgroup;
        if (te_group == 0 && te_thread == 0) {
            int outer_slot = 0;
            int outer_phase = 1;
            const int rounds = ((-te_block + te_blocks + 511) / te_blocks);
#pragma unroll 1
            for (int round = 0; round < rounds; round++) {
                const int tile = (te_block + (round * te_blocks));
                const int batch = (tile / 512);
                const int inner = (tile % 512);
                const int band = (inner / 512);
                const int rest = (inner % 512);
                const int here = te_min_int(16, (-16*band + 16));
                const int column_tile = (rest / here);
                const int turn = (rest % here);
                const int i0 = (2048*band + 128*turn);
#pragma unroll 1
                for (int step = 0; step < 16; step++) {
                    const int k0 = (-64*step + 960);
                    te_await(outer_empty_signal + outer_slot * 8, outer_phase);
                    te_expect(outer_full_signal + outer_slot * 8, 49152);
                    te_copy_in(X_tile_tiles + outer_slot * 16384, X_map_map, outer_full_signal + outer_slot * 8, k0, i0);
                    te_copy_in(G_tile_tiles + outer_slot * 16384, G_map_map, outer_full_signal + outer_slot * 8, 128*column_tile, k0);
                    te_copy_in(G_tile_tiles + outer_slot * 16384 + 8192, G_map_map, outer_full_signal + outer_slot * 8, 128*column_tile + 64, k0);
                    te_copy_in(U_tile_tiles + outer_slot * 16384, U_map_map, outer_full_signal + outer_slot * 8, 128*column_tile, k0);
                    te_copy_in(U_tile_tiles + outer_slot * 16384 + 8192, U_map_map, outer_full_signal + outer_slot * 8, 128*column_tile + 64, k0);
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
        float acc[64];
        float acc_1[64];
        int outer_slot_1 = 0;
        int outer_phase_1 = 0;
        const int rounds_1 = ((-te_block + te_blocks + 511) / te_blocks);
#pragma unroll 1
        for (int round_1 = 0; round_1 < rounds_1; round_1++) {
            const int tile_1 = (te_block + (round_1 * te_blocks));
            const int batch_1 = (tile_1 / 512);
            const int inner_1 = (tile_1 % 512);
            const int band_1 = (inner_1 / 512);
            const int rest_1 = (inner_1 % 512);
            const int here_1 = te_min_int(16, (-16*band_1 + 16));
            const int column_tile_1 = (rest_1 / here_1);
            const int turn_1 = (rest_1 % here_1);
            const int i0_1 = (2048*band_1 + 128*turn_1);
            const int row = (i0_1 + row_offset);
            int before = 0;
#pragma unroll 1
            for (int step_1 = 0; step_1 < 16; step_1++) {
                te_await(outer_full_signal + outer_slot_1 * 8, outer_phase_1);
                te_mma_fence();
                {
                    const te_u64 te_a = te_tile(X_tile_tiles + outer_slot_1 * 16384 + 64*te_group * 128, 16);
                    const te_u64 te_b = te_tile(G_tile_tiles + outer_slot_1 * 16384, 8192);
                    const int te_keep = !(step_1 == 0);
                    te_mma_bf16_128_k_mn(acc, te_a, te_b, te_keep);
                    te_mma_bf16_128_k_mn(acc, te_a + 2, te_b + 128, 1);
                    te_mma_bf16_128_k_mn(acc, te_a + 4, te_b + 256, 1);
                    te_mma_bf16_128_k_mn(acc, te_a + 6, te_b + 384, 1);
                }
                {
                    const te_u64 te_a = te_tile(X_tile_tiles + outer_slot_1 * 16384 + 64*te_group * 128, 16);
                    const te_u64 te_b = te_tile(U_tile_tiles + outer_slot_1 * 16384, 8192);
                    const int te_keep = !(step_1 == 0);
                    te_mma_bf16_128_k_mn(acc_1, te_a, te_b, te_keep);
                    te_mma_bf16_128_k_mn(acc_1, te_a + 2, te_b + 128, 1);
                    te_mma_bf16_128_k_mn(acc_1, te_a + 4, te_b + 256, 1);
                    te_mma_bf16_128_k_mn(acc_1, te_a + 6, te_b + 384, 1);
                }
                te_mma_commit();
                te_mma_wait<1>();
                if (0 < step_1) {
                    if ((te_thread & 31) == 0) te_arrive(outer_empty_signal + before * 8);
                }
                before = outer_slot_1;
                const bool last_1 = (outer_slot_1 == 3);
                outer_phase_1 = (last_1 ? (1 + (-outer_phase_1)) : outer_phase_1);
                outer_slot_1 = (last_1 ? 0 : (outer_slot_1 + 1));
            }
            te_mma_wait<0>();
            te_pin(acc);
            te_pin(acc_1);
            if ((te_thread & 31) == 0) te_arrive(outer_empty_signal + before * 8);
            const int column = (128*column_tile_1 + 2*pair);
            const float t = ((-0.0f) * 1.4426950408889634f);
#pragma unroll
            for (int j = 0; j < 16; j++) {
                acc[4*j] = ((acc[4*j] * te_recip((te_exp2(fmaf(acc[4*j], (-1.4426950408889634f), t)) + 1.0f))) * acc_1[4*j]);
                acc[4*j + 1] = ((acc[4*j + 1] * te_recip((te_exp2(fmaf(acc[4*j + 1], (-1.4426950408889634f), t)) + 1.0f))) * acc_1[4*j + 1]);
                acc[4*j + 2] = ((acc[4*j + 2] * te_recip((te_exp2(fmaf(acc[4*j + 2], (-1.4426950408889634f), t)) + 1.0f))) * acc_1[4*j + 2]);
                acc[4*j + 3] = ((acc[4*j + 3] * te_recip((te_exp2(fmaf(acc[4*j + 3], (-1.4426950408889634f), t)) + 1.0f))) * acc_1[4*j + 3]);
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
                te_copy_out(H_map_map, out_tile_tiles + 2*te_group * 8192, 128*column_tile_1, i0_1 + 64*te_group);
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
                te_copy_out(H_map_map, out_tile_tiles + (2*te_group + 1) * 8192, 128*column_tile_1 + 64, i0_1 + 64*te_group);
                te_copy_commit();
            }
            __syncwarp();
        }
        if (te_thread == 0) {
            te_copy_drain<0>();
        }
    }
}
