"""Products in a stream, values computed ahead, zeroed domains: they mean the same, and are done as often as said."""

from __future__ import annotations

import numpy as np
import pytest

import tang_egg as te
from tang_egg.codegen.kernel import Declare, If, Kernel, Loop, Stmt, statements
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import run_kernel
from tang_egg.codegen.legalize_register import to_registers
from tang_egg.codegen.legalize_vector import to_vectors
from tang_egg.codegen.lower import lower
from tang_egg.codegen.pack_plan import pack_plan
from tang_egg.codegen.vectors import AVX512
from tang_egg.ir import Graph, Reduce, Tensor, walk
from tang_egg.pipeline import extract
from tang_egg.schedule import parse_schedule

i, j, k = te.indices("i j k")


def sample(graph: Graph) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    rng = np.random.default_rng(3)
    shapes = {x.name: tuple(n.evaluate({}) for n in x.shape) for x in graph.inputs}
    return {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}


def run(graph: Graph, outputs: tuple[Tensor, ...], schedule: str, data: dict[str, np.ndarray]) -> Kernel:  # type: ignore[type-arg]
    """The lowered kernel, after what it computes was compared with the interpreter."""
    kernel = lower("k", outputs, parse_schedule(schedule))
    for stage in (lambda x: x, to_vectors, lambda x: to_vectors(x, AVX512.bytes), to_registers):
        check_kernel(stage(kernel))
    arrays = {n: a.reshape(-1).copy() for n, a in data.items()}
    for t in outputs:
        arrays[t.name] = np.full(int(np.prod([n.evaluate({}) for n in t.shape])), np.nan, np.float32)
    run_kernel(kernel, arrays, {})
    meant = te.interpret(graph, data)
    for t in outputs:
        np.testing.assert_allclose(arrays[t.name].reshape(meant[t.name].shape), meant[t.name], rtol=1e-4, atol=1e-5)
    return kernel


def depths(body: tuple[Stmt, ...], depth: int = 0) -> dict[str, int]:
    """The number of loops around the declaration of each local array."""
    found: dict[str, int] = {}
    for s in body:
        if isinstance(s, Declare):
            found[s.buffer.name] = depth
        elif isinstance(s, Loop):
            found |= depths(s.body, depth + 1)
        elif isinstance(s, If):
            found |= depths(s.then, depth)
    return found


def one_pass(n: int, m: int, **form: object) -> tuple[Graph, tuple[Tensor, ...], str]:
    """Attention of one kernel by tiles of 6 rows and 8 keys."""
    q, keys, v = te.input("Q", (2, n, 4)), te.input("K", (2, m, 4)), te.input("V", (2, m, 16))
    graph = te.graph("g", O=te.attention(q, keys, v, **form))  # type: ignore[arg-type]
    (plan,) = extract(graph).program.kernels
    row, column = plan.outputs[0].axes[1], plan.outputs[0].axes[2]
    (streamed,) = {
        s.indices[0].name for t in plan.outputs for s in walk(t.body) if isinstance(s, Reduce) and s.monoid.followers
    }
    schedule = f"stream tile={column.name}:*,{row.name}:6 fold={streamed}:stream:8 stage=K"
    return graph, plan.outputs, schedule


@pytest.mark.parametrize(
    ("n", "m", "form"),
    [
        (13, 13, {"causal": True}),
        (25, 25, {"causal": True, "window": 5}),
        pytest.param(7, 29, {}, marks=pytest.mark.nightly),
        pytest.param(12, 24, {"causal": True}, marks=pytest.mark.nightly),
        pytest.param(19, 11, {"causal": True}, marks=pytest.mark.nightly),
        pytest.param(6, 9, {"soft_cap": 3.0}, marks=pytest.mark.nightly),
    ],
)
def test_a_stream_of_products_over_any_domain(n: int, m: int, form: dict[str, object]) -> None:
    graph, outputs, schedule = one_pass(n, m, **form)
    run(graph, outputs, schedule, sample(graph))


def test_what_is_staged_for_a_stream_is_copied_once_for_all_rows() -> None:
    graph, outputs, schedule = one_pass(13, 17)
    kernel = run(graph, outputs, schedule, sample(graph))
    found = depths(kernel.body)
    (copy,) = (n for n in found if n.startswith("K"))
    assert found[copy] == 1, "outside of the rows, inside of the batch"
    assert found["c2"] > found[copy]


def test_rows_whose_statistic_stays_are_not_carried() -> None:
    graph, outputs, schedule = one_pass(12, 16)
    kernel = run(graph, outputs, schedule, sample(graph))
    assert any(isinstance(s, If) for s in statements(kernel.body))
    data = sample(graph)
    data["K"][:] = 0  # every score is the same, and the statistic never moves after the first tile
    run(graph, outputs, schedule, data)


def rows_of(values: int, outputs: int) -> Graph:
    x, w = te.input("X", (values,)), te.input("W", (outputs, values))
    return te.graph("g", te.tensor("O", (i,), te.sum(k, te.tanh(x[k]) * w[i, k])))


@pytest.mark.parametrize("values", [1, 16, 37])
def test_a_costly_value_that_lacks_the_rows_is_computed_ahead(values: int) -> None:
    graph = rows_of(values, 40)
    kernel = run(graph, tuple(graph.outputs), "point", sample(graph))
    assert depths(kernel.body)["ahead"] == 0
    few = rows_of(values, 15)
    assert "ahead" not in depths(run(few, tuple(few.outputs), "point", sample(few)).body)


def padded(weights: str = "right") -> Graph:
    """A sum over a window that hangs over both ends of the columns."""
    x, w = te.input("X", (5, 21)), te.input("W", (7, 5, 3))
    c, d = te.indices("c d")
    j = te.index("j", 21)
    inside = (j + d - 1 >= 0) & (j + d - 1 < 21)
    product = x[c, j + d - 1] * w[i, c, d] if weights == "right" else w[i, c, d] * x[c, j + d - 1]
    return te.graph("g", te.tensor("O", (i, j), te.sum((c, d), product, where=inside)))


BLOCKS = "tile tile=j:8,i:3 block=i:6,j:16,d:8"


@pytest.mark.parametrize("weights", ["left", "right"])
def test_a_sum_over_a_domain_is_packed_with_zeros_outside(weights: str) -> None:
    graph = padded(weights)
    plan = pack_plan(tuple(graph.outputs))
    assert plan is not None
    assert plan.products[0].finite
    run(graph, tuple(graph.outputs), BLOCKS, sample(graph))


def test_zeros_beside_what_is_not_finite_are_left_out() -> None:
    graph = padded()
    data = sample(graph)
    data["W"][2, 1, 0] = np.inf  # beyond the first column it counts for nothing
    run(graph, tuple(graph.outputs), BLOCKS, data)
    assert np.isfinite(te.interpret(graph, data)["O"][2, 0])


def test_a_domain_of_rows_and_columns_is_no_product_of_panels() -> None:
    a, b = te.input("A", (24, 24)), te.input("B", (24, 24))
    below = te.graph("g", te.tensor("O", (i, j), te.sum(k, a[i, k] * b[k, j], where=k <= i + j)))
    assert pack_plan(tuple(below.outputs)) is None
    greatest = te.graph("g", te.tensor("O", (i, j), te.max(k, a[i, k] * b[k, j], where=k <= i)))
    assert pack_plan(tuple(greatest.outputs)) is None
