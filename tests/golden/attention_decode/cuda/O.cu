// blocks: one per tile, tiles: 2
// threads: 256, bytes of shared memory: 0, counters: 0
// O[i0, i1, i2, i5] = recip(pass[i3_share](O_share[i3_share, i0, i1, i2], select(O_share[i3_share, i0, i1, i2]
//     == -inf, 0.0, exp(statistic("at") - -O_share[i3_share, i0, i1, i2]) * O_share_2[i3_share, i0, i1, i2]),
//     select(O_share[i3_share, i0, i1, i2] == -inf, 0.0, exp(statistic("at") - -O_share[i3_share, i0, i1, i2]) *
//     O_share_3[i3_share, i0, i1, i2, i5])).c1) * pass[i3_share](O_share[i3_share, i0, i1, i2],
//     select(O_share[i3_share, i0, i1, i2] == -inf, 0.0, exp(statistic("at") - -O_share[i3_share, i0, i1, i2]) *
//     O_share_2[i3_share, i0, i1, i2]), select(O_share[i3_share, i0, i1, i2] == -inf, 0.0, exp(statistic("at") -
//     -O_share[i3_share, i0, i1, i2]) * O_share_3[i3_share, i0, i1, i2, i5])).c2
// schedule: point grid=i0,i1,i2,i5
extern "C" __global__ void __launch_bounds__(256, 1) k1_O(
    const float *__restrict__ O_share,
    const float *__restrict__ O_share_2,
    const float *__restrict__ O_share_3,
    te_bf16 *__restrict__ O) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    for (int point = 0 + 1 * te_grid_place(); point < 512; point += 1 * te_grid_size()) {
        const int i5 = te_whole_mod(point, 128);
        const int i2 = 0;
        const int i1 = te_whole_mod(te_whole_div(point, 128), 4);
        const int i0 = 0;
        float c0[1];
        c0[0] = (-__int_as_float(0x7f800000));
        float c1[1];
        c1[0] = 0.0f;
        float c2[1];
        c2[0] = 0.0f;
        for (int i3_share = 0; i3_share < 32; i3_share++) {
            float c0_new[1];
            c0_new[0] = te_max_f32(c0[0], O_share[4*i0 + i1 + i2 + 4*i3_share]);
            const float t = c0[0];
            const float t_1 = (-t);
            const float t_2 = (-c0_new[0]);
            const float t_3 = c1[0];
            c1[0] = ((t_1 == t_2) ? t_3 : ((t == (-__int_as_float(0x7f800000))) ? 0.0f : (te_quick_exp((t_2 + (-t_1))) * t_3)));
            const float t_4 = c2[0];
            c2[0] = ((t_1 == t_2) ? t_4 : ((t == (-__int_as_float(0x7f800000))) ? 0.0f : (te_quick_exp((t_2 + (-t_1))) * t_4)));
            const float t_5 = O_share[4*i0 + i1 + i2 + 4*i3_share];
            c1[0] = (c1[0] + ((t_5 == (-__int_as_float(0x7f800000))) ? 0.0f : (te_quick_exp((t_2 + (-(-t_5)))) * O_share_2[4*i0 + i1 + i2 + 4*i3_share])));
            c2[0] = (c2[0] + ((t_5 == (-__int_as_float(0x7f800000))) ? 0.0f : (te_quick_exp((t_2 + (-(-t_5)))) * O_share_3[512*i0 + 128*i1 + 128*i2 + 512*i3_share + i5])));
            c0[0] = c0_new[0];
        }
        O[512*i0 + 128*i1 + 128*i2 + i5] = te_to_bf16((te_quick_recip(c1[0]) * c2[0]));
    }
}
