"""A product of the rows that stands beside the stream: what accumulators hold before the first tile of it.

    out[i, c] = r(i) · Σ_d A(i, d) · S(d, c)  +  fold over k of lifts        A: the left operand of a contraction

A lies on the chip as long as its rows are worked on, so that S is one more tile, multiplied before the stream begins.
Where the first term counts under a condition only, copies must find zeros where it does not hold: it says that S is
read inside of its source, as the state before the first chunk is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tang_egg.affine import Affine, Index, Inequality, affine
from tang_egg.codegen.lower_scope import never_below_zero
from tang_egg.codegen.mma_operand import Contraction, MatrixPart, Operand, Refused, factors, matrix, times
from tang_egg.codegen.pack_plan import replaced
from tang_egg.ir import Apply, Const, Coordinate, Read, Reduce, Scalar, Tensor, Test, free, walk
from tang_egg.monoid import SUM
from tang_egg.rewrite import substitute


@dataclass(frozen=True, slots=True)
class Carried:
    """Σ_index left(row, index) · right(index, column), times `factor` of each row, if there is one."""

    node: Reduce
    index: Index
    left: Operand
    right: Operand
    factor: Scalar | None


@dataclass(frozen=True, slots=True)
class Beside:
    """A term of a sum that holds a plain product, and the fold that stands beside it."""

    term: Scalar
    node: Reduce
    factors: tuple[Scalar, ...]
    conditions: tuple[Inequality, ...]


def taken_up(outputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Beside | None]:
    """One output without a product that stands beside its fold, and that product; the outputs as they are without."""
    if len(outputs) != 1:
        return outputs, None
    (t,) = outputs
    for s in walk(t.body):
        if not (isinstance(s, Apply) and s.op == "add" and len(s.args) == 2):
            continue
        for term, fold in (s.args, s.args[::-1]):
            found = _beside(term)
            if found is None or not isinstance(fold, Reduce) or not _streams(fold):
                continue
            rest = replaced(t.body, {s: Const(0.0)})
            if any(x is fold or x is found.node for x in walk(rest)):
                continue
            return (replace(t, body=replaced(t.body, {s: fold})),), found
    return outputs, None


def _streams(fold: Reduce) -> bool:
    """Whether a sum has a product inside: its left operand stays on the chip."""
    return fold.monoid is SUM and any(isinstance(x, Reduce) for b in fold.body for x in walk(b))


def _beside(term: Scalar) -> Beside | None:
    conditions: list[Inequality] = []
    inner = term
    while isinstance(inner, Apply) and inner.op == "select":
        condition, value, other = inner.args
        if not isinstance(condition, Test) or other is not Const(0.0):
            return None
        conditions.append(condition.condition)
        inner = value
    parts = factors(inner)
    sums = [p for p in parts if isinstance(p, Reduce)]
    rest = tuple(p for p in parts if not isinstance(p, Reduce))
    if len(sums) != 1 or any(isinstance(x, Reduce) for p in rest for x in walk(p)):
        return None
    (node,) = sums
    plain = node.monoid is SUM and len(node.indices) == 1 and node.where.everywhere
    return Beside(term, node, rest, tuple(conditions)) if plain else None


def carried(
    b: Beside, row: Index, column: Index | None, contractions: tuple[Contraction, ...], matrices: list[MatrixPart]
) -> Carried:
    """The product beside a stream, as the first one of its accumulator. Raises Refused where it is none."""
    if len(matrices) != 1 or column is None:
        raise Refused("a product beside a fold that accumulates none")
    (index,) = b.node.indices
    parts = factors(b.node.body[0])
    reads = [p for p in parts if isinstance(p, Read)]
    left = [p for p in reads if row in free(p)]
    right = [p for p in reads if row not in free(p)]
    if len(parts) != 2 or len(left) != 1 or len(right) != 1 or column in free(left[0]):
        raise Refused("a product beside the fold that is not of rows with columns")
    kept = next((c.left for c in contractions if _same(left[0], index, c)), None)
    if kept is None:
        raise Refused("a product beside the fold, of other rows than those inside")
    if any(column in free(f) for f in b.factors):
        raise Refused("a product beside the fold with a factor that changes along its columns")
    inside = tuple(zip(right[0].coordinates, right[0].source.shape, strict=True))
    if not all(_finds_zeros(c, inside) for c in b.conditions):
        raise Refused("a product beside the fold under a condition that its copies do not follow")
    for c, size in inside:
        certain = isinstance(c, Affine) and never_below_zero(c) and never_below_zero(size - 1 - c)
        if c not in (affine(index), affine(column)) and not certain and not any(x.form == c for x in b.conditions):
            raise Refused("a product beside the fold whose operand may end before it does")
    return Carried(b.node, index, kept, matrix(right[0], index, column), times(list(b.factors)) if b.factors else None)


def _same(left: Read, index: Index, c: Contraction) -> bool:
    """Whether a read over an index is the left operand of a contraction over another one."""
    if index.size != c.index.size:
        return False
    return substitute(left, {index: affine(c.index)}) == c.left.read


def _finds_zeros(c: Inequality, inside: tuple[tuple[Coordinate, Affine], ...]) -> bool:
    """Whether a condition fails only where a copy reads below the first element of an axis, and finds zeros."""
    return any(isinstance(x, Affine) and c.form == x for x, _ in inside)
