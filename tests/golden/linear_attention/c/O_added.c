// point order=i0,i1,i2 parallel=i0
// O_added[i0, i1, i2] = sum[i3:3](K[3*i0 + i3, i2] * V[3*i0 + i3, i1])
// schedule: point order=i0,i1,i2 parallel=i0
void O_added(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict K = buffers[0];
    const float *restrict V = buffers[1];
    float *restrict O_added = buffers[2];
    (void)buffers, (void)dims, (void)scratch;
#pragma omp parallel for schedule(guided) if (120 > TE_WORK)
    for (int64_t i0 = 0; i0 < 2; i0++) {
        for (int64_t i1 = 0; i1 < 5; i1++) {
            for (int64_t i2 = 0; i2 < 3; i2++) {
                float acc;
                acc = 0.0f;
                for (int64_t i3 = 0; i3 < 3; i3++) {
                    acc = (acc + (K[9*i0 + i2 + 3*i3] * V[15*i0 + i1 + 5*i3]));
                }
                O_added[15*i0 + 3*i1 + i2] = acc;
            }
        }
    }
}
