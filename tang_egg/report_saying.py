"""The steps of a certificate in the user's words."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tang_egg.affine import Index, affine
from tang_egg.egraph import ClassId
from tang_egg.extract.certificate import CertifiedStep, CertifiedWindow
from tang_egg.extract.certificate_mean import Meaning
from tang_egg.extract.certificate_term import TRUE, Term, at, ground, place_text, substituted, walk
from tang_egg.extract.derive import Step
from tang_egg.ir import Input, Read, Scalar, StateRef, type_of
from tang_egg.report_words import Wording, counted, cut, spoken, word_of


def certified_steps(words: Wording, window: CertifiedWindow, names: Collection[str]) -> tuple[Step, ...]:
    """The laws behind some tensors of a window, in the order of its certificate, and where they read stored ones.

    Steps that change nothing in mathematics (a view that moves inward) are left out.
    """
    saying = Saying(words)
    found: list[Step] = []
    because: list[str] = []
    for s in window.steps:
        if s.tensor not in names:
            continue
        if s.kind == "fact":
            because.append(saying.fact(s))
        elif s.kind in ("law", "store"):
            before, after = saying.sides(s)
            entry = words.laws.get(s.name)
            holds, rounding = (entry.holds, entry.rounding) if entry else ("ieee", "exact")
            if before != after and s.before is not None:
                place, facts = place_text(s.before, s.paths[0]), tuple(dict.fromkeys(because))
                where = (s.kind, words.called(s.tensor), place, facts)
                found.append(Step(s.name, before, after, s.reverse, holds, rounding, *where))
            because = []
    return tuple(found)


class Saying:
    """The terms of a certificate in the user's words: whole tensors by name, passes by body, statistic and carry."""

    def __init__(self, words: Wording) -> None:
        self.words = words
        encoding = words.inside.saturation.encoding
        terms = ground(encoding).terms
        self.meaning = Meaning(words.terms.saturation.encoding, self._stored, self._loose)
        self.named: dict[Term, Scalar] = {}
        self.holes: list[Term] = []
        for n in encoding.named.values():
            t = terms[encoding.terms[n.body]]
            if t.constructor not in ("Leaf", "Lit", "Gather"):
                self.named.setdefault(t, self._read(n.origin.name, n.axes, type_of(n.body)))
        self.meaning.done.update(self.named)

    def _read(self, name: str, axes: Iterable[Index], type: str) -> Scalar:
        shown = tuple(self.words.indices.get(i, i) for i in axes)
        source = Input(self.words.called(name), tuple(i.size for i in shown), "f32" if type == "real" else type)
        return Read(source, tuple(affine(i) for i in shown))

    def _stored(self, name: str) -> Scalar:
        if name == _ITSELF:
            return StateRef("carried", "itself")
        for c, known in self.words.inside.names.items():
            if known == name and c in self.words.inside.axes:
                return self._read(name, self.words.inside.axes[c], "real")
        number = int(name.removeprefix("part"))
        return self._read(name, self.words.inside.axes[ClassId(number)], "real")

    def _loose(self, t: Term) -> Scalar | None:
        """A fold that is carried is called by what it folds."""
        return self._read(f"sum({self._inner(t.args[0])})", (), "real") if t.constructor == "Keep" else None

    def sides(self, s: CertifiedStep) -> tuple[str, str]:
        """What stands at the places of a step before and after it."""
        assert s.before is not None and s.after is not None
        found = (at(s.before, s.paths[0]), at(s.after, s.paths[0]))
        before, after = (self.text(t) if t is not None else "" for t in found)
        return before, after

    def fact(self, s: CertifiedStep) -> str:
        """A fact with its arguments."""
        values = [v for _, v in s.bindings]
        terms = [v for v in values if isinstance(v, Term)]
        self._holes(*terms)
        if s.name == "carried":
            values[-1] = _own(terms[-1], terms[0])
        indices = self.words.terms.saturation.encoding.indices
        shown = [self._inner(v) if isinstance(v, Term) else indices[v].name if v in indices else str(v) for v in values]
        return cut(f"{s.name}({', '.join(shown)})")

    def _holes(self, *terms: Term) -> None:
        """The statistics that some terms mention are counted from now on."""
        found = (x.args[0] for x in walk(*terms) if x.constructor in ("Hole", "Delta"))
        self.holes = list(dict.fromkeys(found))

    def text(self, t: Term) -> str:
        """A term as one line; what is a tensor of the user's is called by its name, but for the whole."""
        if t.constructor == "Casc":
            return cut(self._pass(t))
        for c in self.meaning._operands(t):
            self.meaning.scalar(c)
        return cut(self._shown(self.meaning._node(t)))

    def _shown(self, s: Scalar) -> str:
        parts = {number: n for n, number in enumerate(self.meaning.part(m) for m in self.holes)}
        return spoken(counted(s, parts)).replace("carried.itself", "itself").replace("[()]", "")

    def _pass(self, t: Term) -> str:
        monoid, index, where, body, carry = t.args
        self._holes(body, carry)
        inside = [self._inner(body)]
        if where is not TRUE:
            inside.append(f"where={self._inner(where)}")
        inside += [f"{word_of('at', n)}={self._inner(m)}" for n, m in enumerate(self.holes)]
        inside.append(f"carry={self._inner(_own(carry, body))}")
        return f"{self.words.pass_word(monoid, index)}({', '.join(inside)})"

    def _inner(self, t: Term) -> str:
        return self._shown(self.meaning.scalar(t))


_ITSELF = "%itself"


def _own(carry: Term, body: Term) -> Term:
    """A carry whose own fold is called `itself`."""
    return substituted(carry, lambda x: Term("Stored", (_ITSELF,)) if x is Term("Keep", (body,)) else None)
