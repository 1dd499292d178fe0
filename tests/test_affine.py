"""Affine forms, and proofs about them: sound on every point, and strong enough for what graphs need."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tang_egg.affine import Affine, AffineLike, Dim, Index, Inequality, affine, index
from tang_egg.bounds import interval, prove_nonnegative
from tang_egg.errors import BindError, GraphError

N, M = Dim("n"), Dim("m")
P, J, K = index("i", N), index("j", M), index("k", 5)


def test_equal_forms_are_one_object() -> None:
    assert P + 1 - P is affine(1)
    assert 2 * P + J * affine(N) is affine(N) * J + P + P
    assert index("i", N) is P and Dim("n", lo=1) is not N


def test_a_product_of_two_indices_is_refused() -> None:
    with pytest.raises(GraphError) as caught:
        affine(P) * affine(J)
    assert str(caught.value) == (
        "i*j is not affine\n  where: a coordinate or condition\n"
        "  mend:  multiply an index by integers and dimensions only"
    )


def test_an_unbound_name_is_named() -> None:
    with pytest.raises(BindError) as caught:
        (P + 2 * affine(N)).evaluate({"i": 1})
    assert str(caught.value).startswith("'n' has no value\n  where: the form ")
    assert str(caught.value).endswith("\n  mend:  bind it: graph.bind(n=...)")


SMALL = {"p": index("p", 3), "q": index("q", 2), "r": index("r", 4)}


def forms() -> st.SearchStrategy[Affine]:
    numbers = st.tuples(*[st.integers(-3, 3)] * 3, st.integers(-6, 8))
    return numbers.map(lambda c: sum((n * affine(i) for n, i in zip(c, SMALL.values(), strict=False)), affine(c[3])))


POINTS = [dict(zip(SMALL, p, strict=True)) for p in product(range(3), range(2), range(4))]


@given(forms(), forms(), st.integers(-3, 3))
def test_arithmetic_is_that_of_values(a: Affine, b: Affine, n: int) -> None:
    swapped = a.substitute({SMALL["p"]: b, SMALL["q"]: n})
    for p in POINTS:
        x, y = a.evaluate(p), b.evaluate(p)
        assert (a + b).evaluate(p) == x + y and (a - b).evaluate(p) == x - y and (n * a).evaluate(p) == n * x
        assert ((a < b).form.evaluate(p) >= 0) == (x < y) and ((a >= b).form.evaluate(p) >= 0) == (x >= y)
        assert swapped.evaluate(p) == a.evaluate({**p, "p": y, "q": n})


@settings(max_examples=300)
@given(forms(), st.lists(forms(), max_size=2))
def test_a_proof_holds_at_every_point(form: Affine, facts: list[Affine]) -> None:
    points = [p for p in POINTS if all(f.evaluate(p) >= 0 for f in facts)]
    truth = all(form.evaluate(p) >= 0 for p in points)
    proved = prove_nonnegative(form, [Inequality(f) for f in facts])
    assert truth or not proved
    assert proved == truth or facts  # without facts the least value on the box decides exactly


@given(forms())
def test_intervals_are_exact_on_boxes(form: Affine) -> None:
    values = [form.evaluate(p) for p in POINTS]
    assert interval(form) == (min(values), max(values))


def symbolic() -> st.SearchStrategy[Affine]:
    """Forms over dims, indices and products of them."""
    monomials = [affine(N), affine(M), affine(P), affine(J), affine(N) * M, affine(N) * J, affine(M) * P, affine(1)]
    numbers = st.tuples(*[st.integers(-2, 2)] * len(monomials))
    return numbers.map(lambda c: sum((n * m for n, m in zip(c, monomials, strict=True)), affine(0)))


@settings(max_examples=300)
@given(symbolic(), st.lists(symbolic(), max_size=1))
def test_a_symbolic_proof_holds_for_all_small_sizes(form: Affine, facts: list[Affine]) -> None:
    if not prove_nonnegative(form, [Inequality(f) for f in facts]):
        return
    used = form.indices().union(*(f.indices() for f in facts))
    for n, m in product(range(4), range(4)):
        for i, j in product(range(n) if P in used else [0], range(m) if J in used else [0]):
            env = {"n": n, "m": m, "i": i, "j": j}
            if all(f.evaluate(env) >= 0 for f in facts):
                assert form.evaluate(env) >= 0


PROVED: list[tuple[AffineLike, tuple[Inequality, ...], tuple[Index, ...]]] = [
    (N - 1 - P, (), ()),
    (affine(N) - 1, (), (P,)),
    (affine(M) * N - 1 - (J * affine(N) + P), (), ()),
    (J * affine(N) + P, (), ()),
    (affine(2) * N * M - 1 - (2 * (J * affine(N) + P) + 1), (), ()),
    (N - 2 - P, (affine(P) < N - 1,), ()),
    (P + K - 2, (P + K >= 2,), ()),
    (affine(P) - K, (affine(P) >= J, affine(J) >= K), ()),
    (affine(4) - 2 * affine(K) + 4, (), ()),
    (affine(K) - 3, (2 * affine(K) >= 5,), ()),
    (affine(Dim("p", lo=3, hi=8)) - 3, (), ()),
    (8 - affine(Dim("p", lo=3, hi=8)), (), ()),
    (affine(Dim("p", lo=5, multiple=4)) - 8, (), ()),
    (affine(K) - 9, (affine(K) >= 7,), ()),
    (-affine(N), (affine(K) >= 7,), ()),
]
"""The last two: no point of k satisfies the fact, so anything holds."""


@pytest.mark.parametrize(("form", "facts", "scope"), PROVED, ids=[str(f) for f, _, _ in PROVED])
def test_proofs_that_graphs_need(form: AffineLike, facts: tuple[Inequality, ...], scope: tuple[Index, ...]) -> None:
    assert prove_nonnegative(form, facts, scope)


@pytest.mark.parametrize(
    "form", [affine(N) - 1, N - 2 - P, N - 2 + P, affine(P) - J, affine(M) * N - 2 - (J * affine(N) + P)]
)
def test_what_does_not_hold_is_not_proved(form: Affine) -> None:
    assert not prove_nonnegative(form)


def test_intervals_of_symbolic_forms() -> None:
    p = Dim("p", lo=3, hi=8)
    assert interval(affine(N) + K) == (0, None)
    assert interval(2 * affine(p) - K) == (2, 16)
    assert interval(3 - index("q", p)) == (-4, 3)
    assert interval(affine(p) * index("q", 3)) == (0, 16)
