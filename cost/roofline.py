"""A roofline estimate of kernels: the larger of arithmetic and memory time, plus a launch.

It orders candidates; it proves nothing. Work is counted where the code generator does it: a subexpression is evaluated
once for each point of the kernel's grid and of the indices it depends on. The grid has the output axes, except those
that some fold inside does not depend on and that are small enough to be held as local axes of the accumulators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import log2
from typing import TypeAlias

from tang_egg import ops
from tang_egg.affine import Affine, Index
from tang_egg.bounds_range import limits_of
from tang_egg.ir import Apply, Const, Position, Read, Reduce, Scalar, Scan, Source, Test, children, free, walk

Bodies: TypeAlias = "tuple[Scalar, ...]"
Axes: TypeAlias = "tuple[tuple[Index, ...], ...]"


@dataclass(frozen=True, slots=True)
class Machine:
    """Rates of one device: operations per second; bytes per second from memory, from the cache near a core (`cache`)
    and from the one behind it (`further`); seconds per launch; elements of local accumulators; bytes of the near cache
    (`capacity`) and of all caches (`outer`); bytes of a `tile` that is fetched ahead of its use; `rows` that a kernel
    with folds inside folds holds at once, and `threads` that share such tiles of rows; whether products run on matrix
    `units`. `nested`: how much more the arithmetic of a fold inside another counts, since operands are copied for each
    tile of rows, or lanes exchange their shares at every point of the outer one; `product`: that of a matrix product.
    """

    flops: float = 6e10
    memory: float = 1.2e10
    cache: float = 1.0e11
    further: float = 1.5e10
    launch: float = 1e-5
    local: int = 4096
    capacity: float = 5e5
    outer: float = 5e6
    tile: float = 1.6e4
    rows: int = 32
    threads: int = 2
    units: bool = False
    nested: float = 1.1
    product: float = 1.0


_WEIGHT = {
    "neg": 0.0,
    "exp": 12.0,
    "log": 16.0,
    "tanh": 16.0,
    "erf": 20.0,
    "sin": 20.0,
    "atan2": 30.0,
    "recip": 4.0,
    "sqrt": 4.0,
}
_SERIAL = 4.0
"""A fold around a scan of its index runs point by point, in no tiles."""
_STREAMED = 32
"""Points of a tile of a fold around others."""

_EXPOSED = 0.25
"""The share of arithmetic that traffic and loads do not hide."""
_STALLED = 0.5
"""The share of traffic that arithmetic does not hide."""

MATRIX_UNITS = Machine(4e14, 4.2e12, 4e15, 6e12, 3e-6, 4096, 5e7, 5e7, 0.0, 128 * 128, 1, units=True)
"""A chip with matrix units, tiles in shared memory and a large second cache (one H200, rounded). All its processors
walk through a table at about the same time, so that the rows of all their tiles share what the second cache holds."""
PLAIN_THREADS = Machine(3e13, 4.2e12, 3e13, 6e12, 3e-6, 128, 5e7, 5e7, 0.0, 128 * 128, 1, nested=16.0, product=5.0)
"""The same chip for a kernel that its matrix units cannot take: threads multiply themselves, and hold few elements."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cost of one kernel: seconds, and the counts behind them."""

    seconds: float
    flops: float
    bytes: float
    loads: float


@dataclass(slots=True)
class Costs:
    """The interface of selection: heuristic costs of terms and estimates of kernels.

    `typical` gives the size assumed for a symbolic dim without an upper limit. `busy`: the share of the matrix
    units that a kernel of some bodies, each over its axes, keeps busy; `apart` are the costs of kernels with none.
    """

    machine: Machine = field(default_factory=Machine)
    typical: int = 128
    busy: Callable[[Bodies, Axes], float] | None = None
    apart: Costs | None = None
    _heuristic: dict[tuple[Scalar, tuple[Index, ...] | None], float] = field(default_factory=dict)
    _volumes: dict[frozenset[Index], float] = field(default_factory=dict)
    produced: dict[Source, float] = field(default_factory=dict)
    _sizes: dict[Affine, float] = field(default_factory=dict)
    _folds: dict[object, float] = field(default_factory=dict)
    _shares: dict[tuple[Bodies, Axes], float] = field(default_factory=dict)

    def size(self, form: Affine) -> float:
        """The number that a size is, or is taken to be."""
        if form not in self._sizes:
            env = {d.name: max(d.lo, min(self.typical, d.hi or self.typical)) for d in form.dims()}
            self._sizes[form] = float(max(form.evaluate(env), 0))
        return self._sizes[form]

    def volume(self, indices: Iterable[Index]) -> float:
        """The number of points of some indices."""
        key = indices if isinstance(indices, frozenset) else frozenset(indices)
        if key not in self._volumes:
            total = 1.0
            for i in key:
                total *= self.size(i.size)
            self._volumes[key] = total
        return self._volumes[key]

    def heuristic(self, term: Scalar, axes: tuple[Index, ...] | None = None) -> float:
        """Seconds to make `term` over its own indices as one kernel, what it reads from other kernels included.

        Making a stored class counts once per use (see `store`). Terms that share nothing across folds are costed
        without looking for a grid. `axes`: those of the class in memory, where it may be stored; only matrix units ask.
        """
        order = axes if self.apart is not None else None
        key = term, order
        if key not in self._heuristic:
            cost = self._scope_cost((term,))
            if any(isinstance(s, Reduce) for s in walk(term)):
                own = tuple(sorted(free(term), key=lambda i: i.name))
                share = self._share_of(term, own, order)
                by = self if share or self.apart is None else self.apart
                work = by._best_work((term,), own)
                made = by._arithmetic(work) / (share or 1.0)
                cost = max(cost, made + sum(self.produced.get(s, 0.0) for s in work.sources))
            self._heuristic[key] = cost
        return self._heuristic[key]

    def _share_of(self, term: Scalar, own: tuple[Index, ...], order: tuple[Index, ...] | None) -> float:
        """The share of the matrix units for a term; over axes that lie in memory in any order where none is known."""
        if order is not None and set(own) <= set(order):
            return self._share((term,), (order,))
        return max((self._share((term,), ((*(k for k in own if k is not i), i),)) for i in own), default=0.0)

    def _scope_cost(self, roots: tuple[Scalar, ...]) -> float:
        seen: set[object] = set()
        total = 0.0
        stack = list(roots)
        while stack:
            s = stack.pop()
            if s in seen:
                continue
            seen.add(s)
            if isinstance(s, (Reduce, Scan)):
                key = _loop(s)
                if key not in seen:
                    seen.add(key)
                    total += self._fold_cost(s)
                continue
            if isinstance(s, Apply):
                total += _WEIGHT.get(s.op, 1.0) * self.volume(free(s)) / self.machine.flops
            elif isinstance(s, Read):
                if s.source not in seen:
                    seen.add(s.source)
                    total += self.produced.get(s.source, 0.0)
                total += 0.25 * self.volume(free(s)) / self.machine.flops
            stack.extend(children(s))
        return total

    def _fold_cost(self, s: Reduce | Scan) -> float:
        key = _loop(s)
        if key not in self._folds:
            parts = range(len(s.body))
            bound = frozenset(s.indices) if isinstance(s, Reduce) else frozenset((s.index,))
            own = sum(self.volume(free(s.body[k]) | bound) for k in parts) / self.machine.flops
            data = s.where.data if isinstance(s, Reduce) else ()
            self._folds[key] = own + self._scope_cost((*data, *s.body))
        return self._folds[key]

    def store(self, source: Source, cost: float, axes: tuple[Index, ...], uses: int) -> None:
        """Notes what a class in memory costs: making it, shared among its uses, then writing and reading it.

        A first guess stays, unless it was off the matrix units and a better one is a small part of it.
        """
        traffic = 8.0 * self.volume(axes) / self.machine.memory
        now = (cost + self.machine.launch) / max(uses, 1) + traffic
        known = self.produced.setdefault(source, now)
        if self.apart is not None and now < 0.9 * known:
            self.produced[source] = now
            self._heuristic.clear()
            self._folds.clear()

    def kernel(self, bodies: Bodies, axes: Axes) -> Estimate:
        """The estimate for one kernel that writes `bodies`, each over its axes."""
        share = self._share(bodies, axes)
        if not share and self.apart is not None:
            return self.apart.kernel(bodies, axes)
        work = self._best_work(bodies, tuple(dict.fromkeys(i for a in axes for i in a)))
        written = sum(self.volume(a) * 4.0 for a in axes)
        compulsory = written + sum(self._traffic(s, work) for s in work.sources)
        arithmetic = self._arithmetic(work) / share
        inside = max(arithmetic, 4.0 * work.loads / self.machine.cache)
        traffic = compulsory / self.machine.memory
        seconds = (
            self.machine.launch
            + max(inside, traffic)
            + _EXPOSED * arithmetic
            + _STALLED * min(inside, traffic)
            + self._fetched_again(work)
        )
        return Estimate(seconds, work.flops, compulsory, work.loads)

    def _share(self, bodies: Bodies, axes: Axes) -> float:
        """The share of the matrix units that a kernel keeps busy: all, where nothing is known of them."""
        if self.apart is None or self.busy is None:
            return 1.0
        key = bodies, axes
        if key not in self._shares:
            self._shares[key] = self.busy(bodies, axes)
        return self._shares[key]

    def _best_work(self, bodies: tuple[Scalar, ...], outputs: tuple[Index, ...]) -> _Work:
        """The counts under the choice of local axes that takes the least time."""
        best: _Work | None = None
        least = 0.0
        for local in self._local_axes(bodies, outputs):
            tried = _Work(self, frozenset(outputs) - local)
            outside = _Scope(tried, {}, {})
            for body in bodies:
                tried.visit(body, outside)
            seconds = self._arithmetic(tried) + self._fetched_again(tried)
            if best is None or seconds < least:
                best, least = tried, seconds
        assert best is not None
        return best

    def _arithmetic(self, work: _Work) -> float:
        """Seconds of operations. Tiles of rows are what threads share, and there may be fewer of them than threads."""
        seconds = work.flops / self.machine.flops
        if not work.nested:
            return seconds
        walked = [x for x in work.sources if work.sources[x].streamed]
        shared = (work.sources[max(walked, key=self._bytes)].fixed if walked else None) or frozenset()
        tiles = self.volume(shared) * max(self.volume(work.grid - shared) / self.machine.rows, 1.0)
        return seconds * max(self.machine.threads / max(tiles, 1.0), 1.0)

    def _fetched_again(self, work: _Work) -> float:
        """Seconds for what no near cache holds."""
        return sum(self._again(s, work) for s in work.sources) / self.machine.further

    def _again(self, source: Source, work: _Work) -> float:
        """Bytes of a source that are fetched anew for every tile of rows, in kernels that hold rows.

        Where folds run inside folds or output axes are local, the loops cannot be turned to keep an operand near; a
        table that is larger than the cache near a core then comes from further away once per tile of rows. While it
        stays in some cache and the tiles of a fold are small, they are there before they are used.
        """
        if not work.nested:
            return 0.0
        whole, reads = self._bytes(source), work.sources[source]
        share = whole / max(self.volume(reads.fixed or ()), 1.0)
        tile = share * _STREAMED / max(self.volume(reads.streamed), 1.0)
        if share <= self.machine.capacity or (share <= self.machine.outer and tile <= self.machine.tile):
            return 0.0
        return whole * max(self.volume(work.grid - (reads.fixed or frozenset())) / self.machine.rows - 1.0, 0.0)

    def _traffic(self, source: Source, work: _Work) -> float:
        """Bytes read of a source: once, or once per pass where what one grid point reads does not stay in the cache.

        At computed coordinates no more is read than is asked for.
        """
        reads = work.sources[source]
        whole = self._bytes(source)
        share = whole / max(self.volume(reads.fixed or ()), 1.0)
        cached = share <= self.machine.capacity
        if not reads.passes or not cached:
            asked = min(whole, reads.asked * ops.BYTES[source.dtype])
            return whole * len(reads.passes) + asked
        return whole

    def _bytes(self, source: Source) -> float:
        elements = 1.0
        for s in source.shape:
            elements *= self.size(s)
        return elements * ops.BYTES[source.dtype]

    def _local_axes(self, bodies: tuple[Scalar, ...], outputs: tuple[Index, ...]) -> tuple[frozenset[Index], ...]:
        """Sets of output axes that could be local: those that a fold lacks, while accumulators stay small."""
        folds = [s for b in bodies for s in walk(b) if isinstance(s, Reduce)]
        options = {frozenset[Index]()}
        for f in folds:
            lacking = frozenset(i for i in outputs if i not in free(f))
            if len(lacking) < len(outputs) and all(self.volume(free(g) & lacking) <= self.machine.local for g in folds):
                options.add(lacking)
        return tuple(sorted(options, key=lambda o: (len(o), sorted(i.name for i in o))))


@dataclass(slots=True)
class _Reads:
    """How a kernel reads a source: in which outermost folds (`passes`), by the indices of the outermost folds that walk
    through it (`streamed`), by indices that no fold binds for any of its reads (`fixed`), and at how many places with
    computed coordinates (`asked`)."""

    passes: set[object] = field(default_factory=set)
    streamed: frozenset[Index] = frozenset()
    fixed: frozenset[Index] | None = None
    asked: float = 0.0


def _loop(s: Reduce | Scan) -> tuple[object, ...]:
    """What tells the loop of a fold from that of another: all parts of a fold run in one, other domains in others."""
    return (s.monoid, s.body, s.where if isinstance(s, Reduce) else None)


def _contracts(s: Reduce) -> bool:
    """Whether a fold combines two reads of which each has an index that the other lacks."""
    reads = [free(x) for b in s.body for x in walk(b) if isinstance(x, Read) and free(x) & set(s.indices)]
    return any(a - b and b - a and a & b & set(s.indices) for n, a in enumerate(reads) for b in reads[n + 1 :])


class _Scope:
    """The folds around a place by the indices that they bind, the outermost first, and what was asked about them.

    `limits`: for each of these indices, those from outside that the domain of its fold mentions.
    """

    __slots__ = ("_around", "_volumes", "_work", "bound", "folds", "limits")

    def __init__(self, work: _Work, folds: dict[Index, object], limits: dict[Index, frozenset[Index]]) -> None:
        self._work = work
        self.folds = folds
        self.limits = limits
        self.bound = frozenset(folds)
        self._around: dict[frozenset[Index], frozenset[object]] = {}
        self._volumes: dict[frozenset[Index], float] = {}

    def around(self, depends: frozenset[Index]) -> frozenset[object]:
        """The folds that bind some of `depends`."""
        found = self._around.get(depends)
        if found is None:
            found = self._around[depends] = frozenset(self.folds[i] for i in depends & self.bound)
        return found

    def volume(self, depends: frozenset[Index]) -> float:
        """How often something is evaluated: at each grid point, for its fold indices and its local axes.

        A fold may bind an index that is an output axis as well (a row statistic under its own row): it then runs anew.
        So does one, with its body, at every point that limits its domain (a fold over what has passed, say).
        """
        found = self._volumes.get(depends)
        if found is None:
            volume, grid = self._work.costs.volume, self._work.grid
            whole = depends.union(*(self.limits[i] for i in depends if i in self.limits))
            folded = whole & self.bound
            found = self._volumes[depends] = volume(grid) * volume(folded) * volume(whole - folded - grid)
        return found


@dataclass(slots=True)
class _Work:
    """Counts operations and loads of one kernel, each subterm once within its innermost fold."""

    costs: Costs
    grid: frozenset[Index]
    flops: float = 0.0
    loads: float = 0.0
    nested: bool = False
    sources: dict[Source, _Reads] = field(default_factory=dict)
    seen: set[object] = field(default_factory=set)

    def visit(self, s: Scalar, scope: _Scope) -> None:
        """Counts `s` inside the folds of `scope`; a second pass counts again."""
        if isinstance(s, (Const, Position, Test)):
            return
        depends = free(s)
        key = (s, scope.around(depends))
        if key in self.seen:
            return
        self.seen.add(key)
        if isinstance(s, (Reduce, Scan)):
            self._fold(s, scope)
            return
        if isinstance(s, Apply):
            weight = _WEIGHT.get(s.op, 1.0) / (2.0 if s.op == "mul" else 1.0)
            shared = self._rows_of(s) if s.op == "select" and scope.bound else 1.0
            self.flops += weight * scope.volume(depends) / shared
        elif isinstance(s, Read):
            self._read(s, scope)
            self.loads += scope.volume(depends) / 4.0
        for c in children(s):
            self.visit(c, scope)

    def _rows_of(self, s: Apply) -> float:
        """How many rows share a choice among reads by position, which is copied like a read."""
        if not isinstance(s.args[0], Test) or not all(isinstance(x, Read) for x in s.args[1:]):
            return 1.0
        return max(min(self.costs.volume(self.grid - free(s)), float(self.costs.machine.rows)), 1.0)

    def _read(self, s: Read, scope: _Scope) -> None:
        reads, depends, folds = self.sources.setdefault(s.source, _Reads()), free(s), scope.folds
        fixed = self.grid & depends - scope.bound
        reads.fixed = fixed if reads.fixed is None else reads.fixed & fixed
        if any(isinstance(x, Read) for c in s.coordinates if not isinstance(c, Affine) for x in walk(c)):
            reads.asked += self.costs.volume(depends)
        else:
            reads.passes.add(next(iter(folds.values()), None))
        around = next((folds[i] for i in folds if i in depends), None)  # the outermost fold that walks through it
        reads.streamed |= {i for i in depends if i in folds and folds[i] is around}

    def _fold(self, s: Reduce | Scan, scope: _Scope) -> None:
        """Counts a fold in a loop of its own, and a scan in the loop over its index, whoever runs it."""
        bound = s.indices if isinstance(s, Reduce) else (s.index,)
        fold = _loop(s)
        inner = self._inside(s, fold, scope) if isinstance(s, Reduce) else scope
        live = self._live(s) if isinstance(s, Reduce) else 1.0
        flops, loads = self.flops, self.loads
        around = scope.around(free(s))
        for k in s.monoid.needs(s.part):
            key = (fold, k, around)
            if key not in self.seen:
                self.seen.add(key)
                self.flops += inner.volume(free(s.body[k]).union(bound)) / 2.0
                self.visit(s.body[k], inner)
        if isinstance(s, Reduce):
            for d in s.where.data:
                self.visit(d, inner)
        running = isinstance(s, Reduce) and bool(around)
        self.nested = self.nested or running
        nested = self.costs.machine.nested if running else 1.0
        if isinstance(s, Reduce) and any(isinstance(x, Scan) and x.index in bound for x in walk(*s.body)):
            nested *= _SERIAL
        if self.costs.machine.product > 1.0 and isinstance(s, Reduce) and _contracts(s):
            nested *= self.costs.machine.product
        self.flops = flops + live * nested * (self.flops - flops)
        self.loads = loads + live * (self.loads - loads)

    def _inside(self, s: Reduce, fold: object, scope: _Scope) -> _Scope:
        """The scope of the body of a fold."""
        named = frozenset[Index]().union(*(c.indices() for c in s.where.affine), *map(free, s.where.data))
        limited = named - frozenset(s.indices)
        limits = {**scope.limits, **dict.fromkeys(s.indices, limited)} if limited else scope.limits
        return _Scope(self, {**scope.folds, **dict.fromkeys(s.indices, fold)}, limits)

    def _live(self, s: Reduce) -> float:
        """The share of a domain's points that loops visit.

        An affine domain that mentions outer indices is taken to be half full, and so is one that data limits on one
        side. Limits on both sides that depend on outer indices are taken to share the points out among those. What
        counts points between limits only looks for the limits.
        """
        if any(c.indices() - set(s.indices) for c in s.where.affine):
            return 0.5
        live = 1.0
        for i in s.indices:
            found = [(x.side, c) for c in s.where.data for x in limits_of(i, c)]
            sides = {side for side, _ in found}
            outer = frozenset(k for _, c in found for k in free(c)) - set(s.indices)
            counts = isinstance(s.body[0], Const) and len(s.body) == len(s.where.data) == len(s.indices) == 1
            if sides and counts:
                return log2(self.costs.size(i.size) + 2.0) / max(self.costs.size(i.size), 1.0)
            live /= 1.0 if not sides else 2.0 if len(sides) == 1 else max(self.costs.volume(outer), 1.0)
        return live
