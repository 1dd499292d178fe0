"""Folds over suffixes, and prefixes that end elsewhere, as prefix folds over an axis of their own, which are scans.

    fold[m, s](x[s], where=s ≤ f) = F[f]              F[u] = fold[m, s](x[s], where=s ≤ u)
    fold[m, s](x[s], where=s ≥ g) = F[n - 1 - g]      F[u] = fold[m, s](x[n - 1 - s], where=s ≤ u)

f and g are affine forms over axes of a tensor, and x mentions none of their indices. The second reverses the order of
points, so m commutes there. F goes from 0 to n - 1: below that the fold has no points, and f is proved not to go above.

What stands around such folds and depends on the same form only goes along (the logarithm of a sum, a quotient of two),
so that one tensor is written for it. A prefix up to an axis of the same size is a scan as it stands, and is left alone;
one that ends elsewhere (before the point itself, at every second one) is read from F like those that run backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tang_egg.affine import Affine, Index, affine, product
from tang_egg.bounds import interval, prove_nonnegative
from tang_egg.check_scalar import ScalarCheck
from tang_egg.errors import GraphError
from tang_egg.ir import (
    Apply,
    Domain,
    Read,
    Reduce,
    Scalar,
    Tensor,
    Test,
    free,
    map_children,
    sources,
    type_of,
    walk,
)
from tang_egg.rewrite import fresh_index, substitute

SHORT = 16
"""A fold of fewer points, or one that is wanted at fewer places, is no slower than a scan and what reads it."""


@dataclass(frozen=True, slots=True)
class _Prefix:
    """An expression that depends on the axes in `at` through prefix folds up to `at` only.

    `over` has `last` instead of `at`; `none`: its value where the folds have no points; `axes`: the other free indices.
    """

    at: Affine
    last: Index
    over: Scalar
    none: Scalar
    axes: frozenset[Index]


def turned(t: Tensor, body: Scalar, taken: set[str]) -> Scalar:
    """`body`, that of `t`, where every fold that runs backwards or ends elsewhere is read from a new tensor.

    New tensors are named apart from `taken`, and their names are added to it.
    """
    bound = {i for s in walk(body) if isinstance(s, Reduce) for i in s.indices}
    if not bound or bound & set(t.axes):
        return body
    names = {i.name for i in bound.union(t.axes, *(free(s) for s in walk(body)))}
    found: dict[Scalar, _Prefix] = {}
    done: dict[Scalar, Scalar] = {}
    made: dict[Scalar, Scalar] = {}

    def out(s: Scalar) -> Scalar:
        """What stands for `s` in an expression that does not go along with it."""
        if s not in found:
            return done[s]
        if s not in made:
            made[s] = _read(t, s, done[s], found[s], taken)
        return made[s]

    for s in walk(body):
        # a fold is a new prefix, so what it folds is finished; an application may go along with its operands
        prefix = _around(s, found, out)
        done[s] = s if prefix is not None else map_children(s, out)
        new = done[s]
        if isinstance(new, Reduce):
            prefix = _prefix(new, t.axes, names)
        if prefix is not None:
            found[s] = prefix
    return out(body)


def _prefix(fold: Reduce, axes: Iterable[Index], names: set[str]) -> _Prefix | None:
    """A fold up to or from a place, as a prefix fold up to an index; None where it is not one, or gains nothing."""
    if len(fold.indices) != 1 or len(fold.where.affine) != 1 or fold.where.data:
        return None
    if any(c.axes for c in fold.monoid.components):
        return None
    (s,), form = fold.indices, fold.where.affine[0].form
    factor = form.coefficient(s).value
    rest = form.substitute({s: 0})
    if factor not in (1, -1) or not rest.indices() or not rest.indices() <= set(axes):
        return None
    if factor == -1 and (end := rest.single()) is not None and end.size is s.size:
        return None  # a scan as it stands
    if factor == 1 and not fold.monoid.commutative:
        return None
    at = rest if factor == -1 else s.size - 1 + rest  # s ≤ rest, or s ≥ -rest
    places = product([i.size for i in sorted(at.indices(), key=repr)])
    if _short(s.size) or _short(places) or any(free(b) & at.indices() for b in fold.body):
        return None
    if not prove_nonnegative(s.size - 1 - at):
        return None  # F would be read at its end for many places, and extraction folds it anew at each of them
    try:
        body = fold.body if factor == -1 else tuple(substitute(b, {s: s.size - 1 - s}) for b in fold.body)
    except GraphError:  # a scan inside is read at s
        return None
    last = fresh_index(s, names)
    over = Reduce(fold.monoid, (s,), Domain((affine(s) <= last,)), body, fold.part, fold.at)
    return _Prefix(at, last, over, fold.monoid.identity[fold.part], free(over) - {last})


def _short(size: Affine) -> bool:
    most = interval(size)[1]
    return most is not None and most < SHORT


def _around(s: Scalar, found: dict[Scalar, _Prefix], out: Callable[[Scalar], Scalar]) -> _Prefix | None:
    """An application of which some operands are prefixes up to one place, and the others the same at every place."""
    if not isinstance(s, Apply):
        return None
    inner = [found[a] for a in s.args if a in found]
    if not inner or any(p.at is not inner[0].at or p.last.size is not inner[0].last.size for p in inner):
        return None
    first = inner[0]
    axes = frozenset[Index]().union(*(p.axes for p in inner))
    others = frozenset[Index]().union(*(free(a) for a in s.args if a not in found))
    if others & first.at.indices() or not others <= axes:
        return None
    over, none = [], []
    for a in s.args:
        p = found.get(a)
        over.append(out(a) if p is None else substitute(p.over, {p.last: first.last}))
        none.append(out(a) if p is None else p.none)
    return _Prefix(first.at, first.last, Apply(s.op, tuple(over)), Apply(s.op, tuple(none)), axes)


def _read(t: Tensor, old: Scalar, plain: Scalar, prefix: _Prefix, taken: set[str]) -> Scalar:
    """`old` read from a new tensor over the last points of its folds, or `plain` where that cannot stand alone."""
    at, last = prefix.at, prefix.last
    if not prefix.axes <= set(t.axes) - at.indices():
        return plain
    axes = (*(i for i in t.axes if i in prefix.axes), last)
    try:
        ScalarCheck(f"tensor '{t.name}'", None, t.at).run(prefix.over, axes)
    except GraphError:  # a read in it is in bounds only where the old one was made
        return plain
    made = Tensor(_name(t.name, taken), axes, prefix.over, _stored(t, old), at=t.at)
    others = tuple(affine(i) for i in axes[:-1])
    value: Scalar = Read(made, (*others, at))
    if not prove_nonnegative(at):
        value = Apply("select", (Test(at >= 0), value, prefix.none))
    return value


def _name(stem: str, taken: set[str]) -> str:
    name, n = f"{stem}_prefix", 1
    while name in taken:
        n += 1
        name = f"{stem}_prefix{n}"
    taken.add(name)
    return name


def _stored(t: Tensor, value: Scalar) -> str:
    kind = type_of(value)
    if kind != "real":
        return kind
    return "f64" if "f64" in (t.dtype, *(s.dtype for s in sources(value))) else "f32"
