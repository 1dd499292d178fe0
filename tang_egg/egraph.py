"""The e-graph: its schema, the way in (expressions to terms) and the way out (a decoded snapshot).

    scalar ::= Lit(value, type)                    a constant, its value spelled exactly
             | Leaf(key)                           a read, position or affine test; the key finds it in the encoding
             | Gather(key, scalars)                a read whose coordinates contain scalars
             | Ap1(op, a) | Ap2(op, a, b) | Ap3(op, a, b, c)
             | Red(monoid, index, where, body)     a fold with one component; "sum", "max", ... over the reals
             | Fold(monoid, part, index, where, bodies) | Scn(monoid, part, index, chunk, bodies)
             | Let(key, a)                         a seen through the substitution of indices that the key finds
             | At(index, value, a)                 a with an integer scalar in the place of an index (rules/gather.py)
             | Casc(monoid, index, where, follower, carried)      a one-pass cascade (rules/cascade.py)
             | Hole(a) | Delta(a) | Keep(b) | Total(b, index)    inside cascades: the statistic a, its shift, a carried
                                                   fold of b, a sum of b that is not carried as it stands

Operations on the reals have their plain names; on machine integers the type is part of the name (`add:i64`), so that
laws of the reals cannot touch them. `fv` over-approximates the indices that a class depends on, by intersection.

Provenance: each constructor F has a shadow N_F in a sort that is never unioned; a law that unions also asserts
`edge(law, left node, right node)`. A path of edges inside one class is a derivation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from egglog import bindings

from tang_egg import ops
from tang_egg.affine import Affine, Index
from tang_egg.errors import SaturationError
from tang_egg.ir import (
    Apply,
    Const,
    Domain,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Tensor,
    Test,
    free,
    map_children,
    type_of,
    walk,
)
from tang_egg.monoid import ALL, ANY, MAX, MIN, PRODUCT, SUM, Monoid, sum_of
from tang_egg.prefix import moved_prefix
from tang_egg.rewrite import substitute
from tang_egg.unify import Named

CONSTRUCTORS: dict[str, tuple[str, ...]] = {
    "Lit": ("String", "String"),
    "Leaf": ("String",),
    "Gather": ("String", "Scs"),
    "Ap1": ("String", "Sc"),
    "Ap2": ("String", "Sc", "Sc"),
    "Ap3": ("String", "Sc", "Sc", "Sc"),
    "Red": ("String", "String", "Sc", "Sc"),
    "Fold": ("String", "i64", "String", "Sc", "Scs"),
    "Scn": ("String", "i64", "String", "i64", "Scs"),
    "Let": ("String", "Sc"),
    "At": ("String", "Sc", "Sc"),
    "Casc": ("String", "String", "Sc", "Sc", "Sc"),
    "Hole": ("Sc",),
    "Delta": ("Sc",),
    "Keep": ("Sc",),
    "Total": ("Sc", "String"),
}

RULESETS = ("analysis", "simplify", "views", "hoist", "walk", "carry", "cascade", "on_demand", "algebraic")

_ANALYSIS = """
(rule ((= e (Lit v t))) ((set (fv e) (set-empty))) :ruleset analysis :name "fv.lit")
(rule ((= e (Ap1 op a)) (= A (fv a))) ((set (fv e) A)) :ruleset analysis :name "fv.ap1")
(rule ((= e (Ap2 op a b)) (= A (fv a)) (= B (fv b))) ((set (fv e) (set-union A B))) :ruleset analysis :name "fv.ap2")
(rule ((= e (Ap3 op a b c)) (= A (fv a)) (= B (fv b)) (= C (fv c)))
      ((set (fv e) (set-union A (set-union B C)))) :ruleset analysis :name "fv.ap3")
(rule ((= e (Red m j w b)) (= W (fv w)) (= B (fv b)))
      ((set (fv e) (set-remove (set-union W B) j))) :ruleset analysis :name "fv.red")
(rule ((= e (Let k a)) (= A (fv a)) (replaces k D J))
      ((set (fv e) (set-union (set-diff A D) J))) :ruleset analysis :name "fv.let")
(rule ((= e (At j c a)) (= C (fv c)) (= A (fv a)))
      ((set (fv e) (set-union C (set-remove A j)))) :ruleset analysis :name "fv.at")
(rule ((= e (Hole m))) ((set (fv e) (set-of "%h"))) :ruleset analysis :name "fv.hole")
(rule ((= e (Delta m))) ((set (fv e) (set-of "%d"))) :ruleset analysis :name "fv.delta")
(rule ((= e (Keep a))) ((set (fv e) (set-empty))) :ruleset analysis :name "fv.keep")
(rule ((= e (Red m j w b))) ((finished e j)) :ruleset analysis :name "finished.red")
(rule ((= e (Red m i w b)) (finished b j)) ((finished e j)) :ruleset analysis :name "finished.below")
(rule ((= e (Ap1 op a)) (finished a j)) ((finished e j)) :ruleset analysis :name "finished.ap1")
(rule ((= e (Ap2 op a b)) (finished a j)) ((finished e j)) :ruleset analysis :name "finished.left")
(rule ((= e (Ap2 op a b)) (finished b j)) ((finished e j)) :ruleset analysis :name "finished.right")
(rule ((= e (Ap3 op a b c)) (finished a j)) ((finished e j)) :ruleset analysis :name "finished.first")
(rule ((= e (Ap3 op a b c)) (finished b j)) ((finished e j)) :ruleset analysis :name "finished.second")
(rule ((= e (Ap3 op a b c)) (finished c j)) ((finished e j)) :ruleset analysis :name "finished.third")
(rule ((= e (Leaf k)) (indexed j)) ((clean e j)) :ruleset analysis :name "clean.leaf")
(rule ((= e (Lit v t)) (indexed j)) ((clean e j)) :ruleset analysis :name "clean.lit")
(rule ((= e (Gather k v)) (indexed j)) ((clean e j)) :ruleset analysis :name "clean.gather")
(rule ((= e (Let k a)) (replaces k D J) (= A (fv a)) (set-not-contains A "%h") (set-not-contains A "%d") (indexed j))
      ((clean e j)) :ruleset analysis :name "clean.let")
(rule ((= e (At i c a)) (= C (fv c)) (set-not-contains C "%h") (set-not-contains C "%d")
       (= A (fv a)) (set-not-contains A "%h") (set-not-contains A "%d") (indexed j))
      ((clean e j)) :ruleset analysis :name "clean.at")
(rule ((= e (Ap1 op a)) (clean a j)) ((clean e j)) :ruleset analysis :name "clean.ap1")
(rule ((= e (Ap2 op a b)) (clean a j) (clean b j)) ((clean e j)) :ruleset analysis :name "clean.ap2")
(rule ((= e (Ap3 op a b c)) (clean a j) (clean b j) (clean c j)) ((clean e j)) :ruleset analysis :name "clean.ap3")
(rule ((= e (Red m i w b)) (!= i j) (clean w j) (clean b j)) ((clean e j)) :ruleset analysis :name "clean.red")
(rule ((= e (Red m i w b)) (!= i j) (= F (fv e)) (set-contains F j) (set-not-contains F "%h")
       (set-not-contains F "%d") (indexed j))
      ((clean e j)) :ruleset analysis :name "clean.other")
"""


def schema() -> str:
    """The declarations and analyses, as egglog text."""
    lines = ["(sort Sc)", "(sort Nd)", "(sort Names (Set String))", "(sort Scs (Vec Sc))"]
    for name, sorts in CONSTRUCTORS.items():
        lines.append(f"(constructor {name} ({' '.join(sorts)}) Sc)")
        lines.append(f"(constructor N_{name} ({' '.join(sorts)}) Nd)")
    lines.append("(constructor N_Is (Sc) Nd)")
    lines.append("(function fv (Sc) Names :merge (set-intersect old new))")
    lines += ["(relation edge (String Nd Nd))", "(relation finished (Sc String))", "(relation clean (Sc String))"]
    lines += ["(relation indexed (String))", "(relation replaces (String Names Names))"]
    lines += [f"(ruleset {r})" for r in RULESETS]
    return "\n".join(lines)


def analysis() -> str:
    """The rules that compute free indices and the bookkeeping of cascades, as egglog text."""
    return _ANALYSIS


_KEYED = {SUM: "sum", MAX: "max", MIN: "min", PRODUCT: "product", ANY: "any", ALL: "all", sum_of("i64"): "sum:i64"}


def literal_text(value: float | int | bool) -> str:
    """The exact spelling of a constant."""
    return repr(value)


@dataclass(slots=True)
class Encoding:
    """Expressions as egglog terms, with the tables that lead back from keys.

    `boundary` maps tensors outside the window to the leaves by which they are read.
    """

    named: Mapping[Tensor, Named]
    inside: frozenset[Tensor]
    lines: list[str] = field(default_factory=list)
    terms: dict[Scalar, str] = field(default_factory=dict)
    leaves: dict[str, Scalar] = field(default_factory=dict)
    views: dict[str, tuple[tuple[Index, Affine | Scalar], ...]] = field(default_factory=dict)
    monoids: dict[str, Monoid] = field(default_factory=lambda: {v: k for k, v in _KEYED.items()})
    indices: dict[str, Index] = field(default_factory=dict)
    gathers: dict[str, Read] = field(default_factory=dict)
    _shapes: dict[object, str] = field(default_factory=dict)
    seeds: list[tuple[str, str, str]] = field(default_factory=list)
    domains: list[tuple[tuple[Index, ...], Domain, str]] = field(default_factory=list)
    bundled: Mapping[Index, tuple[Index, ...]] = field(default_factory=dict)  # see tang_egg.bundles

    def tensor(self, t: Tensor) -> str:
        """The term of a tensor of the window."""
        return self.scalar(self.named[t].body)

    def scalar(self, s: Scalar) -> str:
        """The name of the term that stands for `s`; adds what is needed to `lines`."""
        if s not in self.terms:
            self.terms[s] = self._encode(s)
        return self.terms[s]

    def _bind(self, term: str, seeded: frozenset[Index] | None = None) -> str:
        # All names are equally long: the engine makes fresh ones by putting digits after a name, and "$t6" with 9 would
        # be "$t69", another term.
        name = f"$t{len(self.lines):07}"
        self.lines.append(f"(let {name} {term})")
        if seeded is not None:
            self.lines.append(f"(set (fv {name}) {self._names(seeded)})")
        return name

    def _names(self, found: Iterable[Index]) -> str:
        listed = " ".join(f'"{self.index(i)}"' for i in sorted(found, key=lambda i: i.name))
        return f"(set-of {listed})" if listed else "(set-empty)"

    def index(self, i: Index) -> str:
        known = self.indices.setdefault(i.name, i)
        if known is not i:
            raise SaturationError(
                f"two indices named '{i.name}' have different sizes",
                where="the encoding of a window",
                mend="report this: shared names must be one-to-one",
            )
        return self.name(i)

    def name(self, i: Index) -> str:
        """What an index is called in the e-graph: its own name, or that of its bundle."""
        return "×".join(x.name for x in self.bundled.get(i, (i,)))

    def folded(self, name: str) -> tuple[Index, ...]:
        """The indices that a name of the e-graph stands for."""
        return tuple(self.indices[n] for n in name.split("×"))

    def leaf(self, s: Scalar, stem: str) -> str:
        key = f"{stem}{len(self.leaves)}"
        self.leaves[key] = s
        return self._bind(f'(Leaf "{key}")', free(s))

    def _vector(self, items: Iterable[Scalar]) -> str:
        listed = " ".join(self.scalar(x) for x in items)
        return f"(vec-of {listed})"

    def _encode(self, s: Scalar) -> str:
        if isinstance(s, Const):
            return self._bind(f'(Lit "{literal_text(s.value)}" "{s.type}")')
        if isinstance(s, (Position, Test)):
            return self.leaf(s, "a")
        if isinstance(s, Read):
            return self._read(s)
        if isinstance(s, Apply):
            return self._apply(s)
        if isinstance(s, Reduce):
            return self._fold(s)
        if isinstance(s, Scan):
            key = self.monoid(s.monoid)
            where = f'(Scn "{key}" {s.part} "{self.index(s.index)}" {s.chunk} {self._vector(s.body)})'
            return self._bind(where, free(s))
        raise SaturationError(
            f"{type(s).__name__} cannot stand in a graph",
            where="the encoding of a window",
            mend="check the graph first",
        )

    def _apply(self, s: Apply) -> str:
        operand = type_of(s.args[-1])
        name = s.op
        if operand in ops.INTEGERS and ":" not in name:
            name = f"{name}:{operand}"
        elif operand in ops.INTEGERS or operand == "bool":
            name = f"{name}" if s.op in ("and", "or", "not") else f"{name}:{operand}"
        args = " ".join(self.scalar(a) for a in s.args)
        return self._bind(f'(Ap{len(s.args)} "{name}" {args})')

    def _read(self, s: Read) -> str:
        source = s.source
        if isinstance(source, Tensor) and source in self.inside:
            named = self.named[source]
            if all(isinstance(c, Affine) and c.single() is i for c, i in zip(s.coordinates, named.axes, strict=True)):
                return self.tensor(source)
            return self._view(s, named)
        gathered = tuple(c for c in s.coordinates if isinstance(c, Scalar))
        if not gathered:
            return self.leaf(s, "r")
        return self._bind(f'(Gather "{self.gather(s)}" {self._vector(gathered)})', free(s))

    def gather(self, s: Read) -> str:
        """The key of a read with gathered coordinates, the same for all that differ in the values there only."""
        shape = (s.source, tuple(c if isinstance(c, Affine) else None for c in s.coordinates))
        if shape not in self._shapes:
            self._shapes[shape] = f"g{len(self.gathers)}"
            self.gathers[self._shapes[shape]] = s
        return self._shapes[shape]

    def _open(self, s: Scalar) -> Scalar:
        """A gathered coordinate without tensors of the window: candidate terms put it in as it stands."""
        if isinstance(s, Read) and isinstance(s.source, Tensor) and s.source in self.inside:
            named = self.named[s.source]
            return self._open(substitute(named.body, dict(zip(named.axes, s.coordinates, strict=True))))
        return map_children(s, self._open)

    def _view(self, s: Read, named: Named) -> str:
        pairs = tuple(
            (i, c if isinstance(c, Affine) else self._open(c))
            for i, c in zip(named.axes, s.coordinates, strict=True)
            if not (isinstance(c, Affine) and c.single() is i)
        )
        whole = dict(pairs)
        if not _has_fold(named.body):
            return self.scalar(substitute(named.body, whole))
        body = self.tensor(named.origin)
        key = next((k for k, v in self.views.items() if v == pairs), "")
        if not key:
            key = f"v{len(self.views)}"
            self.views[key] = pairs
            incoming: set[Index] = set()
            for _, c in pairs:
                incoming |= c.indices() if isinstance(c, Affine) else free(c)
            self.lines.append(f'(replaces "{key}" {self._names(i for i, _ in pairs)} {self._names(incoming)})')
        result = self._bind(f'(Let "{key}" {body})', free(s))
        for below in self._leaves_of(named.body):
            inner = self.scalar(below)
            view = self._bind(f'(Let "{key}" {inner})')
            inside = isinstance(below, Read) and below.source in self.inside
            seed = "view.compose" if inside else "view.read"
            self.seeds.append((seed, view, self.scalar(substitute(below, whole))))
        return result

    @staticmethod
    def _leaves_of(body: Scalar) -> list[Scalar]:
        """Where a view pushed into a body ends: reads, positions and tests."""
        return [s for s in walk(body) if isinstance(s, (Read, Position, Test))]

    def monoid(self, m: Monoid) -> str:
        if m in _KEYED:
            return _KEYED[m]
        key = next((k for k, v in self.monoids.items() if v is m), "")
        if not key:
            key = f"{m.name}#{len(self.monoids)}"
            self.monoids[key] = m
        return key

    def domain(self, d: Domain) -> str:
        """The conjunction as one bool term."""
        parts = [self.scalar(Test(c)) for c in d.affine] + [self.scalar(x) for x in d.data]
        if not parts:
            return self.scalar(Const(True, "bool"))
        term = parts[0]
        for p in parts[1:]:
            term = self._bind(f'(Ap2 "and" {term} {p})')
        return term

    def _fold(self, s: Reduce) -> str:
        key = self.monoid(s.monoid)
        if not s.monoid.scalar or not s.monoid.commutative or s.monoid.components[0].follow is not None:
            listed = ",".join(self.index(i) for i in s.indices)
            term = f'(Fold "{key}" {s.part} "{listed}" {self.domain(s.where)} {self._vector(s.body)})'
            result = self._bind(term, free(s))
            self._prefix(s, result)
            return result
        body = self.scalar(s.body[0])
        remaining = list(s.indices)
        affine, data = list(s.where.affine), list(s.where.data)
        while remaining:
            j = remaining.pop()
            together = self.bundled.get(j, (j,))
            remaining = [i for i in remaining if i not in together]
            outer, own = set(remaining), set(together)
            here = Domain(
                tuple(c for c in affine if own & c.indices() or not remaining or not c.indices() & outer),
                tuple(d for d in data if own & free(d) or not remaining or not free(d) & outer),
            )
            affine = [c for c in affine if c not in here.affine]
            data = [d for d in data if d not in here.data]
            where = self.domain(here)
            self.domains.append((together, here, where))
            for i in together:
                self.index(i)
            body = self._bind(f'(Red "{key}" "{self.name(j)}" {where} {body})')
        self._prefix(s, body)
        return body

    def _prefix(self, s: Reduce, term: str) -> None:
        """A fold over all points up to a free index of the same size is a scan (seed scan.prefix)."""
        if len(s.indices) != 1 or len(s.where.affine) != 1 or s.where.data:
            return
        j = s.indices[0]
        bound = (s.where.affine[0].form + j).single()
        if bound is None or bound.size is not j.size:
            return
        if any(bound in free(b) for b in s.body):
            moved = moved_prefix(s, bound)
            if moved is not None:
                self.seeds.append((moved[0], term, self.scalar(moved[1])))
            return
        body = tuple(substitute(b, {j: bound}) for b in s.body)
        scan = Scan(s.monoid, bound, body, s.part)
        self.seeds.append(("scan.prefix", term, self.scalar(scan)))


def _has_fold(s: Scalar) -> bool:
    return any(isinstance(x, (Reduce, Scan)) for x in walk(s)) or any(
        isinstance(x, Read) and isinstance(x.source, Tensor) for x in walk(s)
    )


@dataclass(frozen=True, slots=True)
class ENode:
    """A decoded e-node: constructor, and arguments (strings, ints, class ids as `ClassId`, or tuples of those)."""

    constructor: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ClassId:
    """The name of an e-class in a snapshot."""

    number: int


@dataclass(slots=True)
class Snapshot:
    """A decoded e-graph: nodes of each class, free indices, law edges between nodes, facts, and the named roots."""

    classes: dict[ClassId, list[ENode]]
    free: dict[ClassId, frozenset[str]]
    edges: list[tuple[str, ENode, ENode]]
    facts: dict[str, list[tuple[Any, ...]]]
    roots: dict[str, ClassId]

    @property
    def nodes(self) -> int:
        return sum(len(n) for n in self.classes.values())


def decode(engine: bindings.EGraph) -> Snapshot:
    """The snapshot of an e-graph: 5 ms for some ten thousand nodes, where extraction by queries takes seconds."""
    frozen = engine.freeze()
    numbers: dict[Any, ClassId] = {}

    def value(v: Any, sort: str) -> Any:
        if sort == "String":
            return engine.value_to_string(v)
        if sort == "i64":
            return engine.value_to_i64(v)
        if sort == "Scs":
            return tuple(value(x, "Sc") for x in engine.value_to_vec(v))
        if sort == "Names":
            return frozenset(engine.value_to_string(x) for x in engine.value_to_set(v))
        return numbers.setdefault(v, ClassId(len(numbers)))

    def row(function: Any, r: Any) -> tuple[Any, ...]:
        return tuple(value(v, s) for v, s in zip(r.inputs, function.input_sorts, strict=True))

    shot = Snapshot({}, {}, [], {}, {})
    shadows: dict[Any, ENode] = {}
    for name, function in frozen.functions.items():
        if name.startswith("N_"):
            for r in function.rows:
                shadows[r.output] = ENode(name[2:], row(function, r))
        elif name in CONSTRUCTORS:
            for r in function.rows:
                if not r.subsumed:
                    shot.classes.setdefault(value(r.output, "Sc"), []).append(ENode(name, row(function, r)))
        elif name == "fv":
            for r in function.rows:
                shot.free[value(r.inputs[0], "Sc")] = value(r.output, "Names")
        elif name.startswith("$"):
            for r in function.rows:
                if function.output_sort == "Sc":
                    shot.roots[name] = value(r.output, "Sc")
        elif name != "edge":
            if "Nd" not in function.input_sorts:
                shot.facts[name] = [row(function, r) for r in function.rows]
    edges = frozen.functions.get("edge")
    if edges is not None:
        for r in edges.rows:
            law, left, right = r.inputs
            shot.edges.append((engine.value_to_string(law), shadows[left], shadows[right]))
    return shot
