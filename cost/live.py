"""Which points of a graph must be evaluated: every subterm with the conditions under which it surely is.

    reached(outputs) ──→ (subterm, conditions) pairs; None in place of conditions where nobody can be sure
    points(indices, conditions) ──→ how many values some indices take while others may be anything that fits

Everything is on the low side: what depends on data, and what has more points than can be counted, counts as never.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tang_egg.affine import Affine, AffineLike, Atom, Index, Inequality
from tang_egg.ir import Apply, Read, Reduce, Scalar, Scan, Tensor, Test, children

Conditions: TypeAlias = "frozenset[Inequality] | None"

MOST_LINES = 1 << 22
"""Points of all indices but one over which conditions are looked at."""
MOST_CONTEXTS = 32
"""Different conditions under which a subterm is followed; what comes beyond only makes counts lower."""
ALWAYS: frozenset[Inequality] = frozenset()


def reached(outputs: Iterable[Tensor], through: bool = True) -> dict[Scalar, set[Conditions]]:
    """Every subterm of some tensors, with the conditions that lead to it; `through`: of those that they read too."""
    found: dict[Scalar, set[Conditions]] = {}
    stack: list[tuple[Scalar, Conditions]] = [(t.body, ALWAYS) for t in outputs]
    while stack:
        s, conditions = stack.pop()
        known = found.setdefault(s, set())
        if conditions in known or len(known) >= MOST_CONTEXTS:
            continue
        known.add(conditions)
        stack += _below(s, conditions, through)
    return found


def _below(s: Scalar, conditions: Conditions, through: bool) -> list[tuple[Scalar, Conditions]]:
    """The operands of a term, and the tensor that it reads, each with what must hold for it to be evaluated."""
    if through and isinstance(s, Read) and isinstance(s.source, Tensor):
        own = _through(s, s.source, conditions)
        return [(s.source.body, own), *((c, conditions) for c in children(s))]
    if isinstance(s, Apply) and s.op == "select":
        condition, first, second = s.args
        if conditions is None or not isinstance(condition, Test):
            return [(condition, conditions), (first, None), (second, None)]
        other = Inequality(-condition.condition.form - 1)
        return [
            (condition, conditions), (first, conditions | {condition.condition}), (second, conditions | {other}),
        ]  # fmt: skip
    if isinstance(s, (Reduce, Scan)):
        inside = within(s, conditions)
        bodies = [(b, inside) for b in s.body]
        return bodies + ([(d, conditions) for d in s.where.data] if isinstance(s, Reduce) else [])
    return [(c, conditions) for c in children(s)]


def within(s: Reduce | Scan, conditions: Conditions) -> Conditions:
    """The conditions under which the body of a fold is evaluated; of a scan, for every value of its index."""
    if conditions is None:
        return None
    bound = set(s.indices) if isinstance(s, Reduce) else {s.index}
    if any(c.indices() & bound for c in conditions):
        return None  # the same index outside and inside: which one a condition means is lost
    if isinstance(s, Scan):
        return conditions
    return None if s.where.data else conditions | set(s.where.affine)


def _through(read: Read, source: Tensor, conditions: Conditions) -> Conditions:
    """What must hold for the axes of a tensor where a plain read of it leads there; None where it is no plain read."""
    if conditions is None:
        return None
    axes: dict[Atom, AffineLike] = {}
    for axis, at in zip(source.axes, read.coordinates, strict=True):
        if axis.size.value == 1:
            continue
        single = at.single() if isinstance(at, Affine) else None
        if single is None or single in axes or single.size != axis.size:
            return None
        axes[single] = axis
    if any(not c.indices() <= axes.keys() for c in conditions):
        return None
    return frozenset(c.substitute(axes) for c in conditions)


def points(over: Iterable[Index], conditions: Conditions) -> float:
    """Values of the indices `over` for which all conditions can hold; exact, or 0 where that is not known.

    One index that conditions mention beside `over` may take any value that fits; more of them count as not known.
    All sizes are numbers.
    """
    if conditions is None:
        return 0.0
    wanted = frozenset(over)
    involved = frozenset(i for c in conditions for i in c.indices())
    rest = volume(wanted - involved)
    if not involved:
        return rest if all(_value(c.form) >= 0 for c in conditions) else 0.0
    outside = involved - wanted
    if len(outside) > 1:
        return 0.0
    ordered = sorted(involved, key=lambda i: (_size(i), i.name))
    last = next(iter(outside), ordered[-1])
    outer = [i for i in ordered if i != last]
    if prod(_size(i) for i in outer) > MOST_LINES:
        return 0.0
    low, high = _interval(outer, last, conditions)
    return rest * float((high >= low).sum() if outside else np.maximum(high - low + 1, 0).sum())


def _interval(outer: list[Index], last: Index, conditions: Iterable[Inequality]) -> tuple[Any, Any]:
    """The least and the largest value of `last` that fits, for every value of the outer indices."""
    # floor_count does the same for dims of a fold, which are names with factors that are numbers; here they are indices
    extents = tuple(_size(i) for i in outer)
    grids = np.indices(extents, dtype=np.int64, sparse=True) if outer else ()
    low: Any = np.zeros(extents, np.int64)
    high: Any = np.full(extents, _size(last) - 1, np.int64)
    for c in conditions:
        rest: Any = np.full(extents, c.form.constant, np.int64)
        for i, values in zip(outer, grids, strict=True):
            rest = rest + _value(c.form.coefficient(i)) * values
        slope = _value(c.form.coefficient(last))
        if slope > 0:
            low = np.maximum(low, -(rest // slope))
        elif slope < 0:
            high = np.minimum(high, rest // -slope)
        else:
            high = np.where(rest < 0, np.int64(-1), high)
    return low, high


def volume(indices: Iterable[Index]) -> float:
    """Points of a box."""
    return float(prod(_size(i) for i in indices))


def _size(i: Index) -> int:
    return max(_value(i.size), 0)


def _value(form: Affine) -> int:
    return form.evaluate({})


def spelling(s: Scalar) -> object:
    """What a term computes whatever its indices are called: terms that differ in names only are spelt alike.

    Raises RecursionError for terms that are nested too deeply.
    """
    return _spell(s, {}, [])


def _spell(s: Scalar, names: Mapping[Index, str], free: list[Index]) -> object:
    def name(i: Index) -> str:
        if i in names:
            return names[i]
        if i not in free:
            free.append(i)
        return f"free{free.index(i)}:{i.size!r}"

    def form(a: Affine) -> object:
        return a.constant, tuple((name(i), repr(a.coefficient(i))) for i in sorted(a.indices(), key=lambda i: i.name))

    if isinstance(s, Read):
        at = tuple(form(c) if isinstance(c, Affine) else _spell(c, names, free) for c in s.coordinates)
        return "read", s.source, at
    if isinstance(s, Apply):
        return s.op, tuple(_spell(a, names, free) for a in s.args)
    if isinstance(s, (Reduce, Scan)):
        bound = s.indices if isinstance(s, Reduce) else (s.index,)
        inner = {**names, **{i: f"bound{len(names) + n}:{i.size!r}" for n, i in enumerate(bound)}}
        where = tuple(sorted(repr(form_of(c, inner)) for c in s.where.affine)) if isinstance(s, Reduce) else ()
        data = tuple(_spell(d, inner, free) for d in s.where.data) if isinstance(s, Reduce) else ()
        return type(s).__name__, s.monoid, s.part, where, data, tuple(_spell(b, inner, free) for b in s.body)
    return s


def form_of(condition: Inequality, names: Mapping[Index, str]) -> object:
    """A condition with its indices by their places."""
    terms = sorted((names.get(i, i.name), repr(condition.form.coefficient(i))) for i in condition.indices())
    return condition.form.constant, tuple(terms)
