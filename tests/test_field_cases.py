"""Problems from reports of bugs in tensor compilers: the interpreter and compiled C give the right answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tang_egg as te
from tang_egg.errors import GraphError
from tang_egg.pipeline_compiled import Compiled
from tests.field_case import CASES, Array, Arrays, Case, differs
from tests.field_cases import BY_NAME, faults
from tests.field_graphs import STATEMENTS, UNSTATED, page
from tests.field_graphs_views import axes

PAGE = Path(__file__).parent.parent / "docs" / "field-cases.md"
HEAVY = {"fmod_large_ratio"}
"""Cases whose saturation takes long: chains of remainders of products."""

everywhere = pytest.mark.parametrize("name", STATEMENTS)
compiled_ones = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in HEAVY else n for n in STATEMENTS]
)


@pytest.fixture(autouse=True)
def _quick_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CFLAGS", "-O1")


@cache
def answer(name: str) -> tuple[Arrays, Arrays]:
    """The inputs of a case and its right answer."""
    with np.errstate(all="ignore"):
        x = BY_NAME[name].inputs()
        return x, BY_NAME[name].reference(x)


@cache
def compiled(group: str) -> Compiled:
    """The program of a group of cases, compiled once."""
    stated = STATEMENTS[group].stated()
    return te.optimize(stated.graph, values=stated.values, verified=False)


def interpreted(graph: te.Graph) -> Callable[[Arrays, dict[str, int]], Mapping[str, Array]]:
    return lambda arrays, dims: te.interpret(graph, arrays, dims, round_outputs=True)


@pytest.mark.parametrize("c", CASES, ids=lambda c: c.name)
def test_a_case_is_sound_and_shows_its_bug(c: Case) -> None:
    assert faults(c) == []


@everywhere
def test_the_interpreter_gives_the_answer(name: str) -> None:
    stated = STATEMENTS[name].stated()
    x, want = answer(name)
    assert differs(BY_NAME[name], want, stated.answers(interpreted(stated.graph), x)) == ""


@compiled_ones
def test_compiled_c_gives_the_answer_and_not_that_of_the_bug(name: str) -> None:
    statement, c = STATEMENTS[name], BY_NAME[name]
    x, want = answer(name)
    got = statement.stated().answers(compiled(statement.group).runner, x)
    assert differs(c, want, got) == ""
    if c.wrong is not None:
        with np.errstate(all="ignore"):
            bug = c.wrong(x)
        assert differs(c, {k: v for k, v in got.items() if k in bug}, bug) != ""


def test_cases_of_one_group_share_a_graph() -> None:
    tails = [s for s in STATEMENTS.values() if s.name.startswith("attn_kv_tail")]
    assert len(tails) == 4 and len({te.print_graph(s.stated().graph) for s in tails}) == 1
    assert [d.name for d in tails[0].stated().graph.dims()] == ["keys"]
    assert len(STATEMENTS["dynamic_view_broadcast"].stated().calls) == 3


def test_every_case_is_stated_or_has_a_reason() -> None:
    names = {c.name for c in CASES}
    assert set(STATEMENTS) | set(UNSTATED) == names and not set(STATEMENTS) & set(UNSTATED)


def test_the_page_of_cases_is_in_step() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.field_graphs > docs/field-cases.md"


@pytest.mark.parametrize("name", ["inplace_flip_add", "inplace_shift"])
def test_reads_of_what_is_overwritten_are_refused(name: str) -> None:
    a = te.input("a", (9, 7), donated=True)
    i, j = axes(a)
    other = a[8 - i, j] if name == "inplace_flip_add" else te.select(te.holds(i >= 1), a[i - 1, j], a[0, j])
    with pytest.raises(GraphError, match="is written into its memory"):
        te.graph(name, y=te.tensor(None, (i, j), a[i, j] + other, into=a))


def test_an_answer_that_differs_is_seen() -> None:
    c = BY_NAME["argmax_first_tie"]
    _, want = answer(c.name)
    one = {**want, "argmax0": want["argmax0"].copy()}
    one["argmax0"][3] += 1
    assert differs(c, want, one).startswith("argmax0[3] is")
    assert differs(c, want, {k: v for k, v in want.items() if k != "argmin1"}) == "argmin1 is missing"
    assert "has shape" in differs(c, want, {**want, "argmin1": want["argmin1"][:2]})
