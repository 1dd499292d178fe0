"""Scans by chunks and folds by blocks: the same values as in order, for every associative monoid and every length."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tang_egg.affine import AffineLike, Dim, Index, affine, index
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.kernel import Kernel, Loop, statements
from tang_egg.codegen.kernel_run import run_kernel
from tang_egg.codegen.lower import lower
from tang_egg.errors import CodegenError
from tang_egg.interpret import interpret
from tang_egg.ir import EVERYWHERE, Graph, Input, Position, Read, Reduce, Scalar, Scan, Tensor, apply, const, domain
from tang_egg.monoid import AFFINE, LOGSUMEXP, MAX, SUM, Monoid, affine_matrix, argmax_of
from tang_egg.program import KernelPlan, Program
from tang_egg.schedule import parse_schedule
from tests.compiled import agrees, one_kernel_each, random_inputs, weighted_graphs


@pytest.fixture(autouse=True)
def _quick_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANG_CFLAGS", "-O1")


def recurrence(steps: AffineLike, channels: AffineLike, chunk: int = 0, last: str = "c") -> Graph:
    """h[t, c] = a·h[t-1, c] + b, a prefix fold of affine maps: not commutative."""
    t, c = Index("t", affine(steps)), Index("c", affine(channels))
    a, b = (Input(n, (t.size, c.size)) for n in "ab")
    lifts = tuple(Read(s, (affine(t), affine(c))) for s in (a, b))
    axes = (t, c) if last == "c" else (c, t)
    return Graph("recurrence", (a, b), (Tensor("h", axes, Scan(AFFINE, t, lifts, 1, chunk)),))


def outer_loops(kernel: Kernel) -> list[tuple[str, str]]:
    return [(s.var.split("_")[0], s.kind) for s in kernel.body if isinstance(s, Loop)]


def test_a_chunked_scan_has_three_phases_and_the_first_and_last_run_on_threads() -> None:
    graph = recurrence(64, 4)
    kernel = lower("k", graph.outputs, parse_schedule("scan chunk=8 parallel=t tile=c:4"))
    phases = outer_loops(kernel)
    assert [kind for _, kind in phases] == ["parallel", "serial", "parallel"]
    assert outer_loops(lower("k", graph.outputs, parse_schedule("scan tile=c:4"))) == [("c", "serial")]
    own = lower("k", recurrence(64, 4, chunk=16).outputs, parse_schedule("scan tile=c:4"))
    assert len(outer_loops(own)) == 3, "the chunk that the graph asks for is used"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(1, 9), st.integers(1, 12), st.sampled_from(["", "tile=c:4", "tile=c:*"]))
def test_chunks_of_every_length(steps: int, channels: int, chunk: int, tile: str) -> None:
    graph = recurrence(steps, channels)
    kernel = lower("k", graph.outputs, parse_schedule(f"scan chunk={chunk} parallel=t {tile}"))
    data = random_inputs(graph, seed=steps)
    arrays = {n: x.reshape(-1) for n, x in data.items()} | {"h": np.full(steps * channels, np.nan, np.float32)}
    run_kernel(kernel, arrays, {})
    want = np.asarray(interpret(graph, data)["h"])
    np.testing.assert_allclose(arrays["h"].reshape(want.shape), want, rtol=1e-4, atol=1e-4)


def test_one_artefact_chunks_every_length() -> None:
    graph = recurrence(Dim("n"), 5, last="t")
    for steps in (0, 1, 7, 8, 9, 50):
        sizes = {"n": steps}
        agrees(one_kernel_each(graph), random_inputs(graph, sizes), "scan chunk=8 parallel=t tile=c:4", sizes)


@pytest.mark.parametrize("chunk", [1, 8, 37, 64])
def test_chunks_of_matrices_positions_and_nested_scans(chunk: int) -> None:
    t, c = index("t", 37), index("c", 5)
    monoid = affine_matrix(3)
    row, column = monoid.components[0].axes
    a, b = Input("a", (affine(37), affine(3), affine(3))), Input("b", (affine(37), affine(3)))
    lifts = (Read(a, (affine(t), affine(row), affine(column))), Read(b, (affine(t), affine(row))))
    x = Input("x", (affine(37), affine(5)))
    read = Read(x, (affine(t), affine(c)))
    best = Scan(argmax_of(), t, (read, Position(affine(t))), 1)
    twice = Scan(SUM, t, (Scan(SUM, t, (read,)),))
    across = Scan(SUM, t, (Scan(SUM, c, (read,)),))
    outputs = (Tensor("best", (t, c), best, "i64"), Tensor("twice", (t, c), twice), Tensor("across", (t, c), across))
    graph = Graph("several", (x,), outputs)
    matrices = one_kernel_each(Graph("matrices", (a, b), (Tensor("h", (t, row), Scan(monoid, t, lifts, 1)),)))
    schedule = f"scan chunk={chunk} parallel=t tile=c:4"
    agrees(matrices, random_inputs(matrices.graph), schedule)
    agrees(Program(graph, (KernelPlan("together", outputs),)), random_inputs(graph), schedule)


@pytest.mark.parametrize(
    "schedule", ["point", "scan chunk=8 parallel=t", "point fold=t:stream:8", "point fold=t:blocks:3"]
)
def test_lifts_that_know_only_their_own_statistic_are_combined_not_streamed(schedule: str) -> None:
    t, c = index("t", 37), index("c", 5)
    x = Input("x", (affine(37), affine(5)))
    lifts = (Read(x, (affine(t), affine(c))), const(1.0))
    scanned = Tensor("prefix", (t, c), Scan(LOGSUMEXP, t, lifts, 1))
    folded = Tensor("total", (c,), Reduce(LOGSUMEXP, (t,), EVERYWHERE, lifts, 1))
    program = one_kernel_each(Graph("weights", (x,), (scanned, folded)))
    data = random_inputs(program.graph)
    agrees(program, data, schedule)


def test_an_unknown_number_of_state_rows_is_refused() -> None:
    t, s = index("t", 4), Index("s", affine(Dim("n")))
    x = Input("x", (affine(4), s.size))
    total = Reduce(SUM, (s,), EVERYWHERE, (Scan(SUM, t, (Read(x, (affine(t), affine(s))),)),))
    with pytest.raises(CodegenError, match="symbolic size"):
        lower("k", (Tensor("y", (t,), total),), parse_schedule("scan chunk=2"))


ROW, J = index("i", 1000), index("j", 12)
X = Input("x", (affine(1000), affine(12)))
HERE = Read(X, (affine(ROW), affine(J)))
FOLDS: dict[str, tuple[Monoid, tuple[Index, ...], tuple[Scalar, ...], int, str]] = {
    "columns": (SUM, (ROW,), (HERE,), 0, "point fold=i:blocks:4 tile=j:*"),
    "tiles of columns": (SUM, (ROW,), (HERE,), 0, "point fold=i:blocks:4 tile=j:8"),
    "everything": (MAX, (ROW, J), (HERE,), 0, "point fold=i:blocks:4"),
    "not commutative": (AFFINE, (ROW,), (apply("tanh", HERE), HERE), 1, "point fold=i:blocks:3 tile=j:4"),
    "more blocks than points": (SUM, (ROW,), (HERE,), 0, "point fold=i:blocks:40"),
}


@pytest.mark.parametrize("name", FOLDS)
def test_blocks_are_combined_in_order(name: str) -> None:
    monoid, folded, lifts, part, schedule = FOLDS[name]
    axes = tuple(i for i in (J,) if i not in folded)
    program = one_kernel_each(
        Graph("blocks", (X,), (Tensor("y", axes, Reduce(monoid, folded, EVERYWHERE, lifts, part)),))
    )
    compiled = agrees(program, random_inputs(program.graph), schedule, tolerance=1e-4)
    assert "#pragma omp parallel" in compiled.source[compiled.source.index("void k0") :]


def test_blocks_of_masked_folds_and_cascades() -> None:
    program = one_kernel_each(
        Graph("x", (X,), (Tensor("y", (J,), Reduce(SUM, (ROW,), domain(ROW >= J, ROW <= 900 - J), (HERE,))),))
    )
    agrees(program, random_inputs(program.graph), "point fold=i:blocks:4 parallel=j tile=j:4", tolerance=1e-4)
    cascaded, _ = weighted_graphs(1, 3, 200, 4, live=True)
    agrees(one_kernel_each(cascaded), random_inputs(cascaded), "stream fold=j:blocks:2 tile=c:*")


@pytest.mark.parametrize("size", [31, 32, 33, 63, 65])
def test_tails_are_masked_tiles(size: int) -> None:
    cascaded, _ = weighted_graphs(1, size, size, 8, causal=True)
    kernel = lower("k", cascaded.outputs, parse_schedule("stream tile=c:*,i:8 fold=j:stream:16"))
    program = one_kernel_each(cascaded)
    agrees(program, random_inputs(cascaded), "stream tile=c:*,i:8 fold=j:stream:16")
    tiles = [s for s in statements(kernel.body) if isinstance(s, Loop) and re.fullmatch(r"j(_\d+)?", s.var)]
    assert len(tiles) == 2 and all(s.step == 16 for s in tiles), "no tile runs point by point"


def test_names_of_indices_and_of_values_never_meet() -> None:
    t, c = index("t", 21), index("c", 8)
    x = Input("x", (affine(21), affine(8)))
    read = Read(x, (affine(t), affine(c)))
    body = apply("mul", Reduce(MAX, (t,), EVERYWHERE, (read,)), apply("exp", Reduce(SUM, (t,), EVERYWHERE, (read,))))
    agrees(one_kernel_each(Graph("names", (x,), (Tensor("y", (c,), body),))), random_inputs(Graph("n", (x,), ())),
           "point fold=t:stream:8")  # fmt: skip


def test_staged_operands_keep_their_type() -> None:
    i, k = index("i", 8), index("k", 9)
    x = Input("x", (affine(8), affine(9)), "u8")
    body = Reduce(SUM, (k,), EVERYWHERE, (apply("cast:real", Read(x, (affine(i), affine(k)))),))
    program = one_kernel_each(Graph("bytes", (x,), (Tensor("y", (i,), body),)))
    compiled = agrees(program, random_inputs(program.graph), "tile tile=i:8 stage=x")
    assert "uint8_t x_1[" in compiled.source


def test_candidates_offer_scans_in_order_and_by_chunks_and_blocks_for_lone_folds() -> None:
    for threads in (2, 8):
        offered = schedules(recurrence(4096, 8).outputs, threads=threads)
        assert {s.chunk > 0 for s in offered} == {True, False}
        assert (offered[0].chunk > 0) == (threads > 2), "a second pass pays with more than two threads"
    total = Tensor("y", (), Reduce(SUM, (ROW, J), EVERYWHERE, (HERE,)))
    assert all(s.fold_of("i").how != "blocks" for s in schedules((total,), threads=2)), "too short for threads"
    long = index("i", 1 << 20)
    many = Input("x", (long.size,))
    folded = Tensor("y", (), Reduce(SUM, (long,), EVERYWHERE, (Read(many, (affine(long),)),)))
    assert schedules((folded,), threads=2)[0].fold_of("i").how == "blocks"
