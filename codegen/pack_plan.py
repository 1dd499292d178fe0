"""Whether a kernel is a product of packed panels, from the indices that its folds and reads have, and nothing else.

row axes        the left operands have them, no right one does
column axes     the last axis of the outputs, and others that right operands have and no left one does
batch axes      both have them, or none
product         a component of a fold that needs no other one, over the folded indices, without domain unless it can be
                zeroed; its body is a pointwise expression of left and right operands: maximal parts that lack the
                columns, or the rows
zeroed          a sum of products over all points but those of a window beyond an end: where a condition fails, one
                operand is 0, which comes to the same where the operand beside it is finite
row value       a fold that lacks columns and folded indices: computed once for each row
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tang_egg.affine import Affine, Index, Inequality, affine, product
from tang_egg.codegen.lower_scope import never_below_zero
from tang_egg.ir import Apply, Const, Read, Reduce, Scalar, Scan, Tensor, Test, children, free, map_children, walk
from tang_egg.monoid import sum_of
from tang_egg.rewrite import substitute

MOST = 4
"""Operands of one side that are packed."""
GUARDING = frozenset({"select", "and", "or"})
"""Operations that may leave out what stands behind their first operand: taken apart, it would be computed always."""


@dataclass(frozen=True, slots=True)
class Product:
    """A fold, its body over the folded indices of the plan, and the operands of that: left (rows) and right."""

    fold: Reduce
    body: Scalar
    rows: tuple[Scalar, ...]
    columns: tuple[Scalar, ...]
    finite: tuple[Scalar, ...] = ()
    """Operands that must be finite, as what stands beside them is 0 outside of the domain of the fold."""


@dataclass(frozen=True, slots=True)
class Packing:
    """See the module text. `row` stands for the number of a row in its block."""

    batch: tuple[Index, ...]
    rows: tuple[Index, ...]
    columns: tuple[Index, ...]
    folded: tuple[Index, ...]
    products: tuple[Product, ...]
    row_values: tuple[Reduce, ...]
    row: Index

    def packs(self, side: str) -> tuple[Scalar, ...]:
        """The operands of one side, those that several products share once."""
        return tuple(dict.fromkeys(s for p in self.products for s in (p.rows if side == "rows" else p.columns)))


def pack_plan(outputs: tuple[Tensor, ...]) -> Packing | None:
    """The plan for outputs over the same axes; None where they do not have the form of the module text."""
    axes = outputs[0].axes
    if not axes or any(t.axes != axes or t.into for t in outputs):
        return None
    if any(isinstance(s, Scan) for s in walk(*(t.body for t in outputs))):
        return None
    folds = outer_folds([t.body for t in outputs])
    vector = axes[-1]
    products = [f for f in folds if vector in free(f) and len(free(f)) > 1]
    if not products:
        return None
    folded = products[0].indices
    sides = _sides(products, axes, vector)
    if sides is None:
        return None
    rows, columns = sides
    batch = tuple(i for i in axes if i not in rows and i not in columns)
    found: list[Product] = []
    for f in products:
        product = _product(f, folded, rows, columns)
        if product is None:
            return None
        found.append(product)
    values = _row_values(found, folds, products, set(rows), set(columns), set(folded))
    if values is None:
        return None
    return Packing(batch, rows, columns, folded, tuple(found), values, Index("row~", affine(1 << 30)))


def outer_folds(roots: Iterable[Scalar]) -> list[Reduce]:
    """The folds below some expressions that stand in no other fold."""
    found: dict[Reduce, None] = {}
    seen: set[Scalar] = set()
    stack = list(roots)
    while stack:
        s = stack.pop()
        if s in seen:
            continue
        seen.add(s)
        if isinstance(s, Reduce):
            found[s] = None
        else:
            stack += children(s)
    return list(found)


def _sides(
    products: list[Reduce], axes: tuple[Index, ...], vector: Index
) -> tuple[tuple[Index, ...], tuple[Index, ...]] | None:
    """Row axes and column axes, in the order of the outputs; None where there are no rows."""
    left: set[Index] = set()
    right: set[Index] = set()
    for f in products:
        for r in (s for s in walk(f.body[f.part]) if isinstance(s, Read) and free(s) & set(f.indices)):
            (right if vector in free(r) else left).update(free(r))
    rows = tuple(i for i in axes if i in left and i not in right)
    columns = tuple(i for i in axes if i in right and i not in left)
    return (rows, columns) if rows and columns and columns[-1] is vector else None


def _product(
    f: Reduce, folded: tuple[Index, ...], rows: tuple[Index, ...], columns: tuple[Index, ...]
) -> Product | None:
    component, combine = f.monoid.components[f.part], f.monoid.combine[f.part]
    if component.axes or component.follow is not None or f.monoid.needs(f.part) != {f.part}:
        return None
    if any(isinstance(s, (Reduce, Scan)) for s in walk(combine)) or f.where.data:
        return None
    if len(f.indices) != len(folded) or any(i.size != j.size for i, j in zip(f.indices, folded, strict=True)):
        return None
    body = f.body[f.part]
    if f.indices != folded:
        if set(folded) & free(f):
            return None
        body = substitute(body, dict(zip(f.indices, folded, strict=True)))
    if not f.where.everywhere:
        return _zeroed(f, body, rows, columns) if f.indices == folded else None
    left: dict[Scalar, None] = {}
    right: dict[Scalar, None] = {}
    stack = [body]
    while stack:
        s = stack.pop()
        has_row, has_column = bool(free(s) & set(rows)), bool(free(s) & set(columns))
        if isinstance(s, Const):
            continue
        if has_row and has_column:
            if not isinstance(s, Apply) or (s.op in GUARDING and not all(_everywhere(x) for x in s.args[1:])):
                return None
            stack += s.args
        else:
            (right if has_column else left)[s] = None
    if not left or not right or max(len(left), len(right)) > MOST:
        return None
    return Product(f, body, tuple(left), tuple(right))


def _zeroed(f: Reduce, body: Scalar, rows: tuple[Index, ...], columns: tuple[Index, ...]) -> Product | None:
    """A sum of a left times a right operand over a domain: one of them is 0 outside of it."""
    if f.monoid != sum_of("real") or not isinstance(body, Apply) or body.op != "mul":
        return None
    left, right = body.args if free(body.args[1]) & set(columns) else body.args[::-1]
    limited = {i for c in f.where.affine for i in c.indices()}
    apart = not free(left) & set(columns) and not free(right) & set(rows) and free(left) & set(rows)
    if not apart or not free(right) & set(columns) or (limited & set(rows) and limited & set(columns)):
        return None
    if not all(_thin(c, set(f.indices)) for c in f.where.affine):
        return None
    kept, beside = (left, right) if limited & set(rows) else (right, left)
    if not _everywhere(beside):
        return None
    zero = kept
    for c in f.where.affine:
        zero = Apply("select", (Test(c), zero, Const(0.0, "real")))
    sides = ((zero,), (right,)) if kept is left else ((left,), (zero,))
    return Product(f, Apply("mul", (sides[0][0], sides[1][0])), *sides, finite=(beside,))


def _thin(c: Inequality, folded: set[Index]) -> bool:
    """Whether a condition leaves out few points: those of a window that hangs over an end."""
    window = product(i.size for i in c.indices() & folded).value
    others = [i.size.value for i in c.indices() - folded]
    return window is not None and bool(others) and all(n is None or 2 * window <= n for n in others)


def _everywhere(s: Scalar) -> bool:
    """Whether all reads below are in bounds wherever the indices are in range."""
    for r in (x for x in walk(s) if isinstance(x, Read)):
        for c, size in zip(r.coordinates, r.source.shape, strict=True):
            if isinstance(c, Affine) and not (never_below_zero(c) and never_below_zero(size - 1 - c)):
                return False
    return True


def _row_values(
    found: list[Product], folds: list[Reduce], products: list[Reduce],
    rows: set[Index], columns: set[Index], folded: set[Index],
) -> tuple[Reduce, ...] | None:  # fmt: skip
    """The folds that vary with the row alone; None where another fold would be computed again and again."""
    values: dict[Reduce, None] = {}
    inside = outer_folds(s for p in found for s in (*p.rows, *p.columns))
    for f in (*inside, *(x for x in folds if x not in products)):
        if free(f) & (columns | folded) or any(p in list(walk(f)) for p in products):
            return None
        if free(f) & rows:
            values[f] = None
    return tuple(values)


def replaced(s: Scalar, new: Mapping[Scalar, Scalar]) -> Scalar:
    """The expression with parts replaced, the largest first."""
    done: dict[Scalar, Scalar] = dict(new)

    def run(x: Scalar) -> Scalar:
        if x not in done:
            done[x] = map_children(x, run)
        return done[x]

    return run(s)
