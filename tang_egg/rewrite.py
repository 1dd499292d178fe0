"""Operations on expressions that keep their meaning: substitution of indices, renaming, binding of dims, inlining."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tang_egg.affine import Affine, AffineLike, Atom, Dim, Index, affine, dims_of
from tang_egg.errors import BindError, GraphError
from tang_egg.ir import (
    Apply,
    Coordinate,
    Domain,
    Graph,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    StateRef,
    Tensor,
    Test,
    const,
    free,
    map_children,
    tensors_of,
    walk,
)
from tang_egg.ir import apply as apply_op
from tang_egg.monoid import Monoid


def fresh_index(like: Index, taken: set[str]) -> Index:
    """An index of the same size whose name is not in `taken`; the new name is added to it."""
    stem, n = like.name.split("~")[0], 1
    while f"{stem}~{n}" in taken:
        n += 1
    taken.add(f"{stem}~{n}")
    return Index(f"{stem}~{n}", like.size)


def substitute(s: Scalar, mapping: Mapping[Index, Coordinate | AffineLike]) -> Scalar:
    """`s` with free indices replaced, simultaneously and without capture.

    An index may become an affine form, or an integer scalar where it stands alone as a coordinate (a gather).
    Raises GraphError when a gathered value would have to enter an affine form or a condition.
    """
    forms = {k: v if isinstance(v, Scalar) else affine(v) for k, v in mapping.items()}
    return _Substitution().run(s, {k: v for k, v in forms.items() if v is not affine(k)})


def replace_reads(s: Scalar, replace: Callable[[Read, tuple[Coordinate, ...]], Scalar]) -> Scalar:
    """`s` with every read replaced by `replace(read, coordinates)`, gathered coordinates replaced before."""
    done: dict[Scalar, Scalar] = {}
    for x in walk(s):
        if isinstance(x, Read):
            done[x] = replace(x, tuple(c if isinstance(c, Affine) else done[c] for c in x.coordinates))
        else:
            done[x] = map_children(x, lambda c: done[c])
    return done[s]


class _Substitution:
    """One substitution pass; remembers what it did for shared subterms."""

    def __init__(self) -> None:
        self.done: dict[tuple[Scalar, tuple[tuple[Index, Coordinate], ...]], Scalar] = {}

    def run(self, s: Scalar, mapping: dict[Index, Coordinate]) -> Scalar:
        live = {k: v for k, v in mapping.items() if k in free(s)}
        if not live:
            return s
        key = (s, tuple(live.items()))
        if key not in self.done:
            self.done[key] = self._step(s, live)
        return self.done[key]

    def _step(self, s: Scalar, mapping: dict[Index, Coordinate]) -> Scalar:
        if isinstance(s, Position):
            return self._value(s.form, mapping)
        if isinstance(s, Test):
            value = self._value(s.condition.form, mapping)
            if isinstance(value, Position):
                return Test(value.form >= 0)
            return apply_op("le", const(0), value)
        if isinstance(s, Read):
            return Read(s.source, tuple(self._coordinate(c, mapping) for c in s.coordinates), s.at)
        if isinstance(s, StateRef):
            return StateRef(s.side, s.component, s.type, tuple(self._form(c, mapping) for c in s.coordinates))
        if isinstance(s, (Reduce, Scan)):
            _refuse_own_axes(s, mapping)
        if isinstance(s, Reduce):
            s = self._rename_bound(s, mapping)
            forms = tuple(c for c in s.where.affine)
            tests = [self._step_condition(Test(c), mapping) for c in forms]
            kept = tuple(t.condition for t in tests if isinstance(t, Test))
            data = tuple(t for t in tests if not isinstance(t, Test)) + tuple(
                self.run(d, mapping) for d in s.where.data
            )
            body = tuple(self.run(b, mapping) for b in s.body)
            return Reduce(s.monoid, s.indices, Domain(kept, data), body, s.part, s.at)
        if isinstance(s, Scan):
            return self._scan(s, mapping)
        return map_children(s, lambda child: self.run(child, mapping))

    def _step_condition(self, test: Test, mapping: dict[Index, Coordinate]) -> Scalar:
        return self.run(test, mapping)

    def _rename_bound(self, s: Reduce, mapping: dict[Index, Coordinate]) -> Reduce:
        """Bound indices that occur in the replacements get new names."""
        incoming: set[Index] = set()
        for v in mapping.values():
            incoming |= v.indices() if isinstance(v, Affine) else free(v)
        clash = [i for i in s.indices if i in incoming]
        if not clash:
            return s
        taken = {i.name for i in incoming | free(s)} | {i.name for i in s.indices} | _bound_names(s)
        renamed = {i: fresh_index(i, taken) for i in clash}
        inner = _Substitution()
        change: dict[Index, Coordinate] = {k: affine(v) for k, v in renamed.items()}
        body = tuple(inner.run(b, change) for b in s.body)
        where = Domain(
            tuple(c.substitute({k: affine(v) for k, v in renamed.items()}) for c in s.where.affine),
            tuple(inner.run(d, change) for d in s.where.data),
        )
        return Reduce(s.monoid, tuple(renamed.get(i, i) for i in s.indices), where, body, s.part, s.at)

    def _scan(self, s: Scan, mapping: dict[Index, Coordinate]) -> Scalar:
        """The scan's index may only be renamed; other free indices change in its body."""
        target = mapping.get(s.index)
        others = {k: v for k, v in mapping.items() if k is not s.index}
        position = target.single() if isinstance(target, Affine) else None
        incoming: set[Index] = set()
        for v in others.values():
            incoming |= v.indices() if isinstance(v, Affine) else free(v)
        if s.index in incoming or (target is not None and (position is None or position.size is not s.index.size)):
            raise GraphError(
                "a scan is read at a position that is not a plain index",
                where=f"scan over {s.index}",
                mend="name the scan as a tensor of its own, then read that tensor",
            )
        if position is not None:
            others[s.index] = affine(position)
        body = tuple(self.run(b, others) for b in s.body)
        return Scan(s.monoid, position or s.index, body, s.part, s.chunk, s.at)

    def _coordinate(self, c: Coordinate, mapping: dict[Index, Coordinate]) -> Coordinate:
        if isinstance(c, Scalar):
            return self.run(c, mapping)
        value = self._value(c, mapping)
        return value.form if isinstance(value, Position) else value

    def _form(self, form: Affine, mapping: dict[Index, Coordinate]) -> Affine:
        value = self._value(form, mapping)
        if not isinstance(value, Position):
            raise GraphError(
                "a gathered value enters an affine form of a monoid's state",
                where=repr(form),
                mend="read the gathered value into a tensor first",
            )
        return value.form

    def _value(self, form: Affine, mapping: dict[Index, Coordinate]) -> Scalar:
        """An affine form after substitution: a Position, or an integer scalar when gathered values enter it."""
        plain: dict[Atom, AffineLike] = {k: v for k, v in mapping.items() if isinstance(v, Affine)}
        gathered = {k: v for k, v in mapping.items() if isinstance(v, Scalar) and k in form.indices()}
        if not gathered:
            return Position(form.substitute(plain))
        rest = form.substitute({**plain, **dict.fromkeys(gathered, 0)})
        total: Scalar | None = None if rest.value == 0 else Position(rest)
        for k, v in gathered.items():
            value = v if _is_i64(v) else Apply("cast:i64", (v,))
            factor = form.coefficient(k)
            term = value if factor.value == 1 else apply_op("mul", Position(factor), value)
            total = term if total is None else apply_op("add", total, term)
        assert total is not None
        return total


def _refuse_own_axes(s: Reduce | Scan, mapping: Mapping[Index, Coordinate]) -> None:
    """Raises GraphError where `mapping` meets axes of a state's components: lifts and combine both mention them."""
    own = {i for c in s.monoid.components for i in c.axes}
    if not own:
        return
    incoming = (v.indices() if isinstance(v, Affine) else free(v) for v in mapping.values())
    met = own & frozenset(mapping).union(*incoming)
    if met:
        names = ", ".join(sorted(i.name for i in met))
        raise GraphError(
            f"an axis of a state of monoid '{s.monoid.name}' would be replaced: {names}",
            where=f"a fold with components {', '.join(c.name for c in s.monoid.components)}",
            mend="name the fold as a tensor of its own, then read that tensor",
        )


def _is_i64(s: Scalar) -> bool:
    from tang_egg.ir import type_of

    return type_of(s) == "i64"


def _bound_names(s: Scalar) -> set[str]:
    return {i.name for n in walk(s) if isinstance(n, Reduce) for i in n.indices}


def inline(read: Read) -> Scalar:
    """The body of the tensor that is read, its axes replaced by the coordinates. The read must be of a Tensor."""
    assert isinstance(read.source, Tensor)
    return substitute(read.source.body, dict(zip(read.source.axes, read.coordinates, strict=True)))


class DimBinding:
    """Replaces dims by integers or forms over dims throughout a graph; every node is rebuilt once."""

    def __init__(self, values: Mapping[Dim, AffineLike]) -> None:
        self.values: dict[Atom, AffineLike] = dict(values.items())
        self.indices: dict[Index, Index] = {}
        self.scalars: dict[Scalar, Scalar] = {}
        self.inputs: dict[Input, Input] = {}
        self.tensors: dict[Tensor, Tensor] = {}
        self.monoids: dict[Monoid, Monoid] = {}

    def size(self, size: Affine) -> Affine:
        return size.substitute(self.values)

    def index(self, i: Index) -> Index:
        if i not in self.indices:
            self.indices[i] = Index(i.name, self.size(i.size))
        return self.indices[i]

    def form(self, form: Affine) -> Affine:
        swaps: dict[Atom, AffineLike] = {i: self.index(i) for i in form.indices()}
        return form.substitute({**self.values, **swaps})

    def input(self, i: Input) -> Input:
        if i not in self.inputs:
            self.inputs[i] = Input(i.name, tuple(self.size(s) for s in i.shape), i.dtype, i.sorted, i.donated)
        return self.inputs[i]

    def tensor(self, t: Tensor) -> Tensor:
        if t not in self.tensors:
            axes = tuple(self.index(i) for i in t.axes)
            self.tensors[t] = Tensor(t.name, axes, self.scalar(t.body), t.dtype, t.into, t.at)
        return self.tensors[t]

    def monoid(self, m: Monoid) -> Monoid:
        if m not in self.monoids:
            self.monoids[m] = m.map(self.index, self.scalar)
        return self.monoids[m]

    def domain(self, d: Domain) -> Domain:
        return Domain(tuple(self.form(c.form) >= 0 for c in d.affine), tuple(self.scalar(x) for x in d.data))

    def scalar(self, root: Scalar) -> Scalar:
        if root not in self.scalars:
            for s in walk(root):
                if s not in self.scalars:
                    self.scalars[s] = self._node(s)
        return self.scalars[root]

    def _node(self, s: Scalar) -> Scalar:
        if isinstance(s, Position):
            from tang_egg.ir import as_position

            return as_position(self.form(s.form))
        if isinstance(s, Test):
            return Test(self.form(s.condition.form) >= 0)
        if isinstance(s, Read):
            source = self.input(s.source) if isinstance(s.source, Input) else self.tensor(s.source)
            coordinates = tuple(self.form(c) if isinstance(c, Affine) else self.scalar(c) for c in s.coordinates)
            return Read(source, coordinates, s.at)
        if isinstance(s, Reduce):
            body = tuple(self.scalar(b) for b in s.body)
            indices = tuple(self.index(i) for i in s.indices)
            return Reduce(self.monoid(s.monoid), indices, self.domain(s.where), body, s.part, s.at)
        if isinstance(s, Scan):
            body = tuple(self.scalar(b) for b in s.body)
            return Scan(self.monoid(s.monoid), self.index(s.index), body, s.part, s.chunk, s.at)
        if isinstance(s, StateRef):
            return StateRef(s.side, s.component, s.type, tuple(self.form(c) for c in s.coordinates))
        return map_children(s, self.scalar)


def graph_dims(graph: Graph) -> tuple[Dim, ...]:
    """The symbolic dims of a graph, by name. Raises GraphError when two different dims share a name."""
    found: set[Dim] = set()
    for i in graph.inputs:
        found |= dims_of(i.shape)
    for t in tensors_of(graph.outputs):
        found |= dims_of(t.shape)
        for s in walk(t.body):
            if isinstance(s, Position):
                found |= dims_of((s.form,))
            elif isinstance(s, Test):
                found |= dims_of((s.condition.form,))
            elif isinstance(s, Read):
                found |= dims_of(c for c in s.coordinates if isinstance(c, Affine))
            elif isinstance(s, Reduce):
                found |= dims_of((*(i.size for i in s.indices), *(c.form for c in s.where.affine)))
    names: dict[str, Dim] = {}
    for d in found:
        if names.setdefault(d.name, d) is not d:
            raise GraphError(
                f"two dimensions are named '{d.name}'",
                where=f"graph '{graph.name}'",
                mend="create the dimension once and share it, or rename one",
            )
    return tuple(names[n] for n in sorted(names))


def bind_graph(graph: Graph, values: Mapping[str, int]) -> Graph:
    """See Graph.bind."""
    known = {d.name: d for d in graph_dims(graph)}
    for name, value in values.items():
        if name not in known:
            raise BindError(
                f"graph '{graph.name}' has no dimension '{name}'",
                where=f"bind({name}={value})",
                mend=f"its dimensions are: {', '.join(known) or 'none'}",
            )
        known[name].check(int(value))
    binding = DimBinding({known[n]: int(v) for n, v in values.items()})
    inputs = tuple(binding.input(i) for i in graph.inputs)
    for t in tensors_of(graph.outputs):
        binding.tensor(t)
    return Graph(graph.name, inputs, tuple(binding.tensor(t) for t in graph.outputs))
