"""Values of scalar expressions over boxes of index points, as NumPy arrays.

A value has extent 1 along each axis that it does not depend on, and lives in the outermost frame that binds all its
free indices: what a fold does not change is computed once, outside the fold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tang_egg import ops
from tang_egg.affine import Affine, Index
from tang_egg.errors import BindError, GraphError
from tang_egg.interpret_fault import Faults
from tang_egg.interpret_fold import Folds, as_scan
from tang_egg.interpret_frame import Array, FoldKey, Frame, blocks, fold_key, mentions_state, root_frame
from tang_egg.ir import (
    Apply,
    Const,
    Input,
    Position,
    Read,
    Reduce,
    Scalar,
    Scan,
    Source,
    StateRef,
    Tensor,
    Test,
    children,
    free,
    type_of,
    walk,
)

Concrete: TypeAlias = "tuple[int, tuple[tuple[Index, int], ...]]"


class Evaluator:
    """Evaluates tensors and expressions, given arrays of the inputs by name and values of the dims by name.

    `memory` (bytes) limits the working set of one frame: larger boxes of points are evaluated in blocks.
    """

    def __init__(self, arrays: Mapping[str, Array], dims: Mapping[str, int], checked: bool, memory: int) -> None:
        self.arrays = arrays
        self.dims = dims
        self.memory = memory
        self.root = root_frame()
        self.tensors: dict[Tensor, Array] = {}
        self.forms: dict[Affine, Concrete] = {}
        self.parts: dict[FoldKey, set[Reduce | Scan]] = {}
        self.rows: dict[Any, list[tuple[frozenset[Index], int]]] = {}
        self.folds = Folds(self)
        self.faults = Faults(self) if checked else None

    def concrete(self, form: Affine) -> Concrete:
        """`form` with the dims put in: a constant and an integer coefficient for each index."""
        if form not in self.forms:
            constant, coefficients = 0, Counter[Index]()
            for monomial, coefficient in form.terms:
                over: Index | None = None
                for atom in monomial:
                    if isinstance(atom, Index):
                        over = atom
                    elif atom.name in self.dims:
                        coefficient *= self.dims[atom.name]
                    else:
                        raise BindError(
                            f"dimension '{atom.name}' has no value",
                            where=f"the form {form}",
                            mend=f"pass it: dims={{'{atom.name}': ...}}",
                        )
                if over is None:
                    constant += coefficient
                else:
                    coefficients[over] += coefficient
            self.forms[form] = (constant, tuple((i, c) for i, c in coefficients.items() if c))
        return self.forms[form]

    def size(self, i: Index) -> int:
        """The number of points of an index."""
        return self.extent(i.size, f"index {i.name}")

    def extent(self, size: Affine, what: str) -> int:
        """The integer that a size is. Raises BindError when it is negative."""
        n = self.concrete(size)[0]
        if n < 0:
            raise BindError(
                f"an extent is negative: {size} = {n}",
                where=what,
                mend="give the dimensions a lower limit that keeps every extent at least 0",
            )
        return n

    def source(self, source: Source) -> Array:
        """The whole array of an input or tensor."""
        return self.arrays[source.name] if isinstance(source, Input) else self.tensor(source)

    def tensor(self, t: Tensor) -> Array:
        """The value of a tensor, in storage order and the interpreter's type; evaluated once."""
        if t not in self.tensors:
            shape = tuple(self.extent(i.size, f"tensor '{t.name}', axis {i.name}") for i in t.axes)
            out = np.empty(shape, ops.numpy_type(ops.scalar_type(t.dtype)))
            self.fill(out, t.body, t.axes, f"tensor '{t.name}'")
            self.tensors[t] = out
        return self.tensors[t]

    def fill(self, out: Array, body: Scalar, axes: tuple[Index, ...], where: str) -> None:
        """Writes the value of `body` at every point of `axes` into `out`, block by block."""
        self.parts = {}
        scanned: set[Index] = set()
        for s in walk(body):
            fold = (as_scan(s) or s) if isinstance(s, Reduce) else s
            if isinstance(fold, (Reduce, Scan)):
                self.parts.setdefault(fold_key(fold), set()).add(fold)
            if isinstance(fold, Scan):
                scanned.add(fold.index)
        # Blocking along a scanned axis saves nothing: every block needs the whole prefix.
        order = [i for i in axes if i not in scanned] + [i for i in axes if i in scanned]
        sizes = dict(zip(axes, out.shape, strict=True))
        steps = self.steps(body, (body,), order, sizes, {})
        for ranges in blocks(axes, sizes, steps):
            frame = self.root.child(ranges)
            out[tuple(slice(start, stop) for _, start, stop in ranges)] = self.value(body, frame)
            if self.faults is not None:
                self.faults.demand(body, frame, where)

    def steps(
        self,
        key: Any,
        roots: Iterable[Scalar],
        order: Sequence[Index],
        sizes: Mapping[Index, int],
        outer: Mapping[Index, int],
        extra: Iterable[frozenset[Index]] = (),
    ) -> dict[Index, int]:
        """Block extents of the indices in `order` so that the values below `roots` fit in memory, first index first.

        `extra`: what else is held, each by the indices that it extends over. `key` names the question; rows are kept.
        """
        if key not in self.rows:
            rows = Counter(free(s) for s in walk(*roots) if not isinstance(s, (Const, Read)) or children(s))
            rows.update(extra)
            self.rows[key] = list(rows.items())
        counted = self.rows[key]
        known = {**outer, **sizes}

        def bytes_needed() -> int:
            return 8 * sum(count * prod(known.get(i, 1) for i in indices) for indices, count in counted)

        for i in order:
            while known[i] > 1 and bytes_needed() > self.memory:
                known[i] = (known[i] + 1) // 2
        return {i: known[i] for i in order}

    def value(self, s: Scalar, frame: Frame) -> Array:
        """The value of `s` over the box of `frame`."""
        home = self.home(s, frame)
        found = home.values.get(s)
        if found is None:
            found = home.values[s] = np.asarray(self._compute(s, home))
        return found

    def home(self, s: Scalar, frame: Frame) -> Frame:
        """The outermost frame in which `s` means the same as in `frame`."""
        return self.frame_of(free(s), mentions_state(s), frame)

    def frame_of(self, indices: Iterable[Index], stateful: bool, frame: Frame) -> Frame:
        """The outermost frame around `frame` that binds `indices` (and the states of a combine, when `stateful`)."""
        level = frame.states_level if stateful else 0
        for i in indices:
            if i not in frame.scope:
                raise GraphError(
                    f"index '{i.name}' is not in scope",
                    where="a scalar expression",
                    mend="sum over it, or make it an axis of the tensor",
                )
            level = max(level, frame.scope[i].level)
        return frame.around(level)

    def _compute(self, s: Scalar, frame: Frame) -> Array | np.generic:
        if isinstance(s, Apply):
            return ops.apply(s.op, tuple(self.value(a, frame) for a in s.args), tuple(type_of(a) for a in s.args))  # type: ignore[no-any-return]
        if isinstance(s, Const):
            return np.asarray(s.value, ops.numpy_type(s.type))
        if isinstance(s, Position):
            return self.position(s.form, frame)
        if isinstance(s, Test):
            return self.position(s.condition.form, frame) >= 0
        if isinstance(s, Read):
            return self._read(s, frame)
        if isinstance(s, Reduce):
            return self.folds.reduce(s, frame)
        if isinstance(s, Scan):
            return self.folds.scan(s, frame)
        if isinstance(s, StateRef):
            return self._state(s, frame)
        raise GraphError(
            f"{s!r} has no value of its own",
            where="a scalar expression",
            mend="use a statistic only in the body of a fold whose monoid has followers",
        )

    def position(self, form: Affine, frame: Frame) -> Array:
        """The value of an affine form, i64."""
        constant, coefficients = self.concrete(form)
        total = np.asarray(constant, np.int64)
        for i, coefficient in coefficients:
            axis = frame.scope[i]
            points = np.arange(axis.start, axis.stop, dtype=np.int64) * coefficient
            total = total + points.reshape((-1,) + (1,) * (axis.position - 1))
        return total

    def _read(self, s: Read, frame: Frame) -> Array:
        array = self.source(s.source)
        forms = [c for c in s.coordinates if isinstance(c, Affine)]
        if len(forms) == len(s.coordinates):
            return self.view(array, range(array.ndim), forms, frame)
        points = [self.position(c, frame) if isinstance(c, Affine) else self.value(c, frame) for c in s.coordinates]
        if 0 in array.shape:
            return np.zeros(np.broadcast_shapes(*(p.shape for p in points)), array.dtype)
        inside = tuple(np.clip(p, 0, n - 1).astype(np.intp) for p, n in zip(points, array.shape, strict=True))
        return np.asarray(array[inside])

    def _state(self, s: StateRef, frame: Frame) -> Array:
        held = frame.around(frame.states_level).states
        if held is None or (s.side, s.component) not in held:
            raise GraphError(
                f"no state '{s.side}.{s.component}' is given here",
                where="a scalar expression",
                mend="refer to states only inside a monoid's combine",
            )
        array, own = held[s.side, s.component]
        # The state's own axes stand where the fold put them, whatever the same indices mean further inside.
        if all(c.single() is i and frame.scope[i].position == p for c, (i, p) in zip(s.coordinates, own, strict=True)):
            return array
        wide = max(array.ndim, *(p for _, p in own))
        shape = [1] * (wide - array.ndim) + list(array.shape)
        for i, position in own:
            shape[-position] = self.size(i)
        full = np.broadcast_to(array.reshape((1,) * (wide - array.ndim) + array.shape), shape)
        return self.view(full, [wide - p for _, p in own], s.coordinates, frame, passing=True)

    def view(
        self, array: Array, along: Iterable[int], forms: Sequence[Affine], frame: Frame, *, passing: bool = False
    ) -> Array:
        """`array` seen through affine coordinates, without a copy where all are in range; others are clipped.

        `along`: the array axis of each coordinate; with `passing`, all other axes stay where they are.
        """
        axes = list(along)
        shape, strides, start = [1] * frame.ndim, [0] * frame.ndim, [0] * array.ndim
        steps: list[tuple[int, int, int]] = []
        for ax, form in zip(axes, forms, strict=True):
            constant, coefficients = self.concrete(form)
            low = high = first = constant
            for i, c in coefficients:
                axis = frame.scope[i]
                shape[-axis.position] = axis.extent
                ends = (c * axis.start, c * (axis.stop - 1))
                low, high, first = low + min(ends), high + max(ends), first + ends[0]
                steps.append((axis.position, ax, c))
            if 0 in shape:
                continue
            if array.shape[ax] and (low < 0 or high >= array.shape[ax]):
                array = np.take(array, np.clip(np.arange(low, high + 1), 0, array.shape[ax] - 1), axis=ax)
                first -= low
            start[ax] = first
        if passing:
            for ax in set(range(array.ndim)) - set(axes):
                shape[ax - array.ndim] = array.shape[ax]
                strides[ax - array.ndim] = array.strides[ax]
        if 0 in shape or 0 in array.shape:
            return np.zeros(shape, array.dtype)
        for position, ax, c in steps:
            strides[-position] += c * array.strides[ax]
        corner = array[tuple(slice(n, None) for n in start)]
        return as_strided(corner, shape, strides, writeable=False)
