"""Folds that carry positions along, in 32 bits while the folded index is short enough.

    (value f32, position i64)    ->    (value f32, position i32) over the points; widened once, for the last combine

So is the best element with its place: a position is only chosen among others and compared with them. The order of
positions is kept: what is at most 2^31 - 2 stays as it is, and a larger identity (nowhere) becomes 2^31 - 1.
"""

from __future__ import annotations

from dataclasses import replace

from tang_egg.affine import Affine
from tang_egg.bounds import prove_nonnegative
from tang_egg.ir import Apply, Const, Position, Reduce, Scalar, StateRef, apply, children, const, type_of

NOWHERE, FAR = 2**31 - 1, 2**63 - 1
"""What stands for no position at all, in 32 bits and in 64."""

CHOSEN = ("select", "lt", "le", "eq")
"""What may be done with positions."""


def narrowed(group: Reduce) -> Reduce | None:
    """The fold with its positions in 32 bits; None where it has none or does more with them than choose and compare."""
    monoid = group.monoid
    held = {
        c.name
        for c, body, empty in zip(monoid.components, group.body, monoid.identity, strict=True)
        if c.type == "i64" and not c.axes and c.follow is None and _short(body) and _short(empty)
    }
    if not held:
        return None
    places = [n for n, c in enumerate(monoid.components) if c.name in held]
    if not any(isinstance(group.body[n], Position) for n in places):
        return None
    known: dict[Scalar, Scalar | None] = {}
    combine = [_changed(s, held, known) for s in monoid.combine]
    if not all(
        new is not None and type_of(new) == ("i32" if c.name in held else c.type)
        for new, c in zip(combine, monoid.components, strict=True)
    ):
        return None
    components = tuple(replace(c, type="i32") if c.name in held else c for c in monoid.components)
    identity = tuple(_narrow(s) if n in places else s for n, s in enumerate(monoid.identity))
    body = tuple(_narrow(s) if n in places else s for n, s in enumerate(group.body))
    small = replace(
        monoid, components=components, combine=tuple(s for s in combine if s is not None), identity=identity
    )
    return replace(group, monoid=small, body=body)


def widened(s: Scalar) -> Scalar:
    """A position in 32 bits as one in 64."""
    nowhere = apply("eq", s, const(NOWHERE, "i32"))
    return Apply("select", (nowhere, const(FAR, "i64"), Apply("cast:i64", (s,))))


def _short(s: Scalar) -> bool:
    """Whether a value is a position from 0 to 2^31 - 2, or none at all."""
    if isinstance(s, Const):
        return isinstance(s.value, int) and (0 <= s.value < NOWHERE or s.value == FAR)
    return isinstance(s, Position) and _at_least_zero(s.form) and _at_least_zero(NOWHERE - 1 - s.form)


def _at_least_zero(form: Affine) -> bool:
    return prove_nonnegative(form, (), form.indices())


def _narrow(s: Scalar) -> Scalar:
    if isinstance(s, Const):
        return const(min(int(s.value), NOWHERE), "i32")
    return Apply("cast:i32", (s,))


def _changed(s: Scalar, held: set[str], known: dict[Scalar, Scalar | None]) -> Scalar | None:
    """A combine with some states in 32 bits; None where that would change its meaning."""
    if s not in known:
        known[s] = _rebuilt(s, held, known)
    return known[s]


def _rebuilt(s: Scalar, held: set[str], known: dict[Scalar, Scalar | None]) -> Scalar | None:
    if isinstance(s, StateRef):
        return StateRef(s.side, s.component, "i32", s.coordinates) if s.component in held else s
    if not isinstance(s, Apply):
        return s if not children(s) else None
    args = [_changed(a, held, known) for a in s.args]
    new = [a for a in args if a is not None]
    if len(new) < len(args):
        return None
    moved = [type_of(a) != type_of(b) for a, b in zip(new, s.args, strict=True)]
    if not any(moved):
        return Apply(s.op, tuple(new))
    values = moved[1:] if s.op == "select" else moved
    return Apply(s.op, tuple(new)) if s.op in CHOSEN and all(values) else None
