"""Folds up to a point, in chunks that a caller asks for: the graph is cut first, then saturated and selected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tang_egg.errors import GraphError
from tang_egg.extract.chunk import Chunked
from tang_egg.extract.chunk_stages import chunk_stages, joined
from tang_egg.extract.derive import Step
from tang_egg.extract.rewriting import Rewriting, chunk_rewriting
from tang_egg.ir import Graph
from tang_egg.pipeline_compiled import Extraction
from tang_egg.program import KernelPlan, Program


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
    record, cut = chunk_rewriting(graph, chunk)
    return _in_stages(extracted, graph, cut, record) if cut.held else extracted(graph)


def _in_stages(extracted: Callable[[Graph], Extraction], graph: Graph, cut: Chunked, record: Rewriting) -> Extraction:
    """The extractions of all tensors that are held, each reading those before it from memory, and of the outputs."""
    found = tuple(extracted(stage.graph) for stage in chunk_stages(cut))
    made = joined(cut, [x.program for x in found])
    steps: dict[str, tuple[Step, ...]] = {}
    plans: list[KernelPlan] = []
    for x, kernels in zip(found, made.kernels, strict=True):
        for name, k in kernels.items():
            own = (s for t in k.outputs for s in cut.steps.get(t.name, ()))
            steps[k.name] = tuple(dict.fromkeys((*own, *x.steps.get(name, ()))))
            plans.append(replace(k, laws=tuple(dict.fromkeys(s.law for s in steps[k.name]))))
    program = Program(made.program.graph, tuple(plans))
    parts = tuple(p for x in found for p in x.windows)
    seconds = sum(x.seconds for x in found)
    return Extraction(
        graph, program, parts, steps, seconds, found[0].values, selected=program, rewritings=(record,), stages=found
    )
