// Whether other threads serve loops that are too short to be worth waking them: when calls have followed one another
// closely, for longer than waking takes. Threads that were woken once spin from call to call then. A caller that leaves
// gaps, such as a loop of control, never waits for one that sleeps; one that stops early has lost as much as it had
// spent before. Where a call takes longer than it took alone, processors are taken: the next try is put off, twice as
// long each time, until calls with threads have been quick for as long. Each thread that calls has a team of its own.
#include <time.h>
#ifndef TE_GAP
#define TE_GAP 100000       // nanoseconds between calls in which waiting threads have surely not gone to sleep
#define TE_STREAK 200000    // nanoseconds for which calls have followed one another before threads are woken
#define TE_MOST 100000000   // nanoseconds for which a try is put off at most
#endif
static __thread struct {
    int64_t began, started, ended, alone, wait;
    int before;
} te_calls = {.ended = -TE_GAP, .wait = TE_STREAK};
__thread int te_awake;

static int64_t te_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void te_begin(void)
{
    const int64_t now = te_calls.started = te_clock();
    if (now - te_calls.ended > TE_GAP) te_calls.began = now;
    te_calls.before = te_awake;
    te_awake = now - te_calls.began > te_calls.wait;
}

static void te_end(void)
{
    const int64_t now = te_calls.ended = te_clock(), took = now - te_calls.started;
    if (!te_awake) {
        const int64_t more = te_calls.alone + te_calls.alone / 8 + 1;  // one call that was interrupted says little
        te_calls.alone = te_calls.alone == 0 || took < more ? took : more;
    } else if (!te_calls.before) {
        return;  // this call woke them
    } else if (took > 2 * te_calls.alone) {
        te_calls.began = now;
        te_calls.wait = 2 * te_calls.wait < TE_MOST ? 2 * te_calls.wait : TE_MOST;
    } else {
        te_calls.wait = te_calls.wait - took > TE_STREAK ? te_calls.wait - took : TE_STREAK;
    }
}
