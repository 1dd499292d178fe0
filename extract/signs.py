"""Signs: real expressions as polynomials over atoms, and whether they are never below 0, or never above.

    monomial   ::= atoms with powers                atom: what is no sum, product, negation or constant
    polynomial ::= a factor for each monomial       the empty monomial holds the constant part

A sign is that of the numbers which are no NaN. Nothing is known of inputs but their types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tang_egg.bounds import prove_nonnegative
from tang_egg.ir import Apply, Const, Position, Reduce, Scalar, apply, type_of
from tang_egg.monoid import MIN, PRODUCT, SUM

Monomial: TypeAlias = "frozenset[tuple[Scalar, int]]"
Polynomial: TypeAlias = "dict[Monomial, float]"
Known: TypeAlias = "Callable[[Scalar], bool]"

ONE: Monomial = frozenset()
MONOMIALS = 64
"""A product with more monomials than that is an atom."""


def polynomial(s: Scalar) -> Polynomial:
    """A real expression as a polynomial over its atoms."""
    if isinstance(s, Const) and s.type == "real":
        return {ONE: float(s.value)} if s.value != 0.0 else {}
    if isinstance(s, Apply) and s.op == "add":
        return added(polynomial(s.args[0]), polynomial(s.args[1]))
    if isinstance(s, Apply) and s.op == "neg":
        return scaled(polynomial(s.args[0]), -1.0)
    if isinstance(s, Apply) and s.op == "mul":
        left, right = (polynomial(a) for a in s.args)
        if len(left) * len(right) <= MONOMIALS:
            return multiplied(left, right)
    return {frozenset(((s, 1),)): 1.0}


def added(p: Polynomial, q: Polynomial) -> Polynomial:
    """The sum of two polynomials."""
    total = dict(p)
    for m, factor in q.items():
        total[m] = total.get(m, 0.0) + factor
    return {m: factor for m, factor in total.items() if factor != 0.0}


def scaled(p: Polynomial, by: float) -> Polynomial:
    """A polynomial times a number other than 0."""
    return {m: factor * by for m, factor in p.items()}


def multiplied(p: Polynomial, q: Polynomial) -> Polynomial:
    """The product of two polynomials."""
    total: Polynomial = {}
    for m, a in p.items():
        for n, b in q.items():
            powers = dict(m)
            for atom, power in n:
                powers[atom] = powers.get(atom, 0) + power
            total = added(total, {frozenset(powers.items()): a * b})
    return total


def atoms(p: Polynomial) -> dict[Scalar, None]:
    """The atoms of a polynomial."""
    return dict.fromkeys(atom for m in p for atom, _ in m)


def taken_apart(p: Polynomial, atom: Scalar) -> tuple[Polynomial, Polynomial] | None:
    """(c, r) where the polynomial is c·atom + r and neither mentions the atom; None where it has a higher power."""
    factor: Polynomial = {}
    rest: Polynomial = {}
    for m, a in p.items():
        power = dict(m).get(atom, 0)
        if power > 1:
            return None
        part = factor if power else rest
        part[frozenset(x for x in m if x[0] is not atom)] = a
    return factor, rest


def never_negative(p: Polynomial, known: Known, of: Scalar | None = None) -> bool:
    """Whether every monomial is known not to be below 0. `of`: an expression that says nothing of itself as an atom."""
    return all(
        factor > 0.0 and all(power % 2 == 0 or (atom is not of and nonnegative(atom, known)) for atom, power in m)
        for m, factor in p.items()
    )  # fmt: skip


def nonnegative(s: Scalar, known: Known = lambda s: False) -> bool:
    """Whether a value is surely not below 0. `known`: what is known of atoms."""
    if known(s):
        return True
    kind = type_of(s)
    if kind == "bool" or kind.startswith("u"):
        return True
    if isinstance(s, Const):
        return s.value >= 0
    if isinstance(s, Position):
        return prove_nonnegative(s.form)
    if isinstance(s, Reduce):
        return s.monoid in (SUM, PRODUCT, MIN) and nonnegative(s.body[0], known)
    return isinstance(s, Apply) and _applied(s, known)


def _applied(s: Apply, known: Known) -> bool:
    a = s.args
    if s.op in ("exp", "sqrt"):
        return True
    if s.op in ("mul", "neg") and type_of(s) == "real":
        return never_negative(polynomial(s), known, s)
    if s.op in ("add", "min") and type_of(s) == "real":
        return all(nonnegative(x, known) for x in a)
    if s.op == "max":
        return any(nonnegative(x, known) for x in a) or any(_negated(x) is y for x, y in (a, a[::-1]))
    if s.op == "recip":
        return nonnegative(a[0], known)
    if s.op == "select":
        return nonnegative(a[1], _under(a[0], True, known)) and nonnegative(a[2], _under(a[0], False, known))
    return s.op.startswith("cast:") and nonnegative(a[0], known)


def _negated(s: Scalar) -> Scalar:
    return s.args[0] if isinstance(s, Apply) and s.op == "neg" else apply("neg", s)


def _under(condition: Scalar, holds: bool, known: Known) -> Known:
    """What is known where a comparison with a constant has that outcome; a NaN has no sign."""
    if not (isinstance(condition, Apply) and condition.op in ("lt", "le")):
        return known
    low, high = condition.args
    value = high if holds else low
    bound = low if holds else high
    if isinstance(bound, Const) and not isinstance(bound.value, bool) and bound.value >= 0:
        return lambda s: s is value or known(s)
    return known


def holds_factor(body: Scalar, weight: Scalar) -> bool:
    """Whether a body is a multiple of a weight, so that it vanishes where the weight does."""
    if body is weight:
        return True
    if isinstance(body, Apply) and body.op == "mul":
        if any(holds_factor(x, weight) for x in body.args):
            return True
        factors: Mapping[Scalar, int] = _powers(weight)
        own = _powers(body)
        return bool(factors) and all(own.get(atom, 0) >= power for atom, power in factors.items())
    if isinstance(body, Apply) and body.op == "neg":
        return holds_factor(body.args[0], weight)
    if isinstance(body, Apply) and body.op == "add":
        return all(holds_factor(x, weight) for x in body.args)
    if isinstance(body, Apply) and body.op == "select":
        if isinstance(weight, Apply) and weight.op == "select" and weight.args[0] is body.args[0]:
            pairs = zip(body.args[1:], weight.args[1:], strict=True)
            return all(_is_zero(x) or (isinstance(y, Const) and not _is_zero(y)) or holds_factor(x, y)
                       for x, y in pairs)  # fmt: skip
        return all(_is_zero(x) or holds_factor(x, weight) for x in body.args[1:])
    return False


def _powers(s: Scalar) -> dict[Scalar, int]:
    """The atoms of a product with their powers; nothing for a sum."""
    p = polynomial(s)
    return dict(next(iter(p))) if len(p) == 1 else {}


def _is_zero(s: Scalar) -> bool:
    return isinstance(s, Const) and s.value == 0
