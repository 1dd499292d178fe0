"""Every law, tried on random instances for the values on which it claims to hold, and against the others.

What "holds" is taken to mean here:

* "ieee": both sides are equal whatever the values are: ±inf, NaN (which equals NaN), zeros of both signs, subnormals.
  Zeros must agree in sign, except the zero that a fold gives: a sum of no elements or of zeros may come out as 0 or -0,
  since the order in which a sum starts is not part of its meaning.
* "finite": both sides are equal where all variables, and all terms of the law, are finite; signs of zeros are ignored.

And "exact" rounding means equality; the other marks allow the rounding of the reordered or rescaled operations.
"""

from __future__ import annotations

import numpy as np
import pytest

from tang_egg.affine import Index, affine
from tang_egg.interpret import evaluate
from tang_egg.ir import Apply, Const, Input, Read, Scan, const
from tang_egg.monoid import AFFINE, LOGSUMEXP, MAX, SUM
from tang_egg.rules.law import Closure, Law, Seed
from tang_egg.rules.pattern import Node, Pattern
from tang_egg.rules.table import FAMILIES, entries, relations
from tests.laws.instantiate import Instance, Values, every, finite, instantiate, monoids_of

LAWS = {n: e for n, e in entries().items() if isinstance(e, Law)}
PLAIN = [n for n in LAWS if n != "cascade.pass"]  # it is tried in test_cascades.py, whose instances are not arbitrary
TRIES = 30

OVERFLOW_ONLY = {
    "fold.interchange": "a sum with an infinity or NaN in it is the same in any order; partial sums may overflow",
    "fold.linear": "likewise: infinities of both signs make both sides NaN; only an overflow of partial sums differs",
    "cascade.spread": "likewise",
    "gather.linear": "likewise",
    "gather.exchange": "likewise: the factor already stands inside the inner sum",
    "scalar.neg_zero": "it has no variables; its sides are zeros of opposite signs, which a reciprocal tells apart",
    "domain.select_neg": "every value passes unchanged; only the zero outside has the other sign",
    "scalar.add_zero": "every value passes unchanged, except that -0 + 0 is 0",
    "scalar.log_exp": "infinities and NaN pass unchanged; the exponential may overflow or underflow",
    "scalar.log_recip": "infinities and NaN agree; the reciprocal may overflow",
}
"""Laws that are "finite" although no infinity or NaN among their variables tells the sides apart, and why."""


def has(p: object, constructor: str) -> bool:
    return isinstance(p, Node) and (p.constructor == constructor or any(has(a, constructor) for a in p.args))


def folds(law: Law) -> bool:
    return has(law.left, "Red") or has(law.right, "Red")


def folds_reals(law: Law) -> bool:
    """Whether a side folds something else than integers: the zero of a fold may have either sign."""
    return folds(law) and not law.name.startswith("gather.segment")


def difference(law: Law, instance: Instance, signs: bool) -> str:
    """Where the sides differ, or nothing; `signs`: those of zeros count."""
    left, right = instance.values()
    assert left.shape == right.shape
    same = (left == right) | ((left != left) & (right != right))
    if law.rounding != "exact" and left.dtype.kind == "f":
        with np.errstate(all="ignore"):
            reals = [a for a in instance.inputs.values() if a.dtype.kind == "f"]
            size = max((np.abs(a[np.isfinite(a)]).max(initial=1.0) for a in reals), default=1.0)
            same |= np.abs(left - right) <= 1e-13 * size**2 * np.maximum(1.0, np.abs(left))
    if signs and left.dtype.kind == "f":
        same &= np.signbit(left) == np.signbit(right) if not folds(law) else True
        same |= np.isnan(left) & np.isnan(right)
    if np.all(same):
        return ""
    at = tuple(np.argwhere(~same)[0])
    return f"{law}\n  {left[at]!r} against {right[at]!r} at {at}, with {instance.inputs}"


def search(law: Law, draw: object, *, signs: bool, tries: int = TRIES) -> str:
    """The first difference among random instances."""
    for monoid in monoids_of(law):
        for seed in range(tries):
            found = difference(law, instantiate(law, seed, draw, monoid), signs)  # type: ignore[arg-type]
            if found:
                return f"{monoid}, seed {seed}: {found}"
    return ""


@pytest.mark.parametrize("name", [n for n in PLAIN if LAWS[n].holds == "ieee"])
def test_a_law_of_all_values_holds_on_all_values(name: str) -> None:
    assert not search(LAWS[name], every, signs=True)
    assert not search(LAWS[name], finite, signs=True)


@pytest.mark.parametrize("name", [n for n in PLAIN if LAWS[n].holds == "finite"])
def test_a_law_of_finite_values_holds_on_them(name: str) -> None:
    assert not search(LAWS[name], finite, signs=False)


def huge(rng: np.random.Generator) -> Values:
    """Values whose sums overflow, and zeros of both signs."""

    def draw(shape: tuple[int, ...]) -> np.ndarray:  # type: ignore[type-arg]
        return rng.choice([1.5e308, -1.5e308, 0.0, -0.0], shape)

    return draw


@pytest.mark.parametrize("name", [n for n in PLAIN if LAWS[n].holds == "finite"])
def test_the_mark_finite_is_needed(name: str) -> None:
    """A law marked "finite" fails on some other value; else it should be marked "ieee" (and might subsume)."""
    law = LAWS[name]
    infinite = search(law, every, signs=False, tries=200)
    assert bool(infinite) != (name in OVERFLOW_ONLY), f"{law}: {infinite or 'no counterexample was found'}"
    if name in OVERFLOW_ONLY:
        signed = search(law, lambda rng: finite(rng), signs=True) if not folds(law) else ""
        assert signed or search(law, huge, signs=False, tries=200)


def test_only_laws_that_are_equal_on_every_bit_subsume() -> None:
    for law in LAWS.values():
        if law.subsumes:
            assert law.holds == "ieee" and law.rounding == "exact" and not folds_reals(law), law


def test_instances_respect_side_conditions() -> None:
    """Were conditions dropped, laws would fail: an invariant factor that is not invariant cannot leave its sum."""
    law = LAWS["fold.hoist"]
    bare = Law(law.name, law.left, law.right, (), law.holds, law.rounding, law.proof, law.phase, law.subsumes)
    assert search(bare, finite, signs=False)


def test_a_wrong_law_is_found() -> None:
    def wrong(name: str, right: Pattern) -> Law:
        law = LAWS[name]
        return Law(name, law.left, right, law.when, law.holds, law.rounding, law.proof, law.phase, False)

    mul_one = LAWS["scalar.mul_one"]
    assert search(wrong("scalar.mul_one", mul_one.right + mul_one.right), every, signs=True)
    narrow = LAWS["domain.narrow"]
    assert search(wrong("domain.narrow", LAWS["domain.narrow_not"].right), every, signs=True)
    assert narrow.holds == "ieee"
    add_zero = LAWS["scalar.add_zero"]
    assert search(add_zero, every, signs=True), "x + 0 loses the sign of -0, so it must not be marked ieee"


def test_every_entry_is_a_law_a_closure_or_a_seed_with_a_proof() -> None:
    for name, entry in entries().items():
        assert isinstance(entry, (Law, Closure, Seed)) and entry.proof.count(".") == 1, name
        assert name.split(".")[0] in {t.family for t in FAMILIES}, name
        assert str(entry)
    for relation in relations():
        assert relation.proposition


@pytest.mark.parametrize("size", [0, 1, 2, 5, 7, 13])
@pytest.mark.parametrize("chunk", [1, 2, 3, 64])
def test_scan_chunk(size: int, chunk: int) -> None:
    """scan.chunk: a scan may be evaluated by chunks."""
    rng = np.random.default_rng(size)
    t = Index("t", affine(size))
    a, b = Input("a", (t.size,), "f64"), Input("b", (t.size,), "f64")
    at = tuple(Read(x, (affine(t),)) for x in (a, b))
    arrays = {"a": rng.uniform(-1, 1, size), "b": rng.uniform(-1, 1, size)}
    scans = ((SUM, at[:1], 0), (MAX, at[:1], 0), (AFFINE, at, 1), (LOGSUMEXP, (at[0], const(1.0)), 1))
    for monoid, body, part in scans:
        whole, chunked = (evaluate(Scan(monoid, t, body, part, n), (t,), arrays) for n in (0, chunk))
        np.testing.assert_allclose(chunked, whole, rtol=1e-12, atol=1e-12)


def test_exp_of_the_lowest_value_is_an_exact_zero() -> None:
    """scalar.exp_lowest and domain.select_exp rest on it: masked elements vanish without a trace."""
    assert evaluate(Apply("exp", (Const(float("-inf")),)), (), {}) == 0.0
