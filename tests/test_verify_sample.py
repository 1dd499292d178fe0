"""Verification by samples: samples mean what the graph means there, and wrong results are seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tang_egg import verify as verification
from tang_egg.errors import VerificationError
from tang_egg.examples import EXAMPLES
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.pipeline import optimize
from tang_egg.pipeline_compiled import Compiled
from tang_egg.pipeline_space import typical_sizes
from tang_egg.run import CompiledProgram
from tang_egg.verify import sample_inputs, verify
from tang_egg.verify_compare import excess
from tang_egg.verify_sample import BUDGET, _Fixing, pick, samples, unwritten, work

I, J, K = te.indices("i j k")  # noqa: E741


def windowed() -> Graph:
    """A sum over shifted positions of a computed tensor, with a guarded read."""
    x, w = te.input("x", (70, 40)), te.input("w", (5,))
    y = te.tensor("y", (I, J), te.exp(x[I, J]))
    at = te.index("i", 66), te.index("j", 40)
    return te.graph("windowed", te.tensor("z", at, te.sum(K, y[at[0] + K, at[1]] * w[K])))


@pytest.mark.parametrize("name", [*EXAMPLES, "windowed"])
def test_samples_are_parts_of_the_whole(name: str) -> None:
    made = windowed() if name == "windowed" else EXAMPLES[name]()
    graph = made.bind(**{n: min(v, 48) for n, v in typical_sizes(made).items()})
    inputs = sample_inputs(graph, {}, edge=True)
    whole = interpret(graph, inputs, {}, checked=False)
    chosen = pick(graph.outputs, whole, 1e6) or pick(graph.outputs, whole, BUDGET)
    assert chosen is not None
    found = interpret(chosen.graph, chosen.inputs(inputs), {}, checked=False)
    for t in graph.outputs:
        parts = chosen.of(t.name)
        assert len(parts) >= min(6, t.shape[0].value or 1) or all(isinstance(p, slice) for p in parts[0][1])
        for u, at in parts:
            np.testing.assert_allclose(found[u.name], whole[t.name][at], rtol=1e-9, atol=1e-12, equal_nan=True)


def test_a_row_costs_a_row() -> None:
    graph = EXAMPLES["attention_causal"]()
    whole, one = work(graph.outputs), work(samples(graph.outputs, {"O": [((0, 0), (1, 2), (2, 100))]}).graph.outputs)
    assert one < whole / 500


def test_conditions_on_fixed_axes_are_decided() -> None:
    i, j = te.index("i", 8), te.index("j", 8)
    x = te.input("x", (8, 8))
    t = te.graph("g", te.tensor("y", (i, j), te.select(i >= j, x[i, j], 0.0))).outputs[0]
    fixing = _Fixing()
    below, _ = fixing.source(t, ((0, 5), (1, 2)))
    above, _ = fixing.source(t, ((0, 2), (1, 5)))
    assert "select" not in repr(below.body) and "Read" in repr(below.body)  # type: ignore[union-attr]
    assert "Read" not in repr(above.body)  # type: ignore[union-attr]


def test_what_is_read_whole_is_shared() -> None:
    graph = EXAMPLES["transformer_block"]()
    (out,) = graph.outputs
    one = work(samples((out,), {out.name: [((0, 3),)]}).graph.outputs)
    two = work(samples((out,), {out.name: [((0, 3),), ((0, 90),)]}).graph.outputs)
    assert two < 1.2 * one


@pytest.fixture
def _sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "FULL", 0.0)


@pytest.fixture(scope="module")
def product() -> Compiled:
    """A product of two matrices, of which no fold of a row is cheap enough to be whole by accident."""
    a, b = te.input("a", (512, 96), "bf16"), te.input("b", (96, 640), "bf16")
    c = te.tensor("c", (I, J), te.sum(K, a[I, K] * b[K, J]), "bf16")
    return optimize(te.graph("product", c), verified=False)


def damaged(compiled: Compiled, change: Callable[[Any, Any], None]) -> CompiledProgram:
    """The compiled program, but `change(result, before)` is applied to each result that was filled before."""
    sound = compiled.runner
    assert isinstance(sound, CompiledProgram)

    class Damaged(CompiledProgram):
        def __call__(self, arrays: Mapping[str, Any], dims: Any = None, out: Any = None) -> dict[str, Any]:
            before = {k: v.copy() for k, v in (out or {}).items()}
            found = CompiledProgram.__call__(self, arrays, dims, out)
            for name, filling in before.items():
                change(found[name], filling)
            return found

    return Damaged(
        sound.program, sound.kernels, sound.layout, sound.source, sound.library, sound.identity, sound._entry
    )


def last_row(a: Any, before: Any) -> None:
    a[-1] ^= 0x0040


def a_tile(a: Any, before: Any) -> None:
    a[128:192, 256:320] = a[0:64, 0:64]


def unwritten_tile(a: Any, before: Any) -> None:
    a[200:210, 8:16] = before[200:210, 8:16]


def scaled(a: Any, before: Any) -> None:
    single = (a.astype(np.uint32) << 16).view(np.float32) * np.float32(1.025)
    a[...] = single.view(np.uint32) >> 16


def infinite(a: Any, before: Any) -> None:
    a[77, 99] = 0x7F80


@pytest.mark.usefixtures("_sampled")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (last_row, "output 'c' is wrong by"),
        (a_tile, "output 'c' is wrong by"),
        (unwritten_tile, "80 elements that were never written"),
        (scaled, "in the mean over its elements"),
        (infinite, "output 'c' is wrong by inf"),
    ],
)
def test_wrong_results_are_seen(product: Compiled, change: Callable[[Any, Any], None], said: str) -> None:
    with pytest.raises(VerificationError, match=said):
        verify(product.graph, product.program, damaged(product, change), product.schedules)


@pytest.mark.usefixtures("_sampled")
def test_sound_results_pass(product: Compiled) -> None:
    found = verify(product.graph, product.program, damaged(product, lambda a, before: None), product.schedules)
    assert found.runs == 2 and found.samples >= 12 and found.derived
    assert 0 < found.worst < 4e-2


@pytest.mark.usefixtures("_sampled")
@pytest.mark.parametrize("name", ["attention_causal", "gated_recurrence", "argmax", "attention_symbolic"])
def test_examples_pass_by_samples(name: str) -> None:
    found = optimize(EXAMPLES[name]()).verification
    assert found is not None and found.samples > 0 and found.derived


@pytest.mark.usefixtures("_sampled")
def test_kernel_by_kernel_where_a_sample_needs_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[float] = []

    def choosy(outputs: Any, results: Any, budget: float = BUDGET) -> Any:
        tried.append(budget)
        return pick(outputs, results, budget) if len(tried) % 2 == 0 else None

    monkeypatch.setattr(verification, "pick", choosy)
    compiled = optimize(EXAMPLES["layernorm_matmul"](), verified=False)
    found = verify(compiled.graph, compiled.program, compiled.runner, compiled.schedules)
    assert len(tried) == 4 and not found.derived
    assert set(found.errors) == {t.name for t in compiled.program.tensors}


def test_too_large_for_any_sample_is_said(monkeypatch: pytest.MonkeyPatch, product: Compiled) -> None:
    monkeypatch.setattr(verification, "FULL", 0.0)
    monkeypatch.setattr(verification, "pick", lambda *_: None)
    with pytest.raises(VerificationError, match="too large to be verified"):
        verify(product.graph, product.program, product.runner, product.schedules)


def test_an_element_that_equals_the_filling_is_written() -> None:
    first = np.array([-1, 3, -1], np.int8)
    assert unwritten(first, np.array([-1, 3, 0x5A], np.int8), (0xFF, 0x5A)) == 1


@pytest.mark.parametrize(
    ("kind", "off", "sound"), [("bf16", 0.005, True), ("bf16", 0.02, False), ("f32", 1e-4, True), ("tf32", 2e-3, False)]
)
def test_an_error_in_all_elements_counts_by_its_norm(kind: str, off: float, sound: bool) -> None:
    exact = np.random.default_rng(0).standard_normal(1000)
    assert (excess(exact * (1 + off), exact, kind) <= 1.0) == sound


@pytest.mark.parametrize(("kind", "least"), [("f16", 2.0**-24), ("bf16", 2.0**-133)])
def test_what_lies_below_the_smallest_number_of_a_type_may_be_rounded_to_0(kind: str, least: float) -> None:
    below, above = np.array([least / 3, -least / 2]), np.array([40 * least, least])
    assert excess(np.zeros(2), below, kind) == 0.0
    assert excess(np.zeros(2), above, kind) > 1.0
    assert excess(np.array([np.nan, 0.0]), below, kind) == excess(np.zeros(2), np.array([np.inf, 0.0]), kind) == np.inf
