"""Siblings: folds over one index and domain, neither needing the other, as one fold under the product of their monoids.

Equal components are kept once, so that passes with equal heads share them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

from tang_egg.affine import Index
from tang_egg.bounds_range import limits_of
from tang_egg.extract.passes import part_of, rename_state, replaced, selected
from tang_egg.ir import Const, Domain, Reduce, Scalar, StateRef, children, const, free, map_children, walk
from tang_egg.monoid import SUM, Component, Follow, Monoid
from tang_egg.rules.table import stands

JOINED = "sibling.join"
"""The law by which siblings are joined."""


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
        self.combine.append(rename_state(fold.monoid.combine[k], rename))
        self.identity.append(fold.monoid.identity[k])
        self.body.append(fold.body[k])

    def _key(self, fold: Reduce, k: int, rename: Mapping[str, str]) -> tuple[object, ...]:
        component = fold.monoid.components[k]
        local = {**rename, component.name: "%self"}
        follow = component.follow
        parts = () if follow is None else (follow.rebase, *follow.statistics)
        moved = tuple(rename_state(s, local) for s in parts)
        return (fold.body[k], rename_state(fold.monoid.combine[k], local), component.type, component.axes, moved)

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


def _renamed_component(c: Component, name: str, names: Mapping[str, str]) -> Component:
    follow = c.follow
    if follow is not None:
        follow = Follow(
            tuple(rename_state(s, names) for s in follow.statistics),
            rename_state(follow.rebase, names),
            rename_state(follow.empty, names),
            follow.base,
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
    for _ in range(8 if stands(JOINED) else 0):
        joined = _join_once(roots)
        if joined == roots:
            break
        roots = joined
    return roots


def _join_once(roots: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    top = _outermost(roots)
    held = _held(top)
    if held:
        return tuple(replaced(r, held) for r in roots)
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
        return tuple(replaced(r, mapping) for r in roots)
    widened = _widened(top)
    return tuple(replaced(r, widened) for r in roots) if widened else roots


def _widened(folds: Sequence[Reduce]) -> dict[Scalar, Scalar]:
    """Folds that data takes to other points of one space, over what they share of it, as selects choose.

    Only where both run the same fold at each point, which is then run once. Sorted data limits loops: it stays.
    """
    for f, g in combinations(folds, 2):
        if set(f.indices) != set(g.indices) or f.where is g.where or f.where.affine != g.where.affine:
            continue
        if any(not x.monoid.scalar or x.monoid.followers or _limited(x) for x in (f, g)):
            continue
        if not _running(f) & _running(g) or _needs(f, g) or _needs(g, f):
            continue
        shared = Domain(f.where.affine, tuple(d for d in f.where.data if d in g.where.data))
        return {x: _over(shared, f.indices, x) for x in (f, g)}
    return {}


def _over(shared: Domain, indices: tuple[Index, ...], fold: Reduce) -> Reduce:
    rest = Domain((), tuple(d for d in fold.where.data if d not in shared.data))
    body = fold.body[0] if rest.everywhere else selected(rest, fold.body[0], fold.monoid.identity[0])
    return Reduce(fold.monoid, indices, shared, (body,), fold.part, fold.at)


def _running(fold: Reduce) -> set[tuple[Monoid, tuple[Scalar, ...]]]:
    """The folds that run at each point of a fold."""
    bound = frozenset(fold.indices)
    return {(x.monoid, x.body) for x in walk(*fold.body) if isinstance(x, Reduce) and free(x) & bound}


def _needs(fold: Reduce, other: Reduce) -> bool:
    return other in walk(*fold.body, *fold.where.data)


def _limited(fold: Reduce) -> bool:
    return any(True for i in fold.indices for c in fold.where.data for _ in limits_of(i, c))


def _held(folds: Sequence[Reduce]) -> dict[Scalar, Scalar]:
    """Folds over a domain that a pass over all points has as a component, as that component."""
    found: dict[Scalar, Scalar] = {}
    for f in folds:
        if f.where.everywhere or not f.monoid.scalar or f.monoid.followers:
            continue
        body = selected(f.where, f.body[0], f.monoid.identity[0])
        for g in folds:
            if g.where.everywhere and set(g.indices) == set(f.indices) and body in g.body:
                k = g.body.index(body)
                if g.monoid.components[k].follow is None and part_of(g.monoid, k) is f.monoid:
                    found[f] = Reduce(g.monoid, g.indices, g.where, g.body, k)
    return found


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
