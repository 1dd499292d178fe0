"""The error budget: variants that overflow or cancel are refused, and accepted where the inputs do not let them."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from tang_egg.budget import ErrorBudget, restricted
from tang_egg.errors import InputError
from tang_egg.ir import Graph, Reduce, walk
from tang_egg.pipeline import extract
from tang_egg.pipeline_budget import extract_within
from tang_egg.precision import Order, Plan
from tang_egg.rules.table import entries
from tang_egg.saturate import Limits


def logsumexp(shifted: bool, rows: int = 3, n: int = 16) -> Graph:
    i, j, k = te.indices("i j k")
    x = te.input("X", (rows, n))
    if not shifted:
        return te.graph("lse", y=te.tensor("y", i, te.log(te.sum(j, te.exp(x[i, j])))))
    most = te.max(k, x[i, k])
    return te.graph("lse", y=te.tensor("y", i, most + te.log(te.sum(j, te.exp(x[i, j] - most)))))


def variance(centred: bool, n: int = 16) -> Graph:
    i, j, k = te.indices("i j k")
    x = te.input("X", (3, n))
    mean = te.sum(k, x[i, k]) * (1 / n)
    if centred:
        return te.graph("v", y=te.tensor("y", i, te.sum(j, (x[i, j] - mean) * (x[i, j] - mean)) * (1 / n)))
    return te.graph("v", y=te.tensor("y", i, te.sum(j, x[i, j] * x[i, j]) * (1 / n) - mean * mean))


def test_an_exponential_without_a_maximum_is_accepted_where_it_cannot_overflow() -> None:
    verdict = ErrorBudget(ranges={"X": (-80, 80)}).accepts(logsumexp(True), logsumexp(False))
    assert verdict and "nothing overflows" in str(verdict) and verdict.errors["y"][0] < 1e-6


@pytest.mark.parametrize("ranges", [{"X": (-100, 100)}, {}])
def test_it_is_refused_where_it_may_overflow(ranges: dict[str, tuple[float, float]]) -> None:
    verdict = ErrorBudget(ranges=ranges).accepts(logsumexp(True), logsumexp(False))
    assert not verdict and "exp(X[i, j]) may leave f32" in verdict.reason
    assert str(verdict).startswith("refused: ")


def test_narrow_arithmetic_overflows_sooner() -> None:
    budget = ErrorBudget(ranges={"X": (-12, 12)})
    assert budget.accepts(logsumexp(True), logsumexp(False))
    verdict = budget.accepts(logsumexp(True), logsumexp(False), Plan(arithmetic="f16"))
    assert not verdict and "may leave f16" in verdict.reason
    assert budget.accepts(logsumexp(True), logsumexp(False), Plan(arithmetic="bf16"))


def test_a_difference_of_moments_is_refused_where_means_may_be_large() -> None:
    for ranges in ((0.0, 1.0), (100.0, 101.0), (-1000.0, 1000.0)):
        verdict = ErrorBudget(ranges={"X": ranges}, factor=8).accepts(variance(True), variance(False))
        assert not verdict and "output 'y' is off by" in verdict.reason and "the graph as written by" in verdict.reason


def test_it_is_accepted_where_what_is_drawn_has_no_large_mean() -> None:
    def centred(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:  # type: ignore[type-arg]
        return rng.uniform(-1, 1, shape)

    budget = ErrorBudget(ranges={"X": (-1, 1)}, factor=8, draws={"X": centred})
    assert budget.accepts(variance(True), variance(False))
    far = ErrorBudget(ranges={"X": (0, 101)}, factor=8, draws={"X": lambda rng, shape: 100 + centred(rng, shape)})
    assert not far.accepts(variance(True), variance(False))


def test_the_yardstick_is_the_error_of_the_graph_as_written_in_the_same_types() -> None:
    i, j = te.indices("i j")
    x = te.input("X", (2, 600))
    graph = te.graph("s", y=te.tensor("y", i, te.sum(j, x[i, j])))
    half = Plan(arithmetic="bf16")
    lanes = Plan(arithmetic="bf16", orders={"y": Order("lanes", 8)})
    budget = ErrorBudget(ranges={"X": (0, 1)}, samples=1)
    assert budget.accepts(graph, graph, half), "a graph may always stand for itself"
    verdict = budget.accepts(graph, graph, lanes)
    assert verdict.errors["y"][0] < 0.05
    assert ErrorBudget(ranges={"X": (0, 1)}, factor=0, roundings=0).accepts(graph, graph, half).accepted is False


def test_elementwise_errors_see_what_the_largest_value_hides() -> None:
    i = te.indices("i")
    x, y = te.input("X", (40,)), te.input("Y", (40,))
    exact = te.graph("d", y=te.tensor("y", i, x[i] + y[i] * 0.0))
    off = te.graph("d", y=te.tensor("y", i, (x[i] + y[i]) - y[i]))
    ranges = {"X": (0.001, 1.0), "Y": (0.5, 1.0)}
    whole = ErrorBudget(ranges=ranges, roundings=4)
    each = ErrorBudget(ranges=ranges, roundings=4, measure="element")
    assert whole.accepts(exact, off)
    assert not each.accepts(exact, off)


def test_integer_outputs_must_be_those_of_the_graph() -> None:
    i, j = te.indices("i j")
    x = te.input("X", (5, 9))
    first = te.graph("a", y=te.tensor("y", i, te.argmax(j, x[i, j]), "i64"))
    last = te.graph("a", y=te.tensor("y", i, te.argmin(j, x[i, j]), "i64"))
    assert ErrorBudget().accepts(first, first)
    verdict = ErrorBudget().accepts(first, last)
    assert not verdict and "output 'y' is another one" in verdict.reason


def test_too_many_values_are_not_sampled() -> None:
    i, j, k = te.indices("i j k")
    a, b = te.input("A", (700, 700)), te.input("B", (700, 700))
    graph = te.graph("m", c=te.tensor("c", (i, j), te.sum(k, a[i, k] * b[k, j])))
    verdict = ErrorBudget(ranges={"A": (-1, 1), "B": (-1, 1)}).accepts(graph, graph)
    assert not verdict and "too many to be sampled" in verdict.reason


def test_graphs_of_other_outputs_are_an_error() -> None:
    i = te.indices("i")
    x = te.input("X", (3,))
    one, two = (te.graph("g", **{n: te.tensor(n, i, x[i] + 1.0)}) for n in ("y", "z"))
    with pytest.raises(InputError) as e:
        ErrorBudget().accepts(one, two)
    assert str(e.value) == (
        "two graphs of different outputs or inputs cannot be compared\n"
        "  where: graphs 'g' and 'g'\n"
        "  mend:  give both the same inputs, and outputs of the same names, shapes and types"
    )


@pytest.mark.parametrize("wrong", [{"measure": "mean"}, {"factor": -1.0}, {"samples": 0}, {"factor": float("nan")}])
def test_a_budget_that_means_nothing_is_an_error(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match="where: ErrorBudget"):
        ErrorBudget(**wrong)  # type: ignore[arg-type]


def test_a_range_of_no_input_is_an_error() -> None:
    with pytest.raises(InputError, match="there is no input 'Z'"):
        ErrorBudget(ranges={"Z": (0, 1)}).accepts(logsumexp(True), logsumexp(False))


def test_a_plan_is_cut_to_what_a_graph_has() -> None:
    plan = Plan(
        {"X": "bf16", "other": "f16"}, accumulate={("y", "j"): "f32", ("other", "j"): "f64"}, orders={"no": Order()}
    )
    found = restricted(plan, logsumexp(True))
    assert found.storage == {"X": "bf16"} and found.accumulate == {("y", "j"): "f32"} and found.orders == {}


# Variants that are picked where the budget accepts them.


def shifted() -> Graph:
    """Exponentials of differences to a mean: no maximum bounds them."""
    i, j = te.indices("i j")
    x = te.input("X", (8, 64))
    mean = te.tensor("m", i, te.sum(j, x[i, j]) / 64.0)
    return te.graph("shifted", y=te.tensor("y", i, te.sum(j, te.exp(x[i, j] - mean[i]))))


def test_laws_that_may_overflow_are_used_where_ranges_exclude_it() -> None:
    x = np.random.default_rng(0).uniform(-8, 8, (8, 64)).astype(np.float32)
    compiled = te.optimize(shifted(), budget=ErrorBudget(factor=4), ranges={"X": (-8, 8)})
    verdict = compiled.extraction.verdict
    assert verdict is not None and verdict, verdict
    (kernel,) = compiled.program.kernels
    passes = {(s.indices, s.where, s.monoid) for t in kernel.outputs for s in walk(t.body) if isinstance(s, Reduce)}
    assert len(passes) == 1, "one pass over X"
    exact = np.exp(x - x.astype(np.float64).mean(axis=1, keepdims=True)).sum(axis=1)
    np.testing.assert_allclose(compiled(x), exact, rtol=1e-4)


def test_they_are_not_used_otherwise() -> None:
    for ranges, why in (({"X": (-1000, 1000)}, "may leave f32"), ({}, "may leave f32")):
        extraction = extract_within(lambda limits: extract(shifted(), limits=limits), shifted(), Limits(), None, ranges)
        assert extraction.verdict is not None and not extraction.verdict and why in extraction.verdict.reason
        steps = {law for kernel in extraction.program.kernels for law in kernel.laws}
        assert not any(getattr(entries()[law], "rounding", "") == "algebraic" for law in steps)
    plain = extract_within(lambda limits: extract(shifted(), limits=limits), shifted(), Limits(), None, None)
    assert plain.verdict is None


def test_nothing_is_asked_where_the_laws_lead_to_nothing_new() -> None:
    i, j, k = te.indices("i j k")
    a, b = te.input("A", (5, 7)), te.input("B", (7, 3))
    graph = te.graph("m", c=te.tensor("c", (i, j), te.sum(k, a[i, k] * b[k, j])))
    extraction = extract_within(lambda limits: extract(graph, limits=limits), graph, Limits(), ErrorBudget(), None)
    assert extraction.verdict is None
