"""A program over ranks, each holding a part of one axis: local folds, states exchanged under the same monoid.

    fold[M, j < n](b)  =  all_reduce[M, rank](fold[M, j' < n / R](b[j := rank·(n / R) + j']))

The tensors of a selected program are rewritten for one rank; every fold along the axis becomes a tensor for each
component of its state, an exchange, and a fold over the gathered states. Stages are cut where something is exchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import gcd

from tang_egg.affine import Affine, AffineLike, Atom, Dim, Index, Inequality, affine
from tang_egg.errors import GraphError
from tang_egg.extract.axes import Axis, indices_along, named_axes
from tang_egg.extract.derive import Step
from tang_egg.extract.merge import (
    Merge,
    Place,
    check_alone,
    check_order,
    in_order,
    is_wide,
    narrowed,
    needed_at,
    places_of,
    step,
    stored_type,
    whole,
)
from tang_egg.extract.shard_axes import Cut, cut_axes
from tang_egg.extract.sharded import Exchange, Sharded, Stage, part_name
from tang_egg.extract.split import check_parts, check_split
from tang_egg.ir import (
    Coordinate,
    Domain,
    Graph,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    Tensor,
    Test,
    apply,
    const,
    free,
    map_children,
    sources,
    tensors_of,
    type_of,
    walk,
)
from tang_egg.program import KernelPlan, Program, unique
from tang_egg.rewrite import DimBinding
from tang_egg.windows import replace_sources

MOST_RANKS = 1 << 12


def shard_program(graph: Graph, program: Program, name: str, ranks: int) -> Sharded:
    """The program over `ranks` ranks, each with a part of the axis that `name` means in `graph`.

    Raises GraphError for a name that means no axis, a number of ranks that is none, a scan or an unordered fold along
    the axis, and an axis along which every fold or tensor needs all pairs of points.
    """
    check_parts(name, ranks, MOST_RANKS)
    axes = named_axes(graph, name)
    size = _size(graph, axes, name)
    program, size, length = _symbolic(program, size, ranks)
    along = indices_along(program.tensors, axes)
    cut = cut_axes(program.tensors, along)
    if not any(cut.local.values()):
        raise GraphError(
            f"'{name}' cannot be cut over ranks: {cut.reasons[0] if cut.reasons else 'nothing runs along it'}",
            where=f"graph '{graph.name}'",
            mend="give the two uses of the axis inputs of their own, or name another axis",
        )
    taken = {t.name for t in program.tensors} | {i.name for i in program.graph.inputs}
    rank = Dim(unique("rank", {d.name for d in graph.dims()}), 0, ranks - 1)
    made = _Sharding(program, cut, ranks, size, length, rank, taken)
    for k in program.kernels:
        made.kernel(k)
    stages = _stages(program.graph, made)
    for s in stages:
        check_split(s.graph)
    inputs = {i.name: a for i in graph.inputs for a in range(len(i.shape)) if (i.name, a) in cut.axes}
    outputs = {t.name: a for t in program.graph.outputs for a in range(len(t.axes)) if (t.name, a) in cut.axes}
    reasons = tuple(dict.fromkeys(cut.reasons))
    return Sharded(
        graph, name, ranks, stages, inputs, outputs, size, length, rank, tuple(dict.fromkeys(made.steps)), reasons
    )


def _size(graph: Graph, axes: Iterable[Axis], name: str) -> Affine:
    """The number of points of linked axes."""
    shapes = {i.name: i.shape for i in graph.inputs}
    sizes = {shapes[n][a] for n, a in axes}
    if len(sizes) > 1:
        raise GraphError(
            f"the axes along '{name}' have {' and '.join(sorted(map(repr, sizes)))} points",
            where=f"graph '{graph.name}': {', '.join(f'{n}:{a}' for n, a in sorted(axes))}",
            mend="cut an axis whose indices run over all of it",
        )
    return next(iter(sizes))


def _symbolic(program: Program, size: Affine, ranks: int) -> tuple[Program, Affine, Affine]:
    """The program, with a symbolic size as so many times that of a part; the size and the length of a part."""
    if size.value is not None:
        return program, size, affine(-(-size.value // ranks))
    dims = size.dims()
    d = next(iter(dims))
    if len(dims) > 1 or size is not affine(d):
        raise GraphError(
            f"an axis of {size} points cannot be cut over ranks",
            where=f"graph '{program.graph.name}'",
            mend="give the axis a dim of its own, or bind its size: graph.bind(...)",
        )
    hi = None if d.hi is None else d.hi // ranks
    part = Dim(part_name(d), -(-d.lo // ranks), hi, d.multiple // gcd(d.multiple, ranks))
    binding = DimBinding({d: affine(part) * ranks})
    kernels = tuple(KernelPlan(k.name, tuple(binding.tensor(t) for t in k.outputs), k.laws) for k in program.kernels)
    inputs = tuple(binding.input(i) for i in program.graph.inputs)
    graph = Graph(program.graph.name, inputs, tuple(binding.tensor(t) for t in program.graph.outputs))
    return Program(graph, kernels), affine(part) * ranks, affine(part)


@dataclass(slots=True)
class _Sharding:
    """The rewriting of a program for one rank, kernel by kernel."""

    program: Program
    cut: Cut
    ranks: int
    size: Affine
    length: Affine
    rank: Dim
    taken: set[str]
    kernels: list[KernelPlan] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    states: dict[Reduce, Merge] = field(default_factory=dict)
    needed: dict[Reduce, Place] = field(default_factory=dict)
    made: dict[Source, Source] = field(default_factory=dict)

    @property
    def even(self) -> bool:
        return self.length * self.ranks is self.size

    def kernel(self, k: KernelPlan) -> None:
        self.states, self.needed = {}, needed_at(*(t.body for t in k.outputs))
        outputs: list[Tensor] = []
        for t in k.outputs:
            moved = {i: Index(i.name, self.length) for i in self.cut.local[t]}
            axes = tuple(moved.get(i, i) for i in t.axes)
            body = self._body(t, moved, k.name)
            mine = [i for i in t.axes if i in moved]
            if mine and not self.even:
                zero = const(0, type_of(body)) if type_of(body) != "bool" else const(False)
                body = apply("select", Test(self._inside(moved[mine[0]])), body, zero)
            new = Tensor(t.name, axes, body, t.dtype, "", t.at)
            self.made[t] = new
            outputs.append(new)
        self.kernels.append(KernelPlan(k.name, tuple(outputs), k.laws))

    def _at(self, mine: Index) -> Affine:
        """The point of the whole axis at which a local index stands."""
        return affine(self.rank) * self.length + mine

    def _inside(self, mine: Index) -> Inequality:
        return self._at(mine) <= self.size - 1

    def _body(self, t: Tensor, moved: dict[Index, Index], kernel: str) -> Scalar:
        forms: dict[Atom, AffineLike] = {i: self._at(m) for i, m in moved.items()}
        places = places_of(t.body)
        done: dict[Scalar, Scalar] = {}
        for s in walk(t.body):
            if isinstance(s, Position):
                done[s] = Position(s.form.substitute(forms))
            elif isinstance(s, Test):
                done[s] = Test(s.condition.substitute(forms))
            elif isinstance(s, Read):
                done[s] = self._read(s, moved, forms, done)
            elif isinstance(s, Reduce):
                done[s] = self._fold(s, moved, forms, done)
                if set(s.indices) & set(moved):
                    fold = done[s]
                    assert isinstance(fold, Reduce)
                    index = next(m for i, m in moved.items() if i in s.indices)
                    merge = self._state(fold, index, self.needed[whole(s)], kernel)
                    done[s] = (
                        merge.read(s.part, f"{kernel}_merged", self.taken, self.kernels, is_wide(self.program.graph))
                        if places[s].nested
                        else merge.fold(s.part)
                    )
            else:
                if isinstance(s, Scan) and s.index in moved:
                    raise GraphError(
                        f"a scan over {s.index.name} needs the points of all ranks before it, in order",
                        where=str(s.at) or f"tensor '{t.name}'",
                        mend="cut another axis, or scan within a rank's part only",
                    )
                done[s] = map_children(s, lambda c: done[c])
        return done[t.body]

    def _read(
        self, s: Read, moved: dict[Index, Index], forms: dict[Atom, AffineLike], done: dict[Scalar, Scalar]
    ) -> Read:
        at: list[Coordinate] = []
        for a, c in enumerate(s.coordinates):
            if isinstance(c, Scalar):
                at.append(done[c])
            elif (s.source.name, a) in self.cut.axes and (i := c.single()) in moved:
                assert i is not None
                at.append(affine(moved[i]))
            else:
                at.append(c.substitute(forms))
        return Read(self._source(s.source), tuple(at), s.at)

    def _source(self, s: Source) -> Source:
        if s not in self.made:
            assert isinstance(s, Input)
            shape = tuple(self.length if (s.name, a) in self.cut.axes else n for a, n in enumerate(s.shape))
            self.made[s] = Input(s.name, shape, s.dtype, s.sorted and (self.even or shape == s.shape))
        return self.made[s]

    def _fold(
        self, s: Reduce, moved: dict[Index, Index], forms: dict[Atom, AffineLike], done: dict[Scalar, Scalar]
    ) -> Reduce:
        own = [i for c in s.monoid.components for i in c.axes if i in moved]
        if own:
            raise GraphError(
                f"an axis of a state of '{s.monoid.name}' would be cut over ranks: {own[0].name}",
                where=str(s.at) or f"a fold over {', '.join(i.name for i in s.indices)}",
                mend="cut another axis",
            )
        mine = [moved[i] for i in s.indices if i in moved]
        affines = [c.substitute(forms) for c in s.where.affine]
        affines += [self._inside(m) for m in mine if not self.even]
        where = Domain(tuple(dict.fromkeys(affines)), tuple(done[d] for d in s.where.data))
        indices = tuple(moved.get(i, i) for i in s.indices)
        return Reduce(s.monoid, indices, where, tuple(done[b] for b in s.body), s.part, s.at)

    def _state(self, fold: Reduce, index: Index, needed: Place, kernel: str) -> Merge:
        key = whole(fold)
        if key in self.states:
            return self.states[key]
        check_order(fold, index)
        check_alone(fold)
        wide = is_wide(self.program.graph)
        sends: list[Tensor] = []
        gathers: list[Input] = []
        names = {i.name for i in (*free(fold), *fold.indices)}
        share = Index(unique("rank", names), affine(self.ranks))
        reads: dict[int, Read] = {}
        for n, component in enumerate(fold.monoid.components):
            one = narrowed(replace(fold, part=n), needed)
            label = component.name if component.name.isidentifier() else f"c{n}"
            sent = Tensor(
                unique(f"{kernel}_{label}", self.taken), in_order(free(one)), one, stored_type(fold.monoid, n, wide)
            )
            got = Input(unique(f"{sent.name}_all", self.taken), (affine(self.ranks), *sent.shape), sent.dtype)
            sends.append(sent)
            gathers.append(got)
            reads[n] = Read(got, (affine(share), *(affine(i) for i in sent.axes)))
        merge = self.states[key] = Merge(fold, share, reads)
        law = "sharding.local_state" if fold.monoid.followers else "sharding.local"
        self.kernels.append(KernelPlan(sends[0].name, tuple(sends), (law,)))
        self.exchanges.append(Exchange(fold.monoid, tuple(sends), tuple(gathers)))
        self.steps.append(step(law, fold, merge.fold(fold.part)))
        return merge


def _stages(graph: Graph, made: _Sharding) -> tuple[Stage, ...]:
    """The kernels of a rank, cut wherever one reads what an exchange gathered."""
    arrives = {g: x for x in made.exchanges for g in x.gathers}
    stage: dict[Tensor, int] = {}
    for k in made.kernels:
        for t in k.outputs:
            below = [stage[s] if isinstance(s, Tensor) else _sent(arrives[s], stage) + 1
                     for s in sources(t.body) if isinstance(s, Tensor) or s in arrives]  # fmt: skip
            stage[t] = max(below, default=0)
    results = {u for t in graph.outputs if isinstance(u := made.made[t], Tensor)}
    sent = {t for x in made.exchanges for t in x.sends}
    later = {s for t in stage for s in sources(t.body) if isinstance(s, Tensor) and stage[s] < stage[t]}
    found: list[Stage] = []
    for n in range(max(stage.values()) + 1):
        found.append(_stage(graph.name, n, made, stage, results | sent | later))
    return tuple(found)


def _sent(x: Exchange, stage: dict[Tensor, int]) -> int:
    return max(stage[t] for t in x.sends)


def _stage(name: str, n: int, made: _Sharding, stage: dict[Tensor, int], wanted: set[Tensor]) -> Stage:
    now: dict[Source, Source] = {}

    def source(s: Source) -> Source:
        if s not in now:
            now[s] = Input(s.name, s.shape, s.dtype) if isinstance(s, Tensor) else s
        return now[s]

    kernels: list[KernelPlan] = []
    outputs: list[Tensor] = []
    for k in made.kernels:
        mine: list[Tensor] = []
        for t in k.outputs:
            if stage[t] == n:
                new = replace(t, body=replace_sources(t.body, source))
                now[t] = new
                mine.append(new)
                if t in wanted:
                    outputs.append(new)
        if mine:
            kernels.append(KernelPlan(k.name, tuple(mine), k.laws))
    read = dict.fromkeys(s for t in tensors_of(outputs) for s in sources(t.body) if isinstance(s, Input))
    graph = Graph(f"{name}_stage{n}", tuple(read), tuple(outputs))
    exchanges = tuple(
        replace(x, sends=tuple(u for t in x.sends if isinstance(u := now[t], Tensor)))
        for x in made.exchanges
        if _sent(x, stage) == n
    )
    return Stage(Program(graph, tuple(kernels)), exchanges)
