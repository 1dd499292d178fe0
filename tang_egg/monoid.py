"""Monoids: what a fold combines.

A state has named components, each with a scalar type and possibly axes of its own. `combine` gives each component of
the combined state as an expression over `StateRef("left", ...)` and `StateRef("right", ...)`; the left state is the one
of earlier points. `identity` is a real identity: combined with any state that folds can reach, on either side, it gives
that state back.

Cascade monoids (rules/cascade.py) are derived ones. Their first components are the *head*: ordinary folds from whose
state `statistics` are computed. A *follower* component accumulates a term that mentions the statistics of everything
folded so far. Its lift in `Reduce.body` mentions `Statistic("at")`, the statistic of the element alone (or, in a tile,
of the whole state that the tile is added to: that is what makes streaming cheap). When a statistic of a state moves
from `Statistic("from")` to `Statistic("to")`, the follower's value changes by `rebase`, an expression over
`StateRef("self", ...)` and those two. Where there are several statistics, `Statistic.part` counts them. A state whose
statistics mean nothing yet (`empty` holds) contributes nothing. The statistics of a follower may mention followers
before it: it then follows those, the combined ones included.

    combined follower = carry(left) + carry(right)
    carry(P) = P.f                    if the statistics of P equal the combined ones (nothing comes from inf - inf)
             = identity               if empty(P)
             = rebase(P, from, to)    otherwise
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce

from tang_egg.affine import Affine, Index, affine
from tang_egg.errors import GraphError
from tang_egg.ir import (
    EVERYWHERE,
    Const,
    Position,
    Reduce,
    Scalar,
    Scan,
    StateRef,
    Statistic,
    apply,
    bottom_up,
    children,
    const,
    map_children,
    walk,
)
from tang_egg.node import Node, node


@node
class Follow(Node):
    """How a follower component moves with its statistics (see the module text)."""

    statistics: tuple[Scalar, ...]
    rebase: Scalar
    empty: Scalar
    base: Monoid


@node
class Component(Node):
    """A named part of a state: scalar type, own axes, and for followers how they move."""

    name: str
    type: str = "real"
    axes: tuple[Index, ...] = ()
    follow: Follow | None = None


@node
class Monoid(Node):
    """See the module text. `properties` ⊆ {"commutative", "idempotent", "invertible"}; associativity is required."""

    name: str
    components: tuple[Component, ...]
    combine: tuple[Scalar, ...]
    identity: tuple[Scalar, ...]
    properties: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Monoid({self.name})"

    @property
    def commutative(self) -> bool:
        """Whether the order of points does not matter."""
        return "commutative" in self.properties

    @property
    def scalar(self) -> bool:
        """One component without axes of its own."""
        return len(self.components) == 1 and not self.components[0].axes

    @property
    def followers(self) -> tuple[int, ...]:
        """Positions of the follower components."""
        return tuple(k for k, c in enumerate(self.components) if c.follow is not None)

    def position(self, component: str) -> int:
        """The position of a component. Raises GraphError for an unknown name."""
        for k, c in enumerate(self.components):
            if c.name == component:
                return k
        raise GraphError(
            f"monoid '{self.name}' has no component '{component}'",
            where="a part of a fold",
            mend=f"its components are: {', '.join(c.name for c in self.components)}",
        )

    def needs(self, part: int) -> frozenset[int]:
        """The positions of the components whose lifts component `part` of a fold depends on, itself included."""
        return _needs(self, part)

    def map(self, index: Callable[[Index], Index], scalar: Callable[[Scalar], Scalar]) -> Monoid:
        """This monoid with its axes and expressions rebuilt (used when dims are bound)."""

        def follow(f: Follow | None) -> Follow | None:
            if f is None:
                return None
            statistics = tuple(scalar(s) for s in f.statistics)
            return Follow(statistics, scalar(f.rebase), scalar(f.empty), f.base.map(index, scalar))

        components = tuple(
            Component(c.name, c.type, tuple(index(i) for i in c.axes), follow(c.follow)) for c in self.components
        )
        combine = tuple(scalar(s) for s in self.combine)
        return Monoid(self.name, components, combine, tuple(scalar(s) for s in self.identity), self.properties)


@lru_cache(maxsize=1 << 14)
def _needs(monoid: Monoid, part: int) -> frozenset[int]:
    found, stack = {part}, [part]
    while stack:
        k = stack.pop()
        follow = monoid.components[k].follow
        below = walk(monoid.combine[k], *(() if follow is None else follow.statistics))
        for ref in {s.component for s in below if isinstance(s, StateRef)}:
            position = monoid.position(ref)
            if position not in found:
                found.add(position)
                stack.append(position)
    return frozenset(found)


def product(name: str, *factors: Monoid) -> Monoid:
    """The monoid of tuples: factor n's component c becomes `{n}.c`, and nothing mixes."""
    components: list[Component] = []
    combine: list[Scalar] = []
    identity: list[Scalar] = []
    properties = frozenset.intersection(*(m.properties for m in factors))
    for n, factor in enumerate(factors):

        def renamed(x: Scalar, n: int = n) -> Scalar | None:
            return StateRef(x.side, f"{n}.{x.component}", x.type, x.coordinates) if isinstance(x, StateRef) else None

        for c, combined in zip(factor.components, factor.combine, strict=True):
            follow = c.follow
            if follow is not None:
                *statistics, rebase, empty = (
                    replace_state(s, renamed) for s in (*follow.statistics, follow.rebase, follow.empty)
                )
                follow = Follow(tuple(statistics), rebase, empty, follow.base)
            components.append(Component(f"{n}.{c.name}", c.type, c.axes, follow))
            combine.append(replace_state(combined, renamed))
        identity += factor.identity
    return Monoid(name, tuple(components), tuple(combine), tuple(identity), properties)


def replace_state(s: Scalar, replace: Callable[[Scalar], Scalar | None]) -> Scalar:
    """`s` with StateRef and Statistic nodes replaced where `replace` gives something."""
    done: dict[Scalar, Scalar] = {}

    def run(x: Scalar) -> Scalar:
        if not _over_state(x):
            return x
        if x not in done:
            changed = replace(x) if isinstance(x, (StateRef, Statistic)) else None
            done[x] = changed if changed is not None else map_children(x, run)
        return done[x]

    return run(s)


@bottom_up(children)
def _over_state(s: Scalar) -> bool:
    """Whether an expression mentions a state."""
    return isinstance(s, (StateRef, Statistic)) or any(_over_state(c) for c in children(s))


def state_of(expression: Scalar, values: dict[str, Scalar]) -> Scalar:
    """An expression over StateRef("self", name) with the components' values put in."""
    return replace_state(expression, lambda x: values.get(x.component) if isinstance(x, StateRef) else None)


def lifts(fold: Reduce | Scan) -> tuple[Scalar, ...]:
    """The state of one element: `body` with each follower's Statistic("at") replaced by the element's own."""
    values: dict[str, Scalar] = {}
    lifted: list[Scalar] = []
    for component, body in zip(fold.monoid.components, fold.body, strict=True):
        if component.follow is not None:
            own = tuple(state_of(s, values) for s in component.follow.statistics)
            body = replace_state(body, lambda x, at=own: at[x.part] if isinstance(x, Statistic) else None)  # type: ignore[misc]
        values[component.name] = body
        lifted.append(body)
    return tuple(lifted)


def cascade(name: str, head: tuple[tuple[Component, Monoid], ...], followers: tuple[Component, ...]) -> Monoid:
    """The product of scalar head monoids with followers of their state, each follower folded under its `base`.

    A follower's statistics may mention heads, and followers before it.
    """
    left = {c.name: StateRef("left", c.name, c.type) for c, _ in head}
    right = {c.name: StateRef("right", c.name, c.type) for c, _ in head}
    new: dict[str, Scalar] = {}
    identity: list[Scalar] = []
    for component, monoid in head:
        new[component.name] = replace_state(
            monoid.combine[0],
            lambda x, n=component.name: (left if x.side == "left" else right)[n] if isinstance(x, StateRef) else None,  # type: ignore[misc]
        )
        identity.append(monoid.identity[0])
    combine: list[Scalar] = list(new.values())
    for component in followers:
        follow = component.follow
        assert follow is not None
        to = tuple(state_of(s, new) for s in follow.statistics)
        carried = [_carry(component, follow, side, to) for side in ("left", "right")]
        base = follow.base
        new[component.name] = replace_state(
            base.combine[0],
            lambda x, c=carried: c[0 if x.side == "left" else 1] if isinstance(x, StateRef) else None,  # type: ignore[misc]
        )
        combine.append(new[component.name])
        identity.append(base.identity[0])
    components = (*(c for c, _ in head), *followers)
    commutes = all(m.commutative for _, m in head) and all(c.follow and c.follow.base.commutative for c in followers)
    properties = frozenset({"commutative"}) if commutes else frozenset()
    return Monoid(name, components, tuple(combine), tuple(identity), properties)


def _carry(component: Component, follow: Follow, side: str, to: tuple[Scalar, ...]) -> Scalar:
    def of_side(x: Scalar) -> Scalar | None:
        return StateRef(side, x.component, x.type, x.coordinates) if isinstance(x, StateRef) else None

    start = tuple(replace_state(s, of_side) for s in follow.statistics)

    def rebased(x: Scalar) -> Scalar | None:
        if isinstance(x, Statistic):
            return (to if x.which == "to" else start)[x.part]
        return of_side(x)

    moved = replace_state(follow.rebase, rebased)
    empty = replace_state(follow.empty, of_side)
    own = StateRef(side, component.name, component.type)
    kept = apply("select", empty, follow.base.identity[0], moved)
    return apply("select", unmoved(start, to), own, kept)


def unmoved(start: Sequence[Scalar], to: Sequence[Scalar]) -> Scalar:
    """Whether all statistics are what they were."""
    equal = [apply("eq", a, b) for a, b in zip(start, to, strict=True)]
    return reduce(lambda a, b: apply("and", a, b), equal)


def _simple(name: str, op: str, identity: float | int | bool, type: str, *properties: str) -> Monoid:
    component = Component("value", type)
    combine = apply(op, StateRef("left", "value", type), StateRef("right", "value", type))
    return Monoid(name, (component,), (combine,), (const(identity, type),), frozenset(properties))


_LIMITS = {t: (-(2 ** (int(t[1:]) - 1)), 2 ** (int(t[1:]) - 1) - 1) for t in ("i8", "i16", "i32", "i64")} | {
    t: (0, 2 ** int(t[1:]) - 1) for t in ("u8", "u16", "u32", "u64")
}


def lowest(type: str) -> float | int:
    """The identity of max: -inf for reals, the smallest machine integer otherwise."""
    return float("-inf") if type == "real" else _LIMITS[type][0]


def highest(type: str) -> float | int:
    """The identity of min: inf for reals, the largest machine integer otherwise."""
    return float("inf") if type == "real" else _LIMITS[type][1]


def sum_of(type: str = "real") -> Monoid:
    """Addition, with identity 0."""
    return _simple("sum", "add", 0, type, "commutative", "invertible")


def product_of(type: str = "real") -> Monoid:
    """Multiplication, with identity 1."""
    return _simple("product", "mul", 1, type, "commutative")


def max_of(type: str = "real") -> Monoid:
    """The larger of two, with the identity `lowest(type)`."""
    return _simple("max", "max", lowest(type), type, "commutative", "idempotent")


def min_of(type: str = "real") -> Monoid:
    """The smaller of two, with the identity `highest(type)`."""
    return _simple("min", "min", highest(type), type, "commutative", "idempotent")


SUM, PRODUCT, MAX, MIN = sum_of(), product_of(), max_of(), min_of()
ANY = _simple("any", "or", False, "bool", "commutative", "idempotent")
ALL = _simple("all", "and", True, "bool", "commutative", "idempotent")


def _best(name: str, type: str, better: Callable[[Scalar, Scalar], Scalar], worst: float | int) -> Monoid:
    """Value and position of the best element; ties and NaN go to the smaller position, as in NumPy."""
    lv, rv = StateRef("left", "value", type), StateRef("right", "value", type)
    li, ri = StateRef("left", "position", "i64"), StateRef("right", "position", "i64")
    same = apply("eq", lv, rv)
    left_nan, right_nan = (apply("not", apply("eq", v, v)) for v in (lv, rv))
    earlier = apply("le", li, ri)
    # left wins: it is NaN and right is not, or it is better, or neither is better and it stands earlier
    left_first = apply(
        "or",
        apply("and", left_nan, apply("or", apply("not", right_nan), earlier)),
        apply("and", apply("not", right_nan), apply("or", better(lv, rv), apply("and", same, earlier))),
    )
    combine = (apply("select", left_first, lv, rv), apply("select", left_first, li, ri))
    components = (Component("value", type), Component("position", "i64"))
    identity = (const(worst, type), const(2**63 - 1, "i64"))
    return Monoid(name, components, combine, identity, frozenset({"commutative", "idempotent"}))


def argmax_of(type: str = "real") -> Monoid:
    """The largest value and its position (components value, position); ties go to the smaller position."""
    return _best("argmax", type, lambda a, b: apply("lt", b, a), lowest(type))


def argmin_of(type: str = "real") -> Monoid:
    """The smallest value and its position (components value, position); ties go to the smaller position."""
    return _best("argmin", type, lambda a, b: apply("lt", a, b), highest(type))


def _left(name: str, type: str = "real", *at: Affine) -> StateRef:
    return StateRef("left", name, type, at)


def _right(name: str, type: str = "real", *at: Affine) -> StateRef:
    return StateRef("right", name, type, at)


def _logsumexp() -> Monoid:
    """State (m, l): m the maximum, l = Σ exp(x - m). Lift (x, 1), or (-inf, 0) for x = -inf. Value m + log l."""
    maximum = Component("m")
    m = StateRef("self", "m")
    rescaled = apply("mul", StateRef("self", "l"), apply("exp", _minus(Statistic("from"), Statistic("to"))))
    follow = Follow((m,), rescaled, apply("eq", m, const(float("-inf"))), SUM)
    return cascade("logsumexp", ((maximum, MAX),), (Component("l", "real", (), follow),))


def _minus(a: Scalar, b: Scalar) -> Scalar:
    return apply("add", a, apply("neg", b))


def _mean_variance() -> Monoid:
    """State (n, mean, m2): count, mean and Σ (x - mean)². Lift (1, x, 0). (Chan, Golub and LeVeque 1983.)"""
    n = apply("add", _left("n"), _right("n"))
    empty = apply("eq", n, const(0.0))
    share = apply("select", empty, const(0.0), apply("mul", _right("n"), apply("recip", n)))
    delta = _minus(_right("mean"), _left("mean"))
    mean = apply("add", _left("mean"), apply("mul", delta, share))
    # in this order, a count of 0 on the left makes it 0 for every finite delta, also where delta² is beyond the largest
    cross = apply("mul", apply("mul", delta, _left("n")), apply("mul", delta, share))
    m2 = apply("add", apply("add", _left("m2"), _right("m2")), cross)
    components = (Component("n"), Component("mean"), Component("m2"))
    return Monoid("mean_variance", components, (n, mean, m2), (const(0.0),) * 3, frozenset({"commutative"}))


LOGSUMEXP, MEAN_VARIANCE = _logsumexp(), _mean_variance()


def _affine_map() -> Monoid:
    """Maps x ↦ a·x + b, composed: the right one is applied after the left one. Not commutative."""
    a = apply("mul", _right("a"), _left("a"))
    b = apply("add", apply("mul", _right("a"), _left("b")), _right("b"))
    return Monoid("affine", (Component("a"), Component("b")), (a, b), (const(1.0), const(0.0)))


AFFINE = _affine_map()


def affine_matrix(n: int) -> Monoid:
    """Maps x ↦ A·x + b on vectors of length `n`: components a[i, j] and b[i]; the right one acts last."""
    i, j, k = (Index(name, affine(n)) for name in ("row", "column", "inner"))
    fi, fj, fk = affine(i), affine(j), affine(k)
    a = Reduce(SUM, (k,), EVERYWHERE, (apply("mul", _right("a", "real", fi, fk), _left("a", "real", fk, fj)),))
    shifted = Reduce(SUM, (k,), EVERYWHERE, (apply("mul", _right("a", "real", fi, fk), _left("b", "real", fk)),))
    unit = apply("select", apply("eq", Position(fi), Position(fj)), const(1.0), const(0.0))
    components = (Component("a", "real", (i, j)), Component("b", "real", (i,)))
    combine: tuple[Scalar, ...] = (a, apply("add", shifted, _right("b", "real", fi)))
    return Monoid(f"affine_matrix[{n}]", components, combine, (unit, const(0.0)))


def optional(monoid: Monoid) -> Monoid:
    """`monoid` with an adjoined empty state: a component "live" says whether a value is there; empty ∘ x = x.

    For semigroups without a neutral value of their own. Lift with "live" = true; read "live" before the rest.
    """
    left, right = StateRef("left", "live", "bool"), StateRef("right", "live", "bool")
    both = apply("and", left, right)
    combine: list[Scalar] = []
    for component, combined in zip(monoid.components, monoid.combine, strict=True):
        at = tuple(affine(i) for i in component.axes)
        lone = apply(
            "select",
            left,
            StateRef("left", component.name, component.type, at),
            StateRef("right", component.name, component.type, at),
        )
        combine.append(apply("select", both, combined, lone))
    combine.append(apply("or", left, right))
    components = (*monoid.components, Component("live", "bool"))
    identity = (*(const(0, c.type) for c in monoid.components), const(False))
    properties = monoid.properties & {"commutative", "idempotent"}
    return Monoid(f"optional[{monoid.name}]", components, tuple(combine), identity, properties)


BUILT_IN: dict[str, Monoid] = {
    m.name: m for m in (SUM, PRODUCT, MAX, MIN, ANY, ALL, argmax_of(), argmin_of(), LOGSUMEXP, MEAN_VARIANCE, AFFINE)
}


def is_constant(s: Scalar, value: float) -> bool:
    """Whether `s` is the constant `value`."""
    return isinstance(s, Const) and not isinstance(s.value, bool) and s.value == value
