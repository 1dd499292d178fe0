// scan order=i1,i2 parallel=i1
// O_state[i0, i1, i2] = sum.scan[i0](O_added[i0, i1, i2])
// schedule: scan order=i1,i2 parallel=i1
void O_state(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict O_added = buffers[0];
    float *restrict O_state = buffers[1];
    (void)buffers, (void)dims, (void)scratch;
#pragma omp parallel for schedule(guided) if (30 > TE_WORK)
    for (int64_t i1 = 0; i1 < 5; i1++) {
        for (int64_t i2 = 0; i2 < 3; i2++) {
            float acc;
            acc = 0.0f;
            for (int64_t i0 = 0; i0 < 2; i0++) {
                acc = (acc + O_added[15*i0 + 3*i1 + i2]);
                O_state[15*i0 + 3*i1 + i2] = acc;
            }
        }
    }
}
