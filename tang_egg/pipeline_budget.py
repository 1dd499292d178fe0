"""Variants that may cancel or overflow, picked where the ranges of the inputs and an error budget accept them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from tang_egg.budget import ErrorBudget
from tang_egg.ir import Graph
from tang_egg.pipeline_compiled import Extraction
from tang_egg.ranges import Range
from tang_egg.saturate import Limits

Enclosures: TypeAlias = "Mapping[str, Range | tuple[float, float]]"


def extract_within(
    extracted: Callable[[Limits], Extraction],
    graph: Graph,
    limits: Limits,
    budget: ErrorBudget | None,
    ranges: Enclosures | None,
) -> Extraction:
    """An extraction by all laws, those that may cancel or overflow included, if a budget accepts it; else without them.

    `extracted` extracts the graph under some limits. With neither a budget nor ranges such laws are not used; ranges
    alone mean the default budget. `Extraction.verdict` is what the budget said, where the laws led to anything new.
    """
    plain = extracted(limits)
    if budget is None and ranges is None:
        return plain
    known = budget or ErrorBudget()
    if ranges is not None:
        known = replace(known, ranges={**known.ranges, **ranges})
    daring = extracted(replace(limits, algebraic=True))
    if str(daring.program.graph) == str(plain.program.graph):
        return plain
    verdict = known.accepts(graph, daring.program.graph)
    return replace(daring if verdict else plain, verdict=verdict)
