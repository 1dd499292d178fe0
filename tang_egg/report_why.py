"""`why` and `why_not` in the words of the user's graph: finds what is asked for, asks extract/explain, and tells it.

why NAME      ::= a tensor, an output or a kernel
why_not WHAT  ::= a law | a tensor, output or kernel | NAME+NAME | a number of the list of candidates
                | KERNEL: SCHEDULE | KERNEL: 64x64 in 16 KiB | a question about the graph itself (report_why_graph)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from tang_egg.budget import ErrorBudget
from tang_egg.extract.derive import Step
from tang_egg.extract.explain import Choice, Place, Reason
from tang_egg.ir import Graph, Tensor, sources
from tang_egg.pipeline import extract
from tang_egg.report_answer import Answer
from tang_egg.report_asked import SHOWN, Known, Spot, alternatives, listed, named_laws
from tang_egg.report_why_cycle import cycle_answer
from tang_egg.report_why_graph import SCAN, graph_answer
from tang_egg.report_why_measured import with_some, without
from tang_egg.report_why_not import candidate_answer, law_answer, pair_answer
from tang_egg.report_why_schedule import schedule_answer
from tang_egg.report_words import spoken
from tang_egg.text import parse_graph


class Asked(Known):
    """Questions about one extraction; what was found out for one is kept for the next."""

    def why(self, name: str) -> Answer:
        """Which kernel computes a tensor or is a kernel, by which laws, and what the other choices would cost.

        Raises TangError, listing what can be asked, when there is no such name.
        """
        spots = self.spots(name)
        if not spots:
            return self._moved("why", name) or self._raise(name, "--why")
        found = self._tensor("why", name, spots)
        steps = tuple(dict.fromkeys(s for spot in spots for s in self._steps(spot)))
        return replace(found, steps=steps)

    def why_not(self, what: str) -> Answer:
        """Why a law, another way to compute a tensor, two tensors in one kernel, or a candidate was not picked.

        Raises TangError, listing what can be asked, when `what` is none of these.
        """
        asked = what.strip()
        about = graph_answer(self.extraction.graph, asked)
        if about is not None:
            return about
        if asked.isdecimal():
            return candidate_answer(self, asked)
        if ":" in asked:
            return schedule_answer(self, asked)
        if "+" in asked:
            return pair_answer(self, asked)
        if asked in (laws := named_laws()):
            return law_answer(self, asked)
        spots = self.spots(asked)
        if not spots:
            return self._moved("why not", asked) or self._raise(asked, "--why-not", laws)
        return self._tensor("why not", asked, spots)

    def _raise(self, name: str, where: str, more: Iterable[str] = ()) -> NoReturn:
        raise self.unknown(name, where, more)

    def _moved(self, question: str, name: str) -> Answer | None:
        """The answer for a tensor that holds nothing of its own, if `name` is one."""
        body = self.moved(name)
        if body is None:
            return None
        reason = Reason("space", f"it is only {spoken(body)}: there is nothing to compute")
        return Answer(question, name, "tensor", f"{name} stands in what reads it", reasons=(reason,))

    def _tensor(self, question: str, name: str, spots: Sequence[Spot]) -> Answer:
        graph = self.extraction.graph
        output = any(t.name == name for t in graph.outputs)
        known = any(t.name == name for window, _, _ in self.extraction.windows for t in window.tensors)
        # the window that stores it tells most; a tensor that several windows compute anew is alike in all
        spot = max(spots, key=lambda s: bool(s.about.place(s.c).stored))
        place, kernels = spot.about.place(spot.c), dict.fromkeys(k for s in spots for k in self._places(s))
        predicted = spot.about.selection.seconds
        made: list[Choice] = []
        reasons: list[Reason] = []
        if place.stored:
            if spot.c in spot.about.outputs:
                needed = "the caller gets it" if output else "a later window reads it"
                reasons.append(Reason("use", f"{name} has to be written to memory: {needed}"))
            else:
                self._note(spot.about.inlined(spot.c), spot.about.barriers(spot.c), made, reasons)
                seen = without(self, spot.part, lambda k: spot.c in k.writes, f"{name} not stored")
                reasons += [seen] if seen else []
        else:
            why = spot.about.unstorable(spot.c)
            self._note(spot.about.stored(spot.c), (why,) if why else (), made, reasons)
            seen = with_some(self, spot.part, lambda k: spot.c in k.writes, f"{name} stored")
            reasons += [seen] if seen else []
        if question == "why":
            made += spot.about.others(spot.c)
            made += [x for k in (*place.stored, *place.inlined)[:1] if (x := self._without(spot, k))]
        verdict = self._verdict(name, output, place, tuple(kernels), spot)
        return Answer(
            question, name, "output" if output else "tensor" if known else "kernel", verdict,
            self._details(spot, place), tuple(kernels), (), predicted, alternatives(made, spot.about),
            tuple(dict.fromkeys(reasons))[:SHOWN],
        )  # fmt: skip

    @staticmethod
    def _note(choice: Choice | None, barriers: Sequence[Reason], made: list[Choice], reasons: list[Reason]) -> None:
        """Keeps another choice, or, where there is none, what stands in its way."""
        if choice is not None:
            made.append(choice)
        elif barriers:
            reasons.extend(barriers)
        else:
            reasons.append(Reason("space", "no set of candidate kernels does without"))

    @staticmethod
    def _without(spot: Spot, k: int) -> Choice | None:
        return spot.about.otherwise(spot.about.selection.chosen[k])

    def _places(self, spot: Spot) -> tuple[str, ...]:
        place = spot.about.place(spot.c)
        return self.kernels(spot.part, place.stored or place.inlined)

    def _verdict(self, name: str, output: bool, place: Place, kernels: tuple[str, ...], spot: Spot) -> str:
        made = f"kernel {kernels[0]}" if len(kernels) == 1 else f"kernels {listed(kernels)}"
        if place.stored:
            return f"{name} is {'an output' if output else 'written to memory'}: {made} computes it"
        if place.inlined:
            verb = "computes" if len(kernels) == 1 else "compute"
            return f"{name} is not written to memory: {made} {verb} it on the way"
        readers = self._readers(spot)
        picked = listed(self.kernels(spot.part, dict.fromkeys(k for _, ks in readers for k in ks)))
        return (
            f"{name} is computed nowhere: {listed([t for t, _ in readers])} read{'s' * (len(readers) == 1)} it in the "
            f"graph, and the form that was picked (kernel {picked}) does without"
        )

    def _readers(self, spot: Spot) -> list[tuple[str, tuple[int, ...]]]:
        """The nearest tensors behind a class that chosen kernels do compute, with those kernels."""
        _, shared, _ = self.extraction.windows[spot.part]
        names = dict(zip(shared.tensors, (t.name for t in shared.originals), strict=True))
        behind: set[Tensor] = {t for t in shared.tensors if spot.about.class_of(t) == spot.c}
        found: list[tuple[str, tuple[int, ...]]] = []
        for t in shared.tensors:  # producers come first
            if t not in behind and any(s in behind for s in sources(t.body)):
                place = spot.about.place(spot.about.class_of(t))
                if place.stored or place.inlined:
                    found.append((names[t], place.stored or place.inlined))
                else:
                    behind.add(t)
        return found

    def _steps(self, spot: Spot) -> tuple[Step, ...]:
        """The laws behind a class; where it is gone, those behind what reads it."""
        found = spot.about.steps_of(spot.c)
        place = spot.about.place(spot.c)
        if found or place.stored or place.inlined:
            return found
        kernels = dict.fromkeys(k for _, ks in self._readers(spot) for k in ks)
        return tuple(s for k in kernels for s in spot.about.steps(spot.about.selection.chosen[k]))

    def _details(self, spot: Spot, place: Place) -> tuple[str, ...]:
        """What a storing kernel computes besides, and who reads what it writes."""
        lines: list[str] = []
        chosen, name = spot.about.selection.chosen, spot.about.words.name
        _, shared, _ = self.extraction.windows[spot.part]
        for k in place.stored:
            beside = [name(c) for c in chosen[k].writes if c != spot.c]
            inside = spot.about.inside(chosen[k]) - set(chosen[k].writes)
            way = [o.name for t, o in zip(shared.tensors, shared.originals, strict=True)
                   if spot.about.class_of(t) in inside]  # fmt: skip
            readers = self.kernels(spot.part, [n for n, x in enumerate(chosen) if spot.c in x.reads])
            lines += [f"the same kernel writes {listed(beside)}"] if beside else []
            lines += [f"it computes on the way {listed(way)}"] if way else []
            lines += [f"it is read by kernel {listed(readers)}"] if readers else []
        return tuple(lines)


def why_not(
    graph: Graph | str, what: str, *, budget: ErrorBudget | None = None, sizes: Mapping[str, int] | None = None
) -> Answer:
    """Why something is not done to a graph, or could be: nothing is compiled.

    `what`: as `Compiled.why_not` takes it. `graph`: a graph, or a text that need not state one. `budget`: for
    questions about types, by default twice the error of the graph in its own. `sizes`: of symbolic dims.
    Raises TangError, listing what can be asked, for anything else.
    """
    if isinstance(graph, str):
        asked = SCAN.fullmatch(what)
        if asked is not None:
            return cycle_answer(graph, asked["name"], what)
        graph = parse_graph(graph)
    return graph_answer(graph, what, budget, sizes) or Asked(extract(graph)).why_not(what)
