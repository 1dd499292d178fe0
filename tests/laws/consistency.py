"""A saturated e-graph evaluated: every node of every class at random inputs, by the interpreter.

A class is given the value of one of its nodes (that of least depth); every other node, computed from the values of the
classes below it, must agree. The statistic (Hole), its shift (Delta) and carried sums (Keep) get values from a setting:
Hole and Delta are numbers or arrays, and Keep(g) is the sum of g over one index, on a random domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.affine import Affine, Index, affine
from tang_egg.egraph import ClassId, ENode
from tang_egg.extract.terms import as_domain, class_arguments, operation
from tang_egg.interpret import combine_states, evaluate
from tang_egg.ir import Apply, Const, Graph, Input, Position, Read, Reduce, Scalar, Scan, Source, free, sources
from tang_egg.monoid import SUM, Monoid
from tang_egg.ops import numpy_type
from tang_egg.saturate import Limits, Saturation, saturate_window
from tang_egg.unify import unify
from tang_egg.windows import canonical, cut
from tests.laws import consistency_gather

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Value:
    """An array with one axis for each of some indices, in order of name."""

    axes: tuple[Index, ...]
    array: Array

    @property
    def type(self) -> str:
        kind = self.array.dtype
        return {"f": "real", "b": "bool"}.get(kind.kind, kind.name.replace("uint", "u").replace("int", "i"))


@dataclass(frozen=True)
class Setting:
    """What Hole, Delta and Keep stand for. Without `hole`, a Hole is the statistic itself."""

    hole: Value | None = None
    delta: Value | None = None
    kept: Index | None = None
    base: Monoid = SUM


def number(x: float) -> Value:
    return Value((), np.asarray(x))


def saturated(graph: Graph, limits: Limits | None = None) -> list[Saturation]:
    """The saturated windows of a graph."""
    found: dict[object, Saturation] = {}
    for window in cut(graph):
        shared = canonical(window)
        if shared.tensors not in found:
            named = unify(shared.tensors)
            found[shared.tensors] = saturate_window(named, shared.tensors, shared.roots, limits)
    return list(found.values())


@dataclass
class Evaluated:
    """A saturation at random inputs."""

    saturation: Saturation
    seed: int = 0
    dims: dict[str, int] = field(default_factory=dict)
    arrays: dict[Source, Array] = field(default_factory=dict)
    values: dict[tuple[ClassId, Setting], Value] = field(default_factory=dict)

    holes: dict[ClassId, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.indices = self.saturation.encoding.indices
        self.representative = self._representatives()
        self.kept_points = {
            i: self.rng.random(i.size.evaluate(self.dims)) < 0.7 for i in self.saturation.encoding.indices.values()
        }

    def _representatives(self) -> dict[ClassId, ENode]:
        """A node of least depth for each class."""
        chosen: dict[ClassId, ENode] = {}
        classes = self.saturation.snapshot.classes
        while True:
            found = {
                c: n for c, nodes in classes.items() if c not in chosen
                for n in nodes if all(a in chosen for a in class_arguments(n))
            }  # fmt: skip
            if not found:
                break
            chosen.update(found)
        assert len(chosen) == len(classes), "a class without a finite term"
        return chosen

    def of(self, c: ClassId, setting: Setting = Setting()) -> Value:
        """The value of a class."""
        if not self.mentions_hole(c):
            setting = Setting(None, setting.delta, setting.kept, setting.base)
        key = (c, setting)
        if key not in self.values:
            self.values[key] = self.node(self.representative[c], setting)
        return self.values[key]

    def mentions_hole(self, c: ClassId) -> bool:
        """Whether the representative of a class depends on what Hole stands for."""
        if c not in self.holes:
            n = self.representative[c]
            below = (n.args[2],) if n.constructor == "Casc" else class_arguments(n)
            self.holes[c] = n.constructor == "Hole" or any(self.mentions_hole(a) for a in below)
        return self.holes[c]

    def node(self, n: ENode, setting: Setting) -> Value:
        """The value of a node, from those of the classes below it."""
        a = n.args
        if n.constructor == "Hole":
            return self.of(a[0], setting) if setting.hole is None else _own(setting.hole, a[0])
        if n.constructor == "Delta":
            assert setting.delta is not None
            return _own(setting.delta, a[0])
        if n.constructor == "Keep":
            assert setting.kept is not None
            return self.kept_fold(self.of(a[0], setting), setting.kept, setting.base)
        if n.constructor == "Total":
            return self.kept_fold(self.of(a[0], setting), self.indices[a[1]], SUM)
        if n.constructor == "Casc":
            monoid, index, where, body, _ = a
            inner = Setting(None, setting.delta, setting.kept, setting.base)
            known = self.saturation.encoding.monoids[monoid]
            return self.fold(known, self.indices[index], self.of(where, setting), self.of(body, inner))
        if n.constructor == "Let":
            return self.view(n.args[0], self.of(a[1], setting))
        if n.constructor == "At":
            return self.at(self.indices[a[0]], self.of(a[1], setting), self.of(a[2], setting))
        inputs: dict[str, Value] = {}

        def read(c: ClassId) -> Scalar:
            v = inputs.setdefault(f"c{c.number}", self.of(c, setting))
            return as_read(f"c{c.number}", v)

        encoding = self.saturation.encoding
        if n.constructor == "Lit":
            value = {"bool": a[0] == "True", "real": a[0]}.get(a[1], a[0])
            term: Scalar = Const(value if a[1] == "bool" else float(value) if a[1] == "real" else int(value), a[1])
        elif n.constructor == "Leaf":
            term = encoding.leaves[a[0]]
        elif n.constructor == "Gather":
            pattern = encoding.gathers[a[0]]
            given = iter([read(c) for c in a[1]])
            term = Read(pattern.source, tuple(c if isinstance(c, Affine) else next(given) for c in pattern.coordinates))
        elif n.constructor in ("Ap1", "Ap2", "Ap3"):
            term = Apply(operation(a[0]), tuple(read(c) for c in a[1:]))
        elif n.constructor == "Red":
            return self.fold(encoding.monoids[a[0]], self.indices[a[1]], self.of(a[2], setting), self.of(a[3], setting))
        elif n.constructor == "Fold":
            indices = tuple(self.indices[x] for x in a[2].split(","))
            term = Reduce(encoding.monoids[a[0]], indices, as_domain(read(a[3])), tuple(map(read, a[4])), a[1])
        elif n.constructor == "Scn":
            term = Scan(encoding.monoids[a[0]], self.indices[a[2]], tuple(map(read, a[4])), a[1], a[3])
        else:
            raise AssertionError(n.constructor)
        return self.scalar(term, inputs)

    def fold(self, monoid: Any, j: Index, where: Value, body: Value) -> Value:
        term = Reduce(monoid, (j,), as_domain(as_read("w", where)), (as_read("b", body),))
        return self.scalar(term, {"w": where, "b": body})

    def kept_fold(self, v: Value, j: Index, base: Monoid) -> Value:
        return self.fold(base, j, Value((j,), self.kept_points[j]), v)

    def view(self, key: str, v: Value) -> Value:
        forms = dict(self.saturation.encoding.views[key])
        source = as_read("seen", v).source
        inputs: dict[str, Value] = {"seen": v}
        return self.scalar(Read(source, tuple(forms.get(i, affine(i)) for i in v.axes)), inputs)

    def at(self, j: Index, value: Value, v: Value) -> Value:
        """A value with another, of integers, in the place of an index."""
        inputs, place = {"seen": v, "place": value}, as_read("place", value)
        return self.scalar(
            Read(as_read("seen", v).source, tuple(place if i is j else affine(i) for i in v.axes)), inputs
        )

    @property
    def some(self) -> Index | None:
        """An index for carried sums where it does not matter which."""
        return next(iter(self.indices.values()), None)

    @property
    def leaves_range(self) -> bool:
        """Whether some view reads outside of what it sees (under a guard): what such a read gives means nothing."""
        box = {i.name: i.size.evaluate(self.dims) for i in self.indices.values()}
        for n in (n for nodes in self.saturation.snapshot.classes.values() for n in nodes if n.constructor == "Let"):
            for seen, form in self.saturation.encoding.views[n.args[0]]:
                if isinstance(form, Affine):
                    axes = tuple(sorted(form.indices(), key=lambda i: i.name))
                    if all(box[i.name] for i in axes):
                        at = evaluate(Position(form), axes, {}, self.dims)
                        if at.min() < 0 or at.max() >= seen.size.evaluate(self.dims):
                            return True
        return False

    def scalar(self, s: Scalar, inputs: dict[str, Value]) -> Value:
        """The value of an expression over its free indices."""
        axes = tuple(sorted(free(s), key=lambda i: i.name))
        arrays = {name: v.array for name, v in inputs.items()}
        for source in sources(s):
            if isinstance(source, Input) and source.name not in arrays:
                arrays[source.name] = self.input(source)
        return Value(axes, evaluate(s, axes, arrays, self.dims, checked=False))

    def input(self, source: Input) -> Array:
        """Random data, the same for every read: positive and negative, nothing infinite."""
        if source not in self.arrays:
            shape = tuple(s.evaluate(self.dims) for s in source.shape)
            if source.dtype == "bool":
                made: Array = self.rng.random(shape) < 0.7
                if made.ndim:
                    made[..., 0] = True  # no row without a live element: what happens there is tested on its own
            elif source.dtype in ("f16", "bf16", "f32", "f64"):
                made = self.rng.uniform(0.2, 1.5, shape) * self.rng.choice([-1.0, 1.0], shape)
            else:
                made = self.rng.integers(0, 2, shape, numpy_type(source.dtype))
            self.arrays[source] = np.sort(made) if isinstance(source, Input) and source.sorted else made
        return self.arrays[source]


def as_read(name: str, v: Value) -> Read:
    dtype = {"real": "f64"}.get(v.type, v.type)
    return Read(Input(name, tuple(i.size for i in v.axes), dtype), tuple(map(affine, v.axes)))


def spread(v: Value, axes: Sequence[Index]) -> Array:
    """The array of a value over more axes."""
    where = {i: n for n, i in enumerate(v.axes)}
    assert set(where) <= set(axes), f"{v.axes} depends on more than {axes}"
    return v.array.reshape([v.array.shape[where[i]] if i in where else 1 for i in axes])


def same(a: Value, b: Value) -> bool:
    """Whether two values agree at every point, up to rounding; where both are NaN or the same infinity, they do."""
    axes = tuple(sorted({*a.axes, *b.axes}, key=lambda i: i.name))
    x, y = spread(a, axes), spread(b, axes)
    if x.dtype.kind != "f":
        return bool(np.all(x == y))
    return bool(np.allclose(x, y, rtol=1e-8, atol=1e-10, equal_nan=True))


def inconsistencies(e: Evaluated, setting: Setting) -> Iterator[str]:
    """The nodes that differ from their class, in words."""
    for c, nodes in e.saturation.snapshot.classes.items():
        allowed = e.saturation.snapshot.free.get(c)
        # a total is taken apart into folds over its own index
        totals = [n.args[1] for n in _below(e, c) if n.constructor == "Total"]
        setting = replace(setting, kept=e.indices[totals[0]]) if totals else setting
        for n in nodes:
            value, expected = e.node(n, setting), e.of(c, setting)
            if not same(value, expected):
                yield f"{n} is not {e.representative[c]}: {value.array} against {expected.array}"
        if allowed is not None:
            moving = {i.name for i in e.of(c, setting).axes if varies(e.of(c, setting), i)}
            if not moving <= allowed and not allowed & {"%h", "%d"} and not kept_below(e, c):
                yield f"class {c.number} depends on {moving}, not only on {set(allowed)}"


def varies(v: Value, i: Index) -> bool:
    """Whether a value changes along an index."""
    axis = v.axes.index(i)
    if v.array.shape[axis] < 2 or v.array.dtype.kind != "f":
        return False
    first = np.take(v.array, [0], axis)
    return not np.allclose(v.array, first, rtol=1e-8, atol=1e-10, equal_nan=True)


DEMANDS = (
    frozenset(
        "plain spreading sums want seek moving keeps indexed chunked replaces doubtful clean finished shorter".split()
    )
    | consistency_gather.DEMANDS
)
"""Relations that claim nothing about values: demands and bookkeeping."""


def falsehoods(e: Evaluated, shift: float, at: float) -> Iterator[tuple[str, str]]:
    """The facts whose proposition is false when the statistic is `at` and moves by `shift`; relation and words."""
    h, moved, delta = number(at), number(at + shift), number(shift)
    for name, facts in e.saturation.snapshot.facts.items():
        if name in DEMANDS:
            continue
        check = CHECKS[name]
        for fact in facts:
            if not check(e, fact, h, moved, delta):
                yield name, f"{name}{fact}"


def _own(of: Value, statistic: ClassId) -> Value:
    """What a class of its own stands for: each statistic has another value and another shift."""
    return Value(of.axes, of.array * (1.0 + 0.3 * (statistic.number % 4)))


def _product(e: Evaluated, *factors: Value) -> Value:
    axes = tuple(sorted({i for v in factors for i in v.axes}, key=lambda i: i.name))
    result: Any = 1.0
    for v in factors:
        result = result * spread(v, axes)
    return Value(axes, np.asarray(result))


def _sum(e: Evaluated, *terms: Value) -> Value:
    axes = tuple(sorted({i for v in terms for i in v.axes}, key=lambda i: i.name))
    return Value(axes, np.asarray(sum(spread(v, axes) for v in terms)))


Fact = tuple[Any, ...]


def _split(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    b, j, f, u = fact
    here = Setting(h, delta, e.indices[j])
    factor = e.of(f, here)
    free_ = e.indices[j] not in factor.axes or not varies(factor, e.indices[j])
    return free_ and same(e.of(b, here), _product(e, factor, e.of(u, here)))


def _abstracts(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    whole, _, f = fact
    return same(e.of(whole), e.of(f, Setting(None, delta, e.some)))


def _scales(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    f, a = fact
    after = e.of(f, Setting(moved, delta, e.some))
    return same(after, _product(e, e.of(a, Setting(h, delta, e.some)), e.of(f, Setting(h, delta, e.some))))


def _moves(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    f, c = fact
    after = e.of(f, Setting(moved, delta, e.some))
    return same(after, _sum(e, e.of(f, Setting(h, delta, e.some)), e.of(c, Setting(h, delta, e.some))))


def _mixes(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    f, a, r = fact
    after, before = e.of(f, Setting(moved, delta, e.some)), Setting(h, delta, e.some)
    return same(after, _sum(e, _product(e, e.of(a, before), e.of(f, before)), e.of(r, before)))


def _carried(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    monoid, j, f, t = fact
    index, base = e.indices[j], e.saturation.encoding.monoids[monoid]
    after = e.of(f, Setting(moved, delta, e.some, base))
    return same(e.kept_fold(after, index, base), e.of(t, Setting(h, delta, index, base)))


def _statistic(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    value, j = e.of(fact[0]), e.indices[fact[1]]
    return j not in value.axes or not varies(value, j)


def _neutral(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    monoid, identity = e.saturation.encoding.monoids[fact[0]], e.of(fact[1]).array
    kind = monoid.components[0].type
    states = np.array([True, False] if kind == "bool" else [1.5, -2.0, 0.0, np.inf, -np.inf])
    full = np.broadcast_to(identity, states.shape)
    sides = (combine_states(monoid, [full], [states]), combine_states(monoid, [states], [full]))
    return all(np.array_equal(side[0], states) for side in sides)


def _extent(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    return float(e.of(fact[1]).array) == e.indices[fact[0]].size.evaluate(e.dims)


def _inverse_extent(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    return float(e.of(fact[1]).array) == 1.0 / e.indices[fact[0]].size.evaluate(e.dims)


def _member(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    j, w, c = fact
    where = {"Red": 2, "Casc": 2}
    index = {"Red": 1, "Casc": 1}
    nodes = [n for n in e.saturation.snapshot.classes[c] if n.constructor in where]
    return any(n.args[index[n.constructor]] == j and n.args[where[n.constructor]] == w for n in nodes)


def _spreads(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    b, _, *parts = fact
    here = Setting(h, delta, e.some)
    return same(e.of(b, here), _sum(e, *(e.of(p, here) for p in parts)))


def _implies(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    p, q = (e.of(c, Setting(h, delta, e.some)) for c in fact)
    axes = tuple(sorted({*p.axes, *q.axes}, key=lambda i: i.name))
    return bool(np.all(~spread(p, axes).astype(bool) | spread(q, axes).astype(bool)))


def _inhabited(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    j, where = e.indices[fact[0]], e.of(fact[1])
    if j not in where.axes:
        return bool(where.array.all()) and j.size.evaluate(e.dims) > 0
    return bool(where.array.any(axis=where.axes.index(j)).all())


def _finite(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    value = e.of(fact[0], Setting(h, delta, e.some)).array
    return value.dtype.kind != "f" or bool(np.isfinite(value).all())


def _positive(e: Evaluated, fact: Fact, h: Value, moved: Value, delta: Value) -> bool:
    value = e.of(fact[0], Setting(h, delta, e.some)).array
    return bool(np.isfinite(value).all() and (value > 0.0).all())


def _gathering(relation: str) -> Any:
    return lambda e, fact, h, moved, delta: consistency_gather.check(e, relation, fact, Setting(h, delta, e.some))


CHECKS = {
    "split": _split, "abstracts": _abstracts, "scales": _scales, "moves": _moves, "mixes": _mixes, "carried": _carried,
    "statistic": _statistic, "neutral": _neutral, "extent": _extent, "inverse_extent": _inverse_extent,
    "spreads": _spreads, "member": _member, "implies": _implies, "inhabited": _inhabited, "finite": _finite,
    "positive": _positive,
    **{r: _gathering(r) for r in consistency_gather.RELATIONS},
}  # fmt: skip
"""For each relation that claims something, its proposition as a test."""


def kept_below(e: Evaluated, c: ClassId) -> bool:
    """Whether a class contains carried sums, which stand for values of the pass around them."""
    return any(n.constructor in ("Keep", "Total") for n in _below(e, c))


def _below(e: Evaluated, c: ClassId) -> Iterator[ENode]:
    """The nodes of a class and of those below it, not those of passes inside."""
    seen: set[ClassId] = set()
    stack = [c]
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        for n in e.saturation.snapshot.classes[x]:
            yield n
            if n.constructor not in ("Casc", "Hole", "Delta"):
                stack.extend(class_arguments(n))
