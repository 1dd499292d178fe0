"""Scalars at cells as linear forms: which terms change with the row, with the column or with both, and which are held.

A lift of a head is kept · factor + offset with the offset free of columns; an exponent is a sum of terms that ends in
one multiply-add for each cell. A value that was computed in place of the scores stands for the terms it was made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from tang_egg.affine import Affine, AffineLike, Atom, Index
from tang_egg.bounds import interval
from tang_egg.codegen.kernel import Buffer, Call, Expr, Form, Load, Store
from tang_egg.codegen.mma_operand import Refused
from tang_egg.ir import Apply, Const, Position, Read, Reduce, Scalar, StateRef, Statistic, Test, children

TILE, ROW, COLUMN, CELL = 0, 1, 2, 3
"""Levels: a bit for rows, a bit for columns."""


@dataclass(frozen=True, slots=True)
class Place:
    """An element of a fragment: row half `h`, and column 8·`j` + `e` from the thread's first one."""

    h: int = 0
    e: int = 0
    j: Affine | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A value that is held already: its level, and its expression at a place."""

    level: int
    at: Callable[[Place], Expr]


class Linear:
    """What is known of the scalars at one fragment; `Cells` evaluates them."""

    known: dict[Scalar, Value]
    settled: list[tuple[Scalar, dict[Scalar, float], float]]
    row: Index
    rows: tuple[Affine, Affine]
    column: Index | None
    first: Affine
    _fixed: dict[Atom, AffineLike]
    _gone: set[Scalar]

    def level(self, s: Scalar) -> int:
        """Whether a scalar changes with the row, with the column, or both."""
        found, seen = TILE, set[Scalar]()
        stack = [s]
        while stack:
            x = stack.pop()
            if x in seen:
                continue
            seen.add(x)
            if x in self.known:
                found |= self.known[x].level
                continue
            if x in self._gone:
                found |= CELL
                continue
            if isinstance(x, Statistic):
                found |= ROW
                continue
            if isinstance(x, (Reduce, StateRef)):
                raise Refused("a fold or a state where none can be computed")
            forms: list[Affine] = []
            if isinstance(x, Position):
                forms = [x.form]
            elif isinstance(x, Test):
                forms = [x.condition.form]
            elif isinstance(x, Read):
                forms = [c for c in x.coordinates if isinstance(c, Affine)]
            for f in forms:
                found |= self._level_of(f)
            stack.extend(children(x))
        return found

    def _level_of(self, form: Affine) -> int:
        indices = form.indices()
        return (ROW if self.row in indices else 0) | (
            COLUMN if self.column is not None and self.column in indices else 0
        )

    def settle_terms(self, term: Scalar, value: Scalar, lift: Scalar, roots: tuple[Scalar, ...]) -> bool:
        """From now on `value` is held where `term` was: whether every use of the term in `roots` is through the value.

        A use counts if it is the value itself, the lift that it was made for, or an exponent whose linear form holds a
        multiple of the value's.
        """
        wanted, constant = self.spread(value)
        self.settled.append((value, wanted, constant))
        stack, seen = list(roots), set[Scalar]()
        while stack:
            s = stack.pop()
            if s is value or s is lift or s in seen:
                continue
            seen.add(s)
            if s is term:
                self.settled.pop()
                return False
            if isinstance(s, Apply) and s.op == "exp":
                stack.extend(self._linear(s.args[0])[0])
            else:
                stack.extend(children(s))
        return True

    def overwrite(self, term: Scalar, kept: Scalar, value: Value) -> None:
        """The registers of `term` hold `kept` from here on."""
        del self.known[term]
        self._gone.add(term)
        self.known[kept] = value

    def spread(self, s: Scalar) -> tuple[dict[Scalar, float], float]:
        """Σ coefficient · term + constant, with products by what no column changes multiplied out.

        The position of a cell is that of the thread's first column in its row, and the columns from there on. So a
        bias that is a multiple of distance comes apart into a term for each, and both stay as exact as they were.
        """
        if s in self.known:
            return {s: 1.0}, 0.0
        if not isinstance(s, Apply):
            return linear(s)
        if s.op == "neg":
            return _scaled(self.spread(s.args[0]), -1.0)
        if s.op == "add":
            return _added([self.spread(a) for a in s.args])
        if s.op == "cast:real" and isinstance(s.args[0], Position):
            return self._spread_position(s, s.args[0].form)
        if s.op == "mul":
            for a, b in (s.args, s.args[::-1]):
                if isinstance(b, Const) and math.isfinite(float(b.value)):
                    return _scaled(self.spread(a), float(b.value))
            for a, b in (s.args, s.args[::-1]):
                if not self.level(b) & COLUMN and self.level(a) & COLUMN:
                    terms, constant = self.spread(a)
                    if len(terms) + bool(constant) > 1:
                        by: dict[Scalar, float] = {Apply("mul", (t, b)): c for t, c in terms.items()}
                        return (by | {b: constant}, 0.0) if constant else (by, 0.0)
        return {s: 1.0}, 0.0

    def _spread_position(self, s: Apply, form: Affine) -> tuple[dict[Scalar, float], float]:
        step = (
            form.coefficient(self.column).value if self.column is not None and self.column in form.indices() else None
        )
        if step is None or not form.indices() - {self.column} or not fits(form):
            return {s: 1.0}, 0.0
        assert self.column is not None
        offset = StateRef("tile", f"columns of {self.column.name}")
        start = StateRef("tile", f"start of {form!r}")
        rows = tuple(self.rows)
        moved: dict[Atom, AffineLike] = {**self._fixed, self.column: self.first}
        self.known[offset] = Value(COLUMN, _column_offset)
        self.known[start] = Value(ROW, lambda at: real_of(form.substitute({**moved, self.row: rows[at.h]})))
        return {offset: float(step), start: 1.0}, 0.0

    def _linear(self, s: Scalar) -> tuple[dict[Scalar, float], float]:
        """The linear form of `s` over values that are held: a settled value stands for the terms it was made of."""
        terms, constant = self.spread(s)
        for value, wanted, extra in self.settled:
            ratio = {terms.get(t, 0.0) / c for t, c in wanted.items()}
            if len(ratio) == 1 and (r := ratio.pop()) != 0.0:
                terms = {t: c for t, c in terms.items() if t not in wanted} | {value: r}
                constant -= r * extra
        return terms, constant


def register(j: Affine, h: int, e: int) -> Affine:
    """The accumulator register of a cell (the layout is that of device.py)."""
    return 4 * j + (2 * h + e)


def cell_of(buffer: Buffer, at: Place) -> Load:
    """The value of an accumulator at a place."""
    assert at.j is not None
    return Load(buffer, Form(register(at.j, at.h, at.e)), buffer.type)


def put(buffer: Buffer, at: Place, value: Expr) -> Store:
    """Stores a value in an accumulator at a place."""
    assert at.j is not None
    return Store(buffer, Form(register(at.j, at.h, at.e)), value)


def term_of(t: Scalar, c: float) -> Scalar:
    """c · t."""
    return t if c == 1.0 else Apply("neg", (t,)) if c == -1.0 else Apply("mul", (t, Const(c)))


def sum_of(parts: list[Scalar]) -> Scalar:
    """The sum of some terms, at least one."""
    return reduce(lambda a, b: Apply("add", (a, b)), parts)


def _column_offset(at: Place) -> Expr:
    assert at.j is not None
    return real_of(8 * at.j + at.e)


def fits(form: Affine) -> bool:
    """Whether a position is known to be small: exact as f32, and so are the parts that it is split into."""
    low, high = interval(form)
    return low is not None and high is not None and low >= -(1 << 24) and high <= 1 << 24


def real_of(form: Affine) -> Expr:
    """A position as f32, by way of 32 bits: positions are shorter than 2^31."""
    return Call("cast", (Call("cast", (Form(form),), "i32"),), "f32")


def _scaled(form: tuple[dict[Scalar, float], float], by: float) -> tuple[dict[Scalar, float], float]:
    terms, constant = form
    return {t: c * by for t, c in terms.items()}, constant * by


def _added(forms: list[tuple[dict[Scalar, float], float]]) -> tuple[dict[Scalar, float], float]:
    terms: dict[Scalar, float] = {}
    for more, _ in forms:
        for t, c in more.items():
            terms[t] = terms.get(t, 0.0) + c
    return terms, sum(c for _, c in forms)


def linear(s: Scalar) -> tuple[dict[Scalar, float], float]:
    """A real expression as Σ coefficient · term + constant, as far as sums and constant factors go."""
    if isinstance(s, Const):
        return {}, float(s.value)
    if isinstance(s, Apply) and s.op == "neg":
        return _scaled(linear(s.args[0]), -1.0)
    if isinstance(s, Apply) and s.op == "add":
        return _added([linear(a) for a in s.args])
    if isinstance(s, Apply) and s.op == "mul":
        for a, b in (s.args, s.args[::-1]):
            if isinstance(b, Const) and math.isfinite(float(b.value)):
                return _scaled(linear(a), float(b.value))
    return {s: 1.0}, 0.0
