// blocks: as many as the chip holds, tiles: 1024
// threads: 384, bytes of shared memory: 230464, counters: 0
// map X_map: boxes of 128 x 64 of X as 8192 x 1024
// map W_map: boxes of 64 x 64 of W as 1024 x 4096
// map Y_map: boxes of 64 x 64 of Y as 8192 x 4096
// Y[i0, i1] = (sum[i2](X[i0, i2] * W[i2, i1]) + b[i1]) * 0.5 * (erf((sum[i2](X[i0, i2] * W[i2, i1]) + b[i1]) *
//     0.7071067811865476) + 1.0)
// schedule: mma tile=i0:128,i1:256 fold=i2:stream:64 consumers=2 stages=4 supertile=16
extern "C" __global__ void __launch_bounds__(384, 1) k0_Y(
    const __grid_constant__ te_map X_map_map,
    const __grid_constant__ te_map W_map_map,
    const __grid_constant__ te_map Y_map_map,
    const te_bf16 *__restrict__ X,
    const te_bf16 *__restrict__ W,
    const te_bf16 *__restrict__ b,
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
            const int rounds = ((-te_block + te_blocks + 1023) / te_blocks);
#pragma unroll 1
            for (int round = 0; round < rounds; round++) {
                const int tile = (te_block + (round * te_blocks));
                const int batch = (tile / 1024);
                const int inner = (tile % 1024);
                const int band = (inner / 256);
                const int rest = (inner % 256);
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
        int outer_slot_1 = 0;
        int outer_phase_1 = 0;
        const int rounds_1 = ((-te_block + te_blocks + 1023) / te_blocks);
#pragma unroll 1
        for (int round_1 = 0; round_1 < rounds_1; round_1++) {
            const int tile_1 = (te_block + (round_1 * te_blocks));
            const int batch_1 = (tile_1 / 1024);
            const int inner_1 = (tile_1 % 1024);
            const int band_1 = (inner_1 / 256);
            const int rest_1 = (inner_1 % 256);
            const int here_1 = te_min_int(16, (-16*band_1 + 64));
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
                    const te_u64 te_b = te_tile(W_tile_tiles + outer_slot_1 * 32768, 8192);
                    const int te_keep = !(step_1 == 0);
                    te_mma_bf16_256_k_mn(acc, te_a, te_b, te_keep);
                    te_mma_bf16_256_k_mn(acc, te_a + 2, te_b + 128, 1);
                    te_mma_bf16_256_k_mn(acc, te_a + 4, te_b + 256, 1);
                    te_mma_bf16_256_k_mn(acc, te_a + 6, te_b + 384, 1);
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
            if ((te_thread & 31) == 0) te_arrive(outer_empty_signal + before * 8);
            const int column = (256*column_tile_1 + 2*pair);
#pragma unroll
            for (int j = 0; j < 32; j++) {
                const float t = te_of_bf16(b[column + 8*j]);
                acc[4*j] = (((acc[4*j] + t) * 0.5f) * te_quick_one_plus_erf(((acc[4*j] + t) * 0.7071067811865476f)));
                const float t_1 = te_of_bf16(b[column + 8*j + 1]);
                acc[4*j + 1] = (((acc[4*j + 1] + t_1) * 0.5f) * te_quick_one_plus_erf(((acc[4*j + 1] + t_1) * 0.7071067811865476f)));
                acc[4*j + 2] = (((acc[4*j + 2] + t) * 0.5f) * te_quick_one_plus_erf(((acc[4*j + 2] + t) * 0.7071067811865476f)));
                acc[4*j + 3] = (((acc[4*j + 3] + t_1) * 0.5f) * te_quick_one_plus_erf(((acc[4*j + 3] + t_1) * 0.7071067811865476f)));
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
