"""The derivation of an extraction as a certificate: steps from the naive graph to the program, each of which checks."""

from __future__ import annotations

from dataclasses import replace

from tang_egg.errors import LawError, SelectionError
from tang_egg.extract.certificate import Certificate, certified_window, closing_steps, opening_steps
from tang_egg.extract.certificate_program import Ending, assembled
from tang_egg.extract.rewriting import check_marks, plain, sharded_record
from tang_egg.extract.sharded import Sharded
from tang_egg.normal import normal_form
from tang_egg.pipeline_compiled import Extraction
from tang_egg.windows import cut


def certificate(extraction: Extraction, *, texts: bool = False, sharded: Sharded | None = None) -> Certificate:
    """The certificate of an extraction. `texts`: with the expressions before and after every step written out.

    It ends in the program after all that a caller asked for: chunks, shares, products in parts, and, with `sharded`
    (what shard_program made of the extraction's program), parts for ranks. What a target cuts that into afterwards is
    no part of the derivation.
    Raises SelectionError when no path of laws leads to what was picked, or where a step holds on finite values only
    and the extraction is for all IEEE values.
    """
    made = _in_stages(extraction, texts) if extraction.stages else _of_windows(extraction, texts)
    records = (*extraction.rewritings, *((sharded_record(sharded),) if sharded is not None else ()))
    for n, r in enumerate(records, 1):
        try:
            check_marks(r, made.ieee, f"graph '{extraction.graph.name}', rewriting {n}")
        except LawError as error:
            raise SelectionError(
                f"a derivation for all IEEE values cannot be given: {error.what}",
                where=error.where,
                mend="extract with values='finite', or ask for less",
            ) from None
    return replace(made, rewritings=records)


def _in_stages(extraction: Extraction, texts: bool) -> Certificate:
    """The certificate of a graph in chunks: one for each stage."""
    stages = tuple(certificate(x, texts=texts) for x in extraction.stages)
    program = plain(extraction.selected or extraction.program)
    return Certificate(extraction.graph, (), (), program, False, extraction.values == "ieee", stages=stages)


def _of_windows(extraction: Extraction, texts: bool) -> Certificate:
    """The certificate of the selected program."""
    graph, ieee = extraction.graph, extraction.values == "ieee"
    windows = tuple(w for w, _, _ in extraction.windows)
    for axes in (False, True):
        normal = normal_form(graph, axes=axes, ieee=ieee)
        if cut(normal) == windows:
            break
    else:
        raise SelectionError(
            "a derivation cannot be given: the graph's windows are not those that were saturated",
            where=f"graph '{graph.name}'",
            mend="extract the graph anew: an extraction keeps the graph that it was made from",
        )
    distinct = extraction.distinct
    numbers = {id(r): n for n, r in enumerate(distinct)}
    parts = [
        (window, shared, Ending(tuple(k.outputs for k in result.kernels), result.roots))
        for window, shared, result in extraction.windows
    ]
    program, order = assembled(normal, parts), tuple(numbers[id(r)] for _, _, r in extraction.windows)
    return Certificate(
        graph,
        tuple(certified_window(r, texts) for r in distinct),
        order,
        program,
        axes,
        ieee,
        opening_steps(graph, normal, windows, order, texts),
        closing_steps(program),
    )
