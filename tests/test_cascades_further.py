"""Passes with values from outside, followers of followers, weighted means and sums in two: structure and values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tang_egg as te
from tang_egg.cost.roofline import Costs
from tang_egg.expression import as_scalar
from tang_egg.extract.replay import replay
from tang_egg.extract.signs import holds_factor, nonnegative
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Reduce, walk
from tang_egg.pipeline import choose_schedules, extract
from tang_egg.pipeline_certificate import certificate
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_rewrite import rewritten
from tang_egg.run import compile_program
from tang_egg.verify import relative_error, sample_inputs, verify
from tests.cascade_graphs import NOT_ONE, ONE_PASS
from tests.rows_model import MACHINES, Arrays, nodes_of


def starved(g: Graph) -> Extraction:
    """The program for a machine on which every byte counts."""
    return extract(g, costs=Costs(MACHINES["starved"]))


def folds_of(x: Extraction) -> set[tuple[object, object]]:
    return {(s.monoid, s.body) for t in x.program.tensors for s in walk(t.body) if isinstance(s, Reduce)}


def inputs_of(g: Graph) -> Iterator[Arrays]:
    """Random values, edge values, and conditions and weights that are nowhere, first nowhere, and everywhere."""
    for edge, seed in ((False, 3), (True, 3), (True, 4), (False, 5)):
        yield sample_inputs(g, {}, edge=edge, seed=seed)
    for pattern in ("none", "late", "all"):
        inputs = sample_inputs(g, {}, edge=False, seed=6)
        for name in {"live", "W"} & set(inputs):
            if inputs[name].dtype.kind in "bu":
                inputs[name][...] = pattern == "all"
                if pattern == "late":
                    inputs[name][..., -1:] = 1
        if "sink" in inputs:
            inputs["sink"][...] = {"none": -np.inf, "late": 3.0, "all": -50.0}[pattern]
        yield inputs


def agrees(g: Graph, x: Extraction) -> None:
    for inputs in inputs_of(g):
        with np.errstate(all="ignore"):
            expected, got = interpret(g, inputs), interpret(x.program.graph, inputs)
        for name, value in expected.items():
            assert relative_error(got[name], value) < 1e-9, name


@pytest.mark.parametrize("name", ONE_PASS)
def test_one_pass(name: str) -> None:
    """One kernel with one fold, on sizes at which rows are long and at which they have few points."""
    g = ONE_PASS[name](3, 13)
    x = starved(g)
    assert len(x.program.kernels) == 1 and len(x.program.tensors) == 1
    (fold,) = folds_of(x)
    assert fold[0].followers  # type: ignore[attr-defined]
    assert nodes_of(x) < 400
    agrees(g, x)


@pytest.mark.parametrize("name", ONE_PASS)
@pytest.mark.parametrize("m", [1, 2])
def test_rows_of_few_points(name: str, m: int) -> None:
    g = ONE_PASS[name](2, m)
    agrees(g, starved(g))


@pytest.mark.parametrize("name", [n for n in ONE_PASS if "norm" not in n])
def test_rows_without_points(name: str) -> None:
    g = ONE_PASS[name](2, 0)
    x = starved(g)
    inputs = sample_inputs(g, {}, edge=False, seed=1)
    with np.errstate(all="ignore"):
        expected, got = interpret(g, inputs), interpret(x.program.graph, inputs)
    np.testing.assert_array_equal(got["y"], expected["y"])


@pytest.mark.parametrize("name", NOT_ONE)
def test_what_may_cancel_or_overflow_stays_several_folds(name: str) -> None:
    make, reason = NOT_ONE[name]
    g = make(3, 13)
    x = starved(g)
    assert reason in {why for r in x.distinct for _, why in r.terms.refused}
    agrees(g, x)
    assert not any(m.followers for m, _ in folds_of(x))  # type: ignore[attr-defined]


IN_C = ("sink", "temperature", "entropy", "masked_entropy", "divergence_from", "softmax_variance", "counted",
        "masked_skew", "norm_with_bias")  # fmt: skip


@pytest.mark.parametrize("name", IN_C)
def test_a_pass_in_c(name: str) -> None:
    """On random and on edge values; a wrong one raises. 61 points are full tiles and some more."""
    g = ONE_PASS[name](5, 61)
    x = starved(g)
    schedules = choose_schedules(x.program, "c")
    run = compile_program(x.program, schedules)
    assert verify(g, x.program, run, schedules).runs == 2


@pytest.mark.parametrize("name", ["entropy", "temperature", "softmax_variance", "counted"])
def test_states_of_shares_are_merged(name: str) -> None:
    g = ONE_PASS[name](3, 29)
    x = starved(g)
    halves = rewritten(x, {"X:1": 4}, "exact")
    assert len(halves.program.kernels) > len(x.program.kernels)
    agrees(g, halves)


def test_a_follower_of_a_follower_is_written_and_read() -> None:
    x = starved(ONE_PASS["entropy"](3, 13))
    ((monoid, _),) = folds_of(x)
    names = {c.name for c in monoid.components if c.follow is not None}  # type: ignore[attr-defined]
    followed = [s for c in monoid.components if c.follow for s in walk(*c.follow.statistics)]  # type: ignore[attr-defined]
    assert names & {getattr(s, "component", "") for s in followed}
    again = te.parse_graph(str(x.program.graph))
    assert str(again) == str(x.program.graph)
    g = x.graph
    inputs = sample_inputs(g, {}, edge=False, seed=2)
    np.testing.assert_array_equal(interpret(again, inputs)["y"], interpret(x.program.graph, inputs)["y"])


def test_numbers_are_those_of_numpy() -> None:
    rng = np.random.default_rng(7)
    x, v = rng.normal(0.0, 3.0, (4, 31)), rng.normal(size=(4, 31))
    p = np.exp(x - x.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    mean = (p * v).sum(1, keepdims=True)
    expected = {"entropy": -(p * np.log(p)).sum(1), "softmax_variance": (p * (v - mean) ** 2).sum(1),
                "divergence_to": (p * (np.log(p) - v)).sum(1)}  # fmt: skip
    for name, value in expected.items():
        found = starved(ONE_PASS[name](4, 31)).program.graph
        given = {"X": x, "V": v, "U": v}
        got = interpret(found, {i.name: given[i.name] for i in found.inputs})["y"]
        np.testing.assert_allclose(got, value, atol=1e-6)


def test_a_mean_far_from_zero_keeps_its_digits() -> None:
    """A weighted variance about 1000 in f32, beside two passes in f64."""
    g = ONE_PASS["counted_shrunk"](2, 509)
    x = starved(g)
    schedules = choose_schedules(x.program, "c")
    run = compile_program(x.program, schedules)
    rng = np.random.default_rng(3)
    values = (1000.0 + rng.normal(size=(2, 509))).astype(np.float32)
    counts = rng.integers(0, 4, (2, 509)).astype(np.uint8)
    counts[:, :17] = 0
    expected = interpret(g, {"X": values, "W": counts})["y"]
    assert len(x.program.kernels) == 1
    got = np.asarray(run({"X": values, "W": counts})["y"])
    np.testing.assert_allclose(got, expected, rtol=3e-4)


@pytest.mark.parametrize("name", ["sink", "temperature", "entropy", "counted", "norm_with_bias"])
def test_a_derivation_replays(name: str) -> None:
    x = starved(ONE_PASS[name](3, 7))
    done = replay(certificate(x), x.graph, numbers=True)
    assert done.program.graph == x.program.graph


def test_signs() -> None:
    i = te.index("i", 3)
    x, u = te.input("X", (3,))[i], te.input("U", (3,), "u8")[i]
    never = [te.exp(x), x * x, te.abs(x), te.cast(u, "f32"), te.sqrt(x) + 1.0, te.maximum(x, 0.0), 1.0 / te.exp(x),
             te.select(x > 0.0, x * 2.0, 0.0), -te.exp(x) * -1.0, x * x * x * x, te.sum(i, x * x)]  # fmt: skip
    perhaps = [x, -te.exp(x), x * x * x, te.minimum(x, 0.0), te.select(x > 0.0, 0.0, x), te.log(x), te.sin(x),
               te.max(i, te.exp(x) - 1.0), te.exp(x) - 1.0, te.select(x < 0.0, x, 0.0)]  # fmt: skip
    assert [nonnegative(as_scalar(e)) for e in never] == [True] * len(never)
    assert [nonnegative(as_scalar(e)) for e in perhaps] == [False] * len(perhaps)


def test_a_multiple_vanishes_where_its_weight_does() -> None:
    i = te.index("i", 3)
    x, w, p = te.input("X", (3,))[i], te.input("W", (3,))[i], te.input("p", (3,), "bool")[i]
    one = te.select(p, 1.0, 0.0)
    pairs = [(x * w, w, True), (-(w * x) * x, w, True), (x + w, w, False), (te.select(p, x * w, 0.0), w, True),
             (te.select(p, x, 0.0), one, True), (te.select(p, x, 1.0), one, False), (x * (w * w), w * w, True),
             (x * w, w * w, False), (x * w + w, w, True), (te.exp(w), w, False)]  # fmt: skip
    for body, weight, expected in pairs:
        assert holds_factor(as_scalar(body), as_scalar(weight)) is expected, (body, weight)
