"""Why the kernels of a window are as they are, and what another choice would have cost.

Every answer is computed from what saturation and selection left behind: the integer program is solved again under a
demand, refusals and limits are looked up where they were met, laws are found on the paths of provenance.

    place    ::= in which chosen kernels a class is written or computed on the way
    choice   ::= the cheapest kernels under a demand, with their predicted seconds
    reason   ::= kind and text; a kind is one of KINDS today, and further ones may come
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from tang_egg.egraph import ClassId
from tang_egg.errors import SelectionError
from tang_egg.extract.assemble import WindowResult
from tang_egg.extract.derive import Step
from tang_egg.extract.select import Candidate, Selection, cheapest
from tang_egg.extract.terms import NESTING, SEQUENCE, Terms, Variant, class_arguments
from tang_egg.ir import Const, Read, Reduce, Scalar, Tensor, free, walk

KINDS = ("budget", "cost", "floor", "law", "limit", "measured", "open", "refused", "space", "use", "values")
"""What can rule something out: the error that it makes; the predicted time; a floor above what was measured; a law that
did not apply; the size of a kernel; a measured time; nothing yet, since a search ended before; a one-pass form that was
refused; kernels that the space of candidates does not hold; that nobody reads it; the values that are allowed."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is as it is. `seconds`: what was predicted for it and for what was kept, where that decided."""

    kind: str
    text: str
    seconds: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a class is computed: positions of chosen kernels that write it, and of those that compute it on the way."""

    stored: tuple[int, ...]
    inlined: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Kernels that write all outputs of the window under a demand; `seconds` is their predicted time together."""

    what: str
    kernels: tuple[Candidate, ...]
    seconds: float


class Words(Protocol):
    """How classes and terms are called, and the laws behind terms."""

    def name(self, c: ClassId) -> str: ...

    def phrase(self, s: Scalar) -> str: ...

    def of(self, variants: Iterable[Variant]) -> tuple[Step, ...]: ...


def numbered(selection: Selection) -> tuple[tuple[Candidate, bool], ...]:
    """All candidates in the order in which they are listed, each with whether it was chosen: chosen ones first."""
    # a chosen kernel that writes less than it could is a record of its own with the same estimate
    chosen = {id(k.estimate) for k in selection.chosen}
    ordered = sorted(selection.candidates, key=lambda k: (id(k.estimate) not in chosen, k.estimate.seconds))
    return tuple((k, id(k.estimate) in chosen) for k in ordered)


@dataclass(slots=True)
class Explainer:
    """Answers about one window."""

    result: WindowResult
    words: Words
    _inside: dict[int, frozenset[ClassId]] = field(default_factory=dict)
    _laws: dict[int, tuple[Step, ...]] = field(default_factory=dict)

    @property
    def terms(self) -> Terms:
        return self.result.terms

    @property
    def selection(self) -> Selection:
        return self.result.selection

    @property
    def outputs(self) -> tuple[ClassId, ...]:
        """The classes that the window must write."""
        return tuple(dict.fromkeys(self.class_of(t) for t in self.result.roots))

    def class_of(self, t: Tensor) -> ClassId:
        """The class of a tensor of the window."""
        encoding = self.terms.saturation.encoding
        return self.terms.saturation.snapshot.roots[encoding.terms[encoding.named[t].body]]

    def inside(self, k: Candidate) -> frozenset[ClassId]:
        """The classes that a kernel computes, those that it writes among them."""
        key = id(k)
        if key not in self._inside:
            found: set[ClassId] = set()
            seen: set[int] = set()
            stack = list(k.variants)
            while stack:
                v = stack.pop()
                if id(v) not in seen and v.node is not None:
                    seen.add(id(v))
                    found.add(v.owner)
                    stack += v.below
            self._inside[key] = frozenset(found | set(k.writes))
        return self._inside[key]

    def steps(self, k: Candidate) -> tuple[Step, ...]:
        """The laws behind a candidate."""
        if id(k) not in self._laws:
            self._laws[id(k)] = self.words.of(k.variants)
        return self._laws[id(k)]

    def place(self, c: ClassId) -> Place:
        """Where a class is computed by the chosen kernels; nowhere where the laws led around it."""
        chosen = self.selection.chosen
        stored = tuple(n for n, k in enumerate(chosen) if c in k.writes)
        inlined = tuple(n for n, k in enumerate(chosen) if c not in k.writes and c in self.inside(k))
        return Place(stored, inlined)

    def steps_of(self, c: ClassId) -> tuple[Step, ...]:
        """The laws behind a class as the chosen kernels compute it."""
        found: list[Variant] = []
        for k in self.selection.chosen:
            stack, seen = list(k.variants), set[int]()
            while stack:
                v = stack.pop()
                if id(v) not in seen:
                    seen.add(id(v))
                    found += [v] if v.owner == c and v.node is not None else []
                    stack += v.below
        return self.words.of(found)

    # What another choice would cost

    def choose(
        self, what: str, candidates: Sequence[Candidate], demanded: Iterable[Candidate] | None = None
    ) -> Choice | None:
        """The cheapest kernels among some candidates, one of those demanded among them; None where there are none."""
        places = {id(k): n for n, k in enumerate(candidates)}
        demands = [] if demanded is None else [[places[id(k)] for k in demanded]]
        try:
            found = cheapest(candidates, self.outputs, demands)
        except SelectionError:
            return None
        return Choice(what, tuple(found), sum(k.estimate.seconds for k in found))

    def forced(self, wanted: Iterable[Candidate], what: str, more: Sequence[Candidate] = ()) -> Choice | None:
        """The cheapest choice in which one of some candidates runs and all that it writes is of use."""
        return self.choose(what, [*self.selection.candidates, *more], wanted)

    def stored(self, c: ClassId) -> Choice | None:
        """The cheapest choice in which a class is written to memory and read from there."""
        return self.forced((k for k in self.selection.candidates if c in k.writes), f"{self.words.name(c)} stored")

    def inlined(self, c: ClassId) -> Choice | None:
        """The cheapest choice in which a class is not written to memory."""
        left = [k for k in self.selection.candidates if c not in k.writes]
        return self.choose(f"{self.words.name(c)} not stored", left)

    def otherwise(self, k: Candidate) -> Choice | None:
        """The cheapest choice without one candidate."""
        left = [x for x in self.selection.candidates if x.estimate is not k.estimate]
        return self.choose(f"without this kernel for {', '.join(map(self.words.name, k.writes))}", left)

    def others(self, c: ClassId, most: int = 3) -> tuple[Choice, ...]:
        """The cheapest choices in which another candidate than the chosen one writes a class."""
        taken = {id(k.estimate) for k in self.selection.chosen}
        wanted = [k for k in self.selection.candidates if c in k.writes and id(k.estimate) not in taken]
        found: list[Choice] = []
        while wanted and len(found) < most:
            made = self.forced(wanted, "")
            if made is None:
                break
            used = {id(k.estimate) for k in made.kernels}
            forms = [k for k in wanted if id(k.estimate) in used]
            found.append(replace(made, what=self._form(forms[0])))
            wanted = [k for k in wanted if id(k.estimate) not in used]
        return tuple(found)

    def _form(self, k: Candidate) -> str:
        names = ", ".join(map(self.words.name, k.writes))
        return f"{names} by one kernel that reads {', '.join(map(self.words.name, k.reads)) or 'inputs only'}"

    # What stands in the way

    def beyond(self, c: ClassId, term: Scalar) -> Reason | None:
        """The limit of a kernel that a term for a class exceeds, if it does."""
        nested, waiting = self.terms._depth(term)
        if nested > NESTING:
            return Reason("limit", f"folds would nest {nested} deep; a kernel holds {NESTING}")
        if waiting > SEQUENCE:
            return Reason("limit", f"{waiting} folds would wait for one another; a kernel holds {SEQUENCE}")
        allowed = self.terms.saturation.snapshot.free.get(c)
        extra = (
            () if allowed is None else sorted({self.terms.saturation.encoding.name(i) for i in free(term)} - allowed)
        )
        if extra:
            return Reason("limit", f"the term would depend on {', '.join(extra)}, and {self.words.name(c)} does not")
        return None

    def unstorable(self, c: ClassId) -> Reason | None:
        """Why no kernel can write a class to memory, if none can."""
        made = [v for v in self.terms.found.get(c, ()) if v.node is not None]
        best = min(made, key=lambda v: v.cost, default=None)
        if best is None:
            return Reason("space", "no term of the language computes it")
        if isinstance(best.term, (Read, Const)) and c not in self.outputs:
            return Reason("space", f"it is only {self.words.phrase(best.term)}: there is nothing to compute")
        if c not in self.terms.axes:
            return Reason("space", "its axes cannot be listed, so that it has no place in memory")
        if c not in self.outputs and not any(c in k.reads for k in self.selection.candidates):
            return Reason(
                "use", "no candidate kernel reads it: what its readers became computes it on the way or not at all"
            )
        return None

    def barriers(self, c: ClassId) -> tuple[Reason, ...]:
        """Why a class is not inlined in what reads it: where on the way to stored classes its term is lost."""
        found: dict[Reason, None] = {}
        pending, seen = [c], {c}
        users = self.terms._users()
        while pending:
            below = pending.pop(0)
            for u in users.get(below, ()):
                if u in seen:
                    continue
                seen.add(u)
                if any(_contains(v, c) for v in self.terms.found.get(u, ()) if v.node is not None):
                    pending.append(u)
                else:
                    found.update(dict.fromkeys(self._lost(u, below, c)))
        for (u, why), statistic in self.terms.refused.items():
            if u in seen and not self.terms.reads_stored(statistic):
                text = f"one pass for {self.words.name(u)} along {self.words.phrase(statistic)} was refused: {why}"
                found[Reason("refused", text)] = None
        return tuple(found)

    def _lost(self, user: ClassId, below: ClassId, c: ClassId) -> Iterable[Reason]:
        """Why no term of `user` holds one of `below` that computes `c`."""
        name = self.words.name
        least: list[tuple[float, float]] = []
        for n in self.terms.saturation.snapshot.classes.get(user, ()):
            if below not in class_arguments(n) or n.constructor in ("Casc", "Let", "At"):
                continue
            made = [v for v in self.terms._of_node(user, n) if any(_contains(b, c) for b in v.below)]
            for v in made[:8]:
                over = self.beyond(user, v.term)
                if over is not None:
                    yield Reason(over.kind, f"inside {name(user)}: {over.text}")
                    break
            else:
                if made:
                    kept = min(v.cost for v in self.terms.found[user] if v.node is not None)
                    least.append((min(v.cost for v in made), kept))
        if least:
            yield Reason("cost", f"inside {name(user)} other terms are kept", min(least))


def _contains(v: Variant, c: ClassId) -> bool:
    """Whether a term computes a class on its way."""
    stack, seen = [v], set[int]()
    while stack:
        x = stack.pop()
        if id(x) not in seen and x.node is not None:
            if x.owner == c:
                return True
            seen.add(id(x))
            stack += x.below
    return False


def fold_spaces(term: Scalar) -> frozenset[object]:
    """The points over which the folds of a term run."""
    return frozenset((s.indices, s.where) for s in walk(term) if isinstance(s, Reduce))
