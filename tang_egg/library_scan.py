"""Cumulative sums and products along an axis."""

from __future__ import annotations

from collections.abc import Callable

from tang_egg import expression as e
from tang_egg import notation as te
from tang_egg import ops
from tang_egg.affine import AffineLike, Index, affine
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import axes_of, axis_of, expect_array
from tang_egg.notation import Array


def cumulative_sum(x: Array, axis: int = -1, *, exclusive: bool = False, reverse: bool = False) -> Array:
    """Σ x[s] over s <= t along `axis`, of the shape of `x`; `exclusive`: s < t, `reverse`: s >= t, both: s > t."""
    return _cumulative(te.sum, 0, x, axis, exclusive, reverse, "cumulative_sum")


def cumulative_prod(x: Array, axis: int = -1, *, exclusive: bool = False, reverse: bool = False) -> Array:
    """Π x[s] over s <= t along `axis`, of the shape of `x`; `exclusive`: s < t, `reverse`: s >= t, both: s > t."""
    return _cumulative(te.prod, 1, x, axis, exclusive, reverse, "cumulative_product")


def _cumulative(
    fold: Callable[..., Expression], start: int, x: Array, axis: int, exclusive: bool, reverse: bool, hint: str
) -> Array:
    """Prefix folds s <= t, read backwards or one place later: so each is a scan."""
    expect_array(x)
    if x.dtype == "bool":
        raise GraphError(f"a cumulative fold of bools '{x.name}'", where=str(here()), mend="te.cast them to integers")
    i = axes_of(x)
    t = i[axis_of(x, axis)]
    s = Index("s", t.size)

    def at(position: AffineLike) -> tuple[AffineLike, ...]:
        return tuple(position if k is t else k for k in i)

    def turned(position: AffineLike) -> AffineLike:
        return t.size - 1 - position if reverse else position

    prefix = te.tensor(None, i, fold(s, x[at(turned(s))], where=s <= t), x.dtype, hint=hint)
    if not exclusive and not reverse:
        return prefix
    if not exclusive:
        return te.tensor(None, i, prefix[at(turned(t))], x.dtype, hint=hint)
    before = affine(turned(t)) - 1
    first = e.constant(float(start) if ops.scalar_type(x.dtype) == "real" else start, x.dtype)
    return te.tensor(None, i, e.select(before >= 0, prefix[at(before)], first), x.dtype, hint=hint)
