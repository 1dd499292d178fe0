"""Loops too short to wake threads for: what they read is counted, and threads that are awake serve them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tang_egg as te
from tang_egg import run_toolchain
from tang_egg.affine import Dim
from tang_egg.codegen.dialects.c import streak
from tang_egg.codegen.words_read import words_read
from tang_egg.run import CompiledProgram
from tang_egg.verify_shim import PRAGMA

GAP, STREAK = 100_000, 200_000


def rows(m: int | Dim, k: int | Dim) -> te.Graph:
    """A product of a matrix and a vector, plus a vector."""
    w, x, b = te.input("W", (m, k)), te.input("x", (k,)), te.input("b", (m,))
    i, j = te.indices("i j")
    return te.graph("rows", te.tensor("Y", i, te.sum(j, w[i, j] * x[j]) + b[i]), inputs=(w, x, b))


def read(graph: te.Graph) -> int:
    return words_read(graph.outputs)


def test_what_is_read_counts_once() -> None:
    assert read(rows(6, 5)) == 6 * 5 + 5 + 6
    assert read(rows(6, Dim("k"))) == 0, "a symbolic size"
    x, (i, j) = te.input("x", (40,), "bf16"), (te.index("i", 30), te.index("j", 11))
    windows = te.graph("windows", te.tensor("Y", i, te.sum(j, x[i + j])))
    assert read(windows) == 40 * 2 // 4, "not one for each of the 330 reads; two of 16 bits are a word"
    y, n = te.input("y", (7, 100)), te.index("n", 9)
    assert read(te.graph("row", te.tensor("Y", n, y[3, n]))) == 9, "one row, and nine of its elements"


def test_rows_whose_place_comes_from_data_are_not_the_whole_table() -> None:
    table, ids = te.input("T", (1000, 8)), te.input("ids", (3,), "i64")
    i, j = te.indices("i j")
    assert read(te.graph("rows", te.tensor("Y", (i, j), table[ids[i], j]))) <= 3 * 8 + 6


# -- which loops are short


def source(monkeypatch: pytest.MonkeyPatch, graph: te.Graph, flags: str) -> te.Compiled:
    monkeypatch.setenv("TANG_CFLAGS", f"-O1 {flags}")
    return te.optimize(graph, schedule={"Y": "split parallel=i0 tile=i0:8 fold=i1:lanes:8"}, verified=False)


def test_only_loops_of_known_work_ask_whether_threads_are_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    known = source(monkeypatch, rows(48, 40), "").source
    assert "#if 1968 > TE_WORK" in known and "TE_WORD * 2008" in known and "te_begin();" in known
    symbolic = source(monkeypatch, rows(Dim("m"), 40), "").source
    assert "if (41*m > TE_WORK)" in symbolic and "te_begin" not in symbolic and "te_awake" not in symbolic


def shared_out(compiled: te.Compiled) -> bool:
    """Whether the compiler made functions of loops, for other threads."""
    assert isinstance(compiled.runner, CompiledProgram)
    made = Path(compiled.runner.library._name).read_bytes()
    return b"_omp_fn" in made or b"omp_outlined" in made


def test_a_loop_that_stays_on_one_thread_does_not_ask_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    few, enough = 1968, 1968 + 3 * 2008
    on = [
        shared_out(source(monkeypatch, rows(48, 40), f"-DTE_WORD={word} -DTE_WORK={n}"))
        for word, n in ((3, few - 1), (3, few), (3, enough - 1), (3, enough), (0, few - 1), (0, few))
    ]
    shared = run_toolchain.compiler().threads
    assert on == [shared, shared, shared, False, shared, False]


@pytest.mark.parametrize("k", [1, 7, 8, 9, 40])
@pytest.mark.parametrize("m", [0, 1, 7, 8, 9, 17, 48])
def test_awake_threads_compute_the_same(m: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """TE_WORK lies between the work of the loop and that with what it reads; every call counts as one of a streak."""
    graph = rows(m, k)
    flags = f"-DTE_WORD=3 -DTE_WORK={m * (k + 1)} -DTE_GAP=-1 -DTE_STREAK=-1 -DTE_MOST=-1"
    compiled = source(monkeypatch, graph, flags)
    assert isinstance(compiled.runner, CompiledProgram)
    assert shared_out(compiled) == run_toolchain.compiler().threads
    numbers = np.random.default_rng(m * 100 + k)
    given = {i.name: numbers.standard_normal([n.evaluate({}) for n in i.shape], np.float32) for i in graph.inputs}
    call = compiled.prepare(**given)
    for _ in range(3):
        call.outputs["Y"][...] = np.nan
        call()
        np.testing.assert_allclose(call.outputs["Y"], given["W"] @ given["x"] + given["b"], rtol=2e-5, atol=2e-5)


def test_a_sanitizer_takes_such_loops_for_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    text = source(monkeypatch, rows(48, 40), "").source
    kernel = text[text.index("void k0_") :]
    found = PRAGMA.search(kernel)
    assert found is not None and found[0].startswith("#if 1968") and found[0].endswith("#endif\n")
    assert kernel[found.end() :].lstrip().startswith("for (int64_t i0 = 0;")


# -- when threads are awake

CLOCK = """
#include <stdint.h>
#include <time.h>
static int64_t at;
static int told(struct timespec *t) { t->tv_sec = at / 1000000000; t->tv_nsec = at % 1000000000; return 0; }
#define clock_gettime(clock, t) told(t)
"""
ASKED = """
int begins(int64_t now) { at = now; te_begin(); return te_awake; }
void ends(int64_t now) { at = now; te_end(); }
"""


@dataclass
class Caller:
    """Calls one after another on a clock of its own, in nanoseconds: `alone`, or `shared` where threads are awake."""

    library: ctypes.CDLL
    now: int = 10**9

    def call(self, gap: int, alone: int, shared: int) -> bool:
        """Whether the next call, after a gap, finds threads awake."""
        awake = bool(self.library.begins(self.now + gap))
        self.now += gap + (shared if awake else alone)
        self.library.ends(self.now)
        return awake


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    """With a library, and so a state, of its own."""
    library = run_toolchain.build(f"// {tmp_path}\n{CLOCK}{streak()}{ASKED}")
    library.begins.argtypes = library.ends.argtypes = (ctypes.c_int64,)
    return Caller(library)


def test_calls_with_gaps_find_threads_asleep(caller: Caller) -> None:
    assert not any(caller.call(GAP + 1, 15_000, 8_000) for _ in range(100))


def test_calls_in_a_row_wake_threads_when_they_have_lasted_as_long_as_waking(caller: Caller) -> None:
    found = [caller.call(5_000, 15_000, 8_000) for _ in range(30)]
    first = STREAK // 20_000 + 1
    assert found == [False] * first + [True] * (30 - first)
    assert caller.call(GAP, 15_000, 8_000)
    assert not caller.call(GAP + 1, 15_000, 8_000) and not caller.call(1_000, 15_000, 8_000), "a gap ends the streak"


def test_one_long_call_begins_a_streak(caller: Caller) -> None:
    assert not caller.call(0, STREAK + 1, 1)
    assert caller.call(1_000, STREAK + 1, 1)


def test_where_processors_are_taken_the_next_try_is_put_off(caller: Caller) -> None:
    """Threads make calls of 15 us ten times as long: of all time until then, tries take less and less."""
    tried, start = list[int](), caller.now
    while len(tried) < 14:
        if caller.call(1_000, 15_000, 150_000):
            tried.append(caller.now)
    waited = np.diff(tried[1::2])
    assert np.all(waited[:5] > STREAK * 2.0 ** np.arange(1, 6)), waited
    assert len(tried) * 150_000 < 0.2 * (caller.now - start)


def test_a_call_alone_that_was_interrupted_does_not_excuse_slow_threads(caller: Caller) -> None:
    for n in range(11):
        assert not caller.call(1_000, 4_000_000 if n == 10 else 15_000, 0)
    assert caller.call(1_000, 15_000, 1_000_000) and caller.call(1_000, 15_000, 1_000_000)
    assert not caller.call(1_000, 15_000, 1_000_000)


def test_quick_calls_bring_the_next_try_near_again(caller: Caller) -> None:
    def until_awake(shared: int) -> int:
        start = caller.now
        while not caller.call(1_000, 15_000, shared):
            pass
        return caller.now - start

    for _ in range(8):
        until_awake(150_000)
        caller.call(1_000, 15_000, 150_000)
    late = until_awake(8_000)
    assert late > 20 * STREAK
    for _ in range(2 * late // 9_000):
        assert caller.call(1_000, 15_000, 8_000)
    caller.call(GAP + 1, 15_000, 8_000)
    assert until_awake(8_000) < 2 * STREAK
