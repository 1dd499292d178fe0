"""Scans inside folds along an index of unknown size, and within each other: stored, and of the right values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tang_egg as te
from tang_egg.affine import Index
from tang_egg.ir import Graph, Reduce, Scan, free, walk
from tang_egg.monoid import SUM
from tang_egg.pipeline import extract
from tang_egg.run import compile_program
from tang_egg.text import parse_graph
from tang_egg.verify import relative_error

N, M = te.dim("N"), te.dim("M")
SIZES = ((5, 7), (1, 1), (0, 3), (3, 0), (37, 11))


def indices() -> tuple[Index, ...]:
    """Two along N, two along M."""
    return te.index("n", N), te.index("n2", N), te.index("m", M), te.index("m2", M)


def prefix_tensor() -> Graph:
    """y[m] = Σ_n tanh(p[n, m]) of prefix sums p that are a tensor of their own."""
    x, (n, _, m, k) = te.input("X", (N, M)), indices()
    p = te.tensor("p", (n, m), te.sum(k, x[n, k], where=k <= m))
    return te.graph("prefix", te.tensor("y", m, te.sum(n, te.tanh(p[n, m]))))


def inline() -> Graph:
    x, (n, _, m, _) = te.input("X", (N, M)), indices()
    return te.graph("inline", te.tensor("y", m, te.sum(n, te.tanh(te.scan(SUM, m, x[n, m])))))


def weighted() -> Graph:
    """Σ_n exp(X[n, m] - max_n X[n, m]) · p[n, m]: the fold would be a pass."""
    x, (n, n2, m, k) = te.input("X", (N, M)), indices()
    p = te.tensor("p", (n, m), te.sum(k, x[n, k], where=k <= m))
    top = te.tensor("top", m, te.max(n2, x[n2, m]))
    return te.graph("weighted", te.tensor("y", m, te.sum(n, te.exp(x[n, m] - top[m]) * p[n, m])))


def whole() -> Graph:
    """The scan's own index comes first in the fold around it."""
    x, (n, _, m, _) = te.input("X", (N, M)), indices()
    return te.graph("whole", te.tensor("y", (), te.sum((m, n), te.tanh(te.scan(SUM, m, x[n, m])))))


def scan_around() -> Graph:
    x, (n, _, m, _) = te.input("X", (N, M)), indices()
    inner = te.sum(n, te.tanh(te.scan(SUM, m, x[n, m])))
    return te.graph("around", te.tensor("y", m, te.scan(SUM, m, inner)))


def both_axes() -> Graph:
    return te.graph("both", Y=te.cumulative_sum(te.cumulative_sum(te.input("X", (N, M)), 0), 1))


def table() -> Graph:
    x, (n, n2, m, k) = te.input("X", (N, M)), indices()
    return te.graph("table", te.tensor("y", (n, m), te.sum(n2, te.sum(k, x[n2, k], where=k <= m), where=n2 <= n)))


GRAPHS: dict[str, Callable[[], Graph]] = {
    f.__name__: f for f in (prefix_tensor, inline, weighted, whole, scan_around, both_axes, table)
}


@pytest.mark.parametrize("name", GRAPHS)
def test_scans_along_unknown_sizes_compile(name: str) -> None:
    graph = GRAPHS[name]()
    program = extract(graph).program
    run = compile_program(program)
    for n, m in SIZES:
        arrays = {"X": np.random.default_rng(n).normal(size=(n, m)).astype(np.float32)}
        want, plain, got = te.interpret(graph, arrays), te.interpret(program.graph, arrays), run(arrays)
        for output, value in want.items():
            assert plain[output].shape == got[output].shape == value.shape
            assert relative_error(plain[output], value) < 1e-12
            assert relative_error(got[output], value) < 2e-5


def large(rows: int | te.Dim) -> Graph:
    """`prefix_tensor` of so many columns that a prefix sum is not made anew for each."""
    columns = te.dim("M", lo=2048)
    x, n = te.input("X", (rows, columns)), te.index("n", rows)
    m, k = te.index("m", columns), te.index("k", columns)
    p = te.tensor("p", (n, m), te.sum(k, x[n, k], where=k <= m))
    return te.graph("large", te.tensor("y", m, te.sum(n, te.tanh(p[n, m]))))


def test_no_fold_keeps_a_state_for_each_of_unknown_many_points() -> None:
    """The scan is a tensor of its own; along an axis of a known size it may stay inside."""
    program = extract(large(te.dim("N", lo=2048))).program
    assert len(program.kernels) == 2
    assert any(isinstance(t.body, Scan) and len(t.axes) == 2 for t in program.tensors)
    assert not any(isinstance(x, Scan) for t in program.tensors if isinstance(t.body, Reduce) for x in walk(t.body))
    (fixed,) = extract(large(8)).program.tensors
    assert isinstance(fixed.body, Reduce)
    assert any(isinstance(x, Scan) and free(x) & set(fixed.body.indices) for x in walk(fixed.body))


LIFTS = {"sum": "x[i, k]", "max": "x[i, k]", "affine": "0.5 * x[i, k], x[i, k]", "logsumexp": "x[i, k], 1.0"}
PARTS = {"affine": ".b", "logsumexp": ".l"}


@pytest.mark.parametrize("monoid", LIFTS)
@pytest.mark.parametrize("length", (1, 2, 6, 7, 9))
@pytest.mark.parametrize(
    "body", ("sum.scan[i]({p})", "sum.scan[i]({p}) + {p}", "sum.scan[i](affine.scan[k](0.5, {p}, chunk={c}).b)")
)
def test_a_state_over_a_whole_axis_takes_up_a_chunked_scan_from_its_first_point(
    monoid: str, length: int, body: str
) -> None:
    """The inner scan runs over all of its axis within each chunk there, and never from the state at a chunk's start."""
    scan = f"{monoid}.scan[k]({LIFTS[monoid]}, chunk={length}){PARTS.get(monoid, '')}"
    text = f"x = input(f32[4, 7])\ny[i:4, k:7] = {body.format(p=scan, c=length)}"
    graph = parse_graph(f'graph("g")\n{text}\noutput(y)\n')
    arrays = {"x": np.random.default_rng(length).normal(size=(4, 7)).astype(np.float32)}
    got = compile_program(extract(graph).program)(arrays)["y"]
    assert relative_error(got, te.interpret(graph, arrays)["y"]) < 2e-5
