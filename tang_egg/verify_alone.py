"""A kernel as a graph of its own, whose inputs are what it reads: the reference of what it was given."""

from __future__ import annotations

from tang_egg.codegen.lower import kernel_sources
from tang_egg.ir import Graph, Input, Source, Tensor
from tang_egg.program import KernelPlan
from tang_egg.windows import replace_sources


def alone(plan: KernelPlan) -> Graph:
    """The graph of a kernel: inputs by the names of what it reads, outputs by those of what it writes."""
    read = kernel_sources(plan.outputs)[: -len(plan.outputs)]
    stand: dict[Source, Source] = {s: Input(s.name, s.shape, s.dtype) for s in read}
    made = tuple(Tensor(t.name, t.axes, replace_sources(t.body, stand.__getitem__), t.dtype) for t in plan.outputs)
    return Graph(plan.name, tuple(i for i in stand.values() if isinstance(i, Input)), made)
