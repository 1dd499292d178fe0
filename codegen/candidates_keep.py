"""Which rows stay at hand between the folds over them, and which are fetched one ahead, from the kernel alone."""

from __future__ import annotations

from math import prod

from tang_egg import ops
from tang_egg.affine import Affine, Index
from tang_egg.codegen.candidates_fold import contiguous
from tang_egg.codegen.lower_keep import rows_at_hand
from tang_egg.codegen.settled import settled
from tang_egg.codegen.vectors import AVX2, Vectors
from tang_egg.ir import Input, Read, Reduce, Scalar, Scan, Tensor, children, free, sources, walk
from tang_egg.schedule import Schedule

AT_HAND = 1 << 17
"""Bytes of a row below which it is still in a cache near the core when the next fold reads it."""
AHEAD_LEAST, AHEAD_MOST = 1 << 10, 1 << 17
"""Bytes of rows that are fetched one ahead: shorter ones come by themselves, longer ones push out the present one."""
ONCE_MOST = 1 << 13
"""Bytes of rows that are read once up to which they are fetched one ahead, where a vector is a whole line of memory."""
SMALL = 1 << 21
"""Bytes of all rows up to which caches hold them anyway."""


def parted(outputs: tuple[Tensor, ...], rows: tuple[Index, ...]) -> tuple[Tensor, ...] | None:
    """The tensors with their passes over some rows as folds in turn; None where a row is too long or a pass stays."""
    if any(i.size.value is not None and i.size.value * 4 >= AT_HAND for i in rows):
        return None
    found = settled(outputs, {i.name for i in rows})
    left = any(isinstance(s, Reduce) and s.monoid.followers for t in found for s in walk(t.body))
    same = all(sources(a.body) == sources(b.body) for a, b in zip(outputs, found, strict=True))
    return found if same and not left else None


def fetched(outputs: tuple[Tensor, ...], schedule: Schedule, vectors: Vectors = AVX2) -> tuple[str, ...]:
    """The tensors whose rows are worth fetching one ahead: those that are read twice, by folds or by what follows.

    Where vectors are whole lines, short rows that are read once too: at each row's end a processor's own fetching ahead
    starts anew, and the loads of one row are soon over.
    """
    if schedule.stage or schedule.block or schedule.shape not in ("split", "stream"):
        return ()
    if any(plan.how == "blocks" for _, plan in schedule.fold):
        return ()
    passes: dict[Input | Tensor, int] = {}
    for found in _passes(rows_at_hand(outputs, schedule)):
        for source in {r.source for r in found if _is_row(r, outputs)}:
            passes[source] = passes.get(source, 0) + 1
    once = ONCE_MOST if vectors.bytes > AVX2.bytes else 0
    return tuple(s.name for s, n in passes.items() if n > 1 or _row_bytes(s) <= once)


def _row_bytes(source: Input | Tensor) -> int:
    """The bytes of a row of a source of known length."""
    return (source.shape[-1].value or 0) * ops.BYTES[source.dtype]


def _passes(outputs: tuple[Tensor, ...]) -> list[list[Read]]:
    """What each fold, and each output outside of folds, reads itself."""
    roots: list[tuple[Scalar, ...]] = [(t.body,) for t in outputs]
    folds = (s for t in outputs for s in walk(t.body) if isinstance(s, Reduce))
    roots += dict.fromkeys((*s.body, *s.where.data) for s in folds)
    return [_own_reads(r) for r in roots]


def _own_reads(roots: tuple[Scalar, ...]) -> list[Read]:
    found: dict[Scalar, None] = {}
    stack = list(roots)
    while stack:
        s = stack.pop()
        if s not in found and not isinstance(s, (Reduce, Scan)):
            found[s] = None
            stack += children(s)
    return [s for s in found if isinstance(s, Read)]


def _is_row(r: Read, outputs: tuple[Tensor, ...]) -> bool:
    """Whether a read runs along a row of its source, of a length that is worth it, and has other rows beside it."""
    *others, last = r.coordinates or (None,)
    size = r.source.shape[-1].value if r.source.shape else None
    if not isinstance(last, Affine) or size is None:
        return False
    if not AHEAD_LEAST <= _row_bytes(r.source) <= AHEAD_MOST:
        return False
    along = [i for i in last.indices() if contiguous(r, i)]
    common = {i for t in outputs for i in t.axes}
    rows = {i for c in others if isinstance(c, Affine) for i in c.indices()} & common
    whole = prod(n.value or SMALL for n in r.source.shape) * ops.BYTES[r.source.dtype]
    return bool(along) and bool(rows) and not rows & set(along) and whole > SMALL and rows <= free(r)
