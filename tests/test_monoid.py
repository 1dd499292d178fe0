"""Every built-in monoid has the properties it declares, and a wrong declaration is found with a witness."""

from __future__ import annotations

import numpy as np
import pytest

from tang_egg.affine import index
from tang_egg.check import check_monoid
from tang_egg.errors import GraphError
from tang_egg.interpret import combine_states
from tang_egg.ir import Input as Buffer
from tang_egg.ir import Read, Scalar, Scan, StateRef, Statistic, apply, const, free
from tang_egg.monoid import (
    AFFINE,
    BUILT_IN,
    MAX,
    MEAN_VARIANCE,
    SUM,
    Component,
    Follow,
    Monoid,
    affine_matrix,
    argmax_of,
    argmin_of,
    cascade,
    max_of,
    min_of,
    optional,
    product,
    product_of,
    sum_of,
)
from tang_egg.monoid_entries import top_k
from tang_egg.ops import INTEGERS
from tang_egg.rewrite import substitute

LEFT, RIGHT = StateRef("left", "value"), StateRef("right", "value")


def attention_state() -> Monoid:
    """Maximum, rescaled sum and rescaled weighted sum: what one-pass attention carries."""

    def follower(name: str) -> Component:
        shift = apply("add", Statistic("from"), apply("neg", Statistic("to")))
        rebased = apply("mul", StateRef("self", name), apply("exp", shift))
        empty = apply("eq", StateRef("self", "m"), const(float("-inf")))
        return Component(name, "real", (), Follow((StateRef("self", "m"),), rebased, empty, SUM))

    return cascade("attention_state", ((Component("m"), MAX),), (follower("l"), follower("o")))


MONOIDS = (
    *BUILT_IN.values(),
    *(make(t) for t in INTEGERS for make in (sum_of, product_of, max_of, min_of)),
    argmax_of("i32"),
    argmin_of("u8"),
    affine_matrix(1),
    affine_matrix(3),
    top_k(1),
    top_k(3),
    top_k(2, "i16"),
    optional(max_of("i32")),
    optional(MEAN_VARIANCE),
    optional(affine_matrix(2)),
    product("pair", SUM, argmax_of(), MEAN_VARIANCE),
    attention_state(),
)


@pytest.mark.parametrize("monoid", MONOIDS, ids=[f"{n}-{m.name}" for n, m in enumerate(MONOIDS)])
def test_declared_properties_hold(monoid: Monoid) -> None:
    check_monoid(monoid)


def simple(combine: Scalar, identity: float = 0.0, *properties: str) -> Monoid:
    return Monoid("odd", (Component("value"),), (combine,), (const(identity),), frozenset(properties))


@pytest.mark.parametrize(
    ("monoid", "claim"),
    [
        (simple(apply("add", LEFT, apply("mul", const(0.5), RIGHT))), "it is not associative"),
        (simple(apply("max", LEFT, RIGHT), 0.0), "its identity is not neutral on the left"),
        (simple(LEFT), "its identity is not neutral on the left"),
        (simple(RIGHT), "its identity is not neutral on the right"),
        (simple(apply("add", LEFT, RIGHT), 0.0, "idempotent"), "it is not idempotent"),
        (
            Monoid("odd", AFFINE.components, AFFINE.combine, AFFINE.identity, frozenset({"commutative"})),
            "it is not commutative",
        ),
    ],
)
def test_a_property_that_fails_is_named_with_a_witness(monoid: Monoid, claim: str) -> None:
    with pytest.raises(GraphError) as caught:
        check_monoid(monoid)
    what, where, mend = str(caught.value).split("\n")
    assert what.startswith(f"monoid 'odd': {claim}")
    assert where.startswith("  where: ") and " for a = (" in where and ", b = (" in where
    assert mend == "  mend:  mend the combine or the identity, or do not declare the property"


def test_states_are_combined_pair_by_pair() -> None:
    n, mean, m2 = combine_states(
        MEAN_VARIANCE,
        (np.array([2.0, 0.0]), np.array([1.0, 0.0]), np.array([2.0, 0.0])),
        (np.array([1.0, 3.0]), np.array([4.0, 5.0]), np.array([0.0, 6.0])),
    )
    # {0, 2} and {4}; nothing and three elements of mean 5
    np.testing.assert_allclose([n, mean, m2], [[3, 3], [2, 5], [8, 6]], rtol=1e-15)


@pytest.mark.parametrize("huge", [1e200, -1e300])
def test_nothing_and_a_huge_element_are_that_element(huge: float) -> None:
    nothing, one = (np.zeros(1),) * 3, (np.ones(1), np.array([huge]), np.zeros(1))
    for left, right in ((nothing, one), (one, nothing)):
        np.testing.assert_array_equal(combine_states(MEAN_VARIANCE, left, right), one)


def test_matrix_maps_are_combined_along_their_own_axes() -> None:
    rng = np.random.default_rng(0)
    a, b, c, d = (
        rng.normal(size=(5, 3, 3)),
        rng.normal(size=(5, 3)),
        rng.normal(size=(5, 3, 3)),
        rng.normal(size=(5, 3)),
    )
    m, v = combine_states(affine_matrix(3), (a, b), (c, d))
    np.testing.assert_allclose(m, c @ a, rtol=1e-12)
    np.testing.assert_allclose(v, np.einsum("tij,tj->ti", c, b) + d, rtol=1e-12)


STRUCTURE = [
    (
        Monoid("odd", (Component("value"),), (), (const(0.0),)),
        "there are 1 components, 0 combined expressions and 1 identities",
        "give one of each for every component, and at least one",
    ),
    (
        Monoid("odd", (Component("a"), Component("a")), (LEFT, LEFT), (const(0.0),) * 2),
        "two components have the same name",
        "name each component differently",
    ),
    (
        simple(apply("add", LEFT, RIGHT), 0.0, "commutes"),
        "unknown properties: commutes",
        "declare a subset of commutative, idempotent, invertible",
    ),
    (
        simple(apply("eq", LEFT, RIGHT)),
        "the combined value of component 'value' has type bool, not real",
        "convert it with te.cast, or declare another type",
    ),
    (
        simple(StateRef("self", "value")),
        "the state 'self.value' means nothing here",
        "refer to states inside a monoid's combine only",
    ),
    (
        simple(StateRef("left", "value", "i32")),
        "component 'value' of monoid 'odd' has type real and 0 axes, not i32 and 0",
        "refer to the component as it is declared",
    ),
    (
        simple(Read(Buffer("x", ()), ())),
        "monoid 'odd' reads input 'x'",
        "put what the fold needs into its lift: a combine sees two states only",
    ),
]


@pytest.mark.parametrize(("monoid", "what", "mend"), STRUCTURE)
def test_a_monoid_that_does_not_fit_together(monoid: Monoid, what: str, mend: str) -> None:
    with pytest.raises(GraphError) as caught:
        check_monoid(monoid)
    assert str(caught.value) == f"{what}\n  where: monoid 'odd'\n  mend:  {mend}"


def test_own_axes_stay_in_bounds() -> None:
    maps = affine_matrix(3)
    row = maps.components[1].axes[0]
    shifted = StateRef("left", "b", "real", (row + 1,))
    odd = Monoid("odd", maps.components, (maps.combine[0], shifted), maps.identity)
    with pytest.raises(GraphError, match="may fall above axis row of component 'b', of extent 3"):
        check_monoid(odd)


def test_own_axes_are_not_substituted() -> None:
    maps = affine_matrix(3)
    row = maps.components[1].axes[0]
    t = index("t", 5)
    scan = Scan(maps, t, (const(1.0), const(0.0)), 1)
    assert row in free(scan)
    with pytest.raises(GraphError) as caught:
        substitute(scan, {row: index("r", 3)})
    assert str(caught.value) == (
        "an axis of a state of monoid 'affine_matrix[3]' would be replaced: row\n"
        "  where: a fold with components a, b\n"
        "  mend:  name the fold as a tensor of its own, then read that tensor"
    )
