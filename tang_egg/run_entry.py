"""The C by which a program's kernels are called: `tang_run`, which calls them in order, and `tang_call`.

`tang_call` gets all arguments of `tang_run` behind one pointer: each argument of a call from Python costs some 50 ns.
Where kernels have loops that other threads serve only if they need not be woken, `tang_run` tells whether that is so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tang_egg.codegen.dialects.c import streak
from tang_egg.codegen.kernel import Kernel, Loop, statements

AWAKE = """
extern __attribute__((visibility("hidden"))) __thread int te_awake;
#define TE_AWAKE te_awake
"""
"""What stands behind the prelude where kernels may have such loops."""

_CALL = (
    "void tang_call(void **given) {",
    "    tang_run(given[0], given[1], given[2], (int)(intptr_t)given[3]);",
    "}",
)
_TEAM = (
    ("#ifdef _OPENMP", "    const int before = omp_get_max_threads();", "    omp_set_num_threads(threads);", "#endif"),
    ("#ifdef _OPENMP", "    omp_set_num_threads(before);", "#endif"),
)
"""What stands before and after the calls of kernels."""
_STREAK = (("#ifdef TE_GAP", "    te_begin();", "#endif"), ("#ifdef TE_GAP", "    te_end();", "#endif"))


def entries(kernels: Iterable[Kernel], names: Iterable[str], calls: Sequence[str]) -> str:
    """The functions that a program is called by. `names`: of its kernels. `calls`: of them, in order."""
    lines = [f"void {name}(void **buffers, const int64_t *dims, char *scratch);" for name in names]
    short = short_loops(kernels)
    if short:
        lines += [f"#if defined(_OPENMP) && ({' || '.join(short)})", *streak().splitlines(), "#endif"]
    before, after = _STREAK if short else ((), ())
    lines.append("void tang_run(void **buffers, const int64_t *dims, char *scratch, int threads) {")
    # The wish is set for the calling thread alone, and taken back: other code in this process may use OpenMP too.
    lines += [*before, *_TEAM[0], *calls, *_TEAM[1], *after, "}", *_CALL]
    return "\n".join(["", *lines, ""])


def short_loops(kernels: Iterable[Kernel]) -> list[str]:
    """For loops that may be shared out only where they do little with much that they read: when they are such, in C."""
    found: dict[tuple[int, int], None] = {}
    for k in kernels:
        for s in statements(k.body):
            if isinstance(s, Loop) and s.kind == "parallel" and s.work is not None and k.words:
                work = s.work.value
                if work is not None:
                    found[work, k.words] = None
    return [f"({work} <= TE_WORK && {work} + TE_WORD * {words} > TE_WORK)" for work, words in found]
