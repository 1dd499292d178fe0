"""torch.compile(model, backend="tang_egg"): inference on the processor, with what is not supported left to PyTorch.

    Dynamo's graph → AOTAutograd (no mutation, ATen operators) → parts that are supported → each a compiled program

A part that cannot be derived, compiled or verified runs in PyTorch, with a warning that says why; so does a program
that is being trained. Names of operators, reasons and times are in `explain(model, *inputs)` and in the log
`tang_egg.torch`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from importlib.metadata import entry_points
from typing import Any

from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from tang_egg.errors import InputError, TangError
from tang_egg.importers.torch_table import overloads
from tang_egg.importers.torch_value import torch
from tang_egg.importers.torch_walk import name_of, shape_limits
from tang_egg.torch_partition import computes, examine, split
from tang_egg.torch_run import LOG, FallbackWarning, Options, Subgraph, compiled_for, plan_of, warn

__all__ = ["FallbackWarning", "Options", "Part", "Report", "backend", "explain"]

ASKING = ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "nan_to_num", "signbit", "copysign")
"""Operators by which a program asks for NaN or infinities: laws on finite values are not used then."""


@dataclass(slots=True)
class Part:
    """A subgraph: its operators and how often each occurs, whether it was compiled, and why not."""

    operators: dict[str, int]
    kernels: int = 0
    seconds: float = 0.0
    error: str = ""


@dataclass(slots=True)
class Report:
    """What became of the graphs of a program.

    `parts`: subgraphs that were taken. `left`: operators that PyTorch runs, and why. `small`: operators of supported
    parts that are too small to be taken. `notes`: graphs that were left to PyTorch as a whole.
    """

    graphs: int = 0
    parts: list[Part] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    small: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def compiled(self) -> list[Part]:
        """The parts that run as compiled kernels."""
        return [p for p in self.parts if not p.error]

    def __str__(self) -> str:
        taken = sum(sum(p.operators.values()) for p in self.compiled)
        lines = [f"{self.graphs} graph(s), {len(self.compiled)} compiled subgraph(s) with {taken} operators"]
        for p in self.parts:
            what = ", ".join(f"{n} × {name}" if n > 1 else name for name, n in p.operators.items())
            how = f"{p.kernels} kernels, {p.seconds:.1f} s" if not p.error else "left to PyTorch"
            lines.append(f"  {how}: {what}")
            lines += [f"    {line}" for line in p.error.splitlines()]
        if self.small:
            lines.append("too small to be taken: " + ", ".join(f"{n} × {name}" for name, n in self.small.items()))
        lines += [f"left to PyTorch: {name}: {reason.splitlines()[0]}" for name, reason in self.left.items()]
        return "\n".join([*lines, *self.notes])


_REPORTS: list[Report] = []
"""Reports that are being collected by `explain`."""
_SAID: set[str] = set()


def options_of(given: Mapping[str, Any] | None) -> Options:
    """The options of torch.compile. Raises InputError for one that is not known, or has no sensible value."""
    known = {f.name for f in fields(Options)}
    for name in given or {}:
        if name not in known:
            raise InputError(
                f"there is no option '{name}'",
                where="torch.compile(model, backend='tang_egg', options=...)",
                mend=f"the options are: {', '.join(sorted(known))}",
            )
    made = Options(**dict(given or {}))
    whole = isinstance(made.minimum, int) and not isinstance(made.minimum, bool) and made.minimum >= 1
    if made.values not in ("auto", "finite", "ieee") or not whole or not isinstance(made.verify, bool):
        raise InputError(
            f"an option has no sensible value: {made}",
            where="torch.compile(model, backend='tang_egg', options=...)",
            mend="verify=True or False, minimum from 1, values='auto', 'finite' or 'ieee'",
        )
    return made


def backend(module: Any, inputs: list[Any], *, options: Mapping[str, Any] | None = None, **_: Any) -> Any:
    """What TorchDynamo calls with each graph: a function that computes it."""
    chosen = options_of(options)
    report = _REPORTS[-1] if _REPORTS else Report()
    if torch.is_grad_enabled() and _trained(module, inputs):
        report.graphs += 1
        _once(
            report, "a graph is left to PyTorch, since gradients may be asked for: call the model under torch.no_grad()"
        )
        return module.forward

    def compiler(graph_module: Any, example: list[Any]) -> Any:
        report.graphs += 1  # not before: Dynamo may give up an attempt and make another graph
        return make_boxed_func(_compiled(graph_module, chosen, report).forward)

    taken = set(overloads())
    table = {k: v for k, v in core_aten_decompositions().items() if k not in taken}
    lowered = aot_autograd(fw_compiler=compiler, inference_compiler=compiler, decompositions=table)
    return lowered(module, inputs)


def _trained(module: Any, inputs: list[Any]) -> bool:
    given = [*inputs, *module.parameters()]
    return any(isinstance(t, torch.Tensor) and t.requires_grad for t in given)


def _once(report: Report, text: str) -> None:
    report.notes.append(text)
    if text not in _SAID:
        _SAID.add(text)
        warn(text)


def _compiled(module: Any, options: Options, report: Report) -> Any:
    """A graph with its supported parts compiled."""
    limits = shape_limits(_shape_env(module))
    support = examine(module, limits)
    for node, reason in support.reasons.items():
        report.left.setdefault(name_of(node), reason)
        LOG.info("%s is left to PyTorch: %s", name_of(node), reason)
    if not support.taken:
        return module
    fused, names, small = split(module, support, options.minimum)
    for part in small:
        report.small.update(part)
    for name in names:
        inner = fused.get_submodule(name)
        made = _part(inner, limits, options, report)
        if made is not None:
            fused.set_submodule(name, made)
    fused.recompile()
    return fused


def _part(module: Any, limits: Any, options: Options, report: Report) -> Subgraph | None:
    """A submodule as a compiled subgraph, or None where it stays with PyTorch."""
    calls = [n for n in module.graph.nodes if n.op == "call_function" and computes(n)]
    part = Part(dict(Counter(name_of(n) for n in calls)))
    report.parts.append(part)
    start = time.perf_counter()
    try:
        plan = plan_of(module, limits)
        compiled = compiled_for(plan, options, _values(calls, options))
    except TangError as error:
        part.error = str(error)
    except RecursionError:
        part.error = "the subgraph nests too deeply"
    if part.error:
        warn(f"a subgraph of {len(calls)} operators is left to PyTorch:\n{part.error}")
        return None
    part.kernels, part.seconds = len(compiled.program.kernels), time.perf_counter() - start
    LOG.info("a subgraph of %d operators became %d kernels in %.1f s", len(calls), part.kernels, part.seconds)
    return Subgraph(module, plan, compiled)


def _values(calls: list[Any], options: Options) -> str:
    if options.values != "auto":
        return options.values
    return "ieee" if any(getattr(n.target, "_opname", "") in ASKING for n in calls) else "finite"


def _shape_env(module: Any) -> Any:
    """The environment of the symbolic sizes of a graph, or None where all are fixed."""
    for node in module.graph.nodes:
        val = node.meta.get("val")
        for v in val.shape if isinstance(val, torch.Tensor) else [val]:
            if isinstance(v, torch.SymInt):
                return v.node.shape_env
    return None


def explain(model: Any, *inputs: Any, options: Mapping[str, Any] | None = None, **named: Any) -> Report:
    """What torch.compile(model, backend="tang_egg") makes of a call: it is compiled anew and run once."""
    report = Report()
    _REPORTS.append(report)
    try:
        torch._dynamo.reset()
        with torch.no_grad():
            torch.compile(model, backend=backend, options=dict(options or {}))(*inputs, **named)
    finally:
        _REPORTS.pop()
    return report


def register() -> None:
    """Makes the backend known by its name where no installed package does; importing this module does that too.

    PyTorch registers what an entry point names when it is first asked for, and must not find the name taken.
    """
    if "tang_egg" not in entry_points(group="torch_dynamo_backends").names:
        with suppress(AssertionError):  # it is known already
            torch._dynamo.register_backend(compiler_fn=backend, name="tang_egg")


register()
