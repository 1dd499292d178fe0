"""Folds up to a point, in chunks that a caller asks for: the graph is cut first, then saturated and selected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tang_egg.errors import GraphError
from tang_egg.extract.chunk import Chunked, chunk_graph
from tang_egg.extract.derive import Step
from tang_egg.ir import Graph, Input, Source, Tensor, sources, tensors_of
from tang_egg.pipeline_compiled import Extraction
from tang_egg.program import KernelPlan, Program, unique
from tang_egg.windows import replace_sources


def extract_chunked(
    extracted: Callable[[Graph], Extraction], graph: Graph, chunk: Mapping[str, int] | None
) -> Extraction:
    """The extraction of a graph with its prefix folds along named axes in chunks of so many points.

    Sums with weights carry a state from chunk to chunk (extract/chunk.py); scans run by chunks of that length.
    Raises GraphError as `chunk_graph` does.
    """
    if chunk is None:
        return extracted(graph)
    if not isinstance(chunk, Mapping):
        raise GraphError(
            f"chunk is a value of type {type(chunk).__name__}",
            where="optimize",
            mend="pass a dict of lengths by axis: chunk={'K:0': 64}",
        )
    if not chunk:
        return extracted(graph)
    cut = chunk_graph(graph, chunk)
    return replace(_in_stages(extracted, cut) if cut.held else extracted(graph), graph=graph)


def _in_stages(extracted: Callable[[Graph], Extraction], cut: Chunked) -> Extraction:
    """The extractions of all tensors that are held, each reading those before it from memory, and of the outputs."""
    whole = cut.graph
    held = [t for t in tensors_of((*whole.outputs, *cut.held)) if t in set(cut.held)]
    places = {t: Input(t.name, t.shape, t.dtype) for t in held}
    last = tuple(t for t in whole.outputs if t not in places)
    join = _Joined({i.name for i in whole.inputs})
    for wanted in (*((t,) for t in held), last):
        if wanted:
            join.add(wanted, extracted(_stage(whole.name, wanted, places)), places, cut.steps)
    outputs = tuple(join.final[t] for t in whole.outputs)
    program = Program(Graph(whole.name, whole.inputs, outputs), tuple(join.kernels))
    first = join.found[0]
    parts = tuple(p for x in join.found for p in x.windows)
    return Extraction(whole, program, parts, join.steps, sum(x.seconds for x in join.found), first.values)


def _stage(name: str, wanted: tuple[Tensor, ...], places: Mapping[Tensor, Input]) -> Graph:
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
class _Joined:
    """Programs one after another, as one: `final` has what became of tensors of the graph."""

    taken: set[str]
    kernels: list[KernelPlan] = field(default_factory=list)
    steps: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    final: dict[Tensor, Tensor] = field(default_factory=dict)
    found: list[Extraction] = field(default_factory=list)

    def add(
        self, wanted: tuple[Tensor, ...], x: Extraction, places: Mapping[Tensor, Input],
        steps: Mapping[str, tuple[Step, ...]],
    ) -> None:  # fmt: skip
        """One more program, its inputs of stored tensors replaced by those tensors."""
        kept = {t.name for t in wanted}
        now: dict[Source, Source] = {i: self.final[t] for t, i in places.items() if t in self.final}
        for k in x.program.kernels:
            made: list[Tensor] = []
            for t in k.outputs:
                body = replace_sources(t.body, lambda s: now.get(s, s))
                name = t.name if t.name in kept else unique(t.name, self.taken)
                made.append(replace(t, name=name, body=body))
                now[t] = made[-1]
            self.taken |= {t.name for t in made}
            told = tuple(dict.fromkeys((*(s for t in made for s in steps.get(t.name, ())), *x.steps.get(k.name, ()))))
            self.steps[made[0].name] = told
            self.kernels.append(KernelPlan(made[0].name, tuple(made), tuple(dict.fromkeys(s.law for s in told))))
        for t, out in zip(wanted, x.program.graph.outputs, strict=True):
            done = now[out]
            assert isinstance(done, Tensor)
            self.final[t] = done
        self.found.append(x)
