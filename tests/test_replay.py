"""Derivations as certificates: what is replayed ends in the extracted program, and what was changed is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg.assemble import graph as make_graph
from tang_egg.cli import saturate_main
from tang_egg.cost.roofline import Costs
from tang_egg.errors import ArtefactError, LawError, TangError
from tang_egg.examples import EXAMPLES
from tang_egg.extract.certificate import Certificate, CertifiedStep
from tang_egg.extract.certificate_json import certificate_text, load_certificate, read_certificate, save_certificate
from tang_egg.extract.certificate_term import Term, at, places_of, replace_at, walk
from tang_egg.extract.replay import replay
from tang_egg.extract.replayed import Replayed
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.pipeline_certificate import certificate
from tang_egg.pipeline_compiled import Extraction
from tang_egg.program import Program
from tang_egg.report_certificate import render_certificate, replay_text
from tang_egg.rules.table import equalities
from tang_egg.saturate import Limits
from tang_egg.text import parse_graph
from tests.laws import programs
from tests.rows import ROWS
from tests.rows_model import STARVED

SMALL = programs.all_programs()


def same(a: Program, b: Program) -> bool:
    """Whether two programs are equal node by node."""
    return a.graph == b.graph and [(k.name, k.outputs) for k in a.kernels] == [(k.name, k.outputs) for k in b.kernels]


def replayed(x: Extraction, *, numbers: bool = False) -> tuple[Certificate, Replayed]:
    made = certificate(x)
    return made, replay(made, x.graph, numbers=numbers)


@pytest.mark.parametrize("name", SMALL)
def test_every_step_follows_and_keeps_the_values(name: str) -> None:
    x = extract(SMALL[name]())
    made, done = replayed(x, numbers=True)
    assert same(done.program, x.program)
    assert {s.name for s in made.steps if s.kind == "law" and s.name in equalities()} >= {
        law
        for steps in x.steps.values()
        for s in steps
        if (law := s.law) in ("fold.hoist", "cascade.pass", "scan.prefix")
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_end_in_the_extracted_program(name: str) -> None:
    x = extract(EXAMPLES[name]())
    assert same(replayed(x)[1].program, x.program)


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_table_end_in_the_extracted_program(name: str) -> None:
    x = extract(ROWS[name].naive(), costs=Costs(STARVED))
    assert same(replayed(x)[1].program, x.program)


@pytest.mark.parametrize("seed", range(3))
def test_sums_that_mention_a_statistic(seed: int) -> None:
    x = extract(programs.moving(seed), limits=Limits(seconds=4.0))
    assert same(replayed(x, numbers=True)[1].program, x.program)


def test_a_certificate_for_all_ieee_values_uses_no_law_of_finite_ones() -> None:
    x = extract(SMALL["simple"](), limits=Limits(values="ieee"))
    made, done = replayed(x)
    assert made.ieee and same(done.program, x.program)
    finite = extract(SMALL["attention"]())
    with pytest.raises(LawError, match="the law holds on finite values only"):
        replay(replace(certificate(finite), ieee=True), finite.graph)


def test_windows_that_are_alike_are_derived_once() -> None:
    i, j = te.index("i", 4), te.index("j", 4)
    x = te.tensor("x0", (i, j), e.exp(te.input("X", (4, 4))[i, j]))
    for n in range(4):
        v = x[i, j]
        for _ in range(20):
            v = e.tanh(v * 0.5 + 1.0)
        total = te.tensor(f"s{n}", i, te.sum(j, x[i, j]))
        x = te.tensor(f"x{n + 1}", (i, j), v + total[i])
    made_of = extract(make_graph("layers", x))
    made, done = replayed(made_of, numbers=True)
    windows, distinct, ends = len(made.parts), len(made.windows), same(done.program, made_of.program)
    assert windows > distinct and ends


# What a step says.


@cache
def attention() -> tuple[Graph, Certificate]:
    x = extract(SMALL["attention"]())
    return x.graph, certificate(x, texts=True)


def steps_of(made: Certificate, kind: str) -> list[CertifiedStep]:
    return [s for s in made.steps if s.kind == kind]


def test_a_step_says_where_a_law_is_used_on_what_and_what_the_whole_becomes() -> None:
    graph, made = attention()
    hoist = next(s for s in made.steps if s.name == "fold.hoist")
    assert not hoist.reverse and hoist.paths == ((),)
    assert {n for n, _ in hoist.bindings} == {"b", "f", "j", "u", "w"}
    before, after = (parse_graph(t, check=False) for t in hoist.texts)
    rng = np.random.default_rng(0)
    arrays = {i.name: rng.normal(size=[s.value for s in i.shape]) for i in before.inputs}
    first, second = (next(iter(interpret(g, arrays).values())) for g in (before, after))
    np.testing.assert_allclose(first, second, rtol=1e-12)
    assert [s.name for s in steps_of(made, "graph")] == ["normal.form", "window.cut", "program.name"]
    assert {s.name for s in steps_of(made, "fact")} >= {"abstracts", "carried", "split"}
    assert [s.name for s in steps_of(made, "build")] == ["pass.build"] * 2
    assert [s.name for s in steps_of(made, "join")] == ["sibling.join"]
    assert graph == made.graph


def test_steps_of_the_front_end_and_of_stored_tensors() -> None:
    x = extract(EXAMPLES["gram"]())
    made, done = replayed(x)
    assert {s.name for s in made.steps if s.kind in ("store", "join")} >= {"tensor.store", "tensor.write"}
    scan = certificate(extract(SMALL["gated_recurrence"]()))
    assert "scan.prefix" in {s.name for s in steps_of(scan, "law")}
    assert len(done.checked) == len(made.windows)


# What was changed is refused.


def window_with(made: Certificate, steps: tuple[CertifiedStep, ...]) -> Certificate:
    return replace(made, windows=(replace(made.windows[0], steps=steps), *made.windows[1:]))


def changed(made: Certificate, change: Callable[[list[CertifiedStep]], None]) -> Certificate:
    steps = [replace(s, texts=()) for s in made.windows[0].steps]
    change(steps)
    return window_with(made, tuple(steps))


def number(made: Certificate, name: str) -> int:
    return next(n for n, s in enumerate(made.windows[0].steps) if s.name == name)


def set_(step: str, /, **fields: object) -> Callable[[list[CertifiedStep]], None]:
    def change(steps: list[CertifiedStep]) -> None:
        n = next(n for n, s in enumerate(steps) if s.name == step)
        steps[n] = replace(steps[n], **fields)  # type: ignore[arg-type]

    return change


def bound(name: str, variable: str, value: object) -> Callable[[list[CertifiedStep]], None]:
    def change(steps: list[CertifiedStep]) -> None:
        n = next(n for n, s in enumerate(steps) if s.name == name)
        pairs = tuple((v, value if v == variable else t) for v, t in steps[n].bindings)
        steps[n] = replace(steps[n], bindings=pairs)  # type: ignore[arg-type]

    return change


def drop(name: str) -> Callable[[list[CertifiedStep]], None]:
    def change(steps: list[CertifiedStep]) -> None:
        del steps[next(n for n, s in enumerate(steps) if s.name == name)]

    return change


def swap(first: str, second: str) -> Callable[[list[CertifiedStep]], None]:
    def change(steps: list[CertifiedStep]) -> None:
        a, b = (next(n for n, s in enumerate(steps) if s.name == x) for x in (first, second))
        steps[a], steps[b] = steps[b], steps[a]

    return change


ONE = Term("Lit", ("1.0", "real"))
TWO = Term("Lit", ("2.0", "real"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (set_("fold.hoist", name="fold.hoist_negation"), "nothing is bound to the variable 'x'"),
        (set_("fold.hoist", name="fold.nothing"), "the table has no such law"),
        (set_("fold.hoist", name="view.read"), "equality of the front end"),
        (set_("fold.hoist", reverse=True), "the place does not hold the law's right side"),
        (set_("fold.hoist", kind="wish"), "there is no kind of step 'wish'"),
        (set_("fold.hoist", paths=((0,),)), "something else changes than its places"),
        (set_("fold.hoist", paths=((0,), (1,))), "its places do not hold one and the same term"),
        (set_("fold.hoist", paths=((), (0,))), "its places do not hold one and the same term"),
        (set_("fold.hoist", paths=((0, 9),)), "something else changes than its places"),
        (set_("fold.hoist", paths=()), "its places do not hold one and the same term"),
        (set_("fold.hoist", paths=((), ())), "its places do not hold one and the same term"),
        (set_("fold.hoist", bindings=()), "nothing is bound to the variable"),
        (bound("fold.hoist", "f", ONE), "not the law's right side"),
        (bound("fold.hoist", "b", TWO), "the place does not hold the law's left side"),
        (bound("split", "3", TWO), "the fact 'split' (1st = 3rd · 4th, and the 3rd does not depend on 2nd) does"),
        (bound("split", "2", TWO), "does not hold of its arguments"),
        (bound("carried", "4", TWO), "does not hold of its arguments"),
        (bound("abstracts", "3", ONE), "does not hold of its arguments"),
        (set_("split", name="bits"), "the unknown fact 'bits'"),
        (drop("split"), "no step before it established the fact 'split'"),
        (drop("carried"), "no step before it established the fact 'carried'"),
        (drop("fold.hoist"), "is another expression before it"),
        (drop("pass.build"), "is another expression before it"),
        (drop("tensor.open"), "is not open"),
        (swap("fold.hoist", "cascade.pass"), "is another expression before it"),
        (set_("tensor.open", paths=((0,),)), "the graph has another term there"),
        (set_("tensor.open", bindings=(("tensor", "t99"),)), "the graph has another term there in 't99'"),
        (set_("sibling.join", tensors=("t99",)), "not all of its tensors are open"),
        (set_("sibling.join", bodies=()), "joining the folds of these tensors gives something else"),
        (set_("sibling.join", name="tensor.write"), "the step has another name"),
        (set_("pass.build", name="fold.hoist", kind="law"), "nothing is bound to the variable"),
        (set_("pass.build", name="pass.guess"), "it makes no pass of a cascade"),
    ],
)  # fmt: skip
def test_a_changed_step_is_refused(change: Callable[[list[CertifiedStep]], None], says: str) -> None:
    graph, made = attention()
    with pytest.raises(LawError) as caught:
        replay(changed(made, change), graph)
    error = caught.value
    assert says in error.what, error.what
    assert error.what.startswith("step ") and "does not follow" in error.what
    assert error.where.startswith("window 1, step ") and error.mend


def test_steps_that_are_left_out_at_the_end_are_missed() -> None:
    graph, made = attention()
    with pytest.raises(LawError, match="no step finishes 't"):
        replay(changed(made, drop("sibling.join")), graph)


def test_every_step_is_needed() -> None:
    """A certificate without one of its steps, or with two neighbours swapped that are no facts, is refused."""
    graph, made = attention()
    steps = made.windows[0].steps
    for n in range(len(steps)):
        with pytest.raises(LawError):
            replay(window_with(made, (*steps[:n], *steps[n + 1 :])), graph)
    for n in range(len(steps) - 1):
        if "fact" not in (steps[n].kind, steps[n + 1].kind):
            moved = (*steps[:n], steps[n + 1], steps[n], *steps[n + 2 :])
            with pytest.raises(LawError):
                replay(window_with(made, moved), graph)


def test_a_changed_sub_term_is_refused_wherever_it_stands() -> None:
    graph, made = attention()
    steps = made.windows[0].steps
    rng, tried = Random(3), 0
    for n, s in enumerate(steps):
        if s.after is None:
            continue
        for t in rng.sample(list(walk(s.after)), 3):
            path = next(places_of(s.after, t))
            other = replace_at(s.after, (path,), TWO if t is not TWO else ONE)
            assert at(other, path) is not t
            broken = (*steps[:n], replace(s, after=other, texts=()), *steps[n + 1 :])
            with pytest.raises(LawError):
                replay(window_with(made, broken), graph)
            tried += 1
    assert tried > 10


def test_texts_say_what_terms_say() -> None:
    graph, made = attention()
    steps = made.windows[0].steps
    n = number(made, "fold.hoist")
    broken = (*steps[:n], replace(steps[n], texts=steps[n].texts[::-1]), *steps[n + 1 :])
    with pytest.raises(LawError, match="its text does not say what its terms say"):
        replay(window_with(made, broken), graph)


def test_another_graph_window_or_program_is_refused() -> None:
    graph, made = attention()
    other = SMALL["softmax"]()
    with pytest.raises(LawError, match="the certificate is of another graph: 'attention'"):
        replay(made, other)
    with pytest.raises(LawError, match="the certificate has 2 windows, the graph 1"):
        replay(replace(made, parts=(0, 0)), graph)
    with pytest.raises(LawError, match="the certificate has windows that the graph has not"):
        replay(replace(made, windows=made.windows * 2), graph)
    with pytest.raises(LawError, match="the steps do not end in the program of the certificate"):
        replay(replace(made, program=Program(graph, ())), graph)
    with pytest.raises(LawError, match=r"step 1 \(.*\) of the first steps is not what the graph leads to"):
        replay(replace(made, opening=made.opening[1:] + made.opening[:1]), graph)
    with pytest.raises(LawError, match=r"step 1 \(program.name\) of the last steps is not what the graph leads to"):
        replay(replace(made, closing=()), graph)
    window = made.windows[0]
    with pytest.raises(LawError, match="the certificate does not say which tensors hold the results"):
        replay(replace(made, windows=(replace(window, roots=()),)), graph)
    (written,) = window.kernels[0]
    for broken in (replace(written, axes=("q",)), replace(written, dtype="q8")):
        with pytest.raises(LawError, match="axes or a type that the window does not know"):
            replay(replace(made, windows=(replace(window, kernels=((broken,),)),)), graph)
    with pytest.raises(LawError, match="other axes or another type than its expression"):
        replay(replace(made, windows=(replace(window, kernels=((replace(written, axes=()),),)),)), graph)
    with pytest.raises(LawError, match="is not the same along"):
        replay(replace(made, windows=(replace(window, kernels=((replace(written, same=written.axes),),)),)), graph)


def test_a_tensor_is_read_only_where_it_was() -> None:
    x = extract(EXAMPLES["gram"]())
    made = certificate(x)
    n = number(made, "tensor.store")
    steps = made.windows[0].steps
    for wrong, says in (
        (replace(steps[n], bindings=(("tensor", "t9"),)), "it is no read of another tensor"),
        (replace(steps[n], name="tensor.steal"), "it is no read of another tensor"),
    ):
        with pytest.raises(LawError, match=says):
            replay(window_with(made, (*steps[:n], wrong, *steps[n + 1 :])), x.graph)
    opened = next(m for m, s in enumerate(steps) if s.kind == "open")
    with pytest.raises(LawError):
        replay(window_with(made, (*steps[:opened], *steps[opened + 1 :])), x.graph)


# Formats.


@pytest.mark.parametrize("name", ["attention", "simple", "gated_recurrence", "embedding_sum", "cross_entropy"])
def test_json_reads_back_and_replays(name: str, tmp_path: Path) -> None:
    x = extract(SMALL[name]())
    made = certificate(x, texts=True)
    path = tmp_path / "c.json"
    save_certificate(made, path)
    back = load_certificate(path)
    assert back == made
    assert same(replay(back, x.graph).program, x.program)
    data = json.loads(path.read_text(encoding="utf-8"))
    assert (data["kind"], data["format"]) == ("tang_egg certificate", 1)
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"], "nothing is left beside it"


@pytest.mark.parametrize("name", ["attention", "simple", "cross_entropy"])
def test_json_of_a_certificate_without_texts_replays(name: str) -> None:
    """A join and a count leave expressions that no term holds: they are written all the same, and nothing else is."""
    x = extract(SMALL[name]())
    made = certificate(x)
    back = read_certificate(certificate_text(made))
    assert same(replay(back, x.graph).program, x.program)
    finished = [s for s in back.steps if s.kind in ("join", "count")]
    assert finished and all(len(s.texts) == len(s.bodies) == len(s.tensors) for s in finished)
    assert not any(s.texts for s in back.steps if s.kind not in ("join", "count"))
    assert certificate_text(back) == certificate_text(made)


def test_text_and_markdown_show_every_step() -> None:
    graph, made = attention()
    text, marked = render_certificate(made), render_certificate(made, markdown=True)
    for shown in (text, marked):
        assert all(s.name in shown for s in made.steps)
        assert "at where" not in shown and "| output(" in shown
    assert marked.startswith("# Derivation of attention\n") and "```text" in marked
    said = replay_text(made, replay(made, graph))
    assert said.startswith(f"{len(made.steps)} steps from 'attention' to 1 kernel: each follows")
    assert "laws: fold.hoist, cascade.pass" in said and "on random numbers in float64" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "this is no certificate: it is no JSON"),
        ("[]", "it does not say that it is a certificate"),
        ("{}", "it does not say that it is a certificate"),
        ('{"kind": "tang_egg certificate", "format": 2}', "a certificate of format 2, and this version reads 1"),
        ('{"kind": "tang_egg certificate", "format": 1}', "a field is missing or of another kind"),
        ("[" * 100_000, "it is no JSON"),
    ],
)
def test_what_is_no_certificate_is_refused(text: str, says: str) -> None:
    with pytest.raises(ArtefactError) as caught:
        read_certificate(text, "here")
    assert says in caught.value.what and caught.value.where == "here" and caught.value.mend


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="the certificate cannot be read"):
        load_certificate(tmp_path / "none.json")
    with pytest.raises(ArtefactError, match="the certificate cannot be written"):
        save_certificate(attention()[1], tmp_path / "none" / "c.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(ArtefactError, match="it is no text in UTF-8"):
        load_certificate(tmp_path / "bytes.json")


def test_damaged_json_gives_an_error_of_three_parts_or_replays() -> None:
    """Values of the JSON exchanged, dropped and replaced: nothing but a TangError, and no false program."""
    graph, made = attention()
    data = json.loads(certificate_text(made))
    rng, refused = Random(5), 0
    for _ in range(80):
        broken = copy.deepcopy(data)
        _damage(broken, rng)
        try:
            done = replay(read_certificate(json.dumps(broken)), graph)
        except TangError as error:
            assert error.where and error.mend
            refused += 1
        else:
            assert same(done.program, made.program)
    assert refused > 60


def _damage(data: Any, rng: Random) -> None:
    spots: list[tuple[Any, Any]] = []
    stack = [data]
    while stack:
        x = stack.pop()
        keys = list(x) if isinstance(x, dict) else list(range(len(x)))
        spots += [(x, k) for k in keys]
        stack += [x[k] for k in keys if isinstance(x[k], (dict, list))]
    owner, key = rng.choice(spots)
    kind = rng.randrange(3)
    if kind == 0:
        del owner[key]
    elif kind == 1:
        owner[key] = rng.choice([None, -1, 0, 3, 10**9, "", "sum", [], {}, True, 0.5, {"t": 2}, {"ts": [0]}, [[]]])
    else:
        other, name = rng.choice(spots)
        owner[key] = copy.deepcopy(other[name])


def test_the_command_writes_a_certificate_and_replays_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.json"
    assert saturate_main(["logsumexp", "--certificate", str(path)]) == 0
    assert saturate_main(["logsumexp", "--replay", str(path)]) == 0
    assert "each follows, and the end is the program of the certificate" in capsys.readouterr().out
    data = json.loads(path.read_text(encoding="utf-8"))
    law = next(s for s in data["windows"][0]["steps"] if s["name"] == "cascade.pass")
    law["name"] = "fold.hoist"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert saturate_main(["logsumexp", "--replay", str(path)]) == 1
    assert "(fold.hoist) does not follow" in capsys.readouterr().err
    assert saturate_main(["logsumexp", "--replay", str(path), "--dot"]) == 2
    assert "--replay and --dot cannot be had together" in capsys.readouterr().err
