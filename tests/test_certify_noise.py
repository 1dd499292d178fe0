"""Searches on a machine that others use: bursts, drift and jitter from a seed, and two runs choose what is as fast.

The clock is simulated, all else is what searches really run: batches, rounds, yardsticks and the last comparison.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tang_egg import measure, measure_single, measure_turns
from tang_egg.extract.certify import Budget, Outcome, Search
from tang_egg.extract.certify_choice import steady
from tang_egg.extract.certify_final import MOST, leaders, near
from tang_egg.extract.certify_ledger import Ledger, Timed, Trial, Yardstick
from tang_egg.extract.space import Problem
from tang_egg.measure import in_turns, summary
from tang_egg.measure_single import CpuKernels
from tests.certify_cases import US, candidate, kernel, window

TIMES = (131, 121, 103, 147, 126, 119, 138, 152, 100, 144, 133, 128, 160, 125, 141, 136, 118, 149, 155, 123)
"""Microseconds of the schedules of a kernel: the two best ones are 3 % apart, and far apart in their order."""
JITTER = 0.01
"""By how much single calls differ."""
BUILD = 0.4
"""Seconds that building one batch takes."""


@dataclass
class Shared:
    """A machine that others use. `threads`: how many times as long calls on threads take while a burst lasts."""

    seed: int
    threads: float = 2.0
    now: float = 0.0
    bursts: list[tuple[float, float]] = field(default_factory=list)
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng, at = random.Random(self.seed), 0.0
        while at < 100.0:  # about two fifths of the time, from a few calls to several batches in a row
            at += self.rng.expovariate(1 / 1.2)
            ends = at + self.rng.expovariate(1 / 0.8)
            self.bursts.append((at, ends))
            at = ends
        self.drift = self.rng.choice((-0.01, 0.01))

    def clock(self) -> float:
        self.now += 1e-7
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def call(self, seconds: float) -> None:
        """Runs something that takes so long on a quiet machine."""
        slow = self.threads if any(a <= self.now < b for a, b in self.bursts) else 1.0
        self.now += seconds * slow * (1 + self.drift * self.now) * (1 + JITTER * self.rng.random())


class Simulated(CpuKernels):
    """The measurer of the processor, where kernels are only said to be built and to agree with the interpreter."""

    def on(self, machine: Shared, times: Mapping[tuple[str, int], float]) -> Simulated:
        self.machine, self.times = machine, times
        return self

    __slots__ = ("machine", "times")

    def _built(self, trials: list[Trial], keys: Any, found: Any, within: float) -> dict[int, Any]:
        self.machine.now += BUILD
        keys |= {n: (t.kernel.key, (str(t.schedule),)) for n, t in enumerate(trials)}
        return {n: self._runner(self.times[t.kernel.key, t.schedule]) for n, t in enumerate(trials)}

    def _runner(self, seconds: float) -> Any:
        def direct(*_: object) -> Callable[[], None]:
            return lambda: self.machine.call(seconds)

        return SimpleNamespace(direct=direct)

    def _compared(self, trial: Trial, runner: Any) -> None:
        return None

    def _reference(self, k: Any) -> Any:
        return SimpleNamespace(timed={})


def searched(seed: int, monkeypatch: pytest.MonkeyPatch, burst: float = 2.0) -> tuple[Outcome, float]:
    """A search of two kernels of which either will do, one of them 3 % slower, and what its choice really takes."""
    first = kernel("a", [1.0] * len(TIMES), [t + 20 * (n % 7) for n, t in enumerate(TIMES)])
    second = kernel("b", [1.0] * len(TIMES), [t + 20 * (n % 5) for n, t in enumerate(TIMES)])
    times = {("a", n): 1.03 * t * US for n, t in enumerate(TIMES)} | {("b", n): t * US for n, t in enumerate(TIMES)}
    problem = Problem(
        (first, second), (window([candidate((0,), (), 100), candidate((0,), (), 101)], (0,), picked=(0,)),)
    )
    machine = Shared(seed, burst)
    fake = SimpleNamespace(perf_counter=machine.clock, sleep=machine.sleep)
    with monkeypatch.context() as m:
        for module in (measure, measure_single, measure_turns):
            m.setattr(module, "time", fake)
        found = Search(problem, Simulated(team=1).on(machine, times), Budget(seconds=20.0), machine.clock).run()
    assert found.bounds[0].upper is not None and machine.now <= 20.0
    (chosen,) = found.bounds[0].upper.taken
    return found, times["ab"[chosen], found.ledgers[chosen].best() or 0]


@pytest.mark.parametrize("burst", [2.0, 10.0])
def test_runs_on_a_machine_that_others_use_choose_what_is_fastest_within_the_spread(
    burst: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(30):
        found, seconds = searched(seed, monkeypatch, burst)
        assert seconds <= (1 + JITTER) * min(TIMES) * US, f"seed {seed}"
        assert found.bound <= found.total * (1 + 1e-9)


def test_what_slowed_a_whole_round_down_is_no_fault_of_a_call() -> None:
    """A burst that ends in the middle of the third round: whoever came before its end looked ten times as slow."""
    ended = [[10.0, 10.0, 10.0], [10.3, 10.3, 1.03], [25.0, 25.0, 2.5]]
    assert measure._beaten(ended, ("a",) * 3) == {2}
    assert measure._beaten([[10.0, 10.0, 10.0], [1.0, 1.0, 1.0]], ("a", "b")) == frozenset()


def test_what_rounds_have_in_common_is_taken_off_the_spread() -> None:
    paces = [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.1, 1.2, 1.3]
    times = [[base * p for p in paces] for base in (100.0, 103.0, 90.0)]
    assert all(summary(t).spread > 0.5 * summary(t).median for t in times)
    found = [summary(t) for t in in_turns(times)]
    assert all(t.spread < 1e-9 for t in found)
    assert [t.median for t in found] == pytest.approx([summary(t).median for t in times])
    assert in_turns(times[:2]) == times[:2]  # of two it cannot be told which one the round slowed down


def test_a_session_that_a_burst_hit_is_held_again_and_the_calmest_counts() -> None:
    machine = Shared(0)
    machine.bursts = [(0.0, 0.02)]
    turns = measure_turns.Turns(5)
    calls = {n: (lambda t=t: machine.call(t * US)) for n, t in enumerate((100, 120))}
    with pytest.MonkeyPatch.context() as m:
        fake = SimpleNamespace(perf_counter=machine.clock, sleep=machine.sleep)
        for module in (measure, measure_turns):
            m.setattr(module, "time", fake)
        first = turns.timed(calls, {0: False, 1: False}, {0: "a", 1: "a"}, 1.0)
        machine.bursts = [(machine.now, machine.now + 9.0)]
        late = turns.timed({2: lambda: machine.call(100 * US)}, {2: False}, {2: "a"}, 1.0)
    assert first[0] is not None and first[1] is not None and late[2] is not None
    assert first[0].median < 102 * US and first[1].median < 122 * US  # not those of the burst
    assert late[2].median > 199 * US and late[2].hoped == pytest.approx(100 * US, rel=0.03)


def ledger(name: str, **hoped: float) -> Ledger:
    x = Ledger(kernel(name, [1.0] * len(hoped)))
    for n, t in enumerate(hoped.values()):
        x.note(n, Timed(t * US, 0.1 * US, 9))
    return x


def test_leaders_are_what_may_be_the_best() -> None:
    first, second = ledger("a", p=100.0, q=110.0, r=200.0), ledger("b", p=112.0)
    both = window([candidate((0,), (), 1), candidate((0,), (), 2)], (0,), picked=(0,))
    upper = steady(both, [first, second])
    assert leaders(both, [first, second], upper) == [(0, 0), (0, 1), (1, 0)]
    second.note(0, Timed(130 * US, 0.1 * US, 9))
    assert leaders(both, [first, second], upper) == [(0, 0), (0, 1)]
    slow = Yardstick(lambda: None, 1.0)
    second.note(0, Timed(1300 * US, 0.1 * US, 9, yard=12.0, yardstick=slow))  # by its yardstick 108
    assert (1, 0) in leaders(both, [first, second], upper)
    many = ledger("c", **{f"s{n}": 100.0 + n / 10 for n in range(30)})
    assert len(near(many)) == MOST
    assert leaders(both, [Ledger(first.kernel), second], None) == []


def test_one_of_those_that_were_compared_in_turns_is_picked() -> None:
    x = ledger("a", p=100.0, q=105.0, r=90.0)
    assert x.best() == 2
    x.final = frozenset((0, 1))  # the third one met a quicker moment
    assert x.best() == 0 and x.measured == 100 * US and x.least == 90 * US
