"""Certified selection: the search against trying all choices, its bound at every moment, budgets, noise, refusals."""

from __future__ import annotations

import math

import pytest

from tang_egg.errors import InputError
from tang_egg.extract.certify import Budget, Search, idle
from tang_egg.extract.certify_bound import no_choice_below
from tang_egg.extract.certify_choice import costs
from tang_egg.extract.certify_ledger import Ledger, Timed
from tang_egg.extract.select import solve
from tang_egg.extract.space import LEAST, Problem, declared
from tang_egg.schedule import parse_schedule
from tests.certify_cases import US, FakeMeasurer, best_of_all, candidate, kernel, random_problem, window

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_search_without_a_limit_ends_at_the_best_of_all_choices(seed: int) -> None:
    problem, times = random_problem(seed)
    found = Search(problem, FakeMeasurer(times, batch=1 + seed % 3)).run()
    assert found.stopped == "measured"
    assert found.total == pytest.approx(best_of_all(problem, times))
    assert found.bound == pytest.approx(found.total)
    assert found.others() >= found.total * (1 - 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_never_exceeds_the_best_of_all_choices(seed: int) -> None:
    problem, times = random_problem(seed)
    best = best_of_all(problem, times)
    for trials in (0, 1, 3, 6):
        measurer = FakeMeasurer(times, stop=trials)
        found = Search(problem, measurer).run()
        assert found.bound <= best * (1 + 1e-9) <= found.total * (1 + 2e-9)
        assert len(measurer.seen) <= trials


@pytest.mark.parametrize("seed", SEEDS)
def test_an_own_bound_agrees_with_trying_all(seed: int) -> None:
    problem, times = random_problem(seed, classes=4, count=9)
    w, best = problem.windows[0], best_of_all(problem, times)
    least = costs(w, [min(times[k.key, s] for s in range(len(k.schedules))) for k in problem.kernels])
    assert no_choice_below(w.candidates, w.outputs, least, best * (1 - 1e-9)).holds
    assert not no_choice_below(w.candidates, w.outputs, least, best * (1 + 1e-6)).holds
    assert sum(least[n] for n in solve(w.candidates, w.outputs, least)) == pytest.approx(best)


def test_a_circle_that_a_second_writer_opens_is_no_circle() -> None:
    # class 0 is written by two kernels, one of which waits for class 1, which waits for class 0
    made = [candidate((0, 2), (1,), 5), candidate((1,), (0,), 3), candidate((0,), (), 4), candidate((2,), (), 90)]
    own = [k.estimate.seconds for k in made]
    outputs = window(made, (1, 2)).outputs
    assert solve(made, outputs, own) == [0, 1, 2]
    assert no_choice_below(made, outputs, own, 12 * US * (1 - 1e-9)).holds
    assert not no_choice_below(made, outputs, own, 12 * US * (1 + 1e-6)).holds
    assert no_choice_below(made[:2], outputs, own[:2], 1.0).holds  # only the circle is left: no choice at all


def test_a_dominated_candidate_comes_back_when_its_dominator_was_measured_slower_than_its_floor() -> None:
    made = [candidate((0,), (), 10), candidate((0,), (), 12)]
    problem = Problem((kernel("fast", [10]), kernel("slow", [12])), (window(made, (0,), picked=(0,)),))
    quick = FakeMeasurer({("fast", 0): 11 * US, ("slow", 0): 13 * US})
    found = Search(problem, quick).run()
    assert quick.seen == [("fast", 0)] and idle(problem, found.ledgers) == [{1}]
    late = FakeMeasurer({("fast", 0): 30 * US, ("slow", 0): 13 * US})
    found = Search(problem, late).run()
    assert late.seen == [("fast", 0), ("slow", 0)] and found.total == pytest.approx(13 * US)


def test_a_pair_stands_back_behind_kernels_of_one_class_each() -> None:
    made = [candidate((0,), (), 4), candidate((1,), (), 5), candidate((0, 1), (), 10)]
    problem = Problem((kernel("a", [4]), kernel("b", [5]), kernel("both", [8])), (window(made, (0, 1), picked=(0, 1)),))
    assert problem.windows[0].behind[2] == (0, 1)
    # 4 + 5 is more than 8, the floor of the pair: it takes part from the start
    measurer = FakeMeasurer({("a", 0): 4.5 * US, ("b", 0): 5.5 * US, ("both", 0): 9 * US})
    assert Search(problem, measurer).run().total == pytest.approx(9 * US)


def test_a_schedule_whose_floor_is_above_the_measurement_is_not_timed() -> None:
    problem = Problem((kernel("k", [5, 20, 30], [5, 6, 7]),), (window([candidate((0,), (), 5)], (0,), picked=(0,)),))
    measurer = FakeMeasurer({("k", 0): 9 * US, ("k", 1): 21 * US, ("k", 2): 31 * US})
    found = Search(problem, measurer).run()
    assert measurer.seen == [("k", 0)] and found.stopped == "measured"


def test_equal_windows_are_timed_once_and_count_as_often_as_they_occur() -> None:
    w = window([candidate((0,), (), 5)], (0,), copies=3, picked=(0,))
    measurer = FakeMeasurer({("k", 0): 7 * US})
    found = Search(Problem((kernel("k", [5]),), (w,)), measurer).run()
    assert measurer.seen == [("k", 0)] and found.total == pytest.approx(21 * US)


@pytest.mark.parametrize("seed", SEEDS[:6])
def test_what_is_wrong_is_never_chosen_and_says_why(seed: int) -> None:
    problem, times = random_problem(seed)
    clean = Search(problem, FakeMeasurer(times)).run()
    picked = {k for c in clean.bounds[0].upper.taken for k in clean.bounds[0].window.runs[c]}  # type: ignore[union-attr]
    wrong = frozenset((problem.kernels[k].key, clean.ledgers[k].best() or 0) for k in picked)
    found = Search(problem, FakeMeasurer(times, wrong=wrong)).run()
    assert found.total == pytest.approx(best_of_all(problem, times, wrong))
    refused = {(x.kernel.key, n) for x in found.ledgers for n, r in x.refused.items() if r.kind == "wrong"}
    assert refused and refused <= wrong


def test_no_choice_is_left_where_everything_is_refused() -> None:
    problem = Problem((kernel("k", [5]),), (window([candidate((0,), (), 5)], (0,), picked=(0,)),))
    found = Search(problem, FakeMeasurer({}, wrong=frozenset({("k", 0)}))).run()
    assert found.total == math.inf and found.stopped == "exhausted"


@pytest.mark.parametrize("seconds", [0.0, 3.0, 8.0, 30.0])
@pytest.mark.parametrize("batch", [1, 4])
def test_a_budget_of_seconds_is_kept_within_a_tenth(seconds: float, batch: int) -> None:
    problem, times = random_problem(3, count=12)
    measurer = FakeMeasurer(times, each=0.9, batch=batch)
    found = Search(problem, measurer, Budget(seconds=seconds), measurer.clock).run()
    assert measurer.now <= seconds * 1.1
    assert found.stopped in ("time", "measured")


def test_a_gap_ends_a_search_before_all_is_measured() -> None:
    problem = Problem((kernel("k", [6, 6, 6, 6]),), (window([candidate((0,), (), 5)], (0,), picked=(0,)),))
    times = {("k", n): (10 + n) * US for n in range(4)}
    whole, part = FakeMeasurer(times), FakeMeasurer(times)
    assert Search(problem, whole).run().stopped == "measured" and len(whole.seen) == 4
    found = Search(problem, part, Budget(gap=0.5)).run()
    assert found.stopped == "gap" and len(part.seen) == 1
    assert (found.total, found.bound) == pytest.approx((10 * US, 6 * US))
    assert Search(problem, FakeMeasurer(times), Budget(gap=0.3)).run().stopped == "measured"


def test_an_interrupted_search_gives_the_best_so_far() -> None:
    problem, times = random_problem(7)
    found = Search(problem, FakeMeasurer(times, stop=7)).run()
    assert found.stopped == "interrupted" and found.total < math.inf
    assert all(found.ledgers[k].timed for c in found.bounds[0].upper.taken for k in (c,))  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", SEEDS[:6])
def test_two_noisy_searches_choose_the_same_or_what_is_as_fast_within_the_spread(seed: int) -> None:
    problem, times = random_problem(seed)
    totals = []
    for noise_seed in (1, 2):
        found = Search(problem, FakeMeasurer(times, noise=0.03, seed=noise_seed)).run()
        b = found.bounds[0]
        chosen = [(k, found.ledgers[k].best()) for c in b.upper.taken for k in b.window.runs[c]]  # type: ignore[union-attr]
        totals.append(sum(times[problem.kernels[k].key, s or 0] for k, s in chosen))
    assert totals[0] == pytest.approx(totals[1], rel=0.13)  # noise of 3 % in each time, and a spread of 3 %


def test_ties_within_the_noise_are_decided_by_the_declared_order() -> None:
    for shift in (-0.4, 0.4):
        x = Ledger(kernel("k", [1, 1]))
        x.note(0, Timed(10 * US, 1 * US, 9))
        x.note(1, Timed((10 + shift) * US, 1 * US, 9))
        assert x.best() == 0
    x.note(1, Timed(7 * US, 1 * US, 9))
    assert x.best() == 1


def test_what_an_earlier_search_measured_is_not_timed_again() -> None:
    problem, times = random_problem(2)
    kept: dict[tuple[str, int], Timed] = {}
    search = Search(problem, FakeMeasurer(times))
    search.keep = lambda t, result: kept.__setitem__((t.kernel.key, t.schedule), result)
    first = search.run()
    again = FakeMeasurer(times)
    second = Search(problem, again, recall=lambda t: kept.get((t.kernel.key, t.schedule))).run()
    assert again.seen == [] and second.total == first.total and second.known == len(kept)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"seconds": -1.0}, "seconds=-1.0 is no budget of a search"),
        ({"seconds": math.nan}, "seconds=nan is no budget of a search"),
        ({"gap": 1.5}, "gap=1.5 is no budget of a search"),
        ({"gap": "5%"}, "gap='5%' is no budget of a search"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(arguments: dict[str, float], said: str) -> None:
    with pytest.raises(InputError) as error:
        Budget(**arguments)
    name = next(iter(arguments))
    assert str(error.value) == (
        f"{said}\n  where: {name}=\n"
        "  mend:  give seconds from 0 on, and a gap from 0 to 1: 0.05 ends within 5 % of the bound"
    )


def test_the_declared_schedules_hold_every_proposal_and_all_combinations_of_the_least_values() -> None:
    first = parse_schedule("tile parallel=i order=i,j tile=j:16,i:6 stage=B")
    plain = parse_schedule("point")
    found = declared([first, plain], {"i": 20, "j": 64})
    assert found[:2] == (first, plain) and len(set(found)) == len(found)
    tiles = {(s.tile_of("j"), s.tile_of("i")) for s in found if s.shape == "tile"}
    assert tiles == {(j, i) for j in (16, 4, 8, 32) for i in (6, 4, 8, 16)}  # 32 rows are more than there are
    assert {s.stage for s in found if s.shape == "tile"} == {("B",), ()}
    held = declared([parse_schedule("stream tile=c:* fold=j:stream:32")], {"c": 8, "j": 100})
    assert {s.tile_of("c") for s in held} == {0} and {s.fold_of("j").size for s in held} == {16, 32, 64}
    assert set(LEAST) == {"point", "split", "stream", "scan", "tile", "grid", "warp", "mma"}
