"""The largest elements and the order of elements along an axis, without a sort: by folds and by counting ranks.

The rank of an element is the number of those that precede it; equal ones keep their order, so ranks are a permutation.
Counting takes n² comparisons for n elements, all independent of each other; the k best of them one pass with a list of
k. NaN comes after every number, in order of position, when ranks are counted; a list of k best leaves NaN undefined.
"""

from __future__ import annotations

from tang_egg import expression as e
from tang_egg import monoid_entries, ops
from tang_egg import notation as te
from tang_egg.affine import AffineLike, Index, affine
from tang_egg.bounds import prove_nonnegative
from tang_egg.errors import GraphError
from tang_egg.expression import Expression, here
from tang_egg.library import axes_of, axis_of, expect_array
from tang_egg.notation import Array

SHORT = 16
"""Up to this many best elements are kept in a list; the comparisons to merge two lists grow with its square."""


def top_k(x: Array, k: int, axis: int = -1, largest: bool = True) -> tuple[Array, Array]:
    """The `k` largest (or smallest) elements along `axis`, best first, and their positions i64: [..., k, ...] both.

    Ties go to the lower position. For k up to 16 the k best are kept in one pass, beyond that ranks are counted. Where
    NaN is among the elements, nothing is promised of its place.
    """
    _expect_ordered(x)
    i = axes_of(x)
    j = i[axis_of(x, axis)]
    if not isinstance(k, int) or isinstance(k, bool) or k < 1 or not prove_nonnegative(j.size - k):
        raise GraphError(
            f"the {k!r} best of {j.size} elements of '{x.name}'",
            where=str(here()),
            mend="give a number from 1 to the extent of the axis; of a symbolic one, its lower limit",
        )
    if k > SHORT:
        return _by_rank(x, i, j, affine(k), largest)
    return _by_list(x, i, j, k, largest)


def _by_list(x: Array, i: tuple[Index, ...], j: Index, k: int, largest: bool) -> tuple[Array, Array]:
    """By the monoid of the k best; the smallest are the largest of the negated ones."""
    element = x[i]
    # For integers ~x = -x - 1 turns the order without overflow.
    key = element if largest else -element if element.type == "real" else ~element
    monoid = monoid_entries.top_k(k, element.type)
    empty = monoid.identity[2:]
    rest = tuple(a for a in i if a is not j)
    r = Index("r", affine(k))
    axes = tuple(r if a is j else a for a in i)

    def part(name: str, dtype: str, hint: str) -> Expression:
        parts = [te.reduce(monoid, j, key, e.value(j), *empty, part=f"{name}{n}") for n in range(k)]
        found = [te.tensor(None, rest, p, dtype, hint=hint)[rest] for p in parts]
        chosen = found[-1]
        for n in range(k - 2, -1, -1):
            chosen = e.select(r <= n, found[n], chosen)
        return chosen

    best = part("value", x.dtype, "best")
    if not largest:
        best = -best if element.type == "real" else ~best
    values = te.tensor(None, axes, best, x.dtype, hint="top_values")
    return values, te.tensor(None, axes, part("position", "i64", "best_at"), hint="top_positions")


def sort(x: Array, axis: int = -1, descending: bool = False) -> Array:
    """The elements of `x` in order along `axis`, of the shape of `x`; by ranks: n² comparisons for n elements."""
    _expect_ordered(x)
    i = axes_of(x)
    j = i[axis_of(x, axis)]
    return _by_rank(x, i, j, j.size, descending)[0]


def argsort(x: Array, axis: int = -1, descending: bool = False) -> Array:
    """The positions i64 that sort `x` along `axis`, equal ones in order; by ranks: n² comparisons for n elements."""
    _expect_ordered(x)
    i = axes_of(x)
    j = i[axis_of(x, axis)]
    return _by_rank(x, i, j, j.size, descending)[1]


def ranks(x: Array, axis: int = -1, descending: bool = False) -> Array:
    """How many elements precede each one along `axis`, i64 of the shape of `x`; of equal ones the earlier precedes."""
    _expect_ordered(x)
    i = axes_of(x)
    return _ranks(x, i, i[axis_of(x, axis)], descending)


def _ranks(x: Array, i: tuple[Index, ...], j: Index, descending: bool) -> Array:
    s = Index("s", j.size)
    one, other = x[i], x[tuple(s if a is j else a for a in i)]
    before = one < other if descending else other < one
    same = e.eq(one, other)
    if one.type == "real":
        one_nan, other_nan = e.ne(one, one), e.ne(other, other)
        before = before | (one_nan & ~other_nan)
        same = same | (one_nan & other_nan)
    precedes = before | (same & e.value(s < j))
    return te.tensor(None, i, te.sum(s, e.select(precedes, e.constant(1, "i64"), e.constant(0, "i64"))), hint="rank")


def _by_rank(x: Array, i: tuple[Index, ...], j: Index, count: AffineLike, descending: bool) -> tuple[Array, Array]:
    """The elements of rank 0 to `count` - 1 and their positions."""
    rank = _ranks(x, i, j, descending)
    r = Index("r", affine(count))
    axes = tuple(r if a is j else a for a in i)
    here_now = e.eq(rank[i], e.value(r))
    # One element has the rank: a fold over a domain of one point gives it as it is.
    positions = te.tensor(None, axes, te.max(j, e.value(j), where=here_now), hint="sorted_positions")
    values = te.tensor(None, axes, te.max(j, x[i], where=here_now), x.dtype, hint="sorted")
    return values, positions


def _expect_ordered(x: Array) -> None:
    expect_array(x)
    if ops.scalar_type(x.dtype) == "bool":
        raise GraphError(f"the order of bools '{x.name}'", where=str(here()), mend="convert them: te.cast(x, 'i32')")
