"""The e-graph of a window in the user's words: tensors, inputs and indices by the names that the graph gave them.

Inside a window everything has canonical names. `Wording` builds one term for each class: a read of the user's tensor
where the class holds one, else what the user wrote there, else the best term; derivations are then printed from those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tang_egg.affine import Affine, Index, affine
from tang_egg.cost.roofline import Costs
from tang_egg.egraph import ClassId, ENode
from tang_egg.extract.derive import Derivations, Step
from tang_egg.extract.terms import Terms, Variant, class_arguments
from tang_egg.ir import Domain, Input, Read, Reduce, Scalar, Scan, Source, StateRef, Statistic, Tensor, type_of, walk
from tang_egg.monoid import replace_state
from tang_egg.text_print import Printer
from tang_egg.unify import rename, unify
from tang_egg.windows import Canonical, Window, replace_sources

_LONGEST = 400
"""Characters after which one side of an equation is cut."""

_LET = re.compile(r'^\(let (\S+) \(Let "([^"]*)" (\S+)\)\)$', re.MULTILINE)
"""A view of a class, as the encoding binds it."""

_STATISTIC = re.compile(r'statistic\("(at|from|to)"(?:, (\d+))?\)')
_WORDS = {"at": "at", "from": "old", "to": "new"}
"""A statistic of a pass, and the bare words for it; where there are several, all but the first are numbered."""

_TYPED = re.compile(r'state\("(\w+)", "(\w+)"(?:, \w+)?\)')
"""A part of a state that is not a real number."""

_KEPT = re.compile(r'self\["%(\d+)"\]')
"""A sum that a pass carries, by the class of what it sums."""


class _NoCosts(Costs):
    """Every term is as good as any other: there is one for each class."""

    def heuristic(self, term: Scalar, axes: tuple[Index, ...] | None = None) -> float:
        return 0.0


class _Spoken(Printer):
    """Prints expressions with the bare words `at`, `old`, `new` for statistics."""

    def line(self, s: Scalar) -> str:
        self.lengths = True
        text = self.expression(s).text
        return "; ".join([text, *(f"with {let}" for let in self.take_lets())])


def spoken(s: Scalar) -> str:
    """An expression on one line, with the bare words at, old and new for the statistic of a pass."""
    text = _Spoken().line(s)
    text = _STATISTIC.sub(lambda m: word_of(_WORDS[m[1]], int(m[2] or 0)), text)
    text = _TYPED.sub(r"\1.\2", text)
    return re.sub(r"\bself\.", "", text)


def word_of(word: str, part: int) -> str:
    return word if part == 0 else f"{word}{part + 1}"


def counted(s: Scalar, parts: Mapping[int, int]) -> Scalar:
    """`s` with the statistics of a pass counted from 0 on."""

    def own(x: Scalar) -> Scalar | None:
        return Statistic(x.which, x.type, parts.get(x.part, x.part)) if isinstance(x, Statistic) else None

    return replace_state(s, own)


def spoken_domain(d: Domain) -> str:
    """A domain as text, empty for everywhere."""
    return " and ".join([*(Printer().inequality(c) for c in d.affine), *(spoken(c) for c in d.data)])


def spoken_index(i: Index) -> str:
    """An index with its extent."""
    return f"{i.name}:{i.size}"


def index_names(window: Window, shared: Canonical) -> dict[Index, Index]:
    """For each shared index of a window: one with the user's name, no two of the same name."""
    found: dict[Index, Index] = {}
    taken: set[str] = set()
    named = unify(shared.tensors)
    for original, t in zip(window.tensors, shared.tensors, strict=True):
        ours = _indices(named[t].axes, named[t].body)
        theirs = _indices(original.axes, original.body)
        for i, user in zip(ours, theirs, strict=False):
            if i not in found:
                found[i] = Index(_unused(user.name, taken), i.size)
                taken.add(found[i].name)
    return found


def _unused(name: str, taken: set[str]) -> str:
    wanted, n = name, 1
    while wanted in taken:
        n += 1
        wanted = f"{name}_{n}"
    return wanted


def _indices(axes: tuple[Index, ...], body: Scalar) -> tuple[Index, ...]:
    """Every index of a tensor in order of first use."""
    found = dict.fromkeys(axes)
    for s in walk(body):
        if isinstance(s, Reduce):
            found.update(dict.fromkeys(s.indices))
        elif isinstance(s, Scan):
            found[s.index] = None
    return tuple(found)


class Wording(Derivations):
    """Derivations of one window in the user's names."""

    def __init__(self, window: Window, shared: Canonical, terms: Terms) -> None:
        self.indices = index_names(window, shared)
        self.inside = terms
        self.tensors = {t.name: o.name for t, o in zip(shared.tensors, shared.originals, strict=True)}
        self.outside = {f"x{n}": s.name for n, s in enumerate(shared.outside)}
        encoding = terms.saturation.encoding
        spoken_encoding = replace(
            encoding,
            indices={n: self.indices.get(i, i) for n, i in encoding.indices.items()},
            leaves={k: self.reword(s) for k, s in encoding.leaves.items()},
            gathers={k: self._gather(s) for k, s in encoding.gathers.items()},
            views={
                k: tuple((self.indices.get(i, i), self._coordinate(c)) for i, c in v) for k, v in encoding.views.items()
            },
        )
        super().__init__(Terms(replace(terms.saturation, encoding=spoken_encoding), _NoCosts(), terms.real))

    def of(self, variants: Iterable[Variant]) -> tuple[Step, ...]:
        """The steps behind some variants; first those of the front end, whose two sides were one from the start."""
        chosen = list(variants)
        used = set(walk(*(v.term for v in chosen)))
        terms = {name: s for s, name in self.inside.saturation.encoding.terms.items()}
        first: list[Step] = []
        for law, left, right in self.inside.saturation.encoding.seeds:
            before, after = terms.get(left), terms.get(right)
            if before is None or after is None or after not in used or before in used:
                continue
            entry = self.laws[law]
            old, new = cut(spoken(self.reword(before))), cut(spoken(self.reword(after)))
            first.append(Step(law, old, new, False, entry.holds, entry.rounding))
        return tuple(dict.fromkeys((*first, *super().of(chosen))))

    def called(self, name: str) -> str:
        """A written tensor in the user's words."""
        return self.tensors.get(name, name)

    def reword(self, s: Scalar) -> Scalar:
        """An expression under canonical names with the user's names instead."""
        return rename(replace_sources(s, self._source), self.indices)

    def name(self, c: ClassId) -> str:
        """The name of a class that is written to memory."""
        known = self.inside.names.get(c, "")
        return self.tensors.get(known, known) or f"part{c.number}"

    def word(self, c: ClassId) -> Scalar | None:
        """The expression by which a class is called inside others."""
        found = self.terms.found
        if c not in found:
            found[c] = []  # a class that contains itself is called by its best term
            made = self._stored(c) or self._written(c) or self._derived(c) or self._best(c)
            found[c] = [] if made is None else [Variant(made, 0.0, c, None)]
        return found[c][0].term if found[c] else None

    def written(self, c: ClassId) -> str:
        """What the user wrote for a class, or how it is called."""
        made = self._written(c) or self.word(c)
        return "?" if made is None else cut(self.say(made))

    def seeds(self) -> Iterator[tuple[str, str, str]]:
        """The equalities of the front end: law, left and right in mathematics (their classes are one by now)."""
        encoding = self.inside.saturation.encoding
        terms = {name: s for s, name in encoding.terms.items()}
        views = {name: (key, inner) for name, key, inner in _LET.findall("\n".join(encoding.lines))}

        def shown(name: str) -> str:
            if name in terms:
                return cut(spoken(self.reword(terms[name])))
            key, inner = views.get(name, ("", ""))
            if inner not in terms:
                return "?"
            moved = ", ".join(f"{self.indices.get(i, i).name} := {self._position(c)}" for i, c in encoding.views[key])
            return f"({shown(inner)} at {moved})"

        for law, left, right in encoding.seeds:
            yield law, shown(left), shown(right)

    def render(self, n: ENode) -> str:
        """An e-node in mathematics; a pass shows its body, its statistic and how it is carried."""
        for c in class_arguments(n):
            self.word(c)
        if n.constructor == "Casc":
            return cut(self._pass(n))
        if n.constructor == "Is":
            return cut(self._text(n.args[0]))
        made = self._made(n)
        return cut(self.say(made)) if made is not None else super().render(n)

    def _pass(self, n: ENode) -> str:
        monoid, index, where, body, carried = n.args
        domain = self._text(where)
        made, moved = self.word(body), self.word(carried)
        if made is None or moved is None:
            return "?"
        parts = sorted({x.part for x in walk(made, moved) if isinstance(x, Statistic)})
        mapping = {p: n for n, p in enumerate(parts)}
        inside = [self.say(counted(made, mapping)), *([] if domain == "True" else [f"where={domain}"])]
        inside += [f"{word_of('at', n)}={self._text(ClassId(p))}" for n, p in enumerate(parts)]
        own = self.say(replace_state(counted(moved, mapping), lambda x: _itself(x, body)))
        word = self.pass_word(monoid, index)
        return f"{word}({', '.join(inside)}, carry={own.replace('carried.itself', 'itself')})"

    def pass_word(self, monoid: str, index: str) -> str:
        """The head of a pass: of sums, which are most, without the name of the fold."""
        names = ", ".join(i.name for i in self.terms.saturation.encoding.folded(index))
        return f"pass[{names}]" if monoid == "sum" else f"pass {monoid}[{names}]"

    def _text(self, c: ClassId) -> str:
        made = self.word(c)
        return "?" if made is None else self.say(made)

    def say(self, s: Scalar) -> str:
        """An expression as text; sums that a pass carries along are called by what they sum."""
        return _KEPT.sub(lambda m: f"sum({self._text(ClassId(int(m[1])))})", spoken(s))

    def _stored(self, c: ClassId) -> Scalar | None:
        """A read of the user's tensor that a class holds."""
        axes = self.inside.axes.get(c)
        if axes is None or c not in self.inside.names:
            return None
        best = self.inside.found.get(c)
        type = type_of(best[0].term) if best else "real"
        shown = tuple(self.indices.get(i, i) for i in axes)
        source = Input(self.name(c), tuple(i.size for i in shown), "f32" if type == "real" else type)
        return Read(source, tuple(affine(i) for i in shown))

    def _written(self, c: ClassId) -> Scalar | None:
        """What the user wrote for a class."""
        node = self.terms.saturation.source.get(c)
        if node is None:
            return None
        for below in class_arguments(node):
            self.word(below)
        return self._made(node)

    def _made(self, n: ENode) -> Scalar | None:
        if n.constructor == "Casc":
            return None
        made: Iterable[Variant] = self.terms._of_node(ClassId(-1), n)
        return next((v.term for v in made), None)

    def _derived(self, c: ClassId) -> Scalar | None:
        """The shortest expression that laws made for a class, passes left out."""
        made: list[Scalar] = []
        for n in self.terms.saturation.snapshot.classes.get(c, ()):
            for below in class_arguments(n):
                self.word(below)
            term = self._made(n)
            if term is not None:
                made.append(term)
        return min(made, key=lambda s: sum(1 for _ in walk(s)), default=None)

    def _best(self, c: ClassId) -> Scalar | None:
        found = self.inside.found.get(c)
        return self.reword(found[0].term) if found else None

    def _source(self, s: Source) -> Source:
        if isinstance(s, Tensor):
            return Input(self.tensors.get(s.name, s.name), s.shape, s.dtype)
        if s in self.inside.placeholders:
            return Input(self.name(self.inside.placeholders[s]), s.shape, s.dtype)
        return Input(self.outside.get(s.name, s.name), s.shape, s.dtype, s.sorted)

    def _gather(self, s: Read) -> Read:
        made = self.reword(s)
        assert isinstance(made, Read)
        return made

    def _coordinate(self, c: Affine | Scalar) -> Affine | Scalar:
        return c.substitute(dict(self.indices.items())) if isinstance(c, Affine) else self.reword(c)

    def _position(self, c: Affine | Scalar) -> str:
        made = self._coordinate(c)
        return str(made) if isinstance(made, Affine) else spoken(made)


def _itself(x: Scalar, body: ClassId) -> Scalar | None:
    """The sum that is carried is called `itself` by its own carry."""
    own = isinstance(x, StateRef) and x.component == f"%{body.number}"
    return StateRef("carried", "itself") if own else None


def cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
