"""Timing on a device, on a clock of its own: turns, counts, and what happens where a call cannot be captured."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tang_egg import examples
from tang_egg.errors import GraphError, InputError, TargetError
from tang_egg.measure_cuda import MOST, Call, time_calls
from tang_egg.pipeline import sources


class Ticking:
    """Time passes when calls say so; `refused` calls cannot be captured."""

    def __init__(self, refused: Call | None = None) -> None:
        self.now, self.refused, self.waits = 0.0, refused, 0

    def capture(self, calls: Sequence[Call]) -> Call:
        if self.refused in calls:
            raise RuntimeError("operation not permitted when stream is capturing")
        return lambda: [c() for c in calls]

    def seconds(self, run: Call) -> float:
        start = self.now
        run()
        return self.now - start

    def synchronize(self) -> None:
        self.waits += 1


def test_calls_take_turns_and_times_are_per_call() -> None:
    clock, order = Ticking(), ""

    def call(name: str, cost: float) -> Call:
        def run() -> None:
            nonlocal order
            clock.now += cost
            order += name

        return run

    found = time_calls({"a": call("a", 1e-4), "b": call("b", 3e-4)}, iterations=2, rounds=3, clock=clock)
    assert found["a"].median == pytest.approx(1e-4) and found["b"].median == pytest.approx(3e-4)
    assert found["a"].how == "graph" and found["a"].runs == 3
    assert order.endswith("aabb" * 3)
    assert found["a"].clearly_less(found["b"])


def test_cold_calls_go_round_their_buffers() -> None:
    clock, seen = Ticking(), []
    calls = [lambda n=n: seen.append(n) for n in range(3)]
    time_calls({"cold": calls}, iterations=4, rounds=1, clock=clock)  # type: ignore[dict-item]
    assert seen[-6:] == [0, 1, 2, 0, 1, 2]


def test_replays_last_long_enough_but_hold_so_many_calls_at_most() -> None:
    clock, counts = Ticking(), [0, 0]

    def slow() -> None:
        clock.now += 1.0
        counts[0] += 1

    def quick() -> None:
        clock.now += 1e-9
        counts[1] += 1

    time_calls({"slow": slow, "quick": quick}, rounds=1, clock=clock)
    assert counts[0] == 2 + 3 + 2
    assert counts[1] == 2 + 3 + 2 * MOST


def test_what_cannot_be_captured_is_timed_all_the_same_and_says_so() -> None:
    clock = Ticking()

    def stubborn() -> None:
        clock.now += 2e-3

    clock.refused = stubborn
    found = time_calls({"it": stubborn}, rounds=3, clock=clock)["it"]
    assert found.median == pytest.approx(2e-3)
    assert found.how == "events (RuntimeError: operation not permitted when stream is capturing)"


def test_sources_need_no_device() -> None:
    cuda, c = sources(examples.softmax()), sources(examples.softmax(), "c")
    assert set(cuda) == set(c) == {"P"}
    assert "__global__" in cuda["P"] and "void P(" in c["P"]
    forced = sources(examples.softmax(), schedule={"P": "grid"})
    assert forced["P"] != cuda["P"]


def test_what_sources_are_asked_for_is_checked() -> None:
    with pytest.raises(TargetError, match="no target 'abacus'"):
        sources(examples.softmax(), "abacus")
    with pytest.raises(GraphError, match="is no graph"):
        sources("softmax")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no kernel 'Q'"):
        sources(examples.softmax(), schedule={"Q": "grid"})
