"""What measurements and floors say of a choice that was not made: slower as measured, ruled out, or open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tang_egg import report_format as say
from tang_egg.errors import SelectionError
from tang_egg.extract.certify import Outcome
from tang_egg.extract.certify_choice import costs
from tang_egg.extract.explain import Reason
from tang_egg.extract.select import Candidate, solve
from tang_egg.extract.space import WindowSpace
from tang_egg.report_asked import Known


def with_some(known: Known, part: int, wanted: Callable[[Candidate], bool], what: str) -> Reason | None:
    """What the cheapest kernels take, one of those wanted among them, beside those that were measured and chosen.

    None where nothing was timed, or where the space holds no such kernels.
    """
    found = _space(known, part)
    if found is None:
        return None
    evidence, n = found
    w = evidence.bounds[n].window
    return _told(evidence, n, w, [c for c, k in enumerate(w.candidates) if wanted(k)], (), what)


def without(known: Known, part: int, lacking: Callable[[Candidate], bool], what: str) -> Reason | None:
    """The same for kernels none of which is as `lacking` says."""
    found = _space(known, part)
    if found is None:
        return None
    evidence, n = found
    w = evidence.bounds[n].window
    return _told(evidence, n, w, None, [c for c, k in enumerate(w.candidates) if lacking(k)], what)


def _space(known: Known, part: int) -> tuple[Outcome, int] | None:
    """The search, and the position of a window among the distinct ones."""
    evidence = known.extraction.evidence
    if evidence is None:
        return None
    _, _, result = known.extraction.windows[part]
    return evidence, [id(r) for r in known.extraction.distinct].index(id(result))


def _told(
    evidence: Outcome, n: int, w: WindowSpace, wanted: list[int] | None, banned: Sequence[int], what: str
) -> Reason | None:
    upper = evidence.bounds[n].upper
    if upper is None or wanted == []:
        return None
    own = costs(w, [x.cost for x in evidence.ledgers])
    used = [float("inf") if c in set(banned) else cost for c, cost in enumerate(own)]
    try:
        taken = solve(w.candidates, w.outputs, used, [] if wanted is None else [wanted])
    except SelectionError:
        return None
    if set(taken) == set(upper.taken):
        return None
    seconds = sum(own[c] for c in taken)
    kernels = {k for c in taken for k in w.runs[c]}
    chosen = f"{say.seconds(upper.seconds)} were measured for what was chosen"
    if all(evidence.ledgers[k].settled for k in kernels):
        return Reason("measured", f"{what}: {say.seconds(seconds)} measured, and {chosen}")
    if seconds >= upper.seconds:
        bound = [evidence.ledgers[k] for k in kernels if not evidence.ledgers[k].settled]
        binds = min((f for x in bound for f in x.kernel.floors), key=lambda f: f.seconds).binding
        return Reason("floor", f"{what}: at least {say.seconds(seconds)} by its floors ({binds}), and {chosen}")
    text = f"{what}: at least {say.seconds(seconds)} by its floors, and {chosen}: more time may show that it is faster"
    return Reason("open", text)
