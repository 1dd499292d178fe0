"""Passes whose row is at hand: each statistic is finished before what follows it, so that nothing ever moves.

    pass[j](X[j], exp(X[j] + at), at = -max)    ->    max[j](X[j]),  sum[j](exp(X[j] - max[j](X[j])))

A pass saves reading a row twice. Where threads keep the row in registers there is nothing to save, and the factors that
carry a state from one statistic to the next are work for nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from tang_egg.codegen.lower_update import at_statistics
from tang_egg.ir import Reduce, Scalar, StateRef, Statistic, Tensor, map_children, walk
from tang_egg.monoid import Monoid, state_of


def settled(outputs: tuple[Tensor, ...], names: Collection[str]) -> tuple[Tensor, ...]:
    """The tensors with passes over indices of some names written as folds that wait for each other."""
    return tuple(Tensor(t.name, t.axes, settle(t.body, names), t.dtype, t.into, t.at) for t in outputs)


def settle(body: Scalar, names: Collection[str]) -> Scalar:
    """The same of one expression. Passes whose components have axes of their own stay as they are."""
    done: dict[Scalar, Scalar] = {}

    def run(s: Scalar) -> Scalar:
        if s not in done:
            inner = map_children(s, run)
            taken = isinstance(inner, Reduce) and all(i.name in names for i in inner.indices)
            done[s] = _parted(inner) if taken and isinstance(inner, Reduce) else inner
        return done[s]

    return run(body)


def _parted(s: Reduce) -> Scalar:
    """Component `part` of a pass as a fold of its own."""
    monoid = s.monoid
    if not monoid.followers or any(c.axes for c in monoid.components) or not (_apart(monoid) and _relative(s)):
        return s
    commutes = monoid.properties & {"commutative"}
    values: dict[str, Scalar] = {}
    for k, c in enumerate(monoid.components):
        if c.follow is None:
            own = Monoid(f"{monoid.name}.{c.name}", (c,), (monoid.combine[k],), (monoid.identity[k],), commutes)
            values[c.name] = Reduce(own, s.indices, s.where, (s.body[k],), 0, s.at)
            continue
        finished = tuple(state_of(x, values) for x in c.follow.statistics)
        values[c.name] = Reduce(c.follow.base, s.indices, s.where, (at_statistics(s.body[k], finished),), 0, s.at)
    return values[monoid.components[s.part].name]


def _apart(monoid: Monoid) -> bool:
    """Whether every statistic is folded by itself, and every follower says how it looks under a finished one."""
    for k, c in enumerate(monoid.components):
        if c.follow is None:
            mentioned = {x.component for x in walk(monoid.combine[k]) if isinstance(x, StateRef)}
            if mentioned != {c.name}:
                return False
        elif len(c.follow.base.components) != 1:
            return False
    return True


def _relative(s: Reduce) -> bool:
    """Whether each follower's lift is given for any statistic, not only for that of its own point."""
    return all(any(isinstance(x, Statistic) for x in walk(s.body[k])) for k in s.monoid.followers)
