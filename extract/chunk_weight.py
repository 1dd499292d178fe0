"""What a prefix sum is over, as factors of two points: what its chunks carry, and what reads that out.

The body of Σ_{s ≤ t} is taken apart into factors. One that is free of s reads a state out (left), one that is free of t
goes into it (right). A sum over further indices inside is opened: they become axes of the state. An exponential of a
difference A[t] − A[s] is a gate: it goes from any point to any other by way of points between, and so moves the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from tang_egg.affine import AffineLike, Atom, Index, affine
from tang_egg.errors import GraphError
from tang_egg.ir import Apply, Domain, Position, Read, Reduce, Scalar, Tensor, apply, const, free, map_children, walk
from tang_egg.monoid import SUM
from tang_egg.program import unique
from tang_egg.rewrite import substitute
from tang_egg.text import print_scalar


@dataclass(frozen=True, slots=True)
class Term:
    """±scales · value, a term of an exponent; `scales` are free of both points."""

    sign: int
    scales: tuple[Scalar, ...]
    value: Scalar

    def at(self, mapping: Mapping[Index, AffineLike]) -> Scalar:
        """The term with points put in."""
        made = reduce(lambda a, b: apply("mul", a, b), (*self.scales, self.value))
        there = substitute(made, dict(mapping))
        return there if self.sign > 0 else apply("neg", there)


@dataclass(frozen=True, slots=True)
class Gate:
    """exp(Σ moving + Σ leaving + Σ entering): `moving` is A[t] − A[s], the others mention t only or s only."""

    t: Index
    s: Index
    moving: tuple[Term, ...]
    leaving: tuple[Term, ...]
    entering: tuple[Term, ...]

    def between(self, to: AffineLike, start: AffineLike) -> Scalar:
        """The gate from one point to another, less what belongs to the ends."""
        return self._exp(self.moving, {self.t: to, self.s: start})

    def out(self, to: AffineLike, start: AffineLike) -> Scalar:
        """The gate from a carried state to the point that reads it."""
        return self._exp((*self.moving, *self.leaving), {self.t: to, self.s: start})

    def into(self, to: AffineLike, start: AffineLike) -> Scalar:
        """The gate from a point to the state that takes it up."""
        return self._exp((*self.moving, *self.entering), {self.t: to, self.s: start})

    def _exp(self, terms: Iterable[Term], points: Mapping[Index, AffineLike]) -> Scalar:
        return apply("exp", reduce(lambda a, b: apply("add", a, b), (x.at(points) for x in terms)))


@dataclass(slots=True)
class Weight:
    """The factors of a body: body = Σ over `inner` where `where` of left · right · gates."""

    t: Index
    s: Index
    taken: set[str]
    left: list[Scalar] = field(default_factory=list)
    right: list[Scalar] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    inner: list[Index] = field(default_factory=list)
    where: Domain = field(default_factory=Domain)

    def take(self, s: Scalar) -> None:
        """Takes up one more factor. Raises GraphError for one that mixes both points in another way."""
        known = free(s)
        if self.s not in known:
            self.left.append(s)
        elif self.t not in known:
            self.right.append(s)
        elif isinstance(s, Apply) and s.op == "mul":
            for a in s.args:
                self.take(a)
        elif isinstance(s, Apply) and s.op == "neg":
            self.left.append(const(-1.0))
            self.take(s.args[0])
        elif isinstance(s, Apply) and s.op == "exp":
            self.gates.append(self._gate(s))
        elif isinstance(s, Reduce) and s.monoid is SUM and not self._mixes(s.where):
            self._open(s)
        else:
            raise self._refusal(s)

    def _mixes(self, where: Domain) -> bool:
        ends = {self.t, self.s}
        return any(ends & c.indices() for c in where.affine) or any(ends & free(d) for d in where.data)

    def _open(self, s: Reduce) -> None:
        """The indices of a sum inside become axes of the state."""
        renamed = {i: Index(unique(i.name, self.taken), i.size) for i in s.indices}
        self.inner += renamed.values()
        where = moved(s.where, renamed)
        self.where = Domain((*self.where.affine, *where.affine), (*self.where.data, *where.data))
        self.take(substitute(s.body[0], dict(renamed)))

    def _gate(self, s: Apply) -> Gate:
        """The exponential of a difference of the same quantity at both points."""
        leaving: list[Term] = []
        entering: list[Term] = []
        moving: list[Term] = []
        for term in self._terms(s.args[0], (), 1):
            known = free(term.value)
            if self.s not in known:
                leaving.append(term)
            elif self.t not in known:
                entering.append(term)
            else:
                moving += self._distance(term, leaving, s)
        for x in list(leaving):
            there = replace(x, sign=-x.sign, value=substitute(x.value, {self.t: affine(self.s)}))
            if self.t in free(x.value) and there in entering:
                leaving.remove(x)
                entering.remove(there)
                moving += (x, there)
        # exp(P[t]) · exp(R[s]) may overflow where the exponential of the sum does not
        if not moving or (any(self.t in free(x.value) for x in leaving) and entering):
            raise self._refusal(s)
        return Gate(self.t, self.s, tuple(moving), tuple(leaving), tuple(entering))

    def _terms(self, s: Scalar, scales: tuple[Scalar, ...], sign: int) -> list[Term]:
        ends = {self.t, self.s}
        if isinstance(s, Apply) and s.op == "add":
            return [x for a in s.args for x in self._terms(a, scales, sign)]
        if isinstance(s, Apply) and s.op == "neg":
            return self._terms(s.args[0], scales, -sign)
        if isinstance(s, Apply) and s.op == "mul":
            for a, b in (s.args, s.args[::-1]):
                if not ends & free(a):
                    return self._terms(b, (*scales, a), sign)
        return [Term(sign, scales, s)]

    def _distance(self, term: Term, leaving: list[Term], whole: Scalar) -> list[Term]:
        """A distance t − s, times what is constant; what is added to it goes to `leaving`."""
        value = term.value
        inside = value.args[0] if isinstance(value, Apply) and value.op == "cast:real" else None
        if not isinstance(inside, Position):
            raise self._refusal(whole)
        slope = inside.form.coefficient(self.t)
        rest = inside.form - (affine(self.t) - self.s) * slope if slope.value is not None else inside.form
        if {self.t, self.s} & rest.indices():
            raise self._refusal(whole)
        if rest.value != 0:
            leaving.append(replace(term, value=apply("cast:real", Position(rest))))
        return [replace(term, value=apply("cast:real", Position(inside.form - rest)))]

    def _refusal(self, s: Scalar) -> GraphError:
        text = print_scalar(s)
        return GraphError(
            f"a prefix sum cannot be cut into chunks: a factor mixes {self.t} and {self.s}",
            where=text if len(text) <= 120 else text[:119] + "…",
            mend="factors must be of one point each, sums of such products, or exponentials of a difference"
            " A[t] - A[s]; leave this axis whole",
        )


def opened(body: Scalar, t: Index, s: Index) -> Scalar:
    """`body` with tensors that it reads at both points put in, so that their factors show."""
    while True:
        mixed = {
            x: substitute(x.source.body, dict(zip(x.source.axes, x.coordinates, strict=True)))
            for x in walk(body)
            if isinstance(x, Read) and isinstance(x.source, Tensor) and {t, s} <= free(x)
        }
        if not mixed:
            return body
        body = _replaced(body, mixed)


def _replaced(root: Scalar, new: Mapping[Read, Scalar]) -> Scalar:
    done: dict[Scalar, Scalar] = {}
    for x in walk(root):
        done[x] = new[x] if isinstance(x, Read) and x in new else map_children(x, lambda c: done[c])
    return done[root]


def moved(where: Domain, points: Mapping[Index, AffineLike]) -> Domain:
    """A domain with points put in."""
    atoms: dict[Atom, AffineLike] = {}
    atoms.update(points.items())
    return Domain(
        tuple(c.substitute(atoms) for c in where.affine), tuple(substitute(d, dict(points)) for d in where.data)
    )


def product(factors: Iterable[Scalar]) -> Scalar:
    """The product of some factors."""
    listed = list(factors)
    return reduce(lambda a, b: apply("mul", a, b), listed) if listed else const(1.0)
