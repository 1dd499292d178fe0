"""What must fall out of naive graphs, row by row: form, laws, size of the e-graph, values by interpreter and in C."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from tang_egg.errors import LawError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.pipeline import choose_schedules
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_shard import compile_sharded
from tang_egg.rules.table import FAMILIES, equalities
from tang_egg.run import compile_program
from tang_egg.verify import relative_error, sample_inputs, verify
from tang_egg.verify_compare import excess, values_of
from tests.laws.trying import lacking, without
from tests.rows import ROWS, main
from tests.rows_found import NEEDED
from tests.rows_model import Arrays, Row, laws_of, nodes_of
from tests.rows_shard import SHARDED

OPERATORS = re.compile(
    r"softmax|attention|norm|conv|swiglu|gelu|silu|flash|welford|matmul|gemm|sinkhorn|retention|expert|embed|pool|gru",
    re.IGNORECASE,
)
NODES = 20_000
"""E-nodes that a row may take."""

ALL = [
    pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=row.missing, raises=AssertionError))
    if row.missing
    else name
    for name, row in ROWS.items()
]
DERIVED = [name for name, row in ROWS.items() if not row.missing]

FALLS: dict[str, str] = {
    "view": "gathered_norm",
    "scalar": "int8_columns",
    "domain": "experts",
    "fold": "rms_norm_matmul",
    "sibling": "swiglu",
    "cascade": "logsumexp",
    "scan": "gated_recurrence",
    "gather": "embedding_one_hot",
    "precision": "matmul_high_low",
    "sharding": "rms_norm_sharded",
}
"""For each family a row that does not have its form without it."""


@cache
def twin(name: str, dtype: str = "f32") -> Extraction:
    """The small twin of a row, extracted once for the tests that share it."""
    return ROWS[name].twin(dtype)


@pytest.mark.parametrize("name", ALL)
def test_a_row_has_its_form(name: str) -> None:
    x = ROWS[name].large()
    assert ROWS[name].wrong(x) == []
    assert laws_of(x) <= equalities().keys()
    assert nodes_of(x) < NODES
    assert all(w.saturation.complete for w in x.distinct)


@pytest.mark.parametrize("name", ALL)
def test_a_small_twin_has_its_form_and_means_what_is_written(name: str) -> None:
    row = ROWS[name]
    x = twin(name)
    assert row.wrong(x, small=True) == []
    for inputs in _inputs(row, x.graph):
        expected, got = interpret(x.graph, inputs), interpret(x.program.graph, inputs)
        for output, value in expected.items():
            assert relative_error(got[output], value) < row.error, output


def _inputs(row: Row, naive: Graph) -> Iterator[Arrays]:
    """Usual values, edge values, and those that the row spoils."""
    for edge in (False, True):
        inputs = sample_inputs(naive, {}, edge=edge, seed=3)
        if row.spoil is not None:
            row.spoil(inputs)
        yield inputs


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in DERIVED for dtype in ROWS[name].dtypes])
def test_a_small_twin_in_c(name: str, dtype: str) -> None:
    """The form itself, not what selection would take at this size: both runs of verification hold its outputs to the
    naive graph, within what the type of storage allows."""
    row = ROWS[name]
    x = twin(name, dtype)
    assert row.wrong(x, small=True) == []
    schedules = choose_schedules(x.program, "c")
    runner = compile_program(x.program, schedules)
    assert verify(x.graph, x.program, runner, schedules).runs == 2
    if row.spoil is None:
        return
    inputs = sample_inputs(x.graph, {}, edge=False, seed=5)
    row.spoil(inputs)
    expected, got = interpret(x.graph, inputs), runner(inputs)
    for t in x.graph.outputs:
        assert excess(values_of(np.asarray(got[t.name]), t.dtype), expected[t.name], t.dtype) <= 1.0, t.name


@pytest.mark.parametrize("name", SHARDED)
def test_ranks_exchange_statistics_only(name: str) -> None:
    row = SHARDED[name]
    x = row.large()
    (exchange,) = x.exchanges
    assert sorted(tuple(n.value for n in t.shape) for t in exchange.sends) == row.shapes()
    assert len(x.stages) == 2
    assert row.laws <= {s.law for s in x.steps} <= equalities().keys()


@pytest.mark.parametrize("name", SHARDED)
def test_ranks_together_mean_what_is_written(name: str) -> None:
    x = SHARDED[name].twin()
    for edge in (False, True):
        inputs = sample_inputs(x.graph, {}, edge=edge, seed=3)
        expected, got = interpret(x.graph, inputs), x.interpret(inputs)
        for output, value in expected.items():
            assert relative_error(got[output], value) < 1e-9, output


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", SHARDED)
def test_ranks_in_c(name: str, dtype: str) -> None:
    verification = compile_sharded(SHARDED[name].twin(dtype)).verification
    assert verification is not None and verification.runs == 2


def test_the_report_of_a_row_shows_its_derivation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logsumexp"]) == 0
    told = capsys.readouterr().out
    assert "cascade.pass" in told and "as required" in told


def test_an_unknown_row_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing"]) == 2
    assert "no row is named nothing" in capsys.readouterr().out


def test_no_law_names_an_operator() -> None:
    assert not [n for n in equalities() if OPERATORS.search(n)]
    assert not [e.name for family in FAMILIES for e in family.entries if OPERATORS.search(str(e))]


def test_each_family_has_a_row_that_needs_it() -> None:
    assert {f.family for f in FAMILIES} == set(FALLS)


@pytest.mark.parametrize("family", FALLS)
def test_without_a_family_a_row_does_not_have_its_form(family: str) -> None:
    assert _fits(FALLS[family])
    with without(family):
        assert not _fits(FALLS[family])
    assert _fits(FALLS[family])


@pytest.mark.parametrize("name", NEEDED)
def test_a_row_needs_the_law_that_was_found(name: str) -> None:
    with lacking(NEEDED[name]):
        assert not _fits(name)


def _fits(name: str) -> bool:
    """Whether a row has its form. What asks for a law by its name is refused without it."""
    try:
        return bool(SHARDED[name].large().exchanges) if name in SHARDED else not ROWS[name].wrong(ROWS[name].large())
    except LawError:
        return False
