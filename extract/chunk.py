"""Prefix sums in chunks: a state is carried from chunk to chunk, and sums run within one chunk only.

    Σ_{s ≤ t} x[t, s]  =  read(t, state[u])  +  Σ_{B·u ≤ s ≤ t} x[t, s],      t = B·u + a, a < B

With x[t, s] = Σ_d q[t, d] · exp(A[t] − A[s]) · k[s, d] · v[s, …] the state of chunk u sums over all points before B·u,

    state[u + 1] = exp(A[B(u + 1)] − A[B·u])·state[u] + Σ_{s in chunk u} exp(A[B(u + 1)] − A[s])·k[s, d]·v[s, …]

which is a scan over chunks, and read(t, state) = Σ_d q[t, d] · exp(A[t] − A[B·u]) · state[d, …]. Exponents are
differences between points in order; exp(A[t]) alone, which may overflow, is never computed. The number of states that
are kept is that of complete chunks with another one behind them, so that no point beyond the axis is touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tang_egg.affine import Affine, AffineLike, Index, Inequality, affine
from tang_egg.errors import GraphError
from tang_egg.extract.axes import check_distinct, indices_along, named_axes
from tang_egg.extract.chunk_weight import Weight, moved, opened, product
from tang_egg.extract.derive import Step
from tang_egg.extract.merge import in_order, is_wide, step, stored_type
from tang_egg.ir import (
    Domain,
    Graph,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    Tensor,
    apply,
    const,
    domain,
    folds,
    free,
    map_children,
    sources,
    tensors_of,
    walk,
)
from tang_egg.ir import Test as Holds
from tang_egg.monoid import AFFINE, SUM, Monoid
from tang_egg.program import unique
from tang_egg.rewrite import substitute
from tang_egg.windows import replace_sources

LONGEST = 1 << 16
"""A chunk of more points than this is surely a mistake."""


@dataclass(frozen=True, slots=True)
class Chunked:
    """A graph whose prefix sums run in chunks. `held`: tensors that are to be stored; `steps`: what led there, by
    the name of the tensor that each belongs to."""

    graph: Graph
    held: tuple[Tensor, ...]
    steps: Mapping[str, tuple[Step, ...]]


def chunk_graph(graph: Graph, wanted: Mapping[str, int]) -> Chunked:
    """The graph with weighted prefix sums along named axes in chunks of so many points.

    Raises GraphError for a name that means no axis, a length that is none, an axis along which nothing is summed up to
    a point, and a sum that cannot be cut.
    """
    named = {name: named_axes(graph, name) for name in wanted}
    check_distinct(graph, named)
    held: dict[Tensor, None] = {}
    steps: dict[str, tuple[Step, ...]] = {}
    for name, length in wanted.items():
        check_length(name, length)
        along = indices_along(tensors_of(graph.outputs), named[name])
        if not any(_prefixes(t, along[t]) for t in along):
            raise GraphError(
                f"nothing is folded up to a point of '{name}'",
                where=f"graph '{graph.name}'",
                mend="name an axis of s or t in a fold over s where s <= t",
            )
        run = _Chunking(graph, along, length, held, steps)
        graph, held = run.run()
    return Chunked(graph, tuple(held), steps)


def check_length(name: str, length: object) -> None:
    """Raises GraphError where `length` is no number of points."""
    if not isinstance(length, int) or isinstance(length, bool) or not 1 <= length <= LONGEST:
        raise GraphError(
            f"'{name}' in chunks of {length!r} points",
            where="the chunks of an axis",
            mend=f"give a whole number from 1 to {LONGEST}",
        )


@dataclass(frozen=True, slots=True)
class Prefix:
    """A fold over s where s ≤ t, or s < t when `strict`; `others`: what else limits it."""

    fold: Reduce
    s: Index
    t: Index
    strict: bool
    others: Domain


def prefix_of(s: Scalar) -> Prefix | None:
    """What a fold is as one up to a point, if it is one."""
    if not isinstance(s, Reduce):
        return None
    for c in s.where.affine:
        for j in s.indices:
            for strict in (False, True):
                t = (c.form + j + (1 if strict else 0)).single()
                if t is not None and t not in s.indices and t.size is j.size:
                    others = Domain(tuple(x for x in s.where.affine if x is not c), s.where.data)
                    return Prefix(s, j, t, strict, others)
    return None


def _prefixes(t: Tensor, along: set[Index]) -> list[Prefix]:
    found = (prefix_of(s) for s in walk(t.body))
    return [p for p in found if p is not None and along & {p.s, p.t}]


@dataclass(slots=True)
class _Chunking:
    """One axis of a graph being cut."""

    graph: Graph
    along: Mapping[Tensor, set[Index]]
    length: int
    held: dict[Tensor, None]
    steps: dict[str, tuple[Step, ...]]
    taken: set[str] = field(default_factory=set)
    replaced: dict[Source, Source] = field(default_factory=dict)
    made: list[Tensor] = field(default_factory=list)
    scanned: list[Tensor] = field(default_factory=list)

    def run(self) -> tuple[Graph, dict[Tensor, None]]:
        everything = tensors_of(self.graph.outputs)
        self.taken = {t.name for t in everything} | {i.name for i in self.graph.inputs}
        for t in everything:
            done: dict[Scalar, Scalar] = {}
            body = replace_sources(t.body, lambda s: self.replaced.get(s, s))
            wanted = {p.fold: p for p in map(prefix_of, walk(body)) if p and self.along[t] & {p.s, p.t}}
            for s in walk(body):
                new = map_children(s, lambda c: done[c])  # noqa: B023 (used at once)
                known = prefix_of(new) if s in wanted else None
                done[s] = self._fold(t, known, s is body) if known is not None else new
            self.replaced[t] = replace(t, body=done[body])
        now = [*(self.replaced.get(t, t) for t in (*self.held, *self.scanned)), *self.made]
        held = dict.fromkeys(x for x in now if isinstance(x, Tensor))
        outputs = tuple(x for t in self.graph.outputs if isinstance(x := self.replaced[t], Tensor))
        return replace(self.graph, outputs=outputs), held

    def _fold(self, owner: Tensor, p: Prefix, whole: bool) -> Scalar:
        """A prefix fold as a read of what its chunks give; one that depends on its point by its end only is a scan.

        `whole`: it is all that its owner is.
        """
        if not any(p.t in free(b) for b in p.fold.body) and not _mentions(p.others, p.t):
            return self._scan(owner, p)
        size = p.t.size.value
        if size is None:
            raise GraphError(
                f"{p.t} has {p.t.size} points, a number that is not known: it cannot be cut into equal chunks",
                where=f"tensor '{owner.name}'",
                mend="bind the dim first, graph.bind(...), or leave this axis whole",
            )
        if size <= self.length:
            return p.fold
        return _Cut(self, owner, p, size, whole).value()

    def _scan(self, owner: Tensor, p: Prefix) -> Scalar:
        if p.strict or len(p.fold.indices) > 1 or not p.others.everywhere:
            return p.fold
        body = tuple(substitute(b, {p.s: affine(p.t)}) for b in p.fold.body)
        plain = Scan(p.fold.monoid, p.t, body, p.fold.part)
        scan = replace(plain, chunk=self.length)
        told = (step("scan.prefix", p.fold, plain), step("scan.chunk", plain, scan))
        if owner.body is p.fold:
            self.scanned.append(owner)
            self.steps[owner.name] = told
            return scan
        kind = stored_type(p.fold.monoid, p.fold.part, is_wide(self.graph))
        made = self.store(f"{owner.name}_sums", in_order(free(scan)), scan, kind)
        self.steps[made.name] = told
        return Read(made, tuple(map(affine, made.axes)))

    def store(self, name: str, axes: tuple[Index, ...], body: Scalar, kind: str = "") -> Tensor:
        """A tensor that is to be stored."""
        made = Tensor(unique(name, self.taken), axes, body, kind or stored_type(SUM, 0, is_wide(self.graph)))
        self.made.append(made)
        return made


def _mentions(where: Domain, *indices: Index) -> bool:
    wanted = set(indices)
    return any(wanted & c.indices() for c in where.affine) or any(wanted & free(d) for d in where.data)


class _Cut:
    """One prefix sum being cut; see the module text for the names."""

    def __init__(self, run: _Chunking, owner: Tensor, p: Prefix, size: int, whole: bool) -> None:
        self.run, self.owner, self.p, self.size, self.alone = run, owner, p, size, whole
        self.length = run.length
        _check_sum(p, owner)
        body = opened(p.fold.body[0], p.t, p.s)
        names = {i.name for s in walk(body) if isinstance(s, Reduce) for i in s.indices}
        names |= {i.name for i in (*free(p.fold), *p.fold.indices)}
        count = -(-size // self.length)
        self.u, self.r = (
            Index(unique(f"{p.t.name}_{n}", names), affine(k)) for n, k in (("chunk", count), ("before", count - 1))
        )
        self.a, self.b = (Index(unique(f"{x.name}_in", names), affine(self.length)) for x in (p.t, p.s))
        self.body = body
        self.weight = Weight(p.t, p.s, names)
        self.weight.inner += [i for i in p.fold.indices if i is not p.s]
        self.entering, self.leaving = self._limits()
        self.weight.take(body)

    def _limits(self) -> tuple[Domain, Domain]:
        """What limits points that go into states, and points that read them. Inner conditions stay with sums."""
        into: list[Inequality | Scalar] = []
        out: list[Inequality | Scalar] = []
        inner: list[Inequality | Scalar] = []
        others: tuple[Inequality | Scalar, ...] = (*self.p.others.affine, *self.p.others.data)
        for c in others:
            known = c.indices() if isinstance(c, Inequality) else free(c)
            if self.p.t in known and (self.p.s in known or known & set(self.weight.inner)):
                raise GraphError(
                    f"a prefix sum cannot be cut into chunks: a condition limits {self.p.s} by {self.p.t} once more",
                    where=f"tensor '{self.owner.name}': {c}",
                    mend="leave this axis whole, or write the condition as a weight of one of the points",
                )
            (into if self.p.s in known else out if self.p.t in known else inner).append(c)
        self.weight.where = domain(*inner)
        return domain(*into), domain(*out)

    def value(self) -> Scalar:
        """The read at t of what the chunks give."""
        t = Position(affine(self.p.t))
        length = const(self.length, "i64")
        place = {self.u: apply("idiv", t, length), self.a: apply("imod", t, length)}
        whole = self._whole()
        read = Read(whole, tuple(place.get(i, affine(i)) for i in whole.axes))
        self.run.steps[whole.name] = self._steps(read)
        return read

    def _steps(self, read: Read) -> tuple[Step, ...]:
        laws = ["scan.chunks"]
        laws += ["fold.reassociate"] if self.weight.inner else []
        laws += ["scalar.exp_between", "scan.decay"] if self.weight.gates else ["scan.prefix"]
        assert isinstance(read.source, Tensor)
        state = self._total
        after = {"scan.chunks": read.source.body, "fold.reassociate": self._carried, "scan.decay": state.body,
                 "scan.prefix": state.body}  # fmt: skip
        return tuple(step(law, self.p.fold, after.get(law, self._carried)) for law in laws)

    def _state(self) -> Tensor:
        """What each chunk adds, and how the state moves by it: state[r] stands at the start of chunk r + 1."""
        w, start = self.weight, affine(self.r) * self.length
        end, point = start + self.length, start + self.b
        where = moved(self.entering, {self.p.s: point})
        factors = [substitute(x, {self.p.s: point}) for x in w.right] + [g.into(end, point) for g in w.gates]
        own = Reduce(SUM, (self.b,), where, (product(factors),), 0)
        axes = self._axes(own, self.r)
        added = self.run.store(f"{self.owner.name}_added", axes, own)
        lifts: tuple[Scalar, ...] = (Read(added, tuple(map(affine, axes))),)
        monoid: Monoid = SUM
        if w.gates:
            lifts, monoid = (product(g.between(end, start) for g in w.gates), *lifts), AFFINE
        total = Scan(monoid, self.r, lifts, len(lifts) - 1)
        self._total = self.run.store(f"{self.owner.name}_state", self._axes(total, self.r), total, self._narrow())
        return self._total

    def _axes(self, value: Scalar, *own: Index) -> tuple[Index, ...]:
        """The axes of what is stored, in the order of the owner's: what is summed over inside stands where t does."""
        known, axes = free(value), self.owner.axes
        here = axes.index(self.p.t) if self.p.t in axes else 0
        named = [*axes[:here], *own, *self.weight.inner, *(i for i in axes[here:] if i is not self.p.t)]
        listed = [i for i in dict.fromkeys(named) if i in known or i in own]
        return (*listed, *in_order(known - set(listed)))

    def _narrow(self) -> str:
        """bf16 for states that are multiplied by nothing but reads of that type, as matrix units take them."""
        inner = set(self.weight.inner)
        beside = [x for x in self.weight.left if free(x) & inner]
        same = bool(beside) and all(isinstance(x, Read) and x.source.dtype == "bf16" for x in beside)
        return "bf16" if same else ""

    def _whole(self) -> Tensor:
        """What is carried into a chunk, read out at each of its points, and the sum within the chunk."""
        w, start = self.weight, affine(self.u) * self.length
        point = start + self.a
        state = self._state()
        inner = tuple(w.inner)
        before = Read(state, tuple(affine(self.u) - 1 if i is self.r else affine(i) for i in state.axes))
        at: dict[Index, AffineLike] = {self.p.t: point}
        factors = [substitute(x, dict(at)) for x in w.left] + [g.out(point, start) for g in w.gates]
        alone = [x for x in factors if not free(x) & set(inner)]
        carried: Scalar = product((*(x for x in factors if x not in alone), before))
        if inner:
            carried = Reduce(SUM, inner, w.where, (carried,), 0)
        carried = product((*alone, carried))
        self._carried = carried
        limits = moved(self.leaving, at)
        value: Scalar = carried
        for c in (*map(Holds, limits.affine), *limits.data, Holds(affine(self.u) >= 1)):
            value = apply("select", c, value, const(0.0))
        value = apply("add", value, self._within(point, start))
        if self.size % self.length:
            value = apply("select", Holds(point <= self.size - 1), value, const(0.0))
        self._hold_summed()
        kind = self.owner.dtype if self.alone else ""
        return self.run.store(f"{self.owner.name}_chunks", self._axes(value, self.u, self.a), value, kind)

    def _within(self, point: Affine, start: Affine) -> Scalar:
        """The sum over the points of t's own chunk."""
        points: dict[Index, AffineLike] = {self.p.t: point, self.p.s: start + self.b}
        limits = moved(self.p.others, points)
        where = domain(self.b <= affine(self.a) - (1 if self.p.strict else 0), *limits.affine, *limits.data)
        indices = tuple(self.b if i is self.p.s else i for i in self.p.fold.indices)
        return Reduce(SUM, indices, where, (substitute(self.body, dict(points)),), 0, self.p.fold.at)

    def _hold_summed(self) -> None:
        """Tensors that fold and stand in exponents are stored: they are read between chunks too."""
        for g in self.weight.gates:
            for x in (*g.moving, *g.leaving, *g.entering):
                self.run.made += [s for s in sources(x.value) if isinstance(s, Tensor) and folds(s)]


def _check_sum(p: Prefix, owner: Tensor) -> None:
    if p.fold.monoid is not SUM:
        raise GraphError(
            f"'{p.fold.monoid.name}' over {p.s} up to {p.t}, of values that depend on {p.t}, cannot be cut into chunks",
            where=str(p.fold.at) or f"tensor '{owner.name}'",
            mend="only sums have weights that move out of them; leave this axis whole",
        )
