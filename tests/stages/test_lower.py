"""Lowering: kernels mean what their tensors mean, and compute nothing for axes on which it does not depend."""

from __future__ import annotations

import numpy as np
import pytest

from tang_egg.affine import affine, index
from tang_egg.codegen.candidates import schedules
from tang_egg.codegen.kernel import Call, Kernel, Loop, expressions, statements, subexpressions
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import run_kernel
from tang_egg.codegen.legalize_register import to_registers
from tang_egg.codegen.legalize_vector import to_vectors
from tang_egg.codegen.lower import lower
from tang_egg.errors import CodegenError
from tang_egg.interpret import interpret
from tang_egg.ir import EVERYWHERE, Graph, Input, Read, Reduce, Tensor, apply
from tang_egg.monoid import SUM
from tang_egg.schedule import PLAIN, FoldPlan, Schedule, parse_schedule, print_schedule
from tests.compiled import product_graph, random_inputs, weighted_graphs


def meaning(kernel: Kernel, graph: Graph) -> np.ndarray:  # type: ignore[type-arg]
    """The output of a one-kernel graph under the interpreter of the kernel IR."""
    (tensor,) = graph.outputs
    data = random_inputs(graph)
    arrays = {n: a.reshape(-1) for n, a in data.items()}
    shape = tuple(n.value or 0 for n in tensor.shape)
    arrays[tensor.name] = np.full(int(np.prod(shape)), np.nan, np.float32)
    run_kernel(kernel, arrays, {})
    np.testing.assert_allclose(
        arrays[tensor.name].reshape(shape), interpret(graph, data)[tensor.name], rtol=1e-4, atol=1e-4
    )
    return arrays[tensor.name]


@pytest.mark.parametrize("layout", ["nn", "nt"])
@pytest.mark.parametrize(
    "schedule",
    [
        "point",
        "tile order=j,i tile=i:2,j:4 stage=B",
        "split tile=i:2,j:2 fold=k:lanes:4",
        "tile tile=i:3,j:* fold=k:stream:2",
    ],
)
def test_products_mean_the_same_under_every_schedule(layout: str, schedule: str) -> None:
    graph = product_graph(5, 6, 9, layout)
    kernel = lower("k", graph.outputs, parse_schedule(schedule))
    check_kernel(kernel)
    meaning(kernel, graph)


@pytest.mark.parametrize(
    "schedule", ["point", "stream tile=c:*,i:2 fold=j:stream:4 stage=K", "stream tile=c:*,i:4 fold=j:stream:8"]
)
def test_cascades_mean_the_same_under_every_schedule(schedule: str) -> None:
    graph, _ = weighted_graphs(1, 5, 9, 4, causal=True)
    meaning(lower("k", graph.outputs, parse_schedule(schedule)), graph)


def test_the_first_candidate_is_legal_at_every_stage() -> None:
    for graph in (product_graph(64, 64, 64), weighted_graphs(2, 32, 64, 32, causal=True, live=True)[0]):
        for schedule in schedules(graph.outputs, threads=2):
            kernel = lower("k", graph.outputs, schedule)
            for stage in (lambda k: k, to_vectors, to_registers):
                kernel = stage(kernel)
                check_kernel(kernel)
        assert schedules(graph.outputs, threads=2)[-1] == PLAIN


def calls_inside(kernel: Kernel, op: str) -> list[frozenset[str]]:
    """For each call of `op`, the loop variables around it, without digits and block suffixes."""
    found: list[frozenset[str]] = []

    def visit(body, around: frozenset[str]) -> None:  # type: ignore[no-untyped-def]
        for s in body:
            found.extend(
                around for e in expressions(s) for x in subexpressions(e) if isinstance(x, Call) and x.op == op
            )
            if isinstance(s, Loop):
                visit(s.body, around | {s.var.split("_")[0]})

    visit(kernel.body, frozenset())
    return found


def test_weights_are_computed_once_per_row_and_key_not_per_column() -> None:
    graph, _ = weighted_graphs(1, 16, 32, 8)
    kernel = lower("k", graph.outputs, parse_schedule("stream tile=c:*,i:4 fold=j:stream:8"))
    per_element = [around for around in calls_inside(kernel, "exp") if "j" in around]
    assert per_element and all("c" not in around for around in per_element if {"i", "j"} <= around)


def test_what_does_not_depend_on_a_loop_stands_outside_it() -> None:
    i, j = index("i", 8), index("j", 8)
    x, y = Input("x", (affine(8),)), Input("y", (affine(8), affine(8)))
    body = apply("mul", apply("exp", Read(x, (affine(i),))), Read(y, (affine(i), affine(j))))
    (around,) = calls_inside(lower("k", (Tensor("z", (i, j), body),), PLAIN), "exp")
    assert around == {"i"}


def test_folds_over_one_domain_share_one_loop() -> None:
    graph, _ = weighted_graphs(1, 8, 16, 8)
    kernel = lower("k", graph.outputs, parse_schedule("stream tile=c:*,i:4 fold=j:stream:8"))
    assert (
        len([s for s in statements(kernel.body) if isinstance(s, Loop) and s.var.split("_")[0] == "j" and s.step == 8])
        == 1
    )


def test_causal_domains_limit_the_loop() -> None:
    graph, _ = weighted_graphs(1, 8, 16, 8, causal=True)
    kernel = lower("k", graph.outputs, PLAIN)
    loops = [s for s in statements(kernel.body) if isinstance(s, Loop) and s.var.startswith("j")]
    assert loops and all("i" in str(s.stop) or "hi" in str(s.stop) for s in loops)


def test_schedules_are_read_back() -> None:
    schedule = Schedule(
        "stream",
        ("h", "i"),
        ("h",),
        (("i", 4), ("c", 0)),
        (("j", FoldPlan("stream", 64)), ("d", FoldPlan())),
        ("K",),
        chunk=8,
    )
    assert parse_schedule(print_schedule(schedule)) == schedule
    assert (
        print_schedule(schedule) == "stream order=h,i parallel=h tile=i:4,c:* fold=j:stream:64,d:serial stage=K chunk=8"
    )


@pytest.mark.parametrize("text", ["spiral", "point tile=i", "point fold=j:sideways", "point colour=red"])
def test_unreadable_schedules_name_the_part(text: str) -> None:
    with pytest.raises(CodegenError, match="cannot read"):
        parse_schedule(text)


def test_a_state_of_symbolic_size_is_refused() -> None:
    from tang_egg.affine import Dim, Index
    from tang_egg.ir import Scan

    t, s = index("t", 4), Index("s", affine(Dim("n")))
    x = Input("x", (affine(4), s.size))
    total = Reduce(SUM, (s,), EVERYWHERE, (Scan(SUM, t, (Read(x, (affine(t), affine(s))),)),))
    with pytest.raises(CodegenError, match="symbolic size"):
        lower("k", (Tensor("y", (t,), total),), PLAIN)
