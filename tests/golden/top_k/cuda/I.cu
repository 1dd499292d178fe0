// blocks: one per tile, tiles: 1024
// threads: 128, bytes of shared memory: 0, counters: 0
// I[i0, i3] = select(i3 <= 0, top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807, -inf, 9223372036854775807,
//     -inf, 9223372036854775807).position0, select(i3 <= 1, top_k[4][i1](X[i0, i1], i1, -inf,
//     9223372036854775807, -inf, 9223372036854775807, -inf, 9223372036854775807).position1, select(i3 <= 2,
//     top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807, -inf, 9223372036854775807, -inf,
//     9223372036854775807).position2, top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807, -inf,
//     9223372036854775807, -inf, 9223372036854775807).position3)))
// V[i0, i2] = select(i2 <= 0, top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807, -inf, 9223372036854775807,
//     -inf, 9223372036854775807).value0, select(i2 <= 1, top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807,
//     -inf, 9223372036854775807, -inf, 9223372036854775807).value1, select(i2 <= 2, top_k[4][i1](X[i0, i1], i1,
//     -inf, 9223372036854775807, -inf, 9223372036854775807, -inf, 9223372036854775807).value2,
//     top_k[4][i1](X[i0, i1], i1, -inf, 9223372036854775807, -inf, 9223372036854775807, -inf,
//     9223372036854775807).value3)))
// schedule: split fold=i1:warp:4 grid=i0 warp=i3,i2 team=4 rounds=i1
extern "C" __global__ void __launch_bounds__(128, 1) k0_I(
    const float *__restrict__ X,
    long long *__restrict__ v_I,
    float *__restrict__ V) {
    const int te_block = blockIdx.x, te_blocks = gridDim.x;
    const int te_thread = threadIdx.x & 127;
    const int te_group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    const int lane = te_whole_mod(te_thread, 32);
    const long long seat = te_add_i64(te_mul_i64(128LL, ((long long)te_group)), te_mul_i64(1LL, ((long long)te_thread)));
    const long long warp = (seat / 32LL);
    const int i0 = te_block;
    float value0[1];
    value0[0] = (-__int_as_float(0x7f800000));
    long long position0[1];
    position0[0] = 9223372036854775807LL;
    float value1[1];
    value1[0] = (-__int_as_float(0x7f800000));
    long long position1[1];
    position1[0] = 9223372036854775807LL;
    float value2[1];
    value2[0] = (-__int_as_float(0x7f800000));
    long long position2[1];
    position2[0] = 9223372036854775807LL;
    float value3[1];
    value3[0] = (-__int_as_float(0x7f800000));
    long long position3[1];
    position3[0] = 9223372036854775807LL;
    long long keys[32];
#pragma unroll
    for (int i1_turn = 0; i1_turn < 8; i1_turn++) {
        float te_run0[4];
        te_read_run<4, true>(te_run0, X + (4096*i0 + 512*i1_turn + 4*seat));
#pragma unroll
        for (int i1_e = 0; i1_e < 4; i1_e++) {
            const int t = te_bits<int, float>(te_run0[i1_e]);
            const int t_1 = te_shr_i32(t, 31);
            keys[i1_e + 4*i1_turn] = te_add_i64(te_shl_i64(((long long)te_add_i32(((t & 2147483647) ^ t_1), te_neg_i32(t_1))), 32LL), te_add_i64(te_add_i64(4096LL, te_mul_i64((-1LL), ((long long)i1_e))), te_mul_i64((-512LL), ((long long)i1_turn))));
        }
    }
    long long own[1];
    long long best[4];
    best[0] = (-9223372036854775807LL - 1);
    best[1] = (-9223372036854775807LL - 1);
    best[2] = (-9223372036854775807LL - 1);
    best[3] = (-9223372036854775807LL - 1);
#pragma unroll
    for (int e = 0; e < 32; e += 4) {
        best[0] = te_max_i64(best[0], keys[e]);
        best[1] = te_max_i64(best[1], keys[e + 1]);
        best[2] = te_max_i64(best[2], keys[e + 2]);
        best[3] = te_max_i64(best[3], keys[e + 3]);
    }
    const long long t_2 = te_max_i64(te_max_i64(best[0], best[1]), te_max_i64(best[2], best[3]));
    own[0] = (((-9223372036854775808) < t_2) ? te_add_i64(t_2, (-4*seat + 2147479551)) : (-9223372036854775807LL - 1));
    __shared__ alignas(16) long long best_shared[16];
    const long long t_3 = te_max_warp_i64(own[0]);
    if (lane == 0) {
        best_shared[warp] = t_3;
    }
    __syncthreads();
    const int turn = te_whole_mod(lane, 4);
    const long long t_4 = te_max_warp_i64(best_shared[turn]);
    if (own[0] == t_4) {
        const long long t_5 = te_add_i64(t_4, te_neg_i64((-4*seat + 2147479551)));
        const long long t_6 = te_neg_i64(t_5);
        te_u64 best_1[4];
        best_1[0] = 0ULL;
        best_1[1] = 0ULL;
        best_1[2] = 0ULL;
        best_1[3] = 0ULL;
#pragma unroll
        for (int e_1 = 0; e_1 < 32; e_1 += 4) {
            best_1[0] = te_max_u64(best_1[0], te_bits<te_u64, long long>(te_add_i64(keys[e_1], t_6)));
            best_1[1] = te_max_u64(best_1[1], te_bits<te_u64, long long>(te_add_i64(keys[e_1 + 1], t_6)));
            best_1[2] = te_max_u64(best_1[2], te_bits<te_u64, long long>(te_add_i64(keys[e_1 + 2], t_6)));
            best_1[3] = te_max_u64(best_1[3], te_bits<te_u64, long long>(te_add_i64(keys[e_1 + 3], t_6)));
        }
        const te_u64 t_7 = te_max_u64(te_max_u64(best_1[0], best_1[1]), te_max_u64(best_1[2], best_1[3]));
        const long long t_8 = te_add_i64(te_bits<long long, te_u64>(t_7), t_5);
        own[0] = ((((-9223372036854775808) < t_8) && (t_8 < t_5)) ? te_add_i64(t_8, (-4*seat + 2147479551)) : (-9223372036854775807LL - 1));
    }
    const long long t_9 = te_max_warp_i64(own[0]);
    if (lane == 0) {
        best_shared[warp + 4] = t_9;
    }
    __syncthreads();
    const int turn_1 = te_whole_mod(lane, 4);
    const long long t_10 = te_max_warp_i64(best_shared[turn_1 + 4]);
    if (own[0] == t_10) {
        const long long t_11 = te_add_i64(t_10, te_neg_i64((-4*seat + 2147479551)));
        const long long t_12 = te_neg_i64(t_11);
        te_u64 best_2[4];
        best_2[0] = 0ULL;
        best_2[1] = 0ULL;
        best_2[2] = 0ULL;
        best_2[3] = 0ULL;
#pragma unroll
        for (int e_2 = 0; e_2 < 32; e_2 += 4) {
            best_2[0] = te_max_u64(best_2[0], te_bits<te_u64, long long>(te_add_i64(keys[e_2], t_12)));
            best_2[1] = te_max_u64(best_2[1], te_bits<te_u64, long long>(te_add_i64(keys[e_2 + 1], t_12)));
            best_2[2] = te_max_u64(best_2[2], te_bits<te_u64, long long>(te_add_i64(keys[e_2 + 2], t_12)));
            best_2[3] = te_max_u64(best_2[3], te_bits<te_u64, long long>(te_add_i64(keys[e_2 + 3], t_12)));
        }
        const te_u64 t_13 = te_max_u64(te_max_u64(best_2[0], best_2[1]), te_max_u64(best_2[2], best_2[3]));
        const long long t_14 = te_add_i64(te_bits<long long, te_u64>(t_13), t_11);
        own[0] = ((((-9223372036854775808) < t_14) && (t_14 < t_11)) ? te_add_i64(t_14, (-4*seat + 2147479551)) : (-9223372036854775807LL - 1));
    }
    const long long t_15 = te_max_warp_i64(own[0]);
    if (lane == 0) {
        best_shared[warp + 8] = t_15;
    }
    __syncthreads();
    const int turn_2 = te_whole_mod(lane, 4);
    const long long t_16 = te_max_warp_i64(best_shared[turn_2 + 8]);
    if (own[0] == t_16) {
        const long long t_17 = te_add_i64(t_16, te_neg_i64((-4*seat + 2147479551)));
        const long long t_18 = te_neg_i64(t_17);
        te_u64 best_3[4];
        best_3[0] = 0ULL;
        best_3[1] = 0ULL;
        best_3[2] = 0ULL;
        best_3[3] = 0ULL;
#pragma unroll
        for (int e_3 = 0; e_3 < 32; e_3 += 4) {
            best_3[0] = te_max_u64(best_3[0], te_bits<te_u64, long long>(te_add_i64(keys[e_3], t_18)));
            best_3[1] = te_max_u64(best_3[1], te_bits<te_u64, long long>(te_add_i64(keys[e_3 + 1], t_18)));
            best_3[2] = te_max_u64(best_3[2], te_bits<te_u64, long long>(te_add_i64(keys[e_3 + 2], t_18)));
            best_3[3] = te_max_u64(best_3[3], te_bits<te_u64, long long>(te_add_i64(keys[e_3 + 3], t_18)));
        }
        const te_u64 t_19 = te_max_u64(te_max_u64(best_3[0], best_3[1]), te_max_u64(best_3[2], best_3[3]));
        const long long t_20 = te_add_i64(te_bits<long long, te_u64>(t_19), t_17);
        own[0] = ((((-9223372036854775808) < t_20) && (t_20 < t_17)) ? te_add_i64(t_20, (-4*seat + 2147479551)) : (-9223372036854775807LL - 1));
    }
    const long long t_21 = te_max_warp_i64(own[0]);
    if (lane == 0) {
        best_shared[warp + 12] = t_21;
    }
    __syncthreads();
    const int turn_3 = te_whole_mod(lane, 4);
    const long long t_22 = te_max_warp_i64(best_shared[turn_3 + 12]);
    const long long i1_best = te_add_i64(2147483647LL, te_neg_i64((t_4 & 2147483647LL)));
    value0[0] = X[4096*i0 + i1_best];
    position0[0] = i1_best;
    const long long i1_best_1 = te_add_i64(2147483647LL, te_neg_i64((t_10 & 2147483647LL)));
    value1[0] = X[4096*i0 + i1_best_1];
    position1[0] = i1_best_1;
    const long long i1_best_2 = te_add_i64(2147483647LL, te_neg_i64((t_16 & 2147483647LL)));
    value2[0] = X[4096*i0 + i1_best_2];
    position2[0] = i1_best_2;
    const long long i1_best_3 = te_add_i64(2147483647LL, te_neg_i64((t_22 & 2147483647LL)));
    value3[0] = X[4096*i0 + i1_best_3];
    position3[0] = i1_best_3;
    for (int i3 = seat; i3 < 4; i3 += 128) {
        v_I[4*i0 + i3] = ((0 <= -i3) ? position0[0] : ((0 <= (-i3 + 1)) ? position1[0] : ((0 <= (-i3 + 2)) ? position2[0] : position3[0])));
    }
    for (int i2 = seat; i2 < 4; i2 += 128) {
        V[4*i0 + i2] = ((0 <= -i2) ? value0[0] : ((0 <= (-i2 + 1)) ? value1[0] : ((0 <= (-i2 + 2)) ? value2[0] : value3[0])));
    }
}
