"""Rows at hand: folds in turn with what they share kept, rows fetched one ahead, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import tang_egg as te
from tang_egg import library
from tang_egg.affine import affine, index
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.candidates_keep import AHEAD_MOST, AT_HAND
from tang_egg.codegen.dialects.c import C
from tang_egg.codegen.kernel import Call, Fetch, Kernel, Loop, Store, expressions, statements, subexpressions
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import run_kernel
from tang_egg.codegen.legalize_fetch import to_fetches
from tang_egg.codegen.legalize_register import to_registers
from tang_egg.codegen.legalize_vector import to_vectors
from tang_egg.codegen.lower import lower
from tang_egg.codegen.lower_fold import group_of
from tang_egg.codegen.lower_keep import rows_at_hand
from tang_egg.codegen.printer import print_kernel
from tang_egg.codegen.vectors import AVX512
from tang_egg.errors import CodegenError
from tang_egg.ir import Graph, Reduce, Tensor, walk
from tang_egg.pipeline import extract
from tang_egg.schedule import FoldPlan, Schedule, parse_schedule, print_schedule
from tests import cascade_graphs
from tests.compiled import random_inputs
from tests.stages.test_lower_lanes import causal, compare, logsumexp, softmax, special

Make = Callable[[int, int], Graph]
MAKES: dict[str, Make] = {
    f.__name__: f for f in (softmax, logsumexp, causal, cascade_graphs.softmax_variance, cascade_graphs.masked_entropy)
}


def at_hand(graph: Graph, lanes: int = 8, tile: int = 8) -> tuple[Kernel, Graph]:
    """The kernel of a graph that one kernel computes, with all its rows at hand."""
    (plan,) = extract(graph).program.kernels
    rows = sorted({s.indices[-1].name for t in plan.outputs for s in walk(t.body) if isinstance(s, Reduce)})
    folds = tuple((n, FoldPlan("lanes", lanes)) for n in rows)
    last = plan.outputs[0].axes[-1].name
    tiles = ((last, tile),) if last in rows else ()
    kernel = lower("k", plan.outputs, Schedule("split", fold=folds, tile=tiles, keep=tuple(rows)))
    for stage in (
        lambda k: k,
        to_vectors,
        lambda x: to_vectors(x, AVX512.bytes),
        lambda k: to_registers(to_vectors(k)),
    ):
        check_kernel(stage(kernel))
    return kernel, Graph(graph.name, graph.inputs, plan.outputs)


def count(kernel: Kernel, op: str) -> int:
    """How often an operation stands in a kernel."""
    every = (x for s in statements(kernel.body) for e in expressions(s) for x in subexpressions(e))
    return sum(isinstance(x, Call) and x.op == op for x in every)


def first(graph: Graph, threads: int = 2) -> Schedule:
    (plan,) = extract(graph).program.kernels
    return schedules(plan.outputs, threads=threads)[0]


@pytest.mark.parametrize("size", [1, 7, 8, 9, 23])
@pytest.mark.parametrize("name", MAKES)
def test_rows_at_hand_mean_the_same(name: str, size: int) -> None:
    graph = MAKES[name](5, size)
    kernel, alone = at_hand(graph)
    compare(kernel, alone, random_inputs(graph))


def test_dead_rows_are_as_the_graph_says() -> None:
    graph = cascade_graphs.masked_entropy(6, 19)
    kernel, alone = at_hand(graph)
    data = random_inputs(graph)
    data["live"][:] = True
    data["live"][1] = False
    data["live"][2, 3:] = False
    compare(kernel, alone, data)


def test_an_exponential_is_computed_once_and_kept() -> None:
    kernel, _ = at_hand(softmax(5, 64))
    assert count(kernel, "exp") == 1  # the fold's; the output loads it
    rows = [s.buffer for s in statements(kernel.body) if isinstance(s, Store) and s.buffer.name == "row"]
    assert rows and rows[0].size == affine(64)
    alone, _ = at_hand(logsumexp(5, 64))
    assert not any(isinstance(s, Store) and s.buffer.name == "row" for s in statements(alone.body))


@pytest.mark.parametrize("size", [1, 17, 64, 261, 4097])
def test_compiled_rows_keep_infinities_and_nan(size: int) -> None:
    x = special((9, max(size, 8)))[:, :size]
    graph = softmax(9, size)
    tile = f"tile=i1:{min(16, size // 4 * 4)} " if size >= 4 else ""
    compiled = te.optimize(graph, values="ieee", schedule={"Y": f"split {tile}fold=i1:lanes:32 keep=i1 fetch=X"})
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(compiled(x), te.interpret(graph, {"X": x})["Y"], rtol=1e-5, atol=1e-7)


def test_rows_of_symbolic_length() -> None:
    n = te.Dim("n")
    graph = te.graph("softmax", Y=library.softmax(te.input("X", (5, n))))
    compiled = te.optimize(graph)
    assert parse_schedule(str(compiled.schedule["Y"])).keep
    for size in (0, 1, 31, 32, 33, 5000):
        x = np.random.default_rng(size).normal(size=(5, size)).astype(np.float32)
        np.testing.assert_allclose(compiled(x), te.interpret(graph, {"X": x})["Y"], rtol=1e-5, atol=1e-7)


def test_short_rows_are_kept_by_default_and_long_ones_pass_once() -> None:
    most = AT_HAND // 4
    assert first(softmax(64, most - 1)).keep == ("i1",) and first(softmax(64, most)).keep == ()
    assert first(logsumexp(64, 1000)).keep == ("i1",) and first(logsumexp(1, 1 << 20)).keep == ()
    (plan,) = extract(softmax(64, 1000)).program.kernels
    assert any(p.lanes for s in schedules(plan.outputs, threads=2) for _, p in s.fold)


def test_rows_that_are_read_twice_are_fetched_ahead() -> None:
    x, g = te.input("X", (4096, 1024)), te.input("g", (1024,))
    normed = te.graph("normed", library.rms_norm(x, g))
    assert first(normed).fetch == ("X",) and first(softmax(4096, 1024)).fetch == ("X",)
    i, j = te.indices("i j")
    assert first(te.graph("once", te.tensor("y", i, te.sum(j, x[i, j])))).fetch == ()
    assert first(softmax(64, 256)).fetch == () and first(softmax(64, AHEAD_MOST)).fetch == ()


def fetches(kernel: Kernel) -> list[tuple[Loop, Fetch]]:
    loops = (s for s in statements(to_fetches(to_registers(to_vectors(kernel))).body) if isinstance(s, Loop))
    return [(loop, s) for loop in loops for s in loop.body if isinstance(s, Fetch)]


@pytest.mark.parametrize(("dtype", "lines"), [("f32", 2), ("bf16", 1)])
def test_the_last_pass_fetches_each_line_of_the_next_row_once(dtype: str, lines: int) -> None:
    graph = te.graph("softmax", Y=library.softmax(te.input("X", (40, 640), dtype)))
    (plan,) = extract(graph).program.kernels
    text = "split tile=i1:16 fold=i1:lanes:32 keep=i1"
    assert not fetches(lower("k", plan.outputs, parse_schedule(text)))
    kernel = lower("k", plan.outputs, parse_schedule(f"{text} fetch=X"))
    found = fetches(kernel)
    assert len(found) == lines and len({loop.var for loop, _ in found}) == 1
    (loop,) = {loop.var for loop, _ in found}
    reads = [e for s in found[0][0].body for e in expressions(s)]
    assert any(isinstance(x, Call) and x.op == "exp" for e in reads for x in subexpressions(e))  # the later fold
    places = [f.index.form for _, f in found]
    assert all(p.constant >= 640 for p in places) and loop in {d.name for d in places[0].dims()}
    assert print_kernel(kernel, C).count("te_fetch(X + ") == lines


def test_fetches_do_not_change_what_a_kernel_computes() -> None:
    graph = softmax(5, 640)
    (plan,) = extract(graph).program.kernels
    kernel = lower("k", plan.outputs, parse_schedule("split tile=i1:16 fold=i1:lanes:32 keep=i1 fetch=X"))
    data = random_inputs(graph)
    y = np.full(5 * 640, 77, np.float32)
    run_kernel(kernel, {"X": data["X"].reshape(-1), "Y": y}, {})
    np.testing.assert_allclose(y.reshape(5, 640), te.interpret(graph, data)["Y"], rtol=2e-5, atol=1e-7)


def test_fields_are_printed_and_read_back() -> None:
    text = "split tile=i1:16 fold=i1:lanes:32 keep=i1 fetch=X,g"
    assert print_schedule(parse_schedule(text)) == text


def test_passes_with_axes_of_their_own_are_refused() -> None:
    (plan,) = extract(logsumexp(4, 64)).program.kernels
    (t,) = plan.outputs
    (s,) = {group_of(s) for s in walk(t.body) if isinstance(s, Reduce)}
    head, follower = s.monoid.components
    wide = replace(s.monoid, components=(head, replace(follower, axes=(index("c", 2),))))
    body = Reduce(wide, s.indices, s.where, s.body, 0)
    with pytest.raises(CodegenError) as error:
        rows_at_hand((Tensor("y", t.axes, body),), parse_schedule("split keep=i1"))
    assert str(error.value) == (
        "the pass of 'y' over 'i1' cannot be parted into folds in turn\n"
        "  where: keep=i1\n"
        "  mend:  leave out 'keep': the pass then runs in one go, by the plan of its fold"
    )


@pytest.mark.parametrize("shape", [(5, 37), (3, 512)])
def test_states_of_single_elements_are_not_parted(shape: tuple[int, int]) -> None:
    """The sum that te.logsumexp starts from one element knows only that element's maximum."""
    i, j = te.indices("i j")
    x = te.input("X", shape)
    g = te.graph("g", te.tensor("L", (i,), te.logsumexp(j, x[i, j])))
    assert not any(s.keep for s in schedules(extract(g).program.kernels[0].outputs, threads=2))
    with pytest.raises(CodegenError, match="cannot be parted"):
        rows_at_hand(extract(g).program.kernels[0].outputs, parse_schedule("split fold=i1:lanes:8 keep=i1"))
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    got = te.optimize(g)(data)
    np.testing.assert_allclose(got, np.log(np.exp(data.astype(np.float64)).sum(1)), rtol=1e-5)
