"""Printing of expressions as text that reads as mathematics and parses back to the same nodes.

The grammar stands in `text_names`. Texts are put together operands first, without recursion, and a shared or deep
subterm becomes a `let` line, so that neither size nor nesting of a text grows beyond that of the graph.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from tang_egg import text_names as words
from tang_egg.affine import Affine, Dim, Index, Inequality, affine
from tang_egg.ir import (
    Apply,
    Const,
    Coordinate,
    Domain,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    StateRef,
    Statistic,
    Tensor,
    Test,
    children,
    type_of,
    walk,
)
from tang_egg.monoid import Monoid
from tang_egg.text_names import ATOM, COMPARE, INFIX, NOT, PRODUCT, SUM, UNARY

_SHARED, _DEPTH = 24, 40
"""A subterm used twice gets a line of its own from this length on; every subterm does from this nesting on."""

_INLINE = 240
"""`print_scalar` repeats shared subterms up to this length of the whole."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A printed subterm: its text, how strongly its outermost operator binds, and how deep it nests."""

    text: str
    strength: int = ATOM
    depth: int = 1

    def within(self, strength: int) -> str:
        """The text, in parentheses unless it binds at least as strongly."""
        return self.text if self.strength >= strength else f"({self.text})"


def print_scalar(s: Scalar) -> str:
    """An expression as infix mathematics. Long shared subterms follow on lines `with x1 = ...`."""
    printer = Printer()
    printer.lengths = True
    main = printer.expression(s)
    lets = [f"  with {line}" for line in printer.take_lets()]
    return "\n".join([main.text, *lets])


class _Words:
    """Which word stands for which entity; words that are not the entity's own name are declared as `named`."""

    def __init__(self) -> None:
        self.used: dict[str, object] = {}
        self.entities: dict[object, str] = {}
        self.aliases: dict[str, str] = {}
        self.by_name: dict[str, list[str]] = {}

    def of(self, entity: Dim | Source | Monoid, name: str) -> str:
        if entity not in self.entities:
            self.entities[entity] = self._take(name, entity, alias=not isinstance(entity, Monoid))
        return self.entities[entity]

    def of_index(self, name: str, taken: Iterable[str]) -> str:
        """A word for an index of that name, free in the statement; words are shared between statements."""
        if words.is_word(name) and isinstance(self.used.get(name), (type(None), Input, Tensor)) and name not in taken:
            return name
        for word in self.by_name.setdefault(name, []):
            if word not in taken:
                return word
        word = self._take(name, None, alias=True)
        self.by_name[name].append(word)
        return word

    def fresh(self, stem: str) -> str:
        n = 1
        while f"{stem}{n}" in self.used:
            n += 1
        self.used[f"{stem}{n}"] = "let"
        return f"{stem}{n}"

    def _take(self, name: str, entity: object, alias: bool) -> str:
        word = name
        if not words.is_word(word) or word in self.used or entity is None:
            stem = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "x"
            stem, n = f"x{stem}" if stem[0].isdigit() else stem, 1
            word = stem
            while not words.is_word(word) or word in self.used or word == name:
                n += 1
                word = f"{stem}_{n}"
            if alias:
                self.aliases[word] = name
        self.used[word] = entity if entity is not None else "index"
        return word


class Printer:
    """Prints expressions; used for one whole graph, statement by statement."""

    def __init__(self) -> None:
        self.words = _Words()
        self.dims: dict[Dim, str] = {}
        self.lengths = False
        self.start(())

    def start(self, first: Iterable[Index]) -> None:
        """Begins a statement whose words for indices are chosen anew, those of `first` foremost."""
        self.indices: dict[Index, str] = {}
        self.lets: list[tuple[str, str]] = []
        self.named: set[Scalar] = set()
        self.done: dict[Scalar, _Text] = {}
        self.components: dict[str, str] | None = None
        for i in first:
            self.index(i)

    def take_lets(self) -> list[str]:
        lines = [f"{name} = {text}" for name, text in self.lets]
        self.lets = []
        return lines

    def index(self, i: Index) -> str:
        if i not in self.indices:
            self.indices[i] = self.words.of_index(i.name, self.indices.values())
        return self.indices[i]

    def dim(self, d: Dim) -> str:
        self.dims[d] = self.words.of(d, d.name)
        return self.dims[d]

    def monoid(self, m: Monoid, type: str) -> str:
        return words.fold_word(m, type) or m.name

    def source(self, s: Source) -> str:
        return s.name

    def expression(self, root: Scalar) -> _Text:
        """The text of an expression; its long shared subterms are put among the lets."""
        uses: dict[Scalar, int] = {}
        order = [s for s in walk(root) if s not in self.done]
        for s in order:
            for c in children(s):
                uses[c] = uses.get(c, 0) + 1
        share = True
        if self.lengths:
            sizes: dict[Scalar, int] = {}
            for s in order:
                sizes[s] = 4 + sum(sizes.get(c, 8) for c in children(s))
            share = sizes.get(root, 0) > _INLINE
        for s in order:
            made = self._node(s)
            deep = made.depth > _DEPTH
            if s is not root and (deep or (share and uses[s] > 1 and len(made.text) >= _SHARED)):
                name = self.words.fresh("x")
                self.lets.append((name, made.text))
                made = _Text(name)
                self.named.add(s)
            self.done[s] = made
        return self.done[root]

    def _node(self, s: Scalar) -> _Text:
        if isinstance(s, Const):
            return _constant(s)
        if isinstance(s, Position):
            atom = s.form.single() or _only_dim(s.form)
            return _Text(self.form(affine(atom)) if atom is not None else f"position({self.form(s.form)})")
        if isinstance(s, Test):
            return _Text(self.inequality(s.condition), COMPARE, 2)
        if isinstance(s, Read):
            below = [self._coordinate(c) for c in s.coordinates]
            return self._around(f"{self.source(s.source)}[", below, "]" if below else "()]")
        if isinstance(s, Apply):
            return self._apply(s)
        if isinstance(s, StateRef):
            return self._state(s)
        if isinstance(s, Statistic):
            rest = [*([] if s.type == "real" else [s.type]), *([str(s.part)] if s.part else [])]
            return _Text(f"statistic({', '.join([words.quoted(s.which), *rest])})")
        if isinstance(s, (Reduce, Scan)):
            return self._fold(s)
        raise TypeError(f"not a scalar: {s!r}")

    def _around(self, opening: str, below: Iterable[_Text], closing: str) -> _Text:
        parts = list(below)
        depth = max((p.depth for p in parts), default=0) + 2
        return _Text(opening + ", ".join(p.text for p in parts) + closing, ATOM, depth)

    def _apply(self, s: Apply) -> _Text:
        args = [self.done[a] for a in s.args]
        depth = max((a.depth for a in args), default=0) + 1
        if s.op in INFIX:
            return self._binary(s, args, depth)
        if s.op == "neg" and not isinstance(s.args[0], Const):
            return _Text(f"-{args[0].within(UNARY + 1)}", UNARY, depth)
        if s.op == "not":
            return _Text(f"not {args[0].within(NOT)}", NOT, depth)
        kind, _, target = s.op.partition(":")
        if target:
            return _Text(f"{kind}({args[0].text}, {target})", ATOM, depth + 1)
        return self._around(f"{s.op}(", args, ")")

    def _binary(self, s: Apply, args: list[_Text], depth: int) -> _Text:
        sign, strength = INFIX[s.op]
        a, b = s.args
        left, right = args[0].within(strength + (strength == COMPARE)), args[1].within(strength + 1)
        if strength == COMPARE and looks_affine(a) and looks_affine(b):
            left = f"value({args[0].text})"
        inner = b.args[0] if isinstance(b, Apply) and b.op in ("neg", "recip") else None
        if s.op == "add" and isinstance(b, Const) and _is_negative(b):
            sign, right = "-", _constant(Const(-b.value, b.type)).text
        elif inner is not None and not isinstance(inner, Const) and b not in self.named:
            if s.op == "add" and isinstance(b, Apply) and b.op == "neg":
                sign, right = "-", self.done[inner].within(SUM + 1)
            elif s.op == "mul" and isinstance(b, Apply) and b.op == "recip" and not isinstance(a, Const):
                sign, right = "/", self.done[inner].within(PRODUCT + 1)
        return _Text(f"{left} {sign} {right}", strength, depth + 1)

    def _state(self, s: StateRef) -> _Text:
        type = "real" if self.components is None else self.components.get(s.component)
        if type != s.type:
            text = f"state({words.quoted(s.side)}, {words.quoted(s.component)}, {s.type})"
        else:
            text = f"{s.side}{member(s.component)}"
        at = f"[{', '.join(self.form(c) for c in s.coordinates)}]" if s.coordinates else ""
        return _Text(text + at)

    def _fold(self, s: Reduce | Scan) -> _Text:
        word = self.monoid(s.monoid, type_of(s.body[0]))
        parts = [self.done[b] for b in s.body]
        if isinstance(s, Scan):
            opening = f"{word}.scan[{self.index(s.index)}]("
            extra = [_Text(f"chunk={s.chunk}")] if s.chunk else []
        else:
            opening = f"{word}[{', '.join(self.sized(i, s.body, s.where, s.monoid) for i in s.indices) or '()'}]("
            extra = [] if s.where.everywhere else [self._where(s.where)]
        made = self._around(opening, [*parts, *extra], ")")
        return _Text(made.text + self._part(s.monoid, s.part), ATOM, made.depth + 1)

    def _part(self, m: Monoid, part: int) -> str:
        if len(m.components) == 1:
            return ""
        name = m.components[part].name
        if sum(c.name == name for c in m.components) > 1:
            return f"[{part}]"
        return member(name)

    def _where(self, d: Domain) -> _Text:
        parts = [_Text(self.inequality(c), COMPARE, 2) for c in d.affine]
        for c in d.data:
            made = self.done[c]
            conjunct = isinstance(c, Test) or (isinstance(c, Apply) and c.op == "and")
            parts.append(self._around("value(", [made], ")") if conjunct else made)
        if len(parts) == 1:
            return _Text(f"where={parts[0].text}", ATOM, parts[0].depth)
        return self._around("where=(", parts, ")")

    def sized(self, i: Index, body: Iterable[Scalar], where: Domain, own: Monoid | None = None) -> str:
        """The word of a bound index, with its size where the reads below do not tell it."""
        roots = (*body, *where.data)
        word = self.index(i)
        told = set(_plain_uses(i, roots)) == {i.size} and not _is_component_axis(i, roots, own)
        return word if told else f"{word}:{self.form(i.size)}"

    def _coordinate(self, c: Coordinate) -> _Text:
        if isinstance(c, Affine):
            return _Text(self.form(c))
        made = self.done[c]
        return self._around("value(", [made], ")") if looks_affine(c) else made

    def form(self, form: Affine) -> str:
        """An affine form: dims and indices by their words, the constant last."""
        parts: list[str] = []
        for monomial, coefficient in sorted(form.terms, key=lambda t: (not t[0], t[1] < 0)):
            names = "*".join(self.index(a) if isinstance(a, Index) else self.dim(a) for a in reversed(monomial))
            size = abs(coefficient)
            text = str(size) if not names else names if size == 1 else f"{size}*{names}"
            sign = "-" if coefficient < 0 else "+"
            parts.append(f" {sign} {text}" if parts else f"{'-' if coefficient < 0 else ''}{text}")
        return "".join(parts) or "0"

    def inequality(self, c: Inequality) -> str:
        """`a <= b`, or `a < b` where that needs no constant."""
        high = Affine.of({m: k for m, k in c.form.terms if k > 0 and m})
        low = Affine.of({m: -k for m, k in c.form.terms if k < 0 and m})
        constant = c.form.constant
        if constant == -1 and low.terms:
            return f"{self.form(low)} < {self.form(high)}"
        if constant >= 0:
            return f"{self.form(low)} <= {self.form(high + constant)}"
        return f"{self.form(low - constant)} <= {self.form(high)}"


def member(name: str) -> str:
    return f".{name}" if words.is_plain(name) else f"[{words.quoted(name)}]"


def _constant(c: Const) -> _Text:
    value, type = c.value, c.type
    if type == "bool" and isinstance(value, bool):
        return _Text(str(value))
    plain = (type == "real" and isinstance(value, float)) or (
        type == "i64" and isinstance(value, int) and not isinstance(value, bool)
    )
    text = repr(value)
    if not plain:
        return _Text(f"{type}({text})")
    return _Text(text, UNARY if text.startswith("-") else ATOM)


def _is_negative(c: Const) -> bool:
    if c.type == "real" and isinstance(c.value, float):
        return not math.isnan(c.value) and math.copysign(1.0, c.value) < 0
    return c.type == "i64" and isinstance(c.value, int) and c.value < 0


def _only_dim(form: Affine) -> Dim | None:
    if len(form.terms) == 1 and form.terms[0][1] == 1 and len(form.terms[0][0]) == 1:
        atom = form.terms[0][0][0]
        return atom if isinstance(atom, Dim) else None
    return None


def looks_affine(s: Scalar) -> bool:
    """Whether the text of a scalar would be read as an affine form."""
    return all(
        (isinstance(n, Position) and (n.form.single() or _only_dim(n.form)) is not None)
        or (isinstance(n, Const) and n.type == "i64" and type(n.value) is int)
        or (isinstance(n, Apply) and n.op in ("add", "mul", "neg"))
        for n in walk(s)
    )


def _plain_uses(i: Index, roots: Iterable[Scalar]) -> Iterable[Affine]:
    """Extents of the axes on which `i` stands alone, below `roots` but not where a fold binds it anew."""
    seen: set[Scalar] = set()
    stack = list(roots)
    while stack:
        s = stack.pop()
        if s in seen or (isinstance(s, Reduce) and i in s.indices):
            continue
        seen.add(s)
        if isinstance(s, Read):
            for size, c in zip(s.source.shape, s.coordinates, strict=False):
                if isinstance(c, Affine) and c.single() is i:
                    yield size
        stack.extend(children(s))


def _is_component_axis(i: Index, roots: Iterable[Scalar], own: Monoid | None) -> bool:
    """Whether `i` has the name of an axis of a monoid folded by below, whose lifts bring its size along."""
    folded = [s.monoid for s in walk(*roots) if isinstance(s, (Reduce, Scan))]
    monoids = folded if own is None else [*folded, own]
    return any(i.name == a.name for m in monoids for c in m.components for a in c.axes)
