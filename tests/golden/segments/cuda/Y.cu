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
    const int lane = (te_thread % 32);
    const int seat = (128*te_group + te_thread);
    const int warp = (seat / 32);
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
    for (int i3 = 4*seat; i3 < i3_hi; i3 += 1024) {
        long long acc_2_lanes[4];
#pragma unroll
        for (int i3_lane_e = 0; i3_lane_e < 4; i3_lane_e++) {
            acc_2_lanes[i3_lane_e] = 0LL;
        }
#pragma unroll
        for (int i3_e = 0; i3_e < 4; i3_e++) {
            const long long t = acc_2_lanes[i3_e];
            acc_2_lanes[i3_e] = ((0 <= (-i3 - i3_e + i3_hi - 1)) ? te_add_i64(t, 1LL) : t);
        }
        acc_2[0] = te_add_i64(acc_2[0], te_add_i64(te_add_i64(acc_2_lanes[0], acc_2_lanes[1]), te_add_i64(acc_2_lanes[2], acc_2_lanes[3])));
    }
    const bool t_1 = ((lane % 32) < 16);
    long long acc_2_upper[1];
    const long long t_2 = acc_2[0];
    const long long t_3 = __shfl_xor_sync(~0u, t_2, 16);
    acc_2[0] = (t_1 ? t_2 : t_3);
    acc_2_upper[0] = (t_1 ? t_3 : t_2);
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper[0]);
    const bool t_4 = ((lane % 16) < 8);
    long long acc_2_upper_1[1];
    const long long t_5 = acc_2[0];
    const long long t_6 = __shfl_xor_sync(~0u, t_5, 8);
    acc_2[0] = (t_4 ? t_5 : t_6);
    acc_2_upper_1[0] = (t_4 ? t_6 : t_5);
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_1[0]);
    const bool t_7 = ((lane % 8) < 4);
    long long acc_2_upper_2[1];
    const long long t_8 = acc_2[0];
    const long long t_9 = __shfl_xor_sync(~0u, t_8, 4);
    acc_2[0] = (t_7 ? t_8 : t_9);
    acc_2_upper_2[0] = (t_7 ? t_9 : t_8);
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_2[0]);
    const bool t_10 = ((lane % 4) < 2);
    long long acc_2_upper_3[1];
    const long long t_11 = acc_2[0];
    const long long t_12 = __shfl_xor_sync(~0u, t_11, 2);
    acc_2[0] = (t_10 ? t_11 : t_12);
    acc_2_upper_3[0] = (t_10 ? t_12 : t_11);
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_3[0]);
    const bool t_13 = ((lane % 2) < 1);
    long long acc_2_upper_4[1];
    const long long t_14 = acc_2[0];
    const long long t_15 = __shfl_xor_sync(~0u, t_14, 1);
    acc_2[0] = (t_13 ? t_14 : t_15);
    acc_2_upper_4[0] = (t_13 ? t_15 : t_14);
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_4[0]);
    __syncthreads();
    __shared__ alignas(16) long long acc_2_shared[8];
    if (lane == 0) {
        acc_2_shared[warp] = acc_2[0];
    }
    __syncthreads();
    const int mine = (lane % 8);
    acc_2[0] = acc_2_shared[mine];
    const bool t_16 = ((lane % 8) < 4);
    long long acc_2_upper_5[1];
    const long long t_17 = acc_2[0];
    const long long t_18 = __shfl_xor_sync(~0u, t_17, 4);
    acc_2[0] = (t_16 ? t_17 : t_18);
    acc_2_upper_5[0] = (t_16 ? t_18 : t_17);
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_5[0]);
    const bool t_19 = ((lane % 4) < 2);
    long long acc_2_upper_6[1];
    const long long t_20 = acc_2[0];
    const long long t_21 = __shfl_xor_sync(~0u, t_20, 2);
    acc_2[0] = (t_19 ? t_20 : t_21);
    acc_2_upper_6[0] = (t_19 ? t_21 : t_20);
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_6[0]);
    const bool t_22 = ((lane % 2) < 1);
    long long acc_2_upper_7[1];
    const long long t_23 = acc_2[0];
    const long long t_24 = __shfl_xor_sync(~0u, t_23, 1);
    acc_2[0] = (t_22 ? t_23 : t_24);
    acc_2_upper_7[0] = (t_22 ? t_24 : t_23);
    acc_2[0] = te_add_i64(acc_2[0], acc_2_upper_7[0]);
    long long acc_3[1];
    acc_3[0] = 0LL;
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
    for (int i3_1 = 4*seat; i3_1 < i3_hi_1; i3_1 += 1024) {
        long long acc_3_lanes[4];
#pragma unroll
        for (int i3_lane_e_1 = 0; i3_lane_e_1 < 4; i3_lane_e_1++) {
            acc_3_lanes[i3_lane_e_1] = 0LL;
        }
#pragma unroll
        for (int i3_e_1 = 0; i3_e_1 < 4; i3_e_1++) {
            const long long t_25 = acc_3_lanes[i3_e_1];
            acc_3_lanes[i3_e_1] = ((0 <= (-i3_1 - i3_e_1 + i3_hi_1 - 1)) ? te_add_i64(t_25, 1LL) : t_25);
        }
        acc_3[0] = te_add_i64(acc_3[0], te_add_i64(te_add_i64(acc_3_lanes[0], acc_3_lanes[1]), te_add_i64(acc_3_lanes[2], acc_3_lanes[3])));
    }
    const bool t_26 = ((lane % 32) < 16);
    long long acc_3_upper[1];
    const long long t_27 = acc_3[0];
    const long long t_28 = __shfl_xor_sync(~0u, t_27, 16);
    acc_3[0] = (t_26 ? t_27 : t_28);
    acc_3_upper[0] = (t_26 ? t_28 : t_27);
    acc_3[0] = te_add_i64(acc_3[0], acc_3_upper[0]);
    const bool t_29 = ((lane % 16) < 8);
    long long acc_3_upper_1[1];
    const long long t_30 = acc_3[0];
    const long long t_31 = __shfl_xor_sync(~0u, t_30, 8);
    acc_3[0] = (t_29 ? t_30 : t_31);
    acc_3_upper_1[0] = (t_29 ? t_31 : t_30);
    acc_3[0] = te_add_i64(acc_3[0], acc_3_upper_1[0]);
    const bool t_32 = ((lane % 8) < 4);
    long long acc_3_upper_2[1];
    const long long t_33 = acc_3[0];
    const long long t_34 = __shfl_xor_sync(~0u, t_33, 4);
    acc_3[0] = (t_32 ? t_33 : t_34);
    acc_3_upper_2[0] = (t_32 ? t_34 : t_33);
    acc_3[0] = te_add_i64(acc_3[0], acc_3_upper_2[0]);
    const bool t_35 = ((lane % 4) < 2);
    long long acc_3_upper_3[1];
    const long long t_36 = acc_3[0];
    const long long t_37 = __shfl_xor_sync(~0u, t_36, 2);
    acc_3[0] = (t_35 ? t_36 : t_37);
    acc_3_upper_3[0] = (t_35 ? t_37 : t_36);
    acc_3[0] = te_add_i64(acc_3[0], acc_3_upper_3[0]);
    const bool t_38 = ((lane % 2) < 1);
    long long acc_3_upper_4[1];
    const long long t_39 = acc_3[0];
    const long long t_40 = __shfl_xor_sync(~0u, t_39, 1);
    acc_3[0] = (t_38 ? t_39 : t_40);
    acc_3_upper_4[0] = (t_38 ? t_40 : t_39);
    acc_3[0] = te_add_i64(acc_3[0], acc_3_upper_4[0]);
    __syncthreads();
    __shared__ alignas(16) long long acc_3_shared[8];
    if (lane == 0) {
        acc_3_shared[warp] = acc_3[0];
    }
    __syncthreads();
    const int mine_1 = (lane % 8);
    acc_3[0] = acc_3_shared[mine_1];
    const bool t_41 = ((lane % 8) < 4);
    long long acc_3_upper_5[1];
    const long long t_42 = acc_3[0];
    const long long t_43 = __shfl_xor_sync(~0u, t_42, 4);
    acc_3[0] = (t_41 ? t_42 : t_43);
    acc_3_upper_5[0] = (t_41 ? t_43 : t_42);
    acc_3[0] = te_add_i64(acc_3[0], acc_3_upper_5[0]);
    const bool t_44 = ((lane % 4) < 2);
    long long acc_3_upper_6[1];
    const long long t_45 = acc_3[0];
    const long long t_46 = __shfl_xor_sync(~0u, t_45, 2);
    acc_3[0] = (t_44 ? t_45 : t_46);
    acc_3_upper_6[0] = (t_44 ? t_46 : t_45);
    acc_3[0] = te_add_i64(acc_3[0], acc_3_upper_6[0]);
    const bool t_47 = ((lane % 2) < 1);
    long long acc_3_upper_7[1];
    const long long t_48 = acc_3[0];
    const long long t_49 = __shfl_xor_sync(~0u, t_48, 1);
    acc_3[0] = (t_47 ? t_48 : t_49);
    acc_3_upper_7[0] = (t_47 ? t_49 : t_48);
    acc_3[0] = te_add_i64(acc_3[0], acc_3_upper_7[0]);
#pragma unroll 1
    for (int i2 = 2*seat; i2 < 64; i2 += 512) {
        float acc[2];
        float acc_1[2];
#pragma unroll
        for (int i2_e = 0; i2_e < 2; i2_e++) {
            acc_1[i2_e] = 0.0f;
        }
        const long long i1_lo = te_max_i64(0LL, te_min_i64(te_max_i64(acc_2[0], 0LL), 4096LL));
        const long long i1_hi = te_max_i64(te_min_i64(4096LL, te_min_i64(te_max_i64(acc_3[0], 0LL), 4096LL)), i1_lo);
#pragma unroll 4
        for (int i1 = i1_lo; i1 < i1_hi; i1++) {
            float te_run0[2];
            te_read_run<2>(te_run0, X + (64*i1 + i2));
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
        te_write_run<2>(Y + (64*i0 + i2), te_run1);
    }
}
