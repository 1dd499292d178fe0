"""Certificates go on to the very end: chunks, shares, ranks and products in parts are done again, and checked."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tang_egg.cost.roofline import Costs
from tang_egg.errors import ArtefactError, LawError, SelectionError
from tang_egg.extract.certificate import Certificate
from tang_egg.extract.certificate_json import certificate_text, load_certificate, read_certificate, save_certificate
from tang_egg.extract.replay import replay
from tang_egg.extract.rewriting import Applied, Rewriting
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.pipeline_certificate import certificate
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_rewrite import rewritten
from tang_egg.pipeline_shard import shard_certificate
from tang_egg.program import Program
from tang_egg.report import build_report
from tang_egg.report_certificate import render_certificate, replay_text
from tang_egg.report_html import render_html
from tang_egg.report_markdown import render_markdown
from tang_egg.report_text import render_text
from tang_egg.saturate import Limits
from tests.rows import ROWS
from tests.rows_model import STARVED
from tests.rows_shard import RANKS, SHARDED

ASKED = [n for n, row in ROWS.items() if row.split or row.chunk or row.products != "exact"]


@cache
def twin(name: str) -> Extraction:
    return ROWS[name].twin()


@cache
def made(name: str, texts: bool = False) -> Certificate:
    return certificate(twin(name), texts=texts)


@cache
def over_ranks(name: str) -> tuple[Graph, Certificate]:
    row = SHARDED[name]
    graph = row.build("f32", **row.small)
    found = shard_certificate(graph, row.axis, RANKS, costs=Costs(STARVED), texts=True)
    return found.graph, found


def same(a: Program, b: Program) -> bool:
    return a.graph == b.graph and [(k.name, k.outputs) for k in a.kernels] == [(k.name, k.outputs) for k in b.kernels]


@pytest.mark.parametrize("name", ASKED)
def test_rows_in_chunks_shares_and_parts_are_replayed_to_the_end(name: str) -> None:
    x, c = twin(name), made(name)
    done = replay(c, x.graph, numbers=True)
    assert len(done.ending) == 1 and same(done.ending[0], x.program)
    assert done.rewritten and set(done.rewritten) == {"done again, and compared on numbers"}
    told = {s.law for steps in x.steps.values() for s in steps if s.place == "after selection"}
    assert told and told == {s.name for s in c.steps if s.kind == "rewrite"}


@pytest.mark.parametrize("name", SHARDED)
def test_rows_over_ranks_are_replayed_to_the_end(name: str) -> None:
    graph, c = over_ranks(name)
    done = replay(c, graph, numbers=True)
    assert len(done.ending) == 2 and done.ending == c.ending
    assert done.rewritten == ("done again, and compared on numbers",)
    assert SHARDED[name].laws <= {s.name for s in c.steps if s.kind == "rewrite"}


def test_shares_and_parts_follow_one_another() -> None:
    x = rewritten(extract(ROWS["matmul_split_k"].naive(), costs=Costs(STARVED)), {"A:1": 4}, "bf16x3")
    c = certificate(x)
    assert [r.kind for r in c.rewritings] == ["split", "products"]
    assert same(replay(c, x.graph).ending[0], x.program)
    with pytest.raises(LawError, match=r"products by products: bf16x3|split by A:1: 4|nothing folds"):
        replay(replace(c, rewritings=c.rewritings[::-1]), x.graph)


# What was changed is refused.


def with_first(c: Certificate, **fields: object) -> Certificate:
    return replace(c, rewritings=(replace(c.rewritings[0], **fields), *c.rewritings[1:]))  # type: ignore[arg-type]


def first_step(r: Rewriting, **fields: str) -> tuple[Applied, ...]:
    return (replace(r.steps[0], **fields), *r.steps[1:])


SPLIT = "attention_decode_split"


def test_another_number_of_shares_is_refused() -> None:
    with pytest.raises(LawError, match="split by K:1: 3 does not end in the program that is claimed: O_share differs"):
        replay(with_first(made(SPLIT), asked=(("K:1", 3),)), twin(SPLIT).graph)


def test_another_axis_kind_or_law_is_refused() -> None:
    graph, c = twin(SPLIT).graph, made(SPLIT)
    for changed, says in (
        ({"asked": (("K:9", 4),)}, "split cannot be done as it was asked for: 'K' has no axis 9"),
        ({"asked": (("K:1", "4"),)}, "axes are asked for in whole numbers, not K:1: 4"),
        ({"asked": ()}, "axes are asked for in whole numbers, not nothing"),
        ({"kind": "wish"}, "nothing is known of the rewriting 'wish' by K:1: 4"),
        ({"kind": "products"}, "nothing is known of the rewriting 'products'"),
        ({"steps": first_step(c.rewritings[0], law="fold.split")}, r"step 1 \(fold.split\) does not follow"),
        ({"steps": first_step(c.rewritings[0], law="fold.guess")}, "the table has no such law"),
        ({"steps": first_step(c.rewritings[0], after="0")}, r"step 1 \(fold.split_state\) does not follow"),
        ({"steps": ()}, "it has another number of steps than laws are applied"),
        ({"programs": ()}, "split gives 1 programs, not 0"),
        ({"cut": (("K", 1),)}, "ranks hold or exchange something else"),
    ):
        with pytest.raises(LawError, match=says) as caught:
            replay(with_first(c, **changed), graph)
        assert caught.value.where == "graph 'plain', rewriting 1 of 1" and caught.value.mend


def test_a_dropped_combine_is_refused() -> None:
    """The merging kernel reads the state of one share, or is left out: the program is another one."""
    graph, c = twin(SPLIT).graph, made(SPLIT)
    (program,) = c.rewritings[0].programs
    with pytest.raises(LawError, match="does not end in the program that is claimed"):
        replay(with_first(c, programs=(Program(program.graph, program.kernels[:1]),)), graph)
    with pytest.raises(LawError, match="does not end in the program that is claimed: "):
        replay(with_first(c, programs=(c.program,)), graph)


def test_other_chunks_or_stages_are_refused() -> None:
    graph, c = twin("linear_attention").graph, made("linear_attention")
    with pytest.raises(LawError, match="chunk by K:0: 2"):
        replay(with_first(c, asked=(("K:0", 2),)), graph)
    with pytest.raises(LawError, match=r"the certificate has \d stages, the graph in chunks \d"):
        replay(replace(c, stages=c.stages[1:]), graph)
    with pytest.raises(LawError, match="the certificate is of another graph"):
        replay(replace(c, stages=c.stages[::-1]), graph)
    with pytest.raises(LawError, match="only the first rewriting cuts a graph into chunks"):
        replay(replace(c, rewritings=()), graph)
    with pytest.raises(LawError, match="the steps do not end in the program of the certificate"):
        replay(replace(c, program=Program(graph, ())), graph)


def test_another_exchange_or_number_of_ranks_is_refused() -> None:
    graph, c = over_ranks("attention_sharded")
    (r,) = c.rewritings
    with pytest.raises(LawError, match="shard by K:1: 3"):
        replay(with_first(c, asked=(("K:1", 3),)), graph)
    for crossings in ((), (replace(r.crossings[0], monoid="sum"),), (replace(r.crossings[0], sends=()),)):
        with pytest.raises(LawError, match="ranks hold or exchange something else"):
            replay(with_first(c, crossings=crossings), graph)
    with pytest.raises(LawError, match="a program over ranks is not rewritten any further"):
        replay(replace(c, rewritings=(r, r)), graph)


def test_a_derivation_for_all_values_has_no_step_that_holds_on_finite_ones() -> None:
    x = rewritten(extract(ROWS["matmul_split_k"].naive(), limits=Limits(values="ieee")), {"A:1": 2}, "exact")
    with pytest.raises(SelectionError, match="a derivation for all IEEE values cannot be given: step 1") as caught:
        certificate(x)
    assert "values='finite'" in caught.value.mend
    with pytest.raises(LawError, match="the law holds on finite values only"):
        replay(replace(made(SPLIT), ieee=True), twin(SPLIT).graph)


# Formats.


@pytest.mark.parametrize("name", [SPLIT, "linear_attention", "matmul_high_low"])
def test_json_reads_back_and_replays(name: str, tmp_path: Path) -> None:
    save_certificate(made(name, texts=True), tmp_path / "c.json")
    back = load_certificate(tmp_path / "c.json")
    assert back == made(name, texts=True)
    assert same(replay(back, twin(name).graph).ending[0], twin(name).program)


def test_json_without_texts_replays() -> None:
    back = read_certificate(certificate_text(made("linear_attention")))
    assert back.stages and same(
        replay(back, twin("linear_attention").graph).ending[0], twin("linear_attention").program
    )


def test_json_of_ranks_reads_back_and_replays() -> None:
    graph, c = over_ranks("attention_sharded")
    assert replay(read_certificate(certificate_text(c)), graph).ending == c.ending


def test_stages_have_no_stages() -> None:
    c = made("linear_attention")
    deeper = replace(c, stages=(replace(c.stages[0], stages=c.stages[:1]), *c.stages[1:]))
    with pytest.raises(ArtefactError, match="a stage has stages of its own"):
        read_certificate(certificate_text(deeper))


def test_texts_show_the_steps_of_rewritings() -> None:
    c = made(SPLIT)
    for shown in (render_certificate(c), render_certificate(c, markdown=True)):
        assert "rewrite fold.split_state in O_share" in shown and "K:1 = 4" in shown and "| pass" in shown
    said = replay_text(c, replay(c, twin(SPLIT).graph))
    assert "to 2 kernels: each follows" in said and "fold.split_state" in said
    assert "split by K:1: 4: done again, and compared on numbers" in said
    report = build_report(twin(SPLIT))
    for render in (render_text, render_markdown, render_html):
        assert "fold.split_state" in render(report)  # type: ignore[operator]
