"""A sweep of schedules: kernels of examples and of random graphs under random schedules, against the interpreter.

    python -m tests.sweep [--count N] [--seed S] [--only NAME]

Every kernel of an extracted program becomes a graph of its own, whose inputs are the tensors that it reads. It is
lowered under random schedules, checked at every stage, and run on data with infinities and dead rows of masks. A
schedule may be refused with a CodegenError; it may never give a wrong result. Many kernels share one library.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from unittest import mock

import numpy as np

from tang_egg import examples, notation
from tang_egg.affine import AffineLike, Dim
from tang_egg.codegen.candidates import schedules as candidates
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.legalize_register import to_registers
from tang_egg.codegen.legalize_vector import to_vectors
from tang_egg.codegen.lower import kernel_sources, lower
from tang_egg.errors import CodegenError, SelectionError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Input, Reduce, Scan, Tensor, walk
from tang_egg.pipeline import extract
from tang_egg.program import KernelPlan, Program
from tang_egg.run import NUMPY, compile_program
from tang_egg.schedule import FOLDS, PLAIN, FoldPlan, Schedule
from tang_egg.verify import dim_choices, relative_error, sample_inputs
from tang_egg.windows import replace_sources
from tests.compiled import weighted_graphs
from tests.strategies import random_instance

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17)
TILES = (1, 2, 3, 4, 4, 5, 8, 8, 16, 0, 0)
TOLERANCE = 3e-4
PLAIN_TOLERANCE = 2e-2
"""Largest error of the plain schedule: graphs that cancel; other schedules may be a few times worse than it."""

WIDTHS = ("transformer_block", "transformer_block_layernorm")
"""Examples whose sizes are multiples of one another."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel as a graph of its own, with arrays for its inputs and values for its dims."""

    name: str
    graph: Graph
    arrays: Mapping[str, Any]
    dims: Mapping[str, int]


@dataclass(slots=True)
class Found:
    """What a sweep saw: schedules run, refusals by message, and failures."""

    run: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def small_example(name: str, rng: Random) -> Graph:
    """An example with its sizes replaced by small ones."""
    if name in WIDTHS:
        width = rng.choice((4, 8, 12))
        sizes = {128: rng.choice(SIZES), 256: width, 512: 2 * width, 1024: 4 * width}
    else:
        sizes = {n: rng.choice(SIZES) for n in (64, 128, 256, 384, 512, 768, 1000, 1024, 4096)}
    plain = notation.input

    def scaled(label: str, shape: tuple[AffineLike, ...], *args: Any, **options: Any) -> notation.Array:
        return plain(label, tuple(sizes.get(n, n) if isinstance(n, int) else n for n in shape), *args, **options)

    heads = (1, rng.choice((1, 2)), sizes[256], sizes.get(64, 8))
    with mock.patch.object(notation, "input", scaled), mock.patch.object(examples, "_HEADS", heads):
        return examples.EXAMPLES[name]()


def subjects(name: str, program: Program, inputs: Mapping[str, Any], dims: Mapping[str, int]) -> Iterator[Subject]:
    """The kernels of a program, each reading the values that the interpreter gives to what it reads."""
    outputs = program.tensors
    watched = Graph(program.graph.name, program.graph.inputs, outputs)
    values = {**inputs, **interpret(watched, inputs, dims, checked=False)} if outputs else dict(inputs)
    for plan in program.kernels:
        read = kernel_sources(plan.outputs)[: -len(plan.outputs)]
        stand = {s: Input(s.name, s.shape, s.dtype) for s in read}
        tensors = tuple(
            Tensor(t.name, t.axes, replace_sources(t.body, stand.__getitem__), t.dtype) for t in plan.outputs
        )
        arrays = {s.name: np.asarray(values[s.name]).astype(NUMPY[s.dtype]) for s in read if s.dtype != "bf16"}
        arrays |= {s.name: np.asarray(values[s.name], np.float32) for s in read if s.dtype == "bf16"}
        graph = Graph(plan.name, tuple(stand.values()), tensors)
        yield Subject(f"{name}/{plan.name}", graph, arrays, {d.name: dims[d.name] for d in graph.dims()})


def example_subjects(name: str, rng: Random) -> Iterator[Subject]:
    """The kernels of an example of small sizes; masks have dead rows, additive ones rows of -inf."""
    graph = small_example(name, rng)
    dims = rng.choice(dim_choices(graph))
    inputs = sample_inputs(graph, dims, edge=rng.random() < 0.7, seed=rng.randrange(1 << 16))
    if "bias" in inputs:
        inputs["bias"][np.random.default_rng(rng.randrange(1 << 16)).random(inputs["bias"].shape) < 0.5] = -np.inf
    yield from subjects(name, extract(graph).program, inputs, dims)


def random_subjects(seed: int) -> Iterator[Subject]:
    """The kernels of a random graph."""
    made = random_instance(seed, edges=seed % 3 == 0, sizes=SIZES if seed % 2 else (0, 1, 2, 3, 5, 8, 9, 13))
    try:
        program = extract(made.graph).program
    except SelectionError:
        program = Program(made.graph, tuple(KernelPlan(t.name, (t,)) for t in made.graph.outputs))
    yield from subjects(f"random{seed}", program, made.inputs, made.dims)


def cascade_subjects(rng: Random) -> Iterator[Subject]:
    """A handwritten cascade with all kinds of masks."""
    flags = {f: rng.random() < 0.5 for f in ("causal", "live", "bias")}
    graph, _ = weighted_graphs(*(rng.choice(SIZES) for _ in range(4)), **flags)
    inputs = sample_inputs(graph, {}, edge=True, seed=rng.randrange(1 << 16))
    if "bias" in inputs:
        inputs["bias"][:, : inputs["bias"].shape[1] // 2] = -np.inf
        inputs["bias"][:1] = -np.inf
    yield Subject("cascade", graph, inputs, {})


def random_schedule(graph: Graph, rng: Random) -> Schedule:
    """A schedule with random tiles, folds, order, threads, staged inputs and chunks."""
    nodes = list(walk(*(t.body for t in graph.outputs)))
    own = list(dict.fromkeys(i.name for t in graph.outputs for i in t.axes))
    folded = list(dict.fromkeys(i.name for s in nodes if isinstance(s, Reduce) for i in s.indices))
    order = rng.sample(own, len(own)) if rng.random() < 0.5 else []
    tile = [(i, rng.choice(TILES)) for i in own if rng.random() < 0.7]
    tile += [(i, 0) for i in folded if i not in own and rng.random() < 0.1]
    fold = [(j, FoldPlan(rng.choice(FOLDS), rng.choice((2, 3, 4, 5, 8, 8, 16)))) for j in folded if rng.random() < 0.7]
    stage = tuple(i.name for i in graph.inputs if rng.random() < 0.3)
    parallel = (rng.choice(own),) if own and rng.random() < 0.3 else ()
    chunk = rng.choice((0, 1, 2, 3, 8)) if any(isinstance(s, Scan) for s in nodes) else 0
    accumulate = "f64" if rng.random() < 0.1 else ""
    return Schedule(
        "point", tuple(order), parallel, tuple(tile), tuple(fold), stage, chunk=chunk, accumulate=accumulate
    )


def legal(subject: Subject, schedule: Schedule, found: Found) -> bool:
    """Whether a schedule lowers; a refusal is counted, anything but a CodegenError is a failure."""
    try:
        kernel = lower("k", subject.graph.outputs, schedule)
    except CodegenError as refusal:
        found.refused[str(refusal).splitlines()[0]] += 1
        return False
    except Exception as error:  # a crash is what this looks for
        found.failures.append(f"{subject.name}: {type(error).__name__} {error}\n    {schedule}")
        return False
    for stage in (None, to_vectors, to_registers):
        try:
            kernel = stage(kernel) if stage is not None else kernel
            check_kernel(kernel)
        except Exception as error:
            found.failures.append(f"{subject.name}: the kernel is not well formed: {error}\n    {schedule}")
            return False
    return True


def run_batch(batch: list[tuple[Subject, list[Schedule]]], found: Found) -> None:
    """Compiles kernels under their schedules into one library, runs them, and compares."""
    inputs: dict[str, Any] = {}
    kernels: list[KernelPlan] = []
    chosen: dict[str, Schedule] = {}
    graph_inputs: list[Input] = []
    known: dict[str, tuple[Dim, int]] = {}
    for n, (subject, plans) in enumerate(batch):
        bound = subject.graph
        if any(known.get(d.name, (d, subject.dims[d.name])) != (d, subject.dims[d.name]) for d in bound.dims()):
            bound = bound.bind(**subject.dims)  # another kernel of this batch gives that name another value
        known |= {d.name: (d, subject.dims[d.name]) for d in bound.dims()}
        stand = {i: Input(f"{n}.{i.name}", i.shape, i.dtype) for i in bound.inputs}
        graph_inputs += stand.values()
        inputs |= {f"{n}.{k}": v for k, v in subject.arrays.items()}
        for p, schedule in enumerate(plans):
            tensors = tuple(
                Tensor(f"{n}.{p}.{t.name}", t.axes, replace_sources(t.body, stand.__getitem__), t.dtype)
                for t in bound.outputs
            )
            kernels.append(KernelPlan(f"{n}.{p}", tensors))
            names = {i.name: stand[i].name for i in bound.inputs}
            chosen[f"{n}.{p}"] = _renamed(schedule, names)
    graph = Graph("sweep", tuple(graph_inputs), tuple(t for k in kernels for t in k.outputs))
    got = compile_program(Program(graph, tuple(kernels)), chosen)(inputs, {n: v for n, (_, v) in known.items()})
    for n, (subject, plans) in enumerate(batch):
        _compare(n, subject, plans, got, found)


def _renamed(schedule: Schedule, names: Mapping[str, str]) -> Schedule:
    return replace(schedule, stage=tuple(names[s] for s in schedule.stage if s in names))


def _compare(n: int, subject: Subject, plans: list[Schedule], got: Mapping[str, Any], found: Found) -> None:
    expected = interpret(subject.graph, subject.arrays, subject.dims, checked=False)
    for t in subject.graph.outputs:
        limit = 0.0
        for p, schedule in enumerate(plans):
            value = got[f"{n}.{p}.{t.name}"]
            if t.dtype == "bf16":
                value = (value.astype(np.uint32) << 16).view(np.float32)
            error = relative_error(value, expected[t.name])
            if p == 0:
                limit = max({"f16": 5e-3, "bf16": 4e-2}.get(t.dtype, TOLERANCE), 8 * error)
                limit = min(limit, PLAIN_TOLERANCE) if t.dtype not in ("f16", "bf16") else limit
            found.run += 1
            if not error <= limit:
                shown = subject.graph if len(str(subject.graph)) < 3000 else subject.graph.name
                found.failures.append(f"{subject.name}, tensor {t.name}: error {error:.3g}\n    {schedule}\n{shown}")


def pick(seed: int, n: int) -> Iterator[Subject]:
    """The n-th subjects of a sweep."""
    rng = Random(f"{seed}/{n}")
    if n % 3 == 0:
        names = list(examples.EXAMPLES)
        yield from example_subjects(names[(n // 3 + seed) % len(names)], rng)
    elif n % 3 == 1:
        yield from random_subjects(seed * 100003 + n)
    else:
        yield from cascade_subjects(rng)


def sweep(count: int, seed: int, each: int = 6, batch: int = 40, only: str = "", shown: bool = False) -> Found:
    """Sweeps `count` programs, `each` schedules for every kernel besides the plain one and the candidates."""
    found = Found()
    waiting: list[tuple[Subject, list[Schedule]]] = []
    for n in range(count):
        for subject in pick(seed, n):
            if only and only not in subject.name:
                continue
            rng = Random(f"{seed}/{n}/{subject.name}")
            tried = [PLAIN, candidates(subject.graph.outputs, threads=2)[0]]
            tried += [random_schedule(subject.graph, rng) for _ in range(each)]
            plans = [s for s in dict.fromkeys(tried) if legal(subject, s, found)]
            if plans[:1] == [PLAIN]:
                waiting.append((subject, plans))
        if sum(len(p) for _, p in waiting) >= batch or n == count - 1:
            if waiting:
                run_batch(waiting, found)
            waiting = []
            if shown:
                print(f"{n + 1} programs, {found.run} kernels run, {sum(found.refused.values())} schedules refused, "
                      f"{len(found.failures)} failures", flush=True)  # fmt: skip
                for failure in found.failures[-3:]:
                    print(failure[:600], flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="programs to sweep")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=6, help="random schedules for each kernel")
    parser.add_argument("--only", default="", help="only kernels whose name contains this")
    options = parser.parse_args()
    os.environ.setdefault("TANG_CFLAGS", "-O1")
    found = sweep(options.count, options.seed, options.each, only=options.only, shown=True)
    for message, times in found.refused.most_common():
        print(f"refused {times}×: {message}")
    print("\n".join(found.failures) or "no mismatch")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
