"""Replay: a certificate's steps applied one by one to the naive graph, each checked before it is believed.

What is taken from the certificate is which law is used where, and on what. Everything else is made anew from the graph:
its normal form and windows, their terms, the equalities and facts of the front end. A step is refused unless the place
holds what the law says (operands of commutative operations in any order), its facts were established by steps before
it, its conditions hold, and what stands there afterwards is the law's other side. The end has to be the program, node
by node.
"""

from __future__ import annotations

import itertools

from tang_egg.errors import LawError
from tang_egg.extract.certificate import (
    Certificate,
    CertifiedStep,
    closing_steps,
    opening_steps,
)
from tang_egg.extract.certificate_program import Ending, assembled
from tang_egg.extract.chunk_stages import chunk_stages, joined
from tang_egg.extract.replay_numbers import compare_graphs
from tang_egg.extract.replay_rewriting import replay_rewritings
from tang_egg.extract.replay_window import WindowReplay
from tang_egg.extract.replayed import Replayed, refused
from tang_egg.extract.rewriting import CHUNK, again, check_marks, check_same, chunk_rewriting, differing_kernel
from tang_egg.ir import Graph
from tang_egg.normal import normal_form
from tang_egg.program import Program
from tang_egg.windows import Canonical, canonical, cut


def replay(certificate: Certificate, graph: Graph, *, numbers: bool = False) -> Replayed:
    """The program to which a certificate's steps lead from `graph`, every step checked, to the very end.

    What was asked for beyond selection is done again, and the results are compared on numbers where the graph is small
    enough. `numbers`: after each step of a window, too, all that the steps have made so far is interpreted on random
    inputs and compared with the naive graph; for graphs that are small enough to be interpreted.
    Raises LawError, naming the step, for one that does not follow, and when the end is not the certificate's program.
    """
    if graph != certificate.graph:
        raise LawError(
            f"the certificate is of another graph: '{certificate.graph.name}'",
            where=f"graph '{graph.name}'",
            mend="replay it on the graph that it was made from, or derive it anew",
        )
    if certificate.stages or any(r.kind == CHUNK for r in certificate.rewritings):
        found = _replay_stages(certificate, graph, numbers)
    else:
        found = _replay_windows(certificate, graph, numbers)
    return replay_rewritings(certificate, graph, found)


def _replay_windows(certificate: Certificate, graph: Graph, numbers: bool) -> Replayed:
    """The selected program, from the windows of the graph."""
    normal = normal_form(graph, axes=certificate.axes, ieee=certificate.ieee)
    windows = cut(normal)
    shared = [canonical(w) for w in windows]
    if len(windows) != len(certificate.parts) or any(not 0 <= n < len(certificate.windows) for n in certificate.parts):
        raise LawError(
            f"the certificate has {len(certificate.parts)} windows, the graph {len(windows)}",
            where=f"graph '{graph.name}'",
            mend="derive the certificate anew with this version",
        )
    texts = any(s.texts for s in certificate.opening)
    _outer("first", certificate.opening, opening_steps(graph, normal, windows, certificate.parts, texts), graph)
    if numbers:
        compare_graphs(graph, normal)
    ends: dict[int, tuple[Canonical, Ending, tuple[str, ...]]] = {}
    endings: list[Ending] = []
    for n, own in zip(certificate.parts, shared, strict=True):
        known = ends.get(n)
        if known is None or (known[0].tensors, known[0].roots) != (own.tensors, own.roots):
            if known is not None:
                raise LawError(
                    f"window {n + 1} of the certificate stands for windows that differ",
                    where=f"graph '{graph.name}'",
                    mend="derive the certificate anew",
                )
            run = WindowReplay(certificate.windows[n], own, n + 1, certificate.ieee, numbers)
            ends[n] = (own, run.run(), tuple(run.checked))
        endings.append(ends[n][1])
    if len(ends) != len(certificate.windows):
        raise LawError(
            "the certificate has windows that the graph has not",
            where=f"graph '{graph.name}'",
            mend="derive the certificate anew",
        )
    program = assembled(normal, list(zip(windows, shared, endings, strict=True)))
    _outer("last", certificate.closing, closing_steps(program), graph)
    _same(program, certificate.program)
    if numbers:
        compare_graphs(graph, program.graph)
    return Replayed(program, tuple(ends[n][2] for n in range(len(certificate.windows))))


def _outer(which: str, claimed: tuple[CertifiedStep, ...], made: tuple[CertifiedStep, ...], graph: Graph) -> None:
    """Raises LawError unless the steps outside of windows are those that the graph leads to."""
    for n, (ours, theirs) in enumerate(itertools.zip_longest(made, claimed), 1):
        if ours != theirs:
            name = theirs.name if theirs is not None else ours.name if ours is not None else ""
            raise refused(
                f"step {n} ({name}) of the {which} steps is not what the graph leads to",
                f"graph '{graph.name}'",
            )


def _same(made: Program, claimed: Program) -> None:
    """Raises LawError unless two programs are equal node by node."""
    wrong = differing_kernel(made, claimed)
    if wrong:
        raise LawError(
            f"the steps do not end in the program of the certificate: {wrong} differs",
            where=f"graph '{made.graph.name}', after the last step",
            mend="derive the certificate anew",
        )


def _replay_stages(certificate: Certificate, graph: Graph, numbers: bool) -> Replayed:
    """The selected program of a graph in chunks, from those of its stages."""
    first, where = next(iter(certificate.rewritings), None), f"graph '{graph.name}', rewriting 1"
    if first is None or first.kind != CHUNK or any(r.kind == CHUNK for r in certificate.rewritings[1:]):
        raise refused(
            "only the first rewriting cuts a graph into chunks, and only such a graph has stages",
            f"graph '{graph.name}'",
        )
    check_marks(first, certificate.ieee, where)
    check_same(first, again(first, graph, certificate.program, where), where)
    cut = chunk_rewriting(graph, {k: int(n) for k, n in first.asked})[1]
    stages = chunk_stages(cut)
    if len(stages) != len(certificate.stages) or any(c.ieee != certificate.ieee for c in certificate.stages):
        raise LawError(
            f"the certificate has {len(certificate.stages)} stages, the graph in chunks {len(stages)}",
            where=f"graph '{graph.name}'",
            mend="derive the certificate anew with this version",
        )
    done = [replay(c, stage.graph, numbers=numbers) for c, stage in zip(certificate.stages, stages, strict=True)]
    program = joined(cut, [d.program for d in done]).program
    _same(program, certificate.program)
    return Replayed(program, tuple(c for d in done for c in d.checked))
