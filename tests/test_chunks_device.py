"""Linear attention and SSD in chunks on a GPU: which kernels there are, and what they compute in the NumPy meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
import pytest

from bench import cuda_graphs
from tang_egg import notation as te
from tang_egg.affine import Index, affine
from tang_egg.codegen.device_run import run_device
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import run_kernel
from tang_egg.codegen.lower import kernel_sources
from tang_egg.codegen.lower_device import lower_device
from tang_egg.codegen.mma_carried import Beside, taken_up
from tang_egg.codegen.mma_operand import Refused
from tang_egg.codegen.mma_plan import plan
from tang_egg.codegen.pack_plan import replaced
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Input, Position, Read, Scalar, Tensor, Test, apply, const, walk
from tang_egg.pipeline import choose_schedules, extract_for
from tang_egg.program import KernelPlan, Program
from tang_egg.run_layout import same_memory
from tang_egg.saturate import Limits
from tang_egg.verify import sample_inputs
from tests.test_lower_mma import error

CHUNK, WIDE = 64, 64
GRAPHS = {"linear_attention": cuda_graphs.linear_attention, "ssd": cuda_graphs.ssd}
CLOSE = 6e-3
"""Largest ‖error‖ / ‖reference‖: states, weights and results are rounded to bf16."""


@cache
def made(name: str, n: int, chunk: int = CHUNK, heads: int = 1) -> tuple[Graph, Program]:
    g = GRAPHS[name](1, heads, n, WIDE)
    return g, extract_for("cuda", g, Limits(), None, "exact", {"K:2": chunk}).program


def arrays_of(g: Graph) -> dict[str, Any]:
    found = sample_inputs(g, {}, edge=False)
    return {x: -np.abs(a) / 16 if x == "g" else a for x, a in found.items()}


def computed(program: Program, arrays: dict[str, Any], order: str = "random") -> dict[str, Any]:
    """The outputs of a program whose kernels run one after the other in NumPy; what they write starts as NaN."""
    chosen = choose_schedules(program, "cuda")
    warps = [n for n, s in chosen.items() if s.shape in ("warp", "scan", "split")]
    chosen = choose_schedules(program, "cuda", dict.fromkeys(warps, "point"))
    memory = {i.name: np.array(arrays[i.name]).reshape(-1) for i in program.graph.inputs}
    for k in program.kernels:
        kernel = lower_device(k.name, k.outputs, chosen[k.name])
        check_kernel(kernel)
        memory |= {t.name: np.full(prod(n.value or 0 for n in t.shape), np.nan, np.float32) for t in k.outputs}
        given = {b.name: memory[s.name] for b, s in zip(kernel.buffers, kernel_sources(k.outputs), strict=True)}
        if kernel.launch is not None and kernel.launch.signals:
            run_device(kernel, given, {}, blocks=3, order=order)
        else:
            run_kernel(kernel, given, {})
    return {t.name: memory[t.name].reshape([n.value for n in t.shape]) for t in program.graph.outputs}


@pytest.mark.parametrize(
    ("name", "n"), [("linear_attention", n) for n in (1, 63, 64, 65, 131, 192)] + [("ssd", n) for n in (65, 192)]
)
def test_values(name: str, n: int) -> None:
    g, program = made(name, n)
    arrays = arrays_of(g)
    assert error(computed(program, arrays)["O"], interpret(g, arrays)["O"]) < CLOSE


@pytest.mark.parametrize("order", ["early", "late"])
def test_values_of_several_tiles_of_rows_in_a_chunk(order: str) -> None:
    g, program = made("ssd", 640, 320, 2)
    arrays = arrays_of(g)
    assert error(computed(program, arrays, order)["O"], interpret(g, arrays)["O"]) < CLOSE


@pytest.mark.parametrize("name", GRAPHS)
def test_all_products_are_on_matrix_units_and_the_result_is_written_once(name: str) -> None:
    _, program = made(name, 8192, 256, 16)
    chosen = choose_schedules(program, "cuda")
    sums = ["total"] if name == "ssd" else []
    assert [k.name for k in program.kernels] == [*sums, "O_added", "O_state", "O_chunks", "O"]
    assert [n for n, s in chosen.items() if s.shape == "mma"] == ["O_added", "O_chunks"]
    tensors = {t.name: t for t in program.tensors}
    assert plan((tensors["O_chunks"],)).carried is not None
    assert same_memory(program) == {tensors["O_chunks"]: tensors["O"]}
    kinds = {n: (t.dtype, tuple(k.value for k in t.shape)) for n, t in tensors.items()}
    assert kinds["O_added"] == ("f32", (1, 16, 31, WIDE, WIDE))
    assert kinds["O_state"] == ("bf16", (1, 16, 31, WIDE, WIDE))
    assert kinds["O_chunks"] == ("bf16", (1, 16, 32, 256, WIDE))


def test_a_last_chunk_that_is_not_full_is_copied() -> None:
    _, program = made("linear_attention", 131)
    assert same_memory(program) == {}


@cache
def beside() -> tuple[Tensor, ...]:
    """A kernel that computes what is left of linear attention once there are states."""
    _, program = made("ssd", 192)
    (kernel,) = [k for k in program.kernels if k.name == "O_chunks"]
    return kernel.outputs


def changed(by: Callable[[Beside], Scalar]) -> tuple[Tensor, ...]:
    """That kernel with another term beside the fold."""
    (t,) = beside()
    _, found = taken_up((t,))
    assert found is not None
    return (replace(t, body=replaced(t.body, {found.term: by(found)})),)


def _with_node(b: Beside, node: Scalar) -> Scalar:
    return replaced(b.term, {b.node: node})


def _of_other_rows(b: Beside) -> Scalar:
    reads = [s for s in walk(b.node) if isinstance(s, Read) and s.source.name == "Q"]
    other = {r: Read(Input("R", r.source.shape, r.source.dtype), r.coordinates) for r in reads}
    return _with_node(b, replaced(b.node, other))


def _by_columns(b: Beside) -> Scalar:
    column = beside()[0].axes[-1]
    return _with_node(b, apply("mul", b.node, apply("cast:real", Position(affine(column)))))


def _later(b: Beside) -> Scalar:
    (condition,) = b.conditions
    return apply(
        "select", Test(condition.substitute({i: affine(i) - 1 for i in condition.indices()})), *b.term.args[1:]
    )  # type: ignore[attr-defined]


REFUSED: dict[str, Callable[[Beside], Scalar]] = {
    "of other rows than those inside": _of_other_rows,
    "a factor that changes along its columns": _by_columns,
    "a condition that its copies do not follow": _later,
    "whose operand may end before it does": lambda b: b.term.args[1],  # type: ignore[attr-defined]
    "2 folds side by side": lambda b: apply("exp", b.term),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_taken_up_says_why(reason: str) -> None:
    assert plan(beside()).carried is not None
    with pytest.raises(Refused, match=reason):
        plan(changed(REFUSED[reason]))


def test_an_output_in_another_shape_is_found_by_its_coordinates() -> None:
    """Only whole axes in order, each as it is or parted evenly, are the same memory."""
    u, a, c, t = (Index(n, affine(s)) for n, s in (("u", 3), ("a", 4), ("c", 5), ("t", 12)))
    x = te.input("X", (3, 4, 5))
    stored = Tensor("stored", (u, a, c), apply("neg", x[u, a, c].scalar), "f32")

    def same(parted: int, order: tuple[int, ...] = (0, 1, 2), dtype: str = "f32") -> bool:
        at = Position(affine(t)), const(parted, "i64")
        places = (apply("idiv", *at), apply("imod", *at), affine(c))
        o = Tensor("O", (t, c), Read(stored, tuple(places[n] for n in order)), dtype)
        g = Graph("g", (), (o,))
        return bool(same_memory(Program(g, (KernelPlan("stored", (stored,)), KernelPlan("O", (o,))))))

    assert same(4)
    assert not same(3) and not same(4, (1, 0, 2)) and not same(4, dtype="bf16")
