"""Factorings of axes: an axis of a traced array is a row-major product of factors.

Merging axes keeps them as factors, so splitting them again, or folding over the merged axis, costs nothing and stays
affine. Two factorings of one extent have a common refinement where their cumulative products divide each other;
elsewhere coordinates are found by division and remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tang_egg.affine import Affine, AffineLike, Dim, Index, affine, product
from tang_egg.expression import Expression, value

Factors: TypeAlias = "tuple[Affine, ...]"
Coordinate: TypeAlias = "Affine | Expression"


class Extent(int):
    """A fixed extent: an integer for programs that compute with shapes, with the `value` of a form."""

    __slots__ = ()

    @property
    def value(self) -> int:
        return int(self)


def extent(size: AffineLike) -> Extent | Affine:
    """An extent as programs see it: an integer where it is fixed, else a form over dims."""
    form = affine(size)
    return form if form.value is None else Extent(form.value)


def quotient(whole: Affine, part: Affine) -> Affine | None:
    """`whole / part` where that is a form over dims, else None."""
    if whole is part:
        return affine(1)
    if part.value == 0 or len(part.terms) != 1:
        return None
    (monomial, divisor), terms = part.terms[0], {}
    for atoms, coefficient in whole.terms:
        rest = list(atoms)
        for atom in monomial:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % divisor:
            return None
        terms[tuple(rest)] = coefficient // divisor
    return Affine.of(terms)


def refine(a: Factors, b: Factors) -> Factors | None:
    """The coarsest factoring that both `a` and `b`, of the same product, are made of; None where they do not nest."""
    found: list[Affine] = []
    left, right = list(a), list(b)
    while left and right:
        x, y = left.pop(), right.pop()
        if x is y:
            found.append(x)
        elif (q := quotient(y, x)) is not None and q.value != 1:
            found.append(x)
            right.append(q)
        elif (q := quotient(x, y)) is not None and q.value != 1:
            found.append(y)
            left.append(q)
        else:
            return None
    return None if left or right else tuple(reversed(found))


def split(refined: Factors, axes: Sequence[Affine]) -> tuple[Factors, ...]:
    """The factors of each of `axes`, out of a factoring that all of them are made of."""
    rest, found = list(refined), list[Factors]()
    for size in reversed(axes):
        mine: list[Affine] = []
        while product(mine) is not size:
            mine.insert(0, rest.pop())
        found.insert(0, tuple(mine))
    return tuple(found)


def merged(coordinates: Sequence[Coordinate], sizes: Factors) -> Coordinate:
    """The row-major position of some coordinates."""
    position: Coordinate = affine(0)
    for c, size in zip(coordinates, sizes, strict=True):
        position = plus(times(position, size), c)
    return position


def parted(position: Coordinate, sizes: Factors) -> tuple[Coordinate, ...]:
    """The coordinates of a row-major position, by division and remainder."""
    found: list[Coordinate] = []
    rest = position
    for n in range(len(sizes)):
        inner = product(sizes[n + 1 :])
        if inner.value == 1:
            found.append(rest)
        elif isinstance(rest, Affine) and rest.value is not None and inner.value:
            whole, left = divmod(rest.value, inner.value)
            found.append(affine(whole))
            rest = affine(left)
        else:
            found.append(value(rest) // value(inner))
            rest = value(rest) % value(inner)
    return tuple(found)


def remap(source: Factors, target: Factors, coordinates: Sequence[Coordinate]) -> tuple[Coordinate, ...]:
    """The coordinates in `source` of a point given by its `coordinates` in `target`: both factor one extent."""
    if source == target:
        return tuple(coordinates)
    found: list[Coordinate] = []
    for mine, theirs, at in _groups(source, target, list(coordinates)):
        found = [*parted(merged(at, theirs), mine), *found]
    return tuple(found)


def groups(a: Factors, b: Factors) -> list[tuple[Factors, Factors]]:
    """Both factorings cut, outermost first, wherever their cumulative products agree."""
    return [(x, y) for x, y, _ in reversed(list(_groups(a, b, [affine(0)] * len(b))))]


def _groups(a: Factors, b: Factors, coordinates: list[Coordinate]) -> list[tuple[Factors, Factors, list[Coordinate]]]:
    """Innermost first: the factors of both between two places where their cumulative products agree."""
    found: list[tuple[Factors, Factors, list[Coordinate]]] = []
    i, j = len(a), len(b)
    while i or j:
        x, y = _close(a[:i], b[:j])
        found.append((a[x:i], b[y:j], coordinates[y:j]))
        i, j = x, y
    return found


def _close(a: Factors, b: Factors) -> tuple[int, int]:
    """The nearest cut before which both have the same product after it; the whole when there is none."""
    for total in range(1, len(a) + len(b) + 1):
        for x in range(total + 1):
            y = total - x
            if x <= len(a) and y <= len(b) and product(a[len(a) - x :]) is product(b[len(b) - y :]):
                return len(a) - x, len(b) - y
    return 0, 0


def plus(a: Coordinate, b: Coordinate | int) -> Coordinate:
    """The sum of coordinates, affine where both are."""
    b = affine(b) if isinstance(b, int) else b
    if isinstance(a, Affine) and isinstance(b, Affine):
        return a + b
    if isinstance(b, Affine) and b.value == 0:
        return a
    if isinstance(a, Affine) and a.value == 0:
        return b
    return value(a) + value(b)


def times(a: Coordinate, b: Affine | int) -> Coordinate:
    """A coordinate times an extent."""
    b = affine(b)
    if isinstance(a, Affine):
        return a * b
    return a if b.value == 1 else value(a) * value(b)


def coordinate(x: Affine | Index | Dim | Expression | int) -> Coordinate:
    """An index, form, integer or integer expression as a coordinate."""
    return x if isinstance(x, Expression) else affine(x)
