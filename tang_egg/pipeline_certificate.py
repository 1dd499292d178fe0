"""The derivation of an extraction as a certificate: steps from the naive graph to the program, each of which checks."""

from __future__ import annotations

from tang_egg.errors import SelectionError
from tang_egg.extract.certificate import Certificate, certified_window, closing_steps, opening_steps
from tang_egg.extract.certificate_program import Ending, assembled
from tang_egg.normal import normal_form
from tang_egg.pipeline_compiled import Extraction
from tang_egg.windows import cut


def certificate(extraction: Extraction, *, texts: bool = False) -> Certificate:
    """The certificate of an extraction. `texts`: with the expressions before and after every step written out.

    Its program is the selected one: what a target cuts it into afterwards is no part of the derivation.
    Raises SelectionError when no path of laws leads to what was picked.
    """
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
            mend="extract the graph anew",
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
