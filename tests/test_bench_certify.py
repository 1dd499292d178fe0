"""The table of certified searches: what its cells say follows from certificates; two searches are compared rightly."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path

import pytest

from bench import certify as bench
from tang_egg.extract.certify import Budget
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.files import cache_root
from tang_egg.pipeline import certify
from tests.test_certify_program import Even, rows


@pytest.fixture(scope="module")
def found() -> bench.Found:
    made = certify(rows(), budget=Budget(gap=1.0), measurer=Even(), remember=False)
    return bench.Found(made.certificate, made.outcome, 12.5)


def test_a_row_holds_what_the_certificate_says(found: bench.Found) -> None:
    r, c = bench.row_of("rows", found, found, 10.0, "warm"), found.certificate
    assert (r["suite"], r["program"], r["second"], r["asked_s"], r["took_s"]) == (
        "certify", "rows", "the same", 10.0, 12.5,
    )  # fmt: skip
    assert r["schedules"] == r["pruned"] + r["deferred"] + r["timed"] + r["refused"] + r["open"] == c.counts.schedules
    assert r["median_ms"] == pytest.approx(1e3 * c.total, rel=1e-3) and r["gap"] == pytest.approx(c.share, abs=1e-4)
    assert 0 < r["floor_ms"] <= r["median_ms"] and r["predicted_ms"] > 0
    head, line, cells = bench.table([r]).splitlines()
    assert head.count("|") == line.count("|") == cells.count("|") == len(bench.HEAD) + 1
    assert cells.startswith("| rows | L: ") and cells.endswith("| 10 s | 12.5 s | the same |")


def test_choices_that_differ_are_compared_by_their_times(found: bench.Found) -> None:
    (k, best, _), *_ = found.kernels()
    x = found.outcome.ledgers[k]
    other = next(n for n in range(len(x.kernel.schedules)) if n != best)
    before = dict(x.timed)
    windows = tuple(dataclasses.replace(w, chosen=()) for w in found.certificate.windows)
    differing = bench.Found(dataclasses.replace(found.certificate, windows=windows), found.outcome, 1.0)
    assert bench.compared(found, differing) == "within the spread"  # the names differ, the time is the same
    x.timed = {
        n: t if n == best else Timed(9 * t.median, t.spread, 1) for n, t in {other: before[best], **before}.items()
    }
    assert bench.seen(found, differing) == pytest.approx(found.certificate.total)
    x.timed[best] = Timed(2 * before[best].median, before[best].spread, 9)
    assert bench.compared(found, differing).startswith("apart by ")
    x.timed = before
    assert bench.compared(found, None) == "not searched"


def test_choices_that_differ_are_timed_anew_side_by_side(found: bench.Found) -> None:
    """What two searches saw at different moments is not compared."""
    windows = tuple(dataclasses.replace(w, chosen=()) for w in found.certificate.windows)
    differing = bench.Found(dataclasses.replace(found.certificate, windows=windows, total=9.0), found.outcome, 1.0)
    assert bench.compared(found, differing, Even()) == "within the spread"
    own, others, spread = bench.in_turns(found, differing, Even()) or (0.0, 1.0, 0.0)
    assert own == others > 0 and spread > 0
    assert bench.in_turns(found, differing, Refusing()) is None


class Refusing(Even):
    """Nothing can be timed any more."""

    def measure(self, trials: list[Trial], seconds: float, within: float = math.inf) -> list[Timed | Refused | None]:
        return [None] * len(trials)


def test_a_search_that_forgets_keeps_the_constants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CACHE", str(tmp_path))
    (cache_root() / "devices").mkdir(parents=True)
    (cache_root() / "devices" / "one.json").write_text("{}")
    (cache_root() / "timings").mkdir()
    with bench.forgetful():
        inside = Path(os.environ["TANG_CACHE"])
        assert inside != tmp_path and (cache_root() / "devices" / "one.json").exists()
        assert not (cache_root() / "timings").exists()
    assert os.environ["TANG_CACHE"] == str(tmp_path) and not inside.exists()


def test_ten_programs_are_known_and_others_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(bench.PROGRAMS) == 10 and all(build().outputs for build in bench.PROGRAMS.values())
    with pytest.raises(SystemExit):
        bench.main(["--programs", "nothing"])
    assert "no program is named nothing" in capsys.readouterr().err
