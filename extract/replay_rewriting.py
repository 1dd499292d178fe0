"""The end of a replay: what a caller asked for beyond selection is done again, compared, and tried on numbers."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tang_egg.errors import LawError
from tang_egg.extract.certificate import Certificate
from tang_egg.extract.precision import SCHEMES
from tang_egg.extract.replay_numbers import RELATIVE, differing, drawn, drawn_dims
from tang_egg.extract.replayed import Replayed, refused
from tang_egg.extract.rewriting import (
    CHUNK,
    PRODUCTS,
    SHARD,
    Rewriting,
    again,
    check_marks,
    check_same,
    shard_rewriting,
)
from tang_egg.interpret import interpret
from tang_egg.ir import Graph, Reduce, Scan, free, tensors_of, walk
from tang_egg.program import Program

MOST_POINTS = 1 << 20
"""Points of all folds and tensors of a graph up to which it is interpreted."""

ROOM = 64.0
"""What a product in parts may be off, over the bound of its scheme times the largest result: sums may cancel."""


def replay_rewritings(certificate: Certificate, graph: Graph, found: Replayed) -> Replayed:
    """A replay that reached the selected program, led on through all that was asked for beyond it.

    Raises LawError for a record that is not what its request leads to, and for values that differ from the graph's.
    """
    small = _points(graph) <= MOST_POINTS
    program, hows = found.program, list[str]()
    programs: tuple[Program, ...] = (program,)
    for n, r in enumerate(certificate.rewritings, 1):
        where = f"graph '{graph.name}', rewriting {n} of {len(certificate.rewritings)}"
        if r.kind != CHUNK:
            if len(programs) != 1:
                raise _after_ranks(where)
            check_marks(r, certificate.ieee, where)
            before = program
            check_same(r, again(r, graph, before, where), where)
            programs = r.programs
            program = before if r.kind == SHARD else programs[0]
            if r.kind == SHARD and small:
                _try_ranks(graph, before, r, _room(certificate), where)
        if small and r.kind != SHARD:
            _try(graph, program.graph, _room(certificate), where)
        hows.append("done again, and compared on numbers" if small else "done again")
    return replace(found, ending=programs, rewritten=tuple(hows))


def _room(certificate: Certificate) -> float:
    """How far results may be from the graph's: parts of products leave something out, at most what they state."""
    bounds = [SCHEMES[str(n)].bound for r in certificate.rewritings if r.kind == PRODUCTS for _, n in r.asked]
    return max([RELATIVE, *(ROOM * b for b in bounds)])


def _try(graph: Graph, other: Graph, room: float, where: str) -> None:
    arrays, dims = drawn(graph)
    expected = interpret(graph, arrays, dims, checked=False)
    wrong = differing(expected, interpret(other, arrays, dims, checked=False), room)
    if wrong:
        raise _differs(wrong, where)


def _try_ranks(graph: Graph, before: Program, r: Rewriting, room: float, where: str) -> None:
    """All ranks together, one after another, beside the graph; a symbolic axis as long as the ranks need it."""
    ((axis, ranks),) = r.asked
    made = shard_rewriting(graph, before, axis, int(ranks))[1]
    cut, dims = made.cut_dim, drawn_dims(graph)
    if cut is not None:
        step = made.ranks * cut.multiple
        dims[cut.name] = -(-dims[cut.name] // step) * step
    arrays, dims = drawn(graph, dims)
    wrong = differing(interpret(graph, arrays, dims, checked=False), made.interpret(arrays, dims), room)
    if wrong:
        raise _differs(wrong, where)


def _points(graph: Graph) -> float:
    """The points of all tensors and folds, at the sizes that are drawn."""
    dims = drawn_dims(graph)
    total = 0
    for t in tensors_of(graph.outputs):
        spaces = [set(t.axes)]
        for s in walk(t.body):
            if isinstance(s, (Reduce, Scan)):
                own = s.indices if isinstance(s, Reduce) else (s.index,)
                spaces.append({*free(s), *own, *t.axes})
        total += sum(prod(i.size.evaluate(dims) for i in space) for space in spaces)
    return total


def _differs(name: str, where: str) -> LawError:
    return LawError(f"'{name}' has other values than the graph says", where=where, mend="derive the certificate anew")


def _after_ranks(where: str) -> LawError:
    return refused("a program over ranks is not rewritten any further", where)
