"""Passes: a cascade of the e-graph as a fold of the language.

A cascade is executable only if everything it needs is at hand in one pass: its statistics are computed from folds over
the same indices and domain, which are plain or passes themselves, and nothing else in its body is a finished fold over
them. A value from outside that a statistic or a carry mentions is a head: the maximum of itself over the points.

Its numbers stay in range, and nothing cancels (tang_egg.extract.steady). Other cascades are true over the reals and are
refused here, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from tang_egg.affine import Index
from tang_egg.extract.signs import holds_factor, nonnegative
from tang_egg.extract.steady import Held, State, mentions, unsafe
from tang_egg.ir import (
    Apply,
    Const,
    Domain,
    Position,
    Reduce,
    Scalar,
    StateRef,
    Statistic,
    Test,
    apply,
    const,
    free,
    map_children,
    type_of,
    walk,
)
from tang_egg.monoid import (
    ALL,
    ANY,
    MAX,
    MIN,
    SUM,
    Component,
    Follow,
    Monoid,
    cascade,
    is_constant,
    max_of,
    min_of,
    product_of,
    replace_state,
    sum_of,
)


def shift(part: int) -> Scalar:
    """How far a statistic moved."""
    return apply("add", Statistic("to", part=part), apply("neg", Statistic("from", part=part)))


Heads = list[tuple[Component, Monoid, Scalar]]
"""The plain folds of a pass: component, monoid and body."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a cascade cannot be executed in one pass."""

    reason: str


@dataclass(frozen=True, slots=True)
class Follower:
    """A fold to be carried: its body over Statistic("at"), and its rebase over StateRef("self", name) of followers."""

    name: str
    body: Scalar
    rebase: Scalar


def build_cascade(
    indices: tuple[Index, ...],
    where: Domain,
    statistics: Mapping[int, Scalar],
    followers: tuple[Follower, ...],
    base: Monoid = SUM,
    daring: bool = False,
) -> Reduce | Refused:
    """The fold whose last component is the first of `followers`, or why there is none.

    `statistics`: terms over folds over `indices`, by the parts that the followers call them; `followers` start with the
    wanted fold under `base` and contain every one that the rebases mention.

    `daring`: also where numbers may leave their range or cancel, for a caller who measures that (tang_egg.budget).
    """
    made = _Pass(indices, where)
    folds = [s for s in walk(*statistics.values()) if isinstance(s, Reduce) and made.bound & set(s.indices)]
    for s in folds:
        reason = made.take_in(s)
        if reason:
            return Refused(reason)
    if not folds:
        return Refused("its statistic is not a fold over the same index")
    numbers = {part: n for n, part in enumerate(statistics)}
    followers = tuple(_numbered(f, numbers) for f in followers)
    try:
        values = tuple(made.over_state(replaced(s, made.states)) for s in statistics.values())
        carries = [made.over_state(f.rebase) for f in followers]
    except _MovesInside:
        return Refused("its carry depends on the point")
    followers = tuple(Follower(f.name, f.body, c) for f, c in zip(followers, carries, strict=True))
    followers = _unmoving(followers, made.heads, base)
    if any(isinstance(x, Reduce) and made.bound & set(x.indices) for f in followers for x in walk(f.body)):
        return Refused("its body needs another finished pass")
    state = State(frozenset(indices), made.held(), values)
    reason = "" if daring else next(filter(None, (unsafe(state, f.body, f.rebase) for f in followers)), "")
    weights = state.vanishing()
    reason = reason or made.may_vanish(weights, [f.body for f in followers])
    if reason:
        return Refused(reason)
    empty = made.empty(weights)
    ordered = (*followers[1:], followers[0])
    components = tuple(Component(f.name, "real", (), Follow(values, f.rebase, empty, base)) for f in ordered)
    heads = tuple((c, m) for c, m, _ in made.heads)
    monoid = cascade("pass", heads, (*(c for c, _ in made.inner), *components))
    body = (*(b for _, _, b in made.heads), *(b for _, b in made.inner), *(f.body for f in ordered))
    return Reduce(monoid, indices, where, body, len(body) - 1)


class _MovesInside(Exception):
    """An expression over a state mentions the point."""


@dataclass(slots=True)
class _Pass:
    """A pass under construction: its heads, and the followers that are statistics of others.

    `states`: the folds that are components of it. `outside`: the heads that hold a value from outside, which
    is the maximum of itself over the points of the pass.
    """

    indices: tuple[Index, ...]
    where: Domain
    heads: Heads = field(default_factory=list)
    inner: list[tuple[Component, Scalar]] = field(default_factory=list)
    known: dict[tuple[object, ...], str] = field(default_factory=dict)
    states: dict[Scalar, Scalar] = field(default_factory=dict)
    outside: dict[Scalar, str] = field(default_factory=dict)

    @property
    def bound(self) -> set[Index]:
        """The indices of the pass."""
        return set(self.indices)

    def take_in(self, s: Reduce) -> str:
        """Makes a fold of a statistic part of the pass; why that cannot be, or nothing."""
        monoid = s.monoid
        narrower = s.where is not self.where and self.where.everywhere and monoid.scalar
        if set(s.indices) != self.bound or any(c.axes for c in monoid.components):
            return "its statistic is not a plain fold over the same points"
        if s.where is not self.where and not narrower:
            return "its statistic is not a plain fold over the same points"
        if any(isinstance(x, Reduce) and self.bound & set(x.indices) for b in s.body for x in walk(b)):
            return "its statistic needs another finished pass"
        if not (monoid.scalar or monoid.followers):
            return "its statistic is not a plain fold over the same points"
        names: dict[str, str] = {}
        for k, c in enumerate(monoid.components):
            if c.follow is None:
                body = selected(s.where, s.body[k], monoid.identity[k]) if narrower else s.body[k]
                names[c.name] = self._head(c.type, part_of(monoid, k), body)
        made: list[tuple[str, int, Follow]] = []
        for k in monoid.followers:
            c = monoid.components[k]
            assert c.follow is not None
            statistics = tuple(rename_state(x, names) for x in c.follow.statistics)
            key = (c.follow.base, s.body[k], statistics)
            if key not in self.known:
                self.known[key] = f"s{len(self.known)}"
                made.append((self.known[key], k, c.follow))
            names[c.name] = self.known[key]
        for name, k, f in made:  # a rebase may mention what stands after it
            statistics, (rebase, empty) = (
                tuple(rename_state(x, names) for x in parts) for parts in (f.statistics, (f.rebase, f.empty))
            )
            follow = Follow(statistics, rebase, empty, f.base)
            self.inner.append((Component(name, monoid.components[k].type, (), follow), s.body[k]))
        own = monoid.components[s.part]
        self.states[s] = StateRef("self", names[own.name], own.type)
        return ""

    def _head(self, kind: str, monoid: Monoid, body: Scalar) -> str:
        known = next((h.name for h, m, b in self.heads if m is monoid and b is body), None)
        if known is None:
            known = f"h{len(self.heads)}"
            self.heads.append((Component(known, kind), monoid, body))
        return known

    def over_state(self, s: Scalar) -> Scalar:
        """An expression over the state; values from outside of the pass become heads, of whose type they are maxima.

        Raises _MovesInside where it mentions the point.
        """
        done: dict[Scalar, Scalar] = {}

        def run(x: Scalar) -> Scalar:
            if x not in done:
                done[x] = self._own(x) or map_children(x, run)
            return done[x]

        return run(s)

    def _own(self, s: Scalar) -> Scalar | None:
        if _self_contained(s):
            return s
        if any(isinstance(x, (StateRef, Statistic)) for x in walk(s)):
            if not isinstance(s, Apply):
                raise _MovesInside
            return None
        if free(s) & self.bound:
            raise _MovesInside
        kind = type_of(s)
        if s not in self.outside:
            self.outside[s] = self._head(kind, ANY if kind == "bool" else max_of(kind), s)
        return StateRef("self", self.outside[s], kind)

    def held(self) -> dict[str, Held]:
        """What each component holds, the statistics of followers as expressions over the state."""
        outside = set(self.outside.values())
        found = {c.name: Held(m, b, c.name in outside) for c, m, b in self.heads}
        for c, body in self.inner:
            assert c.follow is not None
            at = c.follow.statistics
            body = replace_state(body, lambda x, at=at: at[x.part] if isinstance(x, Statistic) else None)  # type: ignore[misc]
            found[c.name] = Held(c.follow.base, body, follows=True)
        return found

    def may_vanish(self, weights: Iterable[str], bodies: Sequence[Scalar]) -> str:
        """Why the statistics may mean nothing where points were seen, or nothing: then nothing was folded, either."""
        heads = {c.name: b for c, m, b in self.heads if m is SUM and nonnegative(b)}
        for name in weights:
            if name not in heads or not all(holds_factor(b, heads[name]) for b in bodies):
                return "its statistic divides by what may be 0 where points were seen"
        return ""

    def empty(self, weights: Iterable[str]) -> Scalar:
        """When the statistics of a state mean nothing yet; adds a component that tells if no other head does."""
        outside = set(self.outside.values())
        tests: list[Scalar] = []
        for c, monoid, body in self.heads:
            own = StateRef("self", c.name, c.type)
            if monoid in (MAX, MIN) and c.name not in outside:
                tests.append(apply("eq", own, monoid.identity[0]))
            elif monoid is SUM and (is_constant(body, 1.0) or c.name in weights):
                tests.append(apply("eq", own, const(0.0)))
        if not tests:
            name = self._head("bool", ANY, const(True))
            tests.append(apply("not", StateRef("self", name, "bool")))
        return reduce(lambda a, b: apply("or", a, b), tests)


def _unmoving(followers: tuple[Follower, ...], heads: Heads, base: Monoid) -> tuple[Follower, ...]:
    """The followers that move with a statistic; the others become heads, or are one already."""
    renamed: dict[str, str] = {}
    kept = [followers[0]]
    for f in followers[1:]:
        if mentions(f.body) or f.rebase is not StateRef("self", f.name):
            kept.append(f)
            continue
        known = next((c.name for c, m, b in heads if m is base and b is f.body), None)
        if known is None:
            heads.append((Component(f.name, type_of(f.body)), base, f.body))
        renamed[f.name] = known or f.name
    return tuple(Follower(f.name, f.body, rename_state(f.rebase, renamed)) for f in kept)


def _numbered(f: Follower, parts: Mapping[int, int]) -> Follower:
    """A follower whose statistics are counted anew."""

    def counted(x: Scalar) -> Scalar | None:
        return Statistic(x.which, x.type, parts[x.part]) if isinstance(x, Statistic) else None

    return Follower(f.name, replace_state(f.body, counted), replace_state(f.rebase, counted))


def _self_contained(s: Scalar) -> bool:
    """Only constants, dims and the pass's own state: what a monoid may mention."""
    for x in walk(s):
        if isinstance(x, Position) and x.form.indices():
            return False
        if not isinstance(x, (Const, Position, Apply, StateRef, Statistic)):
            return False
    return True


def selected(where: Domain, body: Scalar, identity: Scalar) -> Scalar:
    """A lift that is the identity outside of a domain: a fold of it is that over the domain, over all points."""
    conditions = (*where.data, *(Test(c) for c in where.affine))
    return apply("select", reduce(lambda a, b: apply("and", a, b), conditions), body, identity)


def part_of(monoid: Monoid, k: int) -> Monoid:
    """Component `k`, which needs no other, as a monoid of its own; the one of the language where it is that."""
    component = monoid.components[k]
    combine = replace_state(
        monoid.combine[k], lambda x: StateRef(x.side, "value", x.type) if isinstance(x, StateRef) else None
    )
    kinds = (ANY, ALL) if component.type == "bool" else tuple(
        make(component.type) for make in (sum_of, max_of, min_of, product_of)
    )  # fmt: skip
    for known in kinds:
        if known.combine == (combine,) and known.identity == (monoid.identity[k],):
            return known
    return Monoid(component.name, (Component("value", component.type),), (combine,), (monoid.identity[k],))


def rename_state(s: Scalar, names: Mapping[str, str]) -> Scalar:
    """An expression over a state whose components have other names."""

    def swap(x: Scalar) -> Scalar | None:
        if isinstance(x, StateRef):
            return StateRef(x.side, names.get(x.component, x.component), x.type, x.coordinates)
        return None

    return replace_state(s, swap)


def replaced(root: Scalar, mapping: Mapping[Scalar, Scalar]) -> Scalar:
    """An expression with some of its parts replaced."""
    done: dict[Scalar, Scalar] = dict(mapping)

    def run(s: Scalar) -> Scalar:
        if s not in done:
            done[s] = map_children(s, run)
        return done[s]

    return run(root)
