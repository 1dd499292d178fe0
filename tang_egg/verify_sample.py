"""Verification of results that are too large for the interpreter: some of their rows or points, each a small graph.

The axes of an output are fixed, all but the last where that is cheap enough, else all. The constants go down into
the tensors and inputs that are read, whose axes they drop, so that a sample computes what it needs and nothing else.
What several samples need is computed once. Rows are taken from every part of the output, at the borders of tiles,
at both ends, and where values are not finite or largest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tang_egg.affine import Affine, affine
from tang_egg.errors import GraphError
from tang_egg.ir import (
    Apply,
    Const,
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
    as_position,
    const,
    folds,
    free,
    map_children,
    tensors_of,
    walk,
)
from tang_egg.rewrite import inline, substitute

Array = npt.NDArray[Any]
Fixed: TypeAlias = "tuple[tuple[int, int], ...]"
"""Axes, by number, with the positions at which they are fixed."""

BUDGET = 4e9
"""Values that the interpreter computes for the samples of a graph, at most."""
FEWEST, MOST = 6, 48
"""Samples of an output."""
SIDES = (1, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 129, 191, 192, 255, 256)
"""Positions at the borders of tiles."""


def work(outputs: Iterable[Tensor], sizes: Mapping[str, int] | None = None) -> float:
    """About how many values the interpreter computes: for each node, the points of its free indices."""
    total = 0.0
    for t in tensors_of(outputs):
        for s in walk(t.body):
            total += prod(float(i.size.evaluate(sizes or {})) for i in free(s))
    return total


@dataclass(slots=True)
class Samples:
    """A graph whose outputs are samples of other outputs: of which, and at which positions, by name."""

    graph: Graph
    slices: dict[str, tuple[str, tuple[int | slice, ...]]]
    places: dict[str, tuple[str, tuple[int | slice, ...]]]

    def inputs(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """The parts of some arrays that the samples read."""
        return {i.name: arrays[n][at] for i in self.graph.inputs for n, at in (self.slices[i.name],)}

    def of(self, name: str) -> list[tuple[Tensor, tuple[int | slice, ...]]]:
        """The samples of an output, with the part of it that each one is."""
        return [(t, self.places[t.name][1]) for t in self.graph.outputs if self.places[t.name][0] == name]


@dataclass(slots=True)
class _Fixing:
    """Puts constants in place of axes; what is fixed alike is one object."""

    made: dict[tuple[Source, Fixed], tuple[Source, Fixed]] = field(default_factory=dict)
    slices: dict[str, tuple[str, tuple[int | slice, ...]]] = field(default_factory=dict)
    rewritten: dict[Scalar, Scalar] = field(default_factory=dict)
    named: int = 0

    def source(self, s: Source, fixed: Fixed) -> tuple[Source, Fixed]:
        """A source without the axes that could be fixed, and which these are."""
        key = (s, fixed)
        if key not in self.made:
            self.made[key] = self._input(s, fixed) if isinstance(s, Input) else self._tensor(s, fixed)
        return self.made[key]

    def _input(self, s: Input, fixed: Fixed) -> tuple[Source, Fixed]:
        at = dict(fixed)
        where = tuple(at.get(n, slice(None)) for n in range(len(s.shape)))
        new = s
        if fixed:
            shape = tuple(size for n, size in enumerate(s.shape) if n not in at)
            new = Input(self._name(s.name), shape, s.dtype, s.sorted and len(fixed) == 0)
        self.slices[new.name] = (s.name, where)
        return new, fixed

    def _tensor(self, t: Tensor, fixed: Fixed) -> tuple[Source, Fixed]:
        scanned = {s.index for s in walk(t.body) if isinstance(s, Scan)}
        fixed = tuple((n, v) for n, v in fixed if t.axes[n] not in scanned)
        try:
            body = substitute(t.body, {t.axes[n]: affine(v) for n, v in fixed})
        except GraphError:  # an axis of a state: the tensor stays whole
            fixed, body = (), t.body
        body = self.scalar(body)
        if not fixed and body is t.body:
            return t, ()
        gone = {n for n, _ in fixed}
        axes = tuple(i for n, i in enumerate(t.axes) if n not in gone)
        return Tensor(self._name(t.name), axes, body, t.dtype), fixed

    def scalar(self, root: Scalar) -> Scalar:
        """An expression over fixed sources, conditions on constants decided."""
        for s in walk(root):
            if s not in self.rewritten:
                self.rewritten[s] = self._node(s)
        return self.rewritten[root]

    def _node(self, s: Scalar) -> Scalar:
        if isinstance(s, Read):
            return self._read(s)
        if isinstance(s, Position):
            return as_position(s.form)
        if isinstance(s, Test):
            value = s.condition.form.value
            return s if value is None else const(value >= 0)
        new = map_children(s, self.rewritten.__getitem__)
        if isinstance(new, Apply) and new.op == "select" and isinstance(new.args[0], Const):
            return new.args[1] if new.args[0].value else new.args[2]
        if isinstance(new, Reduce):
            kept = tuple(c for c in new.where.affine if c.form.value is None or c.form.value < 0)
            return Reduce(new.monoid, new.indices, Domain(kept, new.where.data), new.body, new.part, new.at)
        return new

    def _read(self, s: Read) -> Scalar:
        if isinstance(s.source, Tensor) and _shifted(s) and not folds(s.source):
            return self.scalar(inline(s))
        coordinates = tuple(c if isinstance(c, Affine) else self.rewritten[c] for c in s.coordinates)
        at = [_constant(c, size) for c, size in zip(coordinates, s.source.shape, strict=True)]
        source, fixed = self.source(s.source, tuple((n, v) for n, v in enumerate(at) if v is not None))
        gone = {n for n, _ in fixed}
        return Read(source, tuple(c for n, c in enumerate(coordinates) if n not in gone), s.at)

    def _name(self, name: str) -> str:
        self.named += 1
        return f"{name}@{self.named - 1}"


def _constant(c: Coordinate, size: Affine) -> int | None:
    """The position that a coordinate is, if it is one inside its axis."""
    value = c.value if isinstance(c, Affine) else int(c.value) if isinstance(c, Const) else None
    extent = size.value
    return value if value is not None and extent is not None and 0 <= value < extent else None


def _shifted(s: Read) -> bool:
    """Whether a coordinate moves along its axis other than as an index by itself."""
    plain = (isinstance(c, Affine) and (c.value is not None or c.single() is not None) for c in s.coordinates)
    return not all(plain)


def samples(outputs: Sequence[Tensor], picks: Mapping[str, Sequence[Fixed]]) -> Samples:
    """One graph with an output for each pick of an output, by name. Dims are bound."""
    fixing = _Fixing()
    made: list[Tensor] = []
    places: dict[str, tuple[str, tuple[int | slice, ...]]] = {}
    for t in outputs:
        for wanted in picks[t.name]:
            new, fixed = fixing.source(t, wanted)
            assert isinstance(new, Tensor)
            at = dict(fixed)
            named = Tensor(f"{t.name}@@{len(made)}", new.axes, new.body, new.dtype)
            places[named.name] = (t.name, tuple(at.get(n, slice(None)) for n in range(len(t.axes))))
            made.append(named)
    read = dict.fromkeys(
        s.source for t in tensors_of(made) for s in walk(t.body) if isinstance(s, Read) and isinstance(s.source, Input)
    )
    inputs = tuple(i for i in read if isinstance(i, Input))
    slices = {i.name: fixing.slices.get(i.name, (i.name, (slice(None),) * len(i.shape))) for i in inputs}
    return Samples(Graph("samples", inputs, tuple(made)), slices, places)


def pick(outputs: Sequence[Tensor], results: Mapping[str, Array], budget: float = BUDGET) -> Samples | None:
    """Samples of some outputs within a budget of work; None where one sample alone is beyond it.

    `results`: what was computed, as numbers; odd values are looked at.
    """
    picks: dict[str, Sequence[Fixed]] = {}
    share = budget / max(1, len(outputs))
    for t in outputs:
        found = _picks(t, results[t.name], share)
        if found is None:
            return None
        picks[t.name] = found
    return samples(outputs, picks)


def _picks(t: Tensor, result: Array, budget: float) -> list[Fixed] | None:
    scanned = {s.index for s in walk(t.body) if isinstance(s, Scan)}
    fixable = [n for n, i in enumerate(t.axes) if i not in scanned]
    if not result.size or not fixable:
        return [()] if work((t,)) <= budget else None
    rows = [n for n in fixable if n != len(t.axes) - 1]
    for axes in dict.fromkeys((tuple(rows), tuple(fixable))):
        count = prod(result.shape[n] for n in axes)
        first = work(samples((t,), {t.name: [_fixed(axes, 0, result.shape)]}).graph.outputs)
        both = [_fixed(axes, 0, result.shape), _fixed(axes, count - 1, result.shape)]
        more = max(1.0, work(samples((t,), {t.name: both}).graph.outputs) - first)
        most = min(count, MOST, 1 + int((budget - first) / more))
        if first <= budget and most >= min(count, FEWEST):
            return [_fixed(axes, p, result.shape) for p in _points(axes, result, most)]
    return None


def _fixed(axes: tuple[int, ...], point: int, shape: tuple[int, ...]) -> Fixed:
    """The position of each axis at a point, counted in row-major order over these axes."""
    at = np.unravel_index(point, tuple(shape[n] for n in axes)) if axes else ()
    return tuple((n, int(v)) for n, v in zip(axes, at, strict=True))


def _points(axes: tuple[int, ...], result: Array, most: int) -> list[int]:
    """Distinct points over some axes: both ends, odd values, then in turn one of each part and one at borders."""
    shape = tuple(result.shape[n] for n in axes)
    count = prod(shape)
    if count <= most:
        return list(range(count))
    rng = np.random.default_rng(7)
    found = dict.fromkeys((0, count - 1, *_odd(axes, result, shape)))
    parts = max(1, most - len(found)) * 2 // 3
    for k in range(parts):
        found[int(rng.integers(k * count // parts, (k + 1) * count // parts))] = None
    for _ in range(8 * most):
        if len(found) >= most:
            break
        at = [int(rng.choice([p for p in (*SIDES, n - 2, n - 1) if 0 <= p < n] or [0])) for n in shape]
        at = [int(rng.integers(n)) if rng.random() < 0.3 else p for p, n in zip(at, shape, strict=True)]
        found[int(np.ravel_multi_index(at, shape)) if axes else 0] = None
    return list(found)[:most]


def _odd(axes: tuple[int, ...], result: Array, shape: tuple[int, ...]) -> list[int]:
    """Points where the result is not finite (the first and last) and where it is largest."""
    if result.dtype.kind != "f" or not axes:
        return []
    sound = np.isfinite(result)
    places = [int(np.argmax(np.where(sound, np.abs(result), -1.0)))]
    if not sound.all():
        flat = np.flatnonzero(~sound)
        places += [int(flat[0]), int(flat[-1])]
    whole = (np.unravel_index(p, result.shape) for p in places)
    return [int(np.ravel_multi_index([int(at[n]) for n in axes], shape)) for at in whole]


def unwritten(first: Array, second: Array, before: tuple[int, int]) -> int:
    """Elements that hold the byte that was there before, in both of two runs that started from different bytes."""
    return int((_holds(first, before[0]) & _holds(second, before[1])).sum())


def holds_fill(a: Array, byte: int) -> bool:
    """Whether any element consists of one byte only, the one that was there before."""
    return bool(_holds(a, byte).any())


def _holds(a: Array, byte: int) -> Any:
    """Which elements consist of one byte only."""
    bits = np.ascontiguousarray(a).view(f"u{a.dtype.itemsize}")
    return bits == np.frombuffer(bytes([byte]) * a.dtype.itemsize, bits.dtype)[0]
