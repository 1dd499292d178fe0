// h[t, c] = affine.scan[t](a[t, c], b[t, c]).b
// schedule: scan tile=c:8
void recurrence(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict a = buffers[0];
    const float *restrict b = buffers[1];
    float *restrict h = buffers[2];
    (void)buffers, (void)dims, (void)scratch;
    for (int64_t c = 0; c < 24; c += 8) {
        f32x8 a_1;
        a_1 = te_splat_f32x8(1.0f);
        f32x8 b_1;
        b_1 = te_splat_f32x8(0.0f);
        for (int64_t t = 0; t < 50; t++) {
            const f32x8 t_4 = te_load_f32x8(a + (c + 24*t));
            const f32x8 t_5 = (t_4 * a_1);
            const f32x8 t_6 = ((t_4 * b_1) + te_load_f32x8(b + (c + 24*t)));
            a_1 = t_5;
            b_1 = t_6;
            te_store_f32x8(h + (c + 24*t), b_1);
        }
    }
}
