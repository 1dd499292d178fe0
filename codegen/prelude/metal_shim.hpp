// What printed Metal needs of metal_stdlib and of a launch, on a host with g++ or clang++: threads of a group are fibers.
//
// A fiber runs until it meets a barrier or an exchange of lanes, and goes on once all that have to meet are there. A
// group in which some fibers never come to what others wait for is an error, not a hang.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
static_assert(sizeof(long) == 8, "Metal's long has 64 bits");

namespace shim {
constexpr int WIDTH = 32, MOST = 1024;
constexpr size_t STACK = 256 << 10;

struct Fiber {
    ucontext_t context;
    char *stack = nullptr;
    uint64_t value = 0;
    int waits = 0;  // 0 runs, 1 for its group of lanes, 2 for all, 3 done
    int signature = 0;
};
struct Group {
    ucontext_t scheduler;
    Fiber fibers[MOST];
    int threads = 0, running = 0;
    void (*body)(void *, uint, uint) = nullptr;
    void *data = nullptr;
    uint number = 0;
};
inline thread_local Group *here = nullptr;
inline thread_local bool plain = true;  // no fibers: bodies run one after another

inline void wait(int kind, int signature)
{
    Group &g = *here;
    Fiber &f = g.fibers[g.running];
    f.waits = kind;
    f.signature = signature;
    swapcontext(&f.context, &g.scheduler);
}
inline void entry()
{
    Group &g = *here;
    const int n = g.running;
    g.body(g.data, (uint)n, g.number);
    g.fibers[n].waits = 3;
    swapcontext(&g.fibers[n].context, &g.scheduler);
}
inline bool all_wait(Group &g, int from, int to, int kind)
{
    int waiting = 0, done = 0;
    for (int n = from; n < to; n++) waiting += g.fibers[n].waits == kind, done += g.fibers[n].waits == 3;
    return waiting > 0 && waiting + done == to - from;
}
// Runs one group; 0, or 1 where its threads part before a barrier.
inline int run_group(Group &g)
{
    for (int n = 0; n < g.threads; n++) {
        Fiber &f = g.fibers[n];
        if (f.stack == nullptr) f.stack = (char *)std::malloc(STACK);
        if (f.stack == nullptr) return 2;
        f.waits = 0;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack;
        f.context.uc_stack.ss_size = STACK;
        f.context.uc_link = &g.scheduler;
        makecontext(&f.context, (void (*)())entry, 0);
    }
    for (;;) {
        bool moved = false;
        for (int n = 0; n < g.threads; n++)
            if (g.fibers[n].waits == 0) {
                g.running = n;
                swapcontext(&g.scheduler, &g.fibers[n].context);
                moved = true;
            }
        for (int first = 0; first < g.threads; first += WIDTH) {
            const int last = first + WIDTH < g.threads ? first + WIDTH : g.threads;
            if (all_wait(g, first, last, 1)) {
                for (int n = first; n < last; n++)
                    if (g.fibers[n].waits == 3 || g.fibers[n].signature != g.fibers[first].signature) return 1;
                for (int n = first; n < last; n++) g.fibers[n].waits = 0;
                moved = true;
            }
        }
        if (all_wait(g, 0, g.threads, 2)) {
            for (int n = 0; n < g.threads; n++) {
                if (g.fibers[n].waits == 3) return 1;
                g.fibers[n].waits = 0;
            }
            moved = true;
        }
        if (!moved) {
            for (int n = 0; n < g.threads; n++)
                if (g.fibers[n].waits != 3) return 1;
            return 0;
        }
    }
}
inline int launch(uint groups, uint threads, bool fibers, void (*body)(void *, uint, uint), void *data)
{
    plain = !fibers;
    if (!fibers) {
        for (uint g = 0; g < groups; g++)
            for (uint n = 0; n < threads; n++) body(data, n, g);
        return 0;
    }
    if (threads > MOST) return 2;
    Group *g = new Group();
    Group *before = here;
    here = g;
    g->threads = (int)threads;
    g->body = body;
    g->data = data;
    int failed = 0;
    for (uint n = 0; n < groups && !failed; n++) {
        g->number = n;
        failed = run_group(*g);
    }
    for (Fiber &f : g->fibers) std::free(f.stack);
    here = before;
    delete g;
    return failed;
}
}  // namespace shim

// ---- the language ----

#define kernel
#define device
#define constant const
#define thread

struct half {
    ushort bits;
    half() = default;
    explicit half(float x)
    {
        uint32_t u;
        std::memcpy(&u, &x, 4);
        const ushort sign = (ushort)(u >> 16 & 0x8000);
        const float a = std::fabs(x);
        if (x != x) bits = (ushort)(sign | 0x7E00);
        else if (a >= 65520.0f) bits = (ushort)(sign | 0x7C00);
        else if (a < 0x1p-14f) bits = (ushort)(sign | (ushort)std::nearbyint(a * 0x1p24f));
        else {
            int e;
            const float m = std::frexp(a, &e);  // a = m * 2^e with 0.5 <= m < 1
            bits = (ushort)(sign | (((uint)(e + 14) << 10) + ((uint)std::nearbyint(m * 0x1p11f) - 0x400)));
        }
    }
    explicit operator float() const
    {
        const uint body = bits & 0x7FFF, e = body >> 10, m = body & 0x3FF;
        const float sign = bits & 0x8000 ? -1.0f : 1.0f;
        if (e == 31) return m ? NAN : sign * INFINITY;
        return sign * (e ? std::ldexp((float)(m | 0x400), (int)e - 25) : std::ldexp((float)m, -24));
    }
};

namespace metal {
template <class B, class A> inline B as_type(A x)
{
    static_assert(sizeof(A) == sizeof(B), "bits of types of different widths");
    B y;
    std::memcpy(&y, &x, sizeof y);
    return y;
}
using std::fabs;
using std::floor;
using std::fma;
namespace precise {
inline float exp(float x) { return ::expf(x); }
inline float log(float x) { return ::logf(x); }
inline float sin(float x) { return ::sinf(x); }
inline float sqrt(float x) { return ::sqrtf(x); }
inline float tanh(float x) { return ::tanhf(x); }
inline float atan2(float y, float x) { return ::atan2f(y, x); }
inline float divide(float a, float b) { return a / b; }
}  // namespace precise

enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };

inline void threadgroup_barrier(mem_flags) { shim::wait(2, 0); }
inline void simdgroup_barrier(mem_flags) { shim::wait(1, 0); }

// Lanes leave their values, meet, read, and meet again before a value may be overwritten.
template <class T> inline T simd_shuffle_xor(T x, ushort mask)
{
    shim::Group &g = *shim::here;
    const int mine = g.running;
    g.fibers[mine].value = 0;
    std::memcpy(&g.fibers[mine].value, &x, sizeof x);
    shim::wait(1, 1 + mask);
    T y;
    std::memcpy(&y, &g.fibers[mine ^ mask].value, sizeof y);
    shim::wait(1, 1 + mask);
    return y;
}
}  // namespace metal
