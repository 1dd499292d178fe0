"""A row of the table of what must fall out: a naive graph, the form its program must have, and how to measure it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tang_egg.affine import Affine, Index
from tang_egg.cost.roofline import MATRIX_UNITS, Costs, Machine
from tang_egg.ir import Apply, Graph, Input, Read, Reduce, Scalar, Scan, Tensor, children, free, walk
from tang_egg.pipeline import extract
from tang_egg.pipeline_chunk import extract_chunked
from tang_egg.pipeline_compiled import Extraction
from tang_egg.pipeline_rewrite import rewritten

Arrays: TypeAlias = "dict[str, Any]"
Fold: TypeAlias = "tuple[object, tuple[Scalar, ...]]"

STARVED = Machine(flops=3e7, memory=1e6, further=1e6, capacity=0.0, launch=1e-5)
"""A machine on which every byte costs, so that small graphs take the forms that large ones take elsewhere."""

MACHINES = {"cpu": Machine(), "units": MATRIX_UNITS, "starved": STARVED}


@dataclass(frozen=True, slots=True)
class Form:
    """What a program must be like. What is None or empty is not asked for.

    `kernels`: how many. `passes`: for each input named, how many folds read it, those that run along with one around
    them not counted beside it. `stored`: the names of tensors in memory that are no outputs. `states`: (components,
    followers) of all folds, largest first. `laws`: some that must have been used. `scans`: how many scans.
    `absent`: names of sizes that no stored tensor has as an extent. `gathered`: inputs that are read at computed
    coordinates only. `ranged`: inputs that no fold over an equality of data reads.
    """

    kernels: int | None = None
    passes: Mapping[str, int] = field(default_factory=dict)
    stored: tuple[str, ...] | None = ()
    states: tuple[tuple[int, int], ...] = ()
    laws: frozenset[str] = frozenset()
    scans: int | None = None
    absent: tuple[str, ...] = ()
    gathered: tuple[str, ...] = ()
    ranged: tuple[str, ...] = ()

    def wrong(self, x: Extraction, sizes: Mapping[str, int]) -> list[str]:
        """In what a program for a graph of these sizes differs from the form."""
        return [*_counts(x, self), *_absences(x, self, sizes)]


@dataclass(frozen=True, slots=True)
class Row:
    """A naive graph by element type of its real inputs and by sizes, and the form required of its program.

    `sizes` are those at which selection must find the form on `machine`; at `small` ones programs are evaluated, which
    are extracted for a machine on which every byte counts and have `small_form` (`form` unless given). `spoil` puts
    edge values into inputs. `split`, `products` and `chunk` (`small_chunk` at small sizes) are
    what a caller asks for. `error` is how far
    from the naive graph it may be on the interpreter, `dtypes` the types of inputs it is compiled for. `missing` says
    what a row lacks.
    """

    build: Callable[..., Graph]
    form: Form
    sizes: Mapping[str, int]
    small: Mapping[str, int]
    machine: str = "cpu"
    spoil: Callable[[Arrays], None] | None = None
    split: Mapping[str, int] = field(default_factory=dict)
    chunk: Mapping[str, int] = field(default_factory=dict)
    small_chunk: Mapping[str, int] = field(default_factory=dict)
    products: str = "exact"
    error: float = 1e-9
    dtypes: tuple[str, ...] = ("f32", "bf16")
    small_form: Form | None = None
    missing: str = ""

    def naive(self, dtype: str = "f32") -> Graph:
        """The graph at small sizes."""
        return self.build(dtype, **self.small)

    def large(self) -> Extraction:
        """The program for the sizes at which the form pays."""
        return self._extract(self.build("f32", **self.sizes), MACHINES[self.machine], self.chunk)

    def twin(self, dtype: str = "f32") -> Extraction:
        """The program of the small twin."""
        return self._extract(self.naive(dtype), STARVED, self.small_chunk)

    def _extract(self, graph: Graph, machine: Machine, chunk: Mapping[str, int]) -> Extraction:
        found = extract_chunked(lambda g: extract(g, costs=Costs(machine)), graph, chunk or None)
        return rewritten(found, self.split or None, self.products)

    def wrong(self, x: Extraction, small: bool = False) -> list[str]:
        """In what a program differs from the form required of it."""
        form = (self.small_form or self.form) if small else self.form
        return form.wrong(x, self.small if small else self.sizes)


def laws_of(x: Extraction) -> frozenset[str]:
    """The laws on the way to any kernel."""
    return frozenset(s.law for steps in x.steps.values() for s in steps)


def nodes_of(x: Extraction) -> int:
    """E-nodes over the distinct windows."""
    return sum(w.saturation.nodes for w in x.distinct)


def seconds_of(x: Extraction) -> float:
    """Seconds of saturation over the distinct windows."""
    return sum(w.saturation.seconds for w in x.distinct)


def states_of(x: Extraction) -> tuple[tuple[int, int], ...]:
    """(components, followers) of every distinct fold or scan, however many of its parts are used."""
    found = {(s.monoid, s.body) for t in x.program.tensors for s in walk(t.body) if isinstance(s, (Reduce, Scan))}
    return tuple(sorted(((len(m.components), len(m.followers)) for m, _ in found), reverse=True))


def stored(x: Extraction) -> tuple[Tensor, ...]:
    """Tensors in memory that are no outputs."""
    return tuple(t for t in x.program.tensors if t not in x.program.graph.outputs)


def passes(x: Extraction, name: str) -> int:
    """How many folds read an input, those that run along with one around them not counted beside it."""
    found = 0
    for k in x.program.kernels:
        folds: dict[Fold, set[str]] = {}
        for t in k.outputs:
            for fold, names in _passes(t.body).items():
                folds.setdefault(fold, set()).update(names)
        found += sum(name in names for names in folds.values())
    return found


def _counts(x: Extraction, form: Form) -> Iterator[str]:
    def differ(what: str, got: object, wanted: object) -> Iterator[str]:
        if got != wanted:
            yield f"{what}: {got}, not {wanted}"

    if form.kernels is not None:
        yield from differ("kernels", len(x.program.kernels), form.kernels)
    for name, count in form.passes.items():
        yield from differ(f"passes over {name}", passes(x, name), count)
    if form.stored is not None:
        yield from differ("stored", tuple(sorted(t.name for t in stored(x))), tuple(sorted(form.stored)))
    if form.states:
        yield from differ("states", states_of(x), form.states)
    if form.scans is not None:
        yield from differ("scans", len({(s.monoid, s.body) for s in _nodes(x) if isinstance(s, Scan)}), form.scans)
    unused = form.laws - laws_of(x)
    if unused:
        yield f"laws not used: {', '.join(sorted(unused))}"


def _absences(x: Extraction, form: Form, sizes: Mapping[str, int]) -> Iterator[str]:
    for name in form.absent:
        for t in stored(x):
            if any(i.size.value == sizes[name] for i in t.axes):
                yield f"stored {t.name} has the extent {name}"
    for name in form.gathered:
        plain = [
            r
            for r in _reads(*_bodies(x))
            if r.source.name == name and all(isinstance(c, Affine) for c in r.coordinates)
        ]
        if plain:
            yield f"{name} is read at every place"
    for name in form.ranged:
        for s in _nodes(x):
            if isinstance(s, Reduce) and any(r.source.name == name for r in _reads(*s.body)) and _compares(s):
                yield f"a fold over {name} compares data at every point"


def _compares(s: Reduce) -> bool:
    return any(isinstance(a, Apply) and a.op == "eq" for a in walk(*s.where.data, *s.body))


def _bodies(x: Extraction) -> tuple[Scalar, ...]:
    return tuple(t.body for t in x.program.tensors)


def _nodes(x: Extraction) -> Iterator[Scalar]:
    return walk(*_bodies(x))


def _reads(*roots: Scalar) -> Iterator[Read]:
    """Reads of inputs."""
    return (s for s in walk(*roots) if isinstance(s, Read) and isinstance(s.source, Input))


def _passes(root: Scalar) -> dict[Fold, set[str]]:
    """Folds that do not run along with one around them, and the inputs that each reads.

    They are the outermost ones, and those inside that are finished before the one around them starts.
    """
    found: dict[Fold, set[str]] = {}
    seen: set[tuple[Scalar, frozenset[Index], Fold | None]] = set()
    stack: list[tuple[Scalar, frozenset[Index], Fold | None]] = [(root, frozenset(), None)]
    while stack:
        s, bound, owner = at = stack.pop()
        if at in seen:
            continue
        seen.add(at)
        if isinstance(s, (Reduce, Scan)):
            if not free(s) & bound:
                owner, bound = (s.monoid, s.body), frozenset()
                found.setdefault(owner, set())
            bound = bound | (frozenset(s.indices) if isinstance(s, Reduce) else frozenset((s.index,)))
        elif isinstance(s, Read) and isinstance(s.source, Input) and owner is not None:
            found[owner].add(s.source.name)
        stack.extend((c, bound, owner) for c in children(s))
    return found


def dead_rows(name: str) -> Callable[[Arrays], None]:
    """Puts a row without a live element into a mask."""

    def spoil(inputs: Arrays) -> None:
        inputs[name][0] = False

    return spoil


def infinite(name: str) -> Callable[[Arrays], None]:
    """Puts -inf into the first half of the first row of an input."""

    def spoil(inputs: Arrays) -> None:
        rows = inputs[name].reshape(-1, inputs[name].shape[-1])
        rows[0, : rows.shape[1] // 2] = -np.inf

    return spoil
