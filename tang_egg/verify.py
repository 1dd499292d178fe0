"""Verification: a compiled program against the float64 interpreter, before anybody uses it.

Two sets of inputs: standard normal values, and edge values (zeros, negative zeros, values of size 10, masks with dead
rows, first and last rows of gathered tables). Symbolic dims are tried at their smallest value, at a prime and beyond a
tile. Errors are measured against the largest finite value of the reference; where the reference is infinite or NaN the
kernel must be so too. On failure every kernel is compared in turn, and the first wrong one is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.affine import Affine, Dim
from tang_egg.errors import BindError, VerificationError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Input, Read, Scalar, Source, Tensor, sources, tensors_of, walk
from tang_egg.ops import FLOATS, INTEGERS
from tang_egg.program import Program
from tang_egg.run import CompiledProgram, compile_program
from tang_egg.schedule import Schedule
from tang_egg.windows import replace_sources

Array = npt.NDArray[Any]
TOLERANCE = {"f64": 1e-10, "f32": 2e-4, "f16": 5e-3, "bf16": 4e-2}
"""Largest |error| / max |reference| by storage type."""

NUDGE, NUDGE_OF_DOUBLE, NUDGES = 2.0**-19, 2.0**-47, 8
"""The relative changes that stand for the rounding of sums, and how often they are tried."""

SIZES = (1, 13, 67)
"""Values tried for a symbolic dim, as far as its facts allow."""


@dataclass(slots=True)
class Verification:
    """Runs made and the largest relative error of each output over all of them."""

    runs: int = 0
    errors: dict[str, float] = field(default_factory=dict)

    @property
    def worst(self) -> float:
        return max(self.errors.values(), default=0.0)


def verify(
    graph: Graph, program: Program, runner: CompiledProgram, schedules: Mapping[str, Schedule] | None = None
) -> Verification:
    """Compares the outputs of `runner` with the meaning of `graph`.

    Raises VerificationError naming the output, the first wrong kernel and the size of the error.
    """
    found = Verification()
    for dims in dim_choices(graph):
        for edge in (False, True):
            inputs, expected = _tame_inputs(graph, dims, edge)
            got = runner({k: v.copy() for k, v in inputs.items()}, dims)
            found.runs += 1
            for t in graph.outputs:
                error = relative_error(_values(got[t.name], t.dtype), expected[t.name])
                found.errors[t.name] = max(found.errors.get(t.name, 0.0), error)
                if not error <= TOLERANCE.get(t.dtype, 0.0) and not _rounding(graph, t, inputs, dims, got[t.name]):
                    raise VerificationError(
                        f"output '{t.name}' is wrong by {error:.3g} of its largest value",
                        where=_first_wrong(program, schedules, inputs, dims),
                        mend="report this with the graph; plain schedules (optimize(..., schedule=...)) may avoid it",
                    )
    return found


def _rounding(graph: Graph, t: Tensor, inputs: Mapping[str, Array], dims: Mapping[str, int], got: Array) -> bool:
    """Whether a wrong value of `t` is no worse than what last bits changed on the way there would do to it.

    The exponential of a score of several hundred, a sum that cancels, a quantised value at the border of two steps and
    the larger of two nearly equal scores are like that: no kernel in single precision can agree there.
    """
    rng = np.random.default_rng(1)
    values, exact = _values(got, t.dtype), interpret(graph, inputs, dims, checked=False)[t.name]
    seen = [_nudged(t, inputs, dims, rng) for _ in range(NUDGES)]
    if t.dtype not in TOLERANCE:
        return bool(np.any([values == s for s in (exact, *seen)], axis=0).all())
    error = relative_error(values, exact)
    return error < float("inf") and error <= TOLERANCE[t.dtype] + 4 * max(relative_error(s, exact) for s in seen)


def _nudged(t: Tensor, inputs: Mapping[str, Array], dims: Mapping[str, int], rng: np.random.Generator) -> Array:
    """The tensor `t` when each real element of an input or an earlier tensor is off by up to its NUDGE."""

    def nudge(a: Array, dtype: str) -> Array:
        if dtype not in FLOATS:
            return a
        size = NUDGE_OF_DOUBLE if dtype == "f64" else NUDGE
        return a.astype(np.float64) * (1 + rng.uniform(-size, size, np.shape(a)))

    held = {k: nudge(a, str(a.dtype).replace("float", "f")) for k, a in inputs.items()}
    stored: dict[Source, Source] = {}
    for u in tensors_of((t,)):
        body = replace_sources(u.body, lambda s: stored.get(s, s))
        read = tuple(dict.fromkeys(s for s in sources(body) if isinstance(s, Input)))
        alone = Graph(t.name, read, (Tensor("out", u.axes, body, u.dtype),))
        found = interpret(alone, {i.name: held[i.name] for i in read}, dims, checked=False)["out"]
        if u is t:
            return found
        stored[u] = Input(f"@{u.name}", u.shape, "f64" if u.dtype in FLOATS else u.dtype)
        held[f"@{u.name}"] = nudge(found, u.dtype)
    raise AssertionError("a tensor comes last in its own order")


def _tame_inputs(graph: Graph, dims: Mapping[str, int], edge: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sample inputs and the reference, with inputs shrunk until no tensor leaves the range of its type.

    Long products (a recurrence over hundreds of steps) overflow on values of size 10; that says nothing of the kernel.
    """
    inputs = sample_inputs(graph, dims, edge=edge)
    order = tensors_of(graph.outputs)
    watched = Graph(graph.name, graph.inputs, tuple(order))
    reals = [t for t in order if t.dtype in _LARGEST]
    for _ in range(8):
        # Unchecked: computed coordinates and divisors may leave their range here, and kernels treat them alike.
        expected = interpret(watched, inputs, dims, checked=False)
        if all(_largest(expected[t.name]) < _LARGEST[t.dtype] for t in reals):
            break
        inputs = {k: v * v.dtype.type(0.25) if v.dtype.kind == "f" else v for k, v in inputs.items()}
    return inputs, expected


def _largest(a: Any) -> float:
    finite = np.abs(np.asarray(a)[np.isfinite(a)])
    return float(finite.max()) if finite.size else 0.0


_LARGEST = {"f16": 3e4, "bf16": 1e30, "f32": 1e30, "f64": 1e300}


def _values(a: Array, dtype: str) -> Array:
    """The numbers that a result holds: bf16 comes as its bits, the upper half of those of a single."""
    return (a.astype(np.uint32) << 16).view(np.float32) if dtype == "bf16" and a.dtype == np.uint16 else a


def relative_error(got: Any, expected: Any) -> float:
    """max |got - expected| / max |expected| over finite references; inf where one is not finite and the other is."""
    a, b = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    if a.shape != b.shape:
        return float("inf")
    if not a.size:
        return 0.0
    finite = np.isfinite(b)
    odd_a, odd_b = a[~finite], b[~finite]
    if not np.array_equal(odd_a, odd_b, equal_nan=True) or not np.isfinite(a[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.max(np.abs(b[finite])))
    worst = float(np.max(np.abs(a[finite] - b[finite])))
    return worst / scale if scale > 0.0 else worst


def dim_choices(graph: Graph) -> list[dict[str, int]]:
    """Bindings of the symbolic dims to try: each at the small sizes of SIZES that its facts allow."""
    dims = graph.dims()
    if not dims:
        return [{}]
    choices = [{d.name: _fit(d, size + n) for n, d in enumerate(dims)} for size in SIZES]
    return [dict(c) for c in dict.fromkeys(tuple(c.items()) for c in choices)]


def _fit(d: Dim, wanted: int) -> int:
    """The value nearest to `wanted` from above that fits the facts of a dim, or its largest one."""
    size = max(wanted, d.lo)
    size += -size % d.multiple
    if d.hi is not None and size > d.hi:
        size = d.hi - d.hi % d.multiple
    try:
        d.check(size)
    except BindError:
        return d.lo
    return size


def sample_inputs(graph: Graph, dims: Mapping[str, int], *, edge: bool, seed: int = 0) -> dict[str, Array]:
    """Arrays for every input; integers used as coordinates stay inside what they index."""
    rng = np.random.default_rng(seed + edge)
    ranges = _coordinate_ranges(graph, dims)
    return {
        i.name: _sample(i, tuple(s.evaluate(dims) for s in i.shape), ranges.get(i), rng, edge) for i in graph.inputs
    }


def _sample(i: Input, shape: tuple[int, ...], extent: int | None, rng: np.random.Generator, edge: bool) -> Any:
    if i.dtype in FLOATS:
        values = rng.standard_normal(shape)
        if edge and values.size:
            values *= 10.0
            flat = values.reshape(-1)
            flat[rng.integers(0, flat.size, max(1, flat.size // 8))] = 0.0
            flat[0] = -0.0
        made = values.astype({"f64": np.float64, "f16": np.float16}.get(i.dtype, np.float32))
        return _on_bf16_grid(made) if i.dtype == "bf16" else made
    if i.dtype == "bool":
        live = rng.random(shape) < 0.7
        if edge and live.ndim and live.shape[0]:
            live[0] = False
        return live
    kind: np.dtype[Any] = np.dtype({"i": "int", "u": "uint"}[i.dtype[0]] + i.dtype[1:])
    info = np.iinfo(kind)
    low, high = (0, extent) if extent is not None else (max(info.min, -50), min(info.max, 50) + 1)
    values_int = rng.integers(low, max(high, low + 1), shape).astype(kind)
    if edge and values_int.size:
        values_int.reshape(-1)[:: max(1, values_int.size - 1)] = max(high - 1, low)
    return np.sort(values_int, axis=-1) if i.sorted else values_int


def _on_bf16_grid(a: Any) -> Any:
    return (np.ascontiguousarray(a).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def _coordinate_ranges(graph: Graph, dims: Mapping[str, int]) -> dict[Input, int]:
    """For integer inputs inside gathered coordinates: the smallest extent that they index."""
    found: dict[Input, int] = {}
    for t in tensors_of(graph.outputs):
        for s in walk(t.body):
            if not isinstance(s, Read):
                continue
            for c, extent in zip(s.coordinates, s.source.shape, strict=True):
                if isinstance(c, Affine):
                    continue
                assert isinstance(c, Scalar)
                for x in walk(c, into_tensors=True):
                    if isinstance(x, Read) and isinstance(x.source, Input) and x.source.dtype in INTEGERS:
                        size = extent.evaluate(dims)
                        found[x.source] = min(found.get(x.source, size), size)
    return found


def _first_wrong(
    program: Program,
    schedules: Mapping[str, Schedule] | None,
    inputs: Mapping[str, Array],
    dims: Mapping[str, int],
) -> str:
    """The first kernel whose stored tensors differ from their own meaning."""
    watched = Program(Graph(program.graph.name, program.graph.inputs, program.tensors), program.kernels)
    expected = interpret(watched.graph, inputs, dims, checked=False)
    got = compile_program(watched, schedules)({k: v.copy() for k, v in inputs.items()}, dims)
    for plan in program.kernels:
        for t in plan.outputs:
            values = _values(got[t.name], t.dtype)
            if not relative_error(values, expected[t.name]) <= TOLERANCE.get(t.dtype, 0.0):
                same = [u.name for u in program.tensors if u is not t and _alike(values, expected[u.name])]
                hint = f"; its values are those of '{same[0]}'" if same else ""
                return f"kernel '{plan.name}', tensor '{t.name}', dims {dict(dims)}{hint}"
    return f"no single kernel at dims {dict(dims)}: the derivation itself"


def _alike(got: Any, expected: Any) -> bool:
    return np.shape(got) == np.shape(expected) and relative_error(got, expected) < 1e-3
