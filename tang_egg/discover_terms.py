"""Enumeration: small terms over chosen primitives, one for each value that they take on random inputs.

A variable either depends on the folded index or does not; a term that folds depends on it no more, so no term mixes
folds with variables of the index. Terms are built from the smallest term of each class of equal values only, and of
sums and products in all orders one spelling is kept, since laws are indifferent to it.

Values are held as arrays: one row for each draw, one column for each point of the index, or a single column.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tang_egg import ops
from tang_egg.rules.pattern import (
    COMMUTATIVE,
    TRUE,
    Name,
    Node,
    Pattern,
    Var,
    call,
    fold,
    literal,
    pattern_variables,
    show,
)

Array = npt.NDArray[Any]
FOLDS = {"sum": "real", "product": "real", "max": "real", "min": "real", "any": "bool", "all": "bool"}
"""The folds that terms may have, and the type of what they fold."""

OPERATIONS = tuple(n for n, op in ops.OPS.items() if op.operands not in ("integer",) and n != "atan2")
"""The operations that terms may have."""

_SAMPLES, _GRAIN, _CLOSE = 24, 1e-7, 1e-9


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: whether it depends on the folded index, and its type."""

    name: str
    bound: bool
    type: str = "real"

    @property
    def pattern(self) -> Var:
        return Var(self.name, self.type)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What terms are made of, and how many nodes they may have. `domains`: folds also run where a bool holds."""

    ops: tuple[str, ...]
    folds: tuple[str, ...]
    variables: tuple[Variable, ...]
    literals: tuple[float, ...] = ()
    size: int = 6
    domains: bool = False
    index: str = "j"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two terms that agreed on all draws: `left` was met later than `right` and is no smaller."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A term with its values; `bound`: it depends on the index; `folded`: it contains a fold."""

    pattern: Pattern
    size: int
    type: str
    bound: bool
    folded: bool
    values: Array
    order: tuple[int, str]


Draws = Mapping[str, Array]
"""Values of the variables by name: (draws, points), or (draws, 1) for a variable without the index."""


def draws(
    variables: tuple[Variable, ...], points: int, rng: np.random.Generator, *, favourable: bool, count: int = _SAMPLES
) -> dict[str, Array]:
    """Random values: negative ones, zeros, exact fractions and whole numbers among them.

    `favourable`: all reals are positive and every bool of the index holds at its first point.
    """
    found: dict[str, Array] = {}
    for v in variables:
        shape = (count, points if v.bound else 1)
        if v.type == "bool":
            held = rng.random(shape) < 0.6
            if favourable and v.bound and points:
                held[:, 0] = True
            found[v.name] = held
            continue
        values = rng.uniform(-3.0, 3.0, shape)
        exact = rng.integers(-16, 17, shape) / 8.0
        values = np.where(rng.random(shape) < 0.3, exact, values)
        found[v.name] = np.where(values == 0.0, 0.5, np.abs(values)) if favourable else values
    return found


def fold_values(monoid: str, where: Array, body: Array, points: int) -> Array:
    """The fold of (draws, points) over the points where `where` holds, as (draws, 1)."""
    rows = max(len(where), len(body))
    held, values = (np.broadcast_to(a, (rows, points)) for a in (where, body))
    if monoid in ("any", "all"):
        kept = held & values if monoid == "any" else ~held | values
        found: Array = (np.any if monoid == "any" else np.all)(kept, axis=1, keepdims=True)
        return found
    kind: Any = values.dtype.type
    identity = kind({"sum": 0.0, "product": 1.0, "max": -np.inf, "min": np.inf}[monoid])
    combine: Any = {"sum": np.add, "product": np.multiply, "max": np.maximum, "min": np.minimum}[monoid]
    total: Array = combine.reduce(np.where(held, values, identity), axis=1, keepdims=True, initial=identity)
    return total


def evaluate(p: Pattern, given: Draws, points: int, kind: Any = np.float64) -> Array:
    """The values of a term, its reals computed in the NumPy type `kind`."""
    known: dict[Pattern, Array] = {}

    def value(s: Pattern) -> Array:
        if s not in known:
            known[s] = make(s)
        return known[s]

    def make(s: Pattern) -> Array:
        if isinstance(s, Var):
            held = given[s.name]
            return held if s.type == "bool" else held.astype(kind)
        assert isinstance(s, Node)
        if s.constructor == "Lit":
            constant: Any = s.args[0] == "True" if s.args[1] == "bool" else kind(float(str(s.args[0])))
            return np.full((1, 1), constant)
        operands = [value(a) for a in s.args if isinstance(a, Pattern)]
        if s.constructor == "Red":
            return fold_values(str(s.args[0]), operands[0], operands[1], points)
        return np.asarray(ops.OPS[str(s.args[0])].meaning(*operands))

    with np.errstate(all="ignore"):
        return value(p)


@dataclass(slots=True)
class Enumeration:
    """All terms of a vocabulary up to its size, on one set of draws; `pairs` are the agreements found on the way."""

    vocabulary: Vocabulary
    given: Draws
    points: int
    deadline: float = float("inf")
    tell: Callable[[int, int], None] = lambda size, terms: None
    levels: list[list[Term]] = field(default_factory=lambda: [[]])
    pairs: list[Candidate] = field(default_factory=list)
    terms: int = 0
    complete: bool = True
    _buckets: dict[tuple[str, int], list[Term]] = field(default_factory=dict)
    _weights: Array = field(default_factory=lambda: np.zeros(0))

    def run(self) -> list[Candidate]:
        """Enumerates; `complete` is False where the deadline came first."""
        shape = (len(next(iter(self.given.values()))), max(self.points, 1))
        self._weights = np.random.default_rng(1).uniform(0.5, 1.5, shape)
        for size in range(1, self.vocabulary.size + 1):
            self.levels.append([])
            for made in self._of_size(size):
                self._add(made)
                if self.terms % 256 == 0:
                    self.tell(size, self.terms)
                    if time.perf_counter() > self.deadline:
                        self.complete = False
                        return self.pairs
            self.tell(size, self.terms)
        return self.pairs

    def _of_size(self, size: int) -> Iterator[Term]:
        if size == 1:
            for v in self.vocabulary.variables:
                yield self._term(v.pattern, 1, v.type, v.bound, False, self.given[v.name])
            for x in self.vocabulary.literals:
                yield self._term(literal(x), 1, "real", False, False, np.full((1, 1), x))
            return
        with np.errstate(all="ignore"):
            for name in self.vocabulary.ops:
                yield from self._applications(name, size)
            for monoid in self.vocabulary.folds:
                yield from self._folds(monoid, size)

    def _applications(self, name: str, size: int) -> Iterator[Term]:
        op = ops.OPS[name]
        for operands in self._operands(op.arity, size - 1):
            if not _fits(op, operands) or ((name in COMMUTATIVE or name == "eq") and not _spelt(name, *operands)):
                continue
            bound, folded = any(t.bound for t in operands), any(t.folded for t in operands)
            if bound and folded:
                continue
            kind = operands[-1].type if op.result == "same" else op.result
            values = np.asarray(op.meaning(*(t.values for t in operands)))
            yield self._term(call(name, *(t.pattern for t in operands)), size, kind, bound, folded, values)

    def _operands(self, count: int, size: int) -> Iterator[tuple[Term, ...]]:
        if count == 1:
            yield from ((t,) for t in self.levels[size])
            return
        for first in range(1, size - count + 2):
            for t in self.levels[first]:
                for rest in self._operands(count - 1, size - first):
                    yield (t, *rest)

    def _folds(self, monoid: str, size: int) -> Iterator[Term]:
        index = Name(self.vocabulary.index)
        everywhere = np.full((1, 1), True)
        for body in self.levels[size - 1]:
            if body.type == FOLDS[monoid] and not body.folded:
                values = fold_values(monoid, everywhere, body.values, self.points)
                yield self._term(fold(monoid, index, TRUE, body.pattern), size, body.type, False, True, values)
        if not self.vocabulary.domains:
            return
        for where, body in self._operands(2, size - 1):
            if where.type == "bool" and where.bound and body.type == FOLDS[monoid]:
                if not (where.folded or body.folded):
                    values = fold_values(monoid, where.values, body.values, self.points)
                    made = fold(monoid, index, where.pattern, body.pattern)
                    yield self._term(made, size, body.type, False, True, values)

    def _term(self, p: Pattern, size: int, type: str, bound: bool, folded: bool, values: Array) -> Term:
        self.terms += 1
        return Term(p, size, type, bound, folded, values, (size, show(p)))

    def _add(self, t: Term) -> None:
        """Keeps a term whose values are new; notes an agreement otherwise."""
        full = np.broadcast_to(t.values, self._weights.shape)
        if t.type == "real" and np.isfinite(full).mean() < 0.25:
            return
        at = self._place(full)
        for place in (at - 1, at, at + 1):
            for known in self._buckets.get((t.type, place), ()):
                if agree(full, np.broadcast_to(known.values, full.shape), _CLOSE):
                    self.pairs.append(Candidate(t.pattern, known.pattern))
                    return
        self._buckets.setdefault((t.type, at), []).append(t)
        self.levels[t.size].append(t)

    def _place(self, full: Array) -> int:
        """A number in which equal values agree up to one: a weighted sum of values brought into (-1, 1)."""
        with np.errstate(all="ignore"):
            flat = full.astype(np.float64)
            small = np.where(np.isnan(flat), 3.0, np.where(np.isinf(flat), np.sign(flat), flat / (1.0 + np.abs(flat))))
        return int(np.floor(float((small * self._weights).sum()) / _GRAIN))


def agree(a: Array, b: Array, tolerance: float) -> bool:
    """Whether two arrays are equal up to a relative error, NaN and infinities at the same places."""
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= tolerance * np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))
    near &= np.isfinite(a) & np.isfinite(b)
    return bool(np.all(near | (a == b) | (np.isnan(a) & np.isnan(b))))


def _fits(op: ops.Op, operands: tuple[Term, ...]) -> bool:
    """Whether types allow the application, and it is not one of constants alone."""
    if not any(pattern_variables(t.pattern) for t in operands):
        return False
    types = [t.type for t in operands]
    if op.operands == "select":
        return types[0] == "bool" and types[1] == types[2]
    if op.operands == "bool":
        return set(types) == {"bool"}
    if op.operands == "any":
        return len(set(types)) == 1
    return set(types) == {"real"}


def _spelt(name: str, a: Term, b: Term) -> bool:
    """Whether the application of a commutative operation is the one spelling that is kept: (p ∘ q) ∘ r, in order."""
    if name != "eq" and _headed(b.pattern, name):
        return False
    if name != "eq" and _headed(a.pattern, name):
        assert isinstance(a.pattern, Node)
        last = a.pattern.args[2]
        assert isinstance(last, Pattern)
        return (pattern_size(last), show(last)) <= b.order
    return a.order <= b.order


def _headed(p: Pattern, name: str) -> bool:
    return isinstance(p, Node) and p.constructor == "Ap2" and p.args[0] == name


def pattern_size(p: Pattern) -> int:
    """The number of nodes of a term; a domain that is everywhere counts nothing."""
    if not isinstance(p, Node) or p.constructor == "Lit":
        return 1
    return 1 + sum(pattern_size(a) for a in p.args if isinstance(a, Pattern) and a != TRUE)
