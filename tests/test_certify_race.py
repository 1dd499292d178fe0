"""The race over all schedules: what its summary says follows from the times, and every schedule has a row."""

from __future__ import annotations

import pytest

from bench import race
from tang_egg.extract.certify_ledger import Refused, Timed
from tests.certify_cases import US, kernel

KERNEL = kernel("k", [10, 10, 30, 10], [14, 12, 35, 20])
RESULTS: dict[int, Timed | Refused] = {
    0: Timed(20 * US, 1 * US, 9),
    1: Timed(24 * US, 1 * US, 9),
    2: Timed(40 * US, 1 * US, 9),
    3: Refused("wrong", "it is wrong by 1"),
}


def test_a_summary_says_what_floors_and_the_model_would_have_saved() -> None:
    *each, last = race.rows_of("p", "k", KERNEL, RESULTS, "warm")
    assert [r["median_ms"] for r in each] == [0.02, 0.024, 0.04, None] and each[3]["refused"] == "wrong"
    assert last["median_ms"] == 0.02 and last["reach"] == 0.5
    assert last["pruned"] == 0.25  # the floor of one of four is above the fastest
    assert last["model_over_best"] == 1.2 and last["model_near"] is False
    assert last["first_over_best"] == 1.0
    assert last["trials_to_near"] == 1 and last["trials_to_proof"] == 3  # the third schedule is never timed
    assert last["below_floor"] == 0
    text = race.shown("k", [*each, last])
    assert "its floor is 50.0% of the fastest" in text and "not within 2.5 %" in text
    assert text.splitlines()[2].split()[0] == "0.02" and "wrong" in text.splitlines()[5]


def test_a_time_below_its_floor_is_told() -> None:
    *each, last = race.rows_of("p", "k", KERNEL, {**RESULTS, 2: Timed(20 * US, 1 * US, 9)}, "warm")
    assert last["below_floor"] == 1 and "BELOW THEIR FLOORS: 1 schedules" in race.shown("k", [*each, last])


def test_a_kernel_of_which_everything_is_refused_has_no_fastest() -> None:
    rows = race.rows_of("p", "k", KERNEL, {n: Refused("lowering", "no") for n in range(4)}, "cold")
    assert rows[-1]["refused"] == "all" and "every schedule was refused" in race.shown("k", rows)


def test_an_unknown_program_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        race.main(["no_such_program"])
    assert "no program is named no_such_program" in capsys.readouterr().err
