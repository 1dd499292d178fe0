"""Rows that share an operand, folded some at a time.

    y[i] = f(sum[j](W[i, j] * x[j]), sum[j](V[i, j] * x[j]))      rows in the caches

Eight rows, or four, run in lanes along j: each vector of x is loaded once for all, and f is computed for a vector of
rows. The trees over the lanes of eight rows are one transpose and seven sums (legalize_across).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tang_egg import ops
from tang_egg.affine import Index
from tang_egg.codegen.candidates_fold import contiguous
from tang_egg.codegen.lower_guard import guarded_entries
from tang_egg.codegen.lower_value import COSTLY
from tang_egg.codegen.vectors import Vectors
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, Tensor, children, free, walk

MANY, FEW = 8, 4
"""Rows that are folded beside each other: many where registers hold a vector of each state of each."""
CACHED = 1 << 24
"""Bytes of rows from which on they are taken to come from memory."""
NEAR, SHORT = 1 << 20, 1024
"""Bytes of rows that the second cache holds, and points of one whose loads take less than the tree over its lanes."""


def rows_beside(
    outputs: Sequence[Tensor], folds: Sequence[Reduce], f: Reduce, v: Index, vectors: Vectors
) -> tuple[int, int]:
    """Rows of a fold that run at once, so that what they share is loaded once, and lanes of each; (1, 0): no gain.

    So it is where all folds run along rows of the same few MB (memory itself is read faster row by row), and several
    sums share an operand, or functions of the sums are then computed for a vector of rows, or rows are short.
    """
    last = f.indices[-1]
    rows = {r.source for b in f.body for r in walk(b) if isinstance(r, Read) and {v, last} <= free(r)}
    bytes_ = sum(prod(n.value or CACHED for n in s.shape) * ops.BYTES[s.dtype] for s in rows)
    short = bytes_ <= NEAR and (last.size.value or SHORT) < SHORT
    if len(f.body) == 1 and not short and not any(_function_of_sums(t.body) for t in outputs):
        return 1, 0
    if (v.size.value or 0) < FEW or not all(len(g.indices) == 1 and _along_rows(g, v) for g in folds):
        return 1, 0
    if bytes_ >= CACHED:
        return 1, 0
    size, points, lanes = v.size.value or 0, last.size.value or 0, vectors.lanes()
    held = 3 * vectors.registers // 4
    tidy = size >= MANY and (size % MANY == 0 or size >= 4 * MANY)  # rows past the end are computed again
    if tidy and lanes >= MANY and points >= lanes and MANY * len(f.body) <= held:
        return MANY, lanes
    n = next((n for n in (16, 8) if FEW * len(f.body) * n <= held * lanes and points >= n), 0)
    return (FEW, n) if n else (1, 0)


def runs_along(f: Reduce, last: Index, v: Index) -> bool:
    """Whether a fold reads contiguously along its own index and never along the vector index, with nothing reused."""
    reads = [x for b in f.body for x in walk(b) if isinstance(x, Read)]
    along = any(contiguous(r, last) for r in reads)
    return along and not any(contiguous(r, v) for r in reads) and all(v in free(r) or len(free(r)) < 2 for r in reads)


def _along_rows(f: Reduce, v: Index) -> bool:
    """Whether a fold runs along rows of its own for each point of `v`, beside an operand that they share."""
    reads = [x for b in f.body for x in walk(b) if isinstance(x, Read) and f.indices[-1] in free(x)]
    shared = any(v not in free(r) for r in reads) and any(v in free(r) for r in reads)
    plain = f.monoid.commutative and not f.monoid.followers and not any(c.axes for c in f.monoid.components)
    return shared and plain and guarded_entries(f) is None and runs_along(f, f.indices[-1], v)


def _function_of_sums(s: Scalar) -> bool:
    """Whether a costly function stands outside all folds."""
    if isinstance(s, (Reduce, Scan)):
        return False
    return (isinstance(s, Apply) and s.op in COSTLY) or any(_function_of_sums(c) for c in children(s))
