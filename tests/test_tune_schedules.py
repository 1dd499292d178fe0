"""Tuning: what is kept, what is not and why, interrupts, and the command line. No time of this machine counts."""

from __future__ import annotations

import argparse
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

import tang_egg as te
from bench import tune as bench
from tang_egg import cli_tune, database, measure_single_cuda
from tang_egg.database import update
from tang_egg.errors import BindError, InputError
from tang_egg.extract.certify import Budget
from tang_egg.extract.certify_ledger import Refused, Sure, Trial
from tang_egg.ir import Graph
from tang_egg.measure_single_grid import GridKernels
from tang_egg.schedule import Schedule, parse_schedule
from tang_egg.tune_kernel import TunedKernel
from tang_egg.tune_schedules import TRIAL, keep, tuning
from tests.tuning_cases import Fake, entry, faked, first_of, preferring, rows, two_kernels

ALL = Budget()


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(database, "SHIPPED", tmp_path / "shipped")
    (tmp_path / "shipped").mkdir()


def all_of(graph: Graph, measurer: Fake, **options: object) -> list[TunedKernel]:
    run = faked(graph, measurer, **options)
    return list(run.run(run.subjects(), ALL))


def some(graph: Graph, n: int = -1) -> Schedule:
    """A declared schedule of the first kernel that is not the first proposal."""
    run = tuning(graph)
    return run.space(run.subjects()[0])[1].schedules[n]


def test_what_is_faster_is_kept_with_its_times() -> None:
    wanted = some(rows())
    (made,) = all_of(rows(), Fake(preferring({str(wanted): 4e-4}), spread=0.01))
    assert made.schedule == wanted and made.entry is not None and made.why == ""
    e = made.entry
    assert (e.schedule, e.first, e.what, e.types) == (str(wanted), str(made.first_schedule), "rows: Y", "f32")
    assert (e.seconds, e.first_seconds, e.least, e.spread) == (4e-4, 1e-3, 3.6e-4, 4e-6)
    assert e.kernel == tuning(rows()).subjects()[0].content.key and e.place == tuning(rows()).place
    assert made.timed + made.refused + made.pruned + made.open == made.schedules
    assert e.version == te.__version__ and e.driver and e.runs == 9 and e.sizes == ()


def test_a_database_that_was_tuned_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_TUNED", "yes")
    wanted = parse_schedule("point")
    run = faked(rows(), Fake(preferring({"point": 4e-4})))
    (made,) = run.run(run.subjects(), ALL)
    assert keep(run, made, database.own_file())
    assert te.optimize(rows()).schedules == {"Y": wanted}


@pytest.mark.parametrize(
    ("seconds", "spread", "least", "why"),
    [
        (1e-3, 0.0, 0.05, "nothing is faster"),
        (8e-4, 0.5, 0.05, "within the spread"),
        (9.8e-4, 0.0, 0.05, "by less than 5%"),
        (9.8e-4, 0.0, 0.01, ""),
    ],
)
def test_what_is_not_clearly_faster_is_not_kept(seconds: float, spread: float, least: float, why: str) -> None:
    (made,) = all_of(rows(), Fake(preferring({str(some(rows())): seconds}), spread=spread), least=least)
    assert (made.entry is None) == bool(why) and why in made.why


def test_a_first_proposal_that_is_wrong_is_told() -> None:
    first = str(first_of(tuning(rows()), tuning(rows()).subjects()[0]))
    (made,) = all_of(rows(), Fake(lambda s: Refused("wrong", "Y is wrong") if str(s) == first else 1e-3))
    assert made.wrong and made.entry is None and "wrong: Y is wrong" in made.why
    run = tuning(rows())
    assert not keep(run, made, database.own_file()) and not database.own_file().exists()


def test_schedules_that_are_refused_are_counted_and_never_kept() -> None:
    first = str(first_of(tuning(rows()), tuning(rows()).subjects()[0]))
    (made,) = all_of(rows(), Fake(lambda s: 1e-3 if str(s) == first else Refused("lowering", "no")))
    assert made.refused == made.schedules - 1 and made.timed == 1 and made.entry is None


def test_what_the_database_knows_is_timed_though_no_space_declares_it() -> None:
    odd = "split order=i0 fold=i1:lanes:40"
    assert parse_schedule(odd) not in tuning(rows()).space(tuning(rows()).subjects()[0])[1].schedules
    update(database.own_file(), lambda t: t.update({(e := entry(rows(), odd)).key: e}))
    measurer = Fake(preferring({odd: 1e-4}))
    (made,) = all_of(rows(), measurer)
    assert str(made.schedule) == odd and measurer.seen.index(odd) <= 1 and made.entry is not None


def test_what_is_shipped_and_no_faster_here_is_overruled(monkeypatch: pytest.MonkeyPatch) -> None:
    update(database.shipped_file("c"), lambda t: t.update({(e := entry(rows(), "point")).key: e}))
    run = faked(rows(), Fake(preferring({}, 1e-3)))
    (made,) = run.run(run.subjects(), ALL)
    assert not keep(run, made, database.own_file())
    (line,) = database.read(database.own_file()).entries
    assert line.schedule == line.first
    monkeypatch.setenv("TANG_TUNED", "yes")
    assert te.optimize(rows()).schedules["Y"] == made.subject.content.own(made.first_schedule)


def test_an_entry_that_no_longer_pays_goes(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    update(path, lambda t: t.update({(e := entry(rows(), "point")).key: e}))
    run = faked(rows(), Fake(preferring({}, 1e-3)))
    (made,) = run.run(run.subjects(), ALL)
    assert not keep(run, made, path) and database.read(path).entries == ()


def test_who_stops_keeps_the_kernels_that_were_finished() -> None:
    graph = two_kernels()
    measurer = Fake(preferring({"point": 1e-4}))
    run = faked(graph, measurer)
    subjects = run.subjects()
    assert len(subjects) == 2
    done = []
    rows_ = run.run(subjects, ALL)
    done.append(next(rows_))
    measurer.stop = len(measurer.seen) + 2
    with pytest.raises(KeyboardInterrupt):
        next(rows_)
    assert len(done) == 1 and done[0].entry is not None


def test_alike_kernels_are_tuned_once_and_donated_ones_never() -> None:
    i = te.index("i", 32)
    x, z = te.input("X", (32,)), te.input("Z", (32,), donated=True)
    run = tuning(te.graph("g", Y=te.tensor(None, i, z[i] + 1.0, into=z), W=te.tensor(None, i, x[i] * 2.0)))
    assert all(not any(t.into for t in s.content.outputs) for s in run.subjects())


def test_time_is_shared_and_what_is_left_goes_on() -> None:
    run = faked(two_kernels(), Fake(preferring({})))
    now = 0.0

    def clock() -> float:
        return now

    run.clock = clock
    seen: list[float] = []
    made = TunedKernel(run.subjects()[0], 1, 1, 0, 0, 0, 0.0, Schedule())
    run_tuned = type(run).tuned
    try:
        type(run).tuned = lambda self, s, at, k, b: (seen.append(b.seconds), made)[1]  # type: ignore[method-assign]
        list(run.run(run.subjects(), Budget(100.0)))
    finally:
        type(run).tuned = run_tuned  # type: ignore[method-assign]
    assert len(seen) == 2 and 0 < seen[0] < 100 and seen[1] == pytest.approx(100)  # the clock stood still


def test_symbolic_dims_are_tuned_at_sizes_and_say_so() -> None:
    graph = rows(m=te.dim("batch", lo=1))
    run = faked(graph, Fake(preferring({"point": 1e-4})), sizes={"batch": 300})
    (made,) = run.run(run.subjects(), ALL)
    assert made.entry is not None and made.entry.sizes == (("n0", 300),)
    with pytest.raises(BindError):
        tuning(graph, sizes={"nobody": 3})


def test_shares_that_make_no_sense_are_refused() -> None:
    for least in (-0.1, 1.0):
        with pytest.raises(InputError, match="none to be faster by"):
            tuning(rows(), least=least)


# The command.

TANG = 'graph("small")\nX = input(f32[24, 40])\nY[i:24] = sum[j](X[i, j])\noutput(Y)\n'


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "small.tang"
    path.write_text(TANG)
    return str(path)


def test_the_command_tunes_on_this_processor(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Real kernels, little time; whether one of them is kept is the machine's affair."""
    assert cli_tune.main([program, "--seconds", "6"]) == 0
    said = capsys.readouterr().out
    assert "1 kernels on " in said and "timed, " in said and "1 kernels are done" in said
    assert ("kept" in said) and all(e.what == "small: Y" for e in database.read(database.own_file()).entries)


def test_a_dry_run_times_nothing(
    program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tang_egg.tune_schedules.Tuning.tuned", lambda *given: pytest.fail("it timed"))
    assert cli_tune.main([program, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "schedules, none below" in said and "first proposal: " in said
    assert not database.own_file().exists()


def test_entries_are_listed_and_forgotten(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    i, j = te.index("i", 24), te.index("j", 40)
    small = te.graph("small", Y=te.tensor(None, i, te.sum(j, te.input("X", (24, 40))[i, j])))
    for graph in (small, rows()):
        update(database.own_file(), lambda t, g=graph: t.update({(e := entry(g, "point")).key: e}))  # type: ignore[misc]
    assert cli_tune.main(["--list"]) == 0
    said = capsys.readouterr().out
    assert "rows: Y" in said and "small: Y" in said and "2.00 times as fast" in said and "2 entries" in said
    assert cli_tune.main([program, "--list"]) == 0
    assert "1 entries" in capsys.readouterr().out
    assert cli_tune.main(["--list", "--target", "cuda"]) == 0
    assert "0 entries" in capsys.readouterr().out
    assert cli_tune.main([program, "--forget"]) == 0
    assert [e.what for e in database.read(database.own_file()).entries] == ["rows: Y"]
    assert cli_tune.main(["--forget"]) == 0
    assert database.read(database.own_file()).entries == ()


def test_an_interrupt_keeps_what_is_done(
    program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "two.tang"
    path.write_text(str(two_kernels()))
    measurer = Fake(preferring({"point": 1e-4}))

    def measured(*given: object) -> Fake:
        if database.own_file().exists():
            measurer.stop = 0
        return measurer

    monkeypatch.setattr("tang_egg.tune_schedules.measurer_of", measured)
    assert cli_tune.main([str(path), "--gap", "0"]) == 130
    said = capsys.readouterr().out
    assert "interrupted: 1 of 2 kernels are done, 1 kept" in said
    assert len(database.read(database.own_file()).entries) == 1


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ([], 2, "there is no PROGRAM"),
        (["nothing"], 2, "there is no graph 'nothing'"),
        (["softmax", "--target", "gpu"], 2, "no target 'gpu'"),
        (["softmax", "--seconds", "0"], 2, "no time"),
        (["softmax", "--seconds", "nan"], 2, "no time"),
        (["softmax", "--gap", "1"], 2, "no share"),
        (["softmax", "--least", "-1"], 2, "no share"),
        (["softmax", "--sizes", "n"], 2, "cannot read 'n'"),
        (["softmax", "--sizes", "n=3"], 2, "n"),
        (["softmax", "--target", "metal"], 3, "metal"),
        (["softmax", "--list", "--forget"], 2, "not allowed with"),
    ],
)
def test_what_cannot_be_done_is_told_in_three_parts(
    words: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli_tune.main(words) == code
    said = capsys.readouterr().err
    assert said.startswith("tang-tune: ") and told in said and "where:" in said and "mend:" in said


def test_a_wrong_first_proposal_ends_with_1(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Fake(lambda s: Refused("wrong", "Y is wrong"))
    monkeypatch.setattr("tang_egg.tune_schedules.measurer_of", lambda *given: wrong)
    assert cli_tune.main([program, "--gap", "0"]) == 1


def test_a_database_that_cannot_be_read_is_told_before_anything_is_timed(program: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\xff")
    assert cli_tune.main([program, "--database", str(path)]) == 2


# The list that is shipped.


def test_programs_of_both_targets_are_listed() -> None:
    assert [p.name for p in bench.listed("c", ["softmax"])] == ["softmax"]
    assert len(bench.listed("c")) > 20 and len({p.name for p in bench.listed("c")}) == len(bench.listed("c"))
    cells = bench.listed("cuda", cells="memory|narrow")
    assert cells and all("tf32" not in p.name for p in cells)
    with pytest.raises(ValueError, match="no operator"):
        bench.listed("c", ["nothing"])


def test_a_list_is_tuned_until_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tang_egg.tune_schedules.measurer_of", lambda *given: Fake(preferring({"point": 1e-4})))
    programs = [bench.Program("one", rows), bench.Program("two", lambda: rows(n=41)), bench.Program("three", rows)]
    given = argparse.Namespace(target="c", database=tmp_path / "c.jsonl", least=0.05, seconds=5.0, gap=0.0, total=60.0)
    assert bench.tuned(programs, given) == 0
    assert sorted(e.what for e in database.read(given.database).entries) == ["three: Y", "two: Y"]
    given.total = 0.0
    assert bench.tuned(programs, given) == 0
    assert "3 programs are left" in capsys.readouterr().out


def test_files_from_elsewhere_are_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    e = entry(rows(), "point")
    other = replace(e, place=replace(e.place, target="cuda", device="a GPU"))
    update(tmp_path / "found.jsonl", lambda t: t.update({x.key: x for x in (e, other)}))
    assert bench.main(["--merge", str(tmp_path / "found.jsonl")]) == 0
    assert [database.read(database.shipped_file(t)).entries for t in ("c", "cuda")] == [(e,), (other,)]
    assert bench.main(["--merge", str(tmp_path / "nothing.jsonl")]) == 1


class Doubtful(Fake):
    """A measurer that finds out, when it looks closely, that some schedule is wrong."""

    budget = 1.0

    def sure(self, trial: Trial) -> Refused | None:
        schedule = trial.kernel.schedules[trial.schedule]
        return Refused("wrong", "Y is wrong") if str(schedule) == "point" else None


@pytest.mark.parametrize(("fastest", "kept"), [("point", False), ("", True)])
def test_what_is_kept_is_compared_anew(fastest: str, kept: bool) -> None:
    wanted = fastest or str(some(rows()))
    (made,) = all_of(rows(), Doubtful(preferring({wanted: 4e-4})))
    assert (made.entry is not None) == kept and ("wrong: Y is wrong" in made.why) == (not kept)


def test_a_grid_compares_samples_while_it_searches_and_all_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets: list[float] = []

    def counting(*args: object) -> None:
        budgets.append(args[4] if len(args) > 4 else inf)  # type: ignore[arg-type]

    monkeypatch.setattr(measure_single_cuda, "verify", counting)
    monkeypatch.setattr(measure_single_cuda, "run_filled", lambda *_: {})
    run = tuning(rows())
    kernel = run.space(run.subjects()[0])[1]
    measurer = GridKernels(None, lambda program, chosen: None, {}, budget=TRIAL)  # type: ignore[arg-type, return-value]
    assert isinstance(measurer, Sure)
    with pytest.raises(KeyError):  # what is not a program is compared, but never timed
        measurer.measure([Trial(kernel, 0)], 1.0)
    assert measurer.sure(Trial(kernel, 0)) is None
    assert budgets == [TRIAL, inf]
