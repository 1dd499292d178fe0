"""Outputs with equal elements but other axes: one is stored, the others are copies of what it holds."""

from __future__ import annotations

import numpy as np
import pytest

from tang_egg import expression as e
from tang_egg import library
from tang_egg import notation as te
from tang_egg.affine import AffineLike, Index
from tang_egg.assemble import graph
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, free
from tang_egg.library_scan import cumulative_prod, cumulative_sum
from tang_egg.monoid import SUM
from tang_egg.notation import Array
from tang_egg.pipeline import extract, optimize

DATA = np.random.default_rng(3).random((3, 5)).astype(np.float32)


def spread(x: Array, more: AffineLike | None, first: bool = False) -> Array:
    """Σ exp(x) of each row, along one more axis."""
    i, k = te.index("i", 3), te.index("k", 5)
    extra = () if more is None else (te.index("j", more),)
    axes: tuple[Index, ...] = (*extra, i) if first else (i, *extra)
    return te.tensor(None, axes, te.sum(k, e.exp(x[i, k])))


def same(g: Graph, *arrays: np.ndarray, **dims: int) -> None:
    program = extract(g).program
    for t in program.graph.outputs:
        assert free(t.body) <= set(t.axes)
    inputs = dict(zip((i.name for i in g.inputs), arrays, strict=True))
    want, got = (interpret(h, inputs, dims) for h in (g, program.graph))
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 4), (4, 4), (0, 2), (2, 0), (None, 2), (2, None), (None, 0), (0, None)])
def test_equal_elements_along_other_axes(sizes: tuple[int | None, int | None]) -> None:
    x = te.input("x", (3, 5))
    same(graph("g", a=spread(x, sizes[0]), b=spread(x, sizes[1], first=True)), DATA)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_an_axis_that_may_be_empty(n: int) -> None:
    x, dim = te.input("x", (3, 5)), te.dim("n")
    rows = te.input("y", (dim,))
    i = te.index("i", dim)
    out = te.tensor(None, i, rows[i])
    same(graph("g", a=spread(x, dim), b=spread(x, 2), c=out), DATA, np.ones(n, np.float32))


@pytest.mark.parametrize("n", [0, 2, None])
@pytest.mark.parametrize("both", [True, False])
def test_a_scan_along_an_axis_that_may_be_empty_is_read_elsewhere(n: int | None, both: bool) -> None:
    x = te.input("x", (3,))
    rows, i = te.index("r", te.dim("n") if n is None else n), te.index("i", 3)
    running = te.tensor("running", (rows, i), te.scan(SUM, i, x[i]))
    one = te.index("o", 1)
    turned = te.tensor("turned", (one, rows), running[rows, one])
    g = graph("g", **({"a": running} if both else {}), b=turned)
    for size in (0, 1, 3) if n is None else (n,):
        same(g, DATA[:, 0], **({"n": size} if n is None else {}))


def test_compiled_copies() -> None:
    x = te.input("x", (3, 1))
    g = graph("g", a=cumulative_sum(x), b=cumulative_prod(x), c=library.mean(x), d=te.tensor(None, (), x[1, 0]))
    got = optimize(g)(DATA[:, :1].copy())
    for name, value in interpret(g, {"x": DATA[:, :1]}).items():
        np.testing.assert_array_equal(got[name], value.astype(np.float32))
