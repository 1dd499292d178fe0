"""The end of a replay: stored tensors, what the kernels of a window write, and the program of all windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tang_egg import ops
from tang_egg.affine import Index, affine
from tang_egg.errors import LawError
from tang_egg.ir import Graph, Input, Read, Scalar, Source, Tensor, free, sources, tensors_of, type_of
from tang_egg.program import KernelPlan, Program, unique
from tang_egg.text import print_graph
from tang_egg.unify import Named
from tang_egg.windows import Canonical, Window, replace_sources

Parts = Sequence[tuple[Window, Canonical, "Ending"]]


@dataclass(frozen=True, slots=True)
class Written:
    """A tensor that a kernel writes, under canonical names.

    `same`: the axes along which all its elements are the same, so that it is read at 0 there. `source` and `kind`: the
    input that stands for it in the expressions of other tensors.
    """

    name: str
    axes: tuple[str, ...]
    same: tuple[str, ...]
    dtype: str
    source: str
    kind: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A written tensor with its indices."""

    written: Written
    axes: tuple[Index, ...]

    @classmethod
    def of(cls, w: Written, indices: Mapping[str, Index]) -> Stored | None:
        """A written tensor over the indices of a window, or None when it names others or unknown types."""
        known = all(a in indices for a in w.axes) and w.dtype in ops.STORAGE and w.kind in ops.STORAGE
        return cls(w, tuple(indices[a] for a in w.axes)) if known else None

    @property
    def source(self) -> Input:
        """The input that stands for it."""
        return Input(self.written.source, tuple(i.size for i in self.axes), self.written.kind)

    def read(self) -> Read:
        """Its element at its own indices."""
        return Read(self.source, tuple(affine(0) if i.name in self.written.same else affine(i) for i in self.axes))


@dataclass(frozen=True, slots=True)
class Ending:
    """What a window ends in: the tensors of each kernel, and the one that holds each root."""

    kernels: tuple[tuple[Tensor, ...], ...]
    roots: dict[Tensor, Tensor]


def ending_of(
    kernels: Sequence[Sequence[Written]],
    roots: Sequence[str],
    shared: Canonical,
    named: Mapping[Tensor, Named],
    bodies: Mapping[str, Scalar],
    stored: Mapping[str, Stored],
) -> Ending:
    """The tensors of a window from their finished expressions; a root in another layout becomes a copy.

    Raises LawError for a tensor that is not finished, or does not fit its expression.
    """
    made: dict[Input, Tensor] = {}
    found: dict[str, Tensor] = {}
    groups: list[tuple[Tensor, ...]] = []

    def source(s: Source) -> Source:
        return made.get(s, s) if isinstance(s, Input) else s

    for kernel in kernels:
        group: list[Tensor] = []
        for w in kernel:
            s, body = stored[w.name], bodies.get(w.name)
            if body is None:
                raise _unfinished(f"no step finishes '{w.name}'")
            if not free(body) <= set(s.axes) or ops.scalar_type(w.dtype) != type_of(body):
                raise _unfinished(f"'{w.name}' has other axes or another type than its expression")
            group.append(Tensor(w.name, s.axes, replace_sources(body, source), w.dtype))
            found[w.name] = group[-1]
        made.update({stored[t.name].source: t for t in group})
        groups.append(tuple(group))
    held: dict[Tensor, Tensor] = {}
    owners: dict[str, Tensor] = {}
    for name, t in zip(roots, shared.roots, strict=True):
        tensor, axes = found[name], named[t].axes
        if tensor.dtype != t.dtype or tensor.axes != axes or owners.setdefault(name, t) is not t:
            at = tuple(affine(i) if i in axes else affine(0) for i in tensor.axes)
            tensor = Tensor(f"{t.name}_copy", axes, Read(tensor, at), t.dtype)
            groups.append((tensor,))
        held[t] = tensor
    return Ending(tuple(groups), held)


def _unfinished(what: str) -> LawError:
    return LawError(what, where="the end of a window", mend="derive the certificate anew")


def assembled(graph: Graph, parts: Parts) -> Program:
    """The program of all windows under the names of the graph."""
    taken = {i.name for i in graph.inputs} | {t.name for t in graph.outputs}
    final: dict[Tensor, Tensor] = {}
    plans: list[KernelPlan] = []
    for window, shared, ending in parts:
        outside = {f"x{n}": s for n, s in enumerate(shared.outside)}
        originals = dict(zip((t.name for t in shared.tensors), shared.originals, strict=True))
        held = {ending.roots[c]: t for c, t in zip(shared.roots, window.roots, strict=True)}
        made: dict[Tensor, Tensor] = {}

        def source(s: Source, outside: dict[str, Source] = outside, made: dict[Tensor, Tensor] = made) -> Source:
            if isinstance(s, Tensor):
                return made[s]
            origin = outside[s.name]
            return final[origin] if isinstance(origin, Tensor) else origin

        for kernel in ending.kernels:
            for t in kernel:
                body, origin = replace_sources(t.body, source), held.get(t)
                if origin is not None and origin in graph.outputs:
                    made[t] = Tensor(origin.name, t.axes, body, t.dtype, origin.into, origin.at)
                    continue
                known = originals.get(t.name)
                first = next((originals[x.name].name for x in kernel if x.name in originals), "tang")
                made[t] = Tensor(unique(known.name if known else f"{first}_part", taken), t.axes, body, t.dtype)
            outputs = tuple(made[t] for t in kernel)
            plans.append(KernelPlan(outputs[0].name, outputs))
        for own, original in zip(shared.roots, window.roots, strict=True):
            final[original] = made[ending.roots[own]]
    return Program(Graph(graph.name, graph.inputs, tuple(final[t] for t in graph.outputs)), tuple(plans))


def expression_text(name: str, body: Scalar) -> str:
    """An expression in the text form of graphs, as a tensor over its free indices: it parses back to the same nodes."""
    axes = tuple(sorted(free(body), key=lambda i: (len(i.name), i.name)))
    kind = type_of(body)
    t = Tensor(name, axes, body, "f32" if kind == "real" else kind)
    inside = dict.fromkeys(s for x in tensors_of((t,)) for s in _inputs(x))
    return print_graph(Graph(name, tuple(inside), (t,)))


def _inputs(t: Tensor) -> list[Input]:
    return [s for s in sources(t.body) if isinstance(s, Input)]
