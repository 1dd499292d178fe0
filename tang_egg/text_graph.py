"""Printing of whole graphs: declarations, definitions of monoids, and one line for each tensor."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tang_egg import text_names as words
from tang_egg.affine import Affine, Dim, Index, dims_of
from tang_egg.ir import (
    Domain,
    Graph,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    StateRef,
    Tensor,
    Test,
    bottom_up,
    children,
    free,
    sources,
    tensors_of,
    type_of,
    walk,
)
from tang_egg.monoid import Monoid, affine_matrix
from tang_egg.monoid_entries import top_k
from tang_egg.text_print import Printer, member


def print_graph(graph: Graph) -> str:
    """The graph as text: declarations, then one line for each tensor, producers first."""
    return _GraphPrinter(graph).text()


class _GraphPrinter(Printer):
    """Prints one graph. Words of inputs and tensors are chosen first, declarations are printed last."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.lines: list[str] = []
        self.tensors = tensors_of(graph.outputs)
        extra = [s for t in self.tensors for s in sources(t.body) if isinstance(s, Input)]
        self.inputs = tuple(dict.fromkeys((*graph.inputs, *extra)))
        arrays: tuple[Source, ...] = (*self.inputs, *self.tensors)
        for s in arrays:
            self.words.of(s, s.name)
        for d in _dims(self.inputs, self.tensors):
            self.dim(d)

    def text(self) -> str:
        inputs = [self._input(i) for i in self.inputs]
        for t in self.tensors:
            self._tensor(t)
        outputs = ", ".join(self.source(t) for t in self.graph.outputs)
        named = [f"{word} = named({words.quoted(name)})" for word, name in self.words.aliases.items()]
        dims = [f"{word} = dim({_facts(d)})" for d, word in self.dims.items()]
        head = [f"graph({words.quoted(self.graph.name)})", *named, *dims, *inputs]
        return "\n".join([*head, *self.lines, f"output({outputs})"]) + "\n"

    def source(self, s: Source) -> str:
        return self.words.of(s, s.name)

    def _input(self, i: Input) -> str:
        self.start(())
        shape = ", ".join(self.form(s) for s in i.shape) or "()"
        flags = [f"{name}=True" for name in ("sorted", "donated") if getattr(i, name)]
        return f"{self.source(i)} = input({', '.join([f'{i.dtype}[{shape}]', *flags])})"

    def _tensor(self, t: Tensor) -> None:
        for m in _monoids_of(t.body):
            self._define(m)
        self.start(_component_axes(t.body))
        body = self.expression(t.body)
        axes = ", ".join(self.sized(i, (t.body,), Domain()) for i in t.axes) or "()"
        kind = "f32" if (inferred := type_of(t.body)) == "real" else inferred
        dtype = f"{t.dtype}(into={words.quoted(t.into)})" if t.into else t.dtype
        note = f": {dtype}" if dtype != kind else ""
        loose = sorted(_mentioned(t.body) - frozenset(t.axes), key=lambda i: (i.name, repr(i.size)))
        sizes = [f"{self.index(i)} = index({self.form(i.size)})" for i in loose]
        self.lines += [*self.take_lets(), *sizes, f"{self.source(t)}[{axes}]{note} = {body.text}"]

    def monoid(self, m: Monoid, type: str) -> str:
        return words.fold_word(m, type) or self._define(m)

    def _define(self, m: Monoid) -> str:
        """The word of a monoid, after its definition has been printed."""
        if m in self.words.entities:
            return self.words.entities[m]
        parts: list[Scalar] = [*m.combine, *m.identity]
        for c in m.components:
            if c.follow is not None:
                parts += [*c.follow.statistics, c.follow.rebase, c.follow.empty]
        for inner in _monoids_of(*parts):
            self._define(inner)
        for c in m.components:
            if c.follow is not None and words.fold_word(c.follow.base, c.type) is None:
                self._define(c.follow.base)
        word = self.words.of(m, re.sub(r"[^A-Za-z0-9]+", "_", m.name).strip("_") or "m")
        if short := _constructed(m):
            self.lines.append(f"{word} = {short}")
            return word
        saved = (self.indices, self.lets, self.named, self.done, self.components)
        properties = "".join(f", {words.quoted(p)}" for p in sorted(m.properties))
        self.lines.append(f"{word} = monoid({words.quoted(m.name)}{properties})")
        for k, c in enumerate(m.components):
            self.start(c.axes)
            self.components = {x.name: x.type for x in m.components}
            self._component(word, m, k)
        self.indices, self.lets, self.named, self.done, self.components = saved
        return word

    def _component(self, word: str, m: Monoid, k: int) -> None:
        c = m.components[k]
        axes = f"[{', '.join(f'{self.index(i)}:{self.form(i.size)}' for i in c.axes)}]" if c.axes else ""
        fields = [c.type, f"identity={self.expression(m.identity[k]).text}"]
        fields.append(f"combine={self.expression(m.combine[k]).text}")
        if c.follow is not None:
            f = c.follow
            statistics = [self.expression(s).text for s in f.statistics]
            listed = ", ".join(statistics)
            shown = [f"statistic={listed if len(statistics) == 1 else f'({listed})'}"]
            shown += [f"{n}={self.expression(getattr(f, n)).text}" for n in ("rebase", "empty")]
            fields.append(f"follow=follow({', '.join([*shown, f'base={self.monoid(f.base, c.type)}'])})")
        self.lines += [*self.take_lets(), f"{word}{member(c.name)}{axes} = component({', '.join(fields)})"]


@bottom_up(children)
def _mentioned(s: Scalar) -> frozenset[Index]:
    """The free indices of an expression, and those that are free in lifts that its value does not depend on."""
    if not isinstance(s, (Reduce, Scan)):
        found = free(s)
        for c in children(s):
            found |= _mentioned(c)
        return found
    found = free(s)
    for k, lift in enumerate(s.body):
        own = frozenset() if k == s.part else frozenset(s.monoid.components[k].axes)
        found |= _mentioned(lift) - own
    if isinstance(s, Scan):
        return found
    for d in s.where.data:
        found |= _mentioned(d)
    return found - frozenset(s.indices)


def _dims(inputs: Iterable[Input], tensors: Iterable[Tensor]) -> list[Dim]:
    """All dims of a graph in order of use, those of its monoids included."""
    forms = [size for i in inputs for size in i.shape]
    roots: list[Scalar] = []
    for t in tensors:
        forms += t.shape
        roots.append(t.body)
    seen: set[Monoid] = set()
    while roots:
        folds: list[Monoid] = []
        for s in walk(roots.pop()):
            forms += _forms(s)
            folds += [s.monoid] if isinstance(s, (Reduce, Scan)) else []
        while folds:
            m = folds.pop()
            if m in seen:
                continue
            seen.add(m)
            roots += [*m.combine, *m.identity]
            for c in m.components:
                forms += [i.size for i in c.axes]
                if c.follow is not None:
                    folds.append(c.follow.base)
                    roots += [*c.follow.statistics, c.follow.rebase, c.follow.empty]
    return list(dict.fromkeys(d for f in forms for d in sorted(dims_of((f,)), key=lambda d: d.name)))


def _forms(s: Scalar) -> list[Affine]:
    """The affine forms of one node."""
    if isinstance(s, Position):
        return [s.form]
    if isinstance(s, Test):
        return [s.condition.form]
    if isinstance(s, (Read, StateRef)):
        return [c for c in s.coordinates if isinstance(c, Affine)]
    if isinstance(s, Reduce):
        return [*(i.size for i in s.indices), *(c.form for c in s.where.affine)]
    return [s.index.size] if isinstance(s, Scan) else []


def _monoids_of(*roots: Scalar) -> list[Monoid]:
    """The monoids of folds in some expressions that need a definition."""
    folds = (s for s in walk(*roots) if isinstance(s, (Reduce, Scan)))
    return list(dict.fromkeys(s.monoid for s in folds if words.fold_word(s.monoid, type_of(s.body[0])) is None))


def _component_axes(root: Scalar) -> list[Index]:
    folds = (s for s in walk(root) if isinstance(s, (Reduce, Scan)))
    return list(dict.fromkeys(i for s in folds for c in s.monoid.components for i in c.axes))


def _constructed(m: Monoid) -> str | None:
    """The call that makes a parametrised built-in monoid, or None."""
    match = re.fullmatch(r"(top_k|affine_matrix)\[([1-9]\d?)\]", m.name)
    if match is None:
        return None
    n, type = int(match[2]), m.components[0].type
    if match[1] == "affine_matrix":
        return f"affine_matrix({n})" if affine_matrix(n) is m else None
    return f"top_k({n}, {type})" if top_k(n, type) is m else None


def _facts(d: Dim) -> str:
    facts = [f"lo={d.lo}"] if d.lo else []
    facts += [f"hi={d.hi}"] if d.hi is not None else []
    return ", ".join([*facts, *([f"multiple={d.multiple}"] if d.multiple != 1 else [])])
