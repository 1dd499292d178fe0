// tile order=i0,i2 parallel=i0 tile=i2:16,i0:32 fold=i1:lanes:32 stage=W
// Y[i0, i2] = recip(sqrt(sum[i1]((X[i0, i1] - sum[i1](X[i0, i1]) * recip(96.0)) * (X[i0, i1] - sum[i1](X[i0,
//     i1]) * recip(96.0))) * recip(96.0) + 1e-05)) * sum[i1]((X[i0, i1] - sum[i1](X[i0, i1]) * recip(96.0)) *
//     W[i1, i2])
// schedule: tile order=i0,i2 parallel=i0 tile=i2:16,i0:32 fold=i1:lanes:32 stage=W
void Y(void **buffers, const int64_t *dims, char *scratch) {
    const float *restrict X = buffers[0];
    const float *restrict W = buffers[1];
    float *restrict Y = buffers[2];
    (void)buffers, (void)dims, (void)scratch;
    const float t = (1.0f / 96.0f);
#if 381480 > TE_WORK
#pragma omp parallel for schedule(guided)
#elif defined TE_AWAKE && 381480 + TE_WORD * 7008 > TE_WORK
#pragma omp parallel for schedule(static) if (TE_AWAKE)
#endif
    for (int64_t i0 = 0; i0 < 33; i0 += 32) {
        const int64_t i0_at = te_min_i64(i0, 1);
        float acc[32] __attribute__((aligned(64)));
        for (int64_t i0_b = 0; i0_b < 32; i0_b += 16) {
            f32x8 acc_1_0;
            f32x8 acc_1_8;
            acc_1_0 = te_splat_f32x8(0.0f);
            acc_1_8 = te_splat_f32x8(0.0f);
            float acc_2[512] __attribute__((aligned(64)));
            for (int64_t i0_e_1 = 0; i0_e_1 < 16; i0_e_1++) {
                te_store_f32x8(acc_2 + 32*i0_e_1, te_splat_f32x8(0.0f));
                te_store_f32x8(acc_2 + (32*i0_e_1 + 8), te_splat_f32x8(0.0f));
                te_store_f32x8(acc_2 + (32*i0_e_1 + 16), te_splat_f32x8(0.0f));
                te_store_f32x8(acc_2 + (32*i0_e_1 + 24), te_splat_f32x8(0.0f));
            }
            float acc_3[16] __attribute__((aligned(64)));
            f32x8 acc_4_0;
            f32x8 acc_4_8;
            acc_4_0 = te_splat_f32x8(0.0f);
            acc_4_8 = te_splat_f32x8(0.0f);
            float acc_5[512] __attribute__((aligned(64)));
            for (int64_t i0_e_3 = 0; i0_e_3 < 16; i0_e_3++) {
                te_store_f32x8(acc_5 + 32*i0_e_3, te_splat_f32x8(0.0f));
                te_store_f32x8(acc_5 + (32*i0_e_3 + 8), te_splat_f32x8(0.0f));
                te_store_f32x8(acc_5 + (32*i0_e_3 + 16), te_splat_f32x8(0.0f));
                te_store_f32x8(acc_5 + (32*i0_e_3 + 24), te_splat_f32x8(0.0f));
            }
            for (int64_t i1_1 = 0; i1_1 < 96; i1_1 += 32) {
                for (int64_t i0_e_4 = 0; i0_e_4 < 16; i0_e_4++) {
                    te_store_f32x8(acc_5 + 32*i0_e_4, (te_load_f32x8(acc_5 + 32*i0_e_4) + te_load_f32x8(X + (96*i0_at + 96*i0_b + 96*i0_e_4 + i1_1))));
                    te_store_f32x8(acc_5 + (32*i0_e_4 + 8), (te_load_f32x8(acc_5 + (32*i0_e_4 + 8)) + te_load_f32x8(X + (96*i0_at + 96*i0_b + 96*i0_e_4 + i1_1 + 8))));
                    te_store_f32x8(acc_5 + (32*i0_e_4 + 16), (te_load_f32x8(acc_5 + (32*i0_e_4 + 16)) + te_load_f32x8(X + (96*i0_at + 96*i0_b + 96*i0_e_4 + i1_1 + 16))));
                    te_store_f32x8(acc_5 + (32*i0_e_4 + 24), (te_load_f32x8(acc_5 + (32*i0_e_4 + 24)) + te_load_f32x8(X + (96*i0_at + 96*i0_b + 96*i0_e_4 + i1_1 + 24))));
                }
            }
            for (int64_t i0_e_5 = 0; i0_e_5 < 16; i0_e_5++) {
                te_store_f32x8(acc_5 + 32*i0_e_5, (te_load_f32x8(acc_5 + 32*i0_e_5) + te_load_f32x8(acc_5 + (32*i0_e_5 + 16))));
                te_store_f32x8(acc_5 + (32*i0_e_5 + 8), (te_load_f32x8(acc_5 + (32*i0_e_5 + 8)) + te_load_f32x8(acc_5 + (32*i0_e_5 + 24))));
            }
            te_store_f32x8(acc_5 + 0, (te_load_f32x8(acc_5 + 0) + te_load_f32x8(acc_5 + 8)));
            te_store_f32x8(acc_5 + 32, (te_load_f32x8(acc_5 + 32) + te_load_f32x8(acc_5 + 40)));
            te_store_f32x8(acc_5 + 64, (te_load_f32x8(acc_5 + 64) + te_load_f32x8(acc_5 + 72)));
            te_store_f32x8(acc_5 + 96, (te_load_f32x8(acc_5 + 96) + te_load_f32x8(acc_5 + 104)));
            te_store_f32x8(acc_5 + 128, (te_load_f32x8(acc_5 + 128) + te_load_f32x8(acc_5 + 136)));
            te_store_f32x8(acc_5 + 160, (te_load_f32x8(acc_5 + 160) + te_load_f32x8(acc_5 + 168)));
            te_store_f32x8(acc_5 + 192, (te_load_f32x8(acc_5 + 192) + te_load_f32x8(acc_5 + 200)));
            te_store_f32x8(acc_5 + 224, (te_load_f32x8(acc_5 + 224) + te_load_f32x8(acc_5 + 232)));
            te_store_f32x8(acc_5 + 256, (te_load_f32x8(acc_5 + 256) + te_load_f32x8(acc_5 + 264)));
            te_store_f32x8(acc_5 + 288, (te_load_f32x8(acc_5 + 288) + te_load_f32x8(acc_5 + 296)));
            te_store_f32x8(acc_5 + 320, (te_load_f32x8(acc_5 + 320) + te_load_f32x8(acc_5 + 328)));
            te_store_f32x8(acc_5 + 352, (te_load_f32x8(acc_5 + 352) + te_load_f32x8(acc_5 + 360)));
            te_store_f32x8(acc_5 + 384, (te_load_f32x8(acc_5 + 384) + te_load_f32x8(acc_5 + 392)));
            te_store_f32x8(acc_5 + 416, (te_load_f32x8(acc_5 + 416) + te_load_f32x8(acc_5 + 424)));
            te_store_f32x8(acc_5 + 448, (te_load_f32x8(acc_5 + 448) + te_load_f32x8(acc_5 + 456)));
            te_store_f32x8(acc_5 + 480, (te_load_f32x8(acc_5 + 480) + te_load_f32x8(acc_5 + 488)));
            acc_4_0 = (acc_4_0 + ((((f32x8){acc_5[0], acc_5[32], acc_5[64], acc_5[96], acc_5[128], acc_5[160], acc_5[192], acc_5[224]} + (f32x8){acc_5[1], acc_5[33], acc_5[65], acc_5[97], acc_5[129], acc_5[161], acc_5[193], acc_5[225]}) + ((f32x8){acc_5[2], acc_5[34], acc_5[66], acc_5[98], acc_5[130], acc_5[162], acc_5[194], acc_5[226]} + (f32x8){acc_5[3], acc_5[35], acc_5[67], acc_5[99], acc_5[131], acc_5[163], acc_5[195], acc_5[227]})) + (((f32x8){acc_5[4], acc_5[36], acc_5[68], acc_5[100], acc_5[132], acc_5[164], acc_5[196], acc_5[228]} + (f32x8){acc_5[5], acc_5[37], acc_5[69], acc_5[101], acc_5[133], acc_5[165], acc_5[197], acc_5[229]}) + ((f32x8){acc_5[6], acc_5[38], acc_5[70], acc_5[102], acc_5[134], acc_5[166], acc_5[198], acc_5[230]} + (f32x8){acc_5[7], acc_5[39], acc_5[71], acc_5[103], acc_5[135], acc_5[167], acc_5[199], acc_5[231]}))));
            acc_4_8 = (acc_4_8 + ((((f32x8){acc_5[256], acc_5[288], acc_5[320], acc_5[352], acc_5[384], acc_5[416], acc_5[448], acc_5[480]} + (f32x8){acc_5[257], acc_5[289], acc_5[321], acc_5[353], acc_5[385], acc_5[417], acc_5[449], acc_5[481]}) + ((f32x8){acc_5[258], acc_5[290], acc_5[322], acc_5[354], acc_5[386], acc_5[418], acc_5[450], acc_5[482]} + (f32x8){acc_5[259], acc_5[291], acc_5[323], acc_5[355], acc_5[387], acc_5[419], acc_5[451], acc_5[483]})) + (((f32x8){acc_5[260], acc_5[292], acc_5[324], acc_5[356], acc_5[388], acc_5[420], acc_5[452], acc_5[484]} + (f32x8){acc_5[261], acc_5[293], acc_5[325], acc_5[357], acc_5[389], acc_5[421], acc_5[453], acc_5[485]}) + ((f32x8){acc_5[262], acc_5[294], acc_5[326], acc_5[358], acc_5[390], acc_5[422], acc_5[454], acc_5[486]} + (f32x8){acc_5[263], acc_5[295], acc_5[327], acc_5[359], acc_5[391], acc_5[423], acc_5[455], acc_5[487]}))));
            te_store_f32x8(acc_3 + 0, acc_4_0);
            te_store_f32x8(acc_3 + 8, acc_4_8);
            for (int64_t i1 = 0; i1 < 96; i1 += 32) {
                for (int64_t i0_e_9 = 0; i0_e_9 < 16; i0_e_9++) {
                    const float t_1 = (-(acc_3[i0_e_9] * t));
                    const f32x8 t_25 = (te_load_f32x8(X + (96*i0_at + 96*i0_b + 96*i0_e_9 + i1)) + te_splat_f32x8(t_1));
                    te_store_f32x8(acc_2 + 32*i0_e_9, (te_load_f32x8(acc_2 + 32*i0_e_9) + (t_25 * t_25)));
                    const f32x8 t_26 = (te_load_f32x8(X + (96*i0_at + 96*i0_b + 96*i0_e_9 + i1 + 8)) + te_splat_f32x8(t_1));
                    te_store_f32x8(acc_2 + (32*i0_e_9 + 8), (te_load_f32x8(acc_2 + (32*i0_e_9 + 8)) + (t_26 * t_26)));
                    const f32x8 t_27 = (te_load_f32x8(X + (96*i0_at + 96*i0_b + 96*i0_e_9 + i1 + 16)) + te_splat_f32x8(t_1));
                    te_store_f32x8(acc_2 + (32*i0_e_9 + 16), (te_load_f32x8(acc_2 + (32*i0_e_9 + 16)) + (t_27 * t_27)));
                    const f32x8 t_28 = (te_load_f32x8(X + (96*i0_at + 96*i0_b + 96*i0_e_9 + i1 + 24)) + te_splat_f32x8(t_1));
                    te_store_f32x8(acc_2 + (32*i0_e_9 + 24), (te_load_f32x8(acc_2 + (32*i0_e_9 + 24)) + (t_28 * t_28)));
                }
            }
            for (int64_t i0_e_10 = 0; i0_e_10 < 16; i0_e_10++) {
                te_store_f32x8(acc_2 + 32*i0_e_10, (te_load_f32x8(acc_2 + 32*i0_e_10) + te_load_f32x8(acc_2 + (32*i0_e_10 + 16))));
                te_store_f32x8(acc_2 + (32*i0_e_10 + 8), (te_load_f32x8(acc_2 + (32*i0_e_10 + 8)) + te_load_f32x8(acc_2 + (32*i0_e_10 + 24))));
            }
            te_store_f32x8(acc_2 + 0, (te_load_f32x8(acc_2 + 0) + te_load_f32x8(acc_2 + 8)));
            te_store_f32x8(acc_2 + 32, (te_load_f32x8(acc_2 + 32) + te_load_f32x8(acc_2 + 40)));
            te_store_f32x8(acc_2 + 64, (te_load_f32x8(acc_2 + 64) + te_load_f32x8(acc_2 + 72)));
            te_store_f32x8(acc_2 + 96, (te_load_f32x8(acc_2 + 96) + te_load_f32x8(acc_2 + 104)));
            te_store_f32x8(acc_2 + 128, (te_load_f32x8(acc_2 + 128) + te_load_f32x8(acc_2 + 136)));
            te_store_f32x8(acc_2 + 160, (te_load_f32x8(acc_2 + 160) + te_load_f32x8(acc_2 + 168)));
            te_store_f32x8(acc_2 + 192, (te_load_f32x8(acc_2 + 192) + te_load_f32x8(acc_2 + 200)));
            te_store_f32x8(acc_2 + 224, (te_load_f32x8(acc_2 + 224) + te_load_f32x8(acc_2 + 232)));
            te_store_f32x8(acc_2 + 256, (te_load_f32x8(acc_2 + 256) + te_load_f32x8(acc_2 + 264)));
            te_store_f32x8(acc_2 + 288, (te_load_f32x8(acc_2 + 288) + te_load_f32x8(acc_2 + 296)));
            te_store_f32x8(acc_2 + 320, (te_load_f32x8(acc_2 + 320) + te_load_f32x8(acc_2 + 328)));
            te_store_f32x8(acc_2 + 352, (te_load_f32x8(acc_2 + 352) + te_load_f32x8(acc_2 + 360)));
            te_store_f32x8(acc_2 + 384, (te_load_f32x8(acc_2 + 384) + te_load_f32x8(acc_2 + 392)));
            te_store_f32x8(acc_2 + 416, (te_load_f32x8(acc_2 + 416) + te_load_f32x8(acc_2 + 424)));
            te_store_f32x8(acc_2 + 448, (te_load_f32x8(acc_2 + 448) + te_load_f32x8(acc_2 + 456)));
            te_store_f32x8(acc_2 + 480, (te_load_f32x8(acc_2 + 480) + te_load_f32x8(acc_2 + 488)));
            acc_1_0 = (acc_1_0 + ((((f32x8){acc_2[0], acc_2[32], acc_2[64], acc_2[96], acc_2[128], acc_2[160], acc_2[192], acc_2[224]} + (f32x8){acc_2[1], acc_2[33], acc_2[65], acc_2[97], acc_2[129], acc_2[161], acc_2[193], acc_2[225]}) + ((f32x8){acc_2[2], acc_2[34], acc_2[66], acc_2[98], acc_2[130], acc_2[162], acc_2[194], acc_2[226]} + (f32x8){acc_2[3], acc_2[35], acc_2[67], acc_2[99], acc_2[131], acc_2[163], acc_2[195], acc_2[227]})) + (((f32x8){acc_2[4], acc_2[36], acc_2[68], acc_2[100], acc_2[132], acc_2[164], acc_2[196], acc_2[228]} + (f32x8){acc_2[5], acc_2[37], acc_2[69], acc_2[101], acc_2[133], acc_2[165], acc_2[197], acc_2[229]}) + ((f32x8){acc_2[6], acc_2[38], acc_2[70], acc_2[102], acc_2[134], acc_2[166], acc_2[198], acc_2[230]} + (f32x8){acc_2[7], acc_2[39], acc_2[71], acc_2[103], acc_2[135], acc_2[167], acc_2[199], acc_2[231]}))));
            acc_1_8 = (acc_1_8 + ((((f32x8){acc_2[256], acc_2[288], acc_2[320], acc_2[352], acc_2[384], acc_2[416], acc_2[448], acc_2[480]} + (f32x8){acc_2[257], acc_2[289], acc_2[321], acc_2[353], acc_2[385], acc_2[417], acc_2[449], acc_2[481]}) + ((f32x8){acc_2[258], acc_2[290], acc_2[322], acc_2[354], acc_2[386], acc_2[418], acc_2[450], acc_2[482]} + (f32x8){acc_2[259], acc_2[291], acc_2[323], acc_2[355], acc_2[387], acc_2[419], acc_2[451], acc_2[483]})) + (((f32x8){acc_2[260], acc_2[292], acc_2[324], acc_2[356], acc_2[388], acc_2[420], acc_2[452], acc_2[484]} + (f32x8){acc_2[261], acc_2[293], acc_2[325], acc_2[357], acc_2[389], acc_2[421], acc_2[453], acc_2[485]}) + ((f32x8){acc_2[262], acc_2[294], acc_2[326], acc_2[358], acc_2[390], acc_2[422], acc_2[454], acc_2[486]} + (f32x8){acc_2[263], acc_2[295], acc_2[327], acc_2[359], acc_2[391], acc_2[423], acc_2[455], acc_2[487]}))));
            te_store_f32x8(acc + i0_b, acc_1_0);
            te_store_f32x8(acc + (i0_b + 8), acc_1_8);
        }
        for (int64_t i2 = 0; i2 < 40; i2 += 16) {
            const int64_t i2_at = te_min_i64(i2, 24);
            float W_1[1536] __attribute__((aligned(64)));
            for (int64_t i1_2 = 0; i1_2 < 96; i1_2++) {
                te_store_f32x8(W_1 + 16*i1_2, te_load_f32x8(W + (40*i1_2 + i2_at)));
                te_store_f32x8(W_1 + (16*i1_2 + 8), te_load_f32x8(W + (40*i1_2 + i2_at + 8)));
            }
            float acc_6[512] __attribute__((aligned(64)));
            for (int64_t i0_b_1 = 0; i0_b_1 < 32; i0_b_1 += 4) {
                f32x8 acc_7_0;
                f32x8 acc_7_8;
                f32x8 acc_7_16;
                f32x8 acc_7_24;
                f32x8 acc_7_32;
                f32x8 acc_7_40;
                f32x8 acc_7_48;
                f32x8 acc_7_56;
                acc_7_0 = te_splat_f32x8(0.0f);
                acc_7_8 = te_splat_f32x8(0.0f);
                acc_7_16 = te_splat_f32x8(0.0f);
                acc_7_24 = te_splat_f32x8(0.0f);
                acc_7_32 = te_splat_f32x8(0.0f);
                acc_7_40 = te_splat_f32x8(0.0f);
                acc_7_48 = te_splat_f32x8(0.0f);
                acc_7_56 = te_splat_f32x8(0.0f);
                f32x4 acc_8;
                f32x4 acc_9;
                acc_9 = te_splat_f32x4(0.0f);
                f32x8 acc_10_0;
                f32x8 acc_10_8;
                f32x8 acc_10_16;
                f32x8 acc_10_24;
                f32x8 acc_10_32;
                f32x8 acc_10_40;
                f32x8 acc_10_48;
                f32x8 acc_10_56;
                f32x8 acc_10_64;
                f32x8 acc_10_72;
                f32x8 acc_10_80;
                f32x8 acc_10_88;
                f32x8 acc_10_96;
                f32x8 acc_10_104;
                f32x8 acc_10_112;
                f32x8 acc_10_120;
                acc_10_0 = te_splat_f32x8(0.0f);
                acc_10_8 = te_splat_f32x8(0.0f);
                acc_10_16 = te_splat_f32x8(0.0f);
                acc_10_24 = te_splat_f32x8(0.0f);
                acc_10_32 = te_splat_f32x8(0.0f);
                acc_10_40 = te_splat_f32x8(0.0f);
                acc_10_48 = te_splat_f32x8(0.0f);
                acc_10_56 = te_splat_f32x8(0.0f);
                acc_10_64 = te_splat_f32x8(0.0f);
                acc_10_72 = te_splat_f32x8(0.0f);
                acc_10_80 = te_splat_f32x8(0.0f);
                acc_10_88 = te_splat_f32x8(0.0f);
                acc_10_96 = te_splat_f32x8(0.0f);
                acc_10_104 = te_splat_f32x8(0.0f);
                acc_10_112 = te_splat_f32x8(0.0f);
                acc_10_120 = te_splat_f32x8(0.0f);
                for (int64_t i1_4 = 0; i1_4 < 96; i1_4 += 32) {
                    acc_10_0 = (acc_10_0 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4)));
                    acc_10_8 = (acc_10_8 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 8)));
                    acc_10_16 = (acc_10_16 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 16)));
                    acc_10_24 = (acc_10_24 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 24)));
                    acc_10_32 = (acc_10_32 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 96)));
                    acc_10_40 = (acc_10_40 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 104)));
                    acc_10_48 = (acc_10_48 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 112)));
                    acc_10_56 = (acc_10_56 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 120)));
                    acc_10_64 = (acc_10_64 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 192)));
                    acc_10_72 = (acc_10_72 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 200)));
                    acc_10_80 = (acc_10_80 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 208)));
                    acc_10_88 = (acc_10_88 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 216)));
                    acc_10_96 = (acc_10_96 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 288)));
                    acc_10_104 = (acc_10_104 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 296)));
                    acc_10_112 = (acc_10_112 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 304)));
                    acc_10_120 = (acc_10_120 + te_load_f32x8(X + (96*i0_at + 96*i0_b_1 + i1_4 + 312)));
                }
                acc_10_0 = (acc_10_0 + acc_10_16);
                acc_10_8 = (acc_10_8 + acc_10_24);
                acc_10_32 = (acc_10_32 + acc_10_48);
                acc_10_40 = (acc_10_40 + acc_10_56);
                acc_10_64 = (acc_10_64 + acc_10_80);
                acc_10_72 = (acc_10_72 + acc_10_88);
                acc_10_96 = (acc_10_96 + acc_10_112);
                acc_10_104 = (acc_10_104 + acc_10_120);
                acc_10_0 = (acc_10_0 + acc_10_8);
                acc_10_32 = (acc_10_32 + acc_10_40);
                acc_10_64 = (acc_10_64 + acc_10_72);
                acc_10_96 = (acc_10_96 + acc_10_104);
                acc_9 = (acc_9 + ((((f32x4){acc_10_0[0], acc_10_32[0], acc_10_64[0], acc_10_96[0]} + (f32x4){acc_10_0[1], acc_10_32[1], acc_10_64[1], acc_10_96[1]}) + ((f32x4){acc_10_0[2], acc_10_32[2], acc_10_64[2], acc_10_96[2]} + (f32x4){acc_10_0[3], acc_10_32[3], acc_10_64[3], acc_10_96[3]})) + (((f32x4){acc_10_0[4], acc_10_32[4], acc_10_64[4], acc_10_96[4]} + (f32x4){acc_10_0[5], acc_10_32[5], acc_10_64[5], acc_10_96[5]}) + ((f32x4){acc_10_0[6], acc_10_32[6], acc_10_64[6], acc_10_96[6]} + (f32x4){acc_10_0[7], acc_10_32[7], acc_10_64[7], acc_10_96[7]}))));
                acc_8 = acc_9;
                for (int64_t i1_3 = 0; i1_3 < 96; i1_3++) {
                    const float t_65 = (X[96*i0_at + 96*i0_b_1 + i1_3] + (-(acc_8[0] * t)));
                    acc_7_0 = (acc_7_0 + (te_splat_f32x8(t_65) * te_load_f32x8(W_1 + 16*i1_3)));
                    acc_7_8 = (acc_7_8 + (te_splat_f32x8(t_65) * te_load_f32x8(W_1 + (16*i1_3 + 8))));
                    const float t_67 = (X[96*i0_at + 96*i0_b_1 + i1_3 + 96] + (-(acc_8[1] * t)));
                    acc_7_16 = (acc_7_16 + (te_splat_f32x8(t_67) * te_load_f32x8(W_1 + 16*i1_3)));
                    acc_7_24 = (acc_7_24 + (te_splat_f32x8(t_67) * te_load_f32x8(W_1 + (16*i1_3 + 8))));
                    const float t_69 = (X[96*i0_at + 96*i0_b_1 + i1_3 + 192] + (-(acc_8[2] * t)));
                    acc_7_32 = (acc_7_32 + (te_splat_f32x8(t_69) * te_load_f32x8(W_1 + 16*i1_3)));
                    acc_7_40 = (acc_7_40 + (te_splat_f32x8(t_69) * te_load_f32x8(W_1 + (16*i1_3 + 8))));
                    const float t_71 = (X[96*i0_at + 96*i0_b_1 + i1_3 + 288] + (-(acc_8[3] * t)));
                    acc_7_48 = (acc_7_48 + (te_splat_f32x8(t_71) * te_load_f32x8(W_1 + 16*i1_3)));
                    acc_7_56 = (acc_7_56 + (te_splat_f32x8(t_71) * te_load_f32x8(W_1 + (16*i1_3 + 8))));
                }
                te_store_f32x8(acc_6 + 16*i0_b_1, acc_7_0);
                te_store_f32x8(acc_6 + (16*i0_b_1 + 8), acc_7_8);
                te_store_f32x8(acc_6 + (16*i0_b_1 + 16), acc_7_16);
                te_store_f32x8(acc_6 + (16*i0_b_1 + 24), acc_7_24);
                te_store_f32x8(acc_6 + (16*i0_b_1 + 32), acc_7_32);
                te_store_f32x8(acc_6 + (16*i0_b_1 + 40), acc_7_40);
                te_store_f32x8(acc_6 + (16*i0_b_1 + 48), acc_7_48);
                te_store_f32x8(acc_6 + (16*i0_b_1 + 56), acc_7_56);
            }
            for (int64_t i0_e_24 = 0; i0_e_24 < 32; i0_e_24++) {
                const float t_4 = (1.0f / sqrtf(((acc[i0_e_24] * t) + 1e-05f)));
                te_store_f32x8(Y + (40*i0_at + 40*i0_e_24 + i2_at), (te_splat_f32x8(t_4) * te_load_f32x8(acc_6 + 16*i0_e_24)));
                te_store_f32x8(Y + (40*i0_at + 40*i0_e_24 + i2_at + 8), (te_splat_f32x8(t_4) * te_load_f32x8(acc_6 + (16*i0_e_24 + 8))));
            }
        }
    }
}
