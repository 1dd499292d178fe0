// blocks: one per tile, tiles: 512
// threads: 256, bytes of shared memory: 0, counters: 0
// Y[i0, i2] = sum[i1](X[i1, i2], where=(sum[i3](1, where=cast(key[i3], i64) < i0) <= i1, i1 < sum[i3](1,
//     where=cast(key[i3], i64) <= i0)))
// schedule: split tile=i2:2 fold=i1:warp,i3:warp:4 grid=i0 warp=i2 team=8
extern "C" __global__ void __launch_bounds__(256, 1) k0_Y(
    const int *__restrict__ key,
    const float *__restrict__ X,
    float *__restrict__ Y) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const int lane = te_whole_mod(te_thread, 32);
    const int seat = (128*te_group + te_thread);
    const int warp = te_whole_div(seat, 32);
    const int i0 = te_block;
    long long acc_2[1];
    acc_2[0] = 0LL;
    long long i3_count[1];
    i3_count[0] = 0LL;
    for (int i3_step = 0; i3_step < 13; i3_step++) {
        const long long i3_probe = te_add_i64(i3_count[0], te_shl_i64(1LL, te_add_i64(12LL, te_mul_i64((-1LL), ((long long)i3_step)))));
        if (i3_probe <= 4096) {
            const long long i3_last = te_add_i64(i3_probe, (-1LL));
            if (((long long)key[i3_last]) < i0) {
                i3_count[0] = i3_probe;
            }
        }
    }
    const long long i3_hi = te_max_i64(te_min_i64(4096LL, i3_count[0]), 0LL);
    long long acc_3[4];
#pragma unroll
    for (int i3_lane_e = 0; i3_lane_e < 4; i3_lane_e++) {
        acc_3[i3_lane_e] = 0LL;
    }
    for (int i3 = 4*seat; i3 < i3_hi; i3 += 1024) {
#pragma unroll
        for (int i3_e = 0; i3_e < 4; i3_e++) {
            const long long t = acc_3[i3_e];
            acc_3[i3_e] = ((0 <= (-i3 - i3_e + i3_hi - 1)) ? te_add_i64(t, 1LL) : t);
        }
    }
    acc_2[0] = te_add_i64(acc_2[0], te_add_i64(te_add_i64(acc_3[0], acc_3[1]), te_add_i64(acc_3[2], acc_3[3])));
    long long acc_2_upper[1];
    const long long t_1 = acc_2[0];
    const long long t_2 = __shfl_xor_sync(~0u, t_1, 16);
    acc_2_upper[0] = t_2;
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper[0]);
    long long acc_2_upper_1[1];
    const long long t_3 = acc_2[0];
    const long long t_4 = __shfl_xor_sync(~0u, t_3, 8);
    acc_2_upper_1[0] = t_4;
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_1[0]);
    long long acc_2_upper_2[1];
    const long long t_5 = acc_2[0];
    const long long t_6 = __shfl_xor_sync(~0u, t_5, 4);
    acc_2_upper_2[0] = t_6;
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_2[0]);
    long long acc_2_upper_3[1];
    const long long t_7 = acc_2[0];
    const long long t_8 = __shfl_xor_sync(~0u, t_7, 2);
    acc_2_upper_3[0] = t_8;
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_3[0]);
    long long acc_2_upper_4[1];
    const long long t_9 = acc_2[0];
    const long long t_10 = __shfl_xor_sync(~0u, t_9, 1);
    acc_2_upper_4[0] = t_10;
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_4[0]);
    __shared__ alignas(16) long long acc_2_shared[8];
    if (lane == 0) {
        acc_2_shared[warp] = acc_2[0];
    }
    __syncthreads();
    const int mine = te_whole_mod(lane, 8);
    acc_2[0] = acc_2_shared[mine];
    long long acc_2_upper_5[1];
    const long long t_11 = acc_2[0];
    const long long t_12 = __shfl_xor_sync(~0u, t_11, 4);
    acc_2_upper_5[0] = t_12;
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_5[0]);
    long long acc_2_upper_6[1];
    const long long t_13 = acc_2[0];
    const long long t_14 = __shfl_xor_sync(~0u, t_13, 2);
    acc_2_upper_6[0] = t_14;
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_6[0]);
    long long acc_2_upper_7[1];
    const long long t_15 = acc_2[0];
    const long long t_16 = __shfl_xor_sync(~0u, t_15, 1);
    acc_2_upper_7[0] = t_16;
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_7[0]);
    long long acc_4[1];
    acc_4[0] = 0LL;
    long long i3_count_1[1];
    i3_count_1[0] = 0LL;
    for (int i3_step_1 = 0; i3_step_1 < 13; i3_step_1++) {
        const long long i3_probe_1 = te_add_i64(i3_count_1[0], te_shl_i64(1LL, te_add_i64(12LL, te_mul_i64((-1LL), ((long long)i3_step_1)))));
        if (i3_probe_1 <= 4096) {
            const long long i3_last_1 = te_add_i64(i3_probe_1, (-1LL));
            if (((long long)key[i3_last_1]) <= i0) {
                i3_count_1[0] = i3_probe_1;
            }
        }
    }
    const long long i3_hi_1 = te_max_i64(te_min_i64(4096LL, i3_count_1[0]), 0LL);
    long long acc_5[4];
#pragma unroll
    for (int i3_lane_e_1 = 0; i3_lane_e_1 < 4; i3_lane_e_1++) {
        acc_5[i3_lane_e_1] = 0LL;
    }
    for (int i3_1 = 4*seat; i3_1 < i3_hi_1; i3_1 += 1024) {
#pragma unroll
        for (int i3_e_1 = 0; i3_e_1 < 4; i3_e_1++) {
            const long long t_17 = acc_5[i3_e_1];
            acc_5[i3_e_1] = ((0 <= (-i3_1 - i3_e_1 + i3_hi_1 - 1)) ? te_add_i64(t_17, 1LL) : t_17);
        }
    }
    acc_4[0] = te_add_i64(acc_4[0], te_add_i64(te_add_i64(acc_5[0], acc_5[1]), te_add_i64(acc_5[2], acc_5[3])));
    long long acc_4_upper[1];
    const long long t_18 = acc_4[0];
    const long long t_19 = __shfl_xor_sync(~0u, t_18, 16);
    acc_4_upper[0] = t_19;
    acc_4[0] = te_add_i64(acc_4[0], acc_4_upper[0]);
    long long acc_4_upper_1[1];
    const long long t_20 = acc_4[0];
    const long long t_21 = __shfl_xor_sync(~0u, t_20, 8);
    acc_4_upper_1[0] = t_21;
    acc_4[0] = te_add_i64(acc_4[0], acc_4_upper_1[0]);
    long long acc_4_upper_2[1];
    const long long t_22 = acc_4[0];
    const long long t_23 = __shfl_xor_sync(~0u, t_22, 4);
    acc_4_upper_2[0] = t_23;
    acc_4[0] = te_add_i64(acc_4[0], acc_4_upper_2[0]);
    long long acc_4_upper_3[1];
    const long long t_24 = acc_4[0];
    const long long t_25 = __shfl_xor_sync(~0u, t_24, 2);
    acc_4_upper_3[0] = t_25;
    acc_4[0] = te_add_i64(acc_4[0], acc_4_upper_3[0]);
    long long acc_4_upper_4[1];
    const long long t_26 = acc_4[0];
    const long long t_27 = __shfl_xor_sync(~0u, t_26, 1);
    acc_4_upper_4[0] = t_27;
    acc_4[0] = te_add_i64(acc_4[0], acc_4_upper_4[0]);
    __shared__ alignas(16) long long acc_4_shared[8];
    if (lane == 0) {
        acc_4_shared[warp] = acc_4[0];
    }
    __syncthreads();
    const int mine_1 = te_whole_mod(lane, 8);
    acc_4[0] = acc_4_shared[mine_1];
    long long acc_4_upper_5[1];
    const long long t_28 = acc_4[0];
    const long long t_29 = __shfl_xor_sync(~0u, t_28, 4);
    acc_4_upper_5[0] = t_29;
    acc_4[0] = te_add_i64(acc_4[0], acc_4_upper_5[0]);
    long long acc_4_upper_6[1];
    const long long t_30 = acc_4[0];
    const long long t_31 = __shfl_xor_sync(~0u, t_30, 2);
    acc_4_upper_6[0] = t_31;
    acc_4[0] = te_add_i64(acc_4[0], acc_4_upper_6[0]);
    long long acc_4_upper_7[1];
    const long long t_32 = acc_4[0];
    const long long t_33 = __shfl_xor_sync(~0u, t_32, 1);
    acc_4_upper_7[0] = t_33;
    acc_4[0] = te_add_i64(acc_4[0], acc_4_upper_7[0]);
#pragma unroll 1
    for (int i2 = 2*seat; i2 < 64; i2 += 512) {
        float acc[2];
        float acc_1[2];
#pragma unroll
        for (int i2_e = 0; i2_e < 2; i2_e++) {
            acc_1[i2_e] = 0.0f;
        }
        const long long i1_lo = te_max_i64(0LL, te_min_i64(te_max_i64(acc_2[0], 0LL), 4096LL));
        const long long i1_hi = te_max_i64(te_min_i64(4096LL, te_min_i64(te_max_i64(acc_4[0], 0LL), 4096LL)), i1_lo);
#pragma unroll 4
        for (int i1 = i1_lo; i1 < i1_hi; i1++) {
            float te_run0[2];
            te_read_run<2, true>(te_run0, X + (64*i1 + i2));
#pragma unroll
            for (int i2_e_1 = 0; i2_e_1 < 2; i2_e_1++) {
                acc_1[i2_e_1] = (acc_1[i2_e_1] + te_run0[i2_e_1]);
            }
        }
#pragma unroll
        for (int i2_e_2 = 0; i2_e_2 < 2; i2_e_2++) {
            acc[i2_e_2] = acc_1[i2_e_2];
        }
        float te_run1[2];
#pragma unroll
        for (int i2_e_3 = 0; i2_e_3 < 2; i2_e_3++) {
            te_run1[i2_e_3] = acc[i2_e_3];
        }
        te_write_run<2, true>(Y + (64*i0 + i2), te_run1);
    }
}
