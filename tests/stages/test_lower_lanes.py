"""Partial states in lanes: every monoid that allows them, tails, domains, dead rows, infinities and NaN."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tang_egg as te
from tang_egg import library
from tang_egg.affine import affine, index
from tang_egg.codegen.candidates import schedules, tile_of_lanes
from tang_egg.codegen.kernel import Call, Kernel, Loop, Stmt, expressions, lanes, statements, subexpressions
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import run_kernel
from tang_egg.codegen.legalize_register import to_registers
from tang_egg.codegen.legalize_vector import to_vectors
from tang_egg.codegen.lower import lower
from tang_egg.codegen.vectors import AVX512
from tang_egg.errors import CodegenError
from tang_egg.ir import EVERYWHERE, Graph, Input, Read, Reduce, Tensor, walk
from tang_egg.monoid import Component, Monoid
from tang_egg.pipeline import extract
from tang_egg.schedule import FoldPlan, Schedule, parse_schedule, print_schedule
from tests import cascade_graphs
from tests.compiled import random_inputs
from tests.test_cascades import LONG, moment

Make = Callable[[int, int], Graph]


def logsumexp(n: int, m: int) -> Graph:
    return te.graph("logsumexp", L=library.logsumexp(te.input("X", (n, m))))


def softmax(n: int, m: int) -> Graph:
    return te.graph("softmax", Y=library.softmax(te.input("X", (n, m))))


def causal(n: int, m: int) -> Graph:
    x, (i, j) = te.input("X", (n, m)), te.indices("i j")
    top = te.tensor("top", i, te.max(j, x[i, j], where=j <= i))
    return te.graph("causal", te.tensor("y", i, te.sum(j, te.exp(x[i, j] - top[i]), where=j <= i)))


def banded(n: int, m: int) -> Graph:
    x, (i, j) = te.input("X", (n, m)), te.indices("i j")
    near = (j >= i - 2, j <= i + 3)
    top = te.tensor("top", i, te.max(j, x[i, j], where=near))
    return te.graph("banded", te.tensor("y", i, te.sum(j, te.exp(x[i, j] - top[i]) * x[i, j], where=near)))


def best(n: int, m: int) -> Graph:
    x, (i, j) = te.input("X", (n, m)), te.indices("i j")
    return te.graph("best", te.tensor("y", i, te.argmax(j, x[i, j])))


MAKES: dict[str, Make] = {
    f.__name__: f
    for f in (
        logsumexp,
        softmax,
        causal,
        banded,
        best,
        cascade_graphs.sink,
        cascade_graphs.masked_entropy,
        cascade_graphs.softmax_variance,
        cascade_graphs.perplexity,
    )
}
"""Cascades of one and of several followers, under domains of both kinds, and a monoid whose parts read each other."""


def in_lanes(outputs: tuple[Tensor, ...], tile: int, count: int, how: str = "stream") -> Schedule:
    """The schedule in which every fold of a kernel runs in lanes."""
    folds = {s.indices[-1].name for t in outputs for s in walk(t.body) if isinstance(s, Reduce)}
    return Schedule("stream", fold=tuple((n, FoldPlan(how, tile, count)) for n in sorted(folds)))


def lowered(graph: Graph, tile: int, count: int, how: str = "stream") -> tuple[Kernel, Graph]:
    """The kernel of a graph that one kernel computes."""
    (plan,) = extract(graph).program.kernels
    kernel = lower("k", plan.outputs, in_lanes(plan.outputs, tile, count, how))
    for stage in (lambda k: k, to_vectors, lambda x: to_vectors(x, AVX512.bytes), to_registers):
        check_kernel(stage(kernel))
    return kernel, Graph(graph.name, graph.inputs, plan.outputs)


def compare(kernel: Kernel, graph: Graph, data: dict[str, np.ndarray]) -> None:  # type: ignore[type-arg]
    """The kernel under the interpreter of its IR against the graph under its own."""
    arrays = {n: a.reshape(-1) for n, a in data.items()}
    for t in graph.outputs:
        kind = np.float32 if t.dtype == "f32" else np.int64
        arrays[t.name] = np.full(int(np.prod([n.value or 0 for n in t.shape])), 77, kind)
    run_kernel(kernel, arrays, {})
    with np.errstate(all="ignore"):
        exact = te.interpret(graph, data)
    for t in graph.outputs:
        shape = tuple(n.value or 0 for n in t.shape)
        np.testing.assert_allclose(arrays[t.name].reshape(shape), exact[t.name], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("size", [8, 9, 23])
@pytest.mark.parametrize("name", MAKES)
def test_lanes_mean_the_same(name: str, size: int) -> None:
    graph = MAKES[name](5, size)
    kernel, alone = lowered(graph, 8, 4)
    compare(kernel, alone, random_inputs(graph))


@pytest.mark.parametrize("size", [0, 1, 7])
def test_an_axis_shorter_than_a_tile_runs_in_order(size: int) -> None:
    graph = causal(3, size)
    kernel, alone = lowered(graph, 8, 4)
    compare(kernel, alone, random_inputs(graph))


@pytest.mark.parametrize("name", ["logsumexp", "softmax_variance", "best"])
def test_blocks_on_threads_run_in_lanes(name: str) -> None:
    graph = MAKES[name](1, 301)
    kernel, alone = lowered(graph, 3, 8, "blocks")
    compare(kernel, alone, random_inputs(graph))


def test_a_state_over_rows_runs_in_lanes() -> None:
    graph = softmax(8, 19)
    (plan,) = extract(graph).program.kernels
    (j,) = (s.indices[-1] for s in walk(plan.outputs[0].body) if isinstance(s, Reduce) and s.part == 0)
    i = plan.outputs[0].axes[0]
    kernel = lower("k", plan.outputs, parse_schedule(f"stream tile={i.name}:4 fold={j.name}:stream:8:4"))
    compare(kernel, Graph("softmax", graph.inputs, plan.outputs), random_inputs(graph))


def test_a_dead_row_and_infinities_are_as_the_graph_says() -> None:
    graph = cascade_graphs.masked_entropy(6, 19)
    kernel, alone = lowered(graph, 8, 4)
    data = random_inputs(graph)
    data["live"][:] = True
    data["live"][1] = False
    data["live"][2, 3:] = False
    data["live"][3, :18] = False
    compare(kernel, alone, data)


def special(shape: tuple[int, int]) -> np.ndarray:  # type: ignore[type-arg]
    """Rows of numbers, with infinities and NaN in places of several lanes and in the tail."""
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    x[1, :] = -np.inf
    x[2, 5], x[3, -1], x[4, 0] = np.inf, np.nan, -np.inf
    x[5, :-1] = -np.inf
    x[6, ::2] = -np.inf
    x[7] = 3e38
    return x


@pytest.mark.parametrize("size", [17, 64, 261])
def test_compiled_lanes_keep_infinities_and_nan(size: int) -> None:
    graph = logsumexp(9, size)
    tile = 256 if size > 256 else 16
    compiled = te.optimize(graph, values="ieee", schedule={"L": f"stream fold=i1:stream:{tile}:16"})
    x = special((9, size))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(compiled(x), te.interpret(graph, {"X": x})["L"], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f64"])
def test_compiled_lanes_of_other_types(dtype: str) -> None:
    graph = te.graph("softmax", Y=library.softmax(te.input("X", (5, 101), dtype)))
    compiled = te.optimize(graph, schedule={"Y": variant(graph)})
    assert any(p.lanes for p in _plans(compiled))
    kind = {"f16": np.float16, "f64": np.float64}.get(dtype, np.float32)
    x = np.random.default_rng(0).integers(-20, 20, (5, 101)).astype(kind) / 4
    given = (x.view(np.uint32) >> 16).astype(np.uint16) if dtype == "bf16" else x
    exact = te.interpret(graph, {"X": x})["Y"]
    close = {"bf16": 1e-2, "f16": 1e-3, "f64": 1e-12}[dtype]
    np.testing.assert_allclose(_wide(np.asarray(compiled(given))), exact, rtol=close, atol=1e-6)


def variant(graph: Graph) -> Schedule:
    """The first schedule on offer that streams in lanes."""
    (plan,) = extract(graph).program.kernels
    return next(s for s in schedules(plan.outputs, threads=2) if any(p.lanes for _, p in s.fold))


def _wide(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """The values of an array; 16-bit integers hold bf16."""
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x.astype(np.float64)


def test_followers_of_followers_in_lanes() -> None:
    compiled = te.optimize(moment(3))
    assert any(p.lanes for p in _plans(compiled))
    data = random_inputs(moment(3))
    (name,) = (t.name for t in moment(3).outputs)
    np.testing.assert_allclose(compiled(*data.values()), te.interpret(moment(3), data)[name], rtol=1e-4, atol=1e-6)
    assert LONG > 1000


def _plans(compiled: te.Compiled) -> list[FoldPlan]:
    return [p for s in compiled.schedule.values() for _, p in parse_schedule(str(s)).fold]


def scalar_calls(body: tuple[Stmt, ...], op: str, depth: int = 0) -> dict[int, int]:
    """How many scalar calls of an operation stand inside how many loops."""
    found: dict[int, int] = {}
    for s in body:
        for e in expressions(s):
            for x in subexpressions(e):
                if isinstance(x, Call) and x.op == op and lanes(x.type) == 1:
                    found[depth] = found.get(depth, 0) + 1
        if isinstance(s, Loop):
            for d, n in scalar_calls(s.body, op, depth + 1).items():
                found[d] = found.get(d, 0) + n
    return found


def test_no_scalar_exponential_stands_inside_the_stream() -> None:
    (plan,) = extract(softmax(64, 4096)).program.kernels
    chosen = variant(softmax(64, 4096))
    kernel = to_registers(to_vectors(lower("k", plan.outputs, chosen)))
    assert set(scalar_calls(kernel.body, "exp")) <= {1}  # once a row, where the state starts
    stream = [s for s in statements(kernel.body) if isinstance(s, Loop) and s.step == 256]
    assert stream and not any(lanes(e.type) == 1 and isinstance(e, Call) and e.op == "max" for e in _in(stream))


def _in(loops: list[Loop]) -> list[object]:
    return [x for loop in loops for s in statements(loop.body) for e in expressions(s) for x in subexpressions(e)]


def test_rows_that_are_long_enough_run_in_lanes_by_default() -> None:
    def first(graph: Graph) -> Schedule:
        (plan,) = extract(graph).program.kernels
        return schedules(plan.outputs, threads=2)[0]

    assert first(logsumexp(64, 1 << 16)).fold[0][1] == FoldPlan("stream", 256, 16)
    assert variant(logsumexp(64, 1000)).fold[0][1] == FoldPlan("stream", 256, 16)
    assert first(logsumexp(64, 20)).fold[0][1].lanes == 0
    assert first(logsumexp(1, 1 << 20)).fold[0][1] == FoldPlan("blocks", 8, 16)
    down = first(te.graph("columns", library.softmax(te.input("X", (64, 64)), axis=0)))
    assert not any(p.lanes for _, p in down.fold) and down.tile == (("i0", 64),)


def columns(n: int, m: int, weighted: bool) -> Graph:
    x, w, (i, j) = te.input("X", (n, m)), te.input("w", (n,)), te.indices("i j")
    body = x[i, j] * w[i] if weighted else x[i, j]
    return te.graph("columns", te.tensor("y", j, te.sum(i, body)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [32, 37, 40])
def test_long_columns_are_folded_in_wide_pieces(rows: int, weighted: bool) -> None:
    graph = columns(rows, 523, weighted)
    (plan,) = extract(graph).program.kernels
    chosen = schedules(plan.outputs, threads=1)[0]
    assert chosen.tile_of(plan.outputs[0].axes[0].name) == 64 and chosen.fold[0][1] == FoldPlan("stream", 8)
    kernel = lower("k", plan.outputs, chosen)
    compare(kernel, Graph("columns", graph.inputs, plan.outputs), random_inputs(graph))


def test_products_and_rows_are_not_folded_by_columns() -> None:
    graph = te.graph("product", library.matmul(te.input("A", (64, 64)), te.input("B", (64, 512))))
    (plan,) = extract(graph).program.kernels
    assert schedules(plan.outputs, threads=2)[0].shape == "tile"
    x, g = te.input("X", (64, 4096)), te.input("g", (4096,))
    (plan,) = extract(te.graph("normed", library.rms_norm(x, g))).program.kernels
    assert schedules(plan.outputs, threads=2)[0].shape == "split"  # the folded index is the one of the output


@pytest.mark.parametrize(
    ("size", "tile"), [(None, 256), (31, 0), (32, 32), (33, 32), (256, 256), (257, 144), (300, 160)]
)
def test_tiles_waste_little_of_an_axis(size: int | None, tile: int) -> None:
    assert tile_of_lanes(size, 16) == tile


def test_a_monoid_that_is_not_commutative_is_refused() -> None:
    from tang_egg.ir import StateRef

    last = Monoid("last", (Component("v"),), (StateRef("right", "v"),), (te.ir.const(0.0),))
    i, j = index("i", 4), index("j", 32)
    x = Input("x", (affine(4), affine(32)))
    t = Tensor("y", (i,), Reduce(last, (j,), EVERYWHERE, (Read(x, (affine(i), affine(j))),)))
    with pytest.raises(CodegenError) as error:
        lower("k", (t,), parse_schedule("stream fold=j:stream:16:8"))
    assert str(error.value) == (
        "the fold over 'j' cannot run in 8 lanes: its monoid 'last' is not commutative\n"
        "  where: fold=j:stream:16:8\n"
        "  mend:  write fold=j:stream:16, which folds tiles into one state"
    )


def test_a_record_whose_tile_is_no_multiple_of_its_lanes_is_refused() -> None:
    i, j = index("i", 4), index("j", 67)
    x = Input("x", (affine(4), affine(67)))
    t = Tensor("y", (i,), Reduce(te.monoid.SUM, (j,), EVERYWHERE, (Read(x, (affine(i), affine(j))),)))
    with pytest.raises(CodegenError, match="tiles of 12 points in 8 lanes") as error:
        lower("k", (t,), Schedule("stream", fold=(("j", FoldPlan("stream", 12, 8)),)))
    assert "fold=j:stream:16:8" in str(error.value)


def test_schedules_in_lanes_are_read_back() -> None:
    text = "stream tile=i:16 fold=j:stream:256:16,k:blocks:8:32,d:lanes:8 store=stream"
    assert print_schedule(parse_schedule(text)) == text


@pytest.mark.parametrize(
    "part", "fold=j:stream:20:16 fold=j:lanes:8:8 fold=j:stream:8:-8 store=fast tile=i:-3 block=i:-6".split()
)
def test_lanes_that_do_not_fit_cannot_be_read(part: str) -> None:
    with pytest.raises(CodegenError, match="cannot read"):
        parse_schedule(f"stream {part}")
