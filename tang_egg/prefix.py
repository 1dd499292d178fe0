"""Folds over what has passed whose body mentions the point itself: what it says of that point moves out of the fold.

    Σ[s](c[t]·x[s], where=s ≤ t)            = c[t]·scan[sum, t](x[t])
    fold[m, s](c[t] + x[s], where=s ≤ t)    = c[t] + scan[m, t](x[t])         m max or min

The e-graph could hoist c as well, but what is left would be no scan to it: that is seen on concrete indices only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tang_egg.affine import Index
from tang_egg.errors import GraphError
from tang_egg.ir import Apply, Reduce, Scalar, Scan, apply, free
from tang_egg.monoid import MAX, MIN, SUM
from tang_egg.rewrite import substitute


def moved_prefix(fold: Reduce, last: Index) -> tuple[str, Scalar] | None:
    """The law and the term that equals a fold over one index up to `last`, or None where nothing moves out."""
    op, law = ("mul", "scan.prefix_scaled") if fold.monoid is SUM else ("add", "scan.prefix_shifted")
    if fold.monoid not in (SUM, MAX, MIN):
        return None
    (j,) = fold.indices
    parts = _parts(fold.body[0], op)
    outside = [p for p in parts if j not in free(p)]
    inside = [p for p in parts if j in free(p)]
    if not outside or not inside or any(last in free(p) for p in inside):
        return None
    try:
        rest = substitute(_together(inside, op), {j: last})
    except GraphError:  # a scan inside is read at j
        return None
    return law, apply(op, _together(outside, op), Scan(fold.monoid, last, (rest,)))


def _parts(s: Scalar, op: str) -> list[Scalar]:
    """The operands of nested applications of an operation, negations of a sum taken to each."""
    if isinstance(s, Apply) and s.op == op:
        return [x for a in s.args for x in _parts(a, op)]
    if isinstance(s, Apply) and s.op == "neg" and op == "add":
        return [apply("neg", x) for x in _parts(s.args[0], op)]
    return [s]


def _together(parts: Sequence[Scalar], op: str) -> Scalar:
    return reduce(lambda a, b: apply(op, a, b), parts)
