"""Answers to why a law, two tensors in one kernel, or a candidate was not picked."""

from __future__ import annotations

import time

from tang_egg.errors import TangError
from tang_egg.extract.explain import Reason, numbered
from tang_egg.extract.explain_law import LawStory, law_story
from tang_egg.extract.explain_pair import pair_story
from tang_egg.extract.select import Candidate
from tang_egg.progress import note
from tang_egg.report_answer import Answer
from tang_egg.report_asked import SHOWN, Known, alternatives, listed, named_laws
from tang_egg.report_format import count
from tang_egg.report_why_measured import with_some, without

PRICING = 15.0
"""Seconds that a page may take to price its candidates: each takes the solver some 20 ms."""


def pair_answer(known: Known, asked: str) -> Answer:
    """Whether NAME+NAME are computed by one kernel, and what such a kernel would cost."""
    names = [n.strip() for n in asked.split("+")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise TangError(
            f"'{asked}' does not name two tensors", where=f"--why-not {asked}", mend="write NAME+NAME, two tensors"
        )
    spots = [known.spots(n) for n in names]
    for n, found in zip(names, spots, strict=True):
        if not found:
            raise known.unknown(n, "--why-not")
    shared = [(a, b) for a in spots[0] for b in spots[1] if a.part == b.part]
    if not shared:
        cut = [t.name for t in known.extraction.windows[min(spots[0][0].part, spots[1][0].part)][0].roots]
        text = f"the graph is cut at {listed(cut)} between them, and no kernel reaches over a cut"
        verdict = f"{names[0]} and {names[1]} stand in different windows"
        return Answer("why not", asked, "pair", verdict, reasons=(Reason("space", text),))
    a, b = shared[0]
    story = pair_story(a.about, a.c, b.c)
    kernels = known.kernels(a.part, story.kernels)
    if kernels:
        verdict = f"{names[0]} and {names[1]} are computed by one kernel: {listed(kernels)}"
    elif story.best:
        verdict = f"one kernel could compute {names[0]} and {names[1]}, and was not picked"
    else:
        verdict = f"no set of kernels computes {names[0]} and {names[1]} in one of them"
    made = alternatives([story.best] if story.best else [], a.about)
    seen = with_some(
        known, a.part, lambda k: {a.c, b.c} <= a.about.inside(k), f"{names[0]} and {names[1]} in one kernel"
    )
    reasons = story.reasons if seen is None or kernels else (seen, *story.reasons)
    seconds = a.about.selection.seconds
    return Answer("why not", asked, "pair", verdict, (), kernels, (), seconds, made, reasons[:SHOWN])


def candidate_answer(known: Known, asked: str) -> Answer:
    """What the kernels of a window would cost with, or for a chosen one without, the candidate of a number."""
    rows = _rows(known)
    number = int(asked) if len(asked) < 10 else 0
    if not 1 <= number <= len(rows):
        raise TangError(
            f"there is no candidate {asked}",
            where=f"--why-not {asked}",
            mend=f"give a number from 1 to {len(rows)} of the section Candidates (--all shows every one)",
        )
    part, k, chosen = rows[number - 1]
    about = known.about(part)
    form = f"candidate {asked} ({', '.join(map(about.words.name, k.writes))})"
    if chosen:
        made = about.otherwise(k)
        verdict = f"{form} was chosen"
    else:
        made = about.forced([k], f"with {form}")
        verdict = f"{form} could run, and was not picked" if made else f"{form} is in no set of kernels"
    missing: tuple[Reason, ...] = (
        () if made else (Reason("use", "no set of candidate kernels has a use for all that it writes"),)
    )
    if chosen and made is None:
        missing = (Reason("space", "no set of candidate kernels does without it"),)
    seen = (without if chosen else with_some)(
        known, part, lambda x: _same(x, k), f"{'without' if chosen else 'with'} it"
    )
    missing += (seen,) if seen else ()
    return Answer(
        "why not", asked, "candidate", verdict, (), (), about.steps(k), about.selection.seconds,
        alternatives([made] if made else [], about), missing,
    )  # fmt: skip


def _laws(known: Known, part: int, k: Candidate) -> set[str]:
    return {s.law for s in known.about(part).steps(k)}


def _same(a: Candidate, b: Candidate) -> bool:
    return a.writes == b.writes and a.terms == b.terms


def _rows(known: Known) -> list[tuple[int, Candidate, bool]]:
    """The candidates of all distinct windows as they are numbered: window, kernel, and whether it was chosen."""
    first: dict[int, int] = {}
    for part, (_, _, result) in enumerate(known.extraction.windows):
        first.setdefault(id(result), part)
    return [(part, k, chosen) for part in first.values() for k, chosen in numbered(known.about(part).selection)]


def prices(known: Known, seconds: float = PRICING) -> dict[int, float | None]:
    """For candidates that were not chosen, by number: how many seconds more all kernels would take with it.

    None where no set of kernels has a use for it. They are tried in their order until `seconds` are over; the others
    are left out.
    """
    rows = [(n, part, k) for n, (part, k, chosen) in enumerate(_rows(known), 1) if not chosen]
    end = time.perf_counter() + seconds
    found: dict[int, float | None] = {}
    for done, (n, part, k) in enumerate(rows):
        if time.perf_counter() > end:
            break
        note("price", done, len(rows))
        about = known.about(part)
        made = about.forced([k], "")
        found[n] = None if made is None else made.seconds - about.selection.seconds
    note("price", len(found), len(found))
    return found


def law_answer(known: Known, law: str) -> Answer:
    """What became of a law over all windows."""
    stories: list[tuple[int, LawStory]] = []
    told: dict[int, LawStory] = {}
    for part, (_, _, result) in enumerate(known.extraction.windows):
        if id(result) not in told:
            values = known.extraction.values
            told[id(result)] = law_story(known.about(part), named_laws()[law], values)
        stories.append((part, told[id(result)]))
    distinct = list({id(s): (part, s) for part, s in reversed(stories)}.values())[::-1]
    found, asserted = (sum(getattr(s, f) for _, s in distinct) for f in ("found", "asserted"))
    kernels = tuple(dict.fromkeys(k for part, s in stories for k in known.kernels(part, s.used)))
    steps = tuple(dict.fromkeys(
        step for part, s in distinct for k in s.used
        for step in known.about(part).steps(known.about(part).selection.chosen[k]) if step.law == law
    ))  # fmt: skip
    seen = [
        r for part, _ in distinct if not kernels and asserted
        if (r := with_some(known, part, lambda k, part=part: law in _laws(known, part, k), f"kernels derived by {law}"))  # type: ignore[misc]
    ]  # fmt: skip
    others = [a for part, s in distinct if s.best and not kernels for a in alternatives([s.best], known.about(part))]
    if kernels:
        verdict = f"{law} was used, for {count(len(kernels), 'kernel')}: {listed(kernels)}"
    elif asserted:
        verdict = f"{law} applied, and no picked kernel has what it made"
    else:
        verdict = f"{law} united nothing here"
    reasons = () if kernels else (*seen, *dict.fromkeys(r for _, s in distinct for r in s.reasons))
    one = distinct[0][0] if len(distinct) == 1 else None
    return Answer(
        "why not", law, "law", verdict, (f"{named_laws()[law]}", f"{found} found, {asserted} asserted"),
        kernels, steps, 0.0 if one is None else known.about(one).selection.seconds,
        tuple(sorted(others, key=lambda a: a.difference)), reasons[:SHOWN],
    )  # fmt: skip
