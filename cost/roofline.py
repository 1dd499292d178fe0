"""A roofline estimate of kernels: the larger of arithmetic and memory time, plus a launch.

It orders candidates; it proves nothing. Work is counted where the code generator does it: a subexpression is evaluated
once for each point of the kernel's grid and of the indices it depends on. The grid has the output axes, except those
that some fold inside does not depend on and that are small enough to be held as local axes of the accumulators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import log2

from tang_egg import ops
from tang_egg.affine import Affine, Index
from tang_egg.bounds_range import limits_of
from tang_egg.ir import Apply, Const, Position, Read, Reduce, Scalar, Scan, Source, Test, children, free, walk


@dataclass(frozen=True, slots=True)
class Machine:
    """Rates of one device: operations per second; bytes per second from memory, from the cache near a core (`cache`)
    and from the one behind it (`further`); seconds per launch; elements of local accumulators; bytes of the near cache;
    `rows` that a kernel with folds inside folds holds at once; whether products run on matrix `units`.
    """

    flops: float = 6e10
    memory: float = 1.2e10
    cache: float = 1.0e11
    further: float = 1.5e10
    launch: float = 1e-5
    local: int = 4096
    capacity: float = 5e5
    rows: int = 16
    units: bool = False


_WEIGHT = {"exp": 12.0, "log": 16.0, "tanh": 16.0, "erf": 20.0, "sin": 20.0, "atan2": 30.0, "recip": 4.0, "sqrt": 4.0}
_NESTED = 1.1
"""A fold that runs inside another is tiled less well: its arithmetic counts that much more."""

_EXPOSED = 0.25
"""The share of arithmetic and of traffic that the other does not hide."""

MATRIX_UNITS = Machine(4e14, 4.2e12, 4e15, 6e12, 3e-6, 4096, 5e7, 128, units=True)
"""A chip with matrix units, tiles in shared memory and a large second cache (one H200, rounded)."""


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

    `typical` gives the size assumed for a symbolic dim without an upper limit.
    """

    machine: Machine = field(default_factory=Machine)
    typical: int = 128
    _heuristic: dict[Scalar, float] = field(default_factory=dict)
    _volumes: dict[frozenset[Index], float] = field(default_factory=dict)
    produced: dict[Source, float] = field(default_factory=dict)
    _sizes: dict[Affine, float] = field(default_factory=dict)
    _folds: dict[object, float] = field(default_factory=dict)

    def size(self, form: Affine) -> float:
        """The number that a size is, or is taken to be."""
        if form not in self._sizes:
            env = {d.name: max(d.lo, min(self.typical, d.hi or self.typical)) for d in form.dims()}
            self._sizes[form] = float(max(form.evaluate(env), 0))
        return self._sizes[form]

    def volume(self, indices: Iterable[Index]) -> float:
        """The number of points of some indices."""
        key = frozenset(indices)
        if key not in self._volumes:
            total = 1.0
            for i in key:
                total *= self.size(i.size)
            self._volumes[key] = total
        return self._volumes[key]

    def heuristic(self, term: Scalar) -> float:
        """Seconds to make `term` over its own indices as one kernel, what it reads from other kernels included.

        Making a stored class counts once per use (see `store`). Terms that share nothing across folds are costed
        without looking for a grid.
        """
        if term not in self._heuristic:
            cost = self._scope_cost((term,))
            if any(isinstance(s, Reduce) for s in walk(term)):
                axes = tuple(sorted(free(term), key=lambda i: i.name))
                work = self._best_work((term,), axes)
                cost = max(cost, work.flops / self.machine.flops + sum(self.produced.get(s, 0.0) for s in work.sources))
            self._heuristic[term] = cost
        return self._heuristic[term]

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
                key = (s.monoid, s.body)
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
        key = (s.monoid, s.body)
        if key not in self._folds:
            parts = range(len(s.body))
            bound = frozenset(s.indices) if isinstance(s, Reduce) else frozenset((s.index,))
            own = sum(self.volume(free(s.body[k]) | bound) for k in parts) / self.machine.flops
            data = s.where.data if isinstance(s, Reduce) else ()
            self._folds[key] = own + self._scope_cost((*data, *s.body))
        return self._folds[key]

    def store(self, source: Source, cost: float, axes: tuple[Index, ...], uses: int) -> None:
        """Notes what a class in memory costs: making it, shared among its uses, then writing and reading it."""
        traffic = 8.0 * self.volume(axes) / self.machine.memory
        self.produced.setdefault(source, (cost + self.machine.launch) / max(uses, 1) + traffic)

    def kernel(self, bodies: tuple[Scalar, ...], axes: tuple[tuple[Index, ...], ...]) -> Estimate:
        """The estimate for one kernel that writes `bodies`, each over its axes."""
        work = self._best_work(bodies, tuple(dict.fromkeys(i for a in axes for i in a)))
        written = sum(self.volume(a) * 4.0 for a in axes)
        compulsory = written + sum(self._traffic(s, work) for s in work.sources)
        seconds = (
            self.machine.launch
            + max(
                work.flops / self.machine.flops,
                compulsory / self.machine.memory,
                (4.0 * work.loads) / self.machine.cache,
            )
            + _EXPOSED * (work.flops / self.machine.flops + compulsory / self.machine.memory)
            + self._fetched_again(work)
        )
        return Estimate(seconds, work.flops, compulsory, work.loads)

    def _best_work(self, bodies: tuple[Scalar, ...], outputs: tuple[Index, ...]) -> _Work:
        """The counts under the choice of local axes that takes the least time."""
        best: _Work | None = None
        least = 0.0
        for local in self._local_axes(bodies, outputs):
            tried = _Work(self, frozenset(outputs) - local)
            for body in bodies:
                tried.visit(body, {})
            seconds = tried.flops / self.machine.flops + self._fetched_again(tried)
            if best is None or seconds < least:
                best, least = tried, seconds
        assert best is not None
        return best

    def _fetched_again(self, work: _Work) -> float:
        """Seconds for what no near cache holds."""
        return sum(self._again(s, work) for s in work.sources) / self.machine.further

    def _again(self, source: Source, work: _Work) -> float:
        """Bytes of a source that are fetched anew for every tile of rows, in kernels that hold rows.

        Where folds run inside folds or output axes are local, the loops cannot be turned to keep an operand near; a
        table that is larger than the cache near a core then comes from further away once per tile.
        """
        if not work.nested:
            return 0.0
        _, axes = work.sources[source]
        whole = self._bytes(source)
        if whole / max(self.volume(axes & work.grid), 1.0) <= self.machine.capacity:
            return 0.0
        return whole * max(self.volume(work.grid - axes) / self.machine.rows - 1.0, 0.0)

    def _traffic(self, source: Source, work: _Work) -> float:
        """Bytes read of a source: once, or once per pass where what one grid point reads does not stay in the cache."""
        whole = self._bytes(source)
        passes, axes = work.sources[source]
        share = whole / max(self.volume(axes & work.grid), 1.0)
        return whole * (len(passes) if share > self.machine.capacity else 1)

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
class _Work:
    """Counts operations and loads of one kernel, each subterm once within its innermost fold."""

    costs: Costs
    grid: frozenset[Index]
    flops: float = 0.0
    loads: float = 0.0
    nested: bool = False
    sources: dict[Source, tuple[frozenset[object], frozenset[Index]]] = field(default_factory=dict)
    """For each source: the outermost folds that read it, and the indices by which it is read."""
    seen: set[object] = field(default_factory=set)

    def visit(self, s: Scalar, scope: Mapping[Index, object]) -> None:
        """Counts `s` inside the folds that `scope` gives for each bound index; a second pass counts again."""
        key = (s, frozenset(scope[i] for i in free(s) if i in scope))
        if key in self.seen or isinstance(s, (Const, Position, Test)):
            return
        self.seen.add(key)
        volume = self._volume(free(s), scope)
        if isinstance(s, (Reduce, Scan)):
            self._fold(s, scope)
            return
        if isinstance(s, Apply):
            self.flops += _WEIGHT.get(s.op, 1.0) * volume / (2.0 if s.op == "mul" else 1.0)
        elif isinstance(s, Read):
            passes, axes = self.sources.get(s.source, (frozenset(), frozenset()))
            outermost = next(iter(scope.values()), None)
            self.sources[s.source] = (passes | {outermost}, axes | free(s))
            self.loads += volume / 4.0
        for c in children(s):
            self.visit(c, scope)

    def _volume(self, depends: frozenset[Index], scope: Mapping[Index, object]) -> float:
        """How often something is evaluated: at each grid point, for its fold indices and its local axes.

        A fold may bind an index that is an output axis as well (a row statistic under its own row): it then runs anew.
        """
        folded = frozenset(i for i in depends if i in scope)
        return (
            self.costs.volume(self.grid) * self.costs.volume(folded) * self.costs.volume(depends - folded - self.grid)
        )

    def _fold(self, s: Reduce | Scan, scope: Mapping[Index, object]) -> None:
        bound = s.indices if isinstance(s, Reduce) else (s.index,)
        fold = (s.monoid, s.body)
        inner = {**scope, **dict.fromkeys(bound, fold)}
        live = self._live(s) if isinstance(s, Reduce) else 1.0
        flops, loads = self.flops, self.loads
        for k in s.monoid.needs(s.part):
            key = (fold, k, frozenset(scope[i] for i in free(s) if i in scope))
            if key not in self.seen:
                self.seen.add(key)
                self.flops += self._volume(free(s.body[k]).union(bound), inner) / 2.0
                self.visit(s.body[k], inner)
        if isinstance(s, Reduce):
            for d in s.where.data:
                self.visit(d, inner)
        running = any(i in scope for i in free(s))
        self.nested = self.nested or running
        nested = _NESTED if running else 1.0
        self.flops = flops + live * nested * (self.flops - flops)
        self.loads = loads + live * (self.loads - loads)

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
