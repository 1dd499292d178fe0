"""Shared names: axes that must agree get one index name, so that equal things look equal to the laws.

Axes linked by plain reads are joined by union-find: if `P[i, j]` reads `S` at (i, j), the axes of S are i and j. Two
indices that live in one scope are never joined (in A[i, k]·A[k, j] the second read does not join k with i); such a read
of a tensor stays a view, and a read of an input just names its coordinates. A fold inside an expression that mentions
no index around it has a scope of its own: in Σ_j exp(x[i, j] − max_k x[i, k]) both run over j. The names themselves are
chosen in order of first use, so neither the user's spelling nor the order of axes reaches the laws.

Then come reads at equal affine coordinates: where two read one axis of a source at 8a + r and 8b + q, a joins b and q
joins r, each by its coefficient. That links folds over the points of windows, whose indices never stand alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from tang_egg.affine import Affine, AffineLike, Atom, Index
from tang_egg.ir import (
    Domain,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Tensor,
    Test,
    free,
    map_children,
    walk,
)
from tang_egg.rewrite import replace_reads

_TRIED = 4
"""Indices of a coordinate that are joined at once, at most."""

Place = tuple["Tensor | Input", "Index | int"]


@dataclass(frozen=True, slots=True)
class Named:
    """A tensor under shared names: `body` over `axes`. Reads of other tensors inside still name the originals."""

    origin: Tensor
    axes: tuple[Index, ...]
    body: Scalar


class _Classes:
    """Union-find over places; a class knows which indices it stands for in each scope."""

    def __init__(self) -> None:
        self.parent: dict[Place, Place] = {}
        self.scopes: dict[Place, dict[Tensor | Input, frozenset[Index | int]]] = {}
        self.size: dict[Place, Affine] = {}
        self.together: dict[Tensor, frozenset[frozenset[Index]]] = {}

    def add(self, place: Place, size: Affine) -> Place:
        if place not in self.parent:
            self.parent[place] = place
            self.scopes[place] = {place[0]: frozenset((place[1],))}
            self.size[place] = size
        return self.find(place)

    def find(self, place: Place) -> Place:
        while self.parent[place] != place:
            self.parent[place] = self.parent[self.parent[place]]
            place = self.parent[place]
        return place

    def fits(self, a: Place, b: Place) -> bool:
        """Whether the classes of two places are one, or may become one."""
        a, b = self.find(a), self.find(b)
        if a == b or self.size[a] is not self.size[b]:
            return a == b
        small, large = (a, b) if len(self.scopes[a]) <= len(self.scopes[b]) else (b, a)
        other = self.scopes[large]
        return not any(self._live(scope, other.get(scope, own), own) for scope, own in self.scopes[small].items())

    def join(self, a: Place, b: Place) -> None:
        """Makes the classes of two places one, if they fit."""
        a, b = self.find(a), self.find(b)
        if a == b or not self.fits(a, b):
            return
        small, large = (a, b) if len(self.scopes[a]) <= len(self.scopes[b]) else (b, a)
        self.parent[small] = large
        for scope, own in self.scopes.pop(small).items():
            self.scopes[large][scope] = own | self.scopes[large].get(scope, own)

    def _live(self, scope: Tensor | Input, a: frozenset[Index | int], b: frozenset[Index | int]) -> bool:
        """Whether two indices, one of `a` and one of `b`, live at one place of a scope."""
        pairs = [(x, y) for x in a for y in b if x != y]
        if not pairs or isinstance(scope, Input):
            return bool(pairs)
        if scope not in self.together:
            self.together[scope] = _together(scope)
        return any(frozenset(pair) in self.together[scope] for pair in pairs)


def unify(tensors: Sequence[Tensor]) -> dict[Tensor, Named]:
    """The tensors (producers first) under shared index names."""
    classes = _Classes()
    for t in tensors:
        for i in _indices_of(t):
            classes.add((t, i), i.size)
        for read in (s for s in walk(t.body) if isinstance(s, Read)):
            source = read.source
            for axis, c in enumerate(read.coordinates):
                index = c.single() if isinstance(c, Affine) else None
                if index is None:
                    continue
                place: Place
                if isinstance(source, Input):
                    place = (source, axis)
                    classes.add(place, source.shape[axis])
                else:
                    place = (source, source.axes[axis])
                    classes.add(place, source.axes[axis].size)
                classes.join((t, index), place)
    _join_forms(classes, tensors)
    names: dict[Place, Index] = {}
    named: dict[Tensor, Named] = {}
    for t in tensors:
        mapping: dict[Index, Index] = {}
        for i in _indices_of(t):
            root = classes.find((t, i))
            if root not in names:
                names[root] = Index(f"i{len(names)}", classes.size[root])
            mapping[i] = names[root]
        named[t] = Named(t, tuple(mapping[i] for i in t.axes), rename(t.body, mapping))
    return named


@dataclass(frozen=True, slots=True)
class _Form:
    """An affine coordinate of a read in a tensor: the coefficient of each of its indices, in the tensor's order."""

    scope: Tensor
    terms: tuple[tuple[Index, Affine], ...]


def _join_forms(classes: _Classes, tensors: Sequence[Tensor]) -> None:
    """Joins the indices of equal affine coordinates of one source, those first of which one index alone is apart."""
    groups = [forms for forms in _forms(tensors) if len(forms) > 1]
    alone = True
    while True:
        joined = [forms for forms in groups if _join_group(classes, forms, alone)]
        if not joined and not alone:
            return
        alone = bool(joined)


def _forms(tensors: Sequence[Tensor]) -> list[tuple[_Form, ...]]:
    """Coordinates of one axis of one source that are the same up to the names of their indices."""
    same = _representatives(tensors)
    found: dict[tuple[object, ...], dict[_Form, None]] = {}
    for t in tensors:
        order = _indices_of(t)
        for read in (s for s in walk(t.body) if isinstance(s, Read)):
            source = same.get(read.source, read.source) if isinstance(read.source, Tensor) else read.source
            for axis, c in enumerate(read.coordinates):
                if not isinstance(c, Affine) or c.single() is not None or not c.indices():
                    continue
                terms = tuple((i, c.coefficient(i)) for i in order if i in c.indices())
                rest = Affine.of({m: n for m, n in c.terms if not any(isinstance(a, Index) for a in m)})
                kinds = frozenset(Counter((k, i.size) for i, k in terms).items())
                found.setdefault((source, axis, rest, kinds), {})[_Form(t, terms)] = None
    return [tuple(forms) for forms in found.values()]


def _representatives(tensors: Sequence[Tensor]) -> dict[Tensor, Tensor]:
    """For each tensor the first one that differs from it in names alone."""
    first: dict[tuple[tuple[Index, ...], Scalar], Tensor] = {}
    found: dict[Tensor, Tensor] = {}

    def source(s: Tensor | Input) -> Tensor | Input:
        return found.get(s, s) if isinstance(s, Tensor) else s

    for t in tensors:
        mapping = {i: Index(f"i{n}", i.size) for n, i in enumerate(_indices_of(t))}
        body = replace_reads(rename(t.body, mapping), lambda x, at: Read(source(x.source), at, x.at))
        found[t] = first.setdefault((tuple(mapping[i] for i in t.axes), body), t)
    return found


def _join_group(classes: _Classes, forms: Sequence[_Form], alone: bool) -> bool:
    """Joins what fits; says whether anything did. `alone`: only forms of which one index each is not joined yet."""
    joined = False
    different: dict[frozenset[tuple[Place, Affine]], _Form] = {}
    for form in forms:
        for other in different.values():
            pairs = _pairs(classes, other, form, alone)
            for a, b in pairs:
                classes.join(a, b)
            if pairs:
                joined = True
                break
        else:
            different.setdefault(frozenset((classes.find((form.scope, i)), k) for i, k in form.terms), form)
    return joined


def _pairs(classes: _Classes, f: _Form, g: _Form, alone: bool) -> list[tuple[Place, Place]]:
    """The places of two equal forms that are to be joined, by their coefficients; none where some do not fit."""
    left: list[tuple[Place, Affine]] = [((f.scope, i), k) for i, k in f.terms]
    right: list[tuple[Place, Affine]] = [((g.scope, i), k) for i, k in g.terms]
    for a, k in tuple(left):
        match = next((x for x in right if x[1] is k and classes.find(x[0]) == classes.find(a)), None)
        if match:
            left.remove((a, k))
            right.remove(match)
    if len(left) > (1 if alone else _TRIED):
        return []
    for order in permutations(right):
        if all(
            k is own and classes.size[classes.find(a)] is classes.size[classes.find(b)] and classes.fits(a, b)
            for (a, k), (b, own) in zip(left, order, strict=True)
        ):
            return [(a, b) for (a, _), (b, _) in zip(left, order, strict=True)]
    return []


def _indices_of(t: Tensor) -> tuple[Index, ...]:
    """Every index of a tensor in order of first use: its axes, then those that occur in the body."""
    found = dict.fromkeys(t.axes)
    for s in walk(t.body):
        if isinstance(s, Reduce):
            found.update(dict.fromkeys(s.indices))
        elif isinstance(s, Scan):
            found[s.index] = None
    return tuple(found)


def _together(t: Tensor) -> frozenset[frozenset[Index]]:
    """The pairs of a tensor's indices that are both in use somewhere: neither could have the other's name."""
    found = {frozenset(pair) for pair in combinations(t.axes, 2)}
    everywhere = _indices_of(t)
    for s in walk(t.body):
        if isinstance(s, Reduce):
            used = {*s.indices, *(i for x in (*s.body, *s.where.data) for i in free(x))}
            used.update(i for c in s.where.affine for i in c.indices())
            found |= {frozenset((i, j)) for i in s.indices for j in used if i is not j}
        elif isinstance(s, Scan):
            found |= {frozenset((s.index, j)) for j in everywhere if j is not s.index}
    return frozenset(found)


def rename(s: Scalar, mapping: dict[Index, Index]) -> Scalar:
    """`s` with every index, bound ones too, replaced; the mapping must be one-to-one on each scope."""
    swaps: dict[Atom, AffineLike] = dict(mapping.items())
    done: dict[Scalar, Scalar] = {}

    def step(x: Scalar) -> Scalar:
        if isinstance(x, Position):
            return Position(x.form.substitute(swaps))
        if isinstance(x, Test):
            return Test(x.condition.substitute(swaps))
        if isinstance(x, Read):
            at = tuple(c.substitute(swaps) if isinstance(c, Affine) else done[c] for c in x.coordinates)
            return Read(x.source, at, x.at)
        if isinstance(x, Reduce):
            where = Domain(
                tuple(sorted((c.substitute(swaps) for c in x.where.affine), key=repr)),
                tuple(done[d] for d in x.where.data),
            )
            bound = tuple(mapping.get(i, i) for i in x.indices)
            return Reduce(x.monoid, bound, where, tuple(done[b] for b in x.body), x.part, x.at)
        if isinstance(x, Scan):
            index = mapping.get(x.index, x.index)
            return Scan(x.monoid, index, tuple(done[b] for b in x.body), x.part, x.chunk, x.at)
        return map_children(x, lambda child: done[child])

    for x in walk(s):
        done[x] = step(x)
    return done[s]
