"""Trials of claims on numbers: expressions of a window at random finite inputs in float64, at some points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg.affine import Dim, Index, affine, dims_of
from tang_egg.egraph import Encoding
from tang_egg.extract.certificate_mean import Meaning
from tang_egg.extract.certificate_term import TRUE, Term, substituted
from tang_egg.interpret import evaluate
from tang_egg.ir import Const, Input, Scalar, Tensor, free, sources
from tang_egg.ops import FLOATS, numpy_type
from tang_egg.rewrite import substitute

POINTS = 5
"""Points of the free indices at which both sides of a claim are compared; folds are taken in full."""

TOLERANCE = 1e-8
"""Of the larger of both sides and of one: in float64, where what is compared is some 1e-14 apart when it is equal."""


class Trial:
    """Random inputs of one window, and terms evaluated at them."""

    def __init__(self, encoding: Encoding, seed: int = 0) -> None:
        self.encoding = encoding
        self.rng = np.random.default_rng(seed)
        self.arrays: dict[str, npt.NDArray[Any]] = {}
        self.dims: dict[str, int] = {}
        self.numbers: dict[Term, Const] = {}
        self.meaning = Meaning(encoding, self._stored, self._number)
        self.reads: dict[str, Scalar] = {}

    def _stored(self, name: str) -> Scalar:
        return self.reads[name]

    def _number(self, t: Term) -> Scalar:
        """What a statistic, a shift or a kept fold is, where any number will do."""
        if t not in self.numbers:
            self.numbers[t] = Const(float(self.rng.uniform(0.3, 1.2)))
        return self.numbers[t]

    def size(self, i: Index) -> int:
        """The size of an index here."""
        for d in dims_of((i.size,)):
            self.dim(d)
        return i.size.evaluate(self.dims)

    def dim(self, d: Dim) -> int:
        """A small size that the facts of a dimension allow."""
        least = max(d.lo, 3) if d.hi is None else min(max(d.lo, 3), d.hi)
        return self.dims.setdefault(d.name, -(-least // d.multiple) * d.multiple)

    def inputs(self, s: Scalar) -> Mapping[str, npt.NDArray[Any]]:
        """Arrays for all that an expression reads; the same for every expression."""
        stack, seen = [s], set[Any]()
        while stack:
            for source in sources(stack.pop()):
                if source in seen:
                    continue
                seen.add(source)
                if isinstance(source, Tensor):
                    stack.append(source.body)
                elif source.name not in self.arrays:
                    self.arrays[source.name] = self.array(source)
        return self.arrays

    def array(self, source: Input) -> npt.NDArray[Any]:
        """Random data for an input, nothing infinite."""
        for d in dims_of(source.shape):
            self.dim(d)
        shape = tuple(n.evaluate(self.dims) for n in source.shape)
        if source.dtype == "bool":
            made: npt.NDArray[Any] = self.rng.random(shape) < 0.7
        elif source.dtype in FLOATS:
            made = self.rng.uniform(0.2, 1.5, shape) * self.rng.choice([-1.0, 1.0], shape)
        else:
            made = self.rng.integers(0, 3, shape, numpy_type(source.dtype))
        return np.sort(made) if source.sorted else made

    def values(self, terms: tuple[Term, ...], held: Mapping[Index, int] | None = None) -> list[list[float]]:
        """The values of some terms at random points of all their free indices (some of which may be given)."""
        made = [self.meaning.scalar(t) for t in terms]
        axes = sorted({i for s in made for i in free(s)}, key=lambda i: i.name)
        if any(not self.size(i) for i in axes):
            return []
        rng, found = np.random.default_rng(7), []
        for _ in range(POINTS if axes else 1):
            point = {i: affine(int(rng.integers(self.size(i)))) for i in axes}
            point |= {i: affine(n) for i, n in (held or {}).items()}
            row = [substitute(s, {i: point[i] for i in free(s)}) for s in made]
            found.append([float(evaluate(s, (), self.inputs(s), self.dims, checked=False)) for s in row])
        return found

    def equal(self, a: Term, b: Term) -> bool:
        """Whether two terms agree at random points."""
        return a is b or all(close(x, y) for x, y in self.values((a, b)))

    def always(self, t: Term, value: float) -> bool:
        """Whether a term has one value at random points."""
        return all(close(x, value) for (x,) in self.values((t,)))

    def constant_along(self, t: Term, name: str) -> bool:
        """Whether a term has the same value at some points along an index, or along each index of a bundle."""
        return all(self._constant(t, i) for i in self.encoding.folded(name) if i in free(self.meaning.scalar(t)))

    def _constant(self, t: Term, i: Index) -> bool:
        places = sorted({0, self.size(i) // 2, self.size(i) - 1})
        if self.size(i) < 2:
            return True
        rows = [self.values((t,), {i: n}) for n in places]
        return all(close(x, y) for row in rows[1:] for (x,), (y,) in zip(rows[0], row, strict=True))


def close(x: float, y: float) -> bool:
    """Whether two numbers are equal up to the rounding of float64; NaN and infinities are equal to themselves."""
    if not np.isfinite(x) or not np.isfinite(y):
        return x == y or (np.isnan(x) and np.isnan(y))
    return abs(x - y) <= TOLERANCE * max(1.0, abs(x), abs(y))


def moved(t: Term, trial: Trial) -> Term:
    """`t` with every statistic moved by its shift, both of them numbers."""
    return substituted(t, lambda x: _literal(trial, x, True) if x.constructor == "Hole" else None)


def kept(t: Term, monoid: str, index: str, trial: Trial) -> Term:
    """A carry as what it should be: statistics and shifts are numbers, and kept folds are folds at those numbers."""

    def replace(x: Term) -> Term | None:
        if x.constructor in ("Hole", "Delta"):
            return _literal(trial, x, False)
        if x.constructor == "Keep":
            body = substituted(x.args[0], lambda y: _literal(trial, y, False) if y.constructor == "Hole" else None)
            return Term("Red", (monoid, index, TRUE, body))
        if x.constructor == "Total":
            return Term("Red", ("sum", x.args[1], TRUE, kept(x.args[0], monoid, index, trial)))
        return None

    return substituted(t, replace)


def _literal(trial: Trial, t: Term, shifted: bool) -> Term:
    """The number of a statistic or of its shift; or of the statistic after it has moved."""
    value = trial._number(t).value  # type: ignore[attr-defined]
    if shifted:
        value += trial._number(Term("Delta", t.args)).value  # type: ignore[attr-defined]
    return Term("Lit", (repr(float(value)), "real"))
