"""States of folds that stand in memory, and their fold under the same monoid: what splits and shards have in common.

A stored state is a lift: a component of the head as it is, a follower by its rebase from the statistics of its own
share. Here too: where folds stand, and which of them have a state of their own that may be taken out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from tang_egg.affine import Index, Inequality, affine
from tang_egg.check_scalar import assumed
from tang_egg.errors import GraphError, LawError
from tang_egg.extract.derive import Step
from tang_egg.ir import (
    EVERYWHERE,
    Apply,
    Domain,
    Graph,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    StateRef,
    Statistic,
    Tensor,
    Test,
    apply,
    children,
    free,
    walk,
)
from tang_egg.monoid import Monoid, replace_state, state_of
from tang_egg.program import KernelPlan, unique
from tang_egg.rules.table import equalities
from tang_egg.text import print_scalar

AFTER = "after selection"
"""The place of steps that rewrite a whole graph or program: no window has them (see extract/rewriting.py)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fold stands: whether inside another fold, and the affine conditions of the folds and selects around it.

    `given`: all of these hold; `either`: of each of these, one conjunction holds.
    """

    nested: bool
    given: tuple[Inequality, ...] = ()
    either: tuple[tuple[frozenset[Inequality], ...], ...] = ()

    def under(self, condition: Scalar, truth: bool) -> Place:
        """The place in a branch of a select."""
        found = assumed(condition, truth)
        if not found or frozenset() in found:
            return self
        if len(found) > 1:
            return replace(self, either=tuple(dict.fromkeys((*self.either, found))))
        return replace(self, given=tuple(dict.fromkeys((*self.given, *sorted(found[0], key=repr)))))

    def inside(self, s: Reduce | Scan) -> Place:
        """The place in the body of a fold or scan: its index runs there, whatever is known of it outside."""
        bound = frozenset(s.indices) if isinstance(s, Reduce) else frozenset((s.index,))
        own = s.where.affine if isinstance(s, Reduce) else ()
        given = (c for c in self.given if not bound & c.indices())
        either = tuple(x for x in self.either if not any(bound & c.indices() for a in x for c in a))
        return Place(True, tuple(dict.fromkeys((*given, *own))), either)

    def common(self, other: Place) -> Place:
        """What holds at both places."""
        given = tuple(c for c in self.given if c in other.given)
        return Place(self.nested or other.nested, given, tuple(x for x in self.either if x in other.either))


@dataclass(slots=True)
class Merge:
    """The states of all shares of a fold, each component stored, and their fold over `share`."""

    original: Reduce
    share: Index
    reads: Mapping[int, Read]
    stored: dict[int, Tensor] = field(default_factory=dict)

    def fold(self, part: int) -> Reduce:
        """Component `part` of the merged state."""
        monoid = self.original.monoid
        lifts = tuple(stored_lift(monoid, n, self.reads) for n in range(len(monoid.components)))
        return Reduce(monoid, (self.share,), EVERYWHERE, lifts, part, self.original.at)

    def read(self, part: int, name: str, taken: set[str], kernels: list[KernelPlan], wide: bool) -> Read:
        """The same, read from a tensor that a kernel of its own writes, for folds that need it finished."""
        if part not in self.stored:
            merged = self.fold(part)
            kind = stored_type(self.original.monoid, part, wide)
            made = Tensor(unique(name, taken), in_order(free(merged)), merged, kind)
            self.stored[part] = made
            kernels.append(KernelPlan(made.name, (made,)))
        return Read(self.stored[part], tuple(affine(i) for i in self.stored[part].axes))


def stored_lift(monoid: Monoid, n: int, reads: Mapping[int, Scalar]) -> Scalar:
    """Component `n` of a stored state as a lift: a follower moves from its own statistics to those it is folded at."""
    follow = monoid.components[n].follow
    if follow is None:
        return reads[n]
    values = {monoid.components[k].name: r for k, r in reads.items()}
    start, empty = tuple(state_of(s, values) for s in follow.statistics), state_of(follow.empty, values)

    def of(x: Scalar) -> Scalar | None:
        if isinstance(x, Statistic):
            return Statistic("at", x.type, x.part) if x.which == "to" else start[x.part]
        return values[x.component] if isinstance(x, StateRef) else None

    # a share in which nothing was live has no statistics to move from
    return Apply("select", (empty, follow.base.identity[0], replace_state(follow.rebase, of)))


def is_wide(graph: Graph) -> bool:
    """Whether states between kernels are kept in f64: where the caller's own buffers are."""
    buffers: tuple[Source, ...] = (*graph.inputs, *graph.outputs)
    return any(s.dtype == "f64" for s in buffers)


def stored_type(monoid: Monoid, n: int, wide: bool) -> str:
    """The element type in which component `n` of a state is stored."""
    kind = monoid.components[n].type
    return ("f64" if wide else "f32") if kind == "real" else kind


def check_order(fold: Reduce, index: Index) -> None:
    """Raises GraphError where the order of points matters and `index` is not the slowest of several."""
    if not fold.monoid.commutative and fold.indices[0] is not index:
        raise GraphError(
            f"splitting {index.name} would reorder '{fold.monoid.name}', which is not commutative",
            where=str(fold.at) or f"the fold over {', '.join(i.name for i in fold.indices)}",
            mend="split the first index of the fold, or declare the monoid commutative",
        )


def check_alone(fold: Reduce) -> None:
    """Raises GraphError where a fold mentions the statistic of another one around it: it has no value of its own."""
    own = set(fold.monoid.followers)
    outside = [b for k, b in enumerate(fold.body) if k not in own]
    if any(isinstance(s, Statistic) for s in walk(*outside, *fold.where.data)):
        raise GraphError(
            f"the fold over {', '.join(i.name for i in fold.indices)} mentions the statistic of the pass around it",
            where=str(fold.at) or print_scalar(fold)[:120],
            mend="split the fold around it, or make the inner fold an output so that it is stored",
        )


def narrowed(fold: Reduce, needed: Place) -> Reduce:
    """One part of a fold, only where it is needed, as far as the part's own free indices can state that."""
    known = free(fold)
    given = (c for c in needed.given if c.indices() and c.indices() <= known)
    either = (_any_of(x) for x in needed.either if all(c.indices() <= known for a in x for c in a))
    where = Domain(
        tuple(dict.fromkeys((*fold.where.affine, *given))), tuple(dict.fromkeys((*fold.where.data, *either)))
    )
    return replace(fold, where=where)


def _any_of(conjunctions: Iterable[frozenset[Inequality]]) -> Scalar:
    every = (reduce(lambda a, b: apply("and", a, b), _tests(c)) for c in conjunctions)
    return reduce(lambda a, b: apply("or", a, b), every)


def _tests(conditions: Iterable[Inequality]) -> list[Scalar]:
    return [Test(c) for c in sorted(conditions, key=repr)]


def whole(fold: Reduce) -> Reduce:
    """The fold whatever its part: what names its state."""
    return replace(fold, part=0)


def in_order(indices: Iterable[Index]) -> tuple[Index, ...]:
    """Axes of a stored state: by name, numbers in names counted as numbers."""
    return tuple(sorted(indices, key=lambda i: (len(i.name), i.name, repr(i.size))))


def places_of(*roots: Scalar) -> dict[Reduce, Place]:
    """Where each fold stands. Of what stands at several places, that is known which holds at all of them."""
    found: dict[Scalar, Place] = dict.fromkeys(roots, Place(False))
    users_first = list(walk(*roots))[::-1]
    for s in users_first:
        for below, place in _below(s, found[s]):
            found[below] = found[below].common(place) if below in found else place
    return {s: found[s] for s in users_first if isinstance(s, Reduce)}


def needed_at(*roots: Scalar) -> dict[Reduce, Place]:
    """Where the state of each fold is needed: what holds wherever any of its parts stands, by `whole`."""
    found: dict[Reduce, Place] = {}
    for fold, place in places_of(*roots).items():
        key = whole(fold)
        found[key] = found[key].common(place) if key in found else place
    return found


def _below(s: Scalar, place: Place) -> list[tuple[Scalar, Place]]:
    """The operands of a node with the places where they stand."""
    if isinstance(s, Apply) and s.op == "select":
        condition, a, b = s.args
        return [(condition, place), (a, place.under(condition, True)), (b, place.under(condition, False))]
    inner = place.inside(s) if isinstance(s, (Reduce, Scan)) else place
    return [(c, inner) for c in children(s)]


def step(law: str, before: Scalar, after: Scalar | str) -> Step:
    """One application of a law outside of the e-graph."""
    entry = equalities().get(law)
    if entry is None:
        raise LawError(
            f"there is no law '{law}' in the table",
            where="a step outside of the e-graph",
            mend=f"keep the family '{law.split('.')[0]}' in the table, or do not ask for this rewriting",
        )
    text = after if isinstance(after, str) else _short(after)
    return Step(law, _short(before), text, False, entry.holds, entry.rounding, place=AFTER)


def _short(s: Scalar, limit: int = 240) -> str:
    text = print_scalar(s)
    return text if len(text) <= limit else text[: limit - 1] + "…"
