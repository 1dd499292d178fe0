"""Questions about a graph that need no kernels of it, so that what cannot be compiled can be asked about too.

    split AXIS in N             folds along an axis in so many shares: allowed for states that combine associatively
    accumulate NAME in TYPE     the states of a tensor's folds in a type: allowed within an error budget
    store NAME in TYPE          a tensor in a type of storage: likewise
    scan NAME                   in a text: whether what a tensor reads of itself leaves an order to compute it in

Each answer follows from the check itself: the monoid is tried on states that folds reach, the error is measured against
float64 on drawn inputs, the text's dependences are followed around.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tang_egg.budget import ErrorBudget
from tang_egg.check import check_graph, check_monoid
from tang_egg.cost.roofline import Costs
from tang_egg.errors import GraphError, InputError, TangError
from tang_egg.extract.axes import indices_along, named_axes
from tang_egg.extract.explain import Reason
from tang_egg.extract.rewriting import split_rewriting
from tang_egg.extract.split import check_parts
from tang_egg.ir import Graph, Reduce, Scan, Tensor, folds, tensors_of, walk
from tang_egg.ops import FLOATS
from tang_egg.pipeline import extract
from tang_egg.pipeline_space import typical_sizes
from tang_egg.precision import FORMATS, Plan
from tang_egg.program import KernelPlan, Program
from tang_egg.ranges import overflows
from tang_egg.report_answer import Answer
from tang_egg.report_format import count
from tang_egg.report_why_cycle import cycle_answer
from tang_egg.rules.table import equalities
from tang_egg.schedule import WORDS
from tang_egg.verify_inputs import dim_choices

SPLIT = re.compile(r"\s*split\s+(?P<axis>\S+)\s+in\s+(?P<parts>\S+)\s*")
HOLD = re.compile(r"\s*(?P<what>accumulate|store)\s+(?P<name>\S+)\s+in\s+(?P<type>\S+)\s*")
SCAN = re.compile(r"\s*scan\s+(?P<name>\S+)\s*")
REGROUPS = "fold.split"
"""The law by which folds are folds of shares."""


def graph_answer(
    graph: Graph, what: str, budget: ErrorBudget | None = None, sizes: Mapping[str, int] | None = None
) -> Answer | None:
    """The answer to a question about a graph itself; None where `what` is of none of the forms above."""
    if split := SPLIT.fullmatch(what):
        return _split(graph, what.strip(), split["axis"], split["parts"])
    if hold := HOLD.fullmatch(what):
        dims = {**typical_sizes(graph), **(sizes or {})}
        return _held(graph, _Hold(what.strip(), **hold.groupdict()), budget or ErrorBudget(), dims)
    if scan := SCAN.fullmatch(what):
        return cycle_answer(str(graph), scan["name"], what)
    return None


# ---- folds in shares ----


def _split(graph: Graph, asked: str, axis: str, parts: str) -> Answer:
    """Whether the folds along an axis may be folds of shares, and what that would cost."""
    try:
        check_parts(axis, int(parts) if parts.isdecimal() and len(parts) < 10 else parts)
        tensors = tensors_of(graph.outputs)
        along = indices_along(tensors, named_axes(graph, axis))
    except GraphError as error:
        raise TangError(error.what, where=f"--why-not {asked}", mend=error.mend) from None
    found = [(t, s) for t in tensors for s in walk(t.body) if isinstance(s, Reduce) and along[t] & set(s.indices)]
    if not found:
        scans = [t.name for t in tensors for s in walk(t.body) if isinstance(s, Scan) and s.index in along[t]]
        raise TangError(
            f"nothing folds along '{axis}'",
            where=f"--why-not {asked}",
            mend=f"'{scans[0]}' scans it: chunk it instead" if scans else "name an axis that a fold runs over",
        )
    law = equalities()[REGROUPS]
    for t, s in found:
        try:
            check_monoid(s.monoid, trials=64, dims=dim_choices(graph)[-1])
        except GraphError as error:
            text = (
                f"{REGROUPS} ({law.rounding}) computes shares and combines their states, so it holds for a combine "
                f"that is associative and has a neutral identity; {error.what}: {error.where}"
            )
            verdict = f"the fold of '{s.monoid.name}' along {axis}, in {t.name}, cannot be split into {parts} shares"
            return Answer("why not", asked, "law", verdict, (f"{law}",), (), reasons=(Reason("law", text),))
    return _priced(graph, asked, axis, int(parts), {s.monoid.name for _, s in found})


def _priced(graph: Graph, asked: str, axis: str, parts: int, monoids: set[str]) -> Answer:
    """What a legal split costs by the model, beside the kernels as they are."""
    found = extract(graph)
    names = ", ".join(sorted(monoids))
    try:
        _, made, _ = split_rewriting(graph, found.program, {axis: parts}, found.steps)
    except GraphError as error:
        text = f"{error.what}: {error.where}"
        return Answer(
            "why not", asked, "law", f"the folds along {axis} are not split", reasons=(Reason("refused", text),)
        )
    before, after = _seconds(found.program), _seconds(made)
    reason = Reason(
        "cost", f"{count(len(made.kernels), 'kernel')} in place of {len(found.program.kernels)}", (after, before)
    )
    verdict = f"the folds along {axis} can be split into {parts} shares: {names} is associative"
    verdict += "; no kernel is split unless split= asks for it"
    return Answer("why not", asked, "law", verdict, (f"{equalities()[REGROUPS]}",), (), reasons=(reason,))


def _seconds(program: Program) -> float:
    costs = Costs()
    return sum(_kernel(costs, k) for k in program.kernels)


def _kernel(costs: Costs, k: KernelPlan) -> float:
    return float(costs.kernel(tuple(t.body for t in k.outputs), tuple(t.axes for t in k.outputs)).seconds)


# ---- types ----


@dataclass(frozen=True, slots=True)
class _Hold:
    """A question about a type: the whole text, accumulate or store, the tensor, the type."""

    asked: str
    what: str
    name: str
    type: str


def _held(graph: Graph, q: _Hold, budget: ErrorBudget, dims: Mapping[str, int]) -> Answer:
    """Whether a tensor's states or its storage may be of a type, by the error that this makes."""
    check_graph(graph)
    tensors = {t.name: t for t in tensors_of(graph.outputs)}
    t = _tensor(tensors, q)
    states = q.what == "accumulate"
    plan = Plan(accumulate={t.name: q.type}) if states else Plan(storage={t.name: q.type})
    what = f"the states of {t.name} in {q.type}" if states else f"{t.name} stored in {q.type}"
    wide = _beyond(graph, t, q, budget)
    limits = (_limit(q),) if states and q.type not in WORDS["accumulate"] else ()
    if wide:
        return Answer(
            "why not",
            q.asked,
            "type",
            f"{what}: beyond the largest value of the type",
            reasons=(Reason("limit", wide), *limits),
        )
    verdict = budget.allows(graph, plan, dims)
    reasons = (Reason("budget", verdict.reason), *limits)
    worst = tuple(f"{n}: off by {a:.2g} so, {b:.2g} in its own types" for n, (a, b) in verdict.errors.items())
    if not verdict:
        return Answer("why not", q.asked, "type", f"{what}: beyond the error budget", worst, reasons=reasons)
    rest = "" if states else "; te.tune_precision keeps it where it is faster"
    return Answer("why not", q.asked, "type", f"{what}: within the error budget{rest}", worst, reasons=reasons)


def _tensor(tensors: Mapping[str, Tensor], q: _Hold) -> Tensor:
    where = f"--why-not {q.asked}"
    if q.type not in FORMATS:
        raise InputError(f"no float type '{q.type}'", where=where, mend=f"use one of: {', '.join(FORMATS)}")
    able = [n for n, t in tensors.items() if t.dtype in FLOATS and (q.what == "store" or folds(t))]
    if q.name not in able:
        kind = "with folds of floats" if q.what == "accumulate" else "of floats"
        raise InputError(
            f"'{q.name}' is no tensor {kind}", where=where, mend=f"name one of: {', '.join(able) or 'there is none'}"
        )
    return tensors[q.name]


def _beyond(graph: Graph, t: Tensor, q: _Hold, budget: ErrorBudget) -> str:
    """Which value may leave the type, where the ranges of all inputs were declared; else samples decide."""
    if not all(i.name in budget.ranges for i in graph.inputs if i.dtype in FLOATS):
        return ""
    part = Graph(graph.name, graph.inputs, (t,))
    return min((str(o) for o in overflows(part, q.type, budget.ranges)), default="")


def _limit(q: _Hold) -> Reason:
    able = ", ".join(w for w in WORDS["accumulate"] if w)
    return Reason("limit", f"kernels hold states in {able}: a schedule has no accumulate={q.type}")
