"""`why` and `why_not`: every answer is what the integer program, the refusals and the provenance really say."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

import pytest

from bench.cuda_graphs import cross_entropy
from tang_egg import library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.cost.roofline import Costs, Machine
from tang_egg.egraph import ClassId
from tang_egg.errors import TangError
from tang_egg.examples import EXAMPLES, transformer
from tang_egg.extract.explain import numbered
from tang_egg.extract.select import Candidate
from tang_egg.pipeline import extract, extract_for, optimize
from tang_egg.pipeline_compiled import Extraction
from tang_egg.report import build_report
from tang_egg.report_answer import Answer, difference, render_answer
from tang_egg.report_plans import plans_of
from tang_egg.report_why import Asked
from tang_egg.report_why_not import prices
from tang_egg.saturate import Limits

SLOW_ARITHMETIC = Machine(flops=1e9, memory=1e13, cache=1e14, further=1e13, launch=0.0)
"""A machine on which carrying a sum along costs more than reading twice."""


@pytest.fixture(scope="module")
def attention() -> Asked:
    return Asked(extract(EXAMPLES["attention"]()))


@pytest.fixture(scope="module")
def block() -> Asked:
    return Asked(extract(EXAMPLES["transformer_block"]()))


def least(candidates: Sequence[Candidate], outputs: Sequence[ClassId], wanted: Candidate | None = None) -> float | None:
    """The least seconds over all subsets of candidates, by trying every one: what the integer program must find.

    A set of more kernels than there are classes to write has one too many.
    """
    best: float | None = None
    for size in range(1, len({c for k in candidates for c in k.writes}) + 1):
        for some in itertools.combinations(candidates, size):
            seconds = sum(k.estimate.seconds for k in some)
            if (best is None or seconds < best) and _runs(some, outputs) and _used(wanted, some, outputs):
                best = seconds
    return best


def _runs(some: Sequence[Candidate], outputs: Sequence[ClassId]) -> bool:
    writer = {c: n for n, k in enumerate(some) for c in k.writes}
    if any(c not in writer for c in (*outputs, *(c for k in some for c in k.reads))):
        return False
    try:
        TopologicalSorter({n: {writer[c] for c in k.reads} for n, k in enumerate(some)}).prepare()
    except CycleError:
        return False
    return True


def _used(wanted: Candidate | None, some: Sequence[Candidate], outputs: Sequence[ClassId]) -> bool:
    """Whether nothing is made in vain: all that is wanted, something of every other kernel."""
    needed = {*outputs, *(c for k in some for c in k.reads)}
    if wanted is None:
        return True
    if len({c for k in some for c in k.writes}) < sum(len(k.writes) for k in some):
        return False
    return any(k is wanted for k in some) and set(wanted.writes) <= needed and all(set(k.writes) & needed for k in some)


@pytest.mark.parametrize("name", ["softmax", "variance"])
def test_the_price_of_a_candidate_is_the_least_over_all_sets_of_kernels_with_it(name: str) -> None:
    asked = Asked(extract(EXAMPLES[name]()))
    about = asked.about(0)
    candidates, base = about.selection.candidates, about.selection.seconds
    assert len(candidates) <= 20
    assert least(candidates, about.outputs) == pytest.approx(base)
    found = prices(asked)
    for number, (k, chosen) in enumerate(numbered(about.selection), 1):
        best = least(candidates, about.outputs, k)
        if chosen:
            assert number not in found
        elif best is None:
            assert found[number] is None
        else:
            assert found[number] == pytest.approx(best - base)
    assert any(v is not None for v in found.values())


def test_what_is_inlined_names_its_kernel_its_laws_and_its_price(attention: Asked) -> None:
    answer = attention.why("row_sum")
    assert answer.kind == "tensor"
    assert answer.kernels == ("O",)
    assert "not written to memory" in answer.verdict
    assert [s.law for s in answer.steps] == ["cascade.pass"]
    stored = next(a for a in answer.alternatives if a.what == "row_sum stored")
    assert stored.difference > 0.0
    assert stored.seconds == pytest.approx(answer.predicted + stored.difference)
    assert any("row_sum" in k for k in stored.kernels)


def test_an_output_tells_all_laws_and_what_it_computes_on_the_way(attention: Asked) -> None:
    answer = attention.why("O")
    assert answer.kind == "output"
    assert [s.law for s in answer.steps] == ["cascade.pass", "cascade.pass", "fold.hoist"]
    assert any("scores, row_max, row_sum" in d for d in answer.details)
    assert answer.alternatives and all(a.difference >= 0.0 for a in answer.alternatives)


def test_what_the_laws_led_around_is_computed_nowhere(attention: Asked) -> None:
    answer = attention.why("weights")
    assert answer.kernels == ()
    assert "computed nowhere: row_sum, O read it" in answer.verdict
    assert "cascade.pass" in [s.law for s in answer.steps]


def test_a_stored_tensor_that_nothing_can_inline_names_the_limit(block: Asked) -> None:
    answer = block.why_not("added")
    assert answer.kernels == ("added",)
    assert answer.alternatives == ()
    assert any(r.kind == "limit" and "nest 3 deep; a kernel holds 2" in r.text for r in answer.reasons)
    beaten = next(r for r in answer.reasons if r.kind == "cost")
    assert beaten.seconds is not None and beaten.seconds[0] > beaten.seconds[1]


def test_a_stored_tensor_that_could_be_inlined_names_the_price(block: Asked) -> None:
    (other,) = block.why_not("swiglu").alternatives
    assert other.what == "swiglu not stored"
    assert other.difference > 0.0
    assert not any("swiglu" in k for k in other.kernels)


def test_a_kernel_has_its_reader_and_its_companions(block: Asked) -> None:
    answer = block.why("k")
    assert answer.kernels == ("v",)
    assert any(d.startswith("the same kernel writes") and "v" in d for d in answer.details)
    assert "it is read by kernel scores" in answer.details


@pytest.mark.parametrize(
    ("law", "verdict", "kind", "text"),
    [
        ("cascade.pass", "used, for 1 kernel: O", "", ""),
        ("sibling.join", "used, for 1 kernel: O", "", ""),
        ("fold.linear", "united nothing", "law", "may cancel or overflow"),
        ("fold.interchange", "united nothing", "law", "schedules do what it says"),
        ("fold.hoist_shift", "united nothing", "law", "never found with c free of j"),
        ("scan.prefix", "united nothing", "law", "the front end saw nothing"),
        ("cascade.scales_exp", "united nothing", "law", "its facts are what other laws ask for"),
        ("scalar.mul_one", "no picked kernel has what it made", "use", "compute anyway"),
    ],
)
def test_a_law_was_used_or_says_why_not(attention: Asked, law: str, verdict: str, kind: str, text: str) -> None:
    answer = attention.why_not(law)
    assert answer.kind == "law"
    assert verdict in answer.verdict
    assert bool(answer.kernels) == bool(answer.steps) == (not kind) or law == "sibling.join"
    assert any(r.kind == kind and text in r.text for r in answer.reasons) or not kind


def test_a_law_that_was_refused_says_the_refusal() -> None:
    answer = Asked(extract(EXAMPLES["variance"]())).why_not("cascade.pass")
    assert "no picked kernel" in answer.verdict
    assert any(r.kind == "refused" and "not centred" in r.text for r in answer.reasons)


def test_a_law_that_was_beaten_says_the_price() -> None:
    asked = Asked(extract(EXAMPLES["softmax"](), costs=Costs(SLOW_ARITHMETIC)))
    answer = asked.why_not("cascade.pass")
    (other,) = answer.alternatives
    assert answer.kernels == ()
    assert other.difference > 0.0
    users = [n for n, (k, _) in enumerate(numbered(asked.about(0).selection), 1)
             if any(s.law == "cascade.pass" for s in asked.about(0).steps(k))]  # fmt: skip
    priced = prices(asked)
    assert other.difference == pytest.approx(min(p for n in users if (p := priced[n]) is not None))


def test_a_law_for_finite_values_does_not_run_on_ieee_values() -> None:
    found = extract(EXAMPLES["softmax"](), limits=Limits(values="ieee"))
    (why,) = Asked(found).why_not("cascade.pass").reasons
    assert why.kind == "values"


def test_two_tensors_in_one_kernel(attention: Asked, block: Asked) -> None:
    assert attention.why_not("row_max + row_sum").kernels == ("O",)
    assert block.why_not("k+v").kernels == ("v",)
    (other,) = block.why_not("v+scores").alternatives
    assert other.difference > 0.0
    assert any({"v", "scores"} <= set(k.split(", ")) for k in other.kernels)


def test_two_tensors_that_no_kernel_can_hold_say_what_keeps_them_apart(block: Asked) -> None:
    for pair in itertools.combinations(("rms_norm", "q", "scores", "Y"), 2):
        answer = block.why_not("+".join(pair))
        told = [bool(answer.kernels), bool(answer.alternatives), bool(answer.reasons)]
        assert any(told), pair


def test_tensors_of_different_windows_are_cut_apart() -> None:
    asked = Asked(extract(transformer(3, tokens=4, width=8, heads=2)))
    first, last = (asked.extraction.windows[n][0].roots[0].name for n in (0, -1))
    answer = asked.why_not(f"{first}+{last}")
    assert "different windows" in answer.verdict
    assert [r.kind for r in answer.reasons] == ["space"]


def test_a_candidate_is_chosen_or_has_a_price(attention: Asked) -> None:
    chosen = attention.why_not("1")
    assert "was chosen" in chosen.verdict
    assert chosen.alternatives[0].difference > 0.0
    report = build_report(attention.extraction)
    for c in report.candidates[1:4]:
        answer = attention.why_not(str(c.number))
        assert all(w in answer.verdict for w in c.writes)
        assert answer.alternatives or answer.reasons


def test_every_name_of_a_graph_has_both_answers(attention: Asked) -> None:
    for name in ("scores", "row_max", "weights", "row_sum", "O"):
        for answer in (attention.why(name), attention.why_not(name)):
            assert isinstance(answer, Answer)
            assert answer.reasons or answer.alternatives
            text = str(answer)
            assert text.splitlines()[0].startswith(f"{answer.question} {name} ")
            assert all(len(line) <= 60 for line in render_answer(answer, 60).splitlines())


@pytest.mark.parametrize(
    ("ask", "what", "mend"),
    [
        (lambda a: a.why("Q"), "'Q' is an input", "ask about scores, row_max"),
        (lambda a: a.why("scoresy"), "did you mean 'scores'?", "ask about scores"),
        (lambda a: a.why_not("fold.hosit"), "did you mean 'fold.hoist'", "or a law"),
        (lambda a: a.why_not("0"), "no candidate 0", "from 1 to"),
        (lambda a: a.why_not("9" * 6000), "no candidate", "from 1 to"),
        (lambda a: a.why_not("O+"), "does not name two tensors", "NAME+NAME"),
        (lambda a: a.why_not("O+O"), "does not name two tensors", "NAME+NAME"),
        (lambda a: a.why_not("O+Q"), "'Q' is an input", "ask about"),
        (lambda a: a.why_not(""), "nothing named ''", "ask about"),
    ],
)
def test_what_cannot_be_answered_says_what_can_be_asked(attention: Asked, ask: object, what: str, mend: str) -> None:
    assert callable(ask)
    with pytest.raises(TangError) as raised:
        ask(attention)
    assert what in raised.value.what
    assert mend in raised.value.mend
    assert raised.value.where.startswith("--why")


def test_a_tensor_that_only_moves_another_stands_in_what_reads_it() -> None:
    x, (i, j) = te.input("X", (6, 4)), te.indices("i j")
    turned = te.tensor("turned", (j, i), x[i, j])
    asked = Asked(extract(graph("g", Y=te.tensor(None, j, te.sum(i, turned[j, i])))))
    for answer in (asked.why("turned"), asked.why_not("turned")):
        assert "stands in what reads it" in answer.verdict
        assert [r.text for r in answer.reasons] == ["it is only X[i, j]: there is nothing to compute"]
    with pytest.raises(TangError, match="'turned' is no work of its own"):
        asked.why_not("Y+turned")


def test_a_compiled_graph_answers() -> None:
    compiled = optimize(graph("small", P=library.softmax(te.input("X", (5, 7)))))
    assert compiled.why("P").kernels == ("P",)
    assert "used" in compiled.why_not("cascade.pass").verdict


def test_chosen_kernels_are_marked_even_where_they_write_less_than_they_could(attention: Asked) -> None:
    selection = attention.about(0).selection
    whole = selection.candidates[-1]
    less = replace(whole, reads=())  # a record of its own, with the same estimate
    rows = numbered(replace(selection, chosen=[less]))
    assert [chosen for _, chosen in rows] == [True] + [False] * (len(rows) - 1)
    assert rows[0][0] is whole


def test_kernels_that_a_target_cuts_belong_to_the_kernel_that_they_came_from() -> None:
    found: Extraction = extract_for("cuda", cross_entropy(4096, 4096, 32000), Limits())
    groups = [g for part in plans_of(found) for g in part]
    assert sorted(p.name for g in groups for p in g) == sorted(k.name for k in found.program.kernels)
    (pair,) = [[p.name for p in g] for g in groups if len(g) > 1]
    assert pair == ["loss_part", "loss_share", "loss"]
    report = build_report(found)
    laws = {k.name: k.laws for k in report.kernels}
    assert "cascade.pass" in laws["loss"]
    assert laws["loss_part"] == ()
    assert {o.name for k in report.kernels for o in k.outputs} == {t.name for t in found.program.tensors}


@pytest.mark.parametrize(("seconds", "text"), [(0.0, "±0"), (7.2e-5, "+72 µs"), (-1.5e-3, "−1.5 ms"), (1e-15, "±0")])
def test_differences_have_a_sign_and_a_unit(seconds: float, text: str) -> None:
    assert difference(seconds) == text
