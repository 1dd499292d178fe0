"""Sizes of indices that were written without one, from the axes on which they stand alone.

An index without a size is a placeholder whose size is a dim that no graph declares. `resolve` finds the size of each
placeholder bound by a fold or tensor from the reads below it, and rebuilds the expressions with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tang_egg.affine import Affine, AffineLike, Dim, Index, Inequality, affine, dims_of
from tang_egg.errors import GraphError
from tang_egg.ir import Input, Position, Read, Reduce, Scalar, Tensor, Test, free, walk
from tang_egg.monoid import Monoid
from tang_egg.rewrite import DimBinding


def placeholder(name: str) -> Index:
    """An index whose size is to be inferred. Its `size` can be used in forms before that."""
    return Index(name, affine(Dim("?" + name)))


def is_placeholder(i: Index) -> bool:
    """Whether the size of `i` is still to be inferred."""
    return i.size is affine(Dim("?" + i.name))


def resolve(
    bound: tuple[Index, ...],
    body: tuple[Scalar, ...],
    conditions: tuple[Inequality | Scalar, ...],
    where: str,
    also_free: bool = False,
) -> tuple[tuple[Index, ...], tuple[Scalar, ...], tuple[Inequality | Scalar, ...]]:
    """`bound`, `body` and `conditions` with every placeholder in `bound` sized. `where` locates error messages.

    `also_free`: nothing else may stay free (the indices are the axes of a tensor).
    Raises GraphError for an index without size, with two sizes, or with a name that means two indices in one scope.
    """
    roots = (*body, *(c for c in conditions if isinstance(c, Scalar)))
    if also_free:
        _check_free(bound, roots, where)
    sizes: dict[Dim, AffineLike] = {}
    for i in bound:
        if is_placeholder(i):
            sizes[Dim("?" + i.name)] = _size_of(i, roots, where)
    _check_capture(bound, roots, where)
    binding = _Sizing(sizes)
    if sizes:
        bound = tuple(binding.index(i) for i in bound)
        body = tuple(binding.scalar(b) for b in body)
        conditions = tuple(
            binding.form(c.form) >= 0 if isinstance(c, Inequality) else binding.scalar(c) for c in conditions
        )
    if also_free:
        _check_sized(body, where)
    return bound, body, conditions


class _Sizing(DimBinding):
    """Rebuilds one body; the tensors that it reads and the monoids that it folds by have their sizes already."""

    def tensor(self, t: Tensor) -> Tensor:
        return t

    def input(self, i: Input) -> Input:
        return i

    def monoid(self, m: Monoid) -> Monoid:
        return m


def _size_of(i: Index, roots: Sequence[Scalar], where: str) -> Affine:
    """The extent of the axes on which `i` stands alone as a coordinate."""
    uses: dict[Affine, str] = {}
    for s in walk(*roots):
        if isinstance(s, Read):
            for axis, c in enumerate(s.coordinates):
                if isinstance(c, Affine) and c.single() is i:
                    uses.setdefault(s.source.shape[axis], f"axis {axis} of '{s.source.name}'")
    if not uses:
        raise GraphError(
            f"index '{i.name}' has no size",
            where=where,
            mend=f"use it alone as a coordinate, or give its size: te.index('{i.name}', 8)",
        )
    if len(uses) > 1:
        (size, use), (other, use2) = list(uses.items())[:2]
        raise GraphError(
            f"index '{i.name}' has two sizes: {size} on {use} and {other} on {use2}",
            where=where,
            mend=f"use two indices, or give the size: te.index('{i.name}', ...)",
        )
    return next(iter(uses))


def _check_free(axes: tuple[Index, ...], roots: Sequence[Scalar], where: str) -> None:
    stray = sorted(frozenset().union(*(free(r) for r in roots)) - frozenset(axes), key=lambda i: i.name)
    if stray:
        same = [i for i in axes if i.name == stray[0].name]
        why = f"; the axis '{same[0].name}' of size {same[0].size} is another index" if same else ""
        raise GraphError(
            f"index '{stray[0].name}' is free but is not an axis{why}",
            where=where,
            mend="add it to the axes, or fold over it",
        )


def _check_sized(body: tuple[Scalar, ...], where: str) -> None:
    unknown: set[Dim] = set()
    for s in walk(*body):
        if isinstance(s, Position):
            unknown |= s.form.dims()
        elif isinstance(s, Test):
            unknown |= s.condition.form.dims()
        elif isinstance(s, Reduce):
            unknown |= dims_of((*(i.size for i in s.indices), *(c.form for c in s.where.affine)))
    names = sorted(d.name[1:] for d in unknown if d.name.startswith("?"))
    if names:
        raise GraphError(
            f"the size of index '{names[0]}' is used outside the fold that binds it",
            where=where,
            mend=f"give the index its size: te.index('{names[0]}', ...)",
        )


def _check_capture(bound: tuple[Index, ...], roots: Sequence[Scalar], where: str) -> None:
    """Inside a fold, an index must not be hidden by a bound one of the same name."""
    names = {i.name: i for i in bound}
    if len(names) < len(bound):
        name = next(i.name for i in bound if names[i.name] is not i)
        raise GraphError(f"two indices are named '{name}'", where=where, mend="rename one of them")
    for s in walk(*roots):
        if isinstance(s, Reduce) and not names.keys().isdisjoint(i.name for i in s.indices):
            for inner in s.indices:
                outer = names.get(inner.name)
                if outer is not None and outer is not inner and outer in free(s):
                    raise GraphError(
                        f"two indices named '{inner.name}' meet in one fold",
                        where=where,
                        mend="rename one of them",
                    )
