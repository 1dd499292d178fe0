"""Random graphs on targets under random legal schedules, every kernel against its own meaning (tang_egg.verify_kernel).

    attempt(instance, "wgsl", Random(seed))     what is wrong, with the schedules; nothing where all is right
    shrunk(failure)                             the same failure of a smaller graph
    written(failure, folder) / replayed(file)   as FILE.tang, FILE.npz, FILE.json, and from them

CUDA runs whole programs on a GPU and compares their outputs (tang_egg.verify). Without a GPU its kernels are compiled
only, by nvcc or NVRTC, and counted apart: what was compiled was not verified.

A refusal (a schedule that does not lower, a type that a language lacks) is no failure; a source that does not compile,
a crash of the compiler and an unexpected exception are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tang_egg.codegen.candidates_grid import grid_schedules
from tang_egg.codegen.kernel_check import check_kernel
from tang_egg.codegen.lower import lower
from tang_egg.errors import CodegenError, SaturationError, SelectionError, TangError, TargetError
from tang_egg.interpret import interpret
from tang_egg.ir import Apply, Graph, Input, Read, Scalar, Source, Tensor, children, sources, tensors_of, type_of, walk
from tang_egg.pipeline import extract_for
from tang_egg.program import Program
from tang_egg.run_cuda import compile_cuda, cuda_kernels, cuda_sources
from tang_egg.saturate import Limits
from tang_egg.schedule import PLAIN, Schedule, parse_schedule
from tang_egg.targets import Wish, target
from tang_egg.text import parse_graph, print_graph
from tang_egg.verify import rounding
from tang_egg.verify_compare import excess, told, values_of
from tang_egg.verify_kernel import Case, run_case
from tang_egg.verify_step import steps_of
from tang_egg.windows import replace_sources
from tests import cuda_compile
from tests.strategies import Instance
from tests.sweep import random_schedule

BRIEF = Limits(seconds=5.0)
TRIES = 60
"""Smaller graphs that are tried."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A graph that fails on a target; `kind` and `said` of the first finding or error."""

    instance: Instance
    target: str
    schedules: dict[str, str]
    kind: str
    said: str


@dataclass(slots=True)
class Tally:
    """What became of attempts: kernels run, kernels that were compiled and not run, refusals by message."""

    kernels: int = 0
    compiled: int = 0
    refused: dict[str, int] = field(default_factory=dict)


@cache
def opened(name: str) -> Any:
    """The device of a target."""
    return target(name).open()


def schedules_for(program: Program, name: str, rng: Random, *, exact: bool = False) -> dict[str, Schedule]:
    """A legal schedule for every kernel: a random one, or one of the target's own."""
    return {k.name: _schedule(k.outputs, name, rng, exact) for k in program.kernels}


def _schedule(outputs: tuple[Tensor, ...], name: str, rng: Random, exact: bool) -> Schedule:
    own = target(name).schedules(outputs, Wish(exact)) if name in ("c", "cuda") else grid_schedules(outputs)
    if name == "cuda":
        own = (*own, *grid_schedules(outputs, wide=True))
    if name != "c" or rng.random() < 0.4:
        return rng.choice(own)
    read = dict.fromkeys(s for t in outputs for s in sources(t.body))
    graph = Graph("kernel", tuple(s for s in read if isinstance(s, Input)), outputs)
    for _ in range(4):
        made = random_schedule(graph, rng)
        try:
            check_kernel(lower("k", outputs, made))
            return made
        except CodegenError:
            continue
    return own[0] if own else PLAIN


def attempt(
    instance: Instance, name: str, rng: Random, tally: Tally, *, edges: bool = False,
    schedules: Mapping[str, str] | None = None,
) -> Failure | None:  # fmt: skip
    """What is wrong with one graph on one target, or nothing."""
    chosen: dict[str, Schedule] = {}

    def failure(kind: str, said: str) -> Failure:
        return Failure(instance, name, {k: str(s) for k, s in chosen.items()}, kind, said)

    try:
        limits = replace(BRIEF, values="ieee" if edges else "finite")
        program = extract_for(name, instance.graph, limits).program
        chosen |= schedules_for(program, name, rng, exact=edges)
        for kernel in program.kernels:
            if schedules and kernel.name in schedules:
                chosen[kernel.name] = parse_schedule(schedules[kernel.name])
        if name == "cuda":
            return _on_cuda(instance, program, chosen, tally, failure)
        steps = steps_of(program, chosen, name, opened(name))
        case = Case(instance.dims, "normal")
        checked = run_case(steps, instance.graph, case, chosen, name, given=instance.inputs)
    except (CodegenError, SelectionError, SaturationError, TargetError) as error:
        if "compile" in error.what:
            return failure("compile", f"{error.what} ({error.where})")
        message = f"{name}: {type(error).__name__}: {error.what}"[:90]
        tally.refused[message] = tally.refused.get(message, 0) + 1
        return None
    except TangError as error:
        return failure("error", f"{type(error).__name__}: {error.what}")
    except Exception as error:  # what a fuzzer looks for
        return failure("exception", f"{type(error).__name__}: {str(error).splitlines()[:1]}")
    tally.kernels += checked.kernels
    if not checked.findings:
        return None
    first = checked.findings[0]
    return failure(first.kind, str(first))


def cuda_device() -> Any:
    """The GPU, or nothing where there is none."""
    try:
        return opened("cuda")
    except TargetError:
        return None


def _on_cuda(
    instance: Instance, program: Program, chosen: Mapping[str, Schedule], tally: Tally,
    failure: Callable[[str, str], Failure],
) -> Failure | None:  # fmt: skip
    """One program on a GPU, its outputs compared with the interpreter's; without one its kernels are compiled only."""
    device = cuda_device()
    if device is None:
        if cuda_compile.compiler() is None:
            raise TargetError("there is neither a GPU nor nvcc nor NVRTC", where="cuda", mend=cuda_compile.MISSING)
        kernels = cuda_sources(cuda_kernels(program, chosen))
        try:
            for text in kernels.values():
                cuda_compile.started(text).result()
        except cuda_compile.Refused as error:
            return failure("compile", str(error)[:300])
        tally.compiled += len(kernels)
        return None
    runner = compile_cuda(program, chosen, on=device)
    got = runner(instance.inputs, instance.dims)
    want = interpret(instance.graph, instance.inputs, instance.dims, checked=False)
    tally.kernels += len(program.kernels)
    for t in instance.graph.outputs:
        values = values_of(np.asarray(got[t.name]), t.dtype)
        if excess(values, want[t.name], t.dtype) <= 1.0:
            continue
        if not rounding(instance.graph, t, instance.inputs, instance.dims, values, t.dtype):
            return failure("wrong", f"output '{t.name}' of cuda is wrong {told(values, want[t.name], t.dtype)}")
    return None


# ---- smaller ones ----


def shrunk(f: Failure, tally: Tally, tries: int = TRIES) -> Failure:
    """A failure of the same kind with a smaller graph: the first smaller graph that fails is taken, again and again."""
    progress = True
    while progress and tries > 0:
        progress = False
        for smaller in smaller_instances(f.instance):
            tries -= 1
            if tries < 0:
                break
            again = attempt(smaller, f.target, Random(0), tally, schedules=f.schedules)
            if again is not None and again.kind == f.kind:
                f, progress = again, True
                break
    return f


def smaller_instances(x: Instance) -> Iterator[Instance]:
    """Graphs with fewer outputs, with a tensor given as an input, or with an operand in place of an operation."""
    outputs = x.graph.outputs
    if len(outputs) > 1:
        for t in outputs:
            yield _with(x, (t,), {})
    order = tensors_of(outputs)
    inner = [t for t in order if t not in outputs and t.dtype != "bf16"]
    if inner:
        values = interpret(Graph("inner", x.graph.inputs, tuple(inner)), x.inputs, x.dims, checked=False)
        for t in reversed(inner):
            given = Input(f"{t.name}_given", t.shape, t.dtype)
            yield _with(x, _replaced(outputs, {t: given}), {given.name: _stored(values[t.name], t.dtype)})
    for t in order:
        for s in walk(t.body):
            if not isinstance(s, Apply):
                continue
            for child in children(s):
                if isinstance(child, Scalar) and type_of(child) == type_of(s):
                    body = _swap(t.body, s, child)
                    if body is not t.body:
                        changed = Tensor(t.name, t.axes, body, t.dtype, t.into)
                        yield _with(x, _replaced(outputs, {t: changed}), {})


def _stored(a: Any, dtype: str) -> Any:
    return np.asarray(a).astype({"f16": np.float16, "f64": np.float64, "f32": np.float32}.get(dtype, a.dtype))


def _swap(root: Scalar, old: Scalar, new: Scalar) -> Scalar:
    from tang_egg.ir import map_children

    made: dict[Scalar, Scalar] = {}
    for s in walk(root):
        made[s] = new if s == old else map_children(s, lambda c: made.get(c, c))
    return made[root]


def _replaced(outputs: tuple[Tensor, ...], first: Mapping[Source, Source]) -> tuple[Tensor, ...]:
    made: dict[Source, Source] = dict(first)
    for t in tensors_of(outputs):
        if t not in made:
            body = replace_sources(t.body, lambda s: made.get(s, s))
            made[t] = t if body is t.body else Tensor(t.name, t.axes, body, t.dtype, t.into)
    return tuple(m for t in outputs if isinstance(m := made[t], Tensor))


def _with(x: Instance, outputs: tuple[Tensor, ...], more: Mapping[str, Any]) -> Instance:
    arrays = {**x.inputs, **more}
    reads = (s for t in tensors_of(outputs) for s in walk(t.body) if isinstance(s, Read))
    used = tuple(i for i in dict.fromkeys(s.source for s in reads) if isinstance(i, Input))
    graph = Graph("random", used, outputs)
    needed = {d.name for d in graph.dims()}
    dims = {k: v for k, v in x.dims.items() if k in needed}
    return Instance(graph, {i.name: arrays[i.name] for i in used}, dims, {t.name: 1e-3 for t in outputs})


# ---- files ----


def written(f: Failure, folder: Path, name: str) -> Path:
    """Writes the graph, its arrays, and target, schedules and sizes; gives the path of the graph."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.tang"
    path.write_text(print_graph(f.instance.graph), encoding="utf-8")
    np.savez(path.with_suffix(".npz"), **f.instance.inputs)
    facts = {"target": f.target, "schedules": f.schedules, "dims": f.instance.dims, "said": f.said}
    path.with_suffix(".json").write_text(json.dumps(facts, indent=1))
    return path


def replayed(path: Path) -> Failure | None:
    """What is wrong with a graph that was written, or nothing."""
    facts = json.loads(path.with_suffix(".json").read_text())
    with np.load(path.with_suffix(".npz")) as arrays:
        inputs = {k: arrays[k] for k in arrays}
    graph = parse_graph(path.read_text(encoding="utf-8"))
    instance = Instance(graph, inputs, facts["dims"], {})
    return attempt(instance, facts["target"], Random(0), Tally(), schedules=facts["schedules"])
