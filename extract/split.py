"""Folds split into shares: partial states written by one kernel, merged under the same monoid by the next.

    fold[M, j < n](b)  =  fold[M, r < R](state r),   state r = fold[M, j' < ⌈n / R⌉](b[j := r·⌈n / R⌉ + j'])

States are stored component by component, and a stored state is a lift: a component of the head as it is, a follower by
its rebase from the statistics of its own share. Where R does not divide n, the last share has a domain. The number of
points of a symbolic axis is not known, so its shares are interleaved, j = R·j' + r, under a commutative monoid, else
cut for the largest size that the dim may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tang_egg.affine import Affine, Index, Inequality, affine
from tang_egg.bounds import interval
from tang_egg.check import check_graph
from tang_egg.errors import GraphError
from tang_egg.extract.axes import check_distinct, indices_along, named_axes
from tang_egg.extract.derive import Step
from tang_egg.extract.merge import (
    Merge,
    Place,
    check_alone,
    check_order,
    in_order,
    is_wide,
    narrowed,
    needed_at,
    places_of,
    step,
    stored_type,
    whole,
)
from tang_egg.ir import Domain, Graph, Read, Reduce, Scalar, Source, Tensor, free, map_children, tensors_of, walk
from tang_egg.program import KernelPlan, Program, unique
from tang_egg.rewrite import substitute
from tang_egg.windows import replace_sources

MOST_PARTS = 1 << 16
"""More shares than this are surely a mistake."""


def split_program(
    graph: Graph, program: Program, wanted: Mapping[str, int], known: Mapping[str, tuple[Step, ...]] | None = None
) -> tuple[Program, dict[str, tuple[Step, ...]]]:
    """The program with its folds along named axes of `graph` split into so many shares, and the steps by kernel.

    `known`: the steps that led to the kernels of `program`.
    Raises GraphError for a name that means no axis, a number of shares that is none, an axis over which nothing folds,
    and a fold that cannot be split.
    """
    named = {name: named_axes(graph, name) for name in wanted}
    check_distinct(graph, named)
    steps = dict(known or {})
    for name, parts in wanted.items():
        check_parts(name, parts)
        along = indices_along(program.tensors, named[name])
        if not any(_folds(t, along[t]) for t in program.tensors):
            raise GraphError(
                f"nothing folds along '{name}'",
                where=f"graph '{graph.name}'",
                mend="split an axis that a sum, maximum or other fold runs over",
            )
        if parts > 1:
            program = _split_axis(program, along, parts, steps)
    check_split(program.graph)
    return program, steps


def check_split(graph: Graph) -> None:
    """Raises GraphError where a program with split folds is not well formed: where a read may leave its axis.

    A component needs its own lifts only (Monoid.needs), so those of others are left out.
    """
    trimmed: dict[Source, Source] = {}
    for t in tensors_of(graph.outputs):
        done: dict[Scalar, Scalar] = {}
        body = replace_sources(t.body, lambda s: trimmed.get(s, s))
        for s in walk(body):
            new = map_children(s, lambda c: done[c])  # noqa: B023 (used at once)
            if isinstance(new, Reduce):
                needed, nothing = new.monoid.needs(new.part), new.monoid.identity
                new = replace(new, body=tuple(b if k in needed else nothing[k] for k, b in enumerate(new.body)))
            done[s] = new
        trimmed[t] = replace(t, body=done[body])
    check_graph(Graph(graph.name, graph.inputs, tuple(u for t in graph.outputs if isinstance(u := trimmed[t], Tensor))))


def check_parts(name: str, parts: object, most: int = MOST_PARTS) -> None:
    """Raises GraphError where `parts` is no number of shares."""
    if not isinstance(parts, int) or isinstance(parts, bool) or not 1 <= parts <= most:
        raise GraphError(
            f"'{name}' in {parts!r} parts", where="the parts of an axis", mend=f"give a whole number from 1 to {most}"
        )


def _folds(t: Tensor, along: Iterable[Index]) -> bool:
    wanted = set(along)
    return any(isinstance(s, Reduce) and wanted & set(s.indices) for s in walk(t.body))


def _split_axis(
    program: Program, along: Mapping[Tensor, set[Index]], parts: int, steps: dict[str, tuple[Step, ...]]
) -> Program:
    """The program with every fold over the indices `along` in shares; the steps that lead there are added."""
    kernels: list[KernelPlan] = []
    replaced: dict[Source, Source] = {}
    taken = {t.name for t in program.tensors} | {i.name for i in program.graph.inputs}
    wide = is_wide(program.graph)
    for k in program.kernels:
        indices = set().union(*(along[t] for t in k.outputs))
        needed = needed_at(*(replace_sources(t.body, lambda s: replaced.get(s, s)) for t in k.outputs))
        splitting = _Splitting(k, indices, parts, taken, wide, needed)
        for t in k.outputs:
            body = splitting.body(replace_sources(t.body, lambda s: replaced.get(s, s)))
            replaced[t] = replace(t, body=body)
        kernels += [KernelPlan(x.name, x.outputs, (*k.laws, *x.laws)) for x in splitting.kernels]
        outputs = tuple(u for t in k.outputs if isinstance(u := replaced[t], Tensor))
        laws = tuple(dict.fromkeys((*k.laws, *(s.law for s in splitting.steps))))
        kernels.append(KernelPlan(k.name, outputs, laws))
        before = steps.get(k.name, ())
        for name in (k.name, *(x.name for x in splitting.kernels)):
            steps[name] = (*before, *splitting.steps)
    outputs = tuple(u for t in program.graph.outputs if isinstance(u := replaced[t], Tensor))
    graph = Graph(program.graph.name, program.graph.inputs, outputs)
    return Program(graph, tuple(kernels))


@dataclass(slots=True)
class _Splitting:
    """The splitting of one kernel's folds."""

    kernel: KernelPlan
    along: set[Index]
    parts: int
    taken: set[str]
    wide: bool
    needed: Mapping[Reduce, Place]
    kernels: list[KernelPlan] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    states: dict[Reduce, Merge] = field(default_factory=dict)

    def body(self, root: Scalar) -> Scalar:
        places = places_of(root)
        done: dict[Scalar, Scalar] = {}
        for s in walk(root):
            new = map_children(s, lambda c: done[c])
            if isinstance(s, Reduce) and self.along & set(s.indices):
                assert isinstance(new, Reduce)
                new = self._value(new, places[s].nested, self.needed.get(whole(s), Place(True)))
            done[s] = new
        return done[root]

    def _value(self, fold: Reduce, nested: bool, needed: Place) -> Scalar:
        key = whole(fold)
        if key not in self.states:
            self.states[key] = self._state(fold, needed)
        merge = self.states[key]
        if nested:
            return merge.read(fold.part, f"{self.kernel.name}_merged", self.taken, self.kernels, self.wide)
        return merge.fold(fold.part)

    def _state(self, fold: Reduce, needed: Place) -> Merge:
        index = next(i for i in fold.indices if i in self.along)
        check_order(fold, index)
        check_alone(fold)
        share, inside, at, guards = _shares(fold, index, self.parts)
        moved = {index: at}
        where = Domain(
            tuple(dict.fromkeys((*(c.substitute({index: at}) for c in fold.where.affine), *guards))),
            tuple(substitute(d, moved) for d in fold.where.data),
        )
        indices = tuple(inside if i is index else i for i in fold.indices)
        partial = Reduce(fold.monoid, indices, where, tuple(substitute(b, moved) for b in fold.body), 0, fold.at)
        parts: dict[int, Tensor] = {}
        for n in range(len(fold.monoid.components)):
            one = narrowed(replace(partial, part=n), needed)
            name = unique(f"{self.kernel.name}_share", self.taken)
            parts[n] = Tensor(
                name, (share, *in_order(free(one) - {share})), one, stored_type(fold.monoid, n, self.wide)
            )
        merge = Merge(fold, share, {n: Read(t, tuple(affine(i) for i in t.axes)) for n, t in parts.items()})
        law = "fold.split_state" if fold.monoid.followers else "fold.split"
        self.kernels.append(KernelPlan(parts[0].name, tuple(parts.values()), (law,)))
        self.steps.append(step(law, fold, merge.fold(fold.part)))
        return merge


def _shares(fold: Reduce, index: Index, parts: int) -> tuple[Index, Index, Affine, tuple[Inequality, ...]]:
    """The index over shares, the one inside a share, the point that both name, and what limits the last share."""
    taken = {i.name for s in walk(*fold.body) if isinstance(s, Reduce) for i in s.indices}
    taken |= {i.name for i in (*free(fold), *fold.indices)} | {i.name for c in fold.monoid.components for i in c.axes}
    share = Index(unique(f"{index.name}_share", taken), affine(parts))
    name = unique(f"{index.name}_in", taken)
    size = index.size.value
    if size is None and fold.monoid.commutative:
        inside = Index(name, index.size)
        at = affine(inside) * parts + share
        return share, inside, at, (at <= index.size - 1,)
    most = size if size is not None else interval(index.size)[1]
    if most is None:
        raise GraphError(
            f"the shares of '{fold.monoid.name}' over {index.size} points can be neither cut nor interleaved",
            where=str(fold.at) or f"the fold over {index.name}",
            mend="declare the largest size of the dim, te.dim(..., hi=...), or the monoid commutative",
        )
    length = -(-most // parts)
    inside = Index(name, affine(length))
    at = affine(share) * length + inside
    even = size is not None and length * parts == size
    return share, inside, at, () if even else (at <= index.size - 1,)
