"""Rewritings of whole graphs and programs that a caller asks for, as records that can be checked: each is done again.

    chunk      folds up to a point of an axis run in chunks      before saturation (extract/chunk.py)
    split      folds along an axis are folds of shares            on the selected program (extract/split.py)
    products   products are sums of products of short numbers     likewise (extract/precision.py)
    shard      folds along an axis are folds over ranks           likewise, last (extract/shard.py)

A record says what was asked for, the laws by which that was done, where, and all that stands afterwards. A replay takes
from it the request alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tang_egg.errors import GraphError
from tang_egg.extract.chunk import Chunked, chunk_graph
from tang_egg.extract.derive import Step
from tang_egg.extract.precision import SCHEMES, split_products
from tang_egg.extract.replayed import refused
from tang_egg.extract.shard import shard_program
from tang_egg.extract.sharded import Sharded
from tang_egg.extract.split import split_program
from tang_egg.ir import Graph
from tang_egg.program import KernelPlan, Program
from tang_egg.rules.table import equalities

CHUNK, SPLIT, PRODUCTS, SHARD = "chunk", "split", "products", "shard"

Steps = Mapping[str, tuple[Step, ...]]


@dataclass(frozen=True, slots=True)
class Applied:
    """A law applied outside of the e-graph: in which kernel or tensor, and what stood there before and after."""

    law: str
    at: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Crossing:
    """What ranks exchange after a stage: the monoid under which states are merged, and the names of what is moved."""

    stage: int
    monoid: str
    sends: tuple[str, ...]
    gathers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """One request that was met. See the module text.

    `asked`: axes with numbers of points, shares or ranks; or the scheme of products. `programs`: what stands
    afterwards; of a chunked graph the tensors that are held are its kernels; of ranks there is one for each stage, with
    `crossings` between them and `cut`, the axes along which arrays are cut.
    """

    kind: str
    asked: tuple[tuple[str, int | str], ...]
    steps: tuple[Applied, ...]
    programs: tuple[Program, ...]
    crossings: tuple[Crossing, ...] = ()
    cut: tuple[tuple[str, int], ...] = ()


def applied(before: Steps, after: Steps, names: Iterable[str]) -> tuple[Applied, ...]:
    """The steps that a rewriting added, kernel by kernel; what several kernels share is told once, at the first."""
    old = {(s.law, s.before, s.after) for steps in before.values() for s in steps}
    found: dict[tuple[str, str, str], str] = {}
    for name in names:
        for s in after.get(name, ()):
            found.setdefault((s.law, s.before, s.after), name)
    return tuple(Applied(key[0], at, *key[1:]) for key, at in found.items() if key not in old)


def plain(program: Program) -> Program:
    """A program without the laws by which its kernels are told: steps say those."""
    return Program(program.graph, tuple(KernelPlan(k.name, k.outputs) for k in program.kernels))


def _names(program: Program) -> list[str]:
    return [k.name for k in program.kernels]


def split_rewriting(
    graph: Graph, program: Program, wanted: Mapping[str, int], known: Steps
) -> tuple[Rewriting, Program, dict[str, tuple[Step, ...]]]:
    """The program with folds in shares, its record, and the steps of all kernels. Raises as `split_program` does."""
    made, steps = split_program(graph, program, wanted, known)
    return Rewriting(SPLIT, tuple(wanted.items()), applied(known, steps, _names(made)), (plain(made),)), made, steps


def products_rewriting(program: Program, scheme: str) -> tuple[Rewriting, Program, dict[str, tuple[Step, ...]]]:
    """The program with products in parts, its record, and its new steps. Raises as `split_products` does."""
    made, steps = split_products(program, SCHEMES[scheme])
    return Rewriting(PRODUCTS, ((PRODUCTS, scheme),), applied({}, steps, _names(made)), (plain(made),)), made, steps


def shard_rewriting(graph: Graph, program: Program, axis: str, ranks: int) -> tuple[Rewriting, Sharded]:
    """The program over ranks, as a record. Raises as `shard_program` does."""
    made = shard_program(graph, program, axis, ranks)
    return sharded_record(made), made


def sharded_record(made: Sharded) -> Rewriting:
    """A program over ranks as a record."""
    crossings = tuple(
        Crossing(n, x.monoid.name, tuple(t.name for t in x.sends), tuple(i.name for i in x.gathers))
        for n, stage in enumerate(made.stages)
        for x in stage.exchanges
    )
    steps = applied({}, {made.graph.name: made.steps}, (made.graph.name,))
    cut = tuple({**made.inputs, **made.outputs}.items())
    return Rewriting(
        SHARD, ((made.name, made.ranks),), steps, tuple(plain(s.program) for s in made.stages), crossings, cut
    )


def chunk_rewriting(graph: Graph, wanted: Mapping[str, int]) -> tuple[Rewriting, Chunked]:
    """The graph in chunks, as a record. Raises as `chunk_graph` does."""
    cut = chunk_graph(graph, wanted)
    held = tuple(KernelPlan(t.name, (t,)) for t in cut.held)
    return Rewriting(CHUNK, tuple(wanted.items()), applied({}, cut.steps, cut.steps), (Program(cut.graph, held),)), cut


def again(claimed: Rewriting, graph: Graph, program: Program, where: str) -> Rewriting:
    """What the request of a record leads to on `program`, done anew. `graph`: what axes are named in.

    Raises LawError, saying what is wrong, for a request that cannot be met.
    """
    asked = dict(claimed.asked)
    try:
        if claimed.kind == SPLIT:
            return split_rewriting(graph, program, _numbers(asked, where), {})[0]
        if claimed.kind == CHUNK:
            return chunk_rewriting(graph, _numbers(asked, where))[0]
        if claimed.kind == PRODUCTS and asked.get(PRODUCTS) in SCHEMES:
            return products_rewriting(program, str(asked[PRODUCTS]))[0]
        if claimed.kind == SHARD and len(asked) == 1:
            ((axis, ranks),) = _numbers(asked, where).items()
            return shard_rewriting(graph, program, axis, ranks)[0]
    except GraphError as error:
        raise refused(f"{claimed.kind} cannot be done as it was asked for: {error.what}", where) from None
    raise refused(f"nothing is known of the rewriting '{claimed.kind}' by {_words(claimed.asked)}", where)


def check_same(claimed: Rewriting, made: Rewriting, where: str) -> None:
    """Raises LawError where a record is not what its request leads to, naming the first thing that differs."""
    if claimed.steps != made.steps:
        pairs = zip(claimed.steps, made.steps, strict=False)
        n, law = next(((n, a.law) for n, (a, b) in enumerate(pairs, 1) if a != b), (0, ""))
        what = f"step {n} ({law}) does not follow" if n else "it has another number of steps than laws are applied"
        raise refused(f"{claimed.kind} by {_words(claimed.asked)}: {what}", where)
    if len(claimed.programs) != len(made.programs):
        raise refused(f"{claimed.kind} gives {len(made.programs)} programs, not {len(claimed.programs)}", where)
    for ours, theirs in zip(made.programs, claimed.programs, strict=True):
        wrong = differing_kernel(ours, theirs)
        if wrong:
            raise refused(f"{claimed.kind} by {_words(claimed.asked)} does not end in the program that is claimed:"
                           f" {wrong} differs", where)  # fmt: skip
    if claimed.crossings != made.crossings or claimed.cut != made.cut:
        raise refused(f"{claimed.kind} by {_words(claimed.asked)}: ranks hold or exchange something else", where)


def check_marks(claimed: Rewriting, ieee: bool, where: str) -> None:
    """Raises LawError for a law that the table has not, or that a derivation for all IEEE values may not use."""
    laws = equalities()
    for n, s in enumerate(claimed.steps, 1):
        if s.law not in laws:
            raise refused(f"step {n} ({s.law}) does not follow: the table has no such law", where)
        if ieee and laws[s.law].holds != "ieee":
            raise refused(
                f"step {n} ({s.law}) does not follow: the law holds on finite values only, and the derivation is for"
                " all IEEE values",
                where,
            )


def differing_kernel(made: Program, claimed: Program) -> str:
    """The first kernel in which two programs differ, or nothing when they are equal node by node."""
    ours = [(k.name, k.outputs) for k in made.kernels]
    theirs = [(k.name, k.outputs) for k in claimed.kernels]
    if made.graph == claimed.graph and ours == theirs:
        return ""
    return next((a[0] for a, b in zip(ours, theirs, strict=False) if a != b), "its kernels")


def _numbers(asked: Mapping[str, int | str], where: str) -> dict[str, int]:
    found = {k: v for k, v in asked.items() if isinstance(v, int)}
    if len(found) != len(asked) or not found:
        raise refused(f"axes are asked for in whole numbers, not {_words(asked.items())}", where)
    return found


def _words(asked: Iterable[tuple[str, int | str]]) -> str:
    return ", ".join(f"{k}: {v}" for k, v in asked) or "nothing"
