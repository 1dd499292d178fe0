"""Schedules as text: what is printed reads back, what generators propose can be forced, and errors point at a field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import tang_egg as te
from tang_egg.errors import CodegenError, TangError
from tang_egg.extract.space import FIXED, OFFERED, around, declared
from tang_egg.pipeline import choose_schedules, extract_for, sources
from tang_egg.program import Program
from tang_egg.saturate import Limits
from tang_egg.schedule import FOLDS, SHAPES, SIZED, WORDS, FoldPlan, Schedule, parse_schedule, print_schedule
from tang_egg.targets import TARGETS, Wish, target
from tests.rows import ROWS

NAMES = st.sampled_from(["i", "j", "k~lane", "i0", "X.weight", "a,b", "50%", "x y", "é"])
SIZES = st.integers(1, 4096)


def _distinct(element: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[tuple[str, Any], ...]]:
    return st.dictionaries(NAMES, element, min_size=1, max_size=3).map(lambda d: tuple(d.items()))


@st.composite
def _plans(draw: st.DrawFn) -> FoldPlan:
    how = draw(st.sampled_from(FOLDS))
    size = 1 if how == "serial" else draw(SIZES)
    lanes = draw(st.sampled_from([0, 4, 8])) if how in ("stream", "blocks") else 0
    return FoldPlan(how, size * max(lanes, 1), lanes)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Any schedule of the grammar, with some of its fields."""
    values: dict[str, Any] = {}
    for f in draw(st.lists(st.sampled_from(fields(Schedule)[1:]), max_size=6, unique=True)):
        if f.name in SIZED:
            least = 0 if f.name == "tile" else 1
            values[f.name] = draw(_distinct(st.integers(least, 4096)))
        elif f.name == "fold":
            values[f.name] = draw(_distinct(_plans()))
        elif isinstance(f.default, tuple):
            values[f.name] = tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)))
        elif isinstance(f.default, int):
            values[f.name] = draw(st.integers(0, 4096))
        else:
            values[f.name] = draw(st.sampled_from(WORDS[f.name]))
    return Schedule(draw(st.sampled_from(SHAPES)), **values)


@given(schedules())
@settings(max_examples=120, deadline=None)
def test_every_schedule_of_the_grammar_reads_back_as_it_was_printed(s: Schedule) -> None:
    text = print_schedule(s)
    assert parse_schedule(text) == s and "\n" not in text
    assert parse_schedule(f"  {text.replace(' ', '   ')} ") == s


@given(st.text("tileblokfdsargpn=:,*%0123456789; ijk", max_size=40))
@settings(max_examples=120, deadline=None)
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    for whole in (text, f"tile {text}"):
        try:
            s = parse_schedule(whole)
        except CodegenError as error:
            assert error.where.startswith("column ") and error.mend
        else:
            assert parse_schedule(print_schedule(s)) == s


@pytest.mark.parametrize(
    ("text", "part", "column", "mend"),
    [
        ("", "", 1, "a schedule starts with one of point, split"),
        ("tiles", "tiles", 1, "a schedule starts with one of point, split"),
        ("tile tyle=i:4", "tyle=i:4", 6, "the fields are order, parallel, tile"),
        ("tile tile", "tile", 6, "the fields are order"),
        ("tile tile=i", "tile=i", 6, "'i' has 1 parts, not 2: write tile=i:4,j:*"),
        ("tile  order=i tile=i:0", "tile=i:0", 15, "'0' is no whole number from 1 to 1073741824"),
        ("tile tile=i:4,i:8", "tile=i:4,i:8", 6, "'i' stands there twice"),
        ("tile tile=i:4 tile=j:4", "tile=j:4", 15, "name tile once"),
        ("tile tile=i:99999999999", "tile=i:99999999999", 6, "is no whole number from 1"),
        ("tile block=k:*", "block=k:*", 6, "'*' is no whole number from 1 to 1073741824: write block=i:96,k:256"),
        ("tile order=i,,j", "order=i,,j", 6, "a name is empty: write order=i,j"),
        ("split fold=j:8", "fold=j:8", 7, "'8' is no way to run a fold: write fold=j:serial"),
        ("split fold=j:lanes", "fold=j:lanes", 7, "lanes takes one number"),
        ("split fold=j:serial:4", "fold=j:serial:4", 7, "serial takes no number"),
        ("stream fold=j:stream:8:3", "fold=j:stream:8:3", 8, "a tile of 8 is no multiple of 3 lanes"),
        ("mma unit=f8", "unit=f8", 5, "'f8' is none of its words: write unit=tf32"),
        ("mma accumulate=", "accumulate=", 5, "'' is none of its words: write accumulate=f32 or accumulate=f64"),
        ("mma stages=-1", "stages=-1", 5, "'-1' is no whole number from 0"),
        ("mma stages=٣", "stages=٣", 5, "is no whole number from 0"),
    ],
)
def test_an_error_points_at_the_field(text: str, part: str, column: int, mend: str) -> None:
    with pytest.raises(CodegenError) as error:
        parse_schedule(text)
    assert error.value.what == f"cannot read '{part}' in a schedule"
    assert error.value.where == f"column {column} of '{text}'" and mend in error.value.mend


def _programs(name: str, language: str) -> tuple[te.Graph, Program]:
    row = ROWS[name]
    graph = row.naive("bf16" if language == "cuda" else "f32")  # 16 bits for its matrix units
    return graph, extract_for(language, graph, Limits(), chunk=row.small_chunk).program


def _proposed(program: Program, language: str) -> Iterator[tuple[str, Schedule]]:
    """Every schedule that a target's generator proposes for a kernel, under all wishes."""
    for k in program.kernels:
        seen: dict[Schedule, None] = {}
        for wish in (Wish(), Wish(exact=True), Wish(units=False), Wish(products="tf32")):
            seen |= dict.fromkeys(target(language).schedules(k.outputs, wish))
        for s in seen:
            yield k.name, s


def check_round_trip(name: str, language: str, all_of_them: bool) -> int:
    """Every proposal reads back equal, and forced by its text prints what it prints as a record."""
    graph, program = _programs(name, language)
    chunk = ROWS[name].small_chunk
    count = 0
    for kernel, s in _proposed(program, language):
        text = print_schedule(s)
        assert parse_schedule(text) == s, text
        count += 1
        if all_of_them or count <= 2:
            try:
                record = target(language).sources(program, choose_schedules(program, language, {kernel: s}))
            except TangError as error:  # refused as a record; as a text likewise
                with pytest.raises(type(error)):
                    sources(graph, language, schedule={kernel: text}, chunk=chunk)
                continue
            assert sources(graph, language, schedule={kernel: text}, chunk=chunk) == record
    return count


@pytest.mark.parametrize("language", TARGETS)
def test_what_is_proposed_can_be_forced_by_its_text(language: str) -> None:
    assert check_round_trip("attention_causal" if language == "cuda" else "softmax_masked", language, False) >= 2


@pytest.mark.nightly
@pytest.mark.parametrize("language", TARGETS)
@pytest.mark.parametrize("name", ROWS)
def test_every_row_and_every_proposal_can_be_forced(name: str, language: str) -> None:
    assert check_round_trip(name, language, True)


EVERY = Schedule(
    "stream", order=("i", "j"), parallel=("i",), tile=(("i", 8),), fold=(("k", FoldPlan("stream", 32)),), stage=("A",),
    chunk=64, grid=("i", "j"), warp=("j",), team=4, ahead=1, occupancy=9, across=("i", "j"), consumers=2,
    stages=4, resident=2, overlap=1, turns=1, lead=1, tickets=1, supertile=16, reuse=1, straight=1, early=1,
    unit="tf32", accumulate="f64",
    store="stream", block=(("i", 96),),
)  # fmt: skip


def test_every_field_is_a_dimension_of_the_declared_space_or_the_callers_wish() -> None:
    sizes = dict.fromkeys("ijk", 4096)
    rest = {f.name: (("A",) if f.default == () else 8) for f in fields(Schedule) if getattr(EVERY, f.name) == f.default}
    full = replace(EVERY, **{n: v for n, v in rest.items() if n != "shape"})  # type: ignore[arg-type]
    space = declared([full], sizes)
    moved = {f.name for f in fields(Schedule) for s in space if getattr(s, f.name) != getattr(full, f.name)}
    assert moved == {f.name for f in fields(Schedule)} - {"shape", *FIXED}
    assert {p.lanes for s in space for _, p in s.fold} == {0, 8, 16, 32}
    assert len(set(space)) == len(space) < 120 and space[0] == full


@pytest.mark.parametrize("shape", SHAPES)
def test_fields_that_a_proposal_does_without_are_tried_with_it(shape: str) -> None:
    plain = Schedule(shape)
    offered = {f.name for s in declared([plain], {}) for f in fields(Schedule) if getattr(s, f.name) != f.default}
    assert offered - {"shape"} == set(OFFERED.get(shape, ()))
    assert len(list(around(plain, {}))) <= 24
