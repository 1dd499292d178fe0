"""Prepared questions, each answered for the right reason: laws, limits, refusals, floors, measurements, space."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import tang_egg as te
from tang_egg import report_format as say
from tang_egg.cli import saturate_main
from tang_egg.cost.floor_schedule import one_thread
from tang_egg.errors import TangError
from tang_egg.examples import EXAMPLES
from tang_egg.extract.certify import Budget, Outcome
from tang_egg.extract.certify_ledger import Refused, Timed, Trial
from tang_egg.pipeline import certify, extract
from tang_egg.report_why import Asked
from tang_egg.report_why_schedule import ledger_of
from tang_egg.run import threads
from tang_egg.saturate import Limits


class Near:
    """Every kernel takes a quarter more than its lowest floor, whatever the schedule."""

    cache = "warm"
    batch = 1

    def measure(self, trials: list[Trial], seconds: float, within: float = math.inf) -> list[Timed | Refused | None]:
        return [Timed(1.25 * t.kernel.floor, t.kernel.floor / 100, 21) for t in trials]


class Times:
    """Every kernel takes so many times its floor, later schedules more; the third one that is tried is refused."""

    cache = "warm"
    batch = 4

    def __init__(self, factor: float = 2.0) -> None:
        self.factor = factor
        self.met: dict[str, int] = {}

    def measure(self, trials: list[Trial], seconds: float, within: float = math.inf) -> list[Timed | Refused | None]:
        found: list[Timed | Refused | None] = []
        for t in trials:
            self.met[t.kernel.key] = self.met.get(t.kernel.key, 0) + 1
            if self.met[t.kernel.key] == 3:
                found.append(Refused("wrong", "it is wrong by 0.5 of its largest value"))
            else:
                found.append(Timed(t.kernel.floor * self.factor * (1 + t.schedule), t.kernel.floor / 100, 21))
        return found


def product(n: int = 256) -> te.Graph:
    return te.graph("product", C=te.matmul(te.input("A", (n, n)), te.input("B", (n, n))))


@pytest.fixture(scope="module")
def matmul() -> Asked:
    """A product of which two schedules were timed, one refused and the others not looked at."""
    return Asked(certify(product(), budget=Budget(gap=0.6), measurer=Times()).extraction)


@pytest.fixture(scope="module")
def softmax() -> Asked:
    return Asked(certify(EXAMPLES["softmax"](), measurer=Times()).extraction)


def test_1_softmax_without_the_maximum_taken_off_may_overflow() -> None:
    answer = Asked(extract(EXAMPLES["softmax"]())).why_not("scalar.exp_difference")
    assert "united nothing" in answer.verdict
    assert any(r.kind == "law" and "may cancel or overflow" in r.text for r in answer.reasons)


def test_2_the_second_product_is_not_fused_into_the_first_one() -> None:
    block = Asked(extract(EXAMPLES["transformer_block"]()))
    answer = block.why_not("swiglu")
    assert answer.verdict == "swiglu is written to memory: kernel swiglu computes it"
    (other,) = answer.alternatives
    assert other.what == "swiglu not stored" and other.difference > 0.0
    answer = block.why_not("added")
    assert any(r.kind == "limit" and "nest 3 deep; a kernel holds 2" in r.text for r in answer.reasons)


def test_3_a_tile_of_64_by_64_does_not_fit_16_kib(matmul: Asked) -> None:
    answer = matmul.why_not("C: 64 x 64 in 16 KiB")
    assert answer.verdict == "a 64 × 64 tile does not fit 16 KiB" and answer.kind == "tile"
    held, elsewhere, best = answer.reasons
    assert held.kind == "limit" and "16384 B of C and 256 B of A and 256 B of B: 16896 B of 16384 B" in held.text
    assert "fit for 32 points of a fold at a time, 16 where the next ones are fetched meanwhile" in elsewhere.text
    assert best.kind == "floor" and "no schedule with 16 KiB moves less than" in best.text


def test_4_the_same_tile_fits_32_kib_and_moves_more_than_the_best_one(matmul: Asked) -> None:
    answer = matmul.why_not("C: 64x64 tile in 32 KiB")
    assert answer.verdict == "a 64 × 64 tile fits 32 KiB"
    assert [r.kind for r in answer.reasons] == ["limit", "floor"]


def test_5_a_schedule_on_one_thread_is_ruled_out_by_the_floor_of_one_core() -> None:
    if threads() < 2:
        pytest.skip("all schedules run on one thread here")
    asked = Asked(certify(product(512), budget=Budget(gap=1.0), measurer=Near()).extraction)
    x = ledger_of(asked, asked.plans[0][0][-1])
    assert x is not None
    serial = [s for n, s in enumerate(x.kernel.schedules) if one_thread(s) and n in x.left()]
    assert serial
    answer = asked.why_not(f"C: {serial[0]}")
    assert "its floor rules it out" in answer.verdict
    (reason,) = answer.reasons
    assert reason.kind == "floor" and "it takes at least" in reason.text and "(vector f32" in reason.text


def test_6_a_schedule_that_was_measured_slower_says_both_times(matmul: Asked) -> None:
    x = ledger_of(matmul, matmul.plans[0][0][-1])
    assert x is not None
    n = max(x.timed)
    answer = matmul.why_not(f"C: {x.kernel.schedules[n]}")
    assert answer.verdict == "it was measured, and is slower" and answer.reasons[0].kind == "measured"
    assert "for the one that was picked" in answer.reasons[0].text
    assert matmul.why_not(f"C: {x.kernel.schedules[x.best() or 0]}").verdict == "it was picked"


def test_7_a_schedule_that_gave_wrong_values_says_so(matmul: Asked) -> None:
    x = ledger_of(matmul, matmul.plans[0][0][-1])
    assert x is not None and x.refused
    answer = matmul.why_not(f"C: {x.kernel.schedules[next(iter(x.refused))]}")
    assert answer.verdict == "it was refused"
    assert answer.reasons[0].text == "wrong: it is wrong by 0.5 of its largest value"


def test_8_a_schedule_beyond_the_space_names_the_nearest_and_one_that_is_open_says_so(matmul: Asked) -> None:
    answer = matmul.why_not("C: tile tile=nothing:3")
    assert answer.verdict == "it is not in the declared space" and "the nearest is: tile" in answer.reasons[0].text
    x = ledger_of(matmul, matmul.plans[0][0][-1])
    assert x is not None and x.left()
    answer = matmul.why_not(f"C: {x.kernel.schedules[x.left()[0]]}")
    assert answer.verdict == "it was not timed, and could be faster" and answer.reasons[0].kind == "open"


def test_9_a_candidate_that_measurements_or_floors_rule_out_says_which(softmax: Asked) -> None:
    outcome = softmax.extraction.evidence
    assert isinstance(outcome, Outcome)
    (b,) = outcome.bounds
    assert b.upper is not None
    kinds = []
    for number in range(2, 8):
        answer = softmax.why_not(str(number))
        (found,) = [r for r in answer.reasons if r.kind in ("measured", "floor")]
        assert say.seconds(b.upper.seconds) in found.text and "measured for what was chosen" in found.text
        assert ("by its floors" in found.text) == (found.kind == "floor")
        kinds.append(found.kind)
    assert "floor" in kinds


def test_storing_the_scores_of_attention_costs_a_second_kernel_and_the_bytes_between_them() -> None:
    answer = Asked(extract(EXAMPLES["attention"]())).why_not("scores")
    assert answer.verdict == "scores is not written to memory: kernel O computes it on the way"
    (other,) = answer.alternatives
    assert other.what == "scores stored" and other.difference > 0.0


def test_10_the_uncentred_variance_is_refused_and_ieee_values_forbid_the_one_pass_form() -> None:
    answer = Asked(extract(EXAMPLES["variance"]())).why_not("cascade.pass")
    assert any(r.kind == "refused" and "not centred" in r.text for r in answer.reasons)
    (why,) = Asked(extract(EXAMPLES["softmax"](), limits=Limits(values="ieee"))).why_not("cascade.pass").reasons
    assert why.kind == "values"


MIDDLE = """graph("middle")
X = input(f32[4, 32])
mid = monoid("mid")
mid.m = component(real, identity=0.0, combine=(left.m + right.m) * 0.5)
y[i] = mid[j](X[i, j])
output(y)
"""
"""A fold whose combine depends on how points are grouped."""
BOTH_WAYS = """graph("both")
x = input(f32[8])
h[t:8] = x[t] + h[t - 1] * h[t + 1]
output(h)
"""


def test_11_a_fold_that_is_not_associative_is_not_split() -> None:
    answer = te.why_not(te.parse_graph(MIDDLE), "split X:1 in 8")
    assert answer.verdict == "the fold of 'mid' along X:1, in y, cannot be split into 8 shares"
    (why,) = answer.reasons
    assert why.kind == "law" and why.text.startswith("fold.split (reassociates) computes shares")
    assert "monoid 'mid': it is not associative: (a ∘ b) ∘ c and a ∘ (b ∘ c) are (m: " in why.text
    sums = te.why_not(te.parse_graph(MIDDLE.replace("mid[j]", "sum[j]")), "split X:1 in 8")
    assert "can be split into 8 shares: sum is associative" in sums.verdict
    (cost,) = sums.reasons
    assert cost.kind == "cost" and cost.seconds is not None and cost.seconds[0] > cost.seconds[1] > 0
    wrong = MIDDLE.replace("(left.m + right.m) * 0.5", "left.m + right.m").replace("identity=0.0", "identity=1.0")
    assert "its identity is not neutral" in te.why_not(te.parse_graph(wrong), "split X:1 in 8").reasons[0].text


def test_12_sums_in_f16_are_beyond_the_error_budget_until_it_is_wide_enough() -> None:
    graph = te.graph("product", C=te.matmul(te.input("A", (16, 64)), te.input("B", (64, 16))))
    unit = {"A": (-1.0, 1.0), "B": (-1.0, 1.0)}
    answer = te.why_not(graph, "accumulate C in f16", budget=te.ErrorBudget(ranges=unit))
    assert answer.verdict == "the states of C in f16: beyond the error budget"
    error, limit = answer.reasons
    assert error.kind == "budget" and "output 'C' is off by 0.00" in error.text and "are allowed on" in error.text
    assert limit.kind == "limit" and "kernels hold states in f32, f64" in limit.text
    wide = te.why_not(graph, "accumulate C in f16", budget=te.ErrorBudget(ranges=unit, relative=0.05))
    assert wide.verdict == "the states of C in f16: within the error budget"
    large = te.ErrorBudget(ranges=dict.fromkeys("AB", (-100.0, 100.0)), relative=0.05)
    (why, _) = te.why_not(graph, "accumulate C in f16", budget=large).reasons
    assert why.kind == "limit" and "lies in [-640000, 640000], beyond 65504" in why.text
    stored = te.why_not(graph, "store C in bf16", budget=te.ErrorBudget(ranges=unit, relative=0.05))
    assert "C stored in bf16: within the error budget" in stored.verdict


def test_13_a_recurrence_that_needs_what_comes_after_it_has_no_order() -> None:
    answer = te.why_not(BOTH_WAYS, "scan h")
    assert answer.verdict == "h depends on itself in a cycle: there is no order in which its points can be computed"
    (why,) = answer.reasons
    assert why.kind == "limit" and why.text == (
        "h needs itself (-1) and (+1): no order of its points has all of these before it"
    )
    back = te.why_not(BOTH_WAYS.replace(" * h[t + 1]", ""), "scan h")
    assert back.verdict == "h is a recurrence: written as a scan it is a fold up to each point"
    assert back.reasons[0].kind == "law" and "(-1) (h reads h[t - 1])" in back.reasons[0].text
    pair = "u[i:8] = v[i] + x[i]\nv[i:8] = u[i] * 2.0\nw[i] = x[i]\n"
    (same,) = te.why_not(pair, "scan v").reasons
    assert same.text == "the dependences v → u → v close a cycle at the same point: v reads u[i], u reads v[i]"
    assert te.why_not(pair, "scan w").verdict == "w does not depend on itself"
    gathered = te.why_not("h[t:8] = h[k[t]] + 1.0\n", "scan h")
    assert "not a fixed way apart" in gathered.reasons[0].text


def test_the_command_asks_about_graphs_that_cannot_be_compiled_or_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text, ask, said in (
        ("middle", MIDDLE, "split X:1 in 8", "it is not associative"),
        ("both", BOTH_WAYS, "scan h", "no order of its points"),
    ):
        (tmp_path / f"{name}.tang").write_text(text)
        assert saturate_main([str(tmp_path / f"{name}.tang"), "--why-not", ask]) == 0
        assert said in " ".join(capsys.readouterr().out.split())
        assert saturate_main([str(tmp_path / f"{name}.tang"), "--no-run"]) == 2
        capsys.readouterr()


@pytest.mark.parametrize(
    ("ask", "what", "mend"),
    [
        ("split X:1 in 0", "'X:1' in 0 parts", "give a whole number from 1 to"),
        ("split X:1 in many", "'X:1' in 'many' parts", "give a whole number from 1 to"),
        ("split Q in 2", "nothing is named 'Q'", ""),
        ("split X:0 in 2", "nothing folds along 'X:0'", "name an axis that a fold runs over"),
        ("accumulate y in f17", "no float type 'f17'", "use one of: f64, f32"),
        ("accumulate X in f16", "'X' is no tensor with folds of floats", "name one of: y"),
        ("store Q in f16", "'Q' is no tensor of floats", "name one of: y"),
        ("scan q", "no tensor of the text is called 'q'", "name one of: y"),
    ],
)
def test_a_question_about_a_graph_that_makes_no_sense_is_refused(ask: str, what: str, mend: str) -> None:
    graph = te.parse_graph(MIDDLE.replace("mid[j]", "sum[j]"))
    with pytest.raises(TangError) as error:
        te.why_not(graph, ask)
    assert error.value.what == what and mend in error.value.mend and error.value.where == f"--why-not {ask}"


@pytest.mark.parametrize(
    ("ask", "what", "mend"),
    [
        ("D: point", "no kernel is named 'D'", "name one of C"),
        ("C: nonsense", "'nonsense' is neither a schedule nor a tile", "or KERNEL: 64x64 in 16 KiB"),
        ("C:", "'' is neither a schedule nor a tile", "write KERNEL: SCHEDULE"),
        ("C: tile tile=i", "cannot read 'tile=i' in a schedule", "'i' has 1 parts, not 2: write tile=i:4,j:*"),
        ("C: 2x2x2 in 1 KiB", "a tile of 3 sides and 1024 bytes cannot be asked about", "give from 1 to 2 positive"),
        ("C: 0x4 in 1 KiB", "a tile of 2 sides and 1024 bytes cannot be asked about", "give from 1 to 2 positive"),
    ],
)
def test_a_question_about_schedules_that_makes_no_sense_is_refused(
    matmul: Asked, ask: str, what: str, mend: str
) -> None:
    with pytest.raises(TangError) as error:
        matmul.why_not(ask)
    assert error.value.what == what and mend in error.value.mend and error.value.where == f"--why-not {ask}"


def test_without_a_search_a_schedule_was_not_compared() -> None:
    answer = Asked(extract(product(8))).why_not("C: point")
    assert answer.verdict == "it was not compared" and "optimize(..., seconds=)" in answer.reasons[0].text
