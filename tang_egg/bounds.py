"""Sound proofs that affine forms are non-negative, and intervals of their values.

An index i in scope satisfies 0 <= i <= size - 1, so its size is at least 1; a dim satisfies its declared facts. A form
is proved by eliminating indices by the sign of their coefficients, or else by writing it as a non-negative combination
of known facts and of products of facts with dims (Farkas' lemma, solved exactly over the rationals). The products prove
splits and merges: i*N + j < M*N because N*(M - 1 - i) + (N - 1 - j) >= 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import TypeAlias

from tang_egg.affine import Affine, AffineLike, Atom, Dim, Index, Inequality, Monomial, affine

Bound: TypeAlias = "int | None"

MOST_FACTS = 160
"""More facts than this (products included) are not tried: the proof is given up."""


def prove_nonnegative(form: AffineLike, given: Sequence[Inequality] = (), scope: Iterable[Index] = ()) -> bool:
    """Whether `form` >= 0 is proved wherever `given` holds. True is a proof; False means only that none was found.

    Indices of the form, of `given` and of `scope` are taken to be in scope: within their ranges, so not empty.
    """
    form = affine(form)
    if form.value is not None and form.value >= 0:
        return True
    return _prove(form, tuple(dict.fromkeys(given)), frozenset(scope))


@lru_cache(maxsize=1 << 16)
def _prove(form: Affine, given: tuple[Inequality, ...], scope: frozenset[Index]) -> bool:
    if _least_on_box(form):
        return True
    if not given and not form.dims() and all(i.size.value is not None for i in form.indices()):
        return False  # without dims the least value on the box is exact
    facts = [g.form for g in given]
    used = scope.union(form.indices(), *(f.indices() for f in facts))
    facts += [f for i in sorted(used, key=repr) for f in (affine(i), i.size - 1 - i)]
    dims = set(form.dims()).union(*(f.dims() for f in facts))
    limits: list[Affine] = []
    for d in sorted(dims, key=repr):
        low, high = dim_range(d)
        limits.append(affine(d) - low)
        if high is not None:
            limits.append(high - affine(d))
    facts += limits
    curved = {m for f in (form, *facts) for m, _ in f.terms if len(m) > 1}
    if curved:
        # A product of two facts is a fact; multiplying by limits of the dims in curved terms keeps forms affine.
        entering = {a for m in curved for a in m if isinstance(a, Dim)}
        factors = [limit for limit in limits if limit.dims() <= entering]
        facts += [f * limit for f in facts for limit in factors]
    facts = [t for f in dict.fromkeys(facts) if (t := _tightened(f)).value is None or t.constant < 0]
    if len(facts) > MOST_FACTS:
        return False
    if any(f.value is not None for f in facts) or _combines(_tightened(form), facts):
        return True
    # A contradiction among the facts: no point is left at which the form could be negative.
    return bool(given) and _combines(affine(-1) * 2, facts)


def dim_range(d: Dim) -> tuple[int, Bound]:
    """The least and the greatest value of a dim (None: no limit), its divisibility taken into account."""
    low = -(-d.lo // d.multiple) * d.multiple
    return low, None if d.hi is None else d.hi // d.multiple * d.multiple


def _least_on_box(form: Affine) -> bool:
    """Whether the least value over the box of index ranges is provably not negative."""
    corner: dict[Atom, AffineLike] = {}
    dims_at_least: dict[Dim, int] = {}
    for i in form.indices():
        coefficient = form.coefficient(i)
        if _polynomial_nonnegative(coefficient, {}):
            corner[i] = 0
        elif _polynomial_nonnegative(-coefficient, {}):
            corner[i] = i.size - 1
        else:
            return False
        extent = i.size.terms
        if len(extent) == 1 and extent[0][1] == 1 and len(extent[0][0]) == 1 and isinstance(extent[0][0][0], Dim):
            dims_at_least[extent[0][0][0]] = 1
    return _polynomial_nonnegative(form.substitute(corner), dims_at_least)


def _polynomial_nonnegative(form: Affine, at_least: dict[Dim, int]) -> bool:
    """Whether a form over dims alone is provably not negative, by its coefficients about the dims' least values."""
    if form.value is not None:
        return form.value >= 0
    if form.indices():
        return False
    shifted: dict[Atom, AffineLike] = {}
    for d in form.dims():
        low = max(dim_range(d)[0], at_least.get(d, 0))
        shifted[d] = affine(d) + (-(-low // d.multiple) * d.multiple)
    if all(c >= 0 for _, c in form.substitute(shifted).terms):
        return True
    for d in form.dims():
        high = dim_range(d)[1]
        if high is not None and all(m.count(d) <= 1 for m, _ in form.terms):
            low = max(dim_range(d)[0], at_least.get(d, dim_range(d)[0]))
            # A form of degree one in d has its least value at an end.
            return all(_polynomial_nonnegative(form.substitute({d: end}), at_least) for end in (low, high))
    return False


def _tightened(form: Affine) -> Affine:
    """The same condition over integers, divided by the common factor of its coefficients, its constant rounded down."""
    common = gcd(*(c for m, c in form.terms if m))
    if common <= 1:
        return form
    return Affine.of({m: c // common for m, c in form.terms})


def _combines(form: Affine, facts: Sequence[Affine]) -> bool:
    """Whether form + 1 > 0 follows from a non-negative combination of facts: enough for an integer."""
    monomials = sorted({m for f in (form, *facts) for m, _ in f.terms if m}, key=repr)
    columns = [[Fraction(_term(f, m)) for m in monomials] + [Fraction(f.constant)] for f in facts]
    columns.append([Fraction(0)] * len(monomials) + [Fraction(1)])  # what is left over of the constant
    goal = [Fraction(_term(form, m)) for m in monomials] + [Fraction(form.constant) + Fraction(1023, 1024)]
    return _feasible(columns, goal)


def _term(form: Affine, monomial: Monomial) -> int:
    return next((c for m, c in form.terms if m == monomial), 0)


def _feasible(columns: Sequence[Sequence[Fraction]], goal: Sequence[Fraction]) -> bool:
    """Whether some non-negative combination of `columns` is `goal`: phase one of the simplex method, exact.

    Bland's rule (1977) keeps it from cycling.
    """
    rows = [[column[r] for column in columns] + [goal[r]] for r in range(len(goal))]
    rows = [row if row[-1] >= 0 else [-x for x in row] for row in rows]
    basis: list[int] = [-1] * len(rows)  # -1: an artificial variable
    while True:
        infeasible = [r for r, b in enumerate(basis) if b == -1]
        if all(rows[r][-1] == 0 for r in infeasible):
            return True
        entering = next((k for k in range(len(columns)) if sum(rows[r][k] for r in infeasible) > 0), None)
        if entering is None:
            return False
        ratios = [(rows[r][-1] / rows[r][entering], basis[r], r) for r in range(len(rows)) if rows[r][entering] > 0]
        leaving = min(ratios)[2]
        pivot = rows[leaving][entering]
        rows[leaving] = [x / pivot for x in rows[leaving]]
        for r, row in enumerate(rows):
            if r != leaving and row[entering]:
                factor = row[entering]
                rows[r] = [x - factor * y for x, y in zip(row, rows[leaving], strict=True)]
        basis[leaving] = entering


def interval(form: AffineLike) -> tuple[Bound, Bound]:
    """Bounds on the values of a form, each index over its range and each dim within its facts; None: no bound known."""
    low: Bound = 0
    high: Bound = 0
    for monomial, coefficient in affine(form).terms:
        below, above = _product_range(monomial)
        ends = (_scaled(below, coefficient), _scaled(above, coefficient))
        least, most = ends if coefficient > 0 else (ends[1], ends[0])
        low = None if low is None or least is None else low + least
        high = None if high is None or most is None else high + most
    return low, high


def _scaled(bound: Bound, factor: int) -> Bound:
    return None if bound is None else bound * factor


def _product_range(monomial: Monomial) -> tuple[Bound, Bound]:
    """Bounds on a product of dims and at most one index, none of them negative."""
    low, high = 1, 1  # type: int, Bound
    for atom in monomial:
        if isinstance(atom, Dim):
            below, above = dim_range(atom)
            if below < 0:
                return None, None
        else:
            most = interval(atom.size)[1]
            below, above = 0, None if most is None else max(most - 1, 0)
        low *= below
        high = None if high is None or above is None else high * above
    return low, high


def prove_inhabited(index: Index, conditions: Sequence[Inequality]) -> bool:
    """Whether some value of `index` meets all conditions, whatever the other indices and the dims are.

    Tries the first and last value and those at which a condition just holds; False means only that none was proved.
    """
    return _inhabited(index, tuple(c for c in dict.fromkeys(conditions) if not _least_on_box(c.form)))


@lru_cache(maxsize=1 << 14)
def _inhabited(index: Index, conditions: tuple[Inequality, ...]) -> bool:
    witnesses = [affine(0), index.size - 1]
    for c in conditions:
        factor = c.form.coefficient(index).value
        rest = c.form.substitute({index: 0})
        if factor == 1:
            witnesses.append(-rest)
        elif factor == -1:
            witnesses.append(rest)
    for at in dict.fromkeys(witnesses):
        needed = [at, index.size - 1 - at, *(c.form.substitute({index: at}) for c in conditions)]
        if all(prove_nonnegative(form) for form in needed):
            return True
    return False
