"""Calls of exported libraries ask for no memory: a C program counts what the allocator is asked for meanwhile."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

import tang_egg as te
from tang_egg import library
from tang_egg.export import export_c
from tang_egg.ir import Graph
from tang_egg.run_toolchain import compiler

ROWS = 37


def policy() -> Graph:
    """Two layers of a small network, for any number of observations: its temporary lies in the workspace."""
    x = te.input("x", (te.dim("n", lo=1), 48))
    w, b = te.input("w", (256, 48)), te.input("b", (256,))
    u, c = te.input("u", (12, 256)), te.input("c", (12,))
    hidden = library.pointwise(te.tanh, library.linear(x, w, b, transposed=True))
    return te.graph("policy", y=library.linear(hidden, u, c, transposed=True))


def build(folder: Path, *flags: str) -> str:
    """What the program says of a library: what was asked for before any call, in the first one, and in ten more."""
    export_c(te.optimize(policy(), verified=False), folder / "made")
    (folder / "main.c").write_text(_MAIN)
    command = [
        *compiler().command,
        "-std=gnu11",
        "-O1",
        *flags,
        "-Imade",
        "main.c",
        "made/policy.c",
        "-o",
        "main",
        "-lm",
    ]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "main"], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is replaced by glibc's own names")
@pytest.mark.parametrize("threads", [False, True])
def test_a_call_asks_for_no_memory(threads: bool, tmp_path: Path) -> None:
    if threads and not compiler().threads:
        pytest.skip("no OpenMP here")
    before, first, more = map(int, build(tmp_path, *(["-fopenmp", "-DTE_WORK=0"] if threads else [])).split())
    assert before >= 8, "the program's own buffers are counted"
    assert more == 0
    assert threads or first == 0  # OpenMP makes its threads in the first call


_MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "policy.h"
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static long asked;
void *malloc(size_t n) { asked++; return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { asked++; return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { asked++; return __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { asked++; return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { asked++; return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { asked++; return (*p = __libc_memalign(a, n)) ? 0 : 12; }
static float *some(size_t n)
{
    float *p = malloc(4 * n);
    for (size_t i = 0; i < n; i++) p[i] = 0.01f;
    return p;
}
int main(void)
{
    policy_dims dims = {ROWS};
    size_t bytes = 0;
    if (policy_workspace_bytes(&dims, 0, &bytes)) return 1;
    void *room = aligned_alloc(64, (bytes + 127) / 64 * 64);
    policy_inputs in = {.x = some(ROWS * 48), .w = some(256 * 48), .b = some(256), .u = some(12 * 256), .c = some(12)};
    float *y = some(ROWS * 12), *other = some(8);
    policy_outputs out = {.y = y};
    long before = asked;
    if (policy_run(&in, &out, &dims, room, bytes)) return 2;
    long first = asked - before;
    for (int n = 0; n < 10; n++)
        if (policy_run(&in, &out, &dims, room, bytes)) return 3;
    long more = asked - before - first;
    if (!(y[ROWS * 12 - 1] > 0.047f && y[ROWS * 12 - 1] < 0.049f && other)) return 4;
    printf("%ld %ld %ld\\n", before, first, more);
    return 0;
}
""".replace("ROWS", str(ROWS))
