"""Whether the numbers of a pass stay in range while its statistics change, and whether nothing cancels.

The statistics of a pass are replaced by expressions over its state, and a state by what bounds it: a maximum is not
below any of its elements, a sum of values not below 0 not below any of them. So an exponent such as x − max x is shown
to be at most 0. What remains may also be a value from outside of the pass: the greatest element takes on that bound, so
the finished exponentials are as large.

A sum that is carried by shifts does not cancel where its terms are
    centred: each statistic is a mean under weights not below 0, so no further away than the elements are apart, or
    of one sign: so is what each shift adds, and |terms| only grow to what they are in the end, or
    of one sign beside terms that do not move, once in each product: their rounding is in the finished terms as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tang_egg.affine import Index
from tang_egg.extract.signs import (
    Polynomial,
    added,
    atoms,
    holds_factor,
    multiplied,
    never_negative,
    nonnegative,
    polynomial,
    scaled,
    taken_apart,
)
from tang_egg.ir import Apply, Const, Scalar, StateRef, Statistic, children, free, walk
from tang_egg.monoid import MAX, MIN, SUM, Monoid, is_constant, replace_state

TRIES = 64
"""Ways to bound an expression that are tried."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a component of a pass holds: the fold of `body`, which may mention states in the place of statistics.

    `outside`: the body is a value from outside the pass, and so is the state of points, if there are any.
    `follows`: a follower of the pass.
    """

    monoid: Monoid
    body: Scalar
    outside: bool = False
    follows: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a pass: its indices, its components by name, and its statistics over them."""

    indices: frozenset[Index]
    held: Mapping[str, Held]
    statistics: tuple[Scalar, ...]

    def at(self, s: Scalar) -> Scalar:
        """A lift with its statistics as expressions over the state."""
        return replace_state(s, lambda x: self.statistics[x.part] if isinstance(x, Statistic) else None)

    # -- bounds

    def uppers(self, p: Polynomial, tries: list[int]) -> Iterator[Polynomial]:
        """Polynomials without states that are nowhere below `p`."""
        tries[0] -= 1
        states = [a for a in atoms(p) if _has_state(a)]
        if not states:
            yield p
        for moving in states if tries[0] >= 0 else ():
            parts = taken_apart(p, moving)
            if parts is not None:
                for bound in self._of(moving, parts[0]):
                    yield from self.uppers(added(multiplied(parts[0], bound), parts[1]), tries)

    def _of(self, moving: Scalar, factor: Polynomial) -> Iterator[Polynomial]:
        """What may stand in the place of a state with a factor, for the product not to become less."""
        if isinstance(moving, StateRef) and self.held[moving.component].outside:
            yield polynomial(self.held[moving.component].body)
        elif never_negative(factor, self._known):
            yield from self._bounds(moving, above=True)
        elif never_negative(scaled(factor, -1.0), self._known):
            yield from self._bounds(moving, above=False)

    def _known(self, s: Scalar) -> bool:
        if not isinstance(s, StateRef) or s.component not in self.held:
            return False
        own = self.held[s.component]
        return (own.outside or own.monoid in (SUM, MIN)) and nonnegative(own.body, self._known)

    def _bounds(self, s: Scalar, above: bool) -> Iterator[Polynomial]:
        """Bounds of a state, or of an extremum or logarithm of states."""
        if isinstance(s, StateRef):
            own = self.held[s.component]
            tight = own.monoid is MIN if above else own.monoid is MAX
            if tight or (not above and own.monoid is SUM and nonnegative(own.body, self._known)):
                yield polynomial(own.body)
        elif isinstance(s, Apply) and s.op == ("min" if above else "max"):
            yield from map(polynomial, s.args)
        elif isinstance(s, Apply) and s.op == "log" and not above:
            for x in _summands(s.args[0]):
                rest = [y for y in _summands(s.args[0]) if y is not x]
                exponent = self._exponent(x)
                if exponent is not None and all(nonnegative(y, self._known) for y in rest):
                    yield polynomial(exponent)

    def _exponent(self, s: Scalar) -> Scalar | None:
        """z where a state is a sum of exp(z)."""
        if not isinstance(s, StateRef):
            return None
        own = self.held[s.component]
        if own.monoid is SUM and isinstance(own.body, Apply) and own.body.op == "exp":
            return own.body.args[0]
        return None

    # -- what may be asked of a pass

    def bounded(self, exponent: Scalar) -> bool:
        """Whether an exponent of a lift is nowhere above what it takes on in the end."""
        whole = self.at(exponent)
        moving = [x for x in walk(whole) if isinstance(x, StateRef) and not self.held[x.component].outside]
        for p in self.uppers(polynomial(whole), [TRIES]):
            # a value from outside may remain: an element takes on the bound of one statistic, perhaps not of several
            rest = {m: f for m, f in p.items() if len(moving) > 1 or any(free(a) & self.indices for a, _ in m)}
            if never_negative(scaled(rest, -1.0), self._known):
                return True
        return False

    def one_sign(self, term: Scalar, beside: bool) -> bool:
        """Whether a term of a lift has one sign; `beside`: or what moves in it has, beside summands that do not."""
        whole = polynomial(self.at(term))
        for sign in (1.0, -1.0):
            p = scaled(whole, sign)
            fixed = {m: f for m, f in p.items() if not any(_has_state(a) for a, _ in m)}
            for bound in self.uppers(p, [TRIES]):
                rest = {m: f for m, f in bound.items() if not (beside and fixed.get(m) == f)}
                if never_negative(scaled(rest, -1.0), self._known):
                    return True
        return False

    def is_centre(self, statistic: Scalar) -> bool:
        """Whether a statistic is a multiple of a mean under weights not below 0, or a sum of such and fixed values."""
        return all(self._is_mean(dict(m)) or self._is_fixed(dict(m)) for m in polynomial(statistic))

    def _is_fixed(self, powers: Mapping[Scalar, int]) -> bool:
        states = [x for a in powers for x in walk(a) if isinstance(x, StateRef)]
        return all(self.held[x.component].outside for x in states)

    def _is_mean(self, powers: Mapping[Scalar, int]) -> bool:
        moving = {a: n for a, n in powers.items() if not self._is_fixed({a: n})}
        totals = [a for a in moving if isinstance(a, StateRef)]
        inverses = [a for a in moving if isinstance(a, Apply) and a.op == "recip"]
        if len(moving) != 2 or len(totals) != 1 or len(inverses) != 1 or any(n != 1 for n in moving.values()):
            return False
        total = self.held[totals[0].component]
        parts = _summands(inverses[0].args[0])
        weights = [x for x in parts if isinstance(x, StateRef) and not self.held[x.component].outside]
        if len(weights) != 1 or total.monoid is not SUM or total.follows != self.held[weights[0].component].follows:
            return False
        weight = self.held[weights[0].component]
        shrunk = [x for x in parts if x is not weights[0]]
        return (
            weight.monoid is SUM
            and nonnegative(weight.body, self._known)
            and all(nonnegative(x, self._known) for x in shrunk)
            and (is_constant(weight.body, 1.0) or holds_factor(total.body, weight.body))
        )

    def vanishing(self) -> dict[str, None]:
        """Sums of weights by which statistics divide, and which may be 0 although points were seen."""
        found: dict[str, None] = {}
        for s in walk(*self.statistics):
            if not (isinstance(s, Apply) and s.op in ("recip", "log")):
                continue
            parts = _summands(s.args[0])
            if any(isinstance(x, Const) and x.value > 0 for x in parts):
                continue
            for x in parts:
                if isinstance(x, StateRef) and not self._is_above_zero(x):
                    found[x.component] = None
        return found

    def _is_above_zero(self, s: StateRef) -> bool:
        """Whether a state of points is surely above 0: a count, or exponentials of which one takes on its bound."""
        own = self.held[s.component]
        exponent = self._exponent(s)
        return own.outside or is_constant(own.body, 1.0) or (exponent is not None and self.bounded(exponent))


def unsafe(state: State, body: Scalar, rebase: Scalar) -> str:
    """Why the numbers of a follower may leave their range or cancel, or nothing."""
    exponentials = [x for x in walk(body) if isinstance(x, Apply) and x.op == "exp" and mentions(x.args[0])]
    for e in exponentials:
        if not state.bounded(e.args[0]):
            return "an exponential is not bounded by its statistic"
    moved = any(isinstance(x, Apply) and x.op == "add" for x in walk(rebase) if _has_state(x))
    if moved:
        terms = _moving(body)
        once = len(terms) < 2
        for t in terms:
            means = {x.part for x in walk(t) if isinstance(x, Statistic)}
            if not (all(state.is_centre(state.statistics[part]) for part in means) or state.one_sign(t, once)):
                return "a sum that is carried by shifts is not centred"
    return ""


def mentions(s: Scalar) -> bool:
    """Whether an expression mentions a statistic."""
    return any(isinstance(x, Statistic) for x in walk(s))


def _has_state(s: Scalar) -> bool:
    return any(isinstance(x, StateRef) for x in walk(s))


def _summands(s: Scalar) -> list[Scalar]:
    if isinstance(s, Apply) and s.op == "add":
        return [x for a in s.args for x in _summands(a)]
    return [s]


def _moving(body: Scalar) -> list[Scalar]:
    """The largest sums of a body, outside exponentials, that mention a statistic; each as often as it is a factor."""
    if not mentions(body) or (isinstance(body, Apply) and body.op == "exp"):
        return []
    if isinstance(body, Statistic) or (isinstance(body, Apply) and body.op in ("add", "neg") and _linear(body)):
        return [body]
    found = [_moving(c) for c in children(body)]
    if isinstance(body, Apply) and body.op == "mul":
        return [x for part in found for x in part]
    # other operations have one of their operands, or a sum of them: what counts is the most of any
    distinct = list(dict.fromkeys(x for part in found for x in part))
    most = max((len(part) for part in found), default=0)
    return distinct if most < 2 else [x for x in distinct for _ in range(2)]


def _linear(s: Scalar) -> bool:
    """Whether statistics stand in a sum as terms with factors that do not mention any, outside exponentials."""
    for m in polynomial(s):
        powers = dict(m)
        if sum(n for a, n in powers.items() if mentions(a)) > 1:
            return False
        if any(mentions(a) and not isinstance(a, Statistic) for a in powers):
            return False
    return True
