"""How much a kernel reads at least: what short loops wait for that do little with each element."""

from __future__ import annotations

from tang_egg.affine import Affine, product
from tang_egg.ir import Read, Source, Tensor, free, walk
from tang_egg.ops import BYTES

WORD = 4
"""Bytes."""


def words_read(outputs: tuple[Tensor, ...]) -> int:
    """Words of four bytes that are read at least once, each counted once; 0 where a size is symbolic.

    Of axes whose place comes from data, one point is counted for each place.
    """
    most: dict[Source, int] = {}
    for t in outputs:
        for s in walk(t.body):
            if not isinstance(s, Read):
                continue
            moving = [isinstance(c, Affine) and bool(c.indices()) for c in s.coordinates]
            axes = product(n for n, moves in zip(s.source.shape, moving, strict=True) if moves).value
            points = product(i.size for i in free(s)).value
            if axes is None or points is None:
                return 0
            most[s.source] = max(most.get(s.source, 0), min(axes, points))
    return sum(n * BYTES[s.dtype] // WORD for s, n in most.items())
