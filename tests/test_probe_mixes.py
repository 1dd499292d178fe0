"""Reads, writes and copies bound every mix of them: the region is sound and touches what was measured."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tang_egg.cost.bound import least_time
from tang_egg.cost.device import MEMORY, Device, Figure, Level, Traffic
from tang_egg.cost.estimates import SMALL_PROCESSOR
from tang_egg.cost.time import time_floor

RATES = st.floats(1.0, 100.0)
BYTES = st.integers(0, 1000).map(float)


def level(read: float, write: float, copy: float) -> Level:
    return Level(MEMORY, 0, read=Figure(read), write=Figure(write), copy=Figure(copy))


def test_the_measured_mixes_take_what_was_measured() -> None:
    memory = level(22.0, 44.0, 34.0)
    assert memory.seconds(22.0, 0.0) == pytest.approx(1.0)
    assert memory.seconds(0.0, 44.0) == pytest.approx(1.0)
    assert memory.seconds(17.0, 17.0) == pytest.approx(1.0)


def test_a_pure_write_is_no_ceiling_for_other_mixes() -> None:
    """Two reads for each write: on the line from writes alone through the copy, 44 - (27 / 17) r = r / 2."""
    memory = level(22.0, 44.0, 34.0)
    read = 44.0 / (0.5 + 27.0 / 17.0)
    assert memory.seconds(2e3, 1e3) == pytest.approx(2e3 / read)
    assert memory.seconds(2e3, 1e3) > 3e3 / 44.0


def test_bytes_of_no_direction_go_the_quickest_way() -> None:
    memory = level(22.0, 44.0, 34.0)
    grid = [memory.seconds(1e3 * k / 5000, 1e3 - 1e3 * k / 5000) for k in range(5001)]
    assert memory.seconds(0.0, 0.0, 1e3) == pytest.approx(min(grid), rel=1e-3)
    assert memory.seconds(0.0, 0.0, 1e3) <= min(grid) * (1 + 1e-12)
    some = [s for k, s in enumerate(grid) if k / 5000 >= 0.7 and 1 - k / 5000 >= 0.1]
    assert memory.seconds(700.0, 100.0, 1e3) == pytest.approx(min(some), rel=1e-3)


@settings(deadline=None)
@given(st.lists(st.tuples(RATES, RATES), min_size=1, max_size=6), RATES, RATES, BYTES, BYTES)
def test_no_machine_beats_it(corners: list[tuple[float, float]], read: float, write: float, r: float, w: float) -> None:
    """A machine does any mix in the convex hull of its corners, of less, and of taking turns; measured along three."""
    assume(r + w > 0)
    points = [(read, 0.0), (0.0, write), *corners]

    def quickest(x: float, y: float) -> float:
        """Least seconds on that machine: of one corner, or of two that take turns (a basis of the linear program)."""
        best = min(max(x / a if x else 0.0, y / b if y else 0.0) for a, b in points if (a or not x) and (b or not y))
        for (a, b), (c, d) in combinations(points, 2):
            det = a * d - b * c
            if det:
                first, second = (x * d - y * c) / det, (y * a - x * b) / det
                best = min(best, first + second) if min(first, second) >= 0 else best
        return best

    memory = level(1.0 / quickest(1.0, 0.0), 1.0 / quickest(0.0, 1.0), 2.0 / quickest(1.0, 1.0))
    assert memory.seconds(r, w) <= quickest(r, w) * (1 + 1e-9)
    assert memory.seconds(0.0, 0.0, r + w) <= memory.seconds(r, w) * (1 + 1e-9)


@settings(deadline=None)
@given(RATES, RATES, RATES, BYTES, BYTES, BYTES)
def test_more_bytes_never_take_less(read: float, write: float, copy: float, r: float, w: float, more: float) -> None:
    memory = level(read, write, copy)
    least = memory.seconds(r, w)
    assert least <= min(memory.seconds(r + more, w), memory.seconds(r, w + more)) * (1 + 1e-9)
    assert least <= memory.seconds(r, w, r + w + more) * (1 + 1e-9)


def test_rates_that_contradict_each_other_are_raised() -> None:
    """A copy is no slower than reads and writes in turns, and neither direction is slower alone than in a copy."""
    assert level(20.0, 20.0, 1.0).mixes == (20.0, 20.0, 10.0)
    assert level(1.0, 1.0, 20.0).mixes == (10.0, 10.0, 10.0)


def test_unknown_mixes_leave_the_largest_ceiling() -> None:
    memory = Level(MEMORY, 0, read=Figure(20.0))
    assert memory.mixes is None
    assert memory.seconds(10.0, 30.0) == 2.0
    assert Level(MEMORY, 0).seconds(10.0, 30.0) == 0.0
    one = Level(MEMORY, 0, copy=Figure(20.0))
    assert one.seconds(30.0, 0.0) == 3.0  # a copy reads half of what it moves


def test_the_floor_of_time_takes_both_directions() -> None:
    device = Device("made up", "c", "none", 1, 1, Figure(0.0), (level(22e9, 44e9, 34e9),), ())
    (both,) = time_floor(device, {MEMORY: Traffic(3e6, 2e6, 1e6)}).terms
    assert both.seconds == pytest.approx(device.levels[0].seconds(2e6, 1e6))
    assert both.text == "3 MB, 2 MB of them read, at 31.6 GB/s after 0 ns"
    (unsaid,) = time_floor(device, {MEMORY: 3e6}).terms
    assert unsaid.seconds < both.seconds


def test_a_graph_that_only_reads_takes_the_rate_of_reads() -> None:
    import tang_egg as te

    x, i = te.input("X", (1 << 20,)), te.index("i")
    floor = least_time(te.graph("sum", S=te.tensor(None, (), te.sum(i, x[i]))), SMALL_PROCESSOR)
    assert floor.binding.what == MEMORY and "4.19 MB of them read" in floor.binding.text
