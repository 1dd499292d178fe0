// point grid=i0,i1,i2,i3; blocks of 256 threads
// Y[i0, i1, i2, i3] = sum[i4, i5, i6](X[i0, i4, i2 + i5 - 1, i3 + i6 - 1] * W[i1, i4, i5, i6], where=(1 <= i2 +
//     i5, 1 <= i3 + i6, i2 + i5 <= 17, i3 + i6 <= 19))
// schedule: point grid=i0,i1,i2,i3
kernel void k0_Y(
    device const float *X [[buffer(0)]],
    device const float *W [[buffer(1)]],
    device float *Y [[buffer(2)]],
    uint te_local [[thread_index_in_threadgroup]],
    uint te_position [[threadgroup_position_in_grid]],
    uint te_count [[threadgroups_per_grid]]) {
    const int te_block = (int)te_position, te_blocks = (int)te_count;
    const int te_thread = (int)te_local & 127, te_group = (int)te_local / 128;
    const int te_grid_place = te_block * 256 + (int)te_local;
    const int te_grid_size = te_blocks * 256;
    (void)te_block, (void)te_blocks, (void)te_thread, (void)te_group, (void)te_grid_place;
    (void)te_grid_size;
    for (int point = 0 + 1 * te_grid_place; point < 2584; point += 1 * te_grid_size) {
        const int i3 = (point % 19);
        const int i2 = ((point / 19) % 17);
        const int i1 = ((point / 323) % 4);
        const int i0 = (point / 1292);
        float acc[1];
        acc[0] = 0.0f;
        for (int i4 = 0; i4 < 3; i4++) {
            const int i5_lo = te_max_int(0, (-i2 + 1));
            const int i5_hi = te_min_int(3, (-i2 + 18));
            for (int i5 = i5_lo; i5 < i5_hi; i5++) {
                const int i6_lo = te_max_int(0, (-i3 + 1));
                const int i6_hi = te_min_int(3, (-i3 + 20));
                for (int i6 = i6_lo; i6 < i6_hi; i6++) {
                    acc[0] = (acc[0] + (X[969*i0 + 19*i2 + i3 + 323*i4 + 19*i5 + i6 - 20] * W[27*i1 + 9*i4 + 3*i5 + i6]));
                }
            }
        }
        Y[1292*i0 + 323*i1 + 19*i2 + i3] = acc[0];
    }
}
