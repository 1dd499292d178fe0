"""Patterns of laws as expressions of the language, their variables standing for arbitrary arrays.

A variable over scalars becomes a read of an input of its own at every index that it may depend on: as the array is
arbitrary, that is the most general expression. A variable over strings becomes an index, a monoid, an operation or a
view. What a side condition says of the variables is kept: `absent` indices are left out of the read, `defines` puts a
term in the variable's place, `fixes` names the string, `positive` variables are above 0 (or NaN), and a domain that is
`inhabited` holds at the first point of its index, of which there is one.

    Let(k, a)            a named as a tensor and read at the forms of k
    At(j, c, a)          a with c substituted for j
    Leaf(l), Gather(l, c)   one table of the maker's, read at an index or at a value
    Position(j), Size(j), Inside(j)   only in what conditions define: the position, the extent, a position drawn
    Casc(j, w, m, f, t)  the one pass that extraction builds from it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.affine import Affine, Index, affine
from tang_egg.extract.terms import as_coordinate, as_domain, operation
from tang_egg.interpret import evaluate
from tang_egg.ir import (
    Apply,
    Const,
    Coordinate,
    Input,
    Read,
    Reduce,
    Scalar,
    Tensor,
    as_position,
    free,
    type_of,
)
from tang_egg.monoid import ALL, ANY, MAX, MIN, PRODUCT, SUM, Monoid, sum_of
from tang_egg.rewrite import substitute
from tang_egg.rules.law import Law
from tang_egg.rules.pattern import Argument, Name, Node, Pattern, Var, pattern_variables

MONOIDS: dict[str, Monoid] = {"sum": SUM, "max": MAX, "min": MIN, "product": PRODUCT, "any": ANY, "all": ALL}
COUNT: dict[str, Monoid] = {"sum:i64": sum_of("i64")}
OPERATIONS = {1: ("neg", "exp", "recip", "tanh"), 2: ("add", "mul", "max", "min"), 3: ("select",)}
SIZES = (0, 1, 2, 3, 5, 7)

Values = Callable[[tuple[int, ...]], npt.NDArray[np.float64]]
"""Draws an array of reals of a shape."""


@dataclass(slots=True)
class Instance:
    """One instance of a law: both sides over `axes`, with arrays for the inputs that they read."""

    left: Scalar
    right: Scalar
    axes: tuple[Index, ...]
    inputs: dict[str, npt.NDArray[Any]]
    checked: bool = True

    def values(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Both sides at every point of the axes."""
        left, right = (evaluate(s, self.axes, self.inputs, checked=self.checked) for s in (self.left, self.right))
        return left, right


@dataclass(slots=True)
class _Maker:
    law: Law
    rng: Random
    draw: Values
    monoid: str
    indices: dict[Name, Index] = field(default_factory=dict)
    fixed: dict[Name, str] = field(default_factory=dict)
    defined: dict[Var, Pattern] = field(default_factory=dict)
    absent: dict[Var, set[Name]] = field(default_factory=dict)
    known: dict[Var, Scalar] = field(default_factory=dict)
    inputs: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    views: dict[Name, dict[Index, Affine]] = field(default_factory=dict)
    positive: set[Var] = field(default_factory=set)
    inhabited: dict[Pattern, Name] = field(default_factory=dict)
    free: tuple[Index, ...] = ()

    def run(self) -> Instance:
        for condition in self.law.when:
            for x, j in condition.absent:
                self.absent.setdefault(x, set()).add(j)
            self.defined.update(condition.defines)
            self.fixed.update(condition.fixes)
            self.positive.update(condition.positive)
            self.inhabited.update((w, j) for j, w in condition.inhabited)
        said = [p for condition in self.law.when for _, p in condition.defines]
        sides = (self.law.left, self.law.right, *said)
        names = [v for side in sides for v in _in_order(side) if isinstance(v, Name)]
        roles = {n: role for side in reversed(sides) for n, role in _roles(side).items()}
        for n in dict.fromkeys(names):
            if roles[n] == "index":
                placed = self.substitutes or any(_has(p, "Inside") for p in said)
                sizes = SIZES[1:] if placed or n in self.inhabited.values() else SIZES
                self.indices[n] = Index(n.name, affine(self.rng.choice(sizes)))
            elif roles[n] == "view":
                self.views[n] = self._view()
            elif roles[n] == "monoid":
                self.fixed[n] = self.monoid
            elif roles[n].isdecimal() and n not in self.fixed:
                self.fixed[n] = self.rng.choice(OPERATIONS[int(roles[n])])
        for i, j in _alike(self.law):
            self.indices[i] = Index(i.name, self.indices[j].size)
        r = Index("r", affine(self.rng.choice((1, 4))))
        self.free = (*self.free, r)
        left, right = self.scalar(self.law.left), self.scalar(self.law.right)
        bound = set(self.indices.values())
        outside = [i for view in self.views.values() for form in view.values() for i in form.indices()]
        axes = dict.fromkeys(i for i in (*self.free, *outside) if i not in bound and i not in self._replaced())
        open_ = dict.fromkeys(i for i in self.indices.values() if i in free(left) | free(right))
        return Instance(left, right, tuple(axes | open_), self.inputs, not self.substitutes)

    @property
    def substitutes(self) -> bool:
        """Whether values that may lie anywhere take the place of an index: reads out of bounds are then clamped."""
        return _has(self.law.left, "At")

    def _replaced(self) -> list[Index]:
        return [i for view in self.views.values() for i in view]

    def _view(self) -> dict[Index, Affine]:
        """Rows and columns of a table: transposed, flipped, strided or seen on the diagonal."""
        n = self.rng.choice((1, 2, 3, 5))
        row, column, a, b = (Index(x, affine(n)) for x in ("row", "column", "a", "b"))
        self.free = (row, column)
        return self.rng.choice(
            (
                {row: affine(b), column: affine(a)},
                {row: affine(a), column: n - 1 - affine(b)},
                {row: affine(a), column: affine(a)},
                {row: affine(0), column: affine(b)},
            )
        )

    def scalar(self, p: Argument) -> Scalar:
        """The expression of a pattern."""
        if isinstance(p, Var):
            if p not in self.known:
                self.known[p] = self.scalar(self.defined[p]) if p in self.defined else self._read(p)
            return self.known[p]
        assert isinstance(p, Node)
        a = p.args
        if p.constructor == "Lit":
            if a[1] == "i64":
                return Const(int(str(a[0])), "i64")
            return Const(a[0] == "True", "bool") if a[1] == "bool" else Const(float(str(a[0])))
        if p.constructor in ("Position", "Size", "Inside"):
            assert isinstance(a[0], Name)
            return self._along(p.constructor, self.indices[a[0]])
        if p.constructor == "At":
            assert isinstance(a[0], Name)
            return substitute(self.scalar(a[2]), {self.indices[a[0]]: as_coordinate(self.scalar(a[1]))})
        if p.constructor == "Leaf":
            return self._table(affine(next(iter(self.indices.values()))))
        if p.constructor == "Gather":
            values = a[1]
            return self._table(self.scalar(values.args[0] if isinstance(values, Node) else Var("d", "i64")))
        if p.constructor in ("Ap1", "Ap2", "Ap3"):
            op = self.text(a[0])
            if op == "select" and isinstance(a[1], Var):
                self._bool(a[1])
            return Apply(operation(op), tuple(self.scalar(x) for x in a[1:]))
        if p.constructor == "Red":
            monoid = (MONOIDS | COUNT)[self.text(a[0])]
            kind = monoid.components[0].type
            self._identities(monoid)
            for v in pattern_variables(a[3]):
                if kind == "bool" and isinstance(v, Var):
                    self._bool(v)
            assert isinstance(a[1], Name)
            return Reduce(monoid, (self.indices[a[1]],), as_domain(self.scalar(a[2])), (self.scalar(a[3]),))
        if p.constructor == "Let":
            assert isinstance(a[0], Name)
            body, view = self.scalar(a[1]), self.views[a[0]]
            axes = (*self.free, *sorted(free(body) - set(self.free), key=lambda i: i.name))
            source = Tensor("seen", axes, body, "f64" if type_of(body) == "real" else "bool")
            return Read(source, tuple(view.get(i, affine(i)) for i in axes))
        raise AssertionError(f"a law mentions {p.constructor}, which has no instance")

    def _bool(self, v: Var) -> None:
        if v not in self.known:
            self.known[v] = self.scalar(self.defined[v]) if v in self.defined else self._read(Var(v.name, "bool"))

    def _identities(self, monoid: Monoid) -> None:
        """A variable that a condition calls the identity of the monoid."""
        for condition in self.law.when:
            if "identity" in condition.says:
                for v, _ in condition.defines:
                    self.known[v] = monoid.identity[0]

    def text(self, a: Argument) -> str:
        return self.fixed[a] if isinstance(a, Name) else str(a)

    def _along(self, what: str, j: Index) -> Scalar:
        if what == "Inside":
            made = Input("inside", (), "i64")
            self.inputs["inside"] = np.asarray(self.rng.randrange(max(j.size.evaluate({}), 1)))
            return Read(made, ())
        return as_position(affine(j) if what == "Position" else j.size)

    def _table(self, at: Coordinate) -> Scalar:
        """An element of one table that has a column for each value of the first index."""
        column, row = next(iter(self.indices.values())), self.free[-1]
        table = Input("table", (column.size, row.size), "f64")
        if "table" not in self.inputs:
            self.inputs["table"] = self.draw(tuple(s.evaluate({}) for s in table.shape))
        return Read(table, (at, affine(row)))

    def _read(self, v: Var) -> Scalar:
        allowed = [i for n, i in self.indices.items() if n not in self.absent.get(v, ())]
        unseen = {i for k in self.absent.get(v, ()) for i in self.views.get(k, ())}
        chosen = tuple(i for i in (*self.free, *allowed) if i not in unseen and self.rng.random() < 0.8)
        if v.type == "ascending":
            chosen = tuple(i for i in allowed if i.name == "j")
        made = Input(v.name, tuple(i.size for i in chosen), {"real": "f64", "ascending": "i64"}.get(v.type, v.type))
        shape = tuple(s.evaluate({}) for s in made.shape)
        if made.dtype == "i64":
            whole = [self.rng.randrange(-2, 8) for _ in range(prod(shape))]
            self.inputs[v.name] = np.reshape(sorted(whole) if v.type == "ascending" else whole, shape).astype(np.int64)
            return Read(made, tuple(map(affine, chosen)))
        values = self.draw(shape)
        if v in self.positive:
            values = np.where(values == 0.0, 1.0, np.abs(values))
        held = self.inputs[v.name] = np.asarray(values > 0 if v.type == "bool" else values)
        if v in self.inhabited:
            axes = [i.name for i in chosen]
            j = self.inhabited[v].name
            held[(slice(None),) * axes.index(j) + (0,) if j in axes else ...] = True
        return Read(made, tuple(map(affine, chosen)))


def _has(p: Argument, constructor: str) -> bool:
    return isinstance(p, Node) and (p.constructor == constructor or any(_has(a, constructor) for a in p.args))


def _alike(law: Law) -> list[tuple[Name, Name]]:
    """Indices of one size: where a condition puts the position along one in the place of another."""
    found: list[tuple[Name, Name]] = []
    for _, p in (d for condition in law.when for d in condition.defines):
        if isinstance(p, Node) and p.constructor == "At" and isinstance(p.args[1], Node):
            i, j = p.args[1].args[0], p.args[0]
            assert isinstance(i, Name) and isinstance(j, Name)
            found.append((i, j))
    return found


def _in_order(p: Argument) -> list[Argument]:
    if isinstance(p, Node):
        return [v for a in p.args for v in _in_order(a)]
    return [p] if isinstance(p, (Var, Name)) else []


def _roles(p: Argument) -> dict[Name, str]:
    """What each string variable of a pattern stands for: "index", "monoid", "view", or the arity of an operation."""
    found: dict[Name, str] = {}
    if isinstance(p, Node):
        places = {
            "Red": ("monoid", "index"),
            "Let": ("view",),
            "At": ("index",),
            "Leaf": ("leaf",),
            "Gather": ("leaf", "values"),
            "Ap1": ("1",),
            "Ap2": ("2",),
            "Ap3": ("3",),
        }
        for role, a in zip(places.get(p.constructor, ()), p.args, strict=False):
            if isinstance(a, Name):
                found[a] = role
        if p.constructor in ("Position", "Size", "Inside") and isinstance(p.args[0], Name):
            found[p.args[0]] = "index"
        for a in p.args:
            found |= _roles(a)
    return found


def monoids_of(law: Law) -> tuple[str, ...]:
    """The monoids to try: all that have a literal identity where the law leaves the monoid open, else "sum"."""
    open_ = "monoid" in {**_roles(law.left), **_roles(law.right)}.values()
    return tuple(MONOIDS) if open_ else ("sum",)


def instantiate(law: Law, seed: int, draw: Callable[[np.random.Generator], Values], monoid: str = "sum") -> Instance:
    """A random instance of a law; `draw` makes arrays of reals from a generator."""
    return _Maker(law, Random(seed), draw(np.random.default_rng(seed)), monoid).run()


# How arrays are drawn.


def finite(rng: np.random.Generator) -> Values:
    """Values of moderate size, zeros of both signs among them: no operation of a law overflows on them."""

    def draw(shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        values = np.asarray(rng.uniform(-3, 3, shape))
        special = rng.choice([0.0, -0.0, 1.0, -1.0, 2.0], shape)
        return np.where(rng.random(shape) < 0.3, special, values)

    return draw


def every(rng: np.random.Generator) -> Values:
    """All kinds of IEEE values: infinities, NaN, zeros of both signs, the smallest and nearly the largest."""
    palette = [np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324, -1e-310, 1e300, -1e300]
    share = rng.choice((0.1, 0.5, 0.9))

    def draw(shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        return np.where(rng.random(shape) < share, rng.choice(palette, shape), rng.uniform(-3, 3, shape))

    return draw
