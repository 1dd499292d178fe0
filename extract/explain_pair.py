"""Whether two classes could be computed by one kernel, and what that would cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tang_egg.egraph import ClassId
from tang_egg.extract.explain import Choice, Explainer, Reason, fold_spaces
from tang_egg.extract.select import Candidate, _candidate, _same_grid


@dataclass(frozen=True, slots=True)
class PairStory:
    """`kernels`: positions of chosen kernels that compute both. `best`: the cheapest choice with such a kernel."""

    kernels: tuple[int, ...]
    best: Choice | None
    reasons: tuple[Reason, ...]


def pair_story(x: Explainer, a: ClassId, b: ClassId) -> PairStory:
    """What is known of `a` and `b` in one kernel."""
    both = tuple(n for n, k in enumerate(x.selection.chosen) if {a, b} <= x.inside(k))
    if both:
        return PairStory(both, None, ())
    what = f"{x.words.name(a)} and {x.words.name(b)} in one kernel"
    able = [k for k in x.selection.candidates if {a, b} <= x.inside(k)]
    best = x.forced(able, what) if able else None
    if best is not None:
        return PairStory((), best, ())
    if able:
        return PairStory((), None, (Reason("use", f"{len(able)} candidates hold both, and none of them is of use"),))
    made, reasons = _made(x, a, b)
    if made is not None:
        best = x.forced([made], f"{what}, which selection left out", [made])
    return PairStory((), best, tuple(reasons))


def _made(x: Explainer, a: ClassId, b: ClassId) -> tuple[Candidate | None, list[Reason]]:
    """A kernel that writes both, made of the best terms of each, or why there is none."""
    alone = {c: [k for k in x.selection.candidates if k.writes == (c,)] for c in (a, b)}
    reasons = list(_apart(x, alone))
    if reasons:
        return None, reasons
    first, second = (min(alone[c], key=lambda k: k.variants[0].cost) for c in (a, b))
    if a in second.reads or b in first.reads:
        one, other = (b, a) if a in second.reads else (a, b)
        text = f"{x.words.name(one)} reads {x.words.name(other)}: a kernel that writes it cannot read it from memory"
        return None, [Reason("space", text), *x.barriers(other)]
    if not _same_grid(x.terms, (a, b)):
        axes = " and ".join(f"[{', '.join(i.name for i in x.terms.axes[c])}]" for c in (a, b))
        return None, [Reason("space", f"their leading axes differ, so that no grid serves both: {axes}")]
    made = _candidate(x.terms, (a, b), (first.variants[0], second.variants[0]), x.terms.costs)
    if made is None:
        return None, [Reason("space", "a kernel cannot read what it writes")]
    reasons = []
    if not fold_spaces(first.terms[0]) & fold_spaces(second.terms[0]):
        reasons.append(Reason("space", "they do not fold over the same points, so that joining them saves nothing"))
    apart = first.estimate.seconds + second.estimate.seconds
    reasons.append(Reason("cost", "one kernel for both beside two kernels", (made.estimate.seconds, apart)))
    return made, reasons


def _apart(x: Explainer, alone: dict[ClassId, list[Candidate]]) -> Iterator[Reason]:
    """Why a class of a pair has no kernel of its own."""
    for c, found in alone.items():
        if not found:
            why = x.unstorable(c)
            text = why.text if why else "no candidate kernel writes it alone"
            yield Reason(why.kind if why else "space", f"{x.words.name(c)}: {text}")
