"""What became of a law in one window: found or not, asserted or not, picked, refused, or beaten on cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tang_egg.egraph import ClassId, ENode
from tang_egg.extract.explain import Choice, Explainer, Reason
from tang_egg.extract.select import Candidate, _candidate
from tang_egg.extract.siblings import JOINED, count_points
from tang_egg.extract.terms import Variant
from tang_egg.rules.law import Closure, Entry, Law, Seed

_SHOWN = 6


@dataclass(frozen=True, slots=True)
class LawStory:
    """`found`: how often the left side was matched. `asserted`: pairs of e-nodes that the law united.

    `used`: positions of the chosen kernels whose derivation has it. `best`: the cheapest choice with a kernel that a
    candidate derives by it. `reasons`: what stood in the way.
    """

    found: int
    asserted: int
    used: tuple[int, ...]
    best: Choice | None
    reasons: tuple[Reason, ...]


def law_story(x: Explainer, entry: Entry, values: str) -> LawStory:
    """What became of a law in the window of `x`; `values` are those that saturation allowed."""
    law = entry.name
    if law == JOINED:
        return _joined(x)
    saturation = x.terms.saturation
    edges = [(left, right) for name, left, right in saturation.snapshot.edges if name == law]
    found = saturation.matches.get(law, len(edges) if isinstance(entry, Seed) else 0)
    used = tuple(n for n, k in enumerate(x.selection.chosen) if _has(x, k, law))
    if used:
        return LawStory(found, len(edges), used, None, ())
    if not edges:
        return LawStory(found, 0, (), None, tuple(_unmatched(entry, found, values)))
    users = [k for k in x.selection.candidates if _has(x, k, law)]
    best = x.forced(users, f"with a kernel derived by {law}") if users else None
    reasons = dict.fromkeys(_lost(x, edges)) if best is None else {}
    if users and best is None:
        reasons = {Reason("use", "kernels derived by it are candidates, but no set of kernels has a use for one"): None}
    return LawStory(found, len(edges), (), best, tuple(reasons)[:_SHOWN])


def _has(x: Explainer, k: Candidate, law: str) -> bool:
    return any(s.law == law for s in x.steps(k))


def _joined(x: Explainer) -> LawStory:
    """The story of what selection joins: a kernel whose folds were joined no longer has the terms of its variants."""
    joined = [k for k in x.selection.candidates if _is_joined(k)]
    used = tuple(n for n, k in enumerate(x.selection.chosen) if _is_joined(k))
    best = x.forced(joined, f"with a kernel joined by {JOINED}") if joined and not used else None
    reasons = () if joined else (Reason("law", "no two folds over the same points met in one kernel"),)
    return LawStory(len(joined), len(joined), used, best, reasons)


def _is_joined(k: Candidate) -> bool:
    return k.terms != tuple(count_points(v.term) for v in k.variants)


def _unmatched(entry: Entry, found: int, values: str) -> Iterator[Reason]:
    """Why nothing was united."""
    if isinstance(entry, Closure):
        held = "its facts are what other laws ask for" if found else "what it asks for was never found"
        yield Reason("law", f"it derives facts and unites nothing; {held}")
        return
    if values == "ieee" and entry.holds != "ieee":
        yield Reason("values", "it holds on finite values only, and the graph was optimised with values='ieee'")
        return
    if isinstance(entry, Law) and not found and entry.phase in ("algebraic", "on_demand"):
        why = {
            "algebraic": "its terms may cancel or overflow, so it runs only where ranges= or budget= are given, and"
            " then where its left side is found",
            "on_demand": "saturation does not run it: chunk= asks for it by name, or schedules do what it says without"
            " a rewrite",
        }
        yield Reason("law", why[entry.phase])
        return
    if found:
        yield Reason("law", "its left side was found, and both sides were one already")
    elif isinstance(entry, Law):
        conditions = f" with {', '.join(c.says for c in entry.when)}" if entry.when else ""
        yield Reason("law", f"its left side was never found{conditions}")
    else:
        yield Reason("law", "the front end saw nothing that it speaks of")


def _lost(x: Explainer, edges: list[tuple[ENode, ENode]]) -> Iterator[Reason]:
    """Why no candidate has a term that a law made."""
    snapshot = x.terms.saturation.snapshot
    home = {n: c for c, nodes in snapshot.classes.items() for n in nodes}
    refused: dict[ClassId, list[str]] = {}
    for c, why in x.terms.refused:
        refused.setdefault(c, []).append(why)
    for left, right in edges:
        at = ClassId(right.args[0].number) if right.constructor == "Is" else home.get(right, home.get(left))
        if at is None:
            yield Reason("law", "what it made stands in no class any more: a law that subsumes replaced it")
            continue
        name = x.words.name(at)
        if right.constructor == "Casc":
            yield from (
                Reason("refused", f"its one-pass form of {name} was refused: {why}") for why in refused.get(at, ())
            )
        elif right.constructor == "Is" or right not in home:
            yield Reason("use", f"it says that {name} is something that the picked kernels compute anyway")
        else:
            yield _beaten(x, at, right)


def _beaten(x: Explainer, c: ClassId, made: ENode) -> Reason:
    """What the best term of an e-node costs beside those that its class keeps, or which limit it exceeds."""
    name, kept = x.words.name(c), [v for v in x.terms.found.get(c, ()) if v.node is not None]
    offers = list(x.terms._of_node(c, made))
    fitting = [v for v in offers if x.beyond(c, v.term) is None]
    if not offers:
        return Reason("space", f"its form of {name} has no term of the language")
    if not fitting:
        over = x.beyond(c, offers[0].term)
        return Reason("limit", f"its form of {name}: {over.text if over else ''}")
    best = min(fitting, key=lambda v: v.cost)
    held = [v for v in kept if v.node == made]
    if held:
        return _dominated(x, c, held) or Reason(
            "use", f"its form of {name} is kept, and no candidate kernel needs that"
        )
    return Reason("cost", f"its form of {name} is not among those kept", (best.cost, min(v.cost for v in kept)))


def _dominated(x: Explainer, c: ClassId, held: list[Variant]) -> Reason | None:
    """The kernels for a class by some of its terms beside a candidate that reads no more and costs no more."""
    if c not in x.terms.axes:
        return None
    for v in held:
        made = _candidate(x.terms, (c,), (v,), x.terms.costs)
        rivals = [] if made is None else [
            k.estimate.seconds for k in x.selection.candidates
            if k.writes == (c,) and set(k.reads) <= set(made.reads) and k.estimate.seconds <= made.estimate.seconds
        ]  # fmt: skip
        if made is not None and rivals:
            text = f"a kernel for {x.words.name(c)} by it costs no less than one without it"
            return Reason("cost", text, (made.estimate.seconds, min(rivals)))
    return None
