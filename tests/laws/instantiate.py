"""Patterns of laws as expressions of the language, their variables standing for arbitrary arrays.

A variable over scalars becomes a read of an input of its own at every index that it may depend on: as the array is
arbitrary, that is the most general expression. A variable over strings becomes an index, a monoid, an operation or a
view. What a side condition says of the variables is kept: `absent` indices are left out of the read, `defines` puts a
term in the variable's place, `fixes` names the string.

    Let(k, a)            a named as a tensor and read at the forms of k
    Casc(j, w, m, f, t)  the one pass that extraction builds from it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.affine import Affine, Index, affine
from tang_egg.extract.passes import Follower, build_cascade
from tang_egg.extract.terms import as_domain
from tang_egg.interpret import evaluate
from tang_egg.ir import Apply, Const, Input, Read, Reduce, Scalar, StateRef, Tensor, free, type_of
from tang_egg.monoid import ALL, ANY, MAX, MIN, PRODUCT, SUM, Monoid
from tang_egg.rules.law import Law
from tang_egg.rules.pattern import Argument, Name, Node, Pattern, Var, pattern_variables

MONOIDS: dict[str, Monoid] = {"sum": SUM, "max": MAX, "min": MIN, "product": PRODUCT, "any": ANY, "all": ALL}
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

    def values(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Both sides at every point of the axes."""
        left, right = (evaluate(s, self.axes, self.inputs) for s in (self.left, self.right))
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
    free: tuple[Index, ...] = ()

    def run(self) -> Instance:
        for condition in self.law.when:
            for x, j in condition.absent:
                self.absent.setdefault(x, set()).add(j)
            self.defined.update(condition.defines)
            self.fixed.update(condition.fixes)
        names = [v for side in (self.law.left, self.law.right) for v in _in_order(side) if isinstance(v, Name)]
        roles = _roles(self.law.left) | _roles(self.law.right)
        for n in dict.fromkeys(names):
            if roles[n] == "index":
                self.indices[n] = Index(n.name, affine(self.rng.choice(SIZES)))
            elif roles[n] == "view":
                self.views[n] = self._view()
            elif roles[n] == "monoid":
                self.fixed[n] = self.monoid
            else:
                self.fixed[n] = self.rng.choice(OPERATIONS[int(roles[n])])
        r = Index("r", affine(self.rng.choice((1, 4))))
        self.free = (*self.free, r)
        left, right = self.scalar(self.law.left), self.scalar(self.law.right)
        bound = set(self.indices.values())
        outside = [i for view in self.views.values() for form in view.values() for i in form.indices()]
        axes = dict.fromkeys(i for i in (*self.free, *outside) if i not in bound and i not in self._replaced())
        return Instance(left, right, tuple(axes), self.inputs)

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
            return Const(a[0] == "True", "bool") if a[1] == "bool" else Const(float(str(a[0])))
        if p.constructor in ("Ap1", "Ap2", "Ap3"):
            op = self.text(a[0])
            if op == "select" and isinstance(a[1], Var):
                self._bool(a[1])
            return Apply(op, tuple(self.scalar(x) for x in a[1:]))
        if p.constructor == "Red":
            monoid = MONOIDS[self.text(a[0])]
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
            self.known[v] = self._read(Var(v.name, "bool"))

    def _identities(self, monoid: Monoid) -> None:
        """A variable that a condition calls the identity of the monoid."""
        for condition in self.law.when:
            if "identity" in condition.says:
                for v, _ in condition.defines:
                    self.known[v] = monoid.identity[0]

    def text(self, a: Argument) -> str:
        return self.fixed[a] if isinstance(a, Name) else str(a)

    def _read(self, v: Var) -> Scalar:
        allowed = [i for n, i in self.indices.items() if n not in self.absent.get(v, ())]
        unseen = {i for k in self.absent.get(v, ()) for i in self.views.get(k, ())}
        chosen = tuple(i for i in (*self.free, *allowed) if i not in unseen and self.rng.random() < 0.8)
        made = Input(v.name, tuple(i.size for i in chosen), "bool" if v.type == "bool" else "f64")
        shape = tuple(s.evaluate({}) for s in made.shape)
        values = self.draw(shape)
        self.inputs[v.name] = values > 0 if v.type == "bool" else values
        return Read(made, tuple(map(affine, chosen)))


def _in_order(p: Argument) -> list[Argument]:
    if isinstance(p, Node):
        return [v for a in p.args for v in _in_order(a)]
    return [p] if isinstance(p, (Var, Name)) else []


def _roles(p: Argument) -> dict[Name, str]:
    """What each string variable of a pattern stands for: "index", "monoid", "view", or the arity of an operation."""
    found: dict[Name, str] = {}
    if isinstance(p, Node):
        places = {"Red": ("monoid", "index"), "Let": ("view",), "Ap1": ("1",), "Ap2": ("2",), "Ap3": ("3",)}
        for role, a in zip(places.get(p.constructor, ()), p.args, strict=False):
            if isinstance(a, Name):
                found[a] = role
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


def one_pass(j: Index, where: Scalar, statistic: Scalar, followers: Mapping[str, tuple[Scalar, Scalar]]) -> Reduce:
    """The pass that extraction builds; `followers`: body and carry by name, the wanted one first."""
    built = build_cascade(j, as_domain(where), statistic, tuple(Follower(n, b, t) for n, (b, t) in followers.items()))
    assert isinstance(built, Reduce), built
    return built


def kept(name: str) -> StateRef:
    """The carried sum of a follower."""
    return StateRef("self", name)


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
