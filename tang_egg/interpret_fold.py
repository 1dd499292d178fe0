"""Folds and prefix folds of the interpreter.

A fold binds its monoid's own axes in one frame and its indices, leftmost, in a frame inside. Components that a ufunc
combines are reduced by it, sums of products by matrix products, and everything else by a tree of pairwise combines in
order, so that monoids need not commute. Large domains are folded in blocks whose states are combined in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tang_egg.affine import Index, affine
from tang_egg.errors import GraphError
from tang_egg.interpret_contract import Refused, contract, factors_of
from tang_egg.interpret_frame import Array, Frame, States, blocks, fold_key, mentions_state
from tang_egg.ir import Apply, Domain, Reduce, Scalar, Scan, StateRef, Test, free, walk
from tang_egg.monoid import Monoid, lifts
from tang_egg.rewrite import substitute

if TYPE_CHECKING:
    from tang_egg.interpret_value import Evaluator

State: TypeAlias = "dict[int, Array]"

LIVE = -1
"""The key, beside those of the components, that says at which points a state holds any element of the domain."""

UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.logical_and,
    "or": np.logical_or,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}


def ufunc_of(monoid: Monoid, part: int) -> np.ufunc | None:
    """The ufunc that combines component `part` on its own, or None where its combine is anything else."""
    combined, component = monoid.combine[part], monoid.components[part]
    if not isinstance(combined, Apply) or combined.op not in UFUNCS:
        return None
    sides = []
    for arg in combined.args:
        plain = isinstance(arg, StateRef) and arg.component == component.name
        if not plain or any(c.single() is not i for c, i in zip(arg.coordinates, component.axes, strict=True)):  # type: ignore[attr-defined]
            return None
        sides.append(arg.side)  # type: ignore[attr-defined]
    return UFUNCS[combined.op] if sorted(sides) == ["left", "right"] else None


@lru_cache(maxsize=1 << 12)
def as_scan(s: Reduce) -> Scan | None:
    """The scan that a fold over all points up to a free index is, or None: n steps for each of n points would be n²."""
    if len(s.indices) != 1 or s.where.data or len(s.where.affine) != 1:
        return None
    (k,), form = s.indices, s.where.affine[0].form
    last = next((t for t in form.indices() if t is not k and form is t - affine(k) and t.size is k.size), None)
    if last is None or any(last in free(b) for b in s.body) or any(last in c.axes for c in s.monoid.components):
        return None
    try:
        return Scan(s.monoid, last, tuple(substitute(b, {k: last}) for b in s.body), s.part)
    except GraphError:  # a scan inside is read at k
        return None


class Folds:
    """Evaluates Reduce and Scan nodes for one Evaluator; components of one state are evaluated together."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def reduce(self, s: Reduce, home: Frame) -> Array:
        """The value of component `s.part` over the box of `home`."""
        prefix = as_scan(s)
        if prefix is not None:
            return self.scan(prefix, home)
        known = home.folds.setdefault(fold_key(s), {})
        base = self.base(s.monoid, home)
        if s.part not in known:
            lifted = lifts(s)
            alone, together = split_parts(s.monoid, self._wanted(s, home))
            for k, ufunc in alone.items():
                known[k] = self._fold_alone(s, lifted[k], k, ufunc, base)
            if together:
                known.update(self._fold_together(s, lifted, together, base))
        return self.place(known[s.part], base, home, home)

    def scan(self, s: Scan, home: Frame) -> Array:
        """The value of component `s.part` of the prefix fold over the box of `home`."""
        # The prefix starts at 0 wherever the box starts, so the whole scan is kept one scope further out.
        shared = self.evaluator.frame_of(free(s) - {s.index}, mentions_state(s), home)
        known = shared.folds.setdefault(fold_key(s), {})
        base = self.base(s.monoid, shared)
        if s.part not in known:
            known.update(self._scan(s, base, self._wanted(s, shared, s.index)))
        inner = base.child([(s.index, 0, self.evaluator.size(s.index))])
        return self.place(known[s.part], inner, shared, home)

    def base(self, monoid: Monoid, outer: Frame) -> Frame:
        """A frame in `outer` that binds the own axes of the monoid's components, each with all its points."""
        axes = dict.fromkeys(i for c in monoid.components for i in c.axes)
        return outer.child([(i, 0, self.evaluator.size(i)) for i in axes])

    def place(self, array: Array, inner: Frame, shared: Frame, home: Frame) -> Array:
        """A value over `inner` at the points of `home`; both lie in `shared`. Indices bound in both are matched."""
        bound = {axis.position: i for i, axis in inner.scope.items() if axis.position > shared.ndim}
        moved: list[tuple[int, int]] = []
        cut: list[slice] = [slice(None)] * array.ndim
        for n, extent in enumerate(array.shape):
            position = array.ndim - n
            if extent == 1:
                continue
            if position > shared.ndim:
                i = bound[position]
                if i not in home.scope:
                    raise GraphError(
                        f"index '{i.name}' of a state is not in scope",
                        where="the component of a fold",
                        mend="make the axes of the component indices of whatever reads it",
                    )
                cut[n] = slice(home.scope[i].start, home.scope[i].stop)
                position = home.scope[i].position
            moved.append((position, n))
        seen = array[tuple(cut)]
        moved.sort(reverse=True)
        shape = [1] * home.ndim
        for position, n in moved:
            shape[-position] = seen.shape[n]
        rest = [n for n in range(array.ndim) if array.shape[n] == 1]
        return seen.transpose([*rest, *(n for _, n in moved)]).reshape(shape)

    def mask(self, where: Domain, frame: Frame) -> Array | None:
        """Where the conditions of a domain hold, or None when there are none."""
        conditions = [*(Test(c) for c in where.affine), *where.data]
        if not conditions:
            return None
        mask = self.evaluator.value(conditions[0], frame)
        for c in conditions[1:]:
            mask = mask & self.evaluator.value(c, frame)
        return mask

    def _wanted(self, s: Reduce | Scan, home: Frame, *bound: Index) -> frozenset[int]:
        """The components to evaluate together: those of `s` and of its siblings whose indices are all at hand."""
        wanted = s.monoid.needs(s.part)
        own = frozenset(i for c in s.monoid.components for i in c.axes).union(bound)
        for sibling in self.evaluator.parts.get(fold_key(s), ()):
            if free(sibling) - own <= home.scope.keys():
                wanted |= s.monoid.needs(sibling.part)
        return wanted

    def boxes(
        self, s: Reduce, roots: Sequence[Scalar], base: Frame, extra: Iterable[frozenset[Index]] = ()
    ) -> Iterator[Frame]:
        """Frames in `base` whose boxes tile the points of a fold, in order, each small enough for `roots`."""
        sizes = {i: self.evaluator.size(i) for i in s.indices}
        if 0 in sizes.values():
            return
        outer = {i: axis.extent for i, axis in base.scope.items()}
        roots = (*s.where.data, *roots)
        steps = self.evaluator.steps((s.indices, *roots), roots, s.indices, sizes, outer, extra)
        for ranges in blocks(s.indices, sizes, steps):
            yield base.child(ranges)

    def _fold_alone(self, s: Reduce, lift: Scalar, part: int, ufunc: np.ufunc, base: Frame) -> Array:
        value = self.evaluator.value
        neutral = value(s.monoid.identity[part], base)
        if ufunc is np.add:
            total = neutral
            factors = factors_of(lift)
            try:
                for frame in self.boxes(s, factors, base):
                    extents = {base.ndim + n + 1: frame.scope[i].extent for n, i in enumerate(reversed(s.indices))}
                    block = contract([value(f, frame) for f in factors], self.mask(s.where, frame), extents, base.ndim)
                    total = block if total is neutral else np.add(total, block)
                return np.asarray(total)
            except Refused:
                pass
        total = neutral
        for frame in self.boxes(s, (lift,), base):
            elements = self._elements(s, lift, neutral, frame)
            block = ufunc.reduce(elements, axis=tuple(range(len(s.indices))), dtype=elements.dtype)
            total = block if total is neutral else ufunc(total, block)
        return np.asarray(total)

    def _elements(self, s: Reduce, lift: Scalar, neutral: Array, frame: Frame) -> Array:
        """The lift at every point of the fold's box (leading axes), the identity outside the domain."""
        lifted = self.evaluator.value(lift, frame)
        mask = self.mask(s.where, frame)
        return _at_points(s, lifted if mask is None else np.where(mask, lifted, neutral), frame)

    def _fold_together(self, s: Reduce, lifted: tuple[Scalar, ...], parts: list[int], base: Frame) -> State:
        neutral = {k: self.evaluator.value(s.monoid.identity[k], base) for k in parts}
        total: State | None = None
        for frame in self.boxes(s, [lifted[k] for k in parts], base, _held(s.monoid, lifted, parts)):
            state = {k: _flat(s, self.evaluator.value(lifted[k], frame), frame) for k in parts}
            mask = self.mask(s.where, frame)
            if mask is not None:
                state[LIVE] = _flat(s, mask, frame)
            block = self._tree(s.monoid, state, base)
            total = block if total is None else self.combine(s.monoid, total, block, base)
        if total is None:
            return neutral
        if LIVE in total:
            return {k: np.where(total[LIVE], total[k], neutral[k])[0] for k in parts}
        return {k: a[0] for k, a in total.items()}

    def _tree(self, monoid: Monoid, state: State, base: Frame) -> State:
        """The fold of a state along its leading axis, which keeps extent 1; neighbours are combined first."""
        n = len(next(iter(state.values())))
        while n > 1:
            even = n - n % 2
            left = {k: a[0:even:2] for k, a in state.items()}
            right = {k: a[1:even:2] for k, a in state.items()}
            folded = self.combine(monoid, left, right, base)
            if n % 2:
                folded = {k: _join(a, state[k][even:]) for k, a in folded.items()}
            state, n = folded, (n + 1) // 2
        return state

    def combine(self, monoid: Monoid, left: State, right: State, base: Frame) -> State:
        """Combined states, aligned along their leading axis. `base` binds the own axes of the components.

        Where a state is not live, the result is the other one: the identity is not put in its place, because a combine
        with it may give NaN for an infinite state.
        """
        parts = [k for k in left if k != LIVE]
        sides = {"left": {k: left[k] for k in parts}, "right": {k: right[k] for k in parts}}
        frame = self.states_frame(monoid, sides, base)
        n = max(len(a) for a in (*left.values(), *right.values()))
        made = {k: _lead(self.evaluator.value(monoid.combine[k], frame), n, frame.ndim) for k in parts}
        if LIVE in left:
            first, second = left[LIVE], right[LIVE]
            for k in parts:
                made[k] = np.where(first & second, made[k], np.where(first, left[k], right[k]))
            made[LIVE] = first | second
        return made

    def states_frame(self, monoid: Monoid, sides: Mapping[str, State], base: Frame) -> Frame:
        """A frame in which expressions over states, aligned along a leading axis, have values."""
        states: States = {}
        for side, state in sides.items():
            for k, array in state.items():
                component = monoid.components[k]
                states[side, component.name] = (array, tuple((i, base.scope[i].position) for i in component.axes))
        return base.combining(states)

    def _scan(self, s: Scan, base: Frame, wanted: frozenset[int]) -> State:
        evaluator = self.evaluator
        lifted = lifts(s)
        alone, together = split_parts(s.monoid, wanted)
        parts = [*alone, *together]
        neutral = {k: evaluator.value(s.monoid.identity[k], base) for k in parts}
        n = evaluator.size(s.index)
        outer = {i: axis.extent for i, axis in base.scope.items()}
        roots = tuple(lifted[k] for k in parts)
        extra = _held(s.monoid, lifted, parts)
        steps = evaluator.steps((s.index, *roots), roots, [s.index], {s.index: n}, outer, extra)
        done: dict[int, list[Array]] = {k: [_lead(neutral[k], 0, base.ndim + 1)] for k in parts}
        carry: State | None = None
        for ranges in blocks([s.index], {s.index: n}, steps) if n else ():
            frame = base.child(ranges)
            count = frame.scope[s.index].extent
            points = {k: _lead(evaluator.value(lifted[k], frame), count, frame.ndim) for k in parts}
            state = {k: ufunc.accumulate(points[k], axis=0, dtype=points[k].dtype) for k, ufunc in alone.items()}
            state.update(self._prefixes(s.monoid, {k: points[k] for k in together}, base))
            if carry is not None:
                state.update({k: np.asarray(ufunc(carry[k], state[k])) for k, ufunc in alone.items()})
                before, block = ({k: side[k] for k in together} for side in (carry, state))
                state.update(self.combine(s.monoid, before, block, base) if together else {})
            carry = {k: a[-1:] for k, a in state.items()}
            for k in parts:
                done[k].append(state[k])
        return {k: _join(*arrays) for k, arrays in done.items()}

    def _prefixes(self, monoid: Monoid, state: State, base: Frame) -> State:
        """Inclusive prefixes along the leading axis, in log n combines (Hillis and Steele 1986)."""
        n = len(next(iter(state.values()), ()))
        step = 1
        while step < n:
            left = {k: a[:-step] for k, a in state.items()}
            right = {k: a[step:] for k, a in state.items()}
            state = {k: _join(state[k][:step], a) for k, a in self.combine(monoid, left, right, base).items()}
            step *= 2
        return state


def split_parts(monoid: Monoid, wanted: Iterable[int]) -> tuple[dict[int, np.ufunc], list[int]]:
    """The wanted components that a ufunc folds alone, and the others with all that they need."""
    alone = {k: ufunc for k in sorted(wanted) if (ufunc := ufunc_of(monoid, k)) is not None}
    rest = frozenset[int]().union(*(monoid.needs(k) for k in wanted if k not in alone))
    return {k: ufunc for k, ufunc in alone.items() if k not in rest}, sorted(rest)


def _held(monoid: Monoid, lifted: tuple[Scalar, ...], parts: Sequence[int]) -> list[frozenset[Index]]:
    """What a generic fold holds besides its lifts: the values inside the first, widest combine (of half the points)."""
    widest = frozenset[Index]().union(*(free(lifted[k]) for k in parts))
    return [widest] * (len(parts) + sum(1 for _ in walk(*(monoid.combine[k] for k in parts))) // 2)


def _at_points(s: Reduce, array: Array, frame: Frame) -> Array:
    """`array` with a leading axis for each index of a fold, of full extent."""
    full = array.reshape((1,) * (frame.ndim - array.ndim) + array.shape)
    extents = tuple(frame.scope[i].extent for i in s.indices)
    return np.broadcast_to(full, extents + full.shape[len(extents) :])


def _flat(s: Reduce, array: Array, frame: Frame) -> Array:
    """`array` with one leading axis for all points of a fold, row-major."""
    full = _at_points(s, array, frame)
    return full.reshape((prod(full.shape[: len(s.indices)]), *full.shape[len(s.indices) :]))


def _lead(array: Array, n: int, ndim: int) -> Array:
    """`array` with `ndim` axes, the first of extent `n`."""
    full = array.reshape((1,) * (ndim - array.ndim) + array.shape)
    return np.broadcast_to(full, (n, *full.shape[1:]))


def _join(*arrays: Array) -> Array:
    """Arrays one after the other along the first axis; other axes broadcast."""
    rest = np.broadcast_shapes(*(a.shape[1:] for a in arrays))
    return np.concatenate([np.broadcast_to(a, (len(a), *rest)) for a in arrays])
