"""Outputs of one kernel over axes of the same sizes are written over the same axes: one nest of loops serves them all.

    v[h, i, d] = ...,  k[h, j, e] = ... [j, e]      ->      v[h, i, d] = ...,  k[h, i, d] = ... [i, d]

How an output calls its axes is its own affair; what reads it goes by position.
"""

from __future__ import annotations

from tang_egg.affine import Index, affine
from tang_egg.ir import Tensor
from tang_egg.rewrite import substitute


def aligned(outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The outputs, each over the axes of the first where it has as many of the same sizes."""
    first = outputs[0].axes
    return (outputs[0], *(_over(t, first) for t in outputs[1:]))


def _over(t: Tensor, axes: tuple[Index, ...]) -> Tensor:
    same = len(t.axes) == len(axes) and all(a.size == b.size for a, b in zip(t.axes, axes, strict=True))
    if not same or t.axes == axes or t.into:
        return t
    change = {a: affine(b) for a, b in zip(t.axes, axes, strict=True)}
    return Tensor(t.name, axes, substitute(t.body, change), t.dtype, t.into, t.at)
