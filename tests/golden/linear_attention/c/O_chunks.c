// stream parallel=i0 tile=i2:* stage=K
// O_chunks[i0, i1, i2] = select(3*i0 + i1 <= 6, select(1 <= i0, sum[i3](Q[3*i0 + i1, i3] * O_state[i0 - 1, i3,
//     i2]), 0.0) + sum[i4:3](sum[i3](Q[3*i0 + i1, i3] * K[3*i0 + i4, i3]) * V[3*i0 + i4, i2], where=i4 <= i1),
//     0.0)
// schedule: stream parallel=i0 tile=i2:* stage=K
void O_chunks(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict Q = buffers[0];
    const float *restrict O_state = buffers[1];
    const float *restrict K = buffers[2];
    const float *restrict V = buffers[3];
    float *restrict O_chunks = buffers[4];
    (void)buffers, (void)dims, (void)scratch;
#if 720 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 720 + TE_WORD * 107 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i0 = 0; i0 < 3; i0++) {
        for (int64_t i1 = 0; i1 < 3; i1++) {
            float acc_0;
            float acc_1r;
            float acc_2r;
            float acc_3r;
            float acc_4;
            float acc_1_0;
            float acc_1_1;
            float acc_1_2;
            float acc_1_3;
            float acc_1_4;
            acc_1_0 = 0.0f;
            acc_1_1 = 0.0f;
            acc_1_2 = 0.0f;
            acc_1_3 = 0.0f;
            acc_1_4 = 0.0f;
            for (int64_t i3 = 0; i3 < 3; i3++) {
                if (0 <= (-3*i0 - i1 + 6)) {
                    if (0 <= (i0 - 1)) {
                        acc_1_0 = (acc_1_0 + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + 5*i3 - 15]));
                        acc_1_1 = (acc_1_1 + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + 5*i3 - 14]));
                        acc_1_2 = (acc_1_2 + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + 5*i3 - 13]));
                        acc_1_3 = (acc_1_3 + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + 5*i3 - 12]));
                        acc_1_4 = (acc_1_4 + (Q[9*i0 + 3*i1 + i3] * O_state[15*i0 + 5*i3 - 11]));
                    }
                }
            }
            acc_0 = acc_1_0;
            acc_1r = acc_1_1;
            acc_2r = acc_1_2;
            acc_3r = acc_1_3;
            acc_4 = acc_1_4;
            float acc_2_0;
            float acc_2_1;
            float acc_2_2;
            float acc_2_3;
            float acc_2_4;
            acc_2_0 = 0.0f;
            acc_2_1 = 0.0f;
            acc_2_2 = 0.0f;
            acc_2_3 = 0.0f;
            acc_2_4 = 0.0f;
            const int64_t i4_hi = te_min_i64(3, (i1 + 1));
            for (int64_t i4 = 0; i4 < i4_hi; i4++) {
                float acc_3;
                acc_3 = 0.0f;
                for (int64_t i3_1 = 0; i3_1 < 3; i3_1++) {
                    if (0 <= (-3*i0 - i1 + 6)) {
                        if (0 <= (i1 - i4)) {
                            acc_3 = (acc_3 + (Q[9*i0 + 3*i1 + i3_1] * K[9*i0 + i3_1 + 3*i4]));
                        }
                    }
                }
                if (0 <= (-3*i0 - i1 + 6)) {
                    acc_2_0 = (acc_2_0 + (acc_3 * V[15*i0 + 5*i4]));
                    acc_2_1 = (acc_2_1 + (acc_3 * V[15*i0 + 5*i4 + 1]));
                    acc_2_2 = (acc_2_2 + (acc_3 * V[15*i0 + 5*i4 + 2]));
                    acc_2_3 = (acc_2_3 + (acc_3 * V[15*i0 + 5*i4 + 3]));
                    acc_2_4 = (acc_2_4 + (acc_3 * V[15*i0 + 5*i4 + 4]));
                }
            }
            O_chunks[15*i0 + 5*i1] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc_0 : 0.0f) + acc_2_0) : 0.0f);
            O_chunks[15*i0 + 5*i1 + 1] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc_1r : 0.0f) + acc_2_1) : 0.0f);
            O_chunks[15*i0 + 5*i1 + 2] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc_2r : 0.0f) + acc_2_2) : 0.0f);
            O_chunks[15*i0 + 5*i1 + 3] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc_3r : 0.0f) + acc_2_3) : 0.0f);
            O_chunks[15*i0 + 5*i1 + 4] = ((0 <= (-3*i0 - i1 + 6)) ? (((0 <= (i0 - 1)) ? acc_4 : 0.0f) + acc_2_4) : 0.0f);
        }
    }
}
