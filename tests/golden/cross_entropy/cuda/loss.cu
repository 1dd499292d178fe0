// blocks: one per tile, tiles: 16
// threads: 256, bytes of shared memory: 0, counters: 0
// loss[i0] = pass[i1_share](loss_share[i1_share, i0], select(loss_share[i1_share, i0] == -inf, 0.0,
//     exp(statistic("at") - -loss_share[i1_share, i0]) * loss_share_2[i1_share, i0])).c0 +
//     log(pass[i1_share](loss_share[i1_share, i0], select(loss_share[i1_share, i0] == -inf, 0.0,
//     exp(statistic("at") - -loss_share[i1_share, i0]) * loss_share_2[i1_share, i0])).c1) - loss_part[i0]
// schedule: split fold=i1_share:lanes:4 grid=i0
extern "C" __global__ void __launch_bounds__(256, 1) k2_loss(
    const float *__restrict__ loss_share,
    const float *__restrict__ loss_share_2,
    const float *__restrict__ loss_part,
    float *__restrict__ loss) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    for (int point = 0 + 1 * te_grid_place(); point < 4096; point += 1 * te_grid_size()) {
        const int i0 = point;
        float c0[1];
        c0[0] = (-__int_as_float(0x7f800000));
        float c1[1];
        c1[0] = 0.0f;
        for (int i1_share = 0; i1_share < 4; i1_share += 4) {
            float c0_tile[1];
            c0_tile[0] = (-__int_as_float(0x7f800000));
            float c0_tile_lanes[4];
#pragma unroll
            for (int i1_share_lane_e = 0; i1_share_lane_e < 4; i1_share_lane_e++) {
                c0_tile_lanes[i1_share_lane_e] = (-__int_as_float(0x7f800000));
            }
#pragma unroll
            for (int i1_share_e = 0; i1_share_e < 4; i1_share_e++) {
                c0_tile_lanes[i1_share_e] = te_max_f32(c0_tile_lanes[i1_share_e], loss_share[i0 + 4096*i1_share + 4096*i1_share_e]);
            }
            c0_tile[0] = te_max_f32(c0_tile[0], te_max_f32(te_max_f32(c0_tile_lanes[0], c0_tile_lanes[1]), te_max_f32(c0_tile_lanes[2], c0_tile_lanes[3])));
            float c0_new[1];
            c0_new[0] = te_max_f32(c0[0], c0_tile[0]);
            const float t = c0[0];
            const float t_1 = (-t);
            const float t_2 = (-c0_new[0]);
            const float t_3 = c1[0];
            c1[0] = ((t_1 == t_2) ? t_3 : ((t == (-__int_as_float(0x7f800000))) ? 0.0f : (expf((t_2 + (-t_1))) * t_3)));
            float c1_lanes[4];
#pragma unroll
            for (int i1_share_lane_e_1 = 0; i1_share_lane_e_1 < 4; i1_share_lane_e_1++) {
                c1_lanes[i1_share_lane_e_1] = 0.0f;
            }
#pragma unroll
            for (int i1_share_e_1 = 0; i1_share_e_1 < 4; i1_share_e_1++) {
                const float t_4 = loss_share[i0 + 4096*i1_share + 4096*i1_share_e_1];
                c1_lanes[i1_share_e_1] = (c1_lanes[i1_share_e_1] + ((t_4 == (-__int_as_float(0x7f800000))) ? 0.0f : (expf((t_2 + (-(-t_4)))) * loss_share_2[i0 + 4096*i1_share + 4096*i1_share_e_1])));
            }
            c1[0] = (c1[0] + ((c1_lanes[0] + c1_lanes[1]) + (c1_lanes[2] + c1_lanes[3])));
            c0[0] = c0_new[0];
        }
        loss[i0] = ((c0[0] + logf(c1[0])) + (-loss_part[i0]));
    }
}
