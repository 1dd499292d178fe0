"""Passes: a cascade of the e-graph as a fold of the language, and sibling folds joined into one.

A cascade is executable only if everything it needs is at hand in one pass: its statistic is computed from folds over
the same index and domain, nothing else in its body is a finished fold over that index, and its numbers stay in range:
    exp of a follower is bounded by one (its argument is c·(g − max g), c > 0), and
    a sum that moves by an affine shift is centred (its statistic is the mean of what it folds, so nothing cancels).
Other cascades are true over the reals and are refused here, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from tang_egg.affine import Index
from tang_egg.ir import (
    Apply,
    Const,
    Domain,
    Position,
    Reduce,
    Scalar,
    StateRef,
    Statistic,
    apply,
    children,
    const,
    free,
    map_children,
    walk,
)
from tang_egg.monoid import ANY, MAX, MIN, SUM, Component, Follow, Monoid, cascade, is_constant, replace_state

DELTA = apply("add", Statistic("to"), apply("neg", Statistic("from")))
"""How far the statistic moved."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a cascade cannot be executed in one pass."""

    reason: str


@dataclass(frozen=True, slots=True)
class Follower:
    """A sum to be carried: its body over Statistic("at"), and its rebase over StateRef("self", name) of followers."""

    name: str
    body: Scalar
    rebase: Scalar


def build_cascade(index: Index, where: Domain, statistic: Scalar, followers: tuple[Follower, ...]) -> Reduce | Refused:
    """The fold whose last component is the first of `followers`, or why there is none.

    `statistic` is a term over folds over `index`; `followers` start with the wanted sum and contain every sum that the
    rebases mention.
    """
    heads: list[tuple[Component, Monoid, Scalar]] = []
    replaced: dict[Scalar, Scalar] = {}
    for s in walk(statistic):
        if isinstance(s, Reduce) and index in s.indices:
            if s.where is not where or s.indices != (index,) or not s.monoid.scalar or s.monoid.followers:
                return Refused("its statistic is not a plain fold over the same points")
            if any(isinstance(x, Reduce) and index in x.indices for b in s.body for x in walk(b)):
                return Refused("its statistic needs another finished pass")
            component = Component(f"h{len(heads)}", s.monoid.components[0].type)
            heads.append((component, s.monoid, s.body[0]))
            replaced[s] = StateRef("self", component.name, component.type)
    if not heads:
        return Refused("its statistic is not a fold over the same index")
    value = _replace(statistic, replaced)
    if not _self_contained(value):
        return Refused("its statistic mixes in values from outside the pass")
    for f in followers:
        if any(isinstance(x, Reduce) and index in x.indices for x in walk(f.body)):
            return Refused("its body needs another finished pass")
        if not _self_contained(f.rebase):
            return Refused("its carry mixes in values from outside the pass")
        reason = _unsafe(f, value, heads)
        if reason:
            return Refused(reason)
    empty = _empty(heads)
    ordered = (*followers[1:], followers[0])
    components = tuple(Component(f.name, "real", (), Follow(value, f.rebase, empty, SUM)) for f in ordered)
    monoid = cascade("pass", tuple((c, m) for c, m, _ in heads), components)
    body = (*(b for _, _, b in heads), *(f.body for f in ordered))
    return Reduce(monoid, (index,), where, body, len(body) - 1)


def _self_contained(s: Scalar) -> bool:
    """Only constants, dims and the pass's own state: what a monoid may mention."""
    for x in walk(s):
        if isinstance(x, Position) and x.form.indices():
            return False
        if not isinstance(x, (Const, Position, Apply, StateRef, Statistic)):
            return False
    return True


def _empty(heads: list[tuple[Component, Monoid, Scalar]]) -> Scalar:
    """When the statistic of a state means nothing yet; adds a component that tells if no head does."""
    tests: list[Scalar] = []
    for c, monoid, body in heads:
        own = StateRef("self", c.name, c.type)
        if monoid in (MAX, MIN):
            tests.append(apply("eq", own, monoid.identity[0]))
        elif monoid is SUM and is_constant(body, 1.0):
            tests.append(apply("eq", own, const(0.0)))
    if not tests:
        live = Component("live", "bool")
        heads.append((live, ANY, const(True)))
        tests.append(apply("not", StateRef("self", "live", "bool")))
    result = tests[0]
    for t in tests[1:]:
        result = apply("or", result, t)
    return result


def linear(s: Scalar) -> dict[Scalar, float]:
    """`s` as a sum of terms with constant factors; the key Const(1.0) holds the constant part."""
    total: dict[Scalar, float] = {}
    one = const(1.0)

    def add(x: Scalar, factor: float) -> None:
        if isinstance(x, Const) and x.type == "real":
            total[one] = total.get(one, 0.0) + factor * float(x.value)
        elif isinstance(x, Apply) and x.op == "add":
            for a in x.args:
                add(a, factor)
        elif isinstance(x, Apply) and x.op == "neg":
            add(x.args[0], -factor)
        elif isinstance(x, Apply) and x.op == "mul" and isinstance(x.args[0], Const):
            add(x.args[1], factor * float(x.args[0].value))
        elif isinstance(x, Apply) and x.op == "mul" and isinstance(x.args[1], Const):
            add(x.args[0], factor * float(x.args[1].value))
        else:
            total[x] = total.get(x, 0.0) + factor

    add(s, 1.0)
    return {k: v for k, v in total.items() if v != 0.0}


def _unsafe(f: Follower, statistic: Scalar, heads: list[tuple[Component, Monoid, Scalar]]) -> str:
    """Why the numbers of a follower may leave their range, or nothing."""
    exponentials = [x for x in walk(f.body) if isinstance(x, Apply) and x.op == "exp" and _mentions(x.args[0])]
    for e in exponentials:
        if not _bounded(e.args[0], statistic, heads):
            return "an exponential is not bounded by its statistic"
    moved = any(isinstance(x, Apply) and x.op == "add" for x in walk(f.rebase) if _mentions_state(x))
    if moved and not _is_mean(statistic, heads):
        return "a sum that is carried by shifts is not centred"
    return ""


def _mentions(s: Scalar) -> bool:
    return any(isinstance(x, Statistic) for x in walk(s))


def _mentions_state(s: Scalar) -> bool:
    return any(isinstance(x, StateRef) for x in walk(s))


def _bounded(argument: Scalar, statistic: Scalar, heads: list[tuple[Component, Monoid, Scalar]]) -> bool:
    """Whether the argument is c·(g − max g), c > 0, the statistic being a multiple of max g: never above 0."""
    terms = linear(argument)
    factor = terms.pop(Statistic("at"), 0.0)
    parts = linear(statistic)
    if len(parts) != 1:
        return False
    for component, monoid, body in heads:
        scale = factor * parts.get(StateRef("self", component.name, component.type), 0.0)
        if (monoid is MAX and scale < 0.0) or (monoid is MIN and scale > 0.0):
            return {k: -scale * v for k, v in linear(body).items()} == terms
    return False


def _is_mean(statistic: Scalar, heads: list[tuple[Component, Monoid, Scalar]]) -> bool:
    """Whether the statistic is a multiple of Σ x · recip(Σ 1) of two heads."""
    parts = list(linear(statistic))
    if len(parts) != 1 or not (isinstance(parts[0], Apply) and parts[0].op == "mul"):
        return False
    known = {c.name: (m, b) for c, m, b in heads}
    for total, inverse in (parts[0].args, parts[0].args[::-1]):
        if not (isinstance(total, StateRef) and isinstance(inverse, Apply) and inverse.op == "recip"):
            continue
        count = inverse.args[0]
        if isinstance(count, StateRef) and known[count.component][0] is SUM:
            return known[total.component][0] is SUM and is_constant(known[count.component][1], 1.0)
    return False


@dataclass(slots=True)
class _Pass:
    """A product of folds under construction; equal components are kept once."""

    indices: tuple[Index, ...]
    where: Domain
    names: dict[tuple[object, ...], str] = field(default_factory=dict)
    components: list[Component] = field(default_factory=list)
    combine: list[Scalar] = field(default_factory=list)
    identity: list[Scalar] = field(default_factory=list)
    body: list[Scalar] = field(default_factory=list)
    properties: frozenset[str] | None = None

    def add(self, fold: Reduce) -> dict[int, int]:
        """Adds the components of a fold; gives the new position of each of its parts."""
        own = fold.monoid.properties
        self.properties = own if self.properties is None else self.properties & own
        order = _needed_order(fold)
        if _mutual(fold.monoid, order):
            return self._add_group(fold)
        rename: dict[str, str] = {}
        places: dict[int, int] = {}
        for k in order:
            component = fold.monoid.components[k]
            key = self._key(fold, k, rename)
            known = self.names.get(key)
            name = rename[component.name] = known or f"c{len(self.components)}"
            if known is None:
                self.names[key] = name
                self._append(fold, k, rename)
            places[k] = int(name[1:])
        return places

    def _add_group(self, fold: Reduce) -> dict[int, int]:
        """Adds components that mention each other, together."""
        count = len(fold.monoid.components)
        key = ("group", fold.monoid, fold.body)
        first = int(self.names.setdefault(key, f"c{len(self.components)}")[1:])
        if first == len(self.components):
            rename = {c.name: f"c{first + k}" for k, c in enumerate(fold.monoid.components)}
            for k in range(count):
                self._append(fold, k, rename)
        return {k: first + k for k in range(count)}

    def _append(self, fold: Reduce, k: int, rename: Mapping[str, str]) -> None:
        component = fold.monoid.components[k]
        self.components.append(_renamed_component(component, rename[component.name], rename))
        self.combine.append(_rename(fold.monoid.combine[k], rename))
        self.identity.append(fold.monoid.identity[k])
        self.body.append(fold.body[k])

    def _key(self, fold: Reduce, k: int, rename: Mapping[str, str]) -> tuple[object, ...]:
        component = fold.monoid.components[k]
        local = {**rename, component.name: "%self"}
        follow = component.follow
        moved = () if follow is None else (_rename(follow.rebase, local), _rename(follow.statistic, local))
        return (fold.body[k], _rename(fold.monoid.combine[k], local), component.type, component.axes, moved)

    def fold(self, part: int) -> Reduce:
        monoid = Monoid(
            "pass", tuple(self.components), tuple(self.combine), tuple(self.identity), self.properties or frozenset()
        )
        return Reduce(monoid, self.indices, self.where, tuple(self.body), part)


def _needed_order(fold: Reduce) -> list[int]:
    """Components of a fold, each after those that its combine mentions (as far as that is possible)."""
    followers = set(fold.monoid.followers)
    plain = [k for k in range(len(fold.monoid.components)) if k not in followers]
    return plain + [k for k in range(len(fold.monoid.components)) if k in followers]


def _mutual(monoid: Monoid, order: list[int]) -> bool:
    """Whether some component mentions one that stands after it."""
    seen: set[str] = set()
    for k in order:
        seen.add(monoid.components[k].name)
        if any(isinstance(s, StateRef) and s.component not in seen for s in walk(monoid.combine[k])):
            return True
    return False


def _rename(s: Scalar, names: Mapping[str, str]) -> Scalar:
    def swap(x: Scalar) -> Scalar | None:
        if isinstance(x, StateRef):
            return StateRef(x.side, names.get(x.component, x.component), x.type, x.coordinates)
        return None

    return replace_state(s, swap)


def _renamed_component(c: Component, name: str, names: Mapping[str, str]) -> Component:
    follow = c.follow
    if follow is not None:
        follow = Follow(
            _rename(follow.statistic, names), _rename(follow.rebase, names), _rename(follow.empty, names), follow.base
        )
    return Component(name, c.type, c.axes, follow)


def count_points(s: Scalar) -> Scalar:
    """`s` with sums of a constant over whole indices computed: they are only of use inside a pass."""
    done: dict[Scalar, Scalar] = {}
    for x in walk(s):
        x_ = map_children(x, lambda c: done[c])
        if isinstance(x_, Reduce) and x_.monoid is SUM and x_.where.everywhere and isinstance(x_.body[0], Const):
            sizes = [i.size.value for i in x_.indices]
            if all(n is not None for n in sizes):
                x_ = const(float(x_.body[0].value) * prod(n for n in sizes if n is not None))
        done[x] = x_
    return done[s]


def join_siblings(roots: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """The same values with sibling folds joined: equal index and domain, and neither needs the other."""
    roots = tuple(count_points(r) for r in roots)
    for _ in range(8):
        joined = _join_once(roots)
        if joined == roots:
            break
        roots = joined
    return roots


def _join_once(roots: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    top = _outermost(roots)
    groups: dict[tuple[tuple[Index, ...], Domain], list[Reduce]] = {}
    for f in top:
        groups.setdefault((f.indices, f.where), []).append(f)
    for (indices, where), members in groups.items():
        distinct = {(m.monoid, m.body) for m in members}
        if len(distinct) < 2:
            continue
        below = {m: {x for b in m.body for x in walk(b) if isinstance(x, Reduce)} for m in members}
        chosen: list[Reduce] = []
        for m in members:
            if all(not (below[m] & {c}) and not (below[c] & {m}) for c in chosen):
                chosen.append(m)
        if len({(m.monoid, m.body) for m in chosen}) < 2:
            continue
        joined = _Pass(indices, where)
        places = {m: joined.add(m) for m in chosen}
        mapping: dict[Scalar, Scalar] = {m: joined.fold(places[m][m.part]) for m in chosen}
        return tuple(_replace(r, mapping) for r in roots)
    return roots


def _replace(root: Scalar, mapping: Mapping[Scalar, Scalar]) -> Scalar:
    done: dict[Scalar, Scalar] = dict(mapping)

    def run(s: Scalar) -> Scalar:
        if s not in done:
            done[s] = map_children(s, run)
        return done[s]

    return run(root)


def _outermost(roots: tuple[Scalar, ...]) -> list[Reduce]:
    """Folds that are not inside another fold, in order of first use."""
    found: dict[Reduce, None] = {}
    seen: set[Scalar] = set()

    def visit(s: Scalar) -> None:
        if s in seen:
            return
        seen.add(s)
        if isinstance(s, Reduce):
            for b in (*s.where.data, *s.body):
                for x in _finished_inside(s, b):
                    visit(x)
            found[s] = None
            return
        for c in children(s):
            visit(c)

    for r in roots:
        visit(r)
    return list(found)


def _finished_inside(fold: Reduce, body: Scalar) -> list[Reduce]:
    """Folds inside `body` that do not depend on the fold's own index: they are finished before it starts."""
    bound = frozenset(fold.indices)
    inner = [x for x in walk(body) if isinstance(x, Reduce) and not free(x) & bound]
    nested = {y for x in inner for b in x.body for y in walk(b) if isinstance(y, Reduce)}
    return [x for x in inner if x not in nested]
