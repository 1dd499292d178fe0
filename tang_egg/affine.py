"""Dimensions, indices and affine forms.

    size    ::= polynomial over dims            (an Affine without indices)
    index   ::= Index(name, size)               0 <= index < size
    affine  ::= sum of coefficient * dims... * index?     (degree at most one in indices)
    inequality ::= affine >= 0

A symbolic stride exists only as `dim * index` (the split and merge of axes); every other coefficient is an integer.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from tang_egg.errors import BindError, GraphError
from tang_egg.node import Node, node

if TYPE_CHECKING:
    from tang_egg.expression import Expression, Value


REMEMBERED = 1 << 15
"""Results of arithmetic that are kept: proofs and substitutions meet the same forms again and again."""


class _Forms(Node):
    """Arithmetic and comparison shared by dims, indices and forms. An operand of another kind gets its own turn."""

    __slots__ = ()

    _whole_numbers = True

    def _form(self) -> Affine:
        return self if isinstance(self, Affine) else Affine((((self,), 1),))  # type: ignore[arg-type]

    def __add__(self, other: AffineLike) -> Affine:
        return _plus(self._form(), affine(other)) if isinstance(other, _LIKE) else NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Affine:
        return Affine.of({m: -c for m, c in self._form().terms})

    def __sub__(self, other: AffineLike) -> Affine:
        return _plus(self._form(), -affine(other)) if isinstance(other, _LIKE) else NotImplemented

    def __rsub__(self, other: AffineLike) -> Affine:
        return _plus(affine(other), -self._form()) if isinstance(other, _LIKE) else NotImplemented

    def __mul__(self, other: AffineLike) -> Affine:
        return _times(self._form(), affine(other)) if isinstance(other, _LIKE) else NotImplemented

    __rmul__ = __mul__

    def __ge__(self, other: AffineLike) -> Inequality:
        return Inequality(self._form() - other) if isinstance(other, _LIKE) else NotImplemented

    def __le__(self, other: AffineLike) -> Inequality:
        return Inequality(affine(other) - self._form()) if isinstance(other, _LIKE) else NotImplemented

    def __gt__(self, other: AffineLike) -> Inequality:
        return Inequality(self._form() - other - 1) if isinstance(other, _LIKE) else NotImplemented

    def __lt__(self, other: AffineLike) -> Inequality:
        return Inequality(affine(other) - self._form() - 1) if isinstance(other, _LIKE) else NotImplemented


@node
class Dim(_Forms):
    """A symbolic extent with facts: `lo <= dim <= hi` (no upper limit if None) and divisible by `multiple`."""

    name: str
    lo: int = 0
    hi: int | None = None
    multiple: int = 1

    def check(self, value: object) -> None:
        """Raises BindError if `value` is no whole number, or breaks a fact about this dim."""
        if isinstance(value, bool) or not isinstance(value, (int, numbers.Integral)):
            raise BindError(
                f"dimension '{self.name}' cannot be {value!r}, a value of type {type(value).__name__}",
                where=f"the size of {self.name}",
                mend="bind a whole number",
            )
        value = int(value)
        if value < self.lo or (self.hi is not None and value > self.hi) or value % self.multiple:
            limit = "" if self.hi is None else f" and at most {self.hi}"
            raise BindError(
                f"dimension '{self.name}' cannot be {value}",
                where=f"{self.name} is declared at least {self.lo}{limit}, a multiple of {self.multiple}",
                mend="bind a value that fits the declaration, or change the declaration",
            )

    def __repr__(self) -> str:
        return self.name


@node
class Index(_Forms):
    """A bound or free index of a comprehension: an integer from 0 to `size` - 1. Identity is name and size."""

    name: str
    size: Affine

    def __repr__(self) -> str:
        return self.name


Atom: TypeAlias = "Dim | Index"
Monomial: TypeAlias = "tuple[Atom, ...]"
AffineLike: TypeAlias = "Affine | Index | Dim | int"


@lru_cache(maxsize=REMEMBERED)
def _rank(atom: Atom) -> tuple[int, str, str]:
    return (isinstance(atom, Index), atom.name, repr(atom.size) if isinstance(atom, Index) else "")


@node
class Affine(_Forms):
    """A sum of `coefficient * monomial`, kept sorted and without zero terms, so that equal forms are one object.

    `terms` maps each monomial (a sorted tuple of dims with at most one index) to its integer coefficient.
    Build with `affine(...)`, arithmetic and `Affine.of`.
    """

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> Affine:
        """The normal form of a sum of terms. Raises GraphError when a term multiplies two indices."""
        kept: dict[Monomial, int] = {}
        for monomial, coefficient in terms.items():
            if not coefficient:
                continue
            if sum(isinstance(atom, Index) for atom in monomial) > 1:
                raise GraphError(
                    f"{'*'.join(a.name for a in monomial)} is not affine",
                    where="a coordinate or condition",
                    mend="multiply an index by integers and dimensions only",
                )
            kept[tuple(sorted(monomial, key=_rank))] = coefficient
        return Affine(tuple(sorted(kept.items(), key=lambda t: [_rank(a) for a in t[0]])))

    @property
    def constant(self) -> int:
        """The term without dims and indices."""
        return next((c for m, c in self.terms if not m), 0)

    @property
    def value(self) -> int | None:
        """The integer that this form is, or None if it mentions a dim or an index."""
        if not self.terms:
            return 0
        return self.constant if len(self.terms) == 1 and not self.terms[0][0] else None

    def indices(self) -> frozenset[Index]:
        """The indices that occur."""
        return frozenset(a for m, _ in self.terms for a in m if isinstance(a, Index))

    def dims(self) -> frozenset[Dim]:
        """The symbolic dims that occur as factors (sizes of indices not included)."""
        return frozenset(a for m, _ in self.terms for a in m if isinstance(a, Dim))

    def coefficient(self, index: Index) -> Affine:
        """The factor of `index`: an affine form over dims."""
        return Affine.of({tuple(a for a in m if a is not index): c for m, c in self.terms if index in m})

    def single(self) -> Index | None:
        """The index that this form is, coefficient one and no offset, or None."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            atom = self.terms[0][0][0]
            return atom if isinstance(atom, Index) else None
        return None

    def __iter__(self) -> Iterator[tuple[Monomial, int]]:
        return iter(self.terms)

    def substitute(self, mapping: Mapping[Atom, AffineLike]) -> Affine:
        """This form with every mapped dim or index replaced, simultaneously."""
        if not any(atom in mapping for monomial, _ in self.terms for atom in monomial):
            return self
        total: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms:
            product = affine(coefficient)
            for atom in monomial:
                product = _times(product, affine(mapping.get(atom, atom)))
            for m, c in product.terms:
                total[m] = total.get(m, 0) + c
        return Affine.of(total)

    def evaluate(self, env: Mapping[str, int]) -> int:
        """The integer value under names of dims and indices. Raises BindError for a name without value."""
        total = 0
        for monomial, coefficient in self.terms:
            for atom in monomial:
                if atom.name not in env:
                    raise BindError(
                        f"'{atom.name}' has no value",
                        where=f"the form {self}",
                        mend=f"bind it: graph.bind({atom.name}=...)",
                    )
                coefficient *= env[atom.name]
            total += coefficient
        return total

    def __repr__(self) -> str:
        if not self.terms:
            return "0"
        parts: list[str] = []
        for monomial, coefficient in sorted(self.terms, key=lambda t: not t[0]):
            names = "*".join(a.name for a in reversed(monomial))
            size = abs(coefficient)
            text = str(size) if not names else names if size == 1 else f"{size}*{names}"
            sign = "-" if coefficient < 0 else "+"
            parts.append(f" {sign} {text}" if parts else f"{'-' if coefficient < 0 else ''}{text}")
        ordered = "".join(parts)
        return ordered


@node
class Inequality(Node):
    """The condition `form >= 0`."""

    _whole_numbers = True
    form: Affine = field()

    def __bool__(self) -> bool:
        raise GraphError(
            "a condition on indices has no truth value of its own",
            where=repr(self),
            mend="give several conditions as a tuple, where=(0 <= i, i < 4), not as a chain or with 'and'",
        )

    def indices(self) -> frozenset[Index]:
        """The indices that occur."""
        return self.form.indices()

    def substitute(self, mapping: Mapping[Atom, AffineLike]) -> Inequality:
        """The condition with atoms replaced."""
        return Inequality(self.form.substitute(mapping))

    def __and__(self, other: Value) -> Expression:
        return _condition(self) & other

    def __rand__(self, other: Value) -> Expression:
        return _condition(self) & other

    def __or__(self, other: Value) -> Expression:
        return _condition(self) | other

    def __ror__(self, other: Value) -> Expression:
        return _condition(self) | other

    def __invert__(self) -> Expression:
        return ~_condition(self)

    def __repr__(self) -> str:
        positive = Affine.of({m: c for m, c in self.form.terms if c > 0})
        negative = Affine.of({m: -c for m, c in self.form.terms if c < 0})
        return f"{negative} <= {positive}"


def _condition(i: Inequality) -> Expression:
    """A condition among expressions, where it can be combined with others (a convenience of the notation)."""
    from tang_egg.expression import Expression
    from tang_egg.ir import Test

    return Expression(Test(i))


def affine(value: AffineLike) -> Affine:
    """The affine form of an integer, dim or index."""
    if isinstance(value, Affine):
        return value
    if isinstance(value, (Dim, Index)):
        return _single(value)
    return _whole(operator.index(value))


@lru_cache(maxsize=REMEMBERED)
def _single(atom: Atom) -> Affine:
    return Affine((((atom,), 1),))


@lru_cache(maxsize=REMEMBERED)
def _whole(value: int) -> Affine:
    return Affine.of({(): value})


_AXES = "ijklmnopq"
_LIKE = (Affine, Index, Dim, int, numbers.Integral)


@lru_cache(maxsize=REMEMBERED)
def _plus(a: Affine, b: Affine) -> Affine:
    total = dict(a.terms)
    for monomial, coefficient in b.terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    return Affine.of(total)


@lru_cache(maxsize=REMEMBERED)
def _times(a: Affine, b: Affine) -> Affine:
    total: dict[Monomial, int] = {}
    for m1, c1 in a.terms:
        for m2, c2 in b.terms:
            monomial = tuple(sorted((*m1, *m2), key=_rank))
            total[monomial] = total.get(monomial, 0) + c1 * c2
    return Affine.of(total)


def index(name: str, size: AffineLike) -> Index:
    """An index named `name` that runs over `size` points (an integer, a dim, or a form over dims)."""
    return Index(name, affine(size))


def axes_over(sizes: Iterable[Affine], start: int = 0) -> tuple[Index, ...]:
    """One index for each size, named by its position (plus `start`): i, j, k, ..."""
    return tuple(Index(_AXES[p] if p < len(_AXES) else f"i{p}", n) for p, n in enumerate(sizes, start))


def product(sizes: Iterable[Affine]) -> Affine:
    """The number of points of an array, or of some axes."""
    total = affine(1)
    for n in sizes:
        total = total * n
    return total


def dims_of(forms: Iterable[Affine]) -> frozenset[Dim]:
    """All dims in some forms, sizes of their indices included."""
    found: set[Dim] = set()
    for form in forms:
        found |= form.dims()
        for i in form.indices():
            found |= i.size.dims()
    return frozenset(found)
