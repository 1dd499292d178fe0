"""Verification: a compiled program against the float64 interpreter, before anybody uses it.

Two sets of inputs: standard normal values, and edge values (zeros, negative zeros, values of size 10, masks with dead
rows, first and last rows of gathered tables). Symbolic dims are tried at their smallest value, at a prime and beyond a
tile. Outputs hold NaN (or another odd pattern) before a run. Errors are measured against the largest finite value of
the reference; where the reference is infinite or NaN the kernel must be so too. What is too large for the interpreter
is compared at samples (verify_sample), and every element must have been written. On failure every kernel is compared
in turn, over what it read on the device, and the first wrong one is named.

`tang_egg.verify(graph, ...)` does more, on memory with bands and kernel by kernel: see verify_graph.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg.errors import VerificationError
from tang_egg.interpret import interpret
from tang_egg.interpret_precision import arithmetic
from tang_egg.interpret_shaken import CANCEL, ORDERS, shaken
from tang_egg.ir import Graph, Input, Source, Tensor, sources, tensors_of
from tang_egg.ops import FLOATS
from tang_egg.ops_eight import EIGHT
from tang_egg.precision import Plan
from tang_egg.program import KernelPlan, Program
from tang_egg.progress import note
from tang_egg.run import CompiledProgram, compile_program
from tang_egg.run_arrays import NUMPY
from tang_egg.run_cuda import CudaProgram, compile_cuda
from tang_egg.run_grid import GridProgram
from tang_egg.schedule import Schedule
from tang_egg.verify_alone import alone
from tang_egg.verify_compare import excess, explained, relative_error, told, values_of
from tang_egg.verify_inputs import dim_choices as dim_choices
from tang_egg.verify_inputs import sample_inputs as sample_inputs
from tang_egg.verify_sample import BUDGET, Samples, holds_fill, pick, unwritten, work
from tang_egg.windows import replace_sources

Array = npt.NDArray[Any]
Runner: TypeAlias = "CompiledProgram | CudaProgram | GridProgram | Callable[..., Any]"

NUDGE, NUDGE_OF_DOUBLE, NUDGES, ROUNDS = 2.0**-19, 2.0**-47, 8, 4
"""The relative changes that stand for the rounding of sums, how often they are tried, and how many times as often those
of operations are."""
NUDGE_OF_HALF = {"bf16": 2.0**-9, "f16": 2.0**-12, "f8e4m3": 2.0**-5, "f8e5m2": 2.0**-4}
"""Those of tensors that are stored in 16 or 8 bits."""

FULL = 3e9
"""Values that the interpreter computes for a whole graph, at most; beyond that samples are compared."""
FILLS = (0xFF, 0x5A)
"""Bytes that results hold before a run, and before a second one where an element still holds the first."""


@dataclass(slots=True)
class Verification:
    """Runs made and the largest relative error of each output over all of them.

    `samples`: rows or points that were compared where results are too large to be compared whole. `derived`: whether
    all was compared with the graph; else some kernels only with what they mean themselves.
    """

    runs: int = 0
    errors: dict[str, float] = field(default_factory=dict)
    samples: int = 0
    derived: bool = True

    @property
    def worst(self) -> float:
        """The largest relative error of all outputs."""
        return max(self.errors.values(), default=0.0)

    def note(self, name: str, error: float) -> None:
        """Keeps the largest error of an output."""
        self.errors[name] = max(self.errors.get(name, 0.0), error)


def verify(
    graph: Graph,
    program: Program,
    runner: Runner,
    schedules: Mapping[str, Schedule] | None = None,
    budget: float = BUDGET,
) -> Verification:
    """What comparing the outputs of `runner` with the meaning of `graph` found, over sizes and sets of inputs.

    `budget`: values that the interpreter may compute; of results beyond it samples are compared.
    Raises VerificationError naming the output, the first wrong kernel and the size of the error.
    """
    found = Verification()
    choices = dim_choices(graph)
    for dims in choices:
        check = _check_whole if work(graph.outputs, dims) <= min(FULL, budget) else _check_samples
        for edge in (False, True):
            note("verify", found.runs, 2 * len(choices))
            check(_Run(graph, program, runner, schedules, dims, budget), edge, found)
    note("verify", found.runs, 2 * len(choices))
    return found


@dataclass(frozen=True, slots=True)
class _Run:
    """What is verified, at some sizes."""

    graph: Graph
    program: Program
    runner: Runner
    schedules: Mapping[str, Schedule] | None
    dims: Mapping[str, int]
    budget: float = BUDGET

    def pick(self, kept: tuple[Tensor, ...], got: Mapping[str, Any]) -> Samples | None:
        """Samples of results within the budget, or within that of any graph where one sample is beyond it."""
        values = {t.name: values_of(got[t.name], t.dtype) for t in kept}
        found = pick(kept, values, self.budget)
        return found if found is not None or self.budget >= BUDGET else pick(kept, values)

    def kind(self, t: Tensor) -> str:
        """The storage type whose tolerance holds: products may round f32 to tf32 where a schedule says so, and units
        add products of 8-bit floats in few bits."""
        launches = [b.kernel.launch for b in getattr(self.runner, "kernels", ())]
        maps = [m for launch in launches if launch is not None for m in launch.maps]
        if t.dtype != "f32" or not maps:
            return t.dtype
        short = any(m.buffer.type in EIGHT for m in maps)
        return "short" if short else "tf32" if any(m.rounds for m in maps) else t.dtype

    @property
    def most(self) -> float:
        """The largest values on the way that are tried."""
        return SCORES if isinstance(self.runner, CudaProgram) else math.inf

    def fail(self, t: Tensor, how: str, where: Callable[[], str]) -> VerificationError:
        return VerificationError(
            f"output '{t.name}' is wrong {how}",
            where=where(),
            mend="report this with the graph; plain schedules (optimize(..., schedule=...)) may avoid it",
        )


def run_filled(graph: Graph, runner: Runner, inputs: Mapping[str, Array], dims: Mapping[str, int], byte: int) -> Any:
    """The results of a run whose outputs hold a byte before; donated inputs hold their values instead."""
    copies = {k: v.copy() for k, v in inputs.items()}
    if isinstance(runner, (CudaProgram, GridProgram)):
        return runner(copies, dims, fill=byte)
    out: dict[str, Array] = {}
    for t in graph.outputs:
        if not t.into:
            out[t.name] = np.empty(tuple(n.evaluate(dims) for n in t.shape), NUMPY[t.dtype])
            out[t.name].reshape(-1).view(np.uint8)[:] = byte
    return runner(copies, dims, out)


def _check_whole(run: _Run, edge: bool, found: Verification) -> None:
    graph, dims = run.graph, run.dims
    inputs, expected = _tame_inputs(graph, dims, edge, run.most)
    got = run_filled(graph, run.runner, inputs, dims, FILLS[0])
    found.runs += 1
    for t in graph.outputs:
        values, exact = values_of(got[t.name], t.dtype), expected[t.name]
        found.note(t.name, relative_error(values, exact))
        if excess(values, exact, run.kind(t)) > 1.0 and not rounding(graph, t, inputs, dims, values, run.kind(t)):
            raise run.fail(t, told(values, exact, run.kind(t)), lambda: _first_wrong(run, inputs))


def _check_samples(run: _Run, edge: bool, found: Verification) -> None:
    """Compares samples of the outputs; kernel by kernel where an output's sample needs too much of the graph."""
    graph = run.graph.bind(**run.dims) if run.dims else run.graph
    inputs: Mapping[str, Array] = sample_inputs(graph, {}, edge=edge)
    program, kept = run, graph.outputs
    got = run_filled(run.graph, run.runner, inputs, run.dims, FILLS[0])
    chosen = run.pick(kept, got)
    if chosen is None:
        program = _watched(run)
        got = run_filled(program.graph, program.runner, inputs, run.dims, FILLS[0])
        found.derived = False
        kept, inputs = _alone(program.program, got, inputs, run.dims)
        chosen = run.pick(kept, got)
    if chosen is None:
        raise VerificationError(
            f"graph '{graph.name}' is too large to be verified at these sizes",
            where=f"{work(kept):.1e} values, of which no sample can be taken",
            mend="optimize it at smaller sizes first, then here with verified=False",
        )
    shrunk, arrays, expected = _tame_samples(chosen, inputs, run.most)
    if shrunk is not inputs:
        inputs = shrunk
        got = run_filled(program.graph, program.runner, inputs, run.dims, FILLS[0])
    found.runs += 1
    _check_written(program, kept, inputs, got)
    for t in kept:
        _compare_samples(run, t, chosen, arrays, expected, got[t.name], found)
        found.samples += len(chosen.of(t.name))


def _compare_samples(
    run: _Run, t: Tensor, chosen: Samples, arrays: Mapping[str, Array], expected: Mapping[str, Array],
    got: Array, found: Verification,
) -> None:  # fmt: skip
    kind = run.kind(t)
    parts = [(u, at, values_of(np.asarray(got[at]), t.dtype), expected[u.name]) for u, at in chosen.of(t.name)]
    if any(values.shape != exact.shape for _, _, values, exact in parts):
        raise run.fail(t, "in its shape", lambda: f"an array of shape {list(got.shape)}")
    values = np.concatenate([v.reshape(-1) for _, _, v, _ in parts])
    exact = np.concatenate([e.reshape(-1) for _, _, _, e in parts])
    found.note(t.name, relative_error(values, exact))
    if excess(values, exact, kind) <= 1.0:
        return
    for u, at, v, e in parts:
        if excess(v, e, kind) > 1.0 and not rounding(chosen.graph, u, arrays, {}, v, kind):
            place = ", ".join(":" if isinstance(p, slice) else str(p) for p in at)
            raise run.fail(t, told(v, e, kind), lambda place=place: f"at [{place}], dims {dict(run.dims)}")  # type: ignore[misc]


def _check_written(run: _Run, kept: tuple[Tensor, ...], inputs: Mapping[str, Array], got: Mapping[str, Array]) -> None:
    """Raises VerificationError when an element holds what was there before, whatever that was."""
    doubted = [t for t in kept if not t.into and holds_fill(got[t.name], FILLS[0])]
    if not doubted:
        return
    again = run_filled(run.graph, run.runner, inputs, run.dims, FILLS[1])
    for t in doubted:
        count = unwritten(got[t.name], again[t.name], FILLS)
        if count:
            raise run.fail(t, f"in {count} elements that were never written", lambda: f"dims {dict(run.dims)}")


def _watched(run: _Run) -> _Run:
    """The same program, with every stored tensor an output."""
    graph = Graph(run.graph.name, run.graph.inputs, run.program.tensors)
    program = Program(graph, run.program.kernels)
    if isinstance(run.runner, CudaProgram):
        return _Run(graph, program, compile_cuda(program, run.schedules, on=run.runner.driver), run.schedules, run.dims)
    if isinstance(run.runner, GridProgram):
        return _Run(graph, program, run.runner.again(program, run.schedules), run.schedules, run.dims)
    return _Run(graph, program, compile_program(program, run.schedules), run.schedules, run.dims)


def _alone(
    program: Program, got: Mapping[str, Array], inputs: Mapping[str, Array], dims: Mapping[str, int]
) -> tuple[tuple[Tensor, ...], dict[str, Array]]:
    """The stored tensors as functions of what earlier kernels stored, dims bound, and the arrays for that."""
    bound = Graph(program.graph.name, program.graph.inputs, program.tensors).bind(**dims)
    held: dict[Source, Source] = {}
    arrays = dict(inputs)
    made: list[Tensor] = []
    for t in bound.outputs:
        body = replace_sources(t.body, lambda s: held.get(s, s))
        made.append(Tensor(t.name, t.axes, body, t.dtype, t.into))
        held[t] = Input(f"@{t.name}", t.shape, t.dtype)
        arrays[f"@{t.name}"] = values_of(got[t.name], t.dtype)
    return tuple(made), arrays


def _tame_samples(
    chosen: Samples, inputs: Mapping[str, Array], most: float
) -> tuple[Mapping[str, Array], dict[str, Array], dict[str, Array]]:
    """Inputs shrunk until no tensor below the samples leaves its range; their parts; and the reference."""
    order = tensors_of(chosen.graph.outputs)
    watched = Graph(chosen.graph.name, chosen.graph.inputs, tuple(order))
    reals = [t for t in order if t.dtype in _LARGEST]
    for _ in range(8):
        arrays = {k: v.astype(np.float64) if v.dtype.kind == "f" else v for k, v in chosen.inputs(inputs).items()}
        expected = interpret(watched, arrays, {}, checked=False)
        within = all(_largest(expected[t.name]) < min(_LARGEST[t.dtype], most) for t in reals)
        if within or any("@" in k for k in inputs):
            break
        inputs = _shrunk(inputs)
    return inputs, arrays, expected


def rounding(
    graph: Graph, t: Tensor, inputs: Mapping[str, Array], dims: Mapping[str, int], values: Array, kind: str,
    cancels: bool = False,
) -> bool:  # fmt: skip
    """Whether a wrong value of `t` is no worse than what last bits changed on the way there would do to it.

    The exponential of a score of several hundred, a sum that cancels, a quantised value at the border of two steps and
    the larger of two nearly equal scores are like that: no kernel in single precision can agree there. Tried first are
    changes of what is stored, then of every operation too. `cancels`: x - x may be 0 for infinite x.
    """
    orders = (*ORDERS, CANCEL) if cancels else ORDERS
    rng = np.random.default_rng(1)
    exact = interpret(graph, inputs, dims, checked=False)[t.name]
    seen = [_nudged(t, inputs, dims, rng) for _ in range(NUDGES)]
    if explained(values, exact, seen, kind):
        return True
    for _ in range(ROUNDS):  # a comparison with what lies at its border goes either way, so some outcomes are rare
        seen += [_nudged(t, inputs, dims, rng, orders[n % len(orders)]) for n in range(NUDGES)]
        if explained(values, exact, seen, kind):
            return True
    return False


def _nudged(
    t: Tensor, inputs: Mapping[str, Array], dims: Mapping[str, int], rng: np.random.Generator,
    order: str = "",
) -> Array:  # fmt: skip
    """The tensor `t` when each real element of an input or an earlier tensor is off by up to its NUDGE.

    Given an `order`, what every operation gives is off too, and has the range of single precision (interpret_shaken).
    """

    def nudge(a: Array, dtype: str) -> Array:
        if dtype not in FLOATS:
            return a
        size = NUDGE_OF_DOUBLE if dtype == "f64" else NUDGE_OF_HALF.get(dtype, NUDGE)
        return a.astype(np.float64) * (1 + rng.uniform(-size, size, np.shape(a)))

    doubles = {s.name for u in tensors_of((t,)) for s in sources(u.body) if isinstance(s, Input) and s.dtype == "f64"}
    held = {k: nudge(a, "f64" if k in doubles else "f32" if a.dtype.kind == "f" else "") for k, a in inputs.items()}
    stored: dict[Source, Source] = {}
    for u in tensors_of((t,)):
        body = replace_sources(u.body, lambda s: stored.get(s, s))
        read = tuple(dict.fromkeys(s for s in sources(body) if isinstance(s, Input)))
        alone = Graph(t.name, read, (Tensor("out", u.axes, body, u.dtype),))
        given = {i.name: held[i.name] for i in read}
        if order:
            found = shaken(alone, given, dims, rng, arithmetic(Plan(), u), order)["out"]
        else:
            found = interpret(alone, given, dims, checked=False)["out"]
        if u is t:
            return found
        stored[u] = Input(f"@{u.name}", u.shape, "f64" if u.dtype in FLOATS else u.dtype)
        held[f"@{u.name}"] = nudge(found, u.dtype)
    raise AssertionError("a tensor comes last in its own order")


def _tame_inputs(
    graph: Graph, dims: Mapping[str, int], edge: bool, most: float = math.inf
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sample inputs and the reference, with inputs shrunk until no tensor leaves the range of its type, or is above
    `most`.

    Long products (a recurrence over hundreds of steps) overflow on values of size 10; that says nothing of the kernel.
    """
    inputs = sample_inputs(graph, dims, edge=edge)
    order = tensors_of(graph.outputs)
    watched = Graph(graph.name, graph.inputs, tuple(order))
    reals = [t for t in order if t.dtype in _LARGEST]
    for _ in range(8):
        # Unchecked: computed coordinates and divisors may leave their range here, and kernels treat them alike.
        expected = interpret(watched, inputs, dims, checked=False)
        if all(_largest(expected[t.name]) < min(_LARGEST[t.dtype], most) for t in reals):
            break
        inputs = _shrunk(inputs)
    return inputs, expected


def _shrunk(inputs: Mapping[str, Array]) -> dict[str, Array]:
    return {k: v * v.dtype.type(0.25) if v.dtype.kind == "f" else v for k, v in inputs.items()}


def _largest(a: Any) -> float:
    finite = np.abs(np.asarray(a)[np.isfinite(a)])
    return float(finite.max()) if finite.size else 0.0


SCORES = 1e7
"""The largest scores that a GPU's kernels are tried on: the exponent of exp(a·x - m) is one multiply-add there, whose
rounding is a factor of e at this size, and an infinity a thousand times above."""
_LARGEST = {"f16": 3e4, "bf16": 1e30, "f32": 1e30, "f64": 1e300, "f8e4m3": 200.0, "f8e5m2": 3e4}


def _first_wrong(run: _Run, inputs: Mapping[str, Array]) -> str:
    """The first kernel whose tensors differ from its own meaning over what it read on the device."""
    watched = _watched(run)
    got = run_filled(watched.graph, watched.runner, inputs, run.dims, FILLS[0])
    held = {**inputs, **{t.name: values_of(got[t.name], t.dtype) for t in run.program.tensors}}
    for plan in run.program.kernels:
        one = alone(plan)
        sizes = {d.name: run.dims[d.name] for d in one.dims()}
        arrays = {i.name: held[i.name] for i in one.inputs}
        own = interpret(one, arrays, sizes, checked=False)
        for t, u in zip(plan.outputs, one.outputs, strict=True):
            values, kind = held[t.name], run.kind(t)
            if excess(values, own[u.name], kind) > 1.0 and not rounding(one, u, arrays, sizes, values, kind):
                return _blame(run, plan, t, values, interpret(watched.graph, inputs, run.dims, checked=False))
    return f"no single kernel at dims {dict(run.dims)}: the derivation itself"


def _blame(run: _Run, plan: KernelPlan, t: Tensor, values: Array, expected: Mapping[str, Array]) -> str:
    same = [u.name for u in run.program.tensors if u is not t and _alike(values, expected[u.name])]
    hint = f"; its values are those of '{same[0]}'" if same else ""
    return f"kernel '{plan.name}', tensor '{t.name}', dims {dict(run.dims)}{hint}"


def _alike(got: Any, expected: Any) -> bool:
    return np.shape(got) == np.shape(expected) and relative_error(got, expected) < 1e-3


class _Callable(ModuleType):
    """This module, called: `tang_egg.verify` is the attribute that importing the module sets, and a function too."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from tang_egg.verify_graph import verify_graph

        return verify_graph(*arguments, **named)


sys.modules[__name__].__class__ = _Callable
