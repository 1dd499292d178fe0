"""Schedules for folds of two kinds: sums over blocks of sums within them, and folds of rows that are looked up.

Sums over blocks, as for weights with a scale for each block:

    sum[b](S[i, b] * sum[j](W[i, b, j] * X[b, j]))      rows in memory, blocks of a row one after the other

Some blocks at a time: the inner folds run in lanes along j, one vector of partial states for each block, and end in a
transpose in registers; the outer fold takes up their results in lanes along b. Nothing is copied or read across rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from tang_egg.affine import Index
from tang_egg.codegen.candidates_fold import contiguous
from tang_egg.codegen.vectors import AVX2, Vectors
from tang_egg.ir import Read, Reduce, Scalar, Scan, children, free, walk
from tang_egg.schedule import FoldPlan, Schedule

WIDTH = 8
"""Lanes of both folds."""
BLOCKS = 16
"""Blocks whose inner folds run side by side, in registers."""
LOOKED_UP = 8
"""Rows of a table that are folded side by side."""
ROW = 1024
"""Longest row of a table that is folded as a whole."""


def nested(folds: Sequence[Reduce], common: Sequence[Index], vectors: Vectors = AVX2) -> Schedule | None:
    """Both folds in lanes of their own index; None where the folds are no such pair or their reads lie across."""
    outer = [f for f in folds if any(_below(f, g) for g in folds)]
    if len(folds) != 2 or len(outer) != 1:
        return None
    f, g = outer[0], next(x for x in folds if x is not outer[0])
    b, j = f.indices[-1], g.indices[-1]
    plain = all(
        len(x.indices) == 1 and x.monoid.commutative and not x.monoid.followers and len(x.body) == 1 for x in (f, g)
    )
    sizes = [b.size.value or 0, j.size.value or 0]
    if not plain or min(sizes) < WIDTH or any(isinstance(x, Scan) for x in walk(*f.body)):
        return None
    inside = [x for s in g.body for x in walk(s) if isinstance(x, Read) and j in free(x)]
    outside = [x for s in f.body for x in _reads_without(s, g) if b in free(x)]
    if not inside or not all(contiguous(r, j) for r in inside) or not all(contiguous(r, b) for r in outside):
        return None
    rows = {i for i in common if i.size.value != 1}
    if not rows or not any({b, j, *rows} <= free(r) for r in inside):
        return None  # each operand serves many points of the output, and is worth a copy
    # results of as many blocks as a vector of WIDTH has lanes are turned in registers; wider ones would go lane by lane
    tile = BLOCKS if sizes[0] >= BLOCKS and vectors.lanes() <= WIDTH else WIDTH
    plans = ((b.name, FoldPlan("stream", tile, WIDTH)), (j.name, FoldPlan("lanes", WIDTH)))
    return Schedule("split", order=tuple(i.name for i in common), fold=plans)


def looked_up(folds: Sequence[Reduce], v: Index | None) -> Schedule | None:
    """Rows of a table that are looked up and folded: whole rows, some of them side by side; None for anything else.

    A narrow piece of a row would leave every line of it alone with its latency.
    """
    size = v.size.value or 0 if v is not None else 0
    if v is None or len(folds) != 1 or size < 4 * WIDTH:
        return None
    f = folds[0]
    p = f.indices[-1]
    across = [x for s in f.body for x in walk(s) if isinstance(x, Read) and v in free(x)]
    rows = [r for r in across if any(isinstance(c, Scalar) and p in free(c) for c in r.coordinates)]
    plain = len(f.indices) == 1 and len(f.body) == 1 and not (f.where.affine or f.where.data or f.monoid.followers)
    if not plain or not rows or not all(contiguous(r, v) for r in across) or (p.size.value or 0) < LOOKED_UP:
        return None
    tile = 0 if size <= ROW else ROW // 4
    return Schedule("stream", tile=((v.name, tile),), fold=((p.name, FoldPlan("stream", LOOKED_UP)),))


def _below(f: Reduce, g: Reduce) -> bool:
    """Whether `g` is a fold within the body of `f`."""
    return any(isinstance(x, Reduce) and x.indices == g.indices and x is not f for s in f.body for x in walk(s))


def _reads_without(s: Scalar, fold: Reduce) -> list[Read]:
    """The reads below `s`, without those within a fold over the same index."""
    if isinstance(s, Reduce) and s.indices == fold.indices:
        return []
    here = [s] if isinstance(s, Read) else []
    return here + [x for c in children(s) for x in _reads_without(c, fold)]
