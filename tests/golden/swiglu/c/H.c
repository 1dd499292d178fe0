// tile order=i1,i0 parallel=i0 tile=i1:16,i0:4 stage=G,U
// H[i0, i1] = pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c0 / (exp(-pass[i2](X[i0, i2] * G[i2, i1],
//     X[i0, i2] * U[i2, i1]).c0) + 1.0) * pass[i2](X[i0, i2] * G[i2, i1], X[i0, i2] * U[i2, i1]).c1
// schedule: tile order=i1,i0 parallel=i0 tile=i1:16,i0:4 stage=G,U
void H(void **buffers, const int64_t *dims, char *scratch) {
    const te_f16 *restrict X = buffers[0];
    const te_f16 *restrict G = buffers[1];
    const te_f16 *restrict U = buffers[2];
    te_f16 *restrict H = buffers[3];
    (void)buffers, (void)dims, (void)scratch;
    for (int64_t i1 = 0; i1 < 48; i1 += 16) {
        float G_1[1024] __attribute__((aligned(64)));
        for (int64_t i2 = 0; i2 < 64; i2++) {
            te_store_f32x8(G_1 + 16*i2, te_load_f16x8(G + (i1 + 48*i2)));
            te_store_f32x8(G_1 + (16*i2 + 8), te_load_f16x8(G + (i1 + 48*i2 + 8)));
        }
        float U_1[1024] __attribute__((aligned(64)));
        for (int64_t i2_1 = 0; i2_1 < 64; i2_1++) {
            te_store_f32x8(U_1 + 16*i2_1, te_load_f16x8(U + (i1 + 48*i2_1)));
            te_store_f32x8(U_1 + (16*i2_1 + 8), te_load_f16x8(U + (i1 + 48*i2_1 + 8)));
        }
#if 204336 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 204336 + TE_WORD * 4128 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
        for (int64_t i0 = 0; i0 < 33; i0 += 4) {
            const int64_t i0_at = te_min_i64(i0, 29);
            f32x8 c0_0;
            f32x8 c0_8;
            f32x8 c0_16;
            f32x8 c0_24;
            f32x8 c0_32;
            f32x8 c0_40;
            f32x8 c0_48;
            f32x8 c0_56;
            c0_0 = te_splat_f32x8(0.0f);
            c0_8 = te_splat_f32x8(0.0f);
            c0_16 = te_splat_f32x8(0.0f);
            c0_24 = te_splat_f32x8(0.0f);
            c0_32 = te_splat_f32x8(0.0f);
            c0_40 = te_splat_f32x8(0.0f);
            c0_48 = te_splat_f32x8(0.0f);
            c0_56 = te_splat_f32x8(0.0f);
            f32x8 c1_0;
            f32x8 c1_8;
            f32x8 c1_16;
            f32x8 c1_24;
            f32x8 c1_32;
            f32x8 c1_40;
            f32x8 c1_48;
            f32x8 c1_56;
            c1_0 = te_splat_f32x8(0.0f);
            c1_8 = te_splat_f32x8(0.0f);
            c1_16 = te_splat_f32x8(0.0f);
            c1_24 = te_splat_f32x8(0.0f);
            c1_32 = te_splat_f32x8(0.0f);
            c1_40 = te_splat_f32x8(0.0f);
            c1_48 = te_splat_f32x8(0.0f);
            c1_56 = te_splat_f32x8(0.0f);
            for (int64_t i2_2 = 0; i2_2 < 64; i2_2++) {
                const float t_14 = te_of_f16(X[64*i0_at + i2_2]);
                const f32x8 t_30 = (c0_0 + (te_splat_f32x8(t_14) * te_load_f32x8(G_1 + 16*i2_2)));
                const f32x8 t_31 = (c1_0 + (te_splat_f32x8(t_14) * te_load_f32x8(U_1 + 16*i2_2)));
                c0_0 = t_30;
                c1_0 = t_31;
                const f32x8 t_32 = (c0_8 + (te_splat_f32x8(t_14) * te_load_f32x8(G_1 + (16*i2_2 + 8))));
                const f32x8 t_33 = (c1_8 + (te_splat_f32x8(t_14) * te_load_f32x8(U_1 + (16*i2_2 + 8))));
                c0_8 = t_32;
                c1_8 = t_33;
                const float t_18 = te_of_f16(X[64*i0_at + i2_2 + 64]);
                const f32x8 t_34 = (c0_16 + (te_splat_f32x8(t_18) * te_load_f32x8(G_1 + 16*i2_2)));
                const f32x8 t_35 = (c1_16 + (te_splat_f32x8(t_18) * te_load_f32x8(U_1 + 16*i2_2)));
                c0_16 = t_34;
                c1_16 = t_35;
                const f32x8 t_36 = (c0_24 + (te_splat_f32x8(t_18) * te_load_f32x8(G_1 + (16*i2_2 + 8))));
                const f32x8 t_37 = (c1_24 + (te_splat_f32x8(t_18) * te_load_f32x8(U_1 + (16*i2_2 + 8))));
                c0_24 = t_36;
                c1_24 = t_37;
                const float t_22 = te_of_f16(X[64*i0_at + i2_2 + 128]);
                const f32x8 t_38 = (c0_32 + (te_splat_f32x8(t_22) * te_load_f32x8(G_1 + 16*i2_2)));
                const f32x8 t_39 = (c1_32 + (te_splat_f32x8(t_22) * te_load_f32x8(U_1 + 16*i2_2)));
                c0_32 = t_38;
                c1_32 = t_39;
                const f32x8 t_40 = (c0_40 + (te_splat_f32x8(t_22) * te_load_f32x8(G_1 + (16*i2_2 + 8))));
                const f32x8 t_41 = (c1_40 + (te_splat_f32x8(t_22) * te_load_f32x8(U_1 + (16*i2_2 + 8))));
                c0_40 = t_40;
                c1_40 = t_41;
                const float t_26 = te_of_f16(X[64*i0_at + i2_2 + 192]);
                const f32x8 t_42 = (c0_48 + (te_splat_f32x8(t_26) * te_load_f32x8(G_1 + 16*i2_2)));
                const f32x8 t_43 = (c1_48 + (te_splat_f32x8(t_26) * te_load_f32x8(U_1 + 16*i2_2)));
                c0_48 = t_42;
                c1_48 = t_43;
                const f32x8 t_44 = (c0_56 + (te_splat_f32x8(t_26) * te_load_f32x8(G_1 + (16*i2_2 + 8))));
                const f32x8 t_45 = (c1_56 + (te_splat_f32x8(t_26) * te_load_f32x8(U_1 + (16*i2_2 + 8))));
                c0_56 = t_44;
                c1_56 = t_45;
            }
            te_store_f16x8(H + (48*i0_at + i1), ((c0_0 * (1 / (te_exp_f32x8((-c0_0)) + te_splat_f32x8(1.0f)))) * c1_0));
            te_store_f16x8(H + (48*i0_at + i1 + 8), ((c0_8 * (1 / (te_exp_f32x8((-c0_8)) + te_splat_f32x8(1.0f)))) * c1_8));
            te_store_f16x8(H + (48*i0_at + i1 + 48), ((c0_16 * (1 / (te_exp_f32x8((-c0_16)) + te_splat_f32x8(1.0f)))) * c1_16));
            te_store_f16x8(H + (48*i0_at + i1 + 56), ((c0_24 * (1 / (te_exp_f32x8((-c0_24)) + te_splat_f32x8(1.0f)))) * c1_24));
            te_store_f16x8(H + (48*i0_at + i1 + 96), ((c0_32 * (1 / (te_exp_f32x8((-c0_32)) + te_splat_f32x8(1.0f)))) * c1_32));
            te_store_f16x8(H + (48*i0_at + i1 + 104), ((c0_40 * (1 / (te_exp_f32x8((-c0_40)) + te_splat_f32x8(1.0f)))) * c1_40));
            te_store_f16x8(H + (48*i0_at + i1 + 144), ((c0_48 * (1 / (te_exp_f32x8((-c0_48)) + te_splat_f32x8(1.0f)))) * c1_48));
            te_store_f16x8(H + (48*i0_at + i1 + 152), ((c0_56 * (1 / (te_exp_f32x8((-c0_56)) + te_splat_f32x8(1.0f)))) * c1_56));
        }
    }
}
