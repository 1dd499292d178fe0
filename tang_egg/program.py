"""What selection hands to the code generator: an ordered list of kernels, each with its tensors and schedule.

Tensors are written to memory exactly when they are an output of a kernel. The body of each reads inputs and tensors of
earlier kernels only; everything else stands inlined in it. All outputs of one kernel share its loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tang_egg.ir import Graph, Input, Tensor, sources


def unique(name: str, taken: set[str]) -> str:
    """`name`, numbered if it is taken already; it is taken from then on."""
    found, n = name, 1
    while found in taken:
        n += 1
        found = f"{name}_{n}"
    taken.add(found)
    return found


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """One kernel: the tensors that it writes. `laws` names the laws that led to them, in order of use."""

    name: str
    outputs: tuple[Tensor, ...]
    laws: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """An extracted graph. `graph.outputs` are tensors of the kernels (or tensors that read them plainly)."""

    graph: Graph
    kernels: tuple[KernelPlan, ...] = field(default=())

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All materialised tensors, producers first."""
        return tuple(t for k in self.kernels for t in k.outputs)


def single_graph(outputs: tuple[Tensor, ...]) -> Graph:
    """Tensors over inputs as a graph of their own."""
    inputs = dict.fromkeys(s for t in outputs for s in sources(t.body) if isinstance(s, Input))
    return Graph("kernel", tuple(inputs), outputs)


def single_program(outputs: tuple[Tensor, ...]) -> Program:
    """Tensors over inputs as a program of one kernel."""
    return Program(single_graph(outputs), (KernelPlan("kernel", outputs),))


def bound_outputs(outputs: tuple[Tensor, ...], sizes: Mapping[str, int]) -> tuple[Tensor, ...]:
    """Tensors over inputs with sizes for their symbolic dims."""
    graph = single_graph(outputs)
    dims = {d.name: sizes[d.name] for d in graph.dims()}
    return graph.bind(**dims).outputs if dims else outputs
