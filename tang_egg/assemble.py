"""Graphs from output tensors: inputs are collected, intermediates named, and the whole is checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tang_egg.check import check_graph
from tang_egg.errors import GraphError
from tang_egg.expression import here
from tang_egg.ir import Graph, Input, Source, Tensor, sources, tensors_of
from tang_egg.monoid import Monoid
from tang_egg.notation import PROVISIONAL, Array
from tang_egg.rewrite import DimBinding


def graph(name: str, *outputs: Array | Tensor, inputs: Sequence[Array | Input] = (), **named: Array | Tensor) -> Graph:
    """The graph of some output tensors; those given by keyword take that name.

    Inputs come in order of first use, after those listed in `inputs` (which may be unused). Intermediate tensors
    without a name get one from their hint, numbered in order of computation, so equal programs give the same graph.
    Raises GraphError when a name stands for two things, an output is no tensor, or the graph fails its check.
    """
    if not outputs and not named:
        raise GraphError(f"graph '{name}' has no output", where=str(here()), mend="give at least one tensor")
    results = [_output(name, o) for o in (*outputs, *named.values())]
    if len(set(results)) < len(results):
        raise GraphError(f"graph '{name}' gives one tensor out twice", where=str(here()), mend="list each output once")
    chosen = dict(zip(results[len(outputs) :], named, strict=True))
    order = tensors_of(results)
    found = dict.fromkeys(i for i in map(_node, inputs) if isinstance(i, Input))
    found |= dict.fromkeys(s for t in order for s in sources(t.body) if isinstance(s, Input))
    names = _names(name, order, tuple(found), chosen)
    naming = _Naming(names)
    for t in order:
        naming.tensor(t)
    made = Graph(name, tuple(found), tuple(naming.tensor(t) for t in results))
    check_graph(made)
    return made


def _node(x: Array | Source) -> Source:
    return x.node if isinstance(x, Array) else x


def _output(graph_name: str, x: Array | Source) -> Tensor:
    source = _node(x)
    if isinstance(source, Tensor):
        return source
    raise GraphError(
        f"an output of graph '{graph_name}' is not a tensor: {x!r}",
        where=str(here()),
        mend="name it first: te.tensor('y', (i, j), ...)",
    )


def _names(
    title: str, order: Iterable[Tensor], inputs: Sequence[Input], chosen: dict[Tensor, str]
) -> dict[Tensor, str]:
    """The final name of each tensor. Names that the user gave stay; hints are numbered around them."""
    used: dict[str, Source] = {}

    def take(name: str, source: Source) -> None:
        if used.setdefault(name, source) is not source:
            raise GraphError(
                f"two different arrays are named '{name}'",
                where=f"graph '{title}', {here()}",
                mend="rename one of them, or leave intermediate tensors without a name: te.tensor(None, ...)",
            )

    tensors = tuple(order)
    for i in inputs:
        take(i.name, i)
    names = {t: chosen.get(t, t.name) for t in tensors}
    for t, name in names.items():
        if not name.endswith(PROVISIONAL):
            take(name, t)
    for t, name in names.items():
        if name.endswith(PROVISIONAL):
            stem, n = name.removesuffix(PROVISIONAL), 1
            names[t] = stem
            while names[t] in used:
                n += 1
                names[t] = f"{stem}_{n}"
            take(names[t], t)
    return names


class _Naming(DimBinding):
    """Rebuilds tensors under their final names; everything else stays."""

    def __init__(self, names: dict[Tensor, str]) -> None:
        super().__init__({})
        self.names = names

    def tensor(self, t: Tensor) -> Tensor:
        if t not in self.tensors:
            self.tensors[t] = Tensor(self.names[t], t.axes, self.scalar(t.body), t.dtype, t.into, t.at)
        return self.tensors[t]

    def input(self, i: Input) -> Input:
        return i

    def monoid(self, m: Monoid) -> Monoid:
        return m
