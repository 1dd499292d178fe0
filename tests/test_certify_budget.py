"""Budgets and noise: searches end in time whatever compilers do, and choose the same whatever the noise does."""

from __future__ import annotations

import math
import os
import random
import shlex
import time
from pathlib import Path
from typing import Any

import pytest

import tang_egg as te
from tang_egg import run_toolchain as toolchain
from tang_egg.errors import TargetError
from tang_egg.extract.certify import Budget, Outcome, Search
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.extract.space import SpaceKernel, key_of, standalone
from tang_egg.measure import call_seconds, measure_calls
from tang_egg.measure_build import Builder
from tang_egg.measure_single import CpuKernels
from tang_egg.pipeline import certify, extract
from tang_egg.schedule import parse_schedule
from tests.certify_cases import FakeMeasurer, random_problem
from tests.test_certify_program import rows

SEEDS = 100


def alone(*schedules: str, size: int = 40) -> SpaceKernel:
    """The sums of rows under some schedules."""
    i, j = te.indices("i j")
    outputs = standalone((te.tensor("y", i, te.sum(j, te.input("X", (24, size))[i, j])).node,))  # type: ignore[arg-type]
    return SpaceKernel(key_of(outputs), outputs, tuple(map(parse_schedule, schedules)), (), ())


class Uneven(FakeMeasurer):
    """Trials of very different lengths, some longer than any budget."""

    def measure(self, trials: list[Trial], seconds: float, within: float = math.inf) -> list[Timed | Refused | None]:
        found: list[Timed | Refused | None] = []
        until = self.now + within
        for t in trials:
            self.each = random.Random(f"{self.seed} {len(self.seen)}").choice(
                (0.05, 0.1, 0.2, 0.4, 0.1, 0.05, 0.2, 40.0)
            )
            found += FakeMeasurer.measure(self, [t], seconds, until - self.now)
        return found


@pytest.mark.parametrize("seconds", [1.0, 5.0, 20.0])
def test_a_search_ends_in_time_however_long_trials_are(seconds: float) -> None:
    measured = 0
    for seed in range(24):
        problem, times = random_problem(seed)
        measurer = Uneven(times, seed=seed, batch=1 + seed % 4)
        found = Search(problem, measurer, Budget(seconds=seconds), measurer.clock).run()
        assert measurer.now <= 1.1 * seconds
        assert found.bound <= found.total
        measured += found.total < math.inf
    assert measured >= (5 if seconds >= 5 else 1)  # some ended with something to claim


def test_a_trial_that_was_given_up_stays_open() -> None:
    problem, times = random_problem(3)
    measurer = FakeMeasurer(times, each=30.0)
    found = Search(problem, measurer, Budget(seconds=10.0), measurer.clock).run()
    assert found.stopped == "time" and measurer.now <= 11.0 and found.total == math.inf
    assert all(not x.timed and not x.refused for x in found.ledgers)


def slow(folder: Path) -> Path:
    """A compiler that sleeps before it builds what a search asks for, and says who sleeps."""
    script = folder / "slowcc"
    real = shlex.join(toolchain.compiler().command)
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *tang_egg-*) echo $$ >> {folder}/pids; sleep 100;; esac\nexec {real} "$@"\n'
    )
    script.chmod(0o755)
    return script


def test_a_running_compiler_is_ended_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CC", str(slow(tmp_path)))
    toolchain.compiler()  # its version and flags, which take their own time
    start = time.perf_counter()
    assert CpuKernels().measure([Trial(alone("point"), 0)], 0.1, 2.0) == [None]
    assert time.perf_counter() - start < 4.0
    (pid,) = map(int, (tmp_path / "pids").read_text().split())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_search_by_a_slow_compiler_ends_in_time_and_claims_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANG_CC", str(slow(tmp_path)))
    toolchain.compiler()
    extract(rows())  # what is loaded once in a process
    start = time.perf_counter()
    found = certify(rows(), budget=Budget(seconds=10.0), remember=False)
    assert time.perf_counter() - start <= 11.0
    assert found.certificate.stopped == "time" and found.certificate.counts.timed == 0
    assert str(found.certificate).startswith("nothing was measured")


def test_schedules_that_print_the_same_are_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[tuple[str, ...]] = []
    real = Builder._compiled

    def counted(self: Builder, units: tuple[str, ...], until: float) -> Any:
        built.append(units)
        return real(self, units, until)

    monkeypatch.setattr(Builder, "_compiled", counted)
    measurer, kernel = CpuKernels(), alone("point", "point tile=nothing:4", "point tile=i:4")
    found = measurer.measure([Trial(kernel, n) for n in range(3)], 0.1)
    assert len(built) == 2 and found[0] == found[1] != found[2]
    assert measurer.measure([Trial(kernel, 1)], 0.1) == [found[0]] and len(built) == 2


def test_a_builder_makes_the_same_with_a_header_as_without(monkeypatch: pytest.MonkeyPatch) -> None:
    from tang_egg.measure_build import printed_alone

    kernel = alone("point", "split fold=j:lanes:8", "point tile=i:4", "point tile=i:8", "split fold=j:lanes:16")
    sources = [printed_alone(kernel.outputs, s).units for s in kernel.schedules]
    builder = Builder(2)
    submit = builder.begin(len(sources))
    assert all(not isinstance(submit(u).result(), (TargetError, type(None))) for u in sources)
    assert builder.header_seconds > 0 and builder._header is not None
    text = builder._shortened(sources[0][0])
    assert not builder._header or (len(text) < len(sources[0][0]) / 3 and text.startswith('#include "tang_prelude.h"'))
    bad = builder.begin(1)(("this is no C",)).result()
    assert isinstance(bad, TargetError) and "error:" in bad.where and bad.mend


def test_calls_that_are_far_behind_their_rivals_are_left_out() -> None:
    seen = {"quick": 0, "slow": 0, "other": 0}

    def call(name: str, seconds: float) -> Any:
        def run() -> None:
            seen[name] += 1
            time.sleep(seconds)

        return run

    calls = [call("quick", 0.002), call("slow", 0.02), call("other", 0.02)]
    timed = measure_calls(calls, 8, 5.0, rivals=["a", "a", "b"])
    assert seen == {"quick": 9, "slow": 4, "other": 9} and timed[1].runs == 3
    assert call_seconds(calls, 8, 5.0, lambda: None, until=time.perf_counter()) == [[], [], []]


def chosen(found: Outcome) -> list[tuple[str, int]]:
    """The kernels and schedules of a search of one window."""
    b = found.bounds[0]
    assert b.upper is not None
    ledgers = [found.ledgers[k] for c in b.upper.taken for k in b.window.runs[c]]
    return [(x.kernel.key, x.best() or 0) for x in ledgers]


@pytest.mark.parametrize("seeds", [SEEDS // 5, pytest.param(SEEDS, marks=pytest.mark.nightly)])
def test_noisy_searches_choose_the_same_or_what_is_as_fast_within_the_noise(seeds: int) -> None:
    noise, same = 0.02, 0
    for seed in range(seeds):
        problem, times = random_problem(seed)
        picks = [
            chosen(Search(problem, FakeMeasurer(times, noise=noise, seed=1000 * n + seed)).run()) for n in range(2)
        ]
        best = chosen(Search(problem, FakeMeasurer(times)).run())
        first, second, true = (sum(times[x] for x in p) for p in (*picks, best))
        same += sorted(picks[0]) == sorted(picks[1])
        # a time is off by `noise` at most, and what is not clearly less stands within a spread, which is `noise` too
        assert max(first, second) <= true * (1 + 4.5 * noise)
    assert same >= 0.9 * seeds


def test_two_real_searches_choose_the_same_or_what_is_about_as_fast() -> None:
    def search() -> tuple[SpaceKernel, int]:
        found = certify(sums(), budget=Budget(gap=0.0, seconds=25.0), remember=False).outcome
        (b,) = found.bounds
        assert b.upper is not None
        (x,) = [found.ledgers[k] for c in b.upper.taken for k in b.window.runs[c]]
        return x.kernel, x.best() or 0

    (kernel, first), (_, second) = search(), search()
    if first != second:
        a, b = CpuKernels().measure([Trial(kernel, first), Trial(kernel, second)], 2.0)
        assert isinstance(a, Timed) and isinstance(b, Timed)
        assert abs(a.median - b.median) <= max(a.spread + b.spread, 0.35 * min(a.median, b.median))


def sums() -> te.Graph:
    i, j = te.indices("i j")
    return te.graph("sums", S=te.tensor(None, i, te.sum(j, te.input("X", (256, 512))[i, j])))
