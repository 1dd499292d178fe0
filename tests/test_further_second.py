"""A second set of thirty graphs that no law was written for: who has the structure stated, and that all mean the same.

The graphs, what NumPy says of them and the structures expected were written from the notation and the library alone,
and were extracted once, as they stood. Since mended: folds over what is left of an axis were no scans.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import tang_egg as te
from tang_egg.cost.roofline import Costs
from tang_egg.interpret import interpret
from tang_egg.pipeline import choose_schedules, extract
from tang_egg.run import compile_program
from tang_egg.verify import relative_error, verify
from tests import further_second_attention, further_second_folds, further_second_programs
from tests.further_second_model import Fresh, doubles
from tests.rows_model import MACHINES, STARVED, nodes_of
from tests.tree import ROOT

SECOND = {**further_second_attention.GRAPHS, **further_second_folds.GRAPHS, **further_second_programs.GRAPHS}

CHEAPER = "derived; for this machine another form is predicted to be cheaper"
ELSEWHERE = {
    "temperature_strided": "units",
    "tempered_softmin": "starved",
    "mean_absolute_product": "starved",
    "residual_norm_product": "starved",
}
"""Graphs whose structure is derived and not selected, and a machine for which it is."""

UNDERIVED = {
    "discounted_returns": "a scan and a kernel that turns it around: two kernels, not one",
    "gated_bytes": "bytes are made real once for each product, in kernels of their own",
}
MISSING = {**dict.fromkeys(ELSEWHERE, CHEAPER), **UNDERIVED}
COMPILED = (
    "polynomial_ids", "prefix_and_padding", "sink", "temperature_strided", "smoothed_z_loss", "gumbel_pick",
    "fourth_root", "masked_correlation", "weighted_bag", "segment_root_mean_square",
)  # fmt: skip


def _wrong(x: Fresh, machine: str = "cpu") -> list[str]:
    found = extract(x.build(False), costs=Costs(MACHINES[machine]))
    assert all(w.saturation.complete for w in found.distinct)
    assert nodes_of(found) < 20_000
    return x.form.wrong(found, {name: large for name, (large, _) in x.sizes.items()})


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.xfail(strict=True, reason=MISSING[n], raises=AssertionError))
        if n in MISSING
        else n
        for n in SECOND
    ],
)
def test_a_graph_has_the_structure_stated(name: str) -> None:
    assert _wrong(SECOND[name]) == []


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_not_selected_is_derived(name: str) -> None:
    assert _wrong(SECOND[name], ELSEWHERE[name]) == []


@pytest.mark.parametrize("name", SECOND)
def test_a_graph_means_what_numpy_says(name: str) -> None:
    """As written, as selected, and as selected where every byte costs; edge values are among the inputs."""
    x = SECOND[name]
    naive = x.build(True)
    programs = [extract(naive), extract(naive, costs=Costs(STARVED))]
    for seed in range(2):
        inputs = x.inputs(seed)
        wanted = x.oracle(doubles(inputs))
        for graph in (naive, *(p.program.graph for p in programs)):
            got = interpret(graph, inputs)
            assert got.keys() == wanted.keys()
            for output, value in wanted.items():
                assert relative_error(got[output], value) < 1e-9, output


@pytest.mark.parametrize("name", COMPILED)
def test_a_graph_in_c(name: str) -> None:
    x = SECOND[name]
    found = extract(x.build(True), costs=Costs(STARVED))
    schedules = choose_schedules(found.program, "c")
    runner = compile_program(found.program, schedules)
    assert verify(found.graph, found.program, runner, schedules).runs == 2
    inputs = x.inputs(5)
    got, wanted = runner(inputs), x.oracle(doubles(inputs))
    for output, value in wanted.items():
        assert relative_error(np.asarray(got[output], np.float64), value) < 2e-5, output


def test_an_oracle_that_is_spoiled_is_seen() -> None:
    x = SECOND["sink"]
    inputs = x.inputs(0)
    (wanted,) = x.oracle(doubles({**inputs, "V": inputs["V"] * 1.001})).values()
    (got,) = te.interpret(x.build(True), inputs).values()
    assert relative_error(got, wanted) > 1e-4


def test_the_page_says_what_the_tests_say() -> None:
    page = (ROOT / "docs" / "further-graphs.md").read_text(encoding="utf-8")
    page = page[page.index("## A second set") : page.index("## A third set")]
    told = dict(re.findall(r"^\| `(\w+)`.*\| (yes|no) \|$", page, re.MULTILINE))
    assert len(SECOND) == 30 and set(MISSING) <= set(SECOND)
    assert told == {name: "no" if name in MISSING else "yes" for name in SECOND}
