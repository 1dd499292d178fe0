"""What selection hands to the code generator: an ordered list of kernels, each with its tensors and schedule.

Tensors are written to memory exactly when they are an output of a kernel. The body of each reads inputs and tensors of
earlier kernels only; everything else stands inlined in it. All outputs of one kernel share its loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tang_egg.ir import Graph, Tensor


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
