"""Printed C as a program of its own, for sanitizers: exact allocations, and parallel loops on POSIX threads.

    harness(text, kernels)     the C with a main that reads one case from a file and calls every kernel once
    threaded(text)             the same C whose OpenMP loops are shared out over POSIX threads

A thread sanitizer does not see how OpenMP's runtime orders its threads, and so reports races that are none. Here each
parallel loop becomes a nested function (GNU C), which TEAM threads call for every TEAM-th turn between pthread_create
and pthread_join, whose order it does see. What it reports is then a race of the loop itself: whether two turns of it
touch the same memory, one of them writing, whichever threads run them.

One overlap is meant: where a size is no multiple of a tile, the last turn starts earlier (`te_min_i64(i, n - tile)`)
and writes some elements once more, with the values that they have. Such a loop runs its last turn behind the
others here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tang_egg.codegen.legalize import identifier
from tang_egg.errors import CodegenError
from tang_egg.ir import Source, Tensor
from tang_egg.run_arrays import NUMPY
from tang_egg.run_layout import Built

TEAM = 4
PRAGMA = re.compile(
    r"^#if -?\d+ > TE_WORK\n(?:#pragma omp parallel for[^\n]*\n|#elif[^\n]*\n)*#endif\n"
    r"|^[ \t]*#pragma omp parallel for[^\n]*\n",
    re.M,
)
_LOOP = re.compile(r"[ \t]*for \(int64_t (\w+) = (.*?); \1 < (.*?); (.*?)\) \{\n")
_THREAD = "#else\n    return 0;\n#endif"

_POSIX = f"""
#include <pthread.h>
#include <stdint.h>
static __thread int64_t te_shim_thread;
struct te_share {{ int64_t start, stop, step, n; void (*body)(int64_t); }};
static void *te_shim_run(void *p)
{{
    struct te_share *s = p;
    te_shim_thread = s->n;
    for (int64_t i = s->start + s->n * s->step; i < s->stop; i += {TEAM} * s->step) s->body(i);
    return 0;
}}
static void te_shim_for(int64_t start, int64_t stop, int64_t step, int last, void (*body)(int64_t))
{{
    const int64_t tail = start + (stop - start - 1) / step * step;
    if (stop <= start) return;
    if (last) stop = tail;
    pthread_t team[{TEAM}];
    struct te_share share[{TEAM}];
    for (int n = 0; n < {TEAM}; n++) {{
        share[n] = (struct te_share){{start, stop, step, n, body}};
        if (pthread_create(&team[n], 0, te_shim_run, &share[n])) __builtin_trap();
    }}
    for (int n = 0; n < {TEAM}; n++) pthread_join(team[n], 0);
    if (last) body(tail);
}}
"""


def threaded(text: str) -> str:
    """The source with its parallel loops on POSIX threads. Raises CodegenError for a loop in another form."""
    if text.count(_THREAD) != 1:
        raise CodegenError(
            "the prelude's te_thread is not in the form that is known",
            where="verify_shim.threaded",
            mend="follow the change of te_thread in prelude/scalar.h there",
        )
    text = text.replace(_THREAD, "#else\n    return te_shim_thread;\n#endif")
    while found := PRAGMA.search(text):
        loop = _LOOP.match(text, found.end())
        step = _step(loop[1], loop[4]) if loop else ""
        if loop is None or not step:
            raise CodegenError(
                "a parallel loop is not in the form that is known",
                where=text[found.end() : text.find("\n", found.end())].strip(),
                mend="follow the change of the printed loops in verify_shim",
            )
        end = _closing(text, loop.end())
        body = text[loop.end() : end]
        last = int(bool(re.match(rf"\s*const int64_t \w+ = te_min_i64\({loop[1]}, ", body)))
        call = f"te_shim_for({loop[2]}, {loop[3]}, {step}, {last}, te_body);"
        made = f"{{ void te_body(int64_t {loop[1]}) {{\n{body}}}\n{call} }}\n"
        text = text[: found.start()] + made + text[end + 1 :]
    return _POSIX + text


def _step(variable: str, text: str) -> str:
    """By how much a loop steps."""
    found = re.fullmatch(rf"{variable} \+= (.+)", text)
    return found[1] if found else "1" if text in (f"{variable}++", f"++{variable}") else ""


def _closing(text: str, start: int) -> int:
    """Where the brace closes that was opened before `start`. Printed kernels have none in texts or comments."""
    depth = 1
    for n in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[n], 0)
        if not depth:
            return n
    raise CodegenError("a brace is not closed", where="a printed kernel", mend="report the source")


def arrays_of(kernels: Sequence[Built]) -> list[Source]:
    """Every array of a program once, in order of first use."""
    return list(dict.fromkeys(s for b in kernels for s in b.sources))


def harness(text: str, kernels: Sequence[Built]) -> str:
    """The source with a `main(file)`; what it does is told on standard error: its arrays, and each kernel it calls."""
    arrays = arrays_of(kernels)
    place = {s: n for n, s in enumerate(arrays)}
    lines = [
        "#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>", "#include <stdint.h>",
        f"static void *te_array[{max(1, len(arrays))}];",
        "static int64_t te_number(FILE *f) { int64_t n = 0; if (fread(&n, 8, 1, f) != 1) exit(3); return n; }",
        "static void *te_room(int64_t n, FILE *f) {",
        "    void *p = 0; if (posix_memalign(&p, 64, n ? n : 1)) exit(3);",
        "    if (f && n && fread(p, 1, n, f) != (size_t)n) exit(3);",
        "    if (!f) memset(p, 0xFF, n);",
        "    return p; }",
        "int main(int argc, char **argv) {",
        '    FILE *f = argc > 1 ? fopen(argv[1], "rb") : 0; if (!f) return 3;',
    ]  # fmt: skip
    for n in range(len(arrays)):
        lines.append(
            f"    {{ int64_t size = te_number(f), given = te_number(f); te_array[{n}] = te_room(size, given ? f : 0);"
        )
        lines.append(f'      fprintf(stderr, "te-array {n} %p %ld\\n", te_array[{n}], (long)size); }}')
    for n, b in enumerate(kernels):
        name = identifier(b.kernel.name, set())
        table = ", ".join(f"te_array[{place[s]}]" for s in b.sources) or "0"
        lines.append(f"    {{ void *table[] = {{{table}}}; int64_t dims[{max(1, len(b.kernel.dims))}] = {{0}};")
        lines += [f"      dims[{k}] = te_number(f);" for k in range(len(b.kernel.dims))]
        lines.append("      int64_t room = te_number(f); char *scratch = te_room(room, 0);")
        lines.append(f'      fprintf(stderr, "te-kernel {n}\\n"); {name}(table, dims, scratch); free(scratch); }}')
    lines += [f"    free(te_array[{n}]);" for n in range(len(arrays))]
    lines += ["    fclose(f); return 0; }", ""]
    return text + "\n".join(lines)


def case_file(
    kernels: Sequence[Built], values: Mapping[str, npt.NDArray[np.generic]], dims: Mapping[str, int]
) -> bytes:
    """What `main` reads: for every array its bytes and whether values follow; for every kernel its dims and workspace.

    `values`: of the graph's inputs by name, as they are stored. An array without elements is a row of zeros.
    """
    parts: list[bytes] = []
    for s in arrays_of(kernels):
        shape = tuple(max(1, n.evaluate(dims)) for n in s.shape)
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(NUMPY[s.dtype]).itemsize
        empty = any(n.evaluate(dims) == 0 for n in s.shape)
        given = empty or not isinstance(s, Tensor)
        parts.append(np.array([size, given], np.int64).tobytes())
        if given:
            parts.append(bytes(size) if empty else np.ascontiguousarray(values[s.name]).tobytes())
    for b in kernels:
        each = sum(-(-x.size.evaluate(dims) * np.dtype(NUMPY[x.type]).itemsize // 64) * 64 for x in b.kernel.scratch)
        parts.append(np.array([*(dims[d] for d in b.kernel.dims), each * TEAM], np.int64).tobytes())
    return b"".join(parts)
