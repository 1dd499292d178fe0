"""A kernel whatever it is called: the same mathematics under canonical names, a key, and schedules in either's names.

    P[i3, j] = exp(S[i3, j])      y0[i0, i1] = exp(a0[i0, i1])      key: what canonical kernels have in common
    stage=S order=j,i3      ←→    stage=a0 order=i1,i0

Two kernels have one key when they store the same, over the same sizes and types, however arrays, indices and dims are
named and whichever window they stand in. Names that differ in order may still hide that they are alike; then they have
two keys, which costs a match and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from tang_egg.affine import Affine, AffineLike, Dim, Index
from tang_egg.content import text_hash
from tang_egg.errors import CodegenError
from tang_egg.extract.space import standalone
from tang_egg.ir import Domain, Reduce, Scan, Tensor, sources, walk
from tang_egg.monoid import Monoid
from tang_egg.program import single_graph
from tang_egg.rewrite import DimBinding
from tang_egg.schedule import Schedule
from tang_egg.text import print_graph

DIGITS = 32
"""Hexadecimal digits of a key."""
ARRAYS = ("stage", "fetch")
"""Fields of a schedule that name arrays; all other names are those of indices."""


@dataclass(frozen=True, slots=True)
class Canonical:
    """A kernel under canonical names. The tables lead from its own names to those."""

    outputs: tuple[Tensor, ...]
    key: str
    indices: Mapping[str, str]
    arrays: Mapping[str, str]
    dims: Mapping[str, str]

    def told(self, schedule: Schedule) -> Schedule:
        """A schedule of the kernel in canonical names. Raises CodegenError for a name that the kernel does not have."""
        return renamed(schedule, self.indices, self.arrays)

    def own(self, schedule: Schedule) -> Schedule:
        """A canonical schedule in the kernel's names. Raises CodegenError for a name that is none of the canonical."""
        return renamed(schedule, _turned(self.indices), _turned(self.arrays))


def canonical(outputs: tuple[Tensor, ...]) -> Canonical:
    """A kernel under canonical names. Raises TangError where it has no text form."""
    read = list(dict.fromkeys(s for t in outputs for s in sources(t.body)))
    arrays = {s.name: f"a{n}" for n, s in enumerate(read)}
    alone = standalone(outputs)
    names = _Names()
    made = tuple(names.tensor(t) for t in alone)
    text = print_graph(single_graph(made))
    return Canonical(made, text_hash(text)[:DIGITS], dict(names.of_index), arrays, dict(names.of_dim))


def array_names(outputs: tuple[Tensor, ...]) -> dict[str, str]:
    """What `standalone` calls the arrays that a kernel reads, and what they are called in the program."""
    read = dict.fromkeys(s for t in outputs for s in sources(t.body))
    return {f"a{n}": s.name for n, s in enumerate(read)}


def renamed(schedule: Schedule, indices: Mapping[str, str] | None, arrays: Mapping[str, str]) -> Schedule:
    """A schedule with other names; `indices` None leaves those. Raises CodegenError for a name without another one."""
    changed: dict[str, object] = {}
    for f in fields(Schedule):
        value = getattr(schedule, f.name)
        table = arrays if f.name in ARRAYS else indices
        if isinstance(value, tuple) and value and table is not None:
            changed[f.name] = tuple(
                (_name(x[0], table, f.name), x[1]) if isinstance(x, tuple) else _name(x, table, f.name) for x in value
            )
    return replace(schedule, **changed)  # type: ignore[arg-type]


def _name(name: str, table: Mapping[str, str], field: str) -> str:
    if name not in table:
        raise CodegenError(
            f"the kernel has nothing called '{name}'",
            where=f"{field}= of a schedule",
            mend=f"its names there are: {', '.join(table) or 'none'}",
        )
    return table[name]


def _turned(names: Mapping[str, str]) -> dict[str, str]:
    return {new: old for old, new in names.items()}


class _Names(DimBinding):
    """Rebuilds tensors with indices i0, i1, ... and dims n0, n1, ... in the order in which they are first met.

    Names stand for names: two indices that share one, of different sizes, share one afterwards, too.
    """

    def __init__(self) -> None:
        super().__init__({})
        self.of_index: dict[str, str] = {}
        self.of_dim: dict[str, str] = {}

    def tensor(self, t: Tensor) -> Tensor:
        if t not in self.tensors:
            for i in _met(t):
                self.index(i)
        return super().tensor(t)

    def index(self, i: Index) -> Index:
        if i not in self.indices:
            name = self.of_index.setdefault(i.name, f"i{len(self.of_index)}")
            self.indices[i] = Index(name, self.size(i.size))
        return self.indices[i]

    def size(self, size: Affine) -> Affine:
        self._meet(size)
        return super().size(size)

    def form(self, form: Affine) -> Affine:
        self._meet(form)
        return super().form(form)

    def domain(self, d: Domain) -> Domain:
        made = super().domain(d)
        return Domain(tuple(sorted(made.affine, key=repr)), made.data)

    def _meet(self, form: Affine) -> None:
        for monomial, _ in form.terms:
            for d in monomial:
                if isinstance(d, Dim) and d not in self.values:
                    name = self.of_dim.setdefault(d.name, f"n{len(self.of_dim)}")
                    swapped: AffineLike = Dim(name, d.lo, d.hi, d.multiple)
                    self.values[d] = swapped


def _met(t: Tensor) -> list[Index]:
    """The indices of a tensor in an order that does not depend on names: axes, then as folds bind them."""
    found = list(t.axes)
    for s in walk(t.body):
        if isinstance(s, Reduce):
            found += [*_of_monoid(s.monoid), *s.indices]
        elif isinstance(s, Scan):
            found += [*_of_monoid(s.monoid), s.index]
    return found


def _of_monoid(m: Monoid) -> list[Index]:
    found: list[Index] = []
    for c in m.components:
        found += c.axes
        if c.follow is not None:
            found += _of_monoid(c.follow.base)
    return found
