// C[i, j] = sum[k](A[i, k] * B[k, j])
// schedule: tile order=j,i parallel=j tile=i:4,j:16 stage=B
void product(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict A = buffers[0];
    const float *restrict B = buffers[1];
    float *restrict C = buffers[2];
    (void)buffers, (void)dims, (void)scratch;
#if 200704 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 200704 + TE_WORD * 6144 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t j = 0; j < 64; j += 16) {
        float B_1[768] __attribute__((aligned(64)));
        for (int64_t k = 0; k < 48; k++) {
            te_store_f32x8(B_1 + 16*k, te_load_f32x8(B + (j + 64*k)));
            te_store_f32x8(B_1 + (16*k + 8), te_load_f32x8(B + (j + 64*k + 8)));
        }
        for (int64_t i = 0; i < 64; i += 4) {
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
            for (int64_t k_1 = 0; k_1 < 48; k_1++) {
                acc_1_0 = (acc_1_0 + (te_splat_f32x8(A[48*i + k_1]) * te_load_f32x8(B_1 + 16*k_1)));
                acc_1_8 = (acc_1_8 + (te_splat_f32x8(A[48*i + k_1]) * te_load_f32x8(B_1 + (16*k_1 + 8))));
                acc_1_16 = (acc_1_16 + (te_splat_f32x8(A[48*i + k_1 + 48]) * te_load_f32x8(B_1 + 16*k_1)));
                acc_1_24 = (acc_1_24 + (te_splat_f32x8(A[48*i + k_1 + 48]) * te_load_f32x8(B_1 + (16*k_1 + 8))));
                acc_1_32 = (acc_1_32 + (te_splat_f32x8(A[48*i + k_1 + 96]) * te_load_f32x8(B_1 + 16*k_1)));
                acc_1_40 = (acc_1_40 + (te_splat_f32x8(A[48*i + k_1 + 96]) * te_load_f32x8(B_1 + (16*k_1 + 8))));
                acc_1_48 = (acc_1_48 + (te_splat_f32x8(A[48*i + k_1 + 144]) * te_load_f32x8(B_1 + 16*k_1)));
                acc_1_56 = (acc_1_56 + (te_splat_f32x8(A[48*i + k_1 + 144]) * te_load_f32x8(B_1 + (16*k_1 + 8))));
            }
            acc_0 = acc_1_0;
            acc_8 = acc_1_8;
            acc_16 = acc_1_16;
            acc_24 = acc_1_24;
            acc_32 = acc_1_32;
            acc_40 = acc_1_40;
            acc_48 = acc_1_48;
            acc_56 = acc_1_56;
            te_store_f32x8(C + (64*i + j), acc_0);
            te_store_f32x8(C + (64*i + j + 8), acc_8);
            te_store_f32x8(C + (64*i + j + 64), acc_16);
            te_store_f32x8(C + (64*i + j + 72), acc_24);
            te_store_f32x8(C + (64*i + j + 128), acc_32);
            te_store_f32x8(C + (64*i + j + 136), acc_40);
            te_store_f32x8(C + (64*i + j + 192), acc_48);
            te_store_f32x8(C + (64*i + j + 200), acc_56);
        }
    }
}
