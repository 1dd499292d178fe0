// blocks: one per tile, tiles: 1
// threads: 256, bytes of shared memory: 0, counters: 0
// O[i0, i1, i2, i5] = recip(pass[i3_share](O_share[i3_share, i0, i1, i2], select(O_share[i3_share, i0, i1, i2]
//     == -inf, 0.0, exp(statistic("at") - -O_share[i3_share, i0, i1, i2]) * O_share_2[i3_share, i0, i1, i2]),
//     select(O_share[i3_share, i0, i1, i2] == -inf, 0.0, exp(statistic("at") - -O_share[i3_share, i0, i1, i2]) *
//     O_share_3[i3_share, i0, i1, i2, i5])).c1) * pass[i3_share](O_share[i3_share, i0, i1, i2],
//     select(O_share[i3_share, i0, i1, i2] == -inf, 0.0, exp(statistic("at") - -O_share[i3_share, i0, i1, i2]) *
//     O_share_2[i3_share, i0, i1, i2]), select(O_share[i3_share, i0, i1, i2] == -inf, 0.0, exp(statistic("at") -
//     -O_share[i3_share, i0, i1, i2]) * O_share_3[i3_share, i0, i1, i2, i5])).c2
// schedule: point tile=i5:* grid=i0,i1,i2
extern "C" __global__ void __launch_bounds__(256, 1) k1_O(
    const float *__restrict__ O_share,
    const float *__restrict__ O_share_2,
    const float *__restrict__ O_share_3,
    te_bf16 *__restrict__ O) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    for (int point = 0 + 1 * te_grid_place(); point < 4; point += 1 * te_grid_size()) {
        const int i2 = 0;
        const int i1 = (point % 4);
        const int i0 = 0;
        float c0[1];
        c0[0] = (-__int_as_float(0x7f800000));
        float c1[1];
        c1[0] = 0.0f;
        float c2[128];
        for (int i5_e = 0; i5_e < 128; i5_e++) {
            c2[i5_e] = 0.0f;
        }
        for (int i3_share = 0; i3_share < 32; i3_share++) {
            float c0_new[1];
            c0_new[0] = te_max_f32(c0[0], O_share[4*i0 + i1 + i2 + 4*i3_share]);
            const float t = c0[0];
            const float t_1 = (-t);
            const float t_2 = (-c0_new[0]);
            const float t_3 = c1[0];
            c1[0] = ((t_1 == t_2) ? t_3 : ((t == (-__int_as_float(0x7f800000))) ? 0.0f : (expf((t_2 + (-t_1))) * t_3)));
            const bool t_4 = (t_1 == t_2);
            const bool t_6 = (t == (-__int_as_float(0x7f800000)));
            const float t_7 = expf((t_2 + (-t_1)));
            for (int i5_e_1 = 0; i5_e_1 < 128; i5_e_1++) {
                const float t_5 = c2[i5_e_1];
                c2[i5_e_1] = (t_4 ? t_5 : (t_6 ? 0.0f : (t_7 * t_5)));
            }
            const float t_8 = O_share[4*i0 + i1 + i2 + 4*i3_share];
            c1[0] = (c1[0] + ((t_8 == (-__int_as_float(0x7f800000))) ? 0.0f : (expf((t_2 + (-(-t_8)))) * O_share_2[4*i0 + i1 + i2 + 4*i3_share])));
            const bool t_9 = (t_8 == (-__int_as_float(0x7f800000)));
            const float t_10 = expf((t_2 + (-(-t_8))));
            for (int i5_e_2 = 0; i5_e_2 < 128; i5_e_2++) {
                c2[i5_e_2] = (c2[i5_e_2] + (t_9 ? 0.0f : (t_10 * O_share_3[512*i0 + 128*i1 + 128*i2 + 512*i3_share + i5_e_2])));
            }
            c0[0] = c0_new[0];
        }
        const float t_11 = (1.0f / c1[0]);
        for (int i5_e_3 = 0; i5_e_3 < 128; i5_e_3++) {
            O[512*i0 + 128*i1 + 128*i2 + i5_e_3] = te_to_bf16((t_11 * c2[i5_e_3]));
        }
    }
}
