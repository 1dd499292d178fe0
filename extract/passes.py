"""Passes: a cascade of the e-graph as a fold of the language.

A cascade is executable only if everything it needs is at hand in one pass: its statistics are computed from folds over
the same indices and domain, nothing else in its body is a finished fold over them, and its numbers stay in range:
    exp of a follower is bounded by one (its argument is c·(g − max g), c > 0), and
    a sum that is carried by shifts is centred (its statistics are means) or of one sign (g − max g): nothing cancels.
Other cascades are true over the reals and are refused here, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    map_children,
    type_of,
    walk,
)
from tang_egg.monoid import ANY, MAX, MIN, SUM, Component, Follow, Monoid, cascade, is_constant, replace_state


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
    bound = set(indices)
    heads: Heads = []
    states: dict[Scalar, Scalar] = {}
    for s in walk(*statistics.values()):
        if isinstance(s, Reduce) and bound & set(s.indices):
            if s.where is not where or set(s.indices) != bound or not s.monoid.scalar or s.monoid.followers:
                return Refused("its statistic is not a plain fold over the same points")
            if any(isinstance(x, Reduce) and bound & set(x.indices) for b in s.body for x in walk(b)):
                return Refused("its statistic needs another finished pass")
            component = Component(f"h{len(heads)}", s.monoid.components[0].type)
            heads.append((component, s.monoid, s.body[0]))
            states[s] = StateRef("self", component.name, component.type)
    if not heads:
        return Refused("its statistic is not a fold over the same index")
    values = tuple(replaced(s, states) for s in statistics.values())
    if not all(_self_contained(v) for v in values):
        return Refused("its statistic mixes in values from outside the pass")
    followers = tuple(_numbered(f, {part: n for n, part in enumerate(statistics)}) for f in followers)
    followers = _unmoving(followers, heads, base)
    for f in followers:
        if any(isinstance(x, Reduce) and bound & set(x.indices) for x in walk(f.body)):
            return Refused("its body needs another finished pass")
        if not _self_contained(f.rebase):
            return Refused("its carry mixes in values from outside the pass")
        reason = "" if daring else _unsafe(f, values, heads)
        if reason:
            return Refused(reason)
    empty = _empty(heads)
    ordered = (*followers[1:], followers[0])
    components = tuple(Component(f.name, "real", (), Follow(values, f.rebase, empty, base)) for f in ordered)
    monoid = cascade("pass", tuple((c, m) for c, m, _ in heads), components)
    body = (*(b for _, _, b in heads), *(f.body for f in ordered))
    return Reduce(monoid, indices, where, body, len(body) - 1)


def _unmoving(followers: tuple[Follower, ...], heads: Heads, base: Monoid) -> tuple[Follower, ...]:
    """The followers that move with a statistic; the others become heads, or are one already."""
    renamed: dict[str, str] = {}
    kept = [followers[0]]
    for f in followers[1:]:
        if _mentions(f.body) or f.rebase is not StateRef("self", f.name):
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


def _empty(heads: Heads) -> Scalar:
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


def _unsafe(f: Follower, statistics: tuple[Scalar, ...], heads: Heads) -> str:
    """Why the numbers of a follower may leave their range or cancel, or nothing."""
    exponentials = [x for x in walk(f.body) if isinstance(x, Apply) and x.op == "exp" and _mentions(x.args[0])]
    for e in exponentials:
        if not _bounded(e.args[0], statistics, heads):
            return "an exponential is not bounded by its statistic"
    moved = any(isinstance(x, Apply) and x.op == "add" for x in walk(f.rebase) if _mentions_state(x))
    if moved and not all(_steady(x, statistics, heads) for x in _moving(f.body)):
        return "a sum that is carried by shifts is not centred"
    return ""


def _mentions(s: Scalar) -> bool:
    return any(isinstance(x, Statistic) for x in walk(s))


def _mentions_state(s: Scalar) -> bool:
    return any(isinstance(x, StateRef) for x in walk(s))


def _moving(body: Scalar) -> list[Scalar]:
    """The largest terms of a body, outside exponentials, that are linear in a statistic."""
    if not _mentions(body):
        return []
    if isinstance(body, Apply) and body.op == "exp":
        return []
    if isinstance(body, Statistic) or any(isinstance(x, Statistic) for x in linear(body)):
        return [body]
    return [x for c in children(body) for x in _moving(c)]


def _steady(term: Scalar, statistics: tuple[Scalar, ...], heads: Heads) -> bool:
    """Whether sums of products of such terms do not cancel when their statistic moves.

    They are centred (the statistic is a mean), or of one sign, and so is what the move adds.
    """
    mentioned = [x for x in walk(term) if isinstance(x, Statistic)]
    return _bounded(term, statistics, heads) or all(_is_mean(statistics[x.part], heads) for x in mentioned)


def _bounded(argument: Scalar, statistics: tuple[Scalar, ...], heads: Heads) -> bool:
    """Whether the argument is c·(g − max g), c > 0, the statistic being a multiple of max g: never above 0."""
    terms = linear(argument)
    moving = [x for x in terms if isinstance(x, Statistic)]
    if len(moving) != 1:
        return False
    factor = terms.pop(moving[0])
    parts = linear(statistics[moving[0].part])
    if len(parts) != 1:
        return False
    for component, monoid, body in heads:
        scale = factor * parts.get(StateRef("self", component.name, component.type), 0.0)
        if (monoid is MAX and scale < 0.0) or (monoid is MIN and scale > 0.0):
            return {k: -scale * v for k, v in linear(body).items()} == terms
    return False


def _is_mean(statistic: Scalar, heads: Heads) -> bool:
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
