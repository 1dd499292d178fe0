"""A graph in chunks in stages, one for each tensor that it holds: their graphs, and their programs as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tang_egg.extract.chunk import Chunked
from tang_egg.ir import Graph, Input, Source, Tensor, sources, tensors_of
from tang_egg.program import KernelPlan, Program, unique
from tang_egg.windows import replace_sources


@dataclass(frozen=True, slots=True)
class ChunkStage:
    """Some tensors of a graph in chunks, and the graph in which all that is held before them is an input."""

    wanted: tuple[Tensor, ...]
    graph: Graph


@dataclass(frozen=True, slots=True)
class ChunkJoined:
    """The programs of all stages as one. `kernels`: for each stage, what became of the names of its kernels."""

    program: Program
    kernels: tuple[Mapping[str, KernelPlan], ...]


def chunk_stages(cut: Chunked) -> tuple[ChunkStage, ...]:
    """The stages of a graph in chunks, in order: tensors that are held one by one, then the outputs."""
    whole, places = cut.graph, _places(cut)
    last = tuple(t for t in whole.outputs if t not in places)
    wanted = [*((t,) for t in places), *((last,) if last else ())]
    return tuple(ChunkStage(w, _graph(whole.name, w, places)) for w in wanted)


def joined(cut: Chunked, programs: Sequence[Program]) -> ChunkJoined:
    """The programs of the stages one after another, what one holds read by those after it."""
    whole, places = cut.graph, _places(cut)
    join = _Joining({i.name for i in whole.inputs}, places)
    kernels = tuple(join.add(s.wanted, p) for s, p in zip(chunk_stages(cut), programs, strict=True))
    outputs = tuple(join.final[t] for t in whole.outputs)
    return ChunkJoined(Program(Graph(whole.name, whole.inputs, outputs), tuple(join.kernels)), kernels)


def _places(cut: Chunked) -> dict[Tensor, Input]:
    """The tensors that are held, producers first, and the inputs that stand for them in later stages."""
    held = set(cut.held)
    ordered = [t for t in tensors_of((*cut.graph.outputs, *cut.held)) if t in held]
    return {t: Input(t.name, t.shape, t.dtype) for t in ordered}


def _graph(name: str, wanted: tuple[Tensor, ...], places: Mapping[Tensor, Input]) -> Graph:
    """The graph of some tensors, with others that are held as inputs."""
    swapped: dict[Source, Source] = {t: i for t, i in places.items() if t not in wanted}
    for t in tensors_of(wanted):
        if t not in swapped:
            swapped[t] = replace(t, body=replace_sources(t.body, lambda s: swapped.get(s, s)))
    outputs = tuple(x for t in wanted if isinstance(x := swapped[t], Tensor))
    bodies = [t.body for t in tensors_of(outputs)]
    inputs = dict.fromkeys(s for s in sources(*bodies) if isinstance(s, Input))
    return Graph(name, tuple(inputs), outputs)


@dataclass(slots=True)
class _Joining:
    """Programs one after another: `final` has what became of tensors of the graph."""

    taken: set[str]
    places: Mapping[Tensor, Input]
    kernels: list[KernelPlan] = field(default_factory=list)
    final: dict[Tensor, Tensor] = field(default_factory=dict)

    def add(self, wanted: tuple[Tensor, ...], program: Program) -> dict[str, KernelPlan]:
        """One more program, its inputs of stored tensors replaced by those tensors; its kernels by their old names."""
        kept = {t.name for t in wanted}
        now: dict[Source, Source] = {i: self.final[t] for t, i in self.places.items() if t in self.final}
        found: dict[str, KernelPlan] = {}
        for k in program.kernels:
            made: list[Tensor] = []
            for t in k.outputs:
                body = replace_sources(t.body, lambda s: now.get(s, s))
                name = t.name if t.name in kept else unique(t.name, self.taken)
                made.append(replace(t, name=name, body=body))
                now[t] = made[-1]
            self.taken |= {t.name for t in made}
            found[k.name] = KernelPlan(made[0].name, tuple(made), k.laws)
            self.kernels.append(found[k.name])
        for t, out in zip(wanted, program.graph.outputs, strict=True):
            done = now[out]
            assert isinstance(done, Tensor)
            self.final[t] = done
        return found
