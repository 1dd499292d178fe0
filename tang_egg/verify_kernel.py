"""Each kernel against the interpreter, on the inputs that it really got.

    check_case(steps, graph, Case(dims, "normal"), schedules)  ->  findings, of the kernels that are wrong themselves

A kernel reads what earlier kernels left on the device, and its reference is its own meaning over just that. So a kernel
behind a wrong one is not blamed for it. Every kernel runs twice, from different bytes in outputs, workspace and bands:
what is as before in both was never written. Where all kernels are right, outputs are compared with the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.errors import TargetError
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Source, Tensor
from tang_egg.ops import FLOATS
from tang_egg.ops_eight import EIGHT, bits_of
from tang_egg.run_arrays import NUMPY
from tang_egg.run_layout import Built
from tang_egg.verify import FILLS, rounding
from tang_egg.verify_alone import alone
from tang_egg.verify_boundary import case_inputs
from tang_egg.verify_compare import excess, told, values_of
from tang_egg.verify_finding import BIAS, Finding, bias, pattern, wrong_elements
from tang_egg.verify_sample import unwritten, work
from tang_egg.verify_step import Ran, Steps, run_step

Array = npt.NDArray[Any]

FINITE = ("wgsl", "glsl")
"""Targets whose languages let compilers take all numbers for finite, so that x - x may become 0."""
LARGEST = 4e8
"""Values that the interpreter computes for one kernel, at most."""


@dataclass(frozen=True, slots=True)
class Case:
    """Sizes of the symbolic dims and a kind of values (verify_boundary.VALUES)."""

    dims: Mapping[str, int]
    values: str


@dataclass(slots=True)
class Checked:
    """What one case gave: kernels run, what is wrong, the largest relative error, and kernels too large to check."""

    kernels: int
    findings: list[Finding]
    worst: float
    skipped: list[str]


def stored(array: Array, dtype: str) -> Array:
    """Values as memory holds them: bf16 and floats of 8 bits as their bits."""
    if dtype in EIGHT:
        return np.ascontiguousarray(array if array.dtype == np.uint8 else bits_of(array, dtype))
    if dtype == "bf16" and array.dtype != np.uint16:
        bits = np.asarray(array, np.float32, order="C").view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.asarray(array, NUMPY[dtype], order="C")


def check_case(
    steps: Steps, graph: Graph, case: Case, schedules: Mapping[str, Any], target: str, seed: int = 0,
    given: Mapping[str, Array] | None = None,
) -> Checked:  # fmt: skip
    """Runs every kernel of a program in order and compares each with its own meaning, then all with the graph.

    `given`: arrays for the inputs, instead of those of the case's kind.
    """
    inputs = case_inputs(graph, case.dims, case.values, seed) if given is None else given
    state: dict[Source, Array] = {i: stored(np.asarray(inputs[i.name]), i.dtype) for i in graph.inputs}
    result = Checked(0, [], 0.0, [])
    for b in steps.kernels:
        about = Finding("wrong", target, b.plan.name, "", "", str(schedules.get(b.plan.name, "")), dict(case.dims),
                        case.values)  # fmt: skip
        _check_kernel(steps, b, state, case, about, result)
    if not result.findings and not result.skipped:
        about = Finding("derivation", target, "", "", "", "", dict(case.dims), case.values)
        _check_graph(graph, inputs, state, case, about, result)
    return result


def _check_kernel(
    steps: Steps, b: Built, state: dict[Source, Array], case: Case, about: Finding, result: Checked
) -> None:
    dims = case.dims
    large = work(b.plan.outputs, dims) > LARGEST
    fills = FILLS[:1] if large else FILLS
    try:
        runs = [run_step(steps, b, state, dims, fill, shift=n == 1) for n, fill in enumerate(fills)]
    except TargetError as error:
        result.findings.append(replace(about, kind="failed", buffer=b.plan.outputs[0].name, said=error.what))
        raise _Stopped(result) from None
    if large:
        result.skipped.append(b.plan.name)
        state |= _taken(b, runs[0])
        return
    result.kernels += 1
    one = alone(b.plan)
    arrays = {s.name: _read(state[s], s.dtype) for s in b.sources if s in state and s not in b.plan.outputs}
    bound = {d.name: dims[d.name] for d in one.dims()}
    exact = interpret(one, {i.name: arrays[i.name] for i in one.inputs}, bound, checked=False)
    wrong = False
    for t in b.plan.outputs:
        own = _output(one, t, runs, exact, arrays, bound, replace(about, buffer=t.name), result)
        result.findings += own
        wrong |= bool(own)
    result.findings += _trespasses(runs, about)
    state |= _taken(b, runs[0])
    if wrong:  # wrong positions must not lead later kernels outside their arrays
        state |= {t: stored(exact[t.name], t.dtype) for t in b.plan.outputs if t.dtype not in FLOATS}


class _Stopped(Exception):
    """A device that failed runs nothing more."""

    def __init__(self, result: Checked) -> None:
        super().__init__()
        self.result = result


def run_case(
    steps: Steps, graph: Graph, case: Case, schedules: Mapping[str, Any], target: str, seed: int = 0,
    given: Mapping[str, Array] | None = None,
) -> Checked:  # fmt: skip
    """`check_case`; what a failing device leaves is its last finding."""
    try:
        return check_case(steps, graph, case, schedules, target, seed, given)
    except _Stopped as stopped:
        return stopped.result


def _taken(b: Built, ran: Ran) -> dict[Source, Array]:
    return {t: ran.outputs[t.name] for t in b.plan.outputs}


def _read(array: Array, dtype: str) -> Array:
    """What is stored, as the interpreter takes it; a bool is any byte but 0."""
    return array.view(np.uint8) != 0 if dtype == "bool" else values_of(array, dtype)


def _output(
    one: Graph, t: Tensor, runs: list[Ran], exact: Mapping[str, Array], arrays: Mapping[str, Array],
    dims: Mapping[str, int], about: Finding, result: Checked,
) -> list[Finding]:  # fmt: skip
    """What is wrong with one output of a kernel, if anything is."""
    first, second = (r.outputs[t.name] for r in runs)
    fresh = not t.into and prod(first.shape)
    if fresh and unwritten(_bytes(first), _bytes(second), FILLS):
        holds = [_bytes(a) == _pattern(byte, a.dtype.itemsize) for a, byte in zip((first, second), FILLS, strict=True)]
        missing = holds[0] & holds[1]
        said = "elements were never written"
        return [_located(replace(about, kind="unwritten", said=said), missing, _read(first, t.dtype), exact[t.name])]
    named = next(u for u in one.outputs if u.name == t.name)
    found: list[bool] = []
    for raw in (first, second):
        got = _read(raw, t.dtype)
        most = excess(got, exact[t.name], t.dtype)
        result.worst = max(result.worst, 0.0 if most == float("inf") else most)
        found.append(most > 1.0 and not _forgiven(one, named, arrays, dims, got, about.target))
    if not any(found):
        off = bias(_read(first, t.dtype), exact[t.name], t.dtype)
        if abs(off) < BIAS or about.values != "normal":
            return []
        said = f"its values are off by {off:.2f} of their last place in the mean: cut off, not rounded to the nearest"
        return [replace(about, said=said, count=int(first.size), of=int(first.size), pattern="every one")]
    got = _read((first, second)[found.index(True)], t.dtype)
    said = f"its values are wrong {told(got, exact[t.name], t.dtype)}"
    if not all(found):
        said += "; not in every run (a race, or memory that was read before it was written)"
    return [_located(replace(about, said=said), wrong_elements(got, exact[t.name], t.dtype), got, exact[t.name])]


def _forgiven(
    one: Graph, t: Tensor, arrays: Mapping[str, Array], dims: Mapping[str, int], got: Array, target: str
) -> bool:
    """Whether changes of last bits on the way explain a difference."""
    return rounding(one, t, arrays, dims, got, t.dtype, target in FINITE)


def _bytes(a: Array) -> Array:
    return np.asarray(a, order="C").view(f"u{a.dtype.itemsize}")


def _pattern(byte: int, width: int) -> int:
    return int.from_bytes(bytes([byte]) * width, "little")


def _located(about: Finding, wrong: Array, got: Array, exact: Array) -> Finding:
    """A finding with the place of the wrong elements, the first one's values and the pattern."""
    if wrong.shape != got.shape or not wrong.any():
        return replace(about, count=0, of=int(np.size(exact)))
    flat = np.flatnonzero(wrong)
    first, last = (tuple(int(n) for n in np.unravel_index(int(p), wrong.shape)) for p in (flat[0], flat[-1]))
    return replace(
        about, first=first, last=last, count=int(flat.size), of=int(wrong.size), dtype="",
        expected=float(exact[first]), got=float(got[first]), pattern=pattern(wrong) if wrong.ndim else "every one",
    )  # fmt: skip


def _trespasses(runs: list[Ran], about: Finding) -> list[Finding]:
    """What was written outside in either run, each buffer once."""
    places = {x.buffer: x for r in reversed(runs) for x in r.trespasses}
    return [
        replace(about, kind="outside", buffer=x.buffer, said=f"{x.bytes} bytes were written {x.place}")
        for x in places.values()
    ]


def _check_graph(
    graph: Graph, inputs: Mapping[str, Array], state: Mapping[Source, Array], case: Case, about: Finding,
    result: Checked,
) -> None:  # fmt: skip
    """Compares outputs with the graph: what is wrong now is no kernel's fault."""
    if work(graph.outputs, case.dims) > 4 * LARGEST:
        result.skipped.append("the graph")
        return
    expected = interpret(graph, inputs, case.dims, checked=False)
    names = {s.name: a for s, a in state.items() if isinstance(s, Tensor)}
    for t in graph.outputs:
        got = _read(names[t.name], t.dtype)
        if excess(got, expected[t.name], t.dtype) > 1.0 and not rounding(
            graph, t, inputs, case.dims, got, t.dtype, about.target in FINITE
        ):
            how = told(got, expected[t.name], t.dtype)
            said = f"the kernels do what they say, and the output differs from the graph {how}"
            wrong = wrong_elements(got, expected[t.name], t.dtype)
            result.findings.append(_located(replace(about, buffer=t.name, said=said), wrong, got, expected[t.name]))
