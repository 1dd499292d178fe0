"""A picked kernel in mathematics: its outputs over named passes, and the state of each pass with how it is carried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tang_egg.affine import Index, affine
from tang_egg.ir import Input, Read, Reduce, Scalar, Scan, StateRef, Tensor, free, map_children, type_of, walk
from tang_egg.monoid import ALL, ANY, MAX, MIN, PRODUCT, SUM, Monoid, replace_state
from tang_egg.report_model import Equation, Output, Part, Pass
from tang_egg.report_words import spoken, spoken_domain, spoken_index
from tang_egg.text_names import fold_word
from tang_egg.unify import rename


@dataclass(slots=True)
class KernelMathematics:
    """The outputs, shared terms and passes of one kernel, in the user's index names."""

    tensors: Sequence[Tensor] = ()
    names: Mapping[Index, Index] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    shared: list[Equation] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    _done: dict[Scalar, Scalar] = field(default_factory=dict)
    _known: dict[object, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mapping = dict(self.names)
        for t in self.tensors:
            axes = tuple(spoken_index(mapping.get(i, i)) for i in t.axes)
            self.outputs.append(Output(t.name, axes, t.dtype, spoken(self.over_passes(rename(t.body, mapping)))))

    def over_passes(self, body: Scalar) -> Scalar:
        """`body` with folds of several parts replaced by parts of named passes."""
        for s in walk(body):
            if s not in self._done:
                made = map_children(s, lambda c: self._done[c])
                self._done[s] = self._fold(s, made) if isinstance(s, Reduce) and _has_state(s) else made
        return self._done[body]

    def _fold(self, fold: Reduce, made: Scalar) -> Scalar:
        """A component of a named pass, in place of the fold."""
        assert isinstance(made, Reduce)
        key = (fold.monoid, fold.indices, fold.where, fold.body)
        if key not in self._known:
            self._known[key] = f"pass{len(self.passes) + 1}"
            self.passes.append(self._pass(self._known[key], made))
        component = fold.monoid.components[fold.part]
        at = tuple(affine(i) for i in component.axes)
        return StateRef(self._known[key], _names(fold.monoid)[component.name], component.type, at)

    def _pass(self, name: str, fold: Reduce) -> Pass:
        called: dict[Scalar, Scalar] = {}
        for s in _common(fold.body):
            axes = tuple(sorted(free(s), key=lambda i: i.name))
            source = Input(f"x{len(self.shared) + 1}", tuple(i.size for i in axes), "f32")
            short = Read(source, tuple(affine(i) for i in axes))
            self.shared.append(Equation(spoken(short), spoken(_replaced(s, called))))
            called[s] = short
        parts = tuple(_part(fold.monoid, k, _replaced(lift, called)) for k, lift in enumerate(fold.body))
        return Pass(name, tuple(spoken_index(i) for i in fold.indices), spoken_domain(fold.where), parts)


def summary(names: Sequence[str], bodies: Sequence[Scalar]) -> tuple[str, ...]:
    """What a kernel writes, one line each, then a line for each pass and shared term that this mentions."""
    made = KernelMathematics()
    lines = [f"{name} = {spoken(made.over_passes(b))}" for name, b in zip(names, bodies, strict=True)]
    for p in made.passes:
        where = f" where {p.where}" if p.where else ""
        lines.append(f"{p.name} over {', '.join(p.indices)}{where}: {', '.join(part.lift for part in p.parts)}")
    return (*lines, *(f"{e.before} = {e.after}" for e in made.shared))


def _has_state(s: Reduce) -> bool:
    """Whether a fold is too much for one line: its state has several parts and no common name."""
    return len(s.monoid.components) > 1 and fold_word(s.monoid, type_of(s.body[0])) is None


def _common(lifts: Sequence[Scalar]) -> list[Scalar]:
    """Terms with a fold inside that several lifts of a pass have in common, operands first.

    One that is always part of the same larger one is left out.
    """
    uses: dict[Scalar, int] = {}
    for lift in lifts:
        for s in walk(lift):
            uses[s] = uses.get(s, 0) + 1
    wanted = [s for s in walk(*lifts) if uses[s] > 1 and type_of(s) == "real" and any(_is_fold(x) for x in walk(s))]
    hidden = {x for s in wanted for x in walk(s) if x is not s and uses[x] == uses[s]}
    return [s for s in wanted if s not in hidden]


def _is_fold(s: Scalar) -> bool:
    return isinstance(s, (Reduce, Scan))


def _replaced(s: Scalar, called: Mapping[Scalar, Scalar]) -> Scalar:
    done: dict[Scalar, Scalar] = dict(called)
    for x in walk(s):
        if x not in done:
            done[x] = map_children(x, lambda c: done[c])
    return done[s]


def _names(m: Monoid) -> dict[str, str]:
    """Plain names of the parts of a state."""
    return {c.name: c.name if c.name.isidentifier() else f"c{k}" for k, c in enumerate(m.components)}


def _part(m: Monoid, k: int, lift: Scalar) -> Part:
    component, names = m.components[k], _names(m)

    def shown(s: Scalar) -> str:
        return spoken(replace_state(s, plain))

    def plain(x: Scalar) -> Scalar | None:
        if isinstance(x, StateRef):
            return StateRef(x.side, names.get(x.component, x.component), x.type, x.coordinates)
        return None

    name = names[component.name]
    if component.follow is None:
        return Part(name, _fold_name(m, k) or f"fold by {shown(m.combine[k])}", spoken(lift))
    f = component.follow
    base = fold_word(f.base, component.type) or f.base.name
    return Part(name, base, spoken(lift), ", ".join(map(shown, f.statistics)), shown(f.rebase), shown(f.empty))


def _nameless(x: Scalar) -> Scalar | None:
    return StateRef(x.side, "", x.type) if isinstance(x, StateRef) else None


def _fold_name(m: Monoid, k: int) -> str:
    """The word of the built-in fold that a part is, if it is one."""

    def plain(x: Scalar) -> Scalar | None:
        return StateRef(x.side, "", x.type) if isinstance(x, StateRef) and x.component == m.components[k].name else None

    own = replace_state(m.combine[k], plain)
    for known in (SUM, MAX, MIN, PRODUCT, ANY, ALL):
        whole = replace_state(
            known.combine[0], lambda x: StateRef(x.side, "", x.type) if isinstance(x, StateRef) else None
        )
        if own is whole:
            return fold_word(known, m.components[k].type) or known.name
    return ""
