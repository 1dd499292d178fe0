// Two vectors joined by halves, parted into quarters, or zipped: the rounds of a transpose in registers (legalize_turn).
// Vectors of 32 and 64 bytes zip within pieces of 16.
#if defined(__clang__) || __GNUC__ >= 12
#define TE_SHUFFLE(V, M, A, B, ...) __builtin_shufflevector(A, B, __VA_ARGS__)
#else
#define TE_SHUFFLE(V, M, A, B, ...) __builtin_shuffle(A, B, (M){__VA_ARGS__})
#endif
#define TE_PAIR(NAME, V, M, ...)                                                                          \
    static inline V te_##NAME##_##V(V a, V b) { return TE_SHUFFLE(V, M, a, b, __VA_ARGS__); }
#define TE_TURN8(V, M)                                                                                    \
    TE_PAIR(join_low, V, M, 0, 1, 2, 3, 8, 9, 10, 11)                                                     \
    TE_PAIR(join_high, V, M, 4, 5, 6, 7, 12, 13, 14, 15)                                                  \
    TE_PAIR(zip_low, V, M, 0, 8, 1, 9, 4, 12, 5, 13)                                                      \
    TE_PAIR(zip_high, V, M, 2, 10, 3, 11, 6, 14, 7, 15)
#define TE_TURN4(V, M)                                                                                    \
    TE_PAIR(join_low, V, M, 0, 1, 4, 5)                                                                   \
    TE_PAIR(join_high, V, M, 2, 3, 6, 7)                                                                  \
    TE_PAIR(zip_low, V, M, 0, 4, 2, 6)                                                                    \
    TE_PAIR(zip_high, V, M, 1, 5, 3, 7)
#define TE_TURN64(V, M)                                                                                   \
    TE_PAIR(join_low, V, M, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)                       \
    TE_PAIR(join_high, V, M, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)                \
    TE_PAIR(part_low, V, M, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)                     \
    TE_PAIR(part_high, V, M, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)                  \
    TE_PAIR(zip_low, V, M, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)                      \
    TE_PAIR(zip_high, V, M, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define TE_TURN64_LONG(V, M)                                                                              \
    TE_PAIR(join_low, V, M, 0, 1, 2, 3, 8, 9, 10, 11)                                                     \
    TE_PAIR(join_high, V, M, 4, 5, 6, 7, 12, 13, 14, 15)                                                  \
    TE_PAIR(part_low, V, M, 0, 1, 4, 5, 8, 9, 12, 13)                                                     \
    TE_PAIR(part_high, V, M, 2, 3, 6, 7, 10, 11, 14, 15)                                                  \
    TE_PAIR(zip_low, V, M, 0, 8, 2, 10, 4, 12, 6, 14)                                                     \
    TE_PAIR(zip_high, V, M, 1, 9, 3, 11, 5, 13, 7, 15)
#define TE_TURN16(V, M)                                                                                   \
    TE_PAIR(zip_low, V, M, 0, 8, 1, 9, 2, 10, 3, 11)                                                      \
    TE_PAIR(zip_high, V, M, 4, 12, 5, 13, 6, 14, 7, 15)
TE_TURN8(f32x8, m32x8)
TE_TURN8(i32x8, m32x8)
TE_TURN8(u32x8, m32x8)
TE_TURN4(f64x4, m64x4)
TE_TURN4(i64x4, m64x4)
TE_TURN4(u64x4, m64x4)
TE_TURN16(i16x8, m16x8)
TE_TURN16(u16x8, m16x8)
#ifdef TE_SIXTEEN
TE_TURN64(f32x16, m32x16)
TE_TURN64(i32x16, m32x16)
TE_TURN64(u32x16, m32x16)
TE_TURN64_LONG(f64x8, m64x8)
TE_TURN64_LONG(i64x8, m64x8)
TE_TURN64_LONG(u64x8, m64x8)
#endif

// The lanes of a vector one further on, behind another element: what falls off the end is gone.
#define TE_BEHIND(T, V, M, ...)                                                                           \
    static inline V te_behind_##V(T x, V v)                                                               \
    {                                                                                                     \
        return TE_SHUFFLE(V, M, te_splat_##V(x), v, __VA_ARGS__);                                         \
    }
#define TE_BEHIND4(T, N, M) TE_BEHIND(T, N##x4, M##x4, 0, 4, 5, 6)
#define TE_BEHIND8(T, N, M) TE_BEHIND(T, N##x8, M##x8, 0, 8, 9, 10, 11, 12, 13, 14)
#ifdef TE_SIXTEEN
#define TE_BEHIND16(T, N, M)                                                                              \
    TE_BEHIND(T, N##x16, M##x16, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
#else
#define TE_BEHIND16(T, N, M)
#endif
#define TE_BEHIND_ALL(T, N, M) TE_BEHIND4(T, N, M) TE_BEHIND8(T, N, M) TE_BEHIND16(T, N, M)
TE_BEHIND_ALL(float, f32, m32)
TE_BEHIND_ALL(int8_t, i8, m8)
TE_BEHIND_ALL(uint8_t, u8, m8)
TE_BEHIND_ALL(int16_t, i16, m16)
TE_BEHIND_ALL(uint16_t, u16, m16)
TE_BEHIND_ALL(int32_t, i32, m32)
TE_BEHIND_ALL(uint32_t, u32, m32)
TE_BEHIND4(double, f64, m64) TE_BEHIND8(double, f64, m64)
TE_BEHIND4(int64_t, i64, m64) TE_BEHIND8(int64_t, i64, m64)
TE_BEHIND4(uint64_t, u64, m64) TE_BEHIND8(uint64_t, u64, m64)

// Eight elements of 16 bits that are only moved.
typedef u16x8 r16x8;
static inline r16x8 te_load_r16x8(const void *p) { return te_load_u16x8((const uint16_t *)p); }
static inline void te_store_r16x8(void *p, r16x8 x) { te_store_u16x8((uint16_t *)p, x); }
TE_TURN16(r16x8, m16x8)
