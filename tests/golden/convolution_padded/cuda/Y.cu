// blocks: one per tile, tiles: 128
// threads: 256, bytes of shared memory: 0, counters: 0
// Y[i0, i1, i2, i3] = sum[i4, i5, i6](X[i0, i4, i2 + i5 - 1, i3 + i6 - 1] * W[i1, i4, i5, i6], where=(1 <= i2 +
//     i5, 1 <= i3 + i6, i2 + i5 <= 64, i3 + i6 <= 64))
// schedule: tile tile=i2:8 grid=i0,i1,i2,i3
extern "C" __global__ void __launch_bounds__(256, 1) k0_Y(
    const float *__restrict__ X,
    const float *__restrict__ W,
    float *__restrict__ Y) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    for (int point = 0 + 1 * te_grid_place(); point < 131072; point += 1 * te_grid_size()) {
        const int i3 = te_whole_mod(point, 64);
        const int i2 = (te_whole_mod(te_whole_div(point, 64), 8) * 8);
        const int i1 = te_whole_mod(te_whole_div(point, 512), 32);
        const int i0 = te_whole_div(point, 16384);
        float acc[8];
        float acc_1[8];
#pragma unroll
        for (int i2_e = 0; i2_e < 8; i2_e++) {
            acc_1[i2_e] = 0.0f;
        }
        for (int i4 = 0; i4 < 16; i4++) {
            const int i5_lo = te_max_int(0, (-i2 - 6));
            const int i5_hi = te_min_int(3, (-i2 + 65));
            const int i5_firm = te_max_int(te_min_int(te_max_int(te_max_int(0, (-i2 + 1)), (-i2 - 6)), i5_hi), i5_lo);
            for (int i5 = i5_lo; i5 < i5_firm; i5++) {
                const int i6_lo = te_max_int(0, (-i3 + 1));
                const int i6_hi = te_min_int(3, (-i3 + 65));
                for (int i6 = i6_lo; i6 < i6_hi; i6++) {
#pragma unroll
                    for (int i2_e_1 = 0; i2_e_1 < 8; i2_e_1++) {
                        const float t = acc_1[i2_e_1];
                        acc_1[i2_e_1] = ((0 <= (i2 + i2_e_1 + i5 - 1)) ? ((0 <= (-i2 - i2_e_1 - i5 + 64)) ? (t + (X[65536*i0 + 64*i2 + 64*i2_e_1 + i3 + 4096*i4 + 64*i5 + i6 - 65] * W[144*i1 + 9*i4 + 3*i5 + i6])) : t) : t);
                    }
                }
            }
            const int i5_sure = te_max_int(te_min_int(te_min_int(3, (-i2 + 58)), (-i2 + 65)), i5_firm);
            for (int i5_1 = i5_firm; i5_1 < i5_sure; i5_1++) {
                const int i6_lo_1 = te_max_int(0, (-i3 + 1));
                const int i6_hi_1 = te_min_int(3, (-i3 + 65));
                for (int i6_1 = i6_lo_1; i6_1 < i6_hi_1; i6_1++) {
#pragma unroll
                    for (int i2_e_2 = 0; i2_e_2 < 8; i2_e_2++) {
                        acc_1[i2_e_2] = (acc_1[i2_e_2] + (X[65536*i0 + 64*i2 + 64*i2_e_2 + i3 + 4096*i4 + 64*i5_1 + i6_1 - 65] * W[144*i1 + 9*i4 + 3*i5_1 + i6_1]));
                    }
                }
            }
            for (int i5_2 = i5_sure; i5_2 < i5_hi; i5_2++) {
                const int i6_lo_2 = te_max_int(0, (-i3 + 1));
                const int i6_hi_2 = te_min_int(3, (-i3 + 65));
                for (int i6_2 = i6_lo_2; i6_2 < i6_hi_2; i6_2++) {
#pragma unroll
                    for (int i2_e_3 = 0; i2_e_3 < 8; i2_e_3++) {
                        const float t_1 = acc_1[i2_e_3];
                        acc_1[i2_e_3] = ((0 <= (i2 + i2_e_3 + i5_2 - 1)) ? ((0 <= (-i2 - i2_e_3 - i5_2 + 64)) ? (t_1 + (X[65536*i0 + 64*i2 + 64*i2_e_3 + i3 + 4096*i4 + 64*i5_2 + i6_2 - 65] * W[144*i1 + 9*i4 + 3*i5_2 + i6_2])) : t_1) : t_1);
                    }
                }
            }
        }
#pragma unroll
        for (int i2_e_4 = 0; i2_e_4 < 8; i2_e_4++) {
            acc[i2_e_4] = acc_1[i2_e_4];
        }
#pragma unroll
        for (int i2_e_5 = 0; i2_e_5 < 8; i2_e_5++) {
            Y[131072*i0 + 4096*i1 + 64*i2 + 64*i2_e_5 + i3] = acc[i2_e_5];
        }
    }
}
