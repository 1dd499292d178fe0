"""What a term means: an expression of the language, the same that extraction makes of it."""

from __future__ import annotations

from collections.abc import Callable

from tang_egg.affine import Index, affine
from tang_egg.cost.roofline import Costs
from tang_egg.egraph import ClassId, Encoding, ENode, Snapshot
from tang_egg.errors import LawError
from tang_egg.extract.certificate_term import TRUE, Term, children, substituted
from tang_egg.extract.passes import Follower, Refused, build_cascade
from tang_egg.extract.terms import Terms, Variant, as_coordinate, as_domain
from tang_egg.ir import Read, Scalar, StateRef, Statistic, Tensor, apply, free, type_of
from tang_egg.monoid import replace_state
from tang_egg.saturate import Saturation

_FIRST = 1000
"""Numbers of statistics start here, so that none is one that a finished pass uses inside."""


class _NoCosts(Costs):
    """Every term is as good as any other: there is one for each class."""

    def heuristic(self, term: Scalar, axes: tuple[Index, ...] | None = None) -> float:
        return 0.0


class Meaning:
    """Terms of one window as expressions. `stored` gives the reads of stored tensors, by name.

    A pass that cannot be executed yet means the fold that it computes. Without a pass around them, holes, shifts and
    kept folds are what `loose` gives for them, else names: `Statistic` nodes and a `StateRef`.
    """

    def __init__(
        self,
        encoding: Encoding,
        stored: Callable[[str], Scalar] | None = None,
        loose: Callable[[Term], Scalar | None] | None = None,
    ) -> None:
        snapshot = Snapshot({}, {}, [], {}, {})
        saturation = Saturation(snapshot, encoding, {}, {}, 0.0, {}, True)
        self.encoding = encoding
        self.stored = stored
        self.loose = loose
        self.forms = Terms(saturation, _NoCosts())
        self.done: dict[Term, Scalar] = {}
        self.numbers: dict[Term, int] = {}
        self.seen: set[Term] = set()

    def scalar(self, t: Term) -> Scalar:
        """The expression of a term, operands first. Raises LawError for a term that means nothing."""
        stack = [t]
        while stack:
            top = stack[-1]
            pending = [c for c in self._operands(top) if c not in self.done]
            stack.extend(pending)
            if not pending:
                stack.pop()
                if top not in self.done:
                    self.done[top] = self._node(top)
        return self.done[t]

    def _operands(self, t: Term) -> tuple[Term, ...]:
        if t.constructor in ("Casc", "Total"):
            return (filled(t),)
        return () if t.constructor in ("Hole", "Delta", "Keep") else children(t)

    def part(self, statistic: Term) -> int:
        """The number by which a statistic is called."""
        return self.numbers.setdefault(statistic, _FIRST + len(self.numbers))

    def _node(self, t: Term) -> Scalar:
        if t.constructor in ("Hole", "Delta", "Keep"):
            return self._loose(t)
        if t.constructor in ("Casc", "Total"):
            return self.done[filled(t)]
        if t.constructor == "Pass":
            return self._pass(t)
        if t.constructor == "Stored":
            if self.stored is None:
                raise _meaningless(t, "no tensor is stored here")
            return self.stored(t.args[0])
        return self._form(t)

    def _loose(self, t: Term) -> Scalar:
        given = self.loose(t) if self.loose else None
        if given is not None:
            return given
        part = self.part(t.args[0])
        if t.constructor == "Keep":
            return StateRef("self", f"%{part}")
        if t.constructor == "Hole":
            return Statistic("at", part=part)
        return apply("add", Statistic("to", part=part), apply("neg", Statistic("from", part=part)))

    def _form(self, t: Term) -> Scalar:
        """A term as extraction forms it over its operands."""
        names: dict[Term, ClassId] = {}
        for c in children(t):
            if c not in names:
                names[c] = ClassId(-2 - len(names))
                self.forms.found[names[c]] = [Variant(self.done[c], 0.0, names[c], None)]

        def swap(a: object) -> object:
            if isinstance(a, Term):
                return names[a]
            return tuple(names[x] for x in a) if isinstance(a, tuple) else a

        n = ENode(t.constructor, tuple(swap(a) for a in t.args))
        try:
            made = next(iter(self.forms._of_node(ClassId(-1), n)), None)
        except (KeyError, ValueError, IndexError, TypeError, AttributeError):
            raise _meaningless(t, "its names stand for nothing in this window") from None
        if made is not None:
            return made.term
        if t.constructor not in ("Let", "At"):
            raise _meaningless(t, "no expression has this form")
        self.seen.add(t)
        return self._seen(t)

    def _seen(self, t: Term) -> Scalar:
        """A view of what cannot be substituted into: a read of a tensor of its own."""
        body = self.done[children(t)[-1]]
        axes = tuple(sorted(free(body), key=lambda i: i.name))
        real = type_of(body) == "real"
        source = Tensor("seen", axes, body, "f64" if real else type_of(body))
        if t.constructor == "Let":
            pairs = dict(self.encoding.views[t.args[0]])
        else:
            pairs = {self.encoding.indices[t.args[0]]: as_coordinate(self.done[t.args[1]])}
        return Read(source, tuple(pairs.get(i, affine(i)) for i in axes))

    def _pass(self, t: Term) -> Scalar:
        monoid, index, where, holes, statistics, names, kept, bodies, carries = t.args
        called = names.split(",")
        parts = {self.part(h): n for n, h in enumerate(holes)}
        states = {f"%{self.part(k)}": called[n] for n, k in enumerate(kept)}

        def own(x: Scalar) -> Scalar | None:
            if isinstance(x, Statistic):
                return Statistic(x.which, x.type, parts.get(x.part, x.part))
            return StateRef("self", states.get(x.component, x.component)) if isinstance(x, StateRef) else None

        followers = tuple(
            Follower(name, replace_state(self.done[b], own), replace_state(self.done[c], own))
            for name, b, c in zip(called, bodies, carries, strict=True)
        )
        terms = {n: self.done[s] for n, s in enumerate(statistics)}
        built = build_cascade(
            self.encoding.folded(index), as_domain(self.done[where]), terms, followers, self.encoding.monoids[monoid]
        )
        return self.scalar(filled(t)) if isinstance(built, Refused) else built


def filled(t: Term) -> Term:
    """A cascade or a pass as the fold that it computes, its holes filled with their statistics; a total as a sum."""
    if t.constructor == "Total":
        return Term("Red", ("sum", t.args[1], TRUE, t.args[0]))
    if t.constructor == "Casc":
        monoid, index, where, body, _ = t.args
        return Term("Red", (monoid, index, where, substituted(body, statistic_of)))
    monoid, index, where, holes, statistics, _, _, bodies, _ = t.args
    known = dict(zip(holes, statistics, strict=True))

    def statistic(x: Term) -> Term | None:
        return known.get(x.args[0], x.args[0]) if x.constructor == "Hole" else None

    return Term("Red", (monoid, index, where, substituted(bodies[0], statistic)))


def statistic_of(x: Term) -> Term | None:
    """What fills a hole."""
    return x.args[0] if x.constructor == "Hole" else None


def _meaningless(t: Term, why: str) -> LawError:
    text = repr(t)
    return LawError(
        f"a term has no meaning: {why}",
        where=text if len(text) <= 200 else f"{text[:197]}...",
        mend="derive the certificate anew with this version",
    )


def index_names(t: Term, meaning: Meaning) -> frozenset[str]:
    """The names of the indices that a term mentions freely."""
    return frozenset(i.name for i in free(meaning.scalar(t)))
