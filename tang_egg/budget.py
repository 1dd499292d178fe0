"""How much error a variant may make: as much as the graph as written makes in the same types, times a factor.

A variant is accepted when both hold:

    range     no value of it, partial sums included, can leave the type of the arithmetic (a proof from the ranges of
              the inputs), except values that the graph as written has as well
    samples   on random and edge inputs inside these ranges, its error under the plan's types and orders is at most
              `factor` times that of the graph as written, or of a few roundings of the result

Errors are measured against the float64 interpreter on inputs as they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg import ops
from tang_egg.errors import InputError
from tang_egg.interpret import interpret
from tang_egg.interpret_precision import arithmetic
from tang_egg.ir import Graph, Input, tensors_of
from tang_egg.precision import FORMATS, Plan, round_to
from tang_egg.ranges import Range, overflows
from tang_egg.verify_compare import relative_error
from tang_egg.verify_inputs import dim_choices, sample_inputs
from tang_egg.verify_sample import work

Array = npt.NDArray[Any]
Draw: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], Array]

MOST_WORK = 3e7
"""Values that are emulated for one sample, at most."""
MEASURES = ("tensor", "element")
NORMAL = (-64.0, 64.0)
"""What samples of an input without a declared range are drawn within, beside those of verification."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a variant was accepted, why, and the errors by output: of the variant, and of the graph as written."""

    accepted: bool
    reason: str
    errors: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return f"{'accepted' if self.accepted else 'refused'}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """The error that variants of a graph may make (see the module text).

    `factor`: times the error of the graph as written. `roundings`: of the result's type, allowed in any case.
    `relative`: an error that is allowed in any case, as a share of the reference, whatever the graph itself makes.
    `measure`: "tensor" takes max |error| / max |reference|, "element" the largest |error| / |reference|.
    `ranges`: enclosures of inputs by name, as tang_egg.ranges takes them. `samples`: of each kind of inputs.
    `draws`: how values of an input are drawn, where more is known of them than an interval says (a mean that is no
    larger than the spread, say): a function of a NumPy generator and a shape. Its own samples are all that are taken.
    """

    factor: float = 2.0
    roundings: float = 2.0
    measure: str = "tensor"
    ranges: Mapping[str, Range | tuple[float, float]] = field(default_factory=dict)
    samples: int = 2
    seed: int = 0
    draws: Mapping[str, Draw] = field(default_factory=dict)
    relative: float = 0.0

    def __post_init__(self) -> None:
        wrong = ""
        if self.measure not in MEASURES:
            wrong = f"no measure '{self.measure}' of errors"
        elif not (self.factor >= 0 and self.roundings >= 0 and self.samples >= 1):
            wrong = f"a budget of factor {self.factor}, {self.roundings} roundings and {self.samples} samples"
        elif not 0 <= self.relative < float("inf"):
            wrong = f"a budget of relative error {self.relative}"
        if wrong:
            raise InputError(
                wrong,
                where="ErrorBudget",
                mend=f"use a measure of {', '.join(MEASURES)}, numbers of at least 0, and at least one sample",
            )

    def accepts(
        self, original: Graph, candidate: Graph, plan: Plan | None = None, dims: Mapping[str, int] | None = None
    ) -> Verdict:
        """Whether a graph may stand for another one under a plan, its outputs having the same names.

        `dims`: the sizes at which samples are taken; by default those that verification tries.
        Raises InputError for outputs or inputs that differ, and for ranges of what is no input.
        """
        _check_alike(original, candidate)
        plan = plan or Plan()
        wide = self._overflow(original, candidate, plan)
        if wide:
            return Verdict(False, wide)
        errors: dict[str, tuple[float, float]] = {}
        for sizes in [dict(dims)] if dims is not None else dim_choices(original):
            if max(work(g.outputs, sizes) for g in (original, candidate)) > MOST_WORK:
                return Verdict(
                    False, f"more than {MOST_WORK:.0e} values at dims {sizes}: too many to be sampled", errors
                )
            for kind, inputs in self._inputs(original, plan, sizes):
                refusal = self._compare(original, candidate, plan, sizes, inputs, errors)
                if refusal:
                    return Verdict(False, f"{refusal} on {kind} inputs", errors)
        worst = max((a for a, _ in errors.values()), default=0.0)
        return Verdict(True, f"nothing overflows, and the largest error is {worst:.2g}", errors)

    def allows(self, graph: Graph, plan: Plan, dims: Mapping[str, int] | None = None) -> Verdict:
        """Whether a graph may run under a plan: its error, beside the one in the types that it has, at most so much.

        Overflow shows in the samples only: what is not finite there is refused.
        """
        plan.check({i.name for i in graph.inputs} | {t.name for t in tensors_of(graph.outputs)}, "ErrorBudget.allows")
        errors: dict[str, tuple[float, float]] = {}
        for sizes in [dict(dims)] if dims is not None else dim_choices(graph):
            if work(graph.outputs, sizes) > MOST_WORK:
                return Verdict(
                    False, f"more than {MOST_WORK:.0e} values at dims {sizes}: too many to be sampled", errors
                )
            for kind, inputs in self.drawn(graph, sizes):
                refusal = self._compare(graph, graph, plan, sizes, inputs, errors, Plan())
                if refusal:
                    return Verdict(False, f"{refusal} on {kind} inputs", errors)
        worst = max((a for a, _ in errors.values()), default=0.0)
        return Verdict(True, f"the largest error is {worst:.2g}", errors)

    # Overflow.

    def _overflow(self, original: Graph, candidate: Graph, plan: Plan) -> str:
        """Which value of the candidate may overflow that the original does not have, or nothing."""
        kinds = {arithmetic(plan, t) for t in tensors_of(candidate.outputs)}
        for kind in sorted(kinds):
            excused = {o.term for o in overflows(original, kind, self.ranges)}
            for found in overflows(candidate, kind, self.ranges):
                if found.term not in excused:
                    return f"{found.term} may leave {kind}: it lies in {found.range}"
        stored = {t.name: plan.storage.get(t.name, t.dtype) for t in tensors_of(candidate.outputs)}
        own = {t.name for t in tensors_of(original.outputs)}
        for kind in sorted({k for n, k in stored.items() if n not in own and k in FORMATS} - kinds):
            for found in overflows(candidate, kind, self.ranges):
                if found.term not in {o.term for o in overflows(original, kind, self.ranges)}:
                    return f"{found.term} may leave {kind}: it lies in {found.range}"
        return ""

    def bound(self, own: float, *kinds: str) -> float:
        """The largest error that a variant may make where the graph makes `own`; `kinds`: types of the result."""
        return max(self.factor * own, self.roundings * max(FORMATS[k].epsilon for k in kinds), self.relative)

    # Samples.

    def drawn(self, graph: Graph, dims: Mapping[str, int]) -> Iterator[tuple[str, dict[str, Array]]]:
        """Inputs on which errors are measured, and of which kind they are; floats are float64 as their types hold."""
        return self._inputs(graph, Plan(), dims)

    def _inputs(self, graph: Graph, plan: Plan, dims: Mapping[str, int]) -> Iterator[tuple[str, dict[str, Array]]]:
        """Inputs as they are stored: those of verification moved into the ranges, ends, and nearly equal values."""
        for n in range(self.samples):
            rng = np.random.default_rng([self.seed, n])
            for kind in ("normal", "edge", "even", "ends", "close"):
                arrays = sample_inputs(graph, dims, edge=kind == "edge", seed=self.seed + 7 * n)
                made = {i.name: self._drawn(i, arrays[i.name], kind, rng) for i in graph.inputs}
                yield kind, {i.name: _stored(i, made[i.name], plan) for i in graph.inputs}

    def _drawn(self, i: Input, array: Array, kind: str, rng: np.random.Generator) -> Array:
        if i.dtype not in ops.FLOATS:
            return array
        if i.name in self.draws:
            return np.asarray(self.draws[i.name](rng, array.shape), np.float64).reshape(array.shape)
        given = self.ranges.get(i.name, NORMAL)
        lo, hi = (given.lo, given.hi) if isinstance(given, Range) else given
        lo, hi = (float(max(min(x, 1e30), -1e30)) for x in (lo, hi))
        values = array.astype(np.float64)
        if kind == "even":
            values = rng.uniform(lo, hi, array.shape)
        elif kind == "ends":
            values = rng.choice([lo, hi], array.shape)
        elif kind == "close":
            centre = max(lo, hi, key=abs)
            values = centre + (0.5 * (lo + hi) - centre) * 2.0**-6 * rng.random(array.shape)
        return np.clip(values, lo, hi)

    def _compare(
        self,
        original: Graph,
        candidate: Graph,
        plan: Plan,
        dims: Mapping[str, int],
        inputs: Mapping[str, Array],
        errors: dict[str, tuple[float, float]],
        own_plan: Plan | None = None,
    ) -> str:
        """What is wrong with the candidate on these inputs, or nothing; keeps the largest errors.

        `own_plan`: that of the original, where it is another one.
        """
        exact = interpret(original, inputs, dims, checked=False)
        first = plan if own_plan is None else own_plan
        naive = interpret(original, inputs, dims, checked=False, precision=restricted(first, original))
        found = interpret(candidate, inputs, dims, checked=False, precision=restricted(plan, candidate))
        for t in original.outputs:
            if t.dtype not in ops.FLOATS:
                if not np.array_equal(found[t.name], exact[t.name]) and np.array_equal(naive[t.name], exact[t.name]):
                    return f"output '{t.name}' is another one than that of the graph"
                continue
            own, other = self.error(found[t.name], exact[t.name]), self.error(naive[t.name], exact[t.name])
            before = errors.get(t.name, (0.0, 0.0))
            errors[t.name] = (max(before[0], own), max(before[1], other))
            held = first.storage.get(t.name, t.dtype)
            allowed = self.bound(other, held, arithmetic(first, t))
            if own > allowed:
                least = f", {allowed:.2g} are allowed" if own_plan is not None else ""
                return f"output '{t.name}' is off by {own:.2g}, the graph as written by {other:.2g}{least}"
        return ""

    def error(self, got: Array, exact: Array) -> float:
        """The error of a result by the measure of this budget."""
        if self.measure == "tensor":
            return relative_error(got, exact)
        worst = 0.0
        if got.size:
            worst = max(relative_error(a, b) for a, b in zip(got.reshape(-1, 1), exact.reshape(-1, 1), strict=True))
        return worst


def restricted(plan: Plan, graph: Graph) -> Plan:
    """The part of a plan that speaks of a graph's inputs and tensors."""
    names = {i.name for i in graph.inputs} | {t.name for t in tensors_of(graph.outputs)}

    def kept(table: Mapping[Any, Any]) -> dict[Any, Any]:
        return {k: v for k, v in table.items() if (k if isinstance(k, str) else k[0]) in names}

    return replace(
        plan,
        storage=kept(plan.storage),
        accumulate=kept(plan.accumulate),
        orders=kept(plan.orders),
        tensors=kept(plan.tensors),
    )


def _stored(i: Input, array: Array, plan: Plan) -> Array:
    """An array as its storage type holds it, still in a type that the interpreter takes."""
    if i.dtype not in ops.FLOATS:
        return array
    return round_to(array, plan.storage.get(i.name, i.dtype))


def _check_alike(original: Graph, candidate: Graph) -> None:
    ours, theirs = ({t.name: (t.shape, t.dtype) for t in g.outputs} for g in (original, candidate))
    inputs = {i.name for i in candidate.inputs} - {i.name for i in original.inputs}
    if ours != theirs or inputs:
        raise InputError(
            "two graphs of different outputs or inputs cannot be compared",
            where=f"graphs '{original.name}' and '{candidate.name}'",
            mend="give both the same inputs, and outputs of the same names, shapes and types",
        )
