"""Products of traced arrays, by the names and meanings of the Array API. Each is one fold over the axes it sums."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from tang_egg import array_elementwise as el
from tang_egg import array_reduce as red
from tang_egg import notation as te
from tang_egg import traced as tr
from tang_egg import traced_view
from tang_egg.affine import Affine, Index, affine, axes_over
from tang_egg.array_constants import Like, operand, operands
from tang_egg.array_shape import diagonal, moveaxis, stack
from tang_egg.array_types import as_type, dtype_of, floating
from tang_egg.expression import Expression
from tang_egg.traced import Traced, axis_of, fail
from tang_egg.traced_factor import Coordinate, Factors, refine

Labels = Sequence[Any]
"""A name for each axis: axes of one name are read together."""


def contract(arrays: Sequence[Traced], labels: Sequence[Labels], result: Labels, hint: str = "product") -> Traced:
    """The product of arrays of one type, summed over the labels that `result` lacks.

    A label may stand twice in one array (its diagonal). Axes of one element broadcast. The products of bools are
    joined by or.
    """
    arrays, sizes = _aligned(arrays, labels)
    factors = {name: _factors(arrays, labels, name, size) for name, size in sizes.items()}
    free = axes_over(tuple(s for name in result for s in factors[name]))
    places: dict[Any, list[Coordinate]] = {}
    rest = iter(free)
    for name in result:
        places[name] = [affine(next(rest)) for _ in factors[name]]
    bound: list[Index] = []
    for name in sizes:
        if name not in places:
            new = [Index(f"r{len(bound) + n}", s) for n, s in enumerate(factors[name])]
            bound += new
            places[name] = [affine(i) for i in new]
    body: Expression | None = None
    for x, own in zip(arrays, labels, strict=True):
        part = _read(x, own, factors, places)
        body = part if body is None else (body & part if part.type == "bool" else body * part)
    if body is None:
        raise fail("a product of no arrays", "give at least one")
    if bound:
        body = te.any(tuple(bound), body) if body.type == "bool" else te.sum(tuple(bound), body)
    dtype = arrays[0].dtype
    array = te.tensor(None, free, body, dtype, hint=hint)
    shape = tuple(factors[name] for name in result)
    plain = builtins.all(len(g) == 1 for g in shape)
    return Traced(shape, lambda c: array[tuple(c)], dtype, array if plain else None)


def _aligned(arrays: Sequence[Traced], labels: Sequence[Labels]) -> tuple[list[Traced], dict[Any, Affine]]:
    """The extent of each label. Raises GraphError where two extents differ and neither is 1."""
    sizes: dict[Any, Affine] = {}
    for x, own in zip(arrays, labels, strict=True):
        if x.ndim != len(own):
            raise fail(f"{len(own)} labels for {x.ndim} axes", "give one label for each axis")
        for name, size in zip(own, x.extents, strict=True):
            known = sizes.get(name)
            if known is None or known.value == 1:
                sizes[name] = size
            elif size is not known and size.value != 1:
                raise fail(f"axes that are summed or paired have {known} and {size} elements",
                           "check the shapes, or the order of the operands")  # fmt: skip
    return list(arrays), sizes


def _factors(arrays: Sequence[Traced], labels: Sequence[Labels], name: Any, size: Affine) -> Factors:
    """The common factors of all axes of one label."""
    found: Factors | None = None
    for x, own in zip(arrays, labels, strict=True):
        for p, label in enumerate(own):
            if label == name and x.extents[p] is size:
                mine = x.factors[p]
                found = mine if found is None else refine(found, mine) or found
    return found or ()


def _read(x: Traced, own: Labels, factors: dict[Any, Factors], places: dict[Any, list[Coordinate]]) -> Expression:
    target = tuple(factors[name] if g else () for name, g in zip(own, x.factors, strict=True))
    at = [c for name, g in zip(own, x.factors, strict=True) if g for c in places[name]]
    return tr.refactored(x, target).at(at)


def matmul(x1: Like, x2: Like, /) -> Traced:
    """The matrix product over the last axis of x1 and the one before the last of x2; leading axes broadcast.

    A vector on the left is a row, on the right a column, and the result lacks that axis.
    """
    a, b = operands(x1, x2)
    if not a.ndim or not b.ndim:
        raise fail("a matrix product with an array without axes", "use multiply")
    if a.extents[-1] is not b.extents[-2 if b.ndim > 1 else 0]:
        raise fail(
            f"the shapes {a.shape} and {b.shape} have no matrix product",
            "make the last extent of the first equal to the one before the last of the second",
        )
    left = [("batch", n) for n in reversed(range(a.ndim - 2))] + ["row"] * (a.ndim > 1) + ["inner"]
    right = [("batch", n) for n in reversed(range(b.ndim - 2))] + ["inner"] + ["column"] * (b.ndim > 1)
    batch = [("batch", n) for n in reversed(range(builtins.max(a.ndim, b.ndim, 2) - 2))]
    result = [*batch, *["row"] * (a.ndim > 1), *["column"] * (b.ndim > 1)]
    return contract((a, b), (left, right), result, "product")


def vecdot(x1: Like, x2: Like, /, *, axis: int = -1) -> Traced:
    """The sum of products along an axis; the others broadcast."""
    a, b = operands(x1, x2)
    if a.extents[axis_of(a, axis)] is not b.extents[axis_of(b, axis)]:
        raise fail(f"vectors of {a.extents[axis]} and {b.extents[axis]} elements", "make them equally long")
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    names = [[*reversed(range(x.ndim - 1)), "inner"] for x in (a, b)]
    result = list(reversed(range(builtins.max(a.ndim, b.ndim) - 1)))
    return contract((a, b), names, result, "dot")


def tensordot(x1: Like, x2: Like, /, *, axes: Any = 2) -> Traced:
    """The sum of products over the last `axes` of x1 and the first of x2, or over two sequences of axes."""
    a, b = operands(x1, x2)
    if isinstance(axes, int):
        left, right = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        left, right = (red.axes_in(x, s) for x, s in zip((a, b), axes, strict=True))
    if len(left) != len(right) or builtins.any(
        a.extents[p] is not b.extents[q] for p, q in zip(left, right, strict=True)
    ):
        raise fail(f"the axes {axes} of shapes {a.shape} and {b.shape} are not alike", "pair axes of equal extents")
    pairs = {q: p for p, q in zip(left, right, strict=True)}
    names: list[Labels] = [
        [("a", p) for p in range(a.ndim)],
        [("a", pairs[q]) if q in pairs else ("b", q) for q in range(b.ndim)],
    ]
    result = [n for n in names[0] if n[1] not in left] + [n for n in names[1] if n[0] == "b"]
    return contract((a, b), names, result, "product")


def outer(x1: Like, x2: Like, /) -> Traced:
    """The products of all pairs of elements of two vectors (flattened arrays)."""
    a, b = (traced_view.reshape(x, (-1,)) for x in operands(x1, x2))
    return contract((a, b), (["i"], ["j"]), ["i", "j"], "outer")


def dot(x1: Like, x2: Like, /) -> Traced:
    """NumPy's dot: the last axis of x1 with the one before the last of x2, without broadcasting."""
    a, b = operands(x1, x2)
    if not a.ndim or not b.ndim:
        return el.multiply(a, b)
    return tensordot(a, b, axes=((a.ndim - 1,), (builtins.max(b.ndim - 2, 0),)))


def einsum(equation: str, /, *arrays: Like) -> Traced:
    """Einstein's sum, as NumPy writes it: "ij,jk->ik", "...ij->...ji", "ii".

    Arrays are joined from left to right, an index being summed as soon as no later array has it.
    """
    given = list(operands(*arrays))
    own, result = _equation(equation, given)
    while len(given) > 2:
        later = {n for names in own[2:] for n in names} | set(result)
        kept = list(dict.fromkeys(n for n in (*own[0], *own[1]) if n in later))
        joined = contract(given[:2], own[:2], kept, "einsum")
        given, own = [joined, *given[2:]], [kept, *own[2:]]
    return contract(given, own, result, "einsum")


def _equation(equation: str, arrays: Sequence[Traced]) -> tuple[list[list[Any]], list[Any]]:
    """The label of each axis of each array and of the result."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(arrays):
        raise fail(f"'{equation}' is about {len(texts)} arrays, not {len(arrays)}", "give one array for each")
    own: list[list[Any]] = []
    spread = 0
    for text, x in zip(texts, arrays, strict=True):
        before, dots, after = text.partition("...")
        if not (before + after).isalpha() and before + after:
            raise fail(f"'{text}' in '{equation}' names axes", "use letters and ...")
        hidden = x.ndim - len(before + after)
        if hidden < 0 or (hidden and not dots):
            raise fail(f"'{text}' in '{equation}' names {len(before + after)} of {x.ndim} axes", "name every axis")
        own.append([*before, *reversed(range(hidden)), *after])
        spread = builtins.max(spread, hidden)
    dims = list(reversed(range(spread)))
    if arrow:
        before, dots, after = right.partition("...")
        result: list[Any] = [*before, *(dims if dots else []), *after]
    else:
        letters = [n for names in own for n in names if isinstance(n, str)]
        result = [*dims, *sorted(n for n in set(letters) if letters.count(n) == 1)]
    known = {n for names in own for n in names}
    if builtins.any(n not in known for n in result) or len(set(result)) < len(result):
        raise fail(f"the result of '{equation}' names an axis twice, or one that no array has",
                   "name each axis of the result once, and in an array")  # fmt: skip
    return own, result


def trace(x: Like, /, *, offset: int = 0, dtype: object = None) -> Traced:
    """The sum of a diagonal of the last two axes."""
    return red.sum(diagonal(x, offset=offset), axis=-1, dtype=None if dtype is None else dtype_of(dtype))


def cross(x1: Like, x2: Like, /, *, axis: int = -1) -> Traced:
    """The vector product along an axis of three elements; others broadcast."""
    a, b = (moveaxis(x, axis, -1) for x in operands(x1, x2))
    if a.extents[-1].value != 3 or b.extents[-1].value != 3:
        raise fail(f"a vector product of {a.extents[-1]} and {b.extents[-1]} elements", "give axes of three elements")
    x, y = ([traced_view.squeeze(traced_view.sliced(v, -1, n, 1), [-1]) for n in range(3)] for v in (a, b))
    parts = [el.subtract(el.multiply(x[i], y[j]), el.multiply(x[j], y[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return stack(parts, axis=axis)


def kron(x1: Like, x2: Like, /) -> Traced:
    """The Kronecker product: every element of x1 times x2."""
    a, b = operands(x1, x2)
    while a.ndim < b.ndim:
        a = traced_view.expand_dims(a, 0)
    while b.ndim < a.ndim:
        b = traced_view.expand_dims(b, 0)
    names: list[Labels] = [[("a", p) for p in range(a.ndim)], [("b", p) for p in range(b.ndim)]]
    result = [n for pair in zip(*names, strict=True) for n in pair]
    return traced_view.reshape(
        contract((a, b), names, result, "kron"), [s * t for s, t in zip(a.extents, b.extents, strict=True)]
    )


_LARGEST = 4


def _matrix(x: Like, what: str) -> tuple[Traced, list[list[Traced]]]:
    """The elements of small square matrices in the last two axes, as arrays over the others."""
    given = operand(x)
    given = as_type(given, floating(given.dtype))
    n = given.extents[-1].value if given.ndim >= 2 else None
    if n is None or given.extents[-2].value != n or n > _LARGEST:
        raise fail(f"the {what} of matrices in an array of shape {given.shape}",
                   f"give square matrices of at most {_LARGEST} rows in the last two axes")  # fmt: skip
    rows = [traced_view.squeeze(traced_view.sliced(given, -2, i, 1), [-2]) for i in range(n)]
    return given, [[traced_view.squeeze(traced_view.sliced(r, -1, j, 1), [-1]) for j in range(n)] for r in rows]


def _determinant(m: list[list[Expression]]) -> Expression:
    if len(m) == 1:
        return m[0][0]
    total: Expression | None = None
    for j, a in enumerate(m[0]):
        minor = a * _determinant([[v for n, v in enumerate(row) if n != j] for row in m[1:]])
        total = minor if total is None else total - minor if j % 2 else total + minor
    assert total is not None
    return total


def det(x: Like, /) -> Traced:
    """The determinants of matrices of at most four rows, by expansion."""
    given, m = _matrix(x, "determinant")
    n = len(m)
    if n == 0:
        return tr.full(given.extents[:-2], 1, given.dtype)
    flat = [v for row in m for v in row]
    return tr.compute(
        lambda *v: _determinant([list(v[n * i : n * i + n]) for i in range(n)]),
        *flat, dtype=given.dtype, hint="determinant",
    )  # fmt: skip


def inv(x: Like, /) -> Traced:
    """The inverses of matrices of at most four rows, by cofactors; infinities or NaN where there is none."""
    given, m = _matrix(x, "inverse")
    n = len(m)
    if n == 0:
        return given
    flat, total = [v for row in m for v in row], det(given)

    def cofactor(i: int, j: int) -> Traced:
        def f(*v: Expression) -> Expression:
            rows = [list(v[1 + n * r : 1 + n * r + n]) for r in range(n)]
            left = [[a for c, a in enumerate(row) if c != i] for r, row in enumerate(rows) if r != j]
            signed = _determinant(left) if left else v[0] / v[0]
            return (-signed if (i + j) % 2 else signed) / v[0]

        return tr.compute(f, total, *flat, dtype=given.dtype, hint="cofactor")

    return stack([stack([cofactor(i, j) for j in range(n)], axis=-1) for i in range(n)], axis=-2)
