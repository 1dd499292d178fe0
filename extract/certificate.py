"""Certificates: a derivation as steps that can be checked one by one, from the naive graph to the extracted program.

    certificate ::= a graph, its windows, the program that was selected; what a caller asked for beyond that
    window      ::= steps, and the tensors that are written
    step        ::= graph    the normal form of the graph; a window that it is cut into; the program at the end
                  | open     a tensor begins as what the graph says (or a part of it), tensors inside written out
                  | fact     something a law rests on: a relation with its arguments
                  | law      a law of the table, or an equality of the front end, at some places of a tensor
                  | store    a term becomes a read of the tensor that holds it
                  | build    a cascade becomes one fold with a state, every fold that it carries a part of it
                  | count    sums of a constant over whole indices are computed
                  | join     what a kernel writes, its sibling folds joined into one
                  | rewrite  a law applied to a whole graph or program: folds in chunks, in shares, over ranks, products
                             in parts (extract/rewriting.py)

A graph in chunks has no windows of its own but `stages`, a certificate for each tensor that it holds.
Terms are those of `certificate_term`; `replay` applies the steps and needs nothing but the graph and the table of laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tang_egg.egraph import ClassId
from tang_egg.extract.assemble import WindowResult
from tang_egg.extract.certificate_explain import BUILD, STORE, Explanations, Fact, Move, unexplained
from tang_egg.extract.certificate_mean import Meaning
from tang_egg.extract.certificate_program import Written, expression_text
from tang_egg.extract.certificate_term import Ground, Path, Term, Value, ground, places_of, replace_at, walk
from tang_egg.extract.rewriting import CHUNK, Rewriting
from tang_egg.extract.select import Candidate
from tang_egg.extract.siblings import count_points
from tang_egg.extract.terms import Terms, Variant
from tang_egg.ir import Graph, Read, Scalar, Tensor, type_of
from tang_egg.program import Program
from tang_egg.text import print_graph
from tang_egg.windows import Window

JOIN, COUNT, WRITE = "sibling.join", "points.count", "tensor.write"
"""Steps on finished expressions: sibling folds become one, points are counted, a kernel writes its tensors."""


@dataclass(frozen=True, slots=True)
class CertifiedStep:
    """One step. `before` and `after`: the whole expression of the tensor; they differ at `paths` only.

    `bindings`: what the variables of the law stand for; of a fact its arguments, in order; of `open` the tensor of the
    graph. `tensors` and `bodies`: of a join, all that the kernel computes, and their expressions afterwards.
    `texts`: before and after in the text form of graphs, where they are written down.
    """

    kind: str
    name: str
    tensor: str = ""
    paths: tuple[Path, ...] = ()
    reverse: bool = False
    bindings: tuple[tuple[str, Value], ...] = ()
    before: Term | None = None
    after: Term | None = None
    tensors: tuple[str, ...] = ()
    bodies: tuple[Scalar, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CertifiedWindow:
    """The derivation of one distinct window. `kernels`: what each writes; `roots`: the tensor behind each root."""

    steps: tuple[CertifiedStep, ...]
    kernels: tuple[tuple[Written, ...], ...]
    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Certificate:
    """See the module text. `windows`: the distinct ones; `parts`: which of them each window of the graph is.

    `axes` and `ieee` are what the normal form of the graph was asked for. `program` is the selected one; `rewritings`
    lead from there to `ending`, but one into chunks, which comes first and from the graph to its `stages`.
    """

    graph: Graph
    windows: tuple[CertifiedWindow, ...]
    parts: tuple[int, ...]
    program: Program
    axes: bool = False
    ieee: bool = False
    opening: tuple[CertifiedStep, ...] = ()
    closing: tuple[CertifiedStep, ...] = ()
    rewritings: tuple[Rewriting, ...] = ()
    stages: tuple[Certificate, ...] = ()

    @property
    def steps(self) -> tuple[CertifiedStep, ...]:
        """All steps in order, those of each distinct window once."""
        own = (*self.opening, *(s for w in self.windows for s in w.steps), *self.closing)
        first = tuple(r for r in self.rewritings if r.kind == CHUNK)
        inner = tuple(s for c in self.stages for s in c.steps)
        last = tuple(r for r in self.rewritings if r.kind != CHUNK)
        return (*_rewritten(first), *inner, *own, *_rewritten(last))

    @property
    def ending(self) -> tuple[Program, ...]:
        """What it ends in: one program, or one for each stage of a rank."""
        last = self.rewritings[-1] if self.rewritings else None
        return last.programs if last is not None and last.kind != CHUNK else (self.program,)


def _rewritten(rewritings: Sequence[Rewriting]) -> tuple[CertifiedStep, ...]:
    """The steps of rewritings as those of windows are told, what was asked for as bindings."""
    return tuple(
        CertifiedStep("rewrite", s.law, s.at, bindings=r.asked, texts=(s.before, s.after))
        for r in rewritings
        for s in r.steps
    )


def opening_steps(
    graph: Graph, normal: Graph, windows: Sequence[Window], parts: Sequence[int], texts: bool
) -> tuple[CertifiedStep, ...]:
    """The steps before those of windows: the normal form, and each window with the number of its derivation."""
    shown = (print_graph(graph), print_graph(normal)) if texts else ()
    first = CertifiedStep("graph", "normal.form", tensors=tuple(t.name for t in normal.outputs), texts=shown)
    cuts = [
        CertifiedStep("graph", "window.cut", tensors=tuple(t.name for t in w.tensors), bindings=(("derivation", n),))
        for w, n in zip(windows, parts, strict=True)
    ]
    return (first, *cuts)


def closing_steps(program: Program) -> tuple[CertifiedStep, ...]:
    """The step after those of windows: their kernels under the names of the graph."""
    return (CertifiedStep("graph", "program.name", tensors=tuple(t.name for t in program.tensors)),)


def certified_window(result: WindowResult, texts: bool = False) -> CertifiedWindow:
    """The derivation of a window; `texts`: with every expression written out.

    Raises SelectionError when no path of laws leads to what was picked.
    """
    return _Window(result, texts).run()


class _Window:
    """Writes the steps of one window in order."""

    def __init__(self, result: WindowResult, texts: bool) -> None:
        self.result = result
        self.texts = texts
        self.terms: Terms = result.terms
        saturation = result.saturation
        self.ground: Ground = ground(saturation.encoding)
        self.explain = Explanations(saturation, self.ground)
        self.meaning = Meaning(saturation.encoding, self._read)
        self.steps: list[CertifiedStep] = []
        self.known: set[Fact] = set()
        self.current: dict[str, Term] = {}
        self.forms: dict[Variant, Term] = {}
        self.tensors = {t.name: self.ground.terms[saturation.encoding.terms[self._body(t)]] for t in self._inside()}

    def _inside(self) -> tuple[Tensor, ...]:
        return tuple(n.origin for n in self.result.saturation.encoding.named.values())

    def _body(self, t: Tensor) -> Scalar:
        return self.result.saturation.encoding.named[t].body

    def _read(self, name: str) -> Scalar:
        """A read of a stored tensor at its own indices, as extraction reads it."""
        c = self.explain.stored[name]
        source = self.terms.placeholder(c, type_of(self.terms.found[c][0].term))
        return Read(source, tuple(self.terms._coordinate(c, i) for i in self.terms.axes[c]))

    def name(self, c: ClassId) -> str:
        """The name of a class that is written."""
        return self.terms.names.get(c, f"part{c.number}")

    def run(self) -> CertifiedWindow:
        kernels: list[tuple[Written, ...]] = []
        for k in self.result.selection.chosen:
            whole = self._original(k)
            for c, v in zip(whole.writes, whole.variants, strict=True):
                self._derive(c, v)
            self._finish(tuple(self.name(c) for c in whole.writes), whole.terms)
            kernels.append(tuple(self._written(c, t) for c, t in zip(k.writes, self._dtypes(k), strict=True)))
        roots: list[str] = []
        for t in self.result.roots:
            c = self.explain.class_of(self.tensors[t.name])
            roots.append(self.name(c))
            if roots[-1] != t.name:
                self._alias(t.name, c)
        return CertifiedWindow(tuple(self.steps), tuple(kernels), tuple(roots))

    def _alias(self, name: str, c: ClassId) -> None:
        """The steps by which a tensor is found to equal another, which is written in its place."""
        self._open(c, name)
        for m in self.explain.moves(self.tensors[name]):
            self._step(name, m)
        self._step(name, self.explain.moves(Term("Stored", (self.name(c),)))[0].back())

    def _finish(self, names: tuple[str, ...], bodies: tuple[Scalar, ...]) -> None:
        """The steps after those of laws: points are counted, siblings joined."""
        plain = [self.meaning.scalar(self.current[n]) for n in names]
        counted = [count_points(s) for s in plain]
        for n, s, c in zip(names, plain, counted, strict=True):
            if s is not c:
                self._append(CertifiedStep("count", COUNT, tensors=(n,), bodies=(c,)))
        name = WRITE if tuple(counted) == bodies else JOIN
        self._append(CertifiedStep("join", name, tensors=names, bodies=bodies))

    def _original(self, k: Candidate) -> Candidate:
        """A chosen kernel with what it computes and nobody reads: its folds are still in its state."""
        for whole in self.result.selection.candidates:
            known = dict(zip(whole.writes, whole.terms, strict=True))
            if all(known.get(c) is t for c, t in zip(k.writes, k.terms, strict=True)):
                if len(whole.writes) == len(k.writes) or whole.estimate is k.estimate:
                    return whole
        return k

    def _dtypes(self, k: Candidate) -> list[str]:
        made = {t.name: t.dtype for kernel in self.result.kernels for t in kernel.outputs}
        return [made[self.name(c)] for c in k.writes]

    def _written(self, c: ClassId, dtype: str) -> Written:
        axes = self.terms.axes[c]
        same = tuple(i.name for i in axes if not self.terms._coordinate(c, i).indices())
        source = self.terms.placeholder(c, type_of(self.terms.found[c][0].term))
        return Written(self.name(c), tuple(i.name for i in axes), same, dtype, source.name, source.dtype)

    def _derive(self, c: ClassId, v: Variant) -> None:
        """The steps from what the graph says of a class to a variant of it."""
        name = self.name(c)
        start = self._open(c, name)
        goal = self.form(v)
        if self.meaning.scalar(goal) is not v.term:
            raise unexplained(f"the term of '{name}' is not what its e-nodes say")
        there = self.explain.moves(start)
        back = tuple(m.back() for m in reversed(self.explain.moves(goal)))
        for m in (*there, *back):
            self._step(name, m)
        if self.current[name] is not goal:
            raise unexplained(f"the steps of '{name}' end in another term")
        self.explain.stored[name] = c

    def _open(self, c: ClassId, name: str) -> Term:
        """A tensor of the window, or a part of one that is stored on its own, as it begins."""
        for origin, whole in self.tensors.items():
            inside = (whole,) if origin == name else walk(whole) if name not in self.tensors else ()
            t = next((x for x in inside if self.explain.class_of(x) == c), None)
            if t is not None:
                path = next(places_of(whole, t))
                self._append(
                    CertifiedStep("open", "tensor.open", name, (path,), bindings=(("tensor", origin),), after=t)
                )
                self.current[name] = t
                return t
        raise unexplained(f"no tensor of the window holds '{name}'")

    def _step(self, name: str, m: Move) -> None:
        for relation, args in m.use.facts:
            if (relation, args) not in self.known:
                self.known.add((relation, args))
                numbered = tuple((str(n), a) for n, a in enumerate(args, 1))
                self._append(CertifiedStep("fact", relation, name, bindings=numbered))
        kind = {STORE: "store", BUILD: "build"}.get(m.use.law, "law")
        before = self.current[name]
        after = replace_at(before, m.paths, m.after)
        bindings = m.use.bindings
        if kind == "store":
            bindings = (("tensor", m.use.right.args[0]),)
        self._append(CertifiedStep(kind, m.use.law, name, m.paths, m.reverse, bindings, before, after))
        self.current[name] = after

    def _append(self, s: CertifiedStep) -> None:
        self.steps.append(replace(s, texts=step_texts(s, self.meaning)) if self.texts else s)

    # Variants as terms.

    def form(self, v: Variant) -> Term:
        """The term of a variant."""
        if v not in self.forms:
            self.forms[v] = self._form(v)
        return self.forms[v]

    def _form(self, v: Variant) -> Term:
        if v.node is None:
            name = self.name(v.owner)
            self.explain.stored[name] = v.owner
            return Term("Stored", (name,))
        n = v.node
        if n.constructor in ("Hole", "Delta", "Keep"):
            return Term(n.constructor, (self.explain.representative(n.args[0]),))
        below = [self.form(b) for b in v.below]
        if n.constructor == "Casc":
            return self._pass(v, below)
        rest = iter(below)

        def swap(a: object) -> object:
            if isinstance(a, ClassId):
                return next(rest)
            return tuple(next(rest) for _ in a) if isinstance(a, tuple) else a

        return Term(n.constructor, tuple(swap(a) for a in n.args))

    def _pass(self, v: Variant, below: list[Term]) -> Term:
        """A pass with all its followers: below are the domain, the statistics, and pairs of body and carry."""
        assert v.node is not None
        monoid, index, _, body, _ = v.node.args
        first = next(n for n, b in enumerate(v.below) if n and b.owner == body)
        where, statistics = below[0], tuple(below[1:first])
        holes = tuple(self.explain.representative(b.owner) for b in v.below[1:first])
        kept = tuple(self.explain.representative(b.owner) for b in v.below[first::2])
        names = ",".join(f"%{b.owner.number}" for b in v.below[first::2])
        bodies, carries = tuple(below[first::2]), tuple(below[first + 1 :: 2])
        return Term("Pass", (monoid, index, where, holes, statistics, names, kept, bodies, carries))


def step_texts(s: CertifiedStep, meaning: Meaning) -> tuple[str, ...]:
    """The expressions of a step as texts: before and after, or those that it leaves of several tensors."""
    made = [(s.tensor, meaning.scalar(t)) for t in (s.before, s.after) if t is not None]
    return tuple(expression_text(n, body) for n, body in [*made, *zip(s.tensors, s.bodies, strict=False)])


def kernel_names(window: CertifiedWindow, kernel: int) -> frozenset[str]:
    """The tensors whose steps lead to a kernel: what it computes, and what was found to equal that."""
    joins = [s for s in window.steps if s.kind == "join"]
    names = set(joins[kernel].tensors)
    for s in window.steps:
        if s.kind == "store" and s.after is not None and s.after.constructor == "Stored" and s.after.args[0] in names:
            names.add(s.tensor)
    return frozenset(names)
