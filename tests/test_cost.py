"""Estimates of kernels: what grows with what; and the code whose costs they tell, beside the interpreter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tang_egg as te
from tang_egg.affine import index
from tang_egg.codegen.candidates import schedules
from tang_egg.cost.roofline import Costs, Estimate, Machine
from tang_egg.interpret import interpret
from tang_egg.ir import EVERYWHERE, Graph, Input, Read, Reduce, Scan, Tensor, apply
from tang_egg.monoid import SUM
from tang_egg.pipeline import extract
from tang_egg.program import Program
from tang_egg.run import compile_program
from tang_egg.schedule import parse_schedule
from tang_egg.verify import relative_error
from tests.compiled import all_inline, random_inputs
from tests.further import FURTHER

FEW_STREAMS = {"launch": 0.0, "memory": 1e30}
"""Of a machine on which only arithmetic and what is fetched again take time."""


def estimate(t: Tensor, machine: Machine | None = None) -> Estimate:
    """Of the kernel that writes one tensor."""
    return Costs(machine or Machine()).kernel((t.body,), (t.axes,))


def fused(graph: Graph) -> Tensor:
    """The only output of a graph, all else inlined."""
    (found,) = all_inline(graph).graph.outputs
    return found


def running_sum(points: int) -> Tensor:
    t, c = index("t", points), index("c", 64)
    x = Input("X", (t.size, c.size), "f32")
    return Tensor("Y", (t, c), Scan(SUM, t, (apply("exp", Read(x, (t, c))),)), "f32")


def folded_running_sum(points: int) -> Tensor:
    inner = running_sum(points)
    t, c = inner.axes
    return Tensor("Z", (c,), Reduce(SUM, (t,), EVERYWHERE, (inner.body,)), "f32")


def prefix_sums(points: int) -> Tensor:
    t, s, c = te.index("t", points), te.index("s", points), te.index("c", 64)
    x = te.input("X", (points, 64))
    return fused(te.graph("prefixes", te.tensor("Y", (t, c), te.sum(s, te.exp(x[s, c]), where=s <= t))))


@pytest.mark.parametrize(("build", "power"), [(running_sum, 1), (folded_running_sum, 1), (prefix_sums, 2)])
def test_a_scan_counts_once_at_each_point_and_a_fold_over_prefixes_does_not(
    build: Callable[[int], Tensor], power: int
) -> None:
    few, many = estimate(build(1024)), estimate(build(4096))
    assert many.flops / few.flops == pytest.approx(4.0**power, rel=0.01)


def rows_of_a_table(rows: int, gathered: bool) -> Tensor:
    x, at = te.input("X", (rows, 64)), te.input("at", (128,), "i32")
    i, c = te.index("i", 128), te.index("c", 64)
    read = x[at[i], c] if gathered else x[i, c]
    return fused(te.graph("rows", te.tensor("Y", i, te.sum(c, read * read))))


def test_a_gather_reads_no_more_than_it_asks_for() -> None:
    small, large = (estimate(rows_of_a_table(n, True)).bytes for n in (256, 1 << 20))
    assert small == large < 4.0 * (128 * 64 + 3 * 128)
    assert estimate(rows_of_a_table(64, True)).bytes == 4.0 * (64 * 64 + 2 * 128)  # the whole table is less
    assert estimate(rows_of_a_table(1 << 20, False)).bytes > 4.0 * (1 << 26)


def two_products(rows: int, width: int, hidden: int) -> Tensor:
    """relu(X W) V in one kernel."""
    x, w, v = te.input("X", (rows, width)), te.input("W", (width, hidden)), te.input("V", (hidden, width))
    i, j, k, o = te.indices("i j k o")
    h = te.tensor("H", (i, k), te.relu(te.sum(j, x[i, j] * w[j, k])))
    return fused(te.graph("two", te.tensor("Y", (i, o), te.sum(k, h[i, k] * v[k, o]))))


def again(t: Tensor) -> float:
    """The share of time that goes into fetching tables anew for every tile of rows."""
    whole = estimate(t, Machine(**FEW_STREAMS)).seconds
    return 1.0 - estimate(t, Machine(**FEW_STREAMS, further=1e30)).seconds / whole


def test_tables_are_fetched_again_where_caches_do_not_hold_them_or_tiles_are_wide() -> None:
    assert again(two_products(512, 64, 1024)) == 0.0  # in the near cache
    assert again(two_products(512, 64, 4096)) == 0.0  # in some cache, tiles of 32 × 64
    assert again(two_products(512, 64, 32768)) > 0.1  # in no cache
    assert again(two_products(512, 384, 1536)) > 0.1  # tiles of 32 × 384


def test_few_rows_leave_threads_without_work() -> None:
    def seconds(rows: int, threads: int) -> float:
        return estimate(two_products(rows, 64, 256), Machine(**FEW_STREAMS, threads=threads)).seconds

    assert seconds(16, 2) == pytest.approx(2.0 * seconds(16, 1))
    assert seconds(64, 2) == seconds(64, 1)


def test_signs_cost_nothing() -> None:
    x, i = te.input("X", (64, 64)), te.index("i", 64)
    j = te.index("j", 64)
    plain, negated = (fused(te.graph("s", te.tensor("Y", i, te.sum(j, s * x[i, j])))) for s in (x[i, j], -x[i, j]))
    assert estimate(plain).flops == estimate(negated).flops


def agrees(graph: Graph, schedule: str | None = None) -> str:
    """Compares a graph in one kernel with the interpreter, by the first schedule or another. Its source."""
    program: Program = all_inline(graph)
    (kernel,) = program.kernels
    chosen = schedules(kernel.outputs, threads=1)[0] if schedule is None else parse_schedule(schedule)
    runner = compile_program(program, {kernel.name: chosen})
    inputs = random_inputs(graph)
    expected, got = interpret(graph, inputs), runner(inputs)
    for t in graph.outputs:
        assert relative_error(got[t.name], expected[t.name]) < 1e-5
    return runner.source


def mixed(m: int, more: int, rows: int = 37, width: int = 16) -> Graph:
    """exp(Q Kᵀ) K for keys K of two sources; the contraction has the name of the output's axis."""
    q, x, y = te.input("Q", (rows, width)), te.input("X", (m, width)), te.input("Y", (more, width))
    j, c, i = te.index("j", m + more), te.index("c", width), te.index("i", rows)
    both = te.tensor("both", (j, c), te.select(te.holds(j < m), x[j, c], y[j - m, c]))
    d = te.index("d", width)
    w = te.tensor("W", (i, j), te.exp(te.sum(d, q[i, d] * both[j, d]) * 0.1))
    return te.graph("mixed", te.tensor("O", (i, c), te.sum(j, w[i, j] * both[j, c])))


@pytest.mark.parametrize(("m", "more"), [(64, 32), (33, 31), (1, 67), (40, 1), (5, 3)])
def test_operands_chosen_between_two_sources_are_copied_like_one(m: int, more: int) -> None:
    source = agrees(mixed(m, more))
    if m + more >= 8:
        assert "X_1[" in source  # both sources, copied into one tile
    assert all("expf" not in line for line in source.splitlines() if " * te_load" in line)


@pytest.mark.parametrize(("rows", "width", "hidden"), [(64, 32, 64), (67, 33, 37), (1, 7, 5), (16, 48, 1)])
def test_a_cheap_map_between_products_is_made_once(rows: int, width: int, hidden: int) -> None:
    x, w, v = te.input("X", (rows, width)), te.input("W", (width, hidden)), te.input("V", (hidden, width))
    i, j, k, o = te.indices("i j k o")
    h = te.tensor("H", (i, k), te.relu(te.sum(j, x[i, j] * w[j, k])))
    source = agrees(te.graph("two", te.tensor("Y", (i, o), te.sum(k, h[i, k] * v[k, o]))))
    if (rows, width, hidden) == (64, 32, 64):
        lines = source[source.index("void k0_Y(") :].splitlines()
        assert any("te_max_f32x8(" in x for x in lines) and not any("te_max_f32(" in x for x in lines)


def test_rows_that_share_a_copy_are_in_the_tile() -> None:
    """Heads come last: the tile has queries, which the copied keys lack."""
    row = FURTHER["distance_heads_last"]
    kernel = all_inline(row.build("f32", **row.sizes)).kernels[0]
    first = schedules(kernel.outputs, threads=1)[0]
    assert first.stage == ("K",) and dict(first.tile)["i"] == 24 and "a" not in dict(first.tile)
    agrees(row.build("f32", h=3, n=67, m=41, d=5))


@pytest.mark.parametrize("rows", [1, 31, 64, 97])
def test_strewn_tiles_are_copied(rows: int) -> None:
    x, w, v = te.input("X", (rows, 24)), te.input("W", (24, 96)), te.input("V", (96, 8))
    i, j, k, o = te.indices("i j k o")
    h = te.tensor("H", (i, k), te.exp(te.sum(j, x[i, j] * w[j, k]) * 0.1))
    graph = te.graph("strewn", te.tensor("Y", (i, o), te.sum(k, h[i, k] * v[k, o])))
    (kernel,) = all_inline(graph).kernels
    assert schedules(kernel.outputs, threads=1)[0].stage == ("W",)
    agrees(graph)


def test_kernels_that_store_the_same_are_joined_whatever_is_cheapest_alone() -> None:
    row = FURTHER["nearest_centre"]
    (kernel,) = extract(row.build("f32", **row.sizes)).program.kernels
    assert {t.name for t in kernel.outputs} == {"label", "distance"}
