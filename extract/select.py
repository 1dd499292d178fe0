"""The choice of kernels for one window, as an integer program.

Every class that may be written to memory has candidate kernels, one for each of its terms; kernels that fold over the
same indices may also be joined into one that writes several classes. Chosen kernels write all outputs, everything they
read is written by another, nothing needs itself; the sum of their times is least.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

import pulp

from tang_egg.cost.roofline import Costs, Estimate
from tang_egg.egraph import ClassId
from tang_egg.errors import SelectionError
from tang_egg.extract.siblings import join_siblings
from tang_egg.extract.solver import run
from tang_egg.extract.terms import Terms, Variant, uses
from tang_egg.ir import Reduce, Scalar, free, walk
from tang_egg.text import print_scalar


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel that could be run: the classes it writes, their joined terms, and what it would cost."""

    writes: tuple[ClassId, ...]
    terms: tuple[Scalar, ...]
    variants: tuple[Variant, ...]
    reads: tuple[ClassId, ...]
    estimate: Estimate


@dataclass(slots=True)
class Selection:
    """The chosen kernels in an order in which they can run, all candidates, and the predicted seconds."""

    chosen: list[Candidate]
    candidates: list[Candidate]
    seconds: float
    refused: dict[str, str] = field(default_factory=dict)
    """Why a class has no one-pass form, by a name of the class."""


def select(terms: Terms, outputs: Sequence[ClassId], costs: Costs) -> Selection:
    """The cheapest set of kernels that writes `outputs`. Raises SelectionError when no candidate can."""
    candidates = _candidates(terms, outputs, costs)
    writers = {c for k in candidates for c in k.writes}
    for c in outputs:
        if c not in writers:
            raise SelectionError(
                "an output has no executable term",
                where=f"class {c.number}; refused: {reasons(terms)}",
                mend="report this with the graph",
            )
    chosen = [_alone(terms, k, candidates, costs) for k in cheapest(candidates, outputs)]
    return Selection(chosen, candidates, sum(k.estimate.seconds for k in chosen), reasons(terms))


def cheapest(
    candidates: Sequence[Candidate], outputs: Sequence[ClassId], demands: Sequence[Collection[int]] = ()
) -> list[Candidate]:
    """The kernels that write `outputs` in the least time, in an order in which they can run.

    `demands`: sets of positions in `candidates`; of each at least one is taken, and all that it writes is of use:
    nothing is written twice, and something of what any other kernel writes is read.
    Raises SelectionError when no set of kernels does.
    """
    chosen = _needed(_once(_solve(candidates, outputs, demands)), outputs)
    return [chosen[n] for n in _sorter(chosen).static_order()]


def reasons(terms: Terms) -> dict[str, str]:
    """Why cascades were refused where none was accepted, by what was to be computed and the statistic followed."""
    accepted = {
        c for c, variants in terms.found.items() if any(v.node and v.node.constructor == "Casc" for v in variants)
    }
    return {
        f"{terms.names.get(c, f'class {c.number}')} at {print_scalar(term)}": reason
        for (c, reason), term in terms.refused.items()
        if c not in accepted and not terms.reads_stored(term)
    }


def _candidates(terms: Terms, outputs: Sequence[ClassId], costs: Costs) -> list[Candidate]:
    return _undominated(offered(terms, outputs, costs))


def offered(terms: Terms, outputs: Sequence[ClassId], costs: Costs, *, every: bool = False) -> list[Candidate]:
    """All kernels that could be run, those that others dominate among them.

    `every`: kernels of several classes also where the model finds kernels of one class each faster.
    """
    found: list[Candidate] = []
    needed: dict[ClassId, None] = {}
    pending = list(outputs)
    while pending:
        c = pending.pop()
        if c in needed:
            continue
        needed[c] = None
        for v in terms.found[c]:
            if v.node is None:
                continue
            made = _candidate(terms, (c,), (v,), costs)
            if made is not None:
                found.append(made)
                pending.extend(made.reads)
    return found + _joined(terms, found, costs, every)


def _undominated(candidates: list[Candidate]) -> list[Candidate]:
    """Without kernels that write the same as another, cost no less and read no less."""
    kept: list[Candidate] = []
    for k in sorted(candidates, key=lambda k: (k.estimate.seconds, len(k.reads))):
        if not any(b.writes == k.writes and set(b.reads) <= set(k.reads) for b in kept):
            kept.append(k)
    return kept


def _candidate(
    terms: Terms, writes: tuple[ClassId, ...], variants: tuple[Variant, ...], costs: Costs
) -> Candidate | None:
    joined = join_siblings(tuple(v.term for v in variants))
    reads = tuple(dict.fromkeys(r for t in joined for r in uses(t, terms.placeholders)))
    if set(reads) & set(writes):
        return None
    estimate = costs.kernel(joined, tuple(terms.axes[c] for c in writes))
    return Candidate(writes, joined, variants, reads, estimate)


FEW = 24
"""Up to so many classes that may be stored, a kernel of several may take any term of each; beyond, the best alone: the
integer program takes minutes otherwise."""


def _joined(terms: Terms, single: list[Candidate], costs: Costs, every: bool) -> list[Candidate]:
    """Kernels that write several classes: best terms of classes whose outermost folds run over the same points."""
    best = _best(single)
    behind = _behind(best)
    groups: dict[object, dict[ClassId, Candidate]] = {}
    # of a class whose best term has not the shape, the cheapest one that has; those in one pass stand before others
    few = len(best) <= FEW
    ranked = [*best.values(), *(sorted(single, key=lambda k: k.estimate.seconds) if few else ())]
    for k in sorted(ranked, key=lambda k: few and not _one_pass(k)):
        for s in _outer_folds(k):
            groups.setdefault((s.indices, s.where), {}).setdefault(k.writes[0], k)
    for k in ranked if few else ():
        for s in _outer_folds(k):
            groups.setdefault((s.indices, s.where, "as it is"), {}).setdefault(k.writes[0], k)
            groups.setdefault((s.indices, s.where, frozenset(k.reads)), {}).setdefault(k.writes[0], k)
            groups.setdefault((s.monoid, s.body), {}).setdefault(k.writes[0], k)
    found: list[Candidate] = []
    done: dict[tuple[Variant, ...], Candidate | None] = {}  # groups overlap
    place = {c: n for n, c in enumerate(best)}
    for members in groups.values():
        # outputs and what stands next to them first, since not all combinations are tried
        ordered = sorted(members.values(), key=lambda k: place[k.writes[0]])
        for count in (2, 3):
            for group in itertools.islice(itertools.combinations(ordered, count), 24):
                writes = tuple(k.writes[0] for k in group)
                if any(_waits(k, behind) & set(writes) for k in group) or not _same_grid(terms, writes):
                    continue
                variants = tuple(k.variants[0] for k in group)
                if variants not in done:
                    done[variants] = _candidate(terms, writes, variants, costs)
                made = done[variants]
                if made is not None and (every or made.estimate.seconds < sum(k.estimate.seconds for k in group)):
                    found.append(made)
    return found


def _best(single: list[Candidate]) -> dict[ClassId, Candidate]:
    """The kernel of each class that costs least, making what it reads included."""
    best: dict[ClassId, Candidate] = {}
    for k in single:
        c = k.writes[0]
        # by the cost that counts making what is read, or a kernel that reads everything would always seem best
        if c not in best or k.variants[0].cost < best[c].variants[0].cost:
            best[c] = k
    return best


def _outer_folds(k: Candidate) -> list[Reduce]:
    """The outermost folds of a kernel's first term, which another kernel may share."""
    return [s for s in walk(k.terms[0]) if isinstance(s, Reduce) and free(s) and not _inside(s, k)]


def _one_pass(k: Candidate) -> bool:
    return any(s.monoid.followers for s in _outer_folds(k))


def _waits(k: Candidate, behind: dict[ClassId, set[ClassId]]) -> set[ClassId]:
    """The classes that must be written before a kernel runs."""
    return {*k.reads, *(c for r in k.reads for c in behind.get(r, ()))}


def _behind(best: dict[ClassId, Candidate]) -> dict[ClassId, set[ClassId]]:
    """The classes that must be written before each class, where each is written by its best kernel."""
    behind: dict[ClassId, set[ClassId]] = {}
    for start in best:
        found, pending = set[ClassId](), [*best[start].reads]
        while pending:
            c = pending.pop()
            if c not in found:
                found.add(c)
                pending += best[c].reads if c in best else ()
        behind[start] = found
    return behind


def _inside(s: Reduce, k: Candidate) -> bool:
    """Whether a fold runs along with one around it; else it is finished before that one starts."""
    return any(
        free(s) & frozenset(x.indices) and s in walk(*x.body)
        for x in walk(k.terms[0])
        if isinstance(x, Reduce) and x is not s
    )


def _same_grid(terms: Terms, writes: tuple[ClassId, ...]) -> bool:
    """All classes share their leading axis, so that one grid serves them."""
    leading = {terms.axes[c][:1] for c in writes}
    return len(leading) == 1


def _solve(
    candidates: Sequence[Candidate], outputs: Sequence[ClassId], demands: Sequence[Collection[int]]
) -> list[Candidate]:
    found = solve(candidates, outputs, [k.estimate.seconds for k in candidates], demands)
    return [candidates[n] for n in found]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A second cost of each candidate, and what those of all chosen ones may come to together."""

    costs: Sequence[float]
    most: float


def solve(
    candidates: Sequence[Candidate],
    outputs: Sequence[ClassId],
    costs: Sequence[float],
    demands: Sequence[Collection[int]] = (),
    *,
    without: Sequence[Collection[int]] = (),
    under: Ceiling | None = None,
) -> list[int]:
    """Positions of the candidates that write `outputs` at the least sum of `costs`; one of infinite cost is not taken.

    `demands`: see `cheapest`. `without`: sets of positions of which at least one is not taken.
    Raises SelectionError when there are none.
    """
    program, take = written_out(candidates, outputs, costs, demands, without=without, under=under)
    while True:
        status = run(program)
        if status != "Optimal":
            raise SelectionError(
                f"the selection program is {status.lower()}",
                where=f"{len(candidates)} candidate kernels",
                mend="report this with the graph",
            )
        found = [n for n, x in enumerate(take) if (x.value() or 0) > 0.5]
        stuck = set(found) - set(in_order(candidates, found))
        if not stuck:
            return found
        # Circles are rare, so they are cut when they turn up instead of being ordered away beforehand: the first of the
        # kernels that write classes of a circle reads none of them.
        circle = {c for n in stuck for c in candidates[n].writes}
        circle -= {c for n in found if n not in stuck for c in candidates[n].writes}
        first = [take[m] for m, k in enumerate(candidates) if circle & set(k.writes) and not circle & set(k.reads)]
        for n, k in enumerate(candidates):
            if circle & set(k.writes) and circle & set(k.reads):
                program += pulp.lpSum(first) >= take[n]


def written_out(
    candidates: Sequence[Candidate],
    outputs: Sequence[ClassId],
    costs: Sequence[float],
    demands: Sequence[Collection[int]] = (),
    *,
    without: Sequence[Collection[int]] = (),
    under: Ceiling | None = None,
) -> tuple[pulp.LpProblem, list[pulp.LpVariable]]:
    """The integer program of `solve`, circles not ruled out yet, and its variables: which candidates are taken."""
    writers: dict[ClassId, list[int]] = {}
    for n, k in enumerate(candidates):
        for c in k.writes:
            writers.setdefault(c, []).append(n)
    program = pulp.LpProblem("kernels", pulp.LpMinimize)
    take = [pulp.LpVariable(f"k{n}", cat="Binary") for n in range(len(candidates))]
    for x, cost in zip(take, costs, strict=True):
        if cost == math.inf:
            x.upBound = 0
    program += pulp.lpSum(cost * 1e6 * x for cost, x in zip(costs, take, strict=True) if cost < math.inf)
    for some in without:
        program += pulp.lpSum(take[n] for n in some) <= len(some) - 1
    if under is not None:
        known = [(c, x) for c, x in zip(under.costs, take, strict=True) if c < math.inf]
        program += pulp.lpSum(c * 1e6 * x for c, x in known) <= under.most * 1e6
    for c in dict.fromkeys(outputs):
        program += pulp.lpSum(take[n] for n in writers.get(c, ())) >= 1
    for some in demands:
        program += pulp.lpSum(take[n] for n in some) >= 1
    if demands:
        for some in writers.values():
            program += pulp.lpSum(take[n] for n in some) <= 1
    for n, wanted in _uses(candidates, outputs, demands):
        program += pulp.lpSum(take[m] for m, k in enumerate(candidates) if set(k.reads) & wanted) >= take[n]
    # a variable for each class that is read: solvers branch on what is stored first, and are many times as fast
    kept = {c: pulp.LpVariable(f"c{n}", cat="Binary") for n, c in enumerate(dict.fromkeys(_read(candidates)))}
    for c, x in kept.items():
        program += pulp.lpSum(take[m] for m in writers.get(c, ())) >= x
    for n, k in enumerate(candidates):
        for c in k.reads:
            program += kept[c] >= take[n]
    return program, take


def in_order(candidates: Sequence[Candidate], some: Collection[int]) -> list[int]:
    """Those of some positions that can run one after another, each when all that it reads is written, in an order."""
    left, have = list(some), set[ClassId]()
    order: list[int] = []
    while ready := [n for n in left if have.issuperset(candidates[n].reads)]:
        order += ready
        left = [n for n in left if n not in ready]
        have.update(c for n in ready for c in candidates[n].writes)
    return order


def _read(candidates: Sequence[Candidate]) -> Iterator[ClassId]:
    return (c for k in candidates for c in k.reads)


def _uses(
    candidates: Sequence[Candidate], outputs: Sequence[ClassId], demands: Sequence[Collection[int]]
) -> Iterator[tuple[int, set[ClassId]]]:
    """Kernels with classes of which another must read one, or a demand could be met by work that nobody wants.

    Of what is demanded every class, of other kernels at least one.
    """
    demanded = {n for some in demands for n in some}
    for n, k in enumerate(candidates if demands else ()):
        inner = set(k.writes) - set(outputs)
        if n in demanded:
            yield from ((n, {c}) for c in k.writes if c in inner)
        elif len(inner) == len(k.writes):
            yield n, inner


def _sorter(chosen: list[Candidate]) -> TopologicalSorter[int]:
    """The order in which kernels, by position, can run."""
    writer = {c: n for n, k in enumerate(chosen) for c in k.writes}
    return TopologicalSorter({n: {writer[c] for c in k.reads if c in writer} for n, k in enumerate(chosen)})


def _needed(chosen: list[Candidate], outputs: Sequence[ClassId]) -> list[Candidate]:
    """The chosen kernels without what nobody reads: a joined kernel may offer more than was asked for."""
    while True:
        wanted = {*outputs, *(c for k in chosen for c in k.reads)}
        lean = [_restricted(k, wanted) for k in chosen if set(k.writes) & wanted]
        if lean == chosen:
            return chosen
        chosen = lean


def _alone(terms: Terms, k: Candidate, candidates: Sequence[Candidate], costs: Costs) -> Candidate:
    """A chosen kernel; made anew where it no longer writes all that it was joined of, whose folds it need not run."""
    if any(x.writes == k.writes and x.terms == k.terms for x in candidates):
        return k
    return _candidate(terms, k.writes, k.variants, costs) or k


def _once(chosen: list[Candidate]) -> list[Candidate]:
    """The chosen kernels without what one that can run earlier writes as well: joined kernels may overlap."""
    kept: list[Candidate] = []
    have = set[ClassId]()
    for n in in_order(chosen, range(len(chosen))):
        kept.append(_restricted(chosen[n], set(chosen[n].writes) - have))
        have.update(chosen[n].writes)
    return kept


def _restricted(k: Candidate, wanted: set[ClassId]) -> Candidate:
    kept = [n for n, c in enumerate(k.writes) if c in wanted]
    if len(kept) == len(k.writes):
        return k
    writes, terms = tuple(k.writes[n] for n in kept), tuple(k.terms[n] for n in kept)
    return Candidate(writes, terms, tuple(k.variants[n] for n in kept), k.reads, k.estimate)
