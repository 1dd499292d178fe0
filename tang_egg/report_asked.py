"""What can be asked about an extraction, by name: tensors, outputs and kernels, and the classes that they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tang_egg.egraph import ClassId
from tang_egg.errors import TangError, close_match
from tang_egg.extract.derive import Step
from tang_egg.extract.explain import Choice, Explainer
from tang_egg.extract.terms import Variant
from tang_egg.ir import Scalar, tensors_of
from tang_egg.report_answer import Alternative
from tang_egg.report_plans import plans_of
from tang_egg.report_words import Wording
from tang_egg.rules.law import Entry
from tang_egg.rules.table import entries, equalities

if TYPE_CHECKING:
    from tang_egg.pipeline_compiled import Extraction

LISTED, SHOWN = 40, 6
"""How many names an error lists, and how many reasons or kernels an answer shows."""


class Words:
    """Classes by the user's names; those that have none by their mathematics."""

    def __init__(self, wording: Wording) -> None:
        self.wording = wording

    def name(self, c: ClassId) -> str:
        known = self.wording.inside.names.get(c, "")
        text = self.wording.tensors.get(known, "") or f"‘{self.wording.written(c)}’"
        return text if len(text) <= 82 else f"{text[:80]}…’"

    def phrase(self, s: Scalar) -> str:
        return self.wording.say(self.wording.reword(s))

    def of(self, variants: Iterable[Variant]) -> tuple[Step, ...]:
        return self.wording.of(variants)


@dataclass(frozen=True, slots=True)
class Spot:
    """A class in one of the graph's windows."""

    part: int
    about: Explainer
    c: ClassId


class Known:
    """An extraction and its windows; the explainer of a window is made once."""

    def __init__(self, extraction: Extraction) -> None:
        self.extraction = extraction
        self.plans = plans_of(extraction)
        self._about: dict[int, Explainer] = {}

    def about(self, part: int) -> Explainer:
        """The explainer of a window in the words of that window."""
        if part not in self._about:
            window, shared, result = self.extraction.windows[part]
            self._about[part] = Explainer(result, Words(Wording(window, shared, result.terms)))
        return self._about[part]

    def names(self) -> list[str]:
        """The tensors of the graph and the kernels of its program."""
        found = dict.fromkeys(t.name for window, _, _ in self.extraction.windows for t in window.tensors)
        found |= dict.fromkeys(p.name for part in self.plans for group in part for p in group)
        return list(found)

    def spots(self, name: str) -> list[Spot]:
        """The classes that a name stands for, one for each window that has it."""
        found: list[Spot] = []
        for n, (_, shared, _) in enumerate(self.extraction.windows):
            for t, original in zip(shared.tensors, shared.originals, strict=True):
                if original.name == name:
                    about = self.about(n)
                    found.append(Spot(n, about, about.class_of(t)))
        if found:
            return found
        for n, part in enumerate(self.plans):
            for k, group in enumerate(part):
                chosen = self.about(n).selection.chosen
                if k < len(chosen) and any(p.name == name for p in group):
                    found.append(Spot(n, self.about(n), chosen[k].writes[0]))
        return found

    def unknown(self, name: str, where: str, more: Iterable[str] = ()) -> TangError:
        """The error for a name that nothing has; `more` names could have been meant besides those of the graph."""
        known = self.names()
        if any(i.name == name for i in self.extraction.graph.inputs):
            what = f"'{name}' is an input: no kernel computes it"
        elif self.moved(name) is not None:
            what = f"'{name}' is no work of its own: it stands in what reads it"
        else:
            what = f"there is nothing named '{name}' to ask about{close_match(name, [*known, *more], 3)}"
        rest = f", and {len(known) - LISTED} more" if len(known) > LISTED else ""
        kinds = "" if where == "--why" else "; or a law, a number of the list of candidates, or NAME+NAME"
        return TangError(what, where=f"{where} {name}", mend=f"ask about {', '.join(known[:LISTED])}{rest}{kinds}")

    def moved(self, name: str) -> Scalar | None:
        """The body of a tensor of the graph that no window has, since it only moves or repeats what another holds."""
        known = {t.name for window, _, _ in self.extraction.windows for t in window.tensors}
        own = (t for t in tensors_of(self.extraction.graph.outputs) if t.name == name and name not in known)
        return next((t.body for t in own), None)

    def kernels(self, part: int, positions: Iterable[int]) -> tuple[str, ...]:
        """The names of some kernels of a window."""
        return tuple(self.plans[part][k][-1].name for k in positions)


def named_laws() -> dict[str, Entry]:
    """Everything that a law's name can stand for; what unites terms is told as the equality that it is."""
    return {**entries(), **equalities()}


def alternatives(choices: Sequence[Choice], about: Explainer) -> tuple[Alternative, ...]:
    """Choices that differ from the chosen one, each once, the cheapest first."""
    base = about.selection.seconds
    found: dict[tuple[float, tuple[str, ...]], Alternative] = {}
    for c in choices:
        kernels = tuple(", ".join(map(about.words.name, k.writes)) for k in c.kernels)
        found.setdefault((c.seconds, kernels), Alternative(c.what, c.seconds, c.seconds - base, kernels))
    return tuple(sorted(found.values(), key=lambda a: a.seconds))


def listed(names: Sequence[str]) -> str:
    """Names in a row, cut where they are many."""
    shown = ", ".join(names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
