// tile order=i1,i0 parallel=i1 tile=i1:16,i0:4 stage=B
// C[i0, i1] = sum[i2](A[i0, i2] * B[i2, i1])
// schedule: tile order=i1,i0 parallel=i1 tile=i1:16,i0:4 stage=B
void C(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict A = buffers[0];
    const float *restrict B = buffers[1];
    float *restrict C = buffers[2];
    (void)buffers, (void)dims, (void)scratch;
#if 148070 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 148070 + TE_WORD * 4356 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i1 = 0; i1 < 65; i1 += 16) {
        const int64_t i1_at = te_min_i64(i1, 49);
        float B_1[528] __attribute__((aligned(64)));
        for (int64_t i2 = 0; i2 < 33; i2++) {
            te_store_f32x8(B_1 + 16*i2, te_load_f32x8(B + (i1_at + 65*i2)));
            te_store_f32x8(B_1 + (16*i2 + 8), te_load_f32x8(B + (i1_at + 65*i2 + 8)));
        }
        for (int64_t i0 = 0; i0 < 67; i0 += 4) {
            const int64_t i0_at = te_min_i64(i0, 63);
            f32x8 acc_0;
            f32x8 acc_8;
            f32x8 acc_16;
            f32x8 acc_24;
            f32x8 acc_32;
            f32x8 acc_40;
            f32x8 acc_48;
            f32x8 acc_56;
            f32x8 acc_1_0;
            f32x8 acc_1_8;
            f32x8 acc_1_16;
            f32x8 acc_1_24;
            f32x8 acc_1_32;
            f32x8 acc_1_40;
            f32x8 acc_1_48;
            f32x8 acc_1_56;
            acc_1_0 = te_splat_f32x8(0.0f);
            acc_1_8 = te_splat_f32x8(0.0f);
            acc_1_16 = te_splat_f32x8(0.0f);
            acc_1_24 = te_splat_f32x8(0.0f);
            acc_1_32 = te_splat_f32x8(0.0f);
            acc_1_40 = te_splat_f32x8(0.0f);
            acc_1_48 = te_splat_f32x8(0.0f);
            acc_1_56 = te_splat_f32x8(0.0f);
            for (int64_t i2_1 = 0; i2_1 < 33; i2_1++) {
                acc_1_0 = (acc_1_0 + (te_splat_f32x8(A[33*i0_at + i2_1]) * te_load_f32x8(B_1 + 16*i2_1)));
                acc_1_8 = (acc_1_8 + (te_splat_f32x8(A[33*i0_at + i2_1]) * te_load_f32x8(B_1 + (16*i2_1 + 8))));
                acc_1_16 = (acc_1_16 + (te_splat_f32x8(A[33*i0_at + i2_1 + 33]) * te_load_f32x8(B_1 + 16*i2_1)));
                acc_1_24 = (acc_1_24 + (te_splat_f32x8(A[33*i0_at + i2_1 + 33]) * te_load_f32x8(B_1 + (16*i2_1 + 8))));
                acc_1_32 = (acc_1_32 + (te_splat_f32x8(A[33*i0_at + i2_1 + 66]) * te_load_f32x8(B_1 + 16*i2_1)));
                acc_1_40 = (acc_1_40 + (te_splat_f32x8(A[33*i0_at + i2_1 + 66]) * te_load_f32x8(B_1 + (16*i2_1 + 8))));
                acc_1_48 = (acc_1_48 + (te_splat_f32x8(A[33*i0_at + i2_1 + 99]) * te_load_f32x8(B_1 + 16*i2_1)));
                acc_1_56 = (acc_1_56 + (te_splat_f32x8(A[33*i0_at + i2_1 + 99]) * te_load_f32x8(B_1 + (16*i2_1 + 8))));
            }
            acc_0 = acc_1_0;
            acc_8 = acc_1_8;
            acc_16 = acc_1_16;
            acc_24 = acc_1_24;
            acc_32 = acc_1_32;
            acc_40 = acc_1_40;
            acc_48 = acc_1_48;
            acc_56 = acc_1_56;
            te_store_f32x8(C + (65*i0_at + i1_at), acc_0);
            te_store_f32x8(C + (65*i0_at + i1_at + 8), acc_8);
            te_store_f32x8(C + (65*i0_at + i1_at + 65), acc_16);
            te_store_f32x8(C + (65*i0_at + i1_at + 73), acc_24);
            te_store_f32x8(C + (65*i0_at + i1_at + 130), acc_32);
            te_store_f32x8(C + (65*i0_at + i1_at + 138), acc_40);
            te_store_f32x8(C + (65*i0_at + i1_at + 195), acc_48);
            te_store_f32x8(C + (65*i0_at + i1_at + 203), acc_56);
        }
    }
}
