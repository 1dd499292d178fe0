"""Candidate terms: for each class of a saturated window, the few best expressions of the language it can become.

Built bottom-up. A class that may be written to memory also offers a *read* of itself (a placeholder input), so that
inlining and materialising compete; the integer program decides between them, this module only keeps both alive.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tang_egg.affine import Affine, Index, affine
from tang_egg.bounds import prove_nonnegative
from tang_egg.cost.roofline import Costs
from tang_egg.egraph import ClassId, ENode
from tang_egg.errors import GraphError
from tang_egg.extract.passes import Follower, Refused, build_cascade, shift
from tang_egg.extract.siblings import join_siblings
from tang_egg.ir import (
    Apply,
    Const,
    Coordinate,
    Domain,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    StateRef,
    Statistic,
    Tensor,
    Test,
    children,
    free,
    sources,
    type_of,
    walk,
)
from tang_egg.monoid import Monoid
from tang_egg.rewrite import substitute
from tang_egg.saturate import Saturation

NESTING, SEQUENCE = 2, 4
"""The space of kernels: folds nest at most so deep in one kernel, and at most so many wait for one another."""
NARROW = ("f16", "bf16")
"""Types of storage that matrix units multiply."""
REGROUPING = ("fold.reassociate_shorter", "fold.interchange_shorter")
"""Laws that put a sum inside of another one to be stored: Σ[i] f · (Σ[j] u)."""


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """One term of a class: its e-node and the variants below it; `node` is None for a read of the class itself.

    Compared by identity: variants share those below them, and comparing by value would walk the unshared tree.
    """

    term: Scalar
    cost: float
    owner: ClassId
    node: ENode | None
    below: tuple[Variant, ...] = ()


@dataclass(slots=True)
class Terms:
    """All candidate terms of one window."""

    saturation: Saturation
    costs: Costs
    real: str = "f32"
    daring: bool = False
    declared: dict[ClassId, str] = field(default_factory=dict)
    axes: dict[ClassId, tuple[Index, ...]] = field(default_factory=dict)
    names: dict[ClassId, str] = field(default_factory=dict)
    placeholders: dict[Input, ClassId] = field(default_factory=dict)
    found: dict[ClassId, list[Variant]] = field(default_factory=dict)
    refused: dict[tuple[ClassId, str], Scalar] = field(default_factory=dict)
    _sizes: dict[Scalar, int] = field(default_factory=dict)
    _depths: dict[Scalar, tuple[int, int]] = field(default_factory=dict)
    _one_pass: dict[Scalar, bool] = field(default_factory=dict)
    _counts: dict[Scalar, int] = field(default_factory=dict)
    _stored: dict[Scalar, frozenset[Input]] = field(default_factory=dict)
    _open: dict[Scalar, frozenset[Scan]] = field(default_factory=dict)
    _outside: dict[Scalar, frozenset[Input]] = field(default_factory=dict)
    _uses: dict[ClassId, int] = field(default_factory=dict)
    _inner: set[ClassId] = field(default_factory=set)
    _carried: dict[tuple[str, str, ClassId], list[ClassId]] = field(default_factory=dict)

    def run(self, tensors: Iterable[tuple[Tensor, tuple[Index, ...], ClassId]]) -> None:
        """Fills `found`. `tensors`: the window's tensors with their axes under shared names, and their classes."""
        shot = self.saturation.snapshot
        inner_folds: set[ClassId] = set()
        tensors = list(tensors)
        read = {s for t, _, _ in tensors for s in sources(t.body)}
        for t, axes, c in tensors:
            shared = self.axes.setdefault(c, axes)
            # one copy serves tensors of equal elements: an axis that one of them lacks may have no point
            kept = tuple(i for i in shared if i in axes or prove_nonnegative(i.size - 1))
            # nor has a reader a point to read at, along an axis that the elements do not depend on
            self.axes[c] = tuple(i for i in kept if self._readable(c, i)) if t in read else kept
            self.names.setdefault(c, t.name)
            if self.costs.machine.units and type_of(t.body) == "real":
                kind = t.dtype if t.dtype in NARROW else self.real
                self.declared[c] = kind if self.declared.get(c, kind) == kind else self.real
            inner_folds |= self._inner_folds(t)
        inner_folds |= self._regrouped()
        for monoid, index, f, t_ in shot.facts.get("carried", ()):
            self._carried.setdefault((monoid, index, f), []).append(t_)
        for c in shot.classes:
            if shot.free.get(c, frozenset()) & {"%h", "%d"}:
                self._inner.add(c)
            elif c not in self.axes and c in inner_folds:
                known = self.saturation.encoding.indices
                names = {x for n in shot.free.get(c, frozenset()) for x in n.split("×")}
                listed = sorted(names, key=lambda n: (len(n), n))
                if all(n in known for n in listed):
                    self.axes[c] = tuple(known[n] for n in listed)
        self._store_at_values()
        for c in shot.classes:
            self.found.setdefault(c, [])
        for n in self.saturation.source.values():
            for child in dict.fromkeys(class_arguments(n)):
                self._uses[child] = self._uses.get(child, 0) + 1
        users = self._users()
        level = self._levels()
        pending = sorted(shot.classes, key=lambda c: level.get(c, 0))
        for _ in range(40):
            changed: dict[ClassId, None] = {}
            for c in pending:
                if self._improve(c):
                    changed.update(dict.fromkeys(users.get(c, ())))
                    changed[c] = None
            if not changed:
                break
            pending = sorted(changed, key=lambda c: level.get(c, 0))

    def _readable(self, c: ClassId, axis: Index) -> bool:
        """Whether a class along an axis has a position at which all that it means can be read."""
        depends = self.saturation.snapshot.free.get(c)
        return depends is None or self.saturation.encoding.name(axis) in depends or prove_nonnegative(axis.size - 1)

    def _inner_folds(self, t: Tensor) -> set[ClassId]:
        """Folds of a tensor that the user wrote as one expression of several: each may be stored on its own."""
        encoding = self.saturation.encoding
        folds = [s for s in walk(encoding.named[t].body) if isinstance(s, (Reduce, Scan))]
        if len({s.body for s in folds}) < 2:
            return set()
        roots = self.saturation.snapshot.roots
        return {roots[encoding.terms[s]] for s in folds if s in encoding.terms}

    def _regrouped(self) -> set[ClassId]:
        """The sums that a law moved inside others, since they are worth storing: they have fewer elements."""
        shot = self.saturation.snapshot
        found: set[ClassId] = set()
        for law, old, new in shot.edges:
            if law not in REGROUPING:
                continue
            factors = [a for n in shot.classes.get(new.args[3], ()) if n.args[0] == "mul" for a in class_arguments(n)]
            found |= {
                c for c in factors for n in shot.classes[c] if n.constructor == "Red" and n.args[1] == old.args[1]
            }
        return found

    def _store_at_values(self) -> None:
        """A stored tensor seen at a value may be stored as well: only what is asked for is then computed."""
        shot, encoding = self.saturation.snapshot, self.saturation.encoding
        for c, nodes in shot.classes.items():
            for n in nodes:
                if n.constructor != "At" or n.args[2] not in self.axes or c in self.axes or c in self._inner:
                    continue
                incoming = sorted(shot.free.get(n.args[1], frozenset()), key=lambda name: (len(name), name))
                shared = dict.fromkeys(
                    i for axis in self.axes[n.args[2]]
                    for i in ([x for m in incoming for x in encoding.folded(m)] if axis.name == n.args[0] else [axis])
                )  # fmt: skip
                depends = shot.free.get(c, frozenset())
                self.axes[c] = tuple(i for i in shared if encoding.name(i) in depends)

    def _levels(self) -> dict[ClassId, int]:
        """Distance of each class from the leaves by its shortest term, so that operands are tried before users."""
        level: dict[ClassId, int] = {}
        changed = True
        while changed:
            changed = False
            for c, nodes in self.saturation.snapshot.classes.items():
                depths = [
                    1 + max((level[a] for a in class_arguments(n)), default=0)
                    for n in nodes
                    if all(a in level for a in class_arguments(n))
                ]
                if depths and level.get(c, 1 << 30) > min(depths):
                    level[c] = min(depths)
                    changed = True
        return level

    def _users(self) -> dict[ClassId, list[ClassId]]:
        users: dict[ClassId, dict[ClassId, None]] = {}
        for c, nodes in self.saturation.snapshot.classes.items():
            for n in nodes:
                for child in class_arguments(n):
                    users.setdefault(child, {})[c] = None
        for (_, _, f), ts in self._carried.items():
            for t in ts:
                for user in users.get(f, {}):
                    users.setdefault(t, {})[user] = None
        return {k: list(v) for k, v in users.items()}

    def _improve(self, c: ClassId) -> bool:
        offers: dict[Scalar, Variant] = {}
        for n in self.saturation.snapshot.classes[c]:
            for v in self._of_node(c, n):
                if self._admissible(c, v.term) and (v.term not in offers or v.cost < offers[v.term].cost):
                    offers[v.term] = v
        ranked = sorted(offers.values(), key=lambda v: (v.cost, self._size(v.term)))
        kept = self._diverse(ranked)
        kept.sort(key=lambda v: (v.cost, self._size(v.term)))
        read = self._read_of(c, kept)
        if read is not None:
            kept.append(read)
        if [v.term for v in kept] == [v.term for v in self.found[c]]:
            return False
        self.found[c] = kept
        return True

    def _admissible(self, c: ClassId, term: Scalar) -> bool:
        if self._depth(term)[0] > NESTING or self._depth(term)[1] > SEQUENCE or self._carries_rows(term):
            return False
        allowed = self.saturation.snapshot.free.get(c)
        return allowed is None or {self.saturation.encoding.name(i) for i in free(term)} <= allowed

    def _diverse(self, ranked: list[Variant]) -> list[Variant]:
        """The cheapest terms, and the best of each kind that a user may need although it costs more here.

        Kinds: wholly inlined; fewest folds (a user may only have room for a shallow term); fewest folds in one pass,
        and the same reading nothing stored (they pay off only once their siblings join); shallowest; folds over the
        fewest stored classes; the least work that reads what is stored only inside folds; a mean by its own count (only
        that is a mean of what a pass has seen so far); where scans are open, without one (a fold around may not hold
        it), and of these reading what is stored; for what follows a statistic, one that folds what that folds.
        """
        kinds: list[Variant] = ranked[:2]
        simple = sorted(ranked, key=lambda v: (self._folds(v.term), v.cost, self._size(v.term)))
        kinds += [v for v in ranked if not self.reads_stored(v.term)][:1]
        kinds += simple[:1]
        lean = sorted(simple, key=lambda v: (self._folds(v.term), len(self._placeholders_in(v.term))))
        kinds += [v for v in lean if self._passes(v.term)][:1]
        kinds += [v for v in lean if self._passes(v.term) and not self.reads_stored(v.term)][:1]
        kinds += [v for v in ranked if self._passes(v.term) and self._depth(v.term)[0] == NESTING][:1]
        kinds += sorted(ranked, key=lambda v: (self._depth(v.term), v.cost))[:1]
        reading = [v for v in ranked if self.reads_stored(v.term) and self._folds(v.term)]
        kinds += sorted(reading, key=lambda v: (len(self._placeholders_in(v.term)), v.cost))[:1]
        if self.costs.apart is not None:  # matrix units multiply what is stored as it stands
            stored = [v for v in ranked if self.reads_stored(v.term)]
            kinds += sorted(stored, key=lambda v: self._size(v.term))[:1]
            kinds += [v for v in stored if self._passes(v.term)][:1]
        folding = [v for v in reading if not self._outside_folds(v.term)]
        kinds += sorted(folding, key=lambda v: v.cost - self._made(v.term))[:1]
        kinds += [v for v in ranked if self._counts_points(v.term) and not self.reads_stored(v.term)][:1]
        kinds += self._beside_statistics(ranked)
        if any(self._open_scans(v.term) for v in ranked):
            closed = [v for v in ranked if not self._open_scans(v.term)]
            kinds += [*closed[:1], *[v for v in closed if self.reads_stored(v.term)][:1]]
        return list(dict.fromkeys(kinds))

    def _beside_statistics(self, ranked: list[Variant]) -> list[Variant]:
        """The cheapest term that holds what the cheapest form of its statistic folds: one pass needs both alike."""
        found: list[Variant] = []
        for h in sorted({x.part for v in ranked[:1] for x in walk(v.term) if isinstance(x, Statistic)}):
            best = next((s for s in self.found.get(ClassId(h), ()) if s.node is not None), None)
            folded = {b for s in (walk(best.term) if best else ()) if isinstance(s, Reduce) for b in s.body}
            folded = {b for b in folded if self._depth(b)[0] == NESTING - 1}
            found += [v for v in ranked if folded and any(x in folded for x in walk(v.term))][:1]
        return found

    def _outside_folds(self, term: Scalar) -> frozenset[Input]:
        """The stored classes that a term reads outside of its folds: each is one element more to write and to read."""
        if term not in self._outside:
            found: frozenset[Input] = frozenset()
            if not isinstance(term, (Reduce, Scan)):
                found = found.union(*(self._outside_folds(x) for x in children(term)))
                if isinstance(term, Read) and isinstance(term.source, Input) and term.source in self.placeholders:
                    found |= {term.source}
            self._outside[term] = found
        return self._outside[term]

    def _made(self, term: Scalar) -> float:
        """Seconds that the cost of a term counts for making what it reads."""
        return sum(self.costs.produced.get(s, 0.0) for s in self._placeholders_in(term))

    def _counts_points(self, term: Scalar) -> bool:
        """Whether every fold of a term is plain and one of them counts points."""
        folds = [s for s in walk(term) if isinstance(s, Reduce)]
        return any(isinstance(f.body[0], Const) for f in folds) and self._depth(term)[1] == 1

    def _folds(self, term: Scalar) -> int:
        """The number of distinct folds in a term."""
        if term not in self._counts:
            self._counts[term] = len({(s.monoid, s.body) for s in walk(term) if isinstance(s, Reduce)})
        return self._counts[term]

    def _passes(self, term: Scalar) -> bool:
        """Whether every outermost fold that follows a statistic does so in one pass with it."""
        if term not in self._one_pass:
            folds = [s for s in walk(term) if isinstance(s, Reduce)]
            self._one_pass[term] = any(s.monoid.followers for s in folds) and not any(
                isinstance(x, Reduce) and set(x.indices) & set(s.indices)
                for s in folds
                for b in s.body
                for x in walk(b)
            )
        return self._one_pass[term]

    def reads_stored(self, term: Scalar) -> bool:
        """Whether a term reads a class that is written to memory."""
        return bool(self._placeholders_in(term))

    def _read_of(self, c: ClassId, kept: list[Variant]) -> Variant | None:
        if c not in self.axes or not kept or c in self._inner:
            return None
        best = min(kept, key=lambda v: v.cost)
        if isinstance(best.term, (Read, Const)):
            return None
        source = self.placeholder(c, type_of(best.term))
        term = Read(source, tuple(self._coordinate(c, i) for i in self.axes[c]))
        self.costs.store(source, best.cost, self.axes[c], self._uses.get(c, 1))
        return Variant(term, self.costs.heuristic(term), c, None)

    def _coordinate(self, c: ClassId, axis: Index) -> Affine:
        """Where to read a stored class along an axis: anywhere, so at 0, if its value does not depend on it."""
        depends = self.saturation.snapshot.free.get(c)
        named = self.saturation.encoding.name(axis)
        constant = depends is not None and named not in depends and prove_nonnegative(axis.size - 1)
        return affine(0) if constant else affine(axis)

    def placeholder(self, c: ClassId, type: str) -> Input:
        """The input that stands for a class that is written to memory."""
        source = Input(f"@{c.number}", tuple(i.size for i in self.axes[c]), self.storage(c, type))
        self.placeholders[source] = c
        return source

    def storage(self, c: ClassId, type: str) -> str:
        """The type in which a class of a scalar type is kept: as its tensor says where matrix units multiply such
        types."""
        return self.declared.get(c, self.real) if type == "real" else type

    def _of_node(self, c: ClassId, n: ENode) -> Iterable[Variant]:
        encoding = self.saturation.encoding
        if n.constructor == "Lit":
            yield self._variant(c, n, _literal(n.args[0], n.args[1]))
        elif n.constructor == "Leaf":
            yield self._variant(c, n, encoding.leaves[n.args[0]])
        elif n.constructor == "Hole":
            yield self._variant(c, n, Statistic("at", part=n.args[0].number))
        elif n.constructor == "Delta":
            yield self._variant(c, n, shift(n.args[0].number))
        elif n.constructor == "Keep":
            yield self._variant(c, n, StateRef("self", f"%{n.args[0].number}"))
        elif n.constructor == "Casc":
            yield from self._cascades(c, n)
        elif n.constructor == "Total":
            return  # the other nodes of its class say how it is computed
        elif n.constructor == "Let":
            yield from self._views(c, n)
        elif n.constructor == "At":
            yield from self._at_values(c, n)
        else:
            yield from self._combinations(c, n)

    def _variant(self, c: ClassId, n: ENode, term: Scalar, below: tuple[Variant, ...] = ()) -> Variant:
        if self.costs.apart is None:
            return Variant(term, self.costs.heuristic(term), c, n, below)
        # two passes over the same points would look like twice the products, and these are what matrix units do
        (priced,) = join_siblings((term,))
        return Variant(term, self.costs.heuristic(priced, self.axes.get(c)), c, n, below)

    def _combinations(self, c: ClassId, n: ENode) -> Iterable[Variant]:
        choices = [self.found.get(x, []) for x in class_arguments(n)]
        if any(not ch for ch in choices):
            return
        for below in itertools.product(*choices):
            term = self._term(n, tuple(v.term for v in below))
            if term is not None:
                yield self._variant(c, n, term, below)

    def _term(self, n: ENode, args: tuple[Scalar, ...]) -> Scalar | None:
        encoding = self.saturation.encoding
        if n.constructor in ("Ap1", "Ap2", "Ap3"):
            return Apply(operation(n.args[0]), args)
        if n.constructor == "Red":
            return _fold(encoding.monoids[n.args[0]], encoding.folded(n.args[1]), args[0], args[1])
        if n.constructor == "Fold":
            indices = tuple(encoding.indices[name] for name in n.args[2].split(","))
            return Reduce(encoding.monoids[n.args[0]], indices, as_domain(args[0]), args[1:], n.args[1])
        if n.constructor == "Scn":
            return Scan(encoding.monoids[n.args[0]], encoding.indices[n.args[2]], args, n.args[1], n.args[3])
        if n.constructor == "Gather":
            read = encoding.gathers[n.args[0]]
            values = iter(args)
            at: tuple[Coordinate, ...] = tuple(c if isinstance(c, Affine) else next(values) for c in read.coordinates)
            return Read(read.source, at, read.at)
        return None

    def _views(self, c: ClassId, n: ENode) -> Iterable[Variant]:
        pairs = dict(self.saturation.encoding.views[n.args[0]])
        for v in self.found.get(n.args[1], []):
            try:
                yield self._variant(c, n, substitute(v.term, pairs), (v,))
            except GraphError:
                continue

    def _at_values(self, c: ClassId, n: ENode) -> Iterable[Variant]:
        """Terms with an integer scalar in the place of an index: the cheapest value in every body."""
        index = self.saturation.encoding.indices[n.args[0]]
        for value in self.found.get(n.args[1], [])[:1]:
            for v in self.found.get(n.args[2], []):
                try:
                    term = substitute(v.term, {index: as_coordinate(value.term)})
                except GraphError:
                    continue
                yield self._variant(c, n, term, (value, v))

    def _cascades(self, c: ClassId, n: ENode) -> Iterable[Variant]:
        monoid, index, where, body, carried = n.args
        encoding = self.saturation.encoding
        base, j = encoding.monoids[monoid], encoding.folded(index)
        for w in self.found.get(where, [])[:1]:
            for v in self._bodies(body, frozenset()):
                closed = self._close(monoid, index, v, body, carried)
                if closed is None:
                    continue
                followers, below = closed
                holes = sorted({x.part for f in followers for x in walk(f.body, f.rebase) if isinstance(x, Statistic)})
                for chosen in self._statistics(holes, self._placeholders_in(v.term)):
                    terms = {h: s.term for h, s in zip(holes, chosen, strict=True)}
                    built = build_cascade(j, as_domain(w.term), terms, followers, base, self.daring)
                    if isinstance(built, Refused):
                        self.refused.setdefault((c, built.reason), chosen[0].term)
                        continue
                    yield self._variant(c, n, built, (w, *chosen, *below))

    def _statistics(self, holes: list[int], stored: frozenset[Input]) -> Iterable[tuple[Variant, ...]]:
        """Terms for the statistics of a pass, those that read what its body reads first."""
        choices = [[v for v in self.found.get(ClassId(h), []) if v.node is not None] for h in holes]
        if len(holes) > 1:  # all ways to choose would be many: the two most alike of each
            choices = [sorted(c, key=lambda v: len(self._placeholders_in(v.term) ^ stored))[:2] for c in choices]
        return itertools.product(*choices)

    def _bodies(self, f: ClassId, stored: frozenset[Input]) -> list[Variant]:
        """The terms of a follower's body, those that read just what its statistic reads first.

        None that holds a pass: its own statistic would be taken for one of the pass around it.
        """
        bodies = [v for v in self.found.get(f, []) if v.node is not None and not _holds_pass(v.term)]
        return sorted(bodies, key=lambda v: len(self._placeholders_in(v.term) ^ stored))

    def _placeholders_in(self, term: Scalar) -> frozenset[Input]:
        """The stored classes that a term reads: a follower must see the statistic's operands in the same form."""
        if term not in self._stored:
            found: frozenset[Input] = frozenset()
            if isinstance(term, Read) and isinstance(term.source, Input) and term.source in self.placeholders:
                found = frozenset((term.source,))
            for x in children(term):
                found |= self._placeholders_in(x)
            self._stored[term] = found
        return self._stored[term]

    def _close(
        self, monoid: str, index: str, wanted: Variant, body: ClassId, carried: ClassId
    ) -> tuple[tuple[Follower, ...], tuple[Variant, ...]] | None:
        """The wanted sum and all sums that its carry needs, each with a body and a rebase."""
        done: dict[ClassId, tuple[Variant, Variant]] = {}
        stored = self._placeholders_in(wanted.term)
        pending: list[tuple[ClassId, tuple[ClassId, ...]]] = [(body, (carried,))]
        while pending:
            f, options = pending.pop()
            if f in done:
                continue
            bodies = [wanted] if f is body else self._bodies(f, stored)
            rebases = [v for t in options for v in self.found.get(t, []) if v.node is not None]
            if not bodies or not rebases:
                return None
            done[f] = (bodies[0], min(rebases, key=lambda v: (self._size(v.term), v.cost)))
            for s in walk(done[f][1].term):
                if isinstance(s, StateRef):
                    g = ClassId(int(s.component[1:]))
                    pending.append((g, tuple(self._carried.get((monoid, index, g), ()))))
        followers = tuple(Follower(f"%{f.number}", v.term, r.term) for f, (v, r) in done.items())
        return followers, tuple(x for pair in done.values() for x in pair)

    def _depth(self, s: Scalar) -> tuple[int, int]:
        """How deep folds nest (each running inside the one around it), and how many wait for one another."""
        if s not in self._depths:
            below = [self._depth(x) for x in children(s)]
            nested = max((d[0] for d in below), default=0)
            waiting = max((d[1] for d in below), default=0)
            if isinstance(s, Reduce):
                inner = [x for x in walk(*s.body) if isinstance(x, Reduce)]
                running = [x for x in inner if free(x) & frozenset(s.indices)]
                nested = max(nested, 1 + max((self._depth(x)[0] for x in running), default=0))
                waiting = max([waiting, *(1 + self._depth(x)[1] for x in inner if x not in running)], default=0)
                waiting = max(waiting, 1)
            self._depths[s] = (nested, waiting)
        return self._depths[s]

    def _carries_rows(self, s: Scalar) -> bool:
        """Whether a term holds a scan that runs around it, with a state for each of unknown many points of the term.

        The scan goes from one point of its index to the next outside of the fold, so all of these states would be kept
        at once; stored, the scan has the fold's index around it. So it is of a scan within a scan over another index.
        """
        if isinstance(s, Scan):
            within = [x for x in self._open_scans(s) if x.index is not s.index and s.index in free(x)]
            return any(i.size.value is None for x in within for i in (x.index, s.index))
        if not isinstance(s, Reduce):
            return False
        for scan in frozenset().union(*map(self._open_scans, children(s))):
            after = s.indices[s.indices.index(scan.index) + 1 :] if scan.index in s.indices else s.indices
            if any(i.size.value is None and i in free(scan) for i in after):
                return True
        return False

    def _open_scans(self, s: Scalar) -> frozenset[Scan]:
        """The scans in a term whose index no fold in it binds."""
        if s not in self._open:
            found = frozenset((s,)) if isinstance(s, Scan) else frozenset[Scan]()
            found = found.union(*map(self._open_scans, children(s)))
            bound = s.indices if isinstance(s, Reduce) else ()
            self._open[s] = frozenset(x for x in found if x.index not in bound)
        return self._open[s]

    def _size(self, s: Scalar) -> int:
        if s not in self._sizes:
            self._sizes[s] = 1 + sum(self._size(x) for x in children(s))
        return self._sizes[s]


def class_arguments(n: ENode) -> tuple[ClassId, ...]:
    """The classes below a node, in order."""
    found: list[ClassId] = []
    for a in n.args:
        if isinstance(a, ClassId):
            found.append(a)
        elif isinstance(a, tuple):
            found += a
    return tuple(found)


def operation(name: str) -> str:
    """The operation of the language behind an operation of the e-graph (which may carry its operand type)."""
    parts = name.split(":")
    return ":".join(parts[:2]) if parts[0] in ("cast", "bits") else parts[0]


def as_coordinate(s: Scalar) -> Coordinate:
    """An integer expression as a coordinate: affine where it is a position."""
    if isinstance(s, Position):
        return s.form
    return affine(int(s.value)) if isinstance(s, Const) else s


def _literal(value: str, type: str) -> Const:
    if type == "bool":
        return Const(value == "True", type)
    return Const(float(value) if type == "real" else int(value), type)


def as_domain(s: Scalar) -> Domain:
    """A bool expression as a domain: its conjuncts, affine ones recognised."""
    forms: dict[Test, None] = {}
    data: dict[Scalar, None] = {}
    stack = [s]
    while stack:
        x = stack.pop()
        if isinstance(x, Apply) and x.op == "and":
            stack.extend(x.args)
        elif isinstance(x, Test):
            forms[x] = None
        elif isinstance(x, Apply) and x.op == "not" and isinstance(x.args[0], Test):
            forms[Test(-x.args[0].condition.form - 1 >= 0)] = None
        elif not (isinstance(x, Const) and x.value is True):
            data[x] = None
    return Domain(tuple(sorted((t.condition for t in forms), key=repr)), tuple(sorted(data, key=repr)))


def _holds_pass(s: Scalar) -> bool:
    return any(isinstance(x, Reduce) and x.monoid.followers for x in walk(s))


def _fold(monoid: Monoid, indices: tuple[Index, ...], where: Scalar, body: Scalar) -> Reduce:
    """A fold; directly around another of the same monoid, both are one fold over all their indices."""
    here = as_domain(where)
    # a domain that names an index of the inner fold means the one around both, which would be captured
    outer = {*indices, *(i for c in here.affine for i in c.indices()), *(i for d in here.data for i in free(d))}
    if isinstance(body, Reduce) and body.monoid is monoid and not outer & set(body.indices):
        affine = tuple(sorted({*here.affine, *body.where.affine}, key=repr))
        whole = Domain(affine, tuple(dict.fromkeys((*here.data, *body.where.data))))
        return Reduce(monoid, (*indices, *body.indices), whole, body.body)
    return Reduce(monoid, indices, here, (body,))


def uses(term: Scalar, placeholders: Mapping[Input, ClassId]) -> tuple[ClassId, ...]:
    """The classes whose stored values a term reads."""
    found = (placeholders.get(s.source) for s in walk(term) if isinstance(s, Read) and isinstance(s.source, Input))
    return tuple(dict.fromkeys(c for c in found if c is not None))
