"""Checks of one expression: scopes, types, folds, and that every read stays in bounds under its path conditions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from tang_egg import ops
from tang_egg.affine import Affine, Index, Inequality
from tang_egg.bounds import prove_nonnegative
from tang_egg.errors import GraphError
from tang_egg.ir import (
    Apply,
    Const,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Span,
    StateRef,
    Statistic,
    Tensor,
    Test,
    bottom_up,
    children,
    free,
    type_of,
    walk,
)
from tang_egg.monoid import Monoid

Alternatives: TypeAlias = "tuple[frozenset[Inequality], ...]"
"""A disjunction of conjunctions of affine conditions."""

ALWAYS: Alternatives = (frozenset(),)
MOST_ALTERNATIVES = 16
"""Beyond this many, conditions are forgotten: sound, but less is proved."""


def assumed(s: Scalar, truth: bool = True) -> Alternatives:
    """What affine conditions follow from `s` being `truth`, as alternatives of which one holds."""
    if isinstance(s, Test):
        return (frozenset({s.condition if truth else Inequality(-s.condition.form - 1)}),)
    if isinstance(s, Const):
        return ALWAYS if bool(s.value) is truth else ()
    if not isinstance(s, Apply):
        return ALWAYS
    if s.op == "not":
        return assumed(s.args[0], not truth)
    if s.op in ("and", "or"):
        sides = [assumed(a, truth) for a in s.args]
        if (s.op == "and") is truth:
            return both(*sides)
        return _limited((*sides[0], *sides[1]))
    forms = [_form(a) for a in s.args]
    if s.op in ("lt", "le", "eq") and None not in forms:
        a, b = forms  # type: Affine, Affine  # type: ignore[assignment]
        if s.op == "eq":
            return both(_holds(a <= b), _holds(b <= a)) if truth else (*_holds(a < b), *_holds(b < a))
        if s.op == "lt":
            return _holds(a < b) if truth else _holds(b <= a)
        return _holds(a <= b) if truth else _holds(b < a)
    return ALWAYS


def _form(s: Scalar) -> Affine | None:
    """The affine form that an integer expression is, or None."""
    if isinstance(s, Position):
        return s.form
    return Affine.of({(): int(s.value)}) if isinstance(s, Const) and s.type == "i64" else None


def _holds(condition: Inequality) -> Alternatives:
    return (frozenset({condition}),)


def both(a: Alternatives, b: Alternatives) -> Alternatives:
    """The conjunction of two disjunctions."""
    return _limited(tuple(dict.fromkeys(x | y for x, y in product(a, b))))


def _limited(found: Alternatives) -> Alternatives:
    return found if len(found) <= MOST_ALTERNATIVES else ALWAYS


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node stands: the indices in scope, the conditions on the way, and what else may be mentioned."""

    scope: frozenset[Index]
    path: Alternatives = ALWAYS
    monoid: Monoid | None = None  # inside a combine, identity or follower of it
    sides: frozenset[str] = frozenset()  # the states that may be mentioned
    statistics: frozenset[tuple[str, int]] = frozenset()  # which, and the part

    def under(self, condition: Scalar, truth: bool) -> _Place:
        found = assumed(condition, truth)
        return self if found == ALWAYS else replace(self, path=both(self.path, found))


class ScalarCheck:
    """Checks expressions against the declared inputs; `owner` says what they belong to, for messages."""

    def __init__(self, owner: str, inputs: Iterable[Input] | None, at: Span) -> None:
        self.owner = owner
        self.inputs = None if inputs is None else {i.name: i for i in inputs}
        self.at = at
        self.monoids: dict[Monoid, None] = {}
        self.seen: set[tuple[Scalar, _Place]] = set()

    def fail(self, what: str, mend: str, at: Span | None = None) -> GraphError:
        """The error to raise."""
        place = str(at or "") or str(self.at)
        return GraphError(what, where=f"{self.owner}, {place}" if place else self.owner, mend=mend)

    def run(
        self,
        root: Scalar,
        scope: Iterable[Index],
        monoid: Monoid | None = None,
        sides: Iterable[str] = (),
        statistics: Iterable[tuple[str, int]] = (),
    ) -> None:
        """Raises GraphError unless `root` is well formed where `scope` is bound. The monoids met are kept."""
        for s in walk(root):
            if isinstance(s, (Reduce, Scan)):
                self._parts(s)  # first, because types and free indices look up the parts
        self._types(root)
        place = _Place(frozenset(scope), ALWAYS, monoid, frozenset(sides), frozenset(statistics))
        for i in free(root):
            self._in_scope(i, place, None)
        stack = [(root, place)]
        while stack:
            s, place = stack.pop()
            if not _has_guarded_read(s):
                place = replace(place, path=ALWAYS)
            if (s, place) not in self.seen:
                self.seen.add((s, place))
                stack.extend(self._step(s, place))

    def _types(self, root: Scalar) -> None:
        try:
            type_of(root)
        except GraphError as error:
            raise self.fail(f"{error.what}: {error.where}", error.mend) from error

    def _in_scope(self, i: Index, place: _Place, at: Span | None) -> None:
        if i in place.scope:
            return
        twin = next((o for o in place.scope if o.name == i.name), None)
        if twin is not None:
            raise self.fail(
                f"two different indices are named '{i.name}': of sizes {twin.size} and {i.size}",
                "use one index object for one loop, or give them different names",
                at,
            )
        raise self.fail(
            f"index '{i.name}' is not in scope",
            f"make {i.name} an axis of the tensor, or fold over it",
            at,
        )

    def _step(self, s: Scalar, place: _Place) -> list[tuple[Scalar, _Place]]:
        """Checks one node; gives its operands with the places where they stand."""
        if isinstance(s, Const):
            self._const(s)
        elif isinstance(s, Position | Test):
            for i in free(s):
                self._in_scope(i, place, None)
        elif isinstance(s, Read):
            self._read(s, place)
        elif isinstance(s, (StateRef, Statistic)):
            self._state(s, place)
        elif isinstance(s, Apply):
            self._types(s)
            if s.op == "select":
                condition, a, b = s.args
                return [(condition, place), (a, place.under(condition, True)), (b, place.under(condition, False))]
        elif isinstance(s, Reduce):
            return self._reduce(s, place)
        elif isinstance(s, Scan):
            self._in_scope(s.index, place, s.at)
            self._fold(s)
            inner = self._bind(place, self._own_axes(s.monoid), s.at)
            return [(b, self._lift_place(s, k, inner)) for k, b in enumerate(s.body)]
        return [(c, place) for c in children(s)]

    def _const(self, s: Const) -> None:
        fits = {"real": isinstance(s.value, float), "bool": isinstance(s.value, bool)}.get(s.type)
        if fits is None and s.type in ops.INTEGERS and isinstance(s.value, int) and not isinstance(s.value, bool):
            bits, signed = int(s.type[1:]), s.type[0] == "i"
            low = -(2 ** (bits - 1)) if signed else 0
            fits = low <= s.value < low + 2**bits
        if not fits:
            raise self.fail(f"{s.value!r} is not a constant of type {s.type}", "give a value that the type has")

    def _read(self, s: Read, place: _Place) -> None:
        source = s.source
        kind = "tensor" if isinstance(source, Tensor) else "input"
        if place.monoid is not None:
            raise self.fail(
                f"monoid '{place.monoid.name}' reads {kind} '{source.name}'",
                "put what the fold needs into its lift: a combine sees two states only",
                s.at,
            )
        if isinstance(source, Input) and self.inputs is not None and self.inputs.get(source.name) is not source:
            known = source.name in self.inputs
            raise self.fail(
                f"input '{source.name}' is read, but declared otherwise"
                if known
                else f"input '{source.name}' is read, but is not among the graph's inputs",
                "list the very input that is read in the graph's inputs",
                s.at,
            )
        if len(s.coordinates) != len(source.shape):
            raise self.fail(
                f"'{source.name}' has {len(source.shape)} axes but is read at {len(s.coordinates)} coordinates",
                "give one coordinate for each axis",
                s.at,
            )
        for n, (c, size) in enumerate(zip(s.coordinates, source.shape, strict=True)):
            if isinstance(c, Scalar):
                if type_of(c) not in ops.INTEGERS:
                    raise self.fail(
                        f"axis {n} of '{source.name}' is gathered at a value of type {type_of(c)}",
                        "gather at integers: te.cast the index",
                        s.at,
                    )
                continue
            for i in c.indices():
                self._in_scope(i, place, s.at)
            self._bounds(c, size, f"axis {n} of {kind} '{source.name}'", place, s.at)

    def _bounds(self, c: Affine, size: Affine, what: str, place: _Place, at: Span | None) -> None:
        if in_bounds(c, size):
            return
        for given in place.path:
            conditions = sorted(given, key=repr)
            for form, side in ((c, "below"), (size - 1 - c, "above")):
                if not prove_nonnegative(form, conditions, place.scope):
                    under = f" where {' and '.join(map(repr, conditions))}" if conditions else ""
                    raise self.fail(
                        f"coordinate {c} may fall {side} {what}, of extent {size}{under}",
                        "guard the read with a select or a domain, or state facts of the dimensions that bound it",
                        at,
                    )

    def _state(self, s: StateRef | Statistic, place: _Place) -> None:
        if isinstance(s, Statistic):
            if (s.which, s.part) not in place.statistics:
                raise self.fail(
                    f"the statistic '{s.which}' means nothing here",
                    "mention it in the lift of a follower component ('at') or in its rebase ('from', 'to') only",
                )
            return
        if place.monoid is None or s.side not in place.sides:
            raise self.fail(
                f"the state '{s.side}.{s.component}' means nothing here",
                "refer to states inside a monoid's combine only",
            )
        component = place.monoid.components[place.monoid.position(s.component)]
        if component.type != s.type or len(component.axes) != len(s.coordinates):
            raise self.fail(
                f"component '{s.component}' of monoid '{place.monoid.name}' has type {component.type} and"
                f" {len(component.axes)} axes, not {s.type} and {len(s.coordinates)}",
                "refer to the component as it is declared",
            )
        for c, i in zip(s.coordinates, component.axes, strict=True):
            for j in c.indices():
                self._in_scope(j, place, None)
            self._bounds(c, i.size, f"axis {i.name} of component '{s.component}'", place, None)

    def _own_axes(self, monoid: Monoid) -> tuple[Index, ...]:
        return tuple(dict.fromkeys(i for c in monoid.components for i in c.axes))

    def _bind(self, place: _Place, indices: Iterable[Index], at: Span | None) -> _Place:
        """The place inside a fold. What was known of an index that is bound anew is forgotten."""
        names = {o.name: o for o in place.scope}
        new = tuple(indices)
        for i in new:
            if names.setdefault(i.name, i) is not i:
                raise self.fail(
                    f"two different indices are named '{i.name}': of sizes {names[i.name].size} and {i.size}",
                    "use one index object for one loop, or give them different names",
                    at,
                )
            if not prove_nonnegative(i.size):
                raise self.fail(
                    f"the size of index '{i.name}' may be negative: {i.size}",
                    "give its dimensions a lower limit, e.g. Dim('n', lo=2)",
                    at,
                )
        path = tuple(dict.fromkeys(frozenset(c for c in a if not c.indices() & set(new)) for a in place.path))
        return replace(place, scope=place.scope.union(new), path=path)

    def _reduce(self, s: Reduce, place: _Place) -> list[tuple[Scalar, _Place]]:
        self._fold(s)
        if len(set(s.indices)) < len(s.indices):
            raise self.fail("a fold binds one index twice", "list each index once", s.at)
        inner = self._bind(self._bind(place, self._own_axes(s.monoid), s.at), s.indices, s.at)
        for condition in s.where.affine:
            for i in condition.indices():
                self._in_scope(i, inner, s.at)
        reached = replace(inner, path=both(inner.path, (frozenset(s.where.affine),)))
        below = [(d, reached) for d in s.where.data]
        for d in s.where.data:
            self._types(d)
            if type_of(d) != "bool":
                raise self.fail(f"a condition of a domain has type {type_of(d)}", "compare: a domain needs bools", s.at)
        for d in s.where.data:
            reached = reached.under(d, True)
        return below + [(b, self._lift_place(s, k, reached)) for k, b in enumerate(s.body)]

    def _lift_place(self, s: Reduce | Scan, k: int, place: _Place) -> _Place:
        follow = s.monoid.components[k].follow
        if follow is None:
            return place
        return replace(place, statistics=frozenset(("at", part) for part in range(len(follow.statistics))))

    def _parts(self, s: Reduce | Scan) -> None:
        components = s.monoid.components
        if len(s.body) != len(components):
            raise self.fail(
                f"monoid '{s.monoid.name}' has {len(components)} components but the fold lifts {len(s.body)}",
                f"give one lift for each of: {', '.join(c.name for c in components)}",
                s.at,
            )
        if not 0 <= s.part < len(components):
            raise self.fail(
                f"a fold with monoid '{s.monoid.name}' has no part {s.part}",
                f"parts count from 0 to {len(components) - 1}",
                s.at,
            )

    def _fold(self, s: Reduce | Scan) -> None:
        self.monoids.setdefault(s.monoid)
        for component, body in zip(s.monoid.components, s.body, strict=True):
            self._types(body)
            if type_of(body) != component.type:
                raise self.fail(
                    f"the lift of component '{component.name}' of monoid '{s.monoid.name}' has type {type_of(body)},"
                    f" not {component.type}",
                    "convert it with te.cast, or use the monoid of that type",
                    s.at,
                )


@lru_cache(maxsize=1 << 16)
def in_bounds(coordinate: Affine, size: Affine) -> bool:
    """Whether a coordinate lies in an axis of `size` elements wherever its own indices are in range."""
    return prove_nonnegative(coordinate) and prove_nonnegative(size - 1 - coordinate, (), coordinate.indices())


@bottom_up(children)
def _has_guarded_read(s: Scalar) -> bool:
    """Whether some read below `s` needs a condition for its bounds; if none does, the path to `s` is of no interest."""
    if isinstance(s, StateRef):
        return bool(s.coordinates)
    if isinstance(s, Read) and len(s.coordinates) == len(s.source.shape):
        pairs = zip(s.coordinates, s.source.shape, strict=True)
        if any(isinstance(c, Affine) and not in_bounds(c, size) for c, size in pairs):
            return True
    return any(_has_guarded_read(c) for c in children(s))
