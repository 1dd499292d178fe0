"""Hashes of content: of a graph, a program, a kernel.

A hash is that of the text form, so it depends on names, sizes, types and mathematics, and on nothing else: not on the
process, the order in which nodes were made, or where in the user's source they were written.
"""

from __future__ import annotations

import hashlib
import json

from tang_egg.errors import GraphError
from tang_egg.ir import Graph, Input, Source, Tensor, sources
from tang_egg.program import KernelPlan, Program
from tang_egg.text import print_graph
from tang_egg.windows import replace_sources


def content_hash(what: Graph | Program | KernelPlan) -> str:
    """The SHA-256, in hexadecimal digits, of the text of a graph, a program, or a kernel.

    A kernel's hash counts the arrays that it reads as inputs, whichever kernel wrote them.
    """
    if isinstance(what, Graph):
        return text_hash(print_graph(what))
    if isinstance(what, Program):
        return text_hash(print_graph(program_graph(what)) + json.dumps(kernel_names(what), ensure_ascii=False))
    if isinstance(what, KernelPlan):
        return text_hash(print_graph(kernel_graph(what)))
    raise GraphError(
        f"a value of type {type(what).__name__} has no content hash",
        where="content_hash",
        mend="give a Graph, a Program or one of its kernels",
    )


def text_hash(text: str) -> str:
    """The SHA-256 of a text in UTF-8, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def program_graph(program: Program) -> Graph:
    """All that a program stores, as the outputs of one graph: tensors of its kernels in order, then what they lack."""
    return Graph(program.graph.name, program.graph.inputs, stored(program))


def stored(program: Program) -> tuple[Tensor, ...]:
    """The tensors of a program's kernels, then outputs of the graph that no kernel writes."""
    return tuple(dict.fromkeys((*program.tensors, *program.graph.outputs)))


def kernel_names(program: Program) -> list[list[object]]:
    """For each kernel its name and how many tensors it writes; last, which of the stored tensors are the outputs."""
    places = {t: n for n, t in enumerate(stored(program))}
    kernels: list[list[object]] = [[k.name, len(k.outputs)] for k in program.kernels]
    return [*kernels, [places[t] for t in program.graph.outputs]]


def kernel_graph(plan: KernelPlan) -> Graph:
    """A kernel as a graph of its own: what it reads are inputs."""
    held: dict[Source, Input] = {}

    def source(s: Source) -> Source:
        if s not in held:
            held[s] = s if isinstance(s, Input) else Input(s.name, s.shape, s.dtype)
        return held[s]

    outputs = tuple(Tensor(t.name, t.axes, replace_sources(t.body, source), t.dtype, t.into) for t in plan.outputs)
    read = dict.fromkeys(s for t in outputs for s in sources(t.body) if isinstance(s, Input))
    return Graph(plan.name, tuple(read), outputs)
