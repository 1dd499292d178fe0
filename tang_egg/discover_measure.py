"""Measured claims: what an equality needs, on which values it holds, and what it does to rounding.

Each claim is tried on draws of its own, over 0 to 7 points. An equality that fails is tried again where some variables
are positive and some point is in every domain; the weakest demand under which it never failed is what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tang_egg.affine import Index, affine
from tang_egg.discover_prove import Holding
from tang_egg.discover_terms import FOLDS, Array, Draws, Variable, agree, draws, evaluate
from tang_egg.extract.terms import as_domain
from tang_egg.interpret import evaluate as interpret
from tang_egg.ir import Apply, Const, Input, Read, Reduce, Scalar
from tang_egg.monoid import BUILT_IN
from tang_egg.rules.pattern import Node, Pattern, Var, pattern_variables

_POINTS = (0, 1, 2, 5, 7)
_TRIES, _ROWS = 2, 16
_WIDE = np.longdouble
_TOLERANCE = 1e-14
"""Relative, in extended precision."""


@dataclass(frozen=True, slots=True)
class Marks:
    """`needs`: its conditions; `holds` and `rounding`: the marks of a law, from left to right."""

    needs: Holding
    holds: str
    rounding: str


def occurring(variables: Sequence[Variable], *sides: Pattern) -> tuple[Variable, ...]:
    """The variables that occur in some terms."""
    found = {v.name for s in sides for v in pattern_variables(s) if isinstance(v, Var)}
    return tuple(v for v in variables if v.name in found)


def constructors(*sides: Pattern) -> set[str]:
    """The operations and folds in some terms, folds as `fold:sum`."""
    found: set[str] = set()
    for p in sides:
        if isinstance(p, Node):
            if p.constructor != "Lit":
                found.add(f"fold:{p.args[0]}" if p.constructor == "Red" else str(p.args[0]))
            found |= constructors(*(a for a in p.args if isinstance(a, Pattern)))
    return found


def needs(left: Pattern, right: Pattern, variables: Sequence[Variable], seed: int) -> Holding | None:
    """The weakest conditions under which two terms never differed; None where they differ under all of them."""
    used = occurring(variables, left, right)
    reals = [v.name for v in used if v.type == "real"]
    strongest = Holding(frozenset(reals), any(c.startswith("fold:") for c in constructors(left, right)))
    if not _holds(left, right, used, strongest, seed):
        return None
    best = strongest
    if best.inhabited and _holds(left, right, used, replace(best, inhabited=False), seed):
        best = replace(best, inhabited=False)
    for name in reals:
        weaker = replace(best, positive=best.positive - {name})
        if _holds(left, right, used, weaker, seed):
            best = weaker
    return best


def _holds(left: Pattern, right: Pattern, used: tuple[Variable, ...], holding: Holding, seed: int) -> bool:
    for points, given in _settings(used, holding, seed):
        sides = [evaluate(side, given, points, _WIDE) for side in (left, right)]
        a, b = np.broadcast_arrays(*sides)
        if not agree(a, b, _TOLERANCE):
            return False
    return True


def _settings(used: tuple[Variable, ...], holding: Holding, seed: int) -> Iterator[tuple[int, Draws]]:
    rng = np.random.default_rng(seed + 7)
    for points in _POINTS:
        if holding.inhabited and not points:
            continue
        for _ in range(_TRIES):
            yield points, _respecting(draws(used, points, rng, favourable=False, count=_ROWS), used, holding, points)


def _respecting(given: dict[str, Array], used: tuple[Variable, ...], holding: Holding, points: int) -> Draws:
    for v in used:
        if v.name in holding.positive:
            given[v.name] = np.where(given[v.name] == 0.0, 0.5, np.abs(given[v.name]))
        if v.type == "bool" and v.bound and holding.inhabited and points:
            some = np.random.default_rng(len(v.name) + ord(v.name[0])).integers(0, points, len(given[v.name]))
            given[v.name][np.arange(len(some)), some] = True
    return given


# Marks.


def marks(left: Pattern, right: Pattern, variables: Sequence[Variable], holding: Holding, seed: int) -> Marks:
    """The marks of a law from `left` to `right` under its conditions."""
    used = occurring(variables, left, right)
    holds = "ieee" if _on_all_values(left, right, used, holding, seed) else "finite"
    return Marks(holding, holds, _rounding(left, right, used, holding, seed))


def _on_all_values(left: Pattern, right: Pattern, used: tuple[Variable, ...], holding: Holding, seed: int) -> bool:
    """Whether no infinity, NaN, signed zero or huge value told the sides apart. Zeros of folds may differ in sign."""
    rng = np.random.default_rng(seed + 11)
    palette = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324, -1e-310, 1e300, -1e300, 750.0, -750.0, 1.0, -2.5])
    folds = any(c.startswith("fold:") for c in constructors(left, right))
    for points in _POINTS:
        if holding.inhabited and not points:
            continue
        for share in (0.1, 0.5, 0.9):
            given = draws(used, points, rng, favourable=False, count=4 * _ROWS)
            for v in used:
                if v.type == "real":
                    special = rng.random(given[v.name].shape) < share
                    given[v.name] = np.where(special, rng.choice(palette, special.shape), given[v.name])
            a, b = _both(left, right, _respecting(given, used, holding, points), points, np.float64)
            if not _near_alike(a, b):
                return False
            if not folds and a.dtype.kind == "f" and np.any((np.signbit(a) != np.signbit(b)) & ~np.isnan(a)):
                return False
    return True


def _near_alike(a: Array, b: Array) -> bool:
    """Whether arrays agree up to a relative error, however small the values are."""
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= 1e-9 * np.maximum(np.abs(a), np.abs(b))
    return bool(np.all((near & np.isfinite(a) & np.isfinite(b)) | (a == b) | (np.isnan(a) & np.isnan(b))))


def _both(left: Pattern, right: Pattern, given: Draws, points: int, kind: Any) -> tuple[Array, Array]:
    a, b = np.broadcast_arrays(evaluate(left, given, points, kind), evaluate(right, given, points, kind))
    return a, b


_ORDER_ONLY = frozenset({"add", "neg", "mul", "fold:sum", "fold:product", "max", "min", "fold:max", "fold:min"})


def _rounding(left: Pattern, right: Pattern, used: tuple[Variable, ...], holding: Holding, seed: int) -> str:
    """In single precision: whether bits differ, and whether the right side loses what the left does not.

    It may cancel or overflow. Values are moderate, wide (±120), near to each other's negatives, or near the ends of
    the range.
    """
    rng = np.random.default_rng(seed + 13)
    exact, harsh, scaled = True, False, False
    for kind, make in _KINDS.items():
        given = make(used, 5, rng)
        for v in used:
            if v.type == "real":
                given[v.name] = given[v.name].astype(np.float32)
        settled = _respecting(given, used, holding, 5)
        a, b = _both(left, right, settled, 5, np.float32)
        if a.dtype.kind != "f":
            exact &= bool(np.array_equal(a, b))
            continue
        exact &= bool(np.all((a == b) | (np.isnan(a) & np.isnan(b))))
        wide = _both(left, right, settled, 5, _WIDE)
        with np.errstate(all="ignore"):  # where extended precision is not enough, nobody knows which side is right
            known = np.abs(wide[0] - wide[1]) <= 1e-9 * np.abs(wide[0])
        worse = _worse(a, b, np.where(known, wide[0], np.nan))
        harsh |= worse and kind != "ends"
        scaled |= worse and kind == "ends"
    if exact:
        return "exact"
    if harsh:
        return "algebraic"
    plain = constructors(left, right) <= _ORDER_ONLY
    return "reassociates" if plain and not scaled else "rescales"


def _worse(a: Array, b: Array, reference: Array) -> bool:
    """Whether the second is much farther from the reference than the first, or not finite where the first is right."""
    with np.errstate(all="ignore"):
        sound = np.isfinite(a) & np.isfinite(reference)
        size = np.maximum(np.abs(reference), np.finfo(np.float32).tiny)
        first, second = (np.abs(x.astype(_WIDE) - reference) / size for x in (a, b))
        sound &= first < 1e-3
        if not sound.any():
            return False
        lost = sound & (~np.isfinite(b) | (second > 1e-2))
        share = float(lost.sum()) / float(sound.sum())
        near = [float(np.quantile(np.where(np.isfinite(e), e, 1.0)[sound].astype(float), 0.9)) for e in (first, second)]
    return share > 0.02 or near[1] > 64.0 * max(near[0], 2.0**-24)


def _moderate(used: tuple[Variable, ...], points: int, rng: np.random.Generator) -> dict[str, Array]:
    return draws(used, points, rng, favourable=False, count=128)


def _scaled(width: float) -> Callable[[tuple[Variable, ...], int, np.random.Generator], dict[str, Array]]:
    def make(used: tuple[Variable, ...], points: int, rng: np.random.Generator) -> dict[str, Array]:
        given = _moderate(used, points, rng)
        return {v.name: given[v.name] * width if v.type == "real" else given[v.name] for v in used}

    return make


def _near(used: tuple[Variable, ...], points: int, rng: np.random.Generator) -> dict[str, Array]:
    """Values that are near to the negatives of others: a common size times −1, 0 or 1, and something small."""
    given = _moderate(used, points, rng)
    for v in used:
        if v.type == "real":
            shape = given[v.name].shape
            given[v.name] = 4096.0 * rng.integers(-1, 2, shape) + rng.uniform(-1.0, 1.0, shape)
    return given


def _opposed(used: tuple[Variable, ...], points: int, rng: np.random.Generator) -> dict[str, Array]:
    """Values that are all near to one array or to its negative."""
    given = _moderate(used, points, rng)
    common = rng.uniform(1e3, 8e3, (len(next(iter(given.values()))), max(points, 1)))
    for v in used:
        if v.type == "real":
            shape = given[v.name].shape
            sign = rng.choice([-1.0, 1.0], (shape[0], 1))
            given[v.name] = sign * common[:, : shape[1]] + rng.uniform(-1.0, 1.0, shape)
    return given


def _ends(used: tuple[Variable, ...], points: int, rng: np.random.Generator) -> dict[str, Array]:
    """Values near both ends of the range of the type, of one sign: products of some stay inside it."""
    given = _moderate(used, points, rng)
    for v in used:
        if v.type == "real":
            shape = given[v.name].shape
            scale = rng.choice([2.0**-100, 2.0**-20, 1.0, 2.0**20, 2.0**126], (shape[0], 1))
            given[v.name] = scale * rng.uniform(1.0, 2.0, shape)
    return given


_KINDS = {"moderate": _moderate, "wide": _scaled(40.0), "near": _near, "opposed": _opposed, "ends": _ends}


# The interpreter as a second opinion.


def confirmed(left: Pattern, right: Pattern, variables: Sequence[Variable], holding: Holding, seed: int) -> bool:
    """Whether the interpreter of the language agrees that two terms are equal, on fresh draws of sizes 0 to 7."""
    used = occurring(variables, left, right)
    for points, given in _settings(used, holding, seed + 17):
        row, index = Index("row", affine(_ROWS)), Index("j", affine(points))
        arrays = {v.name: given[v.name] if v.bound else given[v.name][:, 0] for v in used}
        reads = {
            v.name: Read(
                Input(
                    v.name, (row.size, index.size) if v.bound else (row.size,), "f64" if v.type == "real" else "bool"
                ),
                (affine(row), affine(index)) if v.bound else (affine(row),),
            )
            for v in used
        }
        bound = any(v.bound for v in used) and not any(c.startswith("fold:") for c in constructors(left, right))
        axes = (row, index) if bound else (row,)
        a, b = (interpret(as_scalar(side, reads, index), axes, arrays) for side in (left, right))
        if not agree(a, b, 1e-9):
            return False
    return True


def as_scalar(p: Pattern, reads: dict[str, Read], index: Index) -> Scalar:
    """A term as an expression of the language, its variables being reads."""
    if isinstance(p, Var):
        return reads[p.name]
    assert isinstance(p, Node)
    if p.constructor == "Lit":
        return Const(p.args[0] == "True", "bool") if p.args[1] == "bool" else Const(float(str(p.args[0])))
    operands = [as_scalar(a, reads, index) for a in p.args if isinstance(a, Pattern)]
    if p.constructor == "Red":
        assert str(p.args[0]) in FOLDS
        return Reduce(BUILT_IN[str(p.args[0])], (index,), as_domain(operands[0]), (operands[1],))
    return Apply(str(p.args[0]), tuple(operands))
