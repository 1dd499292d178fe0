"""Folds beside the main work of a kernel get kernels of their own, and the program means the same."""

from __future__ import annotations

import numpy as np
import pytest

from tang_egg import library
from tang_egg import notation as te
from tang_egg.assemble import graph
from tang_egg.codegen.partition import partition
from tang_egg.examples import EXAMPLES
from tang_egg.interpret import interpret
from tang_egg.ir import Graph
from tang_egg.pipeline import extract
from tang_egg.program import Program
from tang_egg.verify import sample_inputs


def labelled(rows: int = 8, inner: int = 128, classes: int = 16) -> Graph:
    """The logsumexp of a row of a product, less the element that a label picks."""
    h, w = te.input("H", (rows, inner)), te.input("W", (inner, classes))
    label = te.input("label", (rows,), "i32")
    scores, n = library.matmul(h, w), te.index("n")
    norm = library.logsumexp(scores)
    return graph("labelled", te.tensor("loss", n, norm[n] - scores[n, label[n]]))


def same(before: Program, after: Program) -> None:
    arrays = sample_inputs(before.graph, {}, edge=False, seed=1)
    for name, want in interpret(before.graph, arrays).items():
        np.testing.assert_allclose(interpret(after.graph, arrays)[name], want, rtol=1e-6, atol=1e-9)


def test_a_gathered_fold_beside_a_product_is_computed_before() -> None:
    before = extract(labelled()).program
    after = partition(before)
    assert [len(k.outputs) for k in after.kernels] == [1, 1]
    assert [k.name for k in after.kernels] == ["loss_part", "loss"]
    assert after.kernels[0].laws == after.kernels[1].laws == before.kernels[0].laws
    same(before, after)


@pytest.mark.parametrize("made", [labelled(inner=32), EXAMPLES["softmax"](), EXAMPLES["matmul"]()])
def test_short_folds_and_lone_ones_stay(made: Graph) -> None:
    program = extract(made).program
    assert partition(program) is program


@pytest.mark.parametrize("name", ["layernorm_matmul", "transformer_block_layernorm"])
def test_programs_mean_the_same(name: str) -> None:
    before = extract(EXAMPLES[name]()).program
    after = partition(before)
    assert len(after.kernels) > len(before.kernels)
    names = [k.name for k in after.kernels]
    assert len(set(names)) == len(names)
    same(before, after)
