"""Relations between values that an interval for each alone would lose, read off the shape of expressions.

    g - max[j](g) <= 0, and its least values are those of the interval    (min likewise; scaled and shifted forms too)
    w * recip(sum[j](w)) in [0, 1] where w >= 0: a weight; the sum over j of weights times h lies in the hull of h
    sum[j](x) * recip(n) lies in the hull of x, n the number of points
    sum[j](exp(g - max[j](g))) >= 1 where j has points

Reads of tensors are opened (their bodies put in place) only along the sums and products at the top, so expressions
stay small. A fact about a fold is used at a point only where the point is proved to be one of the fold's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from tang_egg.affine import Index, Inequality
from tang_egg.bounds import interval, prove_nonnegative
from tang_egg.errors import GraphError
from tang_egg.interpret_fold import ufunc_of
from tang_egg.ir import (
    Apply,
    Const,
    Domain,
    Position,
    Read,
    Reduce,
    Scalar,
    StateRef,
    Statistic,
    Tensor,
    Test,
    bottom_up,
    children,
    const,
    free,
    map_children,
    type_of,
    walk,
)
from tang_egg.monoid import BUILT_IN, MAX, MIN, SUM, Component, Monoid, replace_state, state_of
from tang_egg.rewrite import inline, substitute

OPENED = 6
"""How many reads in a row are opened."""
MOST_TERMS = 32
ONE = const(1.0)


def opened(s: Scalar, depth: int = OPENED) -> Scalar:
    """The body behind reads of tensors, or `s` itself where there is nothing to open."""
    while depth > 0 and isinstance(s, Read) and isinstance(s.source, Tensor):
        if any(isinstance(c, Scalar) for c in s.coordinates):
            break
        try:
            s = settled(inline(s))
        except GraphError:
            break
        depth -= 1
    return s


@bottom_up(children)
def settled(s: Scalar) -> Scalar:
    """An expression with every component of a fold that can be written as a fold of its own written so.

    A follower becomes the fold of its body at the last statistics, which is what it stands for.
    """
    if isinstance(s, (Read, Const)) and not children(s):
        return s
    made = map_children(s, settled)
    return alone(made) or made if isinstance(made, Reduce) else made


def alone(s: Reduce) -> Reduce | None:
    """Component `s.part` as a fold of its own, or None where others are needed for it."""
    monoid, component = s.monoid, s.monoid.components[s.part]
    if monoid.scalar or component.axes:
        return None
    if component.follow is None:
        own = None if ufunc_of(monoid, s.part) is None else _component(monoid, s.part)
        return None if own is None else Reduce(own, s.indices, s.where, (s.body[s.part],))
    body = s.body[s.part]
    if not any(isinstance(x, Statistic) for x in walk(body)):
        return None
    values: dict[str, Scalar] = {}
    for name in {x.component for m in component.follow.statistics for x in walk(m) if isinstance(x, StateRef)}:
        head = alone(Reduce(monoid, s.indices, s.where, s.body, monoid.position(name)))
        if head is None:
            return None
        values[name] = head
    last = tuple(state_of(m, values) for m in component.follow.statistics)
    body = replace_state(body, lambda x: last[x.part] if isinstance(x, Statistic) else None)
    return Reduce(component.follow.base, s.indices, s.where, (body,))


def _component(monoid: Monoid, k: int) -> Monoid:
    """Component k as a monoid; the built-in one where it is that."""
    component = monoid.components[k]
    combine = replace_state(
        monoid.combine[k], lambda x: StateRef(x.side, "value", x.type) if isinstance(x, StateRef) else None
    )
    for known in BUILT_IN.values():
        if known.scalar and known.combine == (combine,) and known.identity == (monoid.identity[k],):
            return known
    return Monoid(component.name, (Component("value", component.type),), (combine,), (monoid.identity[k],))


def terms(s: Scalar, depth: int = OPENED) -> dict[Scalar, float]:
    """A real expression as a sum of terms with constant factors; the key ONE holds the constant part."""
    total: dict[Scalar, float] = {}
    stack: list[tuple[Scalar, float, int]] = [(s, 1.0, depth)]
    while stack:
        x, factor, left = stack.pop()
        if isinstance(x, Const):
            total[ONE] = total.get(ONE, 0.0) + factor * float(x.value)
        elif isinstance(x, Apply) and x.op == "add":
            stack += [(a, factor, left) for a in x.args]
        elif isinstance(x, Apply) and x.op == "neg":
            stack.append((x.args[0], -factor, left))
        elif isinstance(x, Apply) and x.op == "mul" and any(isinstance(a, Const) for a in x.args):
            c, y = x.args if isinstance(x.args[0], Const) else x.args[::-1]
            assert isinstance(c, Const)
            stack.append((y, factor * float(c.value), left))
        elif left > 0 and (inner := opened(x, 1)) is not x and _sums(inner):
            stack.append((inner, factor, left - 1))
        else:
            total[x] = total.get(x, 0.0) + factor
        if len(total) > MOST_TERMS:
            return {s: 1.0}
    return {k: v for k, v in total.items() if v != 0.0}


def _sums(s: Scalar) -> bool:
    """Whether a body is worth opening: a sum, a multiple, an extremum, or another read."""
    if isinstance(s, Apply):
        return s.op in ("add", "neg") or (s.op == "mul" and any(isinstance(a, Const) for a in s.args))
    return isinstance(s, (Read, Const)) or (isinstance(s, Reduce) and s.monoid in (MAX, MIN))


def factors(s: Scalar, depth: int = OPENED) -> Counter[Scalar]:
    """A real expression as a product of factors; -1 stands for a negation."""
    found: Counter[Scalar] = Counter()
    stack = [(s, depth)]
    while stack:
        x, left = stack.pop()
        if isinstance(x, Apply) and x.op == "mul":
            stack += [(a, left) for a in x.args]
        elif isinstance(x, Apply) and x.op == "neg":
            found[const(-1.0)] += 1
            stack.append((x.args[0], left))
        elif left > 0 and (inner := opened(x, 1)) is not x and _multiplies(inner):
            stack.append((inner, left - 1))
        else:
            found[x] += 1
        if len(found) > MOST_TERMS:
            return Counter({s: 1})
    return found


def _multiplies(s: Scalar) -> bool:
    return isinstance(s, Read) or (isinstance(s, Apply) and s.op in ("mul", "neg", "exp", "recip"))


@dataclass(frozen=True, slots=True)
class Gap:
    """A part of a sum that is `scale` · (g - extremum of g over `points`), and what remains of the sum."""

    scale: float
    body: Scalar
    fold: Reduce
    rest: dict[Scalar, float]
    points: frozenset[Index]


def gaps(parts: Mapping[Scalar, float], given: frozenset[Scalar], depth: int) -> Iterator[Gap]:
    """Every term of a sum that is an extremum of other terms of it, at a point of the extremum's fold.

    `depth`: how many reads in a row were opened to find the terms.
    """
    here = frozenset(i for x in parts for i in free(x))
    for x, factor in parts.items():
        fold = opened(x)
        if not (isinstance(fold, Reduce) and fold.monoid in (MAX, MIN)):
            continue
        for mapping in _places(fold, here):
            body = _moved(fold.body[0], mapping)
            if body is None:
                continue
            inner = terms(body, depth)
            rest = {k: v for k, v in parts.items() if k is not x}
            for k, v in inner.items():
                if k is not ONE and _close(rest.get(k), -factor * v):
                    del rest[k]
                elif k is ONE:
                    rest[ONE] = rest.get(ONE, 0.0) + factor * v
                else:
                    break
            else:
                if any(k is not ONE for k in inner) and holds(fold.where, mapping, given):
                    kept = {k: v for k, v in rest.items() if v != 0.0}
                    yield Gap(-factor, body, fold, kept, frozenset(mapping.values()))


def _close(a: float | None, b: float) -> bool:
    return a is not None and a == b


def _places(fold: Reduce, here: frozenset[Index]) -> Iterator[dict[Index, Index]]:
    """Ways to set the indices of a fold to indices at hand of the same sizes."""
    count = len(fold.indices)
    if count > 3:
        return
    candidates = sorted((i for i in here if any(i.size is f.size for f in fold.indices)), key=lambda i: i.name)
    for tried, chosen in enumerate(permutations(candidates, count)):
        if tried > 64:
            return
        if all(i.size is f.size for i, f in zip(chosen, fold.indices, strict=True)):
            yield dict(zip(fold.indices, chosen, strict=True))


def _moved(s: Scalar, mapping: Mapping[Index, Index]) -> Scalar | None:
    """`s` at other indices, or None where it cannot be read there (a scan at a computed position)."""
    try:
        return substitute(s, mapping)
    except GraphError:
        return None


def holds(where: Domain, mapping: Mapping[Index, Index], given: frozenset[Scalar]) -> bool:
    """Whether the conditions of a domain hold, its indices mapped, wherever the given ones do."""
    known: list[Inequality] = [g.condition for g in given if isinstance(g, Test)]
    changed = dict(mapping)
    for c in where.affine:
        form = c.form.substitute(changed)  # type: ignore[arg-type]
        if not prove_nonnegative(form, known):
            return False
    return all(_moved(d, mapping) in given for d in where.data)


@dataclass(frozen=True, slots=True)
class Weight:
    """Factors of a product that are w · recip(Σ w), w not negative, and the factors that remain."""

    body: Scalar
    fold: Reduce
    mapping: dict[Index, Index]
    rest: Counter[Scalar]


def weights(parts: Counter[Scalar], given: frozenset[Scalar]) -> Iterator[Weight]:
    """Every reciprocal of a sum among some factors, with the summed term among them too. Signs are not looked at."""
    here = frozenset(i for x in parts for i in free(x))
    for x in parts:
        if not (isinstance(x, Apply) and x.op == "recip"):
            continue
        fold = opened(x.args[0])
        if not (isinstance(fold, Reduce) and fold.monoid is SUM):
            continue
        for mapping in _places(fold, here):
            body = _moved(fold.body[0], mapping)
            if body is None:
                continue
            inner = factors(body)
            left = Counter({_key(k): n for k, n in parts.items()})
            left[_key(x)] -= 1
            wanted = Counter({_key(k): n for k, n in inner.items()})
            if all(left[k] >= n for k, n in wanted.items()) and holds(fold.where, mapping, given):
                left.subtract(wanted)
                yield Weight(body, fold, mapping, Counter({k: left[_key(k)] for k in parts if left[_key(k)] > 0}))


def _key(s: Scalar) -> object:
    """What equal factors share: the terms of an exponent in any order."""
    return frozenset(terms(s.args[0]).items()) if isinstance(s, Apply) and s.op == "exp" else s


@dataclass(frozen=True, slots=True)
class Mean:
    """Factors that are Σ x · recip(n), n the number of all points of the sum, and the factors that remain."""

    fold: Reduce
    rest: Counter[Scalar]


def means(parts: Counter[Scalar]) -> Iterator[Mean]:
    """Every mean among some factors."""
    for x in parts:
        fold = opened(x)
        if not (isinstance(fold, Reduce) and fold.monoid is SUM and type_of(fold) == "real"):
            continue
        for y in parts:
            if _one_over(y, fold):
                left = Counter(parts)
                left[x] -= 1
                left[y] -= 1
                yield Mean(fold, Counter({k: n for k, n in left.items() if n > 0}))


def _one_over(y: Scalar, fold: Reduce) -> bool:
    """Whether a factor is one over the number of points of the box of a fold, or less."""
    sizes = [i.size.value for i in fold.indices]
    if isinstance(y, Const):
        points = 1
        for n in sizes:
            if n is None:
                return False
            points *= n
        return bool(points) and 0.0 <= float(y.value) <= 1.0 / points
    if not (isinstance(y, Apply) and y.op == "recip"):
        return False
    count = opened(y.args[0])
    if isinstance(count, Const):
        return None not in sizes and float(count.value) >= _product(sizes)
    if isinstance(count, Reduce) and count.monoid is SUM and count.body[0] is ONE:
        return set(count.indices) == set(fold.indices) and count.where is fold.where
    if isinstance(count, Apply) and count.op == "cast:real" and isinstance(count.args[0], Position):
        return len(fold.indices) == 1 and count.args[0].form is fold.indices[0].size
    return False


def _product(sizes: Sequence[int | None]) -> int:
    total = 1
    for n in sizes:
        total *= n or 0
    return total


def points(indices: Sequence[Index]) -> tuple[int, int | None]:
    """The least and the largest number of points of a box of indices; None: no limit."""
    low, high = 1, 1  # type: int, int | None
    for i in indices:
        a, b = interval(i.size)
        low *= max(a or 0, 0)
        high = None if high is None or b is None else high * max(b, 0)
    return low, high
