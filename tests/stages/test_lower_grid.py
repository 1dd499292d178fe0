"""Kernels of a grid: every kernel lowers under every candidate, and means what its tensors mean."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tang_egg.codegen import candidates_grid, candidates_rows
from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.dialects import cuda
from tang_egg.codegen.kernel import Call, Kernel, Loop, expressions, statements, subexpressions
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.kernel_run import held, run_kernel
from tang_egg.codegen.lower import kernel_sources
from tang_egg.codegen.lower_grid import lower_grid
from tang_egg.errors import CodegenError
from tang_egg.examples import EXAMPLES
from tang_egg.interpret import interpret
from tang_egg.pipeline import extract
from tang_egg.verify_compare import relative_error
from tests import sweep
from tests.cuda_compile import compiled
from tests.sweep import Subject, cascade_subjects, example_subjects, random_subjects
from tests.warps import run_warps

SIZES = (1, 2, 5)
LIMITS = {"f16": 5e-3, "bf16": 4e-2}


def lowered(subject: Subject, prefix: str = "k") -> list[Kernel]:
    """The kernel under every candidate; a state of symbolic size is refused by all of them."""
    found = []
    for n, schedule in enumerate(grid_schedules(subject.graph.outputs)):
        try:
            kernel = lower_grid(f"{prefix}{n}", subject.graph.outputs, schedule)
        except CodegenError as refusal:
            assert "symbolic size" in str(refusal)
            continue
        check_kernel(kernel)
        found.append(kernel)
    return found


def check(subject: Subject) -> None:
    """Every candidate gives what the interpreter gives."""
    expected = interpret(subject.graph, subject.arrays, subject.dims, checked=False)
    for kernel in lowered(subject):
        arrays = {
            b.name: np.ascontiguousarray(subject.arrays[i.name]).reshape(-1).astype(held(b))
            for b, i in zip(kernel.buffers, kernel_sources(subject.graph.outputs), strict=True)
            if i.name in subject.arrays
        }
        for b, t in zip(kernel.buffers[-len(subject.graph.outputs) :], subject.graph.outputs, strict=True):
            size = b.size.evaluate(dict(subject.dims))
            arrays[b.name] = np.full(size, np.nan if held(b)(0.5) else 77).astype(held(b))
            assert b.role == "output" and t.dtype == b.type
        if any(isinstance(s, Loop) and s.kind == "grid" for s in kernel.body):
            run_kernel(kernel, arrays, subject.dims)
        else:
            run_warps(kernel, arrays, subject.dims)
        for b, t in zip(kernel.buffers[-len(subject.graph.outputs) :], subject.graph.outputs, strict=True):
            want = np.asarray(expected[t.name])
            got = arrays[b.name].reshape(want.shape)
            error = relative_error(got, want)
            assert error <= LIMITS.get(t.dtype, 1e-3), f"{subject.name}.{t.name}: {error:.3g} under {kernel.note[-1]}"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warps share folds of two points already, and register tiles need few threads, so that small sizes try both."""
    for module in (candidates_grid, candidates_rows):
        monkeypatch.setattr(module, "LONG", 2)
    monkeypatch.setattr(candidates_grid, "MANY", 1)
    monkeypatch.setattr(sweep, "SIZES", SIZES)


BLOCKS = ("transformer_block", "transformer_block_layernorm")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.nightly) if n in BLOCKS else n for n in EXAMPLES])
def test_every_candidate_of_every_example_means_what_its_tensors_mean(name: str) -> None:
    for subject in example_subjects(name, Random(name)):
        check(subject)


@pytest.mark.parametrize("name", ["softmax_masked", "argmax", "variance"])
def test_rows_longer_than_a_warp(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "SIZES", (33,))
    for subject in example_subjects(name, Random(name)):
        check(subject)


@pytest.mark.parametrize("seed", range(12))
def test_kernels_of_random_graphs(seed: int) -> None:
    for subject in random_subjects(seed):
        check(subject)


@pytest.mark.parametrize("seed", range(3))
def test_cascades_under_masks(seed: int) -> None:
    for subject in cascade_subjects(Random(seed)):
        check(subject)


def exchanges(kernel: Kernel) -> int:
    found = (x for s in statements(kernel.body) for e in expressions(s) for x in subexpressions(e))
    return sum(isinstance(x, Call) and x.op == "shuffle_xor" for x in found)


def test_folds_of_rows_are_shared_by_warps_and_read_side_by_side() -> None:
    (plan,) = extract(EXAMPLES["softmax"]()).program.kernels
    first, *_ = grid_schedules(plan.outputs)
    kernel = lower_grid("k", plan.outputs, first)
    assert exchanges(kernel) == 2 * 5, "two components, five exchanges each"
    strides = [s.step for s in statements(kernel.body) if isinstance(s, Loop)]
    assert strides and set(strides) == {32}


@pytest.mark.parametrize("names", [("softmax", "argmax", "variance"), ("attention_symbolic", "gated_recurrence")])
def test_printed_kernels_compile(names: tuple[str, ...]) -> None:
    kernels: list[Kernel] = []
    for name in names:
        for plan in extract(EXAMPLES[name]()).program.kernels:
            for n, schedule in enumerate(grid_schedules(plan.outputs)):
                kernels.append(lower_grid(f"{name}_{plan.name}_{n}", plan.outputs, schedule))
    compiled(cuda.source(*kernels))
